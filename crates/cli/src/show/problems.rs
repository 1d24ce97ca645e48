//! Problems in files, printed like a compiler does.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use piton_engine::Findings;
use piton_engine::model::terminal::{clean_line, clean_text};
use piton_engine::problem::{Problem, Severity};

use crate::output::mark_styles;

/// Of problems of one kind so many are shown: the others are only more of the
/// same, and `--json` has them.
const OF_A_KIND_MAX: usize = 20;

/// The problems beside their source lines, each with its mend.
pub(crate) fn render(findings: &Findings, width: usize) -> String {
    let renderer = Renderer::styled().term_width(width.max(40));
    let mut text = String::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for problem in &findings.problems {
        let count = counts.entry(problem.code.as_ref()).or_default();
        *count += 1;
        if *count <= OF_A_KIND_MAX {
            text.push_str(&render_problem(problem, findings, &renderer));
            text.push_str("\n\n");
        }
    }
    for (code, count) in counts {
        if let Some(more) = count.checked_sub(OF_A_KIND_MAX).filter(|more| *more > 0) {
            let line = format!("and {more} more of the kind {code}: `--json` has them all\n\n");
            text.push_str(&line);
        }
    }
    text
}

fn render_problem(problem: &Problem, findings: &Findings, renderer: &Renderer) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let (message, file) = (clean_text(&problem.message), clean_line(&problem.file));
    let (code, hint) = (clean_line(&problem.code), clean_text(&problem.hint));
    let title = level.primary_title(message.as_ref()).id(code.as_ref());
    let source = findings.sources.get(&problem.file);
    let source = source.filter(|source| !source.is_empty());
    let mut group = match source.map(|source| clean_source(source, &problem.bytes)) {
        Some((source, bytes)) => {
            let snippet = Snippet::source(source)
                .path(file.as_ref())
                .fold(true)
                .annotation(AnnotationKind::Primary.span(bytes));
            title.element(snippet)
        }
        None => title.element(annotate_snippets::Origin::path(file.as_ref())),
    };
    if !hint.is_empty() {
        group = group.element(Level::HELP.message(hint.as_ref()));
    }
    mark_styles(&renderer.render(&[group]))
}

/// A source as it is shown, and where the problem stands in that.
fn clean_source<'s>(source: &'s str, bytes: &Range<usize>) -> (Cow<'s, str>, Range<usize>) {
    let end = source.floor_char_boundary(bytes.end);
    let start = source.floor_char_boundary(bytes.start).min(end);
    if let clean @ Cow::Borrowed(_) = clean_text(source) {
        return (clean, start..end);
    }
    let before = clean_text(&source[..start]);
    let problem = clean_text(&source[start..end]);
    let bytes = before.len()..before.len() + problem.len();
    let clean = format!("{before}{problem}{}", clean_text(&source[end..]));
    (Cow::Owned(clean), bytes)
}
