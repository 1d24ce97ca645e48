//! `piton recover`: what to do after an attempt that did not complete.

use piton_core::attempt::{Outcome, Report};
use piton_core::recover::Recovery;
use piton_core::{AttemptId, AttemptRow, Need};
use serde::Serialize;
use uuid::Uuid;

use super::record::item::asked_about;
use crate::failure::Failure;
use crate::recovering::{EndedAttempt, recover as recover_attempt};
use crate::session::Session;
use crate::world::World;

/// What to do, and about what.
#[derive(Clone, Debug, Serialize)]
pub struct Recovered {
    /// The item.
    pub item: String,
    /// What to do, what that rests on, and what was considered before.
    #[serde(flatten)]
    pub recovery: Recovery,
}

/// What to do after the last attempt at an item, or after a failure that is
/// told in `failure`. Changes nothing.
///
/// # Errors
///
/// When nothing failed that is known, or there is a store that cannot be read.
pub fn recover(world: &World, item: &str, failure: Option<&str>) -> Result<Recovered, Failure> {
    let nothing = || {
        Failure::new(
            "usage",
            format!("nothing is known to have failed at `{item}`"),
        )
        .hint(format!(
            "say what failed: `piton recover {item} --failure FILE`, or `-` for stdin"
        ))
    };
    let failure = failure.map(str::trim).filter(|text| !text.is_empty());
    let Some(session) = Session::read(world, &world.cwd)? else {
        return Err(Failure::new("store.missing", "nothing is recorded here")
            .hint("`piton init`, `piton record` or `piton run PLAN` begins a journal"));
    };
    let meant = asked_about(&session, item)?;
    let rows = session.load(&[Need::AttemptsAt(meant.run, meant.node.clone())])?;
    let over = rows.tables.attempts().filter(|row| row.report.is_some());
    let last = over.max_by_key(|row| row.number).filter(|row| failed(row));
    let told = last.map(|row| (row.id, row.report.clone()));
    let (attempt, report) = told.unwrap_or((AttemptId(Uuid::nil()), None));
    let report = match (report, failure) {
        (None, None) => return Err(nothing()),
        (Some(report), None) => report,
        (report, Some(text)) => Report {
            error: Some(text.to_owned()),
            ..report.unwrap_or_else(|| Report::bare(Outcome::Failed))
        },
    };
    let ended = EndedAttempt {
        run: meant.run,
        node: &meant.node,
        attempt,
        report: &report,
        output: failure.unwrap_or_default(),
    };
    Ok(Recovered {
        item: meant.node.as_str().to_owned(),
        recovery: recover_attempt(&session, &ended, world.now())?,
    })
}

fn failed(row: &AttemptRow) -> bool {
    let outcome = row.report.as_ref().map(|report| report.outcome);
    matches!(
        outcome,
        Some(Outcome::Failed | Outcome::Blocked | Outcome::Partial)
    )
}
