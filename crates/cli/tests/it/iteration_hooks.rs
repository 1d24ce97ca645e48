//! Hooks that a sprint runs after each iteration (`per-iteration-hooks`).

use std::path::Path;

use crate::harness::Scratch;

/// Says in `order` what it was told, one line a prompt, and does what `body`
/// says with it.
fn agent(body: &str) -> String {
    format!(
        "prompt=$(cat)\ncase $prompt in\nhook*) told=$prompt ;;\n*) told=$PITON_ITEM ;;\nesac\necho \"$told\" >>order\n{body}\necho fine"
    )
}

const TWO: &str = "  - {id: one, prompt: do one}\n  - {id: two, prompt: do two}\n";

/// A sprint with two phases and these hooks.
fn project(hooks: &str, body: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch
        .sprint(&format!("{TWO}per-iteration-hooks:\n{hooks}"))
        .agent(&agent(body));
    scratch
}

const LEARN: &str = "  - {id: learn, prompt: hook learn, parallel: false, enabled: true}\n";

#[test]
fn each_enabled_hook_runs_after_each_node_those_that_are_waited_for_first() {
    let scratch = project(
        &format!(
            "  - {{id: beside, prompt: hook beside, parallel: true, enabled: true}}\n{LEARN}  - {{id: off, prompt: hook off, enabled: false}}\n  - {{id: empty, enabled: true}}\n"
        ),
        "",
    );
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(
        scratch.read("order"),
        "one\nhook learn\nhook beside\ntwo\nhook learn\nhook beside\n"
    );
    assert!(
        said.err
            .contains("warning: parallel: done one after another"),
        "{}",
        said.err
    );
}

#[test]
fn a_hook_knows_what_it_follows_and_is_told_nothing_else() {
    let hook = "  - {id: learn, prompt: 'hook $SPRINT_ID $ITERATION $PHASE_ID $ITERATION_TRANSCRIPT', enabled: true}\n";
    let scratch = project(hook, "echo \"word of $told\"");
    assert_eq!(scratch.run(&[]).exit, 0);
    let order = scratch.read("order");
    let hooks: Vec<&str> = order
        .lines()
        .filter(|line| line.starts_with("hook"))
        .collect();
    let told: Vec<(&str, &str)> = hooks
        .iter()
        .map(|line| line.rsplit_once(' ').unwrap())
        .collect();
    assert_eq!(told[0].0, "hook 2026-01-15_demo 1 one");
    assert_eq!(told[1].0, "hook 2026-01-15_demo 2 two");
    for ((_, transcript), node) in told.iter().zip(["one", "two"]) {
        assert!(Path::new(transcript).is_absolute(), "{transcript}");
        let text = std::fs::read_to_string(transcript).unwrap();
        assert!(text.contains(&format!("word of {node}\n")), "{text}");
    }
}

#[test]
fn hooks_stand_in_the_file_with_the_iteration_that_they_follow() {
    let scratch = project(LEARN, "").with_fixed_clock();
    assert_eq!(scratch.run(&[]).exit, 0);
    let text = scratch.read("demo/PROGRESS.yaml");
    let at = text.find("hook-tasks:").expect("they are there");
    let tasks: Vec<&str> = text[at..]
        .lines()
        .take_while(|line| line.starts_with(['h', ' ']))
        .map(|line| match line.split_once("transcript: ") {
            Some((_, path)) if scratch.has(&format!(".piton/{path}")) => "    transcript: FILE",
            Some(_) | None => line,
        })
        .collect();
    insta::assert_snapshot!(tasks.join("\n"), @r"
    hook-tasks:
      - iteration: 1
        hook-id: learn
        status: completed
        spawned-at: '2026-01-15T09:00:00.000Z'
        completed-at: '2026-01-15T09:00:00.000Z'
        exit-code: 0
        transcript: FILE
      - iteration: 2
        hook-id: learn
        status: completed
        spawned-at: '2026-01-15T09:00:00.000Z'
        completed-at: '2026-01-15T09:00:00.000Z'
        exit-code: 0
        transcript: FILE
    ");
    assert!(text.contains("current-iteration: 2"), "{text}");
}

#[test]
fn a_hook_that_fails_or_asks_holds_up_nothing() {
    for body in [
        "case $told in hook*) exit 3 ;; esac",
        "case $told in hook*) echo '```json\n{\"status\": \"needs-human\", \"summary\": \"s\", \"humanNeeded\": {\"reason\": \"r\"}}\n```'; exit 0 ;; esac",
        "case $told in hook*) kill -9 $$ ;; esac",
    ] {
        let scratch = project(LEARN, body);
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 0, "{body}: {}", said.err);
        let told = said.err.matches("! one, hook `learn` failed").count();
        assert_eq!(told, 1, "{body}: {}", said.err);
        assert_eq!(scratch.read("order"), "one\nhook learn\ntwo\nhook learn\n");
        let text = scratch.read("demo/PROGRESS.yaml");
        assert_eq!(text.matches("status: failed").count(), 2, "{text}");
        assert_eq!(text.matches("status: completed").count(), 3, "{text}");
        assert!(scratch.piton(&["inbox"]).out.is_empty());
    }
}

#[test]
fn a_hook_runs_after_the_gate_and_only_where_the_node_got_there() {
    let scratch = Scratch::new();
    scratch
        .sprint(&format!(
            "  - id: one\n    prompt: do one\n    gate: {{script: 'echo gate >>order', on-fail: {{prompt: mend it}}}}\n  - {{id: two, prompt: do two}}\nper-iteration-hooks:\n{LEARN}"
        ))
        .agent(&agent("case $told in two) exit 1 ;; esac"));
    assert_eq!(scratch.run(&[]).exit, 1);
    let order = scratch.read("order");
    assert!(order.contains("one\ngate\nhook learn\ntwo\n"), "{order}");
    assert_eq!(order.matches("hook").count(), 1, "{order}");
}

#[test]
fn a_hook_is_no_iteration_and_follows_the_last_one_that_a_limit_allows() {
    let scratch = project(LEARN, "");
    let said = scratch.run(&["--max-iterations", "1"]);
    assert_eq!(said.exit, 5, "{}", said.err);
    assert_eq!(scratch.read("order"), "one\nhook learn\n");
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(scratch.read("order"), "one\nhook learn\ntwo\nhook learn\n");
}

#[test]
fn after_a_crash_in_a_hook_the_hook_runs_again_and_its_node_does_not() {
    let scratch = project(
        LEARN,
        "case $told in hook*) [ -e seen ] || { touch seen; sleep 100; } ;; esac",
    );
    let running = scratch.start_run(&[]);
    scratch.until("the hook is at work", || scratch.has("seen"));
    scratch.until("the file says so", || {
        scratch
            .read("demo/PROGRESS.yaml")
            .contains("status: running")
    });
    running.kill();
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(
        scratch.read("order"),
        "one\nhook learn\nhook learn\ntwo\nhook learn\n"
    );
    let text = scratch.read("demo/PROGRESS.yaml");
    assert_eq!(text.matches("hook-id: learn").count(), 2, "{text}");
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}

#[test]
fn a_hook_that_is_switched_off_in_the_file_does_not_run_any_more() {
    let scratch = project(LEARN, "");
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let text = scratch.read("demo/PROGRESS.yaml");
    assert!(text.contains("enabled: true"), "{text}");
    scratch.write(
        "demo/PROGRESS.yaml",
        &text.replace("enabled: true", "enabled: false"),
    );
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(scratch.read("order"), "one\nhook learn\ntwo\n");
}

#[test]
fn what_a_hook_changes_is_committed_with_its_task() {
    let scratch = Scratch::new();
    scratch
        .sprint_with(
            "config: {auto-commit: true}\n",
            &format!("  - {{id: one, prompt: do one}}\nper-iteration-hooks:\n{LEARN}"),
        )
        .agent(&agent(
            "case $told in hook*) echo learned >learned ;; *) echo made >made ;; esac",
        ));
    scratch.write(".gitignore", "order\n.piton\n");
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "--quiet", "-m", "start"]);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let files = scratch.git(&["show", "--name-only", "--format=", "HEAD"]);
    assert!(
        files.contains("made") && files.contains("learned"),
        "{files}"
    );
}

#[test]
fn the_mark_of_a_node_is_committed_after_its_hooks() {
    let scratch = project(
        LEARN,
        "case $told in hook*) exit 0 ;; esac\ngit show HEAD:demo/PROGRESS.yaml >\"before-$told\" 2>/dev/null\necho x >\"made-$told\" && git add made-* && git commit --quiet -m \"$told\"",
    );
    scratch.write(".gitignore", "order\nbefore-*\n.piton\n");
    assert_eq!(scratch.piton(&["plan", "compile", "demo"]).exit, 0);
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "--quiet", "-m", "start"]);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let committed = scratch.read("before-two");
    assert!(
        committed.contains("- id: one\n    status: completed\n"),
        "{committed}"
    );
}

#[test]
fn what_a_hook_changed_is_not_told_as_the_work_of_its_node() {
    let scratch = project(
        LEARN,
        "case $told in two) printf '%s' \"$prompt\" >prompt-two ;; one) echo x >made ;; esac",
    );
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let prompt = scratch.read("prompt-two");
    // The node wrote `made` and `order`, its hook the latter alone.
    assert!(prompt.contains("- one: fine (2 files)"), "{prompt}");
}

#[test]
fn a_hook_that_names_a_workflow_is_told_to_follow_it() {
    let hooks =
        "  - {id: learn, workflow: learning, enabled: true}\n  - {id: idle, enabled: true}\n";
    let scratch = project(
        hooks,
        "case $prompt in *workflow*) echo \"$prompt\" >told ;; esac",
    );
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let told = scratch.read("told");
    let asked =
        "Do what the workflow `learning` asks for: read `learning.yaml` in `.claude/workflows`";
    assert!(told.starts_with(asked), "{told}");
    assert!(!told.contains('$'), "its variables are filled in: {told}");
    let text = scratch.read("demo/PROGRESS.yaml");
    assert_eq!(text.matches("hook-id: learn").count(), 2, "{text}");
    assert!(!text.contains("hook-id: idle"), "it says nothing: {text}");
}

#[test]
fn hooks_can_be_left_out() {
    let scratch = project(LEARN, "");
    assert_eq!(scratch.run(&["--ignore", "per-iteration-hooks"]).exit, 0);
    assert_eq!(scratch.read("order"), "one\ntwo\n");
}
