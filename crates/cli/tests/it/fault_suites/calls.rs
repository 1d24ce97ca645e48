//! A call of the kernel fails: any call, at any place, in commands that write and
//! that read. `crash::calls` goes through those that make an entry durable one by one.
//!
//! Takes strace, which lets a call fail. A write that ends early is real: the shell
//! bounds the size of files.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use piton_simkit::seed::salted;
use piton_testkit::chance::Chance;

use super::{report, trials};
use crate::harness::{Said, Scratch};

/// Faults that every run of the tests tries; each takes five starts of piton.
const FAULTS: usize = 24;

const ERRORS: &[&str] = &["EIO", "ENOSPC", "EINTR"];

/// Calls of memory, threads and time, which no disk makes fail; and `close`: the
/// standard library ends the process where that of a folder fails, which no local file
/// system does.
const NOT_OF_FILES: &[&str] = &[
    "arch_prctl",
    "brk",
    "clock_nanosleep",
    "clone",
    "clone3",
    "close",
    "execve",
    "exit",
    "exit_group",
    "futex",
    "getpid",
    "getrandom",
    "gettid",
    "madvise",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "poll",
    "prctl",
    "prlimit64",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "sigaltstack",
    "uname",
    "vfork",
    "wait4",
    "waitid",
];

const WRITES: &[&str] = &["log", "task_completed", "--notes", "second", "--json"];
const READS: &[&[&str]] = &[&["status", "--json"], &["journal", "export"]];

/// A store with an entry in it.
fn project() -> Scratch {
    let scratch = Scratch::in_memory().with_fixed_clock();
    let said = scratch.piton(&["log", "session_started", "--notes", "first"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch
}

/// A command of piton as the arguments of another program, in its environment.
fn through(program: &str, before: &[&str], scratch: &Scratch, args: &[&str]) -> Command {
    let plain = scratch.command(args);
    let mut command = Command::new(program);
    command
        .args(before)
        .arg(plain.get_program())
        .args(plain.get_args());
    command
        .current_dir(scratch.path())
        .env_clear()
        .stdin(Stdio::null());
    command.envs(
        plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command
}

/// How often a command makes each call of files; none without strace.
fn calls_of(args: &[&str]) -> Option<Vec<(String, u64)>> {
    let scratch = project();
    let trace = tempfile::NamedTempFile::new().expect("a file for the trace");
    let path = trace.path().to_str().expect("text").to_owned();
    let mut strace = through("strace", &["-f", "-qq", "-o", &path], &scratch, args);
    let output = strace
        .output()
        .ok()
        .filter(|output| output.status.success());
    if output.is_none() {
        eprintln!("skipped: faults at every call take strace, and the right to trace");
        return None;
    }
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    for line in fs::read_to_string(trace.path())
        .expect("strace wrote it")
        .lines()
    {
        let call = line.split_once(' ').map(|(_, call)| call.trim_start());
        if let Some((name, _)) = call.and_then(|call| call.split_once('(')) {
            *calls.entry(name.to_owned()).or_default() += 1;
        }
    }
    calls.retain(|name, _| !NOT_OF_FILES.contains(&name.as_str()) && !name.starts_with('<'));
    Some(calls.into_iter().collect())
}

/// Draws a call by how often it is made.
fn draw<'a>(calls: &'a [(String, u64)], chance: &mut Chance) -> (&'a str, u64) {
    let mut nth = chance.below(calls.iter().map(|(_, times)| times).sum());
    for (name, times) in calls {
        if nth < *times {
            return (name, nth + 1);
        }
        nth -= times;
    }
    panic!("a number below the sum belongs to a call")
}

/// Whether the program began at all: the loader needs its files, too.
fn has_begun(said: &Said) -> bool {
    said.exit != 127 || !said.err.contains("error while loading shared libraries")
}

fn notes_in(scratch: &Scratch) -> Vec<String> {
    let exported = scratch.piton(&["journal", "export"]);
    assert_eq!(exported.exit, 0, "{}", exported.err);
    let events = exported.out.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).expect("JSON lines");
        event["body"]["data"]["notes"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    });
    events.collect()
}

/// What must hold after a command that writes.
fn check_written(scratch: &Scratch, said: &Said, place: &str) -> Result<(), String> {
    if !(0..=100).contains(&said.exit) && has_begun(said) {
        return Err(format!("{place}: exit {}: {}", said.exit, said.err));
    }
    let stored = notes_in(scratch);
    let whole = stored == ["first", "second"] || said.exit != 0 && stored == ["first"];
    if !whole {
        return Err(format!("{place}: exit {}: {stored:?}", said.exit));
    }
    for args in [
        &["journal", "verify"][..],
        &["log", "task_completed", "--notes", "next"],
    ] {
        let said = scratch.piton(args);
        if said.exit != 0 || said.err.contains("acknowledged") {
            return Err(format!("{place}: {args:?}: {}", said.err));
        }
    }
    Ok(())
}

#[test]
fn a_read_that_fails_once_is_not_called_damage() {
    let scratch = project();
    for args in [&["status", "--json"][..], &["journal", "export"], WRITES] {
        let Some(calls) = calls_of(args) else {
            return;
        };
        let reads = calls.iter().find(|(name, _)| name == "pread64");
        for nth in 1..=reads.expect("SQLite reads with it").1 {
            let inject = format!("inject=pread64:error=EIO:when={nth}");
            let before = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64", "-e"];
            let mut strace = through(
                "strace",
                &[&before[..], &[&inject]].concat(),
                &scratch,
                args,
            );
            let said = Said::of(&strace.output().expect("strace is there"));
            // The disk is asked once more.
            let fits = said.exit == 0 || !has_begun(&said);
            assert!(fits, "{args:?}, read {nth}: {}: {}", said.exit, said.err);
        }
    }
}

#[test]
fn a_file_that_the_disk_cannot_read_is_a_fault_of_the_disk() {
    let scratch = project();
    let said = scratch.piton(&["plan", "check", "/proc/self/mem"]);
    assert_eq!(said.exit, 7, "{}", said.err);
    assert!(said.err.contains("[file.fault]"), "{}", said.err);
    assert!(said.err.contains("try again"), "{}", said.err);
}

#[test]
fn a_call_that_fails_in_a_command_that_writes_loses_nothing() {
    let Some(calls) = calls_of(WRITES) else {
        return;
    };
    let mut chance = Chance::seeded(salted(71));
    let (faults, mut refused, mut wrong) = (trials(FAULTS), 0, Vec::new());
    for nth in 0..faults {
        let (call, at) = draw(&calls, &mut chance);
        let error = ERRORS[nth % ERRORS.len()];
        let scratch = project();
        let inject = format!("inject={call}:error={error}:when={at}");
        let strace = ["-f", "-qq", "-o", "/dev/null", "-e", &inject];
        let output = through("strace", &strace, &scratch, WRITES).output();
        let said = Said::of(&output.expect("strace was there a moment ago"));
        refused += usize::from(said.exit != 0);
        wrong.extend(check_written(&scratch, &said, &inject).err());
    }
    report(&format!(
        "calls: {faults} faults in a command that writes, {refused} refused, {} wrong",
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_call_that_fails_in_a_command_that_reads_gives_no_wrong_answer() {
    let mut chance = Chance::seeded(salted(72));
    let (mut tried, mut refused, mut wrong) = (0, 0, Vec::new());
    for args in READS {
        let Some(calls) = calls_of(args) else { return };
        let scratch = project();
        let healthy = scratch.piton(args);
        for nth in 0..trials(FAULTS) / READS.len() {
            let (call, at) = draw(&calls, &mut chance);
            let error = ERRORS[nth % ERRORS.len()];
            let inject = format!("inject={call}:error={error}:when={at}");
            let strace = ["-f", "-qq", "-o", "/dev/null", "-e", &inject];
            let output = through("strace", &strace, &scratch, args).output();
            let said = Said::of(&output.expect("strace was there a moment ago"));
            let is_right = match said.exit {
                0 => said.out == healthy.out || said.err != healthy.err,
                1..=100 => true,
                _ => !has_begun(&said),
            };
            if !is_right {
                wrong.push(format!(
                    "{args:?}: {inject}: exit {}: {}{}",
                    said.exit, said.out, said.err
                ));
            }
            tried += 1;
            refused += usize::from(said.exit != 0);
        }
    }
    report(&format!(
        "calls: {tried} faults in commands that read, {refused} refused, {} wrong",
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file that may not grow beyond some blocks: a write ends early there, the next fails.
#[test]
fn a_write_that_ends_early_loses_nothing() {
    let mut chance = Chance::seeded(salted(73));
    let (writes, mut refused, mut wrong) = (trials(FAULTS / 2), 0, Vec::new());
    for _ in 0..writes {
        let scratch = project();
        let blocks = chance.below(420).to_string();
        let script = "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"";
        let output = through("sh", &["-c", script, &blocks], &scratch, WRITES).output();
        let said = Said::of(&output.expect("there is a shell"));
        refused += usize::from(said.exit != 0);
        wrong.extend(check_written(&scratch, &said, &format!("files of {blocks} blocks")).err());
    }
    report(&format!(
        "calls: {writes} bounds of file sizes, {refused} refused, {} wrong",
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
