//! What `piton run` makes of a row, read from `piton status --json`.

use std::process::Command;

use serde_json::Value;

use super::case::{Level, Row};
use super::plan;
use super::process::run;
use super::rules::{Rule, SWITCH};
use super::scene::Scene;
use crate::Result;

/// Agents that one run may start: enough for three items and their checks.
const ITERATIONS_MAX: &str = "9";
/// A run that waits longer is one that still waits.
const TIME_BOX: &str = "20s";
/// The exit status of a run that waits for a person.
const WAITS_FOR_PERSON: i32 = 3;
/// Decisions that piton asks for when an item has failed for good: the work is
/// refused, and the question is what to do about that.
const AFTER_FAILURE: &str = "blocked-node";

/// What piton holds of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemStatus {
    /// Its id.
    pub id: String,
    /// Its state, in piton's word.
    pub state: String,
    /// Why it is done, where piton gives a level.
    pub level: Option<Level>,
}

/// What piton concluded of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanStatus {
    /// How `piton run` ended.
    pub exit: Option<i32>,
    /// Every item that it has, in its order.
    pub items: Vec<ItemStatus>,
    /// Whether a person is asked anything but what to do about a failure.
    pub is_asking: bool,
}

/// Runs the plan of `row` in `scene`, without the rule `without`.
///
/// # Errors
///
/// When piton cannot be started.
pub fn run_plan(row: &Row, scene: &Scene, without: Option<Rule>) -> Result<PlanStatus> {
    let argument = plan::argument(row.kind);
    let agent = scene.agent_argument(row.case.program);
    let mut command = piton(scene, without);
    command.args(["run", argument, "--agent", &agent, "--trust"]);
    command.args(["--max-iterations", ITERATIONS_MAX, "--time-box", TIME_BOX]);
    let ended = run(&mut command, None, &scene.root.join("run.log"))?;
    let mut command = piton(scene, without);
    command.args(["status", "--json"]);
    let status = run(&mut command, None, &scene.root.join("status.json"))?;
    Ok(PlanStatus {
        exit: ended.exit,
        ..parse_status(&status.output, ended.exit)
    })
}

fn piton(scene: &Scene, without: Option<Rule>) -> Command {
    let program = scene.root.join("bin/piton");
    let mut command = scene.command(&program.to_string_lossy());
    if let Some(rule) = without {
        command.env(SWITCH, rule.as_str());
    }
    command
}

/// Reads what `piton status --json` printed after a run that ended with `exit`.
/// What is absent there is absent here: a run that never began has no items.
#[must_use]
pub fn parse_status(text: &str, exit: Option<i32>) -> PlanStatus {
    let status: Value = serde_json::from_str(text).unwrap_or_default();
    let run = &status["run"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let items = list(&run["nodes"]).iter().filter_map(item).collect();
    let decisions = list(&run["decisions"]);
    let is_asking = decisions
        .iter()
        .any(|decision| decision["kind"] != AFTER_FAILURE);
    PlanStatus {
        exit,
        items,
        is_asking: is_asking || exit == Some(WAITS_FOR_PERSON),
    }
}

fn item(node: &Value) -> Option<ItemStatus> {
    Some(ItemStatus {
        id: node["node"].as_str()?.to_owned(),
        state: node["state"].as_str().unwrap_or_default().to_owned(),
        level: node["evidence"]["level"].as_str().and_then(Level::parse),
    })
}
