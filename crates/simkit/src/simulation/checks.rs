//! People who give items other checks at any time, and which check of which item has
//! passed: apart from what the rules make of it.

use piton_core::command::EditAuthor;
use piton_core::event::{AttemptEvent, ItemEvent, UnitEvent};
use piton_core::evidence::{Evidence, Level, level_of_evidence};
use piton_core::gate::Gate;
use piton_core::merge::{MergeCommit, MergeReturn, MergeRow, MergeStep};
use piton_core::{Command, Edit, Event, ItemRow, ItemState, Node, Role};

use super::rng::Rng;
use super::sim::Sim;

/// So often an agent cannot do at first what a changed check asks for.
const RED_MAX: usize = 2;

impl Sim {
    /// People give items other checks, also of work that is in the merge queue.
    #[must_use]
    pub fn with_changed_checks(mut self) -> Self {
        self.checks.edits = Some((Rng::new(self.script.0 ^ 0xc4ec), 12));
        self
    }

    /// How many checks of units in the merge queue were changed.
    #[must_use]
    pub fn changed_in_queue(&self) -> u32 {
        self.checks.changed_in_queue
    }

    /// A person gives an item another check: often one that is in the queue.
    pub(super) fn change_a_check(&mut self) {
        let Some((rng, left)) = self.checks.edits.as_mut().filter(|(_, left)| *left > 0) else {
            return;
        };
        let of_queue = rng.percent(60);
        let is_queued = |item: &ItemRow| item.merge().is_some_and(MergeRow::is_queued);
        let items = self.world.tables.tree(self.world.run);
        let items = items.filter(|item| !of_queue || is_queued(item));
        let items: Vec<(Node, bool)> = items
            .map(|item| (item.node.clone(), is_queued(item)))
            .collect();
        let chance = if of_queue { 30 } else { 5 };
        if items.is_empty() || !rng.percent(chance) {
            return;
        }
        *left -= 1;
        let (node, is_queued) = items[rng.below(items.len())].clone();
        let gate = Gate {
            script: format!("make part-{}", rng.below(3)),
            on_fail_prompt: "mend it".to_owned(),
            runs_max: 3,
            timeout_s: 60,
        };
        self.checks.changed_in_queue += u32::from(is_queued);
        let gate = Some(gate);
        self.world.ok(Command::TakeEdits {
            run: self.world.run,
            token: None,
            file: "PROGRESS.yaml".to_owned(),
            edits: vec![Edit::SetGate { node, gate }],
            word: EditAuthor::File,
        });
    }

    pub(super) fn check_passed(&mut self, node: &Node, script: &str) {
        let passed = (node.clone(), script.to_owned());
        self.checks.passed.insert(passed);
    }

    /// What comes of a step of a merge that was begun when the unit was as it is given,
    /// with the checks that it had then.
    pub(super) fn with_checks(&mut self, unit: &ItemRow, step: MergeStep) -> MergeStep {
        match step {
            MergeStep::Nothing { at } if unit.needs_check() => {
                let made = MergeCommit {
                    onto: at.clone(),
                    tree: format!("tree-{at}"),
                    commit: at,
                };
                let is_checked = false;
                MergeStep::Start { made, is_checked }
            }
            MergeStep::Start { made, is_checked } => {
                let is_checked = is_checked && !unit.is_missing_check();
                if is_checked {
                    self.checks.seen_in_lane.insert(made.commit.clone());
                }
                MergeStep::Start { made, is_checked }
            }
            MergeStep::Pass => self.run_checks(unit),
            other => other,
        }
    }

    /// The checks of a unit run on its merge; one that is new to the work may be red.
    fn run_checks(&mut self, unit: &ItemRow) -> MergeStep {
        let made = unit.merge().and_then(|merge| merge.made.as_ref());
        let is_seen = made.is_some_and(|made| self.checks.seen_in_lane.contains(&made.commit));
        let scripts = unit.required_checks().map(|check| check.script.clone());
        let scripts: Vec<String> = scripts
            .filter(|_| !is_seen || unit.is_missing_check())
            .collect();
        let returned = self.count(
            |event| matches!(event, Event::Unit(UnitEvent::MergeReturned { node, .. }) if *node == unit.node),
        );
        let is_red = self.script.number("changed-check", &unit.node, returned) < 40;
        let is_new = |script: &&String| {
            let passed = (unit.node.clone(), (*script).clone());
            !self.checks.passed.contains(&passed)
        };
        let mut new = scripts.iter().filter(|_| is_red && returned < RED_MAX);
        if let Some(command) = new.find(is_new) {
            return MergeStep::Return {
                why: MergeReturn::Red {
                    command: command.clone(),
                    output: "red".to_owned(),
                    with: Vec::new(),
                    changed: false,
                },
            };
        }
        for script in scripts {
            self.check_passed(&unit.node, &script);
        }
        MergeStep::Pass
    }

    /// Nothing with a check came to be done whose check, as it was then, has not
    /// passed, unless a person says so.
    pub(super) fn check_checks(&mut self) {
        let before = std::mem::replace(&mut self.checks.looked_at, self.world.journal.len());
        for at in before..self.world.journal.len() {
            match &self.world.journal[at].event {
                Event::Attempt(AttemptEvent::Started {
                    node,
                    role: Role::Worker,
                    ..
                }) => {
                    let node = node.clone();
                    self.checks.passed.retain(|(of, _)| *of != node);
                }
                Event::Item(ItemEvent::Moved(moved)) if moved.to == ItemState::Done => {
                    let item = self.world.item(moved.node.as_str());
                    let is_by_person = level_of_evidence(&item.proof.evidence)
                        == Some(Level::Person)
                        || item.proof.evidence.contains(&Evidence::TakenOver);
                    let is_over = item.state != ItemState::Done
                        || self.got_check_when_done(&item.node)
                        || is_by_person;
                    let Some(gate) = item.plan.gate.as_ref().filter(|_| !is_over) else {
                        continue;
                    };
                    let passed = (item.node.clone(), gate.script.clone());
                    assert!(
                        self.checks.passed.contains(&passed),
                        "{} is done, and `{}` did not pass",
                        item.node,
                        gate.script
                    );
                    assert!(
                        !item.is_missing_check(),
                        "{}: {:?}",
                        item.node,
                        item.proof.evidence
                    );
                }
                _ => {}
            }
        }
    }
}
