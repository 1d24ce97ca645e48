//! What becomes of edits of a plan's file that may be an agent's.
//!
//! An agent can write into every file of the work tree, also into the one that
//! says what it has to do. *Done* is therefore a claim at best, and what takes
//! a control away is asked about while the old value stays in force. All else
//! is taken like a person's edit: see [`super::editing`].

use super::claims::share_check;
use super::editing::{By, in_lines, take_all};
use super::people::{bury_runner, is_under_way, open_question};
use super::story::Story;
use crate::command::Word;
use crate::decision::{DecisionKind, DecisionRow, Verb};
use crate::edit::Edit;
use crate::event::Event;
use crate::evidence::{Changed, ClaimOverrides, ClaimedBy, TreeChange};
use crate::id::{AttemptId, DecisionId, Node, RunId};
use crate::item::{ItemRow, ItemState};
use crate::plan::PlannedItem;
use crate::refusal::Refusal;
use crate::run::RunState;
use crate::tables::Tables;

mod difference;

use difference::{difference, loses_line};

/// The agent whose edits they may be.
pub(super) struct Agent {
    attempt: AttemptId,
    /// The items of the attempts that may have written the file.
    own: Vec<Node>,
    /// What the attempt did to the tree, if it is over by now.
    change: Option<TreeChange>,
    /// Whether prompts hold criteria.
    criteria: bool,
}

impl Agent {
    /// The agent whose edits this word may stand for; none where it is a person's.
    pub(super) fn of_word(story: &Story<'_>, run: RunId, word: &Word) -> Option<Self> {
        let (known, criteria, in_lane) = match word {
            Word::File | Word::Piton | Word::Person { .. } | Word::Typed { .. } => return None,
            Word::Hand { .. } => (None, true, false),
            Word::MaybeAgent {
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
        let change = ended.map(|(report, tree)| TreeChange::extended(None, report, tree));
        Some(Self {
            attempt,
            own,
            change,
            criteria,
        })
    }
}

/// What becomes of one edit.
enum Treatment {
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
struct Sorted {
    claims: Vec<Node>,
    doubts: Vec<Edit>,
    takes: Vec<Edit>,
}

/// Takes what may be taken of the edits of `file`. What is left of that did not
/// fit and cannot be asked about as an agent's edit.
pub(super) fn take_agent_edits<'e>(
    story: &mut Story<'_>,
    run: RunId,
    agent: &Agent,
    by: &By<'_>,
    edits: &'e [Edit],
) -> Vec<(&'e Edit, String)> {
    let mut sorted = Sorted::default();
    for edit in edits {
        match treatment(story, run, agent, edit) {
            Treatment::Nothing => {}
            Treatment::Claim(node) => sorted.claims.push(node),
            Treatment::Doubt => sorted.doubts.push(edit.clone()),
            Treatment::Take(edit) => sorted.takes.push(edit),
        }
    }
    keep_native_of_doubts(story, run, agent, &mut sorted);
    let mut left = Vec::new();
    for (edit, why) in take_all(story, run, by, &sorted.takes) {
        if is_shown_over(edit) {
            sorted.doubts.push(edit.clone());
        } else if let Some(known) = edits.iter().find(|known| known.is_like(edit)) {
            left.push((known, why));
        }
    }
    sorted.claims.extend(inserted_as_done(story, run, edits));
    let is_doubted = |edit: &&Edit| sorted.doubts.iter().any(|doubt| doubt.is_like(edit));
    let answered: Vec<Edit> = edits
        .iter()
        .filter(|edit| !is_doubted(edit))
        .cloned()
        .collect();
    forget_answered(story, run, &answered);
    claim_all(story, run, agent, by.file, &sorted.claims);
    ask_about_doubts(story, run, by.file, sorted.doubts);
    left
}

fn treatment(story: &Story<'_>, run: RunId, agent: &Agent, edit: &Edit) -> Treatment {
    let Some(run_row) = story.tables.run(run) else {
        return Treatment::Take(edit.clone());
    };
    let row = edit.about().and_then(|node| story.tables.item(run, node));
    if row.is_some() && edit.is_in_force(&story.tables, run) {
        return Treatment::Nothing;
    }
    match (edit, row) {
        (Edit::SetState { node, to }, Some(row)) => match to {
            ItemState::Done if row.state.is_finished() => Treatment::Nothing,
            ItemState::Done => Treatment::Claim(node.clone()),
            ItemState::Pending
            | ItemState::Ready
            | ItemState::Working
            | ItemState::Waiting
            | ItemState::Failed
            | ItemState::Skipped
            | ItemState::Dropped
            | ItemState::Blocked => Treatment::Doubt,
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
        ) => Treatment::Doubt,
        (Edit::SetPresent { present: false, .. }, Some(row)) if !row.state.is_finished() => {
            Treatment::Doubt
        }
        (Edit::SetPresent { .. }, _) => Treatment::Nothing,
        (Edit::SetPrompt { prompt, .. }, Some(row)) if agent.criteria => {
            if loses_line(row.prompt.as_deref(), prompt.as_deref()) {
                Treatment::Doubt
            } else if is_under_way(row) {
                // It is read again when the work is over.
                Treatment::Nothing
            } else {
                Treatment::Take(edit.clone())
            }
        }
        // What was done is said by the verdict.
        (Edit::SetSummary { node, .. }, _) if agent.own.contains(node) => Treatment::Nothing,
        (Edit::SetPolicy(policy), _) if policy.is_looser_than(&run_row.policy) => Treatment::Doubt,
        // Who asks for something does not decide it.
        (Edit::AnswerRequest { .. }, _) => Treatment::Doubt,
        (Edit::SetRunState { to }, _) => {
            let is_so = *to == run_row.state
                || (*to == RunState::Running && run_row.state == RunState::Interrupted);
            if *to == RunState::Paused {
                Treatment::Take(edit.clone())
            } else if is_so {
                Treatment::Nothing
            } else {
                Treatment::Doubt
            }
        }
        (
            Edit::Insert {
                parent,
                after,
                items,
            },
            _,
        ) => Treatment::Take(Edit::Insert {
            parent: parent.clone(),
            after: after.clone(),
            items: items.iter().map(begun_anew).collect(),
        }),
        _ => Treatment::Take(edit.clone()),
    }
}

/// Whether the file can go on to say it while a person is asked.
fn is_shown_over(edit: &Edit) -> bool {
    !matches!(edit, Edit::Insert { .. } | Edit::Order { .. })
}

/// An item that an agent adds is open, and proven as its plan asks, whatever it
/// says of it.
fn begun_anew(item: &PlannedItem) -> PlannedItem {
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
fn inserted_as_done(story: &Story<'_>, run: RunId, edits: &[Edit]) -> Vec<Node> {
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
fn keep_native_of_doubts(story: &Story<'_>, run: RunId, agent: &Agent, sorted: &mut Sorted) {
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
        others.any(|doubt| doubt.about() == Some(node))
    };
    let takes = std::mem::take(&mut sorted.takes);
    let (with, takes): (Vec<Edit>, Vec<Edit>) = takes.into_iter().partition(is_doubted);
    sorted.takes = takes;
    let differs = |edit: &Edit| {
        let Edit::SetNative { node: None, native } = edit else {
            return true;
        };
        let row = story.tables.run(run);
        row.is_some_and(|row| row.native != *native)
    };
    sorted.doubts.extend(with.into_iter().filter(differs));
}

// Claims.

/// Notes which items the agent says are done, and asks about those that nobody
/// was asked about.
fn claim_all(story: &mut Story<'_>, run: RunId, agent: &Agent, file: &str, nodes: &[Node]) {
    let mut new = Vec::new();
    for node in nodes {
        for leaf in open_leaves(story, run, node) {
            let is_own = agent.own.iter().any(|own| leaf.is_within(own));
            if !is_own && claim(story, run, agent, &leaf) && !new.contains(&leaf) {
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
        .map(|node| claimed_line(story, run, node, (file, at.as_deref())))
        .collect();
    let edits = new.into_iter().map(|node| Edit::SetState {
        node,
        to: ItemState::Done,
    });
    let more = edits.zip(lines).collect();
    ask_or_add(story, run, DecisionKind::ClaimedItems, more);
}

/// The items at and below a node that an agent works on and that are not finished.
fn open_leaves(story: &Story<'_>, run: RunId, node: &Node) -> Vec<Node> {
    let Some(top) = story.tables.item(run, node) else {
        return Vec::new();
    };
    let below = story.tables.subtree(run, &top.place);
    let open = below.filter(|item| item.is_leaf() && !item.state.is_finished());
    open.map(|item| item.node.clone()).collect()
}

/// Notes a claim, unless an attempt that changed something has made it already.
/// Whether a person is to be asked.
fn claim(story: &mut Story<'_>, run: RunId, agent: &Agent, node: &Node) -> bool {
    let Some(item) = story.tables.item(run, node) else {
        return false;
    };
    let before = item.claimed.as_deref();
    let counts = before.is_some_and(|by| {
        let change = by.change.as_ref().map(|change| change.changed);
        matches!(change, Some(Changed::Something { .. })) || by.attempt == Some(agent.attempt)
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
        .any(|own| share_check(own, item));
    let change = agent.change.clone().filter(|_| !is_shared);
    story.tell(Event::ItemClaimed {
        run,
        node: node.clone(),
        by: Some(Box::new(ClaimedBy {
            attempt: Some(agent.attempt),
            change,
        })),
    });
    is_new
}

fn claimed_line(
    story: &Story<'_>,
    run: RunId,
    node: &Node,
    (file, at): (&str, Option<&str>),
) -> String {
    let check = story
        .tables
        .item(run, node)
        .map_or("", ItemRow::check_in_words);
    match at {
        Some(at) => format!("`{node}` was ticked in {file} by the attempt at `{at}`; {check}"),
        None => format!("`{node}` was ticked in {file}; {check}"),
    }
}

// Questions.

/// Asks about edits, or adds them to what is asked already; each with its line.
fn ask_or_add(story: &mut Story<'_>, run: RunId, kind: DecisionKind, more: Vec<(Edit, String)>) {
    let open = open_edit_question(story, run, kind);
    let before = open.as_ref().map(lines_of).unwrap_or_default();
    let mut all = before.clone();
    for (edit, line) in more {
        all.retain(|(known, _)| !known.is_like(&edit));
        all.push((edit, line));
    }
    if all.is_empty() || all == before {
        return;
    }
    let question = question(kind, &all);
    let details = Some(details(&all));
    let edits = all.into_iter().map(|(edit, _)| edit).collect();
    match open {
        Some(open) => story.tell(Event::DecisionRevised {
            decision: open.id,
            question,
            details,
            edits,
        }),
        None => story.ask_about_edits(kind, run, (question, details), edits),
    }
}

fn open_edit_question(story: &Story<'_>, run: RunId, kind: DecisionKind) -> Option<DecisionRow> {
    let mut open = story.tables.open_decisions(run);
    open.find(|row| row.kind == kind).cloned()
}

/// The edits of a question, each with its line.
pub(super) fn lines_of(row: &DecisionRow) -> Vec<(Edit, String)> {
    let lines = row.details.iter().flat_map(|details| details.lines());
    let edits = row.edits.iter().cloned();
    edits.zip(lines.map(str::to_owned)).collect()
}

fn details(all: &[(Edit, String)]) -> String {
    let lines: Vec<&str> = all.iter().map(|(_, line)| line.as_str()).collect();
    lines.join("\n")
}

fn question(kind: DecisionKind, all: &[(Edit, String)]) -> String {
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

fn ask_about_doubts(story: &mut Story<'_>, run: RunId, file: &str, doubts: Vec<Edit>) {
    let doubts = doubts.into_iter().map(|edit| {
        let line = format!("{file}: {}", difference(story, run, &edit));
        (edit, line)
    });
    let doubts = doubts.collect();
    ask_or_add(story, run, DecisionKind::AgentEdit, doubts);
}

/// What the file says anew is no longer asked about as it was.
pub(super) fn forget_answered(story: &mut Story<'_>, run: RunId, edits: &[Edit]) {
    keep_edits(
        story,
        run,
        "the file does not say it any more",
        |_, row, edit| {
            let is_said = edits.iter().any(|said| said.is_like(edit));
            row.kind != DecisionKind::AgentEdit || !is_said
        },
    );
}

/// Closes, or shortens, what is asked about claims and agents' edits: what is
/// finished needs no answer.
pub(super) fn refresh_questions(story: &mut Story<'_>, run: RunId) {
    keep_edits(
        story,
        run,
        "what it was about is finished",
        |tables, _, edit| match edit.about() {
            Some(node) => tables
                .item(run, node)
                .is_none_or(|row| !row.state.is_finished() || outlives(edit, row)),
            None => tables
                .run(run)
                .is_none_or(|row| row.state != RunState::Done),
        },
    );
}

/// Whether an edit of an item that is finished still says something of it: that it
/// is to be done again, or what holds should it be. The file says so until a person
/// has answered.
fn outlives(edit: &Edit, row: &ItemRow) -> bool {
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
fn keep_edits(
    story: &mut Story<'_>,
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
        let before = lines_of(&row);
        let kept = before
            .iter()
            .filter(|(edit, _)| keeps(&story.tables, &row, edit));
        let kept: Vec<(Edit, String)> = kept.cloned().collect();
        if kept.is_empty() {
            story.tell_unless_made(row.id, Verb::Settled, Some(why));
        } else if kept.len() < before.len() {
            story.tell(Event::DecisionRevised {
                decision: row.id,
                question: question(row.kind, &kept),
                details: Some(details(&kept)),
                edits: kept.into_iter().map(|(edit, _)| edit).collect(),
            });
        }
    }
}

/// A person takes the claims, or the agent's edits.
pub(super) fn accept_edits(
    story: &mut Story<'_>,
    (id, verb): (DecisionId, Verb),
    why: Option<&str>,
) -> Result<(), Refusal> {
    let row = open_question(story, id, verb)?;
    let run = row.run;
    bury_runner(story, run)?;
    let word = Word::Person {
        decision: id,
        why: why.map(str::to_owned),
    };
    let by = By {
        file: "piton decide",
        word: &word,
    };
    let left = take_all(story, run, &by, &row.edits);
    if !left.is_empty() {
        let name = story.run(run)?.name.clone();
        return Err(Refusal::Unfit {
            file: format!("the plan of `{name}`"),
            why: in_lines(&left),
        });
    }
    story.tell_unless_made(id, verb, why);
    Ok(())
}
