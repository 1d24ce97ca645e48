//! `piton next`, and `piton inbox ask`.

use crate::harness::Scratch;

/// `c` waits for `a`.
const LIST: &str = r#"{"features": [
  {"id": "a", "description": "do a", "steps": [], "passes": false},
  {"id": "b", "description": "do b", "steps": [], "passes": false},
  {"id": "c", "description": "do c", "steps": [], "passes": false, "may_depend_on": ["a"]}
]}
"#;

/// The list, with an agent that answers so for each item.
fn run(answer: &str) -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write("prd.json", LIST).agent(answer);
    let args = [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--stop-on-failure",
    ];
    scratch.piton(&args);
    scratch
}

#[test]
fn where_nothing_is_recorded_nothing_is_next() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(scratch.shows(&["next"]), @r"
    nothing is under way
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["next", "auth"]), @r"
    error: there is no run `auth` [run.unknown]
    hint: begin one with `piton run PLAN`
    [exit 2]
    ");
    assert!(!scratch.has(".piton"));
}

#[test]
fn what_is_ready_and_what_waits_for_it_is_told() {
    let scratch =
        run(r#"echo '{"status": "needs-human", "humanNeeded": {"reason": "which port?"}}'"#);
    insta::assert_snapshot!(scratch.shows(&["next"]), @r"
    prd  waiting
      run `prd` waits for a person at a
      ready    b (do b)
      waits    a (do a) for a person: which port? (`piton decide d1`)
      waits    c (do c) for a (waiting)
      Next: piton inbox
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["next", "prd.json", "--limit", "1"]), @r"
    prd  waiting
      run `prd` waits for a person at a
      ready    b (do b)
      waits    a (do a) for a person: which port? (`piton decide d1`)
      and 1 more
      Next: piton inbox
    [exit 0]
    ");
    let next = scratch.json(&["next"]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&next["runs"][0]["waiting"]).expect("JSON"), @r#"
    [
      {
        "run": "prd",
        "node": "a",
        "id": "a",
        "title": "do a",
        "depth": 1,
        "state": "waiting",
        "current": true,
        "attempts": 1,
        "retries": 0,
        "started_at": "2026-01-15T09:00:00Z",
        "work_s": 0,
        "waits": {
          "for": "person",
          "why": "which port?"
        },
        "decision": "d1"
      },
      {
        "run": "prd",
        "node": "c",
        "id": "c",
        "title": "do c",
        "depth": 1,
        "state": "pending",
        "current": false,
        "attempts": 0,
        "retries": 0,
        "work_s": 0,
        "waits": {
          "for": "dependency",
          "why": "a (waiting)"
        }
      }
    ]
    "#);
}

#[test]
fn what_is_stuck_is_told_with_why_and_what_waits_for_it() {
    let scratch = run(r#"echo '{"status": "blocked", "error": "no compiler here"}'; exit 1"#);
    insta::assert_snapshot!(scratch.shows(&["next"]), @r"
    prd  blocked
      run `prd` is blocked at a
      ready    b (do b)
      waits    c (do c) for a (blocked)
      stuck    a (do a) blocked: no compiler here (d1)
      Next: piton inbox
    [exit 0]
    ");
}

#[test]
fn a_breakpoint_is_something_that_waits_for_a_person() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - {id: build, prompt: do it, break: true}\n  - {id: release, prompt: ship it}\n")
        .agent(r#"echo '{"status": "completed"}'"#);
    assert_eq!(scratch.run(&[]).exit, 3);
    insta::assert_snapshot!(scratch.shows(&["next"]), @"
    2026-01-15_demo  waiting
      run `2026-01-15_demo` waits for a person at the breakpoint after build
      ready    release (ship it)
      waits    build (do it) was done: a person is to look at it (`piton decide d1`)
      Next: piton resume 2026-01-15_demo
    hint: 1 question in the inbox: see `piton inbox`
    [exit 0]
    ");
}

#[test]
fn a_question_by_the_way_is_asked_answered_and_told_to_the_next_agent() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch
        .write("prd.json", LIST)
        .agent("cat >> prompts.txt\nexit 1");
    scratch.piton(&[
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--stop-on-failure",
    ]);
    let ask = [
        "inbox",
        "ask",
        "tabs or blanks?",
        "--item",
        "b",
        "--details",
        "There are both.",
    ];
    insta::assert_snapshot!(scratch.shows(&ask), @r"
    asked as d2: tabs or blanks?
    hint: answer it with `piton decide d2 answer --why '...'`
    [exit 0]
    ");
    assert_eq!(
        scratch.json(&ask)["id"],
        scratch.json(&ask)["id"],
        "it is asked once"
    );
    let id = scratch.json(&ask)["id"].as_str().expect("an id").to_owned();
    insta::assert_snapshot!(scratch.shows(&["inbox"]), @"
    d1  `a` failed: what now?  prd at a: do a
        the agent ended with exit status 1 and printed nothing
        considered:
        - not skip: nothing says that it was done already
        - manual: it has failed 3 times in a row: a person should look at it
        piton decide d1 retry
        piton decide d1 answer --why '...'
        piton decide d1 skip
    d2  tabs or blanks?  prd at b: do b
        There are both.
        piton decide d2 answer --why '...'
        piton decide d2 skip
    [exit 0]
    ");
    let answer = ["decide", &id, "answer", "--why", "blanks, four of them"];
    insta::assert_snapshot!(scratch.shows(&answer), @r"
    tabs or blanks?: answered; it is remembered, and the next prompt of b tells it
    [exit 0]
    ");
    assert_eq!(scratch.piton(&["decide", "d1", "skip"]).exit, 0);
    scratch.piton(&[
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ]);
    let prompts = scratch.read("prompts.txt");
    assert!(
        prompts.contains("## A person says\n\n> tabs or blanks?\n> blanks, four of them"),
        "{prompts}"
    );
    let known = scratch.json_list(&["learn", "list", "--kind", "resolved-blocker"]);
    assert_eq!(known[0]["content"], "blanks, four of them", "{known}");
}

#[test]
fn a_question_that_nobody_need_answer_is_closed() {
    let scratch = Scratch::new();
    assert_eq!(scratch.piton(&["inbox", "ask", "who has the key?"]).exit, 0);
    insta::assert_snapshot!(scratch.shows(&["decide", "d1", "skip"]), @r"
    who has the key?: closed without an answer
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["decide", "d1", "answer", "--why", "ops"]), @r"
    error: decision 1 is decided already: skip [decision.decided]
    hint: see what is open with `piton inbox`
    [exit 1]
    ");
}

#[test]
fn what_is_no_question_is_refused() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(scratch.shows(&["inbox", "ask", " "]), @r"
    error: the question has no words [usage]
    hint: write `piton inbox ask 'WHAT YOU WANT TO KNOW'`
    [exit 2]
    ");
    insta::assert_snapshot!(scratch.shows(&["inbox", "ask", "a\nb"]), @r"
    error: the question has a line break or another control character [usage]
    hint: write the question in one line
    [exit 2]
    ");
    let long = "x".repeat(501);
    insta::assert_snapshot!(scratch.shows(&["inbox", "ask", &long]), @r"
    error: a question has at most 500 characters [usage]
    hint: ask shortly, and say the rest with `--details TEXT`
    [exit 2]
    ");
    assert!(!scratch.has(".piton"));
}

#[test]
fn who_works_on_what_and_where_is_told_while_it_lasts() {
    let agent = "touch \"$PITON_PROJECT/.git/began-$PITON_ITEM\"\n\
        until [ -e \"$PITON_PROJECT/.git/go\" ]; do sleep 0.05; done\n\
        echo x > $PITON_ITEM";
    let scratch = crate::lanes::project(agent, 2);
    let run = crate::lanes::arguments("2");
    let running = crate::harness::Running::start(scratch.command(&run));
    for item in ["US-001", "US-002"] {
        let began = format!(".git/began-{item}");
        scratch.until("the agent works", || scratch.has(&began));
    }
    let next = scratch.json(&["next"]);
    let working = next["runs"][0]["working"].as_array().expect("a list");
    let mut lanes: Vec<(&str, u64)> = Vec::new();
    for item in working {
        let at_work = &item["at_work"];
        assert_eq!(at_work["agent"], "./agent.sh", "{at_work}");
        assert_eq!(at_work["role"], "worker", "{at_work}");
        assert!(at_work["since"].is_string(), "{at_work}");
        let lane = at_work["lane"].as_u64().expect("it has one");
        lanes.push((item["id"].as_str().expect("an id"), lane));
    }
    assert_eq!(lanes, [("US-001", 1), ("US-002", 2)]);
    for (command, word) in [("next", "working  US-002"), ("status", "US-002")] {
        let said = scratch.piton(&[command]);
        let mut lines = said.out.lines();
        let line = lines.find(|line| line.contains(word)).expect("it is told");
        assert!(line.contains("./agent.sh in lane 2 for "), "{line}");
    }
    scratch.write(".git/go", "");
    assert_eq!(running.end().exit, 0);
    assert!(!scratch.piton(&["status"]).out.contains("in lane"));
}
