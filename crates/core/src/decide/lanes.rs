//! The branch that the work of a run goes to.

use super::runner::{Held, guard};
use super::story::Story;
use crate::event::Event;
use crate::lane::TargetRow;
use crate::refusal::Refusal;

/// Records the target of a run, once: its work is on that branch from then on.
pub(super) fn target_run(
    story: &mut Story<'_>,
    held: Held,
    target: &TargetRow,
) -> Result<(), Refusal> {
    guard(story, held)?;
    let run = held.0;
    let row = story.run(run)?;
    if let Some(known) = &row.target {
        if known.branch == target.branch && known.path == target.path {
            return Ok(());
        }
        return Err(Refusal::Targeted {
            name: row.name.clone(),
            branch: known.branch.clone(),
        });
    }
    story.tell(Event::RunTargeted {
        run,
        branch: target.branch.clone(),
        base: target.base.clone(),
        onto: target.onto.clone(),
        path: target.path.clone(),
        was_there: target.was_there,
    });
    Ok(())
}
