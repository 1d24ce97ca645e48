//! What real projects hold is taken for what it is, what cannot be taken is
//! refused with its place, and nothing is made that was not there.

use serde_json::Value;

use crate::harness::Scratch;

/// Two requirements, as lists in other places hold them.
const ITEMS: &str = r#"[{"id": "US-1", "title": "Cart", "passes": false}, {"id": "US-2", "title": "Sum", "passes": true}]"#;

#[test]
fn a_list_of_requirements_is_run_wherever_it_stands_in_its_file() {
    for (before, after) in [
        (r#"{"branch_name": "b", "stories": "#, "}"),
        (r#"{"tasks": "#, "}"),
        ("", ""),
    ] {
        let text = format!("{before}{ITEMS}{after}\n");
        let scratch = Scratch::new();
        scratch
            .write("prd.json", &text)
            .agent("echo $PITON_ITEM >order; echo done");
        let checked = scratch.piton(&["plan", "check", "prd.json"]);
        assert_eq!(checked.exit, 0, "{text}: {}", checked.err);
        let said = scratch.piton(&[
            "run",
            "prd.json",
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
        ]);
        assert_eq!(said.exit, 0, "{text}: {}", said.err);
        assert_eq!(scratch.read("order"), "US-1\n");
        assert_eq!(
            scratch.read("prd.json"),
            text.replace("\"passes\": false", "\"passes\": true")
        );
    }
}

#[test]
fn any_plan_can_be_checked() {
    let scratch = Scratch::new();
    scratch
        .write("prd.json", r#"{"features": [{"id": "a"}, {"id": "a"}]}"#)
        .write("RALPH_TASK.md", "# Task\n\n- [ ] it works\n")
        .write("notes.txt", "words");
    let twice = scratch.piton(&["plan", "check", "prd.json"]);
    assert_eq!(twice.exit, 1, "{}", twice.err);
    assert!(twice.err.contains("DUPLICATE_ID"), "{}", twice.err);
    insta::assert_snapshot!(scratch.shows(&["plan", "check", "RALPH_TASK.md"]), @r"
    RALPH_TASK.md is fine
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["plan", "check", "notes.txt"]), @r"
    error: notes.txt is a file, and not a plan [plan.none]
    hint: name a folder with a SPRINT.yaml, a prd.json, a state.json or a task file with criteria
    [exit 2]
    ");
    assert!(!scratch.has(".piton"));
}

#[test]
fn a_foreign_state_is_no_workflow() {
    let scratch = Scratch::new();
    scratch.write(
        ".sdlc/state.json",
        r#"{"currentPhase": 2, "phases": [{"name": "spec"}]}"#,
    );
    insta::assert_snapshot!(scratch.shows(&["files", "check", ".sdlc/state.json"]), @r#"
    error[FOREIGN]: this is a document of another tool, not the state of a run: it begins with `currentPhase`, `phases`
     --> .sdlc/state.json:1:1
      |
    1 | {"currentPhase": 2, "phases": [{"name": "spec"}]}
      | ^
      |
      = help: piton leaves it as it is; if it is meant to be a native file, see `piton files schema --help`

    1 error
    [exit 1]
    "#);
}

#[test]
fn nothing_is_made_that_was_not_there_unless_it_is_asked_for() {
    let scratch = Scratch::new();
    scratch
        .write("RALPH_TASK.md", "# Task\n\n- [ ] it works\n")
        .write("prd.json", &format!("{{\"features\": {ITEMS}}}"))
        .write(".agent-os/product/mission.md", "words\n")
        .write(".ralph/progress.md", "# Progress Log\n");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    assert_eq!(scratch.piton(&["log", "session_started"]).exit, 0);
    let made = [
        ".ralph/progress.json",
        ".ralph/guardrails.md",
        ".ralph/errors.log",
        ".ralph/.iteration",
        ".agent-os/progress/progress.json",
    ];
    for file in made {
        assert!(!scratch.has(file), "{file}");
    }
    assert!(scratch.read(".ralph/progress.md").contains("Session"));
    let all = [
        "init",
        "--yes",
        "--with",
        "agent-os",
        "--with",
        "ralph-json",
    ];
    assert_eq!(scratch.piton(&all).exit, 0);
    assert!(scratch.has(".agent-os/progress/progress.json"));
    assert!(scratch.has(".ralph/progress.json"));
    assert!(!scratch.has(".ralph/guardrails.md"));
    insta::assert_snapshot!(scratch.shows(&["init", "--with", "ralf"]), @r"
    error: there is no format `ralf` to begin files of [usage]
    hint: name one of: ralph-json, agent-os, ralph-dir
    [exit 2]
    ");
}

#[test]
fn a_text_that_is_not_utf_8_is_refused_with_its_line() {
    let scratch = Scratch::new();
    let path = scratch.path().join("progress.txt");
    std::fs::write(&path, b"# Progress\n- one\n- caf\xe9\n").expect("written");
    insta::assert_snapshot!(scratch.shows(&["files", "migrate"]), @r"
    error: progress.txt is not UTF-8 text: see line 3; nothing was taken over [file.unreadable]
    hint: save it as UTF-8, then run `piton files migrate` again; `iconv -f LATIN1 -t UTF-8 progress.txt` shows it converted
    [exit 6]
    ");
    assert!(path.is_file() && !scratch.has(".piton"));
}

#[test]
fn a_long_text_of_earlier_times_fills_no_prompt() {
    let scratch = Scratch::new();
    let words = "the parser keeps the order of its keys and the spaces between; ".repeat(60);
    let sections: Vec<String> = (0..8)
        .map(|nth| format!("## Parser {nth}\n\n{words}\n"))
        .collect();
    let text = format!("# Progress\n\n{}", sections.join("\n"));
    assert!(text.len() > 30_000);
    scratch.write("progress.txt", &text);
    let said = scratch.piton(&["files", "migrate"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let file: Value = serde_json::from_str(&scratch.read(".ralph/progress.json")).expect("JSON");
    let learnings = file["learnings"].as_array().expect("a list");
    assert!(learnings.len() >= 8, "{}", learnings.len());
    let length = |one: &Value| one["content"].as_str().map(|text| text.chars().count());
    assert!(learnings.iter().all(|one| length(one) <= Some(1_200)));
    let again = scratch.piton(&["files", "migrate"]);
    assert_eq!(again.exit, 0, "{}", again.err);
    let prepared = scratch.piton(&["prepare", "parser", "--max-tokens", "1000"]);
    assert!(prepared.out.len() <= 3_000, "{}", prepared.out.len());
}

#[test]
fn three_copies_of_a_page_that_others_write_are_kept() {
    const FOLDER: &str = ".agent-os/progress";
    let scratch = Scratch::new();
    scratch.write(&format!("{FOLDER}/progress.json"), "");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    for nth in 0..6 {
        scratch.write(&format!("{FOLDER}/progress.md"), &format!("mine {nth}\n"));
        let said = scratch.piton(&[
            "log",
            "milestone_reached",
            "--description",
            &format!("step {nth}"),
        ]);
        assert_eq!(said.exit, 0, "{}", said.err);
    }
    let mut copies: Vec<String> = std::fs::read_dir(scratch.path().join(FOLDER))
        .expect("listed")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains("before-piton"))
        .map(|entry| std::fs::read_to_string(entry.path()).expect("text"))
        .collect();
    copies.sort();
    assert_eq!(copies, ["mine 3\n", "mine 4\n", "mine 5\n"]);
}

#[test]
fn a_completed_criterion_stands_in_its_own_words() {
    let scratch = Scratch::new();
    scratch
        .write(".ralph/progress.md", "# Progress Log\n")
        .write("RALPH_TASK.md", "# Task\n\n- [ ] The tide is computed\n")
        .agent("echo high >tide; echo done it");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let said = scratch.piton(&[
        "run",
        "RALPH_TASK.md",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let text = scratch.read(".ralph/progress.md");
    let line = text.lines().find(|line| line.starts_with("- [x]"));
    let line = line.unwrap_or_default();
    assert!(line.starts_with("- [x] The tide is computed"), "{text}");
    assert!(!text.contains("tide-is-computed - "), "{text}");
    assert!(text.contains("  - Notes: done it"), "{text}");
    // What is shown is known: nothing is added again.
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    assert_eq!(scratch.read(".ralph/progress.md"), text);
}

#[test]
fn a_key_that_nothing_reads_is_told_when_the_plan_is_run() {
    let scratch = Scratch::new();
    scratch
        .write(
            "prd.json",
            "{\"features\": [\n  {\"id\": \"a\", \"verify\": \"make\", \"passes\": false},\n  {\"id\": \"b\", \"verify\": \"make\", \"passes\": true}\n]}\n",
        )
        .write(
            "RALPH_TASK.md",
            "---\ntask: t\ntest_cmd: make\n---\n\n- [ ] it works\n",
        )
        .agent("echo done >\"$PITON_ITEM\"; echo done");
    let run = |plan: &str| {
        let said = scratch.piton(&[
            "run",
            plan,
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
        ]);
        assert_eq!(said.exit, 0, "{}", said.err);
        said.err
    };
    let said = run("prd.json");
    assert!(
        said.contains("the key `verify` is not known; `verification` is, once more below"),
        "{said}"
    );
    assert!(said.contains("prd.json:2:"), "{said}");
    assert_eq!(said.matches("UNKNOWN_KEY").count(), 1, "{said}");
    // Told once of each version: what piton wrote itself it has read.
    let said = run("prd.json");
    assert!(!said.contains("UNKNOWN_KEY"), "{said}");
    let edited = scratch.read("prd.json").replace("verify", "check_with");
    scratch.write("prd.json", &edited);
    let said = run("prd.json");
    assert!(said.contains("the key `check_with`"), "{said}");
    let said = run("RALPH_TASK.md");
    assert!(
        said.contains("`test_cmd` is not known; `test_command` is"),
        "{said}"
    );
    assert!(said.contains("RALPH_TASK.md:3:1"), "{said}");
}

const FREE_PROGRESS: &str =
    "# Progress\n\n## Phase 1\n\n- [x] Keel\n- [x] Frames\n- [x] Planks\n- [x] Mast\n";

#[test]
fn a_run_names_an_item_that_is_to_wait_for_one_that_is_not_there() {
    let scratch = Scratch::new();
    scratch
        .write(
            "prd.json",
            r#"{"userStories": [{"id": "A", "title": "a", "passes": false, "dependsOn": ["B"]}]}"#,
        )
        .agent("echo done >done; echo done");
    let run = ["run", "prd.json", "--agent", "./agent.sh"];
    let said = scratch.piton(&[&run[..], &["--verdict", "exit-status"]].concat());
    assert_eq!(said.exit, 0, "{}", said.err);
    let told = said.err.matches("`A` depends on `B`, which is not there");
    assert_eq!(told.count(), 1, "{}", said.err);
}

#[test]
fn what_of_a_file_was_not_taken_is_said() {
    let scratch = Scratch::new();
    scratch.write(".ralph/progress.md", FREE_PROGRESS);
    let said = scratch.piton(&["files", "check", ".ralph/progress.md"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    for words in [
        ".ralph/progress.md: took 1 of 2 headings, 0 of 4 ticked boxes",
        "not taken: line 3: ## Phase 1",
        "not taken: line 5: - [x] Keel",
        "not taken: and 1 more ticked box",
        "no errors, and not all is taken",
    ] {
        assert!(said.err.contains(words), "{words}\n{}", said.err);
    }
    let strict = scratch.piton(&["files", "check", "--strict", ".ralph/progress.md"]);
    assert_eq!(strict.exit, 1, "{}", strict.err);
    let checked = scratch.piton(&["files", "check", "--json", ".ralph/progress.md"]);
    let json: Value = serde_json::from_str(&checked.out).expect("JSON");
    let boxes = &json["adopted"][0]["counts"][1];
    assert_eq!(boxes["what"], "ticked boxes", "{json}");
    assert_eq!((&boxes["taken"], &boxes["left"]), (&0.into(), &4.into()));
    assert_eq!(boxes["first"][0]["line"], 5);
    let listed = scratch.piton(&["files", "list"]);
    assert!(listed.out.contains("0 of 4 ticked boxes"), "{}", listed.out);
    assert_eq!(listed.exit, 0);
    assert_eq!(scratch.piton(&["files", "list", "--strict"]).exit, 1);
    let begun = scratch.piton(&["init", "--yes", "--strict"]);
    assert_eq!(begun.exit, 1);
    assert!(begun.err.contains("0 of 4 ticked boxes"), "{}", begun.err);
    // It is adopted all the same.
    assert!(scratch.has(".piton"));
    assert_eq!(scratch.read(".ralph/progress.md"), FREE_PROGRESS);
}

#[test]
fn a_key_of_an_entry_that_nothing_reads_is_not_taken() {
    const LOG: &str = ".agent-os/progress/progress.json";
    let scratch = Scratch::new();
    let text = "{\"version\": \"1.0\", \"project\": \"yard\", \"entries\": [\n\
        {\"id\": \"a\", \"timestamp\": \"2026-01-15T09:00:00Z\", \"type\": \"milestone_reached\",\n\
        \"taskId\": \"keel\", \"data\": {\"weather\": \"calm\"}}],\n\
        \"metadata\": {\"total_entries\": 1, \"oldest_entry\": null, \"last_updated\": null, \"archived_through\": null}}\n";
    scratch.write(LOG, text);
    let said = scratch.piton(&["files", "check", LOG]);
    assert_eq!(said.exit, 0, "{}", said.err);
    for words in [
        "took 1 entry, 13 of 14 keys",
        "not taken: line 3: taskId, perhaps meant as `task_id`",
        "warning[UNKNOWN_KEY]: the key `taskId` is not known; `task_id` is",
    ] {
        assert!(said.err.contains(words), "{words}\n{}", said.err);
    }
    let strict = scratch.piton(&["files", "check", "--strict", LOG]);
    assert_eq!(strict.exit, 1, "{}", strict.err);
}

#[test]
fn a_log_that_is_only_added_to_says_that_nothing_of_it_is_taken() {
    const LOG: &str = ".ralph/errors.log";
    let scratch = Scratch::new();
    scratch.write(
        LOG,
        "# Error Log\n\n[09:00:00] SHELL FAIL: make → exit 2 (attempt 1)\n  at keel.rs\n[09:00:01] The mast fell\n",
    );
    let said = scratch.piton(&["files", "check", LOG]);
    for words in [
        ".ralph/errors.log: took 0 of 2 entries",
        "not taken: line 3: [09:00:00] SHELL FAIL: make → exit 2 (attempt 1)",
        "not taken: line 5: [09:00:01] The mast fell",
        "piton adds lines to this log, and takes nothing from it",
    ] {
        assert!(said.err.contains(words), "{words}\n{}", said.err);
    }
    // Nobody can do anything about that.
    let strict = scratch.piton(&["files", "check", "--strict", LOG]);
    assert_eq!(strict.exit, 0, "{}", strict.err);
    assert_eq!(scratch.piton(&["init", "--yes", "--strict"]).exit, 0);
    let listed = scratch.piton(&["files", "list", "--strict"]);
    assert!(listed.out.contains("0 of 2 entries"), "{}", listed.out);
    assert_eq!(listed.exit, 0);
}

#[test]
fn rules_of_every_shape_are_told_and_the_rest_as_it_stands() {
    let scratch = Scratch::new();
    scratch
        .write("RALPH_TASK.md", "# Task\n\n- [ ] The tide is computed\n")
        .write(
            ".ralph/guardrails.md",
            "# Guardrails\n\n### G1: Look first\n- **Trigger**: Before a cut\n- **Instruction**: Measure\n\n\
             ### SIGN-001:\n- **Pattern**: a short plank\n- **Fix**: Measure twice\n\n\
             ## Database\n\n- Never drop a table\n\n## Limits\n\n| what | limit |\n| sails | # 3 |\n",
        )
        .agent("cat >prompt; echo high >tide; echo done it");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let said = scratch.piton(&[
        "run",
        "RALPH_TASK.md",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let prompt = scratch.read("prompt");
    for line in [
        "Before a cut: Measure",
        "a short plank: Measure twice",
        "  > Database: Never drop a table\n",
        "- from `.ralph/guardrails.md, line 17`, not confirmed by a person here:\n  > | what | limit |\n  > | sails | # 3 |\n",
    ] {
        assert!(prompt.contains(line), "{line}\n{prompt}");
    }
    let before = scratch.read(".ralph/guardrails.md");
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    assert_eq!(scratch.read(".ralph/guardrails.md"), before);
}

#[test]
fn an_unresolved_merge_is_named_as_one() {
    let merge = |ours: &str, theirs: &str| {
        format!("<<<<<<< HEAD\n{ours}\n=======\n{theirs}\n>>>>>>> feature\n")
    };
    let scratch = Scratch::new();
    scratch
        .write(
            "prd.json",
            &format!(
                "{{\"features\": [\n{}]}}\n",
                merge("{\"id\": 1}", "{\"id\": 2}")
            ),
        )
        .write("RALPH_TASK.md", &merge("- [ ] a", "- [x] a"))
        .write(
            "s/PROGRESS.yaml",
            &format!(
                "sprint-id: a\n{}",
                merge("status: paused", "status: blocked")
            ),
        )
        .write(".ralph/guardrails.md", &merge("- Ask", "- Look"))
        .agent("echo done");
    for file in [
        "prd.json",
        "RALPH_TASK.md",
        "s/PROGRESS.yaml",
        ".ralph/guardrails.md",
    ] {
        let said = scratch.piton(&["files", "check", file]);
        assert_eq!(said.exit, 1, "{file}");
        assert_eq!(
            said.err.matches("error[").count(),
            1,
            "{file}: {}",
            said.err
        );
        assert!(
            said.err.contains("the file holds an unresolved merge"),
            "{file}: {}",
            said.err
        );
    }
    for plan in ["prd.json", "RALPH_TASK.md", "s"] {
        let said = scratch.piton(&["run", plan, "--agent", "./agent.sh"]);
        assert_ne!(said.exit, 0, "{plan}");
        assert!(
            said.err.contains("an unresolved merge"),
            "{plan}: {}",
            said.err
        );
    }
    let begun = scratch.piton(&["init", "--yes"]);
    assert!(begun.err.contains(".ralph/guardrails.md"), "{}", begun.err);
    let asked = scratch.piton(&["inbox"]);
    assert!(asked.out.contains("an unresolved merge"), "{}", asked.out);
}

#[test]
fn a_sign_that_another_one_of_its_name_displaces_is_listed() {
    let scratch = Scratch::new();
    scratch.write(
        ".ralph/guardrails.md",
        "# G\n### Sign: Twice\n- **Trigger**: a\n- **Instruction**: one\n\
         ### Sign: Twice\n- **Trigger**: b\n- **Instruction**: two\n",
    );
    let begun = scratch.piton(&["init", "--strict", "--yes"]);
    assert_eq!(begun.exit, 1);
    for told in [
        "took 1 of 2 rules",
        "not taken: line 5: ### Sign: Twice\n",
        "took 1 thing in",
    ] {
        assert!(begun.err.contains(told), "{}", begun.err);
    }
}
