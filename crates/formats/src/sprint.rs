//! Sprints: `SPRINT.yaml` and workflows in, `PROGRESS.yaml` out, and back.
//!
//! [`compile`] turns what a person wrote into a [`SprintProgress`];
//! [`parse_progress`] reads one that piton, its user or the original tool
//! wrote; [`render_progress`] writes it anew, [`update_progress`] changes the
//! text that is there. [`detect_layout`] tells a
//! `PROGRESS.yaml` from the older and the foreign documents of that name.
//!
//! [`collect_edits`] returns what a person changed in one by hand. What the three files
//! must be strictly stands in [`PROGRESS_SHAPE`], [`SPRINT_SHAPE`] and [`WORKFLOW_SHAPE`].
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

pub use crate::plan_file::ShownRun;
pub use crate::problem::SourceText;
pub use compile::{Compilation, CompileOptions, compile};
pub use edits::{collect_edits, collect_edits_without_base};
pub use elapsed::{format_elapsed, parse_elapsed};
pub use export::SprintExporter;
pub(crate) use formats::FILES;
pub use formats::{PLAN, parallel_keys};
pub use import::plan_of_progress;
pub use layout::{SprintLayout, detect_layout};
pub use native::FACE;
pub(crate) use native::name_of_native;
pub use progress::{
    Children, GateStatus, GateTracking, NodePointer, NodeProgress, PhaseNode, PhaseStatus,
    SprintGate, SprintHumanNeeded, SprintProgress, SprintSettings, SprintStatus, SprintStop,
    SprintWait, Stats,
};
pub use read::parse_progress;
pub use shape::{PROGRESS_SHAPE, SPRINT_SHAPE, WORKFLOW_SHAPE};
pub use workflow::{WorkflowLookup, WorkflowSource};
pub use write::{render_progress, update_progress};
