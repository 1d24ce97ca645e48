//! What stands in a `progress.md`, in the words of the core.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use piton_core::command::ImportedRecord;
use piton_core::entry::{Entry, EntryType};
use piton_core::name::entry_time;
use piton_core::native::Native;
use sha2::{Digest as _, Sha256};

use super::{MARK, parse_text};
use crate::native_file::{FileContents, FileContext};
use crate::ralph_dir::SourceText;
use crate::ralph_dir::native_files::FACE;
use crate::ralph_dir::progress::{
    self, CompletedCriterion, Dialect, NoteDetails, PitonNote, ProgressBlocker, RalphProgress,
    RalphSession,
};
use crate::shape_merge::parse_instant;

/// What stands in the text and not in `base`: sessions of both dialects, ticked
/// criteria, blockers and how they were resolved, and what is worked on.
///
/// What piton wrote is taken under the name that it has there: a clone that has
/// only the file knows it from here. Times that others wrote are local and without
/// a zone: they are meant where the file is read, and kept as words as well, under
/// `date`.
#[must_use]
pub fn import_changes(text: &str, base: Option<&str>, about: &FileContext<'_>) -> FileContents {
    let name = about.file;
    let (progress, problems) = progress::parse_progress_md(SourceText { name, text });
    let base = base.map(parse_text).unwrap_or_default();
    let before = collect_facts(&base);
    let known: HashSet<&str> = before.iter().map(|thing| thing.mark.as_str()).collect();
    let names: HashSet<&str> = before.iter().filter_map(|thing| thing.name).collect();
    let focuses: HashSet<&str> = before
        .iter()
        .filter(|thing| thing.is_focus())
        .filter_map(|thing| thing.name)
        .collect();
    let is_new = |thing: &ProgressFact<'_>| !known.contains(thing.mark.as_str());
    // The note of piton stays behind the words when a person changes the focus. A
    // note that stood behind other words before shows such a change.
    let is_others = |thing: &ProgressFact<'_>| {
        let was_there = || thing.name.is_some_and(|name| focuses.contains(name));
        !thing.by_piton || (thing.is_focus() && was_there())
    };
    let (others, own): (Vec<_>, Vec<_>) = collect_facts(&progress)
        .into_iter()
        .partition(|thing| is_others(thing));
    let others = others.into_iter().filter(is_new);
    let mut found: Vec<ImportedRecord> = others.map(|thing| thing.into_found(about.zone)).collect();
    let own = collect_own_entries(own).into_iter();
    let is_new = |entry: &Entry| !names.contains(entry.name.as_deref().unwrap_or_default());
    let own = own.filter(is_new);
    found.extend(own.map(|entry| ImportedRecord::Entry(Box::new(entry))));
    FileContents { found, problems }
}

/// One thing that the file says.
pub(super) struct ProgressFact<'p> {
    /// What it is known by.
    pub(super) mark: String,
    /// The entry of the journal that piton wrote it for.
    pub(super) name: Option<&'p str>,
    /// Which session says so, by its index.
    pub(super) session: usize,
    /// The blocker, where it is one that is in the way or was.
    pub(super) blocker: Option<&'p ProgressBlocker>,
    by_piton: bool,
    /// What piton noted of it beside its name.
    beside: Option<&'p NoteDetails>,
    entry: Entry,
}

impl ProgressFact<'_> {
    fn is_focus(&self) -> bool {
        self.entry.kind == EntryType::ScopeOverride
    }

    /// What comes first of one second: a session, what was in the way and is not
    /// any more, what came about, what is in the way, the end of a session.
    fn rank(&self) -> u8 {
        match (
            self.entry.kind,
            self.blocker.is_some_and(|blocker| !blocker.resolved),
        ) {
            (EntryType::SessionStarted | EntryType::TaskBlocked, false) => 0,
            (EntryType::TaskBlocked, true) => 2,
            (EntryType::SessionEnded, _) => 3,
            _ => 1,
        }
    }

    /// The entry that piton wrote it for; none where it was written for none.
    fn into_own_entry(self) -> Option<Entry> {
        let name = self.name.filter(|name| {
            let position = name.strip_prefix(NAMELESS);
            !position.is_some_and(|position| position.bytes().all(|byte| byte.is_ascii_digit()))
        })?;
        let beside = self.beside.cloned().unwrap_or_default();
        let mut entry = self.entry;
        // Piton writes the days of UTC.
        let date = entry
            .text_field("date")
            .and_then(|date| parse_time(date, &TimeZone::UTC));
        let at = beside.at.or_else(|| entry_time(name)).or(date);
        for key in ["date", "session"] {
            entry.data.remove(key);
        }
        Some(Entry {
            kind: beside.kind.unwrap_or(entry.kind),
            name: Some(name.to_owned()),
            at: at.map(|at| at.to_string()),
            spec: beside.spec,
            task_id: entry
                .task_id
                .or(beside.task.filter(|task| !task.is_empty())),
            ..entry
        })
    }

    fn into_found(self, zone: &TimeZone) -> ImportedRecord {
        let at = self
            .entry
            .text_field("date")
            .and_then(|date| parse_time(date, zone));
        ImportedRecord::Entry(Box::new(Entry {
            at: at.map(|at| at.to_string()),
            mark: Some(self.mark),
            native: Some(Native {
                face: FACE.to_owned(),
                version: 1,
                body: "{}".to_owned(),
            }),
            ..self.entry
        }))
    }
}

/// What piton wrote, each entry once and in the order of their times: several
/// places of the file may tell of one.
fn collect_own_entries(things: Vec<ProgressFact<'_>>) -> Vec<Entry> {
    let mut own: Vec<(Entry, u8)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for thing in things {
        let rank = thing.rank();
        let Some(entry) = thing.into_own_entry() else {
            continue;
        };
        let name = entry.name.clone().unwrap_or_default();
        match places.get(&name).and_then(|at| own.get_mut(*at)) {
            Some((have, _)) => merge_entry(have, entry),
            None => {
                places.insert(name, own.len());
                own.push((entry, rank));
            }
        }
    }
    own.sort_by_key(|(entry, rank)| (entry.at.as_deref().and_then(parse_instant), *rank));
    own.into_iter().map(|(entry, _)| entry).collect()
}

/// What another place of the file says of an entry: what its session works on,
/// or that what was completed resolved a blocker.
fn merge_entry(have: &mut Entry, entry: Entry) {
    match (have.kind, entry.kind) {
        (EntryType::SessionStarted, EntryType::ScopeOverride) => {
            if let Some(focus) = entry.data.get("focus") {
                have.data.insert("focus_task".to_owned(), focus.clone());
            }
        }
        (EntryType::DebugResolved, EntryType::TaskCompleted) => *have = entry,
        _ => {}
    }
}

/// What the names began with that piton once gave to what could not be named:
/// in another journal the same position is another entry.
const NAMELESS: &str = "event-";

/// The time that a day, or a day and a time of day, is in a zone.
fn parse_time(words: &str, zone: &TimeZone) -> Option<Timestamp> {
    let at: DateTime = words.trim().parse().ok()?;
    Some(at.to_zoned(zone.clone()).ok()?.timestamp())
}

/// Everything that the file says, in its order.
pub(super) fn collect_facts(progress: &RalphProgress) -> Vec<ProgressFact<'_>> {
    let mut telling = FactCollector::default();
    for (index, session) in progress.sessions.iter().enumerate() {
        telling.add_session(index, session);
    }
    telling.things
}

#[derive(Default)]
struct FactCollector<'p> {
    things: Vec<ProgressFact<'p>>,
    /// How often others said the same before.
    said: HashMap<String, u64>,
}

/// A session of the file, and which of them it is.
#[derive(Clone, Copy)]
struct IndexedSession<'p> {
    index: usize,
    session: &'p RalphSession,
}

/// Who wrote something.
#[derive(Clone, Copy)]
enum FactAuthor<'p> {
    Others,
    /// Piton, for the entry of that name, if it was for one, and what it noted
    /// beside that.
    Piton(Option<&'p str>, Option<&'p NoteDetails>),
}

impl<'p> FactAuthor<'p> {
    fn from_note(own: Option<&'p PitonNote>) -> Self {
        match own.filter(|own| own.is_written_by_piton()) {
            Some(own) => Self::Piton(own.name.as_deref(), Some(&own.beside)),
            None => Self::Others,
        }
    }
}

impl<'p> FactCollector<'p> {
    fn add_session(&mut self, index: usize, session: &'p RalphSession) {
        let place = IndexedSession { index, session };
        let ended = session.ended.as_ref();
        let by = FactAuthor::from_note(session.own.as_ref());
        // A loop may say of a session that it ended and never that it started.
        if ended.is_none_or(|ended| ended.span != session.span) {
            self.push_fact(place, "started", "", by, session_started_entry(session));
        }
        for done in session.completed.iter().filter(|done| done.ticked) {
            let words = format!("{:?} {}", done.what.number, done.what.text);
            let by = FactAuthor::from_note(done.own.as_ref());
            let entry = task_completed_entry(session, done);
            self.push_fact(place, "completed", &words, by, entry);
        }
        for blocker in &session.blockers {
            self.add_blocker(place, blocker);
        }
        if let Some(focus) = &session.focus {
            let entry =
                dated_entry(session, EntryType::ScopeOverride).with_text("focus", &focus.text);
            let by = FactAuthor::from_note(focus.own.as_ref());
            self.push_fact(place, "focus", &focus.text, by, entry);
        }
        if let Some(ended) = ended {
            let by = FactAuthor::from_note(ended.own.as_ref());
            let mut entry = dated_entry(session, EntryType::SessionEnded);
            entry
                .data
                .insert("session".to_owned(), session.number.into());
            let entry = with_text(entry, "notes", Some(&ended.words));
            let entry = with_text(entry, "date", ended.at.as_ref());
            self.push_fact(place, "ended", &ended.words, by, entry);
        }
    }

    fn add_blocker(&mut self, place: IndexedSession<'p>, blocker: &'p ProgressBlocker) {
        let own = blocker.own.as_ref();
        let beside = own.map(|own| &own.beside);
        let told = TaskWords::parse(&blocker.text, ": ", None, beside);
        let about = |kind| Entry {
            task_id: told.task.clone(),
            ..dated_entry(place.session, kind).with_text("description", told.words)
        };
        let blocked = about(EntryType::TaskBlocked);
        let by = FactAuthor::from_note(own);
        self.push_fact(place, "blocked", &blocker.text, by, blocked);
        if let Some(thing) = self.things.last_mut() {
            thing.blocker = Some(blocker);
        }
        if !blocker.resolved {
            return;
        }
        let resolved = own.and_then(|own| Some((own.resolved_by.as_deref()?, &own.resolved)));
        let by = match resolved {
            Some((name, beside)) => FactAuthor::Piton(Some(name), Some(beside)),
            None => FactAuthor::Others,
        };
        let how = blocker.resolution.as_deref().unwrap_or("resolved");
        let resolved = about(EntryType::DebugResolved).with_text("resolution", how);
        self.push_fact(place, "resolved", &blocker.text, by, resolved);
    }

    fn push_fact(
        &mut self,
        place: IndexedSession<'p>,
        kind: &str,
        words: &str,
        by: FactAuthor<'p>,
        entry: Entry,
    ) {
        let IndexedSession { index, session } = place;
        let date = session.date.as_deref().unwrap_or_default();
        let time = session.time.as_deref().unwrap_or_default();
        let dialect = match session.dialect {
            Dialect::Section => "section",
            Dialect::Loop => "loop",
        };
        let number = session.number;
        let key = format!("{dialect}\0{number}\0{date}\0{time}\0{kind}\0{words}");
        // What piton wrote must not shift the numbers of what others did.
        let nth = match by {
            FactAuthor::Piton(..) => 0,
            FactAuthor::Others => {
                let count = self.said.entry(key.clone()).or_default();
                *count += 1;
                *count
            }
        };
        let (name, beside) = match by {
            FactAuthor::Others => (None, None),
            FactAuthor::Piton(name, beside) => (name, beside),
        };
        self.things.push(ProgressFact {
            mark: mark_of_fact(&key, nth),
            name,
            session: index,
            blocker: None,
            by_piton: matches!(by, FactAuthor::Piton(..)),
            beside,
            entry,
        });
    }
}

fn mark_of_fact(key: &str, nth: u64) -> String {
    let hash = Sha256::digest(format!("{key}\0{nth}"));
    let hex: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{MARK}{hex}")
}

fn session_started_entry(session: &RalphSession) -> Entry {
    let mut entry = dated_entry(session, EntryType::SessionStarted);
    entry
        .data
        .insert("session".to_owned(), session.number.into());
    if let (Some(date), Some(time)) = (&session.date, &session.time) {
        entry = entry.with_text("date", format!("{date} {time}"));
    }
    with_text(entry, "model", session.model.as_ref())
}

fn task_completed_entry(session: &RalphSession, done: &CompletedCriterion) -> Entry {
    let what = &done.what;
    let beside = done.own.as_ref().map(|own| &own.beside);
    let told = TaskWords::parse(&what.text, " - ", what.number, beside);
    // Below the words of a criterion stands first what was said of it.
    let notes = what.notes.as_deref().filter(|_| told.is_criterion);
    let (said, notes) = match notes.map(|notes| notes.split_once('\n').unwrap_or((notes, ""))) {
        Some((said, notes)) => (said, Some(notes.trim_start().to_owned())),
        None => (told.words, what.notes.clone()),
    };
    let entry = Entry {
        task_id: told.task,
        ..dated_entry(session, EntryType::TaskCompleted).with_text("description", said)
    };
    let entry = with_text(entry, "commit", what.commit.as_ref());
    let entry = with_text(entry, "notes", notes.as_ref());
    with_text(entry, "screenshot", what.screenshot.as_ref())
}

fn dated_entry(session: &RalphSession, kind: EntryType) -> Entry {
    with_text(Entry::with_type(kind), "date", session.date.as_ref())
}

fn with_text(entry: Entry, key: &str, text: Option<&String>) -> Entry {
    match text.filter(|text| !text.is_empty()) {
        Some(text) => entry.with_text(key, text),
        None => entry,
    }
}

/// What the words for an entry tell of it.
pub(super) struct TaskWords<'t> {
    /// Its task.
    pub(super) task: Option<String>,
    /// What they say of that.
    pub(super) words: &'t str,
    /// Whether they are those of the criterion that the task is.
    is_criterion: bool,
}

impl<'t> TaskWords<'t> {
    /// What is read of a text that names its task before `between`, or by a
    /// number, or whose task piton noted beside it.
    pub(super) fn parse(
        text: &'t str,
        between: &str,
        number: Option<u64>,
        beside: Option<&NoteDetails>,
    ) -> Self {
        let spec = beside.and_then(|beside| beside.spec.as_deref());
        let behind = |name: &str| text.strip_prefix(name)?.strip_prefix(between);
        let Some(task) = beside.and_then(|beside| beside.task.as_deref()) else {
            let (task, words) = match number {
                Some(number) => (Some(number.to_string()), text),
                None => {
                    let (task, words) = split_task(text, between);
                    // Where there is no task, the spec stands in its place.
                    let task = task.filter(|task| Some(*task) != spec);
                    (task.map(str::to_owned), words)
                }
            };
            return Self {
                task,
                words,
                is_criterion: false,
            };
        };
        let words = behind(if task.is_empty() {
            spec.unwrap_or_default()
        } else {
            task
        });
        Self {
            task: Some(task.to_owned()).filter(|task| !task.is_empty()),
            words: words.unwrap_or(text),
            is_criterion: !task.is_empty() && words.is_none(),
        }
    }
}

/// `auth-login` and `tests fail` of `auth-login: tests fail`. Only what looks
/// like an id is one: `Error: no tar` is about no task called `Error`.
fn split_task<'t>(text: &'t str, between: &str) -> (Option<&'t str>, &'t str) {
    let is_id = |word: &&str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_./#%".contains(c);
        word.chars().all(allowed)
            && word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.contains(|c: char| c.is_ascii_digit() || "-_/".contains(c))
    };
    match text.split_once(between) {
        Some((task, words)) if is_id(&task) && !words.trim().is_empty() => {
            (Some(task), words.trim())
        }
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_an_id_is_a_task() {
        for (text, task) in [
            ("auth-login: fails", Some("auth-login")),
            ("development/step-2/a: fails", Some("development/step-2/a")),
            ("US001: fails", Some("US001")),
            ("Error: fails", None),
            ("the crane: broken", None),
            ("auth-login: ", None),
            ("-: a", None),
        ] {
            assert_eq!(split_task(text, ": ").0, task, "{text}");
        }
    }
}
