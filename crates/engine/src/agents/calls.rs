//! Calls of tools, from the line that begins one to the line that ends it.

use std::collections::HashMap;

use jiff::Timestamp;
use piton_core::call::{AgentCall, CallKind};
use serde_json::Value;

use super::known_program::KnownProgram;

/// So many calls may be under way at once; a program that never ends its calls
/// fills no memory.
const OPEN_MAX: usize = 4_096;

/// Where the input of a tool says what it is about, in the order of looking.
const ABOUT: &[&str] = &[
    "file_path",
    "filePath",
    "notebook_path",
    "absolute_path",
    "path",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
];

/// A call by the name of its tool and what was given to it.
pub(super) fn call_of_tool(
    program: &KnownProgram,
    tool: &str,
    input: &Value,
    cwd: &str,
) -> AgentCall {
    let kind = program.kind_of_tool(tool).unwrap_or(CallKind::Other);
    let what = ABOUT
        .iter()
        .find_map(|key| input[key].as_str())
        .unwrap_or("");
    let what = match kind {
        CallKind::Read | CallKind::Write => relative_path(what, cwd),
        CallKind::Shell | CallKind::Agent | CallKind::Other => what,
    };
    AgentCall::new(kind, tool, what)
}

/// A path as it is seen from the folder of the program.
pub(super) fn relative_path<'p>(path: &'p str, cwd: &str) -> &'p str {
    let below = path
        .strip_prefix(cwd)
        .and_then(|rest| rest.strip_prefix('/'));
    match below {
        Some(below) if !cwd.is_empty() => below,
        Some(_) | None => path,
    }
}

/// The status that a command ended with.
pub(super) fn exit_status(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|exit| exit.try_into().ok())
}

/// The calls that are under way.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    open: HashMap<String, (AgentCall, Timestamp)>,
}

impl OpenCalls {
    pub(super) fn begin(&mut self, id: &str, call: AgentCall, at: Timestamp) {
        if self.open.len() >= OPEN_MAX {
            self.open.clear();
        }
        self.open.insert(id.to_owned(), (call, at));
    }

    /// The call that began last of those under way.
    pub(super) fn latest(&self) -> Option<&AgentCall> {
        let latest = self.open.values().max_by_key(|(_, begun)| *begun);
        latest.map(|(call, _)| call)
    }

    /// The call that ends; None where its beginning was not seen.
    pub(super) fn end(&mut self, id: &str, at: Timestamp) -> Option<AgentCall> {
        let (mut call, begun) = self.open.remove(id)?;
        call.ms = u64::try_from(at.duration_since(begun).as_millis()).ok();
        call.at = Some(at);
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::claude::PROGRAM;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("within time")
    }

    #[test]
    fn a_call_is_what_began_and_what_ended_together() {
        let input = serde_json::json!({"file_path": "/w/p/a.rs", "content": "x"});
        let mut calls = OpenCalls::default();
        calls.begin("1", call_of_tool(&PROGRAM, "Write", &input, "/w/p"), at(10));
        assert_eq!(calls.end("2", at(11)), None);
        let call = calls.end("1", at(12)).expect("it began");
        assert_eq!(
            (call.kind, call.what.as_str(), call.ms),
            (CallKind::Write, "a.rs", Some(2_000))
        );
        assert_eq!(calls.end("1", at(12)), None);
    }

    #[test]
    fn calls_that_never_end_fill_no_memory() {
        let mut calls = OpenCalls::default();
        for id in 0..20_000 {
            let call = call_of_tool(&PROGRAM, "x", &Value::Null, "");
            calls.begin(&id.to_string(), call, at(0));
        }
        assert!(calls.open.len() <= OPEN_MAX);
    }

    #[test]
    fn only_what_is_in_the_folder_is_seen_from_it() {
        assert_eq!(relative_path("/w/p/a", "/w/p"), "a");
        assert_eq!(relative_path("/w/pq/a", "/w/p"), "/w/pq/a");
        assert_eq!(relative_path("/a", ""), "/a");
    }
}
