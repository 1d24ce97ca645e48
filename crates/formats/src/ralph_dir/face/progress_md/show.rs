//! The text of a `progress.md`, showing rows as well.

use std::collections::HashSet;

use super::plan::{Batch, NewBlocker, Plan, plan, task_of};
use super::read;
use super::take::things;
use crate::ends::{Ends, WINDOW_BYTES};
use crate::face::{About, CannotShow, Shown};
use crate::markdown::{EditError, block_start, one_line, plain};
use crate::ralph_dir::progress::edit::{Part, add_items, end_noted, set_noted_focus, start_noted};
use crate::ralph_dir::progress::{At, Dialect, Own, Session};

/// The text with what the rows say, each under the name of its entry. What is
/// there already stays as it is; an entry that was taken from this file is
/// never shown in it again.
///
/// # Errors
///
/// When the text would not say so afterwards, as behind a code fence that is
/// never closed. The file stays as it is then.
pub fn show(
    text: Option<&str>,
    rows: &[Shown<'_>],
    _about: &About<'_>,
) -> Result<String, CannotShow> {
    let text = text.unwrap_or_default();
    let plan = plan(&read(text), rows);
    let out = carried_out(text, &plan).map_err(|error| CannotShow(error.to_string()))?;
    if out != text {
        read_back(&out, &plan)?;
    }
    Ok(out)
}

/// The last sessions. What is open in those before is told by its task: it may be
/// resolved there.
pub fn ends(text: &str) -> Option<Ends> {
    let progress = read(text);
    let sections: Vec<&Session> = progress
        .sessions
        .iter()
        .filter(|session| session.dialect == Dialect::Section)
        .collect();
    let start_of = |session: &Session| line_start(text, session.span.start);
    let is_far = |session: &&&Session| text.len() - start_of(session) >= WINDOW_BYTES;
    let first = sections.iter().rev().find(is_far)?;
    let last = sections.last()?;
    let tail = start_of(first);
    let open = things(&progress).into_iter().filter_map(|thing| {
        let blocker = thing.blocker.filter(|blocker| !blocker.resolved)?;
        let is_left_out = blocker.line_end <= tail;
        is_left_out.then(|| task_of(&blocker.text).to_owned())
    });
    let ends = Ends {
        head: 0,
        tail,
        first: text[tail..].lines().next().map_or(0, str::len),
        open: open.collect(),
    };
    // The next one is numbered after the last.
    let counts_on = last.number == progress.highest_session();
    ends.of_use(text).filter(|_| counts_on)
}

/// Where the line begins in which a byte stands.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

fn carried_out(text: &str, plan: &Plan) -> Result<String, EditError> {
    let mut page = Page::of(&spliced(text, plan));
    for batch in plan.sessions.iter().filter(|batch| !batch.is_empty()) {
        page.add(batch)?;
    }
    Ok(page.before + &page.tail)
}

/// The text with every splice, in one pass.
fn spliced(text: &str, plan: &Plan) -> String {
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
fn read_back(out: &str, plan: &Plan) -> Result<(), CannotShow> {
    let progress = read(out);
    let said: HashSet<&str> = things(&progress)
        .into_iter()
        .filter_map(|thing| thing.name)
        .collect();
    let lost = plan.names.iter().find(|name| !said.contains(name.as_str()));
    match lost {
        None => Ok(()),
        Some(name) => Err(CannotShow(format!(
            "`{name}` would not be read back from this file"
        ))),
    }
}

/// A text, cut before its last session: only that is read and changed, so that
/// each new one costs its own size and not that of the file.
struct Page {
    before: String,
    tail: String,
    /// Its last session.
    current: Option<(u64, String)>,
    /// The highest number of a session.
    highest: u64,
}

impl Page {
    fn of(text: &str) -> Self {
        let mut page = Self {
            before: String::new(),
            tail: text.to_owned(),
            current: None,
            highest: read(text).highest_session(),
        };
        page.cut();
        page
    }

    /// Parts what stands before the last session from it.
    fn cut(&mut self) {
        let progress = read(&self.tail);
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

    fn start(&mut self, own: &Own, date: &str) -> Result<(), EditError> {
        self.highest = self.highest.saturating_add(1);
        let number = self.highest;
        self.tail = start_noted(&self.tail, At { number, date }, Some(own))?;
        self.cut();
        Ok(())
    }

    fn add(&mut self, batch: &Batch) -> Result<(), EditError> {
        match &batch.start {
            Some(own) => self.start(own, &batch.date)?,
            None if self.current.is_none() => self.start(&Own::default(), &batch.date)?,
            None => {}
        }
        let (number, date) = self.current.clone().unwrap_or_default();
        let at = At {
            number,
            date: &date,
        };
        let blockers: Vec<String> = batch.blockers.iter().map(NewBlocker::item).collect();
        let parts = [
            (Part::Completed, &batch.completed),
            (Part::Validations, &batch.validations),
            (Part::Blockers, &blockers),
        ];
        for (part, items) in parts {
            self.tail = add_items(&self.tail, at, part, items)?;
        }
        let progress = read(&self.tail);
        let session = progress.section(at);
        if let Some((own, focus)) = &batch.focus {
            let have = session.and_then(|session| session.focus.as_ref());
            let said = plain(&block_start(&one_line(focus)));
            if have.is_none_or(|have| have.text != said) {
                self.tail = set_noted_focus(&self.tail, at, focus, Some(own))?;
            }
        }
        if let Some((own, how)) = &batch.end {
            self.tail = end_noted(&self.tail, at, how, Some(own))?;
        }
        Ok(())
    }
}

fn last_section(sessions: &[Session]) -> Option<&Session> {
    let mut sections = sessions.iter().rev();
    sections.find(|session| session.dialect == Dialect::Section)
}
