//! Plans in which each item has a status of its own, whatever their documents look like.
//!
//! Such a format is one function, which finds the items in a text and where the status
//! of each stands ([`ParseItemList`]). The rest is the same for all of them and stands
//! here: the plan, the statuses that are written back, the edits of people. Which formats
//! there are: see the registry.

mod arrange;
mod differ;
mod document;

use std::ops::Range;

use piton_core::ItemRow;
use piton_core::native::Native;
use piton_core::plan::{Plan, PlannedItem};
use piton_core::scope::FileScope;
use piton_core::{ItemState, TreePosition};
use serde::{Deserialize, Serialize};

use crate::native::{pack, unpack};
use crate::plan_file::{PlanFileNotes, plan_of_items, planned_item};
use crate::plan_format::{PlanContext, PromptTemplates, reject_broken_plan};
use crate::plan_identity::PlanIdentity;
use crate::problem::{Problem, SourceText};
use crate::tree::Span;

pub(crate) use arrange::ArrangedList;
pub(crate) use document::StatusListDocument;

/// How an item stands, as far as a plan is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListedStatus {
    /// It is to be done.
    #[default]
    Open,
    /// It is done.
    Done,
    /// It is not to be done.
    LeftOut,
}

/// Where the status of an item stands in its text, and what is written there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatusMark {
    /// The bytes; empty where there is no status yet.
    pub(crate) at: Range<usize>,
    /// What says that it is done.
    pub(crate) done: String,
    /// What says that it is to be done.
    pub(crate) open: String,
}

/// An item of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListedItem {
    /// Its name, which no other item of the list has.
    pub(crate) id: String,
    /// The name of the item that it is a part of.
    pub(crate) parent: Option<String>,
    pub(crate) status: ListedStatus,
    /// What it is called.
    pub(crate) title: Option<String>,
    /// What else an agent has to know, in paragraphs.
    pub(crate) words: Vec<String>,
    /// What its status says beyond that it is open: `is in review`.
    pub(crate) note: Option<String>,
    /// The names of the items that it waits for.
    pub(crate) after: Vec<String>,
    /// The least comes first among those that can be begun.
    pub(crate) priority: f64,
    /// Whether a person has to see what comes of it.
    pub(crate) needs_approval: bool,
    /// Files that say what it means, seen from the folder of the list.
    pub(crate) documents: Vec<String>,
    /// The files that it touches: two about the same are not worked on at once.
    pub(crate) scope: Vec<String>,
    /// None where the file does not show it.
    pub(crate) mark: Option<StatusMark>,
    /// Where its problems are shown.
    pub(crate) span: Span,
}

/// The items in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ItemList {
    /// What the whole is called.
    pub(crate) name: Option<String>,
    /// What the whole is about.
    pub(crate) about: Option<String>,
    /// The part of the file that the plan is, where it holds several.
    pub(crate) part: Option<String>,
    pub(crate) items: Vec<ListedItem>,
}

/// The items in a text; none where it cannot be read.
pub(crate) type ParseItemList =
    fn(SourceText<'_>, PlanContext<'_>, &mut Vec<Problem>) -> Option<ItemList>;

/// What is particular to a format.
#[derive(Debug)]
pub(crate) struct ListTraits {
    /// Its name.
    pub(crate) face: &'static str,
    pub(crate) parse: ParseItemList,
    /// Whether the status of an item that holds others is written.
    pub(crate) writes_holders: bool,
    pub(crate) order: ListOrder,
    /// The ends of the paths of the files beside it that are read for each version of it.
    /// What others say counts when a run begins.
    pub(crate) reads_again: &'static [&'static str],
}

/// What says what an item waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListOrder {
    /// The item, by names.
    ByName,
    /// Its place in the list: what changes when another item comes in between is no edit.
    ByPlace,
}

/// What of a run only these formats have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StoredList {
    part: String,
}

/// What of an item only these formats have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StoredItem {
    /// What one is called that holds others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The part of the file that it stands in, as [`StoredList`] has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<String>,
}

impl ListTraits {
    fn arrange(
        &self,
        source: SourceText<'_>,
        of: PlanContext<'_>,
    ) -> (Option<ArrangedList>, Vec<Problem>) {
        let mut problems = Vec::new();
        let list = (self.parse)(source, of, &mut problems);
        let list = list.map(|list| ArrangedList::new(list, source.name, &mut problems));
        problems.sort_by_key(|problem| problem.bytes.start);
        (list, problems)
    }

    /// The plan in a text.
    pub(crate) fn read(
        &self,
        source: SourceText<'_>,
        of: PlanContext<'_>,
    ) -> (Option<Plan>, Vec<Problem>) {
        let (list, problems) = self.arrange(source, of);
        let plan = list.map(|list| {
            let items = list.order.iter().map(|at| self.plan_item(&list, *at));
            let name = of.name.resolve(list.list.name.as_deref());
            let part = list.list.part.clone();
            Plan {
                native: part.map(|part| pack(self.face, &StoredList { part })),
                ..plan_of_items(self.face, of.run, &name, of.source, items.collect())
            }
        });
        reject_broken_plan(source.name, plan, problems)
    }

    /// What is wrong in a text.
    pub(crate) fn problems(&self, source: SourceText<'_>) -> Vec<Problem> {
        self.arrange(source, PlanContext::of_text()).1
    }

    /// What the plan in a text is known by.
    pub(crate) fn identity(&self, source: SourceText<'_>) -> Option<PlanIdentity> {
        let list = self.arrange(source, PlanContext::of_text()).0?.list;
        let items = list.items.iter();
        let items = items.map(|item| item.title.as_deref().unwrap_or(&item.id));
        Some(PlanIdentity::new([list.name.as_deref()], items))
    }

    /// What a text says of its whole and of an item, beyond what was planned.
    pub(crate) fn notes(&self, source: SourceText<'_>, row: &ItemRow) -> PlanFileNotes {
        let of = PlanContext {
            native: row.plan.native.as_ref(),
            ..PlanContext::of_text()
        };
        let Some(list) = self.arrange(source, of).0 else {
            return PlanFileNotes::default();
        };
        let mut items = list.list.items.into_iter();
        let own = items.find(|one| one.id == row.plan.id).unwrap_or_default();
        PlanFileNotes {
            whole: list.list.about.filter(|about| !about.trim().is_empty()),
            details: own.note,
            documents: own.documents,
        }
    }

    fn plan_item(&self, list: &ArrangedList, at: usize) -> PlannedItem {
        let item = &list.list.items[at];
        let is_holder = list.is_holder(at);
        let stored = StoredItem {
            title: item.title.clone().filter(|_| is_holder),
            part: list.list.part.clone(),
        };
        PlannedItem {
            node: list.nodes[at].clone(),
            place: TreePosition(list.places[at].clone()),
            prompt: (!is_holder).then(|| render_prompt(item)),
            depends_on: list.nodes_before(at),
            approval: item.needs_approval && !is_holder,
            scope: FileScope(item.scope.clone()),
            native: (stored != StoredItem::default()).then(|| pack(self.face, &stored)),
            ..planned_item(&item.id, list.state(at))
        }
    }
}

/// The part of its file that a run works through, or that an item stands in, where the
/// file holds several.
pub(crate) fn part_of_native(native: Option<&Native>, face: &str) -> Option<String> {
    unpack(native, face).map(|kept: StoredList| kept.part)
}

/// What an item that holds others is called.
pub(crate) fn title_of_native(native: &Native) -> Option<String> {
    unpack(Some(native), &native.face).and_then(|kept: StoredItem| kept.title)
}

/// The templates of prompts, with the word for an item.
pub(crate) fn prompt_templates(item: &str, source: &str) -> PromptTemplates {
    PromptTemplates {
        header: Some(format!("# The list in {source}: {{{{node}}}}")),
        position: Some(format!(
            "You work on one {item} of it, {{{{phase.index}}}} of {{{{phase.total}}}}. Attempt {{{{attempt}}}}."
        )),
        files: Some(format!(
            "Leave `.piton/` alone, and the status of the {item} in {source} as it stands: piton changes it when there is evidence that the {item} is done."
        )),
        ..PromptTemplates::default()
    }
}

fn render_prompt(item: &ListedItem) -> String {
    let title = item.title.as_deref().map(str::trim);
    let title = title.filter(|title| !title.is_empty());
    let head = title.map_or_else(String::new, |title| format!(": {title}"));
    let words = item.words.iter().map(|words| words.trim());
    std::iter::once(&*format!("**{}**{head}", item.id))
        .chain(words.filter(|words| !words.is_empty()))
        .collect::<Vec<_>>()
        .join("\n\n")
}

impl ListedStatus {
    fn state(self) -> ItemState {
        match self {
            Self::Open => ItemState::Ready,
            Self::Done => ItemState::Done,
            Self::LeftOut => ItemState::Skipped,
        }
    }
}
