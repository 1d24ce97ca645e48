//! The time where no [`World`](super::World) is at hand.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A time as people read it, local, to the second, with its zone.
#[must_use]
pub fn local_time_with_seconds(time: Timestamp) -> String {
    let local = time.to_zoned(TimeZone::system());
    local.strftime("%F %T %Z").to_string()
}

/// Lets some time pass.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that makes the world"
)]
pub fn pause(time: std::time::Duration) {
    std::thread::sleep(time);
}
