//! What a run in lanes adds to tracked files beside its merges: one commit on its
//! branch at the end of an invocation.
//!
//! It is made in git's objects and reached by compare-and-swap, so a death leaves it
//! to the next end. The journal does not name it: whatever is built on the tip is
//! merged onto.

use piton_core::lane::TargetRow;
use piton_core::{Need, Node, RunId, RunRow};
use piton_formats::plan_file::PlanFile;

use super::run_facts::commit_mark;
use super::run_lock::is_without_runners;
use crate::config::Config;
use crate::failpoint;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::git::{self, GitControl, RefMove, RefStep};
use crate::native_files::FileNotice;
use crate::native_files::plan_sync::load_plan_rows;
use crate::native_files::plan_sync::remove_open_agent_edits;
use crate::native_files::project_sync::{self, render_files_on_branch};
use crate::process::StopHandle;
use crate::session::Session;

/// How often it is made anew where another one moves the branch meanwhile.
const TRIES: u32 = 3;

/// Puts what the tracked files of the project, and of the plan, say of a run in lanes
/// on its branch. What cannot be put there is told, and comes with the next end.
pub(crate) fn commit_target_files(
    session: &Session<'_>,
    run: RunId,
    tell: &mut dyn FnMut(Notice<'_>),
) {
    if let Err(failure) = try_commit_target_files(session, run, tell) {
        tell(Notice::Warning(&format!(
            "the files of the project are not on the branch of the run yet: {failure}"
        )));
    }
}

fn try_commit_target_files(
    session: &Session<'_>,
    run: RunId,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    // Where the store is gone, the runner reports more.
    let rows = match session.load(&[Need::Run(run)]) {
        Err(failure) if failure.code == "store.gone" => return Ok(()),
        rows => rows?,
    };
    // What is merged elsewhere is to have nothing beside it here: the marks are shown when
    // that is checked out.
    let is_merged_here = |row: &&RunRow| {
        let lanes = row.branches.lanes.as_ref();
        lanes.is_some_and(|lanes| !lanes.terms.pull_requests)
    };
    let row = rows.tables.run(run).filter(is_merged_here);
    let target = row.and_then(|row| row.branches.target.as_deref());
    let target = target.filter(|target| target.path.is_none());
    let Some((row, target)) = row.zip(target) else {
        return Ok(());
    };
    if !is_without_runners(&session.project, row) {
        return Ok(());
    }
    if !Config::load(&session.project)?.git.commit_progress {
        return Ok(());
    }
    // What is left to the landing is noted as the files are followed.
    FileNotice::emit_all(&project_sync::sync_files(session), tell);
    let (mark, stop) = (
        commit_mark(run, &Node::from_text("target")),
        StopHandle::default(),
    );
    let by = GitControl {
        mark: &mark,
        stop: &stop,
    };
    for _ in 0..TRIES {
        if commit_on_tip(session, row, target, &by)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Commits the files on the branch as it is now. False where another one moved it
/// meanwhile.
fn commit_on_tip(
    session: &Session<'_>,
    row: &RunRow,
    target: &TargetRow,
    by: &GitControl<'_>,
) -> Result<bool, Failure> {
    let main = &session.project.work_tree;
    let name = format!("refs/heads/{}", target.branch);
    let Some(at) = git::read_ref(main, &name)? else {
        return Ok(true);
    };
    if !git::is_built_on(main, &at, &target.tip)? {
        return Ok(true);
    }
    let mut there = |path: &str| git::stored_text(main, &at, path);
    let mut texts = render_files_on_branch(session, &target.branch, &mut there)?;
    texts.extend(render_plan_on_branch(session, row, &mut there)?);
    if texts.is_empty() {
        return Ok(true);
    }
    let texts = texts.into_iter();
    let texts: Vec<(String, Vec<u8>)> = texts
        .map(|(path, text)| (path, text.into_bytes()))
        .collect();
    let message = format!("Record the progress of {}", row.name);
    let commit = git::commit_texts(main, &at, &texts, &message, by)?;
    failpoint::point("target.files-made");
    let step = RefStep {
        from: Some(&at),
        to: Some(&commit),
    };
    let is_moved = git::move_ref(main, &name, step, by)? == RefMove::Moved;
    if is_moved {
        failpoint::point("target.files-moved");
    }
    Ok(is_moved)
}

/// The file of the plan, where the last merge shows the run otherwise than it is.
fn render_plan_on_branch(
    session: &Session<'_>,
    row: &RunRow,
    there: &mut dyn FnMut(&str) -> Result<Option<String>, Failure>,
) -> Result<Option<(String, String)>, Failure> {
    let project = &session.project;
    let is_merged = row
        .branches
        .lanes
        .as_ref()
        .is_some_and(|lanes| lanes.merges > 0);
    let path = PlanFile::path_of_run(row).filter(|path| is_merged && project.is_tracked(path));
    let Some(path) = path.and_then(|path| project.path_in_work_tree(&path)) else {
        return Ok(None);
    };
    let Some(before) = there(&path)? else {
        return Ok(None);
    };
    let mut tables = load_plan_rows(session, row.id, &[])?;
    remove_open_agent_edits(&mut tables, row.id);
    let now = session.world.now();
    let shown = PlanFile::of_run(&tables, row.id).and_then(|mut plan| {
        let is_shown = plan.is_current_in(&before, &tables, now);
        let shown = plan.render(Some(&before), &tables, now).ok()?;
        shown.filter(|_| !is_shown)
    });
    Ok(shown.map(|text| (path, text)))
}
