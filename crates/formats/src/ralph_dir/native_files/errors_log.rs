//! `errors.log` as a face: each attempt that failed or was blocked.
//!
//! Nothing is taken from it: which item a line is about is not said.

use piton_core::{AttemptRow, Outcome};

use super::lines::{append_groups, render_time};
use crate::native_file::{FileContext, RenderError, ShownRow};
use crate::ralph_dir::logs::{LogItem, render_error_line};

const HEAD: &str = "# Error Log\n\n";

/// The text with a line for each attempt that failed or was blocked. A line
/// that stands there is not added again.
///
/// # Errors
///
/// Never; a line fits behind any text.
pub fn render_rows(
    text: Option<&str>,
    rows: &[ShownRow<'_>],
    _about: &FileContext<'_>,
) -> Result<String, RenderError> {
    let attempts = rows.iter().filter_map(|row| match row {
        ShownRow::Attempt(row) => Some(*row),
        ShownRow::Entry(_) | ShownRow::Memory(_) | ShownRow::Call(_) => None,
    });
    let lines: Vec<Vec<String>> = attempts
        .filter_map(line_of_attempt)
        .map(|line| vec![line])
        .collect();
    Ok(append_groups(text, HEAD, &lines))
}

/// Whether a row is an attempt that failed or was blocked.
#[must_use]
pub fn is_failed_attempt(row: &ShownRow<'_>) -> bool {
    let ShownRow::Attempt(row) = row else {
        return false;
    };
    let outcome = row.report.as_ref().map(|report| report.outcome);
    matches!(outcome, Some(Outcome::Failed | Outcome::Blocked))
}

fn line_of_attempt(row: &AttemptRow) -> Option<String> {
    let (report, ended) = (row.report.as_ref()?, row.ended_at?);
    if !is_failed_attempt(&ShownRow::Attempt(row)) {
        return None;
    }
    // A program that ended well did not fail as a command, whatever came of it.
    let code = report
        .program
        .process
        .as_ref()
        .and_then(|process| process.code);
    let item = match code.filter(|code| *code != 0) {
        Some(code) => LogItem::ShellFail {
            command: row.agent.clone(),
            exit: Some(i64::from(code)),
            attempt: Some(u64::from(row.number)),
        },
        None => {
            let said = report.error.as_deref().or(report.summary.as_deref());
            let first = said.unwrap_or_default().trim().lines().next();
            let words = first.filter(|line| !line.is_empty());
            LogItem::Other(format!(
                "ERROR: {}",
                words.unwrap_or(report.outcome.as_str())
            ))
        }
    };
    Some(render_error_line(&render_time(ended), &item))
}
