//! Memories that contradict each other.
//!
//! Only what is plain to see: two sentences of the same words, one of which is
//! denied ("use npm", "never use npm"), or two settings of one thing ("use port
//! 5432", "use port 5433"). A person must look at each: a contradiction that is missed
//! is found when it does harm, a wrong finding costs that person time.

use std::collections::BTreeMap;

use super::memory_view::MemoryView;
use super::statement::{Statement, parse_statements};
use crate::memory::MemoryKind;

/// Two that contradict each other, by their places: the one that the other may
/// take the place of comes first.
pub(super) struct Contradiction {
    pub(super) earlier: usize,
    pub(super) later: usize,
    pub(super) earlier_says: String,
    pub(super) later_says: String,
}

/// Contradictions, each pair once. Each statement is compared with the one
/// before it of the same words, so that no crowd is compared with itself.
pub(super) fn find_contradictions(rows: &[&MemoryView<'_>]) -> Vec<Contradiction> {
    let said: Vec<Vec<Statement>> = rows
        .iter()
        .map(|row| {
            parse_statements(row.title)
                .chain(parse_statements(row.content))
                .collect()
        })
        .collect();
    let mut about: BTreeMap<&str, Vec<(usize, &Statement)>> = BTreeMap::new();
    for (at, statements) in said.iter().enumerate() {
        for statement in statements {
            about
                .entry(&statement.subject)
                .or_default()
                .push((at, statement));
        }
    }
    let mut found: BTreeMap<(usize, usize), Contradiction> = BTreeMap::new();
    for statements in about.values_mut() {
        statements.sort_by_key(|(at, _)| precedence_of_memory(rows[*at]));
        for pair in statements.windows(2) {
            let [(earlier, first), (later, second)] = pair else {
                continue;
            };
            // A memory that says both has a reason to.
            let says_both = |at: usize, other: &Statement| {
                said[at]
                    .iter()
                    .any(|own| own.subject == other.subject && own.is_equivalent_to(other))
            };
            if earlier != later
                && first.is_contradiction_of(second)
                && !says_both(*earlier, second)
                && !says_both(*later, first)
            {
                found
                    .entry((*earlier, *later))
                    .or_insert_with(|| Contradiction {
                        earlier: *earlier,
                        later: *later,
                        earlier_says: first.said.clone(),
                        later_says: second.said.clone(),
                    });
            }
        }
    }
    found.into_values().collect()
}

/// What may take the place of what: a guardrail of anything else, the newer of
/// the older.
fn precedence_of_memory<'r>(row: &'r MemoryView<'_>) -> (bool, jiff::Timestamp, &'r str) {
    (row.kind == MemoryKind::Guardrail, row.learned_at, row.id)
}
