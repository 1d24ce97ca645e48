//! Native files, kept up to date beside the journal and read where others wrote
//! them.
//!
//! A native file is a view: losing it loses nothing. piton imports what another
//! writer changed before it writes the file again, and asks a person about what it
//! cannot import.
//!
//! - [`sync`]: the one machine. It reads a version, takes it in, asks about it or
//!   leaves it, and carries out what a person decided.
//! - [`plan_sync`]: the file of a plan, which shows the items of its run.
//! - [`plan_file_owner`]: which run that file shows.
//! - [`project_sync`]: files of the project, which show sessions, memory and
//!   attempts.
//! - [`branches`]: what git says of a file that it tracks.
//! - [`merged_marks`]: whose the marks are that git brought with a merge.
//! - [`synced_file`]: one file and its stamp, of whatever format.
//! - [`exchange`]: how a file takes the place of another one.
//! - [`copies`]: what is kept beside a file.

mod branches;
pub(crate) mod copies;
pub mod exchange;
pub(crate) mod file_stamps;
pub(crate) mod folder_lock;
pub(crate) mod merged_marks;
mod news;
pub(crate) mod plan_file_owner;
pub mod plan_sync;
pub mod project_sync;
mod stat_fingerprint;
mod sync;
pub mod synced_file;
pub mod text_change;

use std::path::PathBuf;

use piton_core::{DecisionRow, RunId, Verb};

pub use self::news::FileNotice;
pub(crate) use self::news::{describe_open_question, foreign_file_problem, not_utf8_problem};
use crate::failure::Failure;
use crate::session::Session;

/// Looks at a file again that a person is asked about: what is there now may be
/// another version.
///
/// # Errors
///
/// When it cannot be read or written, or the store fails.
pub(crate) fn recheck_asked_file(
    session: &Session<'_>,
    asked: &DecisionRow,
) -> Result<(), Failure> {
    if asked.run == RunId::PROJECT {
        project_sync::recheck_asked_file(session, asked)
    } else {
        plan_sync::recheck_asked_file(session, asked.run)
    }
}

/// Carries out what a person decided about a file. The version that is kept
/// beside it, if one is.
///
/// # Errors
///
/// When the file cannot be read or written, or the verb does not fit it.
pub(crate) fn apply_file_decision(
    session: &Session<'_>,
    row: &DecisionRow,
    verb: Verb,
    why: Option<&str>,
) -> Result<Option<PathBuf>, Failure> {
    if row.run == RunId::PROJECT {
        project_sync::apply_decision(session, row, verb)
    } else {
        plan_sync::apply_decision(session, row, verb, why)
    }
}
