//! What a progress file holds, in the words of the core.

use std::collections::HashSet;

use piton_core::attempt::{Outcome, Report, ToldAttempt};
use piton_core::command::Found;
use piton_core::id::{Node as Item, RunId};
use piton_core::memory::{Memory, MemoryKind};
use piton_core::name::slug;

use super::element::{Entry, Habit, Learning};
use super::show::{entry_of_told, memory_element};
use super::{DOCUMENT, ENTRY, FACE, LEARNING, MANUAL, PATTERN, ROOT_NAME, SHAPE};
use crate::face::{About, FILE_AGENT, Took};
use crate::json::same;
use crate::problem::Problem;
use crate::record::{node_of, understand};
use crate::shape::{Named, Pattern};
use crate::tree::Node;
use crate::understood::{attempt_id, digest, id_of, native, repeated_ids, warning, warnings};

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
pub fn take(text: &str, about: &About<'_>) -> Took {
    DOCUMENT.take(text, about, |root| {
        let mut taking = Taking {
            text,
            file: about.file,
            took: Took {
                found: Vec::new(),
                problems: problems(root, about.file),
            },
        };
        taking.all(root);
        let mut took = taking.took;
        took.problems.sort_by_key(|problem| problem.bytes.start);
        took
    })
}

fn problems(root: &Node, file: &str) -> Vec<Problem> {
    let is_null = |path: &str| {
        let key = path.strip_prefix("progress.").unwrap_or_default();
        root.get(key).is_some_and(Node::is_null)
    };
    let mut problems = warnings(root, &SHAPE, (file, ROOT_NAME), |problem| {
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
        .flat_map(|(key, kind)| elements(root, key).map(move |(_, node)| (node, kind)))
        .filter_map(|(node, kind)| {
            let id = node.get("id")?;
            kind.number(id.as_str()?).map(|_| id.span.start)
        })
        .collect();
    problems.retain(|problem| {
        problem.code != "INVALID_VALUE" || !counted_on.contains(&problem.bytes.start)
    });
    for (key, path) in ["entries", "learnings", "patterns"].iter().zip(LISTS) {
        let list = root.get(key).and_then(Node::as_seq).unwrap_or_default();
        problems.extend(repeated_ids(list, path, file));
    }
    problems
}

struct Taking<'t> {
    text: &'t str,
    file: &'t str,
    took: Took,
}

impl Taking<'_> {
    fn all(&mut self, root: &Node) {
        for (index, node) in elements(root, "entries") {
            match told(self.text, node) {
                Some(told) => self.found(Found::Attempt(Box::new(told))),
                None => self.left(node, "entries", index, NAMELESS_ENTRY),
            }
        }
        for (key, kind) in [
            ("learnings", MemoryKind::Learning),
            ("patterns", MemoryKind::Pattern),
        ] {
            let mut given = HashSet::new();
            for (index, node) in elements(root, key) {
                match remembered(self.text, node, kind) {
                    Some(mut found) => {
                        if let Found::Memory(memory) | Found::Retired(memory) = &mut found
                            && !given.insert(memory.id.clone())
                        {
                            // It gets an id of its own in the journal, and is
                            // found again by the one that it has here.
                            memory.native = native(self.text, node, FACE);
                        }
                        self.found(found);
                    }
                    None => self.left(node, key, index, NAMELESS_MEMORY),
                }
            }
        }
    }

    fn found(&mut self, found: Found) {
        self.took.found.push(found);
    }

    fn left(&mut self, node: &Node, key: &str, index: usize, words: (&str, &str)) {
        let path = format!("{ROOT_NAME}.{key}[{index}]");
        let problem = warning("NOT_TAKEN", (self.file, path), node.span, words);
        self.took.problems.push(problem);
    }
}

const NAMELESS_ENTRY: (&str, &str) = (
    "this cannot be taken in: it has no id that it would be known by",
    "give it an `id` such as \"auth-login-2\"; it stays in the file as it is",
);
const NAMELESS_MEMORY: (&str, &str) = (
    "this cannot be taken in: it has no id of the form that it would be known by",
    "give it an `id` such as \"learning-0007\" or \"pattern-0007\"; it stays in the file as it is",
);

fn elements<'n>(root: &'n Node, key: &str) -> impl Iterator<Item = (usize, &'n Node)> {
    let list = root.get(key).and_then(Node::as_seq).unwrap_or_default();
    list.iter().enumerate()
}

impl Entry {
    fn of(node: &Node) -> Option<Self> {
        understand(node, &ENTRY.shape)
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
pub(super) fn name_of(node: &Node) -> Option<String> {
    id_of(node)
        .filter(|id| !id.is_empty())
        .or_else(|| Entry::of(node)?.name())
}

/// The attempt that an entry tells of; `None` when nothing would name it.
pub(super) fn told(text: &str, node: &Node) -> Option<ToldAttempt> {
    let entry = Entry::of(node)?;
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
    let mut told = ToldAttempt {
        attempt: attempt_id(digest(&[FACE, &name, raw])),
        run: RunId::PROJECT,
        node: Item::child(None, &item, 1),
        item,
        number,
        name: Some(name),
        agent: FILE_AGENT.to_owned(),
        ended_at: entry.timestamp,
        report: Box::new(report(entry)),
        native: None,
    };
    // What the typed form cannot say is kept as it stands, and so is a name
    // that would not be given here.
    let has_own_form = !Pattern::EntryId.matches(told.name.as_deref().unwrap_or_default());
    if has_own_form || !same(&node_of(&entry_of_told(&told)), node) {
        told.native = native(text, node, FACE);
    }
    Some(told)
}

fn report(entry: Entry) -> Report {
    // Nobody knows how an attempt ended whose status is no known word.
    let outcome = entry.status.as_deref().and_then(outcome);
    Report {
        summary: entry.summary,
        observations: entry.observations.unwrap_or_default(),
        files: entry.files,
        commits: entry.commits,
        context: entry.context,
        duration_s: entry.duration_s,
        ..Report::bare(outcome.unwrap_or(Outcome::Interrupted))
    }
}

fn outcome(word: &str) -> Option<Outcome> {
    let known = [
        Outcome::Completed,
        Outcome::Failed,
        Outcome::Blocked,
        Outcome::Partial,
    ];
    known.into_iter().find(|outcome| outcome.as_str() == word)
}

/// What is remembered in an element; `None` when it has no id of its kind.
pub(super) fn remembered(text: &str, node: &Node, kind: MemoryKind) -> Option<Found> {
    let (mut memory, is_valid) = match kind {
        MemoryKind::Learning => of_learning(understand(node, &LEARNING.shape)?),
        MemoryKind::Pattern => (of_pattern(understand(node, &PATTERN.shape)?), None),
        MemoryKind::Guardrail | MemoryKind::ResolvedBlocker => return None,
    };
    let number = kind.number(memory.id.as_deref()?);
    number.filter(|number| *number <= NUMBER_MAX)?;
    let retired = is_valid == Some(false);
    if !same(
        &memory_element(&memory, memory.learned_at, Some(!retired)),
        node,
    ) {
        memory.native = native(text, node, FACE);
    }
    let memory = Box::new(memory);
    Some(if retired {
        Found::Retired(memory)
    } else {
        Found::Memory(memory)
    })
}

/// What a learning holds, and whether it is still valid.
fn of_learning(learning: Learning) -> (Memory, Option<bool>) {
    let content = learning.content.unwrap_or_default();
    let memory = Memory {
        id: learning.id,
        topic: learning.topic,
        context: learning.context,
        source_item: learning.source_item.filter(|item| item != MANUAL),
        source_attempt: learning.source_attempt,
        learned_at: learning.learned_at,
        times_referenced: learning.times_referenced,
        ..Memory::bare(MemoryKind::Learning, content)
    };
    (memory, learning.is_valid)
}

fn of_pattern(pattern: Habit) -> Memory {
    Memory {
        id: pattern.id,
        topic: pattern.topic,
        title: pattern.title,
        examples: pattern.examples.unwrap_or_default(),
        confidence: pattern.confidence,
        source_item: pattern.source_item.filter(|item| item != MANUAL),
        learned_at: pattern.learned_at,
        ..Memory::bare(MemoryKind::Pattern, pattern.content.unwrap_or_default())
    }
}

/// What an element of that kind must be; there are no guardrails here.
pub(super) fn named(kind: MemoryKind) -> Option<&'static Named> {
    match kind {
        MemoryKind::Learning => Some(&LEARNING),
        MemoryKind::Pattern => Some(&PATTERN),
        MemoryKind::Guardrail | MemoryKind::ResolvedBlocker => None,
    }
}
