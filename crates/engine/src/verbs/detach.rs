//! `piton run --detach`: a run that goes on without the terminal it was typed in.
//!
//! Another process of this program works on it. Until its lease is durable, it prints
//! to this one, which shows all of it: questions of trust, refusals, the reason of an
//! early end. Then it says so in one line, and prints to its log from there on.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use super::arguments::search_folder;
use crate::failure::{CODES, CommandExit, Failure};
use crate::process::detached::{self, PrintedLine};
use crate::project::Project;
use crate::runner::run_log::{RunLog, run_log_path};
use crate::world::World;

pub use crate::process::detached::{end_this_process, leave_terminal};

/// A run on which a process works that has no terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetachedRun {
    /// Its name.
    pub run: String,
    /// The process.
    pub process: u32,
    /// The file that has its lines; none where that could not be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

crate::name_schema!(DetachedRun, "piton.run.detached/1");

/// What came of starting a process for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetachEnd {
    /// It works: its lease is durable.
    Working(DetachedRun),
    /// It ended before, and said why.
    Ended(CommandExit),
}

/// Starts this program with `arguments` in a process of its own. What that prints until it
/// works, or ends, goes to `relay`.
///
/// # Errors
///
/// `run.detach_failed` when it cannot be started, or died before it worked.
pub fn detach(
    world: &World,
    arguments: &[OsString],
    relay: &mut dyn FnMut(PrintedLine),
) -> Result<DetachEnd, Failure> {
    let failure = |what: &str| {
        Failure::new("run.detach_failed", what)
            .with_hint("see where the run stands with `piton status`, then start it again")
    };
    let program = world
        .program_path()
        .ok_or_else(|| failure("this program does not know where it lies"))?;
    let mut working = None;
    let ended = detached::start_detached(&program, arguments, &world.cwd, &mut |line| {
        if let PrintedLine::Out(text) = &line
            && let Some(run) = parse_announcement(text)
        {
            working = Some(run);
            return true;
        }
        relay(line);
        false
    });
    let ended = ended
        .map_err(|error| failure("the process for the run cannot be started").with_source(error))?;
    match (working, ended) {
        (Some(run), _) => Ok(DetachEnd::Working(run)),
        (None, Some(Some(code))) => Ok(DetachEnd::Ended(exit_of_code(code))),
        (None, _) => Err(failure(
            "the process for the run was killed before it had the lease of the run",
        )),
    }
}

/// What a line says of a run that works now; none of another line.
fn parse_announcement(line: &str) -> Option<DetachedRun> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    if value["schema"] != "piton.run.detached/1" {
        return None;
    }
    serde_json::from_value(value).ok()
}

/// The exit status of a process of this program.
fn exit_of_code(code: i32) -> CommandExit {
    let known = CODES.iter().map(|(_, exit)| *exit);
    let mut known = known.chain([CommandExit::Done, CommandExit::Interrupted]);
    let found = known.find(|exit| i32::from(exit.code()) == code);
    found.unwrap_or(CommandExit::Fault)
}

/// Opens the log of a run on which this process begins to work, and says what is to be
/// announced of that. `plan` is the plan as it was typed.
///
/// # Errors
///
/// When the log cannot be opened.
pub fn open_log(
    world: &World,
    plan: Option<&str>,
    run: &str,
) -> std::io::Result<(RunLog, DetachedRun)> {
    let project = Project::find(world, &search_folder(world, plan));
    let log = RunLog::open(&project, run)?;
    let path = project.relative_path(&run_log_path(&project, run));
    let announced = DetachedRun {
        log: Some(path),
        ..DetachedRun::without_log(run)
    };
    Ok((log, announced))
}

impl DetachedRun {
    /// Of a run on which this process works.
    #[must_use]
    pub fn without_log(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            process: std::process::id(),
            log: None,
        }
    }
}
