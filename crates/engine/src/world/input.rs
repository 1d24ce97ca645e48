//! Native files and plans, read whole: regular files only, and no larger than
//! what can be understood in the memory of an ordinary machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
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

/// Opens a regular file to read it. Neither this nor reading waits for another process:
/// a named pipe in its place is refused.
///
/// # Errors
///
/// When it cannot be opened, or is no regular file. The error says what it is.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    // Opening a device may do something to it: look first.
    refuse_special(&fs::metadata(path)?)?;
    // It may have been replaced since: the opened one counts.
    let no_wait = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(no_wait).open(path)?;
    refuse_special(&file.metadata()?)?;
    Ok(file)
}

/// The bytes of a regular file of any size.
///
/// # Errors
///
/// As [`open_file`], and when it cannot be read.
pub(crate) fn read_file(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut file = open_file(path.as_ref())?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file of any size.
///
/// # Errors
///
/// As [`read_file`], and when it is no UTF-8 text.
pub(crate) fn read_file_text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut file = open_file(path.as_ref())?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// The bytes of a file that is small enough to be understood as a whole.
///
/// # Errors
///
/// As [`read_file`], and when it is too large. The error says which in words.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    if let Some(what) = unreadable_reason(&fs::metadata(path)?) {
        return Err(io::Error::other(what));
    }
    read_file(path)
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

/// The paths below a folder that a path stands for in which each `*` is any one folder,
/// sorted.
pub(crate) fn expand_path(folder: &Path, path: &str) -> Vec<PathBuf> {
    let Some((before, after)) = path.split_once("*/") else {
        return vec![folder.join(path)];
    };
    let entries = fs::read_dir(folder.join(before)).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .flat_map(|entry| expand_path(&entry.path(), after))
        .filter(|path| path.exists())
        .collect();
    paths.sort();
    paths
}

/// Why something is not read, in a sentence; none for a file that is.
pub(crate) fn unreadable_reason(found: &fs::Metadata) -> Option<String> {
    if let Some(kind) = special_kind(found) {
        return Some(format!("it is {kind}, not a file"));
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

/// What something is that is no regular file; none for one.
pub(crate) fn special_kind(found: &fs::Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    let kinds = [
        (kind.is_dir(), "a folder"),
        (kind.is_fifo(), "a named pipe"),
        (kind.is_socket(), "a socket"),
        (kind.is_block_device() || kind.is_char_device(), "a device"),
        (!kind.is_file(), "a special file"),
    ];
    kinds.into_iter().find_map(|(is, name)| is.then_some(name))
}

/// Refuses what is no regular file.
///
/// # Errors
///
/// With what it is.
pub(crate) fn refuse_special(found: &fs::Metadata) -> io::Result<()> {
    match special_kind(found) {
        Some(kind) => Err(io::Error::other(format!("it is {kind}, not a file"))),
        None => Ok(()),
    }
}
