//! `piton init`: what is there is found, said and adopted, and nothing else is
//! touched, however often it is typed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Said, Scratch};

const RALPH: &str = ".ralph/progress.json";
const AGENT_OS: &str = ".agent-os/progress/progress.json";
const TASK: &str = "---\ntask: Build it\ntest_command: \"true\"\n---\n\n# Task\n\n## Success Criteria\n\n1. [ ] It works\n";
const STORIES: &str = r#"{"branchName": "x", "userStories": [{"id": "US-1", "title": "t", "description": "d", "acceptanceCriteria": ["a"], "priority": 1, "passes": false, "notes": ""}]}"#;
const FEATURES: &str =
    r#"{"features": [{"id": "a", "title": "t", "description": "d", "status": "pending"}]}"#;
const HEARTBEAT: &str = r#"{"status": "executing", "indicator": "x", "elapsed_seconds": 10, "last_output": "a "quote"", "timestamp": "2026-01-01 10:00:00"}"#;
const INSTALLED: &str = r#"{
  "version": "1.0",
  "project": "demo",
  "entries": [
    {
      "id": "entry-init-001",
      "timestamp": "2026-01-10T10:00:00Z",
      "type": "milestone_reached",
      "data": { "description": "Agent OS installed", "notes": "begun" }
    }
  ],
  "metadata": { "total_entries": 1, "oldest_entry": "2026-01-10T10:00:00Z", "last_updated": "2026-01-10T10:00:00Z", "archived_through": null }
}
"#;
const ATTEMPTS: &str = r#"{
    "version": "1.0", "created_at": "2026-01-01T00:00:00Z",
    "entries": [
        {"id": "auth-1", "timestamp": "2026-01-02T00:00:00Z", "prd_id": "auth",
         "iteration": 1, "status": "completed", "summary": "done", "observations": []}
    ]
}
"#;

/// Each file of the project, with what could have been changed of it.
fn everything(scratch: &Scratch) -> BTreeMap<String, (Vec<u8>, i64, i64, u64)> {
    fn walk(folder: &Path, root: &Path, found: &mut BTreeMap<String, (Vec<u8>, i64, i64, u64)>) {
        for entry in fs::read_dir(folder).expect("listed").flatten() {
            let path = entry.path();
            let name = path
                .strip_prefix(root)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            // The store is the journal's own business; git's index is git's.
            if name == ".git" || name == ".piton" {
                continue;
            }
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                let is = fs::metadata(&path).expect("there");
                let bytes = fs::read(&path).expect("read");
                found.insert(name, (bytes, is.mtime(), is.mtime_nsec(), is.ino()));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&scratch.path(), &scratch.path(), &mut found);
    found
}

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

fn intents(init: &Value) -> BTreeMap<String, String> {
    let found = init["found"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    found
        .iter()
        .map(|one| (text(&one["path"]), text(&one["intent"])))
        .collect()
}

/// A project with something of every format.
fn all_at_once() -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    scratch
        .write(RALPH, ATTEMPTS)
        .write(AGENT_OS, INSTALLED)
        .write(".ralph/progress.md", "# Progress Log\n\n---\n\n## Session History\n\n")
        .write(".ralph/guardrails.md", "# Ralph Guardrails (Signs)\n\n## Core Signs\n\n### Sign: Read Before Writing\n- **Trigger**: Before modifying any file\n- **Instruction**: Read it\n- **Added after**: Core principle\n")
        .write("RALPH_TASK.md", TASK)
        .write("prd.json", FEATURES)
        .write("state.json", r#"{"project_id": "p", "phase": "implementation", "issues": []}"#)
        .sprint("  - {id: a, prompt: x}\n");
    scratch
}

#[test]
fn an_empty_folder_has_nothing_and_is_said_so() {
    let scratch = Scratch::outside_git().with_fixed_clock();
    insta::assert_snapshot!(scratch.shows(&["init"]), @r"
    no native files were found here
    keeping progress in SCRATCH/.piton
    next: `piton add TITLE`, `piton log session_started`, or `piton run PLAN`
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["init"]), @r"
    no native files were found here
    next: `piton add TITLE`, `piton log session_started`, or `piton run PLAN`
    [exit 0]
    ");
}

#[test]
fn each_format_is_found_and_adopted_alone() {
    for (file, text, intent) in [
        (RALPH, ATTEMPTS, "adopt"),
        (AGENT_OS, INSTALLED, "adopt"),
        (
            ".ralph/guardrails.md",
            "# Ralph Guardrails (Signs)\n\n## Core Signs\n",
            "adopt",
        ),
        ("prd.json", STORIES, "run"),
        ("prd.json", FEATURES, "run"),
        ("RALPH_TASK.md", TASK, "run"),
        (
            "demo/SPRINT.yaml",
            "workflow: main\nsprint-id: s\ncollections: {step: [{prompt: a}]}\n",
            "run",
        ),
        ("progress.txt", "# Progress\n- did this\n", "migrate"),
    ] {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write(file, text).write(
            ".claude/workflows/main.yaml",
            "name: main\nschema-version: \"2.0\"\nphases:\n  - {id: a, prompt: x}\n",
        );
        let init = scratch.json(&["init", "--yes"]);
        assert_eq!(
            intents(&init).get(file).map(String::as_str),
            Some(intent),
            "{file}: {init}"
        );
        assert_eq!(
            scratch.read(file),
            text,
            "{file}: it is not changed by being adopted"
        );
        let again = scratch.json(&["init"]);
        let kept = if intent == "adopt" { "kept" } else { intent };
        assert_eq!(intents(&again)[file], kept, "{file}");
    }
}

#[test]
fn case_35_init_again_changes_no_byte_and_no_time_of_anything() {
    let scratch = all_at_once();
    let before = everything(&scratch);
    fine(&scratch.piton(&["init", "--yes"]));
    let once = everything(&scratch);
    for (file, (bytes, ..)) in &before {
        let (now, ..) = &once[file];
        let text = String::from_utf8_lossy(now);
        assert!(now.len() >= bytes.len(), "{file} holds less: {text}");
    }
    assert_eq!(scratch.read("prd.json"), FEATURES);
    assert_eq!(scratch.read("RALPH_TASK.md"), TASK);
    let events = scratch.event_kinds();
    for _ in 0..2 {
        fine(&scratch.piton(&["init", "--yes"]));
        assert!(
            everything(&scratch) == once,
            "a second init touches nothing"
        );
    }
    fine(&scratch.piton(&["files", "sync"]));
    assert!(everything(&scratch) == once, "nor does a sync");
    assert_eq!(scratch.event_kinds(), events);
    // And what is recorded goes everywhere.
    fine(&scratch.piton(&["record", "auth", "--summary", "everywhere"]));
    for file in [RALPH, AGENT_OS] {
        assert!(scratch.read(file).contains("everywhere"), "{file}");
    }
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let scratch = all_at_once();
    let before = everything(&scratch);
    let said = scratch.piton(&["init", "--dry-run"]);
    fine(&said);
    assert!(said.err.contains("nothing was done"), "{}", said.err);
    let init = scratch.json(&["init", "--dry-run"]);
    assert_eq!(init["done"], false);
    assert!(everything(&scratch) == before && !scratch.has(".piton"));
}

#[test]
fn a_program_is_told_what_was_found_and_done() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write(RALPH, ATTEMPTS).write("prd.json", STORIES);
    let mut init = scratch.json(&["init"]);
    init["home"] = json!("HOME");
    insta::assert_snapshot!(serde_json::to_string_pretty(&init).expect("JSON"), @r#"
    {
      "home": "HOME",
      "found": [
        {
          "path": ".ralph/progress.json",
          "about": "Ralph's progress: attempts, learnings, patterns",
          "intent": "adopt",
          "adoption": [
            {
              "what": "entries",
              "taken": 1,
              "left": 0
            },
            {
              "what": "keys",
              "taken": 10,
              "left": 0
            }
          ]
        },
        {
          "path": "prd.json",
          "about": "a list of user stories",
          "intent": "run",
          "command": "piton run prd.json",
          "items": {
            "open": 1,
            "total": 1
          },
          "adoption": [
            {
              "what": "entries",
              "taken": 1,
              "left": 0
            },
            {
              "what": "keys",
              "taken": 9,
              "left": 0
            }
          ]
        }
      ],
      "ignore": [],
      "said": [
        "took 1 thing in from .ralph/progress.json"
      ],
      "done": true
    }
    "#);
}

#[test]
fn what_is_found_is_offered_only_where_it_can_be_used_and_typed_from_here() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch
        .write("web/prd.json", STORIES)
        .write("prd.json", "{\"features\": []}")
        .write("RALPH_TASK.md", "")
        .write("demo/SPRINT.yaml", "workflow: nowhere\nsprint-id: s\n")
        .write(
            "state.json",
            r#"{"run_id": "r", "phase": "IMPLEMENTATION", "phase_status": "x", "issues": {"A": {"status": "odd"}, "A": 1}}"#,
        )
        .write(RALPH, "{\"version\": \"1.0\", \"entries\": [");
    let shows = |args: &[&str]| {
        let output = scratch.command_in("web", args).output();
        Said::of(&output.expect("piton starts")).shown(&scratch)
    };
    insta::assert_snapshot!(shows(&["init"]), @r"
    .ralph/progress.json  cannot be read, and is asked about             Ralph's progress: attempts, learnings, patterns
    RALPH_TASK.md         left alone                                     a task with criteria: an empty file
    demo/SPRINT.yaml      left alone: `piton plan check ../demo`         the definition of a sprint, which has errors
    prd.json              left alone                                     a list of features, with nothing to do in it
    state.json            left alone: `piton files check ../state.json`  the state of an Agentic SDLC run, which cannot be read
    web/prd.json          a plan, 1 of 1 open: `piton run prd.json`      a list of user stories
    web/prd.json: took 1 entry, 9 keys
    stdin is no terminal, so piton does not ask: this goes on as with `--yes`; `--dry-run` only looks
    keeping progress in SCRATCH/.git/piton
    .ralph/progress.json cannot be taken in whole: what is asked about stays as it is; see `piton inbox`
    hint: some files of ralph-dir are not there, and none is made; `piton init --with ralph-dir` begins them
    next: `piton run prd.json`
    [exit 0]
    ");
    // What was adopted is not adopted again, and nothing is to be asked.
    insta::assert_snapshot!(shows(&["init"]), @r"
    .ralph/progress.json  cannot be read, and is asked about             Ralph's progress: attempts, learnings, patterns
    RALPH_TASK.md         left alone                                     a task with criteria: an empty file
    demo/SPRINT.yaml      left alone: `piton plan check ../demo`         the definition of a sprint, which has errors
    prd.json              left alone                                     a list of features, with nothing to do in it
    state.json            left alone: `piton files check ../state.json`  the state of an Agentic SDLC run, which cannot be read
    web/prd.json          a plan, 1 of 1 open: `piton run prd.json`      a list of user stories
    web/prd.json: took 1 entry, 9 keys
    hint: some files of ralph-dir are not there, and none is made; `piton init --with ralph-dir` begins them
    next: `piton run prd.json`
    [exit 0]
    ");
    assert_eq!(scratch.piton(&["issue", "list"]).exit, 2);
}

/// The line of `next:`, as a shell gets it.
fn next_command(said: &Said) -> Vec<String> {
    let typed = said.err.split("next: `").nth(1).expect("a next step");
    let typed = typed.split('`').next().expect("it ends");
    let typed = typed.strip_prefix("piton").expect("a command of piton");
    let words = format!("printf '%s\\n'{typed}");
    let output = std::process::Command::new("sh")
        .args(["-c", &words])
        .output();
    let output = String::from_utf8(output.expect("a shell").stdout).expect("text");
    output.lines().map(str::to_owned).collect()
}

#[test]
fn the_next_step_can_be_typed_whatever_the_plan_is_called() {
    let scratch = Scratch::new();
    scratch.write("specs/001 it's/tasks.md", "- [ ] T001 Write hello\n");
    let said = scratch.piton(&["init"]);
    assert_eq!(next_command(&said), ["run", "specs/001 it's/tasks.md"]);
}

#[test]
fn a_second_work_tree_is_offered_the_plan_that_lies_in_it() {
    let scratch = Scratch::new();
    scratch
        .write("TODO.md", "- [ ] one\n")
        .write(".gitignore", "/tree/\n/prd.json\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch.git(&["worktree", "add", "-q", "tree", "-b", "side"]);
    // What lies in the main work tree alone can be run from both.
    scratch
        .write("prd.json", STORIES)
        .write("tree/TODO.md", "- [x] one\n- [ ] two\n- [ ] three\n");
    let mut command = scratch.command_in("tree", &["init"]);
    let said = Said::of(&command.output().expect("piton starts"));
    assert_eq!(next_command(&said), ["run", "TODO.md"], "{}", said.err);
    assert!(
        said.out.contains("2 of 3 open: `piton run TODO.md`"),
        "{}",
        said.out
    );
    assert!(said.out.contains("`piton run ../prd.json`"), "{}", said.out);
    assert!(
        !said.err.contains("neither read nor written"),
        "{}",
        said.err
    );
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write(RALPH, ATTEMPTS);
    // Stdin is no terminal here: it does not wait, and it does what was typed.
    let said = scratch.piton(&["init"]);
    fine(&said);
    assert!(!said.err.contains("[Y/n]"), "{}", said.err);
    assert!(said.err.contains("piton does not ask"), "{}", said.err);
    assert_eq!(
        scratch.json(&["recent", "--item", "auth"])["attempts"][0]["name"],
        "auth-1"
    );
}

#[test]
fn case_9_files_of_other_tools_are_named_and_left_alone() {
    for (file, text, what) in [
        (RALPH, HEARTBEAT, "heartbeat"),
        (RALPH, INSTALLED, "Agent OS"),
        (AGENT_OS, ATTEMPTS, "Ralph"),
        (AGENT_OS, "[1, 2]", "not an Agent OS log"),
        (
            "demo/PROGRESS.yaml",
            "current_phase: 1\nblockers: []\n",
            "another tool",
        ),
    ] {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write(file, text);
        let init = scratch.json(&["init", "--yes"]);
        let found = init["found"].as_array().expect("a list");
        let found = found
            .iter()
            .find(|found| found["path"] == file)
            .unwrap_or_else(|| panic!("{file}: {init}"));
        assert_eq!(found["intent"], "leave-alone", "{file}: {found}");
        let about = found["about"].as_str().expect("a text");
        assert!(about.contains(what), "{file}: {about}");
        fine(&scratch.piton(&["record", "auth"]));
        assert_eq!(scratch.read(file), text, "{file}");
        let listed = scratch.json_list(&["files", "list"]);
        assert!(!listed.to_string().contains("\"face\""), "{file}: {listed}");
    }
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch
        .write("kept/elsewhere.json", ATTEMPTS)
        .write(".ralph/x", "");
    symlink("../kept/elsewhere.json", scratch.path().join(RALPH)).expect("linked");
    fine(&scratch.piton(&["init", "--yes"]));
    fine(&scratch.piton(&["record", "auth", "--summary", "through the link"]));
    let link = fs::symlink_metadata(scratch.path().join(RALPH)).expect("there");
    assert!(link.file_type().is_symlink());
    let text = scratch.read("kept/elsewhere.json");
    assert!(
        text.contains("through the link") && text.contains("\"done\""),
        "{text}"
    );
}

/// Root may write anywhere, so this proves something for everybody else only.
#[test]
fn a_folder_that_cannot_be_written_is_said_and_never_fails_what_is_recorded() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write(RALPH, ATTEMPTS);
    fine(&scratch.piton(&["init", "--yes"]));
    let folder = scratch.path().join(".ralph");
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("set");
    mode(0o555);
    let writable = fs::write(folder.join("probe"), "").is_ok();
    let said = scratch.piton(&["record", "auth", "--summary", "the second"]);
    mode(0o755);
    if writable {
        eprintln!("skipped: this user may write everywhere");
        return;
    }
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("is not kept up to date"), "{}", said.err);
    fine(&scratch.piton(&["files", "sync"]));
    assert!(scratch.read(RALPH).contains("the second"));
}

#[test]
fn the_lines_for_gitignore_are_offered_and_never_written() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch
        .write(AGENT_OS, INSTALLED)
        .write(".gitignore", "target\n");
    let said = scratch.piton(&["init", "--yes"]);
    assert!(said.err.contains(".agent-os/progress/"), "{}", said.err);
    assert_eq!(scratch.read(".gitignore"), "target\n");
    assert!(!scratch.has(".git/hooks/post-commit") && !scratch.has(".git/hooks/pre-commit"));
    scratch.write(".gitignore", "target\n.agent-os/progress/\n");
    let said = scratch.piton(&["init", "--yes"]);
    assert!(!said.err.contains("git need not see"), "{}", said.err);
}

mod migrate {
    use super::*;

    const OLD: &str = "# Progress Log\n\n- did this\n- and that\n";

    fn learnings(scratch: &Scratch) -> Vec<String> {
        let file: Value = serde_json::from_str(&scratch.read(RALPH)).expect("JSON");
        let listed = file["learnings"].as_array().expect("a list");
        listed
            .iter()
            .map(|one| one["id"].as_str().expect("an id").to_owned())
            .collect()
    }

    #[test]
    fn case_10_a_text_of_earlier_times_is_taken_over_and_kept() {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write("progress.txt", OLD);
        fine(&scratch.piton(&["init", "--yes"]));
        fine(&scratch.piton(&["files", "migrate"]));
        assert_eq!(learnings(&scratch), ["learning-0000"]);
        assert_eq!(scratch.read("progress.txt.backup"), OLD);
        assert!(!scratch.has("progress.txt"));
        let once = everything(&scratch);
        fine(&scratch.piton(&["files", "migrate"]));
        assert!(everything(&scratch) == once, "twice is once");
        assert_eq!(
            scratch.piton(&["files", "check", "--strict", RALPH]).exit,
            0
        );
    }

    #[test]
    fn a_second_text_is_not_said_to_be_kept_where_it_is_not() {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write("progress.txt", OLD);
        fine(&scratch.piton(&["files", "migrate"]));
        scratch.write("progress.txt", "another text\n");
        let said = scratch.piton(&["files", "migrate"]);
        assert_eq!(said.exit, 1, "{}", said.err);
        assert!(said.err.contains("file.conflict"), "{}", said.err);
        assert_eq!(scratch.read("progress.txt"), "another text\n");
        assert_eq!(learnings(&scratch), ["learning-0000"]);
    }

    #[test]
    fn case_10_without_a_text_of_earlier_times_nothing_is_done() {
        let scratch = Scratch::new().with_fixed_clock();
        let said = scratch.piton(&["files", "migrate"]);
        fine(&said);
        assert!(
            said.err.contains("nothing of an older layout"),
            "{}",
            said.err
        );
        assert!(!scratch.has(".piton") && !scratch.has(".ralph"));
    }

    #[test]
    fn case_10_a_death_at_any_failpoint_of_the_migration_leaves_it_to_the_next_one() {
        let points = piton_engine::failpoint::POINTS.iter().filter(|point| {
            ["migrate.", "synced-file.", "exchange.", "project."]
                .iter()
                .any(|begin| point.starts_with(begin))
        });
        let mut deaths = 0;
        for point in points {
            let scratch = Scratch::new().with_fixed_clock();
            scratch.write("progress.txt", OLD);
            let mut command = scratch.command(&["files", "migrate"]);
            let output = command
                .env("PITON_FAILPOINT", point)
                .output()
                .expect("piton starts");
            let killed = output.status.signal() == Some(9);
            deaths += u32::from(killed);
            assert!(
                scratch.has("progress.txt") || scratch.has("progress.txt.backup"),
                "{point}"
            );
            fine(&scratch.piton(&["files", "migrate"]));
            assert_eq!(learnings(&scratch), ["learning-0000"], "{point}");
            assert_eq!(scratch.read("progress.txt.backup"), OLD, "{point}");
            assert!(!scratch.has("progress.txt"), "{point}");
            let kinds = scratch.event_kinds();
            assert_eq!(
                kinds.iter().filter(|kind| *kind == "memory-added").count(),
                1,
                "{point}"
            );
        }
        assert!(deaths >= 6, "{deaths} deaths");
    }
}
