//! The tools: eight rows of a table. None of them deletes, resets or decides.

use std::sync::Arc;

use piton_core::memory::{LearningType, PatternType};
use piton_core::observation::{ActionTaken, ObservationCategory, ObservationKind, Severity};
use piton_engine::Failure;
use rmcp::model::ToolAnnotations;
use serde_json::{Map, Value};

use super::answer::ToolAnswer;
use super::arguments::{ArgumentField, ArgumentShape, ToolArguments, object_schema};
use super::client_session::{ClientSession, ToolCall};
use super::{read_tools, write_tools};

/// Whether a tool changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolAccess {
    /// It does not.
    Reads,
    /// It adds something about what is held; nothing is ever taken away.
    Writes,
}

/// One tool: the verb of its name.
pub(super) struct Tool {
    pub(super) name: &'static str,
    about: &'static str,
    access: ToolAccess,
    fields: &'static [ArgumentField],
    example: &'static str,
    verb: fn(&ToolCall<'_>) -> Result<ToolAnswer, Failure>,
}

const RUN: ArgumentField = ArgumentField::optional(
    "run",
    ArgumentShape::Text,
    "a run by its name; all that are meant without it",
);

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

/// The tools, in the order in which they are listed.
pub(super) static TOOLS: [Tool; 8] = [
    Tool {
        name: "status",
        about: "Where everything stands: runs, nodes, questions.",
        access: ToolAccess::Reads,
        fields: &[RUN],
        example: r#"{"run": "2026-01-15_auth"}"#,
        verb: read_tools::show_status,
    },
    Tool {
        name: "next",
        about: "What can be worked on, what waits for what, what is stuck and why.",
        access: ToolAccess::Reads,
        fields: &[RUN],
        example: r#"{"run": "2026-01-15_auth"}"#,
        verb: read_tools::show_next,
    },
    Tool {
        name: "prepare",
        about: "What to know before you begin with an item: what was tried, what helps, what holds.",
        access: ToolAccess::Reads,
        fields: &[ArgumentField::optional(
            "item",
            ArgumentShape::Text,
            "[RUN:]NODE; your own item without it",
        )],
        example: r#"{"item": "auth-login"}"#,
        verb: read_tools::prepare_item,
    },
    Tool {
        name: "recall",
        about: "What is remembered that helps with an error message or a task.",
        access: ToolAccess::Reads,
        fields: &[ArgumentField::required(
            "text",
            ArgumentShape::Output,
            "the error message, or what you are about to do",
        )],
        example: r#"{"text": "error: linking with cc failed: exit status 1"}"#,
        verb: read_tools::recall_memory,
    },
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
        verb: write_tools::record_result,
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
        verb: write_tools::log_entry,
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
        verb: write_tools::record_learning,
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
        verb: write_tools::ask_question,
    },
];

impl Tool {
    /// As it is listed.
    pub(super) fn protocol_tool(&self) -> rmcp::model::Tool {
        let writes = self.access == ToolAccess::Writes;
        let hints = ToolAnnotations::new()
            .read_only(!writes)
            .destructive(false)
            .open_world(false);
        rmcp::model::Tool::new(self.name, self.about, Arc::new(object_schema(self.fields)))
            .with_annotations(hints)
    }

    /// What it answers to what was sent.
    pub(super) fn call(
        &self,
        desk: &ClientSession,
        sent: Map<String, Value>,
        client: Option<&str>,
    ) -> ToolAnswer {
        let given = ToolArguments::parse_checked(sent, self.fields, self.example);
        let answer = given.and_then(|given| {
            (self.verb)(&ToolCall {
                desk,
                given: &given,
                client,
            })
        });
        answer.unwrap_or_else(|failure| ToolAnswer::from_failure(&failure))
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
            let checked = ToolArguments::parse_checked(sent, tool.fields, tool.example);
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
                ToolArguments::parse_checked(sent(kind), log.fields, "").is_ok(),
                "{kind}"
            );
        }
    }

    #[test]
    fn an_agent_reads_all_of_them_in_few_words() {
        let listed: Vec<_> = TOOLS.iter().map(Tool::protocol_tool).collect();
        let text = serde_json::to_string(&listed).expect("they can be said in JSON");
        assert!(text.len() < 8_000, "{} bytes", text.len());
    }
}
