//! Two changed trees made one, with what contradicts left open.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::rules::{ConflictRule, MergeRules, NamedList, node_as_text};
use crate::json::is_same_json;
use crate::sequence::{align_chunks, changed_side};
use crate::shape_merge::parse_instant_or_utc;
use crate::tree::{Map, MapKey, Value, ValueNode};

/// Whose version it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Theirs,
}

/// A value of the merged tree.
#[derive(Debug)]
pub(super) enum MergedPart {
    /// Both agree on it, or one side alone changed it.
    One(ValueNode),
    /// A contradiction: what stands here on either side, if anything. In a list
    /// that may be several elements.
    Choice {
        ours: Vec<ValueNode>,
        theirs: Vec<ValueNode>,
    },
    Map(Vec<(MapKey, MergedPart)>),
    Seq(Vec<MergedPart>),
}

impl MergedPart {
    fn choice(ours: Option<&ValueNode>, theirs: Option<&ValueNode>) -> Self {
        Self::Choice {
            ours: ours.cloned().into_iter().collect(),
            theirs: theirs.cloned().into_iter().collect(),
        }
    }

    pub(super) fn has_conflict(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Choice { .. } => true,
            Self::Map(pairs) => pairs.iter().any(|(_, part)| part.has_conflict()),
            Self::Seq(parts) => parts.iter().any(Self::has_conflict),
        }
    }

    /// The tree with every contradiction settled for `side`.
    pub(super) fn nodes_of_side(&self, side: Side) -> Vec<ValueNode> {
        match self {
            Self::One(node) => vec![node.clone()],
            Self::Choice { ours, theirs } => match side {
                Side::Ours => ours.clone(),
                Side::Theirs => theirs.clone(),
            },
            Self::Map(pairs) => {
                let values = pairs.iter().filter_map(|(key, part)| {
                    let value = part.nodes_of_side(side).pop()?;
                    Some((key.clone(), value))
                });
                vec![node_with_value(Value::Map(Map {
                    pairs: values.collect(),
                }))]
            }
            Self::Seq(parts) => {
                let items = parts.iter().flat_map(|part| part.nodes_of_side(side));
                vec![ValueNode::seq(items.collect())]
            }
        }
    }

    /// Where the contradictions stand in a text that was read as `node` and says
    /// what [`nodes_of_side`](Self::nodes_of_side) gives.
    pub(super) fn push_conflict_spans(
        &self,
        side: Side,
        node: &ValueNode,
        spans: &mut Vec<Range<usize>>,
    ) {
        match (self, &node.value) {
            (Self::Choice { .. }, _) => spans.push(node.span.start..node.span.end),
            (Self::Map(pairs), Value::Map(map)) => {
                for (key, part) in pairs {
                    if let Some(value) = map.get(&key.text) {
                        part.push_conflict_spans(side, value, spans);
                    }
                }
            }
            (Self::Seq(parts), Value::Seq(items)) => {
                let mut items = items.iter();
                for part in parts {
                    let count = match part {
                        Self::Choice { .. } => part.nodes_of_side(side).len(),
                        Self::One(_) | Self::Map(_) | Self::Seq(_) => 1,
                    };
                    for item in items.by_ref().take(count) {
                        part.push_conflict_spans(side, item, spans);
                    }
                }
            }
            (Self::One(_) | Self::Map(_) | Self::Seq(_), _) => {}
        }
    }
}

fn node_with_value(value: Value) -> ValueNode {
    let mut node = ValueNode::seq(Vec::new());
    node.value = value;
    node
}

fn is_same_node(a: Option<&ValueNode>, b: Option<&ValueNode>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => is_same_json(a, b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

impl MergeRules {
    /// What becomes of base, ours and theirs at `path`; none where it goes.
    pub(super) fn merge_nodes(
        &self,
        path: &str,
        nodes: [Option<&ValueNode>; 3],
    ) -> Option<MergedPart> {
        let [base, ours, theirs] = nodes;
        if is_same_node(ours, theirs) || is_same_node(base, theirs) {
            return ours.cloned().map(MergedPart::One);
        }
        if is_same_node(base, ours) {
            return theirs.cloned().map(MergedPart::One);
        }
        if self.conflict_rule_at(path) == Some(ConflictRule::Ours) {
            return ours.cloned().map(MergedPart::One);
        }
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            let left = ours.or(theirs).zip(base);
            let is_as_it_was =
                left.is_some_and(|(left, base)| self.is_trivial_change(path, left, base));
            return (!is_as_it_was).then(|| MergedPart::choice(ours, theirs));
        };
        let how = self.conflict_rule_at(path);
        let how = how.filter(|how| *how != ConflictRule::OursIfAdded || base.is_none());
        if let Some(settled) = how.and_then(|how| how.resolve(ours, theirs)) {
            return Some(MergedPart::One(settled.clone()));
        }
        let of_base = base.map(|base| &base.value);
        Some(match (&ours.value, &theirs.value) {
            (Value::Map(ours), Value::Map(theirs)) => {
                let nothing = Map::default();
                let base = match of_base {
                    Some(Value::Map(base)) => base,
                    Some(Value::Scalar(_) | Value::Seq(_)) | None => &nothing,
                };
                self.merge_maps(path, [base, ours, theirs])
            }
            (Value::Seq(ours), Value::Seq(theirs)) => {
                let base = base.and_then(ValueNode::as_seq).unwrap_or_default();
                self.merge_lists(path, [base, ours, theirs])
            }
            (Value::Scalar(_) | Value::Map(_) | Value::Seq(_), _) => {
                MergedPart::choice(Some(ours), Some(theirs))
            }
        })
    }

    /// Whether two versions differ at most in what says nothing of its own.
    fn is_trivial_change(&self, path: &str, a: &ValueNode, b: &ValueNode) -> bool {
        match (&a.value, &b.value) {
            (Value::Map(a), Value::Map(b)) => {
                let keys = a.iter().chain(b.iter()).map(|(key, _)| key.text.as_str());
                keys.into_iter().all(|key| {
                    let path = path_below(path, key);
                    let both = a.get(key).zip(b.get(key));
                    self.conflict_rule_at(&path) == Some(ConflictRule::Ours)
                        || both.is_some_and(|(a, b)| self.is_trivial_change(&path, a, b))
                })
            }
            (Value::Seq(a), Value::Seq(b)) => {
                let mut pairs = a.iter().zip(b);
                a.len() == b.len() && pairs.all(|(a, b)| self.is_trivial_change(path, a, b))
            }
            _ => is_same_json(a, b),
        }
    }

    fn merge_maps(&self, path: &str, maps: [&Map; 3]) -> MergedPart {
        let [_, ours, theirs] = maps;
        let part =
            |key: &str| self.merge_nodes(&path_below(path, key), maps.map(|map| map.get(key)));
        let mut pairs: Vec<(MapKey, MergedPart)> = Vec::with_capacity(ours.pairs.len());
        for (key, _) in ours.iter() {
            pairs.extend(part(&key.text).map(|part| (key.clone(), part)));
        }
        let mut behind = 0;
        for (key, _) in theirs.iter() {
            if let Some(at) = pairs.iter().position(|(have, _)| have == key) {
                behind = at + 1;
            } else if let Some(part) = part(&key.text) {
                pairs.insert(behind, (key.clone(), part));
                behind += 1;
            }
        }
        MergedPart::Map(pairs)
    }

    fn merge_lists(&self, path: &str, lists: [&[ValueNode]; 3]) -> MergedPart {
        if let Some(rule) = self.list_rule_at(path) {
            return self.merge_named_lists(path, rule, lists);
        }
        let have_ids = |node: &ValueNode| node.get("id").and_then(ValueNode::text).is_some();
        if lists.iter().all(|list| list.iter().all(have_ids)) {
            return self.merge_named_lists(path, &NamedList::BY_ID, lists);
        }
        MergedPart::Seq(merge_sequence(lists))
    }

    /// Elements that have names, each merged with its like.
    fn merge_named_lists(
        &self,
        path: &str,
        rule: &NamedList,
        lists: [&[ValueNode]; 3],
    ) -> MergedPart {
        let lists = lists.map(|nodes| NamedElements::new(rule, nodes));
        let [base, ours, theirs] = &lists;
        let mut parts: HashMap<&str, MergedPart> = HashMap::new();
        for name in ours.order.iter().chain(&theirs.order) {
            if parts.contains_key(name.as_str()) {
                continue;
            }
            let nodes = [base.get(name), ours.get(name), theirs.get(name)];
            let mut part = self.merge_nodes(path, nodes);
            // Both sides gave one name, and to two things.
            let [was, is_ours, is_theirs] = nodes;
            if was.is_none() && part.as_ref().is_some_and(MergedPart::has_conflict) {
                part = Some(MergedPart::choice(is_ours, is_theirs));
            }
            parts.extend(part.map(|part| (name.as_str(), part)));
        }
        if let Some(key) = rule.unique {
            join_same_numbers(key, &lists, &mut parts);
        }
        let (was, is_ours, is_theirs) = (
            common_names(&lists, 0),
            common_names(&lists, 1),
            common_names(&lists, 2),
        );
        if is_ours != was && is_theirs != was && is_ours != is_theirs {
            let of_side = |side, [lead, other]: [usize; 2]| {
                let order = merged_order(rule, [&lists[0], &lists[lead], &lists[other]], &parts);
                let nodes = order
                    .into_iter()
                    .flat_map(|name| parts[name].nodes_of_side(side));
                vec![ValueNode::seq(nodes.collect())]
            };
            return MergedPart::Choice {
                ours: of_side(Side::Ours, [1, 2]),
                theirs: of_side(Side::Theirs, [2, 1]),
            };
        }
        // Our order holds, unless theirs alone was sorted anew.
        let [lead, other] = if is_ours == was && is_theirs != was {
            [2, 1]
        } else {
            [1, 2]
        };
        let order = merged_order(rule, [&lists[0], &lists[lead], &lists[other]], &parts);
        let parts = order.into_iter().filter_map(|name| parts.remove(name));
        MergedPart::Seq(parts.collect())
    }
}

fn path_below(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

/// New elements of both sides that have one number, and no other of theirs has,
/// stand in one place: each side alone is a list that counts.
fn join_same_numbers<'n>(
    key: &str,
    [base, ours, theirs]: &'n [NamedElements<'_>; 3],
    parts: &mut HashMap<&'n str, MergedPart>,
) {
    let numbers = |list: &'n NamedElements<'_>| {
        let mut found: HashMap<&str, Vec<&'n str>> = HashMap::new();
        for name in &list.order {
            if let Some(number) = list.get(name).and_then(|node| node.get(key)?.text()) {
                found.entry(number).or_default().push(name);
            }
        }
        found
    };
    let (in_ours, in_theirs) = (numbers(ours), numbers(theirs));
    for (number, names) in &in_ours {
        let (&[our], Some(&[their])) = (
            names.as_slice(),
            in_theirs.get(number).map(Vec::as_slice).as_ref(),
        ) else {
            continue;
        };
        let is_new = |name: &str| base.get(name).is_none();
        if our != *their && is_new(our) && is_new(their) {
            parts.insert(our, MergedPart::choice(ours.get(our), theirs.get(their)));
            parts.remove(their);
        }
    }
}

/// The elements of a list by their names.
struct NamedElements<'n> {
    order: Vec<String>,
    nodes: HashMap<String, &'n ValueNode>,
}

impl<'n> NamedElements<'n> {
    /// A name that comes again is told apart by how often it came before.
    fn new(rule: &NamedList, list: &'n [ValueNode]) -> Self {
        let mut order: Vec<String> = Vec::with_capacity(list.len());
        let mut nodes = HashMap::with_capacity(list.len());
        let mut counts: HashMap<String, usize> = HashMap::new();
        for node in list {
            let name = rule.name_of_element(node);
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            let name = format!("{name}#{count}");
            nodes.insert(name.clone(), node);
            order.push(name);
        }
        Self { order, nodes }
    }

    fn get(&self, name: &str) -> Option<&'n ValueNode> {
        self.nodes.get(name).copied()
    }
}

/// The names that are in all three lists, in the order of one.
fn common_names<'n>(lists: &'n [NamedElements<'_>; 3], side: usize) -> Vec<&'n str> {
    let names = lists[side].order.iter().map(String::as_str);
    let is_common = |name: &&str| lists.iter().all(|list| list.get(name).is_some());
    names.filter(is_common).collect()
}

/// The names in the order of the merged list: that of the leading side; what the
/// other side added stands by its time, else behind what it stood behind.
fn merged_order<'n>(
    rule: &NamedList,
    [base, lead, other]: [&'n NamedElements<'_>; 3],
    parts: &HashMap<&str, MergedPart>,
) -> Vec<&'n str> {
    let names = lead.order.iter().map(String::as_str);
    let mut order: Vec<&str> = names.filter(|name| parts.contains_key(name)).collect();
    let stamp = |name: &str| {
        let node = lead.get(name).or_else(|| other.get(name))?;
        Some((
            parse_instant_or_utc(node.get(rule.time?)?.text()?)?,
            name.to_owned(),
        ))
    };
    let mut stamps: Vec<_> = order.iter().map(|name| stamp(name)).collect();
    let mut placed: HashSet<&str> = order.iter().copied().collect();
    for (at, name) in other.order.iter().enumerate() {
        if placed.contains(name.as_str()) || !parts.contains_key(name.as_str()) {
            continue;
        }
        let stamp = stamp(name);
        let place = position_by_time(&stamps, stamp.as_ref()).unwrap_or_else(|| {
            let mut before = other.order[..at].iter().rev();
            let before = before.find(|name| placed.contains(name.as_str()));
            let place = before.and_then(|name| order.iter().position(|have| have == name));
            let place = place.map_or(0, |at| at + 1);
            // What the leading side added at this place comes first.
            let is_new = |name: &&&str| base.get(name).is_none() && other.get(name).is_none();
            place + order[place..].iter().take_while(is_new).count()
        });
        order.insert(place, name);
        stamps.insert(place, stamp);
        placed.insert(name);
    }
    order
}

fn position_by_time<T: Ord>(stamps: &[Option<T>], new: Option<&T>) -> Option<usize> {
    let new = new?;
    let is_earlier = |stamp: &Option<T>| stamp.as_ref().is_some_and(|stamp| stamp <= new);
    match stamps.iter().rposition(is_earlier) {
        Some(at) => Some(at + 1),
        None => stamps.iter().position(Option::is_some),
    }
}

/// Elements without names: what both put in at one place is kept once each.
fn merge_sequence(lists: [&[ValueNode]; 3]) -> Vec<MergedPart> {
    let words = lists.map(|list| list.iter().map(node_as_text).collect::<Vec<String>>());
    let words = [&words[0][..], &words[1][..], &words[2][..]];
    let mut parts = Vec::new();
    for chunk in align_chunks(words) {
        let [base, ours, theirs]: [&[ValueNode]; 3] =
            std::array::from_fn(|side| &lists[side][chunk[side].clone()]);
        let has =
            |list: &[ValueNode], node: &ValueNode| list.iter().any(|have| is_same_json(have, node));
        let holds = |list: &[ValueNode], all: &[ValueNode]| all.iter().all(|node| has(list, node));
        if let Some(side) = changed_side(&chunk, words) {
            let nodes = &lists[side][chunk[side].clone()];
            parts.extend(nodes.iter().cloned().map(MergedPart::One));
        } else if holds(ours, base) && holds(theirs, base) {
            let added = theirs.iter().filter(|node| !has(ours, node));
            parts.extend(ours.iter().chain(added).cloned().map(MergedPart::One));
        } else if holds(base, ours) && holds(base, theirs) {
            let kept = ours.iter().filter(|node| has(theirs, node));
            parts.extend(kept.cloned().map(MergedPart::One));
        } else {
            parts.push(MergedPart::Choice {
                ours: ours.to_vec(),
                theirs: theirs.to_vec(),
            });
        }
    }
    parts
}

impl ConflictRule {
    /// The value that holds; none where the two contradict each other.
    fn resolve<'n>(self, ours: &'n ValueNode, theirs: &'n ValueNode) -> Option<&'n ValueNode> {
        let is_marked = |node: &ValueNode| {
            node.as_bool() == Some(true)
                || node
                    .as_str()
                    .is_some_and(|text| text.trim() == "x" || text.trim() == "X")
        };
        let takes_theirs = match self {
            Self::Ours | Self::OursIfAdded => false,
            Self::Mark => is_marked(theirs) && !is_marked(ours),
            Self::Least => compare_nodes(theirs, ours) == Ordering::Less,
            Self::Greatest => compare_nodes(theirs, ours) == Ordering::Greater,
            Self::Overtaken(words) => {
                let place = |node: &ValueNode| {
                    let mut words = words.iter();
                    words.position(|word| node.text() == Some(word))
                };
                match (place(ours), place(theirs)) {
                    (None, None) => return None,
                    (ours, None) => ours.is_some(),
                    (ours, theirs) => ours.is_some_and(|_| ours < theirs),
                }
            }
        };
        Some(if takes_theirs { theirs } else { ours })
    }
}

/// Numbers and times by what they are, mappings value by value; what is not
/// there is less than anything.
fn compare_nodes(a: &ValueNode, b: &ValueNode) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_map(), b.as_map()) {
        let null = ValueNode::plain("null");
        let pairs = a
            .iter()
            .map(|(key, value)| compare_nodes(value, b.get(&key.text).unwrap_or(&null)));
        return pairs.fold(Ordering::Equal, Ordering::then);
    }
    let time = |node: &ValueNode| parse_instant_or_utc(node.text()?);
    let numbers = a.as_f64().zip(b.as_f64());
    let by_number = numbers.and_then(|(a, b)| a.partial_cmp(&b));
    let by_time = || Some(time(a)?.cmp(&time(b)?));
    let by_text = || (!a.is_null(), a.text()).cmp(&(!b.is_null(), b.text()));
    by_number.or_else(by_time).unwrap_or_else(by_text)
}
