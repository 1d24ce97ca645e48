//! The settings of the three programs in which hooks are named: where they
//! are, and what piton puts into them.

use std::path::{Path, PathBuf};

use piton_formats::agent_hooks::Hook;

use crate::failure::Failure;
use crate::project::Project;
use crate::world::World;

/// A program that has hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookProgram {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
}

/// Whose settings are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsScope {
    /// Those of the project.
    Project,
    /// Those of the user, for all projects.
    User,
}

/// How a program keeps its hooks.
struct HookFormat {
    /// Its name, for people.
    title: &'static str,
    /// The folder of its settings, in a project and at home.
    folder: &'static str,
    /// Their file.
    file: &'static str,
    /// A variable that names the folder of the user's settings.
    variable: &'static str,
    /// What stands between that folder and the file.
    below: &'static str,
    /// The events, in the program's words.
    events: &'static [&'static str],
    /// After how long it gives a hook up, in its own unit.
    timeout: u64,
    /// What must be done before it runs them.
    then: Option<&'static str>,
}

/// What piton listens to: it has nothing to do at other events.
const EVENTS: &[&str] = &["SessionStart", "PostToolUse", "Stop", "SessionEnd"];

const CLAUDE: HookFormat = HookFormat {
    title: "Claude Code",
    folder: ".claude",
    file: "settings.json",
    variable: "CLAUDE_CONFIG_DIR",
    below: "",
    events: EVENTS,
    timeout: 15,
    then: None,
};

const CODEX: HookFormat = HookFormat {
    title: "Codex",
    folder: ".codex",
    file: "hooks.json",
    variable: "CODEX_HOME",
    below: "",
    events: EVENTS,
    timeout: 15,
    then: Some(
        "Codex runs a new hook only when you trust it: type `/hooks` in it and look at them",
    ),
};

const GEMINI: HookFormat = HookFormat {
    title: "Gemini CLI",
    folder: ".gemini",
    file: "settings.json",
    variable: "GEMINI_CLI_HOME",
    below: ".gemini",
    events: &["SessionStart", "AfterTool", "AfterAgent", "SessionEnd"],
    // Milliseconds.
    timeout: 15_000,
    then: Some(
        "Gemini CLI runs the hooks of a project only where you trust the folder; `--skip-trust` is \
         not enough. Those of `--user` run everywhere",
    ),
};

impl HookProgram {
    fn hook_format(self) -> &'static HookFormat {
        match self {
            Self::Claude => &CLAUDE,
            Self::Codex => &CODEX,
            Self::Gemini => &GEMINI,
        }
    }

    /// Its name, for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.hook_format().title
    }

    /// What must be done in it before it runs new hooks.
    #[must_use]
    pub fn next_step(self) -> Option<&'static str> {
        self.hook_format().then
    }

    /// The file of its hooks.
    ///
    /// # Errors
    ///
    /// When no variable says where the user's home is.
    pub fn settings_file(self, world: &World, whose: SettingsScope) -> Result<PathBuf, Failure> {
        let form = self.hook_format();
        let folder = match (whose, world.var(form.variable)) {
            (SettingsScope::Project, _) => {
                let project = Project::find(world, &world.cwd);
                project.work_tree.join(form.folder)
            }
            (SettingsScope::User, Some(named)) => world.resolve_path(named).join(form.below),
            (SettingsScope::User, None) => {
                let home = world.var("HOME").ok_or_else(|| {
                    Failure::new("usage", "HOME is not set, so your settings cannot be found")
                        .with_hint(format!("set HOME, or {}", form.variable))
                })?;
                world.resolve_path(home).join(form.folder)
            }
        };
        Ok(folder.join(form.file))
    }

    /// The hooks, each starting `piton` as it is found from a shell.
    #[must_use]
    pub fn hooks(self, piton: &str) -> Vec<Hook> {
        let form = self.hook_format();
        let events = form.events.iter();
        let hooks = events.map(|event| Hook {
            event,
            command: format!("{piton} hook {event}"),
            timeout: form.timeout,
        });
        hooks.collect()
    }
}

/// How a shell starts this piton: by its name where it is the first one on
/// `PATH`, else by its path.
#[must_use]
pub fn piton_command(world: &World) -> String {
    let Some(own) = world.program_path() else {
        return "piton".to_owned();
    };
    let same = |path: PathBuf| std::fs::canonicalize(path).is_ok_and(|path| path == own);
    let path = world.var("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(path).map(|folder| folder.join("piton"));
    match found.find(|path| path.is_file()) {
        Some(first) if same(first.clone()) => "piton".to_owned(),
        Some(_) | None => quote_path(&own),
    }
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
        for program in [HookProgram::Claude, HookProgram::Codex, HookProgram::Gemini] {
            for piton in ["piton", "/usr/bin/piton", "'/a b/piton'"] {
                for hook in program.hooks(piton) {
                    assert!(piton_formats::agent_hooks::is_piton_command(&hook.command));
                    assert!(super::super::event::HookEventKind::parse(hook.event).is_some());
                }
            }
        }
    }
}
