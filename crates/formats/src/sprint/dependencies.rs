//! `depends-on` between the items of a collection.

use std::collections::HashMap;
use std::fmt;

use super::checker::NodeChecker;
use super::field::{ProblemReport, ValuePath, to_text};
use crate::yaml::{ScalarKind, Value, ValueNode};

/// An id as the original compares it: `7` and `"7"` are two ids.
#[derive(Clone, PartialEq, Eq, Hash)]
enum DependencyId {
    Text(String),
    Other(String),
    /// A list or mapping equals only itself.
    Unique(usize),
}

impl DependencyId {
    fn from_node(node: &ValueNode) -> Self {
        match &node.value {
            Value::Scalar(scalar) if scalar.kind() == ScalarKind::Text => {
                Self::Text(scalar.text.clone())
            }
            Value::Scalar(_) => Self::Other(to_text(node)),
            Value::Seq(_) | Value::Map(_) => Self::Unique(node.span.start),
        }
    }

    fn from_item(item: &ValueNode, collection: &str, index: usize) -> Self {
        match item.get("id").filter(|id| !id.is_null()) {
            Some(id) => Self::from_node(id),
            None => Self::Text(format!("{collection}-{index}")),
        }
    }
}

impl fmt::Display for DependencyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(text) | Self::Other(text) => text,
            Self::Unique(_) => "[…]",
        })
    }
}

fn dependencies_of_item(item: &ValueNode) -> &[ValueNode] {
    item.get("depends-on")
        .and_then(ValueNode::as_seq)
        .unwrap_or_default()
}

/// Checks the form of one item's `depends-on`; false when it is no list.
pub(super) fn check_depends_on(item: &mut NodeChecker<'_, '_>) -> bool {
    const KEY: &str = "depends-on";
    let depends_on = item.node.get(KEY).filter(|node| !node.is_null());
    let Some(depends_on) = depends_on else {
        return true;
    };
    let Some(list) = depends_on.as_seq() else {
        let found = depends_on.describe();
        item.error(
            "INVALID_DEPENDS_ON",
            KEY,
            format!("`depends-on` must be a list of ids, not {found}"),
            "write it as a list: `depends-on: [other-id]`",
        );
        return false;
    };
    let path = item.path.key(KEY);
    for (index, element) in list.iter().enumerate() {
        let (code, words) = match element.as_str() {
            None => (
                "INVALID_DEPENDS_ON_ELEMENT",
                (
                    format!("an id must be a string, not {}", element.describe()),
                    "put the id in quotes, here and at the item that it names",
                ),
            ),
            Some(text) if text.trim().is_empty() => (
                "EMPTY_DEPENDS_ON_ELEMENT",
                (
                    "an id that is empty".to_owned(),
                    "write the id of the item to wait for",
                ),
            ),
            Some(_) => continue,
        };
        item.report
            .error(code, path.index(index), element.span, words);
    }
    true
}

/// Checks that all dependencies of a collection exist and none runs in a circle.
pub(super) fn check_graph(
    items: &[ValueNode],
    collection: &str,
    path: ValuePath<'_>,
    report: &mut ProblemReport<'_>,
) {
    if items
        .iter()
        .all(|item| dependencies_of_item(item).is_empty())
    {
        return;
    }
    let mut index_of: HashMap<DependencyId, usize> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        index_of.insert(DependencyId::from_item(item, collection, index), index);
    }
    for (index, item) in items.iter().enumerate() {
        let own = DependencyId::from_item(item, collection, index);
        for element in dependencies_of_item(item) {
            let id = DependencyId::from_node(element);
            let item_path = path.index(index);
            let (code, words) = if id == own {
                (
                    "DEPENDENCY_SELF_REFERENCE",
                    (
                        format!("`{own}` waits for itself"),
                        "name another item, or leave the id out",
                    ),
                )
            } else if !index_of.contains_key(&id) {
                let hint = "write the id of an item of the same collection; an item without an \
                    id is named by the collection and its number, as in `step-0`";
                let message =
                    format!("`{own}` waits for `{id}`, which is no item of `{collection}`");
                ("DEPENDENCY_NOT_FOUND", (message, hint))
            } else {
                continue;
            };
            report.error(code, item_path.key("depends-on"), element.span, words);
        }
    }
    for cycle in find_cycles(items, collection, &index_of) {
        let last = cycle[cycle.len() - 1];
        let ids = cycle.iter().chain(cycle.first());
        let names: Vec<String> = ids
            .map(|index| DependencyId::from_item(&items[*index], collection, *index).to_string())
            .collect();
        NodeChecker::new(&items[last], path.index(last), report).error(
            "DEPENDENCY_CIRCULAR",
            "depends-on",
            format!("items that wait for each other: {}", names.join(" → ")),
            "take one of the ids out of its `depends-on`",
        );
    }
}

#[derive(Clone, Copy, PartialEq)]
enum VisitState {
    New,
    Open,
    Done,
}

/// Each circle that a walk along the dependencies closes.
///
/// The walk keeps its own stack: a chain of ten thousand items is legal.
fn find_cycles(
    items: &[ValueNode],
    collection: &str,
    index_of: &HashMap<DependencyId, usize>,
) -> Vec<Vec<usize>> {
    let targets: Vec<Vec<usize>> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let own = DependencyId::from_item(item, collection, index);
            dependencies_of_item(item)
                .iter()
                .map(DependencyId::from_node)
                .filter(|id| *id != own)
                .filter_map(|id| index_of.get(&id).copied())
                .collect()
        })
        .collect();
    let mut marks = vec![VisitState::New; items.len()];
    let mut found = Vec::new();
    for start in 0..items.len() {
        if marks[start] != VisitState::New {
            continue;
        }
        marks[start] = VisitState::Open;
        let mut trail: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((node, next)) = trail.last_mut() {
            let node = *node;
            let Some(target) = targets[node].get(*next).copied() else {
                marks[node] = VisitState::Done;
                trail.pop();
                continue;
            };
            *next += 1;
            match marks[target] {
                VisitState::Done => {}
                VisitState::New => {
                    marks[target] = VisitState::Open;
                    trail.push((target, 0));
                }
                VisitState::Open => {
                    let from = trail.iter().position(|(node, _)| *node == target);
                    let from = from.unwrap_or_default();
                    found.push(trail[from..].iter().map(|(node, _)| *node).collect());
                }
            }
        }
    }
    found
}

/// The entry of one phase in `dependency-graph`; `None` when no step of the
/// phase waits for another.
pub(super) fn graph_of_phase(phase_id: &str, steps: &[super::PhaseNode]) -> Option<ValueNode> {
    if steps.iter().all(|step| step.depends_on.is_empty()) {
        return None;
    }
    let nodes = steps
        .iter()
        .map(|step| {
            let ids = || ValueNode::seq_of_texts(&step.depends_on);
            ValueNode::map([
                ("id", ValueNode::string(&step.id)),
                ("depends-on", ids()),
                ("blocked-by", ids()),
            ])
        })
        .collect();
    Some(ValueNode::map([
        ("phase-id", ValueNode::string(phase_id)),
        ("nodes", ValueNode::seq(nodes)),
    ]))
}

/// Which item of the collection an element of `depends-on` names.
pub(super) fn dependency_resolver(
    items: &[ValueNode],
    collection: &str,
) -> impl Fn(&ValueNode) -> Option<usize> {
    let any = items
        .iter()
        .any(|item| !dependencies_of_item(item).is_empty());
    let index_of: HashMap<DependencyId, usize> = items
        .iter()
        .enumerate()
        .filter(|_| any)
        .map(|(index, item)| (DependencyId::from_item(item, collection, index), index))
        .collect();
    move |element| index_of.get(&DependencyId::from_node(element)).copied()
}
