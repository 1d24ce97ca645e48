//! The last event that was acknowledged, kept outside of the database.
//!
//! Where the write-ahead log is deleted, cut or changed, SQLite takes what is left for
//! all that there was: up to twenty commits go without a word. This file names the last
//! event, so that the next writer and `verify` see what is gone. It is written behind
//! each commit and not flushed: after a power cut it may be older than the journal,
//! which says less, and never newer.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};

use jiff::Timestamp;
use piton_core::journal::{HashForm, Record};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::files::StorePaths;
use super::rows::to_sqlite_integer;
use crate::store::LostEvents;

/// The last event that a store acknowledged.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AcknowledgedHead {
    /// Its number in the order in which events were stored.
    pub(super) seq: u64,
    /// Its hash.
    pub(super) hash: Vec<u8>,
    /// The id under which the store writes: that of a restored one is another.
    pub(super) writer: Vec<u8>,
}

impl AcknowledgedHead {
    /// That of an event of this store with this number.
    pub(super) fn of_record(seq: u64, record: &Record) -> Option<Self> {
        match record.form {
            HashForm::One => None,
            HashForm::Two(writer) => Some(Self {
                seq,
                hash: record.hash.to_vec(),
                writer: writer.0.as_bytes().to_vec(),
            }),
        }
    }

    /// What is known; none where the file is not there, or torn.
    pub(super) fn read(place: &StorePaths) -> Option<Self> {
        let text = fs::read_to_string(place.head_path()).ok()?;
        serde_json::from_str(text.lines().next()?).ok()
    }

    /// Notes that this was acknowledged. That it cannot be noted hides a later loss, and
    /// loses nothing.
    pub(super) fn record(&self, place: &StorePaths) {
        let Ok(text) = serde_json::to_string(self) else {
            return;
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        // A longer line of before ends behind the first one.
        let line = format!("{text}\n");
        let written = options
            .open(place.head_path())
            .and_then(|file| file.write_all_at(line.as_bytes(), 0));
        drop(written);
    }

    /// What the journal lacks of it. The head is to be read before the journal, to which
    /// others may write.
    pub(super) fn find_loss(
        &self,
        connection: &Connection,
        now: Timestamp,
    ) -> rusqlite::Result<Option<LostEvents>> {
        let sql = "SELECT (SELECT value FROM meta WHERE name = 'writer') = ?1, \
                   (SELECT hash FROM events WHERE seq = ?2) = ?3, (SELECT max(seq) FROM events)";
        let facts = params![self.writer, to_sqlite_integer(self.seq), self.hash];
        connection.query_row(sql, facts, |row| {
            let is_own = row.get::<_, Option<bool>>(0)? == Some(true);
            let is_there = row.get::<_, Option<bool>>(1)? == Some(true);
            let last: i64 = row.get::<_, Option<i64>>(2)?.unwrap_or_default();
            Ok((is_own && !is_there).then(|| LostEvents {
                acknowledged: self.seq,
                found: last.cast_unsigned(),
                noticed: now,
            }))
        })
    }
}

/// The losses that writers noticed, oldest first.
pub(super) fn read_losses(place: &StorePaths) -> Vec<LostEvents> {
    let text = fs::read_to_string(place.losses_path()).unwrap_or_default();
    let losses = text.lines().map(serde_json::from_str);
    losses.filter_map(Result::ok).collect()
}

/// Notes a loss once: with the next commit the head forgets it.
pub(super) fn record_loss(place: &StorePaths, loss: &LostEvents) {
    let is_same = |known: &LostEvents| known.acknowledged == loss.acknowledged;
    if read_losses(place).last().is_some_and(is_same) {
        return;
    }
    let Ok(text) = serde_json::to_string(loss) else {
        return;
    };
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    let opened = options.open(place.losses_path());
    drop(opened.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes())));
}
