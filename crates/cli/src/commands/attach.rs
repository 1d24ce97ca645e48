//! `piton attach`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::process::shell::quote_word;
use piton_engine::verbs::attach::{self, AttachNews};
use piton_engine::{CommandExit, Failure, Notice};
use serde::Serialize;

use super::run::show_run_end;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::DIM;

#[derive(Debug, ClapArgs)]
pub(crate) struct AttachArgs {
    /// The run: its name, the path of its plan, or a prefix of its id [default: the one at
    /// work]
    run: Option<String>,
}

/// A line of the log of a run.
#[derive(Debug, Serialize)]
struct AttachedLine<'l> {
    line: &'l str,
}

impl piton_engine::answer::Answer for AttachedLine<'_> {
    const SCHEMA: &'static str = "piton.attach/1";
}

impl TypedCommand for AttachArgs {
    const ABOUT: &'static str = "Watch a run that works in the background";
    const AFTER_HELP: &'static str = "Shows the end of its log and how it stands until it ends or waits, and then ends with the exit\nstatus of the run, or with 1 where that was interrupted. Ctrl-C leaves; the run goes on. With\n--json, each line of the log is an object.\n\nExamples:\n  piton run prd.json --agent claude --detach\n  piton attach\n  piton attach prd";

    fn permission(&self) -> Permission {
        Permission::new("piton attach", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let ended = attach::attach(call.world, self.run.as_deref(), &mut |news| match news {
            AttachNews::WithoutLog(row) => call.output.print_note(&format!(
                "{DIM}run `{name}` has no log: its lines go to the terminal it was typed in{DIM:#}",
                name = row.name
            )),
            AttachNews::Line(line) if call.output.json => {
                call.output.print_answer_line(&AttachedLine { line });
            }
            AttachNews::Line(line) => call.output.print_note(line),
            AttachNews::Progress(progress) => call.show_notice(&Notice::Progress(progress)),
        });
        call.output.end_live();
        let ended = ended?;
        let name = &ended.row.name;
        if ended.has_left {
            let typed = quote_word(name);
            call.output.print_note(&format!(
                "{DIM}left run `{name}`, which goes on; watch it again with `piton attach {typed}`{DIM:#}"
            ));
        } else if !ended.has_log {
            show_run_end(&ended.row, call.output);
        }
        Ok(ended.exit_code())
    }
}
