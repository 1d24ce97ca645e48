//! From text to lines with kinds.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{Doc, Heading, LineKind};

/// How many bytes of blanks and markers at the start of a line may nest.
///
/// A parser looks at every open list and quote again for every line, so
/// nesting without a bound costs the square of the file's size.
const PREFIX_MAX: usize = 120;

/// How raw HTML begins whose contents are no Markdown, comments aside.
const RAW_HTML: [&str; 6] = ["<pre", "<script", "<style", "<textarea", "<!", "<?"];

impl<'t> Doc<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self::with_head(text, 0)
    }

    /// Reads `text`, of which the first `head` bytes are no Markdown.
    pub(crate) fn with_head(text: &'t str, head: usize) -> Self {
        let starts = line_starts(text);
        let line_count = starts.len() - 1;
        let mut doc = Doc {
            text,
            starts,
            kinds: vec![LineKind::Text; line_count],
            headings: Vec::new(),
        };
        for line in 0..line_count {
            if doc.line(line).trim().is_empty() {
                doc.kinds[line] = LineKind::Blank;
            }
        }
        let mut scan = MarkdownScan {
            base: head + bom_len(&text[head..]),
            depth: 0,
            line: 0,
            code_with_comment: Vec::new(),
            doc,
        };
        scan.scan_blocks();
        scan.mark_comments();
        scan.mark_quotes();
        let mut doc = scan.doc;
        doc.headings = collect_headings(&doc.kinds);
        doc
    }
}

fn bom_len(text: &str) -> usize {
    if text.starts_with('\u{feff}') { 3 } else { 0 }
}

/// The start of every line, and the end of the text.
fn line_starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    if starts.last() != Some(&text.len()) {
        starts.push(text.len());
    }
    starts
}

struct MarkdownScan<'t> {
    doc: Doc<'t>,
    /// Where the parsed part of the text starts.
    base: usize,
    /// How many lists, items and quotes are open.
    depth: usize,
    /// The line of the last event; events come in the order of the text.
    line: usize,
    /// Inline code in which `<!--` begins no comment.
    code_with_comment: Vec<Range<usize>>,
}

impl MarkdownScan<'_> {
    fn scan_blocks(&mut self) {
        let text = self.doc.text;
        let shallow = limit_nesting(&text[self.base..]);
        for (event, range) in Parser::new_ext(&shallow, Options::empty()).into_offset_iter() {
            let bytes = self.base + range.start..self.base + range.end;
            match event {
                Event::Start(tag) => self.open_tag(&tag, bytes),
                Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) => {
                    self.depth = self.depth.saturating_sub(1);
                }
                Event::Code(_) if text[bytes.clone()].contains("<!--") => {
                    self.code_with_comment.push(bytes);
                }
                Event::Rule if self.depth == 0 => self.mark_lines(bytes, LineKind::Rule),
                Event::End(_)
                | Event::Rule
                | Event::Text(_)
                | Event::Code(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::Html(_)
                | Event::InlineHtml(_)
                | Event::FootnoteReference(_)
                | Event::SoftBreak
                | Event::HardBreak
                | Event::TaskListMarker(_) => {}
            }
        }
    }

    fn open_tag(&mut self, tag: &Tag<'_>, bytes: Range<usize>) {
        if matches!(tag, Tag::BlockQuote(_) | Tag::List(_) | Tag::Item) {
            self.depth += 1;
        } else if matches!(tag, Tag::CodeBlock(_)) {
            self.mark_lines(bytes, LineKind::Code);
        } else if matches!(tag, Tag::HtmlBlock) {
            self.mark_html(bytes);
        } else if let Tag::Heading { level, .. } = tag
            && self.depth == 0
        {
            // The variants of a heading level are its numbers.
            let level = u8::try_from(*level as usize).unwrap_or(1);
            self.mark_heading(bytes, level);
        }
    }

    fn mark_html(&mut self, bytes: Range<usize>) {
        let start = self.doc.text[bytes.clone()].trim_start();
        if start.starts_with("<!--") {
            self.mark_lines(bytes, LineKind::Comment);
        } else if RAW_HTML.iter().any(|raw| has_prefix(start, raw)) {
            self.mark_lines(bytes, LineKind::Html);
        }
    }

    /// A line above `---` is text above a separator: a program that appends `---`
    /// to a file does not check that the last line is blank.
    fn mark_heading(&mut self, bytes: Range<usize>, level: u8) {
        let first = self.line_at(bytes.start);
        let text = self.doc.line(first).trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('#') {
            self.doc.kinds[first] = LineKind::Heading(level);
            return;
        }
        let last = self.last_line_of(&bytes);
        if level == 1 {
            self.doc.kinds[first] = LineKind::Heading(1);
        }
        if last > first {
            self.doc.kinds[last] = LineKind::Rule;
        }
    }

    fn mark_lines(&mut self, bytes: Range<usize>, kind: LineKind) {
        let first = self.line_at(bytes.start);
        let last = self.last_line_of(&bytes);
        for line in first..=last {
            if kind != LineKind::Comment || self.doc.kinds[line] != LineKind::Blank {
                self.doc.kinds[line] = kind;
            }
        }
    }

    fn line_at(&mut self, at: usize) -> usize {
        while self.line + 1 < self.doc.kinds.len() && self.doc.starts[self.line + 1] <= at {
            self.line += 1;
        }
        self.line
    }

    fn last_line_of(&self, bytes: &Range<usize>) -> usize {
        let last = bytes.end.saturating_sub(1).max(bytes.start);
        let behind = self.doc.starts.partition_point(|start| *start <= last);
        behind
            .saturating_sub(1)
            .min(self.doc.kinds.len().saturating_sub(1))
    }

    /// Comments that begin within a line. The parser ends them at the next list
    /// item, which their author did not mean.
    fn mark_comments(&mut self) {
        let text = self.doc.text;
        let mut at = self.base;
        let mut spans = std::mem::take(&mut self.code_with_comment)
            .into_iter()
            .peekable();
        self.line = 0;
        while let Some(found) = text[at..].find("<!--") {
            let open = at + found;
            at = open + 4;
            while spans.next_if(|span| span.end <= open).is_some() {}
            let in_span = spans.peek().is_some_and(|span| span.start <= open);
            let line = self.line_at(open);
            if in_span || matches!(self.doc.kinds[line], LineKind::Code | LineKind::Html) {
                continue;
            }
            let Some(close) = text[at..].find("-->") else {
                return;
            };
            let close = at + close;
            self.mark_comment(open, close);
            at = close + 3;
        }
    }

    fn mark_comment(&mut self, open: usize, close: usize) {
        let first = self.line_at(open);
        let last = self.last_line_of(&(open..close + 1));
        for line in first..=last {
            let begins_inside = line > first
                || self.doc.text[self.doc.starts[line]..open]
                    .trim_start_matches('\u{feff}')
                    .trim()
                    .is_empty();
            if begins_inside && self.doc.kinds[line] != LineKind::Blank {
                self.doc.kinds[line] = LineKind::Comment;
            }
        }
    }

    /// Only lines with a `>` of their own are quoted: `2. [ ] x` below a quote
    /// belongs to it by the letter of CommonMark, but its author did not mean that.
    fn mark_quotes(&mut self) {
        for line in 0..self.doc.kinds.len() {
            if self.doc.kinds[line] != LineKind::Comment
                && self.doc.line(line).trim_start().starts_with('>')
                && self.doc.starts[line] >= self.base
                && self.doc.kinds[line] != LineKind::Code
            {
                self.doc.kinds[line] = LineKind::Quote;
            }
        }
    }
}

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// The same text with nesting cut off: byte for byte as long, so that places
/// in one are places in the other.
fn limit_nesting(text: &str) -> Cow<'_, str> {
    if !text.split('\n').any(|line| prefix_len(line) > PREFIX_MAX) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let prefix = prefix_len(line);
        if prefix <= PREFIX_MAX || line.len() - prefix <= 1 {
            out.push_str(line);
            continue;
        }
        out.push_str(&line[..PREFIX_MAX]);
        out.extend(std::iter::repeat_n('x', prefix - PREFIX_MAX));
        out.push_str(&line[prefix..]);
    }
    Cow::Owned(out)
}

/// How many bytes at the start of a line could open or go on with nesting.
fn prefix_len(line: &str) -> usize {
    let nests = |byte: &u8| matches!(byte, b' ' | b'\t' | b'>' | b'-' | b'+' | b'*' | b'.' | b')');
    let blank = line.trim_end().is_empty();
    if blank {
        return 0;
    }
    line.bytes()
        .take_while(|byte| nests(byte) || byte.is_ascii_digit())
        .count()
}

/// Every heading with the end of its section.
fn collect_headings(kinds: &[LineKind]) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (line, kind) in kinds.iter().enumerate() {
        let LineKind::Heading(level) = *kind else {
            continue;
        };
        while let Some(last) = open.pop_if(|last| found[*last].level >= level) {
            found[last].end = line;
        }
        open.push(found.len());
        found.push(Heading {
            line,
            level,
            end: kinds.len(),
        });
    }
    found
}
