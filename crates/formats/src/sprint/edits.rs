//! What a person changed in a `PROGRESS.yaml` by hand.
//!
//! The difference between what piton last wrote and what stands there now,
//! told in the words of the core. A node is known by its ids, not by its
//! index. What is not there any more is no deletion; what is counted or timed
//! is not taken from a file. Both are told.

use std::collections::{BTreeSet, HashMap, VecDeque};

use piton_core::request::RequestKind;
use piton_core::scope::FileScope;
use piton_core::{Edit, ItemRow, ItemState, Node, RunState, TreePosition};

use super::import::{self, ParentContext, push_planned_items};
use super::native::{self, NodeRest};
use super::progress::{PhaseNode, PhaseStatus, SprintProgress, SprintStatus};
use super::requests;
use super::shape::STATS;
use crate::plan_file::{PlanChanges, ShownRun};
use crate::problem::Problem;
use crate::record::TableRecord;
use crate::yaml;

/// What a person changed since piton wrote `base`; what cannot be imported from a
/// file stands in the problems.
#[must_use]
pub fn collect_edits(
    base: &SprintProgress,
    theirs: &SprintProgress,
    shown: ShownRun<'_>,
) -> PlanChanges {
    SprintDiffer::new(shown, true).diff(base, theirs)
}

/// What a person added to a file where the last version that piton wrote is not known:
/// new nodes, new keys, other words, another order, and what is left out. What
/// may only be old, such as a state, is not imported. `ours` is what piton would
/// write now.
#[must_use]
pub fn collect_edits_without_base(
    ours: &SprintProgress,
    theirs: &SprintProgress,
    shown: ShownRun<'_>,
) -> PlanChanges {
    SprintDiffer::new(shown, false).diff(ours, theirs)
}

/// The edits, in the order in which they are to be tried.
#[derive(Default)]
struct SprintEdits {
    inserts: Vec<Edit>,
    orders: Vec<Edit>,
    words: Vec<Edit>,
    states: Vec<Edit>,
    retries: Vec<Edit>,
    natives: Vec<Edit>,
    requests: Vec<Edit>,
}

struct SprintDiffer<'a> {
    shown: ShownRun<'a>,
    /// Whether `base` is what piton wrote.
    has_base: bool,
    rows: HashMap<Option<Node>, Vec<&'a ItemRow>>,
    found: SprintEdits,
    problems: Vec<Problem>,
    removed: Vec<Node>,
    returned: Vec<Node>,
}

impl<'a> SprintDiffer<'a> {
    fn new(shown: ShownRun<'a>, has_base: bool) -> Self {
        let mut rows: HashMap<Option<Node>, Vec<&ItemRow>> = HashMap::new();
        for row in shown.tables.tree(shown.run) {
            rows.entry(row.node.parent()).or_default().push(row);
        }
        Self {
            shown,
            has_base,
            rows,
            found: SprintEdits::default(),
            problems: Vec::new(),
            removed: Vec::new(),
            returned: Vec::new(),
        }
    }

    fn diff(mut self, base: &SprintProgress, theirs: &SprintProgress) -> PlanChanges {
        self.diff_children(None, &base.phases, &theirs.phases);
        self.diff_sprint_keys(base, theirs);
        if self.has_base {
            self.warn_derived_of_sprint(base, theirs);
        }
        let SprintEdits {
            inserts,
            orders,
            words,
            states,
            retries,
            natives,
            requests,
        } = self.found;
        let mut edits = inserts;
        for more in [orders, words, states, retries, natives, requests] {
            edits.extend(more);
        }
        if self.has_base && base.status != theirs.status {
            let to = state_of_sprint_status(theirs.status);
            edits.push(Edit::SetRunState { to });
        }
        PlanChanges {
            edits,
            problems: self.problems,
            removed: self.removed,
            returned: self.returned,
        }
    }

    fn warn_edit_ignored(&mut self, path: String, message: String, hint: &str) {
        let problem = Problem::warning("EDIT_IGNORED", self.shown.file, path, yaml::Span::TOP);
        self.problems.push(problem.with_message(message, hint));
    }

    // Nodes.

    fn diff_children(&mut self, parent: Option<&Node>, base: &[PhaseNode], theirs: &[PhaseNode]) {
        let rows = self.rows.get(&parent.cloned()).cloned().unwrap_or_default();
        let base_of = match_rows_in_order(&rows, base);
        let their_rows = match_rows_by_content(&self.rows, &rows, theirs);
        let mut names: Vec<Node> = Vec::with_capacity(theirs.len());
        let mut taken: BTreeSet<Node> = rows.iter().map(|row| row.node.clone()).collect();
        for (node, row) in theirs.iter().zip(&their_rows) {
            if let Some(row) = row {
                names.push(row.node.clone());
                continue;
            }
            let Some(name) = free_name(&taken, parent, &node.id) else {
                continue;
            };
            self.insert_node(parent, names.last(), node, &name, theirs);
            taken.insert(name.clone());
            names.push(name);
        }
        self.diff_order(parent, &rows, base, &base_of, names);
        for (node, row) in theirs.iter().zip(&their_rows) {
            let Some(row) = row else { continue };
            let before = base_of.iter().position(|at| *at == Some(&row.node));
            if let Some(before) = before.and_then(|at| base.get(at)) {
                self.diff_node(row, before, node);
                let (old, new) = (before.children.as_slice(), node.children.as_slice());
                self.diff_children(Some(&row.node), old, new);
            } else {
                if self.has_base {
                    self.returned.push(row.node.clone());
                }
                self.diff_children(Some(&row.node), &[], node.children.as_slice());
            }
        }
        for gone in base_of.iter().flatten() {
            let there = |row: &Option<&ItemRow>| row.is_some_and(|row| row.node == **gone);
            if !their_rows.iter().any(there) {
                self.removed.push((*gone).clone());
            }
        }
    }

    fn insert_node(
        &mut self,
        parent: Option<&Node>,
        after: Option<&Node>,
        node: &PhaseNode,
        name: &Node,
        siblings: &[PhaseNode],
    ) {
        let depth = parent.map_or(0, |parent| 1 + parent.ancestors().count());
        let above = ParentContext {
            siblings,
            ..ParentContext::default()
        };
        let mut items = Vec::new();
        let place = TreePosition(vec![0; depth]).child(0);
        push_planned_items(&mut items, node, name, &place, &above);
        self.found.inserts.push(Edit::Insert {
            parent: parent.cloned(),
            after: after.cloned(),
            items,
        });
    }

    /// An order is changed where those that were there before stand otherwise
    /// than before.
    fn diff_order(
        &mut self,
        parent: Option<&Node>,
        rows: &[&ItemRow],
        base: &[PhaseNode],
        base_of: &[Option<&Node>],
        names: Vec<Node>,
    ) {
        let before: Vec<&Node> = if base.is_empty() {
            rows.iter().map(|row| &row.node).collect()
        } else {
            base_of.iter().copied().flatten().collect()
        };
        let known: BTreeSet<&Node> = before.iter().copied().collect();
        let there: BTreeSet<&Node> = names.iter().collect();
        let now = names.iter().filter(|name| known.contains(name));
        let then = before.into_iter().filter(|name| there.contains(name));
        if !now.eq(then) {
            self.found.orders.push(Edit::Order {
                parent: parent.cloned(),
                nodes: names,
            });
        }
    }

    fn diff_node(&mut self, row: &ItemRow, base: &PhaseNode, theirs: &PhaseNode) {
        self.diff_plan_fields(row, base, theirs);
        let node = || row.node.clone();
        let skips = base.status == PhaseStatus::Pending && theirs.status == PhaseStatus::Skipped;
        if base.status != theirs.status && (self.has_base || skips) {
            let to = state_of_phase_status(theirs.status);
            self.found.states.push(Edit::SetState { node: node(), to });
        }
        if self.has_base {
            if base.progress.retry_count != theirs.progress.retry_count {
                let retries = theirs.progress.retry_count.unwrap_or(0);
                let retries = u32::try_from(retries).unwrap_or(u32::MAX);
                let node = node();
                self.found.retries.push(Edit::SetRetries { node, retries });
            }
            if base.progress.summary != theirs.progress.summary {
                let (node, summary) = (node(), theirs.progress.summary.clone());
                self.found.words.push(Edit::SetSummary { node, summary });
            }
            if base.depends_on != theirs.depends_on {
                let parent = row.node.parent();
                let on = theirs.depends_on.iter();
                let depends_on = on.map(|id| Node::child(parent.as_ref(), id, 1)).collect();
                let node = node();
                self.found
                    .words
                    .push(Edit::SetDependsOn { node, depends_on });
            }
            self.warn_derived_of_node(row, base, theirs);
        }
        let old = NodeRest::unpack(row.plan.native.as_ref());
        let new = self.merge_node_rest(old.clone(), base, theirs);
        if new != old {
            let native = new.pack();
            let node = Some(node());
            self.found.natives.push(Edit::SetNative { node, native });
        }
    }

    /// What the plan says of a node.
    fn diff_plan_fields(&mut self, row: &ItemRow, base: &PhaseNode, theirs: &PhaseNode) {
        let node = || row.node.clone();
        // Without a base what is missing may never have been there.
        let counts = |is_there: bool| self.has_base || is_there;
        let words = &mut self.found.words;
        if base.prompt != theirs.prompt && counts(theirs.prompt.is_some()) {
            let prompt = theirs.prompt.clone();
            words.push(Edit::SetPrompt {
                node: node(),
                prompt,
            });
        }
        if base.model != theirs.model && counts(theirs.model.is_some()) {
            let model = theirs.model.clone();
            words.push(Edit::SetModel {
                node: node(),
                model,
            });
        }
        let gate = |node: &PhaseNode| node.gate.as_ref().map(import::import_gate);
        if gate(base) != gate(theirs) && counts(theirs.gate.is_some()) {
            let gate = gate(theirs);
            words.push(Edit::SetGate { node: node(), gate });
        }
        if base.claims != theirs.claims && counts(!theirs.claims.is_empty()) {
            let claims = theirs.claims;
            words.push(Edit::SetClaims {
                node: node(),
                claims,
            });
        }
        if base.files != theirs.files && counts(!theirs.files.is_empty()) {
            let scope = FileScope(theirs.files.clone());
            words.push(Edit::SetScope {
                node: node(),
                scope,
            });
        }
        let wait = |node: &PhaseNode| node.wait.as_ref().map(native::import_wait);
        if wait(base) != wait(theirs) && counts(theirs.wait.is_some()) {
            let wait = wait(theirs);
            words.push(Edit::SetWait { node: node(), wait });
        }
        let breaks = |node: &PhaseNode| node.break_after == Some(true);
        if breaks(base) != breaks(theirs) && counts(breaks(theirs)) {
            let breakpoint = breaks(theirs);
            words.push(Edit::SetBreakpoint {
                node: node(),
                breakpoint,
            });
        }
    }

    /// What only the native file has of a node, as the file has it now.
    fn merge_node_rest(
        &self,
        mut rest: NodeRest,
        base: &PhaseNode,
        theirs: &PhaseNode,
    ) -> NodeRest {
        let (old, new) = (NodeRest::from_node(base), NodeRest::from_node(theirs));
        if !self.has_base {
            let more = with_added_keys(&base.extra, &theirs.extra);
            if more.len() > base.extra.len() {
                rest.extra = native::pack_keys(&more);
            }
            return rest;
        }
        if base.status != theirs.status {
            rest.status = None;
        }
        macro_rules! take {
            ($($field:ident),*) => {
                $(if old.$field != new.$field {
                    rest.$field = new.$field;
                })*
            };
        }
        take!(
            parallel,
            wait_for_parallel,
            break_after,
            injected,
            injected_at,
            empty_list,
            gate_timeout,
            wait_every,
            wait_until,
            extra,
            gate_extra,
            human_extra
        );
        rest
    }

    fn warn_derived_of_node(&mut self, row: &ItemRow, base: &PhaseNode, theirs: &PhaseNode) {
        const DERIVED: [&str; 8] = [
            "started-at",
            "completed-at",
            "elapsed",
            "next-retry-at",
            "commit",
            "error",
            "human-needed",
            "gate-tracking",
        ];
        // Who sets a status by hand tidies up beside it.
        if base.status == theirs.status {
            self.warn_ignored_keys(&row.node.to_string(), &changed_keys(base, theirs, &DERIVED));
        }
    }

    fn warn_ignored_keys(&mut self, of: &str, changed: &[&str]) {
        for key in changed {
            let path = if of.is_empty() {
                (*key).to_owned()
            } else {
                format!("{of}.{key}")
            };
            self.warn_edit_ignored(
                path,
                format!("`{key}` was changed; piton knows it from what happened"),
                "nothing to do: piton writes it again",
            );
        }
    }

    // The whole sprint.

    fn warn_derived_of_sprint(&mut self, base: &SprintProgress, theirs: &SprintProgress) {
        const OF_STATE: [&str; 6] = [
            "pause-reason",
            "error",
            "failed-phase",
            "blocked-at",
            "human-needed",
            "interrupted-at",
        ];
        let stats: Vec<&str> = STATS.iter().map(|field| field.key).collect();
        self.warn_ignored_keys("stats", &changed_keys(&base.stats, &theirs.stats, &stats));
        self.warn_ignored_keys("", &changed_keys(base, theirs, &["sprint-id"]));
        if base.current != theirs.current {
            self.warn_ignored_keys("", &["current"]);
        }
        const OF_RUN: [&str; 3] = ["last-activity", "hook-tasks", "parallel-tasks"];
        self.warn_ignored_keys("", &changed_keys(base, theirs, &OF_RUN));
        if base.status == theirs.status {
            self.warn_ignored_keys("", &changed_keys(base, theirs, &OF_STATE));
        }
    }

    /// What the core has no words for, and the rules that follow from it.
    fn diff_sprint_keys(&mut self, base: &SprintProgress, theirs: &SprintProgress) {
        let row = self.shown.tables.run(self.shown.run);
        let Some(kept) = row.and_then(|row| row.plan.native.as_ref()) else {
            return;
        };
        let mut sprint = native::sprint_of_native(Some(kept));
        if self.has_base {
            macro_rules! take {
                ($($($field:ident).+),*) => {
                    $(if base.$($field).+ != theirs.$($field).+ {
                        sprint.$($field).+ = theirs.$($field).+.clone();
                    })*
                };
            }
            take!(
                settings.orchestration,
                settings.prompts,
                settings.worktree,
                settings.dependency_graph,
                settings.per_iteration_hooks,
                settings.retry,
                settings.config,
                settings.parallel_execution,
                summary,
                current_extra,
                extra
            );
            self.diff_requests(&mut sprint, base, theirs);
            if base.stats.extra != theirs.stats.extra {
                sprint.stats.extra.clone_from(&theirs.stats.extra);
            }
        } else {
            sprint.extra = with_added_keys(&sprint.extra, &theirs.extra);
        }
        if sprint == native::sprint_of_native(Some(kept)) {
            return;
        }
        let native = Some(native::native_of_sprint(&sprint));
        self.found
            .natives
            .push(Edit::SetNative { node: None, native });
        let is_same = |of: fn(&SprintProgress) -> &Option<yaml::ValueNode>| of(base) == of(&sprint);
        let rules: [fn(&SprintProgress) -> &Option<yaml::ValueNode>; 4] = [
            |sprint| &sprint.settings.retry,
            |sprint| &sprint.settings.config,
            |sprint| &sprint.settings.per_iteration_hooks,
            |sprint| &sprint.settings.orchestration,
        ];
        if !rules.into_iter().all(is_same) {
            let policy = Box::new(import::policy_of_sprint(&sprint));
            self.found.natives.push(Edit::SetPolicy(policy));
        }
    }
}

impl SprintDiffer<'_> {
    /// What was added to the queues, and what was decided in them.
    fn diff_requests(
        &mut self,
        sprint: &mut SprintProgress,
        base: &SprintProgress,
        theirs: &SprintProgress,
    ) {
        type QueueField = fn(&mut SprintProgress) -> &mut Option<yaml::ValueNode>;
        let queues: [(RequestKind, QueueField, _, _); 2] = [
            (
                RequestKind::Discovery,
                |sprint| &mut sprint.operator_queue,
                &base.operator_queue,
                &theirs.operator_queue,
            ),
            (
                RequestKind::Step,
                |sprint| &mut sprint.step_queue,
                &base.step_queue,
                &theirs.step_queue,
            ),
        ];
        for (kind, own, base, theirs) in queues {
            if base == theirs {
                continue;
            }
            let list = |queue: &Option<yaml::ValueNode>| {
                let entries = queue.as_ref().and_then(yaml::ValueNode::as_seq);
                entries.unwrap_or_default().to_vec()
            };
            let found = requests::diff_queue(self.shown, kind, &list(base), &list(theirs));
            self.found.requests.extend(found.edits);
            if let Some(kept) = found.kept {
                *own(sprint) = Some(yaml::ValueNode::seq(kept));
            }
            let ignored: Vec<&str> = found.ignored.iter().map(String::as_str).collect();
            let of = match kind {
                RequestKind::Discovery => "operator-queue",
                RequestKind::Step => "step-queue",
            };
            self.warn_ignored_keys(of, &ignored);
        }
    }
}

/// Those of `keys` under which two records do not say the same.
fn changed_keys<'k>(
    base: &dyn TableRecord,
    theirs: &dyn TableRecord,
    keys: &[&'k str],
) -> Vec<&'k str> {
    let says = |record: &dyn TableRecord, key: &str| {
        let mut columns = record.written_columns().into_iter();
        let (_, value) = columns.find(|(name, _)| *name == key)?;
        value.map(|value| value.to_node_reusing(None))
    };
    let differ = |key: &&&str| says(base, key) != says(theirs, key);
    keys.iter().filter(differ).copied().collect()
}

/// Keys, with those of `theirs` that are not among them.
fn with_added_keys(
    ours: &[(String, yaml::ValueNode)],
    theirs: &[(String, yaml::ValueNode)],
) -> Vec<(String, yaml::ValueNode)> {
    let mut all = ours.to_vec();
    for (key, node) in theirs {
        if !all.iter().any(|(have, _)| have == key) {
            all.push((key.clone(), node.clone()));
        }
    }
    all
}

/// The first name for an id that no sibling has.
fn free_name(taken: &BTreeSet<Node>, parent: Option<&Node>, id: &str) -> Option<Node> {
    (1..)
        .map(|nth| Node::child(parent, id, nth))
        .find(|name| !taken.contains(name))
}

/// The rows of a list that piton wrote: of those that share an id, in turn.
fn match_rows_in_order<'r>(rows: &[&'r ItemRow], nodes: &[PhaseNode]) -> Vec<Option<&'r Node>> {
    let mut by_id: HashMap<&str, VecDeque<&'r ItemRow>> = HashMap::new();
    for row in rows {
        by_id.entry(&row.plan.id).or_default().push_back(row);
    }
    let mut next = |node: &PhaseNode| by_id.get_mut(node.id.as_str())?.pop_front();
    nodes
        .iter()
        .map(|node| next(node).map(|row| &row.node))
        .collect()
}

/// The rows of a list that a person may have changed. Of those that share an
/// id, what says the same as a row, with the same ids below it, is that row;
/// then what says the same; the others come in turn.
fn match_rows_by_content<'r>(
    all: &HashMap<Option<Node>, Vec<&'r ItemRow>>,
    rows: &[&'r ItemRow],
    nodes: &[PhaseNode],
) -> Vec<Option<&'r ItemRow>> {
    let says_the_same = |row: &ItemRow, node: &PhaseNode| row.plan.prompt == node.prompt;
    let has_the_same_below = |row: &ItemRow, node: &PhaseNode| {
        let below = all.get(&Some(row.node.clone()));
        let ids = below.into_iter().flatten().map(|row| &row.plan.id);
        ids.eq(node.children.as_slice().iter().map(|child| &child.id))
    };
    let mut by_id: HashMap<&str, VecDeque<&'r ItemRow>> = HashMap::new();
    for row in rows {
        by_id.entry(&row.plan.id).or_default().push_back(row);
    }
    let mut out: Vec<Option<&ItemRow>> = vec![None; nodes.len()];
    let mut pair = |is_that: &dyn Fn(&ItemRow, &PhaseNode) -> bool| {
        for (slot, node) in out.iter_mut().zip(nodes).filter(|(slot, _)| slot.is_none()) {
            let Some(left) = by_id.get_mut(node.id.as_str()) else {
                continue;
            };
            if let Some(at) = left.iter().position(|row| is_that(row, node)) {
                *slot = left.remove(at);
            }
        }
    };
    pair(&|row, node| says_the_same(row, node) && has_the_same_below(row, node));
    pair(&says_the_same);
    pair(&|_, _| true);
    out
}

fn state_of_phase_status(status: PhaseStatus) -> ItemState {
    match status {
        PhaseStatus::Pending => ItemState::Pending,
        PhaseStatus::InProgress => ItemState::Working,
        PhaseStatus::Completed => ItemState::Done,
        PhaseStatus::Blocked => ItemState::Blocked,
        PhaseStatus::Skipped => ItemState::Skipped,
        PhaseStatus::Failed => ItemState::Failed,
    }
}

fn state_of_sprint_status(status: SprintStatus) -> RunState {
    match status {
        SprintStatus::NotStarted => RunState::New,
        SprintStatus::InProgress => RunState::Running,
        SprintStatus::Completed => RunState::Done,
        SprintStatus::Blocked => RunState::Blocked,
        SprintStatus::Paused | SprintStatus::PausedAtBreakpoint => RunState::Paused,
        SprintStatus::NeedsHuman => RunState::Waiting,
        SprintStatus::Interrupted => RunState::Interrupted,
    }
}
