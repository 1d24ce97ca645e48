//! What keeps a text from being YAML, in words for people.

use granit_parser::ScanError;

use crate::tree::{DEPTH_MAX, Span, SyntaxFault};

pub(super) const TAB: &str = "a tab where YAML allows only spaces";
pub(super) const TAB_HINT: &str = "indent with spaces";

pub(super) fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The place of one byte.
pub(super) fn span_at(text: &str, at: usize) -> Span {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Span {
        start: at,
        end: text[at..].chars().next().map_or(at, |c| at + c.len_utf8()),
        line: to_u32(before.matches('\n').count() + 1),
        column: to_u32(before[line_start..].chars().count() + 1),
    }
}

/// The first character that YAML does not allow anywhere.
pub(super) fn find_unprintable(text: &str) -> Option<SyntaxFault> {
    let bad = |c: char| {
        matches!(c,
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\x7f'..='\u{84}'
            | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
    };
    // Bytes first: a search over characters costs as much as the parsing.
    let suspicious = text.bytes().any(|b| {
        (b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r')) || matches!(b, 0x7f | 0xc2 | 0xef)
    });
    if !suspicious {
        return None;
    }
    let (at, c) = text.char_indices().find(|(_, c)| bad(*c))?;
    Some(SyntaxFault {
        span: span_at(text, at),
        message: format!("the control character U+{:04X}", u32::from(c)),
        hint: "write it as an escape within double quotes, or check that this is a text file"
            .to_owned(),
    })
}

pub(super) fn syntax_fault(text: &str, error: &ScanError) -> SyntaxFault {
    let marker = error.marker();
    let start = marker.byte_offset().unwrap_or(text.len()).min(text.len());
    let span = Span {
        start,
        end: text
            .get(start..)
            .and_then(|rest| rest.chars().next())
            .map_or(start, |c| start + c.len_utf8()),
        line: to_u32(marker.line()),
        column: to_u32(marker.col() + 1),
    };
    let kind = format!("{:?}", error.kind());
    let name = kind.split([' ', '(', '{']).next().unwrap_or_default();
    let tab = find_leading_tab(text, start);
    let (message, hint) = if tab.is_some() || name.contains("Tab") {
        (TAB.to_owned(), TAB_HINT)
    } else {
        explain_error(name)
    };
    SyntaxFault {
        span: tab.map_or(span, |at| span_at(text, at)),
        message,
        hint: hint.to_owned(),
    }
}

/// Words for a syntax error, from its name in the parser.
fn explain_error(name: &str) -> (String, &'static str) {
    match name {
        "RecursionLimitExceeded" => (
            format!("nested deeper than {DEPTH_MAX} levels"),
            "flatten the structure",
        ),
        "UnknownAnchor" => (
            "an alias to an anchor that is not defined above it".to_owned(),
            "define it with `&name` above, or quote the text if its `*` is meant literally",
        ),
        "UnclosedQuotedScalar" => (
            "a quote that is never closed".to_owned(),
            "close it, or use a `|` block for text of several lines",
        ),
        "UnclosedFlowCollection"
        | "UnexpectedEofFlowSequence"
        | "UnexpectedEofFlowMapping"
        | "UnexpectedEofImplicitFlowMapping"
        | "ExpectedFlowSequenceSeparator"
        | "ExpectedFlowMappingSeparator" => (
            "a `[` or `{` whose end is missing".to_owned(),
            "close it, or quote the text if the bracket is meant literally",
        ),
        "MappingValueNotAllowed" | "InvalidColonPlacement" | "InvalidMappingValueWhitespace" => (
            "a `: ` inside a text that is not quoted".to_owned(),
            "put the text in quotes, or write it as a `|` block",
        ),
        "InvalidQuotedScalarIndent" => (
            "a line of a quoted text that is not indented deeper than its key".to_owned(),
            "indent the line, or write the text as a `|` block",
        ),
        "CommentNotSeparated" => (
            "a `#` that touches the value before it".to_owned(),
            "put a blank before the `#`",
        ),
        "UnknownQuotedScalarEscape" => (
            "an escape that YAML does not know".to_owned(),
            "write `\\\\` for a backslash, or use single quotes",
        ),
        "UnexpectedCharacter" => (
            "a character that cannot start a text without quotes".to_owned(),
            "put the text in quotes",
        ),
        "SimpleKeyExpected" | "InvalidSimpleKey" => (
            "a line that is neither `key: value` nor part of a text".to_owned(),
            "add the missing `:`, or indent the line as part of the text above",
        ),
        "ExpectedBlockMappingKey"
        | "ExpectedBlockSequenceEntry"
        | "InvalidIndentation"
        | "BlockSequenceEntryNotAllowed"
        | "MappingKeyNotAllowed"
        | "InvalidBlockScalarIndent"
        | "InvalidFlowScalarIndent" => (
            "an indentation that fits nothing above it".to_owned(),
            "align the line with its neighbours of the same level",
        ),
        _ => (
            format!("not YAML: {}", split_camel_case(name)),
            "correct the syntax at this place",
        ),
    }
}

/// The first tab in the indentation of the line of a byte.
fn find_leading_tab(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let blanks = text[start..]
        .bytes()
        .take_while(|b| matches!(b, b' ' | b'\t'));
    blanks
        .into_iter()
        .position(|b| b == b'\t')
        .map(|tab| start + tab)
}

/// `InvalidTagEscape` as `invalid tag escape`.
fn split_camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
