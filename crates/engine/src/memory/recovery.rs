//! What to do after an attempt that did not complete: what the memory has, what
//! is wrong with the workspace and who waits for the item, put before the rules
//! of the core.

use std::path::Path;

use jiff::Timestamp;
use piton_core::attempt::Report;
use piton_core::memory::{MemoryKind, UnconfirmedPolicy};
use piton_core::prepare::CHARS_MAX;
use piton_core::quote::truncate_chars;
use piton_core::recover::{self, Advice, AdviceKind, FailureContext as Failed, Recovery};
use piton_core::{AttemptId, AttemptRow, ItemRow, Need, Node, Role, RunId};

use piton_store::{Store, StoreFault};

use crate::failure::Failure;
use crate::git;
use crate::memory::recall::{self, RecalledMemory};
use crate::session::Session;

/// How many lines of the end of an agent's output the memory is asked about.
const RECALL_LINES: usize = 200;
/// How many lines of its end count as said, of an agent that broke off.
const SAID_LINES: usize = 20;
/// So much of what the memory found is looked at, the best first.
const ADVICE_MAX: usize = 3;

/// An attempt that has just ended and did not complete.
#[derive(Clone, Copy, Debug)]
pub struct IncompleteAttempt<'a> {
    /// The run of its item.
    pub run: RunId,
    /// Its item.
    pub node: &'a Node,
    /// Its id: the store does not know yet that it is over.
    pub attempt: AttemptId,
    /// What came of it, with what it started from.
    pub report: &'a Report,
    /// What it printed, or the end of that.
    pub output: &'a str,
    /// What becomes of memories that no person confirmed.
    pub unconfirmed: UnconfirmedPolicy,
}

/// What to do after an attempt that did not complete, and was made in a work tree,
/// as of a time. A git that cannot be asked is no fault: then nothing is known of
/// the workspace.
///
/// # Errors
///
/// When the store cannot be read.
pub fn plan_recovery(
    session: &Session<'_>,
    ended: &IncompleteAttempt<'_>,
    work_tree: &Path,
    now: Timestamp,
) -> Result<Recovery, Failure> {
    let workspace = git::describe_unfinished(session.world, work_tree).unwrap_or_default();
    Ok(plan_recovery_in_store(
        &*session.store,
        ended,
        &workspace,
        now,
    )?)
}

/// The same, of a store. `workspace` is what is wrong with it, each thing in a
/// sentence.
///
/// # Errors
///
/// When the store cannot be read.
pub fn plan_recovery_in_store(
    store: &dyn Store,
    ended: &IncompleteAttempt<'_>,
    workspace: &[String],
    now: Timestamp,
) -> Result<Recovery, StoreFault> {
    let (run, node) = (ended.run, ended.node);
    let rows = store.load_rows(&[
        Need::AttemptsAt(run, node.clone()),
        Need::Dependents(run, node.clone()),
    ])?;
    let attempts = worker_attempts(rows.tables.attempts(), ended);
    let attempts: Vec<&AttemptRow> = attempts.iter().collect();
    let waiting = rows
        .tables
        .tree(run)
        .filter(|item| is_waiting_for(item, node));
    let needed_by: Vec<&str> = waiting.map(|item| item.node.as_str()).collect();
    let recalled = recall::recall_memories(store, &text_of_attempt(ended, RECALL_LINES), now)?;
    let found = recalled.results.iter().filter(|_| recalled.advise);
    let remembered: Vec<&RecalledMemory> = found
        .filter(|found| ended.unconfirmed.shows(&found.row.origin()))
        .collect();
    let guidance: Vec<String> = remembered
        .iter()
        .take(ADVICE_MAX)
        .map(|found| guidance_of_memory(found))
        .collect();
    let advice: Vec<Advice<'_>> = remembered
        .iter()
        .zip(&guidance)
        .map(|(found, guidance)| Advice {
            id: &found.row.id,
            kind: advice_kind(found),
            guidance,
        })
        .collect();
    let workspace: Vec<&str> = workspace.iter().map(String::as_str).collect();
    Ok(recover::choose_recovery(&Failed {
        detail: &failure_detail(ended),
        attempts: &attempts,
        advice: &advice,
        workspace: &workspace,
        needed_by: &needed_by,
    }))
}

/// The attempts to do the item, oldest first, the last as it ended. Repairs and
/// splits are no tries at the item itself.
fn worker_attempts<'r>(
    rows: impl Iterator<Item = &'r AttemptRow>,
    ended: &IncompleteAttempt<'_>,
) -> Vec<AttemptRow> {
    let own = |row: &&AttemptRow| {
        row.run == ended.run && row.node == *ended.node && row.role == Role::Worker
    };
    let mut rows: Vec<AttemptRow> = rows.filter(own).cloned().collect();
    rows.sort_by_key(|row| row.number);
    match rows.iter_mut().find(|row| row.id == ended.attempt) {
        Some(row) => row.report = Some(ended.report.clone()),
        None => rows.push(unrecorded_attempt(ended, rows.len())),
    }
    rows
}

/// An attempt that is told of and was not recorded.
fn unrecorded_attempt(ended: &IncompleteAttempt<'_>, before: usize) -> AttemptRow {
    AttemptRow {
        id: ended.attempt,
        run: ended.run,
        node: ended.node.clone(),
        number: u32::try_from(before + 1).unwrap_or(u32::MAX),
        role: Role::Worker,
        agent: String::new(),
        model: None,
        iteration: 0,
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: None,
        report: Some(ended.report.clone()),
        name: None,
        item: None,
        native: None,
        memories: Vec::new(),
        answer: None,
        tree: None,
        unchecked: None,
        checkout: None,
    }
}

/// Whether an item waits for the node, or for something that it is part of.
fn is_waiting_for(item: &ItemRow, node: &Node) -> bool {
    !item.state.is_finished() && item.plan.depends_on.iter().any(|on| node.is_within(on))
}

/// What the attempt said of its failure. An agent that ended well has said what
/// it meant; of one that broke off, its last lines count as well.
fn failure_detail(ended: &IncompleteAttempt<'_>) -> String {
    let code = ended
        .report
        .program
        .process
        .as_ref()
        .and_then(|end| end.code);
    let lines = if code == Some(0) { 0 } else { SAID_LINES };
    text_of_attempt(ended, lines)
}

fn text_of_attempt(ended: &IncompleteAttempt<'_>, lines: usize) -> String {
    let report = ended.report;
    let said = [report.error.as_deref(), report.summary.as_deref()];
    let mut parts: Vec<&str> = said.into_iter().flatten().collect();
    let all: Vec<&str> = ended.output.lines().collect();
    parts.extend(&all[all.len().saturating_sub(lines)..]);
    parts.join("\n")
}

fn guidance_of_memory(found: &RecalledMemory) -> String {
    let memory = &found.row.memory;
    let content = memory.content.trim();
    let text = match memory.title.as_deref().map(str::trim) {
        None | Some("") => content.to_owned(),
        Some(title) => format!("{title}: {content}"),
    };
    let origin = found.row.origin();
    let text = match origin.unconfirmed {
        true => format!("({}) {text}", origin.text),
        false => text,
    };
    // It stands in a prompt beside notes of that length.
    truncate_chars(&text, CHARS_MAX)
}

fn advice_kind(found: &RecalledMemory) -> AdviceKind {
    if found.row.memory.kind == MemoryKind::ResolvedBlocker {
        AdviceKind::Resolution
    } else {
        AdviceKind::Memory
    }
}
