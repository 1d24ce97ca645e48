//! The queue in which writers of all processes wait for their turn, and how it ends for
//! one whose turn does not come.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW};

use super::fault::io_fault;
use super::files::{StorePaths, open_store_file};
use super::holder::find_holder;
use crate::store::{FaultKind, StoreFault, WriterWait};

/// How often a writer that waits looks whether the queue has moved.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The queue in which writers of all processes wait for their turn.
///
/// SQLite's own waiting is polling with growing pauses, by which a writer can
/// starve; a lock of the kernel wakes the next one. One lock is not enough: a
/// process that gives it up and wants it again at once has it before the one
/// that was woken has even begun to run. So there is a gate before it. The process that
/// waits for the lock holds the gate: the next one behind the gate moves up while the
/// one before it works, and no process overtakes another one.
#[derive(Debug)]
pub(super) struct WriterQueue {
    gate: File,
    lock: File,
    paths: QueuePaths,
}

#[derive(Clone, Debug)]
struct QueuePaths {
    gate: PathBuf,
    lock: PathBuf,
}

/// A writer's turn; over when this is dropped.
#[derive(Debug)]
pub(super) enum WriterTurn<'q> {
    /// It came at once, on the lock that the queue has open.
    AtOnce(&'q File),
    /// It was waited for, on a file that is closed with it.
    Waited(#[expect(dead_code, reason = "closing it gives the lock up")] File),
}

impl WriterQueue {
    /// Opens the two files, and makes them where there are none.
    pub(super) fn open(place: &StorePaths) -> Result<Self, StoreFault> {
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            let options = options.read(true).append(true).create(true);
            let file = open_store_file(path, options);
            file.map_err(|error| {
                StoreFault::new(
                    FaultKind::Io,
                    format!("cannot open the lock {}", path.display()),
                    error,
                )
            })
        };
        let paths = QueuePaths {
            gate: place.gate_path(),
            lock: place.lock_path(),
        };
        Ok(Self {
            gate: open(&paths.gate)?,
            lock: open(&paths.lock)?,
            paths,
        })
    }

    /// Waits for a turn to write.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Locked`] when the queue does not move for as long as `wait` says.
    pub(super) fn wait_for_turn(&self, wait: &WriterWait) -> Result<WriterTurn<'_>, StoreFault> {
        if let Some(turn) = self.first_in_queue()? {
            return Ok(turn);
        }
        let paths = self.paths.clone();
        let lock = wait_for_lock(&self.paths, wait, move || {
            // The kernel counts locks by opened file: those of the queue could not be
            // left to a thread that comes to its turn after it is given up.
            let gate = open_present(&paths.gate)?;
            gate.lock()?;
            let lock = open_present(&paths.lock)?;
            lock.lock()?;
            Ok(lock)
        })?;
        record_turn(&lock);
        Ok(WriterTurn::Waited(lock))
    }

    /// A turn to write if no other writer has one or waits for one.
    fn first_in_queue(&self) -> Result<Option<WriterTurn<'_>>, StoreFault> {
        if !try_lock(&self.gate, &self.paths.gate)? {
            return Ok(None);
        }
        let turn = self.try_turn();
        let opened = self.gate.unlock();
        let turn = turn?;
        opened.map_err(|error| io_fault("unlock", &self.paths.gate, error))?;
        Ok(turn)
    }

    /// A turn to write if no other writer has one now.
    pub(super) fn try_turn(&self) -> Result<Option<WriterTurn<'_>>, StoreFault> {
        let locked = try_lock(&self.lock, &self.paths.lock)?;
        Ok(locked.then(|| {
            record_turn(&self.lock);
            WriterTurn::AtOnce(&self.lock)
        }))
    }
}

impl Drop for WriterTurn<'_> {
    fn drop(&mut self) {
        match self {
            // It also ends when the file is closed, so that a failure here, for
            // which no reason is known, delays others and harms nothing.
            Self::AtOnce(lock) => drop(lock.unlock()),
            Self::Waited(_) => {}
        }
    }
}

/// Keeps writers out of a store that cannot be written from here. Without a lock file
/// there are no writers.
pub(super) struct WriterBarrier(
    #[expect(dead_code, reason = "closing it lets them in")] Option<File>,
);

impl WriterBarrier {
    /// Waits for the writer whose turn it is, and keeps the next one waiting.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Locked`] when no turn ends for as long as `wait` says.
    pub(super) fn lock_out_writers(
        place: &StorePaths,
        wait: &WriterWait,
    ) -> Result<Self, StoreFault> {
        let paths = QueuePaths {
            gate: place.gate_path(),
            lock: place.lock_path(),
        };
        let Ok(lock) = File::open(&paths.lock) else {
            return Ok(Self(None));
        };
        let lock = wait_for_lock(&paths, wait, move || {
            lock.lock_shared()?;
            Ok(lock)
        })?;
        Ok(Self(Some(lock)))
    }
}

fn open_present(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).open(path)
}

fn try_lock(file: &File, path: &Path) -> Result<bool, StoreFault> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(io_fault("lock", path, error)),
    }
}

/// Records in the time of the lock file that a turn begins: whoever waits sees that the
/// queue moves, and since when it does not.
fn record_turn(lock: &File) {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    // Both times: one alone may be set by the owner of the file, not by the group.
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    // Without it others give up a little earlier, no more.
    rustix::fs::futimens(lock, &times).ok();
}

fn last_turn(lock: &Path) -> Option<SystemTime> {
    fs::metadata(lock).and_then(|lock| lock.modified()).ok()
}

/// Takes a lock in a thread of its own, since the kernel's waiting has no end, and waits
/// as long as `wait` says without a turn of another writer.
fn wait_for_lock(
    paths: &QueuePaths,
    wait: &WriterWait,
    acquire: impl FnOnce() -> io::Result<File> + Send + 'static,
) -> Result<File, StoreFault> {
    let fault = |error| io_fault("wait for", &paths.lock, error);
    let (locked, is_locked) = mpsc::channel();
    // Once nobody listens any more, the file is closed as soon as it is locked.
    thread::Builder::new()
        .spawn(move || drop(locked.send(acquire())))
        .map_err(fault)?;
    let mut last = last_turn(&paths.lock);
    let mut stands_still = Duration::ZERO;
    let mut is_reported = Duration::ZERO;
    loop {
        match is_locked.recv_timeout(LOOK_EVERY) {
            Ok(locked) => return locked.map_err(|error| replaced_or(error, paths)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(fault(io::Error::other("its thread ended")));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        // Counted, not read from a clock: while this process itself is stopped, it does
        // not wait.
        stands_still += LOOK_EVERY;
        let now = last_turn(&paths.lock);
        if now != last {
            (last, stands_still, is_reported) = (now, Duration::ZERO, Duration::ZERO);
        }
        match wait {
            WriterWait::Limited(limit) if stands_still >= *limit => {
                let what = describe_standstill(paths, stands_still);
                return Err(StoreFault::without_source(FaultKind::Locked, what));
            }
            WriterWait::Endless { every, report } if stands_still >= is_reported + *every => {
                is_reported = stands_still;
                report.call(&describe_standstill(paths, stands_still));
            }
            WriterWait::Limited(_) | WriterWait::Endless { .. } => {}
        }
    }
}

/// The fault of a lock that could not be taken. Its file goes where the store goes.
fn replaced_or(error: io::Error, paths: &QueuePaths) -> StoreFault {
    if error.kind() == io::ErrorKind::NotFound {
        let what = format!(
            "{} was taken away while the store was open",
            paths.lock.display()
        );
        return StoreFault::without_source(FaultKind::Gone, what);
    }
    io_fault("lock", &paths.lock, error)
}

/// Who holds the lock, or else who is next and does not take it.
fn describe_standstill(paths: &QueuePaths, waited: Duration) -> String {
    let (lock, seconds) = (paths.lock.display(), waited.as_secs());
    if let Some(holder) = find_holder(&paths.lock) {
        return format!("{lock} is held by {holder}: no other command could write for {seconds} s");
    }
    if let Some(next) = find_holder(&paths.gate) {
        return format!("the next one to write is {next}: no command has written for {seconds} s");
    }
    format!("another process holds {lock}: no other command could write for {seconds} s")
}
