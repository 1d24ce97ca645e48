//! The row of an attempt.

use jiff::SignedDuration;

use crate::attempt::{AttemptRow, Outcome, ProgramReport, Report, ReportedAttempt, Role};
use crate::classify::FailureCategory;
use crate::event::{AttemptEvent, Event};
use crate::journal::EventStamp;
use crate::row::Row;

pub(super) fn attempt_row(
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<AttemptRow> {
    if let Event::Attempt(AttemptEvent::Started {
        attempt,
        run,
        node,
        fence: _,
        number,
        role,
        agent,
        model,
        iteration,
        name,
        memories,
        tree,
        baseline: _,
        hook: _,
    }) = event
    {
        return Some(AttemptRow {
            id: *attempt,
            run: *run,
            node: node.clone(),
            number: *number,
            role: *role,
            agent: agent.clone(),
            model: model.clone(),
            iteration: *iteration,
            started_at: stamp.time,
            ended_at: None,
            report: None,
            name: name.clone(),
            item: None,
            native: None,
            memories: memories.clone(),
            answer: None,
            tree: tree.clone(),
            unchecked: None,
            checkout: stamp.checkout.clone(),
        });
    }
    if let Event::Attempt(AttemptEvent::Reported(told)) = event {
        return Some(row_of_reported_attempt(told, stamp));
    }
    let Some(Row::Attempt(row)) = before else {
        return None;
    };
    if let Event::Attempt(AttemptEvent::Revised(told)) = event {
        return Some(revise_attempt_row(*row, told, stamp));
    }
    let mut row = *row;
    if let Event::Attempt(AttemptEvent::Ended {
        report, unchecked, ..
    }) = event
    {
        row.ended_at = Some(stamp.time);
        row.checkout.clone_from(&stamp.checkout);
        if *unchecked {
            row.unchecked = Some(report.clone());
        } else {
            row.report = Some((**report).clone());
        }
        // It is in the report now.
        row.answer = None;
    }
    if let Event::Attempt(AttemptEvent::Judged { outcome, error, .. }) = event
        && let Some(report) = row.unchecked.take()
    {
        row.report = Some(judged_report(*report, *outcome, error.as_deref()));
    }
    if let Event::Attempt(AttemptEvent::Answered { answer, .. }) = event {
        row.answer = Some(answer.clone());
    }
    Some(row)
}

/// What an attempt came to whose outcome waited for its check.
fn judged_report(report: Report, outcome: Outcome, error: Option<&str>) -> Report {
    let is_failure = outcome != Outcome::Completed;
    // A check that passed says what the agent did not.
    let trouble = report
        .program
        .trouble
        .filter(|_| is_failure || !report.is_missing_verdict());
    Report {
        outcome,
        error: error.map(str::to_owned),
        category: is_failure.then_some(FailureCategory::Validation),
        program: ProgramReport {
            trouble,
            ..report.program
        },
        ..report
    }
}

/// No file says what an attempt used, so none can take it back: it was counted
/// when the attempt ended, and holds.
fn revise_attempt_row(row: AttemptRow, told: &ReportedAttempt, stamp: &EventStamp) -> AttemptRow {
    let mut revised = AttemptRow {
        role: row.role,
        model: row.model,
        iteration: row.iteration,
        ..row_of_reported_attempt(told, stamp)
    };
    if let (Some(now), Some(before)) = (&mut revised.report, row.report) {
        now.program.usage = before.program.usage;
        now.program.models = before.program.models;
        now.program.cannot_start = before.program.cannot_start;
    }
    revised
}

fn row_of_reported_attempt(told: &ReportedAttempt, stamp: &EventStamp) -> AttemptRow {
    let ended_at = told.ended_at.unwrap_or(stamp.time);
    let took = told
        .report
        .program
        .duration_s
        .and_then(|s| i64::try_from(s).ok());
    let started_at = took
        .and_then(|s| ended_at.checked_sub(SignedDuration::from_secs(s)).ok())
        .unwrap_or(ended_at);
    AttemptRow {
        id: told.attempt,
        run: told.run,
        node: told.node.clone(),
        number: told.number.unwrap_or(1),
        role: Role::Worker,
        agent: told.agent.clone(),
        model: None,
        iteration: 0,
        started_at,
        ended_at: Some(ended_at),
        report: Some((*told.report).clone()),
        name: told.name.clone(),
        item: Some(told.item.clone()),
        native: told.native.clone(),
        memories: Vec::new(),
        answer: None,
        tree: None,
        unchecked: None,
        checkout: stamp.checkout.clone(),
    }
}
