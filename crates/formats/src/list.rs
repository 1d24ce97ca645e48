//! The project's own list: items that are added by command where no plan is named.
//! It stands in the journal alone, and no file shows it.

use piton_core::gate::Gate;
use piton_core::plan::{ItemTags, Plan, PlannedItem};
use piton_core::{Edit, ItemRow, ItemState, RunId, Tables};

use crate::plan_file::{gate_of_commands, plan_of_items, planned_item};
use crate::plan_format::{
    IN_ONE_FILE, ItemCommands, ItemEditing, ItemPatch, ItemUnit, NewItem, PlanFinding, PlanFormat,
    PlanPlace, PlanWords, PromptTemplates, join_title, split_title,
};

/// The name of this format.
pub const FACE: &str = "own-list";
/// The name of the run.
const NAME: &str = "list";
/// What stands where other plans have their path. No plan in a file has it: a sprint in
/// the folder of the project has the empty one, and a folder may be called `list`.
const SOURCE: &str = "piton:list";

/// The own list.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    unit: ItemUnit {
        one: "item",
        many: "items",
    },
    item_commands: Some(ItemCommands {
        plan: |_, new| Ok(plan_new_item(new)),
        write: None,
        edit: ItemEditing::Journal(edits_of_patch),
    }),
    finding: PlanFinding {
        place: PlanPlace::Journal,
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |_, _| PromptTemplates {
            header: Some("# {{node}}".to_owned()),
            position: Some(
                "You work on item {{phase.index}} of {{phase.total}}. Attempt {{attempt}}."
                    .to_owned(),
            ),
            files: Some("Leave `.piton/` alone.".to_owned()),
            ..PromptTemplates::default()
        },
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};

/// The plan of a list that begins with an item.
pub(crate) fn plan_of_list(run: RunId, new: &NewItem) -> Plan {
    plan_of_items(FACE, run, NAME, SOURCE, vec![plan_new_item(new)])
}

/// The check of an item.
fn gate_of_item(id: &str, title: &str, check: Option<&str>) -> Option<Gate> {
    let checks: Vec<&str> = check.into_iter().collect();
    let on_fail = format!(
        "It checks the work on **{id}** ({title}). Mend what it found, in the work and not in the check."
    );
    gate_of_commands(&checks, on_fail)
}

/// The edits that change an item. Another priority moves it among the others.
fn edits_of_patch(tables: &Tables, row: &ItemRow, patch: &ItemPatch) -> Vec<Edit> {
    let node = || row.node.clone();
    let words = row.plan.prompt.as_deref().unwrap_or_default();
    let (title, rest) = split_title(words);
    let title = patch.title.as_deref().unwrap_or(title);
    let rest = patch.prompt.as_ref().map_or(rest, Option::as_deref);
    let mut edits = Vec::new();
    if patch.title.is_some() || patch.prompt.is_some() {
        let prompt = Some(join_title(title, rest));
        edits.push(Edit::SetPrompt {
            node: node(),
            prompt,
        });
    }
    if patch.title.is_some() || patch.check.is_some() {
        let known = row.plan.gate.as_ref().map(|gate| gate.script.as_str());
        let check = patch.check.as_ref().map_or(known, Option::as_deref);
        let gate = gate_of_item(&row.plan.id, title, check);
        edits.push(Edit::SetGate { node: node(), gate });
    }
    if let Some(depends_on) = patch.depends_on.clone() {
        edits.push(Edit::SetDependsOn {
            node: node(),
            depends_on,
        });
    }
    let tags = ItemTags {
        labels: (patch.labels.clone()).unwrap_or_else(|| row.plan.tags.labels.clone()),
        priority: patch.priority.unwrap_or(row.plan.tags.priority),
    };
    if tags.rank() != row.plan.tags.rank() {
        let rank_of = |item: &ItemRow| match item.node == row.node {
            true => tags.rank(),
            false => item.plan.tags.rank(),
        };
        let roots = tables.tree(row.run);
        let roots = roots.filter(|item| item.plan.place.depth() == 1);
        let mut roots: Vec<&ItemRow> = roots.collect();
        roots.sort_by_key(|item| rank_of(item));
        edits.push(Edit::Order {
            parent: None,
            nodes: roots.iter().map(|item| item.node.clone()).collect(),
        });
    }
    if tags != row.plan.tags {
        edits.push(Edit::SetTags { node: node(), tags });
    }
    edits
}

fn plan_new_item(new: &NewItem) -> PlannedItem {
    PlannedItem {
        prompt: Some(new.words()),
        gate: gate_of_item(&new.id, &new.title, new.check.as_deref()),
        depends_on: new.after.clone(),
        tags: new.tags.clone(),
        // A dependency that is done already does not hold it up: the rules see to that.
        ..planned_item(&new.id, ItemState::Ready)
    }
}
