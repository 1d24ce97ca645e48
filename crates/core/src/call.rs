//! What an agent did with its tools, call by call.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::quote::truncate_chars;
use crate::redact::Redactor;
use crate::word::words;

words! {
    /// What a tool was called for.
    CallKind {
        /// To read a file.
        Read = "read",
        /// To write or change one.
        Write = "write",
        /// To run a command.
        Shell = "shell",
        /// To let another agent work.
        Agent = "agent",
        /// For something else: a search, a page, a tool of another program.
        Other = "other",
    }
}

/// Longest text of what a call was about, in characters.
pub const WHAT_CHARS_MAX: usize = 300;

/// One call of a tool by an agent, as far as its program tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCall {
    /// What for.
    pub kind: CallKind,
    /// The tool, as the program names it: `Bash`, `write_file`.
    pub tool: String,
    /// The file or the command; where it is kept, at most [`WHAT_CHARS_MAX`]
    /// characters: see [`AgentCall::redact`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// The exit status of a command, where it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Whether it failed or was refused; false as well while nothing is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// How much came back, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl AgentCall {
    /// A call of which nothing else is known yet.
    #[must_use]
    pub fn new(kind: CallKind, tool: &str, what: &str) -> Self {
        Self {
            kind,
            tool: tool.to_owned(),
            what: what.chars().take(CHARS_MAX).collect(),
            exit: None,
            failed: false,
            bytes: None,
            ms: None,
            at: None,
        }
    }
}

/// A call in a session that piton did not start, as a hook told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCall {
    /// The session, as its program names it.
    pub session: String,
    /// The item that the session holds, by the name that the agent gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The call.
    pub call: AgentCall,
}

impl AgentCall {
    /// What was called and for what: `Bash: pytest -q`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self.what.as_str() {
            "" => self.tool.clone(),
            what => format!("{}: {what}", self.tool),
        }
    }

    /// The same without its secrets, and then no longer than it may be: half a
    /// secret would not be known for one.
    #[must_use]
    pub fn redact(mut self, redactor: &Redactor) -> Self {
        self.tool = truncate_chars(&redactor.redact(&self.tool), WHAT_CHARS_MAX);
        self.what = truncate_chars(&redactor.redact(&self.what), WHAT_CHARS_MAX);
        self
    }
}

/// So much of what a call is about is looked at.
const CHARS_MAX: usize = 8_192;

/// The first line of what an agent said, without its secrets and no longer than it may be.
/// More than that is looked at, so that no half of a secret is shown.
#[must_use]
pub fn first_line_said(words: &str, redactor: &Redactor) -> Option<String> {
    let begun = truncate_chars(words, CHARS_MAX);
    let begun = redactor.redact(&begun);
    let mut lines = begun.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty())?;
    Some(truncate_chars(first, WHAT_CHARS_MAX))
}

/// So many calls of an attempt are kept one by one: the first half and the
/// last half; all are counted.
pub const CALLS_MAX: usize = 200;

/// What an agent did in an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptActivity {
    /// Calls of tools.
    #[serde(default)]
    pub calls: u32,
    /// Those that failed or were refused.
    #[serde(default)]
    pub failed: u32,
    /// Those that the agent was not permitted to make.
    #[serde(default)]
    pub denied: u32,
    /// Other agents that it let work.
    #[serde(default)]
    pub sub_agents: u32,
    /// Lines of its output that this piton does not know.
    #[serde(default)]
    pub unknown_lines: u32,
    /// The first and the last calls, at most [`CALLS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<AgentCall>,
}

impl AttemptActivity {
    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Counts a call that is over, and keeps it while there is room.
    pub fn add_call(&mut self, call: AgentCall) {
        self.calls = self.calls.saturating_add(1);
        self.failed = self.failed.saturating_add(u32::from(call.failed));
        self.sub_agents = self
            .sub_agents
            .saturating_add(u32::from(call.kind == CallKind::Agent));
        if self.kept.len() >= CALLS_MAX {
            // The middle is what is missed least.
            self.kept.remove(CALLS_MAX / 2);
        }
        self.kept.push(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_calls_are_counted_and_the_first_and_the_last_are_kept() {
        let mut activity = AttemptActivity::default();
        for at in 0..1_000 {
            activity.add_call(AgentCall::new(
                CallKind::Shell,
                "Bash",
                &format!("echo {at}"),
            ));
        }
        assert_eq!((activity.calls, activity.kept.len()), (1_000, CALLS_MAX));
        let what = |at: usize| activity.kept[at].what.as_str();
        assert_eq!(
            (what(0), what(99), what(100), what(199)),
            ("echo 0", "echo 99", "echo 900", "echo 999")
        );
    }

    #[test]
    fn what_is_long_is_cut_at_a_character() {
        let call = AgentCall::new(CallKind::Write, "Write", &"ä".repeat(400));
        let call = call.redact(&Redactor::with_variables([]));
        assert_eq!(call.what.chars().count(), WHAT_CHARS_MAX + 1);
    }

    #[test]
    fn no_half_of_a_secret_is_left_where_a_text_is_cut() {
        let what = format!("echo {}hunter22hunter22", "x".repeat(WHAT_CHARS_MAX - 12));
        let call = AgentCall::new(CallKind::Shell, "Bash", &what);
        let call = call.redact(&Redactor::with_variables([("TOKEN", "hunter22hunter22")]));
        assert!(!call.what.contains("hunter"), "{}", call.what);
    }
}
