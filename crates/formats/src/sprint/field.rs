//! What JavaScript would make of a value.
//!
//! The original compiler is written in JavaScript, and which of its error
//! codes a mistake gets follows from the language's idea of truth and type.
//! Those ideas are written down here once.

use crate::yaml::{ScalarKind, Span, Value, ValueNode};

pub(super) use crate::report::{ProblemReport, ProblemWords, ValuePath};

/// The place of the value under `key`: of the key itself when the value is
/// nothing, of the mapping when there is no such key.
pub(super) fn span_of_key(node: &ValueNode, key: &str) -> Span {
    match node.as_map().and_then(|map| map.entry(key)) {
        Some((key, value)) if value.is_null() => key.span,
        Some((_, value)) => value.span,
        None => first_key_span(node),
    }
}

/// The place of a mapping that lacks something: its first key.
pub(super) fn first_key_span(node: &ValueNode) -> Span {
    match &node.value {
        Value::Map(map) => map.pairs.first().map_or(node.span, |(key, _)| key.span),
        Value::Scalar(_) | Value::Seq(_) => node.span,
    }
}

/// `; found <what stands under key>`, or nothing when there is no such key.
pub(super) fn describe_found(node: &ValueNode, key: &str) -> String {
    match node.get(key) {
        Some(value) => format!("; found {}", value.describe()),
        None => String::new(),
    }
}

/// JavaScript: `!!value`.
pub(super) fn is_truthy(node: &ValueNode) -> bool {
    match node.kind() {
        Some(ScalarKind::Null) => false,
        Some(ScalarKind::Bool(value)) => value,
        Some(ScalarKind::Int(value)) => value != 0,
        Some(ScalarKind::Float(value)) => value != 0.0 && !value.is_nan(),
        Some(ScalarKind::Text) => node.as_str() != Some(""),
        Some(ScalarKind::Timestamp) | None => true,
    }
}

/// JavaScript: `value && typeof value === 'object'`. Lists are objects there,
/// and so are dates without quotes.
pub(super) fn is_object(node: &ValueNode) -> bool {
    match node.kind() {
        Some(ScalarKind::Timestamp) | None => true,
        Some(
            ScalarKind::Null
            | ScalarKind::Bool(_)
            | ScalarKind::Int(_)
            | ScalarKind::Float(_)
            | ScalarKind::Text,
        ) => false,
    }
}

/// The value under `key`, if it is a string that is not empty.
pub(super) fn non_empty_text<'n>(node: &'n ValueNode, key: &str) -> Option<&'n str> {
    node.get(key)
        .and_then(ValueNode::as_str)
        .filter(|text| !text.is_empty())
}

/// JavaScript: `String(value)`, except that what it would spoil keeps the text
/// that it was written with: a date, which comes out in the time zone of the
/// machine; a number with an exponent, as `6673e79` is a commit more often than
/// a number; and one of so many digits that the last would change.
pub(super) fn to_text(node: &ValueNode) -> String {
    match &node.value {
        Value::Scalar(scalar) => match scalar.kind() {
            ScalarKind::Null => "null".to_owned(),
            ScalarKind::Bool(value) => value.to_string(),
            ScalarKind::Int(value) if value.unsigned_abs() <= EXACT_MAX => value.to_string(),
            ScalarKind::Float(value) if is_exact_in_js(&scalar.text, value) => float_text(value),
            ScalarKind::Int(_)
            | ScalarKind::Float(_)
            | ScalarKind::Timestamp
            | ScalarKind::Text => scalar.text.clone(),
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

/// The greatest whole number up to which JavaScript has each.
const EXACT_MAX: u64 = 1 << 53;

/// Whether a number that is written as `text` is the same in JavaScript's words.
fn is_exact_in_js(text: &str, value: f64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "a power of two")]
    let is_small = value.abs() <= EXACT_MAX as f64;
    let is_plain = !text.contains(['e', 'E']);
    is_plain && (is_small || !value.is_finite())
}

/// JavaScript: `String(number)` of a number that is small or has no end.
fn float_text(value: f64) -> String {
    match value {
        _ if value == f64::INFINITY => "Infinity".to_owned(),
        _ if value == f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ if value == 0.0 => "0".to_owned(),
        _ if value.abs() < 1e-6 => format!("{value:e}"),
        _ => value.to_string(),
    }
}

pub(super) fn is_enabled(node: Option<&ValueNode>) -> bool {
    node.and_then(|node| node.get("enabled"))
        .and_then(ValueNode::as_bool)
        == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, expect: &str) {
        assert_eq!(to_text(&ValueNode::plain(written)), expect, "{written}");
    }

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        check("1.50", "1.5");
        check("-2.0", "-2");
        check("1.0", "1");
        check("-0.0", "0");
        check("007", "7");
        check("0x1F", "31");
        check("1_000", "1000");
        check("0.00000015", "1.5e-7");
        check(".inf", "Infinity");
        check("-.inf", "-Infinity");
        check(".nan", "NaN");
    }

    #[test]
    fn what_a_number_or_a_date_would_spoil_keeps_its_text() {
        check("6673e79", "6673e79");
        check("1.5e3", "1.5e3");
        check("9007199254740993", "9007199254740993");
        check("1234567890123456789012", "1234567890123456789012");
        check("2026-01-15", "2026-01-15");
        check("2026-01-15T10:30:00Z", "2026-01-15T10:30:00Z");
    }
}
