//! A tree compared with a shape.

use std::fmt::Write as _;

use super::{Field, Rest, Shape, Text, is_date_time};
use crate::problem::Problem;
use crate::report::{Path, closest};
use crate::tree::{Kind, Node, Span, Value};

/// How many problems are told; nobody reads more, and a large file of another
/// format could give millions.
const PROBLEMS_MAX: usize = 10_000;

/// Finds every place where `root` is not as `shape` demands, in the order of
/// the file.
///
/// Paths begin with `root_name`: `progress.entries[3].status`. Codes:
/// `WRONG_TYPE`, `INVALID_VALUE`, `NUMBER_OUT_OF_RANGE`, `MISSING_KEY`,
/// `UNKNOWN_KEY`; all are errors.
pub fn check(root: &Node, shape: &Shape, file: &str, root_name: &str) -> Vec<Problem> {
    let mut checker = Checker {
        file,
        problems: Vec::new(),
    };
    checker.check(root, shape, Path::root(root_name));
    let mut problems = checker.problems;
    problems.sort_by_key(|problem| problem.bytes.start);
    problems
}

struct Checker<'f> {
    file: &'f str,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn check(&mut self, node: &Node, shape: &Shape, path: Path<'_>) {
        match shape {
            Shape::Any => {}
            Shape::Text(text) => self.text(node, *text, path),
            Shape::Integer { min } => self.number(node, shape, *min, path),
            Shape::Number { min } => self.number(node, shape, *min, path),
            Shape::Bool | Shape::Null => {
                if !is_kind(node, shape) {
                    self.mistyped(node, shape, path);
                }
            }
            Shape::List(items) => match node.as_seq() {
                None => self.mistyped(node, shape, path),
                Some(have) => {
                    for (index, item) in have.iter().enumerate() {
                        self.check(item, items, path.index(index));
                    }
                }
            },
            Shape::Map(fields, rest) => self.map(node, (fields, *rest), shape, path),
            Shape::Each(values) => match node.as_map() {
                None => self.mistyped(node, shape, path),
                Some(map) => {
                    for (key, value) in map.iter() {
                        self.check(value, values, path.key(&key.text));
                    }
                }
            },
            Shape::Either(shapes) => self.either(node, shapes, shape, path),
            Shape::Named(named) => self.check(node, &named.shape, path),
        }
    }

    fn text(&mut self, node: &Node, wanted: Text, path: Path<'_>) {
        let Some(text) = text_of(node) else {
            return self.mistyped(node, &Shape::Text(wanted), path);
        };
        let fits = match wanted {
            Text::Any => true,
            Text::NotEmpty => !text.is_empty(),
            Text::OneOf(words) => words.contains(&text),
            Text::Pattern(pattern) => pattern.matches(text),
            Text::DateTime => is_date_time(text),
        };
        if fits {
            return;
        }
        let hint = match wanted {
            Text::OneOf(words) => words_hint(text, words),
            Text::Any | Text::NotEmpty | Text::Pattern(_) | Text::DateTime => {
                format!("write {}", wanted_text(wanted))
            }
        };
        self.problem("INVALID_VALUE", node, path, (invalid(node), hint));
    }

    fn number(&mut self, node: &Node, shape: &Shape, min: Option<i32>, path: Path<'_>) {
        let Some(value) = node.as_f64() else {
            return self.mistyped(node, shape, path);
        };
        let hint = || format!("write {}", wanted(shape));
        if !value.is_finite() {
            let text = node.text().unwrap_or_default();
            let message = format!("number out of range {text}");
            return self.problem("NUMBER_OUT_OF_RANGE", node, path, (message, hint()));
        }
        if matches!(shape, Shape::Integer { .. }) && value.fract() != 0.0 {
            return self.mistyped(node, shape, path);
        }
        if min.is_some_and(|min| value < f64::from(min)) {
            self.problem("INVALID_VALUE", node, path, (invalid(node), hint()));
        }
    }

    fn map(
        &mut self,
        node: &Node,
        (fields, rest): (&[Field], Rest),
        shape: &Shape,
        path: Path<'_>,
    ) {
        let Some(map) = node.as_map() else {
            return self.mistyped(node, shape, path);
        };
        let of_format = || fields.iter().filter(|field| !field.tolerated);
        for (key, value) in map.iter() {
            let field = of_format().find(|field| field.key == key.text);
            match field {
                Some(field) => self.check(value, &field.shape, path.key(&key.text)),
                None if rest != Rest::Closed => {}
                None => self.unknown(&key.text, key.span, fields, path),
            }
        }
        for field in fields.iter().filter(|field| field.required) {
            if map.get(field.key).is_none() {
                let span = map.pairs.first().map_or(node.span, |(key, _)| key.span);
                let message = format!("missing key \"{}\"", field.key);
                let hint = format!("add it: {}", wanted(&field.shape));
                self.at("MISSING_KEY", span, path.key(field.key), (message, hint));
            }
        }
    }

    fn unknown(&mut self, key: &str, span: Span, fields: &[Field], path: Path<'_>) {
        let of_format = fields.iter().filter(|field| !field.tolerated);
        let known: Vec<&str> = of_format.map(|field| field.key).collect();
        let hint = words_hint(key, &known);
        let message = format!("unknown key {}", quote(key));
        self.at("UNKNOWN_KEY", span, path.key(key), (message, hint));
    }

    /// Tells what is wrong with the alternative that was most likely meant.
    fn either(&mut self, node: &Node, shapes: &[Shape], shape: &Shape, path: Path<'_>) {
        let mut meant: Option<Vec<Problem>> = None;
        for shape in shapes {
            let mut tried = Checker {
                file: self.file,
                problems: Vec::new(),
            };
            tried.check(node, shape, path);
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
            None => self.mistyped(node, shape, path),
        }
    }

    fn mistyped(&mut self, node: &Node, shape: &Shape, path: Path<'_>) {
        let hint = format!("write {}", wanted(shape));
        self.problem("WRONG_TYPE", node, path, (invalid(node), hint));
    }

    fn problem(
        &mut self,
        code: &'static str,
        node: &Node,
        path: Path<'_>,
        words: (String, String),
    ) {
        // Of a collection only its beginning is shown.
        let span = match node.value {
            Value::Scalar(_) => node.span,
            Value::Seq(_) | Value::Map(_) => Span {
                end: node.span.end.min(node.span.start + 1),
                ..node.span
            },
        };
        self.at(code, span, path, words);
    }

    fn at(&mut self, code: &'static str, span: Span, path: Path<'_>, words: (String, String)) {
        if self.problems.len() < PROBLEMS_MAX {
            let problem = Problem::error(code, self.file, path.to_string(), span);
            self.problems.push(problem.saying(words.0, words.1));
        }
    }
}

/// The text of a string, and of a date that YAML leaves without quotes.
fn text_of(node: &Node) -> Option<&str> {
    match node.kind() {
        Some(Kind::Text | Kind::Timestamp) => node.text(),
        Some(Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_)) | None => None,
    }
}

/// Whether a value is of the kind that a shape asks for, whatever it says.
pub(super) fn is_kind(node: &Node, shape: &Shape) -> bool {
    match shape {
        Shape::Any => true,
        Shape::Text(_) => text_of(node).is_some(),
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
fn invalid(node: &Node) -> String {
    match text_of(node) {
        Some(text) => format!("invalid value {}", quote(text)),
        None => match &node.value {
            Value::Scalar(scalar) if !scalar.text.is_empty() => {
                format!("invalid value {}", shortened(&scalar.text))
            }
            Value::Scalar(_) | Value::Seq(_) | Value::Map(_) => {
                format!("invalid value: {}", node.describe())
            }
        },
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", shortened(text).escape_debug())
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let mut out: String = text.chars().take(CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

/// What a shape asks for, as the object of "write".
fn wanted(shape: &Shape) -> String {
    match shape {
        Shape::Any => "any value".to_owned(),
        Shape::Text(text) => wanted_text(*text),
        Shape::Integer { min } => bounded("a whole number", *min),
        Shape::Number { min } => bounded("a number", *min),
        Shape::Bool => "`true` or `false`".to_owned(),
        Shape::Null => "`null`".to_owned(),
        Shape::List(_) => "a list".to_owned(),
        Shape::Map(..) | Shape::Each(_) => "a mapping".to_owned(),
        Shape::Either(shapes) => {
            let words: Vec<String> = shapes.iter().map(wanted).collect();
            words.join(", or ")
        }
        Shape::Named(named) => wanted(&named.shape),
    }
}

fn wanted_text(text: Text) -> String {
    match text {
        Text::Any => "a text".to_owned(),
        Text::NotEmpty => "a text that is not empty".to_owned(),
        Text::OneOf(words) => list("one of ", words.iter().copied()),
        Text::Pattern(pattern) => format!("a text such as \"{}\"", pattern.example()),
        Text::DateTime => "a time with its zone, such as \"2026-01-15T10:30:00Z\"".to_owned(),
    }
}

fn bounded(what: &str, min: Option<i32>) -> String {
    match min {
        Some(min) => format!("{what}, {min} or more"),
        None => what.to_owned(),
    }
}

/// The words that are allowed, the one that was most likely meant first.
fn words_hint(found: &str, words: &[&str]) -> String {
    let lower = found.to_lowercase();
    let folded = words.iter().find(|word| word.to_lowercase() == lower);
    let meant = folded.copied().or_else(|| closest(found, words));
    let others = words.iter().copied().filter(|word| Some(*word) != meant);
    list("write one of ", meant.into_iter().chain(others))
}

fn list<'w>(lead: &str, words: impl Iterator<Item = &'w str>) -> String {
    let mut out = lead.to_owned();
    for (index, word) in words.enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(out, "{comma}`{word}`").expect("a string takes all");
    }
    out
}
