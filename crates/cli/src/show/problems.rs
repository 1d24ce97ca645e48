//! Problems in files, printed like a compiler does.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use piton_engine::Findings;
use piton_engine::problem::{Problem, Severity};

/// The problems beside their source lines, each with its mend.
pub(crate) fn render(findings: &Findings, width: usize) -> String {
    let renderer = Renderer::styled().term_width(width.max(40));
    let mut text = String::new();
    for problem in &findings.problems {
        text.push_str(&one(problem, findings, &renderer));
        text.push_str("\n\n");
    }
    text
}

fn one(problem: &Problem, findings: &Findings, renderer: &Renderer) -> String {
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
