//! From a `PROGRESS.yaml` to a plan: a fresh one, or one that another tool
//! left half done.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use piton_core::attempt::HumanNeeded;
use piton_core::classify::FailureCategory;
use piton_core::iteration_hook::IterationHook;
use piton_core::plan::{
    ImportedItemHistory, ImportedRunHistory, ItemTags, ItemTurn, Order, Plan, PlannedItem,
};
use piton_core::policy::{self, OnDependencyFailure, Policy, RetryPolicy};
use piton_core::request::{InsertPosition, Proposals};
use piton_core::run::Pause;
use piton_core::scope::FileScope;
use piton_core::{ItemState, Node, RunId, TreePosition};

use super::elapsed::{parse_elapsed, render_time};
use super::field::non_empty_text;
use super::native::{self, FACE, NodeRest};
use super::requests;
use crate::tree::ValueNode as TreeNode;

use super::progress::{Children, PhaseNode, PhaseStatus, SprintProgress, SprintStatus};

/// The plan that `progress` describes, for a run of this id and name.
///
/// `source` is the path of the sprint, as the journal keeps it. What the
/// sprint went through before stands in the plan's past.
#[must_use]
pub fn plan_of_progress(progress: &SprintProgress, run: RunId, name: &str, source: &str) -> Plan {
    let progress = &with_failure_on_current_node(progress);
    let mut items = Vec::new();
    let finished = progress.status == SprintStatus::Completed;
    for (node, index, id) in nodes_with_paths(&progress.phases, None) {
        let above = ParentContext {
            siblings: &progress.phases,
            finished,
            is_parallel: is_parallel(progress),
            ..ParentContext::default()
        };
        push_planned_items(
            &mut items,
            node,
            &id,
            &TreePosition::default().child(index),
            &above,
        );
    }
    Plan {
        requests: requests::open_requests(progress),
        run,
        name: name.to_owned(),
        face: FACE.to_owned(),
        source: source.to_owned(),
        policy: policy_of_sprint(progress),
        order: Order::InTurn,
        native: Some(native::native_of_sprint(progress)),
        past: past_of_sprint(progress, &items),
        items,
    }
}

/// The sprint with its trouble on the node that has it: the schema shows it
/// there, the original tool writes what a person is needed for, and what went
/// wrong with a phase without steps, at the top alone.
fn with_failure_on_current_node(progress: &SprintProgress) -> Cow<'_, SprintProgress> {
    let node = progress.current_node();
    let has_human = node.is_some_and(|node| node.progress.human_needed.is_some());
    let is_told = has_human || progress.phases.iter().any(is_broken);
    let (status, human, error) = match progress.status {
        SprintStatus::NeedsHuman if !has_human => (
            PhaseStatus::Blocked,
            progress.stop.human_needed.as_ref(),
            None,
        ),
        SprintStatus::Blocked if !is_told => {
            let error = progress.stop.error.as_ref();
            let error = error.filter(|error| !error.starts_with(LIMIT_REACHED));
            (PhaseStatus::Failed, None, error)
        }
        SprintStatus::NotStarted
        | SprintStatus::InProgress
        | SprintStatus::Completed
        | SprintStatus::Blocked
        | SprintStatus::Paused
        | SprintStatus::PausedAtBreakpoint
        | SprintStatus::NeedsHuman
        | SprintStatus::Interrupted => return Cow::Borrowed(progress),
    };
    if human.is_none() && error.is_none() {
        return Cow::Borrowed(progress);
    }
    let (human, error) = (human.cloned(), error.cloned());
    let mut progress = progress.clone();
    if let Some(node) = progress.current_node_mut() {
        node.status = status;
        node.progress.human_needed = human.or(node.progress.human_needed.take());
        node.progress.error = error.or(node.progress.error.take());
    }
    Cow::Owned(progress)
}

/// How the original says that its limit of iterations was reached: of that no
/// node has failed.
const LIMIT_REACHED: &str = "Maximum iteration limit reached";

/// The nodes of a list, each with its index and its path.
fn nodes_with_paths<'a>(
    nodes: &'a [PhaseNode],
    parent: Option<&'a Node>,
) -> impl Iterator<Item = (&'a PhaseNode, u32, Node)> {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    (0..).zip(nodes).map(move |(index, node)| {
        let nth = seen.entry(&node.id).or_insert(0);
        *nth += 1;
        (node, index, Node::child(parent, &node.id, *nth))
    })
}

/// What an item takes over from those above it.
#[derive(Default)]
pub(super) struct ParentContext<'a> {
    /// The list that it stands in.
    pub(super) siblings: &'a [PhaseNode],
    /// Whether the whole sprint is finished, whatever its nodes say.
    pub(super) finished: bool,
    /// An item above is finished: nothing below it is started any more.
    pub(super) closed: bool,
    /// An item above waits for others.
    pub(super) pending: bool,
    /// Those of the list are worked on side by side, as far as none waits for
    /// another one.
    pub(super) side_by_side: bool,
    /// The sprint works on steps side by side where they say what they wait for.
    pub(super) is_parallel: bool,
}

/// Whether `parallel-execution` is on.
fn is_parallel(progress: &SprintProgress) -> bool {
    let config = progress.settings.parallel_execution.as_ref();
    let enabled = config.and_then(|config| config.get("enabled"));
    enabled.and_then(TreeNode::as_bool) == Some(true)
}

/// Whether one of a list says what it waits for.
pub(super) fn has_graph(siblings: &[PhaseNode]) -> bool {
    siblings.iter().any(|node| !node.depends_on.is_empty())
}

pub(super) fn push_planned_items(
    items: &mut Vec<PlannedItem>,
    node: &PhaseNode,
    path: &Node,
    place: &TreePosition,
    above: &ParentContext<'_>,
) {
    let children = node.children.as_slice();
    let parent = path.parent();
    let depends_on = node
        .depends_on
        .iter()
        .map(|id| Node::child(parent.as_ref(), id, 1))
        .collect();
    let waits = above.pending
        || !node
            .depends_on
            .iter()
            .all(|id| is_sibling_finished(above.siblings, id));
    let state = state_of_node(node, children, above, waits);
    let mut rest = NodeRest::from_node(node);
    let past = past_of_node(node, state, &mut rest);
    items.push(PlannedItem {
        node: path.clone(),
        id: node.id.clone(),
        place: place.clone(),
        state,
        prompt: node.prompt.clone(),
        model: node.model.clone(),
        gate: node.gate.as_ref().map(import_gate),
        breakpoint: node.break_after == Some(true),
        approval: false,
        turn: ItemTurn {
            parallel: node.parallel == Some(true) || above.side_by_side,
            waits_for_parallel: node.wait_for_parallel == Some(true),
            gives_way: false,
        },
        depends_on,
        native: rest.pack(),
        past,
        piece_of: None,
        injected: None,
        tags: ItemTags::default(),
        claims: node.claims,
        scope: FileScope(node.files.clone()),
        repository: None,
        wait: node.wait.as_ref().map(native::import_wait),
    });
    let below = ParentContext {
        siblings: children,
        finished: above.finished,
        closed: above.closed || state.is_finished(),
        pending: state == ItemState::Pending,
        side_by_side: above.is_parallel && has_graph(children),
        is_parallel: above.is_parallel,
    };
    for (child, index, id) in nodes_with_paths(children, Some(path)) {
        push_planned_items(items, child, &id, &place.child(index), &below);
    }
}

fn is_sibling_finished(siblings: &[PhaseNode], id: &str) -> bool {
    let finished =
        |node: &&PhaseNode| matches!(node.status, PhaseStatus::Completed | PhaseStatus::Skipped);
    siblings
        .iter()
        .find(|node| node.id == id)
        .is_some_and(|node| finished(&node))
}

fn state_of_node(
    node: &PhaseNode,
    children: &[PhaseNode],
    above: &ParentContext<'_>,
    waits: bool,
) -> ItemState {
    let untouched = if waits {
        ItemState::Pending
    } else {
        ItemState::Ready
    };
    let state = match node.status {
        PhaseStatus::Completed => ItemState::Done,
        PhaseStatus::Skipped => ItemState::Skipped,
        // What failed, or is to be done again, stands below; the list only holds it.
        PhaseStatus::Failed | PhaseStatus::Blocked
            if !children.iter().any(is_broken) && children.iter().any(is_open) =>
        {
            ItemState::Working
        }
        PhaseStatus::Failed => ItemState::Failed,
        PhaseStatus::Blocked if node.progress.human_needed.is_some() => ItemState::Waiting,
        PhaseStatus::Blocked => ItemState::Blocked,
        PhaseStatus::InProgress if !children.is_empty() => ItemState::Working,
        // An agent that was under way is gone: its node is to be done again.
        PhaseStatus::InProgress => untouched,
        PhaseStatus::Pending if children.iter().any(is_touched) => ItemState::Working,
        PhaseStatus::Pending => untouched,
    };
    let has_work = node.prompt.is_some() || !children.is_empty();
    let startable = matches!(state, ItemState::Ready | ItemState::Pending);
    if startable && !above.finished && (above.closed || !has_work) {
        // No runner will ever start it, and the run must not wait for it.
        return ItemState::Skipped;
    }
    if state == ItemState::Working && above.closed {
        return ItemState::Skipped;
    }
    state
}

fn is_broken(node: &PhaseNode) -> bool {
    let own = matches!(node.status, PhaseStatus::Failed | PhaseStatus::Blocked);
    own || node.children.as_slice().iter().any(is_broken)
}

fn is_open(node: &PhaseNode) -> bool {
    !matches!(node.status, PhaseStatus::Completed | PhaseStatus::Skipped)
}

fn is_touched(node: &PhaseNode) -> bool {
    node.status != PhaseStatus::Pending || node.children.as_slice().iter().any(is_touched)
}

fn past_of_node(node: &PhaseNode, state: ItemState, rest: &mut NodeRest) -> ImportedItemHistory {
    let started_at = parse_time(node.progress.started_at.as_deref(), &mut rest.started_at);
    let completed_at = parse_time(
        node.progress.completed_at.as_deref(),
        &mut rest.completed_at,
    );
    if started_at.is_some() && completed_at.is_some() {
        rest.elapsed = None;
    }
    if status_of_state(state) != node.status {
        rest.status = Some(node.status.as_str().to_owned());
    }
    ImportedItemHistory {
        started_at,
        completed_at,
        summary: node.progress.summary.clone(),
        error: node.progress.error.clone(),
        retries: node
            .progress
            .retry_count
            .and_then(|count| u32::try_from(count).ok()),
        human: node
            .progress
            .human_needed
            .as_ref()
            .map(|human| HumanNeeded {
                reason: human.reason.clone(),
                details: human.details.clone(),
            }),
        pull_request: None,
        pull_request_name: None,
    }
}

/// A time; its text is kept where piton would write it otherwise.
fn parse_time(text: Option<&str>, keep: &mut Option<String>) -> Option<Timestamp> {
    let text = text?;
    let time = text.parse::<Timestamp>().ok();
    if time.map(render_time).as_deref() != Some(text) {
        *keep = Some(text.to_owned());
    }
    time
}

/// The word for an item's state.
pub(super) fn status_of_state(state: ItemState) -> PhaseStatus {
    match state {
        ItemState::Pending | ItemState::Ready => PhaseStatus::Pending,
        ItemState::Working => PhaseStatus::InProgress,
        ItemState::Waiting | ItemState::Blocked => PhaseStatus::Blocked,
        ItemState::Done => PhaseStatus::Completed,
        ItemState::Failed => PhaseStatus::Failed,
        ItemState::Skipped | ItemState::Dropped => PhaseStatus::Skipped,
    }
}

pub(super) fn import_gate(gate: &super::SprintGate) -> piton_core::gate::Gate {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is positive, and one beyond u64 saturates"
    )]
    let timeout_s = gate.timeout_s.max(1.0).ceil() as u64;
    piton_core::gate::Gate {
        script: gate.script.clone(),
        on_fail_prompt: gate.on_fail_prompt.clone(),
        runs_max: u32::try_from(gate.max_retries).unwrap_or(u32::MAX).max(1),
        timeout_s,
    }
}

/// The rules in `config` and `retry`; what is mistyped there counts as not given.
pub(super) fn policy_of_sprint(progress: &SprintProgress) -> Policy {
    let get = |key| {
        progress
            .settings
            .config
            .as_ref()
            .and_then(|config| config.get(key))
    };
    let count = |key| get(key).and_then(TreeNode::as_u64).map(saturating_u32);
    let time_box = get("time-box").and_then(TreeNode::text);
    Policy {
        repositories: None,
        retry: parse_retry(progress.settings.retry.as_ref()),
        limits: policy::Limits {
            iterations_max: count("max-iterations"),
            tasks_max: count("max-tasks"),
            time_box_s: time_box.and_then(parse_elapsed).map(|time| time.as_secs()),
            ..policy::Limits::default()
        },
        auto_commit: get("auto-commit").and_then(TreeNode::as_bool) == Some(true),
        iteration_hooks: iteration_hooks(progress),
        proposals: parse_proposals(progress.settings.orchestration.as_ref()),
        concurrency_max: parallel_setting(progress, "maxConcurrency")
            .and_then(TreeNode::as_u64)
            .map(saturating_u32),
        on_dependency_failure: parallel_setting(progress, "onDependencyFailure")
            .and_then(TreeNode::as_str)
            .and_then(parse_failure_strategy),
        review: None,
    }
}

/// What `parallel-execution` says, where it is on.
fn parallel_setting<'a>(progress: &'a SprintProgress, key: &str) -> Option<&'a TreeNode> {
    let config = progress.settings.parallel_execution.as_ref();
    config
        .filter(|_| is_parallel(progress))
        .and_then(|config| config.get(key))
}

fn parse_failure_strategy(word: &str) -> Option<OnDependencyFailure> {
    match word {
        "skip-dependents" => Some(OnDependencyFailure::SkipDependents),
        "fail-phase" => Some(OnDependencyFailure::FailPhase),
        "continue" => Some(OnDependencyFailure::Continue),
        _ => None,
    }
}

/// How proposed steps are taken in; none where the sprint does not want any.
fn parse_proposals(orchestration: Option<&TreeNode>) -> Option<Proposals> {
    let get = |key| orchestration.and_then(|config| config.get(key));
    let is_on = |key| get(key).and_then(TreeNode::as_bool) == Some(true);
    if !is_on("enabled") {
        return None;
    }
    let insert = match get("insertStrategy").and_then(TreeNode::as_str) {
        // Each step says where it belongs.
        Some("custom") => None,
        Some("after-current") => Some(InsertPosition::AfterCurrent),
        Some(_) | None => Some(InsertPosition::EndOfPhase(None)),
    };
    Some(Proposals {
        insert,
        auto_approve: is_on("autoApprove"),
    })
}

/// The hooks that are on and say what to do: first those that the original
/// waits for, then those that it lets run beside what comes next.
fn iteration_hooks(progress: &SprintProgress) -> Vec<IterationHook> {
    let mut on: Vec<&TreeNode> = progress.enabled_hooks().collect();
    on.sort_by_key(|hook| hook.get("parallel").and_then(TreeNode::as_bool) == Some(true));
    let mut seen = HashSet::new();
    let hooks = on.into_iter().filter_map(|hook| {
        let prompt = non_empty_text(hook, "prompt").map(str::to_owned);
        let follows = || non_empty_text(hook, "workflow").map(prompt_of_workflow);
        Some(IterationHook {
            id: hook.get("id").and_then(TreeNode::text)?.to_owned(),
            prompt: prompt.or_else(follows)?,
        })
    });
    hooks.filter(|hook| seen.insert(hook.id.clone())).collect()
}

/// What the agent of a hook is told that names a workflow and says nothing else.
fn prompt_of_workflow(name: &str) -> String {
    format!(
        "Do what the workflow `{name}` asks for: read `{name}.yaml` in `.claude/workflows`, and follow the prompts of its phases, one after another. It is about the iteration that has just ended, number $ITERATION of the sprint $SPRINT_ID, at $PHASE_ID; its transcript is $ITERATION_TRANSCRIPT."
    )
}

fn saturating_u32(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn parse_retry(rules: Option<&TreeNode>) -> RetryPolicy {
    let default = RetryPolicy::default();
    let Some(rules) = rules.filter(|rules| rules.as_map().is_some()) else {
        return default;
    };
    let list = |key| {
        rules
            .get(key)
            .and_then(TreeNode::as_seq)
            .unwrap_or_default()
    };
    let mut backoff_ms: Vec<u64> = list("backoffMs")
        .iter()
        .filter_map(TreeNode::as_u64)
        .collect();
    if backoff_ms.is_empty() {
        backoff_ms.push(1_000);
    }
    let attempts_max = rules.get("maxAttempts").and_then(TreeNode::as_u64);
    let categories = list("retryOn").iter().filter_map(TreeNode::as_str);
    RetryPolicy {
        retries_max: attempts_max.map_or(default.retries_max, saturating_u32),
        backoff_ms,
        categories: categories.filter_map(FailureCategory::parse).collect(),
        // Who says what is tried again means nothing else.
        at_once_max: 0,
    }
}

fn past_of_sprint(progress: &SprintProgress, items: &[PlannedItem]) -> Option<ImportedRunHistory> {
    if progress.status == SprintStatus::NotStarted && !progress.phases.iter().any(is_touched) {
        return None;
    }
    let pause = pause_of_sprint(progress, items);
    let done = progress.status == SprintStatus::Completed;
    let stuck = find_stuck_item(items).filter(|_| pause.is_none() && !done);
    let time = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
    let iterations = progress
        .stats
        .current_iteration
        .and_then(|count| u32::try_from(count).ok());
    Some(ImportedRunHistory {
        // A sprint that was touched has been started, whether or not it says when.
        started_at: time(&progress.stats.started_at)
            .or(Some(Timestamp::UNIX_EPOCH))
            .filter(|_| {
                progress.status != SprintStatus::NotStarted
                    || progress.phases.iter().any(is_touched)
            }),
        completed_at: time(&progress.stats.completed_at),
        done,
        pause,
        stuck: stuck.map(|item| item.node.clone()),
        waits: stuck.is_some_and(|item| item.state == ItemState::Waiting),
        iterations: iterations.unwrap_or(0),
    })
}

/// The deepest node that failed or waits for a person: the run goes on when a
/// person has decided about it.
fn find_stuck_item(items: &[PlannedItem]) -> Option<&PlannedItem> {
    let broken = |item: &&PlannedItem| item.state.is_broken() || item.state == ItemState::Waiting;
    let first = items.iter().find(broken)?;
    items
        .iter()
        .filter(broken)
        .filter(|item| item.node.is_within(&first.node))
        .max_by_key(|item| item.place.depth())
}

fn pause_of_sprint(progress: &SprintProgress, items: &[PlannedItem]) -> Option<Pause> {
    let reason = progress.stop.pause_reason.clone().unwrap_or_default();
    match progress.status {
        SprintStatus::PausedAtBreakpoint => {
            let id = progress.stop.breakpoint_phase_id.as_deref();
            let node = items
                .iter()
                .find(|item| Some(item.id.as_str()) == id)
                .or(items.first())?;
            Some(Pause::Breakpoint {
                node: node.node.clone(),
            })
        }
        SprintStatus::Paused => Some(match reason.strip_prefix("limit ") {
            Some(limit) => Pause::Limit {
                limit: limit.to_owned(),
            },
            None if reason.contains("PAUSE") => Pause::File,
            None => Pause::Person {
                by: "a person before piton".to_owned(),
            },
        }),
        SprintStatus::NotStarted
        | SprintStatus::InProgress
        | SprintStatus::Completed
        | SprintStatus::Blocked
        | SprintStatus::NeedsHuman
        | SprintStatus::Interrupted => None,
    }
}

/// Whether a node holds a list, be it empty.
pub(super) fn children_at_depth(depth: usize, nodes: Vec<PhaseNode>) -> Children {
    if depth == 1 {
        Children::Steps(nodes)
    } else {
        Children::Phases(nodes)
    }
}
