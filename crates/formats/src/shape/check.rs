//! A tree compared with a shape.

use std::fmt::Write as _;

use piton_core::quote::truncate_chars;

use super::{FieldShape, OtherKeys, Shape, TextShape, is_date_time};
use crate::problem::Problem;
use crate::report::{ValuePath, closest_word};
use crate::tree::{ScalarKind, Span, Value, ValueNode};

/// How many problems are reported; no reader needs more, and a large file of another
/// format could give millions.
const PROBLEMS_MAX: usize = 10_000;

/// Finds every place where `root` is not as `shape` demands, in the order of
/// the file.
///
/// Paths begin with `root_name`: `progress.entries[3].status`. Codes:
/// `WRONG_TYPE`, `INVALID_VALUE`, `NUMBER_OUT_OF_RANGE`, `MISSING_KEY`,
/// `UNKNOWN_KEY`; all are errors.
pub fn check(root: &ValueNode, shape: &Shape, file: &str, root_name: &str) -> Vec<Problem> {
    let mut checker = ShapeChecker {
        file,
        problems: Vec::new(),
    };
    checker.check_node(root, shape, ValuePath::root(root_name));
    let mut problems = checker.problems;
    problems.sort_by_key(|problem| problem.bytes.start);
    problems
}

struct ShapeChecker<'f> {
    file: &'f str,
    problems: Vec<Problem>,
}

impl ShapeChecker<'_> {
    fn check_node(&mut self, node: &ValueNode, shape: &Shape, path: ValuePath<'_>) {
        match shape {
            Shape::Any => {}
            Shape::Text(text) => self.check_text(node, *text, path),
            Shape::Integer { min } => self.check_number(node, shape, *min, path),
            Shape::Number { min } => self.check_number(node, shape, *min, path),
            Shape::Bool | Shape::Null => {
                if !is_kind(node, shape) {
                    self.push_mistyped(node, shape, path);
                }
            }
            Shape::List(items) => match node.as_seq() {
                None => self.push_mistyped(node, shape, path),
                Some(have) => {
                    for (index, item) in have.iter().enumerate() {
                        self.check_node(item, items, path.index(index));
                    }
                }
            },
            Shape::Map(fields, rest) => self.check_map(node, fields, *rest, shape, path),
            Shape::Each(values) => match node.as_map() {
                None => self.push_mistyped(node, shape, path),
                Some(map) => {
                    for (key, value) in map.iter() {
                        self.check_node(value, values, path.key(&key.text));
                    }
                }
            },
            Shape::Either(shapes) => self.check_either(node, shapes, shape, path),
            Shape::Named(named) => self.check_node(node, &named.shape, path),
        }
    }

    fn check_text(&mut self, node: &ValueNode, wanted: TextShape, path: ValuePath<'_>) {
        let Some(text) = text_of_scalar(node) else {
            return self.push_mistyped(node, &Shape::Text(wanted), path);
        };
        let fits = match wanted {
            TextShape::Any => true,
            TextShape::NotEmpty => !text.is_empty(),
            TextShape::OneOf(words) => words.contains(&text),
            TextShape::Pattern(pattern) => pattern.is_match(text),
            TextShape::DateTime => is_date_time(text),
        };
        if fits {
            return;
        }
        let hint = match wanted {
            TextShape::OneOf(words) => words_hint(text, words),
            TextShape::Any | TextShape::NotEmpty | TextShape::Pattern(_) | TextShape::DateTime => {
                format!("write {}", describe_text_shape(wanted))
            }
        };
        self.push_problem("INVALID_VALUE", node, path, describe_invalid(node), hint);
    }

    fn check_number(
        &mut self,
        node: &ValueNode,
        shape: &Shape,
        min: Option<i32>,
        path: ValuePath<'_>,
    ) {
        let Some(value) = node.as_f64() else {
            return self.push_mistyped(node, shape, path);
        };
        let hint = || format!("write {}", describe_shape(shape));
        if !value.is_finite() {
            let text = node.text().unwrap_or_default();
            let message = format!("number out of range {text}");
            return self.push_problem("NUMBER_OUT_OF_RANGE", node, path, message, hint());
        }
        if matches!(shape, Shape::Integer { .. }) && value.fract() != 0.0 {
            return self.push_mistyped(node, shape, path);
        }
        if min.is_some_and(|min| value < f64::from(min)) {
            self.push_problem("INVALID_VALUE", node, path, describe_invalid(node), hint());
        }
    }

    fn check_map(
        &mut self,
        node: &ValueNode,
        fields: &[FieldShape],
        rest: OtherKeys,
        shape: &Shape,
        path: ValuePath<'_>,
    ) {
        let Some(map) = node.as_map() else {
            return self.push_mistyped(node, shape, path);
        };
        let of_format = || fields.iter().filter(|field| !field.tolerated);
        for (key, value) in map.iter() {
            let field = of_format().find(|field| field.key == key.text);
            match field {
                Some(field) => self.check_node(value, &field.shape, path.key(&key.text)),
                None if rest != OtherKeys::Closed => {}
                None => self.push_unknown_key(&key.text, key.span, fields, path),
            }
        }
        for field in fields.iter().filter(|field| field.required) {
            if map.get(field.key).is_none() {
                let span = map.pairs.first().map_or(node.span, |(key, _)| key.span);
                let message = format!("missing key \"{}\"", field.key);
                let hint = format!("add it: {}", describe_shape(&field.shape));
                self.push_problem_at("MISSING_KEY", span, path.key(field.key), message, hint);
            }
        }
    }

    fn push_unknown_key(
        &mut self,
        key: &str,
        span: Span,
        fields: &[FieldShape],
        path: ValuePath<'_>,
    ) {
        let of_format = fields.iter().filter(|field| !field.tolerated);
        let known: Vec<&str> = of_format.map(|field| field.key).collect();
        let hint = words_hint(key, &known);
        let message = format!("unknown key {}", quote(key));
        self.push_problem_at("UNKNOWN_KEY", span, path.key(key), message, hint);
    }

    /// Tells what is wrong with the alternative that was most likely meant.
    fn check_either(
        &mut self,
        node: &ValueNode,
        shapes: &[Shape],
        shape: &Shape,
        path: ValuePath<'_>,
    ) {
        let mut meant: Option<Vec<Problem>> = None;
        for shape in shapes {
            let mut tried = ShapeChecker {
                file: self.file,
                problems: Vec::new(),
            };
            tried.check_node(node, shape, path);
            if tried.problems.is_empty() {
                return;
            }
            let is_fewer = meant
                .as_ref()
                .is_none_or(|best| tried.problems.len() < best.len());
            if is_fewer && is_kind(node, shape) {
                meant = Some(tried.problems);
            }
        }
        match meant {
            Some(problems) => self.problems.extend(problems),
            None => self.push_mistyped(node, shape, path),
        }
    }

    fn push_mistyped(&mut self, node: &ValueNode, shape: &Shape, path: ValuePath<'_>) {
        let hint = format!("write {}", describe_shape(shape));
        self.push_problem("WRONG_TYPE", node, path, describe_invalid(node), hint);
    }

    fn push_problem(
        &mut self,
        code: &'static str,
        node: &ValueNode,
        path: ValuePath<'_>,
        message: String,
        hint: String,
    ) {
        // Of a collection only its beginning is shown.
        let span = match node.value {
            Value::Scalar(_) => node.span,
            Value::Seq(_) | Value::Map(_) => Span {
                end: node.span.end.min(node.span.start + 1),
                ..node.span
            },
        };
        self.push_problem_at(code, span, path, message, hint);
    }

    fn push_problem_at(
        &mut self,
        code: &'static str,
        span: Span,
        path: ValuePath<'_>,
        message: String,
        hint: String,
    ) {
        if self.problems.len() < PROBLEMS_MAX {
            let problem = Problem::error(code, self.file, path.to_string(), span);
            self.problems.push(problem.with_message(message, hint));
        }
    }
}

/// The text of a string, and of a date that YAML leaves without quotes.
fn text_of_scalar(node: &ValueNode) -> Option<&str> {
    match node.kind() {
        Some(ScalarKind::Text | ScalarKind::Timestamp) => node.text(),
        Some(
            ScalarKind::Null | ScalarKind::Bool(_) | ScalarKind::Int(_) | ScalarKind::Float(_),
        )
        | None => None,
    }
}

/// Whether a value is of the kind that a shape asks for, whatever it says.
pub(super) fn is_kind(node: &ValueNode, shape: &Shape) -> bool {
    match shape {
        Shape::Any => true,
        Shape::Text(_) => text_of_scalar(node).is_some(),
        Shape::Integer { .. } | Shape::Number { .. } => node.as_f64().is_some(),
        Shape::Bool => node.as_bool().is_some(),
        Shape::Null => node.is_null(),
        Shape::List(_) => node.as_seq().is_some(),
        Shape::Map(..) | Shape::Each(_) => node.as_map().is_some(),
        Shape::Either(shapes) => shapes.iter().any(|shape| is_kind(node, shape)),
        Shape::Named(named) => is_kind(node, &named.shape),
    }
}

/// `invalid value "x"`.
fn describe_invalid(node: &ValueNode) -> String {
    match text_of_scalar(node) {
        Some(text) => format!("invalid value {}", quote(text)),
        None => match &node.value {
            Value::Scalar(scalar) if !scalar.text.is_empty() => {
                format!("invalid value {}", shorten(&scalar.text))
            }
            Value::Scalar(_) | Value::Seq(_) | Value::Map(_) => {
                format!("invalid value: {}", node.describe())
            }
        },
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", shorten(text).escape_debug())
}

fn shorten(text: &str) -> String {
    truncate_chars(text, 60)
}

/// What a shape asks for, as the object of "write".
fn describe_shape(shape: &Shape) -> String {
    match shape {
        Shape::Any => "any value".to_owned(),
        Shape::Text(text) => describe_text_shape(*text),
        Shape::Integer { min } => describe_bound("a whole number", *min),
        Shape::Number { min } => describe_bound("a number", *min),
        Shape::Bool => "`true` or `false`".to_owned(),
        Shape::Null => "`null`".to_owned(),
        Shape::List(_) => "a list".to_owned(),
        Shape::Map(..) | Shape::Each(_) => "a mapping".to_owned(),
        Shape::Either(shapes) => {
            let words: Vec<String> = shapes.iter().map(describe_shape).collect();
            words.join(", or ")
        }
        Shape::Named(named) => describe_shape(&named.shape),
    }
}

fn describe_text_shape(text: TextShape) -> String {
    match text {
        TextShape::Any => "a text".to_owned(),
        TextShape::NotEmpty => "a text that is not empty".to_owned(),
        TextShape::OneOf(words) => render_word_list("one of ", words.iter().copied()),
        TextShape::Pattern(pattern) => format!("a text such as \"{}\"", pattern.example()),
        TextShape::DateTime => "a time with its zone, such as \"2026-01-15T10:30:00Z\"".to_owned(),
    }
}

fn describe_bound(what: &str, min: Option<i32>) -> String {
    match min {
        Some(min) => format!("{what}, {min} or more"),
        None => what.to_owned(),
    }
}

/// The words that are allowed, the one that was most likely meant first.
fn words_hint(found: &str, words: &[&str]) -> String {
    let lower = found.to_lowercase();
    let folded = words.iter().find(|word| word.to_lowercase() == lower);
    let meant = folded.copied().or_else(|| closest_word(found, words));
    let others = words.iter().copied().filter(|word| Some(*word) != meant);
    render_word_list("write one of ", meant.into_iter().chain(others))
}

fn render_word_list<'w>(lead: &str, words: impl Iterator<Item = &'w str>) -> String {
    let mut out = lead.to_owned();
    for (index, word) in words.enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(out, "{comma}`{word}`").expect("a string takes all");
    }
    out
}
