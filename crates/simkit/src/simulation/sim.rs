//! What a simulation consists of.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use piton_core::attempt::Report;
use piton_core::policy::Limits;
use piton_core::recover::Recovery;
use piton_core::run_loop::{Effect, RunLoop, RunLoopOptions};
use piton_core::wait::Wait;
use piton_core::{AttemptId, ItemRow, Node, Outcome};

use super::rng::Rng;
use super::script::Script;
use super::service::Service;
use crate::repo::Repo;
use crate::world::World;

/// How much goes wrong.
#[derive(Clone, Copy)]
pub struct Chaos {
    /// Crashes, in percent of the places where one may happen.
    pub crashes: u32,
    /// Signals to the runner, likewise.
    pub signals: u32,
    /// What people may do out of turn.
    pub meddling: u32,
}

pub const CALM: Chaos = Chaos {
    crashes: 0,
    signals: 0,
    meddling: 0,
};

/// An agent that was started.
pub(super) struct Agent {
    pub(super) node: Node,
    pub(super) alive: bool,
    pub(super) done_at: Timestamp,
    pub(super) report: Report,
    pub(super) recovery: Option<Box<Recovery>>,
}

impl Agent {
    /// What is to be done now: a failure is looked into only when it did not complete.
    pub(super) fn recovery(&self) -> Option<Box<Recovery>> {
        let failed = [Outcome::Failed, Outcome::Partial, Outcome::Blocked];
        let looked = failed.contains(&self.report.outcome);
        self.recovery.clone().filter(|_| looked)
    }
}

/// What works on an item, as its runner sees it.
pub(super) struct Work {
    pub(super) for_: WorkFor,
    /// When it ends by itself.
    pub(super) ends: Timestamp,
    /// When the time box ends.
    pub(super) until: Option<Timestamp>,
    /// It was asked to end.
    pub(super) is_stopped: bool,
}

#[derive(Debug)]
pub(super) enum WorkFor {
    Agent(AttemptId),
    /// The command.
    Gate(String),
    /// What is done about a lane or a merge; the unit as it was when that began.
    Git(Box<Effect>, Box<ItemRow>),
}

impl Work {
    /// When something happens to it.
    pub(super) fn next(&self, now: Timestamp) -> Timestamp {
        let over_time = self.until.filter(|_| !self.is_stopped);
        let ends = if self.is_stopped { now } else { self.ends };
        over_time.map_or(ends, |until| until.min(ends))
    }
}

/// The machine went down, or the process was killed.
pub(super) struct Crash;

/// What is known of checks.
pub(super) struct Checks {
    /// Where edits of checks are drawn from, and how many are left.
    pub(super) edits: Option<(Rng, u32)>,
    /// The checks that passed since the work on their items began.
    pub(super) passed: BTreeSet<(Node, String)>,
    /// The merges whose tree the check of their unit saw in its lane.
    pub(super) seen_in_lane: BTreeSet<String>,
    /// So many events were looked at.
    pub(super) looked_at: usize,
    /// How many checks of units in the merge queue were changed.
    pub(super) changed_in_queue: u32,
}

impl Checks {
    pub(super) fn new() -> Self {
        Self {
            edits: None,
            passed: BTreeSet::new(),
            seen_in_lane: BTreeSet::new(),
            looked_at: 0,
            changed_in_queue: 0,
        }
    }
}

/// A runner that does not have its turn.
pub(super) struct Process {
    pub(super) runner: RunLoop,
    pub(super) queue: VecDeque<Effect>,
    pub(super) works: BTreeMap<Node, Work>,
    pub(super) wake: Option<Timestamp>,
    pub(super) asked_waits: AskedWaits,
    pub(super) seen: usize,
    /// It is stopped until then.
    pub(super) stopped: Option<Timestamp>,
}

/// Commands that a runner asks, each with the time of its answer.
#[derive(Default)]
pub(super) struct AskedWaits(pub(super) BTreeMap<Node, (Timestamp, Wait)>);

impl AskedWaits {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The command that answers first, and when.
    pub(super) fn first(&self) -> Option<(Timestamp, Node)> {
        let all = self.0.iter();
        all.map(|(node, (time, _))| (*time, node.clone())).min()
    }
}

/// A run that is simulated, with all that is around it.
pub struct Sim {
    pub world: World,
    pub(super) script: Script,
    pub(super) rng: Rng,
    pub(super) chaos: Chaos,
    pub(super) limits: Limits,
    pub(super) options: RunLoopOptions,
    pub(super) agents: BTreeMap<AttemptId, Agent>,
    /// What the runner that lives has started.
    pub(super) works: BTreeMap<Node, Work>,
    /// When the runner wants to be woken.
    pub(super) wake: Option<Timestamp>,
    /// The commands that it asks whether items may begin.
    pub(super) asked_waits: AskedWaits,
    /// Where edits of waits are drawn from, and how many are left.
    pub(super) wait_edits: Option<(Rng, u32)>,
    /// Commits in the repository.
    pub(super) head: u32,
    /// How often something was cut short: by a crash, a signal, or a limit.
    pub cuts: u32,
    /// How many items were worked on at the same time, at most.
    pub most_at_once: usize,
    pub(super) effects: u32,
    pub(super) seen: usize,
    /// The work tree, where agents may lie; where it is absent nothing is compared.
    pub work_tree: Option<u64>,
    /// The repository, where the run is worked on in lanes.
    pub repo: Option<Repo>,
    /// The others in which it is worked on, by their names in the plan.
    pub(super) other_repos: BTreeMap<String, Repo>,
    /// Where pull requests are opened, where work goes to them.
    pub(super) service: Option<Service>,
    /// So many events were looked at.
    pub(super) checked: usize,
    /// The runners that do not have their turn.
    pub(super) others: Vec<Process>,
    pub(super) runners_max: usize,
    /// How many runners worked on the run at the same time, at most.
    pub most_runners: usize,
    /// The tokens of the runners that took the lanes last.
    pub(super) lane_takers: BTreeMap<u32, u64>,
    pub(super) checks: Checks,
}
