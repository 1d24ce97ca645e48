//! What showing rows in a `progress.md` comes to, before anything is written.
//!
//! One pass over the rows, in their order: each is looked up by its name, and
//! what is missing is gathered by session, so that each session is edited once,
//! however much there is to add to it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use jiff::Timestamp;
use piton_core::AttemptRow;
use piton_core::entry::{Entry, EntryRow, EntryType};
use piton_core::name::entry_time;
use serde_json::Value;

use super::MARK;
use super::take::{Thing, Told, things};
use crate::face::{CRITERION, Shown};
use crate::markdown::plain;
use crate::ralph_dir::face::FACE;
use crate::ralph_dir::progress::edit::{
    blocker_words, completed_item, item_words, resolution_words,
};
use crate::ralph_dir::progress::{Beside, Completed, Dialect, Own, Progress};

/// What is to be done to a text.
#[derive(Default)]
pub(super) struct Plan {
    /// Bytes of the text as it is, and what comes in their place.
    pub(super) splices: Vec<(Range<usize>, String)>,
    /// What each session gets: the last one of the text first, then new ones.
    pub(super) sessions: Vec<Batch>,
    /// Every name that stands in the text afterwards.
    pub(super) names: Vec<String>,
}

/// What one session gets.
#[derive(Default)]
pub(super) struct Batch {
    /// The entry that began it, if that is not in the text yet.
    pub(super) start: Option<Own>,
    /// The day of its first entry: for a header, should it need one.
    pub(super) date: String,
    /// Items, ready to be put in.
    pub(super) completed: Vec<String>,
    /// What was seen in a browser.
    pub(super) validations: Vec<String>,
    /// What stood in the way.
    pub(super) blockers: Vec<NewBlocker>,
    /// What is worked on.
    pub(super) focus: Option<(Own, String)>,
    /// How it ended.
    pub(super) end: Option<(Own, String)>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.start.is_none()
            && self.completed.is_empty()
            && self.validations.is_empty()
            && self.blockers.is_empty()
            && self.focus.is_none()
            && self.end.is_none()
    }
}

/// A blocker that is not in the text yet.
pub(super) struct NewBlocker {
    own: Own,
    words: String,
    resolution: Option<String>,
}

impl NewBlocker {
    /// The item.
    pub(super) fn item(&self) -> String {
        let how = self.resolution.as_deref().map(resolution_words);
        let how = how.unwrap_or_default();
        format!("- {}{how}{}", self.words, self.own.comment())
    }
}

/// What is to be done to a text that says `progress`, so that it shows `rows`.
pub(super) fn plan(progress: &Progress, rows: &[Shown<'_>]) -> Plan {
    let mut planning = Planning::new(progress, rows);
    for (at, row) in rows.iter().enumerate() {
        if let Shown::Entry(row) = row {
            planning.entry(at, row);
        }
    }
    planning.finished()
}

/// What an entry is called in the file. One from before entries had names is
/// called by its position.
fn name_of(row: &EntryRow) -> String {
    let name = row.entry.name.as_ref().filter(|name| !name.is_empty());
    name.cloned().unwrap_or_else(|| old_name_of(row))
}

/// What an entry was called whose name could end a comment, before names were
/// written otherwise there.
fn old_name_of(row: &EntryRow) -> String {
    format!("event-{}", row.position)
}

/// What an entry says that is not read from the words for it: these name its
/// task before `between`, or by a number.
fn beside(
    row: &EntryRow,
    kind: EntryType,
    (text, between, number): (&str, &str, Option<u64>),
) -> Beside {
    let entry = &row.entry;
    let seconds = |at: &Timestamp| at.as_second();
    let told = entry_time(&name_of(row));
    let is_told = told.as_ref().map(seconds) == Some(row.timestamp.as_second());
    let mut beside = Beside {
        kind: Some(entry.kind).filter(|own| *own != kind),
        at: (!is_told).then_some(row.timestamp),
        spec: entry.spec.clone(),
        task: None,
    };
    let told = Told::of(text, between, number, Some(&beside)).task;
    if told != entry.task_id {
        beside.task = Some(entry.task_id.clone().unwrap_or_default());
    }
    beside
}

/// The note for an entry of whose task its words say nothing.
fn own_of(row: &EntryRow, kind: EntryType) -> Own {
    let beside = beside(row, kind, ("", "", None));
    Own {
        beside,
        ..Own::named(name_of(row))
    }
}

fn is_from_here(entry: &Entry) -> bool {
    entry
        .native
        .as_ref()
        .is_some_and(|native| native.face == FACE)
        || entry
            .mark
            .as_ref()
            .is_some_and(|mark| mark.starts_with(MARK))
}

/// The task that the words of a blocker begin with.
pub(super) fn task_of(words: &str) -> &str {
    words.split_once(": ").map_or(words, |(task, _)| task)
}

/// A blocker of the text that is in the way.
struct Open<'p> {
    thing: Thing<'p>,
    /// Where the entry that it stands for comes in the rows.
    row: Option<usize>,
}

struct Planning<'p, 'r> {
    progress: &'p Progress,
    /// What the text says, by name or mark: in which session.
    known: HashMap<String, usize>,
    /// The open blockers of the text, by the task they begin with.
    open: HashMap<&'p str, Vec<Open<'p>>>,
    /// Attempts by item and end: an entry says less than the report it is of.
    attempts: HashMap<(&'r str, Timestamp), &'r AttemptRow>,
    /// The last section of the text.
    last: Option<usize>,
    /// Whether the rows have come as far as the last session.
    at_last: bool,
    batch: Batch,
    /// Open blockers of the batches, by the task they begin with: batch, index.
    pending: HashMap<String, Vec<(usize, usize)>>,
    plan: Plan,
}

impl<'p, 'r> Planning<'p, 'r> {
    fn new(progress: &'p Progress, rows: &[Shown<'r>]) -> Self {
        let mut places = HashMap::new();
        let mut attempts = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            match row {
                Shown::Entry(row) => {
                    places.insert(name_of(row), at);
                    places.extend(row.entry.mark.clone().map(|mark| (mark, at)));
                }
                Shown::Attempt(row) => {
                    let key = |ended| ((row.node.as_str(), ended), *row);
                    attempts.extend(row.ended_at.map(key));
                }
                Shown::Memory(_) | Shown::Call(_) => {}
            }
        }
        let is_section = |at: &usize| progress.sessions[*at].dialect == Dialect::Section;
        let last = (0..progress.sessions.len()).rev().find(is_section);
        let mut known = HashMap::new();
        let mut open: HashMap<&str, Vec<Open<'_>>> = HashMap::new();
        for thing in things(progress) {
            known.extend(thing.name.map(|name| (name.to_owned(), thing.session)));
            known.insert(thing.mark.clone(), thing.session);
            let Some(blocker) = thing.blocker.filter(|blocker| !blocker.resolved) else {
                continue;
            };
            let row = match thing.name {
                Some(name) => places.get(name),
                None => places.get(&thing.mark),
            };
            let row = row.copied();
            let task = task_of(&blocker.text);
            open.entry(task).or_default().push(Open { thing, row });
        }
        let mut planning = Self {
            progress,
            known,
            open,
            attempts,
            last,
            at_last: true,
            batch: Batch::default(),
            pending: HashMap::new(),
            plan: Plan::default(),
        };
        planning.at_last = planning.begins_at_last(rows);
        planning
    }

    /// Whether the first of the rows belong to the last session of the text.
    /// When some of them are shown already, the first of those tells.
    fn begins_at_last(&self, rows: &[Shown<'_>]) -> bool {
        let first = rows.iter().find_map(|row| match row {
            Shown::Entry(row) => Some((self.session_of(row)?, row.entry.kind)),
            Shown::Attempt(_) | Shown::Memory(_) | Shown::Call(_) => None,
        });
        first.is_none_or(|(session, kind)| {
            Some(session) == self.last && kind != EntryType::SessionStarted
        })
    }

    /// Which session of the text says what the row says.
    fn session_of(&self, row: &EntryRow) -> Option<usize> {
        let by_name = self.known.get(&name_of(row));
        let by_mark = || self.known.get(row.entry.mark.as_ref()?);
        let fits = |name: &String| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            name.chars().all(allowed) && !name.contains("--")
        };
        let is_odd = row.entry.name.as_ref().is_some_and(|name| !fits(name));
        let by_old_name = || self.known.get(&old_name_of(row)).filter(|_| is_odd);
        by_name.or_else(by_mark).or_else(by_old_name).copied()
    }

    fn entry(&mut self, at: usize, row: &EntryRow) {
        let is_start = row.entry.kind == EntryType::SessionStarted;
        let is_focus = row.entry.text("focus").is_some();
        let known = self.session_of(row);
        if known.is_some() || is_from_here(&row.entry) {
            if let Some(session) = known {
                self.at_last = self.plan.sessions.is_empty()
                    && self.batch.start.is_none()
                    && Some(session) == self.last;
            }
            // What came before it no longer says what is worked on.
            if is_start || (is_focus && row.entry.kind == EntryType::ScopeOverride) {
                self.batch.focus = None;
            }
            return;
        }
        if self.batch.date.is_empty() {
            self.batch.date = row.timestamp.strftime("%Y-%m-%d").to_string();
        }
        match row.entry.kind {
            EntryType::SessionStarted => self.started(row),
            EntryType::SessionEnded => self.ended(row),
            EntryType::TaskCompleted => {
                self.completed(row);
                let how = format!("completed{}", in_commit(&row.entry));
                self.resolve(at, row, &how);
            }
            EntryType::MilestoneReached => self.completed(row),
            EntryType::TaskBlocked => self.blocked(row),
            EntryType::DebugResolved => {
                if let Some(how) = row.entry.text("resolution") {
                    self.resolve(at, row, how);
                }
            }
            EntryType::ScopeOverride => {
                let own = own_of(row, EntryType::ScopeOverride);
                self.focus(row.entry.text("focus"), own);
            }
            EntryType::Other => {}
        }
    }

    fn started(&mut self, row: &EntryRow) {
        let own = own_of(row, EntryType::SessionStarted);
        self.put_by();
        self.at_last = true;
        self.plan.names.extend(own.name.clone());
        self.batch.date = row.timestamp.strftime("%Y-%m-%d").to_string();
        self.batch.start = Some(own);
        let focus = row.entry.text("focus_task");
        let own = Own::named(name_of(row));
        self.focus(focus.or(row.entry.text("focus")), own);
    }

    fn ended(&mut self, row: &EntryRow) {
        // An attempt that was interrupted ends without a line that says so.
        if row.entry.task_id.is_some() || !self.at_last || self.batch.end.is_some() {
            return;
        }
        let ended = match (&self.batch.start, self.last) {
            (None, Some(last)) => self.progress.sessions[last].ended.is_some(),
            (Some(_), _) | (None, None) => false,
        };
        if ended {
            return;
        }
        let words = row.entry.text("notes").or(row.entry.text("description"));
        let own = own_of(row, EntryType::SessionEnded);
        self.plan.names.extend(own.name.clone());
        self.batch.end = Some((own, words.unwrap_or_default().to_owned()));
    }

    fn focus(&mut self, focus: Option<&str>, own: Own) {
        let Some(focus) = focus.filter(|focus| !focus.trim().is_empty()) else {
            return;
        };
        if self.at_last {
            self.batch.focus = Some((own, focus.to_owned()));
        }
    }

    fn completed(&mut self, row: &EntryRow) {
        let entry = &row.entry;
        let task = entry.task_id.as_deref();
        let report = task
            .and_then(|task| self.attempts.get(&(task, row.timestamp)))
            .and_then(|attempt| attempt.report.as_ref());
        let is_number = |(number, task): &(u64, &str)| number.to_string() == *task;
        let number = task
            .and_then(|task| Some((task.parse().ok()?, task)))
            .filter(is_number)
            .map(|(number, _)| number);
        let about = match number {
            Some(_) => None,
            None => task.or(entry.spec.as_deref()),
        };
        let what = description(entry).unwrap_or("completed");
        let commits = texts(entry, &["commit", "commits"])
            .or_else(|| report?.commits.clone().filter(|all| !all.is_empty()));
        let pictures = texts(entry, &["screenshot", "screenshots"])
            .or_else(|| Some(report?.screenshots.clone()).filter(|all| !all.is_empty()));
        let notes = entry.text("notes").or_else(|| report?.notes.as_deref());
        // Where the words of the criterion are known they stand in its line, and
        // what was said of it below.
        let words = entry.text(CRITERION);
        let said = words.and(description(entry));
        let notes: Vec<&str> = said.into_iter().chain(notes).collect();
        let what = Completed {
            number,
            text: match (words, about) {
                (Some(words), _) => words.to_owned(),
                (None, Some(about)) => format!("{about} - {what}"),
                (None, None) => what.to_owned(),
            },
            commit: commits.map(|all| all.join(", ")),
            notes: (!notes.is_empty()).then(|| notes.join("\n")),
            screenshot: pictures.map(|all| all.join(", ")),
        };
        let seen = texts(entry, &["validations"])
            .or_else(|| Some(report?.validations.clone()))
            .unwrap_or_default();
        let seen = seen.iter().map(|text| item_words(text));
        self.batch.validations.extend(
            seen.filter(|words| !words.is_empty())
                .map(|words| format!("- {words}")),
        );
        let said = completed_item(&what, None).1;
        let mut own = Own {
            beside: beside(row, EntryType::TaskCompleted, (&said, " - ", number)),
            ..Own::named(name_of(row))
        };
        // Words of a criterion that name the task as others do are told apart
        // from those by the note.
        if words.is_some() {
            own.beside.task = task.map(str::to_owned);
        }
        self.plan.names.extend(own.name.clone());
        self.batch
            .completed
            .push(completed_item(&what, Some(&own)).0);
    }

    fn blocked(&mut self, row: &EntryRow) {
        let what = description(&row.entry).unwrap_or("blocked");
        let text = match row.entry.task_id.as_deref().or(row.entry.spec.as_deref()) {
            Some(about) => format!("{about}: {what}"),
            None => what.to_owned(),
        };
        let words = blocker_words(&text);
        let own = Own {
            beside: beside(row, EntryType::TaskBlocked, (&plain(&words), ": ", None)),
            ..Own::named(name_of(row))
        };
        self.plan.names.extend(own.name.clone());
        let place = (self.plan.sessions.len(), self.batch.blockers.len());
        let task = task_of(&text).to_owned();
        self.pending.entry(task).or_default().push(place);
        self.batch.blockers.push(NewBlocker {
            own,
            words,
            resolution: None,
        });
    }

    /// Marks what stood in the way of a task before this row as resolved.
    fn resolve(&mut self, at: usize, row: &EntryRow, how: &str) {
        let Some(task) = row.entry.task_id.as_deref() else {
            return;
        };
        let name = name_of(row);
        // What is completed has a note of its own.
        let resolved = if row.entry.kind == EntryType::DebugResolved {
            let beside = own_of(row, EntryType::DebugResolved).beside;
            // It is that of what it resolved.
            Beside {
                task: None,
                ..beside
            }
        } else {
            Beside::default()
        };
        let mut any = false;
        for (batch, index) in self.pending.remove(task).unwrap_or_default() {
            let batch = match self.plan.sessions.get_mut(batch) {
                Some(batch) => batch,
                None => &mut self.batch,
            };
            if let Some(blocker) = batch.blockers.get_mut(index) {
                blocker.own.resolved_by = Some(name.clone());
                blocker.own.resolved = resolved.clone();
                blocker.resolution = Some(how.to_owned());
                any = true;
            }
        }
        if let Some(open) = self.open.get_mut(task) {
            for blocker in open.extract_if(.., |open| open.row.is_none_or(|row| row < at)) {
                let by = (name.as_str(), resolved.clone());
                any |= splice_in(&mut self.plan, &blocker.thing, by, how);
            }
        }
        if any {
            self.plan.names.push(name);
        }
    }

    fn put_by(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.plan.sessions.push(batch);
    }

    fn finished(mut self) -> Plan {
        self.put_by();
        // A completed criterion may stand for a resolution as well.
        let mut seen = HashSet::new();
        self.plan.names.retain(|name| seen.insert(name.clone()));
        self.plan
    }
}

fn splice_in(
    plan: &mut Plan,
    thing: &Thing<'_>,
    (name, resolved): (&str, Beside),
    how: &str,
) -> bool {
    let Some(blocker) = thing.blocker else {
        return false;
    };
    let own = Own {
        resolved_by: Some(name.to_owned()),
        resolved,
        ..blocker.own.clone().unwrap_or_default()
    };
    let new = format!("{}{}", resolution_words(how), own.comment());
    plan.splices
        .push((blocker.words_end..blocker.line_end, new));
    true
}

fn description(entry: &Entry) -> Option<&str> {
    let text = entry.text("description");
    text.filter(|text| !text.trim().is_empty())
}

fn in_commit(entry: &Entry) -> String {
    texts(entry, &["commit", "commits"])
        .map(|commits| format!(" in {}", commits.join(", ")))
        .unwrap_or_default()
}

/// The texts under the first of the keys that has any: one, or a list.
fn texts(entry: &Entry, keys: &[&str]) -> Option<Vec<String>> {
    keys.iter().find_map(|key| {
        let texts: Vec<String> = match entry.data.get(*key)? {
            Value::String(text) => vec![text.clone()],
            Value::Array(all) => {
                let texts = all.iter().filter_map(Value::as_str);
                texts.map(str::to_owned).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        };
        Some(
            texts
                .into_iter()
                .filter(|text| !text.trim().is_empty())
                .collect::<Vec<_>>(),
        )
        .filter(|texts| !texts.is_empty())
    })
}
