//! The four rules of seed 000, as its document writes them in Go: what it says
//! and nothing else, over its own `progress.json`.
//!
//! Three things the document leaves open. They are given by whoever asks: which
//! blocker is `similar` to a failure and which learning is `relevant` to it
//! ([`Matches`]), and `inferLearningType`, which no rule here looks at.

use jiff::Timestamp;
use piton_bench::seed000::{
    Action, Category, Context, Entry, Learning, LearningType, Observation, ObservationType,
    Progress, Recovery, Status,
};

/// From more such observations on, the tools are at fault.
const FRICTION_MANY: usize = 3;

/// After so many attempts a person decides.
const ATTEMPTS_MAX: usize = 3;

/// What the document leaves open.
pub(super) trait Matches {
    fn is_similar(&self, blocker: &str, detail: &str) -> bool;
    fn is_relevant(&self, learning: &str, detail: &str) -> bool;
}

/// `ExecutionContext`.
pub(super) struct Prepared {
    pub(super) iteration: usize,
    pub(super) retry_count: usize,
    pub(super) previous_failure_reason: Option<String>,
    /// The contents of the learnings.
    pub(super) learnings: Vec<String>,
    pub(super) warns_of_friction: bool,
}

/// `PrepareExecution`.
pub(super) fn prepare_execution(progress: &Progress, item: &str) -> Prepared {
    let last = progress.entries.iter().rev().find(|e| e.prd_id == item);
    let failed = last.filter(|entry| entry.status != Status::Completed);
    let retries = |entry: &Entry| entry.context.as_ref().map_or(0, |c| c.retry_count);
    let of_type = |kind| valid_learnings(progress, kind).map(|l| l.content.clone());
    Prepared {
        iteration: attempts(progress, item) + 1,
        retry_count: failed.map_or(0, |entry| {
            usize::try_from(retries(entry)).expect("a count") + 1
        }),
        previous_failure_reason: failed.map(|entry| entry.summary.clone()),
        learnings: of_type(LearningType::CodebasePattern)
            .chain(of_type(LearningType::ErrorWorkaround))
            .collect(),
        warns_of_friction: friction(progress) > FRICTION_MANY,
    }
}

/// `GetFailurePatterns`, of the one category that is looked at.
fn friction(progress: &Progress) -> usize {
    let failed = progress
        .entries
        .iter()
        .filter(|entry| [Status::Failed, Status::Blocked].contains(&entry.status));
    failed
        .flat_map(|entry| &entry.observations)
        .filter(|seen| seen.category == Some(Category::ToolingFriction))
        .count()
}

/// `GetRetryCount`: the attempts at an item, whatever came of them.
pub(super) fn attempts(progress: &Progress, item: &str) -> usize {
    let entries = progress.entries.iter();
    entries.filter(|entry| entry.prd_id == item).count()
}

/// `GetLearningsByType`.
fn valid_learnings(
    progress: &Progress,
    kind: LearningType,
) -> impl Iterator<Item = &Learning> + '_ {
    let learnings = progress.learnings.iter();
    learnings.filter(move |learning| learning.kind == kind && learning.still_valid)
}

/// `RecordExecution`: the entry that it appends.
pub(super) fn record_execution(result: Entry) -> Entry {
    Entry {
        id: format!("{}-{}", result.prd_id, result.iteration),
        ..result
    }
}

/// `ExtractLearnings`.
pub(super) fn extract_learnings(progress: &Progress, entry: &Entry) -> Vec<Learning> {
    let seen = entry.observations.iter();
    let kept = seen.filter(|seen| {
        seen.action_taken == Some(Action::Documented)
            || seen.category == Some(Category::Architecture)
    });
    kept.map(|seen| Learning {
        id: format!("learning-{:04}", progress.learnings.len() + 1),
        kind: LearningType::ErrorWorkaround,
        content: seen.description.clone(),
        context: format!("Discovered while working on {}", entry.prd_id),
        source_prd_id: entry.prd_id.clone(),
        source_entry_id: entry.id.clone(),
        created_at: Timestamp::UNIX_EPOCH,
        times_referenced: 0,
        still_valid: true,
    })
    .collect()
}

/// What `DecideRecovery` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    /// `manual`: it was tried often enough.
    TooManyAttempts,
    /// `retry`, with this guidance.
    Retry(String),
    /// `manual`: nothing was found.
    NothingFound,
}

/// `DecideRecovery`. The attempts are given, because how they are counted is
/// one of the differences.
pub(super) fn decide_recovery(
    progress: &Progress,
    detail: &str,
    attempts: usize,
    matches: &dyn Matches,
) -> Decided {
    if attempts >= ATTEMPTS_MAX {
        return Decided::TooManyAttempts;
    }
    let mut found = advice(progress, detail, matches);
    found.next().map_or(Decided::NothingFound, Decided::Retry)
}

/// What helps against a failure, in the order in which the rule comes to it.
pub(super) fn advice<'p>(
    progress: &'p Progress,
    detail: &'p str,
    matches: &'p dyn Matches,
) -> impl Iterator<Item = String> + 'p {
    resolutions(progress, detail, matches).chain(workarounds(progress, detail, matches))
}

/// How blockers like this failure were resolved.
pub(super) fn resolutions<'p>(
    progress: &'p Progress,
    detail: &'p str,
    matches: &'p dyn Matches,
) -> impl Iterator<Item = String> + 'p {
    let blockers = progress.entries.iter().flat_map(|entry| {
        let seen = entry.observations.iter();
        seen.filter(|seen| seen.kind == ObservationType::Blocker)
            .map(move |seen| (entry, seen))
    });
    let similar = blockers.filter(move |(_, seen)| matches.is_similar(&seen.title, detail));
    similar.filter_map(move |(entry, seen)| find_workaround(progress, entry, seen))
}

/// The learnings of the one type that are about this failure.
pub(super) fn workarounds<'p>(
    progress: &'p Progress,
    detail: &'p str,
    matches: &'p dyn Matches,
) -> impl Iterator<Item = String> + 'p {
    valid_learnings(progress, LearningType::ErrorWorkaround)
        .filter(move |learning| matches.is_relevant(&learning.content, detail))
        .map(|learning| learning.content.clone())
}

/// `findWorkaround`, which the document does not write out: the guidance with
/// which a later attempt at the same item was completed.
fn find_workaround(progress: &Progress, entry: &Entry, _blocker: &Observation) -> Option<String> {
    let later = progress.entries.iter().filter(|later| {
        later.prd_id == entry.prd_id
            && later.iteration > entry.iteration
            && later.status == Status::Completed
    });
    let guidance = later.filter_map(|later| later.context.as_ref());
    guidance
        .map(|context| context.recovery_guidance.clone())
        .find(|guidance| !guidance.is_empty())
}

/// The context of the entry that an attempt will have: what it was prepared
/// with, and what was decided before it.
pub(super) fn context(prepared: &Prepared, decided: Option<(Recovery, String)>) -> Context {
    let (action, guidance) = decided.unzip();
    Context {
        retry_count: i64::try_from(prepared.retry_count).expect("a count"),
        previous_failure_reason: prepared.previous_failure_reason.clone().unwrap_or_default(),
        recovery_action: action,
        recovery_guidance: guidance.unwrap_or_default(),
        ..Context::default()
    }
}
