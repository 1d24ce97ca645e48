//! What depends on work that was done on another branch waits until a person has
//! merged that, or says that it can do without. See `docs/design/0024-branches.md`.

use super::people::begin_again;
use super::runner::guard;
use super::story::Story;
use crate::attempt::HumanNeeded;
use crate::command::MergeNeeded;
use crate::decision::{DecisionKind, Verb};
use crate::id::{Node, RunId};
use crate::item::ItemState;
use crate::refusal::Refusal;

/// Lets these items wait, and those that waited and are not among them go on.
/// What is not ready any more is left alone.
pub(super) fn ask_for_merge(
    story: &mut Story<'_>,
    run: RunId,
    token: Option<u64>,
    items: &[MergeNeeded],
) -> Result<(), Refusal> {
    match token {
        Some(token) => guard(story, (run, token))?,
        // Whoever holds the run sees to it.
        None if story.is_held(run) => return Ok(()),
        None => {}
    }
    let name = story.run(run)?.name.clone();
    let asked = story.tables.open_decisions(run);
    let asked = asked.filter(|row| row.kind == DecisionKind::MergeNeeded);
    let asked: Vec<Node> = asked.filter_map(|row| row.node.clone()).collect();
    for node in asked.iter().filter(|node| !is_among(items, node)) {
        let item = story.item(run, node)?.clone();
        if item.state == ItemState::Waiting {
            begin_again(story, run, &item, None);
        }
        story.settle_own(run, node, Verb::Settled);
    }
    for needed in items {
        if story.item(run, &needed.node)?.state == ItemState::Ready {
            wait_for_merge(story, (run, &name), needed);
        }
    }
    Ok(())
}

fn is_among(items: &[MergeNeeded], node: &Node) -> bool {
    items.iter().any(|needed| needed.node == *node)
}

fn wait_for_merge(story: &mut Story<'_>, (run, name): (RunId, &str), needed: &MergeNeeded) {
    let done = |(node, branch): &(Node, String)| format!("`{node}` is done on {branch}");
    let done: Vec<String> = needed.on.iter().map(done).collect();
    let mut branches: Vec<&str> = needed
        .on
        .iter()
        .map(|(_, branch)| branch.as_str())
        .collect();
    branches.sort_unstable();
    branches.dedup();
    let merges = branches.iter().map(|branch| format!("git merge {branch}"));
    let then: Vec<String> = merges.chain([format!("piton run {name}")]).collect();
    let human = HumanNeeded {
        reason: format!("{} and not here", done.join(", ")),
        details: Some(then.join("\n")),
    };
    story.move_item(run, &needed.node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
    story.ask(
        DecisionKind::MergeNeeded,
        run,
        &needed.node,
        human.reason,
        human.details,
    );
}
