//! From the tree to text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::parse::is_number;
use super::style::{JsonStyle, Spot};
use crate::tree::{Map, Scalar, ScalarKind, Style, Value, ValueNode};

/// Up to this many keys a mapping is searched, beyond it they are hashed.
const KEYS_SEARCHED_MAX: usize = 16;

/// Writes a whole document: two blanks a level, each element on its own line,
/// a newline at the end.
///
/// What only YAML knows is written as what JSON has for it: a date as a
/// string, `0x1f` as 31, `~` as `null`, `.inf` as a string.
pub fn render(node: &ValueNode) -> String {
    let mut out = String::new();
    push_node(
        &mut out,
        node,
        &JsonStyle::for_new_file(),
        &JsonPosition::root(),
    );
    out.push('\n');
    out
}

/// Whether two trees make the same JSON, apart from the order of keys.
///
/// Numbers are the same when their text is: `1.0` and `1.00` are not.
pub fn is_same_json(a: &ValueNode, b: &ValueNode) -> bool {
    match (&a.value, &b.value) {
        (Value::Scalar(a), Value::Scalar(b)) => json_scalar(a) == json_scalar(b),
        (Value::Seq(a), Value::Seq(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_json(a, b))
        }
        (Value::Map(a), Value::Map(b)) => has_same_pairs(a, b),
        (Value::Scalar(_) | Value::Seq(_) | Value::Map(_), _) => false,
    }
}

fn has_same_pairs(a: &Map, b: &Map) -> bool {
    if a.pairs.len() != b.pairs.len() {
        return false;
    }
    let find = KeyFinder::new(b);
    let mut pairs = a.pairs.iter().zip(&b.pairs);
    pairs.all(|((key, value), (beside, other))| {
        // Most often the order is the same as well.
        let other = if key == beside {
            Some(other)
        } else {
            find.get(&key.text)
        };
        other.is_some_and(|other| is_same_json(value, other))
    })
}

/// Finds values by key, in a large mapping too.
pub(super) struct KeyFinder<'m> {
    map: &'m Map,
    places: HashMap<&'m str, usize>,
}

impl<'m> KeyFinder<'m> {
    pub(super) fn new(map: &'m Map) -> Self {
        let mut places = HashMap::new();
        if map.pairs.len() > KEYS_SEARCHED_MAX {
            for (at, (key, _)) in map.pairs.iter().enumerate() {
                places.entry(key.text.as_str()).or_insert(at);
            }
        }
        Self { map, places }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'m ValueNode> {
        let at = self.position(key)?;
        self.map.pairs.get(at).map(|(_, node)| node)
    }

    pub(super) fn position(&self, key: &str) -> Option<usize> {
        if self.places.is_empty() {
            self.map.pairs.iter().position(|(have, _)| have.text == key)
        } else {
            self.places.get(key).copied()
        }
    }
}

/// What a scalar says in JSON.
#[derive(PartialEq)]
enum JsonScalar<'s> {
    Text(&'s str),
    /// A number, `true`, `false` or `null`.
    Bare(Cow<'s, str>),
}

fn json_scalar(scalar: &Scalar) -> JsonScalar<'_> {
    let text = scalar.text.as_str();
    if scalar.style != Style::Plain && scalar.tag.is_none() {
        return JsonScalar::Text(text);
    }
    match scalar.kind() {
        ScalarKind::Null => JsonScalar::Bare(Cow::Borrowed("null")),
        ScalarKind::Bool(true) => JsonScalar::Bare(Cow::Borrowed("true")),
        ScalarKind::Bool(false) => JsonScalar::Bare(Cow::Borrowed("false")),
        ScalarKind::Int(_) | ScalarKind::Float(_) if is_number(text) => {
            JsonScalar::Bare(Cow::Borrowed(text))
        }
        ScalarKind::Int(value) => JsonScalar::Bare(Cow::Owned(value.to_string())),
        ScalarKind::Float(value) if value.is_finite() => {
            JsonScalar::Bare(Cow::Owned(format!("{value:?}")))
        }
        ScalarKind::Float(_) | ScalarKind::Timestamp | ScalarKind::Text => JsonScalar::Text(text),
    }
}

/// Where a value is written.
#[derive(Clone, Copy)]
pub(super) struct JsonPosition<'a> {
    /// What its like are called.
    pub(super) spot: Spot<'a>,
    /// What the line begins with on which it stands.
    pub(super) indent: &'a str,
    /// Whether what holds it stands on one line.
    pub(super) inline: bool,
}

impl JsonPosition<'_> {
    pub(super) fn root() -> Self {
        Self {
            spot: Spot::Root,
            indent: "",
            inline: false,
        }
    }
}

/// Writes `node` as the file of `form` would.
pub(super) fn push_node(
    out: &mut String,
    node: &ValueNode,
    form: &JsonStyle<'_>,
    at: &JsonPosition<'_>,
) {
    match &node.value {
        Value::Scalar(scalar) => match json_scalar(scalar) {
            JsonScalar::Text(text) => push_string(out, text),
            JsonScalar::Bare(text) => out.push_str(&text),
        },
        Value::Seq(items) if items.is_empty() => out.push_str("[]"),
        Value::Map(map) if map.pairs.is_empty() => out.push_str("{}"),
        Value::Seq(items) => {
            let list = at.spot.name();
            let frame = Frame::new(node, form, at, '[', ']');
            frame.push_items(out, items, |out, item, inner| {
                let spot = Spot::Element { list };
                push_node(out, item, form, &JsonPosition { spot, ..*inner });
            });
        }
        Value::Map(map) => {
            let parent = at.spot.name();
            let frame = Frame::new(node, form, at, '{', '}');
            frame.push_items(out, &map.pairs, |out, (key, value), inner| {
                push_string(out, &key.text);
                out.push_str(&form.colon);
                let key = key.text.as_str();
                let spot = Spot::Member { parent, key };
                push_node(out, value, form, &JsonPosition { spot, ..*inner });
            });
        }
    }
}

/// The brackets of a collection, and what stands between its elements.
struct Frame<'a> {
    form: &'a JsonStyle<'a>,
    open: char,
    close: char,
    outer: &'a str,
    inner: String,
    inline: bool,
}

impl<'a> Frame<'a> {
    fn new(
        node: &ValueNode,
        form: &'a JsonStyle<'a>,
        at: &JsonPosition<'a>,
        open: char,
        close: char,
    ) -> Self {
        let inline = at.inline || form.is_written_inline(node, at.spot);
        let inner = if inline {
            at.indent.to_owned()
        } else {
            format!("{}{}", at.indent, form.unit)
        };
        Self {
            form,
            open,
            close,
            outer: at.indent,
            inner,
            inline,
        }
    }

    fn push_items<T>(
        &self,
        out: &mut String,
        items: &[T],
        element: impl Fn(&mut String, &T, &JsonPosition<'_>),
    ) {
        let at = JsonPosition {
            spot: Spot::Root,
            indent: &self.inner,
            inline: self.inline,
        };
        let pad = match self.open {
            '[' => self.form.list_pad,
            _ => self.form.map_pad,
        };
        out.push(self.open);
        for (index, item) in items.iter().enumerate() {
            match (self.inline, index) {
                (true, 0) => out.push_str(pad),
                (true, _) => out.push_str(self.form.comma),
                (false, _) => {
                    out.push_str(if index == 0 { "" } else { "," });
                    self.push_line_break(out, &self.inner);
                }
            }
            element(out, item, &at);
        }
        if self.inline {
            out.push_str(pad);
        } else {
            self.push_line_break(out, self.outer);
        }
        out.push(self.close);
    }

    fn push_line_break(&self, out: &mut String, indent: &str) {
        out.push_str(self.form.newline);
        out.push_str(indent);
    }
}

/// Writes a string in quotes, escaping what must be and nothing else.
pub(super) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c| matches!(c, '"' | '\\' | '\0'..='\x1f')) {
        out.push_str(&rest[..at]);
        let special = rest.as_bytes()[at];
        match special {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            _ => write!(out, "\\u{special:04x}").expect("a string takes all"),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn a_document_is_written_as_the_pretty_printer_of_serde_does() {
        let text = r#"{"a":[1,"x\u0001\n"],"b":{},"c":[],"d":{"e":null,"f":-1.50}}"#;
        let root = parse(text).root.expect("a document");
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("a value");
        assert_eq!(render(&root), pretty.replace("-1.5", "-1.50") + "\n");
    }

    #[test]
    fn what_only_yaml_knows_becomes_what_json_has_for_it() {
        let root = crate::yaml::parse("[0x1f, ~, 2026-01-15, .inf, +1.5, yes, True]\n").root;
        let text = render(&root.expect("a document"));
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let expect = serde_json::json!([31, null, "2026-01-15", ".inf", 1.5, "yes", true]);
        assert_eq!(value, expect);
    }
}
