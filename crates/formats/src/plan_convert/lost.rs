//! What a plan loses on its way into another format: what its file says and its
//! plan holds, less what the other file, read back, says and holds.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::ItemState;
use piton_core::plan::{Plan, PlannedItem};
use serde::Serialize;

use super::{Outline, Words, flat, is_leaf};
use crate::format::Format;
use crate::plan_format::Conversion;
use crate::tree::{Kind, Node, Scalar, Value};

/// What a format has no place for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// What it is: `models`, or the key under which a value stood.
    pub what: String,
    /// How many of them there are.
    pub count: usize,
}

type Counted = Vec<(String, usize)>;

/// What of a plan, with the format and the text that it was read from, does not
/// stand in the text that was made of it.
pub(super) fn lost(
    (from, source, text, outline): (Option<&Format>, Conversion, &str, &Outline),
    (to, written, again): (Option<&Format>, &str, Option<&Outline>),
) -> Vec<Lost> {
    let mut lost = again.map_or_else(Vec::new, |again| of_plan(outline, again));
    lost.extend(of_text((from, text, source.judged), &Said::of(to, written)));
    lost.into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| Lost { what, count })
        .collect()
}

/// What the one plan holds and the other does not.
fn of_plan(outline: &Outline, again: &Outline) -> Counted {
    let (plan, back) = (&outline.plan, &again.plan);
    let items = outline.items();
    let pairs: Vec<(&PlannedItem, &Words, Option<usize>)> = items
        .enumerate()
        .map(|(at, (item, words))| (item, words, same(plan, back, at)))
        .collect();
    let of = |node: &piton_core::Node| {
        let mut pairs = pairs.iter();
        let pair = pairs.find(|(item, ..)| item.node == *node);
        pair.and_then(|(_, _, same)| back.items.get((*same)?))
    };
    let count = |is_lost: &dyn Fn(&PlannedItem, Option<&PlannedItem>) -> bool| {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(item, _, same)| (item, same.and_then(|at| back.items.get(at))));
        pairs.filter(|(item, same)| is_lost(item, *same)).count()
    };
    let gone = |leaf: bool| count(&|item, same| same.is_none() && is_leaf(plan, item) == leaf);
    let dependencies = pairs.iter().map(|(item, _, same)| {
        let same = same.and_then(|at| back.items.get(at));
        let on = item.depends_on.iter();
        let on = on.flat_map(|on| leaves_within(plan, on));
        let is_kept = |on: &&PlannedItem| {
            let on = of(&on.node);
            let waiting = leaves_within(plan, &item.node);
            let mut waiting = waiting.filter_map(|item| of(&item.node)).chain(same);
            on.is_some_and(|on| waiting.any(|item| waits(back, item, on)))
        };
        on.filter(|on| !is_kept(on)).count()
    });
    let states = pairs.iter().filter(|(item, words, same)| {
        let there = same.and_then(|at| Some((back.items.get(at)?, again.words.get(at)?)));
        let stands = |item: &PlannedItem, words: &Words| (standing(item.state), words.at_work);
        is_leaf(plan, item)
            && there.is_some_and(|(same, said)| stands(item, words) != stands(same, said))
    });
    let states = states.count();
    let differs = |of: fn(&PlannedItem) -> Option<String>| {
        count(&|item, same| of(item).is_some() && of(item) != same.and_then(of))
    };
    let bounds = |item: &PlannedItem| {
        let gate = item.gate.as_ref()?;
        Some(format!("{} {}", gate.runs_max, gate.timeout_s))
    };
    vec![
        ("items".to_owned(), gone(true)),
        ("items that hold others".to_owned(), gone(false)),
        ("dependencies".to_owned(), dependencies.sum()),
        ("states".to_owned(), states),
        (
            "times".to_owned(),
            differs(|item| {
                let times = (item.past.started_at, item.past.completed_at);
                (times != (None, None)).then(|| format!("{times:?}"))
            }),
        ),
        (
            "counts of retries".to_owned(),
            differs(|item| {
                item.past
                    .retries
                    .filter(|count| *count > 0)
                    .map(|count| count.to_string())
            }),
        ),
        ("models".to_owned(), differs(|item| item.model.clone())),
        (
            "checks".to_owned(),
            differs(|item| Some(item.gate.as_ref()?.script.trim().to_owned())),
        ),
        (
            "limits of checks".to_owned(),
            count(&|item, same| {
                let bounds_there = same.and_then(bounds);
                bounds_there.is_some() && bounds(item).is_some() && bounds(item) != bounds_there
            }),
        ),
        (
            "breaks".to_owned(),
            differs(|item| item.breakpoint.then(String::new)),
        ),
        (
            "settings of retries, limits and commits".to_owned(),
            usize::from(plan.policy != Default::default() && plan.policy != back.policy),
        ),
    ]
}

/// Which item of the other plan is the same: by its name, else by its place.
fn same(plan: &Plan, again: &Plan, at: usize) -> Option<usize> {
    let item = plan.items.get(at)?;
    let flat = flat(item);
    let find = |is_it: &dyn Fn(&PlannedItem) -> bool| again.items.iter().position(is_it);
    let named = find(&|other| other.node == item.node);
    let named = named.or_else(|| find(&|other| other.id.eq_ignore_ascii_case(&flat)));
    let is_whole = plan.items.len() == again.items.len();
    named.or_else(|| Some(at).filter(|_| is_whole))
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

/// What a text says.
struct Said {
    /// All of it in words, without what marks lists, boxes and headings.
    words: String,
    /// The values of a document, by their keys; none of a text that is none.
    values: Option<BTreeSet<(String, String)>>,
}

impl Said {
    fn of(format: Option<&Format>, text: &str) -> Self {
        let root = format.and_then(|format| format.document(text));
        let Some((root, _)) = root else {
            return Self {
                words: plain(text),
                values: None,
            };
        };
        let mut leaves = Vec::new();
        collect(&root, "", &[], &mut leaves);
        // As it stands there as well, for what stands in keys.
        let mut words = plain(text);
        for (_, value) in &leaves {
            words.push('\n');
            words.push_str(&plain(&value.text));
        }
        let values = leaves.into_iter();
        let values = values.map(|(key, value)| (key, value.text)).collect();
        Self {
            words,
            values: Some(values),
        }
    }

    /// Whether a value of that key is said: a text in any place, where it is
    /// longer than a word; a number under its key.
    fn says(&self, key: &str, value: &Scalar) -> bool {
        let text = value.text.trim();
        let is_text = matches!(value.kind(), Kind::Text | Kind::Timestamp);
        let Some(values) = &self.values else {
            return is_text && text.lines().all(|line| is_said(&self.words, line));
        };
        if is_text && (text.contains(char::is_whitespace) || key == ID) {
            return text.lines().all(|line| is_said(&self.words, line));
        }
        let is_it =
            |(other, said): &(String, String)| said.trim() == text && (is_text || other == key);
        values.iter().any(is_it)
    }
}

/// Under this key a document has the name of an item.
const ID: &str = "id";

/// All that a text says, in words.
pub(crate) fn said_in(text: &str) -> String {
    let parsed = crate::json::parse(text);
    let Some(root) = parsed.root.filter(|_| parsed.faults.is_empty()) else {
        return plain(text);
    };
    let mut leaves = Vec::new();
    collect(&root, "", &[], &mut leaves);
    let texts = leaves.iter().map(|(_, value)| plain(&value.text));
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether words stand in others, from the beginning of a word to the end of one.
pub(crate) fn is_said(said: &str, words: &str) -> bool {
    let words = plain(words);
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    words.is_empty()
        || said.match_indices(&words).any(|(at, found)| {
            is_end(said[..at].chars().next_back())
                && is_end(said[at + found.len()..].chars().next())
        })
}

/// What the other text does not say, by the key that it stood under.
fn of_text((from, text, judged): (Option<&Format>, &str, &[&str]), there: &Said) -> Counted {
    let mut lost: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |key: &str| *lost.entry(key.to_owned()).or_default() += 1;
    match from.and_then(|from| from.document(text)) {
        Some((root, _)) => {
            let mut said = Vec::new();
            collect(&root, "", judged, &mut said);
            let gone = said.iter().filter(|(key, value)| !there.says(key, value));
            gone.for_each(|(key, _)| count(key));
        }
        None => {
            // Settings at the head of a text are compared in the plan.
            let is_judged = |line: &str| {
                let key = line.split_once(':').map(|(key, _)| key);
                key.is_some_and(|key| judged.contains(&key))
            };
            let gone = text.lines().filter(|line| !is_judged(line));
            let gone = gone.filter(|line| !is_said(&there.words, line));
            gone.for_each(|_| count("lines"));
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

/// The values of a document that say something, each with its key; what stands
/// under a key that is judged otherwise is left out.
fn collect(node: &Node, key: &str, judged: &[&str], into: &mut Vec<(String, Scalar)>) {
    match &node.value {
        Value::Scalar(scalar) => {
            let says = match scalar.kind() {
                Kind::Null => false,
                Kind::Bool(value) => value,
                Kind::Int(_) | Kind::Float(_) => node.as_f64() != Some(0.0),
                Kind::Text | Kind::Timestamp => !scalar.text.trim().is_empty(),
            };
            if says {
                into.push((key.to_owned(), scalar.clone()));
            }
        }
        Value::Seq(items) => items
            .iter()
            .for_each(|item| collect(item, key, judged, into)),
        Value::Map(map) => {
            for (own, node) in map.iter() {
                if !judged.contains(&own.text.as_str()) {
                    collect(node, &own.text, judged, into);
                }
            }
        }
    }
}

/// The values of a document, each with its key.
#[cfg(test)]
pub(super) fn values_of(root: &Node) -> Vec<(String, String)> {
    let mut leaves = Vec::new();
    collect(root, "", &[], &mut leaves);
    let leaves = leaves.into_iter();
    leaves.map(|(key, value)| (key, value.text)).collect()
}
