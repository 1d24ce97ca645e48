//! The project's own list: items that are added by command where no plan is named.
//! It stands in the journal alone, and no file shows it.

use piton_core::plan::{Plan, PlannedItem};
use piton_core::{ItemState, RunId};

use crate::plan_file::{gate_of_commands, plan_of_items, planned_item};
use crate::plan_format::{
    IN_ONE_FILE, ItemAddition, ItemUnit, NewItem, PlanFinding, PlanFormat, PlanPlace, PlanWords,
    PromptTemplates,
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
    new_item: Some(ItemAddition {
        plan: |_, new| Ok(plan_new_item(new)),
        write: None,
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

fn plan_new_item(new: &NewItem) -> PlannedItem {
    let checks: Vec<&str> = new.check.as_deref().into_iter().collect();
    let on_fail = format!(
        "It checks the work on **{}** ({}). Mend what it found, in the work and not in the check.",
        new.id, new.title
    );
    PlannedItem {
        prompt: Some(new.words()),
        gate: gate_of_commands(&checks, on_fail),
        depends_on: new.after.clone(),
        // A dependency that is done already does not hold it up: the rules see to that.
        ..planned_item(&new.id, ItemState::Ready)
    }
}
