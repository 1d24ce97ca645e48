//! A repository of a real git, and what a test asks and changes there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use piton_engine::git::GitControl;
use piton_engine::process::{StopHandle, own_mark};
use tempfile::TempDir;

/// Runs git in a folder, as a person does.
#[expect(
    clippy::disallowed_methods,
    reason = "a test makes its repository with the same git"
)]
pub(crate) fn asked(folder: &Path, args: &[&str]) -> Output {
    let mut git = Command::new("git");
    let output = git.args(args).current_dir(folder).output();
    output.expect("git is installed")
}

/// What git prints in a folder; it has to be content.
#[track_caller]
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = asked(folder, args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {error}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository with a branch `main`.
pub(crate) struct Repository(pub(crate) TempDir);

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self(tempfile::tempdir().expect("a folder"));
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["config", "user.name", "Ada"]);
        repository.git(&["config", "user.email", "ada@example.org"]);
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.path(), args)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write(self.path(), name, text);
    }

    /// Commits everything; its name.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }
}

/// Writes a file below a folder.
pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("it has one")).expect("folders");
    fs::write(path, text).expect("written");
}

/// Writes a script that can be run.
pub(crate) fn write_script(folder: &Path, name: &str, text: &str) {
    write(folder, name, &format!("#!/bin/sh\n{text}"));
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.join(name), mode).expect("made executable");
}

/// What a call of git is found and ended by.
pub(crate) struct Caller {
    mark: String,
    pub(crate) stop: StopHandle,
}

impl Caller {
    pub(crate) fn new() -> Self {
        Self {
            mark: own_mark("test"),
            stop: StopHandle::default(),
        }
    }

    pub(crate) fn by(&self) -> GitControl<'_> {
        GitControl {
            mark: &self.mark,
            stop: &self.stop,
        }
    }
}

/// A line for a shell in a folder, before it is started.
#[expect(
    clippy::disallowed_methods,
    reason = "a process that piton did not start"
)]
pub(crate) fn shell(folder: &Path, line: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder);
    shell
}

/// Ends a process that a test has started.
pub(crate) fn end(pid: u32) {
    let status = shell(Path::new("/"), &format!("kill {pid}")).status();
    assert!(status.expect("there is a shell").success());
}
