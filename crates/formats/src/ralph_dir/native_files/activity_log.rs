//! `activity.log` as a face: when each agent that piton ran began and ended,
//! and what was called, by these agents and in sessions of people.
//!
//! Nothing is taken from it: a trace of calls says nothing that the journal has
//! a word for.

use jiff::Timestamp;
use piton_core::AttemptRow;
use piton_core::call::{AgentCall, AttemptActivity, CallKind};

use super::lines::{append_groups, render_time};
use crate::native_file::{FileContext, RenderError, ShownRow};
use crate::ralph_dir::logs::{Colour, LogItem, LoggedFile, render_activity_line};

const HEAD: &str = "# Activity Log\n\n";

/// The text with a line for the start, for each call that is kept, and for the
/// end of each attempt by an agent that piton ran, and a line for each call in
/// another session. An attempt whose end stands there is not added again.
///
/// # Errors
///
/// Never; a line fits behind any text.
pub fn render_rows(
    text: Option<&str>,
    rows: &[ShownRow<'_>],
    _about: &FileContext<'_>,
) -> Result<String, RenderError> {
    let groups = rows.iter().map(|row| match row {
        ShownRow::Attempt(row) => lines_of_attempt(row),
        ShownRow::Call(call) => line_of_call(call, call.at).into_iter().collect(),
        ShownRow::Entry(_) | ShownRow::Memory(_) => Vec::new(),
    });
    let groups: Vec<Vec<String>> = groups.filter(|lines| !lines.is_empty()).collect();
    Ok(append_groups(text, HEAD, &groups))
}

/// The line of a call; none where it is not known when it was.
fn line_of_call(call: &AgentCall, at: Option<Timestamp>) -> Option<String> {
    let file = || LoggedFile {
        path: call.what.clone(),
        lines: None,
        size: None,
    };
    let item = match call.kind {
        CallKind::Read => LogItem::Read(file()),
        CallKind::Write => LogItem::Write(file()),
        CallKind::Shell => LogItem::Shell {
            command: call.what.clone(),
            // The words have no other way to say that it failed.
            exit: call.exit.or(call.failed.then_some(1)).map(i64::from),
            output_chars: call.bytes,
        },
        CallKind::Agent => LogItem::Other(format!("AGENT {}", call.what)),
        CallKind::Other if call.what.is_empty() => LogItem::Other(format!("TOOL {}", call.tool)),
        CallKind::Other => LogItem::Other(format!("TOOL {}: {}", call.tool, call.what)),
    };
    Some(render_activity_line(
        &render_time(at?),
        Colour::Green,
        &item,
    ))
}

fn lines_of_attempt(row: &AttemptRow) -> Vec<String> {
    // No runner watched an attempt that was only reported: its times are not known.
    if row.iteration == 0 {
        return Vec::new();
    }
    let model = row.model.as_deref().unwrap_or(&row.agent).to_owned();
    let start = LogItem::SessionStart { model };
    let mut lines = vec![render_activity_line(
        &render_time(row.started_at),
        Colour::Green,
        &start,
    )];
    let activity = row.report.as_ref().map(|report| &report.program.activity);
    lines.extend(
        activity
            .into_iter()
            .flat_map(|activity| lines_of_calls(row, activity)),
    );
    if let Some(ended) = row.ended_at {
        let ms = ended.duration_since(row.started_at).as_millis();
        let usage = row.report.as_ref().map(|report| &report.program.usage);
        let tokens = usage.and_then(|usage| match (usage.input_tokens, usage.output_tokens) {
            (None, None) => None,
            (read, written) => Some(
                read.unwrap_or_default()
                    .saturating_add(written.unwrap_or_default()),
            ),
        });
        let end = LogItem::SessionEnd {
            duration_ms: u64::try_from(ms).ok().or(Some(0)),
            tokens,
        };
        lines.push(render_activity_line(
            &render_time(ended),
            Colour::Green,
            &end,
        ));
    }
    lines
}

/// The calls of an attempt that were kept, and in their middle how many were not.
fn lines_of_calls(row: &AttemptRow, activity: &AttemptActivity) -> Vec<String> {
    let line = |call: &AgentCall| line_of_call(call, call.at.or(row.ended_at));
    let (first, last) = activity.kept.split_at(activity.kept.len() / 2);
    let mut lines: Vec<String> = first.iter().filter_map(line).collect();
    let kept = u32::try_from(activity.kept.len()).unwrap_or(u32::MAX);
    let left_out = activity.calls.saturating_sub(kept);
    let at = first.last().and_then(|call| call.at);
    if let Some(at) = at.filter(|_| left_out > 0) {
        let said = LogItem::Other(format!("{left_out} more calls"));
        lines.push(render_activity_line(&render_time(at), Colour::Green, &said));
    }
    lines.extend(last.iter().filter_map(line));
    lines
}
