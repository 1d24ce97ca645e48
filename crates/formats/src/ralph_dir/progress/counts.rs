//! How much of a `progress.md` is taken.

use std::collections::BTreeSet;

use super::read::{is_loop_line, known_parts, parse_progress_md};
use super::{Dialect, RalphProgress};
use crate::adoption::{AdoptionCount, CountedKind, SkippedEntry};
use crate::markdown::{Doc, Heading, LineKind, has_date_prefix};
use crate::sprint::SourceText;
use crate::task::is_ticked;

/// The headings and the ticked boxes of a text.
pub fn collect_counts(source: SourceText<'_>) -> Vec<AdoptionCount> {
    let doc = Doc::new(source.text);
    let (progress, _) = parse_progress_md(source);
    vec![
        count_headings(&doc, &progress),
        count_boxes(&doc, &progress),
    ]
}

/// A heading is taken if it is the title, says what stands below it, or holds
/// something that is taken.
fn count_headings(doc: &Doc<'_>, progress: &RalphProgress) -> AdoptionCount {
    let mut known: BTreeSet<usize> = BTreeSet::new();
    let sections = progress.sessions.iter();
    let sections = sections.filter(|session| session.dialect == Dialect::Section);
    known.extend(sections.map(|session| session.lines.start));
    let title = doc.headings.first().filter(|heading| heading.level == 1);
    let title = title.map(|heading| heading.line);
    for (index, heading) in doc.headings.iter().enumerate() {
        if known.contains(&heading.line) {
            known.extend(
                known_parts(doc, index)
                    .into_iter()
                    .map(|(_, lines)| lines.start),
            );
        } else if has_date_prefix(doc.heading_text(heading)) && is_loop_heading(doc, heading.line) {
            known.insert(heading.line);
        }
    }
    let holds = |from: usize, to: usize| known.range(from..to).next().is_some();
    let is_taken = |line: usize, end: usize| Some(line) == title || holds(line, end);
    let (taken, left): (Vec<&Heading>, Vec<&Heading>) = doc
        .headings
        .iter()
        .partition(|heading| is_taken(heading.line, heading.end));
    let left = left.iter().map(|heading| skipped_line(doc, heading.line));
    AdoptionCount::new(CountedKind::Headings, taken.len(), left)
        .with_hint("piton takes what stands under `## Session N (DATE)`; the rest stays as it is")
}

/// Whether a loop's line follows a heading.
fn is_loop_heading(doc: &Doc<'_>, heading: usize) -> bool {
    let mut below = heading + 1..doc.line_count();
    let first = below.find(|line| doc.kind_of_line(*line) != LineKind::Blank);
    first.is_some_and(|line| is_loop_line(doc.line(line)))
}

fn count_boxes(doc: &Doc<'_>, progress: &RalphProgress) -> AdoptionCount {
    let mut known: BTreeSet<u32> = BTreeSet::new();
    for session in &progress.sessions {
        let done = session.completed.iter().filter(|done| done.ticked);
        known.extend(done.map(|done| done.span.line));
        known.extend(session.blockers.iter().map(|blocker| blocker.span.line));
    }
    let lines = 0..doc.line_count();
    let ticked = lines
        .filter(|line| doc.kind_of_line(*line) == LineKind::Text && is_ticked(doc.line(*line)));
    let (taken, left): (Vec<_>, Vec<_>) =
        ticked.partition(|line| known.contains(&doc.line_span(*line).line));
    let left = left.iter().map(|line| skipped_line(doc, *line));
    AdoptionCount::new(CountedKind::TickedBoxes, taken.len(), left)
        .with_hint("piton takes those under `### Completed` of `## Session N (DATE)`")
}

fn skipped_line(doc: &Doc<'_>, line: usize) -> SkippedEntry {
    SkippedEntry::new(doc.line_span(line).line, doc.line(line))
}
