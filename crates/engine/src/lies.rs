//! Single rules of evidence, switched off: for `bench/lies`, which shows that
//! each of them is needed.
//!
//! Only in a build with the feature `lies`; in any other one every rule holds.

use crate::world::World;

/// A rule that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvidenceRule {
    /// Without a check a verdict is required.
    Verdict,
    /// A check that passes proves nothing where nothing came between.
    CheckNeedsChange,
    /// Checks run before first attempts.
    Baseline,
    /// Agents may not decide.
    Fence,
    /// What an agent marks in the file of its plan is a claim.
    Marks,
    /// Weakened proof is asked about.
    Weakened,
    /// An attempt that failed completes nothing.
    FailedAttempt,
    /// The agent's word alone is asked about.
    WordAsks,
}

impl EvidenceRule {
    #[cfg(feature = "lies")]
    fn name(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::CheckNeedsChange => "check-needs-change",
            Self::Baseline => "baseline",
            Self::Fence => "fence",
            Self::Marks => "marks",
            Self::Weakened => "weakened",
            Self::FailedAttempt => "failed-attempt",
            Self::WordAsks => "word-asks",
        }
    }

    /// Whether the rule is switched off.
    #[cfg(feature = "lies")]
    pub(crate) fn is_off(self, world: &World) -> bool {
        world.var("PITON_LIES_WITHOUT") == Some(self.name())
    }

    /// Whether the rule is switched off: never in this build.
    #[cfg(not(feature = "lies"))]
    pub(crate) fn is_off(self, _world: &World) -> bool {
        false
    }
}
