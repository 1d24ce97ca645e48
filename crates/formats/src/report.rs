//! Where a value stands, and the problems of one file.

use std::fmt;

use crate::problem::Problem;
use crate::tree::{Map, Span};

/// The way to a value, built without allocating and printed only for a problem.
#[derive(Clone, Copy)]
pub(crate) struct ValuePath<'p> {
    parent: Option<&'p ValuePath<'p>>,
    step: PathStep<'p>,
}

#[derive(Clone, Copy)]
enum PathStep<'p> {
    /// The document, under the name that its paths begin with, if any.
    Root(&'p str),
    Key(&'p str),
    Index(usize),
}

impl<'p> ValuePath<'p> {
    pub(crate) const ROOT: ValuePath<'static> = ValuePath {
        parent: None,
        step: PathStep::Root(""),
    };

    /// The document, called `name` in every path.
    pub(crate) fn root(name: &'p str) -> ValuePath<'p> {
        ValuePath {
            parent: None,
            step: PathStep::Root(name),
        }
    }

    pub(crate) const fn key(&'p self, key: &'p str) -> ValuePath<'p> {
        ValuePath {
            parent: Some(self),
            step: PathStep::Key(key),
        }
    }

    pub(crate) const fn index(&'p self, index: usize) -> ValuePath<'p> {
        ValuePath {
            parent: Some(self),
            step: PathStep::Index(index),
        }
    }
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            PathStep::Root(name) => f.write_str(name),
            PathStep::Key(key) if self.is_top_level() => f.write_str(key),
            PathStep::Key(key) => write!(f, ".{key}"),
            PathStep::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl ValuePath<'_> {
    fn is_top_level(&self) -> bool {
        matches!(
            self.parent,
            Some(ValuePath {
                step: PathStep::Root(""),
                ..
            })
        )
    }
}

/// A mapping and the way to it.
#[derive(Clone, Copy)]
pub(crate) struct MapPosition<'p> {
    pub(crate) map: &'p Map,
    pub(crate) path: ValuePath<'p>,
}

/// The problems of one file.
pub(crate) struct ProblemReport<'r> {
    pub(crate) file: &'r str,
    pub(crate) problems: &'r mut Vec<Problem>,
}

/// How to mend a value that is of no use.
pub(crate) const KEPT: &str =
    "correct the value; until then it is kept as it stands and has no effect";

/// What to tell about a problem: what was found, and how to mend it.
pub(crate) type ProblemWords<'w> = (String, &'w str);

impl ProblemReport<'_> {
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        path: ValuePath<'_>,
        span: Span,
        words: ProblemWords<'_>,
    ) {
        self.problems.push(
            Problem::error(code, self.file, path.to_string(), span).with_message(words.0, words.1),
        );
    }

    pub(crate) fn warning(
        &mut self,
        code: &'static str,
        path: ValuePath<'_>,
        span: Span,
        words: ProblemWords<'_>,
    ) {
        self.problems.push(
            Problem::warning(code, self.file, path.to_string(), span)
                .with_message(words.0, words.1),
        );
    }
}

/// The known word that `word` is most likely meant to be.
pub fn closest_word<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    const LEN_MAX: usize = 40;
    if word.len() > LEN_MAX || word.len() < 3 {
        return None;
    }
    known
        .iter()
        .map(|candidate| (edit_distance(word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len() / 3 && *distance <= 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be changed, added, dropped or swapped with the next.
fn edit_distance(a: &str, b: &str) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_one_would_write_it() {
        let phases = ValuePath::ROOT.key("phases");
        let first = phases.index(0);
        let gate = first.key("gate");
        assert_eq!(gate.key("script").to_string(), "phases[0].gate.script");
        assert_eq!(ValuePath::ROOT.to_string(), "");
        let entries = ValuePath::root("progress");
        let entries = entries.key("entries");
        assert_eq!(entries.index(3).to_string(), "progress.entries[3]");
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_key_that_was_meant() {
        let known = ["prompt", "for-each", "workflow", "gate", "id"];
        assert_eq!(closest_word("promt", &known), Some("prompt"));
        assert_eq!(closest_word("gaet", &known), Some("gate"));
        assert_eq!(closest_word("foreach", &known), Some("for-each"));
        assert_eq!(closest_word("description", &known), None);
        assert_eq!(closest_word("is", &known), None);
    }
}
