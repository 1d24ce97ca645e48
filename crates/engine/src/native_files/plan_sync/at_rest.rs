//! The file of the plan of a run that no runner works on.

use piton_core::{RunRow, StreamId};

use super::unwritable_failure;
use super::{PlanSync, load_plan_rows, settle_superseded_questions};
use crate::failure::Failure;
use crate::native_files::FileNotice;
use crate::session::Session;

/// Brings the native file of a run that no runner works on up to date. A failure of
/// that is no failure of the command: what was asked is done.
pub(crate) fn sync_plan_file(
    session: &Session<'_>,
    row: &RunRow,
) -> Result<Vec<FileNotice>, Failure> {
    if !session.is_shown_in_plan_file(row)? {
        settle_superseded_questions(session, row)?;
        return Ok(Vec::new());
    }
    let mut shown = Vec::new();
    let mut sync = None;
    // What was written into it comes first; what is stored for that shows then.
    for _ in 0..2 {
        // First how far the journal is: the rows know that much, or more.
        let position = session.store.event_count(&StreamId::of_run(row.id))?;
        let tables = load_plan_rows(session, row.id, &[])?;
        if sync.is_none() {
            sync = match PlanSync::open(session, row, &tables) {
                Ok(sync) => sync,
                Err(error) => {
                    shown.push(FileNotice::sync_refused(
                        &row.plan.source,
                        &unwritable_failure(&error),
                    ));
                    None
                }
            };
        }
        let Some(sync) = &mut sync else { break };
        let looked = sync.import_changes(session, &tables, None)?;
        shown.extend(looked.news);
        if !looked.taken {
            let is_gone = sync.was_written() && !sync.target_path().exists();
            shown.extend(sync.write_now(&tables, position, session.world.now()));
            let is_gone = is_gone && !sync.is_absent_here();
            shown.extend(is_gone.then(|| news_of_missing_file(row, sync)));
            break;
        }
    }
    Ok(shown)
}

/// What became of the file of a run that was not there any more.
fn news_of_missing_file(row: &RunRow, sync: &PlanSync) -> FileNotice {
    let (name, file) = (&row.name, sync.path());
    if sync.target_path().exists() {
        FileNotice::Told(format!(
            "{file} was not there any more, and is written again"
        ))
    } else {
        FileNotice::Behind(format!(
            "{file} is not there any more, and what it said is not known to the letter; run `{name}` goes on without it"
        ))
    }
}
