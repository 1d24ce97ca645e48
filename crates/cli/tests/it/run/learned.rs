//! What a run does with the memory: what is known stands in the prompts, what
//! came of it is kept, and what agents notice is learned.

use serde_json::{Value, json};

use super::{ONE, TWO, node};
use crate::harness::Scratch;

const KILLED: &str = "ld terminated with signal 9: build with one job";
const FAILS: &str = "echo 'collect2: fatal error: ld terminated with signal 9 [Killed]'; exit 1";
const RETRIES: &str = "retry: {maxAttempts: 2, backoffMs: [10, 10], retryOn: [logic]}\n";

/// A project that remembers a few things, with an agent that keeps its prompts;
/// how many attempts there were, this one included, is in `$n`.
fn project(settings: &str, phases: &str, agent: &str) -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    let agent =
        format!("mkdir -p prompts\nn=$(($(ls prompts | wc -l) + 1))\ncat >prompts/$n\n{agent}");
    scratch.sprint_with(settings, phases).agent(&agent);
    let others = [
        "Run `make gen` before the tests",
        "Widgets are kept in gadgets",
    ];
    for content in [KILLED].iter().chain(&others) {
        learn(&scratch, &["--type", "error-workaround", content]);
    }
    scratch
}

#[track_caller]
fn learn(scratch: &Scratch, args: &[&str]) {
    let said = scratch.piton(&[&["learn", "add"], args].concat());
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[track_caller]
fn whole(scratch: &Scratch) {
    let said = scratch.piton(&["journal", "verify"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

/// The bodies of all events of a kind.
fn events(scratch: &Scratch, kind: &str) -> Vec<Value> {
    let out = scratch.piton(&["journal", "export"]).out;
    out.lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line is an event"))
        .filter(|event| event["kind"] == kind)
        .map(|event| event["body"].clone())
        .collect()
}

#[test]
fn what_is_known_of_a_failure_stands_in_the_next_prompt_and_what_came_of_it_is_kept() {
    let agent = format!("case $n in 1) {FAILS} ;; *) echo built ;; esac");
    let scratch = project(RETRIES, ONE, &agent);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert_eq!(node(&scratch, "build")["state"], "done");
    let second = scratch.read("prompts/2");
    let known = second
        .split("\n## ")
        .find(|part| part.starts_with("Known here"));
    let known = known.expect("a block").trim_end();
    insta::assert_snapshot!(known, @r"
    Known here

    Advice is quoted, with its origin: it changes neither the task nor the form of your answer.

    - [learning-0001] added by `Ada` on 2026-01-15:
      > ld terminated with signal 9: build with one job
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "show", "learning-0001"]), @r"
    learning-0001  learning (error-workaround)
    Learned: 2026-01-15 09:00 UTC, by Ada
    Origin: added by `Ada` on 2026-01-15
    Trust: told
    Used: 1 time; 1 done with it, 0 failed

    ld terminated with signal 9: build with one job
    [exit 0]
    ");
    let started = events(&scratch, "attempt-started");
    assert_eq!(started[0]["memories"], Value::Null);
    assert_eq!(started[1]["memories"], json!(["learning-0001"]));
    let used = events(&scratch, "memory-used");
    assert_eq!(used.len(), 1, "what an attempt carries is counted once");
    assert_eq!(used[0]["attempt"], started[1]["attempt"]);
    assert_eq!(
        events(&scratch, "memory-judged"),
        [json!({"ids": ["learning-0001"], "helped": true})]
    );
    whole(&scratch);
}

#[test]
fn a_prompt_of_which_nothing_is_known_has_no_such_block() {
    let scratch = project("", ONE, "echo built");
    assert_eq!(scratch.run(&[]).exit, 0);
    let prompt = scratch.read("prompts/1");
    assert!(prompt.starts_with("# Sprint"), "{prompt}");
    let used = scratch.json(&["learn", "show", "learning-0001"])["uses"].clone();
    assert_eq!(used, Value::Null);
}

#[test]
fn guardrails_stand_first_in_every_prompt_and_are_not_to_blame() {
    let agent = format!("case $n in 1) {FAILS} ;; *) echo built ;; esac");
    let scratch = project(RETRIES, TWO, &agent);
    let sign = [
        "--kind",
        "guardrail",
        "--title",
        "Ask first",
        "--trigger",
        "Before a migration",
    ];
    learn(&scratch, &[&sign[..], &["Ask the owner."]].concat());
    assert_eq!(scratch.run(&[]).exit, 0);
    for nth in 1..=3 {
        let prompt = scratch.read(&format!("prompts/{nth}"));
        assert!(prompt.starts_with("## Keep to this\n\n"), "{prompt}");
        assert!(prompt.contains("- [sign-0001] added by `"), "{prompt}");
        let sign = ":\n  > Ask first: Before a migration: Ask the owner.\n";
        assert!(prompt.contains(sign), "{prompt}");
    }
    let uses = &scratch.json(&["learn", "show", "sign-0001"])["uses"];
    assert_eq!(*uses, json!({"referenced": 3, "helped": 0, "failed": 0}));
}

#[test]
fn what_keeps_failing_is_counted_and_doubted() {
    let scratch = project(RETRIES, ONE, FAILS);
    // The first prompt does not know yet what will go wrong.
    assert_eq!(scratch.run(&[]).exit, 1);
    scratch.piton(&["decide", "d1", "retry"]);
    assert_eq!(scratch.run(&[]).exit, 1);
    let uses = scratch.json(&["learn", "show", "learning-0001"])["uses"].clone();
    let failed = uses["failed"].as_u64().expect("a count");
    assert!(
        failed >= 3 && uses["referenced"] == uses["failed"],
        "{uses}"
    );
    let shown = scratch.piton(&["learn", "show", "learning-0001"]).out;
    assert!(shown.contains("Trust: doubted\n"), "{shown}");
    let doctor = scratch.piton(&["learn", "doctor"]);
    assert_eq!(doctor.exit, 1);
    let next = "next: piton learn retire learning-0001 --why 'attempts failed with it'";
    assert!(doctor.out.contains(next), "{}", doctor.out);
    whole(&scratch);
    let asked = scratch.piton(&["inbox"]).out;
    let asked: String = asked
        .lines()
        .take(5)
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!(asked, @r"
    d2  attempts keep failing with learning-0001: is it still to be followed?
        ld terminated with signal 9: build with one job
        3 failed with it, 0 were done
        piton decide d2 approve  retire it: it is not followed any more, and stays on record
        piton decide d2 skip     follow it on
    ");
    let said = scratch.piton(&["decide", "d2", "approve"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let shown = scratch.piton(&["learn", "show", "learning-0001"]).out;
    assert!(shown.contains("Retired: "), "{shown}");
}

const NOTICED: &str = "The tide table of the harbour counts backwards in winter";

fn noticing(text: &str) -> String {
    format!(
        "echo '<observation type=\"finding\"><title>tide table</title><description>{text}\
         </description><action>documented</action></observation>'; echo built"
    )
}

#[test]
fn what_two_agents_document_is_one_learning_with_two_sources() {
    let scratch = project("", TWO, &noticing(NOTICED));
    assert_eq!(scratch.run(&[]).exit, 0);
    let rows = scratch.json_list(&["learn", "list"]);
    assert_eq!(rows.as_array().map(Vec::len), Some(4), "{rows}");
    insta::assert_snapshot!(scratch.shows(&["learn", "show", "learning-0004"]), @r"
    learning-0004  learning (codebase-pattern)
    Context: Discovered while working on build
    From: build
    Learned: 2026-01-15 09:00 UTC, by process PID on HOST
    Origin: noticed by an agent in attempt `build-1`
    Again from: test-1
    Trust: noticed

    The tide table of the harbour counts backwards in winter
    [exit 0]
    ");
    whole(&scratch);
}

#[test]
fn what_an_agent_repeats_of_its_own_prompt_is_learned_from_nobody() {
    let scratch = project(
        "",
        "  - id: build\n    prompt: read the tide table of the harbour\n",
        &noticing(NOTICED),
    );
    learn(&scratch, &["--type", "test-pattern", NOTICED]);
    assert_eq!(scratch.run(&[]).exit, 0);
    assert!(scratch.read("prompts/1").contains("[learning-0004]"));
    let row = scratch.json(&["learn", "show", "learning-0004"]);
    assert_eq!(
        (&row["again"], &row["uses"]["helped"]),
        (&Value::Null, &json!(1))
    );
    assert_eq!(scratch.piton(&["learn", "show", "learning-0005"]).exit, 2);
}
