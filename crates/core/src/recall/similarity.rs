//! Whether two memories say the same.
//!
//! They do when one holds what the other says and nothing that it says
//! otherwise. More words on one side are details. Other words on both sides are
//! another matter, and so is another number, name or code, or a word that is
//! denied in one of them only. Where the context is another, it does not count:
//! it says where it was learned.
//!
//! Wrongly keeping two costs a few words of a prompt. Wrongly taking two for one
//! loses one of them: in doubt they are different. Another way to say it, in
//! other words, is not seen.

use std::collections::{BTreeSet, HashSet};

use super::code::count_conflicting_classes;
use super::document::MemoryDocument;
use super::exclusive_words::has_exclusive_words;
use super::stem::stem;
use super::token::is_common_word;

/// From here on two memories say the same. Of 394 memories of twelve projects no
/// two of one project come to more than 0.21 unless one replaced the other, and
/// those to no more than 0.45; one that is said again with small changes comes
/// to 0.8 and more.
pub const ALIKE_FROM: f64 = 0.8;

/// What a word counts that stands in any text about programs.
const EVERYDAY: f64 = 0.35;
/// What it costs when each says something that the other does not.
const REPLACED: f64 = 2.0;
/// What it costs when only one of them says more.
const ADDED: f64 = 0.25;
/// What is left where they contradict each other or name different things.
const APART: f64 = 0.5;

/// How much two memories say the same: 0 for nothing in common, 1 for the same
/// words. See [`ALIKE_FROM`]. The order does not matter.
#[must_use]
pub fn document_similarity(one: &MemoryDocument, other: &MemoryDocument) -> f64 {
    ComparableDocument::new(one).similarity_to(&ComparableDocument::new(other))
}

/// What a document says, made ready for being compared with many.
pub(crate) struct ComparableDocument<'d> {
    document: &'d MemoryDocument,
    /// The words and names of title and content. A word of the context counts
    /// less than one; numbers are names, and compared as such.
    words: BTreeSet<&'d str>,
}

impl<'d> ComparableDocument<'d> {
    pub(crate) fn new(document: &'d MemoryDocument) -> Self {
        let all: HashSet<&str> = document
            .tokens()
            .filter(|token| document.has_outside_context(token))
            .collect();
        let words = all.iter().copied().filter(|token| {
            !token.starts_with('=')
                && !token.bytes().all(|byte| byte.is_ascii_digit())
                && !is_joined_pair(&all, token)
        });
        Self {
            document,
            words: words.collect(),
        }
    }

    /// The words that are compared.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'d str> {
        self.words.iter().copied()
    }

    /// The words that the fewest hold: more than an eighth of all, by weight. Where
    /// two say the same, one of them says no more than a ninth, by weight, that the
    /// other does not: then one of the rarest words of that one is among the words
    /// of the other.
    pub(crate) fn rarest_words(&self, holders: impl Fn(&str) -> usize) -> Vec<&'d str> {
        let mut words: Vec<&str> = self.words().collect();
        words.sort_by_cached_key(|word| holders(word));
        let total: f64 = words.iter().map(|word| word_weight(word)).sum();
        let mut weight = 0.0;
        let is_needed = |word: &&str| {
            let is_needed = weight <= total / 8.0;
            weight += word_weight(word);
            is_needed
        };
        words.into_iter().take_while(is_needed).collect()
    }

    /// See [`document_similarity`].
    pub(crate) fn similarity_to(&self, other: &Self) -> f64 {
        let sum = |words: &mut dyn Iterator<Item = &&str>| {
            words.map(|word| word_weight(word)).sum::<f64>()
        };
        let shared = sum(&mut self.words.intersection(&other.words));
        if shared == 0.0 {
            return 0.0;
        }
        let mine: Vec<&str> = self.words.difference(&other.words).copied().collect();
        let yours: Vec<&str> = other.words.difference(&self.words).copied().collect();
        let (my_more, your_more) = (sum(&mut mine.iter()), sum(&mut yours.iter()));
        let replaced = my_more.min(your_more);
        let added = my_more.max(your_more) - replaced;
        let likeness = shared / (shared + REPLACED * replaced + ADDED * added);
        let (one, other) = (self.document, other.document);
        let are_apart = count_conflicting_classes(&one.codes, &other.codes) > 0
            || has_exclusive_words(&mine, &yours)
            || has_conflicting_names(one, other)
            || has_conflicting_qualifiers(one, other)
            || has_conflicting_qualifiers(other, one)
            || one.sense.exceptions != other.sense.exceptions;
        if are_apart {
            likeness * APART
        } else {
            likeness
        }
    }
}

/// Whether a token is two others side by side: their order may be another.
fn is_joined_pair(all: &HashSet<&str>, token: &str) -> bool {
    let cuts = token.char_indices().skip(1);
    cuts.map(|(at, _)| token.split_at(at))
        .any(|(first, second)| all.contains(first) && all.contains(second))
}

fn word_weight(word: &str) -> f64 {
    if is_common_word(word) { EVERYDAY } else { 1.0 }
}

/// Whether each names something that the other does not, or one name stands in
/// the place of another.
fn has_conflicting_names(one: &MemoryDocument, other: &MemoryDocument) -> bool {
    let (mine, yours) = (excess_names(one, other), excess_names(other, one));
    let any_new = |names: &[(u32, bool)]| names.iter().any(|(_, held)| !held);
    let times = |names: &[(u32, bool)]| names.iter().map(|(times, _)| times).sum::<u32>();
    let both_new = any_new(&mine) && any_new(&yours);
    // "6 of 7" and "7 of 7" name the same but for how often.
    let replaced = times(&mine) > 0 && times(&mine) == times(&yours);
    both_new || replaced
}

/// The names that the first has more often than the second: how much more
/// often, and whether the second has them at all.
fn excess_names(first: &MemoryDocument, second: &MemoryDocument) -> Vec<(u32, bool)> {
    let beyond = first.sense.names.iter().filter_map(|(name, times)| {
        let held = second.sense.names.get(name).copied().unwrap_or_default();
        // "PostgreSQL" is a name, "postgresql" a word.
        let is_word = second.has_outside_context(name) || second.has_outside_context(&stem(name));
        let more = times.saturating_sub(held);
        (more > 0 && !(held == 0 && is_word)).then_some((more, held > 0))
    });
    beyond.collect()
}

/// Whether a word that both say is turned otherwise in the first: "commit it"
/// is not "do not commit it".
fn has_conflicting_qualifiers(first: &MemoryDocument, second: &MemoryDocument) -> bool {
    first.sense.turned.iter().any(|(word, ways)| {
        let other = second.sense.turned.get(word);
        other.map_or_else(|| second.has_outside_context(word), |other| other != ways)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_say_the_same_one_shares_one_of_its_rarest_words() {
        for (one, other) in SAME {
            let (one, other) = (
                MemoryDocument::from_fields("", one, ""),
                MemoryDocument::from_fields("", other, ""),
            );
            let (one, other) = (
                ComparableDocument::new(&one),
                ComparableDocument::new(&other),
            );
            // Words that the other does not hold come first.
            let shares = |said: &ComparableDocument<'_>, there: &ComparableDocument<'_>| {
                let is_there = |word: &str| usize::from(there.words.contains(word));
                said.rarest_words(is_there)
                    .into_iter()
                    .any(|word| is_there(word) > 0)
            };
            assert!(
                shares(&one, &other) || shares(&other, &one),
                "{:?}, {:?}",
                one.words,
                other.words
            );
        }
    }

    /// Twice the same.
    const SAME: &[(&str, &str)] = &[
        ("Use pnpm to install.", "Use pnpm to install."),
        (
            "Run make gen before the first build",
            "Before the first build, run make gen.",
        ),
        (
            "Steam the oak before bending",
            "STEAM THE OAK BEFORE BENDING",
        ),
        ("Commit the lock file", "Commit a lock file!"),
        (
            "Tests of the ledger need a running database",
            "The test of a ledger needs running databases",
        ),
        (
            "The snapshot server listens on port 5432",
            "The snapshot server\nlistens\non port 5432.",
        ),
        (
            "Amounts are cents in an i64, never f64",
            "Amounts are cents in an i64, never f64. The reviewer rejects anything else in the ledger.",
        ),
        (
            "Do not commit generated clients",
            "Never commit generated clients",
        ),
        (
            "E0502 in the cart: clone the handle before the loop",
            "Clone the handle before the loop (E0502 in the cart).",
        ),
        (
            "Set PGPOOL_MAX=3 for the checkout suite",
            "For the checkout suite, set `PGPOOL_MAX=3`.",
        ),
        (
            "Migrations live in db/migrate; a new one gets the next number",
            "migrations live in `db/migrate`: a new one gets the next number",
        ),
        (
            "Restart the emulator after the upgrade of the image",
            "After the upgrade of the image restart the emulator. Seen on the slow runner, too.",
        ),
        (
            "PostgreSQL rejects the empty array: cast it to text[]",
            "postgresql rejects an empty array; cast it to text[]",
        ),
        (
            "Don't mock the clock in the billing tests",
            "Don\u{2019}t mock the clock in billing tests.",
        ),
        (
            "The retry lives in src/retry.rs:41 and sleeps twice",
            "The retry lives in src/retry.rs:57 and sleeps twice",
        ),
    ];

    /// Not the same, however many words are.
    const OTHER: &[(&str, &str)] = &[
        (
            "E0382 in the cart: clone the handle before the loop",
            "E0499 in the cart: clone the handle before the loop",
        ),
        (
            "The snapshot server listens on port 5432",
            "The snapshot server listens on port 5433",
        ),
        (
            "Use the shared cache in the pipeline",
            "Do not use the shared cache in the pipeline",
        ),
        (
            "Commit the generated client",
            "Never commit the generated client",
        ),
        (
            "Install packages with pnpm, not npm",
            "Install packages with npm, not pnpm",
        ),
        (
            "Run the migration before the seed script",
            "Run the seed script before the migration",
        ),
        (
            "Deploy the staging cluster with the blue script",
            "Deploy the production cluster with the blue script",
        ),
        (
            "Run the unit tests with the fake clock and one thread",
            "Run the integration tests with the fake clock and one thread",
        ),
        (
            "Restart with `keelctl -p all` when the queue is stuck",
            "Restart with `keelctl -P all` when the queue is stuck",
        ),
        (
            "The retry lives in crates/cart/src/retry.rs and sleeps twice",
            "The retry lives in crates/mail/src/retry.rs and sleeps twice",
        ),
        (
            "Pin serde to 1.0.190 because of the derive regression",
            "Pin serde to 1.0.200 because of the derive regression",
        ),
        (
            "The parser of the header needs maxDepth raised",
            "The parser of the header needs maxWidth raised",
        ),
        (
            "Format every crate before the review",
            "Format every crate before the review, except the vendored ones",
        ),
        (
            "Stuck at 6 of 7 shards: drain the queue",
            "Stuck at 7 of 7 shards: drain the queue",
        ),
        (
            "Copy the fixtures from the ledger into the vault",
            "Copy the fixtures from the vault into the ledger",
        ),
        (
            "Oak splits along the grain",
            "The compiler runs out of memory",
        ),
        ("", ""),
    ];

    fn document(text: &str) -> MemoryDocument {
        MemoryDocument::from_fields("", text, "")
    }

    #[track_caller]
    fn check(one: &str, other: &str, same: bool) {
        let (first, second) = (document(one), document(other));
        let likeness = document_similarity(&first, &second);
        assert_eq!(
            likeness >= ALIKE_FROM,
            same,
            "{likeness}: `{one}`, `{other}`"
        );
        assert!((0.0..=1.0).contains(&likeness));
        assert!(
            (likeness - document_similarity(&second, &first)).abs() < 1e-9,
            "the order matters"
        );
    }

    #[test]
    fn what_is_said_twice_is_alike() {
        for (one, other) in SAME {
            check(one, other, true);
        }
    }

    #[test]
    fn what_differs_where_it_matters_is_not() {
        for (one, other) in OTHER {
            check(one, other, false);
        }
    }

    #[test]
    fn title_or_content_and_where_it_was_learned_do_not_matter() {
        let one =
            MemoryDocument::from_fields("Steam the oak", "Bend it while it is hot.", "task keel");
        let other = MemoryDocument::from_fields(
            "",
            "Steam the oak: bend it while it is hot",
            "Discovered while working on rudder",
        );
        assert!(document_similarity(&one, &other) >= ALIKE_FROM);
    }
}
