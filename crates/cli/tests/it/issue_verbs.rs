//! `piton plan new --manifest`, and what people do with the issues of a run.

use piton_formats::format::{Grade, named};
use piton_formats::problem::Source;

use crate::harness::Scratch;

const MANIFEST: &str =
    "prd: https://example.org/orders\nrepos:\n  - {name: shop, path: ., team: Core}\n";

#[track_caller]
fn check_strictly(scratch: &Scratch, file: &str) {
    let text = scratch.read(file);
    let name = "state.json";
    let format = named("sdlc").expect("it is known");
    let problems = format.check(Source { name, text: &text }, Grade::Strict);
    assert!(problems.is_empty(), "{problems:#?}\n{text}");
}

#[test]
fn a_manifest_and_requirements_make_the_file_of_a_run() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write("manifest.yaml", MANIFEST);
    scratch.write(
        "docs/orders.md",
        "\n# Orders: list and filter\n\nThe latest first.\n",
    );
    let typed = [
        "plan",
        "new",
        "--manifest",
        "manifest.yaml",
        "--prd",
        "docs/orders.md",
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
      "prd_url": "docs/orders.md",
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
    assert!(scratch.read("told").contains("`docs/orders.md`"));
    check_strictly(&scratch, "state.json");
    // A second run of that day and topic has another name.
    let out = [&typed[..], &["--out", "next.json"]].concat();
    let made = scratch.json(&out);
    assert_eq!(made["run"], "2026-01-15-orders-list-and-filter-2");
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
    check(&two, &[], (1, "`api` (../api)"));
    check(&two, &[], (1, "runs over several repositories come later"));
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
