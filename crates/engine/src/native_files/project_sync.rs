//! The faces of the project: native files that show the sessions, the memory and
//! every attempt, and that are taken in when somebody else wrote them.
//!
//! [`follow`] is called after every writing command. It never fails the command:
//! what is stored is stored, and a file that is behind is brought up to date by
//! the next one.

mod archive;
mod large;
mod rows;
mod secret;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use piton_core::command::{Found, KnownThings, TakenFile};
use piton_core::name::{Named, Space};
use piton_core::{Actor, Command, DecisionRow, Facts, Need, RunId, StreamId, Tables, Verb, Way};
use piton_formats::face::{About, Detected, Shown, Took};
use piton_formats::problem::Problem;
use piton_store::Store as _;

use self::rows::{Behind, Fresh, behind};
use serde::{Deserialize, Serialize};

use crate::fail;
use crate::failure::Failure;
use crate::native_files::exchange::{Copied, sha256};
use crate::native_files::plan_sync::{cannot_be_taken, changed_meanwhile, keep_beside};
use crate::native_files::synced_file::{Flush, Look, Present, Put, SyncedFile, is_last_version};
use crate::session::Session;
use crate::{git, history, world};
use piton_formats::project_format::Derived;
pub use piton_formats::project_format::FaceFile;
pub use piton_formats::registry::{face_file_at as file_at, face_files};

/// How often a file is tried again that others write at the same time.
const TRIES: u32 = 8;
/// How long a command tries: the next one goes on where it ended.
const TRIES_TIME: std::time::Duration = std::time::Duration::from_secs(1);
/// How often, and how long apart, a file is read again that cannot be read:
/// somebody may be in the middle of writing it.
const READS: u32 = 3;
const READ_PAUSE: std::time::Duration = std::time::Duration::from_millis(40);

/// Problems of a file that mean that something in it is not taken in.
const LEFT: [&str; 4] = [
    "NOT_TAKEN",
    "SIGN_TWICE",
    "SIGN_WITHOUT_NAME",
    "NOT_A_NUMBER",
];

/// What happened to a file that somebody should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Something of it was taken in: the file, and how many things.
    TakenIn(String, usize),
    /// A person is asked about it from now on: the file.
    Asked(String),
    /// Something in it stays there and is not taken in: what, and what to do.
    Left(String),
    /// It could not be brought up to date: the file, and why.
    Behind(String, String),
}

impl std::fmt::Display for News {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TakenIn(file, 1) => write!(f, "took 1 thing in from {file}"),
            Self::TakenIn(file, count) => write!(f, "took {count} things in from {file}"),
            Self::Asked(file) => f.write_str(&cannot_be_taken(file)),
            Self::Left(what) => f.write_str(what),
            Self::Behind(file, why) => write!(f, "{file} is not kept up to date: {why}"),
        }
    }
}

impl News {
    /// Whether somebody should look at it.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        !matches!(self, Self::TakenIn(..))
    }
}

/// What the system said of the versions that a person is asked about: whoever
/// looks often does not read them again as long as they are the same.
pub type Waiting = BTreeMap<&'static str, Look>;

/// Brings every face of the project up to date, and takes in what others wrote.
pub fn follow(session: &Session<'_>) -> Vec<News> {
    follow_again(session, &mut Waiting::new())
}

/// [`follow`], for whoever looks often.
pub fn follow_again(session: &Session<'_>, waiting: &mut Waiting) -> Vec<News> {
    follow_at(session, waiting, Moment::Any)
}

/// Takes in what others wrote until now, where everything that an agent started
/// has ended.
pub fn follow_at_end(session: &Session<'_>, waiting: &mut Waiting) -> Vec<News> {
    follow_at(session, waiting, Moment::EndOfAttempt)
}

/// Brings the files up to date where nothing more is going to happen for now, with
/// what is made of large ones.
pub fn follow_to_rest(session: &Session<'_>, waiting: &mut Waiting) -> Vec<News> {
    follow_at(session, waiting, Moment::Rest)
}

/// When files are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Any,
    /// Only what may have changed is looked at; a lock of git is that of the dead.
    EndOfAttempt,
    /// Nothing more is going to happen for now.
    Rest,
}

fn follow_at(session: &Session<'_>, waiting: &mut Waiting, moment: Moment) -> Vec<News> {
    let needs = [Need::Faces, Need::OpenDecisions(Some(RunId::PROJECT))];
    let Ok(rows) = session.load(&needs) else {
        return Vec::new();
    };
    let mut news = Vec::new();
    for face in rows.tables.faces().filter(|face| face.on) {
        let Some(file) = file_at(&face.path) else {
            continue;
        };
        let asked = rows
            .tables
            .open_decisions(RunId::PROJECT)
            .find(|row| row.file.as_deref() == Some(&face.path));
        let there = Look::at(&target(session, file));
        let is_ours = || {
            is_last_version(
                &session.project.home,
                &key(file.path),
                &target(session, file),
            )
        };
        if moment == Moment::EndOfAttempt && (there.is_none() || is_ours()) {
            continue;
        }
        let waits = waiting.get(file.path).copied();
        if asked.is_some() && waits.is_some() && waits == there {
            continue;
        }
        match follow_file(session, file, asked, moment) {
            Ok(told) => news.extend(told),
            Err(failure) => news.push(News::Behind(face.path.clone(), failure.message)),
        }
        // Whether it is still asked about is seen the next time.
        match there.filter(|_| asked.is_some()) {
            Some(look) => waiting.insert(file.path, look),
            None => waiting.remove(file.path),
        };
    }
    news
}

/// Brings the faces up to date that show the calls of sessions, as [`follow`]
/// does. The others have nothing to show of them.
pub fn follow_calls(session: &Session<'_>) -> Vec<News> {
    let paths = face_files().filter(|file| file.calls);
    let needs: Vec<Need> = paths.map(|file| Need::Face(file.path.to_owned())).collect();
    let Ok(rows) = session.load(&needs) else {
        return Vec::new();
    };
    let mut news = Vec::new();
    for face in rows.tables.faces().filter(|face| face.on) {
        let Some(file) = file_at(&face.path).filter(|file| file.calls) else {
            continue;
        };
        match follow_file(session, file, None, Moment::Any) {
            Ok(told) => news.extend(told),
            Err(failure) => news.push(News::Behind(face.path.clone(), failure.message)),
        }
    }
    news
}

/// Whether two texts are the same lines, in any order.
fn has_same_lines(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    one == other || (one.len() == other.len() && sorted(one) == sorted(other))
}

/// The files that git tracks, are kept up to date and nobody is asked about, each
/// with what is made of it, by their paths relative to the project; and whether
/// piton alone changed it since it was committed.
pub(crate) fn settled_paths(session: &Session<'_>) -> Vec<(Vec<String>, bool)> {
    let needs = [Need::Faces, Need::OpenDecisions(Some(RunId::PROJECT))];
    let Ok(rows) = session.load(&needs) else {
        return Vec::new();
    };
    let project = &session.project;
    let open = || rows.tables.open_decisions(RunId::PROJECT);
    let is_asked = |path: &str| open().any(|row| row.file.as_deref() == Some(path));
    let on = rows
        .tables
        .faces()
        .filter(|face| face.on && !is_asked(&face.path));
    let files = on.filter_map(|face| file_at(&face.path));
    let tracked = files.filter(|file| project.is_tracked(file.path));
    let (files, names): (Vec<&FaceFile>, Vec<String>) = tracked
        .filter_map(|file| Some((file, project.in_work_tree(file.path)?)))
        .unzip();
    let committed = git::committed_texts(&project.work_tree, &names);
    let is_own = |file: &FaceFile, committed: Option<String>| {
        let keeper = keeper(session, file).ok();
        keeper
            .zip(committed)
            .is_some_and(|(keeper, committed)| keeper.is_own_since(&committed))
    };
    let settled = files.into_iter().zip(committed).map(|(file, committed)| {
        let derived = file
            .derived_path()
            .filter(|derived| project.is_tracked(derived));
        let paths = std::iter::once(file.path).chain(derived);
        let paths = paths.map(str::to_owned).collect();
        (paths, is_own(file, committed))
    });
    settled.collect()
}

/// Where a file of the project is.
fn target(session: &Session<'_>, file: &FaceFile) -> PathBuf {
    session.project.root.join(file.path)
}

/// The keeper of a file of the project.
fn keeper(session: &Session<'_>, file: &FaceFile) -> Result<SyncedFile, Failure> {
    let target = target(session, file);
    SyncedFile::open(&session.project.home, &key(file.path), &target, Flush::File)
        .map_err(|error| cannot_write(file, &error))
}

/// Under what the stamp of a file of the project is kept.
fn key(path: &str) -> String {
    path.replace(['/', '.'], "_")
}

/// Whether the stamp that is kept under this is that of a file of the project.
pub(crate) fn is_key(found: &str) -> bool {
    face_files().any(|file| key(file.path) == found)
}

fn cannot_write(file: &FaceFile, error: &io::Error) -> Failure {
    Failure::new("file.unwritable", format!("{}: {error}", file.path))
}

/// An error of the file system, as one of this module.
struct Trouble(Failure);

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self(Failure::new("file.unwritable", error.to_string()))
    }
}

fn follow_file(
    session: &Session<'_>,
    file: &FaceFile,
    asked: Option<&DecisionRow>,
    moment: Moment,
) -> Result<Vec<News>, Failure> {
    let mut keeper = keeper(session, file)?;
    keeper
        .locked(|keeper| {
            Following {
                session,
                file,
                asked,
                moment,
            }
            .follow(keeper)
        })
        .map_err(|Trouble(failure)| failure)
}

/// One file being brought up to date, under its lock.
struct Following<'s, 'w> {
    session: &'s Session<'w>,
    file: &'s FaceFile,
    asked: Option<&'s DecisionRow>,
    moment: Moment,
}

impl Following<'_, '_> {
    fn follow(&self, keeper: &mut SyncedFile) -> Result<Vec<News>, Trouble> {
        let mut news = Vec::new();
        if keeper.stamp().is_new() {
            self.take_archive(&mut news)?;
        }
        // What a crash left before anything was exchanged is not in the stamp.
        let mut is_tidy = false;
        let begun = self.session.world.uptime();
        for nth in 0..TRIES {
            let spent = self.session.world.uptime().saturating_sub(begun);
            if nth > 0 && spent > TRIES_TIME {
                break;
            }
            if keeper.has_left() || (!is_tidy && self.is_behind(keeper)?) {
                keeper.tidy(|left| self.take_left(left, &mut news))?;
                is_tidy = true;
            }
            let is_elsewhere = self.shows_other_branch(keeper);
            match self.present(keeper)? {
                Present::Special => return Ok(news),
                // Whoever brought piton's own version back has answered.
                Present::Missing | Present::Ours => self.settle()?,
                // What git is about to put there is looked at when it is whole.
                Present::Foreign(_) if self.git_is_at_work() => return Ok(news),
                Present::Foreign(bytes)
                    if is_cut_short(keeper, &bytes) && self.read(&bytes, None).is_readable() =>
                {
                    let whole = keeper.base().unwrap_or_default();
                    let positions = keeper.stamp().positions.clone();
                    keeper.accept(&bytes)?;
                    keeper.put(whole.as_bytes(), positions, None)?;
                    for displaced in keeper.take_displaced() {
                        self.take_displaced(displaced, &mut news)?;
                    }
                    continue;
                }
                Present::Foreign(bytes) => {
                    let base = keeper.base().filter(|_| !is_elsewhere);
                    let seen = sha256(&bytes);
                    let remembered = keeper.remembered::<AskedAtWork>();
                    let since = Since {
                        may_be_agents: remembered.is_some_and(|asked| asked.seen == seen),
                        ..self.since(keeper, base.as_deref())
                    };
                    // What another branch says of what is known was said there.
                    let known = match is_elsewhere {
                        true => KnownThings::Keep,
                        false => KnownThings::Ask,
                    };
                    let taking = self.take(&bytes, since, known)?;
                    let is_new = match taking {
                        Taking::Taken(_) => self.asked.is_none(),
                        Taking::Asked(question) => question == Question::New,
                    };
                    if is_new {
                        news.extend(self.left_in(&bytes, base.as_deref()));
                    }
                    match taking {
                        Taking::Taken(count) => {
                            news.extend((count > 0).then(|| self.taken_in(count)));
                            // It may lack what was in the version before. What the
                            // file of another branch lacks was not of that branch,
                            // or left it with the work tree.
                            let shows_again = !is_elsewhere && !self.went_along(keeper, &bytes);
                            keeper.accept(&bytes)?;
                            if shows_again {
                                keeper.note(BTreeMap::new())?;
                            }
                        }
                        Taking::Asked(question) => {
                            if question == Question::New {
                                news.push(News::Asked(self.file.path.to_owned()));
                            }
                            if self.is_at_work()? {
                                keeper.remember(&AskedAtWork { seen });
                            }
                            return Ok(news);
                        }
                    }
                }
            }
            if self.show(keeper, is_elsewhere, &mut news)? == Put::Done {
                self.derive_at_rest(keeper, &mut news)?;
                return Ok(news);
            }
            for displaced in keeper.take_displaced() {
                self.take_displaced(displaced, &mut news)?;
            }
        }
        Err(Trouble(Failure::new(
            "file.unwritable",
            format!("{} is written by others all the time", self.file.path),
        )))
    }

    /// What was archived before piton kept the file, or before the journal was
    /// brought back, is part of the history.
    fn take_archive(&self, news: &mut Vec<News>) -> Result<(), Trouble> {
        for (path, text) in archive::texts(self.session, self.file)? {
            let text = match text {
                Ok(text) => text,
                Err(problem) => {
                    news.push(News::Behind(path, in_lines(&[problem])));
                    continue;
                }
            };
            let took = self.archived(&path, &text);
            if !took.is_readable() {
                news.push(News::Behind(path, in_lines(&took.problems)));
                continue;
            }
            let found = self.unknown(took.found, None)?;
            if found.is_empty() {
                continue;
            }
            let command = Command::TakeFile(Box::new(TakenFile {
                path: path.clone(),
                found,
                known: KnownThings::Keep,
                written: Vec::new(),
            }));
            let committed = self
                .session
                .commit(&command, &self.facts())
                .map_err(|error| Trouble(error.into()))?;
            let count = count(&committed.events);
            news.extend((count > 0).then_some(News::TakenIn(path, count)));
        }
        Ok(())
    }

    fn archived(&self, path: &str, text: &str) -> Took {
        let mut text = text.to_owned();
        self.session.world.redactor().redact_document(&mut text);
        let about = About {
            file: path,
            project: "",
            now: self.session.world.now(),
            zone: self.session.world.zone(),
            iteration: None,
            is_part: false,
        };
        let archive = self.file.archive;
        archive.map_or_else(Took::default, |archive| (archive.take)(&text, &about))
    }

    /// Without the entries that stand in the archive: they are shown there.
    fn without_archived(&self, mut behind: Behind) -> Result<Behind, Trouble> {
        let mut archived = std::collections::BTreeSet::new();
        for (path, text) in archive::texts(self.session, self.file)? {
            // What cannot be read was not taken in either.
            let Ok(text) = text else { continue };
            for found in self.archived(&path, &text).found {
                if let Found::Entry(entry) = found {
                    let at = entry.at.and_then(|at| at.parse::<jiff::Timestamp>().ok());
                    archived.extend(entry.name.zip(at.map(jiff::Timestamp::as_second)));
                }
            }
        }
        behind.rows.retain(|row| match row.shown() {
            Shown::Entry(row) => {
                let name = row.entry.name.clone();
                !name.is_some_and(|name| archived.contains(&(name, row.timestamp.as_second())))
            }
            Shown::Attempt(_) | Shown::Memory(_) | Shown::Call(_) => true,
        });
        Ok(behind)
    }

    fn taken_in(&self, count: usize) -> News {
        News::TakenIn(self.file.path.to_owned(), count)
    }

    /// What is in its place, read again while it cannot be read.
    fn present(&self, keeper: &mut SyncedFile) -> Result<Present, Trouble> {
        let mut present = keeper.present()?;
        for _ in 1..READS {
            let Present::Foreign(bytes) = &present else {
                break;
            };
            let is_whole = !is_cut_short(keeper, bytes) && self.read(bytes, None).is_readable();
            if self.asked.is_some() || is_whole {
                break;
            }
            world::pause(READ_PAUSE);
            present = keeper.present()?;
        }
        Ok(present)
    }

    /// What was in the place for a moment only may be gone before it is read.
    /// It is only looked at where it can be read: what cannot be is half written.
    fn take_displaced(&self, displaced: Copied, news: &mut Vec<News>) -> Result<(), Trouble> {
        if self.read(displaced.bytes(), None).is_readable() {
            self.take_left(displaced.bytes(), news)?;
        }
        displaced.remove();
        Ok(())
    }

    /// What a crash left of somebody else's version.
    fn take_left(&self, left: &[u8], news: &mut Vec<News>) -> Result<bool, Trouble> {
        match self.take(left, Since::default(), KnownThings::Keep)? {
            Taking::Taken(count) => {
                news.extend((count > 0).then(|| self.taken_in(count)));
                Ok(true)
            }
            Taking::Asked(_) => Ok(false),
        }
    }

    /// What stays in a version without being taken in, and was not in the last
    /// one that piton wrote.
    fn left_in(&self, bytes: &[u8], base: Option<&str>) -> Vec<News> {
        let said = |bytes: &[u8]| -> Vec<String> {
            let problems = self.read(bytes, None).problems;
            let left = problems
                .iter()
                .filter(|problem| LEFT.contains(&problem.code.as_ref()));
            left.map(|problem| format!("{problem}; {}", problem.hint))
                .collect()
        };
        let before = base.map(|base| said(base.as_bytes())).unwrap_or_default();
        let mut now = said(bytes);
        now.retain(|what| !before.contains(what));
        now.into_iter().map(News::Left).collect()
    }

    fn about<'a>(&'a self, project: &'a str) -> About<'a> {
        About {
            file: self.file.path,
            project,
            now: self.session.world.now(),
            zone: self.session.world.zone(),
            iteration: None,
            is_part: false,
        }
    }

    /// What a version of the file holds. Secrets are taken out first, so that
    /// what is found is what the journal would keep of it.
    fn read(&self, bytes: &[u8], base: Option<&str>) -> Took {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Took {
                found: Vec::new(),
                problems: vec![not_utf8(self.file.path, bytes)],
            };
        };
        let mut text = text.to_owned();
        let redactor = self.session.world.redactor();
        redactor.redact_document(&mut text);
        let name = project_name(self.session);
        let mut took = self.file.found(&text, base, &self.about(&name));
        if let Detected::Foreign(what) = (self.file.detect)(&text) {
            took.problems.push(foreign(self.file.path, &what));
        }
        took
    }

    fn take(&self, bytes: &[u8], since: Since<'_>, known: KnownThings) -> Result<Taking, Trouble> {
        let base = since.base;
        let mut took = self.read(bytes, base);
        if !took.is_readable() {
            return Ok(Taking::Asked(self.ask(&took).map_err(Trouble)?));
        }
        let is_removed = |one: &Found| matches!(one, Found::Removed(_));
        if !since.may_lack {
            took.found.retain(|one| !is_removed(one));
        }
        if took.found.iter().any(is_removed) && self.is_tracked() {
            took.found.retain(|one| match one {
                Found::Removed(sign) => self.was_taken_out(sign),
                Found::Entry(_) | Found::Attempt(_) | Found::Memory(_) | Found::Retired(_) => true,
            });
        }
        let found = self.unknown(took.found.clone(), base)?;
        if found.is_empty() && self.asked.is_none() {
            return Ok(Taking::Taken(0));
        }
        let command = Command::TakeFile(Box::new(TakenFile {
            path: self.file.path.to_owned(),
            written: match since.may_be_agents {
                true => Vec::new(),
                false => self.written(&found, base)?,
            },
            found,
            known,
        }));
        let committed = self
            .session
            .commit(&command, &self.facts())
            .map_err(|error| Trouble(error.into()))?;
        fail::point("face.taken");
        if let Question::New = Question::of(&committed.events) {
            return Ok(Taking::Asked(Question::New));
        }
        // Another process may have asked since this one looked.
        let question = self.session.question_about(RunId::PROJECT, self.file.path);
        if known == KnownThings::Ask && question.map_err(Trouble)?.is_some() {
            return self.settle_or_wait(&took, base);
        }
        Ok(Taking::Taken(count(&committed.events)))
    }

    /// Whether somebody took it out of a file that git tracks. Where the file is as
    /// it was committed, and was never committed with it, git put an older version
    /// there: a stash, a reset, the branch that it was not committed on.
    fn was_taken_out(&self, sign: &piton_core::memory::Memory) -> bool {
        let Some(path) = self.path_in_work_tree() else {
            return true;
        };
        let words = sign.title.as_deref().unwrap_or(&sign.content);
        let line = words.lines().next().unwrap_or_default();
        git::has_been_committed(&self.session.project.work_tree, &path, line)
    }

    /// What of it is not what the file would say of what is known, nor what it
    /// said of that when piton wrote it last: what happened since is no edit.
    fn unknown(&self, found: Vec<Found>, base: Option<&str>) -> Result<Vec<Found>, Trouble> {
        let written = base.map(|base| self.read(base.as_bytes(), None).found);
        let written: Vec<Found> = written.iter().flatten().map(says).collect();
        let repeated: BTreeSet<usize> = Found::namesakes(&found).into_iter().flatten().collect();
        let needs: Vec<Need> = found.iter().filter_map(need_of).collect();
        let rows = self.session.load(&needs).map_err(Trouble)?;
        let tables = &rows.tables;
        let is_known = |found: &Found| {
            let shown = shown_as(tables, found)?;
            let found = says(found);
            let told = (self.file.told_again)(&shown);
            let is_said = told.is_some_and(|told| says(&told) == found);
            Some(is_said || self.file.by_name_alone || written.contains(&found))
        };
        let all = found.into_iter().enumerate();
        Ok(all
            // Which of several of one name is which is seen by all of them.
            .filter(|(at, found)| repeated.contains(at) || is_known(found) != Some(true))
            .map(|(_, found)| found)
            .collect())
    }

    /// What piton wrote last of what was found, where a person has changed it
    /// since: while an attempt is open, it may be an agent's.
    fn written(&self, found: &[Found], base: Option<&str>) -> Result<Vec<Found>, Trouble> {
        let Some(base) = base else {
            return Ok(Vec::new());
        };
        if self.is_at_work()? {
            return Ok(Vec::new());
        }
        let is_taken_out = found.iter().any(|one| matches!(one, Found::Removed(_)));
        let mut written = self.read(base.as_bytes(), None).found;
        // Of what is taken out it counts how much there was.
        written.retain(|one| is_taken_out || found.iter().any(|now| now.is_same_thing(one)));
        Ok(written)
    }

    /// Whether an attempt of the project is open.
    fn is_at_work(&self) -> Result<bool, Trouble> {
        let rows = self.session.load(&[Need::OpenAttempts(None)]);
        let rows = rows.map_err(Trouble)?;
        Ok(rows.tables.open_attempts().next().is_some())
    }

    /// A person was asked about the file. When nothing in it differs any more,
    /// whoever mended it has answered.
    fn settle_or_wait(&self, took: &Took, base: Option<&str>) -> Result<Taking, Trouble> {
        let rows = self.differing(took, base)?;
        if rows {
            return Ok(Taking::Asked(Question::Known));
        }
        self.settle()?;
        Ok(Taking::Taken(0))
    }

    /// Answers the question about the file, if there is one: it was mended.
    fn settle(&self) -> Result<(), Trouble> {
        let Some(asked) = self.asked else {
            return Ok(());
        };
        let command = Command::SettleFile {
            run: asked.run,
            path: self.file.path.to_owned(),
            why: "the file was mended".to_owned(),
        };
        let settled = self.session.commit(&command, &self.facts());
        settled.map(drop).map_err(|error| Trouble(error.into()))
    }

    /// Whether the file still says something else of what the journal knows:
    /// taking its word would revise something.
    fn differing(&self, took: &Took, base: Option<&str>) -> Result<bool, Trouble> {
        let command = Command::TakeFile(Box::new(TakenFile {
            path: self.file.path.to_owned(),
            found: self.unknown(took.found.clone(), base)?,
            known: KnownThings::Take,
            written: Vec::new(),
        }));
        let needs = piton_core::needs(&command);
        let rows = self.session.load(&needs.rows).map_err(Trouble)?;
        let drafts = piton_core::decide(&rows, &command, &self.facts())
            .map_err(|refusal| Trouble(refusal.into()))?;
        Ok(!drafts.is_empty())
    }

    fn ask(&self, took: &Took) -> Result<Question, Failure> {
        let path = self.file.path;
        let command = Command::AskAboutFile {
            run: RunId::PROJECT,
            path: path.to_owned(),
            question: format!("{path} cannot be read"),
            details: Some(in_lines(&took.problems)),
            ways: vec![Way::LeftAlone, Way::PitonHolds],
        };
        let committed = self.session.commit(&command, &self.facts())?;
        Ok(Question::of(&committed.events))
    }

    fn facts(&self) -> Facts {
        Facts {
            actor: Actor::File(self.file.path.to_owned()),
            ..self.session.facts(piton_core::HolderKnown::Nothing)
        }
    }

    /// Whether anything has moved since the file was written.
    fn is_behind(&self, keeper: &SyncedFile) -> Result<bool, Trouble> {
        let heads = self.session.store.heads();
        let heads = heads.map_err(|fault| Trouble(fault.into()))?;
        let positions = &keeper.stamp().positions;
        let moved = |name: &str, count| positions.get(name).copied().unwrap_or(0) < count;
        Ok(heads
            .iter()
            .filter(|head| head.stream != StreamId::files())
            .any(|head| moved(head.stream.as_str(), head.count)))
    }

    /// Whether what piton wrote last was the file of another branch: git keeps
    /// one for each, where it tracks the file.
    fn shows_other_branch(&self, keeper: &SyncedFile) -> bool {
        let is_other = keeper.is_of_other_branch() && self.is_tracked();
        is_other && !self.has_grown(keeper)
    }

    fn since<'a>(&self, keeper: &SyncedFile, base: Option<&'a str>) -> Since<'a> {
        Since {
            base,
            may_be_agents: false,
            may_lack: keeper.is_on_same_branch() || self.has_grown(keeper),
        }
    }

    /// Whether what this version lacks stands in one of another branch, or in a
    /// stash: it comes back from there.
    fn went_along(&self, keeper: &SyncedFile, bytes: &[u8]) -> bool {
        let (project, path) = (&self.session.project, self.file.path);
        let since = &keeper.stamp().commit;
        let base = keeper.base();
        base.is_some_and(|base| history::went_along(project, path, (&base, since), bytes))
    }

    fn path_in_work_tree(&self) -> Option<PathBuf> {
        let project = &self.session.project;
        let target = project.absolute(self.file.path);
        let path = target.strip_prefix(&project.work_tree).ok()?;
        Some(path.to_owned())
    }

    fn git_is_at_work(&self) -> bool {
        let may_be = self.moment != Moment::EndOfAttempt;
        may_be && git::is_at_work(&self.session.project.work_tree) && self.is_tracked()
    }

    /// Whether what is checked out builds on what was when piton wrote it last.
    fn has_grown(&self, keeper: &SyncedFile) -> bool {
        history::has_grown_from(&self.session.project, &keeper.stamp().commit)
    }

    fn is_tracked(&self) -> bool {
        self.session.project.is_tracked(self.file.path)
    }

    /// Without the rows of other branches, in a file that git tracks: they come
    /// with the file of theirs, when that is merged.
    fn of_branch(&self, mut behind: Behind) -> Behind {
        let Some(here) = git::checked_out(&self.session.project.work_tree) else {
            return behind;
        };
        let is_here = |row: &Fresh| {
            let there = row.checkout();
            there.is_none_or(|there| there.belongs_to_branch_of(&here))
        };
        if !behind.rows.iter().all(is_here) && self.is_tracked() {
            behind.rows.retain(is_here);
        }
        behind
    }

    /// The rows that came about on no branch, as in the middle of a rebase: each
    /// branch shows them, though none was there to.
    fn of_no_branch(&self) -> Result<Vec<Fresh>, Trouble> {
        let all = behind(self.session, &BTreeMap::new(), self.file).map_err(Trouble)?;
        let mut rows = all.rows;
        rows.retain(Fresh::is_of_no_branch);
        Ok(rows)
    }

    /// Shows what has moved since, if anything has.
    fn show(
        &self,
        keeper: &mut SyncedFile,
        is_elsewhere: bool,
        news: &mut Vec<News>,
    ) -> Result<Put, Trouble> {
        let missing = keeper.present()? == Present::Missing;
        if missing && history::is_absent(&self.session.project, self.file.path, keeper)? {
            return Ok(Put::Done);
        }
        let positions = match missing {
            true => BTreeMap::new(),
            false => keeper.stamp().positions.clone(),
        };
        let mut behind = behind(self.session, &positions, self.file).map_err(Trouble)?;
        // What was recorded where the file is absent belongs there.
        let was_absent = !keeper.stamp().absent_on.is_empty();
        if is_elsewhere || was_absent || positions.is_empty() {
            behind = self.of_branch(behind);
        }
        if is_elsewhere && !positions.is_empty() {
            let homeless = self.of_no_branch()?;
            behind.rows.retain(|row| !row.is_of_no_branch());
            behind.rows.extend(homeless);
        }
        if positions.is_empty() && self.file.archive.is_some() {
            behind = self.without_archived(behind)?;
        }
        if behind.rows.is_empty() {
            if is_elsewhere || behind.positions != keeper.stamp().positions {
                keeper.note(behind.positions)?;
            }
            return Ok(Put::Done);
        }
        // What is shown from the first row on may stand there already.
        if !positions.is_empty()
            && let Some(put) = self.extend(keeper, &behind)?
        {
            return Ok(put);
        }
        let text = if missing {
            keeper.base().filter(|_| !is_elsewhere)
        } else {
            Some(read_text(keeper.target())?)
        };
        let put = self.put(keeper, text.as_deref(), behind, news)?;
        Ok(put)
    }

    fn put(
        &self,
        keeper: &mut SyncedFile,
        text: Option<&str>,
        behind: Behind,
        news: &mut Vec<News>,
    ) -> Result<Put, Trouble> {
        let name = project_name(self.session);
        let about = About {
            iteration: behind.iteration,
            ..self.about(&name)
        };
        let new = self.text_of(text, behind.shown(), &about)?;
        let new = archive::part(self.session, self.file, new).map_err(Trouble)?;
        // First what is made of the file: as long as the file is behind, a crash
        // leaves this to the next command.
        if !new.is_empty() {
            self.derive((text, &new), &behind.positions, news)?;
        }
        if text == Some(new.as_str()) && keeper.target().is_file() {
            keeper.settle(behind.positions, large::tail(self.file, &new))?;
            return Ok(Put::Done);
        }
        if new.is_empty() {
            // Nothing of this concerns the file.
            return Ok(Put::Done);
        }
        let tail = large::tail(self.file, &new);
        Ok(keeper.put(new.as_bytes(), behind.positions, tail)?)
    }

    /// The file with what is to be shown. The journal knows secrets redacted
    /// only: what somebody wrote in the file is not replaced by that.
    fn text_of(
        &self,
        text: Option<&str>,
        mut shown: Vec<Shown<'_>>,
        about: &About<'_>,
    ) -> Result<String, Trouble> {
        let show = |text: Option<&str>, shown: &[Shown<'_>]| {
            (self.file.show)(text, shown, about).map_err(|cannot| {
                let message = format!("{}: {cannot}", self.file.path);
                Trouble(Failure::new("file.unwritable", message))
            })
        };
        let written = text.unwrap_or_default();
        let mut redacted = written.to_owned();
        let redactor = self.session.world.redactor();
        if !redactor.redact_document(&mut redacted) {
            return show(text, &shown);
        }
        // Redacted JSON has lost its layout; that of lines keeps them.
        if !self.file.path.ends_with(".json") {
            let new = show(Some(&redacted), &shown)?;
            return Ok(secret::put_back(&new, written, &redacted));
        }
        let found = self.read(written.as_bytes(), None).found;
        let said: Vec<Found> = found.iter().map(says).collect();
        shown.retain(|row| {
            let told = (self.file.told_again)(row);
            told.is_none_or(|told| !said.contains(&says(&told)))
        });
        show(text, &shown)
    }

    /// Who keeps what is made of the file.
    fn page_keeper(&self, path: &str) -> Result<SyncedFile, Trouble> {
        let project = &self.session.project;
        let target = project.root.join(path);
        Ok(SyncedFile::open(
            &project.home,
            &key(path),
            &target,
            Flush::Nothing,
        )?)
    }

    /// What is made of a large file follows at rest.
    fn derive_at_rest(&self, keeper: &SyncedFile, news: &mut Vec<News>) -> Result<(), Trouble> {
        let (Some(path), Moment::Rest) = (self.file.derived_path(), self.moment) else {
            return Ok(());
        };
        let positions = &keeper.stamp().positions;
        let is_behind = self.page_keeper(path)?.stamp().positions != *positions;
        if !is_behind || !keeper.target().is_file() {
            return Ok(());
        }
        let text = read_text(keeper.target())?;
        self.derive((None, &text), positions, news)
    }

    /// Writes what is made of the file for people to read. `before` is the file as
    /// it stood: what is made of that is piton's, also where another branch has it.
    fn derive(
        &self,
        (before, text): (Option<&str>, &str),
        positions: &BTreeMap<String, u64>,
        news: &mut Vec<News>,
    ) -> Result<(), Trouble> {
        let Some(Derived { path, render, .. }) = self.file.derived else {
            return Ok(());
        };
        let Ok(text) = render(text) else {
            return Ok(());
        };
        let target = self.session.project.root.join(path);
        let mut keeper = self.page_keeper(path)?;
        keeper.locked::<_, Trouble>(|keeper| {
            // What a crash left; what is somebody else's among it stays.
            keeper.tidy(|_| Ok::<_, Trouble>(false))?;
            // What was merged may have entries of one minute in another order: that
            // is seen to with the next one.
            if std::fs::read_to_string(&target).is_ok_and(|there| has_same_lines(&there, &text)) {
                return Ok(keeper.note(positions.clone())?);
            }
            let is_own = |bytes: &[u8]| {
                let own = before.and_then(|before| render(before).ok());
                own.is_some_and(|own| own.as_bytes() == bytes)
            };
            if let Present::Foreign(bytes) = keeper.present()? {
                if !is_own(&bytes) {
                    // Nobody reads it but people: what they wrote there is kept for them.
                    let copy = crate::native_files::plan_sync::keep_copy(&target, COPY)?;
                    forget_copies(&target)?;
                    let copy = copy
                        .file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned();
                    news.push(News::Left(format!(
                    "{path} is made of {}: what somebody wrote there is kept beside it as {copy}, \
                     and is not taken in; record it with `piton log`",
                    self.file.path
                )));
                }
                keeper.accept(&bytes)?;
            }
            keeper.put(text.as_bytes(), positions.clone(), None)?;
            Ok(())
        })
    }
}

/// Whether this is only the beginning of what piton wrote last: whoever wrote it
/// fell, and all of it is known. A file of one line is as short as it likes.
pub(crate) fn is_cut_short(keeper: &SyncedFile, bytes: &[u8]) -> bool {
    // Another branch has its own version, which may be where this one began.
    !keeper.is_of_other_branch()
        && keeper.base().is_some_and(|whole| {
            let is_longer = whole.lines().nth(1).is_some() && whole.len() > bytes.len();
            is_longer && whole.as_bytes().starts_with(bytes)
        })
}

/// Which row a thing that was found may be.
fn need_of(found: &Found) -> Option<Need> {
    match found {
        Found::Entry(entry) => Some(Need::Name(Space::Entry, entry.name.clone()?)),
        Found::Attempt(told) => Some(Need::Name(Space::Attempt, told.name.clone()?)),
        Found::Memory(memory) | Found::Retired(memory) | Found::Removed(memory) => {
            Some(Need::Memory(memory.id.clone()?))
        }
    }
}

/// The row that has the name of a thing that was found.
fn shown_as<'t>(tables: &'t Tables, found: &Found) -> Option<Shown<'t>> {
    match found {
        Found::Entry(entry) => {
            let Named::Entry(position) = tables.named(Space::Entry, entry.name.as_deref()?)?.of
            else {
                return None;
            };
            tables.entry(position).map(Shown::Entry)
        }
        Found::Attempt(told) => {
            let Named::Attempt(id) = tables.named(Space::Attempt, told.name.as_deref()?)?.of else {
                return None;
            };
            tables.attempt(id).map(Shown::Attempt)
        }
        Found::Memory(memory) | Found::Retired(memory) | Found::Removed(memory) => {
            tables.remembered(memory.id.as_deref()?).map(Shown::Memory)
        }
    }
}

/// A thing without what only its text has.
fn says(found: &Found) -> Found {
    let mut found = found.clone();
    match &mut found {
        Found::Entry(entry) => entry.native = None,
        Found::Attempt(told) => {
            told.native = None;
            told.attempt = piton_core::AttemptId(uuid::Uuid::nil());
        }
        Found::Memory(memory) | Found::Retired(memory) | Found::Removed(memory) => {
            memory.native = None
        }
    }
    found
}

/// Since when a version is looked at.
#[derive(Clone, Copy, Default)]
struct Since<'a> {
    /// What piton wrote last, where that is known.
    base: Option<&'a str>,
    /// Whether what is missing in it may have been taken out of it: it builds on
    /// what piton wrote.
    may_lack: bool,
    /// Whether it was asked about while an attempt was open: who wrote it then is
    /// known to nobody, also when that is over.
    may_be_agents: bool,
}

/// A version that was asked about while an attempt was open, by its hash.
#[derive(Serialize, Deserialize)]
struct AskedAtWork {
    seen: String,
}

/// What came of taking a version in.
#[derive(Clone, Copy)]
enum Taking {
    /// So many things were new.
    Taken(usize),
    /// A person is asked; the file stays.
    Asked(Question),
}

/// Whether a person was asked before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    New,
    Known,
}

impl Question {
    fn of(events: &[piton_core::Recorded]) -> Self {
        let is_question = |recorded: &piton_core::Recorded| {
            matches!(recorded.event, piton_core::Event::DecisionOpened { .. })
        };
        if events.iter().any(is_question) {
            Self::New
        } else {
            Self::Known
        }
    }
}

/// How many things the events brought.
fn count(events: &[piton_core::Recorded]) -> usize {
    use piton_core::Event;
    let is_thing = |recorded: &&piton_core::Recorded| {
        matches!(
            recorded.event,
            Event::EntryLogged(_)
                | Event::EntryRevised { .. }
                | Event::AttemptTold(_)
                | Event::AttemptRevised(_)
                | Event::MemoryAdded(_)
                | Event::MemoryRevised(_)
                | Event::MemoryRetired { .. }
        )
    };
    events.iter().filter(is_thing).count()
}

/// What the project is called in its files.
pub fn project_name(session: &Session<'_>) -> String {
    let root = &session.project.root;
    root.file_name().map_or_else(
        || "project".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn read_text(path: &Path) -> Result<String, Trouble> {
    let bytes = std::fs::read(path)?;
    String::from_utf8(bytes).map_err(|_| Trouble::from(io::Error::from(io::ErrorKind::InvalidData)))
}

/// Problems, one a line.
pub(crate) fn in_lines(problems: &[Problem]) -> String {
    const SHOWN: usize = 10;
    let errors: Vec<&Problem> = problems
        .iter()
        .filter(|problem| problem.is_error())
        .collect();
    let mut lines: Vec<String> = errors.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = errors.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}

/// What the name of a copy of a file that piton makes ends with, before its
/// number.
const COPY: &str = "before-piton";
/// So many copies of such a file are kept: a program that writes it again and
/// again would leave one for each time.
const COPIES_MAX: usize = 3;

/// Removes all but the last copies of a file that piton makes.
fn forget_copies(target: &Path) -> std::io::Result<()> {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Ok(());
    };
    let begin = format!("{}.{COPY}", name.to_string_lossy());
    let mut copies = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_copy = name.strip_prefix(&begin).is_some_and(|number| {
            let number = number.strip_prefix('.').unwrap_or(number);
            number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if is_copy && entry.file_type()?.is_file() {
            copies.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    copies.sort();
    let too_many = copies.len().saturating_sub(COPIES_MAX);
    for (_, path) in copies.into_iter().take(too_many) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

pub(crate) fn not_utf8(path: &str, bytes: &[u8]) -> Problem {
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let before = &bytes[..valid];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    let span = piton_formats::tree::Span {
        start: valid,
        end: valid,
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
    };
    Problem::error("NOT_UTF8", path, "", span).saying("this is no UTF-8 text", "save it as UTF-8")
}

pub(crate) fn foreign(path: &str, what: &str) -> Problem {
    let span = piton_formats::tree::Span {
        start: 0,
        end: 0,
        line: 1,
        column: 1,
    };
    Problem::error("FOREIGN", path, "", span).saying(
        format!("this is {what}"),
        "move one of the two programs' files elsewhere",
    )
}

/// Looks at a file of the project again that a person is asked about: what is
/// there now may be another version.
///
/// # Errors
///
/// When it cannot be read or written.
pub(crate) fn look_again(session: &Session<'_>, asked: &DecisionRow) -> Result<(), Failure> {
    let path = asked.file.as_deref().unwrap_or_default();
    match file_at(path) {
        Some(file) => follow_file(session, file, Some(asked), Moment::Any).map(drop),
        None => Ok(()),
    }
}

/// Carries out what a person decided about a native file of the project. The
/// version that is kept beside it, if one is.
///
/// # Errors
///
/// When the file cannot be read or written, or the verb does not fit it.
pub(crate) fn decide(
    session: &Session<'_>,
    row: &DecisionRow,
    verb: Verb,
) -> Result<Option<PathBuf>, Failure> {
    let path = row.file.as_deref().unwrap_or_default();
    let Some(file) = file_at(path) else {
        return Ok(None);
    };
    let mut keeper = keeper(session, file)?;
    let following = Following {
        session,
        file,
        moment: Moment::Any,
        asked: None,
    };
    keeper
        .locked(|keeper| following.decided(keeper, row, verb))
        .map_err(|Trouble(failure)| failure)
}

impl Following<'_, '_> {
    fn decided(
        &self,
        keeper: &mut SyncedFile,
        row: &DecisionRow,
        verb: Verb,
    ) -> Result<Option<PathBuf>, Trouble> {
        let target = keeper.target().to_owned();
        let Ok(bytes) = std::fs::read(&target) else {
            return Ok(None);
        };
        let mut kept = None;
        let readable = self.read(&bytes, None).is_readable();
        // What was offered is done, or nothing: somebody may be writing the file.
        match row.way(verb).or_else(|| way_of(verb, readable)) {
            Some(Way::FileHolds) if readable => {
                self.take(
                    &bytes,
                    self.since(keeper, keeper.base().as_deref()),
                    KnownThings::Take,
                )?;
                keeper.accept(&bytes)?;
            }
            Some(Way::Merged) if readable => {
                kept = Some(keep_beside(self.session, &target)?);
                self.take(
                    &bytes,
                    self.since(keeper, keeper.base().as_deref()),
                    KnownThings::Keep,
                )?;
                keeper.accept(&bytes)?;
            }
            Some(Way::FileHolds | Way::Merged) => {
                return Err(Trouble(changed_meanwhile(self.file.path)));
            }
            Some(Way::PitonHolds) => {
                if readable {
                    self.take(
                        &bytes,
                        self.since(keeper, keeper.base().as_deref()),
                        KnownThings::Keep,
                    )?;
                }
                let kept = keep_beside(self.session, &target)?;
                keeper.accept(&bytes)?;
                let behind = behind(self.session, &BTreeMap::new(), self.file).map_err(Trouble)?;
                let behind = self.without_archived(self.of_branch(behind))?;
                self.put(keeper, None, behind, &mut Vec::new())?;
                for displaced in keeper.take_displaced() {
                    self.take_displaced(displaced, &mut Vec::new())?;
                }
                return Ok(Some(kept));
            }
            Some(Way::LeftAlone) => {
                let command = Command::TurnFace {
                    path: self.file.path.to_owned(),
                    face: self.file.face.to_owned(),
                    on: false,
                };
                self.session.tell(&command).map_err(Trouble)?;
                return Ok(None);
            }
            // The store says what fits.
            None | Some(Way::Retired | Way::FollowedOn) => return Ok(None),
        }
        keeper.note(BTreeMap::new())?;
        Ok(kept)
    }
}

/// What a verb comes to in a question of earlier times, which did not say.
fn way_of(verb: Verb, readable: bool) -> Option<Way> {
    match verb {
        Verb::KeepFile if readable => Some(Way::FileHolds),
        Verb::KeepFile => Some(Way::LeftAlone),
        Verb::KeepPiton => Some(Way::PitonHolds),
        Verb::Merge => Some(Way::Merged),
        Verb::Approve | Verb::Answer | Verb::Retry | Verb::Skip | Verb::Settled => None,
    }
}
