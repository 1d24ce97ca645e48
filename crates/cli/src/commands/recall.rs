//! `piton recall`.

use std::path::Path;

use clap::Args as ClapArgs;
use jiff::Timestamp;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::memory::recall::{RecallResults, RecalledMemory};
use piton_engine::verbs::recall;
use piton_engine::{CommandExit, Failure, World};

use crate::input::read_tool_output;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM};
use crate::show::progress::first_line;

/// So many results are shown to people; `--json` has all.
const SHOWN: usize = 3;

#[derive(Debug, ClapArgs)]
pub(crate) struct RecallArgs {
    /// The failure or the task; `-` reads it from stdin
    text: String,
    /// Search as of this time, such as 2026-01-15T10:30:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
}

impl TypedCommand for RecallArgs {
    const ABOUT: &'static str = "Search the memory for help with a failure or a task";
    const AFTER_HELP: &'static str = "Prints the memories that help, or reports that none does.

Examples:
  piton recall 'connection refused on port 5433'
  make test 2>&1 | piton recall -
  piton recall - --json < failure.log | jq -r '.results[0].content'";

    fn permission(&self) -> Permission {
        Permission::new("piton recall", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let text = if self.text == "-" {
            read_tool_output(call.world, Path::new("-"))?
        } else {
            self.text
        };
        let recalled = recall::recall(call.world, &text, self.now)?;
        call.print(&recalled, show_recalled);
        Ok(CommandExit::Done)
    }
}

fn show_recalled(recalled: &RecallResults, _: &World, output: &mut CliOutput) {
    if recalled.advise {
        let shown = recalled.results.iter().take(SHOWN).map(render_result);
        output.print_data(&shown.collect::<Vec<_>>().join("\n"));
    } else {
        output.print_data("nothing recorded helps with this\n");
        if let Some(nearest) = recalled.results.first() {
            let title = result_title(nearest);
            output.print_note(&format!(
                "nearest, and probably about something else: {} {title}",
                nearest.row.id
            ));
        }
    }
}

fn result_title(found: &RecalledMemory) -> String {
    let memory = &found.row.memory;
    first_line(memory.title.as_deref().unwrap_or(&memory.content))
}

fn render_result(found: &RecalledMemory) -> String {
    let row = &found.row;
    let content = row.memory.content.trim();
    let title = result_title(found);
    let mut text = format!("{BOLD}{}{BOLD:#}  {title}\n", row.id);
    // The title is only the first line; the caller asked for the whole content.
    if title != content {
        for line in content.lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    if !found.why.is_empty() {
        let why: Vec<String> = found.why.iter().map(|word| first_line(word)).collect();
        text.push_str(&format!("  {DIM}speaks of: {}{DIM:#}\n", why.join(", ")));
    }
    text
}
