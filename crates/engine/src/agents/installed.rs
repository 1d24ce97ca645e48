//! Which known programs are installed here: where, in which version, and whether the user
//! is logged in.
//!
//! A program is started for `--version` and for nothing else, and none that lies in the
//! project. Of a login only that it is there is looked at: no key leaves this module.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::known_program::KnownProgram;
use super::program_table::KNOWN_PROGRAMS;
use crate::process::{ProgramCall, run_call};
use crate::project::Project;
use crate::world::{World, input};

/// So long a program has to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// A program that piton knows, as it is found here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstalledProgram {
    /// Its name, for `--agent`.
    pub name: &'static str,
    /// How people call it.
    pub title: &'static str,
    /// Where it lies; none where it is not on `PATH`.
    pub path: Option<PathBuf>,
    /// Its version, as it prints it; none where that is not known.
    pub version: Option<String>,
    /// Why the version of a program that is there is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_unknown: Option<String>,
    /// Whether the user is logged in.
    #[serde(flatten)]
    pub login: LoginState,
    /// How it is installed, as people type it.
    pub install: &'static str,
}

/// Whether the user is logged in to a program, as far as its files and variables show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "login", rename_all = "kebab-case")]
pub enum LoginState {
    /// A login is in a file of the program; it may have ended since.
    File {
        /// The file.
        login_file: PathBuf,
    },
    /// A variable holds a key.
    Key {
        /// The variable.
        login_variable: &'static str,
    },
    /// Nothing shows one: the program may have it elsewhere, as in a keyring.
    Unknown,
}

/// Looks for all programs that piton knows. They are asked for their versions at once.
#[must_use]
pub fn find_installed_programs(world: &World, project: &Project) -> Vec<InstalledProgram> {
    thread::scope(|scope| {
        let looks = KNOWN_PROGRAMS.iter().map(|program| {
            scope.spawn(move || inspect_program(world, project, program, VERSION_TIMEOUT))
        });
        let looks: Vec<_> = looks.collect();
        let found = looks.into_iter();
        found
            .map(|look| look.join().expect("to look at a program does not panic"))
            .collect()
    })
}

fn inspect_program(
    world: &World,
    project: &Project,
    program: &'static KnownProgram,
    timeout: Duration,
) -> InstalledProgram {
    let path = world.find_on_path(program.name);
    let version = path
        .as_deref()
        .map(|path| ask_version(project, path, timeout))
        .map(|version| version.map(|text| world.redactor().redact(&text).into_owned()));
    let (version, version_unknown) = match version {
        Some(Ok(version)) => (Some(version), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    InstalledProgram {
        name: program.name,
        title: program.called.title,
        path,
        version,
        version_unknown,
        login: find_login(world, program),
        install: program.install,
    }
}

/// What a program prints as its version; why that is not known, where it is not.
fn ask_version(project: &Project, path: &Path, timeout: Duration) -> Result<String, String> {
    let resolve = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let program = resolve(path);
    let is_inside = |folder: &Path| program.starts_with(resolve(folder));
    if is_inside(&project.root) || is_inside(&project.work_tree) {
        return Err("not started: it lies in the project".to_owned());
    }
    let program = path.to_string_lossy();
    let called = run_call(&ProgramCall {
        program: &program,
        args: &[OsString::from("--version")],
        // A folder without settings: what stands in the project may start something.
        cwd: Path::new("/"),
        input: b"",
        env: &[],
        mark: None,
        stop: None,
        timeout,
    });
    let output = called.map_err(|error| error.to_string())?;
    let limit = format!("{} s", timeout.as_secs_f32());
    match output.exit.describe_failure(&limit) {
        Some(why) => Err(format!("`--version` {why}")),
        None => parse_version(&String::from_utf8_lossy(&output.stdout))
            .ok_or_else(|| "`--version` printed none".to_owned()),
    }
}

/// The first word that reads as a version: `2.0.14` of `2.0.14 (Claude Code)`.
fn parse_version(text: &str) -> Option<String> {
    const CHARS_MAX: usize = 40;
    let is_end = |c: char| !c.is_ascii_alphanumeric();
    let words = text.split_whitespace();
    let mut words = words.map(|word| word.trim_start_matches('v').trim_end_matches(is_end));
    words
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        .filter(|word| word.len() <= CHARS_MAX)
        .map(str::to_owned)
}

fn find_login(world: &World, program: &KnownProgram) -> LoginState {
    let trace = program.login_trace;
    if let Some(login_variable) = trace
        .variables
        .iter()
        .find(|name| world.var(name).is_some())
    {
        return LoginState::Key { login_variable };
    }
    let home = program.home.path(|name| world.var(name));
    let file = home.map(|home| world.resolve_path(home).join(trace.file));
    match file {
        Some(login_file) if has_login(&login_file, trace.pointers) => {
            LoginState::File { login_file }
        }
        Some(_) | None => LoginState::Unknown,
    }
}

/// Whether a text that is not empty stands at one of the places in a JSON file.
fn has_login(file: &Path, pointers: &[&str]) -> bool {
    let text = input::read_text(file).unwrap_or_default();
    let known: Value = serde_json::from_str(&text).unwrap_or_default();
    pointers.iter().any(|at| {
        let value = known.pointer(at).and_then(Value::as_str);
        value.is_some_and(|text| !text.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use super::*;
    use crate::agents::program_table::find_program;

    struct Machine {
        folder: tempfile::TempDir,
        world: World,
    }

    impl Machine {
        /// A project and a home without anything, with programs in `bin/` alone.
        fn new(variables: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let mut world = World::from_environment().expect("there is a folder");
            let at = |name: &str| folder.path().join(name);
            for name in ["bin", "user", "project"] {
                fs::create_dir(at(name)).expect("made");
            }
            world.cwd = at("project");
            let path = |name: &str| at(name).to_string_lossy().into_owned();
            let own = [("PATH", path("bin")), ("HOME", path("user"))];
            let own = own.map(|(name, value)| (name.to_owned(), value));
            let given = variables.iter().map(|(name, value)| {
                let value = value.replace("FOLDER", &folder.path().to_string_lossy());
                ((*name).to_owned(), value)
            });
            world.env = Arc::new(own.into_iter().chain(given).collect());
            Self { folder, world }
        }

        fn with_program(self, path: &str, script: &str) -> Self {
            let path = self.folder.path().join(path);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
            self
        }

        fn with_file(self, path: &str, text: &str) -> Self {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
            self
        }

        fn inspect(&self, name: &str) -> InstalledProgram {
            let program = find_program(name).expect("it is known");
            let project = Project::find(&self.world, &self.world.cwd);
            inspect_program(&self.world, &project, program, Duration::from_millis(500))
        }
    }

    #[track_caller]
    fn check_version(script: &str, expected: Result<&str, &str>) {
        let machine = Machine::new(&[]).with_program("bin/codex", script);
        let found = machine.inspect("codex");
        assert!(found.path.is_some());
        let known = (found.version.as_deref(), found.version_unknown.as_deref());
        let expected = match expected {
            Ok(version) => (Some(version), None),
            Err(why) => (None, Some(why)),
        };
        assert_eq!(known, expected, "{script}");
    }

    #[test]
    fn a_version_is_what_the_program_prints_or_why_it_prints_none() {
        check_version("echo codex-cli 0.47.0", Ok("0.47.0"));
        check_version("echo 'v2.0.14 (Claude Code)'", Ok("2.0.14"));
        check_version("[ \"$*\" = --version ] && echo 1.2-beta.", Ok("1.2-beta"));
        check_version("echo hello", Err("`--version` printed none"));
        check_version("exit 3", Err("`--version` ended with 3"));
        check_version(
            "trap '' TERM; while :; do /bin/sleep 1; done",
            Err("`--version` did not end in 0.5 s"),
        );
    }

    #[test]
    fn a_program_in_the_project_is_found_and_not_started() {
        let machine = Machine::new(&[("PATH", "FOLDER/project")])
            .with_program("project/codex", ": > \"$0.started\"; echo 1.0");
        let found = machine.inspect("codex");
        assert_eq!(
            found.version_unknown.as_deref(),
            Some("not started: it lies in the project")
        );
        assert!(found.path.is_some_and(|path| path.ends_with("codex")));
        assert!(!machine.folder.path().join("project/codex.started").exists());
    }

    #[test]
    fn a_file_that_cannot_be_executed_is_no_program() {
        let machine = Machine::new(&[]).with_file("bin/codex", "#!/bin/sh\n");
        assert_eq!(machine.inspect("codex").path, None);
    }

    #[track_caller]
    fn check_login(machine: &Machine, name: &str, expected: &str) {
        let found = machine.inspect(name).login;
        let folder = machine.folder.path().to_string_lossy().into_owned();
        let shown = serde_json::to_string(&found).expect("it is JSON");
        assert_eq!(shown.replace(&folder, ""), expected);
    }

    #[test]
    fn a_login_is_known_by_a_file_or_a_variable_and_never_guessed() {
        const UNKNOWN: &str = r#"{"login":"unknown"}"#;
        let bare = || Machine::new(&[]);
        check_login(&bare(), "claude", UNKNOWN);
        let with = |path, text| bare().with_file(path, text);
        let token = r#"{"claudeAiOauth": {"accessToken": "hunter2"}}"#;
        check_login(
            &with("user/.claude/.credentials.json", token),
            "claude",
            r#"{"login":"file","login_file":"/user/.claude/.credentials.json"}"#,
        );
        let others = ["{}", "[", r#"{"claudeAiOauth": {"accessToken": ""}}"#];
        for text in others {
            let machine = with("user/.claude/.credentials.json", text);
            check_login(&machine, "claude", UNKNOWN);
        }
        let key = r#"{"OPENAI_API_KEY": null, "tokens": {"access_token": "hunter2"}}"#;
        let elsewhere = Machine::new(&[("CODEX_HOME", "FOLDER/other")]);
        check_login(
            &elsewhere.with_file("other/auth.json", key),
            "codex",
            r#"{"login":"file","login_file":"/other/auth.json"}"#,
        );
        check_login(
            &Machine::new(&[("GEMINI_API_KEY", "hunter2")]),
            "gemini",
            r#"{"login":"key","login_variable":"GEMINI_API_KEY"}"#,
        );
    }
}
