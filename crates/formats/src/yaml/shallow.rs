//! Quoted text whose further lines are not indented.
//!
//! YAML wants the lines of a quoted text indented deeper than its key. Readers
//! in use, the one that these files are written for among them, do not insist;
//! the parser does. So such lines are indented in a copy, where blanks at the
//! start of a line of quoted text mean nothing, and what is found in the copy
//! is put back to its place in the source.

use super::build::try_parse;
use crate::tree::{ParsedTree, Span, Value, ValueNode};

/// How many lines are indented before the text is given up: each costs a pass.
const LINES_MAX: usize = 64;

/// How much a line is indented: deeper than keys are in any sane file.
const BLANKS: usize = 256;

/// Reads `text`, of which a line of quoted text at `at` lacks indentation.
/// `None` when indenting does not help.
pub(super) fn parse_indented(text: &str, at: usize) -> Option<ParsedTree> {
    let mut at = at;
    let mut indented = IndentedCopy {
        copy: text.to_owned(),
        starts: Vec::new(),
    };
    for _ in 0..LINES_MAX {
        let start = indented.copy.get(..at)?.rfind('\n')? + 1;
        if indented.starts.last().is_some_and(|last| *last >= start) {
            return None;
        }
        indented.copy.insert_str(start, &" ".repeat(BLANKS));
        indented.starts.push(start);
        let (mut parsed, shallow) = try_parse(&indented.copy);
        match shallow {
            Some(next) => at = next,
            None => {
                indented.restore_spans(&mut parsed);
                return Some(parsed);
            }
        }
    }
    None
}

/// A copy with some of its lines indented.
struct IndentedCopy {
    copy: String,
    /// Where these lines start.
    starts: Vec<usize>,
}

impl IndentedCopy {
    fn restore_spans(&self, parsed: &mut ParsedTree) {
        for fault in &mut parsed.faults {
            self.restore_span(&mut fault.span);
        }
        if let Some(root) = &mut parsed.root {
            self.restore_node(root);
        }
    }

    fn restore_node(&self, node: &mut ValueNode) {
        self.restore_span(&mut node.span);
        match &mut node.value {
            Value::Scalar(_) => {}
            Value::Seq(items) => items.iter_mut().for_each(|item| self.restore_node(item)),
            Value::Map(map) => {
                for (key, value) in &mut map.pairs {
                    self.restore_span(&mut key.span);
                    self.restore_node(value);
                }
            }
        }
    }

    fn restore_span(&self, span: &mut Span) {
        if let Some((_, start)) = self.line_before(span.start)
            && !self.copy[start..span.start].contains('\n')
        {
            let blanks = u32::try_from(BLANKS).unwrap_or_default();
            span.column = span.column.saturating_sub(blanks).max(1);
        }
        span.start = self.source_position(span.start);
        span.end = self.source_position(span.end);
    }

    /// The place in the source of a place in the copy.
    fn source_position(&self, at: usize) -> usize {
        self.line_before(at).map_or(at, |(lines, start)| {
            at - lines * BLANKS - BLANKS.min(at - start)
        })
    }

    /// The last indented line that starts before a place in the copy, and how
    /// many come before that line.
    fn line_before(&self, at: usize) -> Option<(usize, usize)> {
        let last = self
            .starts
            .partition_point(|start| *start <= at)
            .checked_sub(1)?;
        Some((last, self.starts[last]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::yaml::ValueNode;

    #[test]
    fn quoted_text_may_go_on_without_indentation() {
        let text = "a:\n  b: \"one\ntwo\n\n three\"\n  c: x\nd: 'y\nz'\n";
        let parsed = parse(text);
        assert!(parsed.faults.is_empty(), "{:?}", parsed.faults);
        let root = parsed.root.expect("a document");
        let inner = root.get("a").expect("present");
        assert_eq!(
            inner.get("b").and_then(ValueNode::as_str),
            Some("one two\nthree")
        );
        let c = inner.get("c").expect("present");
        assert_eq!((c.span.line, c.span.column), (6, 6));
        assert_eq!(&text[c.span.start..c.span.end], "x");
        let d = root.get("d").expect("present");
        assert_eq!(&text[d.span.start..d.span.end], "'y\nz'");
    }

    #[test]
    fn what_is_wrong_behind_such_a_text_has_its_place() {
        let parsed = parse("a: \"one\ntwo\" oops\nb: 1\n");
        let fault = &parsed.faults[0];
        assert_eq!((fault.span.line, fault.span.column), (2, 6));
        assert!(parse("a: \"one\ntwo\n").root.is_none());
    }
}
