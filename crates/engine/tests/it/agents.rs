//! The adapters of real programs, on what those programs printed.
//!
//! The recordings stand in `tests/data/agents`, with `expected.json` that says
//! what each comes to: how its program ended (`outcome`), and what the agent
//! says came of its work where the program succeeded (`verdict`). More of them, in a folder of the same layout, are read
//! where `PITON_RECORDINGS` names one.

mod launching;
mod reading;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use piton_core::attempt::{Outcome, Report, Usage};
use piton_core::call::CallKind;
use piton_core::trouble::Trouble;
use piton_engine::agents::answer::ProgramEnd;
use piton_engine::agents::lines::{BoundedLine, LineSplitter};
use piton_engine::agents::program_table::{build_agent, find_program};
use piton_engine::agents::{Agent, OutputEvent, outcome};
use piton_engine::config::{AgentTable, VerdictSource};
use serde_json::Value;

const NOW: &str = "2026-11-22T13:38:00Z";

fn now() -> Timestamp {
    NOW.parse().expect("a time")
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/agents")
}

fn agent(name: &str) -> Box<dyn Agent> {
    let program = find_program(name).expect("it is known");
    build_agent(program, AgentTable::default(), TimeZone::UTC)
}

fn ended(code: Option<i32>) -> ProgramEnd {
    ProgramEnd {
        code,
        ..ProgramEnd::default()
    }
}

/// What was read of an attempt.
struct Read {
    seen: Vec<OutputEvent>,
    report: Report,
    denied: u32,
}

impl Read {
    fn calls(&self, is_counted: impl Fn(CallKind) -> bool) -> usize {
        let called = self.seen.iter().filter(|seen| match seen {
            OutputEvent::Called(call) => is_counted(call.kind),
            OutputEvent::Conversation(_)
            | OutputEvent::Returned(_)
            | OutputEvent::Said(_)
            | OutputEvent::Used(_)
            | OutputEvent::Refused(_)
            | OutputEvent::Unknown => false,
        });
        called.count()
    }
}

fn read(agent: &dyn Agent, output: &[u8], ended: &ProgramEnd, before: Option<&Usage>) -> Read {
    read_at(now(), agent, output, ended, before)
}

fn read_at(
    now: Timestamp,
    agent: &dyn Agent,
    output: &[u8],
    ended: &ProgramEnd,
    before: Option<&Usage>,
) -> Read {
    let mut reader = agent.output_reader(before).expect("it reads");
    let mut seen = Vec::new();
    let mut lines = LineSplitter::new();
    let mut each = |line: BoundedLine<'_>| match line {
        BoundedLine::Text(text) => seen.extend(reader.parse_line(&text, now)),
        BoundedLine::TooLong(_) => seen.push(OutputEvent::Unknown),
    };
    lines.push(output, &mut each);
    lines.finish(&mut each);
    let said = reader.finish(ended);
    let denied = said.denied;
    Read {
        seen,
        report: outcome::report_of_result(said, ended, VerdictSource::Form),
        denied,
    }
}

/// Whether piton's outcome is what is expected. Where the service or the
/// settings turned the agent away, nothing was tried, and piton says so.
fn fits(expected: &str, report: &Report, signal: Option<i32>) -> bool {
    let turned_away = matches!(
        report.program.trouble,
        Some(Trouble::RateLimit | Trouble::Auth | Trouble::Setup | Trouble::Session)
    );
    let was_killed = signal == Some(9) && report.program.trouble == Some(Trouble::Signal);
    let also = if turned_away { "failed" } else { "interrupted" };
    let may_differ = match report.outcome {
        Outcome::Interrupted => turned_away,
        Outcome::Failed => was_killed,
        Outcome::Completed | Outcome::Blocked | Outcome::Partial | Outcome::NeedsHuman => false,
    };
    report.outcome.as_str() == expected || (may_differ && also == expected)
}

/// The outcome that is expected of a recording. Where its program succeeded,
/// that is the verdict; recordings of others do not say whether there is one.
fn outcome_expected<'e>(expect: &'e Value, report: &Report) -> &'e str {
    let of_program = expect["outcome"].as_str().expect("an outcome");
    let missing = [Some(Trouble::NoVerdict), Some(Trouble::Unfinished)];
    let is_missing = missing.contains(&report.program.trouble);
    match expect["verdict"].as_str() {
        Some("none") => {
            assert!(is_missing, "a verdict was found: {report:?}");
            "failed"
        }
        Some(verdict) => verdict,
        None if is_missing && of_program == "completed" => "failed",
        None => of_program,
    }
}

fn number(value: &Value) -> Option<i32> {
    value
        .as_i64()
        .map(|n| n.try_into().expect("a small number"))
}

/// Compares the recordings of a folder with what is expected of them.
fn compare(folder: &Path) -> usize {
    let text = std::fs::read_to_string(folder.join("expected.json")).expect("expected.json");
    let expected: Value = serde_json::from_str(&text).expect("JSON");
    let expected = expected.as_object().expect("an object");
    // Codex and Qwen Code count by conversation: what one used before is subtracted.
    let mut totals: HashMap<String, Usage> = HashMap::new();
    for (name, expect) in expected {
        let (program, _) = name.split_once('/').expect("program/recording");
        let mut output = std::fs::read(folder.join(name)).expect(name);
        let key = if program == "qwen" {
            "session_id"
        } else {
            "thread_id"
        };
        let id = String::from_utf8_lossy(&output)
            .split_once(&format!("\"{key}\":\""))
            .and_then(|(_, rest)| Some(rest.split_once('"')?.0.to_owned()));
        if let Some(stderr) = expect["stderr"].as_str() {
            output.push(b'\n');
            output.extend_from_slice(stderr.as_bytes());
        }
        let before = id.as_ref().and_then(|id| totals.get(id));
        let ended = ProgramEnd {
            code: number(&expect["rc"]),
            signal: number(&expect["signal"]),
            stopped: None,
        };
        let at = expect["recorded_at"].as_str();
        let at = at.map_or_else(now, |at| at.parse().expect("a time"));
        let got = read_at(at, agent(program).as_ref(), &output, &ended, before);
        check(name, expect, &got, &ended, at);
        if let (Some(id), Some(total)) = (
            id,
            got.report
                .program
                .conversation
                .and_then(|goes_on| goes_on.total),
        ) {
            totals.insert(id, total);
        }
    }
    expected.len()
}

/// What a person reads, where the recording says it.
fn check_words(name: &str, expect: &Value, report: &Report) {
    if let Some(reason) = expect["human"].as_str() {
        let human = report.human.as_ref().expect(name);
        assert_eq!(human.reason, reason, "{name}");
    }
    let error = report.error.as_deref().unwrap_or_default();
    let is_pending = error.contains("work in the background was pending");
    assert_eq!(is_pending, expect["pending"].is_string(), "{name}: {error}");
    if let Some(pending) = expect["pending"].as_str() {
        assert!(error.ends_with(pending), "{name}: {error}");
    }
}

/// The tokens of a kind, of what a recording's program printed: Codex counts
/// those of a cache as input as well.
fn tokens_expected(name: &str, expect: &Value, key: &str) -> Option<u64> {
    let printed = |key: &str| expect["usage"][key].as_u64();
    let cached = [printed("cache_read"), printed("cache_write")];
    let counts_twice = name.starts_with("codex/") && key == "input";
    let twice = cached.into_iter().flatten().filter(|_| counts_twice).sum();
    printed(key).map(|tokens: u64| tokens.saturating_sub(twice))
}

fn check(name: &str, expect: &Value, got: &Read, ended: &ProgramEnd, at: Timestamp) {
    let report = &got.report;
    let outcome = outcome_expected(expect, report);
    assert!(
        fits(outcome, report, ended.signal),
        "{name}: {:?}, not {outcome}: {:?}",
        report.outcome,
        report.error
    );
    // Finer than the words of the recordings, which do not speak of verdicts.
    let class = match report.program.trouble {
        Some(Trouble::Setup) => Some("logic"),
        Some(Trouble::NoVerdict | Trouble::Unfinished) => expect["class"].as_str(),
        other => other.map(Trouble::as_str),
    };
    assert_eq!(
        class,
        expect["class"].as_str(),
        "{name}: {:?}",
        report.error
    );
    check_words(name, expect, report);
    let usage = &report.program.usage;
    assert_eq!(
        expect["usage"].is_null(),
        usage.budget_tokens().is_none(),
        "{name}: usage"
    );
    let tokens = [
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("cache_read", usage.cache_read_tokens),
        ("cache_write", usage.cache_write_tokens),
        ("reasoning", usage.reasoning_tokens),
    ];
    for (key, tokens) in tokens {
        if let Some(expected) = tokens_expected(name, expect, key) {
            assert_eq!(tokens, Some(expected), "{name}: {key}");
        }
    }
    match (usage.cost_usd, expect["cost_usd"].as_f64()) {
        (Some(cost), Some(expected)) => assert!((cost - expected).abs() < 1e-9, "{name}: cost"),
        (cost, expected) => assert_eq!(cost, expected, "{name}: cost"),
    }
    let calls = got.calls(|kind| kind != CallKind::Agent) as u64;
    if let Some(expected) = expect["tool_calls"].as_u64() {
        assert_eq!(calls, expected, "{name}: calls");
    }
    if let Some(expected) = expect["sub_agents"].as_u64() {
        let agents = got.calls(|kind| kind == CallKind::Agent) as u64;
        assert_eq!(agents, expected, "{name}: sub-agents");
    }
    if let Some(expected) = expect["permission_denials"].as_u64() {
        assert_eq!(u64::from(got.denied), expected, "{name}: denials");
    }
    let resets_at = expect["resets_at"].as_str();
    let mut resets_at: Option<Timestamp> = resets_at.map(|at| at.parse().expect("a time"));
    if let Some(seconds) = expect["retry_after_s"].as_i64() {
        resets_at = Some(at + SignedDuration::from_secs(seconds));
    }
    assert_eq!(report.program.resets_at, resets_at, "{name}: reset");
    let unknown = got
        .seen
        .iter()
        .filter(|seen| **seen == OutputEvent::Unknown);
    assert_eq!(unknown.count(), 0, "{name}: unknown lines");
}

#[test]
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test may be told where more recordings are, and says so when it is not"
)]
fn every_recording_comes_to_what_is_expected() {
    assert!(compare(&own()) > 80);
    match std::env::var_os("PITON_RECORDINGS") {
        Some(folder) => {
            compare(Path::new(&folder));
        }
        None => eprintln!("skipped: no more recordings, PITON_RECORDINGS is not set"),
    }
}
