//! Folders that go when the test ends, and stores in them.

use std::path::Path;
use std::sync::Arc;

use piton_core::name::NameRange;
use piton_core::redact::Redactor;
use piton_store::{Clock, SqliteStore, StoreOptions};
use tempfile::TempDir;

/// An empty folder that goes with its handle.
///
/// # Panics
///
/// When there is no room for one.
#[must_use]
pub fn scratch() -> TempDir {
    tempfile::tempdir().expect("tests need a folder for temporary files")
}

/// The store in a folder, made when there is none, with a clock of the test's.
///
/// # Panics
///
/// When it cannot be opened.
#[must_use]
pub fn sqlite_in(dir: &Path, clock: impl Clock + 'static) -> SqliteStore {
    SqliteStore::create_if_missing(dir, NameRange::ALONE)
        .expect("a store can be made in a scratch folder");
    let options = StoreOptions::new(Redactor::rules_only()).with_clock(Arc::new(clock));
    SqliteStore::open(dir, options).expect("what was just made can be opened")
}
