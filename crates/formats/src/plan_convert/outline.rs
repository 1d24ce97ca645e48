//! A plan with the words that all formats share: what is converted.

use jiff::Timestamp;
use piton_core::event::{ItemEvent, ItemPlanned, RunEvent, RunPlanned};
use piton_core::journal::EventStamp;
use piton_core::plan::{Plan, PlannedItem};
use piton_core::{Actor, Event, EventId, Node as CoreNode, Tables, TreePosition};

use crate::plan_file::script_of_commands;

/// A plan, and what its file says in words that other formats have, too.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The plan.
    pub plan: Plan,
    /// What the file says of the whole.
    pub whole: PlanHeader,
    /// What it says of each item, in the order of the plan.
    pub words: Vec<ItemWords>,
}

/// What a file says of the whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanHeader {
    /// The name of the project.
    pub project: Option<String>,
    /// The branch to work on.
    pub branch: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// The commands that must succeed for every item.
    pub checks: Vec<String>,
}

/// What a file says of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemWords {
    /// What it is called.
    pub title: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// What must be true in the end.
    pub criteria: Vec<String>,
    /// What to do, in order.
    pub steps: Vec<String>,
    /// What people or agents noted.
    pub notes: Option<String>,
    /// Where it comes in the order of work.
    pub priority: Option<f64>,
    /// The commands that must succeed for this item alone.
    pub checks: Vec<String>,
    /// Who works on it, where that is none of piton's.
    pub at_work: Option<OutsideWork>,
}

/// What is done to an item that piton itself has not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideWork {
    /// It is worked on.
    Implementing,
    /// The work is looked at.
    Reviewing,
}

impl ItemWords {
    /// What an item is, in a line.
    pub(crate) fn headline(&self, item: &PlannedItem) -> String {
        let said = [&self.title, &self.description, &item.prompt];
        let said = said
            .into_iter()
            .flatten()
            .find(|text| !text.trim().is_empty());
        first_line(said.unwrap_or(&item.id))
    }

    /// All that is said of it but the line: paragraphs, and lists of points.
    pub(crate) fn body_blocks(&self, item: &PlannedItem) -> Vec<String> {
        let line = self.headline(item);
        let texts = [&self.title, &self.description].into_iter().flatten();
        let texts: Vec<&str> = texts.map(|text| text.trim()).collect();
        // The first of them begins with the line.
        let head = texts.first().and_then(|text| text.strip_prefix(&*line));
        let rest = texts.get(1).filter(|text| **text != line);
        let blocks = head.into_iter().chain(rest.copied());
        let mut blocks: Vec<String> = blocks.map(|text| text.trim().to_owned()).collect();
        blocks.extend(bullet_list(&self.criteria));
        blocks.extend(bullet_list(&self.steps));
        blocks.extend(self.notes.clone());
        blocks.retain(|block| !block.trim().is_empty());
        blocks
    }
}

/// A list of points, as a paragraph.
pub(crate) fn bullet_list(points: &[String]) -> Option<String> {
    let lines: Vec<String> = points
        .iter()
        .map(|point| format!("- {}", point.trim()))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

impl Outline {
    /// The items, each with its words.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&PlannedItem, &ItemWords)> {
        self.plan.items.iter().zip(&self.words)
    }

    /// The check that every item has that holds no others: a rule for all. What
    /// only some are checked by is none.
    pub(crate) fn common_check(&self) -> Option<String> {
        let leaves = || {
            self.plan
                .items
                .iter()
                .filter(|item| is_leaf(&self.plan, item))
        };
        let script = |item: &PlannedItem| Some(item.gate.as_ref()?.script.trim().to_owned());
        let first = leaves().next().and_then(script);
        let common =
            first.filter(|first| leaves().all(|item| script(item).as_ref() == Some(first)));
        common.or_else(|| script_of_commands(&self.whole.checks))
    }

    /// The same work without levels: what only holds others is left out, and what
    /// it waits for is waited for by what it holds.
    pub(crate) fn flatten(&self) -> Self {
        let plan = &self.plan;
        let leaves = self.items().filter(|(item, _)| is_leaf(plan, item));
        let (items, words) = leaves
            .zip(0..)
            .map(|((item, words), index)| (flat_item(plan, item, index), words.clone()))
            .unzip();
        Self {
            plan: Plan {
                items,
                ..plan.clone()
            },
            whole: self.whole.clone(),
            words,
        }
    }
}

fn flat_item(plan: &Plan, item: &PlannedItem, index: u32) -> PlannedItem {
    let above = |other: &&PlannedItem| item.node.is_within(&other.node);
    let on = plan.items.iter().filter(above);
    let on = on
        .flat_map(|other| &other.depends_on)
        .flat_map(|on| leaves_within(plan, on));
    let mut depends_on: Vec<CoreNode> = Vec::new();
    for node in on.map(|on| CoreNode::child(None, &flat_name(on), 1)) {
        if !depends_on.contains(&node) {
            depends_on.push(node);
        }
    }
    PlannedItem {
        node: CoreNode::child(None, &flat_name(item), 1),
        id: flat_name(item),
        place: TreePosition::default().child(index),
        depends_on,
        ..item.clone()
    }
}

/// The rows of a plan as if it had just been planned, in the words of a format.
pub(crate) fn tables_of_plan(plan: &Plan, face: &str, now: Timestamp) -> Tables {
    let stamp = EventStamp {
        id: EventId(plan.run.0),
        position: 1,
        time: now,
        actor: Actor::File(plan.source.clone()),
        checkout: None,
    };
    let mut tables = Tables::default();
    let own =
        |native: Option<piton_core::native::Native>| native.filter(|native| native.face == face);
    let planned = Event::Run(RunEvent::Planned(Box::new(RunPlanned {
        run: plan.run,
        name: plan.name.clone(),
        face: face.to_owned(),
        source: plan.source.clone(),
        policy: plan.policy.clone(),
        order: Some(plan.order),
        native: own(plan.native.clone()),
        past: plan.past.clone(),
    })));
    tables.fold(&planned, &stamp);
    for item in &plan.items {
        let event = Event::Item(ItemEvent::Planned(Box::new(ItemPlanned {
            run: plan.run,
            item: PlannedItem {
                native: own(item.native.clone()),
                ..item.clone()
            },
        })));
        tables.fold(&event, &stamp);
    }
    tables
}

pub(super) fn is_leaf(plan: &Plan, item: &PlannedItem) -> bool {
    !plan
        .items
        .iter()
        .any(|other| other.node.parent().as_ref() == Some(&item.node))
}

/// The name of an item where names have no levels.
pub(super) fn flat_name(item: &PlannedItem) -> String {
    if item.node.parent().is_none() {
        item.id.clone()
    } else {
        item.node.as_str().replace('/', ".")
    }
}

/// The first line of a text that says anything.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().to_owned()
}

/// The items that hold no others, of those at or below a node.
pub(super) fn leaves_within<'p>(
    plan: &'p Plan,
    node: &piton_core::Node,
) -> impl Iterator<Item = &'p PlannedItem> {
    let within = plan.items.iter();
    within.filter(move |item| item.node.is_within(node) && is_leaf(plan, item))
}
