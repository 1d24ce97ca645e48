//! Which blocker a caller means by what it typed.

use piton_core::entry::BlockerRow;
use piton_core::{Need, Refusal};
use serde::Serialize;

use crate::failure::Failure;
use crate::session::Session;

/// A blocked task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockedTask {
    /// Its spec.
    pub spec: Option<String>,
    /// The task.
    pub task_id: Option<String>,
}

impl BlockedTask {
    fn of_row(row: &BlockerRow) -> Self {
        Self {
            spec: row.spec.clone(),
            task_id: row.task_id.clone(),
        }
    }
}

impl std::fmt::Display for BlockedTask {
    /// As it is typed: `SPEC:TASK`, or one of the two.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.spec, &self.task_id) {
            (Some(spec), Some(task)) => write!(f, "{spec}:{task}"),
            (Some(one), None) | (None, Some(one)) => f.write_str(one),
            (None, None) => f.write_str("a task without a name"),
        }
    }
}

/// The blocker that `text` names: a task, `SPEC:TASK`, the name of an entry
/// that says so, or a decision such as `d3` about the task's node.
pub(super) fn find_blocker(session: &Session<'_>, text: &str) -> Result<BlockedTask, Failure> {
    let text = text.trim();
    let rows = session.load(&[Need::Blockers])?;
    let blockers: Vec<&BlockerRow> = rows.tables.blockers().collect();
    let named = |fits: &dyn Fn(&BlockerRow) -> bool| -> Vec<BlockedTask> {
        let fitting = blockers.iter().filter(|row| fits(row));
        fitting.map(|row| BlockedTask::of_row(row)).collect()
    };
    let mut found = named(&|row| row.task_id.as_deref() == Some(text));
    if found.is_empty() {
        found = named(&|row| BlockedTask::of_row(row).to_string() == text);
    }
    if found.is_empty() {
        let of = |row: &BlockerRow| {
            let mut names = row.entries.iter().map(|entry| entry.entry.name.as_deref());
            names.any(|name| name == Some(text))
        };
        found = named(&of);
    }
    if found.is_empty()
        && let Some((spec, task)) = task_of_decision(session, text)?
    {
        found = named(&|row| row.spec == spec && row.task_id.as_ref() == Some(&task));
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Refusal::NotBlocked(text.to_owned()).into()),
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(Failure::new(
                "usage",
                format!("more than one spec has a blocked task `{text}`"),
            )
            .with_hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// The spec and the task that the decision of that number is about.
fn task_of_decision(
    session: &Session<'_>,
    text: &str,
) -> Result<Option<(Option<String>, String)>, Failure> {
    let number = text.strip_prefix('d').and_then(|text| text.parse().ok());
    let Some(number) = number else {
        return Ok(None);
    };
    let rows = session.load(&[Need::DecisionNumbered(number), Need::Runs])?;
    let mut decisions = rows.tables.decisions();
    let Some(row) = decisions.find(|row| row.number == number) else {
        return Ok(None);
    };
    let spec = rows.tables.run(row.run).map(|run| run.name.clone());
    let spec = spec.filter(|_| row.run != piton_core::RunId::PROJECT);
    let node = row.node.as_ref();
    Ok(node.map(|node| (spec, node.as_str().to_owned())))
}
