//! What is remembered, made of tokens: what a store keeps for finding it.

use std::collections::BTreeMap;

use super::code::{ToolErrorCode, parse_error_codes};
use super::meaning::MeaningMarkers;
use super::token::{TokenKind, tokenize};
use crate::memory::Memory;

/// How much a word of a title counts beside one of the content.
const TITLE: f64 = 2.0;
/// How much a word of the context does: often it only says where it was learned.
const CONTEXT: f64 = 0.3;
/// How long a word is, in tenths, and one of the context.
const WORD_TENTHS: u64 = 10;
const CONTEXT_TENTHS: u64 = 3;

/// Something remembered, as its tokens.
///
/// Made once, when it is recorded, and stored; a recall makes none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryDocument {
    weights: BTreeMap<String, f64>,
    /// In tenths of a word, so that sums are the same in every order.
    tenths: u64,
    pub(super) codes: Vec<ToolErrorCode>,
    /// Of no use for finding, and not stored: for telling whether two say the same.
    pub(super) sense: MeaningMarkers,
}

impl MemoryDocument {
    /// The tokens of what is remembered.
    #[must_use]
    pub fn from_fields(title: &str, content: &str, context: &str) -> Self {
        let mut document = Self::default();
        document.add_text(title, TITLE, WORD_TENTHS);
        document.add_text(content, 1.0, WORD_TENTHS);
        document.add_text(context, CONTEXT, CONTEXT_TENTHS);
        document.codes = parse_error_codes([title, content].into_iter());
        document.sense = MeaningMarkers::from_texts(&[title, content]);
        document
    }

    fn add_text(&mut self, text: &str, weight: f64, tenths: u64) {
        for token in split_sentences(text).flat_map(tokenize) {
            if matches!(token.kind, TokenKind::Word | TokenKind::Common) {
                self.tenths += tenths;
            }
            *self.weights.entry(token.text).or_default() += weight;
        }
    }

    /// The tokens that it holds: what a store indexes and counts.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.weights.keys().map(String::as_str)
    }

    /// The tokens of something remembered. What has no title begins with its
    /// content.
    #[must_use]
    pub fn from_memory(memory: &Memory) -> Self {
        let said = |text: &Option<String>| text.clone().unwrap_or_default();
        Self::from_fields(
            &said(&memory.title),
            &memory.content,
            &said(&memory.context),
        )
    }

    /// How long it is, in words.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no text has 2^52 words")]
    pub fn length_in_words(&self) -> f64 {
        self.tenths as f64 / 10.0
    }

    /// How long it is, in tenths of a word.
    #[must_use]
    pub fn length_in_tenths(&self) -> u64 {
        self.tenths
    }

    /// As a store keeps it: the length, the codes as JSON, then a line for each
    /// token with what it weighs. See `docs/formats/journal.md`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let codes = serde_json::to_string(&self.codes).unwrap_or_default();
        let mut text = format!("{}\n{codes}\n", self.tenths);
        for (token, weight) in &self.weights {
            text.push_str(&format!("{token} {weight}\n"));
        }
        text
    }

    /// What [`MemoryDocument::to_text`] made, with the tokens alone that `asks` for:
    /// one that lacks others answers the same. None for a text that is none.
    #[must_use]
    pub fn parse_with_tokens(text: &str, asks: impl Fn(&str) -> bool) -> Option<Self> {
        let mut lines = text.lines();
        let tenths = lines.next()?.parse().ok()?;
        let codes = serde_json::from_str(lines.next()?).ok()?;
        let mut weights = BTreeMap::new();
        for line in lines {
            let (token, weight) = line.split_once(' ')?;
            if asks(token) {
                weights.insert(token.to_owned(), weight.parse().ok()?);
            }
        }
        Some(Self {
            weights,
            tenths,
            codes,
            sense: MeaningMarkers::default(),
        })
    }

    /// Whether title or content hold a token: in the context it counts less.
    pub(super) fn has_outside_context(&self, token: &str) -> bool {
        self.token_weight(token) >= 1.0
    }

    /// How often it holds a token, where that in a title counts more.
    pub(super) fn token_weight(&self, token: &str) -> f64 {
        self.weights.get(token).copied().unwrap_or_default()
    }
}

/// Sentences, or what stands for them: neighbours across their borders say nothing.
fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
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
        let found = split_sentences("use a.b: it is v1.2. Then c\nd").filter(|s| !s.is_empty());
        let found: Vec<&str> = found.map(str::trim).collect();
        assert_eq!(found, ["use a.b:", "it is v1.2.", "Then c", "d"]);
    }

    #[test]
    fn a_document_is_read_as_it_was_stored() {
        let document = MemoryDocument::from_fields(
            "E0382 in café",
            "use of a moved value: `lot-7`",
            "src/a.rs",
        );
        let text = document.to_text();
        let read = MemoryDocument::parse_with_tokens(&text, |_| true).expect("a document");
        assert_eq!(read.to_text(), text);
        let asked =
            MemoryDocument::parse_with_tokens(&text, |token| token == "lot").expect("a document");
        assert_eq!(asked.length_in_tenths(), document.length_in_tenths());
        assert!(asked.tokens().count() <= 1);
        for token in document.tokens() {
            assert!(!token.contains(char::is_whitespace), "{token:?}");
        }
        assert_eq!(
            MemoryDocument::parse_with_tokens("no document", |_| true),
            None
        );
    }

    #[test]
    fn a_title_says_more_than_a_context() {
        let document = MemoryDocument::from_fields("lock", "pool", "cart");
        assert!(document.token_weight("lock") > document.token_weight("pool"));
        assert!(document.token_weight("pool") > document.token_weight("cart"));
    }
}
