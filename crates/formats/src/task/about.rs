//! What a task file says beside its boxes: of the whole, and below one of them.

use piton_core::ItemRow;

use super::boxes::Checklist;
use super::plan::StoredCriterion;
use super::{Criterion, boxes, front};
use crate::markdown::{Doc, LineKind, indent_columns};
use crate::plan_file::PlanFileNotes;
use crate::problem::SourceText;

/// What the text says of its whole, and of the criterion of an item.
///
/// The boxes and what is nested in them are left out of the whole, and so are
/// headings with nothing below them.
#[must_use]
pub(crate) fn task_notes(source: SourceText<'_>, row: &ItemRow) -> PlanFileNotes {
    let (_, head, _) = front::parse_front_matter(source);
    let doc = Doc::with_head(source.text, head);
    let Checklist {
        criteria, dialect, ..
    } = boxes::find_checklist(&doc, head);
    let ends: Vec<usize> = criteria.iter().map(|one| block_end(&doc, one)).collect();
    let id = StoredCriterion::unpack(row).id;
    let own = criteria.iter().position(|one| one.id == id);
    PlanFileNotes {
        whole: whole_text(&doc, head, &criteria, &ends),
        details: own.and_then(|own| details_of_criterion(&doc, own, &criteria, &ends)),
        documents: dialect.documents(),
    }
}

fn line_of_criterion(criterion: &Criterion) -> usize {
    (criterion.line as usize).saturating_sub(1)
}

/// The line behind the last one that belongs to a criterion or is nested in it.
fn block_end(doc: &Doc<'_>, criterion: &Criterion) -> usize {
    let first = line_of_criterion(criterion);
    let indent = indent_columns(doc.line(first));
    let mut end = first + 1;
    for line in first + 1..doc.line_count() {
        let kind = doc.kind_of_line(line);
        if kind == LineKind::Blank {
            continue;
        }
        if matches!(kind, LineKind::Heading(_)) || indent_columns(doc.line(line)) <= indent {
            break;
        }
        end = line + 1;
    }
    end
}

fn whole_text(
    doc: &Doc<'_>,
    head: usize,
    criteria: &[Criterion],
    ends: &[usize],
) -> Option<String> {
    let mut is_of_box = vec![false; doc.line_count()];
    for (criterion, end) in criteria.iter().zip(ends) {
        is_of_box[line_of_criterion(criterion)..*end].fill(true);
    }
    let mut lines: Vec<&str> = Vec::new();
    // Headings wait for something below them, unless one above that is met.
    let mut waiting: Vec<(u8, &str)> = Vec::new();
    for line in (0..doc.line_count()).filter(|line| doc.line_start(*line) >= head) {
        let text = doc.line(line);
        match doc.kind_of_line(line) {
            _ if is_of_box[line] => {}
            LineKind::Comment => {}
            LineKind::Blank if lines.last().is_none_or(|last| last.trim().is_empty()) => {}
            LineKind::Heading(level) => {
                waiting.retain(|(above, _)| *above < level);
                waiting.push((level, text));
            }
            LineKind::Blank => lines.push(""),
            LineKind::Text | LineKind::Code | LineKind::Html | LineKind::Quote | LineKind::Rule => {
                for (_, heading) in waiting.drain(..) {
                    lines.extend([heading, ""]);
                }
                lines.push(text);
            }
        }
    }
    dedent_lines(&lines)
}

/// What is nested in a criterion and is none itself.
fn details_of_criterion(
    doc: &Doc<'_>,
    own: usize,
    criteria: &[Criterion],
    ends: &[usize],
) -> Option<String> {
    let nested = criteria.iter().zip(ends).skip(own + 1);
    let nested: Vec<_> = nested
        .map(|(one, end)| line_of_criterion(one)..*end)
        .collect();
    // The paragraph of the box is its words.
    let within = boxes::paragraph_end(doc, line_of_criterion(&criteria[own]))..ends[own];
    let lines: Vec<&str> = within
        .filter(|line| !nested.iter().any(|lines| lines.contains(line)))
        .map(|line| doc.line(line))
        .collect();
    dedent_lines(&lines)
}

fn dedent_lines(lines: &[&str]) -> Option<String> {
    let indents = lines.iter().filter(|line| !line.trim().is_empty());
    let margin = indents.map(|line| indent_columns(line)).min().unwrap_or(0);
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.get(margin.min(line.len() - line.trim_start().len())..))
        .map(Option::unwrap_or_default)
        .collect();
    let text = lines.join("\n");
    let text = text.trim_matches(['\n', '\r']).trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}
