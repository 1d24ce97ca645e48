//! What becomes of an item whose work an agent reviews.

use super::advance::after_review;
use super::claims::{SHORT_COMMIT, judge_attempt};
use super::people::{bury_runner, close_emptied, open_state, reopen_above};
use super::runner::wrong_item;
use super::story::Story;
use crate::attempt::{HumanNeeded, Outcome, Report};
use crate::decision::{DecisionKind, Verb};
use crate::event::Event;
use crate::id::{AttemptId, DecisionId, Node, RunId};
use crate::item::{ItemRow, ItemState, Rejection, Stage};
use crate::refusal::Refusal;
use crate::review::{NO_VERDICT_MAX, ReviewVerdict};

/// What a reviewer came to, and why its word does not count where it does not.
fn verdict_of(report: &Report) -> Result<(ReviewVerdict, Option<String>), String> {
    if report.outcome != Outcome::Completed {
        let error = report.error.as_deref().or(report.summary.as_deref());
        return Err(error.unwrap_or("it ended without a verdict").to_owned());
    }
    let Some(review) = &report.review else {
        return Err("what it printed holds no verdict".to_owned());
    };
    // What it saw is not what is there now.
    if let Some(act) = act_of(report) {
        return Err(format!("it {act}, which a reviewer does not"));
    }
    Ok((review.verdict, review.in_words()))
}

/// How many files and commits of a reviewer are named.
const NAMED_MAX: usize = 3;

/// What a reviewer did beside looking, in the past tense: "committed c0ffee".
fn act_of(report: &Report) -> Option<String> {
    let short = |commit: &String| commit.get(..SHORT_COMMIT).unwrap_or(commit).to_owned();
    let commits: Vec<String> = report.commits.iter().flatten().map(short).collect();
    if !commits.is_empty() {
        return Some(format!("committed {}", first_of(&commits)));
    }
    let trees = report.tree_before.as_ref().zip(report.tree_after.as_ref());
    if trees.is_none_or(|(before, after)| before == after) {
        return None;
    }
    let files = report.files.iter().flatten();
    let files: Vec<String> = files.map(|file| format!("`{file}`")).collect();
    Some(match files.is_empty() {
        true => "changed files".to_owned(),
        false => format!("changed {}", first_of(&files)),
    })
}

/// The first of some names, and how many more there are.
fn first_of(names: &[String]) -> String {
    let shown = names.get(..NAMED_MAX).unwrap_or(names).join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A reviewer has ended, and was not interrupted: its verdict counts, it is asked once
/// more, or a person is.
pub(super) fn follow_review(
    story: &mut Story<'_>,
    (run, node): (RunId, &Node),
    attempt: AttemptId,
) -> Result<(), Refusal> {
    let Some(row) = story.tables.attempt(attempt) else {
        return Ok(());
    };
    let by = row.agent.lines().next().unwrap_or_default().to_owned();
    let verdict = match &row.report {
        Some(report) => verdict_of(report),
        None => Err("nobody knows how it ended".to_owned()),
    };
    let (verdict, why) = match verdict {
        Ok((verdict, why)) => (Some(verdict), why),
        Err(why) => (None, Some(why)),
    };
    story.tell(Event::ItemReviewed {
        run,
        node: node.clone(),
        attempt: Some(attempt),
        by: format!("the reviewer ({by})"),
        verdict,
        why: why.clone(),
    });
    let item = story.item(run, node)?.clone();
    let review = item.review.as_deref().cloned().unwrap_or_default();
    let policy = story.run(run)?.policy.review.as_ref();
    let rounds_max = policy.map_or(0, |review| review.rounds_max);
    match verdict {
        Some(ReviewVerdict::Approve) => after_review(story, run, node),
        Some(ReviewVerdict::RequestChanges) if review.rounds > rounds_max => {
            let question = format!(
                "the reviewer of `{node}` wants changes again, after {rounds_max} rounds: is it good as it is?"
            );
            ask(story, &item, question, why);
        }
        Some(ReviewVerdict::RequestChanges) => {
            judge_attempt(story, &item, Outcome::Completed, None);
            if item.merge().is_some() {
                story.stage(run, node, back_at(&item));
            } else {
                story.move_item(run, node, ItemState::Ready, |moved| {
                    moved.stage = Some(back_at(&item));
                });
            }
        }
        None if review.without_verdict >= NO_VERDICT_MAX => {
            let question = format!(
                "the reviewer of `{node}` gave no verdict that counts, {} times in a row: is it good as it is?",
                review.without_verdict
            );
            ask(story, &item, question, why);
        }
        // It is asked once more.
        None => {}
    }
    Ok(())
}

/// Where an item goes on that its reviewer wants otherwise: in the merge that it was
/// returned for, where that is not over.
fn back_at(item: &ItemRow) -> Stage {
    match item.merge() {
        Some(_) => Stage::Resolve,
        None => Stage::Work,
    }
}

fn ask(story: &mut Story<'_>, item: &ItemRow, question: String, details: Option<String>) {
    let (run, node) = (item.run, &item.node);
    judge_attempt(story, item, Outcome::Completed, None);
    let human = HumanNeeded {
        reason: question,
        details,
    };
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
    story.ask(
        DecisionKind::AgentReview,
        run,
        node,
        human.reason,
        human.details,
    );
}

/// The item that a person is asked about instead of its reviewer.
fn asked_about(story: &mut Story<'_>, run: RunId, node: &Node) -> Result<ItemRow, Refusal> {
    bury_runner(story, run)?;
    let item = story.item(run, node)?.clone();
    match (item.state, item.stage) {
        (ItemState::Waiting, Stage::Review) => Ok(item),
        _ => Err(wrong_item(&item)),
    }
}

/// A person approves what a reviewer did not.
pub(super) fn approve(
    story: &mut Story<'_>,
    (run, decision): (RunId, DecisionId),
    node: &Node,
    why: Option<&str>,
) -> Result<(), Refusal> {
    asked_about(story, run, node)?;
    story.tell_unless_made(decision, Verb::Approve, why);
    reopen_above(story, run, node);
    story.tell(Event::ItemReviewed {
        run,
        node: node.clone(),
        attempt: None,
        by: story.facts.actor.name().to_owned(),
        verdict: Some(ReviewVerdict::Approve),
        why: why.map(str::to_owned),
    });
    story.move_item(run, node, ItemState::Working, |_| {});
    after_review(story, run, node);
    close_emptied(story, run);
    Ok(())
}

/// A person wants it otherwise as well: an agent goes on with it, and is told why.
pub(super) fn reject(
    story: &mut Story<'_>,
    (run, decision): (RunId, DecisionId),
    node: &Node,
    why: &str,
) -> Result<(), Refusal> {
    let item = asked_about(story, run, node)?;
    story.tell_unless_made(decision, Verb::Reject, Some(why));
    reopen_above(story, run, node);
    let rejected = Rejection {
        by: story.facts.actor.name().to_owned(),
        why: why.to_owned(),
    };
    story.move_item(run, node, open_state(story, run, &item), |moved| {
        moved.stage = Some(back_at(&item));
        moved.retries = Some(0);
        moved.rejected = Some(Box::new(rejected));
    });
    close_emptied(story, run);
    Ok(())
}
