//! Work that waits for a person to look at it before it is merged.

use serde_json::Value;

use super::{TARGET, all_done, arguments, fine, main_has_it, merges, on_target, project, run};
use crate::harness::{Running, Scratch};

const WRITES: &str = "echo made >$PITON_ITEM.txt";

fn with_review(agent: &str, stories: u32) -> Scratch {
    let scratch = project(agent, stories);
    scratch.write(".piton/config.toml", "[merge]\nreview = true\n");
    scratch
}

/// The open questions.
fn asked(scratch: &Scratch) -> Vec<Value> {
    let inbox = scratch.json_list(&["inbox"]);
    inbox.as_array().expect("a list").clone()
}

/// Approves all that waits.
fn approve_all(scratch: &Scratch) {
    for question in asked(scratch) {
        assert_eq!(question["kind"], "review", "{question}");
        let id = question["id"].as_str().expect("an id");
        fine(&scratch.piton(&["decide", id, "approve"]));
    }
}

#[test]
fn finished_work_waits_with_its_diff_and_is_merged_when_it_is_approved() {
    let scratch = with_review(WRITES, 2);
    let said = run(&scratch, "2");
    assert_eq!(said.exit, 3, "{}", said.err);
    let words = "the work on `US-001` waits for a review";
    assert!(said.err.contains(words), "{}", said.err);
    assert_eq!(merges(&scratch), Vec::<String>::new());
    let of_item = |node: &str| {
        let mut asked = asked(&scratch).into_iter();
        let of_item = asked.find(|question| question["node"] == node);
        of_item.unwrap_or_else(|| panic!("nothing is asked of {node}"))
    };
    let question = &of_item("US-001");
    let id = question["id"].as_str().expect("an id");
    assert_eq!(question["kind"], "review");
    let files = serde_json::json!([{"path": "US-001.txt", "insertions": 1, "deletions": 0}]);
    assert_eq!(question["review"]["files"], files, "{question}");
    // What is to be typed shows it.
    let diff = question["review"]["diff"].as_str().expect("a command");
    let range = diff.strip_prefix("git diff ").expect("git shows it");
    assert!(range.starts_with(TARGET), "{range}");
    let changed = scratch.git(&["diff", "--name-only", range]);
    assert_eq!(changed, "US-001.txt\n");
    let inbox = scratch.piton(&["inbox"]).out;
    for words in [
        "US-001.txt  +1 -0",
        diff,
        &format!("piton decide {id} reject --why '...'"),
    ] {
        assert!(inbox.contains(words), "{words}: {inbox}");
    }
    let status = scratch.json(&["status"]);
    assert_eq!(status["run"]["state"], "waiting");
    assert_eq!(status["run"]["nodes"][0]["waits"]["for"], "person");
    // It is kept, whatever becomes of its lane.
    let kept = || scratch.git(&["for-each-ref", "--format=%(refname)", "refs/piton"]);
    assert_eq!(kept().lines().count(), 2, "{}", kept());
    let said = scratch.piton(&["decide", id, "approve"]);
    fine(&said);
    assert!(
        said.err.contains("US-001: approved; it is merged next"),
        "{}",
        said.err
    );
    let other = of_item("US-002");
    let other = other["id"].as_str().expect("an id");
    fine(&scratch.piton(&["decide", other, "skip"]));
    assert_ne!(scratch.piton(&["decide", id, "approve"]).exit, 0);
    fine(&run(&scratch, "2"));
    assert_eq!(merges(&scratch), ["prd: merge US-001"]);
    main_has_it(&scratch);
    // What was left out is reachable until the run is cleaned.
    assert_eq!(kept().lines().count(), 1, "{}", kept());
}

/// An agent that is told by a flag in which conversation it is.
const ROBOT: &str = r#"#!/bin/sh
cat >$PITON_PROJECT/.piton/prompt
echo "$PITON_LANE $*" >>$PITON_PROJECT/.piton/args
echo more >>$PITON_ITEM.txt
echo '{"session": "talk-1", "words": "{\"status\": \"completed\", \"summary\": \"did it\"}"}'
"#;

#[test]
fn what_is_rejected_goes_back_to_its_conversation_with_the_words_of_the_person() {
    let scratch = with_review(WRITES, 1);
    scratch.write("robot.sh", ROBOT);
    scratch.git(&["add", "robot.sh"]);
    scratch.git(&["update-index", "--chmod=+x", "robot.sh"]);
    scratch.git(&["commit", "-qm", "robot"]);
    scratch.git(&["checkout", "-q", "--", "robot.sh"]);
    let robot = "program = './robot.sh'\noutput = 'jsonl'\nsession-flag = '--new {session}'\nresume-flag = '--go-on {session}'\n\n[agents.robot.read]\nsession = 'session'\nwords = 'words'\n";
    let config = format!("[merge]\nreview = true\n\n[agents.robot]\n{robot}");
    scratch.write(".piton/config.toml", &config);
    let run = || scratch.piton(&["run", "prd.json", "--agent", "robot", "--workers", "2"]);
    let said = run();
    assert_eq!(said.exit, 3, "{}", said.err);
    let said = scratch.piton(&["decide", "d1", "reject"]);
    assert_ne!(said.exit, 0);
    assert!(said.err.contains("--why TEXT"), "{}", said.err);
    let reject = ["decide", "d1", "reject", "--why", "Say whose it is."];
    fine(&scratch.piton(&reject));
    let said = run();
    assert_eq!(said.exit, 3, "{}", said.err);
    let args = scratch.read(".piton/args");
    let args: Vec<&str> = args.lines().collect();
    assert_eq!(args.len(), 2, "{args:?}");
    assert!(args[0].starts_with("1 --new "), "{args:?}");
    assert_eq!(args[1], "1 --go-on talk-1");
    let prompt = scratch.read(".piton/prompt");
    assert!(prompt.contains("Say whose it is."), "{prompt}");
    // It went on with what was there, and waits again.
    let question = &asked(&scratch)[0];
    assert_eq!(
        question["review"]["files"][0]["insertions"], 2,
        "{question}"
    );
    approve_all(&scratch);
    fine(&run());
    assert_eq!(on_target(&scratch, "US-001.txt"), "more\nmore\n");
}

#[test]
fn a_runner_that_waits_merges_what_is_approved() {
    let scratch = with_review(WRITES, 1);
    let mut wait = arguments("2").to_vec();
    wait.push("--wait");
    let running = Running::start(scratch.command(&wait));
    scratch.until("it is asked", || {
        scratch.has(".piton/journal.db") && !asked(&scratch).is_empty()
    });
    approve_all(&scratch);
    fine(&running.end());
    all_done(&scratch, 1);
}

/// Where a run with reviews dies.
const POINTS: &[&str] = &["run.after-commit", "unit.kept", "merge.made", "merge.moved"];

#[test]
fn wherever_the_runner_dies_no_review_is_lost_or_asked_twice() {
    for point in POINTS {
        let scratch = with_review(WRITES, 2);
        for _ in 0..2 {
            let mut command = scratch.command(&arguments("2"));
            command.env("PITON_FAILPOINT", point);
            Running::start(command).end();
            approve_all(&scratch);
        }
        let said = run(&scratch, "2");
        approve_all(&scratch);
        if said.exit != 0 {
            fine(&run(&scratch, "2"));
        }
        all_done(&scratch, 2);
        let opened = scratch.event_kinds();
        let opened = opened.iter().filter(|kind| *kind == "decision-opened");
        assert_eq!(opened.count(), 2, "{point}");
        fine(&scratch.piton(&["journal", "verify"]));
    }
}
