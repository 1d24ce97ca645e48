//! What every reader keeps: words, complaints, calls, the time.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use piton_core::trouble::Trouble;
use serde_json::Value;

use super::calls::Calls;
use super::stream::{Part, Stream};
use super::tail::Tail;
use super::{Said, Seen, Verdict, reset, signs};
use crate::answer::{Ended, ending};

/// So much of an agent's words is kept, in bytes: their end.
const WORDS_BYTES: usize = 4 << 20;
/// So much of an error is looked at, in characters.
const ERROR_CHARS: usize = 8_000;

/// A program, as its errors speak of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    /// Itself: `Claude Code`.
    pub(super) program: &'static str,
    /// How one logs in.
    pub(super) login: &'static str,
}

/// What was heard of a program until now.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) name: Name,
    pub(super) zone: TimeZone,
    pub(super) words: Tail,
    pub(super) calls: Calls,
    /// The conversation, once it is known.
    pub(super) conversation: Option<String>,
    pub(super) resets_at: Option<Timestamp>,
    /// When the last line came.
    pub(super) now: Timestamp,
    stream: Stream,
}

impl Heard {
    pub(super) fn new(name: Name, zone: &TimeZone) -> Self {
        Self {
            name,
            zone: zone.clone(),
            words: Tail::new(WORDS_BYTES),
            calls: Calls::default(),
            conversation: None,
            resets_at: None,
            now: Timestamp::UNIX_EPOCH,
            stream: Stream::new(),
        }
    }

    pub(super) fn take(&mut self, line: &str, now: Timestamp) -> Vec<Part> {
        self.now = now;
        self.stream.take(line)
    }

    /// Takes the id of the conversation in, where it is new.
    pub(super) fn conversation(&mut self, id: &Value, seen: &mut Vec<Seen>) {
        let Some(id) = id.as_str().filter(|id| !id.is_empty()) else {
            return;
        };
        if self.conversation.as_deref() != Some(id) {
            self.conversation = Some(id.to_owned());
            seen.push(Seen::Conversation(id.to_owned()));
        }
    }

    /// When the service serves again, by these words.
    pub(super) fn reset(&self, words: &str) -> Option<Timestamp> {
        reset::time(signs::first_chars(words, ERROR_CHARS), self.now, &self.zone)
    }

    /// What the complaints come to, where the program gave no result.
    pub(super) fn without_result(self, ended: &Ended, known: Option<Trouble>) -> Said {
        let (words, notes) = (self.words, self.stream.into_notes());
        let complaint = signs::complaint(&notes).map(|line| signs::first_chars(line, ERROR_CHARS));
        // Whoever is killed has no time to say why, and what it complained of
        // before is not the reason.
        let trouble = known.or_else(|| {
            let left_by_itself = signal_of(ended).is_none();
            left_by_itself
                .then(|| signs::trouble_of(complaint?))
                .flatten()
        });
        let error = match complaint {
            Some(complaint) => complaint.to_owned(),
            None => format!(
                "{} ended with {} and gave no result",
                self.name.program,
                ending(ended)
            ),
        };
        let resets_at = self.resets_at.or_else(|| {
            (trouble == Some(Trouble::RateLimit))
                .then(|| reset::time(&notes, self.now, &self.zone))
                .flatten()
        });
        Said {
            words: words.into_string(),
            error: Some(match trouble {
                Some(trouble) => {
                    signs::sentence(trouble, &error, self.name.program, self.name.login)
                }
                None => error,
            }),
            trouble,
            resets_at,
            ..Said::default()
        }
    }

    /// What a result that says that it failed comes to.
    pub(super) fn failed(self, trouble: Trouble, error: &str) -> Said {
        let error = signs::first_chars(error.trim(), ERROR_CHARS);
        let told = self.resets_at.or_else(|| self.reset(error));
        let notes = self.stream.into_notes();
        let resets_at = (trouble == Trouble::RateLimit)
            .then(|| told.or_else(|| reset::time(&notes, self.now, &self.zone)))
            .flatten();
        let error = match error {
            "" => format!("{} says that it failed, and not why", self.name.program),
            error => error.to_owned(),
        };
        Said {
            verdict: Verdict::Failed,
            words: self.words.into_string(),
            error: Some(signs::sentence(
                trouble,
                &error,
                self.name.program,
                self.name.login,
            )),
            trouble: Some(trouble),
            resets_at,
            ..Said::default()
        }
    }

    /// What a result that says that all is well comes to.
    pub(super) fn succeeded(self) -> Said {
        Said {
            verdict: Verdict::Succeeded,
            words: self.words.into_string(),
            ..Said::default()
        }
    }
}

/// The signal that ended a program, by itself or as a shell says it.
pub(super) fn signal_of(ended: &Ended) -> Option<i32> {
    // Only those that end programs: other statuses above 128 mean something
    // else, with Gemini CLI a status of HTTP.
    ended.signal.or_else(|| {
        ended
            .code
            .map(|code| code - 128)
            .filter(|signal| matches!(signal, 1 | 2 | 3 | 6 | 9 | 11 | 15))
    })
}
