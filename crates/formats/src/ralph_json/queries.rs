//! What seed 000 asks of a progress file, asked of rows.
//!
//! Attempts are expected oldest first. The words of the format hold: what
//! needs a person counts as blocked.

use std::collections::BTreeMap;

use piton_core::memory::{LearningType, MemoryKind, MemoryRow, PatternType};
use piton_core::observation::{Observation, ObservationCategory, ObservationKind};
use piton_core::{AttemptRow, Outcome};

/// What was noticed in the last `count` attempts that are over, oldest first.
#[must_use]
pub fn recent_observations(attempts: &[AttemptRow], count: usize) -> Vec<&Observation> {
    let over: Vec<&AttemptRow> = attempts.iter().filter(|row| row.report.is_some()).collect();
    let recent = over.iter().skip(over.len().saturating_sub(count));
    recent
        .flat_map(|row| observations_of_attempt(row))
        .collect()
}

/// What was noticed in the attempts at an item.
#[must_use]
pub fn observations_by_item<'r>(attempts: &'r [AttemptRow], item: &str) -> Vec<&'r Observation> {
    attempts_at_item(attempts, item)
        .flat_map(observations_of_attempt)
        .collect()
}

/// Everything that stopped an attempt.
#[must_use]
pub fn observed_blockers(attempts: &[AttemptRow]) -> Vec<&Observation> {
    let all = attempts.iter().flat_map(observations_of_attempt);
    all.filter(|observation| observation.kind == ObservationKind::Blocker)
        .collect()
}

/// Learnings of a type that are still to be followed.
#[must_use]
pub fn learnings_by_type(memories: &[MemoryRow], topic: LearningType) -> Vec<&MemoryRow> {
    memories_of_type(memories, MemoryKind::Learning, topic.as_str())
}

/// Patterns of a type that are still to be followed.
#[must_use]
pub fn patterns_by_type(memories: &[MemoryRow], topic: PatternType) -> Vec<&MemoryRow> {
    memories_of_type(memories, MemoryKind::Pattern, topic.as_str())
}

fn memories_of_type<'r>(
    memories: &'r [MemoryRow],
    kind: MemoryKind,
    topic: &str,
) -> Vec<&'r MemoryRow> {
    let all = memories.iter().filter(|row| row.retired.is_none());
    all.filter(|row| row.memory.kind == kind && row.memory.topic.as_deref() == Some(topic))
        .collect()
}

/// How often an item was tried since it was last completed. An attempt that
/// was interrupted says nothing about the item and does not count.
#[must_use]
pub fn retry_count(attempts: &[AttemptRow], item: &str) -> usize {
    let outcomes =
        attempts_at_item(attempts, item).filter_map(|row| Some(row.report.as_ref()?.outcome));
    let mut count = 0;
    for outcome in outcomes {
        match outcome {
            Outcome::Completed => count = 0,
            Outcome::Interrupted => {}
            Outcome::Failed | Outcome::Blocked | Outcome::Partial | Outcome::NeedsHuman => {
                count += 1;
            }
        }
    }
    count
}

/// The last attempt at an item that is over.
#[must_use]
pub fn last_finished_attempt<'r>(attempts: &'r [AttemptRow], item: &str) -> Option<&'r AttemptRow> {
    attempts_at_item(attempts, item)
        .filter(|row| row.report.is_some())
        .last()
}

/// How often each category was noticed in attempts that failed or were blocked.
#[must_use]
pub fn failure_categories(attempts: &[AttemptRow]) -> BTreeMap<ObservationCategory, usize> {
    let mut counts = BTreeMap::new();
    for row in attempts.iter().filter(|row| has_failed(row)) {
        for category in observations_of_attempt(row).filter_map(|observation| observation.category)
        {
            *counts.entry(category).or_default() += 1;
        }
    }
    counts
}

fn has_failed(row: &AttemptRow) -> bool {
    row.report.as_ref().is_some_and(|report| {
        matches!(
            report.outcome,
            Outcome::Failed | Outcome::Blocked | Outcome::NeedsHuman
        )
    })
}

fn observations_of_attempt(row: &AttemptRow) -> impl Iterator<Item = &Observation> {
    row.report.iter().flat_map(|report| &report.observations)
}

/// By the name that the item has in the file, or by its node.
fn attempts_at_item<'r>(
    attempts: &'r [AttemptRow],
    item: &str,
) -> impl Iterator<Item = &'r AttemptRow> {
    attempts
        .iter()
        .filter(move |row| row.item.as_deref().unwrap_or(row.node.as_str()) == item)
}
