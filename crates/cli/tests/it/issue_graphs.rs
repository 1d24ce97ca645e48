//! Graphs of issues, worked through from a `state.json` on.

use std::collections::BTreeSet;

use piton_formats::format::{Grade, format_named};
use piton_formats::problem::SourceText;

use crate::harness::{Said, Scratch};

const ISSUES: &str = r#"
    "S-1": {"repo": "shop", "title": "Store", "status": "ready", "pr": null, "pr_number": null, "blocked_by": [], "review_iterations": 0, "human_iterations": 0},
    "S-2": {"repo": "shop", "title": "Serve", "status": "blocked", "pr": null, "pr_number": null, "blocked_by": ["S-1"], "review_iterations": 0, "human_iterations": 0}
  "#;

/// The file of a run, strictly valid.
fn state(phase: &str, status: &str, issues: &str) -> String {
    let count = issues.matches("\"repo\"").count();
    let prs = issues.matches("\"pr_number\": 4").count();
    format!(
        r#"{{
  "run_id": "2026-01-15-orders",
  "prd_url": "https://example.org/orders",
  "phase": "{phase}",
  "phase_status": "{status}",
  "bootstrap": {{"languages": {{}}, "docs_generated": {{}}}},
  "artifacts": {{"scoping_doc": null, "pert": null}},
  "issues": {{{issues}}},
  "updated_at": "2026-01-15T11:00:00Z",
  "metrics": {{
    "started_at": "2026-01-15T10:00:00Z",
    "phases": {{}},
    "agent_invocations": [],
    "totals": {{"duration_s": 0, "agent_spawns": 0, "review_iterations": {{"agent": 0, "human": 0}}, "issues_created": {count}, "prs_created": {prs}, "prs_merged": 0}}
  }}
}}
"#
    )
}

const TASKS: &str = r#"{"tasks": [
  {"id": "shop#1", "repo": "shop", "team": "", "title": "Store", "description": "Keep it.", "blocked_by": [], "size": "S"},
  {"id": "shop#2", "repo": "shop", "team": "", "title": "Serve", "blocked_by": ["shop#1"], "size": "M"}
]}"#;

/// A reviewer that is content with everything.
const CONTENT: &str = r#"if [ $PITON_ROLE = quality-reviewer ]; then
    cat > /dev/null
    echo '{"verdict": "APPROVE", "summary": "good", "observations": []}'
    exit 0
fi
"#;

/// Writes what is asked for, and notes what it was told.
const AGENT: &str = r#"name=$(echo "$PITON_ITEM" | tr '#' '-')
cat > "prompt-$name"
mkdir -p artifacts
case $PITON_ITEM in
DESIGN) echo scope >> artifacts/scoping-doc.md ;;
PLANNING) cp tasks.json artifacts/pert-tasks.json ;;
*) echo "$PITON_ITEM" >> made ;;
esac"#;

fn shop(text: &str) -> Scratch {
    let scratch = Scratch::new();
    let agent = format!("{CONTENT}{AGENT}\necho done");
    scratch.agent(&agent).write("tasks.json", TASKS);
    scratch.write("go.mod", "").write("state.json", text);
    scratch
}

const RUN: &[&str] = &[
    "run",
    "state.json",
    "--agent",
    "./agent.sh",
    "--verdict",
    "exit-status",
];

fn run(scratch: &Scratch) -> Said {
    scratch.piton(RUN)
}

#[track_caller]
fn check_strictly(scratch: &Scratch) {
    let text = scratch.read("state.json");
    let name = "state.json";
    let format = format_named("sdlc").expect("it is known");
    let problems = format.check(SourceText { name, text: &text }, Grade::Strict);
    assert!(problems.is_empty(), "{problems:#?}\n{text}");
}

/// The phase that the file says, and how far it is.
#[track_caller]
fn phase(scratch: &Scratch) -> String {
    let state: serde_json::Value = serde_json::from_str(&scratch.read("state.json")).expect("JSON");
    let word = |key: &str| state[key].as_str().unwrap_or_default().to_owned();
    format!("{} {}", word("phase"), word("phase_status"))
}

#[track_caller]
fn status(scratch: &Scratch, issue: &str) -> String {
    let state: serde_json::Value = serde_json::from_str(&scratch.read("state.json")).expect("JSON");
    let status = state["issues"][issue]["status"].as_str();
    status.unwrap_or_default().to_owned()
}

#[track_caller]
fn decide(scratch: &Scratch, args: &[&str]) {
    let said = scratch.piton(&[&["decide"], args].concat());
    assert_eq!(said.exit, 0, "{}", said.err);
    check_strictly(scratch);
}

#[test]
fn a_run_goes_from_the_first_phase_to_its_end_with_both_gates_and_a_rejection() {
    let scratch = shop(&state("BOOTSTRAP", "in_progress", "")).with_fixed_clock();
    check_strictly(&scratch);
    let said = run(&scratch);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    check_strictly(&scratch);
    assert_eq!(phase(&scratch), "DESIGN awaiting_approval");
    assert!(scratch.read("state.json").contains(": \"go\""));
    insta::assert_snapshot!(scratch.shows(&["inbox"]), @r"
    d1  `DESIGN` waits for an approval  2026-01-15-orders at DESIGN: design the work
        done
        look at artifacts/scoping-doc.md
        piton decide d1 approve
        piton decide d1 reject --why '...'
        piton decide d1 skip
    [exit 0]
    ");
    decide(
        &scratch,
        &["d1", "reject", "--why", "one service is enough"],
    );
    assert_eq!(phase(&scratch), "DESIGN in_progress");
    assert_eq!(run(&scratch).exit, 3);
    let told = scratch.read("prompt-DESIGN");
    assert!(told.contains("> one service is enough"), "{told}");
    decide(&scratch, &["d2", "approve"]);
    assert_eq!(phase(&scratch), "PLANNING in_progress");
    assert_eq!(run(&scratch).exit, 3);
    assert_eq!(phase(&scratch), "PLANNING awaiting_approval");
    assert!(
        !scratch.read("state.json").contains("shop#1"),
        "nothing is made before"
    );
    decide(&scratch, &["d3", "approve"]);
    assert_eq!(phase(&scratch), "TRACKING in_progress");
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}", said.err);
    check_strictly(&scratch);
    assert_eq!(phase(&scratch), "COMPLETED completed");
    assert_eq!(scratch.read("made"), "shop#1\nshop#2\n");
    let told = scratch.read("prompt-shop-1");
    assert!(
        told.contains("Store\n\nKeep it.\n\nYou implement one issue"),
        "{told}"
    );
    let shown = scratch.json(&["show", "DESIGN"]);
    let evidence = shown["item"]["evidence"].to_string();
    assert!(evidence.contains("piton decide"), "{shown}");
}

#[test]
fn a_death_in_each_phase_leaves_a_valid_file_and_the_run_goes_on() {
    let scratch = shop(&state("BOOTSTRAP", "in_progress", ""));
    let mut died_in = BTreeSet::new();
    // Behind each gate at each commit, one after another, and twice at each: once in what
    // was settled of the death before.
    let mut commits = 2;
    for round in 0..100 {
        let mut command = scratch.command(RUN);
        command.env("PITON_FAILPOINT", format!("commit.durable:{commits}"));
        let said = Said::of(&command.output().expect("piton starts"));
        check_strictly(&scratch);
        commits += round % 2;
        if said.exit == -1 {
            // The file may not say yet what was stored last.
            assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
            check_strictly(&scratch);
            died_in.insert(phase(&scratch).split(' ').next().map(str::to_owned));
        }
        let open = scratch.json_list(&["inbox"]);
        for asked in open.as_array().expect("a list") {
            let id = asked["id"].as_str().expect("an id");
            assert_eq!(asked["kind"], "approval", "{asked}");
            decide(&scratch, &[id, "approve"]);
            commits = 2;
        }
        if phase(&scratch) == "COMPLETED completed" {
            break;
        }
    }
    assert_eq!(phase(&scratch), "COMPLETED completed");
    let phases = ["BOOTSTRAP", "DESIGN", "EXECUTING", "PLANNING", "TRACKING"];
    let died_in: Vec<String> = died_in.into_iter().flatten().collect();
    let is_hit = |phase: &&str| died_in.iter().any(|died| died == phase);
    assert!(phases.iter().all(is_hit), "{died_in:?}");
    let list = scratch.json(&["issue", "list"]);
    let ids: Vec<&str> = list["issues"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|issue| issue["id"].as_str())
        .collect();
    assert_eq!(ids, ["shop#1", "shop#2"], "each is made once");
}

#[test]
fn a_file_that_waits_for_an_approval_asks_for_it_before_any_agent() {
    let scratch = shop(&state("DESIGN", "awaiting_approval", ""));
    let said = run(&scratch);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert!(!scratch.has("prompt-DESIGN"), "{}", said.err);
    assert_eq!(scratch.json_list(&["inbox"])[0]["kind"], "approval");
    // As the command of the original moves it on.
    let text = scratch.read("state.json");
    let moved = text
        .replace("\"phase\": \"DESIGN\"", "\"phase\": \"PLANNING\"")
        .replace("awaiting_approval", "in_progress");
    scratch.write("state.json", &moved);
    assert_eq!(run(&scratch).exit, 3);
    assert_eq!(phase(&scratch), "PLANNING awaiting_approval");
    assert!(scratch.has("prompt-PLANNING") && !scratch.has("prompt-DESIGN"));
    check_strictly(&scratch);
    let wrong = scratch.read("state.json");
    scratch.write(
        "state.json",
        &wrong.replace("\"PLANNING\"", "\"EXECUTING\""),
    );
    let said = scratch.piton(&["files", "sync"]);
    assert!(
        said.err.contains("`phase` was changed to EXECUTING"),
        "{}",
        said.err
    );
    assert_eq!(phase(&scratch), "PLANNING awaiting_approval");
}

#[test]
fn tasks_that_a_person_mends_are_those_that_become_issues() {
    let scratch = shop(&state("PLANNING", "in_progress", ""));
    let broken = TASKS.replace("[\"shop#1\"]", "[\"shop#3\"]");
    scratch.write("tasks.json", &broken);
    assert_eq!(run(&scratch).exit, 1);
    assert_eq!(phase(&scratch), "PLANNING awaiting_human");
    scratch.write("artifacts/pert-tasks.json", TASKS);
    let text = scratch.read("state.json");
    let text = text.replace("\"awaiting_human\"", "\"completed\"");
    scratch.write("state.json", &text);
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(phase(&scratch), "COMPLETED completed");
    assert_eq!(scratch.read("made"), "shop#1\nshop#2\n");
    assert_eq!(scratch.read("artifacts/pert-tasks.json"), TASKS);
    check_strictly(&scratch);
}

#[test]
fn tasks_that_cannot_be_worked_with_go_back_to_the_agent_with_their_places() {
    let scratch = shop(&state("PLANNING", "in_progress", ""));
    let broken = TASKS.replace("[\"shop#1\"]", "[\"shop#3\"]");
    scratch.write("broken.json", &broken);
    let agent = AGENT.replace(
        "cp tasks.json",
        "cp prompt-PLANNING told; cp $(ls broken.json 2>/dev/null || echo tasks.json)",
    );
    scratch.agent(&format!("{CONTENT}{agent}\nrm -f broken.json\necho done"));
    let said = run(&scratch);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert_eq!(phase(&scratch), "PLANNING awaiting_approval");
    let told = scratch.read("told");
    let place = ": `shop#2` waits for `shop#3`, which is not there";
    assert!(told.contains(place), "{told}");
}

/// What stands in a repository that nobody finds is not worked on elsewhere.
#[test]
fn a_repository_that_is_not_there_is_refused_and_named() {
    let manifest = |path: &str| format!("repos:\n  - {{name: shop, path: {path}, team: Core}}\n");
    let scratch = shop(&state("EXECUTING", "in_progress", ISSUES));
    let text = scratch.read("state.json");
    let refused = |why: &str| {
        let said = run(&scratch);
        assert_eq!(said.exit, 2, "{}", said.err);
        assert!(said.err.contains(why), "{why}: {}", said.err);
        assert!(said.err.contains("[plan.repository]"), "{}", said.err);
    };
    scratch.write("manifest.yaml", &manifest("/srv/shop"));
    refused("`shop` is not at /srv/shop, where manifest.yaml says that it is");
    scratch.write("manifest.yaml", &manifest("/"));
    refused("`shop` at / is in no git repository with a work tree");
    scratch.write("manifest.yaml", &manifest(".").replace("shop,", "store,"));
    refused("`shop` has a part in state.json, and no file says where it is");
    std::fs::remove_file(scratch.path().join("manifest.yaml")).expect("it is there");
    scratch.write("state.json", &text.replacen("\"shop\"", "\"store\"", 1));
    refused("`shop` has a part in state.json, and no file says where it is");
    assert!(!scratch.has(".piton") && !scratch.has("made"));
    // What is done there is nobody's work any more.
    let done = text.replacen("\"ready\"", "\"done\"", 1);
    scratch.write("state.json", &done.replacen("\"shop\"", "\"store\"", 1));
    scratch.write("manifest.yaml", &manifest("."));
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("made"), "S-2\n");
}

/// As real files are: keys and values that the format does not have, wrong totals, an
/// issue that another tool's agent had in review.
const DEVIATING: &str = r#"{
  "run_id": "2026-01-15-home", "prd_url": "file:///home/ada/home.prd.md",
  "phase": "EXECUTING", "phase_status": "in_progress",
  "bootstrap": {"languages": {"app": "typescript"}, "docs_generated": {"app": "docs/add-claude-md#81646ab"}},
  "artifacts": {"scoping_doc": "artifacts/scoping-doc.md", "pert": "artifacts/pert.md"},
  "issues": {
    "IGN-1": {"repo": "app", "title": "Rows", "status": "done", "pr": "ada/app#2", "pr_number": 2, "branch": "feature/rows", "blocked_by": [], "review_iterations": 1, "human_iterations": 0},
    "IGN-4": {"repo": "app", "title": "Screen", "status": "reviewing", "pr": "ada/app#4", "pr_number": 4, "branch": "feature/screen", "blocked_by": [], "review_iterations": 0, "human_iterations": 0},
    "IGN-5": {"repo": "app", "title": "Wiring", "status": "blocked", "pr": null, "pr_number": null, "blocked_by": ["IGN-4"], "review_iterations": 0, "human_iterations": 0}
  },
  "updated_at": "2026-01-15T01:09:00Z",
  "metrics": {"started_at": "2026-01-15T12:00:00Z", "phases": {"EXECUTING": {"started_at": "2026-01-15T12:16:00Z", "ended_at": null, "duration_s": null}},
    "agent_invocations": [], "totals": {"duration_s": 2400, "agent_spawns": 8, "review_iterations": {"agent": 2, "human": 0}, "issues_created": 5, "prs_created": 3, "prs_merged": 3}}
}"#;

#[test]
fn case_47_a_file_that_deviates_is_worked_on_with_one_note_of_what_deviates() {
    let scratch = shop(DEVIATING);
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}", said.err);
    let notes = said.err.matches("deviates from its format").count();
    assert_eq!(notes, 1, "{}", said.err);
    assert!(
        said.err.contains("the key `branch` is not known"),
        "{}",
        said.err
    );
    assert_eq!(scratch.read("made"), "IGN-4\nIGN-5\n");
    assert_eq!(phase(&scratch), "COMPLETED completed");
    let text = scratch.read("state.json");
    assert!(text.contains("\"branch\": \"feature/screen\""), "{text}");
    assert!(
        text.contains("\"started_at\": \"2026-01-15T12:16:00Z\", \"ended_at\": \"2"),
        "{text}"
    );
}

/// What the original resumes with for each state in which it leaves a run, without
/// pull requests: what the file says of phase and issue, what happens, and how the
/// file stands then.
#[test]
fn case_50_a_run_resumes_from_each_state_in_which_another_tool_left_it() {
    struct Row {
        at: (&'static str, &'static str),
        /// The status of the first issue; none without issues.
        issue: Option<&'static str>,
        exit: i32,
        /// Which item an agent was started for first.
        first: Option<&'static str>,
        then: &'static str,
    }
    let row = |at, issue, exit, first, then| Row {
        at,
        issue,
        exit,
        first,
        then,
    };
    let rows = [
        row(
            ("DESIGN", "in_progress"),
            None,
            3,
            Some("DESIGN"),
            "DESIGN awaiting_approval",
        ),
        row(
            ("DESIGN", "awaiting_approval"),
            None,
            3,
            None,
            "DESIGN awaiting_approval",
        ),
        row(
            ("DESIGN", "awaiting_human"),
            None,
            3,
            None,
            "DESIGN awaiting_human",
        ),
        row(
            ("PLANNING", "in_progress"),
            None,
            3,
            Some("PLANNING"),
            "PLANNING awaiting_approval",
        ),
        row(
            ("PLANNING", "awaiting_approval"),
            None,
            3,
            None,
            "PLANNING awaiting_approval",
        ),
        // The tasks were approved, and none of them is an issue yet; or one is.
        row(
            ("TRACKING", "in_progress"),
            None,
            0,
            Some("shop#1"),
            "COMPLETED completed",
        ),
        row(
            ("TRACKING", "in_progress"),
            Some("ready"),
            0,
            Some("S-1"),
            "COMPLETED completed",
        ),
        row(
            ("EXECUTING", "in_progress"),
            Some("ready"),
            0,
            Some("S-1"),
            "COMPLETED completed",
        ),
        row(
            ("EXECUTING", "in_progress"),
            Some("implementing"),
            0,
            Some("S-1"),
            "COMPLETED completed",
        ),
        row(
            ("EXECUTING", "in_progress"),
            Some("reviewing"),
            0,
            Some("S-1"),
            "COMPLETED completed",
        ),
        row(
            ("EXECUTING", "in_progress"),
            Some("done"),
            0,
            Some("S-2"),
            "COMPLETED completed",
        ),
        // What was left to a person is asked about, and nothing is worked on.
        row(
            ("EXECUTING", "in_progress"),
            Some("awaiting_human"),
            3,
            None,
            "EXECUTING in_progress",
        ),
        row(
            ("EXECUTING", "awaiting_human"),
            Some("awaiting_human"),
            3,
            None,
            "EXECUTING awaiting_human",
        ),
        row(
            ("EXECUTING", "in_progress"),
            Some("failed"),
            1,
            None,
            "EXECUTING in_progress",
        ),
    ];
    for Row {
        at: (at, how),
        issue,
        exit,
        first,
        then,
    } in rows
    {
        let issues = issue.map_or_else(String::new, |status| {
            let issues = ISSUES.replacen("\"ready\"", &format!("\"{status}\""), 1);
            match status {
                "done" => issues.replacen("\"blocked\"", "\"ready\"", 1),
                _ => issues,
            }
        });
        let scratch = shop(&state(at, how, &issues));
        if at == "TRACKING" {
            scratch.write("artifacts/pert-tasks.json", TASKS);
        }
        check_strictly(&scratch);
        let said = run(&scratch);
        let case = format!("{at} {how} {issue:?}: {}", said.err);
        assert_eq!(said.exit, exit, "{case}");
        assert_eq!(phase(&scratch), then, "{case}");
        check_strictly(&scratch);
        let prompts = ["DESIGN", "PLANNING", "shop#1", "S-1", "S-2"];
        let is_started = |name: &&&str| scratch.has(&format!("prompt-{}", name.replace('#', "-")));
        let begun = prompts.iter().find(is_started);
        assert_eq!(begun.copied(), first, "{case}");
        let asked = scratch.json_list(&["inbox"]).as_array().map_or(0, Vec::len);
        assert_eq!(asked, usize::from(exit != 0), "{case}");
    }
}

#[test]
fn case_49_what_waits_for_a_failed_issue_is_told_and_goes_on_when_a_person_lets_it() {
    let scratch = shop(&state("EXECUTING", "in_progress", ISSUES));
    let agent = "if [ $PITON_ITEM = S-1 ] && ! [ -e fixed ]; then exit 1; fi\ntouch made-$PITON_ITEM\necho done";
    scratch.agent(&format!("{CONTENT}{agent}"));
    let said = run(&scratch);
    assert_eq!(said.exit, 1, "{}", said.err);
    check_strictly(&scratch);
    assert_eq!(
        (
            status(&scratch, "S-1").as_str(),
            status(&scratch, "S-2").as_str()
        ),
        ("failed", "blocked")
    );
    assert_eq!(phase(&scratch), "EXECUTING awaiting_human");
    assert!(said.err.contains("held up by S-1"), "{}", said.err);
    scratch.write("fixed", "");
    decide(&scratch, &["d1", "retry"]);
    assert_eq!(phase(&scratch), "EXECUTING in_progress");
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(phase(&scratch), "COMPLETED completed");
}

/// What is worked on in lanes is not in the work tree, where a person would look for it.
#[test]
fn what_is_to_be_approved_is_shown_where_it_lies() {
    let scratch = shop(&state("BOOTSTRAP", "in_progress", ""));
    scratch.git(&["init", "--quiet"]);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "start"]);
    let said = scratch.piton(&[RUN, &["--workers", "2"]].concat());
    assert_eq!(said.exit, 3, "{}", said.err);
    assert!(!scratch.has("artifacts/scoping-doc.md"));
    let asked = scratch.json_list(&["inbox"]);
    assert_eq!(asked[0]["artifact"], "artifacts/scoping-doc.md");
    let see = asked[0]["see"].as_str().expect("a command");
    let words: Vec<&str> = see.split(' ').collect();
    assert_eq!(words[0], "git", "{see}");
    assert_eq!(scratch.git(&words[1..]).trim(), "scope");
}

#[test]
fn nobody_approves_a_file_that_is_not_there() {
    let scratch = shop(&state("BOOTSTRAP", "in_progress", ""));
    assert_eq!(run(&scratch).exit, 3);
    let text = scratch.read("artifacts/scoping-doc.md");
    std::fs::remove_file(scratch.path().join("artifacts/scoping-doc.md")).expect("it was there");
    let said = scratch.piton(&["decide", "d1", "approve"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    let told = "artifacts/scoping-doc.md, which is to be approved of `DESIGN`, is not there";
    assert!(said.err.contains(told), "{}", said.err);
    assert_eq!(scratch.json_list(&["inbox"])[0]["id"], "d1");
    scratch.write("artifacts/scoping-doc.md", &text);
    decide(&scratch, &["d1", "approve"]);
}

/// The file of a run need not lie at the root of the work tree, where agents are, and may
/// say where its documents lie.
#[test]
fn agents_are_told_paths_from_where_they_are() {
    let text = state("DESIGN", "in_progress", "")
        .replace("https://example.org/orders", "orders.md")
        .replace(
            "\"scoping_doc\": null",
            "\"scoping_doc\": \"design/scope.md\"",
        );
    let scratch = shop("");
    let agent = r#"cat > "prompt-$PITON_ITEM"
mkdir -p .sdlc/design && echo scope > .sdlc/design/scope.md
echo done"#;
    scratch.agent(agent).write(".sdlc/state.json", &text);
    let run = RUN.iter().map(|word| match *word {
        "state.json" => ".sdlc/state.json",
        word => word,
    });
    let run: Vec<&str> = run.collect();
    let said = scratch.piton(&run);
    assert_eq!(said.exit, 3, "{}", said.err);
    let told = scratch.read("prompt-DESIGN");
    assert!(told.contains("`.sdlc/orders.md`"), "{told}");
    assert!(told.contains("`.sdlc/design/scope.md`"), "{told}");
    let asked = scratch.json_list(&["inbox"]);
    assert_eq!(asked[0]["artifact"], ".sdlc/design/scope.md");
}

/// A document of an earlier run, or one that a person rejected, is nothing that this
/// attempt made.
#[test]
fn what_stood_there_before_is_not_what_an_agent_wrote() {
    let scratch = shop(&state("DESIGN", "in_progress", ""));
    scratch.write("artifacts/scoping-doc.md", "scope\n");
    scratch.agent("cat > /dev/null; echo x >> tries; [ -e lazy ] || echo new >> artifacts/scoping-doc.md; echo done");
    scratch.write("lazy", "");
    let said = run(&scratch);
    assert_eq!(said.exit, 1, "{}", said.err);
    let why = "artifacts/scoping-doc.md was not written: it stands there as it did before";
    assert!(said.err.contains(why), "{}", said.err);
    std::fs::remove_file(scratch.path().join("lazy")).expect("removed");
    decide(&scratch, &["d1", "retry"]);
    assert_eq!(run(&scratch).exit, 3);
    assert_eq!(phase(&scratch), "DESIGN awaiting_approval");
}

/// Another tool was killed while it made the issues: one is there, and does not say yet
/// for which it waits.
#[test]
fn issues_that_were_made_in_part_wait_for_what_their_tasks_wait_for() {
    let half = r#"
    "shop#2": {"repo": "shop", "title": "Serve", "status": "ready", "pr": null, "pr_number": null, "blocked_by": [], "review_iterations": 0, "human_iterations": 0}
  "#;
    let scratch = shop(&state("TRACKING", "in_progress", half));
    scratch.write("artifacts/pert-tasks.json", TASKS);
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("made"), "shop#1\nshop#2\n");
    check_strictly(&scratch);
    let state: serde_json::Value = serde_json::from_str(&scratch.read("state.json")).expect("JSON");
    assert_eq!(state["issues"]["shop#2"]["blocked_by"][0], "shop#1");
    assert_eq!(phase(&scratch), "COMPLETED completed");
}

/// Who has a phase done again wants what was made of it again: its tasks become issues.
#[test]
fn what_was_made_of_a_phase_is_made_again_with_it() {
    let scratch = shop(&state("PLANNING", "in_progress", ""));
    assert_eq!(run(&scratch).exit, 3);
    decide(&scratch, &["d1", "approve"]);
    assert_eq!(run(&scratch).exit, 0);
    assert_eq!(phase(&scratch), "COMPLETED completed");
    let more = r#", {"id": "shop#3", "repo": "shop", "title": "Sell", "blocked_by": ["shop#2"]}
]}"#;
    scratch.write("tasks.json", &TASKS.replace("\n]}", more));
    let said = scratch.piton(&["plan", "retry", "PLANNING"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let told = "done again after it: `TRACKING`";
    assert!(said.err.contains(told), "{}", said.err);
    assert_eq!(phase(&scratch), "PLANNING in_progress");
    assert_eq!(run(&scratch).exit, 3);
    decide(&scratch, &["d2", "approve"]);
    assert_eq!(run(&scratch).exit, 0);
    assert_eq!(scratch.read("made"), "shop#1\nshop#2\nshop#3\n");
    check_strictly(&scratch);
}

/// What was left out made nothing: tasks that nobody approved become no issues.
#[test]
fn tasks_that_were_left_out_become_no_issues() {
    let scratch = shop(&state("PLANNING", "in_progress", ""));
    assert_eq!(run(&scratch).exit, 3);
    decide(&scratch, &["d1", "skip"]);
    let said = run(&scratch);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert!(said.err.contains("`PLANNING` was left out"), "{}", said.err);
    assert!(!scratch.read("state.json").contains("shop#1"));
    assert_eq!(phase(&scratch), "TRACKING awaiting_human");
    let said = scratch.piton(&["plan", "retry", "PLANNING"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(run(&scratch).exit, 3);
    assert_eq!(phase(&scratch), "PLANNING awaiting_approval");
    decide(&scratch, &["d3", "approve"]);
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}{}", said.err, scratch.shows(&["inbox"]));
    assert_eq!(scratch.read("made"), "shop#1\nshop#2\n");
}

/// The next project of a person begins in the file of the one that is done.
#[test]
fn a_run_with_another_id_is_another_run() {
    let scratch = shop(&state("EXECUTING", "in_progress", ISSUES));
    assert_eq!(run(&scratch).exit, 0);
    let next = state("BOOTSTRAP", "in_progress", "").replace("01-15-orders", "02-01-bills");
    scratch.write("state.json", &next);
    let said = run(&scratch);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert_eq!(phase(&scratch), "DESIGN awaiting_approval");
    check_strictly(&scratch);
    let asked = scratch.json_list(&["inbox"]);
    assert_eq!(asked[0]["run"], "2026-02-01-bills", "{asked}");
}

/// The invocations of the file: who, for which issue, and its tokens.
fn invocations(text: &str) -> Vec<(String, Option<String>, u64, u64)> {
    let state: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let list = state["metrics"]["agent_invocations"].as_array();
    let list = list.expect("a list").iter().map(|one| {
        let text = |key: &str| one[key].as_str().map(str::to_owned);
        let tokens = |key: &str| one["tokens"][key].as_u64().expect("a number");
        (
            text("agent").expect("a name"),
            text("issue"),
            tokens("input"),
            tokens("output"),
        )
    });
    list.collect()
}

/// What agents took stands in the file as the journal has it, once each, also after a
/// death and where another tool wrote some of it before.
#[test]
fn the_metrics_are_those_of_the_journal() {
    let before = r#""agent_invocations": [{"agent": "doc-generator", "model": "sonnet", "repo": "shop", "issue": null, "started_at": "2026-01-15T10:00:00Z", "duration_s": 5, "tokens": {"input": 1, "output": 2}}]"#;
    let text = state("PLANNING", "in_progress", "")
        .replace("\"agent_invocations\": []", before)
        .replace("\"agent_spawns\": 0", "\"agent_spawns\": 1");
    let scratch = shop(&text);
    check_strictly(&scratch);
    let tokens = r#"echo '{"status": "completed", "summary": "done", "usage": {"input_tokens": 30, "output_tokens": 7}}'"#;
    scratch.agent(&format!("{CONTENT}{AGENT}\n{tokens}"));
    let run = || scratch.piton(&["run", "state.json", "--agent", "./agent.sh"]);
    assert_eq!(run().exit, 3);
    decide(&scratch, &["d1", "approve"]);
    let said = run();
    assert_eq!(said.exit, 0, "{}", said.err);
    check_strictly(&scratch);
    let shown = invocations(&scratch.read("state.json"));
    let of = |agent: &str, issue: Option<&str>, input, output| {
        (agent.to_owned(), issue.map(str::to_owned), input, output)
    };
    assert_eq!(
        shown,
        [
            of("doc-generator", None, 1, 2),
            of("task-decomposer", None, 30, 7),
            of("coder", Some("shop#1"), 30, 7),
            of("quality-reviewer", Some("shop#1"), 0, 0),
            of("coder", Some("shop#2"), 30, 7),
            of("quality-reviewer", Some("shop#2"), 0, 0),
        ]
    );
    let list = scratch.read("metrics.jsonl");
    let agents = list.lines().map(|line| {
        let one: serde_json::Value = serde_json::from_str(line).expect("a record a line");
        one["agent_type"].as_str().expect("a name").to_owned()
    });
    let agents: Vec<String> = agents.collect();
    let expected = [
        "task-decomposer",
        "coder",
        "quality-reviewer",
        "coder",
        "quality-reviewer",
    ];
    assert_eq!(agents, expected);
    // Nothing is added twice, and the list is nobody's change.
    scratch.piton(&["files", "sync"]);
    assert_eq!(run().exit, 0);
    assert_eq!(invocations(&scratch.read("state.json")), shown);
    assert_eq!(scratch.read("metrics.jsonl"), list);
}

#[test]
fn a_graph_is_found_without_its_name_and_a_broken_one_is_told_as_what_it_is() {
    let scratch = shop(&state("EXECUTING", "in_progress", ISSUES));
    let bare = || scratch.piton(&["run", "--agent", "./agent.sh", "--verdict", "exit-status"]);
    let said = bare();
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(phase(&scratch), "COMPLETED completed");
    let scratch = shop("{\"run_id\": ");
    let said = run(&scratch);
    assert_eq!(said.exit, 6, "{}", said.err);
    assert!(said.err.contains("STATE_PARSE_ERROR"), "{}", said.err);
    // The state of another tool is no plan, and keeps nobody from one.
    let scratch = shop("{\"open\": true}");
    let said = scratch.piton(&["run"]);
    assert!(said.err.contains("there is no plan here"), "{}", said.err);
}

const ISSUE: &str = r#"
    "S-1": {"repo": "shop", "title": "Store", "status": "ready", "pr": null, "pr_number": null, "blocked_by": [], "review_iterations": 0, "human_iterations": 0}
  "#;

/// A project in git with one issue, whose agents note outside of it what they are told.
fn reviewed(reviewer: &str) -> Scratch {
    let scratch = shop(&state("EXECUTING", "in_progress", ISSUE));
    let agent = format!(
        r#"mkdir -p "$PITON_PROJECT/.git/told"
told="$PITON_PROJECT/.git/told/$(ls "$PITON_PROJECT/.git/told" | wc -l)-$PITON_ROLE"
cat > "$told"
if [ $PITON_ROLE = quality-reviewer ]; then
    grep -q '"status": "reviewing"' "$PITON_PROJECT/state.json" || echo 'not shown' >> "$told"
{reviewer}
    exit 0
fi
echo "$PITON_ROLE" >> made
echo done"#
    );
    scratch.agent(&agent);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
    scratch
}

/// Which agents were started, in their order.
fn started(scratch: &Scratch) -> Vec<String> {
    let folder = scratch.path().join(".git/told");
    let files = std::fs::read_dir(folder).expect("agents were told something");
    let names = files.map(|file| file.expect("a file").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort_by_key(|name| name.split('-').next().and_then(|n| n.parse::<u32>().ok()));
    names
}

#[track_caller]
fn iterations(scratch: &Scratch) -> (u64, u64) {
    let state: serde_json::Value = serde_json::from_str(&scratch.read("state.json")).expect("JSON");
    let number = |key: &str| state["issues"]["S-1"][key].as_u64().expect("a number");
    (number("review_iterations"), number("human_iterations"))
}

const WANTS: &str = r#"echo '{"verdict": "REQUEST_CHANGES", "observations": [{"file": "made", "line": 1, "severity": "error", "message": "no bound"}]}'"#;

#[test]
fn what_a_reviewer_wants_goes_back_and_counts_when_it_approves() {
    let once = format!(
        "if [ -e \"$PITON_PROJECT/.git/seen\" ]; then echo 'good\n{{\"verdict\": \"APPROVE\"}}'; else touch \"$PITON_PROJECT/.git/seen\"; {WANTS}; fi"
    );
    let scratch = reviewed(&once);
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let names = started(&scratch);
    assert_eq!(
        names,
        [
            "0-coder",
            "1-quality-reviewer",
            "2-coder",
            "3-quality-reviewer"
        ],
        "{}",
        said.err
    );
    for line in [
        "(./agent.sh) wants changes of S-1",
        "(./agent.sh) approves S-1",
    ] {
        assert!(said.err.contains(line), "{line}: {}", said.err);
    }
    let told = |name: &str| scratch.read(&format!(".git/told/{name}"));
    for name in ["1-quality-reviewer", "3-quality-reviewer"] {
        let told = told(name);
        assert!(told.contains("`git diff "), "{told}");
        assert!(told.contains("    Store"), "{told}");
        assert!(!told.contains("not shown"), "{told}");
    }
    assert!(told("2-coder").contains("> - [error] made:1: no bound"));
    assert!(told("3-quality-reviewer").contains("made:1: no bound"));
    assert_eq!(status(&scratch, "S-1"), "done");
    assert_eq!(iterations(&scratch), (1, 0));
    check_strictly(&scratch);
    // What piton counted is not counted again.
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    assert_eq!(iterations(&scratch), (1, 0));
}

#[test]
fn a_person_decides_after_three_rounds() {
    let scratch = reviewed(WANTS);
    let said = run(&scratch);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    assert_eq!(started(&scratch).len(), 8, "{:?}", started(&scratch));
    assert_eq!(status(&scratch, "S-1"), "awaiting_human");
    assert_eq!(iterations(&scratch), (4, 0));
    let asked = scratch.json_list(&["inbox"]);
    assert_eq!(asked[0]["kind"], "agent-review", "{asked}");
    assert_eq!(asked[0]["see"], "git status -vv", "{asked}");
    decide(&scratch, &["d1", "reject", "--why", "bound it"]);
    assert_eq!(iterations(&scratch), (4, 1));
    assert_eq!(run(&scratch).exit, 3);
    let told = scratch.read(".git/told/8-coder");
    assert!(told.contains("> bound it"), "{told}");
    decide(&scratch, &["d2", "approve"]);
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert_eq!(status(&scratch, "S-1"), "done");
}

#[test]
fn a_person_decides_where_a_reviewer_gives_no_verdict_twice_or_changes_files() {
    let change = "echo more >> made; echo '{\"verdict\": \"APPROVE\"}'";
    for (reviewer, why) in [("echo fine", "no JSON object"), (change, "changed `made`")] {
        let scratch = reviewed(reviewer);
        let said = run(&scratch);
        assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
        let names = started(&scratch);
        assert_eq!(
            names,
            ["0-coder", "1-quality-reviewer", "2-quality-reviewer"]
        );
        let told = scratch.read(".git/told/2-quality-reviewer");
        assert!(told.contains(why), "{told}");
        let asked = scratch.json_list(&["inbox"]);
        assert_eq!(asked[0]["kind"], "agent-review", "{asked}");
        assert_eq!(iterations(&scratch), (0, 0));
    }
}

#[test]
fn a_runner_that_dies_over_a_review_has_it_done_again() {
    let scratch = reviewed("echo '{\"verdict\": \"APPROVE\"}'");
    let mut deaths = 0;
    // Twice at each commit: once in what was settled of the death before.
    for commits in (2..60).flat_map(|commits| [commits, commits]) {
        let mut command = scratch.command(RUN);
        command.env("PITON_FAILPOINT", format!("commit.durable:{commits}"));
        let said = Said::of(&command.output().expect("piton starts"));
        deaths += u32::from(said.exit == -1);
        if said.exit == 0 {
            break;
        }
    }
    assert!(deaths > 3, "{deaths}");
    assert_eq!(status(&scratch, "S-1"), "done");
    let item = scratch.json(&["show", "S-1"]);
    assert!(item.to_string().contains("the reviewer ("), "{item}");
}

/// A verdict that nobody was there to read is none: whoever goes on asks anew, in place
/// and in a lane.
#[test]
fn a_runner_that_is_killed_while_a_reviewer_works_asks_another_one() {
    for more in [&[] as &[&str], &["--workers", "2"]] {
        let wait = r#"touch "$PITON_PROJECT/.git/began"
    until [ -e "$PITON_PROJECT/.git/go" ]; do sleep 0.05; done
    echo '{"verdict": "APPROVE"}'"#;
        let scratch = reviewed(wait);
        let args = [RUN, more].concat();
        let running = crate::harness::Running::start(scratch.command(&args));
        scratch.until("a reviewer works", || scratch.has(".git/began"));
        running.kill();
        scratch.write(".git/go", "");
        assert_ne!(status(&scratch, "S-1"), "done");
        check_strictly(&scratch);
        let said = scratch.piton(&args);
        assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
        let names = started(&scratch);
        assert_eq!(
            names.last().map(|name| &name[2..]),
            Some("quality-reviewer")
        );
        assert!(names.len() >= 3, "{names:?}");
        let shown = scratch.json(&["show", "S-1"]);
        let attempts = shown["attempts"].as_array().expect("a list").iter();
        let ended: Vec<&str> = attempts
            .filter(|attempt| attempt["role"] == "reviewer")
            .filter_map(|attempt| attempt["outcome"].as_str())
            .collect();
        assert_eq!(ended, ["interrupted", "completed"], "{shown}");
        assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
    }
}

#[test]
fn in_a_lane_nothing_is_merged_that_was_not_approved() {
    let scratch = reviewed(WANTS);
    let args = [RUN, &["--workers", "2"]].concat();
    let said = scratch.piton(&args);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    let branch = "piton/2026-01-15-orders";
    let on_branch = |scratch: &Scratch| scratch.git(&["ls-tree", "--name-only", branch]);
    assert!(!on_branch(&scratch).contains("made"));
    let asked = scratch.json_list(&["inbox"]);
    let diff = asked[0]["review"]["diff"].as_str().expect("how to see it");
    let words: Vec<&str> = diff.split(' ').skip(1).collect();
    let shown = scratch.git(&words);
    assert!(shown.contains("+coder"), "{diff}: {shown}");
    decide(&scratch, &["d1", "approve"]);
    let said = scratch.piton(&args);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert!(on_branch(&scratch).contains("made"));
    let told = scratch.read(".git/told/7-quality-reviewer");
    assert!(told.contains("`git diff "), "{told}");
}

#[test]
fn a_mark_is_committed_with_the_work_that_an_agent_commits() {
    let scratch = reviewed(r#"echo '{"verdict": "APPROVE"}'"#);
    let agent = scratch.read("agent.sh");
    let commits = agent.replace(
        "echo \"$PITON_ROLE\" >> made",
        "echo \"$PITON_ROLE\" >> made; git add made; git commit -qm made -- made",
    );
    scratch.agent(&commits);
    scratch.git(&[
        "commit",
        "--quiet",
        "--all",
        "--message",
        "an agent that commits",
    ]);
    let said = run(&scratch);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert!(!said.err.contains("other changes"), "{}", said.err);
    let committed = scratch.git(&["show", "HEAD:state.json"]);
    assert_eq!(committed, scratch.read("state.json"));
    assert!(
        committed.contains("\"phase\": \"COMPLETED\""),
        "{committed}"
    );
}

#[test]
fn an_issue_that_is_left_out_once_it_was_begun_is_left_to_people() {
    let scratch = reviewed("echo neither");
    let said = run(&scratch);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    assert_eq!(status(&scratch, "S-1"), "awaiting_human");
    decide(&scratch, &["d1", "skip"]);
    assert_eq!(run(&scratch).exit, 0);
    assert_eq!(status(&scratch, "S-1"), "awaiting_human");
    assert_eq!(phase(&scratch), "COMPLETED completed");
    check_strictly(&scratch);
    assert_eq!(
        scratch.json_list(&["inbox"]).as_array().map(Vec::len),
        Some(0)
    );
}

/// The words of a project stand in the place of those of piton, with what the file of
/// the run says in their holes.
#[test]
fn a_project_has_words_and_models_of_its_own_for_each_role() {
    let phases = state("DESIGN", "in_progress", "");
    let agent = r#"cat > "told-$PITON_ROLE"
mkdir -p artifacts
case $PITON_ROLE in
solution-designer) echo scope > artifacts/scoping-doc.md ;;
task-decomposer) cp tasks.json artifacts/pert-tasks.json ;;
quality-reviewer) echo '{"verdict": "APPROVE"}' ;;
*) echo "$PITON_ITEM" >> made ;;
esac"#;
    let scratch = shop(&phases);
    scratch
        .agent(agent)
        .write("tasks.json", TASKS)
        .write(
            "prompts/design.md",
            "Draw {requirements} in {scoping_doc}.\n",
        )
        .write("prompts/coder.md", "Write it in the way of {design}.\n")
        .write("prompts/reviewer.md", "Be strict about {unknown}.\n")
        .write(
            ".piton/config.toml",
            "[roles.solution-designer]\nprompt = \"prompts/design.md\"\n\
             [roles.coder]\nprompt = \"prompts/coder.md\"\nmodel = \"haiku\"\n\
             [roles.quality-reviewer]\nprompt = \"prompts/reviewer.md\"\n",
        );
    assert_eq!(run(&scratch).exit, 3);
    let told = scratch.read("told-solution-designer");
    assert!(
        told.contains(
            "## Your task\n\nDraw `https://example.org/orders` in artifacts/scoping-doc.md.\n"
        ),
        "{told}"
    );
    decide(&scratch, &["d1", "approve"]);
    assert_eq!(run(&scratch).exit, 3);
    let told = scratch.read("told-task-decomposer");
    assert!(
        told.contains("Cut the work that the scoping document"),
        "{told}"
    );
    decide(&scratch, &["d2", "approve"]);
    let said = run(&scratch);
    let told = scratch.read("told-coder");
    assert!(
        told.contains("\nWrite it in the way of `artifacts/scoping-doc.md`.\n"),
        "{told}{}",
        said.err
    );
    assert!(
        !told.contains("You implement one issue of several"),
        "{told}"
    );
    let told = scratch.read("told-quality-reviewer");
    assert!(told.contains("\nBe strict about {unknown}.\n"), "{told}");
    let state: serde_json::Value = serde_json::from_str(&scratch.read("state.json")).expect("JSON");
    let invocations = state["metrics"]["agent_invocations"]
        .as_array()
        .expect("a list");
    let of = |agent: &str| {
        invocations
            .iter()
            .find(|one| one["agent"] == agent)
            .expect("it worked")
    };
    assert_eq!(of("coder")["model"], "haiku");
    assert_ne!(of("quality-reviewer")["model"], "haiku");
    // What is not there is told before anything begins.
    let scratch = shop(&phases);
    scratch.write(
        ".piton/config.toml",
        "[roles.coder]\nprompt = \"prompts/coder.md\"\n",
    );
    let said = run(&scratch);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(
        said.err.contains("roles.coder.prompt") && said.err.contains("prompts/coder.md"),
        "{}",
        said.err
    );
    assert_eq!(scratch.read("state.json"), phases);
}

/// Piton's own phases have no commit by which a branch could be known to have them: what
/// stands in the file that its owner commits says that they are over.
#[test]
fn a_finished_file_that_is_committed_stays_finished() {
    let scratch = shop(&state("BOOTSTRAP", "in_progress", ""));
    scratch.write(".gitignore", ".piton/\nmetrics.jsonl\nstate.json\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
    let agent = scratch.path().join("agent.sh");
    let agent = agent.to_str().expect("UTF-8");
    let flags = [
        "--agent",
        agent,
        "--verdict",
        "exit-status",
        "--workers",
        "2",
    ];
    let args = [&["run", "state.json"], &flags[..]].concat();
    for (decision, exit) in [("d1", 3), ("d2", 3), ("", 0)] {
        let said = scratch.piton(&args);
        assert_eq!(said.exit, exit, "{}{}", said.out, said.err);
        if !decision.is_empty() {
            decide(&scratch, &[decision, "approve"]);
        }
    }
    assert_eq!(phase(&scratch), "COMPLETED completed");
    scratch.write(".gitignore", ".piton/\nmetrics.jsonl\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "the finished run"]);
    let finished = scratch.read("state.json");
    for args in [&["run", "state.json"][..], &["files", "sync"]] {
        let said = scratch.piton(args);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.read("state.json"), finished, "{args:?}");
    }
}

#[test]
fn an_attempt_that_is_recorded_is_in_the_metrics_at_once() {
    let scratch = shop(&state("EXECUTING", "in_progress", ISSUES));
    let once = [RUN, &["--once"]].concat();
    assert_eq!(scratch.piton(&once).exit, 5);
    let before = invocations(&scratch.read("state.json")).len();
    let args = ["record", "S-2", "--agent", "ada", "--summary", "half of it"];
    let said = scratch.piton(&[&args[..], &["--outcome", "partial"]].concat());
    assert_eq!(said.exit, 0, "{}", said.err);
    check_strictly(&scratch);
    let shown = invocations(&scratch.read("state.json"));
    assert_eq!(shown.len(), before + 1, "{shown:?}");
    let last = shown.last().and_then(|(_, issue, _, _)| issue.clone());
    assert_eq!(last.as_deref(), Some("S-2"));
    let list = scratch.read("metrics.jsonl");
    assert_eq!(list.lines().count(), before + 1, "{list}");
}
