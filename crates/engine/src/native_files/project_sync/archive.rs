//! Old entries are parted from a log that has become long.
//!
//! The archive is written and flushed before the log is: an entry may stand in
//! both for a moment, and never in neither. Done again, it changes nothing.

use std::fs;
use std::io;
use std::path::Path;

use piton_formats::problem::Problem;
use piton_formats::project_format::{Archive, ProjectFile};

use crate::config::Config;
use crate::failpoint;
use crate::failure::{Failure, unwritable_file};
use crate::native_files::exchange::{find_leftovers, stage, sync_folder};
use crate::native_files::news::not_utf8_problem;
use crate::session::Session;
use crate::world::input;

/// The text without what is old enough to be archived, which is in the archive
/// by then.
pub(super) fn split_off_archived(
    session: &Session<'_>,
    file: &ProjectFile,
    text: String,
) -> Result<String, Failure> {
    let Some(archive) = file.archive else {
        return Ok(text);
    };
    let settings = Config::load(&session.project)?.archive;
    let now = session.world.now();
    let parted = (archive.part)(&text, now, settings.entries, settings.days);
    let Some(parted) = parted else {
        return Ok(text);
    };
    let project = &session.project;
    let folder = project.root.join(archive.folder);
    for (month, entries) in &parted.months {
        let path = folder.join(format!("{month}.json"));
        let inside = project.resolve_inside(&path);
        inside
            .and_then(|inside| write_month(archive, &inside, entries))
            .map_err(|error| unwritable_file(&path, error))?;
    }
    failpoint::point("archive.written");
    Ok(parted.keep)
}

/// Whether there is something to be parted by what the text, or its ends, tells, if
/// one waits so many days longer.
pub(super) fn is_archiving_due(
    session: &Session<'_>,
    file: &ProjectFile,
    text: &str,
    rest: u32,
) -> bool {
    let settings = Config::load(&session.project).map(|config| config.archive);
    let Some((archive, settings)) = file.archive.zip(settings.ok()) else {
        return false;
    };
    let days = settings.days.saturating_add(rest);
    (archive.is_due)(text, session.world.now(), settings.entries, days)
}

/// The text of a month of the archive, or why it is none.
pub(super) type MonthText = Result<String, Problem>;

/// The texts of the archive, by where each is; none for a file without one.
pub(super) fn read_archive_texts(
    session: &Session<'_>,
    file: &ProjectFile,
) -> io::Result<Vec<(String, MonthText)>> {
    let Some(archive) = file.archive else {
        return Ok(Vec::new());
    };
    let folder = session.project.root.join(archive.folder);
    let listed = match fs::read_dir(session.project.resolve_inside(&folder)?) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut texts = Vec::new();
    for entry in listed {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "json") {
            let shown = session.project.relative_path(&path);
            let text = String::from_utf8(input::read_file(session.project.resolve_inside(&path)?)?);
            let text = text.map_err(|error| not_utf8_problem(&shown, error.as_bytes()));
            texts.push((shown, text));
        }
    }
    texts.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(texts)
}

fn write_month(
    archive: Archive,
    path: &Path,
    entries: &[piton_formats::tree::ValueNode],
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let before = match input::read_file(path) {
        Ok(bytes) => Some(String::from_utf8(bytes).map_err(io::Error::other)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let after = (archive.merge)(before.as_deref(), entries).map_err(io::Error::other)?;
    if before.as_ref() != Some(&after) {
        // What a crash left here was never the only copy of anything.
        for left in find_leftovers(path)? {
            fs::remove_file(left.path)?;
        }
        // Only piton writes it: what comes out is not looked at.
        drop(stage(path, after.as_bytes())?.exchange()?);
        failpoint::point("archive.month-written");
    }
    // It is the only file that holds them.
    sync_folder(folder)
}
