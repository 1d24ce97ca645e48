//! What a plan loses on its way into another format: what its file says and its
//! plan holds, less what the other file, read back, says and holds.

use std::collections::BTreeMap;
use std::ops::Range;

use piton_core::ItemState;
use piton_core::plan::{Plan, PlannedItem};
use piton_core::policy::Policy;
use serde::Serialize;

use super::outline::{ItemWords, Outline, flat_name, is_leaf, leaves_within};
use crate::format::Format;
use crate::plan_format::{Conversion, PlanFormat};
use crate::tree::{Scalar, ScalarKind, Style, Value, ValueNode};

/// What a format has no place for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConversionLoss {
    /// What it is: `models`, or the key under which a value stood.
    pub what: String,
    /// How many of them there are.
    pub count: usize,
}

type LossCounts = Vec<(String, usize)>;

/// A text of a plan, with what is known of it.
pub(super) struct ConversionText<'a> {
    pub(super) plans: &'a PlanFormat,
    pub(super) format: Option<&'a Format>,
    pub(super) conversion: Conversion,
    pub(super) text: &'a str,
}

/// What of a plan, with the text that it was read from, does not stand in the text
/// that was made of it, and in the plan that is read from that.
pub(super) fn find_losses(
    from: &ConversionText<'_>,
    outline: &Outline,
    to: &ConversionText<'_>,
    again: Option<&Outline>,
) -> Vec<ConversionLoss> {
    let mut lost = again.map_or_else(Vec::new, |again| losses_of_plan(outline, again));
    let none = Plan {
        items: Vec::new(),
        ..outline.plan.clone()
    };
    let back = again.map_or(&none, |again| &again.plan);
    if from.parse_document().is_none() {
        let name = |outline: &Outline| outline.whole.project.as_deref().map(without_markup);
        let is_lost = name(outline).is_some() && name(outline) != again.and_then(name);
        lost.push(("project name".to_owned(), usize::from(is_lost)));
    }
    lost.extend(losses_of_text(from, outline, to, back));
    lost.into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| ConversionLoss { what, count })
        .collect()
}

/// What the one plan holds and the other does not.
fn losses_of_plan(outline: &Outline, again: &Outline) -> LossCounts {
    let (plan, back) = (&outline.plan, &again.plan);
    let plain = without_review(&plan.policy);
    let items = outline.items();
    let pairs: Vec<(&PlannedItem, &ItemWords, Option<usize>)> = items
        .enumerate()
        .map(|(at, (item, words))| (item, words, find_same_item(plan, back, at)))
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
            on.is_some_and(|on| waiting.any(|item| is_waiting_for(back, item, on)))
        };
        on.filter(|on| !is_kept(on)).count()
    });
    let states = pairs.iter().filter(|(item, words, same)| {
        let there = same.and_then(|at| Some((back.items.get(at)?, again.words.get(at)?)));
        let stands =
            |item: &PlannedItem, words: &ItemWords| (comparable_state(item.state), words.at_work);
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
            "waits".to_owned(),
            differs(|item| Some(item.wait.as_ref()?.to_string())),
        ),
        (
            "breaks".to_owned(),
            differs(|item| item.breakpoint.then(String::new)),
        ),
        (
            "settings of retries, limits and commits".to_owned(),
            usize::from(plain != Policy::default() && plain != without_review(&back.policy)),
        ),
        (
            "reviews by agents".to_owned(),
            usize::from(plan.policy.review.is_some() && back.policy.review.is_none()),
        ),
    ]
}

/// What a policy says beside who reviews.
fn without_review(policy: &Policy) -> Policy {
    Policy {
        review: None,
        ..policy.clone()
    }
}

/// Which item of the other plan is the same: by its name, else by its place.
fn find_same_item(plan: &Plan, again: &Plan, at: usize) -> Option<usize> {
    let item = plan.items.get(at)?;
    let flat = flat_name(item);
    let find = |is_it: &dyn Fn(&PlannedItem) -> bool| again.items.iter().position(is_it);
    let named = find(&|other| other.node == item.node);
    let named = named.or_else(|| find(&|other| other.id.eq_ignore_ascii_case(&flat)));
    let is_whole = plan.items.len() == again.items.len();
    named.or_else(|| Some(at).filter(|_| is_whole))
}

/// Whether an item waits for another, itself or with what holds it.
fn is_waiting_for(plan: &Plan, item: &PlannedItem, on: &PlannedItem) -> bool {
    let holding = plan.items.iter();
    let holding = holding.filter(|other| item.node.is_within(&other.node));
    let mut depends = holding.flat_map(|other| &other.depends_on);
    depends.any(|node| on.node.is_within(node))
}

/// Where an item stands: one that waits for others is to be done, as one is that
/// may be begun.
fn comparable_state(state: ItemState) -> ItemState {
    if state == ItemState::Pending {
        ItemState::Ready
    } else {
        state
    }
}

/// A value of a document with its key, or a line of another text.
struct Leaf {
    key: String,
    value: Scalar,
}

/// What a text says, apart for each item of its plan: the same words elsewhere say
/// nothing of it.
struct PlanParts {
    whole: Vec<Leaf>,
    items: Vec<Vec<Leaf>>,
}

impl PlanParts {
    /// What is said of the item of that index, and of those that it holds: they may
    /// say what they are a part of.
    fn words_of_item(&self, plan: &Plan, at: usize) -> PartWords {
        let node = plan.items.get(at).map(|item| &item.node);
        let is_within = |item: &PlannedItem| node.is_some_and(|node| item.node.is_within(node));
        let items = plan.items.iter().zip(&self.items);
        let within = items.filter(|(item, _)| is_within(item));
        PartWords::of_leaves(within.flat_map(|(_, leaves)| leaves))
    }
}

impl ConversionText<'_> {
    fn parse_document(&self) -> Option<ValueNode> {
        Some(self.format?.parse_document(self.text)?.0)
    }

    /// All that it says, less what stands under the keys that are judged otherwise.
    fn split_parts(&self, plan: &Plan, judged: &[&str]) -> PlanParts {
        let items = plan.items.iter().map(|_| Vec::new()).collect();
        let whole = Vec::new();
        let mut parts = PlanParts { whole, items };
        match self.parse_document() {
            Some(root) => Walk {
                plan,
                judged,
                parts: &mut parts,
            }
            .collect_node(&root, "", None),
            None => self.collect_lines(judged, &mut parts),
        }
        parts
    }

    /// The lines of a text that is no document. What stands under a heading is not
    /// part of the item above it.
    fn collect_lines(&self, judged: &[&str], parts: &mut PlanParts) {
        let starts = (self.plans.lines_of_items)(self.text);
        let mut item = None;
        for (line, at) in self.text.lines().zip(1..) {
            let starting = starts.iter().position(|start| *start == at);
            let is_heading = line.trim_start().starts_with('#');
            item = starting.or(item.filter(|_| !is_heading));
            let key = line.split_once(':').map(|(key, _)| key);
            let is_judged = item.is_none() && key.is_some_and(|key| judged.contains(&key));
            let part = item.and_then(|item| parts.items.get_mut(item));
            if !is_judged {
                part.unwrap_or(&mut parts.whole).push(Leaf {
                    key: "lines".to_owned(),
                    value: Scalar {
                        text: line.to_owned(),
                        style: Style::Quoted,
                        tag: None,
                    },
                });
            }
        }
    }
}

/// The values of a document on their way to the items that they are about.
struct Walk<'a> {
    plan: &'a Plan,
    judged: &'a [&'a str],
    parts: &'a mut PlanParts,
}

impl Walk<'_> {
    /// Collects what a node below `key` says of the item of that index.
    fn collect_node(&mut self, node: &ValueNode, key: &str, item: Option<usize>) {
        match &node.value {
            Value::Scalar(value) => {
                let part = item.and_then(|item| self.parts.items.get_mut(item));
                if has_content(node, value) {
                    part.unwrap_or(&mut self.parts.whole).push(Leaf {
                        key: key.to_owned(),
                        value: value.clone(),
                    });
                }
            }
            Value::Seq(nodes) => nodes.iter().for_each(|node| {
                let own = scalar_text(node.get(ID)).and_then(|id| self.find_item(id, item));
                self.collect_node(node, key, own.or(item));
            }),
            Value::Map(map) => {
                for (key, node) in map.iter() {
                    if self.judged.contains(&&*key.text) {
                        continue;
                    }
                    let own = node.as_map().and_then(|_| self.find_item(&key.text, item));
                    self.collect_node(node, &key.text, own.or(item));
                }
            }
        }
    }

    /// The item of that name within another one, unless it was met before.
    fn find_item(&self, id: &str, within: Option<usize>) -> Option<usize> {
        let above = within.map(|at| &self.plan.items[at].node);
        let mut items = self.plan.items.iter().zip(&self.parts.items);
        items.position(|(item, said)| {
            item.id == id && item.node.parent().as_ref() == above && said.is_empty()
        })
    }
}

/// What a part of a text says. What has said one thing does not say another.
struct PartWords {
    /// The words of it without what marks lists, boxes and headings, a line each.
    words: String,
    values: Vec<(String, String)>,
}

impl PartWords {
    fn of_leaves<'l>(leaves: impl IntoIterator<Item = &'l Leaf>) -> Self {
        let leaves: Vec<&Leaf> = leaves.into_iter().collect();
        let said = leaves.iter().filter(|leaf| leaf.key != ID);
        let words: Vec<String> = said.map(|leaf| without_markup(&leaf.value.text)).collect();
        let values = leaves
            .into_iter()
            .map(|leaf| (leaf.key.clone(), leaf.value.text.trim().to_owned()));
        Self {
            words: words.join("\n"),
            values: values.collect(),
        }
    }

    /// Whether a value is said: a text in any place, a number under its key.
    fn has_leaf(&self, leaf: &Leaf) -> bool {
        let text = leaf.value.text.trim();
        if is_text(&leaf.value) {
            return text.lines().all(|line| has_words(&self.words, line));
        }
        let mut values = self.values.iter();
        values.any(|(key, value)| *key == leaf.key && value == text)
    }

    /// The same, once: the words that say it are gone then.
    fn remove_leaf(&mut self, leaf: &Leaf) -> bool {
        let is_said = self.has_leaf(leaf);
        if is_said && is_text(&leaf.value) {
            for line in leaf.value.text.lines() {
                let found = find_words(&self.words, &without_markup(line));
                if let Some(found) = found.filter(|found| !found.is_empty()) {
                    self.words.replace_range(found, "\n");
                }
            }
        }
        is_said
    }
}

fn scalar_text(node: Option<&ValueNode>) -> Option<&str> {
    match &node?.value {
        Value::Scalar(scalar) => Some(scalar.text.trim()),
        Value::Seq(_) | Value::Map(_) => None,
    }
}

fn is_text(value: &Scalar) -> bool {
    matches!(value.kind(), ScalarKind::Text | ScalarKind::Timestamp)
}

/// Under this key a document has the name of an item.
const ID: &str = "id";

/// All that a text says, in words.
pub(crate) fn words_of_text(text: &str) -> String {
    let parsed = crate::json::parse(text);
    let Some(root) = parsed.root.filter(|_| parsed.faults.is_empty()) else {
        return without_markup(text);
    };
    let mut leaves = Vec::new();
    collect_values(&root, "", &mut leaves);
    let texts = leaves.iter().map(|(_, text)| without_markup(text));
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether words stand in others, from the beginning of a word to the end of one.
pub(crate) fn has_words(said: &str, words: &str) -> bool {
    find_words(said, &without_markup(words)).is_some()
}

/// Where words stand in others.
fn find_words(said: &str, words: &str) -> Option<Range<usize>> {
    if words.is_empty() {
        return Some(0..0);
    }
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let mut places = said.match_indices(words);
    let found = places.find(|(at, found)| {
        is_end(said[..*at].chars().next_back()) && is_end(said[at + found.len()..].chars().next())
    });
    found.map(|(at, found)| at..at + found.len())
}

/// What the other text does not say, by the key that it stood under.
fn losses_of_text(
    from: &ConversionText<'_>,
    outline: &Outline,
    to: &ConversionText<'_>,
    back: &Plan,
) -> LossCounts {
    let plan = &outline.plan;
    let parts = from.split_parts(plan, from.conversion.judged);
    let there = to.split_parts(back, &[]);
    let mut lost: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |leaf: &Leaf| *lost.entry(leaf.key.clone()).or_default() += 1;
    let whole = PartWords::of_leaves(&there.whole);
    let gone = parts.whole.iter().filter(|leaf| !whole.has_leaf(leaf));
    // The name of the whole is compared by itself, wherever a line says it.
    let name = outline.whole.project.as_deref().map(without_markup);
    let name = name.filter(|_| from.parse_document().is_none());
    let gone = gone.filter(|leaf| name.as_ref() != Some(&without_markup(&leaf.value.text)));
    gone.for_each(&mut count);
    for (at, leaves) in parts.items.iter().enumerate() {
        let same = find_same_item(plan, back, at);
        let mut said = same.map_or_else(
            || PartWords::of_leaves([]),
            |same| there.words_of_item(back, same),
        );
        let same = same.and_then(|same| back.items.get(same));
        let mut leaves = without_name(leaves, &plan.items[at], same);
        // What is long first: its words may hold what is short.
        leaves.sort_by_key(|leaf| std::cmp::Reverse(leaf.value.text.len()));
        let gone = leaves.into_iter().filter(|leaf| !said.remove_leaf(leaf));
        gone.for_each(&mut count);
    }
    lost.into_iter().collect()
}

/// What is said of an item but its name, where that is kept or lost with the item.
fn without_name<'l>(
    leaves: &'l [Leaf],
    item: &PlannedItem,
    same: Option<&PlannedItem>,
) -> Vec<&'l Leaf> {
    let is_kept = same.is_none_or(|same| same.id.eq_ignore_ascii_case(&flat_name(item)));
    let is_name = |leaf: &&Leaf| leaf.key == ID && leaf.value.text.trim() == item.id;
    let leaves = leaves.iter();
    leaves.filter(|leaf| !(is_kept && is_name(leaf))).collect()
}

/// A text without what marks lists, boxes and headings, and with one blank
/// between words.
fn without_markup(text: &str) -> String {
    let words = text.split_whitespace();
    let is_mark = |word: &&str| {
        let number = word.trim_end_matches('.');
        let is_number = number.len() < word.len() && number.chars().all(|c| c.is_ascii_digit());
        is_number || word.chars().all(|c| "-*+#[]xX".contains(c))
    };
    let words = words.filter(|word| !is_mark(word));
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a value says something that a document without it does not.
fn has_content(node: &ValueNode, value: &Scalar) -> bool {
    match value.kind() {
        ScalarKind::Null => false,
        ScalarKind::Bool(value) => value,
        ScalarKind::Int(_) | ScalarKind::Float(_) => node.as_f64() != Some(0.0),
        ScalarKind::Text | ScalarKind::Timestamp => !value.text.trim().is_empty(),
    }
}

/// The values of a document that say something, each with its key.
fn collect_values(node: &ValueNode, key: &str, into: &mut Vec<(String, String)>) {
    match &node.value {
        Value::Scalar(value) => {
            if has_content(node, value) {
                into.push((key.to_owned(), value.text.clone()));
            }
        }
        Value::Seq(nodes) => nodes
            .iter()
            .for_each(|node| collect_values(node, key, into)),
        Value::Map(map) => map
            .iter()
            .for_each(|(key, node)| collect_values(node, &key.text, into)),
    }
}

/// The values of a document, each with its key.
#[cfg(test)]
pub(super) fn values_of(root: &ValueNode) -> Vec<(String, String)> {
    let mut leaves = Vec::new();
    collect_values(root, "", &mut leaves);
    leaves
}
