//! Files of a store that a group of users shares.
//!
//! The folder is the truth: whether a file in it is for its user alone or for the group
//! as well is what the folder is. Which folder is a group's, the engine decides. The
//! design is `docs/design/0059-a-store-for-a-group.md`.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

/// The mode of a folder that is a group's: what is made in it belongs to that group.
pub const GROUP_FOLDER: u32 = 0o2770;

const SET_GROUP: u32 = 0o2000;
const OWNER: u32 = 0o700;
const OTHERS: u32 = 0o077;

/// Whether a mode is that of a folder of a group.
#[must_use]
pub fn is_group_folder(mode: u32) -> bool {
    mode & 0o7777 == GROUP_FOLDER
}

/// Gives a file or folder that was just made to the group that its folder belongs to, if
/// it belongs to one, as far as it can be done.
pub fn share_with_group(path: &Path) {
    let folder = path.parent().map(fs::symlink_metadata);
    if let Some(Ok(folder)) = folder
        && is_group_folder(folder.mode())
    {
        open_to_group(path, folder.gid());
    }
}

/// Gives a file or folder to a group, with the rights that its user has; others get none.
pub fn open_to_group(path: &Path, group: u32) {
    change_file(path, |file, found| {
        if found.gid() != group {
            // Where it stays with another group, that one gets no rights.
            let Ok(()) = chown(file, None, Some(group)) else {
                return;
            };
        }
        let mode = found.mode() & 0o7777;
        let set_group = if found.is_dir() { SET_GROUP } else { 0 };
        let wanted = (mode & !OTHERS) | ((mode & OWNER) >> 3) | set_group;
        if mode != wanted {
            fs::set_permissions(file, fs::Permissions::from_mode(wanted)).ok();
        }
    });
}

/// Changes what is at `path`, under a path that stays that of this file: in a folder that
/// others write, a link may take its place meanwhile. What a link leads to is not changed.
#[cfg(target_os = "linux")]
pub fn change_file(path: &Path, change: impl FnOnce(&Path, &Metadata)) {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    // Unlike any other handle, closing this one gives up no lock of SQLite.
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::NOFOLLOW;
    let mut options = fs::OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    let opened = options
        .open(path)
        .and_then(|file| Ok((file.metadata()?, file)));
    if let Ok((found, file)) = opened
        && !found.is_symlink()
    {
        let same = format!("/proc/self/fd/{}", file.as_raw_fd());
        change(Path::new(&same), &found);
    }
}

/// Changes what is at `path`. What a link leads to is not changed.
#[cfg(not(target_os = "linux"))]
pub fn change_file(path: &Path, change: impl FnOnce(&Path, &Metadata)) {
    if let Ok(found) = fs::symlink_metadata(path)
        && !found.is_symlink()
    {
        change(path, &found);
    }
}
