//! Attempts that others made: `record`, and what `recent` and `status` know of them.

use piton_core::Command;

use crate::harness::{DEMO, Running, Said, Scratch};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand so on";

fn project() -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    // What it says when it begins to keep progress is seen elsewhere.
    scratch.piton(&["log", "session_started"]);
    scratch
}

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}", said.err);
}

mod flags {
    use super::*;

    #[test]
    fn an_attempt_at_an_item_of_no_plan_makes_the_item() {
        let scratch = Scratch::new().with_fixed_clock();
        insta::assert_snapshot!(scratch.shows(&["record", "auth-login", "--summary", "JWT login", "--duration", "45m"]), @r"
        keeping progress in SCRATCH/.git/piton
        recorded auth-login-1: completed, attempt 1 at `auth-login`
        `auth-login` is a new item, of no plan
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["record", "auth-login", "--outcome", "failed", "--error", "tests fail"]), @r"
        recorded auth-login-2: failed, attempt 2 at `auth-login`
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["recent"]), @r"
        Last 2 entries: 1 task completed, 1 blocker. Most recent: auth-login: tests fail.
        2026-01-15 09:00 UTC  task_completed auth-login: JWT login
        2026-01-15 09:00 UTC  task_blocked auth-login: tests fail
        Last task: auth-login
        Unresolved blockers:
        ! task_blocked auth-login: tests fail
        [exit 0]
        ");
    }

    #[test]
    fn all_that_is_said_is_kept() {
        let scratch = project();
        let args = "record|auth|--outcome|partial|--summary|half|--error|late|--duration|90|--file|a.rs|--file|b.rs|--commit|a1b2c3d|--notes|more|--validation|the form shows errors|--observation|finding: an old helper|--agent|codex|--retry-count|2|--previous-failure|tests|--recovery-action|fix-state|--recovery-guidance|clean up|--dependency|user-model|--blocker-verified|true|--blocker-valid|false|--input-tokens|1200|--output-tokens|300|--cost-usd|0.42";
        fine(&scratch.piton(&args.split('|').collect::<Vec<_>>()));
        let exported = scratch.piton(&["journal", "export"]).out;
        let told = exported
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .find(|event| event["body"]["report"].is_object())
            .expect("an attempt is an event");
        let body = &told["body"];
        assert_eq!(body["agent"], "codex");
        assert_eq!(
            body["report"],
            serde_json::json!({
                "outcome": "partial", "summary": "half", "error": "late",
                "usage": {"input_tokens": 1200, "output_tokens": 300, "cost_usd": 0.42},
                "duration_s": 90, "files": ["a.rs", "b.rs"], "commits": ["a1b2c3d"],
                "notes": "more", "validations": ["the form shows errors"],
                "observations": [{"type": "finding", "title": "an old helper"}],
                "context": {
                    "retry_count": 2, "previous_failure_reason": "tests",
                    "recovery_action": "fix-state", "recovery_guidance": "clean up",
                    "dependencies_completed": ["user-model"],
                    "blocker_verified": true, "blocker_valid": false,
                },
            })
        );
    }

    #[test]
    fn every_outcome_is_kept_and_seen_among_the_sessions() {
        let scratch = project();
        for (outcome, entry) in [
            ("completed", "task_completed"),
            ("failed", "task_blocked"),
            ("blocked", "task_blocked"),
            ("partial", "task_blocked"),
            ("needs-human", "task_blocked"),
            ("interrupted", "session_ended"),
        ] {
            let recorded = scratch.json(&["record", "auth", "--outcome", outcome]);
            assert_eq!(recorded["outcome"], outcome);
            assert_eq!(scratch.json(&["recent", "1"])["entries"][0]["type"], entry);
        }
        assert!(scratch.json(&["journal", "verify"])["damage"] == serde_json::json!([]));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_right_and_nothing_is_stored() {
        let scratch = Scratch::new();
        insta::assert_snapshot!(scratch.shows(&["record", "x", "--observation", "idea: use a cache"]), @r"
        error: invalid value 'idea: use a cache' for '--observation <TYPE: TITLE>': the observation `idea: use a cache` does not begin with its type; write it as 'TYPE: what was noticed'; the types are: blocker, finding, completion

        For more information, try '--help'.
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["record", "x", "--resolves", "y", "--resolution", "z"]), @r"
        error: nothing unresolved blocks `y` [blocker.unknown]
        hint: see what is unresolved with `piton recent --blockers`
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["record", " "]), @r"
        error: the item has no name [usage]
        hint: name an item; `piton list` shows those of the plans
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["record", "a\nb"]), @r"
        error: the name of an item has a line break or another control character [usage]
        hint: write the name of an item in one line
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["record", &"long".repeat(60)]), @r"
        error: the name of an item has at most 200 characters [usage]
        hint: name the item shortly, and say the rest with `--summary TEXT` or `--notes TEXT`
        [exit 2]
        ");
        for args in [
            &["record"][..],
            &["record", "x", "--outcome", "done"],
            &["record", "x", "--duration", "soon"],
            &["record", "x", "--resolves", "y"],
            &["record", "x", "--observation", "blocker: "],
        ] {
            assert_eq!(scratch.piton(args).exit, 2, "{args:?}");
        }
        assert!(!scratch.has(".piton"), "nothing was recorded");
    }

    #[test]
    fn blanks_say_nothing() {
        let scratch = project();
        fine(&scratch.piton(&[
            "record",
            "auth",
            "--summary",
            "",
            "--notes",
            " ",
            "--agent",
            "",
            "--file",
            "",
            "--validation",
            "",
        ]));
        let past = scratch.json(&["recent", "--item", "auth"]);
        let attempt = &past["attempts"][0];
        assert_eq!(
            (&attempt["summary"], &attempt["agent"]),
            (&serde_json::Value::Null, &serde_json::json!("Ada"))
        );
    }

    #[test]
    fn a_name_may_have_any_signs_that_fit_in_a_line() {
        let scratch = project();
        for (item, node, name) in [
            ("a/b", "a%2Fb", "a-b-1"),
            ("50%", "50%25", "50-1"),
            ("a%2Fb", "a%252Fb", "a-2fb-1"),
            ("Übung: 日本", "Übung: 日本", "bung-1"),
            ("a:b", "a:b", "a-b-1-2"),
        ] {
            let recorded = scratch.json(&["record", item]);
            assert_eq!(recorded["node"], node);
            assert_eq!(recorded["name"], name);
            let past = scratch.json(&["recent", "--item", item]);
            assert_eq!(past["node"], node);
        }
    }
}

mod json {
    use super::*;

    #[test]
    fn an_entry_without_its_id_is_read_from_stdin_or_a_file() {
        let scratch = project();
        let text = r#"{"prd_id": "auth-oauth", "timestamp": "2026-01-14T08:00:00Z", "iteration": 3,
            "status": "blocked", "duration_seconds": 623, "summary": "needs credentials",
            "observations": [{"type": "blocker", "title": "Missing credentials", "category": "dependency",
                "severity": "critical", "action_taken": "escalated"}],
            "files_modified": ["oauth.go"], "git_commits": ["d4e5f6a"],
            "context": {"retry_count": 0, "blocker_verified": true, "blocker_valid": true}}"#;
        let said = scratch.fed(&["record", "-"], text.as_bytes());
        insta::assert_snapshot!(said.shown(&scratch), @r"
        recorded auth-oauth-3: blocked, attempt 3 at `auth-oauth`
        `auth-oauth` is a new item, of no plan
        [exit 0]
        ");
        scratch.write(
            "entry.json",
            r#"{"status": "partial", "notes": "half of it"}"#,
        );
        // What is typed as well holds.
        let args = [
            "record",
            "auth-oauth",
            "--from",
            "entry.json",
            "--outcome",
            "failed",
        ];
        assert_eq!(scratch.json(&args)["outcome"], "failed");
        let past = scratch.json(&["recent", "--item", "auth-oauth"]);
        assert_eq!(past["attempts"][0]["ended_at"], "2026-01-14T08:00:00Z");
        assert_eq!(
            past["attempts"][0]["observations"][0]["severity"],
            "critical"
        );
        assert_eq!(past["attempts"][1]["number"], 4);
    }

    #[test]
    fn every_mistake_is_told_at_once_with_its_path_and_the_words_that_are_allowed() {
        let scratch = Scratch::new();
        let text = r#"{"prd_id": "x",
 "status": "done",
 "observations": [{"type": "finding", "title": "t", "category": "bugs"}],
 "mood": "good"}"#;
        let said = scratch.fed(&["record", "-"], text.as_bytes());
        insta::assert_snapshot!(said.shown(&scratch), @r#"
        error[INVALID_VALUE]: invalid value "done"
         --> stdin:2:12
          |
        2 |  "status": "done",
          |            ^^^^^^
          |
          = help: write one of `completed`, `failed`, `blocked`, `partial`, `needs-human`, `interrupted`

        error[INVALID_VALUE]: invalid value "bugs"
         --> stdin:3:65
          |
        3 |  "observations": [{"type": "finding", "title": "t", "category": "bugs"}],
          |                                                                 ^^^^^^
          |
          = help: write one of `bug`, `stub`, `dependency`, `scope-creep`, `api-issue`, `test-failure`, `tooling-friction`, `architecture`, `documentation`, `performance`, `security`

        error[UNKNOWN_KEY]: unknown key "mood"
         --> stdin:4:2
          |
        4 |  "mood": "good"}
          |  ^^^^^^
          |
          = help: write one of `prd_id`, `timestamp`, `iteration`, `status`, `duration_seconds`, `summary`, `observations`, `files_modified`, `git_commits`, `context`, `error`, `notes`, `agent`, `validations`, `usage`

        error: stdin has 3 problems; nothing was recorded [record.problems]
        hint: see what it may say with `piton record --help`
        [exit 2]
        "#);
        let said = scratch.fed(&["record", "-", "--json"], text.as_bytes());
        let error: serde_json::Value = serde_json::from_str(&said.err).expect("JSON");
        let paths: Vec<&str> = error["error"]["problems"]
            .as_array()
            .expect("problems")
            .iter()
            .filter_map(|problem| problem["path"].as_str())
            .collect();
        assert_eq!(paths, ["status", "observations[0].category", "mood"]);
        assert!(!scratch.has(".piton"));
    }

    #[test]
    fn what_is_no_json_object_is_refused() {
        let scratch = Scratch::new();
        for text in [
            &b""[..],
            b"{",
            b"[]",
            b"null",
            b"{\"iteration\":0}",
            b"{\"duration_seconds\":-1}",
            b"{\"iteration\":1e40}",
            b"{\"observations\":[[]]}",
            b"{\"prd_id\":\"\"}",
            b"{\"prd_id\":\"x\",\"timestamp\":\"yesterday\"}",
            b"{\"prd_id\":\"x\",\"summary\":\"\xff\"}",
            b"{\"summary\":\"no item\"}",
            b"{\"prd_id\":\"a\\u0000b\"}",
        ] {
            let said = scratch.fed(&["record", "-"], text);
            assert_eq!(said.exit, 2, "{text:?}: {}", said.err);
            assert!(said.err.contains("hint:"), "{}", said.err);
        }
        assert!(!scratch.has(".piton"));
    }

    #[test]
    fn one_item_is_meant() {
        let scratch = project();
        let said = scratch.fed(&["record", "other", "--from", "-"], br#"{"prd_id":"auth"}"#);
        insta::assert_snapshot!(said.shown(&scratch), @r"
        error: stdin tells of `auth`, and `other` was typed [usage]
        hint: leave one of the two out, or type `-` as the item
        [exit 2]
        ");
    }

    #[test]
    fn a_megabyte_of_notes_is_kept() {
        let scratch = project();
        let notes = "word ".repeat(200_000);
        let text = serde_json::json!({"prd_id": "auth", "notes": notes}).to_string();
        fine(&scratch.fed(&["record", "-"], text.as_bytes()));
        let exported = scratch.piton(&["journal", "export"]).out;
        assert!(exported.contains(notes.trim_end()));
    }

    #[test]
    fn stdin_is_read_only_when_that_is_asked_for() {
        let scratch = project();
        let said = scratch.fed(&["record", "auth"], b"not for piton");
        assert_eq!((said.exit, said.out.as_str()), (0, ""));
    }
}

mod items {
    use super::*;

    const TWO: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";

    fn ran(agent: &str) -> Scratch {
        let scratch = Scratch::new();
        scratch.sprint(TWO).agent(agent);
        scratch.run(&[]);
        scratch
    }

    #[test]
    fn a_node_of_a_run_is_known_with_and_without_its_run() {
        let scratch = ran("echo fine");
        insta::assert_snapshot!(scratch.shows(&["record", "build", "--summary", "by hand"]), @r"
        recorded build-2: completed, attempt 2 at `build` of run `2026-01-15_demo`
        [exit 0]
        ");
        let named = format!("{DEMO}:build");
        assert_eq!(scratch.json(&["record", &named])["name"], "build-3");
        let past = scratch.json(&["recent", "--item", &named]);
        assert_eq!(past["attempts"].as_array().map(Vec::len), Some(3));
        assert_eq!(past["run"], DEMO);
    }

    #[test]
    fn a_run_that_is_named_must_have_the_node() {
        let scratch = ran("echo fine");
        insta::assert_snapshot!(scratch.shows(&["record", "2026-01-15_demo:deploy"]), @r"
        error: run `2026-01-15_demo` has no node `deploy` [item.unknown]
        hint: see its nodes with `piton status 2026-01-15_demo`
        [exit 2]
        ");
        // What names no run is part of the item's name.
        insta::assert_snapshot!(scratch.shows(&["record", "another:deploy"]), @r"
        error: no plan here has an item `another:deploy`; nothing was recorded [item.not_planned]
        hint: see the nodes with `piton status 2026-01-15_demo`; for work of no plan type `piton record project:another:deploy`
        [exit 1]
        ");
        let own = scratch.json(&["record", "project:build"]);
        assert_eq!(
            (&own["run"], &own["node"]),
            (&serde_json::Value::Null, &serde_json::json!("build"))
        );
    }

    #[test]
    fn items_of_no_plan_are_no_run_to_go_on_with() {
        let scratch = ran("exit 1");
        fine(&scratch.piton(&["record", "project:auth", "--outcome", "failed"]));
        let status = scratch.json(&["status"]);
        assert_eq!(status["runs"].as_array().map(Vec::len), Some(1));
        assert_eq!(status["run"]["run"], DEMO);
        let said = scratch.piton(&["plan", "retry", "auth"]);
        assert!(said.err.contains("[item.unknown]"), "{}", said.err);
    }

    #[test]
    fn what_is_told_of_a_node_that_an_agent_works_on_does_not_disturb_the_run() {
        let scratch = Scratch::new();
        scratch
            .sprint(TWO)
            .agent("touch at-$PITON_ITEM; while ! [ -e go ]; do sleep 0.02; done; echo fine");
        let runner = scratch.start_run(&[]);
        scratch.until("the agent works", || scratch.has("at-build"));
        assert_eq!(scratch.json(&["record", "build"])["name"], "build-2");
        assert_eq!(
            scratch.json(&["record", "test", "--outcome", "failed"])["name"],
            "test-1"
        );
        scratch.write("go", "");
        fine(&runner.end());
        assert_eq!(scratch.json(&["status"])["run"]["state"], "done");
        assert_eq!(
            scratch.json(&["journal", "verify"])["damage"],
            serde_json::json!([])
        );
    }

    #[test]
    fn processes_that_record_one_item_at_once_get_names_and_numbers_of_their_own() {
        let scratch = Scratch::new();
        let writers: Vec<Running> = (0..8)
            .map(|_| Running::start(scratch.command(&["record", "auth", "--json"])))
            .collect();
        let mut names = Vec::new();
        for writer in writers {
            let said = writer.end();
            fine(&said);
            let recorded: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
            names.push((
                recorded["number"].as_u64(),
                recorded["name"].as_str().map(str::to_owned),
            ));
        }
        names.sort();
        let expect: Vec<_> = (1..=8)
            .map(|number| (Some(number), Some(format!("auth-{number}"))))
            .collect();
        assert_eq!(names, expect);
    }
}

mod blockers {
    use super::*;

    #[test]
    fn a_blocker_is_resolved_by_its_task_by_an_entry_and_by_a_decision() {
        let scratch = project();
        let block = || fine(&scratch.piton(&["record", "oauth", "--outcome", "blocked"]));
        block();
        insta::assert_snapshot!(scratch.shows(&["record", "keys", "--resolves", "oauth", "--resolution", "ops sent the key"]), @r"
        recorded keys-1: completed, attempt 1 at `keys`
        `keys` is a new item, of no plan
        resolved the blocker of `oauth`
        [exit 0]
        ");
        let last = scratch.json(&["recent", "2"]);
        assert_eq!(last["entries"][0]["type"], "debug_resolved");
        assert_eq!(last["entries"][0]["data"]["resolution"], "ops sent the key");
        assert_eq!(last["unresolved_blockers"], serde_json::json!([]));
        block();
        let blocked = scratch.json(&["recent", "1"]);
        let name = blocked["entries"][0]["name"].as_str().expect("a name");
        // Its own completion resolves it as well; how is said first.
        let done = [
            "record",
            "oauth",
            "--resolves",
            name,
            "--resolution",
            "found it",
        ];
        assert_eq!(scratch.json(&done)["resolved"]["task_id"], "oauth");
        assert_eq!(scratch.piton(&done).exit, 2, "nothing blocks it any more");
    }

    #[test]
    fn a_decision_about_a_node_names_its_blocker() {
        let scratch = Scratch::new();
        scratch
            .sprint("  - id: build\n    prompt: build it\n")
            .agent("echo it does not compile; exit 1");
        scratch.run(&[]);
        let args = [
            "record",
            "project:toolchain",
            "--resolves",
            "d1",
            "--resolution",
            "cc is there",
        ];
        let resolved = &scratch.json(&args)["resolved"];
        assert_eq!(
            resolved,
            &serde_json::json!({"spec": DEMO, "task_id": "build"})
        );
    }

    #[test]
    fn a_task_of_two_specs_is_named_with_its_spec() {
        let scratch = project();
        for spec in ["auth", "billing"] {
            fine(&scratch.piton(&["log", "task_blocked", "--spec", spec, "--task", "1.1"]));
        }
        insta::assert_snapshot!(scratch.shows(&["record", "keys", "--resolves", "1.1", "--resolution", "here"]), @r"
        error: more than one spec has a blocked task `1.1` [usage]
        hint: name one of: auth:1.1, billing:1.1
        [exit 2]
        ");
        fine(&scratch.piton(&[
            "record",
            "keys",
            "--resolves",
            "billing:1.1",
            "--resolution",
            "here",
        ]));
        insta::assert_snapshot!(scratch.shows(&["recent", "--blockers"]), @r"
        Unresolved blockers:
        ! task_blocked [auth] 1.1
        [exit 0]
        ");
    }
}

mod screenshots {
    use super::*;

    #[test]
    fn a_picture_is_kept_under_the_name_that_the_rule_gives_it() {
        let scratch = project();
        for name in ["login.png", "text.png"] {
            scratch.write(name, "no picture");
        }
        std::fs::write(scratch.path().join("login.png"), PNG).expect("written");
        let kept = |args: &[&str]| {
            let args = [&["record"], args, &["--screenshot", "login.png"]].concat();
            let recorded = scratch.json(&args);
            let path = recorded["screenshots"][0]
                .as_str()
                .expect("a path")
                .to_owned();
            let bytes = std::fs::read(scratch.path().join(&path)).expect("it is there");
            assert_eq!(bytes, PNG);
            path
        };
        let folder = ".git/piton/blobs/screenshots";
        assert_eq!(kept(&["3"]), format!("{folder}/criterion-3-login.png"));
        assert_eq!(kept(&["3"]), format!("{folder}/criterion-3-login-2.png"));
        assert_eq!(
            kept(&["3", "--outcome", "failed"]),
            format!("{folder}/error-001.png")
        );
        assert_eq!(kept(&["auth"]), format!("{folder}/auth.png"));
        scratch.commit(&Command::TurnFace {
            path: ".ralph/progress.md".to_owned(),
            face: "ralph-dir".to_owned(),
            on: true,
        });
        assert_eq!(kept(&["3"]), ".ralph/screenshots/criterion-3-login.png");
        insta::assert_snapshot!(scratch.shows(&["record", "new", "--screenshot", "login.png", "--screenshot", "text.png"]), @r"
        error: SCRATCH/text.png is no PNG, JPEG, GIF or WebP image [file.not_an_image]
        hint: name an image with `--screenshot FILE`, and any other file with `--file FILE`
        [exit 2]
        ");
        assert_eq!(
            scratch.piton(&["record", "new", "--screenshot", "."]).exit,
            2
        );
        assert_eq!(
            scratch
                .piton(&["record", "new", "--screenshot", "none.png"])
                .exit,
            2
        );
        assert_eq!(
            scratch.piton(&["recent", "--item", "new"]).exit,
            2,
            "nothing was recorded"
        );
    }
}

mod queries {
    use super::*;

    fn tried() -> Scratch {
        let scratch = project();
        let entry = |category: &str, count: usize| {
            let one = serde_json::json!({"type": "finding", "title": "it is slow", "category": category, "severity": "low"});
            serde_json::json!({"prd_id": "auth", "status": "failed", "summary": "no luck", "observations": vec![one; count]})
        };
        for (category, count) in [("tooling-friction", 4), ("bug", 1)] {
            let text = entry(category, count).to_string();
            fine(&scratch.fed(&["record", "-"], text.as_bytes()));
        }
        // Of one that was completed nothing is counted.
        let args = [
            "record",
            "done",
            "--observation",
            "completion: it was there",
            "--observation",
            "blocker: no key",
        ];
        fine(&scratch.piton(&args));
        scratch
    }

    #[test]
    fn failures_are_counted_by_category() {
        let scratch = tried();
        insta::assert_snapshot!(scratch.shows(&["status", "--failures"]), @r"
           2  no luck  auth
        By category of what was noticed:
           4  tooling-friction
           1  bug
        in 2 failed or blocked attempts
        warning: tooling-friction was noticed 4 times: mend the infrastructure first
        [exit 0]
        ");
        let failures = scratch.json(&["status", "--failures"]);
        assert_eq!(failures["categories"][0]["count"], 4);
        insta::assert_snapshot!(Scratch::new().shows(&["status", "--failures"]), @r"
        no attempt failed or was blocked
        [exit 0]
        ");
        assert_eq!(scratch.piton(&["status", "none", "--failures"]).exit, 2);
    }

    #[test]
    fn what_was_noticed_is_shown_of_the_last_attempts_of_an_item_or_of_what_blocks() {
        let scratch = tried();
        insta::assert_snapshot!(scratch.shows(&["recent", "2", "--observations"]), @r"
        auth-2  finding     bug  low  it is slow
        done-1  completion            it was there
        done-1  blocker               no key
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["recent", "--item", "done"]), @r"
        2026-01-15 09:00 UTC  done-1 completed
            completion: it was there
            blocker: no key
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["recent", "--blockers"]), @r"
        Unresolved blockers:
        ! task_blocked auth: no luck (2 times)
        Noticed in attempts:
        done-1  blocker  no key
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["recent", "--item", "none"]), @r"
        error: there is no item `none` [item.unknown]
        hint: see what is recorded with `piton recent`
        [exit 2]
        ");
        let fresh = Scratch::new();
        for args in [&["recent", "--observations"][..], &["recent", "--blockers"]] {
            assert_eq!(fresh.piton(args).exit, 0);
        }
        assert_eq!(fresh.piton(&["recent", "--item", "x"]).exit, 2);
        assert!(!fresh.has(".piton"), "reading never writes");
    }

    #[test]
    fn a_terminal_is_not_told_what_to_do_by_what_is_shown() {
        let scratch = project();
        let text = serde_json::json!({"prd_id": "auth", "summary": "\u{1b}[2Jgone", "status": "failed",
            "observations": [{"type": "blocker", "title": "\u{1b}]0;x\u{7}title"}]});
        fine(&scratch.fed(&["record", "-"], text.to_string().as_bytes()));
        for args in [
            &["recent"][..],
            &["recent", "--item", "auth"],
            &["recent", "--observations"],
            &["recent", "--blockers"],
        ] {
            assert!(
                !scratch.piton(args).out.contains(['\u{1b}', '\u{7}']),
                "{args:?}"
            );
        }
    }
}

mod of_a_plan {
    use super::*;

    const LIST: &str = r#"{"features": [{"id": "login", "description": "d", "steps": [], "passes": false}, {"id": "logout", "description": "d", "steps": [], "passes": false}]}"#;

    fn planned() -> Scratch {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write("prd.json", LIST).agent("exit 1");
        let said = scratch.piton(&[
            "run",
            "prd.json",
            "--agent",
            "./agent.sh",
            "--max-iterations",
            "1",
        ]);
        assert_ne!(said.exit, 0, "{}", said.err);
        scratch
    }

    #[test]
    fn a_record_of_an_item_says_why_it_is_not_done() {
        let scratch = planned();
        insta::assert_snapshot!(scratch.shows(&["record", "logout", "--summary", "by hand"]), @r"
        recorded logout-1: completed, attempt 1 at `logout` of run `prd`
        hint: `logout` stays ready: a record is a report, and its run completes it. Go on with `piton run prd`, or mark it in prd.json yourself
        [exit 0]
        ");
        let recorded = scratch.json(&["record", "logout", "--summary", "again"]);
        assert_eq!(recorded["not_done"]["state"], "ready");
        let failed = scratch.json(&["record", "logout", "--outcome", "failed", "--error", "no"]);
        assert!(failed.get("not_done").is_none());
    }

    #[test]
    fn an_item_that_no_plan_has_is_refused_with_the_nearest() {
        let scratch = planned();
        let events = scratch.event_kinds();
        insta::assert_snapshot!(scratch.shows(&["record", "logn", "--summary", "x"]), @r"
        error: no plan here has an item `logn`; nothing was recorded [item.not_planned]
        hint: near to it: `login`; see the nodes with `piton status prd`; for work of no plan type `piton record project:logn`
        [exit 1]
        ");
        assert_eq!(scratch.event_kinds(), events);
        let meant = scratch.piton(&["record", "project:logn", "--summary", "x"]);
        assert_eq!(meant.exit, 0, "{}", meant.err);
        // It is known now.
        let again = scratch.piton(&["record", "logn", "--summary", "more"]);
        assert_eq!(again.exit, 0, "{}", again.err);
    }
}
