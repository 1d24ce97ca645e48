//! Processes by Linux' `/proc`. Format: proc_pid_stat(5).

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::OnceLock;

use super::{BootInfo, MARK, ProcessRow};

/// A line of `stat` is shorter.
const STAT_BYTES: usize = 1 << 10;
/// Most environments are smaller.
const ENVIRON_BYTES: usize = 16 << 10;

/// All processes that can be seen.
pub(in crate::process) fn list_processes() -> Vec<ProcessRow> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(find_process)
        .collect()
}

/// One process, also when it is a zombie.
pub(in crate::process) fn find_process(pid: u32) -> Option<ProcessRow> {
    // The name of a program need not be UTF-8.
    let stat = read_proc_file(&format!("/proc/{pid}/stat"), STAT_BYTES).ok()?;
    parse_stat(pid, &String::from_utf8_lossy(&stat))
}

/// Reads a file of `/proc`, with room for so many bytes of it at first. Such
/// files say that they are empty: to ask for their size first is in vain.
fn read_proc_file(path: &str, expected: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(expected);
    File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse_stat(pid: u32, stat: &str) -> Option<ProcessRow> {
    // The name may hold blanks and parentheses; after the last `)` come numbers.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let threads: u32 = fields.get(17)?.parse().ok()?;
    // A first thread that ended before the others looks like a zombie.
    let state = *fields.first()?;
    let zombie = matches!(state, "Z" | "X" | "x") && threads <= 1;
    Some(ProcessRow {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        zombie,
        stopped: matches!(state, "T" | "t"),
        start: fields.get(19)?.parse().ok()?,
    })
}

/// The flag of a process that is on its way out (`PF_EXITING`).
const EXITING: u64 = 0x4;
/// The bit of SIGKILL among the signals that a process has not taken yet.
const KILLED: u64 = 1 << 8;

/// Whether a process was killed or has begun to end, and is not gone yet.
pub(in crate::process) fn is_ending(pid: u32) -> bool {
    let text = |file: &str| {
        let bytes = read_proc_file(&format!("/proc/{pid}/{file}"), STAT_BYTES).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    is_exiting(&text("stat")) || is_killed(&text("status"))
}

fn is_exiting(stat: &str) -> bool {
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = rest.split_ascii_whitespace();
    let is_over = matches!(fields.next(), Some("Z" | "X" | "x"));
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u64>().ok());
    is_over || flags.is_some_and(|flags| flags & EXITING != 0)
}

fn is_killed(status: &str) -> bool {
    let pending = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(value.trim(), 16).ok()
    };
    ["SigPnd:", "ShdPnd:"]
        .into_iter()
        .filter_map(pending)
        .any(|signals| signals & KILLED != 0)
}

/// The mark that a process was started with, if its environment may be read.
pub(in crate::process) fn mark_of_process(pid: u32) -> Option<String> {
    let environ = read_proc_file(&format!("/proc/{pid}/environ"), ENVIRON_BYTES).ok()?;
    environ.split(|&byte| byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    })
}

/// The variables that a process was started with; none where they may not be read.
pub(in crate::process) fn environment_of_process(pid: u32) -> Vec<(String, String)> {
    let path = format!("/proc/{pid}/environ");
    let environ = read_proc_file(&path, ENVIRON_BYTES).unwrap_or_default();
    let variables = environ.split(|&byte| byte == 0).filter_map(|variable| {
        let (name, value) = std::str::from_utf8(variable).ok()?.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    variables.collect()
}

/// The folder that a process is in; none where that may not be known.
pub(in crate::process) fn folder_of_process(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// The children of this process, those adopted included.
///
/// `None` where the kernel does not say (no `CONFIG_PROC_CHILDREN`).
pub(in crate::process) fn own_children() -> Option<Vec<u32>> {
    // One reading can miss a child while a sibling goes; two that agree will not.
    let mut last = read_children_once()?;
    for _ in 0..3 {
        let next = read_children_once()?;
        if next == last {
            break;
        }
        last = next;
    }
    Some(last)
}

fn read_children_once() -> Option<Vec<u32>> {
    let me = std::process::id();
    let mut threads: Vec<u32> = fs::read_dir("/proc/self/task")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    // The children of a thread that ends go to the first one: it is read last.
    threads.sort_unstable_by_key(|&thread| (thread == me, thread));
    let mut children = Vec::new();
    for thread in threads {
        match fs::read_to_string(format!("/proc/self/task/{thread}/children")) {
            Ok(list) => children.extend(
                list.split_ascii_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            ),
            // A thread that ended meanwhile; the first one stays for good.
            Err(_) if thread != me => {}
            Err(_) => return None,
        }
    }
    children.sort_unstable();
    children.dedup();
    Some(children)
}

/// The machine, its boot, and within which numbers pids are unique.
pub(in crate::process) fn boot_info() -> &'static BootInfo {
    static BOOT: OnceLock<BootInfo> = OnceLock::new();
    BOOT.get_or_init(|| {
        let line = |path: &str| {
            fs::read_to_string(path)
                .map(|text| text.trim().to_owned())
                .unwrap_or_default()
        };
        BootInfo {
            machine: line("/etc/machine-id"),
            boot_id: line("/proc/sys/kernel/random/boot_id"),
            pid_space: fs::read_link("/proc/self/ns/pid")
                .map(|link| link.to_string_lossy().into_owned())
                .unwrap_or_default(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_does_not_shift_the_fields() {
        let stat = "7 (a) Z 1 (b)) S 5 6 6 0 -1 4194368 199 0 0 0 0 0 0 0 20 0 1 0 124654 17285120";
        let row = parse_stat(7, stat).expect("a row");
        assert_eq!((row.parent, row.group, row.start), (5, 6, 124_654));
        assert!(!row.zombie);
    }

    #[test]
    fn a_first_thread_that_ended_early_is_no_zombie() {
        let stat = "7 (x) Z 5 6 6 0 -1 4194368 199 0 0 0 0 0 0 0 20 0 3 0 124654 0";
        assert!(!parse_stat(7, stat).expect("a row").zombie);
    }

    #[test]
    fn a_process_that_was_killed_is_ending_before_it_is_gone() {
        let stat = |state: &str, flags: u64| {
            format!("7 (x) {state} 5 6 6 0 -1 {flags} 199 0 0 0 0 0 0 0 20 0 3 0 124654 0")
        };
        assert!(!is_exiting(&stat("S", 0x40_0040)));
        assert!(is_exiting(&stat("D", 0x40_0044)));
        // The first thread is over, others still close what they hold.
        assert!(is_exiting(&stat("Z", 0x40_0040)));
        let status =
            |own: &str, shared: &str| format!("Name:\tx\nSigPnd:\t{own}\nShdPnd:\t{shared}\n");
        assert!(!is_killed(&status("0000000000000000", "0000000000004000")));
        assert!(is_killed(&status("0000000000000100", "0000000000000000")));
        assert!(is_killed(&status("0000000000000000", "0000000000000100")));
        assert!(!is_ending(std::process::id()));
    }

    #[test]
    fn a_truncated_line_is_no_process() {
        assert_eq!(parse_stat(7, "7 (x) S 5"), None);
        assert_eq!(parse_stat(7, ""), None);
    }

    #[test]
    fn this_process_is_seen() {
        let me = std::process::id();
        let row = find_process(me).expect("this process");
        assert!(list_processes().contains(&row));
        assert!(own_children().is_some());
    }
}
