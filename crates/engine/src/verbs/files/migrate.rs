//! `piton files migrate`: from the layouts of yesterday.
//!
//! First the journal has what the old file says, then the new file shows it,
//! then the old one gets another name. Whoever begins again after a crash
//! finds what was done, and does the rest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use piton_core::command::{Found, KnownThings, TakenFile};
use piton_core::memory::Memory;
use piton_core::{Actor, Command, Facts, HolderKnown, Need};
use piton_formats::{ralph_dir, ralph_json};
use serde::Serialize;

use crate::exchange::sync_folder;
use crate::faces;
use crate::fail;
use crate::failure::{Failure, unreadable, unwritable};
use crate::input;
use crate::project::Project;
use crate::session::Session;
use crate::world::World;

/// Where the text is looked for, in this order.
const PLACES: [&str; 2] = [".ralph/progress.txt", "progress.txt"];
const TARGET: &str = ".ralph/progress.json";

/// A file that was taken over.
#[derive(Clone, Debug, Serialize)]
pub struct Migrated {
    /// The old file.
    pub from: String,
    /// The face that shows what it said.
    pub to: &'static str,
    /// Where the old file is kept.
    pub kept: String,
    /// Whether it said anything.
    pub said_something: bool,
    /// What somebody should know.
    pub said: Vec<String>,
}

/// Takes over what older layouts hold. Empty when there is none.
///
/// # Errors
///
/// When a file cannot be read or written, or the store fails.
pub fn migrate(world: &World, told: &mut dyn FnMut(&str)) -> Result<Vec<Migrated>, Failure> {
    let project = Project::find(world, &world.cwd);
    let mut migrated = Vec::new();
    for place in PLACES {
        let path = project.root.join(place);
        if path.is_file() {
            migrated.push(migrate_text(world, &project, place, &path, told)?);
        }
    }
    Ok(migrated)
}

fn migrate_text(
    world: &World,
    project: &Project,
    place: &str,
    path: &Path,
    told: &mut dyn FnMut(&str),
) -> Result<Migrated, Failure> {
    let bytes = input::read(path).map_err(|error| unreadable(path, error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let said_something = !ralph_dir::progress_txt::read(&text).untouched && !text.trim().is_empty();
    let session = Session::create(world, project.clone(), told)?;
    if said_something {
        let memory = ralph_json::from_progress_txt(&text, world.now());
        refuse_other(&session, place, &memory)?;
        let command = Command::TakeFile(Box::new(TakenFile {
            path: place.to_owned(),
            found: vec![Found::Memory(Box::new(memory))],
            known: KnownThings::Keep,
        }));
        let facts = Facts {
            actor: Actor::File(place.to_owned()),
            ..world.facts(HolderKnown::Nothing)
        };
        session.commit(&command, &facts)?;
    }
    fail::point("migrate.taken");
    session.tell(&Command::TurnFace {
        path: TARGET.to_owned(),
        face: ralph_json::FACE.to_owned(),
        on: true,
    })?;
    let said = faces::follow(&session)
        .iter()
        .map(ToString::to_string)
        .collect();
    fail::point("migrate.shown");
    let kept = set_aside(path).map_err(|error| unwritable(path, error))?;
    Ok(Migrated {
        from: place.to_owned(),
        to: TARGET,
        kept: project.relative(&kept),
        said_something,
        said,
    })
}

/// Refuses a text that has no place: another one was taken over before it.
fn refuse_other(session: &Session<'_>, place: &str, memory: &Memory) -> Result<(), Failure> {
    let Some(id) = &memory.id else {
        return Ok(());
    };
    let rows = session.load(&[Need::Memory(id.clone())])?;
    let Some(known) = rows.tables.remembered(id) else {
        return Ok(());
    };
    let redactor = session.world.redactor();
    if known.memory.content.trim() == redactor.redact(&memory.content).trim() {
        return Ok(());
    }
    let message = format!("{place} is left as it is: {id} says something else already");
    let hint = format!(
        "compare it with `piton learn show {id}`, and add what is new with `piton learn add`"
    );
    Err(Failure::new("file.conflict", message).hint(hint))
}

/// Gives the file the name `progress.txt.backup`, or the next that is free.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for nth in 1_u32.. {
        let number = if nth == 1 {
            String::new()
        } else {
            format!(".{nth}")
        };
        let kept = path.with_file_name(format!("{name}.backup{number}"));
        // A link is made only where nothing is: nobody's copy is written over.
        match fs::hard_link(path, &kept) {
            Ok(()) => {
                fs::remove_file(path)?;
                sync_folder(path.parent().unwrap_or(Path::new(".")))?;
                return Ok(kept);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::read(&kept)? == fs::read(path)? {
                    fs::remove_file(path)?;
                    return Ok(kept);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
