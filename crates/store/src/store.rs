//! What every store does, and how it says that it could not.

use std::error::Error as StdError;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use piton_core::id::{CommandId, RunId, StreamId};
use piton_core::journal::{BodyRemoval, DecodedRecord, Hash, Record};
use piton_core::recall::{CandidateSet, Query};
use piton_core::redact::Redactor;
use piton_core::{CallerFacts, Command, Need, Refusal, Rows};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::clock::{Clock, SystemClock};

/// Keeps the journal durably and in order, with the read tables beside it.
///
/// Every implementation passes the same contract suite.
pub trait Store: fmt::Debug + Send + Sync {
    /// Decides `command` on the rows as they are now, and stores the answer.
    ///
    /// All of its events are stored or none is; on stable storage when this
    /// returns. The same `id` gives the outcome of its first success and stores
    /// nothing again. Every text is redacted before it is stored, and the
    /// events that come back are the redacted ones.
    ///
    /// # Errors
    ///
    /// [`CommitError::Refused`] with the refusal of the decision;
    /// [`CommitError::Fault`] when the store cannot be read or written;
    /// [`CommitError::Unknown`] when the connection was lost or a flush failed:
    /// ask again with the same `id`.
    fn commit(
        &self,
        id: CommandId,
        command: &Command,
        facts: &CallerFacts,
    ) -> Result<CommitOutcome, CommitError>;

    /// The rows that are asked for, as of one moment; possibly more.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn load_rows(&self, needs: &[Need]) -> Result<Rows, StoreFault>;

    /// What the memory has to say to a query, as of one moment: what there is
    /// to know of all that is followed, and what may help. The same contents
    /// give the same answer in every store.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn recall_candidates(&self, query: &Query) -> Result<CandidateSet, StoreFault>;

    /// The head of every stream, by name.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn stream_heads(&self) -> Result<Vec<StreamHead>, StoreFault>;

    /// How many events a stream has; 0 for one that is not there. Cheap: a
    /// runner asks several times a second.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn event_count(&self, stream: &StreamId) -> Result<u64, StoreFault>;

    /// Up to `limit` events of one stream after a position, in order.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn read_stream(
        &self,
        stream: &StreamId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreFault>;

    /// Up to `limit` events of all streams, from the first one or after `after`, in the
    /// order in which they were stored.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or has no such event.
    fn read_journal(&self, after: Option<&Cursor>, limit: usize)
    -> Result<Vec<Record>, StoreFault>;

    /// Behind which event those of this time and of later ones lie: the last event where
    /// there are none, and no event where the first one is one of them. Of events with
    /// earlier times, where the clock was behind, up to [`EARLIER_EVENTS_MAX`] in a row are
    /// passed over.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn find_event_before(&self, time: Timestamp) -> Result<Option<Cursor>, StoreFault>;

    /// Reads the journal of a damaged store: every event that can be read, in the order
    /// of [`Self::read_journal`], and what is known of each that cannot be. Events to
    /// which no index leads come last. Stops when `each` says so.
    ///
    /// # Errors
    ///
    /// When the store cannot be opened.
    fn salvage_journal(
        &self,
        each: &mut dyn FnMut(Result<Record, UnreadableEvent>) -> ControlFlow<()>,
    ) -> Result<(), StoreFault>;

    /// Says that the holder of a run still lives, for `ttl_s` seconds from now
    /// by the store's clock. Not history, and not flushed. False when the
    /// token is not that of the holder.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn heartbeat(&self, run: RunId, token: u64, ttl_s: u64) -> Result<bool, StoreFault>;

    /// Checks everything that is stored: the chain, the heads, that the views
    /// are the fold of the journal. Never writes.
    ///
    /// # Errors
    ///
    /// When the store cannot be read at all; damage is an answer, not an error.
    fn verify(&self) -> Result<VerifyReport, StoreFault>;

    /// Folds the whole journal into the views anew. False, and the rows stay as
    /// they are, where an event cannot be understood: `verify` names it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    fn rebuild_views(&self) -> Result<bool, StoreFault>;

    /// Removes the body of an event for good. A tombstone takes its place: the hash
    /// of the body, so that the chain still holds. The views are folded anew without
    /// the event, as if nothing had happened; copies of the store keep the body.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    fn replace_body_with_tombstone(
        &self,
        stream: &StreamId,
        position: u64,
    ) -> Result<BodyRemoval, StoreFault>;

    /// Which acknowledged events were gone as the store was opened to write.
    fn loss_at_open(&self) -> Option<&LostEvents> {
        None
    }

    /// How large the store is, and what it is made of.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn info(&self) -> Result<StoreInfo, StoreFault>;

    /// Copies the store, as of one moment, into a file that is not there yet;
    /// others may go on writing. The copy is durable when this returns.
    ///
    /// What is damaged is copied as it is: the report is that on the copy.
    ///
    /// # Errors
    ///
    /// When `to` is there already, or cannot be written.
    fn backup(&self, to: &Path) -> Result<VerifyReport, StoreFault>;
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreAccess {
    /// To read: no byte of the store is changed.
    ReadOnly,
    /// To read the journal and nothing else, also one that a newer piton
    /// wrote: the columns of its two tables are only ever added to.
    JournalOnly,
    /// To read and to write.
    ReadWrite,
}

/// How long a writer waits behind another one that holds the store.
#[derive(Clone, Debug)]
pub enum WriterWait {
    /// So long without that any writer has its turn: then [`FaultKind::Locked`].
    Limited(Duration),
    /// Without end; who holds the store is reported again and again.
    Endless {
        /// How long no writer has its turn before each report.
        every: Duration,
        /// Gets the report.
        report: WaitReport,
    },
}

impl Default for WriterWait {
    fn default() -> Self {
        Self::Limited(Duration::from_secs(10))
    }
}

/// Where is reported, in a line, who keeps a writer waiting.
#[derive(Clone)]
pub struct WaitReport(Arc<dyn Fn(&str) + Send + Sync>);

impl WaitReport {
    /// Reports are given to a function, in whatever thread waits.
    pub fn new(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    pub(crate) fn call(&self, text: &str) {
        (self.0)(text);
    }
}

impl fmt::Debug for WaitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WaitReport")
    }
}

/// How a store is opened.
pub struct StoreOptions {
    /// What takes secrets out of everything that is stored.
    pub redactor: Redactor,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// What for.
    pub access: StoreAccess,
    /// How long a writer waits for its turn.
    pub wait: WriterWait,
}

impl StoreOptions {
    /// To read and write, by the machine's clock.
    #[must_use]
    pub fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            clock: Arc::new(SystemClock),
            access: StoreAccess::ReadWrite,
            wait: WriterWait::default(),
        }
    }

    /// To read only, by the machine's clock.
    #[must_use]
    pub fn read_only() -> Self {
        Self {
            access: StoreAccess::ReadOnly,
            ..Self::new(Redactor::rules_only())
        }
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// The same with another patience.
    #[must_use]
    pub fn with_wait(self, wait: WriterWait) -> Self {
        Self { wait, ..self }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// How large a store is, and what it is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreInfo {
    /// Where it lies.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The size of its write-ahead log.
    pub wal_bytes: u64,
    /// The version of its tables.
    pub schema_version: u32,
    /// The version of the database program below it.
    #[serde(rename = "sqlite_version")]
    pub database_version: String,
    /// Events in all streams.
    pub events: u64,
    /// Streams.
    pub streams: u64,
    /// Runs.
    pub runs: u64,
    /// Entries of the sessions.
    pub entries: u64,
    /// Whether a private copy is read, because the folder cannot be written.
    #[serde(skip)]
    pub copy: bool,
}

/// What a rebuild does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebuildStep {
    /// Copies the events.
    CopyJournal,
    /// Folds them into the views.
    FoldViews,
    /// Verifies the copy.
    Verify,
    /// Puts it in the place of the store.
    Exchange,
}

/// What a restore or a rebuild did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// Where the store lies that is in place now.
    pub path: PathBuf,
    /// Where the store that was there before is kept; none when there was none.
    pub kept: Option<PathBuf>,
    /// Older ones that were kept so and are removed: all of their events are in the
    /// store that is in place now, or in one that is kept.
    pub removed: Vec<PathBuf>,
    /// What was found in the store that is in place now.
    pub verdict: VerifyReport,
    /// What a rebuild found gone that was acknowledged: it is noted, as by a writer.
    pub loss: Option<LostEvents>,
}

/// What a successful commit stored.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitOutcome {
    /// The events, redacted, in the order in which they were stored.
    pub events: Vec<DecodedRecord>,
    /// Whether this was stored by an earlier call with the same id.
    pub repeated: bool,
    /// The clock jumped, and no commit said so yet.
    pub jump: Option<ClockJump>,
}

/// The clock is behind an event by more than [`CLOCK_JUMP`](piton_core::journal::CLOCK_JUMP):
/// it was ahead when that was stored, or is behind now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockJump {
    /// The time of the event.
    pub event: Timestamp,
    /// What the clock shows.
    pub clock: Timestamp,
}

/// How many events in a row are passed over by a search for those of a time.
pub const EARLIER_EVENTS_MAX: usize = 1_000;

/// See [`Store::find_event_before`]; of all events, the newest first.
pub(crate) fn search_event_before<E>(
    newest_first: impl Iterator<Item = Result<(Timestamp, Cursor), E>>,
    time: Timestamp,
) -> Result<Option<Cursor>, E> {
    let (mut found, mut earlier) = (None, 0);
    for event in newest_first {
        let (at, cursor) = event?;
        if at >= time {
            (found, earlier) = (None, 0);
            continue;
        }
        found.get_or_insert(cursor);
        earlier += 1;
        if earlier == EARLIER_EVENTS_MAX {
            break;
        }
    }
    Ok(found)
}

/// An event that was read, behind which more is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Its stream.
    pub stream: StreamId,
    /// Its position.
    pub position: u64,
}

impl From<&Record> for Cursor {
    fn from(record: &Record) -> Self {
        Self {
            stream: record.stream.clone(),
            position: record.stamp.position,
        }
    }
}

/// An event that is stored and cannot be read, as far as it is known which one it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadableEvent {
    /// Its sequence number in the store.
    pub seq: Option<u64>,
    /// Its stream.
    pub stream: Option<StreamId>,
    /// Its position in the stream.
    pub position: Option<u64>,
    /// What kind it is.
    pub kind: Option<String>,
    /// The version of the body's shape.
    pub version: Option<u32>,
    /// Why it cannot be read.
    pub what: String,
}

impl UnreadableEvent {
    /// One of which nothing is known but why it cannot be read.
    #[must_use]
    pub fn unknown(what: String) -> Self {
        Self {
            seq: None,
            stream: None,
            position: None,
            kind: None,
            version: None,
            what,
        }
    }
}

/// The end of a stream: what shows a change, and a missing end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamHead {
    /// The stream.
    pub stream: StreamId,
    /// How many events it has.
    pub count: u64,
    /// The hash of the last one.
    pub hash: Hash,
    /// When the last one was stored.
    pub time: Timestamp,
}

/// Why a commit did not happen, or may not have.
#[derive(Debug, Error)]
pub enum CommitError {
    /// The request does not fit the state. Nothing was stored.
    #[error("refused")]
    Refused(#[from] Refusal),
    /// The store could not be read or written. Nothing was stored.
    #[error("the store failed")]
    Fault(#[from] StoreFault),
    /// The connection was lost, or a flush failed, at a moment at which the
    /// events may have been stored. Open the store again where it says so, and
    /// ask again with the same id.
    #[error("it is not known whether the events were stored")]
    Unknown(#[source] StoreFault),
}

/// What kind of trouble a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// There is no store.
    Missing,
    /// It cannot be read or written: permissions, a full disk, a failing one.
    Io,
    /// Another process has it open, and the command needs it alone.
    InUse,
    /// Another process holds the lock of its writers and does not move.
    Locked,
    /// It was replaced or taken away while it was open.
    Gone,
    /// What is stored is damaged.
    Damaged,
    /// A newer piton wrote it.
    Newer,
    /// It lies on a file system on which locks do not hold.
    NetworkFileSystem,
    /// Its address names a kind of store that does not exist.
    UnknownBackend,
    /// A flush failed: what this process wrote last is in doubt, and the
    /// process must not go on with it.
    Flush,
}

/// The world failed: a store cannot be read or written.
#[derive(Debug)]
pub struct StoreFault {
    /// What kind of trouble it is.
    pub kind: FaultKind,
    /// What was tried, on what: a fragment without a full stop.
    pub what: String,
    /// What the layer below says.
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

impl StoreFault {
    /// A fault with a cause.
    pub fn new(
        kind: FaultKind,
        what: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self {
            kind,
            what: what.into(),
            source: Some(source.into()),
        }
    }

    /// A fault that needs no further cause.
    pub fn without_source(kind: FaultKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            source: None,
        }
    }
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl StdError for StoreFault {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

/// What [`Store::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// How many events were read.
    pub events: u64,
    /// How many streams there are.
    pub streams: u64,
    /// How many rows of views were compared.
    pub rows: u64,
    /// How many events have no body any more.
    pub tombstones: u64,
    /// Everything that is wrong, worst first within a stream; of the journal first.
    pub damage: Vec<Damage>,
    /// Which acknowledged events writers and rebuilds found gone, oldest first.
    pub lost: Vec<LostEvents>,
    /// How much of it is in the journal itself. Without any, the rest can be made anew.
    #[serde(skip)]
    pub journal_damage: usize,
}

/// Events that were acknowledged and are not in the journal: the write-ahead log was
/// deleted, cut or changed by another program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostEvents {
    /// The number of the last event that was acknowledged.
    pub acknowledged: u64,
    /// The number of the last event that was found.
    pub found: u64,
    /// When that was noticed.
    pub noticed: Timestamp,
    /// The hash of the last event that was acknowledged, in hex; none where an older
    /// piton noticed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl fmt::Display for LostEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            acknowledged,
            found,
            ..
        } = self;
        match acknowledged.saturating_sub(*found) {
            0 => write!(
                f,
                "event {acknowledged} is another one than was acknowledged"
            ),
            1 => write!(f, "event {acknowledged}, which was acknowledged, is gone"),
            count => write!(
                f,
                "the last {count} events, which were acknowledged, are gone: the journal ends with event {found}"
            ),
        }
    }
}

/// One thing that is wrong with what is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The stream, or the table.
    pub place: String,
    /// The position in the stream; none for a head or a row.
    pub position: Option<u64>,
    /// The kind of event; none where it cannot be told.
    pub kind: Option<String>,
    /// What is wrong, in words.
    pub what: String,
}
