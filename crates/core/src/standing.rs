//! What an item means for the state of its run, and the state that follows.
//!
//! The state of a run is never moved by hand between running, waiting, blocked
//! and done: it follows from the items ([`state_of_run`]) after every decision.
//! `new`, `paused` and `interrupted` come from requests, limits and deaths. Why
//! it is so: `docs/design/0014-run-state.md`.

use serde::{Deserialize, Serialize};

use crate::item::{ItemRow, ItemState, Stage};
use crate::run::{Pause, RunRow, RunState};

/// What an item means for the state of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemStanding {
    /// It is neither finished nor next: it waits for other items, or what is
    /// next stands below it.
    Open,
    /// The runner has something to do with it: it is ready or under way, or
    /// waits for a time or a command.
    Active,
    /// It waits for a person.
    Asking,
    /// It failed, or is blocked, itself and not because of what lies below it.
    Broken,
    /// It is done or skipped.
    Finished,
}

impl ItemStanding {
    /// The number in the column of the tables.
    #[must_use]
    pub fn column_value(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Active => 1,
            Self::Asking => 2,
            Self::Broken => 3,
            Self::Finished => 4,
        }
    }
}

impl ItemRow {
    /// What it means for the state of its run.
    #[must_use]
    pub fn standing(&self) -> ItemStanding {
        match self.state {
            ItemState::Done | ItemState::Skipped | ItemState::Dropped => ItemStanding::Finished,
            ItemState::Pending => ItemStanding::Open,
            ItemState::Ready if self.is_leaf() || self.has_open_wait() => ItemStanding::Active,
            ItemState::Ready => ItemStanding::Open,
            ItemState::Working if self.is_leaf() || self.stage != Stage::Work => {
                ItemStanding::Active
            }
            ItemState::Working => ItemStanding::Open,
            ItemState::Waiting if self.people.human.is_some() => ItemStanding::Asking,
            ItemState::Waiting if self.is_leaf() || self.has_open_wait() => ItemStanding::Active,
            ItemState::Waiting => ItemStanding::Asking,
            ItemState::Failed | ItemState::Blocked if self.open_children == 0 => {
                ItemStanding::Broken
            }
            ItemState::Failed | ItemState::Blocked => ItemStanding::Open,
        }
    }

    /// Whether the runner has something to do with it: a leaf that may be
    /// started or waits for a time, any node past its [`Stage::Work`], or one whose
    /// wait is not over.
    #[must_use]
    pub fn is_actionable(&self) -> bool {
        self.standing() == ItemStanding::Active
    }
}

/// How many items of a run stand how; those that are open or finished are not
/// counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandingCounts {
    /// Those with which the runner has something to do.
    pub active: u64,
    /// Those that wait for a person.
    pub asking: u64,
    /// Those that failed or are blocked.
    pub broken: u64,
}

impl StandingCounts {
    /// The counts over these items.
    pub fn count_items<'a>(items: impl Iterator<Item = &'a ItemRow>) -> Self {
        let mut counts = Self::default();
        items.for_each(|item| counts.add(item.standing()));
        counts
    }

    /// Counts one more.
    pub fn add(&mut self, standing: ItemStanding) {
        if let Some(count) = self.count_mut(standing) {
            *count += 1;
        }
    }

    /// Counts one less.
    pub fn remove(&mut self, standing: ItemStanding) {
        if let Some(count) = self.count_mut(standing) {
            *count = count.saturating_sub(1);
        }
    }

    fn count_mut(&mut self, standing: ItemStanding) -> Option<&mut u64> {
        match standing {
            ItemStanding::Active => Some(&mut self.active),
            ItemStanding::Asking => Some(&mut self.asking),
            ItemStanding::Broken => Some(&mut self.broken),
            ItemStanding::Open | ItemStanding::Finished => None,
        }
    }
}

/// The state of a run whose items stand so: the definition.
///
/// `new`, `paused` and, while something is left to be started, `interrupted`
/// stay: requests, limits and deaths decide on them. A run that waited, was
/// blocked or done and has something to be started again is interrupted: it
/// goes on with the next `piton run`, or with the runner that stayed.
#[must_use]
pub fn state_of_run(row: &RunRow, items: &StandingCounts) -> RunState {
    let at_breakpoint = matches!(row.pause, Some(Pause::Breakpoint { .. }));
    if matches!(row.state, RunState::New | RunState::Paused) {
        return row.state;
    }
    if at_breakpoint {
        return RunState::Waiting;
    }
    if row.open_roots == 0 {
        return RunState::Done;
    }
    let in_trouble = match (items.asking, items.broken) {
        (1.., _) => Some(RunState::Waiting),
        (0, 1..) => Some(RunState::Blocked),
        (0, 0) => None,
    };
    if let Some(state) = in_trouble.filter(|_| row.invocation.limits.stop_on_failure) {
        return state;
    }
    match (items.active, row.state) {
        (1.., RunState::Running) => RunState::Running,
        (1.., _) => RunState::Interrupted,
        // What is open and never can become ready is blocked as well.
        (0, _) => in_trouble.unwrap_or(RunState::Blocked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Limits;

    #[track_caller]
    fn check(now: RunState, (active, asking, broken): (u64, u64, u64), state: RunState) {
        let items = StandingCounts {
            active,
            asking,
            broken,
        };
        assert_eq!(state_of_run(&run(now, 3), &items), state);
    }

    fn run(state: RunState, open_roots: u32) -> RunRow {
        let row = serde_json::json!({
            "id": "018f0000-0000-7000-8000-000000000000", "name": "a",
            "plan": { "face": "list", "source": "prd.json", "policy": {} },
            "state": state, "since": "2026-01-01T00:00:00Z",
            "created_at": "2026-01-01T00:00:00Z", "invocation": { "invocations": 1 },
            "fence": 1, "open_roots": open_roots,
        });
        serde_json::from_value(row).expect("a row")
    }

    #[test]
    fn trouble_holds_up_nothing_that_can_go_on() {
        use RunState::{Blocked, Done, Interrupted, Running, Waiting};
        check(Running, (1, 2, 3), Running);
        check(Running, (0, 2, 3), Waiting);
        check(Running, (0, 0, 3), Blocked);
        // Nothing is left that could ever make the rest ready.
        check(Running, (0, 0, 0), Blocked);
        check(Interrupted, (1, 0, 0), Interrupted);
        check(Interrupted, (0, 1, 0), Waiting);
        check(Waiting, (1, 0, 0), Interrupted);
        check(Blocked, (1, 1, 0), Interrupted);
        check(Done, (1, 0, 0), Interrupted);
        check(RunState::New, (0, 0, 1), RunState::New);
        check(RunState::Paused, (0, 1, 0), RunState::Paused);
    }

    #[test]
    fn a_run_without_open_items_is_done_unless_it_was_not_begun_or_is_paused() {
        let none = StandingCounts::default();
        let of = |state| state_of_run(&run(state, 0), &none);
        assert_eq!(of(RunState::Running), RunState::Done);
        assert_eq!(of(RunState::Interrupted), RunState::Done);
        assert_eq!(of(RunState::New), RunState::New);
        assert_eq!(of(RunState::Paused), RunState::Paused);
    }

    #[test]
    fn a_run_that_stops_on_failure_stops_though_more_is_ready() {
        let mut row = run(RunState::Running, 3);
        row.invocation.limits = Limits {
            stop_on_failure: true,
            ..Limits::default()
        };
        let mut items = StandingCounts {
            active: 5,
            asking: 0,
            broken: 1,
        };
        assert_eq!(state_of_run(&row, &items), RunState::Blocked);
        items.asking = 1;
        assert_eq!(state_of_run(&row, &items), RunState::Waiting);
        items = StandingCounts::default();
        items.active = 1;
        assert_eq!(state_of_run(&row, &items), RunState::Running);
    }
}
