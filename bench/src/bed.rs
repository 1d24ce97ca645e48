//! Where the measurements happen: the programs, the folders, the sizes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{Error, Result};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// Hardly anything: to see that everything runs. Nothing is judged.
    Small,
    /// What the budgets say, as far as it takes minutes.
    Ordinary,
    /// All that the budgets say.
    Large,
}

impl Size {
    /// What this size takes of a thing: `small`, or `ordinary`.
    #[must_use]
    pub fn pick(self, small: usize, ordinary: usize) -> usize {
        if self == Self::Small { small } else { ordinary }
    }

    /// The same, with more for [`Size::Large`].
    #[must_use]
    pub fn choose(self, small: usize, ordinary: usize, large: usize) -> usize {
        if self == Self::Large {
            large
        } else {
            self.pick(small, ordinary)
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Ordinary => "ordinary",
            Self::Large => "large",
        }
    }
}

/// The programs that are measured, and a scratch folder on the disk that is meant.
#[derive(Debug)]
pub struct Bed {
    /// How much is measured.
    pub size: Size,
    /// The command.
    pub piton: PathBuf,
    /// Opens, appends, flushes, ends.
    pub floor: PathBuf,
    /// Today's practice.
    pub seed000: PathBuf,
    /// This program: one of the writers of P4.
    pub own: PathBuf,
    /// What is kept from one run to the next: filled stores.
    pub cache: PathBuf,
    scratch: TempDir,
}

impl Bed {
    /// Finds the programs beside this one; `piton` may be named instead.
    ///
    /// `dir` is the folder to measure in: its disk is what is measured.
    ///
    /// # Errors
    ///
    /// When a program is missing, with what to type, or the folder cannot be made.
    pub fn new(size: Size, piton: Option<PathBuf>, dir: Option<PathBuf>) -> Result<Self> {
        let own = std::env::current_exe()?;
        let beside = own.parent().ok_or("this program lies nowhere")?.to_owned();
        let cache = match dir {
            Some(dir) => dir,
            None => beside.parent().unwrap_or(&beside).join("bench-data"),
        };
        fs::create_dir_all(&cache)?;
        // Everything is handed to programs that start somewhere else.
        let cache = fs::canonicalize(cache)?;
        let piton = piton.unwrap_or_else(|| beside.join("piton"));
        Ok(Self {
            size,
            piton: present(&piton, "cargo build --release -p piton")?,
            floor: present(&beside.join("floor"), HELPERS)?,
            seed000: present(&beside.join("seed000"), HELPERS)?,
            scratch: tempfile::Builder::new()
                .prefix("scratch-")
                .tempdir_in(&cache)?,
            own,
            cache,
        })
    }

    /// A fresh folder.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("{name}-"))
            .disable_cleanup(true)
            .tempdir_in(self.scratch.path())?;
        Ok(folder.keep())
    }

    /// A fresh folder that is taken for a project of its own: a git repository
    /// without anything in it, so that nothing above it matters.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn project(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder(name)?;
        fs::create_dir(folder.join(".git"))?;
        fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        Ok(folder)
    }

    /// A program that sees nothing of the machine's settings and says nothing.
    #[must_use]
    pub fn command(&self, program: &Path, cwd: &Path) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.scratch.path())
            .env("USER", "ada")
            .env("LANG", "C.UTF-8")
            .current_dir(cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// `piton` with these arguments.
    #[must_use]
    pub fn piton(&self, cwd: &Path, args: &[&str]) -> Command {
        let mut command = self.command(&self.piton, cwd);
        command.args(args);
        command
    }
}

const HELPERS: &str = "cargo build --release -p piton-bench";

fn present(program: &Path, build: &str) -> Result<PathBuf> {
    fs::canonicalize(program).map_err(|_| -> Error {
        format!(
            "{} is not there: build it with `{build}`, or name it by the variable PITON if it is piton",
            program.display()
        )
        .into()
    })
}

/// From before the start of a program to after its end.
///
/// # Errors
///
/// When it cannot be started, or does not end with status 0: what failed is
/// not measured.
pub fn time(command: &mut Command) -> Result<Duration> {
    let before = Instant::now();
    let status = command.status()?;
    let took = before.elapsed();
    if status.success() {
        Ok(took)
    } else {
        Err(format!("{command:?} ended with {status}").into())
    }
}
