//! What the command of `[notify]` is handed: one thing, as JSON.

use jiff::Timestamp;
use piton_core::notification::{
    DueNotification, EndedInvocation, NotificationKind, NotificationSubject,
};
use piton_core::run::Pause;
use piton_core::{DecisionRow, Need, RunId, RunRow, RunState};
use serde::Serialize;

use crate::failure::{Failure, failure_of_run_state};
use crate::runner::run_standing::{RunStanding, exit_of_run, next_command};
use crate::session::Session;
use crate::verbs::open_questions::{OpenQuestion, open_file_questions, view_of_decision};

/// The version of the form; it grows when a field goes or means something else.
const SCHEMA: u32 = 1;

/// One thing that a person should know.
#[derive(Debug, Serialize)]
pub(super) struct NotificationMessage {
    schema: u32,
    /// The same however often it is sent.
    id: String,
    kind: NotificationKind,
    /// It was sent before, perhaps: the process that sent it died meanwhile.
    again: bool,
    at: Timestamp,
    /// The folder of the project.
    project: String,
    /// All of it in one line.
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<MessageRun>,
    /// The item that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<String>,
    /// As in `piton inbox --json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<Box<OpenQuestion>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<MessageEnd>,
    /// What may be typed for it.
    #[serde(rename = "type")]
    typed: Vec<String>,
}

#[derive(Debug, Serialize)]
struct MessageRun {
    name: String,
    id: RunId,
    plan: String,
}

/// The end of an invocation.
#[derive(Debug, Serialize)]
struct MessageEnd {
    invocation: u32,
    state: RunState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause: Option<Pause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What such an invocation exits with.
    exit: u8,
}

impl NotificationMessage {
    /// What is due, as the store knows it.
    pub(super) fn from_due(session: &Session<'_>, due: &DueNotification) -> Result<Self, Failure> {
        let bare = Self {
            schema: SCHEMA,
            id: due.subject.id(),
            kind: due.kind,
            again: due.again,
            at: due.since,
            project: session.project.root.to_string_lossy().into_owned(),
            text: String::new(),
            run: None,
            item: None,
            question: None,
            end: None,
            typed: Vec::new(),
        };
        let runs = session.runs()?;
        let run_of = |id: RunId| runs.iter().find(|run| run.id == id);
        match &due.subject {
            NotificationSubject::Decision { id, .. } => {
                let rows = session.load(&[Need::Decision(*id)])?;
                let Some(row) = rows.tables.decision(*id) else {
                    return Ok(bare);
                };
                let open = view_of_decision(session, &runs, row)?;
                Ok(bare.with_question(run_of(row.run), open))
            }
            NotificationSubject::Invocation { run, number } => {
                let Some(row) = run_of(*run) else {
                    return Ok(bare);
                };
                let mut ended = row.notifications.iter().flat_map(|known| &known.ended);
                let end = ended.find(|end| end.number == *number);
                Ok(match end {
                    Some(end) => bare.with_end(row, end, &open_file_questions(session, row)?),
                    None => bare,
                })
            }
        }
    }

    fn with_question(self, run: Option<&RunRow>, open: OpenQuestion) -> Self {
        let at = match (run, &open.node) {
            (Some(run), Some(node)) => format!(" ({} at {node})", run.name),
            (Some(run), None) => format!(" ({})", run.name),
            (None, _) => String::new(),
        };
        let verbs = open.verbs.iter();
        Self {
            text: format!("{}: {}{at}", open.id, open.question),
            run: run.map(MessageRun::from_row),
            item: open.node.clone(),
            typed: verbs.map(|verb| open.decide_command(*verb)).collect(),
            question: Some(Box::new(open)),
            ..self
        }
    }

    fn with_end(self, run: &RunRow, end: &EndedInvocation, asked: &[DecisionRow]) -> Self {
        // The run as it was left: it may be at work again.
        let left = RunRow {
            state: end.state,
            pause: end.pause.clone(),
            at: end.at.clone(),
            reason: end.reason.clone(),
            ..run.clone()
        };
        let standing = RunStanding {
            state: end.state,
            is_live: false,
            asked: None,
        };
        let why = end.reason.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        Self {
            text: format!("{}{why}", failure_of_run_state(&left, end.state).message),
            run: Some(MessageRun::from_row(run)),
            item: end.at.as_ref().map(|node| node.as_str().to_owned()),
            typed: next_command(&left, &standing).into_iter().collect(),
            end: Some(MessageEnd {
                invocation: end.number,
                state: end.state,
                pause: end.pause.clone(),
                reason: end.reason.clone(),
                exit: exit_of_run(&left, asked).code(),
            }),
            ..self
        }
    }

    pub(super) fn to_json(&self) -> String {
        let text = serde_json::to_string(self).expect("it has no map whose keys are no text");
        text + "\n"
    }
}

impl MessageRun {
    fn from_row(row: &RunRow) -> Self {
        Self {
            name: row.name.clone(),
            id: row.id,
            plan: row.plan.source.clone(),
        }
    }
}
