//! What a blocker claims to be missing, so that the caller can check whether it is:
//! an environment variable, a file, a command, a port. A blocker is a claim of
//! the agent until then.
//!
//! What is named is found by its form, in `named`; whether it is said to be
//! missing, by the words that stand directly at it. Words further away may be
//! about anything: "there is no users table in db/schema.sql" says that the file
//! is there.

mod mentions;
mod missing_thing;

use self::mentions::{ClaimMention, find_mentions, strip_punctuation};
pub use self::missing_thing::MissingThing;

/// What looking showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimVerdict {
    /// Whether anything could be looked up.
    pub verified: bool,
    /// Whether what was looked up is missing, as claimed; `None` where nothing
    /// could be looked up.
    pub valid: Option<bool>,
}

/// What comes of looking: for each claim whether the thing is missing. One thing
/// that is missing is enough.
#[must_use]
pub fn verdict_of_claims(missing: &[bool]) -> ClaimVerdict {
    ClaimVerdict {
        verified: !missing.is_empty(),
        valid: (!missing.is_empty()).then(|| missing.contains(&true)),
    }
}

/// Most claims that are looked up; what says more is a list of something else.
const CLAIMS_MAX: usize = 16;

/// Words by which something is said not to be there. Lower case, `n't` written
/// out as `not`.
struct MissingSigns {
    /// What stands before the name.
    before: &'static [&'static str],
    /// What stands after it and its verb.
    after: &'static [&'static str],
}

/// Of anything that is named.
const ABSENT: MissingSigns = MissingSigns {
    before: &[
        "no",
        "no such",
        "without",
        "neither",
        "neither is",
        "missing",
        "unset",
        "undefined",
        "cannot find",
        "can not find",
        "could not find",
        "did not find",
        "unable to find",
    ],
    after: &[
        "missing",
        "absent",
        "unset",
        "undefined",
        "no such",
        "not set",
        "not defined",
        "not exported",
        "not present",
        "not there",
        "not found",
        "not be found",
        "not installed",
        "not provided",
        "not configured",
        "not exist",
        "cannot be found",
    ],
};

/// Of something that should answer: a service is known by these only.
const SILENT: MissingSigns = MissingSigns {
    before: &[
        "nothing listens",
        "nothing is listening",
        "nothing answers",
        "nobody answers",
        "cannot connect",
        "can not connect",
        "could not connect",
        "cannot reach",
        "can not reach",
        "could not reach",
        "connection refused",
        "econnrefused",
    ],
    after: &[
        "not running",
        "not listening",
        "not reachable",
        "not available",
        "not answering",
        "unreachable",
        "down",
        "connection refused",
        "econnrefused",
    ],
};

/// Articles, words of the kind of a thing, and marks.
#[rustfmt::skip]
const KINDS: &[&str] = &[
    "the", "a", "an", "any", "my", "your", "its", ":",
    "environment", "env", "variable", "variables", "var", "vars", "value", "for",
    "file", "files", "folder", "directory", "or", "open", "stat",
    "command", "binary", "cli", "tool", "program", "executable",
    "port", "ports", "server", "service", "database", "on", "at", "to",
    "called", "named",
];

/// What makes several names one list, beside the kinds.
const JOINS: &[&str] = &["and", "nor", "both", "&", ","];

/// What leads back to the name that stands before it.
const LEADS: &[&str] = &[
    ",", "which", "that", "but", "it", "they", "both", "is", "was", "are", "were", "has", "have",
    "been", "be", "does", "do", "did", "could", "can", "still", "also",
];

/// What makes a sentence one of what may be.
const IFS: &[&str] = &["if", "when", "whenever", "unless", "whether", "once"];

/// What may follow "is missing"; "is missing a key" says that the rest is there.
const MISSING_FOLLOWED: &[&str] = &[
    ",", ":", "and", "or", "so", "but", "because", "from", "in", "on", "at", "here", "too", "now",
    "which",
];

/// What takes the other signs back: "is not set to `prod`", "is not set up".
const TAKEN_BACK: &[&str] = &["to", "up", "correctly", "properly", "right", "as"];

/// What the sentences of a blocker claim to be missing, each thing once, in the
/// order of the text. A sentence that only names a thing claims nothing: "the
/// server refuses what is in `API_KEY`" is true whether or not that is set.
#[must_use]
pub fn find_missing(text: &str) -> Vec<MissingThing> {
    let mut found = Vec::new();
    for claim in split_sentences(text).flat_map(find_missing_in_sentence) {
        if !found.contains(&claim) {
            found.push(claim);
        }
    }
    found.truncate(CLAIMS_MAX);
    found
}

/// The sentences of a text. A name may hold a full stop, so that one ends a
/// sentence only before a blank.
fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '!', '?'])
        .flat_map(|line| line.split(". "))
}

/// Several names in a row are one list: what is said of one is said of all.
fn find_missing_in_sentence(sentence: &str) -> Vec<MissingThing> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let named = find_mentions(&words);
    let is_one_list = |one: &ClaimMention, next: &ClaimMention| {
        let between = normalize_words(&words[one.at + 1..next.at]);
        between
            .iter()
            .all(|word| is_in_table(KINDS, word) || is_in_table(JOINS, word))
    };
    let mut found: Vec<&ClaimMention> = Vec::new();
    for list in named.chunk_by(is_one_list) {
        let (Some(first), Some(last)) = (list.first(), list.last()) else {
            continue;
        };
        let before = normalize_words(&words[..first.at]);
        let after = normalize_words(&words[last.at + 1..]);
        let said = |signs: &MissingSigns| {
            has_sign_before(&before, signs) || has_sign_after(&before, &after, signs)
        };
        let is_silent = said(&SILENT);
        let is_absent = is_silent || said(&ABSENT);
        found.extend(list.iter().filter(|one| match one.by_service {
            true => is_silent,
            false => is_absent,
        }));
    }
    // "Redis at localhost:6380": the port is the one that is told.
    let is_told =
        |one: &&ClaimMention| !one.by_service && matches!(one.claim, MissingThing::Port(_));
    let has_port = found.iter().any(is_told);
    found.retain(|one| !(one.by_service && has_port));
    found.into_iter().map(|one| one.claim.clone()).collect()
}

/// Words as signs are written, with the comma and the colon that ends one as a
/// word of its own.
fn normalize_words(words: &[&str]) -> Vec<String> {
    let mut plain = Vec::new();
    for word in words {
        let said = strip_punctuation(word)
            .to_lowercase()
            .replace('\u{2019}', "'");
        match said.strip_suffix("n't") {
            Some("ca") => plain.extend(["can", "not"].map(str::to_owned)),
            Some(verb) => plain.extend([verb.to_owned(), "not".to_owned()]),
            None => plain.push(said),
        }
        let mark = word.chars().last().filter(|c| matches!(c, ',' | ':'));
        plain.extend(mark.map(String::from));
    }
    plain.retain(|word| !word.is_empty());
    plain
}

fn is_in_table(table: &[&str], word: &str) -> bool {
    table.contains(&word)
}

/// The words before a name without those that belong to it. A comma after one
/// that does, does as well; after another word it ends what that says.
fn strip_kind_words(before: &[String]) -> &[String] {
    let mut before = before;
    loop {
        before = match before {
            [rest @ .., kind] if is_in_table(KINDS, kind) => rest,
            [rest @ .., kind, comma] if comma == "," && is_in_table(KINDS, kind) => rest,
            _ => return before,
        };
    }
}

fn has_sign_before(before: &[String], signs: &MissingSigns) -> bool {
    let before = strip_kind_words(before);
    signs.before.iter().any(|sign| {
        let sign = sign.split(' ').rev();
        let mut said = before.iter().rev();
        sign.into_iter()
            .all(|word| said.next().is_some_and(|said| said == word))
    })
}

fn has_sign_after(before: &[String], after: &[String], signs: &MissingSigns) -> bool {
    let may_be = strip_kind_words(before)
        .last()
        .is_some_and(|word| is_in_table(IFS, word));
    let begin = after
        .iter()
        .position(|word| !is_in_table(KINDS, word) && !is_in_table(LEADS, word))
        .unwrap_or(after.len());
    let after = &after[begin..];
    !may_be
        && signs.after.iter().any(|sign| {
            let mut said = after.iter();
            let is_said = sign
                .split(' ')
                .all(|word| said.next().is_some_and(|said| said == word));
            let next = said.next().map(String::as_str);
            let holds = match *sign {
                "missing" => next.is_none_or(|next| is_in_table(MISSING_FOLLOWED, next)),
                _ => next.is_none_or(|next| !is_in_table(TAKEN_BACK, next)),
            };
            is_said && holds
        })
}

#[cfg(test)]
mod tests {
    use piton_simkit::seed::cases;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[MissingThing]) {
        assert_eq!(find_missing(text), expect, "{text}");
    }

    fn variable(name: &str) -> MissingThing {
        MissingThing::Variable(name.to_owned())
    }

    fn command(name: &str) -> MissingThing {
        MissingThing::Command(name.to_owned())
    }

    fn file(name: &str) -> MissingThing {
        MissingThing::File(name.to_owned())
    }

    #[test]
    fn what_is_said_to_be_missing_is_found() {
        let (key, keys) = (variable("API_KEY"), file("config/keys.json"));
        for text in [
            "API_KEY is not set",
            "the env var `API_KEY` isn't set anywhere",
            "there is no API_KEY",
            "I have no value for API_KEY.",
            "cannot go on without the variable API_KEY",
            "it needs API_KEY, which is not defined",
            "missing environment variables: API_KEY",
            "API_KEY is not set\nwithout API_KEY nobody answers",
        ] {
            check(text, std::slice::from_ref(&key));
        }
        for text in [
            "config/keys.json is missing",
            "I looked at src/main.rs. There is no config/keys.json; API_KEY is wrong.",
            "the file config/keys.json doesn\u{2019}t exist",
            "cat: config/keys.json: No such file or directory",
            "ENOENT: no such file or directory, open 'config/keys.json'",
            "could not find config/keys.json in the work tree",
            "config/keys.json can't be found",
        ] {
            check(text, std::slice::from_ref(&keys));
        }
        check("sh: 1: cmake: command not found", &[command("cmake")]);
        check("no `docker` binary here", &[command("docker")]);
        check(
            "The command `wasm-pack` cannot be found",
            &[command("wasm-pack")],
        );
        check("PostgreSQL is not running", &[MissingThing::Port(5432)]);
        check(
            "nobody answers at localhost:8080",
            &[MissingThing::Port(8080)],
        );
        check(
            "cannot connect to Redis at 127.0.0.1:6380",
            &[MissingThing::Port(6380)],
        );
    }

    #[test]
    fn what_is_said_of_a_list_is_said_of_each() {
        let both = [variable("FOO_TOKEN"), variable("BAR_TOKEN")];
        for text in [
            "FOO_TOKEN and BAR_TOKEN are not set: both are missing",
            "neither FOO_TOKEN nor BAR_TOKEN is there",
            "FOO_TOKEN is not set, and neither is `$BAR_TOKEN`",
            "missing: FOO_TOKEN, BAR_TOKEN",
        ] {
            check(text, &both);
        }
        check(
            "nothing listens at localhost:8080/health or port 5433",
            &[MissingThing::Port(8080), MissingThing::Port(5433)],
        );
    }

    #[test]
    fn what_is_said_of_something_else_claims_nothing() {
        for text in [
            "there is no users table in db/schema.sql, and I may not add one",
            "the users table is missing in db/schema.sql",
            "db/schema.sql is missing a users table",
            "db/schema.sql has no users table",
            "without a decision I cannot change src/main.rs",
            "I cannot go on without changing db/schema.sql",
            "FOO_MODE is not set to prod",
            "if API_KEY is not set, the tests are left out",
            "the server refuses what is in API_KEY",
            "which of src/a.rs and src/b.rs is right?",
            "It is missing. API_KEY has another form.",
            "No, API_KEY is right",
            "there is no Redis client in this crate",
            "the docs of Redis are old, and the API is not reachable",
            "Redis would be nice",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn one_thing_that_is_missing_is_enough() {
        let said = |verified, valid| ClaimVerdict { verified, valid };
        assert_eq!(verdict_of_claims(&[]), said(false, None));
        assert_eq!(verdict_of_claims(&[false]), said(true, Some(false)));
        assert_eq!(verdict_of_claims(&[false, true]), said(true, Some(true)));
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn any_text_has_few_claims_and_each_once(text in "(no |missing |[A-Z_]{1,6}|[a-z/.`'$:]{1,8}|port [0-9]{1,6}| |\\PC){0,80}") {
            let found = find_missing(&text);
            prop_assert!(found.len() <= CLAIMS_MAX);
            let mut each = found.clone();
            each.sort();
            each.dedup();
            prop_assert_eq!(each.len(), found.len());
        }
    }
}
