//! What people do from other processes: decide, skip, retry, pause, stop, and
//! two runners that want the same run.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{DEMO, Running, Scratch, is_alive};

const TWO: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";
const ASKS: &str = r#"[ -e go ] && { echo fine; exit; }; echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?","details":"5432 is taken"}}'"#;
const FAILS: &str = "[ -e go ] && { echo fine; exit; }; echo it does not compile; exit 1";
/// Works on each node until there is a file `go-NODE`.
const PATIENT: &str = "echo $$ >pid-$PITON_ITEM; touch at-$PITON_ITEM; while ! [ -e go-$PITON_ITEM ]; do sleep 0.02; done; echo fine";

fn project(phases: &str, agent: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.sprint(phases).agent(agent);
    scratch
}

fn with_breakpoint() -> String {
    TWO.replace("build it\n", "build it\n    break: true\n")
}

/// A run that an agent works on.
fn at_work(phases: &str) -> (Scratch, Running) {
    let scratch = project(phases, PATIENT);
    let runner = scratch.start_run(&[]);
    scratch.until("the agent works", || scratch.has("at-build"));
    (scratch, runner)
}

fn state(scratch: &Scratch, name: &str) -> String {
    let status = scratch.json(&["status", DEMO]);
    let nodes = status["run"]["nodes"].as_array().expect("nodes").clone();
    let node = nodes
        .iter()
        .find(|node| node["node"] == name)
        .expect("it is there");
    node["state"].as_str().expect("a state").to_owned()
}

mod decisions {
    use super::*;

    fn inbox_of(phases: &str, agent: &str) -> (Scratch, String) {
        let scratch = project(phases, agent).with_fixed_clock();
        scratch.run(&[]);
        let text = scratch.shows(&["inbox"]);
        (scratch, text)
    }

    #[test]
    fn the_inbox_says_what_waits_and_what_may_be_said() {
        insta::assert_snapshot!(project(TWO, "true").shows(&["inbox"]), @r"
        nothing waits for a person
        [exit 0]
        ");
        insta::assert_snapshot!(inbox_of(TWO, ASKS).1, @r"
        d1  which port?  2026-01-15_demo at build: build it
            5432 is taken
            piton decide d1 answer --why '...'
            piton decide d1 retry
            piton decide d1 skip
        [exit 0]
        ");
        insta::assert_snapshot!(inbox_of(TWO, FAILS).1, @"
        d1  `build` failed: what now?  2026-01-15_demo at build: build it
            it does not compile (exit status 1)
            considered:
            - not skip: nothing says that it was done already
            - manual: it has failed 3 times in a row: a person should look at it
            piton decide d1 retry
            piton decide d1 answer --why '...'
            piton decide d1 skip
        [exit 0]
        ");
        insta::assert_snapshot!(inbox_of(&with_breakpoint(), "echo fine").1, @"
        d1  `build` is finished, and the plan stops here for a look  2026-01-15_demo at build: build it
            piton decide d1 approve
        [exit 0]
        ");
    }

    /// Decides the first question of a run, and says what came of it, and of
    /// the run that goes on.
    fn decided(phases: &str, agent: &str, verb: &str) -> String {
        let scratch = project(phases, agent).with_fixed_clock();
        scratch.run(&[]);
        let said = scratch.shows(&["decide", "d1", verb, "--why", "port 5433"]);
        let status = scratch.progress("status").unwrap_or_default();
        scratch.write("go", "");
        let exit = scratch.run(&[]).exit;
        let nodes = ["build", "test"]
            .map(|name| state(&scratch, name))
            .join(", ");
        format!("{said}PROGRESS.yaml: {status}\nrun again: [exit {exit}] {nodes}\n")
    }

    #[test]
    fn each_verb_does_what_it_says_to_a_question_of_an_agent() {
        insta::assert_snapshot!(decided(TWO, ASKS, "answer"), @r"
        run `2026-01-15_demo` may go on
        hint: go on with `piton run 2026-01-15_demo`
        [exit 0]
        PROGRESS.yaml: interrupted
        run again: [exit 0] done, done
        ");
        insta::assert_snapshot!(decided(TWO, ASKS, "retry"), @r"
        run `2026-01-15_demo` may go on
        hint: go on with `piton run 2026-01-15_demo`
        [exit 0]
        PROGRESS.yaml: interrupted
        run again: [exit 0] done, done
        ");
        insta::assert_snapshot!(decided(TWO, ASKS, "skip"), @r"
        run `2026-01-15_demo` may go on
        hint: go on with `piton run 2026-01-15_demo`
        [exit 0]
        PROGRESS.yaml: interrupted
        run again: [exit 0] skipped, done
        ");
        insta::assert_snapshot!(decided(TWO, ASKS, "approve"), @"
        error: a decision of the kind `human-needed` cannot be answered with `approve` [decision.wrong_verb]
        hint: what fits is: answer, retry, skip
        [exit 2]
        PROGRESS.yaml: needs-human
        run again: [exit 3] waiting, pending
        ");
    }

    #[test]
    fn each_verb_does_what_it_says_to_a_blocked_node() {
        insta::assert_snapshot!(decided(TWO, FAILS, "retry"), @r"
        run `2026-01-15_demo` may go on
        hint: go on with `piton run 2026-01-15_demo`
        [exit 0]
        PROGRESS.yaml: interrupted
        run again: [exit 0] done, done
        ");
        insta::assert_snapshot!(decided(TWO, FAILS, "skip"), @r"
        run `2026-01-15_demo` may go on
        hint: go on with `piton run 2026-01-15_demo`
        [exit 0]
        PROGRESS.yaml: interrupted
        run again: [exit 0] skipped, done
        ");
        insta::assert_snapshot!(decided(TWO, FAILS, "answer"), @r"
        run `2026-01-15_demo` may go on
        hint: go on with `piton run 2026-01-15_demo`
        [exit 0]
        PROGRESS.yaml: interrupted
        run again: [exit 0] done, done
        ");
        insta::assert_snapshot!(decided(TWO, FAILS, "approve"), @"
        error: a decision of the kind `blocked-node` cannot be answered with `approve` [decision.wrong_verb]
        hint: what fits is: retry, answer, skip
        [exit 2]
        PROGRESS.yaml: blocked
        run again: [exit 1] failed, pending
        ");
    }

    #[test]
    fn each_verb_does_what_it_says_at_a_breakpoint() {
        insta::assert_snapshot!(decided(&with_breakpoint(), "echo fine", "approve"), @r"
        run `2026-01-15_demo` may go on
        hint: go on with `piton run 2026-01-15_demo`
        [exit 0]
        PROGRESS.yaml: interrupted
        run again: [exit 0] done, done
        ");
        insta::assert_snapshot!(decided(&with_breakpoint(), "echo fine", "retry"), @r"
        error: a decision of the kind `breakpoint` cannot be answered with `retry` [decision.wrong_verb]
        hint: what fits is: approve
        [exit 2]
        PROGRESS.yaml: paused-at-breakpoint
        run again: [exit 3] done, ready
        ");
        insta::assert_snapshot!(decided(&with_breakpoint(), "echo fine", "skip"), @r"
        error: a decision of the kind `breakpoint` cannot be answered with `skip` [decision.wrong_verb]
        hint: what fits is: approve
        [exit 2]
        PROGRESS.yaml: paused-at-breakpoint
        run again: [exit 3] done, ready
        ");
        insta::assert_snapshot!(decided(&with_breakpoint(), "echo fine", "answer"), @r"
        error: a decision of the kind `breakpoint` cannot be answered with `answer` [decision.wrong_verb]
        hint: what fits is: approve
        [exit 2]
        PROGRESS.yaml: paused-at-breakpoint
        run again: [exit 3] done, ready
        ");
    }

    #[test]
    fn what_is_decided_is_decided_and_what_is_unknown_is_said_to_be() {
        let scratch = project(TWO, ASKS);
        insta::assert_snapshot!(scratch.shows(&["decide", "d1", "retry"]), @r"
        error: there is no decision `d1` [decision.unknown]
        hint: see what is open with `piton inbox`
        [exit 2]
        ");
        scratch.run(&[]);
        insta::assert_snapshot!(scratch.shows(&["decide", "d1", "answer"]), @r"
        error: an answer or a rejection needs words [decision.needs_words]
        hint: say it with `--why TEXT`
        [exit 2]
        ");
        assert_eq!(scratch.piton(&["decide", "1", "retry"]).exit, 0);
        insta::assert_snapshot!(scratch.shows(&["decide", "d1", "skip"]), @r"
        error: decision 1 is decided already: retry [decision.decided]
        hint: see what is open with `piton inbox`
        [exit 1]
        ");
        insta::assert_snapshot!(scratch.shows(&["decide", "d9", "retry"]), @r"
        error: there is no decision `d9` [decision.unknown]
        hint: see what is open with `piton inbox`
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["decide", "first", "retry"]), @r"
        error: there is no decision `first` [decision.unknown]
        hint: see what is open with `piton inbox`
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["decide", "d1", "perhaps"]), @r"
        error: invalid value 'perhaps' for '<VERB>'
          [possible values: approve, answer, retry, skip, keep-file, keep-piton, merge, reject, defer, backlog]

        For more information, try '--help'.
        [exit 2]
        ");
    }
}

#[test]
fn a_runner_that_waits_goes_on_within_a_second_of_the_decision() {
    for (phases, agent, verb, state) in [
        (TWO.to_owned(), ASKS, "answer", "needs-human"),
        (TWO.to_owned(), FAILS, "retry", "blocked"),
        (
            with_breakpoint(),
            "echo fine",
            "approve",
            "paused-at-breakpoint",
        ),
    ] {
        let scratch = project(&phases, agent);
        let runner = scratch.start_run(&["--wait"]);
        runner.until_said("waiting for a person");
        scratch.until("the file says so", || {
            scratch.progress("status").as_deref() == Some(state)
        });
        let other = scratch.run(&[]);
        assert_eq!(
            other.exit, 4,
            "the one that waits holds the run: {}",
            other.err
        );
        scratch.write("go", "");
        let said = scratch.piton(&["decide", "d1", verb, "--why", "5433"]);
        let decided = Instant::now();
        assert!(
            said.err.contains(&format!("run `{DEMO}` goes on")),
            "{}",
            said.err
        );
        let said = runner.end();
        assert!(
            decided.elapsed() < Duration::from_secs(2),
            "{:?}",
            decided.elapsed()
        );
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
    }
}

#[test]
fn a_runner_that_waits_can_be_interrupted_and_stopped() {
    let scratch = project(TWO, ASKS);
    let runner = scratch.start_run(&["--wait"]);
    runner.until_said("waiting for a person");
    runner.signal(Signal::INT);
    let said = runner.end();
    // The question is still open: the run waits for its answer, as before.
    assert_eq!(said.exit, 3, "{}", said.err);
    let runner = scratch.start_run(&["--wait"]);
    assert_eq!(runner.end().exit, 3, "what waits is not run");
}

#[test]
fn a_paused_run_that_waits_goes_on_when_it_is_resumed() {
    let (scratch, runner) = {
        let scratch = project(TWO, PATIENT);
        let runner = scratch.start_run(&["--wait"]);
        scratch.until("the agent works", || scratch.has("at-build"));
        (scratch, runner)
    };
    assert_eq!(scratch.piton(&["pause"]).exit, 0);
    scratch.write("go-build", "").write("go-test", "");
    scratch.until("it is paused", || {
        scratch.progress("status").as_deref() == Some("paused")
    });
    let said = scratch.piton(&["resume"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let said = runner.end();
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn pausing_lets_the_agent_finish_and_stops_before_the_next() {
    let (scratch, runner) = at_work(TWO);
    insta::assert_snapshot!(scratch.shows(&["pause"]), @r"
    run `2026-01-15_demo` pauses at the next boundary
    [exit 0]
    ");
    scratch.write("go-build", "");
    let said = runner.end();
    assert_eq!(said.exit, 3, "{}", said.err);
    assert_eq!(
        (state(&scratch, "build"), state(&scratch, "test")),
        ("done".to_owned(), "ready".to_owned())
    );
    assert_eq!(
        scratch.progress("pause-reason").as_deref(),
        Some("paused by Ada")
    );
    assert_eq!(scratch.piton(&["resume"]).exit, 0);
    scratch.write("go-test", "");
    assert_eq!(scratch.run(&[]).exit, 0);
}

#[test]
fn stopping_ends_the_agent_at_once() {
    let (scratch, runner) = at_work(TWO);
    insta::assert_snapshot!(scratch.shows(&["stop"]), @r"
    run `2026-01-15_demo` stops now
    [exit 0]
    ");
    let asked = Instant::now();
    let said = runner.end();
    assert!(
        asked.elapsed() < Duration::from_secs(3),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(said.exit, 130, "{}", said.err);
    assert!(
        said.err.contains("- build interrupted: stopped by Ada"),
        "{}",
        said.err
    );
    assert!(!is_alive(&scratch.read("pid-build")));
    assert_eq!(scratch.progress("status").as_deref(), Some("interrupted"));
    scratch.write("go-build", "").write("go-test", "");
    assert_eq!(scratch.run(&[]).exit, 0);
}

#[test]
fn a_pause_file_pauses_and_resuming_puts_it_aside() {
    let (scratch, runner) = at_work(TWO);
    scratch.write("demo/PAUSE", "");
    assert!(
        scratch
            .piton(&["status"])
            .out
            .contains("there is a PAUSE file")
    );
    scratch.write("go-build", "").write("go-test", "");
    let said = runner.end();
    assert_eq!(said.exit, 3, "{}", said.err);
    assert_eq!(scratch.run(&[]).exit, 3);
    assert_eq!(scratch.piton(&["resume"]).exit, 0);
    assert!(scratch.has("demo/PAUSE.done") && !scratch.has("demo/PAUSE"));
    assert_eq!(scratch.run(&[]).exit, 0);
}

#[test]
fn a_node_is_skipped_while_an_agent_works_on_another() {
    let phases = format!("{TWO}  - id: ship\n    prompt: ship it\n");
    let (scratch, runner) = at_work(&phases);
    let said = scratch.piton(&["plan", "skip", "test", "--why", "not needed"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch.write("go-build", "").write("go-ship", "");
    let said = runner.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("test is left out"), "{}", said.err);
    assert!(!scratch.has("at-test"), "no agent was started for it");
    assert_eq!(
        ["build", "test", "ship"].map(|name| state(&scratch, name)),
        ["done", "skipped", "done"]
    );
}

#[test]
fn the_node_that_an_agent_works_on_is_skipped_when_the_agent_is_done() {
    let (scratch, runner) = at_work(TWO);
    assert_eq!(scratch.piton(&["plan", "skip", "build"]).exit, 0);
    insta::assert_snapshot!(scratch.shows(&["plan", "retry", "build"]), @r"
    error: `build` is being worked on [item.being_worked_on]
    hint: stop the run first with `piton stop`, or wait for the agent to end
    [exit 4]
    ");
    scratch.write("go-build", "").write("go-test", "");
    let said = runner.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(state(&scratch, "build"), "skipped");
}

#[test]
fn nodes_are_named_as_status_shows_them_and_wrong_names_are_explained() {
    let scratch = project(TWO, FAILS);
    scratch.run(&[]);
    insta::assert_snapshot!(scratch.shows(&["plan", "skip", "biuld"]), @r"
    error: there is no item `biuld` [item.unknown]
    hint: near to it: `build`; see the nodes with `piton status 2026-01-15_demo`
    [exit 2]
    ");
    insta::assert_snapshot!(scratch.shows(&["plan", "retry", "test"]), @"
    error: `test` is pending [item.state]
    hint: see where everything stands with `piton status`
    [exit 1]
    ");
    insta::assert_snapshot!(scratch.shows(&["plan", "retry", &format!("{DEMO}:build")]), @r"
    run `2026-01-15_demo` may go on
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    ");
    assert_eq!(scratch.progress("status").as_deref(), Some("interrupted"));
}

#[test]
fn a_second_runner_ends_and_names_the_first() {
    let (scratch, runner) = at_work(TWO);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 4, "{}", said.err);
    assert!(
        said.err.contains(&format!("process {}", runner.id())),
        "{}",
        said.err
    );
    assert!(
        said.err.contains(&format!("piton status {DEMO} --watch")),
        "{}",
        said.err
    );
    let said = scratch.run(&["--recompile"]);
    assert_eq!(
        said.exit, 4,
        "it would take the file from under the first: {}",
        said.err
    );
}

#[test]
fn a_holder_that_was_killed_is_noticed_at_once_and_its_agent_ended() {
    let (scratch, runner) = at_work(TWO);
    let agent = scratch.read("pid-build");
    runner.kill();
    assert!(is_alive(&agent), "it outlives its runner");
    let status = scratch.piton(&["status"]).out;
    assert!(
        status.contains("interrupted") && status.contains(&format!("Next: piton run {DEMO}")),
        "{status}"
    );
    scratch.write("at-build", "old").write("go-test", "");
    let begun = Instant::now();
    let next = scratch.start_run(&[]);
    scratch.until("the node is worked on again", || {
        scratch.read("at-build").is_empty() || scratch.read("pid-build") != agent
    });
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(!is_alive(&agent), "never two agents on one node");
    scratch.write("go-build", "");
    let said = next.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("that outlived an earlier runner"),
        "{}",
        said.err
    );
    assert_eq!(scratch.json(&["status"])["run"]["nodes"][0]["retries"], 0);
}

#[test]
fn watching_ends_when_the_run_rests() {
    let (scratch, runner) = at_work(TWO);
    let watcher = Running::start(scratch.command(&["status", "--watch"]));
    scratch.write("go-build", "").write("go-test", "");
    assert_eq!(runner.end().exit, 0);
    let said = watcher.end();
    assert_eq!(said.exit, 0);
    assert!(said.out.contains("done    test"), "{}", said.out);
}

#[test]
fn many_questions_at_once_are_kept_apart() {
    let scratch = project(TWO, ASKS);
    scratch.run(&[]);
    let deciders: Vec<Running> = (0..6)
        .map(|_| Running::start(scratch.command(&["decide", "d1", "retry"])))
        .collect();
    let exits: Vec<i32> = deciders
        .into_iter()
        .map(|decider| decider.end().exit)
        .collect();
    assert_eq!(
        exits.iter().filter(|exit| **exit == 0).count(),
        1,
        "{exits:?}"
    );
    assert_eq!(
        exits.iter().filter(|exit| **exit == 1).count(),
        5,
        "{exits:?}"
    );
}

mod one_runner_per_sprint {
    use super::*;

    /// Two runs of one plan: the first stopped, the second at work.
    fn with_a_later_run() -> (Scratch, Running) {
        let (scratch, runner) = at_work(TWO);
        assert_eq!(scratch.piton(&["stop"]).exit, 0);
        assert_eq!(runner.end().exit, 130);
        std::fs::remove_file(scratch.path().join("at-build")).expect("it was there");
        let later = scratch.start_run(&["--recompile"]);
        scratch.until("the agent works", || scratch.has("at-build"));
        (scratch, later)
    }

    #[test]
    fn an_earlier_run_is_not_worked_on_beside_a_later_one() {
        let (scratch, later) = with_a_later_run();
        let said = scratch.piton(&[
            "run",
            DEMO,
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
            "--once",
        ]);
        assert_eq!(said.exit, 4, "{}", said.err);
        assert!(
            said.err.contains(&format!("process {}", later.id())),
            "{}",
            said.err
        );
        assert!(said.err.contains(&format!("`{DEMO}~2`")), "{}", said.err);
        assert_eq!(scratch.run(&["--recompile"]).exit, 4);
        scratch.write("go-build", "").write("go-test", "");
        assert_eq!(later.end().exit, 0);
    }

    #[test]
    fn of_three_that_begin_at_once_one_works_and_two_give_way() {
        let scratch = project(TWO, PATIENT);
        let all: Vec<Running> = (0..3).map(|_| scratch.start_run(&[])).collect();
        scratch.until("the agent works", || scratch.has("at-build"));
        let status = scratch.json(&["status"]);
        let holder = status["run"]["holder"].as_str().expect("it is held");
        let (one, others): (Vec<Running>, Vec<Running>) = all
            .into_iter()
            .partition(|one| holder.starts_with(&format!("process {} ", one.id())));
        for other in others {
            let said = other.end();
            assert_eq!(said.exit, 4, "{}", said.err);
        }
        scratch.write("go-build", "").write("go-test", "");
        for one in one {
            assert_eq!(one.end().exit, 0);
        }
        assert_eq!(
            scratch.json(&["status"])["runs"].as_array().map(Vec::len),
            Some(1)
        );
    }

    #[test]
    fn watching_a_run_ends_when_that_run_rests_though_another_works() {
        let (scratch, later) = with_a_later_run();
        let watcher = Running::start(scratch.command(&["status", DEMO, "--watch"]));
        assert_eq!(watcher.end().exit, 0);
        scratch.write("go-build", "").write("go-test", "");
        assert_eq!(later.end().exit, 0);
    }
}

mod survivors {
    use super::*;

    fn left_by_a_dead_runner() -> (Scratch, String) {
        let (scratch, runner) = at_work(TWO);
        let agent = scratch.read("pid-build");
        runner.kill();
        assert!(is_alive(&agent), "it outlives its runner");
        (scratch, agent)
    }

    #[test]
    fn stopping_a_run_whose_runner_died_ends_its_agent() {
        let (scratch, agent) = left_by_a_dead_runner();
        let said = scratch.piton(&["stop"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(
            said.err.contains("that outlived an earlier runner"),
            "{}",
            said.err
        );
        assert!(!is_alive(&agent));
    }

    #[test]
    fn beginning_anew_ends_the_agent_of_a_run_whose_runner_was_buried() {
        let (scratch, agent) = left_by_a_dead_runner();
        assert_eq!(scratch.piton(&["pause"]).exit, 0);
        scratch.write("go-test", "");
        std::fs::remove_file(scratch.path().join("at-build")).expect("it was there");
        let next = scratch.start_run(&["--recompile"]);
        scratch.until("the agent works", || scratch.has("at-build"));
        let outlived = is_alive(&agent);
        scratch.write("go-build", "");
        assert_eq!(next.end().exit, 0);
        assert!(!outlived, "never two agents of one sprint");
    }
}

#[test]
fn the_run_of_a_node_is_named_in_any_form_and_an_open_one_comes_first() {
    let scratch = project(TWO, FAILS);
    scratch.run(&[]);
    scratch.run(&["--recompile"]);
    let status = scratch.json(&["status", DEMO]);
    let id = status["run"]["id"].as_str().expect("an id").to_owned();
    let later = format!("{DEMO}~2");
    for (named, run) in [
        (DEMO, DEMO),
        (&id, DEMO),
        (&id[..id.len() - 2], DEMO),
        ("demo", &later),
        ("./demo/SPRINT.yaml", &later),
    ] {
        let node = format!("{named}:build");
        let said = scratch.piton(&["plan", "retry", &node]);
        assert!(
            said.exit == 0 && said.err.contains(&format!("run `{run}` may go on")),
            "{node}: {}",
            said.err
        );
        scratch.piton(&[
            "run",
            run,
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
        ]);
    }
    let said = scratch.piton(&["plan", "skip", "test"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains(&later), "{}", said.err);
}
