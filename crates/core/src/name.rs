//! Names that native files need, given once and never again.
//!
//! Each file names its things in its own way: an attempt is `auth-login-2` in
//! `.ralph/progress.json`, an entry `entry-20260115-103000-k3f` in the log of
//! Agent OS. A name is drawn under the store's lock from those that are free,
//! so that no two processes ever give the same one out.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::AttemptId;
use crate::word::words;

words! {
    /// Whose names they are.
    Space {
        /// Attempts, as entries of `.ralph/progress.json`.
        Attempt = "attempt",
        /// Entries of the log of Agent OS.
        Entry = "entry",
        /// Guardrails, by their titles.
        Sign = "sign",
        /// Entries, by what they are known by in a text that gives no names.
        Mark = "mark",
        /// Memories, by the ids that they had where they were imported from.
        External = "external",
    }
}

/// What a name names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "id")]
pub enum NamedRow {
    /// An attempt.
    Attempt(AttemptId),
    /// An entry, by its position in the stream of the sessions.
    Entry(u64),
    /// A memory, by its id.
    Memory(String),
}

/// What the read tables know of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRow {
    /// Whose names it is among.
    pub space: Space,
    /// The name.
    pub name: String,
    /// What it names.
    pub of: NamedRow,
}

/// A text as a name of lower-case letters, digits and single dashes; `item`
/// when nothing of it is left.
#[must_use]
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "item".to_owned()
    } else {
        slug.to_owned()
    }
}

/// `base`, or the first of `base-2`, `base-3` … that is free.
#[must_use]
pub fn free_name(base: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(base) {
        return base.to_owned();
    }
    (2_u64..)
        .map(|nth| format!("{base}-{nth}"))
        .find(|name| !is_taken(name))
        .unwrap_or_else(|| base.to_owned())
}

/// Where the names begin that a store gives out, so that those of two clones of
/// a repository differ: `docs/design/0025-names-across-clones.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameRange {
    /// The number of the first memory of each kind.
    pub first: u64,
}

impl NameRange {
    /// Where no other store gives names: numbers count from 1.
    pub const ALONE: Self = Self { first: 1 };

    /// Numbers below are those of a store that was alone as it was made.
    pub const SHARED_FROM: u64 = 1000;
    /// How many places there are to begin at: 1000 to 9000.
    const PLACES: u64 = 8001;

    /// Where one of several stores begins. `chance` is any fresh id.
    #[must_use]
    pub fn for_shared_store(chance: Uuid) -> Self {
        Self {
            first: Self::SHARED_FROM + chance.as_u64_pair().1 % Self::PLACES,
        }
    }

    /// What stands in the names of attempts; nothing for a store that is alone.
    #[must_use]
    pub fn attempt_tag(self) -> Option<String> {
        if self == Self::ALONE {
            return None;
        }
        let digit = |nth: u32| {
            let digit = self.first / 36_u64.pow(nth) % 36;
            u32::try_from(digit)
                .ok()
                .and_then(|digit| char::from_digit(digit, 36))
        };
        (0..3).rev().map(digit).collect()
    }

    /// The number that is given out after one was, where `next` was to be the
    /// next. What others gave out changes nothing. A store that is alone also passes a
    /// number below [`Self::SHARED_FROM`]: a gap among those numbers may be one that
    /// was given up.
    #[must_use]
    pub fn next_number(self, next: u64, given: u64) -> u64 {
        let passes = self == Self::ALONE && given > next && given < Self::SHARED_FROM;
        if given == next || passes {
            given + 1
        } else {
            next
        }
    }
}

/// The numbers that are free for memories of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeNumbers {
    /// The next one.
    pub from: u64,
    /// The first after it that is taken; none where all are free.
    pub until: Option<u64>,
    /// From here on all are free.
    pub beyond: u64,
}

impl FreeNumbers {
    /// The same where all from this one on are free.
    #[must_use]
    pub fn free_from(from: u64) -> Self {
        Self {
            from,
            until: None,
            beyond: from,
        }
    }

    /// The numbers that are free where these are taken and `next` would be next.
    #[must_use]
    pub fn outside_taken(taken: &BTreeSet<u64>, next: u64) -> Self {
        let from = (next..).find(|number| !taken.contains(number));
        let from = from.unwrap_or(next);
        let last = taken.last().map_or(1, |last| last + 1);
        Self {
            from,
            until: taken.range(from..).next().copied(),
            beyond: last.max(from),
        }
    }

    /// The first of them that is not given out meanwhile.
    pub fn first_free(self, is_given: impl Fn(u64) -> bool) -> u64 {
        let near = self.from..self.until.unwrap_or(u64::MAX);
        near.chain(self.beyond..)
            .find(|number| !is_given(*number))
            .unwrap_or(self.beyond)
    }

    /// Those of them that come after one that was given out.
    #[must_use]
    pub fn skip_past(self, given: u64) -> Self {
        let next = given.saturating_add(1);
        match self.until.filter(|until| given >= *until) {
            Some(until) => Self {
                from: until,
                beyond: next,
                ..self
            },
            None => Self { from: next, ..self },
        }
    }
}

/// What the name of an entry of that time begins with: `entry-20260115-103000-`.
#[must_use]
pub fn entry_prefix(time: Timestamp) -> String {
    let civil = time.to_zoned(TimeZone::UTC);
    format!("entry-{}-", civil.strftime("%Y%m%d-%H%M%S"))
}

/// The second that the name of an entry tells, where it is one that
/// [`entry_prefix`] begins.
#[must_use]
pub fn entry_time(name: &str) -> Option<Timestamp> {
    const FORM: &str = "%Y%m%d-%H%M%S";
    const FORM_LEN: usize = 15;
    let rest = name.strip_prefix("entry-")?;
    let (time, rest) = rest.split_at_checked(FORM_LEN)?;
    let civil = jiff::civil::DateTime::strptime(FORM, time).ok()?;
    let zoned = civil.to_zoned(TimeZone::UTC).ok()?;
    rest.starts_with('-').then(|| zoned.timestamp())
}

/// How many characters of chance the name of an entry ends in, unless more are needed.
const ENTRY_CHANCE: usize = 3;
/// As many as a UUID has to give.
const ENTRY_CHANCE_MAX: usize = 12;

/// A free name for an entry of that time. `chance` is any fresh id.
#[must_use]
pub fn entry_name(time: Timestamp, chance: Uuid, is_taken: impl Fn(&str) -> bool) -> String {
    let prefix = entry_prefix(time);
    let letters = encode_base36(chance);
    let tries = (ENTRY_CHANCE..=ENTRY_CHANCE_MAX).flat_map(|count| {
        let letters = &letters;
        (0..=letters.len().saturating_sub(count)).map(move |from| &letters[from..from + count])
    });
    for letters in tries {
        let name = format!("{prefix}{letters}");
        if !is_taken(&name) {
            return name;
        }
    }
    free_name(&format!("{prefix}{letters}"), is_taken)
}

/// The random bits of an id as digits and lower-case letters.
fn encode_base36(id: Uuid) -> String {
    // The upper half of a UUIDv7 is the time, which all of a second share.
    let mut rest = id.as_u64_pair().1 & (u64::MAX >> 2);
    let mut letters = String::new();
    for _ in 0..ENTRY_CHANCE_MAX {
        let digit = u32::try_from(rest % 36).unwrap_or(0);
        letters.push(char::from_digit(digit, 36).unwrap_or('0'));
        rest /= 36;
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_that_share_a_repository_begin_at_places_of_their_own() {
        let firsts: BTreeSet<u64> = (0..20_000)
            .map(|chance| NameRange::for_shared_store(Uuid::from_u128(chance)).first)
            .collect();
        assert_eq!(firsts.len(), 8001);
        assert_eq!((firsts.first(), firsts.last()), (Some(&1000), Some(&9000)));
        let tags: BTreeSet<_> = firsts
            .iter()
            .map(|first| NameRange { first: *first }.attempt_tag())
            .collect();
        assert_eq!(tags.len(), 8001);
        assert!(tags.iter().flatten().all(|tag| tag.len() == 3), "{tags:?}");
        assert_eq!(NameRange::ALONE.attempt_tag(), None);
    }

    #[test]
    fn names_of_others_move_no_own_name() {
        let shared = NameRange { first: 4000 };
        assert_eq!(shared.next_number(4002, 4002), 4003);
        assert_eq!(shared.next_number(4002, 4010), 4002);
        assert_eq!(shared.next_number(4002, 7), 4002);
        assert_eq!(NameRange::ALONE.next_number(3, 7), 8, "a gap is not filled");
        assert_eq!(NameRange::ALONE.next_number(8, 5), 8);
        assert_eq!(NameRange::ALONE.next_number(8, 4711), 8);
        assert_eq!(NameRange::ALONE.next_number(4711, 4711), 4712);
    }

    #[test]
    fn a_number_is_given_once() {
        let taken = BTreeSet::from([1, 2, 3, 6, 7, 4711]);
        let free = FreeNumbers::outside_taken(&taken, 4);
        assert_eq!((free.from, free.until, free.beyond), (4, Some(6), 4712));
        let mut given = BTreeSet::new();
        for _ in 0..4 {
            given.insert(free.first_free(|number| given.contains(&number)));
        }
        assert_eq!(given, BTreeSet::from([4, 5, 4712, 4713]));
        let mut left = free;
        for number in given {
            assert_eq!(left.first_free(|_| false), number);
            left = left.skip_past(number);
        }
        assert_eq!(FreeNumbers::outside_taken(&taken, 6).from, 8);
        assert_eq!(
            FreeNumbers::outside_taken(&BTreeSet::new(), 1),
            FreeNumbers::free_from(1)
        );
    }

    #[test]
    fn the_name_of_an_entry_tells_its_second() {
        let time: Timestamp = "2026-01-15T10:30:09Z".parse().expect("a time");
        let name = format!("{}k3f", entry_prefix(time));
        assert_eq!(entry_time(&name), Some(time));
        for name in [
            "entry-init-001",
            "entry-20260115-103009",
            "auth-1",
            "entry-2026é",
            "",
        ] {
            assert_eq!(entry_time(name), None, "{name}");
        }
    }

    #[test]
    fn a_slug_fits_the_pattern_of_seed_000() {
        for (text, expect) in [
            ("auth-login", "auth-login"),
            ("US 001: Log in!", "us-001-log-in"),
            ("phase/step_2", "phase-step-2"),
            ("Übung", "bung"),
            ("日本", "item"),
            ("", "item"),
        ] {
            assert_eq!(slug(text), expect, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_the_next_number() {
        let taken = ["a-1", "a-1-2"];
        assert_eq!(free_name("a-1", |_| false), "a-1");
        assert_eq!(free_name("a-1", |name| taken.contains(&name)), "a-1-3");
    }

    #[test]
    fn names_of_entries_never_collide_however_many_there_are_in_a_second() {
        let time: Timestamp = "2026-01-15T10:30:00.25Z".parse().expect("a time");
        let chance = Uuid::from_u128(0x0190_0000_0000_7000_8abc_def0_1234_5678);
        let mut given = BTreeSet::new();
        for _ in 0..500 {
            let name = entry_name(time, chance, |name| given.contains(name));
            assert!(name.starts_with("entry-20260115-103000-"), "{name}");
            assert!(given.insert(name));
        }
        let first = given.iter().map(String::len).min();
        assert_eq!(first, Some("entry-20260115-103000-abc".len()));
    }
}
