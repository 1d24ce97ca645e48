//! Marks and edits in the files of plans: an agent's are not believed, a
//! person's are.

use crate::harness::{DEMO, Running, Said, Scratch};

/// The last words of an agent that says that it has completed.
const COMPLETED: &str = r#"echo '{"status": "completed", "summary": "did it"}'"#;
const COMPLETE: &str = "echo '<ralph>COMPLETE</ralph>'";

const LIST: &str = r#"{"name": "p", "userStories": [
  {"id": "A", "title": "first", "passes":false},
  {"id": "B", "title": "second", "passes":false, "verification": "test -f never"}
]}
"#;
const TASK: &str = "---\ntask: All of it\ntest_command: test -f never\n---\n# T\n\n1. [ ] A-1: first\n2. [ ] A-2: second\n";
const PHASES: &str = "  - id: one\n    prompt: Do one.\n  - id: two\n    prompt: Do two.\n    break: true\n    gate:\n      script: exit 1\n      on-fail:\n        prompt: Fix it.\n        max-retries: 1\n";

/// The state of a node of a run, as `piton status` says it.
fn state(scratch: &Scratch, run: &str, node: &str) -> String {
    let status = scratch.json(&["status", run]);
    let nodes = status["run"]["nodes"].as_array().expect("nodes").clone();
    let found = nodes.into_iter().find(|have| have["node"] == node);
    let found = found.unwrap_or_else(|| panic!("there is no node {node}: {status}"));
    found["state"].as_str().expect("a word").to_owned()
}

fn kinds(scratch: &Scratch) -> Vec<String> {
    let inbox = scratch.json_list(&["inbox"]);
    let open = inbox.as_array().expect("a list");
    let kinds = open.iter().filter_map(|one| one["kind"].as_str());
    kinds.map(str::to_owned).collect()
}

fn run(scratch: &Scratch, plan: &str) -> Said {
    scratch.piton(&["run", plan, "--agent", "./agent.sh"])
}

#[test]
fn an_agent_that_sets_passes_on_every_story_completes_none_but_its_own() {
    for end in [COMPLETED, "exit 1"] {
        let scratch = Scratch::new();
        let agent = format!(
            "cat >/dev/null; touch a; sed -i 's/\"passes\":false/\"passes\":true/g' prd.json; {end}"
        );
        scratch.write("prd.json", LIST).agent(&agent);
        let said = run(&scratch, "prd.json");
        assert_ne!(said.exit, 0, "{}", said.err);
        assert_ne!(state(&scratch, "prd", "B"), "done", "{}", said.err);
        let says = "B was ticked in prd.json, its check has not run; to skip it: piton plan skip B";
        assert!(said.err.contains(says), "{}", said.err);
        let b = scratch.read("prd.json");
        let b = b.lines().find(|line| line.contains("\"B\"")).expect("B");
        assert!(b.contains("\"passes\":false"), "{b}");
        assert!(
            kinds(&scratch).iter().any(|kind| kind == "claimed-items"),
            "{:?}",
            kinds(&scratch)
        );
        let status = scratch.piton(&["status", "prd"]);
        let shown = format!("{}{}", status.out, status.err);
        assert!(shown.contains("B was ticked in prd.json"), "{shown}");
    }
}

#[test]
fn an_agent_that_ticks_every_box_completes_none() {
    for end in [COMPLETE, "exit 1"] {
        let scratch = Scratch::new();
        let agent =
            format!("cat >/dev/null; touch a; sed -i 's/\\[ \\]/[x]/' RALPH_TASK.md; {end}");
        scratch.write("RALPH_TASK.md", TASK).agent(&agent);
        let said = run(&scratch, "RALPH_TASK.md");
        assert_ne!(said.exit, 0, "{}", said.err);
        for node in ["a-1", "a-2"] {
            assert_ne!(state(&scratch, "RALPH_TASK", node), "done", "{}", said.err);
        }
        assert_eq!(scratch.read("RALPH_TASK.md"), TASK, "{}", said.err);
    }
}

#[test]
fn an_agent_that_rewrites_its_sprint_completes_no_phase_and_removes_no_control() {
    for end in [COMPLETED, "exit 1"] {
        let scratch = Scratch::new();
        let rewrites = "sed -i -e 's/status: pending/status: completed/' -e 's/break: true/break: false/' -e 's/script: exit 1/script: exit 0/' demo/PROGRESS.yaml";
        let agent = format!("cat >/dev/null; touch a; {rewrites}; {end}");
        scratch.sprint(PHASES).agent(&agent);
        let said = scratch.run(&[]);
        assert_ne!(said.exit, 0, "{}", said.err);
        assert_ne!(state(&scratch, DEMO, "two"), "done", "{}", said.err);
        let inbox = scratch.piton(&["inbox"]).out;
        assert!(inbox.contains("check `exit 1` → `exit 0`"), "{inbox}");
        assert!(inbox.contains("break → no break"), "{inbox}");
        let shown = scratch.read("demo/PROGRESS.yaml");
        assert!(
            shown.contains("script: exit 0"),
            "the file keeps it: {shown}"
        );
        assert!(shown.contains("status: ") && !shown.contains("id: two\n    status: completed"));
    }
}

#[test]
fn an_agents_gate_is_taken_or_set_back_by_a_person() {
    for verb in ["keep-file", "keep-piton"] {
        let scratch = Scratch::new();
        let rewrites = "sed -i 's/script: exit 1/script: exit 0/' demo/PROGRESS.yaml";
        scratch
            .sprint(PHASES)
            .agent(&format!("cat >/dev/null; {rewrites}; {COMPLETED}"));
        let said = scratch.run(&["--max-iterations", "1"]);
        assert_eq!(said.exit, 5, "{}", said.err);
        assert_eq!(kinds(&scratch), ["agent-edit"], "{}", said.err);
        let said = scratch.piton(&["decide", "d1", verb]);
        assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
        let script = match verb {
            "keep-file" => "script: exit 0",
            _ => "script: exit 1",
        };
        let shown = scratch.read("demo/PROGRESS.yaml");
        assert!(shown.contains(script), "{verb}: {shown}");
        assert_eq!(kinds(&scratch).len(), 0);
    }
}

#[test]
fn a_check_that_a_person_refused_is_not_taken_with_their_next_edit() {
    let lists = [
        ("prd.json", LIST, "\"first\""),
        ("RALPH_TASK.md", TASK, "first"),
    ];
    for (file, text, title) in lists {
        let scratch = Scratch::new();
        let agent = format!("cat >/dev/null; sed -i 's/test -f never/exit 0/' {file}; {COMPLETED}");
        scratch.write(file, text).agent(&agent);
        let said = scratch.piton(&[
            "run",
            file,
            "--agent",
            "./agent.sh",
            "--max-iterations",
            "1",
        ]);
        assert!(
            kinds(&scratch).contains(&"agent-edit".to_owned()),
            "{}",
            said.err
        );
        let inbox = scratch.json_list(&["inbox"]);
        let open = inbox.as_array().expect("a list").iter();
        let asked = open.filter(|one| one["kind"] == "agent-edit");
        for id in asked.filter_map(|one| one["id"].as_str()) {
            let said = scratch.piton(&["decide", id, "keep-piton"]);
            let shown = format!("{}{}", said.out, said.err);
            assert_eq!(said.exit, 0, "{shown}");
            assert!(
                shown.contains(&format!("{file} still says what was refused")),
                "{shown}"
            );
        }
        let edited = scratch
            .read(file)
            .replace(title, &title.replace("first", "the very first"));
        scratch.write(file, &edited);
        scratch.piton(&["files", "sync"]);
        let log = scratch.piton(&["journal", "export"]).out;
        assert!(log.contains("the very first"), "{log}");
        let changed = log.lines().filter(|line| line.contains("\"item-changed\""));
        let scripts = changed.filter(|line| line.contains("exit 0"));
        assert_eq!(scripts.collect::<Vec<_>>(), Vec::<&str>::new());
        assert!(!kinds(&scratch).contains(&"agent-edit".to_owned()));
    }
}

#[test]
fn what_a_check_writes_is_no_mark_of_a_person() {
    let scratch = Scratch::new();
    let list = r#"{"userStories": [
  {"id": "A", "title": "first", "passes":false, "verification": "sh ./check.sh"},
  {"id": "B", "title": "second", "passes":false, "verification": "test -f never"}
]}
"#;
    let ticks = "sed -i 's/passes\":false/passes\":true/' prd.json";
    let agent =
        format!("cat >/dev/null; touch a; cat >check.sh <<'END'\n{ticks}\nEND\n{COMPLETED}");
    scratch.write("prd.json", list).agent(&agent);
    let said = scratch.piton(&[
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--max-iterations",
        "1",
    ]);
    assert_eq!(said.exit, 5, "{}", said.err);
    assert_eq!(state(&scratch, "prd", "A"), "done", "{}", said.err);
    assert_ne!(state(&scratch, "prd", "B"), "done", "{}", said.err);
    scratch.piton(&["files", "sync"]);
    assert_ne!(state(&scratch, "prd", "B"), "done");
    assert_eq!(kinds(&scratch), ["claimed-items"]);
}

#[test]
fn what_an_agent_marks_in_the_plan_of_another_run_is_no_mark_of_a_person() {
    let scratch = Scratch::new();
    scratch
        .write("prd.json", LIST)
        .agent(&format!("cat >/dev/null; touch a; {COMPLETED}"));
    let said = scratch.piton(&[
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--max-iterations",
        "1",
    ]);
    assert_eq!(said.exit, 5, "{}", said.err);
    let ticks = "sed -i 's/passes\":false/passes\":true/' prd.json";
    scratch
        .sprint("  - id: one\n    prompt: Do one.\n")
        .agent(&format!("cat >/dev/null; touch b; {ticks}; {COMPLETED}"));
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch.piton(&["files", "sync"]);
    assert_ne!(state(&scratch, "prd", "B"), "done", "{}", said.err);
    assert_eq!(kinds(&scratch), ["claimed-items"]);
}

/// A plan of two items of which the second may have a check, how it is marked
/// as done in its file, and what it is called.
struct Format {
    run: &'static str,
    file: &'static str,
    nodes: [&'static str; 2],
    text: fn(Option<&str>) -> String,
    mark: fn(&str, usize) -> String,
    done: &'static str,
}

fn list(check: Option<&str>) -> String {
    let check = check.map_or_else(String::new, |check| {
        format!(", \"verification\": \"{check}\"")
    });
    let item = |id: &str| {
        format!("  {{\"id\": \"{id}\", \"title\": \"do {id}\", \"passes\": false{check}}}")
    };
    format!("{{\"userStories\": [\n{},\n{}\n]}}\n", item("A"), item("B"))
}

fn mark_list(text: &str, nth: usize) -> String {
    let id = ["\"A\"", "\"B\""][nth];
    let lines = text.lines().map(|line| match line.contains(id) {
        true => line.replace("\"passes\": false", "\"passes\": true"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn task(check: Option<&str>) -> String {
    let check = check.map_or_else(String::new, |check| format!("test_command: {check}\n"));
    format!("---\ntask: All of it\n{check}---\n# T\n\n1. [ ] A-1: first\n2. [ ] A-2: second\n")
}

fn mark_task(text: &str, nth: usize) -> String {
    let nth = nth + 1;
    text.replace(&format!("{nth}. [ ]"), &format!("{nth}. [x]"))
}

fn mark_sprint(text: &str, nth: usize) -> String {
    let id = ["one", "two"][nth];
    let mut out = Vec::new();
    let mut is_it = false;
    for line in text.lines() {
        if let Some((_, named)) = line.split_once("- id: ") {
            is_it = named == id;
        }
        let states = ["pending", "in-progress", "failed", "blocked"];
        let state = states
            .iter()
            .find(|state| is_it && line.trim() == format!("status: {state}"));
        out.push(match state {
            Some(state) => line.replace(state, "completed"),
            None => line.to_owned(),
        });
    }
    out.join("\n") + "\n"
}

const FORMATS: [Format; 3] = [
    Format {
        run: "prd",
        file: "prd.json",
        nodes: ["A", "B"],
        text: list,
        mark: mark_list,
        done: COMPLETED,
    },
    Format {
        run: "RALPH_TASK",
        file: "RALPH_TASK.md",
        nodes: ["a-1", "a-2"],
        text: task,
        mark: mark_task,
        done: COMPLETE,
    },
    Format {
        run: DEMO,
        file: "demo/PROGRESS.yaml",
        nodes: ["one", "two"],
        text: |_| String::new(),
        mark: mark_sprint,
        done: COMPLETED,
    },
];

/// Writes the plan; what to type for it.
fn plan(scratch: &Scratch, format: &Format, check: Option<&str>) -> &'static str {
    if format.run != DEMO {
        scratch.write(format.file, &(format.text)(check));
        return format.file;
    }
    let gate = check.map_or_else(String::new, |check| {
        format!(
            "    gate:\n      script: {check}\n      on-fail:\n        prompt: p\n        max-retries: 1\n"
        )
    });
    let phase = |id: &str| format!("  - id: {id}\n    prompt: Do {id}.\n{gate}");
    scratch.sprint(&format!("{}{}", phase("one"), phase("two")));
    "demo"
}

/// Marks an item while the first agent works, or while none does; the state of
/// the item when the first invocation is over, which works on one item.
fn marked(format: &Format, who: &str, check: Option<&str>, nth: usize) -> (Scratch, String) {
    let scratch = Scratch::new();
    let typed = plan(&scratch, format, check);
    let waits = "cat >/dev/null; touch at-work; while [ ! -f go ]; do sleep 0.02; done";
    let file = format.file;
    let moves = match who {
        "agent" => format!("[ ! -f marked ] || mv marked {file}"),
        _ => ":".to_owned(),
    };
    let end = match who {
        "person" => "exit 1",
        _ => format.done,
    };
    scratch.agent(&format!("{waits}; {moves}; touch changed; {end}"));
    let args = [
        "run",
        typed,
        "--agent",
        "./agent.sh",
        "--max-iterations",
        "1",
    ];
    let running = Running::start(scratch.command(&args));
    running.until_said(&format!("> {}", format.nodes[0]));
    scratch.until("an agent works", || scratch.has("at-work"));
    scratch.until("the file is there", || scratch.has(file));
    let mark = |scratch: &Scratch| (format.mark)(&scratch.read(file), nth);
    match who {
        "agent" => {
            scratch.write("marked", &mark(&scratch));
        }
        "process" => {
            scratch.write(file, &mark(&scratch));
        }
        _ => {}
    }
    scratch.write("go", "");
    running.end();
    if who == "person" {
        scratch.write(file, &mark(&scratch));
        scratch.piton(&["files", "sync"]);
    }
    let state = state(&scratch, format.run, format.nodes[nth]);
    (scratch, state)
}

/// Each combination: whose mark, what the check would say, which item.
fn sweep(format: &Format) {
    for who in ["agent", "process", "person"] {
        for check in [Some("test -d ."), Some("test -f never"), None] {
            for nth in [0, 1] {
                let (scratch, state) = marked(format, who, check, nth);
                let of = format!("{} {who} {check:?} {nth}: {state}", format.run);
                let is_own_and_well = nth == 0 && check != Some("test -f never");
                let is_done = who == "person" || is_own_and_well;
                assert_eq!(state == "done", is_done, "{of}");
                let is_claimed = kinds(&scratch).iter().any(|kind| kind == "claimed-items");
                assert_eq!(is_claimed, who != "person" && nth == 1, "{of}");
                let text = scratch.read(format.file);
                let is_marked = (format.mark)(&text, nth) == text;
                assert_eq!(is_marked, is_done, "{of}: {text}");
            }
        }
    }
}

#[test]
fn marks_in_a_list_count_by_whose_they_are() {
    sweep(&FORMATS[0]);
}

#[test]
fn marks_in_a_task_file_count_by_whose_they_are() {
    sweep(&FORMATS[1]);
}

#[test]
fn marks_in_a_sprint_count_by_whose_they_are() {
    sweep(&FORMATS[2]);
}

/// A plan of which the agent of the first item changes the check of the second, and
/// what is asked about that.
fn with_doubted_check(format: &Format) -> (Scratch, &'static str, String) {
    let scratch = Scratch::new();
    let typed = plan(&scratch, format, Some("test -d ."));
    scratch.agent("cat >/dev/null; exit 1");
    scratch.piton(&["run", typed, "--agent", "./agent.sh", "--once"]);
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "-qm", "a plan"]);
    scratch.agent(&format!(
        "cat >/dev/null; [ -f changed ] || sed -i 's/test -d \\./test -e ./' {}; echo x >>changed; {}",
        format.file, format.done
    ));
    scratch.piton(&["plan", "retry", format.nodes[0]]);
    let args = [
        "run",
        typed,
        "--agent",
        "./agent.sh",
        "--max-iterations",
        "1",
    ];
    let said = scratch.piton(&args);
    assert_eq!(said.exit, 5, "{}", said.err);
    assert_eq!(state(&scratch, format.run, format.nodes[0]), "done");
    assert!(scratch.read(format.file).contains("test -e ."));
    assert_eq!(kinds(&scratch), ["agent-edit"], "{}", said.err);
    let id = scratch.json_list(&["inbox"])[0]["id"].clone();
    (scratch, typed, id.as_str().expect("an id").to_owned())
}

#[test]
fn a_file_that_git_puts_back_says_nothing_anew_and_shows_again_what_is_done() {
    for format in &FORMATS {
        let (scratch, typed, id) = with_doubted_check(format);
        let shown = scratch.read(format.file);
        scratch.git(&["checkout", "-q", format.file]);
        assert_ne!(scratch.read(format.file), shown);
        let said = scratch.piton(&["files", "sync"]);
        assert_eq!(said.exit, 0, "{}: {}{}", format.run, said.out, said.err);
        assert!(!said.err.contains("took"), "{}", said.err);
        let says = format!("{} does not say any more what may be", format.file);
        assert!(said.err.contains(&says), "{}", said.err);
        let says = format!("; {id} is settled");
        assert!(said.err.contains(&says), "{}", said.err);
        let says = format!("{} is as it is committed; it shows again", format.file);
        assert!(said.err.contains(&says), "{}", said.err);
        assert_eq!(kinds(&scratch).len(), 0, "{}", said.err);
        assert_eq!(state(&scratch, format.run, format.nodes[0]), "done");
        let text = scratch.read(format.file);
        assert_eq!((format.mark)(&text, 0), text, "it is marked");
        assert!(text.contains("test -d .") && !text.contains("test -e ."));
        let said = scratch.piton(&["files", "sync"]);
        assert_eq!(said.err, "all native files are up to date\n");
        let said = run(&scratch, typed);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(!said.err.contains("test -e ."), "{}", said.err);
    }
}

/// Its file says something else than the journal until a person has decided.
#[test]
fn what_an_agent_changed_of_an_item_that_is_then_done_stays_asked_about() {
    for verb in ["keep-file", "keep-piton"] {
        for format in &FORMATS {
            let (scratch, typed, id) = with_doubted_check(format);
            let said = run(&scratch, typed);
            assert_eq!(said.exit, 3, "{}", said.err);
            assert_eq!(state(&scratch, format.run, format.nodes[1]), "done");
            assert_eq!(kinds(&scratch), ["agent-edit"], "{}", said.err);
            assert!(scratch.read(format.file).contains("test -e ."));
            for _ in 0..2 {
                let said = scratch.piton(&["files", "sync"]);
                assert_eq!(said.err, "all native files are up to date\n");
            }
            let said = scratch.piton(&["decide", &id, verb]);
            assert_eq!(said.exit, 0, "{}", said.err);
            let is_taken = verb == "keep-file";
            let item = scratch.json(&["show", format.nodes[1]])["item"].clone();
            let checks = if is_taken { "test -e ." } else { "test -d ." };
            assert!(item.to_string().contains(checks), "{item}");
            let says = scratch.read(format.file).contains("test -e .");
            let is_told = said.err.contains("still says what was refused");
            assert!(is_taken || is_told || !says, "{}: {}", format.run, said.err);
            // It was done by another check than the one that stands there now.
            let told = said.err.split_once("done before that, by the old check: ");
            let is_told = told.is_some_and(|(_, told)| told.contains(format.nodes[1]));
            assert_eq!(is_told, is_taken, "{}", said.err);
            assert_eq!(kinds(&scratch).len(), 0);
        }
    }
}

#[test]
fn a_mark_that_piton_sets_again_is_not_to_be_put_right_by_hand() {
    let scratch = Scratch::new();
    let agent =
        format!("cat >/dev/null; sed -i 's/\\[x\\]/[ ]/' TODO.md; touch \"$$\"; {COMPLETED}");
    scratch
        .write("TODO.md", "- [ ] one\n- [ ] two\n")
        .agent(&agent);
    run(&scratch, "TODO.md");
    let open = scratch.json_list(&["inbox"]);
    assert_eq!(open[0]["kind"], "agent-edit", "{open}");
    let id = open[0]["id"].as_str().expect("an id");
    let said = scratch.piton(&["decide", id, "keep-piton"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(!said.err.contains("by hand"), "{}", said.err);
    scratch.piton(&["files", "sync"]);
    assert_eq!(scratch.read("TODO.md"), "- [x] one\n- [x] two\n");
}

#[test]
fn what_is_asked_about_an_agents_edit_and_settled_with_its_item_is_said() {
    let scratch = Scratch::new();
    let rewrites = "sed -i 's/break: true/break: false/' demo/PROGRESS.yaml";
    let agent =
        format!("cat >/dev/null; [ -f a ] || {rewrites}; touch a; echo x >>made; {COMPLETED}");
    let phases =
        "  - id: one\n    prompt: Do one.\n  - id: two\n    prompt: Do two.\n    break: true\n";
    scratch.sprint(phases).agent(&agent);
    let said = scratch.run(&["--max-iterations", "1"]);
    assert_eq!(kinds(&scratch), ["agent-edit"], "{}", said.err);
    assert!(scratch.read("demo/PROGRESS.yaml").contains("break: false"));
    let said = scratch.run(&[]);
    let says =
        "d1 is settled, what it was about is finished: demo/PROGRESS.yaml: `two`: break → no break";
    assert!(said.err.contains(says), "{}", said.err);
    assert!(scratch.read("demo/PROGRESS.yaml").contains("break: true"));
    assert!(!kinds(&scratch).contains(&"agent-edit".to_owned()));
}

#[test]
fn a_mark_that_is_committed_makes_no_difference() {
    let scratch = Scratch::new();
    let agent = format!(
        "cat >/dev/null; touch a; sed -i 's/\"passes\":false/\"passes\":true/g' prd.json; git add -A; git commit --quiet -m all; {COMPLETED}"
    );
    scratch.write("prd.json", LIST).agent(&agent);
    let said = run(&scratch, "prd.json");
    assert_ne!(said.exit, 0, "{}", said.err);
    assert_ne!(state(&scratch, "prd", "B"), "done", "{}", said.err);
}

#[test]
fn what_an_agent_wrote_before_a_crash_is_an_agents_after_it() {
    let scratch = Scratch::new();
    let agent = "[ ! -f go ] || exit 1\ncat >/dev/null\nsed -i 's/\"passes\":false/\"passes\":true/g' prd.json\ntouch ticked\nwhile :; do sleep 0.05; done";
    scratch.write("prd.json", LIST).agent(agent);
    let args = ["run", "prd.json", "--agent", "./agent.sh"];
    let running = Running::start(scratch.command(&args));
    scratch.until("the stories are ticked", || scratch.has("ticked"));
    running.kill();
    scratch.write("go", "");
    let said = run(&scratch, "prd.json");
    assert_ne!(said.exit, 0, "{}", said.err);
    for node in ["A", "B"] {
        assert_ne!(state(&scratch, "prd", node), "done", "{}", said.err);
    }
    assert!(!scratch.read("prd.json").contains("\"passes\":true"));
}

#[test]
fn the_prompt_of_a_claimed_item_names_the_claim() {
    let scratch = Scratch::new();
    let agent = format!(
        "[ -f prompt-$PITON_ITEM ] || cat >prompt-$PITON_ITEM; sed -i 's/\"passes\":false/\"passes\":true/g' prd.json; {COMPLETED}"
    );
    scratch.write("prd.json", LIST).agent(&agent);
    run(&scratch, "prd.json");
    let says = "An earlier attempt (at `A`) marked this item as done";
    if scratch.has("prompt-B") {
        assert!(scratch.read("prompt-B").contains(says));
    } else {
        panic!("B was not worked on");
    }
}
