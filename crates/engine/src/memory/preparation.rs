//! What is known about an item that is about to be worked on, gathered for
//! [`piton_core::prepare`]: for `piton prepare` and for the prompts of the loop.

use jiff::Timestamp;
use piton_core::attempt::{Outcome, Report};
use piton_core::entry::BlockerRow;
use piton_core::memory::{KINDS, MemoryKind, MemoryRow, UnconfirmedPolicy};
use piton_core::name::{FreeNumbers, NameRange};
use piton_core::prepare::{PrepareInput, PreparedContext, RuleText, prepare_context as notes};
use piton_core::{AttemptRow, ItemRow, Need, Node, RunId, Tables};
use piton_formats::project_format::UnreadText;
use piton_formats::registry::project_file_at;
use piton_store::{Store, StoreFault};

use crate::config::Config;
use crate::failure::Failure;
use crate::memory::open_blockers::unresolved_blockers;
use crate::memory::recall::recall_memories;
use crate::session::Session;

/// So many tokens of what is known go into a prompt.
pub const TOKENS: usize = 4_000;
/// Of what a text recalls so much is told.
const HELPS_MAX: usize = 3;
/// Among so many attempts of the project is looked for what is wrong in general.
const ATTEMPTS_READ: usize = 50;
/// So many blockers of other items are told.
const BLOCKERS_MAX: usize = 10;

/// Whose blockers are told beside an item's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockerScope {
    /// Those of every item: a person, or an agent that asks, sees them all.
    Project,
    /// None: the errors of one item stay out of the prompts of others.
    Item,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct PrepareRequest<'a> {
    /// The run of the item.
    pub run: RunId,
    /// The item.
    pub node: &'a Node,
    /// The time of the memories' ages.
    pub now: Timestamp,
    /// So many tokens at most.
    pub tokens_max: usize,
    /// Whose blockers are told.
    pub blockers: BlockerScope,
    /// Rules that could not be read as such: see [`unparsed_rule_texts`].
    pub rule_texts: &'a [RuleText],
    /// What becomes of what no person confirmed: see [`unconfirmed_policy`].
    pub unconfirmed: UnconfirmedPolicy,
}

/// What the project wants of what no person confirmed.
///
/// # Errors
///
/// When `.piton/config.toml` cannot be read.
pub fn unconfirmed_policy(session: &Session<'_>) -> Result<UnconfirmedPolicy, Failure> {
    Ok(Config::load(&session.project)?.memory.unconfirmed)
}

/// What an agent that begins with an item should know, in at most so many tokens.
/// Counts nothing: that is done when an attempt starts.
///
/// # Errors
///
/// When the store cannot be read.
pub fn prepare_item(
    store: &dyn Store,
    request: &PrepareRequest<'_>,
) -> Result<PreparedContext, StoreFault> {
    let PrepareRequest {
        run,
        node,
        now,
        tokens_max,
        blockers: blockers_of,
        rule_texts,
        unconfirmed,
    } = *request;
    let rows = store.load_rows(&[
        Need::Line(run, node.clone()),
        Need::AttemptsAt(run, node.clone()),
        Need::Memories(Some(MemoryKind::Guardrail)),
        Need::FreeNumbers,
        Need::Blockers,
    ])?;
    let tables = &rows.tables;
    let item = tables.item(run, node);
    let mut attempts: Vec<&AttemptRow> = tables.attempts().collect();
    attempts.sort_by_key(|row| row.number);
    let mut guardrails: Vec<&MemoryRow> = followed_memories(tables).collect();
    // Where they do not all fit, the latest are told.
    guardrails.sort_by_key(|row| std::cmp::Reverse(row.position));
    let is_nothing_known =
        rows.naming == NameRange::ALONE && rows.free_numbers == [FreeNumbers::free_from(1); KINDS];
    let helps = if is_nothing_known {
        Vec::new()
    } else {
        find_helpful_memories(store, node, item, &attempts, now)?
    };
    let helps: Vec<(&MemoryRow, Vec<String>)> = helps
        .iter()
        .filter(|(row, _)| row.memory.kind != MemoryKind::Guardrail)
        .map(|(row, why)| (row, why.clone()))
        .collect();
    let failures = recent_failures(store)?;
    let failures: Vec<&AttemptRow> = failures.iter().collect();
    let blockers = match blockers_of {
        BlockerScope::Project => {
            let open = unresolved_blockers(store, tables)?;
            blocker_lines(open, Some((node, !attempts.is_empty())))
        }
        BlockerScope::Item if attempts.is_empty() => own_blocker_lines(tables, node),
        BlockerScope::Item => Vec::new(),
    };
    let done = finished_needs(store, tables, run, node)?;
    let situation = PrepareInput {
        item: node.as_str(),
        attempts: &attempts,
        failures: &failures,
        guardrails: &guardrails,
        rule_texts,
        helps: &helps,
        blockers: &blockers.iter().map(String::as_str).collect::<Vec<_>>(),
        done: &done.iter().map(String::as_str).collect::<Vec<_>>(),
        unconfirmed,
    };
    Ok(notes(&situation, tokens_max))
}

/// What an agent that begins with any work here should know: the rules that hold for
/// all, and the open blockers, in at most so many tokens.
///
/// # Errors
///
/// When the store or `.piton/config.toml` cannot be read.
pub fn prepare_project(
    session: &Session<'_>,
    tokens_max: usize,
) -> Result<PreparedContext, Failure> {
    let store = &*session.store;
    let rows = store.load_rows(&[Need::Memories(Some(MemoryKind::Guardrail)), Need::Blockers])?;
    let mut guardrails: Vec<&MemoryRow> = followed_memories(&rows.tables).collect();
    guardrails.sort_by_key(|row| std::cmp::Reverse(row.position));
    let blockers = blocker_lines(unresolved_blockers(store, &rows.tables)?, None);
    let failures = recent_failures(store)?;
    let situation = PrepareInput {
        item: "anything here",
        failures: &failures.iter().collect::<Vec<_>>(),
        guardrails: &guardrails,
        rule_texts: &unparsed_rule_texts(session)?,
        blockers: &blockers.iter().map(String::as_str).collect::<Vec<_>>(),
        unconfirmed: unconfirmed_policy(session)?,
        ..PrepareInput::default()
    };
    Ok(notes(&situation, tokens_max))
}

/// What the files of rules that piton keeps say and could not be read as rules;
/// of one that is no text, everything.
///
/// # Errors
///
/// When the store cannot be read.
pub fn unparsed_rule_texts(session: &Session<'_>) -> Result<Vec<RuleText>, StoreFault> {
    let rows = session.store.load_rows(&[Need::Faces])?;
    let mut texts = Vec::new();
    for face in rows.tables.native_files().filter(|face| face.on) {
        let Some((path, unread)) =
            project_file_at(&face.path).and_then(|file| Some((file.path, file.unread?)))
        else {
            continue;
        };
        let Ok(bytes) = session.project.read_bytes(&session.project.root.join(path)) else {
            continue;
        };
        let unread = match String::from_utf8(bytes) {
            Ok(text) => unread(&text),
            Err(error) => vec![UnreadText {
                line: 1,
                text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }],
        };
        texts.extend(unread.into_iter().map(|UnreadText { line, mut text }| {
            session.world.redactor().redact_document(&mut text);
            let place = format!("{path}, line {line}");
            RuleText { place, text }
        }));
    }
    Ok(texts)
}

fn followed_memories(tables: &Tables) -> impl Iterator<Item = &MemoryRow> {
    tables.memories().filter(|row| row.is_followed())
}

/// What helps against what its gate found, against the last failure, and with
/// the task; each only where the memory is sure enough to advise.
fn find_helpful_memories(
    store: &dyn Store,
    node: &Node,
    item: Option<&ItemRow>,
    attempts: &[&AttemptRow],
    now: Timestamp,
) -> Result<Vec<(MemoryRow, Vec<String>)>, StoreFault> {
    let failed = attempts.iter().rev().find_map(|row| failure_text(row));
    let task = item.and_then(|item| item.plan.prompt.clone());
    let task = task.or_else(|| Some(node.as_str().to_owned()));
    let mut helps: Vec<(MemoryRow, Vec<String>)> = Vec::new();
    let gate = item.and_then(|item| item.proof.gate_runs.as_ref());
    let gate = gate.filter(|runs| !runs.passed && !runs.output.is_empty());
    let gate = gate.map(|runs| runs.output.clone());
    for text in [gate, failed, task].into_iter().flatten() {
        let recalled = recall_memories(store, &text, now)?;
        if !recalled.advise {
            continue;
        }
        for found in recalled.results.into_iter().take(HELPS_MAX) {
            if helps.iter().all(|(row, _)| row.id != found.row.id) {
                helps.push((found.row, found.why));
            }
        }
    }
    Ok(helps)
}

/// What an attempt that did not complete says of its failure.
fn failure_text(row: &AttemptRow) -> Option<String> {
    let report = row.report.as_ref()?;
    match report.outcome {
        Outcome::Failed | Outcome::Blocked | Outcome::Partial => Some(text_of_report(report)),
        Outcome::Completed | Outcome::NeedsHuman | Outcome::Interrupted => None,
    }
}

/// The words of a report that something may be known about.
pub(crate) fn text_of_report(report: &Report) -> String {
    let said = report.error.iter().chain(&report.summary).cloned();
    let noticed = report.observations.iter().flat_map(|seen| {
        let title = std::iter::once(seen.title.clone());
        title.chain(seen.description.clone())
    });
    said.chain(noticed).collect::<Vec<_>>().join("\n")
}

/// The last attempts of the project that did not complete.
fn recent_failures(store: &dyn Store) -> Result<Vec<AttemptRow>, StoreFault> {
    let rows = store.load_rows(&[Need::RecentAttempts(ATTEMPTS_READ)])?;
    let attempts = rows.tables.attempts_by_time();
    Ok(attempts
        .into_iter()
        .filter(|row| failure_text(row).is_some())
        .cloned()
        .collect())
}

/// What stands in the way: of the item itself first, if there is one. What came
/// of an attempt at it, if it was tried, is told of that.
fn blocker_lines(open: Vec<&BlockerRow>, item: Option<(&Node, bool)>) -> Vec<String> {
    let name = item.map(|(node, _)| node.as_str());
    let of_item = |row: &&BlockerRow| name.is_some() && row.task_id.as_deref() == name;
    let (mut own, others): (Vec<&BlockerRow>, Vec<&BlockerRow>) =
        open.into_iter().partition(of_item);
    if item.is_some_and(|(_, was_tried)| was_tried) {
        own.clear();
    }
    let told = own.into_iter().chain(others).take(BLOCKERS_MAX);
    told.map(blocker_line).collect()
}

/// What stands in the way of the item itself.
fn own_blocker_lines(tables: &Tables, node: &Node) -> Vec<String> {
    let own = tables
        .blockers()
        .filter(|row| row.task_id.as_deref() == Some(node.as_str()));
    own.take(BLOCKERS_MAX).map(blocker_line).collect()
}

fn blocker_line(row: &BlockerRow) -> String {
    let entry = row.entries.last().map(|row| &row.entry);
    let issue = entry.and_then(|entry| {
        entry
            .text_field("issue")
            .or(entry.text_field("description"))
    });
    let task = row.task_id.as_deref().or(row.spec.as_deref());
    match task {
        Some(task) => format!("{task}: {}", issue.unwrap_or("blocked")),
        None => issue.unwrap_or("something is blocked").to_owned(),
    }
}

/// What was done that the item, or what it is part of, waited for.
fn finished_needs(
    store: &dyn Store,
    tables: &Tables,
    run: RunId,
    node: &Node,
) -> Result<Vec<String>, StoreFault> {
    let line = tables.tree(run).filter(|item| node.is_within(&item.node));
    let on: Vec<Node> = line.flat_map(|item| item.plan.depends_on.clone()).collect();
    if on.is_empty() {
        return Ok(Vec::new());
    }
    let needs: Vec<Need> = on
        .iter()
        .map(|node| Need::Line(run, node.clone()))
        .collect();
    let rows = store.load_rows(&needs)?;
    let done = on.iter().filter_map(|node| rows.tables.item(run, node));
    Ok(done
        .filter(|item| item.state.is_finished())
        .map(|item| match &item.summary {
            Some(summary) => format!("{}: {summary}", item.node),
            None => item.node.to_string(),
        })
        .collect())
}
