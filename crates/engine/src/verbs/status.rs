//! `piton status`: where everything stands.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use jiff::Timestamp;
use piton_core::budget::{self, BudgetUse};
use piton_core::flags::RunFlags;
use piton_core::item::ItemRef;
use piton_core::notification::{LastNotification, last_failure};
use piton_core::observation::ObservationCategory;
use piton_core::policy::Limits;
use piton_core::run::{Pause, PendingRequest, RunHolder};
use piton_core::stuck::error_signature;
use piton_core::usage::Spend;
use piton_core::{
    AttemptRow, DecisionRow, ItemState, Need, Node, Outcome, RunId, RunRow, RunState, Tables,
};
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::ItemUnit;
use piton_formats::registry::item_unit;
use serde::Serialize;

use crate::agents::spool::recorded_processes;
use crate::failure::{Failure, run_state_failure_with_spend};
use crate::git::history;
use crate::native_files::plan_sync::{claimed_in_words, other_plan_in_file};
use crate::process::has_ended;
use crate::process::shell::quote_word;
use crate::runner::describe_unmerged_lanes;
use crate::runner::run_log::run_log_path;
use crate::runner::run_standing::RunStanding;
use crate::runner::run_standing::next_command;
use crate::runner::work_place::WorkPlace;
use crate::session::{Session, open_runs, runs_of_plans};
use crate::verbs::arguments::search_folder;
use crate::verbs::item_view::{ItemView, Viewer, is_directly_worked_on};
use crate::verbs::run::refuse_contradiction;
use crate::verbs::transcript::live_output_path;
use crate::world::World;
use crate::world::input;

/// How a run stands, in one line.
#[derive(Clone, Debug, Serialize)]
pub struct RunLine {
    /// Its name.
    pub run: String,
    /// Its id.
    pub id: piton_core::RunId,
    /// Its state.
    pub state: RunState,
    /// A runner works on it.
    pub live: bool,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// The plan.
    pub source: String,
    /// What was asked of its runner and has not happened yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<PendingRequest>,
}

/// Counters, derived from the items.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counters {
    /// What `nodes` counts.
    pub unit: ItemUnit,
    /// Top-level phases; only of a sprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<usize>,
    /// Those that are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases_done: Option<usize>,
    /// Steps; only of a sprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Those that are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_done: Option<usize>,
    /// Items that an agent works on.
    pub nodes: usize,
    /// Those that are done.
    pub nodes_done: usize,
    /// Those that were left out.
    pub nodes_skipped: usize,
    /// Those that a person took out of the file.
    pub nodes_dropped: usize,
    /// Those that failed.
    pub nodes_failed: usize,
    /// Those that an agent says cannot be done.
    pub nodes_blocked: usize,
    /// Those that wait for a person or for a time.
    pub nodes_waiting: usize,
    /// Agents started in all.
    pub iterations: u32,
}

/// How one run stands.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// In one line.
    #[serde(flatten)]
    pub line: RunLine,
    /// Why it is paused.
    pub pause: Option<Pause>,
    /// Why it is in this state, in one line.
    pub reason: Option<String>,
    /// The node that the pointer names.
    pub current: Option<String>,
    /// Counters.
    pub counters: Counters,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// When it was finished.
    pub completed_at: Option<Timestamp>,
    /// How long agents and checks were at work on it, in seconds. What it
    /// waited for is not in it.
    pub work_s: u64,
    /// What its attempts used; absent where nothing of it is known.
    #[serde(skip_serializing_if = "Spend::is_unknown")]
    pub spend: Spend,
    /// The last sign of life: a change of the run or of an item, or output of an agent.
    pub last_activity: Timestamp,
    /// Who holds it.
    pub holder: Option<String>,
    /// Who works on it beside that one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
    /// What it was last run with, and is run with again; absent when without flags.
    #[serde(skip_serializing_if = "RunFlags::is_empty")]
    pub flags: RunFlags,
    /// The file with the lines of its last run without a terminal; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The questions that wait for a person.
    pub decisions: Vec<DecisionRow>,
    /// Where its work is; absent for a run that is worked on in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<WorkPlace>,
    /// Its items, in tree order.
    pub nodes: Vec<ItemView>,
    /// What a person should look at.
    pub warnings: Vec<String>,
    /// What to type next.
    pub next: Option<String>,
}

/// Where everything stands: all runs in one line each, and one of them whole.
#[derive(Clone, Debug, Serialize)]
pub struct StatusReport {
    /// Every run, the oldest first.
    pub runs: Vec<RunLine>,
    /// The run that was asked for, or the one that is meant.
    pub run: Option<RunReport>,
    /// Why the last notification of a person failed; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify_failed: Option<LastNotification>,
}

crate::name_schema!(StatusReport, "piton.status/1");

/// Where everything stands. `run` names one; without it the only run that is
/// not finished, or the latest, is shown whole.
///
/// # Errors
///
/// When there is a store that cannot be read, or no such run.
pub fn status(world: &World, run: Option<&str>) -> Result<StatusReport, Failure> {
    let Some(session) = Session::open_read_only(world, &search_folder(world, run))? else {
        return match run {
            Some(name) => Err(Failure::new(
                "run.unknown",
                format!("there is no run `{name}`: nothing is recorded here"),
            )
            .with_hint("begin one with `piton run PLAN`")),
            None => Ok(StatusReport {
                runs: Vec::new(),
                run: None,
                notify_failed: None,
            }),
        };
    };
    let all = session.load(&[Need::Runs])?;
    let runs = runs_of_plans(&all);
    let shown = match run {
        Some(name) => Some(session.resolve_run(name)?),
        None => default_run(&runs).cloned(),
    };
    Ok(StatusReport {
        notify_failed: last_failure(all.tables.runs()).cloned(),
        run: shown.map(|row| report_of_run(&session, &row)).transpose()?,
        runs: runs.iter().map(|row| line_of_run(&session, row)).collect(),
    })
}

/// The run that is shown whole: the one that was asked for, else the only one
/// that is not finished, else the latest.
pub(super) fn select_run(
    session: &Session<'_>,
    run: Option<&str>,
) -> Result<Option<RunRow>, Failure> {
    if let Some(name) = run {
        return Ok(Some(session.resolve_run(name)?));
    }
    Ok(default_run(&session.runs()?).cloned())
}

/// The only run that is not finished, else the latest.
fn default_run(runs: &[RunRow]) -> Option<&RunRow> {
    let open: Vec<&RunRow> = open_runs(runs).collect();
    match open.as_slice() {
        [one] => Some(one),
        [] => runs.last(),
        _ => None,
    }
}

pub(super) fn line_of_run(session: &Session<'_>, row: &RunRow) -> RunLine {
    line_with_standing(row, RunStanding::of_run(&session.project, row))
}

fn line_with_standing(row: &RunRow, standing: RunStanding) -> RunLine {
    RunLine {
        run: row.name.clone(),
        id: row.id,
        live: standing.is_live,
        state: standing.state,
        since: row.since,
        source: row.plan.source.clone(),
        asked: standing.asked,
    }
}

fn report_of_run(session: &Session<'_>, row: &RunRow) -> Result<RunReport, Failure> {
    let rows = session.load(&[
        Need::Run(row.id),
        Need::Tree(row.id),
        Need::OpenAttempts(Some(row.id)),
        Need::OpenDecisions(Some(row.id)),
        Need::OpenDecisions(Some(RunId::PROJECT)),
    ])?;
    let tables = &rows.tables;
    // An index that is damaged leads past a row.
    refuse_contradiction(tables, row.id)?;
    let row = tables.run(row.id).unwrap_or(row);
    let standing = RunStanding::of_run(&session.project, row);
    let current = tables.current_item(row.id).map(|item| item.node.clone());
    let now = session.world.now();
    let viewer = Viewer {
        tables,
        now,
        live: standing.is_live,
        current: current.as_ref().filter(|_| row.state != RunState::Done),
    };
    let nodes = views_with_branches(session, &viewer, row.id);
    let roots = nodes.iter().filter(|item| item.depth == 1);
    let work_s = roots.map(|item| item.life.work_s).sum();
    // A file of the project shows every run: what holds it back concerns all.
    let decisions: Vec<DecisionRow> = tables
        .open_decisions(row.id)
        .chain(tables.open_decisions(RunId::PROJECT))
        .cloned()
        .collect();
    let started = row.started_at.filter(|time| *time != Timestamp::UNIX_EPOCH);
    let (other_plan, begin) = unasked_other_plan(session, row, &decisions)?.unzip();
    let begin = begin.map(|file| format!("piton run {}", quote_word(&file)));
    Ok(RunReport {
        pause: row.pause.clone(),
        reason: row.reason.clone(),
        current: current.map(|node| node.as_str().to_owned()),
        counters: count_items(tables, row),
        spend: row.spent.spend.clone().without_cached_input(),
        started_at: started,
        completed_at: row.completed_at,
        work_s,
        last_activity: last_change(tables, row).max(last_output(session, tables, row)),
        holder: living_owners(&row.holder, standing.is_live).pop(),
        joined: living_owners(&row.joined, standing.is_live),
        flags: row.invocation.flags.clone(),
        log: existing_log(session, row),
        place: WorkPlace::of_run(session, row),
        warnings: other_plan
            .into_iter()
            .chain(collect_warnings(session, tables, row))
            .chain(describe_unmerged_lanes(session, row))
            .collect(),
        next: begin.or_else(|| next_command(row, &standing)).or_else(|| {
            let asked = !decisions.is_empty();
            asked.then(|| "piton inbox".to_owned())
        }),
        decisions,
        nodes,
        line: line_with_standing(row, standing),
    })
}

/// The items of a run, each with the branch that it is done on.
fn views_with_branches(session: &Session<'_>, viewer: &Viewer<'_>, run: RunId) -> Vec<ItemView> {
    let mut nodes = ItemView::all_of_run(viewer, run);
    let branches = history::branches_of_done_items(&session.project, viewer.tables, run);
    for view in &mut nodes {
        view.done_on = branches.get(&Node::from_text(&view.node)).cloned();
    }
    nodes
}

/// What there is to say of another plan in the file of a run, and that file; none where a
/// person is asked about it.
fn unasked_other_plan(
    session: &Session<'_>,
    row: &RunRow,
    decisions: &[DecisionRow],
) -> Result<Option<(String, String)>, Failure> {
    // Until a person has said which one holds, the run goes on with what it has.
    let is_asked = |file: &String| {
        decisions
            .iter()
            .any(|asked| asked.file.as_ref() == Some(file))
    };
    Ok(other_plan_in_file(session, row)?.filter(|(_, file)| !is_asked(file)))
}

/// Who the runners of a run belong to; empty where none of them lives.
fn living_owners<'r>(
    runners: impl IntoIterator<Item = &'r RunHolder>,
    is_live: bool,
) -> Vec<String> {
    let living = runners.into_iter().filter(|_| is_live);
    living.map(|runner| runner.owner.clone()).collect()
}

/// The log of a run that is not over, if there is one.
fn existing_log(session: &Session<'_>, row: &RunRow) -> Option<String> {
    let log = run_log_path(&session.project, &row.name);
    let is_there = row.state != RunState::Done && log.is_file();
    is_there.then(|| session.project.relative_path(&log))
}

/// When one of the agents at work printed something for the last time, at most now.
fn last_output(session: &Session<'_>, tables: &Tables, row: &RunRow) -> Timestamp {
    let open = tables.open_attempts().filter(|open| open.run == row.id);
    let printed = open.filter_map(|open| {
        let file = fs::metadata(live_output_path(session, open)).ok()?;
        Timestamp::try_from(file.modified().ok()?).ok()
    });
    let last = printed.max().unwrap_or(row.since);
    last.min(session.world.now())
}

fn last_change(tables: &Tables, row: &RunRow) -> Timestamp {
    let of_items = tables
        .items(row.id)
        .filter_map(|item| item.completed_at.max(item.started_at))
        .max();
    row.since.max(of_items.unwrap_or(row.since))
}

/// The counters of a run.
#[must_use]
pub fn count_items(tables: &Tables, row: &RunRow) -> Counters {
    let unit = item_unit(&row.plan.face);
    let mut counters = Counters {
        unit,
        iterations: row.invocation.iterations_total,
        ..Counters::default()
    };
    let mut at_depth = [(0, 0); 2];
    for item in tables.items(row.id) {
        let done = usize::from(item.state == ItemState::Done);
        let level = item.plan.place.depth().checked_sub(1);
        if let Some((all, of_them)) = level.and_then(|level| at_depth.get_mut(level)) {
            *all += 1;
            *of_them += done;
        }
        if item.is_leaf() {
            counters.nodes += 1;
            match item.state {
                ItemState::Done => counters.nodes_done += 1,
                ItemState::Skipped => counters.nodes_skipped += 1,
                ItemState::Dropped => counters.nodes_dropped += 1,
                ItemState::Failed => counters.nodes_failed += 1,
                ItemState::Blocked => counters.nodes_blocked += 1,
                ItemState::Waiting => counters.nodes_waiting += 1,
                ItemState::Pending | ItemState::Ready | ItemState::Working => {}
            }
        }
    }
    if unit == ItemUnit::NODES {
        let [(phases, phases_done), (steps, steps_done)] = at_depth;
        counters.phases = Some(phases);
        counters.phases_done = Some(phases_done);
        counters.steps = Some(steps);
        counters.steps_done = Some(steps_done);
    }
    counters
}

/// What there is to say of agents that outlived the runner of a run.
fn describe_survivors(
    session: &Session<'_>,
    tables: &Tables,
    row: &RunRow,
    standing: &RunStanding,
) -> Option<String> {
    if standing.is_live {
        return None;
    }
    let recorded = recorded_processes(&session.project.home.join("spool"));
    let is_alive = |open: &&AttemptRow| {
        let id = open.id.to_string();
        let mut of_it = recorded.iter().filter(|process| process.attempt == id);
        open.run == row.id && of_it.any(|process| !has_ended(&process.id))
    };
    let alive: Vec<&AttemptRow> = tables.open_attempts().filter(is_alive).collect();
    let one = alive.first()?;
    let (count, verb, them) = match alive.len() {
        1 => ("1 agent".to_owned(), "is", "it"),
        several => (format!("{several} agents"), "are", "them"),
    };
    let name = quote_word(&row.name);
    let item = format!("{}:{}", row.name, one.node);
    Some(format!(
        "{count} of the runner that is gone {verb} still at work; `piton run {name}` ends {them} and goes on, `piton tail {}` shows what was printed",
        quote_word(&item)
    ))
}

fn collect_warnings(session: &Session<'_>, tables: &Tables, row: &RunRow) -> Vec<String> {
    let standing = RunStanding::of_run(&session.project, row);
    let mut warnings: Vec<String> = standing.describe_request(&row.name).into_iter().collect();
    warnings.extend(describe_survivors(session, tables, row, &standing));
    let folder = session.project.absolute_path(PlanFile::folder_of_run(row));
    if row.state != RunState::Done
        && fs::metadata(folder.join("PAUSE")).is_ok()
        && row.state != RunState::Paused
    {
        warnings.push(format!(
            "there is a PAUSE file in {}: the run pauses at the next boundary",
            folder.display()
        ));
    }
    // What other runs used is not looked up here.
    let own = Limits {
        project_usd: None,
        project_tokens: None,
        ..row.invocation.limits
    };
    warnings.extend(budget::describe_exceeded_budgets(
        &own,
        &row.spent.spend,
        BudgetUse::default(),
    ));
    let file = PlanFile::path_of_run(row);
    let claimed = tables.tree(row.id).filter(|item| item.is_claimed());
    warnings
        .extend(claimed.map(|item| claimed_in_words(item, file.as_deref().unwrap_or_default())));
    let is_shown = !matches!(row.state, RunState::New | RunState::Done);
    let file = file.filter(|_| is_shown);
    if let Some(file) = file {
        let found = fs::metadata(session.project.absolute_path(&file));
        match found.as_ref().map(input::special_kind) {
            Err(_) => warnings.push(format!(
                "{file} is not there any more; `piton files sync` writes it again, if what it said is known"
            )),
            Ok(Some(kind)) => warnings.push(format!(
                "{file} is {kind}, not a file: nothing is read from it or written to it; put a file in its place"
            )),
            Ok(None) => {}
        }
    }
    warnings
}

/// The sentence for a run's state.
#[must_use]
pub fn explain_state(report: &RunReport) -> Failure {
    run_state_failure_with_spend(
        &report.line.run,
        report.line.state,
        report.pause.as_ref(),
        report.current.clone(),
        Some(&report.spend),
    )
}

/// More failures of this kind than these are the fault of the tools, not of
/// the work: the rule of seed 000.
const FRICTION_MAX: usize = 3;

/// What is shown of a failure that gave no error.
const NO_ERROR: &str = "no error is known";

/// How often a category was noticed in failed attempts; one attempt may notice
/// several things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CategoryCount {
    /// The category.
    pub category: ObservationCategory,
    /// How often.
    pub count: usize,
}

/// How often failures have one signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignatureCount {
    /// The normal form of the error: two errors that differ in a number or a
    /// time have the same.
    pub signature: String,
    /// How many failures have it.
    pub count: usize,
    /// The items at which they were, `RUN:NODE`, each once.
    pub items: Vec<String>,
    /// The last of the errors, as it was.
    pub example: String,
}

/// What failed attempts have in common.
#[derive(Clone, Debug, Serialize)]
pub struct FailureSummary {
    /// Attempts that failed or were blocked.
    pub attempts: usize,
    /// Items that failed or are blocked although no attempt at them did, as
    /// those that were taken over so.
    pub items: usize,
    /// The errors of both by signature, the most frequent first. Each attempt
    /// and each of these items is one count.
    pub signatures: Vec<SignatureCount>,
    /// The categories of all that was noticed in them, the most frequent first.
    pub categories: Vec<CategoryCount>,
    /// What a person should look at.
    pub warnings: Vec<String>,
}

crate::name_schema!(FailureSummary, "piton.failures/1");

/// What failed and blocked attempts have in common: those of one run, or of all.
///
/// # Errors
///
/// When there is a store that cannot be read, or no such run.
pub fn failures(world: &World, run: Option<&str>) -> Result<FailureSummary, Failure> {
    let mut failures = FailureSummary {
        attempts: 0,
        items: 0,
        signatures: Vec::new(),
        categories: Vec::new(),
        warnings: Vec::new(),
    };
    let Some(session) = Session::open_read_only(world, &search_folder(world, run))? else {
        // A run that is named must be there.
        status(world, run)?;
        return Ok(failures);
    };
    let only = run.map(|name| session.resolve_run(name)).transpose()?;
    let runs = session.runs()?;
    let meant = |run: RunId| only.as_ref().is_none_or(|only| only.id == run);
    let trees = runs.iter().filter(|run| meant(run.id));
    let needs: Vec<Need> = std::iter::once(Need::RecentAttempts(usize::MAX))
        .chain(trees.map(|run| Need::Tree(run.id)))
        .collect();
    let rows = session.load(&needs)?;
    let mut signatures = Signatures::default();
    let mut tried = BTreeSet::new();
    let mut counts: Vec<usize> = vec![0; ObservationCategory::ALL.len()];
    for attempt in rows.tables.attempts_by_time() {
        let Some(report) = &attempt.report else {
            continue;
        };
        if !meant(attempt.run) || !matches!(report.outcome, Outcome::Failed | Outcome::Blocked) {
            continue;
        }
        failures.attempts += 1;
        let error = report.error.as_deref().or(report.summary.as_deref());
        let failed = ItemRef {
            run: attempt.run,
            node: &attempt.node,
        };
        tried.insert((failed.run, failed.node));
        signatures.add(failed, error.unwrap_or(NO_ERROR));
        for category in report.observations.iter().filter_map(|one| one.category) {
            counts[category as usize] += 1;
        }
    }
    // The error with which an item ended sums up that of its last attempt, in
    // other words; only where there is none does it count.
    for item in runs.iter().flat_map(|run| rows.tables.tree(run.id)) {
        let was_tried = tried.contains(&(item.run, &item.node));
        if is_directly_worked_on(item) && item.state.is_broken() && !was_tried {
            let failed = ItemRef {
                run: item.run,
                node: &item.node,
            };
            failures.items += 1;
            signatures.add(failed, item.error.as_deref().unwrap_or(NO_ERROR));
        }
    }
    failures.signatures = signatures.into_counts(&runs);
    failures.categories = noticed_categories(&counts);
    failures
        .warnings
        .extend(friction_warning(&failures.categories));
    Ok(failures)
}

/// The categories that were noticed, the most frequent first; `counts` has one for each of
/// [`ObservationCategory::ALL`].
fn noticed_categories(counts: &[usize]) -> Vec<CategoryCount> {
    let counted = ObservationCategory::ALL.iter().zip(counts);
    let mut noticed: Vec<CategoryCount> = counted
        .filter(|(_, count)| **count > 0)
        .map(|(category, count)| CategoryCount {
            category: *category,
            count: *count,
        })
        .collect();
    noticed.sort_by_key(|one| std::cmp::Reverse(one.count));
    noticed
}

fn friction_warning(categories: &[CategoryCount]) -> Option<String> {
    let friction = categories.iter().find(|one| {
        one.category == ObservationCategory::ToolingFriction && one.count > FRICTION_MAX
    })?;
    Some(format!(
        "tooling-friction was noticed {} times: mend the infrastructure first",
        friction.count
    ))
}

/// Failures by the signature of their error.
#[derive(Default)]
struct Signatures<'t> {
    by_signature: BTreeMap<String, SignatureEntry<'t>>,
}

#[derive(Default)]
struct SignatureEntry<'t> {
    count: usize,
    items: Vec<ItemRef<'t>>,
    example: String,
}

impl<'t> Signatures<'t> {
    fn add(&mut self, failed: ItemRef<'t>, error: &str) {
        let signed = self.by_signature.entry(error_signature(error)).or_default();
        signed.count += 1;
        error.clone_into(&mut signed.example);
        if !signed.items.contains(&failed) {
            signed.items.push(failed);
        }
    }

    fn into_counts(self, runs: &[RunRow]) -> Vec<SignatureCount> {
        let name = |item: &ItemRef<'_>| {
            let run = runs.iter().find(|run| run.id == item.run);
            match run {
                Some(run) => format!("{}:{}", run.name, item.node.as_str()),
                None => item.node.as_str().to_owned(),
            }
        };
        let counts = self.by_signature.into_iter();
        let mut counts: Vec<SignatureCount> = counts
            .map(|(signature, signed)| SignatureCount {
                signature,
                count: signed.count,
                items: signed.items.iter().map(name).collect(),
                example: signed.example,
            })
            .collect();
        counts.sort_by_key(|one| std::cmp::Reverse(one.count));
        counts
    }
}
