//! Markdown that people and agents write, read line by line and changed in place.
//!
//! Block structure (fences, comments, headings, nesting) comes from
//! `pulldown_cmark`; what a line *says* is read from the line itself, because
//! what is met in the wild is often not what CommonMark takes it for: `3. [ ] x`
//! right below a paragraph is a criterion to its author. An edit is a
//! splice of bytes, so whatever it does not touch stays as it is.

mod items;
mod scan;
mod words;

use std::ops::Range;

use thiserror::Error;

use crate::tree::Span;

pub(crate) use items::{ListItem, indent_columns, parse_marker};
pub(crate) use words::{dedent, escape_block_start, indent_lines, to_one_line, unescape};

/// Why an edit was not made. The text stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EditError {
    /// The thing to change is not in the text.
    #[error("no {what} `{name}` in this file")]
    Missing {
        /// What was looked for: `criterion`, `sign`, `open blocker`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A thing of this name is there already.
    #[error("a {what} `{name}` is already in this file")]
    Exists {
        /// What was to be added.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The changed text would not say what was meant, as behind a code fence
    /// that is never closed.
    #[error("{what} `{name}` would not be read back from this file")]
    NotReadBack {
        /// What was to be written.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

impl EditError {
    pub(crate) fn missing(what: &'static str, name: impl Into<String>) -> Self {
        let name = name.into();
        Self::Missing { what, name }
    }

    pub(crate) fn not_read_back(what: &'static str, name: impl Into<String>) -> Self {
        let name = name.into();
        Self::NotReadBack { what, name }
    }
}

/// Gives a changed text out where it says what was meant.
pub(crate) fn confirm_edit(
    is_said: bool,
    out: String,
    what: &'static str,
    name: impl Into<String>,
) -> Result<String, EditError> {
    if is_said {
        Ok(out)
    } else {
        Err(EditError::not_read_back(what, name))
    }
}

/// What a line is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Text, a list item or anything without a kind of its own.
    Text,
    /// Nothing but blanks.
    Blank,
    /// A line of a fenced or indented block, its fences too.
    Code,
    /// A line that begins within an HTML comment.
    Comment,
    /// A line of raw HTML whose contents are no Markdown, such as `<pre>`.
    Html,
    /// A quoted line.
    Quote,
    /// A `#` heading outside of lists and quotes, or one underlined with `=`.
    Heading(u8),
    /// `---` and its like, also where CommonMark sees a heading above it.
    Rule,
}

/// A heading and how far its section goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heading {
    /// The line it stands on.
    pub(crate) line: usize,
    /// 1 to 6.
    pub(crate) level: u8,
    /// The line of the next heading that is not below this one.
    pub(crate) end: usize,
}

/// A text, cut into lines whose kinds are known. Lines count from 0 here.
pub(crate) struct Doc<'t> {
    pub(crate) text: &'t str,
    /// Where each line starts, and the end of the text.
    starts: Vec<usize>,
    kinds: Vec<LineKind>,
    pub(crate) headings: Vec<Heading>,
}

impl<'t> Doc<'t> {
    pub(crate) fn line_count(&self) -> usize {
        self.kinds.len()
    }

    pub(crate) fn kind_of_line(&self, line: usize) -> LineKind {
        self.kinds[line]
    }

    /// The bytes of a line without its line end.
    pub(crate) fn line_range(&self, line: usize) -> Range<usize> {
        let start = self.starts[line];
        let full = &self.text[start..self.starts[line + 1]];
        let bare = full.strip_suffix('\n').unwrap_or(full);
        let bare = bare.strip_suffix('\r').unwrap_or(bare);
        start..start + bare.len()
    }

    pub(crate) fn line(&self, line: usize) -> &'t str {
        &self.text[self.line_range(line)]
    }

    /// Where a line starts; for the line behind the last, the end of the text.
    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.starts[line]
    }

    /// Where the words of a line end, before blanks and the line end.
    pub(crate) fn words_end(&self, line: usize) -> usize {
        self.starts[line] + self.line(line).trim_end().len()
    }

    /// The line end that this text uses.
    pub(crate) fn newline(&self) -> &'static str {
        newline_of(self.text)
    }

    /// The place of some bytes, which start within a line of this text.
    pub(crate) fn span_of_bytes(&self, bytes: Range<usize>) -> Span {
        let line = self
            .starts
            .partition_point(|start| *start <= bytes.start)
            .saturating_sub(1)
            .min(self.line_count().saturating_sub(1));
        let from = self.starts.get(line).copied().unwrap_or_default();
        let before = self.text.get(from..bytes.start).unwrap_or_default();
        let before = before.strip_prefix('\u{feff}').unwrap_or(before);
        Span {
            start: bytes.start,
            end: bytes.end,
            line: to_u32(line + 1),
            column: to_u32(before.chars().count() + 1),
        }
    }

    /// The place of the words of a line.
    pub(crate) fn line_span(&self, line: usize) -> Span {
        let range = self.line_range(line);
        let lead = range.len() - self.text[range.clone()].trim_start().len();
        self.span_of_bytes(range.start + lead..self.words_end(line).max(range.start + lead))
    }

    /// The text of a heading, without its marks.
    pub(crate) fn heading_text(&self, heading: &Heading) -> &'t str {
        let line = self
            .line(heading.line)
            .trim_start_matches('\u{feff}')
            .trim();
        let text = line.trim_start_matches('#').trim();
        match text.trim_end_matches('#') {
            bare if bare.len() < text.len() && bare.ends_with([' ', '\t']) => bare.trim_end(),
            _ => text,
        }
    }

    /// The last line of `lines` that is not blank, a rule or one of `skip`.
    pub(crate) fn last_content_line(
        &self,
        lines: Range<usize>,
        skip: impl Fn(&Self, usize) -> bool,
    ) -> Option<usize> {
        lines.rev().find(|line| {
            !matches!(self.kind_of_line(*line), LineKind::Blank | LineKind::Rule)
                && !skip(self, *line)
        })
    }
}

/// The line end of the first line, which the rest of a file mostly shares.
pub(crate) fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// `text` with `bytes` exchanged for `new`.
pub(crate) fn replace_range(text: &str, bytes: Range<usize>, new: &str) -> String {
    let mut out = String::with_capacity(text.len() + new.len());
    out.push_str(&text[..bytes.start]);
    out.push_str(new);
    out.push_str(&text[bytes.end..]);
    out
}

/// `text` with `new` put in at `at`, its line ends made those of the text.
pub(crate) fn insert_at(text: &str, at: usize, new: &str) -> String {
    replace_range(text, at..at, &with_newline(new, newline_of(text)))
}

pub(crate) fn with_newline(text: &str, newline: &str) -> String {
    if newline == "\n" {
        return text.to_owned();
    }
    text.replace('\n', newline)
}

pub(crate) fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Whether `text` starts with a date such as `2026-01-31`.
pub(crate) fn has_date_prefix(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
