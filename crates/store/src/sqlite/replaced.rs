//! The stores that others took the place of: the last few are kept.
//!
//! One is removed only where another store has all of its events; what cannot be read
//! stays.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::files::StorePaths;
use super::journal::read_heads;
use super::rows::to_sqlite_integer;
use super::schema::connect;
use super::verify::verify_database_file;

/// What the name of such a store begins with, before its time.
pub(super) const PREFIX: &str = "journal.db.replaced-";
/// So many are kept.
const KEPT_MAX: usize = 3;

/// Removes older ones than `latest`, which was replaced just now; which. What fails
/// leaves them.
pub(super) fn remove_old(place: &StorePaths, latest: Option<&Path>) -> Vec<PathBuf> {
    let mut found = list(place);
    // Its name may be an older one: a clock was ahead once.
    if let Some(at) = found.iter().position(|path| Some(path.as_path()) == latest) {
        let latest = found.remove(at);
        found.insert(0, latest);
    }
    let old = found.split_off(KEPT_MAX.min(found.len()));
    let mut removed = Vec::new();
    for path in old {
        // Its log has events that the file has not.
        let is_whole = !with_log(&path).exists();
        let Some(store) = open(&path).filter(|_| is_whole) else {
            continue;
        };
        // The one in place was verified just now.
        let is_elsewhere = has_all_of(&place.db, &store)
            || found
                .iter()
                .any(|kept| has_all_of(kept, &store) && is_undamaged(kept));
        // Of a damaged one the heads do not say which events it has.
        if is_elsewhere && is_undamaged(&path) && fs::remove_file(&path).is_ok() {
            removed.push(path);
        }
    }
    removed
}

fn has_all_of(path: &Path, store: &Connection) -> bool {
    open(path).is_some_and(|other| has_all_events(&other, store).unwrap_or(false))
}

fn is_undamaged(path: &Path) -> bool {
    verify_database_file(path).is_ok_and(|verdict| verdict.damage.is_empty())
}

/// The stores that were replaced, the last one first.
fn list(place: &StorePaths) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(&place.dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let (time, number) = rest.split_once('-').unwrap_or((rest, "1"));
        if let Ok(number) = number.parse::<u32>() {
            found.push((time.to_owned(), number, entry.path()));
        }
    }
    found.sort();
    found.into_iter().rev().map(|(_, _, path)| path).collect()
}

fn with_log(path: &Path) -> PathBuf {
    let mut log = path.to_owned().into_os_string();
    log.push("-wal");
    log.into()
}

fn open(path: &Path) -> Option<Connection> {
    let connected = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    connected.ok().map(|connected| connected.connection)
}

/// Whether a store has each stream of another one, as far as that goes: the hash of an
/// event is that of all before it.
fn has_all_events(store: &Connection, other: &Connection) -> rusqlite::Result<bool> {
    let mut at = store.prepare(
        "SELECT events.hash FROM events JOIN streams ON streams.id = stream \
         WHERE name = ?1 AND position = ?2",
    )?;
    for (_, head) in read_heads(other)? {
        if head.count == 0 {
            continue;
        }
        let last = params![head.stream.to_string(), to_sqlite_integer(head.count)];
        let hash = at.query_row(last, |row| row.get(0)).optional()?;
        if hash != Some(head.hash) {
            return Ok(false);
        }
    }
    Ok(true)
}
