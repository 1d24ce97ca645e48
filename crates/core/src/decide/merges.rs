//! The merge queue: how the work of a unit gets to the target, or back.

use super::advance::{after_finish, give_up_after, leave_out};
use super::claims::{evidence_of_merged_check, judge_attempt};
use super::people::bury_runner;
use super::recording::{about, log};
use super::runner::{Held, Taken, guard, may_begin, taken, wrong_item};
use super::story::Story;
use crate::attempt::{HumanNeeded, Outcome};
use crate::decision::DecisionKind;
use crate::entry::EntryType;
use crate::event::Event;
use crate::evidence::Evidence;
use crate::gate;
use crate::id::{Node, RunId};
use crate::item::{ItemRow, ItemState, Stage};
use crate::merge::{
    MadeMerge, MergeReturn, MergeRow, MergeState, MergeStep, RETURNS_MAX, RETURNS_MAX_IN_ALL,
};
use crate::refusal::Refusal;

/// Puts a unit whose work is committed and proved into the queue, if it is one:
/// it is done when that is merged.
pub(super) fn queue_unit(story: &mut Story<'_>, item: &ItemRow, evidence: &[Evidence]) -> bool {
    let (run, node) = (item.run, &item.node);
    let in_lanes = story.tables.run(run).is_some_and(|row| row.lanes.is_some());
    let work = item.unit.as_ref().and_then(|unit| unit.work.clone());
    let Some(work) = work.filter(|_| in_lanes && item.is_merged_as_one()) else {
        return false;
    };
    judge_attempt(story, item, Outcome::Completed, None);
    if item.state == ItemState::Working {
        story.stage(run, node, Stage::Merge);
    } else {
        story.move_item(run, node, ItemState::Working, |moved| {
            moved.stage = Some(Stage::Merge);
        });
    }
    // Where nothing changed there is nothing to look at.
    let is_changed = item.unit.as_ref().is_none_or(|unit| !unit.is_unchanged);
    let is_by_person = |one: &Evidence| matches!(one, Evidence::Decided { .. });
    let is_approved = item.approval && evidence.iter().any(is_by_person);
    let lanes = story.tables.run(run).and_then(|row| row.lanes.as_ref());
    let review = is_changed && !is_approved && lanes.is_some_and(|lanes| lanes.terms.review);
    story.tell(Event::MergeQueued {
        run,
        node: node.clone(),
        work,
        evidence: evidence.to_vec(),
        review,
    });
    if review {
        ask_for_review(story, item);
    }
    true
}

fn ask_for_review(story: &mut Story<'_>, item: &ItemRow) {
    let (run, node) = (item.run, &item.node);
    let human = HumanNeeded {
        reason: format!("the work on `{node}` waits for a review"),
        details: item.summary.clone(),
    };
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
    let kind = DecisionKind::Review;
    story.ask(kind, run, node, human.reason, human.details);
}

/// Whether the work of an item waits for a person to look at it.
pub(super) fn is_in_review(item: &ItemRow) -> bool {
    let merge = item.merge();
    merge.is_some_and(|merge| merge.state == MergeState::InReview)
}

/// A person looked at the work of a unit, and it is to be merged.
pub(super) fn approve(story: &mut Story<'_>, run: RunId, node: &Node) -> Result<(), Refusal> {
    bury_runner(story, run)?;
    let item = story.item(run, node)?.clone();
    let merge = item.merge().filter(|_| is_in_review(&item));
    let Some(work) = merge.map(|merge| merge.work.clone()) else {
        return Err(wrong_item(&item));
    };
    story.move_item(run, node, ItemState::Working, |_| {});
    story.tell(Event::MergeQueued {
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
pub(super) fn reject_for(story: &mut Story<'_>, item: &ItemRow, why: &str) {
    let why = MergeReturn::Rejected {
        by: story.facts.actor.name().to_owned(),
        why: why.to_owned(),
    };
    reject(story, item, why);
}

/// The same, where people said so elsewhere.
pub(super) fn reject(story: &mut Story<'_>, item: &ItemRow, why: MergeReturn) {
    let (run, node) = (item.run, &item.node);
    story.tell(Event::MergeReturned {
        run,
        node: node.clone(),
        why,
    });
    story.move_item(run, node, ItemState::Working, |moved| {
        moved.retries = Some(0);
    });
    story.stage(run, node, Stage::Resolve);
}

/// Takes a unit out of the queue that is worked on again or left out. A merge
/// that has passed stays: the target may have been moved to it.
pub(super) fn drop_merge(story: &mut Story<'_>, run: RunId, node: &Node) {
    let merge = story.tables.item(run, node).and_then(ItemRow::merge);
    if merge.is_some_and(|merge| merge.state != MergeState::Passed) {
        end_merge(story, run, node, (None, None));
    }
}

/// The merge that the target was moved to, or the commit of the target that had all
/// of it already; with neither the unit is taken out of the queue.
type End = (Option<MadeMerge>, Option<String>);

fn end_merge(story: &mut Story<'_>, run: RunId, node: &Node, (made, at): End) {
    let lanes = story.tables.run(run).and_then(|row| row.lanes.as_ref());
    let number = lanes.map_or(0, |lanes| lanes.merges + 1);
    let number = made.as_ref().map_or(0, |_| number);
    let item = story.tables.item(run, node);
    let repository = item.and_then(|item| item.worked_repository().map(str::to_owned));
    story.tell(Event::MergeEnded {
        run,
        node: node.clone(),
        made,
        number,
        at,
        repository,
    });
}

/// Takes a unit a step further. Which step fits which state is the table in
/// `docs/design/0027-lanes-and-merge-queue.md`.
pub(super) fn step_merge(
    story: &mut Story<'_>,
    held: Held,
    at: Taken<'_>,
    step: &MergeStep,
) -> Result<(), Refusal> {
    use MergeState::{Checking, InReview, Passed, Queued, Requested, Returned};
    guard(story, held)?;
    let (run, node) = (held.0, at.0);
    let item = taken(story, run, at)?;
    let Some(merge) = item.merge().cloned() else {
        return Err(wrong_item(&item));
    };
    match (merge.state, step) {
        // It is merged where its pull request is: nothing is left to be checked but what
        // it was given since.
        (Queued, MergeStep::Start { made, .. })
            if is_merged_there(&item) && !item.needs_check() =>
        {
            start_merge(story, &item, made, true)?;
            if item_state(story, run, node) == Some(Checking) {
                story.tell(Event::MergePassed {
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
        (Checking, _) if item.skip_asked => leave_out(story, run, node, None),
        // What another check came to says nothing: the merge is made again, for the one
        // that there is now.
        (Checking, MergeStep::Pass | MergeStep::Return { .. }) if merge.outdated => {
            requeue(story, &item, merge);
        }
        // The target has it: what is left to do is its other check, on what is there.
        (Passed, MergeStep::End) if merge.outdated => {
            let (end, evidence) = merged(story, &item, merge.made.as_ref());
            end_merge(story, run, node, end);
            story.tell(Event::MergeQueued {
                run,
                node: node.clone(),
                work: merge.work,
                evidence: evidence.into_iter().collect(),
                review: false,
            });
        }
        (Checking, MergeStep::Pass) => story.tell(Event::MergePassed {
            run,
            node: node.clone(),
        }),
        (Queued | Checking, MergeStep::Return { why }) => {
            return_unit(story, &item, &merge, why);
        }
        (Checking | Passed, MergeStep::Requeue) => requeue(story, &item, merge),
        (Queued, MergeStep::Nothing { at }) if !item.needs_check() => {
            end_merge(story, run, node, (None, Some(at.clone())));
            finish_unit(story, &item, Vec::new());
        }
        (Passed, MergeStep::End) => {
            let made = merge.made.as_ref();
            let checked = made.and_then(|made| evidence_of_merged_check(story, &item, &made.tree));
            let (end, merged) = merged(story, &item, made);
            end_merge(story, run, node, end);
            finish_unit(story, &item, checked.into_iter().chain(merged).collect());
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
        | (InReview | Requested | Returned, _) => return Err(wrong_item(&item)),
    }
    Ok(())
}

/// Whether the work of a unit was merged by its pull request.
fn is_merged_there(item: &ItemRow) -> bool {
    let known = item.pull_request();
    let work = item.merge().map(|merge| &merge.work);
    known.is_some_and(|known| known.merged.is_some() && Some(&known.head) == work)
}

fn item_state(story: &Story<'_>, run: RunId, node: &Node) -> Option<MergeState> {
    let item = story.tables.item(run, node)?;
    item.merge().map(|merge| merge.state)
}

/// One unit at a time has the slot. Where nothing is to be checked on the merged
/// tree, it has passed.
fn start_merge(
    story: &mut Story<'_>,
    item: &ItemRow,
    made: &MadeMerge,
    is_checked: bool,
) -> Result<(), Refusal> {
    let run = item.run;
    may_begin(story, run)?;
    let lanes = story.run(run)?.lanes.clone().unwrap_or_default();
    if lanes.merging.is_some() {
        return Err(wrong_item(item));
    }
    let node = item.node.clone();
    tell_started(story, item, made.clone());
    // The check may have been changed while the merge was made.
    let is_checked = is_checked && !item.lacks_check();
    let of_run = lanes.terms.check_in(item.worked_repository());
    let is_to_be_checked = of_run.is_some() || (item.checks().next().is_some() && !is_checked);
    if !is_to_be_checked {
        story.tell(Event::MergePassed { run, node });
    }
    Ok(())
}

fn tell_started(story: &mut Story<'_>, item: &ItemRow, made: MadeMerge) {
    story.tell(Event::MergeStarted {
        run: item.run,
        node: item.node.clone(),
        fence: item.fence + 1,
        made,
    });
}

/// Its merge is made anew.
fn requeue(story: &mut Story<'_>, item: &ItemRow, merge: MergeRow) {
    story.tell(Event::MergeQueued {
        run: item.run,
        node: item.node.clone(),
        work: merge.work,
        evidence: Vec::new(),
        review: false,
    });
}

/// An agent sees both sides; after too many returns a person does.
fn return_unit(story: &mut Story<'_>, item: &ItemRow, merge: &MergeRow, why: &MergeReturn) {
    let (run, node) = (item.run, &item.node);
    let why = &with_changed_check(item, why);
    story.tell(Event::MergeReturned {
        run,
        node: node.clone(),
        why: why.clone(),
    });
    story.stage(run, node, Stage::Resolve);
    if let MergeReturn::Unchecked { .. } = why {
        return ask_about_return(story, item, why, &why.reason());
    }
    let returns = merge.returns + 1;
    let repository = item.worked_repository();
    let row = story.tables.run(run);
    let merges = row.map_or(0, |row| row.last_merge_in(repository));
    let saw_all = item.unit.as_ref().is_some_and(|unit| unit.since >= merges);
    let max = match saw_all {
        true => RETURNS_MAX,
        false => RETURNS_MAX_IN_ALL,
    };
    if returns >= max {
        let error = format!("returned {returns} times: {}", why.reason());
        ask_about_return(story, item, why, &error);
    }
}

/// A return that says so where the check which failed never passed in the lane, since
/// it was changed after that.
fn with_changed_check(item: &ItemRow, why: &MergeReturn) -> MergeReturn {
    let mut why = why.clone();
    if let MergeReturn::Red {
        command, changed, ..
    } = &mut why
    {
        let is_own = item
            .gate
            .as_ref()
            .is_some_and(|gate| gate.script == *command);
        *changed = is_own && item.needs_check();
    }
    why
}

/// A person sees what a check printed, and decides.
fn ask_about_return(story: &mut Story<'_>, item: &ItemRow, why: &MergeReturn, error: &str) {
    let (run, node) = (item.run, &item.node);
    let entry = about(story, run, node, EntryType::TaskBlocked, error);
    log(story, entry);
    let printed = why
        .output()
        .map(|output| gate::excerpt(output).lines().join("\n"));
    let printed = printed.filter(|printed| !printed.is_empty());
    give_up_after(
        story,
        (run, node),
        ItemState::Failed,
        error,
        printed.as_deref(),
    );
}

/// Whether the work of an item waits because a check could not be run on the merged
/// tree.
pub(super) fn is_unchecked(item: &ItemRow) -> bool {
    let merge = item.merge();
    let why = merge.filter(|merge| merge.state == MergeState::Returned);
    let why = why.and_then(|merge| merge.why.as_ref());
    item.state.is_broken() && matches!(why, Some(MergeReturn::Unchecked { .. }))
}

/// The work of such an item goes into the queue again as it is.
pub(super) fn queue_again(story: &mut Story<'_>, item: &ItemRow) {
    let Some(merge) = item.merge() else {
        return;
    };
    let (run, node) = (item.run, item.node.clone());
    let work = merge.work.clone();
    story.move_item(run, &node, ItemState::Working, |moved| {
        moved.stage = Some(Stage::Merge);
    });
    story.tell(Event::MergeQueued {
        run,
        node,
        work,
        evidence: Vec::new(),
        review: false,
    });
}

/// What came of a merge that the target was moved to, and what that shows.
fn merged(story: &Story<'_>, item: &ItemRow, made: Option<&MadeMerge>) -> (End, Option<Evidence>) {
    let Some(made) = made else {
        return ((None, None), None);
    };
    if let Some(known) = item.pull_request().filter(|_| is_merged_there(item)) {
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
    let repository = item.worked_repository();
    let row = story.tables.run(item.run);
    let target = row.and_then(|row| row.target_in(repository));
    let evidence = target.map(|target| Evidence::Merged {
        branch: target.branch.clone(),
        commit: made.commit.clone(),
        tree: made.tree.clone(),
    });
    ((Some(made.clone()), None), evidence)
}

/// Takes a unit through the queue as if its work were on the target.
pub(super) fn merge_now(story: &mut Story<'_>, run: RunId, node: &Node) {
    let Some(item) = story.tables.item(run, node).cloned() else {
        return;
    };
    end_merge(story, run, node, (None, None));
    finish_unit(story, &item, Vec::new());
}

/// A unit whose work is on the target is done, unless it is worked on again.
fn finish_unit(story: &mut Story<'_>, item: &ItemRow, evidence: Vec<Evidence>) {
    if item.state != ItemState::Working || item.stage != Stage::Merge {
        return;
    }
    let task = item.is_task();
    story.move_item(item.run, &item.node, ItemState::Done, |moved| {
        moved.evidence = evidence;
        moved.task = task;
    });
    after_finish(story, item.run, &item.node);
}
