//! `piton store`: the place where everything is kept.

use std::path::{Path, PathBuf};

use piton_store::StoreAccess;
pub use piton_store::{RebuildStep, StoreInfo};
use serde::Serialize;

use super::journal::missing_store_failure;
use crate::failure::{Failure, unwritable_file};
use crate::project::Project;
use crate::session::{Session, store_options};
use crate::world::World;

crate::name_schema!(StoreInfo, "piton.store.info/1");

/// What is kept, where, and how large it is.
///
/// # Errors
///
/// When there is no store, or it cannot be read.
pub fn info(world: &World) -> Result<StoreInfo, Failure> {
    let session = Session::open_read_only(world, &world.cwd)?.ok_or_else(missing_store_failure)?;
    Ok(session.store.info()?)
}

/// A copy of the store.
#[derive(Clone, Debug, Serialize)]
pub struct StoreBackup {
    /// The file that was written.
    pub wrote: PathBuf,
}

crate::name_schema!(StoreBackup, "piton.store.backup/1");

/// Copies the store to a file that is not there yet, while others write.
///
/// # Errors
///
/// When there is no store, or the copy cannot be made.
pub fn backup(world: &World, to: &Path) -> Result<StoreBackup, Failure> {
    let session = Session::open_read_only(world, &world.cwd)?.ok_or_else(missing_store_failure)?;
    let to = world.resolve_path(to);
    if to.exists() {
        return Err(Failure::new(
            "file.exists",
            format!("{} is there already; nothing was written", to.display()),
        )
        .with_hint("name a file that is not there yet"));
    }
    let verdict = session.store.backup(&to)?;
    match verdict.damage.len() {
        0 => Ok(StoreBackup { wrote: to }),
        count => Err(Failure::new(
            "store.damaged",
            format!(
                "{} was written, but what is stored is damaged in {count} places, and so is the copy",
                to.display()
            ),
        )
        .with_hint("see what is damaged with `piton journal verify`; bring an older backup in with `piton store restore FILE`")),
    }
}

/// What came of a restore.
#[derive(Clone, Debug, Serialize)]
pub struct RestoredStore {
    /// The store that is in place now.
    #[serde(rename = "restored")]
    pub store: PathBuf,
    /// Where the former one is kept.
    pub kept: Option<PathBuf>,
}

crate::name_schema!(RestoredStore, "piton.store.restore/1");

/// Puts a copy into the place of the store, which is kept beside.
///
/// # Errors
///
/// When the copy is damaged, or a process uses the store.
pub fn restore(world: &World, from: &Path) -> Result<RestoredStore, Failure> {
    let project = Project::find(world, &world.cwd);
    let from = world.resolve_path(from);
    if !from.is_file() {
        return Err(
            Failure::new("usage", format!("there is no file {}", from.display()))
                .with_hint("name a file that `piton store backup FILE` wrote"),
        );
    }
    refuse_live(world, &project)?;
    project.create()?;
    let restored = project.store_address()?.restore(&from)?;
    // The files show another journal now: they may go back. What a file of the
    // project has that this journal does not know is taken in again.
    crate::native_files::synced_file::reset_all_positions(
        &project.home,
        crate::native_files::project_sync::is_stamp_key,
    )
    .map_err(|error| unwritable_file(&project.home, error))?;
    Ok(RestoredStore {
        store: restored.path,
        kept: restored.kept,
    })
}

/// What came of a rebuild.
#[derive(Clone, Debug, Serialize)]
pub struct RebuiltStore {
    /// The store that is in place now.
    #[serde(rename = "rebuilt")]
    pub store: PathBuf,
    /// Where the former one is kept.
    pub kept: Option<PathBuf>,
    /// How many events it has.
    pub events: u64,
    /// How many rows of views were made of them.
    pub rows: u64,
}

crate::name_schema!(RebuiltStore, "piton.store.rebuild/1");

/// Makes the views anew from the journal, in a store that takes the place of the
/// present one, which is kept beside.
///
/// # Errors
///
/// When there is no store, when its journal is damaged, or when a process uses it.
pub fn rebuild(
    world: &World,
    report: &mut dyn FnMut(RebuildStep),
) -> Result<RebuiltStore, Failure> {
    let project = Project::find(world, &world.cwd);
    if !project.exists() {
        return Err(missing_store_failure());
    }
    refuse_live(world, &project)?;
    project.close_home();
    let rebuilt = project.store_address()?.rebuild(report)?;
    Ok(RebuiltStore {
        store: rebuilt.path,
        kept: rebuilt.kept,
        events: rebuilt.verdict.events,
        rows: rebuilt.verdict.rows,
    })
}

/// A runner would go on in a store that is no longer in its place.
fn refuse_live(world: &World, project: &Project) -> Result<(), Failure> {
    project.check_home()?;
    if !project.exists() {
        return Ok(());
    }
    // A store that cannot be read has no runner either.
    let options = store_options(world, StoreAccess::ReadOnly);
    let Ok(store) = project.store_address()?.open(options) else {
        return Ok(());
    };
    let session = Session {
        world,
        project: project.clone(),
        store,
    };
    let Ok(runs) = session.runs() else {
        return Ok(());
    };
    let live = runs.iter().find(|row| {
        row.runners().next().is_some() && !crate::runner::run_lock::is_free(project, row)
    });
    match live {
        Some(row) => Err(Failure::new(
            "store.busy",
            format!("run `{}` is being worked on", row.name),
        )
        .with_hint(format!("stop it first with `piton stop {}`", row.name))),
        None => Ok(()),
    }
}
