//! Short calls of other programs for their answer, such as git's plumbing.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::in_place::FileInPlace;
use super::orphans::OWN;
use super::watch::{self, Leftovers, WatchSpec};
use super::{
    MARK, ProcessEvent, ProcessExit, ProcessLimits, RunningProcess, StartError, StopReason,
    Trusted, build_command,
};

/// What runs the scripts of a project.
const SHELL: &str = "sh";

/// Most bytes of stdout that a call may write, and most that is kept of stderr.
pub const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// A program to be asked.
#[derive(Clone, Copy, Debug)]
pub struct ProgramCall<'a> {
    /// The program, found on `PATH` unless it is an absolute path.
    pub program: &'a str,
    /// Its arguments, without its own name.
    pub args: &'a [OsString],
    /// The folder it runs in.
    pub cwd: &'a Path,
    /// What it can read from stdin; then it sees the end of the file.
    pub input: &'a [u8],
    /// Added to the environment of this process.
    pub env: &'a [(&'a str, &'a str)],
    /// What it is found by should this process die meanwhile; see [`own_mark`].
    pub mark: Option<&'a str>,
    /// What another thread ends it with.
    pub stop: Option<&'a StopHandle>,
    /// Longest life.
    pub timeout: Duration,
}

/// A script of a project that is asked. No other call starts one.
#[derive(Clone, Copy, Debug)]
pub struct ScriptCall<'a> {
    /// A line for `sh -c`.
    pub script: &'a Trusted<String>,
    /// The folder it runs in.
    pub cwd: &'a Path,
    /// What it can read from stdin.
    pub input: &'a [u8],
    /// Added to the environment of this process.
    pub env: &'a [(&'a str, &'a str)],
    /// What it is found by should this process die meanwhile; see [`own_mark`].
    pub mark: Option<&'a str>,
    /// What another thread ends it with.
    pub stop: Option<&'a StopHandle>,
    /// Longest life.
    pub timeout: Duration,
}

/// Runs a script and waits for its end: see [`run_call`].
///
/// # Errors
///
/// As [`run_call`].
pub fn run_script(call: &ScriptCall<'_>) -> Result<CallOutput, StartError> {
    run_call(&ProgramCall {
        program: SHELL,
        args: &["-c".into(), call.script.as_inner().into()],
        cwd: call.cwd,
        input: call.input,
        env: call.env,
        mark: call.mark,
        stop: call.stop,
        timeout: call.timeout,
    })
}

/// Ends, from another thread, the call that is under way and every later one
/// that was given the same.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<Mutex<StopState>>);

#[derive(Debug, Default)]
struct StopState {
    asked: Option<Urgency>,
    /// Nothing is begun once another file is in the place of this one.
    needs: Option<FileInPlace>,
    running: Option<RunningProcess>,
}

#[derive(Clone, Copy, Debug)]
enum Urgency {
    Ask,
    Kill,
}

impl StopHandle {
    /// A handle of calls that are begun only as long as no other file is in the place of
    /// this one.
    pub fn while_in_place(needs: Option<FileInPlace>) -> Self {
        let state = StopState {
            needs,
            ..StopState::default()
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Asks the call to end, and ends it when it does not; at once with `kill`.
    pub fn request_stop(&self, kill: bool) {
        let urgency = if kill { Urgency::Kill } else { Urgency::Ask };
        let mut stopping = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stopping.asked = Some(urgency);
        stopping.forward_request();
    }

    /// How a call ends that was to be stopped before it began: nothing is started.
    fn exit_if_stopped(&self) -> Option<ProcessExit> {
        let stopping = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let needs = stopping.needs.as_ref();
        let is_stopped = stopping.asked.is_some() || needs.is_some_and(FileInPlace::is_replaced);
        is_stopped.then(|| ProcessExit {
            code: None,
            signal: None,
            stopped_by: Some(StopReason::Asked),
            output_bytes: 0,
            duration: Duration::ZERO,
            left: Vec::new(),
        })
    }

    /// The process that a request ends, also one that was made before.
    pub(crate) fn attach_process(&self, running: &RunningProcess) {
        let mut stopping = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stopping.running = Some(running.clone());
        stopping.forward_request();
    }
}

impl StopState {
    /// Telling a process that is over changes nothing.
    fn forward_request(&self) {
        match (self.asked, &self.running) {
            (Some(Urgency::Ask), Some(running)) => running.terminate(),
            (Some(Urgency::Kill), Some(running)) => running.kill(),
            (None, _) | (_, None) => {}
        }
    }
}

/// What a program answered.
#[derive(Clone, Debug)]
pub struct CallOutput {
    /// How it ended.
    pub exit: ProcessExit,
    /// The first [`OUTPUT_BYTES_MAX`] bytes of its stdout.
    pub stdout: Vec<u8>,
    /// The first [`OUTPUT_BYTES_MAX`] bytes of its stderr.
    pub stderr: Vec<u8>,
}

/// A mark for calls that are no part of any attempt, told apart by `name`.
#[must_use]
pub fn own_mark(name: &str) -> String {
    format!("{OWN}{name}")
}

/// Calls a program and waits for its answer.
///
/// What it leaves running on purpose (git tidies up, watches files and keeps
/// passwords that way) stays; only a call that has to be stopped is ended
/// with its whole process group. The answer goes through files without names:
/// with pipes such a background process would keep this waiting.
///
/// # Errors
///
/// [`StartError`]. A program that fails is not an error here: see
/// [`CallOutput::exit`].
pub fn run_call(call: &ProgramCall<'_>) -> Result<CallOutput, StartError> {
    if let Some(exit) = call.stop.and_then(StopHandle::exit_if_stopped) {
        return Ok(CallOutput {
            exit,
            stdout: Vec::new(),
            stderr: Vec::new(),
        });
    }
    let failed = |source| StartError::Output {
        path: std::env::temp_dir(),
        source,
    };
    let mut command = build_command(call.program.as_ref(), call.args, call.cwd)?;
    let mut stdout = tempfile::tempfile().map_err(failed)?;
    let mut stderr = tempfile::tempfile().map_err(failed)?;
    command
        .envs(call.env.iter().copied())
        .env(MARK, call.mark.unwrap_or(OWN))
        .stdin(
            stdin_from_bytes(call.input).map_err(|source| StartError::Input {
                program: call.program.into(),
                source,
            })?,
        )
        .stdout(stdout.try_clone().map_err(failed)?)
        .stderr(stderr.try_clone().map_err(failed)?);
    let (sender, receiver) = mpsc::channel();
    let running = watch::spawn_watched(
        command,
        WatchSpec {
            limits: ProcessLimits {
                wall: Some(call.timeout),
                output_bytes_max: Some(OUTPUT_BYTES_MAX),
                grace: Duration::from_secs(1),
                ..ProcessLimits::default()
            },
            leftovers: Leftovers::Leave,
            output: stdout.try_clone().map_err(failed)?,
            events: Box::new(move |event| {
                if let ProcessEvent::Exited(exit) = event {
                    // The receiver below outlives this.
                    sender.send(exit).ok();
                }
            }),
        },
    )?;
    if let Some(stop) = call.stop {
        stop.attach_process(&running);
    }
    let exit = receiver.recv().expect("every child has exactly one end");
    drop(running);
    Ok(CallOutput {
        exit,
        stdout: read_from_start(&mut stdout).map_err(failed)?,
        stderr: read_from_start(&mut stderr).map_err(failed)?,
    })
}

/// A file without a name, as for the output: a program that does not read it does not
/// block this process.
fn stdin_from_bytes(input: &[u8]) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

fn read_from_start(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
