//! `prd.json` as it is met: what can be read is read.

use std::collections::HashMap;

use super::layout::{self, ItemsAt};
use super::{Item, Prd};
use crate::graph::cycles;
use crate::problem::{Problem, Source};
use crate::report::Path;
use crate::tolerant::{Place, Reader, read_json, span_of};
use crate::tree::{Map, Node, Span, Value};

/// Reads a `prd.json` of any shape.
///
/// There is no list when the file is not JSON, or is another document. An
/// error beside a list means that something in it could not be understood: an
/// item without an id, or with the id of an earlier one, is left out. Keys that
/// are not known are not told of; [`crate::shape::check`] does.
pub fn read(source: Source<'_>) -> (Option<Prd>, Vec<Problem>) {
    read_json("PRD_PARSE_ERROR", source, |reader, root| {
        let layout = layout::of_root(root);
        let Some(at) = layout.items_key() else {
            let message = format!("this is {}", layout.describe());
            let words = (message, "keep the file, and name the list that you mean");
            let report = &mut reader.report;
            report.error("NOT_A_PRD_LIST", Path::ROOT, root.span, words);
            return None;
        };
        // A document that is the list itself says nothing beside it.
        let nothing = Map::default();
        let map = root.as_map().unwrap_or(&nothing);
        let path = Path::ROOT;
        let top = Place { map, path };
        let branch_name = reader.text(top, "branchName");
        Some(Prd {
            project: reader.text(top, "project"),
            description: reader.text(top, "description"),
            branch_name: branch_name.or_else(|| reader.text(top, "branch_name")),
            items: match at {
                ItemsAt::Key(key) => {
                    let list = reader.list(top, key);
                    read_items(reader, path.key(key), list)
                }
                ItemsAt::Top => read_items(reader, path, root.as_seq().unwrap_or_default()),
            },
            verification: read_verification(reader, top),
            layout,
        })
    })
}

/// The keys that say what an item depends on.
const DEPENDS_ON: [&str; 4] = ["may_depend_on", "dependsOn", "depends_on", "dependencies"];

/// The keys that say which files an item is about.
const FILES: [&str; 3] = ["related_files", "relatedFiles", "files"];

/// An item, and where its problems are shown.
struct Found<'n> {
    item: Item,
    map: &'n Map,
    index: usize,
}

fn read_items(reader: &mut Reader<'_>, path: Path<'_>, list: &[Node]) -> Vec<Item> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut lines: Vec<u32> = Vec::new();
    let mut found: Vec<Found<'_>> = Vec::new();
    for (index, node) in list.iter().enumerate() {
        let path = path.index(index);
        let Some((map, id, span)) = identify(reader, node, path) else {
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
        places.insert(id.clone(), found.len());
        lines.push(span.line);
        let item = read_item(reader, Place { map, path }, id);
        found.push(Found { item, map, index });
    }
    check_graph(reader, path, &found, &places);
    found.into_iter().map(|found| found.item).collect()
}

/// The id of an item. A number is as good as a text.
fn identify<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node,
    path: Path<'_>,
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
        .and_then(Node::text)
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
    Some((map, text?.to_owned(), span_of(map, "id")))
}

fn read_item(reader: &mut Reader<'_>, place: Place<'_>, id: String) -> Item {
    let mut texts = |keys: &[&str]| -> Vec<String> {
        keys.iter()
            .flat_map(|key| reader.texts(place, key))
            .collect()
    };
    let criteria = texts(&["acceptanceCriteria", "acceptance_criteria", "criteria"]);
    let steps = texts(&["steps"]);
    let depends_on = texts(&DEPENDS_ON);
    Item {
        id,
        title: reader.text(place, "title"),
        description: reader.text(place, "description"),
        criteria,
        steps,
        priority: reader.number(place, "priority"),
        depends_on,
        passes: reader.get(place, "passes"),
        verification: read_verification(reader, place),
        notes: reader.text(place, "notes"),
        claims: reader.claims(place),
        scope: reader.scope(place, &FILES),
    }
}

/// The commands of `verification` and `verificationCommands`, in this order.
fn read_verification(reader: &mut Reader<'_>, place: Place<'_>) -> Vec<String> {
    let by_kind = place.map.get("verification").map(|node| &node.value);
    let mut out = match by_kind {
        Some(Value::Map(map)) => {
            let path = place.path.key("verification");
            let place = Place { map, path };
            let kinds = ["tests", "build", "type_check", "custom"];
            let kinds = kinds.iter().flat_map(|kind| reader.texts(place, kind));
            kinds.collect()
        }
        Some(Value::Scalar(_) | Value::Seq(_)) | None => reader.texts(place, "verification"),
    };
    out.extend(reader.texts(place, "verificationCommands"));
    out.retain(|command| !command.trim().is_empty());
    out
}

/// Checks what items say of each other.
fn check_graph(
    reader: &mut Reader<'_>,
    path: Path<'_>,
    found: &[Found<'_>],
    places: &HashMap<String, usize>,
) {
    let place_of = |found: &Found<'_>| {
        let key = DEPENDS_ON
            .into_iter()
            .find(|key| found.map.get(key).is_some());
        let key = key.unwrap_or("id");
        (key, span_of(found.map, key))
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
    for cycle in cycles(&edges) {
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
