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
use super::import::{ProgressFact, TaskWords, collect_facts};
use crate::markdown::unescape;
use crate::native_file::{CRITERION, ShownRow};
use crate::ralph_dir::native_files::FACE;
use crate::ralph_dir::progress::edit::{
    blocker_words, completed_item, item_words, resolution_words,
};
use crate::ralph_dir::progress::{CriterionRecord, Dialect, NoteDetails, PitonNote, RalphProgress};

/// What is to be done to a text.
#[derive(Default)]
pub(super) struct ProgressFilePlan {
    /// Bytes of the text as it is, and what comes in their place.
    pub(super) splices: Vec<(Range<usize>, String)>,
    /// What each session gets: the last one of the text first, then new ones.
    pub(super) sessions: Vec<SessionBatch>,
    /// Every name that stands in the text afterwards.
    pub(super) names: Vec<String>,
}

/// What one session gets.
#[derive(Default)]
pub(super) struct SessionBatch {
    /// The entry that began it, if that is not in the text yet.
    pub(super) start: Option<PitonNote>,
    /// The day of its first entry: for a header, should it need one.
    pub(super) date: String,
    /// Items, ready to be put in.
    pub(super) completed: Vec<String>,
    /// What was seen in a browser.
    pub(super) validations: Vec<String>,
    /// What stood in the way.
    pub(super) blockers: Vec<NewBlocker>,
    /// What is worked on.
    pub(super) focus: Option<(PitonNote, String)>,
    /// How it ended.
    pub(super) end: Option<(PitonNote, String)>,
}

impl SessionBatch {
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
    own: PitonNote,
    words: String,
    resolution: Option<String>,
}

impl NewBlocker {
    /// The item.
    pub(super) fn render_item(&self) -> String {
        let how = self.resolution.as_deref().map(resolution_words);
        let how = how.unwrap_or_default();
        format!("- {}{how}{}", self.words, self.own.render_comment())
    }
}

/// What is to be done to a text that says `progress`, so that it shows `rows`.
pub(super) fn plan_edits(progress: &RalphProgress, rows: &[ShownRow<'_>]) -> ProgressFilePlan {
    let mut planning = ProgressPlanner::new(progress, rows);
    for (at, row) in rows.iter().enumerate() {
        if let ShownRow::Entry(row) = row {
            planning.plan_entry(at, row);
        }
    }
    planning.into_plan()
}

/// What an entry is called in the file. One from before entries had names is
/// called by its position.
fn name_of_row(row: &EntryRow) -> String {
    let name = row.entry.name.as_ref().filter(|name| !name.is_empty());
    name.cloned().unwrap_or_else(|| legacy_name_of_row(row))
}

/// What an entry was called whose name could end a comment, before names were
/// written otherwise there.
fn legacy_name_of_row(row: &EntryRow) -> String {
    format!("event-{}", row.position)
}

/// What an entry says that is not read from the words for it: these name its
/// task before `between`, or by a number.
fn note_details_of_row(
    row: &EntryRow,
    kind: EntryType,
    text: &str,
    between: &str,
    number: Option<u64>,
) -> NoteDetails {
    let entry = &row.entry;
    let seconds = |at: &Timestamp| at.as_second();
    let told = entry_time(&name_of_row(row));
    let is_told = told.as_ref().map(seconds) == Some(row.timestamp.as_second());
    let mut beside = NoteDetails {
        kind: Some(entry.kind).filter(|own| *own != kind),
        at: (!is_told).then_some(row.timestamp),
        spec: entry.spec.clone(),
        task: None,
    };
    let told = TaskWords::parse(text, between, number, Some(&beside)).task;
    if told != entry.task_id {
        beside.task = Some(entry.task_id.clone().unwrap_or_default());
    }
    beside
}

/// The note for an entry of whose task its words say nothing.
fn note_of_row(row: &EntryRow, kind: EntryType) -> PitonNote {
    let beside = note_details_of_row(row, kind, "", "", None);
    PitonNote {
        beside,
        ..PitonNote::for_entry(name_of_row(row))
    }
}

fn is_from_progress_md(entry: &Entry) -> bool {
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
pub(super) fn task_of_blocker(words: &str) -> &str {
    words.split_once(": ").map_or(words, |(task, _)| task)
}

/// A blocker of the text that is in the way.
struct OpenProgressBlocker<'p> {
    thing: ProgressFact<'p>,
    /// Where the entry that it stands for comes in the rows.
    row: Option<usize>,
}

struct ProgressPlanner<'p, 'r> {
    progress: &'p RalphProgress,
    /// What the text says, by name or mark: in which session.
    known: HashMap<String, usize>,
    /// The open blockers of the text, by the task they begin with.
    open: HashMap<&'p str, Vec<OpenProgressBlocker<'p>>>,
    /// Attempts by item and end: an entry says less than the report it is of.
    attempts: HashMap<(&'r str, Timestamp), &'r AttemptRow>,
    /// The last section of the text.
    last: Option<usize>,
    /// Whether the rows have come as far as the last session.
    at_last: bool,
    batch: SessionBatch,
    /// Open blockers of the batches, by the task they begin with: batch, index.
    pending: HashMap<String, Vec<(usize, usize)>>,
    plan: ProgressFilePlan,
}

impl<'p, 'r> ProgressPlanner<'p, 'r> {
    fn new(progress: &'p RalphProgress, rows: &[ShownRow<'r>]) -> Self {
        let mut places = HashMap::new();
        let mut attempts = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            match row {
                ShownRow::Entry(row) => {
                    places.insert(name_of_row(row), at);
                    places.extend(row.entry.mark.clone().map(|mark| (mark, at)));
                }
                ShownRow::Attempt(row) => {
                    let key = |ended| ((row.node.as_str(), ended), *row);
                    attempts.extend(row.ended_at.map(key));
                }
                ShownRow::Memory(_) | ShownRow::Call(_) => {}
            }
        }
        let is_section = |at: &usize| progress.sessions[*at].dialect == Dialect::Section;
        let last = (0..progress.sessions.len()).rev().find(is_section);
        let mut known = HashMap::new();
        let mut open: HashMap<&str, Vec<OpenProgressBlocker<'_>>> = HashMap::new();
        for thing in collect_facts(progress) {
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
            let task = task_of_blocker(&blocker.text);
            open.entry(task)
                .or_default()
                .push(OpenProgressBlocker { thing, row });
        }
        let mut planning = Self {
            progress,
            known,
            open,
            attempts,
            last,
            at_last: true,
            batch: SessionBatch::default(),
            pending: HashMap::new(),
            plan: ProgressFilePlan::default(),
        };
        planning.at_last = planning.is_at_last_session(rows);
        planning
    }

    /// Whether the first of the rows belong to the last session of the text.
    /// When some of them are shown already, the first of those tells.
    fn is_at_last_session(&self, rows: &[ShownRow<'_>]) -> bool {
        let first = rows.iter().find_map(|row| match row {
            ShownRow::Entry(row) => Some((self.session_of_row(row)?, row.entry.kind)),
            ShownRow::Attempt(_) | ShownRow::Memory(_) | ShownRow::Call(_) => None,
        });
        first.is_none_or(|(session, kind)| {
            Some(session) == self.last && kind != EntryType::SessionStarted
        })
    }

    /// Which session of the text says what the row says.
    fn session_of_row(&self, row: &EntryRow) -> Option<usize> {
        let by_name = self.known.get(&name_of_row(row));
        let by_mark = || self.known.get(row.entry.mark.as_ref()?);
        let fits = |name: &String| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            name.chars().all(allowed) && !name.contains("--")
        };
        let is_odd = row.entry.name.as_ref().is_some_and(|name| !fits(name));
        let by_old_name = || self.known.get(&legacy_name_of_row(row)).filter(|_| is_odd);
        by_name.or_else(by_mark).or_else(by_old_name).copied()
    }

    fn plan_entry(&mut self, at: usize, row: &EntryRow) {
        let is_start = row.entry.kind == EntryType::SessionStarted;
        let is_focus = row.entry.text_field("focus").is_some();
        let known = self.session_of_row(row);
        if known.is_some() || is_from_progress_md(&row.entry) {
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
            EntryType::SessionStarted => self.plan_start(row),
            EntryType::SessionEnded => self.plan_end(row),
            EntryType::TaskCompleted => {
                self.plan_completed(row);
                let how = format!("completed{}", describe_commits(&row.entry));
                self.resolve_blockers(at, row, &how);
            }
            EntryType::MilestoneReached => self.plan_completed(row),
            EntryType::TaskBlocked => self.plan_blocked(row),
            EntryType::DebugResolved => {
                if let Some(how) = row.entry.text_field("resolution") {
                    self.resolve_blockers(at, row, how);
                }
            }
            EntryType::ScopeOverride => {
                let own = note_of_row(row, EntryType::ScopeOverride);
                self.plan_focus(row.entry.text_field("focus"), own);
            }
            EntryType::Other => {}
        }
    }

    fn plan_start(&mut self, row: &EntryRow) {
        let own = note_of_row(row, EntryType::SessionStarted);
        self.finish_batch();
        self.at_last = true;
        self.plan.names.extend(own.name.clone());
        self.batch.date = row.timestamp.strftime("%Y-%m-%d").to_string();
        self.batch.start = Some(own);
        let focus = row.entry.text_field("focus_task");
        let own = PitonNote::for_entry(name_of_row(row));
        self.plan_focus(focus.or(row.entry.text_field("focus")), own);
    }

    fn plan_end(&mut self, row: &EntryRow) {
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
        let words = row
            .entry
            .text_field("notes")
            .or(row.entry.text_field("description"));
        let own = note_of_row(row, EntryType::SessionEnded);
        self.plan.names.extend(own.name.clone());
        self.batch.end = Some((own, words.unwrap_or_default().to_owned()));
    }

    fn plan_focus(&mut self, focus: Option<&str>, own: PitonNote) {
        let Some(focus) = focus.filter(|focus| !focus.trim().is_empty()) else {
            return;
        };
        if self.at_last {
            self.batch.focus = Some((own, focus.to_owned()));
        }
    }

    fn plan_completed(&mut self, row: &EntryRow) {
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
        let what = non_empty_description(entry).unwrap_or("completed");
        let commits = texts_under_keys(entry, &["commit", "commits"]).or_else(|| {
            report?
                .changes
                .commits
                .clone()
                .filter(|all| !all.is_empty())
        });
        let pictures = texts_under_keys(entry, &["screenshot", "screenshots"])
            .or_else(|| Some(report?.screenshots.clone()).filter(|all| !all.is_empty()));
        let notes = entry
            .text_field("notes")
            .or_else(|| report?.notes.as_deref());
        // Where the words of the criterion are known they stand in its line, and
        // what was said of it below.
        let words = entry.text_field(CRITERION);
        let said = words.and(non_empty_description(entry));
        let notes: Vec<&str> = said.into_iter().chain(notes).collect();
        let what = CriterionRecord {
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
        let seen = texts_under_keys(entry, &["validations"])
            .or_else(|| Some(report?.validations.clone()))
            .unwrap_or_default();
        let seen = seen.iter().map(|text| item_words(text));
        self.batch.validations.extend(
            seen.filter(|words| !words.is_empty())
                .map(|words| format!("- {words}")),
        );
        let said = completed_item(&what, None).1;
        let mut own = PitonNote {
            beside: note_details_of_row(row, EntryType::TaskCompleted, &said, " - ", number),
            ..PitonNote::for_entry(name_of_row(row))
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

    fn plan_blocked(&mut self, row: &EntryRow) {
        let what = non_empty_description(&row.entry).unwrap_or("blocked");
        let text = match row.entry.task_id.as_deref().or(row.entry.spec.as_deref()) {
            Some(about) => format!("{about}: {what}"),
            None => what.to_owned(),
        };
        let words = blocker_words(&text);
        let own = PitonNote {
            beside: note_details_of_row(row, EntryType::TaskBlocked, &unescape(&words), ": ", None),
            ..PitonNote::for_entry(name_of_row(row))
        };
        self.plan.names.extend(own.name.clone());
        let place = (self.plan.sessions.len(), self.batch.blockers.len());
        let task = task_of_blocker(&text).to_owned();
        self.pending.entry(task).or_default().push(place);
        self.batch.blockers.push(NewBlocker {
            own,
            words,
            resolution: None,
        });
    }

    /// Marks what stood in the way of a task before this row as resolved.
    fn resolve_blockers(&mut self, at: usize, row: &EntryRow, how: &str) {
        let Some(task) = row.entry.task_id.as_deref() else {
            return;
        };
        let name = name_of_row(row);
        // What is completed has a note of its own.
        let resolved = if row.entry.kind == EntryType::DebugResolved {
            let beside = note_of_row(row, EntryType::DebugResolved).beside;
            // It is that of what it resolved.
            NoteDetails {
                task: None,
                ..beside
            }
        } else {
            NoteDetails::default()
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
                let resolved = resolved.clone();
                any |= splice_resolution(&mut self.plan, &blocker.thing, &name, resolved, how);
            }
        }
        if any {
            self.plan.names.push(name);
        }
    }

    fn finish_batch(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.plan.sessions.push(batch);
    }

    fn into_plan(mut self) -> ProgressFilePlan {
        self.finish_batch();
        // A completed criterion may stand for a resolution as well.
        let mut seen = HashSet::new();
        self.plan.names.retain(|name| seen.insert(name.clone()));
        self.plan
    }
}

fn splice_resolution(
    plan: &mut ProgressFilePlan,
    thing: &ProgressFact<'_>,
    name: &str,
    resolved: NoteDetails,
    how: &str,
) -> bool {
    let Some(blocker) = thing.blocker else {
        return false;
    };
    let own = PitonNote {
        resolved_by: Some(name.to_owned()),
        resolved,
        ..blocker.own.clone().unwrap_or_default()
    };
    let new = format!("{}{}", resolution_words(how), own.render_comment());
    plan.splices
        .push((blocker.words_end..blocker.line_end, new));
    true
}

fn non_empty_description(entry: &Entry) -> Option<&str> {
    let text = entry.text_field("description");
    text.filter(|text| !text.trim().is_empty())
}

fn describe_commits(entry: &Entry) -> String {
    texts_under_keys(entry, &["commit", "commits"])
        .map(|commits| format!(" in {}", commits.join(", ")))
        .unwrap_or_default()
}

/// The texts under the first of the keys that has any: one, or a list.
fn texts_under_keys(entry: &Entry, keys: &[&str]) -> Option<Vec<String>> {
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
