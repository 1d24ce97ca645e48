//! The checklists of other tools: how each writes ids, what waits for what, and which
//! documents lie beside it.
//!
//! A dialect is recognised by the boxes of a text alone, so that a copy under another
//! name means the same. Where such files lie is a row of the formats ([`super::formats`]).

use serde::{Deserialize, Serialize};

use super::{Criterion, ids};
use crate::markdown::Doc;

/// Whose checklist a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// A task file, or any list with boxes.
    #[default]
    Plain,
    /// `tasks.md` of spec-kit.
    SpecKit,
    /// `tasks.md` of an OpenSpec change.
    OpenSpec,
    /// `tasks.md` of a Kiro spec.
    Kiro,
    /// `plan.md` of a conductor track.
    Conductor,
}

/// What waits for what in a checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkOrder {
    /// What comments say: `<!-- group: N -->`.
    Comments,
    /// Parts under headings of the second level wait for each other, and so do items
    /// that are not marked `[P]`.
    Parts,
    /// No item waits for another, and no two are worked on at once.
    OneAtATime,
}

/// A dialect in which nothing is particular.
const PLAIN: DialectTraits = DialectTraits {
    find_id: None,
    order: WorkOrder::Comments,
    nests_by_number: false,
    needs_approval: |_| false,
    documents: &[],
};

/// What is particular to a dialect.
pub(super) struct DialectTraits {
    /// How an item names itself; none where [`ids::id_of_text`] holds.
    find_id: Option<fn(&str) -> Option<&str>>,
    /// What waits for what.
    pub(super) order: WorkOrder,
    /// Whether `2.1` belongs to the `2` above it although it is not nested in it.
    nests_by_number: bool,
    /// Whether a person has to see what came of an item of these words.
    pub(super) needs_approval: fn(&str) -> bool,
    /// What lies beside the list that says what its items mean: files and folders.
    documents: &'static [&'static str],
}

impl Dialect {
    /// What is particular to it. Sources: the templates of spec-kit (`tasks-template.md`,
    /// and the order that its `implement` command describes), OpenSpec's instructions,
    /// Kiro's documentation of specs, conductor's `workflow.md`.
    pub(super) fn traits(self) -> &'static DialectTraits {
        match self {
            Self::Plain => &PLAIN,
            Self::SpecKit => &DialectTraits {
                find_id: Some(ids::task_id),
                order: WorkOrder::Parts,
                documents: &[
                    "spec.md",
                    "plan.md",
                    "data-model.md",
                    "contracts",
                    "research.md",
                    "quickstart.md",
                ],
                ..PLAIN
            },
            Self::OpenSpec => &DialectTraits {
                find_id: Some(ids::dotted_id),
                order: WorkOrder::OneAtATime,
                documents: &["proposal.md", "design.md", "specs"],
                ..PLAIN
            },
            Self::Kiro => &DialectTraits {
                find_id: Some(ids::dotted_id),
                order: WorkOrder::OneAtATime,
                nests_by_number: true,
                documents: &["requirements.md", "bugfix.md", "design.md"],
                ..PLAIN
            },
            Self::Conductor => &DialectTraits {
                order: WorkOrder::OneAtATime,
                needs_approval: |text| text.contains("User Manual Verification"),
                documents: &["spec.md"],
                ..PLAIN
            },
        }
    }

    /// The dialect of a text with these boxes: that which most of them are written in.
    pub(super) fn detect(doc: &Doc<'_>, criteria: &[Criterion]) -> Self {
        let is_mostly = |is_so: &dyn Fn(&Criterion) -> bool| {
            let count = criteria.iter().filter(|one| is_so(one)).count();
            count > 0 && count * 2 > criteria.len()
        };
        if is_mostly(&|one| ids::task_id(&one.text).is_some()) {
            return Self::SpecKit;
        }
        // A name in a part of its own number: `## 1. Core` with `1.1 text`.
        let is_of_part = |one: &Criterion| {
            let id = ids::dotted_id(&one.text).filter(|id| id.contains('.'));
            let section = one.section.as_deref().and_then(ids::dotted_id);
            id.zip(section)
                .is_some_and(|(id, part)| id.split('.').next() == part.split('.').next())
        };
        if is_mostly(&is_of_part) {
            return Self::OpenSpec;
        }
        if is_mostly(&|one| ids::dotted_id(&one.text).is_some()) && has_kiro_signs(doc) {
            return Self::Kiro;
        }
        let outer = || criteria.iter().filter(|one| one.level == 0);
        let tasks = outer().filter(|one| is_task(&one.text)).count();
        if tasks > 0 && tasks * 2 > outer().count() {
            return Self::Conductor;
        }
        Self::Plain
    }

    /// Files and folders that may lie beside such a list, seen from its folder.
    pub(super) fn documents(self) -> Vec<String> {
        let documents = self.traits().documents.iter();
        documents.map(|name| (*name).to_owned()).collect()
    }

    /// The id that an item gives itself in this dialect.
    pub(super) fn find_id(self, text: &str) -> Option<&str> {
        self.traits().find_id.and_then(|find_id| find_id(text))
    }

    /// Nests what belongs to an item above it by its number alone.
    pub(super) fn nest_by_number(self, criteria: &mut [Criterion]) {
        if !self.traits().nests_by_number {
            return;
        }
        let mut above: Option<(usize, String)> = None;
        for at in 0..criteria.len() {
            let one = &criteria[at];
            let parent = match (one.parent, &above) {
                (Some(parent), _) => Some(parent),
                (None, Some((parent, number))) => {
                    let id = ids::dotted_id(&one.text);
                    let is_part = id.is_some_and(|id| id.starts_with(number.as_str()));
                    is_part.then_some(*parent)
                }
                (None, None) => None,
            };
            if let Some(parent) = parent {
                let holder = (criteria[parent].level, criteria[parent].optional);
                let one = &mut criteria[at];
                one.parent = Some(parent);
                one.level = holder.0 + 1;
                one.optional |= holder.1;
            } else {
                above = ids::dotted_id(&one.text).map(|id| (at, format!("{id}.")));
            }
        }
    }

    /// Puts the items of a list whose parts wait for each other into groups, the nth
    /// of which waits for the one before it.
    pub(super) fn assign_groups(self, doc: &Doc<'_>, criteria: &mut [Criterion]) {
        if self.traits().order != WorkOrder::Parts {
            return;
        }
        let parts: Vec<usize> = doc
            .headings
            .iter()
            .filter(|heading| heading.level <= 2)
            .map(|heading| heading.line)
            .collect();
        let mut group = 0;
        let mut last: Option<(usize, bool)> = None;
        for criterion in criteria.iter_mut().filter(|one| one.parent.is_none()) {
            let line = criterion.line as usize;
            let part = parts.partition_point(|heading| *heading < line);
            let now = (part, is_parallel(&criterion.text));
            // Only neighbours that both say so are worked on side by side.
            group += u64::from(last != Some(now) || !now.1);
            last = Some(now);
            criterion.group = Some(group);
        }
    }
}

/// Whether an item of spec-kit may be worked on beside its neighbours: `T012 [P] text`,
/// also behind another label: `T012 [US1] [P] text`.
fn is_parallel(text: &str) -> bool {
    let Some((_, labels)) = ids::task_id(text).and_then(|id| text.split_once(id)) else {
        return false;
    };
    let between = |c: char| c.is_whitespace() || c == ':' || ids::EMPHASIS.contains(&c);
    let mut rest = labels.trim_start_matches(between);
    while let Some((label, behind)) = rest
        .strip_prefix('[')
        .and_then(|label| label.split_once(']'))
    {
        if label == "P" {
            return true;
        }
        rest = behind.trim_start_matches(between);
    }
    false
}

/// Whether an item of conductor says that it is a task: `Task: text`, `**Task:** text`.
fn is_task(text: &str) -> bool {
    text.trim_start_matches(ids::EMPHASIS).starts_with("Task:")
}

/// Kiro's lists refer to requirements by number, and begin with the same heading.
fn has_kiro_signs(doc: &Doc<'_>) -> bool {
    let is_titled = doc.headings.first().is_some_and(|heading| {
        doc.heading_text(heading)
            .trim()
            .eq_ignore_ascii_case("implementation plan")
    });
    is_titled || doc.text.contains("_Requirements:")
}
