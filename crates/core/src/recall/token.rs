//! What a text is made of, for finding it again.
//!
//! The same tokens come of a query and of what is remembered: words by their
//! stems, identifiers whole and by their parts, neighbours joined (so that
//! `health check`, `health-check` and `healthcheck` meet), numbers that may be
//! codes, and the families of ways to say one thing. Nothing here weighs: how
//! much a kind counts stands in [`TokenKind::weight`], how rare a token is, the
//! store knows.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::family;
use super::piece::{PieceKind, TokenPiece, split_pieces};
use super::stem::stem;

/// What kind of token it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenKind {
    /// A name with parts, or a code: `max_connections`, `E0382`.
    Identifier,
    /// A word.
    Word,
    /// A family of ways to say one thing: `=timeout`.
    Family,
    /// Two words that stand together.
    Pair,
    /// A number of three to six digits.
    Number,
    /// A word that stands in any text about programs.
    Common,
}

impl TokenKind {
    /// How much one of this kind counts, beside a word. The order was known
    /// before; the figures are round and hardly matter: doubling or halving
    /// one of them moves recall by less than a hundredth.
    #[must_use]
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Identifier => 1.3,
            Self::Word => 1.0,
            Self::Family => 0.7,
            Self::Pair | Self::Number => 0.5,
            Self::Common => 0.35,
        }
    }

    /// Whether it is a word or a name that the text itself holds.
    pub(crate) fn is_literal(self) -> bool {
        matches!(self, Self::Identifier | Self::Word | Self::Common)
    }
}

/// One token of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallToken {
    /// What is compared.
    pub text: String,
    /// What kind it is.
    pub kind: TokenKind,
    /// How the text has it.
    pub said: String,
}

/// The tokens of a line, in its order.
#[must_use]
pub fn tokenize(line: &str) -> Vec<RecallToken> {
    let pieces = split_pieces(line);
    let mut tokens = Vec::with_capacity(pieces.len() * 2);
    let mut before: Option<&TokenPiece> = None;
    for piece in &pieces {
        let kind = match piece.part {
            PieceKind::Whole => TokenKind::Identifier,
            PieceKind::Number => TokenKind::Number,
            PieceKind::Word if stop_words().contains(piece.said.as_str()) => continue,
            PieceKind::Word if common_words().contains(&piece.text) => TokenKind::Common,
            PieceKind::Word => TokenKind::Word,
        };
        tokens.push(RecallToken {
            text: piece.text.clone(),
            kind,
            said: piece.said.clone(),
        });
        if kind == TokenKind::Identifier {
            continue;
        }
        if let Some(first) = before
            && !(kind == TokenKind::Common && common_words().contains(&first.text))
        {
            tokens.push(RecallToken {
                text: format!("{}{}", first.text, piece.text),
                kind: TokenKind::Pair,
                said: format!("{} {}", first.said, piece.said),
            });
        }
        before = Some(piece);
    }
    tokens.extend(family::families_of_pieces(&pieces).map(|name| RecallToken {
        text: format!("={name}"),
        kind: TokenKind::Family,
        said: name.replace('-', " "),
    }));
    tokens
}

/// Whether a word, in small letters, only holds a sentence together.
pub(super) fn is_stop_word(word: &str) -> bool {
    stop_words().contains(word)
}

/// Whether a stem is that of a word which stands in any text about programs.
pub(super) fn is_common_word(stem: &str) -> bool {
    common_words().contains(stem)
}

/// Words that hold a sentence together.
fn stop_words() -> &'static HashSet<&'static str> {
    static WORDS: OnceLock<HashSet<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| include_str!("stop_words.txt").split_whitespace().collect())
}

/// Stems of words that stand in any text about programs.
fn common_words() -> &'static HashSet<String> {
    static STEMS: OnceLock<HashSet<String>> = OnceLock::new();
    STEMS.get_or_init(|| {
        include_str!("everyday.txt")
            .split_whitespace()
            .map(stem)
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, kind: TokenKind, expected: &[&str]) {
        let all = tokenize(line);
        let found = all.iter().filter(|token| token.kind == kind);
        let found: Vec<&str> = found.map(|token| token.text.as_str()).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn a_name_is_kept_whole_and_in_parts() {
        for name in ["maxConnections", "MAX_CONNECTIONS", "max-connections"] {
            check(name, TokenKind::Identifier, &["maxconnections"]);
            check(name, TokenKind::Word, &["max", "connect"]);
        }
        check("HTTPServerError", TokenKind::Word, &["server"]);
    }

    #[test]
    fn neighbours_meet_the_word_that_they_make() {
        check("health check", TokenKind::Pair, &["healthcheck"]);
        check("healthcheck", TokenKind::Word, &["healthcheck"]);
        check("test the file", TokenKind::Pair, &[]);
    }

    #[test]
    fn a_code_is_one_thing() {
        check(
            "error[E0382]: TS2322",
            TokenKind::Identifier,
            &["e0382", "ts2322"],
        );
        check("error[E0382]", TokenKind::Word, &[]);
    }

    #[test]
    fn what_is_of_one_run_or_one_machine_goes() {
        let line =
            "2026-01-31T10:00:00Z 3f2a91bc04 9f1c2d3e-0001-4abc-8def-0123456789ab 0x7ffdc0de";
        assert_eq!(tokenize(line), []);
        check("/src/app/retry.rs:12:7", TokenKind::Identifier, &[]);
        check("/src/app/retry.rs:12:7", TokenKind::Word, &["retri"]);
    }

    #[test]
    fn numbers_that_may_be_codes_stay() {
        check("returned 401 after 12 s", TokenKind::Number, &["401"]);
    }

    #[test]
    fn ways_to_say_one_thing_meet() {
        check(
            "listen EADDRINUSE: :::8080",
            TokenKind::Family,
            &["=addr-in-use"],
        );
        check(
            "Address already in use",
            TokenKind::Family,
            &["=addr-in-use"],
        );
    }

    #[test]
    fn other_alphabets_are_words_too() {
        check(
            "Größe überschritten",
            TokenKind::Word,
            &["größe", "überschritten"],
        );
    }
}
