//! What an attempt came to.

use piton_core::Outcome;
use piton_core::attempt::Report;

use super::{Said, Verdict};
use crate::answer::{self, Ended};

/// Makes a report of what a program said and of how it ended.
#[must_use]
pub fn report(said: Said, ended: &Ended) -> Report {
    if said.verdict == Verdict::Succeeded {
        return answer::report(&said.words, ended);
    }
    Report::bare(Outcome::Failed)
}
