//! Sessions, files that wait for a decision, and issues.

use piton_core::native::Native;
use piton_core::{Command, DecisionChoice, ItemState, RunId};
use piton_testkit::sketch;

use crate::harness::Scratch;

/// The same project at another time.
fn at(scratch: &Scratch, time: &str, args: &[&str]) -> serde_json::Value {
    let mut command = scratch.command(&[args, &["--json"]].concat());
    let output = command
        .env("PITON_TEST_CLOCK", time)
        .output()
        .expect("piton starts");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_session_begins_has_a_focus_and_ends() {
    let scratch = Scratch::new().with_fixed_clock();
    insta::assert_snapshot!(scratch.shows(&["session", "start", "finish", "the", "login", "--spec", "auth"]), @r"
    No previous progress recorded.
    keeping progress in SCRATCH/.git/piton
    recorded session_started [auth] Focus: finish the login
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["session", "focus", "the refresh comes first"]), @r"
    recorded scope_override Focus: the refresh comes first
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["session", "end", "login works"]), @r"
    recorded session_ended [auth], after 0 min
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["session", "end"]), @r"
    no session was begun that has no end yet, so it is not known how long this one took
    recorded session_ended
    [exit 0]
    ");
    let entries = scratch.json(&["recent"])["entries"].clone();
    let data: Vec<&serde_json::Value> = entries
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| &entry["data"])
        .collect();
    assert_eq!(data[0]["focus_task"], "finish the login");
    assert_eq!(
        data[1],
        &serde_json::json!({"description": "Focus: the refresh comes first", "focus": "the refresh comes first"})
    );
    assert_eq!(data[2]["notes"], "login works");
}

#[test]
fn whoever_begins_a_session_is_told_where_things_stand() {
    let scratch = Scratch::new().with_fixed_clock();
    let before = [
        "log",
        "task_blocked",
        "--description",
        "no key for the API",
        "--task",
        "login",
    ];
    assert_eq!(scratch.piton(&before).exit, 0);
    let done = [
        "log",
        "task_completed",
        "--description",
        "the parser reads",
        "--task",
        "parser",
    ];
    assert_eq!(scratch.piton(&done).exit, 0);
    insta::assert_snapshot!(scratch.shows(&["session", "start"]), @r"
    Last 2 entries: 1 task completed, 1 blocker. Most recent: parser: the parser reads.
    2026-01-15 09:00 UTC  task_blocked login: no key for the API
    2026-01-15 09:00 UTC  task_completed parser: the parser reads
    Last task: parser
    Unresolved blockers:
    ! task_blocked login: no key for the API
    recorded session_started
    [exit 0]
    ");
    let begun = scratch.json(&["session", "start"]);
    assert_eq!(begun["type"], "session_started");
    assert_eq!(begun["before"]["last_task"], "parser");
    assert_eq!(
        begun["before"]["unresolved_blockers"][0]["task_id"],
        "login"
    );
}

#[test]
fn how_long_a_session_took_is_counted_from_its_own_beginning() {
    let scratch = Scratch::new();
    at(&scratch, "2026-01-15T08:00:00Z", &["session", "start"]);
    at(&scratch, "2026-01-15T09:00:00Z", &["session", "start"]);
    let ended = at(&scratch, "2026-01-15T10:30:59Z", &["session", "end"]);
    assert_eq!(ended["data"]["duration_minutes"], 90);
    let again = at(&scratch, "2026-01-15T10:40:00Z", &["session", "end"]);
    assert_eq!(again["data"].get("duration_minutes"), None);
}

#[test]
fn a_focus_without_words_is_none() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(scratch.shows(&["session", "focus", " "]), @r"
    error: the focus has no words [usage]
    hint: say what is worked on from now on: `piton session focus TEXT`
    [exit 2]
    ");
    assert_eq!(scratch.piton(&["session", "focus"]).exit, 2);
    assert!(!scratch.has(".piton"));
}

mod files {
    use super::*;

    /// A project in which somebody is asked about a file.
    fn asked() -> Scratch {
        let scratch = Scratch::new();
        scratch.piton(&["log", "session_started"]);
        scratch.commit(&Command::AskAboutFile {
            run: RunId::PROJECT,
            path: "notes/own.json".to_owned(),
            question: "notes/own.json cannot be read".to_owned(),
            details: None,
            ways: vec![
                DecisionChoice::FileHolds,
                DecisionChoice::PitonHolds,
                DecisionChoice::Merged,
            ],
        });
        scratch
    }

    #[test]
    fn a_decision_about_a_file_of_the_project_needs_no_run() {
        let scratch = asked();
        insta::assert_snapshot!(scratch.shows(&["inbox"]), @r"
        d1  notes/own.json cannot be read
            piton decide d1 keep-file   what the file says holds
            piton decide d1 keep-piton  write it as piton has it; what is there now is kept beside it
            piton decide d1 merge       take what is new in it; for the rest piton's word holds
            or change notes/own.json by hand, then type piton files sync
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["decide", "d1", "retry"]), @r"
        error: a decision of the kind `file-conflict` cannot be answered with `retry` [decision.wrong_verb]
        hint: what fits is: keep-file, keep-piton, merge
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["decide", "d1", "keep-file"]), @r"
        notes/own.json: what it says holds
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.shows(&["decide", "d1", "merge"]), @r"
        error: decision 1 is decided already: keep-file [decision.decided]
        hint: see what is open with `piton inbox`
        [exit 1]
        ");
        assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    }

    #[test]
    fn a_program_is_told_of_the_file_and_the_verb() {
        let decided = asked().json(&["decide", "d1", "keep-piton"]);
        assert_eq!(
            decided,
            serde_json::json!({"id": "d1", "file": "notes/own.json", "verb": "keep-piton"})
        );
    }
}

mod issues {
    use super::*;

    /// A run of three issues, the second of which waits for the first.
    fn three() -> Scratch {
        let scratch = Scratch::new().with_fixed_clock();
        let run: RunId = "01900000-0000-7000-8000-000000000007"
            .parse()
            .expect("an id");
        let waits: &[&str] = &["LIN-1"];
        let mut plan = sketch::plan(
            run,
            "payments",
            &[("LIN-1", &[]), ("LIN-2", waits), ("LIN-3", &[])],
        );
        plan.face = "sdlc".to_owned();
        for item in &mut plan.items {
            let body = serde_json::json!({
                "repo": "api", "title": format!("issue {}", item.id), "status": "ready",
                "pr": if item.id == "LIN-3" { Some("org/api#7") } else { None },
                "blocked_by": item.depends_on,
            });
            item.native = Some(Native {
                face: "sdlc".to_owned(),
                version: 1,
                body: body.to_string(),
            });
            if item.id == "LIN-3" {
                item.state = ItemState::Done;
            }
        }
        scratch.piton(&["log", "session_started"]);
        scratch.commit(&Command::PlanRun(Box::new(plan)));
        scratch
    }

    #[test]
    fn they_are_listed_with_what_they_wait_for() {
        let scratch = three();
        insta::assert_snapshot!(scratch.shows(&["issue", "list"]), @r"
        LIN-1  ready             api             issue LIN-1
        LIN-2  pending  blocked  api             issue LIN-2  waits for LIN-1 (ready)
        LIN-3  done              api  org/api#7  issue LIN-3
        [exit 0]
        ");
        let ids = |args: &[&str]| {
            let found = scratch.json(&[&["issue", "list"], args].concat());
            let issues = found["issues"].as_array().expect("issues").clone();
            let ids = issues
                .iter()
                .filter_map(|issue| issue["id"].as_str().map(str::to_owned));
            ids.collect::<Vec<_>>()
        };
        assert_eq!(ids(&["--state", "blocked"]), ["LIN-2"]);
        assert_eq!(ids(&["--state", "pending"]), ["LIN-2"]);
        assert_eq!(ids(&["payments", "--state", "done"]), ["LIN-3"]);
        insta::assert_snapshot!(scratch.shows(&["issue", "list", "--state", "open"]), @r"
        error: there is no state `open` [usage]
        hint: the states are: pending, ready, working, waiting, done, failed, skipped, blocked, dropped; in the file: blocked, ready, implementing, reviewing, awaiting_human, done, failed
        [exit 2]
        ");
    }

    #[test]
    fn without_a_run_that_has_any_it_is_said_where_they_come_from() {
        let scratch = Scratch::new();
        insta::assert_snapshot!(scratch.shows(&["issue", "list"]), @r"
        error: no run here has issues [run.unknown]
        hint: `piton init` finds a state.json here and takes its issues over
        [exit 2]
        ");
        assert_eq!(scratch.piton(&["issue", "list", "none"]).exit, 2);
    }
}

mod faces {
    use super::*;

    const FILE: &str = ".ralph/progress.json";

    /// A project in which these files are kept up to date.
    fn showing(face: &str, files: &[&str]) -> Scratch {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.piton(&["log", "session_started"]);
        for file in files {
            scratch.commit(&Command::TurnFace {
                path: (*file).to_owned(),
                face: face.to_owned(),
                on: true,
            });
        }
        scratch
    }

    fn shown() -> Scratch {
        showing("ralph-json", &[FILE])
    }

    #[test]
    fn signs_and_pictures_are_shown_in_the_ralph_directory() {
        let files = [".ralph/progress.md", ".ralph/guardrails.md"];
        let scratch = showing("ralph-dir", &files);
        std::fs::write(scratch.path().join("login.png"), b"\x89PNG\r\n\x1a\n").expect("written");
        let title = "Ask before a migration";
        let sign = "learn|add|--kind|guardrail|--title|Ask before a migration|--trigger|Before it|Ask first.";
        scratch.piton(&sign.split('|').collect::<Vec<_>>());
        let args = "record|3|--summary|login works|--screenshot|login.png|--validation|the form shows errors";
        scratch.piton(&args.split('|').collect::<Vec<_>>());
        let progress = scratch.read(files[0]);
        for text in [
            "login works",
            ".ralph/screenshots/criterion-3-login.png",
            "the form shows errors",
        ] {
            assert!(progress.contains(text), "{text}: {progress}");
        }
        let active = scratch.read(files[1]);
        assert!(active.contains(title), "{active}");
        scratch.piton(&["learn", "retire", "sign-0001", "--why", "a tool does it"]);
        let resolved = scratch.read(files[1]);
        assert!(
            resolved.contains(title) && resolved.contains("a tool does it"),
            "{resolved}"
        );
    }

    fn file(scratch: &Scratch) -> serde_json::Value {
        serde_json::from_str(&scratch.read(FILE)).expect("JSON")
    }

    #[test]
    fn what_is_recorded_is_shown_in_the_file() {
        let scratch = shown();
        scratch.piton(&["record", "auth-login", "--outcome", "failed"]);
        scratch.piton(&["learn", "add", "--type", "tool-usage", "run it twice"]);
        let file = file(&scratch);
        assert_eq!(file["entries"][0]["id"], "auth-login-1");
        assert_eq!(file["learnings"][0]["id"], "learning-0001");
    }

    #[test]
    fn what_others_write_is_taken_in_by_the_next_command() {
        let scratch = shown();
        scratch.piton(&["record", "auth-login"]);
        let mut theirs = file(&scratch);
        let mut entry = theirs["entries"][0].clone();
        entry["id"] = "auth-oauth-1".into();
        entry["prd_id"] = "auth-oauth".into();
        theirs["entries"]
            .as_array_mut()
            .expect("entries")
            .push(entry);
        scratch.write(FILE, &theirs.to_string());
        insta::assert_snapshot!(scratch.shows(&["session", "focus", "oauth"]), @r"
        took 1 thing in from .ralph/progress.json
        recorded scope_override Focus: oauth
        [exit 0]
        ");
        let past = scratch.json(&["recent", "--item", "auth-oauth"]);
        assert_eq!(past["attempts"][0]["name"], "auth-oauth-1");
        // The next attempt at it has the next number.
        assert_eq!(
            scratch.json(&["record", "auth-oauth"])["name"],
            "auth-oauth-2"
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_never_fails_what_is_recorded_and_is_decided_about() {
        let scratch = shown();
        scratch.piton(&["record", "auth-login"]);
        scratch.write(FILE, "{ cut off");
        insta::assert_snapshot!(scratch.shows(&["record", "auth-login"]), @r"
        warning: .ralph/progress.json cannot be taken in whole: what is asked about stays as it is; see `piton inbox`
        recorded auth-login-2: completed, attempt 2 at `auth-login`
        [exit 0]
        ");
        assert_eq!(scratch.read(FILE), "{ cut off");
        // What cannot be done settles nothing.
        insta::assert_snapshot!(scratch.shows(&["decide", "d1", "merge"]), @r"
        error: a decision of the kind `file-conflict` cannot be answered with `merge` [decision.wrong_verb]
        hint: what fits is: keep-file, keep-piton
        [exit 2]
        ");
        assert_eq!(scratch.json_list(&["inbox"])[0]["id"], "d1");
        insta::assert_snapshot!(scratch.shows(&["decide", "d1", "keep-piton"]), @r"
        .ralph/progress.json: piton's version holds; what was there is kept as .ralph/progress.json.before-piton-20260115T090000Z
        [exit 0]
        ");
        let entries = file(&scratch)["entries"].as_array().map(Vec::len);
        assert_eq!(entries, Some(2));
        assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    }
}

#[test]
fn what_somebody_wrote_into_a_file_that_is_made_of_another_is_kept_and_said() {
    let scratch = Scratch::new();
    let folder = ".agent-os/progress";
    scratch.write(&format!("{folder}/progress.json"), "");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    assert_eq!(scratch.piton(&["log", "session_started"]).exit, 0);
    scratch.write(&format!("{folder}/progress.md"), "# By hand\n");
    insta::assert_snapshot!(scratch.shows(&["log", "milestone_reached"]), @"
    warning: .agent-os/progress/progress.md is made of .agent-os/progress/progress.json: the version that piton did not write is kept beside it as progress.md.before-piton, and is not taken in; record it with `piton log`
    recorded milestone_reached
    [exit 0]
    ");
    let copy = format!("{folder}/progress.md.before-piton");
    assert_eq!(scratch.read(&copy), "# By hand\n");
    assert!(
        scratch
            .read(&format!("{folder}/progress.md"))
            .starts_with("# ")
    );
}

#[test]
fn what_cannot_be_taken_in_of_a_file_is_said_and_stays() {
    let scratch = Scratch::new();
    let signs = ".ralph/guardrails.md";
    let text = "# Signs\n\n## Core Signs\n\n### Sign: A\n- **Trigger**: x\n- **Instruction**: y\n- **Added after**: z\n";
    scratch.write(signs, text).write(".ralph/.iteration", "0\n");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let twice = format!(
        "{text}\n### Sign: A\n- **Trigger**: x\n- **Instruction**: other\n- **Added after**: z\n"
    );
    scratch
        .write(signs, &twice)
        .write(".ralph/.iteration", "banana\n");
    let said = scratch.piton(&["files", "sync"]);
    assert!(
        said.err.contains("there is a sign `A` already"),
        "{}{}",
        said.out,
        said.err
    );
    assert!(
        said.err.contains("not a number"),
        "{}{}",
        said.out,
        said.err
    );
    assert_eq!(scratch.read(".ralph/.iteration"), "banana\n");
    assert!(scratch.read(signs).contains("other"));
}
