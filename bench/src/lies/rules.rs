//! The rules of piton that the table stands for, each of which can be switched
//! off in a piton that is built with the feature `lies`.

/// The variable by which such a piton is told which rule to leave out.
pub const SWITCH: &str = "PITON_LIES_WITHOUT";

/// A rule of piton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Without a check a verdict is required.
    Verdict,
    /// A check proves an item only if something came between.
    CheckNeedsChange,
    /// A check runs before the first attempt.
    Baseline,
    /// An agent may not use the commands of a person.
    Fence,
    /// What an agent marks in a file is not believed.
    Marks,
    /// A weakened proof is asked about.
    Weakened,
    /// An attempt that failed completes nothing.
    FailedAttempt,
    /// An agent's word alone is asked about, except in sprints.
    WordAsks,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Verdict,
        Self::CheckNeedsChange,
        Self::Baseline,
        Self::Fence,
        Self::Marks,
        Self::Weakened,
        Self::FailedAttempt,
        Self::WordAsks,
    ];

    /// Its name, as the variable holds it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

    /// The rule of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == name)
    }
}
