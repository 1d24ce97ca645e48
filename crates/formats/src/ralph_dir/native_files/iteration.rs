//! `.iteration` as a face: how many agents the latest run started.

use crate::native_file::{FileContents, FileContext, RenderError, ShownRow};
use crate::ralph_dir::{SourceText, iteration};

/// Nothing, but a warning where the text is no number: what others count is
/// no fact of the journal.
#[must_use]
pub fn import_changes(text: &str, _base: Option<&str>, about: &FileContext<'_>) -> FileContents {
    let name = about.file;
    FileContents {
        found: Vec::new(),
        problems: iteration::parse_iteration(SourceText { name, text }).1,
    }
}

/// The number, with the line end that was behind the one before; the text as
/// it is where there is no number to show, or where it is no number itself:
/// piton did not write that.
///
/// # Errors
///
/// Never.
pub fn render_rows(
    text: Option<&str>,
    _rows: &[ShownRow<'_>],
    about: &FileContext<'_>,
) -> Result<String, RenderError> {
    let old = text.unwrap_or_default();
    let said = iteration::parse_iteration(SourceText {
        name: about.file,
        text: old,
    });
    let is_ours = said.0.is_some() || old.trim().is_empty();
    match about.iteration {
        Some(number) if is_ours && said.0 != Some(number) => {
            Ok(iteration::render_iteration(text, number))
        }
        Some(_) | None => Ok(old.to_owned()),
    }
}
