//! Two loops as they are commonly written, over the same rows: one goes by the
//! exit status of the agent, one by a word that the agent promises to print.
//!
//! Both read from the plan's file what is left to do, start the agent for the
//! first of it, and mark it there when the rule is met.

use super::case::Row;
use super::plan;
use super::process::{Ended, run};
use super::scene::Scene;
use crate::Result;

/// Agents that one loop starts at most.
const ITERATIONS_MAX: usize = 9;
/// How often a loop tries the same item.
const TRIES_MAX: usize = 2;
/// Words by which agents promise that they are done.
const PROMISES: [&str; 2] = ["COMPLETE", "\"completed\""];

/// When a loop holds an item for done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopRule {
    /// The agent ended with 0.
    ExitStatus,
    /// The agent printed a promise.
    PromiseWord,
}

impl LoopRule {
    /// The words in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExitStatus => "exit status",
            Self::PromiseWord => "promise word",
        }
    }

    fn is_met(self, ended: &Ended) -> bool {
        match self {
            Self::ExitStatus => ended.is_success(),
            Self::PromiseWord => PROMISES.iter().any(|word| ended.output.contains(word)),
        }
    }
}

/// The items that are marked as done when the loop ends.
///
/// # Errors
///
/// When the agent cannot be started, or the plan's file cannot be written.
pub fn done_items(row: &Row, scene: &Scene, rule: LoopRule) -> Result<Vec<String>> {
    if let Some(file) = plan::progress(row) {
        scene.write(file.path, &file.text)?;
    }
    let file = plan::marked_file(row.kind);
    let mut tries: Vec<String> = Vec::new();
    for _ in 0..ITERATIONS_MAX {
        let marks = plan::marks(row.kind, &scene.read(file)?.unwrap_or_default());
        let is_left = |id: &str| tries.iter().filter(|tried| *tried == id).count() < TRIES_MAX;
        let next = marks
            .into_iter()
            .find(|item| !item.is_marked && is_left(&item.id));
        let Some(item) = next else { break };
        let ended = start_agent(scene, &item.id)?;
        if rule.is_met(&ended) {
            let text = scene.read(file)?.unwrap_or_default();
            scene.write(file, &plan::with_mark(row.kind, &text, &item.id))?;
        }
        tries.push(item.id);
    }
    let marks = plan::marks(row.kind, &scene.read(file)?.unwrap_or_default());
    Ok(marks
        .into_iter()
        .filter(|item| item.is_marked)
        .map(|item| item.id)
        .collect())
}

fn start_agent(scene: &Scene, item: &str) -> Result<Ended> {
    let mut command = scene.command("sh");
    command.arg(scene.agent_file()).env("LIES_ITEM", item);
    let prompt = format!("Do the part {item}. Print COMPLETE when it is done.\n");
    run(&mut command, Some(&prompt), &scene.root.join("loop.log"))
}
