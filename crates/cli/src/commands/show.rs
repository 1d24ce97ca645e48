//! `piton show` and `piton transcript`.

use piton_core::gate::excerpt;
use piton_engine::verbs::show::{self, Shown};
use piton_engine::verbs::transcript::{self, Follow, Form, Part};
use piton_engine::{Exit, Failure, World};

use crate::args::TranscriptArgs;
use crate::output::{CYAN, DIM, Going, Output, RED};
use crate::show::attempt::{attempt, item};
use crate::show::progress::{first_line, printable};
use crate::show::status::{Finished, report};

/// So many lines of what a call gave are shown.
const RESULT_LINES: usize = 3;

pub(super) fn show(world: &World, name: &str, output: &mut Output) -> Result<Exit, Failure> {
    let shown = show::show(world, name)?;
    if output.json {
        output.json(&shown);
        return Ok(Exit::Done);
    }
    output.data(&match &shown {
        Shown::Item(shown) => item(world, shown),
        Shown::Attempt(shown) => attempt(world, shown),
        Shown::Run(run) => {
            let mut text = report(run, world.now(), Finished::Each);
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
    Ok(Exit::Done)
}

pub(super) fn transcript(
    world: &World,
    args: &TranscriptArgs,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let form = if args.raw { Form::Raw } else { Form::Parts };
    let follow = if args.follow {
        Follow::UntilOver
    } else {
        Follow::Now
    };
    let read = transcript::transcript(world, &args.attempt, (form, follow), &mut |part| {
        let going = match (&part, output.json) {
            (Part::Line { text }, false) if args.raw => output.data(&format!("{text}\n")),
            (_, true) => output.json_line(&part),
            (part, false) => output.data(&in_words(part)),
        };
        going == Going::On
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
            return Ok(Exit::Done);
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
    Ok(Exit::Done)
}

/// A part of a transcript, as people read it.
fn in_words(part: &Part) -> String {
    match part {
        Part::Words { text } => format!("{}\n", printable(text.trim_end())),
        Part::Line { text } => format!("{}\n", printable(text)),
        Part::Call { call } => {
            let style = if call.failed { RED } else { CYAN };
            let mut more = Vec::new();
            if let Some(exit) = call.exit.filter(|exit| *exit != 0) {
                more.push(format!("exit status {exit}"));
            } else if call.failed {
                more.push("failed".to_owned());
            }
            more.extend(call.bytes.map(piton_core::amount::size));
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
        Part::Result { text } => {
            let lines = excerpt(text).lines();
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
