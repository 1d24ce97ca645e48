//! `piton recover`: what to do after an attempt that did not complete.

use std::borrow::Cow;

use piton_core::attempt::{Outcome, RecoveryAction, Report};
use piton_core::classify::FailureCategory;
use piton_core::recover::Recovery;
use piton_core::{AttemptId, AttemptRow, ItemRow, ItemState, Need, Role};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::record::item::resolve_recorded_item;
use super::record::unknown_item::resolve_known_item;
use crate::failure::Failure;
use crate::memory::preparation::unconfirmed_policy;
use crate::memory::recovery::{IncompleteAttempt, plan_recovery as recover_attempt};
use crate::session::Session;
use crate::world::World;

/// What to do, and about what.
#[derive(Clone, Debug)]
pub struct ItemRecovery {
    /// The item.
    pub item: String,
    /// What to do, what that rests on, and what was considered before.
    pub recovery: Recovery,
}

impl Serialize for ItemRecovery {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Stored without its empty lists, answered with them.
        let recovery = &self.recovery;
        let mut fields = serializer.serialize_struct("ItemRecovery", 6)?;
        fields.serialize_field("item", &self.item)?;
        fields.serialize_field("action", &recovery.action)?;
        fields.serialize_field("rule", &recovery.rule)?;
        fields.serialize_field("guidance", &recovery.guidance)?;
        fields.serialize_field("evidence", &recovery.evidence)?;
        fields.serialize_field("rejected", &recovery.rejected)?;
        fields.end()
    }
}

crate::name_schema!(ItemRecovery, "piton.recover/1");

/// What to do after the last attempt to do an item, after what stopped the item
/// otherwise, as a gate that did not pass, or after a failure that is told in
/// `failure`. Changes nothing.
///
/// # Errors
///
/// When the item is unknown, nothing failed that is known, or there is a store that
/// cannot be read.
pub fn recover(world: &World, item: &str, failure: Option<&str>) -> Result<ItemRecovery, Failure> {
    let nothing = || {
        Failure::new(
            "usage",
            format!("nothing is known to have failed at `{item}`"),
        )
        .with_hint(format!(
            "say what failed: `piton recover {item} --failure FILE`, or `-` for stdin"
        ))
    };
    let failure = failure.map(str::trim).filter(|text| !text.is_empty());
    let Some(mut session) = Session::open_read_only(world, &world.cwd)? else {
        return Err(Failure::new("store.missing", "nothing is recorded here")
            .with_hint("`piton init`, `piton record` or `piton run PLAN` begins a journal"));
    };
    // A failure that is told may be of work that piton did not start.
    let meant = match failure {
        Some(_) => resolve_recorded_item(&session, item)?,
        None => resolve_known_item(&session, item)?,
    };
    let rows = session.load(&[
        Need::Run(meant.run),
        Need::AttemptsAt(meant.run, meant.node.clone()),
        Need::Line(meant.run, meant.node.clone()),
    ])?;
    if let Some(row) = rows.tables.run(meant.run) {
        session.project = session.project.with_run_worktree(row);
    }
    let item_row = rows.tables.item(meant.run, &meant.node);
    let attempts: Vec<&AttemptRow> = rows.tables.attempts().collect();
    let known = find_last_failure(item_row, &attempts);
    let (attempt, report, output) = match (known, failure) {
        (None, None) => return Err(nothing()),
        (Some(known), None) => (known.attempt, known.report, known.output),
        (known, Some(text)) => {
            let (attempt, report) = match known {
                Some(known) => (known.attempt, known.report),
                None => (
                    AttemptId(Uuid::nil()),
                    Report::with_outcome(Outcome::Failed),
                ),
            };
            let error = Some(text.to_owned());
            (attempt, Report { error, ..report }, Cow::Borrowed(text))
        }
    };
    let ended = IncompleteAttempt {
        run: meant.run,
        node: &meant.node,
        attempt,
        report: &report,
        output: &output,
        unconfirmed: unconfirmed_policy(&session)?,
    };
    let work_tree = &*session.project.work_tree;
    Ok(ItemRecovery {
        item: meant.node.as_str().to_owned(),
        recovery: recover_attempt(&session, &ended, work_tree, world.now())?,
    })
}

/// A failure that is recorded.
struct KnownFailure<'r> {
    /// The attempt to do the item that it counts as.
    attempt: AttemptId,
    report: Report,
    output: Cow<'r, str>,
}

/// What failed last at an item: the last attempt to do it or, where that did
/// what it was to, what stopped the item afterwards.
fn find_last_failure<'r>(
    item: Option<&'r ItemRow>,
    attempts: &[&AttemptRow],
) -> Option<KnownFailure<'r>> {
    let over = attempts.iter().filter(|row| row.report.is_some());
    let last = over.clone().max_by_key(|row| row.number);
    let worker = over
        .filter(|row| row.role == Role::Worker)
        .max_by_key(|row| row.number);
    let stopped = item.filter(|item| {
        let state = item.state;
        matches!(
            state,
            ItemState::Failed | ItemState::Blocked | ItemState::Waiting
        )
    });
    let error = stopped.and_then(|item| item.error.clone());
    let attempt = worker.map_or(AttemptId(Uuid::nil()), |row| row.id);
    let report = worker.and_then(|row| row.report.clone());
    let gate = stopped.and_then(|item| item.proof.gate_runs.as_ref());
    let gate = gate.filter(|runs| !runs.passed);
    // What a check printed says more than that it failed.
    let own = report.clone().filter(has_failed).filter(|_| gate.is_none());
    if let Some(mut report) = own {
        if last.is_some_and(|row| row.role == Role::Split) {
            // The split named no pieces: splitting is no way any more.
            let context = report.context.get_or_insert_default();
            context.recovery_action = Some(RecoveryAction::BreakChunks);
            report.error = error.or(report.error);
        }
        return Some(KnownFailure {
            attempt,
            report,
            output: Cow::Borrowed(""),
        });
    }
    Some(KnownFailure {
        attempt,
        report: Report {
            error: Some(error?),
            category: gate.map(|_| FailureCategory::Validation),
            context: report.and_then(|report| report.context),
            ..Report::with_outcome(Outcome::Failed)
        },
        output: Cow::Borrowed(gate.map_or("", |runs| &runs.output)),
    })
}

fn has_failed(report: &Report) -> bool {
    matches!(
        report.outcome,
        Outcome::Failed | Outcome::Blocked | Outcome::Partial
    )
}
