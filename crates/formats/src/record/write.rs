//! A record as YAML text, as JSON, and as the tree of a document that is there.
//!
//! YAML goes straight into one string: a document of ten thousand nodes is
//! written several times a second.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};

use super::{Columns, Record, Written};
use crate::tree::{Key, Map, Node};
use crate::yaml;

type Others<'r> = &'r [(String, Node)];

/// The pairs of a mapping: what is known, then the rest.
fn pairs<'r>(
    record: &'r dyn Record,
    others: Others<'r>,
) -> impl Iterator<Item = (&'r str, Written<'r>)> {
    pairs_of(record.written(), others)
}

fn pairs_of<'r>(
    known: Columns<'r>,
    others: Others<'r>,
) -> impl Iterator<Item = (&'r str, Written<'r>)> {
    let is_written = |name: &str| {
        let mut known = known.iter();
        known.any(|(key, value)| *key == name && value.is_some())
    };
    let others: Vec<_> = others
        .iter()
        .filter(|(key, _)| !is_written(key))
        .map(|(key, node)| (key.as_str(), Written::Tree(node)))
        .collect();
    let known = known
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    known.chain(others)
}

/// A number in the words of YAML.
fn number_text(value: f64) -> String {
    match value {
        _ if value.is_nan() => ".nan".to_owned(),
        f64::INFINITY => ".inf".to_owned(),
        f64::NEG_INFINITY => "-.inf".to_owned(),
        _ => value.to_string(),
    }
}

/// Writes the pairs of a mapping as YAML, its keys in the column `indent`.
/// `inline`: the first key continues a line that is already indented.
pub(crate) fn push_yaml(
    out: &mut String,
    (record, others): (&dyn Record, Others<'_>),
    indent: usize,
    inline: bool,
) {
    for (index, (key, value)) in pairs(record, others).enumerate() {
        if index > 0 || !inline {
            yaml::push_indent(out, indent);
        }
        yaml::push_key(out, key, indent);
        push_value(out, &value, indent);
    }
}

/// Writes what stands behind a key in the column `indent`.
fn push_value(out: &mut String, value: &Written<'_>, indent: usize) {
    let mut plain = |value: &dyn std::fmt::Display| {
        writeln!(out, " {value}").expect("a string takes everything");
    };
    match value {
        Written::Text(text) => yaml::push_text(out, text, indent),
        Written::Flag(flag) => plain(flag),
        Written::Integer(value) => plain(value),
        Written::Number(value) => plain(&number_text(*value)),
        Written::Null => plain(&"null"),
        Written::Tree(node) => yaml::push_node(out, node, indent, false),
        Written::Texts(texts) => {
            out.push('\n');
            for text in *texts {
                yaml::push_indent(out, indent + 2);
                out.push('-');
                yaml::push_text(out, text, indent + 2);
            }
        }
        Written::Record(record, others) => {
            out.push('\n');
            push_yaml(out, (*record, others), indent + 2, false);
        }
        Written::Records(records) if records.is_empty() => out.push_str(" []\n"),
        Written::Records(records) => {
            out.push('\n');
            for record in records {
                yaml::push_indent(out, indent + 2);
                out.push_str("- ");
                push_yaml(out, (*record, record.extra()), indent + 4, true);
            }
        }
    }
}

/// The tree of a record, with the keys of `present` that piton does not know.
pub(crate) fn merged(record: &dyn Record, others: Others<'_>, present: Option<&Node>) -> Node {
    let written = record.written();
    let known: Vec<&str> = written.iter().map(|(key, _)| *key).collect();
    let mut pairs: Vec<(Key, Node)> = pairs_of(written, others)
        .map(|(key, value)| {
            let present = present.and_then(|present| present.get(key));
            (Key::new(key), value.in_place_of(present))
        })
        .collect();
    let written = pairs.len();
    let there = present.and_then(Node::as_map);
    for (key, node) in there.into_iter().flat_map(Map::iter) {
        let mut before = pairs[..written].iter();
        let is_known = known.contains(&key.text.as_str());
        if !is_known && !before.any(|(have, _)| have.text == key.text) {
            pairs.push((key.clone(), node.clone()));
        }
    }
    Node::of_map(Map { pairs })
}

impl Written<'_> {
    /// The value as a node: the one that is there if it says the same.
    pub(crate) fn in_place_of(&self, present: Option<&Node>) -> Node {
        let keep = |says: &dyn Fn(&Node) -> bool| present.filter(|node| says(node)).cloned();
        match self {
            Self::Text(text) => keep(&|node| !node.is_null() && node.text() == Some(&**text))
                .unwrap_or_else(|| Node::string(&**text)),
            Self::Flag(flag) => {
                keep(&|node| node.as_bool() == Some(*flag)).unwrap_or_else(|| Node::bool(*flag))
            }
            Self::Integer(value) => keep(&|node| node.as_i64().map(i128::from) == Some(*value))
                .unwrap_or_else(|| Node::plain(value.to_string())),
            Self::Number(value) => keep(&|node| node.as_f64() == Some(*value))
                .unwrap_or_else(|| Node::plain(number_text(*value))),
            Self::Null => keep(&Node::is_null).unwrap_or_else(|| Node::plain("null")),
            Self::Texts(values) => keep(&|node| {
                let items = node.as_seq().unwrap_or_default();
                let values = values.iter().map(|value| Some(value.as_str()));
                items.iter().map(Node::text).eq(values)
            })
            .unwrap_or_else(|| Node::texts(values)),
            Self::Tree(node) => (*node).clone(),
            Self::Record(record, others) => merged(*record, others, present),
            Self::Records(records) => merged_list(records, present),
        }
    }
}

/// Records with an id are the same; of several with one id, in turn.
fn merged_list(records: &[&dyn Record], present: Option<&Node>) -> Node {
    let there = present.and_then(Node::as_seq).unwrap_or_default();
    let mut by_id: HashMap<&str, VecDeque<&Node>> = HashMap::new();
    for node in there {
        let id = node.get("id").and_then(Node::text).unwrap_or_default();
        by_id.entry(id).or_default().push_back(node);
    }
    let mut before = |record: &dyn Record| by_id.get_mut(record.id())?.pop_front();
    let nodes = records.iter();
    Node::seq(
        nodes
            .map(|record| merged(*record, record.extra(), before(*record)))
            .collect(),
    )
}

/// A record, serialized as a map.
pub(crate) struct AsJson<'r>(pub(crate) &'r dyn Record);

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written::record(self.0).serialize(serializer)
    }
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Integer(value) => {
                let value = i64::try_from(*value).map_err(S::Error::custom)?;
                serializer.serialize_i64(value)
            }
            Self::Number(value) => serializer.serialize_f64(*value),
            Self::Null => serializer.serialize_unit(),
            Self::Tree(node) => node.serialize(serializer),
            Self::Texts(texts) => texts.serialize(serializer),
            Self::Record(record, others) => {
                let mut map = serializer.serialize_map(None)?;
                for (key, value) in pairs(*record, others) {
                    map.serialize_entry(key, &value)?;
                }
                map.end()
            }
            Self::Records(records) => serializer.collect_seq(records.iter().map(|r| AsJson(*r))),
        }
    }
}
