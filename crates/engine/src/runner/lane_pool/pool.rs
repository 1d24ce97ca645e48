//! Where the lanes of a project lie, and which of them is taken next.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use piton_core::policy::Repositories;

use super::{Lane, LaneFault, LaneRecord, LaneRepository, LastReadPlan, file_fault_at};
use crate::config::repositories::table_of_own_repository;
use crate::config::trust::{TrustCheck, lanes_folder_part};
use crate::config::{Config, PORTS_A_LANE, RepositoryTables, WorkspaceConfig};
use crate::process::{ProcessIdentity, current_process, has_ended};
use crate::project::inside::{create_own_folder, open_own_file, refuse_git_folder};
use crate::project::{Project, create_private_folder};
use crate::world::input;
use crate::world::input::sha256;
use crate::world::pause;

/// How long apart a lock is looked at again whose process is dead, and how often:
/// a child that is being started has its descriptor for a moment.
const LOOK_TIME: Duration = Duration::from_millis(20);
const LOOKS_AT_DEAD: u32 = 100;

/// Ports that are drawn lie below those that systems give to connections.
const PORTS_BEGIN: u32 = 10_240;
/// A project has room for so many lanes with ports of their own, and so many
/// projects have.
const PORTS_A_PROJECT: u32 = 20 * PORTS_A_LANE;
const PROJECTS: u32 = 110;

/// The lanes of a project.
#[derive(Clone, Debug)]
pub struct Pool {
    pub(super) project: Project,
    pub(super) settings: WorkspaceConfig,
    folder: PathBuf,
    /// What worktrees are named by.
    name: String,
    /// The repository of which it takes lanes; none is that of the project.
    pub(super) repository: Option<LaneRepository>,
    /// What the project says of repositories.
    tables: RepositoryTables,
    /// What of the settings depends on no repository.
    usual: WorkspaceConfig,
    /// Which commands of the project may be started.
    pub(super) trust: TrustCheck,
}

impl Pool {
    /// Opens the pool of a project, and makes its folder if it is not there.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made, leads out of the project or into that of git, or
    /// lies elsewhere and is not trusted.
    pub fn open(
        project: &Project,
        settings: &WorkspaceConfig,
        trust: &TrustCheck,
    ) -> Result<Self, LaneFault> {
        let name = safe_folder_name(&project.root);
        let lanes = project.tree_folder();
        let key = sha256(lanes.as_os_str().as_encoded_bytes());
        let folder = match &settings.root {
            // Several projects may share that folder, of one name even.
            Some(root) => project
                .root
                .join(root)
                .join(format!("{name}-{}", &key[..8])),
            None => lanes.join("lanes"),
        };
        let asked = lanes_folder_part(settings).into_iter().collect();
        trust.refuse_untrusted(asked)?;
        if let Some(root) = settings.root.as_ref().filter(|root| root.is_relative()) {
            refuse_git_folder(root).map_err(file_fault_at(&folder))?;
        }
        project
            .resolve_inside(&folder)
            .map_err(file_fault_at(&folder))?;
        if settings.root.is_none() {
            project
                .create_tree_folder()
                .map_err(file_fault_at(&lanes))?;
        }
        let made = match settings.root {
            None => create_own_folder(&folder),
            // Who may use the folder above says nothing of the home.
            Some(_) => create_private_folder(&folder),
        };
        made.map_err(file_fault_at(&folder))?;
        let drawn = u32::from_str_radix(&key[..8], 16).unwrap_or(0) % PROJECTS;
        let ports = PORTS_BEGIN + drawn * PORTS_A_PROJECT;
        let settings = WorkspaceConfig {
            ports: settings.ports.or(u16::try_from(ports).ok()),
            ..settings.clone()
        };
        Ok(Self {
            project: project.clone(),
            usual: settings.clone(),
            settings,
            tables: RepositoryTables::new(),
            folder: fs::canonicalize(&folder).map_err(file_fault_at(&folder))?,
            name,
            repository: None,
            trust: trust.clone(),
        })
    }

    /// Opens the pool of a project for a run, given in which repositories that is worked
    /// on.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made.
    pub fn open_for_run(
        project: &Project,
        config: &Config,
        known: Option<&Repositories>,
        trust: &TrustCheck,
    ) -> Result<Self, LaneFault> {
        let pool = Self::open(project, &config.workspace, trust)?;
        let own = table_of_own_repository(&config.repositories, known);
        Ok(Self {
            settings: pool.usual.for_repository(own),
            tables: config.repositories.clone(),
            ..pool
        })
    }

    /// The same pool, for lanes that are worktrees of another repository.
    #[must_use]
    pub fn for_repository(&self, repository: LaneRepository) -> Self {
        let table = self.tables.get(&repository.name);
        Self {
            settings: self.usual.for_repository(table),
            project: Project {
                work_tree: repository.tree.clone(),
                ..self.project.clone()
            },
            name: safe_folder_name(&repository.tree),
            repository: Some(repository),
            ..self.clone()
        }
    }

    /// The pool of the lane that was used like that, whatever repository it is of.
    #[must_use]
    pub fn for_lane(&self, used: Option<&LaneRecord>) -> Self {
        let repository = used.and_then(|used| used.repository.clone());
        repository.map_or_else(
            || self.clone(),
            |repository| self.for_repository(repository),
        )
    }

    /// The work tree of the repository of which its lanes are.
    #[must_use]
    pub fn main_work_tree(&self) -> &Path {
        &self.project.work_tree
    }

    /// The name of that repository; none is that of the project.
    #[must_use]
    pub fn repository_name(&self) -> Option<&str> {
        self.repository.as_ref().map(|repository| &*repository.name)
    }

    /// Whether a lane that was used like that is one of this repository.
    fn is_own_lane(&self, used: &LaneRecord) -> bool {
        let tree = |of: &Option<LaneRepository>| of.as_ref().map(|of| of.tree.clone());
        tree(&used.repository) == tree(&self.repository)
    }

    /// Takes the lane with the lowest number that no living process has, and that
    /// `is_free` holds for: whose last unit does not have it any more, by the
    /// journal. There is always one more.
    ///
    /// # Errors
    ///
    /// When its folder cannot be made or read.
    pub fn acquire(
        &self,
        mut is_free: impl FnMut(u32, Option<&LaneRecord>) -> bool,
    ) -> Result<Lane, LaneFault> {
        let mut number = 1;
        loop {
            if let Some(lane) = self.acquire_number(number, |used| is_free(number, used))? {
                return Ok(lane);
            }
            number += 1;
        }
    }

    /// Takes the lane of this number, if no living process has it and `is_free` holds.
    ///
    /// # Errors
    ///
    /// When its folder cannot be made or read.
    pub fn acquire_number(
        &self,
        number: u32,
        is_free: impl FnOnce(Option<&LaneRecord>) -> bool,
    ) -> Result<Option<Lane>, LaneFault> {
        let Some(lane) = self.lock_lane(number)? else {
            return Ok(None);
        };
        let used = LaneRecord::read(&lane.folder)?;
        let is_here = used.as_ref().is_none_or(|used| self.is_own_lane(used));
        Ok((is_here && is_free(used.as_ref())).then_some(lane))
    }

    /// Takes the lane of this number from any unit that had it last; none when a living
    /// process has it.
    ///
    /// # Errors
    ///
    /// When its folder cannot be made or read.
    pub fn reacquire(&self, number: u32) -> Result<Option<Lane>, LaneFault> {
        for _ in 0..LOOKS_AT_DEAD {
            if let Some(lane) = self.lock_lane(number)? {
                return Ok(Some(lane));
            }
            let holder = input::read_file(self.lane_folder(number).join("lock"));
            let holder = holder
                .ok()
                .and_then(|text| serde_json::from_slice(&text).ok());
            if !holder.is_some_and(|holder: ProcessIdentity| has_ended(&holder)) {
                return Ok(None);
            }
            pause(LOOK_TIME);
        }
        Ok(None)
    }

    /// The lanes that there are, with what is known of each.
    ///
    /// # Errors
    ///
    /// When the pool cannot be read.
    pub fn list_lanes(&self) -> Result<Vec<(u32, Option<LaneRecord>)>, LaneFault> {
        let fault = |error| file_fault_at(&self.folder)(error);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(fault)? {
            let name = entry.map_err(fault)?.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            if let Some(number) = number {
                found.push((number, LaneRecord::read(&self.lane_folder(number))?));
            }
        }
        found.sort_by_key(|(number, _)| *number);
        Ok(found)
    }

    /// The first port of a lane.
    pub(super) fn port_base(&self, lane: u32) -> u32 {
        let first = self.settings.ports.map_or(PORTS_BEGIN, u32::from);
        first + PORTS_A_LANE * (lane - 1)
    }

    /// The worktree of a lane, whether a unit has the lane or not.
    #[must_use]
    pub fn tree_of_lane(&self, number: u32) -> PathBuf {
        let folder = self.lane_folder(number);
        let named = folder.join(format!("{}-{number}", self.name));
        find_worktree_in(&folder, number).unwrap_or(named)
    }

    /// The plan file of a lane as it was read there last.
    #[must_use]
    pub fn last_read_plan(&self, number: u32) -> LastReadPlan {
        LastReadPlan::for_lane(&self.lane_folder(number))
    }

    fn lane_folder(&self, number: u32) -> PathBuf {
        self.folder.join(number.to_string())
    }

    /// Locks a lane anew whose folder was removed under who has it: the lock went with
    /// that.
    pub(super) fn relock_if_removed(&self, lane: &Lane) -> Result<(), LaneFault> {
        let mut held = lane.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if is_same_file(&held, &lane.folder.join("lock")) {
            return Ok(());
        }
        // Who looks for a free lane has each one for a moment.
        let mut looks = 0..LOOKS_AT_DEAD;
        let anew = loop {
            if let Some(anew) = self.lock_lane(lane.number)? {
                break anew;
            }
            if looks.next().is_none() {
                return Err(LaneFault::NotOurs {
                    path: lane.tree.clone(),
                    why: "it was removed, and another process has it by now",
                });
            }
            pause(LOOK_TIME);
        };
        *held = anew
            .lock
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(())
    }

    /// Locks a lane; none where another one has.
    fn lock_lane(&self, number: u32) -> Result<Option<Lane>, LaneFault> {
        let folder = self.lane_folder(number);
        let path = folder.join("lock");
        self.project
            .resolve_inside(&folder)
            .map_err(file_fault_at(&folder))?;
        let lanes = self.project.tree_folder();
        if self.folder.starts_with(&lanes) && !self.folder.is_dir() {
            // `git clean -x` in the main work tree took all lanes, and what hides them.
            let made = self.project.create_tree_folder();
            made.map_err(file_fault_at(&lanes))?;
        }
        loop {
            create_own_folder(&folder).map_err(file_fault_at(&folder))?;
            let file = match open_private_file(&path) {
                // The lane was removed a moment ago.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                found => found.map_err(file_fault_at(&path))?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(file_fault_at(&path)(error)),
            }
            // The lock file of a lane that was removed meanwhile locks nothing.
            if !is_same_file(&file, &path) {
                continue;
            }
            write_holder(&file).map_err(file_fault_at(&path))?;
            return Ok(Some(Lane {
                number,
                tree: self.tree_of_lane(number),
                folder,
                lock: Mutex::new(file),
            }));
        }
    }
}

/// The worktree of a lane that is there already: the project may have had another
/// name when it was made.
fn find_worktree_in(folder: &Path, number: u32) -> Option<PathBuf> {
    let end = format!("-{number}");
    let entries = fs::read_dir(folder).ok()?.flatten();
    // A link is no worktree that piton made.
    let own = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders = own.map(|entry| entry.path());
    folders.find(|path| path.to_str().is_some_and(|path| path.ends_with(&end)))
}

/// The name of a folder, as every tool takes it for the name of a project.
fn safe_folder_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
        true => c,
        false => '-',
    };
    let name: String = name.chars().map(plain).collect();
    match name.trim_matches('-') {
        "" => "project".to_owned(),
        name => name.to_owned(),
    }
}

fn open_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_own_file(path, options.create(true).truncate(false).write(true))
}

/// Whether this is the file that lies there now.
fn is_same_file(file: &File, path: &Path) -> bool {
    let there = fs::metadata(path).map(|found| (found.dev(), found.ino()));
    let here = file.metadata().map(|found| (found.dev(), found.ino()));
    matches!((there, here), (Ok(there), Ok(here)) if there == here)
}

fn write_holder(mut file: &File) -> io::Result<()> {
    let holder = serde_json::to_vec(&current_process())?;
    file.rewind()?;
    file.write_all(&holder)?;
    file.set_len(holder.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_named_after_its_project_whatever_stands_in_that_name() {
        for (root, name) in [
            ("/home/ada/shop", "shop"),
            ("/home/ada/My Shop (2)", "My-Shop--2"),
            ("/home/ada/-x.y", "x-y"),
            ("/", "project"),
            ("/home/ada/日本", "project"),
        ] {
            assert_eq!(safe_folder_name(Path::new(root)), name);
        }
    }
}
