//! `piton recent`: what happened lately, and what is known of attempts.

use std::collections::BTreeSet;
use std::path::Path;

use piton_core::entry::{EntryRow, EntryType};
use piton_core::observation::{Observation, ObservationKind};
use piton_core::usage::Usage;
use piton_core::{AttemptRow, Need, Outcome, RunId, Tables};
use piton_formats::native_file::FILE_AGENT;
use serde::Serialize;

use super::record::item::ResolvedItem;
use super::record::unknown_item::resolve_known_item;
use super::show::outcome_of_attempt;
use crate::failure::Failure;
use crate::memory::open_blockers::unresolved_blockers;
use crate::session::Session;
use crate::world::World;

/// So many entries or attempts are shown unless the caller asks for more.
pub const SHOWN: usize = 20;

/// What happened lately.
#[derive(Clone, Debug, Serialize)]
pub struct RecentActivity {
    /// The last entries, the oldest first.
    pub entries: Vec<EntryRow>,
    /// Of the same time, the attempts that have no entry: those that were read
    /// from a file, the oldest first, and then those under way.
    pub attempts: Vec<AttemptSummary>,
    /// In a sentence or two.
    pub summary: String,
    /// The spec of the last completed task.
    pub last_spec: Option<String>,
    /// The last completed task.
    pub last_task: Option<String>,
    /// Blocked tasks that nothing has completed since and that were not left
    /// out, the oldest first.
    pub unresolved_blockers: Vec<EntryRow>,
}

crate::name_schema!(RecentActivity, "piton.recent/1");

/// What happened lately: the last `count` entries, and what is unresolved
/// however long ago it was.
///
/// # Errors
///
/// When there is a store that cannot be read.
pub fn recent(world: &World, start: &Path, count: usize) -> Result<RecentActivity, Failure> {
    let Some(session) = Session::open_read_only(world, start)? else {
        return Ok(no_activity());
    };
    let rows = session.load(&[
        // One at least tells whether there is anything.
        Need::RecentEntries(count.max(1)),
        Need::RecentAttempts(count.max(1)),
        Need::OpenAttempts(None),
        Need::LastEntry(EntryType::TaskCompleted),
        Need::Blockers,
        Need::Runs,
    ])?;
    let entries = rows.tables.entries_by_time();
    let attempts = attempts_without_entry(&sorted_attempts(&rows.tables), &entries);
    if entries.is_empty() && attempts.is_empty() {
        return Ok(no_activity());
    }
    let mut lately: Vec<RecentEvent<'_>> =
        entries.iter().copied().map(RecentEvent::Entry).collect();
    lately.extend(attempts.into_iter().map(RecentEvent::Attempt));
    // What was logged later stays behind what was logged before.
    lately.sort_by_key(RecentEvent::sort_key);
    let completed = lately.iter().rev().find(|one| one.is_completed());
    let last_spec = completed.and_then(|one| one.spec(&rows.tables));
    let last_task = completed.and_then(|one| one.task());
    let last = &lately[lately.len().saturating_sub(count)..];
    Ok(RecentActivity {
        summary: describe_activity(last, &rows.tables),
        last_spec,
        last_task,
        unresolved_blockers: collect_unresolved(&session, &rows.tables)?,
        entries: last.iter().filter_map(|one| one.entry().cloned()).collect(),
        attempts: last
            .iter()
            .filter_map(|one| Some(summarize_attempt(&rows.tables, one.attempt()?)))
            .collect(),
    })
}

/// The attempts that have no entry: an attempt that is recorded or made gets
/// one when it is over, one that was read from a file gets none.
fn attempts_without_entry<'t>(
    attempts: &[&'t AttemptRow],
    entries: &[&EntryRow],
) -> Vec<&'t AttemptRow> {
    let logged: BTreeSet<(&str, i64)> = entries
        .iter()
        .filter_map(|row| Some((row.entry.task_id.as_deref()?, row.timestamp.as_second())))
        .collect();
    let has_entry = |row: &AttemptRow| {
        let at = row.ended_at.map_or(0, jiff::Timestamp::as_second);
        row.agent != FILE_AGENT || logged.contains(&(row.node.as_str(), at))
    };
    let attempts = attempts.iter();
    let attempts = attempts.filter(|row| row.is_open() || !has_entry(row));
    attempts.copied().collect()
}

/// One thing that happened lately.
#[derive(Clone, Copy)]
enum RecentEvent<'t> {
    Entry(&'t EntryRow),
    Attempt(&'t AttemptRow),
}

impl<'t> RecentEvent<'t> {
    fn entry(&self) -> Option<&'t EntryRow> {
        match self {
            Self::Entry(row) => Some(row),
            Self::Attempt(_) => None,
        }
    }

    fn attempt(&self) -> Option<&'t AttemptRow> {
        match self {
            Self::Entry(_) => None,
            Self::Attempt(row) => Some(row),
        }
    }

    /// What is under way comes after all that is over.
    fn sort_key(&self) -> (bool, Option<jiff::Timestamp>) {
        match self {
            Self::Entry(row) => (false, Some(row.timestamp)),
            Self::Attempt(row) if row.is_open() => (true, Some(row.started_at)),
            Self::Attempt(row) => (false, row.ended_at),
        }
    }

    fn is_under_way(&self) -> bool {
        self.attempt().is_some_and(AttemptRow::is_open)
    }

    fn outcome(&self) -> Option<Outcome> {
        Some(self.attempt()?.report.as_ref()?.outcome)
    }

    fn is_completed(&self) -> bool {
        let kind = self.entry().map(|row| row.entry.kind);
        kind == Some(EntryType::TaskCompleted) || self.outcome() == Some(Outcome::Completed)
    }

    fn is_blocked(&self) -> bool {
        let kind = self.entry().map(|row| row.entry.kind);
        let blocked = [Outcome::Failed, Outcome::Blocked, Outcome::NeedsHuman].map(Some);
        kind == Some(EntryType::TaskBlocked) || blocked.contains(&self.outcome())
    }

    fn spec(&self, tables: &Tables) -> Option<String> {
        match self {
            Self::Entry(row) => row.entry.spec.clone(),
            Self::Attempt(row) => run_name(tables, row.run),
        }
    }

    fn task(&self) -> Option<String> {
        match self {
            Self::Entry(row) => row.entry.task_id.clone(),
            Self::Attempt(row) => Some(row.node.as_str().to_owned()),
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Entry(row) => row.entry.one_line_title(),
            Self::Attempt(row) => {
                let report = row.report.as_ref();
                let said = report.and_then(|report| report.summary.as_deref());
                format!("{}: {}", row.node, said.unwrap_or(outcome_of_attempt(row)))
            }
        }
    }
}

fn no_activity() -> RecentActivity {
    RecentActivity {
        entries: Vec::new(),
        attempts: Vec::new(),
        summary: "No previous progress recorded.".to_owned(),
        last_spec: None,
        last_task: None,
        unresolved_blockers: Vec::new(),
    }
}

fn describe_activity(lately: &[RecentEvent<'_>], tables: &Tables) -> String {
    let plural =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    if lately.is_empty() {
        return "Something is recorded, and nothing of it was asked for.".to_owned();
    }
    let of = if lately.len() == 1 {
        "Last entry".to_owned()
    } else {
        format!("Last {} entries", lately.len())
    };
    let completed = count_tasks(lately, tables, RecentEvent::is_completed);
    let mut text = format!("{of}: {} completed", plural(completed, "task"));
    let blocked = count_tasks(lately, tables, RecentEvent::is_blocked);
    if blocked > 0 {
        text.push_str(&format!(", {}", plural(blocked, "blocker")));
    }
    let running = lately.iter().filter(|one| one.is_under_way()).count();
    if running > 0 {
        text.push_str(&format!(", {running} running"));
    }
    text.push('.');
    if let Some(last) = lately.last() {
        text.push_str(&format!(
            " Most recent: {}.",
            last.title().trim_end_matches('.')
        ));
        let next = last
            .entry()
            .and_then(|row| row.entry.text_field("next_steps"));
        if let Some(next) = next {
            text.push_str(&format!(" Next: {next}"));
        }
    }
    text
}

/// How many tasks these are about; one that was tried three times is one task.
fn count_tasks<'t>(
    lately: &[RecentEvent<'t>],
    tables: &Tables,
    wanted: fn(&RecentEvent<'t>) -> bool,
) -> usize {
    let (named, unnamed): (Vec<_>, Vec<_>) = lately
        .iter()
        .filter(|one| wanted(one))
        .map(|one| one.task().map(|task| (one.spec(tables), task)))
        .partition(Option::is_some);
    let named: BTreeSet<_> = named.into_iter().collect();
    named.len() + unnamed.len()
}

/// An attempt, in short.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptSummary {
    /// The name that it has in `.ralph/progress.json`.
    pub name: Option<String>,
    /// The run of its item; none for an item of no plan.
    pub run: Option<String>,
    /// Its item.
    pub node: String,
    /// Which attempt at the item it is, from 1.
    pub number: u32,
    /// How it ended; `running` while it has not.
    pub outcome: &'static str,
    /// Who made it.
    pub agent: String,
    /// When it was started.
    pub started_at: jiff::Timestamp,
    /// When it was over.
    pub ended_at: Option<jiff::Timestamp>,
    /// What was done.
    pub summary: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// What it used; absent where nothing of it is known.
    #[serde(skip_serializing_if = "Usage::is_unknown")]
    pub usage: Usage,
    /// What was noticed.
    pub observations: Vec<Observation>,
}

/// An observation, with the attempt that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptObservation {
    /// The name of the attempt.
    pub attempt: Option<String>,
    /// The run of its item; none for an item of no plan.
    pub run: Option<String>,
    /// Its item.
    pub node: String,
    /// A later attempt completed the item.
    pub completed_since: bool,
    /// What was noticed.
    #[serde(flatten)]
    pub observation: Observation,
}

/// What was noticed in the last attempts.
#[derive(Clone, Debug, Serialize)]
pub struct Observations {
    /// The item, where one was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Attempts that were looked at.
    pub attempts: usize,
    /// What was noticed, the oldest first.
    pub observations: Vec<AttemptObservation>,
}

crate::name_schema!(Observations, "piton.observations/1");

/// What is known of one item.
#[derive(Clone, Debug, Serialize)]
pub struct ItemAttempts {
    /// The run of the item; none for an item of no plan.
    pub run: Option<String>,
    /// The item.
    pub node: String,
    /// The attempts at it, the oldest first, with what was noticed in each.
    pub attempts: Vec<AttemptSummary>,
    /// What else was logged of it, the oldest first: the entries that tell of
    /// none of its attempts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryRow>,
}

crate::name_schema!(ItemAttempts, "piton.attempts/1");

/// Everything that is blocked.
#[derive(Clone, Debug, Serialize)]
pub struct Blockers {
    /// Blocked tasks that nothing has completed since and that were not left
    /// out, the oldest first.
    pub unresolved_blockers: Vec<EntryRow>,
    /// Every observation that is a blocker, the oldest first.
    pub observations: Vec<AttemptObservation>,
}

crate::name_schema!(Blockers, "piton.blockers/1");

/// What was noticed in the last `count` attempts: at one item, `[RUN:]NODE`, or
/// at all.
///
/// # Errors
///
/// When there is no such item, or a store that cannot be read.
pub fn observations(
    world: &World,
    item: Option<&str>,
    count: usize,
) -> Result<Observations, Failure> {
    if let Some(item) = item {
        let (tables, meant) = load_attempts(world, item)?;
        let attempts = sorted_attempts(&tables);
        let last = &attempts[attempts.len().saturating_sub(count)..];
        return Ok(Observations {
            item: Some(meant.node.as_str().to_owned()),
            observations: collect_observations(&tables, last, |_| true),
            attempts: last.len(),
        });
    }
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(Observations {
            item: None,
            attempts: 0,
            observations: Vec::new(),
        });
    };
    let rows = session.load(&[
        Need::RecentAttempts(count),
        Need::OpenAttempts(None),
        Need::Runs,
    ])?;
    let attempts = sorted_attempts(&rows.tables);
    let last = &attempts[attempts.len().saturating_sub(count)..];
    Ok(Observations {
        item: None,
        observations: collect_observations(&rows.tables, last, |_| true),
        attempts: last.len(),
    })
}

/// The last `count` attempts at an item, `[RUN:]NODE`, with what was noticed in
/// them.
///
/// # Errors
///
/// When there is no such item, or a store that cannot be read.
pub fn history_of_item(world: &World, item: &str, count: usize) -> Result<ItemAttempts, Failure> {
    let (tables, meant) = load_attempts(world, item)?;
    let attempts = sorted_attempts(&tables);
    let last = &attempts[attempts.len().saturating_sub(count)..];
    let entries = other_entries_of_item(world, &meant, &attempts)?;
    let skipped = entries.len().saturating_sub(count);
    Ok(ItemAttempts {
        run: meant.run_name,
        node: meant.node.as_str().to_owned(),
        attempts: last
            .iter()
            .map(|row| summarize_attempt(&tables, row))
            .collect(),
        entries: entries.into_iter().skip(skipped).collect(),
    })
}

/// What was logged of an item and tells of none of its attempts. An entry names
/// its run as its spec; one of another spec is of another task of that name.
fn other_entries_of_item(
    world: &World,
    meant: &ResolvedItem,
    attempts: &[&AttemptRow],
) -> Result<Vec<EntryRow>, Failure> {
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(Vec::new());
    };
    let rows = session.load(&[Need::RecentEntries(usize::MAX)])?;
    let is_attempt = |row: &EntryRow| {
        let mut ended = attempts.iter().filter_map(|attempt| attempt.ended_at);
        ended.any(|at| at.as_second() == row.timestamp.as_second())
    };
    let of_it = rows.tables.entries_by_time().into_iter().filter(|row| {
        row.entry.task_id.as_deref() == Some(meant.item.as_str())
            && (meant.run_name.is_none() || row.entry.spec == meant.run_name)
            && !is_attempt(row)
    });
    Ok(of_it.cloned().collect())
}

/// The attempts at an item, with their runs.
fn load_attempts(world: &World, item: &str) -> Result<(Tables, ResolvedItem), Failure> {
    let unknown = || {
        Failure::new("item.unknown", format!("nothing is recorded of `{item}`")).with_hint(
            "see what happened lately with `piton recent`, and the nodes with `piton status`",
        )
    };
    let session = Session::open_read_only(world, &world.cwd)?.ok_or_else(unknown)?;
    let meant = resolve_known_item(&session, item)?;
    let rows = session.load(&[Need::AttemptsAt(meant.run, meant.node.clone()), Need::Runs])?;
    Ok((rows.tables, meant))
}

/// Everything that is blocked: tasks of sessions, and what attempts say.
///
/// # Errors
///
/// When there is a store that cannot be read.
pub fn blockers(world: &World) -> Result<Blockers, Failure> {
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(Blockers {
            unresolved_blockers: Vec::new(),
            observations: Vec::new(),
        });
    };
    let rows = session.load(&[Need::Blockers, Need::RecentAttempts(usize::MAX), Need::Runs])?;
    let is_blocker = |observation: &Observation| observation.kind == ObservationKind::Blocker;
    Ok(Blockers {
        unresolved_blockers: collect_unresolved(&session, &rows.tables)?,
        observations: collect_observations(
            &rows.tables,
            &sorted_attempts(&rows.tables),
            is_blocker,
        ),
    })
}

/// The attempts in the order in which they ended, and then those under way.
fn sorted_attempts(tables: &Tables) -> Vec<&AttemptRow> {
    let mut attempts: Vec<&AttemptRow> = tables.attempts().collect();
    attempts.sort_by_key(|row| (row.report.is_none(), row.ended_at, row.id));
    attempts
}

fn run_name(tables: &Tables, run: RunId) -> Option<String> {
    let row = tables.run(run).filter(|row| row.id != RunId::PROJECT);
    row.map(|row| row.name.clone())
}

fn summarize_attempt(tables: &Tables, row: &AttemptRow) -> AttemptSummary {
    let report = row.report.as_ref();
    AttemptSummary {
        name: row.name.clone(),
        run: run_name(tables, row.run),
        node: row.node.as_str().to_owned(),
        number: row.number,
        outcome: outcome_of_attempt(row),
        agent: row.agent.clone(),
        started_at: row.started_at,
        ended_at: row.ended_at,
        summary: report.and_then(|report| report.summary.clone()),
        error: report.and_then(|report| report.error.clone()),
        usage: report
            .map(|report| report.program.usage.clone().without_cached_input())
            .unwrap_or_default(),
        observations: report.map_or_else(Vec::new, |report| report.observations.clone()),
    }
}

/// What was noticed in attempts, the oldest first.
fn collect_observations(
    tables: &Tables,
    attempts: &[&AttemptRow],
    wanted: impl Fn(&Observation) -> bool,
) -> Vec<AttemptObservation> {
    let mut completed = std::collections::BTreeSet::new();
    let mut found = Vec::new();
    // The last first: then what was completed later is known.
    for row in attempts.iter().rev() {
        let Some(report) = &row.report else { continue };
        let item = (row.run, &row.node);
        let observations = report.observations.iter().rev();
        found.extend(
            observations
                .filter(|one| wanted(one))
                .map(|one| AttemptObservation {
                    attempt: row.name.clone(),
                    run: run_name(tables, row.run),
                    node: row.node.as_str().to_owned(),
                    completed_since: completed.contains(&item),
                    observation: one.clone(),
                }),
        );
        if report.outcome == Outcome::Completed {
            completed.insert(item);
        }
    }
    found.reverse();
    found
}

/// Blocked tasks that nothing has completed since and that were not left out,
/// the oldest first.
fn collect_unresolved(session: &Session<'_>, tables: &Tables) -> Result<Vec<EntryRow>, Failure> {
    let mut unresolved: Vec<EntryRow> = unresolved_blockers(&*session.store, tables)?
        .into_iter()
        .flat_map(|row| row.entries.clone())
        .collect();
    unresolved.sort_by_key(|row| (row.timestamp, row.position));
    Ok(unresolved)
}
