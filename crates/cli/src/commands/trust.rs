//! `piton trust` and `piton untrust`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::terminal::{clean_line, escape_controls};
use piton_engine::verbs::run::RunRequest;
use piton_engine::verbs::trust::{self, PartView, TrustReport};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand, access_of_change};
use crate::output::{BOLD, CliOutput, DIM};
use crate::show::count::format_count;

#[derive(Debug, ClapArgs)]
pub(crate) struct TrustArgs {
    /// The plan or the run whose commands are meant, beside those of the configuration
    /// [default: the plan in the current folder, or the runs that are not over]
    path: Option<String>,
    /// Print the commands in full, and what PITON_TRUST has to be for them; trust nothing
    #[arg(long)]
    show: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct UntrustArgs {}

impl TypedCommand for TrustArgs {
    const ABOUT: &'static str = "Trust the commands that a project wants to run";
    const AFTER_HELP: &'static str = "A repository that was cloned may hold any command. Before piton starts one that comes from the
configuration or from a plan, a person has to trust it: once, by its text. What you type
yourself, as with --agent, is not asked about.

Examples:
  piton trust --show
  piton trust
  piton trust sprints/2026-01-15_auth
  PITON_TRUST=HASH piton run prd.json --agent claude";

    fn permission(&self) -> Permission {
        Permission::new("piton trust", access_of_change(!self.show)).for_path(self.path.as_ref())
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let request = RunRequest {
            plan: self.path,
            ..RunRequest::default()
        };
        let report = match self.show {
            true => trust::survey(call.world, &request)?,
            false => trust::trust(call.world, &request)?,
        };
        let plan = request.plan.as_deref();
        call.print(&report, |report, _, output| {
            show_report(report, plan, output);
        });
        Ok(CommandExit::Done)
    }
}

impl TypedCommand for UntrustArgs {
    const ABOUT: &'static str = "Trust no command of this project any more";
    const AFTER_HELP: &'static str = "The next run asks again about all of them.

Examples:
  piton untrust";

    fn permission(&self) -> Permission {
        Permission::new("piton untrust", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let report = trust::untrust(call.world)?;
        call.print(&report, |report, _, output| {
            let what = match report.forgotten {
                0 => "nothing of this project was trusted".to_owned(),
                count => format!("{} trusted no longer", format_count(count, "command")),
            };
            output.print_note(&what);
        });
        Ok(CommandExit::Done)
    }
}

fn show_report(report: &TrustReport, plan: Option<&str>, output: &mut CliOutput) {
    if report.parts.is_empty() {
        output.print_note("nothing of this project waits for trust");
        return;
    }
    show_parts(&report.parts, output);
    let count = format_count(report.parts.len(), "command");
    if report.done {
        output.print_note(&format!("{count} trusted in {}", report.project));
        return;
    }
    output.print_note(&format!("{DIM}{count} not trusted yet{DIM:#}"));
    if let Some(hash) = &report.hash {
        let trust = trust::typed_trust(plan, "");
        output.print_hint(&format!(
            "trust them with {trust}, or for one command with `PITON_TRUST={hash}`"
        ));
    }
}

/// What would be executed, in full.
pub(super) fn show_parts(parts: &[PartView], output: &mut CliOutput) {
    let mut text = String::new();
    for part in parts {
        // A setting says by its name what it is.
        let what = if part.name == part.kind.as_str() {
            format!("{} of {}", part.kind, part.source)
        } else {
            format!("{} of {}", part.name, part.source)
        };
        text.push_str(&format!("{BOLD}{}{BOLD:#}\n", clean_line(&what)));
        // What a terminal would obey, or not show, is a part of what would run.
        for line in part.text.trim_end_matches('\n').split('\n') {
            let line: Vec<_> = line.split('\t').map(escape_controls).collect();
            text.push_str(&format!("    {}\n", line.join("\t")));
        }
    }
    output.print_long_data(&text);
}
