//! `piton inbox` and `piton decide`: everything that waits for a person.

use piton_core::{Command, DecisionId, DecisionKind, DecisionRow, Need, RunId, Verb};
use serde::Serialize;

use super::control::{Outcome, outcome};
use crate::failure::Failure;
use crate::session::{Session, no_runs};
use crate::world::World;

/// A question that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub struct Open {
    /// What to type for it.
    pub id: String,
    /// What is to be decided.
    pub kind: DecisionKind,
    /// The run that waits.
    pub run: String,
    /// The node that it is about, unless it is about a file.
    pub node: Option<String>,
    /// The native file that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The question.
    pub question: String,
    /// More, if there is more.
    pub details: Option<String>,
    /// Since when.
    pub since: jiff::Timestamp,
    /// What may be said.
    pub verbs: Vec<Verb>,
}

/// Everything that waits for a person, the oldest first.
///
/// # Errors
///
/// When there is a store that cannot be read.
pub fn inbox(world: &World) -> Result<Vec<Open>, Failure> {
    let Some(session) = Session::read(world, &world.cwd)? else {
        return Ok(Vec::new());
    };
    let rows = session.load(&[Need::OpenDecisions(None), Need::Runs])?;
    let name = |run| {
        rows.tables
            .run(run)
            .map_or_else(String::new, |row| row.name.clone())
    };
    let open = rows.tables.decisions().filter(|row| row.verdict.is_none());
    Ok(open
        .map(|row| Open {
            id: format!("d{}", row.number),
            kind: row.kind,
            run: name(row.run),
            node: row.node.as_ref().map(ToString::to_string),
            file: row.file.clone(),
            question: row.question.clone(),
            details: row.details.clone(),
            since: row.opened_at,
            verbs: row.kind.verbs().to_vec(),
        })
        .collect())
}

/// Decides what is open. `id` is `d7`, `7`, or the whole id.
///
/// # Errors
///
/// When there is no such question, it is decided already, or the verb does not fit.
pub fn decide(
    world: &World,
    id: &str,
    verb: Verb,
    why: Option<String>,
) -> Result<Outcome, Failure> {
    let unknown = || {
        Failure::new("decision.unknown", format!("there is no decision `{id}`"))
            .hint("see what is open with `piton inbox`")
    };
    let session = Session::write(world, &world.cwd)?.ok_or_else(unknown)?;
    let number: Option<u64> = id.strip_prefix('d').unwrap_or(id).parse().ok();
    let whole: Option<DecisionId> = id.parse().ok();
    let need = match (number, whole) {
        (Some(number), _) => Need::DecisionNumbered(number),
        (None, Some(id)) => Need::Decision(id),
        (None, None) => return Err(unknown()),
    };
    let rows = session.load(std::slice::from_ref(&need))?;
    let fits = |row: &&DecisionRow| Some(row.number) == number || Some(row.id) == whole;
    let row = rows
        .tables
        .decisions()
        .find(fits)
        .cloned()
        .ok_or_else(unknown)?;
    if row.file.is_some() {
        crate::faces::decide(&session, &row, verb)?;
        // Keeping the file may have settled it.
        if session
            .load(&[need])?
            .tables
            .decision(row.id)
            .is_some_and(|row| row.verdict.is_some())
        {
            return decided(&session, row.run);
        }
    }
    session.tell(&Command::Decide {
        decision: row.id,
        run: row.run,
        verb,
        why,
    })?;
    decided(&session, row.run)
}

fn decided(session: &Session<'_>, run: RunId) -> Result<Outcome, Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    let row = rows.tables.run(run).cloned().ok_or_else(no_runs)?;
    outcome(session, &row)
}
