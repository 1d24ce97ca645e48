//! List items, by their lines.

use std::ops::Range;

use super::{Doc, LineKind};

/// The mark at the start of a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    /// Columns before it.
    pub(crate) indent: usize,
    /// The number of an ordered item.
    pub(crate) number: Option<u64>,
    /// Where the words start, counted in bytes from the start of the line.
    pub(crate) content: usize,
}

/// An item and the lines that belong to it.
#[derive(Clone, Debug)]
pub(crate) struct ListItem {
    pub(crate) marker: Marker,
    /// From its first line to the one behind its last that is not blank.
    pub(crate) lines: Range<usize>,
}

/// The mark of a list item, if `line` begins with one.
pub(crate) fn parse_marker(line: &str) -> Option<Marker> {
    let indent = indent_columns(line);
    let rest = line.trim_start_matches([' ', '\t', '\u{feff}']);
    let before = line.len() - rest.len();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, width) = match (digits, rest.as_bytes().get(digits)) {
        (0, Some(b'-' | b'*' | b'+')) => (None, 1),
        (1..=9, Some(b'.' | b')')) => (rest[..digits].parse().ok(), digits + 1),
        _ => return None,
    };
    let words = &rest[width..];
    if !words.is_empty() && !words.starts_with([' ', '\t']) {
        return None;
    }
    let blanks = words.len() - words.trim_start_matches([' ', '\t']).len();
    Some(Marker {
        indent,
        number,
        content: before + width + blanks,
    })
}

/// The column at which the words of a line start.
pub(crate) fn indent_columns(line: &str) -> usize {
    let mut column = 0;
    for byte in line.trim_start_matches('\u{feff}').bytes() {
        match byte {
            b' ' => column += 1,
            b'\t' => column += 4 - column % 4,
            _ => break,
        }
    }
    column
}

impl Doc<'_> {
    /// The outermost list items within `lines`.
    ///
    /// `foreign` names lines that belong to no item although CommonMark takes them
    /// for the end of an item's paragraph.
    pub(crate) fn list_items(
        &self,
        lines: Range<usize>,
        foreign: impl Fn(&str) -> bool,
    ) -> Vec<ListItem> {
        let mut found: Vec<ListItem> = Vec::new();
        let mut open = false;
        for line in lines {
            let text = self.line(line);
            if text.trim().is_empty() {
                continue;
            }
            let last = found.last().filter(|_| open);
            if last.is_some_and(|item| self.is_continued_by(item, line)) && !foreign(text) {
                open = true;
                if let Some(item) = found.last_mut() {
                    item.lines.end = line + 1;
                }
                continue;
            }
            open = false;
            if let (LineKind::Text, Some(marker)) = (self.kind_of_line(line), parse_marker(text)) {
                open = true;
                found.push(ListItem {
                    marker,
                    lines: line..line + 1,
                });
            }
        }
        found
    }

    /// Whether `line`, which is not blank, belongs to `item` above it.
    fn is_continued_by(&self, item: &ListItem, line: usize) -> bool {
        let text = self.line(line);
        let deeper = indent_columns(text) > item.marker.indent;
        let adjoins = item.lines.end == line;
        match self.kind_of_line(line) {
            LineKind::Heading(_) | LineKind::Rule => false,
            LineKind::Comment | LineKind::Html => deeper,
            LineKind::Text => match parse_marker(text) {
                Some(marker) => marker.indent > item.marker.indent + 1,
                None => deeper || adjoins,
            },
            LineKind::Code | LineKind::Quote | LineKind::Blank => deeper || adjoins,
        }
    }

    /// The lines of an item's own words: before a blank line and before what
    /// is nested in it.
    pub(crate) fn own_lines(&self, item: &ListItem) -> Range<usize> {
        let first = item.lines.start;
        let end = (first + 1..item.lines.end)
            .find(|line| {
                self.kind_of_line(*line) != LineKind::Text
                    || parse_marker(self.line(*line)).is_some()
            })
            .unwrap_or(item.lines.end);
        first..end
    }

    /// An item's own words in one line, `from` bytes into its first one.
    pub(crate) fn item_text(&self, item: &ListItem, from: usize) -> String {
        let lines = self.own_lines(item);
        let first = self.line(lines.start).get(from..).unwrap_or_default();
        let mut out = first.trim().to_owned();
        for line in lines.start + 1..lines.end {
            out.push(' ');
            out.push_str(self.line(line).trim());
        }
        out.trim().to_owned()
    }
}
