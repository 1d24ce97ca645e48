//! What items wait for before they begin: when their commands are asked, and when the
//! loop has to be woken. See `docs/design/0033-waits.md`.

use jiff::Timestamp;

use super::effects::{Effect, WaitAnswer};
use super::{LoopState, RunLoop};
use crate::command::Command;
use crate::id::Node;
use crate::item::{ItemRow, ItemState};
use crate::run::RunState;
use crate::wait::{Wait, WaitChange, WaitStep};

/// So many commands are asked at once.
pub const ASKED_AT_ONCE: usize = 4;

impl RunLoop {
    /// The items that wait as their plan says.
    fn waiting_items(&self) -> impl Iterator<Item = (&ItemRow, &Wait)> {
        let items = self.tables.items_waiting_by_plan(self.run);
        items.filter_map(|item| Some((item, item.current_wait()?)))
    }

    /// Whether the loop is to see to waits: it holds the run, and the run goes on.
    fn should_watch_waits(&self) -> bool {
        let goes_on = |row: &crate::run::RunRow| {
            row.state == RunState::Running && row.invocation.asked.is_none()
        };
        let is_over = self.stopping.is_some() || self.closing.is_some();
        !is_over && self.is_holder() && self.run().is_some_and(goes_on)
    }

    /// Whether something is waited for by the plan.
    #[must_use]
    pub fn has_waits(&self) -> bool {
        self.should_watch_waits() && self.waiting_items().next().is_some()
    }

    /// What is to be stored of waits: those that begin, and those that are over.
    pub(super) fn commit_wait_steps(&mut self, now: Timestamp) -> Option<Vec<Effect>> {
        if !self.should_watch_waits() {
            return None;
        }
        let answered = std::mem::take(&mut self.waits.answered);
        let is_waited_for = |step: &WaitStep| {
            let item = self.tables.item(self.run, &step.node);
            item.and_then(ItemRow::current_wait) == Some(&step.wait)
        };
        let mut steps: Vec<WaitStep> = answered.into_values().filter(is_waited_for).collect();
        for item in self.tables.items_waiting_by_plan(self.run) {
            let is_new = item.state == ItemState::Ready && item.has_open_wait();
            let waits_for_time = item.current_wait().is_some_and(|it| it.command.is_none());
            let what = match item.wait_end() {
                _ if is_new => WaitChange::Begins,
                Some(until) if waits_for_time && until <= now => WaitChange::TimeCame,
                Some(_) | None => continue,
            };
            if what == WaitChange::Begins {
                self.waits.said_no.remove(&item.node);
            }
            steps.extend(item.plan.wait.as_deref().cloned().map(|wait| WaitStep {
                node: item.node.clone(),
                wait,
                what,
            }));
        }
        if steps.is_empty() {
            return None;
        }
        let holds_others = steps.iter().any(|step| {
            let item = self.tables.item(self.run, &step.node);
            step.what.is_over() && item.is_some_and(|item| !item.is_leaf())
        });
        let command = Command::StepWaits {
            run: self.run,
            token: self.token,
            steps,
            holds_others,
        };
        Some(self.start_commit(command, None))
    }

    /// A command answered, or could not.
    pub(super) fn apply_wait_answer(
        &mut self,
        now: Timestamp,
        node: Node,
        answer: WaitAnswer,
    ) -> Vec<Effect> {
        let Some((wait, _)) = self.waits.asking.remove(&node) else {
            return Vec::new();
        };
        let item = self.tables.item(self.run, &node);
        let Some(item) = item.filter(|item| item.current_wait() == Some(&wait)) else {
            return Vec::new();
        };
        let is_late = item.wait_end().is_some_and(|until| until <= now);
        let what = match answer {
            WaitAnswer::Yes => WaitChange::SaidYes,
            WaitAnswer::NotRun { printed } => WaitChange::NotRun { printed },
            WaitAnswer::No { printed } if is_late => WaitChange::Late { printed },
            WaitAnswer::No { .. } => {
                self.waits.said_no.insert(node, (now, wait));
                return Vec::new();
            }
        };
        let step = WaitStep {
            node: node.clone(),
            wait,
            what,
        };
        self.waits.answered.insert(node, step);
        match self.doing {
            LoopState::Busy | LoopState::Waiting => self.start_look(),
            LoopState::Looking | LoopState::Committing(_) | LoopState::Finished => Vec::new(),
        }
    }

    /// Asks the commands that are due, and has the loop woken when the next is: as the
    /// loop comes to rest.
    pub(super) fn watch_waits(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let rests = matches!(self.doing, LoopState::Busy | LoopState::Waiting);
        if self.doing == LoopState::Finished {
            return;
        }
        let (tables, run) = (&self.tables, self.run);
        for (node, (wait, is_ended)) in &mut self.waits.asking {
            let item = tables.item(run, node);
            let is_wanted = item.and_then(ItemRow::current_wait) == Some(wait);
            if !is_wanted && !std::mem::replace(is_ended, true) {
                effects.push(Effect::EndAsking { node: node.clone() });
            }
        }
        if !rests || !self.has_waits() {
            return;
        }
        let due = self.waiting_items().filter_map(|(item, wait)| {
            wait.command.as_ref()?;
            let due = self.waits.next_ask(item, wait, now)?;
            (due <= now).then(|| (due, item.node.clone(), wait.clone()))
        });
        let mut due: Vec<_> = due.collect();
        // Those that answered longest ago come first.
        let last = |node: &Node| self.waits.said_no.get(node).map(|(at, _)| *at);
        due.sort_by_key(|(_, node, _)| last(node));
        let room = ASKED_AT_ONCE.saturating_sub(self.waits.asking.len());
        for (_, node, wait) in due.into_iter().take(room) {
            let asked = (wait.clone(), false);
            self.waits.asking.insert(node.clone(), asked);
            effects.push(Effect::AskWait { node, wait });
        }
        if !effects
            .iter()
            .any(|effect| matches!(effect, Effect::WaitUntil(_)))
        {
            let wake = self
                .next_due_time(now)
                .into_iter()
                .chain(self.waits.sits_until);
            effects.extend(wake.min().map(Effect::WakeAt));
        }
    }

    /// Whether all that is due is to ask commands, for which the loop need not look around.
    pub(super) fn has_only_waits_due(&self, now: Timestamp) -> bool {
        let is_due = |until: Option<Timestamp>| until.is_some_and(|until| until <= now);
        if !self.should_watch_waits() || is_due(self.waits.sits_until) {
            return false;
        }
        let mut has_to_ask = false;
        for (item, wait) in self.waiting_items() {
            match wait.command {
                Some(_) => has_to_ask |= is_due(self.waits.next_ask(item, wait, now)),
                None if is_due(item.wait_end()) => return false,
                None => {}
            }
        }
        has_to_ask
    }

    /// When something that is waited for is due, that is not yet.
    pub(super) fn next_due_time(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.should_watch_waits() {
            return None;
        }
        let due = self
            .waiting_items()
            .filter_map(|(item, wait)| match wait.command {
                Some(_) => self.waits.next_ask(item, wait, now),
                None => item.wait_end(),
            });
        due.filter(|due| *due > now).min()
    }

    /// Nothing is to be done before a time, or before something that is waited for is
    /// due.
    pub(super) fn idle_until(&mut self, now: Timestamp, until: Option<Timestamp>) -> Vec<Effect> {
        self.doing = match self.under_way.is_empty() {
            true => LoopState::Waiting,
            false => LoopState::Busy,
        };
        let until = until.into_iter().chain(self.time_box_end()).min();
        self.waits.sits_until = until;
        // What is asked just now is asked again after that.
        let asked = self.waiting_items().map(|(_, wait)| {
            let every = wait.command.as_ref().map(|_| wait.ask_interval());
            every.and_then(|every| now.checked_add(every).ok())
        });
        let asked = asked.flatten().min();
        let wake = until
            .into_iter()
            .chain(self.next_due_time(now))
            .chain(asked);
        wake.min().map(Effect::WaitUntil).into_iter().collect()
    }
}
