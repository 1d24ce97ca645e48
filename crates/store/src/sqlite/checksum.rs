//! The checksum of a body: a reader of a row sees that it is what was written.
//!
//! It is the CRC-32 of zlib and gzip. That finds every change of one bit, or of a few
//! that lie within four bytes; it does not find a change that is made on purpose.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{FromSqlError, ValueRef};
use rusqlite::{Connection, Error, Result};

use super::rows::TABLES;

/// The checksum that stands beside this body.
pub(super) fn checksum_of_body(body: &str) -> i64 {
    i64::from(crc32fast::hash(body.as_bytes()))
}

/// Fails where a body is not what its checksum was made of.
pub(super) fn check_body(table: &str, body: &str, checksum: ValueRef<'_>) -> Result<()> {
    if checksum.as_i64() == Ok(checksum_of_body(body)) {
        return Ok(());
    }
    let what = format!("a row of `{table}` does not fit its checksum");
    Err(FromSqlError::other(std::io::Error::other(what)).into())
}

/// Makes the checksums of all rows that are there, in place.
pub(super) fn fill_checksums(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function(FUNCTION, 1, flags, |context| {
        // Bytes: a body that is no text is brought up to date as any other.
        let body = context.get_raw(0).as_bytes().map_err(Error::from)?;
        Ok(i64::from(crc32fast::hash(body)))
    })?;
    let tables = TABLES.iter().map(|table| table.name).chain(["documents"]);
    for table in tables {
        let sql = format!("UPDATE {table} SET checksum = {FUNCTION}(body)");
        connection.execute(&sql, [])?;
    }
    connection.remove_function(FUNCTION, 1)
}

const FUNCTION: &str = "crc32_of_body";
