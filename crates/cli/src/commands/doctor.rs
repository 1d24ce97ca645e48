//! `piton doctor`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::setup_check::{self, SetupFinding, SetupGrade, SetupReport};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM, GREEN, RED, YELLOW};
use crate::show::progress::first_line;
use crate::show::table;

#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {}

impl TypedCommand for DoctorArgs {
    const ABOUT: &'static str = "Check store, settings, agents, git, disk and clock";
    const AFTER_HELP: &'static str = "Each line is `ok`, `warning` or `problem`, with what to type below it. Nothing is written, and\nnothing of the project is started. Exits with 1 if there is a problem, else with 0. What agents\nremember is checked by `piton learn doctor`.\n\nExamples:\n  piton doctor\n  piton doctor --json | jq '.checks[] | select(.grade != \"ok\")'";

    fn permission(&self) -> Permission {
        Permission::new("piton doctor", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let report = setup_check::check_setup(call.world);
        call.print(&report, show_findings);
        Ok(match report.problems {
            0 => CommandExit::Done,
            _ => CommandExit::No,
        })
    }
}

fn show_findings(report: &SetupReport, _: &World, output: &mut CliOutput) {
    let rows = table::render(report.checks.iter().map(finding_row));
    // A hint stands below the row that it belongs to.
    let lines = rows.lines().zip(&report.checks).map(|(row, finding)| {
        let hint = finding.hint.as_deref().map(first_line);
        let hint = hint.map(|hint| format!("{DIM}{:19}{hint}{DIM:#}\n", ""));
        format!("{row}\n{}", hint.unwrap_or_default())
    });
    output.print_data(&lines.collect::<String>());
}

fn finding_row(finding: &SetupFinding) -> [String; 3] {
    let grade = finding.grade.as_str();
    let grade = match finding.grade {
        SetupGrade::Ok => format!("{GREEN}{grade:7}{GREEN:#}"),
        SetupGrade::Warning => format!("{YELLOW}{grade:7}{YELLOW:#}"),
        SetupGrade::Problem => format!("{RED}{grade:7}{RED:#}"),
    };
    let check = format!("{BOLD}{:6}{BOLD:#}", finding.check);
    [grade, check, first_line(&finding.found)]
}
