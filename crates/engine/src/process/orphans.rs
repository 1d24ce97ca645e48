//! Children of this process, and what is handed to it when their parents die.
//!
//! Three ways to find what left its process group, and when each is paid for:
//!
//! - Nothing at all, when this process adopts orphans and the kernel says that
//!   it has no children left (one system call). This is the usual case.
//! - The list of own children, when others are running: a process in it that was
//!   not started here is an orphan. No orphan, no search.
//! - Only then, or where orphans go to another process, the environments of all
//!   processes, for the mark.
//!
//! `waitpid(-1)` would take the status of a child that another thread waits
//! for. So each process is asked for by its own number, and only if it was not
//! started here, leads or follows a group that is not this process's own, and
//! is younger than the first child. Children that some library starts stay in
//! this process's group and are never touched.

use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, getpgrp, waitid};

use super::table::{self, ProcessRow};

/// What the marks of piton's own short calls begin with. What they leave in the background (git
/// tidies up that way) is no part of any attempt.
pub(super) const OWN: &str = "-";

static ADOPTS: AtomicBool = AtomicBool::new(false);
static KNOWN: Mutex<StartedProcesses> = Mutex::new(StartedProcesses {
    children: Vec::new(),
    marks: Vec::new(),
    first_start: u64::MAX,
});

/// What this process started. Locked while a child is being started, so that
/// no search can take it for an orphan.
struct StartedProcesses {
    /// Started and not waited for.
    children: Vec<u32>,
    /// Attempts of which something may run.
    marks: Vec<String>,
    first_start: u64,
}

fn lock_started() -> MutexGuard<'static, StartedProcesses> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process the parent of all that its children leave behind.
///
/// To be called once, before the first [`super::start`]. Without it, and on
/// systems other than Linux, the answer is `false` and everything still works
/// as far as marks and process groups reach, at the price of a search through
/// all processes at the end of each child.
pub fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    {
        let me = Some(rustix::process::getpid());
        let adopts = rustix::process::set_child_subreaper(me).is_ok();
        ADOPTS.store(adopts, Ordering::Relaxed);
        adopts
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// Starts a child and remembers it as one's own.
pub(super) fn spawn_child(
    command: &mut Command,
    mark: Option<&str>,
) -> io::Result<(Child, ProcessRow)> {
    let mut known = lock_started();
    let child = command.spawn()?;
    let pid = child.id();
    // Not waited for yet, so it is there even if it has ended.
    let row = table::find_process(pid).unwrap_or(ProcessRow {
        pid,
        parent: std::process::id(),
        group: pid,
        zombie: false,
        stopped: false,
        start: 0,
    });
    known.first_start = known.first_start.min(row.start);
    known.children.push(pid);
    known.marks.extend(mark.map(str::to_owned));
    Ok((child, row))
}

/// Takes the status of a child that has ended. Its number is free from here on.
pub(super) fn reap_child(child: &mut Child) -> io::Result<ExitStatus> {
    // Together, or an orphan with the same number could be taken for the child.
    let mut known = lock_started();
    let status = child.wait();
    known.children.retain(|&pid| pid != child.id());
    status
}

/// Nothing of this attempt runs any more.
pub(super) fn forget_mark(mark: &str) {
    let mut known = lock_started();
    if let Some(at) = known.marks.iter().position(|known| known == mark) {
        known.marks.swap_remove(at);
    }
}

/// What of an attempt runs outside of its process group.
pub(super) fn find_strays(mark: &str) -> Vec<ProcessRow> {
    if !ADOPTS.load(Ordering::Relaxed) {
        return find_by_mark(mark);
    }
    if !has_children() {
        return Vec::new();
    }
    let (orphans, alone) = find_orphans();
    if orphans.is_empty() {
        return Vec::new();
    }
    let mut found = find_by_mark(mark);
    // An orphan without a mark cleared its environment. Whose it is can only be
    // said when there is one attempt; otherwise the last one to end takes it.
    // The first process of a container is handed everybody's orphans.
    if alone && std::process::id() != 1 {
        for orphan in orphans {
            let other =
                table::mark_of_process(orphan.pid).is_some_and(|mark| mark.starts_with(OWN));
            if !other && found.iter().all(|row| row.pid != orphan.pid) {
                found.push(orphan);
            }
        }
    }
    found
}

/// Waits for orphans that have ended, so that a child which leaves many behind
/// does not use up the numbers.
pub(super) fn reap_orphans() {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if ADOPTS.load(Ordering::Relaxed) && matches!(waitid(WaitId::All, ended), Ok(Some(_))) {
        find_orphans();
    }
}

/// Waits for those of a group that have ended and were handed to this process.
/// Its leader must have been waited for.
pub(super) fn reap_group(group: u32) {
    let known = lock_started();
    // The number can have come round to a new child, whose status is not to be
    // taken here.
    if let Some(pid) = table::to_pid(group).filter(|_| !known.children.contains(&group)) {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        while let Ok(Some(_)) = waitid(WaitId::Pgid(Some(pid)), ended) {}
    }
}

fn has_children() -> bool {
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, any), Err(Errno::CHILD))
}

/// Running children that were not started here, and whether at most one
/// attempt is under way. Those that have ended are waited for.
fn find_orphans() -> (Vec<ProcessRow>, bool) {
    let known = lock_started();
    let me = std::process::id();
    let own_group = u32::try_from(getpgrp().as_raw_nonzero().get()).unwrap_or(0);
    let children: Vec<ProcessRow> = match table::own_children() {
        Some(pids) => pids.into_iter().filter_map(table::find_process).collect(),
        None => {
            let mut rows = table::list_processes();
            rows.retain(|row| row.parent == me);
            rows
        }
    };
    let (ended, running): (Vec<ProcessRow>, Vec<ProcessRow>) = children
        .into_iter()
        .filter(|row| {
            !known.children.contains(&row.pid)
                && row.group != own_group
                && row.start >= known.first_start
        })
        .partition(|row| row.zombie);
    for pid in ended.iter().filter_map(|row| table::to_pid(row.pid)) {
        // Gone already: another thread was here.
        waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        )
        .ok();
    }
    (running, known.marks.len() <= 1)
}

/// What runs in a folder or below, was left behind by its parent, and is neither of
/// an attempt that is under way here nor of one of piton's own short calls. Linux.
pub(super) fn find_left_in_folder(folder: &Path) -> Vec<ProcessRow> {
    let rows = table::list_processes();
    let known = lock_started();
    let me = std::process::id();
    let is_left = |row: &ProcessRow| {
        let was_handed_on = row.parent == 1
            || (row.parent == me && !known.children.contains(&row.pid))
            || rows.iter().all(|other| other.pid != row.parent);
        match table::mark_of_process(row.pid) {
            Some(mark) => !mark.starts_with(OWN) && !known.marks.contains(&mark),
            None => was_handed_on,
        }
    };
    let is_in = |row: &ProcessRow| {
        table::folder_of_process(row.pid).is_some_and(|cwd| cwd.starts_with(folder))
    };
    let found = rows.iter().filter(|row| row.pid != me && !row.zombie);
    found
        .filter(|row| is_in(row) && is_left(row))
        .cloned()
        .collect()
}

fn find_by_mark(mark: &str) -> Vec<ProcessRow> {
    if cfg!(not(target_os = "linux")) {
        return Vec::new();
    }
    let me = std::process::id();
    table::list_processes()
        .into_iter()
        .filter(|row| row.pid != me && !row.zombie)
        .filter(|row| table::mark_of_process(row.pid).is_some_and(|found| found == mark))
        .collect()
}
