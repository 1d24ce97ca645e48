//! The worktree in which a run is worked on, where its plan wants one of its own.
//!
//! What is found decides what is done, so that a crash in the middle needs no
//! case of its own: the branch and the folder are recorded before git makes
//! them, and looked for again by the next runner. Nothing here is forced: what
//! is not as it should be is refused with its place, and a worktree with changes
//! stays.

use std::path::{Component, Path, PathBuf};
use std::slice;
use std::time::Duration;

use piton_core::checkout::Checkout;
use piton_core::lane::{Landing, TargetRow};
use piton_core::{Command, HolderLiveness, ItemRow, RunId, RunRow, RunState, Tables};
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::{WorktreeCleanup, WorktreeSettings};
use piton_formats::registry::plan_format;
use serde::Serialize;

use crate::failpoint;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::git::repositories::work_trees_of_run;
use crate::git::{self, GitControl, HALF_MADE, NewWorktree, Worktree, short_commit};
use crate::process::shell::quote_word;
use crate::process::{self, StopHandle};
use crate::project::Project;
use crate::runner::run_lock;
use crate::session::Session;

/// The key by which a person passes over it: `--ignore worktree`.
pub(crate) const KEY: &str = "worktree";

/// Most files that are named as changed.
const NAMED_MAX: usize = 5;

/// Most ignored files that are named as they go.
const IGNORED_NAMED_MAX: usize = 3;

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

/// What to type to bring the branch of a run to another one, which may have moved
/// on since.
pub(crate) fn merge_command(root: &Path, row: &RunRow, branch: &str, onto: &str) -> String {
    let tip = |branch| git::tip_of_branch(root, branch);
    let has_moved_on = tip(onto)
        .zip(tip(branch))
        .is_some_and(|(onto, tip)| git::is_built_on(root, &tip, &onto).ok() == Some(false));
    match row.branches.lanes {
        Some(_) if !has_moved_on => land_command(&row.name),
        _ => format!("git merge {}", quote_word(branch)),
    }
}

/// What to type to land a run.
pub(crate) fn land_command(run: &str) -> String {
    format!("piton land {}", quote_word(run))
}

impl Project {
    /// The project as the runner of a run sees it: with the worktree of the run as
    /// its work tree, where the run has one that is there.
    #[must_use]
    pub fn with_run_worktree(&self, row: &RunRow) -> Self {
        let target = row.branches.target.as_deref();
        let path = target.and_then(|target| worktree_path(self, target));
        let mut project = self.clone();
        if let Some(path) = path.filter(|path| path.join(".git").exists()) {
            project.work_tree = path;
        }
        project
    }
}

/// What is checked out where a run is worked on: in its worktree, or, where there is
/// none now, the tip of its branch. None where it is worked on in place, or its
/// branch is gone: what that had is merged, or given up.
pub(crate) fn checkout_of_run(project: &Project, row: &RunRow) -> Option<Checkout> {
    let target = row.branches.target.as_deref()?;
    // In lanes the branch is checked out nowhere.
    let there = worktree_path(project, target).filter(|_| row.branches.lanes.is_none());
    let there = there.and_then(|path| git::read_checkout(&path));
    there.or_else(|| {
        Some(Checkout {
            repository: None,
            branch: Some(target.branch.clone()),
            commit: Some(git::tip_of_branch(&project.root, &target.branch)?),
        })
    })
}

/// The last run whose plan has its copy at `path`, in the worktree of the run.
pub(crate) fn run_of_plan_copy<'r>(
    project: &Project,
    runs: &'r [RunRow],
    path: &Path,
) -> Option<&'r RunRow> {
    runs.iter().rfind(|row| {
        let tree = row.branches.target.as_deref();
        let tree = tree.and_then(|target| worktree_path(project, target));
        let inner = tree.and_then(|tree| path.strip_prefix(tree).ok());
        inner.is_some_and(|inner| inner == Path::new(&row.plan.source))
    })
}

/// Refuses to go on with a run whose worktree was taken away.
///
/// # Errors
///
/// With what is gone, and what makes it again.
pub(crate) fn refuse_missing_worktree(project: &Project, row: &RunRow) -> Result<(), Failure> {
    let target = row.branches.target.as_deref();
    let path = target.and_then(|target| worktree_path(project, target));
    let Some(path) = path.filter(|path| !path.join(".git").exists()) else {
        return Ok(());
    };
    if !path.exists() {
        return Err(missing_worktree_failure(&path, &row.name));
    }
    // What is in the folder may still be the work.
    let what = format!("the worktree {} has lost its `.git` file", path.display());
    Err(Failure::new("worktree.gone", what).with_hint(format!(
        "`git worktree repair {}`, then `piton run {}`",
        quote_word(&path.to_string_lossy()),
        quote_word(&row.name)
    )))
}

/// The worktree of a run that is gone, with what was in it.
fn missing_worktree_failure(path: &Path, run: &str) -> Failure {
    let path = path.display();
    Failure::new(
        "worktree.gone",
        format!("the worktree {path} of the run is gone, with what was not committed there"),
    )
    .with_hint(format!(
        "`piton run {}` makes it again at the last commit of its branch",
        quote_word(run)
    ))
}

/// The folder of the worktree of a run.
fn worktree_path(project: &Project, target: &TargetRow) -> Option<PathBuf> {
    Some(resolve_path(&project.root, target.path.as_deref()?))
}

/// A path as the file system has it, also of what is not there yet.
fn resolve_path(root: &Path, path: &str) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in root.join(path).components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part @ (Component::Prefix(_) | Component::RootDir | Component::Normal(_)) => {
                plain.push(part);
            }
        }
    }
    let there = plain.ancestors().find_map(|folder| {
        let real = std::fs::canonicalize(folder).ok()?;
        Some(real.join(plain.strip_prefix(folder).ok()?))
    });
    there.unwrap_or(plain).components().collect()
}

/// The worktree that the plan of a run wants; none where a person passes it over.
#[must_use]
pub(crate) fn wanted_worktree(
    face: &str,
    native: Option<&piton_core::native::Native>,
    ignore: &[String],
) -> Option<WorktreeSettings> {
    let format = plan_format(face)?;
    let is_ignored = ignore.iter().any(|key| key == KEY);
    (format.worktree)(native).filter(|_| !is_ignored)
}

/// The worktree of a run that is about to be worked on, and what is to be made of
/// it.
#[derive(Clone, Debug)]
pub struct RunWorktree {
    target: TargetRow,
    path: PathBuf,
    /// The run has recorded it before.
    is_recorded: bool,
    /// Something was done there before.
    has_work: bool,
    /// It is worked on in lanes: meanwhile no branch is checked out there.
    in_lanes: bool,
    /// The work tree in which the branch begins.
    from: PathBuf,
    found: WorktreeCondition,
}

/// What is there of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorktreeCondition {
    /// Neither the branch nor the folder.
    Nothing,
    /// The branch, which is checked out nowhere.
    Branch,
    /// All of it.
    Whole,
    /// Git began to make it for this run, and was ended.
    Half,
    /// What git knows of a folder that is gone.
    Record,
}

impl RunWorktree {
    /// Looks at what is there for a run: its row and its items where the journal
    /// knows it, and what its plan wants. None where it is worked on in place.
    /// Changes nothing.
    ///
    /// # Errors
    ///
    /// When the worktree cannot be made or used, with the place and the reason.
    pub(crate) fn inspect(
        project: &Project,
        known: Option<(&RunRow, &Tables)>,
        wanted: Option<WorktreeSettings>,
    ) -> Result<Option<Self>, Failure> {
        let recorded = known.and_then(|(row, _)| row.branches.target.as_deref());
        let target = match (recorded, wanted) {
            (Some(recorded), _) => recorded.clone(),
            (None, Some(wanted)) => new_target(project, wanted)?,
            (None, None) => return Ok(None),
        };
        let Some(path) = worktree_path(project, &target) else {
            return Ok(None);
        };
        git::check_branch_name(&project.work_tree, &target.branch)?;
        let is_done_there = |item: &ItemRow| {
            let on = item.work.done_on.as_ref().and_then(|on| on.branch.as_ref());
            on == Some(&target.branch)
        };
        let mut order = Self {
            is_recorded: recorded.is_some(),
            in_lanes: known.is_some_and(|(row, _)| row.branches.lanes.is_some()),
            has_work: known.is_some_and(|(row, tables)| tables.tree(row.id).any(is_done_there)),
            from: project.work_tree.clone(),
            found: WorktreeCondition::Nothing,
            target,
            path,
        };
        order.found = order.find_condition(project)?;
        if !order.is_recorded {
            order.target.was_there = order.found == WorktreeCondition::Whole;
        }
        Ok(Some(order))
    }

    /// Refuses to judge an attempt that worked there before, where its folder was
    /// gone when this invocation began.
    ///
    /// # Errors
    ///
    /// With what is gone.
    pub(crate) fn refuse_lost_worktree(&self, run: &str) -> Result<(), Failure> {
        match self.found {
            WorktreeCondition::Nothing | WorktreeCondition::Branch | WorktreeCondition::Record
                if self.is_recorded =>
            {
                Err(missing_worktree_failure(&self.path, run))
            }
            WorktreeCondition::Nothing
            | WorktreeCondition::Branch
            | WorktreeCondition::Record
            | WorktreeCondition::Whole
            | WorktreeCondition::Half => Ok(()),
        }
    }

    /// Refuses an agent whose program, by its path in the work tree, is not in the
    /// worktree, or will not be.
    ///
    /// # Errors
    ///
    /// With the program that is missing.
    pub(crate) fn refuse_missing_program(&self, program: &str) -> Result<(), Failure> {
        let (has, place) = match self.found {
            WorktreeCondition::Whole => (
                self.path.join(program).exists(),
                format!("the worktree {}", self.path.display()),
            ),
            WorktreeCondition::Nothing => (
                git::is_in_commit(&self.from, &self.target.base, program),
                "the commit at which the worktree begins".to_owned(),
            ),
            WorktreeCondition::Branch | WorktreeCondition::Half | WorktreeCondition::Record => (
                git::is_in_commit(&self.from, &self.target.branch, program),
                format!("the branch {}", self.target.branch),
            ),
        };
        if has {
            return Ok(());
        }
        let whole = self.from.join(program);
        let whole: PathBuf = whole.components().collect();
        Err(Failure::new(
            "agent.cannot_start",
            format!("the agent cannot be started: `{program}` is not in {place}"),
        )
        .with_hint(format!(
            "commit it there, or name it by its whole path: `--agent {}`; nothing was started",
            quote_word(&whole.to_string_lossy())
        )))
    }

    /// The branch, and where it is, or begins.
    pub(crate) fn planned_checkout(&self) -> Checkout {
        let tip = git::tip_of_branch(&self.from, &self.target.branch);
        Checkout {
            repository: None,
            branch: Some(self.target.branch.clone()),
            commit: tip.or_else(|| Some(self.target.base.clone())),
        }
    }

    /// A work tree in which git can be asked now.
    pub(crate) fn existing_tree(&self) -> &Path {
        match self.is_complete() {
            true => &self.path,
            false => &self.from,
        }
    }

    /// Whether nothing is to be made.
    pub(crate) fn is_complete(&self) -> bool {
        self.found == WorktreeCondition::Whole
    }

    /// The project as it is once the order is carried out.
    pub(crate) fn project_in_worktree(&self, project: &Project) -> Project {
        Project {
            work_tree: self.path.clone(),
            ..project.clone()
        }
    }

    fn find_condition(&self, project: &Project) -> Result<WorktreeCondition, Failure> {
        let (branch, path) = (&self.target.branch, &self.path);
        let all = git::list_worktrees(&project.work_tree)?;
        if !self.is_recorded {
            self.refuse_location(project, &all)?;
        }
        let is_main = |tree: &Worktree| all.first() == Some(tree);
        let of_branch = all.iter().find(|tree| tree.branch.as_ref() == Some(branch));
        let at_path = all.iter().find(|tree| tree.path == *path);
        if let Some(other) = of_branch.filter(|tree| tree.path != *path || is_main(tree)) {
            return Err(self.checked_out_elsewhere_failure(other));
        }
        if let Some(tree) = at_path {
            if !path.exists() {
                return match &tree.locked {
                    Some(why) => Err(self.locked_failure(why)),
                    None if tree.branch.as_ref() == Some(branch) => Ok(WorktreeCondition::Record),
                    // It may have been moved, and hold work of another branch.
                    None => Err(self.foreign_record_failure(tree.branch.as_deref())),
                };
            }
            if !path.join(".git").is_file() {
                return Err(self
                    .taken_failure(format!("{} has lost its `.git` file", path.display()))
                    .with_hint(format!(
                        "`git worktree repair {}`, and run again",
                        self.quoted_path()
                    )));
            }
            let is_detached = self.in_lanes && tree.branch.is_none();
            if tree.branch.as_ref() != Some(branch) && !is_detached {
                return Err(self.other_tree_failure(tree.branch.as_deref()));
            }
            return self.condition_of_worktree(tree);
        }
        let is_empty = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        if path.symlink_metadata().is_ok() && !is_empty {
            return Err(self.taken_failure(format!(
                "{} is no worktree of this repository",
                path.display()
            )));
        }
        self.condition_of_branch(project)
    }

    /// Refuses a place at which no worktree is made, whatever is there now. One
    /// that a person made is used wherever it is.
    fn refuse_location(&self, project: &Project, all: &[Worktree]) -> Result<(), Failure> {
        let path = &self.path;
        let Some((main, linked)) = all.split_first() else {
            return Ok(());
        };
        if linked.iter().any(|tree| tree.path == *path) {
            return Ok(());
        }
        let holds = |folder: &Path| folder.starts_with(path);
        let of_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
        let what = if holds(&project.root) || holds(&main.path) {
            Some("which holds the project".to_owned())
        } else if path.components().any(of_git) {
            Some("which is a folder of git".to_owned())
        } else {
            find_enclosing_tree(all, path).and_then(|(tree, inner)| {
                let is_in = |folder: &&Path| !folder.as_os_str().is_empty();
                let tracked = std::iter::once(inner).chain(inner.parent().filter(is_in));
                let tracked = tracked
                    .into_iter()
                    .find(|path| git::has_tracked_files(tree, path));
                let tracked = tracked.filter(|_| !git::is_folder_ignored(tree, inner));
                tracked.map(|path| format!("and git tracks files in {}", path.display()))
            })
        };
        match what {
            Some(what) => Err(self.taken_failure(format!(
                "`path` under `worktree` in the plan names {}, {what}",
                path.display()
            ))),
            None => Ok(()),
        }
    }

    /// The worktree of the branch, at its place.
    fn condition_of_worktree(&self, tree: &Worktree) -> Result<WorktreeCondition, Failure> {
        match &tree.locked {
            Some(why) if why == HALF_MADE && self.is_recorded && !self.has_work => {
                return Ok(WorktreeCondition::Half);
            }
            // A lock keeps git from removing it, and no work from going on.
            Some(why) if !self.is_recorded => return Err(self.locked_failure(why)),
            Some(_) | None => {}
        }
        // What an attempt of this run left is its own.
        if !self.is_recorded {
            let changes = git::uncommitted_changes(&self.path, &[])?;
            if !changes.is_empty() {
                let (path, changes) = (self.path.display(), list_names(&changes, NAMED_MAX));
                return Err(Failure::new(
                    "worktree.dirty",
                    format!("the worktree {path} has changes that are not committed: {changes}"),
                )
                .with_hint(format!(
                    "commit them there, or put them aside with `git -C {} stash --include-untracked`, and run again",
                    self.quoted_path()
                )));
            }
        }
        Ok(WorktreeCondition::Whole)
    }

    fn condition_of_branch(&self, project: &Project) -> Result<WorktreeCondition, Failure> {
        let branch = &self.target.branch;
        if git::tip_of_branch(&project.work_tree, branch).is_some() {
            return Ok(WorktreeCondition::Branch);
        }
        if self.has_work {
            let branch = quote_word(branch);
            return Err(Failure::new(
                "worktree.gone",
                format!("the branch {branch} that this run works on is gone, and its worktree {} as well", self.path.display()),
            )
            .with_hint(format!(
                "make the branch again at its last commit, which `git reflog --all` names: `git branch {branch} COMMIT`"
            )));
        }
        Ok(WorktreeCondition::Nothing)
    }

    fn quoted_path(&self) -> String {
        quote_word(&self.path.to_string_lossy()).into_owned()
    }

    fn taken_failure(&self, what: String) -> Failure {
        let failure = Failure::new("worktree.taken", what);
        match self.is_recorded {
            true => failure.with_hint("move it elsewhere, or begin anew with `--recompile`"),
            false => failure.with_hint(format!(
                "name another `branch` or `path` under `worktree` in the plan, or run in the present work tree with `--ignore {KEY}`"
            )),
        }
    }

    fn checked_out_elsewhere_failure(&self, other: &Worktree) -> Failure {
        let (branch, path) = (&self.target.branch, other.path.display());
        let failure = self.taken_failure(format!("the branch `{branch}` is checked out in {path}"));
        match other.path.exists() {
            true => failure.with_hint(format!(
                "check out another branch there (`git -C {} switch BRANCH`), or name another `branch` under `worktree` in the plan, and run again",
                quote_word(&other.path.to_string_lossy())
            )),
            false => failure.with_hint(
                "that folder is gone: `git worktree repair PATH` if it was moved, `git worktree prune` if it is not needed any more; then run again",
            ),
        }
    }

    fn other_tree_failure(&self, branch: Option<&str>) -> Failure {
        let path = self.path.display();
        let has = branch.map_or("no branch".to_owned(), |branch| format!("`{branch}`"));
        let failure = self.taken_failure(format!(
            "the worktree {path} has {has} checked out, and not `{}`",
            self.target.branch
        ));
        if !self.is_recorded {
            return failure;
        }
        failure.with_hint(format!(
            "end what is under way there, then `git -C {} switch {}`, and run again",
            self.quoted_path(),
            quote_word(&self.target.branch)
        ))
    }

    fn foreign_record_failure(&self, branch: Option<&str>) -> Failure {
        let has = branch.map_or("no branch".to_owned(), |branch| format!("`{branch}`"));
        self.taken_failure(format!(
            "the worktree {} is gone, and git knows it with {has} checked out",
            self.path.display()
        ))
        .with_hint("`git worktree repair PATH` if it was moved, `git worktree prune` if it is not needed any more; then run again")
    }

    fn locked_failure(&self, why: &str) -> Failure {
        let (path, quoted) = (self.path.display(), self.quoted_path());
        let why = match why {
            "" => String::new(),
            why => format!(": {why}"),
        };
        Failure::new(
            "worktree.locked",
            format!("the worktree {path} is locked{why}"),
        )
        .with_hint(format!("`git worktree unlock {quoted}`, and run again"))
    }

    /// Records the worktree of a run that is held with this token, and makes what is
    /// missing of it.
    ///
    /// # Errors
    ///
    /// When the store or git fails, or something came into the way meanwhile.
    pub(crate) fn create_if_needed(
        &self,
        session: &Session<'_>,
        run: RunId,
        token: u64,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(), Failure> {
        let project = Project {
            work_tree: self.from.clone(),
            ..session.project.clone()
        };
        let mark = process::own_mark(&format!("worktree-{run}"));
        let mut found = self.found;
        if self.is_recorded {
            // A git that outlived a dead runner may still make it.
            process::end_survivors(slice::from_ref(&mark), &[], Duration::from_secs(1));
            found = self.find_condition(&project)?;
        }
        let command = Command::TargetRun {
            run,
            token,
            repository: None,
            target: Box::new(self.target.clone()),
        };
        session.commit(
            &command,
            &session.world.command_facts(HolderLiveness::Nothing),
        )?;
        failpoint::point("worktree.before-add");
        let by = GitControl {
            mark: &mark,
            stop: &StopHandle::default(),
        };
        self.create_worktree(&project, found, &by)?;
        failpoint::point("worktree.added");
        let (branch, path) = (&self.target.branch, self.path.display());
        tell(Notice::Said(&match found {
            WorktreeCondition::Nothing => {
                format!("made the branch {branch} and its worktree {path}")
            }
            WorktreeCondition::Branch | WorktreeCondition::Record => {
                format!("made the worktree {path} of the branch {branch}, which was there")
            }
            WorktreeCondition::Whole | WorktreeCondition::Half => {
                format!("working in {path} on the branch {branch}")
            }
        }));
        Ok(())
    }

    fn create_worktree(
        &self,
        project: &Project,
        found: WorktreeCondition,
        by: &GitControl<'_>,
    ) -> Result<(), Failure> {
        let (tree, path) = (&project.work_tree, &self.path);
        if let Some((around, inner)) = find_enclosing_tree(&git::list_worktrees(tree)?, path) {
            git::exclude_worktree(around, inner)?;
        }
        let branch = &*self.target.branch;
        match found {
            WorktreeCondition::Whole => Ok(()),
            WorktreeCondition::Half => git::finish_worktree(path, by),
            WorktreeCondition::Nothing => {
                let from = &*self.target.base;
                git::add_worktree(tree, path, NewWorktree::Begin { branch, from }, by)
            }
            WorktreeCondition::Branch => {
                git::add_worktree(tree, path, NewWorktree::OfBranch(branch), by)
            }
            WorktreeCondition::Record => {
                if let Err(why) = git::remove_worktree(tree, path)? {
                    return Err(self.taken_failure(format!(
                        "the worktree {} is gone, and git keeps its record: {why}",
                        path.display()
                    )));
                }
                self.create_worktree(project, self.condition_of_branch(project)?, by)
            }
        }
    }
}

/// Lets no branch be checked out in the worktree of a run that is worked on in lanes:
/// the merge queue moves its branch.
///
/// # Errors
///
/// When the worktree has changes, or something else is checked out there.
pub(crate) fn detach_worktree(
    project: &Project,
    row: &RunRow,
    target: &TargetRow,
) -> Result<(), Failure> {
    let Some(path) = worktree_path(project, target) else {
        return Ok(());
    };
    let here = git::read_checkout(&path).unwrap_or_default();
    if here.branch.is_none() {
        return match find_unreachable_commit(project, target, &here)? {
            Some(why) => Err(why),
            None => Ok(()),
        };
    }
    let changes = git::uncommitted_changes(&path, &[])?;
    if !changes.is_empty() {
        let (shown, changes) = (path.display(), list_names(&changes, NAMED_MAX));
        let quoted = quote_word(&path.to_string_lossy()).into_owned();
        return Err(Failure::new(
            "worktree.dirty",
            format!("the worktree {shown} has changes that are not committed: {changes}"),
        )
        .with_hint(format!(
            "commit them there, or put them aside with `git -C {quoted} stash --include-untracked`, and run again"
        )));
    }
    let mark = process::own_mark(&format!("worktree-{}", row.id));
    let by = GitControl {
        mark: &mark,
        stop: &StopHandle::default(),
    };
    failpoint::point("worktree.before-detach");
    let detached = git::switch_branch(&path, None, &by)?;
    failpoint::point("worktree.detached");
    detached.map_err(|why| stays_failure(&path, "worktree.failed", &why))
}

/// What a person committed in a detached worktree, which no branch has.
fn find_unreachable_commit(
    project: &Project,
    target: &TargetRow,
    here: &Checkout,
) -> Result<Option<Failure>, Failure> {
    let tip = git::tip_of_branch(&project.root, &target.branch);
    let Some((commit, tip)) = here.commit.as_ref().zip(tip) else {
        return Ok(None);
    };
    if git::is_built_on(&project.root, &tip, commit)? {
        return Ok(None);
    }
    let Some(path) = worktree_path(project, target) else {
        return Ok(None);
    };
    let quoted = quote_word(&path.to_string_lossy()).into_owned();
    let (branch, path) = (&target.branch, path.display());
    Ok(Some(
        Failure::new(
            "worktree.taken",
            format!("{commit} was committed in the worktree {path} and is on no branch"),
        )
        .with_hint(format!(
            "`git -C {quoted} switch {}` and `git -C {quoted} merge {commit}`, and run again",
            quote_word(branch)
        )),
    ))
}

/// Checks the branch of each run in lanes out again in its worktree, where no
/// runner works on the run: at the end of an invocation, and after one that died. Reports
/// why one stays as it is, and what to type.
pub(crate) fn reattach_branches(session: &Session<'_>, tell: &mut dyn FnMut(Notice<'_>)) {
    let mut put_all = || {
        for row in session.runs()? {
            let target = row
                .branches
                .target
                .as_deref()
                .filter(|_| row.branches.lanes.is_some());
            let path = target.and_then(|target| worktree_path(&session.project, target));
            let Some((target, path)) = target.zip(path) else {
                continue;
            };
            let here = git::read_checkout(&path).filter(|here| here.branch.is_none());
            let is_held = !row.joined.is_empty() || !run_lock::is_free(&session.project, &row);
            if let Some(here) = here.filter(|_| !is_held)
                && let Some(why) = reattach_branch(session, &row, target, &path, &here)?
            {
                tell(Notice::Warning(&why.to_string()));
            }
        }
        Ok::<_, Failure>(())
    };
    if let Err(failure) = put_all() {
        tracing::info!(%failure, "the worktrees of runs are not put back");
    }
}

fn reattach_branch(
    session: &Session<'_>,
    row: &RunRow,
    target: &TargetRow,
    path: &Path,
    here: &Checkout,
) -> Result<Option<Failure>, Failure> {
    if let Some(why) = find_unreachable_commit(&session.project, target, here)? {
        return Ok(Some(why));
    }
    let mark = process::own_mark(&format!("worktree-{}", row.id));
    let by = GitControl {
        mark: &mark,
        stop: &StopHandle::default(),
    };
    failpoint::point("worktree.before-put-back");
    let put = git::switch_branch(path, Some(&target.branch), &by)?;
    Ok(put.err().map(|why| {
        let branch = &target.branch;
        let quoted = quote_word(&path.to_string_lossy()).into_owned();
        let why = format!("{branch} cannot be checked out there again: {why}");
        stays_failure(path, "worktree.failed", &why).with_hint(format!(
            "see to that, then `git -C {quoted} switch {}`",
            quote_word(branch)
        ))
    }))
}

/// The work tree in which a folder lies that is another one, or is to be, and where.
fn find_enclosing_tree<'t>(all: &'t [Worktree], path: &'t Path) -> Option<(&'t Path, &'t Path)> {
    let trees = all.iter().map(|tree| tree.path.as_path());
    let around = trees.filter(|tree| path.starts_with(tree) && path != *tree);
    let nearest = around.max_by_key(|tree| tree.components().count())?;
    Some((nearest, path.strip_prefix(nearest).ok()?))
}

/// The target of a run that has none yet: it begins at what is checked out.
fn new_target(project: &Project, wanted: WorktreeSettings) -> Result<TargetRow, Failure> {
    if !project.in_git {
        return Err(Failure::new(
            "git.missing",
            "the sprint wants a worktree, and its folder is in no git repository",
        )
        .with_hint(format!(
            "make one with `git init` and a first commit, or run without: `--ignore {KEY}`"
        )));
    }
    let here = git::read_checkout(&project.work_tree);
    let onto = here.and_then(|here| here.branch);
    let Some(base) = git::head_commit(&project.work_tree)? else {
        return Err(Failure::new(
            "git.no_commit",
            "the sprint wants a worktree, and the repository has no commit yet to begin at",
        )
        .with_hint(format!(
            "make a first commit, or run in the present work tree with `--ignore {KEY}`"
        )));
    };
    Ok(TargetRow {
        branch: wanted.branch,
        tip: base.clone(),
        base,
        onto,
        path: Some(wanted.path),
        was_there: false,
        merged: 0,
    })
}

fn list_names(files: &[String], max: usize) -> String {
    let shown = files[..files.len().min(max)].join(", ");
    match files.len().saturating_sub(max) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// When the worktrees of finished runs are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CleanupOccasion {
    /// An invocation of `piton run` is over.
    EndOfRun,
    /// Something was stored: a branch may have been merged since.
    Write,
    /// A person asks for it.
    Asked,
}

/// Removes the worktrees of finished runs whose time has come. Who finds nothing
/// of that starts no git.
pub(crate) fn remove_finished_worktrees(
    session: &Session<'_>,
    occasion: CleanupOccasion,
    tell: &mut dyn FnMut(Notice<'_>),
) {
    let runs = match session.runs() {
        Ok(runs) => runs,
        Err(failure) => {
            tracing::info!(%failure, "the worktrees of runs are not looked at");
            return;
        }
    };
    let path_of = |row: &RunRow| {
        row.branches
            .target
            .as_ref()
            .and_then(|target| target.path.clone())
    };
    // A later run may go on in the worktree of one that is done.
    let open: Vec<String> = runs
        .iter()
        .filter(|row| row.state != RunState::Done)
        .filter_map(path_of)
        .collect();
    let done = runs.iter().filter(|row| {
        let path = path_of(row).filter(|path| !open.contains(path));
        row.state == RunState::Done && path.is_some()
    });
    for row in done {
        match remove_if_due(session, row, occasion, tell) {
            // Who works on something else is not told again and again.
            Ok(Some(WorktreeRemoval::Stays(_))) if occasion == CleanupOccasion::Write => {}
            Ok(Some(removal)) => removal.emit_notice(tell),
            Ok(None) => {}
            Err(failure) => tell(Notice::Warning(&failure.to_string())),
        }
    }
}

/// A worktree that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemovedWorktree {
    /// The folder.
    pub path: PathBuf,
    /// The branch, which stays.
    pub branch: String,
    /// The files that git ignores and that went with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// What came of removing a worktree.
#[derive(Debug)]
pub(crate) enum WorktreeRemoval {
    /// It is gone.
    Removed(RemovedWorktree),
    /// It stays, and why.
    Stays(Failure),
}

impl WorktreeRemoval {
    fn emit_notice(&self, tell: &mut dyn FnMut(Notice<'_>)) {
        match self {
            Self::Removed(RemovedWorktree { path, branch, .. }) => tell(Notice::Said(&format!(
                "removed the worktree {}; its work is on the branch {branch}",
                path.display()
            ))),
            Self::Stays(why) => tell(Notice::Warning(&why.to_string())),
        }
    }
}

/// Removes the worktree of a run, if it is time: none where it is not, or where
/// there is none. One with changes stays.
///
/// # Errors
///
/// When git cannot be asked.
pub(crate) fn remove_if_due(
    session: &Session<'_>,
    row: &RunRow,
    occasion: CleanupOccasion,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Option<WorktreeRemoval>, Failure> {
    let project = &session.project;
    let Some(target) = row.branches.target.as_deref() else {
        return Ok(None);
    };
    let Some(path) = worktree_path(project, target).filter(|path| path.join(".git").is_file())
    else {
        return Ok(None);
    };
    let is_used = find_user_of_worktree(session, row, &path);
    if !is_removal_due(project, row, occasion)
        || (is_used.is_some() && occasion != CleanupOccasion::Asked)
    {
        return Ok(None);
    }
    if let Some(why) = is_used {
        return Ok(Some(WorktreeRemoval::Stays(why)));
    }
    if let Some(why) = find_reason_to_keep(session, &path, target, occasion)? {
        return Ok(Some(WorktreeRemoval::Stays(why)));
    }
    let ignored = git::ignored_files(&path)?;
    if !ignored.is_empty() {
        let (files, goes) = match ignored.len() {
            1 => ("1 file", "goes"),
            _ => (&*format!("{} files", ignored.len()), "go"),
        };
        tell(Notice::Said(&format!(
            "{files} that git ignores {goes} with the worktree {}: {}",
            path.display(),
            list_names(&ignored, IGNORED_NAMED_MAX)
        )));
    }
    failpoint::point("worktree.before-remove");
    if let Err(why) = git::remove_worktree(&project.root, &path)? {
        return Ok(Some(WorktreeRemoval::Stays(stays_failure(
            &path,
            "worktree.failed",
            &why,
        ))));
    }
    if let Some((around, inner)) = find_enclosing_tree(&git::list_worktrees(&project.root)?, &path)
    {
        git::remove_exclusion(around, inner)?;
    }
    Ok(Some(WorktreeRemoval::Removed(RemovedWorktree {
        path,
        branch: target.branch.clone(),
        ignored,
    })))
}

/// Why the worktree of a run stays when its removal is requested; none where it can be
/// removed, or there is none. Changes nothing.
///
/// # Errors
///
/// When git cannot be asked.
pub(crate) fn reason_not_removable(
    session: &Session<'_>,
    row: &RunRow,
) -> Result<Option<Failure>, Failure> {
    let target = row.branches.target.as_deref();
    let path = target.and_then(|target| worktree_path(&session.project, target));
    let Some((target, path)) = target
        .zip(path)
        .filter(|(_, path)| path.join(".git").is_file())
    else {
        return Ok(None);
    };
    match find_user_of_worktree(session, row, &path) {
        None => find_reason_to_keep(session, &path, target, CleanupOccasion::Asked),
        used => Ok(used),
    }
}

/// Why a worktree stays where it is.
fn stays_failure(path: &Path, code: &'static str, why: &str) -> Failure {
    let hint = format!(
        "look at it with `git -C {} status`, and type it again",
        quote_word(&path.to_string_lossy())
    );
    let path = path.display();
    Failure::new(code, format!("the worktree {path} stays: {why}")).with_hint(hint)
}

/// Who is at work in the worktree of a run, or just there.
fn find_user_of_worktree(session: &Session<'_>, row: &RunRow, path: &Path) -> Option<Failure> {
    let stays = |why: &str| stays_failure(path, "worktree.in_use", why);
    if let Some(other) =
        run_lock::find_runner_in_tree(&session.project.with_run_worktree(row), None)
    {
        let name = quote_word(&other.run);
        let why = format!("run `{}` is at work in it", other.run);
        return Some(stays(&why).with_hint(format!(
            "wait for it with `piton status {name} --watch`, or stop it with `piton stop {name}`, and type it again"
        )));
    }
    if !run_lock::is_free(&session.project, row) {
        let why = "what its last runner started is still at work";
        return Some(
            stays(why).with_hint("see what that is with `piton status`, and type it again"),
        );
    }
    session.world.cwd.starts_with(path).then(|| {
        stays("it is the present folder").with_hint(format!(
            "`cd {}`, and type it again",
            quote_word(&session.project.root.to_string_lossy())
        ))
    })
}

/// What would be lost with a worktree, or keeps git from removing it.
fn find_reason_to_keep(
    session: &Session<'_>,
    path: &Path,
    target: &TargetRow,
    occasion: CleanupOccasion,
) -> Result<Option<Failure>, Failure> {
    let quoted = quote_word(&path.to_string_lossy()).into_owned();
    let here = git::read_checkout(path).and_then(|here| here.branch);
    if here.as_ref() != Some(&target.branch) {
        let why = format!("`{}` is not checked out there", target.branch);
        return Ok(Some(stays_failure(path, "worktree.taken", &why).with_hint(
            format!(
                "end what is under way there, then `git -C {quoted} switch {}`, and type it again",
                quote_word(&target.branch)
            ),
        )));
    }
    let all = git::list_worktrees(&session.project.root)?;
    let tree = all.into_iter().find(|tree| tree.path == path);
    if let Some(lock) = tree.and_then(|tree| tree.locked) {
        let why = match &*lock {
            "" => "it is locked".to_owned(),
            lock => format!("it is locked: {lock}"),
        };
        return Ok(Some(
            stays_failure(path, "worktree.locked", &why)
                .with_hint(format!("`git worktree unlock {quoted}`, and type it again")),
        ));
    }
    let changes = git::uncommitted_changes(path, &[])?;
    if !changes.is_empty() {
        let changes = list_names(&changes, NAMED_MAX);
        let why = format!("it has changes that are not committed: {changes}");
        return Ok(Some(stays_failure(path, "worktree.dirty", &why).with_hint(format!(
            "look at it with `git -C {quoted} status`, commit what is to be kept, and type it again"
        ))));
    }
    if occasion == CleanupOccasion::Asked {
        return Ok(None);
    }
    if target.was_there {
        let why = "it was there before the run";
        return Ok(Some(stays_failure(path, "worktree.taken", why)));
    }
    // What git ignores is in no commit, and goes with the folder.
    let ignored = git::ignored_paths(path)?;
    if ignored.is_empty() {
        return Ok(None);
    }
    let ignored = list_names(&ignored, NAMED_MAX);
    let why = format!("it holds files that git ignores: {ignored}");
    Ok(Some(stays_failure(path, "worktree.dirty", &why)))
}

/// Whether the worktree of a run that is not worked on is to be removed now.
fn is_removal_due(project: &Project, row: &RunRow, occasion: CleanupOccasion) -> bool {
    let wanted = wanted_worktree(&row.plan.face, row.plan.native.as_ref(), &[]);
    match (occasion, wanted.map(|wanted| wanted.cleanup)) {
        (CleanupOccasion::Asked, _) => true,
        (CleanupOccasion::EndOfRun, Some(WorktreeCleanup::OnComplete)) => true,
        (CleanupOccasion::EndOfRun | CleanupOccasion::Write, Some(WorktreeCleanup::OnMerge)) => {
            let target = row.branches.target.as_deref();
            let onto = target.and_then(|target| Some((&target.branch, target.onto.as_ref()?)));
            onto.is_some_and(|(branch, onto)| git::is_branch_merged(&project.root, branch, onto))
        }
        (_, Some(_) | None) => false,
    }
}
