//! The row of a question that a person is asked.

use crate::decision::{DecisionRow, DecisionVerdict};
use crate::event::{DecisionEvent, Event, NotificationEvent};
use crate::journal::EventStamp;
use crate::notification::NotificationStage;
use crate::request::Deferral;
use crate::row::Row;

pub(super) fn decision_row(
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<DecisionRow> {
    if let Event::Decision(DecisionEvent::Opened {
        decision,
        number,
        decision_kind,
        run,
        node,
        file,
        memory,
        memories,
        question,
        details,
        ways,
        edits,
        request,
    }) = event
    {
        return Some(DecisionRow {
            memory: memory.clone(),
            memories: memories.clone(),
            id: *decision,
            number: *number,
            kind: *decision_kind,
            run: *run,
            node: node.clone(),
            file: file.clone(),
            question: question.clone(),
            details: details.clone(),
            ways: ways.clone(),
            edits: edits.clone(),
            request: request.clone(),
            deferred: None,
            opened_at: stamp.time,
            notification: None,
            verdict: None,
        });
    }
    let Some(Row::Decision(row)) = before else {
        return None;
    };
    let mut row = *row;
    if let Event::Decision(DecisionEvent::Revised {
        question,
        details,
        edits,
        ..
    }) = event
    {
        row.question.clone_from(question);
        row.details.clone_from(details);
        row.edits.clone_from(edits);
        row.deferred = None;
    }
    if let Event::Decision(DecisionEvent::Deferred {
        until, phase, why, ..
    }) = event
    {
        row.deferred = Some(Box::new(Deferral {
            until: *until,
            phase: phase.clone(),
            why: why.clone(),
            by: stamp.actor.to_string(),
            at: stamp.time,
        }));
    }
    if let Event::Notification(NotificationEvent::Started { .. }) = event {
        row.notification = Some(NotificationStage::Started);
    }
    if let Event::Notification(NotificationEvent::Ended { .. }) = event {
        row.notification = Some(NotificationStage::Ended);
    }
    if let Event::Decision(DecisionEvent::Made {
        verb, why, answer, ..
    }) = event
    {
        row.deferred = None;
        row.verdict = Some(DecisionVerdict {
            verb: *verb,
            why: why.clone(),
            answer: answer.clone(),
            by: stamp.actor.to_string(),
            at: stamp.time,
        });
    }
    Some(row)
}
