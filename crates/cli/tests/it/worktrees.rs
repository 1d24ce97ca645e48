//! Sprints that are worked on in a worktree of their own.

use std::path::{Path, PathBuf};

use crate::harness::{DEMO, RUN, Running, Said, Scratch};

const TWO: &str = "  - {id: one, prompt: do one}\n  - {id: two, prompt: do two}\n";
/// Where the worktree of these sprints is.
const TREE: &str = "trees/demo";
const BRANCH: &str = "sprint/demo";

/// Commits what it made of its node.
const WORK: &str = "cat >.prompt\ncase $PITON_ITEM in *one) grep -q 'Where you work' .prompt || exit 9;; esac\nrm .prompt\necho $PITON_ITEM >>made\ngit add made\ngit commit -qm \"$PITON_ITEM\"\necho fine";

/// A repository with a sprint of two phases that wants a worktree with these
/// settings besides.
fn project_with(settings: &str, phases: &str, agent: &str) -> Scratch {
    let scratch = Scratch::new();
    let worktree =
        format!("worktree: {{enabled: true, branch: {BRANCH}, path: {TREE}{settings}}}\n");
    scratch.sprint_with(&worktree, phases).agent(agent);
    scratch.write(".gitignore", "/trees/\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch
}

fn project(settings: &str) -> Scratch {
    project_with(settings, TWO, WORK)
}

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

/// The subjects of the commits that a branch has and `main` has not.
fn commits(scratch: &Scratch, branch: &str) -> String {
    let range = format!("main..{branch}");
    scratch.git(&["log", "--format=%s", "--reverse", &range])
}

fn tree(scratch: &Scratch) -> PathBuf {
    scratch.path().join(TREE)
}

#[test]
fn the_work_is_done_there_and_the_progress_is_kept_in_the_main_work_tree() {
    let scratch = project(", cleanup: never");
    // What a person has under way in the main work tree is in no agent's way.
    scratch.write("mine", "half done");
    let said = scratch.run(&[]);
    fine(&said);
    assert_eq!(scratch.read("trees/demo/made"), "one\ntwo\n");
    assert!(!scratch.has("made"), "in the main work tree");
    assert_eq!(commits(&scratch, BRANCH), "one\ntwo\n");
    assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
    assert!(!scratch.has("trees/demo/demo/PROGRESS.yaml"));
    assert!(!scratch.has("trees/demo/.piton"));
    let changed = scratch.git(&["status", "--porcelain"]);
    assert_eq!(changed, "?? demo/PROGRESS.yaml\n?? mine\n");
    for words in [
        "made the branch sprint/demo and its worktree ",
        "see it with `git log main..sprint/demo` and `git diff main...sprint/demo`",
        "land it on main with `git merge sprint/demo`",
    ] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    let status = scratch.json(&["status"]);
    let place = &status["run"]["place"];
    assert_eq!(place["branch"], BRANCH);
    assert_eq!(place["path"], tree(&scratch).to_string_lossy().as_ref());
    let shown = scratch.piton(&["status"]).out;
    assert!(
        shown.contains("Work: on the branch sprint/demo in "),
        "{shown}"
    );
    // The work is another branch's, as seen from here.
    assert_eq!(status["run"]["nodes"][0]["done_on"], BRANCH);
    let files = &scratch.json(&["show", "two"])["attempts"][0];
    assert!(files.to_string().contains("\"made\""), "{files}");
}

#[test]
fn piton_commits_there_and_checks_run_there() {
    let phases = "  - id: one\n    prompt: do one\n    gate: {script: 'test -e made', on-fail: {prompt: mend it}}\n";
    let agent = "echo $PITON_ITEM >>made; echo fine";
    let scratch = project_with(", cleanup: never", phases, agent);
    let sprint = scratch.read("demo/SPRINT.yaml");
    scratch.write(
        "demo/SPRINT.yaml",
        &format!("{sprint}config: {{auto-commit: true}}\n"),
    );
    let head = scratch.git(&["rev-parse", "HEAD"]);
    fine(&scratch.run(&[]));
    assert_eq!(commits(&scratch, BRANCH), format!("{DEMO}: one\n"));
    assert_eq!(scratch.git(&["rev-parse", "HEAD"]), head);
    let of_branch = format!("main..{BRANCH}");
    let files = scratch.git(&["log", "--name-only", "--format=", &of_branch]);
    assert_eq!(files, "made\n");
    let kinds = scratch.event_kinds();
    let at = |kind: &str| kinds.iter().position(|known| known == kind);
    assert!(at("run-targeted") < at("attempt-started"), "{kinds:?}");
}

/// A place where no worktree can be, and what is said to it.
#[test]
fn a_place_that_is_no_place_for_a_worktree_is_refused_in_words() {
    for (path, words) in [
        (".", "SPRINT.yaml:"),
        (".git/x", "SPRINT.yaml:"),
        (
            "SCRATCH",
            "SCRATCH, which holds the project [worktree.taken]",
        ),
        ("SCRATCH/.git/x", "SPRINT.yaml:"),
        (
            "SCRATCH/src",
            "and git tracks files in src [worktree.taken]",
        ),
        (
            "SCRATCH/src/x",
            "and git tracks files in src [worktree.taken]",
        ),
        ("src/x", "and git tracks files in src [worktree.taken]"),
    ] {
        let scratch = project("");
        scratch.write("src/main", "");
        scratch.git(&["add", "src"]);
        scratch.git(&["commit", "-qm", "src"]);
        std::fs::remove_dir_all(scratch.path().join("src")).expect("removed");
        let at = path.replace("SCRATCH", &scratch.path().to_string_lossy());
        let sprint = scratch.read("demo/SPRINT.yaml").replace(TREE, &at);
        scratch.write("demo/SPRINT.yaml", &sprint);
        let said = scratch.run(&[]);
        let shown = said.shown(&scratch);
        assert_ne!(said.exit, 0, "{path}: {shown}");
        assert!(
            shown.contains(words) && shown.contains("path"),
            "{path}: {shown}"
        );
        assert!(!scratch.has(".piton"), "{path}: {shown}");
    }
}

/// Else the next `git add --all` of a person or an agent stages it as a submodule.
#[test]
fn a_worktree_inside_of_the_repository_is_excluded_from_it_while_it_is_there() {
    let scratch = project(", cleanup: never");
    scratch.write(".gitignore", "");
    let sprint = scratch.read("demo/SPRINT.yaml");
    scratch.write("demo/SPRINT.yaml", &sprint.replace(TREE, "'tree [one]'"));
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "no longer ignored"]);
    scratch.write(".git/info/exclude", "# mine\n*.mine");
    fine(&scratch.run(&[]));
    assert!(scratch.has("tree [one]/made"));
    scratch.git(&["add", "--all"]);
    let staged = scratch.git(&["diff", "--cached", "--name-only"]);
    assert_eq!(staged, "demo/PROGRESS.yaml\n");
    fine(&scratch.piton(&["plan", "clean", "demo"]));
    assert!(!scratch.has("tree [one]"));
    assert_eq!(scratch.read(".git/info/exclude"), "# mine\n*.mine\n");
}

/// What is there before a run begins, and what is said to it: none where it runs.
const FOUND: &[(&str, &str, Option<&str>)] = &[
    ("nothing", "true", None),
    ("the branch", "git branch sprint/demo", None),
    ("an empty folder", "mkdir -p trees/demo", None),
    (
        "all of it",
        "git worktree add -q -b sprint/demo trees/demo",
        None,
    ),
    (
        "what git knows of a folder that is gone",
        "git worktree add -q -b sprint/demo trees/demo && mv trees/demo trees/other",
        None,
    ),
    (
        "a folder with something in it",
        "mkdir -p trees/demo && touch trees/demo/x",
        Some("trees/demo is no worktree of this repository [worktree.taken]"),
    ),
    (
        "a worktree of another branch",
        "git worktree add -q -b other trees/demo",
        Some("trees/demo has `other` checked out, and not `sprint/demo` [worktree.taken]"),
    ),
    (
        "a worktree of no branch",
        "git worktree add -q --detach trees/demo",
        Some("trees/demo has no branch checked out, and not `sprint/demo` [worktree.taken]"),
    ),
    (
        "the branch in another worktree",
        "git worktree add -q -b sprint/demo trees/else",
        Some("the branch `sprint/demo` is checked out in SCRATCH/trees/else [worktree.taken]"),
    ),
    (
        "the branch in the main work tree",
        "git switch -qc sprint/demo",
        Some("the branch `sprint/demo` is checked out in SCRATCH [worktree.taken]"),
    ),
    (
        "a locked worktree",
        "git worktree add -q -b sprint/demo trees/demo && git worktree lock --reason mine trees/demo",
        Some("trees/demo is locked: mine [worktree.locked]"),
    ),
    (
        "a locked worktree whose folder is not there",
        "git worktree add -q -b sprint/demo trees/demo && git worktree lock trees/demo && mv trees/demo trees/other",
        Some("trees/demo is locked [worktree.locked]"),
    ),
    (
        "a worktree with changes",
        "git worktree add -q -b sprint/demo trees/demo && touch trees/demo/x",
        Some("trees/demo has changes that are not committed: x [worktree.dirty]"),
    ),
    (
        "a branch that is in the way of the name",
        "git branch sprint",
        Some(
            "no branch can be called `sprint/demo` while there is one that is called `sprint` [worktree.taken]",
        ),
    ),
];

#[test]
fn what_is_there_is_used_or_refused_with_its_place() {
    for (what, made_by, refused) in FOUND {
        let scratch = project(", cleanup: never");
        scratch.write("make.sh", made_by);
        let made = scratch.shell("make.sh").status().expect("sh starts");
        assert!(made.success(), "{what}");
        let before = scratch.git(&["for-each-ref"]);
        let said = scratch.run(&[]);
        let shown = said.shown(&scratch);
        let Some(words) = refused else {
            assert_eq!(said.exit, 0, "{what}: {shown}");
            assert_eq!(commits(&scratch, BRANCH), "one\ntwo\n", "{what}");
            continue;
        };
        assert!(shown.contains(words), "{what}: {shown}");
        assert!(shown.contains("hint: "), "{what}: {shown}");
        assert_eq!(said.exit, 1, "{what}: {shown}");
        // Nothing is half done: neither recorded nor made.
        assert!(!scratch.has(".piton"), "{what}");
        assert_eq!(scratch.git(&["for-each-ref"]), before, "{what}");
    }
}

#[test]
fn without_a_repository_or_a_commit_it_is_refused_in_words() {
    let flows = ["--workflows", ".claude/workflows"];
    let (outside, unborn) = (Scratch::outside_git(), Scratch::new());
    for (scratch, words, exit) in [
        (
            &outside,
            "its folder is in no git repository [git.missing]",
            7,
        ),
        (
            &unborn,
            "the repository has no commit yet to begin at [git.no_commit]",
            1,
        ),
    ] {
        let worktree = "worktree: {enabled: true}\n";
        scratch.sprint_with(worktree, TWO).agent(WORK);
        let said = scratch.run(&flows);
        assert_eq!(said.exit, exit, "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
        assert!(said.err.contains("--ignore worktree`"), "{}", said.err);
    }
    assert!(!outside.has(".piton") && !unborn.has(".piton"));
    unborn.agent("echo fine");
    fine(&unborn.run(&["--ignore", "worktree"]));
}

#[test]
fn the_worktree_is_removed_when_its_plan_says_and_the_branch_stays() {
    for (settings, after_run, after_merge) in [
        (", cleanup: never", true, true),
        (", cleanup: on-complete", false, false),
        ("", false, false),
        (", cleanup: on-merge", true, false),
    ] {
        let scratch = project(settings);
        fine(&scratch.run(&[]));
        assert_eq!(scratch.has(TREE), after_run, "{settings}");
        assert_eq!(commits(&scratch, BRANCH), "one\ntwo\n", "{settings}");
        fine(&scratch.piton(&["log", "milestone_reached", "--description", "a day"]));
        assert_eq!(scratch.has(TREE), after_run, "{settings}");
        scratch.git(&["merge", "-q", BRANCH]);
        fine(&scratch.piton(&["log", "milestone_reached", "--description", "a night"]));
        assert_eq!(scratch.has(TREE), after_merge, "{settings}");
        assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
        fine(&scratch.piton(&["plan", "clean", "demo"]));
        assert!(!scratch.has(TREE), "{settings}");
        assert_eq!(commits(&scratch, BRANCH), "", "{settings}");
    }
}

#[test]
fn a_worktree_with_changes_stays_and_is_named() {
    let scratch = project_with("", TWO, "echo $PITON_ITEM >>made; echo fine");
    let said = scratch.run(&[]);
    fine(&said);
    assert!(
        said.err
            .contains("trees/demo stays: it has changes that are not committed: made"),
        "{}",
        said.err
    );
    let said = scratch.piton(&["plan", "clean", "demo"]);
    assert!(said.err.contains("[worktree.dirty]"), "{}", said.err);
    assert_eq!(scratch.read("trees/demo/made"), "one\ntwo\n");
    scratch.git(&["-C", TREE, "add", "made"]);
    scratch.git(&["-C", TREE, "commit", "-qm", "made"]);
    // Whoever asks for the finished run has it removed as well.
    fine(&scratch.run(&[]));
    assert!(!scratch.has(TREE));
}

/// What keeps a finished run's worktree, its code, and what to type.
const STAYS: &[(&str, &str, &str)] = &[
    (
        "touch trees/demo/x",
        "it has changes that are not committed: x [worktree.dirty]",
        "commit what is to be kept",
    ),
    (
        "git -C trees/demo switch -qc other",
        "`sprint/demo` is not checked out there [worktree.taken]",
        "switch sprint/demo`",
    ),
    (
        "git worktree lock --reason 'on a stick' trees/demo",
        "it is locked: on a stick [worktree.locked]",
        "git worktree unlock SCRATCH/trees/demo`",
    ),
    (
        "true",
        "it is the present folder [worktree.in_use]",
        "`cd SCRATCH`",
    ),
];

#[test]
fn what_keeps_a_worktree_has_its_own_code_and_way_on() {
    for (done_by, words, way_on) in STAYS {
        let scratch = project(", cleanup: never");
        fine(&scratch.run(&[]));
        scratch.write("do.sh", done_by);
        let done = scratch.shell("do.sh").status().expect("sh starts");
        assert!(done.success(), "{done_by}");
        let folder = if *done_by == "true" { TREE } else { "." };
        let said = Running::start(scratch.command_in(folder, &["plan", "clean", DEMO])).end();
        let shown = said.shown(&scratch);
        assert_eq!(said.exit, 1, "{done_by}: {shown}");
        assert!(shown.contains(words), "{done_by}: {shown}");
        assert!(shown.contains(way_on), "{done_by}: {shown}");
        assert!(!shown.contains("force") && !shown.contains("-f"), "{shown}");
        assert!(scratch.has(TREE), "{done_by}");
    }
}

#[test]
fn ignored_files_are_counted_and_named_before_they_go() {
    let scratch = project(", cleanup: never");
    scratch.write(".gitignore", "/trees/\n*.env\n/built/\n");
    scratch.git(&["commit", "-qam", "ignore"]);
    fine(&scratch.run(&[]));
    for file in ["a.env", "b.env", "built/c", "built/d"] {
        scratch.write(&format!("{TREE}/{file}"), "");
    }
    let said = scratch.piton(&["plan", "clean", "demo"]);
    fine(&said);
    let words = format!(
        "4 files that git ignores go with the worktree {}: a.env, b.env, built/c and 1 more",
        tree(&scratch).display()
    );
    let (named, removed) = (said.err.find(&words), said.err.find("removed the worktree"));
    assert!(named.is_some() && named < removed, "{}", said.err);
}

#[test]
fn only_what_is_committed_and_not_merged_is_said_to_be_landed() {
    let scratch = project_with(
        ", cleanup: never",
        TWO,
        "echo $PITON_ITEM >>made; echo fine",
    );
    let said = scratch.run(&[]);
    fine(&said);
    assert!(
        !said.err.contains("land it"),
        "nothing is committed: {}",
        said.err
    );
    let words = format!(
        "not committed there: made; commit it with `git -C {} commit`",
        tree(&scratch).display()
    );
    assert!(said.err.contains(&words), "{}", said.err);
    scratch.git(&["-C", TREE, "add", "made"]);
    scratch.git(&["-C", TREE, "commit", "-qm", "made"]);
    let shown = scratch.piton(&["status"]).out;
    assert!(shown.contains("land it on main with `git merge"), "{shown}");
    assert!(!shown.contains("not committed there"), "{shown}");
    scratch.write("trees/demo/more", "");
    let shown = scratch.piton(&["status"]).out;
    assert!(shown.contains("not committed there: more"), "{shown}");
    assert!(shown.contains("land it on main with `git merge"), "{shown}");
    scratch.git(&["merge", "-q", BRANCH]);
    let shown = scratch.piton(&["status"]).out;
    assert!(
        shown.contains("its commits are merged into main"),
        "{shown}"
    );
    assert!(!shown.contains("land it"), "{shown}");
    let place = &scratch.json(&["status"])["run"]["place"];
    assert_eq!(
        (&place["merged"], &place["merge"]),
        (&true.into(), &serde_json::Value::Null)
    );
}

#[test]
fn an_agent_that_will_not_be_in_the_worktree_is_refused_before_that_is_made() {
    let scratch = project(", cleanup: never");
    scratch.write("x.sh", "#!/bin/sh\necho fine");
    let made = scratch.path().join("x.sh");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&made, mode).expect("it is there");
    let typed =
        |agent: &str| scratch.piton(&["run", "demo", "--agent", agent, "--verdict", "exit-status"]);
    let said = typed("./x.sh --fast");
    assert_eq!(said.exit, 7, "{}", said.err);
    let words = "`./x.sh` is not in the commit at which the worktree begins [agent.cannot_start]";
    assert!(said.err.contains(words), "{}", said.err);
    let way_on = format!("--agent {}`", made.display());
    assert!(said.err.contains(&way_on), "{}", said.err);
    assert!(!scratch.has(TREE), "{}", said.err);
    assert_eq!(scratch.git(&["branch", "--list", BRANCH]), "");
    assert!(
        !scratch
            .event_kinds()
            .iter()
            .any(|kind| kind == "run-planned")
    );
    fine(&typed(&made.to_string_lossy()));
}

fn dies(scratch: &Scratch, failpoint: &str) {
    let mut command = scratch.command(RUN);
    command.env("PITON_FAILPOINT", failpoint);
    let said = Running::start(command).end();
    assert_eq!(said.exit, -1, "{failpoint}: {}", said.err);
}

#[test]
fn a_death_at_any_step_is_made_good_by_the_next_run() {
    for failpoint in [
        "worktree.before-add",
        "worktree.added",
        "run.leased",
        "run.before-start",
        "run.agent-ended",
        "run.released",
        "worktree.before-remove",
    ] {
        let scratch = project("");
        dies(&scratch, failpoint);
        fine(&scratch.run(&[]));
        let commits = commits(&scratch, BRANCH);
        let of_two = commits.lines().filter(|subject| *subject == "two");
        assert_eq!(of_two.count(), 1, "{failpoint}: {commits}");
        assert!(!scratch.has(TREE) && !scratch.has("made"), "{failpoint}");
        assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
        let trees = scratch.git(&["worktree", "list", "--porcelain"]);
        assert_eq!(
            trees.matches("worktree ").count(),
            1,
            "{failpoint}: {trees}"
        );
    }
}

#[test]
fn a_worktree_that_git_did_not_make_to_the_end_is_finished() {
    let scratch = project(", cleanup: never");
    dies(&scratch, "worktree.added");
    // As git leaves it that is ended in the middle.
    scratch.write(".git/worktrees/demo/locked", "initializing");
    std::fs::remove_file(tree(&scratch).join("agent.sh")).expect("it was there");
    fine(&scratch.run(&[]));
    assert_eq!(commits(&scratch, BRANCH), "one\ntwo\n");
    assert!(!scratch.has(".git/worktrees/demo/locked"));
}

#[test]
fn what_comes_into_its_way_between_two_runs_is_refused_and_named() {
    for (what, done_by, words) in [
        (
            "another branch there",
            "git -C trees/demo switch -qc else",
            "has `else` checked out, and not `sprint/demo` [worktree.taken]",
        ),
        (
            "all of it is gone",
            "git worktree remove --force trees/demo && git branch -qD sprint/demo",
            "the branch sprint/demo that this run works on is gone",
        ),
        (
            "its link to the repository",
            "rm trees/demo/.git",
            "has lost its `.git` file [worktree.taken]",
        ),
    ] {
        let scratch = project(", cleanup: never");
        assert_eq!(scratch.run(&["--once"]).exit, 5, "{what}");
        scratch.write("do.sh", done_by);
        assert!(
            scratch
                .shell("do.sh")
                .status()
                .expect("sh starts")
                .success()
        );
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 1, "{what}: {}", said.err);
        assert!(said.err.contains(words), "{what}: {}", said.err);
        assert!(!scratch.has("made"), "{what}");
    }
}

#[test]
fn a_folder_that_is_gone_between_two_runs_is_made_again() {
    let scratch = project(", cleanup: never");
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    std::fs::remove_dir_all(tree(&scratch)).expect("removed");
    fine(&scratch.run(&[]));
    assert_eq!(commits(&scratch, BRANCH), "one\ntwo\n");
}

/// Work that is gone with its folder is no work, whatever its agent says.
#[test]
fn an_attempt_whose_worktree_is_removed_under_it_has_failed() {
    let (removed, unlinked) = ("rm -rf \"$PWD\"", "rm .git");
    for (taken, lost) in [
        (removed, "of the run is gone"),
        (unlinked, "has lost its `.git` file"),
    ] {
        for settings in ["", "config: {auto-commit: true}\n"] {
            let agent = format!(
                "echo one >made\ntest -e ../../twice || {{ touch ../../twice; {taken}; }}\necho fine"
            );
            let phases = "  - {id: one, prompt: do one}\n";
            let scratch = project_with(", cleanup: never", phases, &agent);
            let sprint = scratch.read("demo/SPRINT.yaml");
            scratch.write("demo/SPRINT.yaml", &format!("{sprint}{settings}"));
            let said = scratch.run(&[]);
            let what = format!("{taken}, {settings}: {}", said.err);
            assert_eq!(said.exit, 1, "{what}");
            let words = format!("the worktree {} {lost}", tree(&scratch).display());
            assert!(said.err.contains(&words), "{what}");
            assert!(said.err.contains("[worktree.gone]"), "{what}");
            assert!(said.err.contains("hint: "), "{what}");
            assert!(!said.err.contains("git.missing"), "{what}");
            let status = scratch.json(&["status"]);
            assert_eq!(status["run"]["state"], "interrupted", "{what}");
            let shown = scratch.json(&["show", "one"]);
            assert_eq!(shown["attempts"][0]["outcome"], "failed", "{what}");
            assert!(!scratch.has("made"), "{what}");
            if taken == unlinked {
                continue;
            }
            let said = scratch.run(&[]);
            fine(&said);
            assert_eq!(scratch.read("trees/demo/made"), "one\n", "{}", said.err);
        }
    }
}

#[test]
fn work_that_is_gone_with_its_worktree_while_the_runner_is_dead_is_done_again() {
    let agent = "echo $PITON_ITEM >>made; echo fine";
    let scratch = project_with(", cleanup: never", TWO, agent);
    let sprint = scratch.read("demo/SPRINT.yaml");
    let sprint = format!("{sprint}config: {{auto-commit: true}}\n");
    scratch.write("demo/SPRINT.yaml", &sprint);
    dies(&scratch, "run.before-commit");
    std::fs::remove_dir_all(tree(&scratch)).expect("removed");
    let said = scratch.run(&[]);
    fine(&said);
    let words = format!(
        "the worktree {} of the run is gone",
        tree(&scratch).display()
    );
    assert!(said.err.contains(&words), "{}", said.err);
    assert!(said.err.contains("one is worked on again"), "{}", said.err);
    let made = format!("{DEMO}: one\n{DEMO}: two\n");
    assert_eq!(commits(&scratch, BRANCH), made);
    let shown = scratch.json(&["show", "one"]);
    assert_eq!(shown["item"]["attempts"], 2, "{shown}");
}

#[test]
fn a_refused_commit_whose_worktree_is_gone_is_worked_on_again_when_it_is_tried_again() {
    let agent = "echo $PITON_ITEM >>made; echo fine";
    let one = "  - {id: one, prompt: do one}\n";
    let scratch = project_with(", cleanup: never", one, agent);
    let sprint = scratch.read("demo/SPRINT.yaml");
    let sprint = format!("{sprint}config: {{auto-commit: true}}\n");
    scratch.write("demo/SPRINT.yaml", &sprint);
    scratch.script(".git/hooks/pre-commit", "exit 1");
    assert_eq!(scratch.run(&[]).exit, 1);
    std::fs::remove_dir_all(tree(&scratch)).expect("removed");
    scratch.script(".git/hooks/pre-commit", "true");
    fine(&scratch.piton(&["plan", "retry", "one"]));
    let said = scratch.run(&[]);
    fine(&said);
    assert_eq!(commits(&scratch, BRANCH), format!("{DEMO}: one\n"));
    assert_eq!(scratch.read("trees/demo/made"), "one\n");
}

/// What a person does while the runner is dead settles its commit: on the branch,
/// and never in the main work tree.
#[test]
fn a_commit_that_a_death_cut_off_is_settled_on_its_branch_or_nowhere() {
    for folder_stays in [true, false] {
        let scratch = project_with("", TWO, "echo $PITON_ITEM >>made; echo fine");
        let sprint = scratch.read("demo/SPRINT.yaml");
        let sprint = format!("{sprint}config: {{auto-commit: true}}\n");
        scratch.write("demo/SPRINT.yaml", &sprint);
        scratch.write("mine", "half done");
        dies(&scratch, "run.before-commit");
        if !folder_stays {
            std::fs::remove_dir_all(tree(&scratch)).expect("removed");
        }
        let head = scratch.git(&["rev-parse", "HEAD"]);
        fine(&scratch.piton(&["plan", "skip", "two"]));
        let made = if folder_stays {
            format!("{DEMO}: one\n")
        } else {
            String::new()
        };
        assert_eq!(commits(&scratch, BRANCH), made);
        assert_eq!(scratch.git(&["rev-parse", "HEAD"]), head);
        let changed = scratch.git(&["status", "--porcelain"]);
        assert!(changed.contains("?? mine\n"), "{changed}");
    }
}

#[test]
fn what_people_do_in_the_main_work_tree_asks_for_no_merge() {
    let agent = "test -e go || exit 1\necho $PITON_ITEM >>made\ngit add made\ngit commit -qm $PITON_ITEM\necho fine";
    let three = "  - {id: one, prompt: do one}\n  - {id: two, prompt: do two}\n  - {id: three, prompt: do three}\n";
    let scratch = project_with(", cleanup: never", three, agent);
    // Its progress is tracked, and shown where the project is.
    fine(&scratch.piton(&["plan", "compile", "demo"]));
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "compiled"]);
    assert_eq!(scratch.run(&[]).exit, 1, "one fails for good");
    fine(&scratch.piton(&["plan", "skip", "one"]));
    fine(&scratch.piton(&["log", "milestone_reached", "--description", "a day"]));
    scratch.write("trees/demo/go", "");
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    fine(&scratch.piton(&["log", "milestone_reached", "--description", "a night"]));
    let said = scratch.run(&[]);
    fine(&said);
    assert_eq!(commits(&scratch, BRANCH), "two\nthree\n");
    assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
    let kinds = scratch.event_kinds();
    let asked = kinds.iter().filter(|kind| *kind == "decision-opened");
    assert_eq!(asked.count(), 1, "{kinds:?}");
    // Nor once the worktree is gone, before and after the work is here.
    std::fs::remove_file(tree(&scratch).join("go")).expect("it was there");
    fine(&scratch.piton(&["plan", "clean", "demo"]));
    for _ in 0..2 {
        fine(&scratch.piton(&["log", "milestone_reached", "--description", "a week"]));
        assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
        assert_eq!(
            scratch.json_list(&["inbox"]).as_array().map(Vec::len),
            Some(0)
        );
        scratch.git(&["checkout", "-q", "--", "agent.sh"]);
        scratch.git(&["merge", "-q", BRANCH]);
    }
}

/// The copy of a sprint on its branch is no other sprint.
#[test]
fn a_plan_typed_in_its_own_worktree_goes_on_with_its_run() {
    for typed in [&["demo"][..], &["demo/SPRINT.yaml"], &[]] {
        let scratch = project(", cleanup: never");
        assert_eq!(scratch.run(&["--once"]).exit, 5);
        let folder = if typed.is_empty() {
            "trees/demo/demo"
        } else {
            TREE
        };
        let agent = ["--agent", WORK, "--verdict", "exit-status"];
        let args = [&["run"], typed, &agent].concat();
        let said = Running::start(scratch.command_in(folder, &args)).end();
        let what = format!("{typed:?}: {}", said.err);
        assert_eq!(said.exit, 0, "{what}");
        assert!(
            said.err.contains("going on with run `2026-01-15_demo`"),
            "{what}"
        );
        assert_eq!(commits(&scratch, BRANCH), "one\ntwo\n", "{what}");
        assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
        assert!(!scratch.has("trees/demo/demo/PROGRESS.yaml"), "{what}");
        let kinds = scratch.event_kinds();
        let planned = kinds.iter().filter(|kind| *kind == "run-planned").count();
        assert_eq!(planned, 1, "{what}");
        // So does every other command that takes a plan.
        let status = Running::start(scratch.command_in(TREE, &["status", "demo"])).end();
        assert_eq!(status.exit, 0, "{}", status.err);
    }
}

/// Without its folder, the branch of a run is at the tip that git knows.
#[test]
fn what_a_person_does_without_the_folder_belongs_to_the_branch_of_the_run() {
    let scratch = project(", cleanup: never");
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let tip = scratch.git(&["rev-parse", BRANCH]);
    fine(&scratch.piton(&["plan", "clean", "demo"]));
    assert!(!scratch.has(TREE));
    let file = scratch.read("demo/PROGRESS.yaml");
    let file = file.replacen("status: pending", "status: completed", 1);
    scratch.write("demo/PROGRESS.yaml", &file);
    fine(&scratch.piton(&["files", "sync"]));
    let events = scratch.piton(&["journal", "export"]).out;
    let done = events
        .lines()
        .rfind(|line| line.contains("\"item-moved\"") && line.contains("\"done\""));
    let done = done.expect("two is done");
    assert!(done.contains(BRANCH) && done.contains(tip.trim()), "{done}");
}

#[test]
fn two_sprints_work_side_by_side_in_their_worktrees() {
    let scratch = project_with(
        "",
        TWO,
        "touch ../../begun; until test -e ../../go; do sleep 0.05; done; echo fine",
    );
    let settings = scratch.read("demo/SPRINT.yaml");
    let second = settings
        .replace("sprint/demo", "sprint/second")
        .replace(TREE, "trees/second");
    scratch.write(
        "second/SPRINT.yaml",
        &second.replace(DEMO, "2026-01-16_second"),
    );
    let first = scratch.start_run(&[]);
    scratch.until("the first is at work", || scratch.has("begun"));
    std::fs::remove_file(scratch.path().join("begun")).expect("it was there");
    let args = [
        "run",
        "second",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let second = Running::start(scratch.command(&args));
    scratch.until("the second is at work", || scratch.has("begun"));
    scratch.write("go", "");
    fine(&first.end());
    fine(&second.end());
}

/// A real sprint that asks for a worktree, from the folder of samples.
#[test]
fn the_real_sprint_with_a_worktree_runs_as_it_is() {
    let Some(samples) = std::env::var_os("PITON_SAMPLES").map(PathBuf::from) else {
        eprintln!("skipped: PITON_SAMPLES names no folder");
        return;
    };
    let folder = samples.join("sprint-yaml/real-isolated/worktree-sprint");
    let scratch = Scratch::outside_git();
    let inside = scratch.path().join("project");
    let name = "2026-01-29_worktree-test";
    copy(&folder.join(name), &inside.join("sprints").join(name));
    copy(&folder.join("workflows"), &inside.join(".claude/workflows"));
    for args in [
        &["init", "-q", "-b", "main", "project"][..],
        &["-C", "project", "add", "--all"],
        &[
            "-C",
            "project",
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=a@b.c",
            "commit",
            "-qm",
            "begin",
        ],
    ] {
        scratch.git(args);
    }
    let sprint = format!("sprints/{name}");
    let agent = [
        "--agent",
        "pwd >>../../where; echo fine",
        "--verdict",
        "exit-status",
    ];
    let args = [&["run", &sprint], &agent[..]].concat();
    let said = Running::start(scratch.command_in("project", &args)).end();
    fine(&said);
    let at = scratch.path().join("worktrees").join(name);
    let at = at.to_string_lossy().into_owned();
    let where_all = scratch.read("where");
    assert!(where_all.lines().all(|line| line == at), "{where_all}");
    assert!(!Path::new(&at).exists(), "on-complete");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("the sample is there") {
        let path = entry.expect("listed").path();
        let name = path.file_name().expect("a name");
        if path.is_file() && name != "expected.yaml" {
            std::fs::copy(&path, to.join(name)).expect("copied");
        }
    }
}
