//! Workflows by name: looked up once, parsed once, told about once.

use std::collections::HashMap;
use std::rc::Rc;

use super::field::{ProblemReport, ValuePath, is_truthy, to_text};
use crate::problem::Problem;
use crate::yaml::{self, Span, ValueNode};

/// How deep workflows may refer to workflows.
pub(super) const DEPTH_MAX: usize = 5;

/// Gives the workflows that a sprint names.
pub trait WorkflowSource {
    /// Looks for `<name>.yaml`, `<name>.yml` and `<name>`, in this order.
    ///
    /// Asked at most once a name in one compilation.
    fn read_workflow(&self, name: &str) -> WorkflowLookup;
}

/// What came of looking for a workflow.
#[derive(Clone, Debug)]
pub enum WorkflowLookup {
    /// It is here.
    Found {
        /// The name of the file, to show.
        name: String,
        /// Its content.
        text: String,
    },
    /// No such file.
    Missing {
        /// The files that were looked for, to show.
        looked_for: Vec<String>,
    },
    /// The file is there and cannot be read.
    Unreadable {
        /// Why.
        why: String,
    },
}

/// A workflow that was read.
pub(super) struct Workflow {
    /// The name of its file, to show.
    pub(super) file: String,
    /// The content of its file.
    pub(super) text: String,
    /// What stands in it; `None` for an empty file.
    pub(super) root: Option<ValueNode>,
}

impl Workflow {
    pub(super) fn phases(&self) -> &[ValueNode] {
        self.root
            .as_ref()
            .and_then(|root| root.get("phases"))
            .and_then(ValueNode::as_seq)
            .unwrap_or_default()
    }
}

/// What came of asking for a workflow.
#[derive(Clone)]
pub(super) enum LoadedWorkflow {
    Workflow(Rc<Workflow>),
    /// Where it was looked for.
    Missing(Vec<String>),
    /// It is there and cannot be used; the problem has been told.
    Broken,
}

/// Where a workflow is referred to, for the problem when it cannot be read.
pub(super) struct Referrer<'r> {
    pub(super) file: &'r str,
    pub(super) path: ValuePath<'r>,
    pub(super) span: Span,
}

/// The workflows of one compilation.
pub(super) struct WorkflowLibrary<'w> {
    workflows: &'w dyn WorkflowSource,
    known: HashMap<String, LoadedWorkflow>,
}

impl<'w> WorkflowLibrary<'w> {
    pub(super) fn new(workflows: &'w dyn WorkflowSource) -> Self {
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
    ) -> LoadedWorkflow {
        if let Some(found) = self.known.get(name) {
            return found.clone();
        }
        let found = self.load_workflow(name, referrer, problems);
        self.known.insert(name.to_owned(), found.clone());
        found
    }

    fn load_workflow(
        &self,
        name: &str,
        referrer: &Referrer<'_>,
        problems: &mut Vec<Problem>,
    ) -> LoadedWorkflow {
        let (file, text) = match self.workflows.read_workflow(name) {
            WorkflowLookup::Found { name, text } => (name, text),
            WorkflowLookup::Missing { looked_for } => return LoadedWorkflow::Missing(looked_for),
            WorkflowLookup::Unreadable { why } => {
                let mut report = ProblemReport {
                    file: referrer.file,
                    problems,
                };
                let message = format!("the workflow `{name}` cannot be read: {why}");
                let words = (message, "check the file and its permissions");
                report.error("WORKFLOW_PARSE_ERROR", referrer.path, referrer.span, words);
                return LoadedWorkflow::Broken;
            }
        };
        let parsed = yaml::parse(&text);
        if parsed.faults.is_empty() {
            return LoadedWorkflow::Workflow(Rc::new(Workflow {
                file,
                text,
                root: parsed.root,
            }));
        }
        report_syntax_problems("WORKFLOW_PARSE_ERROR", &file, parsed.faults, problems);
        LoadedWorkflow::Broken
    }
}

/// Tells what is wrong with the syntax of a file.
pub(super) fn report_syntax_problems(
    code: &'static str,
    file: &str,
    faults: Vec<yaml::SyntaxFault>,
    problems: &mut Vec<Problem>,
) {
    problems.extend(
        faults
            .into_iter()
            .map(|fault| fault.into_problem(code, file)),
    );
}

/// The workflow that a phase names. Numbers name files too.
pub(super) fn workflow_of_phase(phase: &ValueNode) -> Option<String> {
    phase
        .get("workflow")
        .filter(|node| is_truthy(node))
        .map(to_text)
}

/// Words for a workflow that is not there.
pub(super) fn describe_missing_workflow(
    name: &str,
    looked_for: &[String],
) -> (String, &'static str) {
    let places = if looked_for.is_empty() {
        String::new()
    } else {
        format!("; looked for {}", looked_for.join(", "))
    };
    (
        format!("there is no workflow `{name}`{places}"),
        "correct the name, or add the file",
    )
}

/// Words for a workflow that is nested too deep.
pub(super) fn describe_nesting_too_deep(name: &str) -> (String, &'static str) {
    (
        format!("the workflow `{name}` would be nested deeper than {DEPTH_MAX} levels"),
        "put the phases of one of the workflows directly into the one that uses it",
    )
}
