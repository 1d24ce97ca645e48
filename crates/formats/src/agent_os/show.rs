//! Rows as entries of the log, and their way into its text.

use std::collections::HashSet;

use jiff::Timestamp;
use piton_core::command::Found;
use piton_core::entry::{Entry, EntryRow};
use serde_json::Value as Json;

use super::take::{mark, taken};
use super::{DOCUMENT, ENTRY_KEPT, FACE, METADATA, ROOT};
use crate::face::{About, CannotShow, Shown};
use crate::json;
use crate::merge::rules::Count;
use crate::shape::{Rest, Shape, Version, is_date_time};
use crate::tree::{Key, Map, Node};
use crate::understood::{
    Elements, from_json, from_map, id_of, instant_or_utc, merged, native_node, on_native,
    read_back, set, timestamp_of,
};

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
pub fn show(
    text: Option<&str>,
    rows: &[Shown<'_>],
    about: &About<'_>,
) -> Result<String, CannotShow> {
    DOCUMENT.show(text, about, |map| show_in(map, rows, about.is_part))
}

pub(super) fn new_document(about: &About<'_>) -> Map {
    let pairs = [
        ("version", Node::string(Version::CURRENT.to_string())),
        ("project", Node::string(about.project)),
        ("entries", Node::seq(Vec::new())),
        ("metadata", metadata(&Map::default(), &[], 0)),
    ];
    Map {
        pairs: pairs.map(|(key, node)| (Key::new(key), node)).into(),
    }
}

/// Shows the rows in a document, or in the ends of one, and says whether that
/// changed anything.
fn show_in(map: &mut Map, rows: &[Shown<'_>], is_part: bool) -> Result<bool, CannotShow> {
    let mut elements = Elements::of(map, "entries", &ENTRY_KEPT, id_of)?.by_time(timestamp_of);
    let marks = marks(&elements, rows);
    let had = elements.list().len();
    // First what stands there under its own name: what another thing of that
    // name has written over it is shown at the end, under a name of its own.
    let is_there = |row: &&Shown<'_>| {
        let Shown::Entry(row) = row else { return false };
        let name = row.entry.name.as_deref();
        name.is_some_and(|name| elements.get(name).is_some())
    };
    let (there, new): (Vec<_>, Vec<_>) = rows.iter().partition(is_there);
    for row in there.into_iter().chain(new) {
        if let Shown::Entry(row) = row {
            let stands_without_name = row
                .entry
                .mark
                .as_ref()
                .is_some_and(|mark| marks.contains(mark));
            if !stands_without_name {
                show_entry(&mut elements, row);
            }
        }
    }
    let Some(list) = elements.changed() else {
        return Ok(false);
    };
    let total = counted(map).filter(|_| is_part);
    let left_out = total.map_or(0, |total| total.saturating_sub(had));
    count_with(map, list.as_seq().unwrap_or_default(), left_out);
    set(map, "entries", list, ROOT);
    Ok(true)
}

/// The marks of what stands in the file, when a row is known by one.
fn marks(elements: &Elements, rows: &[Shown<'_>]) -> HashSet<String> {
    let is_marked = |row: &Shown<'_>| {
        let Shown::Entry(row) = row else { return false };
        row.entry.mark.is_some()
    };
    if !rows.iter().any(is_marked) {
        return HashSet::new();
    }
    elements.list().iter().map(mark).collect()
}

fn show_entry(elements: &mut Elements, row: &EntryRow) {
    let Some(name) = &row.entry.name else {
        return;
    };
    let native = native_node(row.entry.native.as_ref(), FACE);
    let wanted = element(&row.entry, name, Some(&time_of(row)));
    let fresh = on_native(native.as_ref(), &wanted, &ENTRY_KEPT);
    elements.show(name, native.as_ref(), &wanted, fresh);
}

/// When it happened: in its writer's form where that names a time at all.
fn time_of(row: &EntryRow) -> String {
    let at = row.entry.at.as_deref().filter(|at| is_date_time(at));
    at.map_or_else(|| milliseconds(row.timestamp), str::to_owned)
}

/// As JavaScript writes it: `2026-01-15T10:30:00.000Z`.
fn milliseconds(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// The entry that shows a row; `None` for one that has no name.
fn element_of(row: &EntryRow) -> Option<Node> {
    let name = row.entry.name.as_ref()?;
    let native = native_node(row.entry.native.as_ref(), FACE);
    let wanted = element(&row.entry, name, Some(&time_of(row)));
    Some(on_native(native.as_ref(), &wanted, &ENTRY_KEPT))
}

/// What [`super::take`] finds where this row is shown; `None` for a row that
/// is not shown.
#[must_use]
pub fn told_again(row: &Shown<'_>) -> Option<Found> {
    let Shown::Entry(row) = row else { return None };
    let (text, node) = read_back(&element_of(row)?)?;
    taken(&text, &node).map(|entry| Found::Entry(Box::new(entry)))
}

/// An entry as the format writes it.
pub(super) fn element(entry: &Entry, id: &str, at: Option<&str>) -> Node {
    let text = |text: Option<&str>| text.map(Node::string);
    Node::known([
        ("id", text(Some(id))),
        ("timestamp", text(at)),
        ("type", text(Some(entry.type_word()))),
        ("spec", text(entry.spec.as_deref())),
        ("task_id", text(entry.task_id.as_deref())),
        ("data", Some(from_json(&Json::Object(entry.data.clone())))),
    ])
}

/// Makes the metadata of a document say what is true of these entries.
pub(super) fn count_anew(map: &mut Map, entries: &[Node]) {
    count_with(map, entries, 0);
}

/// The same for entries of which so many are left out.
fn count_with(map: &mut Map, entries: &[Node], left_out: usize) {
    let nothing = Map::default();
    let had = map.get("metadata").and_then(Node::as_map);
    let metadata = metadata(had.unwrap_or(&nothing), entries, left_out);
    set(map, "metadata", metadata, ROOT);
}

/// How many entries the metadata of a document says that there are.
pub(super) fn counted(map: &Map) -> Option<usize> {
    let total = map.get("metadata")?.get("total_entries")?;
    total.text()?.parse().ok()
}

/// When the oldest entry happened, as the metadata of a document says.
pub(super) fn oldest(root: &Node) -> Option<Timestamp> {
    instant_or_utc(root.get("metadata")?.get("oldest_entry")?.as_str()?)
}

/// What the metadata of a text must say.
pub(super) fn recount(text: &str) -> Vec<Count> {
    let root = json::parse(text).root;
    let root = root.as_ref().and_then(Node::as_map);
    let entries = root.and_then(|root| root.get("entries")?.as_seq());
    let had = root.and_then(|root| root.get("metadata")?.as_map());
    let Some((entries, had)) = entries.zip(had) else {
        return Vec::new();
    };
    vec![(vec!["metadata"], metadata(had, entries, 0))]
}

/// True metadata, with what else stood there. Of entries that are left out it says
/// what it said.
fn metadata(had: &Map, entries: &[Node], left_out: usize) -> Node {
    let known = ["oldest_entry", "last_updated"].map(|key| had.get(key));
    let known = known.into_iter().filter(|_| left_out > 0).flatten();
    let own = entries.iter().filter_map(|entry| entry.get("timestamp"));
    let stamps = own.chain(known).filter_map(|node| {
        let text = node.as_str()?;
        Some((instant_or_utc(text)?, text))
    });
    let stamps: Vec<(Timestamp, &str)> = stamps.collect();
    let text = |stamp: Option<&(Timestamp, &str)>| match stamp {
        Some((_, text)) if is_date_time(text) => Node::string(*text),
        Some((time, _)) => Node::string(milliseconds(*time)),
        None => Node::plain("null"),
    };
    let oldest = text(stamps.iter().min_by_key(|(time, _)| *time));
    let newest = text(stamps.iter().max_by_key(|(time, _)| *time));
    let archived = had.get("archived_through").cloned();
    let last = had.get("last_updated").filter(|_| stamps.is_empty());
    let wanted = Node::map([
        (
            "total_entries",
            Node::plain((entries.len() + left_out).to_string()),
        ),
        ("oldest_entry", oldest),
        ("last_updated", last.cloned().unwrap_or(newest)),
        (
            "archived_through",
            archived.unwrap_or_else(|| Node::plain("null")),
        ),
    ]);
    let shape = Shape::Map(METADATA, Rest::Open);
    merged(&from_map(had.clone()), None, &wanted, &shape)
}
