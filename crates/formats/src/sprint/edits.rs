//! What somebody changed in a `PROGRESS.yaml` by hand.
//!
//! The difference between what piton last wrote and what stands there now,
//! told in the words of the core. A node is known by its ids, not by its
//! index. What is not there any more is no deletion; what is counted or timed
//! is not taken from a file. Both are told.

use std::collections::{BTreeSet, HashMap, VecDeque};

use piton_core::request::RequestKind;
use piton_core::scope::FileScope;
use piton_core::{Edit, ItemRow, ItemState, Node, Place, RunState};

use super::import::{self, Inherited, plant};
use super::native::{self, NodeRest};
use super::progress::{PhaseNode, PhaseStatus, Progress, SprintStatus};
use super::requests;
use super::shape::STATS;
use super::wait;
use crate::plan_file::{Changed, Shown};
use crate::problem::Problem;
use crate::record::Record;
use crate::yaml;

/// What somebody changed since piton wrote `base`; what cannot be taken from a
/// file stands in the problems.
#[must_use]
pub fn edits(base: &Progress, theirs: &Progress, shown: Shown<'_>) -> Changed {
    Differ::new(shown, true).told(base, theirs)
}

/// What somebody added to a file of which nobody knows what piton last wrote:
/// new nodes, new keys, other words, another order, and what is left out. What
/// may only be old, such as a state, is not taken. `ours` is what piton would
/// write now.
#[must_use]
pub fn edits_without_base(ours: &Progress, theirs: &Progress, shown: Shown<'_>) -> Changed {
    Differ::new(shown, false).told(ours, theirs)
}

/// The edits, in the order in which they are to be tried.
#[derive(Default)]
struct Found {
    inserts: Vec<Edit>,
    orders: Vec<Edit>,
    words: Vec<Edit>,
    states: Vec<Edit>,
    retries: Vec<Edit>,
    natives: Vec<Edit>,
    requests: Vec<Edit>,
}

struct Differ<'a> {
    shown: Shown<'a>,
    /// Whether `base` is what piton wrote.
    has_base: bool,
    rows: HashMap<Option<Node>, Vec<&'a ItemRow>>,
    found: Found,
    problems: Vec<Problem>,
    removed: Vec<Node>,
    returned: Vec<Node>,
}

impl<'a> Differ<'a> {
    fn new(shown: Shown<'a>, has_base: bool) -> Self {
        let mut rows: HashMap<Option<Node>, Vec<&ItemRow>> = HashMap::new();
        for row in shown.tables.tree(shown.run) {
            rows.entry(row.node.parent()).or_default().push(row);
        }
        Self {
            shown,
            has_base,
            rows,
            found: Found::default(),
            problems: Vec::new(),
            removed: Vec::new(),
            returned: Vec::new(),
        }
    }

    fn told(mut self, base: &Progress, theirs: &Progress) -> Changed {
        self.level(None, &base.phases, &theirs.phases);
        self.sprint_keys(base, theirs);
        if self.has_base {
            self.derived(base, theirs);
        }
        let Found {
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
            let to = run_state(theirs.status);
            edits.push(Edit::SetRunState { to });
        }
        Changed {
            edits,
            problems: self.problems,
            removed: self.removed,
            returned: self.returned,
        }
    }

    fn warn(&mut self, path: String, message: String, hint: &str) {
        let problem = Problem::warning("EDIT_IGNORED", self.shown.file, path, yaml::Span::TOP);
        self.problems.push(problem.saying(message, hint));
    }

    // Nodes.

    fn level(&mut self, parent: Option<&Node>, base: &[PhaseNode], theirs: &[PhaseNode]) {
        let rows = self.rows.get(&parent.cloned()).cloned().unwrap_or_default();
        let base_of = in_turn(&rows, base);
        let their_rows = alike(&self.rows, &rows, theirs);
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
            self.insert(parent, names.last(), node, &name, theirs);
            taken.insert(name.clone());
            names.push(name);
        }
        self.order(parent, &rows, (base, &base_of), names);
        for (node, row) in theirs.iter().zip(&their_rows) {
            let Some(row) = row else { continue };
            let before = base_of.iter().position(|at| *at == Some(&row.node));
            if let Some(before) = before.and_then(|at| base.get(at)) {
                self.node(row, before, node);
                let (old, new) = (before.children.as_slice(), node.children.as_slice());
                self.level(Some(&row.node), old, new);
            } else {
                if self.has_base {
                    self.returned.push(row.node.clone());
                }
                self.level(Some(&row.node), &[], node.children.as_slice());
            }
        }
        for gone in base_of.iter().flatten() {
            let there = |row: &Option<&ItemRow>| row.is_some_and(|row| row.node == **gone);
            if !their_rows.iter().any(there) {
                self.removed.push((*gone).clone());
            }
        }
    }

    fn insert(
        &mut self,
        parent: Option<&Node>,
        after: Option<&Node>,
        node: &PhaseNode,
        name: &Node,
        siblings: &[PhaseNode],
    ) {
        let depth = parent.map_or(0, |parent| 1 + parent.ancestors().count());
        let above = Inherited {
            siblings,
            ..Inherited::default()
        };
        let mut items = Vec::new();
        let place = Place(vec![0; depth]).child(0);
        plant(&mut items, node, name, &place, &above);
        self.found.inserts.push(Edit::Insert {
            parent: parent.cloned(),
            after: after.cloned(),
            items,
        });
    }

    /// An order is changed where those that were there before stand otherwise
    /// than before.
    fn order(
        &mut self,
        parent: Option<&Node>,
        rows: &[&ItemRow],
        (base, base_of): (&[PhaseNode], &[Option<&Node>]),
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

    fn node(&mut self, row: &ItemRow, base: &PhaseNode, theirs: &PhaseNode) {
        self.words(row, base, theirs);
        let node = || row.node.clone();
        let skips = base.status == PhaseStatus::Pending && theirs.status == PhaseStatus::Skipped;
        if base.status != theirs.status && (self.has_base || skips) {
            let to = item_state(theirs.status);
            self.found.states.push(Edit::SetState { node: node(), to });
        }
        if self.has_base {
            if base.retry_count != theirs.retry_count {
                let retries = theirs.retry_count.unwrap_or(0);
                let retries = u32::try_from(retries).unwrap_or(u32::MAX);
                let node = node();
                self.found.retries.push(Edit::SetRetries { node, retries });
            }
            if base.summary != theirs.summary {
                let (node, summary) = (node(), theirs.summary.clone());
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
            self.derived_of_node(row, base, theirs);
        }
        let old = NodeRest::unpack(row.native.as_ref());
        let new = self.rest(old.clone(), base, theirs);
        if new != old {
            let native = new.pack();
            let node = Some(node());
            self.found.natives.push(Edit::SetNative { node, native });
        }
    }

    /// What the plan says of a node.
    fn words(&mut self, row: &ItemRow, base: &PhaseNode, theirs: &PhaseNode) {
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
        let gate = |node: &PhaseNode| node.gate.as_ref().map(import::gate);
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
        let wait = |node: &PhaseNode| node.wait.as_ref().map(wait::imported);
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
    fn rest(&self, mut rest: NodeRest, base: &PhaseNode, theirs: &PhaseNode) -> NodeRest {
        let (old, new) = (NodeRest::of(base), NodeRest::of(theirs));
        if !self.has_base {
            let more = added(&base.extra, &theirs.extra);
            if more.len() > base.extra.len() {
                rest.extra = native::keys(&more);
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

    fn derived_of_node(&mut self, row: &ItemRow, base: &PhaseNode, theirs: &PhaseNode) {
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
            self.ignored(&row.node.to_string(), &changed(base, theirs, &DERIVED));
        }
    }

    fn ignored(&mut self, of: &str, changed: &[&str]) {
        for key in changed {
            let path = if of.is_empty() {
                (*key).to_owned()
            } else {
                format!("{of}.{key}")
            };
            self.warn(
                path,
                format!("`{key}` was changed; piton knows it from what happened"),
                "nothing to do: piton writes it again",
            );
        }
    }

    // The whole sprint.

    fn derived(&mut self, base: &Progress, theirs: &Progress) {
        const OF_STATE: [&str; 6] = [
            "pause-reason",
            "error",
            "failed-phase",
            "blocked-at",
            "human-needed",
            "interrupted-at",
        ];
        let stats: Vec<&str> = STATS.iter().map(|field| field.key).collect();
        self.ignored("stats", &changed(&base.stats, &theirs.stats, &stats));
        self.ignored("", &changed(base, theirs, &["sprint-id"]));
        if base.current != theirs.current {
            self.ignored("", &["current"]);
        }
        const OF_RUN: [&str; 3] = ["last-activity", "hook-tasks", "parallel-tasks"];
        self.ignored("", &changed(base, theirs, &OF_RUN));
        if base.status == theirs.status {
            self.ignored("", &changed(base, theirs, &OF_STATE));
        }
    }

    /// What the core has no words for, and the rules that follow from it.
    fn sprint_keys(&mut self, base: &Progress, theirs: &Progress) {
        let row = self.shown.tables.run(self.shown.run);
        let Some(kept) = row.and_then(|row| row.native.as_ref()) else {
            return;
        };
        let mut sprint = native::sprint(Some(kept));
        if self.has_base {
            macro_rules! take {
                ($($field:ident),*) => {
                    $(if base.$field != theirs.$field {
                        sprint.$field = theirs.$field.clone();
                    })*
                };
            }
            take!(
                orchestration,
                prompts,
                worktree,
                dependency_graph,
                per_iteration_hooks,
                retry,
                config,
                parallel_execution,
                summary,
                current_extra,
                extra
            );
            self.requests(&mut sprint, base, theirs);
            if base.stats.extra != theirs.stats.extra {
                sprint.stats.extra.clone_from(&theirs.stats.extra);
            }
        } else {
            sprint.extra = added(&sprint.extra, &theirs.extra);
        }
        if sprint == native::sprint(Some(kept)) {
            return;
        }
        let native = Some(native::of_sprint(&sprint));
        self.found
            .natives
            .push(Edit::SetNative { node: None, native });
        let is_same = |of: fn(&Progress) -> &Option<yaml::Node>| of(base) == of(&sprint);
        let rules: [fn(&Progress) -> &Option<yaml::Node>; 4] = [
            |sprint| &sprint.retry,
            |sprint| &sprint.config,
            |sprint| &sprint.per_iteration_hooks,
            |sprint| &sprint.orchestration,
        ];
        if !rules.into_iter().all(is_same) {
            let policy = Box::new(import::policy(&sprint));
            self.found.natives.push(Edit::SetPolicy(policy));
        }
    }
}

impl Differ<'_> {
    /// What was added to the queues, and what was decided in them.
    fn requests(&mut self, sprint: &mut Progress, base: &Progress, theirs: &Progress) {
        type Queue = fn(&mut Progress) -> &mut Option<yaml::Node>;
        let queues: [(RequestKind, Queue, _, _); 2] = [
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
            let list = |queue: &Option<yaml::Node>| {
                let entries = queue.as_ref().and_then(yaml::Node::as_seq);
                entries.unwrap_or_default().to_vec()
            };
            let found = requests::changes(self.shown, kind, &list(base), &list(theirs));
            self.found.requests.extend(found.edits);
            if let Some(kept) = found.kept {
                *own(sprint) = Some(yaml::Node::seq(kept));
            }
            let ignored: Vec<&str> = found.ignored.iter().map(String::as_str).collect();
            let of = match kind {
                RequestKind::Discovery => "operator-queue",
                RequestKind::Step => "step-queue",
            };
            self.ignored(of, &ignored);
        }
    }
}

/// Those of `keys` under which two records do not say the same.
fn changed<'k>(base: &dyn Record, theirs: &dyn Record, keys: &[&'k str]) -> Vec<&'k str> {
    let says = |record: &dyn Record, key: &str| {
        let mut columns = record.written().into_iter();
        let (_, value) = columns.find(|(name, _)| *name == key)?;
        value.map(|value| value.in_place_of(None))
    };
    let differ = |key: &&&str| says(base, key) != says(theirs, key);
    keys.iter().filter(differ).copied().collect()
}

/// Keys, with those of `theirs` that are not among them.
fn added(
    ours: &[(String, yaml::Node)],
    theirs: &[(String, yaml::Node)],
) -> Vec<(String, yaml::Node)> {
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
fn in_turn<'r>(rows: &[&'r ItemRow], nodes: &[PhaseNode]) -> Vec<Option<&'r Node>> {
    let mut by_id: HashMap<&str, VecDeque<&'r ItemRow>> = HashMap::new();
    for row in rows {
        by_id.entry(&row.id).or_default().push_back(row);
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
fn alike<'r>(
    all: &HashMap<Option<Node>, Vec<&'r ItemRow>>,
    rows: &[&'r ItemRow],
    nodes: &[PhaseNode],
) -> Vec<Option<&'r ItemRow>> {
    let says_the_same = |row: &ItemRow, node: &PhaseNode| row.prompt == node.prompt;
    let has_the_same_below = |row: &ItemRow, node: &PhaseNode| {
        let below = all.get(&Some(row.node.clone()));
        let ids = below.into_iter().flatten().map(|row| &row.id);
        ids.eq(node.children.as_slice().iter().map(|child| &child.id))
    };
    let mut by_id: HashMap<&str, VecDeque<&'r ItemRow>> = HashMap::new();
    for row in rows {
        by_id.entry(&row.id).or_default().push_back(row);
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

fn item_state(status: PhaseStatus) -> ItemState {
    match status {
        PhaseStatus::Pending => ItemState::Pending,
        PhaseStatus::InProgress => ItemState::Working,
        PhaseStatus::Completed => ItemState::Done,
        PhaseStatus::Blocked => ItemState::Blocked,
        PhaseStatus::Skipped => ItemState::Skipped,
        PhaseStatus::Failed => ItemState::Failed,
    }
}

fn run_state(status: SprintStatus) -> RunState {
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
