//! The typed `PROGRESS.yaml`.
//!
//! One recursive [`PhaseNode`] stands for phases, steps and sub-phases. What
//! piton hands on without looking into it (orchestration, hooks, the operator
//! queue) stays a YAML value. Keys that piton does not know are kept in
//! `extra`, in their order; so are known keys whose value is `null` or has the
//! wrong type, because absent and null are two things. Setting the typed field
//! wins over such an entry when the document is written.

use piton_core::evidence::ClaimOverrides;
use piton_core::words;

use crate::yaml::ValueNode;

/// A sprint under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SprintProgress {
    /// The id of the sprint.
    pub sprint_id: String,
    /// Where the sprint stands.
    pub status: SprintStatus,
    /// The top-level phases.
    pub phases: Vec<PhaseNode>,
    /// Which node is next, or the last one when all is done.
    pub current: NodePointer,
    /// Other keys within `current`, in their order.
    pub current_extra: Vec<(String, ValueNode)>,
    /// Times and counters.
    pub stats: Stats,
    /// What the sprint was compiled with, handed on as it stands.
    pub settings: SprintSettings,
    /// Why it does not go on.
    pub stop: SprintStop,
    /// Background tasks (`parallel-tasks`).
    pub parallel_tasks: Option<ValueNode>,
    /// Proposed steps that wait (`step-queue`).
    pub step_queue: Option<ValueNode>,
    /// Hooks that ran (`hook-tasks`).
    pub hook_tasks: Option<ValueNode>,
    /// Requests of agents to the operator (`operator-queue`).
    pub operator_queue: Option<ValueNode>,
    /// The last sign of life (`last-activity`).
    pub last_activity: Option<String>,
    /// What came of the sprint (`summary`).
    pub summary: Option<String>,
    /// Other keys, in their order.
    pub extra: Vec<(String, ValueNode)>,
}

/// What a sprint was compiled with, of which piton looks into no value here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SprintSettings {
    /// Prompt templates of the sprint (`prompts`).
    pub prompts: Option<ValueNode>,
    /// The worktree to work in (`worktree`).
    pub worktree: Option<ValueNode>,
    /// Which steps wait for which (`dependency-graph`).
    pub dependency_graph: Option<ValueNode>,
    /// What runs after each iteration (`per-iteration-hooks`).
    pub per_iteration_hooks: Option<ValueNode>,
    /// The retry rules of the sprint (`retry`).
    pub retry: Option<ValueNode>,
    /// The limits of the sprint (`config`).
    pub config: Option<ValueNode>,
    /// Parallel execution of steps (`parallel-execution`).
    pub parallel_execution: Option<ValueNode>,
    /// How proposed steps are taken in (`orchestration`).
    pub orchestration: Option<ValueNode>,
}

/// Why a sprint does not go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SprintStop {
    /// Why the sprint is paused (`pause-reason`).
    pub pause_reason: Option<String>,
    /// The phase whose breakpoint stopped the sprint (`breakpoint-phase-id`).
    pub breakpoint_phase_id: Option<String>,
    /// What went wrong, when the sprint is blocked (`error`).
    pub error: Option<String>,
    /// The node that failed (`failed-phase`).
    pub failed_phase: Option<String>,
    /// When it was blocked (`blocked-at`).
    pub blocked_at: Option<String>,
    /// What a person is needed for (`human-needed`).
    pub human_needed: Option<SprintHumanNeeded>,
    /// When it was interrupted (`interrupted-at`).
    pub interrupted_at: Option<String>,
    /// By which signal (`interrupted-signal`).
    pub interrupted_signal: Option<String>,
}

words! {
    /// Where a sprint stands.
    #[derive(Default)]
    SprintStatus {
        /// Nothing has run.
        #[default]
        NotStarted = "not-started",
        /// Under way.
        InProgress = "in-progress",
        /// Finished.
        Completed = "completed",
        /// A node failed for good.
        Blocked = "blocked",
        /// Paused by a person, a file or a limit.
        Paused = "paused",
        /// Stopped behind a phase with a `break`.
        PausedAtBreakpoint = "paused-at-breakpoint",
        /// Waits for a person.
        NeedsHuman = "needs-human",
        /// Stopped by a signal or a crash.
        Interrupted = "interrupted",
    }
}

words! {
    /// Where a phase, step or sub-phase stands.
    #[derive(Default)]
    PhaseStatus {
        /// Not started.
        #[default]
        Pending = "pending",
        /// An agent works on it.
        InProgress = "in-progress",
        /// Done.
        Completed = "completed",
        /// Cannot go on.
        Blocked = "blocked",
        /// Left out on purpose.
        Skipped = "skipped",
        /// Failed.
        Failed = "failed",
    }
}

words! {
    /// Where the script of a gate stands.
    #[derive(Default)]
    GateStatus {
        /// Has not run.
        #[default]
        Pending = "pending",
        /// Runs.
        Running = "running",
        /// Passed.
        Passed = "passed",
        /// Failed and will run again.
        Retrying = "retrying",
        /// Failed.
        Failed = "failed",
        /// Failed as often as it may.
        Blocked = "blocked",
    }
}

/// A phase, a step of a phase, or a sub-phase of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseNode {
    /// The id, unique among its siblings unless the writer failed at that.
    pub id: String,
    /// Where it stands.
    pub status: PhaseStatus,
    /// What the agent is asked; a phase that only has steps has none.
    pub prompt: Option<String>,
    /// What is inside.
    pub children: Children,
    /// Runs in the background (`parallel`).
    pub parallel: Option<bool>,
    /// Waits for what runs in the background (`wait-for-parallel`).
    pub wait_for_parallel: Option<bool>,
    /// The model to use.
    pub model: Option<String>,
    /// Stops the sprint when it is done (`break`).
    pub break_after: Option<bool>,
    /// The check to pass before it is done.
    pub gate: Option<SprintGate>,
    /// What it waits for before it begins.
    pub wait: Option<SprintWait>,
    /// What proof is worth for it.
    pub claims: ClaimOverrides,
    /// The files or folders that it is about.
    pub files: Vec<String>,
    /// Siblings that must be done before (`depends-on`).
    pub depends_on: Vec<String>,
    /// What came of it so far.
    pub progress: NodeProgress,
    /// Was put in while the sprint ran (`injected`).
    pub injected: Option<bool>,
    /// When (`injected-at`).
    pub injected_at: Option<String>,
    /// Other keys, in their order.
    pub extra: Vec<(String, ValueNode)>,
}

/// What came of a node so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeProgress {
    /// How the check went (`gate-tracking`).
    pub gate_tracking: Option<GateTracking>,
    /// When it started (`started-at`).
    pub started_at: Option<String>,
    /// When it ended (`completed-at`).
    pub completed_at: Option<String>,
    /// How long it took; see [`super::elapsed::parse_elapsed`].
    pub elapsed: Option<String>,
    /// What came of it.
    pub summary: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// How often it was tried again (`retry-count`).
    pub retry_count: Option<u64>,
    /// When it will be tried again (`next-retry-at`).
    pub next_retry_at: Option<String>,
    /// What a person is needed for (`human-needed`).
    pub human_needed: Option<SprintHumanNeeded>,
    /// The commit that holds its work.
    pub commit: Option<String>,
}

/// What is inside a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Children {
    /// Nothing: an agent is started for the node itself.
    #[default]
    None,
    /// The `steps` of a top-level phase.
    Steps(Vec<PhaseNode>),
    /// The `phases` of a step.
    Phases(Vec<PhaseNode>),
}

impl Children {
    /// The nodes, of whichever kind.
    pub fn as_slice(&self) -> &[PhaseNode] {
        match self {
            Self::None => &[],
            Self::Steps(nodes) | Self::Phases(nodes) => nodes,
        }
    }

    /// The nodes, to change them; `None` when there is no list.
    pub fn as_mut(&mut self) -> Option<&mut Vec<PhaseNode>> {
        match self {
            Self::None => None,
            Self::Steps(nodes) | Self::Phases(nodes) => Some(nodes),
        }
    }
}

/// A script that must succeed, and what to do when it does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SprintGate {
    /// Run with `sh -c`.
    pub script: String,
    /// What the agent is asked when the script fails (`on-fail-prompt`).
    pub on_fail_prompt: String,
    /// How often the script runs in all (`max-retries`).
    pub max_retries: u64,
    /// How many seconds it may take (`timeout`).
    pub timeout_s: f64,
    /// Other keys, in their order.
    pub extra: Vec<(String, ValueNode)>,
}

/// What a node waits for before it begins: a command, a time, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SprintWait {
    /// Run with `sh -c`; it may begin when this ends with 0.
    pub command: Option<String>,
    /// How often the command is asked.
    pub every: Option<String>,
    /// When it begins, or, with a command, a person is asked.
    pub until: Option<String>,
}

/// How a gate went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateTracking {
    /// How often the script ran.
    pub attempts: u64,
    /// Where it stands.
    pub status: GateStatus,
    /// What the script printed last, shortened (`last-output`).
    pub last_output: Option<String>,
    /// What it returned last (`last-exit-code`).
    pub last_exit_code: Option<i64>,
    /// What went wrong.
    pub error: Option<String>,
    /// Other keys, in their order.
    pub extra: Vec<(String, ValueNode)>,
}

/// What a person is needed for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SprintHumanNeeded {
    /// In a sentence.
    pub reason: String,
    /// At length.
    pub details: Option<String>,
    /// Other keys, in their order.
    pub extra: Vec<(String, ValueNode)>,
}

/// The pointer to a node, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodePointer {
    /// Which top-level phase.
    pub phase: usize,
    /// Which of its steps; `None` for a phase without steps.
    pub step: Option<usize>,
    /// Which sub-phase of the step; `None` for a step without any.
    pub sub_phase: Option<usize>,
}

/// Times and counters of a sprint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// When the sprint started; written as `null` before.
    pub started_at: Option<String>,
    /// When it was completed.
    pub completed_at: Option<String>,
    /// How many top-level phases there are.
    pub total_phases: u64,
    /// How many of them have the status completed.
    pub completed_phases: u64,
    /// How many steps there are; absent when no phase has any.
    pub total_steps: Option<u64>,
    /// How many of them have the status completed.
    pub completed_steps: Option<u64>,
    /// How long the sprint took; see [`super::elapsed::parse_elapsed`].
    pub elapsed: Option<String>,
    /// How many agents were started.
    pub current_iteration: Option<u64>,
    /// How many may be started.
    pub max_iterations: Option<u64>,
    /// Other keys, in their order.
    pub extra: Vec<(String, ValueNode)>,
}

impl SprintProgress {
    /// The counters as they really are: top-level phases, steps, and how many
    /// of each have the status completed. Everything else as it stands.
    pub fn derived_stats(&self) -> Stats {
        let steps = || self.phases.iter().flat_map(steps_of_phase);
        let total_steps = count_nodes(steps());
        let completed = |node: &&PhaseNode| node.status == PhaseStatus::Completed;
        Stats {
            total_phases: count_nodes(self.phases.iter()),
            completed_phases: count_nodes(self.phases.iter().filter(completed)),
            total_steps: (total_steps > 0).then_some(total_steps),
            completed_steps: (total_steps > 0).then(|| count_nodes(steps().filter(completed))),
            ..self.stats.clone()
        }
    }

    /// The hooks that run after each iteration.
    pub(super) fn enabled_hooks(&self) -> impl Iterator<Item = &ValueNode> {
        let hooks = self
            .settings
            .per_iteration_hooks
            .as_ref()
            .and_then(ValueNode::as_seq);
        let hooks = hooks.unwrap_or_default().iter();
        hooks.filter(|hook| hook.get("enabled").and_then(ValueNode::as_bool) == Some(true))
    }

    /// The node that `current` names, if there is one.
    pub fn current_node(&self) -> Option<&PhaseNode> {
        let mut node = self.phases.get(self.current.phase)?;
        for index in self.current.indexes_below_phase() {
            match node.children.as_slice() {
                // Old writers point at step 0 of a phase that has none.
                [] => break,
                children => node = children.get(index)?,
            }
        }
        Some(node)
    }

    /// The same, to be changed.
    pub(super) fn current_node_mut(&mut self) -> Option<&mut PhaseNode> {
        let mut node = self.phases.get_mut(self.current.phase)?;
        for index in self.current.indexes_below_phase() {
            if node.children.as_slice().is_empty() {
                break;
            }
            node = node.children.as_mut()?.get_mut(index)?;
        }
        Some(node)
    }
}

impl NodePointer {
    /// The indexes below the phase, as far as there are any.
    fn indexes_below_phase(self) -> impl Iterator<Item = usize> {
        [self.step, self.sub_phase].into_iter().flatten()
    }
}

fn steps_of_phase(phase: &PhaseNode) -> &[PhaseNode] {
    match &phase.children {
        Children::Steps(steps) => steps,
        Children::None | Children::Phases(_) => &[],
    }
}

fn count_nodes<'n>(nodes: impl Iterator<Item = &'n PhaseNode>) -> u64 {
    u64::try_from(nodes.count()).unwrap_or(u64::MAX)
}
