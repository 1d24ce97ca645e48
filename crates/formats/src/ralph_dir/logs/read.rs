//! Reading the logs.

use super::{Colour, Entry, File, Item, When};
use crate::markdown::{count, starts_with_date};
use crate::tree::Span;

const ARROW: &str = "→ exit ";

/// How many lines a command may go over. A line that never gets to its exit
/// status must not swallow the rest of the log.
const COMMAND_LINES_MAX: usize = 1000;

/// Every entry of a log, in the order of the file. Blank lines are none.
pub fn read(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut pending: Option<Pending> = None;
    let mut at = 0;
    for (number, full) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += full.len();
        let line = full.trim_start_matches('\u{feff}').trim_end();
        let lead = full.len() - full.trim_start_matches('\u{feff}').len();
        let place = Place {
            start: start + lead,
            end: start + lead + line.len(),
            line: count(number + 1),
        };
        if let Some(command) = pending.take() {
            match command.joined(line, place) {
                Joined::More(command) => {
                    pending = Some(command);
                    continue;
                }
                Joined::Done(entry) => {
                    entries.push(entry);
                    continue;
                }
                Joined::Foreign(parts) => entries.extend(parts),
            }
        }
        if line.is_empty() {
            continue;
        }
        let head = head(line);
        if begins_command(head.rest) && !line.contains(ARROW) {
            pending = Some(Pending::new(line, place));
        } else {
            entries.push(entry(line, place));
        }
    }
    if let Some(command) = pending {
        entries.extend(command.parts());
    }
    entries
}

#[derive(Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    line: u32,
}

impl Place {
    fn span(self) -> Span {
        Span {
            start: self.start,
            end: self.end,
            line: self.line,
            column: 1,
        }
    }
}

fn begins_command(rest: &str) -> bool {
    rest.starts_with("SHELL ")
}

/// A command of which the exit status did not come yet.
struct Pending {
    text: String,
    lines: Vec<(String, Place)>,
}

enum Joined {
    More(Pending),
    Done(Entry),
    Foreign(Vec<Entry>),
}

impl Pending {
    fn new(line: &str, place: Place) -> Self {
        Self {
            text: line.to_owned(),
            lines: vec![(line.to_owned(), place)],
        }
    }

    fn joined(mut self, line: &str, place: Place) -> Joined {
        let foreign = !matches!(head(line).when, When::Unknown)
            || is_banner_part(line)
            || self.lines.len() >= COMMAND_LINES_MAX;
        if foreign {
            return Joined::Foreign(self.parts());
        }
        self.text.push('\n');
        self.text.push_str(line);
        if line.contains(ARROW) {
            let whole = Place {
                end: place.end,
                ..self.lines[0].1
            };
            return Joined::Done(entry(&self.text, whole));
        }
        self.lines.push((line.to_owned(), place));
        Joined::More(self)
    }

    /// The lines each for itself: the exit status never came.
    fn parts(self) -> Vec<Entry> {
        let lines = self.lines.into_iter();
        lines
            .filter(|(line, _)| !line.is_empty())
            .map(|(line, place)| entry(&line, place))
            .collect()
    }
}

fn is_banner_part(line: &str) -> bool {
    line.starts_with('═') || line.starts_with("Ralph Session Started:")
}

/// What stands before the words of a line.
struct Head<'t> {
    when: When,
    colour: Option<Colour>,
    rest: &'t str,
}

fn head(line: &str) -> Head<'_> {
    let (when, rest) = when(line.trim_start());
    let mut rest = rest.trim_start();
    let mut colour = None;
    // A colour may stand before another mark: `🟢 ✅ Agent signaled …`.
    while let Some((mark, behind)) = mark(rest) {
        colour = colour.or(mark);
        rest = behind.trim_start();
    }
    Head { when, colour, rest }
}

fn mark(text: &str) -> Option<(Option<Colour>, &str)> {
    let marks = [
        ("🟢", Some(Colour::Green)),
        ("🟡", Some(Colour::Yellow)),
        ("🔴", Some(Colour::Red)),
        ("✅", None),
        ("🚨", None),
        ("❌", None),
        ("⚠️", None),
        ("⚠", None),
        ("🔄", None),
        ("⏸️", None),
    ];
    marks
        .into_iter()
        .find_map(|(mark, colour)| Some((colour, text.strip_prefix(mark)?)))
}

fn when(line: &str) -> (When, &str) {
    let bracketed = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .and_then(|(inside, rest)| Some((time(inside)?, rest)));
    if let Some(found) = bracketed {
        return found;
    }
    // ISO 8601 without brackets, as its own word.
    let word = line.split([' ', '\t']).next().unwrap_or_default();
    match time(word) {
        Some(when @ When::DateTime(_)) if word.len() > 10 => (when, &line[word.len()..]),
        Some(_) | None => (When::Unknown, line),
    }
}

fn time(text: &str) -> Option<When> {
    let is_clock = |text: &str| {
        let bytes = text.as_bytes();
        bytes.len() >= 8
            && [0, 1, 3, 4, 6, 7]
                .iter()
                .all(|at| bytes[*at].is_ascii_digit())
            && bytes[2] == b':'
            && bytes[5] == b':'
    };
    if text.len() > 40 {
        return None;
    }
    if starts_with_date(text) {
        let clock = text.get(11..)?;
        let parted = text[10..].starts_with([' ', 'T']);
        return (parted && is_clock(clock)).then(|| When::DateTime(text.to_owned()));
    }
    (is_clock(text) && text.len() == 8).then(|| When::Time(text.to_owned()))
}

fn entry(line: &str, place: Place) -> Entry {
    let head = head(line);
    let item = item(head.rest).unwrap_or_else(|| Item::Other(line.to_owned()));
    Entry {
        when: head.when,
        colour: head.colour,
        item,
        span: place.span(),
    }
}

fn item(text: &str) -> Option<Item> {
    if let Some(rest) = text.strip_prefix("READ ") {
        return Some(Item::Read(file(rest)));
    }
    if let Some(rest) = text.strip_prefix("WRITE ") {
        return Some(Item::Write(file(rest)));
    }
    if let Some(rest) = text.strip_prefix("SHELL FAIL:") {
        return Some(shell_fail(rest.trim()));
    }
    if let Some(rest) = text.strip_prefix("SHELL ") {
        return Some(shell(rest));
    }
    if let Some(rest) = text.strip_prefix("TOKENS:") {
        return tokens(rest.trim());
    }
    if let Some(rest) = text.strip_prefix("SESSION START:") {
        let model = rest.trim().strip_prefix("model=")?.to_owned();
        return Some(Item::SessionStart { model });
    }
    if let Some(rest) = text.strip_prefix("SESSION END:") {
        return session_end(rest.trim());
    }
    said(text)
}

fn said(text: &str) -> Option<Item> {
    if let Some(rest) = text.strip_prefix("ROTATE:") {
        let tokens = threshold(rest);
        return Some(Item::Rotate { tokens });
    }
    if let Some(rest) = text.strip_prefix("WARN:") {
        let tokens = threshold(rest);
        return Some(Item::Warn { tokens });
    }
    if let Some(rest) = text.strip_prefix("API ERROR:") {
        let message = rest.trim().to_owned();
        return Some(Item::ApiError { message });
    }
    if let Some(rest) = text.strip_prefix("GUTTER:") {
        let failures = number_before(rest, 'x');
        return Some(Item::Gutter { failures });
    }
    if let Some(rest) = text.strip_prefix("THRASHING:") {
        let (path, behind) = rest.rsplit_once(" written ")?;
        let (path, times) = (path.trim().to_owned(), number_before(behind, 'x'));
        return Some(Item::Thrashing { path, times });
    }
    if let Some(date) = text.strip_prefix("Ralph Session Started:") {
        let date = date.trim().to_owned();
        return Some(Item::Banner { date });
    }
    match text.strip_prefix("Agent signaled ")? {
        rest if rest.starts_with("COMPLETE") => Some(Item::Complete),
        rest if rest.starts_with("GUTTER") => Some(Item::Gutter { failures: None }),
        _ => None,
    }
}

/// `path (12 lines, ~1.5KB)`.
fn file(text: &str) -> File {
    let parts = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("));
    let sized = parts.and_then(|(path, inside)| {
        let (lines, size) = inside.split_once(" lines, ")?;
        Some((path, lines.parse().ok()?, size))
    });
    match sized {
        Some((path, lines, size)) => File {
            path: path.to_owned(),
            lines: Some(lines),
            size: Some(size.to_owned()),
        },
        None => File {
            path: text.to_owned(),
            lines: None,
            size: None,
        },
    }
}

/// The command, its exit status and what stands in the parentheses behind.
fn exit(text: &str) -> (&str, Option<i64>, &str) {
    let Some((command, behind)) = text.rsplit_once(ARROW) else {
        return (text, None, "");
    };
    let (status, rest) = behind.split_once(' ').unwrap_or((behind, ""));
    match status.parse() {
        Ok(status) => (command.trim_end(), Some(status), rest.trim()),
        Err(_) => (text, None, ""),
    }
}

fn shell(text: &str) -> Item {
    let (command, exit, rest) = exit(text);
    let output_chars = rest
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(" chars output)"))
        .and_then(|chars| chars.parse().ok());
    Item::Shell {
        command: command.to_owned(),
        exit,
        output_chars,
    }
}

fn shell_fail(text: &str) -> Item {
    let (command, exit, rest) = exit(text);
    let attempt = rest
        .strip_prefix("(attempt ")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|number| number.parse().ok());
    Item::ShellFail {
        command: command.to_owned(),
        exit,
        attempt,
    }
}

/// `43620 / 80000 (54%)` and a note.
fn tokens(text: &str) -> Option<Item> {
    let (used, rest) = text.split_once(" / ")?;
    let (limit, rest) = rest.split_once(" (")?;
    let (_, note) = rest.split_once("%)")?;
    let note = note.trim().trim_start_matches("- ");
    Some(Item::Tokens {
        used: used.trim().parse().ok()?,
        limit: limit.trim().parse().ok()?,
        note: Some(note.to_owned()).filter(|note| !note.is_empty()),
    })
}

/// `1500ms, ~1200 tokens used`; either may be missing.
fn session_end(text: &str) -> Option<Item> {
    let (first, rest) = text.split_once(',').unwrap_or((text, ""));
    let duration_ms = first
        .trim()
        .strip_suffix("ms")
        .and_then(|ms| ms.parse().ok());
    let tokens = rest
        .trim()
        .trim_start_matches('~')
        .strip_suffix(" tokens used")
        .and_then(|tokens| tokens.parse().ok());
    (duration_ms.is_some() || tokens.is_some()).then_some(Item::SessionEnd {
        duration_ms,
        tokens,
    })
}

/// `… (81000 >= 80000)`.
fn threshold(text: &str) -> Option<(u64, u64)> {
    let (_, inside) = text.strip_suffix(')')?.rsplit_once('(')?;
    let (used, limit) = inside.split_once(" >= ")?;
    Some((used.parse().ok()?, limit.parse().ok()?))
}

/// The number right before the first `unit` that has one.
fn number_before(text: &str, unit: char) -> Option<u64> {
    text.split_whitespace()
        .find_map(|word| word.strip_suffix(unit)?.parse().ok())
}
