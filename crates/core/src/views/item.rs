//! The row of an item.

use super::open_children::count_open_children;
use super::unit::apply_to_unit;
use crate::attempt::{Conversation, Outcome, Report, Role};
use crate::event::{AttemptEvent, Event, ItemEvent, ItemMoved, ItemPlanned};
use crate::evidence::{BaselineResult, TreeChange};
use crate::gate::{GateReport, GateRuns};
use crate::id::Node;
use crate::item::{
    CommitIntent, Evidence, ItemPeople, ItemPlan, ItemProof, ItemRow, ItemState, ItemTries,
    ItemWork, Rejection, Stage, WORK_COMMITS_MAX, millis_between,
};
use crate::iteration_hook::{record_hook_end, record_hook_start};
use crate::journal::EventStamp;
use crate::lane::{LaneConversation, UnitRow};
use crate::plan::PlannedItem;
use crate::pull_request::PullRequestRow;
use crate::review::ReviewVerdict;
use crate::row::Row;
use crate::trouble::Trouble;

/// What `event` makes of the row of the item at `node`.
pub(super) fn item_row(
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
        Event::Item(event) => apply_item_event(&mut row, event, stamp),
        Event::Unit(event) => apply_to_unit(&mut row, event, stamp),
        Event::Attempt(event) => apply_attempt_event(&mut row, event, stamp),
        Event::Run(_)
        | Event::Decision(_)
        | Event::Session(_)
        | Event::Memory(_)
        | Event::Notification(_)
        | Event::File(_) => {}
    }
    Some(row)
}

fn apply_item_event(row: &mut ItemRow, event: &ItemEvent, stamp: &EventStamp) {
    match event {
        ItemEvent::Planned(child) => {
            row.children += 1;
            row.open_children += u32::from(!child.item.state.is_finished());
        }
        ItemEvent::GateStarted {
            number,
            before,
            fence,
            ..
        } => {
            row.fence = *fence;
            if let Some(before) = before {
                set_baseline(row, before.clone());
            }
            row.work.at_work_since = Some(stamp.time);
            let runs = row.proof.gate_runs.get_or_insert_default();
            runs.runs = *number;
            runs.open = true;
            runs.passed = false;
        }
        ItemEvent::GateEnded {
            report, evidence, ..
        } if row.stage == Stage::Baseline => {
            end_work(row, stamp, report.interrupted.then_some(report.took_s));
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
                set_baseline(row, baseline);
            }
        }
        ItemEvent::GateEnded {
            report, evidence, ..
        } => {
            end_work(row, stamp, report.interrupted.then_some(report.took_s));
            end_gate_run(row.proof.gate_runs.get_or_insert_default(), report);
            // Another command says nothing of the item's own check.
            row.proof.seen_to_fail |=
                !report.passed && !report.interrupted && row.proof.claim_gate.is_none();
            row.proof.evidence.extend(evidence.iter().cloned());
        }
        ItemEvent::Reviewed {
            by, verdict, why, ..
        } => record_review(row, by, *verdict, why.as_deref()),
        ItemEvent::Claimed { by, .. } => row.proof.claimed.clone_from(by),
        ItemEvent::CommitStarted { head, fence, .. } => {
            row.fence = *fence;
            row.work.committing = Some(CommitIntent { head: head.clone() });
        }
        ItemEvent::CommitEnded { commit, error, .. } => {
            row.work.committing = None;
            record_commits(row, commit);
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
        ItemEvent::Staged { stage, gate, .. } => {
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
        ItemEvent::SkipAsked { .. } => row.people.skip_asked = true,
        ItemEvent::Moved(moved) if moved.node == row.node => apply_item_move(row, moved, stamp),
        ItemEvent::Moved(child) => count_open_children(&mut row.open_children, child),
        ItemEvent::Changed(changed) => changed.change.apply_to_item(row),
        ItemEvent::Placed(placed) => {
            if let Some(place) = placed.places.get(&row.node) {
                row.plan.place.clone_from(place);
            }
        }
    }
}

fn apply_attempt_event(row: &mut ItemRow, event: &AttemptEvent, stamp: &EventStamp) {
    match event {
        AttemptEvent::Started {
            attempt,
            fence,
            role,
            iteration,
            hook,
            memories,
            tree,
            baseline,
            ..
        } => {
            row.fence = *fence;
            row.attempts += 1;
            row.attempt = Some(*attempt);
            row.work.at_work_since = Some(stamp.time);
            row.work.started_on.clone_from(tree);
            // What the work came to stays as it is where a hook or a reviewer looks at it.
            if let Some(id) = hook {
                record_hook_start(&mut row.work.hook_runs, id, *iteration, stamp.time);
            } else if *role != Role::Reviewer {
                row.tries.carried.clone_from(memories);
                if let Some(baseline) = baseline {
                    set_baseline(row, baseline.clone());
                }
            }
        }
        AttemptEvent::Ended {
            attempt,
            report,
            unchecked,
            unavailable,
            ..
        } => {
            row.attempt = None;
            let passed = unavailable.iter().filter(|passed| passed.until.is_none());
            let passed = passed.map(|passed| passed.agent.clone());
            row.tries.refused_by.extend(passed);
            let started_on = row.work.started_on.take();
            end_work(row, stamp, report.program.duration_s);
            record_commits(row, report.changes.commits.iter().flatten());
            row.tries.denied = row
                .tries
                .denied
                .saturating_add(report.program.activity.denied);
            row.work.spend = row.work.spend.plus(&report.counted_spend());
            if row.stage == Stage::IterationHooks {
                withdraw_approval(row);
                record_hook_end(&mut row.work.hook_runs, report, stamp.time);
            } else if row.stage == Stage::Review {
                // What a reviewer saw last is what it approves.
                if let Some(change) = &mut row.work.change {
                    change.record_reviewed_tree(report.changes.tree_after.as_ref());
                }
                count_interruptions(row, report);
            } else {
                row.proof.unchecked = unchecked.then_some(*attempt);
                record_work_report(row, report, *unchecked, started_on.as_ref());
            }
        }
        AttemptEvent::Reported(told) => {
            row.attempts = row.attempts.max(told.number.unwrap_or(row.attempts + 1));
            row.work.spend = row.work.spend.plus(&told.report.counted_spend());
            let took_ms = told
                .report
                .program
                .duration_s
                .unwrap_or(0)
                .saturating_mul(1_000);
            row.work.work_ms = row.work.work_ms.saturating_add(took_ms);
        }
        AttemptEvent::Judged { .. } => row.proof.unchecked = None,
        AttemptEvent::Answered { .. } | AttemptEvent::Revised(_) => {}
    }
}

/// Notes what an agent that worked at the item reports.
fn record_work_report(
    row: &mut ItemRow,
    report: &Report,
    unchecked: bool,
    started_on: Option<&String>,
) {
    count_interruptions(row, report);
    withdraw_approval(row);
    let proceeds = report.outcome == Outcome::Completed || unchecked;
    // Who was not started has said nothing of what was begun before.
    let is_own = matches!(row.stage, Stage::Work | Stage::Verdict | Stage::Baseline);
    if is_own && !report.program.cannot_start {
        let own = report.program.conversation.as_ref().filter(|_| proceeds);
        let own = own.filter(|own| Conversation::is_valid_id(&own.id));
        row.work.worked_in = own.cloned().map(Box::new);
        row.tries.ongoing =
            resumable_conversation(report).or_else(|| conversation_to_approve(row, report));
        // An agent that was interrupted as it came to an end is asked again.
        if report.outcome != Outcome::Interrupted {
            let is_stuck = report.program.trouble == Some(Trouble::Stuck);
            row.tries.made_no_progress = report.program.can_be_asked && is_stuck;
        }
    }
    record_conversation(row, report, unchecked);
    // What was not started changed nothing that counts.
    if !report.program.cannot_start || report.changes.tree_after.is_some() {
        let before = row.work.change.take();
        let change = TreeChange::extend_with_attempt(before.as_deref(), report, started_on);
        row.work.change = Some(Box::new(change));
    }
    if let Some(proof) = &report.changes.proof {
        let before = row.proof.changes.take().unwrap_or_default();
        row.proof.changes = Some(Box::new(before.merge((**proof).clone())));
    }
    // What a fixing agent says is about the gate, not about the item.
    if proceeds && matches!(row.stage, Stage::Work | Stage::Verdict) {
        // What was followed was for this attempt, and it got there.
        row.tries.recovery = None;
        if report.summary.is_some() {
            row.summary.clone_from(&report.summary);
        }
    }
}

/// Adds the work that ends with this event: what was measured, else the time since
/// it began.
fn end_work(row: &mut ItemRow, stamp: &EventStamp, measured_s: Option<u64>) {
    let since = row.work.at_work_since.take();
    let between = since.map_or(0, |since| millis_between(since, stamp.time));
    let took_ms = measured_s.map_or(between, |took| took.saturating_mul(1_000));
    row.work.work_ms = row.work.work_ms.saturating_add(took_ms);
}

fn record_commits<'c>(row: &mut ItemRow, made: impl IntoIterator<Item = &'c String>) {
    for commit in made {
        row.work.commits.retain(|known| known != commit);
        row.work.commits.push(commit.clone());
    }
    let more = row.work.commits.len().saturating_sub(WORK_COMMITS_MAX);
    row.work.commits.drain(..more);
}

/// The conversation in which an attempt that was interrupted goes on.
fn resumable_conversation(report: &Report) -> Option<Box<Conversation>> {
    let is_over = matches!(
        report.program.trouble,
        Some(Trouble::Session | Trouble::Refusal)
    );
    let was_interrupted = report.outcome == Outcome::Interrupted && !is_over;
    let goes_on = was_interrupted || report.program.can_be_asked;
    let conversation = report.program.conversation.clone().filter(|_| goes_on)?;
    if !Conversation::is_valid_id(&conversation.id) {
        return None;
    }
    Some(Box::new(conversation))
}

/// The conversation of an attempt whose work a person may want otherwise.
fn conversation_to_approve(row: &ItemRow, report: &Report) -> Option<Box<Conversation>> {
    let is_whole = row.plan.approval && report.outcome == Outcome::Completed;
    let own = report.program.conversation.as_ref().filter(|_| is_whole)?;
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
    let own = report.program.conversation.as_ref().filter(|_| ended_well);
    let own = own
        .filter(|own| Conversation::is_valid_id(&own.id))
        .cloned();
    let conversation = own.or_else(|| resumable_conversation(report).map(|ongoing| *ongoing));
    let unit = row.work.unit.get_or_insert_default();
    unit.conversation =
        conversation.map(|conversation| Box::new(LaneConversation { lane, conversation }));
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
        row.tries.refused_by.clear();
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
    // Who took it is done with it, or has it no more.
    if !matches!(moved.to, ItemState::Pending | ItemState::Ready) {
        row.people.taken = None;
    }
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
        tags: item.tags.clone(),
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
