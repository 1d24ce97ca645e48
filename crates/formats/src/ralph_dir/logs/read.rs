//! Reading the logs.

use super::{Colour, LogEntry, LogItem, LogTime, LoggedFile};
use crate::markdown::{has_date_prefix, to_u32};
use crate::tree::Span;

const ARROW: &str = "→ exit ";

/// How many lines a command may go over. A line that never gets to its exit
/// status must not swallow the rest of the log.
const COMMAND_LINES_MAX: usize = 1000;

/// Every entry of a log, in the order of the file. Blank lines are none.
pub fn parse_log(text: &str) -> Vec<LogEntry> {
    let mut entries = Vec::new();
    let mut pending: Option<PendingCommand> = None;
    let mut at = 0;
    for (number, full) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += full.len();
        let line = full.trim_start_matches('\u{feff}').trim_end();
        let lead = full.len() - full.trim_start_matches('\u{feff}').len();
        let place = LogLinePosition {
            start: start + lead,
            end: start + lead + line.len(),
            line: to_u32(number + 1),
        };
        if let Some(command) = pending.take() {
            match command.join_line(line, place) {
                CommandJoin::More(command) => {
                    pending = Some(command);
                    continue;
                }
                CommandJoin::Done(entry) => {
                    entries.push(entry);
                    continue;
                }
                CommandJoin::Foreign(parts) => entries.extend(parts),
            }
        }
        if line.is_empty() {
            continue;
        }
        let head = parse_head(line);
        if is_command_start(head.rest) && !line.contains(ARROW) {
            pending = Some(PendingCommand::new(line, place));
        } else {
            entries.push(parse_entry(line, place));
        }
    }
    if let Some(command) = pending {
        entries.extend(command.into_entries());
    }
    entries
}

#[derive(Clone, Copy)]
struct LogLinePosition {
    start: usize,
    end: usize,
    line: u32,
}

impl LogLinePosition {
    fn span(self) -> Span {
        Span {
            start: self.start,
            end: self.end,
            line: self.line,
            column: 1,
        }
    }
}

fn is_command_start(rest: &str) -> bool {
    rest.starts_with("SHELL ")
}

/// A command of which the exit status did not come yet.
struct PendingCommand {
    text: String,
    lines: Vec<(String, LogLinePosition)>,
}

enum CommandJoin {
    More(PendingCommand),
    Done(LogEntry),
    Foreign(Vec<LogEntry>),
}

impl PendingCommand {
    fn new(line: &str, place: LogLinePosition) -> Self {
        Self {
            text: line.to_owned(),
            lines: vec![(line.to_owned(), place)],
        }
    }

    fn join_line(mut self, line: &str, place: LogLinePosition) -> CommandJoin {
        let foreign = !matches!(parse_head(line).when, LogTime::Unknown)
            || is_banner_part(line)
            || self.lines.len() >= COMMAND_LINES_MAX;
        if foreign {
            return CommandJoin::Foreign(self.into_entries());
        }
        self.text.push('\n');
        self.text.push_str(line);
        if line.contains(ARROW) {
            let whole = LogLinePosition {
                end: place.end,
                ..self.lines[0].1
            };
            return CommandJoin::Done(parse_entry(&self.text, whole));
        }
        self.lines.push((line.to_owned(), place));
        CommandJoin::More(self)
    }

    /// The lines each for itself: the exit status never came.
    fn into_entries(self) -> Vec<LogEntry> {
        let lines = self.lines.into_iter();
        lines
            .filter(|(line, _)| !line.is_empty())
            .map(|(line, place)| parse_entry(&line, place))
            .collect()
    }
}

fn is_banner_part(line: &str) -> bool {
    line.starts_with('═') || line.starts_with("Ralph Session Started:")
}

/// What stands before the words of a line.
struct LogLineHead<'t> {
    when: LogTime,
    colour: Option<Colour>,
    rest: &'t str,
}

fn parse_head(line: &str) -> LogLineHead<'_> {
    let (when, rest) = parse_when(line.trim_start());
    let mut rest = rest.trim_start();
    let mut colour = None;
    // A colour may stand before another mark: `🟢 ✅ Agent signaled …`.
    while let Some((mark, behind)) = parse_mark(rest) {
        colour = colour.or(mark);
        rest = behind.trim_start();
    }
    LogLineHead { when, colour, rest }
}

fn parse_mark(text: &str) -> Option<(Option<Colour>, &str)> {
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

fn parse_when(line: &str) -> (LogTime, &str) {
    let bracketed = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .and_then(|(inside, rest)| Some((parse_time(inside)?, rest)));
    if let Some(found) = bracketed {
        return found;
    }
    // ISO 8601 without brackets, as its own word.
    let word = line.split([' ', '\t']).next().unwrap_or_default();
    match parse_time(word) {
        Some(when @ LogTime::DateTime(_)) if word.len() > 10 => (when, &line[word.len()..]),
        Some(_) | None => (LogTime::Unknown, line),
    }
}

fn parse_time(text: &str) -> Option<LogTime> {
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
    if has_date_prefix(text) {
        let clock = text.get(11..)?;
        let parted = text[10..].starts_with([' ', 'T']);
        return (parted && is_clock(clock)).then(|| LogTime::DateTime(text.to_owned()));
    }
    (is_clock(text) && text.len() == 8).then(|| LogTime::Time(text.to_owned()))
}

fn parse_entry(line: &str, place: LogLinePosition) -> LogEntry {
    let head = parse_head(line);
    let item = parse_item(head.rest).unwrap_or_else(|| LogItem::Other(line.to_owned()));
    LogEntry {
        when: head.when,
        colour: head.colour,
        item,
        span: place.span(),
    }
}

fn parse_item(text: &str) -> Option<LogItem> {
    if let Some(rest) = text.strip_prefix("READ ") {
        return Some(LogItem::Read(parse_file(rest)));
    }
    if let Some(rest) = text.strip_prefix("WRITE ") {
        return Some(LogItem::Write(parse_file(rest)));
    }
    if let Some(rest) = text.strip_prefix("SHELL FAIL:") {
        return Some(parse_shell_fail(rest.trim()));
    }
    if let Some(rest) = text.strip_prefix("SHELL ") {
        return Some(parse_shell(rest));
    }
    if let Some(rest) = text.strip_prefix("TOKENS:") {
        return parse_tokens(rest.trim());
    }
    if let Some(rest) = text.strip_prefix("SESSION START:") {
        let model = rest.trim().strip_prefix("model=")?.to_owned();
        return Some(LogItem::SessionStart { model });
    }
    if let Some(rest) = text.strip_prefix("SESSION END:") {
        return parse_session_end(rest.trim());
    }
    parse_notice(text)
}

fn parse_notice(text: &str) -> Option<LogItem> {
    if let Some(rest) = text.strip_prefix("ROTATE:") {
        let tokens = parse_threshold(rest);
        return Some(LogItem::Rotate { tokens });
    }
    if let Some(rest) = text.strip_prefix("WARN:") {
        let tokens = parse_threshold(rest);
        return Some(LogItem::Warn { tokens });
    }
    if let Some(rest) = text.strip_prefix("API ERROR:") {
        let message = rest.trim().to_owned();
        return Some(LogItem::ApiError { message });
    }
    if let Some(rest) = text.strip_prefix("GUTTER:") {
        let failures = number_before(rest, 'x');
        return Some(LogItem::Gutter { failures });
    }
    if let Some(rest) = text.strip_prefix("THRASHING:") {
        let (path, behind) = rest.rsplit_once(" written ")?;
        let (path, times) = (path.trim().to_owned(), number_before(behind, 'x'));
        return Some(LogItem::Thrashing { path, times });
    }
    if let Some(date) = text.strip_prefix("Ralph Session Started:") {
        let date = date.trim().to_owned();
        return Some(LogItem::Banner { date });
    }
    match text.strip_prefix("Agent signaled ")? {
        rest if rest.starts_with("COMPLETE") => Some(LogItem::Complete),
        rest if rest.starts_with("GUTTER") => Some(LogItem::Gutter { failures: None }),
        _ => None,
    }
}

/// `path (12 lines, ~1.5KB)`.
fn parse_file(text: &str) -> LoggedFile {
    let parts = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("));
    let sized = parts.and_then(|(path, inside)| {
        let (lines, size) = inside.split_once(" lines, ")?;
        Some((path, lines.parse().ok()?, size))
    });
    match sized {
        Some((path, lines, size)) => LoggedFile {
            path: path.to_owned(),
            lines: Some(lines),
            size: Some(size.to_owned()),
        },
        None => LoggedFile {
            path: text.to_owned(),
            lines: None,
            size: None,
        },
    }
}

/// The command, its exit status and what stands in the parentheses behind.
fn split_exit(text: &str) -> (&str, Option<i64>, &str) {
    let Some((command, behind)) = text.rsplit_once(ARROW) else {
        return (text, None, "");
    };
    let (status, rest) = behind.split_once(' ').unwrap_or((behind, ""));
    match status.parse() {
        Ok(status) => (command.trim_end(), Some(status), rest.trim()),
        Err(_) => (text, None, ""),
    }
}

fn parse_shell(text: &str) -> LogItem {
    let (command, exit, rest) = split_exit(text);
    let output_chars = rest
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(" chars output)"))
        .and_then(|chars| chars.parse().ok());
    LogItem::Shell {
        command: command.to_owned(),
        exit,
        output_chars,
    }
}

fn parse_shell_fail(text: &str) -> LogItem {
    let (command, exit, rest) = split_exit(text);
    let attempt = rest
        .strip_prefix("(attempt ")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|number| number.parse().ok());
    LogItem::ShellFail {
        command: command.to_owned(),
        exit,
        attempt,
    }
}

/// `43620 / 80000 (54%)` and a note.
fn parse_tokens(text: &str) -> Option<LogItem> {
    let (used, rest) = text.split_once(" / ")?;
    let (limit, rest) = rest.split_once(" (")?;
    let (_, note) = rest.split_once("%)")?;
    let note = note.trim().trim_start_matches("- ");
    Some(LogItem::Tokens {
        used: used.trim().parse().ok()?,
        limit: limit.trim().parse().ok()?,
        note: Some(note.to_owned()).filter(|note| !note.is_empty()),
    })
}

/// `1500ms, ~1200 tokens used`; either may be missing.
fn parse_session_end(text: &str) -> Option<LogItem> {
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
    (duration_ms.is_some() || tokens.is_some()).then_some(LogItem::SessionEnd {
        duration_ms,
        tokens,
    })
}

/// `… (81000 >= 80000)`.
fn parse_threshold(text: &str) -> Option<(u64, u64)> {
    let (_, inside) = text.strip_suffix(')')?.rsplit_once('(')?;
    let (used, limit) = inside.split_once(" >= ")?;
    Some((used.parse().ok()?, limit.parse().ok()?))
}

/// The number right before the first `unit` that has one.
fn number_before(text: &str, unit: char) -> Option<u64> {
    text.split_whitespace()
        .find_map(|word| word.strip_suffix(unit)?.parse().ok())
}
