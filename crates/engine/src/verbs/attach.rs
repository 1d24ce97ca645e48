//! `piton attach`: the log of a run and how it stands, from another process.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use piton_core::budget::{BudgetUse, budget_percent};
use piton_core::usage::Usage;
use piton_core::{DecisionRow, Need, RunRow, RunState};

use super::open_questions::open_file_questions;
use super::status::select_run;
use super::transcript::{live_activity, live_output_path};
use crate::failure::notice::{RunProgress, WorkProgress};
use crate::failure::{CommandExit, Failure, failure_of_run_state};
use crate::process::shell::quote_word;
use crate::runner::run_log::run_log_path;
use crate::runner::run_standing::{RunStanding, exit_of_run};
use crate::runner::signals::SignalListener;
use crate::session::{Session, open_runs};
use crate::verbs::arguments::search_folder;
use crate::world::input;
use crate::world::{World, pause};

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How the run stands is looked up at one of so many looks.
const LOOKS_BETWEEN: u32 = 4;
/// So many lines of the end of the log are shown first, of so many bytes.
const LINES_FIRST: usize = 20;
const BYTES_FIRST: u64 = 64 << 10;

/// What is seen of a run.
#[derive(Debug)]
pub enum AttachNews<'a> {
    /// The run is at work and has no log, first: its lines go to a terminal.
    WithoutLog(&'a RunRow),
    /// A line of its log.
    Line(&'a str),
    /// How it stands.
    Progress(&'a RunProgress<'a>),
}

/// How the watching ended.
#[derive(Debug)]
pub struct AttachEnd {
    /// The run, as it is then.
    pub row: RunRow,
    /// The questions about its file and those of the project that are open.
    pub asked: Vec<DecisionRow>,
    /// Its log says how it ended.
    pub has_log: bool,
    /// The run goes on: a signal ended the watching.
    pub has_left: bool,
}

impl AttachEnd {
    /// What the process ends with.
    #[must_use]
    pub fn exit_code(&self) -> CommandExit {
        if self.has_left {
            return CommandExit::Done;
        }
        let exit = exit_of_run(&self.row, &self.asked);
        if exit == CommandExit::Interrupted {
            return CommandExit::No;
        }
        exit
    }
}

/// Watches a run until no process works on it, or a signal asks to leave. Changes
/// nothing.
///
/// # Errors
///
/// When there is no such run, it was not started, its runner died, or the store cannot be
/// read.
pub fn attach(
    world: &World,
    run: Option<&str>,
    told: &mut dyn FnMut(AttachNews<'_>),
) -> Result<AttachEnd, Failure> {
    let none = || {
        Failure::new("run.unknown", "no run is recorded here")
            .with_hint("begin one with `piton run PLAN --detach`")
    };
    let session = Session::open_read_only(world, &search_folder(world, run))?.ok_or_else(none)?;
    let row = find_run(&session, run)?.ok_or_else(none)?;
    let leaving = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&leaving);
    let signals = SignalListener::listen(move |_| {
        heard.store(true, Ordering::SeqCst);
        true
    })?;
    let path = run_log_path(&session.project, &row.name);
    let has_log = is_log_of_now(&path, &row);
    let mut log = LogEnd::new(path, has_log);
    if !has_log && RunStanding::of_run(&session.project, &row).is_live {
        told(AttachNews::WithoutLog(&row));
    }
    let mut looks = 0;
    let has_left = loop {
        // First whether it is over: what is read then is all.
        let is_due = looks % LOOKS_BETWEEN == 0;
        let is_over = is_due && !show_progress(&session, &row, told)?;
        looks += 1;
        log.read_added(&mut |line| told(AttachNews::Line(line)));
        if is_over || leaving.load(Ordering::SeqCst) {
            break !is_over;
        }
        pause(LOOK);
    };
    drop(signals);
    let rows = session.load(&[Need::Run(row.id)])?;
    let row = rows.tables.run(row.id).cloned().unwrap_or(row);
    // One that had no time for its last words.
    let is_cut_short = matches!(row.state, RunState::New | RunState::Running);
    if is_cut_short && !has_left {
        let standing = RunStanding::of_run(&session.project, &row);
        return Err(failure_of_run_state(&row, standing.state));
    }
    Ok(AttachEnd {
        asked: open_file_questions(&session, &row)?,
        row,
        has_log,
        has_left,
    })
}

/// The run that is named; else the one on which a process works.
fn find_run(session: &Session<'_>, run: Option<&str>) -> Result<Option<RunRow>, Failure> {
    if run.is_some() {
        return select_run(session, run);
    }
    let runs = session.runs()?;
    let is_live = |row: &&RunRow| RunStanding::of_run(&session.project, row).is_live;
    let live: Vec<&RunRow> = runs.iter().filter(is_live).collect();
    match live.as_slice() {
        [] => match select_run(session, None)? {
            None if !runs.is_empty() => Err(which_run("no run is at work", open_runs(&runs))),
            one => Ok(one),
        },
        [one] => Ok(Some((*one).clone())),
        several => Err(which_run(
            "more than one run is at work",
            several.iter().copied(),
        )),
    }
}

fn which_run<'r>(message: &str, runs: impl Iterator<Item = &'r RunRow>) -> Failure {
    let typed: Vec<String> = runs
        .map(|run| format!("`piton attach {}`", quote_word(&run.name)))
        .collect();
    Failure::new("usage", message).with_hint(format!("watch one with {}", typed.join(" or ")))
}

/// A file system may be so much behind the clock.
const FILE_TIME_LAG: Duration = Duration::from_millis(100);

/// Whether the lines of a log are of what a run does now, or did last: a runner in a
/// terminal writes none.
fn is_log_of_now(path: &Path, row: &RunRow) -> bool {
    let since = row.holder.as_ref().map_or(row.since, |holder| holder.since);
    let written = std::fs::metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)
        .and_then(|found| Timestamp::try_from(found.modified().ok()? + FILE_TIME_LAG).ok());
    written.is_some_and(|written| written >= since)
}

/// Tells how a run stands; false where no process works on it.
fn show_progress(
    session: &Session<'_>,
    row: &RunRow,
    told: &mut dyn FnMut(AttachNews<'_>),
) -> Result<bool, Failure> {
    let needs = [
        Need::Run(row.id),
        Need::Tree(row.id),
        Need::OpenAttempts(Some(row.id)),
    ];
    let rows = session.load(&needs)?;
    let row = rows.tables.run(row.id).unwrap_or(row);
    if !RunStanding::of_run(&session.project, row).is_live {
        return Ok(false);
    }
    let mut open: Vec<_> = rows.tables.open_attempts().collect();
    open.sort_by_key(|attempt| (attempt.started_at, attempt.id));
    let activities: Vec<Option<String>> = open
        .iter()
        .map(|attempt| live_activity(session, attempt))
        .collect();
    let works = open.iter().zip(&activities).map(|(attempt, activity)| {
        let printed = std::fs::metadata(live_output_path(session, attempt));
        WorkProgress {
            node: &attempt.node,
            since: attempt.started_at,
            is_merge: false,
            activity: activity.as_deref(),
            printed: printed.map_or(0, |found| found.len()),
        }
    });
    let (limits, spend) = (&row.invocation.limits, &row.spent.spend);
    told(AttachNews::Progress(&RunProgress {
        run: row.id,
        tables: &rows.tables,
        now: session.world.now(),
        works: works.collect(),
        used: BudgetUse::from(spend),
        budget_percent: budget_percent(limits, spend, &Usage::default(), BudgetUse::default()),
        asked: None,
        stopping: None,
    }));
    Ok(true)
}

/// The end of a log that grows, and that another file may take the place of.
struct LogEnd {
    path: PathBuf,
    file: Option<(File, u64)>,
    /// What stands in it at first is of now.
    is_of_now: bool,
    /// A line that has not ended.
    open: Vec<u8>,
}

impl LogEnd {
    fn new(path: PathBuf, is_of_now: bool) -> Self {
        Self {
            path,
            file: None,
            is_of_now,
            open: Vec::new(),
        }
    }

    /// Gives the lines that came since the last look; at the first, the last ones. A log
    /// that cannot be read has none.
    fn read_added(&mut self, each: &mut dyn FnMut(&str)) {
        if let Some((file, _)) = &mut self.file {
            read_lines(file, &mut self.open, each).ok();
        }
        let Ok(found) = std::fs::metadata(&self.path) else {
            // What is written there later is of now.
            self.is_of_now = true;
            return;
        };
        let number = found.ino();
        if self.file.as_ref().is_some_and(|(_, open)| *open == number) {
            return;
        }
        let is_first = self.file.is_none();
        let Ok(mut file) = input::open_file(&self.path) else {
            return;
        };
        let mut lines = VecDeque::new();
        if is_first {
            self.skip_to_end(&mut file);
        }
        read_lines(&mut file, &mut self.open, &mut |line| {
            lines.push_back(line.to_owned());
            if is_first && lines.len() > LINES_FIRST {
                lines.pop_front();
            }
        })
        .ok();
        lines.iter().for_each(|line| each(line));
        self.file = Some((file, number));
    }

    /// Passes over what is long ago, and over the line that begins there.
    fn skip_to_end(&mut self, file: &mut File) {
        let bytes = file.metadata().map_or(0, |found| found.len());
        if !self.is_of_now {
            file.seek(SeekFrom::End(0)).ok();
            return;
        }
        let Some(from) = bytes.checked_sub(BYTES_FIRST) else {
            return;
        };
        if file.seek(SeekFrom::Start(from)).is_ok() {
            let mut byte = [0];
            while file.read(&mut byte).is_ok_and(|got| got > 0) && byte != *b"\n" {}
        }
    }
}

fn read_lines(file: &mut File, open: &mut Vec<u8>, each: &mut dyn FnMut(&str)) -> io::Result<()> {
    file.read_to_end(open)?;
    let Some(end) = open.iter().rposition(|byte| *byte == b'\n') else {
        return Ok(());
    };
    let rest = open.split_off(end + 1);
    String::from_utf8_lossy(open).lines().for_each(each);
    *open = rest;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_begun_while_it_is_watched_is_shown_from_its_start() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("auth.log");
        let mut log = LogEnd::new(path.clone(), false);
        let mut lines = Vec::new();
        let mut read = || log.read_added(&mut |line| lines.push(line.to_owned()));
        read();
        std::fs::write(&path, "first\nsecond\n").expect("written");
        read();
        assert_eq!(lines, ["first", "second"]);
    }
}
