//! Reads what a program prints: lines become events, which its adapter reads.

use std::fmt;

use jiff::Timestamp;
use piton_core::call::AgentCall;
use serde_json::Value;

use super::reader_state::ReaderState;
use super::stream::JsonPart;
use super::{AgentResult, OutputEvent};
use crate::agents::answer::ProgramEnd;

/// What an adapter makes of the JSON objects that its program prints.
pub(super) trait EventReader: fmt::Debug {
    /// Takes an object in, and records in `state` what it shows.
    fn handle_event(&mut self, event: Value, state: &mut ReaderState);

    /// Whether the program has said what it all came to.
    fn is_finished(&self) -> bool;

    /// What it all came to, when the program has ended.
    fn finish(self: Box<Self>, state: ReaderState, ended: &ProgramEnd) -> AgentResult;
}

/// Reads what a program prints, line by line, while it works.
#[derive(Debug)]
pub struct AgentOutputReader {
    state: ReaderState,
    events: Box<dyn EventReader>,
}

impl AgentOutputReader {
    pub(super) fn new(state: ReaderState, events: impl EventReader + 'static) -> Self {
        Self {
            state,
            events: Box::new(events),
        }
    }

    /// Takes a line in, without its end; the last one may be half a line. What
    /// is not understood is counted, and never a reason to fail.
    pub fn parse_line(&mut self, line: &str, now: Timestamp) -> Vec<OutputEvent> {
        for part in self.state.parse_line(line, now) {
            match part {
                JsonPart::Object(event) => self.events.handle_event(event, &mut self.state),
                JsonPart::Broken => self.state.seen.push(OutputEvent::Unknown),
            }
        }
        std::mem::take(&mut self.state.seen)
    }

    /// The call that is under way, as it was made; none where none is or none is told of
    /// before it is over.
    #[must_use]
    pub fn open_call(&self) -> Option<&AgentCall> {
        self.state.calls.latest()
    }

    /// Whether the program has said what it all came to: it is about to end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.events.is_finished()
    }

    /// What it all came to, when the program has ended.
    #[must_use]
    pub fn finish(self, ended: &ProgramEnd) -> AgentResult {
        self.events.finish(self.state, ended)
    }
}
