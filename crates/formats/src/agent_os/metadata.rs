//! A new log, and what its metadata says of its entries.

use jiff::Timestamp;

use super::shape::{METADATA, ROOT};
use crate::json;
use crate::merge::rules::CountedValue;
use crate::native_file::FileContext;
use crate::shape::{FormatVersion, OtherKeys, Shape, is_date_time};
use crate::shape_merge::{from_map, merge_node, parse_instant_or_utc, set_key};
use crate::tree::{Map, MapKey, ValueNode};

pub(super) fn new_document(about: &FileContext<'_>) -> Map {
    let pairs = [
        (
            "version",
            ValueNode::string(FormatVersion::CURRENT.to_string()),
        ),
        ("project", ValueNode::string(about.project)),
        ("entries", ValueNode::seq(Vec::new())),
        ("metadata", build_metadata(&Map::default(), &[], 0)),
    ];
    Map {
        pairs: pairs.map(|(key, node)| (MapKey::new(key), node)).into(),
    }
}

/// As JavaScript writes it: `2026-01-15T10:30:00.000Z`.
pub(super) fn render_milliseconds(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Makes the metadata of a document say what is true of these entries.
pub(super) fn update_metadata(map: &mut Map, entries: &[ValueNode]) {
    update_partial_metadata(map, entries, 0);
}

/// The same for entries of which so many are left out.
pub(super) fn update_partial_metadata(map: &mut Map, entries: &[ValueNode], left_out: usize) {
    let nothing = Map::default();
    let had = map.get("metadata").and_then(ValueNode::as_map);
    let metadata = build_metadata(had.unwrap_or(&nothing), entries, left_out);
    set_key(map, "metadata", metadata, ROOT);
}

/// How many entries the metadata of a document says that there are.
pub(super) fn total_entries(map: &Map) -> Option<usize> {
    let total = map.get("metadata")?.get("total_entries")?;
    total.text()?.parse().ok()
}

/// When the oldest entry happened, as the metadata of a document says.
pub(super) fn oldest_entry_time(root: &ValueNode) -> Option<Timestamp> {
    parse_instant_or_utc(root.get("metadata")?.get("oldest_entry")?.as_str()?)
}

/// What the metadata of a text must say.
pub(super) fn recount_metadata(text: &str) -> Vec<CountedValue> {
    let root = json::parse(text).root;
    let root = root.as_ref().and_then(ValueNode::as_map);
    let entries = root.and_then(|root| root.get("entries")?.as_seq());
    let had = root.and_then(|root| root.get("metadata")?.as_map());
    let Some((entries, had)) = entries.zip(had) else {
        return Vec::new();
    };
    vec![(vec!["metadata"], build_metadata(had, entries, 0))]
}

/// True metadata, with what else stood there. Of entries that are left out it says
/// what it said.
fn build_metadata(had: &Map, entries: &[ValueNode], left_out: usize) -> ValueNode {
    let known = ["oldest_entry", "last_updated"].map(|key| had.get(key));
    let known = known.into_iter().filter(|_| left_out > 0).flatten();
    let own = entries.iter().filter_map(|entry| entry.get("timestamp"));
    let stamps = own.chain(known).filter_map(|node| {
        let text = node.as_str()?;
        Some((parse_instant_or_utc(text)?, text))
    });
    let stamps: Vec<(Timestamp, &str)> = stamps.collect();
    let text = |stamp: Option<&(Timestamp, &str)>| match stamp {
        Some((_, text)) if is_date_time(text) => ValueNode::string(*text),
        Some((time, _)) => ValueNode::string(render_milliseconds(*time)),
        None => ValueNode::plain("null"),
    };
    let oldest = text(stamps.iter().min_by_key(|(time, _)| *time));
    let newest = text(stamps.iter().max_by_key(|(time, _)| *time));
    let archived = had.get("archived_through").cloned();
    let last = had.get("last_updated").filter(|_| stamps.is_empty());
    let wanted = ValueNode::map([
        (
            "total_entries",
            ValueNode::plain((entries.len() + left_out).to_string()),
        ),
        ("oldest_entry", oldest),
        ("last_updated", last.cloned().unwrap_or(newest)),
        (
            "archived_through",
            archived.unwrap_or_else(|| ValueNode::plain("null")),
        ),
    ]);
    let shape = Shape::Map(METADATA, OtherKeys::Open);
    merge_node(&from_map(had.clone()), None, &wanted, &shape)
}
