//! Runs whose work goes to pull requests, and the people there.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::event::UnitEvent;
use piton_core::merge::MergeState;
use piton_core::pull_request::{
    AdoptedPullRequest, PullRequestRemark, PullRequestRow, PullRequestSnapshot, PullRequestState,
    branch_of_unit,
};
use piton_core::run_loop::{Input, PullRequestOpenEnd};
use piton_core::{DecisionKind, Event, ItemState, Node, Verb};

use super::rng::Rng;
use super::service::{OTHERS, PullRequest, Service};
use super::sim::{Crash, Sim};

impl Sim {
    /// Work goes to pull requests of a service, which has those that others left.
    #[must_use]
    pub fn with_pull_requests(mut self) -> Self {
        let items = self.world.tables.items(self.world.run);
        let left = items.filter_map(|item| Some((item.pull_request()?.number?, item.node.clone())));
        let left: BTreeMap<u64, Node> = left.collect();
        let mut service = Service {
            rng: Rng::new(self.script.0 ^ 0x9171),
            branches: BTreeMap::new(),
            all: Vec::new(),
            left: left.clone(),
            unkind: 12,
        };
        let repo = self.repo.as_mut().expect("it is worked on in lanes");
        for (number, _) in left {
            assert_eq!(service.all.len() + 1, usize::try_from(number).expect("few"));
            let branch = format!("{OTHERS}{number}");
            let head = repo.commit_on(&repo.root(), number);
            let (state, merge_commit) = match service.rng.below(10) {
                0..=1 => (PullRequestState::Closed, None),
                2..=3 => {
                    let merged = repo.merge_into_base(&head, number.is_multiple_of(2));
                    (PullRequestState::Merged, Some(merged))
                }
                _ => (PullRequestState::Open, None),
            };
            service.branches.insert(branch.clone(), head.clone());
            service.all.push(PullRequest {
                branch,
                head,
                state,
                merge_commit,
                words: Vec::new(),
            });
        }
        self.service = Some(service);
        self
    }

    /// Whether others left the work of a unit in a pull request.
    pub(super) fn was_left(&self, node: &Node) -> bool {
        let service = self.service.as_ref();
        service.is_some_and(|service| service.left.values().any(|left| left == node))
    }

    /// How many of those that others left were taken up.
    #[must_use]
    pub fn count_taken(&self) -> usize {
        let mut taken = BTreeSet::new();
        for recorded in &self.world.journal {
            if let Event::Unit(UnitEvent::PullRequestTaken { node, .. }) = &recorded.event {
                taken.insert(node.clone());
            }
        }
        taken.len()
    }

    pub(super) fn take_pull_request(&mut self, node: Node, number: u64) -> Result<Input, Crash> {
        let service = self.service.as_mut().expect("there is one");
        let end = match service.is_unkind(10) {
            true => PullRequestOpenEnd::Failed("no network".to_owned()),
            false => {
                let one = service.at(number);
                PullRequestOpenEnd::Found(AdoptedPullRequest {
                    number,
                    url: format!("https://example.org/pull/{number}"),
                    head: one.head.clone(),
                    branch: one.branch.clone(),
                    base: "main".to_owned(),
                })
            }
        };
        self.may_crash()?;
        self.people_act();
        Ok(Input::PullRequestOpened { node, end })
    }

    /// How many pull requests there were, how many of them were merged, and how many
    /// were closed at the end.
    #[must_use]
    pub fn count_pull_requests(&self) -> (usize, usize, usize) {
        let all = self.service.iter().flat_map(|service| &service.all);
        let count = |state| all.clone().filter(|one| one.state == state).count();
        let merged = count(PullRequestState::Merged);
        let closed = count(PullRequestState::Closed);
        (all.count(), merged, closed)
    }

    fn known_of(&self, node: &Node) -> Option<PullRequestRow> {
        self.world.item(node.as_str()).pull_request().cloned()
    }

    pub(super) fn open_pull_request(&mut self, node: &Node) -> Result<Input, Crash> {
        let ended = |end| {
            Ok(Input::PullRequestOpened {
                node: node.clone(),
                end,
            })
        };
        // It may have been taken back meanwhile.
        let Some(known) = self.known_of(node) else {
            return ended(PullRequestOpenEnd::Stopped);
        };
        let failed = || PullRequestOpenEnd::Failed("no network".to_owned());
        let service = self.service.as_mut().expect("there is one");
        if service.is_unkind(10) {
            return ended(failed());
        }
        let repo = self.repo.as_mut().expect("it is worked on in lanes");
        if !service.push(&known, repo) {
            let why = "another person pushed what contradicts the work".to_owned();
            return ended(PullRequestOpenEnd::Refused(why));
        }
        self.may_crash()?;
        self.people_act();
        let service = self.service.as_mut().expect("there is one");
        let repo = self.repo.as_ref().expect("it is worked on in lanes");
        let number = match service.find(&known, repo) {
            Some(number) => number,
            None => service.create(&known, repo),
        };
        let fails = service.is_unkind(10);
        self.may_crash()?;
        self.people_act();
        if fails {
            return ended(failed());
        }
        ended(PullRequestOpenEnd::Opened {
            head: known.head,
            number,
            url: format!("https://example.org/pull/{number}"),
        })
    }

    pub(super) fn look_at_pull_request(&mut self, node: Node, number: u64) -> Input {
        let known = self.known_of(&node);
        let service = self.service.as_mut().expect("there is one");
        let look = match service.is_unkind(5) {
            true => Err("no network".to_owned()),
            false => {
                let one = service.at(number);
                let repo = self.repo.as_ref().expect("it is worked on in lanes");
                let has_work = known.is_some_and(|it| repo.is_built_on(&one.head, &it.head));
                Ok(PullRequestSnapshot {
                    state: one.state,
                    merge_commit: one.merge_commit.clone(),
                    head: Some(one.head.clone()),
                    has_work,
                    words: one.words.clone(),
                })
            }
        };
        Input::PullRequestSeen { node, number, look }
    }

    /// A person does something at the service, now and then.
    pub(super) fn people_act(&mut self) {
        let Some(service) = &mut self.service else {
            return;
        };
        if service.all.is_empty() || !service.rng.percent(4) {
            return;
        }
        let nth = service.rng.below(service.all.len());
        let number = u64::try_from(nth).expect("few") + 1;
        let is_unkind = service.is_unkind(50);
        let (closes, value) = (service.rng.percent(40), service.rng.next());
        let one = service.at(number);
        match (one.state, is_unkind) {
            (PullRequestState::Open, true) if closes => one.state = PullRequestState::Closed,
            (PullRequestState::Open | PullRequestState::Closed, true) => {
                one.words.push(PullRequestRemark {
                    id: format!("c{value}"),
                    by: "ann".to_owned(),
                    text: "otherwise".to_owned(),
                });
            }
            (PullRequestState::Closed, false) if self.may_reopen(number) => {
                let service = self.service.as_mut().expect("there is one");
                service.at(number).state = PullRequestState::Open;
            }
            (PullRequestState::Open, false) if closes => self.merge_there(number),
            (PullRequestState::Open, false) => self.push_there(number, value),
            (_, _) => {}
        }
        let repo = self.repo.as_mut().filter(|_| value.is_multiple_of(9));
        if let Some(repo) = repo {
            repo.commit_to_base(value);
        }
    }

    /// A person works on in the branch of a pull request.
    fn push_there(&mut self, number: u64, value: u64) {
        let service = self.service.as_mut().expect("there is one");
        let one = service.at(number);
        let (branch, head) = (one.branch.clone(), one.head.clone());
        let repo = self.repo.as_mut().expect("it is worked on in lanes");
        service.put(&branch, repo.commit_on(&head, value));
    }

    /// A service has one open pull request for a branch at most, and reopens none whose
    /// branch is elsewhere by now.
    fn may_reopen(&self, number: u64) -> bool {
        let all = self.service.as_ref().map(|service| &service.all);
        let mut all = all.into_iter().flatten();
        let at = usize::try_from(number).expect("few") - 1;
        let Some(one) = all.clone().nth(at) else {
            return false;
        };
        let is_open_too =
            all.any(|other| other.branch == one.branch && other.state == PullRequestState::Open);
        let service = self.service.as_ref();
        let is_there = service.and_then(|service| service.branches.get(&one.branch));
        !is_open_too && is_there == Some(&one.head)
    }

    fn merge_there(&mut self, number: u64) {
        let service = self.service.as_mut().expect("there is one");
        let squash = service.rng.percent(50);
        let deletes = service.rng.percent(50);
        let repo = self.repo.as_mut().expect("it is worked on in lanes");
        let one = service.at(number);
        assert_eq!(one.state, PullRequestState::Open);
        one.merge_commit = Some(repo.merge_into_base(&one.head, squash));
        one.state = PullRequestState::Merged;
        let branch = one.branch.clone();
        if deletes {
            service.branches.remove(&branch);
        }
    }

    /// The person in charge sees to all that waits in a pull request.
    pub(super) fn care_for_pull_requests(&mut self) {
        let open = self.world.tables.open_decisions(self.world.run);
        let asked = open.filter(|row| row.kind == DecisionKind::PullRequest);
        let asked: Vec<_> = asked
            .filter_map(|row| Some((row.id, row.node.clone()?)))
            .collect();
        for (turn, (id, node)) in asked.into_iter().enumerate() {
            let known = self.known_of(&node).expect("it was asked for");
            let script = self.script;
            let service = self.service.as_mut().expect("there is one");
            let number = script.number("there", &node, service.all.len() + turn);
            let Some(at) = known.number.filter(|_| known.is_open) else {
                // They take away what they pushed.
                if let Some(last) = known.before.last() {
                    service.put(&known.branch, last.clone());
                }
                let command = self.world.answer_to(id, Verb::Retry, None);
                self.world.ok(command);
                continue;
            };
            let state = service.at(at).state;
            let is_unkind = number >= 85 && service.is_unkind(100);
            let verb = match state {
                PullRequestState::Merged => continue,
                PullRequestState::Open if !is_unkind => {
                    self.merge_there(at);
                    continue;
                }
                PullRequestState::Open if number < 90 => Verb::Skip,
                PullRequestState::Open => Verb::Reject,
                PullRequestState::Closed if number < 50 && self.may_reopen(at) => {
                    let service = self.service.as_mut().expect("there is one");
                    service.at(at).state = PullRequestState::Open;
                    continue;
                }
                PullRequestState::Closed if number < 20 => Verb::Skip,
                PullRequestState::Closed if is_unkind => Verb::Retry,
                PullRequestState::Closed => Verb::Reject,
            };
            let command = self.world.answer_to(id, verb, Some("otherwise, there"));
            self.world.ok(command);
        }
    }

    /// What goes to a pull request is done by its merge, and that is on the target.
    pub(super) fn check_pull_requests(&self) {
        let Some(service) = &self.service else {
            return;
        };
        let row = self.world.run_row();
        for item in self.world.tables.items(row.id) {
            let merge = item.merge();
            let is_requested = merge.is_some_and(|it| it.state == MergeState::Requested);
            let mut asked = self.world.tables.open_decisions(row.id);
            let is_asked = asked.any(|asked| {
                asked.kind == DecisionKind::PullRequest && asked.node.as_ref() == Some(&item.node)
            });
            assert_eq!(is_requested, is_asked, "{}", item.node);
            let lanes = row
                .branches
                .lanes
                .as_ref()
                .expect("it is worked on in lanes");
            assert_eq!(is_requested, lanes.requested.contains_key(&item.node));
            if is_requested {
                assert_eq!(item.state, ItemState::Waiting, "{}", item.node);
            }
        }
        let names: Vec<String> = self
            .world
            .tables
            .items(row.id)
            .map(|item| branch_of_unit(&row.name, &item.node))
            .collect();
        let is_known = |branch: &String| names.contains(branch) || branch.starts_with(OTHERS);
        assert!(service.branches.keys().all(is_known));
    }

    /// Whether a pull request of the unit was merged by that commit.
    pub(super) fn was_merged_there(&self, node: &Node, commit: &str) -> bool {
        let Some(service) = &self.service else {
            return false;
        };
        let mut left = service.left.iter();
        let left = left.find(|(_, of)| *of == node);
        let own = branch_of_unit(&self.world.run_row().name, node);
        let branches = [
            Some(own),
            left.map(|(number, _)| format!("{OTHERS}{number}")),
        ];
        let mut all = service.all.iter();
        all.any(|one| {
            let is_its = branches
                .iter()
                .flatten()
                .any(|branch| *branch == one.branch);
            is_its && one.merge_commit.as_deref() == Some(commit)
        })
    }
}
