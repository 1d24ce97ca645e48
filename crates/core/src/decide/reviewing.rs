//! What becomes of an item whose work an agent reviews.

use super::advance::advance_after_review;
use super::claims::SHORT_COMMIT;
use super::dead_runner::release_dead_runner;
use super::event_buffer::EventBuffer;
use super::guards::wrong_item_state;
use super::judging::settle_attempt;
use super::reopening::{advance_emptied_parents, initial_open_state, reopen_ancestors};
use crate::amount::list_first;
use crate::attempt::{HumanNeeded, Outcome, Report};
use crate::decision::{DecisionKind, Verb};
use crate::event::ItemEvent;
use crate::id::{AttemptId, DecisionId, Node, RunId};
use crate::item::{ItemRow, ItemState, Rejection, Stage};
use crate::refusal::Refusal;
use crate::review::{NO_VERDICT_MAX, ReviewVerdict};

/// What a reviewer came to, and why its word does not count where it does not.
fn verdict_of_review(report: &Report) -> Result<(ReviewVerdict, Option<String>), String> {
    if report.outcome != Outcome::Completed {
        let error = report.error.as_deref().or(report.summary.as_deref());
        return Err(error.unwrap_or("it ended without a verdict").to_owned());
    }
    let Some(review) = &report.review else {
        return Err("what it printed holds no verdict".to_owned());
    };
    // What it saw is not what is there now.
    if let Some(act) = describe_reviewer_changes(report) {
        return Err(format!("it {act}, which a reviewer does not"));
    }
    Ok((review.verdict, review.describe_review()))
}

/// How many files and commits of a reviewer are named.
const NAMED_MAX: usize = 3;

/// What a reviewer did beside looking, in the past tense: "committed c0ffee".
fn describe_reviewer_changes(report: &Report) -> Option<String> {
    let short = |commit: &String| commit.get(..SHORT_COMMIT).unwrap_or(commit).to_owned();
    let commits: Vec<String> = report.changes.commits.iter().flatten().map(short).collect();
    if !commits.is_empty() {
        return Some(format!("committed {}", list_first(&commits, NAMED_MAX)));
    }
    let trees = report
        .changes
        .tree_before
        .as_ref()
        .zip(report.changes.tree_after.as_ref());
    if trees.is_none_or(|(before, after)| before == after) {
        return None;
    }
    let files = report.changes.files.iter().flatten();
    let files: Vec<String> = files.map(|file| format!("`{file}`")).collect();
    Some(match files.is_empty() {
        true => "changed files".to_owned(),
        false => format!("changed {}", list_first(&files, NAMED_MAX)),
    })
}

/// A reviewer has ended, and was not interrupted: its verdict counts, it is asked once
/// more, or a person is.
pub(super) fn apply_review(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    attempt: AttemptId,
) -> Result<(), Refusal> {
    let Some(row) = story.tables.attempt(attempt) else {
        return Ok(());
    };
    let by = row.agent.lines().next().unwrap_or_default().to_owned();
    let verdict = match &row.report {
        Some(report) => verdict_of_review(report),
        None => Err("how it ended is not known".to_owned()),
    };
    let (verdict, why) = match verdict {
        Ok((verdict, why)) => (Some(verdict), why),
        Err(why) => (None, Some(why)),
    };
    story.append(ItemEvent::Reviewed {
        run,
        node: node.clone(),
        attempt: Some(attempt),
        by: format!("the reviewer ({by})"),
        verdict,
        why: why.clone(),
    });
    let item = story.require_item(run, node)?.clone();
    let review = item.proof.review.as_deref().cloned().unwrap_or_default();
    let policy = story.require_run(run)?.plan.policy.review.as_ref();
    let rounds_max = policy.map_or(0, |review| review.rounds_max);
    match verdict {
        Some(ReviewVerdict::Approve) => advance_after_review(story, run, node),
        Some(ReviewVerdict::RequestChanges) if review.rounds > rounds_max => {
            let question = format!(
                "the reviewer of `{node}` wants changes again, after {rounds_max} rounds: is it good as it is?"
            );
            ask_about_review(story, &item, question, why);
        }
        Some(ReviewVerdict::RequestChanges) => {
            settle_attempt(story, &item, Outcome::Completed, None);
            if item.merge().is_some() {
                story.set_stage(run, node, stage_after_rejection(&item));
            } else {
                story.move_item(run, node, ItemState::Ready, |moved| {
                    moved.stage = Some(stage_after_rejection(&item));
                });
            }
        }
        None if review.without_verdict >= NO_VERDICT_MAX => {
            let question = format!(
                "the reviewer of `{node}` gave no verdict that counts, {} times in a row: is it good as it is?",
                review.without_verdict
            );
            ask_about_review(story, &item, question, why);
        }
        // It is asked once more.
        None => {}
    }
    Ok(())
}

/// Where an item goes on that its reviewer wants otherwise: in the merge that it was
/// returned for, where that is not over.
fn stage_after_rejection(item: &ItemRow) -> Stage {
    match item.merge() {
        Some(_) => Stage::Resolve,
        None => Stage::Work,
    }
}

fn ask_about_review(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    question: String,
    details: Option<String>,
) {
    let (run, node) = (item.run, &item.node);
    settle_attempt(story, item, Outcome::Completed, None);
    let human = HumanNeeded {
        reason: question,
        details,
    };
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
    story.ask_about_node(
        DecisionKind::AgentReview,
        run,
        node,
        human.reason,
        human.details,
    );
}

/// The item that a person is asked about instead of its reviewer.
fn check_review_open(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
) -> Result<ItemRow, Refusal> {
    release_dead_runner(story, run)?;
    let item = story.require_item(run, node)?.clone();
    match (item.state, item.stage) {
        (ItemState::Waiting, Stage::Review) => Ok(item),
        _ => Err(wrong_item_state(&item)),
    }
}

/// A person approves what a reviewer did not.
pub(super) fn approve_review(
    story: &mut EventBuffer<'_>,
    run: RunId,
    decision: DecisionId,
    node: &Node,
    why: Option<&str>,
) -> Result<(), Refusal> {
    check_review_open(story, run, node)?;
    story.decide_if_open(decision, Verb::Approve, why);
    reopen_ancestors(story, run, node);
    story.append(ItemEvent::Reviewed {
        run,
        node: node.clone(),
        attempt: None,
        by: story.facts.actor.name().to_owned(),
        verdict: Some(ReviewVerdict::Approve),
        why: why.map(str::to_owned),
    });
    story.move_item(run, node, ItemState::Working, |_| {});
    advance_after_review(story, run, node);
    advance_emptied_parents(story, run);
    Ok(())
}

/// A person wants it otherwise as well: an agent goes on with it, and is told why.
pub(super) fn reject_review(
    story: &mut EventBuffer<'_>,
    run: RunId,
    decision: DecisionId,
    node: &Node,
    why: &str,
) -> Result<(), Refusal> {
    let item = check_review_open(story, run, node)?;
    story.decide_if_open(decision, Verb::Reject, Some(why));
    reopen_ancestors(story, run, node);
    let rejected = Rejection {
        by: story.facts.actor.name().to_owned(),
        why: why.to_owned(),
    };
    story.move_item(run, node, initial_open_state(story, run, &item), |moved| {
        moved.stage = Some(stage_after_rejection(&item));
        moved.retries = Some(0);
        moved.rejected = Some(Box::new(rejected));
    });
    advance_emptied_parents(story, run);
    Ok(())
}
