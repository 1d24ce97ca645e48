//! What an event changes in the read tables.
//!
//! [`changed_keys`] names the rows, [`apply_event`] makes each one anew. Neither looks at
//! any other row: whatever a change depends on stands in the event, so that a
//! table can be thrown away and rebuilt from the journal alone.

use jiff::SignedDuration;

use crate::attempt::{AttemptRow, Conversation, Outcome, Report, ReportedAttempt, Role};
use crate::classify::FailureCategory;
use crate::decision::{DecisionRow, DecisionVerdict};
use crate::entry::{BLOCKERS_KEPT, BlockerRow, EntryRow, EntryType};
use crate::event::{
    AttemptEvent, BlockedBefore, DecisionEvent, Event, FileEvent, ItemEvent, ItemMoved,
    ItemPlanned, MemoryEvent, NotificationEvent, RunEvent, RunPlanned, SessionEvent, UnitEvent,
};
use crate::evidence::{BaselineResult, TreeChange};
use crate::gate::{GateReport, GateRuns};
use crate::id::{Node, RunId};
use crate::item::{
    CommitIntent, Evidence, ItemPeople, ItemPlan, ItemProof, ItemRow, ItemState, ItemTries,
    ItemWork, Rejection, Stage, WORK_COMMITS_MAX, millis_between,
};
use crate::iteration_hook::{record_hook_end, record_hook_start};
use crate::journal::EventStamp;
use crate::lane::{Landing, LaneConversation, LaneHold, LanesRow, TargetRow, UnitRow};
use crate::memory::{AGAIN_KEPT, Memory, MemoryKind, MemoryRow, Retirement};
use crate::merge::{MergeReturn, MergeRow, MergeState};
use crate::name::{NameRow, NamedRow, Space};
use crate::native_file::NativeFileRow;
use crate::notification::{
    EndedInvocation, LastNotification, NotificationStage, NotificationSubject,
};

use crate::plan::{Order, PlannedItem};
use crate::pull_request::{PullRequestNews, PullRequestRow};
use crate::request::Deferral;
use crate::review::ReviewVerdict;
use crate::row::{Key, Row};
use crate::run::{
    Pause, PendingRequest, RunBranches, RunHolder, RunInvocation, RunPlan, RunRow, RunSpending,
    RunState, RunnerRequest,
};
use crate::trouble::Trouble;

/// The rows that `event` changes, each once.
#[must_use]
pub fn changed_keys(event: &Event, stamp: &EventStamp) -> Vec<Key> {
    let item = |run: &RunId, node: &Node| Key::Item(*run, node.clone());
    match event {
        Event::Run(RunEvent::Planned(planned)) => vec![Key::Run(planned.run)],
        Event::Item(ItemEvent::Planned(planned)) => vec![
            item(&planned.run, &planned.item.node),
            parent_key(planned.run, &planned.item.node),
        ],
        Event::Run(
            RunEvent::LeaseTaken { run, .. }
            | RunEvent::LeaseLost { run, .. }
            | RunEvent::LeaseReleased { run, .. }
            | RunEvent::Started { run, .. }
            | RunEvent::Targeted { run, .. }
            | RunEvent::LanesEntered { run, .. }
            | RunEvent::LandStarted { run, .. }
            | RunEvent::Landed { run, .. }
            | RunEvent::Moved { run, .. }
            | RunEvent::Asked { run, .. },
        ) => vec![Key::Run(*run)],
        Event::Attempt(AttemptEvent::Started {
            attempt,
            run,
            node,
            name,
            ..
        }) => {
            let mut keys = vec![Key::Attempt(*attempt), item(run, node), Key::Run(*run)];
            keys.extend(name.clone().map(|name| Key::Name(Space::Attempt, name)));
            keys
        }
        Event::Attempt(AttemptEvent::Reported(told)) => {
            let mut keys = vec![
                Key::Attempt(told.attempt),
                item(&told.run, &told.node),
                Key::Run(told.run),
            ];
            keys.extend(
                told.name
                    .clone()
                    .map(|name| Key::Name(Space::Attempt, name)),
            );
            keys
        }
        Event::Session(SessionEvent::EntryRevised {
            position,
            entry,
            blocked_before,
        }) => {
            let is_about_blocker = entry.kind == EntryType::TaskBlocked
                || (entry.kind == EntryType::TaskCompleted && blocked_before.is_some());
            let now =
                is_about_blocker.then(|| Key::Blocker(entry.spec.clone(), entry.task_id.clone()));
            let before = match blocked_before {
                Some(BlockedBefore::Task { spec, task_id }) => {
                    Some(Key::Blocker(spec.clone(), task_id.clone()))
                }
                Some(BlockedBefore::Nothing) | None => None,
            };
            let before = before.filter(|before| now.as_ref() != Some(before));
            std::iter::once(Key::Entry(*position))
                .chain(now)
                .chain(before)
                .collect()
        }
        Event::Attempt(AttemptEvent::Revised(told)) => vec![Key::Attempt(told.attempt)],
        Event::Memory(MemoryEvent::Added(memory) | MemoryEvent::Revised(memory)) => {
            memory_keys(memory)
        }
        Event::Memory(MemoryEvent::Retired { id, .. } | MemoryEvent::Confirmed { id, .. }) => {
            vec![Key::Memory(id.clone())]
        }
        Event::Memory(MemoryEvent::Used { ids, .. } | MemoryEvent::Judged { ids, .. }) => {
            ids.iter().cloned().map(Key::Memory).collect()
        }
        Event::Session(SessionEvent::BlockerResolved { spec, task_id, .. }) => {
            vec![Key::Blocker(spec.clone(), task_id.clone())]
        }
        Event::File(FileEvent::FaceTurned { path, .. }) => vec![Key::Face(path.clone())],
        // No rule asks about it: it is read from the journal where it is shown.
        Event::Session(SessionEvent::CallNoted(_)) => Vec::new(),
        Event::Notification(NotificationEvent::Started { subject, .. }) => {
            vec![notified_row_key(subject)]
        }
        // And the run keeps how the last one ended.
        Event::Notification(NotificationEvent::Ended { subject, .. }) => match subject {
            NotificationSubject::Decision { run, .. } => {
                vec![notified_row_key(subject), Key::Run(*run)]
            }
            NotificationSubject::Invocation { .. } => vec![notified_row_key(subject)],
        },
        Event::Attempt(AttemptEvent::Ended {
            attempt, run, node, ..
        }) => vec![Key::Attempt(*attempt), item(run, node), Key::Run(*run)],
        Event::Attempt(AttemptEvent::Answered { attempt, .. }) => vec![Key::Attempt(*attempt)],
        Event::Attempt(AttemptEvent::Judged {
            attempt, run, node, ..
        }) => vec![Key::Attempt(*attempt), item(run, node)],
        Event::Item(
            ItemEvent::GateStarted { run, node, .. }
            | ItemEvent::Reviewed { run, node, .. }
            | ItemEvent::GateEnded { run, node, .. }
            | ItemEvent::CommitStarted { run, node, .. }
            | ItemEvent::CommitEnded { run, node, .. }
            | ItemEvent::Staged { run, node, .. }
            | ItemEvent::Claimed { run, node, .. }
            | ItemEvent::SkipAsked { run, node },
        ) => vec![item(run, node)],
        Event::Unit(
            UnitEvent::LaneTaken { run, node, .. }
            | UnitEvent::LaneLeft { run, node, .. }
            | UnitEvent::MergeQueued { run, node, .. }
            | UnitEvent::MergeStarted { run, node, .. }
            | UnitEvent::MergePassed { run, node }
            | UnitEvent::MergeReturned { run, node, .. }
            | UnitEvent::PullRequestAsked { run, node, .. }
            | UnitEvent::PullRequestTaken { run, node, .. }
            | UnitEvent::PullRequestOpened { run, node, .. }
            | UnitEvent::PullRequestSeen { run, node, .. }
            | UnitEvent::MergeEnded { run, node, .. },
        ) => vec![item(run, node), Key::Run(*run)],
        Event::Item(ItemEvent::Moved(moved)) => keys_of_item_move(moved),
        Event::Item(ItemEvent::Changed(changed)) => vec![item(&changed.run, &changed.node)],
        Event::Item(ItemEvent::Placed(placed)) => {
            let nodes = placed.places.keys();
            nodes.map(|node| item(&placed.run, node)).collect()
        }
        Event::Run(RunEvent::Changed(changed)) => vec![Key::Run(changed.run)],
        Event::Decision(DecisionEvent::Opened {
            decision, memory, ..
        }) => {
            let memory = memory.iter().cloned().map(Key::Memory);
            std::iter::once(Key::Decision(*decision))
                .chain(memory)
                .collect()
        }
        Event::Decision(
            DecisionEvent::Made { decision, .. }
            | DecisionEvent::Revised { decision, .. }
            | DecisionEvent::Deferred { decision, .. },
        ) => vec![Key::Decision(*decision)],
        Event::Session(SessionEvent::EntryLogged(entry)) => {
            let mut keys = vec![Key::Entry(stamp.position)];
            keys.extend(entry.name.clone().map(|name| Key::Name(Space::Entry, name)));
            keys.extend(entry.mark.clone().map(|mark| Key::Name(Space::Mark, mark)));
            if matches!(
                entry.kind,
                EntryType::TaskBlocked | EntryType::TaskCompleted
            ) {
                keys.push(Key::Blocker(entry.spec.clone(), entry.task_id.clone()));
            }
            keys
        }
    }
}

/// The row that knows how far a notification came.
fn notified_row_key(subject: &NotificationSubject) -> Key {
    match subject {
        NotificationSubject::Decision { id, .. } => Key::Decision(*id),
        NotificationSubject::Invocation { run, .. } => Key::Run(*run),
    }
}

/// The row that counts this node among its children: its parent, or the run.
fn parent_key(run: RunId, node: &Node) -> Key {
    node.parent()
        .map_or(Key::Run(run), |parent| Key::Item(run, parent))
}

fn memory_keys(memory: &Memory) -> Vec<Key> {
    let mut keys: Vec<Key> = memory.id.iter().cloned().map(Key::Memory).collect();
    if memory.kind == MemoryKind::Guardrail {
        let title = memory.title.clone();
        keys.extend(title.map(|title| Key::Name(Space::Sign, title)));
    }
    let external = memory.external_id.clone();
    keys.extend(external.map(|id| Key::Name(Space::External, id)));
    keys
}

fn keys_of_item_move(moved: &ItemMoved) -> Vec<Key> {
    let mut keys = vec![Key::Item(moved.run, moved.node.clone())];
    let counted = moved.from.is_finished() != moved.to.is_finished();
    if counted {
        keys.push(parent_key(moved.run, &moved.node));
    }
    if moved.task && (!counted || moved.node.parent().is_some()) {
        keys.push(Key::Run(moved.run));
    }
    keys
}

/// What `event` makes of the row of `key`; none takes the row out.
///
/// An event about a row that is not there changes nothing.
#[must_use]
pub fn apply_event(
    key: &Key,
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<Row> {
    match key {
        Key::Run(_) => run_row(before, event, stamp).map(|row| Row::Run(Box::new(row))),
        Key::Item(_, node) => {
            item_row(node, before, event, stamp).map(|row| Row::Item(Box::new(row)))
        }
        Key::Attempt(_) => attempt_row(before, event, stamp).map(|row| Row::Attempt(Box::new(row))),
        Key::Decision(_) => {
            decision_row(before, event, stamp).map(|row| Row::Decision(Box::new(row)))
        }
        Key::Entry(_) => entry_row(before, event, stamp).map(|row| Row::Entry(Box::new(row))),
        Key::Blocker(spec, task_id) => {
            let row = if matches!(event, Event::Session(SessionEvent::EntryRevised { .. })) {
                revise_blocker_row(spec.as_deref(), task_id.as_deref(), before, event, stamp)
            } else {
                blocker_row(before, event, stamp)
            };
            row.map(|row| Row::Blocker(Box::new(row)))
        }
        Key::Memory(_) => memory_row(before, event, stamp).map(|row| Row::Memory(Box::new(row))),
        Key::Name(space, name) => {
            name_row(before, *space, name, event, stamp).map(|row| Row::Name(Box::new(row)))
        }
        Key::Face(_) => native_file_row(event, stamp).map(|row| Row::Face(Box::new(row))),
    }
}

fn run_row(before: Option<Row>, event: &Event, stamp: &EventStamp) -> Option<RunRow> {
    if let Event::Run(RunEvent::Planned(planned)) = event {
        return Some(row_of_planned_run(planned, stamp));
    }
    let Some(Row::Run(row)) = before else {
        return None;
    };
    let mut row = *row;
    match event {
        Event::Item(ItemEvent::Planned(planned)) => {
            row.open_roots += u32::from(!planned.item.state.is_finished())
        }
        Event::Run(RunEvent::LeaseTaken {
            owner,
            token,
            joins,
            ..
        }) => {
            let before = row.joined.iter().position(|joined| joined.token == *token);
            let before = before.map(|nth| row.joined.remove(nth));
            let holder = RunHolder {
                owner: owner.clone(),
                token: *token,
                since: stamp.time,
                lock_name: joins.clone().or(before.and_then(|before| before.lock_name)),
            };
            match joins {
                Some(_) => row.joined.push(holder),
                None => row.holder = Some(holder),
            }
            row.fence = row.fence.max(*token);
        }
        Event::Run(RunEvent::LeaseLost { token, .. } | RunEvent::LeaseReleased { token, .. }) => {
            row.holder.take_if(|holder| holder.token == *token);
            row.joined.retain(|joined| joined.token != *token);
            end_invocation(&mut row, stamp);
        }
        Event::Run(RunEvent::Started {
            limits,
            claims,
            flags,
            notify,
            ..
        }) => {
            if *notify || row.notifications.is_some() {
                row.notifications.get_or_insert_default().end_wanted = *notify;
            }
            enter_state(&mut row, RunState::Running, stamp);
            row.invocation.invocations += 1;
            row.invocation.invoked_at = Some(stamp.time);
            row.invocation.limits = limits.clone();
            row.invocation.claims = claims.clone();
            row.invocation.flags = (**flags).clone();
            row.invocation.iterations = 0;
            row.invocation.tasks = 0;
            row.started_at.get_or_insert(stamp.time);
        }
        Event::Run(RunEvent::Targeted {
            repository,
            branch,
            base,
            onto,
            path,
            was_there,
            ..
        }) => {
            let known = row.target_in_repository(repository.as_deref());
            let target = TargetRow {
                branch: branch.clone(),
                base: base.clone(),
                tip: base.clone(),
                onto: onto.clone(),
                path: path.clone(),
                was_there: *was_there,
                merged: known.map_or(0, |known| known.merged),
            };
            match repository {
                Some(name) => {
                    // From here on merges are counted for each repository.
                    let merges = row.last_merge_in_repository(None);
                    if let Some(own) = row.branches.target.as_deref_mut() {
                        own.merged = merges;
                    }
                    row.branches.targets.insert(name.clone(), target);
                }
                None => row.branches.target = Some(Box::new(target)),
            }
        }
        Event::Run(RunEvent::LanesEntered { terms, .. }) => {
            let lanes = row.branches.lanes.get_or_insert_default();
            lanes.terms.clone_from(terms);
        }
        Event::Run(RunEvent::LandStarted {
            commit, onto, at, ..
        }) => {
            row.branches.landing = Some(new_landing(commit, onto, at.as_deref()));
        }
        Event::Run(RunEvent::Landed {
            commit, onto, at, ..
        }) => {
            row.branches.landing = None;
            row.branches.landed = Some(new_landing(commit, onto, at.as_deref()));
        }
        Event::Unit(_) => apply_to_lanes(&mut row, event),
        Event::Run(RunEvent::Moved {
            to,
            pause,
            at,
            reason,
            ..
        }) => {
            enter_state(&mut row, run_state_after_move(*to, pause.as_ref()), stamp);
            row.pause = pause.clone();
            row.at = at.clone();
            row.reason = reason.clone();
            row.completed_at = (*to == RunState::Done).then_some(stamp.time);
        }
        Event::Notification(_) => {
            apply_run_notification(&mut row, event, stamp);
        }
        Event::Run(RunEvent::Asked { request, by, .. }) => {
            let asked = PendingRequest {
                request: *request,
                by: by.clone(),
            };
            row.invocation.asked = (*request != RunnerRequest::GoOn).then_some(asked);
        }
        // A hook belongs to the iteration that it follows.
        Event::Attempt(AttemptEvent::Started { hook: Some(_), .. }) => {}
        Event::Attempt(AttemptEvent::Started { .. }) => {
            row.invocation.iterations += 1;
            row.invocation.iterations_total += 1;
        }
        Event::Item(ItemEvent::Moved(moved)) => {
            row.invocation.tasks += u32::from(moved.task);
            if moved.node.parent().is_none() {
                count_open_children(&mut row.open_roots, moved);
            }
        }
        Event::Run(RunEvent::Changed(changed)) => changed.apply_to_run(&mut row),
        Event::Attempt(AttemptEvent::Ended { node, report, .. }) => {
            add_spend(&mut row, report);
            row.spent.has_counted |= !report.cannot_start && report.outcome != Outcome::Interrupted;
            let is_refused = report.trouble == Some(Trouble::HookRefused);
            row.spent.hook_refused = is_refused.then(|| node.clone());
            // A wait for a service is no iteration.
            if report.is_rate_limited() {
                row.invocation.iterations = row.invocation.iterations.saturating_sub(1);
            }
        }
        Event::Attempt(AttemptEvent::Reported(told)) => add_spend(&mut row, &told.report),
        Event::Run(RunEvent::Planned(_))
        | Event::Attempt(
            AttemptEvent::Answered { .. } | AttemptEvent::Judged { .. } | AttemptEvent::Revised(_),
        )
        | Event::Item(
            ItemEvent::Claimed { .. }
            | ItemEvent::Reviewed { .. }
            | ItemEvent::GateStarted { .. }
            | ItemEvent::GateEnded { .. }
            | ItemEvent::CommitStarted { .. }
            | ItemEvent::CommitEnded { .. }
            | ItemEvent::Staged { .. }
            | ItemEvent::SkipAsked { .. }
            | ItemEvent::Changed(_)
            | ItemEvent::Placed(_),
        )
        | Event::Decision(_)
        | Event::Session(_)
        | Event::Memory(_)
        | Event::File(_) => {}
    }
    Some(row)
}

/// What an event about a unit changes in what its run knows of all of them.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "called for the events of lanes and merges alone"
)]
fn apply_to_lanes(row: &mut RunRow, event: &Event) {
    let Some(lanes) = &mut row.branches.lanes else {
        return;
    };
    let leave = |lanes: &mut LanesRow, node: &Node| lanes.held.retain(|_, held| held != node);
    match event {
        Event::Unit(UnitEvent::LaneTaken {
            node,
            lane,
            scope,
            repository,
            ..
        }) => {
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
        Event::Unit(UnitEvent::LaneLeft { node, .. }) => leave(lanes, node),
        Event::Unit(UnitEvent::MergeQueued { node, review, .. }) => {
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
        Event::Unit(UnitEvent::MergeStarted { node, .. }) => lanes.merging = Some(node.clone()),
        Event::Unit(
            UnitEvent::PullRequestOpened { node, .. }
            | UnitEvent::PullRequestSeen {
                node,
                news: PullRequestNews::Trouble { .. },
                ..
            },
        ) => {
            lanes.queue.retain(|queued| queued != node);
            lanes
                .requested
                .insert(node.clone(), row.invocation.invocations);
        }
        Event::Unit(UnitEvent::MergeReturned { node, .. }) => {
            free_slot(lanes, node);
            lanes.in_review.remove(node);
            lanes.requested.remove(node);
            lanes.queue.retain(|queued| queued != node);
        }
        Event::Unit(UnitEvent::MergeEnded {
            node,
            made,
            number,
            at,
            repository,
            ..
        }) => {
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
        _ => {}
    }
}

fn free_slot(lanes: &mut LanesRow, node: &Node) {
    if lanes.merging.as_ref() == Some(node) {
        lanes.merging = None;
    }
}

/// What an event changes in what is known of an item as a unit.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "called for the events of lanes and merges alone"
)]
fn apply_to_unit(row: &mut ItemRow, event: &Event, stamp: &EventStamp) {
    let unit = row.work.unit.get_or_insert_default();
    match event {
        Event::Unit(UnitEvent::LaneTaken {
            fence,
            by,
            lane,
            from,
            saved,
            attempts,
            since,
            repository,
            ..
        }) => {
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
        Event::Unit(UnitEvent::LaneLeft { saved, .. }) => {
            unit.lane = None;
            if saved.is_some() {
                unit.work.clone_from(saved);
                unit.is_unchanged = false;
            }
        }
        Event::Unit(UnitEvent::MergeQueued {
            work,
            evidence,
            review,
            ..
        }) => {
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
        Event::Unit(UnitEvent::MergeStarted { fence, made, .. }) => {
            row.fence = *fence;
            if let Some(merge) = &mut unit.merge {
                merge.state = MergeState::Checking;
                merge.made = Some(made.clone());
                merge.outdated = false;
            }
        }
        Event::Unit(UnitEvent::MergePassed { .. }) => {
            if let Some(merge) = &mut unit.merge {
                merge.state = MergeState::Passed;
            }
        }
        Event::Unit(UnitEvent::PullRequestAsked {
            head, branch, base, ..
        }) => start_pull_request(unit, head, branch, base),
        Event::Unit(UnitEvent::PullRequestTaken {
            number,
            url,
            head,
            branch,
            base,
            repository,
            ..
        }) => {
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
        Event::Unit(UnitEvent::PullRequestOpened { number, url, .. }) => {
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
        Event::Unit(UnitEvent::PullRequestSeen { news, .. }) => apply_news(unit, news),
        Event::Unit(UnitEvent::MergeReturned { why, .. }) => {
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
        Event::Unit(UnitEvent::MergeEnded {
            made, number, at, ..
        }) => {
            unit.merge = None;
            if made.is_some() {
                unit.merged = *number;
            }
            // What is on the target is no place to begin again at.
            if made.is_some() || at.is_some() {
                unit.work = None;
            }
        }
        _ => {}
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

fn add_spend(row: &mut RunRow, report: &Report) {
    row.spent.spend = row.spent.spend.plus(&report.counted_spend());
    for (model, spend) in report.spend_by_model() {
        let sum = row.spent.spend_by_model.entry(model.clone()).or_default();
        *sum = sum.plus(&spend);
    }
}

/// The state of a run that an event moved: what an older version took for a
/// pause waits for a person at a breakpoint.
fn run_state_after_move(to: RunState, pause: Option<&Pause>) -> RunState {
    match (to, pause) {
        (RunState::Paused, Some(Pause::Breakpoint { .. })) => RunState::Waiting,
        (to, _) => to,
    }
}

fn new_landing(commit: &str, onto: &str, at: Option<&str>) -> Box<Landing> {
    Box::new(Landing {
        commit: commit.to_owned(),
        onto: onto.to_owned(),
        at: at.map(str::to_owned),
    })
}

fn enter_state(row: &mut RunRow, to: RunState, stamp: &EventStamp) {
    row.state = to;
    row.since = stamp.time;
    row.pause = None;
    row.at = None;
    row.reason = None;
    row.invocation.asked = None;
}

/// Keeps a count of unfinished children true.
fn count_open_children(open: &mut u32, moved: &ItemMoved) {
    match (moved.from.is_finished(), moved.to.is_finished()) {
        (false, true) => *open = open.saturating_sub(1),
        (true, false) => *open += 1,
        (true, true) | (false, false) => {}
    }
}

/// Notes that the present invocation is over, where its last runner is gone and a
/// person wants to know.
fn end_invocation(row: &mut RunRow, stamp: &EventStamp) {
    let is_left = row.runners().next().is_none();
    let ended = EndedInvocation::from_run(row, stamp.time);
    if let Some(known) = &mut row.notifications
        && known.end_wanted
        && is_left
    {
        known.end_wanted = false;
        known.ended.push(ended);
    }
}

/// How far the notification of an end came, and how the last one of the run ended.
fn apply_run_notification(row: &mut RunRow, event: &Event, stamp: &EventStamp) {
    let run = row.id;
    let about = |subject: &NotificationSubject, end: &EndedInvocation| {
        let number = end.number;
        *subject == NotificationSubject::Invocation { run, number }
    };
    let known = row.notifications.get_or_insert_default();
    if let Event::Notification(NotificationEvent::Started { subject, .. }) = event {
        for end in &mut known.ended {
            end.is_started |= about(subject, end);
        }
    }
    if let Event::Notification(NotificationEvent::Ended { subject, error }) = event {
        known.ended.retain(|end| !about(subject, end));
        known.last = Some(LastNotification {
            at: stamp.time,
            error: error.clone(),
        });
    }
}

fn row_of_planned_run(planned: &RunPlanned, stamp: &EventStamp) -> RunRow {
    let past = planned.past.clone().unwrap_or_default();
    let state = if past.done {
        RunState::Done
    } else if past.stuck.is_some() {
        if past.waits {
            RunState::Waiting
        } else {
            RunState::Blocked
        }
    } else if past.pause.is_some() {
        run_state_after_move(RunState::Paused, past.pause.as_ref())
    } else if past.started_at.is_some() {
        RunState::Interrupted
    } else {
        RunState::New
    };
    let stuck = matches!(state, RunState::Blocked | RunState::Waiting);
    let is_held_up = past.done || past.stuck.is_some();
    let at = past.stuck.filter(|_| stuck);
    RunRow {
        id: planned.run,
        name: planned.name.clone(),
        state,
        pause: past.pause.filter(|_| !is_held_up),
        at,
        reason: None,
        since: stamp.time,
        created_at: stamp.time,
        started_at: past.started_at,
        completed_at: past.completed_at,
        holder: None,
        joined: Vec::new(),
        fence: 0,
        open_roots: 0,
        notifications: None,
        plan: RunPlan {
            face: planned.face.clone(),
            source: planned.source.clone(),
            policy: planned.policy.clone(),
            order: planned
                .order
                .unwrap_or_else(|| Order::from_format(&planned.face)),
            is_settled: planned.order.is_some(),
            native: planned.native.clone(),
        },
        invocation: RunInvocation {
            limits: planned.policy.limits.clone(),
            iterations_total: past.iterations,
            ..RunInvocation::default()
        },
        spent: RunSpending::default(),
        branches: RunBranches::default(),
    }
}

fn item_row(
    node: &Node,
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<ItemRow> {
    if let Event::Item(ItemEvent::Planned(planned)) = event
        && planned.item.node == *node
    {
        return Some(row_of_planned_item(planned, stamp));
    }
    let Some(Row::Item(row)) = before else {
        return None;
    };
    let mut row = *row;
    match event {
        Event::Item(ItemEvent::Planned(child)) => {
            row.children += 1;
            row.open_children += u32::from(!child.item.state.is_finished());
        }
        // What its work came to stays as it is.
        Event::Attempt(AttemptEvent::Started {
            attempt,
            fence,
            iteration,
            hook: Some(id),
            tree,
            ..
        }) => {
            // What it changes may be work on what it claims.
            row.work.started_on.clone_from(tree);
            row.fence = *fence;
            row.attempts += 1;
            row.attempt = Some(*attempt);
            row.work.at_work_since = Some(stamp.time);
            record_hook_start(&mut row.work.hook_runs, id, *iteration, stamp.time);
        }
        Event::Attempt(AttemptEvent::Ended { report, .. })
            if row.stage == Stage::IterationHooks =>
        {
            withdraw_approval(&mut row);
            row.attempt = None;
            row.work.started_on = None;
            end_work(&mut row, stamp, report.duration_s);
            record_commits(&mut row, report.commits.iter().flatten());
            row.tries.denied = row.tries.denied.saturating_add(report.activity.denied);
            row.work.spend = row.work.spend.plus(&report.counted_spend());
            record_hook_end(&mut row.work.hook_runs, report, stamp.time);
        }
        // A reviewer looks, and leaves all that is known of the work as it is, beside the
        // tree that it saw last: that is what it approves.
        Event::Attempt(AttemptEvent::Started {
            attempt,
            fence,
            role: Role::Reviewer,
            tree,
            ..
        }) => {
            row.fence = *fence;
            row.attempts += 1;
            row.attempt = Some(*attempt);
            row.work.at_work_since = Some(stamp.time);
            row.work.started_on.clone_from(tree);
        }
        Event::Attempt(AttemptEvent::Ended { report, .. }) if row.stage == Stage::Review => {
            row.attempt = None;
            row.work.started_on = None;
            if let Some(change) = &mut row.work.change {
                change.record_reviewed_tree(report.tree_after.as_ref());
            }
            end_work(&mut row, stamp, report.duration_s);
            count_interruptions(&mut row, report);
            record_commits(&mut row, report.commits.iter().flatten());
            row.tries.denied = row.tries.denied.saturating_add(report.activity.denied);
            row.work.spend = row.work.spend.plus(&report.counted_spend());
        }
        Event::Attempt(AttemptEvent::Started {
            attempt,
            memories,
            tree,
            baseline,
            fence,
            ..
        }) => {
            row.fence = *fence;
            row.attempts += 1;
            row.attempt = Some(*attempt);
            row.work.at_work_since = Some(stamp.time);
            row.tries.carried.clone_from(memories);
            row.work.started_on.clone_from(tree);
            if let Some(baseline) = baseline {
                set_baseline(&mut row, baseline.clone());
            }
        }
        Event::Attempt(AttemptEvent::Reported(told)) => {
            row.attempts = row.attempts.max(told.number.unwrap_or(row.attempts + 1));
            row.work.spend = row.work.spend.plus(&told.report.counted_spend());
            let took_ms = told.report.duration_s.unwrap_or(0).saturating_mul(1_000);
            row.work.work_ms = row.work.work_ms.saturating_add(took_ms);
        }
        Event::Attempt(AttemptEvent::Ended {
            attempt,
            report,
            unchecked,
            ..
        }) => {
            row.attempt = None;
            end_work(&mut row, stamp, report.duration_s);
            row.proof.unchecked = unchecked.then_some(*attempt);
            count_interruptions(&mut row, report);
            withdraw_approval(&mut row);
            // Who was not started has said nothing of what was begun before.
            let is_own = matches!(row.stage, Stage::Work | Stage::Verdict | Stage::Baseline);
            if is_own && !report.cannot_start {
                let whole = report.outcome == Outcome::Completed || *unchecked;
                let own = report.conversation.as_ref().filter(|_| whole);
                let own = own.filter(|own| Conversation::is_valid_id(&own.id));
                row.work.worked_in = own.cloned().map(Box::new);
                row.tries.ongoing = resumable_conversation(report)
                    .or_else(|| conversation_to_approve(&row, report));
                // An agent that was interrupted as it came to an end is asked again.
                if report.outcome != Outcome::Interrupted {
                    let is_stuck = report.trouble == Some(Trouble::Stuck);
                    row.tries.made_no_progress = report.can_be_asked && is_stuck;
                }
            }
            record_conversation(&mut row, report, *unchecked);
            record_commits(&mut row, report.commits.iter().flatten());
            row.tries.denied = row.tries.denied.saturating_add(report.activity.denied);
            row.work.spend = row.work.spend.plus(&report.counted_spend());
            let started_on = row.work.started_on.take();
            // What was not started changed nothing that counts.
            if !report.cannot_start || report.tree_after.is_some() {
                let before = row.work.change.take();
                let change =
                    TreeChange::extend_with_attempt(before.as_deref(), report, started_on.as_ref());
                row.work.change = Some(Box::new(change));
            }
            if let Some(proof) = &report.proof {
                let before = row.proof.changes.take().unwrap_or_default();
                row.proof.changes = Some(Box::new(before.merge((**proof).clone())));
            }
            // What a fixing agent says is about the gate, not about the item.
            let is_about_item = matches!(row.stage, Stage::Work | Stage::Verdict);
            let proceeds = report.outcome == Outcome::Completed || *unchecked;
            if proceeds && is_about_item {
                // What was followed was for this attempt, and it got there.
                row.tries.recovery = None;
                if report.summary.is_some() {
                    row.summary.clone_from(&report.summary);
                }
            }
        }
        Event::Item(ItemEvent::GateStarted {
            number,
            before,
            fence,
            ..
        }) => {
            row.fence = *fence;
            if let Some(before) = before {
                set_baseline(&mut row, before.clone());
            }
            row.work.at_work_since = Some(stamp.time);
            let runs = row.proof.gate_runs.get_or_insert_default();
            runs.runs = *number;
            runs.open = true;
            runs.passed = false;
        }
        Event::Item(ItemEvent::GateEnded {
            report, evidence, ..
        }) if row.stage == Stage::Baseline => {
            end_work(&mut row, stamp, report.interrupted.then_some(report.took_s));
            row.proof.gate_runs = None;
            row.proof.evidence.extend(evidence.iter().cloned());
            if !report.interrupted {
                let baseline = BaselineResult {
                    passed: report.passed,
                    tree: report.tree.clone(),
                    took_s: report.took_s,
                    reused: false,
                    exit: report.exit,
                };
                set_baseline(&mut row, baseline);
            }
        }
        Event::Item(ItemEvent::GateEnded {
            report, evidence, ..
        }) => {
            end_work(&mut row, stamp, report.interrupted.then_some(report.took_s));
            end_gate_run(row.proof.gate_runs.get_or_insert_default(), report);
            // Another command says nothing of the item's own check.
            row.proof.seen_to_fail |=
                !report.passed && !report.interrupted && row.proof.claim_gate.is_none();
            row.proof.evidence.extend(evidence.iter().cloned());
        }
        Event::Item(ItemEvent::Reviewed {
            by, verdict, why, ..
        }) => record_review(&mut row, by, *verdict, why.as_deref()),
        Event::Attempt(AttemptEvent::Judged { .. }) => row.proof.unchecked = None,
        Event::Item(ItemEvent::Claimed { by, .. }) => row.proof.claimed.clone_from(by),
        Event::Item(ItemEvent::CommitStarted { head, fence, .. }) => {
            row.fence = *fence;
            row.work.committing = Some(CommitIntent { head: head.clone() });
        }
        Event::Item(ItemEvent::CommitEnded { commit, error, .. }) => {
            row.work.committing = None;
            record_commits(&mut row, commit);
            // What was refused is saved when its lane is left.
            if row.lane().is_some() && error.is_none() {
                let unit = row.work.unit.get_or_insert_default();
                let head = unit.lane.as_ref().map(|lane| lane.from.clone());
                let had_nothing = unit.work.is_none() || unit.is_unchanged;
                unit.is_unchanged = commit.is_none() && had_nothing;
                unit.work = commit.clone().or(head);
            }
            if let Some(commit) = commit {
                row.proof.evidence.push(Evidence::Committed {
                    commit: commit.clone(),
                });
            }
        }
        Event::Unit(_) => apply_to_unit(&mut row, event, stamp),
        Event::Item(ItemEvent::Staged { stage, gate, .. }) => {
            row.stage = *stage;
            if *stage == Stage::IterationHooks {
                row.work.hook_runs.clear();
            }
            if let Some(gate) = gate {
                row.proof.claim_gate = Some(gate.clone());
                row.proof.gate_runs = None;
            }
            if matches!(stage, Stage::Work | Stage::Resolve) {
                row.proof.gate_runs = None;
                row.proof.claim_gate = None;
            }
        }
        Event::Item(ItemEvent::SkipAsked { .. }) => row.people.skip_asked = true,
        Event::Item(ItemEvent::Moved(moved)) if moved.node == *node => {
            apply_item_move(&mut row, moved, stamp)
        }
        Event::Item(ItemEvent::Moved(child)) => count_open_children(&mut row.open_children, child),
        Event::Item(ItemEvent::Changed(changed)) => changed.change.apply_to_item(&mut row),
        Event::Item(ItemEvent::Placed(placed)) => {
            if let Some(place) = placed.places.get(node) {
                row.plan.place.clone_from(place);
            }
        }
        Event::Run(_)
        | Event::Decision(_)
        | Event::Session(_)
        | Event::Attempt(AttemptEvent::Answered { .. } | AttemptEvent::Revised(_))
        | Event::Memory(_)
        | Event::Notification(_)
        | Event::File(_) => {}
    }
    Some(row)
}

/// Adds the work that ends with this event: what was measured, else the time since
/// it began.
fn end_work(row: &mut ItemRow, stamp: &EventStamp, measured_s: Option<u64>) {
    let since = row.work.at_work_since.take();
    let between = since.map_or(0, |since| millis_between(since, stamp.time));
    let took_ms = measured_s.map_or(between, |took| took.saturating_mul(1_000));
    row.work.work_ms = row.work.work_ms.saturating_add(took_ms);
}

/// The conversation in which an attempt that was interrupted goes on.
fn record_commits<'c>(row: &mut ItemRow, made: impl IntoIterator<Item = &'c String>) {
    for commit in made {
        row.work.commits.retain(|known| known != commit);
        row.work.commits.push(commit.clone());
    }
    let more = row.work.commits.len().saturating_sub(WORK_COMMITS_MAX);
    row.work.commits.drain(..more);
}

fn resumable_conversation(report: &Report) -> Option<Box<Conversation>> {
    let was_interrupted =
        report.outcome == Outcome::Interrupted && report.trouble != Some(Trouble::Session);
    let goes_on = was_interrupted || report.can_be_asked;
    let conversation = report.conversation.clone().filter(|_| goes_on)?;
    if !Conversation::is_valid_id(&conversation.id) {
        return None;
    }
    Some(Box::new(conversation))
}

/// The conversation of an attempt whose work a person may want otherwise.
fn conversation_to_approve(row: &ItemRow, report: &Report) -> Option<Box<Conversation>> {
    let is_whole = row.plan.approval && report.outcome == Outcome::Completed;
    let own = report.conversation.as_ref().filter(|_| is_whole)?;
    Conversation::is_valid_id(&own.id).then(|| Box::new(own.clone()))
}

/// Notes the conversation in which the work on a unit can go on, where that is not
/// accepted.
fn record_conversation(row: &mut ItemRow, report: &Report, unchecked: bool) {
    let is_about_work = matches!(row.stage, Stage::Work | Stage::Verdict | Stage::Resolve);
    let Some(lane) = row.lane().map(|lane| lane.lane).filter(|_| is_about_work) else {
        return;
    };
    let ended_well = report.outcome == Outcome::Completed || unchecked;
    let own = report.conversation.as_ref().filter(|_| ended_well);
    let own = own
        .filter(|own| Conversation::is_valid_id(&own.id))
        .cloned();
    let conversation = own.or_else(|| resumable_conversation(report).map(|ongoing| *ongoing));
    let unit = row.work.unit.get_or_insert_default();
    unit.conversation =
        conversation.map(|conversation| Box::new(LaneConversation { lane, conversation }));
}

/// What an attempt came to whose outcome waited for its check.
fn judged_report(report: Report, outcome: Outcome, error: Option<&str>) -> Report {
    let is_failure = outcome != Outcome::Completed;
    // A check that passed says what the agent did not.
    let trouble = report
        .trouble
        .filter(|_| is_failure || !report.is_missing_verdict());
    Report {
        outcome,
        error: error.map(str::to_owned),
        category: is_failure.then_some(FailureCategory::Validation),
        trouble,
        ..report
    }
}

/// How often in a row an attempt was put off, or broke off.
fn count_interruptions(row: &mut ItemRow, report: &Report) {
    row.tries.put_off = if report.is_rate_limited() {
        row.tries.put_off + 1
    } else {
        0
    };
    row.tries.broken_off = match report.was_cut_off() {
        true => row.tries.broken_off + 1,
        // An agent that was asked to stop says nothing about breaking off.
        false if report.outcome == Outcome::Interrupted => row.tries.broken_off,
        false => 0,
    };
}

/// An agent has worked at an item: who approved it before has not seen that.
fn withdraw_approval(row: &mut ItemRow) {
    if let Some(review) = &mut row.proof.review {
        review.approved_by = None;
    }
}

fn record_review(row: &mut ItemRow, by: &str, verdict: Option<ReviewVerdict>, why: Option<&str>) {
    let review = row.proof.review.get_or_insert_default();
    review.approved_by = None;
    review.fault = None;
    match verdict {
        Some(ReviewVerdict::Approve) => {
            review.approved_by = Some(by.to_owned());
            review.without_verdict = 0;
            row.people.rejected = None;
            row.tries.ongoing = None;
        }
        Some(ReviewVerdict::RequestChanges) => {
            review.rounds += 1;
            review.changes_wanted += 1;
            review.without_verdict = 0;
            row.people.rejected = Some(Box::new(Rejection {
                by: by.to_owned(),
                why: why.unwrap_or("it gave no reason").to_owned(),
            }));
            row.tries.ongoing.clone_from(&row.work.worked_in);
            // What is to be otherwise has proved nothing.
            row.proof.evidence.clear();
        }
        None => {
            review.without_verdict += 1;
            review.fault = why.map(str::to_owned);
            row.tries.ongoing.clone_from(&row.work.worked_in);
        }
    }
}

fn set_baseline(row: &mut ItemRow, baseline: BaselineResult) {
    row.proof.seen_to_fail |= !baseline.passed;
    row.proof.baseline = Some(Box::new(baseline));
}

fn end_gate_run(runs: &mut GateRuns, report: &GateReport) {
    runs.open = false;
    runs.passed = report.passed;
    let is_outdated = std::mem::take(&mut runs.outdated);
    if report.interrupted {
        runs.runs = match is_outdated {
            // Another check begins anew.
            true => 0,
            false => runs.runs.saturating_sub(1),
        };
        return;
    }
    runs.output.clone_from(&report.output);
    runs.exit = report.exit;
    runs.error.clone_from(&report.error);
    runs.tree.clone_from(&report.tree);
    runs.took_s = report.took_s;
}

/// Whether what was followed holds on through a move that says nothing of it:
/// the item is put back and started again, and nothing was decided anew.
fn is_recovery_kept(moved: &ItemMoved) -> bool {
    use ItemState::{Pending, Ready, Working};
    moved.to == Working
        || (matches!(moved.from, Working | Pending | Ready) && matches!(moved.to, Ready | Pending))
}

fn apply_item_move(row: &mut ItemRow, moved: &ItemMoved, stamp: &EventStamp) {
    // An item that was given up and starts again counts from 0.
    if moved.from.is_broken() || moved.from.is_finished() {
        if let Some(merge) = row.work.unit.as_mut().and_then(|unit| unit.merge.as_mut()) {
            merge.returns = 0;
        }
        row.tries.broken_off = 0;
        row.tries.put_off = 0;
        row.tries.check_recoveries = 0;
    }
    let at_check = row.stage == Stage::Gate && moved.from == ItemState::Working;
    if at_check && moved.recovery.is_some() {
        row.tries.check_recoveries += 1;
    }
    // What the last prompt carried is judged once: when the work is over.
    let is_looked_at = matches!(row.stage, Stage::Merge | Stage::Review);
    let is_in_review = is_looked_at && moved.to == ItemState::Waiting;
    if moved.from == ItemState::Working && row.stage != Stage::Commit && !is_in_review {
        row.tries.carried.clear();
    }
    if moved.recovery.is_some() || !is_recovery_kept(moved) {
        row.tries.recovery.clone_from(&moved.recovery);
    }
    row.state = moved.to;
    if let Some(rejected) = &moved.rejected {
        row.people.rejected = Some(rejected.clone());
        row.people.rejections += 1;
    }
    if moved.to == ItemState::Done {
        row.people.rejected = None;
        row.tries.ongoing = None;
    }
    row.tries.until = moved.until;
    row.people.human.clone_from(&moved.human);
    row.work.waited = moved.waited.or(row.work.waited);
    row.people.skip_asked = false;
    if let Some(stage) = moved.stage {
        row.stage = stage;
    }
    if moved.stage == Some(Stage::Work) {
        row.proof.claim_gate = None;
    }
    row.work.done_on = stamp
        .checkout
        .clone()
        .filter(|_| moved.to == ItemState::Done)
        .map(Box::new);
    // What is done again has to change something again.
    if moved.from == ItemState::Done {
        row.work.commits.clear();
        row.work.change = None;
        row.proof.changes = None;
        row.proof.baseline = None;
        row.proof.seen_to_fail = false;
        row.proof.claimed = None;
    }
    if let Some(retries) = moved.retries {
        row.tries.retries = retries;
    }
    // A person has looked.
    if let Some(review) = row
        .proof
        .review
        .as_mut()
        .filter(|_| moved.retries == Some(0))
    {
        review.rounds = 0;
        review.without_verdict = 0;
        review.fault = None;
    }
    if moved.summary.is_some() {
        row.summary.clone_from(&moved.summary);
    }
    if moved.error.is_some() {
        row.error.clone_from(&moved.error);
    }
    if moved.answer.is_some() {
        row.people.answer.clone_from(&moved.answer);
    }
    match moved.to {
        ItemState::Working => {
            row.started_at.get_or_insert(stamp.time);
            row.completed_at = None;
            // What went wrong below a list is over when the list goes on.
            if !row.is_leaf() {
                row.error.clone_from(&moved.error);
            }
            // What begins anew, at its work or at its gate, has proved nothing yet.
            if matches!(moved.stage, Some(Stage::Work | Stage::Gate)) {
                row.proof.gate_runs = None;
                row.proof.evidence.clear();
            }
        }
        ItemState::Done => {
            row.completed_at = Some(stamp.time);
            row.error = None;
            row.people.answer = None;
            row.people.without_merge = false;
            row.proof.evidence.extend(moved.evidence.iter().cloned());
            // What another run committed is its work as well.
            let commits = moved.evidence.iter().filter_map(Evidence::commit_id);
            record_commits(row, commits);
        }
        ItemState::Skipped | ItemState::Dropped => row.completed_at = None,
        ItemState::Pending | ItemState::Ready => {
            row.completed_at = None;
            row.proof.gate_runs = None;
            row.proof.evidence.clear();
        }
        ItemState::Waiting | ItemState::Failed | ItemState::Blocked => {}
    }
}

fn row_of_planned_item(planned: &ItemPlanned, stamp: &EventStamp) -> ItemRow {
    let item = &planned.item;
    let past = &item.past;
    let is_done = item.state == ItemState::Done;
    ItemRow {
        run: planned.run,
        node: item.node.clone(),
        state: item.state,
        // A list whose own check failed is tried again at the check.
        stage: if item.state.is_broken() && item.gate.is_some() {
            Stage::Gate
        } else {
            Stage::Work
        },
        children: 0,
        open_children: 0,
        attempts: 0,
        started_at: past.started_at,
        completed_at: past.completed_at,
        summary: past.summary.clone(),
        error: past.error.clone(),
        fence: 0,
        attempt: None,
        plan: plan_of_item(item),
        tries: ItemTries {
            retries: past.retries.unwrap_or(0),
            ..ItemTries::default()
        },
        people: ItemPeople {
            human: past.human.clone(),
            ..ItemPeople::default()
        },
        work: ItemWork {
            done_on: stamp.checkout.clone().filter(|_| is_done).map(Box::new),
            unit: past
                .pull_request
                .map(|number| unit_in_pull_request(number, past.pull_request_name.clone())),
            ..ItemWork::default()
        },
        proof: ItemProof {
            evidence: is_done.then_some(Evidence::TakenOver).into_iter().collect(),
            ..ItemProof::default()
        },
    }
}

fn plan_of_item(item: &PlannedItem) -> ItemPlan {
    ItemPlan {
        id: item.id.clone(),
        place: item.place.clone(),
        prompt: item.prompt.clone(),
        model: item.model.clone(),
        gate: item.gate.clone(),
        breakpoint: item.breakpoint,
        approval: item.approval,
        depends_on: item.depends_on.clone(),
        native: item.native.clone(),
        claims: item.claims,
        turn: item.turn,
        scope: item.scope.clone(),
        repository: item.repository.clone(),
        wait: item.wait.clone().map(Box::new),
        piece_of: item.piece_of.clone(),
        injected: item.injected,
    }
}

/// A unit whose work others left in a pull request.
fn unit_in_pull_request(number: u64, named: Option<String>) -> Box<UnitRow> {
    let known = PullRequestRow {
        number: Some(number),
        named,
        ..PullRequestRow::default()
    };
    Box::new(UnitRow {
        pull_request: Some(Box::new(known)),
        ..UnitRow::default()
    })
}

fn attempt_row(before: Option<Row>, event: &Event, stamp: &EventStamp) -> Option<AttemptRow> {
    if let Event::Attempt(AttemptEvent::Started {
        attempt,
        run,
        node,
        fence: _,
        number,
        role,
        agent,
        model,
        iteration,
        name,
        memories,
        tree,
        baseline: _,
        hook: _,
    }) = event
    {
        return Some(AttemptRow {
            id: *attempt,
            run: *run,
            node: node.clone(),
            number: *number,
            role: *role,
            agent: agent.clone(),
            model: model.clone(),
            iteration: *iteration,
            started_at: stamp.time,
            ended_at: None,
            report: None,
            name: name.clone(),
            item: None,
            native: None,
            memories: memories.clone(),
            answer: None,
            tree: tree.clone(),
            unchecked: None,
            checkout: stamp.checkout.clone(),
        });
    }
    if let Event::Attempt(AttemptEvent::Reported(told)) = event {
        return Some(row_of_reported_attempt(told, stamp));
    }
    let Some(Row::Attempt(row)) = before else {
        return None;
    };
    if let Event::Attempt(AttemptEvent::Revised(told)) = event {
        return Some(revise_attempt_row(*row, told, stamp));
    }
    let mut row = *row;
    if let Event::Attempt(AttemptEvent::Ended {
        report, unchecked, ..
    }) = event
    {
        row.ended_at = Some(stamp.time);
        row.checkout.clone_from(&stamp.checkout);
        if *unchecked {
            row.unchecked = Some(report.clone());
        } else {
            row.report = Some((**report).clone());
        }
        // It is in the report now.
        row.answer = None;
    }
    if let Event::Attempt(AttemptEvent::Judged { outcome, error, .. }) = event
        && let Some(report) = row.unchecked.take()
    {
        row.report = Some(judged_report(*report, *outcome, error.as_deref()));
    }
    if let Event::Attempt(AttemptEvent::Answered { answer, .. }) = event {
        row.answer = Some(answer.clone());
    }
    Some(row)
}

/// No file says what an attempt used, so none can take it back: it was counted
/// when the attempt ended, and holds.
fn revise_attempt_row(row: AttemptRow, told: &ReportedAttempt, stamp: &EventStamp) -> AttemptRow {
    let mut revised = AttemptRow {
        role: row.role,
        model: row.model,
        iteration: row.iteration,
        ..row_of_reported_attempt(told, stamp)
    };
    if let (Some(now), Some(before)) = (&mut revised.report, row.report) {
        now.usage = before.usage;
        now.models = before.models;
        now.cannot_start = before.cannot_start;
    }
    revised
}

fn row_of_reported_attempt(told: &ReportedAttempt, stamp: &EventStamp) -> AttemptRow {
    let ended_at = told.ended_at.unwrap_or(stamp.time);
    let took = told.report.duration_s.and_then(|s| i64::try_from(s).ok());
    let started_at = took
        .and_then(|s| ended_at.checked_sub(SignedDuration::from_secs(s)).ok())
        .unwrap_or(ended_at);
    AttemptRow {
        id: told.attempt,
        run: told.run,
        node: told.node.clone(),
        number: told.number.unwrap_or(1),
        role: Role::Worker,
        agent: told.agent.clone(),
        model: None,
        iteration: 0,
        started_at,
        ended_at: Some(ended_at),
        report: Some((*told.report).clone()),
        name: told.name.clone(),
        item: Some(told.item.clone()),
        native: told.native.clone(),
        memories: Vec::new(),
        answer: None,
        tree: None,
        unchecked: None,
        checkout: stamp.checkout.clone(),
    }
}

fn decision_row(before: Option<Row>, event: &Event, stamp: &EventStamp) -> Option<DecisionRow> {
    if let Event::Decision(DecisionEvent::Opened {
        decision,
        number,
        decision_kind,
        run,
        node,
        file,
        memory,
        question,
        details,
        ways,
        edits,
        request,
    }) = event
    {
        return Some(DecisionRow {
            memory: memory.clone(),
            id: *decision,
            number: *number,
            kind: *decision_kind,
            run: *run,
            node: node.clone(),
            file: file.clone(),
            question: question.clone(),
            details: details.clone(),
            ways: ways.clone(),
            edits: edits.clone(),
            request: request.clone(),
            deferred: None,
            opened_at: stamp.time,
            notification: None,
            verdict: None,
        });
    }
    let Some(Row::Decision(row)) = before else {
        return None;
    };
    let mut row = *row;
    if let Event::Decision(DecisionEvent::Revised {
        question,
        details,
        edits,
        ..
    }) = event
    {
        row.question.clone_from(question);
        row.details.clone_from(details);
        row.edits.clone_from(edits);
        row.deferred = None;
    }
    if let Event::Decision(DecisionEvent::Deferred {
        until, phase, why, ..
    }) = event
    {
        row.deferred = Some(Box::new(Deferral {
            until: *until,
            phase: phase.clone(),
            why: why.clone(),
            by: stamp.actor.to_string(),
            at: stamp.time,
        }));
    }
    if let Event::Notification(NotificationEvent::Started { .. }) = event {
        row.notification = Some(NotificationStage::Started);
    }
    if let Event::Notification(NotificationEvent::Ended { .. }) = event {
        row.notification = Some(NotificationStage::Ended);
    }
    if let Event::Decision(DecisionEvent::Made {
        verb, why, answer, ..
    }) = event
    {
        row.deferred = None;
        row.verdict = Some(DecisionVerdict {
            verb: *verb,
            why: why.clone(),
            answer: answer.clone(),
            by: stamp.actor.to_string(),
            at: stamp.time,
        });
    }
    Some(row)
}

fn entry_row(before: Option<Row>, event: &Event, stamp: &EventStamp) -> Option<EntryRow> {
    if let (Event::Session(SessionEvent::EntryRevised { entry, .. }), Some(Row::Entry(row))) =
        (event, before)
    {
        return Some(EntryRow {
            entry: (**entry).clone(),
            checkout: stamp.checkout.clone(),
            ..*row
        });
    }
    let Event::Session(SessionEvent::EntryLogged(entry)) = event else {
        return None;
    };
    Some(EntryRow {
        id: stamp.id,
        position: stamp.position,
        timestamp: entry
            .at
            .as_deref()
            .and_then(|at| at.parse().ok())
            .unwrap_or(stamp.time),
        checkout: stamp.checkout.clone(),
        entry: (**entry).clone(),
    })
}

/// The blocker of a task after one of its entries says something else: other words,
/// another task, or nothing that blocks.
fn revise_blocker_row(
    spec: Option<&str>,
    task_id: Option<&str>,
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<BlockerRow> {
    let Event::Session(SessionEvent::EntryRevised {
        position,
        entry,
        blocked_before,
    }) = event
    else {
        return None;
    };
    let is_this = entry.spec.as_deref() == spec && entry.task_id.as_deref() == task_id;
    if is_this && entry.kind == EntryType::TaskCompleted {
        return None;
    }
    let blocks_this = is_this && entry.kind == EntryType::TaskBlocked;
    let mut row = match before {
        Some(Row::Blocker(row)) => *row,
        Some(_) | None => BlockerRow {
            spec: spec.map(str::to_owned),
            task_id: task_id.map(str::to_owned),
            entries: Vec::new(),
            older: 0,
        },
    };
    let at = row
        .entries
        .iter()
        .position(|kept| kept.position == *position);
    match at {
        Some(at) if blocks_this => {
            let was = Row::Entry(Box::new(row.entries[at].clone()));
            row.entries[at] = entry_row(Some(was), event, stamp)?;
        }
        Some(at) => {
            row.entries.remove(at);
        }
        // One that blocked this task before, and is not kept here, is too old.
        None if blocks_this && blocked_before.is_some() => {
            let said = entry.at.as_deref().and_then(|at| at.parse().ok());
            let after = row
                .entries
                .partition_point(|kept| kept.position < *position);
            row.entries.insert(
                after,
                EntryRow {
                    id: stamp.id,
                    position: *position,
                    timestamp: said.unwrap_or(stamp.time),
                    checkout: stamp.checkout.clone(),
                    entry: (**entry).clone(),
                },
            );
            drop_oldest_entry(&mut row);
        }
        None => {}
    }
    (!row.entries.is_empty()).then_some(row)
}

/// Leaves out the oldest entry of a blocker that has too many.
fn drop_oldest_entry(row: &mut BlockerRow) {
    if row.entries.len() > BLOCKERS_KEPT {
        row.entries.remove(0);
        row.older += 1;
    }
}

fn blocker_row(before: Option<Row>, event: &Event, stamp: &EventStamp) -> Option<BlockerRow> {
    let entry = entry_row(None, event, stamp)?;
    if entry.entry.kind == EntryType::TaskCompleted {
        return None;
    }
    let mut row = match before {
        Some(Row::Blocker(row)) => *row,
        Some(_) | None => BlockerRow {
            spec: entry.entry.spec.clone(),
            task_id: entry.entry.task_id.clone(),
            entries: Vec::new(),
            older: 0,
        },
    };
    row.entries.push(entry);
    drop_oldest_entry(&mut row);
    Some(row)
}

fn memory_row(before: Option<Row>, event: &Event, stamp: &EventStamp) -> Option<MemoryRow> {
    if let Event::Memory(MemoryEvent::Added(memory)) = event {
        let (id, by) = (memory.id.clone()?, stamp.actor.to_string());
        let row = MemoryRow::new(id, (**memory).clone(), stamp.position, stamp.time, by);
        return Some(MemoryRow {
            checkout: stamp.checkout.clone(),
            ..row
        });
    }
    let Some(Row::Memory(row)) = before else {
        return None;
    };
    let mut row = *row;
    if matches!(
        event,
        Event::Memory(MemoryEvent::Revised(_) | MemoryEvent::Retired { .. })
    ) {
        row.checkout.clone_from(&stamp.checkout);
    }
    if let Event::Memory(MemoryEvent::Revised(memory)) = event {
        row.memory = (**memory).clone();
    }
    if let Event::Memory(MemoryEvent::Retired {
        why, superseded_by, ..
    }) = event
        && row.retired.is_none()
    {
        row.retired = Some(Retirement {
            why: why.clone(),
            by: stamp.actor.to_string(),
            at: stamp.time,
            superseded_by: superseded_by.clone(),
        });
    }
    if let Event::Decision(DecisionEvent::Opened { .. }) = event {
        row.asked_at_failed = Some(row.uses.failed);
    }
    if let Event::Memory(MemoryEvent::Confirmed { source, .. }) = event {
        let is_known = row.again.contains(source);
        if !is_known && row.again.len() < AGAIN_KEPT {
            row.again.push(source.clone());
        }
    }
    if let Event::Memory(MemoryEvent::Used { .. }) = event {
        row.uses.referenced += 1;
    }
    if let Event::Memory(MemoryEvent::Judged { helped, .. }) = event {
        row.uses.helped += u64::from(*helped);
        row.uses.failed += u64::from(!*helped);
    }
    Some(row)
}

fn name_row(
    before: Option<Row>,
    space: Space,
    name: &str,
    event: &Event,
    stamp: &EventStamp,
) -> Option<NameRow> {
    let of = if let Event::Attempt(AttemptEvent::Started { attempt, .. }) = event {
        NamedRow::Attempt(*attempt)
    } else if let Event::Attempt(AttemptEvent::Reported(told)) = event {
        NamedRow::Attempt(told.attempt)
    } else if let Event::Session(SessionEvent::EntryLogged(_)) = event {
        NamedRow::Entry(stamp.position)
    } else if let Event::Memory(MemoryEvent::Added(memory) | MemoryEvent::Revised(memory)) = event {
        NamedRow::Memory(memory.id.clone()?)
    } else {
        let Some(Row::Name(row)) = before else {
            return None;
        };
        return Some(*row);
    };
    Some(NameRow {
        space,
        name: name.to_owned(),
        of,
    })
}

fn native_file_row(event: &Event, stamp: &EventStamp) -> Option<NativeFileRow> {
    let Event::File(FileEvent::FaceTurned { path, face, on }) = event else {
        return None;
    };
    Some(NativeFileRow {
        path: path.clone(),
        face: face.clone(),
        on: *on,
        since: stamp.time,
    })
}
