//! Changing `progress.md`: a splice each, read back before it is given out.

use std::ops::Range;

use super::read::{
    self, PARTS, focus_lines, is_loop_line, is_none_item, known_parts, split_number,
    split_resolution,
};
use super::{CriterionRecord, Dialect, PitonNote, RalphProgress, SessionRef};
use crate::markdown::{
    Doc, EditError, LineKind, confirm_edit, escape_block_start, indent_lines, insert_at,
    newline_of, replace_range, to_one_line, unescape, with_newline,
};
use crate::sprint::SourceText;

const COMPLETED: usize = 0;
const VALIDATIONS: usize = 1;
const FOCUS: usize = 2;
const BLOCKERS: usize = 3;

fn parse(text: &str) -> RalphProgress {
    read::parse_progress_md(SourceText { name: "", text }).0
}

/// A new header at the end of the file, behind a `---` if there are sessions
/// already, with a note of piton behind it. Numbers go on from
/// [`RalphProgress::highest_session`].
///
/// # Errors
///
/// [`EditError::NotReadBack`], as behind a code fence that is never closed.
pub fn start_session(
    text: &str,
    session: SessionRef<'_>,
    own: Option<&PitonNote>,
) -> Result<String, EditError> {
    let before = parse(text);
    let newline = newline_of(text);
    let mut out = text.to_owned();
    if crate::document::is_blank(text) {
        out.push_str("# Progress Log");
        out.push_str(newline);
    } else if !text.ends_with('\n') {
        out.push_str(newline);
    }
    let doc = Doc::new(text);
    let last = (0..doc.line_count()).rfind(|line| doc.kind_of_line(*line) != LineKind::Blank);
    let ruled = last.is_some_and(|line| doc.kind_of_line(line) == LineKind::Rule);
    if !before.sessions.is_empty() && !ruled {
        out.push_str(&format!("{newline}---{newline}"));
    }
    let date = to_one_line(session.date);
    let note = own.map(PitonNote::render_comment).unwrap_or_default();
    let head = format!(
        "{newline}## Session {} ({date}){note}{newline}",
        session.number
    );
    out.push_str(&head);
    let sections = |progress: &RalphProgress| {
        let all = progress.sessions.iter();
        all.filter(|have| have.dialect == Dialect::Section).count()
    };
    let after = parse(&out);
    let is_there =
        after.find_section(session).is_some() && sections(&after) == sections(&before) + 1;
    confirm_edit(is_there, out, "session", session.number.to_string())
}

/// The item of a criterion, and what is read of its words.
#[must_use]
pub fn completed_item(what: &CriterionRecord, own: Option<&PitonNote>) -> (String, String) {
    let words = to_one_line(&what.text);
    let head = match what.number {
        Some(number) => format!("Criterion {number} - {words}"),
        None => words,
    };
    let note = own.map(PitonNote::render_comment).unwrap_or_default();
    let mut lines = format!("- [x] {}{note}", head.trim_end());
    let fields = [
        ("Commit", what.commit.as_deref().map(to_one_line)),
        (
            "Notes",
            what.notes
                .as_deref()
                .map(|notes| indent_lines(notes.trim(), 4)),
        ),
        ("Screenshot", what.screenshot.as_deref().map(to_one_line)),
    ];
    for (name, value) in fields {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            lines.push_str(&format!("\n  - {name}: {value}"));
        }
    }
    let said = unescape(split_number(head.trim_end()).1);
    (lines, said)
}

/// The words of a blocker that is in the way.
#[must_use]
pub fn blocker_words(blocker: &str) -> String {
    let mut words = item_words(blocker);
    if split_resolution(&words).1.is_some() {
        // It is not out of the way just because its text ends like that.
        words.push('.');
    }
    words
}

/// What stands behind a blocker that is out of the way.
pub(in crate::ralph_dir) fn resolution_words(resolution: &str) -> String {
    match to_one_line(resolution).as_str() {
        "" => " (resolved)".to_owned(),
        how => format!(" (resolved: {how})"),
    }
}

/// Items of one or more lines each, already made for their part, put in at once.
/// `- None` gives way to the first of them.
///
/// # Errors
///
/// [`EditError::NotReadBack`] when the file would not say so afterwards.
pub fn add_items(
    text: &str,
    at: SessionRef<'_>,
    part: SessionPart,
    items: &[String],
) -> Result<String, EditError> {
    if items.is_empty() {
        return Ok(text.to_owned());
    }
    let part = match part {
        SessionPart::Completed => COMPLETED,
        SessionPart::Validations => VALIDATIONS,
        SessionPart::Blockers => BLOCKERS,
    };
    let out = add_item(text, at, part, &items.join(gap_between_items(part)))?;
    let count = |text: &str| {
        parse(text)
            .find_section(at)
            .map_or(0, |session| match part {
                COMPLETED => session.completed.len(),
                VALIDATIONS => session.validations.len(),
                _ => session.blockers.len(),
            })
    };
    confirm_edit(
        count(&out) == count(text) + items.len(),
        out,
        "items of session",
        at.number.to_string(),
    )
}

/// A part of a session that is a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPart {
    /// What got done.
    Completed,
    /// What was seen in a browser.
    Validations,
    /// What stood in the way.
    Blockers,
}

/// Criteria stand apart from each other, notes do not.
fn gap_between_items(part: usize) -> &'static str {
    if part == COMPLETED { "\n\n" } else { "\n" }
}

/// The words of an item; `None` alone would say that there is no item.
#[must_use]
pub fn item_words(text: &str) -> String {
    let words = escape_block_start(&to_one_line(text));
    if words.trim_end_matches('.').eq_ignore_ascii_case("none") {
        return format!("\"{words}\"");
    }
    words
}

/// What `### Current Focus` says: its first paragraph is exchanged. A note of
/// piton comes behind the words.
///
/// # Errors
///
/// [`EditError::NotReadBack`] when the file would not say so afterwards.
pub fn set_focus(
    text: &str,
    at: SessionRef<'_>,
    focus: &str,
    own: Option<&PitonNote>,
) -> Result<String, EditError> {
    let said_words = escape_block_start(&to_one_line(focus));
    let words = format!(
        "{said_words}{}",
        own.map(PitonNote::render_comment).unwrap_or_default()
    );
    let text = &ensure_section(text, at)?;
    let doc = Doc::new(text);
    let index = heading_index(&doc, at)?;
    let have = part_lines(&doc, index, FOCUS);
    let out = match have {
        None => add_part(&doc, index, FOCUS, &words),
        Some(lines) => match focus_lines(&doc, lines.start + 1..lines.end) {
            Some(old) => {
                let bytes = doc.line_start(old.start)..doc.words_end(old.end - 1);
                replace_range(text, bytes, &words)
            }
            None => {
                let behind = separator_after(&doc, lines.start);
                let new = format!("\n{words}{behind}");
                insert_at(text, doc.words_end(lines.start), &new)
            }
        },
    };
    let after = parse(&out);
    let said = after
        .find_section(at)
        .and_then(|session| session.focus.as_ref());
    let is_said = said.is_some_and(|said| said.text == unescape(&said_words));
    confirm_edit(is_said, out, "focus", words)
}

/// `**Session N ended** - HOW` at the end of the session's own section, with a note
/// of piton behind it. Said once already in these words, the text stays as it is.
///
/// # Errors
///
/// [`EditError::Exists`] when it ended in other words;
/// [`EditError::NotReadBack`] when the file would not say so afterwards.
pub fn end_session(
    text: &str,
    at: SessionRef<'_>,
    how: &str,
    own: Option<&PitonNote>,
) -> Result<String, EditError> {
    let words = to_one_line(how);
    let text = &ensure_section(text, at)?;
    let doc = Doc::new(text);
    let index = heading_index(&doc, at)?;
    let session = parse(text);
    let session = session
        .find_section(at)
        .ok_or_else(|| EditError::missing("session", at.number.to_string()))?;
    if let Some(ended) = &session.ended {
        let (what, name) = ("end of session", at.number.to_string());
        let same = ended.words == words;
        return same
            .then(|| text.clone())
            .ok_or(EditError::Exists { what, name });
    }
    let line = doc.last_content_line(session.lines.clone(), is_foreign_comment);
    let line = line.unwrap_or(doc.headings[index].line);
    let behind = separator_after(&doc, line);
    let own = own.map(PitonNote::render_comment).unwrap_or_default();
    let how = if words.is_empty() { "" } else { " - " };
    let note = format!(
        "\n\n**Session {} ended**{how}{words}{own}{behind}",
        at.number
    );
    let out = insert_at(text, doc.words_end(line), &note);
    let after = parse(&out);
    let ended = after
        .find_section(at)
        .and_then(|session| session.ended.as_ref());
    let is_said = ended.is_some_and(|ended| ended.words == words);
    confirm_edit(is_said, out, "end of session", at.number.to_string())
}

/// The text, with a header for the session if it has none.
fn ensure_section(text: &str, at: SessionRef<'_>) -> Result<String, EditError> {
    if parse(text).find_section(at).is_some() {
        return Ok(text.to_owned());
    }
    start_session(text, at, None)
}

fn heading_index(doc: &Doc<'_>, at: SessionRef<'_>) -> Result<usize, EditError> {
    let progress = parse(doc.text);
    let line = progress.find_section(at).map(|session| session.lines.start);
    let index = line.and_then(|line| {
        doc.headings
            .binary_search_by_key(&line, |heading| heading.line)
            .ok()
    });
    index.ok_or_else(|| EditError::not_read_back("session", at.number.to_string()))
}

fn part_lines(doc: &Doc<'_>, index: usize, part: usize) -> Option<Range<usize>> {
    known_parts(doc, index)
        .into_iter()
        .find(|(have, _)| *have == part)
        .map(|(_, lines)| lines)
}

/// A comment, or a line about a start or an end: what stands behind it would
/// be torn from it if something were put in between.
fn is_foreign_comment(doc: &Doc<'_>, line: usize) -> bool {
    doc.kind_of_line(line) == LineKind::Comment
}

fn is_after_parts(doc: &Doc<'_>, line: usize) -> bool {
    is_foreign_comment(doc, line) || is_loop_line(doc.line(line))
}

fn add_item(text: &str, at: SessionRef<'_>, part: usize, item: &str) -> Result<String, EditError> {
    let text = &ensure_section(text, at)?;
    let doc = Doc::new(text);
    let index = heading_index(&doc, at)?;
    let Some(lines) = part_lines(&doc, index, part) else {
        return Ok(add_part(&doc, index, part, item));
    };
    let items = doc.list_items(lines.start + 1..lines.end, is_loop_line);
    let Some(last) = items.last() else {
        let new = format!("\n{item}{}", separator_after(&doc, lines.start));
        return Ok(insert_at(text, doc.words_end(lines.start), &new));
    };
    if items.len() == 1 && is_none_item(&doc, last) {
        let bytes = doc.line_start(last.lines.start)..doc.words_end(last.lines.start);
        return Ok(replace_range(
            text,
            bytes,
            &with_newline(item, doc.newline()),
        ));
    }
    let gap = gap_between_items(part);
    let end = doc.words_end(last.lines.end - 1);
    Ok(insert_at(text, end, &format!("{gap}{item}")))
}

/// A new part of a session, in the order of the format.
fn add_part(doc: &Doc<'_>, index: usize, part: usize, body: &str) -> String {
    let title = PARTS[part];
    let level = usize::from(doc.headings[index].level) + 1;
    let head = format!("{} {title}", "#".repeat(level));
    let parts = known_parts(doc, index);
    let later = parts.iter().find(|(have, _)| *have > part);
    let before = parts.iter().rfind(|(have, _)| *have < part);
    if let (None, Some((_, later))) = (before, later) {
        return insert_at(
            doc.text,
            doc.line_start(later.start),
            &format!("{head}\n{body}\n\n"),
        );
    }
    let lines = match before {
        Some((_, lines)) => lines.clone(),
        None => doc.headings[index].line..own_lines_end(doc, index),
    };
    let line = doc
        .last_content_line(lines.clone(), is_after_parts)
        .unwrap_or(lines.start);
    let new = format!("\n\n{head}\n{body}{}", separator_after(doc, line));
    insert_at(doc.text, doc.words_end(line), &new)
}

fn own_lines_end(doc: &Doc<'_>, index: usize) -> usize {
    let heading = doc.headings[index];
    let next = doc.headings.get(index + 1);
    next.map_or(heading.end, |next| next.line.min(heading.end))
}

/// What goes behind words that are put in below `line`, so that the line which
/// follows does not become part of them.
fn separator_after(doc: &Doc<'_>, line: usize) -> &'static str {
    let next = line + 1;
    let adjoins = next < doc.line_count() && doc.kind_of_line(next) != LineKind::Blank;
    if adjoins { "\n" } else { "" }
}
