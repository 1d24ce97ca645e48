//! What a report consists of, before it is Markdown or HTML: blocks of spans.
//!
//! The texts are as they were recorded. The writers, [`super::markdown`] and
//! [`super::html`], make them harmless.

/// Some words in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// Plain text.
    Text(String),
    /// Text that matters more.
    Strong(String),
    /// A command, a path or a name.
    Code(String),
    /// Where something stands.
    State(Tone, String),
}

/// What a state means for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Waiting,
    Plain,
}

/// A line of text.
pub(crate) type Line = Vec<Span>;

pub(crate) fn text(text: impl Into<String>) -> Span {
    Span::Text(text.into())
}

pub(crate) fn strong(text: impl Into<String>) -> Span {
    Span::Strong(text.into())
}

pub(crate) fn code(text: impl Into<String>) -> Span {
    Span::Code(text.into())
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    /// A heading: of the report (1), of a part of it (2) or of a list (3).
    Heading(u8, Line),
    /// A paragraph.
    Paragraph(Line),
    /// Points, each in a line.
    List(Vec<Line>),
    /// What a program printed, line by line.
    Output(Vec<String>),
    /// How a whole is divided, with what each part is.
    Shares(Vec<(Tone, usize)>),
    /// A table.
    Table {
        /// The heads of the columns.
        head: Vec<&'static str>,
        /// A row has as many cells as there are heads.
        rows: Vec<Vec<Line>>,
    },
    /// A table that has a bar in each row behind the first cell.
    Bars {
        /// The heads of the columns, that of the bars aside.
        head: Vec<&'static str>,
        /// How long each bar is, and the cells of its row; no bar where that is unknown.
        rows: Vec<(Option<f64>, Vec<Line>)>,
    },
}
