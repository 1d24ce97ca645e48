//! The tools: eight rows of a table. None of them deletes, resets or decides.

use std::sync::Arc;

use piton_core::memory::{LearningType, PatternType};
use piton_core::observation::{ActionTaken, ObservationCategory, ObservationKind, Severity};
use piton_engine::Failure;
use rmcp::model::ToolAnnotations;
use serde_json::{Map, Value};

use super::answer::Answer;
use super::arguments::{Arguments, Field, Shape, schema};
use super::desk::Desk;
use super::{reading, writing};

/// Whether a tool changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It does not.
    Reads,
    /// It adds something about what is held; nothing is ever taken away.
    Writes,
}

/// One call: where it came from, what was sent, and by which client.
pub(super) struct Call<'c> {
    pub(super) desk: &'c Desk,
    pub(super) given: &'c Arguments,
    pub(super) client: Option<&'c str>,
}

/// One tool: the verb of its name.
pub(super) struct Tool {
    pub(super) name: &'static str,
    about: &'static str,
    access: Access,
    fields: &'static [Field],
    example: &'static str,
    verb: fn(&Call<'_>) -> Result<Answer, Failure>,
}

const RUN: Field = Field::optional(
    "run",
    Shape::Text,
    "a run by its name; all that are meant without it",
);

static OBSERVATION: [Field; 7] = [
    Field::required(
        "type",
        Shape::OneOf(ObservationKind::WORDS),
        "what kind it is",
    ),
    Field::required("title", Shape::Text, "in a few words"),
    Field::optional("description", Shape::Text, "in more words"),
    Field::optional("file", Shape::Text, "the file it is about"),
    Field::optional(
        "category",
        Shape::OneOf(ObservationCategory::WORDS),
        "what it is about",
    ),
    Field::optional("severity", Shape::OneOf(Severity::WORDS), "how bad it is"),
    Field::optional(
        "action_taken",
        Shape::OneOf(ActionTaken::WORDS),
        "what was done about it",
    ),
];

/// The tools, in the order in which they are listed.
pub(super) static TOOLS: [Tool; 8] = [
    Tool {
        name: "status",
        about: "Where everything stands: runs, nodes, questions.",
        access: Access::Reads,
        fields: &[RUN],
        example: r#"{"run": "2026-01-15_auth"}"#,
        verb: reading::status,
    },
    Tool {
        name: "next",
        about: "What can be worked on, what waits for what, what is stuck and why.",
        access: Access::Reads,
        fields: &[RUN],
        example: r#"{"run": "2026-01-15_auth"}"#,
        verb: reading::next,
    },
    Tool {
        name: "prepare",
        about: "What to know before you begin with an item: what was tried, what helps, what holds.",
        access: Access::Reads,
        fields: &[Field::optional(
            "item",
            Shape::Text,
            "[RUN:]NODE; your own item without it",
        )],
        example: r#"{"item": "auth-login"}"#,
        verb: reading::prepare,
    },
    Tool {
        name: "recall",
        about: "What is remembered that helps with an error message or a task.",
        access: Access::Reads,
        fields: &[Field::required(
            "text",
            Shape::Output,
            "the error message, or what you are about to do",
        )],
        example: r#"{"text": "error: linking with cc failed: exit status 1"}"#,
        verb: reading::recall,
    },
    Tool {
        name: "record",
        about: "Say what came of your work at your item: when you are done, or cannot go on. The last call counts.",
        access: Access::Writes,
        fields: &[
            Field::required(
                "status",
                Shape::OneOf(&["completed", "failed", "blocked", "needs-human"]),
                "how it ended",
            ),
            Field::optional("summary", Shape::Text, "what was done"),
            Field::optional(
                "evidence",
                Shape::Text,
                "the command that you ran, and what it said",
            ),
            Field::optional("error", Shape::Text, "with failed or blocked: why"),
            Field::optional("question", Shape::Text, "with needs-human: the question"),
            Field::optional(
                "details",
                Shape::Text,
                "with needs-human: what one must know to answer it",
            ),
            Field::optional(
                "observations",
                Shape::Objects(&OBSERVATION),
                "what you noticed",
            ),
        ],
        example: r#"{"status": "completed", "summary": "the login works", "observations": [{"type": "finding", "title": "the tests need make gen", "action_taken": "documented"}]}"#,
        verb: writing::record,
    },
    Tool {
        name: "log",
        about: "Keep a session event about your item.",
        access: Access::Writes,
        fields: &[
            Field::required(
                "type",
                Shape::OneOf(&[
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
            Field::required("description", Shape::Text, "what happened"),
            Field::optional("notes", Shape::Text, "more about it"),
            Field::optional(
                "data",
                Shape::Named,
                "further keys, such as issue, resolution, owner",
            ),
        ],
        example: r#"{"type": "debug_resolved", "description": "the port was taken", "data": {"resolution": "use 5433"}}"#,
        verb: writing::log,
    },
    Tool {
        name: "learn",
        about: "Remember something for whoever comes next. What is known already is not kept twice.",
        access: Access::Writes,
        fields: &[
            Field::required("content", Shape::Text, "what to know"),
            Field::required(
                "type",
                Shape::OneOfAll(&[LearningType::WORDS, PatternType::WORDS]),
                "what it is about",
            ),
            Field::optional(
                "kind",
                Shape::OneOf(&["learning", "pattern"]),
                "learning, unless it is how this code base does things",
            ),
            Field::optional("title", Shape::Text, "the name of a pattern"),
            Field::optional("context", Shape::Text, "where it applies"),
            Field::optional("evidence", Shape::Text, "what shows that it is so"),
            Field::optional(
                "examples",
                Shape::Texts,
                "paths or snippets that show a pattern",
            ),
        ],
        example: r#"{"content": "run make gen before the tests", "type": "build-command"}"#,
        verb: writing::learn,
    },
    Tool {
        name: "ask",
        about: "Ask a person something about your item that can wait. To stop for an answer, record needs-human instead.",
        access: Access::Writes,
        fields: &[
            Field::required("question", Shape::Text, "in one line"),
            Field::optional("details", Shape::Text, "what one must know to answer it"),
        ],
        example: r#"{"question": "Do we keep the old endpoint?"}"#,
        verb: writing::ask,
    },
];

impl Tool {
    /// As it is listed.
    pub(super) fn listed(&self) -> rmcp::model::Tool {
        let writes = self.access == Access::Writes;
        let hints = ToolAnnotations::new()
            .read_only(!writes)
            .destructive(false)
            .open_world(false);
        rmcp::model::Tool::new(self.name, self.about, Arc::new(schema(self.fields)))
            .with_annotations(hints)
    }

    /// What it answers to what was sent.
    pub(super) fn answer(
        &self,
        desk: &Desk,
        sent: Map<String, Value>,
        client: Option<&str>,
    ) -> Answer {
        let given = Arguments::checked(sent, self.fields, self.example);
        let answer = given.and_then(|given| {
            (self.verb)(&Call {
                desk,
                given: &given,
                client,
            })
        });
        answer.unwrap_or_else(|failure| Answer::of_failure(&failure))
    }
}

#[cfg(test)]
mod tests {
    use piton_core::entry::ENTRY_TYPES;

    use super::*;

    #[test]
    fn every_example_fits() {
        for tool in &TOOLS {
            let sent: Map<String, Value> = serde_json::from_str(tool.example).expect(tool.name);
            let checked = Arguments::checked(sent, tool.fields, tool.example);
            assert!(checked.is_ok(), "{}: {checked:?}", tool.name);
        }
    }

    #[test]
    fn what_an_agent_may_log_are_the_entry_types() {
        let log = TOOLS
            .iter()
            .find(|tool| tool.name == "log")
            .expect("there is log");
        let sent = |kind: &str| {
            let text = format!(r#"{{"type": "{kind}", "description": "x"}}"#);
            serde_json::from_str(&text).expect("it is JSON")
        };
        for (kind, _) in ENTRY_TYPES {
            assert!(
                Arguments::checked(sent(kind), log.fields, "").is_ok(),
                "{kind}"
            );
        }
    }

    #[test]
    fn an_agent_reads_all_of_them_in_few_words() {
        let listed: Vec<_> = TOOLS.iter().map(Tool::listed).collect();
        let text = serde_json::to_string(&listed).expect("they can be said in JSON");
        assert!(text.len() < 8_000, "{} bytes", text.len());
    }
}
