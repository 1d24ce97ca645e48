//! `piton transcript`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::model::amount::format_size;
use piton_engine::model::gate::excerpt_output;
use piton_engine::verbs::transcript::{
    self, FollowMode, TranscriptForm, TranscriptPart, TranscriptSummary,
};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{CYAN, CliOutput, DIM, OutputFlow, RED};
use crate::show::progress::first_line;

/// So many lines of what a call gave are shown.
const RESULT_LINES: usize = 3;

#[derive(Debug, ClapArgs)]
pub(crate) struct TranscriptArgs {
    /// An attempt, named as for `piton show`, or an item for its last attempt
    attempt: String,
    /// Follow the output until the attempt ends
    #[arg(short, long)]
    follow: bool,
    /// Print the stored output unformatted
    #[arg(long)]
    raw: bool,
}

impl TypedCommand for TranscriptArgs {
    const ABOUT: &'static str = "Print the transcript of an attempt";
    const AFTER_HELP: &'static str = "Prints the text of the agent in full, each tool call on one line, and tool results shortened.\n\nExamples:\n  piton transcript auth-login -f\n  piton transcript auth-login#1 --raw | less\n  piton transcript auth-login --json | jq -r 'select(.kind == \"words\").text'";

    fn permission(&self) -> Permission {
        Permission::new("piton transcript", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let form = if self.raw {
            TranscriptForm::Raw
        } else {
            TranscriptForm::Parts
        };
        let follow = if self.follow {
            FollowMode::UntilOver
        } else {
            FollowMode::Now
        };
        let read = transcript::transcript(call.world, &self.attempt, form, follow, &mut |part| {
            let going = match (&part, call.output.json) {
                (TranscriptPart::Line { text }, false) if self.raw => {
                    call.output.print_file(&format!("{text}\n"))
                }
                (part, _) => print_part(part, call.output),
            };
            going == OutputFlow::On
        })?;
        if !call.output.json {
            let follow = format!("piton transcript {} -f", self.attempt);
            show_end(&read, &follow, call.output);
        }
        Ok(CommandExit::Done)
    }
}

/// Prints a part for people, or as JSON on one line.
pub(super) fn print_part(part: &TranscriptPart, output: &mut CliOutput) -> OutputFlow {
    match output.json {
        true => output.print_answer_line(part),
        false => output.print_long_data(&render_transcript_part(part)),
    }
}

/// Says what more there may be, and what to type to follow it.
pub(super) fn show_end(read: &TranscriptSummary, follow: &str, output: &mut CliOutput) {
    let what = format!(
        "attempt {} at {}",
        read.number,
        first_line(&Node::shown(&read.item))
    );
    if let Some(next) = &read.next {
        let printed = if read.is_empty {
            ", and had printed nothing"
        } else {
            ""
        };
        output.print_note(&format!(
            "{DIM}{what} was under way when its runner died{printed}{DIM:#}"
        ));
        output.print_hint(&format!("go on with `{next}`"));
        return;
    }
    match (read.is_empty, read.under_way) {
        (true, true) => output.print_note(&format!("{DIM}{what} has printed nothing yet{DIM:#}")),
        (true, false) => output.print_note(&format!("{DIM}{what} printed nothing{DIM:#}")),
        (false, true) => {
            output.print_note(&format!("{DIM}{what} is under way{DIM:#}"));
            output.print_hint(&format!("follow it with `{follow}`"));
        }
        (false, false) => {}
    }
}

/// A part of a transcript, as people read it.
fn render_transcript_part(part: &TranscriptPart) -> String {
    match part {
        TranscriptPart::Words { text } => format!("{}\n", text.trim_end()),
        TranscriptPart::Line { text } => format!("{text}\n"),
        TranscriptPart::Call { call } => {
            let style = if call.failed { RED } else { CYAN };
            let mut more = Vec::new();
            if let Some(exit) = call.exit.filter(|exit| *exit != 0) {
                more.push(format!("exit status {exit}"));
            } else if call.failed {
                more.push("failed".to_owned());
            }
            more.extend(call.bytes.map(format_size));
            let more = match more.as_slice() {
                [] => String::new(),
                more => format!(" {DIM}({}){DIM:#}", more.join(", ")),
            };
            format!(
                "{style}>{style:#} {} {}{more}\n",
                first_line(&call.tool),
                first_line(&call.what)
            )
        }
        TranscriptPart::Result { text } => {
            let lines = excerpt_output(text).shown_lines();
            let mut shown = String::new();
            for line in lines.iter().take(RESULT_LINES) {
                shown.push_str(&format!("  {DIM}| {line}{DIM:#}\n"));
            }
            match lines.len().saturating_sub(RESULT_LINES) {
                0 => {}
                _ => shown.push_str(&format!("  {DIM}| …{DIM:#}\n")),
            }
            shown
        }
    }
}
