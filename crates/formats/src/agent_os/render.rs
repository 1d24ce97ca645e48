//! Rows as entries of the log, and their way into its text.

use std::collections::HashSet;

use piton_core::command::ImportedRecord;
use piton_core::entry::EntryRow;

use super::detect::DOCUMENT;
use super::element::{content_mark, element_of_entry, parse_entry};
use super::metadata::{render_milliseconds, total_entries, update_partial_metadata};
use super::shape::{ENTRY_KEPT, FACE, ROOT};
use crate::native_file::{FileContext, RenderError, ShownRow};
use crate::shape::is_date_time;
use crate::shape_merge::{
    Elements, id_of_element, merge_on_native, native_node, render_and_parse, set_key,
    timestamp_of_element,
};
use crate::tree::{Map, ValueNode};

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
