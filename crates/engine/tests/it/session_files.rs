//! Session files of Claude Code and Codex: what they say that a program used
//! whose output does not say it. The files here have the form of real ones,
//! without all that piton does not read.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use piton_core::attempt::Usage;
use piton_engine::agents::SessionFiles;
use piton_engine::agents::program_table::find_program;
use piton_engine::agents::session_file::{RecordedUsage, SessionScope};
use serde_json::{Value, json};

const CLAUDE: &str = "11111111-1111-4111-8111-111111111111";
const CODEX: &str = "019f0000-0000-7000-8000-000000000001";

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn write(folder: &Path, path: &str, lines: &[Value]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(path, lines.join("\n") + "\n").expect("written");
}

/// A line for a part of an answer.
fn answer(id: &str, model: &str, output: u64, at: &str) -> Value {
    json!({
        "type": "assistant", "isSidechain": false, "timestamp": at,
        "message": {"id": id, "model": model, "role": "assistant", "content": [],
            "usage": {"input_tokens": 1200, "cache_creation_input_tokens": 100,
                "cache_read_input_tokens": 800, "output_tokens": output}},
    })
}

fn total(input: u64, output: u64) -> Value {
    json!({"input_tokens": input, "cached_input_tokens": 500, "cache_write_input_tokens": 0,
        "output_tokens": output, "reasoning_output_tokens": 11, "total_tokens": input + output})
}

/// A line that tells the total of a thread.
fn token_count(input: u64, output: u64, at: &str) -> Value {
    json!({"timestamp": at, "type": "event_msg", "payload": {"type": "token_count",
        "info": {"total_token_usage": total(input, output)}}})
}

fn token_record(input: u64, output: u64, at: &str) -> Value {
    json!({"timestamp": at, "type": "token_usage_record",
        "payload": {"thread_token_usage": total(input, output)}})
}

fn turn(model: &str) -> Value {
    json!({"timestamp": "2026-11-23T09:00:00Z", "type": "turn_context", "payload": {"model": model}})
}

fn session_files<'e>(program: &str, variable: impl Fn(&str) -> Option<&'e str>) -> SessionFiles {
    let program = find_program(program).expect("it is known");
    program.session_files(variable).expect("a folder")
}

fn of_claude(home: &Path, part: &SessionScope) -> RecordedUsage {
    let home = home.to_str().expect("text");
    let variable = |name: &str| (name == "CLAUDE_CONFIG_DIR").then_some(home);
    let files = session_files("claude", variable);
    files.open(CLAUDE, part).expect("an id").finish()
}

fn of_codex(home: &Path, part: &SessionScope) -> RecordedUsage {
    let home = home.to_str().expect("text");
    let variable = |name: &str| (name == "CODEX_HOME").then_some(home);
    let files = session_files("codex", variable);
    files.open(CODEX, part).expect("an id").finish()
}

fn at(time: &str) -> Option<Timestamp> {
    Some(time.parse().expect("a time"))
}

/// Input, output, from cache and to cache.
#[track_caller]
fn check(usage: &Usage, expect: [u64; 4]) {
    let kinds = [
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    ];
    assert_eq!(kinds, expect.map(Some));
}

const CLAUDE_FILE: &str = "projects/-home-ada-harbour/11111111-1111-4111-8111-111111111111.jsonl";
const CODEX_FILE: &str =
    "sessions/2026/11/23/rollout-2026-11-23T09-00-00-019f0000-0000-7000-8000-000000000001.jsonl";

#[test]
fn each_answer_of_claude_code_counts_once_with_its_last_numbers() {
    let home = folder();
    let lines = [
        json!({"type": "queue-operation", "operation": "enqueue"}),
        answer("msg_1", "opus", 1, "2026-11-23T09:00:01Z"),
        answer("msg_1", "opus", 42, "2026-11-23T09:00:02Z"),
        answer("msg_2", "haiku", 7, "2026-11-23T09:00:03Z"),
        answer("msg_3", "<synthetic>", 0, "2026-11-23T09:00:04Z"),
        json!({"type": "a-kind-of-next-year", "message": {"usage": "much", "role": "assistant"}}),
    ];
    write(home.path(), CLAUDE_FILE, &lines);
    let recorded = of_claude(home.path(), &SessionScope::default());
    check(&recorded.usage, [2400, 49, 1600, 200]);
    check(&recorded.models["opus"], [1200, 42, 800, 100]);
    check(&recorded.models["haiku"], [1200, 7, 800, 100]);
    assert_eq!(recorded.models.len(), 2);
}

#[test]
fn the_agents_that_an_agent_lets_work_are_counted_as_well() {
    let home = folder();
    let own = answer("msg_1", "opus", 42, "2026-11-23T09:00:01Z");
    write(home.path(), CLAUDE_FILE, std::slice::from_ref(&own));
    let below = CLAUDE_FILE.strip_suffix(".jsonl").expect("its end");
    let others = [own, answer("msg_2", "haiku", 7, "2026-11-23T09:00:03Z")];
    write(
        home.path(),
        &format!("{below}/subagents/agent-a1.jsonl"),
        &others,
    );
    write(
        home.path(),
        &format!("{below}/subagents/agent-a1.meta.json"),
        &others,
    );
    let recorded = of_claude(home.path(), &SessionScope::default());
    check(&recorded.usage, [2400, 49, 1600, 200]);
}

#[test]
fn of_a_conversation_that_goes_on_only_what_is_new_counts() {
    let home = folder();
    let lines = [
        answer("msg_1", "opus", 42, "2026-11-23T09:00:01Z"),
        answer("msg_2", "opus", 7, "2026-11-23T10:00:00Z"),
    ];
    write(home.path(), CLAUDE_FILE, &lines);
    let part = SessionScope {
        since: at("2026-11-23T09:59:59Z"),
        before: None,
    };
    check(&of_claude(home.path(), &part).usage, [1200, 7, 800, 100]);

    let lines = [
        turn("gpt-5-codex"),
        token_count(1500, 77, "2026-11-23T09:00:01Z"),
        token_count(4500, 231, "2026-11-23T10:00:00Z"),
    ];
    write(home.path(), CODEX_FILE, &lines);
    let recorded = of_codex(home.path(), &part);
    // Both totals have the same 500 tokens of the cache in them.
    check(&recorded.usage, [3000, 154, 0, 0]);
    check(&recorded.models["gpt-5-codex"], [3000, 154, 0, 0]);
    let total = recorded.total.expect("a total");
    assert_eq!(total.input_tokens, Some(4500));
}

#[test]
fn the_last_total_of_codex_counts_with_its_model() {
    let home = folder();
    let lines = [
        json!({"type": "session_meta", "payload": {"id": CODEX, "base_instructions": "token_count"}}),
        turn("gpt-5-codex"),
        token_record(1500, 77, "2026-11-23T09:00:01Z"),
        token_count(1500, 77, "2026-11-23T09:00:02Z"),
        // Killed while a command ran: the count of this answer never came.
        token_record(4500, 231, "2026-11-23T09:00:03Z"),
    ];
    write(home.path(), CODEX_FILE, &lines);
    let recorded = of_codex(home.path(), &SessionScope::default());
    check(&recorded.usage, [4000, 231, 500, 0]);
    assert_eq!(recorded.usage.budget_tokens(), Some(4731));
    check(&recorded.models["gpt-5-codex"], [4000, 231, 500, 0]);
}

#[test]
fn a_line_that_is_cut_off_or_too_long_hides_no_other() {
    let home = folder();
    let first = answer("msg_1", "opus", 42, "2026-11-23T09:00:01Z");
    let long = json!({"type": "assistant", "usage": "x".repeat(17 << 20)});
    let cut = answer("msg_3", "opus", 42, "2026-11-23T09:00:01Z").to_string();
    let text = format!(
        "{first}\n{long}\n\u{fffd}{{\n{first}\n{}",
        &cut[..cut.len() / 2]
    );
    write(home.path(), CLAUDE_FILE, &[]);
    fs::write(home.path().join(CLAUDE_FILE), text).expect("written");
    let recorded = of_claude(home.path(), &SessionScope::default());
    check(&recorded.usage, [1200, 42, 800, 100]);
}

#[test]
fn what_is_added_while_an_agent_works_is_seen_at_the_next_look() {
    let home = folder();
    let text = home.path().to_str().expect("text");
    let files = session_files("codex", |name| (name == "CODEX_HOME").then_some(text));
    let mut reader = files.open(CODEX, &SessionScope::default()).expect("an id");
    assert!(reader.poll_usage().usage.is_unknown());
    let first = token_count(1500, 77, "2026-11-23T09:00:01Z");
    write(home.path(), CODEX_FILE, std::slice::from_ref(&first));
    check(&reader.poll_usage().usage, [1000, 77, 500, 0]);
    let second = token_count(3000, 154, "2026-11-23T09:00:02Z");
    write(home.path(), CODEX_FILE, &[first, second]);
    check(&reader.poll_usage().usage, [2500, 154, 500, 0]);
    check(&reader.finish().usage, [2500, 154, 500, 0]);
}

#[test]
fn without_a_file_nothing_is_known_and_never_0() {
    let home = folder();
    assert_eq!(
        of_claude(home.path(), &SessionScope::default()),
        RecordedUsage::default()
    );
    assert_eq!(
        of_codex(home.path(), &SessionScope::default()),
        RecordedUsage::default()
    );
    // A folder in place of the file.
    fs::create_dir_all(home.path().join(CLAUDE_FILE)).expect("a folder");
    assert!(
        of_claude(home.path(), &SessionScope::default())
            .usage
            .is_unknown()
    );
}

#[test]
fn the_variables_say_where_and_no_id_leaves_the_folder() {
    let (home, own) = (folder(), folder());
    let at = "2026-11-23T09:00:01Z";
    let answer = [answer("msg_1", "opus", 42, at)];
    write(home.path(), &format!(".claude/{CLAUDE_FILE}"), &answer);
    let codex_file = format!(".codex/{CODEX_FILE}");
    write(home.path(), &codex_file, &[token_count(1500, 77, at)]);
    write(own.path(), CODEX_FILE, &[token_count(3000, 154, at)]);
    let home = home.path().to_str().expect("text");
    let own = own.path().to_str().expect("text");
    let of_home = |name: &str| (name == "HOME").then_some(home);
    let of_own = |name: &str| match name {
        "CODEX_HOME" => Some(own),
        other => of_home(other),
    };
    let output = |files: &SessionFiles, id: &str| {
        let reader = files.open(id, &SessionScope::default()).expect("an id");
        reader.finish().usage.output_tokens
    };
    let codex = session_files("codex", of_home);
    assert_eq!(output(&codex, CODEX), Some(77));
    assert_eq!(output(&session_files("codex", of_own), CODEX), Some(154));
    assert_eq!(output(&session_files("claude", of_own), CLAUDE), Some(42));
    let claude = find_program("claude").expect("it is known");
    assert!(claude.session_files(|_| None).is_none());
    for id in ["../x", "", "..", "a/b", "-x"] {
        assert!(codex.open(id, &SessionScope::default()).is_none(), "{id}");
    }
}
