//! What is done with a version of the file of a plan that somebody else wrote.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use piton_core::checkout::Checkout;
use piton_core::command::Word;
use piton_core::gate::Gate;
use piton_core::{
    AttemptId, Command, CommandId, DecisionRow, Edit, HolderKnown, ItemState, Need, Node, Recorded,
    RunId, Tables, Verb, Way,
};
use piton_formats::mark_origins::{self, Marks};
use piton_formats::plan_file::{Changed, PlanFile, Shown};
use piton_formats::problem::Problem;
use piton_store::CommitError;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{LaneCopy, STREAM, leave_out_doubts, rows_of_plan, words};
use crate::fail;
use crate::failure::Failure;
use crate::git;
use crate::lies::Rule;
use crate::native_files::copies::keep_beside;
use crate::native_files::exchange::sha256;
use crate::native_files::merged_marks::{self, Origins};
use crate::native_files::news::{in_lines, not_utf8};
use crate::native_files::sync::{
    self, Fault, Holds, Looked, NativeFile, Standing, changed_meanwhile, facts,
};
use crate::native_files::synced_file::{HeldAbout, Look, SyncedFile};
use crate::native_files::{News, branches};
use crate::session::Session;
use crate::shell::quote;

/// The file of a plan being looked at, under the lock of its stamp.
pub(super) struct PlanLook<'a, 's> {
    pub(super) session: &'a Session<'s>,
    pub(super) tables: &'a Tables,
    pub(super) run: RunId,
    pub(super) path: &'a str,
    pub(super) plan: &'a mut PlanFile,
    /// That of the runner that looks.
    pub(super) token: Option<u64>,
    /// Whose word an edit is.
    pub(super) word: Word,
    /// How many events of the run `tables` know.
    pub(super) position: u64,
    /// What piton wrote last was the file of another branch.
    pub(super) is_other_branch: bool,
    /// Whether a lock of git's index is that of somebody alive.
    pub(super) heeds_git: bool,
    /// What was checked out when the look began.
    pub(super) here: Option<Checkout>,
    /// Whether the file says what a person is asked about: not where it stood in a
    /// lane, and this one is not written.
    pub(super) shows_doubts: bool,
}

/// A version that holds another plan, of which nothing is taken in.
#[derive(Serialize, Deserialize)]
struct OtherPlan {
    /// Its hash.
    seen: String,
    /// The person who wrote it, where that is known.
    by: Option<String>,
}

impl OtherPlan {
    fn is_in(&self, bytes: &[u8]) -> bool {
        self.seen == sha256(bytes)
    }
}

impl NativeFile for PlanLook<'_, '_> {
    type Version = Changed;

    fn session(&self) -> &Session<'_> {
        self.session
    }

    fn path(&self) -> &str {
        self.path
    }

    fn run(&self) -> RunId {
        self.run
    }

    fn is_asked(&self) -> bool {
        let mut open = self.tables.open_decisions(self.run);
        open.any(|row| row.file.as_deref() == Some(self.path))
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

    fn heeds_git(&self) -> bool {
        self.heeds_git
    }

    fn was_switched(&self) -> bool {
        git::checked_out(&self.session.project.work_tree) != self.here
    }

    /// What the file says otherwise than piton does: what a person was asked about
    /// stays in it, and is tried again.
    fn read(&mut self, file: &SyncedFile, bytes: &[u8]) -> Result<Changed, Vec<Problem>> {
        match self.is_other_branch {
            true => self.said_on_other_branch(bytes),
            false => self.changed(file.base().as_deref(), bytes),
        }
    }

    /// Another plan stands in the file: it is left as it is. A person's is the
    /// plan of another run, and this one pauses: nothing is worked on any more
    /// that its plan may not want. Of one that may be an agent's a person is
    /// asked, and the run goes on with the items that it has.
    fn leave_other(&mut self, file: &SyncedFile, bytes: &[u8]) -> Result<Option<Looked>, Fault> {
        if !self.is_other_plan(file, bytes) {
            return Ok(None);
        }
        let other: Option<OtherPlan> = file.remembered();
        let row = self.tables.run(self.run);
        if let Some(other) = other.filter(|other| other.is_in(bytes)) {
            // A runner has said so, and looks often.
            let is_at_rest = self.token.is_none() && matches!(self.word, Word::Hand { .. });
            let told = row.filter(|_| other.by.is_some() && is_at_rest);
            return Ok(Some(Looked {
                news: told
                    .map(|row| words::holds_another_plan(row, self.path))
                    .into_iter()
                    .collect(),
                ..Looked::still_asked()
            }));
        }
        let looked = match (&self.word, row) {
            (Word::MaybeAgent { .. }, _) => {
                let path = self.path;
                let question =
                    format!("`{path}` holds another plan, perhaps an agent's: which one holds?");
                let next = format!(
                    "after `keep-file`, `piton run {}` begins that plan, and this run is kept as it is",
                    quote(path)
                );
                let ways = vec![Way::LeftAlone, Way::PitonHolds];
                sync::ask_about(self, question, Some(next), ways)?
            }
            (_, Some(row)) => {
                let settled = sync::settle(self, "the file holds another plan")?;
                let paused = self.pause()?;
                Looked {
                    is_passed_over: false,
                    taken: settled.taken || paused,
                    news: vec![words::holds_another_plan(row, self.path)],
                    standing: Standing::Asked,
                }
            }
            (_, None) => return Ok(Some(Looked::default())),
        };
        file.remember(&OtherPlan {
            seen: sha256(bytes),
            by: self.person(),
        });
        Ok(Some(looked))
    }

    fn take(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        mut changed: Changed,
    ) -> Result<Looked, Fault> {
        if self.is_as_landed(bytes) {
            file.accept(bytes)?;
            return sync::settle(self, "the file says what piton knows");
        }
        let has_base = self.own_base(file).is_some();
        let edits = self.with_presence(&changed, has_base);
        let question = self.session.question_about(self.run, self.path)?;
        let (mut edits, shown_again) = self.without_put_back(file, edits, question.as_ref());
        let origins = self.origins_of_marks(file, bytes, &edits);
        let misplaced = leave_misplaced(&origins, &mut edits);
        if let Word::Hand { brought, .. } = &mut self.word {
            *brought = merged_marks::brought(&self.session.project, &origins);
        }
        // Times and counts that are as old as the file, or that came of a merge, are
        // nobody's edit.
        let is_nobodys = || branches::is_merged(&self.session.project, self.path, file);
        if !changed.problems.is_empty() && (!shown_again.is_empty() || is_nobodys()) {
            changed.problems.clear();
        }
        // A question is not answered by the loss of what piton knew of the file.
        let is_unknown = file.base().is_none() && !file.is_held();
        if is_unknown && question.as_ref().is_some_and(|row| !row.edits.is_empty()) {
            return Ok(Looked::still_asked());
        }
        let about = file.held_about().cloned().unwrap_or_default();
        let is_beginning = about.ends_early;
        let is_same = |row: &DecisionRow| match is_beginning {
            true => row.way(Verb::KeepFile) == Some(Way::FileHolds),
            // Without a base nothing tells what of the file is asked about.
            false => !has_base || names_any(row, &edits),
        };
        let known = question.filter(|row| file.holds(bytes) && is_same(row));
        let is_known = known.is_some();
        if let Some(row) = known {
            let may_be_agent = matches!(self.word, Word::MaybeAgent { .. });
            // A person wrote it before the agent began: that waits until it has ended.
            let waits = may_be_agent && about.by.is_some();
            // The rest of it was taken, and told, when it was asked about.
            edits = as_found(row.edits, &edits);
            changed.problems.clear();
            if !has_base {
                return Ok(Looked::still_asked());
            }
            if is_beginning || waits || self.fits_nothing(&edits)? {
                return Ok(Looked::still_asked().held());
            }
        }
        let id = self.id_of(file, (bytes, is_known), &edits);
        let command = self.take_edits(edits.clone());
        let committed = self.session.commit_as(id, &command, &facts(self))?;
        // What is told a second time is known.
        let events = match committed.repeated {
            true => Vec::new(),
            false => committed.events,
        };
        fail::point("plan-sync.edits-taken");
        let question = self.session.question_about(self.run, self.path)?;
        let left = question.map(|row| left_of(edits.clone(), &row));
        let (taken, by_old_checks) = match self.word {
            Word::MaybeAgent { .. } => (words::took_changes(self.path, &events), None),
            Word::File
            | Word::Piton
            | Word::Hand { .. }
            | Word::Person { .. }
            | Word::Typed { .. } => {
                let is_taken = |edit: &&Edit| left.iter().flatten().all(|left| left != *edit);
                let taken = edits.iter().filter(is_taken);
                let told = taken.filter(|edit| {
                    !edit.is_in_force(self.tables, self.run) && !self.follows_words(edit, &edits)
                });
                let told: Vec<Edit> = told.cloned().collect();
                let row = self.tables.run(self.run);
                let old = row.map(|row| words::done_by_old_checks(self.session, row, &told));
                let old = old.transpose()?.flatten();
                (words::took_edits(self.path, &told), old.map(News::Left))
            }
        };
        let mut looked = if let Some(left) = left {
            self.hold(file, bytes, (&left, false))?;
            Looked::asked(self.path, &events).held()
        } else {
            file.accept(bytes)?;
            Looked {
                taken: !events.is_empty(),
                ..Looked::default()
            }
        };
        looked.news.extend(taken.into_iter().chain(by_old_checks));
        if !misplaced.is_empty() {
            let told = merged_marks::told(self.path, &misplaced);
            looked.news.push(News::Left(told));
        }
        if !shown_again.is_empty() {
            looked.news.push(words::put_back(self.path, &shown_again));
        }
        self.tell(&changed, &events, &mut looked)?;
        Ok(looked)
    }

    fn lacks(&self, changed: &Changed) -> bool {
        let edits = self.with_presence(changed, true);
        let is_gone = |edit: &Edit| matches!(edit, Edit::SetPresent { present: false, .. });
        edits.iter().any(is_gone)
    }

    /// Of what lacks the end of the file nobody knows whether it was taken out: it
    /// stays in the plan until a person says so.
    fn take_beginning(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        changed: Changed,
    ) -> Result<Looked, Fault> {
        if !matches!(self.word, Word::Hand { .. }) {
            return self.take(file, bytes, changed);
        }
        let gone = self.with_presence(&changed, true);
        let names = gone.iter().filter_map(Edit::about);
        let names: Vec<String> = names.map(|node| format!("`{node}`")).collect();
        let details = names.join(", ");
        let question = format!("`{}` ends early: is what it lacks to go?", self.path);
        let ways = vec![Way::FileHolds, Way::PitonHolds];
        let looked = sync::ask_about(self, question, Some(details), ways)?;
        self.hold(file, bytes, (&[], true))?;
        Ok(looked.held())
    }

    fn question(&mut self, file: &SyncedFile) -> (String, Vec<Way>) {
        let own = self.own_base(file);
        let can_write = matches!(self.shown(own.as_deref()), Ok(Some(_)));
        let question = format!("`{}` cannot be read: which version holds?", self.path);
        let ways = can_write.then_some(Way::PitonHolds);
        (question, ways.into_iter().collect())
    }

    fn may_be_decided(&mut self, file: &SyncedFile, bytes: &[u8], way: Way) -> Result<bool, Fault> {
        if way == Way::PitonHolds {
            return Ok(true);
        }
        let other: Option<OtherPlan> = file.remembered();
        let is_seen = match file.is_held() {
            true => file.holds(bytes),
            false => other.is_none_or(|other| other.is_in(bytes)),
        };
        if !is_seen {
            return Err(changed_meanwhile(self.path).into());
        }
        // Another plan is left as it is, for a run of its own.
        Ok(!self.is_other_plan(file, bytes))
    }

    fn take_as_decided(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        changed: Changed,
        holds: Holds,
    ) -> Result<(), Fault> {
        match holds {
            Holds::File => {
                let by_person = self.session.facts_of_run(self.run, self.holder());
                let has_base = self.own_base(file).is_some();
                let found = self.with_presence(&changed, has_base);
                let question = self.session.question_about(self.run, self.path)?;
                let asked = question.map(|row| row.edits);
                let edits = match asked.filter(|edits| !edits.is_empty()) {
                    Some(asked) => as_found(asked, &found),
                    None => found,
                };
                let command = self.take_edits(edits);
                self.session.commit(&command, &by_person)?;
            }
            Holds::Piton => {
                self.word = Word::File;
                self.take(file, bytes, changed)?;
            }
        }
        Ok(())
    }

    fn put_own(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        _: Option<Changed>,
    ) -> Result<PathBuf, Fault> {
        let theirs = std::str::from_utf8(bytes).ok();
        let base = self.own_base(file);
        let own = self.shown(base.as_deref().or(theirs))?;
        let Some(own) = own else {
            let path = self.path;
            let message = format!("what piton wrote into {path} last is not known any more");
            let failure = Failure::new("file.conflict", message);
            let hint = format!("mend {path} by hand, then type `piton files sync`");
            return Err(failure.hint(hint).into());
        };
        let kept = keep_beside(self.session, file.target(), bytes)?;
        file.accept(bytes)?;
        let positions = BTreeMap::from([(STREAM.to_owned(), self.position)]);
        file.put(own.as_bytes(), positions, None)?;
        Ok(kept)
    }

    fn leave_alone(&mut self, problems: &[Problem]) -> Result<(), Fault> {
        match problems {
            [] => Ok(()),
            problems => Err(self.cannot_take(problems).into()),
        }
    }

    fn cannot_take(&self, problems: &[Problem]) -> Failure {
        let path = self.path;
        let problems = in_lines(problems);
        Failure::new("file.conflict", format!("{path} cannot be read: {problems}")).hint(format!(
            "mend {path} by hand, then type `piton files sync`; or decide `keep-piton`: what is there now is kept beside it"
        ))
    }
}

impl PlanLook<'_, '_> {
    /// Whose word an edit is that is found now: while an attempt of the project
    /// is open, or runs what an agent may have written, it may be an agent's,
    /// else it is a person's.
    pub(super) fn who(&self, at_work: Option<AttemptId>) -> Result<Word, Fault> {
        let rows = self.session.load(&[Need::OpenAttempts(None)])?;
        let holds = !Rule::Marks.is_off(self.session.world);
        let open = rows.tables.open_attempts().filter(|_| holds);
        let last = open.map(|row| row.id).max();
        Ok(match last.or(at_work) {
            _ if !holds => Word::File,
            Some(attempt) => Word::MaybeAgent {
                attempt,
                criteria: self.plan.format().is_one_file(),
                in_lane: false,
            },
            None => Word::Hand {
                by: self.session.world.user().to_owned(),
                brought: Vec::new(),
            },
        })
    }

    /// Takes in what was changed in the copy of the file in a lane. About what does
    /// not fit nobody is asked: no file goes on saying it.
    pub(super) fn take_copy(&mut self, copy: &LaneCopy<'_>) -> Result<Looked, Fault> {
        let (unit, _) = copy.taken;
        let path = self.path;
        let told = |what: &str| {
            let what = format!("{path} in the lane of {unit} {what}");
            let news = vec![News::Left(what)];
            Ok(Looked {
                news,
                is_passed_over: true,
                ..Looked::default()
            })
        };
        let format = self.plan.format();
        if std::str::from_utf8(copy.now).is_ok_and(|now| format.is_replaced(copy.base, now)) {
            return told("holds another plan: nothing of it counts");
        }
        let changed = match self.changed(Some(copy.base), copy.now) {
            Ok(changed) => changed,
            Err(problems) => {
                let why = in_lines(&problems);
                return told(&format!("cannot be read, and nothing of it counts: {why}"));
            }
        };
        // Where nobody changed it, what differs from what piton knows is only older.
        let older = self.changed(Some(copy.base), copy.base.as_bytes());
        let older = older.map_or_else(|_| Vec::new(), |older| older.edits);
        let mut edits = self.with_presence(&changed, true);
        edits.retain(|edit| !older.contains(edit));
        if edits.is_empty() {
            return Ok(Looked::default());
        }
        let command = self.take_edits(edits.clone());
        let needs = piton_core::needs(&command);
        let rows = self.session.load(&needs.rows)?;
        let of = (self.run, self.token);
        let unfit = piton_core::edits_left(&rows, &facts(self), of, path, &edits);
        let is_unfit = |edit: &&&Edit| matches!(edit, Edit::Insert { .. } | Edit::Order { .. });
        let unfit = unfit.iter().filter(is_unfit).count();
        // A runner that dies before the version is noted as read tells it again.
        let versions = (sha256(copy.base.as_bytes()), sha256(copy.now));
        let told = (self.run.to_string(), copy.taken, versions);
        let id = serde_json::to_vec(&told).map(|told| sha256(&told));
        let id = id.ok().and_then(|id| Uuid::parse_str(&id[..32]).ok());
        let id = CommandId(id.unwrap_or_else(|| self.session.world.id()));
        let committed = self.session.commit_as(id, &command, &facts(self))?;
        if committed.repeated {
            return Ok(Looked::default());
        }
        fail::point("unit.edits-taken");
        let events = committed.events;
        let mut looked = Looked {
            taken: !events.is_empty(),
            news: words::took_changes(path, &events).into_iter().collect(),
            ..Looked::default()
        };
        if unfit > 0 {
            let what = format!("{unfit} edits of {path} in the lane of {unit} do not fit the plan");
            looked.news.push(News::Left(what));
        }
        self.tell(&changed, &events, &mut looked)?;
        Ok(looked)
    }

    /// What is done in work that nobody committed, and has no mark in the version
    /// that git put here, went along to the branch that was left: its mark is not
    /// written into this one.
    pub(super) fn note_gone(&mut self, file: &mut SyncedFile) -> Result<(), Fault> {
        let done = self.tables.items(self.run).filter(|row| {
            let is_done = row.is_leaf() && row.state == ItemState::Done;
            is_done && row.commits.is_empty()
        });
        let done = done.map(|row| row.node.clone()).collect();
        self.plan.set_elsewhere(done);
        let text = fs::read_to_string(file.target()).ok();
        let gone = self.plan.done_elsewhere(self.tables, &[text.as_deref()]);
        let gone = gone.into_iter().filter_map(|node| {
            let since = self.tables.item(self.run, &node)?.completed_at?;
            Some((node.to_string(), since))
        });
        Ok(file.note_gone(gone.collect())?)
    }

    /// Leaves in the file what of a version a person is asked about, and notes what
    /// piton itself would have written by now.
    fn hold(
        &mut self,
        file: &mut SyncedFile,
        bytes: &[u8],
        (left, ends_early): (&[Edit], bool),
    ) -> Result<(), Fault> {
        let own = match self.own_base(file) {
            Some(base) => self.own_beside(&base, bytes, left)?,
            None => None,
        };
        let about = HeldAbout {
            ends_early,
            by: self.person(),
        };
        Ok(file.hold(bytes, own.as_deref(), about)?)
    }

    /// What a version is compared with from now on, of which only what is `left` was
    /// not taken: that version as the journal has it. It is the `base` still where the
    /// version lacks more than that, which is to be shown yet, and where what is left
    /// could not be told from it.
    fn own_beside(
        &mut self,
        base: &str,
        bytes: &[u8],
        left: &[Edit],
    ) -> Result<Option<String>, Fault> {
        let Ok(theirs) = std::str::from_utf8(bytes) else {
            return Ok(None);
        };
        let tables = rows_of_plan(self.session, self.run, &[])?;
        let now = self.session.world.now();
        let shown = Shown {
            file: self.path,
            tables: &tables,
            run: self.run,
        };
        let own = self
            .plan
            .show(Some(theirs), shown.tables, now)
            .ok()
            .flatten();
        let differing = own.as_deref().map(|own| {
            let changed = self.plan.edits(Some(own), theirs, shown, now);
            changed.map_or_else(|_| Vec::new(), |changed| changed.edits)
        });
        let differing = differing.unwrap_or_default();
        let has = |edits: &[Edit], edit: &Edit| edits.iter().any(|other| other.is_like(edit));
        let is_left = !left.is_empty()
            && left.iter().all(|edit| has(&differing, edit))
            && differing.iter().all(|edit| has(left, edit));
        Ok(own.filter(|_| is_left).or_else(|| Some(base.to_owned())))
    }

    /// The person whose word an edit is now.
    fn person(&self) -> Option<String> {
        match &self.word {
            Word::Hand { by, .. } => Some(by.clone()),
            Word::File
            | Word::Piton
            | Word::Person { .. }
            | Word::MaybeAgent { .. }
            | Word::Typed { .. } => None,
        }
    }

    /// Pauses the run, or asks its runner to. Whether there was anything to pause.
    fn pause(&self) -> Result<bool, Fault> {
        let command = Command::AskPause { run: self.run };
        match self.session.commit(&command, &facts(self)) {
            Ok(_) => Ok(true),
            // It rests already: it waits, or is finished.
            Err(CommitError::Refused(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What the file of another branch says that nobody has said yet: more items,
    /// and marks. Its words may be older than those that hold.
    fn said_on_other_branch(&mut self, bytes: &[u8]) -> Result<Changed, Vec<Problem>> {
        let mut changed = self.changed(None, bytes)?;
        changed.edits.retain(|edit| {
            let to_done = matches!(edit, Edit::SetState { to, .. } if *to == ItemState::Done);
            to_done || matches!(edit, Edit::Insert { .. })
        });
        Ok(changed)
    }

    /// Whether a version is another plan than the one that piton wrote last.
    fn is_other_plan(&self, file: &SyncedFile, bytes: &[u8]) -> bool {
        let versions = file.base().zip(std::str::from_utf8(bytes).ok());
        versions.is_some_and(|(base, now)| self.plan.format().is_replaced(&base, now))
    }

    /// What piton wrote last into the file of this branch.
    fn own_base(&self, file: &SyncedFile) -> Option<String> {
        file.base().filter(|_| !self.is_other_branch)
    }

    /// The file as the journal has it, made of `present`.
    fn shown(&mut self, present: Option<&str>) -> io::Result<Option<String>> {
        let now = self.session.world.now();
        let shown = self.plan.show(present, self.tables, now);
        shown.map_err(io::Error::other)
    }

    /// Whether a version shows the run as piton does, or as it did in what landed: that is
    /// nobody's edit. A list says more than what is shown in it.
    fn is_as_landed(&mut self, bytes: &[u8]) -> bool {
        let row = self.tables.run(self.run).filter(|row| row.lanes.is_some());
        let Some(landed) = row.and_then(|row| row.landed.clone()) else {
            return false;
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return false;
        };
        let format = self.plan.format();
        if format.phases.is_some() {
            // What agents write there is no part of their work.
            let project = &self.session.project;
            let inside = project.in_work_tree(self.path);
            let landed =
                inside.and_then(|inside| git::text_of(&project.work_tree, &landed.commit, &inside));
            return landed.as_deref() == Some(text);
        }
        let now = self.session.world.now();
        !format.is_one_file() && self.plan.is_shown_in(text, self.tables, now)
    }

    fn changed(&mut self, base: Option<&str>, bytes: &[u8]) -> Result<Changed, Vec<Problem>> {
        let Ok(theirs) = std::str::from_utf8(bytes) else {
            return Err(vec![not_utf8(self.path, bytes)]);
        };
        let now = self.session.world.now();
        let mut tables = Cow::Borrowed(self.tables);
        if !self.shows_doubts {
            leave_out_doubts(tables.to_mut(), self.run);
        }
        let shown = Shown {
            file: self.path,
            tables: &tables,
            run: self.run,
        };
        self.plan.edits(base, theirs, shown, now)
    }

    fn take_edits(&self, edits: Vec<Edit>) -> Command {
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
    fn without_put_back(
        &self,
        file: &SyncedFile,
        edits: Vec<Edit>,
        question: Option<&DecisionRow>,
    ) -> (Vec<Edit>, Vec<Edit>) {
        let is_asked = |edit: &Edit| question.is_some_and(|row| names(row, edit));
        let (old, rest): (Vec<Edit>, Vec<Edit>) = edits
            .iter()
            .cloned()
            .partition(|edit| edit.is_of_progress() && !is_asked(edit));
        let says_more =
            |edit: &Edit| !edit.is_of_progress() && !matches!(edit, Edit::SetNative { .. });
        let is_put_back = !old.is_empty()
            && rest.iter().any(says_more)
            && branches::is_put_back(&self.session.project, self.path, file);
        match is_put_back {
            true => (rest, old),
            false => (edits, Vec::new()),
        }
    }

    /// Where the marks of a version were set that is compared with what piton wrote last;
    /// nothing where none of them is an edit.
    fn origins_of_marks(&self, file: &SyncedFile, bytes: &[u8], edits: &[Edit]) -> Origins {
        let text = std::str::from_utf8(bytes).ok();
        let Some(text) = text.filter(|_| edits.iter().any(is_mark)) else {
            return Origins::new();
        };
        let since = Some(&*file.stamp().commit).filter(|since| !since.is_empty());
        let format = self.plan.format();
        let (project, marks) = (&self.session.project, Marks::read(format, text));
        merged_marks::origins_of(project, (format, self.path), marks, since)
    }

    /// Whether an edit only follows the words of its item, which are told: what is
    /// asked when its check fails, and how the file spells it.
    fn follows_words(&self, edit: &Edit, edits: &[Edit]) -> bool {
        let is_words =
            |other: &Edit| matches!(other, Edit::SetPrompt { .. }) && other.about() == edit.about();
        let is_same_script = |gate: &Option<Gate>, node: &Node| {
            let row = self.tables.item(self.run, node);
            let script = |gate: &Option<Gate>| gate.as_ref().map(|gate| gate.script.clone());
            row.is_some_and(|row| script(&row.gate) == script(gate))
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
    fn with_presence(&self, changed: &Changed, has_base: bool) -> Vec<Edit> {
        let mut edits = changed.edits.clone();
        let is_open = |node: &&Node| {
            let row = self.tables.item(self.run, node);
            row.is_some_and(|row| !row.state.is_finished())
        };
        let removed = changed.removed.iter().filter(|_| has_base);
        edits.extend(removed.filter(is_open).map(|node| presence(node, false)));
        let is_known_gone = |edit: &Edit| {
            let mut open = self.tables.open_decisions(self.run);
            let row = edit
                .about()
                .and_then(|node| self.tables.item(self.run, node));
            row.is_some_and(|row| row.state == ItemState::Dropped)
                || open.any(|row| row.edits.iter().any(|asked| asked.is_like(edit)))
        };
        let returned = changed.returned.iter().map(|node| presence(node, true));
        edits.extend(returned.filter(is_known_gone));
        edits
    }

    /// Says what became of a version beside what was taken: of what was removed, and
    /// of what may be an agent's.
    fn tell(
        &self,
        changed: &Changed,
        events: &[Recorded],
        looked: &mut Looked,
    ) -> Result<(), Fault> {
        let problems = changed.problems.iter();
        let problems = problems.map(|problem| News::Told(problem.to_string()));
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
        let said = words::removed(self.path, rows, shows_all, looked.is_asked());
        looked.news.extend(said);
        let claimed: Vec<Need> = events.iter().filter_map(words::claimed_item).collect();
        let claimed = self.session.load(&claimed)?.tables;
        let claimed = claimed.tree(self.run).filter(|item| item.is_claimed());
        let claimed = claimed.map(|item| News::Told(words::claimed(item, self.path)));
        looked.news.extend(claimed);
        looked.news.extend(words::doubted(self.path, events));
        looked
            .news
            .extend(words::settled(self.path, self.tables, events));
        looked.news.sort_by_key(News::is_warning);
        Ok(())
    }

    /// Whether none of what was left of a version can be taken in now either.
    fn fits_nothing(&self, edits: &[Edit]) -> Result<bool, Fault> {
        let mut command = self.take_edits(Vec::new());
        if let Command::TakeEdits { word, .. } = &mut command {
            *word = Word::File;
        }
        let needs = piton_core::needs(&command);
        let rows = self.session.load(&needs.rows)?;
        let of = (self.run, self.token);
        let left = piton_core::edits_left(&rows, &facts(self), of, self.path, edits);
        Ok(!edits.is_empty() && left.len() == edits.len())
    }

    /// The id under which these edits of this version are told: the first time,
    /// or when some of what was left fits. Whoever tells them again, because it
    /// is not known that they were, tells nothing: in between a person may have
    /// said something else.
    fn id_of(
        &self,
        file: &SyncedFile,
        (bytes, is_known): (&[u8], bool),
        edits: &[Edit],
    ) -> CommandId {
        let told = (
            self.run.to_string(),
            &file.stamp().after,
            (sha256(bytes), is_known),
            Look::at(file.target()),
            edits,
        );
        let told = serde_json::to_vec(&told).map(|told| sha256(&told));
        let id = told.ok().and_then(|told| Uuid::parse_str(&told[..32]).ok());
        CommandId(id.unwrap_or_else(|| self.session.world.id()))
    }
}

/// Whether an edit says that an item is done.
fn is_mark(edit: &Edit) -> bool {
    matches!(edit, Edit::SetState { to, .. } if *to == ItemState::Done)
}

/// Takes out of the edits the marks that a merge put on other words: nobody has said
/// that what the file asks for there is done. The items that stay open.
fn leave_misplaced(origins: &Origins, edits: &mut Vec<Edit>) -> Vec<Node> {
    let nodes = mark_origins::misplaced(origins);
    let holds = |about: &Node| nodes.iter().any(|node| node.is_within(about));
    let is_misplaced = |edit: &Edit| is_mark(edit) && edit.about().is_some_and(holds);
    let (left, taken): (Vec<Edit>, Vec<Edit>) =
        std::mem::take(edits).into_iter().partition(is_misplaced);
    *edits = taken;
    left.iter().filter_map(Edit::about).cloned().collect()
}

/// What is asked about, as the file says it now: its words may be newer than those
/// of the question.
fn as_found(asked: Vec<Edit>, found: &[Edit]) -> Vec<Edit> {
    let newer = |edit: Edit| {
        let like = found.iter().find(|found| found.is_like(&edit)).cloned();
        like.unwrap_or(edit)
    };
    asked.into_iter().map(newer).collect()
}

/// That an item stands in the file, or does not any more.
fn presence(node: &Node, present: bool) -> Edit {
    let node = node.clone();
    Edit::SetPresent { node, present }
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
