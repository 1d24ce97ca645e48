//! Starting programs: cargo, rustup, piton.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// The cargo that runs this.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Runs a program whose words go straight to the terminal, without input.
pub(crate) fn run(root: &Path, program: &str, args: &[&str]) -> Result<(), String> {
    run_with(root, program, args, &[])
}

/// [`run`] with these variables in the environment as well.
pub(crate) fn run_with(
    root: &Path,
    program: &str,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Result<(), String> {
    let status = command(root, program, args)
        .envs(variables.iter().copied())
        .status()
        .map_err(|error| cannot_start(program, &error))?;
    outcome(program, args, status.success())
}

/// Runs a program, hands on every line of its stdout, and shows it to `each`.
pub(crate) fn follow(
    root: &Path,
    program: &str,
    args: &[&str],
    variables: &[(&str, &str)],
    mut each: impl FnMut(&str),
) -> Result<(), String> {
    let mut child = command(root, program, args)
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_start(program, &error))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            crate::say(&line);
            each(&line);
        }
    }
    let status = child
        .wait()
        .map_err(|error| format!("{program} was lost: {error}"))?;
    outcome(program, args, status.success())
}

/// Runs a program quietly; what it printed to stdout, if it went well.
pub(crate) fn read(root: &Path, program: &str, args: &[&str]) -> Result<String, String> {
    let output = command(root, program, args)
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| cannot_start(program, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{} failed: {}",
        line_of(program, args),
        said.trim()
    ))
}

/// Runs a program with this on its stdin; what it printed to stdout, if it went well.
pub(crate) fn feed(
    root: &Path,
    program: &str,
    args: &[&str],
    stdin: &str,
) -> Result<String, String> {
    let mut child = command(root, program, args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_start(program, &error))?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(stdin.as_bytes())
            .map_err(|error| format!("{program} does not read: {error}"))?;
    }
    let output = child
        .wait_with_output()
        .map_err(|error| format!("{program} was lost: {error}"))?;
    outcome(program, args, output.status.success())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program is there and does this.
pub(crate) fn works(root: &Path, program: &str, args: &[&str]) -> bool {
    read(root, program, args).is_ok()
}

/// How one would type it.
pub(crate) fn line_of(program: &str, args: &[&str]) -> String {
    let name = Path::new(program)
        .file_stem()
        .map_or_else(|| program.into(), |name| name.to_string_lossy());
    format!("{name} {}", args.join(" "))
}

fn command(root: &Path, program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root).stdin(Stdio::null());
    // The width of a help text must not depend on who looks at it.
    command.env("COLUMNS", "100");
    command
}

fn cannot_start(program: &str, error: &std::io::Error) -> String {
    format!("{program} cannot be started: {error}")
}

fn outcome(program: &str, args: &[&str], good: bool) -> Result<(), String> {
    if good {
        Ok(())
    } else {
        Err(format!("{} failed", line_of(program, args)))
    }
}
