//! The files of the project: native files that show the sessions, the memory and
//! every attempt, and that piton imports when another writer changed them.
//!
//! [`sync_files`] is called after every writing command. It never fails the command:
//! what is stored is stored, and a file that is behind is brought up to date by
//! the next one.

mod archive;
mod large;
mod page;
mod rows;
mod secret;

use piton_core::event::{AttemptEvent, MemoryEvent, SessionEvent};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::command::{ImportPolicy, ImportedFile, ImportedRecord};
use piton_core::name::{NamedRow, Space};
use piton_core::native_file::NativeFileRow;
use piton_core::{Command, DecisionChoice, DecisionRow, Need, RunId, StreamId, Tables, Verb};
use piton_formats::native_file::{Detection, FileContents, FileContext, ShownRow};
use piton_formats::problem::Problem;
use serde::{Deserialize, Serialize};

pub use piton_formats::project_format::ProjectFile;
pub use piton_formats::registry::{project_file_at as file_at, project_files};

use self::rows::{PendingRow, PendingRows, load_pending_rows};
use super::branches::{self, BranchOrigin};
use super::copies::store_timestamped_copy;
use super::news::{FileNotice, foreign_file_problem, not_utf8_problem, render_errors};
use super::sync::{
    self, ConflictWinner, FileWritability, ImportOutcome, NativeFile, SyncFault, commit_command,
    facts_of_file, has_live_attempt, has_open_attempt, has_opened_question, is_absent_on_branch,
    settle_question,
};
use super::synced_file::{
    FlushScope, PresentFile, StatFingerprint, SyncedFile, UnshownRows, WriteOutcome,
    is_last_version,
};
use crate::failure::Failure;
use crate::git::history::{is_descendant_of_past, is_set_back_from};
use crate::session::Session;
use crate::world::input;
use crate::{failpoint, git};

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

/// What the system said of the versions that a person is asked about: a caller that
/// syncs often does not read them again as long as they are the same.
pub type AskedFileFingerprints = BTreeMap<&'static str, StatFingerprint>;

/// Brings every file of the project up to date, and takes in what others wrote.
pub fn sync_files(session: &Session<'_>) -> Vec<FileNotice> {
    sync_files_cached(session, &mut AskedFileFingerprints::new())
}

/// [`sync_files`], for a caller that syncs often.
pub fn sync_files_cached(
    session: &Session<'_>,
    waiting: &mut AskedFileFingerprints,
) -> Vec<FileNotice> {
    sync_files_at_moment(session, waiting, SyncMoment::Any)
}

/// The same, while an agent works or is about to.
pub fn sync_files_during_attempt(
    session: &Session<'_>,
    waiting: &mut AskedFileFingerprints,
) -> Vec<FileNotice> {
    sync_files_at_moment(session, waiting, SyncMoment::AtWork)
}

/// Takes in what others wrote until now, where everything that an agent started
/// has ended.
pub fn sync_files_after_attempt(
    session: &Session<'_>,
    waiting: &mut AskedFileFingerprints,
) -> Vec<FileNotice> {
    sync_files_at_moment(session, waiting, SyncMoment::EndOfAttempt)
}

/// Brings the files up to date where nothing more is going to happen for now, with
/// what is made of large ones.
pub fn sync_files_at_rest(
    session: &Session<'_>,
    waiting: &mut AskedFileFingerprints,
) -> Vec<FileNotice> {
    sync_files_at_moment(session, waiting, SyncMoment::Rest)
}

/// When files are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncMoment {
    Any,
    /// Only what may have changed is looked at; a lock of git is that of the dead.
    EndOfAttempt,
    /// Nothing more is going to happen for now.
    Rest,
    /// An agent works, or is about to.
    AtWork,
}

fn sync_files_at_moment(
    session: &Session<'_>,
    waiting: &mut AskedFileFingerprints,
    moment: SyncMoment,
) -> Vec<FileNotice> {
    let needs = [Need::Faces, Need::OpenDecisions(Some(RunId::PROJECT))];
    let Ok(rows) = session.load(&needs) else {
        return Vec::new();
    };
    let mut news = Vec::new();
    for (face, file) in enabled_files(&rows.tables) {
        let asked = rows
            .tables
            .open_decisions(RunId::PROJECT)
            .find(|row| row.file.as_deref() == Some(&face.path));
        let target = target_path(session, file);
        let there = StatFingerprint::of_path(&target);
        let is_ours = || is_last_version(&session.project.home, &stamp_key(file.path), &target);
        if moment == SyncMoment::EndOfAttempt && (there.is_none() || is_ours()) {
            continue;
        }
        let waits = waiting.get(file.path).copied();
        if asked.is_some() && waits.is_some() && waits == there {
            continue;
        }
        news.extend(sync_file_or_report(session, file, asked, moment));
        // Whether it is still asked about is seen the next time.
        match there.filter(|_| asked.is_some()) {
            Some(look) => waiting.insert(file.path, look),
            None => waiting.remove(file.path),
        };
    }
    news
}

/// Brings the files up to date that show the calls of sessions, as [`sync_files`]
/// does. The others have nothing to show of them.
pub fn sync_call_files(session: &Session<'_>) -> Vec<FileNotice> {
    let paths = project_files().filter(|file| file.calls);
    let needs: Vec<Need> = paths.map(|file| Need::Face(file.path.to_owned())).collect();
    let Ok(rows) = session.load(&needs) else {
        return Vec::new();
    };
    enabled_files(&rows.tables)
        .filter(|(_, file)| file.calls)
        .flat_map(|(_, file)| sync_file_or_report(session, file, None, SyncMoment::Any))
        .collect()
}

/// The files that are kept up to date.
fn enabled_files(tables: &Tables) -> impl Iterator<Item = (&NativeFileRow, &'static ProjectFile)> {
    let on = tables.native_files().filter(|face| face.on);
    on.filter_map(|face| Some((face, file_at(&face.path)?)))
}

/// What became of a file, also where it cannot be followed.
fn sync_file_or_report(
    session: &Session<'_>,
    file: &'static ProjectFile,
    asked: Option<&DecisionRow>,
    moment: SyncMoment,
) -> Vec<FileNotice> {
    let followed = sync_file(session, file, asked, moment);
    followed.unwrap_or_else(|failure| vec![FileNotice::sync_refused(file.path, &failure)])
}

/// The files that git tracks and piton keeps up to date, with no open question about
/// them, each with what is made of it, by their paths relative to the project; and
/// whether piton alone changed it since it was committed.
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
    let files = enabled_files(&rows.tables).map(|(_, file)| file);
    let settled = files.filter(|file| project.is_tracked(file.path) && !is_asked(file.path));
    let (files, names): (Vec<&ProjectFile>, Vec<String>) = settled
        .filter_map(|file| Some((file, project.path_in_work_tree(file.path)?)))
        .unzip();
    let committed = git::committed_texts(&project.work_tree, &names);
    let is_own = |file: &ProjectFile, committed: Option<String>| {
        let synced = open_synced_file(session, file).ok();
        synced
            .zip(committed)
            .is_some_and(|(synced, committed)| synced.has_only_own_changes_since(&committed))
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
pub(crate) fn render_files_on_branch(
    session: &Session<'_>,
    branch: &str,
    there: &mut dyn FnMut(&str) -> Result<Option<String>, Failure>,
) -> Result<Vec<(String, String)>, Failure> {
    let rows = session.load(&[Need::Faces])?;
    let mut texts = Vec::new();
    for (_, file) in enabled_files(&rows.tables) {
        let unshown = open_synced_file(session, file)?.stamp().unshown.clone();
        let unshown = unshown.filter(|unshown| unshown.branches.contains_key(branch));
        let Some((unshown, path)) = unshown.zip(session.project.path_in_work_tree(file.path))
        else {
            continue;
        };
        let Some(before) = there(&path)? else {
            continue;
        };
        let sync = ProjectSync {
            session,
            file,
            asked: None,
            moment: SyncMoment::Rest,
            origin: BranchOrigin::Same,
        };
        let text = sync.render_on_branch(&unshown, branch, &before);
        let text = text.map_err(|fault| fault.into_file_failure(file.path))?;
        let page = file.derived.as_ref().and_then(|derived| {
            let path = session.project.path_in_work_tree(derived.path)?;
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
fn target_path(session: &Session<'_>, file: &ProjectFile) -> PathBuf {
    session.project.root.join(file.path)
}

/// A file of the project, with its stamp.
fn open_synced_file(session: &Session<'_>, file: &ProjectFile) -> Result<SyncedFile, Failure> {
    let (project, target) = (&session.project, target_path(session, file));
    SyncedFile::open(project, &stamp_key(file.path), &target, FlushScope::File)
        .map_err(|error| SyncFault::from(error).into_file_failure(file.path))
}

/// Under what the stamp of a file of the project is kept.
fn stamp_key(path: &str) -> String {
    path.replace(['/', '.'], "_")
}

/// Whether the stamp that is kept under this is that of a file of the project.
pub(crate) fn is_stamp_key(found: &str) -> bool {
    project_files().any(|file| stamp_key(file.path) == found)
}

/// Does something with a file, under the lock of its stamp.
fn with_locked_file<T>(
    session: &Session<'_>,
    file: &'static ProjectFile,
    asked: Option<&DecisionRow>,
    moment: SyncMoment,
    what: impl FnOnce(&mut ProjectSync<'_, '_>, &mut SyncedFile) -> Result<T, SyncFault>,
) -> Result<T, Failure> {
    let mut sync = ProjectSync {
        session,
        file,
        asked,
        moment,
        origin: BranchOrigin::Same,
    };
    let mut synced = open_synced_file(session, file)?;
    let done = synced.with_lock(|synced| what(&mut sync, synced));
    done.map_err(|fault| fault.into_file_failure(file.path))
}

fn sync_file(
    session: &Session<'_>,
    file: &'static ProjectFile,
    asked: Option<&DecisionRow>,
    moment: SyncMoment,
) -> Result<Vec<FileNotice>, Failure> {
    with_locked_file(session, file, asked, moment, |sync, synced| {
        sync.sync_with_retries(synced)
    })
}

/// Looks at a file of the project again that a person is asked about.
///
/// # Errors
///
/// When it cannot be read or written.
pub(super) fn recheck_asked_file(
    session: &Session<'_>,
    asked: &DecisionRow,
) -> Result<(), Failure> {
    let file = asked.file.as_deref().and_then(file_at);
    let looked = file.map(|file| sync_file(session, file, Some(asked), SyncMoment::Any));
    looked.transpose().map(drop)
}

/// Carries out what a person decided about a file of the project.
///
/// # Errors
///
/// When the file cannot be read or written, or the verb does not fit it.
pub(super) fn apply_decision(
    session: &Session<'_>,
    row: &DecisionRow,
    verb: Verb,
) -> Result<Option<PathBuf>, Failure> {
    let Some(file) = row.file.as_deref().and_then(file_at) else {
        return Ok(None);
    };
    with_locked_file(session, file, None, SyncMoment::Any, |sync, synced| {
        sync::apply_decision(sync, synced, row, verb)
    })
}

/// One file being brought up to date.
struct ProjectSync<'s, 'w> {
    session: &'s Session<'w>,
    file: &'static ProjectFile,
    asked: Option<&'s DecisionRow>,
    moment: SyncMoment,
    /// What git made of what piton wrote last.
    origin: BranchOrigin,
}

/// What a version of a file holds.
struct ProjectFileVersion {
    took: FileContents,
    /// What piton wrote last, where that is known.
    base: Option<FileContents>,
    /// Whether it is only the beginning of what piton wrote last.
    is_beginning: bool,
}

impl ProjectFileVersion {
    /// A version of which nothing is known but what it holds.
    fn without_base(took: FileContents) -> Self {
        Self {
            took,
            base: None,
            is_beginning: false,
        }
    }
}

/// What came with the branches that did not have a file and are merged by now.
struct MergedBranchRows {
    rows: Vec<PendingRow>,
    /// The branches, each with the commit at which it had nothing yet.
    branches: BTreeMap<String, String>,
}

/// What a file said that was asked about while an attempt was open: who wrote it
/// then is not known, also when that is over, and whatever else is changed.
#[derive(Default, Serialize, Deserialize)]
struct ThingsAskedAtWork {
    #[serde(default)]
    things: Vec<ImportedRecord>,
}

impl NativeFile for ProjectSync<'_, '_> {
    type Version = ProjectFileVersion;

    fn session(&self) -> &Session<'_> {
        self.session
    }

    fn path(&self) -> &str {
        self.file.path
    }

    fn run(&self) -> RunId {
        RunId::PROJECT
    }

    fn has_open_question(&self) -> bool {
        self.asked.is_some()
    }

    fn should_heed_git_lock(&self) -> bool {
        self.moment != SyncMoment::EndOfAttempt
    }

    fn parse_version(
        &mut self,
        synced: &SyncedFile,
        bytes: &[u8],
    ) -> Result<ProjectFileVersion, Vec<Problem>> {
        let base = synced
            .read_base()
            .filter(|_| self.origin == BranchOrigin::Same);
        let mut took = self.parse_things(bytes, base.as_deref());
        if !took.is_readable() {
            return Err(took.problems);
        }
        let may_lack = synced.is_on_same_branch()
            || is_descendant_of_past(&self.session.project, &synced.stamp().commit);
        self.retain_real_removals(&mut took.found, may_lack);
        Ok(ProjectFileVersion {
            took,
            base: base.map(|base| self.parse_things(base.as_bytes(), None)),
            is_beginning: false,
        })
    }

    fn import_version(
        &mut self,
        synced: &mut SyncedFile,
        bytes: &[u8],
        version: ProjectFileVersion,
    ) -> Result<ImportOutcome, SyncFault> {
        // The writer is unknown.
        let asked: ThingsAskedAtWork = synced.load_remembered().unwrap_or_default();
        // What another branch says of what is known was said there.
        let known = match self.origin {
            BranchOrigin::Same => ImportPolicy::Ask,
            BranchOrigin::OtherBranch | BranchOrigin::WentAlong => ImportPolicy::Keep,
        };
        let mut left = collect_ignored_problems(&version);
        let mut missing = missing_names(&version);
        // Of some files only what is new is found beside the base.
        if !missing.is_empty() || self.file.by_name_alone {
            let all = self.parse_things(bytes, None);
            match self.file.by_name_alone {
                true => left.extend(FileNotice::rewordings_ignored(
                    self.file.path,
                    &reworded_names(&version, &all),
                )),
                false => {
                    let there: BTreeSet<&str> =
                        all.found.iter().filter_map(name_of_found).collect();
                    missing.retain(|name| !there.contains(name.as_str()));
                }
            }
        }
        if self.file.by_name_alone {
            missing.clear();
        }
        let mut looked = self.import_found(&version, &asked.things, known)?;
        let is_asked = looked.has_question();
        let is_new = match is_asked {
            true => !looked.news.is_empty(),
            false => self.asked.is_none(),
        };
        if is_new {
            looked.news.splice(0..0, left);
        }
        if is_asked {
            if has_open_attempt(self.session)? {
                let things = self.unknown_things(&version)?;
                synced.store_remembered(&ThingsAskedAtWork { things });
            }
            return Ok(looked);
        }
        // It may lack what was in the version before. What the file of another
        // branch lacks was not of that branch, or left it with the work tree.
        synced.accept_version(bytes)?;
        if self.origin == BranchOrigin::Same {
            synced.record_positions(BTreeMap::new())?;
            looked
                .news
                .extend(FileNotice::things_restored(self.file.path, &missing));
        }
        Ok(looked)
    }

    fn has_missing_things(&self, version: &ProjectFileVersion) -> bool {
        version.took.found.iter().any(is_removal)
    }

    fn ask_about_truncated(
        &mut self,
        synced: &mut SyncedFile,
        bytes: &[u8],
        mut version: ProjectFileVersion,
    ) -> Result<ImportOutcome, SyncFault> {
        version.is_beginning = true;
        self.import_version(synced, bytes, version)
    }

    fn unreadable_question(&mut self, _: &SyncedFile) -> (String, Vec<DecisionChoice>) {
        let question = format!("{} cannot be read", self.file.path);
        (
            question,
            vec![DecisionChoice::LeftAlone, DecisionChoice::PitonHolds],
        )
    }

    fn import_as_decided(
        &mut self,
        synced: &mut SyncedFile,
        _: &[u8],
        version: ProjectFileVersion,
        holds: ConflictWinner,
    ) -> Result<(), SyncFault> {
        let known = match holds {
            ConflictWinner::File => ImportPolicy::Take,
            ConflictWinner::Piton => ImportPolicy::Keep,
        };
        self.import_found(&version, &[], known)?;
        Ok(synced.record_positions(BTreeMap::new())?)
    }

    fn overwrite_with_own(
        &mut self,
        synced: &mut SyncedFile,
        bytes: &[u8],
        version: Option<ProjectFileVersion>,
    ) -> Result<PathBuf, SyncFault> {
        if let Some(version) = version {
            self.import_found(&version, &[], ImportPolicy::Keep)?;
        }
        let kept = store_timestamped_copy(self.session, synced.target_path(), bytes)?;
        // What only the file says is not in the journal.
        let known = synced.read_base();
        synced.accept_version(bytes)?;
        let behind = load_pending_rows(self.session, &BTreeMap::new(), self.file)?;
        let behind = self.exclude_archived_rows(self.retain_branch_rows(behind))?;
        self.write_text(synced, known.as_deref(), behind, &mut Vec::new())?;
        self.import_displaced(synced, &mut Vec::new())?;
        Ok(kept)
    }

    fn ignore_version(&mut self, _: &[Problem]) -> Result<(), SyncFault> {
        self.session.execute_command(&Command::TurnFace {
            path: self.file.path.to_owned(),
            face: self.file.face.to_owned(),
            on: false,
        })?;
        Ok(())
    }
}

impl ProjectSync<'_, '_> {
    fn sync_with_retries(&mut self, synced: &mut SyncedFile) -> Result<Vec<FileNotice>, SyncFault> {
        let mut news = Vec::new();
        if synced.stamp().is_new() {
            self.import_archive(&mut news)?;
        }
        // What a crash left before anything was exchanged is not in the stamp.
        let mut is_tidy = false;
        let begun = self.session.world.uptime();
        for nth in 0..TRIES {
            let spent = self.session.world.uptime().saturating_sub(begun);
            if nth > 0 && spent > TRIES_TIME {
                break;
            }
            if synced.has_interrupted_exchange() || (!is_tidy && is_behind(self.session, synced)?) {
                let target = synced.target_path().to_owned();
                synced.remove_leftovers(|left| {
                    self.import_displaced_version(&target, left, &mut news)?;
                    Ok::<_, SyncFault>(true)
                })?;
                is_tidy = true;
            }
            let project = &self.session.project;
            self.origin = branches::find_branch_origin(project, self.file.path, synced);
            let looked = sync::import_changes(self, synced)?;
            news.extend(looked.news);
            match looked.standing {
                FileWritability::Level => {}
                FileWritability::Overtaken => {
                    self.import_displaced(synced, &mut news)?;
                    continue;
                }
                FileWritability::Held
                | FileWritability::Asked
                | FileWritability::Busy
                | FileWritability::Special => {
                    return Ok(news);
                }
            }
            if self.write_changes(synced, &mut news)? == WriteOutcome::Done {
                self.write_page_at_rest(synced, &mut news)?;
                return Ok(news);
            }
            self.import_displaced(synced, &mut news)?;
        }
        let message = format!("{} is written by others all the time", self.file.path);
        Err(Failure::new("file.unwritable", message).into())
    }

    /// What was in the place for a moment only may be gone before it is read.
    fn import_displaced(
        &self,
        synced: &mut SyncedFile,
        news: &mut Vec<FileNotice>,
    ) -> Result<(), SyncFault> {
        for displaced in synced.drain_displaced() {
            self.import_displaced_version(synced.target_path(), displaced.bytes(), news)?;
            displaced.remove();
        }
        Ok(())
    }

    /// Imports another writer's version that is not in the place any more, or may soon
    /// not be; one that cannot be imported is kept beside it.
    fn import_displaced_version(
        &self,
        target: &Path,
        left: &[u8],
        news: &mut Vec<FileNotice>,
    ) -> Result<(), SyncFault> {
        let took = self.parse_things(left, None);
        if took.is_readable() {
            let looked = self.import_found(
                &ProjectFileVersion::without_base(took),
                &[],
                ImportPolicy::Keep,
            )?;
            if looked.standing == FileWritability::Level {
                news.extend(looked.news);
                return Ok(());
            }
        } else if self.is_beginning_of_present(target, left)? {
            return Ok(());
        }
        let kept = store_timestamped_copy(self.session, target, left)?;
        news.push(FileNotice::conflicting_copy_stored(self.file.path, &kept));
        Ok(())
    }

    /// Whether these bytes, which cannot be read, are the beginning of what can be read
    /// in the place: the other writer had not finished.
    fn is_beginning_of_present(&self, target: &Path, left: &[u8]) -> Result<bool, SyncFault> {
        if left.is_empty() {
            return Ok(true);
        }
        let present = match input::read_file(target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        Ok(present.starts_with(left) && self.parse_things(&present, None).is_readable())
    }

    fn file_context<'a>(&'a self, project: &'a str) -> FileContext<'a> {
        FileContext {
            file: self.file.path,
            project,
            now: self.session.world.now(),
            zone: self.session.world.time_zone(),
            iteration: None,
            is_part: false,
        }
    }

    /// What a version of the file holds. Secrets are taken out first, so that
    /// what is found is what the journal would keep of it.
    fn parse_things(&self, bytes: &[u8], base: Option<&str>) -> FileContents {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return FileContents {
                found: Vec::new(),
                problems: vec![not_utf8_problem(self.file.path, bytes)],
            };
        };
        let mut text = text.to_owned();
        let redactor = self.session.world.redactor();
        redactor.redact_document(&mut text);
        let name = project_name(self.session);
        let mut took = self
            .file
            .import_changes(&text, base, &self.file_context(&name));
        if let Detection::Foreign(what) = (self.file.detect)(&text) {
            took.problems
                .push(foreign_file_problem(self.file.path, &what));
        }
        took
    }

    fn import_found(
        &self,
        version: &ProjectFileVersion,
        doubted: &[ImportedRecord],
        known: ImportPolicy,
    ) -> Result<ImportOutcome, SyncFault> {
        let found = self.unknown_things(version)?;
        if found.is_empty() && self.asked.is_none() {
            return Ok(ImportOutcome::default());
        }
        // It is unknown whether the end of a truncated version was removed on purpose.
        let mut written = match version.is_beginning {
            true => Vec::new(),
            false => self.things_written_last(&found, version.base.as_ref())?,
        };
        // Piton has not written what is doubted, and the journal does not say it.
        if !written.is_empty() {
            let doubted = doubted.iter().filter(|doubt| found.contains(doubt));
            let doubted: Vec<ImportedRecord> = doubted.cloned().collect();
            written.retain(|one| !doubted.iter().any(|doubt| doubt.is_same_record(one)));
            written.extend(doubted);
        }
        let by_person = self.written_by_person(&found, version)?;
        let mut command = self.import_file_command(found, written, known);
        if let Command::TakeFile(taken) = &mut command {
            taken.by_person = by_person;
        }
        let committed = commit_command(self, &command)?;
        failpoint::point("project-sync.taken");
        let taken =
            FileNotice::things_imported(self.file.path, count_imported_things(&committed.events));
        if has_opened_question(&committed.events) {
            let mut looked = ImportOutcome::with_question(self.file.path, &committed.events);
            looked.news.splice(0..0, taken);
            return Ok(looked);
        }
        // Another process may have asked since this one looked.
        let question = self
            .session
            .open_question_about_file(RunId::PROJECT, self.file.path)?;
        if known == ImportPolicy::Ask && question.is_some() {
            let mut looked = self.settle_or_wait(version)?;
            looked.news.extend(taken);
            return Ok(looked);
        }
        Ok(ImportOutcome {
            news: taken.into_iter().collect(),
            ..ImportOutcome::default()
        })
    }

    fn import_file_command(
        &self,
        found: Vec<ImportedRecord>,
        written: Vec<ImportedRecord>,
        known: ImportPolicy,
    ) -> Command {
        Command::TakeFile(Box::new(ImportedFile {
            path: self.file.path.to_owned(),
            found,
            known,
            written,
            by_person: Vec::new(),
        }))
    }

    /// Which of what was found a person wrote here: it is new beside what piton wrote
    /// last, while no agent was at work, and did not come with a commit.
    fn written_by_person(
        &self,
        found: &[ImportedRecord],
        version: &ProjectFileVersion,
    ) -> Result<Vec<usize>, SyncFault> {
        let is_memory = |one: &ImportedRecord| matches!(one, ImportedRecord::Memory(_));
        let is_edit = version.base.is_some()
            && !version.is_beginning
            && self.origin == BranchOrigin::Same
            && found.iter().any(is_memory);
        let is_agent = self.session.world.agent().is_some();
        if !is_edit || is_agent || has_open_attempt(self.session)? {
            return Ok(Vec::new());
        }
        let committed = self.committed_things();
        let is_committed = |one: &ImportedRecord| {
            let mut committed = committed.iter();
            committed.any(|other| without_native_text(other) == without_native_text(one))
        };
        let found = found.iter().enumerate();
        let own = found.filter(|(_, one)| is_memory(one) && !is_committed(one));
        Ok(own.map(|(at, _)| at).collect())
    }

    /// What the file holds as it is committed where git tracks it.
    fn committed_things(&self) -> Vec<ImportedRecord> {
        let project = &self.session.project;
        let path = project.path_in_work_tree(self.file.path);
        let Some(path) = path.filter(|_| self.is_tracked()) else {
            return Vec::new();
        };
        let texts = git::committed_texts(&project.work_tree, &[path]);
        let text = texts.into_iter().flatten().next().unwrap_or_default();
        self.parse_things(text.as_bytes(), None).found
    }

    /// What was archived before piton kept the file, or before the journal was
    /// brought back, is part of the history.
    fn import_archive(&self, news: &mut Vec<FileNotice>) -> Result<(), SyncFault> {
        for (path, text) in archive::read_archive_texts(self.session, self.file)? {
            let text = match text {
                Ok(text) => text,
                Err(problem) => {
                    news.push(FileNotice::sync_failed(path, render_errors(&[problem])));
                    continue;
                }
            };
            let took = self.parse_archive(&path, &text);
            if !took.is_readable() {
                news.push(FileNotice::sync_failed(path, render_errors(&took.problems)));
                continue;
            }
            let found = self.unknown_things(&ProjectFileVersion::without_base(took))?;
            if found.is_empty() {
                continue;
            }
            let command = Command::TakeFile(Box::new(ImportedFile {
                path: path.clone(),
                found,
                known: ImportPolicy::Keep,
                written: Vec::new(),
                by_person: Vec::new(),
            }));
            let committed = commit_command(self, &command)?;
            news.extend(FileNotice::things_imported(
                &path,
                count_imported_things(&committed.events),
            ));
        }
        Ok(())
    }

    fn parse_archive(&self, path: &str, text: &str) -> FileContents {
        let mut text = text.to_owned();
        self.session.world.redactor().redact_document(&mut text);
        let about = FileContext {
            file: path,
            ..self.file_context("")
        };
        let archive = self.file.archive;
        archive.map_or_else(FileContents::default, |archive| {
            (archive.take)(&text, &about)
        })
    }

    /// Without the entries that stand in the archive: they are shown there.
    fn exclude_archived_rows(&self, mut behind: PendingRows) -> Result<PendingRows, SyncFault> {
        let mut archived = std::collections::BTreeSet::new();
        for (path, text) in archive::read_archive_texts(self.session, self.file)? {
            // What cannot be read was not taken in either.
            let Ok(text) = text else { continue };
            for found in self.parse_archive(&path, &text).found {
                if let ImportedRecord::Entry(entry) = found {
                    let at = entry.at.and_then(|at| at.parse::<jiff::Timestamp>().ok());
                    archived.extend(entry.name.zip(at.map(jiff::Timestamp::as_second)));
                }
            }
        }
        behind.rows.retain(|row| match row.as_shown() {
            ShownRow::Entry(row) => {
                let name = row.entry.name.clone();
                !name.is_some_and(|name| archived.contains(&(name, row.timestamp.as_second())))
            }
            ShownRow::Attempt(_) | ShownRow::Memory(_) | ShownRow::Call(_) => true,
        });
        Ok(behind)
    }

    /// Leaves only those removals that a person made.
    fn retain_real_removals(&self, found: &mut Vec<ImportedRecord>, may_lack: bool) {
        if !found.iter().any(is_removal) {
            return;
        }
        let is_tracked = may_lack && self.is_tracked();
        found.retain(|one| match one {
            ImportedRecord::Removed(sign) => {
                may_lack && (!is_tracked || self.was_removed_by_person(sign))
            }
            ImportedRecord::Entry(_)
            | ImportedRecord::Attempt(_)
            | ImportedRecord::Memory(_)
            | ImportedRecord::Retired(_) => true,
        });
    }

    /// Whether a person took it out of a file that git tracks. Where the file is as
    /// it was committed, and was never committed with it, git put an older version
    /// there: a stash, a reset, the branch that it was not committed on.
    fn was_removed_by_person(&self, sign: &piton_core::memory::Memory) -> bool {
        let project = &self.session.project;
        let Some(path) = project.path_in_work_tree(self.file.path) else {
            return true;
        };
        let words = sign.title.as_deref().unwrap_or(&sign.content);
        let line = words.lines().next().unwrap_or_default();
        git::was_text_committed(&project.work_tree, Path::new(&path), line)
    }

    /// What of a version is not what the file would say of what is known, nor what
    /// it said of that when piton wrote it last: what happened since is no edit.
    fn unknown_things(
        &self,
        version: &ProjectFileVersion,
    ) -> Result<Vec<ImportedRecord>, SyncFault> {
        let found = &version.took.found;
        let written = version.base.iter().flat_map(|base| &base.found);
        let written: Vec<ImportedRecord> = written.map(without_native_text).collect();
        let repeated: BTreeSet<usize> = ImportedRecord::group_by_name(found)
            .into_iter()
            .flatten()
            .collect();
        let needs: Vec<Need> = found.iter().filter_map(need_of_found).collect();
        let rows = self.session.load(&needs)?;
        let tables = &rows.tables;
        let is_known = |found: &ImportedRecord| {
            let shown = find_shown_row(tables, found)?;
            let found = without_native_text(found);
            let told = (self.file.told_again)(&shown);
            let is_said = told.is_some_and(|told| without_native_text(&told) == found);
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
    fn things_written_last(
        &self,
        found: &[ImportedRecord],
        base: Option<&FileContents>,
    ) -> Result<Vec<ImportedRecord>, SyncFault> {
        let Some(base) = base.filter(|base| !base.found.is_empty()) else {
            return Ok(Vec::new());
        };
        if has_open_attempt(self.session)? {
            return Ok(Vec::new());
        }
        let is_taken_out = found
            .iter()
            .any(|one| matches!(one, ImportedRecord::Removed(_)));
        let mut written = base.found.clone();
        // Of what is taken out it counts how much there was.
        written.retain(|one| is_taken_out || found.iter().any(|now| now.is_same_record(one)));
        if written.is_empty() {
            // That it had none of this is known.
            written.extend(base.found.first().cloned());
        }
        Ok(written)
    }

    /// A person was asked about the file. When nothing in it differs any more, the
    /// person who fixed it has answered.
    fn settle_or_wait(&self, version: &ProjectFileVersion) -> Result<ImportOutcome, SyncFault> {
        if self.has_differences(version)? {
            return Ok(ImportOutcome::with_pending_question());
        }
        settle_question(self, "the file was mended")
    }

    /// Whether the file still says something else of what the journal knows:
    /// taking its word would revise something.
    fn has_differences(&self, version: &ProjectFileVersion) -> Result<bool, SyncFault> {
        let found = self.unknown_things(version)?;
        let command = self.import_file_command(found, Vec::new(), ImportPolicy::Take);
        let needs = piton_core::needs_of_command(&command);
        let rows = self.session.load(&needs.rows)?;
        let drafts = piton_core::decide(&rows, &command, &facts_of_file(self));
        Ok(!drafts.map_err(Failure::from)?.is_empty())
    }

    fn is_tracked(&self) -> bool {
        self.session.project.is_tracked(self.file.path)
    }

    /// Without the rows of other branches, in a file that git tracks: they come
    /// with the file of theirs, when that is merged.
    fn retain_branch_rows(&self, mut behind: PendingRows) -> PendingRows {
        let Some(here) = git::read_checkout(&self.session.project.work_tree) else {
            return behind;
        };
        let is_here = |row: &PendingRow| {
            let there = row.checkout();
            there.is_none_or(|there| there.is_on_branch_of(&here))
        };
        if !behind.rows.iter().all(is_here) && self.is_tracked() {
            behind.rows.retain(is_here);
        }
        behind
    }

    /// The rows that came about on no branch, as in the middle of a rebase: each
    /// branch shows them, though none was there to.
    fn rows_of_no_branch(&self) -> Result<Vec<PendingRow>, SyncFault> {
        let all = load_pending_rows(self.session, &BTreeMap::new(), self.file)?;
        let mut rows = all.rows;
        rows.retain(PendingRow::is_of_no_branch);
        Ok(rows)
    }

    /// Shows what has moved since, if anything has.
    fn write_changes(
        &self,
        synced: &mut SyncedFile,
        news: &mut Vec<FileNotice>,
    ) -> Result<WriteOutcome, SyncFault> {
        let missing = synced.read_present()? == PresentFile::Missing;
        if missing && is_absent_on_branch(self, synced)? {
            self.record_unshown_branch(synced)?;
            return Ok(WriteOutcome::Done);
        }
        // What is not written now is looked for again.
        let waits = synced.stamp().unshown.is_some() && self.should_yield_to_agent(synced)?;
        let merged = match waits {
            true => None,
            false => self.rows_merged_since(synced)?,
        };
        let Some(merged) = merged else {
            return self.write_rows(synced, Vec::new(), news);
        };
        let put = self.write_rows(synced, merged.rows, news)?;
        let left = synced
            .stamp()
            .unshown
            .clone()
            .filter(|_| put == WriteOutcome::Done);
        if let Some(mut left) = left {
            left.branches
                .retain(|branch, bare| merged.branches.get(branch) != Some(bare));
            synced.record_unshown_rows(Some(left).filter(|left| !left.branches.is_empty()))?;
        }
        Ok(put)
    }

    /// Takes out the rows that land with a run in lanes, in a file that git tracks, and
    /// notes that they are shown in none yet.
    fn defer_rows_to_landing(
        &self,
        synced: &mut SyncedFile,
        positions: &BTreeMap<String, u64>,
        behind: &mut PendingRows,
    ) -> Result<(), SyncFault> {
        let project = &self.session.project;
        let here = git::read_checkout(&project.work_tree);
        let here = here.as_ref().and_then(|here| here.branch.as_ref());
        let is_elsewhere = |row: &PendingRow| row.branch().is_some() && row.branch() != here;
        if !behind.rows.iter().any(is_elsewhere) || !self.is_tracked() {
            return Ok(());
        }
        let runs = self.session.runs()?;
        let branches = runs
            .iter()
            .filter_map(|row| branches::unlanded_target_branch(project, row));
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
            let bare = git::tip_of_branch(&project.root, &branch).unwrap_or_default();
            unshown.branches.entry(branch).or_insert(bare);
        }
        if known.as_ref() != Some(&unshown) {
            synced.record_unshown_rows(Some(unshown))?;
        }
        Ok(())
    }

    /// The same, with rows of branches that are merged by now.
    fn write_rows(
        &self,
        synced: &mut SyncedFile,
        mut merged: Vec<PendingRow>,
        news: &mut Vec<FileNotice>,
    ) -> Result<WriteOutcome, SyncFault> {
        let is_elsewhere = self.origin == BranchOrigin::OtherBranch;
        let missing = synced.read_present()? == PresentFile::Missing;
        let positions = match missing {
            true => BTreeMap::new(),
            false => synced.stamp().positions.clone(),
        };
        let mut behind = load_pending_rows(self.session, &positions, self.file)?;
        self.defer_rows_to_landing(synced, &positions, &mut behind)?;
        // What was recorded where the file is absent belongs there.
        let was_absent = !synced.stamp().absent_on.is_empty();
        if is_elsewhere || was_absent || positions.is_empty() {
            behind = self.retain_branch_rows(behind);
        }
        if is_elsewhere && !positions.is_empty() {
            let unshown = self.rows_of_no_branch()?;
            behind.rows.retain(|row| !row.is_of_no_branch());
            behind.rows.extend(unshown);
        }
        if positions.is_empty() && self.file.archive.is_some() {
            behind = self.exclude_archived_rows(behind)?;
        }
        merged.retain(|row| behind.rows.iter().all(|have| have.name() != row.name()));
        // They may stand in the middle, and may be there already.
        let is_at_end = !positions.is_empty() && merged.is_empty();
        behind.rows.splice(0..0, merged);
        if behind.rows.is_empty() {
            if is_elsewhere || behind.positions != synced.stamp().positions {
                synced.record_positions(behind.positions)?;
            }
            return Ok(WriteOutcome::Done);
        }
        if self.should_yield_to_agent(synced)? {
            return Ok(WriteOutcome::Done);
        }
        // What is shown from the first row on may stand there already.
        if is_at_end && let Some(put) = self.append_at_tail(synced, &behind)? {
            return Ok(put);
        }
        let text = if missing {
            synced.read_base().filter(|_| !is_elsewhere)
        } else {
            Some(read_text(synced.target_path())?)
        };
        let put = self.write_text(synced, text.as_deref(), behind, news)?;
        Ok(put)
    }

    /// Whether the file waits for an agent that works to end.
    fn should_yield_to_agent(&self, synced: &mut SyncedFile) -> Result<bool, SyncFault> {
        let is_agents_time = || match self.moment {
            SyncMoment::AtWork => Ok(true),
            SyncMoment::Any | SyncMoment::EndOfAttempt | SyncMoment::Rest => {
                has_live_attempt(self.session)
            }
        };
        let is_in_the_way =
            branches::is_blocking_checkout(&self.session.project, self.file.path, synced)?;
        Ok(is_in_the_way && is_agents_time()?)
    }

    /// Notes that what is recorded on this branch, which does not have the file, is
    /// in none.
    fn record_unshown_branch(&self, synced: &mut SyncedFile) -> Result<(), SyncFault> {
        let project = &self.session.project;
        let here = git::read_checkout(&project.work_tree);
        let Some((branch, commit)) = here.and_then(|here| here.branch.zip(here.commit)) else {
            return Ok(());
        };
        let stamp = synced.stamp();
        let mut unshown = stamp.unshown.clone().unwrap_or_else(|| UnshownRows {
            from: stamp.positions.clone(),
            branches: BTreeMap::new(),
        });
        unshown.branches.entry(branch).or_insert_with(|| {
            match stamp.commit == commit || is_set_back_from(project, &stamp.commit) {
                true => commit,
                false => String::new(),
            }
        });
        Ok(synced.record_unshown_rows(Some(unshown))?)
    }

    /// The file as a branch has it, with the rows of that branch that no file shows.
    fn render_on_branch(
        &self,
        unshown: &UnshownRows,
        branch: &str,
        before: &str,
    ) -> Result<String, SyncFault> {
        let mut behind = load_pending_rows(self.session, &unshown.from, self.file)?;
        behind
            .rows
            .retain(|row| row.branch().is_some_and(|of| of == branch));
        let name = project_name(self.session);
        let about = FileContext {
            iteration: behind.iteration,
            ..self.file_context(&name)
        };
        match behind.rows.is_empty() {
            true => Ok(before.to_owned()),
            false => self.render_text(Some(before), behind.shown_rows(), &about),
        }
    }

    /// The rows of branches that did not have the file and are merged by now; none
    /// where nothing was merged.
    fn rows_merged_since(
        &self,
        synced: &SyncedFile,
    ) -> Result<Option<MergedBranchRows>, SyncFault> {
        let Some(unshown) = &synced.stamp().unshown else {
            return Ok(None);
        };
        let project = &self.session.project;
        let here = git::read_checkout(&project.work_tree).filter(|_| !synced.is_on_same_commit());
        let Some(here) = here else { return Ok(None) };
        let mut rows = load_pending_rows(self.session, &unshown.from, self.file)?.rows;
        let is_merged = |(branch, bare): &(String, String)| {
            let mut of_branch = rows.iter().filter(|row| row.branch() == Some(branch));
            let last = || of_branch.next_back()?.checkout()?.commit.clone();
            let tip = git::tip_of_branch(&project.work_tree, branch).or_else(last);
            let has_come = |tip: String| tip != *bare && is_descendant_of_past(project, &tip);
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
        Ok(Some(MergedBranchRows { rows, branches }))
    }

    fn write_text(
        &self,
        synced: &mut SyncedFile,
        text: Option<&str>,
        behind: PendingRows,
        news: &mut Vec<FileNotice>,
    ) -> Result<WriteOutcome, SyncFault> {
        let name = project_name(self.session);
        let about = FileContext {
            iteration: behind.iteration,
            ..self.file_context(&name)
        };
        let new = self.render_text(text, behind.shown_rows(), &about)?;
        let new = archive::split_off_archived(self.session, self.file, new)?;
        // First what is made of the file: as long as the file is behind, a crash
        // leaves this to the next command.
        if !new.is_empty() {
            self.write_page(text, &new, &behind.positions, news)?;
        }
        if text == Some(new.as_str()) && synced.target_path().is_file() {
            synced.record_positions_and_tail(
                behind.positions,
                large::tail_of_large_file(self.file, &new),
            )?;
            return Ok(WriteOutcome::Done);
        }
        if new.is_empty() {
            // Nothing of this concerns the file.
            return Ok(WriteOutcome::Done);
        }
        let tail = large::tail_of_large_file(self.file, &new);
        Ok(synced.write_version(new.as_bytes(), behind.positions, tail)?)
    }

    /// The file with what is to be shown. The journal has secrets only in redacted
    /// form: what a person wrote in the file is not replaced by that.
    fn render_text(
        &self,
        text: Option<&str>,
        mut shown: Vec<ShownRow<'_>>,
        about: &FileContext<'_>,
    ) -> Result<String, SyncFault> {
        let show = |text: Option<&str>, shown: &[ShownRow<'_>]| {
            (self.file.show)(text, shown, about).map_err(|cannot| {
                let message = format!("{}: {cannot}", self.file.path);
                SyncFault(Failure::new("file.unwritable", message))
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
            return Ok(secret::restore_secrets(&new, written, &redacted));
        }
        let found = self.parse_things(written.as_bytes(), None).found;
        let said: Vec<ImportedRecord> = found.iter().map(without_native_text).collect();
        shown.retain(|row| {
            let told = (self.file.told_again)(row);
            told.is_none_or(|told| !said.contains(&without_native_text(&told)))
        });
        show(text, &shown)
    }
}

/// Whether anything has moved since the file was written.
fn is_behind(session: &Session<'_>, synced: &SyncedFile) -> Result<bool, SyncFault> {
    let heads = session.store.stream_heads()?;
    let positions = &synced.stamp().positions;
    let moved = |name: &str, count| positions.get(name).copied().unwrap_or(0) < count;
    Ok(heads
        .iter()
        .filter(|head| head.stream != StreamId::files())
        .any(|head| moved(head.stream.as_str(), head.count)))
}

/// The names of what piton wrote last and a version lacks, and what is not taken
/// out with it: the journal keeps it.
fn missing_names(version: &ProjectFileVersion) -> Vec<String> {
    let there: BTreeSet<&str> = version
        .took
        .found
        .iter()
        .filter_map(name_of_found)
        .collect();
    let written = version.base.iter().flat_map(|base| &base.found);
    let names = written.filter_map(name_of_found);
    names
        .filter(|name| !there.contains(name))
        .map(str::to_owned)
        .collect()
}

/// The names of what a version says otherwise than piton wrote it last.
fn reworded_names(version: &ProjectFileVersion, all: &FileContents) -> Vec<String> {
    let written = version.base.iter().flat_map(|base| &base.found);
    let is_reworded = |was: &&ImportedRecord| {
        let mut there = all.found.iter();
        let now = there
            .find(|now| name_of_found(now).is_some() && name_of_found(now) == name_of_found(was));
        now.is_some_and(|now| without_native_text(now) != without_native_text(was))
    };
    let names = written.filter(is_reworded).filter_map(name_of_found);
    names.map(str::to_owned).collect()
}

fn is_removal(found: &ImportedRecord) -> bool {
    matches!(found, ImportedRecord::Removed(_))
}

/// What stays in a version without being taken in, and was not in the last one
/// that piton wrote.
fn collect_ignored_problems(version: &ProjectFileVersion) -> Vec<FileNotice> {
    let said = |took: &FileContents| -> Vec<String> {
        let left = took.problems.iter();
        let left = left.filter(|problem| LEFT.contains(&problem.code.as_ref()));
        left.map(|problem| format!("{problem}; {}", problem.hint))
            .collect()
    };
    let before = version.base.as_ref().map(said).unwrap_or_default();
    let mut now = said(&version.took);
    now.retain(|what| !before.contains(what));
    now.into_iter().map(FileNotice::Left).collect()
}

/// Which row a thing that was found may be.
fn need_of_found(found: &ImportedRecord) -> Option<Need> {
    match found {
        ImportedRecord::Entry(entry) => Some(Need::Name(Space::Entry, entry.name.clone()?)),
        ImportedRecord::Attempt(told) => Some(Need::Name(Space::Attempt, told.name.clone()?)),
        ImportedRecord::Memory(memory)
        | ImportedRecord::Retired(memory)
        | ImportedRecord::Removed(memory) => Some(Need::Memory(memory.id.clone()?)),
    }
}

/// The row that has the name of a thing that was found.
fn find_shown_row<'t>(tables: &'t Tables, found: &ImportedRecord) -> Option<ShownRow<'t>> {
    match found {
        ImportedRecord::Entry(entry) => {
            let NamedRow::Entry(position) =
                tables.find_name(Space::Entry, entry.name.as_deref()?)?.of
            else {
                return None;
            };
            tables.entry(position).map(ShownRow::Entry)
        }
        ImportedRecord::Attempt(told) => {
            let NamedRow::Attempt(id) = tables.find_name(Space::Attempt, told.name.as_deref()?)?.of
            else {
                return None;
            };
            tables.attempt(id).map(ShownRow::Attempt)
        }
        ImportedRecord::Memory(memory)
        | ImportedRecord::Retired(memory)
        | ImportedRecord::Removed(memory) => tables
            .find_memory(memory.id.as_deref()?)
            .map(ShownRow::Memory),
    }
}

/// What a thing is called in its file.
fn name_of_found(found: &ImportedRecord) -> Option<&str> {
    match found {
        ImportedRecord::Entry(entry) => entry.name.as_deref(),
        ImportedRecord::Attempt(told) => told.name.as_deref(),
        ImportedRecord::Memory(memory)
        | ImportedRecord::Retired(memory)
        | ImportedRecord::Removed(memory) => memory.id.as_deref().or(memory.title.as_deref()),
    }
}

/// A thing without what only its text has.
fn without_native_text(found: &ImportedRecord) -> ImportedRecord {
    let mut found = found.clone();
    match &mut found {
        ImportedRecord::Entry(entry) => entry.native = None,
        ImportedRecord::Attempt(told) => {
            told.native = None;
            told.attempt = piton_core::AttemptId(uuid::Uuid::nil());
        }
        ImportedRecord::Memory(memory)
        | ImportedRecord::Retired(memory)
        | ImportedRecord::Removed(memory) => memory.native = None,
    }
    found
}

/// How many things the events brought.
fn count_imported_things(events: &[piton_core::DecodedRecord]) -> usize {
    use piton_core::Event;
    let is_thing = |recorded: &&piton_core::DecodedRecord| {
        matches!(
            recorded.event,
            Event::Session(SessionEvent::EntryLogged(_) | SessionEvent::EntryRevised { .. })
                | Event::Attempt(AttemptEvent::Reported(_) | AttemptEvent::Revised(_))
                | Event::Memory(
                    MemoryEvent::Added(_) | MemoryEvent::Revised(_) | MemoryEvent::Retired { .. }
                )
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

fn read_text(path: &Path) -> Result<String, SyncFault> {
    let bytes = input::read_file(path)?;
    String::from_utf8(bytes)
        .map_err(|_| SyncFault::from(io::Error::from(io::ErrorKind::InvalidData)))
}
