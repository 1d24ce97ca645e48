//! How much confidence something remembered deserves: told from who recorded it and
//! from what came of it. Never stored, so that it is never older than either.

use crate::actor::Actor;
use crate::word::words;

words! {
    /// How much confidence something remembered deserves, the most first.
    Confidence {
        /// It helped, and more than once.
        Proven = "proven",
        /// A person said it.
        Told = "told",
        /// It stood in a file.
        Read = "read",
        /// An agent noticed it, and nothing has confirmed it.
        Noticed = "noticed",
        /// Attempts that had it in their prompt failed, most of them.
        Doubted = "doubted",
    }
}

/// So often something helps before it is proven: once may be chance.
const PROVEN_FROM: u64 = 2;
/// So often attempts fail with something before it is doubted: seed 000 takes
/// an item from the agents after as many.
const DOUBTED_FROM: u64 = 3;
/// So many times the other side of the record counts.
const OUTWEIGHS: u64 = 2;

/// How much confidence to have in what `by` recorded, in the words of [`Actor`], after so many
/// attempts that had it in their prompt succeeded and failed.
#[must_use]
pub fn assess_confidence(by: &str, helped: u64, failed: u64) -> Confidence {
    if is_doubted(helped, failed) {
        return Confidence::Doubted;
    }
    if helped >= PROVEN_FROM && helped > failed.saturating_mul(OUTWEIGHS) {
        return Confidence::Proven;
    }
    match Actor::parse(by) {
        Actor::Person(_) => Confidence::Told,
        Actor::File(_) => Confidence::Read,
        Actor::Runner(_) | Actor::Agent(_) => Confidence::Noticed,
    }
}

/// Whether a record speaks against following something any longer. An attempt
/// fails for many reasons: one failure, or two, say nothing.
#[must_use]
pub fn is_doubted(helped: u64, failed: u64) -> bool {
    failed >= DOUBTED_FROM && failed > helped.saturating_mul(OUTWEIGHS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_told_from_the_record_and_then_from_the_source() {
        for (by, helped, failed, expected) in [
            ("person:ada", 0, 0, Confidence::Told),
            ("ada", 0, 0, Confidence::Told),
            ("file:.ralph/progress.json", 0, 0, Confidence::Read),
            ("runner:yard/41", 0, 0, Confidence::Noticed),
            ("agent:keel-1", 0, 0, Confidence::Noticed),
            // Once may be chance.
            ("agent:keel-1", 1, 0, Confidence::Noticed),
            ("agent:keel-1", 2, 0, Confidence::Proven),
            ("agent:keel-1", 2, 1, Confidence::Noticed),
            ("file:a.md", 3, 1, Confidence::Proven),
            ("person:ada", 0, 2, Confidence::Told),
            // A person may be wrong, too.
            ("person:ada", 0, 3, Confidence::Doubted),
            ("person:ada", 1, 3, Confidence::Doubted),
            ("person:ada", 2, 4, Confidence::Told),
            ("person:ada", 2, 5, Confidence::Doubted),
            ("person:ada", u64::MAX, u64::MAX, Confidence::Told),
        ] {
            assert_eq!(
                assess_confidence(by, helped, failed),
                expected,
                "{by} {helped} {failed}"
            );
        }
    }

    #[test]
    fn what_is_doubted_is_never_proven() {
        for helped in 0..20 {
            for failed in 0..20 {
                let doubted =
                    assess_confidence("person:ada", helped, failed) == Confidence::Doubted;
                assert_eq!(doubted, is_doubted(helped, failed), "{helped} {failed}");
            }
        }
    }
}
