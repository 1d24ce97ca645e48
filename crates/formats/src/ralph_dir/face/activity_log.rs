//! `activity.log` as a face: when each agent that piton ran began and ended,
//! and what was called, by these agents and in sessions of people.
//!
//! Nothing is taken from it: a trace of calls says nothing that the journal has
//! a word for.

use jiff::Timestamp;
use piton_core::AttemptRow;
use piton_core::call::{Activity, Call, CallKind};

pub use super::detect_words as detect;
use super::lines::{appended, time};
use crate::face::{About, CannotShow, Shown};
use crate::ralph_dir::logs::{Colour, File, Item, activity_line};

const HEAD: &str = "# Activity Log\n\n";

/// The text with a line for the start, for each call that is kept, and for the
/// end of each attempt by an agent that piton ran, and a line for each call in
/// another session. An attempt whose end stands there is not added again.
///
/// # Errors
///
/// Never; a line fits behind any text.
pub fn show(
    text: Option<&str>,
    rows: &[Shown<'_>],
    _about: &About<'_>,
) -> Result<String, CannotShow> {
    let groups = rows.iter().map(|row| match row {
        Shown::Attempt(row) => lines_of(row),
        Shown::Call(call) => line_of(call, call.at).into_iter().collect(),
        Shown::Entry(_) | Shown::Memory(_) => Vec::new(),
    });
    let groups: Vec<Vec<String>> = groups.filter(|lines| !lines.is_empty()).collect();
    Ok(appended(text, HEAD, &groups))
}

/// The line of a call; none where it is not known when it was.
fn line_of(call: &Call, at: Option<Timestamp>) -> Option<String> {
    let file = || File {
        path: call.what.clone(),
        lines: None,
        size: None,
    };
    let item = match call.kind {
        CallKind::Read => Item::Read(file()),
        CallKind::Write => Item::Write(file()),
        CallKind::Shell => Item::Shell {
            command: call.what.clone(),
            // The words have no other way to say that it failed.
            exit: call.exit.or(call.failed.then_some(1)).map(i64::from),
            output_chars: call.bytes,
        },
        CallKind::Agent => Item::Other(format!("AGENT {}", call.what)),
        CallKind::Other if call.what.is_empty() => Item::Other(format!("TOOL {}", call.tool)),
        CallKind::Other => Item::Other(format!("TOOL {}: {}", call.tool, call.what)),
    };
    Some(activity_line(&time(at?), Colour::Green, &item))
}

fn lines_of(row: &AttemptRow) -> Vec<String> {
    // Nobody watched an attempt that was only told of: its times are not known.
    if row.iteration == 0 {
        return Vec::new();
    }
    let model = row.model.as_deref().unwrap_or(&row.agent).to_owned();
    let start = Item::SessionStart { model };
    let mut lines = vec![activity_line(&time(row.started_at), Colour::Green, &start)];
    let activity = row.report.as_ref().map(|report| &report.activity);
    lines.extend(
        activity
            .into_iter()
            .flat_map(|activity| calls(row, activity)),
    );
    if let Some(ended) = row.ended_at {
        let ms = ended.duration_since(row.started_at).as_millis();
        let usage = row.report.as_ref().map(|report| &report.usage);
        let tokens = usage.and_then(|usage| match (usage.input_tokens, usage.output_tokens) {
            (None, None) => None,
            (read, written) => Some(
                read.unwrap_or_default()
                    .saturating_add(written.unwrap_or_default()),
            ),
        });
        let end = Item::SessionEnd {
            duration_ms: u64::try_from(ms).ok().or(Some(0)),
            tokens,
        };
        lines.push(activity_line(&time(ended), Colour::Green, &end));
    }
    lines
}

/// The calls of an attempt that were kept, and in their middle how many were not.
fn calls(row: &AttemptRow, activity: &Activity) -> Vec<String> {
    let line = |call: &Call| line_of(call, call.at.or(row.ended_at));
    let (first, last) = activity.kept.split_at(activity.kept.len() / 2);
    let mut lines: Vec<String> = first.iter().filter_map(line).collect();
    let kept = u32::try_from(activity.kept.len()).unwrap_or(u32::MAX);
    let left_out = activity.calls.saturating_sub(kept);
    let at = first.last().and_then(|call| call.at);
    if let Some(at) = at.filter(|_| left_out > 0) {
        let said = Item::Other(format!("{left_out} more calls"));
        lines.push(activity_line(&time(at), Colour::Green, &said));
    }
    lines.extend(last.iter().filter_map(line));
    lines
}
