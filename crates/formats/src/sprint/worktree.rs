//! The worktree of a sprint: checks, and names filled in.

use super::field::{Path, Report, found, is_object, span_of};
use crate::yaml::{Node, Span};

const CLEANUP_MODES: [&str; 3] = ["never", "on-complete", "on-merge"];
const CLEANUP_HINT: &str = "write `never`, `on-complete` or `on-merge`";

/// The codes that differ between a sprint's and a workflow's `worktree`.
struct Codes {
    not_a_mapping: &'static str,
    missing_enabled: &'static str,
    invalid_enabled: &'static str,
    invalid_cleanup: &'static str,
    invalid_cleanup_mode: &'static str,
}

const SPRINT: Codes = Codes {
    not_a_mapping: "INVALID_WORKTREE_CONFIG",
    missing_enabled: "WORKTREE_MISSING_ENABLED",
    invalid_enabled: "WORKTREE_INVALID_ENABLED",
    invalid_cleanup: "WORKTREE_INVALID_CLEANUP",
    invalid_cleanup_mode: "WORKTREE_INVALID_CLEANUP_MODE",
};

const WORKFLOW: Codes = Codes {
    not_a_mapping: "INVALID_WORKFLOW_WORKTREE",
    missing_enabled: "WORKFLOW_WORKTREE_MISSING_ENABLED",
    invalid_enabled: "WORKFLOW_WORKTREE_INVALID_ENABLED",
    invalid_cleanup: "WORKFLOW_WORKTREE_INVALID_CLEANUP",
    invalid_cleanup_mode: "WORKFLOW_WORKTREE_INVALID_CLEANUP_MODE",
};

/// Checks the `worktree` of `SPRINT.yaml`.
pub(super) fn check_sprint(root: &Node, report: &mut Report<'_>) {
    let path = Path::ROOT.key("worktree");
    let Some(worktree) = check_common(root, &SPRINT, report) else {
        return;
    };
    if let Some((node, span)) = given(worktree, "branch") {
        let path = path.key("branch");
        match node.as_str() {
            None => report.error(
                "WORKTREE_INVALID_BRANCH",
                path,
                span,
                (
                    format!("the branch must be a string, not {}", node.describe()),
                    "put it in quotes",
                ),
            ),
            Some(branch) if branch.trim().is_empty() => {
                report.error(
                    "WORKTREE_EMPTY_BRANCH",
                    path,
                    span,
                    (
                        "the branch is empty".to_owned(),
                        "name a branch, or leave `branch` out for `sprint/{sprint-id}`",
                    ),
                );
            }
            Some(branch) if !is_branch_name(branch) => {
                report.error("WORKTREE_INVALID_BRANCH_NAME", path, span, (
                    format!("git accepts no branch named `{branch}`"),
                    "use letters, digits, `-`, `_`, `.` and single `/` between them; {sprint-id}, {sprint-name}, {date} and {workflow} are filled in",
                ));
            }
            Some(_) => {}
        }
    }
    if let Some((node, span)) = given(worktree, "path") {
        let path = path.key("path");
        match node.as_str() {
            None => report.error(
                "WORKTREE_INVALID_PATH",
                path,
                span,
                (
                    format!("the path must be a string, not {}", node.describe()),
                    "put it in quotes",
                ),
            ),
            Some(text) if text.trim().is_empty() => {
                report.error(
                    "WORKTREE_EMPTY_PATH",
                    path,
                    span,
                    (
                        "the path is empty".to_owned(),
                        "name a folder, or leave `path` out for `../{sprint-id}-worktree`",
                    ),
                );
            }
            Some(_) => {}
        }
    }
    check_cleanup(worktree, path, &SPRINT, report);
}

/// Checks the `worktree` of a workflow.
pub(super) fn check_workflow(root: &Node, report: &mut Report<'_>) {
    let path = Path::ROOT.key("worktree");
    let Some(worktree) = check_common(root, &WORKFLOW, report) else {
        return;
    };
    for (key, code) in [
        ("branch-prefix", "WORKFLOW_WORKTREE_INVALID_BRANCH_PREFIX"),
        ("path-prefix", "WORKFLOW_WORKTREE_INVALID_PATH_PREFIX"),
    ] {
        if let Some((node, span)) = given(worktree, key)
            && node.as_str().is_none()
        {
            report.error(
                code,
                path.key(key),
                span,
                (
                    format!("`{key}` must be a string, not {}", node.describe()),
                    "put it in quotes",
                ),
            );
        }
    }
    check_cleanup(worktree, path, &WORKFLOW, report);
}

fn given<'n>(worktree: &'n Node, key: &str) -> Option<(&'n Node, Span)> {
    worktree.get(key).map(|node| (node, span_of(worktree, key)))
}

fn check_common<'n>(root: &'n Node, codes: &Codes, report: &mut Report<'_>) -> Option<&'n Node> {
    let path = Path::ROOT.key("worktree");
    let worktree = root.get("worktree").filter(|node| !node.is_null())?;
    if !is_object(worktree) {
        report.error(
            codes.not_a_mapping,
            path,
            worktree.span,
            (
                format!("`worktree` must be a mapping, not {}", worktree.describe()),
                "write `enabled: true` or `enabled: false` below it",
            ),
        );
        return None;
    }
    let span = span_of(worktree, "enabled");
    match worktree.get("enabled") {
        None => report.error(
            codes.missing_enabled,
            path.key("enabled"),
            span,
            (
                "`worktree` does not say whether it is enabled".to_owned(),
                "add `enabled: true` or `enabled: false`",
            ),
        ),
        Some(node) if node.as_bool().is_none() => {
            report.error(
                codes.invalid_enabled,
                path.key("enabled"),
                span,
                (
                    format!(
                        "`enabled` must be true or false{}",
                        found(worktree, "enabled")
                    ),
                    "write `true` or `false`, without quotes",
                ),
            );
        }
        Some(_) => {}
    }
    Some(worktree)
}

fn check_cleanup(worktree: &Node, path: Path<'_>, codes: &Codes, report: &mut Report<'_>) {
    let Some((node, span)) = given(worktree, "cleanup") else {
        return;
    };
    let path = path.key("cleanup");
    match node.as_str() {
        None => report.error(
            codes.invalid_cleanup,
            path,
            span,
            (
                format!("`cleanup` must be a string, not {}", node.describe()),
                CLEANUP_HINT,
            ),
        ),
        Some(mode) if !CLEANUP_MODES.contains(&mode) => {
            report.error(
                codes.invalid_cleanup_mode,
                path,
                span,
                (format!("there is no cleanup `{mode}`"), CLEANUP_HINT),
            );
        }
        Some(_) => {}
    }
}

/// Whether git accepts the name, whatever is filled in for placeholders.
fn is_branch_name(branch: &str) -> bool {
    let name = without_placeholders(branch);
    let bad_char = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '~' | '^' | ':' | '?' | '*' | '[' | ']' | '\\' | '@' | '{' | '}'
            )
    };
    !name.is_empty()
        && !name.starts_with(['/', '-'])
        && !name.ends_with('/')
        && !name.ends_with(".lock")
        && !name.contains("//")
        && !name.contains("..")
        && !name.contains(bad_char)
}

/// The text with each `{…}` replaced by a word that is always allowed.
fn without_placeholders(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let inner = &rest[open + 1..];
        match inner.find('}') {
            Some(len) if len > 0 => {
                out.push_str(&rest[..open]);
                out.push('x');
                rest = &inner[len + 1..];
            }
            Some(_) | None => {
                out.push_str(&rest[..=open]);
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}

/// What placeholders stand for.
pub(super) struct Names<'n> {
    pub(super) sprint_id: &'n str,
    /// The name of the workflow, as the sprint refers to it.
    pub(super) workflow: &'n str,
    /// For a sprint id that does not begin with a date.
    pub(super) today: &'n str,
}

impl Names<'_> {
    fn fill(&self, template: &str) -> String {
        template
            .replace("{sprint-id}", self.sprint_id)
            .replace("{sprint-name}", self.sprint_name())
            .replace("{date}", self.date())
            .replace("{workflow}", self.workflow)
    }

    /// The id without what comes before its first `_`.
    fn sprint_name(&self) -> &str {
        self.sprint_id
            .split_once('_')
            .map_or(self.sprint_id, |(_, name)| name)
    }

    fn date(&self) -> &str {
        leading_date(self.sprint_id).unwrap_or(self.today)
    }
}

/// `YYYY-MM-DD` at the start of a text.
pub(super) fn leading_date(text: &str) -> Option<&str> {
    const SHAPE: &[u8] = b"dddd-dd-dd";
    let date = text.get(..SHAPE.len())?;
    let fits = date.bytes().zip(SHAPE).all(|(have, want)| match want {
        b'd' => have.is_ascii_digit(),
        _ => have == *want,
    });
    fits.then_some(date)
}

/// The `worktree` of `PROGRESS.yaml`; `None` when there is to be none. What
/// the sprint says goes before what its workflow says.
pub(super) fn resolve(sprint: &Node, workflow: &Node, names: &Names<'_>) -> Option<Node> {
    let own = sprint.get("worktree").filter(|node| !node.is_null());
    let defaults = workflow.get("worktree").filter(|node| !node.is_null());
    let enabled = own
        .or(defaults)
        .and_then(|node| node.get("enabled"))
        .and_then(Node::as_bool);
    if enabled != Some(true) {
        return None;
    }
    let own = |key| own.and_then(|node| node.get(key)).and_then(Node::as_str);
    let default = |key| {
        defaults
            .and_then(|node| node.get(key))
            .and_then(Node::as_str)
            .filter(|text| !text.is_empty())
    };
    let place = |key, prefix_key, otherwise: &str| match (own(key), default(prefix_key)) {
        (Some(template), _) => names.fill(template),
        (None, Some(prefix)) => format!("{prefix}{}", names.sprint_id),
        (None, None) => names.fill(otherwise),
    };
    let cleanup = own("cleanup")
        .or(default("cleanup"))
        .unwrap_or("on-complete");
    Some(Node::map([
        ("enabled", Node::bool(true)),
        (
            "branch",
            Node::string(place("branch", "branch-prefix", "sprint/{sprint-id}")),
        ),
        (
            "path",
            Node::string(place("path", "path-prefix", "../{sprint-id}-worktree")),
        ),
        ("cleanup", Node::string(cleanup)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_follow_the_rules_of_git() {
        for good in ["feature/{sprint-name}", "a", "{sprint-id}", "v1.0", "Ü/x"] {
            assert!(is_branch_name(good), "{good}");
        }
        for bad in [
            "", "/a", "a/", "a//b", "-a", "a.lock", "a..b", "a b", "a~1", "a{b", "a@b", "{}",
        ] {
            assert!(!is_branch_name(bad), "{bad}");
        }
    }

    #[test]
    fn placeholders_are_filled_in() {
        let names = Names {
            sprint_id: "2026-01-15_two_parts",
            workflow: "w",
            today: "1999-01-01",
        };
        assert_eq!(
            names.fill("{date}/{sprint-name}/{sprint-id}/{workflow}/{other}"),
            "2026-01-15/two_parts/2026-01-15_two_parts/w/{other}"
        );
    }
}
