//! How often the file of a plan is written: a large one takes its time, and the run
//! does not wait for it at each step.

use jiff::{SignedDuration, Timestamp};

/// Up to this size a file follows every change at once.
const SMALL_BYTES: usize = 256 << 10;
/// A larger one follows so much time after the last write, or so many times as long as
/// that took.
const PAUSE_MIN: SignedDuration = SignedDuration::from_millis(300);
const TIMES: i32 = 10;

/// When a file was written last, and how long that took.
#[derive(Debug, Default)]
pub(super) struct WritePace {
    began: Option<Timestamp>,
    took: SignedDuration,
}

impl WritePace {
    /// A write begins.
    pub(super) fn record_begin(&mut self, now: Timestamp) {
        self.began = Some(now);
    }

    /// What was to be done from `began` on is over; where that was no write, it says
    /// nothing of how long one takes.
    pub(super) fn record_end(&mut self, began: Timestamp, now: Timestamp) {
        if self.began == Some(began) {
            self.took = now.duration_since(began);
        }
    }

    /// Whether the time of a file of that size has come.
    pub(super) fn is_due(&self, bytes: usize, now: Timestamp) -> bool {
        let pause = PAUSE_MIN.max(self.took.saturating_mul(TIMES));
        let is_over = |began| now.duration_since(began) >= pause;
        bytes <= SMALL_BYTES || self.began.is_none_or(is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + milliseconds).expect("a time")
    }

    #[test]
    fn a_large_file_is_written_again_after_ten_times_what_a_write_takes() {
        let mut pace = WritePace::default();
        let large = 6 << 20;
        assert!(pace.is_due(large, at(0)));
        pace.record_begin(at(0));
        pace.record_end(at(0), at(200));
        // Looks at which nothing is written, in between, take no time.
        for look in [250, 400, 1_900] {
            assert!(!pace.is_due(large, at(look)), "at {look}");
            pace.record_end(at(look), at(look));
        }
        assert!(pace.is_due(large, at(2_000)));
        assert!(pace.is_due(10_000, at(201)), "a small one follows at once");
    }
}
