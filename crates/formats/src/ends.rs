//! Large texts of which only the ends are read.
//!
//! What is new in a log comes behind what stands there. To show it, the beginning
//! and the last pieces of the text are enough, put together as if there were
//! nothing between: that is a text of the same format. What must not be touched
//! by it is looked at afterwards ([`TextEnds::first`]).

/// So much of a text is read at its end, in bytes.
pub const WINDOW_BYTES: usize = 8 << 10;

/// At most so much stands around the list, in windows.
const AROUND_MAX: usize = 8;
/// Of at most so many tasks it is known that something is open in what is left out.
const OPEN_MAX: usize = 64;

/// The ends of a large text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEnds {
    /// How long the beginning is.
    pub head: usize,
    /// Where the end begins.
    pub tail: usize,
    /// How long the first piece of the end is: an edit that changes it, or inserts
    /// something before it, needs the part that is left out.
    pub first: usize,
    /// The tasks of which something is said in what is left out that is changed
    /// when more happens to them.
    pub open: Vec<String>,
}

impl TextEnds {
    /// These, where something is left out and not much is read.
    #[must_use]
    pub fn if_useful(self, text: &str) -> Option<Self> {
        let around = self.head + text.len() - self.tail;
        let is_of_use = self.head < self.tail
            && around <= AROUND_MAX * WINDOW_BYTES
            && self.open.len() <= OPEN_MAX;
        is_of_use.then_some(self)
    }

    /// The text without what stands between.
    #[must_use]
    pub fn abridge(&self, text: &str) -> String {
        format!("{}{}", &text[..self.head], &text[self.tail..])
    }
}
