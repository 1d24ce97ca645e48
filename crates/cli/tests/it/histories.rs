//! Random histories of a repository and its clone, made by git itself: whatever
//! is committed, switched, rebased, squashed, picked, amended and merged, a mark
//! stands where its work is, and nothing that was recorded is lost.

use std::collections::BTreeSet;

use piton_simkit::seed::salted;
use piton_testkit::chance::Chance;
use serde_json::Value;

use crate::harness::{Said, Scratch};

/// How many histories each of the tests makes.
const HISTORIES: u64 = 50;
/// How many steps each of them has.
const STEPS: u64 = 7;
const STORIES: usize = 6;

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

fn stories() -> String {
    let stories: Vec<String> = (1..=STORIES)
        .map(|nth| {
            format!(
                "    {{\n      \"id\": \"US-{nth}\",\n      \"title\": \"Part {nth}\",\n      \"acceptanceCriteria\": [\"it is there\"],\n      \"priority\": {nth},\n      \"passes\": false\n    }}"
            )
        })
        .collect();
    let stories = stories.join(",\n");
    format!(
        "{{\n  \"project\": \"yard\",\n  \"branchName\": \"main\",\n  \"userStories\": [\n{stories}\n  ]\n}}\n"
    )
}

/// A clone, and what is known of what happened there.
struct Clone {
    scratch: Scratch,
    /// Files of piton's may have changes that nobody has committed: what people
    /// have piton write is theirs to commit.
    is_dirty: bool,
}

impl Clone {
    fn origin() -> Self {
        let scratch = Scratch::in_memory();
        scratch.write("prd.json", &stories()).write(
            ".gitignore",
            ".piton/\nagent.sh\n.ralph/.iteration\n.ralph/*.log\n",
        );
        scratch.git(&["commit", "-q", "--allow-empty", "-m", "root"]);
        let with = ["--with", "ralph-dir", "--with", "ralph-json"];
        fine(&scratch.piton(&[&["init", "--yes"][..], &with].concat()));
        scratch.git(&["checkout", "-qB", "main"]);
        fine(&scratch.piton(&["files", "merge-driver", "install", "--yes"]));
        let origin = Self {
            scratch,
            is_dirty: false,
        };
        origin.make_agent();
        origin.log("begun");
        origin.add_sign("Ask", "Ask first.");
        origin.commit("begin");
        origin
    }

    fn of(origin: &Self) -> Self {
        let scratch = Scratch::in_memory();
        let path = origin.scratch.path();
        let path = path.to_str().expect("UTF-8");
        scratch.git(&["remote", "add", "origin", path]);
        scratch.git(&["fetch", "-q", "origin"]);
        scratch.git(&["reset", "-q", "--hard", "origin/main"]);
        fine(&scratch.piton(&["init", "--yes"]));
        fine(&scratch.piton(&["files", "merge-driver", "install", "--yes"]));
        let clone = Self {
            scratch,
            is_dirty: false,
        };
        clone.make_agent();
        assert!(!clone.has_changes(), "what is cloned is adopted as it is");
        clone
    }

    /// What a history begins with, without what makes it anew.
    fn copy(&self) -> Self {
        Self {
            scratch: self.scratch.copy(),
            is_dirty: self.is_dirty,
        }
    }

    /// The agent commits what it does: a file for each story.
    fn make_agent(&self) {
        self.scratch.agent(
            "echo \"$PITON_ITEM\" >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"",
        );
    }

    fn log(&self, words: &str) {
        let log = ["log", "milestone_reached", "--description", words];
        fine(&self.scratch.piton(&log));
    }

    fn add_sign(&self, title: &str, words: &str) {
        let sign = ["learn", "add", "--kind", "guardrail", "--title", title];
        let sign = [&sign[..], &["--trigger", "At sea", words]].concat();
        fine(&self.scratch.piton(&sign));
    }

    fn commit(&self, what: &str) {
        self.scratch.git(&["add", "-A"]);
        self.scratch
            .git(&["commit", "-q", "--allow-empty", "-m", what]);
    }

    fn changes(&self) -> String {
        let status = ["status", "--porcelain", "--untracked-files=no"];
        self.scratch.git(&status)
    }

    fn has_changes(&self) -> bool {
        !self.changes().is_empty()
    }

    /// What git said when it did it, or why it did not.
    fn try_git(&self, args: &str) -> Result<String, String> {
        let args: Vec<&str> = args.split(' ').collect();
        let said = self.scratch.try_git(&args);
        match said.exit {
            0 => Ok(said.out),
            _ => Err(said.out + &said.err),
        }
    }

    /// The branches, and whether each is checked out. Git is not asked: it is at each
    /// step, and nothing packs the refs here.
    fn list_branches(&self) -> Vec<(bool, String)> {
        assert!(!self.scratch.has(".git/packed-refs"));
        let head = self.scratch.read(".git/HEAD");
        let head = head.trim().strip_prefix("ref: refs/heads/");
        let heads = self.scratch.path().join(".git/refs/heads");
        let heads = std::fs::read_dir(heads).expect("a branch is there");
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
        let mut names: Vec<String> = heads.flatten().map(name).collect();
        names.sort();
        let branch = |name: String| (head == Some(&*name), name);
        names.into_iter().map(branch).collect()
    }

    fn branches(&self) -> Vec<String> {
        let all = self.list_branches().into_iter();
        all.map(|(_, branch)| branch).collect()
    }

    fn another_branch(&self, chance: &mut Chance) -> Option<String> {
        let all = self.list_branches().into_iter();
        let others = all.filter(|(is_here, _)| !is_here);
        let mut others: Vec<String> = others.map(|(_, branch)| branch).collect();
        (!others.is_empty()).then(|| {
            let nth = usize::try_from(chance.below(others.len() as u64)).expect("few");
            others.swap_remove(nth)
        })
    }

    fn list(&self) -> Value {
        serde_json::from_str(&self.scratch.read("prd.json")).expect("JSON")
    }

    fn add_story(&self, id: &str) {
        let mut list = self.list();
        let story = serde_json::json!({
            "id": id, "title": id, "acceptanceCriteria": ["it is there"],
            "priority": 50, "passes": false,
        });
        list["userStories"]
            .as_array_mut()
            .expect("a list")
            .push(story);
        let text = serde_json::to_string_pretty(&list).expect("JSON");
        self.scratch.write("prd.json", &format!("{text}\n"));
    }

    /// The stories that are ticked.
    fn marks(&self) -> BTreeSet<String> {
        let list = self.list();
        let stories = list["userStories"].as_array().expect("a list").iter();
        let done = stories.filter(|story| story["passes"] == true);
        done.map(|story| story["id"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The stories whose work the history of what is checked out has.
    fn works(&self) -> BTreeSet<String> {
        let files = self.scratch.git(&["ls-tree", "--name-only", "HEAD"]);
        let names = files.lines().filter_map(|name| name.strip_suffix(".txt"));
        names.map(str::to_owned).collect()
    }
}

/// Two clones, and how they came to be as they are.
struct Yard {
    clones: [Clone; 2],
    chance: Chance,
    told: Vec<String>,
    /// The words of what was recorded.
    said: BTreeSet<String>,
    /// What people added to the list.
    stories: BTreeSet<String>,
    branches: u64,
}

impl Yard {
    fn new(seed: u64, begun: &[Clone; 2]) -> Self {
        Self {
            clones: begun.each_ref().map(Clone::copy),
            chance: Chance::seeded(seed),
            told: Vec::new(),
            said: BTreeSet::new(),
            stories: BTreeSet::new(),
            branches: 0,
        }
    }

    fn story(&self) -> String {
        self.told.join("\n")
    }

    /// What git may not do leaves all as it was.
    fn may(&mut self, at: usize, what: &str, undo: &str) {
        if let Err(said) = self.clones[at].try_git(what) {
            self.told.push(format!("  not done: {said}"));
            self.clones[at].try_git(undo).ok();
        }
    }

    fn step(&mut self) {
        let at = usize::try_from(self.chance.below(2)).expect("two");
        let kind = self.chance.below(14);
        let mut chance = self.chance.clone();
        let other = self.clones[at].another_branch(&mut chance);
        self.chance = chance;
        let number = self.told.len();
        self.told.push(format!("{at}: {kind} {other:?}"));
        match (kind, other) {
            (0..=2, _) => self.work(at),
            (3, _) => {
                let words = format!("event {number} of {at}");
                self.clones[at].log(&words);
                self.said.insert(words);
                self.clones[at].is_dirty = true;
            }
            (4, _) => {
                let words = format!("Rule {number} of {at}.");
                self.clones[at].add_sign(&format!("Rule {number}-{at}"), &words);
                self.said.insert(words);
                self.clones[at].is_dirty = true;
            }
            (5, Some(other)) => self.switch(at, &format!("switch -q {other}")),
            (5 | 6, _) => {
                self.branches += 1;
                let name = format!("b{}-{at}", self.branches);
                self.switch(at, &format!("switch -qc {name}"));
            }
            (7, Some(other)) => {
                self.rest(at);
                self.must(at, &format!("merge -q --no-edit {other}"));
            }
            (8, Some(other)) => {
                self.rest(at);
                self.may(at, &format!("rebase -q {other}"), "rebase --abort");
            }
            (9, Some(other)) => {
                self.rest(at);
                self.must(at, &format!("merge -q --squash {other}"));
                self.clones[at].commit(&format!("all of {other}"));
            }
            (10, Some(other)) => {
                self.rest(at);
                let picked = format!("log -1 --grep=^US- --format=%H ..{other}");
                if let Ok(commit) = self.clones[at].try_git(&picked)
                    && !commit.trim().is_empty()
                {
                    let pick = format!("cherry-pick {}", commit.trim());
                    self.may(at, &pick, "cherry-pick --abort");
                }
            }
            (11, _) => {
                self.rest(at);
                let amend = "commit -q --amend --no-edit --allow-empty --date=now";
                self.clones[at].try_git(amend).ok();
            }
            (12, _) => {
                self.rest(at);
                let from = self.clones[1 - at].scratch.path();
                let branch = self.clones[1 - at].branches().remove(0);
                let from = from.to_str().expect("UTF-8").to_owned();
                self.must(
                    at,
                    &format!("pull -q --no-rebase --no-edit {from} {branch}"),
                );
            }
            (13, _) => {
                self.rest(at);
                let id = format!("X-{number}-{at}");
                self.clones[at].add_story(&id);
                // Before piton looks, or after it.
                if self.chance.below(2) == 0 {
                    self.look(at);
                }
                self.clones[at].commit(&format!("{id} is to be done"));
                self.stories.insert(id);
            }
            (_, None) => {}
            (_, Some(_)) => unreachable!("there are fourteen kinds of steps"),
        }
        if self.chance.below(3) > 0 {
            self.look(at);
        }
    }

    /// What is not committed is a person's to commit before git merges.
    fn rest(&mut self, at: usize) {
        if self.clones[at].is_dirty {
            self.clones[at].commit("what was recorded");
            self.clones[at].is_dirty = false;
        }
    }

    fn must(&mut self, at: usize, what: &str) {
        if let Err(said) = self.clones[at].try_git(what) {
            let changes = self.clones[at].changes();
            panic!("{what}: {said}\n{changes}\n{}", self.story());
        }
    }

    fn switch(&mut self, at: usize, what: &str) {
        self.rest(at);
        self.must(at, what);
    }

    fn work(&mut self, at: usize) {
        self.rest(at);
        let clone = &self.clones[at];
        let agent = ["--agent", "sh agent.sh", "--verdict", "exit-status"];
        let run = [&["run", "prd.json", "--once"][..], &agent].concat();
        let said = clone.scratch.piton(&run);
        assert!(
            [0, 3, 5].contains(&said.exit),
            "{}{}\n{}",
            said.out,
            said.err,
            self.story()
        );
        // A file that the first attempt makes is new, and a person's to commit.
        let status = clone.scratch.git(&["status", "--porcelain"]);
        assert!(
            status.lines().all(|line| line.starts_with("??")),
            "{status}{}{}\n{}",
            said.out,
            said.err,
            self.story()
        );
        self.clones[at].is_dirty |= !status.is_empty();
    }

    /// Nothing is ticked whose work is not here, and nothing here is not ticked.
    fn look(&mut self, at: usize) {
        let clone = &mut self.clones[at];
        fine(&clone.scratch.piton(&["files", "sync"]));
        clone.is_dirty = clone.is_dirty || clone.has_changes();
        let (marks, works) = (self.clones[at].marks(), self.clones[at].works());
        let without: Vec<&String> = marks.difference(&works).collect();
        assert!(
            without.is_empty(),
            "{without:?} is not here\n{}",
            self.story()
        );
    }

    /// All is merged in the end, and then all is there.
    fn finish(&mut self) {
        for at in [0, 1] {
            self.look(at);
            self.rest(at);
        }
        let path = self.clones[1].scratch.path();
        let path = path.to_str().expect("UTF-8").to_owned();
        for branch in self.clones[0].branches() {
            self.must(0, &format!("merge -q --no-edit {branch}"));
        }
        for branch in self.clones[1].branches() {
            self.must(0, &format!("pull -q --no-rebase --no-edit {path} {branch}"));
        }
        self.look(0);
        let origin = &self.clones[0];
        assert_eq!(origin.marks(), origin.works(), "{}", self.story());
        // The plan may not have been run here before.
        self.rest(0);
        self.work(0);
        let origin = &self.clones[0];
        for story in &self.stories {
            let shown = origin.scratch.json(&["show", story]);
            let ticked = origin.marks().contains(story);
            let is_known = shown["item"]["state"] == if ticked { "done" } else { "ready" };
            assert!(is_known, "{story}: {shown}\n{}", self.story());
        }
        let texts = [".ralph/progress.md", ".ralph/guardrails.md"];
        let text: String = texts
            .iter()
            .filter(|file| origin.scratch.has(file))
            .map(|file| origin.scratch.read(file))
            .collect();
        assert!(!text.contains("<<<<<<<"), "{text}");
        for words in &self.said {
            let named = format!("{words} <!--");
            let says = |line: &&str| line.ends_with(words) || line.contains(&named);
            let count = text.lines().filter(says).count();
            assert_eq!(count, 1, "{words}\n{text}\n{}", self.story());
        }
    }
}

fn check(salt: u64) {
    let origin = Clone::origin();
    let clone = Clone::of(&origin);
    let begun = [origin, clone];
    for nth in 0..HISTORIES {
        let mut yard = Yard::new(salted(salt * 1000 + nth), &begun);
        for _ in 0..STEPS {
            yard.step();
        }
        yard.finish();
    }
}

#[test]
fn a_mark_is_where_its_work_is_in_the_first_histories() {
    check(1);
}

#[test]
fn a_mark_is_where_its_work_is_in_the_second_histories() {
    check(2);
}

#[test]
fn a_mark_is_where_its_work_is_in_the_third_histories() {
    check(3);
}

#[test]
fn a_mark_is_where_its_work_is_in_the_fourth_histories() {
    check(4);
}
