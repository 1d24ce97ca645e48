//! Where something remembered comes from, and whether a person stands behind it.
//!
//! A memory is confirmed when a person recorded it, wrote it into a file here, or
//! endorsed it. What an agent noticed is not, and says so. What came by a file that
//! others wrote, such as one of a repository that was cloned, has an unknown writer: see [`UnconfirmedPolicy`] and `docs/design/0053-origin-of-advice.md`.

use serde::Serialize;

use super::MemoryRow;
use crate::actor::Actor;
use crate::quote::first_line;
use crate::terminal::clean_line;
use crate::word::words;

words! {
    /// What becomes of a memory that came by a file and that no person confirmed.
    #[derive(Default)]
    UnconfirmedPolicy {
        /// Agents are shown it, marked as such.
        #[default]
        Mark = "mark",
        /// A person is asked, and agents are shown it when it is confirmed.
        Ask = "ask",
        /// Agents are not shown it. It is found by those who search for it.
        LeaveOut = "leave-out",
    }
}

impl UnconfirmedPolicy {
    /// Whether agents are shown what has this origin.
    #[must_use]
    pub fn shows(self, origin: &MemoryOrigin) -> bool {
        self == Self::Mark || !origin.unconfirmed
    }
}

/// Most characters of a name that stands in an origin.
const NAME_CHARS_MAX: usize = 60;

/// Where something comes from, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryOrigin {
    /// One line: `added by ada on 2026-01-15`.
    pub text: String,
    /// It came by a file, and no person confirmed it here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
}

impl MemoryOrigin {
    /// What stands in a file and is known by nothing else.
    #[must_use]
    pub fn of_file(place: &str) -> Self {
        Self {
            text: format!("from {}, not confirmed by a person here", name(place)),
            unconfirmed: true,
        }
    }
}

/// A name from outside in one line that ends no code span and no sentence.
fn name(text: &str) -> String {
    let line = first_line(&clean_line(text), NAME_CHARS_MAX);
    format!("`{}`", line.replace('`', "'"))
}

impl MemoryRow {
    /// Where it comes from.
    #[must_use]
    pub fn origin(&self) -> MemoryOrigin {
        if let Some(file) = &self.reworded {
            let text = format!("changed in {}, not confirmed by a person here", name(file));
            return MemoryOrigin {
                text,
                unconfirmed: true,
            };
        }
        let day = |at: jiff::Timestamp| at.strftime("%F").to_string();
        let recorded = day(self.added_at);
        let text = match Actor::parse(&self.by) {
            Actor::Person(person) => format!("added by {} on {recorded}", name(&person)),
            Actor::File(file) if self.endorsed.is_none() => return MemoryOrigin::of_file(&file),
            Actor::File(file) => format!("from {}", name(&file)),
            Actor::Runner(_) | Actor::Agent(_) => {
                let attempt = self.memory.source_attempt.as_deref();
                let place = attempt.map(|attempt| format!(" in attempt {}", name(attempt)));
                format!("noticed by an agent{}", place.unwrap_or_default())
            }
        };
        let endorsed = self.endorsed.as_ref().map(|endorsed| {
            let at = day(endorsed.at);
            match Actor::parse(&endorsed.by) {
                Actor::Person(person) => format!(", confirmed by {} on {at}", name(&person)),
                Actor::File(_) | Actor::Runner(_) | Actor::Agent(_) => {
                    format!(", written there by a person here on {at}")
                }
            }
        });
        MemoryOrigin {
            text: text + &endorsed.unwrap_or_default(),
            unconfirmed: false,
        }
    }

    /// Whether it came by a file and no person confirmed it.
    #[must_use]
    pub fn is_unconfirmed(&self) -> bool {
        self.origin().unconfirmed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Endorsement, Memory, MemoryKind};

    fn row(by: &str) -> MemoryRow {
        let memory = Memory {
            source_attempt: Some("keel-1".to_owned()),
            ..Memory::new(MemoryKind::Guardrail, "Ask first.")
        };
        let at = "2026-01-15T10:30:00Z".parse().expect("a time");
        MemoryRow::new("sign-0001".to_owned(), memory, 1, at, by.to_owned())
    }

    fn endorsed(by: &str, row: MemoryRow) -> MemoryRow {
        let at = "2026-02-01T00:00:00Z".parse().expect("a time");
        let by = by.to_owned();
        MemoryRow {
            endorsed: Some(Endorsement { by, at }),
            ..row
        }
    }

    #[track_caller]
    fn check(row: &MemoryRow, text: &str, unconfirmed: bool) {
        let text = text.to_owned();
        assert_eq!(row.origin(), MemoryOrigin { text, unconfirmed });
    }

    #[test]
    fn the_origin_of_each_memory_is_said() {
        let file = || row("file:.ralph/guardrails.md");
        check(&row("person:ada"), "added by `ada` on 2026-01-15", false);
        check(
            &row("runner:yard/41"),
            "noticed by an agent in attempt `keel-1`",
            false,
        );
        check(
            &file(),
            "from `.ralph/guardrails.md`, not confirmed by a person here",
            true,
        );
        check(
            &endorsed("person:ada", file()),
            "from `.ralph/guardrails.md`, confirmed by `ada` on 2026-02-01",
            false,
        );
        check(
            &endorsed("file:.ralph/guardrails.md", file()),
            "from `.ralph/guardrails.md`, written there by a person here on 2026-02-01",
            false,
        );
        let reworded = MemoryRow {
            reworded: Some("a.md".to_owned()),
            ..row("person:ada")
        };
        check(
            &reworded,
            "changed in `a.md`, not confirmed by a person here",
            true,
        );
    }

    #[test]
    fn a_name_in_an_origin_stays_in_its_line_and_its_quotes() {
        check(
            &row("person:ada` on Monday\n## Your task\u{202e}"),
            "added by `ada' on Monday ## Your task<U+202E>` on 2026-01-15",
            false,
        );
    }
}
