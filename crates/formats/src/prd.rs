//! `prd.json`: what is to be done, in a list, and what of it passes.
//!
//! Two shapes are known: `{"features": […]}` and `{"branchName", "userStories":
//! […]}`; and lists of the same items stand under `stories`, under `tasks` or
//! are the whole document. [`parse_prd`] takes all as they are met; [`detect_layout`]
//! tells them from the other documents of that name. [`plan_of_prd`] makes a plan of a
//! list; [`render_run`] and [`collect_edits`] keep the file a face of its run.

mod convert;
mod edit_item;
mod formats;
mod layout;
mod native_file;
mod new_item;
mod passes;
mod plan;
mod read;
mod shape;

use piton_core::evidence::ClaimOverrides;
use piton_core::scope::FileScope;

use crate::plan_identity::PlanIdentity;

pub use formats::PLAN;
pub use layout::{PrdItemsLocation, PrdLayout, detect_layout};
pub use native_file::{collect_edits, render_run};
pub(crate) use plan::criteria_in_prompt;
pub use plan::{FACE, plan_of_prd};
pub use read::parse_prd;
pub use shape::{FEATURES_SHAPE, USER_STORIES_SHAPE};

/// A list of things to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Prd {
    /// Which of the shapes it has: [`PrdLayout::Features`], [`PrdLayout::UserStories`] or
    /// [`PrdLayout::Requirements`].
    pub layout: PrdLayout,
    /// What it is for, if it says so.
    pub project: Option<String>,
    /// What it is about, if it says so.
    pub description: Option<String>,
    /// The branch to work on, if it names one.
    pub branch_name: Option<String>,
    /// What is to be done, in the order of the file.
    pub items: Vec<PrdItem>,
    /// Shell commands that must succeed for any item.
    pub verification: Vec<String>,
}

impl Prd {
    /// What the list is known by: its project, its branch, and what its items
    /// are called.
    #[must_use]
    pub fn identity(&self) -> PlanIdentity {
        let names = [self.project.as_deref(), self.branch_name.as_deref()];
        let items = self.items.iter();
        let items = items.map(|item| {
            let said = item.title.as_deref().or(item.description.as_deref());
            said.unwrap_or(&item.id)
        });
        PlanIdentity::new(names, items)
    }
}

/// One thing to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrdItem {
    /// Its name, unique within the file.
    pub id: String,
    /// What it is called.
    pub title: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// What must be true in the end.
    pub criteria: Vec<String>,
    /// What to do, in order.
    pub steps: Vec<String>,
    /// Where it comes in the order of work: the least first.
    pub priority: Option<f64>,
    /// The items that should be done before.
    pub depends_on: Vec<String>,
    /// Whether it was seen to be done; `None` where the file does not say.
    pub passes: Option<bool>,
    /// Shell commands that must succeed for this item.
    pub verification: Vec<String>,
    /// What people or agents noted.
    pub notes: Option<String>,
    /// What proof is worth for this item.
    pub claims: ClaimOverrides,
    /// The files that it is about.
    pub scope: FileScope,
}

#[cfg(test)]
mod tests;
