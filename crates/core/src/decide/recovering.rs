//! What becomes of an item after an attempt that did not complete: the plan's
//! own retries, what recovery says, or a person.

use super::advance::skip_node;
use super::event_buffer::EventBuffer;
use super::giving_up::{give_up_item, give_up_item_with_details};
use super::recording::log_scope_override;
use crate::attempt::{Outcome, RecoveryAction};
use crate::classify::FailureCategory;
use crate::id::{Node, RunId};
use crate::item::{ItemRef, ItemRow, ItemState, Stage};
use crate::policy::RetryTime;
use crate::recover::{FOLLOWED_MAX, FollowedRecovery, Recovery};

/// An attempt, or a gate, that failed.
pub(super) struct FailedWork<'a> {
    pub(super) outcome: Outcome,
    pub(super) category: FailureCategory,
    pub(super) error: &'a str,
    /// What to do now; none where the failure was not looked into.
    pub(super) recovery: Option<&'a Recovery>,
    /// All runs of its check are used up: its fixing agents were the retries.
    pub(super) is_of_check: bool,
}

/// What of a recovery is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecoveryStep {
    /// What is remembered goes into the next attempt.
    Remembered,
    Repair,
    Split,
    LeaveOut,
}

/// A failure: what is seen of its cause comes first, then what the memory has
/// and the plan's own retries, then a person.
pub(super) fn fail_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    failed: &FailedWork<'_>,
) {
    let Some(item) = story.tables.item(run, node).cloned() else {
        return;
    };
    let again = plan_retry(story, &item, failed);
    let times = item
        .tries
        .recovery
        .as_ref()
        .map_or(0, |before| before.times);
    // What holds others has no work of its own that could be tried again.
    let has_own_work = item.is_leaf() && item.stage != Stage::Resolve;
    let recovery = failed.recovery.filter(|_| has_own_work);
    let way = recovery
        .and_then(|recovery| Some((choose_recovery_step(&item, recovery)?, recovery)))
        .filter(|(way, _)| {
            if failed.is_of_check {
                return *way != RecoveryStep::LeaveOut && item.tries.check_recoveries == 0;
            }
            let by_the_plan = *way == RecoveryStep::Remembered && again.is_some();
            by_the_plan || *way == RecoveryStep::LeaveOut || times < FOLLOWED_MAX
        });
    let begin = |story: &mut EventBuffer<'_>, stage, retries, recovery: &Recovery| {
        story.move_item(run, node, ItemState::Ready, |moved| {
            moved.stage = Some(stage);
            moved.retries = retries;
            moved.error = Some(failed.error.to_owned());
            moved.recovery = Some(Box::new(FollowedRecovery::from_recovery(
                recovery,
                times + 1,
            )));
        });
    };
    match (way, again) {
        (Some((RecoveryStep::LeaveOut, recovery)), _) => {
            let why = recovery.guidance.as_str();
            log_scope_override(story, run, node, "left out", Some(why));
            skip_node(story, run, node, Some(why));
        }
        // What is done after the repair is another try.
        (Some((RecoveryStep::Repair, recovery)), _) => {
            begin(story, Stage::Repair, Some(item.tries.retries + 1), recovery);
        }
        (Some((RecoveryStep::Split, recovery)), _) => begin(story, Stage::Split, None, recovery),
        (Some((RecoveryStep::Remembered, recovery)), None) => {
            begin(story, Stage::Work, Some(item.tries.retries + 1), recovery);
        }
        (way, Some(next)) => {
            let (to, until) = match next {
                RetryTime::AtOnce => (ItemState::Ready, None),
                RetryTime::After(until) => (ItemState::Waiting, Some(until)),
            };
            // What was returned by the merge queue is still to be resolved.
            let stage = if item.stage == Stage::Resolve {
                Stage::Resolve
            } else {
                Stage::Work
            };
            story.move_item(run, node, to, |moved| {
                moved.stage = Some(stage);
                moved.until = until;
                moved.retries = Some(item.tries.retries + 1);
                moved.error = Some(failed.error.to_owned());
                moved.recovery =
                    way.map(|(_, said)| Box::new(FollowedRecovery::from_recovery(said, times)));
            });
        }
        (None, None) => {
            let state = if failed.outcome == Outcome::Blocked {
                ItemState::Blocked
            } else {
                ItemState::Failed
            };
            let considered = failed
                .recovery
                .and_then(|recovery| describe_considered(recovery, times));
            give_up_item_with_details(
                story,
                ItemRef { run, node },
                state,
                failed.error,
                considered.as_deref(),
            );
        }
    }
}

/// When the plan's own retries would try it again. What an agent says that it
/// cannot be done is no case for them.
fn plan_retry(
    story: &EventBuffer<'_>,
    item: &ItemRow,
    failed: &FailedWork<'_>,
) -> Option<RetryTime> {
    if failed.outcome == Outcome::Blocked || failed.is_of_check || !item.is_leaf() {
        return None;
    }
    let policy = &story.tables.run(item.run)?.plan.policy;
    policy
        .retry
        .next_try(failed.category, item.tries.retries, story.rows.now)
}

/// What of a recovery can be followed at this item; none where the plan's
/// retries or a person decide.
fn choose_recovery_step(item: &ItemRow, recovery: &Recovery) -> Option<RecoveryStep> {
    let last = item.tries.recovery.as_ref().map(|before| before.action);
    let again = last == Some(recovery.action);
    match recovery.action {
        RecoveryAction::Skip => Some(RecoveryStep::LeaveOut),
        RecoveryAction::FixState => (!again).then_some(RecoveryStep::Repair),
        // A piece is small already; were it split, its pieces could be, too.
        RecoveryAction::BreakChunks => {
            (!again && item.plan.piece_of.is_none()).then_some(RecoveryStep::Split)
        }
        RecoveryAction::Retry => recovery
            .rule
            .has_new_guidance()
            .then_some(RecoveryStep::Remembered),
        RecoveryAction::Manual => None,
    }
}

fn describe_considered(recovery: &Recovery, times: u32) -> Option<String> {
    let mut lines = recovery.describe_considered();
    if recovery.action != RecoveryAction::Manual {
        lines.push(match times {
            FOLLOWED_MAX.. => format!("it went on without a person {times} times in a row"),
            _ => format!("{} leads no further here", recovery.action),
        });
    }
    (!lines.is_empty()).then(|| format!("considered:\n- {}", lines.join("\n- ")))
}

/// The workspace was put in order, or could not be: the work begins again, and
/// shows which.
pub(super) fn advance_after_repair(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    story.move_item(run, node, ItemState::Ready, |moved| {
        moved.stage = Some(Stage::Work)
    });
}

/// The agent that was to split the item named no pieces: a person decides.
pub(super) fn fail_split(story: &mut EventBuffer<'_>, run: RunId, node: &Node, said: &str) {
    let before = story.tables.item(run, node);
    let before = before.and_then(|item| item.error.clone());
    let not_split = format!("it was to be split, and the agent named no pieces: {said}");
    let error = match before {
        Some(before) => format!("{before}; {not_split}"),
        None => not_split,
    };
    give_up_item(story, run, node, ItemState::Failed, &error);
}
