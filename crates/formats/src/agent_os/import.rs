//! What the log holds, in the words of the core.

use piton_core::command::ImportedRecord;

use super::detect::DOCUMENT;
use super::element::parse_entry;
use super::shape::{ROOT_NAME, SHAPE};
use crate::native_file::{FileContents, FileContext};
use crate::problem::Problem;
use crate::shape::Shape;
use crate::shape_merge::{repeated_id_problems, shape_warnings};
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
