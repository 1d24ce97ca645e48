//! Processes that a test starts and kills: the test program itself, run again.
//!
//! No other program has to be built or found. The test that is to run in the
//! child is marked `#[ignore]` and does nothing but call [`orders`]; what it
//! has to say goes to a file, which outlives any death of the process.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use piton_core::id::EventId;

use crate::append::Append;

const DIR: &str = "PITON_TEST_DIR";
const EVENTS: &str = "PITON_TEST_EVENTS";
const LABEL: &str = "PITON_TEST_LABEL";
const SAID: &str = "PITON_TEST_SAID";

/// What a child is to do.
#[derive(Debug)]
pub struct Orders {
    /// What it appends.
    pub append: Append,
    /// Where it says what was acknowledged.
    pub said: File,
}

/// A command that runs one ignored test of this very program: by its full
/// name, like `crash::child`.
///
/// # Panics
///
/// When the path of this program is not known.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "a child of a test is no agent: the test waits for it"
)]
pub fn command(test: &str, append: &Append, said: &Path) -> Command {
    let program = std::env::current_exe().expect("a test program has a path");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--ignored", "--quiet", "--nocapture"]);
    command
        .env(DIR, &append.dir)
        .env(EVENTS, append.events.to_string())
        .env(LABEL, &append.label)
        .env(SAID, said);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// What this process was told to do; none when it is no child.
///
/// # Errors
///
/// When the file to speak to cannot be opened.
#[expect(
    clippy::disallowed_methods,
    reason = "a child is told by its environment, as the test program reads its own arguments"
)]
pub fn orders() -> io::Result<Option<Orders>> {
    let Some(dir) = std::env::var_os(DIR) else {
        return Ok(None);
    };
    let text = |name: &str| std::env::var(name).map_err(io::Error::other);
    let append = Append {
        dir: PathBuf::from(dir),
        events: text(EVENTS)?.parse().map_err(io::Error::other)?,
        label: text(LABEL)?,
    };
    let said = OpenOptions::new()
        .append(true)
        .create(true)
        .open(text(SAID)?)?;
    Ok(Some(Orders { append, said }))
}

/// What children said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The events that were acknowledged.
    pub acknowledged: Vec<EventId>,
    /// The longest wait for one, in microseconds, of each child that came to its end.
    pub longest_us: Vec<u64>,
}

/// Reads what children said; a last line that was not finished says nothing.
///
/// # Panics
///
/// When a whole line is none of ours.
#[must_use]
pub fn said(file: &Path) -> Said {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut said = Said::default();
    for line in text
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
    {
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["ack", .., id] => said.acknowledged.push(id.parse().expect("an id")),
            ["longest", micros] => said.longest_us.push(micros.parse().expect("a number")),
            other => panic!("{other:?} is nothing that a child says"),
        }
    }
    said
}
