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

use piton_core::amount::list_first;
use piton_core::checkout::Checkout;
use piton_core::lane::TargetRow;
use piton_core::{ItemRow, RunId, RunRow, Tables};
use piton_formats::plan_format::WorktreeSettings;
use piton_formats::registry::plan_format;

use crate::failpoint;
use crate::failure::Failure;
use crate::git::{self, GitControl, HALF_MADE, NewWorktree, Worktree};
use crate::process::shell::quote_word;
use crate::process::{self, StopHandle};
use crate::project::Project;

/// The key by which a person passes over it: `--ignore worktree`.
pub(crate) const KEY: &str = "worktree";

/// Most files that are named as changed.
pub(crate) const NAMED_MAX: usize = 5;

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
pub(crate) fn worktree_path(project: &Project, target: &TargetRow) -> Option<PathBuf> {
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
pub(crate) enum WorktreeCondition {
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
                let (path, changes) = (self.path.display(), list_first(&changes, NAMED_MAX));
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

    /// What is there when a runner that holds the run is about to make the worktree.
    ///
    /// # Errors
    ///
    /// When git fails, or something came into the way meanwhile.
    pub(crate) fn condition_before_creation(
        &self,
        project: &Project,
        run: RunId,
    ) -> Result<WorktreeCondition, Failure> {
        if !self.is_recorded {
            return Ok(self.found);
        }
        // A git that outlived a dead runner may still make it.
        let mark = process::own_mark(&format!("worktree-{run}"));
        process::end_survivors(slice::from_ref(&mark), &[], Duration::from_secs(1));
        self.find_condition(project)
    }

    /// The target of the run, with this worktree.
    pub(crate) fn target(&self) -> &TargetRow {
        &self.target
    }

    /// The project as it is where the branch begins.
    pub(crate) fn project_of_origin(&self, project: &Project) -> Project {
        Project {
            work_tree: self.from.clone(),
            ..project.clone()
        }
    }

    /// Makes what is missing of the worktree; what was done, in words.
    ///
    /// # Errors
    ///
    /// When git fails, or something came into the way meanwhile.
    pub(crate) fn create_missing(
        &self,
        project: &Project,
        run: RunId,
        found: WorktreeCondition,
    ) -> Result<String, Failure> {
        failpoint::point("worktree.before-add");
        let by = GitControl {
            mark: &process::own_mark(&format!("worktree-{run}")),
            stop: &StopHandle::default(),
        };
        self.create_worktree(project, found, &by)?;
        failpoint::point("worktree.added");
        let (branch, path) = (&self.target.branch, self.path.display());
        Ok(match found {
            WorktreeCondition::Nothing => {
                format!("made the branch {branch} and its worktree {path}")
            }
            WorktreeCondition::Branch | WorktreeCondition::Record => {
                format!("made the worktree {path} of the branch {branch}, which was there")
            }
            WorktreeCondition::Whole | WorktreeCondition::Half => {
                format!("working in {path} on the branch {branch}")
            }
        })
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
        let (shown, changes) = (path.display(), list_first(&changes, NAMED_MAX));
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
pub(crate) fn find_unreachable_commit(
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

/// The work tree in which a folder lies that is another one, or is to be, and where.
pub(crate) fn find_enclosing_tree<'t>(
    all: &'t [Worktree],
    path: &'t Path,
) -> Option<(&'t Path, &'t Path)> {
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

/// Why a worktree stays where it is.
pub(crate) fn stays_failure(path: &Path, code: &'static str, why: &str) -> Failure {
    let hint = format!(
        "look at it with `git -C {} status`, and type it again",
        quote_word(&path.to_string_lossy())
    );
    let path = path.display();
    Failure::new(code, format!("the worktree {path} stays: {why}")).with_hint(hint)
}
