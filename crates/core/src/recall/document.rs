//! What is remembered, made of tokens: what a store keeps for finding it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::code::{Code, codes};
use super::sense::Sense;
use super::token::{Kind, tokens};

/// How much a word of a title counts beside one of the content.
const TITLE: f64 = 2.0;
/// How much a word of the context does: often it only says where somebody was.
const CONTEXT: f64 = 0.3;

/// Something remembered, as its tokens.
///
/// Made once, when it is recorded, and stored; a recall makes none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    weights: BTreeMap<String, f64>,
    length: f64,
    pub(super) codes: Vec<Code>,
    /// Of no use for finding; for telling whether two say the same.
    #[serde(default, skip_serializing_if = "Sense::is_empty")]
    pub(super) sense: Sense,
}

impl Document {
    /// The tokens of what is remembered.
    #[must_use]
    pub fn of(title: &str, content: &str, context: &str) -> Self {
        let mut document = Self::default();
        document.take(title, TITLE, 1.0);
        document.take(content, 1.0, 1.0);
        document.take(context, CONTEXT, CONTEXT);
        document.codes = codes([title, content].into_iter());
        document.sense = Sense::of(&[title, content]);
        document
    }

    fn take(&mut self, text: &str, weight: f64, length: f64) {
        for token in sentences(text).flat_map(tokens) {
            if matches!(token.kind, Kind::Word | Kind::Common) {
                self.length += length;
            }
            *self.weights.entry(token.text).or_default() += weight;
        }
    }

    /// The tokens that it holds: what a store indexes and counts.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.weights.keys().map(String::as_str)
    }

    /// How long it is, in words.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Whether title or content hold a token: in the context it counts less.
    pub(super) fn says(&self, token: &str) -> bool {
        self.weight(token) >= 1.0
    }

    /// How often it holds a token, where that in a title counts more.
    pub(super) fn weight(&self, token: &str) -> f64 {
        self.weights.get(token).copied().unwrap_or_default()
    }
}

/// Sentences, or what stands for them: neighbours across their borders say nothing.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        line.split_inclusive(['.', ';', ':', '!', '?']).scan(
            (line, 0, 0),
            |(line, start, at), piece| {
                *at += piece.len();
                let ends = line[*at..].is_empty() || line[*at..].starts_with(char::is_whitespace);
                if !ends {
                    return Some("");
                }
                let sentence = &line[*start..*at];
                *start = *at;
                Some(sentence)
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_before_a_blank() {
        let found = sentences("use a.b: it is v1.2. Then c\nd").filter(|s| !s.is_empty());
        let found: Vec<&str> = found.map(str::trim).collect();
        assert_eq!(found, ["use a.b:", "it is v1.2.", "Then c", "d"]);
    }

    #[test]
    fn a_title_says_more_than_a_context() {
        let document = Document::of("lock", "pool", "cart");
        assert!(document.weight("lock") > document.weight("pool"));
        assert!(document.weight("pool") > document.weight("cart"));
    }
}
