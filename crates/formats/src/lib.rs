//! Native files of agent loops to and from the core types. Text in, text out.
//!
//! - [`tree`]: what a JSON or YAML document holds, with the place of every value.
//! - [`yaml`]: YAML to that tree, and a writer whose output
//!   every YAML reader takes for the same strings.
//! - [`agent_hooks`]: hooks in the settings of agent programs.
//! - [`agent_os`]: `.agent-os/progress/`, read tolerantly and written in place.
//! - [`adoption`]: what of a file was taken, and what was not.
//! - [`conflict`]: an unresolved merge.
//! - [`ends`]: large texts of which only the ends are read.
//! - [`native_file`]: what a file of the project has to do with the core.
//! - [`format`]: the native formats as a table.
//! - [`json`]: JSON to that tree, and changes written into a JSON text so that
//!   only what changed is touched.
//! - [`beads`], [`bmad`], [`gsd`]: the issues of beads, the stories of BMAD, the plans of
//!   GSD.
//! - [`line_diff`]: what changed between two texts, for people.
//! - [`list`]: the project's own list, which no file shows.
//! - [`log_convert`]: a log of one format in the form of another.
//! - [`merge`]: three versions of a file made one.
//! - [`mark_origins`]: where the marks of a plan were set.
//! - [`plan_convert`]: a plan of one format in the form of another.
//! - [`plan_file`]: the file of a plan, as a face of its run.
//! - [`plan_format`]: what is asked of a format of plans.
//! - [`plan_identity`]: whether a file holds another plan than before.
//! - [`project_format`]: what is asked of files of the project.
//! - [`registry`]: which formats there are.
//! - [`other_tools`]: plans that piton names and cannot run.
//! - [`problem`]: what is wrong in a person's file, where, and how to mend it.
//! - [`ralph_json`]: `.ralph/progress.json`, read tolerantly and written in place.
//! - [`prd`]: `prd.json` in both of its shapes.
//! - [`sdlc`]: `state.json`, `manifest.yaml` and `metrics.jsonl`.
//! - [`screenshots`]: how pictures are called.
//! - [`shape`]: what a format demands strictly, as a table that is checked and
//!   printed as JSON Schema.
//! - [`sprint`]: `SPRINT.yaml` and workflows compiled to `PROGRESS.yaml`, and
//!   `PROGRESS.yaml` read and written.
//! - [`ralph_dir`]: `progress.md`, `guardrails.md` and what else is in `.ralph/`.
//! - [`task_master`]: the tasks of Task Master.
//! - [`task`]: criteria with boxes in a Markdown file.
//! - [`title`]: what an item is called.
//! - [`markdown`]: how Markdown is changed without touching what others wrote.
//!
//! Nothing here opens a file, asks for the time or reads the environment, and
//! no input makes it panic.

// Named so because rustfmt finds modules in no other macro.
macro_rules! cfg_if {
    (if #[cfg(plans)] { $(pub mod $family:ident;)* }) => {
        $(pub mod $family;)*
        static PLANS: &[&plan_format::PlanFormat] = &[$(&$family::PLAN),*];
    };
    (if #[cfg(project_files)] { $(pub mod $family:ident;)* }) => {
        $(pub mod $family;)*
        static PROJECT_FILES: &[&project_format::ProjectFormat] = &[$(&$family::PROJECT),*];
    };
}

// The formats of plans, a line each. About a text that may be of several, a
// later one is asked first.
cfg_if! {
    if #[cfg(plans)] {
        pub mod sprint;
        pub mod prd;
        pub mod task;
        pub mod sdlc;
        pub mod list;
        pub mod task_master;
        pub mod gsd;
        pub mod bmad;
        pub mod beads;
        pub mod other_tools;
    }
}

// The families of files of the project, a line each.
cfg_if! {
    if #[cfg(project_files)] {
        pub mod ralph_json;
        pub mod agent_os;
        pub mod ralph_dir;
    }
}

pub mod adoption;
pub mod agent_hooks;
pub mod conflict;
mod document;
pub mod ends;
mod field_reader;
pub mod format;
mod graph;
pub mod json;
pub mod line_diff;
pub mod log_convert;
pub mod mark_origins;
pub mod markdown;
pub mod merge;
mod native;
pub mod native_file;
mod pending_edits;
pub mod plan_convert;
pub mod plan_file;
pub mod plan_format;
pub mod plan_identity;
pub mod problem;
pub mod project_format;
mod record;
pub mod registry;
mod report;
pub mod screenshots;
mod sequence;
pub mod shape;
mod shape_merge;
mod status_list;
pub mod title;
pub mod tree;
pub mod yaml;

pub use self::report::closest_word;
