//! A project in memory: a store with a clock that is moved by hand, ids that
//! are counted, and what the project remembers.

use piton_core::event::MemoryEvent;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use piton_core::memory::{Memory, MemoryRow};
use piton_core::redact::Redactor;
use piton_core::{
    Actor, CallerFacts, Command, CommandId, DecisionId, DecodedRecord, Event, EventId,
    HolderLiveness, Need, Refusal,
};
use piton_store::{Clock, CommitError, MemoryStore, Store};
use uuid::Uuid;

use crate::Result;
use crate::recall::data;

/// The time, and the ids of events.
struct HandClock {
    at: Mutex<(Timestamp, u128)>,
}

impl HandClock {
    fn with<T>(&self, change: impl FnOnce(&mut (Timestamp, u128)) -> T) -> T {
        change(&mut self.at.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        self.with(|at| at.0)
    }

    fn event_id(&self, _: Timestamp, _: u32) -> EventId {
        EventId(self.with(|at| {
            at.1 += 1;
            Uuid::from_u128(at.1)
        }))
    }
}

/// A project in memory.
pub struct World {
    /// What is stored.
    pub store: MemoryStore,
    clock: Arc<HandClock>,
    news: Vec<DecodedRecord>,
    ids: u128,
}

/// Who asks for something.
#[derive(Clone, Copy)]
pub enum Asker {
    /// The runner.
    Runner,
    /// The person in charge, while the runner waits.
    Person,
}

impl World {
    /// A project in which nothing has happened.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let clock = Arc::new(HandClock {
            at: Mutex::new((now, 0)),
        });
        Self {
            store: MemoryStore::new(Redactor::rules_only(), clock.clone()),
            clock,
            news: Vec::new(),
            ids: 0,
        }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets time pass.
    pub fn pass(&self, time: SignedDuration) {
        self.wait_until(self.now() + time);
    }

    /// Lets time pass, to a time at least.
    pub fn wait_until(&self, time: Timestamp) {
        self.clock.with(|at| at.0 = at.0.max(time));
    }

    /// An id that nothing else has.
    pub fn fresh(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(1 << 64 | self.ids)
    }

    /// Carries a command out: what follows from it, or why it is refused.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub fn ask(
        &mut self,
        command: &Command,
        asker: Asker,
    ) -> Result<std::result::Result<Vec<DecodedRecord>, Refusal>> {
        let facts = CallerFacts {
            actor: match asker {
                Asker::Runner => Actor::Runner("simulated".to_owned()),
                Asker::Person => Actor::Person("ada".to_owned()),
            },
            decision: DecisionId(self.fresh()),
            holder: match asker {
                Asker::Runner => HolderLiveness::Nothing,
                Asker::Person => HolderLiveness::Alive,
            },
            checkout: None,
        };
        let id = CommandId(self.fresh());
        match self.store.commit(id, command, &facts) {
            Ok(committed) => Ok(Ok(committed.events)),
            Err(CommitError::Refused(refusal)) => Ok(Err(refusal)),
            Err(other) => Err(other.into()),
        }
    }

    /// Carries out a command that nothing stands against; what follows from it
    /// is news to a runner.
    ///
    /// # Errors
    ///
    /// When it is refused, or the store fails.
    pub fn tell(&mut self, command: &Command, asker: Asker) -> Result<Vec<DecodedRecord>> {
        let events = self.ask(command, asker)??;
        self.news.extend(events.iter().cloned());
        Ok(events)
    }

    /// What happened since this was asked last, but for what the runner did.
    pub fn news(&mut self) -> Vec<DecodedRecord> {
        std::mem::take(&mut self.news)
    }

    /// Keeps memories, as `piton learn import` does; each as it is stored, by
    /// the id that it has in the set.
    ///
    /// # Errors
    ///
    /// When they are refused, or the store fails.
    pub fn remember(&mut self, set: &[data::Memory]) -> Result<BTreeMap<String, MemoryRow>> {
        let memories = set.iter().map(memory).collect();
        let events = self.tell(&Command::ImportMemories(memories), Asker::Person)?;
        let mut ids: BTreeMap<String, String> = BTreeMap::new();
        for recorded in &events {
            if let Event::Memory(MemoryEvent::Added(memory)) = &recorded.event
                && let (Some(external), Some(id)) = (&memory.external_id, &memory.id)
            {
                ids.insert(external.clone(), id.clone());
            }
        }
        let superseded = set
            .iter()
            .filter_map(|memory| Some((memory, memory.superseded_by.as_ref()?)));
        for (old, new) in superseded {
            if let Some(id) = ids.get(&old.id) {
                let command = Command::RetireMemory {
                    id: id.clone(),
                    why: Some(format!("superseded by {new}")),
                    superseded_by: ids.get(new).cloned(),
                };
                self.tell(&command, Asker::Person)?;
            }
        }
        self.news.clear();
        let needs: Vec<Need> = ids.values().cloned().map(Need::Memory).collect();
        let rows = self.store.load_rows(&needs)?;
        Ok(ids
            .into_iter()
            .filter_map(|(external, id)| Some((external, rows.tables.find_memory(&id)?.clone())))
            .collect())
    }
}

fn memory(memory: &data::Memory) -> Memory {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    Memory {
        topic: given(&memory.topic),
        title: given(&Some(memory.title.clone())),
        context: given(&memory.context),
        learned_at: Some(memory.created_at),
        external_id: Some(memory.id.clone()),
        ..Memory::new(memory.kind, memory.content.clone())
    }
}
