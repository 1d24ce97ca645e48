//! Which unit gets a lane, and which one is merged next.
//!
//! An item is begun only in the lane of its unit, and of one unit one item at a
//! time. Units that have a lane go first. One merge is under way at a time, and
//! needs no worker.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::effects::{Effect, LaneEnd, MergeEnd, RunLoopEnding};
use super::ongoing::OngoingWork;
use super::{LoopState, RunLoop, has_unsettled_work};
use crate::command::Command;
use crate::id::Node;
use crate::item::{ItemRow, Stage};
use crate::lane::{LanesRow, count_begun_tasks, unit_of_node};
use crate::merge::{MergeReturn, MergeState, MergeStep};
use crate::run::{RunRow, RunState, RunnerRequest};

impl RunLoop {
    /// How many workers have something to do.
    pub(super) fn count_working(&self) -> usize {
        let works = self.under_way.values();
        works.filter(|work| !work.is_merge).count()
    }

    /// Whether the item may be worked on where it is: in the lane of its unit,
    /// if its run is worked on in lanes.
    pub(super) fn is_in_lane(&self, item: &ItemRow) -> bool {
        let in_lanes = self.run().is_some_and(|row| row.branches.lanes.is_some());
        !in_lanes || self.has_own_lane(&unit_of_node(&item.node))
    }

    /// Whether this runner gave the unit the lane that it has, and it is ready.
    fn has_own_lane(&self, unit: &Node) -> bool {
        let unit = self.tables.item(self.run, unit);
        let lane = unit.and_then(ItemRow::lane);
        lane.is_some_and(|lane| {
            let prepared = unit.and_then(|unit| self.prepared.get(&unit.node));
            lane.by == self.token && prepared == Some(&lane.fence)
        })
    }

    /// Whether units may get lanes: the runner is not asked to stop.
    pub(super) fn can_take_lanes(&self) -> bool {
        let row = self.run();
        let runs = row.is_some_and(|row| row.state == RunState::Running);
        let asked = row.and_then(|row| row.invocation.asked.as_ref());
        let stops = asked.is_some_and(|asked| asked.request == RunnerRequest::Stop);
        runs && !stops && self.stopping.is_none()
    }

    /// Whether this runner holds the run, and not one that it has joined.
    #[must_use]
    pub fn is_holder(&self) -> bool {
        let holder = self.run().and_then(|row| row.holder.as_ref());
        holder.is_none_or(|holder| holder.token == self.token) && !self.has_joined()
    }

    fn has_joined(&self) -> bool {
        let joined = self.run().map(|row| row.joined.iter());
        let mut joined = joined.into_iter().flatten();
        joined.any(|joined| joined.token == self.token)
    }

    /// Whether other runners work on the run as well.
    #[must_use]
    pub fn has_other_runners(&self) -> bool {
        self.run().is_some_and(|row| !row.joined.is_empty())
    }

    /// Whether another runner has the lane of the unit.
    pub(super) fn is_in_other_lane(&self, unit: &Node) -> bool {
        let lane = self.tables.item(self.run, unit).and_then(ItemRow::lane);
        let by = lane.map(|lane| lane.by).filter(|by| *by != self.token);
        by.is_some_and(|by| self.run().is_some_and(|row| row.has_runner(by)))
    }

    /// Whether another runner has a lane, in which something may be under way.
    pub(super) fn has_other_lanes(&self) -> bool {
        let lanes = self.run().and_then(|row| row.branches.lanes.as_deref());
        lanes.is_some_and(|lanes| lanes.held.values().any(|unit| self.is_in_other_lane(unit)))
    }

    /// Whether this runner has to leave the unit alone: another one has its lane, or
    /// one that is gone had it and the runner that holds the run settles that.
    fn is_barred(&self, unit: &Node) -> bool {
        let lane = self.tables.item(self.run, unit).and_then(ItemRow::lane);
        let is_mine = lane.is_none_or(|lane| lane.by == self.token);
        self.is_in_other_lane(unit) || !(is_mine || self.is_holder())
    }

    pub(super) fn start_lane(&mut self, node: &Node) -> Vec<Effect> {
        let node = unit_of_node(node);
        let prepare = Effect::PrepareLane { node: node.clone() };
        let lane = self.tables.item(self.run, &node).and_then(ItemRow::lane);
        if lane.is_some_and(|lane| lane.by == self.token) {
            return self.start_and_continue(prepare);
        }
        self.doing = LoopState::Committing(Some(Box::new(prepare)));
        vec![Effect::LaneIntent { node }]
    }

    /// The units at which something is under way.
    pub(super) fn busy_units(&self) -> BTreeSet<Node> {
        self.under_way.keys().map(unit_of_node).collect()
    }

    /// Whether the item can be worked on, now or when its time comes. What it
    /// depends on in another unit has to be merged, unless a runner that died left a
    /// check or a commit of it open: no lane is left before that has an end.
    fn is_startable(&self, item: &ItemRow) -> bool {
        let unit = unit_of_node(&item.node);
        let is_merged = |on: &Node| {
            let of = unit_of_node(on);
            let row = self.tables.item(self.run, &of);
            let policy = self.run().map(|row| &row.plan.policy);
            let passes =
                |row: &ItemRow| policy.is_none_or(|policy| policy.can_proceed_after(row.state));
            of == unit || row.is_none_or(passes)
        };
        let above = item.node.ancestors();
        let above = above.filter_map(|node| self.tables.item(self.run, &node));
        let mut line = std::iter::once(item).chain(above);
        item.is_actionable()
            && !item.has_open_wait()
            && !self.is_to_be_adopted(item)
            && item.stage != Stage::Merge
            && (has_unsettled_work(item)
                || line.all(|row| row.plan.depends_on.iter().all(is_merged)))
    }

    /// The item to be worked on next: of a unit that has a lane, or of one that
    /// can get one.
    pub(super) fn next_item_in_lanes(
        &self,
        lanes: &LanesRow,
        now: Timestamp,
        may_begin: impl Fn(&ItemRow) -> bool,
    ) -> Option<&ItemRow> {
        let mut busy = self.busy_units();
        let is_due = |item: &&ItemRow| self.not_before(item, now).is_none();
        let barred = lanes.held.values().filter(|unit| self.is_barred(unit));
        let barred: Vec<Node> = barred.cloned().collect();
        let own = lanes.held.len() - barred.len();
        busy.extend(barred);
        let held = lanes.held.values().filter(|unit| !busy.contains(*unit));
        let units = held.filter_map(|unit| self.tables.item(self.run, unit));
        let mut in_lanes = units.flat_map(|unit| self.tables.items_of_unit(unit));
        let next = in_lanes.find(|item| is_due(item) && may_begin(item) && self.is_startable(item));
        if next.is_some() {
            return next;
        }
        let is_held = |unit: &Node| lanes.held.values().any(|held| held == unit);
        let has_room = own < self.options.workers.get();
        let (tasks, invocation) = self.run().map_or((0, 0), |row| {
            (row.invocation.tasks, row.invocation.invocations)
        });
        let tasks = count_begun_tasks(tasks, lanes.count_begun_units(invocation));
        let max = self.run().and_then(|row| row.invocation.limits.tasks_max);
        let may_take = has_room && max.is_none_or(|max| tasks < max);
        let fits = |item: &ItemRow| {
            if !may_begin(item) {
                return false;
            }
            let unit = unit_of_node(&item.node);
            let may_be_taken =
                may_take && self.has_target(&unit) && !self.has_overlapping_work(lanes, &unit);
            !busy.contains(&unit) && (is_held(&unit) || may_be_taken) && self.is_startable(item)
        };
        self.next_item_of(now, fits)
    }

    /// Whether a unit that is at work is about the same files.
    fn has_overlapping_work(&self, lanes: &LanesRow, unit: &Node) -> bool {
        let row = self.tables.item(self.run, unit);
        row.is_some_and(|row| self.tables.find_overlapping_unit(lanes, row).is_some())
    }

    /// Whether there is a branch in the repository of the unit that its work goes to. An
    /// item may be added for a repository that the run did not have when it began.
    pub(super) fn has_target(&self, unit: &Node) -> bool {
        let unit = self.tables.item(self.run, unit);
        let repository = unit.and_then(|unit| self.tables.repository_of(unit));
        self.run()
            .is_some_and(|row| row.target_in_repository(repository).is_some())
    }

    /// Takes its lane from a unit that is over, or that waits for others or for
    /// people. One that a dead runner left is taken over first.
    pub(super) fn release_idle_lanes(&mut self, row: &RunRow) -> Option<Vec<Effect>> {
        let lanes = row
            .branches
            .lanes
            .as_ref()
            .filter(|_| self.stopping.is_none())?;
        let busy = self.busy_units();
        let is_free = |unit: &&Node| !busy.contains(*unit) && !self.is_barred(unit);
        let held = lanes.held.values().filter(is_free);
        let units = held.filter_map(|unit| self.tables.item(self.run, unit));
        let unit = units.into_iter().find(|unit| {
            let mut below = self.tables.items_of_unit(unit);
            let may_leave = self.has_own_lane(&unit.node) || self.can_take_lanes();
            may_leave && !below.any(|item| self.is_startable(item))
        })?;
        let node = unit.node.clone();
        if !self.has_own_lane(&node) {
            return Some(self.start_lane(&node));
        }
        Some(self.start_and_continue(Effect::SaveWork { node }))
    }

    fn release_lane(&mut self, node: &Node, saved: Option<String>) -> Vec<Effect> {
        let unit = self.tables.item(self.run, node);
        let Some(lane) = unit.and_then(ItemRow::lane) else {
            return self.start_look();
        };
        let command = Command::LeaveLane {
            run: self.run,
            token: self.token,
            node: node.clone(),
            fence: lane.fence,
            saved,
        };
        self.start_commit(command, None)
    }

    pub(super) fn apply_lane_end(&mut self, node: &Node, end: LaneEnd) -> Vec<Effect> {
        match end {
            LaneEnd::Saved(saved) => self.release_lane(node, saved),
            LaneEnd::Prepared => {
                let lane = self.tables.item(self.run, node).and_then(ItemRow::lane);
                let fence = lane.map(|lane| lane.fence);
                self.prepared
                    .extend(fence.map(|fence| (node.clone(), fence)));
                self.start_look()
            }
            LaneEnd::Stopped => self.start_look(),
            LaneEnd::Fault(why) => self.stop_by_fault(why),
        }
    }

    /// Whether units are queued for this runner to merge, at a time if one is given, and
    /// none is being merged.
    pub(super) fn has_merge_to_begin(&self, now: Option<Timestamp>) -> bool {
        let lanes = self.run().and_then(|row| row.branches.lanes.as_deref());
        let is_merge = |work: &OngoingWork| work.is_merge;
        let is_due = |node: &Node| now.is_none_or(|now| !self.is_retry_pending(node, now));
        let is_queued = lanes.is_some_and(|lanes| lanes.queue.iter().any(is_due));
        is_queued && self.is_holder() && !self.under_way.values().any(is_merge)
    }

    /// The first in the queue is taken a step further, unless one is already.
    pub(super) fn start_next_merge(&mut self, now: Timestamp) -> Option<Vec<Effect>> {
        if !self.has_merge_to_begin(Some(now)) {
            return None;
        }
        let lanes = self.run().and_then(|row| row.branches.lanes.as_deref())?;
        let mut queued = lanes.queue.iter();
        let first = queued.find(|node| !self.is_retry_pending(node, now));
        let node = lanes.merging.as_ref().or(first)?.clone();
        if self.busy_units().contains(&node) {
            return None;
        }
        if let Some(effects) = self.next_pull_request_effect(&node) {
            return Some(effects);
        }
        let effect = match self.tables.item(self.run, &node)?.merge()?.state {
            MergeState::Queued => Effect::MakeMerge { node },
            MergeState::Checking => Effect::CheckMerge { node },
            MergeState::Passed => Effect::MoveTarget { node },
            MergeState::InReview | MergeState::Requested | MergeState::Returned => return None,
        };
        Some(self.start_and_continue(effect))
    }

    pub(super) fn apply_merge_end(&mut self, node: Node, fence: u64, end: MergeEnd) -> Vec<Effect> {
        let step = match end {
            MergeEnd::Step(step) => self.add_merged_since(&node, step),
            MergeEnd::Stopped => return self.start_look(),
            MergeEnd::Fault(why) => return self.stop_by_fault(why),
        };
        let command = Command::StepMerge {
            run: self.run,
            token: self.token,
            node,
            fence,
            step,
        };
        self.start_commit(command, None)
    }

    /// A return that names the units that were merged since the work on this one
    /// began: with one of them it is red.
    fn add_merged_since(&self, node: &Node, step: MergeStep) -> MergeStep {
        let MergeStep::Return {
            why:
                MergeReturn::Red {
                    command,
                    output,
                    changed,
                    ..
                },
        } = step
        else {
            return step;
        };
        let merged = |node: &Node| {
            let item = self.tables.item(self.run, node);
            item.and_then(|item| item.work.unit.as_deref())
        };
        let since = merged(node).map_or(0, |unit| unit.since);
        let own = self.tables.item(self.run, node);
        let repository = own.and_then(ItemRow::repository_of_work);
        let units = self.tables.items(self.run);
        let with = units.filter(|item| {
            let merged = item.work.unit.as_ref().map_or(0, |unit| unit.merged);
            let is_other = merged > since && item.node != *node;
            is_other && item.repository_of_work() == repository
        });
        let with = with.map(|item| item.node.clone()).collect();
        MergeStep::Return {
            why: MergeReturn::Red {
                command,
                output,
                with,
                changed,
            },
        }
    }

    /// Something beside the items cannot be done: all that works is ended, and
    /// the invocation with it.
    fn stop_by_fault(&mut self, why: String) -> Vec<Effect> {
        self.stopping.get_or_insert_with(|| why.clone());
        self.fault.get_or_insert(RunLoopEnding::Fault(why));
        if self.under_way.is_empty() {
            return self.start_look();
        }
        self.doing = LoopState::Busy;
        self.stop_all_work(false)
    }
}
