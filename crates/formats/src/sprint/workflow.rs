//! Workflows by name: looked up once, parsed once, told about once.

use std::collections::HashMap;
use std::rc::Rc;

use super::compile::{Lookup, Workflows};
use super::field::{Path, Report};
use crate::problem::Problem;
use crate::yaml::{self, Node, Span};

/// A workflow that was read.
pub(super) struct Workflow {
    /// The name of its file, to show.
    pub(super) file: String,
    /// The content of its file.
    pub(super) text: String,
    /// What stands in it; `None` for an empty file.
    pub(super) root: Option<Node>,
}

impl Workflow {
    pub(super) fn phases(&self) -> &[Node] {
        self.root
            .as_ref()
            .and_then(|root| root.get("phases"))
            .and_then(Node::as_seq)
            .unwrap_or_default()
    }
}

/// What came of asking for a workflow.
#[derive(Clone)]
pub(super) enum Found {
    Workflow(Rc<Workflow>),
    /// Where it was looked for.
    Missing(Vec<String>),
    /// It is there and cannot be used; the problem has been told.
    Broken,
}

/// Where a workflow is referred to, for the problem when it cannot be read.
pub(super) struct Referrer<'r> {
    pub(super) file: &'r str,
    pub(super) path: Path<'r>,
    pub(super) span: Span,
}

/// The workflows of one compilation.
pub(super) struct Library<'w> {
    workflows: &'w dyn Workflows,
    known: HashMap<String, Found>,
}

impl<'w> Library<'w> {
    pub(super) fn new(workflows: &'w dyn Workflows) -> Self {
        Self {
            workflows,
            known: HashMap::new(),
        }
    }

    /// The workflow of that name. Its syntax errors are told the first time.
    pub(super) fn get(
        &mut self,
        name: &str,
        referrer: &Referrer<'_>,
        problems: &mut Vec<Problem>,
    ) -> Found {
        if let Some(found) = self.known.get(name) {
            return found.clone();
        }
        let found = self.load(name, referrer, problems);
        self.known.insert(name.to_owned(), found.clone());
        found
    }

    fn load(&self, name: &str, referrer: &Referrer<'_>, problems: &mut Vec<Problem>) -> Found {
        let (file, text) = match self.workflows.read(name) {
            Lookup::Found { name, text } => (name, text),
            Lookup::Missing { looked_for } => return Found::Missing(looked_for),
            Lookup::Unreadable { why } => {
                let mut report = Report {
                    file: referrer.file,
                    problems,
                };
                let message = format!("the workflow `{name}` cannot be read: {why}");
                let words = (message, "check the file and its permissions");
                report.error("WORKFLOW_PARSE_ERROR", referrer.path, referrer.span, words);
                return Found::Broken;
            }
        };
        let parsed = yaml::parse(&text);
        if parsed.faults.is_empty() {
            return Found::Workflow(Rc::new(Workflow {
                file,
                text,
                root: parsed.root,
            }));
        }
        syntax_problems("WORKFLOW_PARSE_ERROR", &file, parsed.faults, problems);
        Found::Broken
    }
}

/// Tells what is wrong with the syntax of a file.
pub(super) fn syntax_problems(
    code: &'static str,
    file: &str,
    faults: Vec<yaml::Fault>,
    problems: &mut Vec<Problem>,
) {
    problems.extend(faults.into_iter().map(|fault| fault.problem(code, file)));
}
