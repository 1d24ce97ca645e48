//! A person keeps a plan by hand, version after version: piton takes each as it
//! stands. It unticks nothing, ticks nothing, and changes no byte; of a sprint, no
//! status.

use std::collections::{BTreeMap, BTreeSet};

use piton_simkit::seed::salted;
use piton_testkit::chance::Chance;

use crate::harness::Scratch;

const HISTORIES: u64 = 20;
const VERSIONS_MIN: u64 = 10;
const VERSIONS_MAX: u64 = 50;

#[derive(Clone)]
struct Item {
    /// Stays, whatever its words become.
    number: u64,
    words: String,
    is_done: bool,
}

struct Format {
    file: &'static str,
    run: &'static str,
    /// What there is before the first version.
    begin: fn(&Scratch, &[Item]),
    /// The next version, made of the one that is there.
    write: fn(&[Item], &str) -> String,
    /// Whether an item is known by a name of its own, and not by its words.
    has_ids: bool,
    /// Whether the file tells of what is done whatever a person takes out.
    shows_all: bool,
    /// What of it is a person's alone, and piton never writes: the rest is counted and timed.
    of_person: fn(&str) -> Vec<&str>,
    /// Whether piton works on it; what it cannot run yet it adopts.
    is_run: bool,
}

const LIST: Format = Format {
    file: "prd.json",
    run: "prd",
    begin: |scratch, items| {
        scratch.write("prd.json", &(LIST.write)(items, ""));
    },
    write: |items, _| {
        let story = |item: &Item| {
            format!(
                "    {{\"id\": \"US-{}\", \"title\": \"{}\", \"acceptanceCriteria\": [\"it is there\"], \"passes\": {}}}",
                item.number, item.words, item.is_done
            )
        };
        let stories: Vec<String> = items.iter().map(story).collect();
        format!(
            "{{\n  \"project\": \"yard\",\n  \"branchName\": \"main\",\n  \"userStories\": [\n{}\n  ]\n}}\n",
            stories.join(",\n")
        )
    },
    has_ids: true,
    shows_all: false,
    of_person: |text| vec![text],
    is_run: true,
};

const TASK: Format = Format {
    file: "RALPH_TASK.md",
    run: "RALPH_TASK",
    begin: |scratch, items| {
        scratch.write("RALPH_TASK.md", &(TASK.write)(items, ""));
    },
    write: |items, _| {
        let line = |item: &Item| {
            let mark = if item.is_done { "x" } else { " " };
            format!("- [{mark}] {}\n", item.words)
        };
        let lines: String = items.iter().map(line).collect();
        format!("---\ntask: yard\n---\n# Yard\n\n## Criteria\n\n{lines}\nNotes stay.\n")
    },
    has_ids: false,
    shows_all: false,
    of_person: |text| vec![text],
    is_run: true,
};

/// A phase for each item; what piton wrote of a phase stays with it.
const SPRINT: Format = Format {
    file: "demo/PROGRESS.yaml",
    run: "demo",
    begin: |scratch, items| {
        let phase =
            |item: &Item| format!("  - id: US-{}\n    prompt: {}\n", item.number, item.words);
        scratch.sprint(&items.iter().map(phase).collect::<String>());
    },
    write: |items, present| {
        let (from, to) = phases_in(present);
        let phase = |item: &Item| {
            let begin = format!("  - id: US-{}", item.number);
            let status = if item.is_done { "completed" } else { "pending" };
            let below = present.lines().skip_while(|line| *line != begin).skip(1);
            let rest = below.take_while(|line| line.starts_with("    "));
            let is_ours = |line: &str| line.contains(" status:") || line.contains(" prompt:");
            let rest = rest.filter(|line| !is_ours(line));
            let rest: String = rest.map(|line| format!("{line}\n")).collect();
            format!(
                "{begin}\n    status: {status}\n    prompt: {}\n{rest}",
                item.words
            )
        };
        let phases: String = items.iter().map(phase).collect();
        format!("{}{phases}{}", &present[..from], &present[to..])
    },
    has_ids: true,
    shows_all: true,
    of_person: statuses,
    is_run: true,
};

/// A graph of issues, none of which waits for another one.
const ISSUES: Format = Format {
    file: "state.json",
    run: "yard",
    begin: |scratch, items| {
        scratch.write("state.json", &(ISSUES.write)(items, ""));
    },
    write: |items, present| {
        let issue = |item: &Item| {
            let status = if item.is_done { "done" } else { "ready" };
            format!(
                "    \"US-{}\": {{\"repo\": \"yard\", \"title\": \"{}\", \"status\": \"{status}\", \"pr\": null, \"blocked_by\": []}}",
                item.number, item.words
            )
        };
        let issues: Vec<String> = items.iter().map(issue).collect();
        let (issues, begin) = (
            issues.join(",\n"),
            "{\n  \"run_id\": \"yard\",\n  \"phase\": \"EXECUTING\",\n  \"phase_status\": \"in_progress\",\n  \"issues\": {\n",
        );
        if present.is_empty() {
            return format!("{begin}{issues}\n  }}\n}}\n");
        }
        let (from, to) = issues_in(present);
        format!("{}{issues}{}", &present[..from], &present[to..])
    },
    has_ids: true,
    shows_all: false,
    of_person: |text| {
        let (from, to) = issues_in(text);
        vec![&text[from..to]]
    },
    is_run: false,
};

/// Where the issues begin and end in a graph of issues.
fn issues_in(text: &str) -> (usize, usize) {
    let open = "\"issues\": {\n";
    let from = text.find(open).expect("issues") + open.len();
    let end = text[from..].find("\n  }").expect("their end");
    (from, from + end)
}

/// Where the phases begin and end in a file of a sprint.
fn phases_in(text: &str) -> (usize, usize) {
    let from = text.find("  - id: ").expect("a phase");
    let end = text[from..].find("\ncurrent:").expect("what follows them");
    (from, from + end + 1)
}

/// What a file of a sprint says of its phases.
fn statuses(text: &str) -> Vec<&str> {
    let (from, to) = phases_in(text);
    let lines = text[from..to].lines().map(str::trim);
    lines
        .filter_map(|line| {
            line.strip_prefix("- id: ")
                .or(line.strip_prefix("status: "))
        })
        .collect()
}

struct History<'f> {
    format: &'f Format,
    scratch: Scratch,
    chance: Chance,
    items: Vec<Item>,
    /// How many items there ever were.
    count: u64,
    /// Those that were open after they were done: a person is asked about them.
    doubted: BTreeSet<u64>,
    told: Vec<String>,
}

impl<'f> History<'f> {
    fn new(format: &'f Format, seed: u64) -> Self {
        let mut history = Self {
            format,
            scratch: Scratch::new(),
            chance: Chance::seeded(seed),
            items: Vec::new(),
            count: 0,
            doubted: BTreeSet::new(),
            told: Vec::new(),
        };
        for _ in 0..4 {
            history.add();
        }
        history.scratch.agent("echo x >>made");
        (format.begin)(&history.scratch, &history.items);
        if format.is_run {
            let agent = ["--agent", "./agent.sh", "--verdict", "exit-status"];
            let plan = format.file.strip_suffix("/PROGRESS.yaml");
            let run = [&["run", plan.unwrap_or(format.file), "--once"][..], &agent].concat();
            let said = history.scratch.piton(&run);
            assert_eq!(said.exit, 5, "{}", said.err);
            history.items[0].is_done = true;
        } else {
            let said = history.scratch.piton(&["init", "--yes"]);
            assert_eq!(said.exit, 0, "{}", said.err);
        }
        history.assert_kept("");
        history
    }

    fn add(&mut self) {
        self.count += 1;
        let trees = ["oak", "pine", "ash", "elm"];
        let tree = trees[usize::try_from(self.chance.below(4)).expect("few")];
        let item = Item {
            number: self.count,
            words: format!("Part {} is made of {tree}", self.count),
            is_done: false,
        };
        let at = self.index(self.items.len() as u64 + 1);
        self.items.insert(at, item);
    }

    fn index(&mut self, below: u64) -> usize {
        usize::try_from(self.chance.below(below)).expect("few")
    }

    fn text(&self) -> String {
        let is_there = self.scratch.has(self.format.file);
        let present = is_there.then(|| self.scratch.read(self.format.file));
        (self.format.write)(&self.items, &present.unwrap_or_default())
    }

    fn write(&self) {
        self.scratch.write(self.format.file, &self.text());
    }

    /// The file says what the person wrote into it.
    fn assert_kept(&self, story: &str) {
        let (there, wanted) = (self.scratch.read(self.format.file), self.text());
        let of_person = self.format.of_person;
        assert_eq!(of_person(&there), of_person(&wanted), "{there}\n{story}");
    }

    /// What a person does between two looks of piton.
    fn edit(&mut self) {
        let at = self.index(self.items.len() as u64);
        let kind = self.chance.below(8);
        let number = self.items[at].number;
        self.told.push(format!("{kind} at {number}"));
        match kind {
            0..=2 => self.items[at].is_done = true,
            3 => {
                if self.items[at].is_done {
                    self.doubted.insert(number);
                }
                self.items[at].is_done = false;
            }
            4 => self.add(),
            5 => {
                let open = self.items.iter().filter(|item| !item.is_done).count();
                let is_finished = self.items[at].is_done || self.doubted.contains(&number);
                let is_kept = is_finished && self.format.shows_all;
                if !is_kept && open > usize::from(!self.items[at].is_done) {
                    self.items.remove(at);
                }
            }
            6 => {
                let item = self.items.remove(at);
                let to = self.index(self.items.len() as u64 + 1);
                self.items.insert(to, item);
            }
            _ => self.items[at].words.push_str(", well"),
        }
    }

    fn states(&self) -> BTreeMap<String, String> {
        let status = self.scratch.json(&["status", self.format.run]);
        let nodes = status["run"]["nodes"].as_array().expect("a list").iter();
        let text = |of: &serde_json::Value| of.as_str().unwrap_or_default().to_owned();
        nodes
            .map(|node| match self.format.has_ids {
                true => (text(&node["id"]), text(&node["state"])),
                false => (text(&node["title"]), text(&node["state"])),
            })
            .collect()
    }

    fn check(&mut self) {
        let said = self.scratch.piton(&["files", "sync"]);
        self.told.push(said.err.clone());
        let story = self.told.join("; ");
        assert!([0, 3].contains(&said.exit), "{}\n{story}", said.err);
        self.assert_kept(&story);
        let states = self.states();
        for item in &self.items {
            let name = match self.format.has_ids {
                true => format!("US-{}", item.number),
                false => item.words.clone(),
            };
            let state = states.get(&name).map(String::as_str);
            let is_doubted = self.doubted.contains(&item.number);
            let fits = match (item.is_done, state) {
                (true, Some("done")) => true,
                (false, Some("ready" | "pending")) => true,
                _ => is_doubted,
            };
            assert!(
                fits,
                "{name}: {state:?}, {}\n{states:?}\n{story}",
                item.is_done
            );
        }
    }
}

fn check(format: &Format) {
    for nth in 0..HISTORIES {
        let mut history = History::new(format, salted(nth));
        let more = history.chance.below(VERSIONS_MAX - VERSIONS_MIN + 1);
        for _ in 0..VERSIONS_MIN + more {
            for _ in 0..=history.chance.below(2) {
                history.edit();
            }
            history.write();
            history.check();
        }
    }
}

#[test]
fn every_version_of_a_list_is_taken_as_it_stands() {
    check(&LIST);
}

#[test]
fn every_version_of_a_task_file_is_taken_as_it_stands() {
    check(&TASK);
}

#[test]
fn every_version_of_a_sprint_is_taken_as_it_stands() {
    check(&SPRINT);
}

#[test]
fn every_version_of_a_graph_of_issues_is_taken_as_it_stands() {
    check(&ISSUES);
}
