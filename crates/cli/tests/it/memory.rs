//! What is remembered and shown: `log`, `recent`, `journal`, `store`, help.

use crate::harness::{RUN, Running, Said, Scratch};

fn log(scratch: &Scratch, args: &[&str]) {
    let said = scratch.piton(&[&["log"], args].concat());
    assert_eq!(said.exit, 0, "{}", said.err);
}

mod entries {
    use super::*;

    #[test]
    fn each_of_the_seven_types_is_kept() {
        let scratch = Scratch::new();
        for kind in [
            "session_started",
            "task_completed",
            "task_blocked",
            "debug_resolved",
            "scope_override",
            "milestone_reached",
            "session_ended",
        ] {
            log(
                &scratch,
                &[
                    kind,
                    "--spec",
                    "auth",
                    "--task",
                    "1.2",
                    "--description",
                    "words",
                    "--notes",
                    "more",
                    "--data",
                    "a=b=c",
                ],
            );
        }
        let recent = scratch.json(&["recent"]);
        let kinds: Vec<&str> = recent["entries"]
            .as_array()
            .expect("entries")
            .iter()
            .filter_map(|entry| entry["type"].as_str())
            .collect();
        assert_eq!(kinds.len(), 7, "{recent}");
        assert_eq!(recent["entries"][0]["data"]["a"], "b=c", "{recent}");
    }

    #[test]
    fn a_first_entry_says_where_it_is_kept() {
        let scratch = Scratch::new().with_fixed_clock();
        insta::assert_snapshot!(scratch.shows(&["log", "task_completed", "--spec", "auth", "--task", "1.2", "--description", "JWT validation"]), @r"
        keeping progress in SCRATCH/.git/piton
        recorded task_completed [auth] 1.2: JWT validation
        [exit 0]
        ");
    }

    #[test]
    fn an_entry_without_a_description_is_named_once() {
        let scratch = Scratch::new();
        scratch.piton(&["log", "session_started"]);
        let says = |args: &[&str]| scratch.piton(&[&["log"], args].concat()).err;
        assert_eq!(says(&["task_completed"]), "recorded task_completed\n");
        assert_eq!(
            says(&["task_completed", "--spec", "auth", "--task", "1.2"]),
            "recorded task_completed [auth] 1.2\n"
        );
    }

    #[test]
    fn a_type_that_does_not_exist_is_answered_with_those_that_do() {
        let scratch = Scratch::new();
        insta::assert_snapshot!(scratch.shows(&["log", "task_done"]), @r"
        error: there is no entry type `task_done` [usage]
        hint: the types are: session_started, session_ended, task_completed, task_blocked, debug_resolved, scope_override, milestone_reached
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["log", "task_completed", "--data", "nothing"]), @r"
        error: invalid value 'nothing' for '--data <KEY=VALUE>': write it as KEY=VALUE

        For more information, try '--help'.
        [exit 2]
        ");
        assert!(!scratch.has(".piton"));
    }
}

mod recent {
    use super::*;

    #[test]
    fn nothing_recorded_is_said_to_be_nothing() {
        let scratch = Scratch::new();
        insta::assert_snapshot!(scratch.shows(&["recent"]), @r"
        No previous progress recorded.
        [exit 0]
        ");
        let recent = scratch.json(&["recent"]);
        assert_eq!(
            (recent["summary"].as_str(), &recent["last_task"]),
            (
                Some("No previous progress recorded."),
                &serde_json::Value::Null
            )
        );
        assert!(!scratch.has(".piton"), "reading never writes");
    }

    #[test]
    fn it_tells_what_happened_the_last_task_and_what_is_unresolved() {
        let scratch = Scratch::new().with_fixed_clock();
        log(&scratch, &["session_started"]);
        log(
            &scratch,
            &[
                "task_blocked",
                "--spec",
                "auth",
                "--task",
                "1.1",
                "--description",
                "no key",
            ],
        );
        log(
            &scratch,
            &[
                "task_completed",
                "--spec",
                "auth",
                "--task",
                "1.2",
                "--description",
                "JWT validation",
                "--data",
                "next_steps=refresh tokens",
            ],
        );
        insta::assert_snapshot!(scratch.shows(&["recent"]), @r"
        Last 3 entries: 1 task completed, 1 blocker. Most recent: 1.2: JWT validation. Next: refresh tokens
        2026-01-15 09:00 UTC  session_started
        2026-01-15 09:00 UTC  task_blocked [auth] 1.1: no key
        2026-01-15 09:00 UTC  task_completed [auth] 1.2: JWT validation
        Last task: 1.2 of auth
        Unresolved blockers:
        ! task_blocked [auth] 1.1: no key
        [exit 0]
        ");
    }

    #[test]
    fn case_43_a_blocker_is_shown_however_long_ago_it_was_until_its_own_task_is_completed() {
        let scratch = Scratch::new();
        log(
            &scratch,
            &[
                "task_blocked",
                "--spec",
                "auth",
                "--task",
                "1.1",
                "--description",
                "no key",
            ],
        );
        for task in ["2", "3", "4"] {
            log(
                &scratch,
                &["task_completed", "--spec", "auth", "--task", task],
            );
        }
        // The same number in another spec is another task.
        log(
            &scratch,
            &["task_completed", "--spec", "billing", "--task", "1.1"],
        );
        let recent = scratch.json(&["recent", "2"]);
        assert_eq!(recent["entries"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            recent["unresolved_blockers"].as_array().map(Vec::len),
            Some(1),
            "{recent}"
        );
        assert_eq!(
            (recent["last_spec"].as_str(), recent["last_task"].as_str()),
            (Some("billing"), Some("1.1"))
        );
        log(
            &scratch,
            &["task_completed", "--spec", "auth", "--task", "1.1"],
        );
        assert_eq!(
            scratch.json(&["recent", "2"])["unresolved_blockers"],
            serde_json::json!([])
        );
    }

    #[test]
    fn entries_from_many_processes_at_once_are_all_kept() {
        let scratch = Scratch::new();
        let writers: Vec<Running> = (0..12)
            .map(|n| {
                Running::start(scratch.command(&[
                    "log",
                    "task_completed",
                    "--task",
                    &n.to_string(),
                ]))
            })
            .collect();
        for writer in writers {
            let said = writer.end();
            assert_eq!(said.exit, 0, "{}", said.err);
        }
        assert_eq!(
            scratch.json(&["recent", "50"])["entries"]
                .as_array()
                .map(Vec::len),
            Some(12)
        );
    }
}

mod journal {
    use super::*;

    fn three() -> Scratch {
        let scratch = Scratch::new();
        for task in ["1", "2", "3"] {
            log(
                &scratch,
                &[
                    "task_completed",
                    "--task",
                    task,
                    "--description",
                    "a description that is easy to find",
                ],
            );
        }
        scratch
    }

    fn lines(said: &Said) -> usize {
        assert_eq!(said.exit, 0, "{}", said.err);
        said.out.lines().count()
    }

    #[test]
    fn it_is_shown_from_a_time_from_so_long_ago_or_from_an_event_on() {
        let scratch = three();
        let show = |since: &str| scratch.piton(&["journal", "show", "--since", since]);
        assert_eq!(lines(&scratch.piton(&["journal", "show"])), 3);
        assert_eq!(lines(&show("1h")), 3);
        assert_eq!(lines(&show("2999-01-01")), 0);
        assert_eq!(lines(&show("2020-01-01T00:00:00Z")), 3);
        let out = scratch.piton(&["journal", "show", "--json"]).out;
        let second: serde_json::Value =
            serde_json::from_str(out.lines().nth(1).expect("a line")).expect("JSON");
        assert_eq!(lines(&show(second["id"].as_str().expect("an id"))), 2);
        insta::assert_snapshot!(show("yesterday").shown(&scratch), @r"
        error: `yesterday` is neither a time, nor a duration, nor the id of an event [usage]
        hint: for example `--since 2h`, `--since 20:00`, `--since 2026-01-15` or `--since 2026-01-15T09:00:00Z`
        [exit 2]
        ");
        assert_eq!(show("01980000-0000-7000-8000-000000000000").exit, 2);
    }

    #[test]
    fn it_is_exported_a_line_an_event() {
        let scratch = three();
        let out = scratch.piton(&["journal", "export"]).out;
        let events: Vec<serde_json::Value> = out
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(events.len(), 3);
        assert_eq!(events[2]["position"], 3);
        assert_eq!(
            events[2]["body"]["data"]["description"], "a description that is easy to find",
            "{}",
            events[2]
        );
    }

    #[test]
    fn a_sound_store_is_said_to_be_sound() {
        let scratch = three();
        insta::assert_snapshot!(scratch.shows(&["journal", "verify"]), @r"
        all is well: 3 events in 1 stream, 6 rows of views
        [exit 0]
        ");
        assert_eq!(
            scratch.json(&["journal", "verify"])["damage"],
            serde_json::json!([])
        );
    }

    #[test]
    fn an_event_without_its_body_is_said_to_be_one() {
        use piton_store::Store as _;
        let scratch = three();
        let options = piton_store::StoreOptions::new(piton_core::redact::Redactor::rules_only());
        let folder = scratch.home();
        let store = piton_store::SqliteStore::open(&folder, options).expect("it is there");
        let sessions = piton_core::StreamId::sessions();
        let removed = store.replace_body_with_tombstone(&sessions, 3);
        let expect = piton_core::journal::BodyRemoval::Removed;
        assert_eq!(removed.expect("writable"), expect);
        drop(store);
        let shown = scratch.piton(&["journal", "show"]);
        assert_eq!(shown.exit, 0, "{}", shown.err);
        assert!(shown.out.contains("its body was removed"), "{}", shown.out);
        let exported = scratch.piton(&["journal", "export"]).out;
        let last = exported.lines().last().expect("three events");
        let last: serde_json::Value = serde_json::from_str(last).expect("JSON");
        assert!(last["body"].is_null() && last["body_hash"].is_string());
        assert!(last["writer"].is_string(), "{last}");
        let verified = scratch.shows(&["journal", "verify"]);
        let says = "3 events (1 without a body, which was removed) in 1 stream";
        assert!(verified.contains(says), "{verified}");
        assert_eq!(scratch.json(&["journal", "verify"])["tombstones"], 1);
        let recent = scratch.piton(&["recent"]);
        assert_eq!(recent.exit, 0, "{}", recent.err);
        let says = "Last 2 entries: 2 tasks completed";
        assert!(recent.out.contains(says), "{}", recent.out);
        log(
            &scratch,
            &["milestone_reached", "--description", "it goes on"],
        );
        assert_eq!(
            scratch.json(&["journal", "verify"])["damage"],
            serde_json::json!([])
        );
    }

    /// Changes one byte of what an event says, in the file of the store.
    fn damage(scratch: &Scratch) {
        // The log must be in the file first.
        let mut changed = 0;
        for name in [".piton/journal.db", ".piton/journal.db-wal"] {
            let path = scratch.file(name);
            let Ok(mut bytes) = std::fs::read(&path) else {
                continue;
            };
            let wanted = b"easy to find";
            let at: Vec<usize> = bytes
                .windows(wanted.len())
                .enumerate()
                .filter(|(_, window)| window == wanted)
                .map(|(at, _)| at)
                .collect();
            for at in at {
                bytes[at] = b'E';
                changed += 1;
            }
            std::fs::write(&path, bytes).expect("written");
        }
        assert!(changed > 0, "the text is somewhere");
    }

    #[test]
    fn a_changed_byte_is_found_and_nothing_is_changed_by_looking() {
        let scratch = three();
        assert_eq!(scratch.piton(&["store", "backup", "copy.db"]).exit, 0);
        // A restored store has no log beside it.
        assert_eq!(scratch.piton(&["store", "restore", "copy.db"]).exit, 0);
        damage(&scratch);
        let said = scratch.piton(&["journal", "verify"]);
        assert_eq!(said.exit, 6, "{}{}", said.out, said.err);
        assert!(said.err.contains("damaged:"), "{}", said.err);
        assert!(said.err.contains("store restore"), "{}", said.err);
        let said = scratch.piton(&["journal", "verify", "--json"]);
        assert_eq!(said.exit, 6);
        let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
        assert!(
            value["damage"]
                .as_array()
                .is_some_and(|damage| !damage.is_empty()),
            "{value}"
        );
        let export = scratch.piton(&["journal", "export"]);
        assert_eq!(export.exit, 6, "a changed event is named: {}", export.err);
        assert!(!export.out.is_empty(), "what is there can always be saved");
    }

    #[test]
    fn a_store_that_is_no_store_is_named_and_left_alone() {
        let scratch = Scratch::new();
        scratch.write(
            ".piton/journal.db",
            "this is no database at all, but some text of somebody's",
        );
        let text = scratch.read(".piton/journal.db");
        for args in [
            &["status"][..],
            &["recent"],
            &["log", "session_started"],
            &["journal", "verify"],
            &["inbox"],
        ] {
            let said = scratch.piton(args);
            assert_eq!(said.exit, 6, "{args:?}: {}", said.err);
            assert!(said.err.contains("[store.damaged]"), "{}", said.err);
        }
        assert_eq!(scratch.read(".piton/journal.db"), text);
    }

    #[test]
    fn without_a_store_that_is_said() {
        let scratch = Scratch::new();
        insta::assert_snapshot!(scratch.shows(&["journal", "show"]), @r"
        error: nothing is recorded here [store.missing]
        hint: `piton init`, `piton log` or `piton run PLAN` begins a journal; PITON_PROJECT names the folder of another
        [exit 1]
        ");
        insta::assert_snapshot!(scratch.shows(&["status"]), @r"
        no run is recorded here
        hint: begin with `piton run PLAN`, where PLAN is a folder with a SPRINT.yaml, a prd.json, a task file or a state.json
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["pause"]), @r"
        error: there is no run here [run.unknown]
        hint: begin one with `piton run PLAN`, where PLAN is a folder with a SPRINT.yaml, a prd.json, a task file or a state.json
        [exit 2]
        ");
        assert!(!scratch.has(".piton"));
    }
}

mod store {
    use super::*;

    #[test]
    fn info_says_where_it_is_and_how_much() {
        let scratch = Scratch::new();
        log(&scratch, &["session_started"]);
        let info = scratch.json(&["store", "info"]);
        assert_eq!(
            (info["events"].as_u64(), info["entries"].as_u64()),
            (Some(1), Some(1)),
            "{info}"
        );
        let said = scratch.piton(&["store", "info"]);
        assert!(
            said.out
                .contains("1 event in 1 stream, 0 runs, 1 entry of sessions"),
            "{}",
            said.out
        );
    }

    #[test]
    fn a_backup_brings_back_what_was_there_and_keeps_what_is_there() {
        let scratch = Scratch::new();
        log(&scratch, &["session_started"]);
        let said = scratch.shows(&["store", "backup", "copy.db"]);
        insta::assert_snapshot!(said, @r"
        wrote SCRATCH/copy.db
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["store", "backup", "copy.db"]), @r"
        error: SCRATCH/copy.db is there already; nothing was written [file.exists]
        hint: name a file that is not there yet
        [exit 1]
        ");
        log(&scratch, &["session_ended"]);
        let said = scratch.piton(&["store", "restore", "copy.db"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(
            said.err.contains("the former store is kept as"),
            "{}",
            said.err
        );
        assert_eq!(
            scratch.json(&["recent"])["entries"]
                .as_array()
                .map(Vec::len),
            Some(1)
        );
        log(&scratch, &["session_ended"]);
        assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
        insta::assert_snapshot!(scratch.shows(&["store", "restore", "nowhere.db"]), @r"
        error: there is no file SCRATCH/nowhere.db [usage]
        hint: name a file that `piton store backup FILE` wrote
        [exit 2]
        ");
        scratch.write("text.db", "no store");
        assert_eq!(scratch.piton(&["store", "restore", "text.db"]).exit, 6);
        assert_eq!(
            scratch.json(&["recent"])["entries"]
                .as_array()
                .map(Vec::len),
            Some(2),
            "nothing was changed"
        );
    }
}

mod help {
    use super::*;

    /// The pages of all commands, by what is typed.
    fn pages() -> Vec<(Vec<String>, String)> {
        let scratch = Scratch::outside_git();
        let mut pages = Vec::new();
        let mut open: Vec<Vec<String>> = vec![Vec::new()];
        while let Some(typed) = open.pop() {
            let mut args: Vec<&str> = typed.iter().map(String::as_str).collect();
            args.push("--help");
            let said = scratch.piton(&args);
            assert_eq!(said.exit, 0, "{typed:?}: {}", said.err);
            let commands = said
                .out
                .lines()
                .skip_while(|line| !line.starts_with("Usage:"))
                .take_while(|line| *line != "Arguments:" && *line != "Options:")
                .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
            for name in commands
                .filter_map(|line| line.split_whitespace().next())
                .filter(|name| *name != "help")
            {
                open.push([typed.clone(), vec![name.to_owned()]].concat());
            }
            pages.push((typed, said.out));
        }
        pages
    }

    #[test]
    fn every_command_has_examples() {
        let pages = pages();
        assert!(pages.len() > 20, "{}", pages.len());
        let without: Vec<String> = pages
            .iter()
            .filter(|(_, page)| !page.contains("Example"))
            .map(|(typed, _)| typed.join(" "))
            .collect();
        assert_eq!(without, Vec::<String>::new());
    }

    #[test]
    fn completions_and_the_manual_page_are_printed() {
        let scratch = Scratch::outside_git();
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let said = scratch.piton(&["completions", shell]);
            assert!(said.exit == 0 && said.out.contains("piton"), "{shell}");
        }
        let said = scratch.piton(&["man"]);
        assert!(
            said.exit == 0 && said.out.contains(".TH piton 1"),
            "{}",
            said.out
        );
    }

    #[test]
    fn each_command_has_a_manual_page_of_its_own() {
        let scratch = Scratch::outside_git();
        let page = scratch.piton(&["man", "run"]).out;
        assert!(
            page.contains(".TH piton-run 1") && page.contains("dry\\-run"),
            "{page}"
        );
        let page = scratch.piton(&["man", "plan", "compile"]).out;
        assert!(page.contains("Compile a sprint"), "{page}");
        insta::assert_snapshot!(scratch.shows(&["man", "plan", "nope"]), @r"
        error: there is no command `piton plan nope` [usage]
        hint: see the commands with `piton --help`
        [exit 2]
        ");
    }

    #[test]
    fn mistakes_in_typing_end_with_2_and_go_to_stderr() {
        let scratch = Scratch::outside_git();
        for args in [
            &["rum"][..],
            &["run", "--max-iterations", "0"],
            &["run", "--time-box", "soon"],
            &["decide"],
            &["recent", "many"],
        ] {
            let said = scratch.piton(args);
            assert_eq!((said.exit, said.out.as_str()), (2, ""), "{args:?}");
            assert!(!said.err.is_empty());
        }
    }
}

#[test]
fn where_nobody_wants_colours_there_are_no_escapes() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - id: build\n    prompt: p\n")
        .agent("echo broken; exit 1");
    for colour in [true, false] {
        for args in [
            RUN,
            &["status"],
            &["inbox"],
            &["plan", "check", "nowhere"],
            &["--help"],
        ] {
            let mut command = scratch.command(args);
            if colour {
                // A pipe is no terminal, whatever else is set.
                command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
            }
            let said = Running::start(command).end();
            assert!(
                !said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'),
                "{args:?}"
            );
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_complain() {
    let scratch = Scratch::new();
    for n in 0..40 {
        log(
            &scratch,
            &[
                "task_completed",
                "--task",
                &n.to_string(),
                "--description",
                &"long ".repeat(1_000),
            ],
        );
    }
    for args in [
        "journal export",
        "journal show",
        "recent 40",
        "recent 40 --json",
        "status --json",
        "--help",
        "man",
        "completions bash",
    ] {
        let line = format!(
            "'{}' {args} 2>err | head -n 1 >first; cat err",
            env!("CARGO_BIN_EXE_piton")
        );
        scratch.write("piped.sh", &line);
        let said = Running::start(scratch.shell("piped.sh")).end();
        assert_eq!(
            (said.exit, said.out.as_str(), said.err.as_str()),
            (0, "", ""),
            "{args}"
        );
    }
}
