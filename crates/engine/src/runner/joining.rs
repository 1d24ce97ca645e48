//! A runner beside others: joining a run, and what becomes of it when one is gone.
//!
//! A runner that joined works on units in lanes of its own. The one that holds the
//! run keeps the files, merges, and settles what others have left; where that one is
//! gone, one that joined holds the run.

use piton_core::event::RunEvent;
use std::time::Duration;

use piton_core::{
    CallerFacts, Command, DecodedRecord, Event, HolderLiveness, Need, RunRow, RunState,
};
use piton_store::CommitError;

use super::dead_runner;
use super::dead_runner::OrphanedRun;
use super::run_facts::{open_plan_sync, owner_name, require_run, runner_facts};
use super::runner_state::{Runner, RunnerJob, RunnerMessage, TICK};
use crate::failpoint;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::runner::run_lock::{self, RunLock, TreeSharing};
use crate::session::Session;

/// How many ticks a runner waits for the others where the run is done: one may be
/// stopped, and the one that lands may have slow hooks.
const LAST_TICKS_MAX: u32 = 60;

/// Joins the runner that holds a run: the lock that says that this one lives, and
/// what was recorded.
pub(super) fn join_run(
    session: &Session<'_>,
    job: &RunnerJob,
) -> Result<(RunLock, String, Vec<DecodedRecord>), Failure> {
    let run = job.run;
    let rows = session.load(&[Need::Run(run)])?;
    let row = require_run(rows.tables.run(run))?;
    let name = session.world.new_id().simple().to_string();
    // A process that reads of it in the journal finds that it is held.
    let lock = run_lock::acquire_joint(&session.project, &row, &name)?;
    failpoint::point("join.locked");
    let command = Command::JoinRun {
        run,
        owner: owner_name(),
        lock: name.clone(),
    };
    let joined = session.commit(&command, &runner_facts(session));
    if joined.is_err() {
        run_lock::remove_joint_lock(&session.project, &row, &name);
    }
    let events = joined?.events;
    failpoint::point("join.recorded");
    Ok((lock, name, events))
}

impl Runner<'_, '_> {
    /// Looks whether the other runners of the run live. What follows from it is
    /// among the news.
    pub(super) fn check_other_runners(
        &mut self,
        is_beat: bool,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(), Failure> {
        let Some(row) = self.lp.run().filter(|_| self.lanes.is_some()).cloned() else {
            return Ok(());
        };
        let (run, token) = (row.id, self.lp.token());
        if !row.has_runner(token) {
            return Ok(());
        }
        if !self.lp.is_holder() {
            if row.state == RunState::Running {
                self.take_run_if_holder_gone(is_beat, tell)?;
            }
            return Ok(());
        }
        self.acquire_plan_lock()?;
        let mut is_lost = false;
        for joined in &row.joined {
            let lost = joined.token;
            let name = joined.lock_name.as_deref().unwrap_or_default();
            let is_gone = run_lock::is_joint_lock_free(&self.session.project, &row, name);
            let known = match is_gone {
                true => HolderLiveness::Gone(lost),
                // One that is stopped is given up when its lease has run out.
                false if is_beat => HolderLiveness::Nothing,
                false => continue,
            };
            is_lost |=
                self.commit_lease_command(&Command::LoseRunner { run, token, lost }, known)?;
            if is_gone {
                run_lock::remove_joint_lock(&self.session.project, &row, name);
            }
        }
        if is_lost {
            failpoint::point("join.lost");
            self.settle_gone_runners(tell)?;
        }
        Ok(())
    }

    /// Holds the run where the runner that did is gone.
    fn take_run_if_holder_gone(
        &mut self,
        is_beat: bool,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(), Failure> {
        let project = &self.session.project;
        let (run, token) = (self.row.id, self.lp.token());
        // One that came to hold the run without the lock on the plan has its own.
        let holder = self.lp.run().and_then(|row| row.holder.clone());
        let name = holder
            .as_ref()
            .and_then(|holder| holder.lock_name.as_deref());
        let is_gone =
            name.is_none_or(|name| run_lock::is_joint_lock_free(project, &self.row, name));
        let lock = match is_gone && run_lock::is_plan_free(project, &self.row) {
            true => run_lock::acquire(project, &self.row.plan.face, &self.row.plan.source)?,
            false => None,
        };
        let known = match &lock {
            Some(_) => HolderLiveness::Excluded,
            // One that is stopped is given up when its lease has run out.
            None if is_beat && holder.is_some() => HolderLiveness::Nothing,
            None => return Ok(()),
        };
        if !self.commit_lease_command(&Command::HoldRun { run, token }, known)? {
            return Ok(());
        }
        failpoint::point("join.holds");
        if let Some(lock) = &lock {
            lock.enter_tree(project, &self.row.name, TreeSharing::Wanted)?;
        }
        self.joining.plan_lock = lock;
        tell(Notice::Said(&format!(
            "the runner that held run `{}` is gone: this one holds it now",
            self.row.name
        )));
        let rows = self.session.load(&[Need::Run(run), Need::Tree(run)])?;
        self.plan_sync = open_plan_sync(self.session, &self.row, &rows.tables, tell);
        self.settle_gone_runners(tell)
    }

    /// Takes the lock on the plan where this runner holds the run without it: the
    /// runner that had it was stopped, and is gone now.
    fn acquire_plan_lock(&mut self) -> Result<(), Failure> {
        if self.joining.beside.is_none() || self.joining.plan_lock.is_some() {
            return Ok(());
        }
        let project = &self.session.project;
        let lock = run_lock::acquire(project, &self.row.plan.face, &self.row.plan.source)?;
        if let Some(lock) = &lock {
            lock.enter_tree(project, &self.row.name, TreeSharing::Wanted)?;
        }
        self.joining.plan_lock = lock;
        Ok(())
    }

    /// Ends what runners that are gone left running, and looks for their work in
    /// their lanes.
    fn settle_gone_runners(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Result<(), Failure> {
        let run = self.row.id;
        let rows = self.session.load(&[
            Need::Run(run),
            Need::Tree(run),
            Need::OpenAttempts(Some(run)),
        ])?;
        let row = require_run(rows.tables.run(run))?;
        let mut living = run_lock::locks_of_living_runners(&self.session.project, &row);
        living.push(self.spool.lock_name());
        let grace = self.job.first_agent().limits.grace;
        let orphaned = OrphanedRun {
            tables: &rows.tables,
            run,
            was_cut_short: true,
        };
        dead_runner::end_survivors(&self.spool, &orphaned, &living, grace, tell)?;
        self.restore_held_lanes();
        Ok(())
    }

    /// The run, once those that still work on it have decided what it comes to: whether
    /// it pauses, and at its end that it lands. A signal ends the wait.
    pub(super) fn wait_for_outcome(
        &mut self,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<RunRow, Failure> {
        let run = self.row.id;
        let tick = Duration::try_from(TICK).unwrap_or_default();
        let (mut was_asked, mut is_told, mut ticks) = (false, false, 0);
        loop {
            let row = require_run(self.session.load(&[Need::Run(run)])?.tables.run(run))?;
            let is_asked = row.invocation.asked.is_some() || self.has_pause_file();
            // The request was withdrawn: the run is to go on.
            let is_withdrawn = was_asked && !is_asked;
            was_asked = is_asked;
            let waits = match row.state {
                RunState::Running => self.joining.beside.is_some() && self.is_holder_alive(&row),
                RunState::Done => ticks < LAST_TICKS_MAX && self.are_others_ending(&row),
                RunState::New
                | RunState::Waiting
                | RunState::Blocked
                | RunState::Paused
                | RunState::Interrupted => false,
            };
            if !waits || is_withdrawn || self.stop_reason.is_some() {
                return Ok(row);
            }
            if row.state == RunState::Done {
                ticks += 1;
            } else if !std::mem::replace(&mut is_told, true) {
                tell(Notice::Said(&format!(
                    "nothing more is begun here: waiting for what run `{}` comes to",
                    row.name
                )));
            }
            if let Ok(RunnerMessage::Signal(name)) = self.threads.receiver.recv_timeout(tick) {
                self.stop_reason = Some(name.to_owned());
            }
        }
    }

    fn is_holder_alive(&self, row: &RunRow) -> bool {
        row.runners().next().is_some() && !run_lock::is_free(&self.session.project, row)
    }

    /// Whether others are about to end with a run that is done: those that joined, and
    /// the one that holds it, which lands it.
    fn are_others_ending(&self, row: &RunRow) -> bool {
        let project = &self.session.project;
        let holder_ends = !self.lp.is_holder() && !run_lock::is_plan_free(project, row);
        holder_ends || !run_lock::locks_of_living_runners(project, row).is_empty()
    }

    /// Carries out a command about leases beside what the loop does, and says whether
    /// one changed. What it recorded comes with the news. It is refused where another
    /// runner has done the same, or there is no need.
    fn commit_lease_command(
        &self,
        command: &Command,
        holder: HolderLiveness,
    ) -> Result<bool, Failure> {
        let facts = CallerFacts {
            holder,
            ..self.current_facts()
        };
        match self.session.commit(command, &facts) {
            Ok(committed) => {
                let events = committed.events.iter();
                let is_lease = |event: &Event| {
                    matches!(
                        event,
                        Event::Run(RunEvent::LeaseLost { .. } | RunEvent::LeaseTaken { .. })
                    )
                };
                Ok(events.map(|recorded| &recorded.event).any(is_lease))
            }
            Err(CommitError::Refused(_)) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }
}
