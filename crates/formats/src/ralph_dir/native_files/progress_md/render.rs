//! The text of a `progress.md`, showing rows as well.

use std::collections::HashSet;

use super::import::collect_facts;
use super::parse_text;
use super::plan::{NewBlocker, ProgressFilePlan, SessionBatch, plan_edits, task_of_blocker};
use crate::ends::{TextEnds, WINDOW_BYTES};
use crate::markdown::{EditError, escape_block_start, to_one_line, unescape};
use crate::native_file::{FileContext, RenderError, ShownRow};
use crate::ralph_dir::progress::edit::{
    SessionPart, add_items, end_session, set_focus, start_session,
};
use crate::ralph_dir::progress::{Dialect, PitonNote, RalphSession, SessionRef};

/// The text with what the rows say, each under the name of its entry. What is
/// there already stays as it is; an entry that was taken from this file is
/// never shown in it again.
///
/// # Errors
///
/// When the text would not say so afterwards, as behind a code fence that is
/// never closed. The file stays as it is then.
pub fn render_rows(
    text: Option<&str>,
    rows: &[ShownRow<'_>],
    _about: &FileContext<'_>,
) -> Result<String, RenderError> {
    let text = text.unwrap_or_default();
    let plan = plan_edits(&parse_text(text), rows);
    let out = apply_plan(text, &plan).map_err(|error| RenderError(error.to_string()))?;
    if out != text {
        check_read_back(&out, &plan)?;
    }
    Ok(out)
}

/// The last sessions. What is open in those before is told by its task: it may be
/// resolved there.
pub fn find_ends(text: &str) -> Option<TextEnds> {
    let progress = parse_text(text);
    let sections: Vec<&RalphSession> = progress
        .sessions
        .iter()
        .filter(|session| session.dialect == Dialect::Section)
        .collect();
    let start_of = |session: &RalphSession| line_start(text, session.span.start);
    let is_far = |session: &&&RalphSession| text.len() - start_of(session) >= WINDOW_BYTES;
    let first = sections.iter().rev().find(is_far)?;
    let last = sections.last()?;
    let tail = start_of(first);
    let open = collect_facts(&progress).into_iter().filter_map(|thing| {
        let blocker = thing.blocker.filter(|blocker| !blocker.resolved)?;
        let is_left_out = blocker.line_end <= tail;
        is_left_out.then(|| task_of_blocker(&blocker.text).to_owned())
    });
    let ends = TextEnds {
        head: 0,
        tail,
        first: text[tail..].lines().next().map_or(0, str::len),
        open: open.collect(),
    };
    // The next one is numbered after the last.
    let counts_on = last.number == progress.highest_session();
    ends.if_useful(text).filter(|_| counts_on)
}

/// Where the line begins in which a byte stands.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

fn apply_plan(text: &str, plan: &ProgressFilePlan) -> Result<String, EditError> {
    let mut page = ProgressTail::from_text(&apply_splices(text, plan));
    for batch in plan.sessions.iter().filter(|batch| !batch.is_empty()) {
        page.add_batch(batch)?;
    }
    Ok(page.before + &page.tail)
}

/// The text with every splice, in one pass.
fn apply_splices(text: &str, plan: &ProgressFilePlan) -> String {
    let mut splices: Vec<_> = plan.splices.iter().collect();
    splices.sort_by_key(|(bytes, _)| bytes.start);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (bytes, new) in splices {
        out.push_str(text.get(from..bytes.start).unwrap_or_default());
        out.push_str(new);
        from = bytes.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// Whether the text says everything that was to be shown.
fn check_read_back(out: &str, plan: &ProgressFilePlan) -> Result<(), RenderError> {
    let progress = parse_text(out);
    let said: HashSet<&str> = collect_facts(&progress)
        .into_iter()
        .filter_map(|thing| thing.name)
        .collect();
    let lost = plan.names.iter().find(|name| !said.contains(name.as_str()));
    match lost {
        None => Ok(()),
        Some(name) => Err(RenderError(format!(
            "`{name}` would not be read back from this file"
        ))),
    }
}

/// A text, cut before its last session: only that is read and changed, so that
/// each new one costs its own size and not that of the file.
struct ProgressTail {
    before: String,
    tail: String,
    /// Its last session.
    current: Option<(u64, String)>,
    /// The highest number of a session.
    highest: u64,
}

impl ProgressTail {
    fn from_text(text: &str) -> Self {
        let mut page = Self {
            before: String::new(),
            tail: text.to_owned(),
            current: None,
            highest: parse_text(text).highest_session(),
        };
        page.cut_before_last_session();
        page
    }

    /// Parts what stands before the last session from it.
    fn cut_before_last_session(&mut self) {
        let progress = parse_text(&self.tail);
        let Some(last) = last_section(&progress.sessions) else {
            return;
        };
        let from = line_start(&self.tail, last.span.start);
        let date = last.date.clone().unwrap_or_default();
        self.current = Some((last.number, date));
        let tail = self.tail.split_off(from);
        self.before.push_str(&self.tail);
        self.tail = tail;
    }

    fn start_session(&mut self, own: &PitonNote, date: &str) -> Result<(), EditError> {
        self.highest = self.highest.saturating_add(1);
        let number = self.highest;
        self.tail = start_session(&self.tail, SessionRef { number, date }, Some(own))?;
        self.cut_before_last_session();
        Ok(())
    }

    fn add_batch(&mut self, batch: &SessionBatch) -> Result<(), EditError> {
        match &batch.start {
            Some(own) => self.start_session(own, &batch.date)?,
            None if self.current.is_none() => {
                self.start_session(&PitonNote::default(), &batch.date)?
            }
            None => {}
        }
        let (number, date) = self.current.clone().unwrap_or_default();
        let at = SessionRef {
            number,
            date: &date,
        };
        let blockers: Vec<String> = batch.blockers.iter().map(NewBlocker::render_item).collect();
        let parts = [
            (SessionPart::Completed, &batch.completed),
            (SessionPart::Validations, &batch.validations),
            (SessionPart::Blockers, &blockers),
        ];
        for (part, items) in parts {
            self.tail = add_items(&self.tail, at, part, items)?;
        }
        let progress = parse_text(&self.tail);
        let session = progress.find_section(at);
        if let Some((own, focus)) = &batch.focus {
            let have = session.and_then(|session| session.focus.as_ref());
            let said = unescape(&escape_block_start(&to_one_line(focus)));
            if have.is_none_or(|have| have.text != said) {
                self.tail = set_focus(&self.tail, at, focus, Some(own))?;
            }
        }
        if let Some((own, how)) = &batch.end {
            self.tail = end_session(&self.tail, at, how, Some(own))?;
        }
        Ok(())
    }
}

fn last_section(sessions: &[RalphSession]) -> Option<&RalphSession> {
    let mut sections = sessions.iter().rev();
    sections.find(|session| session.dialect == Dialect::Section)
}
