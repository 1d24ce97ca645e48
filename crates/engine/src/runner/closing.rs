//! Items of a plan that another tool keeps: closed there when the run knows that they are
//! done.
//!
//! The file of such a plan is an export, which piton reads and never writes. Closing is
//! asked for at each end of a run, of all items that the file does not show as done, so
//! that what one process could not close the next one does.

use std::time::Duration;

use piton_core::trust::{ExecutablePart, PartKind};
use piton_core::{Need, RunId};
use piton_formats::plan_file::PlanFile;
use piton_formats::registry::plan_format;

use crate::config::trust::TrustCheck;
use crate::failure::notice::Notice;
use crate::process::shell::quote_word;
use crate::process::{self, ScriptCall, Trusted};
use crate::session::Session;
use crate::world::World;

/// How long closing one item may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What closes the items of a plan of this format, as a part of the project that is
/// executed; none where its program is not installed.
pub(crate) fn closing_part(world: &World, face: &str, source: &str) -> Option<ExecutablePart> {
    let closing = plan_format(face)?.close_script?;
    let is_there = world.is_on_path(closing.program);
    is_there.then(|| ExecutablePart::new(PartKind::Close, source, closing.script))
}

/// Closes what is done in the tool that keeps the plan of a run, or says what to type.
pub(crate) fn close_done_items(
    session: &Session<'_>,
    run: RunId,
    trust: &TrustCheck,
    tell: &mut dyn FnMut(Notice<'_>),
) {
    // The items of other plans are not even looked at.
    let loaded = session.load(&[Need::Run(run)]).ok();
    let row = loaded.and_then(|rows| rows.tables.run(run).cloned());
    let Some(row) = row else {
        return;
    };
    let (face, source) = (&row.plan.face, &row.plan.source);
    let Some(closing) = plan_format(face).and_then(|format| format.close_script) else {
        return;
    };
    let Ok(rows) = session.load(&[Need::Run(run), Need::Tree(run)]) else {
        return;
    };
    let part = closing_part(session.world, face, source);
    let project = &session.project;
    let text = project.read_text(&project.absolute_path(source));
    let ids = match (text, PlanFile::of_run(&rows.tables, run)) {
        (Ok(text), Some(file)) => file.done_beyond(&text, &rows.tables),
        _ => return,
    };
    let script = match &part {
        Some(part) => trust
            .admit_script(part.clone())
            .map_err(|failure| failure.to_string()),
        None => Err(format!("`{}` is not installed", closing.program)),
    };
    let mut left: Vec<String> = Vec::new();
    let mut why = script.as_ref().err().cloned();
    // A program that cannot be started, or does not end, is not asked again.
    let mut is_usable = script.is_ok();
    for id in ids {
        let closed = match &script {
            Ok(script) if is_usable => close_item(session, script, &id),
            Ok(_) | Err(_) => Err(ClosingFailure::NotAsked),
        };
        let Err(failure) = closed else { continue };
        is_usable &= matches!(failure, ClosingFailure::Refused);
        why = why.or_else(|| match failure {
            ClosingFailure::Refused => Some(format!("`{id}` could not be closed")),
            ClosingFailure::Broken(error) => Some(error),
            ClosingFailure::NotAsked => None,
        });
        left.push(quote_word(&id).into_owned());
    }
    if left.is_empty() {
        return;
    }
    if let Some(why) = why {
        let (typed, ids) = (closing.typed, left.join(" "));
        tell(Notice::Warning(&format!(
            "{source} is not changed by piton, and {why}: close what is done with `{typed} {ids}`"
        )));
    }
}

/// Why an item is not closed.
enum ClosingFailure {
    /// The program said no to this one.
    Refused,
    /// The program cannot be used, or did not end.
    Broken(String),
    /// It was not tried.
    NotAsked,
}

/// Closes one item.
fn close_item(
    session: &Session<'_>,
    script: &Trusted<String>,
    id: &str,
) -> Result<(), ClosingFailure> {
    let called = process::run_script(&ScriptCall {
        script,
        cwd: &session.project.root,
        input: b"",
        env: &[("PITON_ISSUE", id)],
        mark: Some(&process::own_mark("close")),
        stop: None,
        timeout: TIMEOUT,
    });
    let output = called.map_err(|error| ClosingFailure::Broken(error.to_string()))?;
    match output.exit.code {
        Some(0) => Ok(()),
        Some(_) => Err(ClosingFailure::Refused),
        None => Err(ClosingFailure::Broken(format!(
            "`{id}` could not be closed"
        ))),
    }
}
