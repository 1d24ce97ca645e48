//! A query: the text of a failure, or of a task before it begins.

use std::collections::HashMap;

use super::code::{ToolErrorCode, parse_error_codes};
use super::line::{ClassifiedLine, LineClass, classify_lines};
use super::token::{TokenKind, tokenize};

/// No more lines of a text are read, the last ones: a failure ends a run.
const LINES_MAX: usize = 1_000;
/// No more tokens are weighed, the heaviest ones.
const TERMS_MAX: usize = 150;

/// A text as it is asked with.
#[derive(Debug)]
pub struct Query {
    pub(super) terms: Vec<Term>,
    pub(super) codes: Vec<ToolErrorCode>,
}

/// A token of a query.
#[derive(Debug)]
pub(super) struct Term {
    pub(super) text: String,
    pub(super) kind: TokenKind,
    /// How much it counts, by its kind and by its line.
    pub(super) weight: f64,
    /// Whether it stands in a line that is the failure itself.
    pub(super) central: bool,
    pub(super) said: String,
}

impl Query {
    /// Reads a text.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let lines = classify_lines(last_lines(text));
        let spoken = lines.iter().filter(|line| {
            !matches!(
                line.class,
                LineClass::Noise | LineClass::Trail | LineClass::Frame
            )
        });
        Self {
            terms: collect_terms(&lines),
            codes: parse_error_codes(spoken.map(|line| line.text.as_str())),
        }
    }

    /// All tokens of which a store must know how many memories hold them.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| term.text.as_str())
    }

    /// The tokens by which a store finds candidates, the most telling first, and
    /// how much each of them counts: what helps shares at least one of them.
    #[must_use]
    pub fn weighted_tokens(&self, most: usize) -> Vec<(&str, f64)> {
        let mut terms: Vec<&Term> = self
            .terms
            .iter()
            .filter(|term| term.kind != TokenKind::Common)
            .collect();
        terms.sort_by(|one, other| compare_weight(one, other));
        terms
            .into_iter()
            .take(most)
            .map(|term| (term.text.as_str(), term.weight))
            .collect()
    }
}

fn compare_weight(one: &Term, other: &Term) -> std::cmp::Ordering {
    other
        .weight
        .total_cmp(&one.weight)
        .then_with(|| one.text.cmp(&other.text))
}

fn last_lines(text: &str) -> &str {
    let mut starts = text.rmatch_indices('\n').skip(LINES_MAX);
    starts.next().map_or(text, |(at, _)| &text[at + 1..])
}

/// The tokens of the lines, each as heavy as where it counts most.
fn collect_terms(lines: &[ClassifiedLine]) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for line in lines.iter().filter(|line| line.class != LineClass::Noise) {
        for token in tokenize(&line.text) {
            let term = Term {
                weight: line.class.weight() * token.kind.weight(),
                central: line.class == LineClass::Error,
                kind: token.kind,
                said: token.said,
                text: token.text,
            };
            match known.get(&term.text) {
                Some(at) if terms[*at].weight >= term.weight => {}
                Some(at) => terms[*at] = term,
                None => {
                    known.insert(term.text.clone(), terms.len());
                    terms.push(term);
                }
            }
        }
    }
    terms.sort_by(compare_weight);
    terms.truncate(TERMS_MAX);
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_is_asked_for_before_what_surrounds_it() {
        let query = Query::parse(
            "   Compiling hyper v1.4.1\nerror: pool timed out while waiting\n  --> src/cart.rs:1:2\n",
        );
        let telling: Vec<&str> = query
            .weighted_tokens(3)
            .iter()
            .map(|(token, _)| *token)
            .collect();
        assert!(telling.contains(&"pool"), "{telling:?}");
        assert!(!telling.contains(&"hyper"), "{telling:?}");
    }

    #[test]
    fn of_a_long_text_the_end_is_read() {
        let mut text = "alpha beta gamma\n".repeat(LINES_MAX + 10);
        text.insert_str(0, "at the very beginning: zebra\n");
        text += "error: the giraffe is gone";
        let query = Query::parse(&text);
        assert!(query.tokens().any(|token| token == "giraff"));
        assert!(!query.tokens().any(|token| token == "zebra"));
    }
}
