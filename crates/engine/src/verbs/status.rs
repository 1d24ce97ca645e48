//! `piton status`: where everything stands.

use std::fs;

use jiff::Timestamp;
use piton_core::budget::{self, Spent};
use piton_core::evidence::{Evidence, Level, evidence_in_words, level_of_evidence};
use piton_core::flags::RunFlags;
use piton_core::observation::ObservationCategory;
use piton_core::policy::Limits;
use piton_core::recover::Followed;
use piton_core::run::Pause;
use piton_core::usage::Spend;
use piton_core::{DecisionRow, ItemRow, ItemState, Need, Outcome, RunId, RunRow, RunState, Tables};
use piton_formats::plan_file::PlanFile;
use serde::Serialize;

use super::control::start;
use crate::failure::{Failure, larger_budget, run_state};
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
}

/// A node of a run.
#[derive(Clone, Debug, Serialize)]
pub struct NodeLine {
    /// Its path.
    pub node: String,
    /// Its id.
    pub id: String,
    /// How deep it stands, from 1.
    pub depth: usize,
    /// Its state.
    pub state: ItemState,
    /// Whether the pointer names it, or something below it.
    pub current: bool,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// When it was finished.
    pub completed_at: Option<Timestamp>,
    /// What was done.
    pub summary: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// How often it was tried again.
    pub retries: u32,
    /// Not before this time is it tried again.
    pub until: Option<Timestamp>,
    /// An attempt at it is over, and its check is to show what it came to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub being_checked: bool,
    /// Why it counts as done; absent while it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Proof>,
    /// What the next attempt follows, after one that did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Followed>,
    /// The node that was split, of which this is a piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece_of: Option<String>,
    /// How many calls its attempts were not permitted to make.
    #[serde(skip_serializing_if = "is_zero")]
    pub denied: u32,
    /// What its attempts used; absent where nothing of it is known.
    #[serde(skip_serializing_if = "Spend::is_unknown")]
    pub spend: Spend,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Why a node counts as done.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    /// How well it is proven.
    pub level: Level,
    /// The same in a few words.
    pub summary: String,
    /// All that shows it.
    pub all: Vec<Evidence>,
}

impl Proof {
    /// That of an item which is done; none of one that only holds others.
    #[must_use]
    pub fn of_item(item: &ItemRow) -> Option<Self> {
        let is_done = item.state == ItemState::Done;
        let evidence = is_done.then_some(item.evidence.as_slice())?;
        Some(Self {
            level: level_of_evidence(evidence)?,
            summary: evidence_in_words(evidence)?,
            all: evidence.to_vec(),
        })
    }
}

/// Counters, derived from the nodes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counters {
    /// Top-level phases.
    pub phases: usize,
    /// Those that are done.
    pub phases_done: usize,
    /// Steps.
    pub steps: usize,
    /// Those that are done.
    pub steps_done: usize,
    /// Nodes that an agent works on.
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
    /// Seconds from start to end, or until now.
    pub elapsed_s: Option<i64>,
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
    /// Its nodes, in tree order.
    pub nodes: Vec<NodeLine>,
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
    let nodes: Vec<NodeLine> = tables
        .tree(row.id)
        .map(|item| {
            node_line(
                item,
                current
                    .as_ref()
                    .is_some_and(|at| row.state != RunState::Done && at.is_within(&item.node)),
            )
        })
        .collect();
    // A file of the project shows every run: what holds it back concerns all.
    let decisions: Vec<DecisionRow> = tables
        .open_decisions(row.id)
        .chain(tables.open_decisions(RunId::PROJECT))
        .cloned()
        .collect();
    let now = session.world.now();
    let started = row.started_at.filter(|time| *time != Timestamp::UNIX_EPOCH);
    let until = row.completed_at.unwrap_or(if line.live {
        now
    } else {
        row.since.max(last_change(tables, row))
    });
    Ok(Report {
        pause: row.pause.clone(),
        reason: row.reason.clone(),
        current: current.map(|node| node.to_string()),
        counters: counters(tables, row),
        spend: row.spend.clone().with_fresh_input(),
        started_at: started,
        completed_at: row.completed_at,
        elapsed_s: started.map(|from| until.as_second() - from.as_second()),
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

fn node_line(item: &ItemRow, current: bool) -> NodeLine {
    NodeLine {
        node: item.node.to_string(),
        id: item.id.clone(),
        depth: item.place.depth(),
        state: item.state,
        current,
        started_at: item.started_at,
        completed_at: item.completed_at,
        summary: item.summary.clone(),
        error: item.error.clone(),
        retries: item.retries,
        until: item.until,
        being_checked: item.is_being_checked(),
        evidence: Proof::of_item(item),
        recovery: item.recovery.as_deref().cloned(),
        piece_of: item.piece_of.as_ref().map(ToString::to_string),
        denied: item.denied,
        spend: item.spend.clone().with_fresh_input(),
    }
}

fn last_change(tables: &Tables, row: &RunRow) -> Timestamp {
    let of_items = tables
        .tree(row.id)
        .filter_map(|item| item.completed_at.max(item.started_at))
        .max();
    row.since.max(of_items.unwrap_or(row.since))
}

fn counters(tables: &Tables, row: &RunRow) -> Counters {
    let mut counters = Counters {
        iterations: row.iterations_total,
        ..Counters::default()
    };
    for item in tables.tree(row.id) {
        let done = usize::from(item.state == ItemState::Done);
        match item.place.depth() {
            1 => {
                counters.phases += 1;
                counters.phases_done += done;
            }
            2 => {
                counters.steps += 1;
                counters.steps_done += done;
            }
            _ => {}
        }
        if item.is_leaf() {
            counters.nodes += 1;
            counters.nodes_done += done;
            counters.nodes_skipped += usize::from(item.state == ItemState::Skipped);
            counters.nodes_failed += usize::from(item.state.is_broken());
        }
    }
    counters
}

fn warnings(session: &Session<'_>, tables: &Tables, row: &RunRow) -> Vec<String> {
    let mut warnings = Vec::new();
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

/// What failed attempts have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Failures {
    /// Attempts that failed or were blocked.
    pub attempts: usize,
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
        categories: Vec::new(),
        warnings: Vec::new(),
    };
    let Some(session) = Session::read(world, &start(world, run))? else {
        // A run that is named must be there.
        status(world, run)?;
        return Ok(failures);
    };
    let only = run.map(|name| session.run_named(name)).transpose()?;
    let rows = session.load(&[Need::RecentAttempts(usize::MAX)])?;
    let mut counts: Vec<usize> = vec![0; ObservationCategory::ALL.len()];
    for attempt in rows.tables.attempts() {
        let Some(report) = &attempt.report else {
            continue;
        };
        let meant = only.as_ref().is_none_or(|run| run.id == attempt.run);
        if !meant || !matches!(report.outcome, Outcome::Failed | Outcome::Blocked) {
            continue;
        }
        failures.attempts += 1;
        for category in report.observations.iter().filter_map(|one| one.category) {
            counts[category as usize] += 1;
        }
    }
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
