//! Where a store takes its time and the chance in its ids from.

use jiff::Timestamp;
use piton_core::EventId;
use uuid::Uuid;

/// The time and the ids of a store.
///
/// The store itself sees to it that the time of a stream does not run backwards by
/// little: a clock may jump.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// A fresh id (UUIDv7) for the `nth` event (from 0) of a commit at `time`.
    ///
    /// The order of the ids of one commit is the order of its events.
    fn event_id(&self, time: Timestamp, nth: u32) -> EventId {
        let nanos = u32::try_from(time.subsec_nanosecond()).unwrap_or(0);
        let seconds = u64::try_from(time.as_second()).unwrap_or(0);
        // The microseconds within the millisecond fill the 12 bits after it,
        // the number of the event the 20 after those; 42 are left to chance.
        let within = u128::from(nanos / 1_000 % 1_000) * 4;
        let counter = within << 20 | u128::from(nth & 0xF_FFFF);
        EventId(Uuid::new_v7(uuid::Timestamp::from_unix_time(
            seconds, nanos, counter, 32,
        )))
    }
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the store's clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// The time as it is stored: whole microseconds.
pub(crate) fn truncate_to_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_commit_and_of_later_microseconds_are_in_order() {
        let early = Timestamp::from_microsecond(1_700_000_000_123_456).expect("in range");
        let late = Timestamp::from_microsecond(1_700_000_000_123_457).expect("in range");
        let ids: Vec<EventId> = [(early, 0), (early, 1), (early, 70_000), (late, 0)]
            .map(|(time, nth)| SystemClock.event_id(time, nth))
            .into();
        assert!(ids.is_sorted(), "{ids:?}");
        assert!(ids.iter().all(|id| id.0.get_version_num() == 7));
    }
}
