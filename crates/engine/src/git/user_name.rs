//! `user.name`, read from git's configuration files. Git is not started.
//!
//! The order is git's: what stands in the repository holds over what stands in
//! the user's files, and that over the system's. Not looked at: `includeIf`,
//! `config.worktree`, and settings in the environment or on a command line.

use std::fs::{self};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::checked_out::common_dir;
use super::settings::parse_settings;
use crate::world::World;
use crate::world::input;

/// A file that is included may include others, so many levels deep.
const INCLUDES_MAX: u32 = 5;
/// No configuration that people write is larger.
const BYTES_MAX: u64 = 1 << 20;
/// Most are smaller.
const EXPECTED_BYTES: usize = 4 << 10;

/// The name that git would sign a commit with, made in the present folder; none
/// where no file says one.
#[must_use]
pub fn user_name(world: &World) -> Option<String> {
    let home = world.var("HOME").map(Path::new);
    let own = repository_config(world).into_iter();
    let files = own.chain(user_configs(world)).chain(system_config(world));
    files
        .into_iter()
        .find_map(|file| name_in_file(&file, home, 0))
}

fn repository_config(world: &World) -> Option<PathBuf> {
    let git_dir = match world.var("GIT_DIR") {
        Some(git_dir) => world.resolve_path(git_dir),
        None => world.cwd.ancestors().find_map(find_git_dir_at)?,
    };
    // A linked work tree shares the configuration of the main one.
    Some(common_dir(&git_dir).join("config"))
}

fn find_git_dir_at(folder: &Path) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    if dot_git.is_file() {
        let text = input::read_text(&dot_git).ok()?;
        return Some(folder.join(text.strip_prefix("gitdir:")?.trim()));
    }
    let is_bare = folder.join("HEAD").is_file()
        && folder.join("objects").is_dir()
        && folder.join("refs").is_dir();
    is_bare.then(|| folder.to_owned())
}

/// The user's files, the one that holds first.
fn user_configs(world: &World) -> Vec<PathBuf> {
    // Set and empty, it means that there is none.
    if let Some(named) = world.env.get("GIT_CONFIG_GLOBAL") {
        let named = Some(named).filter(|named| !named.is_empty());
        return named
            .map(|named| world.resolve_path(named))
            .into_iter()
            .collect();
    }
    let home = world.var("HOME").map(PathBuf::from);
    let xdg = world.var("XDG_CONFIG_HOME").map(PathBuf::from);
    let xdg = xdg.or_else(|| Some(home.as_ref()?.join(".config")));
    let files = [
        home.map(|home| home.join(".gitconfig")),
        xdg.map(|xdg| xdg.join("git/config")),
    ];
    files.into_iter().flatten().collect()
}

fn system_config(world: &World) -> Option<PathBuf> {
    let off = world.var("GIT_CONFIG_NOSYSTEM");
    if off.is_some_and(|off| !matches!(off, "0" | "false" | "no" | "off")) {
        return None;
    }
    let named = world.var("GIT_CONFIG_SYSTEM").unwrap_or("/etc/gitconfig");
    Some(world.resolve_path(named))
}

/// The last name that a file sets, the files that it includes counted in.
fn name_in_file(file: &Path, home: Option<&Path>, depth: u32) -> Option<String> {
    if depth > INCLUDES_MAX {
        return None;
    }
    let bytes = read_beginning(file).ok()?;
    let mut name = None;
    for setting in parse_settings(&String::from_utf8_lossy(&bytes)) {
        let found = match (setting.section.as_str(), setting.key.as_str()) {
            _ if setting.subsection.is_some() => None,
            ("user", "name") => Some(setting.value).filter(|name| !name.trim().is_empty()),
            ("include", "path") => {
                let included = include_path(file, home, &setting.value);
                included.and_then(|included| name_in_file(&included, home, depth + 1))
            }
            _ => None,
        };
        name = found.or(name);
    }
    name
}

/// The beginning of a regular file. To open a pipe would wait for a writer.
fn read_beginning(file: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(file)?;
    if let Some(what) = input::unreadable_reason(&found) {
        return Err(io::Error::other(what));
    }
    let mut bytes = Vec::with_capacity(EXPECTED_BYTES);
    input::open_file(file)?
        .take(BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The file that a path in `file` means.
fn include_path(file: &Path, home: Option<&Path>, path: &str) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(below) => Some(home?.join(below)),
        None => Some(file.parent()?.join(path)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A folder with these files, and the world of a process in `cwd` below it.
    fn world(cwd: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, World) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders");
            fs::write(path, text).expect("written");
        }
        fs::create_dir_all(root.join(cwd)).expect("a folder");
        let mut world = World::from_environment().expect("there is a present folder");
        world.cwd = root.join(cwd);
        let home = root.join("home").to_string_lossy().into_owned();
        Arc::make_mut(&mut world.env).clear();
        Arc::make_mut(&mut world.env).insert("HOME".to_owned(), home);
        Arc::make_mut(&mut world.env).insert("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned());
        (folder, world)
    }

    #[track_caller]
    fn check(cwd: &str, files: &[(&str, &str)], expected: Option<&str>) {
        let (folder, world) = world(cwd, files);
        assert_eq!(user_name(&world).as_deref(), expected, "{cwd}, {files:?}");
        drop(folder);
    }

    const HOME: (&str, &str) = ("home/.gitconfig", "[user]\nname = Home");
    const XDG: (&str, &str) = ("home/.config/git/config", "[user]\nname = Xdg");
    const HEAD: (&str, &str) = ("yard/.git/HEAD", "ref: refs/heads/main");
    const OWN: (&str, &str) = ("yard/.git/config", "[user]\nname = Yard");

    #[test]
    fn the_repository_holds_over_the_user_and_no_file_means_no_name() {
        check("yard", &[], None);
        check("yard", &[XDG], Some("Xdg"));
        check("yard", &[HOME, XDG], Some("Home"));
        check("yard/keel", &[HEAD, OWN, HOME], Some("Yard"));
        check(
            "yard",
            &[HEAD, ("yard/.git/config", "[user]\nname ="), HOME],
            Some("Home"),
        );
        check("elsewhere", &[HEAD, OWN, HOME], Some("Home"));
    }

    #[test]
    fn a_linked_work_tree_has_the_name_of_the_main_one() {
        let linked = [
            HEAD,
            OWN,
            ("yard/.git/worktrees/mast/commondir", "../..\n"),
            ("mast/.git", "gitdir: ../yard/.git/worktrees/mast\n"),
        ];
        check("mast/sail", &linked, Some("Yard"));
        let submodule = [
            ("yard/.git/modules/mast/config", "[user]\nname = Mast"),
            ("yard/mast/.git", "gitdir: ../.git/modules/mast"),
        ];
        check("yard/mast", &submodule, Some("Mast"));
    }

    #[test]
    fn files_that_are_included_stand_where_they_are_named() {
        let more = ("home/more", "[user]\nname = More");
        let before = (
            "home/.gitconfig",
            "[user]\nname = A\n[include]\npath = more",
        );
        let after = (
            "home/.gitconfig",
            "[include]\npath = ~/more\n[user]\nname = A",
        );
        check("yard", &[before, more], Some("More"));
        check("yard", &[after, more], Some("A"));
        let itself = (
            "home/.gitconfig",
            "[include]\npath = .gitconfig\n[user]\nname = A",
        );
        check("yard", &[itself], Some("A"));
        check(
            "yard",
            &[("home/.gitconfig", "[include]\npath = gone")],
            None,
        );
    }

    #[test]
    fn variables_of_git_name_other_files() {
        let other = ("other", "[user]\nname = Other");
        let (folder, mut world) = world("yard", &[HEAD, OWN, HOME, other]);
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        world.cwd = folder.path().join("home");
        Arc::make_mut(&mut world.env).insert("GIT_CONFIG_GLOBAL".to_owned(), path("other"));
        assert_eq!(user_name(&world).as_deref(), Some("Other"));
        Arc::make_mut(&mut world.env).insert("GIT_DIR".to_owned(), path("yard/.git"));
        assert_eq!(user_name(&world).as_deref(), Some("Yard"));
        Arc::make_mut(&mut world.env).remove("GIT_DIR");
        Arc::make_mut(&mut world.env).insert("GIT_CONFIG_GLOBAL".to_owned(), String::new());
        assert_eq!(user_name(&world), None);
        Arc::make_mut(&mut world.env).remove("GIT_CONFIG_NOSYSTEM");
        Arc::make_mut(&mut world.env).insert("GIT_CONFIG_SYSTEM".to_owned(), path("other"));
        assert_eq!(user_name(&world).as_deref(), Some("Other"));
    }

    #[test]
    fn what_is_no_file_of_settings_is_passed_over() {
        check("yard", &[("home/.gitconfig/x", ""), XDG], Some("Xdg"));
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(name_in_file(folder.path(), None, 0), None);
        assert_eq!(name_in_file(&folder.path().join("gone"), None, 0), None);
    }
}
