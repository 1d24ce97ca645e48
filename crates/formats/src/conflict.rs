//! The marks that a merge leaves in a text where two versions contradict each
//! other.
//!
//! A parser reads no JSON or YAML text with such marks: its one fault is the merge. A
//! text of words can still be read, so the caller asks [`find_unresolved_merge`] first.

use crate::markdown::{Doc, LineKind};
use crate::problem::{Problem, SourceText};
use crate::tree::{ParsedTree, Span, SyntaxFault};

/// What the lines of an unresolved merge begin with, in their order.
const MARKS: [&str; 3] = ["<<<<<<<", "=======", ">>>>>>>"];

const MESSAGE: &str = "the file holds an unresolved merge";
const HINT: &str = "settle which version holds, for example with `git mergetool`, then run again";

/// That a text holds an unresolved merge, at the line where its first one
/// begins. Marks that a block of code shows are words.
#[must_use]
pub fn find_unresolved_merge(source: SourceText<'_>) -> Option<Problem> {
    let all = conflict_spans(source.text);
    if all.is_empty() {
        return None;
    }
    let doc = Doc::new(source.text);
    let is_merge = |span: &&Span| doc.kind_of_line(line_index(span)) != LineKind::Code;
    let span = all.iter().find(is_merge)?;
    let message = format!("{MESSAGE}: `{}`", source.text[span.start..span.end].trim());
    let problem = Problem::error("UNRESOLVED_MERGE", source.name, "", *span);
    Some(problem.with_message(message, HINT))
}

fn line_index(span: &Span) -> usize {
    usize::try_from(span.line).unwrap_or(1).saturating_sub(1)
}

/// The same document; with a merge in place of its faults, where there is one.
pub(crate) fn with_conflict_fault(parsed: ParsedTree, text: &str) -> ParsedTree {
    if parsed.faults.is_empty() {
        return parsed;
    }
    let Some(span) = conflict_spans(text).first().copied() else {
        return parsed;
    };
    let fault = SyntaxFault {
        span,
        message: format!("{MESSAGE}: `{}`", text[span.start..span.end].trim()),
        hint: HINT.to_owned(),
    };
    ParsedTree {
        root: None,
        faults: vec![fault],
    }
}

/// The first line of each merge that is complete.
fn conflict_spans(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    // Most texts have none, and may be large.
    if !text.contains(MARKS[0]) {
        return found;
    }
    let mut begun: Option<Span> = None;
    let mut next = 0;
    let mut at = 0;
    for (nth, full) in text.split_inclusive('\n').enumerate() {
        let bare = full.trim_start_matches('\u{feff}');
        let start = at + full.len() - bare.len();
        at += full.len();
        let line = bare.trim_end();
        if !is_conflict_mark(line, MARKS[next]) {
            continue;
        }
        if next == 0 {
            begun = Some(Span {
                start,
                end: start + line.len(),
                line: crate::markdown::to_u32(nth + 1),
                column: 1,
            });
        }
        next = (next + 1) % MARKS.len();
        if next == 0 {
            found.extend(begun.take());
        }
    }
    found
}

fn is_conflict_mark(line: &str, mark: &str) -> bool {
    line.strip_prefix(mark)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<u32>) {
        let source = SourceText { name: "f", text };
        assert_eq!(
            find_unresolved_merge(source).map(|problem| problem.line),
            expect,
            "{text}"
        );
    }

    #[test]
    fn a_merge_has_three_marks_in_their_order() {
        check("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> feature\n", Some(2));
        check("\u{feff}<<<<<<< a\r\n=======\r\n>>>>>>> b\r\n", Some(1));
        let with_base = "<<<<<<< a\nx\n||||||| base\ny\n=======\nz\n>>>>>>> b\n";
        check(with_base, Some(1));
        for text in [
            "<<<<<<< HEAD\nb\n",
            "Title\n=======\n",
            "=======\n<<<<<<< a\n>>>>>>> b\n",
            "> <<<<<<< a\n> =======\n> >>>>>>> b\n",
            "<<<<<<<a\n=======\n>>>>>>> b\n",
            "```\n<<<<<<< a\n=======\n>>>>>>> b\n```\n",
        ] {
            check(text, None);
        }
        let shown = "```\n<<<<<<< a\n=======\n>>>>>>> b\n```\n";
        check(&format!("{shown}<<<<<<< a\n=======\n>>>>>>> b\n"), Some(6));
    }

    #[test]
    fn a_document_with_a_merge_has_no_other_fault() {
        let text = "{\n<<<<<<< HEAD\n  \"a\": 1\n=======\n  \"a\": 2\n>>>>>>> b\n}\n";
        for parsed in [crate::json::parse(text), crate::yaml::parse(text)] {
            let [fault] = parsed.faults.as_slice() else {
                panic!("{:?}", parsed.faults);
            };
            assert_eq!((fault.span.line, parsed.root), (2, None));
            assert_eq!(
                fault.message,
                "the file holds an unresolved merge: `<<<<<<< HEAD`"
            );
        }
    }
}
