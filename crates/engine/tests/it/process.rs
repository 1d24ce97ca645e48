//! Real child processes: well-behaved, hostile, and orphaned.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::slice::from_ref;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use piton_engine::agents::spool::{self, Spool};
use piton_engine::process::Trusted;
use piton_engine::process::{
    self, InheritedEnvironment, Liveness, ProcessEvent, ProcessExit, ProcessIdentity,
    ProcessLimits, ProcessProgram, ProcessSpec, ProgramCall, RunningProcess, StartError,
    StopReason, SurvivorEvidence,
};
use tempfile::TempDir;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

// What the tests are made of

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn unique(name: &str) -> String {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("test-{name}-{}-{count}", std::process::id())
}

fn shell(folder: &TempDir, line: &str) -> ProcessSpec {
    let mark = unique("attempt");
    ProcessSpec {
        program: Trusted::of_test(ProcessProgram::Shell(line.into())),
        cwd: folder.path().into(),
        inherited: InheritedEnvironment::Everything,
        env: Vec::new(),
        stdin: String::new(),
        output: folder.path().join(format!("{mark}.out")),
        limits: ProcessLimits {
            wall: Some(PATIENCE),
            ..ProcessLimits::default()
        },
        mark,
    }
}

fn said(spec: &ProcessSpec) -> String {
    fs::read_to_string(&spec.output).expect("the output")
}

fn run_to_end(spec: ProcessSpec) -> Result<ProcessExit, StartError> {
    let (sender, receiver) = mpsc::channel();
    let running = process::start(spec, move |event| {
        if let ProcessEvent::Exited(exit) = event {
            sender.send(exit).ok();
        }
    })?;
    let exit = receiver.recv().expect("every child has exactly one end");
    drop(running);
    Ok(exit)
}

fn start(spec: &ProcessSpec) -> (RunningProcess, Receiver<ProcessEvent>) {
    let (sender, receiver) = mpsc::channel();
    let running = process::start(spec.clone(), move |event| {
        sender.send(event).ok();
    })
    .expect("a start");
    (running, receiver)
}

/// All events up to the end, after which there must be no other.
#[track_caller]
fn all(events: &Receiver<ProcessEvent>) -> Vec<ProcessEvent> {
    let mut all = Vec::new();
    // The sender goes with the last event.
    while let Ok(event) = events.recv_timeout(PATIENCE) {
        all.push(event);
    }
    all
}

#[track_caller]
fn end(events: &Receiver<ProcessEvent>) -> ProcessExit {
    let all = all(events);
    let is_exit = |event: &&ProcessEvent| matches!(event, ProcessEvent::Exited(_));
    assert_eq!(all.iter().filter(is_exit).count(), 1, "{all:?}");
    match all.last() {
        Some(ProcessEvent::Exited(exit)) => exit.clone(),
        other => panic!("the last event is {other:?}"),
    }
}

/// Waits until a file holds a line, and gives its first one.
#[track_caller]
fn line_of(path: &Path) -> String {
    let begin = now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some((line, _)) = text.split_once('\n') {
            return line.into();
        }
        assert!(begin.elapsed() < PATIENCE, "{} stays empty", path.display());
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

#[track_caller]
fn pid_in(folder: &TempDir, name: &str) -> u32 {
    line_of(&folder.path().join(name)).parse().expect("a pid")
}

fn runs(pid: u32) -> bool {
    ProcessIdentity::of_pid(pid).is_some_and(|id| process::liveness(&id) == Liveness::Alive)
}

#[expect(clippy::disallowed_methods, reason = "measures real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "says which part to play")]
fn part() -> Option<String> {
    std::env::var("PITON_TEST_PART").ok()
}

#[expect(clippy::disallowed_methods, reason = "runs this program once more")]
fn again(test: &str, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("PITON_TEST_PART", part);
    command
}

/// Runs a test in a process of its own, because it changes what holds for all
/// of a process or looks at it.
#[track_caller]
fn alone(test: &str, body: impl FnOnce()) {
    if part().as_deref() == Some(test) {
        return body();
    }
    let output = again(test, test).output().expect("a run");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

// A child that behaves

#[test]
fn the_status_of_a_child_is_told_as_it_is() {
    let folder = folder();
    for (line, code, signal) in [
        ("true", Some(0), None),
        ("exit 7", Some(7), None),
        ("no-such-program-anywhere", Some(127), None),
        ("kill -9 $$", None, Some(9)),
        ("kill -TERM $$", None, Some(15)),
    ] {
        let exit = run_to_end(shell(&folder, line)).expect("a start");
        assert_eq!((exit.code, exit.signal), (code, signal), "{line}");
        assert_eq!(exit.stopped_by, None);
        assert_eq!(exit.is_success(), code == Some(0));
        assert!(exit.left.is_empty());
    }
}

#[test]
fn both_streams_go_into_one_private_file() {
    let folder = folder();
    let spec = shell(
        &folder,
        "echo out; echo err >&2; echo \"$PITON_ATTEMPT $X\"; pwd",
    );
    let mut spec = spec;
    spec.env = vec![
        ("X".into(), "x".into()),
        ("PITON_ATTEMPT".into(), "forged".into()),
    ];
    let exit = run_to_end(spec.clone()).expect("a start");
    let cwd = fs::canonicalize(folder.path()).expect("a path");
    let text = format!("out\nerr\n{} x\n{}\n", spec.mark, cwd.display());
    assert_eq!(said(&spec), text);
    assert_eq!(exit.output_bytes, text.len() as u64);
    let mode = fs::metadata(&spec.output).expect("a file").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn growing_output_is_told_and_the_end_comes_once_and_last() {
    let folder = folder();
    let spec = shell(&folder, "echo one; read line < gate; echo two");
    let gate = folder.path().join("gate");
    let made = process::run_call(&ProgramCall {
        program: "mkfifo",
        args: &[gate.clone().into_os_string()],
        cwd: folder.path(),
        input: &[],
        env: &[],
        timeout: PATIENCE,
        mark: None,
        stop: None,
    });
    assert!(made.expect("a call").exit.is_success());
    let (_running, events) = start(&spec);
    let first = events.recv_timeout(PATIENCE).expect("an event");
    assert_eq!(first, ProcessEvent::OutputGrew { bytes: 4 });
    fs::write(&gate, "go\n").expect("a word");
    let exit = end(&events);
    assert_eq!(exit.output_bytes, 8);
}

#[test]
fn all_of_the_input_is_read_and_then_its_end() {
    let folder = folder();
    let mut spec = shell(&folder, "wc -c; cat; echo end");
    spec.stdin = "x".repeat(3 << 20);
    run_to_end(spec.clone()).expect("a start");
    assert_eq!(said(&spec).trim(), "3145728\nend");

    let mut spec = shell(&folder, "cat; echo end");
    spec.stdin = "a prompt with ünïcode\n".into();
    run_to_end(spec.clone()).expect("a start");
    assert_eq!(said(&spec), "a prompt with ünïcode\nend\n");

    let spec = shell(&folder, "cat; echo end");
    run_to_end(spec.clone()).expect("a start");
    assert_eq!(said(&spec), "end\n");
}

#[test]
fn a_child_that_never_reads_its_input_blocks_nobody() {
    let folder = folder();
    let mut spec = shell(&folder, "exit 3");
    spec.stdin = "x".repeat(10 << 20);
    let exit = run_to_end(spec).expect("a start");
    assert_eq!(exit.code, Some(3));
}

// A child that cannot start

#[test]
fn what_cannot_start_is_said_and_leaves_nothing() {
    let folder = folder();
    let mut spec = shell(&folder, "true");
    spec.program = Trusted::of_test(ProcessProgram::Args {
        program: "no-such-program-anywhere".into(),
        args: Vec::new(),
    });
    let error = process::start(spec.clone(), |_| {}).expect_err("no program");
    assert_eq!(error.to_string(), "cannot start `no-such-program-anywhere`");
    assert!(matches!(error, StartError::Program { .. }));
    assert!(!spec.output.exists());

    let mut spec = shell(&folder, "true");
    spec.cwd = folder.path().join("nowhere");
    let error = process::start(spec.clone(), |_| {}).expect_err("no folder");
    assert!(matches!(error, StartError::Folder { .. }), "{error:?}");
    assert!(!spec.output.exists());

    let mut spec = shell(&folder, "true");
    fs::write(&spec.output, "kept").expect("a file");
    let error = process::start(spec.clone(), |_| {}).expect_err("a file is there");
    assert!(matches!(error, StartError::Output { .. }), "{error:?}");
    assert_eq!(said(&spec), "kept");

    spec.mark = String::new();
    let error = process::start(spec, |_| {}).expect_err("no mark");
    assert!(matches!(error, StartError::Unmarked), "{error:?}");

    let mut spec = shell(&folder, "true");
    spec.mark = "a\0b".into();
    let error = process::start(spec.clone(), |_| {}).expect_err("an impossible mark");
    assert!(matches!(error, StartError::Program { .. }), "{error:?}");
    assert!(!spec.output.exists());
}

// A child that has to be stopped

#[test]
fn a_flood_is_stopped_at_the_limit() {
    let folder = folder();
    let mut spec = shell(&folder, "trap '' TERM; yes 0123456789abcdef");
    spec.limits.output_bytes_max = Some(4 << 20);
    let (_running, events) = start(&spec);
    let exit = end(&events);
    assert_eq!(exit.stopped_by, Some(StopReason::Flood));
    assert!(exit.output_bytes > 4 << 20);
    // Without waiting for the grace, in which it could fill the disk.
    assert!(exit.duration < Duration::from_secs(4), "{exit:?}");
}

#[test]
fn one_that_ignores_sigterm_is_killed_after_the_grace() {
    let folder = folder();
    let mut spec = shell(
        &folder,
        "trap '' TERM; echo ready; while :; do sleep 0.05; done",
    );
    spec.limits.grace = Duration::from_millis(300);
    let (running, events) = start(&spec);
    line_of(&spec.output);
    let asked = now();
    running.terminate();
    running.terminate();
    let all = all(&events);
    let waited = asked.elapsed();
    assert!(waited >= Duration::from_millis(300), "{waited:?}");
    let stopping = |event: &&ProcessEvent| matches!(event, ProcessEvent::Stopping { .. });
    assert_eq!(all.iter().filter(stopping).count(), 1, "{all:?}");
    let Some(ProcessEvent::Exited(exit)) = all.last() else {
        panic!("{all:?}");
    };
    assert_eq!(exit.signal, Some(9));
    assert_eq!(exit.stopped_by, Some(StopReason::Asked));
    // Too late to matter, and harmless.
    running.kill();
    assert!(!runs(running.id().pid));
}

#[test]
fn one_that_heeds_sigterm_may_say_goodbye() {
    let folder = folder();
    let spec = shell(
        &folder,
        "trap 'echo bye; exit 4' TERM; echo ready; while :; do sleep 0.01; done",
    );
    let (running, events) = start(&spec);
    line_of(&spec.output);
    running.terminate();
    let exit = end(&events);
    assert_eq!(
        (exit.code, exit.stopped_by),
        (Some(4), Some(StopReason::Asked))
    );
    // The shell may tell about its `sleep` in between.
    assert!(said(&spec).ends_with("bye\n"));
    assert!(exit.duration < Duration::from_secs(4));
}

#[test]
fn a_second_request_does_not_wait_for_the_grace() {
    let folder = folder();
    let spec = shell(
        &folder,
        "trap '' TERM; echo ready; while :; do sleep 0.05; done",
    );
    let (running, events) = start(&spec);
    line_of(&spec.output);
    running.terminate();
    running.kill();
    let exit = end(&events);
    assert_eq!(exit.signal, Some(9));
    assert!(exit.duration < Duration::from_secs(4), "{exit:?}");
}

#[test]
fn a_suspended_child_ends_too() {
    let folder = folder();
    let spec = shell(
        &folder,
        "trap 'exit 5' TERM; echo ready; kill -STOP $$; sleep 300",
    );
    let (running, events) = start(&spec);
    line_of(&spec.output);
    running.terminate();
    let exit = end(&events);
    assert!(exit.duration < Duration::from_secs(4), "{exit:?}");
}

#[test]
fn silence_and_long_life_have_limits() {
    let folder = folder();
    let mut spec = shell(&folder, "echo once; sleep 300");
    spec.limits.idle = Some(Duration::from_millis(150));
    let exit = run_to_end(spec).expect("a start");
    assert_eq!(exit.stopped_by, Some(StopReason::Idle));

    let mut spec = shell(&folder, "while :; do echo more; sleep 0.02; done");
    spec.limits.idle = Some(Duration::from_secs(30));
    spec.limits.wall = Some(Duration::from_millis(150));
    let exit = run_to_end(spec).expect("a start");
    assert_eq!(exit.stopped_by, Some(StopReason::Wall));
    assert!(exit.duration < Duration::from_secs(4), "{exit:?}");
}

// What a child leaves behind

#[test]
fn a_background_process_of_the_group_is_gone_when_the_end_is_told() {
    let folder = folder();
    for ignore in ["", "trap '' TERM;"] {
        let line = format!(
            "sh -c \"{ignore} echo \\$\\$ > pid; while :; do sleep 0.05; done\" & until [ -s pid ]; do sleep 0.01; done; exit 6"
        );
        let exit = run_to_end(shell(&folder, &line)).expect("a start");
        assert_eq!((exit.code, exit.stopped_by), (Some(6), None));
        assert!(!runs(pid_in(&folder, "pid")));
        assert!(exit.duration < Duration::from_secs(10), "{exit:?}");
        fs::remove_file(folder.path().join("pid")).expect("a file");
    }
}

/// Leaves the group and the session, and ends only when it is made to.
const DAEMON: &str = "setsid sh -c 'trap \"\" HUP; echo $$ > pid; exec sleep 300' & until [ -s pid ]; do sleep 0.01; done;";

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_is_found_by_its_mark() {
    let folder = folder();
    let exit = run_to_end(shell(&folder, DAEMON)).expect("a start");
    assert!(exit.is_success(), "{exit:?}");
    assert!(!runs(pid_in(&folder, "pid")));
}

#[cfg(target_os = "linux")]
#[test]
fn an_adopted_daemon_is_ended_and_waited_for() {
    alone("process::an_adopted_daemon_is_ended_and_waited_for", || {
        assert!(process::adopt_orphans());
        let folder = folder();
        let exit = run_to_end(shell(&folder, DAEMON)).expect("a start");
        assert!(exit.is_success(), "{exit:?}");
        // Not even its status is left.
        assert_eq!(ProcessIdentity::of_pid(pid_in(&folder, "pid")), None);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn an_adopted_daemon_without_a_mark_is_ended_with_the_last_attempt() {
    let test = "process::an_adopted_daemon_without_a_mark_is_ended_with_the_last_attempt";
    alone(test, || {
        assert!(process::adopt_orphans());
        let folder = folder();
        let other = shell(&folder, "echo ready; sleep 300");
        let (running, events) = start(&other);
        line_of(&other.output);
        let line = DAEMON.replace("setsid", "env -i PATH=\"$PATH\" setsid");
        let exit = run_to_end(shell(&folder, &line)).expect("a start");
        assert!(exit.is_success(), "{exit:?}");
        let daemon = pid_in(&folder, "pid");
        assert!(runs(daemon), "it could be the other attempt's");
        running.terminate();
        end(&events);
        assert_eq!(ProcessIdentity::of_pid(daemon), None);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn attempts_side_by_side_do_not_end_each_others_daemons() {
    let test = "process::attempts_side_by_side_do_not_end_each_others_daemons";
    alone(test, || {
        assert!(process::adopt_orphans());
        let (one, two) = (folder(), folder());
        // The main process goes on, so that its daemon is the orphan of a subshell.
        let spec = shell(&one, &format!("({DAEMON}) ; echo ready; sleep 300"));
        let (running, events) = start(&spec);
        line_of(&spec.output);
        let exit = run_to_end(shell(&two, DAEMON)).expect("a start");
        assert!(exit.is_success());
        assert_eq!(ProcessIdentity::of_pid(pid_in(&two, "pid")), None);
        assert!(runs(pid_in(&one, "pid")));
        running.kill();
        assert_eq!(end(&events).signal, Some(9));
        assert_eq!(ProcessIdentity::of_pid(pid_in(&one, "pid")), None);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn statuses_of_other_children_are_not_taken() {
    alone("process::statuses_of_other_children_are_not_taken", || {
        assert!(process::adopt_orphans());
        let folder = folder();
        #[expect(clippy::disallowed_methods, reason = "a child that is not piton's")]
        let mut foreign = Command::new("sh")
            .args(["-c", "exit 9"])
            .stdin(Stdio::null())
            .spawn()
            .expect("a child");
        // Orphans in plenty, and many ends at the same time.
        let storm = "for i in 1 2 3 4 5 6 7 8 9 10; do (setsid true &) ; done; exit 8";
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let exit = run_to_end(shell(&folder, storm)).expect("a start");
                        assert_eq!(exit.code, Some(8));
                    }
                });
            }
        });
        assert_eq!(foreign.wait().expect("its status").code(), Some(9));
        // The last one to end has waited for what all had left behind.
        run_to_end(shell(&folder, "true")).expect("a start");
        let me = std::process::id();
        let listed = fs::read_to_string(format!("/proc/{me}/task/{me}/children"));
        assert_eq!(listed.unwrap_or_default().trim(), "");
    });
}

#[test]
fn one_that_forks_as_fast_as_it_can_is_outrun() {
    let folder = folder();
    let mut spec = shell(
        &folder,
        "trap '' TERM; echo ready; while :; do sh -c 'trap \"\" TERM; sleep 5' & sleep 0.002; done",
    );
    spec.limits.grace = Duration::from_millis(100);
    let (running, events) = start(&spec);
    line_of(&spec.output);
    running.terminate();
    let exit = end(&events);
    assert!(exit.left.is_empty(), "{exit:?}");
    assert_eq!(exit.signal, Some(9));
}

// After a crash of piton

/// Ends what carries a mark, also when the test fails.
struct Sweep(String);

impl Drop for Sweep {
    fn drop(&mut self) {
        process::end_survivors(from_ref(&self.0), &[], Duration::ZERO);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_piton_left_running_is_found_and_ended() {
    let test = "process::what_a_killed_piton_left_running_is_found_and_ended";
    if let Some(place) = part() {
        // The piton that is going to be killed.
        process::adopt_orphans();
        let spool = Spool::open(&place).expect("a spool");
        let running = process::start(
            ProcessSpec {
                program: Trusted::of_test(ProcessProgram::Shell(format!(
                    "{DAEMON} trap '' TERM; env -i sh -c 'echo $$ > bare; exec sleep 300' & until [ -s bare ]; do sleep 0.01; done; echo ready; sleep 300"
                ))),
                cwd: place.clone().into(),
                inherited: InheritedEnvironment::Everything,
                env: Vec::new(),
                stdin: "x".repeat(1 << 20),
                output: spool.output_path("a1").expect("a name"),
                limits: ProcessLimits::default(),
                mark: format!("crash {place}"),
            },
            |_| {},
        )
        .expect("a start");
        spool.record_process("a1", running.id()).expect("a record");
        line_of(&spool.output_path("a1").expect("a name"));
        fs::write(Path::new(&place).join("up"), "up\n").expect("a sign");
        loop {
            std::thread::park();
        }
    }
    let folder = folder();
    let place = folder.path().to_str().expect("a path").to_owned();
    let mark = format!("crash {place}");
    let _sweep = Sweep(mark.clone());
    let mut piton = again(test, &place)
        .stdout(Stdio::null())
        .spawn()
        .expect("a piton");
    line_of(&folder.path().join("up"));
    piton.kill().expect("SIGKILL");
    piton.wait().expect("its end");

    let spool = Spool::open(&place).expect("a spool");
    let spooled = spool.list_attempts().expect("a listing").remove(0);
    assert_eq!((spooled.attempt.as_str(), spooled.output_bytes), ("a1", 6));
    let id = spooled.id.expect("a record");
    let (daemon, bare) = (pid_in(&folder, "pid"), pid_in(&folder, "bare"));
    assert!(runs(id.pid) && runs(daemon) && runs(bare));

    let by = |found: Vec<process::Survivor>| -> HashMap<u32, SurvivorEvidence> {
        let pair = |survivor: process::Survivor| (survivor.id.pid, survivor.found_by);
        found.into_iter().map(pair).collect()
    };
    let found = by(process::find_survivors(from_ref(&mark), &[]));
    assert_eq!(
        found.get(&daemon),
        Some(&SurvivorEvidence::Mark(mark.clone()))
    );
    assert_eq!(found.get(&bare), Some(&SurvivorEvidence::Kinship));
    let found = by(process::find_survivors(&[], from_ref(&id)));
    assert_eq!(found.get(&id.pid), Some(&SurvivorEvidence::Record));
    assert_eq!(found.get(&bare), Some(&SurvivorEvidence::Kinship));

    // A record of another boot, or of an earlier process with the number, is nobody.
    let mut other = id.clone();
    other.start_time += 1;
    assert!(process::find_survivors(&[], &[other]).is_empty());
    let mut other = id.clone();
    other.boot_id.push('x');
    assert!(process::find_survivors(&[], &[other]).is_empty());

    let ended = process::end_survivors(from_ref(&mark), from_ref(&id), Duration::from_millis(200));
    assert!(ended.left.is_empty(), "{ended:?}");
    assert!(ended.ended.len() >= 3, "{ended:?}");
    assert!(!runs(id.pid) && !runs(daemon) && !runs(bare));
    assert!(process::find_survivors(&[mark], &[id]).is_empty());

    spool.remove_attempt("a1").expect("a removal");
    spool.remove_attempt("a1").expect("nothing to remove");
    assert!(spool.list_attempts().expect("a listing").is_empty());
}

#[test]
fn a_process_is_known_by_more_than_its_number() {
    let me = process::current_process();
    assert_eq!(me.pid, std::process::id());
    assert!(!me.host.is_empty());
    assert_eq!(process::liveness(&me), Liveness::Alive);

    let with = |change: fn(&mut ProcessIdentity)| {
        let mut id = me.clone();
        change(&mut id);
        process::liveness(&id)
    };
    assert_eq!(with(|id| id.start_time += 1), Liveness::Dead);
    assert_eq!(with(|id| id.pid_space.push('x')), Liveness::Unknown);
    assert_eq!(with(|id| id.boot_id.clear()), Liveness::Unknown);
    let elsewhere = with(|id| {
        id.boot_id.push('x');
        id.host.push('x');
    });
    assert_eq!(elsewhere, Liveness::Unknown);
    if !me.machine.is_empty() {
        assert_eq!(with(|id| id.boot_id.push('x')), Liveness::Dead);
    }

    let json = serde_json::to_string(&me).expect("json");
    assert_eq!(
        serde_json::from_str::<ProcessIdentity>(&json).expect("me"),
        me
    );
}

fn may_run(id: &ProcessIdentity) -> bool {
    process::liveness(id) != Liveness::Dead
}

#[test]
fn a_holder_that_ended_is_dead_even_before_its_parent_looks() {
    #[expect(clippy::disallowed_methods, reason = "a child that is not waited for")]
    let mut child = Command::new("sleep").arg("300").spawn().expect("a child");
    let id = ProcessIdentity::of_pid(child.id()).expect("an identity");
    assert!(may_run(&id));
    child.kill().expect("SIGKILL");
    let begin = now();
    while may_run(&id) {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::park_timeout(Duration::from_millis(1));
    }
    child.wait().expect("its end");
    assert!(!may_run(&id));
}

// Short calls

#[test]
fn a_call_gives_both_streams_and_the_status() {
    let folder = folder();
    let call = |line: &str, timeout| {
        process::run_call(&ProgramCall {
            program: "sh",
            args: &["-c".into(), line.into()],
            cwd: folder.path(),
            input: b"in\n",
            env: &[("X", "x")],
            timeout,
            mark: None,
            stop: None,
        })
        .expect("a start")
    };
    let output = call("cat; echo \"out $X\"; echo err >&2; exit 3", PATIENCE);
    assert_eq!(output.exit.code, Some(3));
    assert_eq!(output.stdout, b"in\nout x\n");
    assert_eq!(output.stderr, b"err\n");

    let begin = now();
    let output = call("echo early; sleep 300", Duration::from_millis(100));
    assert_eq!(output.exit.stopped_by, Some(StopReason::Wall));
    assert_eq!(output.stdout, b"early\n");
    assert!(begin.elapsed() < Duration::from_secs(10));

    // Something that it leaves with its streams open does not hold up the answer.
    let output = call("sleep 300 & echo $!", PATIENCE);
    let pid: u32 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .expect("a pid");
    let id = ProcessIdentity::of_pid(pid).expect("it stays");
    let ended = process::end_survivors(&[], &[id], Duration::from_secs(5));
    assert_eq!((ended.ended.len(), ended.left.len()), (1, 0));
}

#[test]
fn the_end_is_told_soon_after_it_came() {
    let folder = folder();
    let time = |run: &dyn Fn()| {
        let mut times: Vec<Duration> = (0..60)
            .map(|_| {
                let begin = now();
                run();
                begin.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    #[expect(clippy::disallowed_methods, reason = "what the rest is compared with")]
    let bare = time(&|| {
        Command::new("sh")
            .args(["-c", "true"])
            .status()
            .expect("a status");
    });
    let searched = time(&|| {
        run_to_end(shell(&folder, "true")).expect("a start");
    });
    let call = time(&|| {
        let (program, args) = ("sh", &["-c".into(), "true".into()]);
        let (cwd, env, timeout) = (folder.path(), &[], PATIENCE);
        process::run_call(&ProgramCall {
            program,
            args,
            cwd,
            input: &[],
            env,
            timeout,
            mark: None,
            stop: None,
        })
        .expect("a start");
    });
    // Judged by the benchmarks, not here.
    #[expect(clippy::print_stderr, reason = "a figure to look at")]
    {
        eprintln!("sh -c true, median: bare {bare:?}, call {call:?}, run_to_end {searched:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_end_is_told_sooner_by_one_that_adopts() {
    alone("process::the_end_is_told_sooner_by_one_that_adopts", || {
        process::adopt_orphans();
        the_end_is_told_soon_after_it_came();
    });
}

// The spool

#[test]
fn the_spool_is_private_and_takes_plain_names_only() {
    let folder = folder();
    let place = folder.path().join("deep/spool");
    let spool = Spool::open(&place).expect("a spool");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&place), 0o700);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).expect("a change");
    let spool = {
        drop(spool);
        Spool::open(&place).expect("a spool")
    };
    assert_eq!(mode(&place), 0o700);
    for bad in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        ".hidden",
        "a\nb",
        &"x".repeat(300),
    ] {
        assert!(spool.output_path(bad).is_err(), "{bad:?}");
        assert!(spool.remove_attempt(bad).is_err(), "{bad:?}");
    }
    spool
        .record_process("b2", &process::current_process())
        .expect("a record");
    assert_eq!(mode(&place.join("b2.json")), 0o600);
    fs::write(place.join("a1.out"), "abc").expect("a file");
    fs::write(place.join("a1.json"), "{\"pid\":").expect("a torn record");
    fs::write(place.join("stray.txt"), "").expect("a file");
    let listed = spool.list_attempts().expect("a listing");
    let names: Vec<&str> = listed
        .iter()
        .map(|spooled| spooled.attempt.as_str())
        .collect();
    assert_eq!(names, ["a1", "b2"]);
    assert_eq!((listed[0].output_bytes, &listed[0].id), (3, &None));
    assert_eq!(
        listed[1].id.as_ref().map(|id| id.pid),
        Some(std::process::id())
    );
}

#[test]
fn the_tail_is_text_whatever_was_printed() {
    let folder = folder();
    let path = folder.path().join("out");
    let check = |bytes: &[u8], max: u64, expect: &str| {
        fs::write(&path, bytes).expect("a file");
        assert_eq!(spool::read_tail(&path, max).expect("a tail"), expect);
    };
    check(b"", 10, "");
    check(b"short", 10, "short");
    check(b"0123456789", 4, "6789");
    check("aé".as_bytes(), 1, "");
    check("xx😀y".as_bytes(), 3, "y");
    check("xx😀y".as_bytes(), 5, "😀y");
    check(b"ok\xff\xfe\xc3(end", 100, "ok\u{fffd}\u{fffd}\u{fffd}(end");
    assert!(spool::read_tail(&folder.path().join("none"), 1).is_err());
}

/// Every run of `S` is a secret, however long; so is what stands between `<` and `>`.
fn redact(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['S', '<']) {
        clean.push_str(&rest[..at]);
        let secret = &rest[at..];
        let length = if secret.starts_with('S') {
            secret.find(|c| c != 'S').unwrap_or(secret.len())
        } else {
            match secret[1..].find('>') {
                Some(end) if end < 4000 => end + 2,
                _ => {
                    clean.push('<');
                    rest = &secret[1..];
                    continue;
                }
            }
        };
        clean.push_str("[gone]");
        rest = &secret[length..];
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

struct Copy {
    folder: TempDir,
}

impl Copy {
    fn paths(&self) -> (PathBuf, PathBuf) {
        (
            self.folder.path().join("from"),
            self.folder.path().join("to"),
        )
    }

    #[track_caller]
    fn run(&self, bytes: &[u8], max: u64) -> (String, spool::RedactedCopy) {
        let (from, to) = self.paths();
        fs::write(&from, bytes).expect("a file");
        let copied = spool::copy_redacted(&from, &to, &redact, max).expect("a copy");
        let text = fs::read_to_string(&to).expect("UTF-8");
        assert_eq!(copied.bytes, text.len() as u64);
        (text, copied)
    }
}

#[test]
fn a_copy_is_what_redacting_all_at_once_would_give() {
    let copy = Copy { folder: folder() };
    let mib = 1 << 20;
    let filler = |length: usize| "some text, a line\n".repeat(length / 18 + 1)[..length].to_owned();
    let secret = format!("<{}>", "q".repeat(3990));
    let mut cases: Vec<(String, String)> = vec![
        ("empty".into(), String::new()),
        ("small".into(), "token SSS here\n".into()),
        ("one endless secret".into(), "S".repeat(3 * mib / 2)),
        ("one endless line".into(), "x".repeat(3 * mib / 2)),
        ("secrets side by side".into(), secret.repeat(400)),
        (
            "no line, many secrets".into(),
            "abcSSSSSdef,".repeat(120_000),
        ),
        ("wide characters".into(), "äöü😀 <p> ".repeat(80_000)),
    ];
    // Across every place where the first window may be cut.
    for before in (mib - 70_000..mib + 70_000).step_by(19_531) {
        let lines = filler(before) + &secret + &filler(100_000);
        let no_lines = "z".repeat(before) + &secret + &"z".repeat(100_000);
        cases.push((format!("lines {before}"), lines));
        cases.push((format!("no lines {before}"), no_lines));
    }
    for (name, text) in cases {
        let (copied, told) = copy.run(text.as_bytes(), u64::MAX);
        // Not `assert_eq`: it would print megabytes.
        assert!(copied == redact(&text), "{name}");
        assert!(!told.truncated);
    }
}

#[test]
fn of_a_large_one_both_ends_are_kept_without_half_a_secret() {
    let copy = Copy { folder: folder() };
    let secret = format!("<{}>", "q".repeat(3000));
    for shift in (0..4000).step_by(397) {
        // Secrets that cross the end of the head and the beginning of the tail.
        let text = format!(
            "BEGIN{}{secret}{}{secret}{}END",
            "a".repeat(100_000 - shift),
            "b".repeat(300_000),
            "c".repeat(100_000 - shift)
        );
        let (copied, told) = copy.run(text.as_bytes(), 204_000);
        assert!(told.truncated);
        assert!(copied.starts_with("BEGIN") && copied.ends_with("END"));
        assert!(copied.contains("\n[piton: ") && copied.contains(" bytes left out here]\n"));
        assert!(!copied.contains('q'), "at {shift}");
        assert!(copied.len() < 205_000);
    }
    let (copied, told) = copy.run("😀".repeat(1000).as_bytes(), 1001);
    assert!(told.truncated && !copied.contains('\u{fffd}'));
    let (copied, _) = copy.run(b"abcdef", 0);
    assert_eq!(copied, "\n[piton: 6 bytes left out here]\n");
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let copy = Copy { folder: folder() };
    let (from, to) = copy.paths();
    // It can be opened, and not be read.
    fs::create_dir(&from).expect("a folder");
    assert!(spool::copy_redacted(&from, &to, &redact, 1).is_err());
    assert!(!to.exists());
}

#[test]
fn a_copy_is_text_with_its_hash_and_mode() {
    let copy = Copy { folder: folder() };
    let (text, copied) = copy.run(b"a\xffb\xe2\x82", u64::MAX);
    assert_eq!(text, "a\u{fffd}b\u{fffd}");
    assert_eq!(copied.sha256.len(), 64);
    let (_, empty) = copy.run(b"", u64::MAX);
    let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(empty.sha256, of_nothing);
    // Broken characters across the pieces in which a file is read.
    let mut bytes = "é".repeat(40_000).into_bytes();
    bytes.insert(0, b'x');
    bytes.push(0xC3);
    let (text, _) = copy.run(&bytes, u64::MAX);
    assert!(text == format!("x{}\u{fffd}", "é".repeat(40_000)));

    let (from, to) = copy.paths();
    fs::remove_file(&from).expect("a file");
    assert!(spool::copy_redacted(&from, &to, &redact, 1).is_err());
    assert!(to.exists(), "a failure leaves the old copy");
    fs::write(&from, "whole").expect("written");
    fs::write(&to, "who").expect("a runner died while it wrote");
    spool::copy_redacted(&from, &to, &redact, u64::MAX).expect("a copy");
    assert_eq!(fs::read_to_string(&to).expect("a copy"), "whole");
    fs::remove_file(&from).expect("a file");
    assert_eq!(
        fs::read_dir(copy.folder.path()).expect("a folder").count(),
        1
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_flood_needs_no_memory() {
    alone("process::a_flood_needs_no_memory", || {
        let peak = || -> u64 {
            let status = fs::read_to_string("/proc/self/status").expect("a status");
            let line = status.lines().find(|line| line.starts_with("VmHWM:"));
            let line = line.expect("a peak");
            line.split_whitespace()
                .nth(1)
                .expect("a number")
                .parse()
                .expect("KiB")
        };
        let folder = folder();
        let mut spec = shell(&folder, "exec yes token-SSSSSSSS-and-more");
        spec.limits.output_bytes_max = Some(64 << 20);
        let before = peak();
        let exit = run_to_end(spec.clone()).expect("a start");
        assert_eq!(exit.stopped_by, Some(StopReason::Flood));
        let to = folder.path().join("copy");
        let copied = spool::copy_redacted(&spec.output, &to, &redact, 8 << 20);
        assert!(copied.expect("a copy").truncated);
        spool::read_tail(&spec.output, 1 << 20).expect("a tail");
        let grown = peak() - before;
        assert!(grown < 32 << 10, "{grown} KiB");
    });
}

#[test]
fn events_may_ask_for_the_end() {
    let folder = folder();
    let spec = shell(&folder, "echo stop me; sleep 300");
    let (sender, receiver) = mpsc::channel();
    let (hand_over, handed) = mpsc::channel::<RunningProcess>();
    let mut running = None;
    let started = process::start(spec, move |event| {
        let running: &RunningProcess =
            running.get_or_insert_with(|| handed.recv().expect("a handle"));
        running.terminate();
        sender.send(event).ok();
    })
    .expect("a start");
    hand_over.send(started).expect("a receiver");
    let exit = end(&receiver);
    assert_eq!(exit.stopped_by, Some(StopReason::Asked));
}

#[test]
fn lines_that_begin_so_are_left_out_whatever_their_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let long = "x".repeat(100_000);
    let lines = [
        "first",
        "skip: this",
        "",
        "ski",
        &format!("skip: {long}"),
        &long,
        "skip",
        "skip: ",
    ];
    fs::write(&from, lines.join("\n")).expect("written");
    let target = fs::File::create(&to).expect("a file");
    spool::copy_without_lines(&from, &target, "skip: ").expect("a copy");
    let copy = fs::read_to_string(&to).expect("text");
    assert_eq!(copy, ["first", "", "ski", &long, "skip", ""].join("\n"));
}
