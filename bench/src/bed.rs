//! Where the measurements happen: the programs, the folders, the sizes.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
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
#[derive(Clone, Debug)]
pub struct Bed {
    /// How much is measured.
    pub size: Size,
    /// The command.
    pub piton: PathBuf,
    /// The floor program in Rust, for a machine without a C compiler.
    pub floor: PathBuf,
    /// Today's practice.
    pub seed000: PathBuf,
    /// This program: one of the writers of P4.
    pub own: PathBuf,
    /// What is kept from one run to the next: filled stores, repositories.
    pub cache: PathBuf,
    scratch: Arc<TempDir>,
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
            piton: present(&piton, PITON)?,
            floor: present(&beside.join("floor"), HELPERS)?,
            seed000: present(&beside.join("seed000"), HELPERS)?,
            scratch: Arc::new(
                tempfile::Builder::new()
                    .prefix("scratch-")
                    .tempdir_in(&cache)?,
            ),
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
    /// When it cannot be made, or git is not there.
    pub fn project(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder(name)?;
        self.git(&folder, &["init", "--quiet", "--initial-branch=main"])?;
        Ok(folder)
    }

    /// A fresh folder that lies in no repository, on the disk that is measured.
    ///
    /// # Errors
    ///
    /// When no folder of that disk lies outside of git.
    pub fn outside_of_git(&self) -> Result<TempDir> {
        let home = std::env::home_dir().map(|home| home.join(".cache"));
        let elsewhere = [Some(std::env::temp_dir()), Some("/var/tmp".into()), home];
        let disk = fs::metadata(&self.cache)?.dev();
        let fits = |folder: &PathBuf| {
            fs::metadata(folder).is_ok_and(|found| found.dev() == disk) && !self.is_in_git(folder)
        };
        let own = Some(self.scratch.path().to_owned());
        let mut candidates = std::iter::once(own).chain(elsewhere).flatten();
        let Some(base) = candidates.find(fits) else {
            return Err(format!(
                "no folder on the disk of {} is outside of git: name one with --dir",
                self.cache.display()
            )
            .into());
        };
        let mut prefixed = tempfile::Builder::new();
        Ok(prefixed.prefix("piton-bench-").tempdir_in(base)?)
    }

    /// Whether piton or git finds a repository from this folder on upwards.
    fn is_in_git(&self, folder: &Path) -> bool {
        let mut git = self.command(Path::new("git"), folder);
        git.args(["rev-parse", "--git-dir"]);
        git.env_remove("GIT_CEILING_DIRECTORIES");
        let found_by_git = git.status().is_ok_and(|status| status.success());
        found_by_git || folder.ancestors().any(|above| above.join(".git").exists())
    }

    /// Runs git in a folder; what it prints.
    ///
    /// # Errors
    ///
    /// When git is not there or fails.
    pub fn git(&self, cwd: &Path, args: &[&str]) -> Result<String> {
        let mut command = self.command(Path::new("git"), cwd);
        command.args(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command
            .output()
            .map_err(|error| format!("git cannot be started: {error}"))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            let args = args.join(" ");
            Err(format!("`git {args}` failed in {}: {}", cwd.display(), why.trim()).into())
        }
    }

    /// This bed, with a fresh copy of a piton. Two files of the same content that
    /// came into the memory of the machine in different ways differ by some
    /// percent in what a start of them costs; two fresh copies do not.
    ///
    /// # Errors
    ///
    /// When that program is missing, or cannot be copied.
    pub fn with_copy_of(&self, piton: &Path) -> Result<Self> {
        let copy = self.folder("copy")?.join("piton");
        fs::copy(present(piton, PITON)?, &copy)?;
        Ok(Self {
            piton: copy,
            ..self.clone()
        })
    }

    /// A program that sees nothing of the machine's settings and prints nothing.
    /// git finds no repository above the folder that everything is measured in.
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
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", self.ceilings())
            .current_dir(cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Folders above which git looks for no repository.
    fn ceilings(&self) -> String {
        let temporary = std::env::temp_dir();
        let folders = [self.scratch.path(), &self.cache, &temporary];
        let folders: Vec<String> = folders
            .into_iter()
            .map(|folder| folder.display().to_string())
            .collect();
        folders.join(":")
    }

    /// `piton` with these arguments.
    #[must_use]
    pub fn piton(&self, cwd: &Path, args: &[&str]) -> Command {
        let mut command = self.command(&self.piton, cwd);
        command.args(args);
        command
    }
}

const PITON: &str = "cargo build --release -p piton";
const HELPERS: &str = "cargo build --release -p piton-bench";

fn present(program: &Path, build: &str) -> Result<PathBuf> {
    fs::canonicalize(program).map_err(|_| -> Error {
        format!(
            "{} is not there: build it with `{build}`, or name another piton by the variable PITON",
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
