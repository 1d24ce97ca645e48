//! `piton store`: the place where everything is kept.

use std::path::{Path, PathBuf};

pub use piton_store::{RebuildStep, StoreInfo};
use piton_store::{StoreAccess, StoreFault};
use serde::Serialize;

use super::journal::missing_store_failure;
use crate::config::store_access::apply_store_access;
use crate::failure::{Failure, unreadable_file, unwritable_file};
use crate::process::shell::quote_word;
use crate::project::relocation::{CopiedFiles, Relocation};
use crate::project::{JOURNAL, Project};
use crate::session::{Session, store_options, warn_of_loss};
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
    /// Which older ones, kept so, were removed: their events are all in others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PathBuf>,
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
    project.check_home()?;
    refuse_live(world, &project)?;
    project.create()?;
    apply_store_access(world, &project)?;
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
        removed: restored.removed,
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
    /// Which older ones, kept so, were removed: their events are all in others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PathBuf>,
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
    project.check_home()?;
    if !project.has_journal()? {
        return Err(missing_store_failure());
    }
    refuse_live(world, &project)?;
    apply_store_access(world, &project)?;
    let rebuilt = project.store_address()?.rebuild(report)?;
    if let Some(loss) = &rebuilt.loss {
        warn_of_loss(world, &project, loss);
    }
    Ok(RebuiltStore {
        store: rebuilt.path,
        kept: rebuilt.kept,
        removed: rebuilt.removed,
        events: rebuilt.verdict.events,
        rows: rebuilt.verdict.rows,
    })
}

/// What came of a move.
#[derive(Clone, Debug, Serialize)]
pub struct MovedStore {
    /// The folder in which the journal lies now.
    #[serde(rename = "moved")]
    pub home: PathBuf,
    /// The folder that it came from; none where it lay there already.
    pub from: Option<PathBuf>,
    /// How many files were copied and compared.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
}

crate::name_schema!(MovedStore, "piton.store.move/1");

/// Moves the journal and all that belongs to it from the work tree into git's folder,
/// where `git clean` does not reach. Settings stay.
///
/// # Errors
///
/// When there is no such folder for this project or no store, when a process uses the
/// store, or when there are two journals. Nothing is changed then.
pub fn move_to_git(world: &World) -> Result<MovedStore, Failure> {
    let project = Project::find(world, &world.cwd);
    let Some(to) = project.home_in_git() else {
        return Err(no_home_in_git_failure(&project));
    };
    if !project.has_journal()? {
        project.check_not_lost(world)?;
        return Err(missing_store_failure());
    }
    let from = project.tree_folder();
    let relocation = Relocation { from, to };
    let moved = |from, copied: CopiedFiles| MovedStore {
        home: relocation.to.clone(),
        from,
        files: copied.files,
        bytes: copied.bytes,
    };
    if project.is_kept_by_git() {
        relocation.end_interrupted()?;
        return Ok(moved(None, CopiedFiles::default()));
    }
    let of_home = Project {
        home: relocation.to.clone(),
        ..project.clone()
    };
    of_home.check_home()?;
    refuse_live(world, &project)?;
    let mut copied = Ok(CopiedFiles::default());
    project.store_address()?.do_while_closed(&mut || {
        copied = copy_unless_there(world, &relocation, &project, &of_home);
        if copied.is_ok()
            && let Err(failure) = relocation.retire_old()
        {
            copied = Err(failure);
        }
    })?;
    project.forget_journal_in_tree();
    apply_store_access(world, &of_home)?;
    Ok(moved(Some(relocation.from.clone()), copied?))
}

fn no_home_in_git_failure(project: &Project) -> Failure {
    let why = match project.in_git {
        true => "it lies in no main work tree of a repository",
        false => "it lies in no repository",
    };
    Failure::new(
        "usage",
        format!(
            "the journal in {} cannot move into git's folder: {why}",
            project.home.display()
        ),
    )
    .with_hint("keep copies with `piton store backup FILE`")
}

/// Copies everything, unless an interrupted move has done that.
fn copy_unless_there(
    world: &World,
    relocation: &Relocation,
    from: &Project,
    to: &Project,
) -> Result<CopiedFiles, Failure> {
    if !to.exists() {
        return relocation.copy_into_place();
    }
    let unreadable = |error| unreadable_file(&relocation.from, error);
    let Some(differing) = relocation.find_difference().map_err(unreadable)? else {
        return Ok(CopiedFiles::default());
    };
    let known = |project: &Project| {
        let options = store_options(world, StoreAccess::JournalOnly);
        let store = project.store_address()?.open(options)?;
        let events = match store.info()?.events {
            1 => "1 event".to_owned(),
            count => format!("{count} events"),
        };
        Ok::<_, StoreFault>(format!("{} has {events}", project.home.display()))
    };
    let known = [from, to].map(|project| known(project).unwrap_or_else(|fault| fault.what));
    Err(Failure::new(
        "store.two_journals",
        format!(
            "this project has two journals: {}; {} is not the same in both",
            known.join(", "),
            differing.display()
        ),
    )
    .with_hint(format!(
        "rename the one that does not count: `mv {0} {0}.aside`, then repeat the command, or `mv {1} {1}.aside`",
        quote_word(&to.home.to_string_lossy()),
        quote_word(&from.home.join(JOURNAL).to_string_lossy())
    )))
}

/// A runner would go on in a store that is no longer in its place.
fn refuse_live(world: &World, project: &Project) -> Result<(), Failure> {
    if !project.has_journal()? {
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
