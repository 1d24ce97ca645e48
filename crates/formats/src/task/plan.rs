//! From a task file to a plan: an item for each criterion.

use std::collections::BTreeMap;

use piton_core::native::Native;
use piton_core::plan::{Plan, PlannedItem};
use piton_core::policy::{Limits, Policy};
use piton_core::scope::FileScope;
use piton_core::{ItemRow, ItemState, Node, RunId, TreePosition};
use serde::{Deserialize, Serialize};

use super::dialect::WorkOrder;
use super::{Criterion, Dialect, FrontMatter, TaskFile, find_given_id};
use crate::native::{pack, unpack};
use crate::plan_file::{gate_of_commands, plan_of_items, planned_item};
use crate::tree::Span;

/// The name of this format.
pub const FACE: &str = "task-file";

/// The plan that a task file describes, for a run of this id and name.
/// `source` is the path of the file, as the journal keeps it.
///
/// A criterion with others nested in it is done when they are. One of a group
/// waits for all of the group before it, as [`CriterionGroups`] says.
#[must_use]
pub fn plan_of_task(task: &TaskFile, run: RunId, name: &str, source: &str) -> Plan {
    let mut items: Vec<PlannedItem> = Vec::with_capacity(task.criteria.len());
    let mut counts = vec![0_u32; task.criteria.len()];
    let mut roots = 0;
    for (at, criterion) in task.criteria.iter().enumerate() {
        let above = criterion.parent.map(|above| items[above].clone());
        let index = match criterion.parent {
            Some(above) => &mut counts[above],
            None => &mut roots,
        };
        let place = above
            .as_ref()
            .map_or_else(TreePosition::default, |above| above.place.clone());
        let above = above.map(|above| above.node);
        items.push(PlannedItem {
            node: Node::child(above.as_ref(), &criterion.id, 1),
            place: place.child(*index),
            ..planned_criterion(task, at, source)
        });
        *index += 1;
    }
    let names: Vec<Node> = items.iter().map(|item| item.node.clone()).collect();
    let groups = CriterionGroups::of_task(task);
    for (at, item) in items.iter_mut().enumerate() {
        item.depends_on = groups.nodes_before(at, &names);
        if item.state == ItemState::Ready && groups.is_waiting(task, at) {
            item.state = ItemState::Pending;
        }
    }
    let native = (task.dialect != Dialect::Plain).then(|| {
        let dialect = task.dialect;
        pack(FACE, &StoredList { dialect })
    });
    Plan {
        policy: policy_of_task(task),
        native,
        ..plan_of_items(FACE, run, name, source, items)
    }
}

/// In which order the criteria of a file are worked on, by their groups: among
/// those that stand side by side all of a group come before those of the next
/// one, and those without a group come last. In a group the order says nothing.
pub(super) struct CriterionGroups {
    /// For each criterion those that it waits for.
    before: Vec<Vec<usize>>,
}

impl CriterionGroups {
    pub(super) fn of_task(task: &TaskFile) -> Self {
        let mut sides: BTreeMap<Option<usize>, BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
        for (at, criterion) in task.criteria.iter().enumerate() {
            let groups = sides.entry(criterion.parent).or_default();
            let group = criterion.group.unwrap_or(u64::MAX);
            groups.entry(group).or_default().push(at);
        }
        let mut before = vec![Vec::new(); task.criteria.len()];
        for groups in sides.values() {
            let next = groups.values().skip(1);
            for (first, then) in groups.values().zip(next) {
                for at in then {
                    before[*at].clone_from(first);
                }
            }
        }
        Self { before }
    }

    /// The names of those that a criterion waits for.
    pub(super) fn nodes_before(&self, at: usize, names: &[Node]) -> Vec<Node> {
        let before = self.before[at].iter();
        before.map(|before| names[*before].clone()).collect()
    }

    /// Whether something that the criterion, or one that it is nested in, waits for
    /// is not done yet.
    fn is_waiting(&self, task: &TaskFile, at: usize) -> bool {
        let line = std::iter::successors(Some(at), |at| task.criteria[*at].parent);
        let mut before = line.flat_map(|at| &self.before[at]);
        before.any(|before| state_of_criterion(task, *before) != ItemState::Done)
    }
}

/// What the file says of retries and limits.
pub(super) fn policy_of_task(task: &TaskFile) -> Policy {
    let front = task.front.as_ref();
    let iterations_max = front.and_then(|front| front.max_iterations);
    Policy {
        limits: Limits {
            iterations_max: iterations_max.map(|max| u32::try_from(max).unwrap_or(u32::MAX)),
            ..Limits::default()
        },
        ..Policy::default()
    }
}

/// A criterion as it is planned, as if it stood alone.
pub(super) fn planned_criterion(task: &TaskFile, at: usize, source: &str) -> PlannedItem {
    let criterion = &task.criteria[at];
    let holds_others = has_children(task, at);
    let front = task.front.as_ref();
    let title = title_of_task(task, source);
    let text = front_text(front, |front| front.test_command.as_ref());
    let commands: Vec<&str> = text.into_iter().collect();
    let gate = gate_of_commands(
        &commands,
        format!(
            "It checks this criterion of “{title}”: **{}**. Mend what it found, in the work and not in the check.",
            words_of_criterion(criterion)
        ),
    );
    let scope = match task.dialect.traits().order {
        // Whatever is worked on touches everything, as far as the list says.
        WorkOrder::OneAtATime => FileScope(vec![".".to_owned()]),
        WorkOrder::Comments | WorkOrder::Parts => FileScope::default(),
    };
    let needs_approval = task.dialect.traits().needs_approval;
    // What a person is to see may be parted into boxes.
    let mut line = std::iter::successors(Some(at), |at| task.criteria[*at].parent);
    let is_for_person = line.any(|at| needs_approval(&task.criteria[at].text));
    PlannedItem {
        approval: !holds_others && is_for_person,
        scope,
        prompt: (!holds_others).then(|| prompt_of_criterion(task, criterion, &title)),
        model: front_text(front, |front| front.model.as_ref()).map(str::to_owned),
        gate: gate.filter(|_| !holds_others),
        native: Some(StoredCriterion::new(task, criterion).pack()),
        ..planned_item(&criterion.id, state_of_criterion(task, at))
    }
}

fn front_text(
    front: Option<&FrontMatter>,
    of: fn(&FrontMatter) -> Option<&String>,
) -> Option<&str> {
    let text = front.and_then(of).map(|text| text.trim());
    text.filter(|text| !text.is_empty())
}

/// What the whole is called.
fn title_of_task(task: &TaskFile, source: &str) -> String {
    let front = front_text(task.front.as_ref(), |front| front.task.as_ref());
    let title = front.or(task.title.as_deref()).map(str::trim);
    let title = title.filter(|title| !title.is_empty());
    title.unwrap_or(source).to_owned()
}

/// The words of the criterion that an item keeps, without the id that it is called by.
pub(crate) fn words_of_native(native: &Native) -> Option<String> {
    let kept: StoredCriterion = unpack(Some(native), FACE)?;
    // An id that was made of the text is no part of it that stands for itself.
    let is_given = find_given_id(&kept.text).is_some_and(|id| id.eq_ignore_ascii_case(&kept.id));
    let rest = kept.text.strip_prefix(&kept.id).filter(|_| is_given);
    let rest = rest.map(|rest| rest.trim_start_matches(['.', ':', ' ', '\t']));
    let words = rest.filter(|words| !words.is_empty());
    Some(words.map_or(kept.text.clone(), str::to_owned))
}

/// The dialect that a run keeps.
pub(super) fn dialect_of_native(native: Option<&Native>) -> Dialect {
    unpack(native, FACE).map_or(Dialect::Plain, |kept: StoredList| kept.dialect)
}

fn words_of_criterion(criterion: &Criterion) -> &str {
    match criterion.text.trim() {
        "" => &criterion.id,
        text => text,
    }
}

fn has_children(task: &TaskFile, at: usize) -> bool {
    let next = task.criteria.get(at + 1);
    next.is_some_and(|next| next.parent == Some(at))
}

/// The criteria within that of this index, and within those.
fn indexes_below(task: &TaskFile, at: usize) -> impl Iterator<Item = usize> {
    let level = task.criteria[at].level;
    let rest = task.criteria.iter().enumerate().skip(at + 1);
    rest.take_while(move |(_, criterion)| criterion.level > level)
        .map(|(index, _)| index)
}

fn state_of_criterion(task: &TaskFile, at: usize) -> ItemState {
    let state_of_leaf = |at: usize| match &task.criteria[at] {
        one if one.ticked => ItemState::Done,
        one if one.optional => ItemState::Skipped,
        _ => ItemState::Ready,
    };
    if !has_children(task, at) {
        return state_of_leaf(at);
    }
    let leaves: Vec<ItemState> = indexes_below(task, at)
        .filter(|index| !has_children(task, *index))
        .map(state_of_leaf)
        .collect();
    let has = |state| leaves.contains(&state);
    match (has(ItemState::Ready), has(ItemState::Done)) {
        (false, true) => ItemState::Done,
        (false, false) => ItemState::Skipped,
        (true, true) => ItemState::Working,
        (true, false) => ItemState::Ready,
    }
}

fn prompt_of_criterion(task: &TaskFile, criterion: &Criterion, title: &str) -> String {
    let mut text = format!(
        "The task: {title}\n\n{}: **{}**",
        match task.dialect {
            Dialect::Plain => "Make this criterion true",
            Dialect::SpecKit | Dialect::OpenSpec | Dialect::Kiro | Dialect::Conductor =>
                "Do this item of it",
        },
        words_of_criterion(criterion)
    );
    let mut parts = Vec::new();
    if let Some(section) = criterion.section.as_deref() {
        parts.push(format!("It stands under “{}”.", section.trim()));
    }
    if let Some(above) = criterion.parent.and_then(|above| task.criteria.get(above)) {
        parts.push(format!("It is a part of “{}”.", words_of_criterion(above)));
    }
    if let Some(front) = task
        .front
        .as_ref()
        .filter(|front| front.browser_validation == Some(true))
    {
        let at = front
            .base_url
            .as_deref()
            .map_or_else(String::new, |url| format!(", at {url}"));
        parts.push(format!(
            "Look at the outcome in a browser{at}, and save a screenshot of it as `{SCREENSHOTS}/{}.png`.",
            screenshot_stem(criterion)
        ));
    }
    if !parts.is_empty() {
        text.push_str(&format!("\n\n{}", parts.join(" ")));
    }
    text
}

/// Where agents put pictures of what they looked at.
pub(crate) const SCREENSHOTS: &str = ".ralph/screenshots";

/// What the picture of a criterion is called, without its ending: by its number
/// where the file gives it one, which stays with it.
fn screenshot_stem(criterion: &Criterion) -> String {
    match criterion.written_number {
        Some(_) => format!("criterion-{}", criterion.number),
        None => format!("criterion-{}", criterion.id),
    }
}

/// What the picture of an item is to be called, without its ending; none where the
/// plan asks for none.
pub(crate) fn screenshot_of_native(native: &Native) -> Option<String> {
    let kept: StoredCriterion = unpack(Some(native), FACE)?;
    let name = kept.screenshot?;
    Some(format!("{SCREENSHOTS}/{name}"))
}

/// What of a whole list only this format has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StoredList {
    dialect: Dialect,
}

/// What of a criterion only this format has, as the file had it last: it tells
/// which criterion of a changed file an item is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredCriterion {
    /// Its id in the file.
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) section: Option<String>,
    /// What a picture of the outcome is to be called, without its ending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    screenshot: Option<String>,
}

impl StoredCriterion {
    pub(super) fn new(task: &TaskFile, criterion: &Criterion) -> Self {
        let front = task.front.as_ref();
        let is_shown = front.and_then(|front| front.browser_validation) == Some(true);
        Self {
            screenshot: is_shown.then(|| screenshot_stem(criterion)),
            id: criterion.id.clone(),
            number: criterion.number,
            text: criterion.text.clone(),
            section: criterion.section.clone(),
        }
    }

    pub(super) fn pack(&self) -> Native {
        pack(FACE, self)
    }

    pub(super) fn unpack(row: &ItemRow) -> Self {
        unpack(row.plan.native.as_ref(), FACE).unwrap_or_else(|| Self {
            id: row.plan.id.clone(),
            ..Self::default()
        })
    }

    /// The criterion, as far as it must be known to find it again.
    pub(super) fn to_criterion(&self) -> Criterion {
        Criterion {
            id: self.id.clone(),
            number: self.number,
            written_number: None,
            text: self.text.clone(),
            ticked: false,
            section: self.section.clone(),
            level: 0,
            parent: None,
            unknown_mark: None,
            optional: false,
            group: None,
            line: 0,
            tick: 0..0,
            span: Span::default(),
        }
    }
}
