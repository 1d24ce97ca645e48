//! What a progress file holds, in the words of the core.

use std::collections::HashSet;

use piton_core::attempt::{Outcome, Report, ReportedAttempt};
use piton_core::command::ImportedRecord;
use piton_core::id::{Node as Item, RunId};
use piton_core::memory::{Memory, MemoryKind};
use piton_core::name::slug;

use super::element::{CodePattern, Learning, RalphEntry};
use super::render::{entry_of_reported_attempt, memory_element};
use super::{DOCUMENT, ENTRY, FACE, LEARNING, MANUAL, PATTERN, ROOT_NAME, SHAPE};
use crate::json::is_same_json;
use crate::native_file::{FILE_AGENT, FileContents, FileContext};
use crate::problem::Problem;
use crate::record::{node_of_record, read_lenient};
use crate::shape::{NamedShape, Pattern};
use crate::shape_merge::{
    attempt_id_of_digest, digest, id_of_element, native_of_element, repeated_id_problems,
    shape_warnings,
};
use crate::tree::ValueNode;

/// Greater numbers were not counted.
const NUMBER_MAX: u64 = 1_000_000_000;

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

impl RalphEntry {
    fn from_node(node: &ValueNode) -> Option<Self> {
        read_lenient(node, &ENTRY.shape)
    }

    fn number(&self) -> Option<u32> {
        let number = self.iteration.filter(|number| *number <= NUMBER_MAX)?;
        u32::try_from(number).ok()
    }

    fn item(&self) -> Option<&String> {
        self.prd_id.as_ref().filter(|prd_id| !prd_id.is_empty())
    }

    /// The id of an entry, or the one that its item and number make.
    fn name(&self) -> Option<String> {
        let derived = || Some(format!("{}-{}", slug(self.item()?), self.number()?));
        let id = self.id.clone().filter(|id| !id.is_empty());
        id.or_else(derived)
    }
}

/// What an entry is known by.
pub(super) fn name_of_entry(node: &ValueNode) -> Option<String> {
    id_of_element(node)
        .filter(|id| !id.is_empty())
        .or_else(|| RalphEntry::from_node(node)?.name())
}

/// The attempt that an entry tells of; `None` when nothing would name it.
pub(super) fn attempt_of_entry(text: &str, node: &ValueNode) -> Option<ReportedAttempt> {
    let entry = RalphEntry::from_node(node)?;
    let number = entry.number();
    let name = entry.name()?;
    let item = entry.item().cloned();
    let item = item.unwrap_or_else(|| match name.rsplit_once('-') {
        Some((item, digits)) if !item.is_empty() && digits.parse::<u64>().is_ok() => {
            item.to_owned()
        }
        Some(_) | None => name.clone(),
    });
    let raw = text.get(node.span.start..node.span.end).unwrap_or_default();
    let mut told = ReportedAttempt {
        attempt: attempt_id_of_digest(digest(&[FACE, &name, raw])),
        run: RunId::PROJECT,
        node: Item::child(None, &item, 1),
        item,
        number,
        name: Some(name),
        agent: FILE_AGENT.to_owned(),
        ended_at: entry.timestamp,
        report: Box::new(report_of_entry(entry)),
        native: None,
    };
    // What the typed form cannot say is kept as it stands, and so is a name
    // that would not be given here.
    let has_own_form = !Pattern::EntryId.is_match(told.name.as_deref().unwrap_or_default());
    if has_own_form || !is_same_json(&node_of_record(&entry_of_reported_attempt(&told)), node) {
        told.native = native_of_element(text, node, FACE);
    }
    Some(told)
}

fn report_of_entry(entry: RalphEntry) -> Report {
    // The outcome of an attempt with an unknown status is not known.
    let outcome = entry.status.as_deref().and_then(outcome_of_status);
    Report {
        summary: entry.summary,
        observations: entry.observations.unwrap_or_default(),
        files: entry.files,
        commits: entry.commits,
        context: entry.context,
        duration_s: entry.duration_s,
        ..Report::with_outcome(outcome.unwrap_or(Outcome::Interrupted))
    }
}

fn outcome_of_status(word: &str) -> Option<Outcome> {
    let known = [
        Outcome::Completed,
        Outcome::Failed,
        Outcome::Blocked,
        Outcome::Partial,
    ];
    known.into_iter().find(|outcome| outcome.as_str() == word)
}

/// What is remembered in an element; `None` when it has no id of its kind.
pub(super) fn memory_of_element(
    text: &str,
    node: &ValueNode,
    kind: MemoryKind,
) -> Option<ImportedRecord> {
    let (mut memory, is_valid) = match kind {
        MemoryKind::Learning => memory_of_learning(read_lenient(node, &LEARNING.shape)?),
        MemoryKind::Pattern => (memory_of_pattern(read_lenient(node, &PATTERN.shape)?), None),
        MemoryKind::Guardrail | MemoryKind::ResolvedBlocker => return None,
    };
    let number = kind.parse_number(memory.id.as_deref()?);
    number.filter(|number| *number <= NUMBER_MAX)?;
    let retired = is_valid == Some(false);
    if !is_same_json(
        &memory_element(&memory, memory.learned_at, Some(!retired)),
        node,
    ) {
        memory.native = native_of_element(text, node, FACE);
    }
    let memory = Box::new(memory);
    Some(if retired {
        ImportedRecord::Retired(memory)
    } else {
        ImportedRecord::Memory(memory)
    })
}

/// What a learning holds, and whether it is still valid.
fn memory_of_learning(learning: Learning) -> (Memory, Option<bool>) {
    let content = learning.content.unwrap_or_default();
    let memory = Memory {
        id: learning.id,
        topic: learning.topic,
        context: learning.context,
        source_item: learning.source_item.filter(|item| item != MANUAL),
        source_attempt: learning.source_attempt,
        learned_at: learning.learned_at,
        times_referenced: learning.times_referenced,
        ..Memory::new(MemoryKind::Learning, content)
    };
    (memory, learning.is_valid)
}

fn memory_of_pattern(pattern: CodePattern) -> Memory {
    Memory {
        id: pattern.id,
        topic: pattern.topic,
        title: pattern.title,
        examples: pattern.examples.unwrap_or_default(),
        confidence: pattern.confidence,
        source_item: pattern.source_item.filter(|item| item != MANUAL),
        learned_at: pattern.learned_at,
        ..Memory::new(MemoryKind::Pattern, pattern.content.unwrap_or_default())
    }
}

/// What an element of that kind must be; there are no guardrails here.
pub(super) fn shape_of_kind(kind: MemoryKind) -> Option<&'static NamedShape> {
    match kind {
        MemoryKind::Learning => Some(&LEARNING),
        MemoryKind::Pattern => Some(&PATTERN),
        MemoryKind::Guardrail | MemoryKind::ResolvedBlocker => None,
    }
}
