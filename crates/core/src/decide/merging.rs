//! What depends on work that was done on another branch, or was done there by
//! another run of the plan, waits until a person has merged that, or says that it
//! goes on without. See `docs/design/0024-branches.md`.

use super::agent_edits::lines_of;
use super::editing::{complete, tell_change};
use super::people::{begin_again, bury_runner, close_emptied, skip_item, tell_item, try_again};
use super::runner::guard;
use super::story::Story;
use crate::attempt::HumanNeeded;
use crate::command::{MergeNeeded, MergedWork};
use crate::decision::{DecisionKind, DecisionRow, Verb};
use crate::edit::Edit;
use crate::event::{Change, Event};
use crate::evidence::Evidence;
use crate::id::{Node, RunId};
use crate::item::ItemState;
use crate::refusal::Refusal;

/// Lets these items wait, and those that waited and are not among them go on.
/// What is not ready any more is left alone.
pub(super) fn ask_for_merge(
    story: &mut Story<'_>,
    (run, token): (RunId, Option<u64>),
    items: &[MergeNeeded],
    merged: &[MergedWork],
) -> Result<(), Refusal> {
    match token {
        Some(token) => guard(story, (run, token))?,
        // Whoever holds the run sees to it.
        None if story.is_held(run) => return Ok(()),
        None => {}
    }
    let name = story.run(run)?.name.clone();
    let (own, others): (Vec<_>, Vec<_>) = items
        .iter()
        .partition(|needed| needed.own_branch().is_some());
    let asked = story.tables.open_decisions(run);
    let asked = asked.filter(|row| row.kind == DecisionKind::MergeNeeded);
    let asked: Vec<Node> = asked.filter_map(|row| row.node.clone()).collect();
    for node in asked.iter().filter(|node| !is_among(&others, node)) {
        let item = story.item(run, node)?.clone();
        if item.state == ItemState::Waiting {
            begin_again(story, run, &item, None);
        }
        story.settle_own(run, node, Verb::Settled);
    }
    for needed in others {
        if story.item(run, &needed.node)?.state == ItemState::Ready {
            let human = human_needed(&name, needed);
            wait(story, run, &needed.node, &human);
            let HumanNeeded { reason, details } = human;
            let kind = DecisionKind::MergeNeeded;
            story.ask(kind, run, &needed.node, reason, details);
        }
    }
    ask_about_items(story, (run, &name), &own, merged)
}

fn is_among(items: &[&MergeNeeded], node: &Node) -> bool {
    items.iter().any(|needed| needed.node == *node)
}

fn wait(story: &mut Story<'_>, run: RunId, node: &Node, human: &HumanNeeded) {
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
}

/// What an item waits for, and what to type.
fn human_needed(run: &str, needed: &MergeNeeded) -> HumanNeeded {
    let done = |(node, branch): &(Node, String)| done_on(node, branch);
    let done: Vec<String> = needed.on.iter().map(done).collect();
    let branches = needed.on.iter().map(|(_, branch)| branch.as_str());
    HumanNeeded {
        reason: format!("{} and not here", done.join(", ")),
        details: Some(to_type(run, branches).join("\n")),
    }
}

fn done_on(node: &Node, branch: &str) -> String {
    format!("`{node}` is done on {branch}")
}

/// Merges each branch once, and goes on.
fn to_type<'b>(run: &str, branches: impl Iterator<Item = &'b str>) -> Vec<String> {
    let mut branches: Vec<&str> = branches.collect();
    branches.sort_unstable();
    branches.dedup();
    let merges = branches.iter().map(|branch| format!("git merge {branch}"));
    merges.chain([format!("piton run {run}")]).collect()
}

// What another run did.

/// The question about what another run did on other branches.
fn question_about_items(story: &Story<'_>, run: RunId) -> Option<DecisionRow> {
    let mut open = story.tables.open_decisions(run);
    open.find(|row| row.kind == DecisionKind::MergeNeeded && row.node.is_none())
        .cloned()
}

/// Lets the items wait that another run did on other branches, with one
/// question about all of them; also about those that are not ready yet. What it
/// was about and is merged is done.
fn ask_about_items(
    story: &mut Story<'_>,
    (run, name): (RunId, &str),
    own: &[&MergeNeeded],
    merged: &[MergedWork],
) -> Result<(), Refusal> {
    let open = question_about_items(story, run);
    let asked: Vec<&Node> = open.iter().flat_map(DecisionRow::needs_merge).collect();
    for node in asked.iter().filter(|node| !is_among(own, node)) {
        let work = merged.iter().find(|work| work.node == **node);
        let item = story.item(run, node)?.clone();
        let is_waiting = item.state == ItemState::Waiting;
        if let Some(work) = work.filter(|_| is_waiting || has_not_begun(item.state)) {
            complete(story, run, &item, (&evidence_of(work), "another run"))?;
        } else if is_waiting {
            begin_again(story, run, &item, None);
        }
    }
    let mut waiting = Vec::new();
    for needed in own {
        let state = story.item(run, &needed.node)?.state;
        if state == ItemState::Ready {
            wait(story, run, &needed.node, &human_needed(name, needed));
        }
        // Whoever waits for something else is not asked about.
        let is_waiting = state == ItemState::Waiting && asked.contains(&&needed.node);
        if is_waiting || has_not_begun(state) {
            waiting.push(*needed);
        }
    }
    let Some((question, details)) = words(name, &waiting) else {
        if let Some(open) = open {
            story.tell_unless_made(open.id, Verb::Settled, None);
        }
        return Ok(());
    };
    let nodes = waiting.iter().map(|needed| needed.node.clone());
    let to = ItemState::Done;
    let edits: Vec<Edit> = nodes.map(|node| Edit::SetState { node, to }).collect();
    let details = Some(details);
    match open {
        Some(open) if (&open.edits, &open.details) == (&edits, &details) => {}
        Some(open) => story.tell(Event::DecisionRevised {
            decision: open.id,
            question,
            details,
            edits,
        }),
        None => {
            let kind = DecisionKind::MergeNeeded;
            story.ask_about_edits(kind, run, (question, details), edits);
        }
    }
    Ok(())
}

fn has_not_begun(state: ItemState) -> bool {
    matches!(state, ItemState::Pending | ItemState::Ready)
}

/// What shows that an item is done that another run did: what showed it there,
/// and all of the commits of its work.
fn evidence_of(work: &MergedWork) -> Vec<Evidence> {
    let evidence = work.evidence.iter().filter(|one| one.commit().is_none());
    let commits = work.commits.iter().cloned();
    let commits = commits.map(|commit| Evidence::Committed { commit });
    evidence.cloned().chain(commits).collect()
}

/// The question about these items, and its details: first a line for each of
/// them. None where there are none.
fn words(run: &str, waiting: &[&MergeNeeded]) -> Option<(String, String)> {
    let own = waiting
        .iter()
        .filter_map(|needed| Some((&needed.node, needed.own_branch()?)));
    let own: Vec<(&Node, &str)> = own.collect();
    let (node, branch) = own.first()?;
    let is_one_branch = own.iter().all(|(_, other)| other == branch);
    let on = if is_one_branch {
        branch
    } else {
        "other branches"
    };
    let question = match own.len() {
        1 => format!("another run did `{node}` on {on}, and it is not here: do it again?"),
        count => {
            format!("another run did {count} items on {on}, and they are not here: do them again?")
        }
    };
    let lines = own.iter().map(|(node, branch)| done_on(node, branch));
    let branches = own.iter().map(|(_, branch)| *branch);
    let lines: Vec<String> = lines.chain(to_type(run, branches)).collect();
    Some((question, lines.join("\n")))
}

/// A person says what becomes of all that another run did on other branches.
pub(super) fn decide_about_items(
    story: &mut Story<'_>,
    row: &DecisionRow,
    verb: Verb,
    why: Option<&str>,
) -> Result<(), Refusal> {
    bury_runner(story, row.run)?;
    for (edit, line) in lines_of(row) {
        let Some(node) = edit.about() else {
            continue;
        };
        let state = story.item(row.run, node)?.state;
        if state.is_finished() {
            continue;
        }
        if verb == Verb::Skip {
            skip_item(story, row.run, node, why)?;
            continue;
        }
        let question = format!("{line} and not here");
        let words = why.unwrap_or("do it again here");
        if state == ItemState::Waiting {
            let told = format!("{question}: {words}");
            try_again(story, row.run, node, Some(&told))?;
        } else {
            tell_item(story, (row.run, node), &question, words);
        }
        tell_change(story, row.run, node, Change::WithoutMerge(true));
    }
    story.tell_unless_made(row.id, verb, why);
    close_emptied(story, row.run);
    Ok(())
}

/// Settles what was asked about items that are all finished by now.
pub(super) fn settle_finished(story: &mut Story<'_>, run: RunId) {
    let Some(open) = question_about_items(story, run) else {
        return;
    };
    let is_finished = |node: &Node| {
        let item = story.tables.item(run, node);
        item.is_some_and(|item| item.state.is_finished())
    };
    if open.needs_merge().all(is_finished) {
        let why = "what it was about is finished";
        story.tell_unless_made(open.id, Verb::Settled, Some(why));
    }
}
