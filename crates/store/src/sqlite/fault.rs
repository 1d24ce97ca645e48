//! What SQLite and the file system say, in the words of the store.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::store::{FaultKind, StoreFault};

/// A fault of SQLite, while `what` was tried on `path`.
pub(super) fn sqlite_fault(what: &str, path: &Path, error: rusqlite::Error) -> StoreFault {
    let (kind, why) = classify_error(&error);
    let place = path.display();
    StoreFault::new(kind, format!("cannot {what} {place}{why}"), error)
}

/// A fault of the file system.
pub(super) fn io_fault(what: &str, path: &Path, error: io::Error) -> StoreFault {
    let kind = if error.kind() == io::ErrorKind::NotFound {
        FaultKind::Missing
    } else {
        FaultKind::Io
    };
    StoreFault::new(kind, format!("cannot {what} {}", path.display()), error)
}

/// Whether what was just written is in doubt: the flush, or the writing before
/// it, failed. A full disk is not among these: SQLite notices it in time.
pub(super) fn is_in_doubt(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Whether the folder, rather than what is in it, is the trouble.
pub(super) fn is_access_fault(fault: &StoreFault) -> bool {
    let error = fault
        .source
        .as_ref()
        .and_then(|source| source.downcast_ref::<rusqlite::Error>());
    matches!(
        error.and_then(rusqlite::Error::sqlite_error_code),
        Some(
            ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::PermissionDenied
        )
    )
}

fn classify_error(error: &rusqlite::Error) -> (FaultKind, &'static str) {
    use rusqlite::Error as E;
    if let Some(code) = error.sqlite_error_code() {
        let known = CODES.iter().find(|(known, ..)| *known == code);
        return known.map_or((FaultKind::Io, ""), |(_, kind, why)| (*kind, why));
    }
    let misread = matches!(
        error,
        E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::InvalidColumnType(..)
            | E::Utf8Error(..)
    );
    if misread {
        (FaultKind::Damaged, ": a value is not what it must be")
    } else {
        (FaultKind::Io, "")
    }
}

/// What the codes of SQLite mean to a store.
const CODES: [(ErrorCode, FaultKind, &str); 11] = [
    (
        ErrorCode::DatabaseCorrupt,
        FaultKind::Damaged,
        ": it is damaged",
    ),
    (
        ErrorCode::NotADatabase,
        FaultKind::Damaged,
        ": it is not a database",
    ),
    (
        ErrorCode::ConstraintViolation,
        FaultKind::Damaged,
        ": what it holds contradicts itself",
    ),
    (
        ErrorCode::TypeMismatch,
        FaultKind::Damaged,
        ": a value is not what it must be",
    ),
    (ErrorCode::DiskFull, FaultKind::Io, ": the disk is full"),
    (ErrorCode::ReadOnly, FaultKind::Io, ": it may only be read"),
    (
        ErrorCode::PermissionDenied,
        FaultKind::Io,
        ": access is denied",
    ),
    (
        ErrorCode::CannotOpen,
        FaultKind::Io,
        ": it cannot be opened",
    ),
    (
        ErrorCode::DatabaseBusy,
        FaultKind::Io,
        ": another program keeps it locked",
    ),
    (
        ErrorCode::DatabaseLocked,
        FaultKind::Io,
        ": another program keeps it locked",
    ),
    (
        ErrorCode::SystemIoFailure,
        FaultKind::Io,
        ": the disk failed",
    ),
];
