//! Rows as elements of a progress file, and their way into its text.

use piton_core::AttemptRow;
use piton_core::attempt::{Outcome, Report};
use piton_core::command::ImportedRecord;
use piton_core::memory::{Memory, MemoryKind, MemoryRow};
use piton_core::name::slug;
use piton_core::native::Native;

use super::attempts::{attempt_of_entry, entry_of_report, name_of_entry};
use super::detect::DOCUMENT;
use super::element::{ENTRY, LEARNING, PATTERN, RalphEntry};
use super::memories::{memory_element, memory_of_element, shape_of_kind};
use super::shape::{FACE, ROOT};
use crate::native_file::{FileContext, RenderError, ShownRow};
use crate::record::node_of_record;
use crate::shape::{Pattern, Shape};
use crate::shape_merge::{
    Elements, id_of_element, merge_on_native, native_node, render_and_parse, set_key,
    timestamp_of_element,
};
use crate::tree::{Map, ValueNode};

/// The lists of a progress file, by the key of each.
const LISTS: [(&str, &Shape); 3] = [
    ("entries", &ENTRY.shape),
    ("learnings", &LEARNING.shape),
    ("patterns", &PATTERN.shape),
];

/// The text, showing the rows as well.
///
/// An attempt that is over and has a name is an entry; learnings and patterns
/// stand in their lists; other rows do not belong here. Without a text, or in
/// one without a document, a new document is begun. Where nothing changes, the
/// text stays as it is to the byte.
///
/// # Errors
///
/// When the text is not JSON, is something else than a progress file, is too
/// new, or has something else where a list must be.
pub fn render_rows(
    text: Option<&str>,
    rows: &[ShownRow<'_>],
    about: &FileContext<'_>,
) -> Result<String, RenderError> {
    DOCUMENT.render_with(text, about, |map| write_rows(map, rows))
}

/// Shows the rows in a document, and says whether that changed anything.
fn write_rows(map: &mut Map, rows: &[ShownRow<'_>]) -> Result<bool, RenderError> {
    let mut changed = false;
    for (index, (key, shape)) in LISTS.into_iter().enumerate() {
        let name_of: fn(&ValueNode) -> Option<String> = if index == 0 {
            name_of_entry
        } else {
            id_of_element
        };
        let mut elements = Elements::from_map(map, key, shape, name_of)?;
        if index == 0 {
            elements = elements.ordered_by_time(timestamp_of_element);
        }
        // First what stands there under its own name: what another thing of that
        // name has written over it is shown at the end, under a name of its own.
        let (there, new): (Vec<_>, Vec<_>) = rows
            .iter()
            .partition(|row| name_in_file(row).is_some_and(|name| elements.get(name).is_some()));
        for row in there.into_iter().chain(new) {
            match row {
                ShownRow::Attempt(row) if index == 0 => write_attempt(&mut elements, row),
                ShownRow::Memory(row) if list_index_of_kind(row.memory.kind) == Some(index) => {
                    write_memory(&mut elements, row);
                }
                ShownRow::Attempt(_)
                | ShownRow::Memory(_)
                | ShownRow::Entry(_)
                | ShownRow::Call(_) => {}
            }
        }
        if let Some(list) = elements.into_changed() {
            set_key(map, key, list, ROOT);
            changed = true;
        }
    }
    Ok(changed)
}

/// The name that a row would have in the file.
fn name_in_file<'r>(row: &ShownRow<'r>) -> Option<&'r str> {
    match row {
        ShownRow::Attempt(row) => row.name.as_deref(),
        ShownRow::Memory(row) => Some(&row.id),
        ShownRow::Entry(_) | ShownRow::Call(_) => None,
    }
}

fn list_index_of_kind(kind: MemoryKind) -> Option<usize> {
    match kind {
        MemoryKind::Learning => Some(1),
        MemoryKind::Pattern => Some(2),
        MemoryKind::Guardrail | MemoryKind::ResolvedBlocker => None,
    }
}

fn write_attempt(elements: &mut Elements, row: &AttemptRow) {
    let (Some(name), Some(_)) = (&row.name, &row.report) else {
        return;
    };
    let native = native_node(row.native.as_ref(), FACE);
    let mut wanted = entry_of_row(row, native.as_ref());
    let id = if elements.get(name).is_none() {
        // It may have been taken from an element whose id another one has.
        let given = native
            .as_ref()
            .and_then(id_of_element)
            .filter(|given| given != name);
        let element = node_of_record(&wanted);
        if given.is_some_and(|given| elements.has_same_under_id(&given, native.as_ref(), &element))
        {
            return;
        }
        free_id(elements, &wanted)
    } else {
        // It stands there under a name that may be of no form at all.
        name.clone()
    };
    wanted.id = Some(id.clone());
    let wanted = node_of_record(&wanted);
    let fresh = merge_on_native(native.as_ref(), &wanted, &ENTRY.shape);
    elements.write_element(&id, native.as_ref(), &wanted, fresh);
}

/// The id itself, or with a number behind it where another item has it.
fn free_id(elements: &Elements, entry: &RalphEntry) -> String {
    let id = entry.id.clone().unwrap_or_default();
    let is_free = |id: &str| match elements.get(id) {
        None => true,
        Some(node) => node.get("prd_id").and_then(ValueNode::as_str) == entry.prd_id.as_deref(),
    };
    let later = (2_u64..).map(|nth| format!("{id}-{nth}"));
    let mut all = std::iter::once(id.clone()).chain(later);
    all.find(|id| is_free(id)).unwrap_or(id)
}

fn write_memory(elements: &mut Elements, row: &MemoryRow) {
    let native = native_node(row.memory.native.as_ref(), FACE);
    let retired = row.retired.is_some();
    let is_there = elements.get(&row.id).is_some();
    // It may have been taken from an element whose id another one has.
    let given = native.as_ref().and_then(id_of_element);
    let given = given.filter(|given| !is_there && *given != row.id);
    if retired && row.memory.kind == MemoryKind::Pattern && !is_there {
        // The format cannot say that a pattern is not to be followed.
        return;
    }
    // Absent means valid: it is said of what is new, and of what is not.
    let valid = match (retired, is_there || native.is_some()) {
        (true, _) => Some(false),
        (false, true) => None,
        (false, false) => Some(true),
    };
    let memory = Memory {
        id: Some(row.id.clone()),
        times_referenced: row.times_referenced(),
        ..row.memory.clone()
    };
    let wanted = memory_element(&memory, Some(row.learned_at()), valid);
    if given.is_some_and(|given| elements.has_same_under_id(&given, native.as_ref(), &wanted)) {
        return;
    }
    let Some(named) = shape_of_kind(memory.kind) else {
        return;
    };
    let fresh = merge_on_native(native.as_ref(), &wanted, &named.shape);
    elements.write_element(&row.id, native.as_ref(), &wanted, fresh);
}

/// The entry that shows an attempt; `None` for one that is not over or has no
/// name.
fn element_of_attempt(row: &AttemptRow) -> Option<ValueNode> {
    row.report.as_ref()?;
    row.name.as_ref()?;
    let native = native_node(row.native.as_ref(), FACE);
    let wanted = node_of_record(&entry_of_row(row, native.as_ref()));
    Some(merge_on_native(native.as_ref(), &wanted, &ENTRY.shape))
}

/// What [`super::import`] finds where this row is shown.
///
/// The format has fewer words than the core: an attempt that needs a person is
/// shown as blocked. Who compares a row with what was found must compare it
/// with this. `None` for a row that is not shown.
#[must_use]
pub fn reimport_row(row: &ShownRow<'_>) -> Option<ImportedRecord> {
    match row {
        ShownRow::Entry(_) | ShownRow::Call(_) => None,
        ShownRow::Attempt(row) => {
            let node = render_and_parse(&element_of_attempt(row)?)?;
            attempt_of_entry(&node.0, &node.1).map(|told| ImportedRecord::Attempt(Box::new(told)))
        }
        ShownRow::Memory(row) => {
            let named = shape_of_kind(row.memory.kind)?;
            let valid = row.retired.is_none();
            let wanted = memory_element(&row.memory, Some(row.learned_at()), Some(valid));
            let native = native_node(row.memory.native.as_ref(), FACE);
            let node = merge_on_native(native.as_ref(), &wanted, &named.shape);
            let node = render_and_parse(&node)?;
            memory_of_element(&node.0, &node.1, row.memory.kind)
        }
    }
}

fn entry_of_row(row: &AttemptRow, native: Option<&ValueNode>) -> RalphEntry {
    let item = row.item.as_deref().unwrap_or(row.node.as_str());
    let report = row.report.as_ref();
    RalphEntry {
        id: Some(allowed_id(row, item, native)),
        timestamp: Some(row.ended_at.unwrap_or(row.started_at)),
        prd_id: Some(item.to_owned()),
        iteration: Some(row.number.max(1).into()),
        duration_s: row.duration_s(),
        summary: report.and_then(|report| summary_of_report(report, row.native.as_ref())),
        ..report.map(entry_of_report).unwrap_or_default()
    }
}

/// The name of an attempt, or one made of it that the format allows; a name
/// that came from such a file stays as it is, or it would not be known again.
fn allowed_id(row: &AttemptRow, item: &str, native: Option<&ValueNode>) -> String {
    let name = row.name.as_deref().unwrap_or(item);
    let is_native = native.and_then(id_of_element).as_deref() == Some(name);
    if is_native || Pattern::EntryId.is_match(name) {
        return name.to_owned();
    }
    let name = slug(name);
    if Pattern::EntryId.is_match(&name) {
        return name;
    }
    format!("{name}-{}", row.number.max(1))
}

/// What was done; of an attempt whose end no runner saw, that it was interrupted.
fn summary_of_report(report: &Report, native: Option<&Native>) -> Option<String> {
    let summary = report.summary.as_ref().or(report.error.as_ref());
    let is_own = native.is_none_or(|native| native.face != FACE);
    if report.outcome != Outcome::Interrupted || !is_own {
        return summary.cloned();
    }
    Some(match summary {
        None => "interrupted".to_owned(),
        Some(text) if text.to_lowercase().contains("interrupted") => text.clone(),
        Some(text) => format!("interrupted: {text}"),
    })
}
