//! What the log holds, in the words of the core.

use std::fmt::Write as _;

use piton_core::command::ImportedRecord;
use piton_core::entry::{Entry, EntryType};
use serde_json::Value as Json;

use super::render::element_of_entry;
use super::{DOCUMENT, FACE, ROOT_NAME, SHAPE};
use crate::json::{is_same_json, render};
use crate::native_file::{FileContents, FileContext};
use crate::problem::Problem;
use crate::shape::Shape;
use crate::shape_merge::{
    digest, native_of_element, parse_instant, repeated_id_problems, shape_warnings, to_json,
};
use crate::tree::ValueNode;

/// Reads the log.
///
/// What is not as [`SHAPE`] demands is a warning, and what it is about is
/// taken as far as it can be understood. Errors: the text is not JSON, it is
/// something else, its version is too new, or `entries` is no list.
pub fn import_log(text: &str, about: &FileContext<'_>) -> FileContents {
    DOCUMENT.import(text, about, |root| {
        let mut took = import_entries(text, root, about.file, ROOT_NAME, &SHAPE);
        took.problems.extend(check_entry_count(root, about.file));
        took.problems.sort_by_key(|problem| problem.bytes.start);
        took
    })
}

/// The entries of a document that could be read.
pub(super) fn import_entries(
    text: &str,
    root: &ValueNode,
    file: &str,
    root_name: &str,
    shape: &Shape,
) -> FileContents {
    let path = format!("{root_name}.entries");
    let entries = root.get("entries");
    let is_null = entries.is_some_and(ValueNode::is_null);
    let mut problems = shape_warnings(root, shape, file, root_name, |problem| {
        problem.code == "WRONG_TYPE" && problem.path == path && !is_null
    });
    let list = entries.and_then(ValueNode::as_seq).unwrap_or_default();
    problems.extend(repeated_id_problems(list, &path, file));
    let mut found = Vec::new();
    for (index, node) in list.iter().enumerate() {
        match parse_entry(text, node) {
            Some(entry) => found.push(ImportedRecord::Entry(Box::new(entry))),
            None => {
                let path = format!("{path}[{index}]");
                let problem = Problem::warning("NOT_TAKEN", file, path, node.span);
                problems.push(problem.with_message(NO_ENTRY, NO_ENTRY_HINT));
            }
        }
    }
    FileContents { found, problems }
}

const NO_ENTRY: &str = "this is no entry and cannot be taken in";
const NO_ENTRY_HINT: &str =
    "write an object with `id`, `timestamp`, `type` and `data`; it stays in the file as it is";

/// Warns of a count that is not the number of entries.
fn check_entry_count(root: &ValueNode, file: &str) -> Option<Problem> {
    let total = root.get("metadata")?.get("total_entries")?;
    let entries = root.get("entries")?.as_seq()?.len();
    let said = total.as_u64()?;
    if usize::try_from(said).ok() == Some(entries) {
        return None;
    }
    let path = format!("{ROOT_NAME}.metadata.total_entries");
    let message = format!("{said} entries are counted, {entries} are there");
    Some(
        Problem::warning("COUNTER_DISAGREES", file, path, total.span).with_message(
            message,
            "nothing has to be done: it is counted anew at the next change",
        ),
    )
}

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
