//! The words, names and numbers of a text, before they are judged.

use super::stem::stem;

/// A part of a text before it is judged.
#[derive(Debug)]
pub(super) struct TokenPiece {
    pub(super) text: String,
    pub(super) part: PieceKind,
    pub(super) said: String,
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

/// Whether a word is a date, a hash or a random id: of one run or one machine.
pub(super) fn is_run_specific(word: &str) -> bool {
    let names: Vec<&str> = word.split(is_joint_char).collect();
    is_date(&names) || is_uuid(&names) || is_hash_or_address(word)
}
