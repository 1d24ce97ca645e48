//! What seed 000 decides after a failure (`DecideRecovery`), and what it
//! prepares before an attempt (`PrepareExecution`).
//!
//! It leaves open when a blocker is similar to a failure, and when a learning is
//! relevant to one. Read generously: when its title stands in what failed, or a
//! whole line of what failed stands in it (the baseline `substring / equal
//! title` of the data set), and the best match is taken rather than the first.
//! A resolved blocker always has its resolution. What is superseded counts as
//! not valid any more. Where the seed asks a person it goes on as the loop does.

use piton_core::memory::{MemoryKind, MemoryRow};

/// After so many attempts it asks a person.
const ATTEMPTS_MAX: u32 = 3;

/// Lines shorter than this say nothing.
const LINE_BYTES_MIN: usize = 12;

/// What it gives the next attempt as guidance; none where it asks a person.
#[must_use]
pub fn decide<'m>(
    memories: &[&'m MemoryRow],
    detail: &str,
    attempts: u32,
) -> Option<&'m MemoryRow> {
    if attempts >= ATTEMPTS_MAX {
        return None;
    }
    let detail = without_colours(detail).to_lowercase();
    let best = |is_meant: fn(&MemoryRow) -> bool| {
        let meant = memories.iter().filter(|row| is_meant(row));
        let found = meant.map(|row| (likeness(row, &detail), *row));
        let found = found.filter(|(likeness, _)| *likeness > 0);
        // The older of two that are as good.
        found
            .max_by_key(|(likeness, row)| (*likeness, std::cmp::Reverse(row.position)))
            .map(|(_, row)| row)
    };
    best(|row| row.memory.kind == MemoryKind::ResolvedBlocker).or_else(|| {
        best(|row| row.memory.kind == MemoryKind::Learning && is_of(row, "error-workaround"))
    })
}

/// Every learning of the two kinds that it loads before an attempt.
#[must_use]
pub fn prepare(memories: &[&MemoryRow]) -> String {
    let loaded = memories.iter().filter(|row| {
        let kinds = ["codebase-pattern", "error-workaround"];
        row.memory.kind == MemoryKind::Learning && kinds.iter().any(|kind| is_of(row, kind))
    });
    let lines = loaded.map(|row| format!("- {}", row.memory.content));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_of(row: &MemoryRow, topic: &str) -> bool {
    row.memory.topic.as_deref() == Some(topic)
}

fn likeness(row: &MemoryRow, detail: &str) -> usize {
    let memory = &row.memory;
    let title = memory.title.as_deref().unwrap_or_default().to_lowercase();
    let context = memory.context.as_deref().unwrap_or_default();
    let body = format!("{title}\n{}\n{context}", memory.content).to_lowercase();
    let lines = detail.lines().map(str::trim);
    let lines = lines.filter(|line| line.len() >= LINE_BYTES_MIN);
    let equal = lines.filter(|line| body.contains(line)).count();
    let is_named = !title.is_empty() && detail.contains(&title);
    equal + if is_named { 2 } else { 0 }
}

/// The text without the sequences that colour it.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let end = part.find(|sign: char| sign.is_ascii_alphabetic());
        plain + end.map_or(part, |end| &part[end + 1..])
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::Result;
    use crate::recall::data;
    use crate::recovery::world::World;

    fn memory(id: &str, kind: MemoryKind, title: &str) -> data::Memory {
        data::Memory {
            project: "tidepool".to_owned(),
            id: id.to_owned(),
            kind,
            topic: (kind == MemoryKind::Learning).then(|| "error-workaround".to_owned()),
            title: title.to_owned(),
            content: format!("what to do about {id}"),
            context: None,
            created_at: Timestamp::UNIX_EPOCH,
            superseded_by: None,
        }
    }

    /// What is decided about a text, as content.
    fn decided(detail: &str, attempts: u32) -> Result<Option<String>> {
        let set = [
            memory("learned", MemoryKind::Learning, "index 8784 out of range"),
            memory("resolved", MemoryKind::ResolvedBlocker, "no station key"),
            memory("kept to", MemoryKind::Guardrail, "never edit charts"),
        ];
        let rows = World::new(Timestamp::UNIX_EPOCH).remember(&set)?;
        let rows: Vec<&MemoryRow> = rows.values().collect();
        let found = decide(&rows, detail, attempts);
        Ok(found.map(|row| row.memory.content.clone()))
    }

    #[track_caller]
    fn check(detail: &str, attempts: u32, expected: Option<&str>) {
        let found = decided(detail, attempts).expect("a store in memory");
        let expected = expected.map(|id| format!("what to do about {id}"));
        assert_eq!(found, expected, "{detail}");
    }

    #[test]
    fn a_title_or_a_whole_line_is_what_it_goes_by() {
        check("panicked: Index 8784 out of range!", 1, Some("learned"));
        check(
            "\u{1b}[31mwhat to do about learned\u{1b}[0m\nend",
            1,
            Some("learned"),
        );
        check("the index was too large", 1, None);
        check("never edit charts", 1, None);
    }

    #[test]
    fn what_was_resolved_comes_before_what_was_learned() {
        check(
            "index 8784 out of range: no station key",
            1,
            Some("resolved"),
        );
    }

    #[test]
    fn the_third_attempt_is_the_last_before_a_person() {
        check("no station key", 2, Some("resolved"));
        check("no station key", 3, None);
    }
}
