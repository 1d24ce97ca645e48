//! How far a clock may be off before it counts as wrong: see
//! `docs/design/0051-a-clock-that-jumps.md`.

use jiff::SignedDuration;

/// Two times that differ by more than this are not of the same clock: it jumped in
/// between.
pub const CLOCK_JUMP: SignedDuration = SignedDuration::from_hours(1);
