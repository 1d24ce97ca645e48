//! Whether the program of an agent is there, before anything is started.
//!
//! Only what is certain is said: a program that a shell would find in a way
//! that is not plain to see counts as there. Whether it works is not asked.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::{Agent, LaunchCommand, LaunchOptions, program_table};
use crate::failure::Failure;
use crate::process::ProcessProgram;
use crate::process::shell;

/// Where a program is looked for.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSearch<'w> {
    /// The folder that it is started in.
    pub folder: &'w Path,
    /// The `PATH` that it is looked for on; none where the system's own holds.
    pub path: Option<&'w str>,
}

/// Refuses an agent whose program is certainly not there.
///
/// # Errors
///
/// When it is not there, may not be executed, or cannot be started for `order`.
pub fn check_program(
    agent: &dyn Agent,
    order: &LaunchOptions<'_>,
    at: ProgramSearch<'_>,
) -> Result<(), Failure> {
    let launch = agent.launch_command(order)?;
    let own_path = launch.env.iter().rfind(|(name, _)| name == "PATH");
    let at = ProgramSearch {
        path: own_path.map(|(_, path)| path.as_str()).or(at.path),
        ..at
    };
    let program = program_of_launch(agent, &launch);
    let Some(why) = program.and_then(|program| missing_program_reason(&program, at)) else {
        return Ok(());
    };
    let installed: Vec<&str> = program_table::program_names()
        .filter(|name| missing_program_reason(name, at).is_none())
        .collect();
    let what = format!("the agent cannot be started: {why}");
    Err(Failure::new("agent.cannot_start", what).with_hint(format!(
        "{}; nothing was started",
        program_table::naming_hint(&installed)
    )))
}

/// What is known of a start before it is one.
#[must_use]
pub fn preflight_options(model: Option<&str>) -> LaunchOptions<'_> {
    LaunchOptions {
        model,
        is_root: rustix::process::geteuid().is_root(),
        ..LaunchOptions::default()
    }
}

/// The program of an agent that its command line names by a path below the folder
/// in which it is started; none where that cannot be seen.
///
/// # Errors
///
/// When the agent cannot be started for `order`.
pub fn relative_program(
    agent: &dyn Agent,
    order: &LaunchOptions<'_>,
) -> Result<Option<String>, Failure> {
    let program = program_of_launch(agent, &agent.launch_command(order)?);
    let is_below = |path: &Path| {
        path.components()
            .all(|part| matches!(part, Component::CurDir | Component::Normal(_)))
    };
    Ok(program.filter(|program| program.contains('/') && is_below(Path::new(program))))
}

fn program_of_launch(agent: &dyn Agent, launch: &LaunchCommand) -> Option<String> {
    match &launch.program {
        ProcessProgram::Shell(command) => shell::plain_program(command).map(str::to_owned),
        ProcessProgram::Args { program, .. } => agent
            .wrapped_program()
            .or_else(|| Some(program.to_str()?.to_owned())),
    }
}

/// Why a program cannot be started; none where it can, as far as can be seen.
fn missing_program_reason(program: &str, at: ProgramSearch<'_>) -> Option<String> {
    if program.contains('/') {
        let folder = at.folder.display();
        return match ProgramFile::inspect(&at.folder.join(program)) {
            ProgramFile::Executable => None,
            ProgramFile::Missing => Some(format!("`{program}` is not found in {folder}")),
            ProgramFile::Other(why) => Some(format!("`{program}` in {folder}: {why}")),
        };
    }
    let folders: Vec<PathBuf> = std::env::split_paths(at.path?).collect();
    let looks = folders
        .iter()
        .map(|folder| ProgramFile::inspect(&at.folder.join(folder).join(program)));
    let mut why = format!("`{program}` is not found on the PATH");
    for look in looks {
        match look {
            ProgramFile::Executable => return None,
            ProgramFile::Missing => {}
            ProgramFile::Other(reason) => why = format!("`{program}` on the PATH: {reason}"),
        }
    }
    Some(why)
}

/// What a path leads to.
enum ProgramFile {
    Executable,
    Missing,
    Other(&'static str),
}

impl ProgramFile {
    fn inspect(path: &Path) -> Self {
        match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::Missing,
            // A folder that cannot be looked into is the kernel's to judge.
            Err(_) => Self::Executable,
            Ok(found) if !found.is_file() => Self::Other("not a file"),
            Ok(found) if found.permissions().mode() & 0o111 == 0 => {
                Self::Other("permission denied, it is not executable")
            }
            Ok(_) => Self::Executable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Shell;

    #[track_caller]
    fn check(command: &str, missing: Option<&str>) {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::write(&path, "").expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        };
        write("there", 0o755);
        write("plain", 0o644);
        let at = ProgramSearch {
            folder: folder.path(),
            path: folder.path().to_str(),
        };
        let found = check_program(&Shell::new(command), &LaunchOptions::default(), at).err();
        let said = found.map(|failure| failure.message);
        match (said, missing) {
            (None, None) => {}
            (Some(said), Some(part)) => assert!(said.contains(part), "{command}: {said}"),
            (said, _) => panic!("{command}: {said:?}"),
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        check("no-such-agent -p", Some("`no-such-agent` is not found"));
        check("./no-such.sh", Some("`./no-such.sh` is not found"));
        check("./plain", Some("permission denied"));
        check("plain", Some("permission denied"));
        check("no-such-agent | tee log", Some("not found"));
    }

    #[test]
    fn a_hint_names_no_program_that_is_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = ProgramSearch {
            folder: folder.path(),
            path: folder.path().to_str(),
        };
        let hint = || {
            let agent = Shell::new("claude");
            let failure = check_program(&agent, &LaunchOptions::default(), at);
            failure.expect_err("not there").hint.expect("a hint")
        };
        let empty = hint();
        assert!(!empty.contains("--agent claude"), "{empty}");
        assert!(empty.contains("npm install"), "{empty}");
        let path = folder.path().join("codex");
        fs::write(&path, "").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
        let there = hint();
        assert!(there.contains("`--agent codex`,"), "{there}");
    }

    #[test]
    fn a_program_that_may_be_there_is_not_guessed_at() {
        for command in [
            "there",
            "./there --flag",
            "echo done",
            "no-such-agent || there",
            "KEY=1 no-such-agent",
            "\"$AGENT\" -p",
            "if no-such-agent; then there; fi",
        ] {
            check(command, None);
        }
    }
}
