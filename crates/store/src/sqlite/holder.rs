//! Which process holds the lock of a store, as the kernel tells.
//!
//! Nothing is recorded for it: what a dead process wrote of itself would name the wrong
//! one. Where the kernel does not tell, nobody is named.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jiff::Timestamp;

/// A process that holds a lock.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LockHolder {
    pid: u32,
    /// The program and the first word of its arguments: the rest may hold a secret.
    command: String,
    state: &'static str,
    /// Since when: the last writer's turn began then.
    since: Option<Timestamp>,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pid,
            command,
            state,
            since,
        } = self;
        write!(f, "process {pid} (`{command}`), which is {state}")?;
        match since {
            Some(since) => write!(f, ", since {}", since.strftime("%F %T UTC")),
            None => Ok(()),
        }
    }
}

/// The process that holds `lock` now, and did when it was asked for.
///
/// The table of locks names the process, but a file only by a number that others may
/// have as well: the process must have that very file open.
pub(super) fn find_holder(lock: &Path) -> Option<LockHolder> {
    let file = fs::metadata(lock).ok()?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let mut held = locks.lines().filter_map(parse_lock);
    let held = held.find(|held| held.inode == file.ino() && has_open(held.pid, &file))?;
    let since = file.modified().ok().filter(|_| held.is_writer);
    let stat = fs::read(format!("/proc/{}/stat", held.pid)).ok()?;
    let words = fs::read(format!("/proc/{}/cmdline", held.pid)).ok()?;
    Some(LockHolder {
        pid: held.pid,
        command: name_command(&String::from_utf8_lossy(&words)),
        state: parse_state(&String::from_utf8_lossy(&stat)),
        since: since.and_then(|since| Timestamp::try_from(since).ok()),
    })
}

/// A lock of flock(2) that is held.
#[derive(Debug, PartialEq, Eq)]
struct HeldLock {
    pid: u32,
    inode: u64,
    is_writer: bool,
}

/// Parses a line of proc_locks(5): `1: FLOCK ADVISORY WRITE 304 fe:00:10010 0 EOF`. One
/// that waits has `->` after its number.
fn parse_lock(line: &str) -> Option<HeldLock> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let ["FLOCK", _, mode, pid, file, ..] = fields.get(1..)? else {
        return None;
    };
    Some(HeldLock {
        pid: pid.parse().ok()?,
        inode: file.rsplit(':').next()?.parse().ok()?,
        is_writer: *mode == "WRITE",
    })
}

fn has_open(pid: u32, file: &fs::Metadata) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    open.filter_map(|entry| fs::metadata(entry.ok()?.path()).ok())
        .any(|found| (found.dev(), found.ino()) == (file.dev(), file.ino()))
}

/// What a process does, by its letter in proc_pid_stat(5).
fn parse_state(stat: &str) -> &'static str {
    // The name may hold blanks and parentheses.
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    match rest.chars().next() {
        Some('T') => "stopped",
        Some('t') => "traced",
        Some('D') => "waiting for the disk",
        Some('Z' | 'X' | 'x') => "ending",
        Some(_) | None => "running",
    }
}

fn name_command(words: &str) -> String {
    let mut words = words.split('\0');
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let is_verb = |word: &&str| {
        let plain = |c: char| c.is_ascii_lowercase() || c == '-';
        word.len() <= 16
            && word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(plain)
    };
    match words.next().filter(is_verb) {
        Some(verb) => format!("{program} {verb}"),
        None => program.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_told_from_one_that_is_waited_for() {
        let held = parse_lock("1: FLOCK  ADVISORY  WRITE 304 fe:00:10010636 0 EOF");
        let expect = HeldLock {
            pid: 304,
            inode: 10_010_636,
            is_writer: true,
        };
        assert_eq!(held, Some(expect));
        for other in [
            "1: -> FLOCK  ADVISORY  WRITE 305 fe:00:10010636 0 EOF",
            "2: POSIX  ADVISORY  READ 306 fe:00:10010636 128 128",
            "",
        ] {
            assert_eq!(parse_lock(other), None, "{other}");
        }
    }

    #[test]
    fn a_state_is_read_behind_any_name() {
        assert_eq!(parse_state("7 (a) T) T 1 7 7"), "stopped");
        assert_eq!(parse_state("7 (piton) t 1 7 7"), "traced");
        assert_eq!(parse_state("7 (piton) S 1 7 7"), "running");
    }

    #[test]
    fn of_a_command_the_program_and_its_verb_are_named() {
        assert_eq!(name_command("/bin/piton\0run\0plan\0"), "piton run");
        assert_eq!(name_command("curl\0-uada:secret\0"), "curl");
        assert_eq!(name_command("login\0hunter2\0"), "login");
    }
}
