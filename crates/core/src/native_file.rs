//! A face: a native file that shows the journal and is taken in when others write it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What the read tables know of a file of the project that is a face.
///
/// The plan files of runs are faces by themselves: see `RunRow::source`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeFileRow {
    /// Its path, relative to the project.
    pub path: String,
    /// The native format.
    pub face: String,
    /// Whether it is kept up to date.
    pub on: bool,
    /// Since when that is so.
    pub since: Timestamp,
}
