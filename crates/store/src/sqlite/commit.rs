//! The one way to write: decide on the rows as they are, append, fold.

use piton_core::event::MemoryEvent;
use std::cell::Cell;
use std::collections::BTreeMap;

use piton_core::id::{CommandId, StreamId, WriterId};
use piton_core::journal::{DecodedRecord, WriteRequest};
use piton_core::memory::Memory;
use piton_core::name::NameRange;
use piton_core::{
    CallerFacts, Command, Event, Key, apply_event, changed_keys, decide, needs_of_command,
};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::acknowledged::AcknowledgedHead;
use super::fault;
use super::journal::{append_events, events_of_command, parse_head, upsert_head, uuid_column};
use super::load::{LoadedRows, load_keys, load_rows};
use super::rows::{RowWriter, to_sqlite_integer};
use crate::failpoint;
use crate::seal::{
    CommitTime, Heads, LeaseChange, Sealer, commit_time, empty_head, lease_change_of_event,
};
use crate::store::{ClockJump, CommitError, CommitOutcome, FaultKind, StoreFault, StoreOptions};

/// So many rows are changed at a time.
const CHANGES_MAX: usize = 64;

/// The streams that may be appended to: their numbers, as far as they have one,
/// and their heads.
#[derive(Default)]
struct LockedStreams {
    ids: BTreeMap<StreamId, i64>,
    heads: Heads,
}

/// A commit within the write transaction that is open.
pub(super) struct CommitTransaction<'c> {
    pub(super) connection: &'c Connection,
    pub(super) options: &'c StoreOptions,
    pub(super) db: &'c std::path::Path,
    /// The last event that it stored.
    pub(super) last_event: Cell<Option<AcknowledgedHead>>,
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
        let wanted = needs_of_command(command);
        let mut locked = LockedStreams::default();
        let writer = self.lock_streams(id, &wanted.streams, &mut locked);
        let Some(writer) = writer.map_err(|error| self.write_fault(error))? else {
            return Ok(CommitOutcome {
                events: self.events_of_earlier_commit(id)?,
                repeated: true,
                jump: None,
            });
        };
        let CommitTime { time: now, jump } = commit_time(&*self.options.clock, &locked.heads);
        let loaded = load_rows(self.connection, &wanted.rows, now)
            .map_err(|error| self.write_fault(error))?;
        let drafts = decide(&loaded.rows, command, facts)?;
        failpoint::point("commit.decided");
        wanted.check_streams(&drafts);
        let mut undeclared: Vec<StreamId> =
            drafts.iter().map(|draft| draft.stream.clone()).collect();
        undeclared.retain(|stream| !locked.heads.contains_key(stream));
        if !undeclared.is_empty() {
            self.lock_streams(id, &undeclared, &mut locked)
                .map_err(|error| self.write_fault(error))?;
        }
        let sealer = Sealer {
            clock: &*self.options.clock,
            redactor: &self.options.redactor,
            request: WriteRequest {
                command: id,
                writer,
            },
            actor: &facts.actor,
            checkout: facts.checkout.as_ref(),
        };
        let events = sealer.seal(drafts, now, &mut locked.heads);
        self.store_events(&events, &mut locked, &loaded)
            .map_err(|error| self.write_fault(error))?;
        let jump = jump.map_or(Ok(None), |jump| self.note_jump(jump));
        Ok(CommitOutcome {
            events,
            repeated: false,
            jump: jump.map_err(|error| self.write_fault(error))?,
        })
    }

    /// Notes that the clock jumped; none where that was said before.
    fn note_jump(&self, jump: ClockJump) -> rusqlite::Result<Option<ClockJump>> {
        // With leading zeros bytes are in the order of the numbers.
        let sql = "INSERT INTO meta (name, value) \
                   SELECT 'clock-jump', CAST(printf('%020d', max(?1, time)) AS BLOB) \
                   FROM (SELECT max(time) AS time FROM streams) WHERE true \
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value \
                   WHERE value < CAST(printf('%020d', ?1) AS BLOB)";
        let noted = self
            .connection
            .execute(sql, [jump.event.as_microsecond()])?;
        Ok((noted > 0).then_some(jump))
    }

    /// What an earlier commit with this id stored.
    fn events_of_earlier_commit(&self, id: CommandId) -> Result<Vec<DecodedRecord>, CommitError> {
        let records =
            events_of_command(self.connection, id).map_err(|error| self.write_fault(error))?;
        let read = |record: piton_core::journal::Record| {
            let event = record.decode_event().map_err(|error| {
                let what = format!("cannot repeat what command {id} stored");
                CommitError::Fault(StoreFault::new(FaultKind::Newer, what, error))
            })?;
            Ok(DecodedRecord { record, event })
        };
        // A tombstone has nothing to say, and is stored all the same.
        let whole = records.into_iter().filter(|record| !record.is_tombstone());
        whole.map(read).collect()
    }

    /// Reads the heads of the streams, and the id under which the store writes: none
    /// where the command was carried out before.
    fn lock_streams(
        &self,
        id: CommandId,
        streams: &[StreamId],
        locked: &mut LockedStreams,
    ) -> rusqlite::Result<Option<WriterId>> {
        let heads = " UNION ALL SELECT id, count, hash, time, name FROM streams WHERE name = +?";
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM events WHERE command = +?), NULL, \
             (SELECT value FROM meta WHERE name = 'writer'), NULL, NULL{}",
            heads.repeat(streams.len())
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let id = Value::Blob(id.0.as_bytes().to_vec());
        let names = streams.iter().map(|stream| Value::Text(stream.to_string()));
        let mut found = statement.query(params_from_iter(std::iter::once(id).chain(names)))?;
        let mut writer = None;
        while let Some(row) = found.next()? {
            let Some(name) = row.get::<_, Option<String>>(4)? else {
                if row.get(0)? {
                    return Ok(None);
                }
                writer = Some(WriterId(uuid_column(row, 2)?));
                continue;
            };
            let stream = StreamId::from_stored(name);
            locked.ids.insert(stream.clone(), row.get(0)?);
            locked
                .heads
                .insert(stream.clone(), parse_head(stream, row)?);
        }
        for stream in streams {
            let new = || empty_head(stream.clone());
            locked.heads.entry(stream.clone()).or_insert_with(new);
        }
        Ok(writer)
    }

    fn store_events(
        &self,
        events: &[DecodedRecord],
        locked: &mut LockedStreams,
        loaded: &LoadedRows,
    ) -> rusqlite::Result<()> {
        let LockedStreams { ids, heads } = locked;
        for (stream, head) in heads {
            if events.iter().any(|event| event.record.stream == *stream) {
                let id = upsert_head(self.connection, ids.get(stream).copied(), head)?;
                ids.insert(stream.clone(), id);
            }
        }
        failpoint::point("commit.head");
        let records = events.iter().map(|event| &event.record);
        let records = records.map(|record| (ids[&record.stream], record));
        append_events(self.connection, records)?;
        let seq = self.connection.last_insert_rowid().cast_unsigned();
        let last = events.last().map(|event| &event.record);
        self.last_event
            .set(last.and_then(|record| AcknowledgedHead::of_record(seq, record)));
        for DecodedRecord { record, event } in events {
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
    /// however many of the events change it, and a few rows are held at a time.
    fn fold_into_views(
        &self,
        events: &[DecodedRecord],
        loaded: &LoadedRows,
    ) -> rusqlite::Result<()> {
        let mut changes: BTreeMap<Key, Vec<&DecodedRecord>> = BTreeMap::new();
        for recorded in events {
            for key in changed_keys(&recorded.event, &recorded.record.stamp) {
                changes.entry(key).or_default().push(recorded);
            }
        }
        let changes: Vec<(Key, Vec<&DecodedRecord>)> = changes.into_iter().collect();
        let mut writer = RowWriter::new(self.connection);
        for some in changes.chunks(CHANGES_MAX) {
            let keys = some.iter().map(|(key, _)| key);
            let stored = load_keys(self.connection, keys.filter(|key| !loaded.knows(key)))?;
            for (key, events) in some {
                let before = loaded.rows.tables.get(key).or_else(|| stored.get(key));
                let now = events.iter().fold(before.cloned(), |row, recorded| {
                    apply_event(key, row, &recorded.event, &recorded.record.stamp)
                });
                writer.update_row(key, before, now.as_ref())?;
            }
        }
        writer.finish()
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
