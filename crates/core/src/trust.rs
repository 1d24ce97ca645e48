//! How far something remembered is to be trusted: told from who recorded it and
//! from what came of it. Never stored, so that it is never older than either.

use crate::actor::Actor;
use crate::word::words;

words! {
    /// How far something remembered is to be trusted, the most first.
    Trust {
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

/// How far to trust what `by` recorded, in the words of [`Actor`], after so many
/// attempts that had it in their prompt succeeded and failed.
#[must_use]
pub fn assess_trust(by: &str, helped: u64, failed: u64) -> Trust {
    if is_doubted(helped, failed) {
        return Trust::Doubted;
    }
    if helped >= PROVEN_FROM && helped > failed.saturating_mul(OUTWEIGHS) {
        return Trust::Proven;
    }
    match Actor::parse(by) {
        Actor::Person(_) => Trust::Told,
        Actor::File(_) => Trust::Read,
        Actor::Runner(_) | Actor::Agent(_) => Trust::Noticed,
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
    fn trust_is_told_from_the_record_and_then_from_the_source() {
        for (by, helped, failed, expected) in [
            ("person:ada", 0, 0, Trust::Told),
            ("ada", 0, 0, Trust::Told),
            ("file:.ralph/progress.json", 0, 0, Trust::Read),
            ("runner:yard/41", 0, 0, Trust::Noticed),
            ("agent:keel-1", 0, 0, Trust::Noticed),
            // Once may be chance.
            ("agent:keel-1", 1, 0, Trust::Noticed),
            ("agent:keel-1", 2, 0, Trust::Proven),
            ("agent:keel-1", 2, 1, Trust::Noticed),
            ("file:a.md", 3, 1, Trust::Proven),
            ("person:ada", 0, 2, Trust::Told),
            // A person may be wrong, too.
            ("person:ada", 0, 3, Trust::Doubted),
            ("person:ada", 1, 3, Trust::Doubted),
            ("person:ada", 2, 4, Trust::Told),
            ("person:ada", 2, 5, Trust::Doubted),
            ("person:ada", u64::MAX, u64::MAX, Trust::Told),
        ] {
            assert_eq!(
                assess_trust(by, helped, failed),
                expected,
                "{by} {helped} {failed}"
            );
        }
    }

    #[test]
    fn what_is_doubted_is_never_proven() {
        for helped in 0..20 {
            for failed in 0..20 {
                let doubted = assess_trust("person:ada", helped, failed) == Trust::Doubted;
                assert_eq!(doubted, is_doubted(helped, failed), "{helped} {failed}");
            }
        }
    }
}
