//! A process that appends to a store and says what was acknowledged: to be
//! run many at a time, and to be killed.
//!
//! There is a program of that name; a test that needs the process without
//! having the program runs itself again, see [`crate::child`].

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use piton_core::entry::EntryType;
use piton_core::id::CommandId;
use piton_core::name::NameRange;
use piton_core::redact::Redactor;
use piton_store::{SqliteStore, Store, StoreOptions};
use uuid::Uuid;

use crate::sketch::{entry_of, facts, log};

/// What is to be appended.
#[derive(Clone, Debug)]
pub struct Append {
    /// The folder of the store; one is made where there is none.
    pub dir: PathBuf,
    /// How many events.
    pub events: u64,
    /// What each of them says, before its number.
    pub label: String,
}

/// Appends, and writes a line `ack LABEL NUMBER ID` after each commit and a
/// line `longest MICROSECONDS` at the end.
///
/// # Errors
///
/// When the store or `out` fails.
#[expect(
    clippy::disallowed_methods,
    reason = "how long a commit took is what is measured"
)]
pub fn append(what: &Append, out: &mut impl Write) -> io::Result<()> {
    SqliteStore::create_if_missing(&what.dir, NameRange::ALONE).map_err(io::Error::other)?;
    let store = SqliteStore::open(&what.dir, StoreOptions::new(Redactor::rules_only()))
        .map_err(io::Error::other)?;
    let mut longest = Duration::ZERO;
    for number in 1..=what.events {
        let description = format!("{} {number}", what.label);
        let command = log(entry_of(EntryType::TaskCompleted, "t1", &description));
        let before = Instant::now();
        let committed = store
            .commit(CommandId(Uuid::now_v7()), &command, &facts())
            .map_err(io::Error::other)?;
        longest = longest.max(before.elapsed());
        let id = committed
            .events
            .first()
            .map(|event| event.record.stamp.id)
            .ok_or_else(|| io::Error::other("no event"))?;
        // In one piece: others may write to the same file.
        out.write_all(format!("ack {} {number} {id}\n", what.label).as_bytes())?;
        out.flush()?;
    }
    out.write_all(format!("longest {}\n", longest.as_micros()).as_bytes())?;
    out.flush()
}
