//! What JavaScript would make of a value.
//!
//! The original compiler is written in JavaScript, and which of its error
//! codes a mistake gets follows from the language's idea of truth and type.
//! Those ideas are written down here once.

use crate::yaml::{Kind, Node, Span, Value};

pub(super) use crate::report::{Path, Report, Words};

/// The place of the value under `key`: of the key itself when the value is
/// nothing, of the mapping when there is no such key.
pub(super) fn span_of(node: &Node, key: &str) -> Span {
    match node.as_map().and_then(|map| map.entry(key)) {
        Some((key, value)) if value.is_null() => key.span,
        Some((_, value)) => value.span,
        None => first_line(node),
    }
}

/// The place of a mapping that lacks something: its first key.
pub(super) fn first_line(node: &Node) -> Span {
    match &node.value {
        Value::Map(map) => map.pairs.first().map_or(node.span, |(key, _)| key.span),
        Value::Scalar(_) | Value::Seq(_) => node.span,
    }
}

/// `; found <what stands under key>`, or nothing when there is no such key.
pub(super) fn found(node: &Node, key: &str) -> String {
    match node.get(key) {
        Some(value) => format!("; found {}", value.describe()),
        None => String::new(),
    }
}

/// JavaScript: `!!value`.
pub(super) fn is_truthy(node: &Node) -> bool {
    match node.kind() {
        Some(Kind::Null) => false,
        Some(Kind::Bool(value)) => value,
        Some(Kind::Int(value)) => value != 0,
        Some(Kind::Float(value)) => value != 0.0 && !value.is_nan(),
        Some(Kind::Text) => node.as_str() != Some(""),
        Some(Kind::Timestamp) | None => true,
    }
}

/// JavaScript: `value && typeof value === 'object'`. Lists are objects there,
/// and so are dates that nobody quoted.
pub(super) fn is_object(node: &Node) -> bool {
    match node.kind() {
        Some(Kind::Timestamp) | None => true,
        Some(Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) | Kind::Text) => false,
    }
}

/// The value under `key`, if it is a string that is not empty.
pub(super) fn filled<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key)
        .and_then(Node::as_str)
        .filter(|text| !text.is_empty())
}

/// JavaScript: `String(value)`, except that numbers and dates keep the text
/// that they were written with.
pub(super) fn to_text(node: &Node) -> String {
    match &node.value {
        Value::Scalar(scalar) => match scalar.kind() {
            Kind::Null => "null".to_owned(),
            Kind::Bool(value) => value.to_string(),
            Kind::Int(_) | Kind::Float(_) | Kind::Timestamp | Kind::Text => scalar.text.clone(),
        },
        Value::Seq(items) => {
            let texts: Vec<String> = items
                .iter()
                .map(|item| {
                    if item.is_null() {
                        String::new()
                    } else {
                        to_text(item)
                    }
                })
                .collect();
            texts.join(",")
        }
        Value::Map(_) => "[object Object]".to_owned(),
    }
}
