//! A store on the [simulated disk](crate::disk), beside the model of a
//! simulation: see [`piton_simkit::backing`].

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::Timestamp;
use piton_core::{Command, Draft, Need, Refusal, RunId, Tables};
use piton_simkit::backing::{Backing, PowerLost, StoredCommand, Streams};
use piton_simkit::world::LEASE;
use piton_store::{CommitError, FaultKind, SqliteStore, Store};
use tempfile::TempDir;

use crate::chance::TestClock;
use crate::disk::SimulatedDisk;
use crate::scratch::{scratch, sqlite_in};

/// What a store on the disk went through.
#[derive(Debug, Default)]
pub struct Trials {
    /// Commands that were acknowledged with events.
    pub acknowledged: Cell<u64>,
    /// Times the power went while a command was carried out.
    pub cut_commits: Cell<u64>,
    /// Times the store was opened after a power cut.
    pub restarts: Cell<u64>,
}

fn count(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}

/// A store on the simulated disk.
#[derive(Debug)]
pub struct StoreOnDisk {
    disk: SimulatedDisk,
    dir: TempDir,
    clock: TestClock,
    /// None only while it is opened again.
    store: Option<SqliteStore>,
    trials: Rc<Trials>,
}

impl StoreOnDisk {
    /// An empty store; what its power cuts take follows from `seed`.
    #[must_use]
    pub fn new(seed: u64, trials: Rc<Trials>) -> Self {
        let dir = scratch();
        let disk = SimulatedDisk::mount(dir.path(), seed);
        let clock = TestClock::seeded(seed);
        let store = Some(sqlite_in(dir.path(), clock.clone()));
        Self {
            disk,
            dir,
            clock,
            store,
            trials,
        }
    }

    fn store(&self) -> &SqliteStore {
        self.store.as_ref().expect("it is open between two calls")
    }
}

impl Backing for StoreOnDisk {
    fn commit(
        &mut self,
        order: &StoredCommand<'_>,
    ) -> Result<Result<Vec<Draft>, Refusal>, PowerLost> {
        self.clock.set(order.now);
        match self.store().commit(order.id, order.command, order.facts) {
            Ok(committed) => {
                assert!(!committed.repeated, "each command has an id of its own");
                if !committed.events.is_empty() {
                    count(&self.trials.acknowledged);
                }
                let drafts = committed.events.into_iter().map(|recorded| Draft {
                    stream: recorded.record.stream,
                    event: recorded.event,
                });
                Ok(Ok(drafts.collect()))
            }
            Err(CommitError::Refused(refusal)) => Ok(Err(refusal)),
            Err(CommitError::Fault(fault) | CommitError::Unknown(fault)) => {
                let by_power = [FaultKind::Io, FaultKind::Flush].contains(&fault.kind);
                assert!(by_power, "{}: {fault:?}", of(order.command));
                count(&self.trials.cut_commits);
                Err(PowerLost)
            }
        }
    }

    fn heartbeat(&mut self, run: RunId, token: u64, now: Timestamp) {
        self.clock.set(now);
        let seconds = u64::try_from(LEASE.as_secs()).expect("a lease lasts some time");
        self.store()
            .heartbeat(run, token, seconds)
            .expect("there is power between two commands");
    }

    fn cut_power_after(&mut self, operations: Option<u32>) {
        self.disk.cut_after(operations);
    }

    fn restart(&mut self) -> Streams {
        drop(self.store.take());
        self.disk
            .restart()
            .expect("a scratch folder can be written");
        count(&self.trials.restarts);
        let store = sqlite_in(self.dir.path(), self.clock.clone());
        assert_eq!(store.verify().expect("readable").damage, []);
        let mut streams: Streams = BTreeMap::new();
        for record in store.read_journal(None, usize::MAX).expect("readable") {
            let event = record.decode_event().expect("an event of this version");
            streams.entry(record.stream).or_default().push(event);
        }
        self.store = Some(store);
        streams
    }

    fn load(&self, needs: &[Need]) -> Tables {
        self.store().load_rows(needs).expect("readable").tables
    }
}

fn of(command: &Command) -> String {
    let mut name = format!("{command:?}");
    name.truncate(60);
    name
}
