//! What happened can be read: `piton show`, `piton transcript`, checks that
//! failed, times with their zone.

use serde_json::Value;

use crate::harness::{Running, Scratch};

/// What a check prints that fails: a secret, and more than is shown.
const PRINTS: &str =
    "#!/bin/sh\necho token ghp_0123456789abcdefghijABCDEFGHIJ012345\nseq 1 40\nexit 3\n";

/// How a check that failed is read: in what the run prints, of the item, in the
/// inbox, and as JSON.
fn reads_of_check(scratch: &Scratch, run: &[&str], item: &str) -> String {
    let said = scratch.piton(run);
    assert_eq!(said.exit, 1, "{}", said.err);
    // The last run of the check, up to the end.
    let last = said.err.rfind("! check of").expect("the check failed");
    let inbox = scratch.piton(&["inbox"]).out;
    let shown = scratch.piton(&["show", item]).out;
    let check = shown.find("  check ").expect("it has a check");
    let end = shown[check..].find("  ? ").expect("it is asked about");
    let status = scratch.json(&["status", "--all"]);
    let nodes = status["run"]["nodes"].as_array().expect("it has items");
    let node = nodes.iter().find(|node| node["node"] == item);
    let listed = &node.expect("it is there")["check"];
    assert_eq!(&scratch.json(&["show", item])["item"]["check"], listed);
    assert_eq!(&scratch.json_list(&["inbox"])[0]["check"], listed);
    let json = serde_json::to_string(listed).expect("JSON");
    format!(
        "{}\nSHOW\n{}\nINBOX\n{inbox}\nJSON\n{json}\n",
        &said.err[last..],
        &shown[check..check + end]
    )
}

#[test]
fn the_output_of_a_gate_that_failed_is_read_everywhere() {
    let scratch = Scratch::new();
    let gate = "    gate:\n      script: sh ./check.sh\n      on-fail: {prompt: Mend it., max-retries: 1}\n";
    scratch
        .write("check.sh", PRINTS)
        .agent("echo done >>made; echo fine")
        .sprint(&format!("  - id: build\n    prompt: Build it\n{gate}"));
    let run = [crate::harness::RUN, &[]].concat();
    insta::assert_snapshot!(reads_of_check(&scratch, &run, "build"), @r#"
    ! check of build failed: exit status 3
      sh ./check.sh
      | token [redacted:github-token]
      | 1
      | 2
      | 3
      | 4
      | 5
      | 6
      | 7
      | 8
      | 9
      | … 11 lines left out
      | 21
      | 22
      | 23
      | 24
      | 25
      | 26
      | 27
      | 28
      | 29
      | 30
      | 31
      | 32
      | 33
      | 34
      | 35
      | 36
      | 37
      | 38
      | 39
      | 40
    ! build failed: gate failed after 1 run: exit status 3
    0 of 1 node done
    ! build: Build it - gate failed after 1 run: exit status 3
        | 40
    report: .git/piton/reports/2026-01-15_demo.html
    run `2026-01-15_demo` is blocked at build
    hint: see why, and what to type to go on, with `piton inbox`

    SHOW
      check `sh ./check.sh` failed: exit status 3
        | token [redacted:github-token]
        | 1
        | 2
        | 3
        | 4
        | 5
        | 6
        | 7
        | 8
        | 9
        | … 11 lines left out
        | 21
        | 22
        | 23
        | 24
        | 25
        | 26
        | 27
        | 28
        | 29
        | 30
        | 31
        | 32
        | 33
        | 34
        | 35
        | 36
        | 37
        | 38
        | 39
        | 40

    INBOX
    d1  `build` failed: what now?  2026-01-15_demo at build: Build it
        gate failed after 1 run: exit status 3
        considered:
        - not skip: nothing says that it was done already
        - not retry: no blocker like it is known to be resolved
        - not retry: nothing in the memory is about it
        - not retry: neither the network nor a limit of a service is at fault
        - not fix-state: nothing is wrong with the workspace that is known
        - not retry: it did not go in circles
        - not break-chunks: nothing says that it is too large
        - not skip: nothing says that it is not needed
        check `sh ./check.sh` failed: exit status 3
          | token [redacted:github-token]
          | 1
          | 2
          | 3
          | 4
          | 5
          | 6
          | 7
          | 8
          | 9
          | … 11 lines left out
          | 21
          | 22
          | 23
          | 24
          | 25
          | 26
          | 27
          | 28
          | 29
          | 30
          | 31
          | 32
          | 33
          | 34
          | 35
          | 36
          | 37
          | 38
          | 39
          | 40
        piton decide d1 retry
        piton decide d1 answer --why '...'
        piton decide d1 skip

    JSON
    {"command":"sh ./check.sh","runs":1,"passed":false,"passed_before":false,"exit":3,"error":"exit status 3","took_s":0,"output":{"head":["token [redacted:github-token]","1","2","3","4","5","6","7","8","9"],"lines_left_out":11,"tail":["21","22","23","24","25","26","27","28","29","30","31","32","33","34","35","36","37","38","39","40"]}}
    "#);
}

#[test]
fn the_output_of_a_verification_that_failed_is_read_everywhere() {
    let scratch = Scratch::new();
    let list = r#"{"userStories": [{"id": "a-1", "title": "Add the login", "description": "As a user",
      "acceptanceCriteria": ["it works"], "passes": false, "verification": "echo 2 tests are red; exit 1"}]}"#;
    scratch
        .write("prd.json", list)
        .agent("echo done >>made; echo fine");
    let run = [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    insta::assert_snapshot!(reads_of_check(&scratch, &run, "a-1"), @r#"
    ! check of a-1 failed: exit status 1
      echo 2 tests are red; exit 1
      | 2 tests are red
    ! a-1 failed: gate failed after 3 runs: exit status 1
    0 of 1 story done
    ! a-1: Add the login - gate failed after 3 runs: exit status 1
        | 2 tests are red
    report: .git/piton/reports/prd.html
    run `prd` is blocked at a-1
    hint: see why, and what to type to go on, with `piton inbox`

    SHOW
      check `echo 2 tests are red; exit 1` failed: exit status 1
        | 2 tests are red

    INBOX
    d1  `a-1` failed: what now?  prd at a-1: Add the login
        gate failed after 3 runs: exit status 1
        considered:
        - not skip: nothing says that it was done already
        - not retry: no blocker like it is known to be resolved
        - not retry: nothing in the memory is about it
        - not retry: neither the network nor a limit of a service is at fault
        - not fix-state: nothing is wrong with the workspace that is known
        - not retry: it did not go in circles
        - not break-chunks: nothing says that it is too large
        - not skip: nothing says that it is not needed
        check `echo 2 tests are red; exit 1` failed: exit status 1
          | 2 tests are red
        piton decide d1 retry
        piton decide d1 answer --why '...'
        piton decide d1 skip

    JSON
    {"command":"echo 2 tests are red; exit 1","runs":3,"passed":false,"passed_before":false,"exit":1,"error":"exit status 1","took_s":0,"output":{"head":["2 tests are red"],"lines_left_out":0,"tail":[]}}
    "#);
}

#[test]
fn the_output_of_a_test_command_that_failed_is_read_everywhere() {
    let scratch = Scratch::new();
    let task = "---\ntask: Shop\ntest_command: echo 2 tests are red; exit 1\n---\n# T\n\n1. [ ] A-1: It is open\n";
    scratch
        .write("RALPH_TASK.md", task)
        .agent("echo done >>made; echo fine");
    let run = [
        "run",
        "RALPH_TASK.md",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    insta::assert_snapshot!(reads_of_check(&scratch, &run, "a-1"), @r#"
    ! check of a-1 failed: exit status 1
      echo 2 tests are red; exit 1
      | 2 tests are red
    ! a-1 failed: gate failed after 3 runs: exit status 1
    0 of 1 criterion done
    ! a-1: It is open - gate failed after 3 runs: exit status 1
        | 2 tests are red
    report: .git/piton/reports/RALPH_TASK.html
    run `RALPH_TASK` is blocked at a-1
    hint: see why, and what to type to go on, with `piton inbox`

    SHOW
      check `echo 2 tests are red; exit 1` failed: exit status 1
        | 2 tests are red

    INBOX
    d1  `a-1` failed: what now?  RALPH_TASK at a-1: It is open
        gate failed after 3 runs: exit status 1
        considered:
        - not skip: nothing says that it was done already
        - not retry: no blocker like it is known to be resolved
        - not retry: nothing in the memory is about it
        - not retry: neither the network nor a limit of a service is at fault
        - not fix-state: nothing is wrong with the workspace that is known
        - not retry: it did not go in circles
        - not break-chunks: nothing says that it is too large
        - not skip: nothing says that it is not needed
        check `echo 2 tests are red; exit 1` failed: exit status 1
          | 2 tests are red
        piton decide d1 retry
        piton decide d1 answer --why '...'
        piton decide d1 skip

    JSON
    {"command":"echo 2 tests are red; exit 1","runs":3,"passed":false,"passed_before":false,"exit":1,"error":"exit status 1","took_s":0,"output":{"head":["2 tests are red"],"lines_left_out":0,"tail":[]}}
    "#);
}

const LIST: &str = r#"{"userStories": [
  {"id": "a-1", "title": "Add the login", "description": "As a user", "acceptanceCriteria": ["it works", "it is fast"], "passes": false},
  {"id": "a-2", "title": "Add the logout", "description": "As a user", "acceptanceCriteria": [], "passes": false}]}"#;

/// Makes the first story, and fails at the second.
const MAKES_ONE: &str =
    "if [ -f made ]; then echo no disk; exit 1; fi\necho x >made; echo first; echo all is made";

const RUN_LIST: &[&str] = &[
    "run",
    "prd.json",
    "--agent",
    "./agent.sh",
    "--verdict",
    "exit-status",
];

/// A list of which the first story is done and the second failed.
fn half_done() -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write("prd.json", LIST).agent(MAKES_ONE);
    scratch.piton(RUN_LIST);
    scratch
}

#[test]
fn an_item_an_attempt_and_a_run_are_shown() {
    let scratch = half_done();
    let show = |name: &str| {
        let text = scratch.shows(&["show", name]);
        let lines = text.lines();
        // Ids are new in every run.
        let lines =
            lines.filter(|line| !line.starts_with("  name ") && !line.starts_with("  transcript "));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(show("a-1"), @r"
    done    a-1: Add the login 0s (1 file changed)
      state done in prd, at a-1
      summary all is made
      criterion it works
      criterion it is fast
      prompt
        **a-1**: Add the login

        As a user

        What must be true in the end:

        - it works
        - it is fast

    a-1#1 completed, worker by ./agent.sh
      worked 0s, 2026-01-15 09:00 UTC to 2026-01-15 09:00 UTC
      summary all is made
      changed 1 file, +1 -0 lines
      file made
      last words
        first
        all is made
    [exit 0]
    ");
    insta::assert_snapshot!(show("a-2#1"), @r"
    a-2#1 failed, worker by ./agent.sh
      worked 0s, 2026-01-15 09:00 UTC to 2026-01-15 09:00 UTC
      error no disk (exit status 1)
      process exit status 1
      changed 0 files, +0 -0 lines
      last words no disk
    [exit 0]
    ");
    insta::assert_snapshot!(show("prd"), @"
    prd  blocked
    done    a-1: Add the login 0s (1 file changed)
    failed  a-2: Add the logout < - tried again 2 times; no disk (exit status 1)

    1 of 2 stories done, 1 failed, 4 agents started
    Last activity: 0s ago
    Run `prd` is blocked at a-2
    Why: no disk (exit status 1)
    ? d1: `a-2` failed: what now?
    Next: piton inbox
    Plan: prd.json
    Started: 2026-01-15 09:00 UTC
    [exit 0]
    ");
    let id = scratch.json(&["show", "prd:a-1"])["attempts"][0]["id"].clone();
    let attempt = scratch.json(&["show", id.as_str().expect("an id")]);
    assert_eq!(
        (&attempt["kind"], &attempt["node"]),
        (&"attempt".into(), &"a-1".into())
    );
    assert!(
        attempt["transcript"]["path"]
            .as_str()
            .is_some_and(|path| scratch.has(path))
    );
}

#[test]
fn every_verb_describes_an_item_with_the_same_object() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write("prd.json", LIST).agent(MAKES_ONE);
    let run = [RUN_LIST, &["--json"]].concat();
    let events = scratch.piton(&run).out;
    let events = events.lines().rev();
    let mut events = events.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let last = events.find(|event| event["kind"] == "item-moved");
    let of_run = last.expect("the second story failed")["item"].clone();
    let of_status = scratch.json(&["status"])["run"]["nodes"][1].clone();
    assert_eq!(of_status["title"], "Add the logout");
    assert_eq!(scratch.json(&["next"])["runs"][0]["stuck"][0], of_status);
    assert_eq!(scratch.json(&["show", "a-2"])["item"], of_status);
    // The question is asked after the item moved.
    let asked = serde_json::json!("d1");
    let mut of_run = of_run;
    of_run["decision"] = asked;
    assert_eq!(of_run, of_status);
    // A dry run lists what can be started.
    assert_eq!(scratch.piton(&["plan", "retry", "a-2"]).exit, 0);
    assert_eq!(
        scratch.json(&[RUN_LIST, &["--dry-run"]].concat())["items"][0],
        scratch.json(&["status"])["run"]["nodes"][1]
    );
}

#[test]
fn an_unknown_name_is_an_error_that_names_what_there_is() {
    let scratch = half_done();
    insta::assert_snapshot!(scratch.shows(&["show", "nope"]), @r"
    error: there is no item, run or attempt `nope` [item.unknown]
    hint: see the nodes with `piton status prd`
    [exit 2]
    ");
    insta::assert_snapshot!(scratch.shows(&["show", "a-"]), @r"
    error: there is no item, run or attempt `a-` [item.unknown]
    hint: near to it: `a-1`, `a-2`; see the nodes with `piton status prd`
    [exit 2]
    ");
    insta::assert_snapshot!(scratch.shows(&["transcript", "prd"]), @r"
    error: `prd` is a run, and a run has no transcript of its own [attempt.unknown]
    hint: name one of its items: see them with `piton status prd --all`
    [exit 2]
    ");
    assert_eq!(scratch.piton(&["show", "a-1#9"]).exit, 2);
    assert_eq!(scratch.piton(&["transcript", "nope"]).exit, 2);
    assert_eq!(Scratch::new().piton(&["show", "nope"]).exit, 2);
}

#[test]
fn a_transcript_is_read_as_words_and_as_it_is() {
    let scratch = half_done();
    insta::assert_snapshot!(scratch.shows(&["transcript", "a-1"]), @r"
    first
    all is made
    [exit 0]
    ");
    assert_eq!(
        scratch.piton(&["transcript", "a-1", "--raw"]).out,
        "first\nall is made\n"
    );
}

#[test]
fn a_transcript_is_followed_until_the_attempt_is_over() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - {id: build, prompt: do it}\n")
        .agent("echo key ghp_0123456789abcdefghijABCDEFGHIJ012345; while [ ! -f go ]; do sleep 0.05; done; echo last words");
    let run = scratch.start_run(&[]);
    run.until_said("> build");
    let follower = Running::start(scratch.command(&["transcript", "build", "-f"]));
    scratch.until("the first line is there", || follower.out().contains("key"));
    let recent = scratch.json(&["recent", "1", "--item", "build"]);
    assert_eq!(recent["attempts"][0]["outcome"], "running");
    scratch.write("go", "");
    let said = follower.end();
    assert_eq!(said.out, "key [redacted:github-token]\nlast words\n");
    assert_eq!(said.exit, 0);
    assert_eq!(run.end().exit, 0);
}

#[test]
fn finished_items_fold_unless_each_is_asked_for() {
    let scratch = Scratch::new().with_fixed_clock();
    let stories = (1..=13).map(|n| {
        let passes = n < 13;
        format!(
            r#"{{"id": "a-{n}", "title": "Story {n}", "description": "x", "passes": {passes}}}"#
        )
    });
    let list = format!(
        r#"{{"userStories": [{}]}}"#,
        stories.collect::<Vec<_>>().join(", ")
    );
    scratch.write("prd.json", &list).agent("exit 1");
    let run = [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    scratch.piton(&run);
    let lines = |args: &[&str]| {
        let text = scratch.piton(args).out;
        text.lines().take(4).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(lines(&["status"]), @"
    prd  blocked
    12 done (each: --all)
    failed  a-13: Story 13 < - tried again 2 times; the agent ended with exit status 1 and printed nothing
    ");
    insta::assert_snapshot!(lines(&["status", "--all"]), @r"
    prd  blocked
    done    a-1: Story 1 (taken over from prd.json)
    done    a-2: Story 2 (taken over from prd.json)
    done    a-3: Story 3 (taken over from prd.json)
    ");
}

#[test]
fn failures_are_counted_by_the_signature_of_their_error() {
    let scratch = Scratch::new();
    for (item, error) in [
        ("a", "timeout after 3 s"),
        ("b", "timeout after 41 s"),
        ("c", "no key"),
    ] {
        let args = ["record", item, "--outcome", "failed", "--error", error];
        assert_eq!(scratch.piton(&args).exit, 0);
    }
    insta::assert_snapshot!(scratch.shows(&["status", "--failures"]), @r"
       2  timeout after 41 s  a, b
       1  no key              c
    in 3 failed or blocked attempts
    [exit 0]
    ");
    let failures = scratch.json(&["status", "--failures"]);
    let past = scratch.json(&["recent", "1", "--item", "a", "--observations"]);
    assert_eq!((&past["item"], &past["attempts"]), (&"a".into(), &1.into()));
    assert_eq!(
        failures["signatures"][0]["items"],
        serde_json::json!(["a", "b"])
    );
}

#[test]
fn times_are_local_with_their_zone_in_texts_and_utc_in_json() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.piton(&["record", "a", "--summary", "made"]);
    let mut command = scratch.command(&["recent"]);
    let said = command.env("TZ", "CET-1").output().expect("piton starts");
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(text.contains("2026-01-15 10:00 CET"), "{text}");
    let recent = scratch.json(&["recent"]);
    assert_eq!(recent["entries"][0]["timestamp"], "2026-01-15T09:00:00Z");
}
