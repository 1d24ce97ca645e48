//! Private keys between their lines of dashes.

use std::ops::Range;

use super::SecretRange;
use super::assignments::is_quote;
use super::plain_text::{COLOUR, MARK, PlainText};

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
/// The line that a key begins with is no longer than that.
const HEADER_BYTES_MAX: usize = 80;

/// Finds the private keys of a text, also where their end is cut off.
pub(super) fn find_private_keys(text: &PlainText<'_>, found: &mut Vec<SecretRange<'_>>) {
    let mut at = 0;
    while let Some(begin) = find_begin(text, at) {
        let body = body_of_key(text, begin);
        at = body.end;
        let is_edge =
            |byte: &u8| byte.is_ascii_whitespace() || matches!(*byte, COLOUR | MARK | b'\\' | b'+');
        let bytes = &text.bytes()[body.clone()];
        let before = bytes.iter().take_while(|byte| is_edge(byte)).count();
        let behind = bytes[before..]
            .iter()
            .rev()
            .take_while(|byte| is_edge(byte))
            .count();
        let range = body.start + before..body.end - behind;
        let is_hidden = text.bytes()[range.clone()]
            .iter()
            .all(|byte| matches!(*byte, b'.' | b'*' | b'x' | b'X'));
        if !is_hidden {
            found.push(SecretRange {
                name: "private-key",
                range,
            });
        }
    }
}

/// Whether a private key begins in a text and does not end in it.
#[must_use]
pub fn has_open_private_key(text: &str) -> bool {
    let text = PlainText::decode(text);
    let mut at = 0;
    let mut is_open = false;
    while let Some(begin) = find_begin(&text, at) {
        let body = body_of_key(&text, begin);
        is_open = body.end == text.bytes().len();
        at = body.end;
    }
    is_open
}

/// Behind the next first line of a private key.
fn find_begin(text: &PlainText<'_>, mut at: usize) -> Option<usize> {
    let bytes = text.bytes();
    loop {
        let dash = bytes[at..].iter().position(|byte| *byte == b'-')?;
        at += dash;
        let Some(header) = bytes[at..].strip_prefix(BEGIN) else {
            at += 1;
            continue;
        };
        at += BEGIN.len();
        let header = &header[..header.len().min(HEADER_BYTES_MAX)];
        let Some(end) = header.windows(5).position(|dashes| dashes == b"-----") else {
            continue;
        };
        let label = &header[..end];
        let is_label = label
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ');
        if is_label && (label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK")) {
            return Some(at + end + 5);
        }
    }
}

/// What stands behind the first line of a key up to its last one, to the end of
/// the string that it stands in, or to the end of the text.
fn body_of_key(text: &PlainText<'_>, begin: usize) -> Range<usize> {
    let bytes = text.bytes();
    let rest = bytes[begin..].iter().enumerate();
    let mut ends = rest.filter(|(offset, byte)| {
        is_quote(**byte)
            || matches!(**byte, b'<' | b'>')
            || (**byte == b'-' && bytes[begin + offset..].starts_with(END))
    });
    begin
        ..ends
            .next()
            .map_or(bytes.len(), |(offset, _)| begin + offset)
}
