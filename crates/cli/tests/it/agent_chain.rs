//! A chain of agents: where Claude Code is at its limit, or its model refuses, codex goes on.

use serde_json::Value;

use crate::harness::{Running, Scratch};

/// What Claude Code printed at its limit, with the reset in 55 hours.
fn limit() -> String {
    let recorded = include_str!("../../../engine/tests/data/agents/claude/limit-five-hour.jsonl");
    let resets = jiff::Timestamp::now().as_second() + 55 * 3_600;
    recorded.replace("1795354903", &resets.to_string())
}

const REFUSAL: &str = include_str!("../../../engine/tests/data/agents/claude/refusal.json");
const DOES_IT: &str = include_str!("../../../engine/tests/data/agents/codex/tools.jsonl");

/// A project with both programs, each of which prints what is recorded of it.
fn chain(claude: &str, items: &str) -> Scratch {
    let scratch = Scratch::new();
    let folder = scratch.path();
    let programs = ["claude", "codex"].map(|name| {
        let waits = "while [ -e wait ]; do sleep 0.05; done";
        let body = format!("cat >/dev/null; echo {name} >>started; {waits}; cat {name}.said");
        scratch.script(&format!("{name}.sh"), &body);
        let program = folder.join(format!("{name}.sh"));
        format!(
            "[agents.{name}]\nprogram = {:?}\n",
            program.display().to_string()
        )
    });
    let config = format!(
        "[agent]\nuse = [\"claude\", \"codex\"]\n{}",
        programs.concat()
    );
    scratch
        .write("claude.said", claude)
        .write("codex.said", DOES_IT)
        .write(".piton/config.toml", &config)
        .sprint(items);
    scratch
}

const TWO: &str = "  - {id: keel, prompt: lay the keel}\n  - {id: hull, prompt: build the hull}\n";

const CLAUDE_THEN_CODEX: [[&str; 2]; 2] = [["claude", "interrupted"], ["codex", "completed"]];

/// Who worked on an item, and what came of it.
fn agents_of_attempts(scratch: &Scratch, item: &str) -> Vec<[String; 2]> {
    let shown = scratch.json(&["show", item]);
    let attempts = shown["attempts"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let both = |one: &Value| [text(&one["agent"]), text(&one["outcome"])];
    attempts.iter().map(both).collect()
}

#[test]
fn at_the_limit_of_claude_codex_finishes_in_seconds() {
    let scratch = chain(&limit(), TWO);
    let said = scratch.piton(&["run", "demo"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    // The other item did not try the limited program.
    assert_eq!(scratch.read("started"), "claude\ncodex\ncodex\n");
    let next = "> keel, attempt 2, by codex: lay the keel";
    assert!(said.err.contains(next), "{}", said.err);
    assert_eq!(agents_of_attempts(&scratch, "keel"), CLAUDE_THEN_CODEX);
    let report = scratch.shows(&["report"]);
    assert!(report.contains("| `claude` | 1 | "), "{report}");
    assert!(report.contains("| `codex` | 2 | "), "{report}");
}

#[test]
fn what_the_model_of_claude_refuses_codex_does_and_the_next_item_is_of_claude() {
    let scratch = chain(REFUSAL, TWO);
    let said = scratch.piton(&["run", "demo"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("started"), "claude\ncodex\nclaude\ncodex\n");
    assert_eq!(agents_of_attempts(&scratch, "keel"), CLAUDE_THEN_CODEX);
}

#[test]
fn a_run_that_is_killed_knows_the_limit_when_it_goes_on() {
    let scratch = chain(&limit(), TWO);
    // The limit stands on the disk before the next agent starts.
    scratch.write(
        "claude.sh",
        "#!/bin/sh\ncat >/dev/null; echo claude >>started; touch wait; cat claude.said\n",
    );
    let runner = Running::start(scratch.command(&["run", "demo"]));
    scratch.until("codex works", || {
        scratch.has("started") && scratch.read("started").contains("codex")
    });
    runner.kill();
    std::fs::remove_file(scratch.path().join("wait")).expect("it is there");
    let said = scratch.piton(&["run", "demo"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("started"), "claude\ncodex\ncodex\ncodex\n");
}

#[test]
fn a_dry_run_shows_the_command_of_each_program_of_a_chain() {
    let scratch = chain("", TWO);
    let dry = scratch.json(&["run", "demo", "--dry-run"]);
    let commands = dry["commands"].as_array().cloned().unwrap_or_default();
    let of = |nth: usize, key: &str| commands[nth][key].as_str().unwrap_or_default().to_owned();
    let expect = [("claude", "claude.sh -p "), ("codex", "codex.sh exec ")];
    for (nth, (agent, program)) in expect.iter().enumerate() {
        assert_eq!(of(nth, "source"), *agent, "{commands:?}");
        assert!(of(nth, "text").contains(program), "{commands:?}");
    }
    assert_eq!(commands.len(), 2);
}

#[test]
fn an_agent_of_a_chain_that_is_unknown_or_missing_is_named_before_anything_starts() {
    let scratch = chain("", TWO);
    let config = scratch.read(".piton/config.toml");
    let run_with = |text: &str| {
        scratch.write(".piton/config.toml", text);
        scratch.piton(&["run", "demo"])
    };
    let said = run_with(&config.replace("codex.sh", "gone.sh"));
    assert!(said.err.contains("gone.sh` is not found"), "{}", said.err);
    let said = run_with(&config.replace("\"codex\"]", "\"codx\"]"));
    let unknown = "agent.use: no agent is called `codx`";
    assert!(said.err.contains(unknown), "{}", said.err);
    assert!(!scratch.has("started"));
}
