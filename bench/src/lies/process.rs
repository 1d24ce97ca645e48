//! Programs that are started for a row, with a bound on how long they take.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// How long any program of a row may take. A run ends itself long before.
const LONGEST: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(2);

/// How a program ended, and what it printed.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// The exit status; absent when a signal ended it or it took too long.
    pub exit: Option<i32>,
    /// What it printed to stdout.
    pub output: String,
}

impl Ended {
    /// Whether it ended with 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.exit == Some(0)
    }
}

/// Runs `command` with `input` on stdin, or with nothing there. Its output
/// stays in `log` and beside it: a process that it leaves behind then holds no
/// pipe open.
///
/// # Errors
///
/// When it cannot be started, or a file cannot be written.
pub fn run(command: &mut Command, input: Option<&str>, log: &Path) -> Result<Ended> {
    let stdin = match input {
        Some(text) => {
            let file = log.with_extension("in");
            fs::write(&file, text)?;
            File::open(&file)?.into()
        }
        None => Stdio::null(),
    };
    let mut child = command
        .stdin(stdin)
        .stdout(File::create(log)?)
        .stderr(File::create(log.with_extension("err"))?)
        .spawn()?;
    let until = Instant::now() + LONGEST;
    let exit = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if Instant::now() > until {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(POLL);
    };
    let output = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    Ok(Ended { exit, output })
}

/// A program that sees nothing of the machine's settings but `PATH`, and works
/// in `folder`.
#[must_use]
pub fn isolated(program: &str, folder: &Path, home: &Path, path: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("USER", "ada")
        .env("LANG", "C.UTF-8")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(folder);
    command
}
