//! `setup` and `teardown`: when they run, with what, and how they fail.

use std::fs;
use std::time::{Duration, Instant};

use piton_engine::runner::lane_pool::{LaneFault, LanePreparation, LaneScript, LaneStart};

use super::{Yard, taking};

#[test]
fn a_setup_runs_once_for_each_run_and_command() {
    let mut yard = Yard::with_setup("echo one >> ../count");
    let lane = yard.take();
    let count = || {
        let text = fs::read_to_string(lane.folder.join("count")).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for unit in ["a", "b"] {
        yard.ready(&lane, unit);
        assert_eq!(count(), ["one"]);
    }
    yard.settings.setup = Some("echo two >> ../count".to_owned());
    yard.ready(&lane, "c");
    assert_eq!(count(), ["one", "two"]);
    let order = LanePreparation {
        taken: &piton_engine::runner::lane_pool::LaneOccupant {
            run: "another".to_owned(),
            ..taking("a")
        },
        from: &yard.base,
        start: LaneStart::Clean,
        marks: &[],
        recorded: &[],
        by: &yard.caller.by(),
        redactor: &yard.redactor,
    };
    yard.pool().prepare_lane(&lane, &order).expect("ready");
    assert_eq!(count(), ["one", "two", "two"]);
}

#[test]
fn what_setup_says_of_the_environment_is_given_to_the_agents_of_the_lane() {
    let setup =
        "echo DB=db-$PITON_LANE >> $PITON_LANE_ENV; echo PITON_ATTEMPT=x >> $PITON_LANE_ENV";
    let mut yard = Yard::with_setup(setup);
    let lane = yard.take();
    for _ in 0..2 {
        let prepared = yard.ready(&lane, "one");
        let own = ("DB".to_owned(), "db-1".to_owned());
        assert_eq!(prepared.env.first(), Some(&own));
        let named = prepared.env.iter().filter(|(name, _)| name == "DB").count();
        assert_eq!(named, 1);
        assert!(prepared.env.iter().all(|(name, _)| name != "PITON_ATTEMPT"));
        let [warning] = &prepared.warnings[..] else {
            panic!("{:?}", prepared.warnings);
        };
        assert!(warning.starts_with("line 2 of "), "{warning}");
        // The next one begins with an empty file.
        yard.settings.setup = Some(format!("{setup}; true"));
    }
}

#[test]
fn a_setup_that_fails_is_named_with_its_last_lines_and_without_secrets() {
    let yard = Yard::with_setup("echo out; echo key k3y-0f-4da-n0b0dy-kn0ws >&2; exit 3");
    let lane = yard.take();
    for _ in 0..2 {
        let fault = yard.fault(&lane, "one");
        assert_eq!(
            fault.to_string(),
            "the setup command of lane 1 ended with 3"
        );
        let LaneFault::Script { script, lines, .. } = fault else {
            panic!("it is its command's");
        };
        assert_eq!(script, LaneScript::Setup);
        assert_eq!(lines.len(), 2);
        let log = fs::read_to_string(lane.setup_log_path()).expect("kept");
        assert_eq!(log.lines().collect::<Vec<_>>(), lines);
        assert!(
            log.starts_with("out\nkey ") && !log.contains("k3y"),
            "{log}"
        );
    }
}

#[test]
fn a_setup_that_hangs_is_ended() {
    let mut yard = Yard::with_setup("sleep 60");
    yard.settings.setup_timeout = "1s".to_owned();
    let lane = yard.take();
    let fault = yard.fault(&lane, "one");
    assert_eq!(
        fault.to_string(),
        "the setup command of lane 1 did not end in 1s"
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a real process took")]
fn a_setup_is_stopped_from_another_thread() {
    let yard = Yard::with_setup("sleep 60");
    let lane = yard.take();
    let begun = Instant::now();
    let stop = yard.caller.stop.clone();
    let other = std::thread::spawn(move || {
        piton_engine::world::pause(Duration::from_millis(800));
        stop.request_stop(false);
    });
    let fault = yard.fault(&lane, "one");
    other.join().expect("it ended");
    // Git may have been what was stopped, on a slow machine.
    assert!(
        matches!(fault, LaneFault::Stopped | LaneFault::Git(_)),
        "{fault}"
    );
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn what_setup_starts_for_the_lane_goes_on_and_what_an_agent_left_does_not() {
    let yard = Yard::with_setup("sleep 61 & echo $! > ../server");
    let lane = yard.take();
    yard.ready(&lane, "one");
    let pid = |name: &str| {
        let text = fs::read_to_string(lane.folder.join(name)).expect("written");
        text.trim().parse::<u32>().expect("a number")
    };
    let runs = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // One that has ended and was not waited for runs no more.
        !stat.is_empty() && !stat.contains(") Z ")
    };
    if !fs::exists("/proc/self/cwd").unwrap_or(false) {
        eprintln!("skipped: this system does not say in which folder a process is");
        return;
    }
    let server = pid("server");
    // As an agent leaves it: marked, and handed on by its parent.
    let left = "sleep 62 & echo $! > ../left";
    let mut agent = crate::repository::shell(&lane.tree, left);
    let ended = agent.env("PITON_ATTEMPT", "0192-left").status();
    assert!(ended.expect("started").success());
    let left = pid("left");
    assert!(runs(server) && runs(left));
    yard.ready(&lane, "two");
    assert!(runs(server) && !runs(left));
    crate::repository::end(server);
}

#[test]
fn a_teardown_comes_before_the_removal_and_stops_it_where_it_fails() {
    let mut yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, "one");
    yard.settings.teardown = Some("echo held >&2; exit 1".to_owned());
    let fault = yard.remove(lane).expect_err("it fails");
    assert_eq!(
        fault.to_string(),
        "the teardown command of lane 1 ended with 1"
    );
    let lane = yard.take();
    assert!(lane.tree.join("src/main").is_file());
    let seen = yard.repository.path().join(".piton/seen");
    let teardown = format!("test -f src/main && echo $PITON_LANE > {}", seen.display());
    yard.settings.teardown = Some(teardown);
    yard.remove(lane).expect("it can be removed");
    assert_eq!(fs::read_to_string(seen).expect("it ran"), "1\n");
    assert_eq!(yard.worktrees(), 0);
}
