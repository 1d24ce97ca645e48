//! From the read tables to a `PROGRESS.yaml`: the whole of it, counters derived.

use piton_core::gate::GateRuns;
use std::collections::HashMap;

use jiff::Timestamp;
use piton_core::item::Evidence;
use piton_core::iteration_hook::IterationHookRun;
use piton_core::native::Native;
use piton_core::run::Pause;
use piton_core::{ItemRow, ItemState, RunId, RunRow, RunState, Tables};

use super::elapsed::{format_elapsed, render_time};
use super::import::{children_at_depth, status_of_state};
use super::native::{self, NodeRest, unpack_keys};
use super::progress::{
    Children, GateStatus, GateTracking, NodePointer, NodeProgress, PhaseNode, PhaseStatus,
    SprintGate, SprintHumanNeeded, SprintProgress, SprintStatus, Stats,
};
use super::requests;
use crate::yaml::ValueNode;

/// Makes the document of a run, again and again.
///
/// What only the native file has is read once, and again when it changed.
#[derive(Debug)]
pub struct SprintExporter {
    run: RunId,
    native: Option<Native>,
    sprint: SprintProgress,
    rests: HashMap<piton_core::Node, (Option<Native>, NodeRest)>,
    /// Of an item that has nothing of its own in the native file.
    no_rest: NodeRest,
}

impl SprintExporter {
    /// An exporter for the run of that id.
    #[must_use]
    pub fn new(tables: &Tables, run: RunId) -> Self {
        let native = tables.run(run).and_then(|row| row.plan.native.clone());
        Self {
            run,
            sprint: native::sprint_of_native(native.as_ref()),
            native,
            rests: HashMap::new(),
            no_rest: NodeRest::default(),
        }
    }

    /// The document as of `tables`, with `heartbeat` as the last sign of life.
    /// None when the run is not in the tables.
    pub fn export(&mut self, tables: &Tables, heartbeat: Timestamp) -> Option<SprintProgress> {
        let run = tables.run(self.run)?.clone();
        if run.plan.native != self.native {
            self.native.clone_from(&run.plan.native);
            self.sprint = native::sprint_of_native(run.plan.native.as_ref());
        }
        let mut progress = self.sprint.clone();
        let mut stack: Vec<(usize, PhaseNode, Vec<PhaseNode>, bool)> = Vec::new();
        let mut roots = Vec::new();
        let mut background = Vec::new();
        for item in tables.tree(self.run) {
            close_nodes(&mut stack, &mut roots, item.plan.place.depth());
            let rest = self.rest_of_item(item);
            if rest.parallel == Some(true) {
                background.extend(parallel_task_of_item(tables, item));
            }
            let keeps_list = item.children > 0 || rest.empty_list;
            let node = node_of_item(item, rest);
            let children = Vec::with_capacity(item.children as usize);
            stack.push((item.plan.place.depth(), node, children, keeps_list));
        }
        close_nodes(&mut stack, &mut roots, 0);
        progress.phases = roots;
        append_parallel_tasks(&mut progress, background);
        append_hook_tasks(&mut progress, tables, self.run);
        requests::export_requests(&mut progress, tables, self.run);
        progress.current = current_pointer(tables, self.run);
        set_state(&mut progress, &run, tables);
        set_stats(&mut progress, &run);
        progress.last_activity = Some(render_time(heartbeat));
        Some(progress)
    }

    fn rest_of_item(&mut self, item: &ItemRow) -> &NodeRest {
        if item.plan.native.is_none() {
            self.rests.remove(&item.node);
            return &self.no_rest;
        }
        let fresh = || {
            (
                item.plan.native.clone(),
                NodeRest::unpack(item.plan.native.as_ref()),
            )
        };
        let kept = self.rests.entry(item.node.clone()).or_insert_with(fresh);
        if kept.0 != item.plan.native {
            *kept = fresh();
        }
        &kept.1
    }
}

/// Hands every node of at least `depth` to its parent.
fn close_nodes(
    stack: &mut Vec<(usize, PhaseNode, Vec<PhaseNode>, bool)>,
    roots: &mut Vec<PhaseNode>,
    depth: usize,
) {
    while stack.last().is_some_and(|(at, ..)| *at >= depth) {
        let Some((at, mut node, children, keeps_list)) = stack.pop() else {
            return;
        };
        if keeps_list {
            node.children = children_at_depth(at, children);
        } else {
            node.children = Children::None;
        }
        match stack.last_mut() {
            Some((_, _, siblings, _)) => siblings.push(node),
            None => roots.push(node),
        }
    }
}

fn current_pointer(tables: &Tables, run: RunId) -> NodePointer {
    let place = tables
        .current_item(run)
        .map(|item| item.plan.place.0.clone())
        .unwrap_or_default();
    let at = |level: usize| place.get(level).map(|index| *index as usize);
    NodePointer {
        phase: at(0).unwrap_or(0),
        step: at(1),
        sub_phase: at(2),
    }
}

fn node_of_item(item: &ItemRow, rest: &NodeRest) -> PhaseNode {
    let same_status = rest
        .status
        .as_deref()
        .and_then(PhaseStatus::parse)
        .filter(|status| is_untouched_since_import(item) && is_imported_status(*status, item));
    let show = |time: Option<Timestamp>, kept: &Option<String>| match (time, kept) {
        (Some(time), Some(text)) if text.parse().ok() == Some(time) => Some(text.clone()),
        (Some(time), _) => Some(render_time(time)),
        (None, Some(text)) if is_untouched_since_import(item) => Some(text.clone()),
        (None, _) => None,
    };
    PhaseNode {
        id: item.plan.id.clone(),
        status: same_status.unwrap_or_else(|| status_of_state(item.state)),
        prompt: item.plan.prompt.clone(),
        children: Children::None,
        parallel: rest.parallel,
        wait_for_parallel: rest.wait_for_parallel,
        model: item.plan.model.clone(),
        break_after: item.plan.breakpoint.then_some(true).or(rest.break_after),
        gate: item.plan.gate.as_ref().map(|gate| SprintGate {
            script: gate.script.clone(),
            on_fail_prompt: gate.on_fail_prompt.clone(),
            max_retries: u64::from(gate.runs_max),
            timeout_s: rest.gate_timeout.unwrap_or(gate.timeout_s as f64),
            extra: unpack_keys(rest.gate_extra.as_deref()),
        }),
        wait: item
            .plan
            .wait
            .as_ref()
            .map(|it| native::export_wait(it, rest)),
        claims: item.plan.claims,
        files: item.plan.scope.0.clone(), // What it waits for with those above it, the file says of those.
        depends_on: item
            .plan
            .depends_on
            .iter()
            .filter(|on| on.parent() == item.node.parent())
            .map(|on| last_id_of_path(on.as_str()))
            .collect(),
        injected: rest.injected.or(item.plan.injected.map(|_| true)),
        injected_at: rest
            .injected_at
            .clone()
            .or_else(|| item.plan.injected.map(render_time)),
        extra: unpack_keys(rest.extra.as_deref()),
        progress: NodeProgress {
            // A gate that only the agent's word had to stand up to is none of the file's.
            gate_tracking: item
                .proof
                .gate_runs
                .as_ref()
                .filter(|_| item.proof.claim_gate.is_none())
                .map(|runs| gate_tracking(item, runs)),
            started_at: show(item.started_at, &rest.started_at),
            completed_at: show(item.completed_at, &rest.completed_at),
            elapsed: elapsed_between(item.started_at, item.completed_at)
                .or_else(|| rest.elapsed.clone()),
            summary: item.summary.clone(),
            error: item.error.clone(),
            retry_count: (item.tries.retries > 0).then_some(u64::from(item.tries.retries)),
            next_retry_at: item
                .tries
                .until
                .filter(|_| !item.is_waiting_by_plan())
                .map(render_time),
            human_needed: item.people.human.as_ref().map(|human| SprintHumanNeeded {
                reason: human.reason.clone(),
                details: human.details.clone(),
                extra: unpack_keys(rest.human_extra.as_deref()),
            }),
            commit: commit_of_item(item).or_else(|| rest.commit.clone()),
        },
    }
    .with_wait_as_pending(item)
}

impl PhaseNode {
    /// A node that waits for a time or a command is pending in the words of this format.
    fn with_wait_as_pending(mut self, item: &ItemRow) -> Self {
        if item.state == ItemState::Waiting && item.people.human.is_none() {
            self.status = PhaseStatus::Pending;
        }
        self
    }
}

/// Whether an item that had this status when it was taken over may have the
/// state that it has now from that.
fn is_imported_status(status: PhaseStatus, item: &ItemRow) -> bool {
    match status {
        PhaseStatus::InProgress => matches!(item.state, ItemState::Ready | ItemState::Pending),
        // One without any work was skipped when it was taken over, and says so.
        PhaseStatus::Pending => {
            let has_work = item.plan.prompt.is_some() || item.children > 0;
            has_work && item.state == ItemState::Skipped
        }
        PhaseStatus::Completed
        | PhaseStatus::Blocked
        | PhaseStatus::Skipped
        | PhaseStatus::Failed => false,
    }
}

/// Whether nothing has happened to the item since it was taken over.
fn is_untouched_since_import(item: &ItemRow) -> bool {
    item.attempts == 0 && !matches!(item.state, ItemState::Working)
}

fn last_id_of_path(path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or(path);
    last.replace("%2F", "/").replace("%25", "%")
}

fn commit_of_item(item: &ItemRow) -> Option<String> {
    item.proof
        .evidence
        .iter()
        .rev()
        .find_map(Evidence::commit_id)
        .cloned()
}

fn gate_tracking(item: &ItemRow, runs: &GateRuns) -> GateTracking {
    let status = match (runs.open, runs.passed, item.state) {
        (true, _, _) => GateStatus::Running,
        (false, true, _) => GateStatus::Passed,
        (false, false, ItemState::Failed | ItemState::Blocked) => GateStatus::Blocked,
        (false, false, _) if runs.runs == 0 => GateStatus::Pending,
        (false, false, _) => GateStatus::Retrying,
    };
    GateTracking {
        attempts: u64::from(runs.runs),
        status,
        last_output: (!runs.output.is_empty()).then(|| runs.output.clone()),
        last_exit_code: runs.exit.map(i64::from),
        error: runs.error.clone(),
        extra: Vec::new(),
    }
}

fn elapsed_between(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<String> {
    let span = to?.duration_since(from?);
    std::time::Duration::try_from(span).ok().map(format_elapsed)
}

/// What stands at the top: only what belongs to the present state.
fn set_state(progress: &mut SprintProgress, run: &RunRow, tables: &Tables) {
    progress.stop.pause_reason = None;
    progress.stop.breakpoint_phase_id = None;
    progress.stop.error = None;
    progress.stop.failed_phase = None;
    progress.stop.blocked_at = None;
    progress.stop.human_needed = None;
    progress.stop.interrupted_at = None;
    progress.stop.interrupted_signal = None;
    let since = render_time(run.since);
    progress.status = match run.state {
        RunState::New => SprintStatus::NotStarted,
        RunState::Running => SprintStatus::InProgress,
        RunState::Done => SprintStatus::Completed,
        RunState::Waiting => match &run.pause {
            Some(pause @ Pause::Breakpoint { node }) => {
                progress.stop.pause_reason = Some(pause.describe_reason());
                progress.stop.breakpoint_phase_id = Some(last_id_of_path(node.as_str()));
                SprintStatus::PausedAtBreakpoint
            }
            Some(Pause::Person { .. } | Pause::File | Pause::Limit { .. }) | None => {
                SprintStatus::NeedsHuman
            }
        },
        RunState::Interrupted => {
            progress.stop.interrupted_at = Some(since);
            progress.stop.interrupted_signal = run
                .reason
                .as_deref()
                .filter(|reason| reason.starts_with("SIG"))
                .map(str::to_owned);
            SprintStatus::Interrupted
        }
        RunState::Blocked => {
            progress.stop.error = run.reason.clone().or_else(|| stuck_error(run, tables));
            progress.stop.failed_phase = stuck_item(run, tables).map(|item| item.plan.id.clone());
            progress.stop.blocked_at = Some(since);
            SprintStatus::Blocked
        }
        RunState::Paused => {
            progress.stop.pause_reason = run.pause.as_ref().map(Pause::describe_reason);
            SprintStatus::Paused
        }
    };
}

/// The sub-phases that began in the background, behind those that had when the file
/// was taken over. As in the original they stay when they are over.
fn append_parallel_tasks(progress: &mut SprintProgress, mut begun: Vec<(Timestamp, ValueNode)>) {
    if begun.is_empty() {
        return;
    }
    begun.sort_by_key(|(began, _)| *began);
    let before = progress.parallel_tasks.as_ref().and_then(ValueNode::as_seq);
    let mut tasks = before.unwrap_or_default().to_vec();
    tasks.extend(begun.into_iter().map(|(_, task)| task));
    progress.parallel_tasks = Some(ValueNode::seq(tasks));
}

/// How deep the sub-phase of a step stands: only these are tasks in the original.
const SUB_PHASE_DEPTH: usize = 3;

/// A sub-phase that began in the background, and when. The number of its process
/// and its log are not known here.
fn parallel_task_of_item(tables: &Tables, item: &ItemRow) -> Option<(Timestamp, ValueNode)> {
    let began = item.started_at.filter(|_| item.attempts > 0)?;
    let step = tables.item(item.run, &item.node.parent()?)?;
    if item.plan.place.depth() != SUB_PHASE_DEPTH {
        return None;
    }
    let (step, phase, second) = (&step.plan.id, &item.plan.id, began.as_second());
    let status = match item.state {
        ItemState::Pending | ItemState::Ready | ItemState::Working | ItemState::Waiting => {
            "running"
        }
        ItemState::Done => "completed",
        ItemState::Failed | ItemState::Blocked | ItemState::Skipped | ItemState::Dropped => {
            "failed"
        }
    };
    let mut pairs = vec![
        ("id", ValueNode::string(format!("{step}-{phase}-{second}"))),
        ("step-id", ValueNode::string(step)),
        ("phase-id", ValueNode::string(phase)),
        ("status", ValueNode::string(status)),
        ("spawned-at", ValueNode::string(render_time(began))),
    ];
    let ended = item
        .completed_at
        .map(|time| ("completed-at", ValueNode::string(render_time(time))));
    pairs.extend(ended);
    if item.state == ItemState::Done {
        pairs.push(("exit-code", ValueNode::plain("0")));
    }
    let error = item.error.as_ref().filter(|_| item.state.is_broken());
    pairs.extend(error.map(|error| ("error", ValueNode::string(error))));
    Some((began, ValueNode::map(pairs)))
}

/// The hooks that ran since the file was taken over, behind those that ran before.
fn append_hook_tasks(progress: &mut SprintProgress, tables: &Tables, run: RunId) {
    let mut runs: Vec<&IterationHookRun> = tables
        .tree(run)
        .flat_map(|item| item.work.hook_runs.iter())
        .collect();
    if runs.is_empty() {
        return;
    }
    runs.sort_by_key(|run| run.started_at);
    let before = progress.hook_tasks.as_ref().and_then(ValueNode::as_seq);
    let mut tasks = before.unwrap_or_default().to_vec();
    tasks.extend(runs.into_iter().map(hook_task_of_run));
    progress.hook_tasks = Some(ValueNode::seq(tasks));
}

fn hook_task_of_run(run: &IterationHookRun) -> ValueNode {
    let status = match &run.end {
        None => "running",
        Some(end) if end.completed => "completed",
        Some(_) => "failed",
    };
    let mut pairs = vec![
        ("iteration", ValueNode::plain(run.iteration.to_string())),
        ("hook-id", ValueNode::string(&run.id)),
        ("status", ValueNode::string(status)),
        ("spawned-at", ValueNode::string(render_time(run.started_at))),
    ];
    if let Some(end) = &run.end {
        pairs.push(("completed-at", ValueNode::string(render_time(end.at))));
        let exit = end
            .exit
            .map(|exit| ("exit-code", ValueNode::plain(exit.to_string())));
        pairs.extend(exit);
        let transcript = end.transcript.as_ref();
        pairs.extend(transcript.map(|path| ("transcript", ValueNode::string(path))));
    }
    ValueNode::map(pairs)
}

fn stuck_error(run: &RunRow, tables: &Tables) -> Option<String> {
    stuck_item(run, tables)?.error.clone()
}

/// The item at which the run is stuck.
fn stuck_item<'t>(run: &RunRow, tables: &'t Tables) -> Option<&'t ItemRow> {
    tables.item(run.id, run.at.as_ref()?)
}

fn set_stats(progress: &mut SprintProgress, run: &RunRow) {
    let started_at = run.started_at.filter(|time| *time != Timestamp::UNIX_EPOCH);
    let counted = progress.derived_stats();
    progress.stats = Stats {
        started_at: started_at.map(render_time),
        completed_at: run.completed_at.map(render_time),
        elapsed: elapsed_between(started_at, run.completed_at).or(progress.stats.elapsed.take()),
        current_iteration: (run.invocation.iterations_total > 0)
            .then_some(u64::from(run.invocation.iterations_total)),
        max_iterations: run.invocation.limits.iterations_max.map(u64::from),
        ..counted
    };
}
