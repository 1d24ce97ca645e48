//! From the tree to text.
//!
//! Block style, two blanks a level, no folding. A text of several lines
//! becomes a literal block where that is safe for every reader, else it is
//! put in double quotes with escapes. [`push_key`], [`push_text`] and
//! [`push_node`] write into a buffer of the caller, for documents that are
//! written straight from their own types.

use std::fmt::Write as _;

use crate::tree::scalar;
use crate::tree::{Map, Scalar, Style, Value, ValueNode};

/// Longest key that a reader must accept without a leading `?`.
const KEY_CHARS_MAX: usize = 1000;

/// Writes a whole document.
pub fn render(node: &ValueNode) -> String {
    let mut out = String::new();
    match &node.value {
        // A block scalar has no parent here to be indented against.
        Value::Scalar(scalar) => push_scalar(&mut out, scalar, None),
        Value::Seq(items) if items.is_empty() => out.push_str("[]"),
        Value::Map(map) if map.pairs.is_empty() => out.push_str("{}"),
        Value::Seq(items) => push_items(&mut out, items, YamlPosition::at_indent(0), true),
        Value::Map(map) => push_pairs(&mut out, map, YamlPosition::at_indent(0), true),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Writes `key:`; what follows on the line begins with a blank.
pub(crate) fn push_key(out: &mut String, key: &str, indent: usize) {
    let long = key.len() > KEY_CHARS_MAX;
    if long {
        out.push_str("? ");
    }
    if is_plain_safe(key) {
        out.push_str(key);
    } else if is_single_quotable(key) {
        push_single(out, key);
    } else {
        push_double(out, key);
    }
    if long {
        out.push('\n');
        push_indent(out, indent);
    }
    out.push(':');
}

/// Writes a node as the value of a key, or as the element of a list, whose
/// collection is indented by `indent`; begins with the blank or line break
/// that separates it, ends with a line break.
pub(crate) fn push_node(out: &mut String, node: &ValueNode, indent: usize, in_list: bool) {
    push_node_at(out, node, YamlPosition::at_indent(indent), in_list);
}

/// Writes a node as [`push_node`] does, into a text that goes on behind it:
/// blank lines that follow do not become part of it.
pub(super) fn push_part(out: &mut String, node: &ValueNode, indent: usize, in_list: bool) {
    let place = YamlPosition {
        indent,
        blank_ends: false,
    };
    push_node_at(out, node, place, in_list);
}

/// Where something is written.
#[derive(Clone, Copy)]
struct YamlPosition {
    /// The indentation of the collection around it.
    indent: usize,
    /// Whether a block may end in blank lines.
    blank_ends: bool,
}

impl YamlPosition {
    fn at_indent(indent: usize) -> Self {
        Self {
            indent,
            blank_ends: true,
        }
    }

    fn nested(self) -> Self {
        Self {
            indent: self.indent + 2,
            ..self
        }
    }

    /// The indentation for a block of that text, if it may be one.
    fn block_indent(self, text: &str) -> Option<usize> {
        (self.blank_ends || !text.ends_with("\n\n")).then_some(self.indent)
    }
}

fn push_node_at(out: &mut String, node: &ValueNode, place: YamlPosition, in_list: bool) {
    match &node.value {
        Value::Scalar(scalar) => {
            out.push(' ');
            push_scalar(out, scalar, place.block_indent(&scalar.text));
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
        Value::Seq(items) if items.is_empty() => out.push_str(" []\n"),
        Value::Map(map) if map.pairs.is_empty() => out.push_str(" {}\n"),
        Value::Seq(items) => {
            out.push(if in_list { ' ' } else { '\n' });
            push_items(out, items, place.nested(), in_list);
        }
        Value::Map(map) => {
            out.push(if in_list { ' ' } else { '\n' });
            push_pairs(out, map, place.nested(), in_list);
        }
    }
}

/// Writes a string as [`push_node`] writes one.
pub(crate) fn push_text(out: &mut String, text: &str, indent: usize) {
    out.push(' ');
    push_string(out, text, Some(indent));
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

pub(crate) fn push_indent(out: &mut String, indent: usize) {
    for _ in 0..indent {
        out.push(' ');
    }
}

fn push_items(out: &mut String, items: &[ValueNode], place: YamlPosition, inline: bool) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 || !inline {
            push_indent(out, place.indent);
        }
        out.push('-');
        push_node_at(out, item, place, true);
    }
}

fn push_pairs(out: &mut String, map: &Map, place: YamlPosition, inline: bool) {
    for (index, (key, node)) in map.iter().enumerate() {
        if index > 0 || !inline {
            push_indent(out, place.indent);
        }
        push_key(out, &key.text, place.indent);
        push_node_at(out, node, place, false);
    }
}

fn push_scalar(out: &mut String, scalar: &Scalar, indent: Option<usize>) {
    if let Some(tag) = &scalar.tag {
        match tag.strip_prefix("tag:yaml.org,2002:") {
            Some(suffix) => drop(write!(out, "!!{suffix} ")),
            None if tag == "!" => out.push_str("! "),
            None => drop(write!(out, "!<{tag}> ")),
        }
    }
    // A number, a date or `null` that was plain stays plain, to the letter.
    if scalar.style == Style::Plain && is_plain_syntax(&scalar.text) {
        let means_string = scalar.kind() == scalar::ScalarKind::Text;
        if !means_string || !scalar::is_misread_plain(&scalar.text) {
            out.push_str(&scalar.text);
            return;
        }
    }
    if scalar.style == Style::Plain && scalar.text.is_empty() {
        // Behind a tag `null` would be a text: there, nothing says nothing.
        out.push_str(if scalar.tag.is_some() { "" } else { "null" });
        return;
    }
    push_string(out, &scalar.text, indent);
}

/// Writes a string so that it is read as that string.
fn push_string(out: &mut String, text: &str, indent: Option<usize>) {
    if is_plain_safe(text) {
        out.push_str(text);
        return;
    }
    let multi_line = text.contains('\n');
    match indent {
        Some(indent) if multi_line && is_literal_safe(text) => push_literal(out, text, indent),
        _ if !multi_line && is_single_quotable(text) => push_single(out, text),
        _ => push_double(out, text),
    }
}

/// Writes a value in place of one that began with `quote`, in the same quotes
/// where that is possible. `indent` is that of the collection around it, none
/// where a block cannot stand.
pub(super) fn push_value(
    out: &mut String,
    scalar: &Scalar,
    quote: Option<u8>,
    indent: Option<usize>,
) {
    let is_text = scalar.tag.is_none()
        && (scalar.style != Style::Plain || scalar.kind() == scalar::ScalarKind::Text);
    let multi_line = scalar.text.contains('\n');
    // Blank lines behind a block that ends in some would become part of it.
    let indent = indent.filter(|_| !scalar.text.ends_with("\n\n"));
    let fits_block = multi_line && indent.is_some() && is_literal_safe(&scalar.text);
    match quote {
        Some(b'"') if is_text && !fits_block => push_double(out, &scalar.text),
        Some(b'\'') if is_text && !multi_line && is_single_quotable(&scalar.text) => {
            push_single(out, &scalar.text);
        }
        Some(_) | None => push_scalar(out, scalar, indent),
    }
}

/// Writes text as a literal block whose lines are indented by `indent`, below
/// a collection indented by `parent`. False, and nothing written, when the
/// text does not fit into one.
pub(super) fn push_literal_at(
    out: &mut String,
    scalar: &Scalar,
    comment: &str,
    parent: usize,
    indent: usize,
) -> bool {
    let text = &scalar.text;
    let is_text = scalar.tag.is_none() && scalar.style != Style::Plain;
    let deeper = indent.saturating_sub(parent);
    let fits = is_text
        && text.contains('\n')
        && !text.ends_with("\n\n")
        && (1..=9).contains(&deeper)
        && is_literal_safe(text);
    if !fits {
        return false;
    }
    push_literal_header(out, text, deeper);
    out.push_str(comment);
    out.push('\n');
    push_literal_lines(out, text, indent);
    true
}

/// Writes a node within brackets.
pub(super) fn push_flow(out: &mut String, node: &ValueNode) {
    match &node.value {
        Value::Scalar(scalar) => push_flow_scalar(out, scalar),
        Value::Seq(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                push_flow(out, item);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                push_flow_text(out, &key.text);
                out.push_str(": ");
                push_flow(out, value);
            }
            out.push('}');
        }
    }
}

fn push_flow_scalar(out: &mut String, scalar: &Scalar) {
    if scalar.style == Style::Plain && scalar.text.is_empty() && scalar.tag.is_none() {
        out.push_str("null");
    } else if scalar.text.contains([',', '[', ']', '{', '}']) || scalar.text.contains('\n') {
        push_flow_text(out, &scalar.text);
    } else {
        push_scalar(out, scalar, None);
    }
}

fn push_flow_text(out: &mut String, text: &str) {
    if text.contains([',', '[', ']', '{', '}', '\n']) || !is_plain_safe(text) {
        if is_single_quotable(text) {
            push_single(out, text);
        } else {
            push_double(out, text);
        }
    } else {
        out.push_str(text);
    }
}

fn push_literal(out: &mut String, text: &str, indent: usize) {
    push_literal_header(out, text, 2);
    out.push('\n');
    push_literal_lines(out, text, indent + 2);
}

fn push_literal_header(out: &mut String, text: &str, deeper: usize) {
    out.push('|');
    // Without the number a reader takes the indentation from the first line
    // that has text, which must then not begin with a blank of its own.
    if text.starts_with([' ', '\n']) {
        out.push_str(&deeper.to_string());
    }
    if text.ends_with("\n\n") {
        out.push('+');
    } else if !text.ends_with('\n') {
        out.push('-');
    }
}

fn push_literal_lines(out: &mut String, text: &str, indent: usize) {
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            push_indent(out, indent);
            out.push_str(line);
        }
        out.push('\n');
    }
}

fn push_single(out: &mut String, text: &str) {
    out.push('\'');
    let mut rest = text;
    while let Some(at) = rest.find('\'') {
        out.push_str(&rest[..at]);
        out.push_str("''");
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('\'');
}

fn push_double(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_readable(c) => out.push(c),
            c if u32::from(c) <= 0xff => drop(write!(out, "\\x{:02X}", u32::from(c))),
            c if u32::from(c) <= 0xffff => drop(write!(out, "\\u{:04X}", u32::from(c))),
            c => drop(write!(out, "\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
}

/// Whether a character may stand as itself: what YAML 1.1 allows, without the
/// characters that 1.1 takes for line breaks and without the byte order mark.
fn is_readable(c: char) -> bool {
    matches!(c,
        ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

fn is_all_readable(text: &str) -> bool {
    // Most text is ASCII, where a byte tells enough.
    text.bytes().all(|b| matches!(b, b' '..=b'~')) || text.chars().all(is_readable)
}

fn is_single_quotable(text: &str) -> bool {
    is_all_readable(text)
}

/// Whether a literal block gives the text back in every reader.
fn is_literal_safe(text: &str) -> bool {
    let has_text = text.bytes().any(|b| b != b'\n' && b != b' ');
    has_text
        && text.split('\n').all(|line| {
            is_readable_or_tab(line)
                // A line of blanks only, or a tab where indentation ends, is
                // read in different ways.
                && !(line.starts_with('\t') || (!line.is_empty() && line.trim().is_empty()))
        })
}

fn is_readable_or_tab(line: &str) -> bool {
    line.bytes().all(|b| matches!(b, b' '..=b'~' | b'\t'))
        || line.chars().all(|c| c == '\t' || is_readable(c))
}

/// Whether a string may be written without quotes.
fn is_plain_safe(text: &str) -> bool {
    is_plain_syntax(text) && !scalar::is_misread_plain(text)
}

/// Whether plain text is read back as the same text, whatever its type.
fn is_plain_syntax(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    if matches!(last, b' ' | b':') || !is_plain_start(*first, bytes.get(1)) {
        return false;
    }
    let mut before = b' ';
    for (index, byte) in bytes.iter().enumerate() {
        let fits = match byte {
            b'#' => before != b' ',
            b':' => bytes.get(index + 1) != Some(&b' '),
            b' '..=b'~' => true,
            0x80.. => true,
            _ => false,
        };
        if !fits {
            return false;
        }
        before = *byte;
    }
    // `---` and `...` would be document marks in the first column.
    !text.starts_with("---")
        && !text.starts_with("...")
        && (text.is_ascii() || is_all_readable(text))
}

fn is_plain_start(first: u8, second: Option<&u8>) -> bool {
    match first {
        b'-' | b'?' | b':' => second.is_some_and(|b| {
            !matches!(
                b,
                b' ' | b',' | b'[' | b']' | b'{' | b'}' | b':' | b'-' | b'?' | b'#'
            )
        }),
        b' ' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>'
        | b'\'' | b'"' | b'%' | b'@' | b'`' => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let node = ValueNode::map([("k", ValueNode::string(text))]);
        let out = render(&node);
        assert_eq!(out, expect);
        assert_eq!(parse(&out).root, Some(node), "{out}");
    }

    #[test]
    fn strings_are_quoted_where_a_reader_would_take_them_for_something_else() {
        check("plain text", "k: plain text\n");
        check("", "k: ''\n");
        check("no", "k: 'no'\n");
        check("y", "k: 'y'\n");
        check("5", "k: '5'\n");
        check("6673e79", "k: '6673e79'\n");
        check("00:02:20", "k: '00:02:20'\n");
        check("2026-01-15T00:00:00Z", "k: '2026-01-15T00:00:00Z'\n");
        check("2026-01-15_case", "k: 2026-01-15_case\n");
        check("~", "k: '~'\n");
        check("a: b", "k: 'a: b'\n");
        check("a #b", "k: 'a #b'\n");
        check("a#b", "k: a#b\n");
        check("it's", "k: it's\n");
        check("'it's", "k: '''it''s'\n");
        check(" lead", "k: ' lead'\n");
        check("trail ", "k: 'trail '\n");
        check("tab\there", "k: \"tab\\there\"\n");
        check("bell\u{7}", "k: \"bell\\x07\"\n");
        check("- item", "k: '- item'\n");
        check("-x", "k: -x\n");
        check("Überblick 测试 🎯", "k: Überblick 测试 🎯\n");
        check("nel\u{85}", "k: \"nel\\x85\"\n");
        check("sep\u{2028}", "k: \"sep\\u2028\"\n");
        check("{{x}}", "k: '{{x}}'\n");
        check("@x", "k: '@x'\n");
        check("---", "k: '---'\n");
    }

    #[test]
    fn text_of_several_lines_is_a_literal_block() {
        check("a\nb\n", "k: |\n  a\n  b\n");
        check("a\n\n  b", "k: |-\n  a\n\n    b\n");
        check("a\n\n", "k: |+\n  a\n\n");
        check("  a\nb\n", "k: |2\n    a\n  b\n");
        check("\na\n", "k: |2\n\n  a\n");
        check("a  \nb\n", "k: |\n  a  \n  b\n");
        check("a\n \nb\n", "k: \"a\\n \\nb\\n\"\n");
        check("\n", "k: \"\\n\"\n");
        check("a\r\nb", "k: \"a\\r\\nb\"\n");
    }

    #[test]
    fn plain_scalars_keep_their_source_text() {
        for text in [
            "6673e79",
            "2026-01-15T00:00:00Z",
            "null",
            "~",
            "45",
            "0x1F",
            "true",
        ] {
            let node = ValueNode::map([("k", ValueNode::plain(text))]);
            assert_eq!(render(&node), format!("k: {text}\n"));
            assert_eq!(parse(&render(&node)).root, Some(node));
        }
    }

    #[test]
    fn a_tag_without_a_value_stays_one() {
        for text in ["a: !!str\n", "a: !!str\nb: [!!str , x]\n", "- !!null\n"] {
            let parsed = parse(text);
            assert_eq!(parsed.faults, []);
            let root = parsed.root.expect("a document");
            assert_eq!(parse(&render(&root)).root, Some(root), "{text}");
        }
    }

    #[test]
    fn collections_are_nested_as_the_original_nests_them() {
        let node = ValueNode::map([
            ("empty", ValueNode::seq(vec![])),
            (
                "list",
                ValueNode::seq(vec![
                    ValueNode::map([("id", ValueNode::string("a")), ("n", ValueNode::plain("1"))]),
                    ValueNode::seq(vec![ValueNode::string("x"), ValueNode::string("y\nz\n")]),
                ]),
            ),
        ]);
        insta::assert_snapshot!(render(&node), @r#"
    empty: []
    list:
      - id: a
        'n': 1
      - - x
        - |
          y
          z
    "#);
        assert_eq!(parse(&render(&node)).root, Some(node));
    }
}
