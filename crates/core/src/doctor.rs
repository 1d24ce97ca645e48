//! Examining the memory: what is said twice, contradicts itself, speaks of files
//! that are gone, or does not help.
//!
//! Nothing is changed here, and nothing is ever to be deleted: each finding says
//! what a person may type next, which supersedes or retires, with a reason, and
//! can be read later. Whether files are there, the caller looks: see
//! [`named_paths`](mod@crate::named_paths).

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use crate::confidence::is_doubted;
use crate::memory::MemoryKind;
use crate::quote::truncate_chars;
use crate::word::words;

mod contradictions;
mod duplicates;
mod memory_view;
mod statement;

use contradictions::find_contradictions;
use duplicates::find_duplicates;
pub use memory_view::MemoryView;

words! {
    /// What is the matter.
    FindingKind {
        /// Two say the same.
        Duplicate = "duplicate",
        /// Two contradict each other.
        Contradiction = "contradiction",
        /// Attempts failed with it, more often than it helped.
        Doubted = "doubted",
        /// The files that it names are gone.
        Stale = "stale",
        /// It has not been used for long.
        NeverUsed = "never-used",
    }
}

/// Something that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryFinding {
    /// What is the matter.
    pub kind: FindingKind,
    /// With which memories; of two, the one to be superseded first.
    pub ids: Vec<String>,
    /// In a sentence.
    pub text: String,
    /// What to type next.
    pub next: String,
}

/// What the caller has looked up.
#[derive(Clone, Copy, Debug)]
pub struct DoctorFacts<'a> {
    /// The present time.
    pub now: Timestamp,
    /// Of the paths that are named, those that are nowhere in the project.
    pub gone: &'a BTreeSet<String>,
}

/// After so many days an attempt would have used it.
const UNUSED_DAYS: i64 = 90;
const DAY_S: i64 = 86_400;
/// So much of a text stands in a sentence about it, in characters.
const SAID_MAX: usize = 80;

/// What is the matter with what is remembered, kind by kind. A memory is
/// proposed for retirement once, for the first reason.
#[must_use]
pub fn examine_memories(rows: &[MemoryView<'_>], facts: &DoctorFacts<'_>) -> Vec<MemoryFinding> {
    let mut followed: Vec<&MemoryView<'_>> = rows.iter().filter(|row| row.followed).collect();
    followed.sort_by_key(|row| row.id);
    let duplicates = find_duplicates(&followed);
    let replaced: BTreeSet<usize> = duplicates.iter().map(|(replaced, _)| *replaced).collect();
    let twins = duplicates.iter().map(|(old, new)| {
        let (old, new) = (followed[*old].id, followed[*new].id);
        let text = format!("{old} says the same as {new}");
        supersede_finding(FindingKind::Duplicate, old, new, text)
    });
    let disputes = find_contradictions(&followed).into_iter().map(|found| {
        let (old, new) = (followed[found.earlier].id, followed[found.later].id);
        let text = format!(
            "{old} says \"{}\" and {new} says \"{}\"; if the latter holds, it takes its place",
            shorten_excerpt(&found.earlier_says),
            shorten_excerpt(&found.later_says),
        );
        supersede_finding(FindingKind::Contradiction, old, new, text)
    });
    let single = followed.iter().enumerate();
    let single = single.filter(|(at, _)| !replaced.contains(at));
    let mut retired: Vec<MemoryFinding> = single
        .filter_map(|(_, row)| {
            find_doubted(row)
                .or_else(|| find_stale(row, facts))
                .or_else(|| find_unused(row, facts))
        })
        .collect();
    retired.sort_by_key(|finding| finding.kind);
    twins.chain(disputes).chain(retired).collect()
}

/// The record speaks against it.
fn find_doubted(row: &MemoryView<'_>) -> Option<MemoryFinding> {
    is_doubted(row.helped, row.failed).then(|| {
        let text = format!(
            "of the attempts that had {} in their prompt {} failed and {} succeeded",
            row.id, row.failed, row.helped
        );
        retire_finding(FindingKind::Doubted, row, text, "attempts failed with it")
    })
}

/// No file that it names is there any more. Where one of several is gone, the
/// rest may well hold; and where none is named, nothing is known.
fn find_stale(row: &MemoryView<'_>, facts: &DoctorFacts<'_>) -> Option<MemoryFinding> {
    let all_gone = row.paths.iter().all(|path| facts.gone.contains(path));
    // A bare name may be that of something that is made, or stand for any such file.
    let has_place = row.paths.iter().any(|path| path.contains('/'));
    (has_place && all_gone).then(|| {
        let text = match row.paths.as_slice() {
            [one] => format!("{} names {}, which is gone", row.id, shorten_excerpt(one)),
            paths => format!("{} names {} files, and all are gone", row.id, paths.len()),
        };
        retire_finding(FindingKind::Stale, row, text, "what it names is gone")
    })
}

/// It was not used for long. A guardrail is there so that something does not
/// happen: it may hold for years before it is needed.
fn find_unused(row: &MemoryView<'_>, facts: &DoctorFacts<'_>) -> Option<MemoryFinding> {
    let age_s = facts
        .now
        .as_second()
        .saturating_sub(row.added_at.as_second());
    let age_days = age_s / DAY_S;
    let is_unused = row.referenced == 0 && row.helped == 0 && age_days > UNUSED_DAYS;
    (is_unused && row.kind != MemoryKind::Guardrail).then(|| {
        let text = format!("{} was recorded {age_days} days ago and never used", row.id);
        retire_finding(FindingKind::NeverUsed, row, text, "never used")
    })
}

fn retire_finding(
    kind: FindingKind,
    row: &MemoryView<'_>,
    text: String,
    why: &str,
) -> MemoryFinding {
    MemoryFinding {
        kind,
        ids: vec![row.id.to_owned()],
        text,
        next: format!(
            "piton learn retire {} --why '{why}'",
            quote_for_shell(row.id)
        ),
    }
}

fn supersede_finding(kind: FindingKind, old: &str, new: &str, text: String) -> MemoryFinding {
    MemoryFinding {
        kind,
        ids: vec![old.to_owned(), new.to_owned()],
        text,
        next: format!(
            "piton learn supersede {} --by {}",
            quote_for_shell(old),
            quote_for_shell(new)
        ),
    }
}

/// A text of others in one line, not too long.
fn shorten_excerpt(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate_chars(&text, SAID_MAX)
}

/// An id as it is typed in a shell. Files of others may give any.
fn quote_for_shell(id: &str) -> String {
    let is_plain =
        |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.' | '/');
    if !id.is_empty() && !id.starts_with('-') && id.chars().all(is_plain) {
        id.to_owned()
    } else {
        format!("'{}'", id.replace('\'', r"'\''"))
    }
}
