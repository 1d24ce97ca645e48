//! Whether an agent makes no progress: it works on, and changes nothing.
//!
//! Other than a circle ([`crate::stuck`]) it does new things all the time: it
//! reads, searches, runs commands. Only when much time *and* many calls went by
//! without a change does that count as a standstill; less is work.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use crate::amount;
use crate::call::{AgentCall, CallKind};

/// How long an agent may change nothing: both together are too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandstillBounds {
    /// Time since the last change, in seconds.
    pub quiet_s: u64,
    /// Calls of tools since then.
    pub calls: u32,
}

impl Default for StandstillBounds {
    fn default() -> Self {
        Self {
            quiet_s: 3_600,
            calls: 200,
        }
    }
}

/// A text that says no bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseStandstillBoundsError(String);

impl fmt::Display for ParseStandstillBoundsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a duration and a number of calls such as 60m/200",
            self.0
        )
    }
}

impl std::error::Error for ParseStandstillBoundsError {}

impl FromStr for StandstillBounds {
    type Err = ParseStandstillBoundsError;

    /// A duration and a number of calls: `60m/200`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseStandstillBoundsError(text.to_owned());
        let (quiet, calls) = text.split_once('/').ok_or_else(wrong)?;
        let quiet_s = amount::parse_duration(quiet).map_err(|_| wrong())?;
        let calls: u32 = calls.trim().parse().map_err(|_| wrong())?;
        if calls == 0 {
            return Err(wrong());
        }
        Ok(Self { quiet_s, calls })
    }
}

/// What an agent did since it last changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTracker {
    /// When that was; at first its start.
    changed_at: Timestamp,
    /// Calls of tools since then.
    calls: u32,
}

impl IdleTracker {
    /// An agent that starts now.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self {
            changed_at: now,
            calls: 0,
        }
    }

    /// Counts a call that is over. A file that was written is a change.
    pub fn count_call(&mut self, call: &AgentCall, now: Timestamp) {
        if call.kind == CallKind::Write && !call.failed {
            *self = Self::new(now);
        } else {
            self.calls = self.calls.saturating_add(1);
        }
    }

    /// The standstill that this is by now, in words; none while it is work.
    #[must_use]
    pub fn describe_standstill(&self, bounds: StandstillBounds, now: Timestamp) -> Option<String> {
        let quiet = now.as_second().saturating_sub(self.changed_at.as_second());
        let quiet_s = u64::try_from(quiet).unwrap_or(0);
        let is_standstill = quiet_s >= bounds.quiet_s && self.calls >= bounds.calls;
        is_standstill.then(|| {
            let (time, calls) = (amount::format_duration(quiet_s), self.calls);
            format!("it changed nothing in {time} and {calls} calls")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: StandstillBounds = StandstillBounds {
        quiet_s: 3_600,
        calls: 200,
    };

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(60 * minute).expect("within time")
    }

    fn after_calls(kind: CallKind, count: u32) -> IdleTracker {
        let mut since = IdleTracker::new(at(0));
        for number in 0..count {
            let call = AgentCall::new(kind, "Tool", &number.to_string());
            since.count_call(&call, at(0));
        }
        since
    }

    #[track_caller]
    fn check(calls: u32, minute: i64, expect: Option<&str>) {
        let since = after_calls(CallKind::Read, calls);
        let standstill = since.describe_standstill(BOUNDS, at(minute));
        assert_eq!(standstill.as_deref(), expect, "{calls} in {minute} m");
    }

    #[test]
    fn much_time_and_many_calls_together_are_a_standstill() {
        check(200, 60, Some("it changed nothing in 1h 00m and 200 calls"));
        check(
            5_000,
            61,
            Some("it changed nothing in 1h 01m and 5000 calls"),
        );
        check(199, 600, None);
        check(5_000, 59, None);
        check(0, 6_000, None);
    }

    #[test]
    fn a_file_that_was_written_begins_the_count_anew() {
        let mut since = after_calls(CallKind::Shell, 500);
        let written = AgentCall::new(CallKind::Write, "Write", "a.rs");
        let refused = AgentCall {
            failed: true,
            ..written.clone()
        };
        since.count_call(&refused, at(70));
        assert!(since.describe_standstill(BOUNDS, at(71)).is_some());
        since.count_call(&written, at(72));
        assert_eq!(since, IdleTracker::new(at(72)));
        assert_eq!(since.describe_standstill(BOUNDS, at(140)), None);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_standstill() {
        let since = after_calls(CallKind::Read, 500);
        assert_eq!(since.describe_standstill(BOUNDS, at(-600)), None);
    }

    #[test]
    fn bounds_are_a_duration_and_a_number_of_calls() {
        assert_eq!("60m/200".parse(), Ok(BOUNDS));
        assert_eq!(StandstillBounds::default(), BOUNDS);
        for wrong in [
            "60m", "/200", "60m/", "60m/0", "60/200", "0s/5", "60m/-1", "",
        ] {
            assert!(wrong.parse::<StandstillBounds>().is_err(), "{wrong}");
        }
    }
}
