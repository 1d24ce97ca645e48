//! A store in memory: for tests and simulations.
//!
//! It keeps nothing on disk, and otherwise everything that [`crate::Store`]
//! promises. Clones share what is stored.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use jiff::Timestamp;
use piton_core::id::{CommandId, RunId, StreamId, WriterId};
use piton_core::journal::{BodyRemoval, DecodedRecord, Record, WriteRequest};
use piton_core::memory::MemoryKind;
use piton_core::name::NameRange;
use piton_core::recall::{CandidateSet, Query, TableIndex};
use piton_core::redact::Redactor;
use piton_core::standing::StandingCounts;
use piton_core::{CallerFacts, Command, Draft, Need, Rows, Tables, decide, needs_of_command};
use uuid::Uuid;

use crate::audit::Audit;
use crate::clock::{Clock, SystemClock, truncate_to_micros};
use crate::seal::{
    CommitTime, Heads, LeaseChange, Sealer, commit_time, empty_head, lease_change_of_event,
    seconds_after,
};
use crate::sqlite::SCHEMA_VERSION;
use crate::store::{
    CommitError, CommitOutcome, Cursor, FaultKind, Store, StoreFault, StoreInfo, StreamHead,
    UnreadableEvent, VerifyReport, search_event_before,
};

/// A store in memory. Clones share what is stored.
#[derive(Clone)]
pub struct MemoryStore {
    kept: Arc<Mutex<MemoryState>>,
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
    writer: WriterId,
}

#[derive(Default)]
struct MemoryState {
    tables: Tables,
    streams: BTreeMap<StreamId, Vec<Record>>,
    /// The events of each command, in the order in which they were stored.
    commands: HashMap<CommandId, Vec<DecodedRecord>>,
    leases: BTreeMap<(RunId, u64), Timestamp>,
    /// All events in the order in which they were stored.
    order: Vec<Cursor>,
    /// Up to which time it was said that the clock jumped.
    jump_told: Option<Timestamp>,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl Default for MemoryStore {
    /// An empty store with the machine's clock, which knows the forms of secrets.
    fn default() -> Self {
        Self::new(Redactor::rules_only(), Arc::new(SystemClock))
    }
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(redactor: Redactor, clock: Arc<dyn Clock>) -> Self {
        Self {
            kept: Arc::default(),
            redactor: Arc::new(redactor),
            clock,
            writer: WriterId(Uuid::now_v7()),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, MemoryState> {
        // A decision that panics has changed nothing yet.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryState {
    fn stream_head(&self, stream: &StreamId) -> StreamHead {
        let last = self.streams.get(stream).and_then(|records| records.last());
        last.map_or_else(|| empty_head(stream.clone()), head_of_record)
    }

    fn record(&self, at: &Cursor) -> &Record {
        let nth = usize::try_from(at.position - 1).expect("it is in memory");
        &self.streams[&at.stream][nth]
    }

    fn select_rows(&self, wanted: &[Need], now: Timestamp) -> Rows {
        let mut leases = BTreeMap::new();
        let mut standings = None;
        for need in wanted {
            if let Need::Leases(run) = need {
                let of_run = self.leases.range((*run, 0)..=(*run, u64::MAX));
                leases.extend(of_run.map(|((_, token), expires)| (*token, *expires)));
            }
            if let Need::Standings(run) = need {
                standings = Some(StandingCounts::count_items(self.tables.tree(*run)));
            }
        }
        Rows {
            tables: self.tables.select_rows(wanted, now),
            now,
            next_decision: self.tables.next_decision_number(),
            leases,
            standings,
            free_numbers: std::array::from_fn(|nth| self.tables.free_numbers(MemoryKind::ALL[nth])),
            naming: NameRange::ALONE,
        }
    }

    /// Folds all events anew; false, and nothing is changed, where one is unknown.
    fn rebuild_views(&mut self) -> bool {
        let mut tables = Tables::default();
        let records = self.streams.values().flatten();
        for record in records.filter(|record| !record.is_tombstone()) {
            let Ok(event) = record.decode_event() else {
                return false;
            };
            tables.fold(&event, &record.stamp);
        }
        self.tables = tables;
        true
    }

    fn append_events(&mut self, recorded: &[DecodedRecord]) {
        for DecodedRecord { record, event } in recorded {
            self.tables.fold(event, &record.stamp);
            match lease_change_of_event(event, record.stamp.time) {
                Some(LeaseChange::Held(run, token, expires)) => {
                    self.leases.insert((run, token), expires);
                }
                Some(LeaseChange::Free(run, token)) => {
                    self.leases.remove(&(run, token));
                }
                None => {}
            }
            self.order.push(Cursor::from(record));
            self.streams
                .entry(record.stream.clone())
                .or_default()
                .push(record.clone());
        }
    }
}

fn head_of_record(last: &Record) -> StreamHead {
    StreamHead {
        stream: last.stream.clone(),
        count: last.stamp.position,
        hash: last.hash,
        time: last.stamp.time,
    }
}

impl Store for MemoryStore {
    fn commit(
        &self,
        id: CommandId,
        command: &Command,
        facts: &CallerFacts,
    ) -> Result<CommitOutcome, CommitError> {
        let mut kept = self.lock_state();
        if let Some(events) = kept.commands.get(&id) {
            return Ok(CommitOutcome {
                events: events.clone(),
                repeated: true,
                jump: None,
            });
        }
        let wanted = needs_of_command(command);
        let mut heads: Heads = wanted
            .streams
            .iter()
            .map(|stream| (stream.clone(), kept.stream_head(stream)))
            .collect();
        let CommitTime { time: now, jump } = commit_time(&*self.clock, &heads);
        let rows = kept.select_rows(&wanted.rows, now);
        let drafts = decide(&rows, command, facts)?;
        wanted.check_streams(&drafts);
        for Draft { stream, .. } in &drafts {
            let head = || kept.stream_head(stream);
            heads.entry(stream.clone()).or_insert_with(head);
        }
        let sealer = Sealer {
            clock: &*self.clock,
            redactor: &self.redactor,
            request: WriteRequest {
                command: id,
                writer: self.writer,
            },
            actor: &facts.actor,
            checkout: facts.checkout.as_ref(),
        };
        let events = sealer.seal(drafts, now, &mut heads);
        kept.append_events(&events);
        if !events.is_empty() {
            kept.commands.insert(id, events.clone());
        }
        let jump = jump.filter(|jump| kept.jump_told.is_none_or(|told| told < jump.event));
        if jump.is_some() {
            let heads = kept.streams.values().filter_map(|records| records.last());
            kept.jump_told = heads
                .map(|last| last.stamp.time)
                .chain(jump.map(|jump| jump.event))
                .max();
        }
        Ok(CommitOutcome {
            events,
            repeated: false,
            jump,
        })
    }

    fn load_rows(&self, needs: &[Need]) -> Result<Rows, StoreFault> {
        Ok(self
            .lock_state()
            .select_rows(needs, truncate_to_micros(self.clock.now())))
    }

    fn recall_candidates(&self, query: &Query) -> Result<CandidateSet, StoreFault> {
        Ok(TableIndex::from_tables(&self.lock_state().tables).find_candidates(query))
    }

    fn stream_heads(&self) -> Result<Vec<StreamHead>, StoreFault> {
        Ok(self
            .lock_state()
            .streams
            .values()
            .filter_map(|records| records.last())
            .map(head_of_record)
            .collect())
    }

    fn event_count(&self, stream: &StreamId) -> Result<u64, StoreFault> {
        Ok(self.lock_state().stream_head(stream).count)
    }

    fn read_stream(
        &self,
        stream: &StreamId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreFault> {
        let kept = self.lock_state();
        let records = kept.streams.get(stream).map_or(&[][..], Vec::as_slice);
        let skipped = usize::try_from(after)
            .unwrap_or(usize::MAX)
            .min(records.len());
        Ok(records[skipped..].iter().take(limit).cloned().collect())
    }

    fn read_journal(
        &self,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Vec<Record>, StoreFault> {
        let kept = self.lock_state();
        let found = after.map_or(Some(0), |after| {
            let found = kept.order.iter().position(|cursor| cursor == after);
            found.map(|before| before + 1)
        });
        let begin = found.ok_or_else(|| {
            let what = format!("there is no event {after:?}");
            StoreFault::new(
                FaultKind::Damaged,
                what,
                io::Error::from(io::ErrorKind::NotFound),
            )
        })?;
        let cursors = kept.order[begin..].iter().take(limit);
        Ok(cursors.map(|cursor| kept.record(cursor).clone()).collect())
    }

    fn find_event_before(&self, time: Timestamp) -> Result<Option<Cursor>, StoreFault> {
        let kept = self.lock_state();
        let newest_first = kept.order.iter().rev();
        let timed = newest_first.map(|cursor| Ok((kept.record(cursor).stamp.time, cursor.clone())));
        search_event_before(timed, time)
    }

    fn salvage_journal(
        &self,
        each: &mut dyn FnMut(Result<Record, UnreadableEvent>) -> ControlFlow<()>,
    ) -> Result<(), StoreFault> {
        let records = self.read_journal(None, usize::MAX)?;
        match records.into_iter().map(Ok).try_for_each(each) {
            ControlFlow::Continue(()) | ControlFlow::Break(()) => Ok(()),
        }
    }

    fn heartbeat(&self, run: RunId, token: u64, ttl_s: u64) -> Result<bool, StoreFault> {
        let until = seconds_after(truncate_to_micros(self.clock.now()), ttl_s);
        let mut kept = self.lock_state();
        let expires = kept.leases.get_mut(&(run, token));
        Ok(expires.map(|expires| *expires = until).is_some())
    }

    fn verify(&self) -> Result<VerifyReport, StoreFault> {
        let kept = self.lock_state();
        let mut audit = Audit::default();
        kept.streams
            .values()
            .flatten()
            .for_each(|record| audit.check_record(record));
        let heads: Vec<StreamHead> = kept
            .streams
            .values()
            .filter_map(|records| records.last())
            .map(head_of_record)
            .collect();
        audit.check_heads(&heads);
        kept.tables.iter().for_each(|(_, row)| audit.check_row(row));
        Ok(audit.finish())
    }

    fn rebuild_views(&self) -> Result<bool, StoreFault> {
        Ok(self.lock_state().rebuild_views())
    }

    fn replace_body_with_tombstone(
        &self,
        stream: &StreamId,
        position: u64,
    ) -> Result<BodyRemoval, StoreFault> {
        let mut kept = self.lock_state();
        let records = kept.streams.get_mut(stream);
        let mut records = records.into_iter().flatten();
        let Some(record) = records.find(|record| record.stamp.position == position) else {
            return Ok(BodyRemoval::NoSuchEvent);
        };
        *record = match record.without_body() {
            Ok(tombstone) => tombstone,
            Err(refused) => return Ok(refused),
        };
        let (command, id) = (record.command, record.stamp.id);
        if let Some(events) = kept.commands.get_mut(&command) {
            events.retain(|event| event.record.stamp.id != id);
        }
        let is_understood = kept.rebuild_views();
        assert!(is_understood, "this store holds what this program wrote");
        Ok(BodyRemoval::Removed)
    }

    fn info(&self) -> Result<StoreInfo, StoreFault> {
        let kept = self.lock_state();
        let count = |counted: usize| counted as u64;
        Ok(StoreInfo {
            path: PathBuf::from("memory"),
            bytes: 0,
            wal_bytes: 0,
            schema_version: SCHEMA_VERSION,
            database_version: String::new(),
            events: kept
                .streams
                .values()
                .map(|records| count(records.len()))
                .sum(),
            streams: count(kept.streams.len()),
            runs: count(kept.tables.runs().count()),
            entries: count(kept.tables.entries().count()),
            copy: false,
        })
    }

    fn backup(&self, to: &Path) -> Result<VerifyReport, StoreFault> {
        let what = format!("cannot copy a store in memory to {}", to.display());
        Err(StoreFault::without_source(FaultKind::Io, what))
    }
}
