//! What the log holds, in the words of the core.

use std::fmt::Write as _;

use piton_core::command::Found;
use piton_core::entry::{Entry, EntryType};
use serde_json::Value as Json;

use super::show::element;
use super::{DOCUMENT, FACE, ROOT_NAME, SHAPE};
use crate::face::{About, Took};
use crate::json::{render, same};
use crate::problem::Problem;
use crate::shape::Shape;
use crate::tree::Node;
use crate::understood::{digest, instant, native, repeated_ids, to_json, warning, warnings};

/// Reads the log.
///
/// What is not as [`SHAPE`] demands is a warning, and what it is about is
/// taken as far as it can be understood. Errors: the text is not JSON, it is
/// something else, its version is too new, or `entries` is no list.
pub fn take(text: &str, about: &About<'_>) -> Took {
    DOCUMENT.take(text, about, |root| {
        let mut took = take_entries(text, root, (about.file, ROOT_NAME), &SHAPE);
        took.problems.extend(miscounted(root, about.file));
        took.problems.sort_by_key(|problem| problem.bytes.start);
        took
    })
}

/// The entries of a document that could be read.
pub(super) fn take_entries(
    text: &str,
    root: &Node,
    (file, root_name): (&str, &str),
    shape: &Shape,
) -> Took {
    let path = format!("{root_name}.entries");
    let entries = root.get("entries");
    let is_null = entries.is_some_and(Node::is_null);
    let mut problems = warnings(root, shape, (file, root_name), |problem| {
        problem.code == "WRONG_TYPE" && problem.path == path && !is_null
    });
    let list = entries.and_then(Node::as_seq).unwrap_or_default();
    problems.extend(repeated_ids(list, &path, file));
    let mut found = Vec::new();
    for (index, node) in list.iter().enumerate() {
        match taken(text, node) {
            Some(entry) => found.push(Found::Entry(Box::new(entry))),
            None => problems.push(warning(
                "NOT_TAKEN",
                (file, format!("{path}[{index}]")),
                node.span,
                NO_ENTRY,
            )),
        }
    }
    Took { found, problems }
}

const NO_ENTRY: (&str, &str) = (
    "this is no entry and cannot be taken in",
    "write an object with `id`, `timestamp`, `type` and `data`; it stays in the file as it is",
);

/// Warns of a count that is not the number of entries.
fn miscounted(root: &Node, file: &str) -> Option<Problem> {
    let total = root.get("metadata")?.get("total_entries")?;
    let entries = root.get("entries")?.as_seq()?.len();
    let said = total.as_u64()?;
    if usize::try_from(said).ok() == Some(entries) {
        return None;
    }
    let path = format!("{ROOT_NAME}.metadata.total_entries");
    let message = format!("{said} entries are counted, {entries} are there");
    Some(
        Problem::warning("COUNTER_DISAGREES", file, path, total.span).saying(
            message,
            "nothing has to be done: it is counted anew at the next change",
        ),
    )
}

/// The entry that an element holds.
pub(super) fn taken(text: &str, node: &Node) -> Option<Entry> {
    node.as_map()?;
    let said = |key| node.get(key).and_then(Node::as_str).map(str::to_owned);
    let word = said("type");
    let kind = word.as_deref().and_then(EntryType::parse);
    let name = said("id").filter(|id| !id.is_empty());
    let at = said("timestamp");
    // Known by all that it says, where it has no name, or no time to tell an
    // edit of it from another one of the same name.
    let is_known_by_name = name.is_some() && at.as_deref().and_then(instant).is_some();
    let mut entry = Entry {
        word: word.filter(|_| kind.is_none()),
        mark: (!is_known_by_name).then(|| mark(node)),
        name,
        at,
        spec: said("spec"),
        task_id: said("task_id"),
        ..Entry::bare(kind.unwrap_or(EntryType::Other))
    };
    if let Some(Json::Object(data)) = node.get("data").map(to_json) {
        entry.data = data;
    }
    let id = entry.name.as_deref().unwrap_or_default();
    if !same(&element(&entry, id, entry.at.as_deref()), node) {
        entry.native = native(text, node, FACE);
    }
    Some(entry)
}

/// What an entry is known by that has no name: the same for the same contents,
/// however they are written.
pub(super) fn mark(node: &Node) -> String {
    let bytes = digest(&[FACE, &render(node)]);
    bytes.iter().fold(format!("{FACE}:"), |mut mark, byte| {
        write!(mark, "{byte:02x}").expect("a string takes all");
        mark
    })
}
