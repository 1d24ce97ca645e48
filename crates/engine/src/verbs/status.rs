//! `piton status`: where everything stands.

use std::collections::BTreeMap;
use std::fs;

use jiff::Timestamp;
use piton_core::budget::{self, Spent};
use piton_core::flags::RunFlags;
use piton_core::observation::ObservationCategory;
use piton_core::policy::Limits;
use piton_core::run::{Asked, Pause};
use piton_core::stuck::signature;
use piton_core::usage::Spend;
use piton_core::{DecisionRow, ItemState, Need, Node, Outcome, RunId, RunRow, RunState, Tables};
use piton_formats::plan_file::{PlanFile, PlanKind};
use serde::Serialize;

use super::control::start;
use crate::failure::{Failure, larger_budget, run_state};
use crate::item_view::{ItemView, Viewer};
use crate::mirror::claimed_in_words;
use crate::session::{Session, open_runs};
use crate::shell::quote;
use crate::standing::RunStanding;
use crate::world::World;

/// How a run stands, in one line.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
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
    pub asked: Option<Asked>,
}

/// What the items of a plan are called that an agent works on, by its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemUnit {
    /// Of a sprint.
    #[default]
    Nodes,
    /// Of a list of requirements.
    Stories,
    /// Of a task file.
    Criteria,
    /// Of a graph of issues.
    Issues,
}

impl ItemUnit {
    /// That of a plan of this native format.
    #[must_use]
    pub fn of_format(face: &str) -> Self {
        match PlanKind::of_format(face) {
            PlanKind::Sprint => Self::Nodes,
            PlanKind::List => Self::Stories,
            PlanKind::Task => Self::Criteria,
            PlanKind::Issues => Self::Issues,
        }
    }

    /// The word for so many.
    #[must_use]
    pub fn word(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::Nodes, 1) => "node",
            (Self::Nodes, _) => "nodes",
            (Self::Stories, 1) => "story",
            (Self::Stories, _) => "stories",
            (Self::Criteria, 1) => "criterion",
            (Self::Criteria, _) => "criteria",
            (Self::Issues, 1) => "issue",
            (Self::Issues, _) => "issues",
        }
    }
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
    /// Those that failed, or are said to be impossible.
    pub nodes_failed: usize,
    /// Agents started in all.
    pub iterations: u32,
}

/// How one run stands.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// In one line.
    #[serde(flatten)]
    pub line: Line,
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
    /// The last sign of life.
    pub last_activity: Timestamp,
    /// Who holds it.
    pub holder: Option<String>,
    /// What it was last run with, and is run with again; absent when without flags.
    #[serde(skip_serializing_if = "RunFlags::is_empty")]
    pub flags: RunFlags,
    /// The questions that wait for a person.
    pub decisions: Vec<DecisionRow>,
    /// Its items, in tree order.
    pub nodes: Vec<ItemView>,
    /// What somebody should look at.
    pub warnings: Vec<String>,
    /// What to type next.
    pub next: Option<String>,
}

/// Where everything stands: all runs in one line each, and one of them whole.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Every run, the oldest first.
    pub runs: Vec<Line>,
    /// The run that was asked for, or the one that is meant.
    pub run: Option<Report>,
}

/// Where everything stands. `run` names one; without it the only run that is
/// not finished, or the latest, is shown whole.
///
/// # Errors
///
/// When there is a store that cannot be read, or no such run.
pub fn status(world: &World, run: Option<&str>) -> Result<Status, Failure> {
    let Some(session) = Session::read(world, &start(world, run))? else {
        return match run {
            Some(name) => Err(Failure::new(
                "run.unknown",
                format!("there is no run `{name}`: nothing is recorded here"),
            )
            .hint("begin one with `piton run PLAN`")),
            None => Ok(Status {
                runs: Vec::new(),
                run: None,
            }),
        };
    };
    let runs = session.runs()?;
    Ok(Status {
        run: shown(&session, run)?
            .map(|row| report(&session, &row))
            .transpose()?,
        runs: runs.iter().map(|row| line(&session, row)).collect(),
    })
}

/// The run that is shown whole: the one that was asked for, else the only one
/// that is not finished, else the latest.
pub(super) fn shown(session: &Session<'_>, run: Option<&str>) -> Result<Option<RunRow>, Failure> {
    if let Some(name) = run {
        return Ok(Some(session.run_named(name)?));
    }
    let runs = session.runs()?;
    let open: Vec<&RunRow> = open_runs(&runs).collect();
    Ok(match open.as_slice() {
        [one] => Some((*one).clone()),
        [] => runs.last().cloned(),
        _ => None,
    })
}

fn line(session: &Session<'_>, row: &RunRow) -> Line {
    let standing = RunStanding::of_run(&session.project, row);
    Line {
        run: row.name.clone(),
        id: row.id,
        live: standing.is_live,
        state: standing.state,
        since: row.since,
        source: row.source.clone(),
        asked: standing.asked,
    }
}

fn report(session: &Session<'_>, row: &RunRow) -> Result<Report, Failure> {
    let rows = session.load(&[
        Need::Run(row.id),
        Need::Tree(row.id),
        Need::OpenDecisions(Some(row.id)),
        Need::OpenDecisions(Some(RunId::PROJECT)),
    ])?;
    let tables = &rows.tables;
    let row = tables.run(row.id).unwrap_or(row);
    let line = line(session, row);
    let standing = RunStanding::of_run(&session.project, row);
    let current = tables.pointer(row.id).map(|item| item.node.clone());
    let now = session.world.now();
    let viewer = Viewer {
        tables,
        now,
        live: line.live,
        current: current.as_ref().filter(|_| row.state != RunState::Done),
    };
    let views = tables.tree(row.id);
    let nodes: Vec<ItemView> = views.map(|item| ItemView::of_item(&viewer, item)).collect();
    let roots = nodes.iter().filter(|item| item.depth == 1);
    let work_s = roots.map(|item| item.work_s).sum();
    // A file of the project shows every run: what holds it back concerns all.
    let decisions: Vec<DecisionRow> = tables
        .open_decisions(row.id)
        .chain(tables.open_decisions(RunId::PROJECT))
        .cloned()
        .collect();
    let started = row.started_at.filter(|time| *time != Timestamp::UNIX_EPOCH);
    Ok(Report {
        pause: row.pause.clone(),
        reason: row.reason.clone(),
        current: current.map(|node| node.to_string()),
        counters: counters(tables, row),
        spend: row.spend.clone().with_fresh_input(),
        started_at: started,
        completed_at: row.completed_at,
        work_s,
        last_activity: last_change(tables, row),
        holder: row
            .holder
            .as_ref()
            .filter(|_| line.live)
            .map(|holder| holder.owner.clone()),
        flags: row.flags.clone(),
        warnings: warnings(session, tables, row),
        next: what_next(row, &standing).or_else(|| {
            let asked = !decisions.is_empty();
            asked.then(|| "piton inbox".to_owned())
        }),
        decisions,
        nodes,
        line,
    })
}

fn last_change(tables: &Tables, row: &RunRow) -> Timestamp {
    let of_items = tables
        .tree(row.id)
        .filter_map(|item| item.completed_at.max(item.started_at))
        .max();
    row.since.max(of_items.unwrap_or(row.since))
}

fn counters(tables: &Tables, row: &RunRow) -> Counters {
    let unit = ItemUnit::of_format(&row.face);
    let mut counters = Counters {
        unit,
        iterations: row.iterations_total,
        ..Counters::default()
    };
    let mut at_depth = [(0, 0); 2];
    for item in tables.tree(row.id) {
        let done = usize::from(item.state == ItemState::Done);
        let level = item.place.depth().checked_sub(1);
        if let Some((all, of_them)) = level.and_then(|level| at_depth.get_mut(level)) {
            *all += 1;
            *of_them += done;
        }
        if item.is_leaf() {
            counters.nodes += 1;
            counters.nodes_done += done;
            counters.nodes_skipped += usize::from(item.state == ItemState::Skipped);
            counters.nodes_failed += usize::from(item.state.is_broken());
        }
    }
    if unit == ItemUnit::Nodes {
        let [(phases, phases_done), (steps, steps_done)] = at_depth;
        counters.phases = Some(phases);
        counters.phases_done = Some(phases_done);
        counters.steps = Some(steps);
        counters.steps_done = Some(steps_done);
    }
    counters
}

fn warnings(session: &Session<'_>, tables: &Tables, row: &RunRow) -> Vec<String> {
    let standing = RunStanding::of_run(&session.project, row);
    let mut warnings: Vec<String> = standing.asked_in_words(&row.name).into_iter().collect();
    let folder = session.project.absolute(PlanFile::folder(row));
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
        ..row.limits
    };
    warnings.extend(budget::passed(&own, &row.spend, Spent::default()));
    let file = PlanFile::path(row);
    let claimed = tables.tree(row.id).filter(|item| item.is_claimed());
    warnings
        .extend(claimed.map(|item| claimed_in_words(item, file.as_deref().unwrap_or_default())));
    let is_shown = !matches!(row.state, RunState::New | RunState::Done);
    let file = file.filter(|_| is_shown);
    if let Some(file) = file
        && !session.project.absolute(&file).exists()
    {
        warnings.push(format!(
            "{file} is not there any more; `piton files sync` writes it again, if what it said is known"
        ));
    }
    warnings
}

/// What to type next: the way out of each state.
pub(super) fn what_next(row: &RunRow, standing: &RunStanding) -> Option<String> {
    if row.face == piton_formats::sdlc::FACE {
        return Some("piton issue list".to_owned());
    }
    let name = quote(&row.name);
    match standing.state {
        RunState::Done => None,
        RunState::Running => Some(format!("piton status {name} --watch")),
        RunState::Waiting if row.pause.is_some() => Some(format!("piton resume {name}")),
        RunState::Waiting | RunState::Blocked => Some("piton inbox".to_owned()),
        RunState::Paused if larger_budget_of(row).is_some() => {
            let flag = larger_budget_of(row).unwrap_or_default();
            Some(format!("piton run {name} {flag}"))
        }
        RunState::Paused if matches!(row.pause, Some(Pause::Limit { .. })) => {
            Some(format!("piton run {name}"))
        }
        RunState::New | RunState::Interrupted => Some(format!("piton run {name}")),
        RunState::Paused => Some(format!("piton resume {name}")),
    }
}

/// The flag for a larger budget, where the run is paused at its own.
fn larger_budget_of(row: &RunRow) -> Option<String> {
    let Some(Pause::Limit { limit }) = &row.pause else {
        return None;
    };
    larger_budget(limit.strip_prefix("budget (")?)
}

/// The sentence for a run's state.
#[must_use]
pub fn sentence(report: &Report) -> Failure {
    run_state(
        &report.line.run,
        report.line.state,
        report.pause.as_ref(),
        report.current.clone(),
    )
}

/// More failures of this kind than these are the fault of the tools, not of
/// the work: the rule of seed 000.
const FRICTION_MAX: usize = 3;

/// How often a category stands in failed attempts.
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
pub struct Failures {
    /// Attempts that failed or were blocked.
    pub attempts: usize,
    /// Their errors by signature, and those of checks that failed for good; the
    /// most frequent first.
    pub signatures: Vec<SignatureCount>,
    /// The categories of all that was noticed in them, the most frequent first.
    pub categories: Vec<CategoryCount>,
    /// What somebody should look at.
    pub warnings: Vec<String>,
}

/// What failed and blocked attempts have in common: those of one run, or of all.
///
/// # Errors
///
/// When there is a store that cannot be read, or no such run.
pub fn failures(world: &World, run: Option<&str>) -> Result<Failures, Failure> {
    let mut failures = Failures {
        attempts: 0,
        signatures: Vec::new(),
        categories: Vec::new(),
        warnings: Vec::new(),
    };
    let Some(session) = Session::read(world, &start(world, run))? else {
        // A run that is named must be there.
        status(world, run)?;
        return Ok(failures);
    };
    let only = run.map(|name| session.run_named(name)).transpose()?;
    let runs = session.runs()?;
    let meant = |run: RunId| only.as_ref().is_none_or(|only| only.id == run);
    let trees = runs.iter().filter(|run| meant(run.id));
    let needs: Vec<Need> = std::iter::once(Need::RecentAttempts(usize::MAX))
        .chain(trees.map(|run| Need::Tree(run.id)))
        .collect();
    let rows = session.load(&needs)?;
    let mut signatures = Signatures::default();
    let mut counts: Vec<usize> = vec![0; ObservationCategory::ALL.len()];
    for attempt in rows.tables.attempts() {
        let Some(report) = &attempt.report else {
            continue;
        };
        if !meant(attempt.run) || !matches!(report.outcome, Outcome::Failed | Outcome::Blocked) {
            continue;
        }
        failures.attempts += 1;
        let error = report.error.as_deref().or(report.summary.as_deref());
        let failed = (attempt.run, &attempt.node);
        signatures.add(failed, error.unwrap_or("no error is known"));
        for category in report.observations.iter().filter_map(|one| one.category) {
            counts[category as usize] += 1;
        }
    }
    // What failed without an attempt that failed: a check whose runs are used up.
    for item in runs.iter().flat_map(|run| rows.tables.tree(run.id)) {
        if item.is_leaf() && item.state.is_broken() {
            let failed = (item.run, &item.node);
            signatures.add_unless_known(failed, item.error.as_deref());
        }
    }
    failures.signatures = signatures.into_counts(&runs);
    let counted = ObservationCategory::ALL.iter().zip(counts);
    failures.categories = counted
        .filter(|(_, count)| *count > 0)
        .map(|(category, count)| CategoryCount {
            category: *category,
            count,
        })
        .collect();
    failures
        .categories
        .sort_by_key(|one| std::cmp::Reverse(one.count));
    let friction = failures.categories.iter().find(|one| {
        one.category == ObservationCategory::ToolingFriction && one.count > FRICTION_MAX
    });
    if let Some(friction) = friction {
        failures.warnings.push(format!(
            "{} failures are tooling-friction: mend the infrastructure first",
            friction.count
        ));
    }
    Ok(failures)
}

/// Failures by the signature of their error.
#[derive(Default)]
struct Signatures<'t> {
    by_signature: BTreeMap<String, Signed<'t>>,
}

#[derive(Default)]
struct Signed<'t> {
    count: usize,
    items: Vec<(RunId, &'t Node)>,
    example: String,
}

impl<'t> Signatures<'t> {
    fn add(&mut self, failed: (RunId, &'t Node), error: &str) {
        let signed = self.by_signature.entry(signature(error)).or_default();
        signed.count += 1;
        error.clone_into(&mut signed.example);
        if !signed.items.contains(&failed) {
            signed.items.push(failed);
        }
    }

    /// Adds the error with which an item ended, where no attempt at it had it.
    fn add_unless_known(&mut self, failed: (RunId, &'t Node), error: Option<&str>) {
        let Some(error) = error else { return };
        let known = self.by_signature.get(&signature(error));
        if known.is_none_or(|signed| !signed.items.contains(&failed)) {
            self.add(failed, error);
        }
    }

    fn into_counts(self, runs: &[RunRow]) -> Vec<SignatureCount> {
        let name = |(id, node): &(RunId, &Node)| {
            let run = runs.iter().find(|run| run.id == *id);
            match run {
                Some(run) => format!("{}:{node}", run.name),
                None => node.to_string(),
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
