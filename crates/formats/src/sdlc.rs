//! Agentic SDLC: `state.json`, `manifest.yaml`, `metrics.jsonl`.
//!
//! [`read`] takes a `state.json` as it is met; [`SHAPE`] is what it must be
//! strictly. A changed [`State`] goes back through [`to_tree`] and
//! [`crate::json::patch`], so that what piton has no word for stays.
//! [`detect`] tells it from the other files of that name.
//!
//! [`import`] makes a plan of a state; [`show`] and [`edits`] keep the file a
//! face of its run.
//!
//! What a person may say of an issue is the table in `moves`; what follows from it is
//! decided in the core.

mod begin;
mod convert;
mod face;
mod formats;
mod layout;
mod manifest;
mod metrics;
mod moves;
mod own_work;
mod phases;
mod plan;
mod read;
mod review;
mod shape;
mod state;
mod tasks;
mod tree;

pub use face::{edits, show};
pub use formats::PLAN;
pub(crate) use layout::first_keys;
pub use layout::{Layout, detect};
pub use manifest::{Manifest, Repo, read_manifest};
pub use metrics::{AgentRecord, MetricsLog, read_metrics};
pub(crate) use plan::title_of_native;
pub use plan::{FACE, import};
pub use read::read;
pub use shape::SHAPE;
pub use state::{
    Invocation, Issue, IssueStatus, Metrics, Phase, PhaseStatus, PhaseTimes, State, Totals,
    derived_totals,
};
pub use tree::to_tree;

#[cfg(test)]
mod tests;
