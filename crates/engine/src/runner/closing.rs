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
use crate::process::{self, ScriptCall};
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
    let mut left: Vec<String> = Vec::new();
    let mut why = None;
    for id in ids {
        if why.is_none() {
            let closed = match &part {
                Some(part) => close_item(session, part, trust, &id),
                None => Err(format!("`{}` is not installed", closing.program)),
            };
            why = closed.err();
        }
        if why.is_some() {
            left.push(quote_word(&id).into_owned());
        }
    }
    if let Some(why) = why {
        let (typed, ids) = (closing.typed, left.join(" "));
        tell(Notice::Warning(&format!(
            "{source} is not changed by piton, and {why}: close what is done with `{typed} {ids}`"
        )));
    }
}

/// Closes one item; why it could not be.
fn close_item(
    session: &Session<'_>,
    part: &ExecutablePart,
    trust: &TrustCheck,
    id: &str,
) -> Result<(), String> {
    let script = trust.admit_script(part.clone());
    let script = script.map_err(|failure| failure.to_string())?;
    let called = process::run_script(&ScriptCall {
        script: &script,
        cwd: &session.project.root,
        input: b"",
        env: &[("PITON_ISSUE", id)],
        mark: Some(&process::own_mark("close")),
        stop: None,
        timeout: TIMEOUT,
    });
    let output = called.map_err(|error| error.to_string())?;
    match output.exit.code {
        Some(0) => Ok(()),
        Some(_) | None => Err(format!("`{id}` could not be closed")),
    }
}
