//! How much of a `progress.md` is taken.

use std::collections::BTreeSet;

use super::read::{is_loop_line, parts, read};
use super::{Dialect, Progress};
use crate::adoption::{Count, Left, What};
use crate::markdown::{Doc, Heading, Kind, starts_with_date};
use crate::sprint::Source;
use crate::task::is_ticked;

/// The headings and the ticked boxes of a text.
pub fn counts(source: Source<'_>) -> Vec<Count> {
    let doc = Doc::new(source.text);
    let (progress, _) = read(source);
    vec![headings(&doc, &progress), boxes(&doc, &progress)]
}

/// A heading is taken if it is the title, says what stands below it, or holds
/// something that is taken.
fn headings(doc: &Doc<'_>, progress: &Progress) -> Count {
    let mut known: BTreeSet<usize> = BTreeSet::new();
    let sections = progress.sessions.iter();
    let sections = sections.filter(|session| session.dialect == Dialect::Section);
    known.extend(sections.map(|session| session.lines.start));
    let title = doc.headings.first().filter(|heading| heading.level == 1);
    let title = title.map(|heading| heading.line);
    for (index, heading) in doc.headings.iter().enumerate() {
        if known.contains(&heading.line) {
            known.extend(parts(doc, index).into_iter().map(|(_, lines)| lines.start));
        } else if starts_with_date(doc.heading_text(heading)) && says_loop(doc, heading.line) {
            known.insert(heading.line);
        }
    }
    let holds = |from: usize, to: usize| known.range(from..to).next().is_some();
    let is_taken = |line: usize, end: usize| Some(line) == title || holds(line, end);
    let (taken, left): (Vec<&Heading>, Vec<&Heading>) = doc
        .headings
        .iter()
        .partition(|heading| is_taken(heading.line, heading.end));
    let left = left.iter().map(|heading| of_line(doc, heading.line));
    Count::new(What::Headings, taken.len(), left)
        .hinted("piton takes what stands under `## Session N (DATE)`; the rest stays as it is")
}

/// Whether a loop's line follows a heading.
fn says_loop(doc: &Doc<'_>, heading: usize) -> bool {
    let mut below = heading + 1..doc.line_count();
    let first = below.find(|line| doc.kind(*line) != Kind::Blank);
    first.is_some_and(|line| is_loop_line(doc.line(line)))
}

fn boxes(doc: &Doc<'_>, progress: &Progress) -> Count {
    let mut known: BTreeSet<u32> = BTreeSet::new();
    for session in &progress.sessions {
        let done = session.completed.iter().filter(|done| done.ticked);
        known.extend(done.map(|done| done.span.line));
        known.extend(session.blockers.iter().map(|blocker| blocker.span.line));
    }
    let lines = 0..doc.line_count();
    let ticked = lines.filter(|line| doc.kind(*line) == Kind::Text && is_ticked(doc.line(*line)));
    let (taken, left): (Vec<_>, Vec<_>) =
        ticked.partition(|line| known.contains(&doc.line_span(*line).line));
    let left = left.iter().map(|line| of_line(doc, *line));
    Count::new(What::TickedBoxes, taken.len(), left)
        .hinted("piton takes those under `### Completed` of `## Session N (DATE)`")
}

fn of_line(doc: &Doc<'_>, line: usize) -> Left {
    Left::new(doc.line_span(line).line, doc.line(line))
}
