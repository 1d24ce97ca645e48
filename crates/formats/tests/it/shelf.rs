//! Workflows in memory, and the shortest way to compile with them.

use std::collections::BTreeMap;

use piton_formats::problem::Problem;
use piton_formats::sprint::{
    Compilation, CompileOptions, SourceText, WorkflowLookup, WorkflowSource, compile,
};

/// Workflows by file name.
#[derive(Default)]
pub(crate) struct Shelf(BTreeMap<String, String>);

impl Shelf {
    pub(crate) fn new<const N: usize>(files: [(&str, &str); N]) -> Self {
        Self(
            files
                .into_iter()
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
        )
    }

    pub(crate) fn put(&mut self, name: &str, text: impl Into<String>) {
        self.0.insert(name.to_owned(), text.into());
    }
}

impl WorkflowSource for Shelf {
    fn read_workflow(&self, name: &str) -> WorkflowLookup {
        let looked_for = vec![
            format!("{name}.yaml"),
            format!("{name}.yml"),
            name.to_owned(),
        ];
        for file in &looked_for {
            if let Some(text) = self.0.get(file) {
                return WorkflowLookup::Found {
                    name: file.clone(),
                    text: text.clone(),
                };
            }
        }
        WorkflowLookup::Missing { looked_for }
    }
}

pub(crate) fn compile_on(shelf: &Shelf, sprint: &str, strict: bool) -> Compilation {
    let source = SourceText {
        name: "SPRINT.yaml",
        text: sprint,
    };
    let options = CompileOptions {
        strict,
        date: "2026-03-04",
    };
    compile(source, "2026-02-03_demo", shelf, options)
}

/// `CODE file:line:column path`, one problem a line.
pub(crate) fn lines<'p>(problems: impl IntoIterator<Item = &'p Problem>) -> String {
    problems
        .into_iter()
        .map(|p| format!("{} {}:{}:{} {}", p.code, p.file, p.line, p.column, p.path))
        .map(|line| line.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}
