//! What each command of a runner brings with it, and the rows that it starts from.

use piton_core::checkout::Checkout;
use piton_core::{
    Actor, CallerFacts, DecisionId, HolderLiveness, Need, Node, RunId, RunRow, StreamId, Tables,
};

use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::git;
use crate::native_files::plan_sync::{PlanSync, load_plan_rows};
use crate::process;
use crate::session::Session;

pub(super) fn require_run(row: Option<&RunRow>) -> Result<RunRow, Failure> {
    row.cloned().ok_or_else(|| {
        Failure::new("run.unknown", "the run is gone").with_hint("see the runs with `piton status`")
    })
}

/// The rows of a run, and the position of the last event that is in them.
pub(super) fn load_run_snapshot(
    session: &Session<'_>,
    run: RunId,
) -> Result<(Tables, u64), Failure> {
    let stream = StreamId::of_run(run);
    loop {
        let before = session.store.event_count(&stream)?;
        let tables = load_plan_rows(session, run, &[Need::OpenAttempts(Some(run))])?;
        // What another process wrote in between is read the next time round.
        if session.store.event_count(&stream)? == before {
            return Ok((tables, before));
        }
    }
}

/// What a git is found by that makes the commit of an item.
pub(super) fn commit_mark(run: RunId, node: &Node) -> String {
    process::own_mark(&format!("commit-{run}-{}", node.as_str()))
}

pub(crate) fn owner_name() -> String {
    let me = process::current_process();
    format!("process {} on {}", me.pid, me.host)
}

pub(super) fn runner_facts(session: &Session<'_>) -> CallerFacts {
    facts_with_checkout(session, git::read_checkout(&session.project.work_tree))
}

/// The same, where the work of the run is.
pub(super) fn facts_of_run(session: &Session<'_>, run: RunId) -> CallerFacts {
    CallerFacts {
        checkout: session.facts_of_run(run, HolderLiveness::Nothing).checkout,
        ..runner_facts(session)
    }
}

pub(super) fn facts_with_checkout(
    session: &Session<'_>,
    checkout: Option<Checkout>,
) -> CallerFacts {
    CallerFacts {
        actor: Actor::Runner(owner_name()),
        decision: DecisionId(session.world.new_id()),
        holder: HolderLiveness::Nothing,
        checkout,
    }
}

pub(super) fn open_plan_sync(
    session: &Session<'_>,
    row: &RunRow,
    tables: &Tables,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Option<PlanSync> {
    match PlanSync::open(session, row, tables) {
        Ok(plan_sync) => plan_sync,
        Err(error) => {
            tell(Notice::Warning(&format!(
                "the file of run `{}` is not kept up to date: {error}",
                row.name
            )));
            None
        }
    }
}
