//! `piton inbox` and `piton decide`: everything that waits for a person.

use piton_core::{Command, DecisionId, DecisionKind, DecisionRow, Need, Refusal, RunId, Verb};
use serde::Serialize;

use super::control::{Outcome, outcome};
use super::{Told, follow_faces};
use crate::faces;
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

/// What a decision came to.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Decided {
    /// How the run stands that it was about.
    Run(Outcome),
    /// What was decided about a file of the project.
    File {
        /// What to type for the decision.
        id: String,
        /// The file, relative to the project.
        file: String,
        /// What was said.
        verb: Verb,
    },
}

/// Decides what is open. `id` is `d7`, `7`, or the whole id.
///
/// # Errors
///
/// When there is no such question, it is decided already, the verb does not
/// fit, or what was decided cannot be done to the file. Nothing is settled then.
pub fn decide(
    world: &World,
    id: &str,
    verb: Verb,
    why: Option<String>,
    told: &mut Told<'_>,
) -> Result<Decided, Failure> {
    let (session, row) = open_decision(world, id)?;
    if row.file.is_some() {
        // What the store would refuse must not have changed the file before.
        may_be_decided(&row, verb)?;
        faces::decide(&session, &row, verb)?;
    }
    // Keeping the file may have settled it.
    if !is_decided(&session, &row)? {
        session.tell(&Command::Decide {
            decision: row.id,
            run: row.run,
            verb,
            why,
        })?;
    }
    follow_faces(&session, told);
    if let Some(file) = row.file.filter(|_| row.run == RunId::PROJECT) {
        return Ok(Decided::File {
            id: format!("d{}", row.number),
            file,
            verb,
        });
    }
    let run = session
        .load(&[Need::Run(row.run)])?
        .tables
        .run(row.run)
        .cloned()
        .ok_or_else(no_runs)?;
    outcome(&session, &run).map(Decided::Run)
}

/// Whether what was open when it was asked for is settled by now. A file is;
/// of anything else the store says so itself.
fn is_decided(session: &Session<'_>, row: &DecisionRow) -> Result<bool, Failure> {
    if row.file.is_none() {
        return Ok(false);
    }
    let rows = session.load(&[Need::Decision(row.id)])?;
    let row = rows.tables.decision(row.id);
    Ok(row.is_some_and(|row| row.verdict.is_some()))
}

/// The decision of that number or id, open or not.
fn open_decision<'w>(world: &'w World, id: &str) -> Result<(Session<'w>, DecisionRow), Failure> {
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
    let row = rows.tables.decisions().find(fits).cloned();
    Ok((session, row.ok_or_else(unknown)?))
}

/// Whether a decision is open and takes this verb.
fn may_be_decided(row: &DecisionRow, verb: Verb) -> Result<(), Refusal> {
    if let Some(verdict) = &row.verdict {
        return Err(Refusal::Decided {
            number: row.number,
            verb: verdict.verb,
        });
    }
    if !row.kind.verbs().contains(&verb) {
        return Err(Refusal::WrongVerb {
            kind: row.kind,
            verb,
        });
    }
    Ok(())
}
