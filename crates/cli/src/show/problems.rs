//! Problems in files, printed like a compiler does.

use std::collections::BTreeMap;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use piton_engine::Findings;
use piton_engine::problem::{Problem, Severity};

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
    let title = level
        .primary_title(problem.message.as_str())
        .id(problem.code.as_ref());
    let source = findings
        .sources
        .get(&problem.file)
        .map(String::as_str)
        .filter(|source| !source.is_empty());
    let mut group = match source {
        Some(source) => {
            let end = problem.bytes.end.min(source.len());
            let start = problem.bytes.start.min(end);
            let snippet = Snippet::source(source)
                .path(problem.file.as_str())
                .fold(true)
                .annotation(AnnotationKind::Primary.span(start..end));
            title.element(snippet)
        }
        None => title.element(annotate_snippets::Origin::path(problem.file.as_str())),
    };
    if !problem.hint.is_empty() {
        group = group.element(Level::HELP.message(problem.hint.as_str()));
    }
    renderer.render(&[group])
}
