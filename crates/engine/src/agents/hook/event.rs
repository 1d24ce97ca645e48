//! What a program tells at a hook. Fields are as lenient as JSON allows: one of
//! another type than expected is as good as absent.

mod lenient;

use piton_core::call::{AgentCall, CallKind};
use piton_core::redact::Redactor;
use serde::Deserialize;

use self::lenient::{LenientText, ToolResponse};
use crate::agents::program_table::KNOWN_PROGRAMS;
use crate::world::input::sha256;

pub use crate::agents::known_program::HookEventKind;

impl HookEventKind {
    /// What happened at that event; none for an event that is not known.
    #[must_use]
    pub fn parse(event: &str) -> Option<Self> {
        let formats = KNOWN_PROGRAMS.iter().filter_map(|program| program.hooks);
        let mut events = formats.flat_map(|format| format.events.iter().chain(format.other_events));
        let known = events.find(|(name, _)| name.eq_ignore_ascii_case(event));
        known.map(|(_, kind)| *kind)
    }
}

/// What a program tells.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct HookEvent {
    session_id: LenientText,
    hook_event_name: LenientText,
    source: LenientText,
    reason: LenientText,
    agent_id: LenientText,
    tool_name: LenientText,
    tool_input: lenient::LenientMembers,
    tool_response: ToolResponse,
    duration_ms: lenient::LenientCount,
    last_assistant_message: lenient::LenientLongText,
    prompt_response: lenient::LenientLongText,
}

impl HookEvent {
    /// Reads what a program wrote.
    ///
    /// # Errors
    ///
    /// When it is no JSON object.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// The moment: that of `typed`, if it is known, else the one told.
    #[must_use]
    pub fn event_kind(&self, typed: Option<&str>) -> HookEventKind {
        let typed = typed.and_then(HookEventKind::parse);
        typed
            .or_else(|| HookEventKind::parse(&self.hook_event_name.0))
            .unwrap_or(HookEventKind::Quiet)
    }

    /// The session, by a name that may stand anywhere: as the program calls it,
    /// or, where that has other characters than ids have, its hash.
    #[must_use]
    pub fn session_name(&self) -> Option<String> {
        const CHARS_MAX: usize = 100;
        let name = self.session_id.0.as_str();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        match name {
            "" => None,
            name if name.len() <= CHARS_MAX && name.chars().all(is_plain) => Some(name.to_owned()),
            name => Some(sha256(name.as_bytes())),
        }
    }

    /// What began a session: `startup`, `resume`, `clear`, `compact`.
    #[must_use]
    pub fn source(&self) -> &str {
        match self.source.0.as_str() {
            "" => "startup",
            source => source,
        }
    }

    /// Why it ended.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason.0
    }

    /// Whether a sub-agent speaks, and not the agent of the session.
    #[must_use]
    pub fn is_from_sub_agent(&self) -> bool {
        !self.agent_id.0.is_empty()
    }

    /// The last words of the agent.
    #[must_use]
    pub fn last_message(&self) -> &str {
        let told = [&self.last_assistant_message.0, &self.prompt_response.0];
        told.into_iter()
            .find(|words| !words.is_empty())
            .map_or("", String::as_str)
    }

    /// The call of a tool that is over; none where the tool has no name.
    /// Secrets go before anything is cut, lest half of one stays.
    #[must_use]
    pub fn tool_call(&self, redactor: &Redactor) -> Option<AgentCall> {
        let tool = self.tool_name.0.as_str();
        if tool.is_empty() {
            return None;
        }
        // A hook does not report of which program it is.
        let mut kinds = KNOWN_PROGRAMS
            .iter()
            .filter_map(|program| program.kind_of_tool(tool));
        let kind = kinds.next().unwrap_or(CallKind::Other);
        let what = self.call_subject(kind);
        let call = AgentCall::new(kind, tool, &what).redact(redactor);
        Some(AgentCall {
            exit: self.tool_response.exit,
            failed: self.tool_response.failed,
            bytes: Some(self.tool_response.bytes),
            ms: self.duration_ms.0,
            ..call
        })
    }

    /// What a call was about.
    fn call_subject(&self, kind: CallKind) -> String {
        const FILE: &[&str] = &[
            "file_path",
            "absolute_path",
            "notebook_path",
            "path",
            "command",
        ];
        const COMMAND: &[&str] = &["command", "cmd"];
        const TASK: &[&str] = &["description", "prompt", "message"];
        const ANY: &[&str] = &[
            "query",
            "pattern",
            "url",
            "path",
            "file_path",
            "dir_path",
            "description",
            "command",
        ];
        let keys = match kind {
            CallKind::Read | CallKind::Write => FILE,
            CallKind::Shell => COMMAND,
            CallKind::Agent => TASK,
            CallKind::Other => ANY,
        };
        let found = keys.iter().find_map(|key| self.tool_input.get(key));
        let said = found.unwrap_or_default().trim();
        match kind {
            CallKind::Write => first_patched_file(said).unwrap_or(said).to_owned(),
            CallKind::Read | CallKind::Shell | CallKind::Agent | CallKind::Other => said.to_owned(),
        }
    }
}

/// The first file of a patch as Codex writes it: `*** Update File: src/lib.rs`.
fn first_patched_file(text: &str) -> Option<&str> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("*** "));
    lines.find_map(|line| line.split_once(" File: ").map(|(_, file)| file.trim()))
}

#[cfg(test)]
mod tests;
