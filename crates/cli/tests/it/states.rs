//! The table of states: what may be typed in each, what is then said, what the
//! exit status is and what `PROGRESS.yaml` says afterwards.

use rustix::process::Signal;

use crate::harness::{RUN, Running, Scratch, is_alive};

const PHASES: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";

/// With an agent in the configuration a hint need not name one.
const USE: &str = "[agent]\nuse = \"./agent.sh\"\n";

/// Says that it is there, and waits until it is told to go on.
const PATIENT: &str = "echo $$ >agent.pid\nwhile ! [ -e go ]; do sleep 0.02; done\necho built";

/// Works for a minute the first time, and is done at once the second.
const OUTLIVES: &str =
    "[ -s agent.pid ] && { echo built; exit; }\necho $$ >agent.pid\nexec sleep 60";

fn project(agent: &str, phases: &str) -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.sprint(phases).agent(agent);
    scratch
}

fn with_live_runner() -> (Scratch, Running) {
    let scratch = project(PATIENT, PHASES);
    let runner = scratch.start_run(&[]);
    scratch.until("the agent works", || scratch.has("agent.pid"));
    (scratch, runner)
}

/// A project in some state, and its runner if there is one.
type Made = (Scratch, Option<Running>);

/// Types each of the four commands into a project of its own that is in this state.
fn typed_in(make: impl Fn() -> Made) -> String {
    let commands: [&[&str]; 4] = [
        RUN,
        &["resume", "demo"],
        &["pause", "demo"],
        &["stop", "demo"],
    ];
    let mut text = String::new();
    for command in commands {
        let (scratch, runner) = make();
        let said = scratch.piton(command);
        text.push_str(&format!(
            "$ piton {}\n{}",
            command.join(" "),
            without_count(&said.shown(&scratch))
        ));
        if runner.is_none() {
            let status = scratch.progress("status").unwrap_or_default();
            text.push_str(&format!("PROGRESS.yaml: {status}\n"));
        }
        text.push('\n');
        drop(runner);
        end_agent(&scratch);
    }
    text
}

/// How many processes a shell makes of one agent differs between shells.
fn without_count(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("warning: ended ") {
        Some(_) => "warning: ended what outlived an earlier runner\n".to_owned(),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Ends an agent that outlived its runner, by its id.
fn end_agent(scratch: &Scratch) {
    if !scratch.has("agent.pid") {
        return;
    }
    let id = scratch.read("agent.pid");
    if is_alive(&id) {
        let id = rustix::process::Pid::from_raw(id.trim().parse().expect("a pid")).expect("not 0");
        rustix::process::kill_process(id, Signal::KILL).ok();
    }
}

#[track_caller]
fn ended(scratch: Scratch, exit: i32, status: &str) -> Made {
    let said = scratch.run(&[]);
    assert_eq!(said.exit, exit, "{}", said.err);
    assert_eq!(scratch.progress("status").as_deref(), Some(status));
    (scratch, None)
}

#[test]
fn not_started() {
    let compiled = || {
        let scratch = project("echo built", PHASES);
        scratch.write(".piton/config.toml", USE);
        assert_eq!(scratch.piton(&["plan", "compile", "demo"]).exit, 0);
        (scratch, None)
    };
    insta::assert_snapshot!(typed_in(compiled), @"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    keeping progress in SCRATCH/.git/piton
    > build: build it
    done build 0s (agent's word): built
    > test: test it
    done test 0s (agent's word): built
    2 of 2 nodes done (2 agent's word)
    report: .git/piton/reports/2026-01-15_demo.html
    run `2026-01-15_demo` is done
    [exit 0]
    PROGRESS.yaml: completed

    $ piton resume demo
    error: run `demo` has not been started [run.not_started]
    hint: start it with `piton run demo`
    [exit 1]
    PROGRESS.yaml: not-started

    $ piton pause demo
    error: run `demo` has not been started [run.not_started]
    hint: start it with `piton run demo`
    [exit 1]
    PROGRESS.yaml: not-started

    $ piton stop demo
    error: run `demo` has not been started [run.not_started]
    hint: start it with `piton run demo`
    [exit 1]
    PROGRESS.yaml: not-started
    ");
}

#[test]
fn not_started_though_recorded() {
    let recorded = || {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.sprint(PHASES).agent("echo built");
        scratch.write(".piton/config.toml", USE);
        let mut command = scratch.command(RUN);
        command.env("PITON_FAILPOINT", "run.planned:1");
        Running::start(command).end();
        (scratch, None)
    };
    insta::assert_snapshot!(typed_in(recorded), @"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    run `2026-01-15_demo` is begun as it was planned before; `--recompile` takes in what has changed since
    > build: build it
    done build 0s (agent's word): built
    > test: test it
    done test 0s (agent's word): built
    2 of 2 nodes done (2 agent's word)
    report: .git/piton/reports/2026-01-15_demo.html
    run `2026-01-15_demo` is done
    [exit 0]
    PROGRESS.yaml: completed

    $ piton resume demo
    error: run `2026-01-15_demo` has not been started [run.not_started]
    hint: start it with `piton run 2026-01-15_demo`
    [exit 1]
    PROGRESS.yaml: 

    $ piton pause demo
    run `2026-01-15_demo` is paused
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: paused

    $ piton stop demo
    error: run `2026-01-15_demo` has not been started [run.not_started]
    hint: start it with `piton run 2026-01-15_demo`
    [exit 1]
    PROGRESS.yaml:
    ");
}

#[test]
fn in_progress_with_a_live_runner() {
    let live = || {
        let (scratch, runner) = with_live_runner();
        assert_eq!(scratch.progress("status").as_deref(), Some("in-progress"));
        (scratch, Some(runner))
    };
    insta::assert_snapshot!(typed_in(live), @r"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    error: run `2026-01-15_demo` is held by process PID on HOST, since 2026-01-15 09:00:00 UTC [run.busy]
    hint: follow it with `piton status 2026-01-15_demo --watch`, end it with `piton stop 2026-01-15_demo`
    [exit 4]

    $ piton resume demo
    error: run `2026-01-15_demo` is held by process PID on HOST, since 2026-01-15 09:00:00 UTC [run.busy]
    hint: follow it with `piton status 2026-01-15_demo --watch`, end it with `piton stop 2026-01-15_demo`
    [exit 4]

    $ piton pause demo
    run `2026-01-15_demo` pauses at the next boundary
    [exit 0]

    $ piton stop demo
    run `2026-01-15_demo` stops now
    [exit 0]
    ");
}

#[test]
fn in_progress_with_a_dead_runner() {
    let dead = || {
        let scratch = project(OUTLIVES, PHASES);
        let runner = scratch.start_run(&[]);
        scratch.until("the agent works", || scratch.has("agent.pid"));
        runner.kill();
        assert_eq!(scratch.progress("status").as_deref(), Some("in-progress"));
        (scratch, None)
    };
    insta::assert_snapshot!(typed_in(dead), @"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    = interrupted: its runner died
    warning: ended what outlived an earlier runner
    - build interrupted: its runner died; how it ended is unknown
    > build, attempt 2: build it
    done build 0s (files changed): built
    > test: test it
    done test 0s (agent's word): built
    2 of 2 nodes done (1 changed, 1 agent's word)
    report: .git/piton/reports/2026-01-15_demo.html
    run `2026-01-15_demo` is done
    [exit 0]
    PROGRESS.yaml: completed

    $ piton resume demo
    run `2026-01-15_demo` may go on
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: interrupted

    $ piton pause demo
    run `2026-01-15_demo` is paused
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: paused

    $ piton stop demo
    run `2026-01-15_demo` may go on
    warning: ended what outlived an earlier runner
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: interrupted
    ");
}

#[test]
fn interrupted_by_a_signal() {
    let interrupted = || {
        let (scratch, runner) = with_live_runner();
        runner.signal(Signal::INT);
        assert_eq!(runner.end().exit, 130);
        assert_eq!(scratch.progress("status").as_deref(), Some("interrupted"));
        scratch.write("go", "");
        (scratch, None)
    };
    insta::assert_snapshot!(typed_in(interrupted), @"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    > build, attempt 2: build it
    done build 0s (1 file changed): built
    > test: test it
    done test 0s (1 file changed): built
    2 of 2 nodes done (2 changed)
    report: .git/piton/reports/2026-01-15_demo.html
    run `2026-01-15_demo` is done
    [exit 0]
    PROGRESS.yaml: completed

    $ piton resume demo
    run `2026-01-15_demo` may go on
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: interrupted

    $ piton pause demo
    run `2026-01-15_demo` is paused
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: paused

    $ piton stop demo
    error: run `2026-01-15_demo` is interrupted; no runner works on it [run.state]
    hint: go on with `piton run 2026-01-15_demo`
    [exit 1]
    PROGRESS.yaml: interrupted
    ");
}

#[test]
fn paused_by_a_person() {
    let paused = || {
        let (scratch, runner) = with_live_runner();
        assert_eq!(scratch.piton(&["pause"]).exit, 0);
        scratch.write("go", "");
        assert_eq!(runner.end().exit, 3);
        assert_eq!(scratch.progress("status").as_deref(), Some("paused"));
        assert_eq!(
            scratch.progress("pause-reason").as_deref(),
            Some("paused by Ada")
        );
        (scratch, None)
    };
    insta::assert_snapshot!(typed_in(paused), @"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    error: run `2026-01-15_demo` is paused (paused by Ada) [run.paused]
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 3]
    PROGRESS.yaml: paused

    $ piton resume demo
    run `2026-01-15_demo` may go on
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: interrupted

    $ piton pause demo
    error: run `2026-01-15_demo` is paused (paused by Ada) [run.paused]
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 3]
    PROGRESS.yaml: paused

    $ piton stop demo
    error: run `2026-01-15_demo` is paused (paused by Ada) [run.paused]
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 3]
    PROGRESS.yaml: paused
    ");
}

#[test]
fn paused_by_a_pause_file() {
    let paused = || {
        let scratch = project("echo built", PHASES);
        scratch.write("demo/PAUSE", "");
        let made = ended(scratch, 3, "paused");
        assert_eq!(
            made.0.progress("pause-reason").as_deref(),
            Some("PAUSE file detected")
        );
        made
    };
    insta::assert_snapshot!(typed_in(paused), @"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    error: run `2026-01-15_demo` is paused (PAUSE file detected) [run.paused]
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 3]
    PROGRESS.yaml: paused

    $ piton resume demo
    run `2026-01-15_demo` may go on
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: interrupted

    $ piton pause demo
    error: run `2026-01-15_demo` is paused (PAUSE file detected) [run.paused]
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 3]
    PROGRESS.yaml: paused

    $ piton stop demo
    error: run `2026-01-15_demo` is paused (PAUSE file detected) [run.paused]
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 3]
    PROGRESS.yaml: paused
    ");
}

#[test]
fn paused_by_a_limit() {
    let paused = || {
        let scratch = project("echo built", PHASES);
        let said = scratch.run(&["--max-iterations", "1"]);
        assert_eq!(said.exit, 5, "{}", said.err);
        assert_eq!(scratch.progress("status").as_deref(), Some("paused"));
        assert_eq!(
            scratch.progress("pause-reason").as_deref(),
            Some("limit max-iterations (1)")
        );
        (scratch, None)
    };
    insta::assert_snapshot!(typed_in(paused), @"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    as before, with --max-iterations 1
    > test: test it
    done test 0s (agent's word): built
    2 of 2 nodes done (2 agent's word)
    report: .git/piton/reports/2026-01-15_demo.html
    run `2026-01-15_demo` is done
    [exit 0]
    PROGRESS.yaml: completed

    $ piton resume demo
    run `2026-01-15_demo` may go on
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: interrupted

    $ piton pause demo
    error: run `2026-01-15_demo` is paused (limit max-iterations (1)) [run.paused]
    hint: go on with `piton run 2026-01-15_demo`; the limit is counted anew
    [exit 3]
    PROGRESS.yaml: paused

    $ piton stop demo
    error: run `2026-01-15_demo` is paused (limit max-iterations (1)) [run.paused]
    hint: go on with `piton run 2026-01-15_demo`; the limit is counted anew
    [exit 3]
    PROGRESS.yaml: paused
    ");
}

#[test]
fn paused_at_a_breakpoint() {
    let phases = PHASES.replace("build it\n", "build it\n    break: true\n");
    let paused = || {
        let made = ended(project("echo built", &phases), 3, "paused-at-breakpoint");
        assert_eq!(
            made.0.progress("breakpoint-phase-id").as_deref(),
            Some("build")
        );
        made
    };
    insta::assert_snapshot!(typed_in(paused), @"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    error: run `2026-01-15_demo` waits for a person at the breakpoint after build [run.needs_human]
    hint: look at what was done, then go on with `piton resume 2026-01-15_demo`
    [exit 3]
    PROGRESS.yaml: paused-at-breakpoint

    $ piton resume demo
    run `2026-01-15_demo` may go on
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    PROGRESS.yaml: interrupted

    $ piton pause demo
    error: run `2026-01-15_demo` waits for a person at the breakpoint after build [run.needs_human]
    hint: look at what was done, then go on with `piton resume 2026-01-15_demo`
    [exit 3]
    PROGRESS.yaml: paused-at-breakpoint

    $ piton stop demo
    error: run `2026-01-15_demo` waits for a person at the breakpoint after build [run.needs_human]
    hint: look at what was done, then go on with `piton resume 2026-01-15_demo`
    [exit 3]
    PROGRESS.yaml: paused-at-breakpoint
    ");
}

#[test]
fn needs_human() {
    let asks =
        r#"echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?"}}'"#;
    let waiting = || ended(project(asks, PHASES), 3, "needs-human");
    insta::assert_snapshot!(typed_in(waiting), @r"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    error: run `2026-01-15_demo` waits for a person at build [run.needs_human]
    hint: see the question with `piton inbox`
    [exit 3]
    PROGRESS.yaml: needs-human

    $ piton resume demo
    error: run `2026-01-15_demo` waits for a person at build [run.needs_human]
    hint: see the question with `piton inbox`
    [exit 3]
    PROGRESS.yaml: needs-human

    $ piton pause demo
    error: run `2026-01-15_demo` waits for a person at build [run.needs_human]
    hint: see the question with `piton inbox`
    [exit 3]
    PROGRESS.yaml: needs-human

    $ piton stop demo
    error: run `2026-01-15_demo` waits for a person at build [run.needs_human]
    hint: see the question with `piton inbox`
    [exit 3]
    PROGRESS.yaml: needs-human
    ");
}

#[test]
fn blocked() {
    let fails = "echo it does not compile\nexit 1";
    let blocked = || {
        let made = ended(project(fails, PHASES), 1, "blocked");
        assert_eq!(made.0.progress("failed-phase").as_deref(), Some("build"));
        made
    };
    insta::assert_snapshot!(typed_in(blocked), @r"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    error: run `2026-01-15_demo` is blocked at build [run.blocked]
    hint: see why, and what to type to go on, with `piton inbox`
    [exit 1]
    PROGRESS.yaml: blocked

    $ piton resume demo
    error: run `2026-01-15_demo` is blocked at build [run.blocked]
    hint: see why, and what to type to go on, with `piton inbox`
    [exit 1]
    PROGRESS.yaml: blocked

    $ piton pause demo
    error: run `2026-01-15_demo` is blocked at build [run.blocked]
    hint: see why, and what to type to go on, with `piton inbox`
    [exit 1]
    PROGRESS.yaml: blocked

    $ piton stop demo
    error: run `2026-01-15_demo` is blocked at build [run.blocked]
    hint: see why, and what to type to go on, with `piton inbox`
    [exit 1]
    PROGRESS.yaml: blocked
    ");
}

#[test]
fn completed() {
    let done = || ended(project("echo built", PHASES), 0, "completed");
    insta::assert_snapshot!(typed_in(done), @r"
    $ piton run demo --agent ./agent.sh --verdict exit-status
    2 of 2 nodes done (2 agent's word)
    report: .git/piton/reports/2026-01-15_demo.html
    run `2026-01-15_demo` is already finished
    [exit 0]
    PROGRESS.yaml: completed

    $ piton resume demo
    error: run `2026-01-15_demo` is finished [run.finished]
    hint: see what was done with `piton status 2026-01-15_demo`; run it anew with `piton run 2026-01-15_demo --recompile`
    [exit 1]
    PROGRESS.yaml: completed

    $ piton pause demo
    error: run `2026-01-15_demo` is finished [run.finished]
    hint: see what was done with `piton status 2026-01-15_demo`; run it anew with `piton run 2026-01-15_demo --recompile`
    [exit 1]
    PROGRESS.yaml: completed

    $ piton stop demo
    error: run `2026-01-15_demo` is finished [run.finished]
    hint: see what was done with `piton status 2026-01-15_demo`; run it anew with `piton run 2026-01-15_demo --recompile`
    [exit 1]
    PROGRESS.yaml: completed
    ");
}
