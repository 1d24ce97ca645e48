//! Who works on an item.

use piton_core::{ItemRow, Role, Stage};

use super::phase_item::{PHASES, phase_of_item};
use crate::plan_format::ItemRole;

/// Who works on an item: each issue is implemented, and reviewed.
pub(super) fn role_of_item(item: &ItemRow) -> Option<ItemRole> {
    let role = match item.stage == Stage::Review {
        true => Role::Reviewer,
        false => Role::Worker,
    };
    role_for_attempt(item, role)
}

/// What the roles are called.
pub(super) fn role_names() -> Vec<&'static str> {
    let of_phases = PHASES.iter().filter_map(|phase| phase.role.as_ref());
    let all = of_phases.chain([&CODER, &REVIEWER]);
    all.map(|role| role.name).collect()
}

/// Who works on an item where an agent is started for that.
pub(super) fn role_for_attempt(item: &ItemRow, role: Role) -> Option<ItemRole> {
    match phase_of_item(item) {
        Some(phase) => phase.role,
        None if role == Role::Reviewer => Some(REVIEWER),
        None => Some(CODER),
    }
}

const REVIEWER: ItemRole = ItemRole {
    name: "quality-reviewer",
    model: Some("opus"),
    artifact: None,
    brief: Some(
        "See whether it does what the issue asks for and nothing beyond it, whether it is right in the cases that are easy to overlook, whether tests show that it works, and whether it is written in the way of the code around it. Run the tests where that changes no file. What is a matter of taste alone is no reason to want changes.",
    ),
};

const CODER: ItemRole = ItemRole {
    name: "coder",
    model: Some("sonnet"),
    artifact: None,
    brief: Some(
        "You implement one issue of several: do what it asks for and nothing beyond it, in the way of the code that is here. Write the tests that show that it works, and run them.",
    ),
};
