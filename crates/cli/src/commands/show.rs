//! `piton show` and `piton transcript`.

use piton_core::gate::excerpt_output;
use piton_engine::verbs::show::{self, ShowReport};
use piton_engine::verbs::transcript::{self, FollowMode, TranscriptForm, TranscriptPart};
use piton_engine::{CommandExit, Failure, World};

use crate::args::TranscriptArgs;
use crate::output::{CYAN, CliOutput, DIM, OutputFlow, RED};
use crate::show::attempt::{render_attempt, render_item};
use crate::show::progress::{first_line, strip_controls};
use crate::show::status::{FinishedDisplay, render_run};

/// So many lines of what a call gave are shown.
const RESULT_LINES: usize = 3;

pub(super) fn run_show(
    world: &World,
    name: &str,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let shown = show::show(world, name)?;
    if output.json {
        output.print_json(&shown);
        return Ok(CommandExit::Done);
    }
    output.print_data(&match &shown {
        ShowReport::Item(shown) => render_item(world, shown),
        ShowReport::Attempt(shown) => render_attempt(world, shown),
        ShowReport::Run(run) => {
            let mut text = render_run(run, world.now(), FinishedDisplay::Each);
            text.push_str(&format!("Plan: {}\n", run.line.source));
            let times = [("Started", run.started_at), ("Finished", run.completed_at)];
            for (word, time) in times {
                if let Some(time) = time {
                    text.push_str(&format!("{word}: {}\n", world.local_time(time)));
                }
            }
            text
        }
    });
    Ok(CommandExit::Done)
}

pub(super) fn run_transcript(
    world: &World,
    args: &TranscriptArgs,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let form = if args.raw {
        TranscriptForm::Raw
    } else {
        TranscriptForm::Parts
    };
    let follow = if args.follow {
        FollowMode::UntilOver
    } else {
        FollowMode::Now
    };
    let read = transcript::transcript(world, &args.attempt, form, follow, &mut |part| {
        let going = match (&part, output.json) {
            (TranscriptPart::Line { text }, false) if args.raw => {
                output.print_data(&format!("{text}\n"))
            }
            (_, true) => output.print_json_line(&part),
            (part, false) => output.print_data(&render_transcript_part(part)),
        };
        going == OutputFlow::On
    })?;
    if !output.json {
        let what = format!("attempt {} at {}", read.number, first_line(&read.item));
        if let Some(next) = &read.next {
            let printed = if read.is_empty {
                ", and had printed nothing"
            } else {
                ""
            };
            output.note(&format!(
                "{DIM}{what} was under way when its runner died{printed}{DIM:#}"
            ));
            output.hint(&format!("go on with `{next}`"));
            return Ok(CommandExit::Done);
        }
        match (read.is_empty, read.under_way) {
            (true, true) => output.note(&format!("{DIM}{what} has printed nothing yet{DIM:#}")),
            (true, false) => output.note(&format!("{DIM}{what} printed nothing{DIM:#}")),
            (false, true) => {
                output.note(&format!("{DIM}{what} is under way{DIM:#}"));
                output.hint(&format!(
                    "follow it with `piton transcript {} -f`",
                    args.attempt
                ));
            }
            (false, false) => {}
        }
    }
    Ok(CommandExit::Done)
}

/// A part of a transcript, as people read it.
fn render_transcript_part(part: &TranscriptPart) -> String {
    match part {
        TranscriptPart::Words { text } => format!("{}\n", strip_controls(text.trim_end())),
        TranscriptPart::Line { text } => format!("{}\n", strip_controls(text)),
        TranscriptPart::Call { call } => {
            let style = if call.failed { RED } else { CYAN };
            let mut more = Vec::new();
            if let Some(exit) = call.exit.filter(|exit| *exit != 0) {
                more.push(format!("exit status {exit}"));
            } else if call.failed {
                more.push("failed".to_owned());
            }
            more.extend(call.bytes.map(piton_core::amount::format_size));
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
