//! How the work of a run gets to the branches that it is for in other repositories than
//! that of the project.
//!
//! Nothing of it is recorded: a branch is brought forward in one step, and git says
//! whether it was. A death before or after that step needs no case of its own.

use std::path::Path;

use piton_core::RunRow;
use piton_core::amount::list_first;
use piton_core::checkout::Checkout;
use piton_core::lane::TargetRow;

use super::landed_work::{LandedWork, not_landed_failure};
use crate::failure::Failure;
use crate::git::repositories::try_work_trees_of_run;
use crate::git::worktree::NAMED_MAX;
use crate::git::worktree::land_command;
use crate::git::{self, GitControl, RefMove, RefStep, short_commit};
use crate::process::shell::quote_word;
use crate::process::{self, StopHandle};
use crate::runner::target_branch::target_moved_failure;
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
        return Err(target_moved_failure(Some(main), target, tip));
    }
    if *work == target.base {
        return Ok(None);
    }
    let landing = RepositoryLanding {
        row,
        name,
        main,
        target,
    };
    let Some(onto) = &target.onto else {
        if is_commit_landed_in(main, target, work)? {
            return Ok(None);
        }
        let (git, quoted) = (landing.git_command(), quote_word(branch));
        let next = format!("`{git} switch BRANCH` and `{git} merge {quoted}`");
        let why = "the work began at a commit, and is for no branch";
        return Err(landing.stays_failure(why, &next));
    };
    let Some(at) = git::tip_of_branch(main, onto) else {
        let (git, quoted) = (landing.git_command(), quote_word(branch));
        let next = format!("`{git} branch {} {quoted}` makes it", quote_word(onto));
        return Err(landing.stays_failure("that branch is gone", &next));
    };
    if git::has_work_of(main, &at, work, None)? {
        return Ok(Some(landing.landed_work(onto, true)));
    }
    landing.refuse_other_base(onto, &at)?;
    if asked == LandingTrigger::AtEnd {
        landing.refuse_reverted(onto, &at)?;
    }
    landing.refuse_rebased(onto)?;
    landing.move_branch(onto, &at)?;
    Ok(Some(landing.landed_work(onto, false)))
}

/// What a landing in another repository is about.
struct RepositoryLanding<'a> {
    row: &'a RunRow,
    /// The repository, by its name in the plan.
    name: &'a str,
    /// Its work tree.
    main: &'a Path,
    target: &'a TargetRow,
}

impl RepositoryLanding<'_> {
    fn git_command(&self) -> String {
        git::git_command_for(Some(self.main))
    }

    fn land_command(&self) -> String {
        land_command(&self.row.name)
    }

    fn stays_failure(&self, why: &str, next: &str) -> Failure {
        let onto = self.target.onto.as_deref().unwrap_or("a branch");
        let onto = format!("{onto} in {}", self.name);
        not_landed_failure(&self.target.branch, &onto, why, next)
    }

    fn landed_work(&self, onto: &str, was_there: bool) -> LandedWork {
        LandedWork {
            run: self.row.name.clone(),
            branch: self.target.branch.clone(),
            onto: onto.to_owned(),
            commit: self.target.tip.clone(),
            was_there,
            repository: Some(self.name.to_owned()),
            others: Vec::new(),
        }
    }

    /// Refuses a branch, which is at a commit now, that has moved on or was set back since
    /// the run began.
    fn refuse_other_base(&self, onto: &str, at: &str) -> Result<(), Failure> {
        let (main, git) = (self.main, self.git_command());
        let TargetRow {
            branch, base, tip, ..
        } = self.target;
        let quoted = quote_word(branch);
        if !git::is_built_on(main, tip, at)? {
            let next = format!(
                "`{git} switch {}`, `{git} merge {quoted}`",
                quote_word(onto)
            );
            return Err(self.stays_failure("it has moved on since the run began", &next));
        }
        if !git::is_built_on(main, at, base)? {
            let (from, began) = (short_commit(at), short_commit(base));
            let why = format!(
                "it was set back behind {began}, where the run began, and what was taken off would come back"
            );
            let next = format!(
                "see that with `{git} log {from}..{began}`; `{git} merge {quoted}` brings it back with the work"
            );
            return Err(self.stays_failure(&why, &next));
        }
        Ok(())
    }

    /// Refuses what had landed on the branch and was taken off it.
    fn refuse_reverted(&self, onto: &str, at: &str) -> Result<(), Failure> {
        let main = self.main;
        let on_it = Checkout {
            branch: Some(onto.to_owned()),
            ..Checkout::default()
        };
        let merged = git::first_parent_commits(main, &self.target.base, &self.target.tip)?;
        let mut merged = merged.iter().rev();
        let has_landed = |commit: &&String| {
            git::was_branch_at(main, &on_it, commit) == Some(true)
                && !git::is_built_on(main, at, commit).unwrap_or(true)
        };
        if let Some(back) = merged.find(has_landed) {
            let why = format!("{} had landed, and was taken back", short_commit(back));
            let next = format!("`{}` lands it again", self.land_command());
            return Err(self.stays_failure(&why, &next));
        }
        Ok(())
    }

    fn refuse_rebased(&self, onto: &str) -> Result<(), Failure> {
        let rebased = git::list_worktrees(self.main)?
            .into_iter()
            .find_map(|tree| {
                let is_it = git::rebased_branch(&tree.path).as_deref() == Some(onto);
                is_it.then_some(tree.path)
            });
        let Some(tree) = rebased else {
            return Ok(());
        };
        let there = git::git_command_for(Some(&tree));
        let why = format!("it is being rebased in {}", tree.display());
        let again = self.land_command();
        let next = format!("see to that with `{there} status`, then `{again}`");
        Err(self.stays_failure(&why, &next))
    }

    /// Brings the branch forward to the work.
    fn move_branch(&self, onto: &str, at: &str) -> Result<(), Failure> {
        let main = self.main;
        let mark = process::own_mark(&format!("land-{}-{}", self.row.id, self.name));
        let by = GitControl {
            mark: &mark,
            stop: &StopHandle::default(),
        };
        let here = git::read_checkout(main).and_then(|here| here.branch);
        if here.as_deref() == Some(onto) {
            return self.forward_checked_out(at, &by);
        }
        if let Some(tree) = git::find_worktree_of_branch(main, onto) {
            let there = tree.display().to_string();
            let quoted = quote_word(&self.target.branch);
            let next = format!("`git -C {} merge --ff-only {quoted}`", quote_word(&there));
            return Err(self.stays_failure(&format!("it is checked out in {there}"), &next));
        }
        let step = RefStep {
            from: Some(at),
            to: Some(&self.target.tip),
        };
        match git::move_ref(main, &format!("refs/heads/{onto}"), step, &by)? {
            RefMove::Moved => Ok(()),
            RefMove::Elsewhere(_) => {
                let why = format!(
                    "it was at {}, and another process moved it",
                    short_commit(at)
                );
                let next = format!("`{}` tries it again", self.land_command());
                Err(self.stays_failure(&why, &next))
            }
        }
    }

    /// Brings the branch forward that is checked out in the work tree, unless that has
    /// changes of files of the work.
    fn forward_checked_out(&self, at: &str, by: &GitControl<'_>) -> Result<(), Failure> {
        let (main, work) = (self.main, &self.target.tip);
        let again = self.land_command();
        let mut changes = git::tracked_changes(main, &[])?;
        if let Some(files) = git::file_changes(main, at, work) {
            changes.retain(|changed| files.iter().any(|file| file.path == *changed));
        }
        if !changes.is_empty() {
            let why = format!(
                "these have changes that are in no commit: {}",
                list_first(&changes, NAMED_MAX)
            );
            let git = self.git_command();
            let next = format!("put them aside with `{git} stash`, then `{again}`");
            return Err(self.stays_failure(&why, &next));
        }
        git::fast_forward(main, work, by)?
            .map_err(|why| self.stays_failure(&why, &format!("see to that, then `{again}`")))
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
