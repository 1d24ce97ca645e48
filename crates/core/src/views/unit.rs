//! What events about units change in the rows of their run and their item.

use crate::event::UnitEvent;
use crate::id::Node;
use crate::item::ItemRow;
use crate::journal::EventStamp;
use crate::lane::{LaneHold, LanesRow, UnitRow};
use crate::merge::{MergeReturn, MergeRow, MergeState};
use crate::pull_request::{PullRequestNews, PullRequestRow};
use crate::run::RunRow;

/// What an event about a unit changes in what its run knows of all of them.
pub(super) fn apply_to_lanes(row: &mut RunRow, event: &UnitEvent) {
    let Some(lanes) = &mut row.branches.lanes else {
        return;
    };
    let leave = |lanes: &mut LanesRow, node: &Node| lanes.held.retain(|_, held| held != node);
    match event {
        UnitEvent::LaneTaken {
            node,
            lane,
            scope,
            repository,
            ..
        } => {
            leave(lanes, node);
            lanes.in_review.remove(node);
            lanes.requested.remove(node);
            lanes.held.insert(*lane, node.clone());
            lanes.scopes.remove(node);
            lanes.repositories.remove(node);
            if !scope.is_empty() {
                lanes.scopes.insert(node.clone(), scope.clone());
                let repository = repository.clone().map(|name| (node.clone(), name));
                lanes.repositories.extend(repository);
            }
        }
        UnitEvent::LaneLeft { node, .. } => leave(lanes, node),
        UnitEvent::MergeQueued { node, review, .. } => {
            leave(lanes, node);
            free_slot(lanes, node);
            lanes.requested.remove(node);
            if *review {
                lanes.in_review.insert(node.clone());
            } else {
                lanes.in_review.remove(node);
                if !lanes.queue.contains(node) {
                    lanes.queue.push(node.clone());
                }
            }
        }
        UnitEvent::MergeStarted { node, .. } => lanes.merging = Some(node.clone()),
        UnitEvent::PullRequestOpened { node, .. }
        | UnitEvent::PullRequestSeen {
            node,
            news: PullRequestNews::Trouble { .. },
            ..
        } => {
            lanes.queue.retain(|queued| queued != node);
            lanes
                .requested
                .insert(node.clone(), row.invocation.invocations);
        }
        UnitEvent::MergeReturned { node, .. } => {
            free_slot(lanes, node);
            lanes.in_review.remove(node);
            lanes.requested.remove(node);
            lanes.queue.retain(|queued| queued != node);
        }
        UnitEvent::MergeEnded {
            node,
            made,
            number,
            at,
            repository,
            ..
        } => {
            free_slot(lanes, node);
            lanes.in_review.remove(node);
            lanes.requested.remove(node);
            lanes.queue.retain(|queued| queued != node);
            // What was taken out of the queue may have its lane still.
            if !lanes.held.values().any(|held| held == node) {
                lanes.scopes.remove(node);
                lanes.repositories.remove(node);
            }
            if made.is_some() {
                lanes.merges = *number;
            }
            let tip = made.as_ref().map(|made| &made.commit).or(at.as_ref());
            let has_several = !row.branches.targets.is_empty();
            let target = match repository {
                Some(name) => row.branches.targets.get_mut(name),
                None => row.branches.target.as_deref_mut(),
            };
            if let Some((target, tip)) = target.zip(tip) {
                target.tip.clone_from(tip);
                if made.is_some() && has_several {
                    target.merged = *number;
                }
            }
        }
        UnitEvent::MergePassed { .. }
        | UnitEvent::PullRequestAsked { .. }
        | UnitEvent::PullRequestTaken { .. }
        | UnitEvent::PullRequestSeen { .. } => {}
    }
}

fn free_slot(lanes: &mut LanesRow, node: &Node) {
    if lanes.merging.as_ref() == Some(node) {
        lanes.merging = None;
    }
}

/// What an event changes in what is known of an item as a unit.
pub(super) fn apply_to_unit(row: &mut ItemRow, event: &UnitEvent, stamp: &EventStamp) {
    let unit = row.work.unit.get_or_insert_default();
    match event {
        UnitEvent::LaneTaken {
            fence,
            by,
            lane,
            from,
            saved,
            attempts,
            since,
            repository,
            ..
        } => {
            row.fence = *fence;
            unit.since = *since;
            unit.repository.clone_from(repository);
            if saved.is_some() {
                unit.work.clone_from(saved);
                unit.is_unchanged = false;
            }
            let before = unit.lane.take().filter(|before| before.lane == *lane);
            unit.lane = Some(LaneHold {
                since: before.map_or(Some(stamp.time), |before| before.since),
                lane: *lane,
                fence: *fence,
                by: *by,
                from: from.clone(),
                attempts: *attempts,
            });
        }
        UnitEvent::LaneLeft { saved, .. } => {
            unit.lane = None;
            if saved.is_some() {
                unit.work.clone_from(saved);
                unit.is_unchanged = false;
            }
        }
        UnitEvent::MergeQueued {
            work,
            evidence,
            review,
            ..
        } => {
            unit.lane = None;
            unit.work = Some(work.clone());
            let before = unit.merge.take();
            unit.merge = Some(MergeRow {
                state: match review {
                    true => MergeState::InReview,
                    false => MergeState::Queued,
                },
                work: work.clone(),
                made: None,
                outdated: false,
                returns: before.as_ref().map_or(0, |merge| merge.returns),
                why: before.and_then(|merge| merge.why),
            });
            row.proof.evidence.extend(evidence.iter().cloned());
        }
        UnitEvent::MergeStarted { fence, made, .. } => {
            row.fence = *fence;
            if let Some(merge) = &mut unit.merge {
                merge.state = MergeState::Checking;
                merge.made = Some(made.clone());
                merge.outdated = false;
            }
        }
        UnitEvent::MergePassed { .. } => {
            if let Some(merge) = &mut unit.merge {
                merge.state = MergeState::Passed;
            }
        }
        UnitEvent::PullRequestAsked {
            head, branch, base, ..
        } => start_pull_request(unit, head, branch, base),
        UnitEvent::PullRequestTaken {
            number,
            url,
            head,
            branch,
            base,
            repository,
            ..
        } => {
            unit.repository.clone_from(repository);
            unit.work = Some(head.clone());
            unit.pull_request = Some(Box::new(PullRequestRow {
                branch: branch.clone(),
                base: base.clone(),
                head: head.clone(),
                number: Some(*number),
                url: Some(url.clone()),
                ..PullRequestRow::default()
            }));
        }
        UnitEvent::PullRequestOpened { number, url, .. } => {
            if let Some(row) = &mut unit.pull_request {
                row.number = Some(*number);
                row.url = Some(url.clone());
                row.is_open = true;
                row.closed = false;
                row.trouble = None;
                row.held = false;
            }
            record_requested(unit);
        }
        UnitEvent::PullRequestSeen { news, .. } => apply_news(unit, news),
        UnitEvent::MergeReturned { why, .. } => {
            // What people at the pull request want is a rejection as any other.
            let is_rejected = matches!(why, MergeReturn::Rejected { .. });
            let state = unit.merge.as_ref().map(|merge| merge.state);
            if is_rejected && state == Some(MergeState::Requested) {
                row.people.rejections += 1;
            }
            if let Some(merge) = &mut unit.merge {
                merge.state = MergeState::Returned;
                merge.made = None;
                merge.outdated = false;
                merge.returns = match why {
                    MergeReturn::Conflict { .. } | MergeReturn::Red { .. } => merge.returns + 1,
                    MergeReturn::Unchecked { .. } => merge.returns,
                    // A person has looked.
                    MergeReturn::Rejected { .. } => 0,
                };
                merge.why = Some(why.clone());
            }
        }
        UnitEvent::MergeEnded {
            made, number, at, ..
        } => {
            unit.merge = None;
            if made.is_some() {
                unit.merged = *number;
            }
            // What is on the target is no place to begin again at.
            if made.is_some() || at.is_some() {
                unit.work = None;
            }
        }
    }
}

/// Its work is to stand in a pull request. Where the last one is over it is another one.
fn start_pull_request(unit: &mut UnitRow, head: &str, branch: &str, base: &str) {
    let row = unit.pull_request.get_or_insert_default();
    if row.closed || row.merged.is_some() {
        row.number = None;
        row.url = None;
    }
    if !row.head.is_empty() && !row.before.contains(&row.head) {
        row.before.push(row.head.clone());
    }
    head.clone_into(&mut row.head);
    branch.clone_into(&mut row.branch);
    base.clone_into(&mut row.base);
    row.is_open = false;
    row.closed = false;
    row.trouble = None;
    row.held = false;
    row.merged = None;
}

/// The work of the unit waits in its pull request.
fn record_requested(unit: &mut UnitRow) {
    if let Some(merge) = &mut unit.merge {
        merge.state = MergeState::Requested;
    }
}

/// What a look at the pull request of a unit changes in what is known of it.
fn apply_news(unit: &mut UnitRow, news: &PullRequestNews) {
    let Some(row) = &mut unit.pull_request else {
        return;
    };
    match news {
        PullRequestNews::Merged { commit } => row.merged = Some(commit.clone()),
        PullRequestNews::MergedBefore { .. } => {
            row.number = None;
            row.url = None;
            row.is_open = false;
            row.closed = false;
            row.trouble = None;
            row.held = false;
        }
        PullRequestNews::Closed { .. } => row.closed = true,
        PullRequestNews::Open => {
            row.closed = false;
            row.trouble = None;
        }
        PullRequestNews::Lost { .. } => unit.pull_request = None,
        PullRequestNews::Words { ids, .. } => {
            row.heard.extend(ids.iter().cloned());
            row.returns += 1;
        }
        PullRequestNews::Held { why } => {
            row.trouble = Some(why.clone());
            row.held = true;
            row.returns = 0;
        }
        PullRequestNews::Trouble { why } => {
            row.trouble = Some(why.clone());
            record_requested(unit);
        }
    }
}
