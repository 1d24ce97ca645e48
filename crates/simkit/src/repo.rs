//! A git small enough to hold in the hand: commits are maps from paths to
//! values, lanes are checked-out maps, and the target is one ref.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::Node;
use piton_core::merge::{MergeCommit, MergeReturn, MergeStep};

/// What a tree holds.
pub type Files = BTreeMap<String, u64>;

/// A commit: it is known by its index, which is named behind all of other repositories.
struct Commit {
    parents: Vec<usize>,
    files: Files,
}

/// A worktree of the pool.
#[derive(Clone, Default)]
pub struct Lane {
    head: usize,
    files: Files,
    /// The other side, where an agent is to see both.
    merging: Option<usize>,
}

pub struct Repo {
    commits: Vec<Commit>,
    /// The name of its first commit: no two repositories have one in common.
    first: usize,
    target: usize,
    lanes: BTreeMap<u32, Lane>,
    /// Units that are red together: such a number for each of two.
    seed: u64,
    /// Commits that another hand put on the target.
    by_hand: BTreeSet<usize>,
    /// What the branch at the service is into which pull requests are merged.
    base: usize,
    /// What the last attempt at each item wrote.
    written: BTreeMap<Node, u64>,
}

/// The file that only the item writes.
fn own_file(node: &Node) -> String {
    format!("own/{node}")
}

impl Repo {
    pub fn new(seed: u64, first: usize) -> Self {
        let root = Commit {
            parents: Vec::new(),
            files: Files::new(),
        };
        Self {
            commits: vec![root],
            first,
            target: 0,
            lanes: BTreeMap::new(),
            seed,
            by_hand: BTreeSet::from([0]),
            base: 0,
            written: BTreeMap::new(),
        }
    }

    /// Where a commit stands, which has to be one of this repository.
    fn index(&self, commit: &str) -> usize {
        let named: usize = commit.parse().expect("a commit");
        let at = named.checked_sub(self.first);
        let at = at.filter(|at| *at < self.commits.len());
        at.unwrap_or_else(|| panic!("{commit} is in another repository"))
    }

    fn name(&self, at: usize) -> String {
        (self.first + at).to_string()
    }

    /// The commit at which it began.
    pub fn root(&self) -> String {
        self.name(0)
    }

    fn commit(&mut self, parents: Vec<usize>, files: Files) -> usize {
        self.commits.push(Commit { parents, files });
        self.commits.len() - 1
    }

    fn ancestors(&self, of: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![of];
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(&self.commits[next].parents);
            }
        }
        found
    }

    pub fn is_on_target(&self, commit: &str) -> bool {
        self.ancestors(self.target).contains(&self.index(commit))
    }

    /// The merge of two commits, and the paths that both changed.
    fn merge(&self, ours: usize, theirs: usize) -> (Files, Vec<String>) {
        let others = self.ancestors(theirs);
        let base = self.ancestors(ours).intersection(&others).max().copied();
        let base = &self.commits[base.expect("all begin at the root")].files;
        let (ours, theirs) = (&self.commits[ours].files, &self.commits[theirs].files);
        let (mut merged, mut both) = (ours.clone(), Vec::new());
        for (path, value) in theirs {
            let (own, before) = (ours.get(path), base.get(path));
            if Some(value) == before || Some(value) == own {
                continue;
            }
            if own != before {
                both.push(path.clone());
            }
            merged.insert(path.clone(), *value);
        }
        (merged, both)
    }

    /// Whether two units in the tree are red together, which no commit has fixed.
    fn is_red(&self, files: &Files) -> bool {
        let mut pairs = self.red_pairs(files).into_iter();
        pairs.any(|pair| !files.contains_key(&pair))
    }

    /// The files that mend what is red in the tree.
    fn red_pairs(&self, files: &Files) -> Vec<String> {
        let units = files.keys().filter_map(|path| path.strip_prefix("own/"));
        let units: Vec<&str> = units.collect();
        let mut pairs = Vec::new();
        for (nth, one) in units.iter().enumerate() {
            for other in &units[nth + 1..] {
                let bytes = one.bytes().chain(*b"+").chain(other.bytes());
                let drawn = bytes.fold(self.seed, |sum, byte| {
                    crate::seed::mix(sum ^ u64::from(byte))
                });
                if drawn % 12 == 0 {
                    pairs.push(format!("mends/{one}+{other}"));
                }
            }
        }
        pairs
    }

    /// Checks a lane out, clean, where nothing is in it that was worked on.
    pub fn prepare(&mut self, lane: u32, from: &str, keeps: bool, sees_both: bool) {
        let head = self.index(from);
        if keeps && self.lanes.contains_key(&lane) {
            return;
        }
        let (files, merging) = match sees_both {
            true => (self.merge(head, self.target).0, Some(self.target)),
            false => (self.commits[head].files.clone(), None),
        };
        let made = Lane {
            head,
            files,
            merging,
        };
        self.lanes.insert(lane, made);
    }

    /// Removes a lane, with all that is in no commit of its own. What an agent fixed
    /// there for a unit that holds others is fixed again only where its check fails
    /// again.
    pub fn lose(&mut self, lane: u32, holder: Option<&Node>) {
        self.lanes.remove(&lane);
        holder.map(|unit| self.written.remove(unit));
    }

    pub fn has(&self, lane: u32) -> bool {
        self.lanes.contains_key(&lane)
    }

    /// An agent writes into its lane.
    pub fn write(&mut self, lane: u32, node: &Node, value: u64, shares: bool, resolves: bool) {
        self.written.insert(node.clone(), value);
        let mut files = self.lanes[&lane].files.clone();
        files.insert(own_file(node), value);
        if shares {
            files.insert(format!("shared/{}", value % 3), value);
        }
        if resolves {
            for mend in self.red_pairs(&files) {
                files.insert(mend, 1);
            }
        }
        self.lanes.get_mut(&lane).expect("it was prepared").files = files;
    }

    pub fn head(&self, lane: u32) -> String {
        self.name(self.lanes[&lane].head)
    }

    /// Commits what is in a lane. The commit at which it stands then, unless its
    /// work began there.
    pub fn commit_lane(&mut self, lane: u32, from: &str) -> Option<String> {
        let Lane {
            head,
            files,
            merging,
        } = self.lanes[&lane].clone();
        if merging.is_some() || files != self.commits[head].files {
            let parents = std::iter::once(head).chain(merging).collect();
            let made = self.commit(parents, files);
            let lane = self.lanes.get_mut(&lane).expect("it was prepared");
            lane.head = made;
            lane.merging = None;
        }
        let head = self.head(lane);
        (head != from).then_some(head)
    }

    /// Keeps what is in a lane, which stays as it is.
    pub fn save(&mut self, lane: u32, from: &str) -> Option<String> {
        let Lane { head, files, .. } = self.lanes.get(&lane)?.clone();
        if files != self.commits[head].files {
            let saved = self.commit(vec![head], files);
            return Some(self.name(saved));
        }
        let head = self.name(head);
        (head != from).then_some(head)
    }

    pub fn make_merge(&mut self, work: &str) -> MergeStep {
        let (onto, work) = (self.target, self.index(work));
        if self.ancestors(onto).contains(&work) {
            return MergeStep::Nothing {
                at: self.name(onto),
            };
        }
        let (files, both) = self.merge(onto, work);
        if !both.is_empty() {
            return MergeStep::Return {
                why: MergeReturn::Conflict { files: both },
            };
        }
        let is_checked = files == self.commits[work].files;
        let commit = self.commit(vec![onto, work], files);
        MergeStep::Start {
            made: MergeCommit {
                onto: self.name(onto),
                commit: self.name(commit),
                tree: format!("tree-{}", self.name(commit)),
            },
            is_checked,
        }
    }

    pub fn check_merge(&self, made: &MergeCommit) -> MergeStep {
        match self.is_red(&self.commits[self.index(&made.commit)].files) {
            false => MergeStep::Pass,
            true => MergeStep::Return {
                why: MergeReturn::Red {
                    command: "make check".to_owned(),
                    output: "red".to_owned(),
                    with: Vec::new(),
                    changed: false,
                },
            },
        }
    }

    /// Moves the target, by compare and swap.
    pub fn move_target(&mut self, made: &MergeCommit) -> MergeStep {
        let (onto, commit) = (self.index(&made.onto), self.index(&made.commit));
        if self.ancestors(self.target).contains(&commit) {
            return MergeStep::End;
        }
        if self.target != onto {
            return MergeStep::Requeue;
        }
        self.target = commit;
        MergeStep::End
    }

    /// People merge a pull request, and resolve what conflicts as it has it.
    pub fn merge_into_base(&mut self, head: &str, squash: bool) -> String {
        let head = self.index(head);
        let (files, _) = self.merge(self.base, head);
        let own = [self.base, head];
        let parents = own[..if squash { 1 } else { 2 }].to_vec();
        self.base = self.commit(parents, files);
        self.by_hand.insert(self.base);
        self.name(self.base)
    }

    /// Whether a commit is another one, or built on it.
    pub fn is_built_on(&self, of: &str, on: &str) -> bool {
        self.ancestors(self.index(of)).contains(&self.index(on))
    }

    /// A person commits on top of what was pushed.
    pub fn commit_on(&mut self, head: &str, value: u64) -> String {
        let head = self.index(head);
        let mut files = self.commits[head].files.clone();
        files.insert(format!("people/{value}"), value);
        let made = self.commit(vec![head], files);
        self.by_hand.insert(made);
        self.name(made)
    }

    /// What people pushed, and newer work than they saw; none where both changed the same.
    pub fn merge_pushed(&mut self, there: &str, work: &str) -> Option<String> {
        let sides = [self.index(there), self.index(work)];
        let (files, both) = self.merge(sides[0], sides[1]);
        if !both.is_empty() {
            return None;
        }
        let made = self.commit(sides.to_vec(), files);
        self.by_hand.insert(made);
        Some(self.name(made))
    }

    /// Another person commits to the base branch.
    pub fn commit_to_base(&mut self, value: u64) {
        let mut files = self.commits[self.base].files.clone();
        files.insert(format!("shared/{}", value % 3), value);
        self.base = self.commit(vec![self.base], files);
        self.by_hand.insert(self.base);
    }

    /// What the target is to be moved to, so that it has what was merged there.
    pub fn follow_base(&mut self, merged: &str) -> MergeStep {
        let (onto, base) = (self.target, self.base);
        assert!(self.ancestors(base).contains(&self.index(merged)));
        let commit = if self.ancestors(base).contains(&onto) {
            base
        } else if self.ancestors(onto).contains(&base) {
            onto
        } else {
            let (files, _) = self.merge(onto, base);
            self.commit(vec![onto, base], files)
        };
        MergeStep::Start {
            made: MergeCommit {
                onto: self.name(onto),
                commit: self.name(commit),
                tree: format!("tree-{}", self.name(commit)),
            },
            is_checked: false,
        }
    }

    /// Another hand commits to the target.
    pub fn meddle(&mut self, value: u64) {
        let mut files = self.commits[self.target].files.clone();
        files.insert(format!("shared/{}", value % 3), value);
        self.target = self.commit(vec![self.target], files);
        self.by_hand.insert(self.target);
    }

    /// The target came only along these merges, and none of it is red where each was
    /// checked.
    pub fn check_target(&self, passed: &BTreeSet<&str>, is_checked: bool) {
        let mut at = self.target;
        loop {
            let is_known = self.by_hand.contains(&at) || passed.contains(self.name(at).as_str());
            assert!(is_known, "commit {at} of the target passed no check");
            let is_red = is_checked && self.is_red(&self.commits[at].files);
            assert!(!is_red, "commit {at} is red");
            match self.commits[at].parents.first() {
                Some(first) => at = *first,
                None => return,
            }
        }
    }

    /// What the last attempts at the items of a unit wrote is on the target, where
    /// they are done by that.
    pub fn check_merged(&self, unit: &Node, is_done: impl Fn(&Node) -> bool) {
        let files = &self.commits[self.target].files;
        for (node, value) in &self.written {
            if piton_core::lane::unit_of_node(node) == *unit && is_done(node) {
                let there = files.get(&own_file(node));
                assert_eq!(there, Some(value), "the work on {node} was lost");
            }
        }
    }
}
