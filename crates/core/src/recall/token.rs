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
    tokens.extend(family::families_of_pieces(&pieces));
    tokens
}

/// A part of a text before it is judged.
#[derive(Debug)]
pub(super) struct TokenPiece {
    pub(super) text: String,
    pub(super) part: PieceKind,
    said: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// A word, or a part of a name.
    Word,
    /// A name with parts as a whole.
    Whole,
    /// A number.
    Number,
}

/// The words, names and numbers of a line, those that say nothing among them.
pub(super) fn split_pieces(line: &str) -> Vec<TokenPiece> {
    let mut pieces = Vec::new();
    for chunk in line.split(|sign: char| !is_name_char(sign) && !is_joint_char(sign)) {
        let chunk = chunk.trim_matches(is_joint_char);
        let names: Vec<&str> = chunk
            .split(is_joint_char)
            .filter(|name| !name.is_empty())
            .collect();
        if is_date(&names) || is_uuid(&names) {
            continue;
        }
        for name in &names {
            push_name_pieces(name, &mut pieces);
        }
        // A path is known by its last name; as a whole it is of one machine.
        if !chunk.contains(['/', '\\']) {
            for name in chunk.split(|sign| is_joint_char(sign) && sign != '-') {
                if name.trim_matches('-').contains('-')
                    && !is_hash_or_address(&name.replace('-', ""))
                {
                    pieces.push(TokenPiece::from_whole_name(name));
                }
            }
        }
    }
    pieces
}

fn is_name_char(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn is_joint_char(sign: char) -> bool {
    matches!(sign, '-' | '.' | '\'' | '/' | ':' | '@' | '$' | '+' | '\\')
}

fn push_name_pieces(name: &str, pieces: &mut Vec<TokenPiece>) {
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        if (3..=6).contains(&name.len()) {
            pieces.push(TokenPiece {
                text: name.to_owned(),
                part: PieceKind::Number,
                said: name.to_owned(),
            });
        }
        return;
    }
    if is_hash_or_address(name) {
        return;
    }
    let parts = split_name(name);
    if parts.len() > 1 {
        pieces.push(TokenPiece::from_whole_name(name));
    }
    if is_error_code(name) {
        return;
    }
    for part in parts {
        if part.chars().count() >= 2 && !part.starts_with(|sign: char| sign.is_numeric()) {
            let said = part.to_lowercase();
            pieces.push(TokenPiece {
                text: stem(&said),
                part: PieceKind::Word,
                said,
            });
        }
    }
}

impl TokenPiece {
    fn from_whole_name(name: &str) -> Self {
        let signs = name.chars().filter(|sign| sign.is_alphanumeric());
        Self {
            text: signs.flat_map(char::to_lowercase).collect(),
            part: PieceKind::Whole,
            said: name.trim_matches('-').to_owned(),
        }
    }
}

/// The parts of a name: `maxConnections`, `MAX_CONNECTIONS`, `utf8`.
fn split_name(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for run in name.split('_').filter(|run| !run.is_empty()) {
        let signs: Vec<(usize, char)> = run.char_indices().collect();
        let mut start = 0;
        for at in 1..signs.len() {
            let (offset, sign) = signs[at];
            let before = signs[at - 1].1;
            let next = signs.get(at + 1).map(|(_, sign)| *sign);
            let digits = sign.is_numeric() != before.is_numeric();
            let hump = sign.is_uppercase() && before.is_lowercase();
            // The last capital of a row belongs to the word that it begins: `HTTPError`.
            let row_ends = sign.is_uppercase()
                && before.is_uppercase()
                && next.is_some_and(char::is_lowercase);
            if digits || hump || row_ends {
                parts.push(&run[start..offset]);
                start = offset;
            }
        }
        parts.push(&run[start..]);
    }
    parts
}

/// Capital letters and then digits: `E0502`, `TS2322`, `SQLSTATE42P01` is none.
pub(super) fn is_error_code(name: &str) -> bool {
    let digits = name.trim_start_matches(|sign: char| sign.is_ascii_uppercase());
    let letters = name.len() - digits.len();
    (1..=8).contains(&letters)
        && (2..=6).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits of a hash or of an address: at least seven, not all of them letters.
fn is_hash_or_address(name: &str) -> bool {
    let digits = name.strip_prefix("0x").unwrap_or(name);
    digits.len() >= 7
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && digits.bytes().any(|byte| byte.is_ascii_digit())
}

/// `2026-01-31`, with a time behind it or not.
fn is_date(names: &[&str]) -> bool {
    let digits = |name: &str, count: usize| {
        name.len() >= count && name.bytes().take(count).all(|byte| byte.is_ascii_digit())
    };
    match names {
        [year, month, day, ..] => {
            year.len() == 4
                && digits(year, 4)
                && month.len() == 2
                && digits(month, 2)
                && digits(day, 2)
        }
        _ => false,
    }
}

/// A UUID.
fn is_uuid(names: &[&str]) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    names.len() == lengths.len()
        && names.iter().zip(lengths).all(|(name, length)| {
            name.len() == length && name.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

/// Whether a word, in small letters, only holds a sentence together.
pub(super) fn is_stop_word(word: &str) -> bool {
    stop_words().contains(word)
}

/// Whether a stem is that of a word which stands in any text about programs.
pub(super) fn is_common_word(stem: &str) -> bool {
    common_words().contains(stem)
}

/// Whether a word is a date, a hash or a random id: of one run or one machine.
pub(super) fn is_run_specific(word: &str) -> bool {
    let names: Vec<&str> = word.split(is_joint_char).collect();
    is_date(&names) || is_uuid(&names) || is_hash_or_address(word)
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
