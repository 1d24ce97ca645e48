//! What a command leads to, or why not: all rules live here.

use crate::command::{Command, Facts};
use crate::event::{Event, ItemPlanned, RunPlanned};
use crate::journal::Draft;
use crate::needs::Rows;
use crate::plan::Plan;
use crate::refusal::Refusal;

/// What `command` leads to.
///
/// # Errors
///
/// A [`Refusal`] when the command does not fit the state; nothing is stored then.
pub fn decide(rows: &Rows, command: &Command, _facts: &Facts) -> Result<Vec<Draft>, Refusal> {
    let events = match command {
        Command::PlanRun(plan) => plan_run(rows, plan)?,
        Command::LogEntry(entry) => vec![Event::EntryLogged(entry.clone())],
        _ => Vec::new(),
    };
    Ok(events.into_iter().map(|event| Draft { stream: command.stream(), event }).collect())
}

fn plan_run(rows: &Rows, plan: &Plan) -> Result<Vec<Event>, Refusal> {
    if rows.tables.runs().any(|run| run.name == plan.name) {
        return Err(Refusal::NameTaken(plan.name.clone()));
    }
    let run = RunPlanned {
        run: plan.run,
        name: plan.name.clone(),
        face: plan.face.clone(),
        source: plan.source.clone(),
        policy: plan.policy.clone(),
        native: plan.native.clone(),
        past: plan.past.clone(),
    };
    let items = plan.items.iter().map(|item| Event::ItemPlanned(Box::new(ItemPlanned { run: plan.run, item: item.clone() })));
    Ok(std::iter::once(Event::RunPlanned(Box::new(run))).chain(items).collect())
}
