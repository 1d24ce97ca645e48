//! `piton issue`: the issues of a run that came from a `state.json`, and what people
//! say of them.
//!
//! What a person says becomes a list of edits of the plan, as the person might make
//! them in its file: the format says which, and the rules of the core hold.

use piton_core::command::EditAuthor;
use piton_core::{Command, Edit, ItemRow, ItemState, Need, Node, RunId, RunRow, Tables};
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::{IssueFormat as IssuesOf, IssueRefusal};
pub use piton_formats::plan_format::{IssueMove, NewIssue};
use piton_formats::registry::{plan_format, plan_formats};
use serde::Serialize;

use super::NoticeSink;
use super::control::{ControlOutcome, outcome_of_run};
use crate::failure::Failure;
use crate::native_files::FileNotice;
use crate::native_files::plan_sync::at_rest::sync_plan_file;
use crate::runner;
use crate::session::{Session, no_runs_failure, open_runs};
use crate::verbs::arguments::{join_words, search_folder};
use crate::verbs::record::unknown_item::resolve_planned_item;
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
pub struct IssueView {
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
    pub waits_for: Vec<IssueWait>,
}

/// What an issue waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IssueWait {
    /// The issue.
    pub id: String,
    /// Where it stands.
    pub state: ItemState,
}

/// The issues of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunIssues {
    /// The run.
    pub run: String,
    /// Its issues, in the order of the file.
    pub issues: Vec<IssueView>,
}

crate::name_schema!(RunIssues, "piton.issues/1");

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
    fn matches(&self, issue: &IssueView) -> bool {
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
pub fn list(world: &World, run: Option<&str>, filter: &IssueFilter) -> Result<RunIssues, Failure> {
    if let Some(state) = &filter.state {
        check_state(state)?;
    }
    let session = Session::open_read_only(world, &search_folder(world, run))?
        .ok_or_else(no_issues_failure)?;
    let run = resolve_run(&session, run)?;
    let rows = session.load(&needs_of_run(run.id))?;
    let issues = rows
        .tables
        .tree(run.id)
        .filter_map(|item| issue_of_item(&rows.tables, item))
        .filter(|issue| filter.matches(issue));
    Ok(RunIssues {
        issues: issues.collect(),
        run: run.name,
    })
}

fn needs_of_run(run: RunId) -> [Need; 3] {
    [
        Need::Run(run),
        Need::Tree(run),
        Need::OpenDecisions(Some(run)),
    ]
}

/// All that is told of one issue.
#[derive(Clone, Debug, Serialize)]
pub struct IssueDetails {
    /// The run.
    pub run: String,
    /// The issue.
    #[serde(flatten)]
    pub issue: IssueView,
    /// What an agent is told of it.
    pub prompt: Option<String>,
    /// What went wrong last.
    pub error: Option<String>,
    /// What waits for a person there.
    pub human: Option<String>,
    /// The issues that wait for it.
    pub blocks: Vec<String>,
}

crate::name_schema!(IssueDetails, "piton.issue/1");

/// One issue, named as `[RUN:]ID`.
///
/// # Errors
///
/// When there is no such issue, or a store that cannot be read.
pub fn show(world: &World, name: &str) -> Result<IssueDetails, Failure> {
    let session = Session::open_read_only(world, &world.cwd)?.ok_or_else(no_issues_failure)?;
    let (run, node) = resolve_planned_item(&session, name)?;
    let rows = session.load(&needs_of_run(run))?;
    issue_details(&rows.tables, run, &node)
}

fn issue_details(tables: &Tables, run: RunId, node: &Node) -> Result<IssueDetails, Failure> {
    let row = tables.item(run, node).ok_or_else(no_issues_failure)?;
    let issue = issue_of_item(tables, row).ok_or_else(|| not_an_issue_failure(row))?;
    let blocks = tables
        .tree(run)
        .filter(|item| item.plan.depends_on.contains(node));
    Ok(IssueDetails {
        run: tables
            .run(run)
            .map(|run| run.name.clone())
            .unwrap_or_default(),
        issue,
        prompt: row.plan.prompt.clone(),
        error: row.error.clone(),
        human: row.people.human.as_ref().map(|human| human.reason.clone()),
        blocks: blocks.map(|item| item.plan.id.clone()).collect(),
    })
}

fn not_an_issue_failure(row: &ItemRow) -> Failure {
    Failure::new("item.unknown", format!("`{}` is no issue", row.node))
        .with_hint("see the issues with `piton issue list`")
}

/// What became of an issue that a person moved.
#[derive(Clone, Debug, Serialize)]
pub struct MovedIssue {
    /// The issue.
    pub issue: IssueDetails,
    /// How its run stands.
    #[serde(rename = "then")]
    pub outcome: ControlOutcome,
}

crate::name_schema!(MovedIssue, "piton.issue.move/1");

/// Carries out what a person says of an issue that is named as `[RUN:]ID`.
///
/// # Errors
///
/// When there is no such issue, its status does not take this, or a runner works on
/// it. Nothing is stored then.
pub fn move_issue(
    world: &World,
    name: &str,
    what: &IssueMove,
    why: Option<String>,
    told: &mut NoticeSink<'_>,
) -> Result<MovedIssue, Failure> {
    let session = Session::open_writable(world, &world.cwd)?.ok_or_else(no_issues_failure)?;
    let (run, node) = resolve_planned_item(&session, name)?;
    let through = format!("piton issue {}", what.verb());
    let author = EditAuthor::Typed { through, why };
    change_issues(&session, run, author, told, |tables, issues, _| {
        let row = tables.item(run, &node).ok_or_else(no_issues_failure)?;
        if issue_of_item(tables, row).is_none() {
            return Err(not_an_issue_failure(row));
        }
        let edits = (issues.moves)(tables, row, what).map_err(failure_of_refusal)?;
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
    told: &mut NoticeSink<'_>,
) -> Result<MovedIssue, Failure> {
    let session =
        Session::open_writable(world, &search_folder(world, run))?.ok_or_else(no_issues_failure)?;
    let run = resolve_run(&session, run)?.id;
    let author = EditAuthor::Typed {
        through: "piton issue add".to_owned(),
        why: None,
    };
    change_issues(&session, run, author, told, |tables, issues, manifest| {
        let edits = (issues.add)(tables, run, manifest, new).map_err(failure_of_refusal)?;
        let added = edits.iter().find_map(Edit::target_node).cloned();
        Ok((added.expect("an issue is added"), edits))
    })
}

fn failure_of_refusal(refusal: IssueRefusal) -> Failure {
    Failure::new(refusal.code, refusal.what).with_hint(refusal.hint)
}

/// What is to be changed: the issue that is told of then, and the edits.
type IssueEdits = Result<(Node, Vec<Edit>), Failure>;

/// Changes the issues of a run, and writes its file. What a dead runner left there is
/// settled first, and what stands in the file is taken in.
fn change_issues(
    session: &Session<'_>,
    run: RunId,
    author: EditAuthor,
    told: &mut NoticeSink<'_>,
    wanted: impl FnOnce(&Tables, &IssuesOf, Option<&str>) -> IssueEdits,
) -> Result<MovedIssue, Failure> {
    // Held until the command is stored: no runner begins anything in between.
    let lock = runner::settle_dead_runner(session, run, told)?;
    let row = load_run(session, run)?;
    if lock.is_some() {
        FileNotice::emit_all(&sync_plan_file(session, &row)?, told);
    }
    let rows = session.load(&needs_of_run(run))?;
    let issues = issues_of_run(&row).ok_or_else(no_issues_failure)?;
    let manifest = read_manifest(session, &row);
    let (node, edits) = wanted(&rows.tables, &issues, manifest.as_deref())?;
    let command = Command::TakeEdits {
        run,
        token: None,
        file: PlanFile::path_of_run(&row).unwrap_or_default(),
        edits,
        word: author,
    };
    session.execute_command(&command)?;
    drop(lock);
    let outcome = outcome_of_run(session, &row)?;
    let rows = session.load(&needs_of_run(run))?;
    Ok(MovedIssue {
        issue: issue_details(&rows.tables, run, &node)?,
        outcome,
    })
}

fn load_run(session: &Session<'_>, run: RunId) -> Result<RunRow, Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    rows.tables.run(run).cloned().ok_or_else(no_runs_failure)
}

/// The text of the manifest beside the file of a run, where there is one.
fn read_manifest(session: &Session<'_>, row: &RunRow) -> Option<String> {
    let name = plan_format(&row.plan.face)?.phases?.manifest;
    let folder = session.project.absolute_path(PlanFile::folder_of_run(row));
    session.project.read_text(&folder.join(name)).ok()
}

fn check_state(state: &str) -> Result<(), Failure> {
    let own = STATES.map(ItemState::as_str);
    let formats = plan_formats().iter().filter_map(|format| format.issues);
    let of_files: Vec<&str> = formats.flat_map(|issues| issues.states).copied().collect();
    if own.contains(&state) || of_files.contains(&state) {
        return Ok(());
    }
    Err(
        Failure::new("usage", format!("there is no state `{state}`")).with_hint(format!(
            "the states are: {}; in the file: {}",
            join_words(&own),
            join_words(&of_files)
        )),
    )
}

fn no_issues_failure() -> Failure {
    Failure::new("run.unknown", "no run here has issues")
        .with_hint("`piton init` finds a state.json here and takes its issues over")
}

fn resolve_run(session: &Session<'_>, text: Option<&str>) -> Result<RunRow, Failure> {
    if let Some(text) = text {
        let run = session.resolve_run(text)?;
        if issues_of_run(&run).is_some() {
            return Ok(run);
        }
        return Err(
            Failure::new("run.unknown", format!("run `{}` has no issues", run.name))
                .with_hint(format!("see its nodes with `piton status {}`", run.name)),
        );
    }
    let runs = session.runs()?;
    let open: Vec<&RunRow> = open_runs(&runs)
        .filter(|run| issues_of_run(run).is_some())
        .collect();
    match open.as_slice() {
        [run] => Ok((*run).clone()),
        [] => {
            let last = runs.iter().rfind(|run| issues_of_run(run).is_some());
            last.cloned().ok_or_else(no_issues_failure)
        }
        several => {
            let names: Vec<&str> = several.iter().map(|run| run.name.as_str()).collect();
            Err(Failure::new("usage", "more than one run has issues")
                .with_hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// How the items of a run are issues, if they are.
fn issues_of_run(run: &RunRow) -> Option<IssuesOf> {
    plan_format(&run.plan.face)?.issues
}

/// The item as an issue, if it is one.
fn issue_of_item(tables: &Tables, item: &ItemRow) -> Option<IssueView> {
    let native = item.plan.native.as_ref()?;
    let words = (plan_format(&native.face)?.issues?.words)(tables, item)?;
    let waits_for = item.plan.depends_on.iter().filter_map(|on| {
        let row = tables.item(item.run, on)?;
        (!row.state.is_finished()).then(|| IssueWait {
            id: row.plan.id.clone(),
            state: row.state,
        })
    });
    Some(IssueView {
        id: item.plan.id.clone(),
        node: item.node.as_str().to_owned(),
        state: item.state,
        file_state: words.state.map(str::to_owned),
        title: words.title,
        repo: words.repo,
        pr: words.pr,
        blocked_by: words.blocked_by,
        waits_for: waits_for.collect(),
    })
}
