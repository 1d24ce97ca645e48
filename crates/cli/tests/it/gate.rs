//! `piton gate`: the check of an item, run by hand.

use std::time::{Duration, Instant};

use crate::harness::{Running, Said, Scratch};

/// A list with one item, whose check is this.
fn with_check(check: &str) -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    let said = scratch.piton(&["add", "first", "--check", check]);
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch
}

#[test]
fn the_answer_is_the_exit_status_and_nothing_is_recorded() {
    let scratch = with_check("echo looking; test -f hello || { echo no hello >&2; exit 7; }");
    let before = scratch.event_kinds();
    insta::assert_snapshot!(scratch.shows(&["gate", "first"]), @r"
    list:first check `echo looking; test -f hello || { echo no hello >&2; exit 7; }` failed: exit status 7
      | looking
      | no hello
    [exit 1]
    ");
    scratch.write("hello", "");
    insta::assert_snapshot!(scratch.shows(&["gate", "list:first"]), @r"
    list:first check `echo looking; test -f hello || { echo no hello >&2; exit 7; }` passed
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["gate", "furst"]), @r"
    error: there is no item `furst` [item.unknown]
    hint: near to it: `first`; see the nodes with `piton status list`
    [exit 2]
    ");
    assert_eq!(scratch.event_kinds(), before);
    let result = scratch.json(&["gate", "first"]);
    assert_eq!(result["passed"], true, "{result}");
    assert_eq!(result["checks"][0]["exit"], 0, "{result}");
    assert_eq!(scratch.json(&["list"])["items"][0]["state"], "ready");
}

#[test]
fn an_item_without_a_check_is_neither_passed_nor_failed() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.piton(&["add", "first"]);
    insta::assert_snapshot!(scratch.shows(&["gate", "first"]), @r"
    error: `first` of run `list` has no check [item.no_check]
    hint: give it one in its plan; see the item with `piton show list:first`
    [exit 2]
    ");
}

#[test]
fn the_check_of_a_plan_that_is_not_trusted_is_not_run() {
    let scratch = with_check("touch ran");
    let state = tempfile::tempdir().expect("a folder for the state of a user");
    let gate = |trust: Option<&str>| {
        let mut command = scratch.command(&["gate", "first"]);
        command
            .env_remove("PITON_TEST_TRUST")
            .env("XDG_STATE_HOME", state.path());
        if let Some(hash) = trust {
            command.env("PITON_TRUST", hash);
        }
        Said::of(&command.output().expect("piton starts"))
    };
    let said = gate(None);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert!(said.err.contains("[trust.needed]"), "{}", said.err);
    assert!(said.err.contains("`piton trust list`"), "{}", said.err);
    assert!(!scratch.has("ran"));
    assert_eq!(gate(Some("of something else")).exit, 3);
    assert!(!scratch.has("ran"));
}

#[test]
fn a_secret_that_a_check_prints_is_not_shown() {
    let scratch = with_check("echo \"key $SECRET_TOKEN\"; exit 1");
    let mut command = scratch.command(&["gate", "first"]);
    command.env("SECRET_TOKEN", "hunter2-and-a-half-long-secret");
    let said = Said::of(&command.output().expect("piton starts"));
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.out.contains("| key "), "{}", said.out);
    assert!(!said.out.contains("hunter2"), "{}", said.out);
}

#[test]
fn a_check_knows_its_item_and_runs_where_its_caller_works() {
    let scratch = with_check("echo $PITON_RUN $PITON_ITEM $PHASE_ID; pwd; exit 1");
    scratch.write("a", "");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch.git(&["worktree", "add", "-q", "-b", "other", "trees/other"]);
    let mut command = scratch.command_in("trees/other", &["gate", "first"]);
    let said = Said::of(&command.output().expect("piton starts"));
    assert!(said.out.contains("| list first first"), "{}", said.out);
    let there = scratch.file("trees/other");
    let there = std::fs::canonicalize(there).expect("it is there");
    assert!(said.out.contains(&*there.to_string_lossy()), "{}", said.out);
}

#[test]
fn a_signal_ends_the_check_with_all_that_it_started() {
    let scratch = with_check("sleep 77 & echo $! >child; touch began; wait");
    let running = Running::start(scratch.command(&["gate", "first"]));
    scratch.until("the check runs", || scratch.has("began"));
    let began = Instant::now();
    running.signal(rustix::process::Signal::INT);
    let said = running.end();
    assert_eq!(said.exit, 130, "{}{}", said.out, said.err);
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(!crate::harness::is_alive(scratch.read("child").trim()));
}

#[test]
fn a_check_that_takes_too_long_is_ended_and_has_failed() {
    let scratch = Scratch::new();
    scratch.sprint(
        "  - id: build\n    prompt: build it\n    gate:\n      script: 'echo begun; [ ! -e slow ] || sleep 77'\n      timeout: 1\n      on-fail: {prompt: mend it}\n",
    );
    scratch.agent("true");
    assert_eq!(scratch.run(&[]).exit, 0);
    scratch.write("slow", "");
    let result = scratch.json(&["gate", "build"]);
    assert_eq!(result["passed"], false, "{result}");
    let check = &result["checks"][0];
    assert_eq!(check["exit"], -1, "{result}");
    let error = "it ran longer than 1 s and was stopped";
    assert_eq!(check["error"], error, "{result}");
    assert_eq!(check["output"]["head"][0], "begun", "{result}");
}

#[test]
fn an_item_without_a_check_has_to_pass_that_of_its_run() {
    let scratch = Scratch::new();
    scratch.write(
        ".piton/config.toml",
        "[claims]\nword = \"check\"\ncheck = \"test -e ok\"\n",
    );
    scratch.sprint("  - id: build\n    prompt: build it\n");
    scratch.agent("touch ok");
    scratch.run(&[]);
    assert_eq!(scratch.piton(&["gate", "build"]).exit, 0);
    std::fs::remove_file(scratch.file("ok")).expect("it is removed");
    let said = scratch.piton(&["gate", "build"]);
    assert_eq!(said.exit, 1, "{}{}", said.out, said.err);
    assert!(
        said.out.contains("`test -e ok` failed: exit status 1"),
        "{}",
        said.out
    );
}
