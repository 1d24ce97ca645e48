//! What the last words of an agent are worth: exit status 0 and a sentence
//! complete nothing, and no file calls completed what a check refused.

use serde_json::{Value, json};

use crate::harness::{DEMO, Running, Scratch};

/// Last words with exit status 0, none of which says that the work is done.
const NO_VERDICTS: [&str; 8] = [
    "",
    "I could not do it, the tests fail",
    "Invalid API key",
    r#"{"status": "failed""#,
    r#"{"status": "needs_human", "human_needed": {"reason": "Which database?"}}"#,
    "Which one would you like me to take?",
    "Two background agents are running. I will report back when they finish.",
    "Approaching your usage limit, so I stop here. Remaining: parser, tests",
];

const ONE: &str = "  - id: build\n    prompt: build it\n";

fn list(scratch: &Scratch) -> &Scratch {
    scratch.write(
        "prd.json",
        r#"{"userStories": [{"id": "A", "title": "first", "passes": false}]}"#,
    )
}

/// The only node of a run.
fn node(scratch: &Scratch, run: &str) -> Value {
    scratch.json(&["status", run])["run"]["nodes"][0].clone()
}

/// No attempt of the project counts as completed, and the node is not done.
#[track_caller]
fn nothing_is_completed(scratch: &Scratch, run: &str, words: &str) {
    assert_ne!(node(scratch, run)["state"], "done", "{words}");
    let events = scratch.piton(&["journal", "export"]).out;
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).expect("an event");
        let body = &event["body"];
        // What an unchecked attempt says of itself is not its outcome.
        let is_end = event["kind"] == "attempt-judged"
            || event["kind"] == "attempt-ended" && body["unchecked"] != true;
        let outcome = body["report"].get("outcome").unwrap_or(&body["outcome"]);
        assert!(!is_end || outcome != "completed", "{words}: {event}");
    }
}

#[test]
fn last_words_that_are_no_verdict_complete_nothing() {
    for words in NO_VERDICTS {
        let scratch = Scratch::new();
        let agent = format!("cat >/dev/null; touch a; cat <<'END'\n{words}\nEND");
        list(&scratch).agent(&agent);
        let said = scratch.piton(&["run", "prd.json", "--agent", "./agent.sh"]);
        assert_ne!(said.exit, 0, "{words}: {}", said.err);
        nothing_is_completed(&scratch, "prd", words);
    }
}

/// A project whose agent is Claude Code, which prints this result.
fn claude(result: &Value) -> Scratch {
    let scratch = Scratch::new();
    let begins =
        json!({"type": "system", "subtype": "init", "session_id": "s", "cwd": "/home/dev/project"});
    let program = scratch.path().join("fake.sh").display().to_string();
    scratch
        .write("said", &format!("{begins}\n{result}\n"))
        .script("fake.sh", "cat >/dev/null; touch a; cat said")
        .sprint_with("retry: {maxAttempts: 0}\n", ONE)
        .write(
            ".piton/config.toml",
            &format!("[agent]\nuse = \"claude\"\n[agents.claude]\nprogram = {program:?}\n"),
        );
    scratch
}

fn success(text: &str, more: &Value) -> Value {
    let mut result = json!({"type": "result", "subtype": "success", "is_error": false,
        "session_id": "s", "num_turns": 3, "result": text});
    let more = more.as_object().cloned().unwrap_or_default();
    result.as_object_mut().expect("a mapping").extend(more);
    result
}

#[test]
fn a_program_that_succeeds_without_a_verdict_has_completed_nothing() {
    for words in NO_VERDICTS {
        let scratch = claude(&success(words, &json!({})));
        let run = Running::start(scratch.command(&["run", "demo"]));
        // One that ran out of its window is waited for.
        scratch.until("an attempt is over", || {
            let kinds = scratch.event_kinds();
            kinds.iter().any(|kind| kind == "attempt-ended")
        });
        run.signal(rustix::process::Signal::TERM);
        let said = run.end();
        assert_ne!(said.exit, 0, "{words}: {}", said.err);
        nothing_is_completed(&scratch, DEMO, words);
    }
}

#[test]
fn a_hook_that_refuses_a_prompt_or_stops_a_session_makes_the_item_wait() {
    let blocked = "UserPromptSubmit operation blocked by hook:\n[./check]: no prompts on Fridays\n\nOriginal prompt: x";
    let asked_nobody = json!({"num_turns": 0, "modelUsage": {}, "duration_api_ms": 0});
    let stopped = json!({"terminal_reason": "hook_stopped"});
    for (words, more, shown) in [
        (blocked, asked_nobody, "no prompts on Fridays"),
        ("Operation stopped by hook: enough", stopped, "enough"),
    ] {
        let scratch = claude(&success(words, &more));
        let said = scratch.piton(&["run", "demo"]);
        assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
        nothing_is_completed(&scratch, DEMO, words);
        assert_eq!(node(&scratch, DEMO)["state"], "waiting");
        let inbox = scratch.piton(&["inbox"]).out;
        assert!(inbox.contains(shown), "{inbox}");
        let started = scratch.event_kinds();
        let started = started.iter().filter(|kind| *kind == "attempt-started");
        assert_eq!(started.count(), 1, "it is not asked or tried again");
    }
}

#[test]
fn the_old_keys_of_claims_believe_no_sentence_either() {
    for config in [
        "[claims]\nworth = \"ask\"\nchange = true\n",
        "[claims]\nchange = true\n",
    ] {
        let scratch = Scratch::new();
        list(&scratch)
            .agent("cat >/dev/null; touch a; echo tests still fail")
            .write(".piton/config.toml", config);
        let said = scratch.piton(&["run", "prd.json", "--agent", "./agent.sh"]);
        assert_eq!(said.exit, 7, "{}{}", said.out, said.err);
        nothing_is_completed(&scratch, "prd", config);
    }
}

#[test]
fn a_change_that_the_old_key_asks_for_is_asked_for_in_every_kind_of_plan() {
    let scratch = Scratch::new();
    scratch
        .sprint(ONE)
        .agent(r#"cat >/dev/null; echo '{"status": "completed", "summary": "did it"}'"#)
        .write(".piton/config.toml", "[claims]\nchange = true\n");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    assert!(said.err.contains("word = \"ask\""), "{}", said.err);
    nothing_is_completed(&scratch, DEMO, "nothing changed");
}

#[test]
fn what_a_check_refused_is_completed_in_no_file() {
    let scratch = Scratch::new();
    let gate = "    gate: {script: exit 1, on-fail: {prompt: mend it, max-retries: 1}}\n";
    scratch
        .sprint(&format!("{ONE}{gate}"))
        .agent(r#"cat >/dev/null; touch a; echo '{"status": "completed", "summary": "built"}'"#)
        .write(".ralph/progress.md", "# Progress Log\n\n---\n\n## Session History\n\n")
        .write(
            ".ralph/progress.json",
            r#"{"version": "1.0", "created_at": "2026-01-01T00:00:00Z", "entries": []}"#,
        )
        .write(
            ".agent-os/progress/progress.json",
            r#"{"version": "1.0", "project": "demo", "entries": [], "metadata": {"total_entries": 0, "oldest_entry": null, "last_updated": "2026-01-10T10:00:00Z", "archived_through": null}}"#,
        );
    let said = scratch.piton(&["init"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 1, "{}{}", said.out, said.err);
    nothing_is_completed(&scratch, DEMO, "the check failed");
    let page = scratch.read(".ralph/progress.md");
    assert!(page.contains("build") && !page.contains("[x]"), "{page}");
    let attempts: Value =
        serde_json::from_str(&scratch.read(".ralph/progress.json")).expect("JSON");
    let entries = attempts["entries"].as_array().expect("entries");
    assert!(!entries.is_empty(), "{attempts}");
    assert!(
        entries.iter().all(|entry| entry["status"] != "completed"),
        "{attempts}"
    );
    let log = scratch.read(".agent-os/progress/progress.json");
    assert!(
        log.contains("session_started") && !log.contains("task_completed"),
        "{log}"
    );
    let recent = scratch.piton(&["recent"]).out;
    assert!(recent.contains("0 tasks completed"), "{recent}");
    assert!(!recent.contains("task_completed"), "{recent}");
}
