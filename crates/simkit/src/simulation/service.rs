//! A service with pull requests, and people there who merge, close, reopen and write
//! when they like. It fails now and then, also after it has done what was wanted.

use std::collections::BTreeMap;

use piton_core::Node;
use piton_core::pull_request::{PullRequestRemark, PullRequestRow, PullRequestState};

use super::rng::Rng;
use super::script::Script;
use crate::repo::Repo;
use crate::world::ANY_ORDER;

/// What the branches of others begin with.
pub(super) const OTHERS: &str = "others/";

/// A third of the units of one item have a pull request that others opened.
pub(super) fn with_left(plan: &str, seed: u32) -> String {
    let script = Script(u64::from(seed));
    let lines = plan.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut number = 0;
    let with_left = |(at, line): (usize, &&str)| {
        let is_leaf = lines
            .get(at + 1)
            .is_none_or(|next| depth(next) <= depth(line));
        let is_unit = is_leaf && depth(line) <= 2 && *line != ANY_ORDER.trim_end();
        let drawn = script.number("left", &Node::from_text(line.trim()), at);
        if !is_unit || drawn >= 33 {
            return format!("{line}\n");
        }
        number += 1;
        format!("{line} pull-request={number}\n")
    };
    lines.iter().enumerate().map(with_left).collect()
}

/// A pull request, as the service has it.
pub(super) struct PullRequest {
    pub(super) branch: String,
    pub(super) head: String,
    pub(super) state: PullRequestState,
    pub(super) merge_commit: Option<String>,
    pub(super) words: Vec<PullRequestRemark>,
}

/// What is pushed, and what is open.
pub(super) struct Service {
    pub(super) rng: Rng,
    pub(super) branches: BTreeMap<String, String>,
    /// By their numbers, from 1.
    pub(super) all: Vec<PullRequest>,
    /// The units of those that others opened, by their numbers.
    pub(super) left: BTreeMap<u64, Node>,
    /// So often people are no help, or it fails.
    pub(super) unkind: u32,
}

impl Service {
    pub(super) fn at(&mut self, number: u64) -> &mut PullRequest {
        let at = usize::try_from(number).expect("few") - 1;
        &mut self.all[at]
    }

    pub(super) fn is_unkind(&mut self, percent: u32) -> bool {
        let is_it = self.unkind > 0 && self.rng.percent(percent);
        self.unkind -= u32::from(is_it);
        is_it
    }

    /// Pushes, and overwrites nothing but what was pushed from here: what people pushed
    /// since is merged with it. Whether it is there.
    pub(super) fn push(&mut self, known: &PullRequestRow, repo: &mut Repo) -> bool {
        let there = self.branches.get(&known.branch);
        let to = match there {
            Some(at) if repo.is_built_on(at, &known.head) => at.clone(),
            Some(at) if !known.before.contains(at) => {
                let mut before = known.before.iter();
                let is_on_own = before.any(|own| repo.is_built_on(at, own));
                assert!(is_on_own, "{} would be lost", known.branch);
                let at = at.clone();
                let Some(merged) = repo.merge_pushed(&at, &known.head) else {
                    return false;
                };
                merged
            }
            Some(_) | None => known.head.clone(),
        };
        self.put(&known.branch, to);
        true
    }

    pub(super) fn put(&mut self, branch: &str, to: String) {
        for one in &mut self.all {
            if one.branch == branch && one.state == PullRequestState::Open {
                one.head.clone_from(&to);
            }
        }
        self.branches.insert(branch.to_owned(), to);
    }

    /// The one that is the unit's already, by what the engine looks at.
    pub(super) fn find(&self, known: &PullRequestRow, repo: &Repo) -> Option<u64> {
        let numbered = (1_u64..).zip(&self.all);
        let of_branch = || {
            numbered
                .clone()
                .filter(|(_, one)| one.branch == known.branch)
        };
        let open = of_branch().find(|(_, one)| one.state == PullRequestState::Open);
        let same = of_branch().find(|(_, one)| repo.is_built_on(&one.head, &known.head));
        known.number.or(open.or(same).map(|(number, _)| number))
    }

    pub(super) fn create(&mut self, known: &PullRequestRow, repo: &Repo) -> u64 {
        for one in self.all.iter().filter(|one| one.branch == known.branch) {
            assert_ne!(one.state, PullRequestState::Open, "two for one branch");
            let has_work = repo.is_built_on(&one.head, &known.head);
            assert!(!has_work, "a second one with the same work");
        }
        self.all.push(PullRequest {
            branch: known.branch.clone(),
            head: self.branches[&known.branch].clone(),
            state: PullRequestState::Open,
            merge_commit: None,
            words: Vec::new(),
        });
        u64::try_from(self.all.len()).expect("few")
    }
}
