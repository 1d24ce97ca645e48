//! Native files and plans, read whole: regular files only, and no larger than
//! what can be understood in the memory of an ordinary machine.

use std::fs;
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// The largest file that is read whole. What stands in it takes many times its
/// size while it is understood.
pub(crate) const BYTES_MAX: u64 = 64 << 20;

pub(crate) fn render_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of some bytes, in hex.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    render_hex(&Sha256::digest(bytes))
}

/// The bytes of a file.
///
/// # Errors
///
/// When it cannot be read, is a folder, a pipe or another thing that need not
/// end, or is too large. The error says which in words.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe waits for a writer: look first.
    let found = fs::metadata(path)?;
    if let Some(what) = unreadable_reason(&found) {
        return Err(io::Error::other(what));
    }
    fs::read(path)
}

/// The text of a file.
///
/// # Errors
///
/// As [`read_bytes`], and when it is no UTF-8 text.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(read_bytes(path)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no UTF-8 text"))
}

/// Why something is not read, in a sentence; none for a file that is.
pub(crate) fn unreadable_reason(found: &fs::Metadata) -> Option<String> {
    if found.is_dir() {
        return Some("it is a folder".to_owned());
    }
    if !found.is_file() {
        return Some("it is no regular file".to_owned());
    }
    let large = found.len() > BYTES_MAX;
    large.then(|| {
        format!(
            "it has {}, and files of at most {} are read whole",
            piton_core::amount::format_size(found.len()),
            piton_core::amount::format_size(BYTES_MAX)
        )
    })
}
