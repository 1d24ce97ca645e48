//! `piton run prd.json` and `piton run RALPH_TASK.md`: the items one after
//! another, marks on evidence, and whatever others write meanwhile.

use crate::harness::{Running, Said, Scratch};

const LIST: &str = r#"{"features": [
  {"id": "a", "description": "do a", "steps": [], "passes": false},
  {"id": "b", "description": "do b", "steps": [], "passes": false, "verification": "test -f b"},
  {"id": "c", "description": "do c", "steps": [], "passes": false, "may_depend_on": ["b"]}
]}
"#;
const TASK: &str = "---\ntask: All of it\ntest_command: sh check.sh\n---\n# T\n\n1. [ ] A-1: first\n2. [ ] A-2: second\n3. [ ] A-3: third\n";

fn project(name: &str, text: &str, agent: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.write(name, text).write("check.sh", "").agent(agent);
    scratch
}

fn run(scratch: &Scratch, plan: &str) -> Said {
    scratch.piton(&[
        "run",
        plan,
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ])
}

fn start(scratch: &Scratch, plan: &str) -> Running {
    Running::start(scratch.command(&[
        "run",
        plan,
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ]))
}

/// The state of a node of a run.
fn state(scratch: &Scratch, run: &str, node: &str) -> String {
    let status = scratch.json(&["status", run]);
    let nodes = status["run"]["nodes"].as_array().expect("nodes").clone();
    let found = nodes.into_iter().find(|have| have["node"] == node);
    let found = found.unwrap_or_else(|| panic!("there is no node {node}"));
    found["state"].as_str().expect("a word").to_owned()
}

/// What an example prints, run twice; `words` are what is to be watched for.
fn example(name: &str, words: &str) -> Vec<String> {
    let scratch = Scratch::outside_git();
    let script = format!(
        "{}/../../examples/{name}/run.sh",
        env!("CARGO_MANIFEST_DIR")
    );
    (0..2)
        .map(|_| {
            let mut command = scratch.shell(&script);
            command
                .env_remove("PITON_TEST_TRUST")
                .env("PITON", env!("CARGO_BIN_EXE_piton"))
                .env("TMPDIR", scratch.path());
            let said = Running::start(command).end();
            assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
            assert!(!scratch.path().join(".local").exists(), "{}", said.err);
            assert!(said.err.contains(words), "{}", said.err);
            assert!(said.err.contains("is done"), "{}", said.err);
            said.out
        })
        .collect()
}

#[test]
fn the_example_of_a_list_runs_to_its_end_twice_in_a_row() {
    for out in example("prd", "! check of ") {
        assert_eq!(out.matches("+      \"passes\": true").count(), 2, "{out}");
    }
}

#[test]
fn the_example_of_lanes_runs_to_its_end_twice_in_a_row() {
    for out in example("lanes", "goes back to an agent: its work conflicts") {
        for merged in ["home", "about", "contact", "test"] {
            let merge = format!("2026-01-15_site: merge {merged}");
            assert!(out.contains(&merge), "{merge}: {out}");
        }
    }
}

#[test]
fn the_example_of_an_issue_graph_runs_to_its_end_twice_in_a_row() {
    for out in example("issue-graph", "TRACKING 0s") {
        assert!(out.contains("look at artifacts/scoping-doc.md"), "{out}");
        assert!(out.contains("greeter#2  done  greeter  A manual"), "{out}");
    }
}

#[test]
fn the_example_of_a_task_runs_to_its_end_twice_in_a_row() {
    for out in example("task", "! check of ") {
        assert_eq!(out.matches("\n+").count(), 4 + 1, "{out}");
        assert!(out.contains("+2. [x] The greeter"), "{out}");
    }
}

#[test]
fn a_list_is_worked_through_and_passes_stands_where_it_passed() {
    let agent = "echo $PITON_ITEM >>order\ncat >prompt-$PITON_ITEM\ntouch $PITON_ITEM\necho done";
    let scratch = project("prd.json", LIST, agent);
    let said = run(&scratch, "prd.json");
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("2 of its 3 open items have no command"),
        "{}",
        said.err
    );
    assert_eq!(scratch.read("order"), "a\nb\nc\n");
    assert_eq!(
        scratch.read("prd.json"),
        LIST.replace("\"passes\": false", "\"passes\": true")
    );
    let prompt = scratch.read("prompt-b");
    assert!(
        prompt.starts_with("# The list in prd.json: b\n"),
        "{prompt}"
    );
    assert!(prompt.contains("**b**: do b"), "{prompt}");
    let status = scratch.json(&["status", "prd.json"]);
    let nodes = status["run"]["nodes"].as_array().expect("nodes").clone();
    assert_eq!(nodes[0]["evidence"]["level"], "changed", "{nodes:?}");
    assert_eq!(nodes[1]["evidence"]["level"], "check", "{nodes:?}");
    let again = run(&scratch, "prd.json");
    assert_eq!(again.exit, 0);
    assert_eq!(scratch.read("order"), "a\nb\nc\n", "nothing is done twice");
    // What is put in afterwards is done then.
    let more = scratch.read("prd.json").replace(
        "\n]}",
        ",\n  {\"id\": \"d\", \"description\": \"do d\", \"steps\": [], \"passes\": false}\n]}",
    );
    scratch.write("prd.json", &more);
    assert_eq!(run(&scratch, "prd").exit, 0);
    assert_eq!(scratch.read("order"), "a\nb\nc\nd\n");
}

#[test]
fn a_file_with_crlf_stays_one_and_only_boxes_change() {
    let text = TASK.replace('\n', "\r\n");
    let scratch = project(
        "RALPH_TASK.md",
        &text,
        "echo x >>made; echo '<ralph>COMPLETE</ralph>'",
    );
    let said = scratch.piton(&["run", "--agent", "./agent.sh", "--verdict", "exit-status"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("RALPH_TASK.md"), text.replace("[ ]", "[x]"));
}

#[test]
fn an_agent_that_ticks_its_own_box_is_not_believed() {
    // It ticks the box while it works, and fails; then while its check fails.
    for end in ["exit 1", "echo done"] {
        let agent = format!("sed -i.bak 's/1. \\[ \\]/1. [x]/' RALPH_TASK.md; sleep 0.4; {end}");
        let scratch = project("RALPH_TASK.md", TASK, &agent);
        scratch.write("check.sh", "exit 1");
        let said = run(&scratch, "RALPH_TASK.md");
        assert_eq!(said.exit, 1, "{}", said.err);
        assert_eq!(scratch.read("RALPH_TASK.md"), TASK, "{}", said.err);
        assert_eq!(state(&scratch, "RALPH_TASK", "a-1"), "failed");
        assert_eq!(scratch.json_list(&["inbox"])[0]["node"], "a-1");
    }
}

#[test]
fn an_agent_that_says_passes_with_its_last_breath_is_not_believed() {
    let agent = "sed -i.bak 's/\"passes\": false/\"passes\": true/' prd.json; exit 1";
    let one = "{\"features\": [{\"id\": \"a\", \"description\": \"a\", \"passes\": false}]}";
    let scratch = project("prd.json", one, agent);
    assert_eq!(run(&scratch, "prd.json").exit, 1);
    assert_eq!(scratch.read("prd.json"), one);
}

#[test]
fn a_run_keeps_the_files_of_ralph_only_where_their_folder_is() {
    let one = "{\"features\": [{\"id\": \"a\", \"description\": \"a\", \"passes\": false}]}";
    let scratch = project("prd.json", one, "echo x >>made; echo done");
    assert_eq!(run(&scratch, "prd.json").exit, 0);
    assert!(!scratch.has(".ralph"));
    let scratch = project("prd.json", one, "echo x >>made; echo done");
    scratch.write(".ralph/notes", "");
    let said = run(&scratch, "prd.json");
    assert!(
        said.err.contains("keeping .ralph/progress.json up to date"),
        "{}",
        said.err
    );
    assert!(scratch.has(".ralph/progress.json"));
    assert!(!scratch.has(".ralph/guardrails.md"));
}

/// Whoever has rules for agents in that folder expects them to be told.
#[test]
fn agents_of_a_run_are_told_the_guardrails_that_are_there() {
    let one = "{\"features\": [{\"id\": \"a\", \"description\": \"a\", \"passes\": false}]}";
    let scratch = project("prd.json", one, "cat >prompt; echo x >>made; echo done");
    let signs = "# Guardrails\n\n## Signs\n- Never touch vendor/\n";
    scratch.write(".ralph/guardrails.md", signs);
    let said = run(&scratch, "prd.json");
    assert!(said.err.contains(".ralph/guardrails.md"), "{}", said.err);
    let prompt = scratch.read("prompt");
    assert!(prompt.contains("Never touch vendor/"), "{prompt}");
}

#[test]
fn what_is_added_while_an_agent_works_is_worked_on_and_a_tick_is_a_claim() {
    let agent = "echo $PITON_ITEM >>order\nwhile [ ! -f go ]; do sleep 0.05; done\necho done";
    let scratch = project("RALPH_TASK.md", TASK, agent);
    let running = start(&scratch, "RALPH_TASK.md");
    scratch.until("an agent works", || scratch.has("order"));
    let text = TASK.replace("2. [ ]", "2. [x]") + "4. [ ] A-4: fourth\n";
    scratch.write("RALPH_TASK.md", &text);
    running.until_said("RALPH_TASK.md in");
    scratch.write("go", "");
    let said = running.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("order"), "a-1\na-2\na-3\na-4\n");
    assert_eq!(scratch.read("RALPH_TASK.md"), text.replace("[ ]", "[x]"));
}

#[test]
fn a_run_that_was_killed_goes_on_at_its_item() {
    let agent = "echo $PITON_ITEM >>order\n[ $PITON_ITEM = a-1 ] || while [ ! -f go ]; do sleep 0.05; done\necho done";
    let scratch = project("RALPH_TASK.md", TASK, agent);
    let running = start(&scratch, "RALPH_TASK.md");
    scratch.until("the second works", || {
        scratch.has("order") && scratch.read("order").contains("a-2")
    });
    running.kill();
    scratch.write("go", "");
    let said = run(&scratch, "RALPH_TASK.md");
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("order"), "a-1\na-2\na-2\na-3\n");
    assert_eq!(scratch.read("RALPH_TASK.md"), TASK.replace("[ ]", "[x]"));
}

#[test]
fn a_box_that_was_ticked_before_a_crash_is_no_evidence_after_it() {
    let agent = "[ ! -f go ] || exit 1\nsed -i.bak 's/1. \\[ \\]/1. [x]/' RALPH_TASK.md\ntouch ticked\nwhile :; do sleep 0.05; done";
    let scratch = project("RALPH_TASK.md", TASK, agent);
    let running = start(&scratch, "RALPH_TASK.md");
    scratch.until("the box is ticked", || scratch.has("ticked"));
    running.kill();
    scratch.write("go", "");
    assert_eq!(run(&scratch, "RALPH_TASK.md").exit, 1);
    assert_eq!(state(&scratch, "RALPH_TASK", "a-1"), "failed");
    assert_eq!(scratch.read("RALPH_TASK.md"), TASK);
}

#[test]
fn a_list_is_begun_anew_as_it_stands() {
    let scratch = project(
        "prd.json",
        LIST,
        "echo $PITON_ITEM >>order; touch b; echo done",
    );
    let dry = &scratch.json(&["run", "prd.json", "--dry-run"])["items"];
    assert!(!scratch.has(".piton"), "{dry}");
    assert_eq!(run(&scratch, "prd.json").exit, 0);
    let again = LIST.replacen("\"passes\": false", "\"passes\": true", 1);
    scratch.write("prd.json", &again);
    let more = [
        "run",
        "prd.json",
        "--recompile",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let said = scratch.piton(&more);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("order"), "a\nb\nc\nb\nc\n");
    assert_eq!(state(&scratch, "prd~2", "a"), "done");
    assert_eq!(
        scratch.read("prd.json"),
        LIST.replace("\"passes\": false", "\"passes\": true")
    );
    let from = ["run", "prd.json", "--from", "prd.json", "--agent", "true"];
    assert_eq!(scratch.piton(&from).exit, 2);
}

#[test]
fn a_blocked_criterion_waits_for_a_decision_and_can_be_skipped() {
    let agent = "[ $PITON_ITEM = a-1 ] || { echo x >>made; echo done; exit; }\necho 'There is no key.'\necho '<ralph>BLOCKED</ralph>'";
    let scratch = project("RALPH_TASK.md", TASK, agent);
    let said = run(&scratch, "RALPH_TASK.md");
    assert_eq!(said.exit, 1, "{}", said.err);
    assert_eq!(state(&scratch, "RALPH_TASK", "a-1"), "blocked");
    let inbox = scratch.json_list(&["inbox"]);
    let id = inbox[0]["id"].as_str().expect("an id").to_owned();
    let shown = serde_json::to_string(&inbox).expect("JSON");
    assert!(shown.contains("There is no key."), "{shown}");
    assert_eq!(scratch.piton(&["decide", &id, "skip"]).exit, 0);
    assert_eq!(run(&scratch, "RALPH_TASK.md").exit, 0);
    assert_eq!(
        scratch.read("RALPH_TASK.md"),
        TASK.replace("2. [ ]", "2. [x]").replace("3. [ ]", "3. [x]")
    );
}

#[test]
fn a_run_is_paused_by_a_file_beside_the_plan_and_by_name() {
    let scratch = project("work/TASK.md", TASK, "echo $PITON_ITEM >>order; echo done");
    scratch.write("work/PAUSE", "");
    assert_eq!(run(&scratch, "work/TASK.md").exit, 3);
    assert!(!scratch.has("order"));
    assert_eq!(scratch.piton(&["resume", "work/TASK.md"]).exit, 0);
    assert!(scratch.has("work/PAUSE.done"));
    assert_eq!(scratch.piton(&["plan", "skip", "a-2"]).exit, 0);
    assert_eq!(run(&scratch, "work/TASK.md").exit, 0);
    assert_eq!(scratch.read("order"), "a-1\na-3\n");
}

#[test]
fn what_is_no_plan_is_named_for_what_it_is() {
    let scratch = project(
        "RALPH_TASK.md",
        "# Nothing to do\n\nSee [ ] here.\n",
        "echo done",
    );
    scratch
        .write(
            "state.json",
            r#"{"run_id": "r", "phase": "EXECUTING", "phase_status": "in_progress", "issues": {}}"#,
        )
        .write("prd.json", r#"{"loop": 3, "status": "running"}"#)
        .write(
            "one.json",
            r#"{"title": "a", "status": "pending", "steps": []}"#,
        )
        .write("none.json", r#"{"features": []}"#)
        .write("half.json", r#"{"features": [{"id": "a""#)
        .write(
            "twice.json",
            r#"{"features": [{"id": "a", "description": "x", "passes": false}, {"id": "a"}]}"#,
        );
    #[track_caller]
    fn check(scratch: &Scratch, plan: &str, exit: i32, code: &str, text: &str) {
        let before = scratch.read(plan);
        let said = run(scratch, plan);
        assert_eq!(said.exit, exit, "{plan}: {}", said.err);
        assert!(
            said.err.contains(&format!("[{code}]")),
            "{plan}: {}",
            said.err
        );
        assert!(said.err.contains(text), "{plan}: {}", said.err);
        assert_eq!(scratch.read(plan), before);
    }
    check(
        &scratch,
        "RALPH_TASK.md",
        1,
        "plan.problems",
        "has no criteria",
    );
    check(
        &scratch,
        "none.json",
        1,
        "plan.problems",
        "lists nothing to do",
    );
    check(
        &scratch,
        "state.json",
        1,
        "plan.problems",
        "has no issues, and no phase",
    );
    check(
        &scratch,
        "prd.json",
        6,
        "plan.foreign",
        "it begins with `loop`, `status`",
    );
    check(
        &scratch,
        "one.json",
        6,
        "plan.foreign",
        "a single requirement",
    );
    check(&scratch, "half.json", 6, "plan.unreadable", "half.json:1:");
    check(&scratch, "twice.json", 1, "plan.problems", "DUPLICATE_ID");
    assert!(!scratch.has(".piton"), "nothing is begun");
}

#[test]
fn what_is_found_here_is_run_unless_there_is_more_than_one() {
    let scratch = project(".ralph/prd.json", LIST, "touch $PITON_ITEM; echo done");
    scratch.write("RALPH_TASK.md", TASK);
    let said = scratch.piton(&["run", "--agent", "./agent.sh", "--verdict", "exit-status"]);
    assert_eq!(said.exit, 2);
    assert!(
        said.err
            .contains("name one of: .ralph/prd.json (3 open), RALPH_TASK.md (3 open)"),
        "{}",
        said.err
    );
    assert_eq!(run(&scratch, ".ralph/prd.json").exit, 0);
    assert!(!scratch.read(".ralph/prd.json").contains("false"));
    assert_eq!(run(&scratch, "RALPH_TASK.md").exit, 0);
}

#[test]
fn signs_are_the_first_thing_an_agent_is_given() {
    let scratch = project("RALPH_TASK.md", TASK, "cat >prompt; echo done");
    scratch.sprint("  - id: build\n    prompt: build it\n");
    scratch.write(
        ".ralph/guardrails.md",
        "# Guardrails (Signs)\n\n## Active Guardrails\n\n### Sign: Look first\n- **Trigger**: Before an edit\n- **Instruction**: Read the file\n- **Added after**: Session 1 - a mess\n\n## Resolved Guardrails\n",
    );
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    for plan in ["RALPH_TASK.md", "demo"] {
        assert_eq!(run(&scratch, plan).exit, 0);
        let prompt = scratch.read("prompt");
        assert!(prompt.starts_with("## Keep to this\n\n"), "{prompt}");
        let sign = "- [sign-0001] from `.ralph/guardrails.md`, not confirmed by a person here:\n  > Look first: Before an edit: Read the file\n";
        assert!(prompt.contains(sign), "{prompt}");
    }
}
