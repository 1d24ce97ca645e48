//! What a progress file holds, in the words of the core.

use std::collections::HashSet;

use jiff::Timestamp;
use piton_core::attempt::{Context, Outcome, RecoveryAction, Report, ToldAttempt};
use piton_core::command::Found;
use piton_core::id::{Node as Item, RunId};
use piton_core::memory::{Confidence, Memory, MemoryKind};
use piton_core::name::slug;
use piton_core::observation::{
    ActionTaken, Observation, ObservationCategory, ObservationKind, Severity,
};

use super::show::{attempt_element, memory_element, parts_of_told};
use super::{DOCUMENT, ENTRY, FACE, LEARNING, MANUAL, PATTERN, ROOT_NAME, SHAPE};
use crate::face::{About, FILE_AGENT, Took};
use crate::json::same;
use crate::problem::Problem;
use crate::shape::{Named, Pattern};
use crate::tree::Node;
use crate::understood::{
    attempt_id, digest, id_of, instant, native, repeated_ids, understood, warning, warnings,
};

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

/// What is understood of a value that should be of that shape.
struct Said(Node);

impl Said {
    fn of(node: &Node, named: &Named) -> Option<Self> {
        node.as_map()?;
        understood(node, &named.shape).map(Self)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.0.get(key)?.as_str().map(str::to_owned)
    }

    fn word<T>(&self, key: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        parse(self.0.get(key)?.as_str()?)
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.0.get(key)?.as_u64()
    }

    fn bool(&self, key: &str) -> Option<bool> {
        self.0.get(key)?.as_bool()
    }

    fn time(&self, key: &str) -> Option<Timestamp> {
        self.word(key, instant)
    }

    fn number(&self) -> Option<u32> {
        let number = self.count("iteration");
        let number = number.filter(|number| *number <= NUMBER_MAX)?;
        u32::try_from(number).ok()
    }

    /// The id of an entry, or the one that its item and number make.
    fn name(&self) -> Option<String> {
        let derived = || {
            let prd_id = self.text("prd_id").filter(|prd_id| !prd_id.is_empty())?;
            Some(format!("{}-{}", slug(&prd_id), self.number()?))
        };
        let id = self.text("id").filter(|id| !id.is_empty());
        id.or_else(derived)
    }

    fn texts(&self, key: &str) -> Option<Vec<String>> {
        let list = self.0.get(key)?.as_seq()?;
        let texts = list.iter().filter_map(Node::as_str).map(str::to_owned);
        Some(texts.collect())
    }
}

/// What an entry is known by.
pub(super) fn name_of(node: &Node) -> Option<String> {
    id_of(node)
        .filter(|id| !id.is_empty())
        .or_else(|| Said::of(node, &ENTRY)?.name())
}

/// The attempt that an entry tells of; `None` when nothing would name it.
pub(super) fn told(text: &str, node: &Node) -> Option<ToldAttempt> {
    let said = Said::of(node, &ENTRY)?;
    let number = said.number();
    let name = said.name()?;
    let prd_id = said.text("prd_id").filter(|prd_id| !prd_id.is_empty());
    let item = prd_id.unwrap_or_else(|| match name.rsplit_once('-') {
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
        ended_at: said.time("timestamp"),
        report: Box::new(report(&said)),
        native: None,
    };
    // What the typed form cannot say is kept as it stands, and so is a name
    // that would not be given here.
    let has_own_form = !Pattern::EntryId.matches(told.name.as_deref().unwrap_or_default());
    if has_own_form || !same(&attempt_element(&parts_of_told(&told)), node) {
        told.native = native(text, node, FACE);
    }
    Some(told)
}

fn report(said: &Said) -> Report {
    // Nobody knows how an attempt ended whose status is no known word.
    let outcome = said.word("status", outcome).unwrap_or(Outcome::Interrupted);
    let observations = said.0.get("observations").and_then(Node::as_seq);
    Report {
        summary: said.text("summary"),
        observations: observations
            .unwrap_or_default()
            .iter()
            .map(|node| observation(&Said(node.clone())))
            .collect(),
        files: said.texts("files_modified"),
        commits: said.texts("git_commits"),
        context: said
            .0
            .get("context")
            .map(|node| context(&Said(node.clone()))),
        duration_s: said.count("duration_seconds"),
        ..Report::bare(outcome)
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

fn observation(said: &Said) -> Observation {
    let description = said.text("description");
    let title = said.text("title").unwrap_or_else(|| {
        let first = description.as_deref().and_then(|text| text.lines().next());
        first.unwrap_or_default().to_owned()
    });
    let kind = said.word("type", ObservationKind::parse);
    Observation {
        description,
        file: said.text("file"),
        category: said.word("category", ObservationCategory::parse),
        severity: said.word("severity", Severity::parse),
        action_taken: said.word("action_taken", ActionTaken::parse),
        related_learning_id: said.text("related_learning_id"),
        ..Observation::bare(kind.unwrap_or(ObservationKind::Finding), title)
    }
}

fn context(said: &Said) -> Context {
    Context {
        retry_count: said.count("retry_count"),
        previous_failure_reason: said.text("previous_failure_reason"),
        recovery_action: said.word("recovery_action", RecoveryAction::parse),
        recovery_guidance: said.text("recovery_guidance"),
        dependencies_completed: said.texts("dependencies_completed"),
        blocker_verified: said.bool("blocker_verified"),
        blocker_valid: said.bool("blocker_valid"),
    }
}

/// What is remembered in an element; `None` when it has no id of its kind.
pub(super) fn remembered(text: &str, node: &Node, kind: MemoryKind) -> Option<Found> {
    let said = Said::of(node, named(kind)?)?;
    let id = said.text("id")?;
    kind.number(&id).filter(|number| *number <= NUMBER_MAX)?;
    let retired = said.bool("still_valid") == Some(false);
    let of_pattern = kind == MemoryKind::Pattern;
    let content = said.text(if of_pattern { "description" } else { "content" });
    let time = if of_pattern {
        "discovered_at"
    } else {
        "created_at"
    };
    let mut memory = Memory {
        id: Some(id),
        topic: said.text("type"),
        title: said.text("name"),
        context: said.text("context"),
        examples: said.texts("examples").unwrap_or_default(),
        confidence: said.word("confidence", Confidence::parse),
        source_item: said.text("source_prd_id").filter(|item| item != MANUAL),
        source_attempt: said.text("source_entry_id"),
        learned_at: said.time(time),
        times_referenced: said.count("times_referenced"),
        ..Memory::bare(kind, content.unwrap_or_default())
    };
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

/// What an element of that kind must be; there are no guardrails here.
pub(super) fn named(kind: MemoryKind) -> Option<&'static Named> {
    match kind {
        MemoryKind::Learning => Some(&LEARNING),
        MemoryKind::Pattern => Some(&PATTERN),
        MemoryKind::Guardrail | MemoryKind::ResolvedBlocker => None,
    }
}
