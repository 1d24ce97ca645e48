//! What the sense of a text turns on: the names in it, and the small words that
//! turn others.
//!
//! Recall leaves them out, because they help to find nothing. Two texts that
//! differ in nothing else say different things all the same.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{normalize_name, trim_punctuation};
use super::piece::split_pieces;
use super::token::is_stop_word;

/// Words that turn the next word that says something, and how they do it.
const TURNS: &[(&str, &[&str])] = &[
    (
        "not",
        &[
            "not",
            "never",
            "no",
            "without",
            "avoid",
            "avoids",
            "avoiding",
            "cannot",
            "can't",
            "don't",
            "dont",
            "doesn't",
            "didn't",
            "won't",
            "wouldn't",
            "mustn't",
            "shouldn't",
            "isn't",
            "aren't",
            "instead",
            "rather",
        ],
    ),
    ("before", &["before"]),
    ("after", &["after"]),
    ("until", &["until", "till"]),
    ("from", &["from"]),
    ("only", &["only"]),
];

/// How a word is said that no other word turns.
pub(super) const PLAIN: &str = "plain";

/// Words that turn all of it.
const EXCEPTIONS: &[&str] = &["except", "unless", "off"];

/// What the sense of a text turns on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MeaningMarkers {
    /// The words that are turned somewhere, and all ways in which each is said.
    pub(super) turned: BTreeMap<String, BTreeSet<String>>,
    /// Which words turn all of it.
    pub(super) exceptions: BTreeSet<String>,
    /// The names, and how often each stands there.
    pub(super) names: BTreeMap<String, u32>,
}

impl MeaningMarkers {
    /// That of texts which belong together.
    pub(super) fn from_texts(texts: &[&str]) -> Self {
        let mut sense = Self::default();
        for text in texts {
            sense.add_text(text);
        }
        let plain = BTreeSet::from([PLAIN.to_owned()]);
        sense.turned.retain(|_, ways| *ways != plain);
        sense
    }

    /// Where lines end says nothing: they may have been wrapped otherwise.
    fn add_text(&mut self, text: &str) {
        let mut turns: Vec<&'static str> = Vec::new();
        for word in text.split_whitespace() {
            let said = trim_punctuation(word)
                .to_lowercase()
                .replace('\u{2019}', "'");
            if let Some(turn) = qualifier_of_word(&said) {
                turns.push(turn);
            } else if EXCEPTIONS.contains(&said.as_str()) {
                self.exceptions.insert(said);
            } else if !said.split('\'').all(is_stop_word) {
                self.add_word(word, said, &turns);
                turns.clear();
            }
            if word.ends_with(['.', ';', ':', '!', '?']) {
                turns.clear();
            }
        }
    }

    fn add_word(&mut self, word: &str, said: String, turns: &[&str]) {
        if let Some(name) = normalize_name(word) {
            *self.names.entry(name).or_default() += 1;
        }
        let piece = split_pieces(trim_punctuation(word)).into_iter().next();
        let ways = self.turned.entry(piece.map_or(said, |piece| piece.text));
        let ways = ways.or_default();
        if turns.is_empty() {
            ways.insert(PLAIN.to_owned());
        }
        ways.extend(turns.iter().map(|turn| (*turn).to_owned()));
    }
}

fn qualifier_of_word(word: &str) -> Option<&'static str> {
    let found = TURNS.iter().find(|(_, words)| words.contains(&word));
    found.map(|(turn, _)| *turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, turned: &[&str], exceptions: &[&str], names: &[&str]) {
        let sense = MeaningMarkers::from_texts(&[text]);
        let said = sense.turned.iter().map(|(word, ways)| {
            let ways: Vec<&str> = ways.iter().map(String::as_str).collect();
            format!("{word}: {}", ways.join(" "))
        });
        assert_eq!(said.collect::<Vec<_>>(), turned, "{text}");
        let exceptions_found: Vec<&String> = sense.exceptions.iter().collect();
        assert_eq!(exceptions_found, exceptions, "{text}");
        let names_found: Vec<&String> = sense.names.keys().collect();
        assert_eq!(names_found, names, "{text}");
    }

    #[test]
    fn a_small_word_turns_the_next_that_says_something() {
        check("Do not commit the key", &["commit: not"], &[], &[]);
        check("Never\ncommit it", &["commit: not"], &[], &[]);
        check("It must not be committed.", &["commit: not"], &[], &[]);
        check("use pnpm instead of npm", &["npm: not"], &[], &[]);
        check(
            "Don\u{2019}t lint before tests",
            &["lint: not", "test: before"],
            &[],
            &[],
        );
        check("Is it? No. Commit.", &[], &[], &[]);
        check("before it's bent", &["bent: before"], &[], &[]);
    }

    #[test]
    fn a_word_may_be_said_in_more_than_one_way() {
        check(
            "Format it, do not format it twice",
            &["format: not plain"],
            &[],
            &[],
        );
    }

    #[test]
    fn names_and_exceptions_are_kept() {
        check("port 5432, unless CI", &[], &["unless"], &["5432"]);
    }
}
