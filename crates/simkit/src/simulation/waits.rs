//! Items that wait for a time or a command before they begin, and people who change
//! that.

use jiff::SignedDuration;
use piton_core::command::EditAuthor;
use piton_core::run_loop::{ASKED_AT_ONCE, Input, WaitAnswer};
use piton_core::wait::{Wait, WaitProgress};
use piton_core::{Command, Edit, ItemRow, Node};

use super::rng::Rng;
use super::script::Script;
use super::sim::Sim;
use crate::world::{ANY_ORDER, a_wait};

/// It says no until the time has come and a person has had it asked on.
const LATE: &str = "late";

/// It says yes from some time on.
const SOON: &str = "soon";

/// Half of the plans have some of their items wait before they begin.
pub(super) fn with_waits(plan: &str, seed: u32) -> String {
    if !matches!(seed % 4, 0 | 3) {
        return plan.to_owned();
    }
    let script = Script(u64::from(seed));
    let with_wait = |(at, line): (usize, &str)| {
        let number = script.number("waits", &Node::from_text(line), at);
        let until = 100 + script.number("until", &Node::from_text(line), at) * 10;
        let wait = match number {
            0..=9 => format!(" wait={until}"),
            10..=19 => format!(" wait={SOON}"),
            20..=25 => format!(" wait={LATE},{until}"),
            _ => String::new(),
        };
        match line == ANY_ORDER.trim_end() {
            true => format!("{line}\n"),
            false => format!("{line}{wait}\n"),
        }
    };
    plan.lines().enumerate().map(with_wait).collect()
}

impl Sim {
    /// People have items wait for something else, or for nothing.
    #[must_use]
    pub fn with_changed_waits(mut self) -> Self {
        self.wait_edits = Some((Rng::new(self.script.0 ^ 0x3a17), 8));
        self
    }

    /// How many items began to wait, and how many of them ended by their command.
    #[must_use]
    pub fn count_waits(&self) -> (usize, usize) {
        let tree = || self.world.tables.tree(self.world.run);
        let waits = tree().filter(|item| item.plan.wait.is_some());
        let said_yes = tree().filter(|item| item.work.waited == Some(WaitProgress::Command));
        (waits.count(), said_yes.count())
    }

    pub(super) fn change_a_wait(&mut self) {
        let Some((rng, left)) = self.wait_edits.as_mut().filter(|(_, left)| *left > 0) else {
            return;
        };
        if !rng.percent(5) {
            return;
        }
        *left -= 1;
        let waits = rng.percent(60);
        let items = self.world.tables.tree(self.world.run);
        let items = items.filter(|item| !waits || item.is_waiting_by_plan());
        let nodes: Vec<Node> = items.map(|item| item.node.clone()).collect();
        if nodes.is_empty() {
            return;
        }
        let node = nodes[rng.below(nodes.len())].clone();
        let until = rng.small(1_000);
        let wait = match rng.below(4) {
            0 => None,
            1 => Some(format!("{until}")),
            2 => Some(SOON.to_owned()),
            _ => Some(format!("{LATE},{until}")),
        };
        let wait = wait.map(|words| a_wait(&words));
        self.world.ok(Command::TakeEdits {
            run: self.world.run,
            token: None,
            file: "PROGRESS.yaml".to_owned(),
            edits: vec![Edit::SetWait { node, wait }],
            word: EditAuthor::File,
        });
    }

    pub(super) fn ask_wait(&mut self, node: Node, wait: Wait) {
        assert!(wait.command.is_some(), "no command can be asked at {node}");
        let took = SignedDuration::from_secs(i64::from(self.rng.small(5)));
        let before = self
            .asked_waits
            .0
            .insert(node, (self.world.now + took, wait));
        assert!(before.is_none(), "two ask at one item");
        assert!(self.asked_waits.0.len() <= ASKED_AT_ONCE);
    }

    pub(super) fn end_asking(&mut self, node: &Node) {
        let asked = self.asked_waits.0.get_mut(node);
        asked.expect("it is asked").0 = self.world.now;
    }

    /// A command that was asked answers.
    pub(super) fn answers_wait(&mut self, node: Node) -> Input {
        let (_, wait) = self.asked_waits.0.remove(&node).expect("it is asked");
        let item: &ItemRow = self.world.item(node.as_str());
        let since = self.world.now.as_second() - 1_000_000;
        let soon = i64::try_from(self.script.number("soon", &node, 0)).expect("below 100");
        let yes = match wait.command.as_deref() {
            Some(LATE) => item.work.waited == Some(WaitProgress::AskedOn),
            _ => since > soon * 10,
        };
        let answer = match yes {
            true => WaitAnswer::Yes,
            false => WaitAnswer::No {
                printed: Some("not yet".to_owned()),
            },
        };
        Input::WaitAnswered { node, answer }
    }
}
