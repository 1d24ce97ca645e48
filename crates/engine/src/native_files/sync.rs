//! The one machine: what is done with a version of a native file that somebody
//! else wrote.
//!
//! A thing in a file is compared in what piton wrote last, in the file and in the
//! journal. Only the file changed: taken. Only the journal changed: shown. Both:
//! asked. What differs between the file of a plan and those of the project stands
//! behind [`NativeFile`].
//!
//! Whoever calls holds the lock of the file's stamp.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::{
    Actor, Command, DecisionRow, Event, Facts, HolderKnown, Need, Recorded, RunId, Verb, Way,
};
use piton_formats::problem::Problem;
use piton_store::{CommitError, Committed};

use super::branches;
use super::copies::keep_beside;
use super::news::{News, in_lines};
use super::synced_file::{Present, Put, SyncedFile};
use crate::failure::Failure;
use crate::git;
use crate::session::Session;
use crate::world;

/// How often, and how long apart, a file is read again that cannot be read, or is
/// cut short: somebody may be in the middle of writing it.
const READS: u32 = 3;
const READ_PAUSE: Duration = Duration::from_millis(40);
/// Nobody is in the middle of writing what has not changed for so long.
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
    fn is_asked(&self) -> bool;
    /// What is known of the holder of its run.
    fn holder(&self) -> HolderKnown {
        HolderKnown::Nothing
    }
    /// Whether a lock of git's index is that of somebody alive.
    fn heeds_git(&self) -> bool;
    /// Whether something else is checked out than when the look began: what belongs to
    /// it was asked before.
    fn was_switched(&self) -> bool {
        false
    }

    /// Reads a version, or tells why it cannot be read.
    fn read(&mut self, file: &SyncedFile, bytes: &[u8]) -> Result<Self::Version, Vec<Problem>>;

    /// Leaves a version that holds something else altogether; none where it does not.
    fn leave_other(&mut self, _: &SyncedFile, _: &[u8]) -> Result<Option<Looked>, Fault> {
        Ok(None)
    }

    /// Takes a version in, or asks about it.
    fn take(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        version: Self::Version,
    ) -> Result<Looked, Fault>;

    /// Whether a version lacks what would be taken out with it.
    fn lacks(&self, version: &Self::Version) -> bool;

    /// Asks about a version that lacks something, and is only the beginning of what
    /// piton wrote last.
    fn take_beginning(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        version: Self::Version,
    ) -> Result<Looked, Fault>;

    /// What is asked about a version that cannot be read, and what can be done
    /// beside mending it.
    fn question(&mut self, file: &SyncedFile) -> (String, Vec<Way>);

    /// Whether a person may decide about this version: an error where it is another
    /// one than that of the question, `false` where nothing is to be done with it.
    fn may_be_decided(&mut self, _: &SyncedFile, _: &[u8], _: Way) -> Result<bool, Fault> {
        Ok(true)
    }

    /// Takes a version in as a person decided: what it says holds, or what piton
    /// says where both say something.
    fn take_as_decided(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        version: Self::Version,
        holds: Holds,
    ) -> Result<(), Fault>;

    /// Writes the file as the journal has it, where a person decided so; what was
    /// there is kept beside it, and named.
    fn put_own(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        version: Option<Self::Version>,
    ) -> Result<PathBuf, Fault>;

    /// Leaves alone, from now on, a version that a person wants to stay.
    fn leave_alone(&mut self, problems: &[Problem]) -> Result<(), Fault>;

    /// Why a version cannot be taken that was to be.
    fn cannot_take(&self, _: &[Problem]) -> Failure {
        changed_meanwhile(self.path())
    }
}

/// Whose word holds where both changed a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    File,
    Piton,
}

/// What came of looking at a file.
#[derive(Debug, Default)]
pub struct Looked {
    /// Events were stored that the caller does not know.
    pub taken: bool,
    /// What somebody should know.
    pub news: Vec<News>,
    /// It cannot be read, or is another plan: nothing of it counts.
    pub is_passed_over: bool,
    /// What the file is, as far as writing it goes.
    pub(super) standing: Standing,
}

/// Whether a file can be written after it was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// It can: what it said is known.
    #[default]
    Level,
    /// A person is asked about a part of it, which stays; the rest can be written.
    Held,
    /// A person is asked about it, or it is left to another run.
    Asked,
    /// Git is about to replace it, or it is no regular file.
    Busy,
    /// Somebody wrote it meanwhile: it is to be looked at again.
    Overtaken,
}

impl Looked {
    /// A person is asked, as these events say, or was before.
    pub(super) fn asked(path: &str, events: &[Recorded]) -> Self {
        Self {
            is_passed_over: false,
            taken: !events.is_empty(),
            news: asks(events)
                .then(|| News::asked(path))
                .into_iter()
                .collect(),
            standing: Standing::Asked,
        }
    }

    /// Whether a person is asked about the file.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.standing, Standing::Held | Standing::Asked)
            || self.news.iter().any(News::is_warning)
    }

    /// A person was asked before, and has not answered.
    pub(super) fn still_asked() -> Self {
        Self {
            standing: Standing::Asked,
            ..Self::default()
        }
    }

    /// The same, where only what is asked about stays as it is.
    pub(super) fn held(self) -> Self {
        Self {
            standing: Standing::Held,
            ..self
        }
    }
}

/// Whether events open a question.
pub(super) fn asks(events: &[Recorded]) -> bool {
    let is_question = |recorded: &Recorded| matches!(recorded.event, Event::DecisionOpened { .. });
    events.iter().any(is_question)
}

/// What ended the work on a file.
#[derive(Debug)]
pub(super) struct Fault(pub(super) Failure);

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self(Failure::new("file.unwritable", error.to_string()))
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<CommitError> for Fault {
    fn from(error: CommitError) -> Self {
        Self(error.into())
    }
}

impl From<piton_store::Fault> for Fault {
    fn from(fault: piton_store::Fault) -> Self {
        Self(fault.into())
    }
}

impl Fault {
    /// The failure, with the name of the file where it does not name it.
    pub(super) fn of_file(self, path: &str) -> Failure {
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

/// Takes in what stands in the file, if somebody else wrote it.
pub(super) fn look<F: NativeFile>(native: &mut F, file: &mut SyncedFile) -> Result<Looked, Fault> {
    let (present, version) = read_whole(native, file)?;
    match (present, version) {
        (Present::Special, _) => Ok(Looked {
            standing: Standing::Busy,
            ..Looked::default()
        }),
        // Whoever brought piton's own version back has answered.
        (Present::Ours, _) => settle(native, "the file is as piton wrote it"),
        // What git is about to put there is looked at when it is whole.
        (Present::Foreign(_) | Present::Missing, _) if git_is_at_work(native) => Ok(Looked {
            standing: Standing::Busy,
            ..Looked::default()
        }),
        (Present::Missing, _) => settle(native, "the file was taken away"),
        (Present::Foreign(_), Some(Err(problems))) => ask(native, file, &problems),
        (Present::Foreign(bytes), Some(Ok(version)))
            if is_cut_short(file, &bytes) && !is_committed(native, file) =>
        {
            // Who fell in the middle of writing seldom did so at the end of a line.
            match bytes.ends_with(b"\n") && native.lacks(&version) {
                true => native.take_beginning(file, &bytes, version),
                false => make_whole(native, file, &bytes),
            }
        }
        (Present::Foreign(bytes), Some(Ok(version))) => match native.leave_other(file, &bytes)? {
            Some(looked) => Ok(looked),
            None => native.take(file, &bytes, version),
        },
        (Present::Foreign(_), None) => Ok(Looked::default()),
    }
}

/// What is in the place of the file, with what it says where somebody else wrote it.
type Found<V> = (Present, Option<Result<V, Vec<Problem>>>);

/// Reads the file, and again while it cannot be read or is cut short.
fn read_whole<F: NativeFile>(
    native: &mut F,
    file: &mut SyncedFile,
) -> Result<Found<F::Version>, Fault> {
    let mut reads = 1;
    loop {
        let mut present = file.present()?;
        // What stays of somebody else in it is looked at again.
        if present == Present::Ours && file.is_held() {
            present = Present::Foreign(fs::read(file.target())?);
        }
        let Present::Foreign(bytes) = &present else {
            return Ok((present, None));
        };
        let version = native.read(file, bytes);
        let is_whole = version.is_ok() && !is_cut_short(file, bytes);
        if is_whole || is_at_rest(file) || reads == READS {
            return Ok((present, Some(version)));
        }
        reads += 1;
        world::pause(READ_PAUSE);
    }
}

fn is_at_rest(file: &SyncedFile) -> bool {
    let written = fs::metadata(file.target()).and_then(|found| found.modified());
    let age = written.ok().and_then(|written| written.elapsed().ok());
    age.is_some_and(|age| age > REST)
}

fn git_is_at_work(native: &impl NativeFile) -> bool {
    let project = &native.session().project;
    let is_at_work = || git::is_at_work(&project.work_tree) || native.was_switched();
    native.heeds_git() && is_at_work() && project.is_tracked(native.path())
}

/// Whether this is only the beginning of what piton wrote last: whoever wrote it
/// fell, and all of it is known. A file of one line is as short as it likes.
fn is_cut_short(file: &SyncedFile, bytes: &[u8]) -> bool {
    // Another branch has its own version, which may be where this one began. What a
    // person was asked about is known.
    !file.is_of_other_branch()
        && !file.holds(bytes)
        && file.base().is_some_and(|whole| {
            let is_longer = whole.lines().nth(1).is_some() && whole.len() > bytes.len();
            is_longer && whole.as_bytes().starts_with(bytes)
        })
}

/// Whether somebody committed the file as it is since piton wrote it: then it is as
/// it is meant.
fn is_committed(native: &impl NativeFile, file: &SyncedFile) -> bool {
    let project = &native.session().project;
    let (work_tree, since) = (&project.work_tree, &file.stamp().commit);
    let Some(inside) = project.in_work_tree(native.path()) else {
        return false;
    };
    let inside = Path::new(&inside);
    // Where there was no commit when piton wrote it, each one came since.
    let is_new = || since.is_empty() || git::has_changed_since(work_tree, since, inside);
    project.is_tracked(native.path()) && git::is_clean(work_tree, inside) && is_new()
}

/// Whoever wrote only the beginning of what piton wrote last fell: what is missing
/// is known.
fn make_whole(
    native: &impl NativeFile,
    file: &mut SyncedFile,
    bytes: &[u8],
) -> Result<Looked, Fault> {
    let whole = file.base().unwrap_or_default();
    let positions = file.stamp().positions.clone();
    file.accept(bytes)?;
    if file.put(whole.as_bytes(), positions, None)? == Put::Overtaken {
        return Ok(Looked {
            standing: Standing::Overtaken,
            ..Looked::default()
        });
    }
    let path = native.path();
    Ok(Looked {
        news: vec![News::Told(format!(
            "{path} was cut short, and is whole again"
        ))],
        ..Looked::default()
    })
}

/// Asks about a version that cannot be read.
fn ask<F: NativeFile>(
    native: &mut F,
    file: &SyncedFile,
    problems: &[Problem],
) -> Result<Looked, Fault> {
    let (question, ways) = native.question(file);
    let redactor = native.session().world.redactor();
    let details = redactor.redact(&in_lines(problems)).into_owned();
    ask_about(native, question, Some(details), ways)
}

/// Asks a person about the file.
pub(super) fn ask_about(
    native: &impl NativeFile,
    question: String,
    details: Option<String>,
    ways: Vec<Way>,
) -> Result<Looked, Fault> {
    let path = native.path();
    let committed = commit(
        native,
        &Command::AskAboutFile {
            run: native.run(),
            path: path.to_owned(),
            question,
            details,
            ways,
        },
    )?;
    Ok(Looked::asked(path, &committed.events))
}

/// Answers the question about the file, if there is one.
pub(super) fn settle(native: &impl NativeFile, why: &str) -> Result<Looked, Fault> {
    if !native.is_asked() {
        return Ok(Looked::default());
    }
    let command = Command::SettleFile {
        run: native.run(),
        path: native.path().to_owned(),
        why: why.to_owned(),
    };
    Ok(Looked {
        taken: !commit(native, &command)?.events.is_empty(),
        ..Looked::default()
    })
}

/// Carries out a command in the name of the file.
pub(super) fn commit(native: &impl NativeFile, command: &Command) -> Result<Committed, Fault> {
    Ok(native.session().commit(command, &facts(native))?)
}

/// What commands in the name of the file bring with them.
pub(super) fn facts(native: &impl NativeFile) -> Facts {
    Facts {
        actor: Actor::File(native.path().to_owned()),
        ..native.session().facts_of_run(native.run(), native.holder())
    }
}

/// Whether an attempt of the project is open: what stands in a file then may be an
/// agent's.
pub(super) fn is_at_work(session: &Session<'_>) -> Result<bool, Failure> {
    let rows = session.load(&[Need::OpenAttempts(None)])?;
    Ok(rows.tables.open_attempts().next().is_some())
}

/// Whether an attempt is open of which no runner is known to be gone: its agent may
/// still work.
pub(super) fn is_alive_at_work(session: &Session<'_>) -> Result<bool, Failure> {
    let rows = session.load(&[Need::OpenAttempts(None)])?;
    let runs: BTreeSet<RunId> = rows.tables.open_attempts().map(|row| row.run).collect();
    for run in runs {
        if !matches!(session.holder(run)?, HolderKnown::Gone(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the branch that is checked out has no such file, while others have.
pub(super) fn is_absent(native: &impl NativeFile, file: &mut SyncedFile) -> io::Result<bool> {
    branches::is_absent(&native.session().project, native.path(), file)
}

/// Carries out what a person decided about the file. The version that is kept
/// beside it, if one is.
pub(super) fn decide<F: NativeFile>(
    native: &mut F,
    file: &mut SyncedFile,
    row: &DecisionRow,
    verb: Verb,
) -> Result<Option<PathBuf>, Fault> {
    let Ok(bytes) = fs::read(file.target()) else {
        // It was taken away: there is nothing to keep.
        return Ok(None);
    };
    let version = native.read(file, &bytes);
    let Some(way) = row.way(verb).or_else(|| way_of(verb, version.is_ok())) else {
        // The store says what fits.
        return Ok(None);
    };
    if !native.may_be_decided(file, &bytes, way)? {
        return Ok(None);
    }
    match (way, version) {
        (Way::FileHolds, Ok(version)) => {
            native.take_as_decided(file, &bytes, version, Holds::File)?;
            file.accept(&bytes)?;
            Ok(None)
        }
        (Way::Merged, Ok(version)) => {
            let kept = keep_beside(native.session(), file.target(), &bytes)?;
            native.take_as_decided(file, &bytes, version, Holds::Piton)?;
            file.accept(&bytes)?;
            Ok(Some(kept))
        }
        (Way::FileHolds | Way::Merged, Err(problems)) => Err(native.cannot_take(&problems).into()),
        (Way::PitonHolds, version) => native.put_own(file, &bytes, version.ok()).map(Some),
        (Way::LeftAlone, version) => {
            native.leave_alone(version.err().as_deref().unwrap_or_default())?;
            Ok(None)
        }
        (Way::Retired | Way::FollowedOn, _) => Ok(None),
    }
}

/// What a verb comes to in a question that does not say.
fn way_of(verb: Verb, is_readable: bool) -> Option<Way> {
    match verb {
        Verb::KeepFile if is_readable => Some(Way::FileHolds),
        Verb::KeepFile => Some(Way::LeftAlone),
        Verb::KeepPiton => Some(Way::PitonHolds),
        Verb::Merge => Some(Way::Merged),
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

/// Nobody decides about a version that they have not seen.
pub(super) fn changed_meanwhile(file: &str) -> Failure {
    Failure::new(
        "file.conflict",
        format!("{file} was changed a moment ago: nothing is decided"),
    )
    .hint("see what it is about now with `piton inbox`")
}
