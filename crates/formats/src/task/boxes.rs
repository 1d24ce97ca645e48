//! Boxes in Markdown: which lines are criteria.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::dialect::Dialect;
use super::ids;
use crate::markdown::{Doc, LineKind, ListItem, indent_columns, parse_marker, to_u32};
use crate::tree::Span;

/// One box to tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// A name that stays when something is put in above: from the id that the
    /// text begins with (`WD-01:`, `**[3]**`), else from the text itself.
    /// Lower-case ASCII letters, digits and `-`; unique in the file.
    pub id: String,
    /// The number for people, unique in the file: the one that is written, if
    /// no other criterion has it too, else the place in the file.
    pub number: u64,
    /// The number that is written: `**[3]**`, else that of the list item.
    pub written_number: Option<u64>,
    /// What is to be done, in one line, without the id if that is `**[3]**`.
    pub text: String,
    /// Whether the box is ticked.
    pub ticked: bool,
    /// What stands in the box, where that is no mark that is known: it counts as open.
    pub unknown_mark: Option<char>,
    /// Whether it, or what it is nested in, may be left out: `[ ]* text`.
    pub optional: bool,
    /// The heading that it stands under.
    pub section: Option<String>,
    /// How many criteria it is nested in.
    pub level: usize,
    /// The criterion that it is nested in, as an index.
    pub parent: Option<usize>,
    /// The group of `<!-- group: N -->`.
    pub group: Option<u64>,
    /// The line, counted from 1.
    pub line: u32,
    /// The bytes between the brackets.
    pub tick: Range<usize>,
    /// The words of its first line, from the mark of the list item on.
    pub span: Span,
}

/// A list item that is open above a line.
struct OpenItem {
    indent: usize,
    criterion: Option<usize>,
}

/// The boxes of a text, and in whose way they are written.
pub(super) struct Checklist {
    pub(super) criteria: Vec<Criterion>,
    pub(super) dialect: Dialect,
    /// Boxes without words, which are none.
    pub(super) empty: Vec<Span>,
}

/// What is to be ticked in a text behind its first `head` bytes.
pub(super) fn find_checklist(doc: &Doc<'_>, head: usize) -> Checklist {
    let mut empty = Vec::new();
    let mut criteria = find_boxes(doc, head, &mut empty);
    let dialect = Dialect::detect(doc, &criteria);
    dialect.nest_by_number(&mut criteria);
    dialect.assign_groups(doc, &mut criteria);
    assign_ids(&mut criteria, dialect);
    Checklist {
        criteria,
        dialect,
        empty,
    }
}

fn find_boxes(doc: &Doc<'_>, head: usize, empty: &mut Vec<Span>) -> Vec<Criterion> {
    let mut found: Vec<Criterion> = Vec::new();
    let mut open: Vec<OpenItem> = Vec::new();
    let mut headings = doc.headings.iter().peekable();
    let mut section = None;
    for line in 0..doc.line_count() {
        if doc.line_start(line) < head {
            continue;
        }
        while let Some(heading) = headings.next_if(|heading| heading.line <= line) {
            if doc.line_start(heading.line) >= head {
                section = Some(doc.heading_text(heading).to_owned());
                open.clear();
            }
        }
        if doc.kind_of_line(line) != LineKind::Text {
            continue;
        }
        let text = doc.line(line);
        if let Some(mark) = parse_marker(text) {
            // One space more is the same list; so is a tab against two spaces.
            while open
                .pop_if(|above| mark.indent < above.indent + 2)
                .is_some()
            {}
            let criterion = parse_criterion(doc, line, &open);
            let criterion = criterion.filter(|criterion| {
                let is_named = !criterion.text.is_empty();
                empty.extend((!is_named).then_some(criterion.span));
                is_named
            });
            let criterion = criterion.map(|mut criterion| {
                criterion.section.clone_from(&section);
                let above = criterion.parent.map(|above| &found[above]);
                criterion.optional |= above.is_some_and(|above| above.optional);
                found.push(criterion);
                found.len() - 1
            });
            open.push(OpenItem {
                indent: mark.indent,
                criterion,
            });
        } else if indent_columns(text) == 0 && is_after_blank(doc, line) {
            open.clear();
        }
    }
    found
}

/// Whether a line has a box that is ticked.
pub(crate) fn is_ticked(line: &str) -> bool {
    find_box(line).is_some_and(|found| found.mark == Mark::Done)
}

fn is_after_blank(doc: &Doc<'_>, line: usize) -> bool {
    line == 0 || doc.kind_of_line(line - 1) == LineKind::Blank
}

fn parse_criterion(doc: &Doc<'_>, line: usize, open: &[OpenItem]) -> Option<Criterion> {
    let text = doc.line(line);
    let found = find_box(text)?;
    let start = doc.line_start(line);
    let item = ListItem {
        marker: parse_marker(text)?,
        lines: line..paragraph_end(doc, line),
    };
    let words = doc.item_text(&item, found.words);
    let (words, group) = split_group(&words);
    let (words, bracketed) = ids::split_bracketed(&words);
    let mut above = open.iter().filter_map(|above| above.criterion);
    Some(Criterion {
        id: bracketed.clone().unwrap_or_default(),
        number: 0,
        written_number: bracketed.and_then(|id| id.parse().ok()).or(found.number),
        text: words,
        ticked: found.mark == Mark::Done,
        unknown_mark: match found.mark {
            Mark::Unknown(mark) => Some(mark),
            Mark::Open | Mark::Done => None,
        },
        optional: found.is_optional,
        section: None,
        level: above.clone().count(),
        parent: above.next_back(),
        group,
        line: to_u32(line + 1),
        tick: start + found.tick.start..start + found.tick.end,
        span: doc.line_span(line),
    })
}

/// What stands in a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Open,
    Done,
    Unknown(char),
}

impl Mark {
    /// The mark that a character is, between brackets at a list item. A capital letter
    /// or a digit is none: `[P]` and `[1]` are labels.
    fn of_char(mark: char) -> Option<Self> {
        match mark {
            'x' | 'X' => Some(Self::Done),
            // Under way and queued, as Kiro, conductor and others write it.
            ' ' | '-' | '~' => Some(Self::Open),
            mark if mark.is_uppercase() || mark.is_numeric() || mark.is_control() => None,
            // Brackets and quotes are a part of something else.
            '[' | ']' | '(' | ')' | '{' | '}' | '"' | '`' | '^' | '@' | '#' => None,
            mark => Some(Self::Unknown(mark)),
        }
    }
}

struct FoundBox {
    number: Option<u64>,
    mark: Mark,
    is_optional: bool,
    /// Bytes into the line: what is between the brackets, and the words.
    tick: Range<usize>,
    words: usize,
}

/// A box behind the mark of a list item, or behind several: `- 1. [ ] x`.
fn find_box(line: &str) -> Option<FoundBox> {
    let mut at = 0;
    let mut number = None;
    loop {
        let item = parse_marker(&line[at..])?;
        number = item.number.or(number);
        at += item.content;
        let Some((mark, tick)) = parse_mark(line, at) else {
            continue;
        };
        let rest = &line[tick.end + 1..];
        let starred = rest.strip_prefix('*');
        let words = starred.unwrap_or(rest);
        let found = FoundBox {
            number,
            mark,
            is_optional: starred.is_some(),
            words: line.len() - words.len(),
            tick,
        };
        return (words.is_empty() || words.starts_with([' ', '\t'])).then_some(found);
    }
}

/// The mark in the brackets at a byte of a line, and the bytes between them.
fn parse_mark(line: &str, at: usize) -> Option<(Mark, Range<usize>)> {
    let inner = line.get(at..)?.strip_prefix('[')?;
    let first = inner.chars().next()?;
    let mark = Mark::of_char(first)?;
    let tick = at + 1..at + 1 + first.len_utf8();
    line[tick.end..].starts_with(']').then_some((mark, tick))
}

/// Where the paragraph ends that begins on `line`; a tag below it is layout.
pub(super) fn paragraph_end(doc: &Doc<'_>, line: usize) -> usize {
    (line + 1..doc.line_count())
        .find(|next| {
            let text = doc.line(*next);
            let is_tag = text.trim_start().starts_with('<');
            doc.kind_of_line(*next) != LineKind::Text || is_tag || parse_marker(text).is_some()
        })
        .unwrap_or(doc.line_count())
}

/// The text without `<!-- group: N -->`, and N.
fn split_group(text: &str) -> (String, Option<u64>) {
    let mut from = 0;
    while let Some(found) = text[from..].find("<!--") {
        let open = from + found;
        let Some(length) = text[open..].find("-->") else {
            break;
        };
        let number = text[open + 4..(open + length).max(open + 4)]
            .trim()
            .strip_prefix("group:")
            .and_then(|number| number.trim().parse().ok());
        from = open + length + 3;
        if number.is_some() {
            let rest = format!("{} {}", text[..open].trim_end(), text[from..].trim());
            return (rest.trim().to_owned(), number);
        }
    }
    (text.to_owned(), None)
}

/// Gives every criterion its id and its number.
fn assign_ids(criteria: &mut [Criterion], dialect: Dialect) {
    let mut ids = ids::UniqueIds::default();
    let mut written: HashMap<u64, usize> = HashMap::new();
    for criterion in &mut *criteria {
        let wish = match (criterion.id.as_str(), dialect.find_id(&criterion.text)) {
            (_, Some(own)) => {
                criterion.written_number = own.parse().ok().or(criterion.written_number);
                own.to_owned()
            }
            ("", None) => ids::id_of_text(&criterion.text),
            (bracketed, None) => ids::slugify(bracketed),
        };
        criterion.id = ids.make_unique(wish);
        if let Some(number) = criterion.written_number {
            *written.entry(number).or_default() += 1;
        }
    }
    let own = |criterion: &Criterion| criterion.written_number.filter(|n| written[n] == 1);
    let mut taken: HashSet<u64> = criteria.iter().filter_map(own).collect();
    let mut free = criteria.len() as u64;
    for (at, criterion) in criteria.iter_mut().enumerate() {
        criterion.number = own(criterion).unwrap_or_else(|| {
            let mut number = at as u64 + 1;
            while !taken.insert(number) {
                free += 1;
                number = free;
            }
            number
        });
    }
}
