//! What units that were left out, or marked by a person, have in their lanes and
//! nowhere else.

use std::path::Path;

use piton_core::{RunRow, RunState};

use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::git;
use crate::git::repositories::work_trees_of_run;
use crate::process::shell::quote_word;
use crate::runner::lane_pool::{repository_of_tree, run_of_tree};
use crate::session::Session;

/// Says what a run that is done has left in its lanes.
pub(crate) fn warn_unmerged_lanes(
    session: &Session<'_>,
    row: &RunRow,
    tell: &mut dyn FnMut(Notice<'_>),
) {
    for left in describe_unmerged_lanes(session, row) {
        tell(Notice::Warning(&left));
    }
}

/// What a run that is done has left in its lanes, and how to see it: a person marked a
/// unit that had one, so that nothing of it was merged.
pub(crate) fn describe_unmerged_lanes(session: &Session<'_>, row: &RunRow) -> Vec<String> {
    if row.state != RunState::Done
        || row
            .branches
            .lanes
            .as_ref()
            .is_none_or(|lanes| lanes.held.is_empty())
    {
        return Vec::new();
    }
    let run = Some(row.id.to_string());
    let looked = || {
        let mut left = Vec::new();
        let others = work_trees_of_run(session.world, &session.project, row)?;
        let mut trees = git::list_worktrees(&session.project.work_tree)?;
        for main in others.values() {
            trees.extend(git::list_worktrees(main)?);
        }
        for tree in trees {
            // Another run may have taken the lane since.
            let number = tree.path.parent().and_then(Path::file_name);
            let number = number.and_then(|name| name.to_str()?.parse().ok());
            if let Some(number) = number.filter(|_| run_of_tree(&tree.path) == run) {
                left.extend(unmerged_work_in_lane(session, row, number, &tree.path)?);
            }
        }
        Ok::<_, Failure>(left)
    };
    let looked = looked()
        .inspect_err(|failure| tracing::info!(%failure, "the lanes could not be read"))
        .unwrap_or_default();
    let in_words = |left: &Failure| format!("{left}: {}", left.hint.as_deref().unwrap_or_default());
    looked.iter().map(in_words).collect()
}

/// What the unit that has a lane has in it and nowhere else.
pub(crate) fn unmerged_work_in_lane(
    session: &Session<'_>,
    row: &RunRow,
    number: u32,
    tree: &Path,
) -> Result<Option<Failure>, Failure> {
    let repository = repository_of_tree(tree);
    let of_other = repository.as_ref();
    let main = of_other.map_or(&session.project.work_tree, |other| &other.tree);
    let name = of_other.map(|other| other.name.as_str());
    let unit = row
        .branches
        .lanes
        .as_ref()
        .and_then(|lanes| lanes.held.get(&number));
    let (Some(unit), Some(target)) = (unit, row.target_in_repository(name)) else {
        return Ok(None);
    };
    let git::WorktreeState::Sound { .. } = git::worktree_state(main, tree) else {
        return Ok(None);
    };
    let head = git::head_commit(tree)?.unwrap_or_default();
    let quoted = quote_word(&tree.display().to_string()).into_owned();
    let keep = format!("keep it on a branch with `git -C {quoted} switch --create NAME`");
    let next = if !git::uncommitted_changes(tree, &[])?.is_empty() {
        format!(
            "see it with `git -C {quoted} status`, {keep} and a commit, or put it aside with `git -C {quoted} stash --include-untracked`"
        )
    } else if !git::is_built_on(main, &target.tip, &head)? && !git::is_on_branch(main, &head)? {
        format!(
            "see it with `git -C {quoted} log {}..`, and {keep}",
            target.tip
        )
    } else {
        return Ok(None);
    };
    let said = format!("what was begun on {unit} is not merged, and in its lane alone");
    Ok(Some(Failure::new("lane.dirty", said).with_hint(next)))
}
