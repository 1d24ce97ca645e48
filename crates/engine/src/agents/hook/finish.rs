//! Whether the item that a session holds is finished, as far as piton can tell.

use jiff::Timestamp;
use piton_core::{AttemptId, ItemState, Need};

use crate::agents::answer;
use crate::failure::Failure;
use crate::session::Session;
use crate::verbs::record::item::resolve_recorded_item;

/// What is missing before a session may stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRecord {
    /// The item, by a name that is its own among all runs.
    pub key: String,
    /// What to tell the agent.
    pub reason: String,
}

/// What is missing of an attempt that `piton run` started: an account of what
/// came of it. None when it gave one, by the tool of piton or in its last words,
/// when its role does not ask for one, or when the attempt is over.
///
/// # Errors
///
/// When the store cannot be read.
pub fn missing_record_of_attempt(
    session: &Session<'_>,
    attempt: AttemptId,
    last_words: &str,
) -> Result<Option<MissingRecord>, Failure> {
    let rows = session.load(&[Need::Attempt(attempt)])?;
    let open = rows.tables.attempt(attempt);
    let open =
        open.filter(|row| row.is_open() && row.answer.is_none() && row.role.is_asked_to_report());
    let Some(row) = open.filter(|_| !answer::has_verdict(last_words)) else {
        return Ok(None);
    };
    Ok(Some(MissingRecord {
        key: format!("{}:{}", row.run, row.node.as_str()),
        reason: format!(
            "piton: nothing says yet what came of `{}`. Go on until it is done, cannot be done, \
             or needs a person. Then end your last message with one line of JSON: \
             {{\"status\": \"STATUS\", \"summary\": \"what was done\"}}. STATUS is completed, \
             failed (with \"error\"), blocked (with \"error\"), or needs-human (with \
             \"humanNeeded\": \"the question\").",
            row.node
        ),
    }))
}

/// What is missing of an item that a person named: that it is finished, or that
/// an attempt at it was recorded since the session began.
///
/// # Errors
///
/// When the store cannot be read, or the name may mean several items.
pub fn missing_record_of_item(
    session: &Session<'_>,
    item: &str,
    since: Option<Timestamp>,
) -> Result<Option<MissingRecord>, Failure> {
    let meant = resolve_recorded_item(session, item)?;
    let rows = session.load(&[
        Need::Line(meant.run, meant.node.clone()),
        Need::AttemptsAt(meant.run, meant.node.clone()),
    ])?;
    let row = rows.tables.item(meant.run, &meant.node);
    let is_over = row.is_some_and(|row| match row.state {
        ItemState::Done
        | ItemState::Skipped
        | ItemState::Dropped
        | ItemState::Failed
        | ItemState::Blocked => true,
        // An agent of a run works on it: nothing can be recorded now.
        ItemState::Working => row.attempt.is_some(),
        ItemState::Pending | ItemState::Ready | ItemState::Waiting => false,
    });
    let is_since = |ended: Timestamp| since.is_some_and(|since| ended >= since);
    let mut ended = rows.tables.attempts().filter_map(|row| row.ended_at);
    if is_over || ended.any(is_since) {
        return Ok(None);
    }
    let state = row.map_or("not known yet", |row| row.state.as_str());
    let quoted = if item
        .chars()
        .any(|c| c.is_whitespace() || "'\"$`\\".contains(c))
    {
        format!("'{}'", item.replace('\'', "'\\''"))
    } else {
        item.to_owned()
    };
    Ok(Some(MissingRecord {
        key: format!("{}:{}", meant.run, meant.node.as_str()),
        reason: format!(
            "piton: `{item}` is not finished: it is {state}, and nothing was recorded of it in \
             this session. Go on until it is done, cannot be done, or needs a person. Then record \
             what came of it: `piton record {quoted} --summary 'what was done'`; or with \
             `--outcome failed --error 'why'`, `--outcome blocked --error 'why'`, `--outcome \
             partial`, or `--outcome needs-human --notes 'the question'`."
        ),
    }))
}
