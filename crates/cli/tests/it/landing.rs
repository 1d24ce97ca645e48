//! Landing the work of a run in lanes on the branch that it is for, and taking away
//! what the run had beside it.

use std::path::PathBuf;
use std::process::Command;

use crate::harness::{Running, Said, Scratch};

const TARGET: &str = "piton/prd";

const AGENT: &str = "cat >/dev/null
echo made >$PITON_ITEM.txt
echo '{\"status\": \"completed\", \"summary\": \"did it\"}'";

const LIST: &str = r#"{"project": "side", "userStories": [
  {"id": "US-001", "title": "One", "passes": false},
  {"id": "US-002", "title": "Two", "passes": false}
]}
"#;

const RUN: [&str; 6] = ["run", "prd.json", "--agent", "./agent.sh", "--workers", "2"];

/// A repository with an agent, and a list that git does not track.
fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.agent(AGENT);
    scratch.write("shared", "begin\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch.write("prd.json", LIST);
    scratch
}

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

#[track_caller]
fn types(scratch: &Scratch, script: &str) {
    let output = scratch.shell("-c").arg(script).output().expect("a shell");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {err}");
}

fn at(scratch: &Scratch, name: &str) -> String {
    scratch.git(&["rev-parse", name])
}

fn has_landed(scratch: &Scratch) -> bool {
    at(scratch, "main") == at(scratch, TARGET)
}

fn count(scratch: &Scratch, kind: &str) -> usize {
    let kinds = scratch.event_kinds();
    kinds.iter().filter(|known| *known == kind).count()
}

/// What the run finds when its work is done: typed once it is at work.
fn run_with(scratch: &Scratch, script: &str) -> Said {
    let first = AGENT.replace(
        "echo made",
        &format!("[ $PITON_ITEM = US-002 ] || (cd $PITON_PROJECT; {script}) >&2\necho made"),
    );
    scratch.agent(&first);
    scratch.git(&["commit", "-qam", "another agent"]);
    let said = scratch.piton(&RUN);
    fine(&said);
    let status = scratch.json(&["status"]);
    assert_eq!(status["run"]["state"], "done", "{status}");
    said
}

#[test]
fn a_run_that_is_done_lands_on_a_branch_that_can_go_forward() {
    let scratch = project();
    let said = scratch.piton(&RUN);
    fine(&said);
    assert!(said.err.contains("landed: main is at"), "{}", said.err);
    assert!(has_landed(&scratch));
    assert!(scratch.has("US-001.txt") && scratch.has("US-002.txt"));
    assert_eq!(
        scratch.git(&["status", "--porcelain"]),
        "?? prd.json\n",
        "the marks of the list stay where they are"
    );
    assert_eq!(
        scratch.read("prd.json").matches("\"passes\": true").count(),
        2
    );
    assert_eq!(count(&scratch, "land-started"), 1);
    assert_eq!(count(&scratch, "run-landed"), 1);
    // What is done is of this history now.
    let status = scratch.json(&["status"]);
    let place = &status["run"]["place"];
    assert_eq!(place["landed"], at(&scratch, "main").trim());
    assert_eq!(place["onto"], "main");
    assert!(place.get("merge").is_none(), "{place}");
    assert!(
        status["run"]["nodes"][0].get("done_on").is_none(),
        "{status}"
    );
    let shown = scratch.piton(&["status"]).out;
    assert!(shown.contains("landed on main, at "), "{shown}");
    // Once more changes nothing.
    let said = scratch.piton(&["land"]);
    fine(&said);
    assert!(
        said.err.contains("main has the work on piton/prd already"),
        "{}",
        said.err
    );
    assert_eq!(count(&scratch, "land-started"), 1);
}

/// What is done while the run works, whether it lands, and where not, the reason
/// and what is to be typed.
const STATES: &[(&str, bool, &str, &str)] = &[
    ("git switch -q -c other", true, "", ""),
    ("echo note >notes", true, "", ""),
    (
        "echo changed >shared",
        false,
        "piton/prd is not landed on main: these have changes that are in no commit: shared [land.refused]",
        "put them aside with `git stash`, then `piton land prd`; or commit them, then `git merge piton/prd`",
    ),
    (
        "git commit -q --allow-empty -m mine",
        false,
        "main has moved on since the run began [land.refused]",
        "`git merge piton/prd`",
    ),
    (
        "git switch -q -c other main~0; git branch -q -f main $(git commit-tree -p main -m mine main^{tree})",
        false,
        "main has moved on since the run began [land.refused]",
        "`git switch main`, `git merge piton/prd`",
    ),
    (
        "git switch -q -c other; git worktree add -q .piton/beside main",
        false,
        "it is checked out in SCRATCH/.piton/beside [land.refused]",
        "`git -C SCRATCH/.piton/beside merge --ff-only piton/prd`",
    ),
    (
        "git switch -q --detach",
        false,
        "no branch is checked out in SCRATCH [land.refused]",
        "`git switch main`, then `piton land prd`",
    ),
    (
        "echo mine >US-001.txt",
        false,
        "these files are in the way: US-001.txt [land.refused]",
        "see to that, then `piton land prd` or `git merge --ff-only piton/prd`",
    ),
    (
        "git branch -q -m main trunk",
        false,
        "that branch is gone [land.refused]",
        "`git branch main piton/prd` makes it",
    ),
];

#[test]
fn what_is_in_the_way_of_a_landing_stays_and_is_named() {
    for (script, lands, why, next) in STATES {
        let scratch = project();
        let said = run_with(&scratch, script);
        let refs = |scratch: &Scratch| scratch.git(&["for-each-ref"]);
        let files = |scratch: &Scratch| scratch.git(&["status", "--porcelain", "--ignored"]);
        let (before, changes) = (refs(&scratch), files(&scratch));
        let why_at_end = why.split(" [").next().expect("a text");
        let place = scratch.path().to_string_lossy().into_owned();
        let shown = said.err.replace(&place, "SCRATCH");
        assert!(shown.contains(why_at_end), "{script}: {shown}");
        let again = scratch.piton(&["land", "prd"]);
        let shown = again.err.replace(&place, "SCRATCH");
        if *lands {
            assert!(has_landed(&scratch), "{script}: {shown}");
            fine(&again);
        } else {
            assert_eq!(again.exit, 1, "{script}: {shown}");
            assert!(shown.contains(why), "{script}: {shown}");
            assert!(shown.contains(next), "{script}: {shown}");
            assert_eq!(count(&scratch, "run-landed"), 0, "{script}");
            let status = scratch.json(&["status"]);
            if !script.contains("-m main trunk") {
                assert_eq!(
                    status["run"]["place"]["merge"], "piton land prd",
                    "{script}"
                );
            }
            let said = scratch.piton(&["plan", "clean", "prd"]);
            assert_eq!(said.exit, 1, "{script}");
            assert!(
                said.err.contains("[run.not_landed]"),
                "{script}: {}",
                said.err
            );
            assert!(
                said.err.contains("`piton land prd`"),
                "{script}: {}",
                said.err
            );
        }
        assert_eq!(refs(&scratch), before, "{script}");
        assert_eq!(files(&scratch), changes, "{script}");
    }
}

#[test]
fn a_file_that_git_ignores_is_not_overwritten() {
    let scratch = project();
    run_with(&scratch, "echo changed >shared");
    scratch.git(&["restore", "shared"]);
    scratch.write(".git/info/exclude", "US-001.txt\n");
    scratch.write("US-001.txt", "mine\n");
    let said = scratch.piton(&["land", "prd"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(
        said.err
            .contains("these files are in the way: US-001.txt [land.refused]"),
        "{}",
        said.err
    );
    assert_eq!(scratch.read("US-001.txt"), "mine\n");
}

#[test]
fn what_a_person_merged_has_landed() {
    let scratch = project();
    run_with(&scratch, "git commit -q --allow-empty -m mine");
    scratch.git(&["merge", "-q", "--no-edit", TARGET]);
    let said = scratch.piton(&["land", "prd"]);
    fine(&said);
    let status = scratch.json(&["status"]);
    assert_eq!(
        status["run"]["place"]["landed"],
        at(&scratch, TARGET).trim()
    );
    fine(&scratch.piton(&["plan", "clean", "prd"]));
}

#[test]
fn work_that_began_at_a_commit_lands_where_a_person_merges_it() {
    let scratch = project();
    scratch.git(&["switch", "-q", "--detach"]);
    let said = scratch.piton(&RUN);
    fine(&said);
    let said = scratch.piton(&["land", "prd"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("[land.refused]"), "{}", said.err);
    assert!(said.err.contains("`git merge piton/prd`"), "{}", said.err);
    types(&scratch, "git switch -q main && git merge -q piton/prd");
    fine(&scratch.piton(&["land", "prd"]));
    fine(&scratch.piton(&["plan", "clean", "prd"]));
}

#[test]
fn a_run_without_a_branch_of_its_own_has_nothing_to_land() {
    let scratch = project();
    fine(&scratch.piton(&["run", "prd.json", "--agent", "./agent.sh"]));
    let said = scratch.piton(&["land", "prd"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("[land.nothing]"), "{}", said.err);
}

#[test]
fn the_branch_of_a_worktree_lands_by_the_command_alone() {
    let scratch = Scratch::new();
    scratch.sprint_with(
        "config: {auto-commit: true}\nworktree: {enabled: true, branch: sprint/demo, path: trees/demo}\n",
        "  - {id: one, prompt: do it}\n",
    );
    scratch.agent("echo one >>made; echo made");
    scratch.write(".gitignore", "/trees/\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    fine(&scratch.run(&[]));
    assert!(!scratch.has("made"));
    let before = at(&scratch, "main");
    let landed = scratch.json(&["land", "demo"]);
    assert_eq!(landed["onto"], "main", "{landed}");
    assert_eq!(landed["was_there"], false, "{landed}");
    assert!(scratch.has("made"));
    assert_ne!(at(&scratch, "main"), before);
    assert_eq!(at(&scratch, "main"), at(&scratch, "sprint/demo"));
    let status = scratch.piton(&["status"]).out;
    assert!(status.contains("landed on main, at "), "{status}");
}

fn dies(mut command: Command, failpoint: &str) {
    command.env("PITON_FAILPOINT", failpoint);
    let said = Running::start(command).end();
    assert_eq!(said.exit, -1, "{failpoint}: {}", said.err);
}

#[test]
fn a_death_in_a_landing_is_found_and_made_good() {
    for failpoint in ["land.started", "land.moved"] {
        for next in [&["land", "prd"][..], &RUN, &["plan", "clean", "prd"]] {
            let scratch = project();
            dies(scratch.command(&RUN), failpoint);
            assert_eq!(count(&scratch, "run-landed"), 0);
            let said = scratch.piton(next);
            // Nothing is cleaned that has not landed.
            let is_refused = failpoint == "land.started" && next[0] == "plan";
            assert_eq!(
                said.exit,
                i32::from(is_refused),
                "{failpoint} {next:?}: {}",
                said.err
            );
            if is_refused {
                continue;
            }
            assert!(scratch.has("US-002.txt"), "{failpoint} {next:?}");
            assert_eq!(count(&scratch, "run-landed"), 1, "{failpoint} {next:?}");
            assert_eq!(scratch.git(&["status", "--porcelain"]), "?? prd.json\n");
            fine(&scratch.piton(&["journal", "verify"]));
        }
    }
}

#[test]
fn a_command_that_stores_something_notes_what_has_landed() {
    let scratch = project();
    dies(scratch.command(&RUN), "land.moved");
    fine(&scratch.piton(&["log", "milestone_reached"]));
    assert_eq!(count(&scratch, "run-landed"), 1);
}

/// What git knows of refs and worktrees.
fn known(scratch: &Scratch) -> String {
    let refs = scratch.git(&["for-each-ref", "--format=%(refname)"]);
    let trees = scratch.git(&["worktree", "list", "--porcelain"]);
    let trees = trees.lines().filter(|line| line.starts_with("worktree"));
    format!("{refs}{}", trees.collect::<Vec<_>>().join("\n"))
}

const TEARDOWN: &str = "[workspace]\nteardown = 'echo $PITON_LANE >>$PITON_PROJECT/torn-down'\n\
                        [merge]\ncheck = 'touch left-behind'\n";

#[test]
fn after_landing_and_cleaning_git_knows_what_it_knew_before() {
    let scratch = project();
    scratch.write(".piton/config.toml", TEARDOWN);
    let before = known(&scratch);
    fine(&scratch.piton(&RUN));
    assert_ne!(known(&scratch), before);
    let count = lanes(&scratch).len();
    let cleaned = scratch.json(&["plan", "clean", "prd"]);
    assert_eq!(cleaned["branch"], TARGET, "{cleaned}");
    assert_eq!(
        cleaned["lanes"].as_array().map(Vec::len),
        Some(count),
        "{cleaned}"
    );
    assert_eq!(known(&scratch), before);
    let torn_down = scratch.read("torn-down");
    assert_eq!(torn_down.lines().count(), count, "{torn_down}");
    let status = scratch.json(&["status"]);
    assert_eq!(
        status["run"]["place"]["landed"],
        at(&scratch, "main").trim()
    );
    // Once more finds nothing.
    let cleaned = scratch.json(&["plan", "clean", "prd"]);
    assert_eq!(cleaned, serde_json::json!({ "worktree": null }));
}

/// The folders of lanes.
fn lanes(scratch: &Scratch) -> Vec<String> {
    let pool = std::fs::read_dir(scratch.path().join(".piton/lanes"));
    let entries = pool.expect("a pool").flatten();
    let names = entries.map(|entry| entry.file_name().into_string().expect("a number"));
    names.map(|name| format!(".piton/lanes/{name}")).collect()
}

fn tree_in(scratch: &Scratch, lane: &str) -> PathBuf {
    let entries = std::fs::read_dir(scratch.path().join(lane)).expect("a lane");
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .into_iter()
        .find(|path| path.is_dir())
        .expect("a worktree")
}

#[test]
fn a_lane_with_changes_is_named_and_stays() {
    let scratch = project();
    fine(&scratch.piton(&RUN));
    let tree = lanes(&scratch)
        .into_iter()
        .find(|lane| {
            !scratch
                .read(&format!("{lane}/lane.json"))
                .contains("merge-queue")
        })
        .map(|lane| tree_in(&scratch, &lane))
        .expect("the lane of a unit");
    std::fs::write(tree.join("mine"), "mine").expect("written");
    let said = scratch.piton(&["plan", "clean", "prd"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("[lane.dirty]"), "{}", said.err);
    assert!(said.err.contains(&*tree.to_string_lossy()), "{}", said.err);
    assert!(tree.join("mine").exists());
    // All else is gone; and so is this, once it is seen to.
    let trees = scratch.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(trees.matches("worktree ").count(), 2, "{trees}");
    std::fs::remove_file(tree.join("mine")).expect("removed");
    fine(&scratch.piton(&["plan", "clean", "prd"]));
    assert!(!tree.exists());
}

#[test]
fn a_death_while_it_is_cleaned_is_made_good_by_the_next_one() {
    for failpoint in [
        "lane.torn-down",
        "lane.unlocked",
        "lane.removed",
        "clean.lanes-removed",
        "clean.refs-dropped",
    ] {
        let scratch = project();
        let before = known(&scratch);
        fine(&scratch.piton(&RUN));
        dies(scratch.command(&["plan", "clean", "prd"]), failpoint);
        fine(&scratch.piton(&["plan", "clean", "prd"]));
        assert_eq!(known(&scratch), before, "{failpoint}");
    }
}

#[test]
fn a_branch_that_is_checked_out_stays_and_is_named() {
    let scratch = project();
    fine(&scratch.piton(&RUN));
    scratch.git(&["switch", "-q", TARGET]);
    let said = scratch.piton(&["plan", "clean", "prd"]);
    fine(&said);
    assert!(
        said.err
            .contains("the branch piton/prd stays: it is checked out in"),
        "{}",
        said.err
    );
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["plan", "clean", "prd"]));
    assert_eq!(scratch.git(&["branch", "--list", "piton/*"]), "");
}
