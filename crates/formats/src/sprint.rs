//! Sprints: `SPRINT.yaml` and workflows in, `PROGRESS.yaml` out, and back.
//!
//! [`compile`] turns what a person wrote into a [`Progress`];
//! [`parse_progress`] reads one that piton, its user or the original tool
//! wrote; [`render_progress`] writes it anew, [`update_progress`] changes the
//! text that is there. [`detect_layout`] tells a
//! `PROGRESS.yaml` from the older and the foreign documents of that name.
//!
//! [`edits`](fn@edits) tells what somebody changed in one by hand. What the three files must
//! be strictly stands in [`PROGRESS_SHAPE`], [`SPRINT_SHAPE`] and [`WORKFLOW_SHAPE`].
//!
//! Nothing here runs a sprint: what a status may become is not decided here.

mod backlog;
mod check;
mod checker;
mod compile;
mod convert;
mod dependencies;
mod edits;
mod elapsed;
mod expand;
mod export;
mod field;
mod formats;
mod import;
mod layout;
mod native;
mod progress;
mod read;
mod requests;
mod shape;
mod template;
mod wait;
mod workflow;
mod worktree;
mod write;

pub use crate::plan_file::Shown;
pub use crate::problem::Source;
pub use compile::{Compilation, Lookup, Options, Workflows, compile};
pub use edits::{edits, edits_without_base};
pub use elapsed::{format_elapsed, parse_elapsed};
pub use export::Exporter;
pub(crate) use formats::FILES;
pub use formats::{PLAN, done_in_turn};
pub use import::import;
pub use layout::{Layout, detect_layout};
pub use native::FACE;
pub(crate) use native::name_of_node;
pub use progress::{
    Children, Current, Gate, GateStatus, GateTracking, HumanNeeded, PhaseNode, PhaseStatus,
    Progress, SprintStatus, Stats, Wait,
};
pub use read::parse_progress;
pub use shape::{PROGRESS_SHAPE, SPRINT_SHAPE, WORKFLOW_SHAPE};
pub use write::{render_progress, update_progress};
