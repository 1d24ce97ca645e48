//! What becomes of edits of a plan's file that may be an agent's.
//!
//! An agent can write into every file of the work tree, also into the one that
//! says what it has to do. *Done* is therefore a claim at best, and what takes
//! a control away is asked about while the old value stays in force. All else
//! is taken like a person's edit: see [`super::editing`].

mod difference;

use super::applying::{apply_all_edits, render_rejected_edits};
use super::changes::EditSource;
use super::claims::has_same_check;
use super::dead_runner::release_dead_runner;
use super::event_buffer::EventBuffer;
use super::guards::check_decision_open;
use crate::command::EditAuthor;
use crate::decision::{DecisionKind, DecisionRow, Verb};
use crate::edit::Edit;
use crate::event::{DecisionEvent, ItemEvent};
use crate::evidence::{ChangeExtent, ClaimOverrides, TreeChange, WorkCredit};
use crate::id::{AttemptId, DecisionId, Node, RunId};
use crate::item::{ItemRow, ItemState};
use crate::plan::PlannedItem;
use crate::refusal::Refusal;
use crate::run::RunState;
use crate::tables::Tables;
use difference::{describe_difference, has_lost_lines};

/// The agent whose edits they may be.
pub(super) struct EditingAgent {
    attempt: AttemptId,
    /// The items of the attempts that may have written the file.
    own: Vec<Node>,
    /// What the attempt did to the tree, if it is over by now.
    change: Option<TreeChange>,
    /// Whether prompts hold criteria.
    criteria: bool,
}

impl EditingAgent {
    /// The agent whose edits this word may stand for; none where it is a person's.
    pub(super) fn from_author(
        story: &EventBuffer<'_>,
        run: RunId,
        word: &EditAuthor,
    ) -> Option<Self> {
        let (known, criteria, in_lane) = match word {
            EditAuthor::File
            | EditAuthor::Piton
            | EditAuthor::Person { .. }
            | EditAuthor::Typed { .. } => return None,
            EditAuthor::Hand { .. } => (None, true, false),
            EditAuthor::MaybeAgent {
                attempt,
                criteria,
                in_lane,
            } => (Some(*attempt), *criteria, *in_lane),
        };
        // No other agent writes in the lane of an attempt.
        let open = || story.tables.open_attempts().filter(|_| !in_lane);
        let of_run = open().filter(|row| row.run == run).max_by_key(|row| row.id);
        let last = || open().max_by_key(|row| row.id).map(|row| row.id);
        let attempt = of_run.map(|row| row.id).or(known).or_else(last)?;
        let known = known.and_then(|known| story.tables.attempt(known));
        let own = open().chain(known).filter(|row| row.run == run);
        let own = own.map(|row| row.node.clone()).collect();
        let row = story.tables.attempt(attempt);
        let ended = row.and_then(|row| Some((row.report.as_ref()?, row.tree.as_ref())));
        let change =
            ended.map(|(report, tree)| TreeChange::extend_with_attempt(None, report, tree));
        Some(Self {
            attempt,
            own,
            change,
            criteria,
        })
    }
}

/// What becomes of one edit.
enum EditTreatment {
    /// It says nothing that piton does not know, or that counts.
    Nothing,
    /// It says that other items are done.
    Claim(Node),
    /// A person is asked; the old value is in force.
    Doubt,
    /// It is taken like a person's.
    Take(Edit),
}

/// Edits, sorted by what becomes of them.
#[derive(Default)]
struct SortedEdits {
    claims: Vec<Node>,
    doubts: Vec<Edit>,
    takes: Vec<Edit>,
}

/// Takes what may be taken of the edits of `file`. What is left of that did not
/// fit and cannot be asked about as an agent's edit.
pub(super) fn apply_agent_edits<'e>(
    story: &mut EventBuffer<'_>,
    run: RunId,
    agent: &EditingAgent,
    by: &EditSource<'_>,
    edits: &'e [Edit],
) -> Vec<(&'e Edit, String)> {
    let mut sorted = SortedEdits::default();
    for edit in edits {
        match classify_edit(story, run, agent, edit) {
            EditTreatment::Nothing => {}
            EditTreatment::Claim(node) => sorted.claims.push(node),
            EditTreatment::Doubt => sorted.doubts.push(edit.clone()),
            EditTreatment::Take(edit) => sorted.takes.push(edit),
        }
    }
    defer_native_of_doubtful_items(story, run, agent, &mut sorted);
    let mut left = Vec::new();
    for (edit, why) in apply_all_edits(story, run, by, &sorted.takes) {
        if can_stay_in_file(edit) {
            sorted.doubts.push(edit.clone());
        } else if let Some(known) = edits
            .iter()
            .find(|known| known.is_same_kind_and_subject(edit))
        {
            left.push((known, why));
        }
    }
    sorted
        .claims
        .extend(nodes_inserted_as_done(story, run, edits));
    let is_doubted = |edit: &&Edit| {
        sorted
            .doubts
            .iter()
            .any(|doubt| doubt.is_same_kind_and_subject(edit))
    };
    let answered: Vec<Edit> = edits
        .iter()
        .filter(|edit| !is_doubted(edit))
        .cloned()
        .collect();
    drop_changed_edits(story, run, &answered);
    claim_items(story, run, agent, by.file, &sorted.claims);
    ask_about_doubtful_edits(story, run, by.file, sorted.doubts);
    left
}

fn classify_edit(
    story: &EventBuffer<'_>,
    run: RunId,
    agent: &EditingAgent,
    edit: &Edit,
) -> EditTreatment {
    let Some(run_row) = story.tables.run(run) else {
        return EditTreatment::Take(edit.clone());
    };
    let row = edit
        .target_node()
        .and_then(|node| story.tables.item(run, node));
    if row.is_some() && edit.is_in_force(&story.tables, run) {
        return EditTreatment::Nothing;
    }
    match (edit, row) {
        (Edit::SetState { node, to }, Some(row)) => match to {
            ItemState::Done if row.state.is_finished() => EditTreatment::Nothing,
            ItemState::Done => EditTreatment::Claim(node.clone()),
            ItemState::Pending
            | ItemState::Ready
            | ItemState::Working
            | ItemState::Waiting
            | ItemState::Failed
            | ItemState::Skipped
            | ItemState::Dropped
            | ItemState::Blocked => EditTreatment::Doubt,
        },
        // A check that an agent gives to an item would stand for its verdict.
        (
            Edit::SetRetries { .. }
            | Edit::SetClaims { .. }
            | Edit::SetDependsOn { .. }
            | Edit::SetRepository { .. }
            | Edit::SetWait { .. }
            | Edit::SetGate { .. },
            Some(_),
        )
        | (
            Edit::SetBreakpoint {
                breakpoint: false, ..
            },
            Some(_),
        ) => EditTreatment::Doubt,
        (Edit::SetPresent { present: false, .. }, Some(row)) if !row.state.is_finished() => {
            EditTreatment::Doubt
        }
        (Edit::SetPresent { .. }, _) => EditTreatment::Nothing,
        (Edit::SetPrompt { prompt, .. }, Some(row)) if agent.criteria => {
            if has_lost_lines(row.plan.prompt.as_deref(), prompt.as_deref()) {
                EditTreatment::Doubt
            } else if row.is_under_way() {
                // It is read again when the work is over.
                EditTreatment::Nothing
            } else {
                EditTreatment::Take(edit.clone())
            }
        }
        // What was done is said by the verdict.
        (Edit::SetSummary { node, .. }, _) if agent.own.contains(node) => EditTreatment::Nothing,
        (Edit::SetPolicy(policy), _) if policy.is_looser_than(&run_row.plan.policy) => {
            EditTreatment::Doubt
        }
        // Who asks for something does not decide it.
        (Edit::AnswerRequest { .. }, _) => EditTreatment::Doubt,
        (Edit::SetRunState { to }, _) => {
            let is_so = *to == run_row.state
                || (*to == RunState::Running && run_row.state == RunState::Interrupted);
            if *to == RunState::Paused {
                EditTreatment::Take(edit.clone())
            } else if is_so {
                EditTreatment::Nothing
            } else {
                EditTreatment::Doubt
            }
        }
        (
            Edit::Insert {
                parent,
                after,
                items,
            },
            _,
        ) => EditTreatment::Take(Edit::Insert {
            parent: parent.clone(),
            after: after.clone(),
            items: items.iter().map(as_open_item).collect(),
        }),
        _ => EditTreatment::Take(edit.clone()),
    }
}

/// Whether the file can go on to say it while a person is asked.
fn can_stay_in_file(edit: &Edit) -> bool {
    !matches!(edit, Edit::Insert { .. } | Edit::Order { .. })
}

/// An item that an agent adds is open, and proven as its plan asks, whatever it
/// says of it.
fn as_open_item(item: &PlannedItem) -> PlannedItem {
    let state = if item.state == ItemState::Skipped {
        ItemState::Skipped
    } else {
        ItemState::Pending
    };
    PlannedItem {
        state,
        claims: ClaimOverrides::default(),
        ..item.clone()
    }
}

/// The items that were added as done, by the names that they have now.
fn nodes_inserted_as_done(story: &EventBuffer<'_>, run: RunId, edits: &[Edit]) -> Vec<Node> {
    let added = edits.iter().flat_map(|edit| {
        if let Edit::Insert { items, .. } = edit {
            items.as_slice()
        } else {
            &[]
        }
    });
    let done = added.filter(|item| item.state == ItemState::Done);
    let known = done.filter(|item| story.tables.item(run, &item.node).is_some());
    known.map(|item| item.node.clone()).collect()
}

/// What only the format has goes with what is doubted of the same item: the
/// file says both.
fn defer_native_of_doubtful_items(
    story: &EventBuffer<'_>,
    run: RunId,
    agent: &EditingAgent,
    sorted: &mut SortedEdits,
) {
    let doubts = &sorted.doubts;
    let is_doubted = |edit: &Edit| {
        let Edit::SetNative { node, .. } = edit else {
            return false;
        };
        let Some(node) = node else {
            let mut policies = doubts.iter();
            return policies.any(|doubt| matches!(doubt, Edit::SetPolicy(_)));
        };
        let goes_along = |doubt: &&Edit| {
            let is_gate = matches!(doubt, Edit::SetGate { .. } | Edit::SetWait { .. });
            (is_gate && !agent.criteria) || matches!(doubt, Edit::SetRepository { .. })
        };
        let mut others = doubts.iter().filter(goes_along);
        others.any(|doubt| doubt.target_node() == Some(node))
    };
    let takes = std::mem::take(&mut sorted.takes);
    let (with, takes): (Vec<Edit>, Vec<Edit>) = takes.into_iter().partition(is_doubted);
    sorted.takes = takes;
    let differs = |edit: &Edit| {
        let Edit::SetNative { node: None, native } = edit else {
            return true;
        };
        let row = story.tables.run(run);
        row.is_some_and(|row| row.plan.native != *native)
    };
    sorted.doubts.extend(with.into_iter().filter(differs));
}

// Claims.

/// Notes which items the agent says are done, and asks a person about those that
/// were not asked about before.
fn claim_items(
    story: &mut EventBuffer<'_>,
    run: RunId,
    agent: &EditingAgent,
    file: &str,
    nodes: &[Node],
) {
    let mut new = Vec::new();
    for node in nodes {
        for leaf in open_leaves_below(story, run, node) {
            let is_own = agent.own.iter().any(|own| leaf.is_within(own));
            if !is_own && record_claim(story, run, agent, &leaf) && !new.contains(&leaf) {
                new.push(leaf);
            }
        }
    }
    if new.is_empty() {
        return;
    }
    let at = agent.own.first().map(ToString::to_string);
    let lines: Vec<String> = new
        .iter()
        .map(|node| describe_claim(story, run, node, file, at.as_deref()))
        .collect();
    let edits = new.into_iter().map(|node| Edit::SetState {
        node,
        to: ItemState::Done,
    });
    let more = edits.zip(lines).collect();
    add_to_edit_question(story, run, DecisionKind::ClaimedItems, more);
}

/// The items at and below a node that an agent works on and that are not finished.
fn open_leaves_below(story: &EventBuffer<'_>, run: RunId, node: &Node) -> Vec<Node> {
    let Some(top) = story.tables.item(run, node) else {
        return Vec::new();
    };
    let below = story.tables.subtree(run, &top.plan.place);
    let open = below.filter(|item| item.is_leaf() && !item.state.is_finished());
    open.map(|item| item.node.clone()).collect()
}

/// Notes a claim, unless an attempt that changed something has made it already.
/// Whether a person is to be asked.
fn record_claim(
    story: &mut EventBuffer<'_>,
    run: RunId,
    agent: &EditingAgent,
    node: &Node,
) -> bool {
    let Some(item) = story.tables.item(run, node) else {
        return false;
    };
    let before = item.proof.claimed.as_deref();
    let counts = before.is_some_and(|by| {
        let change = by.change.as_ref().map(|change| change.changed);
        matches!(change, Some(ChangeExtent::Something { .. })) || by.attempt == Some(agent.attempt)
    });
    if counts {
        return false;
    }
    let is_new = before.is_none();
    let own = |own: &Node| story.tables.item(run, own);
    let is_shared = agent
        .own
        .iter()
        .filter_map(own)
        .any(|own| has_same_check(own, item));
    let change = agent.change.clone().filter(|_| !is_shared);
    story.append(ItemEvent::Claimed {
        run,
        node: node.clone(),
        by: Some(Box::new(WorkCredit {
            attempt: Some(agent.attempt),
            change,
        })),
    });
    is_new
}

fn describe_claim(
    story: &EventBuffer<'_>,
    run: RunId,
    node: &Node,
    file: &str,
    at: Option<&str>,
) -> String {
    let check = story
        .tables
        .item(run, node)
        .map_or("", ItemRow::describe_check);
    match at {
        Some(at) => format!("`{node}` was ticked in {file} by the attempt at `{at}`; {check}"),
        None => format!("`{node}` was ticked in {file}; {check}"),
    }
}

// Questions.

/// Asks about edits, or adds them to what is asked already; each with its line.
fn add_to_edit_question(
    story: &mut EventBuffer<'_>,
    run: RunId,
    kind: DecisionKind,
    more: Vec<(Edit, String)>,
) {
    let open = find_open_edit_question(story, run, kind);
    let before = open.as_ref().map(edits_with_lines).unwrap_or_default();
    let mut all = before.clone();
    for (edit, line) in more {
        all.retain(|(known, _)| !known.is_same_kind_and_subject(&edit));
        all.push((edit, line));
    }
    if all.is_empty() || all == before {
        return;
    }
    let question = edit_question_text(kind, &all);
    let details = Some(join_lines(&all));
    let edits = all.into_iter().map(|(edit, _)| edit).collect();
    match open {
        Some(open) => story.append(DecisionEvent::Revised {
            decision: open.id,
            question,
            details,
            edits,
        }),
        None => story.ask_about_edits(kind, run, question, details, edits),
    }
}

fn find_open_edit_question(
    story: &EventBuffer<'_>,
    run: RunId,
    kind: DecisionKind,
) -> Option<DecisionRow> {
    let mut open = story.tables.open_decisions(run);
    open.find(|row| row.kind == kind).cloned()
}

/// The edits of a question, each with its line.
pub(super) fn edits_with_lines(row: &DecisionRow) -> Vec<(Edit, String)> {
    let lines = row.details.iter().flat_map(|details| details.lines());
    let edits = row.edits.iter().cloned();
    edits.zip(lines.map(str::to_owned)).collect()
}

fn join_lines(all: &[(Edit, String)]) -> String {
    let lines: Vec<&str> = all.iter().map(|(_, line)| line.as_str()).collect();
    lines.join("\n")
}

fn edit_question_text(kind: DecisionKind, all: &[(Edit, String)]) -> String {
    let count = all.len();
    match (kind, all) {
        (DecisionKind::ClaimedItems, [(Edit::SetState { node, .. }, _)]) => format!(
            "`{node}` was ticked by an attempt at another item and is worked on as usual: take it as done?"
        ),
        (DecisionKind::ClaimedItems, _) => format!(
            "{count} items were ticked by attempts at other items and are worked on as usual: take them as done?"
        ),
        (_, [_]) => {
            "an edit of the plan may be an agent's and is not in force: take it?".to_owned()
        }
        (..) => {
            format!("{count} edits of the plan may be an agent's and are not in force: take them?")
        }
    }
}

fn ask_about_doubtful_edits(
    story: &mut EventBuffer<'_>,
    run: RunId,
    file: &str,
    doubts: Vec<Edit>,
) {
    let doubts = doubts.into_iter().map(|edit| {
        let line = format!("{file}: {}", describe_difference(story, run, &edit));
        (edit, line)
    });
    let doubts = doubts.collect();
    add_to_edit_question(story, run, DecisionKind::AgentEdit, doubts);
}

/// What the file says anew is no longer asked about as it was.
pub(super) fn drop_changed_edits(story: &mut EventBuffer<'_>, run: RunId, edits: &[Edit]) {
    retain_asked_edits(
        story,
        run,
        "the file does not say it any more",
        |_, row, edit| {
            let is_said = edits.iter().any(|said| said.is_same_kind_and_subject(edit));
            row.kind != DecisionKind::AgentEdit || !is_said
        },
    );
}

/// Closes, or shortens, what is asked about claims and agents' edits: what is
/// finished needs no answer.
pub(super) fn drop_finished_edits(story: &mut EventBuffer<'_>, run: RunId) {
    retain_asked_edits(
        story,
        run,
        "what it was about is finished",
        |tables, _, edit| match edit.target_node() {
            Some(node) => tables
                .item(run, node)
                .is_none_or(|row| !row.state.is_finished() || is_still_open(edit, row)),
            None => tables
                .run(run)
                .is_none_or(|row| row.state != RunState::Done),
        },
    );
}

/// Whether an edit of an item that is finished still says something of it: that it
/// is to be done again, or what holds should it be. The file says so until a person
/// has answered.
fn is_still_open(edit: &Edit, row: &ItemRow) -> bool {
    let sets_back = matches!(edit, Edit::SetState { to, .. } if matches!(to, ItemState::Pending | ItemState::Ready));
    let holds_again = matches!(
        edit,
        Edit::SetPrompt { .. }
            | Edit::SetModel { .. }
            | Edit::SetGate { .. }
            | Edit::SetClaims { .. }
    );
    sets_back || (holds_again && row.state != ItemState::Dropped)
}

/// Keeps only these edits in the questions about claims and agents' edits.
fn retain_asked_edits(
    story: &mut EventBuffer<'_>,
    run: RunId,
    why: &str,
    keeps: impl Fn(&Tables, &DecisionRow, &Edit) -> bool,
) {
    let is_about = |row: &&DecisionRow| {
        matches!(
            row.kind,
            DecisionKind::ClaimedItems | DecisionKind::AgentEdit
        )
    };
    let open: Vec<DecisionRow> = story
        .tables
        .open_decisions(run)
        .filter(is_about)
        .cloned()
        .collect();
    for row in open {
        let before = edits_with_lines(&row);
        let kept = before
            .iter()
            .filter(|(edit, _)| keeps(&story.tables, &row, edit));
        let kept: Vec<(Edit, String)> = kept.cloned().collect();
        if kept.is_empty() {
            story.decide_if_open(row.id, Verb::Settled, Some(why));
        } else if kept.len() < before.len() {
            story.append(DecisionEvent::Revised {
                decision: row.id,
                question: edit_question_text(row.kind, &kept),
                details: Some(join_lines(&kept)),
                edits: kept.into_iter().map(|(edit, _)| edit).collect(),
            });
        }
    }
}

/// A person takes the claims, or the agent's edits.
pub(super) fn accept_edits(
    story: &mut EventBuffer<'_>,
    id: DecisionId,
    verb: Verb,
    why: Option<&str>,
) -> Result<(), Refusal> {
    let row = check_decision_open(story, id, verb)?;
    let run = row.run;
    release_dead_runner(story, run)?;
    let word = EditAuthor::Person {
        decision: id,
        why: why.map(str::to_owned),
    };
    let by = EditSource {
        file: "piton decide",
        word: &word,
    };
    let left = apply_all_edits(story, run, &by, &row.edits);
    if !left.is_empty() {
        let name = story.require_run(run)?.name.clone();
        return Err(Refusal::Unfit {
            file: format!("the plan of `{name}`"),
            why: render_rejected_edits(&left),
        });
    }
    story.decide_if_open(id, verb, why);
    Ok(())
}
