//! The file of a plan, kept up to date beside the journal.
//!
//! A runner and the commands of people write the same file. Who writes holds
//! the lock of its stamp, and whoever knows less of the run than was written
//! already writes nothing.

mod look;
mod pace;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_core::checkout::Checkout;
use piton_core::command::Word;
use piton_core::{
    AttemptId, Command, DecisionKind, DecisionRow, ItemRow, ItemState, Key, Need, Node, RunId,
    RunRow, RunState, StreamId, Tables, Verb,
};
use piton_formats::merge::{Versions, merge_preferring_ours};
use piton_formats::plan_file::{PlanFile, Shown};
use piton_formats::plan_format::PlanPlace;
use piton_formats::registry::plan_format;
use piton_store::Store as _;

use self::look::PlanLook;
use self::pace::Pace;
pub(crate) use self::words::{claimed as claimed_in_words, done_by_old_checks};
use super::branches::{self, Origin};
use super::exchange::{Copied, stage};
use super::news::News;
pub use super::sync::Looked;
use super::sync::{self, Fault, Standing, decide as decide_about};
use super::synced_file::{Flush, Look, Present, Put, SyncedFile, is_last_version, last_version};
use crate::failure::Failure;
use crate::git;
use crate::history::{self, Keeps};
use crate::project::Project;
use crate::session::Session;

/// The one stream that the file of a plan shows.
const STREAM: &str = "run";

/// The file of the plan of one run.
#[derive(Debug)]
pub struct PlanSync {
    run: RunId,
    /// The file, relative to the project.
    path: String,
    file: SyncedFile,
    plan: PlanFile,
    bytes: usize,
    pace: Pace,
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
    /// Whether an agent works, or is about to: then the file does not come into the
    /// way of whoever changes the branch.
    pub(crate) gives_way: bool,
    /// It waits for that.
    in_the_way: bool,
    /// Whether it stays as it is until the run has landed.
    waits_for_landing: bool,
    /// How many elements the list beside it has from this run, as far as known.
    listed: usize,
    /// Whether somebody was told that this list could not be added to.
    told_of_list: bool,
}

/// The copy of the file of a plan in the lane of a unit, after an attempt there.
pub(crate) struct LaneCopy<'c> {
    /// The unit, and the token with which it took the lane.
    pub(crate) taken: (&'c Node, u64),
    /// The attempt that may have changed it.
    pub(crate) attempt: AttemptId,
    /// The version that was read before.
    pub(crate) base: &'c str,
    /// The version that is there.
    pub(crate) now: &'c [u8],
}

/// What piton wrote of the file of a run: where that is kept.
fn key(run: RunId) -> String {
    run.to_string()
}

fn unwritable(error: &io::Error) -> Failure {
    Failure::new("file.unwritable", error.to_string())
}

/// Notes that the file of a run is this, which was taken in: it may be replaced.
///
/// # Errors
///
/// When the stamp cannot be kept.
pub fn adopt(home: &Path, run: RunId, target: &Path, present: &[u8]) -> io::Result<()> {
    let mut file = SyncedFile::open(home, &key(run), target, Flush::Stamp)?;
    file.locked(|file| file.accept(present))
}

impl PlanSync {
    /// The file of a run; none for a run without a file.
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
        // It will be in lanes as soon as somebody works on it.
        let begins_in_lanes = row.policy.has_several_repositories() && row.lanes.is_none();
        let has_branch = branches::branch_to_land(&session.project, row).is_some();
        let waits_for_landing =
            (has_branch || begins_in_lanes) && session.project.is_tracked(&path);
        Ok(Some(Self {
            run: row.id,
            path,
            file: SyncedFile::open(home, &key(row.id), &target, Flush::Stamp)?,
            plan,
            bytes: 0,
            pace: Pace::default(),
            behind: true,
            plain: None,
            project: session.project.of_run(row),
            told: false,
            waits: None,
            at_work: None,
            waits_for_git: true,
            gives_way: false,
            in_the_way: false,
            waits_for_landing,
            listed: 0,
            told_of_list: false,
        }))
    }

    /// Tells the plan what was done elsewhere, and which marks came along.
    fn set_elsewhere(&mut self, elsewhere: Vec<Node>) {
        let base = self.file.base().filter(|_| !elsewhere.is_empty());
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
        let gone = &self.file.stamp().gone;
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
            return self.file.is_own_since(committed);
        }
        self.set_elsewhere(self.not_to_tick(tables));
        let Ok(present) = fs::read_to_string(self.file.target()) else {
            return false;
        };
        let written_at = (self.plan.format().time_of_text)(&present).unwrap_or(now);
        let shown = self.plan.show(Some(committed), tables, written_at);
        shown.is_ok_and(|shown| shown == Some(present))
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
        let text = fs::read_to_string(self.file.target()).ok();
        self.set_elsewhere(elsewhere);
        self.plan.done_elsewhere(tables, &[text.as_deref()])
    }

    /// The file.
    #[must_use]
    pub fn target(&self) -> &Path {
        self.file.target()
    }

    /// The file, relative to the project.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether piton has written the file, or taken it over, before.
    #[must_use]
    pub fn was_written(&self) -> bool {
        !self.file.stamp().is_new()
    }

    /// Whether the branch that is checked out does not have the file, while others do.
    #[must_use]
    pub fn is_absent_here(&self) -> bool {
        self.file.is_absent_here()
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
        self.file.locked(|file| {
            file.put_back_left()?;
            file.take_displaced().into_iter().for_each(Copied::remove);
            // A version that nobody put back is somebody's: it stays.
            file.tidy(|_| Ok::<_, io::Error>(false))
        })
    }

    /// Notes that the run has changed.
    pub fn mark(&mut self) {
        self.behind = true;
        self.waits = None;
    }

    /// Whether it was not written because an agent may need it as it is committed.
    pub(crate) fn is_in_the_way(&self) -> bool {
        self.in_the_way
    }

    /// Tells that what was begun at a time is over, so that large files follow slower.
    pub fn end_write(&mut self, began: Timestamp, now: Timestamp) {
        self.pace.end(began, now);
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
        if self.file.has_left() {
            self.tidy().map_err(|error| unwritable(&error))?;
        }
        let there = Look::at(self.file.target());
        let waits = there.is_some() && there == self.waits;
        // What is asked about a file that is piton's is to be settled.
        let is_settled = !self.is_asked(tables) && !self.file.is_held();
        let is_quiet = !self.file.may_be_foreign() && is_settled;
        if waits || is_quiet {
            return Ok(Looked::default());
        }
        let at_work = self.at_work;
        let (file, mut look) = self.looking(session, tables, token);
        let looked = file.locked::<_, Fault>(|file| {
            // Before the file is read: what stands in it then may be an agent's.
            look.word = look.who(at_work)?;
            let looked = sync::look(&mut look, file)?;
            if look.is_other_branch && looked.standing == Standing::Level {
                look.note_gone(file)?;
            }
            // What came out went back into its place, and is looked at there.
            file.take_displaced().into_iter().for_each(Copied::remove);
            Ok(looked)
        });
        let looked = looked.map_err(|fault| fault.of_file(&self.path))?;
        if looked.taken || !looked.news.is_empty() {
            self.behind = true;
            self.plain = None;
        }
        let waits = matches!(looked.standing, Standing::Asked | Standing::Held);
        self.waits = there.filter(|_| waits);
        Ok(looked)
    }

    /// Takes in what was changed in the copy of the file in a lane. That copy is
    /// written by nobody else, and its marks and edits are an agent's.
    ///
    /// # Errors
    ///
    /// When the store fails. What cannot be read or does not fit counts for nothing.
    pub(crate) fn take_from_lane(
        &mut self,
        session: &Session<'_>,
        token: u64,
        copy: &LaneCopy<'_>,
    ) -> Result<Looked, Failure> {
        // What was found in the file itself a moment ago is among them.
        let mut tables = rows_of_plan(session, self.run, &[])?;
        leave_out_doubts(&mut tables, self.run);
        let done = tables.items(self.run);
        let done = done.filter(|row| row.state == ItemState::Done);
        self.plan
            .set_elsewhere(done.map(|row| row.node.clone()).collect());
        let word = Word::MaybeAgent {
            attempt: copy.attempt,
            criteria: self.plan.format().is_one_file(),
            in_lane: true,
        };
        let mut look = PlanLook {
            session,
            tables: &tables,
            run: self.run,
            path: &self.path,
            plan: &mut self.plan,
            token: Some(token),
            word,
            is_other_branch: false,
            position: 0,
            heeds_git: false,
            here: None,
            shows_doubts: true,
        };
        let taken = look.take_copy(copy);
        taken.map_err(|fault| fault.of_file(&self.path))
    }

    /// The file, and the look at what somebody else wrote into it.
    fn looking<'a, 's>(
        &'a mut self,
        session: &'a Session<'s>,
        tables: &'a Tables,
        token: Option<u64>,
    ) -> (&'a mut SyncedFile, PlanLook<'a, 's>) {
        let here = git::checked_out(&self.project.work_tree);
        let origin = branches::origin_of(&self.project, &self.path, &self.file);
        let is_other_branch = origin != Origin::Same;
        self.set_elsewhere(self.not_to_tick(tables));
        let look = PlanLook {
            session,
            tables,
            run: self.run,
            path: &self.path,
            plan: &mut self.plan,
            token,
            word: Word::File,
            is_other_branch,
            position: 0,
            heeds_git: self.waits_for_git,
            here,
            shows_doubts: !self.waits_for_landing,
        };
        (&mut self.file, look)
    }

    /// Writes the file if it is behind and its time has come. `tables` know
    /// the events of the run up to `position`.
    pub fn follow(&mut self, tables: &Tables, position: u64, now: Timestamp) -> Option<News> {
        if !self.behind || !self.pace.is_due(self.bytes, now) {
            return None;
        }
        self.write(tables, position, now)
    }

    /// Writes the file now, whatever its size: at a stop, or as a heartbeat.
    /// What somebody else wrote in the meantime stays, to be looked at first.
    pub fn write(&mut self, tables: &Tables, position: u64, now: Timestamp) -> Option<News> {
        if self.is_asked(tables) && !self.file.is_held() {
            return None;
        }
        if self.waits_for_landing {
            self.behind = false;
            return self.tell_of_list(tables);
        }
        let trouble = match self.put(tables, position, now) {
            Ok(put) => {
                self.behind = put == Put::Overtaken;
                self.told = false;
                None
            }
            Err(error) => Some(News::behind(self.file.target().display(), error)),
        };
        self.pace.begin(now);
        // Why may be said in other words each time: with the name of a
        // temporary file.
        let trouble = trouble.filter(|_| !std::mem::replace(&mut self.told, true));
        let of_list = self.tell_of_list(tables);
        trouble.or(of_list)
    }

    /// Adds to the list beside the file; why that cannot be done, once.
    fn tell_of_list(&mut self, tables: &Tables) -> Option<News> {
        let of_list = self.add_to_list(tables).err();
        of_list.filter(|_| !std::mem::replace(&mut self.told_of_list, true))
    }

    /// Adds to the list beside the file what it lacks. It is written when no
    /// agent is at work: then nobody changes the branch.
    fn add_to_list(&mut self, tables: &Tables) -> Result<(), News> {
        let format = tables.run(self.run).and_then(|row| plan_format(&row.face));
        let Some(list) = format.and_then(|format| format.list_beside) else {
            return Ok(());
        };
        let count = (list.count)(tables, self.run);
        if self.gives_way || count <= self.listed {
            return Ok(());
        }
        let target = self.file.target().with_file_name(list.name);
        let run = self.run;
        let path = self.project.relative(&target);
        if self.waits_for_landing && self.project.is_tracked(&path) {
            return Ok(());
        }
        // Another process may add to it at the same time.
        let added = self.file.locked(|_| {
            let present = match fs::read_to_string(&target) {
                Ok(text) => Some(text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            let next = (list.with_new)(present.as_deref(), tables, run);
            let Some(next) = next.map_err(io::Error::other)? else {
                return Ok(true);
            };
            let staged = stage(&target, next.as_bytes())?;
            // Who saved it in between has not seen what is added.
            let is_same = fs::read_to_string(&target).ok() == present;
            if is_same {
                staged.exchange()?;
            }
            Ok(is_same)
        });
        if added.map_err(|error| News::behind(target.display(), error))? {
            self.listed = count;
        }
        Ok(())
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
        let not_to_tick = self.not_to_tick(tables);
        // Marks that the file has of what was done elsewhere stay.
        let goes_by_marks = !not_to_tick.is_empty();
        self.set_elsewhere(not_to_tick);
        let (run, gives_way) = (self.run, self.gives_way);
        let Self {
            file,
            plan,
            plain,
            bytes,
            project,
            path,
            in_the_way,
            ..
        } = self;
        file.locked(|file| {
            let written = file.stamp().positions.get(STREAM).copied().unwrap_or(0);
            if written > position {
                return Ok(Put::Done);
            }
            *in_the_way = gives_way && branches::is_in_the_way(project, path, file)?;
            if *in_the_way {
                // It is written when the agent has ended.
                return Ok(Put::Overtaken);
            }
            let found = file.present()?;
            let is_held = found == Present::Ours && file.is_held();
            let present = match found {
                Present::Foreign(_) => return Ok(Put::Overtaken),
                Present::Missing if branches::is_absent(project, path, file)? => {
                    return Ok(Put::Done);
                }
                Present::Missing => file.base(),
                Present::Special => None,
                Present::Ours => Some(fs::read_to_string(file.target())?),
            };
            let run_row = tables.run(run);
            if run_row.is_some_and(|row| row.lanes.is_some() && row.state == RunState::Done)
                && present
                    .as_deref()
                    .is_some_and(|text| !is_held && plan.is_shown_in(text, tables, now))
            {
                // What landed is committed as it is.
                return Ok(Put::Done);
            }
            let positions = BTreeMap::from([(STREAM.to_owned(), position)]);
            if let Some(present) = present.as_deref().filter(|_| is_held) {
                *plain = None;
                let shown = Shown {
                    file: path,
                    tables,
                    run,
                };
                let Some(next) = beside_held(plan, file, present, shown, now) else {
                    return Ok(Put::Done);
                };
                *bytes = next.text.len();
                let put = file.put_held(next.text.as_bytes(), &next.own, positions)?;
                file.take_displaced().into_iter().for_each(Copied::remove);
                return Ok(put);
            }
            // What piton wrote in its own style is written anew, which is faster
            // than to change it in place, and comes to the same.
            let in_place = present
                .as_deref()
                .filter(|text| goes_by_marks || plain.as_deref() != Some(*text));
            let shown = plan.show(in_place, tables, now).map_err(io::Error::other)?;
            let Some(text) = shown else {
                return Ok(Put::Done);
            };
            *bytes = text.len();
            let is_plain = in_place.is_none()
                || plan.show(None, tables, now).ok().flatten().as_ref() == Some(&text);
            if present.as_ref() == Some(&text) && file.target().is_file() {
                *plain = is_plain.then_some(text);
                if file.is_of_other_branch() {
                    // From now on it is the file of this one.
                    file.note(file.stamp().positions.clone())?;
                }
                return Ok(Put::Done);
            }
            let put = file.put(text.as_bytes(), positions, None)?;
            // What came out went back into its place, and is looked at there.
            file.take_displaced().into_iter().for_each(Copied::remove);
            *plain = (is_plain && put == Put::Done).then_some(text);
            Ok(put)
        })
    }
}

/// The next version of a file of which a part stays as somebody else wrote it.
struct BesideHeld {
    /// The file.
    text: String,
    /// The file without that part.
    own: String,
}

/// What a file is to say of a run beside the part that stays as it is; none where
/// nothing of it changes, and where that part cannot be told from the rest.
fn beside_held(
    plan: &mut PlanFile,
    file: &SyncedFile,
    present: &str,
    shown: Shown<'_>,
    now: Timestamp,
) -> Option<BesideHeld> {
    let base = file.base()?;
    let own = plan.show(Some(&base), shown.tables, now).ok()??;
    let versions = Versions {
        base: &base,
        ours: present,
        theirs: &own,
    };
    let text = merge_preferring_ours(shown.file, versions)?;
    if text == present && own == base {
        return None;
    }
    let mut differs = |own: &str, text: &str| plan.edits(Some(own), text, shown, now).ok();
    let (before, after) = (differs(&base, present)?, differs(&own, &text)?);
    after
        .is_part_of(&before)
        .then_some(BesideHeld { text, own })
}

/// Takes out of rows what a person is asked about: a file into which nobody wrote
/// that says what is in force.
pub(crate) fn leave_out_doubts(tables: &mut Tables, run: RunId) {
    let asked = tables.open_decisions(run);
    let asked = asked.filter(|row| row.kind == DecisionKind::AgentEdit);
    let asked: Vec<Key> = asked.map(|row| Key::Decision(row.id)).collect();
    for key in asked {
        tables.take(&key);
    }
}

/// The rows that the file of a run is made of and compared with, and what else is
/// needed of it.
///
/// # Errors
///
/// When the store fails.
pub(crate) fn rows_of_plan(
    session: &Session<'_>,
    run: RunId,
    more: &[Need],
) -> Result<Tables, Failure> {
    let needs = [Need::Run(run), Need::Tree(run), Need::Decisions(run)];
    let mut needs = [&needs, more].concat();
    let tables = session.load(&needs)?.tables;
    let row = tables.run(run);
    let shows_attempts = row.and_then(|row| plan_format(&row.face));
    if !shows_attempts.is_some_and(|format| format.shows_attempts) {
        return Ok(tables);
    }
    needs.push(Need::AttemptsOf(run));
    Ok(session.load(&needs)?.tables)
}

/// Looks at the file of a run again that a person is asked about.
///
/// # Errors
///
/// When it cannot be read, or the store fails.
pub(super) fn look_again(session: &Session<'_>, run: RunId) -> Result<(), Failure> {
    let tables = rows_of_plan(session, run, &[])?;
    let Some(row) = tables.run(run) else {
        return Ok(());
    };
    if !session.keeps_its_file(row)? {
        return settle_superseded(session, row);
    }
    let sync = PlanSync::open(session, row, &tables).map_err(|error| unwritable(&error))?;
    match sync {
        Some(mut sync) => sync.look(session, &tables, None).map(drop),
        None => Ok(()),
    }
}

/// Carries out what a person decided about the file of a run.
///
/// # Errors
///
/// When what was decided does not fit the file, or it cannot be written.
pub(super) fn decide(
    session: &Session<'_>,
    row: &DecisionRow,
    verb: Verb,
    why: Option<&str>,
) -> Result<Option<PathBuf>, Failure> {
    let position = session.store.position(&StreamId::run(row.run))?;
    let tables = &rows_of_plan(session, row.run, &[])?;
    let opened = match tables.run(row.run) {
        Some(row) => PlanSync::open(session, row, tables),
        None => Ok(None),
    };
    let Some(mut sync) = opened.map_err(|error| unwritable(&error))? else {
        return Ok(None);
    };
    let (file, mut look) = sync.looking(session, tables, None);
    look.position = position;
    look.word = Word::Person {
        decision: row.id,
        why: why.map(str::to_owned),
    };
    let decided = file.locked(|file| decide_about(&mut look, file, row, verb));
    decided.map_err(|fault| fault.of_file(&sync.path))
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

/// That the file which shows a run holds another plan, and the file as it is typed;
/// none where it does not. Writes nothing.
///
/// # Errors
///
/// When the store cannot be read.
pub(crate) fn other_plan_in_file(
    session: &Session<'_>,
    row: &RunRow,
) -> Result<Option<(String, String)>, Failure> {
    let file = PlanFile::path(row).filter(|_| has_other_plan(&session.project, row));
    let Some(file) = file else { return Ok(None) };
    let told = words::holds_another_plan(row, &file).to_string();
    Ok(session.keeps_its_file(row)?.then_some((told, file)))
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
