//! The worktree of a sprint: checks, and names filled in.

use super::SprintProgress;
use super::checker::NodeChecker;
use super::field::{ProblemReport, ValuePath, describe_found, is_enabled};
use crate::plan_format::{WorktreeCleanup, WorktreeSettings};
use crate::yaml::ValueNode;

pub(super) const CLEANUP_MODES: &[&str] = &["never", "on-complete", "on-merge"];
const CLEANUP_HINT: &str = "write `never`, `on-complete` or `on-merge`";

/// The codes that differ between a sprint's and a workflow's `worktree`.
struct WorktreeCodes {
    not_a_mapping: &'static str,
    missing_enabled: &'static str,
    invalid_enabled: &'static str,
    invalid_cleanup: &'static str,
    invalid_cleanup_mode: &'static str,
}

const SPRINT: WorktreeCodes = WorktreeCodes {
    not_a_mapping: "INVALID_WORKTREE_CONFIG",
    missing_enabled: "WORKTREE_MISSING_ENABLED",
    invalid_enabled: "WORKTREE_INVALID_ENABLED",
    invalid_cleanup: "WORKTREE_INVALID_CLEANUP",
    invalid_cleanup_mode: "WORKTREE_INVALID_CLEANUP_MODE",
};

const WORKFLOW: WorktreeCodes = WorktreeCodes {
    not_a_mapping: "INVALID_WORKFLOW_WORKTREE",
    missing_enabled: "WORKFLOW_WORKTREE_MISSING_ENABLED",
    invalid_enabled: "WORKFLOW_WORKTREE_INVALID_ENABLED",
    invalid_cleanup: "WORKFLOW_WORKTREE_INVALID_CLEANUP",
    invalid_cleanup_mode: "WORKFLOW_WORKTREE_INVALID_CLEANUP_MODE",
};

/// Checks the `worktree` of `SPRINT.yaml`.
pub(super) fn check_sprint_worktree(root: &ValueNode, report: &mut ProblemReport<'_>) {
    const QUOTES: &str = "put it in quotes";
    check_worktree(root, &SPRINT, report, |worktree| {
        let branch =
            worktree.expect_string("WORKTREE_INVALID_BRANCH", "branch", "the branch", QUOTES);
        match branch {
            Some(branch) if branch.trim().is_empty() => worktree.error(
                "WORKTREE_EMPTY_BRANCH",
                "branch",
                "the branch is empty",
                "name a branch, or leave `branch` out for `sprint/{sprint-id}`",
            ),
            Some(branch) if !is_branch_name(branch) => worktree.error(
                "WORKTREE_INVALID_BRANCH_NAME",
                "branch",
                format!("git accepts no branch named `{branch}`"),
                "use letters, digits, `-`, `_`, `.` and single `/` between them; {sprint-id}, {sprint-name}, {date} and {workflow} are filled in",
            ),
            Some(_) | None => {}
        }
        let path = worktree.expect_string("WORKTREE_INVALID_PATH", "path", "the path", QUOTES);
        if path.is_some_and(|path| path.trim().is_empty()) {
            worktree.error(
                "WORKTREE_EMPTY_PATH",
                "path",
                "the path is empty",
                PATH_HINT,
            );
        } else if let Some(what) = path.and_then(describe_unfit_path) {
            let message = format!("the path names {what}");
            worktree.error("WORKTREE_INVALID_PATH", "path", message, PATH_HINT);
        }
    });
}

const PATH_HINT: &str =
    "name a folder of its own, or leave `path` out for `../{sprint-id}-worktree`";

/// What a path names that can be no worktree, seen from the folder of the project.
fn describe_unfit_path(path: &str) -> Option<&'static str> {
    let mut folders = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if folders.last().is_some_and(|last| *last != "..") => {
                folders.pop();
            }
            part if part.eq_ignore_ascii_case(".git") => return Some("a folder of git"),
            part => folders.push(part),
        }
    }
    let holds_project = folders.iter().all(|part| *part == "..");
    holds_project.then_some("a folder that holds the project")
}

/// Checks the `worktree` of a workflow.
pub(super) fn check_workflow_worktree(root: &ValueNode, report: &mut ProblemReport<'_>) {
    check_worktree(root, &WORKFLOW, report, |worktree| {
        for (key, code) in [
            ("branch-prefix", "WORKFLOW_WORKTREE_INVALID_BRANCH_PREFIX"),
            ("path-prefix", "WORKFLOW_WORKTREE_INVALID_PATH_PREFIX"),
        ] {
            worktree.expect_string(code, key, &format!("`{key}`"), "put it in quotes");
        }
    });
}

/// Checks what both have, and between that what only one of them has.
fn check_worktree(
    root: &ValueNode,
    codes: &WorktreeCodes,
    report: &mut ProblemReport<'_>,
    check_names: impl FnOnce(&mut NodeChecker<'_, '_>),
) {
    let Some(node) = root.get("worktree").filter(|node| !node.is_null()) else {
        return;
    };
    let mut worktree = NodeChecker::new(node, ValuePath::ROOT.key("worktree"), report);
    let hint = "write `enabled: true` or `enabled: false` below it";
    if !worktree.is_mapping(codes.not_a_mapping, "`worktree` must be a mapping", hint) {
        return;
    }
    match node.get("enabled") {
        None => worktree.error(
            codes.missing_enabled,
            "enabled",
            "`worktree` does not say whether it is enabled",
            "add `enabled: true` or `enabled: false`",
        ),
        Some(enabled) if enabled.as_bool().is_none() => worktree.error(
            codes.invalid_enabled,
            "enabled",
            format!(
                "`enabled` must be true or false{}",
                describe_found(node, "enabled")
            ),
            "write `true` or `false`, without quotes",
        ),
        Some(_) => {}
    }
    check_names(&mut worktree);
    let (code, hint) = (codes.invalid_cleanup, CLEANUP_HINT);
    let mode = worktree.expect_string(code, "cleanup", "`cleanup`", hint);
    if let Some(mode) = mode.filter(|mode| !CLEANUP_MODES.contains(mode)) {
        let message = format!("there is no cleanup `{mode}`");
        worktree.error(codes.invalid_cleanup_mode, "cleanup", message, hint);
    }
}

/// Whether git accepts the name, whatever is filled in for placeholders.
fn is_branch_name(branch: &str) -> bool {
    let name = without_placeholders(branch);
    let bad_char = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(
                c,
                '~' | '^' | ':' | '?' | '*' | '[' | ']' | '\\' | '@' | '{' | '}'
            )
    };
    let bad_part = |part: &str| part.starts_with('.') || part.ends_with(".lock");
    !name.is_empty()
        && name != "HEAD"
        && !name.starts_with(['/', '-'])
        && !name.ends_with(['/', '.'])
        && !name.split('/').any(bad_part)
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
pub(super) struct WorktreePlaceholders<'n> {
    pub(super) sprint_id: &'n str,
    /// The name of the workflow, as the sprint refers to it.
    pub(super) workflow: &'n str,
    /// For a sprint id that does not begin with a date.
    pub(super) today: &'n str,
}

impl WorktreePlaceholders<'_> {
    fn fill_template(&self, template: &str) -> String {
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

/// The branch of a sprint that names none.
const BRANCH: &str = "sprint/{sprint-id}";
/// The folder of its worktree, where it names none.
const PATH: &str = "../{sprint-id}-worktree";

/// The `worktree` of `PROGRESS.yaml`; `None` when there is to be none. What
/// the sprint says goes before what its workflow says.
pub(super) fn resolve_worktree(
    sprint: &ValueNode,
    workflow: &ValueNode,
    names: &WorktreePlaceholders<'_>,
) -> Option<ValueNode> {
    let own = sprint.get("worktree").filter(|node| !node.is_null());
    let defaults = workflow.get("worktree").filter(|node| !node.is_null());
    let enabled = own
        .or(defaults)
        .and_then(|node| node.get("enabled"))
        .and_then(ValueNode::as_bool);
    if enabled != Some(true) {
        return None;
    }
    let own = |key| {
        own.and_then(|node| node.get(key))
            .and_then(ValueNode::as_str)
    };
    let default = |key| {
        defaults
            .and_then(|node| node.get(key))
            .and_then(ValueNode::as_str)
            .filter(|text| !text.is_empty())
    };
    let place = |key, prefix_key, otherwise: &str| match (own(key), default(prefix_key)) {
        (Some(template), _) => names.fill_template(template),
        (None, Some(prefix)) => format!("{prefix}{}", names.sprint_id),
        (None, None) => names.fill_template(otherwise),
    };
    let cleanup = own("cleanup")
        .or(default("cleanup"))
        .unwrap_or("on-complete");
    Some(ValueNode::map([
        ("enabled", ValueNode::bool(true)),
        (
            "branch",
            ValueNode::string(place("branch", "branch-prefix", BRANCH)),
        ),
        (
            "path",
            ValueNode::string(place("path", "path-prefix", PATH)),
        ),
        ("cleanup", ValueNode::string(cleanup)),
    ]))
}

/// The worktree that a sprint enables. What `PROGRESS.yaml` does not say is as if
/// `SPRINT.yaml` had not said it.
pub(super) fn worktree_settings(progress: &SprintProgress) -> Option<WorktreeSettings> {
    let node = progress.settings.worktree.as_ref();
    if !is_enabled(node) {
        return None;
    }
    let names = WorktreePlaceholders {
        sprint_id: &progress.sprint_id,
        workflow: "",
        today: "",
    };
    let text = |key: &str, otherwise: &str| {
        let said = node.and_then(|node| node.get(key)?.as_str());
        names.fill_template(
            said.filter(|said| !said.trim().is_empty())
                .unwrap_or(otherwise),
        )
    };
    let cleanup = match text("cleanup", "").as_str() {
        "never" => WorktreeCleanup::Never,
        "on-merge" => WorktreeCleanup::OnMerge,
        _ => WorktreeCleanup::OnComplete,
    };
    Some(WorktreeSettings {
        branch: text("branch", BRANCH),
        path: text("path", PATH),
        cleanup,
    })
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
            "HEAD", ".a", "a/.b", "a.lock/b", "a.", "a\u{7f}b",
        ] {
            assert!(!is_branch_name(bad), "{bad}");
        }
    }

    #[track_caller]
    fn check(worktree: &str, expected: Option<(&str, &str, WorktreeCleanup)>) {
        let text = format!(
            "sprint-id: 2026-01-15_a\nstatus: not-started\nphases: []\nworktree: {worktree}\n"
        );
        let source = crate::problem::SourceText {
            name: "PROGRESS.yaml",
            text: &text,
        };
        let progress = super::super::parse_progress(source).0.expect("a sprint");
        let found = worktree_settings(&progress);
        let found = found.as_ref();
        let found = found.map(|found| (&*found.branch, &*found.path, found.cleanup));
        assert_eq!(found, expected, "{worktree}");
    }

    #[test]
    fn what_progress_leaves_out_of_its_worktree_is_filled_in() {
        use WorktreeCleanup::{Never, OnComplete, OnMerge};
        check("{enabled: false, branch: a}", None);
        let (branch, path) = ("sprint/2026-01-15_a", "../2026-01-15_a-worktree");
        check("{enabled: true}", Some((branch, path, OnComplete)));
        check(
            "{enabled: true, branch: b, cleanup: on-merge}",
            Some(("b", path, OnMerge)),
        );
        check(
            "{enabled: true, path: 'trees/{sprint-name}', cleanup: never}",
            Some((branch, "trees/a", Never)),
        );
    }

    #[test]
    fn placeholders_are_filled_in() {
        let names = WorktreePlaceholders {
            sprint_id: "2026-01-15_two_parts",
            workflow: "w",
            today: "1999-01-01",
        };
        assert_eq!(
            names.fill_template("{date}/{sprint-name}/{sprint-id}/{workflow}/{other}"),
            "2026-01-15/two_parts/2026-01-15_two_parts/w/{other}"
        );
    }
}
