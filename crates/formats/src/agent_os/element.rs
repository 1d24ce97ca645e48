//! An entry of the log, to the core and back.

use std::fmt::Write as _;

use piton_core::entry::{Entry, EntryType};
use serde_json::Value as Json;

use super::shape::FACE;
use crate::json::{is_same_json, render};
use crate::shape_merge::{digest, from_json, native_of_element, parse_instant, to_json};
use crate::tree::ValueNode;

/// The entry that an element holds.
pub(super) fn parse_entry(text: &str, node: &ValueNode) -> Option<Entry> {
    node.as_map()?;
    let said = |key| node.get(key).and_then(ValueNode::as_str).map(str::to_owned);
    let word = said("type");
    let kind = word.as_deref().and_then(EntryType::parse);
    let name = said("id").filter(|id| !id.is_empty());
    let at = said("timestamp");
    // Known by all that it says, where it has no name, or no time to tell an
    // edit of it from another one of the same name.
    let is_known_by_name = name.is_some() && at.as_deref().and_then(parse_instant).is_some();
    let mut entry = Entry {
        word: word.filter(|_| kind.is_none()),
        mark: (!is_known_by_name).then(|| content_mark(node)),
        name,
        at,
        spec: said("spec"),
        task_id: said("task_id"),
        ..Entry::with_type(kind.unwrap_or(EntryType::Other))
    };
    if let Some(Json::Object(data)) = node.get("data").map(to_json) {
        entry.data = data;
    }
    let id = entry.name.as_deref().unwrap_or_default();
    if !is_same_json(&element_of_entry(&entry, id, entry.at.as_deref()), node) {
        entry.native = native_of_element(text, node, FACE);
    }
    Some(entry)
}

/// What an entry is known by that has no name: the same for the same contents,
/// however they are written.
pub(super) fn content_mark(node: &ValueNode) -> String {
    let bytes = digest(&[FACE, &render(node)]);
    bytes.iter().fold(format!("{FACE}:"), |mut mark, byte| {
        write!(mark, "{byte:02x}").expect("a string takes all");
        mark
    })
}

/// An entry as the format writes it.
pub(super) fn element_of_entry(entry: &Entry, id: &str, at: Option<&str>) -> ValueNode {
    let text = |text: Option<&str>| text.map(ValueNode::string);
    ValueNode::map_of_present([
        ("id", text(Some(id))),
        ("timestamp", text(at)),
        ("type", text(Some(entry.type_name()))),
        ("spec", text(entry.spec.as_deref())),
        ("task_id", text(entry.task_id.as_deref())),
        ("data", Some(from_json(&Json::Object(entry.data.clone())))),
    ])
}
