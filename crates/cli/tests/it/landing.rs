//! Landing the work of a run in lanes on the branch that it is for, and taking away
//! what the run had beside it.

use std::path::PathBuf;
use std::process::Command;

use crate::harness::{Running, Said, Scratch};

const TARGET: &str = "piton/prd";

const AGENT: &str = "cat >/dev/null
echo made >$PITON_ITEM.txt
[ $PITON_ITEM = US-001 ] || echo more >>shared
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
    scratch.write("other", "begin\n");
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
    ("echo mine >other", true, "", ""),
    ("echo mine >other; git add other", true, "", ""),
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
        "git commit -q --allow-empty -m mine; echo changed >shared",
        false,
        "main has moved on since the run began [land.refused]",
        "commit shared first, then `git merge piton/prd`",
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
            let merge = match why.contains("has moved on") {
                true => "git merge piton/prd",
                false => "piton land prd",
            };
            let status = scratch.json(&["status"]);
            if !script.contains("-m main trunk") {
                assert_eq!(status["run"]["place"]["merge"], merge, "{script}");
            }
            let said = scratch.piton(&["plan", "clean", "prd"]);
            assert_eq!(said.exit, 1, "{script}");
            assert!(
                said.err.contains("[run.not_landed]"),
                "{script}: {}",
                said.err
            );
            let says = format!("land it with `{merge}`, and type it again");
            assert!(said.err.contains(&says), "{script}: {}", said.err);
        }
        assert_eq!(refs(&scratch), before, "{script}");
        assert_eq!(files(&scratch), changes, "{script}");
    }
}

/// A repository whose list git tracks, with the run done on its branch and this first
/// written into the list of the work tree.
fn done_beside(edit: impl FnOnce(&str) -> String) -> Scratch {
    let scratch = project();
    scratch.git(&["add", "prd.json"]);
    scratch.git(&["commit", "-qm", "the list"]);
    run_with(&scratch, "echo changed >shared");
    scratch.git(&["restore", "shared"]);
    scratch.write("prd.json", &edit(LIST));
    scratch
}

fn tick_first(list: &str) -> String {
    list.replacen("false", "true", 1)
}

#[test]
fn a_mark_that_lands_as_well_is_in_nobodys_way() {
    let scratch = done_beside(tick_first);
    fine(&scratch.piton(&["files", "sync"]));
    let shown = scratch.piton(&["status"]).out;
    assert_eq!(shown.matches("done on piton/prd").count(), 2, "{shown}");
    let said = scratch.piton(&["land", "prd"]);
    fine(&said);
    assert!(has_landed(&scratch));
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    let shown = scratch.piton(&["status"]).out;
    assert!(!shown.contains("done on piton/prd"), "{shown}");
}

#[test]
fn what_is_staged_for_a_commit_of_a_person_stays_staged() {
    let scratch = done_beside(tick_first);
    scratch.git(&["add", "prd.json"]);
    let said = scratch.piton(&["land", "prd"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(
        said.err.contains("in no commit: prd.json [land.refused]"),
        "{}",
        said.err
    );
    assert_eq!(
        scratch.git(&["diff", "--cached", "--name-only"]),
        "prd.json\n"
    );
}

#[test]
fn what_does_not_land_with_the_list_stays_in_it() {
    let reword = |list: &str| tick_first(list).replace("\"Two\"", "\"Two of them\"");
    let more = |list: &str| {
        let more = ", \"passes\": false},\n  {\"id\": \"US-003\", \"title\": \"Three\", \"passes\": false}";
        tick_first(list).replace("\"Two\", \"passes\": false}", &format!("\"Two\"{more}"))
    };
    let spaced = |list: &str| tick_first(list).replace("[\n", "[\n\n");
    for edit in [&reword as &dyn Fn(&str) -> String, &more, &spaced] {
        let scratch = done_beside(edit);
        let before = scratch.read("prd.json");
        assert_ne!(before, tick_first(LIST));
        let said = scratch.piton(&["land", "prd"]);
        assert_eq!(said.exit, 1, "{}", said.err);
        let why = "these have changes that are in no commit: prd.json [land.refused]";
        assert!(said.err.contains(why), "{}", said.err);
        assert_eq!(scratch.read("prd.json"), before);
        assert_eq!(scratch.git(&["diff", "--cached", "--name-only"]), "");
        assert!(!has_landed(&scratch));
    }
}

#[test]
fn a_mark_stays_where_something_else_is_in_the_way() {
    let scratch = done_beside(tick_first);
    scratch.write("US-001.txt", "mine\n");
    let before = scratch.read("prd.json");
    let said = scratch.piton(&["land", "prd"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("in the way: US-001.txt"), "{}", said.err);
    assert_eq!(scratch.read("prd.json"), before);
    assert_eq!(scratch.git(&["diff", "--cached", "--name-only"]), "");
    // A death between the steps leaves it to the next landing.
    std::fs::remove_file(scratch.path().join("US-001.txt")).expect("it is there");
    for point in ["land.started", "land.edit-put-aside", "land.moved"] {
        let scratch = done_beside(tick_first);
        let mut command = scratch.command(&["land", "prd"]);
        command.env("PITON_FAILPOINT", point);
        assert_eq!(Running::start(command).end().exit, -1, "{point}");
        // No commit of a person takes marks along whose work is not there.
        assert_eq!(
            scratch.git(&["diff", "--cached", "--name-only"]),
            "",
            "{point}"
        );
        fine(&scratch.piton(&["land", "prd"]));
        assert!(has_landed(&scratch), "{point}");
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(scratch.git(&["status", "--porcelain"]), "", "{point}");
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

/// The same, where git tracks the list.
fn tracked() -> Scratch {
    let scratch = project();
    scratch.git(&["add", "prd.json"]);
    scratch.git(&["commit", "-qm", "the list"]);
    scratch
}

/// What is merged would be missing in that work tree, and the next commit of whoever
/// looks there would take it out.
#[test]
fn no_branch_is_moved_under_a_work_tree_that_has_it_checked_out() {
    for while_it_works in [false, true] {
        let scratch = tracked();
        let said = if while_it_works {
            let look = "git -C $PITON_PROJECT worktree add -q .piton/look piton/prd";
            scratch.agent(&AGENT.replace("echo made", &format!("{look}; echo made")));
            scratch.git(&["commit", "-qam", "another agent"]);
            scratch.piton(&RUN)
        } else {
            assert_eq!(scratch.piton(&[&RUN[..], &["--once"]].concat()).exit, 5);
            scratch.git(&["switch", "-q", TARGET]);
            scratch.piton(&["run", "prd"])
        };
        assert_eq!(said.exit, 1, "{}", said.err);
        assert!(said.err.contains("[target.checked_out]"), "{}", said.err);
        let tree = match while_it_works {
            true => scratch.path().join(".piton/look"),
            false => scratch.path().to_owned(),
        };
        let tree = tree.to_str().expect("UTF-8");
        // `main` is checked out in the other one, where git lets nobody else have it.
        let to = match while_it_works {
            true => "--detach",
            false => "main",
        };
        let next = format!("git -C {tree} switch {to}");
        let hint = format!("`{next}`, then run again");
        assert!(said.err.contains(&hint), "{}", said.err);
        let changes = scratch.git(&["-C", tree, "status", "--porcelain"]);
        assert_eq!(changes, "");
        types(&scratch, &next);
        fine(&scratch.piton(&["run", "prd"]));
        assert!(has_landed(&scratch));
    }
}

/// What a person takes off the branch stays off until they say otherwise.
#[test]
fn a_landing_that_is_taken_back_lands_again_by_the_command_alone() {
    let scratch = tracked();
    let begun = at(&scratch, "main");
    fine(&scratch.piton(&RUN));
    assert!(has_landed(&scratch));
    types(&scratch, &format!("git reset -q --hard {begun}"));
    let shown = scratch.piton(&["status", "prd"]).out;
    assert!(!shown.contains("landed on main"), "{shown}");
    let said = scratch.piton(&["run", "prd"]);
    fine(&said);
    assert!(said.err.contains("was taken back"), "{}", said.err);
    assert!(!said.err.contains("landed: main"), "{}", said.err);
    assert_eq!(at(&scratch, "main"), begun);
    let refused = scratch.piton(&["plan", "clean", "prd"]);
    assert_eq!(refused.exit, 1, "{}", refused.out);
    assert!(refused.err.contains("[run.not_landed]"), "{}", refused.err);
    let typed = refused
        .err
        .split('`')
        .find(|typed| typed.starts_with("piton land"));
    assert_eq!(typed, Some("piton land prd"), "{}", refused.err);
    fine(&scratch.piton(&["land", "prd"]));
    assert!(has_landed(&scratch));
    fine(&scratch.piton(&["plan", "clean", "prd"]));
    assert!(scratch.has("US-001.txt"));
}

/// It may be a secret.
#[test]
fn what_a_person_took_off_the_branch_while_it_worked_does_not_come_back() {
    let scratch = tracked();
    types(
        &scratch,
        "echo key >secret; git add secret; git commit -qm oops",
    );
    assert_eq!(scratch.piton(&[&RUN[..], &["--once"]].concat()).exit, 5);
    types(&scratch, "git reset -q --hard HEAD~1");
    let begun = at(&scratch, "main");
    let said = scratch.piton(&["run", "prd"]);
    fine(&said);
    assert!(said.err.contains("was set back behind"), "{}", said.err);
    assert_eq!(at(&scratch, "main"), begun);
    let refused = scratch.piton(&["land", "prd"]);
    assert_eq!(refused.exit, 1, "{}", refused.out);
    let typed: Vec<&str> = refused.err.split('`').skip(1).step_by(2).collect();
    types(&scratch, &format!("{} | grep -q oops", typed[0]));
    types(&scratch, typed[1]);
    assert!(has_landed(&scratch));
}

#[test]
fn what_a_person_rebased_and_merged_has_landed() {
    let scratch = tracked();
    assert_eq!(scratch.piton(&[&RUN[..], &["--once"]].concat()).exit, 5);
    types(
        &scratch,
        "echo more >more; git add more; git commit -qm more",
    );
    fine(&scratch.piton(&["run", "prd"]));
    let refused = scratch.piton(&["plan", "clean", "prd"]);
    assert_eq!(refused.exit, 1, "{}", refused.out);
    types(
        &scratch,
        "git rebase -q main piton/prd && git checkout -q main && git merge -q --ff-only piton/prd",
    );
    fine(&scratch.piton(&["plan", "clean", "prd"]));
    assert!(scratch.has("US-001.txt"));
    let branches = scratch.git(&["branch", "--format=%(refname:short)"]);
    assert_eq!(branches, "main\n");
}

/// A run whose work a person squashed on main, beside a commit of theirs.
fn squashed() -> Scratch {
    let scratch = tracked();
    run_with(&scratch, "git commit -q --allow-empty -m mine");
    scratch.git(&["merge", "-q", "--squash", TARGET]);
    scratch.git(&["commit", "-qm", "squashed"]);
    scratch
}

/// Squashed, its commits are on no branch of the person, and all of its work is.
#[test]
fn what_a_person_squashed_has_landed_and_further_work_begins_there() {
    for removes in [false, true] {
        let scratch = squashed();
        if removes {
            scratch.git(&["branch", "-qD", TARGET]);
        }
        let shown = scratch.piton(&["status"]).out;
        assert!(!shown.contains("git merge"), "{shown}");
        let said = scratch.piton(&["land"]);
        fine(&said);
        assert!(said.err.contains("main has the work"), "{}", said.err);
        if removes {
            fine(&scratch.piton(&["plan", "clean", "prd"]));
        }
        adds_a_story(&scratch);
    }
}

/// What becomes of its lines later is as people want it: a merge of the branch of the
/// run would bring back what they were.
#[test]
fn squashed_work_has_landed_whatever_becomes_of_it_on_its_branch() {
    let scratch = squashed();
    fine(&scratch.piton(&["land"]));
    scratch.write("US-001.txt", "said otherwise\n");
    scratch.git(&["rm", "-q", "US-002.txt"]);
    scratch.git(&["commit", "-qam", "a week later"]);
    let said = scratch.piton(&["land"]);
    fine(&said);
    assert!(said.err.contains("main has the work"), "{}", said.err);
    assert_eq!(count(&scratch, "run-landed"), 1);
    let shown = scratch.piton(&["status"]);
    assert!(!shown.out.contains("taken back"), "{}", shown.out);
    fine(&scratch.piton(&["plan", "clean", "prd"]));
    assert_eq!(scratch.read("US-001.txt"), "said otherwise\n");
    assert!(!scratch.has("US-002.txt"));
}

/// Until the commit that has it is taken back.
#[test]
fn squashed_work_whose_commit_is_taken_back_has_not_landed() {
    let scratch = squashed();
    fine(&scratch.piton(&["land"]));
    scratch.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let said = scratch.piton(&["plan", "clean", "prd"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("has not landed"), "{}", said.err);
}

/// Whoever cleans a run and goes on with its list the next day goes on from there.
#[test]
fn after_cleaning_further_work_begins_at_what_is_checked_out() {
    let scratch = tracked();
    fine(&scratch.piton(&RUN));
    fine(&scratch.piton(&["plan", "clean", "prd"]));
    adds_a_story(&scratch);
}

/// A story is added, beside a file that it needs, and done.
#[track_caller]
fn adds_a_story(scratch: &Scratch) {
    scratch.write("helper", "for the next one\n");
    let list = scratch.read("prd.json");
    let more = r#"{"id": "US-009", "title": "Nine", "passes": false, "verificationCommands": ["test -f helper"]}"#;
    let end = list.rfind(']').expect("a list");
    let list = format!("{}, {more}{}", list[..end].trim_end(), &list[end..]);
    scratch.write("prd.json", &list);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "one more"]);
    let begun_at = scratch.git(&["rev-parse", "HEAD"]);
    let said = scratch.piton(&RUN);
    fine(&said);
    assert!(scratch.read("prd.json").contains("US-009"), "{}", said.err);
    let shown = scratch.piton(&["show", "US-009"]).out;
    assert!(shown.contains("done    US-009"), "{shown}");
    scratch.git(&["merge-base", "--is-ancestor", begun_at.trim(), "HEAD"]);
    assert_ne!(scratch.git(&["rev-parse", "HEAD"]), begun_at);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
}

/// An agent that commits would conclude it, conflicts and all.
#[test]
fn no_agent_begins_in_the_middle_of_a_merge() {
    let scratch = tracked();
    types(
        &scratch,
        "git switch -qc other; echo theirs >shared; git commit -qam theirs; git switch -q main; echo ours >shared; git commit -qam ours; git merge -q other || true",
    );
    let said = scratch.piton(&["run", "prd.json", "--agent", "./agent.sh"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(
        said.err.contains("a merge was begun and is not finished"),
        "{}",
        said.err
    );
    assert!(said.err.contains("[git.dirty]"), "{}", said.err);
    assert!(!scratch.has("US-001.txt"));
    types(&scratch, "echo both >shared; git commit -qam both");
    fine(&scratch.piton(&["run", "prd.json", "--agent", "./agent.sh"]));
}

/// Whatever a person changes after the landing is an edit of theirs.
#[test]
fn a_mark_that_a_person_takes_back_after_the_landing_is_asked_about() {
    let scratch = tracked();
    fine(&scratch.piton(&RUN));
    let list = scratch.read("prd.json").replacen("true", "false", 1);
    scratch.write("prd.json", &list);
    scratch.git(&["commit", "-qam", "again"]);
    let said = scratch.piton(&["run", "prd"]);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert_eq!(scratch.read("prd.json"), list);
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
fn where_one_lane_has_changes_nothing_is_removed_and_the_way_on_is_named() {
    let scratch = project();
    scratch.write(".piton/config.toml", TEARDOWN);
    fine(&scratch.piton(&RUN));
    let before = known(&scratch);
    let mut trees = lanes(&scratch);
    trees.retain(|lane| {
        let used = scratch.read(&format!("{lane}/lane.json"));
        !used.contains("merge-queue")
    });
    let tree = tree_in(&scratch, trees.last().expect("the lane of a unit"));
    std::fs::write(tree.join("mine"), "mine").expect("written");
    let said = scratch.piton(&["plan", "clean", "prd"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("[lane.dirty]"), "{}", said.err);
    assert!(said.err.contains(&*tree.to_string_lossy()), "{}", said.err);
    assert!(said.err.contains("nothing was removed"), "{}", said.err);
    assert_eq!(known(&scratch), before);
    assert!(!scratch.has("torn-down"));
    // What it names puts the changes aside, and they are not lost.
    let typed = said.err.split('`').find(|it| it.contains("stash"));
    types(&scratch, typed.expect("what to type"));
    fine(&scratch.piton(&["plan", "clean", "prd"]));
    assert!(!tree.exists());
    let kept = scratch.git(&["show", "stash@{0}^3:mine"]);
    assert_eq!(kept, "mine");
    let status = scratch.piton(&["status"]).out;
    assert!(!status.contains("on the branch"), "{status}");
    assert!(status.contains("landed on main"), "{status}");
}

#[test]
fn what_was_left_out_goes_with_its_lane_and_the_commit_is_named() {
    let scratch = Scratch::new();
    // The second one fails last, so that nobody takes its lane.
    scratch.agent(
        "cat >/dev/null
echo made >$PITON_ITEM.txt
if [ $PITON_ITEM = US-002 ]
then until git rev-parse -q --verify piton/prd^2 >/dev/null; do sleep 0.05; done
  echo '{\"status\": \"blocked\", \"error\": \"no\"}'
else echo '{\"status\": \"completed\", \"summary\": \"did it\"}'
fi",
    );
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch.write("prd.json", LIST);
    let before = known(&scratch);
    assert_eq!(scratch.piton(&RUN).exit, 1);
    fine(&scratch.piton(&["plan", "skip", "US-002"]));
    fine(&scratch.piton(&RUN));
    let changed = |lane: &String| {
        let tree = tree_in(&scratch, lane).display().to_string();
        !scratch
            .git(&["-C", &tree, "status", "--porcelain"])
            .is_empty()
    };
    assert!(
        lanes(&scratch).iter().any(changed),
        "nothing is left in a lane"
    );
    let said = scratch.piton(&["plan", "clean", "prd"]);
    fine(&said);
    assert_eq!(known(&scratch), before);
    let typed = said.err.split('`').find(|it| it.contains("git branch"));
    types(&scratch, typed.expect("what to type"));
    assert_eq!(scratch.git(&["show", "NAME:US-002.txt"]), "made\n");
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
