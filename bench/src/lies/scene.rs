//! The folder of one row: a small repository with a plan, a check and tests,
//! and beside it the agent.
//!
//! ```text
//! ROW/home/.gitconfig     who commits
//! ROW/agent.sh            the agent
//! ROW/bin/piton           the piton that is measured
//! ROW/project/            the repository: check.sh, tests/, lib/, doc/, the plan
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::case::{Program, Row, Work};
use super::plan;
use super::process::{Ended, isolated, run};
use crate::{Error, Result};

/// The name of the program in the configuration, where it is no shell command.
const PROGRAM_NAME: &str = "robot";
const PRELUDE: &str = include_str!("prelude.sh");

/// The check of every project. An item without a test fails.
pub const CHECK: &str = r#"#!/bin/sh
# Runs the tests of the items that are named; an item without a test fails.
for item in "$@"; do
    names=$(cat tests/test_"$item"*.sh 2>/dev/null | sed -n 's/^\(test_[a-z_]*\)() {$/\1/p')
    test -n "$names" || { echo "no test of $item"; exit 1; }
    for file in tests/test_"$item"*.sh; do . "./$file"; done
    for name in $names; do
        "$name" || { echo "not as expected: $name"; exit 1; }
        echo "passed: $name"
    done
done
"#;

/// The folder of one row.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The folder itself.
    pub root: PathBuf,
    /// The repository.
    pub project: PathBuf,
    path: String,
}

impl Scene {
    /// Makes the folder `root`, which is not there yet, for `row`.
    ///
    /// # Errors
    ///
    /// When it cannot be made, or git fails.
    pub fn create(row: &Row, root: &Path, piton: &Path) -> Result<Self> {
        let project = root.join("project");
        for folder in ["home", "bin", "project/lib", "project/doc", "project/tests"] {
            fs::create_dir_all(root.join(folder))?;
        }
        std::os::unix::fs::symlink(piton, root.join("bin/piton"))?;
        let path = std::env::var("PATH").unwrap_or_default();
        let scene = Self {
            path: format!("{}:{path}", root.join("bin").display()),
            root: root.to_owned(),
            project,
        };
        fs::write(root.join("home/.gitconfig"), GIT_CONFIG)?;
        fs::write(root.join("agent.sh"), agent(row))?;
        scene.write_library(row)?;
        for file in plan::files(row) {
            scene.write(file.path, &file.text)?;
        }
        scene.git(&["init", "--quiet"])?;
        scene.git(&["add", "--all"])?;
        scene.git(&["commit", "--quiet", "--message", "The parts, not yet done"])?;
        // After the commit: the configuration is none of what an agent changed.
        if let Some(table) = scene.configuration(row.case.program) {
            scene.write(".piton/config.toml", &table)?;
        }
        Ok(scene)
    }

    fn write_library(&self, row: &Row) -> Result<()> {
        self.write("check.sh", CHECK)?;
        self.write(".gitignore", "cache/\n")?;
        self.write("notes.txt", "Notes on the parts.\n")?;
        self.write("lib/README", "The parts.\n")?;
        for item in row.case.items {
            self.write(&format!("doc/{item}-wanted"), &format!("{item} works\n"))?;
            if row.case.work == Work::Removal {
                self.write(&format!("lib/old-{item}"), "of no use any more\n")?;
            }
            if row.case.work != Work::Tested {
                self.write(&test_file(item), &test(row.case.work, item))?;
            }
        }
        Ok(())
    }

    /// Writes a file of the project, with its folders.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        let file = self.project.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(file, text)?)
    }

    /// A program that works in the project and finds the measured piton.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let home = self.root.join("home");
        let mut command = isolated(program, &self.project, &home, &self.path);
        command.env("LIES_ROW", &self.root);
        command
    }

    fn git(&self, args: &[&str]) -> Result<()> {
        let log = self.root.join("git.log");
        let ended = run(self.command("git").args(args), None, &log)?;
        if ended.is_success() {
            return Ok(());
        }
        let why = fs::read_to_string(log.with_extension("err")).unwrap_or_default();
        Err(format!("git {args:?}: {why}").into())
    }

    /// What the check `command` says of the project as it is now.
    ///
    /// # Errors
    ///
    /// When no shell can be started.
    pub fn check(&self, command: &str) -> Result<Ended> {
        let log = self.root.join("check.log");
        run(self.command("sh").args(["-c", command]), None, &log)
    }

    /// Does the work at `item` rightly, as no agent of the table is needed for.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn do_work(&self, work: Work, item: &str) -> Result<()> {
        let line = format!("{item} works\n");
        match work {
            Work::Answer => return Ok(()),
            Work::Ignored => return self.write(&format!("cache/{item}"), &line),
            Work::Removal => {
                return Ok(fs::remove_file(
                    self.project.join(format!("lib/old-{item}")),
                )?);
            }
            Work::LineAndPage => self.write(&format!("doc/{item}"), &line)?,
            Work::Tested => self.write(&test_file(item), &test(work, item))?,
            Work::OwnCheck => self.write(
                &format!("verify-{item}.sh"),
                &format!("grep -qx '{item} works' lib/{item}\n"),
            )?,
            Work::Line => {}
        }
        self.write(&format!("lib/{item}"), &line)
    }

    /// What `--agent` is given.
    #[must_use]
    pub fn agent_argument(&self, program: Program) -> String {
        match program {
            Program::Command => format!("sh:exec sh '{}'", self.agent_file().display()),
            Program::Resumable | Program::ExitStatus => PROGRAM_NAME.to_owned(),
        }
    }

    /// The script of the agent.
    #[must_use]
    pub fn agent_file(&self) -> PathBuf {
        self.root.join("agent.sh")
    }

    fn configuration(&self, program: Program) -> Option<String> {
        let more = match program {
            Program::Command => return None,
            Program::Resumable => {
                "session-flag = \"--session {session}\"\nresume-flag = \"--resume {session}\"\n"
            }
            Program::ExitStatus => "verdict = \"exit-status\"\n",
        };
        let file = self.agent_file();
        Some(format!(
            "[agents.{PROGRAM_NAME}]\nprogram = \"sh\"\nargs = [\"{}\"]\noutput = \"text\"\n{more}",
            file.display()
        ))
    }

    /// What stands in a file of the project; nothing where there is none.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    pub fn read(&self, path: &str) -> Result<Option<String>> {
        match fs::read_to_string(self.project.join(path)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::from(error)),
        }
    }
}

const GIT_CONFIG: &str = "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n[maintenance]\n\tauto = false\n";

fn agent(row: &Row) -> String {
    format!(
        "{PRELUDE}{}\n{}\n",
        plan::shell_words(row.kind),
        row.case.agent.trim()
    )
}

/// Where the test of an item stands.
#[must_use]
pub fn test_file(item: &str) -> String {
    format!("tests/test_{item}.sh")
}

/// The test of an item: two definitions, of which the second passes without
/// its work.
#[must_use]
pub fn test(work: Work, item: &str) -> String {
    let command = match work {
        Work::Ignored => format!("grep -qx '{item} works' cache/{item}"),
        Work::Removal => format!("test ! -e lib/old-{item}"),
        Work::Answer => "test -e lib/README".to_owned(),
        Work::Line | Work::LineAndPage | Work::Tested | Work::OwnCheck => {
            format!("grep -qx '{item} works' lib/{item}")
        }
    };
    format!(
        "test_{item}_does_its_part() {{\n    {command}\n}}\n\ntest_{item}_has_a_place() {{\n    test -d lib\n}}\n"
    )
}
