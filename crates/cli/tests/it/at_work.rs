//! A person edits the file of a plan while an item of it is at work: what is
//! under way goes on, and the edit is in force from the next start.

use crate::harness::{Running, Scratch};

/// Works until it is told to go on, and keeps what it was told.
const PATIENT: &str = "cat >prompt; echo $$ >agent.pid
while ! [ -e go ]; do sleep 0.02; done
echo x >>made; echo done";

const PRD: &str = r#"{
  "project": "demo",
  "userStories": [
    {"id": "US-1", "title": "Build", "description": "build it",
     "acceptanceCriteria": ["it is built"], "verification": "false", "priority": 1, "passes": false}
  ]
}
"#;
const TASK: &str = "---
task: demo
test_command: \"false\"
---
# Demo

- [ ] build it
";
const SPRINT: &str = "  - id: build\n    prompt: build it\n    gate:\n      script: \"false\"\n      on-fail:\n        prompt: Mend it.\n        max-retries: 3\n";

/// A format: how its project begins, what is run, and its file.
struct Kind {
    name: &'static str,
    make: fn(&Scratch),
    plan: &'static str,
    file: &'static str,
    /// How its file says that the check is `false`, and how that it is another.
    check: (&'static str, &'static str),
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "sprint",
        make: |scratch| {
            scratch.sprint(SPRINT);
        },
        plan: "demo",
        file: "demo/PROGRESS.yaml",
        check: ("script: 'false'", "script: test -e made"),
    },
    Kind {
        name: "list",
        make: |scratch| {
            scratch.write("prd.json", PRD);
        },
        plan: "prd.json",
        file: "prd.json",
        check: (
            r#""verification": "false""#,
            r#""verification": "test -e made""#,
        ),
    },
    Kind {
        name: "task file",
        make: |scratch| {
            scratch.write("RALPH_TASK.md", TASK);
        },
        plan: "RALPH_TASK.md",
        file: "RALPH_TASK.md",
        check: (
            r#"test_command: "false""#,
            r#"test_command: "test -e made""#,
        ),
    },
];

impl Kind {
    fn at_work(&self) -> (Scratch, Running) {
        let scratch = Scratch::new();
        (self.make)(&scratch);
        scratch.agent(PATIENT);
        scratch.git(&["add", "-A"]);
        scratch.git(&["commit", "-qm", "a plan"]);
        let agent = format!("sh:{}", scratch.path().join("agent.sh").display());
        let run = Running::start(scratch.command(&["run", self.plan, "--agent", &agent]));
        scratch.until("it works", || scratch.has("agent.pid"));
        (scratch, run)
    }

    /// A person corrects the check in the file.
    fn corrected(&self, scratch: &Scratch) {
        let text = scratch.read(self.file);
        assert!(text.contains(self.check.0), "{text}");
        scratch.write(self.file, &text.replace(self.check.0, self.check.1));
    }
}

#[test]
fn an_edit_that_a_person_confirms_while_an_agent_works_is_in_force_from_the_next_check() {
    for kind in &KINDS {
        let (scratch, run) = kind.at_work();
        kind.corrected(&scratch);
        scratch.until("it is asked about", || {
            !scratch
                .json_list(&["inbox"])
                .as_array()
                .expect("a list")
                .is_empty()
        });
        let said = scratch.piton(&["decide", "d1", "keep-file"]);
        assert_eq!(said.exit, 0, "{}: {}", kind.name, said.err);
        scratch.write("go", "");
        let said = run.end();
        assert_eq!(said.exit, 0, "{}: {}", kind.name, said.err);
        assert!(!said.err.contains("failed"), "{}: {}", kind.name, said.err);
        assert!(scratch.read(kind.file).contains(kind.check.1));
    }
}

#[test]
fn an_edit_of_a_paused_item_that_has_begun_is_in_force_when_it_goes_on() {
    for kind in &KINDS {
        let (scratch, run) = kind.at_work();
        // Its check is run three times, and it fails; a person sees why.
        scratch.write("go", "");
        let said = run.end();
        assert_eq!(said.exit, 1, "{}: {}", kind.name, said.err);
        kind.corrected(&scratch);
        let said = scratch.piton(&["decide", "d1", "retry"]);
        assert_eq!(said.exit, 0, "{}: {}", kind.name, said.err);
        let said = scratch.piton(&["run"]);
        assert_eq!(said.exit, 0, "{}: {}", kind.name, said.err);
        assert!(scratch.read(kind.file).contains(kind.check.1));
    }
}
