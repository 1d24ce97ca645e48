//! `activity.log` as a face: when each agent that piton ran began and ended, and
//! what it did.

use piton_core::AttemptRow;
use piton_core::call::{Activity, Call, CallKind};

use super::lines::{appended, time};
use crate::face::{About, CannotShow, Detected, Shown, Took};
use crate::ralph_dir::logs::{Colour, File, Item, activity_line};

const HEAD: &str = "# Activity Log\n\n";

/// Tells what a text is.
#[must_use]
pub fn detect(text: &str) -> Detected {
    super::detect_words(text)
}

/// Nothing: a trace of calls says nothing that the journal has a word for.
#[must_use]
pub fn take(_text: &str, _base: Option<&str>, _about: &About<'_>) -> Took {
    Took::default()
}

/// The text with a line for the start and one for the end of each attempt by
/// an agent that piton ran, and between them one for each call that was kept. An attempt whose end stands there is not added again.
///
/// # Errors
///
/// Never; a line fits behind any text.
pub fn show(
    text: Option<&str>,
    rows: &[Shown<'_>],
    _about: &About<'_>,
) -> Result<String, CannotShow> {
    let attempts = rows.iter().filter_map(|row| match row {
        Shown::Attempt(row) => Some(*row),
        Shown::Entry(_) | Shown::Memory(_) => None,
    });
    let groups: Vec<Vec<String>> = attempts.map(lines_of).collect();
    Ok(appended(text, HEAD, &groups))
}

fn lines_of(row: &AttemptRow) -> Vec<String> {
    // Nobody watched an attempt that was only told of: its times are not known.
    if row.iteration == 0 {
        return Vec::new();
    }
    let model = row.model.as_deref().unwrap_or(&row.agent).to_owned();
    let start = Item::SessionStart { model };
    let mut lines = vec![activity_line(&time(row.started_at), Colour::Green, &start)];
    if let Some(report) = &row.report {
        lines.extend(calls(row, &report.activity));
    }
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

fn calls(row: &AttemptRow, activity: &Activity) -> Vec<String> {
    let line = |call: &Call| {
        let at = call.at.unwrap_or(row.started_at);
        activity_line(&time(at), Colour::Green, &item(call))
    };
    let mut lines: Vec<String> = activity.kept.iter().map(line).collect();
    let kept = u32::try_from(activity.kept.len()).unwrap_or(u32::MAX);
    let left_out = activity.calls.saturating_sub(kept);
    if left_out > 0 {
        let at = activity.kept.get(activity.kept.len() / 2);
        let at = at.and_then(|call| call.at).unwrap_or(row.started_at);
        let said = Item::Other(format!("{left_out} more calls"));
        lines.insert(
            lines.len() / 2,
            activity_line(&time(at), Colour::Green, &said),
        );
    }
    lines
}

/// A call, in the words of the file.
fn item(call: &Call) -> Item {
    let file = || File {
        path: call.what.clone(),
        lines: None,
        size: None,
    };
    match call.kind {
        CallKind::Read => Item::Read(file()),
        CallKind::Write => Item::Write(file()),
        CallKind::Shell => Item::Shell {
            command: call.what.clone(),
            // The words have no other way to say that it failed.
            exit: call.exit.or(Some(i32::from(call.failed))).map(i64::from),
            output_chars: call.bytes,
        },
        CallKind::Agent | CallKind::Other => {
            let said = format!("{} {}", call.tool, call.what);
            Item::Other(said.trim().to_owned())
        }
    }
}
