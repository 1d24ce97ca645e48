//! The last event that was acknowledged, kept outside of the database.
//!
//! Where the write-ahead log is deleted, cut or changed, SQLite takes what is left for
//! all that there was: up to twenty commits go without a word. This file names the last
//! event, so that the next writer and `verify` see what is gone. It is written behind
//! each commit and not flushed: after a power cut it may be older than the journal,
//! which says less, and never newer.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use jiff::Timestamp;
use piton_core::journal::{HashForm, Record};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::files::{StorePaths, open_store_file};
use super::rows::to_sqlite_integer;
use crate::store::LostEvents;

/// The last event that a store acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AcknowledgedHead {
    /// Its number in the order in which events were stored.
    pub(super) seq: u64,
    /// Its hash.
    pub(super) hash: Vec<u8>,
    /// The id under which the store writes: that of a restored one is another.
    pub(super) writer: Vec<u8>,
}

/// A head as it lies in its file, which others write over while it is read.
#[derive(Serialize, Deserialize)]
struct HeadLine {
    #[serde(flatten)]
    head: AcknowledgedHead,
    /// The checksum of the head; none in the file of an older piton.
    #[serde(default)]
    check: Option<String>,
}

/// How often a head is read until it stays the same.
const READS_MAX: usize = 4;

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
        Self::parse(&text)
    }

    fn parse(text: &str) -> Option<Self> {
        let HeadLine { head, check } = serde_json::from_str(text.lines().next()?).ok()?;
        check
            .is_none_or(|check| check == head.checksum())
            .then_some(head)
    }

    /// FNV-1a of 64 bits over number, hash and writer, in hex.
    fn checksum(&self) -> String {
        let seq = self.seq.to_be_bytes();
        let bytes = seq.iter().chain(&self.hash).chain(&self.writer);
        let sum = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{sum:016x}")
    }

    /// Notes that this was acknowledged. That it cannot be noted hides a later loss, and
    /// loses nothing.
    pub(super) fn record(self, place: &StorePaths) {
        let check = Some(self.checksum());
        let Ok(text) = serde_json::to_string(&HeadLine { head: self, check }) else {
            return;
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        // A longer line of before ends behind the first one.
        let line = format!("{text}\n");
        let written = open_store_file(&place.head_path(), &mut options)
            .and_then(|file| file.write_all_at(line.as_bytes(), 0));
        drop(written);
    }

    /// What the journal lacks of it. The head is to be read before the journal, to which
    /// others may write.
    pub(super) fn compare(
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
            let hash = self.hash.iter().map(|byte| format!("{byte:02x}"));
            Ok((is_own && !is_there).then(|| LostEvents {
                acknowledged: self.seq,
                found: last.cast_unsigned(),
                noticed: now,
                hash: Some(hash.collect()),
            }))
        })
    }
}

/// What a journal lacks of its head, which is read here. No transaction is open: what
/// was written before the head was read is seen.
pub(super) fn find_loss(
    place: &StorePaths,
    connection: &Connection,
    now: Timestamp,
) -> Option<LostEvents> {
    // What cannot be read is told by what reads it next.
    let compare = |head: &AcknowledgedHead| head.compare(connection, now).ok().flatten();
    find_lasting_loss(&mut || AcknowledgedHead::read(place), &compare)
}

/// A loss by a head that reads the same twice: another process may write over it as it
/// is read, and one of an older piton has no checksum.
fn find_lasting_loss(
    read: &mut dyn FnMut() -> Option<AcknowledgedHead>,
    compare: &dyn Fn(&AcknowledgedHead) -> Option<LostEvents>,
) -> Option<LostEvents> {
    let mut head = read()?;
    for _ in 1..READS_MAX {
        let loss = compare(&head)?;
        let again = read()?;
        if again == head {
            return Some(loss);
        }
        head = again;
    }
    // Writers are at work, each of which has looked as it opened the store.
    None
}

/// The losses that writers noticed, oldest first.
pub(super) fn read_losses(place: &StorePaths) -> Vec<LostEvents> {
    let text = fs::read_to_string(place.losses_path()).unwrap_or_default();
    let losses = text.lines().map(serde_json::from_str);
    losses.filter_map(Result::ok).collect()
}

/// Notes a loss once: with the next commit the head forgets it.
pub(super) fn record_loss(place: &StorePaths, loss: &LostEvents) {
    let is_same = |known: &LostEvents| {
        let is_event = known.hash.is_none() || known.hash == loss.hash;
        is_event && (known.acknowledged, known.found) == (loss.acknowledged, loss.found)
    };
    if read_losses(place).last().is_some_and(is_same) {
        return;
    }
    let Ok(text) = serde_json::to_string(loss) else {
        return;
    };
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    let opened = open_store_file(&place.losses_path(), &mut options);
    drop(opened.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes())));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(seq: u64) -> AcknowledgedHead {
        AcknowledgedHead {
            seq,
            hash: vec![u8::try_from(seq).expect("small"); 32],
            writer: vec![7; 16],
        }
    }

    /// What is found where each read gives the next of these heads, and a journal has
    /// the events up to 5.
    fn find(reads: &[u64]) -> Option<u64> {
        let mut reads = reads.iter().map(|seq| head(*seq));
        let compare = |head: &AcknowledgedHead| {
            (head.seq > 5).then_some(LostEvents {
                acknowledged: head.seq,
                found: 5,
                noticed: Timestamp::UNIX_EPOCH,
                hash: None,
            })
        };
        find_lasting_loss(&mut || reads.next(), &compare).map(|loss| loss.acknowledged)
    }

    #[test]
    fn a_head_that_changes_as_it_is_read_is_no_loss() {
        assert_eq!(find(&[5]), None);
        assert_eq!(find(&[9, 5]), None);
        assert_eq!(find(&[9, 9]), Some(9));
        assert_eq!(find(&[9, 8, 8]), Some(8));
        assert_eq!(find(&[9, 8, 9, 8, 9, 8]), None);
    }

    #[test]
    fn a_line_with_a_wrong_checksum_is_no_head() {
        let line = |seq: u64, check: &AcknowledgedHead| {
            let check = Some(check.checksum());
            serde_json::to_string(&HeadLine {
                head: head(seq),
                check,
            })
            .expect("an object")
        };
        assert_eq!(AcknowledgedHead::parse(&line(5, &head(5))), Some(head(5)));
        assert_eq!(AcknowledgedHead::parse(&line(5, &head(6))), None);
        let older = serde_json::to_string(&head(5)).expect("an object");
        assert_eq!(AcknowledgedHead::parse(&older), Some(head(5)));
    }
}
