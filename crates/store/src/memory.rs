//! A store in memory: for tests and simulations.
//!
//! It keeps nothing on disk, and otherwise everything that [`crate::Store`]
//! promises. Clones share what is stored.

mod pick;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use piton_core::id::{CommandId, RunId, StreamId};
use piton_core::journal::{Record, Recorded};
use piton_core::memory::MemoryKind;
use piton_core::name::Naming;
use piton_core::recall::{Candidates, Query, TableIndex};
use piton_core::redact::Redactor;
use piton_core::standing::Standings;
use piton_core::{Command, Facts, Need, Rows, Tables, decide, needs};

use self::pick::pick;
use crate::audit::Audit;
use crate::clock::{Clock, SystemClock, whole_micros};
use crate::seal::{Heads, LeaseChange, Sealer, commit_time, empty_head, later, lease_change};
use crate::store::{CommitError, Committed, Cursor, Fault, Head, Store, Verdict};

/// A store in memory. Clones share what is stored.
#[derive(Clone)]
pub struct MemoryStore {
    kept: Arc<Mutex<Kept>>,
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Kept {
    tables: Tables,
    streams: BTreeMap<StreamId, Vec<Record>>,
    /// The events of each command, in the order in which they were stored.
    commands: HashMap<CommandId, Vec<Recorded>>,
    leases: BTreeMap<(RunId, u64), Timestamp>,
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
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A decision that panics has changed nothing yet.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn head(&self, stream: &StreamId) -> Head {
        let last = self.streams.get(stream).and_then(|records| records.last());
        last.map_or_else(|| empty_head(stream.clone()), head_of)
    }

    fn rows(&self, wanted: &[Need], now: Timestamp) -> Rows {
        let mut leases = BTreeMap::new();
        let mut standings = None;
        for need in wanted {
            if let Need::Leases(run) = need {
                let of_run = self.leases.range((*run, 0)..=(*run, u64::MAX));
                leases.extend(of_run.map(|((_, token), expires)| (*token, *expires)));
            }
            if let Need::Standings(run) = need {
                standings = Some(Standings::of_items(self.tables.tree(*run)));
            }
        }
        Rows {
            tables: pick(&self.tables, wanted, now),
            now,
            next_decision: self.tables.next_decision(),
            leases,
            standings,
            free_numbers: std::array::from_fn(|nth| self.tables.free_numbers(MemoryKind::ALL[nth])),
            naming: Naming::ALONE,
        }
    }

    fn keep(&mut self, recorded: &[Recorded]) {
        for Recorded { record, event } in recorded {
            self.tables.fold(event, &record.stamp);
            match lease_change(event, record.stamp.time) {
                Some(LeaseChange::Held(run, token, expires)) => {
                    self.leases.insert((run, token), expires);
                }
                Some(LeaseChange::Free(run, token)) => {
                    self.leases.remove(&(run, token));
                }
                None => {}
            }
            self.streams
                .entry(record.stream.clone())
                .or_default()
                .push(record.clone());
        }
    }
}

fn head_of(last: &Record) -> Head {
    Head {
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
        facts: &Facts,
    ) -> Result<Committed, CommitError> {
        let mut kept = self.kept();
        if let Some(events) = kept.commands.get(&id) {
            return Ok(Committed {
                events: events.clone(),
                repeated: true,
            });
        }
        let wanted = needs(command);
        let mut heads: Heads = wanted
            .streams
            .iter()
            .map(|stream| (stream.clone(), kept.head(stream)))
            .collect();
        let now = commit_time(&*self.clock, &heads);
        let rows = kept.rows(&wanted.rows, now);
        let drafts = decide(&rows, command, facts)?;
        let sealer = Sealer {
            clock: &*self.clock,
            redactor: &self.redactor,
            command: id,
            actor: &facts.actor,
            checkout: facts.checkout.as_ref(),
        };
        let events = sealer.seal(drafts, now, &mut heads);
        kept.keep(&events);
        if !events.is_empty() {
            kept.commands.insert(id, events.clone());
        }
        Ok(Committed {
            events,
            repeated: false,
        })
    }

    fn load(&self, needs: &[Need]) -> Result<Rows, Fault> {
        Ok(self.kept().rows(needs, whole_micros(self.clock.now())))
    }

    fn candidates(&self, query: &Query) -> Result<Candidates, Fault> {
        Ok(TableIndex::of(&self.kept().tables).candidates(query))
    }

    fn heads(&self) -> Result<Vec<Head>, Fault> {
        Ok(self
            .kept()
            .streams
            .values()
            .filter_map(|records| records.last())
            .map(head_of)
            .collect())
    }

    fn position(&self, stream: &StreamId) -> Result<u64, Fault> {
        Ok(self.kept().head(stream).count)
    }

    fn stream(&self, stream: &StreamId, after: u64, limit: usize) -> Result<Vec<Record>, Fault> {
        let kept = self.kept();
        let records = kept.streams.get(stream).map_or(&[][..], Vec::as_slice);
        let skipped = usize::try_from(after)
            .unwrap_or(usize::MAX)
            .min(records.len());
        Ok(records[skipped..].iter().take(limit).cloned().collect())
    }

    fn journal(&self, after: Option<&Cursor>, limit: usize) -> Result<Vec<Record>, Fault> {
        let kept = self.kept();
        let mut all: Vec<(Cursor, &Record)> = kept
            .streams
            .values()
            .flatten()
            .map(|record| {
                let cursor = Cursor {
                    time: record.stamp.time,
                    stream: record.stream.clone(),
                    position: record.stamp.position,
                };
                (cursor, record)
            })
            .filter(|(cursor, _)| after.is_none_or(|after| cursor > after))
            .collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(all
            .into_iter()
            .take(limit)
            .map(|(_, record)| record.clone())
            .collect())
    }

    fn heartbeat(&self, run: RunId, token: u64, ttl_s: u64) -> Result<bool, Fault> {
        let until = later(whole_micros(self.clock.now()), ttl_s);
        let mut kept = self.kept();
        let expires = kept.leases.get_mut(&(run, token));
        Ok(expires.map(|expires| *expires = until).is_some())
    }

    fn verify(&self) -> Result<Verdict, Fault> {
        let kept = self.kept();
        let mut audit = Audit::default();
        kept.streams
            .values()
            .flatten()
            .for_each(|record| audit.record(record));
        let heads: Vec<Head> = kept
            .streams
            .values()
            .filter_map(|records| records.last())
            .map(head_of)
            .collect();
        audit.heads(&heads);
        kept.tables.iter().for_each(|(_, row)| audit.row(row));
        Ok(audit.finish())
    }
}
