//! From text to lines with kinds.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{Doc, Heading, Kind};

/// How many bytes of blanks and markers at the start of a line may nest.
///
/// A parser looks at every open list and quote again for every line, so
/// nesting without a bound costs the square of the file's size.
const PREFIX_MAX: usize = 120;

/// How raw HTML begins whose contents are no Markdown, comments aside.
const RAW_HTML: [&str; 6] = ["<pre", "<script", "<style", "<textarea", "<!", "<?"];

pub(super) fn scan(text: &str, head: usize) -> Doc<'_> {
    let starts = line_starts(text);
    let line_count = starts.len() - 1;
    let mut doc = Doc {
        text,
        starts,
        kinds: vec![Kind::Text; line_count],
        headings: Vec::new(),
    };
    for line in 0..line_count {
        if doc.line(line).trim().is_empty() {
            doc.kinds[line] = Kind::Blank;
        }
    }
    let mut scan = Scan {
        base: head + bom(&text[head..]),
        depth: 0,
        line: 0,
        code_with_comment: Vec::new(),
        doc,
    };
    scan.blocks();
    scan.comments();
    scan.quotes();
    let mut doc = scan.doc;
    doc.headings = headings(&doc.kinds);
    doc
}

fn bom(text: &str) -> usize {
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

struct Scan<'t> {
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

impl Scan<'_> {
    fn blocks(&mut self) {
        let text = self.doc.text;
        let shallow = shallow(&text[self.base..]);
        for (event, range) in Parser::new_ext(&shallow, Options::empty()).into_offset_iter() {
            let bytes = self.base + range.start..self.base + range.end;
            match event {
                Event::Start(tag) => self.opened(&tag, bytes),
                Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) => {
                    self.depth = self.depth.saturating_sub(1);
                }
                Event::Code(_) if text[bytes.clone()].contains("<!--") => {
                    self.code_with_comment.push(bytes);
                }
                Event::Rule if self.depth == 0 => self.mark(bytes, Kind::Rule),
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

    fn opened(&mut self, tag: &Tag<'_>, bytes: Range<usize>) {
        if matches!(tag, Tag::BlockQuote(_) | Tag::List(_) | Tag::Item) {
            self.depth += 1;
        } else if matches!(tag, Tag::CodeBlock(_)) {
            self.mark(bytes, Kind::Code);
        } else if matches!(tag, Tag::HtmlBlock) {
            self.html(bytes);
        } else if let Tag::Heading { level, .. } = tag
            && self.depth == 0
        {
            // The variants of a heading level are its numbers.
            let level = u8::try_from(*level as usize).unwrap_or(1);
            self.heading(bytes, level);
        }
    }

    fn html(&mut self, bytes: Range<usize>) {
        let start = self.doc.text[bytes.clone()].trim_start();
        if start.starts_with("<!--") {
            self.mark(bytes, Kind::Comment);
        } else if RAW_HTML.iter().any(|raw| starts_with(start, raw)) {
            self.mark(bytes, Kind::Html);
        }
    }

    /// A line above `---` is text above a separator: nobody who appends `---`
    /// to a file looks whether the last line was blank.
    fn heading(&mut self, bytes: Range<usize>, level: u8) {
        let first = self.line_of(bytes.start);
        let text = self.doc.line(first).trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('#') {
            self.doc.kinds[first] = Kind::Heading(level);
            return;
        }
        let last = self.last_line(&bytes);
        if level == 1 {
            self.doc.kinds[first] = Kind::Heading(1);
        }
        if last > first {
            self.doc.kinds[last] = Kind::Rule;
        }
    }

    fn mark(&mut self, bytes: Range<usize>, kind: Kind) {
        let first = self.line_of(bytes.start);
        let last = self.last_line(&bytes);
        for line in first..=last {
            if kind != Kind::Comment || self.doc.kinds[line] != Kind::Blank {
                self.doc.kinds[line] = kind;
            }
        }
    }

    fn line_of(&mut self, at: usize) -> usize {
        while self.line + 1 < self.doc.kinds.len() && self.doc.starts[self.line + 1] <= at {
            self.line += 1;
        }
        self.line
    }

    fn last_line(&self, bytes: &Range<usize>) -> usize {
        let last = bytes.end.saturating_sub(1).max(bytes.start);
        let behind = self.doc.starts.partition_point(|start| *start <= last);
        behind
            .saturating_sub(1)
            .min(self.doc.kinds.len().saturating_sub(1))
    }

    /// Comments that begin within a line. The parser ends them at the next list
    /// item; whoever wrote one did not mean that.
    fn comments(&mut self) {
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
            let line = self.line_of(open);
            if in_span || matches!(self.doc.kinds[line], Kind::Code | Kind::Html) {
                continue;
            }
            let Some(close) = text[at..].find("-->") else {
                return;
            };
            let close = at + close;
            self.comment(open, close);
            at = close + 3;
        }
    }

    fn comment(&mut self, open: usize, close: usize) {
        let first = self.line_of(open);
        let last = self.last_line(&(open..close + 1));
        for line in first..=last {
            let begins_inside = line > first
                || self.doc.text[self.doc.starts[line]..open]
                    .trim_start_matches('\u{feff}')
                    .trim()
                    .is_empty();
            if begins_inside && self.doc.kinds[line] != Kind::Blank {
                self.doc.kinds[line] = Kind::Comment;
            }
        }
    }

    /// Only lines with a `>` of their own are quoted: `2. [ ] x` below a quote
    /// belongs to it by the letter of CommonMark, and by no one's intention.
    fn quotes(&mut self) {
        for line in 0..self.doc.kinds.len() {
            if self.doc.kinds[line] != Kind::Comment
                && self.doc.line(line).trim_start().starts_with('>')
                && self.doc.starts[line] >= self.base
                && self.doc.kinds[line] != Kind::Code
            {
                self.doc.kinds[line] = Kind::Quote;
            }
        }
    }
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// The same text with nesting cut off: byte for byte as long, so that places
/// in one are places in the other.
fn shallow(text: &str) -> Cow<'_, str> {
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
fn headings(kinds: &[Kind]) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (line, kind) in kinds.iter().enumerate() {
        let Kind::Heading(level) = *kind else {
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
