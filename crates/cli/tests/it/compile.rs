//! `piton plan compile` and `plan check`: where the answer goes, how problems
//! look, and what is said of files that are no plans.

use crate::harness::{Running, Said, Scratch};

const TWO: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";

fn project() -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.sprint(TWO);
    scratch
}

mod targets {
    use super::*;

    #[test]
    fn without_a_target_progress_yaml_is_written_beside_and_nothing_else() {
        let scratch = project();
        insta::assert_snapshot!(scratch.shows(&["plan", "compile", "demo"]), @r"
        wrote SCRATCH/demo/PROGRESS.yaml
        [exit 0]
        ");
        insta::assert_snapshot!(scratch.read("demo/PROGRESS.yaml"), @r"
        sprint-id: 2026-01-15_demo
        status: not-started
        phases:
          - id: build
            status: pending
            prompt: build it
          - id: test
            status: pending
            prompt: test it
        current:
          phase: 0
          step: null
          sub-phase: null
        stats:
          started-at: null
          total-phases: 2
          completed-phases: 0
        parallel-tasks: []
        ");
        assert!(!scratch.has(".piton"), "compiling never opens the store");
        assert_eq!(
            scratch.piton(&["plan", "compile", "demo"]).exit,
            0,
            "what is not started may be written again"
        );
    }

    #[test]
    fn a_file_that_holds_progress_is_refused() {
        let scratch = project();
        scratch.agent("echo fine");
        assert_eq!(scratch.run(&["--once"]).exit, 5);
        let text = scratch.read("demo/PROGRESS.yaml");
        insta::assert_snapshot!(scratch.shows(&["plan", "compile", "demo"]), @r"
        error: SCRATCH/demo/PROGRESS.yaml holds progress; nothing was written [plan.started]
        hint: print it with `piton plan compile demo -o -`, or begin a new run with `piton run demo --recompile`, which keeps the old file beside
        [exit 1]
        ");
        insta::assert_snapshot!(scratch.shows(&["plan", "compile", "demo", "-o", "demo/PROGRESS.yaml"]), @r"
        error: SCRATCH/demo/PROGRESS.yaml holds progress; nothing was written [plan.started]
        hint: print it with `piton plan compile demo -o -`, or begin a new run with `piton run demo --recompile`, which keeps the old file beside
        [exit 1]
        ");
        insta::assert_snapshot!(scratch.shows(&["plan", "compile", "demo", "-o", "demo/SPRINT.yaml"]), @r"
        error: SCRATCH/demo/SPRINT.yaml is there and is not a fresh PROGRESS.yaml; nothing was written [plan.started]
        hint: print it with `piton plan compile demo -o -`, or begin a new run with `piton run demo --recompile`, which keeps the old file beside
        [exit 1]
        ");
        assert_eq!(scratch.read("demo/PROGRESS.yaml"), text);
    }

    #[test]
    fn a_dash_is_stdout_and_another_file_is_written() {
        let scratch = project();
        let said = scratch.piton(&["plan", "compile", "demo", "-o", "-"]);
        assert_eq!((said.exit, said.err.as_str()), (0, ""));
        assert!(
            said.out
                .starts_with("sprint-id: 2026-01-15_demo\nstatus: not-started\n"),
            "{}",
            said.out
        );
        assert!(!scratch.has("demo/PROGRESS.yaml"));
        assert_eq!(
            scratch
                .piton(&["plan", "compile", "demo/SPRINT.yaml", "-o", "out.yaml"])
                .exit,
            0
        );
        assert_eq!(scratch.read("out.yaml"), said.out);
        let said = scratch.piton(&["plan", "compile", "demo", "-o", "no/such/folder.yaml"]);
        assert_eq!(said.exit, 7, "{}", said.err);
    }

    #[test]
    fn what_is_no_regular_file_is_written_to_and_never_exchanged() {
        let scratch = project();
        assert_eq!(
            scratch
                .piton(&["plan", "compile", "demo", "-o", "/dev/null"])
                .exit,
            0
        );
        assert!(
            !std::fs::metadata("/dev/null")
                .expect("it is there")
                .is_file()
        );
        let pipe = scratch.path().join("pipe");
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::Mode::from_raw_mode(0o600),
        )
        .expect("a pipe");
        let writer = Running::start(scratch.command(&["plan", "compile", "demo", "-o", "pipe"]));
        let text = std::fs::read_to_string(&pipe).expect("read to its end");
        assert_eq!(writer.end().exit, 0);
        assert!(text.starts_with("sprint-id:"), "{text}");
        assert!(!std::fs::metadata(&pipe).expect("it is there").is_file());
    }

    #[test]
    fn json_has_problems_and_with_a_dash_the_sprint() {
        let scratch = project();
        let value = scratch.json(&["plan", "compile", "demo", "-o", "-"]);
        assert_eq!(value["problems"], serde_json::json!([]));
        assert_eq!(value["progress"]["phases"][1]["id"], "test");
        let value = scratch.json(&["plan", "compile", "demo", "-o", "out.yaml"]);
        assert!(
            value.get("progress").is_none() && scratch.has("out.yaml"),
            "{value}"
        );
    }

    /// Without `-o` the file beside is written, with or without `--json`.
    #[test]
    fn json_changes_what_is_printed_and_not_what_is_written() {
        let scratch = project();
        let value = scratch.json(&["plan", "compile", "demo"]);
        assert_eq!(value["problems"], serde_json::json!([]));
        assert!(scratch.has("demo/PROGRESS.yaml"));
    }
}

mod problems {
    use super::*;

    const BAD: &str = "  - id: build\n    prompt: build it\n    model: gpt\n  - prompt: nameless\n  - id: build\n    prompt: again\n    break: soon\n";

    #[test]
    fn they_are_printed_like_a_compiler_s_all_in_one_go() {
        let scratch = Scratch::new();
        scratch.sprint(BAD);
        let said = scratch.piton(&["plan", "compile", "demo"]);
        insta::assert_snapshot!(said.shown(&scratch), @r"
        error[INVALID_MODEL]: there is no model `gpt`
         --> .claude/workflows/main.yaml:6:12
          |
        6 |     model: gpt
          |            ^^^
          |
          = help: write `sonnet`, `opus` or `haiku`

        error[MISSING_PHASE_ID]: the phase has no id
         --> .claude/workflows/main.yaml:7:5
          |
        7 |   - prompt: nameless
          |     ^^^^^^
          |
          = help: add `id:` with a short name, in quotes if it looks like a number or a date

        error[DUPLICATE_PHASE_ID]: a phase above has the id `build` too
         --> .claude/workflows/main.yaml:8:9
          |
        8 |   - id: build
          |         ^^^^^
          |
          = help: give each phase of a workflow an id of its own

        error[INVALID_BREAK]: `break` must be true or false, not the string `soon`
          --> .claude/workflows/main.yaml:10:12
           |
        10 |     break: soon
           |            ^^^^
           |
           = help: write `true` or `false`, without quotes

        4 errors; nothing was written
        [exit 1]
        ");
        assert!(!scratch.has("demo/PROGRESS.yaml"));
        let checked = scratch.piton(&["plan", "check", "demo"]);
        assert_eq!(checked.exit, 1);
    }

    #[test]
    fn in_json_each_has_its_place_and_its_mend() {
        let scratch = Scratch::new();
        scratch.sprint(BAD);
        let value = scratch.json(&["plan", "check", "demo"]);
        let first = &value["problems"][0];
        let keys: Vec<&String> = first.as_object().expect("an object").keys().collect();
        for key in [
            "code", "severity", "path", "file", "line", "column", "message", "hint",
        ] {
            assert!(
                keys.iter().any(|known| *known == key),
                "{key} is missing: {first}"
            );
        }
        let codes: Vec<&str> = value["problems"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|problem| problem["code"].as_str())
            .collect();
        assert_eq!(
            codes,
            [
                "INVALID_MODEL",
                "MISSING_PHASE_ID",
                "DUPLICATE_PHASE_ID",
                "INVALID_BREAK"
            ]
        );
    }

    #[test]
    fn a_variable_that_nothing_fills_in_is_a_warning_and_strictly_an_error() {
        let scratch = Scratch::new();
        scratch.sprint("  - id: build\n    prompt: \"{{nobody.knows}}\"\n");
        assert_eq!(scratch.piton(&["plan", "check", "demo"]).exit, 0);
        let said = scratch.piton(&["plan", "check", "demo", "--strict"]);
        assert_eq!(said.exit, 1);
        assert!(said.err.contains("UNRESOLVED_VARIABLES"), "{}", said.err);
    }

    #[test]
    fn a_run_of_a_plan_with_errors_shows_them_and_starts_nothing() {
        let scratch = Scratch::new();
        scratch.sprint(BAD).agent("touch started");
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 1);
        assert!(
            said.err.contains("MISSING_PHASE_ID")
                && said.err.contains("4 errors; nothing was started"),
            "{}",
            said.err
        );
        assert!(!scratch.has(".piton") && !scratch.has("started"));
    }

    #[test]
    fn a_missing_workflow_is_named_with_the_places_that_were_looked_at() {
        let scratch = Scratch::new();
        scratch.write(
            "demo/SPRINT.yaml",
            "workflow: nowhere\ncollections: {step: [{prompt: unused}]}\n",
        );
        let said = scratch.piton(&["plan", "check", "demo"]);
        insta::assert_snapshot!(said.shown(&scratch), @r"
        error[MAIN_WORKFLOW_NOT_FOUND]: there is no workflow `nowhere`; looked for .claude/workflows/nowhere.yaml, .claude/workflows/nowhere.yml, .claude/workflows/nowhere
         --> demo/SPRINT.yaml:1:11
          |
        1 | workflow: nowhere
          |           ^^^^^^^
          |
          = help: correct the name, or add the file

        1 error; nothing was written
        [exit 1]
        ");
    }

    #[test]
    fn an_unknown_model_is_named_with_those_there_are() {
        let scratch = Scratch::new();
        scratch.sprint_with("model: gpt-9\n", TWO);
        let said = scratch.piton(&["plan", "check", "demo"]);
        insta::assert_snapshot!(said.shown(&scratch), @r"
        error[INVALID_MODEL]: there is no model `gpt-9`
         --> demo/SPRINT.yaml:4:8
          |
        4 | model: gpt-9
          |        ^^^^^
          |
          = help: write `sonnet`, `opus` or `haiku`

        1 error; nothing was written
        [exit 1]
        ");
    }
}

mod bad_input {
    use super::*;

    /// What a definition of this content comes to, in each command that reads it.
    #[track_caller]
    fn check(content: &[u8], exit: i32, code: &str) -> Said {
        let scratch = Scratch::new();
        scratch.sprint(TWO).agent("touch started");
        std::fs::write(scratch.path().join("demo/SPRINT.yaml"), content).expect("written");
        let said = scratch.piton(&["plan", "compile", "demo"]);
        assert_eq!(said.exit, exit, "{}", said.err);
        assert!(said.err.contains(code), "{code}: {}", said.err);
        assert!(!said.err.contains("panicked"), "{}", said.err);
        assert!(
            said.err.len() < 20_000,
            "one clear message, not {} bytes",
            said.err.len()
        );
        assert!(!scratch.has("demo/PROGRESS.yaml"));
        let run = scratch.run(&[]);
        assert_eq!(run.exit, exit, "{}", run.err);
        assert!(
            run.err.contains(code) && !scratch.has("started"),
            "{}",
            run.err
        );
        said
    }

    #[test]
    fn broken_yaml() {
        check(b"workflow: [main\nname: x\n", 1, "SPRINT_LOAD_ERROR");
        check(b"workflow: 'main\n", 1, "SPRINT_LOAD_ERROR");
        check(b"", 1, "INVALID_SPRINT");
        check(b"- a\n- b\n", 1, "MISSING_WORKFLOW");
    }

    #[test]
    fn tabs() {
        check(
            b"workflow: main\ncollections:\n\tstep:\n\t\t- prompt: x\n",
            1,
            "SPRINT_LOAD_ERROR",
        );
    }

    #[test]
    fn duplicate_keys() {
        let said = check(b"workflow: main\nworkflow: other\n", 1, "SPRINT_LOAD_ERROR");
        assert!(said.err.contains("workflow"), "{}", said.err);
    }

    #[test]
    fn alias_bombs() {
        let mut bomb = String::from("workflow: main\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let previous = format!("*a{}", level - 1);
            bomb.push_str(&format!(
                "a{level}: &a{level} [{}]\n",
                vec![previous; 9].join(", ")
            ));
        }
        let begun = std::time::Instant::now();
        check(bomb.as_bytes(), 1, "SPRINT_LOAD_ERROR");
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    }

    #[test]
    fn fifty_megabytes() {
        let mut large = b"workflow: main\nname: ".to_vec();
        large.resize(50 << 20, b'x');
        let said = check(&large, 1, "SPRINT_LOAD_ERROR");
        assert!(
            said.err.contains("50 MB") || said.err.contains("49 MB"),
            "{}",
            said.err
        );
    }

    #[test]
    fn binary() {
        check(b"\x7fELF\x00\x01\xff\xfe", 1, "SPRINT_LOAD_ERROR");
    }

    #[test]
    fn deeply_nested() {
        let deep = format!(
            "workflow: main\nx: {}{}\n",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        check(deep.as_bytes(), 1, "SPRINT_LOAD_ERROR");
    }

    #[test]
    fn a_sprint_that_is_not_there_or_is_a_file() {
        let scratch = project();
        scratch
            .write("notes.txt", "x")
            .write("empty/x", "")
            .agent("true");
        insta::assert_snapshot!(scratch.shows(&["plan", "compile", "nowhere"]), @r"
        error: cannot find nowhere [plan.none]
          because: No such file or directory (os error 2)
        hint: name a folder with a SPRINT.yaml, or the file itself
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["plan", "compile", "notes.txt"]), @r"
        error: notes.txt is a file, and not a plan [plan.none]
        hint: name a folder with a SPRINT.yaml, or the file itself
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["plan", "compile", "empty"]), @r"
        error[SPRINT_LOAD_ERROR]: there is no such file
        --> empty/SPRINT.yaml
         = help: name a folder that holds a SPRINT.yaml in UTF-8

        1 error; nothing was written
        [exit 1]
        ");
        insta::assert_snapshot!(scratch.shows(&["run", "./nowhere", "--agent", "true"]), @r"
        error: cannot find ./nowhere [plan.none]
          because: No such file or directory (os error 2)
        hint: name a folder with a SPRINT.yaml, or the file itself
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["run", "nowhere", "--agent", "true"]), @r"
        error: there is no plan and no run `nowhere` here [plan.none]
        hint: name a folder with a SPRINT.yaml
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["run", "notes.txt", "--agent", "true"]), @r"
        error: notes.txt is a file, and not a plan [plan.none]
        hint: name a folder with a SPRINT.yaml, a prd.json, a state.json or a task file with criteria
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["run", "empty", "--agent", "true"]), @r"
        error: empty holds no plan [plan.none]
        hint: a plan is a folder with a SPRINT.yaml, a prd.json, a state.json or a task file with criteria
        [exit 2]
        ");
        insta::assert_snapshot!(scratch.shows(&["run", "--agent", "true"]), @r"
        error: there is no plan here [plan.none]
        hint: name one: `piton run PLAN`, where PLAN is a folder with a SPRINT.yaml, a prd.json, a task file or a state.json
        [exit 2]
        ");
        assert!(!scratch.has(".piton"));
    }

    #[test]
    fn a_definition_that_may_not_be_read() {
        let scratch = project();
        let path = scratch.path().join("demo/SPRINT.yaml");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
        std::fs::set_permissions(&path, mode).expect("taken away");
        if std::fs::read(&path).is_ok() {
            eprintln!("skipped: this user may read everything");
            return;
        }
        let said = scratch.piton(&["plan", "compile", "demo"]);
        assert_eq!(said.exit, 1, "{}", said.err);
        assert!(said.err.contains("cannot be read"), "{}", said.err);
    }

    #[test]
    fn a_workflow_that_is_broken_is_shown_at_its_place() {
        let scratch = project();
        scratch.write(
            ".claude/workflows/main.yaml",
            "name: main\nphases:\n  - id: [\n",
        );
        let said = scratch.piton(&["plan", "check", "demo"]);
        assert_eq!(said.exit, 1);
        assert!(
            said.err.contains("WORKFLOW_PARSE_ERROR")
                && said.err.contains(".claude/workflows/main.yaml:"),
            "{}",
            said.err
        );
    }

    #[test]
    fn a_progress_file_that_is_broken_is_not_run_and_not_replaced() {
        for text in [
            "sprint-id: [\n",
            "\tsprint-id: x\n",
            "sprint-id: a\nphases: [{id: 1, id: 2}]\n",
        ] {
            let scratch = project();
            scratch
                .agent("touch started")
                .write("demo/PROGRESS.yaml", text);
            let said = scratch.run(&[]);
            assert_eq!(said.exit, 6, "{text}: {}", said.err);
            assert!(said.err.contains("nothing was changed"), "{}", said.err);
            assert_eq!(scratch.read("demo/PROGRESS.yaml"), text);
            assert!(!scratch.has(".piton") && !scratch.has("started"));
        }
    }
}
