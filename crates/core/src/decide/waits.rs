//! What items wait for before they begin: their time, or their command.

use super::changes::join_answers;
use super::event_buffer::EventBuffer;
use super::guards::{HeldRun, check_can_begin, check_holder, wrong_item_state};
use crate::attempt::HumanNeeded;
use crate::decision::{DecisionKind, Verb};
use crate::id::{Node, RunId};
use crate::item::{ItemRow, ItemState, Stage};
use crate::refusal::Refusal;
use crate::wait::{WaitChange, WaitProgress, WaitStep};

/// Takes waits one step further: all of them, or none where one does not fit.
pub(super) fn apply_wait_steps(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    steps: &[WaitStep],
    holds_others: bool,
) -> Result<(), Refusal> {
    check_holder(story, held)?;
    let run = held.0;
    check_can_begin(story, run)?;
    for step in steps {
        let item = story.require_item(run, &step.node)?.clone();
        let is_known = item.plan.wait.as_deref() == Some(&step.wait);
        let fits = match step.what {
            WaitChange::Begins => item.state == ItemState::Ready && item.has_open_wait(),
            WaitChange::TimeCame => item.current_wait().is_some_and(|it| it.command.is_none()),
            WaitChange::SaidYes | WaitChange::Late { .. } | WaitChange::NotRun { .. } => {
                item.current_wait().is_some_and(|it| it.command.is_some())
            }
        };
        // What lies below it would not be seen.
        let is_seen = !step.what.is_over() || item.is_leaf() || holds_others;
        if !is_known || !fits || !is_seen {
            return Err(wrong_item_state(&item));
        }
        match &step.what {
            WaitChange::Begins => {
                let until = item.wait_end();
                story.move_item(run, &item.node, ItemState::Waiting, |moved| {
                    moved.until = until;
                });
            }
            WaitChange::TimeCame => end_wait(story, &item, Some(WaitProgress::Time), None),
            WaitChange::SaidYes => end_wait(story, &item, Some(WaitProgress::Command), None),
            WaitChange::Late { printed } => {
                let until = step.wait.until.map(|until| format!(" by {until}"));
                let why = format!("has not said yes{}", until.unwrap_or_default());
                ask_about_wait(story, &item, &why, printed.as_deref());
            }
            WaitChange::NotRun { printed } => {
                ask_about_wait(story, &item, "cannot be run", printed.as_deref());
            }
        }
    }
    Ok(())
}

/// The item waits no longer, or from the beginning. That nothing else has to be
/// finished before it was known when it began to wait; what changes that looks at
/// each item anew.
fn end_wait(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    waited: Option<WaitProgress>,
    answer: Option<&str>,
) {
    story.move_item(item.run, &item.node, ItemState::Ready, |moved| {
        moved.stage = Some(Stage::Work);
        moved.waited = waited;
        moved.answer = join_answers(item, answer);
    });
}

/// A person is asked: the command will not say yes by itself.
fn ask_about_wait(story: &mut EventBuffer<'_>, item: &ItemRow, why: &str, printed: Option<&str>) {
    let (run, node) = (item.run, &item.node);
    let command = item
        .plan
        .wait
        .as_ref()
        .and_then(|wait| wait.command.as_deref());
    let reason = format!("`{}` {why}", command.unwrap_or_default());
    let human = HumanNeeded {
        reason: reason.clone(),
        details: printed.map(str::to_owned),
    };
    story.move_item(run, node, ItemState::Ready, |_| {});
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
        moved.waited = Some(WaitProgress::Late);
    });
    let question = format!("{reason}, for which `{node}` waits: what now?");
    story.ask_about_node(DecisionKind::Wait, run, node, question, human.details);
}

/// A person wants piton to look now at what an item waits for: a command is asked
/// again at once. A mere time cannot be asked.
pub(super) fn check_wait_now(story: &mut EventBuffer<'_>, item: &ItemRow, answer: Option<&str>) {
    let has_command = item
        .plan
        .wait
        .as_ref()
        .is_some_and(|it| it.command.is_some());
    let until = item.plan.wait.as_ref().and_then(|wait| wait.until);
    let is_over = until.is_none_or(|until| until <= story.rows.now);
    let waited = match (has_command, item.work.waited) {
        (false, _) => Some(WaitProgress::Person),
        (true, Some(WaitProgress::Late)) if is_over => Some(WaitProgress::AskedOn),
        (true, _) => None,
    };
    end_wait(story, item, waited, answer);
}

/// A person wants an item to go on without what it waits for.
pub(super) fn skip_wait(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    why: Option<&str>,
) -> Result<(), Refusal> {
    let item = story.require_item(run, node)?.clone();
    if !item.is_waiting_by_plan() {
        return Err(wrong_item_state(&item));
    }
    end_wait(story, &item, Some(WaitProgress::Person), why);
    Ok(())
}

/// The plan says something else of what an item waits for, and it waited: it does so
/// from the beginning, or can be started.
pub(super) fn restart_wait(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let Some(item) = story.tables.item(run, node).cloned() else {
        return;
    };
    end_wait(story, &item, None, None);
    story.settle_decisions_of_node(run, node, Verb::Settled);
}
