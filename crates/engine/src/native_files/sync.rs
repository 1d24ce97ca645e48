//! The one machine: what is done with a version of a native file that another writer
//! made.
//!
//! A thing in a file is compared in what piton wrote last, in the file and in the
//! journal. Only the file changed: taken. Only the journal changed: shown. Both:
//! asked. What differs between the file of a plan and those of the project stands
//! behind [`NativeFile`].
//!
//! The caller holds the lock of the file's stamp.

use piton_core::event::DecisionEvent;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::{
    Actor, CallerFacts, Command, DecisionChoice, DecisionRow, DecodedRecord, Event, HolderLiveness,
    Need, RunId, Verb,
};
use piton_formats::problem::Problem;
use piton_store::{CommitError, CommitOutcome};

use super::branches;
use super::copies::store_timestamped_copy;
use super::news::{FileNotice, render_errors};
use super::synced_file::{PresentFile, SyncedFile, WriteOutcome};
use crate::failure::{Failure, outside_failure};
use crate::git;
use crate::project::inside::OutsideLink;
use crate::session::Session;
use crate::world;
use crate::world::input;

/// How often, and how long apart, a file is read again that cannot be read, or is
/// cut short: another process may be in the middle of writing it.
const READS: u32 = 3;
const READ_PAUSE: Duration = Duration::from_millis(40);
/// No process is in the middle of writing a file that has not changed for so long.
const REST: Duration = Duration::from_secs(1);

/// What the machine has to know of a kind of native file.
pub(super) trait NativeFile {
    /// What a version says that piton does not know yet.
    type Version;

    /// Who works on it.
    fn session(&self) -> &Session<'_>;
    /// The file, relative to the project.
    fn path(&self) -> &str;
    /// The run that questions about it belong to.
    fn run(&self) -> RunId;
    /// Whether a person is asked about it.
    fn has_open_question(&self) -> bool;
    /// What is known of the holder of its run.
    fn run_holder(&self) -> HolderLiveness {
        HolderLiveness::Nothing
    }
    /// Whether a lock of git's index is held by a live process.
    fn should_heed_git_lock(&self) -> bool;
    /// Whether something else is checked out than when the look began: what belongs to
    /// it was asked before.
    fn was_checkout_switched(&self) -> bool {
        false
    }

    /// Reads a version, or tells why it cannot be read.
    fn parse_version(
        &mut self,
        file: &SyncedFile,
        bytes: &[u8],
    ) -> Result<Self::Version, Vec<Problem>>;

    /// Leaves a version that holds something else altogether; none where it does not.
    fn skip_unrelated_version(
        &mut self,
        _: &SyncedFile,
        _: &[u8],
    ) -> Result<Option<ImportOutcome>, SyncFault> {
        Ok(None)
    }

    /// Takes a version in, or asks about it.
    fn import_version(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        version: Self::Version,
    ) -> Result<ImportOutcome, SyncFault>;

    /// Whether a version lacks what would be taken out with it.
    fn has_missing_things(&self, version: &Self::Version) -> bool;

    /// Asks about a version that lacks something, and is only the beginning of what
    /// piton wrote last.
    fn ask_about_truncated(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        version: Self::Version,
    ) -> Result<ImportOutcome, SyncFault>;

    /// What is asked about a version that cannot be read, and what can be done
    /// beside mending it.
    fn unreadable_question(&mut self, file: &SyncedFile) -> (String, Vec<DecisionChoice>);

    /// Whether a person may decide about this version: an error where it is another
    /// one than that of the question, `false` where nothing is to be done with it.
    fn can_be_decided(
        &mut self,
        _: &SyncedFile,
        _: &[u8],
        _: DecisionChoice,
    ) -> Result<bool, SyncFault> {
        Ok(true)
    }

    /// Takes a version in as a person decided: what it says holds, or what piton
    /// says where both say something.
    fn import_as_decided(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        version: Self::Version,
        holds: ConflictWinner,
    ) -> Result<(), SyncFault>;

    /// Writes the file as the journal has it, where a person decided so; what was
    /// there is kept beside it, and named.
    fn overwrite_with_own(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        version: Option<Self::Version>,
    ) -> Result<PathBuf, SyncFault>;

    /// Leaves alone, from now on, a version that a person wants to stay.
    fn ignore_version(&mut self, problems: &[Problem]) -> Result<(), SyncFault>;

    /// Why a version cannot be taken that was to be.
    fn import_failure(&self, _: &[Problem]) -> Failure {
        changed_meanwhile_failure(self.path())
    }
}

/// Whose word holds where both changed a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConflictWinner {
    File,
    Piton,
}

/// What came of looking at a file.
#[derive(Debug, Default)]
pub struct ImportOutcome {
    /// Events were stored that the caller does not know.
    pub taken: bool,
    /// What the user should know.
    pub news: Vec<FileNotice>,
    /// It cannot be read, or is another plan: nothing of it counts.
    pub is_passed_over: bool,
    /// What the file is, as far as writing it goes.
    pub(super) standing: FileWritability,
}

/// Whether a file can be written after it was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FileWritability {
    /// It can: what it said is known.
    #[default]
    Level,
    /// A person is asked about a part of it, which stays; the rest can be written.
    Held,
    /// A person is asked about it, or it is left to another run.
    Asked,
    /// Git is about to replace it.
    Busy,
    /// It is no regular file.
    Special,
    /// Another writer changed it meanwhile: it is to be looked at again.
    Overtaken,
}

impl ImportOutcome {
    /// A person is asked, as these events say, or was before.
    pub(super) fn with_question(path: &str, events: &[DecodedRecord]) -> Self {
        Self {
            is_passed_over: false,
            taken: !events.is_empty(),
            news: has_opened_question(events)
                .then(|| FileNotice::question_opened(path))
                .into_iter()
                .collect(),
            standing: FileWritability::Asked,
        }
    }

    /// Whether a person is asked about the file.
    pub(super) fn has_question(&self) -> bool {
        matches!(
            self.standing,
            FileWritability::Held | FileWritability::Asked
        ) || self.news.iter().any(FileNotice::is_warning)
    }

    /// A person was asked before, and has not answered.
    pub(super) fn with_pending_question() -> Self {
        Self {
            standing: FileWritability::Asked,
            ..Self::default()
        }
    }

    /// The same, where only what is asked about stays as it is.
    pub(super) fn into_held(self) -> Self {
        Self {
            standing: FileWritability::Held,
            ..self
        }
    }
}

/// Whether events open a question.
pub(super) fn has_opened_question(events: &[DecodedRecord]) -> bool {
    let is_question = |recorded: &DecodedRecord| {
        matches!(
            recorded.event,
            Event::Decision(DecisionEvent::Opened { .. })
        )
    };
    events.iter().any(is_question)
}

/// What ended the work on a file.
#[derive(Debug)]
pub(super) struct SyncFault(pub(super) Failure);

impl From<io::Error> for SyncFault {
    fn from(error: io::Error) -> Self {
        Self(match OutsideLink::of_error(&error) {
            Some(link) => outside_failure(link),
            None => Failure::new("file.unwritable", error.to_string()),
        })
    }
}

impl From<Failure> for SyncFault {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<CommitError> for SyncFault {
    fn from(error: CommitError) -> Self {
        Self(error.into())
    }
}

impl From<piton_store::StoreFault> for SyncFault {
    fn from(fault: piton_store::StoreFault) -> Self {
        Self(fault.into())
    }
}

impl SyncFault {
    /// The failure, with the name of the file where it does not name it.
    pub(super) fn into_file_failure(self, path: &str) -> Failure {
        let Self(failure) = self;
        match failure.message.contains(path) {
            true => failure,
            false => Failure {
                message: format!("{path}: {}", failure.message),
                ..failure
            },
        }
    }
}

/// Imports the content of the file, if another writer changed it.
pub(super) fn import_changes<F: NativeFile>(
    native: &mut F,
    file: &mut SyncedFile,
) -> Result<ImportOutcome, SyncFault> {
    let (present, version) = read_with_retries(native, file)?;
    match (present, version) {
        (PresentFile::Special(why), _) => {
            let path = native.path();
            Ok(ImportOutcome {
                news: vec![FileNotice::sync_failed(
                    path,
                    format!("{why}; put a file in its place"),
                )],
                standing: FileWritability::Special,
                is_passed_over: true,
                ..ImportOutcome::default()
            })
        }
        // A person who restored piton's own version has answered.
        (PresentFile::Ours, _) => settle_question(native, "the file is as piton wrote it"),
        // What git is about to put there is looked at when it is whole.
        (PresentFile::Foreign(_) | PresentFile::Missing, _) if is_git_at_work(native) => {
            Ok(ImportOutcome {
                standing: FileWritability::Busy,
                ..ImportOutcome::default()
            })
        }
        (PresentFile::Missing, _) => settle_question(native, "the file was taken away"),
        (PresentFile::Foreign(_), Some(Err(problems))) => {
            ask_about_unreadable(native, file, &problems)
        }
        (PresentFile::Foreign(bytes), Some(Ok(version)))
            if is_truncated(file, &bytes) && !is_committed(native, file) =>
        {
            // Who fell in the middle of writing seldom did so at the end of a line.
            match bytes.ends_with(b"\n") && native.has_missing_things(&version) {
                true => native.ask_about_truncated(file, &bytes, version),
                false => restore_truncated(native, file, &bytes),
            }
        }
        (PresentFile::Foreign(bytes), Some(Ok(version))) => {
            match native.skip_unrelated_version(file, &bytes)? {
                Some(looked) => Ok(looked),
                None => native.import_version(file, &bytes, version),
            }
        }
        (PresentFile::Foreign(_), None) => Ok(ImportOutcome::default()),
    }
}

/// What is in the place of the file, with what it says where another writer wrote it.
type PresentVersion<V> = (PresentFile, Option<Result<V, Vec<Problem>>>);

/// Reads the file, and again while it cannot be read or is cut short.
fn read_with_retries<F: NativeFile>(
    native: &mut F,
    file: &mut SyncedFile,
) -> Result<PresentVersion<F::Version>, SyncFault> {
    let mut reads = 1;
    loop {
        let mut present = file.read_present()?;
        // What another writer left in it is looked at again.
        if present == PresentFile::Ours && file.has_held_conflict() {
            present = PresentFile::Foreign(input::read_file(file.target_path())?);
        }
        let PresentFile::Foreign(bytes) = &present else {
            return Ok((present, None));
        };
        let version = native.parse_version(file, bytes);
        let is_whole = version.is_ok() && !is_truncated(file, bytes);
        if is_whole || is_at_rest(file) || reads == READS {
            return Ok((present, Some(version)));
        }
        reads += 1;
        world::pause(READ_PAUSE);
    }
}

fn is_at_rest(file: &SyncedFile) -> bool {
    let written = fs::metadata(file.target_path()).and_then(|found| found.modified());
    let age = written.ok().and_then(|written| written.elapsed().ok());
    age.is_some_and(|age| age > REST)
}

fn is_git_at_work(native: &impl NativeFile) -> bool {
    let project = &native.session().project;
    let is_at_work = || git::is_git_updating(&project.work_tree) || native.was_checkout_switched();
    native.should_heed_git_lock() && is_at_work() && project.is_tracked(native.path())
}

/// Whether this is only the beginning of what piton wrote last: its writer crashed, and
/// all of it is known. A file of one line is never taken for a beginning.
fn is_truncated(file: &SyncedFile, bytes: &[u8]) -> bool {
    // Another branch has its own version, which may be where this one began. What a
    // person was asked about is known.
    !file.is_of_other_branch()
        && !file.is_held_version(bytes)
        && file.read_base().is_some_and(|whole| {
            let is_longer = whole.lines().nth(1).is_some() && whole.len() > bytes.len();
            is_longer && whole.as_bytes().starts_with(bytes)
        })
}

/// Whether the file was committed as it is since piton wrote it: then its content is
/// intended.
fn is_committed(native: &impl NativeFile, file: &SyncedFile) -> bool {
    let project = &native.session().project;
    let (work_tree, since) = (&project.work_tree, &file.stamp().commit);
    let Some(inside) = project.path_in_work_tree(native.path()) else {
        return false;
    };
    let inside = Path::new(&inside);
    // Where there was no commit when piton wrote it, each one came since.
    let is_new = || since.is_empty() || git::has_changed_since(work_tree, since, inside);
    project.is_tracked(native.path()) && git::is_file_clean(work_tree, inside) && is_new()
}

/// Writes the whole again where a writer crashed after the beginning of what piton
/// wrote last: what is missing is known.
fn restore_truncated(
    native: &impl NativeFile,
    file: &mut SyncedFile,
    bytes: &[u8],
) -> Result<ImportOutcome, SyncFault> {
    let whole = file.read_base().unwrap_or_default();
    let positions = file.stamp().positions.clone();
    file.accept_version(bytes)?;
    if file.write_version(whole.as_bytes(), positions, None)? == WriteOutcome::Overtaken {
        return Ok(ImportOutcome {
            standing: FileWritability::Overtaken,
            ..ImportOutcome::default()
        });
    }
    let path = native.path();
    Ok(ImportOutcome {
        news: vec![FileNotice::Told(format!(
            "{path} was cut short, and is whole again"
        ))],
        ..ImportOutcome::default()
    })
}

/// Asks about a version that cannot be read.
fn ask_about_unreadable<F: NativeFile>(
    native: &mut F,
    file: &SyncedFile,
    problems: &[Problem],
) -> Result<ImportOutcome, SyncFault> {
    let (question, ways) = native.unreadable_question(file);
    let redactor = native.session().world.redactor();
    let details = redactor.redact(&render_errors(problems)).into_owned();
    ask_about_file(native, question, Some(details), ways)
}

/// Asks a person about the file.
pub(super) fn ask_about_file(
    native: &impl NativeFile,
    question: String,
    details: Option<String>,
    ways: Vec<DecisionChoice>,
) -> Result<ImportOutcome, SyncFault> {
    let path = native.path();
    let committed = commit_command(
        native,
        &Command::AskAboutFile {
            run: native.run(),
            path: path.to_owned(),
            question,
            details,
            ways,
        },
    )?;
    Ok(ImportOutcome::with_question(path, &committed.events))
}

/// Answers the question about the file, if there is one.
pub(super) fn settle_question(
    native: &impl NativeFile,
    why: &str,
) -> Result<ImportOutcome, SyncFault> {
    if !native.has_open_question() {
        return Ok(ImportOutcome::default());
    }
    let command = Command::SettleFile {
        run: native.run(),
        path: native.path().to_owned(),
        why: why.to_owned(),
    };
    Ok(ImportOutcome {
        taken: !commit_command(native, &command)?.events.is_empty(),
        ..ImportOutcome::default()
    })
}

/// Carries out a command in the name of the file.
pub(super) fn commit_command(
    native: &impl NativeFile,
    command: &Command,
) -> Result<CommitOutcome, SyncFault> {
    Ok(native.session().commit(command, &facts_of_file(native))?)
}

/// What commands in the name of the file bring with them.
pub(super) fn facts_of_file(native: &impl NativeFile) -> CallerFacts {
    CallerFacts {
        actor: Actor::File(native.path().to_owned()),
        ..native
            .session()
            .facts_of_run(native.run(), native.run_holder())
    }
}

/// Whether an attempt of the project is open: what stands in a file then may be an
/// agent's.
pub(super) fn has_open_attempt(session: &Session<'_>) -> Result<bool, Failure> {
    let rows = session.load(&[Need::OpenAttempts(None)])?;
    Ok(rows.tables.open_attempts().next().is_some())
}

/// Whether an attempt is open of which no runner is known to be gone: its agent may
/// still work.
pub(super) fn has_live_attempt(session: &Session<'_>) -> Result<bool, Failure> {
    let rows = session.load(&[Need::OpenAttempts(None)])?;
    let runs: BTreeSet<RunId> = rows.tables.open_attempts().map(|row| row.run).collect();
    for run in runs {
        if !matches!(session.holder_of_run(run)?, HolderLiveness::Gone(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the branch that is checked out has no such file, while others have.
pub(super) fn is_absent_on_branch(
    native: &impl NativeFile,
    file: &mut SyncedFile,
) -> io::Result<bool> {
    branches::is_absent_on_branch(&native.session().project, native.path(), file)
}

/// Carries out what a person decided about the file. The version that is kept
/// beside it, if one is.
pub(super) fn apply_decision<F: NativeFile>(
    native: &mut F,
    file: &mut SyncedFile,
    row: &DecisionRow,
    verb: Verb,
) -> Result<Option<PathBuf>, SyncFault> {
    let Ok(bytes) = input::read_file(file.target_path()) else {
        // It was taken away: there is nothing to keep.
        return Ok(None);
    };
    let version = native.parse_version(file, &bytes);
    let Some(way) = row
        .choice_of_verb(verb)
        .or_else(|| way_of_verb(verb, version.is_ok()))
    else {
        // The store says what fits.
        return Ok(None);
    };
    if !native.can_be_decided(file, &bytes, way)? {
        return Ok(None);
    }
    match (way, version) {
        (DecisionChoice::FileHolds, Ok(version)) => {
            native.import_as_decided(file, &bytes, version, ConflictWinner::File)?;
            file.accept_version(&bytes)?;
            Ok(None)
        }
        (DecisionChoice::Merged, Ok(version)) => {
            let kept = store_timestamped_copy(native.session(), file.target_path(), &bytes)?;
            native.import_as_decided(file, &bytes, version, ConflictWinner::Piton)?;
            file.accept_version(&bytes)?;
            Ok(Some(kept))
        }
        (DecisionChoice::FileHolds | DecisionChoice::Merged, Err(problems)) => {
            Err(native.import_failure(&problems).into())
        }
        (DecisionChoice::PitonHolds, version) => native
            .overwrite_with_own(file, &bytes, version.ok())
            .map(Some),
        (DecisionChoice::LeftAlone, version) => {
            native.ignore_version(version.err().as_deref().unwrap_or_default())?;
            Ok(None)
        }
        (DecisionChoice::Retired | DecisionChoice::FollowedOn, _) => Ok(None),
    }
}

/// What a verb comes to in a question that does not say.
fn way_of_verb(verb: Verb, is_readable: bool) -> Option<DecisionChoice> {
    match verb {
        Verb::KeepFile if is_readable => Some(DecisionChoice::FileHolds),
        Verb::KeepFile => Some(DecisionChoice::LeftAlone),
        Verb::KeepPiton => Some(DecisionChoice::PitonHolds),
        Verb::Merge => Some(DecisionChoice::Merged),
        Verb::Approve
        | Verb::Answer
        | Verb::Retry
        | Verb::Skip
        | Verb::Reject
        | Verb::Defer
        | Verb::Backlog
        | Verb::Settled => None,
    }
}

/// A person cannot decide about a version that they have not seen.
pub(super) fn changed_meanwhile_failure(file: &str) -> Failure {
    Failure::new(
        "file.conflict",
        format!("{file} was changed a moment ago: nothing is decided"),
    )
    .with_hint("see what it is about now with `piton inbox`")
}
