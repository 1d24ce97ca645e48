//! Agentic SDLC: `state.json`, `manifest.yaml`, `metrics.jsonl`.
//!
//! [`parse_state`] takes a `state.json` as it is met; [`SHAPE`] is what it must be
//! strictly. A changed [`SdlcState`] goes back through [`to_tree`] and
//! [`crate::json::patch`], so that what piton has no word for stays.
//! [`detect_layout`] tells it from the other files of that name.
//!
//! [`plan_of_state`] makes a plan of a state; [`render_run`] and [`collect_edits`] keep the file a
//! face of its run.
//!
//! What a person may say of an issue is the table in `moves`; what follows from it is
//! decided in the core.

mod begin;
mod convert;
mod formats;
mod layout;
mod manifest;
mod metrics;
mod moves;
mod native;
mod native_file;
mod own_work;
mod phase_item;
mod phases;
mod plan;
mod read;
mod review;
mod roles;
mod shape;
mod state;
mod tasks;
mod tree;

pub use formats::PLAN;
pub(crate) use layout::first_keys;
pub use layout::{StateLayout, detect_layout};
pub use manifest::{Manifest, ManifestRepo, parse_manifest};
pub use metrics::{AgentRecord, MetricsLog, parse_metrics};
pub(crate) use native::title_of_native;
pub use native_file::{collect_edits, render_run};
pub use plan::plan_of_state;
pub use read::parse_state;
pub use shape::SHAPE;
pub use state::{
    AgentInvocation, FACE, IssueStatus, Metrics, Phase, PhaseStatus, PhaseTimes, SdlcIssue,
    SdlcState, Totals, derived_totals,
};
pub use tree::to_tree;

#[cfg(test)]
mod tests;
