//! `errors.log` as a face: each attempt that failed or was blocked.
//!
//! Nothing is taken from it: which item a line is about is not said.

use piton_core::{AttemptRow, Outcome};

pub use super::detect_words as detect;
use super::lines::{appended, time};
use crate::face::{About, CannotShow, Shown};
use crate::ralph_dir::logs::{Item, error_line};

const HEAD: &str = "# Error Log\n\n";

/// The text with a line for each attempt that failed or was blocked. A line
/// that stands there is not added again.
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
        Shown::Entry(_) | Shown::Memory(_) | Shown::Call(_) => None,
    });
    let lines: Vec<Vec<String>> = attempts
        .filter_map(line_of)
        .map(|line| vec![line])
        .collect();
    Ok(appended(text, HEAD, &lines))
}

/// Whether a row is an attempt that failed or was blocked.
#[must_use]
pub fn shows(row: &Shown<'_>) -> bool {
    let Shown::Attempt(row) = row else {
        return false;
    };
    let outcome = row.report.as_ref().map(|report| report.outcome);
    matches!(outcome, Some(Outcome::Failed | Outcome::Blocked))
}

fn line_of(row: &AttemptRow) -> Option<String> {
    let (report, ended) = (row.report.as_ref()?, row.ended_at?);
    if !shows(&Shown::Attempt(row)) {
        return None;
    }
    // A program that ended well did not fail as a command, whatever came of it.
    let code = report.process.as_ref().and_then(|process| process.code);
    let item = match code.filter(|code| *code != 0) {
        Some(code) => Item::ShellFail {
            command: row.agent.clone(),
            exit: Some(i64::from(code)),
            attempt: Some(u64::from(row.number)),
        },
        None => {
            let said = report.error.as_deref().or(report.summary.as_deref());
            let first = said.unwrap_or_default().trim().lines().next();
            let words = first.filter(|line| !line.is_empty());
            Item::Other(format!(
                "ERROR: {}",
                words.unwrap_or(report.outcome.as_str())
            ))
        }
    };
    Some(error_line(&time(ended), &item))
}
