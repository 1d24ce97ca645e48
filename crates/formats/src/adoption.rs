//! What of a file was taken, and what was not: plain data, for people and for
//! programs.
//!
//! Keys are compared by the table of the format, entries are counted by what its
//! reader gives; what else a format knows of its files (headings, rules, boxes)
//! it counts itself.

mod counts;

use crate::conflict;
use crate::format::{DocumentRole, Format, context_of_source};
use crate::plan_format::{PlanContext, PlanName};
use crate::problem::{Problem, SourceText};
use crate::registry::{plan_format, project_files};

pub use counts::{Adoption, AdoptionCount, CountedKind, SkippedEntry};

impl Format {
    /// What of a text is taken, and what is not. Of one that cannot be read, nothing
    /// is counted: its problems say why.
    #[must_use]
    pub fn adoption(&self, source: SourceText<'_>) -> Adoption {
        let is_broken = |problems: &[Problem]| problems.iter().any(Problem::is_error);
        if conflict::find_unresolved_merge(source).is_some() || is_broken(&(self.read)(source)) {
            return Adoption::default();
        }
        let own = (self.counts)(source);
        let entries = count_entries(self, source);
        // A format that counts its rules does not count them as entries as well.
        let entries = entries.filter(|_| own.iter().all(|count| count.what != CountedKind::Rules));
        let keys = AdoptionCount::from_keys(self.compare_keys(source.text));
        let all = entries.into_iter().chain(own).chain([keys]);
        let is_there = |count: &AdoptionCount| count.taken + count.left > 0;
        Adoption {
            counts: all.filter(is_there).collect(),
        }
    }
}

fn count_entries(format: &Format, source: SourceText<'_>) -> Option<AdoptionCount> {
    let of_plan = [
        DocumentRole::Plan,
        DocumentRole::Adopted,
        DocumentRole::Progress,
    ]
    .contains(&format.role);
    if of_plan {
        let of = PlanContext {
            name: PlanName::Own(""),
            source: source.name,
            ..PlanContext::of_text()
        };
        let plan = (plan_format(format.face)?.read)(source, of).0?;
        return Some(AdoptionCount::new(
            CountedKind::Entries,
            plan.items.len(),
            [],
        ));
    }
    let mut files = project_files().filter(|file| file.face == format.face);
    let file = files.find(|file| format.paths.contains(&file.path))?;
    let took = (file.take)(source.text, None, &context_of_source(source));
    let left = took.problems.iter().filter(|one| one.code == "NOT_TAKEN");
    let left = left.map(|problem| SkippedEntry::new(problem.line, &problem.path));
    Some(AdoptionCount::new(
        CountedKind::Entries,
        took.found.len(),
        left,
    ))
}
