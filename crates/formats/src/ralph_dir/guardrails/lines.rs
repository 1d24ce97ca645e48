//! Rules that are plain lines, and what is left when all rules are read.
//!
//! What a line is depends on its own section alone, so that a section which is
//! added elsewhere changes no rule.

use std::ops::Range;

use super::{FieldName, GuardrailSign, RuleForm, SignField};
use crate::markdown::{
    Doc, Heading, LineKind, ListItem, dedent, parse_marker, to_one_line, unescape,
};
use crate::project_format::UnreadText;
use crate::ralph_dir::progress::split_resolution;

/// Most characters of the name of a rule that is a line.
const NAME_CHARS_MAX: usize = 200;
/// What speaks of the file, and not of the work, is no longer than this.
const INTRODUCTION_CHARS_MAX: usize = 300;
/// What an introduction says.
const INTRODUCES: [&str; 9] = [
    "guardrail",
    "signs",
    "lesson",
    "read this",
    "read these",
    "this file",
    "this document",
    "rules below",
    "following rules",
];
/// Words of headings that say no more than that rules follow.
const GENERAL: [&str; 22] = [
    "active",
    "core",
    "learned",
    "resolved",
    "guardrail",
    "guardrails",
    "sign",
    "signs",
    "rule",
    "rules",
    "lesson",
    "lessons",
    "general",
    "project",
    "the",
    "of",
    "and",
    "key",
    "important",
    "all",
    "ralph",
    "critical",
];

/// The rules that are lines, and what may be rules and is not read as such.
/// `covered` are the lines of rules that have headings of their own.
pub(super) fn parse_line_rules(
    doc: &Doc<'_>,
    covered: &[Range<usize>],
) -> (Vec<GuardrailSign>, Vec<UnreadText>) {
    let mut is_free = vec![true; doc.line_count()];
    for line in covered.iter().cloned().flatten() {
        is_free[line] = false;
    }
    let mut reader = RuleReader {
        doc,
        signs: Vec::new(),
        unread: Vec::new(),
    };
    let mut above: Vec<Heading> = Vec::new();
    let first = doc.headings.first();
    reader.read_section(
        0..first.map_or(doc.line_count(), |first| first.line),
        &above,
    );
    for (index, heading) in doc.headings.iter().enumerate() {
        let next = doc.headings.get(index + 1);
        let lines = heading.line + 1..next.map_or(doc.line_count(), |next| next.line);
        if is_free[heading.line] {
            while above.pop_if(|last| last.level >= heading.level).is_some() {}
            above.push(*heading);
            let is_alone = next.is_none_or(|next| next.level <= heading.level);
            if is_alone && heading.level > 2 && reader.is_empty(lines.clone()) {
                reader.read_heading(heading);
            }
        }
        // What a rule parts from a sign above it is free again.
        let mut free = lines.filter(|line| is_free[*line]);
        if let Some(start) = free.next() {
            let end = free.next_back().map_or(start, |last| last) + 1;
            reader.read_section(start..end, &above);
        }
    }
    (reader.signs, reader.unread)
}

struct RuleReader<'a, 't> {
    doc: &'a Doc<'t>,
    signs: Vec<GuardrailSign>,
    unread: Vec<UnreadText>,
}

/// Lines that belong together.
struct RuleBlock {
    lines: Range<usize>,
    /// The item, where it is one of a list.
    item: Option<ListItem>,
    /// Whether it is made of words, in a list or not.
    is_words: bool,
}

impl RuleReader<'_, '_> {
    fn is_empty(&self, mut lines: Range<usize>) -> bool {
        let nothing = [LineKind::Blank, LineKind::Comment, LineKind::Rule];
        lines.all(|line| nothing.contains(&self.doc.kind_of_line(line)))
    }

    /// A heading with nothing below it may be the whole rule.
    fn read_heading(&mut self, heading: &Heading) {
        if context_of_heading(self.doc, heading).is_some() {
            self.push_unread(heading.line..heading.line + 1);
        }
    }

    fn read_section(&mut self, lines: Range<usize>, above: &[Heading]) {
        let doc = self.doc;
        let blocks = collect_blocks(doc, lines);
        let has_items = blocks.iter().any(|block| block.item.is_some());
        let title = |heading: &Heading| doc.heading_text(heading);
        let place = RuleContext {
            section: above.last().map(|last| title(last).to_owned()),
            resolved: above.iter().any(|one| is_resolved_section(title(one))),
        };
        // Whether code and quotations go with a rule right above them.
        let mut is_open = false;
        for (at, block) in blocks.iter().enumerate() {
            let text = block_text(doc, block);
            if is_placeholder(&text) || (block.item.is_none() && is_introduction(&text)) {
                is_open = false;
            } else if block.item.is_some() {
                is_open = self.try_push_rule(block, &place);
            } else if !block.is_words {
                match self.signs.last_mut().filter(|_| is_open) {
                    Some(sign) => extend_sign(doc, sign, block.lines.end),
                    None => self.push_unread(block.lines.clone()),
                }
            } else if has_items {
                let next = blocks.get(at + 1);
                let leads = text.ends_with(':') && next.is_some_and(|next| next.item.is_some());
                is_open = false;
                if !leads {
                    self.push_unread(block.lines.clone());
                }
            } else {
                for lines in split_sentences(doc, block.lines.clone()) {
                    let block = RuleBlock {
                        lines,
                        item: None,
                        is_words: true,
                    };
                    is_open = self.try_push_rule(&block, &place);
                }
            }
        }
    }

    fn push_unread(&mut self, lines: Range<usize>) {
        let doc = self.doc;
        let text = &doc.text[doc.line_start(lines.start)..doc.words_end(lines.end - 1)];
        self.unread.push(UnreadText {
            line: doc.line_span(lines.start).line,
            text: text.trim_start_matches('\u{feff}').to_owned(),
        });
    }

    /// Takes a block as a rule; whether it is one.
    fn try_push_rule(&mut self, block: &RuleBlock, place: &RuleContext) -> bool {
        let doc = self.doc;
        let first = block.lines.start;
        let own = match &block.item {
            Some(item) => doc.own_lines(item),
            None => block.lines.clone(),
        };
        let from = doc.line_start(first) + words_start(doc.line(first));
        let to = doc.words_end(own.end - 1).max(from);
        let (words, resolution) = split_resolution(&doc.text[from..to]);
        let name = to_one_line(&unescape(words));
        if name.is_empty() {
            return false;
        }
        let bytes = doc.line_start(first)..doc.line_range(block.lines.end - 1).end;
        let mut sign = GuardrailSign {
            form: RuleForm::Line,
            name: piton_core::quote::truncate_chars(&name, NAME_CHARS_MAX),
            section: place.section.clone(),
            resolved: place.resolved || resolution.is_some(),
            fields: vec![SignField {
                name: FieldName::Instruction.as_str().to_owned(),
                value: name,
                span: doc.line_span(first),
                bytes: from..from + words.len(),
            }],
            span: doc.line_span(first),
            bytes,
        };
        if own.end < block.lines.end {
            add_lines(doc, &mut sign, own.end..block.lines.end);
        }
        self.signs.push(sign);
        true
    }
}

/// Where a rule stands.
struct RuleContext {
    section: Option<String>,
    resolved: bool,
}

/// Adds to what a rule says the lines up to `end`, which belong to it.
fn extend_sign(doc: &Doc<'_>, sign: &mut GuardrailSign, end: usize) {
    let last = doc.line_range(end - 1).end;
    let lines = (0..end).rev();
    let start = lines.take_while(|line| doc.line_start(*line) >= sign.bytes.end);
    let start = start.last().unwrap_or(end);
    add_lines(doc, sign, start..end);
    sign.bytes.end = last;
}

fn add_lines(doc: &Doc<'_>, sign: &mut GuardrailSign, lines: Range<usize>) {
    let text = &doc.text[doc.line_start(lines.start)..doc.words_end(lines.end - 1)];
    let Some(field) = sign.fields.first_mut() else {
        return;
    };
    // `dedent` leaves a first line as it is, so one is put before it.
    let below = dedent(&format!("\n{text}"), 2);
    field.value = format!("{}\n{below}", field.value);
}

/// Items, paragraphs and what else stands in some lines.
fn collect_blocks(doc: &Doc<'_>, lines: Range<usize>) -> Vec<RuleBlock> {
    let mut items = doc
        .list_items(lines.clone(), |_| false)
        .into_iter()
        .peekable();
    let mut found: Vec<RuleBlock> = Vec::new();
    let mut line = lines.start;
    let mut is_open = false;
    while line < lines.end {
        if let Some(item) = items.next_if(|item| item.lines.start == line) {
            line = item.lines.end;
            is_open = false;
            found.push(RuleBlock {
                lines: item.lines.clone(),
                item: Some(item),
                is_words: true,
            });
            continue;
        }
        let kind = doc.kind_of_line(line);
        let is_table = doc.line(line).trim_start().starts_with('|');
        let is_words = kind == LineKind::Text && !is_table;
        match kind {
            LineKind::Blank | LineKind::Comment | LineKind::Rule | LineKind::Heading(_) => {
                is_open = false
            }
            LineKind::Text | LineKind::Code | LineKind::Html | LineKind::Quote => {
                let last = found.last_mut();
                match last.filter(|last| is_open && last.is_words == is_words) {
                    Some(last) => last.lines.end = line + 1,
                    None => found.push(RuleBlock {
                        lines: line..line + 1,
                        item: None,
                        is_words,
                    }),
                }
                is_open = true;
            }
        }
        line += 1;
    }
    found
}

/// The lines of a paragraph, each a rule of its own unless one goes on with the
/// sentence of the line before.
fn split_sentences(doc: &Doc<'_>, lines: Range<usize>) -> Vec<Range<usize>> {
    let goes_on = |line: usize| {
        let first = doc.line(line).trim_start().chars().next();
        first.is_some_and(|c| c.is_lowercase() || matches!(c, '(' | ',' | ';' | '.'))
    };
    if (lines.start + 1..lines.end).any(goes_on) {
        return vec![lines];
    }
    lines.map(|line| line..line + 1).collect()
}

/// Where the words of a line begin: behind the mark of a list and a box.
fn words_start(line: &str) -> usize {
    let from = parse_marker(line).map_or_else(
        || line.len() - line.trim_start_matches(['\u{feff}', ' ', '\t']).len(),
        |marker| marker.content,
    );
    let words = line.get(from..).unwrap_or_default();
    let boxes = ["[ ]", "[x]", "[X]"];
    match boxes.iter().find_map(|mark| words.strip_prefix(mark)) {
        Some(rest) => line.len() - rest.trim_start().len(),
        None => from,
    }
}

fn block_text(doc: &Doc<'_>, block: &RuleBlock) -> String {
    let lines = block.lines.clone().map(|line| {
        let text = doc.line(line);
        text.get(words_start(text)..).unwrap_or_default()
    });
    let text: Vec<&str> = lines.collect();
    to_one_line(&text.join(" "))
}

/// Whether words only say that there is nothing to say yet.
fn is_placeholder(text: &str) -> bool {
    let bare = text.trim_matches(|c: char| c.is_whitespace() || "*_.>".contains(c));
    let in_brackets = [('(', ')'), ('[', ']')]
        .iter()
        .any(|(open, close)| bare.starts_with(*open) && bare.ends_with(*close));
    let lower = bare.to_lowercase();
    let says_nothing = ["", "none", "none yet", "n/a", "tbd", "todo", "nothing yet"];
    in_brackets
        || says_nothing.contains(&lower.as_str())
        || (lower.starts_with("no ") && lower.ends_with(" yet"))
}

/// Whether words speak of the file, and not of the work.
fn is_introduction(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.chars().count() <= INTRODUCTION_CHARS_MAX
        && INTRODUCES.iter().any(|words| lower.contains(words))
}

/// What a heading says of the rules below it; none where it only says that
/// there are some.
fn context_of_heading<'t>(doc: &Doc<'t>, heading: &Heading) -> Option<&'t str> {
    let text = doc.heading_text(heading);
    (heading.level > 1 && is_specific_heading(text)).then_some(text)
}

/// Whether a heading says more than that rules follow.
pub(in crate::ralph_dir) fn is_specific_heading(heading: &str) -> bool {
    let mut words = heading
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.any(|word| !GENERAL.contains(&word.to_lowercase().as_str()))
}

/// Whether what stands under a heading is over.
pub(super) fn is_resolved_section(title: &str) -> bool {
    title
        .get(..8)
        .is_some_and(|start| start.eq_ignore_ascii_case("resolved"))
}
