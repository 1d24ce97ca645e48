//! P13: hooks, which an agent's program waits for at every call of a tool.

use std::fs::{self, File};
use std::path::Path;

use super::paired_unit::PairedUnit;
use crate::Result;
use crate::bed::{Bed, time};
use crate::figure::Figure;
use crate::sample::{Subject, take_turns};

/// An attempt that nobody made: the mark of a session that `piton run` started.
const MARK: &str = "01900000-0000-7000-8000-000000000001";

pub(super) const CALL: &str = r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash",
"tool_input":{"command":"make test"},"tool_response":{"stdout":"ok"},"duration_ms":285}"#;
const STOP: &str = r#"{"session_id":"s","hook_event_name":"Stop","last_assistant_message":"x"}"#;

/// A hook: what is measured, its event, what is told, and the environment.
type Asked = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const ASKED: [Asked; 4] = [
    (
        "hook PostToolUse, in a session of piton run",
        "PostToolUse",
        CALL,
        &[("PITON_ATTEMPT", MARK)],
    ),
    (
        "hook PostToolUse, in an own session",
        "PostToolUse",
        CALL,
        &[],
    ),
    ("hook Stop, no item", "Stop", STOP, &[]),
    (
        "hook Stop, an item",
        "Stop",
        STOP,
        &[("PITON_ITEM", "keel")],
    ),
];

/// Each hook by a fresh process, in the order of [`ASKED`].
fn subjects<'b>(bed: &'b Bed, folder: &Path) -> Result<Vec<Subject<'b>>> {
    time(&mut bed.piton(folder, &["log", "session_started"]))?;
    let mut subjects: Vec<Subject<'b>> = Vec::new();
    for (_, event, told, env) in ASKED {
        let folder = folder.to_owned();
        let file = folder.join(format!("{}.json", subjects.len()));
        fs::write(&file, told)?;
        subjects.push(Box::new(move || {
            let mut command = bed.piton(&folder, &["hook", event]);
            command.envs(env.iter().copied()).stdin(File::open(&file)?);
            time(&mut command)
        }));
    }
    Ok(subjects)
}

/// P13: each hook by a fresh process beside a process that does nothing.
pub(super) fn each(bed: &Bed) -> Result<Vec<Figure>> {
    let folder = bed.project("hook")?;
    let mut all = subjects(bed, &folder)?;
    all.push(Box::new(move || {
        time(&mut bed.piton(&folder, &["--version"]))
    }));
    let samples = take_turns(bed.size.pick(2, 61), &mut all)?;
    let figure = |(nth, (what, ..)): (usize, &Asked)| {
        Figure::at_most(
            5.0,
            "P13",
            (what, &samples[nth]),
            ("piton --version", &samples[ASKED.len()]),
        )
    };
    Ok(ASKED.iter().enumerate().map(figure).collect())
}

/// P13 for a comparison.
pub(super) fn paired<'b>(bed: &'b Bed, _filler: &Bed) -> Result<Vec<PairedUnit<'b>>> {
    let subjects = subjects(bed, &bed.project("hook")?)?;
    let unit = |(subject, (what, ..)): (Subject<'b>, &Asked)| {
        PairedUnit::new("P13", *what, subject).repeated(bed.size.pick(1, 5))
    };
    Ok(subjects.into_iter().zip(&ASKED).map(unit).collect())
}
