//! Processes by `ps`, for systems without `/proc` (macOS, the BSDs).

#[cfg(not(target_os = "linux"))]
use std::sync::OnceLock;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

#[cfg(not(target_os = "linux"))]
use super::BootInfo;
use super::ProcessRow;

const COLUMNS: &str = "pid=,ppid=,pgid=,stat=,lstart=";

/// All processes.
pub(in crate::process) fn list_processes() -> Vec<ProcessRow> {
    parse_listing(&run_ps(&["-A", "-o", COLUMNS]))
}

/// One process, also when it is a zombie.
pub(in crate::process) fn find_process(pid: u32) -> Option<ProcessRow> {
    parse_listing(&run_ps(&["-o", COLUMNS, "-p", &pid.to_string()])).pop()
}

/// Not to be had from `ps`.
#[cfg(not(target_os = "linux"))]
pub(in crate::process) fn is_ending(_pid: u32) -> bool {
    false
}

/// Not to be had from `ps` reliably.
#[cfg(not(target_os = "linux"))]
pub(in crate::process) fn mark_of_process(_pid: u32) -> Option<String> {
    None
}

/// Not to be had from `ps`.
#[cfg(not(target_os = "linux"))]
pub(in crate::process) fn environment_of_process(_pid: u32) -> Vec<(String, String)> {
    Vec::new()
}

/// Not to be had from `ps`.
#[cfg(not(target_os = "linux"))]
pub(in crate::process) fn folder_of_process(_pid: u32) -> Option<std::path::PathBuf> {
    None
}

/// Orphans are never adopted here.
#[cfg(not(target_os = "linux"))]
pub(in crate::process) fn own_children() -> Option<Vec<u32>> {
    None
}

/// The machine and its boot.
#[cfg(not(target_os = "linux"))]
pub(in crate::process) fn boot_info() -> &'static BootInfo {
    static BOOT: OnceLock<BootInfo> = OnceLock::new();
    BOOT.get_or_init(|| BootInfo {
        machine: run_for_text("sysctl", &["-n", "kern.uuid"]),
        boot_id: run_for_text("sysctl", &["-n", "kern.bootsessionuuid"]),
        pid_space: String::new(),
    })
}

fn run_ps(args: &[&str]) -> String {
    run_for_text("ps", args)
}

#[expect(
    clippy::disallowed_methods,
    reason = "asks the system what processes there are; short, and waited for"
)]
fn run_for_text(program: &str, args: &[&str]) -> String {
    // One language and one time zone, so that the same start always reads the same.
    std::process::Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}

fn parse_listing(listing: &str) -> Vec<ProcessRow> {
    listing.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<ProcessRow> {
    let mut words = line.split_ascii_whitespace();
    let mut number = || words.next()?.parse::<u32>().ok();
    let (pid, parent, group) = (number()?, number()?, number()?);
    let state = words.next()?;
    let lstart: Vec<&str> = words.collect();
    let start = DateTime::strptime("%a %b %d %H:%M:%S %Y", lstart.join(" ")).ok()?;
    let start = start.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    Some(ProcessRow {
        pid,
        parent,
        group,
        zombie: state.starts_with('Z'),
        stopped: state.starts_with('T'),
        start: u64::try_from(start).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_and_headings_are_not() {
        let listing = "  PID  PPID  PGID STAT STARTED\n\
                       \x20   1     0     1 Ss   Sun Nov  2 00:51:36 2025\n\
                       \x20  77     1    70 Z+   Sun Nov  2 00:51:37 2025\n\
                       \x20  78     1    70 T    Sun Nov  2 00:51:37 2025\n";
        let rows = parse_listing(listing);
        assert_eq!(rows.len(), 3);
        assert!(rows[2].stopped && !rows[0].stopped);
        assert_eq!((rows[1].pid, rows[1].parent, rows[1].group), (77, 1, 70));
        assert!(rows[1].zombie && !rows[0].zombie);
        assert_eq!(rows[0].start + 1, rows[1].start);
    }

    #[test]
    fn where_there_is_a_ps_it_sees_this_process() {
        let all = list_processes();
        if !all.is_empty() {
            let me = find_process(std::process::id()).expect("this process");
            assert!(all.iter().any(|found| found.pid == me.pid));
        }
    }
}
