//! Names for criteria.

use std::collections::{HashMap, HashSet};

/// How long a name made of a text gets.
const CHARS_MAX: usize = 40;

/// Splits `**[3]** text` (or `[3] text`, `**3** text` is none) into the text
/// and what stands in the brackets.
pub(super) fn split_bracketed(text: &str) -> (String, Option<String>) {
    let parts = text
        .strip_prefix("**[")
        .and_then(|rest| rest.split_once("]**"));
    match parts {
        Some((id, rest)) if is_name(id) => {
            let rest = rest.trim_start_matches([':', ' ', '\t']);
            (rest.to_owned(), Some(id.to_owned()))
        }
        Some(_) | None => (text.to_owned(), None),
    }
}

/// The id that a text begins with, if any.
pub(super) fn find_given_id(text: &str) -> Option<String> {
    let (_, bracketed) = split_bracketed(text);
    let short = task_id(text).or_else(|| dotted_id(text));
    let short = short.map(str::to_owned);
    bracketed.or_else(|| leading_id(text).map(slugify).or(short))
}

/// The signs of emphasis: lists write `**T012** text` as well as `T012 text`.
pub(super) const EMPHASIS: [char; 2] = ['*', '`'];

/// `T012` of `T012 [P] text`: a `T`, digits, and a small letter at most. Before a colon
/// it has three digits at least: `T1: text` is met in other lists.
pub(super) fn task_id(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(EMPHASIS);
    let digits = text.strip_prefix('T')?;
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &digits[count..];
    let rest = rest
        .strip_prefix(|c: char| c.is_ascii_lowercase())
        .unwrap_or(rest);
    let behind = rest.trim_start_matches(EMPHASIS);
    let is_whole = match behind.bytes().next() {
        None | Some(b' ' | b'\t') => count > 0,
        Some(b':') => count >= 3,
        Some(_) => false,
    };
    is_whole.then(|| &text[..text.len() - rest.len()])
}

/// `1.2` of `1.2 text` and of `1.2. text`, `3` of `3. text`. A number without a dot is
/// a word of the text.
pub(super) fn dotted_id(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(EMPHASIS);
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let rest = rest.trim_start_matches(EMPHASIS);
    let id = number.strip_suffix('.').unwrap_or(number);
    let is_number = number.contains('.')
        && id
            .split('.')
            .all(|part| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()));
    (is_number && rest.starts_with([' ', '\t'])).then_some(id)
}

/// The id that a text begins with, else one made of its words.
pub(super) fn id_of_text(text: &str) -> String {
    match leading_id(text) {
        Some(id) => slugify(id),
        None => slugify(text),
    }
}

/// `WD-01` of `WD-01: text`, `AC-3` of `AC-3 - text`, `T7` of `**T7**: text`.
pub(super) fn leading_id(text: &str) -> Option<&str> {
    let bare = text.trim_start_matches(['*', '`', '[']);
    let end = bare
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .unwrap_or(bare.len());
    let id = bare[..end].trim_end_matches('.');
    let rest = bare[id.len()..].trim_start_matches(['*', '`', ']']);
    let parted = rest.starts_with(':')
        || [" - ", " – ", " — "]
            .iter()
            .any(|dash| rest.starts_with(dash));
    let starts_well = id.starts_with(|c: char| c.is_ascii_alphabetic());
    let has_digit = id.bytes().any(|byte| byte.is_ascii_digit());
    (parted && starts_well && has_digit && is_name(id)).then_some(id)
}

pub(super) fn is_name(id: &str) -> bool {
    (1..=CHARS_MAX).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && id.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Lower-case ASCII letters and digits with `-` between; for a text that has
/// none, a name made of a hash, which a line put in above does not change.
pub(super) fn slugify(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() >= CHARS_MAX {
            break;
        }
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() {
        return format!("c-{:08x}", hash(text));
    }
    out.to_owned()
}

/// FNV-1a.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// The names that are given already.
#[derive(Default)]
pub(super) struct UniqueIds {
    taken: HashSet<String>,
    /// How often a name was wished for, so that a thousand of one kind do not
    /// ask for each number in turn.
    wishes: HashMap<String, usize>,
}

impl UniqueIds {
    pub(super) fn make_unique(&mut self, wish: String) -> String {
        if self.taken.insert(wish.clone()) {
            return wish;
        }
        let count = self.wishes.entry(wish.clone()).or_insert(1);
        loop {
            *count += 1;
            let suffix = format!("-{count}");
            let keep = wish.len().min(CHARS_MAX.saturating_sub(suffix.len()));
            let name = format!("{}{suffix}", wish[..keep].trim_end_matches('-'));
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
