//! Where a project keeps its progress, and where its work is done.
//!
//! The rules stand in `ARCHITECTURE.md` under "Where". Git's own files are
//! read directly; git is not started for this.

pub(crate) mod inside;
pub(crate) mod journal_place;
pub(crate) mod own_store;
pub(crate) mod relocation;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

use piton_store::{StoreAddress, StoreFault};

use self::inside::{
    HOME, OutsideLink, PRIVATE_FOLDER, resolve_below, resolve_named_within, resolve_within,
    write_own_file,
};
use crate::failpoint;
use crate::failure::{Failure, unreadable_file, unwritable_file};
use crate::git;
use crate::world::{World, input};

/// The folder in git's own one in which a project keeps its progress: no `git clean`
/// reaches it.
const GIT_HOME: &str = "piton";

/// The file of the journal in the home.
pub(crate) const JOURNAL: &str = "journal.db";

/// What git may never see of it.
const IGNORE: &str = "*\n!config.toml\n";

/// A project: where it is, whether or not it has a journal yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder that paths in the journal are seen from: the root of the main work
    /// tree, outside of git the folder that `.piton/` is in.
    pub root: PathBuf,
    /// The folder of the journal and of all that belongs to it: `piton/` in git's
    /// folder, or `.piton/`.
    pub home: PathBuf,
    /// Where agents, gates and git work.
    pub work_tree: PathBuf,
    /// Whether the work tree is git's.
    pub in_git: bool,
}

impl Project {
    /// Whether git tracks the file at `path`, relative to the project: each branch
    /// has its own then. True where only git can say, and false for a file of the main
    /// work tree that a linked one shares.
    #[must_use]
    pub fn is_tracked(&self, path: &str) -> bool {
        let path = self.root.join(path);
        let Ok(path) = path.strip_prefix(&self.work_tree) else {
            return false;
        };
        let says = path.to_str();
        let says = says.and_then(|path| git::is_tracked(&self.work_tree, path));
        self.in_git && says != Some(false)
    }

    /// Finds the project that `start`, a folder, belongs to.
    #[must_use]
    pub fn find(world: &World, start: &Path) -> Self {
        let git = find_git(start);
        let (root, home) = match world.var("PITON_PROJECT") {
            Some(named) => {
                let named = world.resolve_path(named);
                // As every other path of the project is named: by no link.
                let named = fs::canonicalize(&named).unwrap_or(named);
                match find_git(&named) {
                    Some(git) => locate_home(Some(&git), &named, None, None),
                    // It is what was named, whatever journal lies above.
                    None => (named.clone(), named.join(HOME)),
                }
            }
            None => {
                // A journal for all that a user or a machine has helps nobody.
                let user = world.var("HOME").map(Path::new);
                let is_project = world.cwd.parent().is_some() && user != Some(world.cwd.as_path());
                let cwd = is_project.then_some(&*world.cwd);
                locate_home(git.as_ref(), start, cwd, user)
            }
        };
        Self {
            in_git: git.is_some(),
            work_tree: git.map_or_else(|| root.clone(), |git| git.work_tree),
            root,
            home,
        }
    }

    /// Refuses a folder that only `PITON_PROJECT` names: a mistyped one must not begin a
    /// journal of its own, or stand for the project that is around it.
    ///
    /// # Errors
    ///
    /// When it names what is no folder.
    pub(crate) fn check_named(world: &World) -> Result<(), Failure> {
        let named = world
            .var("PITON_PROJECT")
            .map(|named| world.resolve_path(named));
        let Some(named) = named.filter(|named| !named.is_dir()) else {
            return Ok(());
        };
        let message = format!(
            "PITON_PROJECT names {}, which is no folder",
            named.display()
        );
        Err(Failure::new("usage", message).with_hint(
            "let it name a folder of the project, or unset it to mean the present folder",
        ))
    }

    /// Whether the project lies in a repository, wherever the command was typed.
    pub(crate) fn is_in_git(&self) -> bool {
        self.in_git || find_git(&self.root).is_some()
    }

    /// Whether the journal lies in git's own folder.
    pub(crate) fn is_kept_by_git(&self) -> bool {
        self.home.file_name().is_some_and(|name| name == GIT_HOME)
    }

    /// What of the project lies in its work tree, settings and lanes: `.piton/`. A
    /// repository without a work tree has them in the home.
    #[must_use]
    pub fn tree_folder(&self) -> PathBuf {
        if self.home.parent() == Some(&self.root) {
            self.home.clone()
        } else {
            self.root.join(HOME)
        }
    }

    /// Whether anything is known to have been recorded here. What writes asks
    /// [`Self::has_journal`].
    #[must_use]
    pub fn exists(&self) -> bool {
        self.home.join(JOURNAL).is_file()
    }

    /// Whether anything was ever recorded here.
    ///
    /// # Errors
    ///
    /// `store.fault` where that cannot be told: a folder on the way may not be searched,
    /// or what is in the place of the home or of the journal is something else.
    pub(crate) fn has_journal(&self) -> Result<bool, Failure> {
        journal_place::find_journal(&self.home)
    }

    /// Where the store of the project lies.
    ///
    /// # Errors
    ///
    /// When no back end knows such an address.
    pub fn store_address(&self) -> Result<StoreAddress, StoreFault> {
        StoreAddress::parse(self.home.as_os_str())
    }

    /// Makes the home, if it is not there; whether it was made.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made, or a link in it leads out of the project.
    pub fn create(&self) -> Result<bool, Failure> {
        self.check_home()?;
        let fresh = !self.home.is_dir();
        let fault = |error| unwritable_file(&self.home, error);
        create_private_folder(&self.home).map_err(fault)?;
        failpoint::point("project.home-made");
        if !self.is_kept_by_git() {
            relocation::set_note_aside(&self.home).map_err(fault)?;
            write_ignore_file(&self.home).map_err(fault)?;
        }
        Ok(fresh)
    }

    /// Makes `.piton/` in the work tree, which git does not see, if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub(crate) fn create_tree_folder(&self) -> io::Result<()> {
        let folder = self.tree_folder();
        if folder == self.home && self.is_kept_by_git() {
            return Ok(());
        }
        self.resolve_inside(&folder)?;
        create_private_folder(&folder)?;
        write_ignore_file(&folder)
    }

    /// A path as the journal keeps it: relative to the root where it lies below it.
    #[must_use]
    pub fn relative_path(&self, path: &Path) -> String {
        let inner = path.strip_prefix(&self.root).unwrap_or(path);
        let text = inner.to_string_lossy();
        if text.is_empty() {
            ".".to_owned()
        } else {
            text.into_owned()
        }
    }

    /// The path in the work tree that the journal keeps as `relative`; none for
    /// what lies outside of it.
    #[must_use]
    pub fn path_in_work_tree(&self, relative: &str) -> Option<String> {
        let path = self.root.join(relative);
        let path = path.strip_prefix(&self.work_tree).ok()?;
        path.to_str().map(str::to_owned)
    }

    /// The same project with its files as they lie in the work tree of the caller.
    pub(crate) fn seen_from_work_tree(&self) -> Self {
        Self {
            root: self.work_tree.clone(),
            ..self.clone()
        }
    }

    /// The path that the journal keeps as `relative`.
    #[must_use]
    pub fn absolute_path(&self, relative: &str) -> PathBuf {
        let path = self.root.join(relative);
        // `.` at the end would show in every message.
        path.components().collect()
    }
}

pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(PRIVATE_FOLDER).create(folder)
}

fn write_ignore_file(folder: &Path) -> io::Result<()> {
    let ignore = folder.join(".gitignore");
    // An empty one was left by an interrupted write; one with text belongs to a person.
    if fs::metadata(&ignore).is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    write_own_file(&ignore, IGNORE.as_bytes())
}

impl Project {
    /// Where the file at `path` is. What lies below neither root of the project was named
    /// by a user, and is not looked at.
    ///
    /// # Errors
    ///
    /// [`OutsideLink`] when a link on the way leads out of the project, or into what git
    /// or piton keep there.
    pub(crate) fn resolve_inside(&self, path: &Path) -> io::Result<PathBuf> {
        if self.is_kept_by_git()
            && let (Some(common), Ok(_)) = (self.home.parent(), path.strip_prefix(&self.home))
        {
            return resolve_below(common, GIT_HOME, path);
        }
        // The root of a repository without a work tree is git's own folder.
        let is_gits = self.tree_folder() == self.home && self.is_kept_by_git();
        let root = if is_gits { &self.work_tree } else { &self.root };
        resolve_within(&[&self.work_tree, root], path)
    }

    /// Where a file is that a file of the project names.
    ///
    /// # Errors
    ///
    /// As [`Self::resolve_inside`], and when it lies below neither root.
    pub(crate) fn resolve_named(&self, path: &Path) -> io::Result<PathBuf> {
        resolve_named_within(&[&self.work_tree, &self.root], path)
    }

    /// The bytes of a file of the project.
    ///
    /// # Errors
    ///
    /// As [`Self::resolve_inside`] and [`input::read_bytes`].
    pub(crate) fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        input::read_bytes(&self.resolve_inside(path)?)
    }

    /// The text of a file of the project.
    ///
    /// # Errors
    ///
    /// As [`Self::resolve_inside`] and [`input::read_text`].
    pub(crate) fn read_text(&self, path: &Path) -> io::Result<String> {
        input::read_text(&self.resolve_inside(path)?)
    }

    /// Refuses a home that is a link out of the project, has one in it, or is one of two.
    ///
    /// # Errors
    ///
    /// With the first of them.
    pub(crate) fn check_home(&self) -> Result<(), Failure> {
        self.check_only_journal()?;
        let refuse = |path: &Path| match self.resolve_inside(path) {
            Err(error) => Err(unreadable_file(path, error)),
            Ok(_) => Ok(()),
        };
        refuse(&self.home)?;
        // The system says with each name whether it is a link: nothing else is asked.
        for entry in fs::read_dir(&self.home).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                refuse(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// The link out of its project on the way to a plan that a user named, or to a file of
/// that; none where all stays inside, or there is no such file.
pub(crate) fn find_outside_link(world: &World, path: &Path) -> Option<OutsideLink> {
    // What a user typed may go up: that is no detour.
    let path = path.components().fold(PathBuf::new(), |mut path, part| {
        if part == Component::ParentDir {
            path.pop();
        } else {
            path.push(part);
        }
        path
    });
    let is_link = |path: &&Path| fs::symlink_metadata(path).is_ok_and(|at| at.is_symlink());
    let below_cwd = |at: &&Path| at.starts_with(&world.cwd) && **at != *world.cwd;
    // A link may lead to a project of its own: the one that counts holds the link.
    let first_link = path.ancestors().filter(below_cwd).filter(is_link).last();
    let folder = match first_link {
        Some(link) => link.parent()?,
        None if path.is_dir() => &path,
        None => path.parent()?,
    };
    let resolved = Project::find(world, folder).resolve_inside(&path);
    OutsideLink::of_error(&resolved.err()?).cloned()
}

/// What git says of a folder.
struct GitLayout {
    /// The root of the worktree that holds it.
    work_tree: PathBuf,
    /// The root of the main work tree.
    root: PathBuf,
    /// The home, unless a journal lies nearer.
    home: PathBuf,
}

/// The root and the home of the project that a folder belongs to. A journal in `.piton/`
/// counts before that in git's folder: older versions kept it there.
///
/// Outside of git it is the nearest folder above with a journal of this user, else `cwd`
/// where `start` is in it: a plan in a folder below and the commands that are typed here
/// have one journal. What lies in `user`, the folder of the user, or at the root of all
/// is for the commands that are typed there.
fn locate_home(
    git: Option<&GitLayout>,
    start: &Path,
    cwd: Option<&Path>,
    user: Option<&Path>,
) -> (PathBuf, PathBuf) {
    let Some(git) = git else {
        let user = user.and_then(|user| fs::canonicalize(user).ok());
        let is_shared = |folder: &Path| {
            let canonical = fs::canonicalize(folder).ok();
            folder.parent().is_none() || (user.is_some() && canonical == user)
        };
        let root = start
            .ancestors()
            .find(|folder| {
                is_own_home(&folder.join(HOME)) && (*folder == start || !is_shared(folder))
            })
            .or(cwd.filter(|cwd| start.starts_with(cwd)))
            .unwrap_or(start);
        return (root.to_owned(), root.join(HOME));
    };
    let above = start.ancestors();
    let here = above.take_while(|folder| folder.starts_with(&git.work_tree));
    let main = (git.root != git.work_tree).then_some(git.root.as_path());
    let nearest = here
        .chain(main)
        .find(|folder| journal_place::may_hold_journal(&folder.join(HOME)));
    match nearest {
        Some(folder) => (folder.to_owned(), folder.join(HOME)),
        None => (git.root.clone(), git.home.clone()),
    }
}

/// Whether a folder holds a journal and is this user's: anyone may make one in a folder
/// that all share, as `/tmp`.
fn is_own_home(home: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::metadata(home).is_ok_and(|found| found.is_dir() && found.uid() == user)
        && journal_place::may_hold_journal(home)
}

fn find_git(start: &Path) -> Option<GitLayout> {
    start.ancestors().find_map(|folder| {
        let dot_git = folder.join(".git");
        if dot_git.is_dir() {
            let layout = || layout_of_main(folder, &dot_git);
            return dot_git.join("HEAD").exists().then(layout);
        }
        if dot_git.is_file() {
            // Where it leads nowhere, git knows of no folder of its own.
            let unknown = || GitLayout {
                work_tree: folder.to_owned(),
                root: folder.to_owned(),
                home: folder.join(HOME),
            };
            return Some(layout_of_linked(folder, &dot_git).unwrap_or_else(unknown));
        }
        is_bare_repository(folder).then(|| layout_of_bare(folder, folder))
    })
}

fn layout_of_main(folder: &Path, common: &Path) -> GitLayout {
    GitLayout {
        work_tree: folder.to_owned(),
        root: folder.to_owned(),
        home: common.join(GIT_HOME),
    }
}

fn layout_of_bare(work_tree: &Path, common: &Path) -> GitLayout {
    GitLayout {
        work_tree: work_tree.to_owned(),
        root: common.to_owned(),
        home: common.join(GIT_HOME),
    }
}

fn is_bare_repository(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

/// A `.git` that is a file: a linked worktree shares the home of the main one,
/// a submodule is a project of its own.
fn layout_of_linked(folder: &Path, dot_git: &Path) -> Option<GitLayout> {
    let text = input::read_file_text(dot_git).ok()?;
    let git_dir = folder.join(text.strip_prefix("gitdir:")?.trim());
    let Ok(common) = input::read_file_text(git_dir.join("commondir")) else {
        let git_dir = fs::canonicalize(git_dir).ok()?;
        return Some(layout_of_main(folder, &git_dir));
    };
    let common = fs::canonicalize(git_dir.join(common.trim())).ok()?;
    let main = match common.file_name() {
        Some(name) if name == ".git" => common.parent().map(Path::to_owned),
        // Git's folder of a submodule says where that is.
        Some(_) | None => git::main_work_tree(&common),
    };
    Some(match main {
        Some(main) => GitLayout {
            work_tree: folder.to_owned(),
            root: main,
            home: common.join(GIT_HOME),
        },
        None => layout_of_bare(folder, &common),
    })
}
