//! What SQLite and the file system say, in the words of the store.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::store::{CommitError, FaultKind, StoreFault};

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

/// Whether a statement that reads one file and writes another failed to write.
pub(super) fn is_write_failure(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi;
    let Some(failure) = error.sqlite_error() else {
        return false;
    };
    let writing = [
        ffi::SQLITE_IOERR_WRITE,
        ffi::SQLITE_IOERR_FSYNC,
        ffi::SQLITE_IOERR_DIR_FSYNC,
        ffi::SQLITE_IOERR_TRUNCATE,
        ffi::SQLITE_IOERR_DELETE,
    ];
    matches!(failure.code, ErrorCode::DiskFull | ErrorCode::ReadOnly)
        || writing.contains(&failure.extended_code)
}

/// Whether the folder, rather than what is in it, is the trouble.
pub(super) fn is_access_fault(fault: &StoreFault) -> bool {
    matches!(
        sqlite_error(fault).and_then(rusqlite::Error::sqlite_error_code),
        Some(
            ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::PermissionDenied
        )
    )
}

/// What may come of a disk that failed to read.
///
/// SQLite says of a read that fails with `EIO` that the database is damaged, and a disk
/// may fail once. What is damaged is so twice.
pub(super) trait Misread {
    /// Whether the same may well succeed.
    fn may_be_misread(&self) -> bool;
}

impl Misread for rusqlite::Error {
    fn may_be_misread(&self) -> bool {
        use rusqlite::ffi;
        let failed_reads = [ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR_CORRUPTFS];
        self.sqlite_error().is_some_and(|failure| {
            matches!(
                failure.code,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase
            ) || failed_reads.contains(&failure.extended_code)
        })
    }
}

impl Misread for StoreFault {
    fn may_be_misread(&self) -> bool {
        sqlite_error(self).is_some_and(Misread::may_be_misread)
    }
}

impl Misread for CommitError {
    fn may_be_misread(&self) -> bool {
        match self {
            // Of one that failed as a fault of the disk, it may not be known what is stored.
            CommitError::Fault(fault) => fault.kind == FaultKind::Damaged && fault.may_be_misread(),
            CommitError::Refused(_) | CommitError::Unknown(_) => false,
        }
    }
}

/// Reads, and once more where the disk may have failed the first time.
pub(super) fn read_twice<T, E: Misread>(mut read: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    match read() {
        Err(error) if error.may_be_misread() => read(),
        first => first,
    }
}

fn sqlite_error(fault: &StoreFault) -> Option<&rusqlite::Error> {
    fault.source.as_ref()?.downcast_ref::<rusqlite::Error>()
}

fn classify_error(error: &rusqlite::Error) -> (FaultKind, &'static str) {
    use rusqlite::Error as E;
    // The statements are piton's own, so that it is the tables that are not theirs.
    let (E::SqliteFailure(_, Some(message)) | E::SqlInputError { msg: message, .. }) = error else {
        return classify_code(error);
    };
    match message.starts_with("no such ") {
        true => (FaultKind::Damaged, ": a table is not what it must be"),
        false => classify_code(error),
    }
}

fn classify_code(error: &rusqlite::Error) -> (FaultKind, &'static str) {
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

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_full_disk_is_no_fault_of_what_is_read() {
        let fails_to_write = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            is_write_failure(&error)
        };
        for code in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_READONLY,
        ] {
            assert!(fails_to_write(code), "{code}");
        }
        for code in [
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_NOTADB,
        ] {
            assert!(!fails_to_write(code), "{code}");
        }
    }
}
