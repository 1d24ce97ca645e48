//! What a person sets up once: agent programs that are found here, what the doctor looks
//! at, and what `piton init` asks and writes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::harness::{Said, Scratch};
use crate::watching::Terminal;

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

    /// The same beside git.
    fn with_git(programs: &[(&str, &str)]) -> Self {
        let made = Self::new(programs);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let git = std::env::split_paths(&path).map(|folder| folder.join("git"));
        let git = { git }.find(|git| git.is_file());
        let git = git.expect("git is installed");
        std::os::unix::fs::symlink(git, made.path().join("git")).expect("linked");
        made
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
    qwen | not installed | install it with `npm install -g @qwen-code/qwen-code`
    copilot | not installed | install it with `npm install -g @github/copilot`
    opencode | not installed | install it with `npm install -g opencode-ai`
    hint: no agent is set for new runs: install one, or name a command that reads a prompt: `piton run PLAN --agent 'sh:CMD'`
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
    qwen | not installed | install it with `npm install -g @qwen-code/qwen-code`
    copilot | not installed | install it with `npm install -g @github/copilot`
    opencode | not installed | install it with `npm install -g opencode-ai`
    hint: no agent is set for new runs: `piton config set agent.use claude`, or `piton run PLAN --agent claude`
    [exit 0]
    ");
    scratch.write(".piton/config.toml", "[agent]\nuse = \"gemini\"\n");
    insta::assert_snapshot!(programs.shows(&scratch, &["agents"]), @r"
    claude | 2.0.14 | logged in (SCRATCH/.claude/.credentials.json) | BIN/claude
    codex | version unknown: `--version` ended with 1 | login unknown | BIN/codex
    gemini | not installed | install it with `npm install -g @google/gemini-cli`
    qwen | not installed | install it with `npm install -g @qwen-code/qwen-code`
    copilot | not installed | install it with `npm install -g @github/copilot`
    opencode | not installed | install it with `npm install -g opencode-ai`
    `gemini`: new runs use it: `agent.use` in .piton/config.toml; the agent cannot be started: `gemini` is not found on the PATH
    [exit 0]
    ");
    let shown = programs.shows(&scratch, &["agents", "--json"]);
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains(r#""named_by": "config""#), "{shown}");
    assert!(!scratch.home().exists(), "it writes nothing");
}

/// The findings of `piton doctor` in JSON that are not `ok`: check, grade and finding.
fn findings(programs: &Programs, scratch: &Scratch) -> (Vec<[String; 3]>, i32) {
    let output = programs
        .command(scratch, &["doctor", "--json"])
        .output()
        .expect("piton starts");
    let said = Said::of(&output);
    let report: serde_json::Value = serde_json::from_str(&said.out).expect("it is JSON");
    let checks = report["checks"].as_array().expect("a list").iter();
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let rows = checks.map(|one| [&one["check"], &one["grade"], &one["found"]].map(text));
    (rows.filter(|row| row[1] != "ok").collect(), said.exit)
}

#[track_caller]
fn assert_found(found: &(Vec<[String; 3]>, i32), expected: &[(&str, &str, &str)]) {
    let (rows, exit) = found;
    let shown: Vec<(&str, &str)> = rows.iter().map(|row| (&*row[0], &*row[1])).collect();
    let named: Vec<(&str, &str)> = expected.iter().map(|one| (one.0, one.1)).collect();
    assert_eq!(shown, named, "{rows:#?}");
    for (row, (_, _, part)) in rows.iter().zip(expected) {
        assert!(row[2].contains(part), "{row:?}");
    }
    let has_problem = expected.iter().any(|one| one.1 == "problem");
    assert_eq!(*exit, i32::from(has_problem));
}

/// A project in which nothing is wrong, and a machine with git and one agent.
fn healthy() -> (Scratch, Programs) {
    let scratch = Scratch::new();
    scratch.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    scratch.write(".piton/config.toml", "[agent]\nuse = \"claude\"\n");
    let added = scratch.piton(&["add", "Write hello"]);
    assert_eq!(added.exit, 0, "{}", added.err);
    (
        scratch,
        Programs::with_git(&[("claude", ": > \"$0.started\"")]),
    )
}

/// Each file of a project with its text, but for what SQLite opens to read.
fn all_files(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    for path in entries.map(|entry| entry.path()) {
        let is_sqlite = path.to_string_lossy().ends_with("-shm");
        match path.is_dir() {
            true => files.extend(all_files(&path)),
            false if is_sqlite => {}
            false => files.push((path.clone(), fs::read(&path).expect("read"))),
        }
    }
    files.sort();
    files
}

#[test]
fn a_doctor_finds_nothing_where_all_is_well_and_writes_nothing() {
    let (scratch, programs) = healthy();
    let before = all_files(&scratch.path());
    assert_found(&findings(&programs, &scratch), &[]);
    assert_eq!(all_files(&scratch.path()), before);
    assert!(!programs.path().join("claude.started").exists());
    let shown = programs.shows(&scratch, &["doctor"]);
    let shown: Vec<&str> = shown
        .lines()
        .map(|line| line.split(": ").next().unwrap_or(line))
        .collect();
    let checks = [
        "store", "config", "trust", "agents", "hooks", "git", "disk", "clock", "runs",
    ];
    for check in checks {
        let row = format!("ok | {check} | ");
        assert!(
            shown.iter().any(|line| line.starts_with(&row)),
            "{shown:#?}"
        );
    }
    assert!(
        shown.contains(&"`piton journal verify` reads all of it"),
        "{shown:#?}"
    );
}

#[test]
fn a_new_project_has_no_problem_and_no_store_is_begun() {
    let scratch = Scratch::outside_git();
    let found = findings(&Programs::new(&[]), &scratch);
    assert_found(
        &found,
        &[("agents", "warning", "no program that piton knows")],
    );
    assert!(!scratch.has(".piton"));
}

#[test]
fn a_doctor_names_what_is_wrong_and_what_to_type() {
    let (scratch, programs) = healthy();
    scratch.write(".piton/config.toml", "[agent]\nuse = \"gemini\"\n");
    let found = findings(&programs, &scratch);
    assert_found(&found, &[("agents", "problem", "`gemini` is not found")]);

    scratch.write(
        ".piton/config.toml",
        "[agent]\nuse = \"claude\"\nusee = 1\n",
    );
    let found = findings(&programs, &scratch);
    assert_found(&found, &[("config", "problem", "line 3")]);

    scratch.write(".piton/config.toml", "[agent]\nuse = \"./agent.sh\"\n");
    scratch.agent("touch STARTED");
    let mut command = programs.command(&scratch, &["doctor"]);
    let output = command.env_remove("PITON_TEST_TRUST").output();
    let said = Said::of(&output.expect("piton starts"));
    assert!(
        said.out
            .contains("1 command of the project would be asked about"),
        "{}",
        said.out
    );
    assert!(!scratch.has("STARTED"));

    scratch.write(".piton/config.toml", "[agent]\nuse = \"claude\"\n");
    let config = scratch.read(".git/config");
    scratch.write(
        ".git/config",
        &config.replace("Ada", "").replace("ada@example.org", ""),
    );
    let mut command = programs.command(&scratch, &["doctor"]);
    let said = Said::of(&command.output().expect("piton starts"));
    assert!(said.out.contains("git.no_identity"), "{}", said.out);
    scratch.write(".git/config", &config);
}

#[test]
fn hooks_that_start_what_is_gone_are_named_and_the_hint_repairs_them() {
    let (scratch, programs) = healthy();
    let hook = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "'/gone/my tools/piton' hook Stop"}]}]}}"#;
    scratch.write(".claude/settings.json", hook);
    let found = findings(&programs, &scratch);
    // The home of the user is the project here: both settings are one file.
    let gone = "start `/gone/my tools/piton`, which is not there";
    assert_found(
        &found,
        &[("hooks", "problem", gone), ("hooks", "problem", gone)],
    );
    let shown = programs.shows(&scratch, &["doctor"]);
    assert!(
        shown.contains("`piton hook install --agent claude`"),
        "{shown}"
    );
    let repaired = scratch.piton(&["hook", "install", "--agent", "claude", "--yes"]);
    assert_eq!(repaired.exit, 0, "{}", repaired.err);
    assert_found(&findings(&programs, &scratch), &[]);
}

#[test]
fn a_store_that_cannot_be_read_is_one_problem_and_other_checks_go_on() {
    let (scratch, programs) = healthy();
    scratch.write(".piton/journal.db", "no database");
    let (rows, exit) = findings(&programs, &scratch);
    let checks: Vec<(&str, &str)> = rows.iter().map(|row| (&*row[0], &*row[1])).collect();
    assert_eq!(checks, [("store", "problem")], "{rows:#?}");
    assert_eq!(exit, 1);
}

#[test]
fn a_run_without_its_runner_and_a_clock_behind_are_warnings() {
    let (scratch, programs) = healthy();
    scratch.agent("cat >/dev/null; touch began; sleep 600");
    let run = scratch.command(&["run", "--agent", "./agent.sh"]);
    let running = crate::harness::Running::start(run);
    scratch.until("the agent works", || scratch.has("began"));
    running.kill();
    let mut command = programs.command(&scratch, &["doctor"]);
    let output = command
        .env("PITON_TEST_CLOCK", "2026-01-01T00:00:00Z")
        .output();
    let said = Said::of(&output.expect("piton starts"));
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert!(
        said.out.contains("is interrupted: no runner works on it"),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("the newest event of the journal is from"),
        "{}",
        said.out
    );
    let typed = said
        .out
        .split("go on with `piton ")
        .nth(1)
        .and_then(|rest| rest.split('`').next());
    let typed: Vec<&str> = typed.expect("a command").split(' ').collect();
    let dry = scratch.piton(&[&typed[..], &["--dry-run"]].concat());
    assert_eq!(dry.exit, 0, "{}", dry.err);
}

const WRITTEN: &str = "# Settings of piton in this project. Commit this file.\n# `piton config show` lists all settings, with their defaults.\n\n[agent]\n# The agent of new runs; `piton run --agent` names another one.\nuse = \"claude\"\n\n[claims]\n# The check of items that have none of their own.\ncheck = \"test -f hello\"\n# Such an item is done when its agent says so and the check passes.\nchanged = \"check\"\nword = \"check\"\n";

const INIT: &[&str] = &["init", "--agent", "claude", "--check", "test -f hello"];

#[test]
fn flags_of_init_make_a_configuration_with_comments_whose_check_holds() {
    let scratch = Scratch::new();
    let untrusting = |args: &[&str]| {
        let mut command = scratch.command(args);
        command.env_remove("PITON_TEST_TRUST");
        Said::of(&command.output().expect("piton starts"))
    };
    let done = untrusting(INIT);
    assert_eq!(done.exit, 0, "{}", done.err);
    let line = "claims.check = \"test -f hello\" is written into .piton/config.toml";
    assert!(done.err.contains(line), "{}", done.err);
    assert_eq!(scratch.read(".piton/config.toml"), WRITTEN);
    let again = untrusting(INIT);
    assert_eq!(again.exit, 0, "{}", again.err);
    assert_eq!(scratch.read(".piton/config.toml"), WRITTEN);

    // The agent says that it is done; what was typed is trusted, and decides.
    untrusting(&["add", "Write hello"]);
    scratch.agent("cat >/dev/null; echo x >>other; echo '{\"status\": \"completed\", \"summary\": \"written\"}'");
    let said = untrusting(&["run", "--agent", "./agent.sh"]);
    assert_eq!(said.exit, 1, "{}{}", said.out, said.err);
    let failed = "! check of write-hello failed: exit status 1\n  test -f hello\n";
    assert!(said.err.contains(failed), "{}", said.err);
}

#[test]
fn init_leaves_a_configuration_as_it_is_but_for_what_was_typed() {
    let scratch = Scratch::new();
    let own = "# ours\n[claims]\nword = \"ask\"   # a person decides\n";
    scratch.write(".piton/config.toml", own);
    let report = scratch.json(INIT);
    let keys = report["settings"].as_array().expect("a list").iter();
    let keys: Vec<&str> = keys.filter_map(|one| one["key"].as_str()).collect();
    assert_eq!(keys, ["agent.use", "claims.check", "claims.changed"]);
    let text = scratch.read(".piton/config.toml");
    assert!(text.starts_with(own), "{text}");
    assert!(
        text.contains("check = \"test -f hello\"\nchanged = \"check\"\n"),
        "{text}"
    );
}

#[test]
fn without_a_terminal_init_asks_nothing_and_sets_nothing_that_was_not_typed() {
    let scratch = Scratch::new();
    let programs = Programs::with_git(&[("claude", "")]);
    for args in [&["init"][..], &["init", "--yes"], &["init", "--dry-run"]] {
        let shown = programs.shows(&scratch, args);
        assert!(shown.ends_with("[exit 0]\n"), "{shown}");
        assert!(!shown.contains("agent of new runs"), "{shown}");
        assert!(!scratch.has(".piton/config.toml"));
    }
}

#[test]
fn at_a_terminal_init_asks_once_for_agent_and_check() {
    let scratch = Scratch::new();
    let programs = Programs::with_git(&[("claude", "")]);
    let line = format!("PATH='{}' piton init", programs.path().display());
    let Some(terminal) = Terminal::start(&scratch, 120, &line) else {
        return;
    };
    terminal.until_line(
        "agent of new runs: claude, or a command that reads a prompt; `-` for none [claude]",
    );
    terminal.tmux("send-keys Enter");
    terminal.until_line("check of items that have none, such as `make test` [none]");
    terminal.tmux("send-keys 'test -f hello' Enter");
    terminal.until_line("ended 0");
    assert_eq!(scratch.read(".piton/config.toml"), WRITTEN);
    drop(terminal);
    // What is set is not asked about.
    let again = Terminal::start(&scratch, 120, &line).expect("there was one");
    let screen = again.until_line("ended 0");
    assert!(
        !screen.iter().any(|line| line.contains("agent of new runs")),
        "{screen:#?}"
    );
}

#[test]
fn at_a_terminal_a_dash_sets_no_agent_and_yes_sets_the_one_that_is_found() {
    let scratch = Scratch::new();
    let programs = Programs::with_git(&[("codex", "")]);
    let piton = format!("PATH='{}' piton init", programs.path().display());
    let Some(terminal) = Terminal::start(&scratch, 120, &piton) else {
        return;
    };
    terminal.until_line("agent of new runs: codex");
    terminal.tmux("send-keys - Enter");
    terminal.until_line("check of items");
    terminal.tmux("send-keys Enter");
    terminal.until_line("ended 0");
    assert!(!scratch.has(".piton/config.toml"));
    drop(terminal);
    let yes = Terminal::start(&scratch, 120, &format!("{piton} --yes")).expect("there was one");
    yes.until_line("ended 0");
    let text = scratch.read(".piton/config.toml");
    assert!(text.ends_with("use = \"codex\"\n"), "{text}");
}
