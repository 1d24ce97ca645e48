//! Old entries are parted from a log that has become long.
//!
//! The archive is written and flushed before the log is: an entry may stand in
//! both for a moment, and never in neither. Done again, it changes nothing.

use std::fs;
use std::io;
use std::path::Path;

use piton_formats::agent_os;

use super::files::FaceFile;
use crate::config::Config;
use crate::exchange::{stage, sync_folder};
use crate::fail;
use crate::failure::Failure;
use crate::session::Session;

/// The text without what is old enough to be archived, which is in the archive
/// by then.
pub(super) fn part(
    session: &Session<'_>,
    file: &FaceFile,
    text: String,
) -> Result<String, Failure> {
    let Some(folder) = file.archive else {
        return Ok(text);
    };
    let settings = Config::load(&session.project)?.archive;
    let now = session.world.now();
    let parted = agent_os::archive(&text, now, settings.entries, settings.days);
    let Some(parted) = parted else {
        return Ok(text);
    };
    let folder = session.project.root.join(folder);
    for (month, entries) in &parted.months {
        let path = folder.join(format!("{month}.json"));
        write_month(&path, entries).map_err(|error| {
            Failure::new("file.unwritable", format!("{}: {error}", path.display()))
        })?;
    }
    fail::point("archive.written");
    Ok(parted.keep)
}

fn write_month(path: &Path, entries: &[piton_formats::tree::Node]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let before = match fs::read(path) {
        Ok(bytes) => Some(String::from_utf8(bytes).map_err(io::Error::other)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let after = agent_os::merge_archive(before.as_deref(), entries).map_err(io::Error::other)?;
    if before.as_ref() != Some(&after) {
        // Nobody but piton writes it: what comes out is not looked at.
        drop(stage(path, after.as_bytes())?.exchange()?);
        fail::point("archive.month-written");
    }
    // It is the only file that holds them.
    sync_folder(folder)
}
