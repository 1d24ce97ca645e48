//! `piton issue`: the issues of a run that came from a `state.json`.

use piton_core::{ItemRow, ItemState, Need, RunRow, Tables};
use piton_formats::plan_format::Issues as IssuesOf;
use piton_formats::registry::{plan_format, plan_formats};
use serde::Serialize;

use super::control::start;
use super::in_words;
use crate::failure::Failure;
use crate::session::{Session, open_runs};
use crate::world::World;

/// The states of an item.
const STATES: [ItemState; 9] = [
    ItemState::Pending,
    ItemState::Ready,
    ItemState::Working,
    ItemState::Waiting,
    ItemState::Done,
    ItemState::Failed,
    ItemState::Skipped,
    ItemState::Blocked,
    ItemState::Dropped,
];

/// An issue, as it is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Issue {
    /// Its id in the file.
    pub id: String,
    /// Its node.
    pub node: String,
    /// Where it stands.
    pub state: ItemState,
    /// The same in the file's word; none where the file has no word for it.
    pub file_state: Option<String>,
    /// What it is about.
    pub title: Option<String>,
    /// The repository that it belongs to.
    pub repo: Option<String>,
    /// Its pull request.
    pub pr: Option<String>,
    /// The issues that it waits for in the end, as the file names them.
    pub blocked_by: Vec<String>,
    /// Those of them that are not finished, with where they stand.
    pub waits_for: Vec<WaitsFor>,
}

/// What an issue waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitsFor {
    /// The issue.
    pub id: String,
    /// Where it stands.
    pub state: ItemState,
}

/// The issues of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Issues {
    /// The run.
    pub run: String,
    /// Its issues, in the order of the file.
    pub issues: Vec<Issue>,
}

/// The issues of a run: the one that is named, or the only one that has any.
/// `state` leaves those out that stand elsewhere, in piton's word or the file's.
///
/// # Errors
///
/// When there is no such run or state, or a store that cannot be read.
pub fn list(world: &World, run: Option<&str>, state: Option<&str>) -> Result<Issues, Failure> {
    if let Some(state) = state {
        check_state(state)?;
    }
    let session = Session::read(world, &start(world, run))?.ok_or_else(no_issues)?;
    let run = run_meant(&session, run)?;
    let rows = session.load(&[Need::Tree(run.id)])?;
    let issues = rows
        .tables
        .tree(run.id)
        .filter_map(|item| issue(&rows.tables, item))
        .filter(|issue| {
            state.is_none_or(|state| {
                issue.state.as_str() == state || issue.file_state.as_deref() == Some(state)
            })
        });
    Ok(Issues {
        issues: issues.collect(),
        run: run.name,
    })
}

fn check_state(state: &str) -> Result<(), Failure> {
    let own = STATES.map(ItemState::as_str);
    let formats = plan_formats().iter().filter_map(|format| format.issues);
    let of_files: Vec<&str> = formats.flat_map(|issues| issues.states).copied().collect();
    if own.contains(&state) || of_files.contains(&state) {
        return Ok(());
    }
    Err(
        Failure::new("usage", format!("there is no state `{state}`")).hint(format!(
            "the states are: {}; in the file: {}",
            in_words(&own),
            in_words(&of_files)
        )),
    )
}

fn no_issues() -> Failure {
    Failure::new("run.unknown", "no run here has issues")
        .hint("`piton init` finds a state.json here and takes its issues over")
}

fn run_meant(session: &Session<'_>, text: Option<&str>) -> Result<RunRow, Failure> {
    if let Some(text) = text {
        let run = session.run_named(text)?;
        if of_run(&run).is_some() {
            return Ok(run);
        }
        return Err(
            Failure::new("run.unknown", format!("run `{}` has no issues", run.name))
                .hint(format!("see its nodes with `piton status {}`", run.name)),
        );
    }
    let runs = session.runs()?;
    let open: Vec<&RunRow> = open_runs(&runs)
        .filter(|run| of_run(run).is_some())
        .collect();
    match open.as_slice() {
        [run] => Ok((*run).clone()),
        [] => {
            let last = runs.iter().rfind(|run| of_run(run).is_some());
            last.cloned().ok_or_else(no_issues)
        }
        several => {
            let names: Vec<&str> = several.iter().map(|run| run.name.as_str()).collect();
            Err(Failure::new("usage", "more than one run has issues")
                .hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// How the items of a run are issues, if they are.
fn of_run(run: &RunRow) -> Option<IssuesOf> {
    plan_format(&run.face)?.issues
}

/// The item as an issue, if it is one.
fn issue(tables: &Tables, item: &ItemRow) -> Option<Issue> {
    let native = item.native.as_ref()?;
    let words = (plan_format(&native.face)?.issues?.words)(item)?;
    let waits_for = item.depends_on.iter().filter_map(|on| {
        let row = tables.item(item.run, on)?;
        (!row.state.is_finished()).then(|| WaitsFor {
            id: row.id.clone(),
            state: row.state,
        })
    });
    Some(Issue {
        id: item.id.clone(),
        node: item.node.to_string(),
        state: item.state,
        file_state: words.state.map(str::to_owned),
        title: words.title,
        repo: words.repo,
        pr: words.pr,
        blocked_by: words.blocked_by,
        waits_for: waits_for.collect(),
    })
}
