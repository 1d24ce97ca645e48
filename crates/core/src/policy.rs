//! What a plan says of retries, limits and commits.

mod of_item;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::classify::FailureCategory;
use crate::dollars::Dollars;
use crate::item::state::ItemState;
use crate::iteration_hook::IterationHook;
use crate::request::Proposals;
use crate::review::ReviewPolicy;

/// When a failed attempt is made again without asking anybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// How often an item is tried again at most.
    pub retries_max: u32,
    /// How long to wait before each retry, in milliseconds; the last value
    /// serves for all later ones. Never empty.
    pub backoff_ms: Vec<u64>,
    /// The kinds of failure that are worth another try after a pause.
    pub categories: Vec<FailureCategory>,
    /// After a failure of any other kind an item is tried again at once, until
    /// it was tried again so often.
    #[serde(default)]
    pub at_once_max: u32,
}

/// When a failed item is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryTime {
    /// As soon as its turn comes.
    AtOnce,
    /// Not before this time.
    After(Timestamp),
}

/// How often an item is tried in all when each attempt fails for a reason of its
/// own. Source: the limit of attempts in the recovery of seed 000.
pub const ATTEMPTS_MAX: u32 = 3;

impl Default for RetryPolicy {
    /// What holds when a plan says nothing: failures of the network, rate
    /// limits and timeouts are tried again 3 times, after 2, 10 and 60 seconds;
    /// every other failure at once, up to 3 attempts in all.
    fn default() -> Self {
        Self {
            retries_max: 3,
            backoff_ms: vec![2_000, 10_000, 60_000],
            categories: vec![
                FailureCategory::Network,
                FailureCategory::RateLimit,
                FailureCategory::Timeout,
            ],
            at_once_max: ATTEMPTS_MAX - 1,
        }
    }
}

impl RetryPolicy {
    /// When an item that was tried again `retries` times already, and now
    /// failed with `category`, is to be tried again; none for never.
    #[must_use]
    pub fn next_try(
        &self,
        category: FailureCategory,
        retries: u32,
        now: Timestamp,
    ) -> Option<RetryTime> {
        if !self.categories.contains(&category) {
            return (retries < self.at_once_max).then_some(RetryTime::AtOnce);
        }
        if retries >= self.retries_max {
            return None;
        }
        let last = self.backoff_ms.len().saturating_sub(1);
        let index = usize::try_from(retries).unwrap_or(usize::MAX).min(last);
        let wait_ms = self.backoff_ms.get(index).copied().unwrap_or(1_000);
        // A wait longer than a year is a typing mistake, and must not overflow.
        let wait = SignedDuration::from_millis(
            i64::try_from(wait_ms)
                .unwrap_or(i64::MAX)
                .min(31_536_000_000),
        );
        Some(RetryTime::After(
            now.checked_add(wait).unwrap_or(Timestamp::MAX),
        ))
    }
}

/// An attempt that breaks off so often in a row has failed.
pub const BROKEN_OFF_MAX: u32 = 3;

/// A service that had enough is asked again after so long at the earliest, in
/// seconds; each time in a row after twice as long, up to an hour.
const PUT_OFF_MIN_S: i64 = 10;
/// Longest wait for one, in seconds: the longest window that is known is a week.
const PUT_OFF_MAX_S: i64 = 8 * 86_400;

/// A service that never says when it serves again is asked so often in a row,
/// for some five hours; then a person is.
pub const PUT_OFF_TIMES_MAX: u32 = 12;

/// Until when what was put off waits, for a service that says that it serves
/// again at `resets`, for the time in a row that `times` says, from 1.
#[must_use]
pub fn rate_limit_wait_end(resets: Timestamp, times: u32, now: Timestamp) -> Timestamp {
    let doubled = PUT_OFF_MIN_S << times.saturating_sub(1).min(9);
    let least = doubled.min(3_600);
    let said = resets.duration_since(now).as_secs();
    // A clock that is wrong, here or there, must not make it wait for ever.
    let wait = said.clamp(least, PUT_OFF_MAX_S);
    now.checked_add(SignedDuration::from_secs(wait))
        .unwrap_or(Timestamp::MAX)
}

/// What stops a run. Absent means no limit.
///
/// The first three count for one invocation of `piton run`; budgets for all of
/// them together: see [`crate::budget`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Agents started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations_max: Option<u32>,
    /// Steps and simple phases completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_max: Option<u32>,
    /// Time since the invocation began, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_box_s: Option<u64>,
    /// Dollars that the run may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<Dollars>,
    /// Tokens that the run may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    /// Dollars that all runs of the project may use together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_usd: Option<Dollars>,
    /// Tokens that all runs of the project may use together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_tokens: Option<u64>,
    /// The first item that fails, or waits for a person, stops the run though
    /// others are ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_on_failure: bool,
}

impl Limits {
    /// Whether something bounds what attempts may use.
    #[must_use]
    pub fn has_budget(&self) -> bool {
        let usd = self.budget_usd.or(self.project_usd);
        let tokens = self.budget_tokens.or(self.project_tokens);
        usd.is_some() || tokens.is_some()
    }

    /// These limits, each replaced by that of `other` where it has one.
    #[must_use]
    pub fn with_overrides(&self, other: &Self) -> Self {
        Self {
            iterations_max: other.iterations_max.or(self.iterations_max),
            tasks_max: other.tasks_max.or(self.tasks_max),
            time_box_s: other.time_box_s.or(self.time_box_s),
            budget_usd: other.budget_usd.or(self.budget_usd),
            budget_tokens: other.budget_tokens.or(self.budget_tokens),
            project_usd: other.project_usd.or(self.project_usd),
            project_tokens: other.project_tokens.or(self.project_tokens),
            stop_on_failure: self.stop_on_failure || other.stop_on_failure,
        }
    }
}

/// What becomes of what waits for an item that failed for good. A person is asked
/// about the failed item itself in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnDependencyFailure {
    /// It is left out, with all that waits for it in turn.
    SkipDependents,
    /// Nothing more is begun in the list of the failed item, where one of that
    /// waits for others.
    FailPhase,
    /// It begins as if the failed item were finished.
    Continue,
}

/// What a plan says of how it is run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// When to try again.
    #[serde(default)]
    pub retry: RetryPolicy,
    /// When to stop.
    #[serde(default)]
    pub limits: Limits,
    /// Whether each task is committed.
    #[serde(default)]
    pub auto_commit: bool,
    /// What an agent is told after each item, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iteration_hooks: Vec<IterationHook>,
    /// How steps are taken in that agents propose; none where the plan does not
    /// say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposals: Option<Proposals>,
    /// How many items are worked on at once, 0 for as many as the project says;
    /// none where the plan does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_max: Option<u32>,
    /// What becomes of what waits for an item that failed; without it, that waits
    /// for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_dependency_failure: Option<OnDependencyFailure>,
    /// Whether an agent reviews what is made of an item; none where no agent does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewPolicy>,
    /// In which repositories it is worked on, where its plan says that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repositories: Option<Repositories>,
}

/// The repositories of a run, by the names that its plan has for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repositories {
    /// What the plan calls the one in which the project lies.
    pub own: Vec<String>,
    /// The others.
    pub others: Vec<String>,
}

impl Policy {
    /// The repository of an item of which the plan says `name`; none is the one in which
    /// the project lies. One that the run does not know is kept, so that no runner works
    /// on the item in another one.
    ///
    /// Where the run knows none, every name is that of the repository at hand.
    #[must_use]
    pub fn resolve_repository(&self, name: Option<String>) -> Option<String> {
        let known = self.repositories.as_ref()?;
        name.filter(|name| !known.own.contains(name))
    }

    /// Whether it is worked on in other repositories than that of the project as well.
    #[must_use]
    pub fn has_several_repositories(&self) -> bool {
        let known = self.repositories.as_ref();
        known.is_some_and(|known| !known.others.is_empty())
    }

    /// The settings without those keys of the plan that a run ignores.
    #[must_use]
    pub fn without_ignored_keys(mut self, ignored: &[String]) -> Self {
        let is_ignored = |key: &str| ignored.iter().any(|ignored| ignored == key);
        if is_ignored("per-iteration-hooks") {
            self.iteration_hooks.clear();
        }
        if is_ignored("orchestration") {
            self.proposals = None;
        }
        self
    }

    /// Whether an item in this state holds up none that waits for it.
    #[must_use]
    pub fn can_proceed_after(&self, state: ItemState) -> bool {
        let passes_broken = self.on_dependency_failure == Some(OnDependencyFailure::Continue);
        state.is_finished() || (passes_broken && state.is_broken())
    }

    /// Whether steps that agents propose need no person.
    #[must_use]
    pub fn is_auto_approving(&self) -> bool {
        let proposals = self.proposals.as_ref();
        proposals.is_some_and(|proposals| proposals.auto_approve)
    }

    /// Whether work goes on, or is left out, behind an item that failed.
    fn can_pass_failures(&self) -> bool {
        matches!(
            self.on_dependency_failure,
            Some(OnDependencyFailure::Continue | OnDependencyFailure::SkipDependents)
        )
    }

    /// Whether it stops later than another one: a limit is higher or gone, more
    /// is tried again, steps that agents propose need no person any more, what
    /// is done is not committed any more or reviewed otherwise, or what waits for a
    /// failed item does not wait any more.
    #[must_use]
    pub fn is_looser_than(&self, other: &Self) -> bool {
        fn is_raised<T: PartialOrd>(now: Option<T>, before: Option<T>) -> bool {
            before.is_some_and(|before| now.is_none_or(|now| now > before))
        }
        let (now, before) = (&self.limits, &other.limits);
        let (retry, old) = (&self.retry, &other.retry);
        let tries_more = retry
            .categories
            .iter()
            .any(|one| !old.categories.contains(one));
        is_raised(now.iterations_max, before.iterations_max)
            || is_raised(now.tasks_max, before.tasks_max)
            || is_raised(now.time_box_s, before.time_box_s)
            || is_raised(now.budget_usd, before.budget_usd)
            || is_raised(now.budget_tokens, before.budget_tokens)
            || is_raised(now.project_usd, before.project_usd)
            || is_raised(now.project_tokens, before.project_tokens)
            || retry.retries_max > old.retries_max
            || retry.at_once_max > old.at_once_max
            || tries_more
            || (other.auto_commit && !self.auto_commit)
            || (other.review.is_some() && self.review != other.review)
            || (self.is_auto_approving() && !other.is_auto_approving())
            || (self.can_pass_failures()
                && self.on_dependency_failure != other.on_dependency_failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(category: FailureCategory, retries: u32, wait_s: Option<i64>) {
        let now = Timestamp::UNIX_EPOCH;
        let next = RetryPolicy::default().next_try(category, retries, now);
        let seconds = next.map(|next| match next {
            RetryTime::AtOnce => 0,
            RetryTime::After(time) => time.as_second(),
        });
        assert_eq!(seconds, wait_s);
    }

    #[test]
    fn the_default_tries_outside_failures_again_three_times_after_a_pause() {
        check(FailureCategory::Network, 0, Some(2));
        check(FailureCategory::RateLimit, 1, Some(10));
        check(FailureCategory::Timeout, 2, Some(60));
        check(FailureCategory::Timeout, 3, None);
    }

    #[test]
    fn the_default_tries_every_other_failure_again_at_once_up_to_three_attempts() {
        check(FailureCategory::Validation, 0, Some(0));
        check(FailureCategory::Logic, 1, Some(0));
        check(FailureCategory::Logic, 2, None);
    }

    #[test]
    fn a_plan_that_says_what_is_tried_again_means_nothing_else() {
        let retry: RetryPolicy = serde_json::from_value(serde_json::json!({
            "retries_max": 2, "backoff_ms": [10], "categories": ["network"],
        }))
        .expect("a policy of retries");
        assert_eq!(
            retry.next_try(FailureCategory::Logic, 0, Timestamp::UNIX_EPOCH),
            None
        );
    }

    #[test]
    fn what_is_put_off_waits_for_the_reset_within_reason() {
        let now = Timestamp::from_second(1_000_000).expect("within time");
        #[track_caller]
        fn check(now: Timestamp, resets_in_s: i64, times: u32, wait_s: i64) {
            let resets = now + SignedDuration::from_secs(resets_in_s);
            let until = rate_limit_wait_end(resets, times, now);
            assert_eq!(until.duration_since(now).as_secs(), wait_s);
        }
        check(now, 3_600, 1, 3_600);
        // A reset that is over by now, again and again, is no reason to spin.
        check(now, -5, 1, 10);
        check(now, 0, 4, 80);
        check(now, 0, 30, 3_600);
        check(now, 400 * 86_400, 1, 8 * 86_400);
    }

    #[test]
    fn a_backoff_beyond_all_time_does_not_overflow() {
        let retry = RetryPolicy {
            backoff_ms: vec![u64::MAX],
            ..RetryPolicy::default()
        };
        assert!(
            retry
                .next_try(FailureCategory::Network, 0, Timestamp::MAX)
                .is_some()
        );
    }
}
