//! `.iteration` as a face: how many agents the latest run started.

pub use super::detect_words as detect;
use crate::face::{About, CannotShow, Shown, Took};
use crate::ralph_dir::{Source, iteration};

/// Nothing, but a warning where the text is no number: what others count is
/// no fact of the journal.
#[must_use]
pub fn take(text: &str, _base: Option<&str>, about: &About<'_>) -> Took {
    let name = about.file;
    Took {
        found: Vec::new(),
        problems: iteration::read(Source { name, text }).1,
    }
}

/// The number, with the line end that was behind the one before; the text as
/// it is where there is no number to show, or where it is no number itself:
/// that is somebody else's.
///
/// # Errors
///
/// Never.
pub fn show(
    text: Option<&str>,
    _rows: &[Shown<'_>],
    about: &About<'_>,
) -> Result<String, CannotShow> {
    let old = text.unwrap_or_default();
    let said = iteration::read(Source {
        name: about.file,
        text: old,
    });
    let is_ours = said.0.is_some() || old.trim().is_empty();
    match about.iteration {
        Some(number) if is_ours && said.0 != Some(number) => Ok(iteration::write(text, number)),
        Some(_) | None => Ok(old.to_owned()),
    }
}
