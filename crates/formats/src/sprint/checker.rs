//! A node of a sprint or a workflow that is checked.

use super::field::{is_object, span_of_key};
use crate::report::{ProblemReport, ValuePath};
use crate::yaml::ValueNode;

/// A node that is checked, the way to it, and where its problems go.
pub(super) struct NodeChecker<'c, 'r> {
    pub(super) node: &'c ValueNode,
    pub(super) path: ValuePath<'c>,
    pub(super) report: &'c mut ProblemReport<'r>,
}

impl<'c, 'r> NodeChecker<'c, 'r> {
    pub(super) fn new(
        node: &'c ValueNode,
        path: ValuePath<'c>,
        report: &'c mut ProblemReport<'r>,
    ) -> Self {
        Self { node, path, report }
    }

    /// An error at the value under `key`.
    pub(super) fn error(
        &mut self,
        code: &'static str,
        key: &str,
        message: impl Into<String>,
        hint: &str,
    ) {
        let (path, span) = (self.path.key(key), span_of_key(self.node, key));
        self.report.error(code, path, span, (message.into(), hint));
    }

    /// A warning at the value under `key`.
    pub(super) fn warning(
        &mut self,
        code: &'static str,
        key: &str,
        message: impl Into<String>,
        hint: &str,
    ) {
        let (path, span) = (self.path.key(key), span_of_key(self.node, key));
        self.report
            .warning(code, path, span, (message.into(), hint));
    }

    /// An error of the node as a whole, of which `key` is shown.
    pub(super) fn error_at_node(
        &mut self,
        code: &'static str,
        key: &str,
        message: &str,
        hint: &str,
    ) {
        let (path, span) = (self.path, span_of_key(self.node, key));
        self.report
            .error(code, path, span, (message.to_owned(), hint));
    }

    /// Whether the node is a mapping; if not, an error that calls it `what`.
    pub(super) fn is_mapping(&mut self, code: &'static str, what: &str, hint: &str) -> bool {
        let is_mapping = is_object(self.node);
        if !is_mapping {
            let message = format!("{what}, not {}", self.node.describe());
            let (path, span) = (self.path, self.node.span);
            self.report.error(code, path, span, (message, hint));
        }
        is_mapping
    }

    /// The text under `key`; an error that calls it `name` where something else
    /// stands there.
    pub(super) fn expect_string(
        &mut self,
        code: &'static str,
        key: &str,
        name: &str,
        hint: &str,
    ) -> Option<&'c str> {
        let value = self.node.get(key)?;
        if value.as_str().is_none() {
            let message = format!("{name} must be a string, not {}", value.describe());
            self.error(code, key, message, hint);
        }
        value.as_str()
    }
}
