//! Where a store lies: its files, and file systems that will not do.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::fault::io_fault;
use crate::group_access::share_with_group;
use crate::store::{FaultKind, StoreFault};

/// The files of a store.
#[derive(Clone, Debug)]
pub(super) struct StorePaths {
    /// The folder.
    pub(super) dir: PathBuf,
    /// The database.
    pub(super) db: PathBuf,
}

/// The mode of each of them, where the folder is no group's: the journal is the user's
/// alone.
const PRIVATE: u32 = 0o600;

/// Opens a file of a store, for its user alone or for the group of its folder.
pub(super) fn open_store_file(path: &Path, options: &mut OpenOptions) -> std::io::Result<File> {
    let file = options.mode(PRIVATE).open(path)?;
    share_with_group(path);
    Ok(file)
}

/// Which file a path names just now: device and inode.
pub(super) type FileIdentity = (u64, u64);

impl StorePaths {
    pub(super) fn new(dir: &Path) -> Self {
        // A bare relative path could be taken for a URI by SQLite.
        let dir = if dir.is_absolute() {
            dir.to_owned()
        } else {
            Path::new(".").join(dir)
        };
        Self {
            db: dir.join("journal.db"),
            dir,
        }
    }

    /// The write-ahead log, as SQLite names it.
    pub(super) fn wal_path(&self) -> PathBuf {
        self.dir.join("journal.db-wal")
    }

    /// Makes the names of the database and of its log durable before anything is
    /// written to them.
    ///
    /// A log with content proves that the process which wrote it did this before, so
    /// that every later process only looks at the length of the log.
    pub(super) fn ensure_log(&self) -> Result<(), StoreFault> {
        let wal = self.wal_path();
        if fs::metadata(&wal).is_ok_and(|meta| meta.len() > 0) {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        let made = open_store_file(&wal, options.append(true).create(true));
        made.map_err(|error| io_fault("create", &wal, error))?;
        self.sync_dir()
    }

    /// What was acknowledged last: see [`super::acknowledged`].
    pub(super) fn head_path(&self) -> PathBuf {
        self.dir.join("journal.head")
    }

    /// What was found gone of it.
    pub(super) fn losses_path(&self) -> PathBuf {
        self.dir.join("journal.lost")
    }

    /// What a writer locks whose turn it is: see [`super::queue`].
    pub(super) fn lock_path(&self) -> PathBuf {
        self.dir.join("journal.lock")
    }

    /// What the next one locks.
    pub(super) fn gate_path(&self) -> PathBuf {
        self.dir.join("journal.queue")
    }

    /// Which file the database is just now; none when there is none.
    ///
    /// Never opens it: closing a second handle would give up the locks that
    /// SQLite holds on it in this process.
    pub(super) fn file_identity(&self) -> Result<Option<FileIdentity>, StoreFault> {
        match fs::metadata(&self.db) {
            Ok(meta) => Ok(Some((meta.dev(), meta.ino()))),
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(io_fault("look at", &self.db, error)),
        }
    }

    /// The fault of a store that is not there.
    pub(super) fn missing_fault(&self) -> StoreFault {
        StoreFault::without_source(
            FaultKind::Missing,
            format!("there is no journal at {}", self.db.display()),
        )
    }

    /// Makes what was done to the names in the folder durable.
    pub(super) fn sync_dir(&self) -> Result<(), StoreFault> {
        sync_dir(&self.dir)
    }
}

/// Gives a finished file its own name; false when that name is taken.
pub(super) fn link_without_replacing(new: &Path, to: &Path) -> Result<bool, StoreFault> {
    use std::io::ErrorKind;
    let linked = match fs::hard_link(new, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no links.
        Err(_) => rename_without_replacing(new, to),
    };
    match linked {
        Ok(()) => {
            // What stays of it is swept by the next one to make a store here.
            drop(fs::remove_file(new));
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            drop(fs::remove_file(new));
            Ok(false)
        }
        Err(error) => Err(StoreFault::new(
            FaultKind::Io,
            format!("cannot create {}", to.display()),
            error,
        )),
    }
}

#[cfg(target_os = "linux")]
fn rename_without_replacing(new: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, new, CWD, to, RenameFlags::NOREPLACE).map_err(std::io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn rename_without_replacing(new: &Path, to: &Path) -> std::io::Result<()> {
    fs::hard_link(new, to)
}

/// Makes an empty file that other users cannot read, for SQLite to fill. One of a store
/// is shared with the group of its folder then; a backup is not.
pub(super) fn create_private_file(path: &Path) -> Result<(), StoreFault> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(PRIVATE);
    let made = options.open(path);
    made.map(drop)
        .map_err(|error| io_fault("create", path, error))
}

/// Makes what was done to the names in a folder durable.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreFault> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|error| io_fault("flush the folder", dir, error))
}

/// Refuses a folder on a file system whose locks do not hold between machines.
#[cfg(target_os = "linux")]
pub(super) fn refuse_network_fs(dir: &Path) -> Result<(), StoreFault> {
    let Ok(found) = rustix::fs::statfs(dir) else {
        return Ok(());
    };
    let magic = (found.f_type as u64) & 0xFFFF_FFFF;
    let kind = if magic == FUSE { fuse_kind(dir) } else { None };
    match network_fs_name(magic, kind.as_deref()) {
        Some(name) => Err(StoreFault::without_source(
            FaultKind::NetworkFileSystem,
            format!(
                "{} lies on a network file system ({name}), on which locks do not hold: keep the journal on a local disk, or in PostgreSQL",
                dir.display()
            ),
        )),
        None => Ok(()),
    }
}

/// Refuses a folder on a file system whose locks do not hold between machines.
#[cfg(not(target_os = "linux"))]
pub(super) fn refuse_network_fs(_dir: &Path) -> Result<(), StoreFault> {
    Ok(())
}

#[cfg(target_os = "linux")]
const FUSE: u64 = 0x6573_5546;

/// The name of a network file system, by the number that Linux gives it
/// (statfs(2)) and, for those that run outside the kernel, by its kind.
#[cfg(target_os = "linux")]
fn network_fs_name(magic: u64, fuse_kind: Option<&str>) -> Option<&'static str> {
    const FUSE_KINDS: [&str; 9] = [
        "sshfs",
        "glusterfs",
        "s3fs",
        "rclone",
        "davfs",
        "ceph",
        "gcsfuse",
        "mount-s3",
        "juicefs",
    ];
    match magic {
        0x6969 => Some("NFS"),
        0x517B | 0xFE53_4D42 | 0xFF53_4D42 => Some("SMB"),
        0x0102_1997 => Some("9P"),
        0x00C3_6400 => Some("Ceph"),
        0x5346_414F | 0x6B41_4653 => Some("AFS"),
        0x0BD0_0BD0 => Some("Lustre"),
        FUSE => FUSE_KINDS
            .into_iter()
            .find(|kind| fuse_kind.is_some_and(|found| found.contains(kind))),
        _ => None,
    }
}

/// The kind of the FUSE file system of a folder, from the list of mounts.
#[cfg(target_os = "linux")]
fn fuse_kind(dir: &Path) -> Option<String> {
    let dev = fs::metadata(dir).ok()?.dev();
    let dev = format!("{}:{}", rustix::fs::major(dev), rustix::fs::minor(dev));
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts
        .lines()
        .find(|line| line.split(' ').nth(2) == Some(&dev))?;
    line.split(" - ")
        .nth(1)?
        .split(' ')
        .next()
        .map(str::to_owned)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(magic: u64, fuse_kind: Option<&str>, expect: Option<&str>) {
        assert_eq!(network_fs_name(magic, fuse_kind), expect);
    }

    #[test]
    fn file_systems_of_other_machines_are_known_by_number_or_kind() {
        check(0x6969, None, Some("NFS"));
        check(0xFF53_4D42, None, Some("SMB"));
        check(FUSE, Some("fuse.sshfs"), Some("sshfs"));
        check(FUSE, Some("fuse.rclone"), Some("rclone"));
    }

    #[test]
    fn local_file_systems_will_do() {
        check(0xEF53, None, None);
        check(0x5846_5342, None, None);
        check(0x0102_1994, None, None);
        check(FUSE, Some("fuseblk"), None);
        check(FUSE, None, None);
    }

    #[test]
    fn this_very_folder_will_do() {
        refuse_network_fs(Path::new(".")).expect("sources are built on a local disk");
    }
}
