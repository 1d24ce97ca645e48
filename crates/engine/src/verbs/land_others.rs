//! How the work of a run gets to the branches that it is for in other repositories than
//! that of the project.
//!
//! Nothing of it is recorded: a branch is brought forward in one step, and git says
//! whether it was. A death before or after that step needs no case of its own.

use std::path::Path;

use piton_core::RunRow;
use piton_core::checkout::Checkout;
use piton_core::lane::TargetRow;

use super::land::{LandedWork, not_landed_failure, render_file_list};
use crate::failure::Failure;
use crate::git::repositories::try_work_trees_of_run;
use crate::git::worktree::land_command;
use crate::git::{self, GitControl, RefMove, RefStep, short_commit};
use crate::process::shell::quote_word;
use crate::process::{self, StopHandle};
use crate::runner;
use crate::session::Session;

/// Lands the work of a run in each other repository in which there is any. What has
/// landed stays where another one fails.
///
/// # Errors
///
/// When it is unknown where the repositories are: then in none.
pub(super) fn land_other_repositories(
    session: &Session<'_>,
    row: &RunRow,
    asked: LandingTrigger,
) -> Result<Vec<Result<LandedWork, Failure>>, Failure> {
    let trees = try_work_trees_of_run(session.world, &session.project, row)?;
    let landed = trees.into_iter().map(|(name, main)| match main {
        Ok(main) => land_in_repository(row, &name, &main, asked),
        // Nothing is missing where nothing was merged.
        Err(failure) => match has_merged_work(row, &name) {
            true => Err(failure),
            false => Ok(None),
        },
    });
    Ok(landed.filter_map(Result::transpose).collect())
}

/// Who wants work to land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LandingTrigger {
    /// A person typed it.
    Typed,
    /// The run is done.
    AtEnd,
}

/// Whether something was merged for a run in another repository.
pub(super) fn has_merged_work(row: &RunRow, name: &str) -> bool {
    let target = row.target_in_repository(Some(name));
    target.is_some_and(|target| target.tip != target.base)
}

/// Lands it in one of them; none where nothing was done there. What was merged for the
/// run: whatever else is on its branch may be another project's.
fn land_in_repository(
    row: &RunRow,
    name: &str,
    main: &Path,
    asked: LandingTrigger,
) -> Result<Option<LandedWork>, Failure> {
    let Some(target) = row.target_in_repository(Some(name)) else {
        return Ok(None);
    };
    let (branch, work) = (&target.branch, &target.tip);
    let tip = git::tip_of_branch(main, branch);
    let is_there = match &tip {
        Some(tip) => git::is_built_on(main, tip, work)?,
        None => is_commit_landed_in(main, target, work)?,
    };
    if !is_there {
        return Err(runner::target_moved_failure(Some(main), target, tip));
    }
    if *work == target.base {
        return Ok(None);
    }
    let git_in = git::git_command_for(Some(main));
    let quoted = quote_word(branch);
    let stays = |why: &str, next: &str| {
        let onto = target.onto.as_deref().unwrap_or("a branch");
        not_landed_failure(branch, &format!("{onto} in {name}"), why, next)
    };
    let Some(onto) = &target.onto else {
        if is_commit_landed_in(main, target, work)? {
            return Ok(None);
        }
        let next = format!("`{git_in} switch BRANCH` and `{git_in} merge {quoted}`");
        return Err(stays(
            "the work began at a commit, and is for no branch",
            &next,
        ));
    };
    let landed = |was_there| LandedWork {
        run: row.name.clone(),
        branch: branch.clone(),
        onto: onto.clone(),
        commit: work.clone(),
        was_there,
        repository: Some(name.to_owned()),
        others: Vec::new(),
    };
    let Some(at) = git::tip_of_branch(main, onto) else {
        let next = format!("`{git_in} branch {} {quoted}` makes it", quote_word(onto));
        return Err(stays("that branch is gone", &next));
    };
    if git::has_work_of(main, &at, work, None)? {
        return Ok(Some(landed(true)));
    }
    if !git::is_built_on(main, work, &at)? {
        let next = format!(
            "`{git_in} switch {}`, `{git_in} merge {quoted}`",
            quote_word(onto)
        );
        return Err(stays("it has moved on since the run began", &next));
    }
    if !git::is_built_on(main, &at, &target.base)? {
        let (from, began) = (short_commit(&at), short_commit(&target.base));
        let why = format!(
            "it was set back behind {began}, where the run began, and what was taken off would come back"
        );
        let next = format!(
            "see that with `{git_in} log {from}..{began}`; `{git_in} merge {quoted}` brings it back with the work"
        );
        return Err(stays(&why, &next));
    }
    let on_it = Checkout {
        branch: Some(onto.clone()),
        ..Checkout::default()
    };
    let again = land_command(&row.name);
    if asked == LandingTrigger::AtEnd {
        let merged = git::first_parent_commits(main, &target.base, work)?;
        let mut merged = merged.iter().rev();
        let has_landed = |commit: &&String| {
            git::was_branch_at(main, &on_it, commit) == Some(true)
                && !git::is_built_on(main, &at, commit).unwrap_or(true)
        };
        if let Some(back) = merged.find(has_landed) {
            let why = format!("{} had landed, and was taken back", short_commit(back));
            return Err(stays(&why, &format!("`{again}` lands it again")));
        }
    }
    let rebased = git::list_worktrees(main)?.into_iter().find_map(|tree| {
        let is_it = git::rebased_branch(&tree.path).as_ref() == Some(onto);
        is_it.then_some(tree.path)
    });
    if let Some(tree) = rebased {
        let there = git::git_command_for(Some(&tree));
        let why = format!("it is being rebased in {}", tree.display());
        let next = format!("see to that with `{there} status`, then `{again}`");
        return Err(stays(&why, &next));
    }
    let mark = process::own_mark(&format!("land-{}-{name}", row.id));
    let by = GitControl {
        mark: &mark,
        stop: &StopHandle::default(),
    };
    let here = git::read_checkout(main).and_then(|here| here.branch);
    if here.as_ref() == Some(onto) {
        let mut changes = git::tracked_changes(main, &[])?;
        if let Some(files) = git::file_changes(main, &at, work) {
            changes.retain(|changed| files.iter().any(|file| file.path == *changed));
        }
        if !changes.is_empty() {
            let why = format!(
                "these have changes that are in no commit: {}",
                render_file_list(&changes)
            );
            let next = format!("put them aside with `{git_in} stash`, then `{again}`");
            return Err(stays(&why, &next));
        }
        return match git::fast_forward(main, work, &by)? {
            Ok(()) => Ok(Some(landed(false))),
            Err(why) => Err(stays(&why, &format!("see to that, then `{again}`"))),
        };
    }
    if let Some(tree) = git::find_worktree_of_branch(main, onto) {
        let there = tree.display().to_string();
        let next = format!("`git -C {} merge --ff-only {quoted}`", quote_word(&there));
        return Err(stays(&format!("it is checked out in {there}"), &next));
    }
    let step = RefStep {
        from: Some(&at),
        to: Some(work),
    };
    match git::move_ref(main, &format!("refs/heads/{onto}"), step, &by)? {
        RefMove::Moved => Ok(Some(landed(false))),
        RefMove::Elsewhere(_) => {
            let why = format!(
                "it was at {}, and another process moved it",
                short_commit(&at)
            );
            Err(stays(&why, &format!("`{again}` tries it again")))
        }
    }
}

/// Whether a commit of the branch of a run is on another one there, or the one that it is
/// for has all that it brings.
pub(super) fn is_commit_landed_in(
    main: &Path,
    target: &TargetRow,
    commit: &str,
) -> Result<bool, Failure> {
    if git::is_on_other_branch(main, commit, Some(&target.branch))? {
        return Ok(true);
    }
    match target
        .onto
        .as_ref()
        .and_then(|onto| git::tip_of_branch(main, onto))
    {
        Some(at) => git::has_work_of(main, &at, commit, None),
        None => Ok(false),
    }
}
