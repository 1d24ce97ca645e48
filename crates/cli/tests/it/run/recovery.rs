//! What follows when an attempt did not complete: a repair, pieces, leaving it
//! out, or a person who reads what was considered.

use super::{DEMO, ONE, Scratch, node, project};
use crate::harness::RUN;

/// An agent that keeps its prompts and does as its script says. How many
/// attempts there were, this one included, is in `$n`.
fn counting(script: &str) -> String {
    format!("mkdir -p prompts\nn=$(($(ls prompts | wc -l) + 1))\ncat >prompts/$n\n{script}")
}

/// The roles of all attempts, in order.
fn roles(scratch: &Scratch) -> Vec<String> {
    let out = scratch.piton(&["journal", "export"]).out;
    let events = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an event"));
    let started = events.filter(|event| event["kind"] == "attempt-started");
    started
        .map(|event| {
            let role = event["body"]["role"].as_str();
            role.unwrap_or_default().to_owned()
        })
        .collect()
}

#[track_caller]
fn fine(scratch: &Scratch, args: &[&str]) {
    let said = scratch.piton(args);
    assert_eq!(said.exit, 0, "{args:?}: {}{}", said.out, said.err);
}

const MISSING: &str = "echo 'make: command not found'; exit 2";

#[test]
fn what_the_workspace_lacks_is_repaired_first_and_then_the_work_is_done() {
    let agent = counting(&format!(
        "case $n in 1) {MISSING} ;; 2) echo 'installed make' ;; *) echo built ;; esac"
    ));
    let scratch = project(ONE, &agent);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert_eq!(roles(&scratch), ["worker", "repair", "worker"]);
    let repair = scratch.read("prompts/2");
    for words in [
        "Put the workspace in order, and nothing else.",
        "- the failure says \"command not found\"",
    ] {
        assert!(repair.contains(words), "{repair}");
    }
    assert!(!repair.contains("build it"), "{repair}");
    let worker = scratch.read("prompts/3");
    for words in ["## The workspace was looked at first", "build it"] {
        assert!(worker.contains(words), "{worker}");
    }
    let told = "a repair first: the failure says";
    assert!(said.err.contains(told), "{}", said.err);
    assert_eq!(node(&scratch, "build")["summary"], "built");
}

#[test]
fn a_repair_is_tried_once_and_then_a_person_is_asked() {
    let scratch = project(ONE, &counting(MISSING));
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 1, "{}{}", said.out, said.err);
    assert_eq!(roles(&scratch), ["worker", "repair", "worker", "worker"]);
}

const TOO_LARGE: &str = r#"echo '{"status":"failed","error":"the context window is exceeded"}'"#;
const PIECES: &str = r#"echo '{"status":"completed","summary":"in two","pieces":[{"title":"the walls","prompt":"of stone"},{"title":"the roof"}]}'"#;

/// An agent for which an item is too large until it is split.
fn splitting() -> String {
    counting(&format!(
        "case $n in 1) {TOO_LARGE} ;; 2) {PIECES} ;; *) echo \"did $PITON_ITEM\" ;; esac"
    ))
}

const SPLIT: [&str; 5] = ["worker", "split", "worker", "worker", "worker"];

#[test]
fn what_is_too_large_is_split_and_its_pieces_are_done_before_it() {
    let scratch = project(ONE, &splitting());
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert_eq!(roles(&scratch), SPLIT);
    assert!(said.err.contains("build is split into 2"), "{}", said.err);
    for (prompt, words) in [
        ("prompts/2", "\"pieces\": [{\"title\""),
        (
            "prompts/3",
            "the walls\n\nof stone\n\nThis is a piece of `build`",
        ),
        ("prompts/5", "- `build-2` (done): the roof. did build-2"),
    ] {
        let prompt = scratch.read(prompt);
        assert!(prompt.contains(words), "{prompt}");
    }
    let status = scratch.json(&["status", DEMO]);
    let nodes = status["run"]["nodes"].as_array().expect("nodes").iter();
    let names: Vec<_> = nodes.map(|node| node["node"].clone()).collect();
    assert_eq!(names, ["build-1", "build-2", "build"]);
    fine(
        &scratch,
        &["files", "check", "--strict", "demo/PROGRESS.yaml"],
    );
    fine(&scratch, &["journal", "verify"]);
}

/// A house whose walls wait for the ground, and whose roof waits for the walls.
fn house(agent: &str) -> Scratch {
    house_with("", agent)
}

fn house_with(more: &str, agent: &str) -> Scratch {
    let settings = "collections:\n  step:\n    - {id: ground, prompt: p}\n    - {id: walls, prompt: p, depends-on: [ground]}\n    - {id: roof, prompt: p, depends-on: [walls]}\n";
    let scratch = Scratch::new();
    scratch
        .sprint_with(
            &format!("{settings}{more}"),
            "  - id: house\n    for-each: step\n",
        )
        .agent(agent);
    scratch
}

#[test]
fn pieces_below_a_step_come_in_their_turn_and_the_file_stays_valid() {
    let agent = counting(&format!(
        "echo $PITON_ITEM >>order\ncase $n in 2) {TOO_LARGE} ;; 3) {PIECES} ;; *) echo \"did $PITON_ITEM\" ;; esac"
    ));
    let scratch = house(&agent);
    let limited = scratch.run(&["--max-iterations", "4"]);
    assert_eq!(roles(&scratch).len(), 4, "{}{}", limited.out, limited.err);
    let check = ["files", "check", "--strict", "demo/PROGRESS.yaml"];
    fine(&scratch, &check);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let order = scratch.read("order");
    let order: Vec<&str> = order.lines().collect();
    assert_eq!(
        order,
        [
            "house/ground/execute",
            "house/walls/execute",
            "house/walls/execute",
            "house/walls/execute-1",
            "house/walls/execute-2",
            "house/walls/execute",
            "house/roof/execute",
        ]
    );
    fine(&scratch, &check);
    fine(&scratch, &["journal", "verify"]);
}

#[test]
fn an_agent_that_cannot_split_leads_to_a_person() {
    let agent = counting(&format!(
        "case $n in 1) {TOO_LARGE} ;; *) echo 'it is one thing' ;; esac"
    ));
    let scratch = project(ONE, &agent);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 1, "{}{}", said.out, said.err);
    assert_eq!(
        node(&scratch, "build")["error"],
        "the context window is exceeded; it was to be split, and the agent named no pieces: it is one thing"
    );
}

#[test]
fn after_a_split_into_nothing_the_item_is_what_failed_and_it_is_not_split_again() {
    let agent = counting(&format!(
        "case $n in 1) {TOO_LARGE} ;; *) echo 'it is one thing' ;; esac"
    ));
    let scratch = project(ONE, &agent);
    assert_eq!(scratch.run(&[]).exit, 1);
    let told = scratch.json(&["recover", "build"]);
    assert_eq!(told["action"], "manual", "{told}");
    let rejected = told["rejected"].to_string();
    assert!(rejected.contains("it failed 1 of 3 times"), "{told}");
    assert!(rejected.contains("it was to be split"), "{told}");
}

#[test]
fn a_gate_that_failed_for_good_is_repaired_once_by_what_it_printed() {
    let gated = format!(
        "{ONE}    gate:\n      script: echo 'bind address already in use'; echo 'sum 1'; exit 1\n      on-fail:\n        prompt: Mend it.\n        max-retries: 1\n"
    );
    let scratch = project(&gated, "echo did it");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 1, "{}", said.err);
    // What the check printed says what to repair, and that is done once.
    assert_eq!(roles(&scratch), ["worker", "repair", "worker"]);
    assert!(said.err.contains("address already in use"), "{}", said.err);
    let node = node(&scratch, "build");
    assert_eq!(node["state"], "failed", "{node}");
    let error = node["error"].as_str().expect("why");
    assert!(!error.contains("already in use"), "{error}");
}

const NOT_NEEDED: &str = r#"echo '{"status":"failed","error":"this is no longer needed"}'"#;

#[test]
fn what_nobody_needs_is_left_out_with_the_reason() {
    let scratch = project(ONE, NOT_NEEDED);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let node = node(&scratch, "build");
    assert_eq!(node["state"], "skipped");
    let summary = node["summary"].as_str().expect("why");
    let why = "it can be left out: the failure says";
    assert!(summary.starts_with(why), "{summary}");
}

#[test]
fn what_another_waits_for_is_not_left_out() {
    let once = "retry: {maxAttempts: 1, backoffMs: [1], retryOn: [network]}\n";
    let scratch = house_with(once, NOT_NEEDED);
    assert_eq!(scratch.run(&[]).exit, 1);
    assert_eq!(node(&scratch, "house/ground/execute")["state"], "failed");
    let asked = scratch.json_list(&["inbox"]).to_string();
    assert!(asked.contains("house/walls waits for it"), "{asked}");
}

#[test]
fn whoever_is_asked_reads_what_was_considered() {
    let scratch = project(ONE, "echo 'the sum is wrong'; exit 1");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 1, "{}{}", said.out, said.err);
    let asked = scratch.json_list(&["inbox"]);
    let details = asked.as_array().expect("a list")[0]["details"].clone();
    insta::assert_snapshot!(details.as_str().expect("a text"), @"
    the sum is wrong (exit status 1)
    considered:
    - not skip: nothing says that it was done already
    - manual: it has failed 3 times in a row: a person should look at it
    ");
}

#[test]
fn a_merge_that_was_not_finished_is_a_case_for_repair() {
    let begins = format!("echo {} >.git/MERGE_HEAD", "0".repeat(40));
    let agent = counting(&format!(
        "case $n in 1) {begins}; echo 'the sum is wrong'; exit 1 ;; 2) rm .git/MERGE_HEAD ;; *) echo built ;; esac"
    ));
    let scratch = project(ONE, &agent);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert_eq!(roles(&scratch), ["worker", "repair", "worker"]);
    let repair = scratch.read("prompts/2");
    let fact = "- a merge was begun and is not finished";
    assert!(repair.contains(fact), "{repair}");
}

/// A list and a task whose only item is split: the file says that it is done,
/// and nothing else changes in it.
#[test]
fn pieces_stand_in_no_file_that_people_write() {
    let list = "{\"features\": [{\"id\": \"wall\", \"description\": \"Lay it\", \"steps\": [], \"passes\": false}]}\n";
    let task = "---\ntask: Build\ntest_command: test -d prompts\n---\n# Build\n\n## Success Criteria\n\n1. [ ] W-1: The wall stands\n";
    for (file, before, after) in [
        ("prd.json", list, list.replace("false", "true")),
        ("RALPH_TASK.md", task, task.replace("[ ]", "[x]")),
    ] {
        let scratch = Scratch::new();
        scratch.write(file, before).agent(&splitting());
        let said = scratch.piton(&[
            "run",
            file,
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
        ]);
        assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
        assert_eq!(roles(&scratch), SPLIT);
        assert_eq!(scratch.read(file), after);
        assert!(!said.err.contains("not in the file"), "{}", said.err);
        fine(&scratch, &["files", "check", "--strict", file]);
        fine(&scratch, &["files", "sync"]);
        assert_eq!(scratch.read(file), after);
    }
}

/// piton dies while the attempt ends that splits an item: the pieces are planned
/// once, all of them or none.
#[test]
fn a_death_at_the_end_of_a_split_plans_the_pieces_once() {
    let agent = format!(
        "if grep -q '^Split ' ; then {PIECES}\nelif [ $PITON_ITEM = build ] && ! [ -e roof ]; then {TOO_LARGE}\nelse [ $PITON_ITEM = build-2 ] && touch roof; echo \"did $PITON_ITEM\"; fi"
    );
    let at_the_end = [
        "run.agent-ended:2",
        "run.transcript-kept:2",
        "run.spool-removed:2",
    ];
    let points = at_the_end.map(str::to_owned);
    let commits = (3..=6).map(|nth| format!("run.committed:{nth}"));
    for point in points.into_iter().chain(commits) {
        let scratch = project(ONE, &agent);
        let mut dies = scratch.command(RUN);
        dies.env("PITON_FAILPOINT", &point);
        let died = dies.output().expect("piton starts");
        assert_eq!(died.status.code(), None, "{point}: it lives");
        fine(&scratch, &["journal", "verify"]);
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 0, "{point}: {}{}", said.out, said.err);
        let status = scratch.json(&["status", DEMO]);
        let nodes = status["run"]["nodes"].as_array().expect("nodes").iter();
        let names: Vec<_> = nodes.map(|node| node["node"].clone()).collect();
        assert_eq!(names, ["build-1", "build-2", "build"], "{point}");
        fine(&scratch, &["journal", "verify"]);
    }
}
