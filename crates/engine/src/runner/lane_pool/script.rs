//! The commands of a project that make a lane ready, and end it.

use std::path::Path;

use piton_core::redact::Redactor;
use piton_core::trust::{ExecutablePart, PartKind};

use super::{Lane, LaneFault, Pool, file_fault_at};
use crate::git::GitControl;
use crate::process;
use crate::process::{ScriptCall, StopReason};
use crate::project::inside::write_own_file;
use crate::world::input;

/// Of what a command printed so many lines are said where it failed.
const LINES: usize = 20;

/// A command of `[workspace]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneScript {
    /// Makes a lane ready.
    Setup,
    /// Ends a lane.
    Teardown,
}

impl LaneScript {
    /// The key of the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Teardown => "teardown",
        }
    }

    fn part_kind(self) -> PartKind {
        match self {
            Self::Setup => PartKind::Setup,
            Self::Teardown => PartKind::Teardown,
        }
    }
}

/// What a lane adds to the environment of what runs in it.
#[derive(Debug)]
pub(super) struct LaneEnvironment {
    pub(super) variables: Vec<(String, String)>,
    /// What is wrong with the file of variables.
    pub(super) warnings: Vec<String>,
}

impl Pool {
    /// What a lane adds to the environment of what runs in it now.
    pub(super) fn lane_environment(&self, lane: &Lane) -> Result<LaneEnvironment, LaneFault> {
        let path = lane.env_file_path();
        let text = match input::read_file_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(file_fault_at(&path)(error)),
        };
        let (mut variables, wrong) = parse_env(&text);
        let own = [
            ("PITON_LANE", lane.number.to_string()),
            ("PITON_PORT_BASE", self.port_base(lane.number).to_string()),
            ("PITON_LANE_ENV", path.to_string_lossy().into_owned()),
            (
                "PITON_PROJECT",
                self.project.root.to_string_lossy().into_owned(),
            ),
        ];
        variables.extend(own.map(|(name, value)| (name.to_owned(), value)));
        let wrong = wrong.into_iter().map(|line| {
            format!(
                "line {line} of {} is no NAME=value that an agent may get",
                path.display()
            )
        });
        Ok(LaneEnvironment {
            variables,
            warnings: wrong.collect(),
        })
    }

    /// Runs a command in a lane, bounded, and keeps what it printed. What it leaves
    /// running on purpose stays.
    pub(super) fn run_script(
        &self,
        lane: &Lane,
        script: LaneScript,
        command: &str,
        by: &GitControl<'_>,
        redactor: &Redactor,
    ) -> Result<(), LaneFault> {
        let env = self.lane_environment(lane)?.variables;
        let env: Vec<(&str, &str)> = env.iter().map(|(name, to)| (&**name, &**to)).collect();
        let part = ExecutablePart::new(script.part_kind(), ".piton/config.toml", command);
        let trusted = self.trust.admit_script(part)?;
        let output = process::run_script(&ScriptCall {
            // One log, in the order in which it was printed.
            script: &trusted.with_joined_output(),
            cwd: &lane.tree,
            input: &[],
            env: &env,
            mark: Some(by.mark),
            stop: Some(by.stop),
            timeout: self.settings.setup_timeout(),
        });
        let fault = |how: String, lines| LaneFault::Script {
            script,
            lane: lane.number,
            how,
            lines,
        };
        let output = output.map_err(|error| fault(format!("could not start: {error}"), vec![]))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let text = redactor.redact(&text);
        write_log(lane, script, &text)?;
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        let last = last.iter().map(|line| (*line).to_owned()).collect();
        match output.exit.describe_failure(&self.settings.setup_timeout) {
            None => Ok(()),
            Some(_) if output.exit.stopped_by == Some(StopReason::Asked) => Err(LaneFault::Stopped),
            Some(how) => Err(fault(how, last)),
        }
    }
}

fn write_log(lane: &Lane, script: LaneScript, text: &str) -> Result<(), LaneFault> {
    let path = match script {
        LaneScript::Setup => lane.setup_log_path(),
        LaneScript::Teardown => return Ok(()),
    };
    write_own_file(&path, text.as_bytes()).map_err(file_fault_at(&path))
}

/// The variables of a file of `NAME=value` lines, and the lines, from 1, that are
/// none. Names that piton gives itself are none: by them an agent is known.
fn parse_env(text: &str) -> (Vec<(String, String)>, Vec<usize>) {
    let (mut env, mut wrong) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once('=') {
            Some((name, value)) if is_variable_name(name) && !value.contains('\0') => {
                env.push((name.to_owned(), value.to_owned()));
            }
            _ => wrong.push(at + 1),
        }
    }
    (env, wrong)
}

fn is_variable_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(begins) && name.chars().all(is_word) && !name.starts_with("PITON_")
}

/// A folder's path is private; so is what lies in it.
pub(super) fn create_empty_env_file(path: &Path) -> Result<(), LaneFault> {
    write_own_file(path, b"").map_err(file_fault_at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_variable_or_one_of_pitons_is_named_by_its_line() {
        let text =
            "# made by setup\nDB=postgres://x?a=b\n\n  EMPTY=\nnot one\n1A=2\nPITON_ATTEMPT=x\n";
        let (env, wrong) = parse_env(text);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(env, [pair("DB", "postgres://x?a=b"), pair("EMPTY", "")]);
        assert_eq!(wrong, [5, 6, 7]);
    }
}
