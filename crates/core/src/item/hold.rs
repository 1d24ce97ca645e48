//! An item that a person works on, outside of piton, for a time.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::clock::CLOCK_JUMP;
use crate::wait::format_minute;

/// A person works on an item: until it is over, no runner starts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemHold {
    /// Who.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
    /// Until when, unless the person gives it back before.
    pub until: Timestamp,
}

impl ItemHold {
    /// Whether it holds at this time. One that was taken under a clock that was ahead
    /// does not: see `docs/design/0051-a-clock-that-jumps.md`.
    #[must_use]
    pub fn holds_at(&self, now: Timestamp) -> bool {
        now < self.until && self.since.duration_since(now) <= CLOCK_JUMP
    }
}

impl fmt::Display for ItemHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "taken by {} until {}",
            self.by,
            format_minute(self.until)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_under_a_clock_that_was_ahead_does_not_hold() {
        let time = |text: &str| text.parse::<Timestamp>().expect("a time");
        let hold = ItemHold {
            by: "ada".to_owned(),
            since: time("2026-01-15T10:00:00Z"),
            until: time("2026-01-15T12:00:00Z"),
        };
        for (now, holds) in [
            ("2026-01-15T10:00:00Z", true),
            ("2026-01-15T11:59:59Z", true),
            ("2026-01-15T12:00:00Z", false),
            // Set back by less than a jump, and by more.
            ("2026-01-15T09:00:00Z", true),
            ("2026-01-15T08:59:59Z", false),
        ] {
            assert_eq!(hold.holds_at(time(now)), holds, "{now}");
        }
        assert_eq!(hold.to_string(), "taken by ada until 2026-01-15T12:00Z");
    }
}
