//! The branch that the work of a run goes to, and who has which lane.

use super::event_buffer::EventBuffer;
use super::guards::{
    HeldRun, LeasedItem, check_can_begin, check_holder, check_runner, wrong_item_state,
};
use crate::event::{RunEvent, UnitEvent};
use crate::id::{Node, RunId};
use crate::item::{ItemRow, ItemState};
use crate::lane::{Landing, LaneTerms, TargetRow, UnitRow, count_begun_tasks, unit_of_node};
use crate::merge::{MergeRow, MergeState};
use crate::refusal::Refusal;

/// Records the target of a run in a repository, once: its work is on that branch from then on. In
/// lanes the same branch may begin anew where all that was merged is part of it.
pub(super) fn record_target(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    repository: Option<&str>,
    target: &TargetRow,
) -> Result<(), Refusal> {
    check_holder(story, held)?;
    let run = held.0;
    let row = story.require_run(run)?;
    // Lanes are entered where the project's own target is known, so that comes first.
    if repository.is_some() && row.branches.target.is_none() {
        return Err(story.wrong_run_state(run));
    }
    if let Some(known) = row.target_in_repository(repository) {
        let lanes = row.branches.lanes.as_deref();
        let rests = lanes.is_some_and(|lanes| lanes.queue.is_empty() && lanes.merging.is_none());
        let is_same = known.branch == target.branch && known.path == target.path;
        let is_ahead = ![&known.base, &known.tip].contains(&&target.base);
        if !is_same {
            return Err(Refusal::Targeted {
                name: row.name.clone(),
                branch: known.branch.clone(),
            });
        }
        if !(rests && is_ahead) {
            return Ok(());
        }
    }
    story.append(RunEvent::Targeted {
        run,
        repository: repository.map(str::to_owned),
        branch: target.branch.clone(),
        base: target.base.clone(),
        onto: target.onto.clone(),
        path: target.path.clone(),
        was_there: target.was_there,
    });
    Ok(())
}

/// From now on the run is worked on in lanes, or its work is merged by other rules.
pub(super) fn enter_lanes(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    terms: &LaneTerms,
) -> Result<(), Refusal> {
    check_holder(story, held)?;
    let run = held.0;
    let row = story.require_run(run)?;
    if row.branches.target.is_none() {
        return Err(story.wrong_run_state(run));
    }
    let known = row.branches.lanes.as_ref().map(|lanes| &lanes.terms);
    // A run that was begun one way goes on that way.
    let terms = LaneTerms {
        pull_requests: known.map_or(terms.pull_requests, |known| known.pull_requests),
        ..terms.clone()
    };
    if known != Some(&terms) {
        let terms = Box::new(terms);
        story.append(RunEvent::LanesEntered { run, terms });
    }
    Ok(())
}

/// A unit gets a lane. What is in the one that it had already stays there; in
/// another one it begins with what was saved, or at the target.
pub(super) fn assign_lane(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    node: &Node,
    lane: u32,
    saved: Option<&String>,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let (run, token) = held;
    check_can_begin(story, run)?;
    let item = story.require_item(run, node)?.clone();
    let row = story.require_run(run)?;
    let repository = story.tables.repository_of(&item).map(str::to_owned);
    let target = row.target_in_repository(repository.as_deref());
    let (Some(lanes), Some(target)) = (&row.branches.lanes, target) else {
        return Err(story.wrong_run_state(run));
    };
    let is_free = lanes.held.get(&lane).is_none_or(|held| held == node);
    let is_own = item.lane().is_some_and(|lane| lane.by == token);
    let is_of_other = item
        .lane()
        .is_some_and(|lane| lane.by != token && row.has_runner(lane.by));
    let had_lane = item.lane().is_some();
    // One that is over, or has to wait again, still has what is in its lane.
    let may_begin = !item.state.is_finished() && item.state != ItemState::Pending;
    let is_open = may_begin || had_lane;
    let merge = item.merge();
    let is_queued = merge.is_some_and(|merge| merge.state != MergeState::Returned);
    let shows_both_sides = merge.is_some_and(MergeRow::needs_both_sides);
    let scope = story.tables.scope_of_unit(&item);
    let has_to_wait = !had_lane && story.tables.find_overlapping_unit(lanes, &item).is_some();
    if !is_free
        || is_own
        || is_of_other
        || has_open_attempt(story, &item)
        || !is_open
        || is_queued
        || has_to_wait
        || unit_of_node(node) != *node
    {
        return Err(wrong_item_state(&item));
    }
    // Another runner may have begun the last one meanwhile.
    let max = row.invocation.limits.tasks_max.filter(|_| !had_lane);
    let begun = count_begun_tasks(
        row.invocation.tasks,
        lanes.count_begun_units(row.invocation.invocations),
    );
    if max.is_some_and(|max| begun >= max) {
        return Err(story.wrong_run_state(run));
    }
    let UnitRow {
        lane: hold,
        work,
        since,
        ..
    } = item.work.unit.as_deref().cloned().unwrap_or_default();
    // An agent that resolves sees all that was merged until its lane was made ready,
    // and no more where that goes on with what was left there.
    let attempts = count_attempts_of_unit(story, &item);
    let is_used = hold
        .as_ref()
        .is_some_and(|hold| hold.lane == lane && attempts > hold.attempts);
    let has_work = had_lane || work.is_some() || saved.is_some();
    let goes_on = is_used || (has_work && !shows_both_sides);
    let (from, attempts) = match hold.filter(|hold| hold.lane == lane) {
        Some(hold) => (hold.from, hold.attempts),
        None => {
            let work = saved.cloned().or(work);
            let from = work.unwrap_or_else(|| target.tip.clone());
            (from, attempts)
        }
    };
    let since = if goes_on { since } else { lanes.merges };
    story.append(UnitEvent::LaneTaken {
        run,
        node: node.clone(),
        fence: item.fence + 1,
        by: token,
        lane,
        from,
        saved: saved.cloned(),
        attempts,
        since,
        scope,
        repository,
    });
    Ok(())
}

/// Whether an attempt of a runner that is gone is open at a unit or below it. The runner
/// that holds the run settles it first; another one may have chosen the unit before it
/// knew that anybody worked there.
fn has_open_attempt(story: &EventBuffer<'_>, unit: &ItemRow) -> bool {
    let mut below = story.tables.items_of_unit(unit);
    below.any(|item| item.attempt.is_some())
}

/// How many attempts there were at a unit and below it.
fn count_attempts_of_unit(story: &EventBuffer<'_>, unit: &ItemRow) -> u32 {
    let below = story.tables.items_of_unit(unit);
    below.map(|item| item.attempts).fold(0, u32::saturating_add)
}

/// A unit has its lane no more.
pub(super) fn release_lane(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    (node, fence): LeasedItem<'_>,
    saved: Option<&String>,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let run: RunId = held.0;
    let item = &story.require_item(run, node)?.clone();
    let row = story.require_run(run)?;
    let is_of_other = |by| by != held.1 && row.has_runner(by);
    let is_it = item
        .lane()
        .is_some_and(|lane| lane.fence == fence && !is_of_other(lane.by));
    let is_busy = story.tables.items_of_unit(item).any(ItemRow::is_under_way);
    if !is_it || is_busy {
        return Err(wrong_item_state(item));
    }
    story.append(UnitEvent::LaneLeft {
        run,
        node: node.clone(),
        saved: saved.cloned(),
    });
    Ok(())
}

/// Notes the intent to land. Anyone may, whether or not a runner works: the branch
/// that the work is for is no part of the run. What has landed may land again, since
/// a person may have taken it back.
pub(super) fn start_landing(
    story: &mut EventBuffer<'_>,
    run: RunId,
    landing: &Landing,
) -> Result<(), Refusal> {
    let row = story.require_run(run)?;
    let name = row.name.clone();
    let why = match &row.branches.target {
        None => Some("it works on the branch that is checked out"),
        Some(target) if target.base == landing.commit => Some("nothing is done on its branch"),
        Some(_) => None,
    };
    if let Some(why) = why {
        return Err(Refusal::NothingToLand { name, why });
    }
    if row.branches.landing.as_deref() != Some(landing) {
        let Landing { commit, onto, at } = landing.clone();
        story.append(RunEvent::LandStarted {
            run,
            commit,
            onto,
            at,
        });
    }
    Ok(())
}

/// What was to land is on its branch. Another process may have noted it already.
pub(super) fn end_landing(
    story: &mut EventBuffer<'_>,
    run: RunId,
    landing: &Landing,
) -> Result<(), Refusal> {
    let row = story.require_run(run)?;
    if row.branches.landing.as_deref() != Some(landing) {
        return match row.branches.landed.as_deref() == Some(landing) {
            true => Ok(()),
            false => Err(story.wrong_run_state(run)),
        };
    }
    let Landing { commit, onto, at } = landing.clone();
    story.append(RunEvent::Landed {
        run,
        commit,
        onto,
        at,
    });
    Ok(())
}
