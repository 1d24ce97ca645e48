//! Where something stands in its source.

/// Where something stands in its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// The line of the first byte, counted from 1; 0 for a node that was made, not read.
    pub line: u32,
    /// The column of the first byte in characters, counted from 1.
    pub column: u32,
}

impl Span {
    /// The start of a file.
    pub(crate) const TOP: Self = Self {
        start: 0,
        end: 0,
        line: 1,
        column: 1,
    };
}
