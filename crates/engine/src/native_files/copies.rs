//! Copies that stay beside a file, for people.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::exchange::sync_folder;
use crate::failpoint;
use crate::session::Session;
use crate::world::input;

/// What the name of a copy of a file that piton makes ends with, before its
/// number.
const COPY: &str = "before-piton";
/// So many copies of such a file are kept: a program that writes it again and
/// again would leave one for each time.
const COPIES_MAX: usize = 3;

/// A version that gives way is kept beside its file, under a name with the time.
///
/// # Errors
///
/// When the copy cannot be written.
pub(super) fn store_timestamped_copy(
    session: &Session<'_>,
    target: &Path,
    version: &[u8],
) -> io::Result<PathBuf> {
    let time = session.world.now().strftime("%Y%m%dT%H%M%SZ");
    write_numbered_copy(target, version, &format!("{COPY}-{time}"))
}

/// Keeps a version that another writer made of a file of piton's beside that file; of
/// such copies only the last few stay.
///
/// # Errors
///
/// When the copy cannot be written.
pub(super) fn store_rotated_copy(target: &Path, version: &[u8]) -> io::Result<PathBuf> {
    let copy = write_numbered_copy(target, version, COPY)?;
    remove_old_copies(target)?;
    Ok(copy)
}

/// Keeps a copy of a file beside it under a name that is not taken:
/// `NAME.SUFFIX`, `NAME.SUFFIX.2` and so on. One that is there already is enough.
///
/// # Errors
///
/// When it cannot be read or the copy cannot be written.
pub(crate) fn store_copy_beside(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    write_numbered_copy(path, &input::read_file(path)?, suffix)
}

fn write_numbered_copy(path: &Path, bytes: &[u8], suffix: &str) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for nth in 1_u32.. {
        let number = if nth == 1 {
            String::new()
        } else {
            format!(".{nth}")
        };
        let copy = path.with_file_name(format!("{name}.{suffix}{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&copy) {
            Ok(mut file) => {
                failpoint::point("run.copy-made");
                file.write_all(bytes)?;
                file.sync_all()?;
                sync_folder(path.parent().unwrap_or(Path::new(".")))?;
                return Ok(copy);
            }
            // Of a crash since: there is a copy already.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if input::read_file(&copy).is_ok_and(|there| there == bytes) {
                    return Ok(copy);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes all but the last copies of a file that piton makes.
fn remove_old_copies(target: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Ok(());
    };
    let begin = format!("{}.{COPY}", name.to_string_lossy());
    let mut copies = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_copy = name.strip_prefix(&begin).is_some_and(|number| {
            let number = number.strip_prefix('.').unwrap_or(number);
            number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if is_copy && entry.file_type()?.is_file() {
            copies.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    copies.sort();
    let too_many = copies.len().saturating_sub(COPIES_MAX);
    for (_, path) in copies.into_iter().take(too_many) {
        fs::remove_file(path)?;
    }
    Ok(())
}
