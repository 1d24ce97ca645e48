//! Sprints that nobody wrote.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::bed::Bed;
use crate::fill;

/// Lines of SPRINT.yaml that each step takes.
const STEP_LINES: usize = 4;
/// Its lines without steps.
const HEAD_LINES: usize = 5;

/// What is done for each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One node.
    Single,
    /// Three nodes, from a workflow with variables.
    Workflow,
}

/// How many steps make SPRINT.yaml about so many lines long.
#[must_use]
pub fn steps_of(lines: usize) -> usize {
    lines.saturating_sub(HEAD_LINES) / STEP_LINES
}

/// Makes a project with a sprint of so many steps in `sprint`.
///
/// # Errors
///
/// When it cannot be written.
pub fn project(bed: &Bed, steps: usize, shape: Shape) -> Result<PathBuf> {
    let folder = bed.project(&format!("sprint-{steps}"))?;
    write(&folder, Path::new("sprint"), steps, shape)?;
    Ok(folder)
}

/// Writes a sprint of so many steps into `plan`, a folder below `root`, and its
/// workflows to where they belong.
///
/// # Errors
///
/// When it cannot be written.
pub fn write(root: &Path, plan: &Path, steps: usize, shape: Shape) -> Result<()> {
    let (workflows, plan) = (root.join(".claude/workflows"), root.join(plan));
    fs::create_dir_all(&workflows)?;
    fs::create_dir_all(&plan)?;
    fs::write(workflows.join("main.yaml"), main_workflow(shape))?;
    fs::write(workflows.join("feature.yaml"), FEATURE)?;
    fs::write(plan.join("SPRINT.yaml"), definition(steps))?;
    Ok(())
}

/// Removes what a run of the sprint in the root of a folder left there: the
/// journal and the progress.
///
/// # Errors
///
/// When it cannot be removed.
pub fn clear(root: &Path) -> Result<()> {
    let removed = [
        fs::remove_dir_all(fill::home(root)),
        fs::remove_file(root.join("PROGRESS.yaml")),
    ];
    for outcome in removed {
        if let Err(error) = outcome
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error.into());
        }
    }
    Ok(())
}

/// What `--agent` is given for the script of [`write_answering_agent`].
pub const ANSWERING_AGENT: &str = "./answer.sh";

/// Writes `answer.sh`: an agent that does nothing and answers at once, in the
/// form that a prompt asks for.
///
/// # Errors
///
/// When it cannot be written.
pub fn write_answering_agent(folder: &Path) -> Result<()> {
    let line = r#"echo '{"status":"completed","summary":"done"}'"#;
    script(&folder.join("answer.sh"), line)
}

fn definition(steps: usize) -> String {
    let mut text = String::from(
        "workflow: main\nsprint-id: 2026-01-15_bench\nname: Bench\ncollections:\n  step:\n",
    );
    for step in 1..=steps {
        write!(
            text,
            "    - id: step-{step}\n      prompt: |\n        Write the part of the work that has the number {step},\n        and a test that would have failed without it.\n"
        )
        .expect("a string takes everything");
    }
    text
}

fn main_workflow(shape: Shape) -> String {
    let workflow = match shape {
        Shape::Single => "",
        Shape::Workflow => "    workflow: feature\n",
    };
    format!(
        "name: Main\nschema-version: \"2.0\"\nphases:\n  - id: development\n    for-each: step\n{workflow}"
    )
}

const FEATURE: &str = "name: Feature
schema-version: \"2.0\"
phases:
  - id: plan
    prompt: |
      Plan {{step.id}} of {{sprint.id}}: {{step.prompt}}
  - id: implement
    prompt: |
      Implement {{step.id}}, which is number {{step.index}}: {{step.prompt}}
  - id: verify
    prompt: |
      Verify {{step.id}}: {{step.prompt}}
";

/// Writes a script that can be executed.
///
/// # Errors
///
/// When it cannot be written.
pub fn script(path: &Path, lines: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, format!("#!/bin/sh\n{lines}\n"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sprint_has_about_as_many_lines_as_were_asked_for() {
        let lines = definition(steps_of(1_000)).lines().count();
        assert!((990..=1_000).contains(&lines), "{lines}");
    }
}
