//! What a file does not show yet: the rows that moved since it was written.

use piton_core::event::{AttemptEvent, MemoryEvent, SessionEvent};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use piton_core::call::AgentCall;
use piton_core::checkout::Checkout;
use piton_core::entry::EntryRow;
use piton_core::memory::{MemoryKind, MemoryRow};
use piton_core::{AttemptRow, Event, Need, Node, RunId, StreamId, Tables};
use piton_formats::native_file::{CRITERION, ShownRow};
use piton_formats::plan_format::PlanKind;
use piton_formats::project_format::ProjectFile;
use piton_formats::registry::plan_kind;
use piton_formats::title::criteria_of_item;

use crate::config::{Config, ShownAttempts};
use crate::failure::Failure;
use crate::session::Session;

/// How many events of a stream are read at once.
const PAGE: usize = 1_000;
/// At most so many calls are shown at once, the last ones: a file that is made
/// anew tells of the last days, not of all years.
const CALLS_SHOWN: usize = 1_000;

/// The rows that a file does not show yet, and how far it shows the streams
/// when it does.
pub(super) struct PendingRows {
    pub(super) rows: Vec<PendingRow>,
    /// The names of those that may stand in the file already, and changed since.
    pub(super) changed: BTreeSet<String>,
    pub(super) positions: BTreeMap<String, u64>,
    /// Agents started in the latest run.
    pub(super) iteration: Option<u64>,
}

/// A row that is to be shown.
pub(super) enum PendingRow {
    Entry(Box<EntryRow>),
    Attempt(Box<AttemptRow>),
    Memory(Box<MemoryRow>),
    Call(Box<AgentCall>),
}

impl PendingRows {
    pub(super) fn shown_rows(&self) -> Vec<ShownRow<'_>> {
        self.rows.iter().map(PendingRow::as_shown).collect()
    }
}

impl PendingRow {
    /// Whether it came about where no branch was checked out.
    pub(super) fn is_of_no_branch(&self) -> bool {
        self.checkout().is_some_and(|there| there.branch.is_none())
    }

    /// The branch on which it came about.
    pub(super) fn branch(&self) -> Option<&String> {
        self.checkout()?.branch.as_ref()
    }

    /// What was checked out when it came about, or was changed last.
    pub(super) fn checkout(&self) -> Option<&Checkout> {
        match self {
            Self::Entry(row) => row.checkout.as_ref(),
            Self::Attempt(row) => row.checkout.as_ref(),
            Self::Memory(row) => row.checkout.as_ref(),
            Self::Call(_) => None,
        }
    }

    /// What it is called in files; none for what has no name there.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Entry(row) => row.entry.name.as_deref(),
            Self::Attempt(row) => row.name.as_deref(),
            Self::Memory(row) if row.memory.kind == MemoryKind::Guardrail => {
                row.memory.title.as_deref()
            }
            Self::Memory(row) => Some(&row.id),
            Self::Call(_) => None,
        }
    }

    pub(super) fn as_shown(&self) -> ShownRow<'_> {
        match self {
            Self::Entry(row) => ShownRow::Entry(row),
            Self::Attempt(row) => ShownRow::Attempt(row),
            Self::Memory(row) => ShownRow::Memory(row),
            Self::Call(call) => ShownRow::Call(call),
        }
    }
}

/// What moved since a file showed the streams up to `positions`; everything
/// when it shows none. Calls are rows only for a file that shows them, and so
/// are the words of criteria.
pub(super) fn load_pending_rows(
    session: &Session<'_>,
    positions: &BTreeMap<String, u64>,
    file: &ProjectFile,
) -> Result<PendingRows, Failure> {
    let with_calls = file.calls;
    let mut now = BTreeMap::new();
    let mut wanted = ChangedRowKeys {
        with_calls,
        ..ChangedRowKeys::default()
    };
    for head in session.store.stream_heads()? {
        let name = head.stream.as_str().to_owned();
        if head.stream == StreamId::files() {
            continue;
        }
        let seen = positions.get(&name).copied().unwrap_or(0);
        // Calls are in no table: a file that shows all of them is made from the journal.
        let calls = with_calls && head.stream == StreamId::sessions();
        if head.count > seen && (calls || !positions.is_empty()) {
            wanted.read_stream(session, &head.stream, seen, head.count)?;
        }
        now.insert(name, head.count);
    }
    let all = positions.is_empty();
    let calls = std::mem::take(&mut wanted.calls);
    let needs = if all {
        vec![
            Need::RecentEntries(usize::MAX),
            Need::RecentAttempts(usize::MAX),
            Need::Memories(None),
            Need::Runs,
        ]
    } else {
        wanted.row_needs()
    };
    let rows = session.load(&needs)?;
    let attempts = Config::load(&session.project)?.faces.attempts;
    let mut fresh = collect_pending_rows(&rows.tables, attempts, calls);
    fresh.retain(|row| (file.shows)(&row.as_shown()));
    let changed = fresh.iter().filter(|row| wanted.has_changed(row));
    let changed = changed.map(|row| row.name().unwrap_or_default().to_owned());
    let changed = changed.collect();
    if file.criteria {
        fill_in_criteria(session, &mut fresh)?;
    }
    Ok(PendingRows {
        rows: fresh,
        changed,
        positions: now,
        iteration: latest_iteration(&rows.tables),
    })
}

/// Says in each entry about a criterion of a task file what its words are: its
/// node is only made of them.
fn fill_in_criteria(session: &Session<'_>, fresh: &mut [PendingRow]) -> Result<(), Failure> {
    let runs = session.runs()?;
    let task_files = runs
        .iter()
        .filter(|run| plan_kind(&run.plan.face) == PlanKind::Task);
    let by_name: BTreeMap<&str, RunId> = task_files.map(|run| (&*run.name, run.id)).collect();
    let item = |row: &EntryRow| -> Option<(RunId, Node)> {
        let run = by_name.get(row.entry.spec.as_deref()?)?;
        Some((*run, Node::from_text(row.entry.task_id.as_deref()?)))
    };
    let entries = fresh.iter().filter_map(|one| match one {
        PendingRow::Entry(row) => item(row),
        PendingRow::Attempt(_) | PendingRow::Memory(_) | PendingRow::Call(_) => None,
    });
    let wanted: BTreeSet<(RunId, Node)> = entries.collect();
    let needs = wanted.into_iter().map(|(run, node)| Need::Line(run, node));
    let rows = session.load(&needs.collect::<Vec<_>>())?;
    for one in fresh {
        let PendingRow::Entry(row) = one else {
            continue;
        };
        let found = item(row).and_then(|(run, node)| rows.tables.item(run, &node));
        let words = found.and_then(|item| criteria_of_item(item).into_iter().next());
        if let Some(words) = words {
            row.entry.data.insert(CRITERION.to_owned(), words.into());
        }
    }
    Ok(())
}

fn latest_iteration(tables: &Tables) -> Option<u64> {
    let runs = tables.runs().filter(|run| run.id != RunId::PROJECT);
    let latest = runs.max_by_key(|run| run.invocation.invoked_at)?;
    latest
        .invocation
        .invoked_at
        .map(|_| u64::from(latest.invocation.iterations_total))
}

/// Rows in the order in which they came about: entries, attempts and calls by time,
/// what is remembered by its number.
fn collect_pending_rows(
    tables: &Tables,
    attempts: ShownAttempts,
    calls: VecDeque<AgentCall>,
) -> Vec<PendingRow> {
    let mut fresh: Vec<(jiff::Timestamp, PendingRow)> = Vec::new();
    for row in tables.entries() {
        fresh.push((row.timestamp, PendingRow::Entry(Box::new(row.clone()))));
    }
    let is_shown = |row: &&AttemptRow| attempts == ShownAttempts::All || row.run == RunId::PROJECT;
    // One whose outcome waits for a check is still under way there.
    let is_over = |row: &&AttemptRow| row.report.is_some();
    for row in tables.attempts().filter(is_shown).filter(is_over) {
        if let Some(ended) = row.ended_at {
            fresh.push((ended, PendingRow::Attempt(Box::new(row.clone()))));
        }
    }
    for call in calls {
        fresh.push((
            call.at.unwrap_or_default(),
            PendingRow::Call(Box::new(call)),
        ));
    }
    fresh.sort_by_key(|(time, _)| *time);
    let mut fresh: Vec<PendingRow> = fresh.into_iter().map(|(_, row)| row).collect();
    let mut memory: Vec<&MemoryRow> = tables.memories().collect();
    memory.sort_by_key(|row| (row.memory.kind, row.number));
    fresh.extend(
        memory
            .into_iter()
            .map(|row| PendingRow::Memory(Box::new(row.clone()))),
    );
    fresh
}

/// The rows that some events changed, and of which of them they are the first.
#[derive(Default)]
struct ChangedRowKeys {
    entries: BTreeMap<u64, bool>,
    attempts: BTreeMap<piton_core::AttemptId, bool>,
    memory: BTreeMap<String, bool>,
    runs: BTreeSet<RunId>,
    with_calls: bool,
    calls: VecDeque<AgentCall>,
}

impl ChangedRowKeys {
    fn read_stream(
        &mut self,
        session: &Session<'_>,
        stream: &StreamId,
        seen: u64,
        count: u64,
    ) -> Result<(), Failure> {
        let mut at = seen;
        while at < count {
            let page = session.store.read_stream(stream, at, PAGE)?;
            let Some(last) = page.last() else { break };
            at = last.stamp.position;
            for record in &page {
                match record.decode_event() {
                    Ok(Event::Session(SessionEvent::CallNoted(noted))) => {
                        self.add_call(noted.call, record.stamp.time)
                    }
                    Ok(event) => self.add_event(&event, record.stamp.position),
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }

    fn add_call(&mut self, mut call: AgentCall, noted: jiff::Timestamp) {
        if !self.with_calls {
            return;
        }
        call.at.get_or_insert(noted);
        if self.calls.len() >= CALLS_SHOWN {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    fn add_event(&mut self, event: &Event, position: u64) {
        match event {
            Event::Session(SessionEvent::EntryLogged(_)) => {
                record_row(&mut self.entries, position, true)
            }
            Event::Session(SessionEvent::EntryRevised { position, .. }) => {
                record_row(&mut self.entries, *position, false)
            }
            // One whose outcome waited for its check was not shown before.
            Event::Attempt(
                AttemptEvent::Ended { attempt, run, .. }
                | AttemptEvent::Judged { attempt, run, .. },
            ) => {
                record_row(&mut self.attempts, *attempt, true);
                self.runs.insert(*run);
            }
            Event::Attempt(AttemptEvent::Reported(told)) => {
                record_row(&mut self.attempts, told.attempt, true)
            }
            Event::Attempt(AttemptEvent::Revised(told)) => {
                record_row(&mut self.attempts, told.attempt, false)
            }
            Event::Memory(MemoryEvent::Added(memory)) => self.add_memory(memory.id.iter(), true),
            Event::Memory(MemoryEvent::Revised(memory)) => self.add_memory(memory.id.iter(), false),
            Event::Memory(MemoryEvent::Retired { id, .. } | MemoryEvent::Confirmed { id, .. }) => {
                self.add_memory([id], false);
            }
            // How often it was used is shown; what came of it is not.
            Event::Memory(MemoryEvent::Used { ids, .. }) => self.add_memory(ids, false),
            Event::Memory(
                MemoryEvent::Judged { .. }
                | MemoryEvent::Endorsed { .. }
                | MemoryEvent::Reworded { .. },
            ) => {}
            Event::Run(_)
            | Event::Item(_)
            | Event::Unit(_)
            | Event::Attempt(AttemptEvent::Started { .. } | AttemptEvent::Answered { .. })
            | Event::Decision(_)
            | Event::Session(SessionEvent::BlockerResolved { .. } | SessionEvent::CallNoted(_))
            | Event::Notification(_)
            | Event::File(_) => {}
        }
    }

    fn add_memory<'i>(&mut self, ids: impl IntoIterator<Item = &'i String>, is_new: bool) {
        let ids = ids.into_iter().cloned();
        ids.for_each(|id| record_row(&mut self.memory, id, is_new));
    }

    /// Whether the events changed a row that was there before them.
    fn has_changed(&self, row: &PendingRow) -> bool {
        let is_new = match row {
            PendingRow::Entry(row) => self.entries.get(&row.position),
            PendingRow::Attempt(row) => self.attempts.get(&row.id),
            PendingRow::Memory(row) => self.memory.get(&row.id),
            PendingRow::Call(_) => None,
        };
        is_new == Some(&false)
    }

    fn row_needs(&self) -> Vec<Need> {
        let entries = self.entries.keys().copied().map(Need::Entry);
        let attempts = self.attempts.keys().copied().map(Need::Attempt);
        let memory = self.memory.keys().cloned().map(Need::Memory);
        let runs = self.runs.iter().copied().map(Need::Run);
        entries.chain(attempts).chain(memory).chain(runs).collect()
    }
}

/// Notes a row that an event changed, or is the first of.
fn record_row<K: Ord>(rows: &mut BTreeMap<K, bool>, key: K, is_new: bool) {
    *rows.entry(key).or_default() |= is_new;
}
