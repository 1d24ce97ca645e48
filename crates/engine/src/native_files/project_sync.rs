//! The files of the project: native files that show the sessions, the memory and
//! every attempt, and that are taken in when somebody else wrote them.
//!
//! [`follow`] is called after every writing command. It never fails the command:
//! what is stored is stored, and a file that is behind is brought up to date by
//! the next one.

mod archive;
mod large;
mod page;
mod rows;
mod secret;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use piton_core::command::{Found, KnownThings, TakenFile};
use piton_core::face::FaceRow;
use piton_core::name::{Named, Space};
use piton_core::{Command, DecisionRow, Need, RunId, StreamId, Tables, Verb, Way};
use piton_formats::face::{About, Detected, Shown, Took};
use piton_formats::problem::Problem;
use piton_store::Store as _;
use serde::{Deserialize, Serialize};

pub use piton_formats::project_format::FaceFile;
pub use piton_formats::registry::{face_file_at as file_at, face_files};

use self::rows::{Behind, Fresh, behind};
use super::branches::{self, Origin};
use super::copies::keep_beside;
use super::news::{News, foreign, in_lines, not_utf8};
use super::sync::{
    self, Fault, Holds, Looked, NativeFile, Standing, asks, commit, facts, is_absent,
    is_alive_at_work, is_at_work, settle,
};
use super::synced_file::{Flush, Look, Present, Put, SyncedFile, UnshownRows, is_last_version};
use crate::failure::Failure;
use crate::history::{has_grown_from, is_set_back};
use crate::session::Session;
use crate::{fail, git};

/// How often a file is tried again that others write at the same time.
const TRIES: u32 = 8;
/// How long a command tries: the next one goes on where it ended.
const TRIES_TIME: Duration = Duration::from_secs(1);

/// Problems of a file that mean that something in it is not taken in.
const LEFT: [&str; 4] = [
    "NOT_TAKEN",
    "SIGN_TWICE",
    "SIGN_WITHOUT_NAME",
    "NOT_A_NUMBER",
];

/// What the system said of the versions that a person is asked about: whoever
/// looks often does not read them again as long as they are the same.
pub type Waiting = BTreeMap<&'static str, Look>;

/// Brings every file of the project up to date, and takes in what others wrote.
pub fn follow(session: &Session<'_>) -> Vec<News> {
    follow_again(session, &mut Waiting::new())
}

/// [`follow`], for whoever looks often.
pub fn follow_again(session: &Session<'_>, waiting: &mut Waiting) -> Vec<News> {
    follow_at(session, waiting, Moment::Any)
}

/// The same, while an agent works or is about to.
pub fn follow_at_work(session: &Session<'_>, waiting: &mut Waiting) -> Vec<News> {
    follow_at(session, waiting, Moment::AtWork)
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
    /// An agent works, or is about to.
    AtWork,
}

fn follow_at(session: &Session<'_>, waiting: &mut Waiting, moment: Moment) -> Vec<News> {
    let needs = [Need::Faces, Need::OpenDecisions(Some(RunId::PROJECT))];
    let Ok(rows) = session.load(&needs) else {
        return Vec::new();
    };
    let mut news = Vec::new();
    for (face, file) in kept(&rows.tables) {
        let asked = rows
            .tables
            .open_decisions(RunId::PROJECT)
            .find(|row| row.file.as_deref() == Some(&face.path));
        let target = target(session, file);
        let there = Look::at(&target);
        let is_ours = || is_last_version(&session.project.home, &key(file.path), &target);
        if moment == Moment::EndOfAttempt && (there.is_none() || is_ours()) {
            continue;
        }
        let waits = waiting.get(file.path).copied();
        if asked.is_some() && waits.is_some() && waits == there {
            continue;
        }
        news.extend(followed(session, file, asked, moment));
        // Whether it is still asked about is seen the next time.
        match there.filter(|_| asked.is_some()) {
            Some(look) => waiting.insert(file.path, look),
            None => waiting.remove(file.path),
        };
    }
    news
}

/// Brings the files up to date that show the calls of sessions, as [`follow`]
/// does. The others have nothing to show of them.
pub fn follow_calls(session: &Session<'_>) -> Vec<News> {
    let paths = face_files().filter(|file| file.calls);
    let needs: Vec<Need> = paths.map(|file| Need::Face(file.path.to_owned())).collect();
    let Ok(rows) = session.load(&needs) else {
        return Vec::new();
    };
    kept(&rows.tables)
        .filter(|(_, file)| file.calls)
        .flat_map(|(_, file)| followed(session, file, None, Moment::Any))
        .collect()
}

/// The files that are kept up to date.
fn kept(tables: &Tables) -> impl Iterator<Item = (&FaceRow, &'static FaceFile)> {
    let on = tables.faces().filter(|face| face.on);
    on.filter_map(|face| Some((face, file_at(&face.path)?)))
}

/// What became of a file, also where it cannot be followed.
fn followed(
    session: &Session<'_>,
    file: &'static FaceFile,
    asked: Option<&DecisionRow>,
    moment: Moment,
) -> Vec<News> {
    let followed = follow_file(session, file, asked, moment);
    followed.unwrap_or_else(|failure| vec![News::behind(file.path, failure.message)])
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
    let is_asked = |path: &str| {
        let mut asked = rows.tables.open_decisions(RunId::PROJECT);
        asked.any(|row| row.file.as_deref() == Some(path))
    };
    let files = kept(&rows.tables).map(|(_, file)| file);
    let settled = files.filter(|file| project.is_tracked(file.path) && !is_asked(file.path));
    let (files, names): (Vec<&FaceFile>, Vec<String>) = settled
        .filter_map(|file| Some((file, project.in_work_tree(file.path)?)))
        .unzip();
    let committed = git::committed_texts(&project.work_tree, &names);
    let is_own = |file: &FaceFile, committed: Option<String>| {
        let synced = open(session, file).ok();
        synced
            .zip(committed)
            .is_some_and(|(synced, committed)| synced.is_own_since(&committed))
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

/// What the tracked files of the project say on the branch of a run in lanes, with the
/// rows that are left to its landing: each file that differs, by its path in the work
/// tree. `there` gives a file as the branch has it.
pub(crate) fn texts_on_branch(
    session: &Session<'_>,
    branch: &str,
    there: &mut dyn FnMut(&str) -> Result<Option<String>, Failure>,
) -> Result<Vec<(String, String)>, Failure> {
    let rows = session.load(&[Need::Faces])?;
    let mut texts = Vec::new();
    for (_, file) in kept(&rows.tables) {
        let unshown = open(session, file)?.stamp().unshown.clone();
        let unshown = unshown.filter(|unshown| unshown.branches.contains_key(branch));
        let Some((unshown, path)) = unshown.zip(session.project.in_work_tree(file.path)) else {
            continue;
        };
        let Some(before) = there(&path)? else {
            continue;
        };
        let sync = ProjectSync {
            session,
            file,
            asked: None,
            moment: Moment::Rest,
            origin: Origin::Same,
        };
        let text = sync.text_on_branch(&unshown, branch, &before);
        let text = text.map_err(|fault| fault.of_file(file.path))?;
        let page = file.derived.as_ref().and_then(|derived| {
            let path = session.project.in_work_tree(derived.path)?;
            Some((path, (derived.render)(&text).ok()?))
        });
        if text == before {
            continue;
        }
        texts.push((path, text));
        if let Some((path, page)) = page
            && there(&path)?.is_some_and(|before| before != page)
        {
            texts.push((path, page));
        }
    }
    Ok(texts)
}

/// Where a file of the project is.
fn target(session: &Session<'_>, file: &FaceFile) -> PathBuf {
    session.project.root.join(file.path)
}

/// A file of the project, with its stamp.
fn open(session: &Session<'_>, file: &FaceFile) -> Result<SyncedFile, Failure> {
    let (home, target) = (&session.project.home, target(session, file));
    SyncedFile::open(home, &key(file.path), &target, Flush::File)
        .map_err(|error| Fault::from(error).of_file(file.path))
}

/// Under what the stamp of a file of the project is kept.
fn key(path: &str) -> String {
    path.replace(['/', '.'], "_")
}

/// Whether the stamp that is kept under this is that of a file of the project.
pub(crate) fn is_key(found: &str) -> bool {
    face_files().any(|file| key(file.path) == found)
}

/// Does something with a file, under the lock of its stamp.
fn locked<T>(
    session: &Session<'_>,
    file: &'static FaceFile,
    (asked, moment): (Option<&DecisionRow>, Moment),
    what: impl FnOnce(&mut ProjectSync<'_, '_>, &mut SyncedFile) -> Result<T, Fault>,
) -> Result<T, Failure> {
    let mut sync = ProjectSync {
        session,
        file,
        asked,
        moment,
        origin: Origin::Same,
    };
    let mut synced = open(session, file)?;
    let done = synced.locked(|synced| what(&mut sync, synced));
    done.map_err(|fault| fault.of_file(file.path))
}

fn follow_file(
    session: &Session<'_>,
    file: &'static FaceFile,
    asked: Option<&DecisionRow>,
    moment: Moment,
) -> Result<Vec<News>, Failure> {
    locked(session, file, (asked, moment), |sync, synced| {
        sync.follow(synced)
    })
}

/// Looks at a file of the project again that a person is asked about.
///
/// # Errors
///
/// When it cannot be read or written.
pub(super) fn look_again(session: &Session<'_>, asked: &DecisionRow) -> Result<(), Failure> {
    let file = asked.file.as_deref().and_then(file_at);
    let looked = file.map(|file| follow_file(session, file, Some(asked), Moment::Any));
    looked.transpose().map(drop)
}

/// Carries out what a person decided about a file of the project.
///
/// # Errors
///
/// When the file cannot be read or written, or the verb does not fit it.
pub(super) fn decide(
    session: &Session<'_>,
    row: &DecisionRow,
    verb: Verb,
) -> Result<Option<PathBuf>, Failure> {
    let Some(file) = row.file.as_deref().and_then(file_at) else {
        return Ok(None);
    };
    locked(session, file, (None, Moment::Any), |sync, synced| {
        sync::decide(sync, synced, row, verb)
    })
}

/// One file being brought up to date.
struct ProjectSync<'s, 'w> {
    session: &'s Session<'w>,
    file: &'static FaceFile,
    asked: Option<&'s DecisionRow>,
    moment: Moment,
    /// What git made of what piton wrote last.
    origin: Origin,
}

/// What a version of a file holds.
struct Version {
    took: Took,
    /// What piton wrote last, where that is known.
    base: Option<Took>,
    /// Whether it is only the beginning of what piton wrote last.
    is_beginning: bool,
}

impl Version {
    /// A version of which nothing is known but what it holds.
    fn alone(took: Took) -> Self {
        Self {
            took,
            base: None,
            is_beginning: false,
        }
    }
}

/// What came with the branches that did not have a file and are merged by now.
struct MergedSince {
    rows: Vec<Fresh>,
    /// The branches, each with the commit at which it had nothing yet.
    branches: BTreeMap<String, String>,
}

/// What a file said that was asked about while an attempt was open: who wrote it
/// then is not known, also when that is over, and whatever else is changed.
#[derive(Default, Serialize, Deserialize)]
struct AskedAtWork {
    #[serde(default)]
    things: Vec<Found>,
}

impl NativeFile for ProjectSync<'_, '_> {
    type Version = Version;

    fn session(&self) -> &Session<'_> {
        self.session
    }

    fn path(&self) -> &str {
        self.file.path
    }

    fn run(&self) -> RunId {
        RunId::PROJECT
    }

    fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    fn heeds_git(&self) -> bool {
        self.moment != Moment::EndOfAttempt
    }

    fn read(&mut self, synced: &SyncedFile, bytes: &[u8]) -> Result<Version, Vec<Problem>> {
        let base = synced.base().filter(|_| self.origin == Origin::Same);
        let mut took = self.parse(bytes, base.as_deref());
        if !took.is_readable() {
            return Err(took.problems);
        }
        let may_lack = synced.is_on_same_branch()
            || has_grown_from(&self.session.project, &synced.stamp().commit);
        self.retain_removed(&mut took.found, may_lack);
        Ok(Version {
            took,
            base: base.map(|base| self.parse(base.as_bytes(), None)),
            is_beginning: false,
        })
    }

    fn take(
        &mut self,
        synced: &mut SyncedFile,
        bytes: &[u8],
        version: Version,
    ) -> Result<Looked, Fault> {
        // Nobody knows who wrote it.
        let asked: AskedAtWork = synced.remembered().unwrap_or_default();
        // What another branch says of what is known was said there.
        let known = match self.origin {
            Origin::Same => KnownThings::Ask,
            Origin::OtherBranch | Origin::WentAlong => KnownThings::Keep,
        };
        let mut left = left_in(&version);
        let mut missing = missing_in(&version);
        // Of some files only what is new is found beside the base.
        if !missing.is_empty() || self.file.by_name_alone {
            let all = self.parse(bytes, None);
            match self.file.by_name_alone {
                true => left.extend(News::not_taken(self.file.path, &reworded(&version, &all))),
                false => {
                    let there: BTreeSet<&str> = all.found.iter().filter_map(name_of).collect();
                    missing.retain(|name| !there.contains(name.as_str()));
                }
            }
        }
        if self.file.by_name_alone {
            missing.clear();
        }
        let mut looked = self.take_found(&version, &asked.things, known)?;
        let is_asked = looked.is_asked();
        let is_new = match is_asked {
            true => !looked.news.is_empty(),
            false => self.asked.is_none(),
        };
        if is_new {
            looked.news.splice(0..0, left);
        }
        if is_asked {
            if is_at_work(self.session)? {
                let things = self.unknown(&version)?;
                synced.remember(&AskedAtWork { things });
            }
            return Ok(looked);
        }
        // It may lack what was in the version before. What the file of another
        // branch lacks was not of that branch, or left it with the work tree.
        synced.accept(bytes)?;
        if self.origin == Origin::Same {
            synced.note(BTreeMap::new())?;
            looked
                .news
                .extend(News::shown_again(self.file.path, &missing));
        }
        Ok(looked)
    }

    fn lacks(&self, version: &Version) -> bool {
        version.took.found.iter().any(is_removed)
    }

    fn take_beginning(
        &mut self,
        synced: &mut SyncedFile,
        bytes: &[u8],
        mut version: Version,
    ) -> Result<Looked, Fault> {
        version.is_beginning = true;
        self.take(synced, bytes, version)
    }

    fn question(&mut self, _: &SyncedFile) -> (String, Vec<Way>) {
        let question = format!("{} cannot be read", self.file.path);
        (question, vec![Way::LeftAlone, Way::PitonHolds])
    }

    fn take_as_decided(
        &mut self,
        synced: &mut SyncedFile,
        _: &[u8],
        version: Version,
        holds: Holds,
    ) -> Result<(), Fault> {
        let known = match holds {
            Holds::File => KnownThings::Take,
            Holds::Piton => KnownThings::Keep,
        };
        self.take_found(&version, &[], known)?;
        Ok(synced.note(BTreeMap::new())?)
    }

    fn put_own(
        &mut self,
        synced: &mut SyncedFile,
        bytes: &[u8],
        version: Option<Version>,
    ) -> Result<PathBuf, Fault> {
        if let Some(version) = version {
            self.take_found(&version, &[], KnownThings::Keep)?;
        }
        let kept = keep_beside(self.session, synced.target(), bytes)?;
        // What only the file says is not in the journal.
        let known = synced.base();
        synced.accept(bytes)?;
        let behind = behind(self.session, &BTreeMap::new(), self.file)?;
        let behind = self.without_archived(self.of_branch(behind))?;
        self.put(synced, known.as_deref(), behind, &mut Vec::new())?;
        self.take_displaced(synced, &mut Vec::new())?;
        Ok(kept)
    }

    fn leave_alone(&mut self, _: &[Problem]) -> Result<(), Fault> {
        self.session.tell(&Command::TurnFace {
            path: self.file.path.to_owned(),
            face: self.file.face.to_owned(),
            on: false,
        })?;
        Ok(())
    }
}

impl ProjectSync<'_, '_> {
    fn follow(&mut self, synced: &mut SyncedFile) -> Result<Vec<News>, Fault> {
        let mut news = Vec::new();
        if synced.stamp().is_new() {
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
            if synced.has_left() || (!is_tidy && is_behind(self.session, synced)?) {
                let target = synced.target().to_owned();
                synced.tidy(|left| {
                    self.take_left(&target, left, &mut news)?;
                    Ok::<_, Fault>(true)
                })?;
                is_tidy = true;
            }
            let project = &self.session.project;
            self.origin = branches::origin_of(project, self.file.path, synced);
            let looked = sync::look(self, synced)?;
            news.extend(looked.news);
            match looked.standing {
                Standing::Level => {}
                Standing::Overtaken => {
                    self.take_displaced(synced, &mut news)?;
                    continue;
                }
                Standing::Held | Standing::Asked | Standing::Busy => return Ok(news),
            }
            if self.show(synced, &mut news)? == Put::Done {
                self.derive_at_rest(synced, &mut news)?;
                return Ok(news);
            }
            self.take_displaced(synced, &mut news)?;
        }
        let message = format!("{} is written by others all the time", self.file.path);
        Err(Failure::new("file.unwritable", message).into())
    }

    /// What was in the place for a moment only may be gone before it is read.
    fn take_displaced(&self, synced: &mut SyncedFile, news: &mut Vec<News>) -> Result<(), Fault> {
        for displaced in synced.take_displaced() {
            self.take_left(synced.target(), displaced.bytes(), news)?;
            displaced.remove();
        }
        Ok(())
    }

    /// Takes in somebody else's version that is not in the place any more, or may soon
    /// not be; one that cannot be taken in is kept beside it.
    fn take_left(&self, target: &Path, left: &[u8], news: &mut Vec<News>) -> Result<(), Fault> {
        let took = self.parse(left, None);
        if took.is_readable() {
            let looked = self.take_found(&Version::alone(took), &[], KnownThings::Keep)?;
            if looked.standing == Standing::Level {
                news.extend(looked.news);
                return Ok(());
            }
        } else if self.is_written_on(target, left)? {
            return Ok(());
        }
        let kept = keep_beside(self.session, target, left)?;
        news.push(News::kept(self.file.path, &kept));
        Ok(())
    }

    /// Whether these bytes, which cannot be read, are the beginning of what can be read
    /// in the place: somebody was not done writing.
    fn is_written_on(&self, target: &Path, left: &[u8]) -> Result<bool, Fault> {
        if left.is_empty() {
            return Ok(true);
        }
        let present = match fs::read(target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        Ok(present.starts_with(left) && self.parse(&present, None).is_readable())
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
    fn parse(&self, bytes: &[u8], base: Option<&str>) -> Took {
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

    fn take_found(
        &self,
        version: &Version,
        doubted: &[Found],
        known: KnownThings,
    ) -> Result<Looked, Fault> {
        let found = self.unknown(version)?;
        if found.is_empty() && self.asked.is_none() {
            return Ok(Looked::default());
        }
        // Nobody knows whether what ends early was to lack its end.
        let mut written = match version.is_beginning {
            true => Vec::new(),
            false => self.written(&found, version.base.as_ref())?,
        };
        // Piton has not written what is doubted, and the journal does not say it.
        if !written.is_empty() {
            let doubted = doubted.iter().filter(|doubt| found.contains(doubt));
            let doubted: Vec<Found> = doubted.cloned().collect();
            written.retain(|one| !doubted.iter().any(|doubt| doubt.is_same_thing(one)));
            written.extend(doubted);
        }
        let committed = commit(self, &self.take_file(found, written, known))?;
        fail::point("project-sync.taken");
        let taken = News::taken(self.file.path, count(&committed.events));
        if asks(&committed.events) {
            let mut looked = Looked::asked(self.file.path, &committed.events);
            looked.news.splice(0..0, taken);
            return Ok(looked);
        }
        // Another process may have asked since this one looked.
        let question = self
            .session
            .question_about(RunId::PROJECT, self.file.path)?;
        if known == KnownThings::Ask && question.is_some() {
            let mut looked = self.settle_or_wait(version)?;
            looked.news.extend(taken);
            return Ok(looked);
        }
        Ok(Looked {
            news: taken.into_iter().collect(),
            ..Looked::default()
        })
    }

    fn take_file(&self, found: Vec<Found>, written: Vec<Found>, known: KnownThings) -> Command {
        Command::TakeFile(Box::new(TakenFile {
            path: self.file.path.to_owned(),
            found,
            known,
            written,
        }))
    }

    /// What was archived before piton kept the file, or before the journal was
    /// brought back, is part of the history.
    fn take_archive(&self, news: &mut Vec<News>) -> Result<(), Fault> {
        for (path, text) in archive::texts(self.session, self.file)? {
            let text = match text {
                Ok(text) => text,
                Err(problem) => {
                    news.push(News::behind(path, in_lines(&[problem])));
                    continue;
                }
            };
            let took = self.archived(&path, &text);
            if !took.is_readable() {
                news.push(News::behind(path, in_lines(&took.problems)));
                continue;
            }
            let found = self.unknown(&Version::alone(took))?;
            if found.is_empty() {
                continue;
            }
            let command = Command::TakeFile(Box::new(TakenFile {
                path: path.clone(),
                found,
                known: KnownThings::Keep,
                written: Vec::new(),
            }));
            let committed = commit(self, &command)?;
            news.extend(News::taken(&path, count(&committed.events)));
        }
        Ok(())
    }

    fn archived(&self, path: &str, text: &str) -> Took {
        let mut text = text.to_owned();
        self.session.world.redactor().redact_document(&mut text);
        let about = About {
            file: path,
            ..self.about("")
        };
        let archive = self.file.archive;
        archive.map_or_else(Took::default, |archive| (archive.take)(&text, &about))
    }

    /// Without the entries that stand in the archive: they are shown there.
    fn without_archived(&self, mut behind: Behind) -> Result<Behind, Fault> {
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

    /// Leaves only those removals that somebody made.
    fn retain_removed(&self, found: &mut Vec<Found>, may_lack: bool) {
        if !found.iter().any(is_removed) {
            return;
        }
        let is_tracked = may_lack && self.is_tracked();
        found.retain(|one| match one {
            Found::Removed(sign) => may_lack && (!is_tracked || self.was_taken_out(sign)),
            Found::Entry(_) | Found::Attempt(_) | Found::Memory(_) | Found::Retired(_) => true,
        });
    }

    /// Whether somebody took it out of a file that git tracks. Where the file is as
    /// it was committed, and was never committed with it, git put an older version
    /// there: a stash, a reset, the branch that it was not committed on.
    fn was_taken_out(&self, sign: &piton_core::memory::Memory) -> bool {
        let project = &self.session.project;
        let Some(path) = project.in_work_tree(self.file.path) else {
            return true;
        };
        let words = sign.title.as_deref().unwrap_or(&sign.content);
        let line = words.lines().next().unwrap_or_default();
        git::has_been_committed(&project.work_tree, Path::new(&path), line)
    }

    /// What of a version is not what the file would say of what is known, nor what
    /// it said of that when piton wrote it last: what happened since is no edit.
    fn unknown(&self, version: &Version) -> Result<Vec<Found>, Fault> {
        let found = &version.took.found;
        let written = version.base.iter().flat_map(|base| &base.found);
        let written: Vec<Found> = written.map(says).collect();
        let repeated: BTreeSet<usize> = Found::namesakes(found).into_iter().flatten().collect();
        let needs: Vec<Need> = found.iter().filter_map(need_of).collect();
        let rows = self.session.load(&needs)?;
        let tables = &rows.tables;
        let is_known = |found: &Found| {
            let shown = shown_as(tables, found)?;
            let found = says(found);
            let told = (self.file.told_again)(&shown);
            let is_said = told.is_some_and(|told| says(&told) == found);
            Some(is_said || self.file.by_name_alone || written.contains(&found))
        };
        let all = found.iter().enumerate();
        Ok(all
            // Which of several of one name is which is seen by all of them.
            .filter(|(at, found)| repeated.contains(at) || is_known(found) != Some(true))
            .map(|(_, found)| found.clone())
            .collect())
    }

    /// What piton wrote last of what was found, where a person has changed it
    /// since: while an attempt is open, it may be an agent's.
    fn written(&self, found: &[Found], base: Option<&Took>) -> Result<Vec<Found>, Fault> {
        let Some(base) = base.filter(|base| !base.found.is_empty()) else {
            return Ok(Vec::new());
        };
        if is_at_work(self.session)? {
            return Ok(Vec::new());
        }
        let is_taken_out = found.iter().any(|one| matches!(one, Found::Removed(_)));
        let mut written = base.found.clone();
        // Of what is taken out it counts how much there was.
        written.retain(|one| is_taken_out || found.iter().any(|now| now.is_same_thing(one)));
        if written.is_empty() {
            // That it had none of this is known.
            written.extend(base.found.first().cloned());
        }
        Ok(written)
    }

    /// A person was asked about the file. When nothing in it differs any more,
    /// whoever mended it has answered.
    fn settle_or_wait(&self, version: &Version) -> Result<Looked, Fault> {
        if self.differs(version)? {
            return Ok(Looked::still_asked());
        }
        settle(self, "the file was mended")
    }

    /// Whether the file still says something else of what the journal knows:
    /// taking its word would revise something.
    fn differs(&self, version: &Version) -> Result<bool, Fault> {
        let found = self.unknown(version)?;
        let command = self.take_file(found, Vec::new(), KnownThings::Take);
        let needs = piton_core::needs(&command);
        let rows = self.session.load(&needs.rows)?;
        let drafts = piton_core::decide(&rows, &command, &facts(self));
        Ok(!drafts.map_err(Failure::from)?.is_empty())
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
    fn of_no_branch(&self) -> Result<Vec<Fresh>, Fault> {
        let all = behind(self.session, &BTreeMap::new(), self.file)?;
        let mut rows = all.rows;
        rows.retain(Fresh::is_of_no_branch);
        Ok(rows)
    }

    /// Shows what has moved since, if anything has.
    fn show(&self, synced: &mut SyncedFile, news: &mut Vec<News>) -> Result<Put, Fault> {
        let missing = synced.present()? == Present::Missing;
        if missing && is_absent(self, synced)? {
            self.note_unshown_rows(synced)?;
            return Ok(Put::Done);
        }
        // What is not written now is looked for again.
        let waits = synced.stamp().unshown.is_some() && self.gives_way(synced)?;
        let merged = match waits {
            true => None,
            false => self.merged_since(synced)?,
        };
        let Some(merged) = merged else {
            return self.show_rows(synced, Vec::new(), news);
        };
        let put = self.show_rows(synced, merged.rows, news)?;
        let left = synced.stamp().unshown.clone().filter(|_| put == Put::Done);
        if let Some(mut left) = left {
            left.branches
                .retain(|branch, bare| merged.branches.get(branch) != Some(bare));
            synced.note_unshown_rows(Some(left).filter(|left| !left.branches.is_empty()))?;
        }
        Ok(put)
    }

    /// Takes out the rows that land with a run in lanes, in a file that git tracks, and
    /// notes that they are shown in none yet.
    fn leave_to_landing(
        &self,
        synced: &mut SyncedFile,
        positions: &BTreeMap<String, u64>,
        behind: &mut Behind,
    ) -> Result<(), Fault> {
        let project = &self.session.project;
        let here = git::checked_out(&project.work_tree);
        let here = here.as_ref().and_then(|here| here.branch.as_ref());
        let is_elsewhere = |row: &Fresh| row.branch().is_some() && row.branch() != here;
        if !behind.rows.iter().any(is_elsewhere) || !self.is_tracked() {
            return Ok(());
        }
        let runs = self.session.runs()?;
        let branches = runs
            .iter()
            .filter_map(|row| branches::branch_to_land(project, row));
        let branches: BTreeSet<&str> = branches.collect();
        let mut left = BTreeSet::new();
        behind.rows.retain(|row| {
            let branch = row.branch().filter(|_| is_elsewhere(row));
            let branch = branch.filter(|branch| branches.contains(branch.as_str()));
            left.extend(branch.cloned());
            branch.is_none()
        });
        if left.is_empty() {
            return Ok(());
        }
        let known = synced.stamp().unshown.clone();
        let mut unshown = known.clone().unwrap_or_else(|| UnshownRows {
            from: positions.clone(),
            branches: BTreeMap::new(),
        });
        for branch in left {
            let bare = git::tip_of(&project.root, &branch).unwrap_or_default();
            unshown.branches.entry(branch).or_insert(bare);
        }
        if known.as_ref() != Some(&unshown) {
            synced.note_unshown_rows(Some(unshown))?;
        }
        Ok(())
    }

    /// The same, with rows of branches that are merged by now.
    fn show_rows(
        &self,
        synced: &mut SyncedFile,
        mut merged: Vec<Fresh>,
        news: &mut Vec<News>,
    ) -> Result<Put, Fault> {
        let is_elsewhere = self.origin == Origin::OtherBranch;
        let missing = synced.present()? == Present::Missing;
        let positions = match missing {
            true => BTreeMap::new(),
            false => synced.stamp().positions.clone(),
        };
        let mut behind = behind(self.session, &positions, self.file)?;
        self.leave_to_landing(synced, &positions, &mut behind)?;
        // What was recorded where the file is absent belongs there.
        let was_absent = !synced.stamp().absent_on.is_empty();
        if is_elsewhere || was_absent || positions.is_empty() {
            behind = self.of_branch(behind);
        }
        if is_elsewhere && !positions.is_empty() {
            let unshown = self.of_no_branch()?;
            behind.rows.retain(|row| !row.is_of_no_branch());
            behind.rows.extend(unshown);
        }
        if positions.is_empty() && self.file.archive.is_some() {
            behind = self.without_archived(behind)?;
        }
        merged.retain(|row| behind.rows.iter().all(|have| have.name() != row.name()));
        // They may stand in the middle, and may be there already.
        let is_at_end = !positions.is_empty() && merged.is_empty();
        behind.rows.splice(0..0, merged);
        if behind.rows.is_empty() {
            if is_elsewhere || behind.positions != synced.stamp().positions {
                synced.note(behind.positions)?;
            }
            return Ok(Put::Done);
        }
        if self.gives_way(synced)? {
            return Ok(Put::Done);
        }
        // What is shown from the first row on may stand there already.
        if is_at_end && let Some(put) = self.extend(synced, &behind)? {
            return Ok(put);
        }
        let text = if missing {
            synced.base().filter(|_| !is_elsewhere)
        } else {
            Some(read_text(synced.target())?)
        };
        let put = self.put(synced, text.as_deref(), behind, news)?;
        Ok(put)
    }

    /// Whether the file waits for an agent that works to end.
    fn gives_way(&self, synced: &mut SyncedFile) -> Result<bool, Fault> {
        let is_agents_time = || match self.moment {
            Moment::AtWork => Ok(true),
            Moment::Any | Moment::EndOfAttempt | Moment::Rest => is_alive_at_work(self.session),
        };
        let is_in_the_way = branches::is_in_the_way(&self.session.project, self.file.path, synced)?;
        Ok(is_in_the_way && is_agents_time()?)
    }

    /// Notes that what is recorded on this branch, which does not have the file, is
    /// in none.
    fn note_unshown_rows(&self, synced: &mut SyncedFile) -> Result<(), Fault> {
        let project = &self.session.project;
        let here = git::checked_out(&project.work_tree);
        let Some((branch, commit)) = here.and_then(|here| here.branch.zip(here.commit)) else {
            return Ok(());
        };
        let stamp = synced.stamp();
        let mut unshown = stamp.unshown.clone().unwrap_or_else(|| UnshownRows {
            from: stamp.positions.clone(),
            branches: BTreeMap::new(),
        });
        unshown.branches.entry(branch).or_insert_with(|| {
            match stamp.commit == commit || is_set_back(project, &stamp.commit) {
                true => commit,
                false => String::new(),
            }
        });
        Ok(synced.note_unshown_rows(Some(unshown))?)
    }

    /// The file as a branch has it, with the rows of that branch that no file shows.
    fn text_on_branch(
        &self,
        unshown: &UnshownRows,
        branch: &str,
        before: &str,
    ) -> Result<String, Fault> {
        let mut behind = behind(self.session, &unshown.from, self.file)?;
        behind
            .rows
            .retain(|row| row.branch().is_some_and(|of| of == branch));
        let name = project_name(self.session);
        let about = About {
            iteration: behind.iteration,
            ..self.about(&name)
        };
        match behind.rows.is_empty() {
            true => Ok(before.to_owned()),
            false => self.text_of(Some(before), behind.shown(), &about),
        }
    }

    /// The rows of branches that did not have the file and are merged by now; none
    /// where nothing was merged.
    fn merged_since(&self, synced: &SyncedFile) -> Result<Option<MergedSince>, Fault> {
        let Some(unshown) = &synced.stamp().unshown else {
            return Ok(None);
        };
        let project = &self.session.project;
        let here = git::checked_out(&project.work_tree).filter(|_| !synced.is_on_same_commit());
        let Some(here) = here else { return Ok(None) };
        let mut rows = behind(self.session, &unshown.from, self.file)?.rows;
        let is_merged = |(branch, bare): &(String, String)| {
            let mut of_branch = rows.iter().filter(|row| row.branch() == Some(branch));
            let last = || of_branch.next_back()?.checkout()?.commit.clone();
            let tip = git::tip_of(&project.work_tree, branch).or_else(last);
            let has_come = |tip: String| tip != *bare && has_grown_from(project, &tip);
            here.branch.as_ref() == Some(branch) || tip.is_some_and(has_come)
        };
        let branches = unshown.branches.clone().into_iter();
        let merged: BTreeMap<String, String> = branches.filter(is_merged).collect();
        if merged.is_empty() {
            return Ok(None);
        }
        rows.retain(|row| {
            row.branch()
                .is_some_and(|branch| merged.contains_key(branch))
        });
        let branches = merged;
        Ok(Some(MergedSince { rows, branches }))
    }

    fn put(
        &self,
        synced: &mut SyncedFile,
        text: Option<&str>,
        behind: Behind,
        news: &mut Vec<News>,
    ) -> Result<Put, Fault> {
        let name = project_name(self.session);
        let about = About {
            iteration: behind.iteration,
            ..self.about(&name)
        };
        let new = self.text_of(text, behind.shown(), &about)?;
        let new = archive::part(self.session, self.file, new)?;
        // First what is made of the file: as long as the file is behind, a crash
        // leaves this to the next command.
        if !new.is_empty() {
            self.derive((text, &new), &behind.positions, news)?;
        }
        if text == Some(new.as_str()) && synced.target().is_file() {
            synced.settle(behind.positions, large::tail(self.file, &new))?;
            return Ok(Put::Done);
        }
        if new.is_empty() {
            // Nothing of this concerns the file.
            return Ok(Put::Done);
        }
        let tail = large::tail(self.file, &new);
        Ok(synced.put(new.as_bytes(), behind.positions, tail)?)
    }

    /// The file with what is to be shown. The journal knows secrets redacted
    /// only: what somebody wrote in the file is not replaced by that.
    fn text_of(
        &self,
        text: Option<&str>,
        mut shown: Vec<Shown<'_>>,
        about: &About<'_>,
    ) -> Result<String, Fault> {
        let show = |text: Option<&str>, shown: &[Shown<'_>]| {
            (self.file.show)(text, shown, about).map_err(|cannot| {
                let message = format!("{}: {cannot}", self.file.path);
                Fault(Failure::new("file.unwritable", message))
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
        let found = self.parse(written.as_bytes(), None).found;
        let said: Vec<Found> = found.iter().map(says).collect();
        shown.retain(|row| {
            let told = (self.file.told_again)(row);
            told.is_none_or(|told| !said.contains(&says(&told)))
        });
        show(text, &shown)
    }
}

/// Whether anything has moved since the file was written.
fn is_behind(session: &Session<'_>, synced: &SyncedFile) -> Result<bool, Fault> {
    let heads = session.store.heads()?;
    let positions = &synced.stamp().positions;
    let moved = |name: &str, count| positions.get(name).copied().unwrap_or(0) < count;
    Ok(heads
        .iter()
        .filter(|head| head.stream != StreamId::files())
        .any(|head| moved(head.stream.as_str(), head.count)))
}

/// The names of what piton wrote last and a version lacks, and what is not taken
/// out with it: the journal keeps it.
fn missing_in(version: &Version) -> Vec<String> {
    let there: BTreeSet<&str> = version.took.found.iter().filter_map(name_of).collect();
    let written = version.base.iter().flat_map(|base| &base.found);
    let names = written.filter_map(name_of);
    names
        .filter(|name| !there.contains(name))
        .map(str::to_owned)
        .collect()
}

/// The names of what a version says otherwise than piton wrote it last.
fn reworded(version: &Version, all: &Took) -> Vec<String> {
    let written = version.base.iter().flat_map(|base| &base.found);
    let is_reworded = |was: &&Found| {
        let mut there = all.found.iter();
        let now = there.find(|now| name_of(now).is_some() && name_of(now) == name_of(was));
        now.is_some_and(|now| says(now) != says(was))
    };
    let names = written.filter(is_reworded).filter_map(name_of);
    names.map(str::to_owned).collect()
}

fn is_removed(found: &Found) -> bool {
    matches!(found, Found::Removed(_))
}

/// What stays in a version without being taken in, and was not in the last one
/// that piton wrote.
fn left_in(version: &Version) -> Vec<News> {
    let said = |took: &Took| -> Vec<String> {
        let left = took.problems.iter();
        let left = left.filter(|problem| LEFT.contains(&problem.code.as_ref()));
        left.map(|problem| format!("{problem}; {}", problem.hint))
            .collect()
    };
    let before = version.base.as_ref().map(said).unwrap_or_default();
    let mut now = said(&version.took);
    now.retain(|what| !before.contains(what));
    now.into_iter().map(News::Left).collect()
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

/// What a thing is called in its file.
fn name_of(found: &Found) -> Option<&str> {
    match found {
        Found::Entry(entry) => entry.name.as_deref(),
        Found::Attempt(told) => told.name.as_deref(),
        Found::Memory(memory) | Found::Retired(memory) | Found::Removed(memory) => {
            memory.id.as_deref().or(memory.title.as_deref())
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

fn read_text(path: &Path) -> Result<String, Fault> {
    let bytes = std::fs::read(path)?;
    String::from_utf8(bytes).map_err(|_| Fault::from(io::Error::from(io::ErrorKind::InvalidData)))
}
