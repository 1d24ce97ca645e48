//! Where the work of a run is, and what to type to look at it.

use std::path::PathBuf;

use piton_core::RunRow;
use piton_core::lane::Landing;
use piton_formats::plan_file::PlanFile;
use serde::Serialize;

use crate::failure::Failure;
use crate::git::repositories::work_trees_of_run;
use crate::git::worktree::{merge_command, worktree_path};
use crate::git::{self, short_commit};
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::session::Session;

/// Where the work of a run goes, and what to type to look at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkPlace {
    /// The branch.
    pub branch: String,
    /// Whether the work has landed and the branch was taken away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub branch_removed: bool,
    /// Its worktree, as long as that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The branch on which the work is to land, as long as that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// What to type to see the commits.
    pub log: String,
    /// What to type to see what they change.
    pub diff: String,
    /// What to type to land the work, on the branch that it began on; none where
    /// nothing is committed that is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// Whether what was committed is on that branch.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
    /// The files in the worktree whose changes are not committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// The commit that landed, where nothing came after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landed: Option<String>,
    /// The same in the other repositories of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherRepositoryWork>,
    /// Why nothing is said of those, though something was merged there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others_unseen: Option<String>,
}

/// Where the work of a run goes in another repository than that of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherRepositoryWork {
    /// The repository, by its name in the plan.
    pub repository: String,
    /// A work tree of it.
    pub path: PathBuf,
    /// The branch.
    pub branch: String,
    /// What to type to see the commits.
    pub log: String,
}

impl OtherRepositoryWork {
    /// Those of a run in which something was done that has not landed.
    ///
    /// # Errors
    ///
    /// When a repository is not where it was.
    fn list_of_run(session: &Session<'_>, row: &RunRow) -> Result<Vec<Self>, Failure> {
        let trees = work_trees_of_run(session.world, &session.project, row)?;
        let places = trees.into_iter().filter_map(|(name, path)| {
            let target = row.target_in_repository(Some(&name))?;
            let tip =
                git::tip_of_branch(&path, &target.branch).filter(|tip| *tip != target.base)?;
            let onto = target.onto.as_deref();
            let at = onto.and_then(|onto| git::tip_of_branch(&path, onto));
            let has_landed = match at {
                Some(at) => git::has_work_of(&path, &at, &tip, None),
                // It is for no branch, and is wherever a person has merged it.
                None => git::is_on_other_branch(&path, &tip, Some(&target.branch)),
            };
            let has_landed = has_landed.unwrap_or_default();
            let from = onto.unwrap_or(&target.base);
            let log = format!(
                "git -C {} log {}..{}",
                quote_word(&path.to_string_lossy()),
                quote_word(from),
                quote_word(&target.branch)
            );
            (!has_landed).then(|| Self {
                repository: name,
                log,
                branch: target.branch.clone(),
                path,
            })
        });
        Ok(places.collect())
    }
}

impl WorkPlace {
    /// Where the work of a run goes; none where it is worked on in place.
    #[must_use]
    pub fn of_run(session: &Session<'_>, row: &RunRow) -> Option<Self> {
        let own = Self::in_own_project(&session.project, row)?;
        let mut merged = row
            .branches
            .targets
            .values()
            .map(|target| target.tip != target.base);
        let (others, others_unseen) = match OtherRepositoryWork::list_of_run(session, row) {
            Ok(others) => (others, None),
            Err(failure) => (
                Vec::new(),
                merged.any(|is_so| is_so).then_some(failure.message),
            ),
        };
        Some(Self {
            others,
            others_unseen,
            ..own
        })
    }

    fn in_own_project(project: &Project, row: &RunRow) -> Option<Self> {
        let target = row.branches.target.as_deref()?;
        let path = worktree_path(project, target).filter(|path| path.join(".git").exists());
        let changes = path
            .as_deref()
            .map(|path| git::uncommitted_changes(path, &[]));
        let uncommitted = changes.and_then(Result::ok).unwrap_or_default();
        let tip = git::tip_of_branch(&project.root, &target.branch);
        let landed = row.branches.landed.as_deref();
        let landed = landed.filter(|landed| match &tip {
            // A person may have taken it back.
            Some(tip) => *tip == landed.commit && has_landed_commit(project, landed),
            None => true,
        });
        if let Some(landed) = landed {
            let (base, commit) = (short_commit(&target.base), short_commit(&landed.commit));
            return Some(Self {
                path,
                merged: true,
                uncommitted,
                onto: Some(landed.onto.clone()),
                log: format!("git log {base}..{commit}"),
                diff: format!("git diff {base}...{commit}"),
                merge: None,
                landed: Some(landed.commit.clone()),
                branch: target.branch.clone(),
                branch_removed: tip.is_none(),
                others: Vec::new(),
                others_unseen: None,
            });
        }
        // A branch that is gone was merged, or given up.
        let tip = tip?;
        let branch = quote_word(&target.branch);
        let is_there = |name: &&String| git::tip_of_branch(&project.root, name).is_some();
        let onto = target.onto.as_ref().filter(is_there);
        let from = quote_word(onto.unwrap_or(&target.base));
        let has_commits = tip != target.base;
        let plan = PlanFile::path_of_run(row).and_then(|path| project.path_in_work_tree(&path));
        let is_on = |onto: &String| {
            let at = git::tip_of_branch(&project.root, onto);
            let has = |at: String| git::has_work_of(&project.root, &at, &tip, plan.as_deref());
            at.map(has).is_some_and(|has| has.unwrap_or(false))
        };
        let merged = has_commits && onto.is_some_and(is_on);
        let is_open = has_commits && !merged;
        let merge = onto.filter(|_| is_open);
        let merge = merge.map(|onto| merge_command(&project.root, row, &target.branch, onto));
        Some(Self {
            path,
            merged,
            uncommitted,
            onto: onto.cloned(),
            log: format!("git log {from}..{branch}"),
            diff: format!("git diff {from}...{branch}"),
            merge,
            landed: None,
            branch: target.branch.clone(),
            branch_removed: false,
            others: Vec::new(),
            others_unseen: None,
        })
    }
}

/// Whether the branch on which work landed has its commit.
fn has_landed_commit(project: &Project, landed: &Landing) -> bool {
    let at = git::tip_of_branch(&project.root, &landed.onto);
    let is_built = |at: String| git::is_built_on(&project.root, &at, &landed.commit).ok();
    at.and_then(is_built) == Some(true)
}
