//! The one way to write: decide on the rows as they are, append, fold.

use std::collections::BTreeMap;

use piton_core::id::{CommandId, StreamId};
use piton_core::journal::Recorded;
use piton_core::memory::Memory;
use piton_core::name::Naming;
use piton_core::{Command, Event, Facts, Key, Tables, apply, decide, needs, views};
use rusqlite::{Connection, params};

use super::journal::{append, head, of_command, put_head};
use super::load::load;
use super::rows::{change, get, number};
use super::{Options, fault};
use crate::fail;
use crate::seal::{Heads, LeaseChange, Sealer, commit_time, empty_head, lease_change};
use crate::store::{CommitError, Committed, Fault, FaultKind};

/// A commit within the write transaction that is open.
pub(super) struct Commit<'c> {
    pub(super) connection: &'c Connection,
    pub(super) options: &'c Options,
    pub(super) db: &'c std::path::Path,
}

impl Commit<'_> {
    fn fault(&self, error: rusqlite::Error) -> CommitError {
        CommitError::Fault(fault::fault("write", self.db, error))
    }

    /// Decides and stores; nothing is durable before the transaction is.
    pub(super) fn run(
        &self,
        id: CommandId,
        command: &Command,
        facts: &Facts,
    ) -> Result<Committed, CommitError> {
        if let Some(events) = self.earlier(id)? {
            return Ok(Committed {
                events,
                repeated: true,
            });
        }
        let wanted = needs(command);
        let (mut ids, mut heads) = (BTreeMap::new(), Heads::new());
        for stream in &wanted.streams {
            self.lock(stream, &mut ids, &mut heads)?;
        }
        let now = commit_time(&*self.options.clock, &heads);
        let rows = load(self.connection, &wanted.rows, now).map_err(|error| self.fault(error))?;
        let drafts = decide(&rows, command, facts)?;
        fail::point("commit.decided");
        for draft in &drafts {
            self.lock(&draft.stream, &mut ids, &mut heads)?;
        }
        let sealer = Sealer {
            clock: &*self.options.clock,
            redactor: &self.options.redactor,
            command: id,
            actor: &facts.actor,
            checkout: facts.checkout.as_ref(),
        };
        let events = sealer.seal(drafts, now, &mut heads);
        self.store(&events, &mut ids, &heads, &rows.tables)
            .map_err(|error| self.fault(error))?;
        Ok(Committed {
            events,
            repeated: false,
        })
    }

    /// What an earlier commit with this id stored.
    fn earlier(&self, id: CommandId) -> Result<Option<Vec<Recorded>>, CommitError> {
        let records = of_command(self.connection, id).map_err(|error| self.fault(error))?;
        if records.is_empty() {
            return Ok(None);
        }
        let read = |record: piton_core::journal::Record| {
            let event = record.event().map_err(|error| {
                let what = format!("cannot repeat what command {id} stored");
                CommitError::Fault(Fault::new(FaultKind::Newer, what, error))
            })?;
            Ok(Recorded { record, event })
        };
        records
            .into_iter()
            .map(read)
            .collect::<Result<_, CommitError>>()
            .map(Some)
    }

    fn lock(
        &self,
        stream: &StreamId,
        ids: &mut BTreeMap<StreamId, i64>,
        heads: &mut Heads,
    ) -> Result<(), CommitError> {
        if heads.contains_key(stream) {
            return Ok(());
        }
        match head(self.connection, stream).map_err(|error| self.fault(error))? {
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

    fn store(
        &self,
        events: &[Recorded],
        ids: &mut BTreeMap<StreamId, i64>,
        heads: &Heads,
        loaded: &Tables,
    ) -> rusqlite::Result<()> {
        for (stream, head) in heads {
            if events.iter().any(|event| event.record.stream == *stream) {
                let id = put_head(self.connection, ids.get(stream).copied(), head)?;
                ids.insert(stream.clone(), id);
            }
        }
        fail::point("commit.head");
        for Recorded { record, event } in events {
            append(self.connection, ids[&record.stream], record)?;
            if let Some(change) = lease_change(event, record.stamp.time) {
                self.change_lease(&change)?;
            }
            if let Event::MemoryAdded(memory) = event {
                self.give_out_number(memory)?;
            }
            fail::point("commit.event");
        }
        self.fold(events, loaded)?;
        fail::point("commit.views");
        Ok(())
    }

    /// Brings the views up to date: each row is read once and written once,
    /// however many of the events change it, and one row is held at a time.
    fn fold(&self, events: &[Recorded], loaded: &Tables) -> rusqlite::Result<()> {
        let mut changes: BTreeMap<Key, Vec<&Recorded>> = BTreeMap::new();
        for recorded in events {
            for key in views(&recorded.event, &recorded.record.stamp) {
                changes.entry(key).or_default().push(recorded);
            }
        }
        for (key, events) in changes {
            let before = match loaded.get(&key) {
                Some(row) => Some(row.clone()),
                None => get(self.connection, &key)?,
            };
            let now = events.into_iter().fold(before.clone(), |row, recorded| {
                apply(&key, row, &recorded.event, &recorded.record.stamp)
            });
            change(self.connection, &key, before.as_ref(), now.as_ref())?;
        }
        Ok(())
    }

    /// Notes that the number of a memory is taken.
    fn give_out_number(&self, memory: &Memory) -> rusqlite::Result<()> {
        let id = memory.id.as_deref().unwrap_or_default();
        let Some(given) = memory.kind.number(id) else {
            return Ok(());
        };
        let kind = memory.kind.as_str();
        let (first, next): (i64, i64) = self
            .connection
            .prepare_cached("SELECT first, next FROM numbers WHERE kind = ?1")?
            .query_row([kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let naming = Naming {
            first: first.cast_unsigned(),
        };
        let after = naming.after(next.cast_unsigned(), given);
        if after != next.cast_unsigned() {
            self.connection
                .prepare_cached("UPDATE numbers SET next = ?2 WHERE kind = ?1")?
                .execute(params![kind, after.cast_signed()])?;
        }
        Ok(())
    }

    fn change_lease(&self, change: &LeaseChange) -> rusqlite::Result<()> {
        match change {
            LeaseChange::Held(run, token, expires) => {
                let sql = "INSERT INTO leases (run, token, expires) VALUES (?1, ?2, ?3) \
                           ON CONFLICT (run, token) DO UPDATE SET expires = excluded.expires";
                let run = run.0.as_bytes().as_slice();
                self.connection.prepare_cached(sql)?.execute(params![
                    run,
                    number(*token),
                    expires.as_microsecond()
                ])?;
            }
            LeaseChange::Free(run, token) => {
                let mut delete = self
                    .connection
                    .prepare_cached("DELETE FROM leases WHERE run = ?1 AND token = ?2")?;
                delete.execute(params![run.0.as_bytes().as_slice(), number(*token)])?;
            }
        }
        Ok(())
    }
}
