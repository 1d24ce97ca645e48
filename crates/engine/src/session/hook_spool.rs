//! Events of hooks that had no time to wait for the store: each lies in a file until
//! the next command that writes records it.
//!
//! A file has the id of the command that the hook gave, so that the event is recorded
//! once, whether the hook's own attempt, a command after it or several of them come to
//! it, and wherever they die. Only what a hook may record can lie here: a file is no
//! way to give another command.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use piton_core::call::SessionCall;
use piton_core::checkout::Checkout;
use piton_core::entry::{Entry, EntryType};
use piton_core::{Actor, CallerFacts, Command, CommandId, DecisionId, HolderLiveness};
use piton_store::CommitError;
use piton_store::group_access::share_with_group;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::Session;
use crate::failpoint;
use crate::failure::{Failure, unwritable_file};
use crate::git;
use crate::project::Project;
use crate::project::inside::{create_own_folder, open_own_file};
use crate::world::World;

/// What a hook records.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HookRecord {
    /// A call of a tool.
    Call(Box<SessionCall>),
    /// The beginning or the end of a session.
    Entry(Box<Entry>),
}

impl HookRecord {
    /// Whether a hook records such a thing: what else lies in a file was put there.
    fn is_of_hook(&self) -> bool {
        match self {
            Self::Call(_) => true,
            Self::Entry(entry) => matches!(
                entry.kind,
                EntryType::SessionStarted | EntryType::SessionEnded
            ),
        }
    }

    /// The command that records it.
    #[must_use]
    pub(crate) fn into_command(self) -> Command {
        match self {
            Self::Call(call) => Command::NoteCall(call),
            Self::Entry(entry) => Command::LogEntry(entry),
        }
    }
}

/// What lies in a file.
#[derive(Debug, Serialize, Deserialize)]
struct SpooledRecord {
    id: CommandId,
    #[serde(default)]
    checkout: Option<Checkout>,
    record: HookRecord,
}

/// What a hook is about to record, until it is: shared between the thread that records
/// it and the one that gives up.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingRecord(Arc<Mutex<Option<(CommandId, HookRecord)>>>);

impl PendingRecord {
    /// Notes what is recorded next, and under which id.
    #[must_use]
    pub(crate) fn begin(&self, world: &World, record: HookRecord) -> CommandId {
        let id = CommandId(world.new_id());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, record));
        id
    }

    /// What is pending is recorded, or will never be.
    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Leaves what is pending to the next command that writes; whether there was
    /// something.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn spool(&self, world: &World) -> Result<bool, Failure> {
        let pending = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((id, record)) = pending else {
            return Ok(false);
        };
        let project = Project::find(world, &world.cwd);
        let folder = spool_folder(&project);
        let spooled = SpooledRecord {
            id,
            checkout: git::read_checkout(&project.work_tree),
            record: at_present(record, world),
        };
        write_record(&project, &folder, &spooled)
            .map_err(|error| unwritable_file(&folder, error))?;
        Ok(true)
    }
}

/// An entry is recorded later than it happened.
fn at_present(record: HookRecord, world: &World) -> HookRecord {
    let redactor = world.redactor();
    match record {
        HookRecord::Entry(mut entry) => {
            entry.at.get_or_insert_with(|| world.now().to_string());
            for value in entry.data.values_mut() {
                if let serde_json::Value::String(text) = value {
                    *text = redactor.redact(text.as_str()).into_owned();
                }
            }
            HookRecord::Entry(entry)
        }
        HookRecord::Call(call) => HookRecord::Call(call),
    }
}

fn spool_folder(project: &Project) -> PathBuf {
    project.home.join("hooks").join("spool")
}

/// Writes a file that is there whole or not at all.
fn write_record(project: &Project, folder: &Path, spooled: &SpooledRecord) -> io::Result<()> {
    let folder = project.resolve_inside(folder)?;
    create_own_folder(&folder)?;
    let mut file = NamedTempFile::new_in(&folder)?;
    file.write_all(&serde_json::to_vec(spooled)?)?;
    file.as_file().sync_data()?;
    failpoint::point("hook-spool.written");
    let path = folder.join(format!("{}.json", spooled.id));
    file.persist(&path)?;
    share_with_group(&path);
    File::open(&folder)?.sync_all()
}

/// Records what hooks left, the oldest first, and removes it.
///
/// # Errors
///
/// When the store cannot be written, or a file not be removed.
pub(crate) fn import_spooled_records(session: &Session<'_>) -> Result<(), Failure> {
    let folder = spool_folder(&session.project);
    for path in list_records(&folder) {
        let resolved = session.project.resolve_inside(&path);
        let Some(spooled) = resolved.and_then(|path| read_record(&path)).transpose() else {
            continue;
        };
        let spooled = match spooled {
            Ok(spooled) => spooled,
            Err(error) => {
                let path = path.display();
                session.world.warn(format!(
                    "cannot read the event of a hook in {path}: {error}"
                ));
                continue;
            }
        };
        let facts = CallerFacts {
            // Hooks record what people's sessions do, and no file says otherwise.
            actor: Actor::Person(session.world.user_name().to_owned()),
            decision: DecisionId(session.world.new_id()),
            holder: HolderLiveness::Nothing,
            checkout: spooled.checkout,
        };
        match session.commit_with_id(spooled.id, &spooled.record.into_command(), &facts) {
            Ok(_) => {}
            Err(CommitError::Refused(refusal)) => session
                .world
                .warn(format!("the event of a hook was not recorded: {refusal}")),
            Err(error) => return Err(error.into()),
        }
        failpoint::point("hook-spool.recorded");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(unwritable_file(&path, error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// The files, the oldest first: their names are ids that grow with time.
fn list_records(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    paths.sort();
    paths
}

/// A record; none where another command has recorded and removed it meanwhile.
fn read_record(path: &Path) -> io::Result<Option<SpooledRecord>> {
    let mut text = String::new();
    match open_own_file(path, OpenOptions::new().read(true)) {
        Ok(mut file) => file.read_to_string(&mut text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let spooled: SpooledRecord = serde_json::from_str(&text)?;
    if !spooled.record.is_of_hook() {
        return Err(io::Error::other("no hook records such a thing"));
    }
    Ok(Some(spooled))
}
