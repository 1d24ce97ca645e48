//! `piton next`: what can be worked on, what waits for what, what is stuck and why.

use piton_core::{AttemptRow, ItemRow, ItemState, Need, Node, RunRow, RunState};
use serde::Serialize;

use super::open_questions::open_questions;
use super::show::last_attempt;
use crate::agents::answer::{ProgramEnd, describe_end};
use crate::failure::{Failure, failure_of_run_state};
use crate::runner::run_standing::RunStanding;
use crate::runner::run_standing::next_command;
use crate::session::{Session, open_runs};
use crate::verbs::arguments::search_folder;
use crate::verbs::item_view::{
    ItemView, ItemWait, ItemWaitKind, Viewer, is_directly_worked_on, open_question,
};
use crate::world::World;

/// So many of each are shown unless the caller asks for more.
pub const SHOWN: usize = 20;
/// So many runs are told; the latest, where there are more.
const RUNS_MAX: usize = 20;

/// What is next, of every run that is not over or of one.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NextWork {
    /// The runs, the oldest first.
    pub runs: Vec<RunNext>,
    /// Older runs that are not over and not told.
    pub runs_left_out: usize,
    /// Questions that wait for a person, of whatever kind.
    pub questions: usize,
}

crate::name_schema!(NextWork, "piton.next/1");

/// What is next in one run.
#[derive(Clone, Debug, Serialize)]
pub struct RunNext {
    /// Its name.
    pub run: String,
    /// Where it stands; what a dead runner left is interrupted.
    pub state: RunState,
    /// Why nothing goes on at present, where that is so.
    pub held_up: Option<String>,
    /// What is being worked on.
    pub working: Vec<ItemView>,
    /// What may be started, in the order in which it will be.
    pub ready: Vec<ItemView>,
    /// What waits; each item says for what.
    pub waiting: Vec<ItemView>,
    /// What ended badly and holds up whatever waits for it.
    pub stuck: Vec<ItemView>,
    /// How many of these are not told.
    pub left_out: usize,
    /// What to type.
    pub next: Option<String>,
}

/// What is next: in the run that is named, or in all that are not over; at most
/// `shown` of each kind. Changes nothing.
///
/// # Errors
///
/// When there is no such run, or a store that cannot be read.
pub fn next(world: &World, run: Option<&str>, shown: usize) -> Result<NextWork, Failure> {
    let Some(session) = Session::open_read_only(world, &search_folder(world, run))? else {
        return match run {
            Some(name) => Err(crate::session::unknown_run(name, &[])),
            None => Ok(NextWork::default()),
        };
    };
    let runs = session.runs()?;
    let meant: Vec<RunRow> = match run {
        Some(name) => vec![session.resolve_run(name)?],
        None => open_runs(&runs).cloned().collect(),
    };
    let left_out = meant.len().saturating_sub(RUNS_MAX);
    let questions = open_questions(&session, &runs)?;
    let mut next = NextWork {
        runs: Vec::new(),
        runs_left_out: left_out,
        questions: questions.len(),
    };
    for row in &meant[left_out..] {
        let rows = session.load(&[
            Need::Run(row.id),
            Need::Tree(row.id),
            Need::OpenAttempts(Some(row.id)),
            Need::OpenDecisions(Some(row.id)),
        ])?;
        let row = rows.tables.run(row.id).unwrap_or(row);
        let standing = RunStanding::of_run(&session.project, row);
        let current = rows
            .tables
            .current_item(row.id)
            .map(|item| item.node.clone());
        let viewer = Viewer {
            tables: &rows.tables,
            now: world.now(),
            live: standing.is_live,
            current: current.as_ref(),
        };
        let found = SortedItems::of_run(&viewer, row);
        let stuck = found.stuck.clone();
        let mut told = found.into_next(&viewer, row, &standing, shown);
        for (item, view) in stuck.into_iter().zip(&mut told.stuck) {
            let reason = item.error.as_deref().unwrap_or_default();
            if reason.trim().is_empty() {
                let last = last_attempt(&session, row.id, &item.node)?;
                view.life.error = Some(describe_unexplained_end(&item.node, last.as_ref()));
            }
        }
        next.runs.push(told);
    }
    Ok(next)
}

/// The items of a run, sorted by what becomes of them next.
#[derive(Default)]
struct SortedItems<'t> {
    working: Vec<&'t ItemRow>,
    ready: Vec<&'t ItemRow>,
    waiting: Vec<(&'t ItemRow, ItemWait)>,
    stuck: Vec<&'t ItemRow>,
}

impl<'t> SortedItems<'t> {
    fn of_run(viewer: &Viewer<'t>, row: &RunRow) -> Self {
        let mut found = Self::default();
        for item in viewer.tables.tree(row.id) {
            found.add_item(viewer, item);
        }
        // A breakpoint was reached before anything else that waits.
        let is_later = |(_, waits): &(_, ItemWait)| waits.what != ItemWaitKind::Breakpoint;
        found.waiting.sort_by_key(is_later);
        found
    }

    /// Puts an item where it belongs. One that holds others is listed only
    /// where it is worked on itself: at its gate, or at its commit.
    fn add_item(&mut self, viewer: &Viewer<'t>, item: &'t ItemRow) {
        let open = open_question(viewer.tables, item.run, &item.node);
        let waits = ItemWait::of_item(viewer.tables, item, open, viewer.now);
        if let Some(waits) = waits
            .clone()
            .filter(|waits| waits.what == ItemWaitKind::Breakpoint)
        {
            self.waiting.push((item, waits));
        }
        if !is_directly_worked_on(item) {
            return;
        }
        match item.state {
            ItemState::Working => self.working.push(item),
            ItemState::Ready | ItemState::Waiting | ItemState::Pending => match waits {
                Some(waits) => self.waiting.push((item, waits)),
                // One whose time has come is as good as ready.
                None => self.ready.push(item),
            },
            ItemState::Failed | ItemState::Blocked => self.stuck.push(item),
            ItemState::Done | ItemState::Skipped | ItemState::Dropped => {}
        }
    }

    fn into_next(
        mut self,
        viewer: &Viewer<'_>,
        row: &RunRow,
        standing: &RunStanding,
        shown: usize,
    ) -> RunNext {
        let left_out = truncate_list(&mut self.working, shown)
            + truncate_list(&mut self.ready, shown)
            + truncate_list(&mut self.waiting, shown)
            + truncate_list(&mut self.stuck, shown);
        let state = standing.state;
        let held_up = matches!(
            state,
            RunState::Paused | RunState::Waiting | RunState::Blocked
        );
        let views = |items: Vec<&ItemRow>| -> Vec<ItemView> {
            let views = items.into_iter();
            views.map(|item| ItemView::of_item(viewer, item)).collect()
        };
        let waiting = self.waiting.into_iter().map(|(item, waits)| {
            let mut view = ItemView::of_item(viewer, item);
            view.next.waits = Some(waits);
            view
        });
        RunNext {
            run: row.name.clone(),
            state,
            held_up: held_up
                .then(|| failure_of_run_state(row, state).message)
                .or_else(|| standing.describe_request(&row.name)),
            waiting: waiting.collect(),
            working: views(self.working),
            ready: views(self.ready),
            stuck: views(self.stuck),
            left_out,
            next: next_command(row, standing),
        }
    }
}

/// What is known of an item that ended badly where no reason is recorded.
fn describe_unexplained_end(node: &Node, last: Option<&AttemptRow>) -> String {
    let Some(last) = last else {
        return format!("no reason and no attempt is recorded: see `piton show {node}`");
    };
    let number = last.number;
    let report = last.report.as_ref();
    let ended = report.and_then(|report| report.program.process.as_ref());
    let ended = ended.map_or_else(String::new, |process| {
        let (code, signal) = (process.code, process.signal);
        format!(
            " ended with {} and",
            describe_end(&ProgramEnd {
                code,
                signal,
                ..ProgramEnd::default()
            })
        )
    });
    let has_transcript = report.is_some_and(|report| report.program.transcript.is_some());
    let see = if has_transcript { "transcript" } else { "show" };
    format!("attempt {number}{ended} gave no reason: see `piton {see} {node}#{number}`")
}

/// Cuts a list, and says how much went.
fn truncate_list<T>(list: &mut Vec<T>, shown: usize) -> usize {
    let left_out = list.len().saturating_sub(shown);
    list.truncate(shown);
    left_out
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use piton_core::attempt::{ProcessEnd, ProgramReport, Report, Transcript};
    use piton_core::{Outcome, Role};
    use serde_json::json;

    use super::*;

    fn attempt(report: Option<Report>) -> AttemptRow {
        let row = json!({
            "id": "01900000-0000-7000-8000-000000000001",
            "run": "01900000-0000-7000-8000-000000000002",
            "node": "mast", "number": 2, "role": Role::Worker, "agent": "a",
            "iteration": 4, "started_at": Timestamp::UNIX_EPOCH,
        });
        let row: AttemptRow = serde_json::from_value(row).expect("a row");
        AttemptRow { report, ..row }
    }

    #[test]
    fn what_is_stuck_without_a_reason_says_what_is_known() {
        let ended = |code, signal, transcript: bool| Report {
            program: ProgramReport {
                process: Some(ProcessEnd {
                    code,
                    signal,
                    ..ProcessEnd::default()
                }),
                transcript: transcript.then(|| Transcript {
                    path: "blobs/x".to_owned(),
                    bytes: 1,
                    sha256: String::new(),
                    truncated: false,
                }),
                ..ProgramReport::default()
            },
            ..Report::with_outcome(Outcome::Failed)
        };
        let node = Node::child(None, "mast", 1);
        let told = |last: Option<AttemptRow>| describe_unexplained_end(&node, last.as_ref());
        assert_eq!(
            told(None),
            "no reason and no attempt is recorded: see `piton show mast`"
        );
        assert_eq!(
            told(Some(attempt(None))),
            "attempt 2 gave no reason: see `piton show mast#2`"
        );
        assert_eq!(
            told(Some(attempt(Some(ended(Some(7), None, true))))),
            "attempt 2 ended with exit status 7 and gave no reason: see `piton transcript mast#2`"
        );
        assert_eq!(
            told(Some(attempt(Some(ended(None, Some(9), false))))),
            "attempt 2 ended with signal 9 and gave no reason: see `piton show mast#2`"
        );
    }
}
