//! `prd.json` as it is met: what can be read is read.

use std::collections::HashMap;

use super::layout::{self, PrdItemsLocation};
use super::{Prd, PrdItem};
use crate::field_reader::{FieldReader, parse_json_with, span_of_key};
use crate::graph::find_cycles;
use crate::plan_format::{CONTROL_IN_ID, explain_control_in_id};
use crate::problem::{Problem, SourceText};
use crate::report::{MapPosition, ValuePath};
use crate::tree::{Map, Span, Value, ValueNode};

/// Reads a `prd.json` of any shape.
///
/// There is no list when the file is not JSON, or is another document. An
/// error beside a list means that something in it could not be understood: an
/// item without an id, or with the id of an earlier one, is left out. Keys that
/// are not known are not told of; [`crate::shape::check`] does.
pub fn parse_prd(source: SourceText<'_>) -> (Option<Prd>, Vec<Problem>) {
    parse_json_with("PRD_PARSE_ERROR", source, |reader, root| {
        let layout = layout::layout_of_root(root);
        let Some(at) = layout.items_location() else {
            let message = format!("this is {}", layout.describe());
            let words = (message, "keep the file, and name the list that you mean");
            let report = &mut reader.report;
            report.error("NOT_A_PRD_LIST", ValuePath::ROOT, root.span, words);
            return None;
        };
        // A document that is the list itself says nothing beside it.
        let nothing = Map::default();
        let map = root.as_map().unwrap_or(&nothing);
        let path = ValuePath::ROOT;
        let top = MapPosition { map, path };
        let branch_name = reader.read_text(top, "branchName");
        Some(Prd {
            project: reader.read_text(top, "project"),
            description: reader.read_text(top, "description"),
            branch_name: branch_name.or_else(|| reader.read_text(top, "branch_name")),
            items: match at {
                PrdItemsLocation::Key(key) => {
                    let list = reader.read_list(top, key);
                    parse_items(reader, path.key(key), list)
                }
                PrdItemsLocation::Top => {
                    parse_items(reader, path, root.as_seq().unwrap_or_default())
                }
            },
            verification: parse_verification(reader, top),
            layout,
        })
    })
}

/// The keys that say what an item depends on.
pub(super) const DEPENDS_ON: [&str; 4] =
    ["may_depend_on", "dependsOn", "depends_on", "dependencies"];

/// The keys that say which files an item is about.
const FILES: [&str; 3] = ["related_files", "relatedFiles", "files"];

/// An item, and where its problems are shown.
struct LocatedPrdItem<'n> {
    item: PrdItem,
    map: &'n Map,
    index: usize,
}

fn parse_items(
    reader: &mut FieldReader<'_>,
    path: ValuePath<'_>,
    list: &[ValueNode],
) -> Vec<PrdItem> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut lines: Vec<u32> = Vec::new();
    let mut found: Vec<LocatedPrdItem<'_>> = Vec::new();
    for (index, node) in list.iter().enumerate() {
        let path = path.index(index);
        let Some((map, id, span)) = parse_id(reader, node, path) else {
            continue;
        };
        if let Some(first) = places.get(&id) {
            let line = lines[*first];
            let message = format!("a second item is called `{id}`; the first is in line {line}");
            let hint = "give each an id of its own; until then the later one is left out";
            let report = &mut reader.report;
            report.error("DUPLICATE_ID", path.key("id"), span, (message, hint));
            continue;
        }
        if id.contains(char::is_control) {
            let why = explain_control_in_id(&id);
            let report = &mut reader.report;
            report.warning(CONTROL_IN_ID, path.key("id"), span, why);
        }
        places.insert(id.clone(), found.len());
        lines.push(span.line);
        let item = parse_item(reader, MapPosition { map, path }, id);
        found.push(LocatedPrdItem { item, map, index });
    }
    check_dependencies(reader, path, &found, &places);
    found.into_iter().map(|found| found.item).collect()
}

/// The id of an item. A number is as good as a text.
fn parse_id<'n>(
    reader: &mut FieldReader<'_>,
    node: &'n ValueNode,
    path: ValuePath<'_>,
) -> Option<(&'n Map, String, Span)> {
    let Some(map) = node.as_map() else {
        let words = (
            format!("an item is a mapping, not {}", node.describe()),
            "write `{\"id\": …}`; until then it is left out",
        );
        reader.report.error("WRONG_TYPE", path, node.span, words);
        return None;
    };
    let id = map.get("id").filter(|id| !id.is_null());
    let text = id
        .and_then(ValueNode::text)
        .filter(|text| !text.trim().is_empty());
    if text.is_none() {
        let words = (
            "an item without an id".to_owned(),
            "give it one; until then it is left out",
        );
        let span = id.map_or(node.span, |id| id.span);
        let span = Span {
            end: span.end.min(span.start + 1),
            ..span
        };
        reader
            .report
            .error("MISSING_ID", path.key("id"), span, words);
    }
    Some((map, text?.to_owned(), span_of_key(map, "id")))
}

fn parse_item(reader: &mut FieldReader<'_>, place: MapPosition<'_>, id: String) -> PrdItem {
    let mut texts = |keys: &[&str]| -> Vec<String> {
        keys.iter()
            .flat_map(|key| reader.read_texts(place, key))
            .collect()
    };
    let criteria = texts(&["acceptanceCriteria", "acceptance_criteria", "criteria"]);
    let steps = texts(&["steps"]);
    let depends_on = texts(&DEPENDS_ON);
    PrdItem {
        id,
        title: reader.read_text(place, "title"),
        description: reader.read_text(place, "description"),
        criteria,
        steps,
        priority: reader.read_number(place, "priority"),
        depends_on,
        passes: reader.read_value(place, "passes"),
        verification: parse_verification(reader, place),
        notes: reader.read_text(place, "notes"),
        claims: reader.read_claims(place),
        scope: reader.read_scope(place, &FILES),
    }
}

/// The commands of `verification` and `verificationCommands`, in this order.
fn parse_verification(reader: &mut FieldReader<'_>, place: MapPosition<'_>) -> Vec<String> {
    let by_kind = place.map.get("verification").map(|node| &node.value);
    let mut out = match by_kind {
        Some(Value::Map(map)) => {
            let path = place.path.key("verification");
            let place = MapPosition { map, path };
            let kinds = ["tests", "build", "type_check", "custom"];
            let kinds = kinds.iter().flat_map(|kind| reader.read_texts(place, kind));
            kinds.collect()
        }
        Some(Value::Scalar(_) | Value::Seq(_)) | None => reader.read_texts(place, "verification"),
    };
    out.extend(reader.read_texts(place, "verificationCommands"));
    out.retain(|command| !command.trim().is_empty());
    out
}

/// Checks what items say of each other.
fn check_dependencies(
    reader: &mut FieldReader<'_>,
    path: ValuePath<'_>,
    found: &[LocatedPrdItem<'_>],
    places: &HashMap<String, usize>,
) {
    let place_of = |found: &LocatedPrdItem<'_>| {
        let key = DEPENDS_ON
            .into_iter()
            .find(|key| found.map.get(key).is_some());
        let key = key.unwrap_or("id");
        (key, span_of_key(found.map, key))
    };
    let mut edges = Vec::new();
    for one in found {
        let (key, span) = place_of(one);
        let path = path.index(one.index);
        let mut known = Vec::new();
        for id in &one.item.depends_on {
            match places.get(id) {
                Some(index) => known.push(*index),
                None => {
                    let name = &one.item.id;
                    let message = format!("`{name}` depends on `{id}`, which is not there");
                    let hint = "name an item of this file; until then the reference has no effect";
                    let report = &mut reader.report;
                    report.warning("MISSING_REFERENCE", path.key(key), span, (message, hint));
                }
            }
        }
        edges.push(known);
    }
    for cycle in find_cycles(&edges) {
        let Some(first) = cycle.first().map(|index| &found[*index]) else {
            continue;
        };
        let ids = cycle.iter().chain(cycle.first());
        let names: Vec<String> = ids
            .map(|index| format!("`{}`", found[*index].item.id))
            .collect();
        let (key, span) = place_of(first);
        let words = (
            format!("items depend on each other: {}", names.join(" on ")),
            "remove one of the references",
        );
        let path = path.index(first.index);
        reader
            .report
            .error("CYCLE_DETECTED", path.key(key), span, words);
    }
}
