//! Files of others: a `PROGRESS.yaml` that the original left, or that somebody
//! edited, is taken over, named or left alone, and never lost.

use crate::harness::{DEMO, Running, Scratch};

/// Half done: the first of two phases is completed, the second is at its second step.
const HALF: &str = r#"# by hand
sprint-id: 2026-01-15_demo
status: in-progress
phases:
  - id: prepare
    status: completed
    prompt: prepare it
    started-at: "2026-01-15T08:00:00.000Z"
    completed-at: "2026-01-15T08:10:00.000Z"
    elapsed: 10m
    summary: prepared
  - id: steps
    status: in-progress
    steps:
      - id: one
        status: completed
        prompt: first
        phases:
          - {id: write, status: completed, prompt: write one, summary: wrote one}
      - id: two
        status: in-progress
        prompt: second
        phases:
          - {id: write, status: completed, prompt: write two}
          - {id: check, status: in-progress, prompt: check two}
current:
  phase: 1
  step: 1
  sub-phase: 1
stats:
  started-at: "2026-01-15T08:00:00.000Z"
  total-phases: 5
  completed-phases: 0
  total-steps: 2
  completed-steps: 0
  current-iteration: 7
odd-key: kept
"#;

fn left(progress: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch
        .write("demo/PROGRESS.yaml", progress)
        .agent("echo $PITON_ITEM >>order; echo fine");
    scratch
}

fn sha256(text: &str) -> String {
    piton_engine::world::input::sha256(text.as_bytes())
}

/// The same without a key that nothing reads, which is warned of.
fn without_odd_key() -> String {
    HALF.replace("odd-key: kept\n", "")
}

#[test]
fn what_the_original_left_half_done_goes_on_where_it_stands() {
    let scratch = left(HALF);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("order"), "steps/two/check\n");
    let text = scratch.read("demo/PROGRESS.yaml");
    assert!(text.contains("odd-key: kept"), "{text}");
    assert!(
        text.contains("summary: prepared") && text.contains("summary: wrote one"),
        "{text}"
    );
    assert!(
        text.contains("completed-phases: 2")
            && text.contains("completed-steps: 2")
            && text.contains("total-phases: 2"),
        "{text}"
    );
    assert!(text.contains("current-iteration: 8"), "{text}");
    assert_eq!(
        scratch.read("demo/PROGRESS.yaml.before-piton"),
        HALF,
        "comments and all"
    );
}

#[test]
fn case_13_a_stale_checksum_is_explained_and_put_aside() {
    let scratch = left(HALF);
    scratch.write("demo/PROGRESS.yaml.checksum", &sha256("what it was before"));
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err
            .contains("PROGRESS.yaml.checksum does not fit its file"),
        "{}",
        said.err
    );
    assert!(said.err.contains("taken over as it stands"), "{}", said.err);
    assert_eq!(
        scratch.read("demo/PROGRESS.yaml.checksum.before-piton"),
        sha256("what it was before")
    );
    assert!(
        !scratch.has("demo/PROGRESS.yaml.checksum"),
        "piton writes none"
    );
}

#[test]
fn case_13_a_checksum_that_fits_is_put_aside_without_a_warning() {
    let text = without_odd_key();
    let scratch = left(&text);
    scratch.write("demo/PROGRESS.yaml.checksum", &sha256(&text));
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(!said.err.contains("warning"), "{}", said.err);
    assert!(scratch.has("demo/PROGRESS.yaml.checksum.before-piton"));
}

#[test]
fn case_14_a_backup_beside_a_readable_file_is_put_aside() {
    let scratch = left(HALF);
    scratch.write("demo/PROGRESS.yaml.backup", "sprint-id: old\n");
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(
        scratch.read("demo/PROGRESS.yaml.backup.before-piton"),
        "sprint-id: old\n"
    );
    assert!(!scratch.has("demo/PROGRESS.yaml.backup"));
}

#[test]
fn the_checksum_of_a_backup_is_put_aside_as_well() {
    let scratch = left(HALF);
    scratch
        .write("demo/PROGRESS.yaml.backup", "sprint-id: old\n")
        .write("demo/PROGRESS.yaml.checksum.backup", "of the backup\n");
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(
        scratch.read("demo/PROGRESS.yaml.checksum.backup.before-piton"),
        "of the backup\n"
    );
    assert!(!scratch.has("demo/PROGRESS.yaml.checksum.backup"));
}

/// A sprint that the original left blocked at a phase without steps: what went
/// wrong stands at the top alone, the phase is in progress.
const BLOCKED: &str = "sprint-id: 2026-01-15_demo
status: blocked
phases:
  - {id: build, status: in-progress, prompt: build it}
  - {id: ship, status: pending, prompt: ship it}
current: {phase: 0, step: null, sub-phase: null}
stats: {started-at: '2026-01-15T08:00:00.000Z', total-phases: 2, completed-phases: 0, current-iteration: 1}
error: the linker is missing
failed-phase: build
blocked-at: '2026-01-15T08:10:00.000Z'
";

#[test]
fn the_error_of_a_blocked_sprint_stands_in_its_question() {
    let scratch = left(BLOCKED);
    insta::assert_snapshot!(scratch.run(&[]).shown(&scratch), @r"
    keeping progress in SCRATCH/.git/piton
    the present PROGRESS.yaml is kept as SCRATCH/demo/PROGRESS.yaml.before-piton
    error: run `2026-01-15_demo` is blocked at build [run.blocked]
    hint: see why, and what to type to go on, with `piton inbox`
    [exit 1]
    ");
    insta::assert_snapshot!(scratch.piton(&["inbox"]).shown(&scratch), @r"
    d1  `build` failed: what now?  2026-01-15_demo at build: build it
        the linker is missing
        piton decide d1 retry
        piton decide d1 answer --why '...'
        piton decide d1 skip
    [exit 0]
    ");
    assert!(!scratch.has("order"), "no agent was started");
}

#[test]
fn a_phase_over_an_empty_collection_is_skipped() {
    let scratch = Scratch::new();
    scratch
        .write(
            "workflows/main.yaml",
            "schema-version: '2.0'\nname: W\nphases:\n  - {id: all, for-each: none}\n  - {id: build, prompt: build it}\n",
        )
        .write("demo/SPRINT.yaml", "workflow: main\nsprint-id: 2026-01-15_demo\ncollections: {none: []}\n")
        .agent("echo fine");
    let said = scratch.run(&["--workflows", "workflows"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let text = scratch.read("demo/PROGRESS.yaml");
    assert!(
        text.contains("  - id: all\n    status: skipped\n    steps: []\n"),
        "{text}"
    );
    let counts = "total-phases: 2\n  completed-phases: 1\n";
    assert!(text.contains(counts), "{text}");
}

#[test]
fn case_14_an_unreadable_file_with_a_readable_backup_is_for_a_person_to_decide() {
    let scratch = left("sprint-id: [\n");
    scratch.write("demo/PROGRESS.yaml.backup", HALF);
    insta::assert_snapshot!(scratch.run(&[]).shown(&scratch), @r"
    error[PROGRESS_PARSE_ERROR]: a `[` or `{` whose end is missing
     --> SCRATCH/demo/PROGRESS.yaml:1:12
      |
    1 | sprint-id: [
      |            ^
      |
      = help: close it, or quote the text if the bracket is meant literally

    error: demo/PROGRESS.yaml is not readable YAML, and demo/PROGRESS.yaml.backup is readable; nothing was changed [plan.unreadable]
    hint: go on from the backup with `piton run demo --agent ./agent.sh --verdict exit-status --from demo/PROGRESS.yaml.backup`
    [exit 6]
    ");
    assert_eq!(
        scratch.read("demo/PROGRESS.yaml"),
        "sprint-id: [\n",
        "nothing was changed"
    );
    assert!(scratch.has("demo/PROGRESS.yaml.backup") && !scratch.has(".piton"));
    let said = scratch.run(&["--from", "demo/PROGRESS.yaml.backup"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("order"), "steps/two/check\n");
    assert_eq!(
        scratch.read("demo/PROGRESS.yaml.before-piton"),
        "sprint-id: [\n",
        "the damaged one is kept"
    );
}

#[test]
fn a_program_is_told_of_the_problems_in_the_error_itself() {
    let scratch = left("sprint-id: [\n");
    let said = scratch.run(&["--json"]);
    assert_eq!((said.exit, said.out.as_str()), (6, ""), "{}", said.err);
    let error: serde_json::Value =
        serde_json::from_str(&said.err).expect("nothing but the error is on stderr");
    let error = &error["error"];
    assert_eq!(error["code"], "plan.unreadable");
    let problem = &error["problems"][0];
    assert_eq!(
        (problem["code"].as_str(), problem["line"].as_u64()),
        (Some("PROGRESS_PARSE_ERROR"), Some(1)),
        "{error}"
    );
    let plain = scratch.piton(&["run", "nowhere", "--json"]);
    assert!(!plain.err.contains("problems"), "{}", plain.err);
}

#[test]
fn case_14_a_file_that_is_cut_off_is_no_better() {
    let half = &HALF[..HALF.find("completed-at").expect("it is there") + 20];
    for text in [half, " \n"] {
        let scratch = left(text);
        scratch.write("demo/PROGRESS.yaml.backup", HALF);
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 6, "{}", said.err);
        assert!(
            said.err
                .contains("demo/PROGRESS.yaml.backup is readable; nothing was changed"),
            "{}",
            said.err
        );
        assert!(!scratch.has(".piton"));
    }
}

#[test]
fn case_14_a_missing_file_with_a_readable_backup_is_for_a_person_to_decide() {
    let scratch = Scratch::new();
    scratch
        .write("demo/PROGRESS.yaml.backup", HALF)
        .agent("echo fine");
    insta::assert_snapshot!(scratch.run(&[]).shown(&scratch), @r"
    error: demo/PROGRESS.yaml is missing, and demo/PROGRESS.yaml.backup is readable; nothing was changed [plan.unreadable]
    hint: go on from the backup with `piton run demo --agent ./agent.sh --verdict exit-status --from demo/PROGRESS.yaml.backup`
    [exit 6]
    ");
    assert!(!scratch.has(".piton") && !scratch.has("demo/PROGRESS.yaml"));
    let said = scratch.run(&["--from", "demo/PROGRESS.yaml.backup"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
}

#[test]
fn case_14_a_binary_file_is_not_text_and_left_alone() {
    let scratch = Scratch::new();
    scratch.write("demo/x", "").agent("echo fine");
    std::fs::write(scratch.path().join("demo/PROGRESS.yaml"), b"\xff\xfe\x00").expect("written");
    insta::assert_snapshot!(scratch.run(&[]).shown(&scratch), @r"
    error: demo/PROGRESS.yaml is not UTF-8 text; nothing was changed [plan.unreadable]
      because: invalid utf-8 sequence of 1 bytes from index 0
    hint: mend the file; without a SPRINT.yaml it cannot be made anew
    [exit 6]
    ");
}

#[test]
fn case_15_a_status_of_paused_written_by_hand_is_a_pause() {
    let scratch = left(&without_odd_key().replace(
        "status: in-progress\nphases",
        "status: paused\npause-reason: lunch\nphases",
    ));
    let said = scratch.run(&[]);
    insta::assert_snapshot!(said.shown(&scratch), @r"
    keeping progress in SCRATCH/.git/piton
    the present PROGRESS.yaml is kept as SCRATCH/demo/PROGRESS.yaml.before-piton
    error: run `2026-01-15_demo` is paused (paused by a person before piton) [run.paused]
    hint: let it go on with `piton resume 2026-01-15_demo`
    [exit 3]
    ");
    let said = scratch.piton(&["resume"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(
        scratch.progress("pause-reason"),
        None,
        "what belonged to the pause is gone"
    );
}

#[test]
fn case_15_a_pause_file_beside_what_is_taken_over_pauses_it() {
    let scratch = left(HALF);
    scratch.write("demo/PAUSE", "");
    assert_eq!(scratch.run(&[]).exit, 3);
    assert!(!scratch.has("order"), "no agent was started");
    assert_eq!(scratch.piton(&["resume"]).exit, 0);
    assert_eq!(scratch.run(&[]).exit, 0);
}

#[test]
fn case_17_counters_are_derived_and_a_pointer_beyond_the_end_of_a_completed_sprint_is_read() {
    let done = without_odd_key()
        .replace("in-progress", "completed")
        .replace(
            "  phase: 1\n  step: 1\n  sub-phase: 1\n",
            "  phase: 2\n  step: null\n  sub-phase: null\n",
        );
    let scratch = left(&done);
    insta::assert_snapshot!(scratch.run(&[]).shown(&scratch), @r"
    keeping progress in SCRATCH/.git/piton
    the present PROGRESS.yaml is kept as SCRATCH/demo/PROGRESS.yaml.before-piton
    4 of 4 nodes done (4 taken over from demo/PROGRESS.yaml)
    run `2026-01-15_demo` is already finished
    [exit 0]
    ");
    let counters = scratch.json(&["status"])["run"]["counters"].clone();
    assert_eq!(
        (
            counters["phases_done"].as_u64(),
            counters["steps_done"].as_u64()
        ),
        (Some(2), Some(2))
    );
    assert!(!scratch.has("order"));
}

#[test]
fn case_18_elapsed_is_read_in_its_four_forms() {
    for elapsed in ["1h 2m 3s", "45m", "\"00:45:00\"", "40805"] {
        let scratch =
            left(&without_odd_key().replace("elapsed: 10m", &format!("elapsed: {elapsed}")));
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 0, "{elapsed}: {}", said.err);
        assert!(!said.err.contains("warning"), "{elapsed}: {}", said.err);
    }
}

#[test]
fn case_24_older_layouts_are_named_and_left_alone() {
    let queue = "sprint-id: s\nstatus: in-progress\ncurrent-task: null\nqueue: []\ncompleted: []\nblocked: []\n";
    let scratch = left(queue);
    insta::assert_snapshot!(scratch.run(&[]).shown(&scratch), @r"
    error: demo/PROGRESS.yaml is the progress of a sprint in its first layout, a queue of tasks (`queue`, `completed`, `current-task`), which nothing has written since January 2026 [plan.legacy]
    hint: write a SPRINT.yaml beside it, or name another plan
    [exit 1]
    ");
    assert_eq!(scratch.read("demo/PROGRESS.yaml"), queue);
    let scratch = left("sprint-id: s\nmode: ralph\ngoal: all of it\nstatus: in-progress\n");
    insta::assert_snapshot!(scratch.run(&[]).shown(&scratch), @r"
    error: demo/PROGRESS.yaml is the progress of a goal-driven sprint (`mode: ralph`), a kind that no longer exists [plan.legacy]
    hint: write a SPRINT.yaml beside it, or name another plan
    [exit 1]
    ");
    let scratch = left("current_phase: 1\nblockers: []\n");
    insta::assert_snapshot!(scratch.run(&[]).shown(&scratch), @r"
    error: demo/PROGRESS.yaml is a document of another tool, not the progress of a sprint: it begins with `current_phase`, `blockers`; it was left alone [plan.foreign]
    hint: keep the sprint in a folder of its own
    [exit 6]
    ");
    assert!(!scratch.has(".piton"));
}

mod while_it_runs {
    use super::*;

    fn node(scratch: &Scratch, name: &str) -> serde_json::Value {
        let status = scratch.json(&["status", DEMO]);
        let nodes = status["run"]["nodes"].as_array().expect("nodes").clone();
        let found = nodes.into_iter().find(|node| node["node"] == name);
        found.unwrap_or_else(|| panic!("there is no node {name}"))
    }

    const TWO: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";
    const PATIENT: &str = "touch at-$PITON_ITEM; while ! [ -e go ]; do sleep 0.02; done; echo fine";

    fn at_work() -> (Scratch, Running) {
        let scratch = Scratch::new();
        scratch.sprint(TWO).agent(PATIENT);
        let runner = scratch.start_run(&[]);
        scratch.until("the agent works", || scratch.has("at-build"));
        (scratch, runner)
    }

    #[test]
    fn an_edit_of_a_prompt_is_in_effect_and_in_the_file_at_the_end() {
        let (scratch, runner) = at_work();
        scratch.until("the file says so", || {
            scratch.progress("status").as_deref() == Some("in-progress")
        });
        let edited = scratch
            .read("demo/PROGRESS.yaml")
            .replace("test it", "test it twice");
        scratch.write("demo/PROGRESS.yaml", &edited).write("go", "");
        let said = runner.end();
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(
            said.err.contains("took 1 edit of demo/PROGRESS.yaml in"),
            "{}",
            said.err
        );
        let file = scratch.read("demo/PROGRESS.yaml");
        assert!(file.contains("prompt: test it twice"), "{file}");
        assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
    }

    const FIVE: &str = "  - id: build
    prompt: build it
  - id: flaky
    prompt: try it
  - id: docs
    prompt: write it down
  - id: test
    prompt: test it
  - id: ship
    prompt: ship it
";

    /// Whatever somebody may do to the file by hand, all at once.
    #[test]
    fn case_16_a_hand_edit_in_the_middle_of_a_run_is_in_effect_and_in_the_file_at_the_end() {
        let scratch = Scratch::new();
        let agent = "cat >>prompts; echo >>prompts
if [ $PITON_ITEM = flaky ] && ! [ -e mended ]; then exit 1; fi
touch at-$PITON_ITEM
while [ $PITON_ITEM = flaky ] && ! [ -e go ]; do sleep 0.02; done
echo fine";
        scratch.sprint(FIVE).agent(agent);
        assert_eq!(scratch.run(&[]).exit, 1, "`flaky` fails");
        let edit = |pairs: &[(&str, &str)]| {
            let mut text = scratch.read("demo/PROGRESS.yaml");
            for (old, new) in pairs {
                assert!(text.contains(old), "{old}: {text}");
                text = text.replacen(old, new, 1);
            }
            scratch.write("demo/PROGRESS.yaml", &text);
        };
        edit(&[(
            "id: flaky\n    status: failed",
            "id: flaky\n    status: pending",
        )]);
        scratch.write("mended", "");
        let runner = scratch.start_run(&[]);
        scratch.until("`flaky` is tried again", || scratch.has("at-flaky"));
        edit(&[
            ("sprint-id:", "# looked at by ada\nsprint-id:"),
            (
                "id: docs\n    status: pending",
                "id: docs\n    status: skipped",
            ),
            (
                "prompt: test it\n",
                "prompt: test it twice # really\n    owner: ada\n",
            ),
            (
                "  - id: ship\n",
                "  - id: sign # before it goes out\n    status: pending\n    prompt: sign it\n  - id: ship\n",
            ),
        ]);
        scratch.write("go", "");
        let said = runner.end();
        assert_eq!(said.exit, 0, "{}", said.err);
        let prompts = scratch.read("prompts");
        for (prompt, times) in [
            // Three times before it failed for good, and once more.
            ("try it\n", 4),
            // An agent was at work: the skip may be its own, and is asked about.
            ("write it down", 1),
            ("test it twice", 1),
            ("sign it", 1),
            ("ship it", 1),
        ] {
            assert_eq!(
                prompts.matches(prompt).count(),
                times,
                "{prompt}: {prompts}"
            );
        }
        let file = scratch.read("demo/PROGRESS.yaml");
        for kept in [
            "# looked at by ada\n",
            "prompt: test it twice # really\n",
            "owner: ada\n",
            "- id: sign # before it goes out\n",
        ] {
            assert!(file.contains(kept), "{kept}: {file}");
        }
        for done in ["build", "flaky", "docs", "test", "sign", "ship"] {
            assert_eq!(node(&scratch, done)["state"], "done", "{done}: {file}");
        }
        assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_asked_about_and_stays() {
        let (scratch, runner) = at_work();
        scratch
            .write("demo/PROGRESS.yaml", "phases: [\n")
            .write("go", "");
        let said = runner.end();
        assert_eq!(said.exit, 3, "{}", said.err);
        assert!(said.err.contains("piton inbox"), "{}", said.err);
        assert_eq!(scratch.read("demo/PROGRESS.yaml"), "phases: [\n");
        let inbox = scratch.json_list(&["inbox"]);
        assert_eq!(inbox[0]["kind"], "file-conflict");
        assert_eq!(inbox[0]["file"], "demo/PROGRESS.yaml");
        let id = inbox[0]["id"].as_str().expect("it has one").to_owned();
        let said = scratch.piton(&["decide", &id, "keep-piton"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
        let kept = std::fs::read_dir(scratch.path().join("demo"))
            .expect("it is there")
            .flatten()
            .find(|entry| {
                let name = entry.file_name();
                name.to_string_lossy()
                    .starts_with("PROGRESS.yaml.before-piton")
            })
            .expect("the old bytes are kept beside");
        assert_eq!(
            std::fs::read_to_string(kept.path()).expect("read"),
            "phases: [\n"
        );
    }

    #[test]
    fn an_edit_through_a_link_is_noticed_and_the_link_stays() {
        let scratch = Scratch::new();
        scratch
            .sprint(TWO)
            .agent("echo fine")
            .write("elsewhere/x", "");
        std::os::unix::fs::symlink(
            "../elsewhere/progress",
            scratch.path().join("demo/PROGRESS.yaml"),
        )
        .expect("a link");
        assert_eq!(
            scratch
                .piton(&["plan", "compile", "demo", "-o", "elsewhere/progress"])
                .exit,
            0
        );
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 0, "{}", said.err);
        let link =
            std::fs::read_link(scratch.path().join("demo/PROGRESS.yaml")).expect("still a link");
        assert_eq!(link.to_string_lossy(), "../elsewhere/progress");
        assert!(
            scratch
                .read("elsewhere/progress")
                .contains("status: completed")
        );
    }

    #[test]
    fn a_file_that_was_taken_away_is_written_again() {
        let (scratch, runner) = at_work();
        std::fs::remove_file(scratch.path().join("demo/PROGRESS.yaml")).expect("it is there");
        scratch.write("go", "");
        assert_eq!(runner.end().exit, 0);
        assert_eq!(scratch.progress("status").as_deref(), Some("completed"));
    }

    #[test]
    fn an_edit_between_two_runs_is_not_overwritten() {
        let scratch = Scratch::new();
        scratch.sprint(TWO).agent("echo fine");
        assert_eq!(scratch.run(&["--once"]).exit, 5);
        let edited = format!("{}# mine\n", scratch.read("demo/PROGRESS.yaml"));
        scratch.write("demo/PROGRESS.yaml", &edited);
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 0, "{}", said.err);
        let file = scratch.read("demo/PROGRESS.yaml");
        assert!(file.ends_with("# mine\n"), "{file}");
        assert!(file.contains("\nstatus: completed\n"), "{file}");
    }
}

#[test]
fn recompiling_begins_anew_and_keeps_the_old_one_beside() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - id: build\n    prompt: build it\n")
        .agent("echo $PITON_RUN >>runs; echo fine");
    assert_eq!(scratch.run(&[]).exit, 0);
    let first = scratch.read("demo/PROGRESS.yaml");
    let said = scratch.run(&["--recompile"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("PROGRESS.yaml.before-recompile"),
        "{}",
        said.err
    );
    assert_eq!(scratch.read("demo/PROGRESS.yaml.before-recompile"), first);
    assert_eq!(scratch.read("runs"), format!("{DEMO}\n{DEMO}~2\n"));
    let second = scratch.read("demo/PROGRESS.yaml");
    assert_eq!(scratch.run(&["--recompile"]).exit, 0);
    assert_eq!(
        scratch.read("demo/PROGRESS.yaml.before-recompile.2"),
        second
    );
    assert_eq!(scratch.read("demo/PROGRESS.yaml.before-recompile"), first);
}

#[test]
fn what_was_compiled_beforehand_is_run_as_it_stands() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - id: build\n    prompt: build it\n")
        .agent("echo fine");
    assert_eq!(scratch.piton(&["plan", "compile", "demo"]).exit, 0);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        !scratch.has("demo/PROGRESS.yaml.before-piton"),
        "nothing was lost by writing it anew"
    );
}

#[test]
fn what_was_put_aside_before_is_not_written_over() {
    let scratch = left(HALF);
    scratch
        .write("demo/PROGRESS.yaml.backup", "sprint-id: new\n")
        .write("demo/PROGRESS.yaml.backup.before-piton", "sprint-id: old\n");
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(
        scratch.read("demo/PROGRESS.yaml.backup.before-piton"),
        "sprint-id: old\n"
    );
    assert_eq!(
        scratch.read("demo/PROGRESS.yaml.backup.before-piton.2"),
        "sprint-id: new\n"
    );
}

#[test]
fn an_empty_file_is_what_a_crash_leaves_and_no_fresh_start() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - id: build\n    prompt: build it\n")
        .agent("echo built");
    scratch.write("demo/PROGRESS.yaml", "");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 6, "{}", said.err);
    assert!(said.err.contains("is empty"), "{}", said.err);
    assert_eq!(scratch.run(&["--recompile"]).exit, 0);
}

#[test]
fn a_definition_that_changed_since_is_told_of() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - id: build\n    prompt: build it\n")
        .agent("echo built");
    assert_eq!(scratch.run(&[]).exit, 0);
    let quiet = scratch.run(&[]);
    assert!(!quiet.err.contains("has changed"), "{}", quiet.err);
    let text = scratch.read("demo/SPRINT.yaml");
    scratch.write("demo/SPRINT.yaml", &format!("{text}owner: ada\n"));
    let told = scratch.run(&[]);
    assert!(told.err.contains("has changed since run"), "{}", told.err);
    assert_eq!(told.exit, 0);
}

#[test]
fn a_breakpoint_at_which_another_tool_stopped_is_asked_about() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - id: build\n    prompt: build it\n    break: true\n  - id: test\n    prompt: test it\n")
        .agent("echo built");
    assert_eq!(scratch.run(&[]).exit, 3);
    let progress = scratch.read("demo/PROGRESS.yaml");
    assert!(progress.contains("status: paused-at-breakpoint"));
    let scratch = left(&progress);
    scratch.agent("echo built");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 3, "{}", said.err);
    let asked = scratch.json_list(&["inbox"]);
    assert_eq!(asked[0]["kind"], "breakpoint", "{asked}");
    // Whatever else is decided, the run stays there.
    assert_eq!(scratch.piton(&["plan", "skip", "test"]).exit, 0);
    assert_eq!(scratch.json(&["status"])["run"]["state"], "waiting");
    assert_eq!(scratch.piton(&["plan", "retry", "test"]).exit, 0);
    assert_eq!(scratch.piton(&["decide", "d1", "approve"]).exit, 0);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    assert_eq!(scratch.run(&[]).exit, 0);
}
