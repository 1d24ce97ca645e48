//! A plan that is compiled from the definition of a sprint, or taken over from
//! the progress that lies beside it.

use std::num::NonZeroU32;

use piton_core::RunId;
use piton_core::plan::Plan;
use piton_formats::sprint::{SprintProgress, parallel_keys, plan_of_progress};

use super::super::compile::{SprintPath, check_sprint};
use super::request::RunRequest;
use super::takeover;
use crate::failure::notice::Notice;
use crate::failure::{Failure, Findings, unreadable_file};
use crate::world::World;
use crate::world::input;

/// The run that a sprint's plan is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct SprintRun<'a> {
    /// Its id.
    pub(super) id: RunId,
    /// The folder of the sprint, by its path in the project.
    pub(super) source: &'a str,
}

/// The plan of a sprint, for this run, named as the sprint is; with the text of its
/// progress, where that was there.
///
/// # Errors
///
/// When there are mistakes in it, or piton cannot do what it enables.
pub(super) fn plan_of_sprint(
    world: &World,
    request: &RunRequest,
    sprint: &SprintPath,
    run: SprintRun<'_>,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(Plan, Option<String>), Failure> {
    let (progress, taken_over) = if let Some(from) = &request.from {
        let path = world.resolve_path(from);
        let text = input::read_text(&path).map_err(|error| unreadable_file(&path, error))?;
        (takeover::import_progress(&path, &text)?, Some(text))
    } else if request.recompile {
        (compile_progress(world, request, sprint, tell)?, None)
    } else {
        match takeover::read_progress(sprint, tell)? {
            Some((progress, text)) => (progress, Some(text)),
            None => (compile_progress(world, request, sprint, tell)?, None),
        }
    };
    let mut plan = plan_of_progress(&progress, run.id, &progress.sprint_id, run.source);
    let has_flag = request
        .workers
        .is_some_and(|workers| workers > NonZeroU32::MIN);
    if !has_flag && plan.policy.concurrency_max.is_none() {
        warn_sequential(&progress, tell);
    }
    plan.policy = plan.policy.without_ignored_keys(&request.ignore);
    Ok((plan, taken_over))
}

fn compile_progress(
    world: &World,
    request: &RunRequest,
    sprint: &SprintPath,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<SprintProgress, Failure> {
    let compiled = check_sprint(world, sprint, request.workflows.as_deref(), false);
    match compiled.progress {
        Some(progress) => {
            if !compiled.findings.problems.is_empty() {
                tell(Notice::Problems(&compiled.findings));
            }
            Ok(progress)
        }
        None => Err(problems_failure(sprint, compiled.findings)),
    }
}

/// What is wrong with a plan, as a failure.
fn problems_failure(sprint: &SprintPath, findings: Findings) -> Failure {
    let errors = findings.error_count();
    let count = if errors == 1 {
        "1 error".to_owned()
    } else {
        format!("{errors} errors")
    };
    Failure::new(
        "plan.problems",
        format!(
            "{} has {count}; nothing was started",
            sprint.shown.display()
        ),
    )
    .with_hint(format!(
        "mend the plan, and look again with `piton plan check {}`",
        sprint.shown.display()
    ))
    .with_findings(findings)
}

/// Says what is done one after another although the plan allows more.
fn warn_sequential(progress: &SprintProgress, tell: &mut dyn FnMut(Notice<'_>)) {
    let keys = parallel_keys(progress);
    if !keys.is_empty() {
        tell(Notice::Warning(&format!(
            "{}: done one after another, in an order that the dependencies allow",
            keys.join(", ")
        )));
    }
}
