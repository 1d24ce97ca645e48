//! The time of one invocation: it only goes forward, at the pace of a watch.
//!
//! The wall clock may jump. The store's time is not behind the last event, and neither is
//! this one, so that "in two seconds", counted by the store, is two seconds here, whatever
//! the wall clock says meanwhile. Where the store's time goes back by more than
//! [`CLOCK_JUMP`], because the clock had been ahead, this one follows.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use piton_core::journal::CLOCK_JUMP;

use crate::world::World;

/// The time of one invocation.
pub(super) struct RunClock {
    base: Timestamp,
    at: Duration,
}

impl RunClock {
    pub(super) fn new(world: &World) -> Self {
        Self {
            base: world.now(),
            at: world.uptime(),
        }
    }

    pub(super) fn now(&self, world: &World) -> Timestamp {
        let passed = world.uptime().saturating_sub(self.at);
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.base.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// The clock on the wall is past what is waited for: a clock that was set forward, or
    /// a machine that slept, ends a wait for a time.
    pub(super) fn catch_up(&mut self, world: &World, wall: Timestamp, wake: Option<Timestamp>) {
        if wake.is_some_and(|wake| wall >= wake) {
            self.advance_to(world, wall);
        }
    }

    /// An event was stored at this time: it is that late at least.
    pub(super) fn advance_to(&mut self, world: &World, time: Timestamp) {
        let behind = self.now(world).duration_since(time);
        if behind.is_negative() || behind > CLOCK_JUMP {
            self.base = time;
            self.at = world.uptime();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_jumps_over_what_is_waited_for_ends_the_wait() {
        let world = World::from_environment().expect("a folder");
        let mut clock = RunClock::new(&world);
        let hours = |hours| clock.now(&world) + SignedDuration::from_hours(hours);
        let (wake, back, half, over) = (hours(2), hours(-9), hours(1), hours(3));
        for wall in [back, half] {
            clock.catch_up(&world, wall, Some(wake));
            assert!(clock.now(&world) < half, "{wall}");
        }
        clock.catch_up(&world, over, None);
        assert!(clock.now(&world) < half, "nothing is waited for");
        clock.catch_up(&world, over, Some(wake));
        assert!(clock.now(&world) >= over);
    }

    #[test]
    fn an_event_from_the_future_moves_the_time_and_one_from_the_past_does_not() {
        let world = World::from_environment().expect("a folder");
        let mut clock = RunClock::new(&world);
        let before = clock.now(&world);
        clock.advance_to(&world, before - SignedDuration::from_mins(50));
        assert!(clock.now(&world) >= before);
        let later = before + SignedDuration::from_hours(9_000);
        clock.advance_to(&world, later);
        let now = clock.now(&world);
        assert!(
            now >= later && now < later + SignedDuration::from_secs(60),
            "{now}"
        );
    }
}
