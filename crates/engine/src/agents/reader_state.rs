//! What every reader keeps: words, complaints, calls, the time.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use piton_core::attempt::Conversation;
use piton_core::call::AgentCall;
use piton_core::trouble::Trouble;
use serde_json::Value;

use super::calls::OpenCalls;
use super::known_program::ProgramName;
use super::signs::ERROR_CHARS;
use super::stream::{JsonPart, JsonStream};
use super::tail::TextTail;
use super::{AgentResult, OutputEvent, ProgramVerdict, RETURNED_CHARS_MAX, reset, signs};
use crate::agents::answer::{ProgramEnd, describe_end};

/// So much of an agent's words is kept, in bytes: their end.
const WORDS_BYTES: usize = 4 << 20;

/// What was heard of a program until now.
#[derive(Debug)]
pub(super) struct ReaderState {
    pub(super) name: ProgramName,
    pub(super) zone: TimeZone,
    pub(super) words: TextTail,
    pub(super) calls: OpenCalls,
    /// The conversation, once it is known.
    pub(super) conversation: Option<String>,
    pub(super) resets_at: Option<Timestamp>,
    /// How many calls were not permitted.
    pub(super) denied: u32,
    /// What the line that is being read shows.
    pub(super) seen: Vec<OutputEvent>,
    /// When the last line came.
    pub(super) now: Timestamp,
    stream: JsonStream,
}

impl ReaderState {
    pub(super) fn new(name: ProgramName, zone: &TimeZone) -> Self {
        Self {
            name,
            zone: zone.clone(),
            words: TextTail::new(WORDS_BYTES),
            calls: OpenCalls::default(),
            conversation: None,
            resets_at: None,
            denied: 0,
            seen: Vec::new(),
            now: Timestamp::UNIX_EPOCH,
            stream: JsonStream::new(),
        }
    }

    pub(super) fn parse_line(&mut self, line: &str, now: Timestamp) -> Vec<JsonPart> {
        self.now = now;
        self.stream.parse_line(line)
    }

    /// Takes the id of the conversation in, where it is new.
    pub(super) fn record_conversation(&mut self, id: &Value) {
        let Some(id) = id.as_str().filter(|id| !id.is_empty()) else {
            return;
        };
        if self.conversation.as_deref() != Some(id) {
            self.conversation = Some(id.to_owned());
            self.seen.push(OutputEvent::Conversation(id.to_owned()));
        }
    }

    /// Takes words of the agent in.
    pub(super) fn record_words(&mut self, text: &str) {
        self.words.push_lines(text);
        self.seen.push(OutputEvent::Said(text.to_owned()));
    }

    /// Takes a call in that is over, with all that it gave.
    pub(super) fn record_call(&mut self, call: AgentCall, output: &str) {
        self.seen.push(OutputEvent::Called(AgentCall {
            bytes: Some(output.len() as u64),
            ..call
        }));
        self.record_output(output);
    }

    /// Takes in what the call before gave.
    pub(super) fn record_output(&mut self, output: &str) {
        let begin = signs::first_chars(output, RETURNED_CHARS_MAX);
        self.seen.push(OutputEvent::Returned(begin.to_owned()));
    }

    /// When an event happened, by its `timestamp`, else when its line came.
    pub(super) fn event_time(&self, event: &Value) -> Timestamp {
        let told = event["timestamp"].as_str().and_then(|at| at.parse().ok());
        told.unwrap_or(self.now)
    }

    /// When the service serves again, by these words.
    pub(super) fn reset_time(&self, words: &str) -> Option<Timestamp> {
        reset::find_reset_time(signs::first_chars(words, ERROR_CHARS), self.now, &self.zone)
    }

    /// What the complaints come to, where the program gave no result.
    pub(super) fn into_missing_result(
        self,
        ended: &ProgramEnd,
        known: Option<Trouble>,
    ) -> AgentResult {
        let (words, notes) = (self.words, self.stream.into_notes());
        let complaint =
            signs::find_complaint(&notes).map(|line| signs::first_chars(line, ERROR_CHARS));
        // An agent that is killed has no time to say why, and what it complained of
        // before is not the reason.
        let trouble = known.or_else(|| {
            let left_by_itself = terminating_signal(ended).is_none();
            left_by_itself
                .then(|| signs::trouble_of_text(complaint?))
                .flatten()
        });
        let error = match complaint {
            Some(complaint) => complaint.to_owned(),
            None => format!(
                "{} ended with {} and gave no result",
                self.name.title,
                describe_end(ended)
            ),
        };
        let resets_at = self.resets_at.or_else(|| {
            (trouble == Some(Trouble::RateLimit))
                .then(|| reset::find_reset_time(&notes, self.now, &self.zone))
                .flatten()
        });
        AgentResult {
            words: words.into_string(),
            error: Some(match trouble {
                Some(trouble) => {
                    signs::describe_error(trouble, &error, self.name.title, self.name.login)
                }
                None => error,
            }),
            trouble,
            resets_at,
            conversation: self.conversation.map(into_conversation),
            denied: self.denied,
            ..AgentResult::default()
        }
    }

    /// What a result that says that it failed comes to.
    pub(super) fn into_failed_result(self, trouble: Trouble, error: &str) -> AgentResult {
        let error = signs::first_chars(error.trim(), ERROR_CHARS);
        let told = self.resets_at.or_else(|| self.reset_time(error));
        let notes = self.stream.into_notes();
        let resets_at = (trouble == Trouble::RateLimit)
            .then(|| told.or_else(|| reset::find_reset_time(&notes, self.now, &self.zone)))
            .flatten();
        let error = match error {
            "" => format!("{} says that it failed, and not why", self.name.title),
            error => error.to_owned(),
        };
        AgentResult {
            verdict: ProgramVerdict::Failed,
            words: self.words.into_string(),
            error: Some(signs::describe_error(
                trouble,
                &error,
                self.name.title,
                self.name.login,
            )),
            trouble: Some(trouble),
            resets_at,
            conversation: self.conversation.map(into_conversation),
            denied: self.denied,
            ..AgentResult::default()
        }
    }

    /// What a result that says that all is well comes to.
    pub(super) fn into_success_result(self) -> AgentResult {
        AgentResult {
            verdict: ProgramVerdict::Succeeded,
            words: self.words.into_string(),
            trouble: (self.denied > 0).then_some(Trouble::Permission),
            conversation: self.conversation.map(into_conversation),
            denied: self.denied,
            ..AgentResult::default()
        }
    }
}

fn into_conversation(id: String) -> Conversation {
    Conversation {
        id,
        ..Conversation::default()
    }
}

/// The signal that ended a program, by itself or as a shell says it.
pub(super) fn terminating_signal(ended: &ProgramEnd) -> Option<i32> {
    // Only those that end programs: other statuses above 128 mean something
    // else, with Gemini CLI a status of HTTP.
    ended.signal.or_else(|| {
        ended
            .code
            .map(|code| code - 128)
            .filter(|signal| matches!(signal, 1 | 2 | 3 | 6 | 9 | 11 | 15))
    })
}
