//! The file of a plan, kept up to date beside the journal.
//!
//! The file is a view: losing it loses nothing. What somebody else wrote into
//! it is taken in before it is written again, as edits by that file. What
//! cannot be taken in is asked about, and the file stays as it is until then.
//!
//! A runner and the commands of people write the same file. Who writes holds
//! the lock of its stamp, and whoever knows less of the run than was written
//! already writes nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use piton_core::checkout::Checkout;
use piton_core::command::Word;
use piton_core::{
    Actor, AttemptId, Command, CommandId, DecisionKind, DecisionRow, Edit, Event, Facts,
    HolderKnown, ItemRow, ItemState, Need, Node, Recorded, RunId, RunRow, RunState, StreamId,
    Tables, Verb, Way,
};
use piton_formats::plan_file::{Changed, PlanFile};
use piton_formats::plan_format::PlanPlace;
use piton_formats::problem::Problem;
use piton_formats::registry::plan_format;
use piton_store::{CommitError, Committed, Store as _};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::fail;
use crate::failure::Failure;
use crate::history::{self, Keeps};
use crate::lies::Rule;
use crate::native_files::exchange::{Copied, sha256, sync_folder};
use crate::native_files::project_sync::{in_lines, is_cut_short};
use crate::native_files::synced_file::{
    Flush, Look, Present, Put, SyncedFile, is_last_version, last_version,
};
use crate::project::Project;
use crate::session::Session;
use crate::shell::quote;
use crate::{git, world};

/// Up to this size a file follows every change at once.
const SMALL_BYTES: usize = 256 << 10;
/// A larger one follows so much time after the last write, or ten times what that took.
const PAUSE_MIN: SignedDuration = SignedDuration::from_millis(300);
/// The one stream that the file of a plan shows.
const STREAM: &str = "run";
/// How long a file is left to whoever may be in the middle of writing it.
const READ_PAUSE: std::time::Duration = std::time::Duration::from_millis(40);

/// The mirror of one run.
#[derive(Debug)]
pub struct PlanSync {
    run: RunId,
    /// The file, relative to the project.
    path: String,
    keeper: SyncedFile,
    plan: PlanFile,
    bytes: usize,
    written_at: Option<Timestamp>,
    took: SignedDuration,
    behind: bool,
    /// The text that piton wrote last without looking at what was there.
    plain: Option<String>,
    project: Project,
    /// Whether somebody was told that the file could not be written.
    told: bool,
    /// What the system said of the version that a person is asked about: it is
    /// not read again as long as neither it nor the run has changed.
    waits: Option<Look>,
    /// The last attempt, while what it wrote is at work: a check of its run, or
    /// the hook of a commit.
    pub(crate) at_work: Option<AttemptId>,
    /// Whether the file is left alone while git changes the work tree. Where all
    /// that an agent started has ended, a lock of git is that of the dead.
    pub(crate) waits_for_git: bool,
}

/// Why the file could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The file.
    target: PathBuf,
    /// Why.
    why: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, why } = self;
        write!(f, "{} is not kept up to date: {why}", target.display())
    }
}

/// What came of looking at the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Events were stored that the caller does not know.
    pub taken: bool,
    /// What somebody should be told.
    pub said: Vec<String>,
    /// What somebody should look at.
    pub warned: Vec<String>,
    /// A person is asked about the version that is there, or it is left alone:
    /// it is not read again.
    asked: bool,
}

impl Looked {
    /// A person is asked, as these events say, or was before.
    fn asked(file: &str, events: &[Recorded]) -> Self {
        let is_question =
            |recorded: &Recorded| matches!(recorded.event, Event::DecisionOpened { .. });
        let is_new = events.iter().any(is_question);
        Self {
            taken: !events.is_empty(),
            warned: is_new.then(|| cannot_be_taken(file)).into_iter().collect(),
            asked: true,
            ..Self::default()
        }
    }
}

/// That a person is asked about a file from now on.
pub(crate) fn cannot_be_taken(file: &str) -> String {
    format!("{file} cannot be taken in and is left as it is; see `piton inbox`")
}

/// That a person was asked about a file, and has not answered.
pub(crate) fn still_asked(file: &str) -> String {
    format!("1 question about {file} waits, and the file is left as it is; see `piton inbox`")
}

/// A version of somebody else's of which not all could be taken in.
#[derive(Serialize, Deserialize)]
struct Asked {
    /// The version.
    seen: String,
    /// What of it was not taken in.
    left: Vec<Edit>,
    /// It holds another plan, of which nothing is taken in.
    #[serde(default)]
    is_other_plan: bool,
}

/// Whether an event says that the plan is another one.
fn is_plan_change(event: &Event) -> bool {
    matches!(
        event,
        Event::ItemPlanned(_)
            | Event::ItemChanged(_)
            | Event::ItemsPlaced(_)
            | Event::RunChanged(_)
    )
}

/// The item that an event says was claimed.
fn claimed_item(recorded: &Recorded) -> Option<Need> {
    let Event::ItemClaimed { run, node, .. } = &recorded.event else {
        return None;
    };
    Some(Need::Line(*run, node.clone()))
}

/// That an attempt at another item marked an item as done, and what to do.
pub(crate) fn claimed_in_words(item: &ItemRow, file: &str) -> String {
    let (node, check) = (&item.node, item.check_in_words());
    format!("{node} was ticked in {file}, {check}; to skip it: piton plan skip {node}")
}

/// What piton wrote of the file of a run: where that is kept.
fn key(run: RunId) -> String {
    run.to_string()
}

/// Notes that the file of a run is this, which was taken in: it may be replaced.
///
/// # Errors
///
/// When the stamp cannot be kept.
pub fn adopt(home: &Path, run: RunId, target: &Path, present: &[u8]) -> io::Result<()> {
    let mut keeper = SyncedFile::open(home, &key(run), target, Flush::Stamp)?;
    keeper.locked(|keeper| keeper.accept(present))
}

impl PlanSync {
    /// The mirror of a run; none for a run without a file.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn open(session: &Session<'_>, row: &RunRow, tables: &Tables) -> io::Result<Option<Self>> {
        let (Some(plan), Some(path)) = (PlanFile::of(tables, row.id), PlanFile::path(row)) else {
            return Ok(None);
        };
        let target = session.project.absolute(&path);
        let home = &session.project.home;
        Ok(Some(Self {
            run: row.id,
            path,
            keeper: SyncedFile::open(home, &key(row.id), &target, Flush::Stamp)?,
            plan,
            bytes: 0,
            written_at: None,
            took: SignedDuration::ZERO,
            behind: true,
            plain: None,
            project: session.project.clone(),
            told: false,
            waits: None,
            at_work: None,
            waits_for_git: true,
        }))
    }

    /// Whether git put another branch's version of the file here since piton wrote
    /// it: one that does not build on what piton wrote.
    fn is_of_other_branch(&self) -> bool {
        let keeper = &self.keeper;
        if !self.project.is_tracked(&self.path) {
            return false;
        }
        let has_grown = || history::has_grown_from(&self.project, &keeper.stamp().commit);
        if keeper.is_of_other_branch() && !has_grown() {
            return true;
        }
        // The branch that was left before piton looked, or what was stashed.
        let (Some(base), Ok(now)) = (keeper.base(), fs::read(keeper.target())) else {
            return false;
        };
        let since = &keeper.stamp().commit;
        history::went_along(&self.project, &self.path, (&base, since), &now)
    }

    /// Tells the plan what was done elsewhere, and which marks came along.
    fn set_elsewhere(&mut self, elsewhere: Vec<Node>) {
        let base = self.keeper.base().filter(|_| !elsewhere.is_empty());
        self.plan.set_elsewhere(elsewhere);
        if let Some(base) = base {
            let file = self.project.in_work_tree(&self.path);
            let work_tree = &self.project.work_tree;
            let committed = || git::committed_text(work_tree, &file?);
            self.plan.set_carried(&base, committed);
        }
    }

    /// The items that were done in work that this branch does not have, where
    /// each branch has its own file.
    fn elsewhere(&self, tables: &Tables) -> Vec<Node> {
        let Some(here) = git::checked_out(&self.project.work_tree) else {
            return Vec::new();
        };
        let gone = &self.keeper.stamp().gone;
        let is_gone = |row: &&ItemRow| {
            let since = gone.get(row.node.as_str()).copied();
            row.commits.is_empty() && since.is_some() && row.completed_at == since
        };
        let mut nodes =
            history::done_elsewhere(&self.project, &here, (tables, self.run), Keeps::Yes);
        let gone = tables.items(self.run).filter(is_gone);
        nodes.extend(gone.map(|row| row.node.clone()));
        let matters = !nodes.is_empty() && self.project.is_tracked(&self.path);
        if matters { nodes } else { Vec::new() }
    }

    /// The items that are done and have no mark in the file unless it has one: those
    /// that were done elsewhere; and where somebody only looks at a commit, with no
    /// branch, what was done on one. A change would stand in their way back.
    fn not_to_tick(&self, tables: &Tables) -> Vec<Node> {
        let mut nodes = self.elsewhere(tables);
        let here = git::checked_out(&self.project.work_tree);
        if here.is_some_and(|here| here.branch.is_none()) && self.project.is_tracked(&self.path) {
            let on_branch = |row: &&ItemRow| {
                let on = row.done_on.as_ref().and_then(|on| on.branch.as_ref());
                row.state == ItemState::Done && on.is_some()
            };
            let more = tables.items(self.run).filter(on_branch);
            nodes.extend(more.map(|row| row.node.clone()));
        }
        nodes
    }

    /// Whether the file says nothing beyond its committed version but what piton
    /// wrote into it.
    pub(crate) fn is_own_change(
        &mut self,
        committed: &str,
        tables: &Tables,
        now: Timestamp,
    ) -> bool {
        if !matches!(self.plan.format().place, PlanPlace::File) {
            return self.keeper.is_own_since(committed);
        }
        self.set_elsewhere(self.not_to_tick(tables));
        let shown = self.plan.show(Some(committed), tables, now);
        let present = fs::read_to_string(self.keeper.target()).ok();
        shown.ok().flatten() == present
    }

    /// The items that were done in work that what is checked out does not have, by
    /// git and by the file.
    pub(crate) fn done_elsewhere(&mut self, here: &Checkout, tables: &Tables) -> Vec<Node> {
        if !self.project.is_tracked(&self.path) {
            return history::committed_elsewhere(
                &self.project,
                here,
                (tables, self.run),
                Keeps::Yes,
            );
        }
        let elsewhere = self.elsewhere(tables);
        let text = fs::read_to_string(self.keeper.target()).ok();
        self.set_elsewhere(elsewhere);
        self.plan.done_elsewhere(tables, &[text.as_deref()])
    }

    /// The file.
    #[must_use]
    pub fn target(&self) -> &Path {
        self.keeper.target()
    }

    /// The file, relative to the project.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether piton has written the file, or taken it over, before.
    #[must_use]
    pub fn was_written(&self) -> bool {
        !self.keeper.stamp().is_new()
    }

    /// Whether the branch that is checked out does not have the file, while others do.
    #[must_use]
    pub fn is_absent_here(&self) -> bool {
        self.keeper.is_absent_here()
    }

    /// Takes away what a crash in the middle of a write left beside the file.
    ///
    /// To be called when no other run keeps this file up to date.
    /// What came out of an exchange and is not piton's is put back: that is
    /// what the dead was about to do.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read, or something in it cannot be removed.
    pub fn tidy(&mut self) -> io::Result<()> {
        self.keeper.locked(|keeper| {
            keeper.put_back_left()?;
            keeper.take_displaced().into_iter().for_each(Copied::remove);
            // A version that nobody put back is somebody's: it stays.
            keeper.tidy(|_| Ok::<_, io::Error>(false))
        })
    }

    /// Notes that the run has changed.
    pub fn mark(&mut self) {
        self.behind = true;
        self.waits = None;
    }

    /// Tells how long the last write took, so that large files follow slower.
    pub fn took(&mut self, time: SignedDuration) {
        self.took = time;
    }

    /// Whether its time has come: a small file follows every change.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        if self.bytes <= SMALL_BYTES {
            return true;
        }
        let pause = PAUSE_MIN.max(self.took.saturating_mul(10));
        self.written_at
            .is_none_or(|last| now.duration_since(last) >= pause)
    }

    /// Takes in what somebody else wrote into the file, if anybody did.
    /// `token` is that of the runner that asks.
    ///
    /// # Errors
    ///
    /// When the store fails. What cannot be read or taken in is asked about.
    pub fn look(
        &mut self,
        session: &Session<'_>,
        tables: &Tables,
        token: Option<u64>,
    ) -> Result<Looked, Failure> {
        if self.keeper.has_left() {
            let tidied = self.tidy();
            tidied.map_err(|error| Failure::new("file.unwritable", error.to_string()))?;
        }
        let there = Look::at(self.keeper.target());
        let waits = there.is_some() && there == self.waits;
        // What is asked about a file that is piton's is to be settled.
        let is_quiet = !self.keeper.may_be_foreign() && !self.is_asked(tables);
        // What git is about to put there is looked at when it is whole.
        let waits_for_git = self.waits_for_git
            && git::is_at_work(&self.project.work_tree)
            && self.project.is_tracked(&self.path);
        if waits || is_quiet || waits_for_git {
            return Ok(Looked::default());
        }
        let is_other_branch = self.is_of_other_branch();
        self.set_elsewhere(self.not_to_tick(tables));
        let Self {
            keeper,
            plan,
            path,
            run,
            at_work,
            ..
        } = self;
        let taking = Taking {
            is_other_branch,
            session,
            tables,
            run: *run,
            path,
            token,
            at_work: *at_work,
        };
        let looked = keeper.locked(|keeper| {
            let looked = taking.look(keeper, plan)?;
            if is_other_branch && !looked.asked {
                taking.note_gone(keeper, plan)?;
            }
            Ok(looked)
        });
        if looked.as_ref().is_ok_and(|looked| looked.taken) {
            self.behind = true;
            self.plain = None;
        }
        let asked = looked.as_ref().is_ok_and(|looked| looked.asked);
        self.waits = there.filter(|_| asked);
        looked.map_err(|Stopped(failure)| failure)
    }

    /// Writes the file if it is behind and its time has come. `tables` know
    /// the events of the run up to `position`.
    pub fn follow(&mut self, tables: &Tables, position: u64, now: Timestamp) -> Option<Trouble> {
        if !self.behind || !self.is_due(now) {
            return None;
        }
        self.write(tables, position, now)
    }

    /// Writes the file now, whatever its size: at a stop, or as a heartbeat.
    /// What somebody else wrote in the meantime stays, to be looked at first.
    pub fn write(&mut self, tables: &Tables, position: u64, now: Timestamp) -> Option<Trouble> {
        if self.is_asked(tables) {
            return None;
        }
        let trouble = match self.put(tables, position, now) {
            Ok(put) => {
                self.behind = put == Put::Overtaken;
                self.told = false;
                None
            }
            Err(error) => Some(Trouble {
                target: self.keeper.target().to_owned(),
                why: error.to_string(),
            }),
        };
        self.written_at = Some(now);
        // Why may be said in other words each time: with the name of a
        // temporary file.
        trouble.filter(|_| !std::mem::replace(&mut self.told, true))
    }

    /// The file, if a person is asked what is to become of it.
    #[must_use]
    pub fn file_asked_about(&self, tables: &Tables) -> Option<&str> {
        self.is_asked(tables).then_some(self.path.as_str())
    }

    fn is_asked(&self, tables: &Tables) -> bool {
        tables
            .open_decisions(self.run)
            .any(|row| row.file.as_deref() == Some(&self.path))
    }

    /// Puts the text into the file, unless what is there knows more of the run.
    fn put(&mut self, tables: &Tables, position: u64, now: Timestamp) -> io::Result<Put> {
        self.set_elsewhere(self.not_to_tick(tables));
        let Self {
            keeper,
            plan,
            plain,
            bytes,
            project,
            path,
            ..
        } = self;
        keeper.locked(|keeper| {
            let written = keeper.stamp().positions.get(STREAM).copied().unwrap_or(0);
            if written > position {
                return Ok(Put::Done);
            }
            let present = match keeper.present()? {
                Present::Foreign(_) => return Ok(Put::Overtaken),
                Present::Missing if history::is_absent(project, path, keeper)? => {
                    return Ok(Put::Done);
                }
                Present::Missing => keeper.base(),
                Present::Special => None,
                Present::Ours => Some(fs::read_to_string(keeper.target())?),
            };
            // What piton wrote in its own style is written anew, which is faster
            // than to change it in place, and comes to the same.
            let in_place = present
                .as_deref()
                .filter(|text| plain.as_deref() != Some(*text));
            let shown = plan.show(in_place, tables, now).map_err(io::Error::other)?;
            let Some(text) = shown else {
                return Ok(Put::Done);
            };
            *bytes = text.len();
            let is_plain = in_place.is_none()
                || plan.show(None, tables, now).ok().flatten().as_ref() == Some(&text);
            if present.as_ref() == Some(&text) && keeper.target().is_file() {
                *plain = is_plain.then_some(text);
                if keeper.is_of_other_branch() {
                    // From now on it is the file of this one.
                    keeper.note(keeper.stamp().positions.clone())?;
                }
                return Ok(Put::Done);
            }
            let positions = BTreeMap::from([(STREAM.to_owned(), position)]);
            let put = keeper.put(text.as_bytes(), positions, None)?;
            // What came out went back into its place, and is looked at there.
            keeper.take_displaced().into_iter().for_each(Copied::remove);
            *plain = (is_plain && put == Put::Done).then_some(text);
            Ok(put)
        })
    }
}

/// Looks at the file of a run again that a person is asked about: what is there
/// now may be another version.
///
/// # Errors
///
/// When it cannot be read, or the store fails.
pub(crate) fn look_again(session: &Session<'_>, run: RunId) -> Result<(), Failure> {
    let needs = [
        Need::Run(run),
        Need::Tree(run),
        Need::OpenDecisions(Some(run)),
    ];
    let rows = session.load(&needs)?;
    let Some(row) = rows.tables.run(run) else {
        return Ok(());
    };
    if !session.keeps_its_file(row)? {
        return settle_superseded(session, row);
    }
    let mirror = PlanSync::open(session, row, &rows.tables)
        .map_err(|error| Failure::new("file.unwritable", error.to_string()))?;
    match mirror {
        Some(mut mirror) => mirror.look(session, &rows.tables, None).map(drop),
        None => Ok(()),
    }
}

/// Carries out what a person decided about the file of a run. The version that
/// is kept beside it, if one is.
///
/// # Errors
///
/// When what was decided does not fit the file, or it cannot be written.
pub(crate) fn decide(
    session: &Session<'_>,
    row: &DecisionRow,
    (verb, why): (Verb, Option<&str>),
) -> Result<Option<PathBuf>, Failure> {
    let run = row.run;
    let position = session.store.position(&StreamId::run(run))?;
    let needs = [
        Need::Run(run),
        Need::Tree(run),
        Need::OpenDecisions(Some(run)),
    ];
    let rows = session.load(&needs)?;
    let tables = &rows.tables;
    let opened = match tables.run(run) {
        Some(row) => PlanSync::open(session, row, tables),
        None => Ok(None),
    };
    let unwritable = |error: &io::Error| Failure::new("file.unwritable", error.to_string());
    let Some(mut mirror) = opened.map_err(|error| unwritable(&error))? else {
        return Ok(None);
    };
    let is_other_branch = mirror.is_of_other_branch();
    mirror.set_elsewhere(mirror.not_to_tick(tables));
    let PlanSync {
        keeper, plan, path, ..
    } = &mut mirror;
    let taking = Taking {
        session,
        tables,
        run,
        path,
        token: None,
        at_work: None,
        is_other_branch,
    };
    let word = Word::Person {
        decision: row.id,
        why: why.map(str::to_owned),
    };
    let decided = keeper.locked(|keeper| taking.decided(keeper, plan, (verb, word), position));
    decided.map_err(|Stopped(failure)| failure)
}

/// Whether a question is about an edit as one that could not be taken.
fn names(question: &DecisionRow, edit: &Edit) -> bool {
    question.edits.iter().any(|asked| asked.is_like(edit))
}

fn names_any(question: &DecisionRow, edits: &[Edit]) -> bool {
    edits.iter().any(|edit| names(question, edit))
}

/// Which edits could not be taken, as a question says. One that names none of
/// them is about another version: all of them are told again.
fn left_of(edits: Vec<Edit>, question: &DecisionRow) -> Vec<Edit> {
    if !names_any(question, &edits) {
        return edits;
    }
    edits
        .into_iter()
        .filter(|edit| names(question, edit))
        .collect()
}

/// Settles what was asked about the file of a run that another run of the plan
/// has now.
///
/// # Errors
///
/// When the store fails.
pub(crate) fn settle_superseded(session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
    let rows = session.load(&[Need::OpenDecisions(Some(row.id))])?;
    let files = rows.tables.open_decisions(row.id);
    let files: Vec<String> = files.filter_map(|asked| asked.file.clone()).collect();
    for path in files {
        session.tell(&Command::SettleFile {
            run: row.id,
            path,
            why: "the plan was begun anew from the file as it stands".to_owned(),
        })?;
    }
    Ok(())
}

/// Whether a version is another plan than the one that piton wrote last.
fn is_other_plan(keeper: &SyncedFile, plan: &PlanFile, bytes: &[u8]) -> bool {
    let versions = keeper.base().zip(std::str::from_utf8(bytes).ok());
    versions.is_some_and(|(base, now)| plan.format().is_replaced(&base, now))
}

/// That a person put another plan into the file of a run, and what to type.
fn holds_another_plan(row: &RunRow, file: &str) -> String {
    let (name, run) = (&row.name, quote(&row.name));
    let begin = format!("begin that one with `piton run {}`", quote(file));
    if row.state == RunState::Done {
        format!("{file} holds another plan than run `{name}`, which is finished; {begin}")
    } else {
        format!(
            "{file} holds another plan than run `{name}`, which keeps what it has and rests; {begin}, or go on without the file with `piton resume {run}`"
        )
    }
}

/// The run whose plan stands in the file that `source` names: the last one of
/// that source, unless the file holds another plan than that run had written
/// into it; then the last one of which it does not. None where it holds a plan
/// that no run knows. Writes nothing.
pub(crate) fn run_of_file<'r>(
    project: &Project,
    runs: &'r [RunRow],
    source: &str,
) -> Option<&'r RunRow> {
    let mut of_source = runs.iter().rev().filter(|row| row.source == source);
    of_source.find(|row| !has_other_plan(project, row))
}

/// Whether the file of a run is, by what the system says of it, as piton wrote it
/// last. Reads no more than the stamp.
pub(crate) fn is_as_written(project: &Project, row: &RunRow) -> bool {
    let target = PlanFile::path(row).map(|path| project.absolute(&path));
    target.is_some_and(|target| is_last_version(&project.home, &key(row.id), &target))
}

fn has_other_plan(project: &Project, row: &RunRow) -> bool {
    let Some((format, path)) = plan_format(&row.face).zip(PlanFile::path(row)) else {
        return false;
    };
    if is_as_written(project, row) {
        return false;
    }
    let base = last_version(&project.home, &key(row.id));
    let now = fs::read_to_string(project.absolute(&path)).ok();
    base.zip(now)
        .is_some_and(|(base, now)| base != now && format.is_replaced(&base, &now))
}

/// What ended the taking in of a file.
struct Stopped(Failure);

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self(Failure::new("file.unreadable", error.to_string()))
    }
}

/// The file of a plan being taken in.
struct Taking<'a, 's, 'w> {
    session: &'a Session<'s>,
    tables: &'a Tables,
    run: RunId,
    path: &'w str,
    token: Option<u64>,
    at_work: Option<AttemptId>,
    /// What piton wrote last was the file of another branch.
    is_other_branch: bool,
}

impl Taking<'_, '_, '_> {
    fn look(&self, keeper: &mut SyncedFile, plan: &mut PlanFile) -> Result<Looked, Stopped> {
        // Before the file is read: what stands in it then may be an agent's.
        let word = self.word(plan)?;
        let mut present = keeper.present()?;
        let mut changed = self.found(keeper, plan, &present);
        let is_short = matches!(&present, Present::Foreign(bytes) if is_cut_short(keeper, bytes));
        if is_short || matches!(changed, Some(Err(_))) {
            // Somebody may be in the middle of writing it.
            world::pause(READ_PAUSE);
            present = keeper.present()?;
            changed = self.found(keeper, plan, &present);
        }
        match (present, changed) {
            (Present::Foreign(bytes), Some(Ok(_))) if is_cut_short(keeper, &bytes) => {
                self.make_whole(keeper, &bytes)
            }
            (Present::Foreign(bytes), Some(Ok(_))) if is_other_plan(keeper, plan, &bytes) => {
                self.leave_other_plan(keeper, &bytes, &word)
            }
            (Present::Foreign(bytes), Some(Ok(changed))) => {
                self.take(keeper, &bytes, changed, word)
            }
            (_, Some(Err(problems))) => self.ask(keeper, plan, &problems),
            // Whoever brought piton's own version back has answered.
            (Present::Ours, _) => self.settle("the file is as piton wrote it"),
            (Present::Missing, _) => self.settle("the file was taken away"),
            (Present::Special | Present::Foreign(_), _) => Ok(Looked::default()),
        }
    }

    /// What is done in work that nobody committed, and has no mark in the version
    /// that git put here, went along to the branch that was left: its mark is not
    /// written into this one.
    fn note_gone(&self, keeper: &mut SyncedFile, plan: &mut PlanFile) -> Result<(), Stopped> {
        let done = self.tables.items(self.run).filter(|row| {
            let is_done = row.is_leaf() && row.state == ItemState::Done;
            is_done && row.commits.is_empty()
        });
        plan.set_elsewhere(done.map(|row| row.node.clone()).collect());
        let text = fs::read_to_string(keeper.target()).ok();
        let gone = plan.done_elsewhere(self.tables, &[text.as_deref()]);
        let gone = gone.into_iter().filter_map(|node| {
            let since = self.tables.item(self.run, &node)?.completed_at?;
            Some((node.to_string(), since))
        });
        Ok(keeper.note_gone(gone.collect())?)
    }

    /// Whose word an edit is that is found now: while an attempt of the project
    /// is open, or runs what an agent may have written, it may be an agent's,
    /// else it is a person's.
    fn word(&self, plan: &PlanFile) -> Result<Word, Stopped> {
        let rows = self.session.load(&[Need::OpenAttempts(None)]);
        let rows = rows.map_err(Stopped)?;
        let holds = !Rule::Marks.is_off(self.session.world);
        let open = rows.tables.open_attempts().filter(|_| holds);
        let last = open.map(|row| row.id).max();
        Ok(match last.or(self.at_work) {
            _ if !holds => Word::File,
            Some(attempt) => Word::MaybeAgent {
                attempt,
                criteria: plan.format().is_one_file(),
            },
            None => Word::Hand {
                by: self.session.world.user().to_owned(),
            },
        })
    }

    /// Another plan stands in the file: it is left as it is. A person's is the
    /// plan of another run, and this one pauses: nothing is worked on any more
    /// that its plan may not want. Of one that may be an agent's a person is
    /// asked, and the run goes on with the items that it has.
    fn leave_other_plan(
        &self,
        keeper: &SyncedFile,
        bytes: &[u8],
        word: &Word,
    ) -> Result<Looked, Stopped> {
        let asked: Option<Asked> = keeper.remembered();
        let is_known =
            asked.is_some_and(|asked| asked.is_other_plan && asked.seen.as_bytes() == bytes);
        if is_known {
            return Ok(Looked {
                asked: true,
                ..Looked::default()
            });
        }
        let row = self.tables.run(self.run);
        let looked = match (word, row) {
            (Word::MaybeAgent { .. }, _) => {
                let command = Command::AskAboutFile {
                    run: self.run,
                    path: self.path.to_owned(),
                    question: format!(
                        "`{}` holds another plan, perhaps an agent's: which one holds?",
                        self.path
                    ),
                    details: None,
                    ways: vec![Way::LeftAlone, Way::PitonHolds],
                };
                let committed = self.commit(&command, &self.facts())?;
                Looked::asked(self.path, &committed.events)
            }
            (_, Some(row)) => {
                let settled = self.settle("the file holds another plan")?;
                let paused = self.pause()?;
                Looked {
                    taken: settled.taken || paused,
                    warned: vec![holds_another_plan(row, self.path)],
                    asked: true,
                    ..Looked::default()
                }
            }
            (_, None) => return Ok(Looked::default()),
        };
        keeper.remember(&Asked {
            seen: String::from_utf8_lossy(bytes).into_owned(),
            left: Vec::new(),
            is_other_plan: true,
        });
        Ok(looked)
    }

    /// Pauses the run, or asks its runner to. Whether there was anything to pause.
    fn pause(&self) -> Result<bool, Stopped> {
        let command = Command::AskPause { run: self.run };
        match self.session.commit(&command, &self.facts()) {
            Ok(_) => Ok(true),
            // It rests already: it waits, or is finished.
            Err(CommitError::Refused(_)) => Ok(false),
            Err(error) => Err(Stopped(error.into())),
        }
    }

    /// Whoever wrote only the beginning of what piton wrote last fell: what is
    /// missing is known.
    fn make_whole(&self, keeper: &mut SyncedFile, bytes: &[u8]) -> Result<Looked, Stopped> {
        let whole = keeper.base().unwrap_or_default();
        let positions = keeper.stamp().positions.clone();
        keeper.accept(bytes)?;
        keeper.put(whole.as_bytes(), positions, None)?;
        let file = self.path;
        Ok(Looked {
            said: vec![format!("{file} was cut short, and is whole again")],
            ..Looked::default()
        })
    }

    fn found(
        &self,
        keeper: &SyncedFile,
        plan: &mut PlanFile,
        present: &Present,
    ) -> Option<Result<Changed, Vec<Problem>>> {
        let Present::Foreign(bytes) = present else {
            return None;
        };
        Some(self.told(keeper, plan, bytes))
    }

    /// What the file says that was not taken in before. As long as a person is
    /// asked about the file it is not written, and what piton did since is
    /// nobody's edit: the version that was asked about is what it is compared
    /// with, and what is left of that is tried again.
    fn told(
        &self,
        keeper: &SyncedFile,
        plan: &mut PlanFile,
        bytes: &[u8],
    ) -> Result<Changed, Vec<Problem>> {
        if self.is_other_branch {
            return self.said_on_other_branch(plan, bytes);
        }
        let base = keeper.base();
        let remembered = keeper.remembered::<Asked>();
        let Some(Asked { seen, left, .. }) = remembered.filter(|asked| !asked.is_other_plan) else {
            return self.changed(plan, base.as_deref(), bytes);
        };
        if seen.as_bytes() == bytes {
            return Ok(Changed {
                edits: left,
                ..Changed::default()
            });
        }
        let mut changed = self.changed(plan, Some(&seen), bytes)?;
        let mut of_all = self.changed(plan, base.as_deref(), bytes)?.edits;
        // What was taken of a version that was asked about is not in the base.
        let text = std::str::from_utf8(bytes).ok();
        let shown = plan.show(text, self.tables, self.session.world.now());
        if let Some(shown) = shown.ok().flatten() {
            of_all.extend(self.changed(plan, Some(&shown), bytes)?.edits);
        }
        for edit in of_all {
            let is_left = left.iter().any(|left| left.is_like(&edit));
            if is_left && !changed.edits.contains(&edit) {
                changed.edits.push(edit);
            }
        }
        Ok(changed)
    }

    /// What the file of another branch says that nobody has said yet: more items,
    /// and marks. Its words may be older than those that hold.
    fn said_on_other_branch(
        &self,
        plan: &mut PlanFile,
        bytes: &[u8],
    ) -> Result<Changed, Vec<Problem>> {
        let mut changed = self.changed(plan, None, bytes)?;
        changed.edits.retain(|edit| {
            let is_mark = matches!(
                edit,
                Edit::SetState {
                    to: ItemState::Done,
                    ..
                }
            );
            is_mark || matches!(edit, Edit::Insert { .. })
        });
        Ok(changed)
    }

    /// What piton wrote last into the file of this branch.
    fn own_base(&self, keeper: &SyncedFile) -> Option<String> {
        keeper.base().filter(|_| !self.is_other_branch)
    }

    fn changed(
        &self,
        plan: &mut PlanFile,
        base: Option<&str>,
        bytes: &[u8],
    ) -> Result<Changed, Vec<Problem>> {
        let Ok(theirs) = std::str::from_utf8(bytes) else {
            return Err(vec![crate::native_files::project_sync::not_utf8(
                self.path, bytes,
            )]);
        };
        let now = self.session.world.now();
        plan.edits(self.path, base, theirs, self.tables, self.run, now)
    }

    fn facts(&self) -> Facts {
        Facts {
            actor: Actor::File(self.path.to_owned()),
            ..self.session.facts(self.holder())
        }
    }

    fn holder(&self) -> HolderKnown {
        match self.token {
            Some(_) => HolderKnown::Alive,
            None => self
                .session
                .holder(self.run)
                .unwrap_or(HolderKnown::Nothing),
        }
    }

    fn commit(&self, command: &Command, facts: &Facts) -> Result<Committed, Stopped> {
        let committed = self.session.commit(command, facts);
        committed.map_err(|error| Stopped(error.into()))
    }

    fn take_edits(&self, edits: Vec<Edit>, word: Word) -> Command {
        Command::TakeEdits {
            run: self.run,
            token: self.token,
            file: self.path.to_owned(),
            edits,
            word,
        }
    }

    fn take(
        &self,
        keeper: &mut SyncedFile,
        bytes: &[u8],
        changed: Changed,
        word: Word,
    ) -> Result<Looked, Stopped> {
        let has_base = self.own_base(keeper).is_some();
        let edits = self.with_presence(&changed, has_base);
        let Changed {
            problems, removed, ..
        } = changed;
        let may_be_agent = matches!(word, Word::MaybeAgent { .. });
        let asked: Option<Asked> = keeper.remembered();
        let is_known = asked.is_some_and(|asked| asked.seen.as_bytes() == bytes);
        let question = self.session.question_about(self.run, self.path);
        let is_asked = question
            .map_err(Stopped)?
            .is_some_and(|row| names_any(&row, &edits));
        if is_known && is_asked && self.fits_nothing(&edits)? {
            return Ok(Looked {
                asked: true,
                ..Looked::default()
            });
        }
        let id = self.id_of(keeper, (bytes, is_known), &edits);
        let command = self.take_edits(edits.clone(), word);
        let committed = self.session.commit_as(id, &command, &self.facts());
        let committed = committed.map_err(|error| Stopped(error.into()))?;
        // What is told a second time is known.
        let events = if committed.repeated {
            Vec::new()
        } else {
            committed.events
        };
        fail::point("mirror.edits-taken");
        let question = self.session.question_about(self.run, self.path);
        let question = question.map_err(Stopped)?;
        let of_all = edits.len();
        let left = question.map(|row| left_of(edits, &row));
        let taken = if may_be_agent {
            events
                .iter()
                .filter(|one| is_plan_change(&one.event))
                .count()
        } else {
            of_all - left.as_ref().map_or(0, Vec::len)
        };
        let mut looked = if let Some(left) = left {
            let seen = String::from_utf8_lossy(bytes).into_owned();
            keeper.remember(&Asked {
                seen,
                left,
                is_other_plan: false,
            });
            Looked::asked(self.path, &events)
        } else {
            keeper.accept(bytes)?;
            Looked {
                taken: !events.is_empty(),
                ..Looked::default()
            }
        };
        let file = self.path;
        looked.said = match taken {
            0 => Vec::new(),
            1 => vec![format!("took 1 edit of {file} in")],
            several => vec![format!("took {several} edits of {file} in")],
        };
        looked.said.extend(problems.iter().map(ToString::to_string));
        self.say_removed(&removed, &mut looked)?;
        self.say_agent_edits(&events, &mut looked)?;
        Ok(looked)
    }

    /// The edits, with those about items that stand in the file no more or again.
    /// Where it is not known what stood there, nothing was taken out.
    fn with_presence(&self, changed: &Changed, has_base: bool) -> Vec<Edit> {
        let mut edits = changed.edits.clone();
        let is_open = |node: &&Node| {
            let row = self.tables.item(self.run, node);
            row.is_some_and(|row| !row.state.is_finished())
        };
        let removed = changed.removed.iter().filter(|_| has_base);
        edits.extend(removed.filter(is_open).map(|node| Edit::SetPresent {
            node: node.clone(),
            present: false,
        }));
        let is_known_gone = |edit: &Edit| {
            let mut open = self.tables.open_decisions(self.run);
            let row = edit
                .about()
                .and_then(|node| self.tables.item(self.run, node));
            row.is_some_and(|row| row.state == ItemState::Dropped)
                || open.any(|row| row.edits.iter().any(|asked| asked.is_like(edit)))
        };
        let returned = changed.returned.iter().map(|node| Edit::SetPresent {
            node: node.clone(),
            present: true,
        });
        edits.extend(returned.filter(is_known_gone));
        edits
    }

    /// What became of items that stand in the file no more.
    fn say_removed(&self, removed: &[Node], looked: &mut Looked) -> Result<(), Stopped> {
        let lines = removed
            .iter()
            .map(|node| Need::Line(self.run, node.clone()));
        let rows = self.session.load(&lines.collect::<Vec<_>>());
        let tables = rows.map_err(Stopped)?.tables;
        let rows = removed
            .iter()
            .filter_map(|node| tables.item(self.run, node));
        let (dropped, others): (Vec<&ItemRow>, Vec<&ItemRow>) =
            rows.partition(|row| row.state == ItemState::Dropped);
        let (finished, stay): (Vec<&ItemRow>, Vec<&ItemRow>) =
            others.into_iter().partition(|row| row.state.is_finished());
        let names = |rows: &[&ItemRow]| {
            let names: Vec<String> = rows.iter().map(|row| format!("`{}`", row.node)).collect();
            names.join(", ")
        };
        let file = self.path;
        if !dropped.is_empty() {
            looked.said.push(format!(
                "dropped, because {file} has them no more: {}; what comes back into the file comes back",
                names(&dropped)
            ));
        }
        // A list is a person's, and lacks what they took out.
        let plan = PlanFile::of(self.tables, self.run);
        let shows_all = plan.is_some_and(|plan| !matches!(plan.format().place, PlanPlace::File));
        if !finished.is_empty() && shows_all {
            looked.said.push(format!(
                "finished, and in {file} again, which shows every item of the run: {}",
                names(&finished)
            ));
        }
        let is_asked = looked.asked || !looked.warned.is_empty();
        if !stay.is_empty() && !is_asked {
            looked.said.push(format!(
                "not in {file} any more, and still in the plan: {}; to leave one out, type `piton plan skip ITEM`",
                names(&stay)
            ));
        }
        Ok(())
    }

    /// What became of edits that may be an agent's.
    fn say_agent_edits(&self, events: &[Recorded], looked: &mut Looked) -> Result<(), Stopped> {
        let claimed: Vec<Need> = events.iter().filter_map(claimed_item).collect();
        let rows = self.session.load(&claimed).map_err(Stopped)?;
        let items = rows.tables.tree(self.run).filter(|item| item.is_claimed());
        looked
            .said
            .extend(items.map(|item| claimed_in_words(item, self.path)));
        let doubted = events.iter().filter_map(|one| {
            let Event::DecisionOpened {
                decision_kind: DecisionKind::AgentEdit,
                edits,
                ..
            } = &one.event
            else {
                return None;
            };
            Some(edits.len())
        });
        for count in doubted {
            let file = self.path;
            looked.warned.push(match count {
                1 => format!(
                    "an edit of {file} may be an agent's and is not in force; see `piton inbox`"
                ),
                count => format!(
                    "{count} edits of {file} may be an agent's and are not in force; see `piton inbox`"
                ),
            });
        }
        Ok(())
    }

    /// Whether none of what was left of a version can be taken in now either.
    fn fits_nothing(&self, edits: &[Edit]) -> Result<bool, Stopped> {
        let needs = piton_core::needs(&self.take_edits(Vec::new(), Word::File));
        let rows = self.session.load(&needs.rows).map_err(Stopped)?;
        let of = (self.run, self.token);
        let left = piton_core::edits_left(&rows, &self.facts(), of, self.path, edits);
        Ok(!edits.is_empty() && left.len() == edits.len())
    }

    /// The id under which these edits of this version are told: the first time,
    /// or when some of what was left fits. Whoever tells them again, because it
    /// is not known that they were, tells nothing: in between a person may have
    /// said something else.
    fn id_of(
        &self,
        keeper: &SyncedFile,
        (bytes, is_known): (&[u8], bool),
        edits: &[Edit],
    ) -> CommandId {
        let told = (
            self.run.to_string(),
            &keeper.stamp().after,
            (sha256(bytes), is_known),
            Look::at(keeper.target()),
            edits,
        );
        let told = serde_json::to_vec(&told).map(|told| sha256(&told));
        let id = told.ok().and_then(|told| Uuid::parse_str(&told[..32]).ok());
        CommandId(id.unwrap_or_else(|| self.session.world.id()))
    }

    fn ask(
        &self,
        keeper: &SyncedFile,
        plan: &mut PlanFile,
        problems: &[Problem],
    ) -> Result<Looked, Stopped> {
        let now = self.session.world.now();
        let own = plan.show(self.own_base(keeper).as_deref(), self.tables, now);
        let can_write = matches!(own, Ok(Some(_)));
        let command = Command::AskAboutFile {
            run: self.run,
            path: self.path.to_owned(),
            question: format!("`{}` cannot be read: which version holds?", self.path),
            details: Some(
                self.session
                    .world
                    .redactor()
                    .redact(&in_lines(problems))
                    .into_owned(),
            ),
            ways: can_write.then_some(Way::PitonHolds).into_iter().collect(),
        };
        let committed = self.commit(&command, &self.facts())?;
        Ok(Looked::asked(self.path, &committed.events))
    }

    /// There is nothing to ask about any more.
    fn settle(&self, why: &str) -> Result<Looked, Stopped> {
        let mut open = self.tables.open_decisions(self.run);
        if !open.any(|row| row.file.as_deref() == Some(self.path)) {
            return Ok(Looked::default());
        }
        let command = Command::SettleFile {
            run: self.run,
            path: self.path.to_owned(),
            why: why.to_owned(),
        };
        let committed = self.commit(&command, &self.facts())?;
        Ok(Looked {
            taken: !committed.events.is_empty(),
            ..Looked::default()
        })
    }
}

impl Taking<'_, '_, '_> {
    fn decided(
        &self,
        keeper: &mut SyncedFile,
        plan: &mut PlanFile,
        (verb, word): (Verb, Word),
        position: u64,
    ) -> Result<Option<PathBuf>, Stopped> {
        let Ok(bytes) = fs::read(keeper.target()) else {
            // It was taken away: there is nothing to keep.
            return Ok(None);
        };
        let asked: Option<Asked> = keeper.remembered();
        let is_other = asked.is_some_and(|asked| asked.seen.as_bytes() != bytes);
        if is_other && verb != Verb::KeepPiton {
            return Err(Stopped(changed_meanwhile(self.path)));
        }
        if is_other_plan(keeper, plan, &bytes) && verb != Verb::KeepPiton {
            // It is left as it is, for a run of its own.
            return Ok(None);
        }
        match (verb, self.told(keeper, plan, &bytes)) {
            (Verb::KeepPiton, _) => self.put_own(keeper, plan, &bytes, position).map(Some),
            (Verb::Merge, Ok(changed)) => {
                let kept = keep_beside(self.session, keeper.target())?;
                self.take(keeper, &bytes, changed, Word::File)?;
                keeper.accept(&bytes)?;
                Ok(Some(kept))
            }
            (Verb::KeepFile, Ok(changed)) => {
                let facts = self.session.facts(self.holder());
                self.commit(&self.take_edits(changed.edits, word), &facts)?;
                keeper.accept(&bytes)?;
                Ok(None)
            }
            (_, Err(problems)) => Err(Stopped(self.unreadable(&problems))),
            (_, Ok(_)) => Ok(None),
        }
    }

    fn unreadable(&self, problems: &[Problem]) -> Failure {
        let file = self.path;
        Failure::new(
            "file.conflict",
            format!("{file} cannot be read: {}", in_lines(problems)),
        )
        .hint(format!(
            "mend {file} by hand, then type `piton files sync`; or decide `keep-piton`: what is there now is kept beside it"
        ))
    }

    /// Writes the file as the journal has it; what was there is kept beside.
    fn put_own(
        &self,
        keeper: &mut SyncedFile,
        plan: &mut PlanFile,
        bytes: &[u8],
        position: u64,
    ) -> Result<PathBuf, Stopped> {
        let now = self.session.world.now();
        let theirs = std::str::from_utf8(bytes).ok();
        let base = self.own_base(keeper);
        let own = plan
            .show(base.as_deref().or(theirs), self.tables, now)
            .map_err(io::Error::other)?;
        let Some(own) = own else {
            let file = self.path;
            let message = format!("what piton wrote into {file} last is not known any more");
            let failure = Failure::new("file.conflict", message);
            return Err(Stopped(failure.hint(format!(
                "mend {file} by hand, then type `piton files sync`"
            ))));
        };
        let kept = keep_beside(self.session, keeper.target())?;
        keeper.accept(bytes)?;
        let positions = BTreeMap::from([(STREAM.to_owned(), position)]);
        keeper.put(own.as_bytes(), positions, None)?;
        Ok(kept)
    }
}

/// Nobody decides about a version that they have not seen.
pub(crate) fn changed_meanwhile(file: &str) -> Failure {
    Failure::new(
        "file.conflict",
        format!("{file} was changed a moment ago: nothing is decided"),
    )
    .hint("see what it is about now with `piton inbox`")
}

/// What gives way is kept beside a file, under a name with the time.
///
/// # Errors
///
/// When it cannot be read or the copy cannot be written.
pub(crate) fn keep_beside(session: &Session<'_>, target: &Path) -> io::Result<PathBuf> {
    let time = session.world.now().strftime("%Y%m%dT%H%M%SZ");
    keep_copy(target, &format!("before-piton-{time}"))
}

/// Keeps a copy of a file beside it under a name that is not taken:
/// `NAME.SUFFIX`, `NAME.SUFFIX.2` and so on. One that is there already is enough.
///
/// # Errors
///
/// When it cannot be read or the copy cannot be written.
pub fn keep_copy(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    let bytes = fs::read(path)?;
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for nth in 1_u32.. {
        let number = if nth == 1 {
            String::new()
        } else {
            format!(".{nth}")
        };
        let copy = path.with_file_name(format!("{name}.{suffix}{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&copy) {
            Ok(mut file) => {
                fail::point("run.copy-made");
                file.write_all(&bytes)?;
                file.sync_all()?;
                sync_folder(path.parent().unwrap_or(Path::new(".")))?;
                return Ok(copy);
            }
            // Of a crash since: there is a copy already.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::read(&copy).is_ok_and(|there| there == bytes) {
                    return Ok(copy);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
