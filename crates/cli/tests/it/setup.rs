//! What a person sets up once: agent programs that are found here.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::harness::{Said, Scratch};

/// A folder on `PATH`, outside of the project.
struct Programs(tempfile::TempDir);

impl Programs {
    /// Programs of these names, each with the body of its script.
    fn new(programs: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, body) in programs {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("written");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
        }
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command that finds these programs and no others.
    fn command(&self, scratch: &Scratch, args: &[&str]) -> Command {
        let mut command = scratch.command(args);
        command.env("PATH", self.path());
        command
    }

    /// What it says, without the names of the folders, and with columns that do not follow
    /// their length.
    fn shows(&self, scratch: &Scratch, args: &[&str]) -> String {
        let output = self.command(scratch, args).output().expect("piton starts");
        let shown = Said::of(&output).shown(scratch);
        let shown = shown.replace(&*self.path().to_string_lossy(), "BIN");
        let cells = |line: &str| {
            let cells = line.split("  ").map(str::trim);
            let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
            cells.join(" | ") + "\n"
        };
        shown.lines().map(cells).collect()
    }
}

#[test]
fn agents_are_listed_with_version_login_and_who_named_them() {
    let scratch = Scratch::new();
    let none = Programs::new(&[]);
    insta::assert_snapshot!(none.shows(&scratch, &["agents"]), @r"
    claude | not installed | install it with `npm install -g @anthropic-ai/claude-code`
    codex | not installed | install it with `npm install -g @openai/codex`
    gemini | not installed | install it with `npm install -g @google/gemini-cli`
    hint: no agent is set for new runs: `piton config set agent.use claude`, or `piton run PLAN --agent claude`
    [exit 0]
    ");
    let programs = Programs::new(&[
        ("claude", "echo '2.0.14 (Claude Code)'"),
        ("codex", "exit 1"),
    ]);
    scratch.write(
        ".claude/.credentials.json",
        r#"{"claudeAiOauth": {"accessToken": "hunter2-hunter2"}}"#,
    );
    insta::assert_snapshot!(programs.shows(&scratch, &["agents"]), @r"
    claude | 2.0.14 | logged in (SCRATCH/.claude/.credentials.json) | BIN/claude
    codex | version unknown: `--version` ended with 1 | login unknown | BIN/codex
    gemini | not installed | install it with `npm install -g @google/gemini-cli`
    hint: no agent is set for new runs: `piton config set agent.use claude`, or `piton run PLAN --agent claude`
    [exit 0]
    ");
    scratch.write(".piton/config.toml", "[agent]\nuse = \"gemini\"\n");
    insta::assert_snapshot!(programs.shows(&scratch, &["agents"]), @r"
    claude | 2.0.14 | logged in (SCRATCH/.claude/.credentials.json) | BIN/claude
    codex | version unknown: `--version` ended with 1 | login unknown | BIN/codex
    gemini | not installed | install it with `npm install -g @google/gemini-cli`
    `gemini`: new runs use it: `agent.use` in .piton/config.toml; the agent cannot be started: `gemini` is not found on the PATH
    [exit 0]
    ");
    let shown = programs.shows(&scratch, &["agents", "--json"]);
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains(r#""named_by": "config""#), "{shown}");
    assert!(!scratch.home().exists(), "it writes nothing");
}
