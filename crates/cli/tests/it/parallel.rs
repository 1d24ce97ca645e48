//! Sprints whose plan allows several items at once: how many are worked on, and what
//! becomes of what waits for one that failed.

use crate::harness::{DEMO, Running, Said, Scratch};

const DONE: &str = "echo '{\"status\": \"completed\", \"summary\": \"did it\"}'";

/// Two phases that may be worked on at once.
const TWO: &str =
    "  - {id: one, prompt: Do., parallel: true}\n  - {id: two, prompt: Do., parallel: true}\n";

/// Waits for the other agent before it goes on.
const BARRIER: &str = "touch $PITON_PROJECT/.piton/at-$PITON_ITEM
n=0
until [ -e $PITON_PROJECT/.piton/at-one ] && [ -e $PITON_PROJECT/.piton/at-two ]
do sleep 0.05; n=$((n+1)); [ $n -lt 400 ] || exit 1; done
echo made >$PITON_ITEM.txt";

/// A committed sprint with an agent.
fn project(settings: &str, phases: &str, agent: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch
        .sprint_with(settings, phases)
        .agent(&format!("cat >/dev/null\n{agent}\n{DONE}"));
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch
}

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

fn targets(scratch: &Scratch) -> String {
    scratch.git(&[
        "for-each-ref",
        "--format=%(refname:short)",
        "refs/heads/piton",
    ])
}

#[track_caller]
fn both_were_at_work_at_once(scratch: &Scratch) {
    let target = targets(scratch);
    for file in ["one.txt", "two.txt"] {
        let shown = scratch.git(&["show", &format!("{}:{file}", target.trim())]);
        assert_eq!(shown, "made\n");
    }
    let progress = scratch.read("demo/PROGRESS.yaml");
    assert!(progress.contains("\nstatus: completed\n"), "{progress}");
    assert!(progress.contains("completed-phases: 2"), "{progress}");
}

#[test]
fn two_parallel_phases_are_worked_on_at_once_and_merged() {
    let scratch = project("", TWO, BARRIER);
    fine(&scratch.run(&["--workers", "2"]));
    both_were_at_work_at_once(&scratch);
}

#[test]
fn a_project_that_names_its_lanes_works_on_parallel_phases_at_once() {
    let scratch = project("", TWO, BARRIER);
    scratch.write(".piton/config.toml", "[workspace]\nlanes = 2\n");
    fine(&scratch.run(&[]));
    both_were_at_work_at_once(&scratch);
}

#[test]
fn a_plan_that_wishes_for_several_workers_has_them_where_lanes_can_be() {
    for count in ["0", "2"] {
        let settings = format!("parallel-execution: {{enabled: true, maxConcurrency: {count}}}\n");
        let scratch = project(&settings, TWO, BARRIER);
        fine(&scratch.run(&[]));
        both_were_at_work_at_once(&scratch);
    }
}

#[test]
fn parallel_phases_alone_are_worked_on_in_place_one_after_another() {
    let scratch = project("", TWO, "echo made >$PITON_ITEM.txt");
    let said = scratch.run(&[]);
    fine(&said);
    assert!(scratch.has("one.txt") && scratch.has("two.txt"));
    assert_eq!(targets(&scratch), "");
}

/// Where lanes cannot be, and why.
const NO_LANES: &[(&str, &str)] = &[
    (
        "echo changed >other; git add other",
        "these have changes that are in none: other",
    ),
    (
        "git checkout -q --orphan other",
        "the repository has none yet",
    ),
];

#[test]
fn a_wish_that_cannot_be_met_is_a_warning_and_one_flag_is_refused() {
    let settings = "parallel-execution: {enabled: true, maxConcurrency: 2}\n";
    for (made, why) in NO_LANES {
        let scratch = project(settings, TWO, "echo made >$PITON_ITEM.txt");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", made]).current_dir(scratch.path());
        assert!(shell.status().expect("a shell").success());
        let refused = scratch.run(&["--workers", "2"]);
        assert!(
            refused.exit != 0 && refused.err.contains(why),
            "{}",
            refused.err
        );
        let said = scratch.run(&["--workers", "1"]);
        fine(&said);
        assert!(!said.err.contains(why), "{}", said.err);

        let scratch = project(settings, TWO, "echo made >$PITON_ITEM.txt");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", made]).current_dir(scratch.path());
        assert!(shell.status().expect("a shell").success());
        let said = scratch.run(&[]);
        fine(&said);
        let warning = "warning: one item after another, where 2 could be worked on at once: ";
        assert_eq!(said.err.matches(warning).count(), 1, "{}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
        assert!(scratch.has("one.txt") && scratch.has("two.txt"));
    }
}

/// A sprint with a worktree of its own.
const OWN: &str = "worktree: {enabled: true, branch: own, path: trees/demo, cleanup: never}\nparallel-execution: {enabled: true, maxConcurrency: 2}\n";

/// The branch of the sprint has all of the work, and is checked out in its worktree.
#[track_caller]
fn own_branch_has_it(scratch: &Scratch) {
    let tree = |args: &[&str]| scratch.git(&[&["-C", "trees/demo"], args].concat());
    assert_eq!(tree(&["branch", "--show-current"]), "own\n");
    assert_eq!(tree(&["status", "--porcelain"]), "");
    for file in ["one.txt", "two.txt"] {
        assert_eq!(scratch.read(&format!("trees/demo/{file}")), "made\n");
        assert!(!scratch.has(file), "{file}");
    }
    assert_eq!(scratch.git(&["branch", "--show-current"]), "main\n");
    assert_eq!(targets(scratch), "");
    let progress = scratch.read("demo/PROGRESS.yaml");
    assert!(progress.contains("\nstatus: completed\n"), "{progress}");
}

#[test]
fn a_sprint_with_a_worktree_of_its_own_is_merged_on_its_branch() {
    let scratch = project(OWN, TWO, BARRIER);
    fine(&scratch.run(&[]));
    own_branch_has_it(&scratch);
    fine(&scratch.piton(&["land", DEMO]));
    assert!(scratch.has("one.txt") && scratch.has("two.txt"));
    fine(&scratch.piton(&["plan", "clean", DEMO]));
    assert!(!scratch.has("trees/demo"));
    let trees = scratch.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(trees.matches("worktree ").count(), 1, "{trees}");
}

#[test]
fn a_process_joins_a_sprint_with_a_worktree_of_its_own() {
    let agent = "touch $PITON_PROJECT/.piton/at-$PITON_ITEM
until [ -e $PITON_PROJECT/.piton/go ]; do sleep 0.05; done
echo made >$PITON_ITEM.txt";
    let three = format!("{TWO}  - {{id: three, prompt: Do., parallel: true}}\n");
    let scratch = project(OWN, &three, agent);
    let at_work = || {
        let items = ["one", "two", "three"].into_iter();
        items
            .filter(|item| scratch.has(&format!(".piton/at-{item}")))
            .count()
    };
    let holder = Running::start(scratch.command(crate::harness::RUN));
    scratch.until("two work", || at_work() == 2);
    let join = ["run", DEMO, "--join", "--agent", "./agent.sh"];
    let joined = Running::start(scratch.command(&join));
    scratch.until("three work", || at_work() == 3);
    scratch.write(".piton/go", "");
    for running in [holder, joined] {
        fine(&running.end());
    }
    own_branch_has_it(&scratch);
    assert_eq!(scratch.git(&["show", "own:three.txt"]), "made\n");
}

#[test]
fn cleanup_on_complete_holds_for_a_worktree_whose_sprint_was_done_in_lanes() {
    let settings = OWN.replace("never", "on-complete");
    let scratch = project(&settings, TWO, BARRIER);
    fine(&scratch.run(&[]));
    assert!(!scratch.has("trees/demo"));
    assert_eq!(scratch.git(&["show", "own:one.txt"]), "made\n");
}

#[test]
fn what_was_done_in_place_on_the_branch_is_there_in_the_lanes() {
    let agent = "[ $PITON_ITEM = one ] || [ -e one.txt ] || exit 1\necho made >$PITON_ITEM.txt\ngit add . && git commit -qm $PITON_ITEM";
    let scratch = project(
        &OWN.replace("maxConcurrency: 2", "maxConcurrency: 1"),
        TWO,
        agent,
    );
    scratch.run(&["--max-iterations", "1"]);
    fine(&scratch.run(&["--workers", "2"]));
    own_branch_has_it(&scratch);
}

#[test]
fn a_worktree_with_changes_is_refused_before_lanes_begin() {
    let scratch = project(
        OWN,
        TWO,
        "[ -e $PITON_PROJECT/.piton/go ] || exit 1\necho made >$PITON_ITEM.txt",
    );
    assert_ne!(scratch.run(&["--once"]).exit, 0);
    scratch.write("trees/demo/mine", "of a person\n");
    scratch.write(".piton/go", "");
    fine(&scratch.piton(&["plan", "retry", "one"]));
    scratch.piton(&["plan", "retry", "two"]);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("[worktree.dirty]"), "{}", said.err);
    std::fs::remove_file(scratch.path().join("trees/demo/mine")).expect("it is there");
    fine(&scratch.run(&[]));
    own_branch_has_it(&scratch);
}

#[test]
fn the_next_command_puts_back_what_a_death_left_detached() {
    let points = [
        "worktree.before-detach",
        "worktree.detached",
        "merge.moved",
        "run.over",
        "worktree.before-put-back",
    ];
    for point in points {
        let scratch = project(OWN, TWO, BARRIER);
        let mut command = scratch.command(&[crate::harness::RUN, &["--workers", "2"]].concat());
        command.env("PITON_FAILPOINT", point);
        let died = Running::start(command).end();
        assert_eq!(died.exit, -1, "{point}: {}", died.err);
        fine(&scratch.piton(&["log", "milestone_reached", "--description", "next"]));
        let here = scratch.git(&["-C", "trees/demo", "branch", "--show-current"]);
        assert_eq!(here, "own\n", "{point}");
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 0, "{point}: {}", said.err);
        own_branch_has_it(&scratch);
    }
}

/// Of a graph of steps whose first fails, what becomes of the others: `after`
/// waits for it, `late` for that, and `beside` for nothing.
const GRAPH: &str = "collections:\n  step:\n    - {id: first, prompt: p}\n    - {id: after, prompt: p, depends-on: [first]}\n    - {id: late, prompt: p, depends-on: [after]}\n    - {id: beside, prompt: p}\nretry: {maxAttempts: 0, backoffMs: [1], retryOn: [network]}\n";

#[test]
fn a_plan_says_what_becomes_of_what_waits_for_a_step_that_failed() {
    let strategies: [(&str, [&str; 4]); 4] = [
        ("", ["failed", "pending", "pending", "done"]),
        (
            "onDependencyFailure: skip-dependents",
            ["failed", "skipped", "skipped", "done"],
        ),
        (
            "onDependencyFailure: fail-phase",
            ["failed", "pending", "pending", "pending"],
        ),
        (
            "onDependencyFailure: continue",
            ["failed", "done", "done", "done"],
        ),
    ];
    for (strategy, expected) in strategies {
        let settings = format!("{GRAPH}parallel-execution: {{enabled: true, {strategy}}}\n");
        let phases = "  - id: house\n    for-each: step\n";
        let agent = "case $PITON_ITEM in *first*) exit 1;; esac";
        let scratch = project(&settings, phases, agent);
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 1, "{strategy}: {}", said.err);
        let status = scratch.json(&["status"]);
        assert_eq!(status["run"]["state"], "blocked", "{strategy}: {status}");
        let shown = ["first", "after", "late", "beside"].map(|step| {
            let item = scratch.json(&["show", &format!("house/{step}")]);
            item["item"]["state"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        });
        assert_eq!(shown, expected, "{strategy}: {}", said.err);
        let inbox = scratch.piton(&["inbox"]);
        assert!(inbox.out.contains("first"), "{strategy}: {}", inbox.out);
    }
}
