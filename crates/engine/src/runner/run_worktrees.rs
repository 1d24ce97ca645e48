//! The worktrees of runs: made at a start, given their branch back at an end, and
//! removed when the run is finished.
//!
//! What one of them is, and how git makes it: see [`crate::git::worktree`].

use std::path::{Path, PathBuf};

use piton_core::amount::list_first;
use piton_core::checkout::Checkout;
use piton_core::lane::TargetRow;
use piton_core::{Command, HolderLiveness, RunId, RunRow, RunState};
use piton_formats::plan_format::WorktreeCleanup;
use serde::Serialize;

use crate::failpoint;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::git::worktree::{
    NAMED_MAX, RunWorktree, find_enclosing_tree, find_unreachable_commit, stays_failure,
    wanted_worktree, worktree_path,
};
use crate::git::{self, GitControl};
use crate::process::shell::quote_word;
use crate::process::{self, StopHandle};
use crate::project::Project;
use crate::runner::run_lock;
use crate::session::Session;

/// Most ignored files that are named as they go.
const IGNORED_NAMED_MAX: usize = 3;

/// Records the worktree of a run that is held with this token, and makes what is
/// missing of it.
///
/// # Errors
///
/// When the store or git fails, or something came into the way meanwhile.
pub(super) fn create_if_needed(
    worktree: &RunWorktree,
    session: &Session<'_>,
    run: RunId,
    token: u64,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let project = worktree.project_of_origin(&session.project);
    let found = worktree.condition_before_creation(&project, run)?;
    let command = Command::TargetRun {
        run,
        token,
        repository: None,
        target: Box::new(worktree.target().clone()),
    };
    session.commit(
        &command,
        &session.world.command_facts(HolderLiveness::Nothing),
    )?;
    tell(Notice::Said(
        &worktree.create_missing(&project, run, found)?,
    ));
    Ok(())
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
            list_first(&ignored, IGNORED_NAMED_MAX)
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
        let changes = list_first(&changes, NAMED_MAX);
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
    let ignored = list_first(&ignored, NAMED_MAX);
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
