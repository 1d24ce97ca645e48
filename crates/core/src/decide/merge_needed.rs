//! What depends on work that was done on another branch, or was done there by
//! another run of the plan, waits until a person has merged that, or says that it
//! goes on without. See `docs/design/0024-branches.md`.

use super::agent_edits::edits_with_lines;
use super::changes::{add_answer_to_item, append_change};
use super::dead_runner::release_dead_runner;
use super::event_buffer::EventBuffer;
use super::guards::check_holder;
use super::leaving_out::skip_item;
use super::marking::complete_subtree;
use super::reopening::advance_emptied_parents;
use super::restarting::{reset_for_retry, restart_at_work};
use crate::attempt::HumanNeeded;
use crate::command::{MergeNeeded, MergedWork};
use crate::decision::{DecisionKind, DecisionRow, Verb};
use crate::edit::Edit;
use crate::event::{DecisionEvent, ItemChange};
use crate::evidence::Evidence;
use crate::id::{Node, RunId};
use crate::item::ItemState;
use crate::refusal::Refusal;

/// Lets these items wait, and those that waited and are not among them go on.
/// What is not ready any more is left alone.
pub(super) fn update_merge_needed(
    story: &mut EventBuffer<'_>,
    run: RunId,
    token: Option<u64>,
    items: &[MergeNeeded],
    merged: &[MergedWork],
) -> Result<(), Refusal> {
    match token {
        Some(token) => check_holder(story, (run, token))?,
        // The runner that holds the run updates it.
        None if story.has_live_runner(run) => return Ok(()),
        None => {}
    }
    let name = story.require_run(run)?.name.clone();
    let (own, others): (Vec<_>, Vec<_>) = items
        .iter()
        .partition(|needed| needed.branch_of_own_work().is_some());
    let asked = story.tables.open_decisions(run);
    let asked = asked.filter(|row| row.kind == DecisionKind::MergeNeeded);
    let asked: Vec<Node> = asked.filter_map(|row| row.node.clone()).collect();
    for node in asked.iter().filter(|node| !has_node(&others, node)) {
        let item = story.require_item(run, node)?.clone();
        if item.state == ItemState::Waiting {
            restart_at_work(story, run, &item, None);
        }
        story.settle_decisions_of_node(run, node, Verb::Settled);
    }
    for needed in others {
        if story.require_item(run, &needed.node)?.state == ItemState::Ready {
            let human = describe_merge_needed(&name, needed);
            move_to_waiting(story, run, &needed.node, &human);
            let HumanNeeded { reason, details } = human;
            let kind = DecisionKind::MergeNeeded;
            story.ask_about_node(kind, run, &needed.node, reason, details);
        }
    }
    ask_about_merged_items(story, run, &name, &own, merged)
}

fn has_node(items: &[&MergeNeeded], node: &Node) -> bool {
    items.iter().any(|needed| needed.node == *node)
}

fn move_to_waiting(story: &mut EventBuffer<'_>, run: RunId, node: &Node, human: &HumanNeeded) {
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
}

/// What an item waits for, and what to type.
fn describe_merge_needed(run: &str, needed: &MergeNeeded) -> HumanNeeded {
    let done = |(node, branch): &(Node, String)| describe_done_on_branch(node, branch);
    let done: Vec<String> = needed.on.iter().map(done).collect();
    let branches = needed.on.iter().map(|(_, branch)| branch.as_str());
    HumanNeeded {
        reason: format!("{} and not here", done.join(", ")),
        details: Some(merge_commands(run, branches).join("\n")),
    }
}

fn describe_done_on_branch(node: &Node, branch: &str) -> String {
    format!("`{node}` is done on {branch}")
}

/// Merges each branch once, and goes on.
fn merge_commands<'b>(run: &str, branches: impl Iterator<Item = &'b str>) -> Vec<String> {
    let mut branches: Vec<&str> = branches.collect();
    branches.sort_unstable();
    branches.dedup();
    let merges = branches.iter().map(|branch| format!("git merge {branch}"));
    merges.chain([format!("piton run {run}")]).collect()
}

// What another run did.

/// The question about what another run did on other branches.
fn find_items_question(story: &EventBuffer<'_>, run: RunId) -> Option<DecisionRow> {
    let mut open = story.tables.open_decisions(run);
    open.find(|row| row.kind == DecisionKind::MergeNeeded && row.node.is_none())
        .cloned()
}

/// Lets the items wait that another run did on other branches, with one
/// question about all of them; also about those that are not ready yet. What it
/// was about and is merged is done.
fn ask_about_merged_items(
    story: &mut EventBuffer<'_>,
    run: RunId,
    name: &str,
    own: &[&MergeNeeded],
    merged: &[MergedWork],
) -> Result<(), Refusal> {
    let open = find_items_question(story, run);
    let asked: Vec<&Node> = open
        .iter()
        .flat_map(DecisionRow::nodes_needing_merge)
        .collect();
    for node in asked.iter().filter(|node| !has_node(own, node)) {
        let work = merged.iter().find(|work| work.node == **node);
        let item = story.require_item(run, node)?.clone();
        let is_waiting = item.state == ItemState::Waiting;
        if let Some(work) = work.filter(|_| is_waiting || is_unstarted(item.state)) {
            complete_subtree(
                story,
                run,
                &item,
                &evidence_of_merged_work(work),
                "another run",
            )?;
        } else if is_waiting {
            restart_at_work(story, run, &item, None);
        }
    }
    let mut waiting = Vec::new();
    for needed in own {
        let state = story.require_item(run, &needed.node)?.state;
        if state == ItemState::Ready {
            move_to_waiting(
                story,
                run,
                &needed.node,
                &describe_merge_needed(name, needed),
            );
        }
        // An item that waits for something else is not asked about.
        let is_waiting = state == ItemState::Waiting && asked.contains(&&needed.node);
        if is_waiting || is_unstarted(state) {
            waiting.push(*needed);
        }
    }
    let Some((question, details)) = items_question_text(name, &waiting) else {
        if let Some(open) = open {
            story.decide_if_open(open.id, Verb::Settled, None);
        }
        return Ok(());
    };
    let nodes = waiting.iter().map(|needed| needed.node.clone());
    let to = ItemState::Done;
    let edits: Vec<Edit> = nodes.map(|node| Edit::SetState { node, to }).collect();
    let details = Some(details);
    match open {
        Some(open) if (&open.edits, &open.details) == (&edits, &details) => {}
        Some(open) => story.append(DecisionEvent::Revised {
            decision: open.id,
            question,
            details,
            edits,
        }),
        None => {
            let kind = DecisionKind::MergeNeeded;
            story.ask_about_edits(kind, run, question, details, edits);
        }
    }
    Ok(())
}

fn is_unstarted(state: ItemState) -> bool {
    matches!(state, ItemState::Pending | ItemState::Ready)
}

/// What shows that an item is done that another run did: what showed it there,
/// and all of the commits of its work.
fn evidence_of_merged_work(work: &MergedWork) -> Vec<Evidence> {
    let evidence = work.evidence.iter().filter(|one| one.commit_id().is_none());
    let commits = work.commits.iter().cloned();
    let commits = commits.map(|commit| Evidence::Committed { commit });
    evidence.cloned().chain(commits).collect()
}

/// The question about these items, and its details: first a line for each of
/// them. None where there are none.
fn items_question_text(run: &str, waiting: &[&MergeNeeded]) -> Option<(String, String)> {
    let own = waiting
        .iter()
        .filter_map(|needed| Some((&needed.node, needed.branch_of_own_work()?)));
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
    let lines = own
        .iter()
        .map(|(node, branch)| describe_done_on_branch(node, branch));
    let branches = own.iter().map(|(_, branch)| *branch);
    let lines: Vec<String> = lines.chain(merge_commands(run, branches)).collect();
    Some((question, lines.join("\n")))
}

/// A person says what becomes of all that another run did on other branches.
pub(super) fn decide_items_question(
    story: &mut EventBuffer<'_>,
    row: &DecisionRow,
    verb: Verb,
    why: Option<&str>,
) -> Result<(), Refusal> {
    release_dead_runner(story, row.run)?;
    for (edit, line) in edits_with_lines(row) {
        let Some(node) = edit.target_node() else {
            continue;
        };
        let state = story.require_item(row.run, node)?.state;
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
            reset_for_retry(story, row.run, node, Some(&told))?;
        } else {
            add_answer_to_item(story, row.run, node, &question, words);
        }
        append_change(story, row.run, node, ItemChange::WithoutMerge(true));
    }
    story.decide_if_open(row.id, verb, why);
    advance_emptied_parents(story, row.run);
    Ok(())
}

/// Settles what was asked about items that are all finished by now.
pub(super) fn settle_items_question(story: &mut EventBuffer<'_>, run: RunId) {
    let Some(open) = find_items_question(story, run) else {
        return;
    };
    let is_finished = |node: &Node| {
        let item = story.tables.item(run, node);
        item.is_some_and(|item| item.state.is_finished())
    };
    if open.nodes_needing_merge().all(is_finished) {
        let why = "what it was about is finished";
        story.decide_if_open(open.id, Verb::Settled, Some(why));
    }
}
