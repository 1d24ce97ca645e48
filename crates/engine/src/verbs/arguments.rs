//! What callers type: texts, and where a run that is named is looked for.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::world::World;

/// Where a run named by `text` is looked for: beside a path, else here.
pub(crate) fn search_folder<'a>(world: &'a World, text: Option<&str>) -> Cow<'a, Path> {
    let path = text
        .filter(|text| text.contains('/'))
        .map(|text| world.resolve_path(text));
    match path.and_then(|path| fs::canonicalize(path).ok()) {
        Some(path) if path.is_dir() => path.into(),
        Some(path) => path.parent().map(Path::to_owned).unwrap_or(path).into(),
        None => world.cwd.as_path().into(),
    }
}

/// A text that says something; one of blanks says nothing.
pub(crate) fn non_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// Refuses what cannot stand in one line.
pub(crate) fn require_one_line(what: &str, text: &str) -> Result<(), Failure> {
    if text.chars().any(char::is_control) {
        return Err(Failure::new(
            "usage",
            format!("{what} has a line break or another control character"),
        )
        .with_hint(format!("write {what} in one line")));
    }
    Ok(())
}

/// The words of a list, for a hint.
pub(crate) fn join_words(words: &[&str]) -> String {
    words.join(", ")
}
