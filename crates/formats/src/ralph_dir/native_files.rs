//! The files of `.ralph/` as faces of the project.
//!
//! Each module is one file, with the same three functions: `detect` tells what
//! a text is, `take` what stands in it that the journal may not know, `show`
//! the same text showing rows as well. Which rows a file has words for stands
//! in `docs/formats/ralph-dir.md`; for what it has no words, it is left as it is.

pub mod activity_log;
pub mod errors_log;
pub mod guardrails_md;
pub mod iteration;
pub(in crate::ralph_dir) mod lines;
pub mod progress_md;

use crate::native_file::Detection;

/// The format, as an entry that was taken from it names it.
pub const FACE: &str = "ralph-dir";

/// What a text of these files is: words of people, unless it is clearly made
/// for machines.
pub fn detect_words(text: &str) -> Detection {
    if text.contains('\0') {
        return Detection::Foreign("a binary file".to_owned());
    }
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Detection::Empty;
    }
    let is_json =
        text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if is_json {
        return Detection::Foreign("a JSON document".to_owned());
    }
    Detection::Ours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_ours_and_documents_of_machines_are_not() {
        for text in ["", "\u{feff}\n", " \r\n"] {
            assert_eq!(detect_words(text), Detection::Empty);
        }
        for text in ["# Progress", "[10:00:00] 🟢 READ a", "{ not quite", "words"] {
            assert_eq!(detect_words(text), Detection::Ours, "{text}");
        }
        for text in ["{\"a\": 1}", "[]", "\u{feff}[1, 2]\n", "PNG\0\u{1}"] {
            assert!(
                matches!(detect_words(text), Detection::Foreign(_)),
                "{text}"
            );
        }
    }
}
