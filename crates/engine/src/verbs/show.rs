//! `piton show`: one item, run or attempt, whole.

use piton_core::attempt::{DiffStat, HumanNeeded, ProcessEnd, Report};
use piton_core::item::millis_between;
use piton_core::name::Space;
use piton_core::observation::Observation;
use piton_core::usage::Usage;
use piton_core::{
    AttemptId, AttemptRow, ItemRow, Need, Node, Role, RunId, RunRow, RunState, Tables,
};
use piton_formats::title::criteria_of_item;
use serde::Serialize;

use super::inbox::OpenQuestion;
use super::record::item::resolve_recorded_item;
use super::record::unknown_item::find_by_own_id;
use super::record::unknown_item::unknown_item_failure;
use super::status;
use super::transcript;
use crate::failure::Failure;
use crate::git::history;
use crate::runner::run_lock;
use crate::session::Session;
use crate::verbs::arguments::search_folder;
use crate::verbs::item_view::{CheckView, ItemView, Viewer, title_of_item};
use crate::verbs::open_questions::questions_of_project;
use crate::world::World;

/// The beginning of an id names an attempt from so many characters on.
const ID_CHARS_MIN: usize = 6;

/// What a name names.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ShowReport {
    /// An item, with the attempts at it.
    Item(Box<ItemDetails>),
    /// A run.
    Run(Box<status::RunReport>),
    /// An attempt.
    Attempt(Box<AttemptDetails>),
}

crate::name_schema!(ShowReport, "piton.show/1");

/// An item, whole.
#[derive(Clone, Debug, Serialize)]
pub struct ItemDetails {
    /// Where it stands; what its check printed is there however it ended.
    pub item: ItemView,
    /// What its agent is asked to do, as the plan says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What must be true when it is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// The nodes that must be finished first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The open questions about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    /// The attempts at it, the oldest first.
    pub attempts: Vec<AttemptDetails>,
}

/// How an attempt went and ended.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptEndDetails {
    /// How it ended; `running` while it has not.
    pub outcome: &'static str,
    /// When it was started.
    pub started_at: jiff::Timestamp,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<jiff::Timestamp>,
    /// How long it worked, in seconds.
    pub work_s: u64,
    /// What was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What kind of failure it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<piton_core::classify::FailureCategory>,
    /// What stood in the agent's way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<piton_core::trouble::Trouble>,
    /// What a person is needed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub human: Option<HumanNeeded>,
    /// How its process ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessEnd>,
}

/// What an attempt used, did and left.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptEffects {
    /// What it used; absent where nothing of it is known.
    #[serde(skip_serializing_if = "Usage::is_unknown")]
    pub usage: Usage,
    /// Calls of tools; absent where its program tells of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallCounts>,
    /// The files that were changed; absent where that was not looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// How much was changed; absent where that was not looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<DiffStat>,
    /// The commits that were made; absent where that was not looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<Vec<String>>,
    /// What was noticed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<Observation>,
    /// The agent's last words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// Where its transcript is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptPlace>,
}

/// An attempt, whole.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptDetails {
    /// Its name in files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its id.
    pub id: AttemptId,
    /// The run of its item; absent for an item of no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Its item.
    pub node: String,
    /// What that item is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Which attempt at the item it is, from 1.
    pub number: u32,
    /// What the agent was started for.
    pub role: Role,
    /// The agent: its name or command.
    pub agent: String,
    /// The model that it was asked to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How it went and ended.
    #[serde(flatten)]
    pub end: AttemptEndDetails,
    /// What it used, did and left.
    #[serde(flatten)]
    pub effects: AttemptEffects,
}

/// How often an agent called its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallCounts {
    /// In all.
    pub all: u32,
    /// Those that failed or were refused.
    pub failed: u32,
    /// Those that it was not permitted to make.
    pub denied: u32,
}

/// Where a transcript is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TranscriptPlace {
    /// Its path, relative to the project where it lies in it.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Whether its middle was left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What `name` names: an item (`[RUN:]NODE`), a run, or an attempt. Changes
/// nothing.
///
/// # Errors
///
/// When nothing has that name, or several things have it, or there is a store
/// that cannot be read.
pub fn show(world: &World, name: &str) -> Result<ShowReport, Failure> {
    let Some(session) = Session::open_read_only(world, &search_folder(world, Some(name)))? else {
        return Err(nothing_recorded_failure(name));
    };
    match find_named(&session, name)? {
        ShowTarget::Item { run, node } => {
            Ok(ShowReport::Item(Box::new(show_item(&session, run, &node)?)))
        }
        ShowTarget::Run(row) => {
            let report = status::status(world, Some(&row.id.to_string()))?.run;
            let report = report.ok_or_else(|| nothing_recorded_failure(name))?;
            Ok(ShowReport::Run(Box::new(report)))
        }
        ShowTarget::Attempt(row) => {
            let needs = [Need::Run(row.run), Need::Line(row.run, row.node.clone())];
            let tables = session.load(&needs)?.tables;
            Ok(ShowReport::Attempt(Box::new(show_attempt(
                &session, &tables, &row,
            ))))
        }
    }
}

/// What a name names.
pub(super) enum ShowTarget {
    /// An item.
    Item {
        /// Its run.
        run: RunId,
        /// Its node.
        node: Node,
    },
    /// A run.
    Run(Box<RunRow>),
    /// An attempt.
    Attempt(Box<AttemptRow>),
}

/// What `name` names: looked for among the items, then the runs, then the attempts.
pub(super) fn find_named(session: &Session<'_>, name: &str) -> Result<ShowTarget, Failure> {
    let found = resolve_recorded_item(session, name);
    if let Ok(meant) = &found
        && !meant.is_new
    {
        return Ok(ShowTarget::Item {
            run: meant.run,
            node: meant.node.clone(),
        });
    }
    match session.resolve_run(name) {
        Ok(row) => return Ok(ShowTarget::Run(Box::new(row))),
        Err(failure) if failure.code == "run.unknown" => {}
        Err(failure) => return Err(failure),
    }
    if let Some(row) = find_attempt(session, name)? {
        return Ok(ShowTarget::Attempt(Box::new(row)));
    }
    if let Some((run, node)) = find_by_own_id(session, name)? {
        return Ok(ShowTarget::Item { run, node });
    }
    // Several runs may have an item of that name, or the run that is named has none.
    found.and_then(|_| Err(unknown_name_failure(session, name)?))
}

/// The attempt of a name, an id or its beginning, or `ITEM#N`.
fn find_attempt(session: &Session<'_>, name: &str) -> Result<Option<AttemptRow>, Failure> {
    if let Some((item, number)) = name.rsplit_once('#')
        && let Ok(number) = number.parse::<u32>()
    {
        let meant = resolve_recorded_item(session, item)?;
        let rows = session.load(&[Need::AttemptsAt(meant.run, meant.node)])?;
        let mut attempts = rows.tables.attempts();
        return Ok(attempts.find(|row| row.number == number).cloned());
    }
    if let Ok(id) = name.parse::<AttemptId>() {
        let rows = session.load(&[Need::Attempt(id)])?;
        return Ok(rows.tables.attempt(id).cloned());
    }
    let rows = session.load(&[Need::Name(Space::Attempt, name.to_owned())])?;
    if rows.tables.find_name(Space::Attempt, name).is_some() {
        return Ok(rows.tables.attempts().next().cloned());
    }
    let is_id = name.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if name.len() < ID_CHARS_MIN || !is_id {
        return Ok(None);
    }
    let rows = session.load(&[Need::OpenAttempts(None), Need::RecentAttempts(usize::MAX)])?;
    let fits = |row: &&AttemptRow| row.id.to_string().starts_with(name);
    let fitting: Vec<&AttemptRow> = rows.tables.attempts().filter(fits).collect();
    match fitting.as_slice() {
        [] => Ok(None),
        [row] => Ok(Some((*row).clone())),
        several => {
            let ids: Vec<String> = several.iter().map(|row| row.id.to_string()).collect();
            Err(Failure::new(
                "usage",
                format!("more than one attempt begins with `{name}`"),
            )
            .with_hint(format!("name one of: {}", ids.join(", "))))
        }
    }
}

fn nothing_recorded_failure(name: &str) -> Failure {
    Failure::new(
        "item.unknown",
        format!("there is no item, run or attempt `{name}`: nothing is recorded here"),
    )
    .with_hint("begin a run with `piton run PLAN`")
}

/// Nothing has that name: what is near to it, or else which runs there are.
fn unknown_name_failure(session: &Session<'_>, name: &str) -> Result<Failure, Failure> {
    Ok(Failure {
        message: format!("there is no item, run or attempt `{name}`"),
        ..unknown_item_failure(session, name)?
    })
}

fn show_item(session: &Session<'_>, run: RunId, node: &Node) -> Result<ItemDetails, Failure> {
    let rows = session.load(&[
        Need::Run(run),
        // Also what it depends on, and what lies below it.
        Need::Tree(run),
        Need::OpenDecisions(Some(run)),
        Need::AttemptsAt(run, node.clone()),
    ])?;
    let tables = &rows.tables;
    let Some(item) = tables.item(run, node) else {
        return Err(unknown_name_failure(session, node.as_str())?);
    };
    let is_over = tables
        .run(run)
        .is_some_and(|row| row.state == RunState::Done);
    let current = tables.current_item(run).filter(|_| !is_over);
    let current = current.map(|item| item.node.clone());
    let live = tables.run(run).is_some_and(|row| {
        row.runners().next().is_some() && !run_lock::is_free(&session.project, row)
    });
    let viewer = Viewer {
        tables,
        now: session.world.now(),
        live,
        current: current.as_ref(),
    };
    let questions = questions_of_project(session)?.into_iter();
    let is_about = |open: &OpenQuestion| {
        open.node.as_deref() == Some(node.as_str())
            && tables.run(run).is_some_and(|row| row.name == open.run)
    };
    let mut attempts: Vec<&AttemptRow> = tables.attempts().collect();
    attempts.sort_by_key(|row| (row.number, row.id));
    let attempts = attempts.into_iter();
    Ok(ItemDetails {
        item: ItemView {
            check: CheckView::with_output(item),
            done_on: history::branches_of_done_items(&session.project, tables, run).remove(node),
            ..ItemView::of_item(&viewer, item)
        },
        prompt: item.plan.prompt.clone(),
        criteria: criteria_of_item(item),
        depends_on: item
            .plan
            .depends_on
            .iter()
            .map(ToString::to_string)
            .collect(),
        questions: questions.filter(is_about).collect(),
        attempts: attempts
            .map(|row| show_attempt(session, tables, row))
            .collect(),
    })
}

fn show_attempt(session: &Session<'_>, tables: &Tables, row: &AttemptRow) -> AttemptDetails {
    let report = row.report.as_ref().or(row.unchecked.as_deref());
    let run = tables.run(row.run).filter(|run| run.id != RunId::PROJECT);
    let text = |of: fn(&Report) -> Option<&String>| report.and_then(of).cloned();
    let activity = report.map(|report| &report.program.activity);
    let calls = activity.filter(|activity| activity.calls + activity.denied > 0);
    let transcript = report.and_then(|report| report.program.transcript.as_ref());
    AttemptDetails {
        name: row.name.clone(),
        id: row.id,
        run: run.map(|run| run.name.clone()),
        node: row.node.as_str().to_owned(),
        title: tables.item(row.run, &row.node).and_then(title_of_item),
        number: row.number,
        role: row.role,
        agent: row.agent.clone(),
        model: row.model.clone(),
        end: AttemptEndDetails {
            outcome: outcome_of_attempt(row),
            started_at: row.started_at,
            ended_at: row.ended_at,
            work_s: work_s(session, row),
            summary: text(|report| report.summary.as_ref()),
            error: text(|report| report.error.as_ref()),
            category: report.and_then(|report| report.category),
            trouble: report.and_then(|report| report.program.trouble),
            human: report.and_then(|report| report.human.clone()),
            process: report.and_then(|report| report.program.process.clone()),
        },
        effects: AttemptEffects {
            usage: report
                .map(|report| report.program.usage.clone())
                .unwrap_or_default(),
            calls: calls.map(|activity| CallCounts {
                all: activity.calls,
                failed: activity.failed,
                denied: activity.denied,
            }),
            files: report.and_then(|report| report.changes.files.clone()),
            diff: report.and_then(|report| report.changes.diff),
            commits: report.and_then(|report| report.changes.commits.clone()),
            observations: report.map_or_else(Vec::new, |report| report.observations.clone()),
            last_words: transcript::last_words(session, row),
            transcript: transcript.map(|kept| TranscriptPlace {
                path: super::display_path(session, &session.project.home.join(&kept.path)),
                bytes: kept.bytes,
                truncated: kept.truncated,
            }),
        },
    }
}

/// How an attempt ended, in a word.
pub(super) fn outcome_of_attempt(row: &AttemptRow) -> &'static str {
    match &row.report {
        Some(report) => report.outcome.as_str(),
        None if row.unchecked.is_some() => "being-checked",
        None => "running",
    }
}

/// How long an attempt worked: until now while it does.
fn work_s(session: &Session<'_>, row: &AttemptRow) -> u64 {
    if row.is_open() {
        return millis_between(row.started_at, session.world.now()) / 1_000;
    }
    row.duration_s().unwrap_or(0)
}

/// The last attempt at an item, also one that is under way.
pub(super) fn last_attempt(
    session: &Session<'_>,
    run: RunId,
    node: &Node,
) -> Result<Option<AttemptRow>, Failure> {
    let rows = session.load(&[Need::AttemptsAt(run, node.clone())])?;
    let last = rows
        .tables
        .attempts()
        .max_by_key(|row| (row.number, row.id));
    Ok(last.cloned())
}

/// An item by its rows, for the messages about it.
pub(super) fn name_of_item(item: Option<&ItemRow>, node: &Node) -> String {
    let title = item.and_then(title_of_item);
    crate::verbs::item_view::label_of_node(node.as_str(), title.as_deref())
}
