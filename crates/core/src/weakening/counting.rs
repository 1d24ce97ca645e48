//! Counts test definitions and skip marks in the text of a file.

use std::sync::OnceLock;

use regex::Regex;

use super::language::{Language, strip_comments};
use super::languages::LANGUAGES;

/// What a file holds of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCount {
    /// Test definitions.
    pub definitions: u32,
    /// Marks that leave tests out.
    pub skips: u32,
}

/// Whether tests are counted in files of such a name.
#[must_use]
pub fn has_countable_tests(path: &str) -> bool {
    language_index(path).is_some()
}

/// How many test definitions and skip marks a file holds; none where its
/// language is not known.
#[must_use]
pub fn count_tests(path: &str, text: &str) -> TestCount {
    let Some(index) = language_index(path) else {
        return TestCount::default();
    };
    let code = strip_comments(text, &LANGUAGES[index]);
    let forms = compiled_patterns(index);
    let count = |form: &Regex| u32::try_from(form.find_iter(&code).count()).unwrap_or(u32::MAX);
    TestCount {
        definitions: count(&forms.definitions),
        skips: count(&forms.skips),
    }
}

/// Where in the table the language of a file stands.
fn language_index(path: &str) -> Option<usize> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    let knows = |language: &Language| language.extensions.contains(&extension);
    LANGUAGES.iter().position(knows)
}

/// The forms of a language, compiled.
struct LanguagePatterns {
    definitions: Regex,
    skips: Regex,
}

fn compiled_patterns(index: usize) -> &'static LanguagePatterns {
    static COMPILED: [OnceLock<LanguagePatterns>; LANGUAGES.len()] =
        [const { OnceLock::new() }; LANGUAGES.len()];
    let compile = |forms: &[&str]| {
        let either = format!("(?m)(?:{})", forms.join("|"));
        Regex::new(&either).expect("every form is compiled by a test")
    };
    COMPILED[index].get_or_init(|| LanguagePatterns {
        definitions: compile(LANGUAGES[index].definitions),
        skips: compile(LANGUAGES[index].skips),
    })
}
