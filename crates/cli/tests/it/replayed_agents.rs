//! Known programs, each with a stand-in that prints what the real program
//! printed: the recordings of the engine's tests, in a whole run.

use serde_json::Value;

use crate::harness::{DEMO, Scratch};

const STEPS: &str = "collections:\n  step:\n    - {id: one, prompt: Build the harbour.}\n    - {id: two, prompt: Build the bridge.}\n";
const PHASES: &str = "  - id: steps\n    for-each: step\n";

/// A run of two steps, in which each attempt prints the recording `tools`: two
/// calls, and a verdict.
#[track_caller]
fn check(program: &str, conversation: &str) {
    let scratch = Scratch::new();
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/data/agents");
    let recording = format!("{recordings}/{program}/tools.jsonl");
    let script = scratch.path().join("stand-in.sh");
    scratch
        .script("stand-in.sh", &format!("cat >/dev/null; cat '{recording}'"))
        .sprint_with(STEPS, PHASES)
        .write(
            ".piton/config.toml",
            &format!("[agent]\nuse = \"{program}\"\n[agents.{program}]\nprogram = {script:?}\n"),
        );
    let said = scratch.piton(&["init"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let said = scratch.piton(&["run", "demo"]);
    assert_eq!(said.exit, 0, "{program}: {}{}", said.out, said.err);
    let status = scratch.json(&["status", DEMO]);
    let nodes = status["run"]["nodes"].as_array().expect("nodes").iter();
    let done = nodes.filter(|node| node["summary"] == "did what was asked");
    assert_eq!(done.count(), 2, "{status}");
    let events = scratch.piton(&["journal", "export"]).out;
    let events = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let ended: Vec<Value> = events
        .filter(|event| event["kind"] == "attempt-ended")
        .collect();
    assert_eq!(ended.len(), 2, "{ended:?}");
    for event in ended {
        let report = &event["body"]["report"];
        assert_eq!(report["outcome"], "completed", "{report}");
        assert_eq!(report["activity"]["calls"], 2, "{report}");
        assert_eq!(report["conversation"]["id"], conversation, "{report}");
        let tokens = &report["usage"]["input_tokens"];
        // It prints none.
        let is_known = program != "copilot";
        assert_eq!(tokens.as_u64(), is_known.then_some(3_600), "{report}");
    }
}

#[test]
fn qwen_code_runs_two_steps() {
    check("qwen", "3a13b581-c957-4c6e-ad15-350440449123");
}

#[test]
fn opencode_runs_two_steps() {
    check("opencode", "ses_dd968a406ffeQ0UsA8wQ1SsdI3");
}

#[test]
fn copilot_runs_two_steps() {
    check("copilot", "934c43be-57a3-49d6-a0aa-0355c2b0c20a");
}
