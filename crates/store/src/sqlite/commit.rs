//! The one way to write: decide on the rows as they are, append, fold.

use piton_core::event::MemoryEvent;
use std::collections::BTreeMap;

use piton_core::id::{CommandId, StreamId};
use piton_core::journal::DecodedRecord;
use piton_core::memory::Memory;
use piton_core::name::NameRange;
use piton_core::{
    CallerFacts, Command, Event, Key, Tables, apply_event, changed_keys, decide, needs_of_command,
};
use rusqlite::{Connection, params};

use super::journal::{append_event, events_of_command, find_head, upsert_head};
use super::load::load_rows;
use super::rows::{find_row, to_sqlite_integer, update_row};
use super::{StoreOptions, fault};
use crate::failpoint;
use crate::seal::{Heads, LeaseChange, Sealer, commit_time, empty_head, lease_change_of_event};
use crate::store::{CommitError, CommitOutcome, FaultKind, StoreFault};

/// A commit within the write transaction that is open.
pub(super) struct CommitTransaction<'c> {
    pub(super) connection: &'c Connection,
    pub(super) options: &'c StoreOptions,
    pub(super) db: &'c std::path::Path,
}

impl CommitTransaction<'_> {
    fn write_fault(&self, error: rusqlite::Error) -> CommitError {
        CommitError::Fault(fault::sqlite_fault("write", self.db, error))
    }

    /// Decides and stores; nothing is durable before the transaction is.
    pub(super) fn decide_and_store(
        &self,
        id: CommandId,
        command: &Command,
        facts: &CallerFacts,
    ) -> Result<CommitOutcome, CommitError> {
        if let Some(events) = self.events_of_earlier_commit(id)? {
            return Ok(CommitOutcome {
                events,
                repeated: true,
            });
        }
        let wanted = needs_of_command(command);
        let (mut ids, mut heads) = (BTreeMap::new(), Heads::new());
        for stream in &wanted.streams {
            self.lock_stream(stream, &mut ids, &mut heads)?;
        }
        let now = commit_time(&*self.options.clock, &heads);
        let rows = load_rows(self.connection, &wanted.rows, now)
            .map_err(|error| self.write_fault(error))?;
        let drafts = decide(&rows, command, facts)?;
        failpoint::point("commit.decided");
        for draft in &drafts {
            self.lock_stream(&draft.stream, &mut ids, &mut heads)?;
        }
        let sealer = Sealer {
            clock: &*self.options.clock,
            redactor: &self.options.redactor,
            command: id,
            actor: &facts.actor,
            checkout: facts.checkout.as_ref(),
        };
        let events = sealer.seal(drafts, now, &mut heads);
        self.store_events(&events, &mut ids, &heads, &rows.tables)
            .map_err(|error| self.write_fault(error))?;
        Ok(CommitOutcome {
            events,
            repeated: false,
        })
    }

    /// What an earlier commit with this id stored.
    fn events_of_earlier_commit(
        &self,
        id: CommandId,
    ) -> Result<Option<Vec<DecodedRecord>>, CommitError> {
        let records =
            events_of_command(self.connection, id).map_err(|error| self.write_fault(error))?;
        if records.is_empty() {
            return Ok(None);
        }
        let read = |record: piton_core::journal::Record| {
            let event = record.decode_event().map_err(|error| {
                let what = format!("cannot repeat what command {id} stored");
                CommitError::Fault(StoreFault::new(FaultKind::Newer, what, error))
            })?;
            Ok(DecodedRecord { record, event })
        };
        records
            .into_iter()
            .map(read)
            .collect::<Result<_, CommitError>>()
            .map(Some)
    }

    fn lock_stream(
        &self,
        stream: &StreamId,
        ids: &mut BTreeMap<StreamId, i64>,
        heads: &mut Heads,
    ) -> Result<(), CommitError> {
        if heads.contains_key(stream) {
            return Ok(());
        }
        match find_head(self.connection, stream).map_err(|error| self.write_fault(error))? {
            Some((id, head)) => {
                ids.insert(stream.clone(), id);
                heads.insert(stream.clone(), head);
            }
            None => {
                heads.insert(stream.clone(), empty_head(stream.clone()));
            }
        }
        Ok(())
    }

    fn store_events(
        &self,
        events: &[DecodedRecord],
        ids: &mut BTreeMap<StreamId, i64>,
        heads: &Heads,
        loaded: &Tables,
    ) -> rusqlite::Result<()> {
        for (stream, head) in heads {
            if events.iter().any(|event| event.record.stream == *stream) {
                let id = upsert_head(self.connection, ids.get(stream).copied(), head)?;
                ids.insert(stream.clone(), id);
            }
        }
        failpoint::point("commit.head");
        for DecodedRecord { record, event } in events {
            append_event(self.connection, ids[&record.stream], record)?;
            if let Some(change) = lease_change_of_event(event, record.stamp.time) {
                self.apply_lease_change(&change)?;
            }
            if let Event::Memory(MemoryEvent::Added(memory)) = event {
                self.record_memory_number(memory)?;
            }
            failpoint::point("commit.event");
        }
        self.fold_into_views(events, loaded)?;
        failpoint::point("commit.views");
        Ok(())
    }

    /// Brings the views up to date: each row is read once and written once,
    /// however many of the events change it, and one row is held at a time.
    fn fold_into_views(&self, events: &[DecodedRecord], loaded: &Tables) -> rusqlite::Result<()> {
        let mut changes: BTreeMap<Key, Vec<&DecodedRecord>> = BTreeMap::new();
        for recorded in events {
            for key in changed_keys(&recorded.event, &recorded.record.stamp) {
                changes.entry(key).or_default().push(recorded);
            }
        }
        for (key, events) in changes {
            let before = match loaded.get(&key) {
                Some(row) => Some(row.clone()),
                None => find_row(self.connection, &key)?,
            };
            let now = events.into_iter().fold(before.clone(), |row, recorded| {
                apply_event(&key, row, &recorded.event, &recorded.record.stamp)
            });
            update_row(self.connection, &key, before.as_ref(), now.as_ref())?;
        }
        Ok(())
    }

    /// Notes that the number of a memory is taken.
    fn record_memory_number(&self, memory: &Memory) -> rusqlite::Result<()> {
        let id = memory.id.as_deref().unwrap_or_default();
        let Some(given) = memory.kind.parse_number(id) else {
            return Ok(());
        };
        let kind = memory.kind.as_str();
        let (first, next): (i64, i64) = self
            .connection
            .prepare_cached("SELECT first, next FROM numbers WHERE kind = ?1")?
            .query_row([kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let naming = NameRange {
            first: first.cast_unsigned(),
        };
        let after = naming.next_number(next.cast_unsigned(), given);
        if after != next.cast_unsigned() {
            self.connection
                .prepare_cached("UPDATE numbers SET next = ?2 WHERE kind = ?1")?
                .execute(params![kind, after.cast_signed()])?;
        }
        Ok(())
    }

    fn apply_lease_change(&self, change: &LeaseChange) -> rusqlite::Result<()> {
        match change {
            LeaseChange::Held(run, token, expires) => {
                let sql = "INSERT INTO leases (run, token, expires) VALUES (?1, ?2, ?3) \
                           ON CONFLICT (run, token) DO UPDATE SET expires = excluded.expires";
                let run = run.0.as_bytes().as_slice();
                self.connection.prepare_cached(sql)?.execute(params![
                    run,
                    to_sqlite_integer(*token),
                    expires.as_microsecond()
                ])?;
            }
            LeaseChange::Free(run, token) => {
                let mut delete = self
                    .connection
                    .prepare_cached("DELETE FROM leases WHERE run = ?1 AND token = ?2")?;
                delete.execute(params![
                    run.0.as_bytes().as_slice(),
                    to_sqlite_integer(*token)
                ])?;
            }
        }
        Ok(())
    }
}
