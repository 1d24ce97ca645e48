//! What is done with a version of the file of a plan that another writer made.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use piton_core::checkout::Checkout;
use piton_core::command::EditAuthor;
use piton_core::gate::Gate;
use piton_core::{
    AttemptId, Command, CommandId, DecisionChoice, DecisionRow, DecodedRecord, Edit,
    HolderLiveness, ItemState, Need, Node, RunId, Tables, Verb,
};
use piton_formats::mark_origins::{self, DoneMarks};
use piton_formats::plan_file::{PlanChanges, PlanFile, ShownRun};
use piton_formats::problem::Problem;
use piton_store::CommitError;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{LanePlanCopy, STREAM, load_plan_rows, notices, remove_open_agent_edits};
use crate::failpoint;
use crate::failure::Failure;
use crate::git;
use crate::lies::EvidenceRule;
use crate::native_files::copies::store_timestamped_copy;
use crate::native_files::merged_marks::{self, MarkOrigins};
use crate::native_files::news::{not_utf8_problem, render_errors};
use crate::native_files::sync::{
    self, ConflictWinner, FileWritability, ImportOutcome, NativeFile, SyncFault,
    changed_meanwhile_failure, facts_of_file,
};
use crate::native_files::synced_file::{HeldConflictDetails, StatFingerprint, SyncedFile};
use crate::native_files::{FileNotice, branches};
use crate::process::shell::quote_word;
use crate::session::Session;
use crate::world::input;
use crate::world::input::sha256;

/// The file of a plan being looked at, under the lock of its stamp.
pub(super) struct PlanFileImport<'a, 's> {
    pub(super) session: &'a Session<'s>,
    pub(super) tables: &'a Tables,
    pub(super) run: RunId,
    pub(super) path: &'a str,
    pub(super) plan: &'a mut PlanFile,
    /// That of the runner that looks.
    pub(super) token: Option<u64>,
    /// Whose word an edit is.
    pub(super) word: EditAuthor,
    /// How many events of the run `tables` know.
    pub(super) position: u64,
    /// What piton wrote last was the file of another branch.
    pub(super) is_other_branch: bool,
    /// Whether a lock of git's index is held by a live process.
    pub(super) heeds_git: bool,
    /// What was checked out when the look began.
    pub(super) here: Option<Checkout>,
    /// Whether the file says what a person is asked about: not where it stood in a
    /// lane, and this one is not written.
    pub(super) shows_doubts: bool,
}

/// A version that holds another plan, of which nothing is taken in.
#[derive(Serialize, Deserialize)]
struct OtherPlanVersion {
    /// Its hash.
    seen: String,
    /// The person who wrote it, where that is known.
    by: Option<String>,
}

impl OtherPlanVersion {
    fn is_same_version(&self, bytes: &[u8]) -> bool {
        self.seen == sha256(bytes)
    }
}

impl NativeFile for PlanFileImport<'_, '_> {
    type Version = PlanChanges;

    fn session(&self) -> &Session<'_> {
        self.session
    }

    fn path(&self) -> &str {
        self.path
    }

    fn run(&self) -> RunId {
        self.run
    }

    fn has_open_question(&self) -> bool {
        let mut open = self.tables.open_decisions(self.run);
        open.any(|row| row.file.as_deref() == Some(self.path))
    }

    fn run_holder(&self) -> HolderLiveness {
        match self.token {
            Some(_) => HolderLiveness::Alive,
            None => self
                .session
                .holder_of_run(self.run)
                .unwrap_or(HolderLiveness::Nothing),
        }
    }

    fn should_heed_git_lock(&self) -> bool {
        self.heeds_git
    }

    fn was_checkout_switched(&self) -> bool {
        git::read_checkout(&self.session.project.work_tree) != self.here
    }

    /// What the file says otherwise than piton does: what a person was asked about
    /// stays in it, and is tried again.
    fn parse_version(
        &mut self,
        file: &SyncedFile,
        bytes: &[u8],
    ) -> Result<PlanChanges, Vec<Problem>> {
        match self.is_other_branch {
            true => self.additions_of_other_branch(bytes),
            false => self.diff_own_version(file, bytes),
        }
    }

    /// Another plan stands in the file: it is left as it is. A person's is the
    /// plan of another run, and this one pauses: nothing is worked on any more
    /// that its plan may not want. Of one that may be an agent's a person is
    /// asked, and the run goes on with the items that it has.
    fn skip_unrelated_version(
        &mut self,
        file: &SyncedFile,
        bytes: &[u8],
    ) -> Result<Option<ImportOutcome>, SyncFault> {
        if !self.is_other_plan(file, bytes) {
            return Ok(None);
        }
        let other: Option<OtherPlanVersion> = file.load_remembered();
        let row = self.tables.run(self.run);
        if let Some(other) = other.filter(|other| other.is_same_version(bytes)) {
            // A runner has said so, and looks often.
            let is_at_rest = self.token.is_none() && matches!(self.word, EditAuthor::Hand { .. });
            let told = row.filter(|_| other.by.is_some() && is_at_rest);
            return Ok(Some(ImportOutcome {
                news: told
                    .map(|row| notices::other_plan_notice(row, self.path))
                    .into_iter()
                    .collect(),
                ..ImportOutcome::with_pending_question()
            }));
        }
        let looked = match (&self.word, row) {
            (EditAuthor::MaybeAgent { .. }, _) => {
                let path = self.path;
                let question =
                    format!("`{path}` holds another plan, perhaps an agent's: which one holds?");
                let next = format!(
                    "after `keep-file`, `piton run {}` begins that plan, and this run is kept as it is",
                    quote_word(path)
                );
                let ways = vec![DecisionChoice::LeftAlone, DecisionChoice::PitonHolds];
                sync::ask_about_file(self, question, Some(next), ways)?
            }
            (_, Some(row)) => {
                let settled = sync::settle_question(self, "the file holds another plan")?;
                let paused = self.pause_run()?;
                ImportOutcome {
                    is_passed_over: false,
                    taken: settled.taken || paused,
                    news: vec![notices::other_plan_notice(row, self.path)],
                    standing: FileWritability::Asked,
                }
            }
            (_, None) => return Ok(Some(ImportOutcome::default())),
        };
        file.store_remembered(&OtherPlanVersion {
            seen: sha256(bytes),
            by: self.author_name(),
        });
        Ok(Some(looked))
    }

    fn import_version(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        mut changed: PlanChanges,
    ) -> Result<ImportOutcome, SyncFault> {
        if self.is_as_landed(bytes) {
            file.accept_version(bytes)?;
            return sync::settle_question(self, "the file says what piton knows");
        }
        let has_base = self.own_base(file).is_some();
        let edits = self.edits_with_presence(&changed, has_base);
        let question = self.session.open_question_about_file(self.run, self.path)?;
        let (mut edits, shown_again) = self.split_reverted_edits(file, edits, question.as_ref());
        let misplaced = self.set_misplaced_marks_aside(file, bytes, &mut edits);
        // Times and counts that are as old as the file, or that came of a merge, are no
        // person's edit.
        let is_of_merge = || branches::is_merge_result(&self.session.project, self.path, file);
        if !changed.problems.is_empty() && (!shown_again.is_empty() || is_of_merge()) {
            changed.problems.clear();
        }
        // A question is not answered by the loss of what piton knew of the file.
        let is_unknown = file.read_base().is_none() && !file.has_held_conflict();
        if is_unknown && question.as_ref().is_some_and(|row| !row.edits.is_empty()) {
            return Ok(ImportOutcome::with_pending_question());
        }
        let known = question_about_version(file, bytes, question, &edits, has_base);
        let is_known = known.is_some();
        if let Some(row) = known {
            // The rest of it was taken, and told, when it was asked about.
            edits = refresh_asked_edits(row.edits, &edits);
            changed.problems.clear();
            if !has_base {
                return Ok(ImportOutcome::with_pending_question());
            }
            if self.stays_pending(file, &edits)? {
                return Ok(ImportOutcome::with_pending_question().into_held());
            }
        }
        let id = self.import_command_id(file, bytes, is_known, &edits);
        let events = self.commit_edits(id, edits.clone())?;
        failpoint::point("plan-sync.edits-taken");
        let question = self.session.open_question_about_file(self.run, self.path)?;
        let left = question.map(|row| unimported_edits(edits.clone(), &row));
        let told =
            self.imported_edits_notices(&edits, left.as_deref().unwrap_or_default(), &events)?;
        let mut looked = if let Some(left) = left {
            self.hold_conflict(file, bytes, &left, false)?;
            ImportOutcome::with_question(self.path, &events).into_held()
        } else {
            file.accept_version(bytes)?;
            ImportOutcome {
                taken: !events.is_empty(),
                ..ImportOutcome::default()
            }
        };
        looked.news.extend(told);
        looked
            .news
            .extend(self.refused_marks_notices(&misplaced, &shown_again));
        self.report_changes(&changed, &events, &mut looked)?;
        Ok(looked)
    }

    fn has_missing_things(&self, changed: &PlanChanges) -> bool {
        let edits = self.edits_with_presence(changed, true);
        let is_gone = |edit: &Edit| matches!(edit, Edit::SetPresent { present: false, .. });
        edits.iter().any(is_gone)
    }

    /// It is unknown whether an item that a truncated file lacks was removed: it stays
    /// in the plan until a person says that it goes.
    fn ask_about_truncated(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        changed: PlanChanges,
    ) -> Result<ImportOutcome, SyncFault> {
        // An agent may shorten a list by its edit of it. What piton alone writes was cut
        // by a writer that died, whoever else was at work.
        let is_generated = !self.plan.format().is_one_file();
        if !is_generated && !matches!(self.word, EditAuthor::Hand { .. }) {
            return self.import_version(file, bytes, changed);
        }
        let gone = self.edits_with_presence(&changed, true);
        let names = gone.iter().filter_map(Edit::target_node);
        let names: Vec<String> = names.map(|node| format!("`{node}`")).collect();
        let details = names.join(", ");
        let question = format!("`{}` ends early: is what it lacks to go?", self.path);
        let ways = vec![DecisionChoice::FileHolds, DecisionChoice::PitonHolds];
        let looked = sync::ask_about_file(self, question, Some(details), ways)?;
        self.hold_conflict(file, bytes, &[], true)?;
        Ok(looked.into_held())
    }

    fn unreadable_question(&mut self, file: &SyncedFile) -> (String, Vec<DecisionChoice>) {
        let own = self.own_base(file);
        let can_write = matches!(self.render_file(own.as_deref()), Ok(Some(_)));
        let question = format!("`{}` cannot be read: which version holds?", self.path);
        let ways = can_write.then_some(DecisionChoice::PitonHolds);
        (question, ways.into_iter().collect())
    }

    fn can_be_decided(
        &mut self,
        file: &SyncedFile,
        bytes: &[u8],
        way: DecisionChoice,
    ) -> Result<bool, SyncFault> {
        if way == DecisionChoice::PitonHolds {
            return Ok(true);
        }
        let other: Option<OtherPlanVersion> = file.load_remembered();
        let is_seen = match file.has_held_conflict() {
            true => file.is_held_version(bytes),
            false => other.is_none_or(|other| other.is_same_version(bytes)),
        };
        if !is_seen {
            return Err(changed_meanwhile_failure(self.path).into());
        }
        // Another plan is left as it is, for a run of its own.
        Ok(!self.is_other_plan(file, bytes))
    }

    fn import_as_decided(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        changed: PlanChanges,
        holds: ConflictWinner,
    ) -> Result<(), SyncFault> {
        match holds {
            ConflictWinner::File => {
                let by_person = self.session.facts_of_run(self.run, self.run_holder());
                let has_base = self.own_base(file).is_some();
                let found = self.edits_with_presence(&changed, has_base);
                let question = self.session.open_question_about_file(self.run, self.path)?;
                let asked = question.map(|row| row.edits);
                let edits = match asked.filter(|edits| !edits.is_empty()) {
                    Some(asked) => refresh_asked_edits(asked, &found),
                    None => found,
                };
                let command = self.import_edits_command(edits);
                self.session.commit(&command, &by_person)?;
            }
            ConflictWinner::Piton => {
                self.word = EditAuthor::File;
                self.import_version(file, bytes, changed)?;
            }
        }
        Ok(())
    }

    fn overwrite_with_own(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        _: Option<PlanChanges>,
    ) -> Result<PathBuf, SyncFault> {
        let theirs = std::str::from_utf8(bytes).ok();
        let base = self.own_base(file);
        let own = self.render_file(base.as_deref().or(theirs))?;
        let Some(own) = own else {
            let path = self.path;
            let message = format!("what piton wrote into {path} last is not known any more");
            let failure = Failure::new("file.conflict", message);
            let hint = format!("mend {path} by hand, then type `piton files sync`");
            return Err(failure.with_hint(hint).into());
        };
        let kept = store_timestamped_copy(self.session, file.target_path(), bytes)?;
        file.accept_version(bytes)?;
        let positions = BTreeMap::from([(STREAM.to_owned(), self.position)]);
        file.write_version(own.as_bytes(), positions, None)?;
        Ok(kept)
    }

    fn ignore_version(&mut self, problems: &[Problem]) -> Result<(), SyncFault> {
        match problems {
            [] => Ok(()),
            problems => Err(self.import_failure(problems).into()),
        }
    }

    fn import_failure(&self, problems: &[Problem]) -> Failure {
        let path = self.path;
        let problems = render_errors(problems);
        Failure::new("file.conflict", format!("{path} cannot be read: {problems}")).with_hint(format!(
            "mend {path} by hand, then type `piton files sync`; or decide `keep-piton`: what is there now is kept beside it"
        ))
    }
}

impl PlanFileImport<'_, '_> {
    /// Whose word an edit is that is found now: while an attempt of the project
    /// is open, or runs what an agent may have written, it may be an agent's,
    /// else it is a person's.
    pub(super) fn find_edit_author(
        &self,
        at_work: Option<AttemptId>,
    ) -> Result<EditAuthor, SyncFault> {
        let rows = self.session.load(&[Need::OpenAttempts(None)])?;
        let holds = !EvidenceRule::Marks.is_off(self.session.world);
        let open = rows.tables.open_attempts().filter(|_| holds);
        let last = open.map(|row| row.id).max();
        Ok(match last.or(at_work) {
            _ if !holds => EditAuthor::File,
            Some(attempt) => EditAuthor::MaybeAgent {
                attempt,
                criteria: self.plan.format().is_one_file(),
                in_lane: false,
            },
            None => EditAuthor::Hand {
                by: self.session.world.user_name().to_owned(),
                brought: Vec::new(),
            },
        })
    }

    /// Imports what was changed in the copy of the file in a lane. No person is asked
    /// about what does not fit: no file goes on saying it.
    pub(super) fn import_lane_copy(
        &mut self,
        copy: &LanePlanCopy<'_>,
    ) -> Result<ImportOutcome, SyncFault> {
        let (unit, _) = copy.taken;
        let path = self.path;
        let told = |what: &str| {
            let what = format!("{path} in the lane of {unit} {what}");
            let news = vec![FileNotice::Left(what)];
            Ok(ImportOutcome {
                news,
                is_passed_over: true,
                ..ImportOutcome::default()
            })
        };
        let format = self.plan.format();
        if std::str::from_utf8(copy.now).is_ok_and(|now| format.is_replaced(copy.base, now)) {
            return told("holds another plan: nothing of it counts");
        }
        let changed = match self.diff_version(Some(copy.base), copy.now) {
            Ok(changed) => changed,
            Err(problems) => {
                let why = render_errors(&problems);
                return told(&format!("cannot be read, and nothing of it counts: {why}"));
            }
        };
        // Where the copy is unchanged, what differs from what piton knows is only older.
        let older = self.diff_version(Some(copy.base), copy.base.as_bytes());
        let older = older.map_or_else(|_| Vec::new(), |older| older.edits);
        let mut edits = self.edits_with_presence(&changed, true);
        edits.retain(|edit| !older.contains(edit));
        if edits.is_empty() {
            return Ok(ImportOutcome::default());
        }
        let command = self.import_edits_command(edits.clone());
        let unfit = self.count_unfit_items(&command, &edits)?;
        let id = self.lane_command_id(copy);
        let committed = self
            .session
            .commit_with_id(id, &command, &facts_of_file(self))?;
        if committed.repeated {
            return Ok(ImportOutcome::default());
        }
        failpoint::point("unit.edits-taken");
        let events = committed.events;
        let mut looked = ImportOutcome {
            taken: !events.is_empty(),
            news: notices::changes_imported_notice(path, &events)
                .into_iter()
                .collect(),
            ..ImportOutcome::default()
        };
        if unfit > 0 {
            let what = format!("{unfit} edits of {path} in the lane of {unit} do not fit the plan");
            looked.news.push(FileNotice::Left(what));
        }
        self.report_changes(&changed, &events, &mut looked)?;
        Ok(looked)
    }

    /// How many of the edits of a command add or move items that do not fit the plan.
    fn count_unfit_items(&self, command: &Command, edits: &[Edit]) -> Result<usize, SyncFault> {
        let unfit = self.find_unfit_edits(command, edits)?;
        let is_unfit = |edit: &&&Edit| matches!(edit, Edit::Insert { .. } | Edit::Order { .. });
        Ok(unfit.iter().filter(is_unfit).count())
    }

    /// The edits of a command that do not fit the plan.
    fn find_unfit_edits<'e>(
        &'e self,
        command: &Command,
        edits: &'e [Edit],
    ) -> Result<Vec<&'e Edit>, SyncFault> {
        let needs = piton_core::needs_of_command(command);
        let rows = self.session.load(&needs.rows)?;
        let changes = piton_core::PlanFileEdits {
            run: self.run,
            token: self.token,
            file: self.path,
            edits,
        };
        let facts = facts_of_file(self);
        Ok(piton_core::find_inapplicable_edits(&rows, &facts, &changes))
    }

    /// The id of the command that records what was changed in a lane: a runner that dies
    /// before the version is noted as read tells it again.
    fn lane_command_id(&self, copy: &LanePlanCopy<'_>) -> CommandId {
        let versions = (sha256(copy.base.as_bytes()), sha256(copy.now));
        let told = (self.run.to_string(), copy.taken, versions);
        let id = serde_json::to_vec(&told).map(|told| sha256(&told));
        let id = id.ok().and_then(|id| Uuid::parse_str(&id[..32]).ok());
        CommandId(id.unwrap_or_else(|| self.session.world.new_id()))
    }

    /// Removes from the edits the marks that a merge put on other words, and notes which
    /// ones came from elsewhere. The items that stay open.
    fn set_misplaced_marks_aside(
        &mut self,
        file: &SyncedFile,
        bytes: &[u8],
        edits: &mut Vec<Edit>,
    ) -> Vec<Node> {
        let origins = self.origins_of_edited_marks(file, bytes, edits);
        let misplaced = remove_misplaced_marks(&origins, edits);
        if let EditAuthor::Hand { brought, .. } = &mut self.word {
            *brought = merged_marks::items_marked_elsewhere(&self.session.project, &origins);
        }
        misplaced
    }

    /// Records edits under an id; none of the events where they were recorded before.
    fn commit_edits(
        &self,
        id: CommandId,
        edits: Vec<Edit>,
    ) -> Result<Vec<DecodedRecord>, SyncFault> {
        let command = self.import_edits_command(edits);
        let committed = self
            .session
            .commit_with_id(id, &command, &facts_of_file(self))?;
        // What is told a second time is known.
        Ok(match committed.repeated {
            true => Vec::new(),
            false => committed.events,
        })
    }

    /// What is told of marks that count for nothing, and of edits that only put an older
    /// version back.
    fn refused_marks_notices(&self, misplaced: &[Node], shown_again: &[Edit]) -> Vec<FileNotice> {
        let mut news = Vec::new();
        if !misplaced.is_empty() {
            let told = merged_marks::describe_misplaced_marks(self.path, misplaced);
            news.push(FileNotice::Left(told));
        }
        if !shown_again.is_empty() {
            news.push(notices::reverted_file_notice(self.path, shown_again));
        }
        news
    }

    /// Whether a version that a person is asked about already is still left to them.
    fn stays_pending(&self, file: &SyncedFile, edits: &[Edit]) -> Result<bool, SyncFault> {
        let about = file.held_conflict_details().cloned().unwrap_or_default();
        let may_be_agent = matches!(self.word, EditAuthor::MaybeAgent { .. });
        // A person wrote it before the agent began: that waits until it has ended.
        let waits = may_be_agent && about.by.is_some();
        Ok(about.ends_early || waits || self.has_no_fitting_edit(edits)?)
    }

    /// What is told of edits that were taken in; `left` are those that were not.
    fn imported_edits_notices(
        &self,
        edits: &[Edit],
        left: &[Edit],
        events: &[DecodedRecord],
    ) -> Result<Vec<FileNotice>, SyncFault> {
        let (taken, by_old_checks) = match self.word {
            EditAuthor::MaybeAgent { .. } => {
                (notices::changes_imported_notice(self.path, events), None)
            }
            EditAuthor::File
            | EditAuthor::Piton
            | EditAuthor::Hand { .. }
            | EditAuthor::Person { .. }
            | EditAuthor::Typed { .. } => {
                let taken = edits.iter().filter(|edit| !left.contains(edit));
                let told = taken.filter(|edit| {
                    !edit.is_in_force(self.tables, self.run)
                        && !self.is_implied_by_prompt_edit(edit, edits)
                });
                let told: Vec<Edit> = told.cloned().collect();
                let row = self.tables.run(self.run);
                let old =
                    row.map(|row| notices::describe_done_by_old_checks(self.session, row, &told));
                let old = old.transpose()?.flatten();
                (
                    notices::edits_imported_notice(self.path, &told),
                    old.map(FileNotice::Left),
                )
            }
        };
        Ok(taken.into_iter().chain(by_old_checks).collect())
    }

    /// What is done in work that is not committed, and has no mark in the version that
    /// git put here, belongs to the branch that was left: its mark is not written into
    /// this one.
    pub(super) fn record_uncommitted_done(
        &mut self,
        file: &mut SyncedFile,
    ) -> Result<(), SyncFault> {
        let done = self.tables.items(self.run).filter(|row| {
            let is_done = row.is_leaf() && row.state == ItemState::Done;
            is_done && row.work.commits.is_empty()
        });
        let done = done.map(|row| row.node.clone()).collect();
        self.plan.set_done_elsewhere(done);
        let text = input::read_file_text(file.target_path()).ok();
        let gone = self.plan.done_elsewhere(self.tables, &[text.as_deref()]);
        let gone = gone.into_iter().filter_map(|node| {
            let since = self.tables.item(self.run, &node)?.completed_at?;
            Some((node.as_str().to_owned(), since))
        });
        Ok(file.record_uncommitted_done(gone.collect())?)
    }

    /// Leaves in the file what of a version a person is asked about, and notes what
    /// piton itself would have written by now.
    fn hold_conflict(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        left: &[Edit],
        ends_early: bool,
    ) -> Result<(), SyncFault> {
        let own = match self.own_base(file) {
            Some(base) => self.own_version_beside(&base, bytes, left)?,
            None => None,
        };
        let about = HeldConflictDetails {
            ends_early,
            by: self.author_name(),
        };
        Ok(file.hold_conflict(bytes, own.as_deref(), about)?)
    }

    /// What a version is compared with from now on, of which only what is `left` was
    /// not taken: that version, or what piton wrote last, as the journal has it. It is
    /// the `base` still where the version lacks more than that, which is to be shown
    /// yet, and where what is left could not be told from it.
    fn own_version_beside(
        &mut self,
        base: &str,
        bytes: &[u8],
        left: &[Edit],
    ) -> Result<Option<String>, SyncFault> {
        let Ok(theirs) = std::str::from_utf8(bytes) else {
            return Ok(None);
        };
        let tables = load_plan_rows(self.session, self.run, &[])?;
        let now = self.session.world.now();
        let shown = ShownRun {
            file: self.path,
            tables: &tables,
            run: self.run,
        };
        let has = |edits: &[Edit], edit: &Edit| {
            edits
                .iter()
                .any(|other| other.is_same_kind_and_subject(edit))
        };
        for present in [theirs, base] {
            let Ok(Some(own)) = self.plan.render(Some(present), shown.tables, now) else {
                continue;
            };
            let changed = self.plan.collect_edits(Some(&own), theirs, shown, now);
            let differing = changed.map_or_else(
                |_| Vec::new(),
                |changed| self.edits_with_presence(&changed, true),
            );
            let is_left = !left.is_empty()
                && left.iter().all(|edit| has(&differing, edit))
                && differing.iter().all(|edit| has(left, edit));
            if is_left {
                return Ok(Some(own));
            }
        }
        Ok(Some(base.to_owned()))
    }

    /// The person whose word an edit is now.
    fn author_name(&self) -> Option<String> {
        match &self.word {
            EditAuthor::Hand { by, .. } => Some(by.clone()),
            EditAuthor::File
            | EditAuthor::Piton
            | EditAuthor::Person { .. }
            | EditAuthor::MaybeAgent { .. }
            | EditAuthor::Typed { .. } => None,
        }
    }

    /// Pauses the run, or asks its runner to. Whether there was anything to pause.
    fn pause_run(&self) -> Result<bool, SyncFault> {
        let command = Command::AskPause { run: self.run };
        match self.session.commit(&command, &facts_of_file(self)) {
            Ok(_) => Ok(true),
            // It rests already: it waits, or is finished.
            Err(CommitError::Refused(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What the file of another branch says and piton does not know yet: more items,
    /// and marks. Its words may be older than those that hold.
    fn additions_of_other_branch(&mut self, bytes: &[u8]) -> Result<PlanChanges, Vec<Problem>> {
        let mut changed = self.diff_version(None, bytes)?;
        changed.edits.retain(|edit| {
            let to_done = matches!(edit, Edit::SetState { to, .. } if *to == ItemState::Done);
            to_done || matches!(edit, Edit::Insert { .. })
        });
        Ok(changed)
    }

    /// Whether a version is another plan than the one that piton wrote last.
    fn is_other_plan(&self, file: &SyncedFile, bytes: &[u8]) -> bool {
        let versions = file.read_base().zip(std::str::from_utf8(bytes).ok());
        versions.is_some_and(|(base, now)| self.plan.format().is_replaced(&base, now))
    }

    /// What piton wrote last into the file of this branch.
    fn own_base(&self, file: &SyncedFile) -> Option<String> {
        file.read_base().filter(|_| !self.is_other_branch)
    }

    /// The file as the journal has it, made of `present`.
    fn render_file(&mut self, present: Option<&str>) -> io::Result<Option<String>> {
        let now = self.session.world.now();
        let shown = self.plan.render(present, self.tables, now);
        shown.map_err(io::Error::other)
    }

    /// Whether a version shows the run as piton does, or as it did in what landed: that is
    /// no person's edit. A list says more than what is shown in it.
    fn is_as_landed(&mut self, bytes: &[u8]) -> bool {
        let row = self
            .tables
            .run(self.run)
            .filter(|row| row.branches.lanes.is_some());
        let Some(landed) = row.and_then(|row| row.branches.landed.clone()) else {
            return false;
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return false;
        };
        let format = self.plan.format();
        if format.phases.is_some() {
            // What agents write there is no part of their work.
            let project = &self.session.project;
            let inside = project.path_in_work_tree(self.path);
            let landed = inside.and_then(|inside| {
                git::text_in_commit(&project.work_tree, &landed.commit, &inside)
            });
            return landed.as_deref() == Some(text);
        }
        let now = self.session.world.now();
        !format.is_one_file() && self.plan.is_current_in(text, self.tables, now)
    }

    /// What a version says otherwise than piton does. Of one that a person is asked
    /// about, all but what is asked was taken: the rest is compared with it, and not with
    /// what piton wrote last, which may be older.
    fn diff_own_version(
        &mut self,
        file: &SyncedFile,
        bytes: &[u8],
    ) -> Result<PlanChanges, Vec<Problem>> {
        let changed = self.diff_version(file.read_base().as_deref(), bytes)?;
        let mut open = self.tables.open_decisions(self.run);
        let question = open.find(|row| row.file.as_deref() == Some(self.path));
        let question = question.filter(|row| !row.edits.is_empty());
        let Some((row, held)) = question.zip(file.read_held_version()) else {
            return Ok(changed);
        };
        let since = self.diff_version(Some(&held), bytes)?;
        Ok(since.replace_where(changed, |edit| is_asked_about(row, edit)))
    }

    fn diff_version(
        &mut self,
        base: Option<&str>,
        bytes: &[u8],
    ) -> Result<PlanChanges, Vec<Problem>> {
        let Ok(theirs) = std::str::from_utf8(bytes) else {
            return Err(vec![not_utf8_problem(self.path, bytes)]);
        };
        let now = self.session.world.now();
        let mut tables = Cow::Borrowed(self.tables);
        if !self.shows_doubts {
            remove_open_agent_edits(tables.to_mut(), self.run);
        }
        let shown = ShownRun {
            file: self.path,
            tables: &tables,
            run: self.run,
        };
        self.plan.collect_edits(base, theirs, shown, now)
    }

    fn import_edits_command(&self, edits: Vec<Edit>) -> Command {
        Command::TakeEdits {
            run: self.run,
            token: self.token,
            file: self.path.to_owned(),
            edits,
            word: self.word.clone(),
        }
    }

    /// The edits, and apart from them what a file that was put back to the version
    /// which is committed says of how far the work was then: that is shown again. Where
    /// it says nothing else, a person may have taken a mark out.
    fn split_reverted_edits(
        &self,
        file: &SyncedFile,
        edits: Vec<Edit>,
        question: Option<&DecisionRow>,
    ) -> (Vec<Edit>, Vec<Edit>) {
        let is_asked = |edit: &Edit| question.is_some_and(|row| is_asked_about(row, edit));
        let (old, rest): (Vec<Edit>, Vec<Edit>) = edits
            .iter()
            .cloned()
            .partition(|edit| edit.is_progress_edit() && !is_asked(edit));
        let says_more =
            |edit: &Edit| !edit.is_progress_edit() && !matches!(edit, Edit::SetNative { .. });
        let is_put_back = !old.is_empty()
            && rest.iter().any(says_more)
            && branches::is_reverted_to_commit(&self.session.project, self.path, file);
        match is_put_back {
            true => (rest, old),
            false => (edits, Vec::new()),
        }
    }

    /// Where the marks of a version were set that is compared with what piton wrote last;
    /// nothing where none of them is an edit.
    fn origins_of_edited_marks(
        &self,
        file: &SyncedFile,
        bytes: &[u8],
        edits: &[Edit],
    ) -> MarkOrigins {
        let text = std::str::from_utf8(bytes).ok();
        let Some(text) = text.filter(|_| edits.iter().any(is_done_mark)) else {
            return MarkOrigins::new();
        };
        let since = Some(&*file.stamp().commit).filter(|since| !since.is_empty());
        let format = self.plan.format();
        let (project, marks) = (&self.session.project, DoneMarks::parse(format, text));
        merged_marks::find_mark_origins(project, format, self.path, marks, since)
    }

    /// Whether an edit only follows the words of its item, which are told: what is
    /// asked when its check fails, and how the file spells it.
    fn is_implied_by_prompt_edit(&self, edit: &Edit, edits: &[Edit]) -> bool {
        let is_words = |other: &Edit| {
            matches!(other, Edit::SetPrompt { .. }) && other.target_node() == edit.target_node()
        };
        let is_same_script = |gate: &Option<Gate>, node: &Node| {
            let row = self.tables.item(self.run, node);
            let script = |gate: &Option<Gate>| gate.as_ref().map(|gate| gate.script.clone());
            row.is_some_and(|row| script(&row.plan.gate) == script(gate))
        };
        let may_follow = if let Edit::SetGate { node, gate } = edit {
            is_same_script(gate, node)
        } else {
            matches!(edit, Edit::SetNative { node: Some(_), .. })
        };
        may_follow && edits.iter().any(is_words)
    }

    /// The edits, with those about items that stand in the file no more or again.
    /// Where it is not known what stood there, nothing was taken out.
    fn edits_with_presence(&self, changed: &PlanChanges, has_base: bool) -> Vec<Edit> {
        let mut edits = changed.edits.clone();
        let is_open = |node: &&Node| {
            let row = self.tables.item(self.run, node);
            row.is_some_and(|row| !row.state.is_finished())
        };
        let removed = changed.removed.iter().filter(|_| has_base);
        edits.extend(
            removed
                .filter(is_open)
                .map(|node| Edit::presence_of(node, false)),
        );
        let is_known_gone = |edit: &Edit| {
            let mut open = self.tables.open_decisions(self.run);
            let row = edit
                .target_node()
                .and_then(|node| self.tables.item(self.run, node));
            row.is_some_and(|row| row.state == ItemState::Dropped)
                || open.any(|row| {
                    row.edits
                        .iter()
                        .any(|asked| asked.is_same_kind_and_subject(edit))
                })
        };
        let returned = changed
            .returned
            .iter()
            .map(|node| Edit::presence_of(node, true));
        edits.extend(returned.filter(is_known_gone));
        edits
    }

    /// Says what became of a version beside what was taken: of what was removed, and
    /// of what may be an agent's.
    fn report_changes(
        &self,
        changed: &PlanChanges,
        events: &[DecodedRecord],
        looked: &mut ImportOutcome,
    ) -> Result<(), SyncFault> {
        let problems = changed.problems.iter();
        let problems = problems.map(|problem| FileNotice::Told(problem.to_string()));
        looked.news.extend(problems);
        let removed = changed.removed.iter().cloned();
        let lines: Vec<Need> = removed.map(|node| Need::Line(self.run, node)).collect();
        let removed = self.session.load(&lines)?.tables;
        let rows = changed
            .removed
            .iter()
            .filter_map(|node| removed.item(self.run, node));
        // A list is a person's, and lacks what they took out.
        let shows_all = !self.plan.format().is_one_file();
        let said =
            notices::removed_items_notices(self.path, rows, shows_all, looked.has_question());
        looked.news.extend(said);
        let claimed: Vec<Need> = events
            .iter()
            .filter_map(notices::need_of_claimed_item)
            .collect();
        let claimed = self.session.load(&claimed)?.tables;
        let claimed = claimed.tree(self.run).filter(|item| item.is_claimed());
        let claimed =
            claimed.map(|item| FileNotice::Told(notices::describe_claimed_item(item, self.path)));
        looked.news.extend(claimed);
        looked
            .news
            .extend(notices::doubted_edits_notices(self.path, events));
        looked
            .news
            .extend(notices::settled_notices(self.path, self.tables, events));
        looked.news.sort_by_key(FileNotice::is_warning);
        Ok(())
    }

    /// Whether none of what was left of a version can be taken in now either.
    fn has_no_fitting_edit(&self, edits: &[Edit]) -> Result<bool, SyncFault> {
        let mut command = self.import_edits_command(Vec::new());
        if let Command::TakeEdits { word, .. } = &mut command {
            *word = EditAuthor::File;
        }
        let left = self.find_unfit_edits(&command, edits)?;
        Ok(!edits.is_empty() && left.len() == edits.len())
    }

    /// The id of the command that records these edits of this version: the first time,
    /// or when some of what was left fits. A process that repeats the command, because
    /// it does not know the outcome, records nothing: a person may have decided
    /// otherwise in between.
    fn import_command_id(
        &self,
        file: &SyncedFile,
        bytes: &[u8],
        is_known: bool,
        edits: &[Edit],
    ) -> CommandId {
        let told = (
            self.run.to_string(),
            &file.stamp().after,
            (sha256(bytes), is_known),
            StatFingerprint::of_path(file.target_path()),
            edits,
        );
        let told = serde_json::to_vec(&told).map(|told| sha256(&told));
        let id = told.ok().and_then(|told| Uuid::parse_str(&told[..32]).ok());
        CommandId(id.unwrap_or_else(|| self.session.world.new_id()))
    }
}

/// Whether an edit says that an item is done.
fn is_done_mark(edit: &Edit) -> bool {
    matches!(edit, Edit::SetState { to, .. } if *to == ItemState::Done)
}

/// Removes from the edits the marks that a merge put on other words: no person has
/// said that what the file asks for there is done. Returns the items that stay open.
fn remove_misplaced_marks(origins: &MarkOrigins, edits: &mut Vec<Edit>) -> Vec<Node> {
    let nodes = mark_origins::misplaced_marks(origins);
    let holds = |about: &Node| nodes.iter().any(|node| node.is_within(about));
    let is_misplaced = |edit: &Edit| is_done_mark(edit) && edit.target_node().is_some_and(holds);
    let (left, taken): (Vec<Edit>, Vec<Edit>) =
        std::mem::take(edits).into_iter().partition(is_misplaced);
    *edits = taken;
    left.iter().filter_map(Edit::target_node).cloned().collect()
}

/// What is asked about, as the file says it now: its words may be newer than those
/// of the question.
fn refresh_asked_edits(asked: Vec<Edit>, found: &[Edit]) -> Vec<Edit> {
    let newer = |edit: Edit| {
        let like = found
            .iter()
            .find(|found| found.is_same_kind_and_subject(&edit))
            .cloned();
        like.unwrap_or(edit)
    };
    asked.into_iter().map(newer).collect()
}

/// Whether a question is about an edit as one that could not be taken.
fn is_asked_about(question: &DecisionRow, edit: &Edit) -> bool {
    question
        .edits
        .iter()
        .any(|asked| asked.is_same_kind_and_subject(edit))
}

/// The question, where it asks about this version already.
fn question_about_version(
    file: &SyncedFile,
    bytes: &[u8],
    question: Option<DecisionRow>,
    edits: &[Edit],
    has_base: bool,
) -> Option<DecisionRow> {
    let about = file.held_conflict_details();
    let is_beginning = about.is_some_and(|about| about.ends_early);
    let is_same = |row: &DecisionRow| match is_beginning {
        true => row.choice_of_verb(Verb::KeepFile) == Some(DecisionChoice::FileHolds),
        // Without a base nothing tells what of the file is asked about.
        false => !has_base || is_asked_about_any(row, edits),
    };
    question.filter(|row| file.is_held_version(bytes) && is_same(row))
}

fn is_asked_about_any(question: &DecisionRow, edits: &[Edit]) -> bool {
    edits.iter().any(|edit| is_asked_about(question, edit))
}

/// Which edits could not be taken, as a question says. One that names none of
/// them is about another version: all of them are told again.
fn unimported_edits(edits: Vec<Edit>, question: &DecisionRow) -> Vec<Edit> {
    if !is_asked_about_any(question, &edits) {
        return edits;
    }
    edits
        .into_iter()
        .filter(|edit| is_asked_about(question, edit))
        .collect()
}
