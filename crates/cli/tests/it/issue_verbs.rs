//! `piton plan new --manifest`, and what people do with the issues of a run.

use piton_formats::format::{Grade, format_named};
use piton_formats::problem::SourceText;

use crate::harness::Scratch;

const MANIFEST: &str =
    "prd: https://example.org/orders\nrepos:\n  - {name: shop, path: ., team: Core}\n";

#[track_caller]
fn check_strictly(scratch: &Scratch, file: &str) {
    let text = scratch.read(file);
    let name = "state.json";
    let format = format_named("sdlc").expect("it is known");
    let problems = format.check(SourceText { name, text: &text }, Grade::Strict);
    assert!(problems.is_empty(), "{problems:#?}\n{text}");
}

#[test]
fn a_manifest_and_requirements_make_the_file_of_a_run() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write("manifest.yaml", MANIFEST);
    scratch.write(
        "requirements/orders.md",
        "\n# Orders: list and filter\n\nThe latest first.\n",
    );
    let typed = [
        "plan",
        "new",
        "--manifest",
        "manifest.yaml",
        "--prd",
        "requirements/orders.md",
    ];
    insta::assert_snapshot!(scratch.shows(&typed), @r"
    wrote state.json: run `2026-01-15-orders-list-and-filter`
    hint: begin it with `piton run state.json`
    [exit 0]
    ");
    check_strictly(&scratch, "state.json");
    insta::assert_snapshot!(scratch.read("state.json"), @r#"
    {
      "run_id": "2026-01-15-orders-list-and-filter",
      "prd_url": "requirements/orders.md",
      "phase": "BOOTSTRAP",
      "phase_status": "in_progress",
      "bootstrap": {
        "languages": {},
        "docs_generated": {}
      },
      "artifacts": {
        "scoping_doc": null,
        "pert": null
      },
      "issues": {},
      "updated_at": "2026-01-15T09:00:00Z",
      "metrics": {
        "started_at": "2026-01-15T09:00:00Z",
        "phases": {},
        "agent_invocations": [],
        "totals": {
          "duration_s": 0,
          "agent_spawns": 0,
          "review_iterations": {
            "agent": 0,
            "human": 0
          },
          "issues_created": 0,
          "prs_created": 0,
          "prs_merged": 0
        }
      }
    }
    "#);
    // What is there is not written over.
    insta::assert_snapshot!(scratch.shows(&typed), @r"
    error: state.json is there already [file.exists]
    hint: work on it with `piton run state.json`, or name another file with `--out`
    [exit 1]
    ");
    // It runs as it is.
    scratch.agent("cat > told; mkdir -p artifacts; echo x > artifacts/scoping-doc.md; echo done");
    let run = [
        "run",
        "state.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let said = scratch.piton(&run);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert!(scratch.read("told").contains("`requirements/orders.md`"));
    check_strictly(&scratch, "state.json");
    // A second run of that day and topic has another name.
    let out = [&typed[..], &["--out", "next.json"]].concat();
    let made = scratch.json(&out);
    assert_eq!(made["run"], "2026-01-15-orders-list-and-filter-2");
}

#[test]
fn a_manifest_that_says_nothing_of_requirements_is_fine_where_the_command_does() {
    let scratch = Scratch::new();
    let without = MANIFEST.lines().filter(|line| !line.starts_with("prd:"));
    let without: Vec<&str> = without.collect();
    scratch.write("manifest.yaml", &without.join("\n"));
    let typed = ["plan", "new", "--manifest", "manifest.yaml"];
    let said = scratch.piton(&[&typed[..], &["--prd", "https://example.org/orders"]].concat());
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(!said.err.contains("warning"), "{}", said.err);
}

#[test]
fn requirements_are_an_address_of_the_manifest_or_seen_from_the_new_file() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write("manifest.yaml", MANIFEST);
    let of = |more: &[&str]| {
        let typed = ["plan", "new", "--manifest", "manifest.yaml"];
        let made = scratch.json(&[&typed[..], more].concat());
        (made["run"].clone(), made["requirements"].clone())
    };
    let own = of(&["--out", "1.json"]);
    assert_eq!(
        own,
        (
            "2026-01-15-orders".into(),
            "https://example.org/orders".into()
        )
    );
    let url = "https://notion.example/Big-Plan.html?v=1";
    let named = of(&["--out", "2.json", "--prd", url]);
    assert_eq!(named, ("2026-01-15-big-plan".into(), url.into()));
    let folder = MANIFEST.replace("path: .", "path: ..");
    scratch.write(".sdlc/manifest.yaml", &folder);
    scratch.write("prd.md", "no heading\n");
    let typed = [
        "plan",
        "new",
        "--manifest",
        ".sdlc/manifest.yaml",
        "--prd",
        "prd.md",
    ];
    let made = scratch.json(&typed);
    assert_eq!(made["file"], ".sdlc/state.json", "{made}");
    assert_eq!(made["requirements"], "../prd.md");
    assert_eq!(made["run"], "2026-01-15-prd");
    assert_eq!(made["next"], "piton run .sdlc/state.json");
    check_strictly(&scratch, ".sdlc/state.json");
}

#[test]
fn what_cannot_be_begun_is_refused_and_nothing_is_written() {
    let scratch = Scratch::new();
    let typed = ["plan", "new", "--manifest", "manifest.yaml"];
    let check = |manifest: &str, more: &[&str], (exit, part): (i32, &str)| {
        scratch.write("manifest.yaml", manifest);
        let said = scratch.piton(&[&typed[..], more].concat());
        assert_eq!(said.exit, exit, "{}", said.err);
        assert!(said.err.contains(part), "{}", said.err);
        assert!(!scratch.has("state.json"));
    };
    check(
        "repos: [{name: shop, path: .}]\n",
        &["--prd", "https://example.org"],
        (1, "manifest.yaml:1:"),
    );
    check(
        "repos: []\n",
        &["--prd", "https://example.org"],
        (1, "there are no repositories"),
    );
    let without = MANIFEST.replace("prd: https://example.org/orders\n", "");
    check(&without, &[], (2, "--prd URL"));
    check(
        MANIFEST,
        &["--prd", "none.md"],
        (2, "there is no file none.md"),
    );
    let two = format!("{MANIFEST}  - {{name: api, path: ../api, team: Core}}\n");
    check(
        &two,
        &[],
        (2, "`api` is not at ../api, where manifest.yaml"),
    );
    check(
        MANIFEST,
        &["--out", "nowhere/state.json"],
        (7, "nowhere/state.json"),
    );
    scratch.write("deep/x", "");
    check(
        MANIFEST,
        &["--out", "deep/state.json"],
        (2, "reads manifest.yaml beside deep/state.json"),
    );
    let said = scratch.piton(&["plan", "new"]);
    assert_eq!(said.exit, 2, "{}", said.err);
}

/// A run of three issues that is adopted and that nobody has begun.
fn adopted() -> Scratch {
    let issue = |id: &str, title: &str, status: &str, on: &str| {
        format!(
            r#""{id}": {{"repo": "shop", "title": "{title}", "status": "{status}", "pr": null, "pr_number": null, "blocked_by": [{on}], "review_iterations": 0, "human_iterations": 0}}"#
        )
    };
    let issues = [
        issue("S-1", "Store", "ready", ""),
        issue("S-2", "Serve", "blocked", "\"S-1\""),
        issue("S-3", "Show", "ready", ""),
    ];
    let text = format!(
        r#"{{
  "run_id": "2026-01-15-orders",
  "prd_url": "https://example.org/orders",
  "phase": "EXECUTING",
  "phase_status": "in_progress",
  "bootstrap": {{"languages": {{}}, "docs_generated": {{}}}},
  "artifacts": {{"scoping_doc": null, "pert": null}},
  "issues": {{
    {}
  }},
  "updated_at": "2026-01-15T11:00:00Z",
  "metrics": {{
    "started_at": "2026-01-15T10:00:00Z",
    "phases": {{}},
    "agent_invocations": [],
    "totals": {{"duration_s": 0, "agent_spawns": 0, "review_iterations": {{"agent": 0, "human": 0}}, "issues_created": 3, "prs_created": 0, "prs_merged": 0}}
  }}
}}
"#,
        issues.join(",\n    ")
    );
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write("state.json", &text);
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    scratch
}

/// Says something of an issue; the file shows it, and is strictly valid.
#[track_caller]
fn say(scratch: &Scratch, args: &[&str], status: &str) {
    let said = scratch.piton(&[&["issue"], args].concat());
    assert_eq!(said.exit, 0, "{args:?}: {}", said.err);
    check_strictly(scratch, "state.json");
    assert_eq!(value_of(scratch, args[1], "status"), status, "{args:?}");
}

#[track_caller]
fn refuse(scratch: &Scratch, args: &[&str], exit: i32, part: &str) {
    let before = scratch.read("state.json");
    let said = scratch.piton(&[&["issue"], args].concat());
    assert_eq!(said.exit, exit, "{args:?}: {}", said.err);
    assert!(said.err.contains(part), "{args:?}: {}", said.err);
    assert!(said.err.contains("hint: "), "{args:?}: {}", said.err);
    assert_eq!(scratch.read("state.json"), before, "{args:?}");
}

#[track_caller]
fn value_of(scratch: &Scratch, issue: &str, key: &str) -> serde_json::Value {
    let state: serde_json::Value = serde_json::from_str(&scratch.read("state.json")).expect("JSON");
    state["issues"][issue][key].clone()
}

#[test]
fn case_49_an_issue_goes_through_its_life_by_the_words_of_people() {
    let scratch = adopted();
    say(&scratch, &["start", "S-1"], "implementing");
    refuse(&scratch, &["start", "S-1"], 1, "piton plan retry S-1");
    say(
        &scratch,
        &["review", "S-1", "--pr", "ada/shop#7"],
        "reviewing",
    );
    assert_eq!(value_of(&scratch, "S-1", "pr"), "ada/shop#7");
    assert_eq!(value_of(&scratch, "S-1", "pr_number"), 7);
    refuse(&scratch, &["fail", "S-1"], 1, "is in review");
    // Changes are wanted, and made.
    say(&scratch, &["start", "S-1"], "implementing");
    assert_eq!(value_of(&scratch, "S-1", "review_iterations"), 1);
    say(&scratch, &["review", "S-1"], "reviewing");
    refuse(&scratch, &["done", "S-2"], 1, "piton issue unblock S-2");
    say(&scratch, &["done", "S-1"], "done");
    assert_eq!(value_of(&scratch, "S-2", "status"), "ready");
    let evidence = scratch.json(&["show", "S-1"])["item"]["evidence"].to_string();
    assert!(evidence.contains("piton issue done"), "{evidence}");
    refuse(&scratch, &["start", "S-1"], 1, "piton plan retry S-1");
    // What somebody took goes back to piton.
    say(&scratch, &["start", "S-2"], "implementing");
    let said = scratch.piton(&["plan", "retry", "S-2"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(value_of(&scratch, "S-2", "status"), "ready");
}

#[test]
fn case_49_a_failed_issue_names_what_is_stuck_behind_it_and_a_person_lets_it_go_on() {
    let scratch = adopted();
    refuse(&scratch, &["fail", "S-1"], 1, "was not begun");
    say(&scratch, &["start", "S-1"], "implementing");
    say(
        &scratch,
        &["fail", "S-1", "--why", "the API is gone"],
        "failed",
    );
    let open = scratch.json_list(&["inbox"]);
    assert_eq!(open[0]["kind"], "blocked-node", "{open}");
    let shown = scratch.shows(&["issue", "show", "S-2"]);
    assert!(shown.contains("waits for  S-1 (failed)"), "{shown}");
    refuse(&scratch, &["start", "S-1"], 1, "piton plan retry S-1");
    say(&scratch, &["unblock", "S-2"], "ready");
    assert_eq!(
        value_of(&scratch, "S-2", "blocked_by"),
        serde_json::json!([])
    );
    // Failed by a person, and blocked by another one.
    say(&scratch, &["block", "S-1", "--on", "S-3"], "blocked");
    say(&scratch, &["done", "S-3"], "done");
    assert_eq!(value_of(&scratch, "S-1", "status"), "ready");
}

#[test]
fn case_51_no_issue_comes_to_wait_for_itself_or_for_what_is_not_there() {
    let scratch = adopted();
    refuse(
        &scratch,
        &["block", "S-1", "--on", "S-2"],
        2,
        "wait for each other",
    );
    refuse(
        &scratch,
        &["block", "S-1", "--on", "S-1"],
        2,
        "wait for each other",
    );
    refuse(
        &scratch,
        &["block", "S-1", "--on", "S-9"],
        2,
        "no issue `S-9`",
    );
    refuse(&scratch, &["block", "S-2", "--on", "S-1"], 2, "already");
    refuse(
        &scratch,
        &["unblock", "S-2", "--on", "S-3"],
        2,
        "does not wait for",
    );
    refuse(&scratch, &["unblock", "S-1"], 1, "waits for no other issue");
    say(&scratch, &["block", "S-3", "--on", "S-2"], "blocked");
    refuse(
        &scratch,
        &["add", "S-1", "Again"],
        2,
        "an issue `S-1` already",
    );
    refuse(
        &scratch,
        &["add", "S-4", "New", "--on", "S-9"],
        2,
        "no issue `S-9`",
    );
    refuse(
        &scratch,
        &["add", "S-4", "New", "--repo", "api"],
        2,
        "--repo shop",
    );
    refuse(&scratch, &["add", "DESIGN", "New"], 2, "name of a phase");
    refuse(&scratch, &["review", "S-9"], 2, "S-9");
    say(
        &scratch,
        &["add", "S-4", "New", "--blocked-by", "S-1"],
        "blocked",
    );
    say(
        &scratch,
        &["add", "S-5", "Newer", "--repo", "shop"],
        "ready",
    );
    say(&scratch, &["done", "S-1"], "done");
    assert_eq!(value_of(&scratch, "S-4", "status"), "ready");
    let ids = |args: &[&str]| {
        let list = scratch.json(&[&["issue"], args].concat());
        let issues = list["issues"].as_array().cloned().unwrap_or_default();
        let ids = issues
            .iter()
            .filter_map(|one| one["id"].as_str().map(str::to_owned));
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids(&["ready"]), "S-2 S-4 S-5");
    assert_eq!(ids(&["list", "--status", "blocked"]), "S-3");
    assert_eq!(ids(&["list", "--repo", "api"]), "");
}

#[test]
fn a_runner_leaves_what_somebody_has_in_hand_and_its_own_is_nobody_elses() {
    let scratch = adopted();
    say(&scratch, &["start", "S-1"], "implementing");
    scratch.agent("cat > /dev/null; if [ $PITON_ROLE = quality-reviewer ]; then echo '{\"verdict\": \"APPROVE\"}'; exit; fi; touch began; until [ -e go ]; do sleep 0.05; done; echo $PITON_ITEM >> made; echo done");
    let run = [
        "run",
        "state.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let running = crate::harness::Running::start(scratch.command(&run));
    scratch.until("the agent works", || scratch.has("began"));
    let said = scratch.piton(&["issue", "done", "S-3"]);
    assert_eq!(said.exit, 4, "{}", said.err);
    assert!(
        said.err.contains("`S-3` is being worked on by "),
        "{}",
        said.err
    );
    assert!(said.err.contains("piton transcript S-3 -f"), "{}", said.err);
    // The file is the runner's to write, and it shows what is said meanwhile.
    let said = scratch.piton(&["issue", "review", "S-1"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch.write("go", "");
    let said = running.end();
    assert_eq!(said.exit, 3, "{}", said.err);
    assert_eq!(scratch.read("made"), "S-3\n");
    assert_eq!(value_of(&scratch, "S-1", "status"), "reviewing");
    check_strictly(&scratch, "state.json");
    say(&scratch, &["done", "S-1"], "done");
    let said = scratch.piton(&run);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("made"), "S-3\nS-2\n");
}
