//! The tools that add something about the item that is held, and about no other.

use piton_core::Outcome;
use piton_core::attempt::{HumanNeeded, Report};
use piton_core::entry::Entry;
use piton_core::memory::{LearningType, Memory, MemoryKind, PatternType};
use piton_core::observation::{
    ActionTaken, Observation, ObservationCategory, ObservationKind, Severity,
};
use piton_engine::model::Node;
use piton_engine::verbs::inbox::{self, Question};
use piton_engine::verbs::learn;
use piton_engine::verbs::log;
use piton_engine::verbs::record::{self, AttemptAccount, RecordRequest};
use piton_engine::{Failure, Notice};
use serde_json::Value;

use super::answer::ToolAnswer;
use super::arguments::{ArgumentField, ArgumentShape, ToolArguments};
use super::client_session::ToolCall;
use super::tools::{Tool, ToolAccess};

static OBSERVATION: [ArgumentField; 7] = [
    ArgumentField::required(
        "type",
        ArgumentShape::OneOf(ObservationKind::WORDS),
        "what kind it is",
    ),
    ArgumentField::required("title", ArgumentShape::Text, "in a few words"),
    ArgumentField::optional("description", ArgumentShape::Text, "in more words"),
    ArgumentField::optional("file", ArgumentShape::Text, "the file it is about"),
    ArgumentField::optional(
        "category",
        ArgumentShape::OneOf(ObservationCategory::WORDS),
        "what it is about",
    ),
    ArgumentField::optional(
        "severity",
        ArgumentShape::OneOf(Severity::WORDS),
        "how bad it is",
    ),
    ArgumentField::optional(
        "action_taken",
        ArgumentShape::OneOf(ActionTaken::WORDS),
        "what was done about it",
    ),
];

/// The tools that write, each about the item that is held.
pub(super) static WRITE_TOOLS: &[Tool] = &[
    Tool {
        name: "record",
        about: "Say what came of your work at your item: when you are done, or cannot go on. The last call counts.",
        access: ToolAccess::Writes,
        fields: &[
            ArgumentField::required(
                "status",
                ArgumentShape::OneOf(&["completed", "failed", "blocked", "needs-human"]),
                "how it ended",
            ),
            ArgumentField::optional("summary", ArgumentShape::Text, "what was done"),
            ArgumentField::optional(
                "evidence",
                ArgumentShape::Text,
                "the command that you ran, and what it said",
            ),
            ArgumentField::optional("error", ArgumentShape::Text, "with failed or blocked: why"),
            ArgumentField::optional(
                "question",
                ArgumentShape::Text,
                "with needs-human: the question",
            ),
            ArgumentField::optional(
                "details",
                ArgumentShape::Text,
                "with needs-human: what one must know to answer it",
            ),
            ArgumentField::optional(
                "observations",
                ArgumentShape::Objects(&OBSERVATION),
                "what you noticed",
            ),
        ],
        example: r#"{"status": "completed", "summary": "the login works", "observations": [{"type": "finding", "title": "the tests need make gen", "action_taken": "documented"}]}"#,
        verb: record_result,
    },
    Tool {
        name: "log",
        about: "Keep a session event about your item.",
        access: ToolAccess::Writes,
        fields: &[
            ArgumentField::required(
                "type",
                ArgumentShape::OneOf(&[
                    "session_started",
                    "session_ended",
                    "task_completed",
                    "task_blocked",
                    "debug_resolved",
                    "scope_override",
                    "milestone_reached",
                ]),
                "what kind of event it is",
            ),
            ArgumentField::required("description", ArgumentShape::Text, "what happened"),
            ArgumentField::optional("notes", ArgumentShape::Text, "more about it"),
            ArgumentField::optional(
                "data",
                ArgumentShape::Named,
                "further keys, such as issue, resolution, owner",
            ),
        ],
        example: r#"{"type": "debug_resolved", "description": "the port was taken", "data": {"resolution": "use 5433"}}"#,
        verb: log_entry,
    },
    Tool {
        name: "learn",
        about: "Remember something for the next agent or person. What is known already is not kept twice.",
        access: ToolAccess::Writes,
        fields: &[
            ArgumentField::required("content", ArgumentShape::Text, "what to know"),
            ArgumentField::required(
                "type",
                ArgumentShape::OneOfAll(&[LearningType::WORDS, PatternType::WORDS]),
                "what it is about",
            ),
            ArgumentField::optional(
                "kind",
                ArgumentShape::OneOf(&["learning", "pattern"]),
                "learning, unless it is how this code base does things",
            ),
            ArgumentField::optional("title", ArgumentShape::Text, "the name of a pattern"),
            ArgumentField::optional("context", ArgumentShape::Text, "where it applies"),
            ArgumentField::optional("evidence", ArgumentShape::Text, "what shows that it is so"),
            ArgumentField::optional(
                "examples",
                ArgumentShape::Texts,
                "paths or snippets that show a pattern",
            ),
        ],
        example: r#"{"content": "run make gen before the tests", "type": "build-command"}"#,
        verb: record_learning,
    },
    Tool {
        name: "ask",
        about: "Ask a person something about your item that can wait. To stop for an answer, record needs-human instead.",
        access: ToolAccess::Writes,
        fields: &[
            ArgumentField::required("question", ArgumentShape::Text, "in one line"),
            ArgumentField::optional(
                "details",
                ArgumentShape::Text,
                "what one must know to answer it",
            ),
        ],
        example: r#"{"question": "Do we keep the old endpoint?"}"#,
        verb: ask_question,
    },
];

/// The agent of an attempt where the client does not send its name.
const UNNAMED_CLIENT: &str = "agent";

/// What a verb tells while it works, kept for the answer.
#[derive(Default)]
struct CollectedNotices(Vec<String>);

impl CollectedNotices {
    fn collect_notice(&mut self, notice: &Notice<'_>) {
        match notice {
            Notice::Said(text) => self.0.push((*text).to_owned()),
            Notice::Warning(text) => self.0.push(format!("warning: {text}")),
            Notice::Problems(_) | Notice::Event(..) | Notice::Progress(_) | Notice::Waiting(_) => {}
        }
    }

    fn answer_after(self, text: impl Into<String>) -> ToolAnswer {
        let text = std::iter::once(text.into()).chain(self.0);
        ToolAnswer::from_text(text.collect::<Vec<_>>().join("\n"))
    }
}

fn record_result(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let report = parse_report(call.given)?;
    let held = call.desk.item_to_write()?;
    let world = &call.desk.world;
    let outcome = report.outcome;
    if let Some(attempt) = held.open_attempt()? {
        let answered = record::answer_attempt(world, &held, attempt, report)?;
        let text = format!(
            "noted for attempt {} at {}: {}; it counts when you end",
            attempt.number,
            Node::shown(&held.item),
            outcome.as_str()
        );
        return Ok(ToolAnswer::from_text(text).with_data(&answered));
    }
    let mut heard = CollectedNotices::default();
    let client = call.client.unwrap_or(UNNAMED_CLIENT);
    let request = RecordRequest {
        typed: AttemptAccount {
            item: Some(held.item.clone()),
            outcome: Some(outcome),
            agent: Some(client.to_owned()),
            report: report_for_ended_attempt(report),
            ..AttemptAccount::default()
        },
        ..RecordRequest::default()
    };
    let recorded = record::record(world, request, &mut |notice| heard.collect_notice(&notice))?;
    let text = format!(
        "recorded attempt {} at {}: {}",
        recorded.number,
        Node::shown(&held.item),
        outcome.as_str()
    );
    Ok(heard.answer_after(text).with_data(&recorded))
}

/// What an agent says came of it, in the words of its JSON answer.
fn parse_report(given: &ToolArguments) -> Result<Report, Failure> {
    let status = given.text("status").unwrap_or_default();
    let outcome = match status.as_str() {
        "completed" => Outcome::Completed,
        "failed" => Outcome::Failed,
        "blocked" => Outcome::Blocked,
        _ => Outcome::NeedsHuman,
    };
    let mut report = Report {
        summary: given.text("summary"),
        error: given.text("error"),
        checked: given.text("evidence"),
        observations: parse_observations(given.objects("observations"))?,
        ..Report::with_outcome(outcome)
    };
    match outcome {
        Outcome::NeedsHuman => {
            let reason = given.text("question").ok_or_else(|| {
                Failure::new(
                    "usage",
                    "`question` is missing: with needs-human a person is asked",
                )
                .with_hint(
                    r#"for example {"status": "needs-human", "question": "Which port is free?"}"#,
                )
            })?;
            report.human = Some(HumanNeeded {
                reason,
                details: given.text("details"),
            });
        }
        Outcome::Failed | Outcome::Blocked => {
            report.error = report.error.or_else(|| report.summary.clone());
            if report.error.is_none() {
                return Err(Failure::new(
                    "usage",
                    format!("`error` is missing: say why it is {status}"),
                )
                .with_hint(
                    r#"for example {"status": "failed", "error": "two tests do not pass"}"#,
                ));
            }
        }
        Outcome::Completed | Outcome::Partial | Outcome::Interrupted => {}
    }
    Ok(report)
}

fn parse_observations(sent: Vec<Value>) -> Result<Vec<Observation>, Failure> {
    serde_json::from_value(Value::Array(sent)).map_err(|error| {
        Failure::new("usage", "`observations` cannot be understood")
            .with_hint(r#"for example [{"type": "finding", "title": "the tests need make gen"}]"#)
            .with_source(error)
    })
}

/// The same for the verb that records an attempt which is over: it tells the
/// question from the summary and the notes.
fn report_for_ended_attempt(report: Report) -> Report {
    match report.human.clone() {
        Some(human) => Report {
            summary: Some(human.reason),
            notes: human.details,
            ..report
        },
        None => report,
    }
}

fn log_entry(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let held = call.desk.item_to_write()?;
    let world = &call.desk.world;
    let kind = log::parse_entry_type(&call.given.text("type").unwrap_or_default())?;
    let mut entry = Entry {
        data: call.given.string_map("data"),
        ..held.tag_entry(Entry::with_type(kind))
    };
    for key in ["description", "notes"] {
        if let Some(text) = call.given.text(key) {
            entry = entry.with_text(key, text);
        }
    }
    let mut heard = CollectedNotices::default();
    let logged = log::log(world, entry, &mut |notice| heard.collect_notice(&notice))?;
    let text = format!(
        "logged {}: {}",
        logged.entry.type_name(),
        logged.entry.one_line_title()
    );
    Ok(heard.answer_after(text).with_data(&logged))
}

fn record_learning(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let given = call.given;
    let kind = match given.text("kind").as_deref() {
        Some("pattern") => MemoryKind::Pattern,
        _ => MemoryKind::Learning,
    };
    // The verb says so too, in the words of the command line.
    if kind == MemoryKind::Pattern && given.text("title").is_none() {
        return Err(Failure::new("usage", "`title` is missing: a pattern has a name").with_hint(
            r#"for example {"kind": "pattern", "type": "error-handling", "title": "Wrapped errors", "content": "errors carry a context of their own"}"#,
        ));
    }
    let is_foreign = given.text("title").is_some() || !given.texts("examples").is_empty();
    if kind == MemoryKind::Learning && is_foreign {
        return Err(Failure::new(
            "usage",
            "`title` and `examples` belong to a pattern, and this is a learning",
        )
        .with_hint(r#"leave them out, or add "kind": "pattern""#));
    }
    let held = call.desk.item_to_write()?;
    let world = &call.desk.world;
    let attempt = held.attempt.as_ref();
    let memory = Memory {
        topic: given.text("type"),
        title: given.text("title"),
        context: given.text("context"),
        evidence: given.text("evidence"),
        examples: given.texts("examples"),
        source_item: Some(held.node.as_str().to_owned()),
        source_attempt: attempt.and_then(|row| row.name.clone()),
        ..Memory::new(kind, given.text("content").unwrap_or_default())
    };
    let carried = attempt.map(|row| row.memories.clone()).unwrap_or_default();
    let mut heard = CollectedNotices::default();
    let noticed = learn::add_noticed(world, memory, carried, &mut |notice| {
        heard.collect_notice(&notice)
    })?;
    let text = match (&noticed.id, noticed.was_known) {
        (Some(id), false) => format!("remembered as {id}"),
        (Some(id), true) => format!("known already as {id}; you are one more source of it"),
        (None, _) => "known already: your prompt says so".to_owned(),
    };
    Ok(heard.answer_after(text).with_data(&noticed))
}

fn ask_question(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let held = call.desk.item_to_write()?;
    let world = &call.desk.world;
    let question = Question {
        text: call.given.text("question").unwrap_or_default(),
        details: call.given.text("details"),
        item: Some(held.item),
        is_held: true,
    };
    let mut heard = CollectedNotices::default();
    let open = inbox::ask(world, question, &mut |notice| heard.collect_notice(&notice))?;
    let text = format!(
        "asked as {}: go on with what does not need the answer",
        open.id
    );
    Ok(heard.answer_after(text).with_data(&open))
}
