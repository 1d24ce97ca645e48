//! The file of a plan, kept up to date beside the journal.
//!
//! A runner and the commands of people write the same file. A writer holds the lock of
//! its stamp. A process that knows less of the run than the file already shows writes
//! nothing.

pub(crate) mod at_rest;
mod import;
mod notices;
mod pace;
pub(crate) mod typed;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_core::checkout::Checkout;
use piton_core::command::EditAuthor;
use piton_core::{
    AttemptId, Command, DecisionKind, DecisionRow, ItemRow, ItemState, Key, Need, Node, RunId,
    RunRow, RunState, StreamId, Tables, Verb,
};
use piton_formats::merge::{MergeVersions, merge_preferring_ours};
use piton_formats::plan_file::{PlanFile, ShownRun};
use piton_formats::plan_format::{PlanFolder, PlanPlace};
use piton_formats::registry::plan_format;

use self::import::PlanFileImport;
pub(crate) use self::notices::{
    describe_claimed_item as claimed_in_words, describe_done_by_old_checks,
};
use self::pace::WritePace;
use super::branches::{self, BranchOrigin};
use super::exchange::{DisplacedCopy, stage};
use super::news::FileNotice;
use super::plan_file_owner::{has_other_plan, stamp_key};
pub use super::sync::ImportOutcome;
use super::sync::{self, FileWritability, SyncFault, apply_decision as decide_about};
use super::synced_file::{FlushScope, PresentFile, StatFingerprint, SyncedFile, WriteOutcome};
use crate::failure::{Failure, outside_failure};
use crate::git;
use crate::git::history::{self, HistoryCaching};
use crate::project::Project;
use crate::project::inside::{OutsideLink, read_beside};
use crate::session::Session;
use crate::world::input;

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
    pace: WritePace,
    behind: bool,
    /// The text that piton wrote last without looking at what was there.
    plain: Option<String>,
    project: Project,
    /// Whether it was reported that the file could not be written.
    told: bool,
    /// What the system said of the version that a person is asked about: it is
    /// not read again as long as neither it nor the run has changed.
    waits: Option<StatFingerprint>,
    /// The last attempt, while what it wrote is at work: a check of its run, or
    /// the hook of a commit.
    pub(crate) at_work: Option<AttemptId>,
    /// Whether the file is left alone while git changes the work tree. Where all
    /// that an agent started has ended, a lock of git is that of the dead.
    pub(crate) waits_for_git: bool,
    /// Whether an agent works, or is about to: then the file must not hinder an agent
    /// that changes the branch.
    pub(crate) gives_way: bool,
    /// It waits for that.
    in_the_way: bool,
    /// The branch that was checked out when it was to be written does not have it.
    is_absent: bool,
    /// Whether that was told, since the file was there last.
    told_of_absence: bool,
    /// Whether it stays as it is until the run has landed.
    waits_for_landing: bool,
    /// How many elements the list beside it has from this run, as far as known.
    listed: usize,
    /// Whether it was reported that this list could not be added to.
    told_of_list: bool,
}

/// The copy of the file of a plan in the lane of a unit, after an attempt there.
pub(crate) struct LanePlanCopy<'c> {
    /// The unit, and the token with which it took the lane.
    pub(crate) taken: (&'c Node, u64),
    /// The attempt that may have changed it.
    pub(crate) attempt: AttemptId,
    /// The version that was read before.
    pub(crate) base: &'c str,
    /// The version that is there.
    pub(crate) now: &'c [u8],
}

fn unwritable_failure(error: &io::Error) -> Failure {
    match OutsideLink::of_error(error) {
        Some(link) => outside_failure(link),
        None => Failure::new("file.unwritable", error.to_string()),
    }
}

/// Notes that the file of a run is this, which was taken in: it may be replaced.
///
/// # Errors
///
/// When the stamp cannot be kept.
pub fn adopt_plan_file(
    project: &Project,
    run: RunId,
    target: &Path,
    present: &[u8],
) -> io::Result<()> {
    let mut file = SyncedFile::open(project, &stamp_key(run), target, FlushScope::Stamp)?;
    file.with_lock(|file| file.accept_version(present))
}

/// The file of a run, with what lies beside it; none for a run that has no plan in a file.
pub(crate) fn open_plan_file(project: &Project, tables: &Tables, run: RunId) -> Option<PlanFile> {
    let mut plan = PlanFile::of_run(tables, run)?;
    let folder = PlanFile::folder_of_run(tables.run(run)?);
    plan.set_beside(PlanFolder {
        path: project.absolute_path(folder),
        read: read_beside,
    });
    Some(plan)
}

impl PlanSync {
    /// The file of a run; none for a run without a file.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn open(session: &Session<'_>, row: &RunRow, tables: &Tables) -> io::Result<Option<Self>> {
        let (Some(plan), Some(path)) = (
            open_plan_file(&session.project, tables, row.id),
            PlanFile::path_of_run(row),
        ) else {
            return Ok(None);
        };
        let target = session.project.absolute_path(&path);
        // It will be in lanes as soon as a runner works on it.
        let begins_in_lanes =
            row.plan.policy.has_several_repositories() && row.branches.lanes.is_none();
        let has_branch = branches::unlanded_target_branch(&session.project, row).is_some();
        let waits_for_landing =
            (has_branch || begins_in_lanes) && session.project.is_tracked(&path);
        Ok(Some(Self {
            run: row.id,
            path,
            file: SyncedFile::open(
                &session.project,
                &stamp_key(row.id),
                &target,
                FlushScope::Stamp,
            )?,
            plan,
            bytes: 0,
            pace: WritePace::default(),
            behind: true,
            plain: None,
            project: session.project.with_run_worktree(row),
            told: false,
            waits: None,
            at_work: None,
            waits_for_git: true,
            gives_way: false,
            in_the_way: false,
            is_absent: false,
            told_of_absence: false,
            waits_for_landing,
            listed: 0,
            told_of_list: false,
        }))
    }

    /// Tells the plan what was done elsewhere, and which marks came along.
    fn set_done_elsewhere(&mut self, elsewhere: Vec<Node>) {
        let base = self.file.read_base().filter(|_| !elsewhere.is_empty());
        self.plan.set_done_elsewhere(elsewhere);
        if let Some(base) = base {
            let file = self.project.path_in_work_tree(&self.path);
            let work_tree = &self.project.work_tree;
            let committed = || git::committed_text(work_tree, &file?);
            self.plan.set_carried_marks(&base, committed);
        }
    }

    /// The items that were done in work that this branch does not have, where
    /// each branch has its own file.
    fn items_done_off_branch(&self, tables: &Tables) -> Vec<Node> {
        let Some(here) = git::read_checkout(&self.project.work_tree) else {
            return Vec::new();
        };
        let gone = &self.file.stamp().gone;
        let is_gone = |row: &&ItemRow| {
            let since = gone.get(row.node.as_str()).copied();
            row.work.commits.is_empty() && since.is_some() && row.completed_at == since
        };
        let mut nodes = history::items_done_elsewhere(
            &self.project,
            &here,
            tables,
            self.run,
            HistoryCaching::Yes,
        );
        let gone = tables.items(self.run).filter(is_gone);
        nodes.extend(gone.map(|row| row.node.clone()));
        let matters = !nodes.is_empty() && self.project.is_tracked(&self.path);
        if matters { nodes } else { Vec::new() }
    }

    /// The items that are done and have no mark in the file unless it has one: those
    /// that were done elsewhere; and where a commit is checked out without a branch,
    /// what was done on one. A change would keep git from switching back.
    fn items_without_mark(&self, tables: &Tables) -> Vec<Node> {
        let mut nodes = self.items_done_off_branch(tables);
        let here = git::read_checkout(&self.project.work_tree);
        if here.is_some_and(|here| here.branch.is_none()) && self.project.is_tracked(&self.path) {
            let on_branch = |row: &&ItemRow| {
                let on = row.work.done_on.as_ref().and_then(|on| on.branch.as_ref());
                row.state == ItemState::Done && on.is_some()
            };
            let more = tables.items(self.run).filter(on_branch);
            nodes.extend(more.map(|row| row.node.clone()));
        }
        nodes
    }

    /// Whether the file says nothing beyond its committed version but what piton
    /// wrote into it.
    pub(crate) fn has_only_own_changes(
        &mut self,
        committed: &str,
        tables: &Tables,
        now: Timestamp,
    ) -> bool {
        if !matches!(self.plan.format().finding.place, PlanPlace::File) {
            return self.file.has_only_own_changes_since(committed);
        }
        self.set_done_elsewhere(self.items_without_mark(tables));
        let Ok(present) = input::read_file_text(self.file.target_path()) else {
            return false;
        };
        let written_at = (self.plan.format().finding.time_of_text)(&present).unwrap_or(now);
        let shown = self.plan.render(Some(committed), tables, written_at);
        shown.is_ok_and(|shown| shown == Some(present))
    }

    /// The items that were done in work that what is checked out does not have, by
    /// git and by the file.
    pub(crate) fn items_done_elsewhere(&mut self, here: &Checkout, tables: &Tables) -> Vec<Node> {
        if !self.project.is_tracked(&self.path) {
            return history::items_committed_elsewhere(
                &self.project,
                here,
                tables,
                self.run,
                HistoryCaching::Yes,
            );
        }
        let elsewhere = self.items_done_off_branch(tables);
        let text = input::read_file_text(self.file.target_path()).ok();
        self.set_done_elsewhere(elsewhere);
        self.plan.done_elsewhere(tables, &[text.as_deref()])
    }

    /// The file.
    #[must_use]
    pub fn target_path(&self) -> &Path {
        self.file.target_path()
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
    pub fn remove_leftovers(&mut self) -> io::Result<()> {
        self.file.with_lock(|file| {
            file.restore_interrupted()?;
            file.drain_displaced()
                .into_iter()
                .for_each(DisplacedCopy::remove);
            // A version that was not put back is another writer's: it stays.
            file.remove_leftovers(|_| Ok::<_, io::Error>(false))
        })
    }

    /// Notes that the run has changed.
    pub fn mark_behind(&mut self) {
        self.behind = true;
        self.waits = None;
    }

    /// Whether it was not written because an agent may need it as it is committed.
    pub(crate) fn is_blocking_checkout(&self) -> bool {
        self.in_the_way
    }

    /// Tells that what was begun at a time is over, so that large files follow slower.
    pub fn record_write_end(&mut self, began: Timestamp, now: Timestamp) {
        self.pace.record_end(began, now);
    }

    /// Imports what another writer changed in the file, if there is anything.
    /// `token` is that of the runner that asks.
    ///
    /// # Errors
    ///
    /// When the store fails. What cannot be read or taken in is asked about.
    pub fn import_changes(
        &mut self,
        session: &Session<'_>,
        tables: &Tables,
        token: Option<u64>,
    ) -> Result<ImportOutcome, Failure> {
        if self.file.has_interrupted_exchange() {
            self.remove_leftovers()
                .map_err(|error| unwritable_failure(&error))?;
        }
        let there = StatFingerprint::of_path(self.file.target_path());
        let waits = there.is_some() && there == self.waits;
        // What is asked about a file that is piton's is to be settled.
        let is_settled = !self.has_open_question(tables) && !self.file.has_held_conflict();
        let is_quiet = !self.file.may_be_foreign() && is_settled;
        if waits || is_quiet {
            return Ok(ImportOutcome::default());
        }
        let at_work = self.at_work;
        let (file, mut look) = self.begin_import(session, tables, token);
        let looked = file.with_lock::<_, SyncFault>(|file| {
            // Before the file is read: what stands in it then may be an agent's.
            look.word = look.find_edit_author(at_work)?;
            let looked = sync::import_changes(&mut look, file)?;
            if look.is_other_branch && looked.standing == FileWritability::Level {
                look.record_uncommitted_done(file)?;
            }
            // What came out went back into its place, and is looked at there.
            file.drain_displaced()
                .into_iter()
                .for_each(DisplacedCopy::remove);
            Ok(looked)
        });
        let mut looked = looked.map_err(|fault| fault.into_file_failure(&self.path))?;
        if looked.standing == FileWritability::Special && std::mem::replace(&mut self.told, true) {
            looked.news.clear();
        }
        if looked.taken || !looked.news.is_empty() {
            self.behind = true;
            self.plain = None;
        }
        let waits = matches!(
            looked.standing,
            FileWritability::Asked | FileWritability::Held | FileWritability::Special
        );
        self.waits = there.filter(|_| waits);
        Ok(looked)
    }

    /// Imports what was changed in the copy of the file in a lane. Only the agent of the
    /// lane writes that copy, so its marks and edits are that agent's.
    ///
    /// # Errors
    ///
    /// When the store fails. What cannot be read or does not fit counts for nothing.
    pub(crate) fn import_from_lane(
        &mut self,
        session: &Session<'_>,
        token: u64,
        copy: &LanePlanCopy<'_>,
    ) -> Result<ImportOutcome, Failure> {
        // What was found in the file itself a moment ago is among them.
        let mut tables = load_plan_rows(session, self.run, &[])?;
        remove_open_agent_edits(&mut tables, self.run);
        let done = tables.items(self.run);
        let done = done.filter(|row| row.state == ItemState::Done);
        self.plan
            .set_done_elsewhere(done.map(|row| row.node.clone()).collect());
        let word = EditAuthor::MaybeAgent {
            attempt: copy.attempt,
            criteria: self.plan.format().is_one_file(),
            in_lane: true,
        };
        let mut look = PlanFileImport {
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
        let taken = look.import_lane_copy(copy);
        taken.map_err(|fault| fault.into_file_failure(&self.path))
    }

    /// The file, and the import of what another writer changed in it.
    fn begin_import<'a, 's>(
        &'a mut self,
        session: &'a Session<'s>,
        tables: &'a Tables,
        token: Option<u64>,
    ) -> (&'a mut SyncedFile, PlanFileImport<'a, 's>) {
        let here = git::read_checkout(&self.project.work_tree);
        let origin = branches::find_branch_origin(&self.project, &self.path, &self.file);
        let is_other_branch = origin != BranchOrigin::Same;
        self.set_done_elsewhere(self.items_without_mark(tables));
        let look = PlanFileImport {
            session,
            tables,
            run: self.run,
            path: &self.path,
            plan: &mut self.plan,
            token,
            word: EditAuthor::File,
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
    pub fn write_if_due(
        &mut self,
        tables: &Tables,
        position: u64,
        now: Timestamp,
    ) -> Option<FileNotice> {
        if !self.behind || !self.pace.is_due(self.bytes, now) {
            return None;
        }
        self.write_now(tables, position, now)
    }

    /// Writes the file now, whatever its size: at a stop, or as a heartbeat.
    /// What another writer wrote in the meantime stays, to be looked at first.
    pub fn write_now(
        &mut self,
        tables: &Tables,
        position: u64,
        now: Timestamp,
    ) -> Option<FileNotice> {
        if self.has_open_question(tables) && !self.file.has_held_conflict() {
            return None;
        }
        if self.waits_for_landing {
            self.behind = false;
            return self.update_list_beside(tables);
        }
        let trouble = match self.write_unless_newer(tables, position, now) {
            Ok(put) => {
                self.behind = put == WriteOutcome::Overtaken;
                self.told &= self.behind;
                None
            }
            Err(error) => Some(FileNotice::sync_failed(
                self.file.target_path().display(),
                format!("{error}; once that is fixed, `piton files sync` writes it"),
            )),
        };
        let told_of_absence = std::mem::replace(&mut self.told_of_absence, self.is_absent);
        let absence = (self.is_absent && !told_of_absence).then(|| self.absence_notice(tables));
        self.pace.record_begin(now);
        // Why may be said in other words each time: with the name of a
        // temporary file.
        let trouble = trouble.filter(|_| !std::mem::replace(&mut self.told, true));
        let of_list = self.update_list_beside(tables);
        trouble.or(absence).or(of_list)
    }

    /// Has what keeps the file from being written told again: the last time is what holds.
    pub(crate) fn repeat_trouble(&mut self) {
        self.told = false;
    }

    fn absence_notice(&self, tables: &Tables) -> FileNotice {
        let (file, row) = (&self.path, tables.run(self.run));
        let name = row.map_or("", |row| row.name.as_str());
        FileNotice::Told(format!(
            "this branch has no {file}, and is not given one; run `{name}` goes on without it here"
        ))
    }

    /// Adds to the list beside the file; why that cannot be done, once.
    fn update_list_beside(&mut self, tables: &Tables) -> Option<FileNotice> {
        let of_list = self.append_to_list(tables).err();
        of_list.filter(|_| !std::mem::replace(&mut self.told_of_list, true))
    }

    /// Adds to the list beside the file what it lacks. It is written when no agent is
    /// at work: then no agent changes the branch.
    fn append_to_list(&mut self, tables: &Tables) -> Result<(), FileNotice> {
        let format = tables
            .run(self.run)
            .and_then(|row| plan_format(&row.plan.face));
        let Some(list) = format.and_then(|format| format.list_beside) else {
            return Ok(());
        };
        let count = (list.count)(tables, self.run);
        if self.gives_way || count <= self.listed {
            return Ok(());
        }
        let target = self.file.target_path().with_file_name(list.name);
        let run = self.run;
        let path = self.project.relative_path(&target);
        let refused = |error| FileNotice::sync_failed(&path, error);
        let target = self.project.resolve_inside(&target).map_err(refused)?;
        if self.waits_for_landing && self.project.is_tracked(&path) {
            return Ok(());
        }
        // Another process may add to it at the same time.
        let added = self.file.with_lock(|_| {
            let present = match input::read_file_text(&target) {
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
            let is_same = input::read_file_text(&target).ok() == present;
            if is_same {
                staged.exchange()?;
            }
            Ok(is_same)
        });
        if added.map_err(|error| FileNotice::sync_failed(target.display(), error))? {
            self.listed = count;
        }
        Ok(())
    }

    /// The file, if a person is asked what is to become of it.
    #[must_use]
    pub fn asked_file_path(&self, tables: &Tables) -> Option<&str> {
        self.has_open_question(tables).then_some(self.path.as_str())
    }

    fn has_open_question(&self, tables: &Tables) -> bool {
        tables
            .open_decisions(self.run)
            .any(|row| row.file.as_deref() == Some(&self.path))
    }

    /// Puts the text into the file, unless what is there knows more of the run.
    fn write_unless_newer(
        &mut self,
        tables: &Tables,
        position: u64,
        now: Timestamp,
    ) -> io::Result<WriteOutcome> {
        let not_to_tick = self.items_without_mark(tables);
        // Marks that the file has of what was done elsewhere stay.
        let goes_by_marks = !not_to_tick.is_empty();
        self.set_done_elsewhere(not_to_tick);
        let (run, gives_way) = (self.run, self.gives_way);
        let Self {
            file,
            plan,
            plain,
            bytes,
            project,
            path,
            in_the_way,
            is_absent,
            ..
        } = self;
        let path = path.as_str();
        let mut update = PlanFileUpdate {
            plan,
            plain,
            bytes,
            shown: ShownRun {
                file: path,
                tables,
                run,
            },
            position,
            now,
            goes_by_marks,
        };
        file.with_lock(|file| {
            let written = file.stamp().positions.get(STREAM).copied().unwrap_or(0);
            if written > position {
                return Ok(WriteOutcome::Done);
            }
            *in_the_way = gives_way && branches::is_blocking_checkout(project, path, file)?;
            if *in_the_way {
                // It is written when the agent has ended.
                return Ok(WriteOutcome::Overtaken);
            }
            let found = file.read_present()?;
            let is_held = found == PresentFile::Ours && file.has_held_conflict();
            *is_absent = found == PresentFile::Missing
                && branches::is_absent_on_branch(project, path, file)?;
            if *is_absent {
                return Ok(WriteOutcome::Done);
            }
            let present = match found {
                PresentFile::Foreign(_) => return Ok(WriteOutcome::Overtaken),
                PresentFile::Missing => file.read_base(),
                // Why was told where it was looked at.
                PresentFile::Special(_) => return Ok(WriteOutcome::Overtaken),
                PresentFile::Ours => Some(input::read_file_text(file.target_path())?),
            };
            if !is_held && update.is_landed_version(present.as_deref()) {
                // What landed is committed as it is.
                return Ok(WriteOutcome::Done);
            }
            match present.as_deref().filter(|_| is_held) {
                Some(present) => update.write_beside_held(file, present),
                None => update.write_whole(file, present.as_deref()),
            }
        })
    }
}

/// What the file of a plan is written with, under the lock of its stamp.
struct PlanFileUpdate<'a> {
    plan: &'a mut PlanFile,
    /// As in [`PlanSync`].
    plain: &'a mut Option<String>,
    bytes: &'a mut usize,
    shown: ShownRun<'a>,
    /// How many events of the run the rows know.
    position: u64,
    now: Timestamp,
    /// Whether marks that the file has stay.
    goes_by_marks: bool,
}

impl PlanFileUpdate<'_> {
    fn positions(&self) -> BTreeMap<String, u64> {
        BTreeMap::from([(STREAM.to_owned(), self.position)])
    }

    /// Whether a text shows a run in lanes that is done, as it is.
    fn is_landed_version(&mut self, present: Option<&str>) -> bool {
        let ShownRun { tables, run, .. } = self.shown;
        let row = tables.run(run);
        row.is_some_and(|row| row.branches.lanes.is_some() && row.state == RunState::Done)
            && present.is_some_and(|text| self.plan.is_current_in(text, tables, self.now))
    }

    /// Writes what is new beside the part that stays as another writer wrote it.
    fn write_beside_held(
        &mut self,
        file: &mut SyncedFile,
        present: &str,
    ) -> io::Result<WriteOutcome> {
        *self.plain = None;
        let Some(next) = merge_beside_held(self.plan, file, present, self.shown, self.now) else {
            return Ok(WriteOutcome::Done);
        };
        *self.bytes = next.text.len();
        let put = file.write_beside_held(next.text.as_bytes(), &next.own, self.positions())?;
        file.drain_displaced()
            .into_iter()
            .for_each(DisplacedCopy::remove);
        Ok(put)
    }

    fn write_whole(
        &mut self,
        file: &mut SyncedFile,
        present: Option<&str>,
    ) -> io::Result<WriteOutcome> {
        let (tables, now) = (self.shown.tables, self.now);
        // What piton wrote in its own style is written anew, which is faster
        // than to change it in place, and comes to the same.
        let in_place =
            present.filter(|text| self.goes_by_marks || self.plain.as_deref() != Some(*text));
        let shown = self
            .plan
            .render(in_place, tables, now)
            .map_err(io::Error::other)?;
        let Some(text) = shown else {
            return Ok(WriteOutcome::Done);
        };
        *self.bytes = text.len();
        let is_plain = in_place.is_none()
            || self.plan.render(None, tables, now).ok().flatten().as_ref() == Some(&text);
        if present == Some(text.as_str()) && file.target_path().is_file() {
            *self.plain = is_plain.then_some(text);
            if file.is_of_other_branch() {
                // From now on it is the file of this one.
                file.record_positions(file.stamp().positions.clone())?;
            }
            return Ok(WriteOutcome::Done);
        }
        let put = file.write_version(text.as_bytes(), self.positions(), None)?;
        // What came out went back into its place, and is looked at there.
        file.drain_displaced()
            .into_iter()
            .for_each(DisplacedCopy::remove);
        *self.plain = (is_plain && put == WriteOutcome::Done).then_some(text);
        Ok(put)
    }
}

/// The next version of a file of which a part stays as another writer wrote it./// The next version of a file of which a part stays as another writer wrote it.
struct PartialPlanUpdate {
    /// The file.
    text: String,
    /// The file without that part.
    own: String,
}

/// What a file is to say of a run beside the part that stays as it is; none where
/// nothing of it changes, and where that part cannot be told from the rest.
fn merge_beside_held(
    plan: &mut PlanFile,
    file: &SyncedFile,
    present: &str,
    shown: ShownRun<'_>,
    now: Timestamp,
) -> Option<PartialPlanUpdate> {
    let base = file.read_base()?;
    let own = plan.render(Some(&base), shown.tables, now).ok()??;
    let versions = MergeVersions {
        base: &base,
        ours: present,
        theirs: &own,
    };
    let text = merge_preferring_ours(shown.file, versions)?;
    if text == present && own == base {
        return None;
    }
    let mut differs = |own: &str, text: &str| plan.collect_edits(Some(own), text, shown, now).ok();
    let (before, after) = (differs(&base, present)?, differs(&own, &text)?);
    after
        .is_subset_of(&before)
        .then_some(PartialPlanUpdate { text, own })
}

/// Takes out of rows what a person is asked about: a file that no other writer changed
/// says what is in force.
pub(crate) fn remove_open_agent_edits(tables: &mut Tables, run: RunId) {
    let asked = tables.open_decisions(run);
    let asked = asked.filter(|row| row.kind == DecisionKind::AgentEdit);
    let asked: Vec<Key> = asked.map(|row| Key::Decision(row.id)).collect();
    for key in asked {
        tables.remove(&key);
    }
}

/// The rows that the file of a run is made of and compared with, and what else is
/// needed of it.
///
/// # Errors
///
/// When the store fails.
pub(crate) fn load_plan_rows(
    session: &Session<'_>,
    run: RunId,
    more: &[Need],
) -> Result<Tables, Failure> {
    let needs = [Need::Run(run), Need::Tree(run), Need::Decisions(run)];
    let mut needs = [&needs, more].concat();
    let tables = session.load(&needs)?.tables;
    let row = tables.run(run);
    let shows_attempts = row.and_then(|row| plan_format(&row.plan.face));
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
pub(super) fn recheck_asked_file(session: &Session<'_>, run: RunId) -> Result<(), Failure> {
    let tables = load_plan_rows(session, run, &[])?;
    let Some(row) = tables.run(run) else {
        return Ok(());
    };
    if !session.is_shown_in_plan_file(row)? {
        return settle_superseded_questions(session, row);
    }
    let sync = PlanSync::open(session, row, &tables).map_err(|error| unwritable_failure(&error))?;
    match sync {
        Some(mut sync) => sync.import_changes(session, &tables, None).map(drop),
        None => Ok(()),
    }
}

/// Carries out what a person decided about the file of a run.
///
/// # Errors
///
/// When what was decided does not fit the file, or it cannot be written.
pub(super) fn apply_decision(
    session: &Session<'_>,
    row: &DecisionRow,
    verb: Verb,
    why: Option<&str>,
) -> Result<Option<PathBuf>, Failure> {
    let position = session.store.event_count(&StreamId::of_run(row.run))?;
    let tables = &load_plan_rows(session, row.run, &[])?;
    let opened = match tables.run(row.run) {
        Some(row) => PlanSync::open(session, row, tables),
        None => Ok(None),
    };
    let Some(mut sync) = opened.map_err(|error| unwritable_failure(&error))? else {
        return Ok(None);
    };
    let (file, mut look) = sync.begin_import(session, tables, None);
    look.position = position;
    look.word = EditAuthor::Person {
        decision: row.id,
        why: why.map(str::to_owned),
    };
    let decided = file.with_lock(|file| decide_about(&mut look, file, row, verb));
    decided.map_err(|fault| fault.into_file_failure(&sync.path))
}

/// Settles what was asked about the file of a run that another run of the plan
/// has now.
///
/// # Errors
///
/// When the store fails.
pub(crate) fn settle_superseded_questions(
    session: &Session<'_>,
    row: &RunRow,
) -> Result<(), Failure> {
    let rows = session.load(&[Need::OpenDecisions(Some(row.id))])?;
    let files = rows.tables.open_decisions(row.id);
    let files: Vec<String> = files.filter_map(|asked| asked.file.clone()).collect();
    for path in files {
        session.execute_command(&Command::SettleFile {
            run: row.id,
            path,
            why: "the plan was begun anew from the file as it stands".to_owned(),
        })?;
    }
    Ok(())
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
    let file = PlanFile::path_of_run(row).filter(|_| has_other_plan(&session.project, row));
    let Some(file) = file else { return Ok(None) };
    let told = notices::other_plan_notice(row, &file).to_string();
    Ok(session.is_shown_in_plan_file(row)?.then_some((told, file)))
}
