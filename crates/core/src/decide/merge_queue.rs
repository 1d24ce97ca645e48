//! The merge queue: how the work of a unit gets to the target, or back.

use super::advance::{skip_node, update_after_finish};
use super::claims::evidence_of_merged_check;
use super::dead_runner::release_dead_runner;
use super::event_buffer::EventBuffer;
use super::giving_up::give_up_item_with_details;
use super::guards::{
    HeldRun, LeasedItem, check_can_begin, check_fence, check_holder, wrong_item_state,
};
use super::moves::{MergeResult, append_merge_end};
use super::recording::{entry_about, log_entry};
use crate::entry::EntryType;
use crate::event::UnitEvent;
use crate::evidence::Evidence;
use crate::gate;
use crate::id::{Node, RunId};
use crate::item::{ItemRef, ItemRow, ItemState, Stage};
use crate::merge::{
    MergeCommit, MergeReturn, MergeRow, MergeState, MergeStep, RETURNS_MAX, RETURNS_MAX_IN_ALL,
};
use crate::refusal::Refusal;

/// A person looked at the work of a unit, and it is to be merged.
pub(super) fn approve_merge(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let item = story.require_item(run, node)?.clone();
    let merge = item.merge().filter(|_| item.is_in_merge_review());
    let Some(work) = merge.map(|merge| merge.work.clone()) else {
        return Err(wrong_item_state(&item));
    };
    story.move_item(run, node, ItemState::Working, |_| {});
    story.append(UnitEvent::MergeQueued {
        run,
        node: node.clone(),
        work,
        evidence: Vec::new(),
        review: false,
    });
    Ok(())
}

/// A person looked at the work of a unit, and wants it otherwise: an agent goes on
/// with what there is.
pub(super) fn reject_merge_by_person(story: &mut EventBuffer<'_>, item: &ItemRow, why: &str) {
    let why = MergeReturn::Rejected {
        by: story.facts.actor.name().to_owned(),
        why: why.to_owned(),
    };
    return_rejected_merge(story, item, why);
}

/// The same, where people said so elsewhere.
pub(super) fn return_rejected_merge(story: &mut EventBuffer<'_>, item: &ItemRow, why: MergeReturn) {
    let (run, node) = (item.run, &item.node);
    story.append(UnitEvent::MergeReturned {
        run,
        node: node.clone(),
        why,
    });
    story.move_item(run, node, ItemState::Working, |moved| {
        moved.retries = Some(0);
    });
    story.set_stage(run, node, Stage::Resolve);
}

/// Takes a unit a step further. Which step fits which state is the table in
/// `docs/design/0027-lanes-and-merge-queue.md`.
pub(super) fn apply_merge_step(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    at: LeasedItem<'_>,
    step: &MergeStep,
) -> Result<(), Refusal> {
    use MergeState::{Checking, InReview, Passed, Queued, Requested, Returned};
    check_holder(story, held)?;
    let (run, node) = (held.0, at.0);
    let item = check_fence(story, run, at)?;
    let Some(merge) = item.merge().cloned() else {
        return Err(wrong_item_state(&item));
    };
    match (merge.state, step) {
        // It is merged where its pull request is: nothing is left to be checked but what
        // it was given since.
        (Queued, MergeStep::Start { made, .. })
            if is_merged_by_pull_request(&item) && !item.needs_check() =>
        {
            start_merge(story, &item, made, true)?;
            if merge_state_of_item(story, run, node) == Some(Checking) {
                story.append(UnitEvent::MergePassed {
                    run,
                    node: node.clone(),
                });
            }
            return Ok(());
        }
        (Queued, MergeStep::Start { made, is_checked }) => {
            return start_merge(story, &item, made, *is_checked);
        }
        // What a person leaves out takes effect with the next step.
        (Checking, _) if item.people.skip_asked => skip_node(story, run, node, None),
        // What another check came to says nothing: the merge is made again, for the one
        // that there is now.
        (Checking, MergeStep::Pass | MergeStep::Return { .. }) if merge.outdated => {
            requeue_unit(story, &item, merge);
        }
        // The target has it: what is left to do is its other check, on what is there.
        (Passed, MergeStep::End) if merge.outdated => {
            let (end, evidence) = result_and_evidence_of_merge(story, &item, merge.made.as_ref());
            append_merge_end(story, run, node, end);
            story.append(UnitEvent::MergeQueued {
                run,
                node: node.clone(),
                work: merge.work,
                evidence: evidence.into_iter().collect(),
                review: false,
            });
        }
        (Checking, MergeStep::Pass) => story.append(UnitEvent::MergePassed {
            run,
            node: node.clone(),
        }),
        (Queued | Checking, MergeStep::Return { why }) => {
            return_unit_to_agent(story, &item, &merge, why);
        }
        (Checking | Passed, MergeStep::Requeue) => requeue_unit(story, &item, merge),
        (Queued, MergeStep::Nothing { at }) if !item.needs_check() => {
            append_merge_end(story, run, node, (None, Some(at.clone())));
            finish_merged_unit(story, &item, Vec::new());
        }
        (Passed, MergeStep::End) => {
            let made = merge.made.as_ref();
            let checked = made.and_then(|made| evidence_of_merged_check(story, &item, &made.tree));
            let (end, merged) = result_and_evidence_of_merge(story, &item, made);
            append_merge_end(story, run, node, end);
            finish_merged_unit(story, &item, checked.into_iter().chain(merged).collect());
        }
        (
            Queued,
            MergeStep::Pass
            | MergeStep::Requeue
            | MergeStep::End
            // Its check was changed, and is to run on what is there.
            | MergeStep::Nothing { .. },
        )
        | (Checking, MergeStep::Start { .. } | MergeStep::Nothing { .. } | MergeStep::End)
        | (
            Passed,
            MergeStep::Start { .. }
            | MergeStep::Nothing { .. }
            | MergeStep::Pass
            | MergeStep::Return { .. },
        )
        | (InReview | Requested | Returned, _) => return Err(wrong_item_state(&item)),
    }
    Ok(())
}

/// Whether the work of a unit was merged by its pull request.
fn is_merged_by_pull_request(item: &ItemRow) -> bool {
    let known = item.pull_request();
    let work = item.merge().map(|merge| &merge.work);
    known.is_some_and(|known| known.merged.is_some() && Some(&known.head) == work)
}

fn merge_state_of_item(story: &EventBuffer<'_>, run: RunId, node: &Node) -> Option<MergeState> {
    let item = story.tables.item(run, node)?;
    item.merge().map(|merge| merge.state)
}

/// One unit at a time has the slot. Where nothing is to be checked on the merged
/// tree, it has passed.
fn start_merge(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    made: &MergeCommit,
    is_checked: bool,
) -> Result<(), Refusal> {
    let run = item.run;
    check_can_begin(story, run)?;
    let lanes = story
        .require_run(run)?
        .branches
        .lanes
        .clone()
        .unwrap_or_default();
    if lanes.merging.is_some() {
        return Err(wrong_item_state(item));
    }
    let node = item.node.clone();
    append_merge_started(story, item, made.clone());
    // The check may have been changed while the merge was made.
    let is_checked = is_checked && !item.is_missing_check();
    let of_run = lanes.terms.check_in_repository(item.repository_of_work());
    let is_to_be_checked =
        of_run.is_some() || (item.required_checks().next().is_some() && !is_checked);
    if !is_to_be_checked {
        story.append(UnitEvent::MergePassed { run, node });
    }
    Ok(())
}

fn append_merge_started(story: &mut EventBuffer<'_>, item: &ItemRow, made: MergeCommit) {
    story.append(UnitEvent::MergeStarted {
        run: item.run,
        node: item.node.clone(),
        fence: item.fence + 1,
        made,
    });
}

/// Its merge is made anew.
fn requeue_unit(story: &mut EventBuffer<'_>, item: &ItemRow, merge: MergeRow) {
    story.append(UnitEvent::MergeQueued {
        run: item.run,
        node: item.node.clone(),
        work: merge.work,
        evidence: Vec::new(),
        review: false,
    });
}

/// An agent sees both sides; after too many returns a person does.
fn return_unit_to_agent(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    merge: &MergeRow,
    why: &MergeReturn,
) {
    let (run, node) = (item.run, &item.node);
    let why = &mark_changed_check(item, why);
    story.append(UnitEvent::MergeReturned {
        run,
        node: node.clone(),
        why: why.clone(),
    });
    story.set_stage(run, node, Stage::Resolve);
    if let MergeReturn::Unchecked { .. } = why {
        return ask_about_return(story, item, why, &why.describe_reason());
    }
    let returns = merge.returns + 1;
    let repository = item.repository_of_work();
    let row = story.tables.run(run);
    let merges = row.map_or(0, |row| row.last_merge_in_repository(repository));
    let saw_all = item
        .work
        .unit
        .as_ref()
        .is_some_and(|unit| unit.since >= merges);
    let max = match saw_all {
        true => RETURNS_MAX,
        false => RETURNS_MAX_IN_ALL,
    };
    if returns >= max {
        let error = format!("returned {returns} times: {}", why.describe_reason());
        ask_about_return(story, item, why, &error);
    }
}

/// A return that says so where the check which failed never passed in the lane, since
/// it was changed after that.
fn mark_changed_check(item: &ItemRow, why: &MergeReturn) -> MergeReturn {
    let mut why = why.clone();
    if let MergeReturn::Red {
        command, changed, ..
    } = &mut why
    {
        let is_own = item
            .plan
            .gate
            .as_ref()
            .is_some_and(|gate| gate.script == *command);
        *changed = is_own && item.needs_check();
    }
    why
}

/// A person sees what a check printed, and decides.
fn ask_about_return(story: &mut EventBuffer<'_>, item: &ItemRow, why: &MergeReturn, error: &str) {
    let (run, node) = (item.run, &item.node);
    let entry = entry_about(story, run, node, EntryType::TaskBlocked, error);
    log_entry(story, entry);
    let printed = why
        .check_output()
        .map(|output| gate::excerpt_output(output).shown_lines().join("\n"));
    let printed = printed.filter(|printed| !printed.is_empty());
    give_up_item_with_details(
        story,
        ItemRef { run, node },
        ItemState::Failed,
        error,
        printed.as_deref(),
    );
}

/// Whether the work of an item waits because a check could not be run on the merged
/// tree.
pub(super) fn has_unrunnable_check(item: &ItemRow) -> bool {
    let merge = item.merge();
    let why = merge.filter(|merge| merge.state == MergeState::Returned);
    let why = why.and_then(|merge| merge.why.as_ref());
    item.state.is_broken() && matches!(why, Some(MergeReturn::Unchecked { .. }))
}

/// The work of such an item goes into the queue again as it is.
pub(super) fn requeue_unchecked_unit(story: &mut EventBuffer<'_>, item: &ItemRow) {
    let Some(merge) = item.merge() else {
        return;
    };
    let (run, node) = (item.run, item.node.clone());
    let work = merge.work.clone();
    story.move_item(run, &node, ItemState::Working, |moved| {
        moved.stage = Some(Stage::Merge);
    });
    story.append(UnitEvent::MergeQueued {
        run,
        node,
        work,
        evidence: Vec::new(),
        review: false,
    });
}

/// What came of a merge that the target was moved to, and what that shows.
fn result_and_evidence_of_merge(
    story: &EventBuffer<'_>,
    item: &ItemRow,
    made: Option<&MergeCommit>,
) -> (MergeResult, Option<Evidence>) {
    let Some(made) = made else {
        return ((None, None), None);
    };
    if let Some(known) = item
        .pull_request()
        .filter(|_| is_merged_by_pull_request(item))
    {
        let evidence = known.merged.clone().map(|commit| Evidence::Merged {
            branch: known.base.clone(),
            commit,
            tree: made.tree.clone(),
        });
        // The target may have had it already, by what was merged before.
        let end = match made.commit == made.onto {
            true => (None, Some(made.commit.clone())),
            false => (Some(made.clone()), None),
        };
        return (end, evidence);
    }
    // There was nothing to merge, and a check to run on what was there.
    if made.commit == made.onto {
        return ((None, Some(made.commit.clone())), None);
    }
    let repository = item.repository_of_work();
    let row = story.tables.run(item.run);
    let target = row.and_then(|row| row.target_in_repository(repository));
    let evidence = target.map(|target| Evidence::Merged {
        branch: target.branch.clone(),
        commit: made.commit.clone(),
        tree: made.tree.clone(),
    });
    ((Some(made.clone()), None), evidence)
}

/// Takes a unit through the queue as if its work were on the target.
pub(super) fn simulate_merge(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let Some(item) = story.tables.item(run, node).cloned() else {
        return;
    };
    append_merge_end(story, run, node, (None, None));
    finish_merged_unit(story, &item, Vec::new());
}

/// A unit whose work is on the target is done, unless it is worked on again.
fn finish_merged_unit(story: &mut EventBuffer<'_>, item: &ItemRow, evidence: Vec<Evidence>) {
    if item.state != ItemState::Working || item.stage != Stage::Merge {
        return;
    }
    let task = item.is_task();
    story.move_item(item.run, &item.node, ItemState::Done, |moved| {
        moved.evidence = evidence;
        moved.task = task;
    });
    update_after_finish(story, item.run, &item.node);
}
