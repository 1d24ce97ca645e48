//! What a person's edits bring is trusted: they are that person's word.
//!
//! An edit of a plan's file is a person's where no agent of the project was at work when
//! it was taken in ([`EditAuthor`]), and where git does not have it: what came with a pull
//! is another person's.

use piton_core::command::EditAuthor;
use piton_core::trust::{ExecutablePart, PartKind, parts_of_edits, parts_of_plan};
use piton_core::{Command, DecisionRow, Need, RunId};
use piton_formats::plan_format::{PlanContext, PlanName};
use piton_formats::problem::SourceText;
use piton_formats::registry::plan_format;

use super::Session;
use crate::config::trust::TrustCheck;
use crate::git;
use crate::project::Project;
use crate::world::World;

/// Trusts what a command brought that was carried out, where a person gave or wrote it.
/// What cannot be kept is asked about later.
pub(crate) fn trust_edits_of_command(session: &Session<'_>, command: &Command) {
    let Command::TakeEdits {
        run,
        file,
        edits,
        word,
        ..
    } = command
    else {
        return;
    };
    let is_read = match word {
        EditAuthor::Hand { .. } => true,
        EditAuthor::Person { .. } => false,
        // An item that is added to a list has the checks of the list as well, which the
        // person did not type: the command itself trusts what was typed.
        EditAuthor::Typed { .. }
        | EditAuthor::File
        | EditAuthor::Piton
        | EditAuthor::MaybeAgent { .. } => return,
    };
    let world = session.world;
    let parts = parts_of_edits(file, edits);
    if parts.is_empty() || world.agent().is_some() {
        return;
    }
    let trust = TrustCheck::open(world, &session.project);
    let mut parts = trust.untrusted(parts);
    if is_read && !parts.is_empty() {
        let Some(committed) = committed_parts(session, *run, file) else {
            return;
        };
        parts.retain(|part| committed.iter().all(|other| other.hash() != part.hash()));
    }
    if !parts.is_empty() {
        store_parts(session.world, &session.project, &parts);
    }
}

/// Trusts the check that a person typed for an item.
pub(crate) fn trust_typed_check(world: &World, project: &Project, check: Option<&str>) {
    let part = check.map(|check| ExecutablePart::new(PartKind::Check, "piton add", check));
    let parts = TrustCheck::open(world, project).untrusted(part.into_iter().collect());
    if !parts.is_empty() && world.agent().is_none() {
        store_parts(world, project, &parts);
    }
}

/// Trusts what edits bring that a person was asked about, and has let hold.
pub(crate) fn trust_decided_edits(session: &Session<'_>, row: &DecisionRow) {
    let source = row.file.as_deref().unwrap_or_default();
    let parts = parts_of_edits(source, &row.edits);
    if !parts.is_empty() && session.world.agent().is_none() {
        store_parts(session.world, &session.project, &parts);
    }
}

fn store_parts(world: &World, project: &Project, parts: &[ExecutablePart]) {
    let trust = TrustCheck::open(world, project);
    if let Err(failure) = trust.store(world, parts) {
        tracing::warn!(%failure, "a person's edit is not kept as trusted");
    }
}

/// What of git another person may have written that lies in the work tree: the commit
/// that is checked out, what is staged, and what is being merged or picked.
const COMMITTED: [&str; 4] = ["HEAD", "", "MERGE_HEAD", "CHERRY_PICK_HEAD"];

/// The parts of a plan's file as git has it; none of a file that it does not have. None
/// where that cannot be said.
fn committed_parts(session: &Session<'_>, run: RunId, file: &str) -> Option<Vec<ExecutablePart>> {
    let project = &session.project;
    if !project.in_git {
        // The command may be typed elsewhere, of a project in a repository.
        return (!project.is_in_git()).then(Vec::new);
    }
    let path = project.path_in_work_tree(file)?;
    let rows = session.load(&[Need::Run(run)]).ok()?;
    let row = rows.tables.run(run)?;
    let format = plan_format(&row.plan.face)?;
    let mut parts = Vec::new();
    for commit in COMMITTED {
        let Some(text) = git::stored_text(&project.work_tree, commit, &path).ok()? else {
            continue;
        };
        let text = SourceText {
            name: file,
            text: &text,
        };
        let context = PlanContext {
            run,
            name: PlanName::Own(&row.name),
            source: &row.plan.source,
            native: row.plan.native.as_ref(),
            ..PlanContext::of_text()
        };
        let (plan, _) = (format.read)(text, context);
        parts.extend(parts_of_plan(&plan?));
    }
    Some(parts)
}
