//! Several processes that work on one run: each in lanes of its own.

use std::time::Duration;

use crate::harness::{Running, Said, Scratch, until_within};
use crate::lanes::{all_done, arguments, fine, list, main_has_it, project};

const JOIN: &[&str] = &["run", "prd", "--join", "--agent", "./agent.sh"];

/// Says that it works, and does it when there is leave for it.
pub(crate) const AT_WORK: &str = "touch $PITON_PROJECT/.piton/at-$PITON_ITEM
until [ -e $PITON_PROJECT/.piton/go ]; do sleep 0.05; done
echo made >$PITON_ITEM.txt";

pub(crate) fn at_work(scratch: &Scratch) -> usize {
    (1..=9)
        .filter(|number| scratch.has(&format!(".piton/at-US-{number:03}")))
        .count()
}

fn join(scratch: &Scratch) -> Running {
    let mut arguments = JOIN.to_vec();
    arguments.extend(["--workers", "2"]);
    Running::start(scratch.command(&arguments))
}

/// One that holds the run with two lanes, and one that has joined it with two.
pub(crate) fn two_at_work(scratch: &Scratch) -> (Running, Running) {
    let holder = Running::start(scratch.command(&arguments("2")));
    scratch.until("two work", || at_work(scratch) == 2);
    let joined = join(scratch);
    scratch.until("four work", || at_work(scratch) == 4);
    (holder, joined)
}

#[test]
fn a_process_that_joins_adds_its_lanes() {
    let scratch = project(AT_WORK, 6);
    let (holder, joined) = two_at_work(&scratch);
    // Without the flag it is refused as ever.
    assert_eq!(scratch.piton(&arguments("2")).exit, 4);
    let status = scratch.json(&["status"]);
    let runners = status["run"]["joined"].as_array().map(Vec::len);
    assert_eq!(runners, Some(1), "{status}");
    scratch.write(".piton/go", "");
    // Whoever ends last says what has landed, and nobody what has yet to.
    for running in [holder, joined] {
        let said = running.end();
        fine(&said);
        assert!(said.err.contains("landed on main"), "{}", said.err);
        assert!(!said.err.contains("land it on"), "{}", said.err);
        assert!(said.err.ends_with("run `prd` is done\n"), "{}", said.err);
    }
    all_done(&scratch, 6);
    main_has_it(&scratch);
    fine(&scratch.piton(&["journal", "verify"]));
    let locks = std::fs::read_dir(scratch.file(".piton/locks")).expect("there are locks");
    assert_eq!(locks.count(), 2, "its own lock is left, or another one");
}

/// Whoever reads the news of another process may find its attempt begun already.
#[test]
fn a_check_before_an_attempt_of_another_process_is_told_as_such() {
    let scratch = project(AT_WORK, 0);
    let check = r#""verificationCommands": ["test -f $PITON_ITEM.txt"], "#;
    scratch.write("prd.json", &list(4, check));
    let (holder, joined) = two_at_work(&scratch);
    scratch.write(".piton/go", "");
    for running in [holder, joined] {
        let said = running.end();
        fine(&said);
        assert!(!said.err.contains(" failed"), "{}", said.err);
        let told = said.err.matches("before the first attempt").count();
        assert!(told >= 2, "{}", said.err);
    }
}

#[test]
fn where_the_process_that_holds_a_run_is_killed_one_that_joined_goes_on_with_all_of_it() {
    let scratch = project(AT_WORK, 6);
    let (holder, joined) = two_at_work(&scratch);
    holder.kill();
    scratch.until("the other one holds it", || {
        let status = scratch.json(&["status"]);
        status["run"]["joined"].as_array().is_none_or(Vec::is_empty)
    });
    scratch.write(".piton/go", "");
    let said = joined.end();
    fine(&said);
    assert!(said.err.contains("this one holds it now"), "{}", said.err);
    all_done(&scratch, 6);
    main_has_it(&scratch);
}

#[test]
fn what_a_process_that_joined_leaves_when_it_is_killed_is_worked_on_again() {
    let scratch = project(AT_WORK, 6);
    let (holder, joined) = two_at_work(&scratch);
    joined.kill();
    let kinds = || scratch.event_kinds();
    scratch.until("it is missed", || {
        kinds().contains(&"lease-lost".to_owned())
    });
    scratch.write(".piton/go", "");
    fine(&holder.end());
    all_done(&scratch, 6);
    main_has_it(&scratch);
}

#[test]
fn one_that_holds_a_run_and_is_interrupted_hands_it_over() {
    let scratch = project(AT_WORK, 6);
    let (holder, joined) = two_at_work(&scratch);
    holder.signal(rustix::process::Signal::INT);
    assert_eq!(holder.end().exit, 130);
    scratch.write(".piton/go", "");
    fine(&joined.end());
    all_done(&scratch, 6);
    main_has_it(&scratch);
}

/// Both end with this, and with the same words.
#[track_caller]
fn both_end_with(exit: i32, words: &str, holder: Running, joined: Running) {
    let said = [holder, joined].map(Running::end);
    for one in &said {
        assert_eq!(one.exit, exit, "{}", one.err);
        assert!(one.err.contains(words), "{}", one.err);
        assert!(!one.err.contains("is running"), "{}", one.err);
    }
    let last = |said: &Said| said.err[said.err.rfind(words).unwrap_or(0)..].to_owned();
    assert_eq!(last(&said[0]), last(&said[1]));
}

#[test]
fn one_that_joined_ends_with_the_pause_of_the_run() {
    let scratch = project(AT_WORK, 6);
    let (holder, joined) = two_at_work(&scratch);
    fine(&scratch.piton(&["pause", "prd"]));
    scratch.write(".piton/go", "");
    both_end_with(3, "run `prd` is paused", holder, joined);
}

#[test]
fn one_that_joined_ends_with_the_limit_of_the_run() {
    let scratch = project(AT_WORK, 6);
    let mut limited = arguments("2").to_vec();
    limited.extend(["--max-iterations", "4"]);
    let holder = Running::start(scratch.command(&limited));
    scratch.until("two work", || at_work(&scratch) == 2);
    let joined = join(&scratch);
    scratch.until("four work", || at_work(&scratch) == 4);
    scratch.write(".piton/go", "");
    both_end_with(
        5,
        "run `prd` reached its limit: max-iterations (4)",
        holder,
        joined,
    );
}

#[test]
fn one_that_joined_and_is_interrupted_says_who_goes_on() {
    let scratch = project(AT_WORK, 6);
    let (holder, joined) = two_at_work(&scratch);
    joined.signal(rustix::process::Signal::INT);
    let said = joined.end();
    assert_eq!(said.exit, 130, "{}", said.err);
    assert!(
        said.err.contains("run `prd` goes on with process"),
        "{}",
        said.err
    );
    scratch.write(".piton/go", "");
    fine(&holder.end());
    all_done(&scratch, 6);
}

#[test]
fn one_that_holds_a_run_and_ends_after_one_node_leaves_it_to_others() {
    let scratch = project(AT_WORK, 6);
    let mut once = arguments("2").to_vec();
    once.push("--once");
    let holder = Running::start(scratch.command(&once));
    scratch.until("one works", || at_work(&scratch) == 1);
    let joined = join(&scratch);
    scratch.until("three work", || at_work(&scratch) == 3);
    scratch.write(".piton/go", "");
    for running in [holder, joined] {
        fine(&running.end());
    }
    all_done(&scratch, 6);
    main_has_it(&scratch);
}

#[test]
fn the_last_one_that_is_interrupted_interrupts_the_run() {
    let scratch = project(AT_WORK, 6);
    let (holder, joined) = two_at_work(&scratch);
    for running in [&holder, &joined] {
        running.signal(rustix::process::Signal::INT);
    }
    for running in [holder, joined] {
        assert_eq!(running.end().exit, 130);
    }
    let status = scratch.json(&["status"]);
    assert_eq!(status["run"]["state"], "interrupted");
    let moved = scratch.piton(&["journal", "export"]).out;
    assert!(!moved.contains("its runner died"), "{moved}");
    scratch.write(".piton/go", "");
    fine(&scratch.piton(&arguments("2")));
    all_done(&scratch, 6);
}

#[test]
fn a_stop_ends_all_that_work_on_a_run() {
    let scratch = project(AT_WORK, 6);
    let (holder, joined) = two_at_work(&scratch);
    fine(&scratch.piton(&["stop", "prd"]));
    for running in [holder, joined] {
        assert_eq!(running.end().exit, 130);
    }
    assert_eq!(scratch.json(&["status"])["run"]["state"], "interrupted");
    scratch.write(".piton/go", "");
    fine(&scratch.piton(&arguments("2")));
    all_done(&scratch, 6);
}

/// Its lease runs out while it is stopped: its items are worked on elsewhere, and when
/// it comes back it is refused.
#[test]
fn a_process_that_was_stopped_is_given_up_and_changes_nothing_when_it_comes_back() {
    let scratch = project(AT_WORK, 4);
    let (holder, joined) = two_at_work(&scratch);
    holder.signal(rustix::process::Signal::STOP);
    let kinds = || scratch.event_kinds();
    // A lease lasts 30 seconds, and is looked at every 10.
    until_within(Duration::from_secs(90), "it is given up", || {
        kinds().contains(&"lease-lost".to_owned())
    });
    scratch.write(".piton/go", "");
    fine(&joined.end());
    all_done(&scratch, 4);
    let before = kinds();
    holder.signal(rustix::process::Signal::CONT);
    let said = holder.end();
    // It sees first that it was given up, or that all is done.
    assert!([0, 4].contains(&said.exit), "{}", said.err);
    assert_eq!(kinds(), before);
    all_done(&scratch, 4);
    main_has_it(&scratch);
}

#[test]
fn only_a_run_that_is_worked_on_in_lanes_is_joined() {
    let scratch = project(AT_WORK, 2);
    let refused = |what: &str| {
        let said = scratch.piton(JOIN);
        assert_ne!(said.exit, 0);
        assert!(said.err.contains(what), "{}", said.err);
    };
    let fresh = scratch.piton(&["run", "prd.json", "--join", "--agent", "./agent.sh"]);
    assert!(fresh.err.contains("it has not begun"), "{}", fresh.err);
    let running = Running::start(scratch.command(&arguments("1")));
    scratch.until("one works", || at_work(&scratch) == 1);
    refused("room for one runner");
    scratch.write(".piton/go", "");
    fine(&running.end());
    refused("no runner works on it");
}

/// Whoever dies while it joins, gives another one up, or takes a run over, the work is
/// done, once.
#[test]
fn wherever_one_of_two_dies_over_the_other_the_next_one_goes_on() {
    for (point, is_joined) in [
        ("join.locked", true),
        ("join.recorded", true),
        ("join.holds", true),
        ("join.lost", false),
    ] {
        let scratch = project(AT_WORK, 4);
        let dying = |arguments: &[&str], dies: bool| {
            let mut command = scratch.command(arguments);
            if dies {
                command.env("PITON_FAILPOINT", point);
            }
            Running::start(command)
        };
        let holder = dying(&arguments("2"), !is_joined);
        scratch.until("two work", || at_work(&scratch) == 2);
        let joined = dying(JOIN, is_joined);
        if matches!(point, "join.holds" | "join.lost") {
            scratch.until("four work", || at_work(&scratch) == 4);
            let (kept, killed) = match is_joined {
                true => (joined, holder),
                false => (holder, joined),
            };
            killed.kill();
            assert_ne!(kept.end().exit, 0, "{point}");
            scratch.write(".piton/go", "");
        } else {
            assert_ne!(joined.end().exit, 0, "{point}");
            scratch.write(".piton/go", "");
            fine(&holder.end());
        }
        fine(&scratch.piton(&arguments("2")));
        all_done(&scratch, 4);
        main_has_it(&scratch);
        fine(&scratch.piton(&["journal", "verify"]));
    }
}
