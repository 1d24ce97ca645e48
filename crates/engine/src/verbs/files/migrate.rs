//! `piton files migrate`: from the layouts of yesterday.
//!
//! First the journal has what the old file says, then the new file shows it,
//! then the old one gets another name. A second call after a crash finds what was
//! done, and does the rest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use piton_core::command::{ImportPolicy, ImportedFile, ImportedRecord};
use piton_core::memory::{Memory, MemoryKind};
use piton_core::{Actor, CallerFacts, Command, HolderLiveness, Need};
use piton_formats::project_format::LegacyFile;
use piton_formats::registry;
use serde::Serialize;

use crate::failpoint;
use crate::failure::{Failure, unreadable_file, unwritable_file};
use crate::native_files;
use crate::native_files::exchange::sync_folder;
use crate::native_files::project_sync;
use crate::project::Project;
use crate::session::Session;
use crate::world::World;
use crate::world::input;

/// A file that was taken over.
#[derive(Clone, Debug, Serialize)]
pub struct MigratedFile {
    /// The old file.
    pub from: String,
    /// The face that shows what it said.
    pub to: &'static str,
    /// Where the old file is kept.
    pub kept: String,
    /// Whether it said anything.
    pub said_something: bool,
    /// How many learnings it became.
    pub learnings: usize,
    /// What the user should know.
    pub said: Vec<String>,
}

/// What was taken over of older layouts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MigratedFiles {
    /// The files; none when there was none.
    pub migrated: Vec<MigratedFile>,
}

crate::name_schema!(MigratedFiles, "piton.files.migrate/1");

/// Takes over what older layouts hold. Empty when there is none.
///
/// # Errors
///
/// When a file cannot be read or written, or the store fails.
pub fn migrate(world: &World, told: &mut dyn FnMut(&str)) -> Result<MigratedFiles, Failure> {
    let project = Project::find(world, &world.cwd);
    let mut migrated = Vec::new();
    for old in registry::legacy_files() {
        for place in old.paths {
            if project.root.join(place).is_file() {
                migrated.push(migrate_file(world, &project, old, place, told)?);
            }
        }
    }
    Ok(MigratedFiles { migrated })
}

fn migrate_file(
    world: &World,
    project: &Project,
    old: &LegacyFile,
    place: &str,
    told: &mut dyn FnMut(&str),
) -> Result<MigratedFile, Failure> {
    let path = &project.root.join(place);
    let (face, target) = old.target;
    let bytes = input::read_bytes(path).map_err(|error| unreadable_file(path, error))?;
    let text =
        String::from_utf8(bytes).map_err(|error| not_utf8_failure(place, error.as_bytes()))?;
    let memories = (old.take)(&text, world.now());
    let learnings = memories.len();
    let said_something = learnings > 0;
    let session = Session::open_or_create(world, project.clone(), told)?;
    if said_something {
        for memory in &memories {
            refuse_conflict(&session, place, memory)?;
        }
        let command = Command::TakeFile(Box::new(ImportedFile {
            path: place.to_owned(),
            found: new_memories(&session, memories)?,
            known: ImportPolicy::Keep,
            written: Vec::new(),
            by_person: Vec::new(),
        }));
        let facts = CallerFacts {
            actor: Actor::File(place.to_owned()),
            ..session.facts_of_caller(HolderLiveness::Nothing)
        };
        session.commit(&command, &facts)?;
    }
    failpoint::point("migrate.taken");
    session.execute_command(&Command::TurnFace {
        path: target.to_owned(),
        face: face.to_owned(),
        on: true,
    })?;
    let said = project_sync::sync_files(&session)
        .iter()
        .map(ToString::to_string)
        .collect();
    failpoint::point("migrate.shown");
    let kept = rename_to_backup(path).map_err(|error| unwritable_file(path, error))?;
    Ok(MigratedFile {
        from: place.to_owned(),
        to: target,
        kept: project.relative_path(&kept),
        said_something,
        learnings,
        said,
    })
}

/// That a text cannot be taken over, and where it stops being one: a character
/// in place of what cannot be read would be kept for ever.
fn not_utf8_failure(place: &str, bytes: &[u8]) -> Failure {
    let problem = native_files::not_utf8_problem(place, bytes);
    let line = problem.line;
    Failure::new(
        "file.unreadable",
        format!("{place} is not UTF-8 text: see line {line}; nothing was taken over"),
    )
    .with_hint(format!(
        "save it as UTF-8, then run `piton files migrate` again; `iconv -f LATIN1 -t UTF-8 {place}` shows it converted"
    ))
}

/// Without those that were taken over already, by a migration that died.
fn new_memories(
    session: &Session<'_>,
    memories: Vec<Memory>,
) -> Result<Vec<ImportedRecord>, Failure> {
    let rows = session.load(&[Need::Memories(Some(MemoryKind::Learning))])?;
    let redactor = session.world.redactor();
    let is_known = |memory: &Memory| {
        let content = redactor.redact(&memory.content);
        rows.tables.memories().any(|row| {
            row.memory.source_item == memory.source_item
                && row.memory.content.trim() == content.trim()
        })
    };
    let new = memories.into_iter().filter(|memory| !is_known(memory));
    Ok(new
        .map(|memory| ImportedRecord::Memory(Box::new(memory)))
        .collect())
}

/// Refuses a text that has no place: another one was taken over before it.
fn refuse_conflict(session: &Session<'_>, place: &str, memory: &Memory) -> Result<(), Failure> {
    let Some(id) = &memory.id else {
        return Ok(());
    };
    let rows = session.load(&[Need::Memory(id.clone())])?;
    let Some(known) = rows.tables.find_memory(id) else {
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
    Err(Failure::new("file.conflict", message).with_hint(hint))
}

/// Gives the file the name `progress.txt.backup`, or the next that is free.
fn rename_to_backup(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for nth in 1_u32.. {
        let number = if nth == 1 {
            String::new()
        } else {
            format!(".{nth}")
        };
        let kept = path.with_file_name(format!("{name}.backup{number}"));
        // A link is made only where nothing is: no copy is overwritten.
        match fs::hard_link(path, &kept) {
            Ok(()) => {
                fs::remove_file(path)?;
                sync_folder(path.parent().unwrap_or(Path::new(".")))?;
                return Ok(kept);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if input::read_file(&kept)? == input::read_file(path)? {
                    fs::remove_file(path)?;
                    return Ok(kept);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
