//! Child processes: started, followed, bounded and ended, with nothing left behind.
//!
//! An agent or a gate is one [`ProcessSpec`]: a program in its own process group,
//! whose output goes straight into a private file. [`start`] never blocks; two
//! threads look after the child until everything that it started is gone, and
//! only then comes the one [`ProcessEvent::Exited`].
//!
//! Which processes belong to an attempt is decided by three things, in this order: the
//! process group; the mark in the environment ([`MARK`], Linux); and, when
//! [`adopt_orphans`] was called, being handed to this process after a parent
//! died. None of them finds a process that another, older process started for the child
//! (a container daemon, `at`, systemd).
//!
//! After a crash of this process its children live on. They are found by what
//! [`RunningProcess::id`] said, kept beside the output by [`crate::agents::spool`], and ended
//! by [`end_survivors`].
//!
//! What it does not do: understand what a child says, or decide what its end
//! means.

#[cfg(not(unix))]
compile_error!("piton runs on Linux, macOS and other Unix systems; on Windows use WSL");

mod ancestors;
mod call;
mod child;
pub(crate) mod detached;
mod identity;
mod in_place;
mod orphans;
pub mod shell;
mod survivors;
mod table;
mod trusted;
mod watch;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use piton_store::group_access::share_with_group;

use crate::failpoint;

pub use self::ancestors::{Ancestor, list_ancestors};
pub use self::call::{
    CallOutput, OUTPUT_BYTES_MAX, ProgramCall, ScriptCall, StopHandle, own_mark, run_call,
    run_script,
};
pub use self::child::{ProcessEvent, ProcessExit, ProcessLimits, StartError, StopReason};
pub use self::detached::PrintedLine;
pub(crate) use self::identity::environment_of_process;
pub use self::identity::{
    Liveness, ProcessIdentity, current_process, has_ended, is_stopped, liveness,
};
pub use self::in_place::FileInPlace;
pub use self::orphans::adopt_orphans;
use self::shell::quote_word;
pub use self::survivors::{
    EndedSurvivors, Survivor, SurvivorEvidence, end_processes_in_folder, end_survivors,
    find_survivors,
};
pub use self::table::MARK;
pub use self::trusted::Trusted;
use self::watch::Leftovers;
pub use self::watch::RunningProcess;

/// What is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessProgram {
    /// A program, found on `PATH` unless it is an absolute path, and its arguments.
    Args {
        /// The program.
        program: OsString,
        /// Its arguments, without its own name.
        args: Vec<OsString>,
    },
    /// A line for `sh -c`.
    Shell(String),
}

impl ProcessProgram {
    /// The line that a shell would start it with.
    #[must_use]
    pub(crate) fn to_shell_line(&self) -> String {
        match self {
            Self::Args { program, args } => {
                let words = std::iter::once(program).chain(args);
                let words = words.map(|word| quote_word(&word.to_string_lossy()).into_owned());
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Shell(line) => line.clone(),
        }
    }
}

/// What a child inherits of the environment of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum InheritedEnvironment {
    /// All of it.
    #[default]
    Everything,
    /// These variables.
    Only(BTreeMap<String, String>),
}

/// One child process, before it is started.
#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// What is started.
    pub program: Trusted<ProcessProgram>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// What it inherits.
    pub inherited: InheritedEnvironment,
    /// Added to that.
    pub env: Vec<(String, String)>,
    /// What the child can read; then it sees the end of the file.
    pub stdin: String,
    /// The file that takes stdout and stderr. Must not exist yet; made with mode 0600.
    pub output: PathBuf,
    /// When the child is stopped without a request.
    pub limits: ProcessLimits,
    /// Put into the environment as [`MARK`]. Unique among all attempts; not empty.
    pub mark: String,
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) an error like that of a
/// full disk: without this the system ends the process without a word. Programs that
/// are started get the system's own behaviour back.
///
/// # Errors
///
/// When the system refuses it.
pub fn survive_file_size_limit() -> io::Result<()> {
    let seen = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen).map(drop)
}

/// Starts a child and returns at once.
///
/// `events` is called from two threads, one at a time. It may call
/// [`RunningProcess::terminate`] and [`RunningProcess::kill`]; it should be quick and must
/// not panic.
///
/// The input is a file without a name, not a pipe: a child that never reads does not
/// block this process, and one that outlives this process still reads all of it
/// instead of acting on half a prompt.
///
/// # Errors
///
/// [`StartError`], after which nothing runs.
pub fn start(
    spec: ProcessSpec,
    events: impl FnMut(ProcessEvent) + Send + 'static,
) -> Result<RunningProcess, StartError> {
    if spec.mark.is_empty() {
        return Err(StartError::Unmarked);
    }
    let mut command = match spec.program.as_inner() {
        ProcessProgram::Args { program, args } => build_command(program, args, &spec.cwd)?,
        ProcessProgram::Shell(line) => {
            build_command("sh".as_ref(), &["-c".into(), line.into()], &spec.cwd)?
        }
    };
    if let InheritedEnvironment::Only(inherited) = &spec.inherited {
        command.env_clear().envs(inherited);
    }
    command.envs(spec.env.iter().map(|(name, value)| (name, value)));
    command.env(MARK, &spec.mark);
    let input = stdin_of_spec(&spec).map_err(|source| StartError::Input {
        program: command.get_program().to_owned(),
        source,
    })?;
    command.stdin(input);
    let output = OutputFile::create(&spec.output)?;
    command
        .stdout(output.to_stdio()?)
        .stderr(output.to_stdio()?);
    failpoint::point("process.output-made");
    let started = watch::spawn_watched(
        command,
        watch::WatchSpec {
            limits: spec.limits,
            leftovers: Leftovers::End(spec.mark),
            output: output.clone_handle()?,
            events: Box::new(events),
        },
    )?;
    output.retain();
    Ok(started)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this module is where programs are started"
)]
fn build_command(program: &OsStr, args: &[OsString], cwd: &Path) -> Result<Command, StartError> {
    // Otherwise a folder that is not there reads as a program that is not there.
    let folder = std::fs::metadata(cwd).and_then(|found| {
        if found.is_dir() {
            Ok(())
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    });
    folder.map_err(|source| StartError::Folder {
        cwd: cwd.to_owned(),
        source,
    })?;
    let mut command = Command::new(program);
    command.args(args).current_dir(cwd).process_group(0);
    Ok(command)
}

fn stdin_of_spec(spec: &ProcessSpec) -> io::Result<Stdio> {
    if spec.stdin.is_empty() {
        return Ok(Stdio::null());
    }
    // Beside the output: the folder is private already.
    let folder = match spec.output.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(spec.stdin.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

/// The output file, removed again unless the child was started.
struct OutputFile<'a> {
    path: &'a Path,
    file: File,
    kept: bool,
}

impl<'a> OutputFile<'a> {
    fn create(path: &'a Path) -> Result<Self, StartError> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|source| StartError::Output {
                path: path.to_owned(),
                source,
            })?;
        share_with_group(path);
        Ok(OutputFile {
            path,
            file,
            kept: false,
        })
    }

    fn clone_handle(&self) -> Result<File, StartError> {
        self.file.try_clone().map_err(|source| StartError::Output {
            path: self.path.to_owned(),
            source,
        })
    }

    fn to_stdio(&self) -> Result<Stdio, StartError> {
        Ok(self.clone_handle()?.into())
    }

    fn retain(mut self) {
        self.kept = true;
    }
}

impl Drop for OutputFile<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing was written; an empty file left behind does no harm.
            std::fs::remove_file(self.path).ok();
        }
    }
}
