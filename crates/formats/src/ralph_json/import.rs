//! What a progress file holds, in the words of the core.

use std::collections::HashSet;

use piton_core::command::ImportedRecord;
use piton_core::memory::MemoryKind;

use super::attempts::attempt_of_entry;
use super::detect::DOCUMENT;
use super::memories::memory_of_element;
use super::shape::{FACE, ROOT_NAME, SHAPE};
use crate::native_file::{FileContents, FileContext};
use crate::problem::Problem;
use crate::shape_merge::{native_of_element, repeated_id_problems, shape_warnings};
use crate::tree::ValueNode;

/// The lists that must be lists, or nothing can be written into them.
const LISTS: [&str; 3] = [
    "progress.entries",
    "progress.learnings",
    "progress.patterns",
];

/// Reads a progress file.
///
/// What is not as [`SHAPE`] demands is a warning, and what it is about is
/// taken as far as it can be understood. Errors: the text is not JSON, it is
/// something else, its version is too new, or what should be a list is none.
pub fn import_progress(text: &str, about: &FileContext<'_>) -> FileContents {
    DOCUMENT.import(text, about, |root| {
        let mut taking = RalphImporter {
            text,
            file: about.file,
            took: FileContents {
                found: Vec::new(),
                problems: collect_problems(root, about.file),
            },
        };
        taking.import_lists(root);
        let mut took = taking.took;
        took.problems.sort_by_key(|problem| problem.bytes.start);
        took
    })
}

fn collect_problems(root: &ValueNode, file: &str) -> Vec<Problem> {
    let is_null = |path: &str| {
        let key = path.strip_prefix("progress.").unwrap_or_default();
        root.get(key).is_some_and(ValueNode::is_null)
    };
    let mut problems = shape_warnings(root, &SHAPE, file, ROOT_NAME, |problem| {
        LISTS.contains(&problem.path.as_str())
            && problem.code == "WRONG_TYPE"
            && !is_null(&problem.path)
    });
    // Ids go on behind 9999.
    let kinds = [
        ("learnings", MemoryKind::Learning),
        ("patterns", MemoryKind::Pattern),
    ];
    let counted_on: HashSet<usize> = kinds
        .iter()
        .flat_map(|(key, kind)| elements_of_list(root, key).map(move |(_, node)| (node, kind)))
        .filter_map(|(node, kind)| {
            let id = node.get("id")?;
            kind.parse_number(id.as_str()?).map(|_| id.span.start)
        })
        .collect();
    problems.retain(|problem| {
        problem.code != "INVALID_VALUE" || !counted_on.contains(&problem.bytes.start)
    });
    for (key, path) in ["entries", "learnings", "patterns"].iter().zip(LISTS) {
        let list = root
            .get(key)
            .and_then(ValueNode::as_seq)
            .unwrap_or_default();
        problems.extend(repeated_id_problems(list, path, file));
    }
    problems
}

struct RalphImporter<'t> {
    text: &'t str,
    file: &'t str,
    took: FileContents,
}

impl RalphImporter<'_> {
    fn import_lists(&mut self, root: &ValueNode) {
        for (index, node) in elements_of_list(root, "entries") {
            match attempt_of_entry(self.text, node) {
                Some(told) => self.push_found(ImportedRecord::Attempt(Box::new(told))),
                None => {
                    let (message, hint) = (NAMELESS_ENTRY, NAMELESS_ENTRY_HINT);
                    self.report_not_imported(node, "entries", index, message, hint);
                }
            }
        }
        for (key, kind) in [
            ("learnings", MemoryKind::Learning),
            ("patterns", MemoryKind::Pattern),
        ] {
            let mut given = HashSet::new();
            for (index, node) in elements_of_list(root, key) {
                match memory_of_element(self.text, node, kind) {
                    Some(mut found) => {
                        if let ImportedRecord::Memory(memory) | ImportedRecord::Retired(memory) =
                            &mut found
                            && !given.insert(memory.id.clone())
                        {
                            // It gets an id of its own in the journal, and is
                            // found again by the one that it has here.
                            memory.native = native_of_element(self.text, node, FACE);
                        }
                        self.push_found(found);
                    }
                    None => {
                        let (message, hint) = (NAMELESS_MEMORY, NAMELESS_MEMORY_HINT);
                        self.report_not_imported(node, key, index, message, hint);
                    }
                }
            }
        }
    }

    fn push_found(&mut self, found: ImportedRecord) {
        self.took.found.push(found);
    }

    fn report_not_imported(
        &mut self,
        node: &ValueNode,
        key: &str,
        index: usize,
        message: &str,
        hint: &str,
    ) {
        let path = format!("{ROOT_NAME}.{key}[{index}]");
        let problem = Problem::warning("NOT_TAKEN", self.file, path, node.span);
        self.took.problems.push(problem.with_message(message, hint));
    }
}

const NAMELESS_ENTRY: &str = "this cannot be taken in: it has no id that it would be known by";
const NAMELESS_ENTRY_HINT: &str =
    "give it an `id` such as \"auth-login-2\"; it stays in the file as it is";
const NAMELESS_MEMORY: &str =
    "this cannot be taken in: it has no id of the form that it would be known by";
const NAMELESS_MEMORY_HINT: &str =
    "give it an `id` such as \"learning-0007\" or \"pattern-0007\"; it stays in the file as it is";

fn elements_of_list<'n>(
    root: &'n ValueNode,
    key: &str,
) -> impl Iterator<Item = (usize, &'n ValueNode)> {
    let list = root
        .get(key)
        .and_then(ValueNode::as_seq)
        .unwrap_or_default();
    list.iter().enumerate()
}
