//! `piton plan new`, `inject`, `add-step` and `import`.

use crate::harness::Scratch;

const TWO: &str = "  - {id: one, prompt: do one}\n  - {id: two, prompt: do two}\n";
const STEPS: &str =
    "  - {id: build, for-each: step, workflow: each}\n  - {id: end, prompt: the end}\n";

/// An agent that says in `order` what it worked on.
const AGENT: &str = "cat >/dev/null\necho \"$PITON_ITEM\" >>order\necho fine";

/// A sprint whose steps are done in two phases each.
fn with_steps() -> Scratch {
    let scratch = Scratch::new();
    scratch
        .sprint_with(
            "# why it is here\ncollections:\n  step:\n    - prompt: first # keep this\n",
            STEPS,
        )
        .write(
            ".claude/workflows/each.yaml",
            "name: each\nschema-version: \"2.0\"\nphases:\n  - {id: plan, prompt: 'plan {{item.prompt}}'}\n  - {id: do, prompt: 'do {{item.prompt}}'}\n",
        )
        .agent(AGENT);
    scratch
}

#[test]
fn an_injected_phase_is_worked_on_where_it_was_put() {
    let scratch = Scratch::new();
    scratch.sprint(TWO).agent(AGENT);
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let said = scratch.piton(&[
        "plan",
        "inject",
        "look",
        "--before",
        "two",
        "--id-prefix",
        "look",
    ]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let said = scratch.piton(&["plan", "inject", "tidy", "--at", "end-of-workflow"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let text = scratch.read("demo/PROGRESS.yaml");
    assert_eq!(text.matches("injected: true").count(), 2, "{text}");
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(scratch.read("order"), "one\nlook-0\ntwo\ninjected-0\n");
}

#[test]
fn the_phases_of_a_workflow_are_injected_with_their_prefix() {
    let scratch = Scratch::new();
    scratch.sprint(TWO).agent(AGENT).write(
        ".claude/workflows/more.yaml",
        "name: more\nschema-version: \"2.0\"\nphases:\n  - {id: a, prompt: do a}\n  - {id: b, prompt: do b}\n",
    );
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let typed = [
        "plan",
        "inject",
        "--workflow",
        "more",
        "--after",
        "one",
        "--id-prefix",
        "x",
    ];
    let said = scratch.piton(&typed);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(scratch.read("order"), "one\nx-a\nx-b\ntwo\n");
}

#[test]
fn a_place_that_is_not_there_and_a_workflow_that_is_not_there_are_refused() {
    let scratch = Scratch::new();
    scratch.sprint(TWO).agent(AGENT);
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let before = scratch.read("demo/PROGRESS.yaml");
    let said = scratch.piton(&["plan", "inject", "look", "--after", "nowhere"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(said.err.contains("nowhere"), "{}", said.err);
    let said = scratch.piton(&["plan", "inject", "--workflow", "nowhere"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("MAIN_WORKFLOW_NOT_FOUND"), "{}", said.err);
    assert_eq!(scratch.read("demo/PROGRESS.yaml"), before);
}

#[test]
fn a_step_is_added_to_the_definition_and_to_the_run_with_its_phases() {
    let scratch = with_steps();
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let said = scratch.piton(&["plan", "add-step", "second", "--sprint", "demo"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let text = scratch.read("demo/SPRINT.yaml");
    for part in ["# why it is here", "first # keep this", "- prompt: second"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(
        scratch.read("order"),
        "build/step-0/plan\nbuild/step-0/do\nbuild/step-1/plan\nbuild/step-1/do\nend\n"
    );
}

#[test]
fn steps_of_a_file_and_issues_are_imported() {
    let scratch = with_steps();
    scratch.write("more.yaml", "steps:\n  - prompt: second\n  - third\n");
    let said = scratch.piton(&["plan", "import", "more.yaml", "--sprint", "demo"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let issues = br#"[{"number": 45, "title": "Fix it", "body": "At length."}]"#;
    let said = scratch.fed(&["plan", "import", "-", "--sprint", "demo"], issues);
    assert_eq!(said.exit, 0, "{}", said.err);
    let text = scratch.read("demo/SPRINT.yaml");
    for part in [
        "- prompt: second",
        "- prompt: third",
        "Implement GitHub issue #45",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for bad in ["steps: 5\n", "steps: []\n", "steps: [{id: x}]\n", "a: [\n"] {
        let said = scratch.fed(&["plan", "import", "-", "--sprint", "demo"], bad.as_bytes());
        assert_eq!(said.exit, 2, "{bad}: {}", said.err);
    }
    assert_eq!(scratch.read("demo/SPRINT.yaml"), text);
}

#[test]
fn what_is_imported_twice_is_there_once() {
    let scratch = with_steps();
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    scratch.write(
        "more.yaml",
        "steps:\n  - prompt: second\n  - {id: x, prompt: third}\n",
    );
    let import = ["plan", "import", "more.yaml", "--sprint", "demo"];
    assert_eq!(scratch.piton(&import).exit, 0);
    let sprint = scratch.read("demo/SPRINT.yaml");
    let added = || {
        scratch
            .read("demo/PROGRESS.yaml")
            .matches("injected: true")
            .count()
    };
    let before = added();
    assert!(before > 0);
    let said = scratch.piton(&import);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("2 steps are there already"),
        "{}",
        said.err
    );
    assert_eq!(scratch.read("demo/SPRINT.yaml"), sprint);
    assert_eq!(added(), before);
    // Another step of the same id is refused.
    let other = ["plan", "add-step", "other", "--id", "x", "--sprint", "demo"];
    let said = scratch.piton(&other);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(said.err.contains("a step `x` already"), "{}", said.err);
    assert_eq!(scratch.read("demo/SPRINT.yaml"), sprint);
}

#[test]
fn a_step_that_the_run_has_before_the_file_is_not_added_to_it_again() {
    let scratch = with_steps();
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let before = scratch.read("demo/SPRINT.yaml");
    let add = ["plan", "add-step", "second", "--sprint", "demo"];
    assert_eq!(scratch.piton(&add).exit, 0);
    let added = || {
        scratch
            .read("demo/PROGRESS.yaml")
            .matches("injected: true")
            .count()
    };
    let in_run = added();
    assert!(in_run > 0);
    // As after a crash between the two.
    scratch.write("demo/SPRINT.yaml", &before);
    let said = scratch.piton(&add);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(added(), in_run);
    assert!(
        scratch
            .read("demo/SPRINT.yaml")
            .contains("- prompt: second")
    );
}

#[test]
fn a_secret_in_a_gate_of_what_is_injected_is_refused() {
    let scratch = with_steps();
    scratch.write(
        ".claude/workflows/leaky.yaml",
        "name: leaky\nschema-version: \"2.0\"\nphases:\n  - id: p\n    prompt: p\n    gate: {script: 'curl -H ghp_0123456789abcdefghijABCDEFGHIJ012345 x', on-fail: {prompt: mend it}}\n",
    );
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let said = scratch.piton(&["plan", "inject", "--workflow", "leaky"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("plan.secret"), "{}", said.err);
}

#[test]
fn what_is_injected_is_named_and_a_place_that_is_not_there_is_explained() {
    let scratch = with_steps();
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let said = scratch.piton(&["plan", "inject", "look", "--id-prefix", "look"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("added `look-0`"), "{}", said.err);
    let said = scratch.piton(&["plan", "inject", "look", "--after", "buld"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(said.err.contains("item.unknown"), "{}", said.err);
    assert!(said.err.contains("`build`"), "{}", said.err);
}

#[test]
fn a_step_that_makes_a_mistake_of_the_sprint_is_refused() {
    let scratch = with_steps();
    let before = scratch.read("demo/SPRINT.yaml");
    let typed = [
        "plan",
        "add-step",
        "x",
        "--sprint",
        "demo",
        "--workflow",
        "nowhere",
    ];
    let said = scratch.piton(&typed);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert_eq!(scratch.read("demo/SPRINT.yaml"), before);
}

#[test]
fn a_new_sprint_without_its_workflow_says_so() {
    let scratch = with_steps();
    let said = scratch.piton(&["plan", "new", "--sprint", "auth", "--workflow", "main"]);
    assert!(!said.err.contains("is not there"), "{}", said.err);
    let said = scratch.piton(&["plan", "new", "--sprint", "other", "--workflow", "lost"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let part = "steps can be added when .claude/workflows/lost.yaml is written";
    assert!(said.err.contains(part), "{}", said.err);
}

#[test]
fn a_new_sprint_takes_steps_and_runs() {
    let scratch = with_steps().with_fixed_clock();
    let said = scratch.piton(&["plan", "new", "--sprint", "auth", "--workflow", "main"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let folder = ".claude/sprints/2026-01-15_auth";
    assert!(scratch.has(&format!("{folder}/context")));
    let text = scratch.read(&format!("{folder}/SPRINT.yaml"));
    assert!(text.contains("sprint-id: 2026-01-15_auth"), "{text}");
    let said = scratch.piton(&["plan", "new", "--sprint", "auth"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    let said = scratch.piton(&["plan", "new", "--sprint", "../up"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    let said = scratch.piton(&["plan", "add-step", "the first"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let run = [
        "run",
        folder,
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let said = scratch.piton(&run);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(
        scratch.read("order"),
        "build/step-0/plan\nbuild/step-0/do\nend\n"
    );
}
