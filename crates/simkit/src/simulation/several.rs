//! Several runners of one run, each in a process of its own.
//!
//! One of them has its turn at a time. The others may be killed, or stopped for a
//! while, so that their leases run out and they come back when others have gone on
//! without them.

use std::collections::{BTreeMap, VecDeque};

use jiff::SignedDuration;
use piton_core::attempt::Report;
use piton_core::run_loop::{Effect, RunLoop, RunLoopOptions};
use piton_core::{Command, HolderLiveness, Node, Outcome, RunState};

use super::sim::{AskedWaits, Crash, Process, Sim, Work, WorkFor};

impl Sim {
    /// So many runners work on the run at the same time, at most.
    #[must_use]
    pub fn with_runners(mut self, most: usize) -> Self {
        self.runners_max = most;
        self
    }

    /// Gives another process its turn, now and then; and what may happen to those
    /// that do not have it.
    pub(super) fn take_turns(&mut self, runner: &mut RunLoop, queue: &mut VecDeque<Effect>) {
        if self.runners_max < 2 {
            return;
        }
        if self.rng.percent(3) {
            self.join();
        }
        if !self.others.is_empty() && self.rng.small(200) < self.chaos.crashes {
            self.kill_one();
        }
        if !self.others.is_empty() && self.rng.small(400) < self.chaos.crashes {
            let nth = self.rng.below(self.others.len());
            let seconds = i64::from(1 + self.rng.small(90));
            self.others[nth].stopped = Some(self.world.now + SignedDuration::from_secs(seconds));
        }
        let awake = self.others.iter().filter(|other| !self.is_stopped(other));
        let beats: Vec<u64> = awake.map(|other| other.runner.token()).collect();
        for token in beats {
            self.world.heartbeat(token);
        }
        let waits = self.wake.is_some() || !self.asked_waits.is_empty();
        let has_nothing = queue.is_empty() && self.works.is_empty() && !waits;
        let is_idle = has_nothing && self.seen == self.world.journal.len();
        if is_idle || self.rng.percent(40) {
            self.switch(runner, queue, is_idle);
        }
        self.most_runners = self.most_runners.max(self.others.len() + 1);
    }

    fn is_stopped(&self, process: &Process) -> bool {
        process.stopped.is_some_and(|until| until > self.world.now)
    }

    /// Another process has its turn. One that only waits lets time pass where all
    /// others are stopped.
    fn switch(&mut self, runner: &mut RunLoop, queue: &mut VecDeque<Effect>, is_idle: bool) {
        if self.others.is_empty() {
            return;
        }
        let nth = self.rng.below(self.others.len());
        if self.is_stopped(&self.others[nth]) {
            self.world.pass(i64::from(is_idle) * 5);
            return;
        }
        let other = &mut self.others[nth];
        other.stopped = None;
        std::mem::swap(&mut other.runner, runner);
        std::mem::swap(&mut other.queue, queue);
        std::mem::swap(&mut other.works, &mut self.works);
        std::mem::swap(&mut other.wake, &mut self.wake);
        std::mem::swap(&mut other.asked_waits, &mut self.asked_waits);
        std::mem::swap(&mut other.seen, &mut self.seen);
    }

    /// The process that has its turn is over: another one goes on.
    pub(super) fn hand_over(&mut self, runner: &mut RunLoop, queue: &mut VecDeque<Effect>) -> bool {
        let Some(other) = self.others.pop() else {
            return false;
        };
        if let Some(until) = other.stopped {
            self.world.now = self.world.now.max(until);
        }
        *runner = other.runner;
        *queue = other.queue;
        self.works = other.works;
        self.wake = other.wake;
        self.asked_waits = other.asked_waits;
        self.seen = other.seen;
        true
    }

    fn join(&mut self) {
        let row = self.world.run_row();
        let may_join = row.state == RunState::Running && row.branches.lanes.is_some();
        if !may_join || self.others.len() + 1 >= self.runners_max {
            return;
        }
        let run = self.world.run;
        let join = Command::JoinRun {
            run,
            owner: "another".to_owned(),
            lock: format!("lock-{}", row.fence + 1),
        };
        if self.world.commit(&join).is_err() {
            return;
        }
        let token = self.world.run_row().fence;
        let options = RunLoopOptions {
            workers: self.workers(),
            wait: false,
            once: false,
            ..self.options.clone()
        };
        self.others.push(Process {
            runner: RunLoop::new(run, token, options, self.picture()),
            queue: VecDeque::from([Effect::Look]),
            works: BTreeMap::new(),
            wake: None,
            asked_waits: AskedWaits::default(),
            seen: self.world.journal.len(),
            stopped: None,
        });
    }

    /// A process dies; its agents may outlive it.
    fn kill_one(&mut self) {
        let nth = self.rng.below(self.others.len());
        let process = self.others.swap_remove(nth);
        self.cuts += 1;
        for work in process.works.into_values() {
            let dies = self.rng.percent(40);
            if let WorkFor::Agent(attempt) = work.for_
                && let Some(agent) = self.agents.get_mut(&attempt)
                && dies
            {
                agent.alive = false;
                agent.report = Report::with_outcome(Outcome::Interrupted);
            }
        }
    }

    /// What a runner does about the others when it looks around.
    pub(super) fn watch_others(&mut self, runner: &RunLoop) -> Result<(), Crash> {
        if self.runners_max < 2 {
            return Ok(());
        }
        let (run, token) = (self.world.run, runner.token());
        let row = self.world.run_row().clone();
        if !row.has_runner(token) {
            return Ok(());
        }
        let exists = |of: u64| {
            let mut others = self.others.iter();
            of == token || others.any(|other| other.runner.token() == of)
        };
        // One that exists and does not move is lost when its lease is.
        let known = |of: u64| match exists(of) {
            true => HolderLiveness::Nothing,
            false => HolderLiveness::Gone(of),
        };
        let is_joined = row.joined.iter().any(|joined| joined.token == token);
        let mut commands = Vec::new();
        if is_joined {
            let holder = row.holder.as_ref().map_or(0, |holder| holder.token);
            commands.push((known(holder), Command::HoldRun { run, token }));
        } else {
            let others = row.joined.iter().map(|joined| joined.token);
            let lose = |lost| (known(lost), Command::LoseRunner { run, token, lost });
            commands.extend(others.map(lose));
        }
        for (known, command) in commands {
            self.world.holder = Some(known);
            // Refused, where it is there.
            drop(self.world.commit(&command));
            self.world.holder = None;
            self.may_crash()?;
        }
        Ok(())
    }

    /// Two runners that others count on never work on one item. A merge that was
    /// taken out of the queue comes to nothing, whichever runner works on the unit again.
    pub(super) fn check_no_other_work(&self, node: &Node, work: &Work) {
        let is_merge = |for_: &WorkFor| {
            let WorkFor::Git(effect, _) = for_ else {
                return false;
            };
            matches!(
                **effect,
                Effect::MakeMerge { .. } | Effect::CheckMerge { .. }
            )
        };
        for other in &self.others {
            let at = other.works.get(node).map(|work| &work.for_);
            let at = at.filter(|at| !self.is_given_up(other.runner.token()) && !is_merge(at));
            assert!(
                at.is_none(),
                "{:?} begins while {at:?} works on {node}",
                work.for_
            );
        }
    }

    /// Whether the process that has its turn was given up by the others.
    pub(super) fn is_given_up(&self, token: u64) -> bool {
        !self.world.run_row().has_runner(token)
    }

    /// Whether a process that was given up still has a lane.
    pub(super) fn has_stray_in(&self, lane: u32) -> bool {
        let taker = self.lane_takers.get(&lane).copied();
        let mut others = self.others.iter().map(|other| other.runner.token());
        taker.is_some_and(|taker| self.is_given_up(taker) && others.any(|other| other == taker))
    }
}
