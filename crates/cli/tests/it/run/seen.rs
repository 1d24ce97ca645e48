//! What is recorded of an attempt beside what its agent answers: what it
//! noticed, whether its blocker is one, what it changed.

use serde_json::{Value, json};

use super::{ONE, TWO, node, project};
use crate::harness::{RUN, Scratch};

/// The entries of `.ralph/progress.json`.
fn entries(scratch: &Scratch) -> Vec<Value> {
    let text = scratch.read(".ralph/progress.json");
    let file: Value = serde_json::from_str(&text).expect("it is JSON");
    file["entries"].as_array().expect("entries").clone()
}

/// The reports of all attempts that ended, as the journal has them.
fn reports(scratch: &Scratch) -> Vec<Value> {
    let out = scratch.piton(&["journal", "export"]).out;
    out.lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line is an event"))
        .filter(|event| event["kind"] == "attempt-ended")
        .map(|event| event["body"]["report"].clone())
        .collect()
}

/// A project that keeps `.ralph/progress.json`.
fn with_face(settings: &str, agent: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch
        .write(
            ".ralph/progress.json",
            r#"{"version": "1.0", "created_at": "2026-01-15T09:00:00Z", "entries": []}"#,
        )
        .sprint_with(settings, ONE)
        .agent(agent);
    let said = scratch.piton(&["init"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    scratch
}

#[test]
fn what_an_agent_notices_stands_in_the_file_and_among_what_is_known() {
    let agent = "echo '<observation type=\"finding\" category=\"bug\"><title>Tides are late</title>\
        <description>by an hour</description></observation>'; echo '<observation type=\"completion\">\
        <title>It was done before</title></observation>'; echo '{\"status\":\"failed\",\"error\":\"e\"}'";
    let scratch = with_face("", agent);
    // What was done before is left out.
    assert_eq!(scratch.run(&[]).exit, 0);
    let seen = json!([
        {"type": "finding", "title": "Tides are late", "description": "by an hour", "category": "bug"},
        {"type": "completion", "title": "It was done before"},
    ]);
    assert_eq!(entries(&scratch)[0]["observations"], seen);
    let recent = scratch.json(&["recent", "--item", "build"]);
    assert!(recent.to_string().contains("Tides are late"), "{recent}");
    let again = scratch.piton(&["files", "sync"]);
    assert_eq!(again.exit, 0, "{}", again.err);
    let kinds = scratch.event_kinds();
    let revised = kinds.iter().any(|kind| kind == "attempt-revised");
    assert!(!revised, "what piton wrote is nobody's edit: {kinds:?}");
}

#[test]
fn to_be_blocked_by_what_is_there_is_tried_again() {
    let agent = "if [ -e tried ]; then echo done; exit; fi; touch tried\n\
        echo '###BLOCKED:FOO_TOKEN is not set###'";
    let scratch = with_face(
        "retry: {maxAttempts: 1, backoffMs: [10], retryOn: [logic]}\n",
        agent,
    );
    let mut run = scratch.command(RUN);
    let output = run.env("FOO_TOKEN", "x").output().expect("piton starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert_eq!(node(&scratch, "build")["state"], "done");
    let reports = reports(&scratch);
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0]["outcome"], "failed");
    assert_eq!(
        reports[0]["error"],
        "it said that `FOO_TOKEN` is missing, but it is there: the variable `FOO_TOKEN` is set\n\
         FOO_TOKEN is not set"
    );
    let first = &entries(&scratch)[0];
    assert_eq!(first["status"], "failed");
    let blocker = json!([{"type": "blocker", "title": "FOO_TOKEN is not set"}]);
    assert_eq!(first["observations"], blocker);
    assert_eq!(first["context"]["blocker_verified"], true);
    assert_eq!(first["context"]["blocker_valid"], false);
}

/// What becomes of an agent that is blocked by this: the state of its item, and
/// what is known of its blocker.
#[track_caller]
fn check_blocked(why: &str, verified: bool, valid: &Value) {
    let scratch = project(ONE, &format!("echo '###BLOCKED:{why}###'"));
    assert_eq!(scratch.run(&[]).exit, 1);
    assert_eq!(node(&scratch, "build")["state"], "blocked");
    let report = &reports(&scratch)[0];
    assert_eq!(report["error"], why);
    assert_eq!(report["context"]["blocker_verified"], verified);
    assert_eq!(&report["context"]["blocker_valid"], valid);
}

#[test]
fn a_blocker_that_is_one_or_cannot_be_looked_up_blocks() {
    check_blocked("NO_TOKEN is not set", true, &json!(true));
    check_blocked("config/keys.json is missing", true, &json!(true));
    check_blocked("which of the two is right?", false, &Value::Null);
    check_blocked("demo/SPRINT.yaml contradicts itself", false, &Value::Null);
}

#[test]
fn a_recorded_blocker_is_looked_up_and_its_outcome_is_not_changed() {
    let scratch = with_face("", "true");
    scratch.write("keys.json", "{}");
    let record = |item: &str, more: &[&str]| {
        let args = ["record", item, "--outcome", "blocked"];
        let said = scratch.piton(&[&args[..], more].concat());
        assert_eq!(said.exit, 0, "{}", said.err);
        let all = entries(&scratch);
        let entry = all.into_iter().find(|entry| entry["prd_id"] == item);
        let entry = entry.expect("it was recorded");
        assert_eq!(entry["status"], "blocked");
        entry["context"].clone()
    };
    assert_eq!(
        record("one", &["--summary", "there is no `keys.json`"]),
        json!({"blocker_verified": true, "blocker_valid": false})
    );
    assert_eq!(
        record("two", &["--summary", "nobody knows"]),
        json!({"blocker_verified": false})
    );
}

#[test]
fn files_commits_and_trees_of_an_attempt_are_recorded() {
    let agent = "echo 1 >made; echo 2 >>changed\ngit add made && git commit --quiet -m made\n\
        git rev-parse HEAD >.git/made; echo done";
    let scratch = with_face("", agent);
    scratch.write("changed", "1\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "-m", "first"]);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let report = &reports(&scratch)[0];
    assert_eq!(report["files"], json!(["changed", "made"]));
    let made = scratch.read(".git/made");
    assert_eq!(report["commits"], json!([made.trim()]));
    let trees = [&report["tree_before"], &report["tree_after"]];
    let lengths = trees.map(|tree| tree.as_str().unwrap_or_default().len());
    assert_eq!(lengths, [40, 40]);
    assert_ne!(trees[0], trees[1]);
    let entry = &entries(&scratch)[0];
    assert_eq!(entry["files_modified"], json!(["changed", "made"]));
    assert_eq!(entry["git_commits"], json!([made.trim()]));
    // `changed` was not committed: the repository knows nothing of that tree.
    let tree = trees[1].as_str().unwrap_or_default();
    let mut known = std::process::Command::new("git");
    known
        .args(["cat-file", "-e", tree])
        .current_dir(scratch.path());
    assert!(!known.output().expect("git starts").status.success());
    // Nothing is left of what was looked at.
    let spool = scratch.file(".piton/spool");
    for run in std::fs::read_dir(spool).expect("a spool") {
        let left = std::fs::read_dir(run.expect("a run").path()).expect("a folder");
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn outside_of_git_sizes_and_times_say_what_changed() {
    let scratch = Scratch::outside_git();
    scratch
        .write("RALPH_TASK.md", "# Task\n\n- [ ] build it\n")
        .agent("echo 1 >made; echo done");
    let said = scratch.piton(&[
        "run",
        "RALPH_TASK.md",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ]);
    assert!(scratch.has("made"), "{}", said.err);
    let report = &reports(&scratch)[0];
    assert_eq!(report["outcome"], "completed");
    assert_eq!(report["files"], serde_json::json!(["made"]));
    assert_ne!(report["tree_before"], report["tree_after"]);
    assert_eq!(report["commits"], Value::Null);
}

#[test]
fn a_screenshot_that_the_plan_asks_for_and_is_not_there_is_asked_about() {
    let scratch = Scratch::new();
    let head = "---\ntask: Tides\ntest_command: 'true'\nbrowser_validation: true\nbase_url: http://localhost:4000\n---\n\n";
    let agent = "cat >>prompts\n\
        [ -e made ] || { mkdir -p .ralph/screenshots; \
        printf '\\211PNG\\r\\n\\032\\n....' >.ralph/screenshots/criterion-1.png; }\n\
        echo 1 >>made; echo done";
    scratch
        .write(
            "RALPH_TASK.md",
            &format!("{head}1. [ ] It loads\n2. [ ] It ends\n"),
        )
        .agent(agent);
    let run = ["run", "RALPH_TASK.md", "--agent", "./agent.sh"];
    let said = scratch.piton(&[&run[..], &["--verdict", "exit-status"]].concat());
    let file = scratch.read("RALPH_TASK.md");
    assert!(
        file.ends_with("1. [x] It loads\n2. [x] It ends\n"),
        "{file}{}",
        said.err
    );
    let wants = "Look at the outcome in a browser, at http://localhost:4000, and save a \
        screenshot of it as `.ralph/screenshots/criterion-2.png`.";
    assert!(scratch.read("prompts").contains(wants));
    let [one, two] = <[Value; 2]>::try_from(reports(&scratch)).expect("two attempts");
    let taken = serde_json::json!([".ralph/screenshots/criterion-1.png"]);
    assert_eq!(
        (&one["screenshots"], &one["lacks_screenshot"]),
        (&taken, &Value::Null)
    );
    assert_eq!(two["lacks_screenshot"], true);
    let inbox = scratch.json_list(&["inbox"]);
    assert_eq!(inbox.as_array().map(Vec::len), Some(1), "{inbox}");
    assert_eq!(
        inbox[0]["question"],
        "the plan asks for a screenshot of `it-ends`, and there is none: does it look right?"
    );
}

#[test]
fn a_look_that_takes_too_long_is_skipped_once_and_named() {
    let agent = "touch \"made-by-$PITON_ATTEMPT\"; [ -e once ] || touch once .git/slow\necho done";
    let scratch = project(TWO, agent);
    let body = "case \" $* \" in *' status '*) \
        if [ -e .git/slow ]; then rm .git/slow; sleep 60; fi;; esac\n\
        PATH=${PATH#*:} exec git \"$@\"";
    scratch.script("bin/git", body);
    let mut run = scratch.command(RUN);
    let path = std::env::var("PATH").unwrap_or_default();
    let own = scratch.path().join("bin").display().to_string();
    let output = run.env("PATH", format!("{own}:{path}")).output();
    let output = output.expect("piton starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let told = err
        .matches("the look at the work tree took too long")
        .count();
    assert_eq!(told, 1, "{err}");
    let [late, next] = <[Value; 2]>::try_from(reports(&scratch)).expect("two attempts");
    assert_eq!(late["files"], Value::Null);
    assert_eq!(late["tree_after"], Value::Null);
    assert_eq!(
        late["notes"],
        "the look at the work tree took too long and was skipped: what this attempt changed is not known"
    );
    assert_eq!(next["files"].as_array().map(Vec::len), Some(1), "{next}");
    assert_eq!(next["notes"], Value::Null);
}
