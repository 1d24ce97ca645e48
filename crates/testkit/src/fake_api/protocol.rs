//! What each protocol must answer.

use serde_json::Value;

use super::http::{Asked, Reply};
use super::scenario::{Piece, Turn, Usage};

/// How one vendor is spoken.
pub(super) struct Protocol {
    /// The answer to a question that is no turn of the conversation.
    pub(super) aside: fn(&Asked) -> Option<Reply>,
    pub(super) answer: fn(&Asked, &Answer<'_>) -> Reply,
    /// The body of a reply with this status of HTTP.
    pub(super) error: fn(u16) -> Value,
    /// What is replied when the service has enough for so many seconds.
    pub(super) limit: fn(u64) -> Reply,
}

/// What the model answers.
#[derive(Default)]
pub(super) struct Answer<'a> {
    pub(super) pieces: &'a [Piece],
    pub(super) usage: Usage,
    /// Why it ends, where that is not the usual reason.
    pub(super) stop: Option<&'a str>,
    pub(super) delay_ms: u64,
    /// Whether the stream breaks off before its end.
    pub(super) is_cut: bool,
}

impl Protocol {
    pub(super) fn reply(&self, asked: &Asked, turn: &Turn, usage: Usage) -> Reply {
        match turn {
            Turn::Say {
                pieces,
                stop,
                delay_ms,
            } => {
                let answer = Answer {
                    pieces,
                    usage,
                    stop: stop.as_deref(),
                    delay_ms: *delay_ms,
                    is_cut: false,
                };
                (self.answer)(asked, &answer)
            }
            Turn::Cut { pieces } => {
                let answer = Answer {
                    pieces,
                    usage,
                    is_cut: true,
                    ..Answer::default()
                };
                (self.answer)(asked, &answer)
            }
            Turn::Error {
                status,
                headers,
                body,
            } => {
                let body = body.clone().unwrap_or_else(|| (self.error)(*status));
                Reply::json(*status, &body).with(headers)
            }
            Turn::Limit { resets_in_s } => (self.limit)(*resets_in_s),
            Turn::Hang => Reply::hang(),
        }
    }
}
