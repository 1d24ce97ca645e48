//! What an agent changes in the plan file of its lane: it counts as it would in
//! place, and none of it gets to the target by git.

use crate::harness::{DEMO, Running, Said, Scratch};

struct Format {
    run: &'static str,
    file: &'static str,
    nodes: [&'static str; 2],
    text: &'static str,
    /// What marks both items as done, in `sed`.
    tick: &'static str,
    /// How an item that is done stands there.
    ticked: &'static str,
}

/// The second item has a check that no agent makes pass.
const FORMATS: [Format; 3] = [
    Format {
        run: "prd",
        file: "prd.json",
        nodes: ["A", "B"],
        text: "{\"name\": \"p\", \"userStories\": [
  {\"id\": \"A\", \"title\": \"first\", \"passes\": false},
  {\"id\": \"B\", \"title\": \"second\", \"passes\": false, \"verification\": \"test -f never\"}
]}
",
        tick: "s/\"passes\": false/\"passes\": true/",
        ticked: "\"passes\": true",
    },
    Format {
        run: "RALPH_TASK",
        file: "RALPH_TASK.md",
        nodes: ["a-1", "a-2"],
        text: "---\ntask: All of it\ntest_command: test -f never\n---\n# T\n\n1. [ ] A-1: first\n2. [ ] A-2: second\n",
        tick: "s/\\[ \\]/[x]/",
        ticked: "[x]",
    },
    Format {
        run: DEMO,
        file: "demo/PROGRESS.yaml",
        nodes: ["one", "two"],
        text: "  - id: one\n    prompt: Do one.\n  - id: two\n    prompt: Do two.\n    gate:\n      script: test -f never\n      on-fail:\n        prompt: p\n        max-retries: 1\n",
        tick: "s/status: pending/status: completed/",
        ticked: "status: completed",
    },
];

const COMPLETED: &str = r#"echo '{"status": "completed", "summary": "did it"}'"#;

/// A project whose plan git tracks. The agent of the first item does this in its
/// lane before it completes; the others complete nothing.
fn project(format: &Format, first: &str) -> Scratch {
    let scratch = Scratch::new();
    let [node, _] = format.nodes;
    scratch.agent(&format!(
        "cat >/dev/null
case $PITON_ITEM in
{node}) echo made >made.txt; {first}; {COMPLETED}; [ {run} != RALPH_TASK ] || echo '<ralph>COMPLETE</ralph>';;
*) echo made >$PITON_ITEM.txt; {COMPLETED}; [ {run} != RALPH_TASK ] || echo '<ralph>COMPLETE</ralph>';;
esac",
        run = format.run,
    ));
    if format.run == DEMO {
        scratch.sprint(format.text);
        fine(&scratch.piton(&["plan", "compile", "demo"]));
    } else {
        scratch.write(format.file, format.text);
    }
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch
}

fn arguments(format: &Format) -> Vec<&'static str> {
    let typed = match format.run {
        DEMO => "demo",
        _ => format.file,
    };
    let agent = ["--agent", "./agent.sh", "--workers", "2"];
    [&["run", typed], &agent[..]].concat()
}

fn run(scratch: &Scratch, format: &Format) -> Said {
    scratch.piton(&arguments(format))
}

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

fn inbox(scratch: &Scratch) -> Vec<serde_json::Value> {
    let inbox = scratch.json_list(&["inbox"]);
    inbox.as_array().expect("a list").clone()
}

/// The lines of the open question of a kind.
fn asked(scratch: &Scratch, kind: &str) -> Vec<String> {
    let open = inbox(scratch);
    let about = open.iter().filter(|one| one["kind"] == kind);
    let lines = about.flat_map(|one| {
        let details = one["details"].as_str().unwrap_or_default();
        details.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    lines.collect()
}

fn state(scratch: &Scratch, format: &Format, node: &str) -> String {
    let shown = scratch.json(&["status", format.run]);
    let nodes = shown["run"]["nodes"].as_array().expect("nodes").clone();
    let found = nodes.into_iter().find(|have| have["node"] == node);
    let found = found.unwrap_or_else(|| panic!("there is no node {node}: {shown}"));
    found["state"].as_str().expect("a word").to_owned()
}

fn on_target(scratch: &Scratch, format: &Format) -> String {
    scratch.git(&["show", &format!("piton/{}:{}", format.run, format.file)])
}

/// The main work tree is as it is committed.
#[track_caller]
fn is_clean(scratch: &Scratch) {
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_mark_that_an_agent_sets_in_its_lane_is_a_claim() {
    for format in &FORMATS {
        let scratch = project(format, &format!("sed -i '{}' {}", format.tick, format.file));
        let said = run(&scratch, format);
        let of = format.run;
        assert_ne!(said.exit, 0, "{of}: {}", said.err);
        let [first, second] = format.nodes;
        assert_ne!(state(&scratch, format, second), "done", "{of}");
        let claims = asked(&scratch, "claimed-items");
        let (file, by) = (format.file, first);
        let words = format!("`{second}` was ticked in {file} by the attempt at `{by}`; its check ");
        assert!(
            claims.len() == 1 && claims[0].starts_with(&words),
            "{of}: {claims:?}: {}",
            said.err
        );
        is_clean(&scratch);
    }
}

#[test]
fn a_check_that_an_agent_changes_in_its_lane_is_asked_about_and_not_on_the_target() {
    for format in [&FORMATS[0], &FORMATS[2]] {
        for verb in ["keep-file", "keep-piton"] {
            let edit = format!("sed -i 's/test -f never/test -d ./' {}", format.file);
            let scratch = project(format, &edit);
            let said = run(&scratch, format);
            let of = format!("{} {verb}: {}", format.run, said.err);
            assert_ne!(said.exit, 0, "{of}");
            let doubts = asked(&scratch, "agent-edit");
            assert!(
                doubts.len() == 1 && doubts[0].contains("check `test -f never` → `test -d .`"),
                "{of}: {doubts:?}"
            );
            let text = on_target(&scratch, format);
            assert!(text.contains("test -f never"), "{of}: {text}");
            assert!(text.contains(format.ticked), "{of}: {text}");
            let open = inbox(&scratch);
            let at = open.iter().position(|one| one["kind"] == "agent-edit");
            let question = format!("d{}", at.expect("it is open") + 1);
            fine(&scratch.piton(&["decide", &question, verb]));
            fine(&scratch.piton(&["plan", "retry", format.nodes[1]]));
            let again = run(&scratch, format);
            let is_done = state(&scratch, format, format.nodes[1]) == "done";
            assert_eq!(is_done, verb == "keep-file", "{of}{}", again.err);
            assert_eq!(asked(&scratch, "agent-edit").len(), 0, "{of}");
            is_clean(&scratch);
        }
    }
}

#[test]
fn what_an_agent_adds_in_its_lane_is_worked_on_and_stands_in_the_plan_on_the_target() {
    let adds = [
        r#"touch never; sed -i 's/^]}/, {"id": "C", "title": "third", "passes": true}]}/' prd.json"#,
        "touch never; grep -q third RALPH_TASK.md || echo '3. [x] A-3: third' >>RALPH_TASK.md",
        r"touch never; sed -i 's/^current:/  - id: three\n    status: pending\n    prompt: Do three.\ncurrent:/' demo/PROGRESS.yaml",
    ];
    let thirds = ["C", "a-3", "three"];
    for ((format, add), third) in FORMATS.iter().zip(adds).zip(thirds) {
        let scratch = project(format, add);
        let said = run(&scratch, format);
        let of = format!("{}: {}", format.run, said.err);
        // Nothing but its own attempt says that it is done.
        let shown = scratch.json(&["show", third]);
        assert_ne!(shown["attempts"], serde_json::json!([]), "{of}{shown}");
        let text = on_target(&scratch, format);
        assert!(
            text.contains("third") || text.contains("three"),
            "{of}{text}"
        );
        is_clean(&scratch);
    }
}

#[test]
fn what_stands_in_the_lane_and_in_the_main_work_tree_is_seen_once() {
    let format = &FORMATS[0];
    let edit = "sed -i -e 's/test -f never/test -d ./' -e 's/second/other/' prd.json";
    let scratch = project(format, &format!("{edit}; (cd $PITON_PROJECT; {edit})"));
    let said = run(&scratch, format);
    assert_ne!(said.exit, 0, "{}", said.err);
    let doubts = asked(&scratch, "agent-edit");
    assert_eq!(doubts.len(), 2, "{doubts:?}: {}", said.err);
    assert_eq!(asked(&scratch, "file").len(), 0, "{}", said.err);
}

#[test]
fn a_death_after_the_reading_of_a_lane_reads_it_once() {
    for point in ["unit.edits-taken", "unit.plan-seen", "run.agent-ended"] {
        let format = &FORMATS[0];
        let tick = format!("sed -i '{}' {}", format.tick, format.file);
        let scratch = project(format, &tick);
        let mut command = scratch.command(&arguments(format));
        command.env("PITON_FAILPOINT", point);
        let died = Running::start(command).end();
        assert_eq!(died.exit, -1, "{point}: {}", died.err);
        let said = run(&scratch, format);
        assert_eq!(
            asked(&scratch, "claimed-items").len(),
            1,
            "{point}: {}",
            said.err
        );
        assert_eq!(
            state(&scratch, format, "A"),
            "done",
            "{point}: {}",
            said.err
        );
        is_clean(&scratch);
    }
}
