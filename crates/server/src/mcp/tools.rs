//! What a tool is. None of them deletes, resets or decides.

use std::sync::Arc;

use piton_engine::Failure;
use rmcp::model::ToolAnnotations;
use serde_json::{Map, Value};

use super::answer::ToolAnswer;
use super::arguments::{ArgumentField, ToolArguments, object_schema};
use super::client_session::{ClientSession, ToolCall};

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
    pub(super) about: &'static str,
    pub(super) access: ToolAccess,
    pub(super) fields: &'static [ArgumentField],
    pub(super) example: &'static str,
    pub(super) verb: fn(&ToolCall<'_>) -> Result<ToolAnswer, Failure>,
}

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
    use crate::mcp::all_tools;

    #[test]
    fn every_example_fits() {
        for tool in all_tools() {
            let sent: Map<String, Value> = serde_json::from_str(tool.example).expect(tool.name);
            let checked = ToolArguments::parse_checked(sent, tool.fields, tool.example);
            assert!(checked.is_ok(), "{}: {checked:?}", tool.name);
        }
    }

    #[test]
    fn what_an_agent_may_log_are_the_entry_types() {
        let log = all_tools()
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
        let listed: Vec<_> = all_tools().map(Tool::protocol_tool).collect();
        let text = serde_json::to_string(&listed).expect("they can be said in JSON");
        assert!(text.len() < 8_000, "{} bytes", text.len());
    }
}
