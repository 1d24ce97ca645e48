//! `piton report`: what was done with which proof, what failed and why, what waits for
//! whom, what it cost, what was learned, what to type next.
//!
//! Gathered from rows in one pass; how people see it is decided where it is shown. The
//! report that is made at the end of a run is stored by [`store_report`].

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::tz::TimeZone;
use jiff::{RoundMode, Timestamp, Unit, ZonedRound};
use piton_core::usage::Spend;
use piton_core::{AttemptRow, Need, Node, RunId, RunRow, RunState, Tables};
use serde::Serialize;

use super::account::Account;
use super::costs::ItemCosts;
use super::item_view::{ItemView, Viewer};
use super::learn::RememberedRow;
use super::open_questions::{OpenQuestion, open_decisions, views_of_decisions};
use super::status::{Counters, RunLine, count_items, line_of_run, status};
use crate::failure::{Failure, unwritable_file};
use crate::git::history;
use crate::project::Project;
use crate::project::inside::{create_own_folder, write_own_file};
use crate::runner::dead_runner::sanitize_file_name;
use crate::runner::run_standing::{RunStanding, next_command};
use crate::session::{Session, open_runs, runs_of_plans};
use crate::verbs::arguments::search_folder;
use crate::world::World;

/// Where the reports of runs are, in the home of the project.
const FOLDER: &str = "reports";
/// So many of them stay; of more the oldest are removed.
const STORED_MAX: usize = 20;

/// What a report is about.
#[derive(Clone, Debug, Default)]
pub struct ReportQuery {
    /// This run alone, by its name or the path of its plan.
    pub run: Option<String>,
    /// What was done since; without it everything.
    pub since: Option<Timestamp>,
}

/// The report of one run or of several.
#[derive(Clone, Debug, Serialize)]
pub struct WorkReport {
    /// The name of the folder of the project.
    pub project: String,
    /// When the report was made.
    pub made_at: Timestamp,
    /// Since when it looks at what was done; absent where at everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Its runs, the oldest first.
    pub runs: Vec<ReportedRun>,
    /// What waits for a person: of these runs, and of the project.
    pub questions: Vec<OpenQuestion>,
    /// What was learned while they were worked on.
    pub learned: Vec<RememberedRow>,
    /// What to type next.
    pub next: Vec<String>,
}

crate::name_schema!(WorkReport, "piton.report/1");

/// A run in a report.
#[derive(Clone, Debug, Serialize)]
pub struct ReportedRun {
    /// How it stands, in one line.
    #[serde(flatten)]
    pub line: RunLine,
    /// Why it is in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// How many of its items stand how, as `piton status` counts them.
    pub counters: Counters,
    /// The items that were done, in the order of the plan.
    pub done: Vec<ItemView>,
    /// How many were done before the time that the report begins with.
    pub done_before: usize,
    /// What failed, is blocked, waits, was left out or is left.
    pub account: Account,
    /// What its attempts used.
    pub costs: ReportedCosts,
}

/// What the attempts of a run used, of those that are over.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReportedCosts {
    /// All of it.
    pub spend: Spend,
    /// By item, in the order of the plan; those that were never tried are left out.
    pub items: Vec<ItemCosts>,
    /// By model.
    pub models: BTreeMap<String, Spend>,
    /// Of which no model is known; absent where that is nothing.
    #[serde(skip_serializing_if = "Spend::is_empty")]
    pub model_unknown: Spend,
    /// By agent; absent where one did all of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Spend>,
    /// By the hour in which an attempt ended; hours without one are left out.
    pub hours: Vec<HourCosts>,
}

/// What the attempts used that ended in one hour.
#[derive(Clone, Debug, Serialize)]
pub struct HourCosts {
    /// When the hour begins, by the clock on the wall.
    pub hour: Timestamp,
    /// What they used.
    pub spend: Spend,
}

/// The report of the run that is named; without a name of those with work since the time,
/// or else of those that are not finished, or else of the last one.
///
/// # Errors
///
/// When there is no such run, or a store that cannot be read.
pub fn report(world: &World, query: &ReportQuery) -> Result<WorkReport, Failure> {
    report_in(world, &search_folder(world, query.run.as_deref()), query)
}

/// The report of a run that is known by its id. `plan` is what was typed for it: a path may
/// lead into another project.
///
/// # Errors
///
/// As [`report`].
pub fn report_of_known_run(
    world: &World,
    plan: Option<&str>,
    run: RunId,
) -> Result<WorkReport, Failure> {
    let query = ReportQuery {
        run: Some(run.to_string()),
        since: None,
    };
    report_in(world, &search_folder(world, plan), &query)
}

fn report_in(world: &World, folder: &Path, query: &ReportQuery) -> Result<WorkReport, Failure> {
    let Some(session) = Session::open_read_only(world, folder)? else {
        // A run that is named must be there.
        status(world, query.run.as_deref())?;
        return Ok(empty_report(world, &Project::find(world, folder), query));
    };
    let runs = runs_of_plans(&session.load(&[Need::Runs])?);
    let mut report = empty_report(world, &session.project, query);
    for row in select_runs(&session, &runs, query)? {
        report
            .runs
            .extend(report_of_run(&session, &row, &mut report.next, query)?);
    }
    let is_reported =
        |run: &str| run.is_empty() || report.runs.iter().any(|one| one.line.run == run);
    let asked = open_decisions(&session, &runs)?;
    let mut questions = views_of_decisions(&session, &runs, &asked)?;
    questions.retain(|question| is_reported(&question.run));
    if questions.iter().any(|question| question.deferred.is_none()) {
        report.next.insert(0, "piton inbox".to_owned());
    }
    report.questions = questions;
    report.learned = learned_since(&session, &report)?;
    let mut typed = std::collections::BTreeSet::new();
    report.next.retain(|next| typed.insert(next.clone()));
    Ok(report)
}

fn empty_report(world: &World, project: &Project, query: &ReportQuery) -> WorkReport {
    let name = project.root.file_name().unwrap_or(project.root.as_os_str());
    WorkReport {
        project: name.to_string_lossy().into_owned(),
        made_at: world.now(),
        since: query.since,
        runs: Vec::new(),
        questions: Vec::new(),
        learned: Vec::new(),
        next: Vec::new(),
    }
}

/// The runs that may have something to report.
fn select_runs(
    session: &Session<'_>,
    runs: &[RunRow],
    query: &ReportQuery,
) -> Result<Vec<RunRow>, Failure> {
    if let Some(name) = &query.run {
        return Ok(vec![session.resolve_run(name)?]);
    }
    if let Some(since) = query.since {
        let may_have = |row: &&RunRow| row.completed_at.is_none_or(|over| over >= since);
        return Ok(runs.iter().filter(may_have).cloned().collect());
    }
    let open: Vec<RunRow> = open_runs(runs).cloned().collect();
    Ok(match open.is_empty() {
        true => runs.last().cloned().into_iter().collect(),
        false => open,
    })
}

/// The report of a run; none where nothing was done in it since then, and it is not named.
fn report_of_run(
    session: &Session<'_>,
    row: &RunRow,
    next: &mut Vec<String>,
    query: &ReportQuery,
) -> Result<Option<ReportedRun>, Failure> {
    let rows = session.load(&[
        Need::Run(row.id),
        Need::Tree(row.id),
        Need::OpenDecisions(Some(row.id)),
        Need::AttemptsOf(row.id),
    ])?;
    let tables = &rows.tables;
    let row = tables.run(row.id).unwrap_or(row);
    let is_since = |time: Option<Timestamp>| time >= query.since;
    let is_worked_on = |attempt: &AttemptRow| attempt.is_open() || is_since(attempt.ended_at);
    let has_news = is_since(Some(row.since))
        || tables.attempts().any(is_worked_on)
        || tables.tree(row.id).any(|item| is_since(item.completed_at));
    if query.run.is_none() && query.since.is_some() && !has_news {
        return Ok(None);
    }
    let standing = RunStanding::of_run(&session.project, row);
    let viewer = Viewer {
        tables,
        now: session.world.now(),
        live: standing.is_live,
        current: None,
    };
    let Some(account) = Account::of_run(&viewer, row.id) else {
        return Ok(None);
    };
    let (done, done_before) = done_items(session, &viewer, row.id, query.since);
    let over = tables
        .attempts()
        .filter(|attempt| is_since(attempt.ended_at));
    next.extend(next_command(row, &standing));
    Ok(Some(ReportedRun {
        line: line_of_run(session, row),
        // What it waits for stands among the questions.
        reason: row
            .reason
            .clone()
            .filter(|_| !matches!(row.state, RunState::Done | RunState::Waiting)),
        started_at: row.started_at.filter(|time| *time != Timestamp::UNIX_EPOCH),
        completed_at: row.completed_at,
        counters: count_items(tables, row),
        done,
        done_before,
        account: account.with_work_place(session, tables, row.id),
        costs: costs_of_attempts(tables, row.id, over, session.world.time_zone()),
    }))
}

/// The items that agents work on and that were done since, and how many were before.
fn done_items(
    session: &Session<'_>,
    viewer: &Viewer<'_>,
    run: RunId,
    since: Option<Timestamp>,
) -> (Vec<ItemView>, usize) {
    let branches = history::branches_of_done_items(&session.project, viewer.tables, run);
    let views = ItemView::all_of_run(viewer, run).into_iter();
    let done = views.filter(|item| item.state == piton_core::ItemState::Done && item.children == 0);
    let done = done.map(|item| ItemView {
        done_on: branches.get(&Node::from_text(&item.node)).cloned(),
        ..item
    });
    let (lately, before): (Vec<_>, Vec<_>) =
        done.partition(|item| since.is_none() || item.life.completed_at >= since);
    (lately, before.len())
}

fn costs_of_attempts<'t>(
    tables: &'t Tables,
    run: RunId,
    attempts: impl Iterator<Item = &'t AttemptRow>,
    zone: &TimeZone,
) -> ReportedCosts {
    fn add<K: Ord>(sums: &mut BTreeMap<K, Spend>, key: K, spend: &Spend) {
        let sum = sums.entry(key).or_default();
        *sum = sum.plus(spend);
    }
    let mut costs = ReportedCosts::default();
    let (mut items, mut hours) = (BTreeMap::new(), BTreeMap::new());
    for attempt in attempts {
        let Some(report) = &attempt.report else {
            continue;
        };
        let spend = report.counted_spend().without_cached_input();
        if spend.is_empty() {
            continue;
        }
        costs.spend = costs.spend.plus(&spend);
        add(&mut items, &attempt.node, &spend);
        add(&mut costs.agents, attempt.agent.clone(), &spend);
        let ended = attempt.ended_at.unwrap_or(attempt.started_at);
        add(&mut hours, begin_of_hour(ended, zone), &spend);
        if report.program.models.is_empty() {
            costs.model_unknown = costs.model_unknown.plus(&spend);
        }
        for (model, spend) in report.spend_by_model() {
            add(
                &mut costs.models,
                model.clone(),
                &spend.without_cached_input(),
            );
        }
    }
    if costs.agents.len() < 2 {
        costs.agents.clear();
    }
    costs.items = tables
        .tree(run)
        .filter_map(|item| {
            Some(ItemCosts {
                node: item.node.as_str().to_owned(),
                spend: items.remove(&item.node)?,
            })
        })
        .collect();
    let hours = hours.into_iter();
    costs.hours = hours
        .map(|(hour, spend)| HourCosts { hour, spend })
        .collect();
    costs
}

/// When the hour begins that a time is in, by the clock on the wall.
fn begin_of_hour(time: Timestamp, zone: &TimeZone) -> Timestamp {
    let hour = ZonedRound::new()
        .smallest(Unit::Hour)
        .mode(RoundMode::Trunc);
    let begin = time.to_zoned(zone.clone()).round(hour);
    begin.map_or(time, |begin| begin.timestamp())
}

/// What is remembered since the report begins, or since the first of its runs did.
fn learned_since(
    session: &Session<'_>,
    report: &WorkReport,
) -> Result<Vec<RememberedRow>, Failure> {
    let begun = report.runs.iter().filter_map(|run| run.started_at).min();
    let Some(since) = report.since.or(begun) else {
        return Ok(Vec::new());
    };
    let rows = session.load(&[Need::Memories(None)])?;
    let mut learned: Vec<RememberedRow> = rows
        .tables
        .memories()
        .filter(|row| row.added_at >= since && row.retired.is_none())
        .map(|row| row.clone().into())
        .collect();
    learned.sort_by_key(|one| one.row.position);
    Ok(learned)
}

/// Stores the report of a run for the user of this project alone, in the place of an
/// earlier one of the same run; its path, relative to the project where it lies in it.
/// `plan` is what was typed for the run: a path may lead into another project.
///
/// # Errors
///
/// When it cannot be written.
pub fn store_report(
    world: &World,
    plan: Option<&str>,
    run: &str,
    html: &str,
) -> Result<String, Failure> {
    let project = Project::find(world, &search_folder(world, plan));
    let (folder, file) = place_of_report(&project, run);
    let write = || {
        create_own_folder(&folder)?;
        // Behind a link are files of others.
        if !fs::symlink_metadata(&folder)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        write_own_file(&file, html.as_bytes())?;
        remove_oldest(&folder, STORED_MAX)
    };
    write().map_err(|error| unwritable_file(&file, error))?;
    Ok(project.relative_path(&file))
}

/// The path of the report that was stored for a run, if it is still there.
#[must_use]
pub fn stored_report(world: &World, plan: Option<&str>, run: &str) -> Option<String> {
    let project = Project::find(world, &search_folder(world, plan));
    let (_, file) = place_of_report(&project, run);
    file.is_file().then(|| project.relative_path(&file))
}

/// The folder of reports, and the file of the report of a run.
fn place_of_report(project: &Project, run: &str) -> (PathBuf, PathBuf) {
    let folder = project.home.join(FOLDER);
    let file = folder.join(format!("{}.html", sanitize_file_name(run)));
    (folder, file)
}

/// Removes the oldest reports of a folder beyond `stored_max`.
fn remove_oldest(folder: &Path, stored_max: usize) -> io::Result<()> {
    let mut stored = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            let changed = fs::symlink_metadata(&path).and_then(|found| found.modified());
            stored.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), path));
        }
    }
    stored.sort();
    let surplus = stored.len().saturating_sub(stored_max);
    for (_, path) in stored.into_iter().take(surplus) {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_reports_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        for (age, name) in ["c.html", "a.html", "b.html", "notes.txt"]
            .iter()
            .enumerate()
        {
            let file = fs::File::create(folder.path().join(name)).expect("a file");
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(age as u64);
            file.set_modified(at).expect("a time");
        }
        remove_oldest(folder.path(), 2).expect("they can be removed");
        let left = |name: &str| folder.path().join(name).exists();
        assert!(!left("c.html") && left("a.html") && left("b.html") && left("notes.txt"));
    }

    #[test]
    fn an_hour_begins_by_the_clock_on_the_wall() {
        let zone =
            TimeZone::fixed(jiff::tz::Offset::from_seconds(19_800).expect("five hours and a half"));
        let time: Timestamp = "2026-01-15T20:40:00Z".parse().expect("a time");
        let begin: Timestamp = "2026-01-15T20:30:00Z".parse().expect("a time");
        assert_eq!(begin_of_hour(time, &zone), begin);
    }
}
