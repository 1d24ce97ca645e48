//! Reading `progress.md`.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::piton_note::split_note;
use super::{
    CompletedCriterion, CriterionRecord, Dialect, ProgressBlocker, ProgressNote, RalphProgress,
    RalphSession, RalphSessionEnd, SessionEndReason,
};
use crate::markdown::{
    Doc, Heading, LineKind, ListItem, dedent, has_date_prefix, parse_marker, to_one_line, unescape,
};
use crate::problem::Problem;
use crate::sprint::SourceText;

/// The sections of a session that piton knows, in the order of the format.
pub(super) const PARTS: [&str; 4] = [
    "Completed",
    "Browser Validations",
    "Current Focus",
    "Blockers Encountered",
];

const KEEP_START: &str = "<!-- RALPH_COMPACT_KEEP_START -->";
const KEEP_END: &str = "<!-- RALPH_COMPACT_KEEP_END -->";

/// Reads a `progress.md`. Every problem is a warning: the file is free text,
/// and nothing in it keeps piton from working.
pub fn parse_progress_md(source: SourceText<'_>) -> (RalphProgress, Vec<Problem>) {
    let doc = Doc::new(source.text);
    let mut reader = ProgressReader {
        doc: &doc,
        source,
        progress: RalphProgress::default(),
        problems: Vec::new(),
        open: HashMap::new(),
        section: None,
    };
    reader.read_lines();
    reader.check_sections();
    reader.check_keep_blocks();
    let (progress, mut problems) = (reader.progress, reader.problems);
    problems.sort_by_key(|problem| problem.line);
    (progress, problems)
}

/// What a loop's line says.
enum LoopLine<'t> {
    Started(u64, Option<String>),
    Ended(u64, &'t str),
    LoopEnded(&'t str),
}

/// Whether a loop, or piton, says in this line that a session started or ended.
pub(super) fn is_loop_line(line: &str) -> bool {
    parse_loop_line(line).is_some()
}

/// Only from the first column on, where loops write: deeper it is a quotation.
fn parse_loop_line(line: &str) -> Option<LoopLine<'_>> {
    let line = line.trim_end();
    if let Some(rest) = line.strip_prefix("**Loop ended**") {
        return Some(LoopLine::LoopEnded(words_after_dash(rest)));
    }
    let (number, rest) = leading_number(line.strip_prefix("**Session ")?)?;
    if let Some(rest) = rest.strip_prefix(" ended**") {
        return Some(LoopLine::Ended(number, words_after_dash(rest)));
    }
    let model = rest.strip_prefix(" started**")?.trim();
    let model = model
        .strip_prefix('(')
        .and_then(|model| model.strip_suffix(')'))
        .and_then(|model| model.split_once(':'))
        .filter(|(key, _)| key.starts_with("model"))
        .map(|(_, model)| model.trim().to_owned());
    Some(LoopLine::Started(number, model))
}

fn words_after_dash(rest: &str) -> &str {
    let rest = rest.trim();
    rest.strip_prefix('-').unwrap_or(rest).trim()
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// The lines of a text that say something, each without what only marks it: the
/// headings of sessions and their parts, boxes, numbers, piton's notes.
pub fn meaningful_lines(text: &str) -> Vec<String> {
    let doc = Doc::new(text);
    let is_head = |text: &str| {
        let part = text.trim_end_matches(':');
        let is_part = |known: &&str| known.eq_ignore_ascii_case(part);
        parse_session_header(text).is_some()
            || has_date_prefix(text)
            || PARTS.iter().any(&is_part)
            || ["Blockers", "Progress Log"].iter().any(&is_part)
    };
    let bare = |line: usize| {
        let text = doc.line(line);
        let text = match doc.kind_of_line(line) {
            LineKind::Blank | LineKind::Rule => return None,
            LineKind::Comment if text.trim_start().starts_with("<!-- piton") => return None,
            LineKind::Text if is_loop_line(text) => return None,
            LineKind::Heading(_) => text.trim_start_matches('#').trim(),
            LineKind::Text
            | LineKind::Code
            | LineKind::Comment
            | LineKind::Html
            | LineKind::Quote => text.trim(),
        };
        let (text, _) = split_note(text);
        let from = parse_marker(text).map_or(0, |marker| marker.content);
        let (_, text) = split_checkbox(text.get(from..).unwrap_or_default().trim());
        let (text, _) = split_resolution(split_number(text).1);
        let is_none = text.trim_end_matches('.').eq_ignore_ascii_case("none");
        let is_mark = matches!(doc.kind_of_line(line), LineKind::Heading(_)) && is_head(text);
        let field = ["Commit: ", "Notes: ", "Screenshot: "];
        let value = field.iter().find_map(|field| text.strip_prefix(field));
        let said = !text.is_empty() && !is_none && !is_mark;
        said.then(|| unescape(value.unwrap_or(text)))
    };
    (0..doc.line_count()).filter_map(bare).collect()
}

struct ProgressReader<'a, 't> {
    doc: &'a Doc<'t>,
    source: SourceText<'t>,
    progress: RalphProgress,
    problems: Vec<Problem>,
    /// The last session of a loop of each number that did not end yet.
    open: HashMap<u64, usize>,
    /// The last session with a section.
    section: Option<usize>,
}

impl ProgressReader<'_, '_> {
    fn read_lines(&mut self) {
        let mut next = 0;
        // A heading with a time speaks for the line right below it.
        let mut at: Option<String> = None;
        for line in 0..self.doc.line_count() {
            match self.doc.kind_of_line(line) {
                LineKind::Heading(_) => {
                    let heading = self.doc.headings[next];
                    at = self.read_heading(next, &heading);
                    next += 1;
                }
                LineKind::Text => {
                    if let Some(said) = parse_loop_line(self.doc.line(line)) {
                        self.apply_loop_line(line, said, at.take());
                    } else {
                        at = None;
                    }
                }
                LineKind::Blank => {}
                LineKind::Code
                | LineKind::Comment
                | LineKind::Html
                | LineKind::Quote
                | LineKind::Rule => at = None,
            }
        }
    }

    /// Takes a session's header in; gives the time that another heading tells.
    fn read_heading(&mut self, index: usize, heading: &Heading) -> Option<String> {
        let text = self.doc.heading_text(heading);
        if has_date_prefix(text) {
            return Some(text.to_owned());
        }
        let (number, date) = parse_session_header(text)?;
        let lines = heading.line..section_end(self.doc, index);
        let mut session = RalphSession {
            number,
            dialect: Dialect::Section,
            date,
            time: None,
            model: None,
            ended: None,
            completed: Vec::new(),
            validations: Vec::new(),
            focus: None,
            blockers: Vec::new(),
            own: split_note(text).1,
            span: self.doc.line_span(heading.line),
            lines,
        };
        for (part, lines) in known_parts(self.doc, index) {
            fill_part(self.doc, &mut session, part, lines);
        }
        self.section = Some(self.progress.sessions.len());
        self.progress.sessions.push(session);
        None
    }

    fn apply_loop_line(&mut self, line: usize, said: LoopLine<'_>, at: Option<String>) {
        let span = self.doc.line_span(line);
        let ended = |words: &str, at| {
            let (words, own) = split_note(words);
            RalphSessionEnd {
                words: words.to_owned(),
                how: parse_end_reason(words),
                at,
                own,
                span,
            }
        };
        match said {
            LoopLine::LoopEnded(words) => self.progress.loop_ends.push(ended(words, at)),
            LoopLine::Started(number, model) => {
                let when = at.as_deref().unwrap_or_default();
                self.open.insert(number, self.progress.sessions.len());
                self.progress
                    .sessions
                    .push(loop_session(number, when, span, line));
                if let Some(session) = self.progress.sessions.last_mut() {
                    session.model = model;
                }
            }
            LoopLine::Ended(number, words) => {
                let ended = ended(words, at);
                if let Some(open) = self.find_open_session(number, line) {
                    self.progress.sessions[open].ended = Some(ended);
                    return;
                }
                let mut session = loop_session(number, "", span, line);
                session.ended = Some(ended);
                self.progress.sessions.push(session);
                self.warn("SESSION_NOT_STARTED", span, "sessions")
                    .set_message(&format!("session {number} ended and never started"));
            }
        }
    }

    /// The session that a line about an end is about: the one in whose own
    /// section it stands, else the last that a loop started.
    fn find_open_session(&mut self, number: u64, line: usize) -> Option<usize> {
        let own = self.section.filter(|section| {
            let session = &self.progress.sessions[*section];
            session.number == number && session.ended.is_none() && session.lines.contains(&line)
        });
        own.or_else(|| self.open.remove(&number))
    }

    fn warn(
        &mut self,
        code: &'static str,
        span: crate::tree::Span,
        path: &str,
    ) -> PendingProblem<'_> {
        self.problems
            .push(Problem::warning(code, self.source.name, path, span));
        PendingProblem(self.problems.last_mut())
    }

    /// What the rules of the format ask of sections.
    fn check_sections(&mut self) {
        let sessions = std::mem::take(&mut self.progress.sessions);
        let mut numbers = HashSet::new();
        let sections = sessions
            .iter()
            .enumerate()
            .filter(|(_, session)| session.dialect == Dialect::Section);
        for (at, session) in sections {
            let path = format!("sessions[{at}]");
            if session.date.is_none() {
                self.warn("SESSION_WITHOUT_DATE", session.span, &path)
                    .set_message("this session has no date: `## Session N (YYYY-MM-DD)`");
            }
            // Two clones count on from the same number; what piton noted tells
            // their sessions apart.
            let own = session.own.as_ref();
            let is_named = own.is_some_and(|own| own.name.is_some());
            if !is_named && !numbers.insert(session.number) {
                self.warn("SESSION_NUMBER_TWICE", session.span, &path)
                    .set_message(&format!("there is a session {} already", session.number));
            }
            for done in &session.completed {
                if !done.ticked {
                    self.warn("COMPLETED_NOT_TICKED", done.span, &path)
                        .set_message("this stands under `Completed`, and its box is not ticked");
                }
                // Of its own lines, piton wrote all that it knows.
                if done.what.commit.is_none() && done.own.is_none() {
                    self.warn("COMPLETED_WITHOUT_COMMIT", done.span, &path)
                        .set_message("this criterion has no line `  - Commit: HASH`");
                }
            }
        }
        self.progress.sessions = sessions;
    }

    fn check_keep_blocks(&mut self) {
        let mut open = None;
        for line in 0..self.doc.line_count() {
            match self.doc.line(line).trim() {
                KEEP_START if self.doc.kind_of_line(line) == LineKind::Comment => open = Some(line),
                KEEP_END if self.doc.kind_of_line(line) == LineKind::Comment => open = None,
                _ => {}
            }
        }
        if let Some(line) = open {
            let span = self.doc.line_span(line);
            self.warn("KEEP_NOT_CLOSED", span, "")
                .set_message("this block to keep has no end");
        }
    }
}

/// A problem that was just told of and waits for its words.
struct PendingProblem<'a>(Option<&'a mut Problem>);

impl PendingProblem<'_> {
    fn set_message(self, message: &str) {
        if let Some(problem) = self.0 {
            message.clone_into(&mut problem.message);
            "mend the line; nothing is lost if it stays".clone_into(&mut problem.hint);
        }
    }
}

fn loop_session(number: u64, when: &str, span: crate::tree::Span, line: usize) -> RalphSession {
    let (date, time) = match when.split_once([' ', 'T']) {
        Some((date, time)) if time.starts_with(|c: char| c.is_ascii_digit()) => {
            (Some(date), Some(time.trim().to_owned()))
        }
        Some((date, _)) => (Some(date), None),
        None => (Some(when).filter(|when| !when.is_empty()), None),
    };
    RalphSession {
        number,
        dialect: Dialect::Loop,
        date: date.map(str::to_owned),
        time,
        model: None,
        ended: None,
        completed: Vec::new(),
        validations: Vec::new(),
        focus: None,
        blockers: Vec::new(),
        own: None,
        span,
        lines: line..line + 1,
    }
}

fn parse_end_reason(words: &str) -> SessionEndReason {
    let number = || {
        let from = words.find('(')? + 1;
        leading_number(&words[from..]).map(|(number, _)| number)
    };
    let known = [
        ("TASK COMPLETE", SessionEndReason::Complete),
        ("Context rotation", SessionEndReason::Rotation),
        ("GUTTER", SessionEndReason::Gutter),
        ("DEFERRED", SessionEndReason::Deferred),
        ("signaled complete but", SessionEndReason::ClaimedComplete),
        ("finished naturally", SessionEndReason::Natural(None)),
        ("Max iterations", SessionEndReason::MaxIterations(None)),
    ];
    match known.iter().find(|(part, _)| words.contains(part)) {
        Some((_, SessionEndReason::Natural(_))) => SessionEndReason::Natural(number()),
        Some((_, SessionEndReason::MaxIterations(_))) => SessionEndReason::MaxIterations(number()),
        Some((_, how)) => *how,
        None => SessionEndReason::Other,
    }
}

/// The number and the date of `Session 3 (2026-01-31)`.
fn parse_session_header(text: &str) -> Option<(u64, Option<String>)> {
    let (number, rest) = leading_number(text.strip_prefix("Session ")?)?;
    if rest.starts_with(|c: char| c.is_alphanumeric() || c == '.') {
        return None;
    }
    let rest = rest.trim_start_matches([' ', '(', '-', ':', '–', '—']);
    let date = has_date_prefix(rest).then(|| rest[..10].to_owned());
    Some((number, date))
}

/// Where the part of a session's section ends that is its own: at the next
/// session, or where a loop began to write below a time.
fn section_end(doc: &Doc<'_>, index: usize) -> usize {
    let heading = doc.headings[index];
    let inner = doc.headings[index + 1..]
        .iter()
        .take_while(|inner| inner.line < heading.end)
        .find(|inner| {
            let text = doc.heading_text(inner);
            has_date_prefix(text) || parse_session_header(text).is_some()
        });
    inner.map_or(heading.end, |inner| inner.line)
}

/// The known parts of the session whose heading has this index, each with its
/// heading's line and those below it.
pub(super) fn known_parts(doc: &Doc<'_>, index: usize) -> Vec<(usize, Range<usize>)> {
    let end = section_end(doc, index);
    let level = doc.headings[index].level;
    doc.headings[index + 1..]
        .iter()
        .take_while(|inner| inner.line < end)
        .filter(|inner| inner.level == level + 1)
        .filter_map(|inner| {
            let text = doc.heading_text(inner).trim_end_matches(':');
            let part = PARTS.iter().position(|part| {
                part.eq_ignore_ascii_case(text)
                    || (*part == "Blockers Encountered" && text.eq_ignore_ascii_case("Blockers"))
            })?;
            Some((part, inner.line..inner.end.min(end)))
        })
        .collect()
}

fn fill_part(doc: &Doc<'_>, session: &mut RalphSession, part: usize, lines: Range<usize>) {
    let below = lines.start + 1..lines.end;
    match part {
        0 => session.completed.extend(
            list_items(doc, below)
                .iter()
                .map(|item| parse_criterion(doc, item)),
        ),
        1 => session.validations.extend(
            list_items(doc, below)
                .iter()
                .map(|item| parse_note(doc, item)),
        ),
        2 => session.focus = parse_focus(doc, below).or(session.focus.take()),
        _ => session.blockers.extend(
            list_items(doc, below)
                .iter()
                .map(|item| parse_blocker(doc, item)),
        ),
    }
}

/// The items of a part, without the one that says that there is none.
fn list_items(doc: &Doc<'_>, lines: Range<usize>) -> Vec<ListItem> {
    let mut items = doc.list_items(lines, is_loop_line);
    items.retain(|item| !is_none_item(doc, item));
    items
}

/// Whether an item only says that there is nothing to say.
pub(super) fn is_none_item(doc: &Doc<'_>, item: &ListItem) -> bool {
    let text = doc.item_text(item, item.marker.content);
    item.lines.len() == 1 && text.trim_end_matches('.').eq_ignore_ascii_case("none")
}

fn parse_criterion(doc: &Doc<'_>, item: &ListItem) -> CompletedCriterion {
    let text = doc.item_text(item, item.marker.content);
    let (text, own) = split_note(&text);
    let (ticked, text) = split_checkbox(text);
    let (number, text) = split_number(text);
    let mut what = CriterionRecord {
        number,
        text: unescape(text),
        ..CriterionRecord::default()
    };
    let below = doc.own_lines(item).end..item.lines.end;
    for field in doc.list_items(below, is_loop_line) {
        let lines = &field.lines;
        let from = doc.line_start(lines.start) + field.marker.content;
        let value = &doc.text[from..doc.words_end(lines.end - 1).max(from)];
        let Some((name, value)) = value.split_once(':') else {
            continue;
        };
        let value = dedent(
            value.trim_start_matches('*').trim(),
            field.marker.indent + 2,
        );
        let slot = match name.trim_matches('*').to_ascii_lowercase().as_str() {
            "commit" => &mut what.commit,
            "notes" | "note" => &mut what.notes,
            "screenshot" => &mut what.screenshot,
            _ => continue,
        };
        *slot = Some(value).filter(|value| !value.is_empty());
    }
    CompletedCriterion {
        what,
        ticked: ticked.unwrap_or(true),
        own,
        span: doc.line_span(item.lines.start),
    }
}

/// The text without its box, and whether that is ticked.
fn split_checkbox(text: &str) -> (Option<bool>, &str) {
    let ticked = match text.get(..3) {
        Some("[ ]") => false,
        Some("[x]" | "[X]") => true,
        _ => return (None, text),
    };
    (Some(ticked), text[3..].trim_start())
}

/// The text without `Criterion 3 - ` or `**[3]** `, and the number.
pub(super) fn split_number(text: &str) -> (Option<u64>, &str) {
    let bracketed = text.strip_prefix("**[").and_then(leading_number);
    if let Some((number, rest)) = bracketed
        && let Some(rest) = rest.strip_prefix("]**")
    {
        return (Some(number), rest.trim_start());
    }
    let named = text.strip_prefix("Criterion ").and_then(leading_number);
    if let Some((number, rest)) = named {
        let words = rest.trim_start();
        if words.is_empty() {
            return (Some(number), words);
        }
        if let Some(words) = words.strip_prefix(['-', ':', '–', '—']) {
            return (Some(number), words.trim_start());
        }
    }
    (None, text)
}

fn parse_note(doc: &Doc<'_>, item: &ListItem) -> ProgressNote {
    let text = doc.item_text(item, item.marker.content);
    let (text, own) = split_note(&text);
    ProgressNote {
        text: unescape(text),
        own,
        span: doc.line_span(item.lines.start),
    }
}

/// The first paragraph, or the first lines of a list.
pub(super) fn focus_lines(doc: &Doc<'_>, lines: Range<usize>) -> Option<Range<usize>> {
    let is_words =
        |line: &usize| doc.kind_of_line(*line) == LineKind::Text && !is_loop_line(doc.line(*line));
    let first = lines
        .clone()
        .find(|line| doc.kind_of_line(*line) != LineKind::Blank)?;
    let end = (first..lines.end).find(|line| !is_words(line));
    let end = end.unwrap_or(lines.end);
    (end > first).then_some(first..end)
}

fn parse_focus(doc: &Doc<'_>, lines: Range<usize>) -> Option<ProgressNote> {
    let lines = focus_lines(doc, lines)?;
    let text = &doc.text[doc.line_start(lines.start)..doc.words_end(lines.end - 1)];
    let text = text.trim();
    let from = parse_marker(text).map_or(0, |marker| marker.content);
    let (text, own) = split_note(&text[from..]);
    Some(ProgressNote {
        text: unescape(&to_one_line(text)),
        own,
        span: doc.line_span(lines.start),
    })
}

fn parse_blocker(doc: &Doc<'_>, item: &ListItem) -> ProgressBlocker {
    let text = doc.item_text(item, item.marker.content);
    let (text, own) = split_note(&text);
    let (ticked, text) = split_checkbox(text);
    let (text, resolution) = split_resolution(text);
    let last = doc.own_lines(item).end - 1;
    let line_end = doc.words_end(last);
    let (bare, _) = split_note(&doc.text[doc.line_start(last)..line_end]);
    let words_end = doc.line_start(last) + bare.len();
    ProgressBlocker {
        text: unescape(text),
        resolved: resolution.is_some() || ticked == Some(true),
        resolution: resolution.filter(|words| !words.is_empty()).map(unescape),
        span: doc.line_span(item.lines.start),
        own,
        words_end,
        line_end,
    }
}

/// `text` of `text (resolved: how)`, and `how`, which may be empty.
pub(in crate::ralph_dir) fn split_resolution(text: &str) -> (&str, Option<&str>) {
    const RESOLVED: &str = "(resolved";
    let Some(inside) = text.strip_suffix(')') else {
        return (text, None);
    };
    let found = inside
        .char_indices()
        .rev()
        .filter(|(_, c)| *c == '(')
        .find(|(at, _)| {
            inside
                .get(*at..*at + RESOLVED.len())
                .is_some_and(|part| part.eq_ignore_ascii_case(RESOLVED))
        });
    let Some((at, _)) = found else {
        return (text, None);
    };
    let how = inside[at + RESOLVED.len()..].trim_start_matches([':', ' ', '-', '–', '—']);
    (text[..at].trim_end(), Some(how.trim_end()))
}
