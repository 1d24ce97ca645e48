//! Time and ids that a test can predict: from a seed, and moved by hand.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use piton_core::id::{AttemptId, CommandId, DecisionId, EventId, RunId};
use piton_store::Clock;
use uuid::Uuid;

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The numbers of that seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }
}

/// Ids from a seed.
#[derive(Clone, Debug)]
pub struct Ids(Chance);

impl Ids {
    /// The ids of that seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Chance::seeded(seed))
    }

    /// The next id.
    pub fn uuid(&mut self) -> Uuid {
        let high = u128::from(self.0.number());
        uuid::Builder::from_u128(high << 64 | u128::from(self.0.number()))
            .with_version(uuid::Version::SortRand)
            .into_uuid()
    }

    /// An id for a command.
    pub fn command(&mut self) -> CommandId {
        CommandId(self.uuid())
    }

    /// An id for a run.
    pub fn run(&mut self) -> RunId {
        RunId(self.uuid())
    }

    /// An id for an attempt.
    pub fn attempt(&mut self) -> AttemptId {
        AttemptId(self.uuid())
    }

    /// An id for a decision.
    pub fn decision(&mut self) -> DecisionId {
        DecisionId(self.uuid())
    }
}

/// A clock that stands still until a test moves it. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct TestClock(Arc<Mutex<Inside>>);

#[derive(Debug)]
struct Inside {
    now: Timestamp,
    ids: Ids,
}

impl TestClock {
    /// A clock at noon of the first of November 2026, with ids of that seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let now = Timestamp::from_second(1_793_534_400).expect("a time of this century");
        Self(Arc::new(Mutex::new(Inside {
            now,
            ids: Ids::seeded(seed),
        })))
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the time, back or forth.
    pub fn step_s(&self, seconds: i64) {
        self.step(SignedDuration::from_secs(seconds));
    }

    /// Moves the time, back or forth.
    pub fn step(&self, by: SignedDuration) {
        let mut inside = self.inside();
        inside.now = inside
            .now
            .checked_add(by)
            .expect("tests stay in this century");
    }

    /// Sets the time.
    pub fn set(&self, now: Timestamp) {
        self.inside().now = now;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.inside().now
    }

    fn event_id(&self, _time: Timestamp, _nth: u32) -> EventId {
        EventId(self.inside().ids.uuid())
    }
}
