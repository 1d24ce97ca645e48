//! `piton pause`, `resume`, `stop`, `plan skip`, `plan retry`: control of a run
//! from any process, while a runner works or none does.

use piton_core::event::ItemEvent;
use std::fs;
use std::path::Path;

use piton_core::{Command, Event, ItemState, Need, Node, RunId, RunRow};
use piton_formats::plan_file::PlanFile;
use piton_formats::registry::plan_format;
use piton_store::CommitOutcome;
use serde::Serialize;

use super::compile::sprint_path;
use super::run::plan_path::PlanPath;
use super::run::start_command;
use crate::config::Config;
use crate::failure::notice::Notice;
use crate::failure::{Failure, failure_of_run_state, run_state_failure, unwritable_file};
use crate::native_files::plan_sync::at_rest::sync_plan_file;
use crate::native_files::project_sync;
use crate::project::Project;
use crate::runner;
use crate::runner::run_standing::RunStanding;
use crate::runner::run_standing::next_command;
use crate::session::{Session, no_runs_failure};
use crate::verbs::arguments::search_folder;
use crate::verbs::record::unknown_item::resolve_planned_item;
use crate::world::World;

/// What was asked of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunControl {
    /// Pause at the next boundary.
    Pause,
    /// Let it go on.
    Resume,
    /// Stop now.
    Stop,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct ControlOutcome {
    /// The run's name.
    pub run: String,
    /// Its state now.
    pub state: piton_core::RunState,
    /// A runner works on it and does what was asked when it comes to it.
    pub asked: bool,
    /// A runner works on it.
    pub live: bool,
    /// What to type to see the run at work, or what it waits for.
    pub next: Option<String>,
    /// The same in a sentence.
    #[serde(skip)]
    pub hint: Option<String>,
    /// What was added to its plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// What a person should look at.
    pub warnings: Vec<String>,
}

crate::name_schema!(ControlOutcome, "piton.control/1");

fn open_session<'w>(world: &'w World, text: Option<&str>) -> Result<Session<'w>, Failure> {
    Session::open_writable(world, &search_folder(world, text))?.ok_or_else(no_runs_failure)
}

/// Pauses, resumes or stops a run.
///
/// # Errors
///
/// When there is no such run, or it is not in a state for it.
pub fn control_run(
    world: &World,
    run: Option<&str>,
    wish: RunControl,
) -> Result<ControlOutcome, Failure> {
    let known = open_session(world, run).and_then(|session| {
        let row = session.resolve_run_or_default(run)?;
        Ok((session, row))
    });
    let (session, row) = known.map_err(|failure| match not_started_failure(world, run) {
        Some(better) if failure.code == "run.unknown" => better,
        Some(_) | None => failure,
    })?;
    let command = match wish {
        RunControl::Pause => Command::AskPause { run: row.id },
        RunControl::Resume => Command::ResumeRun { run: row.id },
        RunControl::Stop => Command::AskStop { run: row.id },
    };
    session
        .execute_command(&command)
        .map_err(|failure| match failure.code {
            "run.not_started" => failure.with_hint(start_hint(world, &session.project, &row.name)),
            _ => failure,
        })?;
    if wish == RunControl::Resume {
        rename_pause_file(&session, &row)?;
    }
    let mut said = Vec::new();
    if wish == RunControl::Stop {
        // Of a runner that died an agent may still be at work. Nothing is done
        // to one that lives: it holds the lock.
        let grace = Config::load(&session.project)?.agent.process_limits().grace;
        let mut tell = |notice: Notice<'_>| {
            if let Notice::Warning(text) = notice {
                said.push(text.to_owned());
            }
        };
        drop(runner::settle_dead_runner(&session, row.id, &mut tell)?);
        runner::clean_up_dead_runner(&session, row.id, grace, &mut tell)?;
    }
    let mut outcome = outcome_of_run(&session, &row)?;
    outcome.warnings.splice(0..0, said);
    Ok(outcome)
}

/// What to type to begin a run.
fn start_hint(world: &World, project: &Project, plan: &str) -> String {
    format!("start it with `{}`", start_command(world, project, plan))
}

/// A plan is there that was not run yet.
fn not_started_failure(world: &World, run: Option<&str>) -> Option<Failure> {
    let typed = run.unwrap_or(".");
    let not_started = || {
        let project = Project::find(world, &search_folder(world, run));
        let failure = run_state_failure(typed, piton_core::RunState::New, None, None);
        failure.with_hint(start_hint(world, &project, typed))
    };
    if let Some(file) = PlanPath::resolve(world, Path::new(typed)) {
        return file.is_plan().then(not_started);
    }
    let sprint = sprint_path(world, Path::new(typed)).ok()?;
    (sprint.file.is_file() || sprint.progress_file().is_file()).then(not_started)
}

/// The file that asked for the pause has been heard.
fn rename_pause_file(session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
    let file = session
        .project
        .absolute_path(PlanFile::folder_of_run(row))
        .join("PAUSE");
    match fs::rename(&file, file.with_file_name("PAUSE.done")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(unwritable_file(&file, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// What is to become of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemControl {
    /// Leave it out.
    Skip,
    /// Try it again.
    Retry,
}

/// Skips a node, or tries it again.
///
/// # Errors
///
/// When there is no such node, or it is not in a state for it.
pub fn skip_or_retry_item(
    world: &World,
    item: &str,
    wish: ItemControl,
    why: Option<String>,
) -> Result<ControlOutcome, Failure> {
    let session = open_session(world, None)?;
    let (run, node) = resolve_planned_item(&session, item)?;
    let mut said = Vec::new();
    let mut carry_out = |command: &Command| {
        apply_command(&session, command, &mut |notice| {
            if let Notice::Warning(text) = notice {
                said.push(text.to_owned());
            }
        })
    };
    match wish {
        ItemControl::Skip => carry_out(&Command::SkipItem { run, node, why })?,
        ItemControl::Retry => {
            let again = derived_items(&session, run, &node)?;
            for node in again.iter().cloned() {
                carry_out(&Command::RetryItem {
                    run,
                    node,
                    why: None,
                })?;
            }
            let added = carry_out(&Command::RetryItem { run, node, why })?;
            if !again.is_empty() {
                let names: Vec<String> =
                    again.iter().rev().map(|node| format!("`{node}`")).collect();
                said.push(format!("done again after it: {}", names.join(", ")));
            }
            added
        }
    };
    let row = session
        .load(&[Need::Run(run)])?
        .tables
        .run(run)
        .cloned()
        .ok_or_else(no_runs_failure)?;
    let mut outcome = outcome_of_run(&session, &row)?;
    outcome.warnings.splice(0..0, said);
    Ok(outcome)
}

/// The finished items that were made of what came of one, the last first.
fn derived_items(session: &Session<'_>, run: RunId, node: &Node) -> Result<Vec<Node>, Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    let row = rows.tables.run(run);
    let phases = row.and_then(|row| plan_format(&row.plan.face)?.phases);
    let Some(phases) = phases else {
        return Ok(Vec::new());
    };
    let rows = session.load(&[Need::Tree(run)])?;
    let item = rows.tables.item(run, node);
    Ok(item.map_or_else(Vec::new, |item| (phases.made_of)(&rows.tables, item)))
}

/// Carries out what a person wants of the items of a run. What a dead runner
/// left under way there is settled first, so that it takes effect at once; a
/// living runner is told, as ever. Returns what was added to the plan.
pub(super) fn apply_command(
    session: &Session<'_>,
    command: &Command,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Vec<String>, Failure> {
    // Held until the command is stored: no runner begins anything in between.
    let lock = match command.run_id().filter(|run| *run != RunId::PROJECT) {
        Some(run) => runner::settle_dead_runner(session, run, tell)?,
        None => None,
    };
    if lock.is_some() && is_satisfied(session, command)? {
        return Ok(Vec::new());
    }
    Ok(items_added_by(&session.execute_command(command)?))
}

/// The highest of the items that a command added to a plan.
fn items_added_by(committed: &CommitOutcome) -> Vec<String> {
    let added = committed.events.iter().filter_map(|stored| {
        let Event::Item(ItemEvent::Planned(planned)) = &stored.event else {
            return None;
        };
        let item = &planned.item;
        item.injected.map(|_| &item.node)
    });
    let added: Vec<&Node> = added.collect();
    let is_highest = |node: &&&Node| node.parent().is_none_or(|above| !added.contains(&&above));
    added
        .iter()
        .filter(is_highest)
        .map(ToString::to_string)
        .collect()
}

/// Whether what is wanted has come with what was settled: that an item is left
/// out may have been asked while its runner lived.
fn is_satisfied(session: &Session<'_>, command: &Command) -> Result<bool, Failure> {
    let Command::SkipItem { run, node, .. } = command else {
        return Ok(false);
    };
    let rows = session.load(&[Need::Line(*run, node.clone())])?;
    let item = rows.tables.item(*run, node);
    Ok(item.is_some_and(|item| item.state == ItemState::Skipped))
}

/// How a run stands after a command changed it.
pub(crate) fn outcome_of_run(
    session: &Session<'_>,
    before: &RunRow,
) -> Result<ControlOutcome, Failure> {
    let rows = session.load(&[Need::Run(before.id)])?;
    let row = rows
        .tables
        .run(before.id)
        .cloned()
        .ok_or_else(no_runs_failure)?;
    let standing = RunStanding::of_run(&session.project, &row);
    let live = standing.is_live;
    let mut news = match live {
        true => Vec::new(),
        false => sync_plan_file(session, &row)?,
    };
    news.extend(project_sync::sync_files(session));
    let warnings = news.iter().map(ToString::to_string).collect();
    // A runner that lives goes on by itself.
    let next = next_command(&row, &standing).filter(|_| !live);
    let way_on = failure_of_run_state(&row, standing.state);
    Ok(ControlOutcome {
        warnings,
        added: Vec::new(),
        asked: standing.asked.is_some(),
        hint: way_on.hint.filter(|_| next.is_some()),
        next,
        live,
        state: standing.state,
        run: row.name,
    })
}
