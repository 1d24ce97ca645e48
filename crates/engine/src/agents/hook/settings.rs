//! The settings of agent programs in which hooks are named: where they are, and
//! what piton puts into them.

use std::path::{Path, PathBuf};

use piton_formats::agent_hooks::{Hook, render_settings_argument};

use crate::agents::known_program::{HookEventKind, HookFormat, KnownProgram};
use crate::agents::program_table::KNOWN_PROGRAMS;
use crate::failure::Failure;
use crate::project::Project;
use crate::world::World;

/// What marks a hook that `piton run` gave to the process of an agent.
pub const FROM_RUN: &str = "--from-run";
/// The variable of such a process: the attempt for which it got its hooks.
pub const HOOKS_VARIABLE: &str = "PITON_HOOKS";

/// Which hook it is that a program calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOrigin {
    /// One of the program's settings.
    Settings,
    /// One that `piton run` gave to the process.
    Run,
}

/// A program that has hooks.
#[derive(Clone, Copy, Debug)]
pub struct HookProgram {
    /// The program.
    pub program: &'static KnownProgram,
    format: HookFormat,
}

/// Whose settings are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsScope {
    /// Those of the project.
    Project,
    /// Those of the user, for all projects.
    User,
}

impl HookProgram {
    /// Those that piton knows.
    pub fn all() -> impl Iterator<Item = Self> {
        KNOWN_PROGRAMS.iter().copied().filter_map(|program| {
            let format = program.hooks?;
            Some(Self { program, format })
        })
    }

    /// That of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::all().find(|hooks| hooks.program.name == name)
    }

    /// Where its hooks are in a project: `.claude/settings.json`.
    #[must_use]
    pub fn project_file(self) -> PathBuf {
        Path::new(self.program.home.folder).join(self.format.file)
    }

    /// What must be done in it before it runs new hooks.
    #[must_use]
    pub fn next_step(self) -> Option<&'static str> {
        self.format.next_step
    }

    /// The file of its hooks.
    ///
    /// # Errors
    ///
    /// When no variable says where the user's home is.
    pub fn settings_file(self, world: &World, whose: SettingsScope) -> Result<PathBuf, Failure> {
        let home = self.program.home;
        let folder = match (whose, world.var(home.variable)) {
            (SettingsScope::Project, _) => {
                let project = Project::find(world, &world.cwd);
                return Ok(project.work_tree.join(self.project_file()));
            }
            (SettingsScope::User, Some(named)) => world.resolve_path(named).join(home.below),
            (SettingsScope::User, None) => {
                let user = world.var("HOME").ok_or_else(|| {
                    Failure::new("usage", "HOME is not set, so your settings cannot be found")
                        .with_hint(format!("set HOME, or {}", home.variable))
                })?;
                world.resolve_path(user).join(home.folder)
            }
        };
        Ok(folder.join(self.format.file))
    }

    /// The hooks, each starting `piton`, as a shell reads it.
    #[must_use]
    pub fn hooks(self, piton: &str) -> Vec<Hook> {
        let events = self.format.events.iter();
        let hooks = events.map(|(event, _)| Hook {
            event,
            command: format!("{piton} hook {event}"),
            timeout: self.format.timeout,
        });
        hooks.collect()
    }

    /// The settings of one process that `piton run` starts, in one line, with the
    /// hooks that have something to do there: the runner itself reads which tools
    /// are called and how the session ends.
    #[must_use]
    pub fn settings_of_process(self, piton: &str) -> String {
        let events = self.format.events.iter();
        let needed = events.filter(|(_, kind)| match kind {
            HookEventKind::SessionStart | HookEventKind::Stop => true,
            HookEventKind::Called | HookEventKind::SessionEnd | HookEventKind::Quiet => false,
        });
        let hooks = needed.map(|(event, _)| Hook {
            event,
            command: format!("{piton} hook {event} {FROM_RUN}"),
            timeout: self.format.timeout,
        });
        render_settings_argument(&hooks.collect::<Vec<_>>())
    }
}

/// How a shell starts this piton: by its name where it is the first one on
/// `PATH`, else by its path.
#[must_use]
pub fn piton_command(world: &World) -> String {
    match find_on_path(world) {
        Some(_) => "piton".to_owned(),
        None => piton_path_command(world),
    }
}

/// How a shell starts this piton by its path, whatever its `PATH` is: that on `PATH`
/// where it leads here, since that of an installed version may go with the version.
#[must_use]
pub fn piton_path_command(world: &World) -> String {
    let linked = find_on_path(world).filter(|path| path.is_absolute());
    let path = linked.or_else(|| world.program_path());
    path.map_or_else(|| "piton".to_owned(), |path| quote_path(&path))
}

/// The first `piton` on `PATH`, where it is this program.
fn find_on_path(world: &World) -> Option<PathBuf> {
    let own = world.program_path()?;
    let path = world.var("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(path).map(|folder| folder.join("piton"));
    let first = found.find(|path| path.is_file())?;
    let is_own = std::fs::canonicalize(&first).is_ok_and(|path| path == own);
    is_own.then_some(first)
}

/// A path as a shell reads it back.
fn quote_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%".contains(c);
    if text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_one_word() {
        assert_eq!(quote_path(Path::new("/usr/bin/piton")), "/usr/bin/piton");
        assert_eq!(quote_path(Path::new("/a b/piton")), "'/a b/piton'");
        assert_eq!(quote_path(Path::new("/a'b/piton")), "'/a'\\''b/piton'");
    }

    #[test]
    fn what_is_written_is_known_again() {
        for program in HookProgram::all() {
            for piton in ["piton", "/usr/bin/piton", "'/a b/piton'"] {
                for hook in program.hooks(piton) {
                    assert!(piton_formats::agent_hooks::is_piton_command(&hook.command));
                    assert!(super::super::event::HookEventKind::parse(hook.event).is_some());
                }
            }
        }
    }
}
