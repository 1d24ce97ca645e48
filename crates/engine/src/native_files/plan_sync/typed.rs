//! A change of the file of a plan that a person typed as a command.
//!
//! It is stored before the file is changed: what was acknowledged is durable. A process
//! that dies in between leaves a file that does not say so yet; the same command, typed
//! again, changes it.

use piton_core::{Edit, RunRow, Tables};
use piton_formats::plan_file::{PlanFile, ShownRun};

use super::{PlanSync, PresentFile, WriteOutcome, open_plan_file, unwritable_failure};
use crate::failure::{Failure, unreadable_file};
use crate::native_files::exchange::DisplacedCopy;
use crate::session::Session;
use crate::world::input;

/// A change of the text of the file that shows a run.
pub(crate) struct TypedFileChange<'c> {
    /// The run.
    pub(crate) row: &'c RunRow,
    /// Its rows.
    pub(crate) tables: &'c Tables,
    /// The text with the change; why it cannot be made.
    pub(crate) change: &'c dyn Fn(&str) -> Result<String, String>,
}

/// The edits that a change of the file comes to, and whether its text is another one.
///
/// # Errors
///
/// When the file does not show the run, cannot be read, or cannot say it.
pub(crate) fn edits_of_typed_change(
    session: &Session<'_>,
    typed: &TypedFileChange<'_>,
) -> Result<(Vec<Edit>, bool), Failure> {
    let TypedFileChange {
        row,
        tables,
        change,
    } = *typed;
    let plan = open_plan_file(&session.project, tables, row.id).zip(PlanFile::path_of_run(row));
    let Some((mut plan, path)) = plan else {
        return Ok((Vec::new(), false));
    };
    let text = typed.present_text(session, &path)?;
    let new = change(&text).map_err(|why| Failure::new("usage", why))?;
    let shown = ShownRun {
        file: &path,
        tables,
        run: row.id,
    };
    let changes = plan.collect_edits(Some(&text), &new, shown, session.world.now());
    let edits = changes.map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::new("usage", problems.join("; "))
    })?;
    // Such a list knows its items by their words.
    let is_new = |edit: &Edit| matches!(edit, Edit::Insert { .. });
    if !edits.removed.is_empty() || edits.edits.iter().any(is_new) {
        let what = format!("{path} knows its items by their words: it would be another item");
        return Err(Failure::new("usage", what)
            .with_hint("keep some of the words, or skip the item and add another one"));
    }
    Ok((edits.edits, new != text))
}

impl TypedFileChange<'_> {
    fn present_text(&self, session: &Session<'_>, path: &str) -> Result<String, Failure> {
        let refused = |why: &str| {
            Failure::new("file.conflict", format!("{path} is not changed: {why}"))
                .with_hint("see with `piton inbox` what is asked about it")
        };
        if !session.is_shown_in_plan_file(self.row)? {
            return Err(refused("it shows another run"));
        }
        let sync = self.open(session)?;
        let mut sync = sync.ok_or_else(|| refused("it cannot be read"))?;
        if sync.waits_for_landing {
            return Err(refused(
                "the run is worked on in lanes, and it stays until that has landed",
            ));
        }
        let present = sync.file.read_present();
        match present.map_err(|error| unwritable_failure(&error))? {
            PresentFile::Ours => {
                let read = session.project.read_text(sync.target_path());
                read.map_err(|error| unreadable_file(sync.target_path(), error))
            }
            PresentFile::Foreign(_) => Err(refused("it was edited, and that is not taken in yet")),
            PresentFile::Missing => Err(refused("it is not there")),
            PresentFile::Special(what) => Err(refused(&what)),
        }
    }

    fn open(&self, session: &Session<'_>) -> Result<Option<PlanSync>, Failure> {
        PlanSync::open(session, self.row, self.tables).map_err(|error| unwritable_failure(&error))
    }

    /// Makes the change in the text that is there now; whether it could be.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub(crate) fn write(&self, session: &Session<'_>) -> Result<bool, Failure> {
        let Some(mut sync) = self.open(session)? else {
            return Ok(false);
        };
        let written = sync.file.with_lock(|file| {
            if file.read_present()? != PresentFile::Ours {
                return Ok(false);
            }
            let text = input::read_file_text(file.target_path())?;
            let Ok(new) = (self.change)(&text) else {
                return Ok(false);
            };
            let positions = file.stamp().positions.clone();
            let put = file.write_version(new.as_bytes(), positions, None)?;
            file.drain_displaced()
                .into_iter()
                .for_each(DisplacedCopy::remove);
            Ok(put == WriteOutcome::Done)
        });
        written.map_err(|error: std::io::Error| unwritable_failure(&error))
    }
}
