//! What came before an attempt, as far as its prompt needs it: what failed at
//! its item, what was done elsewhere, what was noticed.
//!
//! Only the choice is made here. How it is written: see `engine::prompt`.

use std::collections::HashSet;

use crate::attempt::{AttemptContext, AttemptRow, Outcome, Role};
use crate::id::{Node, RunId};
use crate::item::{ItemRow, ItemState};
use crate::observation::{Observation, ObservationKind};
use crate::tables::Tables;

/// How the error of an attempt begins whose check did not pass.
const CHECK_FAILED: &str = "its check failed";

/// A failure of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTry {
    /// The number of the attempt; none where no attempt of this journal failed so.
    pub attempt: Option<u32>,
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong.
    pub error: String,
    /// The check of the item failed after the attempt.
    pub by_check: bool,
}

/// The failures of an item since it was last completed, oldest first. Each is
/// there once, whichever of the attempt and the item has it.
///
/// An attempt that was interrupted, put off, or could not start is no failure of
/// the item, and neither is one that asked a person.
#[must_use]
pub fn failed_tries_of_item(item: &ItemRow, attempts: &[&AttemptRow]) -> Vec<FailedTry> {
    let mut tries: Vec<FailedTry> = latest_incomplete_work(attempts)
        .filter(|(_, outcome, _)| {
            matches!(
                outcome,
                Outcome::Failed | Outcome::Blocked | Outcome::Partial
            )
        })
        .map(|(row, outcome, error)| FailedTry {
            attempt: Some(row.number),
            outcome,
            by_check: error.starts_with(CHECK_FAILED),
            error,
        })
        .collect();
    tries.reverse();
    let Some(error) = item.error.as_deref().map(str::trim) else {
        return tries;
    };
    let is_interruption = attempts
        .iter()
        .filter_map(|row| row.report.as_ref())
        .filter(|report| report.outcome == Outcome::Interrupted)
        .any(|report| report.error.as_deref().map(str::trim) == Some(error));
    let is_known = tries.iter().any(|one| one.error.contains(error));
    if error.is_empty() || is_interruption || is_known {
        return tries;
    }
    match tries.last_mut() {
        // The item says more of the same failure: how often its check ran, or
        // that it could not be split.
        Some(last) if last.by_check || error.contains(&last.error) => {
            last.error = error.to_owned();
        }
        Some(_) | None => tries.push(FailedTry {
            attempt: None,
            outcome: Outcome::Failed,
            error: error.to_owned(),
            by_check: false,
        }),
    }
    tries
}

/// The question with which the last attempt at an item ended, and the number of
/// that attempt.
#[must_use]
pub fn last_open_question<'a>(attempts: &[&'a AttemptRow]) -> Option<(u32, &'a str)> {
    let aside = [Role::Repair, Role::Split, Role::IterationHook];
    let is_work = |row: &&AttemptRow| !aside.contains(&row.role);
    let ended = attempts.iter().rev().filter(|row| is_work(row));
    let (row, report) = ended
        .filter_map(|row| Some((row, row.report.as_ref()?)))
        .next()?;
    let human = report.human.as_ref()?;
    (report.outcome == Outcome::NeedsHuman).then_some((row.number, human.reason.as_str()))
}

/// The number of the attempt that was ended from outside, if the last one that
/// worked on the item was.
#[must_use]
pub fn last_interrupted_attempt(attempts: &[&AttemptRow]) -> Option<u32> {
    let is_started = |report: &&crate::attempt::Report| !report.program.cannot_start;
    let is_work = |row: &&&AttemptRow| row.role != Role::IterationHook;
    let reports = attempts.iter().rev().filter(is_work);
    let mut ended = reports.filter_map(|row| Some((row, row.report.as_ref()?)));
    let (row, report) = ended.find(|(_, report)| is_started(report))?;
    (report.outcome == Outcome::Interrupted).then_some(row.number)
}

/// The attempts that worked on the item since the last one that completed it,
/// the latest first, each with what it came to and why.
fn latest_incomplete_work<'a>(
    attempts: &'a [&'a AttemptRow],
) -> impl Iterator<Item = (&'a AttemptRow, Outcome, String)> {
    let work = attempts
        .iter()
        .rev()
        .filter(|row| matches!(row.role, Role::Worker | Role::Verdict | Role::GateFix));
    let ended = work.filter_map(|row| Some((*row, row.report.as_ref()?)));
    ended
        .take_while(|(_, report)| report.outcome != Outcome::Completed)
        .map(|(row, report)| {
            let why = report.error.as_ref().or(report.summary.as_ref());
            let why = why.map_or("no reason was given", |why| why.trim());
            (row, report.outcome, why.to_owned())
        })
}

/// The items of a run that were done before `node` and say something to the agent
/// that works on it, at most so many, the one that was done last at the end.
///
/// Those that it depends on and its siblings come before all others, and of
/// equals the latest.
#[must_use]
pub fn earlier_done_items<'t>(
    tables: &'t Tables,
    run: RunId,
    node: &Node,
    count_max: usize,
) -> Vec<&'t ItemRow> {
    let own = std::iter::once(node.clone()).chain(node.ancestors());
    let line = own.filter_map(|node| tables.item(run, &node));
    let needed: HashSet<&Node> = line.flat_map(|item| &item.plan.depends_on).collect();
    let parent = node.parent();
    let is_needed = |item: &ItemRow| needed.iter().any(|on| item.node.is_within(on));
    // No item makes a name of its own here: a run may have thousands.
    let above = |node: &Node| node.as_str().rfind('/').unwrap_or_default();
    let beside = parent.as_ref().map_or("", Node::as_str);
    let is_near =
        |item: &ItemRow| is_needed(item) || &item.node.as_str()[..above(&item.node)] == beside;
    let mut done: Vec<&ItemRow> = tables
        .items(run)
        .filter(|item| item.state == ItemState::Done && item.is_leaf() && item.node != *node)
        .filter(|item| item.summary.is_some() || is_needed(item))
        .collect();
    let when = |one: &ItemRow, other: &ItemRow| {
        let times = one.completed_at.cmp(&other.completed_at);
        times.then_with(|| one.plan.place.cmp(&other.plan.place))
    };
    if done.len() > count_max {
        done.select_nth_unstable_by(count_max, |one, other| {
            let near = is_near(other).cmp(&is_near(one));
            near.then_with(|| when(other, one))
        });
        done.truncate(count_max);
    }
    done.sort_by(|one, other| when(one, other));
    done
}

/// Something that an attempt noticed, for those that come after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierFinding<'a> {
    /// The item that was worked on.
    pub node: &'a Node,
    /// What was noticed.
    pub seen: &'a Observation,
}

/// The findings of attempts, each once, at most so many of the latest; `attempts`
/// oldest first. What was in the way of an item stays with that item.
#[must_use]
pub fn earlier_findings<'a>(
    attempts: &[&'a AttemptRow],
    count_max: usize,
) -> Vec<EarlierFinding<'a>> {
    let mut titles = HashSet::new();
    let mut found: Vec<EarlierFinding<'a>> = Vec::new();
    for row in attempts.iter().rev() {
        let seen = row.report.iter().flat_map(|report| &report.observations);
        let findings = seen.filter(|seen| seen.kind == ObservationKind::Finding);
        for seen in findings.rev() {
            if titles.insert(seen.title.trim().to_lowercase()) {
                found.push(EarlierFinding {
                    node: &row.node,
                    seen,
                });
            }
        }
    }
    found.truncate(count_max);
    found.reverse();
    found
}

/// What an attempt at an item starts from. `done` names what the item waited
/// for and is done; none where that is not known.
#[must_use]
pub(crate) fn context_of_item(item: &ItemRow, done: Option<Vec<String>>) -> AttemptContext {
    let followed = item.tries.recovery.as_ref();
    AttemptContext {
        retry_count: (item.tries.retries > 0).then_some(u64::from(item.tries.retries)),
        previous_failure_reason: item.error.clone(),
        recovery_action: followed.map(|followed| followed.action),
        recovery_guidance: followed.map(|followed| followed.guidance.clone()),
        dependencies_completed: done.filter(|done| !done.is_empty()),
        ..AttemptContext::default()
    }
}
