//! What a plan loses on its way into another format: what its file says and its
//! plan holds, less what the other file, read back, says and holds.

use std::collections::BTreeMap;

use piton_core::plan::{Plan, PlannedItem};
use piton_core::{ItemState, RunId};
use serde::Serialize;

use super::{flat, is_leaf, read};
use crate::format::{self, Format};
use crate::problem::Source;
use crate::shape::{Shape, Text};
use crate::tree::{Kind, Node, Value};

/// What a format has no place for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// What it is: `models`, or the key under which a text stood.
    pub what: String,
    /// How many of them there are.
    pub count: usize,
}

/// What of a plan, with the format and the text that it was read from, does not
/// stand in the text that was made of it.
#[must_use]
pub fn lost((from, text, plan): (&str, &str, &Plan), (to, written): (&str, &str)) -> Vec<Lost> {
    let source = Source {
        name: "",
        text: written,
    };
    let again = read(to, source, RunId::PROJECT).0;
    let mut lost = again.map_or_else(Vec::new, |again| of_plan(plan, &again));
    lost.extend(words(format::named(from), text, format::named(to), written));
    lost.into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| Lost { what, count })
        .collect()
}

type Counted = Vec<(String, usize)>;

/// What the one plan holds and the other does not.
fn of_plan(plan: &Plan, again: &Plan) -> Counted {
    let pairs: Vec<(&PlannedItem, Option<&PlannedItem>)> = plan
        .items
        .iter()
        .enumerate()
        .map(|(at, item)| (item, same(plan, again, at)))
        .collect();
    let of = |node: &piton_core::Node| {
        let mut pairs = pairs.iter();
        let pair = pairs.find(|(item, _)| item.node == *node);
        pair.and_then(|(_, same)| *same)
    };
    let count = |is_lost: &dyn Fn(&PlannedItem, &PlannedItem) -> bool| {
        let pairs = pairs.iter();
        pairs
            .filter(|(item, same)| same.is_some_and(|same| is_lost(item, same)))
            .count()
    };
    let gone = |leaf: bool| {
        let gone = pairs.iter().filter(|(_, same)| same.is_none());
        gone.filter(|(item, _)| is_leaf(plan, item) == leaf).count()
    };
    let dependencies = pairs.iter().map(|(item, same)| {
        let on = item.depends_on.iter();
        let on = on.flat_map(|on| leaves_within(plan, on));
        let is_kept = |on: &&PlannedItem| {
            let on = of(&on.node);
            let waiting = leaves_within(plan, &item.node);
            let mut waiting = waiting.filter_map(|item| of(&item.node)).chain(*same);
            on.is_some_and(|on| waiting.any(|item| waits(again, item, on)))
        };
        on.filter(|on| !is_kept(on)).count()
    });
    let times = |item: &PlannedItem| (item.past.started_at, item.past.completed_at);
    vec![
        ("items".to_owned(), gone(true)),
        ("items that hold others".to_owned(), gone(false)),
        ("dependencies".to_owned(), dependencies.sum()),
        (
            "states".to_owned(),
            count(&|item, same| {
                is_leaf(plan, item) && standing(item.state) != standing(same.state)
            }),
        ),
        (
            "times".to_owned(),
            count(&|item, same| times(item) != (None, None) && times(item) != times(same)),
        ),
        (
            "counts of retries".to_owned(),
            count(&|item, same| item.past.retries > same.past.retries),
        ),
        (
            "models".to_owned(),
            count(&|item, same| item.model.is_some() && item.model != same.model),
        ),
        (
            "checks".to_owned(),
            count(&|item, same| {
                let script = |item: &PlannedItem| {
                    let gate = item.gate.as_ref();
                    gate.map(|gate| gate.script.trim().to_owned())
                };
                script(item).is_some() && script(item) != script(same)
            }),
        ),
        (
            "breaks".to_owned(),
            count(&|item, same| item.breakpoint && !same.breakpoint),
        ),
        (
            "settings of retries, limits and commits".to_owned(),
            usize::from(plan.policy != Default::default() && plan.policy != again.policy),
        ),
    ]
}

/// The item of the other plan that is the same: by its name, else by its place.
fn same<'p>(plan: &Plan, again: &'p Plan, at: usize) -> Option<&'p PlannedItem> {
    let item = &plan.items[at];
    let named = again.items.iter().find(|other| other.node == item.node);
    let flat = flat(item);
    let named = named.or_else(|| again.items.iter().find(|other| other.id == flat));
    let is_whole = plan.items.len() == again.items.len();
    named.or_else(|| again.items.get(at).filter(|_| is_whole))
}

pub(super) fn leaves_within<'p>(
    plan: &'p Plan,
    node: &piton_core::Node,
) -> impl Iterator<Item = &'p PlannedItem> {
    let within = plan.items.iter();
    within.filter(move |item| item.node.is_within(node) && is_leaf(plan, item))
}

/// Whether an item waits for another, itself or with what holds it.
fn waits(plan: &Plan, item: &PlannedItem, on: &PlannedItem) -> bool {
    let holding = plan.items.iter();
    let holding = holding.filter(|other| item.node.is_within(&other.node));
    let mut depends = holding.flat_map(|other| &other.depends_on);
    depends.any(|node| on.node.is_within(node))
}

/// Where an item stands: one that waits for others is to be done, as one is that
/// may be begun.
fn standing(state: ItemState) -> ItemState {
    if state == ItemState::Pending {
        ItemState::Ready
    } else {
        state
    }
}

/// The words that do not stand in the other text, by the key that they stood under.
fn words(from: Option<&Format>, text: &str, to: Option<&Format>, written: &str) -> Counted {
    // As it stands there, for what stands in keys, and without its marks.
    let mut there = written.to_owned();
    if let Some((root, _)) = to.and_then(|to| to.document(written)) {
        let mut said = Vec::new();
        collect(&root, None, "", &mut said);
        for (_, words) in said {
            there.push('\n');
            there.push_str(&words);
        }
    }
    let there = plain(&there);
    let mut said = Vec::new();
    match from.and_then(|from| from.document(text)) {
        Some((root, shape)) => collect(&root, Some(shape), "", &mut said),
        None => said.extend(
            text.lines()
                .map(|line| ("lines".to_owned(), line.to_owned())),
        ),
    }
    let mut lost: BTreeMap<String, usize> = BTreeMap::new();
    for (key, words) in said {
        let is_there = words.lines().all(|line| there.contains(&plain(line)));
        if !is_there {
            *lost.entry(key).or_default() += 1;
        }
    }
    lost.into_iter().collect()
}

/// A text without what marks lists, boxes and headings, and with one blank
/// between words.
fn plain(text: &str) -> String {
    let words = text.split_whitespace();
    let is_mark = |word: &&str| {
        let number = word.trim_end_matches('.');
        let is_number = number.len() < word.len() && number.chars().all(|c| c.is_ascii_digit());
        is_number || word.chars().all(|c| "-*+#[]xX".contains(c))
    };
    let words = words.filter(|word| !is_mark(word));
    words.collect::<Vec<_>>().join(" ")
}

/// The texts of a document, each with its key. What only names a state or a
/// time is compared with the plan.
fn collect(node: &Node, shape: Option<&Shape>, key: &str, into: &mut Vec<(String, String)>) {
    match &node.value {
        Value::Scalar(scalar) if scalar.kind() == Kind::Text => {
            if !shape.is_some_and(is_word) {
                into.push((key.to_owned(), scalar.text.to_string()));
            }
        }
        Value::Scalar(_) => {}
        Value::Seq(items) => {
            let inner = shape.and_then(|shape| find(shape, &element_of));
            for item in items {
                collect(item, inner, key, into);
            }
        }
        Value::Map(map) => {
            for (own, node) in map.iter() {
                let inner =
                    shape.and_then(|shape| find(shape, &|shape| value_of(shape, &own.text)));
                collect(node, inner, &own.text, into);
            }
        }
    }
}

/// What is found in a shape, or in one of those that it may be.
fn find<'s>(shape: &'s Shape, look: &dyn Fn(&'s Shape) -> Option<&'s Shape>) -> Option<&'s Shape> {
    if let Shape::Either(shapes) = shape {
        return shapes.iter().find_map(|shape| find(shape, look));
    }
    if let Shape::Named(named) = shape {
        return find(&named.shape, look);
    }
    look(shape)
}

fn element_of(shape: &Shape) -> Option<&Shape> {
    if let Shape::List(element) = shape {
        Some(element)
    } else {
        None
    }
}

fn value_of<'s>(shape: &'s Shape, key: &str) -> Option<&'s Shape> {
    if let Shape::Each(value) = shape {
        return Some(value);
    }
    let Shape::Map(fields, _) = shape else {
        return None;
    };
    let mut fields = fields.iter();
    let field = fields.find(|field| field.key == key);
    field.map(|field| &field.shape)
}

/// Whether a text of this shape is one of a few words, or a time.
fn is_word(shape: &Shape) -> bool {
    let is_one = |shape: &Shape| matches!(shape, Shape::Text(Text::OneOf(_) | Text::DateTime));
    find(shape, &|shape| is_one(shape).then_some(shape)).is_some()
}
