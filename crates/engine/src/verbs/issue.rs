//! `piton issue`: the issues of a run that came from a `state.json`.

use piton_core::{ItemRow, ItemState, Need, RunRow, Tables};
use serde::Serialize;
use serde_json::Value;

use super::control::start;
use super::in_words;
use crate::failure::Failure;
use crate::session::{Session, open_runs};
use crate::world::World;

/// The native format whose items are issues.
use piton_formats::sdlc::FACE;

/// The states of an issue in the file's words.
const FILE_STATES: [&str; 7] = [
    "blocked",
    "ready",
    "implementing",
    "reviewing",
    "awaiting_human",
    "done",
    "failed",
];

/// The states of an item.
const STATES: [ItemState; 8] = [
    ItemState::Pending,
    ItemState::Ready,
    ItemState::Working,
    ItemState::Waiting,
    ItemState::Done,
    ItemState::Failed,
    ItemState::Skipped,
    ItemState::Blocked,
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
    if own.contains(&state) || FILE_STATES.contains(&state) {
        return Ok(());
    }
    Err(
        Failure::new("usage", format!("there is no state `{state}`")).hint(format!(
            "the states are: {}; in the file: {}",
            in_words(&own),
            in_words(&FILE_STATES)
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
        if run.face == FACE {
            return Ok(run);
        }
        return Err(
            Failure::new("run.unknown", format!("run `{}` has no issues", run.name))
                .hint(format!("see its nodes with `piton status {}`", run.name)),
        );
    }
    let runs = session.runs()?;
    let open: Vec<&RunRow> = open_runs(&runs).filter(|run| run.face == FACE).collect();
    match open.as_slice() {
        [run] => Ok((*run).clone()),
        [] => {
            let last = runs.iter().rfind(|run| run.face == FACE);
            last.cloned().ok_or_else(no_issues)
        }
        several => {
            let names: Vec<&str> = several.iter().map(|run| run.name.as_str()).collect();
            Err(Failure::new("usage", "more than one run has issues")
                .hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// The item as an issue, if it is one.
fn issue(tables: &Tables, item: &ItemRow) -> Option<Issue> {
    let native = item.native.as_ref().filter(|native| native.face == FACE)?;
    let body: Value = serde_json::from_str(&native.body).unwrap_or_default();
    let text = |key| body.get(key).and_then(Value::as_str).map(str::to_owned);
    let status = text("status");
    let blocked_by = body.get("blocked_by").and_then(Value::as_array);
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
        file_state: file_state(item.state, status.as_deref()).map(str::to_owned),
        title: text("title"),
        repo: text("repo"),
        pr: text("pr"),
        blocked_by: blocked_by.map_or_else(Vec::new, |ids| {
            let ids = ids.iter().filter_map(Value::as_str);
            ids.map(str::to_owned).collect()
        }),
        waits_for: waits_for.collect(),
    })
}

/// The state of an item in the file's word. The word that the file has last
/// holds as long as it fits: only it tells a review from the work before it.
fn file_state(state: ItemState, written: Option<&str>) -> Option<&'static str> {
    let words: &[&'static str] = match state {
        ItemState::Pending => &["blocked"],
        ItemState::Ready => &["ready"],
        ItemState::Working => &["implementing", "reviewing"],
        ItemState::Waiting => &["awaiting_human"],
        ItemState::Done => &["done"],
        ItemState::Failed => &["failed"],
        ItemState::Skipped | ItemState::Blocked => &[],
    };
    let fitting = words.iter().find(|word| Some(**word) == written);
    fitting.or(words.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_the_file_holds_as_long_as_it_fits() {
        for (state, written, expect) in [
            (ItemState::Working, Some("reviewing"), Some("reviewing")),
            (ItemState::Working, Some("ready"), Some("implementing")),
            (ItemState::Pending, Some("done"), Some("blocked")),
            (ItemState::Waiting, None, Some("awaiting_human")),
            (ItemState::Skipped, Some("ready"), None),
        ] {
            assert_eq!(file_state(state, written), expect, "{state} {written:?}");
        }
    }
}
