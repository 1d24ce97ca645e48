//! What keeps piton from moving the branch of a run.

use std::path::Path;

use piton_core::lane::TargetRow;

use crate::failure::Failure;
use crate::git;
use crate::process::shell::quote_word;

/// Refuses to move a branch under a work tree that has it checked out: what is merged
/// would be missing there, and the next commit would take it out. `other` is the work tree
/// of a repository that is not the one at hand.
pub(super) fn refuse_checked_out(
    main: &Path,
    other: Option<&Path>,
    target: &TargetRow,
) -> Result<(), Failure> {
    let Some(tree) = git::find_worktree_of_branch(main, &target.branch) else {
        return Ok(());
    };
    let (branch, shown) = (&target.branch, tree.display());
    // A branch can be checked out in one work tree only.
    let is_free = |onto: &&str| {
        git::tip_of_branch(main, onto).is_some()
            && git::find_worktree_of_branch(main, onto).is_none()
    };
    let onto = target.onto.as_deref().filter(is_free).map(quote_word);
    let onto = onto.as_deref().unwrap_or("--detach");
    Err(Failure::new(
        "target.checked_out",
        format!("the branch {branch} is checked out in {shown}, and work is merged onto it"),
    )
    .with_hint(format!(
        "leave it there with `git -C {} switch {onto}`, then run again; to look at the work, `{} switch --detach {}`",
        quote_word(&tree.to_string_lossy()),
        git::git_command_for(other),
        quote_word(branch)
    )))
}

/// Another hand set the branch of a run back, or took it away.
pub(crate) fn target_moved_failure(
    other: Option<&Path>,
    target: &TargetRow,
    at: Option<String>,
) -> Failure {
    let (git, branch, tip) = (git::git_command_for(other), &target.branch, &target.tip);
    let place = other.map_or_else(String::new, |tree| format!(" in {}", tree.display()));
    let (said, next) = match at {
        Some(at) => (
            format!(
                "the branch {branch}{place} is at {at}, which lacks what was merged up to {tip}"
            ),
            format!(
                "bring the two together with `{git} switch {branch}` and `{git} merge {tip}`, go back with `{git} switch -`"
            ),
        ),
        None => (
            format!("the branch {branch}{place} is gone; what was merged is in {tip}"),
            format!("make it again with `{git} branch {branch} {tip}`"),
        ),
    };
    Failure::new("target.moved", said).with_hint(format!("{next}, then run again"))
}
