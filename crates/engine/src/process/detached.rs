//! This program once more, beside this process and without its terminal.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use super::child::now;

/// A line that the other process printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrintedLine {
    /// On stdout.
    Out(String),
    /// On stderr.
    Err(String),
}

/// How long all the rest of what it printed may take when it has said that it works.
const REST: Duration = Duration::from_secs(2);

/// Starts `program` in `cwd`, whose lines go to `each`, until that says that enough was
/// heard: then it goes on by itself. What it ended with where it ends before; the inner
/// one is none where a signal ended it.
///
/// # Errors
///
/// When it cannot be started.
#[expect(
    clippy::disallowed_methods,
    reason = "this module is where programs are started"
)]
pub(crate) fn start_detached(
    program: &Path,
    arguments: &[OsString],
    cwd: &Path,
    each: &mut dyn FnMut(PrintedLine) -> bool,
) -> io::Result<Option<Option<i32>>> {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (sender, lines) = mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        forward_lines(pipe, PrintedLine::Out, sender.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        forward_lines(pipe, PrintedLine::Err, sender);
    }
    // It ends when both pipes are closed.
    for line in &lines {
        if each(line) {
            let until = now() + REST;
            while let Ok(line) = lines.recv_timeout(until.saturating_duration_since(now())) {
                each(line);
            }
            return Ok(None);
        }
    }
    Ok(Some(child.wait()?.code()))
}

fn forward_lines(
    pipe: impl Read + Send + 'static,
    of: fn(String) -> PrintedLine,
    to: Sender<PrintedLine>,
) {
    std::thread::spawn(move || {
        let lines = BufReader::new(pipe).split(b'\n');
        for line in lines.map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if to.send(of(line)).is_err() {
                return;
            }
        }
    });
}

/// Leaves the terminal of this process: it is told of no signal of that, and outlives it.
pub fn leave_terminal() {
    // It fails where this process leads a group: then it has a session of its own, or
    // none to leave.
    rustix::process::setsid().ok();
}

/// Asks this process to end, as a signal from outside would.
pub fn end_this_process() {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_on_and_on_is_not_listened_to_for_ever() {
        let script = "echo works; for n in 1 2 3 4 5 6 7 8 9; do echo $n; sleep 0.5; done";
        let arguments = ["-c", script].map(OsString::from);
        let begun = now();
        let mut lines = 0;
        let ended = start_detached(
            Path::new("/bin/sh"),
            &arguments,
            Path::new("/"),
            &mut |line| {
                lines += 1;
                line == PrintedLine::Out("works".to_owned())
            },
        );
        assert_eq!(ended.expect("it starts"), None);
        assert!(lines < 9, "{lines} lines");
        assert!(begun.elapsed() < REST * 2, "{:?}", begun.elapsed());
    }
}
