//! Sprints whose plan allows several items at once: how many are worked on, and what
//! becomes of what waits for one that failed.

use crate::harness::{Said, Scratch};

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
        "echo changed >other",
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

#[test]
fn a_sprint_with_a_worktree_of_its_own_has_one_worker() {
    let settings = "worktree: {enabled: true, branch: own, path: trees/demo}\nparallel-execution: {enabled: true, maxConcurrency: 2}\n";
    let scratch = project(settings, TWO, "echo made >$PITON_ITEM.txt");
    let refused = scratch.run(&["--workers", "2"]);
    assert_eq!(refused.exit, 1, "{}", refused.err);
    assert!(refused.err.contains("--workers 1`"), "{}", refused.err);
    assert_eq!(
        refused.err.matches("--workers").count(),
        1,
        "{}",
        refused.err
    );
    let said = scratch.run(&[]);
    fine(&said);
    assert!(said.err.contains("one item after another"), "{}", said.err);
    assert_eq!(targets(&scratch), "");
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
