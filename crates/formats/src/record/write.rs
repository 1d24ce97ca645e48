//! A record as YAML text, as JSON, and as the tree of a document that is there.
//!
//! YAML goes straight into one string: a document of ten thousand nodes is
//! written several times a second.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};

use super::{Columns, TableRecord, WrittenValue};
use crate::tree::{Map, MapKey, ValueNode};
use crate::yaml;

type OtherPairs<'r> = &'r [(String, ValueNode)];

/// The pairs of a mapping: what is known, then the rest.
fn record_pairs<'r>(
    record: &'r dyn TableRecord,
    others: OtherPairs<'r>,
) -> impl Iterator<Item = (&'r str, WrittenValue<'r>)> {
    chain_pairs(record.written_columns(), others)
}

fn chain_pairs<'r>(
    known: Columns<'r>,
    others: OtherPairs<'r>,
) -> impl Iterator<Item = (&'r str, WrittenValue<'r>)> {
    let is_written = |name: &str| {
        let mut known = known.iter();
        known.any(|(key, value)| *key == name && value.is_some())
    };
    let others: Vec<_> = others
        .iter()
        .filter(|(key, _)| !is_written(key))
        .map(|(key, node)| (key.as_str(), WrittenValue::Tree(node)))
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
    record: &dyn TableRecord,
    others: OtherPairs<'_>,
    indent: usize,
    inline: bool,
) {
    for (index, (key, value)) in record_pairs(record, others).enumerate() {
        if index > 0 || !inline {
            yaml::push_indent(out, indent);
        }
        yaml::push_key(out, key, indent);
        push_value(out, &value, indent);
    }
}

/// Writes what stands behind a key in the column `indent`.
fn push_value(out: &mut String, value: &WrittenValue<'_>, indent: usize) {
    let mut plain = |value: &dyn std::fmt::Display| {
        writeln!(out, " {value}").expect("a string takes everything");
    };
    match value {
        WrittenValue::Text(text) => yaml::push_text(out, text, indent),
        WrittenValue::Flag(flag) => plain(flag),
        WrittenValue::Integer(value) => plain(value),
        WrittenValue::Number(value) => plain(&number_text(*value)),
        WrittenValue::Null => plain(&"null"),
        WrittenValue::Tree(node) => yaml::push_node(out, node, indent, false),
        WrittenValue::Texts(texts) => {
            out.push('\n');
            for text in *texts {
                yaml::push_indent(out, indent + 2);
                out.push('-');
                yaml::push_text(out, text, indent + 2);
            }
        }
        WrittenValue::Record(record, others) => {
            out.push('\n');
            push_yaml(out, *record, others, indent + 2, false);
        }
        WrittenValue::Records(records) if records.is_empty() => out.push_str(" []\n"),
        WrittenValue::Records(records) => {
            out.push('\n');
            for record in records {
                yaml::push_indent(out, indent + 2);
                out.push_str("- ");
                push_yaml(out, *record, record.extra(), indent + 4, true);
            }
        }
    }
}

/// The tree of a record, with the keys of `present` that piton does not know.
pub(crate) fn merge_record(
    record: &dyn TableRecord,
    others: OtherPairs<'_>,
    present: Option<&ValueNode>,
) -> ValueNode {
    let written = record.written_columns();
    let known: Vec<&str> = written.iter().map(|(key, _)| *key).collect();
    let mut pairs: Vec<(MapKey, ValueNode)> = chain_pairs(written, others)
        .map(|(key, value)| {
            let present = present.and_then(|present| present.get(key));
            (MapKey::new(key), value.to_node_reusing(present))
        })
        .collect();
    let written = pairs.len();
    let there = present.and_then(ValueNode::as_map);
    for (key, node) in there.into_iter().flat_map(Map::iter) {
        let mut before = pairs[..written].iter();
        let is_known = known.contains(&key.text.as_str());
        if !is_known && !before.any(|(have, _)| have.text == key.text) {
            pairs.push((key.clone(), node.clone()));
        }
    }
    ValueNode::from_map(Map { pairs })
}

impl WrittenValue<'_> {
    /// The value as a node: the one that is there if it says the same.
    pub(crate) fn to_node_reusing(&self, present: Option<&ValueNode>) -> ValueNode {
        let keep = |says: &dyn Fn(&ValueNode) -> bool| present.filter(|node| says(node)).cloned();
        match self {
            Self::Text(text) => keep(&|node| !node.is_null() && node.text() == Some(&**text))
                .unwrap_or_else(|| ValueNode::string(&**text)),
            Self::Flag(flag) => keep(&|node| node.as_bool() == Some(*flag))
                .unwrap_or_else(|| ValueNode::bool(*flag)),
            Self::Integer(value) => keep(&|node| node.as_i64().map(i128::from) == Some(*value))
                .unwrap_or_else(|| ValueNode::plain(value.to_string())),
            Self::Number(value) => keep(&|node| node.as_f64() == Some(*value))
                .unwrap_or_else(|| ValueNode::plain(number_text(*value))),
            Self::Null => keep(&ValueNode::is_null).unwrap_or_else(|| ValueNode::plain("null")),
            Self::Texts(values) => keep(&|node| {
                let items = node.as_seq().unwrap_or_default();
                let values = values.iter().map(|value| Some(value.as_str()));
                items.iter().map(ValueNode::text).eq(values)
            })
            .unwrap_or_else(|| ValueNode::seq_of_texts(values)),
            Self::Tree(node) => (*node).clone(),
            Self::Record(record, others) => merge_record(*record, others, present),
            Self::Records(records) => merge_list(records, present),
        }
    }
}

/// Records with an id are the same; of several with one id, in turn.
fn merge_list(records: &[&dyn TableRecord], present: Option<&ValueNode>) -> ValueNode {
    let there = present.and_then(ValueNode::as_seq).unwrap_or_default();
    let mut by_id: HashMap<&str, VecDeque<&ValueNode>> = HashMap::new();
    for node in there {
        let id = node.get("id").and_then(ValueNode::text).unwrap_or_default();
        by_id.entry(id).or_default().push_back(node);
    }
    let mut before = |record: &dyn TableRecord| by_id.get_mut(record.id())?.pop_front();
    let nodes = records.iter();
    ValueNode::seq(
        nodes
            .map(|record| merge_record(*record, record.extra(), before(*record)))
            .collect(),
    )
}

/// A record, serialized as a map.
pub(crate) struct AsJson<'r>(pub(crate) &'r dyn TableRecord);

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WrittenValue::record(self.0).serialize(serializer)
    }
}

impl Serialize for WrittenValue<'_> {
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
                for (key, value) in record_pairs(*record, others) {
                    map.serialize_entry(key, &value)?;
                }
                map.end()
            }
            Self::Records(records) => serializer.collect_seq(records.iter().map(|r| AsJson(*r))),
        }
    }
}
