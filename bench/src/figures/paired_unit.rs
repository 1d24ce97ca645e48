//! What two pitons are compared by.

use crate::sample::Subject;

/// A piece of work that two pitons are compared by.
pub struct PairedUnit<'b> {
    /// The budget's number: `P1`.
    pub id: &'static str,
    /// What is measured.
    pub what: String,
    /// How often it is done in a pair: more often where it is short.
    pub repeats: usize,
    /// The work.
    pub subject: Subject<'b>,
}

impl<'b> PairedUnit<'b> {
    pub(crate) fn new(id: &'static str, what: impl Into<String>, subject: Subject<'b>) -> Self {
        Self {
            id,
            what: what.into(),
            repeats: 1,
            subject,
        }
    }

    pub(super) fn repeated(mut self, repeats: usize) -> Self {
        self.repeats = repeats;
        self
    }
}
