//! Items that a person takes out of the file of a plan leave it.

use crate::harness::{Said, Scratch};

const WORKS: &str = "cat >prompt; echo $PITON_ITEM >>order; echo x >>made-$PITON_ITEM; echo done";
const PRD: &str = r#"{
  "project": "demo",
  "userStories": [
    {"id": "US-1", "title": "one", "passes": false},
    {"id": "US-2", "title": "two", "passes": false},
    {"id": "US-3", "title": "three", "passes": false}
  ]
}
"#;
const TASK: &str =
    "---\ntask: demo\n---\n# Demo\n\n- [ ] US-1: one\n- [ ] US-2: two\n- [ ] US-3: three\n\nEnd.\n";
const SPRINT: &str = "  - id: US-1\n    prompt: one\n  - id: US-2\n    prompt: two\n  - id: US-3\n    prompt: three\n";

struct Kind {
    plan: &'static str,
    file: &'static str,
    make: fn(&Scratch),
    /// The file without what it says of the second item.
    without_second: fn(&str) -> String,
}

const KINDS: [Kind; 3] = [
    Kind {
        plan: "prd.json",
        file: "prd.json",
        make: |scratch| {
            scratch.write("prd.json", PRD);
        },
        without_second: without_line,
    },
    Kind {
        plan: "RALPH_TASK.md",
        file: "RALPH_TASK.md",
        make: |scratch| {
            scratch.write("RALPH_TASK.md", TASK);
        },
        without_second: without_line,
    },
    Kind {
        plan: "demo",
        file: "demo/PROGRESS.yaml",
        make: |scratch| {
            scratch.sprint(SPRINT);
        },
        without_second: |text| {
            let from = text.find("- id: US-2").expect("the second");
            let to = text.find("- id: US-3").expect("the third");
            format!("{}{}", &text[..from], &text[to..])
        },
    },
];

fn without_line(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("US-2"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn run(scratch: &Scratch, plan: &str, more: &[&str]) -> Said {
    let mut typed = vec![
        "run",
        plan,
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    typed.extend(more);
    scratch.piton(&typed)
}

/// One of three items is done.
fn begun(kind: &Kind) -> Scratch {
    let scratch = Scratch::new();
    (kind.make)(&scratch);
    scratch.agent(WORKS);
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "-qm", "a plan"]);
    let said = run(&scratch, kind.plan, &["--once"]);
    assert_ne!(said.exit, 0, "{}", said.err);
    scratch
}

#[test]
fn what_a_person_takes_out_of_the_file_is_worked_on_no_more() {
    for kind in &KINDS {
        let scratch = begun(kind);
        let before = scratch.read(kind.file);
        let without = (kind.without_second)(&before);
        assert_ne!(before, without);
        scratch.write(kind.file, &without);
        let said = run(&scratch, kind.plan, &[]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(said.err.contains("dropped, because"), "{}", said.err);
        assert!(said.err.contains("dropped 1"), "{}", said.err);
        assert_eq!(scratch.read("order").lines().count(), 2, "{}", said.err);
        assert!(!scratch.read(kind.file).contains("US-2"));
        let status = scratch.json(&["status", kind.plan]);
        assert_eq!(status["run"]["counters"]["nodes_dropped"], 1);
        assert_eq!(status["run"]["state"], "done");
        assert_eq!(
            scratch.json_list(&["inbox"]).as_array().map(Vec::len),
            Some(0)
        );
    }
}

#[test]
fn what_comes_back_into_the_file_is_worked_on_again() {
    for kind in &KINDS {
        let scratch = begun(kind);
        let before = scratch.read(kind.file);
        scratch.write(kind.file, &(kind.without_second)(&before));
        let said = scratch.piton(&["files", "sync"]);
        assert!(said.err.contains("dropped"), "{}{}", said.out, said.err);
        scratch.write(kind.file, &before);
        let said = run(&scratch, kind.plan, &[]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.read("order").lines().count(), 3, "{}", said.err);
        let status = scratch.json(&["status", kind.plan]);
        assert_eq!(status["run"]["counters"]["nodes_done"], 3);
    }
}

#[test]
fn a_file_without_any_open_item_is_one_question() {
    for kind in &KINDS[..2] {
        let scratch = begun(kind);
        let before = scratch.read(kind.file);
        let lines: Vec<&str> = before
            .lines()
            .filter(|line| !line.contains("US-2") && !line.contains("US-3"))
            .collect();
        let mut text = lines.join("\n") + "\n";
        text = text.replace("true},\n", "true}\n");
        scratch.write(kind.file, &text);
        let said = scratch.piton(&["files", "sync"]);
        assert!(said.err.contains("piton inbox"), "{}{}", said.out, said.err);
        let inbox = scratch.json_list(&["inbox"]);
        assert_eq!(inbox.as_array().map(Vec::len), Some(1), "{inbox}");
        let asked = inbox.to_string();
        assert!(asked.contains("US-2") || asked.contains("us-2"), "{asked}");
        assert!(asked.contains("US-3") || asked.contains("us-3"), "{asked}");
        let status = scratch.json(&["status", kind.plan]);
        assert_eq!(status["run"]["counters"]["nodes_dropped"], 0);
        let said = scratch.piton(&["decide", "d1", "keep-file"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        let status = scratch.json(&["status", kind.plan]);
        assert_eq!(status["run"]["counters"]["nodes_dropped"], 2);
        assert_eq!(scratch.read(kind.file), text);
    }
}

#[test]
fn what_was_done_and_comes_back_without_its_mark_is_asked_about() {
    for kind in &KINDS[..2] {
        let scratch = begun(kind);
        let before = scratch.read(kind.file);
        let lines = before.lines().filter(|line| !line.contains("US-1"));
        let without: String = lines.map(|line| format!("{line}\n")).collect();
        scratch.write(kind.file, &without);
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        assert_eq!(scratch.read(kind.file), without);
        let unmarked = before
            .replace("\"passes\": true", "\"passes\": false")
            .replace("[x]", "[ ]");
        scratch.write(kind.file, &unmarked);
        let said = scratch.piton(&["files", "sync"]);
        assert!(said.err.contains("piton inbox"), "{}{}", said.out, said.err);
        assert_eq!(scratch.read(kind.file), unmarked, "nothing is marked");
    }
}

/// The last item is the last line of the file.
fn begun_at_the_end() -> Scratch {
    let scratch = Scratch::new();
    scratch.write(
        "RALPH_TASK.md",
        "---\ntask: demo\n---\n- [ ] one\n- [ ] two\n- [ ] three\n",
    );
    scratch.agent(WORKS);
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "-qm", "a plan"]);
    assert_eq!(run(&scratch, "RALPH_TASK.md", &["--once"]).exit, 5);
    let text = scratch.read("RALPH_TASK.md");
    scratch.write("RALPH_TASK.md", &text.replace("- [ ] three\n", ""));
    scratch
}

#[test]
fn a_file_that_ends_early_is_one_question() {
    let scratch = begun_at_the_end();
    let without = scratch.read("RALPH_TASK.md");
    for _ in 0..2 {
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
        assert_eq!(scratch.read("RALPH_TASK.md"), without);
    }
    insta::assert_snapshot!(scratch.shows(&["inbox"]), @r"
    d1  `RALPH_TASK.md` ends early: is what it lacks to go?
        `three`
        piton decide d1 keep-file   what the file says holds
        piton decide d1 keep-piton  write it as piton has it; what is there now is kept beside it
        or change RALPH_TASK.md by hand, then type piton files sync
    [exit 0]
    ");
    assert_eq!(scratch.piton(&["decide", "d1", "keep-file"]).exit, 0);
    assert_eq!(run(&scratch, "RALPH_TASK.md", &[]).exit, 0);
    assert!(!scratch.read("RALPH_TASK.md").contains("three"));
    assert!(!scratch.read("order").contains("three"));
}

#[test]
fn an_item_at_the_end_that_stays_after_all_comes_back() {
    let scratch = begun_at_the_end();
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    assert_eq!(scratch.piton(&["decide", "d1", "keep-piton"]).exit, 0);
    assert_eq!(run(&scratch, "RALPH_TASK.md", &[]).exit, 0);
    assert!(scratch.read("RALPH_TASK.md").contains("- [x] three"));
}

#[test]
fn a_file_that_is_committed_without_its_end_is_meant() {
    let scratch = begun_at_the_end();
    scratch.git(&["commit", "-qam", "not three"]);
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("dropped"), "{}", said.err);
    assert_eq!(run(&scratch, "RALPH_TASK.md", &[]).exit, 0);
    assert!(!scratch.read("RALPH_TASK.md").contains("three"));
}

#[test]
fn what_a_person_took_out_stays_theirs_while_an_agent_works() {
    let scratch = begun(&KINDS[0]);
    let lines = scratch.read("prd.json");
    let lines = lines
        .lines()
        .filter(|line| !line.contains("US-2") && !line.contains("US-3"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    scratch.write("prd.json", &text.replace("true},", "true}"));
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    let asked = scratch.json_list(&["inbox"]);
    let said = run(&scratch, "prd.json", &["--once"]);
    assert!(!said.err.contains("may be an agent's"), "{}", said.err);
    assert_eq!(scratch.json_list(&["inbox"]), asked);
}
