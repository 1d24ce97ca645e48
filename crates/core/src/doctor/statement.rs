//! What a text states: what is to be done or not, and with what value.

use crate::recall::{TokenKind, normalize_name, tokenize, trim_punctuation};

/// Words that deny what they stand before.
const DENYING: &str = "not never don't dont doesn't mustn't shouldn't isn't aren't avoid";
/// Words that say nothing of what is stated.
const FILLING: &str = "always please simply still";
/// A sentence with one of them states nothing that holds by itself: it tells
/// what was, what happens when, or what cannot be.
const CONDITIONS: &str = "if when whenever unless because since while until whether why after before \
    except otherwise was were had did didn't wasn't weren't cannot can't could couldn't would wouldn't \
    might may tried failed only instead rather without";
/// Words that set something.
const SETTING: &str = "use run set";
/// A statement of more words is a story.
const WORDS_MAX: usize = 16;

/// Something that is stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// What it is about: its words in an order of their own, without denial and value.
    pub(super) subject: String,
    /// The number, version, code or path in it.
    value: Option<String>,
    is_denied: bool,
    /// Whether it says what to use, run or set.
    is_setting: bool,
    /// Its words.
    pub(super) said: String,
}

impl Statement {
    /// Whether another one of the same subject cannot hold beside it.
    pub(super) fn is_contradiction_of(&self, other: &Self) -> bool {
        if self.value == other.value {
            return self.is_denied != other.is_denied;
        }
        let settings = self.is_setting && other.is_setting;
        let both_named = self.value.is_some() && other.value.is_some();
        settings && both_named && !self.is_denied && !other.is_denied
    }

    /// Whether it states the same as another one of the same subject.
    pub(super) fn is_equivalent_to(&self, other: &Self) -> bool {
        self.value == other.value && self.is_denied == other.is_denied
    }
}

fn is_among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// What a text states, sentence by sentence. Where half a sentence is a
/// condition or a place, it holds for the other half, too.
pub(super) fn parse_statements(text: &str) -> impl Iterator<Item = Statement> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let sentences = words.split_inclusive(|word| is_sentence_end(word));
    let statements: Vec<Statement> = sentences.filter_map(parse_statement).collect();
    statements.into_iter()
}

/// Whether a sentence ends with a word.
fn is_sentence_end(word: &str) -> bool {
    let word = word.trim_end_matches(['`', '"', '\'', ')']);
    word.ends_with(['.', ';', '!', '?'])
}

/// What the words of a sentence state, if anything. A question states nothing.
fn parse_statement(words: &[&str]) -> Option<Statement> {
    let small: Vec<String> = words
        .iter()
        .map(|word| {
            trim_punctuation(word)
                .to_lowercase()
                .replace('\u{2019}', "'")
        })
        .collect();
    let is_question = words.last().is_some_and(|word| word.contains('?'));
    if is_question || words.len() > WORDS_MAX || small.iter().any(|word| is_among(CONDITIONS, word))
    {
        return None;
    }
    let denials = small.iter().filter(|word| is_among(DENYING, word)).count();
    let mut value = None;
    let mut rest: Vec<&str> = Vec::new();
    for (word, small) in words.iter().zip(&small) {
        if is_among(DENYING, small) || is_among(FILLING, small) {
            continue;
        }
        let (key, found) = split_value(word);
        rest.extend(key);
        if let Some(found) = found
            && value.replace(found).is_some()
        {
            // Which of two values the other text changes is not known.
            return None;
        }
    }
    let tokens = tokenize(&rest.join(" "));
    let said = tokens.iter().filter(|token| token.kind.is_literal());
    let mut subject: Vec<&str> = said.clone().map(|token| token.text.as_str()).collect();
    let tells = said.filter(|token| token.kind != TokenKind::Common).count();
    subject.sort_unstable();
    subject.dedup();
    let is_whole = tells > 0 && subject.len() + usize::from(value.is_some()) > 1;
    (is_whole && denials < 2).then(|| Statement {
        subject: subject.join(" "),
        value,
        is_denied: denials == 1,
        is_setting: small.first().is_some_and(|word| is_among(SETTING, word)),
        said: words
            .join(" ")
            .trim_end_matches(['.', ',', ';', ':', '!'])
            .to_owned(),
    })
}

/// A word as what it names and what it gives it: `A=3` is `A` and 3.
fn split_value(word: &str) -> (Option<&str>, Option<String>) {
    let word = trim_punctuation(word);
    if let Some((key, value)) = word.split_once('=')
        && !key.is_empty()
        && !value.is_empty()
    {
        return (Some(key), Some(value.to_lowercase()));
    }
    let begins_with_digit = word.starts_with(|sign: char| sign.is_ascii_digit());
    let is_path = word.contains('/') && !word.contains("://");
    let is_code = word.starts_with(|sign: char| sign.is_ascii_uppercase())
        && word.ends_with(|sign: char| sign.is_ascii_digit());
    if begins_with_digit || is_path || is_code || is_version(word) {
        (None, normalize_name(word))
    } else {
        (Some(word), None)
    }
}

/// `v1.2`.
fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix('v');
    digits.is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Option<&str>, bool)]) {
        let found: Vec<Statement> = parse_statements(text).collect();
        let found: Vec<(&str, Option<&str>, bool)> = found
            .iter()
            .map(|one| (one.subject.as_str(), one.value.as_deref(), one.is_denied))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_text_states_what_its_sentences_say() {
        check("Never use npm.", &[("npm us", None, true)]);
        check("Use npm, please", &[("npm us", None, false)]);
        check(
            "set POOL_MAX=3",
            &[("max pool poolmax set", Some("3"), false)],
        );
        check("Use port 5432", &[("port us", Some("5432"), false)]);
        check(
            "Steam the oak; do not\nbend ash! In winter, elm must soak",
            &[
                ("oak steam", None, false),
                ("ash bend", None, true),
                ("elm soak winter", None, false),
            ],
        );
    }

    #[test]
    fn what_holds_only_sometimes_or_is_a_story_states_nothing() {
        for text in [
            "if npm is used, do not lint",
            "Do you use npm?",
            "I did not use npm",
            "cannot find oak",
            "never not use npm",
            "use port 5432 or 5433",
            "use it",
            "run tests",
            "",
        ] {
            check(text, &[]);
        }
    }
}
