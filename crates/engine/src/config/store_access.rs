//! Who may use the home of a project: its user alone, or a group of users as well.
//!
//! How single files follow: see [`piton_store::group_access`].

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use piton_store::group_access::{GROUP_FOLDER, change_file, is_group_folder, open_to_group};

use super::Config;
use super::trust::{TrustCheck, group_part};
use crate::failpoint;
use crate::failure::Failure;
use crate::project::Project;
use crate::project::inside::PRIVATE_FOLDER;
use crate::world::{World, input};

/// What of a mode is for other users, and what gives new files the group of a folder.
const OTHERS: u32 = 0o077;
const SET_GROUP: u32 = 0o2000;

/// Opens what piton keeps of a project to the group of the settings, or closes it to all
/// others: older versions left that to the umask. Files are looked at only where the home
/// changes, and a person is told of it.
///
/// # Errors
///
/// `usage` where there is no such group, or it cannot be given the home.
pub(crate) fn apply_store_access(world: &World, project: &Project) -> Result<(), Failure> {
    let Ok(found) = fs::metadata(&project.home) else {
        return Ok(());
    };
    // Another user who works here can change nothing, and has settings of its own trust.
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let group = match Config::load(project) {
        Ok(config) => config.store.group,
        // A command that needs the settings reports them; until then all stays.
        Err(_) if is_group_folder(found.mode()) => return Ok(()),
        Err(_) => None,
    };
    let shown = format!("the store in {}", project.relative_path(&project.home));
    let Some(name) = group.filter(|group| is_group_trusted(world, project, group)) else {
        if found.mode() & (OTHERS | SET_GROUP) != 0 {
            close_home(project);
            if is_group_folder(found.mode()) {
                world.warn(format!("{shown} is closed to other users"));
            }
        }
        return Ok(());
    };
    let group = find_group(&name)?;
    let is_open = |found: &Metadata| is_group_folder(found.mode()) && found.gid() == group;
    let unopened = |error| {
        let what = format!("{shown} cannot be given to the group `{name}`");
        group_failure(&what).with_source(error)
    };
    if let Some(folder) = settings_folder(project)
        && !fs::metadata(&folder).is_ok_and(|found| is_open(&found))
    {
        open_folder(&folder, group).map_err(unopened)?;
    }
    if !is_open(&found) {
        open_folder(&project.home, group).map_err(unopened)?;
        world.warn(format!("{shown} is open to the group `{name}`"));
    }
    Ok(())
}

/// A repository that was cloned opens no journal to others.
fn is_group_trusted(world: &World, project: &Project, group: &str) -> bool {
    let check = TrustCheck::open(world, project);
    let is_trusted = check.untrusted(vec![group_part(group)]).is_empty();
    if !is_trusted {
        world.warn(format!(
            "[store] of .piton/config.toml opens the journal to the group `{group}`, which is not trusted here: it stays closed until `piton trust`"
        ));
    }
    is_trusted
}

/// The folder of the settings, which every user who records reads, where that is not the
/// home.
fn settings_folder(project: &Project) -> Option<PathBuf> {
    let folder = project.resolve_inside(&project.tree_folder()).ok()?;
    (folder != project.home && folder.is_dir()).then_some(folder)
}

fn close_home(project: &Project) {
    let home = &project.home;
    // No other user is in it while its files change, and the next command sees by the
    // bit whether all of them have.
    set_mode(home, PRIVATE_FOLDER | SET_GROUP).ok();
    // Some file systems have no modes.
    if !fs::metadata(home).is_ok_and(|found| found.mode() & OTHERS == 0) {
        return;
    }
    let is_shared =
        |folder: &PathBuf| fs::metadata(folder).is_ok_and(|found| is_group_folder(found.mode()));
    if let Some(folder) = settings_folder(project).filter(is_shared) {
        close_files(&folder);
        set_mode(&folder, PRIVATE_FOLDER).ok();
    }
    close_files(home);
    failpoint::point("access.files-closed");
    set_mode(home, PRIVATE_FOLDER).ok();
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// The folder changes last, so that a death before it is made good for, and no other
/// user is in it while its files change.
fn open_folder(folder: &Path, group: u32) -> io::Result<()> {
    chown(folder, None, Some(group))?;
    // A user who is not in the group does not get the bit.
    set_mode(folder, PRIVATE_FOLDER | SET_GROUP)?;
    if fs::metadata(folder)?.mode() & SET_GROUP == 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    for_each_file(folder, &mut |path| open_to_group(path, group));
    failpoint::point("access.files-opened");
    set_mode(folder, GROUP_FOLDER)
}

/// Closes the files in a folder and below it to other users, as far as it can be done.
fn close_files(folder: &Path) {
    for_each_file(folder, &mut |path| {
        change_file(path, |file, found| {
            let mode = found.mode() & 0o7777 & !(OTHERS | SET_GROUP);
            set_mode(file, mode).ok();
        });
    });
}

/// Lanes have modes of their own.
fn for_each_file(folder: &Path, change: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name() == "lanes" {
            continue;
        }
        change(&entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            for_each_file(&entry.path(), change);
        }
    }
}

/// Refuses a group that is not there.
///
/// # Errors
///
/// `usage` where it is not.
pub(crate) fn check_group(name: &str) -> Result<(), Failure> {
    find_group(name).map(|_| ())
}

/// The number of a group, from its name or number.
fn find_group(name: &str) -> Result<u32, Failure> {
    // The highest number stands for none.
    if let Some(number) = name.parse().ok().filter(|number| *number != u32::MAX) {
        return Ok(number);
    }
    let groups = input::read_file_text(Path::new("/etc/group")).unwrap_or_default();
    parse_group(&groups, name).ok_or_else(|| group_failure(&format!("there is no group `{name}`")))
}

/// A line of group(5) is `name:password:number:members`.
fn parse_group(groups: &str, name: &str) -> Option<u32> {
    let mut lines = groups.lines().map(|line| line.split(':'));
    let mut line = lines.find(|line| line.clone().next() == Some(name))?;
    line.nth(2)?.parse().ok()
}

fn group_failure(what: &str) -> Failure {
    Failure::new(
        "usage",
        format!("{what}, which `group` under [store] in .piton/config.toml names"),
    )
    .with_hint("name a group of /etc/group that you are in, or the number of one that `id` shows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let groups = "root:x:0:\nagents-old:x:7:\nbroken\nagents:x:1001:ada,bo\n";
        for (name, number) in [("agents", Some(1001)), ("root", Some(0)), ("agent", None)] {
            assert_eq!(parse_group(groups, name), number, "{name}");
        }
        assert_eq!(parse_group(groups, "broken"), None);
    }
}
