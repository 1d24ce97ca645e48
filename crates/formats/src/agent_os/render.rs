//! Rows as entries of the log, and their way into its text.

use std::collections::HashSet;

use jiff::Timestamp;
use piton_core::command::ImportedRecord;
use piton_core::entry::{Entry, EntryRow};
use serde_json::Value as Json;

use super::import::{content_mark, parse_entry};
use super::{DOCUMENT, ENTRY_KEPT, FACE, METADATA, ROOT};
use crate::json;
use crate::merge::rules::CountedValue;
use crate::native_file::{FileContext, RenderError, ShownRow};
use crate::shape::{FormatVersion, OtherKeys, Shape, is_date_time};
use crate::shape_merge::{
    Elements, from_json, from_map, id_of_element, merge_node, merge_on_native, native_node,
    parse_instant_or_utc, render_and_parse, set_key, timestamp_of_element,
};
use crate::tree::{Map, MapKey, ValueNode};

/// The text, showing the rows as well.
///
/// An entry that has a name is shown; other rows do not belong here. Without a
/// text, or in one without a document, a new document is begun. Where nothing
/// changes, the text stays as it is to the byte; where something does, the
/// metadata is made true.
///
/// # Errors
///
/// When the text is not JSON, is something else than a log, is too new, or has
/// something else where the list of entries must be.
pub fn render_rows(
    text: Option<&str>,
    rows: &[ShownRow<'_>],
    about: &FileContext<'_>,
) -> Result<String, RenderError> {
    DOCUMENT.render_with(text, about, |map| write_rows(map, rows, about.is_part))
}

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

/// Shows the rows in a document, or in the ends of one, and says whether that
/// changed anything.
fn write_rows(map: &mut Map, rows: &[ShownRow<'_>], is_part: bool) -> Result<bool, RenderError> {
    let mut elements = Elements::from_map(map, "entries", &ENTRY_KEPT, id_of_element)?
        .ordered_by_time(timestamp_of_element);
    let marks = collect_marks(&elements, rows);
    let had = elements.list().len();
    // First what stands there under its own name: what another thing of that
    // name has written over it is shown at the end, under a name of its own.
    let is_there = |row: &&ShownRow<'_>| {
        let ShownRow::Entry(row) = row else {
            return false;
        };
        let name = row.entry.name.as_deref();
        name.is_some_and(|name| elements.get(name).is_some())
    };
    let (there, new): (Vec<_>, Vec<_>) = rows.iter().partition(is_there);
    for row in there.into_iter().chain(new) {
        if let ShownRow::Entry(row) = row {
            let stands_without_name = row
                .entry
                .mark
                .as_ref()
                .is_some_and(|mark| marks.contains(mark));
            if !stands_without_name {
                write_entry(&mut elements, row);
            }
        }
    }
    let Some(list) = elements.into_changed() else {
        return Ok(false);
    };
    let total = total_entries(map).filter(|_| is_part);
    let left_out = total.map_or(0, |total| total.saturating_sub(had));
    update_partial_metadata(map, list.as_seq().unwrap_or_default(), left_out);
    set_key(map, "entries", list, ROOT);
    Ok(true)
}

/// The marks of what stands in the file, when a row is known by one.
fn collect_marks(elements: &Elements, rows: &[ShownRow<'_>]) -> HashSet<String> {
    let is_marked = |row: &ShownRow<'_>| {
        let ShownRow::Entry(row) = row else {
            return false;
        };
        row.entry.mark.is_some()
    };
    if !rows.iter().any(is_marked) {
        return HashSet::new();
    }
    elements.list().iter().map(content_mark).collect()
}

fn write_entry(elements: &mut Elements, row: &EntryRow) {
    let Some(name) = &row.entry.name else {
        return;
    };
    let native = native_node(row.entry.native.as_ref(), FACE);
    let wanted = element_of_entry(&row.entry, name, Some(&time_of_row(row)));
    let fresh = merge_on_native(native.as_ref(), &wanted, &ENTRY_KEPT);
    elements.write_element(name, native.as_ref(), &wanted, fresh);
}

/// When it happened: in its writer's form where that names a time at all.
fn time_of_row(row: &EntryRow) -> String {
    let at = row.entry.at.as_deref().filter(|at| is_date_time(at));
    at.map_or_else(|| render_milliseconds(row.timestamp), str::to_owned)
}

/// As JavaScript writes it: `2026-01-15T10:30:00.000Z`.
fn render_milliseconds(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// The entry that shows a row; `None` for one that has no name.
fn element_of_row(row: &EntryRow) -> Option<ValueNode> {
    let name = row.entry.name.as_ref()?;
    let native = native_node(row.entry.native.as_ref(), FACE);
    let wanted = element_of_entry(&row.entry, name, Some(&time_of_row(row)));
    Some(merge_on_native(native.as_ref(), &wanted, &ENTRY_KEPT))
}

/// What [`super::import`] finds where this row is shown; `None` for a row that
/// is not shown.
#[must_use]
pub fn reimport_row(row: &ShownRow<'_>) -> Option<ImportedRecord> {
    let ShownRow::Entry(row) = row else {
        return None;
    };
    let (text, node) = render_and_parse(&element_of_row(row)?)?;
    parse_entry(&text, &node).map(|entry| ImportedRecord::Entry(Box::new(entry)))
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

/// Makes the metadata of a document say what is true of these entries.
pub(super) fn update_metadata(map: &mut Map, entries: &[ValueNode]) {
    update_partial_metadata(map, entries, 0);
}

/// The same for entries of which so many are left out.
fn update_partial_metadata(map: &mut Map, entries: &[ValueNode], left_out: usize) {
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
