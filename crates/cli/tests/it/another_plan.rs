//! Another plan stands in the file of a run: it is a run of its own, and
//! nothing of the old one counts for it.

use crate::harness::{Said, Scratch};

/// Does what its item asks for, and keeps which items it was asked for.
const WORKS: &str = "cat >prompt; echo $PITON_ITEM >>order; echo x >>made-$PITON_ITEM; echo done";

/// How a file of each format holds a plan of this name with these items.
struct Kind {
    file: &'static str,
    text: fn(&str, &[&str]) -> String,
    /// How the file says that an item is done.
    done: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        file: "prd.json",
        text: |name, items| {
            let story = |(at, words): (usize, &&str)| {
                format!(
                    r#"    {{"id": "US-{}", "title": "{words}", "acceptanceCriteria": ["{words}"], "passes": false}}"#,
                    at + 1
                )
            };
            let stories: Vec<String> = items.iter().enumerate().map(story).collect();
            format!(
                "{{\n  \"project\": \"{name}\",\n  \"branchName\": \"ralph/{name}\",\n  \"userStories\": [\n{}\n  ]\n}}\n",
                stories.join(",\n")
            )
        },
        done: "\"passes\": true",
    },
    Kind {
        file: "RALPH_TASK.md",
        text: |name, items| {
            let boxes: Vec<String> = items.iter().map(|words| format!("- [ ] {words}")).collect();
            format!("---\ntask: {name}\n---\n# {name}\n\n{}\n", boxes.join("\n"))
        },
        done: "- [x] ",
    },
];

fn project(kind: &Kind, agent: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.write(
        kind.file,
        &(kind.text)("tide", &["read it", "print it", "ship it"]),
    );
    scratch.agent(agent);
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "-qm", "a plan"]);
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

fn attempts(scratch: &Scratch) -> usize {
    scratch.read("order").lines().count()
}

fn done_in_file(scratch: &Scratch, kind: &Kind) -> usize {
    scratch.read(kind.file).matches(kind.done).count()
}

#[test]
fn the_next_plan_in_a_file_inherits_nothing() {
    for kind in &KINDS {
        let scratch = project(kind, WORKS);
        assert_eq!(run(&scratch, kind.file).exit, 0);
        // One item says the same as one that was done before.
        let next = (kind.text)("moon", &["rise", "print it", "set"]);
        scratch.write(kind.file, &next);
        let said = scratch.piton(&["files", "sync"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.read(kind.file), next);
        let said = run(&scratch, kind.file);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(said.err.contains("another plan"), "{}", said.err);
        assert_eq!(attempts(&scratch), 3 + 3, "{}", scratch.read("order"));
        assert_eq!(done_in_file(&scratch, kind), 3);
    }
}

#[test]
fn five_plans_in_one_file_over_time_are_five_runs() {
    for kind in &KINDS {
        let scratch = project(kind, WORKS);
        for (nth, name) in ["tide", "moon", "sun", "wind", "rain"].iter().enumerate() {
            let own = [format!("{name} one"), format!("{name} two")];
            let items = ["build it", own[0].as_str(), own[1].as_str()];
            scratch.write(kind.file, &(kind.text)(name, &items));
            let said = run(&scratch, kind.file);
            assert_eq!(said.exit, 0, "{}", said.err);
            assert_eq!(attempts(&scratch), 3 * (nth + 1));
            let status = scratch.json(&["status", kind.file]);
            assert_eq!(status["run"]["nodes"].as_array().map(Vec::len), Some(3));
        }
    }
}

#[test]
fn what_is_left_of_a_plan_that_was_replaced_is_worked_on_no_more() {
    for kind in &KINDS {
        let scratch = project(kind, "echo $PITON_ITEM >>order; exit 1");
        let said = scratch.piton(&["run", kind.file, "--agent", "./agent.sh", "--once"]);
        assert_ne!(said.exit, 0, "{}", said.err);
        let old = scratch.json(&["status", kind.file])["run"]["run"].clone();
        scratch.agent(WORKS);
        scratch.write(kind.file, &(kind.text)("moon", &["rise", "set"]));
        scratch.write("order", "");
        let said = run(&scratch, kind.file);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(attempts(&scratch), 2);
        assert_eq!(done_in_file(&scratch, kind), 2);
        // The old one is kept, and named.
        let name = old.as_str().expect("a name");
        assert!(said.err.contains(&format!("run `{name}`")), "{}", said.err);
        let status = scratch.json(&["status", name]);
        assert_eq!(status["run"]["run"], old);
        assert_ne!(scratch.json(&["status"])["run"]["run"], old);
    }
}

#[test]
fn the_plan_that_comes_back_goes_on_with_its_own_run() {
    for kind in &KINDS {
        let scratch = project(kind, WORKS);
        let said = scratch.piton(&[
            "run",
            kind.file,
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
            "--once",
        ]);
        assert_ne!(said.exit, 0, "{}", said.err);
        let half = scratch.read(kind.file);
        assert_eq!(done_in_file(&scratch, kind), 1, "{half}");
        scratch.write(kind.file, &(kind.text)("moon", &["rise", "set"]));
        assert_eq!(run(&scratch, kind.file).exit, 0);
        scratch.write(kind.file, &half);
        let said = run(&scratch, kind.file);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(attempts(&scratch), 3 + 2, "nothing is done twice");
        assert_eq!(done_in_file(&scratch, kind), 3);
    }
}

#[test]
fn a_title_that_was_corrected_is_no_other_plan() {
    for kind in &KINDS {
        let scratch = project(kind, WORKS);
        assert_eq!(run(&scratch, kind.file).exit, 0);
        let text = scratch.read(kind.file).replace("tide", "tides");
        scratch.write(kind.file, &text);
        let said = run(&scratch, kind.file);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(attempts(&scratch), 3, "{}", said.err);
        assert_eq!(scratch.read(kind.file), text);
    }
}

/// An agent that puts another plan into the file of its run.
fn replaced_by_an_agent(kind: &Kind) -> (Scratch, String) {
    let scratch = project(
        kind,
        "cat >prompt; echo $PITON_ITEM >>order; echo x >>made-$PITON_ITEM; [ -e seen ] || cp other \"$PLAN\"; touch seen; echo done",
    );
    let other = (kind.text)("moon", &["rise", "set", "shine"]);
    scratch.write("other", &other);
    let agent = scratch.read("agent.sh").replace("$PLAN", kind.file);
    scratch.write("agent.sh", &agent);
    let said = run(&scratch, kind.file);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert_eq!(scratch.read(kind.file), other);
    assert_eq!(attempts(&scratch), 3, "the run goes on with what it has");
    let inbox = scratch.json_list(&["inbox"]);
    assert_eq!(inbox.as_array().map(Vec::len), Some(1), "{inbox}");
    // Until that is decided, to run the file is to go on with what the run has.
    let status = scratch.json(&["status"])["run"].clone();
    assert_eq!(status["next"], "piton inbox");
    assert_eq!(status["warnings"], serde_json::json!([]), "{status}");
    let details = inbox[0]["details"].as_str().unwrap_or_default().to_owned();
    let next = format!("after `keep-file`, `piton run {}` begins", kind.file);
    assert!(details.contains(&next), "{inbox}");
    (scratch, other)
}

#[test]
fn a_plan_that_an_agent_may_have_replaced_is_one_question() {
    for kind in &KINDS {
        let (scratch, other) = replaced_by_an_agent(kind);
        let said = scratch.piton(&["decide", "d1", "keep-piton"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(
            done_in_file(&scratch, kind),
            3,
            "{}",
            scratch.read(kind.file)
        );
        let kept = std::fs::read_dir(scratch.path()).expect("a folder");
        let kept = kept.filter_map(Result::ok).map(|entry| entry.path());
        let mut kept = kept.filter(|path| path.to_string_lossy().contains(".before-piton"));
        let kept = kept.next().expect("a copy");
        assert_eq!(std::fs::read_to_string(kept).expect("a text"), other);
    }
}

#[test]
fn a_plan_that_a_person_lets_take_the_place_of_another_is_a_run_of_its_own() {
    for kind in &KINDS {
        let (scratch, other) = replaced_by_an_agent(kind);
        let said = scratch.piton(&["decide", "d1", "keep-file"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.read(kind.file), other);
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        assert_eq!(scratch.read(kind.file), other);
        let said = run(&scratch, kind.file);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(attempts(&scratch), 3 + 3);
        assert_eq!(done_in_file(&scratch, kind), 3);
    }
}

#[test]
fn a_sync_names_the_plan_that_took_the_place_of_another_each_time() {
    let kind = &KINDS[0];
    let scratch = project(kind, WORKS);
    assert_eq!(run(&scratch, kind.file).exit, 0);
    scratch.write(kind.file, &(kind.text)("moon", &["fly", "land", "return"]));
    for _ in 0..2 {
        let said = scratch.piton(&["files", "sync"]);
        assert!(
            said.err.contains("holds another plan"),
            "{}{}",
            said.out,
            said.err
        );
    }
    let status = scratch.piton(&["status"]).out;
    assert!(status.contains("holds another plan"), "{status}");
    assert!(status.contains("Next: piton run prd.json"), "{status}");
}
