//! `piton files`: what is named and is not there, is no file or lies elsewhere is
//! said for what it is, and keeps nothing else from being done.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::harness::{Said, Scratch};

const RALPH: &str = ".ralph/progress.json";
const PROGRESS_MD: &str = ".ralph/progress.md";
const EMPTY: &str =
    "{\"version\": \"1.0\", \"created_at\": \"2026-01-01T00:00:00Z\", \"entries\": []}\n";
const FEATURES: &str = "{\"features\": [{\"id\": \"a\", \"description\": \"Lay it\", \"steps\": [], \"passes\": false}]}\n";

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

fn pipe(scratch: &Scratch, name: &str) {
    let path = scratch.path().join(name);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("made");
}

/// Where each listed file stands.
fn standings(scratch: &Scratch) -> Vec<(String, String)> {
    let listed = scratch.json_list(&["files", "list"]);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let listed = listed.as_array().expect("a list").iter();
    listed
        .map(|file| (text(&file["path"]), text(&file["standing"])))
        .collect()
}

fn pairs(expect: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = expect.iter();
    pairs
        .map(|(path, standing)| ((*path).to_owned(), (*standing).to_owned()))
        .collect()
}

mod check {
    use super::*;

    #[test]
    fn every_file_is_judged_and_the_worst_is_what_it_ends_with() {
        let scratch = Scratch::new();
        scratch.write("prd.json", FEATURES).write("bad.json", "{");
        fs::create_dir(scratch.path().join("folder")).expect("made");
        pipe(&scratch, "pipe.json");
        insta::assert_snapshot!(scratch.shows(&["files", "check", "nope.json", "prd.json"]), @r"
        prd.json: took 1 entry, 5 keys
        1 file: all is well
        error: there is no file nope.json [file.missing]
        hint: see that the path is right; it is seen from the present folder
        [exit 2]
        ");
        let said = scratch.piton(&[
            "files",
            "check",
            "pipe.json",
            "prd.json",
            "folder",
            "nope.json",
        ]);
        assert_eq!(said.exit, 6, "{}", said.err);
        for what in [
            "1 file: all is well",
            "a named pipe, not a file",
            "a folder",
            "nope.json",
        ] {
            assert!(said.err.contains(what), "{what}: {}", said.err);
        }
        let checked = scratch.json(&["files", "check", "nope.json", "bad.json"]);
        assert_eq!(checked["files"], 1);
        assert_eq!(checked["unread"], json!(["nope.json"]));
        assert_eq!(checked["problems"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_problem_is_told_with_its_place_in_the_document() {
        let scratch = Scratch::new();
        let entry = "{\"id\": \"a-1\", \"timestamp\": \"soon\", \"prd_id\": \"a\", \"iteration\": 1, \"status\": \"completed\", \"summary\": \"x\", \"observations\": []}";
        scratch.write(RALPH, &EMPTY.replace("[]", &format!("[{entry}]")));
        insta::assert_snapshot!(scratch.shows(&["files", "check", "--strict", RALPH]), @r#"
        error[INVALID_VALUE]: invalid value "soon", at progress.entries[0].timestamp
         --> .ralph/progress.json:1:97
          |
        1 | ...", "entries": [{"id": "a-1", "timestamp": "soon", "prd_id": "a", "iteration": 1, "status":...
          |                                              ^^^^^^
          |
          = help: write a time with its zone, such as "2026-01-15T10:30:00Z"

        .ralph/progress.json: took 1 entry, 10 keys
        1 error
        [exit 1]
        "#);
        scratch.write("other.json", "{\"a\": 1}");
        insta::assert_snapshot!(scratch.shows(&["files", "check", "other.json"]), @r#"
        error[FOREIGN]: this is a file that piton does not know
         --> other.json:1:1
          |
        1 | {"a": 1}
          | ^
          |
          = help: piton leaves it as it is; if it is meant to be a native file, see `piton files schema --help`

        1 error
        [exit 1]
        "#);
    }

    #[test]
    fn of_many_problems_of_a_kind_some_are_shown_and_all_are_counted() {
        let scratch = Scratch::new();
        let item =
            |id: usize| json!({"id": id.to_string(), "description": "Lay it", "passes": "no"});
        let items: Vec<Value> = (0..30).map(item).collect();
        scratch.write("prd.json", &json!({ "features": items }).to_string());
        let said = scratch.piton(&["files", "check", "prd.json"]);
        assert_eq!(said.err.matches("error[WRONG_TYPE]").count(), 20);
        assert!(
            said.err
                .contains("and 10 more of the kind WRONG_TYPE: `--json` has them all")
        );
        let all = scratch.json(&["files", "check", "prd.json"]);
        let of_kind = all["problems"].as_array().expect("a list").iter();
        let of_kind = of_kind.filter(|problem| problem["code"] == "WRONG_TYPE");
        assert_eq!(of_kind.count(), 30);
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_before_it_is_read() {
        let scratch = Scratch::new();
        scratch.write(RALPH, "");
        let file = fs::File::create(scratch.path().join(RALPH)).expect("made");
        file.set_len(100 << 20).expect("grown");
        let said = scratch.piton(&["files", "check", RALPH]);
        assert_eq!(said.exit, 6, "{}", said.err);
        assert!(said.err.contains("at most 64 MB"), "{}", said.err);
        let init = scratch.json(&["init", "--yes"]);
        assert_eq!(init["found"][0]["intent"], "leave-alone", "{init}");
        let said = scratch.piton(&[
            "files",
            "convert",
            "--from",
            "ralph-json",
            "--to",
            "agent-os",
        ]);
        assert_eq!(said.exit, 6, "{}", said.err);
    }
}

mod list {
    use super::*;

    #[test]
    fn logs_links_and_what_is_no_file_are_listed_for_what_they_are() {
        let scratch = Scratch::new();
        scratch
            .write("elsewhere.md", "# Ralph Guardrails (Signs)\n")
            .write(".ralph/activity.log", "# Activity Log\n")
            .write(PROGRESS_MD, "{\"a\": 1}\n")
            .write(".ralph.orig/progress.md", "# Progress Log\n")
            .write("src/state.json", "{\"a\": 1}\n")
            .write("RALPH_TASK.md", "\u{0}\u{1}");
        symlink(
            "../elsewhere.md",
            scratch.path().join(".ralph/guardrails.md"),
        )
        .expect("linked");
        symlink("nowhere", scratch.path().join("prd.json")).expect("linked");
        fs::create_dir(scratch.path().join(RALPH)).expect("made");
        pipe(&scratch, ".ralph/errors.log");
        insta::assert_snapshot!(scratch.shows(&["files", "list"]), @r"
        .ralph/activity.log                      not kept up to date  what Ralph's agents did
        .ralph/errors.log                        cannot be read       it is a named pipe, not a file
        .ralph/guardrails.md -> ../elsewhere.md  not kept up to date  the signs of Ralph
        .ralph/progress.json                     cannot be read       it is a folder, not a file
        .ralph/progress.md                       another tool's       a JSON document
        RALPH_TASK.md                            another tool's       a binary file
        prd.json -> nowhere                      cannot be read       it is a link to nowhere, where nothing is
        [exit 0]
        ");
        let init = scratch.shows(&["init", "--yes"]);
        insta::assert_snapshot!(init, @r"
        .ralph/activity.log   adopted, and kept up to date  what Ralph's agents did
        .ralph/errors.log     left alone                    it is a named pipe, not a file
        .ralph/guardrails.md  adopted, and kept up to date  the signs of Ralph
        .ralph/progress.json  left alone                    it is a folder, not a file
        .ralph/progress.md    left alone                    a JSON document
        RALPH_TASK.md         left alone                    a binary file
        prd.json              left alone                    it is a link to nowhere, where nothing is
        keeping progress in SCRATCH/.git/piton
        git need not see these; add them to .gitignore if you agree:
          .ralph/activity.log
        hint: some files of ralph-dir are not there, and none is made; `piton init --with ralph-dir` begins them
        next: `piton add TITLE`, `piton log session_started`, or `piton run PLAN`
        [exit 0]
        ");
        assert!(
            fs::metadata(scratch.path().join(RALPH))
                .expect("there")
                .is_dir()
        );
    }

    #[test]
    fn a_kept_file_that_is_gone_is_listed_and_written_again_by_a_sync() {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write(RALPH, EMPTY);
        fine(&scratch.piton(&["init", "--yes"]));
        fine(&scratch.piton(&["record", "auth", "--summary", "the first"]));
        let before = scratch.read(RALPH);
        fs::remove_file(scratch.path().join(RALPH)).expect("gone");
        assert_eq!(standings(&scratch), pairs(&[(RALPH, "missing")]));
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(scratch.read(RALPH), before);
        assert_eq!(standings(&scratch), pairs(&[(RALPH, "face")]));
    }

    #[test]
    fn a_kept_file_that_grew_large_is_still_kept() {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write(RALPH, EMPTY);
        fine(&scratch.piton(&["init", "--yes"]));
        let file = fs::File::options()
            .write(true)
            .open(scratch.path().join(RALPH));
        file.expect("opened").set_len(65 << 20).expect("grown");
        assert_eq!(standings(&scratch), pairs(&[(RALPH, "face")]));
        let init = scratch.json(&["init", "--dry-run"]);
        assert_eq!(init["found"][0]["intent"], "kept", "{init}");
    }

    #[test]
    fn a_plan_that_is_gone_is_said_and_written_again() {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write("prd.json", FEATURES).agent("exit 1");
        assert_eq!(
            scratch
                .piton(&[
                    "run",
                    "prd.json",
                    "--agent",
                    "./agent.sh",
                    "--verdict",
                    "exit-status"
                ])
                .exit,
            1
        );
        fs::remove_file(scratch.path().join("prd.json")).expect("gone");
        let status = scratch.piton(&["status", "prd.json"]);
        assert!(
            status
                .out
                .contains("prd.json is not there any more; `piton files sync` writes it again"),
            "{}{}",
            status.out,
            status.err
        );
        insta::assert_snapshot!(scratch.shows(&["files", "sync"]), @r"
        prd.json was not there any more, and is written again
        all native files are up to date
        [exit 0]
        ");
        assert_eq!(scratch.read("prd.json"), FEATURES);
        fs::remove_file(scratch.path().join("prd.json")).expect("gone");
        insta::assert_snapshot!(scratch.shows(&["run", "prd.json", "--agent", "./agent.sh", "--verdict", "exit-status"]), @r"
        prd.json was not there any more, and is written again
        error: run `prd` is blocked at a [run.blocked]
        hint: see why, and what to type to go on, with `piton inbox`
        [exit 1]
        ");
    }

    #[test]
    fn what_older_layouts_left_is_listed_with_what_takes_it_over() {
        let scratch = Scratch::new();
        scratch
            .write(".ralph/progress.txt", "# Progress\n- did this\n")
            .write("RALPH_TASK.md", "\u{0}\u{1}");
        insta::assert_snapshot!(scratch.shows(&["files", "list"]), @r"
        .ralph/progress.txt  taken over by `piton files migrate`  a progress file of earlier times
        RALPH_TASK.md        another tool's                       a binary file
        [exit 0]
        ");
        assert_eq!(
            scratch.json_list(&["files", "list"])[0]["about"],
            "a progress file of earlier times"
        );
        fine(&scratch.piton(&["files", "migrate"]));
        let listed = standings(&scratch);
        assert!(
            listed.iter().all(|(path, _)| path != ".ralph/progress.txt"),
            "{listed:?}"
        );
    }
}

mod sync {
    use super::*;

    #[test]
    fn nothing_is_said_to_be_up_to_date_that_cannot_be_written() {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write(RALPH, EMPTY);
        fine(&scratch.piton(&["init", "--yes"]));
        fs::remove_file(scratch.path().join(RALPH)).expect("gone");
        fs::create_dir(scratch.path().join(RALPH)).expect("made");
        insta::assert_snapshot!(scratch.shows(&["files", "sync"]), @r"
        warning: .ralph/progress.json is not kept up to date: it is a folder, not a file; put a file in its place
        [exit 1]
        ");
    }

    #[test]
    fn without_a_store_it_is_said_as_everywhere() {
        let scratch = Scratch::new();
        let said = scratch.piton(&["files", "sync"]);
        let other = scratch.piton(&["store", "info"]);
        assert_eq!((said.err, said.exit), (other.err, other.exit));
    }
}

#[test]
fn piton_warns_of_no_line_that_it_wrote_itself() {
    const LIST: &str = r#"{"project":"p","branchName":"b","userStories":[{"id":"US-1","title":"one","description":"d","acceptanceCriteria":["a"],"priority":1,"passes":false,"notes":""}]}"#;
    for plan in ["prd.json", "TODO.md", "demo"] {
        let scratch = Scratch::new();
        scratch
            .sprint("  - id: build\n    prompt: build it\n")
            .write("prd.json", LIST)
            .write("TODO.md", "- [ ] one\n")
            .agent("if ! [ -e made ]; then touch made; echo 'no: \"cc\" | here'; exit 1; fi; echo x >>made; echo 'so: it | is'");
        for format in ["ralph-json", "ralph-dir", "agent-os"] {
            let said = scratch.piton(&["init", "--yes", "--with", format]);
            assert_eq!(said.exit, 0, "{format}: {}", said.err);
        }
        let run = [
            "run",
            plan,
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
        ];
        scratch.piton(&run);
        for kind in ["task_completed", "task_blocked", "debug_resolved"] {
            let said = scratch.piton(&["log", kind, "--notes", "no: \"cc\" | 5%\n- [ ] two"]);
            assert_eq!(said.exit, 0, "{kind}: {}", said.err);
        }
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        for args in [&["files", "list"][..], &["init", "--yes"]] {
            let said = scratch.piton(args);
            let text = said.err + &said.out;
            assert!(!text.contains("warning"), "{plan}, {args:?}: {text}");
        }
    }
}

#[test]
fn in_a_second_work_tree_it_is_said_whose_files_are_kept() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write("main/x", "").write("main/.gitignore", "");
    let git = |folder: &str, args: &[&str]| {
        let path = scratch.path().join(folder);
        let path = path.to_string_lossy();
        scratch.git(&[&["-C", &path], args].concat())
    };
    scratch.git(&["init", "--quiet", "main"]);
    scratch.write(&format!("main/{RALPH}"), EMPTY);
    git("main", &["config", "user.name", "Ada"]);
    git("main", &["config", "user.email", "ada@example.org"]);
    git("main", &["add", "-A"]);
    git("main", &["commit", "--quiet", "-m", "all"]);
    git("main", &["worktree", "add", "--quiet", "../second"]);
    let shows = |folder: &str, args: &[&str]| {
        let output = scratch
            .command_in(folder, args)
            .output()
            .expect("piton starts");
        Said::of(&output).shown(&scratch)
    };
    insta::assert_snapshot!(shows("second", &["init", "--yes"]), @r"
    .ralph/progress.json  adopted, and kept up to date  Ralph's progress: attempts, learnings, patterns
    .ralph/progress.json: took 3 keys
    keeping progress in SCRATCH/main/.git/piton
    warning: the native files of SCRATCH/main are kept; those of this work tree, SCRATCH/second, are neither read nor written: .ralph/progress.json
    next: `piton add TITLE`, `piton log session_started`, or `piton run PLAN`
    [exit 0]
    ");
    let listed = shows("second", &["files", "list", "--json"]);
    assert!(
        listed.contains("\"path\": \"SCRATCH/second/.ralph/progress.json\""),
        "{listed}"
    );
    assert!(listed.contains("\"elsewhere\""), "{listed}");
    insta::assert_snapshot!(shows("second", &["files", "sync"]), @r"
    the native files of SCRATCH/main are kept; those of this work tree, SCRATCH/second, are neither read nor written: .ralph/progress.json
    [exit 0]
    ");
    insta::assert_snapshot!(shows("main", &["files", "sync"]), @r"
    all native files are up to date
    [exit 0]
    ");
    assert_eq!(scratch.read(&format!("second/{RALPH}")), EMPTY);
}

mod usage {
    use super::*;

    #[test]
    fn a_mistake_in_what_was_typed_is_told_as_data_where_data_is_asked_for() {
        let scratch = Scratch::new();
        for (args, what) in [
            (&["status", "--nope", "--json"][..], "--nope"),
            (&["--json", "nonsense"], "nonsense"),
            (&["decide", "--json"], "<ID> <VERB>"),
            (&["--json"], "command"),
            (
                &["run", "--max-iterations", "x", "--json"],
                "max-iterations",
            ),
        ] {
            let said = scratch.piton(args);
            assert_eq!((said.exit, &*said.out), (2, ""), "{args:?}: {}", said.err);
            let mut error: Value = serde_json::from_str(&said.err).expect("one object");
            let schema = crate::harness::take_schema(&mut error);
            assert_eq!(schema.as_deref(), Some("piton.error/1"), "{args:?}");
            assert_eq!(error["error"]["code"], "usage");
            assert_eq!(error["error"]["exit"], 2);
            let message = error["error"]["message"].as_str().expect("a text");
            assert!(message.contains(what), "{args:?}: {message}");
        }
        // What stands behind `--` is no option.
        let said = scratch.piton(&["status", "--nope", "--", "--json"]);
        assert!(said.err.starts_with("error: unexpected"), "{}", said.err);
        fine(&scratch.piton(&["--help", "--json"]));
    }
}

mod recent {
    use super::*;

    #[test]
    fn an_item_is_named_as_it_was_recorded_or_as_it_is_shown() {
        let scratch = Scratch::new().with_fixed_clock();
        fine(&scratch.piton(&["record", "a b/c", "--summary", "one"]));
        for typed in ["a b/c", "a b%2Fc", "project:a b%2Fc"] {
            let item = scratch.json(&["recent", "--item", typed]);
            assert_eq!(item["node"], "a b%2Fc", "{typed}");
            assert_eq!(item["attempts"][0]["summary"], "one", "{typed}");
        }
    }

    #[test]
    fn attempts_that_a_file_told_of_are_shown_as_well() {
        let scratch = Scratch::new().with_fixed_clock();
        let entry = |id: &str, time: &str, status: &str| {
            format!(
                "{{\"id\": \"{id}-1\", \"timestamp\": \"{time}\", \"prd_id\": \"{id}\", \"iteration\": 1, \"status\": \"{status}\", \"summary\": \"did {id}\", \"observations\": []}}"
            )
        };
        let entries = [
            entry("auth", "2026-01-02T08:00:00Z", "completed"),
            entry("oauth", "2026-01-03T08:00:00Z", "failed"),
        ];
        scratch.write(
            RALPH,
            &EMPTY.replace("[]", &format!("[{}]", entries.join(", "))),
        );
        fine(&scratch.piton(&["init", "--yes"]));
        insta::assert_snapshot!(scratch.shows(&["recent"]), @r"
        Last 2 entries: 1 task completed, 1 blocker. Most recent: oauth: did oauth.
        2026-01-02 08:00 UTC  auth-1 completed: did auth
        2026-01-03 08:00 UTC  oauth-1 failed: did oauth
        Last task: auth
        [exit 0]
        ");
        fine(&scratch.piton(&["record", "login", "--summary", "in"]));
        fine(&scratch.piton(&["session", "focus", "the token"]));
        fine(&scratch.piton(&["log", "session_ended", "--notes", "enough"]));
        insta::assert_snapshot!(scratch.shows(&["recent", "4"]), @"
        Last 4 entries: 1 task completed, 1 blocker. Most recent: session_ended.
        2026-01-03 08:00 UTC  oauth-1 failed: did oauth
        2026-01-15 09:00 UTC  task_completed login: in
        2026-01-15 09:00 UTC  scope_override Focus: the token
        2026-01-15 09:00 UTC  session_ended enough
        Last task: login
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["recent", "0"]), @r"
        Something is recorded, and nothing of it was asked for.
        Last task: login
        [exit 0]
        ");
    }

    #[test]
    fn sessions_of_a_file_happened_when_it_says() {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write(
            PROGRESS_MD,
            "# Progress Log\n\n## Session 1 (2025-03-01)\n\n### Completed\n- [x] Criterion 1 - Lay the keel\n\n### 2025-04-05 08:30:00\n**Session 1 ended** - enough\n",
        );
        fine(&scratch.piton(&["init", "--yes"]));
        insta::assert_snapshot!(scratch.shows(&["recent"]), @r"
        Last 3 entries: 1 task completed. Most recent: session_ended.
        2025-03-01 00:00 UTC  session_started
        2025-03-01 00:00 UTC  task_completed 1: Lay the keel
        2025-04-05 08:30 UTC  session_ended enough
        Last task: 1
        [exit 0]
        ");
        let said = scratch.piton(&[
            "files",
            "convert",
            "--from",
            "ralph-progress",
            "--to",
            "agent-os",
        ]);
        let log: Value = serde_json::from_str(&said.out).expect("JSON");
        assert_eq!(log["entries"][0]["timestamp"], "2025-03-01T00:00:00Z");
    }
}

mod convert {
    use super::*;

    #[test]
    fn what_a_plan_loses_is_told() {
        let scratch = Scratch::new();
        scratch.write(
            "prd.json",
            r#"{"branchName": "feat/yard", "userStories": [
                {"id": "a", "title": "Lay it", "acceptanceCriteria": ["it floats"], "priority": 1, "passes": false},
                {"id": "b", "title": "Build it", "acceptanceCriteria": ["it stands"], "priority": 2, "passes": false, "dependsOn": ["a"]}
            ]}"#,
        );
        let to = |format: &str| {
            let said =
                scratch.piton(&["files", "convert", "--from", "prd-features", "--to", format]);
            said.err
        };
        insta::assert_snapshot!(to("task-file"), @r"
        task-file has no place for:
          1  dependencies
          2  priority
        ");
        insta::assert_snapshot!(to("sdlc"), @r"
        sdlc has no place for:
          2  acceptanceCriteria
          1  branchName
          2  priority
        ");
        insta::assert_snapshot!(to("sprint-progress"), @r"
        sprint-progress has no place for:
          1  branchName
          2  priority
        ");
        insta::assert_snapshot!(to("prd-features"), @r"
        prd-features has no place for:
          1  branchName
          2  priority
        ");
        assert_eq!(to("prd-user-stories"), "");
        let strict = |format: &str| {
            let args = [
                "files",
                "convert",
                "--from",
                "prd-features",
                "--strict",
                "--to",
                format,
            ];
            scratch.piton(&args).exit
        };
        assert_eq!((strict("sdlc"), strict("prd-user-stories")), (1, 0));
    }

    #[test]
    fn the_name_of_a_task_that_has_no_place_is_told() {
        let scratch = Scratch::new();
        let text = "---\ntask: Serve\ntest_command: make\n---\n\n1. [x] one\n2. [ ] two\n";
        scratch.write("RALPH_TASK.md", text);
        let to = |format: &str| {
            let files = ["--from", "task-file", "--input", "RALPH_TASK.md"];
            let args = [
                &["files", "convert", "--strict", "--to", format],
                &files[..],
            ];
            scratch.piton(&args.concat())
        };
        let features = to("prd-features");
        assert_eq!(features.exit, 1);
        assert!(features.err.contains("1  project name"), "{}", features.err);
        let stories = to("prd-user-stories");
        assert_eq!(stories.exit, 0, "{}", stories.err);
        assert!(stories.out.contains(r#""project": "Serve""#));
    }

    #[test]
    fn the_check_of_one_story_does_not_become_that_of_all() {
        let scratch = Scratch::new();
        let story = |id: &str, check: &str| {
            format!(r#"{{"id": "{id}", "title": "do {id}"{check}, "passes": false}}"#)
        };
        let check = r#", "verification": "make check""#;
        let convert = |first: &str| {
            let stories = [story("A", first), story("B", check)].join(", ");
            scratch.write("prd.json", &format!("{{\"userStories\": [{stories}]}}\n"));
            let pair = ["--from", "prd-user-stories", "--to", "task-file"];
            scratch.piton(&[&["files", "convert", "--strict"], &pair[..]].concat())
        };
        let one = convert("");
        assert_eq!(one.exit, 1, "{}", one.err);
        assert!(one.err.contains("1  checks"), "{}", one.err);
        assert!(!one.out.contains("make check"), "{}", one.out);
        let all = convert(check);
        assert_eq!(all.exit, 0, "{}", all.err);
        assert!(all.out.contains("test_command: make check"), "{}", all.out);
    }

    #[test]
    fn a_plan_becomes_a_plan_and_a_log_a_log() {
        let scratch = Scratch::new();
        let shows =
            |from: &str, to: &str| scratch.shows(&["files", "convert", "--from", from, "--to", to]);
        insta::assert_snapshot!(shows("sdlc", "agent-os"), @r"
        error: `sdlc` is a plan, and `agent-os` keeps a log: a plan becomes a plan, a log a log [usage]
        hint: `sdlc` can become one of: sprint-progress, prd-features, prd-user-stories, task-file, sdlc
        [exit 2]
        ");
        insta::assert_snapshot!(shows("ralph-progress", "task-file"), @r"
        error: `ralph-progress` keeps a log, and `task-file` is a plan: a plan becomes a plan, a log a log [usage]
        hint: `ralph-progress` can become one of: ralph-json, agent-os, ralph-progress
        [exit 2]
        ");
        insta::assert_snapshot!(shows("sdlc", "guardrails"), @r"
        error: `guardrails` cannot be converted [usage]
        hint: the logs are: ralph-json, agent-os, ralph-progress; the plans are: sprint-progress, prd-features, prd-user-stories, task-file, sdlc
        [exit 2]
        ");
        insta::assert_snapshot!(shows("sprint", "sdlc"), @r"
        error: `sprint` cannot be converted [usage]
        hint: the logs are: ralph-json, agent-os, ralph-progress; the plans are: sprint-progress, prd-features, prd-user-stories, task-file, sdlc
        [exit 2]
        ");
    }
}

#[cfg(target_os = "linux")]
mod output {
    use super::*;

    /// What a command says on stderr, and how it ends, when its answer finds no room.
    #[track_caller]
    fn without_room(scratch: &Scratch, args: &[&str]) -> (String, i32) {
        let full = fs::File::options().write(true).open("/dev/full");
        let mut command = scratch.command(args);
        command.stdout(full.expect("Linux has one"));
        let said = Said::of(&command.output().expect("piton starts"));
        (said.err, said.exit)
    }

    #[test]
    fn an_answer_that_cannot_be_written_is_a_failure_of_every_command() {
        let scratch = Scratch::new();
        fine(&scratch.piton(&["log", "session_started"]));
        for args in [
            &["journal", "export"][..],
            &["journal", "show"],
            &["recent"],
            &["completions", "bash"],
            &["man"],
            &["--help"],
            &["--version"],
        ] {
            let (err, exit) = without_room(&scratch, args);
            assert_eq!(exit, 7, "{args:?}: {err}");
            assert_eq!(err.matches("No space left").count(), 1, "{args:?}: {err}");
        }
        insta::assert_snapshot!(without_room(&scratch, &["journal", "export"]).0, @r"
        error: the answer could not be written to stdout [file.unwritable]
          because: No space left on device (os error 28)
        hint: see that there is room where the output goes, with `df -h`; what was recorded stays recorded, and need not be recorded again
        ");
        let (err, exit) = without_room(&scratch, &["status", "--json"]);
        let error: Value = serde_json::from_str(&err).expect("one failure in JSON");
        assert_eq!((exit, &error["error"]["exit"]), (7, &json!(7)));
        assert_eq!(error["error"]["code"], "file.unwritable");
    }

    #[test]
    fn what_was_recorded_stays_so_when_the_answer_finds_no_room() {
        let scratch = Scratch::new();
        let (err, exit) = without_room(&scratch, &["record", "auth", "--json"]);
        assert_eq!(exit, 7, "{err}");
        let recent = scratch.json(&["recent", "--item", "auth"]);
        assert!(recent.to_string().contains("auth-1"), "{recent}");
    }

    #[test]
    fn somebody_who_stops_reading_is_told_nothing() {
        let scratch = Scratch::new();
        fine(&scratch.piton(&["log", "session_started"]));
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = scratch.command(&["journal", "export"]);
        let said = Said::of(&command.stdout(writer).output().expect("piton starts"));
        assert_eq!((&*said.err, said.exit), ("", 0));
    }
}

mod special {
    use super::*;
    use crate::harness::Running;

    /// One that waits for a pipe's writer would never end.
    #[track_caller]
    fn ended(scratch: &Scratch, args: &[&str]) -> Said {
        Running::start(scratch.command(args)).end()
    }

    /// A plan whose run was begun, with a pipe in the place of its file.
    fn piped_plan(name: &str, text: &str) -> Scratch {
        let scratch = Scratch::new();
        scratch.write(name, text).agent("exit 1");
        scratch.git(&["add", name]);
        scratch.git(&["commit", "--quiet", "--message", "plan", name]);
        let args = [
            "run",
            name,
            "--agent",
            "./agent.sh",
            "--max-iterations",
            "1",
            "--trust",
        ];
        scratch.piton(&args);
        fs::remove_file(scratch.path().join(name)).expect("removed");
        pipe(&scratch, name);
        scratch
    }

    #[test]
    fn a_pipe_in_the_place_of_a_plan_is_not_waited_for() {
        for (name, text) in [
            ("prd.json", FEATURES),
            ("RALPH_TASK.md", "# Task\n\n- [ ] one\n"),
        ] {
            let scratch = piped_plan(name, text);
            for args in [
                &["files", "sync"][..],
                &["status"],
                &["run"],
                &["run", name],
            ] {
                let said = ended(&scratch, args);
                assert!(said.exit < 8, "{args:?}: {}", said.err);
            }
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_the_settings_is_named() {
        let scratch = Scratch::new();
        scratch.write(".piton/.gitignore", "*\n");
        pipe(&scratch, ".piton/config.toml");
        let said = ended(&scratch, &["run", "prd.json", "--agent", "true"]);
        assert_eq!(said.exit, 6, "{}", said.err);
        assert!(
            said.err.contains("it is a named pipe, not a file"),
            "{}",
            said.err
        );
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_of_the_project_is_not_waited_for() {
        let scratch = Scratch::new();
        fine(&scratch.piton(&["init", "--with", "ralph-dir", "--yes"]));
        let guardrails = scratch.path().join(".ralph/guardrails.md");
        fs::remove_file(guardrails).ok();
        fs::create_dir_all(scratch.path().join(".ralph")).expect("made");
        pipe(&scratch, ".ralph/guardrails.md");
        for args in [&["files", "sync"][..], &["status"], &["learn", "list"]] {
            ended(&scratch, args);
        }
    }

    #[test]
    fn a_folder_in_the_place_of_a_plan_is_told_and_removes_nothing() {
        let scratch = piped_plan("prd.json", FEATURES);
        let plan = scratch.path().join("prd.json");
        fs::remove_file(&plan).expect("removed");
        fs::create_dir(&plan).expect("made");
        let before = scratch.event_kinds();
        insta::assert_snapshot!(scratch.shows(&["files", "sync"]), @r"
        warning: prd.json is not kept up to date: it is a folder, not a file; put a file in its place
        [exit 1]
        ");
        let status = scratch.piton(&["status"]);
        assert!(
            status.out.contains("prd.json is a folder, not a file"),
            "{}",
            status.out
        );
        assert_eq!(scratch.event_kinds(), before);
        let run = scratch.piton(&["run"]);
        assert!(
            run.err.contains("it is a folder, not a file"),
            "{}",
            run.err
        );
        let kinds = scratch.event_kinds();
        assert!(
            !kinds.iter().any(|kind| kind.contains("removed")),
            "{kinds:?}"
        );
        assert!(plan.is_dir());
    }
}

/// Whoever looks at the end alone reads it as well.
#[test]
fn a_plan_that_cannot_be_written_is_named_at_the_end_again() {
    let scratch = Scratch::new();
    // There is no room for the name of a version beside it.
    let plan = format!("{}.md", "t".repeat(248));
    scratch
        .write(&plan, "# Do it\n\n- [ ] one\n- [ ] two\n")
        .agent("cat >/dev/null; echo x >> work; exit 0");
    let args = [
        "run",
        &plan,
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let said = scratch.piton(&args);
    let says = "once that is fixed, `piton files sync` writes it\n";
    assert_eq!(said.err.matches(says).count(), 2, "{}", said.err);
    let after = said.err.rsplit_once(says).map(|(_, after)| after);
    assert!(
        after.is_some_and(|after| after.contains("2 of 2 criteria done")),
        "{}",
        said.err
    );
}
