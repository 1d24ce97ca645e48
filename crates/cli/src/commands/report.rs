//! `piton report`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use piton_engine::answer::LabelledAnswer;
use piton_engine::caller::Permission;
use piton_engine::verbs::files::write_new_private;
use piton_engine::verbs::report::{self, ReportQuery};
use piton_engine::{CommandExit, Failure};

use super::log::parse_since;
use crate::invocation::{Invocation, TypedCommand, access_of_change};
use crate::output::DIM;
use crate::show::report::{render_html, render_markdown};

/// The form in which a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    Md,
    Html,
    Json,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// The run: its name or the path of its plan [default: the unfinished runs, or the last one]
    run: Option<String>,
    /// Report what was done since a time, a date, or for a duration, in every run
    #[arg(long, value_name = "TIME|DURATION")]
    since: Option<String>,
    /// The format of the report
    #[arg(long, value_enum, default_value = "md")]
    format: ReportFormat,
    /// The output file, which must not exist yet; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

impl ReportArgs {
    fn is_to_file(&self) -> bool {
        self.output.as_os_str() != "-"
    }
}

impl TypedCommand for ReportArgs {
    const ABOUT: &'static str = "Report what was done, what failed, what waits, and what it cost";
    const AFTER_HELP: &'static str = "`piton run` writes the report of its run as HTML when it ends, and prints the path. The HTML
is one file: it runs no script and loads nothing.

Examples:
  piton report
  piton report --since 20:00 --format html --output night.html
  piton report auth --json | jq '.runs[].counters'";

    fn permission(&self) -> Permission {
        Permission::new("piton report", access_of_change(self.is_to_file()))
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let world = call.world;
        let since = self.since.as_deref();
        let since = since.map(|text| parse_since(world, text)).transpose()?;
        let is_to_file = self.is_to_file();
        let query = ReportQuery {
            run: self.run,
            since,
        };
        let made = report::report(world, &query)?;
        let format = match call.output.json {
            true => ReportFormat::Json,
            false => self.format,
        };
        let text = match format {
            ReportFormat::Json if !is_to_file => {
                call.output.print_answer(&made);
                return Ok(CommandExit::Done);
            }
            ReportFormat::Json => serde_json::to_string_pretty(&LabelledAnswer::new(&made))
                .expect("a report can be said in JSON"),
            ReportFormat::Md => render_markdown(&made, world.time_zone()),
            ReportFormat::Html => render_html(&made, world.time_zone()),
        };
        if is_to_file {
            write_new_private(world, &self.output, &text)?;
            let path = self.output.display();
            call.output.print_note(&format!("{DIM}wrote {path}{DIM:#}"));
        } else {
            call.output.print_file(&text);
        }
        Ok(CommandExit::Done)
    }
}
