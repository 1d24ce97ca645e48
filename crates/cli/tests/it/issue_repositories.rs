//! Graphs of issues that are worked on in several repositories.

use std::cell::RefCell;
use std::collections::BTreeSet;

use piton_formats::format::{Grade, format_named};
use piton_formats::problem::SourceText;

use crate::harness::{Running, Said, Scratch};

const RUN: &[&str] = &["run", "state.json"];
const BRANCH: &str = "piton/2026-01-15-orders";

/// An issue of the file.
fn issue(id: &str, repo: &str, on: &[&str]) -> String {
    let status = if on.is_empty() { "ready" } else { "blocked" };
    format!(
        r#""{id}": {{"repo": "{repo}", "title": "Part {id}", "status": "{status}", "pr": null, "pr_number": null, "blocked_by": {on:?}, "review_iterations": 0, "human_iterations": 0}}"#
    )
}

/// The file of a run, strictly valid.
pub(crate) fn state(phase: &str, issues: &[String]) -> String {
    let (count, issues) = (issues.len(), issues.join(",\n    "));
    format!(
        r#"{{
  "run_id": "2026-01-15-orders",
  "prd_url": "https://example.org/orders",
  "phase": "{phase}",
  "phase_status": "in_progress",
  "bootstrap": {{"languages": {{}}, "docs_generated": {{}}}},
  "artifacts": {{"scoping_doc": null, "pert": null}},
  "issues": {{
    {issues}
  }},
  "updated_at": "2026-01-15T11:00:00Z",
  "metrics": {{
    "started_at": "2026-01-15T10:00:00Z",
    "phases": {{}},
    "agent_invocations": [],
    "totals": {{"duration_s": 0, "agent_spawns": 0, "review_iterations": {{"agent": 0, "human": 0}}, "issues_created": {count}, "prs_created": 0, "prs_merged": 0}}
  }}
}}
"#
    )
}

/// Two issues in each of two repositories, which wait across.
pub(crate) fn across() -> Vec<String> {
    vec![
        issue("S-1", "shop", &[]),
        issue("W-1", "web", &["S-1"]),
        issue("W-2", "web", &[]),
        issue("S-2", "shop", &["W-1"]),
    ]
}

fn commit(scratch: &Scratch) {
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
}

/// `$AT` is where the tests keep what agents are told, and find what they wait for.
const AGENT: &str = r#"AT="$PITON_PROJECT/.git/at"; mkdir -p "$AT"
cat > "$AT/prompt-$PITON_ROLE-$(echo $PITON_ITEM | tr '#' '-')"
echo "$PITON_ROLE $PITON_ITEM $PITON_REPOSITORY $(cat README)" >> "$AT/calls"
if [ -e "$AT/wait-$PITON_ITEM" ]; then
    touch "$AT/began"; until [ -e "$AT/go" ]; do sleep 0.05; done
fi
if [ -e "$AT/fail-$PITON_ITEM" ]; then exit 1; fi
if [ $PITON_ROLE = quality-reviewer ]; then
    if [ -e "$AT/wants-$PITON_ITEM" ]; then
        echo '{"verdict": "REQUEST_CHANGES", "observations": [{"message": "no bound"}]}'
    else
        echo '{"verdict": "APPROVE"}'
    fi
    exit 0
fi
case $PITON_ITEM in
DESIGN) mkdir -p artifacts; echo scope >> artifacts/scoping-doc.md ;;
PLANNING) mkdir -p artifacts; cp tasks.json artifacts/pert-tasks.json ;;
*) mkdir -p made; echo "$PITON_ITEM" >> "made/$PITON_ITEM"
    # A reviewer who died is asked again until the words have come here.
    if grep -q "no bound" "$AT/prompt-$PITON_ROLE-$(echo $PITON_ITEM | tr '#' '-')"; then
        rm -f "$AT/wants-$PITON_ITEM"
    fi
    # What piton writes in its own repository is an agent's work in another one.
    if [ $PITON_REPOSITORY = web ]; then echo "by an agent" > state.json; fi ;;
esac
echo done"#;

/// A project with the file of a run, and another repository beside it.
pub(crate) fn two(text: &str) -> (Scratch, Scratch) {
    let (shop, web) = (Scratch::new(), Scratch::new());
    for (scratch, name) in [(&shop, "shop"), (&web, "web")] {
        scratch.git(&["checkout", "-qB", "main"]);
        scratch
            .write("README", name)
            .write(".gitignore", ".piton/\nmetrics.jsonl\n");
    }
    let path = web.path();
    let path = path.display();
    let manifest = format!(
        "prd: orders.md\nrepos:\n  - {{name: shop, path: ., team: Core}}\n  - {{name: web, path: {path}, team: Core}}\n"
    );
    shop.agent(AGENT)
        .write("manifest.yaml", &manifest)
        .write("state.json", text);
    commit(&shop);
    commit(&web);
    (shop, web)
}

fn run(scratch: &Scratch, more: &[&str]) -> Said {
    let flags = ["--agent", "./agent.sh", "--verdict", "exit-status"];
    // No lane of another repository has the script.
    let agent = scratch.path().join("agent.sh");
    let agent = agent.to_str().expect("UTF-8");
    let flags = flags.map(|word| if word == "./agent.sh" { agent } else { word });
    scratch.piton(&[RUN, &flags, more].concat())
}

/// The same, beside the test.
fn start(scratch: &Scratch) -> Running {
    let agent = scratch.path().join("agent.sh");
    let agent = agent.to_str().expect("UTF-8");
    let args = [RUN, &["--agent", agent, "--verdict", "exit-status"]].concat();
    Running::start(scratch.command(&args))
}

/// Git does not track the file of the run, so that it shows each step.
fn untrack(scratch: &Scratch) {
    scratch.git(&["rm", "--quiet", "--cached", "state.json"]);
    scratch.write(".gitignore", ".piton/\nmetrics.jsonl\nstate.json\n");
    commit(scratch);
}

#[track_caller]
fn check_strictly(scratch: &Scratch) {
    let text = scratch.read("state.json");
    let name = "state.json";
    let format = format_named("sdlc").expect("it is known");
    let problems = format.check(SourceText { name, text: &text }, Grade::Strict);
    assert!(problems.is_empty(), "{problems:#?}\n{text}");
}

fn word(scratch: &Scratch, key: &str) -> String {
    let state: serde_json::Value = serde_json::from_str(&scratch.read("state.json")).expect("JSON");
    state
        .pointer(key)
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The branch of the run in another repository, which has its id as well.
pub(crate) fn branch_in(web: &Scratch) -> String {
    let named = web.git(&["branch", "--list", "--format=%(refname:short)", "piton/*"]);
    let mut branches = named.lines().map(str::to_owned);
    let branch = branches.find(|branch| branch.starts_with(BRANCH));
    branch.expect("there is one")
}

/// The issues of which a branch has the work.
fn made(scratch: &Scratch, branch: &str) -> String {
    let files = scratch.git(&["ls-tree", "--name-only", branch, "made/"]);
    let names = files.lines().map(|file| file.trim_start_matches("made/"));
    names.collect::<Vec<&str>>().join(" ")
}

fn calls(scratch: &Scratch) -> Vec<String> {
    let text = scratch.read(".git/at/calls");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn each_issue_is_worked_on_and_merged_in_its_repository() {
    for workers in ["1", "3"] {
        let (shop, web) = two(&state("EXECUTING", &across()));
        let said = run(&shop, &["--workers", workers]);
        assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
        assert!(!said.err.contains("edits of state.json"), "{}", said.err);
        check_strictly(&shop);
        assert_eq!(word(&shop, "/phase"), "COMPLETED");
        assert_eq!(made(&shop, BRANCH), "S-1 S-2");
        assert_eq!(made(&web, &branch_in(&web)), "W-1 W-2");
        // Both have landed, in the work trees as well.
        assert_eq!(
            (made(&shop, "main").as_str(), made(&web, "main").as_str()),
            ("S-1 S-2", "W-1 W-2")
        );
        assert!(
            said.err.contains("landed: main in web is at "),
            "{}",
            said.err
        );
        for scratch in [&shop, &web] {
            assert_eq!(scratch.git(&["status", "--porcelain"]), "");
        }
        assert!(!web.has(".piton"));
        assert!(web.read("state.json").starts_with("by an agent"));
        let calls = calls(&shop);
        assert_eq!(calls.len(), 8, "{calls:?}");
        for call in &calls {
            let name = if call.contains(" S-") {
                "shop shop"
            } else {
                "web web"
            };
            assert!(call.ends_with(name), "{call}");
        }
        let at = |call: &str| {
            calls
                .iter()
                .position(|line| line.starts_with(call))
                .expect(call)
        };
        assert!(at("quality-reviewer S-1") < at("coder W-1"));
        assert!(at("quality-reviewer W-1") < at("coder S-2"));
        let told = shop.read(".git/at/prompt-coder-W-1");
        assert!(told.contains("this is the repository `web`"), "{told}");
        let there = format!("`shop` in `{}`", shop.path().display());
        assert!(told.contains(&there) && told.contains(BRANCH), "{told}");
        // The next landing finds all there; cleaning takes all away.
        let landed = shop.json(&["land"]);
        assert_eq!(landed["others"][0]["repository"], "web", "{landed}");
        assert_eq!(landed["others"][0]["was_there"], true, "{landed}");
        let said = shop.piton(&["plan", "clean", "2026-01-15-orders"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        for scratch in [&shop, &web] {
            assert_eq!(
                scratch
                    .git(&["branch", "--format", "%(refname:short)"])
                    .trim(),
                "main"
            );
            assert_eq!(scratch.git(&["worktree", "list"]).lines().count(), 1);
            assert_eq!(scratch.git(&["for-each-ref", "refs/piton"]), "");
        }
        assert_eq!(shop.piton(&["journal", "verify"]).exit, 0);
    }
}

#[test]
fn a_runner_that_is_killed_in_another_repository_is_followed_by_one_that_goes_on() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    shop.write(".git/at/wait-W-1", "");
    let running = start(&shop);
    shop.until("an agent works on W-1", || shop.has(".git/at/began"));
    running.kill();
    shop.write(".git/at/go", "");
    check_strictly(&shop);
    let status = shop.json(&["status"]);
    assert_eq!(status["run"]["state"], "interrupted", "{status}");
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    check_strictly(&shop);
    assert_eq!(
        (made(&shop, "main").as_str(), made(&web, "main").as_str()),
        ("S-1 S-2", "W-1 W-2")
    );
    assert_eq!(shop.piton(&["journal", "verify"]).exit, 0);
}

/// A death at each commit of the journal, one after another: in both repositories all is
/// there once at the end.
#[test]
fn a_death_at_each_step_loses_nothing_in_either_repository() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    let agent = shop.path().join("agent.sh");
    let agent = agent.to_str().expect("UTF-8");
    let args = [RUN, &["--agent", agent, "--verdict", "exit-status"]].concat();
    let mut deaths = 0;
    for round in 0..200 {
        let mut command = shop.command(&args);
        command.env(
            "PITON_FAILPOINT",
            format!("commit.durable:{}", 2 + round % 5),
        );
        let said = Said::of(&command.output().expect("piton starts"));
        check_strictly(&shop);
        assert_eq!(
            shop.json_list(&["inbox"]),
            serde_json::json!([]),
            "{}",
            said.err
        );
        if said.exit == 0 {
            break;
        }
        assert_eq!(said.exit, -1, "{}", said.err);
        deaths += 1;
    }
    assert!(deaths > 10, "{deaths}");
    assert_eq!(word(&shop, "/phase"), "COMPLETED");
    assert_eq!(
        (made(&shop, "main").as_str(), made(&web, "main").as_str()),
        ("S-1 S-2", "W-1 W-2")
    );
    assert_eq!(shop.piton(&["journal", "verify"]).exit, 0);
}

#[test]
fn what_is_in_the_way_in_another_repository_is_named_before_anything_begins() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    let manifest = shop.read("manifest.yaml");
    let refused = |exit: i32, code: &str, why: &str| {
        let said = run(&shop, &[]);
        assert_eq!(said.exit, exit, "{}", said.err);
        assert!(
            said.err.contains(code) && said.err.contains(why),
            "{why}: {}",
            said.err
        );
        assert!(!shop.has(".git/at"), "no agent was started");
    };
    shop.write(
        "manifest.yaml",
        &manifest.replace("name: web", "name: site"),
    );
    refused(2, "[plan.repository]", "`web` has a part in state.json");
    let twice = format!(
        "{manifest}  - {{name: api, path: {}, team: Core}}\n",
        web.path().display()
    );
    shop.write("manifest.yaml", &twice);
    let both = shop.read("state.json").replacen("\"web\"", "\"api\"", 1);
    shop.write("state.json", &both);
    refused(2, "[plan.repository]", "is the same repository as `api`");
    shop.git(&["checkout", "--", "manifest.yaml", "state.json"]);
    web.write("README", "changed");
    refused(1, "[git.dirty]", "README");
    web.git(&["checkout", "--", "README"]);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn work_that_cannot_land_in_another_repository_stays_on_its_branch() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    shop.write(".git/at/wait-W-2", "");
    let running = start(&shop);
    shop.until("an agent works", || shop.has(".git/at/began"));
    web.write("more", "by hand");
    commit(&web);
    shop.write(".git/at/go", "");
    let said = running.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    let path = web.path();
    let path = path.display();
    let branch = branch_in(&web);
    let next = format!("`git -C {path} merge {branch}`");
    assert!(
        said.err.contains("main in web: it has moved on") && said.err.contains(&next),
        "{}",
        said.err
    );
    assert_eq!(made(&shop, "main"), "S-1 S-2");
    let said = shop.piton(&["plan", "clean", "2026-01-15-orders"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(
        said.err.contains(&format!("git -C {path} merge {branch}")),
        "{}",
        said.err
    );
    web.git(&["merge", "--quiet", "--no-edit", &branch]);
    assert_eq!(shop.piton(&["plan", "clean", "2026-01-15-orders"]).exit, 0);
    assert_eq!(made(&web, "main"), "W-1 W-2");
}

pub(crate) const TASKS: &str = r#"{"tasks": [
  {"id": "shop#1", "repo": "shop", "team": "", "title": "Store", "description": "Keep it.", "blocked_by": [], "size": "S"},
  {"id": "web#1", "repo": "web", "team": "", "title": "Page", "blocked_by": ["shop#1"], "size": "M"},
  {"id": "web#2", "repo": "web", "team": "", "title": "Form", "blocked_by": [], "size": "M"},
  {"id": "shop#2", "repo": "shop", "team": "", "title": "Serve", "blocked_by": ["web#2"], "size": "M"}
]}"#;

/// From the first phase to the last, with all that may come between, and deaths in each.
#[test]
fn a_run_over_two_repositories_goes_from_its_first_phase_to_its_last() {
    let (shop, web) = two(&state("BOOTSTRAP", &[]));
    // Git does not track the file, so that it shows each step.
    shop.git(&["rm", "--quiet", "--cached", "state.json"]);
    shop.write("tasks.json", TASKS)
        .write(".gitignore", ".piton/\nmetrics.jsonl\nstate.json\n");
    commit(&shop);
    shop.write(".git/at/wants-web#1", "")
        .write(".git/at/fail-web#2", "");
    let phase = || format!("{} {}", word(&shop, "/phase"), word(&shop, "/phase_status"));
    let agent = shop.path().join("agent.sh");
    let agent = agent.to_str().expect("UTF-8");
    let args = [RUN, &["--agent", agent, "--verdict", "exit-status"]].concat();
    let died_in = RefCell::new(BTreeSet::new());
    let step = |exit: i32| {
        // Behind each of the next commits of the journal, and once while an agent works.
        for nth in 2..6 {
            let mut command = shop.command(&args);
            command.env("PITON_FAILPOINT", format!("commit.durable:{nth}"));
            let said = Said::of(&command.output().expect("piton starts"));
            check_strictly(&shop);
            if said.exit == -1 {
                assert_eq!(shop.piton(&["files", "sync"]).exit, 0);
                check_strictly(&shop);
                died_in.borrow_mut().insert(word(&shop, "/phase"));
            }
        }
        let items = ["DESIGN", "PLANNING", "shop#1", "web#1", "shop#2"];
        for item in items {
            shop.write(&format!(".git/at/wait-{item}"), "");
        }
        let running = Running::start(shop.command(&args));
        shop.until("an agent works, or none is to", || {
            shop.has(".git/at/began")
                || !shop
                    .json_list(&["inbox"])
                    .as_array()
                    .expect("a list")
                    .is_empty()
        });
        running.kill();
        for item in items {
            std::fs::remove_file(shop.path().join(format!(".git/at/wait-{item}"))).expect("there");
        }
        shop.write(".git/at/go", "");
        check_strictly(&shop);
        let said = run(&shop, &[]);
        assert_eq!(said.exit, exit, "{}{}", said.out, said.err);
        check_strictly(&shop);
        for file in ["began", "go"] {
            std::fs::remove_file(shop.path().join(".git/at").join(file)).ok();
        }
    };
    let decide = |args: &[&str]| {
        let said = shop.piton(&[&["decide"], args].concat());
        assert_eq!(said.exit, 0, "{}", said.err);
        check_strictly(&shop);
    };
    step(3);
    decide(&["d1", "reject", "--why", "one service is enough"]);
    assert_eq!(phase(), "DESIGN in_progress");
    step(3);
    assert!(
        shop.read(".git/at/prompt-solution-designer-DESIGN")
            .contains("> one service is enough")
    );
    assert_eq!(phase(), "DESIGN awaiting_approval");
    decide(&["d2", "approve"]);
    step(3);
    assert_eq!(phase(), "PLANNING awaiting_approval");
    decide(&["d3", "approve"]);
    // One issue fails for good, and another waits for it.
    step(1);
    let asked = shop.json_list(&["inbox"]);
    assert_eq!(asked[0]["node"], "web#2", "{asked}");
    let status = |id: &str| word(&shop, &format!("/issues/{id}/status"));
    let shown = shop.json(&["status"]);
    assert_eq!(shown["run"]["state"], "blocked", "{shown}");
    std::fs::remove_file(shop.path().join(".git/at/fail-web#2")).expect("it is there");
    let id = asked[0]["id"].as_str().expect("an id");
    decide(&[id, "retry"]);
    step(0);
    assert_eq!(phase(), "COMPLETED completed");
    for id in ["shop#1", "shop#2", "web#1", "web#2"] {
        assert_eq!(status(id), "done", "{id}");
    }
    assert_eq!(made(&shop, "main"), "shop#1 shop#2");
    assert_eq!(made(&web, "main"), "web#1 web#2");
    assert!(shop.has("artifacts/pert-tasks.json") && !web.has("artifacts"));
    let state: serde_json::Value = serde_json::from_str(&shop.read("state.json")).expect("JSON");
    assert_eq!(state["issues"]["web#1"]["review_iterations"], 1, "{state}");
    let invoked = state["metrics"]["agent_invocations"]
        .as_array()
        .expect("a list");
    // Piton itself does the first phase and the fourth.
    let journal = shop.shows(&["journal", "export"]);
    let begun = journal
        .lines()
        .filter(|line| line.contains("\"attempt-started\""));
    let begun = begun.map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
        event["body"]["node"].as_str().expect("a node").to_owned()
    });
    let by_agents = begun.filter(|node| !["BOOTSTRAP", "TRACKING"].contains(&&**node));
    assert_eq!(
        invoked.len(),
        by_agents.count(),
        "each is in the metrics once"
    );
    assert!(calls(&shop).len() <= invoked.len(), "none is missing");
    let died_in: Vec<String> = died_in.into_inner().into_iter().collect();
    let phases = ["BOOTSTRAP", "DESIGN", "EXECUTING", "PLANNING", "TRACKING"];
    assert_eq!(died_in, phases);
    assert_eq!(shop.piton(&["journal", "verify"]).exit, 0);
}

#[test]
fn a_repository_has_a_check_and_a_setup_of_its_own() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    let log = shop.path().join(".git/ran");
    let log = log.display();
    // What the project checks and sets up does not fit the other one.
    let config = format!(
        "[workspace]\nsetup = \"grep -q shop README && echo setup shop >> {log}\"\n\
         [merge]\ncheck = \"grep -q shop README && echo check shop >> {log}\"\n\
         [repositories.web]\nsetup = \"grep -q web README && echo setup web >> {log}\"\n\
         check = \"grep -q web README && echo check web >> {log}; [ ! -e made/W-2 ]\"\n\
         [repositories.wbe]\ncheck = \"true\"\n"
    );
    shop.write(".piton/config.toml", &config);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(
        said.err.contains("[repositories.wbe] in .piton/config.toml is none of the repositories of this run: shop, web"),
        "{}",
        said.err
    );
    check_strictly(&shop);
    let branches = (made(&shop, BRANCH), made(&web, &branch_in(&web)));
    assert_eq!(branches, ("S-1 S-2".to_owned(), "W-1".to_owned()));
    let ran = shop.read(".git/ran");
    for what in ["setup shop", "setup web", "check shop", "check web"] {
        assert!(ran.contains(what), "{what}: {ran}");
    }
    // Nothing is checked there any more.
    let at = config.find("check = \"grep -q web").expect("it is there");
    let config = format!("{}check = \"\"\n", &config[..at]);
    shop.write(".piton/config.toml", &config);
    let asked = shop.json_list(&["inbox"]);
    let asked = asked[0]["id"].as_str().expect("a question").to_owned();
    assert_eq!(shop.piton(&["decide", &asked, "retry"]).exit, 0);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(made(&web, "main"), "W-1 W-2");
}

/// Adds a repository to the manifest of another one.
fn add_to_manifest(shop: &Scratch, name: &str, path: &str) {
    let manifest = shop.read("manifest.yaml");
    let entry = format!("  - {{name: {name}, path: {path}, team: Core}}\n");
    shop.write("manifest.yaml", &(manifest + &entry));
}

/// Both while it is worked on, in place and in lanes: what is added waits, and the next
/// invocation goes on with it.
#[test]
fn a_repository_that_comes_in_under_way_is_taken_in_by_the_next_invocation() {
    for issues in [vec![issue("S-1", "shop", &[])], across()] {
        let (shop, web) = two(&state("EXECUTING", &issues));
        let api = Scratch::new();
        api.git(&["checkout", "-qB", "main"]);
        api.write("README", "api");
        commit(&api);
        if issues.len() == 1 {
            shop.write(
                "manifest.yaml",
                "prd: orders.md\nrepos:\n  - {name: shop, path: ., team: Core}\n",
            );
            commit(&shop);
        }
        shop.write(".git/at/wait-S-1", "");
        let running = start(&shop);
        shop.until("an agent works", || shop.has(".git/at/began"));
        add_to_manifest(&shop, "api", &api.path().display().to_string());
        commit(&shop);
        let said = shop.piton(&["issue", "add", "A-1", "Serve", "--repo", "api"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        shop.write(".git/at/go", "");
        let said = running.end();
        assert_eq!(said.exit, 130, "{}", said.err);
        let shown = shop.json(&["status"]);
        assert_eq!(
            shown["run"]["reason"],
            "A-1 belongs to `api`, which was no repository of this run when it began"
        );
        assert!(!calls(&shop).iter().any(|call| call.contains("A-1")));
        if issues.len() == 1 {
            // What was done in place is in no lane before it is committed.
            shop.git(&["commit", "--quiet", "--all", "--message", "marks"]);
            let said = run(&shop, &[]);
            assert_eq!(said.exit, 1, "{}", said.err);
            assert!(
                said.err.contains("is in no commit: made/S-1"),
                "{}",
                said.err
            );
        }
        shop.git(&["add", "--all"]);
        shop.git(&["commit", "--quiet", "--allow-empty", "--message", "so far"]);
        let said = run(&shop, &[]);
        assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
        assert_eq!(made(&api, "main"), "A-1");
        let once = calls(&shop)
            .into_iter()
            .filter(|call| call.starts_with("coder"));
        assert_eq!(once.count(), issues.len() + 1, "nothing is done again");
        let open = shop.json(&["next"]);
        assert_eq!(open["runs"], serde_json::json!([]), "{open}");
        drop(web);
    }
}

#[test]
fn an_open_issue_goes_to_the_repository_that_its_file_names() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    untrack(&shop);
    shop.write(".git/at/fail-S-1", "");
    assert_eq!(run(&shop, &[]).exit, 1);
    // One that waits for the issue that failed.
    let text = shop.read("state.json");
    let moved = text.replace(r#""W-1": {"repo": "web""#, r#""W-1": {"repo": "shop""#);
    assert_ne!(moved, text);
    shop.write("state.json", &moved);
    let said = shop.piton(&["files", "sync"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let moved = shop.read("state.json");
    let moved = moved.replace(r#""S-1": {"repo": "shop""#, r#""S-1": {"repo": "web""#);
    let moved = moved.replace(r#""W-2": {"repo": "web""#, r#""W-2": {"repo": "shop""#);
    shop.write("state.json", &moved);
    shop.piton(&["files", "sync"]);
    let asked = shop.json_list(&["inbox"]);
    let details: Vec<&str> = asked
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["details"].as_str())
        .collect();
    let why = "`W-2` belongs to the repository `shop`: what was done of it is in `web`";
    assert!(details.contains(&why), "{asked}");
    let id = asked
        .as_array()
        .into_iter()
        .flatten()
        .find(|one| one["details"] == why)
        .expect("it is asked");
    let id = id["id"].as_str().expect("an id");
    let said = shop.piton(&["decide", id, "keep-piton"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(word(&shop, "/issues/W-2/repo"), "web");
    assert_eq!(word(&shop, "/issues/S-1/repo"), "web");
    std::fs::remove_file(shop.path().join(".git/at/fail-S-1")).expect("it is there");
    shop.piton(&["plan", "retry", "S-1"]);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert_eq!(made(&shop, "main"), "S-2 W-1");
    assert_eq!(made(&web, "main"), "S-1 W-2");
}

#[test]
fn a_manifest_that_says_nothing_certain_is_refused_with_its_line() {
    let (shop, web) = two(&state("EXECUTING", &[issue("W-1", "web", &[])]));
    let manifest = shop.read("manifest.yaml");
    let path = web.path().display().to_string();
    let twice = format!("{manifest}  - {{name: web, path: {path}2, team: Core}}\n");
    let listed = manifest.replace(&path, &format!("[{path}]"));
    let of_shop = manifest
        .replace(&path, ".")
        .replace("shop, path: .", "shop, path: ./.");
    for (text, exit, why) in [
        ("repos:\n  - name: web\n   path: [\n", 1, "manifest.yaml:3"),
        (&twice, 1, "a second repository is called `web`"),
        ("- web\n", 1, "a manifest is a mapping"),
        (&listed, 1, "manifest.yaml:4"),
    ] {
        shop.write("manifest.yaml", text);
        let said = run(&shop, &[]);
        assert_eq!(said.exit, exit, "{}", said.err);
        assert!(
            said.err.contains(why) && said.err.contains("[plan.problems]"),
            "{}",
            said.err
        );
    }
    std::fs::write(shop.path().join("manifest.yaml"), b"prd: \xff\n").expect("written");
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(
        said.err.contains("manifest.yaml cannot be read"),
        "{}",
        said.err
    );
    // Two names of which both have a part.
    let both = state("EXECUTING", &across());
    shop.write("state.json", &both)
        .write("manifest.yaml", &of_shop);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(
        said.err
            .contains("`web` in manifest.yaml is the same repository as `shop`"),
        "{}",
        said.err
    );
    assert!(!shop.has(".git/at"), "no agent was started");
}

/// What was merged for the run is not in the repository that its name leads to now.
#[test]
fn another_repository_in_the_place_of_one_is_refused() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    shop.write(".git/at/fail-S-2", "");
    assert_eq!(run(&shop, &[]).exit, 1);
    let other = Scratch::new();
    other.write("README", "other");
    commit(&other);
    let manifest = shop.read("manifest.yaml");
    let [here, there] = [&web, &other].map(|scratch| scratch.path().display().to_string());
    shop.write("manifest.yaml", &manifest.replace(&here, &there));
    let why = "is another repository than the one in which run `2026-01-15-orders` was worked on";
    for args in [&["run", "state.json"][..], &["land"]] {
        let said = shop.piton(args);
        assert_eq!(said.exit, 2, "{args:?}: {}", said.err);
        assert!(
            said.err.contains(why) && said.err.contains("[plan.repository]"),
            "{}",
            said.err
        );
    }
    // The project's own lanes go, what is in the other repository stays.
    let said = shop.piton(&["plan", "clean", "2026-01-15-orders"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let told = format!("{}{}", said.out, said.err);
    assert!(told.contains("in web nothing was looked at"), "{told}");
    assert!(told.contains("of web stays"), "{told}");
    assert_eq!(made(&web, &branch_in(&web)), "W-1 W-2");
    let said = shop.shows(&["status"]);
    let why = "of other repositories nothing is known: `web` at";
    assert!(said.contains(why), "{said}");
}

#[test]
fn what_landed_in_another_repository_and_was_taken_back_stays_back() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    assert_eq!(run(&shop, &[]).exit, 0);
    assert_eq!(made(&web, "main"), "W-1 W-2");
    let at = web.git(&["rev-parse", "main"]);
    let begun = web.git(&["merge-base", "main", "main@{1}"]);
    web.git(&["reset", "--quiet", "--hard", begun.trim()]);
    let said = shop.piton(&["run", "state.json"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("main in web") && said.err.contains("had landed, and was taken back"),
        "{}",
        said.err
    );
    assert_eq!(made(&web, "main"), "");
    // The branch has the only name of it; without that git still has the commit.
    let clean = || shop.piton(&["plan", "clean", "2026-01-15-orders"]);
    let branch = branch_in(&web);
    let refused = |next: &str| {
        let said = clean();
        assert_eq!(said.exit, 1, "{}", said.err);
        let git = format!("git -C {}", web.path().display());
        let next = format!("`{git} merge {next}`");
        assert!(
            said.err.contains("in web and has not landed"),
            "{}",
            said.err
        );
        assert!(said.err.contains(&next), "{next}: {}", said.err);
    };
    refused(&branch);
    web.git(&["branch", "--quiet", "-D", &branch]);
    refused(at.trim());
    // Nor is one landed that was set back to where it began.
    web.git(&["branch", &branch, begun.trim()]);
    assert_eq!(clean().exit, 1);
    web.git(&["branch", "--quiet", "--force", &branch, at.trim()]);
    let said = shop.piton(&["land"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(made(&web, "main"), "W-1 W-2");
    assert_eq!(clean().exit, 0);
}

/// Where the work of the project cannot land, that of another repository does.
#[test]
fn each_repository_lands_by_itself() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    shop.write(".git/at/wait-W-2", "");
    let running = start(&shop);
    shop.until("an agent works", || shop.has(".git/at/began"));
    for scratch in [&shop, &web] {
        scratch.write("more", "by hand");
        commit(scratch);
    }
    shop.write(".git/at/go", "");
    assert_eq!(running.end().exit, 0);
    // In web it can now, with a rebase of a person under way first.
    web.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    web.git(&["checkout", "--quiet", "--detach"]);
    web.write(".git/rebase-merge/head-name", "refs/heads/main\n");
    let said = shop.piton(&["land"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert_eq!(made(&web, "main"), "");
    std::fs::remove_dir_all(web.path().join(".git/rebase-merge")).expect("it is there");
    let said = shop.piton(&["land"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(
        said.err.contains("main has moved on since the run began"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("landed: main in web is at"),
        "{}",
        said.err
    );
    assert_eq!(made(&web, "main"), "W-1 W-2");
    assert_eq!(made(&shop, "main"), "");
}

/// Runs of one name in two projects that name the same other repository.
#[test]
fn a_run_of_another_project_has_a_branch_of_its_own() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    assert_eq!(run(&shop, &[]).exit, 0);
    assert_eq!(shop.piton(&["plan", "clean", "2026-01-15-orders"]).exit, 0);
    let (store, own_web) = two(&state("EXECUTING", &across()));
    let manifest = store.read("manifest.yaml");
    let [from, to] = [&own_web, &web].map(|scratch| scratch.path().display().to_string());
    store.write("manifest.yaml", &manifest.replace(&from, &to));
    commit(&store);
    store.write(".git/at/fail-W-1", "");
    assert_eq!(run(&store, &[]).exit, 1);
    let begun = web.git(&["rev-parse", "main"]);
    for args in [
        &["run", "state.json"][..],
        &["land"],
        &["plan", "clean", "2026-01-15-orders"],
    ] {
        shop.piton(args);
        assert_eq!(web.git(&["rev-parse", "main"]), begun, "{args:?}");
    }
    std::fs::remove_file(store.path().join(".git/at/fail-W-1")).expect("it is there");
    store.piton(&["plan", "retry", "W-1"]);
    let said = run(&store, &[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let twice = web.git(&["show", "main:made/W-1"]);
    assert_eq!(twice, "W-1\nW-1\n");
}

/// One in which nothing is left to be done keeps nobody from going on.
#[test]
fn a_repository_that_is_gone_when_its_work_has_landed_is_not_missed() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    untrack(&shop);
    assert_eq!(run(&shop, &[]).exit, 0);
    std::fs::remove_dir_all(web.path()).expect("it is there");
    let said = shop.piton(&["issue", "add", "S-3", "Sell", "--repo", "shop"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(made(&shop, "main"), "S-1 S-2 S-3");
    let why = "`web` is not at";
    assert!(said.err.contains(why), "it cannot be seen: {}", said.err);
    let said = shop.piton(&["plan", "clean", "2026-01-15-orders"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.out.contains(why) || said.err.contains(why),
        "{}{}",
        said.out,
        said.err
    );
}

#[test]
fn a_name_that_is_written_wrongly_under_way_can_be_corrected() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    untrack(&shop);
    shop.write(".git/at/fail-S-1", "");
    assert_eq!(run(&shop, &[]).exit, 1);
    let text = shop.read("state.json");
    let at = text.find("\"S-2\"").expect("it is there");
    let added = format!("{},\n    ", issue("W-3", "wbe", &[]));
    shop.write(
        "state.json",
        &format!("{}{added}{}", &text[..at], &text[at..]),
    );
    assert_eq!(shop.piton(&["files", "sync"]).exit, 0);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(
        said.err.contains("`wbe` has a part in state.json"),
        "{}",
        said.err
    );
    let text = shop.read("state.json");
    shop.write("state.json", &text.replace("\"wbe\"", "\"web\""));
    std::fs::remove_file(shop.path().join(".git/at/fail-S-1")).expect("it is there");
    shop.piton(&["plan", "retry", "S-1"]);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert_eq!(made(&web, "main"), "W-1 W-2 W-3");
}

/// A run that knew one repository when it began, without a manifest.
#[test]
fn what_is_added_for_a_repository_that_comes_in_later_is_done_there() {
    let (shop, web) = two(&state("EXECUTING", &[issue("S-1", "shop", &[])]));
    let manifest = shop.read("manifest.yaml");
    shop.git(&["rm", "--quiet", "manifest.yaml"]);
    commit(&shop);
    assert_eq!(run(&shop, &[]).exit, 0);
    shop.write("manifest.yaml", &manifest);
    commit(&shop);
    let said = shop.piton(&["issue", "add", "W-1", "Page", "--repo", "web"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    commit(&shop);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    assert_eq!(made(&web, "main"), "W-1");
    assert!(!shop.has("made/W-1"));
    assert_eq!(word(&shop, "/issues/W-1/repo"), "web");
}

/// Work that is for no branch has landed wherever a person merged it.
#[test]
fn work_of_a_detached_repository_lands_where_a_person_merges_it() {
    let (shop, web) = two(&state("EXECUTING", &across()));
    web.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(run(&shop, &[]).exit, 0);
    let said = shop.piton(&["plan", "clean", "2026-01-15-orders"]);
    let git = format!("git -C {}", web.path().display());
    let branch = branch_in(&web);
    let next = format!("`{git} switch BRANCH`, then `{git} merge {branch}`");
    assert!(said.err.contains(&next), "{}", said.err);
    assert_eq!(shop.piton(&["land"]).exit, 1);
    web.git(&["checkout", "--quiet", "main"]);
    web.git(&["merge", "--quiet", &branch]);
    assert_eq!(shop.piton(&["land"]).exit, 0);
    let shown = shop.shows(&["status"]);
    assert!(!shown.contains("in web"), "{shown}");
    assert_eq!(shop.piton(&["plan", "clean", "2026-01-15-orders"]).exit, 0);
}

/// As the file of a run is found in a clone of its only repository.
#[test]
fn a_path_of_another_machine_is_the_only_repository_at_hand() {
    let (shop, _web) = two(&state("EXECUTING", &[issue("S-1", "shop", &[])]));
    let path = "/nowhere-on-this-machine/ada/shop";
    let manifest = |more: &str| {
        format!("prd: orders.md\nrepos:\n  - {{name: shop, path: {path}, team: Core}}\n{more}")
    };
    // Of two nobody can tell which is meant.
    shop.write(
        "manifest.yaml",
        &manifest("  - {name: web, path: /nowhere-on-this-machine/web, team: Core}\n"),
    );
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 2, "{}", said.err);
    shop.write("manifest.yaml", &manifest(""));
    commit(&shop);
    let said = run(&shop, &[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let told = format!("{path}, where manifest.yaml has `shop`, is a path of another machine");
    assert_eq!(said.err.matches(&told).count(), 1, "{}", said.err);
    assert_eq!(word(&shop, "/issues/S-1/status"), "done");
}
