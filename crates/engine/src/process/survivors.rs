//! What a piton that crashed left running.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::process::Signal;

use super::ProcessIdentity;
use super::child::now;
use super::orphans::find_left_in_folder;
use super::table::{self, ProcessRow, SignalOutcome};

/// How long SIGKILL is repeated.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);

/// A process that belongs to an attempt without a living runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// The process.
    pub id: ProcessIdentity,
    /// What gave it away.
    pub found_by: SurvivorEvidence,
}

/// What gave a survivor away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SurvivorEvidence {
    /// It was recorded when it was started.
    Record,
    /// It carries this mark in its environment.
    Mark(String),
    /// It is in the process group, or a descendant, of one that was found.
    Kinship,
    /// It is in a folder in which nothing should run any more.
    Folder,
}

/// What became of survivors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedSurvivors {
    /// Gone.
    pub ended: Vec<Survivor>,
    /// Could not be ended: another user's, or held by the kernel.
    pub left: Vec<Survivor>,
}

/// Finds what still runs of attempts: by `recorded` start, by `marks` in the
/// environment (Linux), and by kinship with those.
///
/// Never this process itself, nor what descends from it. The caller makes sure
/// that no living piton looks after these attempts.
pub fn find_survivors(marks: &[String], recorded: &[ProcessIdentity]) -> Vec<Survivor> {
    find_with_rows(marks, recorded)
        .into_iter()
        .map(|(_, survivor)| survivor)
        .collect()
}

/// Finds survivors and ends them: SIGTERM, `grace`, SIGKILL, at most 5 s more.
///
/// Looks again until nothing is found, so that what they start meanwhile ends
/// too.
pub fn end_survivors(
    marks: &[String],
    recorded: &[ProcessIdentity],
    grace: Duration,
) -> EndedSurvivors {
    end_all_found(recorded.to_vec(), grace, |known| {
        find_with_rows(marks, known)
    })
}

/// Finds what attempts that are over left running in a folder or below, and ends it
/// in the same way. By folders processes are known on Linux alone.
pub fn end_processes_in_folder(folder: &Path, grace: Duration) -> EndedSurvivors {
    // As the system names it.
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    end_all_found(Vec::new(), grace, |_| {
        let rows = find_left_in_folder(&folder).into_iter();
        let survivor = |row: &ProcessRow| Survivor {
            id: ProcessIdentity::from_row(row),
            found_by: SurvivorEvidence::Folder,
        };
        rows.map(|row| (row.clone(), survivor(&row))).collect()
    })
}

/// Ends what is found, again and again, until nothing is.
fn end_all_found(
    mut recorded: Vec<ProcessIdentity>,
    grace: Duration,
    find: impl Fn(&[ProcessIdentity]) -> Vec<(ProcessRow, Survivor)>,
) -> EndedSurvivors {
    let mut all: Vec<Survivor> = Vec::new();
    let mut told: HashSet<(u32, u64)> = HashSet::new();
    let kill_at = now() + grace;
    loop {
        let found = find(&recorded);
        let at = now();
        let killing = at >= kill_at;
        let mut refused = 0;
        for (row, survivor) in &found {
            if !all.iter().any(|known| known.id == survivor.id) {
                all.push(survivor.clone());
                // A process that was found by its parent would not be found again
                // when the parent is gone.
                recorded.push(survivor.id.clone());
            }
            let sent = if killing {
                table::send_signal(row, Signal::KILL)
            } else if told.insert((row.pid, row.start)) {
                let sent = table::send_signal(row, Signal::TERM);
                // One that is suspended does not see the first.
                table::send_signal(row, Signal::CONT);
                sent
            } else {
                SignalOutcome::Yes
            };
            refused += usize::from(sent == SignalOutcome::Refused);
        }
        let given_up = at >= kill_at + KILL_PATIENCE || (killing && refused == found.len());
        if found.is_empty() || given_up {
            let left: Vec<Survivor> = found.into_iter().map(|(_, survivor)| survivor).collect();
            all.retain(|survivor| left.iter().all(|left| left.id != survivor.id));
            return EndedSurvivors { ended: all, left };
        }
        wait_for(LOOK);
    }
}

fn find_with_rows(marks: &[String], recorded: &[ProcessIdentity]) -> Vec<(ProcessRow, Survivor)> {
    let rows = table::list_processes();
    let own = collect_family(&rows, HashSet::from([std::process::id()]), |_| false);
    let recorded: HashSet<(u32, u64)> = recorded
        .iter()
        .filter(|id| id.is_of_this_boot() && id.start_time != 0)
        .map(|id| (id.pid, id.start_time))
        .collect();
    let mut found: Vec<(ProcessRow, SurvivorEvidence)> = Vec::new();
    // Also one that has ended and was not waited for: its group is still its own.
    let mut leaders: HashSet<u32> = HashSet::new();
    let mut roots: HashSet<u32> = HashSet::new();
    for row in &rows {
        if own.contains(&row.pid) {
            continue;
        }
        let by = if recorded.contains(&(row.pid, row.start)) {
            leaders.extend((row.group == row.pid).then_some(row.pid));
            SurvivorEvidence::Record
        } else if let Some(mark) =
            table::mark_of_process(row.pid).filter(|mark| marks.contains(mark))
        {
            SurvivorEvidence::Mark(mark)
        } else {
            continue;
        };
        roots.insert(row.pid);
        found.push((row.clone(), by));
    }
    let family = collect_family(&rows, roots, |row| leaders.contains(&row.group));
    for row in &rows {
        let known = found.iter().any(|(found, _)| found.pid == row.pid);
        if !known && family.contains(&row.pid) && !own.contains(&row.pid) {
            found.push((row.clone(), SurvivorEvidence::Kinship));
        }
    }
    found.retain(|(row, _)| !row.zombie);
    found
        .into_iter()
        .map(|(row, found_by)| {
            let id = ProcessIdentity::from_row(&row);
            (row, Survivor { id, found_by })
        })
        .collect()
}

/// The processes with these numbers, those that `also` holds for, and all that
/// descend from them.
fn collect_family(
    rows: &[ProcessRow],
    mut family: HashSet<u32>,
    also: impl Fn(&ProcessRow) -> bool,
) -> HashSet<u32> {
    loop {
        let before = family.len();
        for row in rows {
            if family.contains(&row.parent) || also(row) {
                family.insert(row.pid);
            }
        }
        if family.len() == before {
            return family;
        }
    }
}

fn wait_for(time: Duration) {
    let (sender, receiver) = mpsc::channel::<()>();
    // Nothing is ever sent: this is a wait.
    assert_eq!(receiver.recv_timeout(time), Err(RecvTimeoutError::Timeout));
    drop(sender);
}
