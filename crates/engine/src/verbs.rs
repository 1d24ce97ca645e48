//! The verbs: what people and programs ask of piton, as plain functions over
//! plain data. The command line, and later HTTP and MCP, translate them.

pub mod account;
pub mod agents;
mod arguments;
pub mod attach;
pub mod clean;
pub mod compile;
pub mod config;
pub mod control;
pub mod costs;
pub mod detach;
pub mod doctor;
pub mod files;
pub mod find;
pub mod gate;
pub mod history;
pub mod hook;
pub mod import;
pub mod inbox;
pub mod init;
pub mod issue;
pub mod item_edit;
pub mod item_view;
pub mod items;
pub mod journal;
pub mod land;
mod land_others;
mod landed_work;
pub mod learn;
pub mod log;
pub mod new_run;
pub mod next;
pub(crate) mod open_questions;
pub mod prepare;
pub mod recall;
pub mod recent;
pub mod record;
pub mod recover;
pub mod report;
pub mod run;
pub mod session;
pub mod setup_check;
pub mod show;
pub mod sprint;
pub mod status;
pub mod store;
pub mod transcript;
pub mod trust;

use std::path::Path;

use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::native_files::FileNotice;
use crate::native_files::project_sync::{self, AskedFileFingerprints};
use crate::project::Project;
use crate::runner::run_worktrees::{self, CleanupOccasion};
use crate::session::Session;
use crate::world::World;

pub use crate::failure::notice::NoticeSink;

/// The session of the project that the present folder is in, made if there is none.
fn create_session<'w>(world: &'w World, told: &mut NoticeSink<'_>) -> Result<Session<'w>, Failure> {
    let project = Project::find(world, &world.cwd);
    Session::open_or_create(world, project, &mut |text| told(Notice::Said(text)))
}

/// Brings the native files up to date with what was stored, and tells what was
/// found in them. Whatever becomes of them, what is stored is stored.
fn sync_project_files(session: &Session<'_>, told: &mut NoticeSink<'_>) {
    FileNotice::emit_all(&project_sync::sync_files(session), told);
    run_worktrees::reattach_branches(session, told);
    run_worktrees::remove_finished_worktrees(session, CleanupOccasion::Write, told);
    land::record_landed_runs(session);
}

/// The same where nothing more is going to happen for now.
fn sync_project_files_at_rest(session: &Session<'_>, told: &mut NoticeSink<'_>) {
    FileNotice::emit_all(
        &project_sync::sync_files_at_rest(session, &mut AskedFileFingerprints::new()),
        told,
    );
}

/// A path, relative to the project where it lies in it.
fn display_path(session: &Session<'_>, path: &Path) -> String {
    session.project.relative_path(path)
}
