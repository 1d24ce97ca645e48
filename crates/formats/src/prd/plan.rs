//! From a list of requirements to a plan.

use std::collections::{HashMap, HashSet};

use piton_core::plan::{Plan, PlannedItem};
use piton_core::{ItemState, Node, RunId, TreePosition};

use super::{Prd, PrdItem};
use crate::graph::order_by_priority;
use crate::plan_file::{gate_of_commands, nodes_of_ids, plan_of_items, planned_item};

/// The name of this format.
pub const FACE: &str = "prd-json";

/// The plan that a list describes, for a run of this id and name. `source` is
/// the path of the file, as the journal keeps it.
///
/// What an item depends on comes before it; of those that may be begun the
/// least priority comes first, then what stands first in the file.
#[must_use]
pub fn plan_of_prd(prd: &Prd, run: RunId, name: &str, source: &str) -> Plan {
    let known: HashSet<&str> = prd.items.iter().map(|item| item.id.as_str()).collect();
    let done: HashSet<&str> = prd
        .items
        .iter()
        .filter(|item| item.passes == Some(true))
        .map(|item| item.id.as_str())
        .collect();
    let items: Vec<PlannedItem> = work_order(&prd.items)
        .into_iter()
        .zip(0..)
        .map(|(at, index)| PlannedItem {
            place: TreePosition::default().child(index),
            ..plan_item(prd, &prd.items[at], &known, &done)
        })
        .collect();
    plan_of_items(FACE, run, name, source, items)
}

/// The node of an item.
pub(super) fn node_of_item(id: &str) -> Node {
    Node::child(None, id, 1)
}

/// An item as it is planned. Of what it depends on only what is `known` counts.
pub(super) fn plan_item(
    prd: &Prd,
    item: &PrdItem,
    known: &HashSet<&str>,
    done: &HashSet<&str>,
) -> PlannedItem {
    let needs = || item.depends_on.iter().filter(|id| known.contains(&***id));
    let state = if item.passes == Some(true) {
        ItemState::Done
    } else if needs().all(|id| done.contains(&**id)) {
        ItemState::Ready
    } else {
        ItemState::Pending
    };
    let commands = item.verification.iter().chain(&prd.verification);
    let commands: Vec<&str> = commands.map(String::as_str).collect();
    PlannedItem {
        prompt: Some(render_prompt(item)),
        gate: gate_of_commands(&commands, render_on_fail_prompt(item)),
        depends_on: nodes_of_ids(needs()),
        claims: item.claims,
        scope: item.scope.clone(),
        ..planned_item(&item.id, state)
    }
}

/// The indexes of the items in the order in which they are worked on.
pub(super) fn work_order(items: &[PrdItem]) -> Vec<usize> {
    let at: HashMap<&str, usize> = items
        .iter()
        .zip(0..)
        .map(|(item, index)| (item.id.as_str(), index))
        .collect();
    let waits_for: Vec<Vec<usize>> = items
        .iter()
        .map(|item| {
            let on = item.depends_on.iter();
            on.filter_map(|id| at.get(id.as_str()).copied()).collect()
        })
        .collect();
    let priorities: Vec<f64> = items
        .iter()
        .map(|item| item.priority.unwrap_or(f64::INFINITY))
        .collect();
    // Those that wait for each other are an error by themselves.
    order_by_priority(&waits_for, &priorities)
}

fn non_blank(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// What stands above the criteria in a prompt.
const CRITERIA: &str = "What must be true in the end:";

/// The criteria that stand in the prompt of an item.
pub(crate) fn criteria_in_prompt(prompt: &str) -> Vec<String> {
    let lines = prompt.lines().skip_while(|line| *line != CRITERIA).skip(2);
    let points = lines.map_while(|line| line.strip_prefix("- "));
    points.map(str::to_owned).collect()
}

fn render_prompt(item: &PrdItem) -> String {
    let title = non_blank(item.title.as_ref());
    let description = non_blank(item.description.as_ref());
    let (head, rest) = match (title, description) {
        (Some(title), description) => (title, description),
        (None, Some(description)) => (description, None),
        (None, None) => ("", None),
    };
    let mut text = if head.is_empty() {
        format!("**{}**", item.id)
    } else {
        format!("**{}**: {head}", item.id)
    };
    if let Some(rest) = rest {
        text.push_str(&format!("\n\n{rest}"));
    }
    let mut list = |head: &str, numbered: bool, lines: &[String]| {
        let lines = lines.iter().map(|line| line.trim());
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return;
        }
        text.push_str(&format!("\n\n{head}\n"));
        for (line, number) in lines.iter().zip(1..) {
            let mark = if numbered {
                format!("{number}.")
            } else {
                "-".to_owned()
            };
            text.push_str(&format!("\n{mark} {line}"));
        }
    };
    list(CRITERIA, false, &item.criteria);
    list("Steps:", true, &item.steps);
    if let Some(notes) = non_blank(item.notes.as_ref()) {
        text.push_str(&format!("\n\nNotes:\n\n{notes}"));
    }
    text
}

fn render_on_fail_prompt(item: &PrdItem) -> String {
    let about = non_blank(item.title.as_ref()).or(non_blank(item.description.as_ref()));
    let about = about.map_or_else(String::new, |about| format!(" ({about})"));
    format!(
        "It checks the work on **{}**{about}. Mend what it found, in the work and not in the check.",
        item.id
    )
}
