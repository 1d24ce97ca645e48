//! A plan that is not worked on yet becomes a run of its own, which its file
//! shows from then on.

use std::path::Path;

use piton_core::plan::Plan;
use piton_core::{Command, HolderLiveness, Refusal, RunId};
use piton_formats::format::{self, RecognisedFile};
use piton_formats::plan_format::{PlanContext, PlanName};
use piton_formats::problem::SourceText;
use piton_formats::registry::plan_format;
use piton_store::CommitError;

use crate::failure::{Failure, unreadable_file, unwritable_file};
use crate::native_files::plan_sync;
use crate::session::Session;
use crate::world::input::sha256;

/// Keeps the plan in a file as a run, unless it is one already;
/// whether it was kept now. One that has errors is left alone.
///
/// # Errors
///
/// When the file cannot be read, or the store fails.
pub(super) fn adopt_plan(session: &Session<'_>, source: &str) -> Result<bool, Failure> {
    let path = session.project.absolute_path(source);
    let bytes = session
        .project
        .read_bytes(&path)
        .map_err(|error| unreadable_file(&path, error))?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Ok(false);
    };
    let Ok(RecognisedFile::Format(found)) = format::recognise_file(source, text) else {
        return Ok(false);
    };
    let Some(format) = plan_format(found.face) else {
        return Ok(false);
    };
    let run = RunId(session.world.new_id());
    let folder = path.parent().and_then(Path::file_name);
    let folder = folder.map_or_else(
        || "issues".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    let of = PlanContext {
        run,
        name: PlanName::Own(&folder),
        source,
        ..PlanContext::of_text()
    };
    let Some(plan) = (format.read)(SourceText { name: source, text }, of).0 else {
        return Ok(false);
    };
    // A crash in between leaves a stamp too many, and nothing else.
    plan_sync::adopt_plan_file(&session.project, run, &path, &bytes)
        .map_err(|error| unwritable_file(&session.project.home, error))?;
    loop {
        let runs = session.runs()?;
        if runs.iter().any(|run| run.plan.source == source) {
            return Ok(false);
        }
        let name = free_name(&plan.name, &sha256(&bytes), |name| {
            runs.iter().any(|run| run.name == name)
        });
        let command = Command::PlanRun(Box::new(Plan {
            name,
            ..plan.clone()
        }));
        let facts = session.facts_of_caller(HolderLiveness::Nothing);
        match session.commit(&command, &facts) {
            // Another process took the name since the runs were looked at.
            Err(CommitError::Refused(Refusal::NameTaken(_))) => {}
            done => return Ok(done.map(|_| true)?),
        }
    }
}

/// The name of the plan, `~2` and so on where there is a run of that name.
fn free_name(base: &str, hash: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u32..100).map(|nth| format!("{base}~{nth}"));
    std::iter::once(base.to_owned())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_else(|| format!("{base}~{}", &hash[..8]))
}
