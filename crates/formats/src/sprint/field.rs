//! Where a value stands, and what JavaScript would make of it.
//!
//! The original compiler is written in JavaScript, and which of its error
//! codes a mistake gets follows from the language's idea of truth and type.
//! Those ideas are written down here once.

use std::fmt;

use crate::problem::Problem;
use crate::yaml::{Kind, Map, Node, Span, Value};

/// The way to a value, built without allocating and printed only for a problem.
#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    pub(super) const ROOT: Path<'static> = Path {
        parent: None,
        step: Step::Root,
    };

    pub(super) fn key(&'p self, key: &'p str) -> Path<'p> {
        Path {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    pub(super) fn index(&'p self, index: usize) -> Path<'p> {
        Path {
            parent: Some(self),
            step: Step::Index(index),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else {
            return Ok(());
        };
        parent.fmt(f)?;
        match self.step {
            Step::Root => Ok(()),
            Step::Key(key) if parent.parent.is_none() => f.write_str(key),
            Step::Key(key) => write!(f, ".{key}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The problems of one file.
pub(super) struct Report<'r> {
    pub(super) file: &'r str,
    pub(super) problems: &'r mut Vec<Problem>,
}

/// What to tell about a problem: what was found, and how to mend it.
pub(super) type Words<'w> = (String, &'w str);

impl Report<'_> {
    pub(super) fn error(
        &mut self,
        code: &'static str,
        path: Path<'_>,
        span: Span,
        words: Words<'_>,
    ) {
        self.problems
            .push(Problem::error(code, self.file, path.to_string(), span).saying(words.0, words.1));
    }

    pub(super) fn warning(
        &mut self,
        code: &'static str,
        path: Path<'_>,
        span: Span,
        words: Words<'_>,
    ) {
        self.problems.push(
            Problem::warning(code, self.file, path.to_string(), span).saying(words.0, words.1),
        );
    }

    /// Warns of keys that are a slip away from a known one.
    pub(super) fn misspelt(&mut self, map: &Map, path: Path<'_>, known: &[&str]) {
        for (key, _) in map.iter() {
            if known.contains(&key.text.as_str()) {
                continue;
            }
            let Some(meant) = closest(&key.text, known) else {
                continue;
            };
            self.warning(
                "UNKNOWN_KEY",
                path.key(&key.text),
                key.span,
                (
                    format!("the key `{}` is not known; `{meant}` is", key.text),
                    "correct the spelling; nothing reads the key as it stands",
                ),
            );
        }
    }
}

/// The known word that `word` is most likely meant to be.
fn closest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    const LEN_MAX: usize = 40;
    if word.len() > LEN_MAX || word.len() < 3 {
        return None;
    }
    known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len() / 3 && *distance <= 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be changed, added, dropped or swapped with the next.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_one_would_write_it() {
        let phases = Path::ROOT.key("phases");
        let first = phases.index(0);
        let gate = first.key("gate");
        assert_eq!(gate.key("script").to_string(), "phases[0].gate.script");
        assert_eq!(Path::ROOT.to_string(), "");
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_key_that_was_meant() {
        let known = ["prompt", "for-each", "workflow", "gate", "id"];
        assert_eq!(closest("promt", &known), Some("prompt"));
        assert_eq!(closest("gaet", &known), Some("gate"));
        assert_eq!(closest("foreach", &known), Some("for-each"));
        assert_eq!(closest("description", &known), None);
        assert_eq!(closest("is", &known), None);
    }
}
