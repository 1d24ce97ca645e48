//! `activity.log` as a face: when each agent that piton ran began and ended.

use piton_core::AttemptRow;

use super::lines::{appended, time};
use crate::face::{About, CannotShow, Detected, Shown, Took};
use crate::ralph_dir::logs::{Colour, Item, activity_line};

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
/// an agent that piton ran. An attempt whose end stands there is not added again.
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
