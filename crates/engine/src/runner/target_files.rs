//! What a run in lanes adds to tracked files beside its merges: one commit on its
//! branch at the end of an invocation.
//!
//! It is made in git's objects and reached by compare-and-swap, so a death leaves it
//! to the next end. The journal does not name it: whatever is built on the tip is
//! merged onto.

use piton_core::{Need, Node, RunId, RunRow};
use piton_formats::plan_file::PlanFile;

use super::{commit_mark, is_left};
use crate::config::Config;
use crate::fail;
use crate::failure::Failure;
use crate::git::{self, By, RefMove, RefStep};
use crate::native_files::News;
use crate::native_files::plan_sync::leave_out_doubts;
use crate::native_files::plan_sync::rows_of_plan;
use crate::native_files::project_sync::{self, texts_on_branch};
use crate::notice::Notice;
use crate::process::Stop;
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
    if let Err(failure) = carry_out(session, run, tell) {
        tell(Notice::Warning(&format!(
            "the files of the project are not on the branch of the run yet: {failure}"
        )));
    }
}

fn carry_out(
    session: &Session<'_>,
    run: RunId,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    // Of a store that is not there whoever works says more.
    let rows = match session.load(&[Need::Run(run)]) {
        Err(failure) if failure.code == "store.gone" => return Ok(()),
        rows => rows?,
    };
    // What is merged elsewhere is to have nothing beside it here: the marks are shown when
    // that is checked out.
    let is_merged_here = |row: &&RunRow| {
        let lanes = row.lanes.as_ref();
        lanes.is_some_and(|lanes| !lanes.terms.pull_requests)
    };
    let row = rows.tables.run(run).filter(is_merged_here);
    let target = row.and_then(|row| row.target.as_deref());
    let target = target.filter(|target| target.path.is_none());
    let Some((row, target)) = row.zip(target) else {
        return Ok(());
    };
    if !is_left(session, row) {
        return Ok(());
    }
    if !Config::load(&session.project)?.git.commit_progress {
        return Ok(());
    }
    // What is left to the landing is noted as the files are followed.
    News::tell(&project_sync::follow(session), tell);
    let main = &session.project.work_tree;
    let name = format!("refs/heads/{}", target.branch);
    let message = format!("Record the progress of {}", row.name);
    let (mark, stop) = (commit_mark(run, &Node::named("target")), Stop::default());
    let by = By {
        mark: &mark,
        stop: &stop,
    };
    for _ in 0..TRIES {
        let Some(at) = git::ref_at(main, &name)? else {
            return Ok(());
        };
        if !git::is_built_on(main, &at, &target.tip)? {
            return Ok(());
        }
        let mut there = |path: &str| git::stored_text(main, &at, path);
        let mut texts = texts_on_branch(session, &target.branch, &mut there)?;
        texts.extend(plan_on_branch(session, row, &mut there)?);
        if texts.is_empty() {
            return Ok(());
        }
        let texts = texts.into_iter();
        let texts: Vec<(String, Vec<u8>)> = texts
            .map(|(path, text)| (path, text.into_bytes()))
            .collect();
        let commit = git::commit_texts(main, &at, &texts, &message, &by)?;
        fail::point("target.files-made");
        let step = RefStep {
            from: Some(&at),
            to: Some(&commit),
        };
        if git::move_ref(main, &name, step, &by)? == RefMove::Moved {
            fail::point("target.files-moved");
            return Ok(());
        }
    }
    Ok(())
}

/// The file of the plan, where the last merge shows the run otherwise than it is.
fn plan_on_branch(
    session: &Session<'_>,
    row: &RunRow,
    there: &mut dyn FnMut(&str) -> Result<Option<String>, Failure>,
) -> Result<Option<(String, String)>, Failure> {
    let project = &session.project;
    let is_merged = row.lanes.as_ref().is_some_and(|lanes| lanes.merges > 0);
    let path = PlanFile::path(row).filter(|path| is_merged && project.is_tracked(path));
    let Some(path) = path.and_then(|path| project.in_work_tree(&path)) else {
        return Ok(None);
    };
    let Some(before) = there(&path)? else {
        return Ok(None);
    };
    let mut tables = rows_of_plan(session, row.id, &[])?;
    leave_out_doubts(&mut tables, row.id);
    let now = session.world.now();
    let shown = PlanFile::of(&tables, row.id).and_then(|mut plan| {
        let is_shown = plan.is_shown_in(&before, &tables, now);
        let shown = plan.show(Some(&before), &tables, now).ok()?;
        shown.filter(|_| !is_shown)
    });
    Ok(shown.map(|text| (path, text)))
}
