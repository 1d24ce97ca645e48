//! The tools that add something about the item that is held, and about no other.

use piton_core::Outcome;
use piton_core::attempt::{HumanNeeded, Report};
use piton_core::entry::Entry;
use piton_core::memory::{Memory, MemoryKind};
use piton_core::observation::Observation;
use piton_engine::verbs::inbox::{self, Question};
use piton_engine::verbs::learn;
use piton_engine::verbs::log;
use piton_engine::verbs::record::{self, Account, Request};
use piton_engine::{Failure, Notice};
use serde_json::{Value, json};

use super::answer::Answer;
use super::arguments::Arguments;
use super::tools::Call;

/// Who is said to have made an attempt, where the client does not say its name.
const SOMEBODY: &str = "agent";

/// What a verb tells while it works, kept for the answer.
#[derive(Default)]
struct Heard(Vec<String>);

impl Heard {
    fn hear(&mut self, notice: &Notice<'_>) {
        match notice {
            Notice::Said(text) => self.0.push((*text).to_owned()),
            Notice::Warning(text) => self.0.push(format!("warning: {text}")),
            Notice::Problems(_) | Notice::Event(..) | Notice::Working(_) | Notice::Waiting(_) => {}
        }
    }

    fn after(self, text: impl Into<String>) -> Answer {
        let text = std::iter::once(text.into()).chain(self.0);
        Answer::of(text.collect::<Vec<_>>().join("\n"))
    }
}

pub(super) fn record(call: &Call<'_>) -> Result<Answer, Failure> {
    let report = report(call.given)?;
    let held = call.desk.held_to_write()?;
    let world = &call.desk.world;
    let outcome = report.outcome;
    let data = json!({ "item": held.item, "status": outcome.as_str() });
    if let Some(attempt) = held.open_attempt()? {
        record::answer(world, attempt, report)?;
        let text = format!(
            "noted for attempt {} at {}: {}; it counts when you end",
            attempt.number,
            held.item,
            outcome.as_str()
        );
        return Ok(Answer::of(text).with(&data));
    }
    let mut heard = Heard::default();
    let client = call.client.unwrap_or(SOMEBODY);
    let request = Request {
        typed: Account {
            item: Some(held.item.clone()),
            outcome: Some(outcome),
            agent: Some(client.to_owned()),
            report: told(report),
            ..Account::default()
        },
        ..Request::default()
    };
    let recorded = record::record(world, request, &mut |notice| heard.hear(&notice))?;
    let text = format!(
        "recorded attempt {} at {}: {}",
        recorded.number,
        held.item,
        outcome.as_str()
    );
    Ok(heard.after(text).with(&recorded))
}

/// What an agent says came of it, in the words of its JSON answer.
fn report(given: &Arguments) -> Result<Report, Failure> {
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
        observations: observations(given.objects("observations"))?,
        ..Report::bare(outcome)
    };
    match outcome {
        Outcome::NeedsHuman => {
            let reason = given.text("question").ok_or_else(|| {
                Failure::new(
                    "usage",
                    "`question` is missing: with needs-human a person is asked",
                )
                .hint(r#"for example {"status": "needs-human", "question": "Which port is free?"}"#)
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
                .hint(r#"for example {"status": "failed", "error": "two tests do not pass"}"#));
            }
        }
        Outcome::Completed | Outcome::Partial | Outcome::Interrupted => {}
    }
    Ok(report)
}

fn observations(sent: Vec<Value>) -> Result<Vec<Observation>, Failure> {
    serde_json::from_value(Value::Array(sent)).map_err(|error| {
        Failure::new("usage", "`observations` cannot be understood")
            .hint(r#"for example [{"type": "finding", "title": "the tests need make gen"}]"#)
            .because(error)
    })
}

/// The same for the verb that records an attempt which is over: it tells the
/// question from the summary and the notes.
fn told(report: Report) -> Report {
    match report.human.clone() {
        Some(human) => Report {
            summary: Some(human.reason),
            notes: human.details,
            ..report
        },
        None => report,
    }
}

pub(super) fn log(call: &Call<'_>) -> Result<Answer, Failure> {
    let held = call.desk.held_to_write()?;
    let world = &call.desk.world;
    let kind = log::entry_type(&call.given.text("type").unwrap_or_default())?;
    let mut entry = Entry {
        data: call.given.named("data"),
        ..held.about(Entry::bare(kind))
    };
    for key in ["description", "notes"] {
        if let Some(text) = call.given.text(key) {
            entry = entry.saying(key, text);
        }
    }
    let mut heard = Heard::default();
    let logged = log::log(world, entry, &mut |notice| heard.hear(&notice))?;
    let text = format!(
        "logged {}: {}",
        logged.entry.type_word(),
        logged.entry.title()
    );
    Ok(heard.after(text).with(&logged))
}

pub(super) fn learn(call: &Call<'_>) -> Result<Answer, Failure> {
    let given = call.given;
    let kind = match given.text("kind").as_deref() {
        Some("pattern") => MemoryKind::Pattern,
        _ => MemoryKind::Learning,
    };
    // The verb says so too, in the words of the command line.
    if kind == MemoryKind::Pattern && given.text("title").is_none() {
        return Err(Failure::new("usage", "`title` is missing: a pattern has a name").hint(
            r#"for example {"kind": "pattern", "type": "error-handling", "title": "Wrapped errors", "content": "errors carry a context of their own"}"#,
        ));
    }
    let is_foreign = given.text("title").is_some() || !given.texts("examples").is_empty();
    if kind == MemoryKind::Learning && is_foreign {
        return Err(Failure::new(
            "usage",
            "`title` and `examples` belong to a pattern, and this is a learning",
        )
        .hint(r#"leave them out, or add "kind": "pattern""#));
    }
    let held = call.desk.held_to_write()?;
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
        ..Memory::bare(kind, given.text("content").unwrap_or_default())
    };
    let carried = attempt.map(|row| row.memories.clone()).unwrap_or_default();
    let mut heard = Heard::default();
    let noticed = learn::notice(world, memory, carried, &mut |notice| heard.hear(&notice))?;
    let text = match (&noticed.id, noticed.was_known) {
        (Some(id), false) => format!("remembered as {id}"),
        (Some(id), true) => format!("known already as {id}; you are one more source of it"),
        (None, _) => "known already: your prompt says so".to_owned(),
    };
    let data = json!({ "id": noticed.id, "was_known": noticed.was_known });
    Ok(heard.after(text).with(&data))
}

pub(super) fn ask(call: &Call<'_>) -> Result<Answer, Failure> {
    let held = call.desk.held_to_write()?;
    let world = &call.desk.world;
    let question = Question {
        text: call.given.text("question").unwrap_or_default(),
        details: call.given.text("details"),
        item: Some(held.item),
        is_held: true,
    };
    let mut heard = Heard::default();
    let open = inbox::ask(world, question, &mut |notice| heard.hear(&notice))?;
    let text = format!(
        "asked as {}: go on with what does not need the answer",
        open.id
    );
    Ok(heard.after(text).with(&open))
}
