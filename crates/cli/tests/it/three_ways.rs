//! The file of a plan, the journal and what piton wrote last are compared for
//! each format, whatever changed and however its item stands:
//! `docs/design/0022-what-a-plan-file-means.md`.

use serde_json::Value;

use crate::harness::{Running, Said, Scratch};

const WORKS: &str = "cat >>prompts; echo $PITON_ITEM >>order; echo x >>made-$PITON_ITEM; echo done";
const NODES: [&str; 3] = ["US-1", "US-2", "US-3"];

const PRD: &str = r#"{
  "project": "demo",
  "userStories": [
    {"id": "US-1", "title": "lay the keel", "passes": false},
    {"id": "US-2", "title": "set the mast", "passes": false},
    {"id": "US-3", "title": "sew a sail", "passes": false}
  ]
}
"#;
const TASK: &str = "---\ntask: demo\n---\n# Demo\n\n- [ ] US-1: lay the keel\n- [ ] US-2: set the mast\n- [ ] US-3: sew a sail\n\nEnd.\n";
const SPRINT: &str = "  - id: US-1\n    prompt: lay the keel\n  - id: US-2\n    prompt: set the mast\n  - id: US-3\n    prompt: sew a sail\n";

struct Format {
    plan: &'static str,
    file: &'static str,
    make: fn(&Scratch),
    /// Where the part of a file that is about an item begins, and that of the next.
    part: fn(&str, usize) -> (usize, usize),
    /// What is open, and what is done, in its part.
    marks: (&'static str, &'static str),
    /// What is skipped, where the format can say so.
    skipped: Option<&'static str>,
    /// Whether the file tells of every item of the run.
    shows_all: bool,
    /// Whether piton works on it. What it cannot run yet is adopted: its agents are
    /// others', who write the file, and no cell of the table starts one.
    is_run: bool,
}

fn line_of(text: &str, nth: usize) -> (usize, usize) {
    let from = text.find(NODES[nth]).expect("it stands there");
    let from = text[..from].rfind('\n').map_or(0, |at| at + 1);
    let to = text[from..]
        .find('\n')
        .map_or(text.len(), |at| from + at + 1);
    (from, to)
}

const FORMATS: [Format; 3] = [
    Format {
        plan: "prd.json",
        file: "prd.json",
        make: |scratch| {
            scratch.write("prd.json", PRD);
        },
        part: line_of,
        marks: ("\"passes\": false", "\"passes\": true"),
        skipped: None,
        shows_all: false,
        is_run: true,
    },
    Format {
        plan: "RALPH_TASK.md",
        file: "RALPH_TASK.md",
        make: |scratch| {
            scratch.write("RALPH_TASK.md", TASK);
        },
        part: line_of,
        marks: ("[ ]", "[x]"),
        skipped: None,
        shows_all: false,
        is_run: true,
    },
    Format {
        plan: "demo",
        file: "demo/PROGRESS.yaml",
        make: |scratch| {
            scratch.sprint(SPRINT);
        },
        part: |text, nth| {
            let at = |nth: usize| text.find(&format!("- id: {}\n", NODES[nth]));
            let from = at(nth).expect("it stands there");
            let end = || text[from..].find("\nstats:").map(|end| from + end + 1);
            let to = NODES.get(nth + 1).and_then(|_| at(nth + 1)).or_else(end);
            (from, to.unwrap_or(text.len()))
        },
        marks: ("status: pending", "status: completed"),
        skipped: Some("status: skipped"),
        shows_all: true,
        is_run: true,
    },
];

/// How far the second item is.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Open,
    Done,
}

/// A graph of issues. What its issues are at is in no row: `implementing` is a word of
/// the file's own agents, and an item of piton is at work only while its agent is.
const ISSUES: Format = Format {
    plan: "2026-01-15-yard",
    file: "state.json",
    make: |scratch| {
        let issue = |id: &str, title: &str, status: &str| {
            format!(
                "    \"{id}\": {{\"repo\": \"yard\", \"title\": \"{title}\", \"status\": \"{status}\", \"blocked_by\": []}}"
            )
        };
        let issues = [
            issue("US-1", "lay the keel", "done"),
            issue("US-2", "set the mast", "ready"),
            issue("US-3", "sew a sail", "ready"),
        ];
        scratch.write(
            "state.json",
            &format!(
                "{{\n  \"run_id\": \"2026-01-15-yard\",\n  \"phase\": \"EXECUTING\",\n  \"phase_status\": \"in_progress\",\n  \"issues\": {{\n{}\n  }}\n}}\n",
                issues.join(",\n")
            ),
        );
    },
    part: line_of,
    marks: ("\"status\": \"ready\"", "\"status\": \"done\""),
    skipped: None,
    shows_all: false,
    is_run: false,
};

struct Scene {
    format: &'static Format,
    scratch: Scratch,
}

impl Scene {
    /// The first item is done, and the second where it `is`.
    fn new(format: &'static Format, is: At) -> Self {
        let scratch = Scratch::new();
        (format.make)(&scratch);
        scratch.agent(WORKS);
        scratch.git(&["add", "-A"]);
        scratch.git(&["commit", "-qm", "a plan"]);
        let scene = Self { format, scratch };
        if !format.is_run {
            scene.adopt(is);
            return scene;
        }
        for _ in 0..if is == At::Done { 2 } else { 1 } {
            let said = scene.run(&["--once"]);
            assert_eq!(said.exit, 5, "{}", said.err);
        }
        assert_eq!(scene.state(), if is == At::Done { "done" } else { "ready" });
        scene
    }

    /// The same of a plan that piton cannot run: it is taken over as its file has it.
    fn adopt(&self, is: At) {
        if is == At::Done {
            self.edit(self.format.marks.0, self.format.marks.1);
        }
        assert_eq!(self.scratch.piton(&["init", "--yes"]).exit, 0);
        assert_eq!(self.state(), if is == At::Done { "done" } else { "ready" });
    }

    fn run(&self, more: &[&str]) -> Said {
        let agent = ["--agent", "./agent.sh", "--verdict", "exit-status"];
        let run = ["run", self.format.plan];
        self.scratch.piton(&[&run[..], &agent, more].concat())
    }

    fn read(&self) -> String {
        self.scratch.read(self.format.file)
    }

    /// What the file says of the second item.
    fn part(&self) -> String {
        let text = self.read();
        let (from, to) = (self.format.part)(&text, 1);
        text[from..to].to_owned()
    }

    /// A person changes what the file says of the second item.
    fn edit(&self, from: &str, to: &str) {
        let text = self.read();
        let part = self.part();
        assert!(part.contains(from), "{from} in {part}");
        let edited = part.replacen(from, to, 1);
        self.scratch
            .write(self.format.file, &text.replacen(&part, &edited, 1));
    }

    fn reword(&self) {
        self.edit("the mast", "the mast of oak");
    }

    fn delete(&self) {
        let text = self.read();
        let (from, to) = (self.format.part)(&text, 1);
        self.scratch.write(
            self.format.file,
            &format!("{}{}", &text[..from], &text[to..]),
        );
    }

    fn sync(&self) -> Said {
        self.scratch.piton(&["files", "sync"])
    }

    fn node(&self) -> &'static str {
        match self.format.plan {
            "RALPH_TASK.md" => "us-2",
            _ => "US-2",
        }
    }

    fn shown(&self) -> String {
        self.scratch.piton(&["show", self.node()]).out
    }

    fn item(&self) -> Value {
        self.scratch.json(&["show", self.node()])["item"].clone()
    }

    fn state(&self) -> String {
        self.item()["state"].as_str().unwrap_or_default().to_owned()
    }

    fn questions(&self) -> usize {
        self.scratch
            .json_list(&["inbox"])
            .as_array()
            .map_or(0, Vec::len)
    }

    /// Whoever works at the second item next is told so.
    fn tells_the_agent(&self, words: &str) -> bool {
        drop(self.run(&[]));
        let prompts = self.scratch.read("prompts");
        prompts.contains(words)
    }

    fn works_at_it(&self) -> usize {
        let order = self.scratch.read("order").to_lowercase();
        order.lines().filter(|line| *line == "us-2").count()
    }
}

/// A row of the table, for each format.
fn each(is: At, check: impl Fn(&Scene)) {
    for format in &FORMATS {
        let scene = Scene::new(format, is);
        check(&scene);
    }
}

#[test]
fn words_that_only_the_file_changed_are_taken_of_what_is_open() {
    each(At::Open, |scene| {
        scene.reword();
        let part = scene.part();
        scene.sync();
        assert_eq!((scene.questions(), scene.part()), (0, part));
        assert!(scene.tells_the_agent("the mast of oak"));
        assert!(scene.part().contains("the mast of oak"));
        assert!(scene.part().contains(scene.format.marks.1));
    });
}

#[test]
fn words_that_only_the_file_changed_are_taken_of_what_is_done() {
    each(At::Done, |scene| {
        scene.reword();
        let part = scene.part();
        let said = scene.sync();
        assert!(said.err.contains("took "), "{}{}", said.out, said.err);
        assert_eq!((scene.questions(), scene.part()), (0, part.clone()));
        let shown = scene.shown();
        assert!(shown.contains("the mast of oak"), "{shown}");
        assert_eq!(scene.run(&[]).exit, 0);
        assert_eq!((scene.state().as_str(), scene.works_at_it()), ("done", 1));
        assert_eq!(scene.part(), part);
    });
}

#[test]
fn what_only_the_journal_changed_is_shown() {
    each(At::Open, |scene| {
        let node = scene.node();
        assert_eq!(scene.scratch.piton(&["plan", "skip", node]).exit, 0);
        scene.sync();
        if let Some(skipped) = scene.format.skipped {
            assert!(scene.part().contains(skipped), "{}", scene.part());
        }
        assert!(!scene.part().contains(scene.format.marks.1));
        assert_eq!(scene.questions(), 0);
        assert_eq!(scene.run(&[]).exit, 0);
        assert_eq!(scene.works_at_it(), 0);
    });
    each(At::Done, |scene| {
        let node = scene.node();
        assert_eq!(scene.scratch.piton(&["plan", "retry", node]).exit, 0);
        scene.sync();
        assert!(
            !scene.part().contains(scene.format.marks.1),
            "{}",
            scene.part()
        );
        assert_eq!(scene.questions(), 0);
        assert_eq!(scene.run(&[]).exit, 0);
        assert_eq!(scene.works_at_it(), 2);
        assert!(scene.part().contains(scene.format.marks.1));
    });
}

#[test]
fn different_things_that_both_changed_are_taken_and_shown() {
    each(At::Open, |scene| {
        let node = scene.node();
        scene.reword();
        assert_eq!(scene.scratch.piton(&["plan", "skip", node]).exit, 0);
        scene.sync();
        assert!(scene.part().contains("the mast of oak"), "{}", scene.part());
        assert_eq!(scene.state(), "skipped");
        assert_eq!(scene.run(&[]).exit, 0);
        assert_eq!(scene.works_at_it(), 0);
    });
    each(At::Done, |scene| {
        let node = scene.node();
        scene.reword();
        drop(scene.scratch.piton(&["plan", "retry", node]));
        scene.sync();
        assert!(scene.part().contains("the mast of oak"), "{}", scene.part());
    });
}

#[test]
fn one_thing_that_both_changed_is_asked_about() {
    // A person ticks it as another one skips it.
    each(At::Open, |scene| {
        let node = scene.node();
        scene.edit(scene.format.marks.0, scene.format.marks.1);
        let ticked = scene.read();
        drop(scene.scratch.piton(&["plan", "skip", node]));
        scene.sync();
        let state = scene.state();
        let is_taken = state == "done" && scene.part().contains(scene.format.marks.1);
        let is_asked = scene.questions() == 1 && scene.read() == ticked;
        assert!(is_taken || is_asked, "{state}: {}", scene.part());
    });
}

#[test]
fn what_is_open_and_gone_from_the_file_leaves_the_plan() {
    each(At::Open, |scene| {
        scene.delete();
        scene.sync();
        assert_eq!(scene.questions(), 0);
        assert_eq!(scene.state(), "dropped");
        assert_eq!(scene.run(&[]).exit, 0);
        assert_eq!(scene.works_at_it(), 0);
        assert!(!scene.read().contains("the mast"));
    });
}

#[test]
fn what_is_done_and_gone_from_the_file_stays_done() {
    each(At::Done, |scene| {
        scene.delete();
        let said = scene.sync();
        assert_eq!(scene.questions(), 0);
        assert_eq!(scene.state(), "done");
        // Where the file is a person's it stays out, and else it is said.
        let is_back = scene.read().contains("the mast");
        assert_eq!(is_back, scene.format.shows_all, "{}", scene.read());
        assert_eq!(
            said.err.contains("in demo/PROGRESS.yaml again"),
            is_back,
            "{}",
            said.err
        );
        assert_eq!(scene.run(&[]).exit, 0);
        assert_eq!(scene.works_at_it(), 1);
        assert_eq!(scene.read().contains("the mast"), is_back);
    });
}

#[test]
fn what_a_person_marks_is_done() {
    each(At::Open, |scene| {
        scene.edit(scene.format.marks.0, scene.format.marks.1);
        scene.sync();
        assert_eq!((scene.state().as_str(), scene.questions()), ("done", 0));
        assert!(scene.part().contains(scene.format.marks.1));
        assert_eq!(scene.run(&[]).exit, 0);
        assert_eq!(scene.works_at_it(), 0);
    });
}

#[test]
fn a_mark_that_a_person_takes_out_is_asked_about_and_stays_out() {
    each(At::Done, |scene| {
        scene.edit(scene.format.marks.1, scene.format.marks.0);
        let part = scene.part();
        for _ in 0..2 {
            scene.sync();
            assert_eq!((scene.questions(), scene.part()), (1, part.clone()));
        }
        assert_eq!(scene.scratch.piton(&["decide", "d1", "keep-file"]).exit, 0);
        assert_eq!(scene.run(&[]).exit, 0);
        assert_eq!(scene.works_at_it(), 2);
        assert!(scene.part().contains(scene.format.marks.1));
    });
}

#[test]
fn what_a_person_is_asked_about_stays_and_the_rest_of_the_file_follows() {
    for decided in ["keep-file", "keep-piton", "merge"] {
        each(At::Done, |scene| {
            let (open, done) = scene.format.marks;
            scene.edit(done, open);
            scene.sync();
            let asked = scene.read();
            let (part, next) = (scene.part(), |scene: &Scene| {
                let text = scene.read();
                let (from, to) = (scene.format.part)(&text, 2);
                text[from..to].to_owned()
            });
            assert!(next(scene).contains(open));
            assert_eq!(scene.run(&[]).exit, 3);
            assert!(next(scene).contains(done), "{}", scene.read());
            assert_eq!((scene.questions(), scene.part()), (1, part.clone()));
            // So do the times of the whole.
            let activity = |text: &str| {
                let mut lines = text.lines();
                lines
                    .find(|line| line.starts_with("last-activity"))
                    .map(str::to_owned)
            };
            let before = activity(&asked);
            assert!(before.is_none() || activity(&scene.read()) != before);
            // What is typed meanwhile is shown as well, and nothing is taken for an edit.
            let said = scene.scratch.piton(&["plan", "retry", "US-3"]);
            let said = match scene.node() {
                "us-2" => scene.scratch.piton(&["plan", "retry", "us-3"]),
                _ => said,
            };
            assert_eq!(said.exit, 0, "{}", said.err);
            let said = scene.sync();
            assert!(!said.err.contains("took "), "{}", said.err);
            assert!(!next(scene).contains(done), "{}", scene.read());
            assert_eq!((scene.questions(), scene.part()), (1, part));
            assert_eq!(scene.scratch.piton(&["decide", "d1", decided]).exit, 0);
            assert_eq!(scene.questions(), 0);
            scene.sync();
            let is_done = decided != "keep-file";
            assert_eq!(scene.state() == "done", is_done);
            assert_eq!(scene.part().contains(done), is_done, "{}", scene.read());
            assert!(next(scene).contains(open), "{}", scene.read());
            assert_eq!(scene.run(&[]).exit, 0);
            assert!(scene.part().contains(done) && next(scene).contains(done));
        });
    }
}

/// Death between any two steps of a write beside what is asked about.
#[test]
fn a_death_while_something_is_asked_about_loses_and_doubles_nothing() {
    let points = [
        "plan-sync.edits-taken",
        "exchange.temp-made",
        "synced-file.staged",
        "synced-file.stamped",
        "synced-file.exchanged",
        "synced-file.tidied",
    ];
    let trials = points
        .iter()
        .flat_map(|point| FORMATS.iter().map(move |format| (*point, format)));
    for (point, format) in trials {
        let scene = Scene::new(format, At::Done);
        assert_eq!(scene.run(&[]).exit, 0);
        let (open, done) = format.marks;
        let dies = |args: &[&str]| {
            let mut command = scene.scratch.command(args);
            command.env("PITON_FAILPOINT", point);
            let died = command.output().expect("it starts").status.code().is_none();
            assert!(scene.questions() <= 1, "{point}");
            died
        };
        let third = match scene.node() {
            "us-2" => "us-3",
            _ => "US-3",
        };
        // As the question is asked, and as something else is shown beside it.
        scene.edit(done, open);
        let mut deaths = usize::from(dies(&["files", "sync"]));
        scene.sync();
        assert_eq!(scene.questions(), 1, "{point}");
        deaths += usize::from(dies(&["plan", "retry", third]));
        deaths += usize::from(dies(&["files", "sync"]));
        assert!(deaths > 0, "{point}");
        for _ in 0..2 {
            let said = scene.sync();
            assert!(!said.err.contains("took "), "{point}: {}", said.err);
            assert!(scene.part().contains(open), "{point}: {}", scene.read());
            assert_eq!(scene.questions(), 1, "{point}");
        }
        assert_eq!(scene.read().matches(done).count(), 1, "{point}");
        let decision = scene.scratch.json_list(&["inbox"])[0]["id"].clone();
        let decision = decision.as_str().expect("an id");
        let said = scene.scratch.piton(&["decide", decision, "keep-piton"]);
        assert_eq!(said.exit, 0, "{point}: {}", said.err);
        assert!(scene.part().contains(done), "{point}: {}", scene.read());
        assert_eq!(scene.state(), "done");
    }
}

#[test]
fn what_was_taken_beside_a_question_stays_where_piton_s_version_holds() {
    each(At::Done, |scene| {
        let (open, done) = scene.format.marks;
        scene.edit(done, open);
        let text = scene.read();
        scene
            .scratch
            .write(scene.format.file, &text.replace("sew a sail", "sew a jib"));
        scene.sync();
        assert_eq!(scene.questions(), 1);
        let said = scene.scratch.piton(&["decide", "d1", "keep-piton"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(scene.part().contains(done), "{}", scene.read());
        assert!(scene.read().contains("sew a jib"), "{}", scene.read());
        assert!(scene.tells_the_agent("sew a jib"));
        assert!(scene.read().contains("sew a jib"), "{}", scene.read());
    });
}

#[test]
fn what_a_person_is_asked_about_stays_while_an_agent_edits_the_file() {
    each(At::Done, |scene| {
        let (open, done) = scene.format.marks;
        scene.edit(done, open);
        scene.sync();
        let (asked, part) = (scene.scratch.json_list(&["inbox"]), scene.part());
        // The agent ticks what it works on.
        let text = scene.read();
        let at = (scene.format.part)(&text, 2).0;
        let ticked = format!("{}{}", &text[..at], text[at..].replacen(open, done, 1));
        scene.scratch.write("ticked", &ticked);
        scene.scratch.agent(&format!(
            "cp ticked {}; echo x >>made; echo done",
            scene.format.file
        ));
        assert_eq!(scene.run(&[]).exit, 3);
        assert_eq!(scene.scratch.json_list(&["inbox"]), asked);
        assert_eq!(scene.part(), part);
        assert_eq!(scene.scratch.piton(&["decide", "d1", "keep-file"]).exit, 0);
        assert_ne!(scene.state(), "done");
    });
}

#[test]
fn a_mark_that_is_taken_out_while_an_agent_works_is_asked_about() {
    each(At::Done, |scene| {
        let (open, done) = scene.format.marks;
        let (text, part) = (scene.read(), scene.part());
        let unticked = text.replacen(&part, &part.replacen(done, open, 1), 1);
        scene.scratch.write("unticked", &unticked);
        scene.scratch.agent(&format!(
            "cp unticked {}; echo x >>made; echo done",
            scene.format.file
        ));
        drop(scene.run(&[]));
        let asked = scene.scratch.json_list(&["inbox"]);
        let questions = asked.as_array().expect("a list");
        assert_eq!(questions.len(), 1, "{asked}");
        assert_eq!(questions[0]["kind"], "agent-edit", "{asked}");
        assert_eq!(scene.state(), "done");
        let id = questions[0]["id"].as_str().expect("an id");
        assert_eq!(scene.scratch.piton(&["decide", id, "keep-file"]).exit, 0);
        assert_ne!(scene.state(), "done");
    });
}

#[test]
fn a_file_whose_base_is_lost_stays_whole_until_a_person_decides() {
    // With the base alone, and with the stamp as well.
    let lost: [&[&str]; 2] = [&["base"], &["base", "json", "before"]];
    let decided = [("keep-file", false), ("keep-piton", true)];
    for (lost, (decided, is_done)) in lost.iter().flat_map(|lost| decided.map(|one| (lost, one))) {
        each(At::Done, |scene| {
            let (open, done) = scene.format.marks;
            scene.edit(done, open);
            scene.sync();
            let mirrors = scene.scratch.file(".piton/mirrors");
            for entry in std::fs::read_dir(mirrors).expect("it is there").flatten() {
                let path = entry.path();
                let end = path.extension().and_then(|end| end.to_str());
                if end.is_some_and(|end| lost.contains(&end)) {
                    std::fs::write(path, "{ torn").expect("damaged");
                }
            }
            let text = scene.read();
            for _ in 0..2 {
                scene.sync();
                assert_eq!((scene.questions(), scene.read()), (1, text.clone()));
            }
            let said = scene.scratch.piton(&["decide", "d1", decided]);
            assert_eq!(said.exit, 0, "{}", said.err);
            scene.sync();
            assert_eq!(scene.state() == "done", is_done, "{decided}");
            assert_eq!(scene.part().contains(done), is_done, "{}", scene.read());
            assert_eq!(scene.questions(), 0);
        });
    }
}

#[test]
fn an_edit_beside_what_is_asked_about_is_taken_once() {
    each(At::Done, |scene| {
        let (open, done) = scene.format.marks;
        scene.edit(done, open);
        scene.sync();
        let text = scene.read();
        scene
            .scratch
            .write(scene.format.file, &text.replace("sew a sail", "sew a jib"));
        let said = scene.sync();
        assert_eq!(said.err.matches("took ").count(), 1, "{}", said.err);
        let said = scene.sync();
        assert!(!said.err.contains("took "), "{}", said.err);
        assert_eq!(scene.questions(), 1);
        assert!(scene.tells_the_agent("sew a jib"));
        assert!(scene.part().contains(open) && scene.read().contains("sew a jib"));
        // Nor is it lost with a file that is taken away, and comes back.
        let asked = scene.read();
        std::fs::remove_file(scene.scratch.path().join(scene.format.file)).expect("removed");
        scene.sync();
        assert!(scene.read().contains("sew a jib"), "{}", scene.read());
        assert_eq!(scene.questions(), 0);
        scene.scratch.write(scene.format.file, &asked);
        scene.sync();
        assert_eq!(scene.questions(), 1);
        // Whoever sets it back has answered.
        scene.edit(open, done);
        scene.sync();
        assert_eq!(scene.questions(), 0);
        assert_eq!((scene.state().as_str(), scene.works_at_it()), ("done", 1));
    });
}

/// A list with a check for its first item.
fn checked(scratch: &Scratch) {
    let list = PRD.replace(
        "\"title\": \"lay the keel\",",
        "\"title\": \"lay the keel\", \"verification\": \"true\",",
    );
    scratch.write("prd.json", &list);
    scratch.agent(WORKS);
    let run = ["run", "prd.json", "--once", "--agent", "./agent.sh"];
    assert_eq!(scratch.piton(&run).exit, 5);
}

#[test]
fn another_check_of_what_is_done_holds_when_it_is_done_again() {
    let scratch = Scratch::new();
    checked(&scratch);
    let text = scratch.read("prd.json");
    scratch.write("prd.json", &text.replace("\"true\"", "\"test -f never\""));
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err
            .contains("took 1 edit of prd.json in: check of `US-1`"),
        "{}",
        said.err
    );
    assert_eq!(scratch.piton(&["plan", "retry", "US-1"]).exit, 0);
    let run = [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--max-iterations",
        "1",
    ];
    let said = scratch.piton(&run);
    assert!(said.err.contains("test -f never"), "{}", said.err);
}

#[test]
fn what_was_done_by_an_old_check_says_so_and_is_done_again_as_it_is_told() {
    for workers in ["1", "2"] {
        let scratch = Scratch::new();
        scratch.write(
            "prd.json",
            &PRD.replace("\"passes\"", "\"verification\": \"true\", \"passes\""),
        );
        scratch.agent("cat >/dev/null; echo x >>made-$PITON_ITEM; echo done");
        scratch.git(&["add", "--all"]);
        scratch.git(&["commit", "-qm", "begin"]);
        let run = [
            "run",
            "prd.json",
            "--agent",
            "./agent.sh",
            "--workers",
            workers,
        ];
        let said = scratch.piton(&run);
        assert_eq!(said.exit, 0, "{}", said.err);
        scratch.git(&["add", "--all"]);
        scratch.git(&["commit", "-qm", "mine", "--allow-empty"]);
        let check = |old: &str, new: &str| {
            let text = scratch.read("prd.json");
            assert!(text.contains(old), "{text}");
            scratch.write("prd.json", &text.replacen(old, new, 1));
        };
        check("\"true\"", "\"test -f made-US-1 # new\"");
        let said = scratch.piton(&["run", "prd.json"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        let told = "done before that, by the old check: `US-1`; to have one done again, type `piton plan retry prd:US-1` and `piton run prd`";
        assert!(said.err.contains(told), "{}", said.err);
        let status = scratch.shows(&["status"]);
        assert_eq!(status.matches("(done by the old check)").count(), 1);
        assert_eq!(status.matches("(check passed)").count(), 2, "{status}");
        let shown = scratch.shows(&["show", "US-1"]);
        let new = "check `test -f made-US-1 # new` has not run: the item was done by another one";
        assert!(shown.contains(new), "{shown}");
        let item = scratch.json(&["show", "US-1"])["item"].clone();
        assert_eq!(item["check"]["changed"], true, "{item}");
        assert_eq!(item["check"]["passed"], Value::Null, "{item}");
        assert_eq!(scratch.piton(&["plan", "retry", "prd:US-1"]).exit, 0);
        let said = scratch.piton(&["run", "prd"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.read("made-US-1"), "x\nx\n", "{}", said.err);
        let status = scratch.shows(&["status"]);
        assert_eq!(status.matches("(check passed)").count(), 3, "{status}");
        let list = scratch.read("prd.json");
        assert_eq!(list.matches("\"passes\": true").count(), 3, "{list}");
    }
}

#[test]
fn a_mark_and_a_check_in_one_edit_are_both_taken() {
    let scratch = Scratch::new();
    checked(&scratch);
    let text = scratch.read("prd.json");
    let second = "\"title\": \"set the mast\", \"passes\": false";
    let marked = "\"title\": \"set the mast\", \"verification\": \"test -d .\", \"passes\": true";
    assert!(text.contains(second), "{text}");
    scratch.write("prd.json", &text.replace(second, marked));
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    assert_eq!(scratch.json(&["show", "US-2"])["item"]["state"], "done");
}

/// The rows of a graph of issues that nobody runs: what others write into its file is
/// taken by the same rule, and no agent is started.
#[test]
fn a_graph_of_issues_follows_the_same_rule() {
    let (open, done) = ISSUES.marks;
    let scene = |is| Scene::new(&ISSUES, is);
    // Only the file changed: words, a mark, a deletion.
    for is in [At::Open, At::Done] {
        let scene = scene(is);
        scene.reword();
        let part = scene.part();
        let said = scene.sync();
        assert!(
            said.err.contains("took 1 edit of state.json"),
            "{}",
            said.err
        );
        assert_eq!((scene.questions(), scene.part()), (0, part));
        assert!(
            scene.shown().contains("the mast of oak"),
            "{}",
            scene.shown()
        );
    }
    let marked = scene(At::Open);
    marked.edit(open, done);
    let part = marked.part();
    marked.sync();
    assert_eq!((marked.state().as_str(), marked.questions()), ("done", 0));
    assert_eq!(marked.part(), part);
    let deleted = scene(At::Open);
    deleted.delete();
    deleted.sync();
    assert_eq!(
        (deleted.state().as_str(), deleted.questions()),
        ("dropped", 0)
    );
    assert!(!deleted.read().contains("the mast"));
    let deleted = scene(At::Done);
    deleted.delete();
    deleted.sync();
    assert_eq!((deleted.state().as_str(), deleted.questions()), ("done", 0));
    // It stays out, also when piton writes the file again.
    assert_eq!(deleted.scratch.piton(&["plan", "retry", "US-1"]).exit, 0);
    deleted.sync();
    assert_eq!(
        deleted.read().matches(open).count(),
        2,
        "{}",
        deleted.read()
    );
    assert!(!deleted.read().contains("the mast"), "{}", deleted.read());
    // Only the journal changed: shown, where the file has a word for it.
    let skipped = scene(At::Open);
    let part = skipped.part();
    assert_eq!(skipped.scratch.piton(&["plan", "skip", "US-2"]).exit, 0);
    skipped.sync();
    assert_eq!(
        (skipped.state().as_str(), skipped.part()),
        ("skipped", part)
    );
    let again = scene(At::Done);
    assert_eq!(again.scratch.piton(&["plan", "retry", "US-2"]).exit, 0);
    again.sync();
    assert!(again.part().contains(open), "{}", again.part());
    assert_eq!(again.questions(), 0);
    // Both changed: asked about what contradicts, and both taken where nothing does.
    let both = scene(At::Open);
    both.reword();
    assert_eq!(both.scratch.piton(&["plan", "skip", "US-2"]).exit, 0);
    both.sync();
    assert!(both.part().contains("the mast of oak"), "{}", both.part());
    assert_eq!((both.state().as_str(), both.questions()), ("skipped", 0));
    for (decided, is_done) in [("keep-file", false), ("keep-piton", true)] {
        let unmarked = scene(At::Done);
        unmarked.edit(done, open);
        let part = unmarked.part();
        for _ in 0..2 {
            unmarked.sync();
            assert_eq!((unmarked.questions(), unmarked.part()), (1, part.clone()));
        }
        assert_eq!(unmarked.scratch.piton(&["decide", "d1", decided]).exit, 0);
        unmarked.sync();
        assert_eq!(unmarked.state() == "done", is_done);
        assert_eq!(
            unmarked.part().contains(done),
            is_done,
            "{}",
            unmarked.part()
        );
    }
    // Its own agents' word for what is at work stays, and makes no item of piton so.
    let at_work = scene(At::Open);
    at_work.edit("ready", "implementing");
    let part = at_work.part();
    at_work.sync();
    assert_eq!((at_work.questions(), at_work.part()), (0, part));
    assert_ne!(at_work.state(), "done");
}

/// What was taken out makes a question; a mark that came beside it is taken, and taken
/// back as any other.
#[test]
fn a_mark_that_came_beside_a_question_can_be_taken_back() {
    let scratch = Scratch::new();
    let write = |issues: &[(u32, &str)]| {
        let issue = |(number, status): &(u32, &str)| {
            format!(
                "    \"US-{number}\": {{\"repo\": \"yard\", \"title\": \"Part {number}\", \"status\": \"{status}\", \"pr\": null, \"blocked_by\": []}}"
            )
        };
        let issues: Vec<String> = issues.iter().map(issue).collect();
        let text = format!(
            "{{\n  \"run_id\": \"yard\",\n  \"phase\": \"EXECUTING\",\n  \"phase_status\": \"in_progress\",\n  \"issues\": {{\n{}\n  }}\n}}\n",
            issues.join(",\n")
        );
        scratch.write("state.json", &text);
        scratch.piton(&["files", "sync"]).exit
    };
    scratch.write("state.json", "");
    let _ = write(&[(1, "ready"), (2, "ready"), (3, "ready"), (4, "ready")]);
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    assert_eq!(write(&[(1, "ready"), (2, "ready"), (3, "done")]), 0);
    // Nothing that is open would be left.
    assert_eq!(write(&[(1, "done"), (3, "done")]), 3);
    assert_eq!(write(&[(1, "ready"), (3, "done")]), 3);
    // The removal fits now; of a mark that is taken out a person is asked.
    assert_eq!(write(&[(1, "ready"), (3, "done"), (5, "ready")]), 3);
    let state = scratch.read("state.json");
    let line = state.lines().find(|line| line.contains("US-1"));
    assert!(line.is_some_and(|line| line.contains("ready")), "{state}");
    let asked = scratch.piton(&["inbox"]).out;
    assert!(asked.contains("`US-1` is to be pending"), "{asked}");
    assert!(!asked.contains("US-2"), "{asked}");
}

/// Works until it is told to go on.
const PATIENT: &str = "cat >>prompts; echo $PITON_ITEM >>order; touch at-work
while ! [ -e go ]; do sleep 0.02; done
echo x >>made-$PITON_ITEM; echo done";

impl Scene {
    /// Somebody changes the file while an agent works at the second item: whether a
    /// person did nobody can tell. The run then comes to its end.
    fn at_work(format: &'static Format, change: fn(&Self)) -> (Self, Said) {
        let scene = Self::new(format, At::Open);
        scene.scratch.agent(PATIENT);
        let agent = ["--agent", "./agent.sh", "--verdict", "exit-status"];
        let run = [&["run", format.plan][..], &agent].concat();
        let run = Running::start(scene.scratch.command(&run));
        let begun = || scene.scratch.has("at-work") && scene.state() == "working";
        scene.scratch.until("an agent works", begun);
        change(&scene);
        scene.sync();
        assert_eq!(scene.state(), "working", "{}", format.file);
        scene.scratch.write("go", "");
        (scene, run.end())
    }

    /// The second item was tried once, and is to be tried again.
    fn begun(format: &'static Format) -> Self {
        let scene = Self::new(format, At::Open);
        scene.scratch.agent("exit 1");
        scene.run(&["--max-iterations", "1"]);
        assert_eq!(scene.item()["attempts"], 1, "{}", format.file);
        scene.scratch.agent(WORKS);
        scene
    }

    fn mark(&self) {
        let (open, done) = self.format.marks;
        let part = self.part();
        let states = [open, "status: in-progress", "status: failed"];
        let stands = states.iter().find(|state| part.contains(**state));
        self.edit(stands.expect("its state"), done);
    }
}

#[test]
fn words_of_what_is_at_work_hold_once_a_person_says_whose_they_are() {
    for format in &FORMATS {
        let (scene, said) = Scene::at_work(format, Scene::reword);
        // The words of a criterion say when it is done; a prompt says no such thing.
        let is_asked = format.file != "demo/PROGRESS.yaml";
        assert_eq!(said.exit, if is_asked { 3 } else { 0 }, "{}", said.err);
        assert_eq!((scene.state().as_str(), scene.works_at_it()), ("done", 1));
        assert!(scene.part().contains("the mast of oak"), "{}", scene.read());
        assert_eq!(scene.questions(), usize::from(is_asked), "{}", said.err);
        if is_asked {
            // With both values.
            let asked = scene.scratch.piton(&["inbox"]).out;
            let (old, new) = asked.split_once(" → ").expect("two values");
            assert!(!old.contains("of oak") && new.contains("of oak"), "{asked}");
            assert_eq!(scene.scratch.piton(&["decide", "d1", "keep-file"]).exit, 0);
            assert_eq!(scene.questions(), 0);
        }
        assert!(scene.shown().contains("of oak"), "{}", scene.shown());
        assert!(scene.part().contains("the mast of oak"), "{}", scene.read());
    }
}

#[test]
fn what_is_at_work_and_gone_from_the_file_is_worked_on_to_its_end() {
    for format in &FORMATS {
        let (scene, said) = Scene::at_work(format, Scene::delete);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(said.err.contains("d1 is settled"), "{}", said.err);
        assert_eq!((scene.state().as_str(), scene.works_at_it()), ("done", 1));
        assert_eq!(scene.questions(), 0);
        assert_eq!(scene.read().contains("the mast"), format.shows_all);
    }
}

#[test]
fn a_mark_at_what_is_at_work_makes_nothing_done() {
    for format in &FORMATS {
        let (scene, said) = Scene::at_work(format, Scene::mark);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!((scene.state().as_str(), scene.works_at_it()), ("done", 1));
        assert_eq!(scene.questions(), 0, "{}", said.err);
        assert!(scene.part().contains(format.marks.1), "{}", scene.read());
    }
}

#[test]
fn what_has_begun_and_is_at_rest_is_as_its_file_says() {
    for format in &FORMATS {
        let scene = Scene::begun(format);
        scene.reword();
        scene.sync();
        assert_eq!(scene.questions(), 0);
        assert!(scene.tells_the_agent("the mast of oak"));
        let scene = Scene::begun(format);
        scene.mark();
        scene.sync();
        assert_eq!((scene.state().as_str(), scene.questions()), ("done", 0));
        assert!(scene.part().contains(format.marks.1), "{}", scene.read());
        let scene = Scene::begun(format);
        scene.delete();
        scene.sync();
        assert_eq!((scene.state().as_str(), scene.questions()), ("dropped", 0));
        assert_eq!(scene.run(&[]).exit, 0);
        assert_eq!(scene.works_at_it(), 0);
        assert!(!scene.read().contains("the mast"), "{}", scene.read());
    }
}
