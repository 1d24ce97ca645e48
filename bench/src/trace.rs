//! What a program asks of the machine, counted by strace.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::bed::Bed;

/// What a program and all that it starts called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls of fsync and fdatasync.
    pub flushes: usize,
    /// Processes that became git.
    pub git_processes: usize,
}

impl Calls {
    /// Adds what the trace of one process holds.
    fn add(&mut self, trace: &str) {
        let started_git = |line: &&str| line.contains("/git\", [") && line.ends_with(" = 0");
        self.flushes += trace.lines().filter(|line| line.contains("sync(")).count();
        self.git_processes += usize::from(trace.lines().any(|line| started_git(&line)));
    }
}

/// What this command calls; none without strace. It is run.
///
/// # Errors
///
/// When the traces cannot be read.
pub fn count_calls(bed: &Bed, command: &Command) -> Result<Option<Calls>> {
    let folder = bed.folder("trace")?;
    // A file for each process: no line of one is cut by a line of another.
    let traces = folder.join("process");
    let mut traced = Command::new("strace");
    traced.args(["-qq", "-f", "-ff"]);
    traced.args(["-e", "trace=execve,fsync,fdatasync", "-o"]);
    traced.arg(&traces).arg(command.get_program());
    traced.args(command.get_args()).env_clear();
    for (key, value) in command.get_envs() {
        traced.envs(value.map(|value| (key, value)));
    }
    if let Some(folder) = command.get_current_dir() {
        traced.current_dir(folder);
    }
    traced
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match traced.status() {
        Ok(status) if status.success() => read_traces(&folder).map(Some),
        _ => Ok(None),
    }
}

fn read_traces(folder: &Path) -> Result<Calls> {
    let mut calls = Calls::default();
    for entry in fs::read_dir(folder)? {
        calls.add(&String::from_utf8_lossy(&fs::read(entry?.path())?));
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_looks_for_git_in_many_folders_is_one() {
        let mut calls = Calls::default();
        calls.add(
            "execve(\"/usr/local/bin/git\", [\"git\", \"add\"], 0x1 /* 9 vars */) = -1 ENOENT (No such file)\n\
             execve(\"/usr/bin/git\", [\"git\", \"add\"], 0x1 /* 9 vars */) = 0\n\
             fdatasync(5) = 0\nfsync(6) = 0\n",
        );
        calls.add("execve(\"/bin/sh\", [\"sh\", \"-c\", \"./git\"], 0x1 /* 9 vars */) = 0\n");
        let expected = Calls {
            flushes: 2,
            git_processes: 1,
        };
        assert_eq!(calls, expected);
    }
}
