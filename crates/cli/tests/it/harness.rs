//! A scratch project, and the command in it: hermetic home, fixed clock.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A project in a folder of its own, with nothing of the machine around it.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
    clock: Option<String>,
}

/// What a command said and how it ended.
pub(crate) struct Said {
    /// Its stdout.
    pub(crate) out: String,
    /// Its stderr.
    pub(crate) err: String,
    /// Its exit status; -1 when a signal ended it.
    pub(crate) exit: i32,
}

impl Scratch {
    /// A git repository without commits.
    pub(crate) fn new() -> Self {
        let scratch = Self::outside_git();
        scratch.git(&["init", "--quiet", "--initial-branch=main"]);
        scratch.git(&["config", "user.name", "Ada"]);
        scratch.git(&["config", "user.email", "ada@example.org"]);
        scratch
    }

    /// A folder that is no git repository.
    pub(crate) fn outside_git() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("piton-")
            .tempdir()
            .expect("a scratch folder");
        Self {
            folder,
            clock: None,
        }
    }

    /// The same, with a clock that stands still, so that answers can be compared.
    pub(crate) fn with_fixed_clock(mut self) -> Self {
        self.clock = Some("2026-01-15T09:00:00Z".to_owned());
        self
    }

    /// The folder, as the system names it.
    pub(crate) fn path(&self) -> PathBuf {
        std::fs::canonicalize(self.folder.path()).expect("the folder is there")
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders");
        std::fs::write(path, text).expect("written");
        self
    }

    /// Reads a file.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Whether a file is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }

    /// Runs git.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = clean(Command::new("git"), self.folder.path())
            .args(args)
            .output()
            .expect("git is installed");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The command, not yet started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_in("", args)
    }

    /// The command in a folder below.
    pub(crate) fn command_in(&self, folder: &str, args: &[&str]) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_piton"));
        let mut command = clean(Command::new(program), &self.folder.path().join(folder));
        command.args(args).stdin(Stdio::null());
        if let Some(clock) = &self.clock {
            command.env("PITON_TEST_CLOCK", clock);
        }
        command
    }

    /// Runs the command to its end.
    pub(crate) fn piton(&self, args: &[&str]) -> Said {
        Said::of(&self.command(args).output().expect("piton starts"))
    }

    /// What a command typed here says, as a person sees it: both streams, the
    /// exit status, and the name of the scratch folder taken out.
    pub(crate) fn shows(&self, args: &[&str]) -> String {
        self.piton(args).shown(self)
    }
}

/// A process that sees nothing of the machine's settings.
fn clean(mut command: Command, folder: &Path) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder)
        .env("USER", "ada")
        .env("TZ", "UTC")
        .env("LANG", "C.UTF-8")
        .env("NO_COLOR", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(folder);
    command
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            exit: output.status.code().unwrap_or(-1),
        }
    }

    /// Both streams and the exit status.
    pub(crate) fn shown(&self, scratch: &Scratch) -> String {
        let text = format!("{}{}[exit {}]\n", self.out, self.err, self.exit);
        text.replace(&scratch.path().to_string_lossy().into_owned(), "SCRATCH")
    }
}
