//! `piton issue`: the issues of a run that came from a `state.json`, and what people
//! say of them.
//!
//! What is said is a list of edits of the plan, as somebody might make them in its
//! file: the format says which, and the rules of the core hold.

use std::fs;

use piton_core::command::Word;
use piton_core::{Command, Edit, ItemRow, ItemState, Need, Node, RunId, RunRow, Tables};
use piton_formats::plan_file::PlanFile;
pub use piton_formats::plan_format::{IssueMove, NewIssue};
use piton_formats::plan_format::{IssueRefusal, Issues as IssuesOf};
use piton_formats::registry::{plan_format, plan_formats};
use serde::Serialize;

use super::control::{Outcome, outcome, show_in_file, start};
use super::{Told, in_words};
use crate::failure::Failure;
use crate::native_files::News;
use crate::runner;
use crate::session::{Session, no_runs, open_runs};
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

/// Which issues are meant.
#[derive(Clone, Debug, Default)]
pub struct IssueFilter {
    /// Those in this state, in piton's word or the file's.
    pub state: Option<String>,
    /// Those of this repository.
    pub repo: Option<String>,
    /// Those that may be begun.
    pub is_ready: bool,
}

impl IssueFilter {
    fn takes(&self, issue: &Issue) -> bool {
        let word = issue.file_state.as_deref();
        let has_state = |state: &String| issue.state.as_str() == state || word == Some(state);
        let has_repo = |repo: &String| issue.repo.as_ref() == Some(repo);
        let may_begin = issue.state == ItemState::Ready && word == Some(ItemState::Ready.as_str());
        self.state.as_ref().is_none_or(has_state)
            && self.repo.as_ref().is_none_or(has_repo)
            && (!self.is_ready || may_begin)
    }
}

/// The issues of a run: the one that is named, or the only one that has any.
///
/// # Errors
///
/// When there is no such run or state, or a store that cannot be read.
pub fn list(world: &World, run: Option<&str>, filter: &IssueFilter) -> Result<Issues, Failure> {
    if let Some(state) = &filter.state {
        check_state(state)?;
    }
    let session = Session::read(world, &start(world, run))?.ok_or_else(no_issues)?;
    let run = run_meant(&session, run)?;
    let rows = session.load(&needs_of(run.id))?;
    let issues = rows
        .tables
        .tree(run.id)
        .filter_map(|item| issue(&rows.tables, item))
        .filter(|issue| filter.takes(issue));
    Ok(Issues {
        issues: issues.collect(),
        run: run.name,
    })
}

fn needs_of(run: RunId) -> [Need; 3] {
    [
        Need::Run(run),
        Need::Tree(run),
        Need::OpenDecisions(Some(run)),
    ]
}

/// All that is told of one issue.
#[derive(Clone, Debug, Serialize)]
pub struct ShownIssue {
    /// The run.
    pub run: String,
    /// The issue.
    #[serde(flatten)]
    pub issue: Issue,
    /// What an agent is told of it.
    pub prompt: Option<String>,
    /// What went wrong last.
    pub error: Option<String>,
    /// What waits for a person there.
    pub human: Option<String>,
    /// The issues that wait for it.
    pub blocks: Vec<String>,
}

/// One issue, named as `[RUN:]ID`.
///
/// # Errors
///
/// When there is no such issue, or a store that cannot be read.
pub fn show(world: &World, name: &str) -> Result<ShownIssue, Failure> {
    let session = Session::read(world, &world.cwd)?.ok_or_else(no_issues)?;
    let (run, node) = session.item_named(name)?;
    let rows = session.load(&needs_of(run))?;
    shown(&rows.tables, run, &node)
}

fn shown(tables: &Tables, run: RunId, node: &Node) -> Result<ShownIssue, Failure> {
    let row = tables.item(run, node).ok_or_else(no_issues)?;
    let issue = issue(tables, row).ok_or_else(|| no_issue(row))?;
    let blocks = tables
        .tree(run)
        .filter(|item| item.depends_on.contains(node));
    Ok(ShownIssue {
        run: tables
            .run(run)
            .map(|run| run.name.clone())
            .unwrap_or_default(),
        issue,
        prompt: row.prompt.clone(),
        error: row.error.clone(),
        human: row.human.as_ref().map(|human| human.reason.clone()),
        blocks: blocks.map(|item| item.id.clone()).collect(),
    })
}

fn no_issue(row: &ItemRow) -> Failure {
    Failure::new("item.unknown", format!("`{}` is no issue", row.node))
        .hint("see the issues with `piton issue list`")
}

/// What became of an issue of which somebody said something.
#[derive(Clone, Debug, Serialize)]
pub struct MovedIssue {
    /// The issue.
    pub issue: ShownIssue,
    /// How its run stands.
    #[serde(rename = "then")]
    pub outcome: Outcome,
}

/// Carries out what somebody says of an issue that is named as `[RUN:]ID`.
///
/// # Errors
///
/// When there is no such issue, its status does not take this, or a runner works on
/// it. Nothing is stored then.
pub fn move_issue(
    world: &World,
    name: &str,
    (what, why): (&IssueMove, Option<String>),
    told: &mut Told<'_>,
) -> Result<MovedIssue, Failure> {
    let session = Session::write(world, &world.cwd)?.ok_or_else(no_issues)?;
    let (run, node) = session.item_named(name)?;
    let through = format!("piton issue {}", what.verb());
    let words = (through, why);
    change(&session, run, words, told, |tables, issues, _| {
        let row = tables.item(run, &node).ok_or_else(no_issues)?;
        if issue(tables, row).is_none() {
            return Err(no_issue(row));
        }
        let edits = (issues.moves)(tables, row, what).map_err(refused)?;
        Ok((node.clone(), edits))
    })
}

/// Adds an issue to a run: the one that is named, or the only one that has any.
///
/// # Errors
///
/// When there is no such run, it has an issue of this id, or lacks one that the new
/// one is to wait for, or its repository. Nothing is stored then.
pub fn add(
    world: &World,
    run: Option<&str>,
    new: &NewIssue,
    told: &mut Told<'_>,
) -> Result<MovedIssue, Failure> {
    let session = Session::write(world, &start(world, run))?.ok_or_else(no_issues)?;
    let run = run_meant(&session, run)?.id;
    let words = ("piton issue add".to_owned(), None);
    change(&session, run, words, told, |tables, issues, manifest| {
        let edits = (issues.add)(tables, run, manifest, new).map_err(refused)?;
        let added = edits.iter().find_map(Edit::about).cloned();
        Ok((added.expect("an issue is added"), edits))
    })
}

fn refused(refusal: IssueRefusal) -> Failure {
    Failure::new(refusal.code, refusal.what).hint(refusal.hint)
}

/// What is to be changed: the issue that is told of then, and the edits.
type Wanted = Result<(Node, Vec<Edit>), Failure>;

/// Changes the issues of a run, and writes its file. What a dead runner left there is
/// settled first, and what stands in the file is taken in.
fn change(
    session: &Session<'_>,
    run: RunId,
    (through, why): (String, Option<String>),
    told: &mut Told<'_>,
    wanted: impl FnOnce(&Tables, &IssuesOf, Option<&str>) -> Wanted,
) -> Result<MovedIssue, Failure> {
    // Held until the command is stored: no runner begins anything in between.
    let lock = runner::settle(session, run, told)?;
    let row = run_of(session, run)?;
    if lock.is_some() {
        News::tell(&show_in_file(session, &row)?, told);
    }
    let rows = session.load(&needs_of(run))?;
    let issues = of_run(&row).ok_or_else(no_issues)?;
    let manifest = manifest_of(session, &row);
    let (node, edits) = wanted(&rows.tables, &issues, manifest.as_deref())?;
    let command = Command::TakeEdits {
        run,
        token: None,
        file: PlanFile::path(&row).unwrap_or_default(),
        edits,
        word: Word::Typed { through, why },
    };
    session.tell(&command)?;
    drop(lock);
    let outcome = outcome(session, &row)?;
    let rows = session.load(&needs_of(run))?;
    Ok(MovedIssue {
        issue: shown(&rows.tables, run, &node)?,
        outcome,
    })
}

fn run_of(session: &Session<'_>, run: RunId) -> Result<RunRow, Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    rows.tables.run(run).cloned().ok_or_else(no_runs)
}

/// The text of the manifest beside the file of a run, where there is one.
fn manifest_of(session: &Session<'_>, row: &RunRow) -> Option<String> {
    let name = plan_format(&row.face)?.phases?.manifest;
    let folder = session.project.absolute(PlanFile::folder(row));
    fs::read_to_string(folder.join(name)).ok()
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
    let words = (plan_format(&native.face)?.issues?.words)(tables, item)?;
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
