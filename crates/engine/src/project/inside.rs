//! Nothing of a project is opened or replaced through a link that leads out of it.
//!
//! A repository that was cloned may hold links to anything of the user's. What is
//! named by the project, by a plan or by piton itself is resolved here before it is
//! opened. What a user typed is not: see `docs/design/0045-links-stay-inside.md`.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use piton_store::group_access::share_with_group;
use rustix::fs::OFlags;

use crate::world::input;

/// The folder in which a project keeps its progress.
pub(super) const HOME: &str = ".piton";
/// The modes of folders and files in it, where no group shares it.
pub(crate) const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// So many links and missing folders are followed on the way to a file.
const STEPS_MAX: u32 = 64;

/// A link on the way to a file that leads to no place in the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutsideLink {
    link: PathBuf,
    /// Where it leads, as it says; none where the path itself leaves the project.
    to: Option<PathBuf>,
}

impl fmt::Display for OutsideLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let link = self.link.display();
        match &self.to {
            Some(to) => write!(
                f,
                "{link} is a link to {}, which is no place in the project",
                to.display()
            ),
            None => write!(f, "{link} is no place in the project"),
        }
    }
}

impl std::error::Error for OutsideLink {}

impl OutsideLink {
    /// The link that an error is about; none for another error.
    pub(crate) fn of_error(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Whether it is a link, and not the path itself that leaves the project.
    pub(crate) fn is_link(&self) -> bool {
        self.to.is_some()
    }
}

/// Where the file at `path` is, which must be below one of the roots if it is named so.
///
/// # Errors
///
/// [`OutsideLink`] when a link on the way leads out of them, or into what git or piton
/// keep there.
pub(crate) fn resolve_within(roots: &[&Path], path: &Path) -> io::Result<PathBuf> {
    let canonical = || fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let below = roots
        .iter()
        .filter_map(|root| Some((*root, path.strip_prefix(root).ok()?)))
        .min_by_key(|(_, below)| below.as_os_str().len());
    let Some((root, below)) = below else {
        return Ok(canonical());
    };
    let Some(link) = find_detour(root, below) else {
        return Ok(path.to_owned());
    };
    let is_homes = below.starts_with(HOME);
    let real = resolve_missing(path, STEPS_MAX);
    let is_inside = real.is_ok_and(|real| {
        let mut roots = roots.iter().filter_map(|root| fs::canonicalize(root).ok());
        roots.any(|root| is_open_place(&root, &real, is_homes))
    });
    if is_inside {
        Ok(canonical())
    } else {
        Err(io::Error::other(link))
    }
}

/// The same for a path that a file of the project names, not a user: it must lie below
/// one of the roots.
///
/// # Errors
///
/// [`OutsideLink`] where it does not, and as [`resolve_within`].
pub(crate) fn resolve_named_within(roots: &[&Path], path: &Path) -> io::Result<PathBuf> {
    if roots.iter().any(|root| path.starts_with(root)) {
        return resolve_within(roots, path);
    }
    Err(io::Error::other(OutsideLink {
        link: path.to_owned(),
        to: None,
    }))
}

/// The text of a file around a plan, by its path from the folder of the plan, where `*` is
/// any one folder. It lies in that folder or in the one above: no link is followed out of
/// there. None where there is no such file, or it cannot be read.
pub(crate) fn read_beside(folder: &Path, path: &str) -> Option<String> {
    let roots = [folder, folder.parent()?];
    let paths = input::expand_path(folder, path);
    paths.iter().find_map(|path| {
        let inside = resolve_within(&roots, path).ok()?;
        input::read_text(&inside).ok()
    })
}

/// Where the file at `path` is, which must be below `home` in `folder`, git's own one.
///
/// # Errors
///
/// [`OutsideLink`] when a link on the way leads out of that.
pub(crate) fn resolve_below(folder: &Path, home: &str, path: &Path) -> io::Result<PathBuf> {
    let below = path.strip_prefix(folder).unwrap_or(path);
    let Some(detour) = find_detour(folder, below) else {
        return Ok(path.to_owned());
    };
    let home = fs::canonicalize(folder).map(|folder| folder.join(home));
    let real = resolve_missing(path, STEPS_MAX);
    match (real, home) {
        (Ok(real), Ok(home)) if real.starts_with(&home) => Ok(real),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => Err(io::Error::other(OutsideLink {
            link: folder.join(detour.link),
            ..detour
        })),
    }
}

/// Whether a file lies below a root, and not in what git or piton keep there.
fn is_open_place(root: &Path, real: &Path, is_homes: bool) -> bool {
    let Ok(below) = real.strip_prefix(root) else {
        return false;
    };
    !is_in_git_folder(below) && (is_homes || !below.starts_with(HOME))
}

fn is_in_git_folder(below: &Path) -> bool {
    let mut parts = below.components();
    parts.any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// Refuses a place that a project names for what it makes, where that lies in the folder
/// of git.
///
/// # Errors
///
/// [`OutsideLink`] where it does.
pub(crate) fn refuse_git_folder(below: &Path) -> io::Result<()> {
    if !is_in_git_folder(below) {
        return Ok(());
    }
    let link = below.to_owned();
    Err(io::Error::other(OutsideLink { link, to: None }))
}

/// The first link on the way, or the path itself where it goes up.
fn find_detour(root: &Path, below: &Path) -> Option<OutsideLink> {
    let goes_up = |part| matches!(part, Component::ParentDir);
    if below.components().any(goes_up) {
        let link = below.to_owned();
        return Some(OutsideLink { link, to: None });
    }
    let mut path = root.to_owned();
    for part in below.components() {
        path.push(part);
        // Where nothing is, there is nothing below it.
        if fs::symlink_metadata(&path).ok()?.is_symlink() {
            let link = path.strip_prefix(root).unwrap_or(&path).to_owned();
            let to = fs::read_link(&path).ok();
            return Some(OutsideLink { link, to });
        }
    }
    None
}

/// Where a path leads, also where nothing is there yet.
fn resolve_missing(path: &Path, steps: u32) -> io::Result<PathBuf> {
    let error = match fs::canonicalize(path) {
        Ok(real) => return Ok(real),
        Err(error) => error,
    };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(error);
    };
    if error.kind() != io::ErrorKind::NotFound || steps == 0 {
        return Err(error);
    }
    match fs::read_link(path) {
        Ok(to) => resolve_missing(&folder.join(to), steps - 1),
        Err(_) => Ok(resolve_missing(folder, steps - 1)?.join(name)),
    }
}

/// Opens a file that piton keeps for itself, with these options: its name is not
/// followed where it is a link, and a new one is for this user alone,
/// or for the group of its folder.
///
/// # Errors
///
/// [`OutsideLink`] where it is one, or when it cannot be opened or is no regular file.
pub(crate) fn open_own_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // A named pipe in its place is refused, and not waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = options
        .custom_flags(flags.bits().cast_signed())
        .mode(PRIVATE_FILE)
        .open(path);
    let opened = opened.and_then(|file| {
        input::refuse_special(&file.metadata()?)?;
        share_with_group(path);
        Ok(file)
    });
    opened.map_err(|error| match fs::read_link(path) {
        Ok(to) => io::Error::other(OutsideLink {
            link: path.to_owned(),
            to: Some(to),
        }),
        Err(_) => error,
    })
}

/// Makes a folder of the home, and those above it, if it is not there: for this user
/// alone, or for the group of the folder above.
///
/// # Errors
///
/// When it cannot be made.
pub(crate) fn create_own_folder(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent().filter(|above| !above.is_dir()) {
        create_own_folder(above)?;
    }
    match DirBuilder::new().mode(PRIVATE_FOLDER).create(folder) {
        Err(error) if !folder.is_dir() => return Err(error),
        Ok(()) | Err(_) => share_with_group(folder),
    };
    Ok(())
}

/// Writes a file that piton keeps for itself, as [`open_own_file`] opens it.
///
/// # Errors
///
/// As [`open_own_file`], or when it cannot be written.
pub(crate) fn write_own_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    open_own_file(path, options)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[track_caller]
    fn check(link: &str, to: &str, path: &str, expected: Result<(), &str>) {
        let above = tempfile::tempdir().expect("a folder");
        let root = above.path().join("project");
        for folder in [
            "project/.git/hooks",
            "project/kept",
            "project/.piton",
            "elsewhere",
        ] {
            fs::create_dir_all(above.path().join(folder)).expect("made");
        }
        symlink(&root, above.path().join("door")).expect("linked");
        let to = to.replace("ABOVE", &above.path().to_string_lossy());
        symlink(&to, root.join(link)).expect("linked");
        for root in [&root, &above.path().join("door")] {
            let found = resolve_within(&[root], &root.join(path));
            let found = found.map(drop).map_err(|error| error.to_string());
            let said = found
                .as_ref()
                .map_err(|error| error.split(' ').next().unwrap_or(""));
            assert_eq!(said.copied(), expected, "{link} -> {to}: {found:?}");
        }
    }

    #[test]
    fn what_stays_inside_is_followed_and_nothing_else() {
        check("a", "kept/x", "a", Ok(()));
        check("a", "kept", "a/b/c", Ok(()));
        check("a", "ABOVE/project/kept", "a/x", Ok(()));
        check("a", "../project/kept", "a/x", Ok(()));
        check("a", "ABOVE/door/kept", "a/x", Ok(()));
        check("a", "nowhere", "b", Ok(()));
        check("a", "../elsewhere", "a", Err("a"));
        check("a", "../elsewhere", "a/b/c", Err("a"));
        check("kept/a", "../../elsewhere/new", "kept/a", Err("kept/a"));
        check("a", "ABOVE/elsewhere/x", "a", Err("a"));
        check("a", "a", "a", Err("a"));
        check("a", ".git/config", "a", Err("a"));
        check("a", "kept/../.git/hooks/new", "a", Err("a"));
        check("a", ".piton/config.toml", "a", Err("a"));
        check("a", "kept", "../elsewhere/x", Err("../elsewhere/x"));
        check(".piton/a", "b", ".piton/a", Ok(()));
        check(".piton/a", "../../elsewhere", ".piton/a", Err(".piton/a"));
    }
}
