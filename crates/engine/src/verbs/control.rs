//! `piton pause`, `resume`, `stop`, `plan skip`, `plan retry`: control of a run
//! from any process, while a runner works or none does.

use std::fs;
use std::path::Path;

use piton_core::{Command, Event, ItemState, Need, Node, RunId, RunRow, StreamId};
use piton_formats::plan_file::PlanFile;
use piton_formats::registry::plan_format;
use piton_store::{Committed, Store as _};
use serde::Serialize;

use super::compile::sprint_path;
use super::run::plan_path::PlanPath;
use super::run::start_command;
use super::status::what_next;
use crate::config::Config;
use crate::failure::{Failure, run_state, state_of_run, unwritable};
use crate::native_files::News;
use crate::native_files::plan_sync::rows_of_plan;
use crate::native_files::plan_sync::{PlanSync, settle_superseded};
use crate::native_files::project_sync;
use crate::notice::Notice;
use crate::project::Project;
use crate::runner;
use crate::session::{Session, no_runs};
use crate::standing::RunStanding;
use crate::world::World;

/// What was asked of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Pause at the next boundary.
    Pause,
    /// Let it go on.
    Resume,
    /// Stop now.
    Stop,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
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

/// Where a run named by `text` is looked for: beside a path, else here.
pub(crate) fn start<'a>(world: &'a World, text: Option<&str>) -> std::borrow::Cow<'a, Path> {
    let path = text
        .filter(|text| text.contains('/'))
        .map(|text| world.path(text));
    match path.and_then(|path| fs::canonicalize(path).ok()) {
        Some(path) if path.is_dir() => path.into(),
        Some(path) => path.parent().map(Path::to_owned).unwrap_or(path).into(),
        None => world.cwd.as_path().into(),
    }
}

fn open<'w>(world: &'w World, text: Option<&str>) -> Result<Session<'w>, Failure> {
    Session::write(world, &start(world, text))?.ok_or_else(no_runs)
}

/// Pauses, resumes or stops a run.
///
/// # Errors
///
/// When there is no such run, or it is not in a state for it.
pub fn control(world: &World, run: Option<&str>, wish: Wish) -> Result<Outcome, Failure> {
    let known = open(world, run).and_then(|session| {
        let row = session.run_meant(run)?;
        Ok((session, row))
    });
    let (session, row) = known.map_err(|failure| match not_started(world, run) {
        Some(better) if failure.code == "run.unknown" => better,
        Some(_) | None => failure,
    })?;
    let command = match wish {
        Wish::Pause => Command::AskPause { run: row.id },
        Wish::Resume => Command::ResumeRun { run: row.id },
        Wish::Stop => Command::AskStop { run: row.id },
    };
    session
        .tell(&command)
        .map_err(|failure| match failure.code {
            "run.not_started" => failure.hint(begin_with(world, &session.project, &row.name)),
            _ => failure,
        })?;
    if wish == Wish::Resume {
        rename_pause_file(&session, &row)?;
    }
    let mut said = Vec::new();
    if wish == Wish::Stop {
        // Of a runner that died an agent may still be at work. Nothing is done
        // to one that lives: it holds the lock.
        let grace = Config::load(&session.project)?.agent.limits().grace;
        let mut tell = |notice: Notice<'_>| {
            if let Notice::Warning(text) = notice {
                said.push(text.to_owned());
            }
        };
        drop(runner::settle(&session, row.id, &mut tell)?);
        runner::clear_up(&session, row.id, grace, &mut tell)?;
    }
    let mut outcome = outcome(&session, &row)?;
    outcome.warnings.splice(0..0, said);
    Ok(outcome)
}

/// What to type to begin a run.
fn begin_with(world: &World, project: &Project, plan: &str) -> String {
    format!("start it with `{}`", start_command(world, project, plan))
}

/// A plan is there that nobody has run yet.
fn not_started(world: &World, run: Option<&str>) -> Option<Failure> {
    let typed = run.unwrap_or(".");
    let not_started = || {
        let project = Project::find(world, &start(world, run));
        let failure = run_state(typed, piton_core::RunState::New, None, None);
        failure.hint(begin_with(world, &project, typed))
    };
    if let Some(file) = PlanPath::at(world, Path::new(typed)) {
        return file.is_plan().then(not_started);
    }
    let sprint = sprint_path(world, Path::new(typed)).ok()?;
    (sprint.file.is_file() || sprint.progress().is_file()).then(not_started)
}

/// The file that asked for the pause has been heard.
fn rename_pause_file(session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
    let file = session
        .project
        .absolute(PlanFile::folder(row))
        .join("PAUSE");
    match fs::rename(&file, file.with_file_name("PAUSE.done")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unwritable(&file, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// What is to become of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeWish {
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
pub fn node(
    world: &World,
    item: &str,
    wish: NodeWish,
    why: Option<String>,
) -> Result<Outcome, Failure> {
    let session = open(world, None)?;
    let (run, node) = session.item_named(item)?;
    let mut said = Vec::new();
    let mut carry_out = |command: &Command| {
        steer(&session, command, &mut |notice| {
            if let Notice::Warning(text) = notice {
                said.push(text.to_owned());
            }
        })
    };
    match wish {
        NodeWish::Skip => carry_out(&Command::SkipItem { run, node, why })?,
        NodeWish::Retry => {
            let again = made_of(&session, run, &node)?;
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
        .ok_or_else(no_runs)?;
    let mut outcome = outcome(&session, &row)?;
    outcome.warnings.splice(0..0, said);
    Ok(outcome)
}

/// The finished items that were made of what came of one, the last first.
fn made_of(session: &Session<'_>, run: RunId, node: &Node) -> Result<Vec<Node>, Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    let row = rows.tables.run(run);
    let phases = row.and_then(|row| plan_format(&row.face)?.phases);
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
pub(super) fn steer(
    session: &Session<'_>,
    command: &Command,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Vec<String>, Failure> {
    // Held until the command is stored: no runner begins anything in between.
    let lock = match command.run().filter(|run| *run != RunId::PROJECT) {
        Some(run) => runner::settle(session, run, tell)?,
        None => None,
    };
    if lock.is_some() && is_met(session, command)? {
        return Ok(Vec::new());
    }
    Ok(added_by(&session.tell(command)?))
}

/// The highest of the items that a command added to a plan.
fn added_by(committed: &Committed) -> Vec<String> {
    let added = committed.events.iter().filter_map(|stored| {
        let Event::ItemPlanned(planned) = &stored.event else {
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
fn is_met(session: &Session<'_>, command: &Command) -> Result<bool, Failure> {
    let Command::SkipItem { run, node, .. } = command else {
        return Ok(false);
    };
    let rows = session.load(&[Need::Line(*run, node.clone())])?;
    let item = rows.tables.item(*run, node);
    Ok(item.is_some_and(|item| item.state == ItemState::Skipped))
}

/// Brings the native file of a run that nobody works on up to date. What
/// keeps it from that is no reason to fail: what was asked is done.
pub(super) fn show_in_file(session: &Session<'_>, row: &RunRow) -> Result<Vec<News>, Failure> {
    if !session.keeps_its_file(row)? {
        settle_superseded(session, row)?;
        return Ok(Vec::new());
    }
    let mut shown = Vec::new();
    let mut sync = None;
    // What was written into it comes first; what is stored for that shows then.
    for _ in 0..2 {
        // First how far the journal is: the rows know that much, or more.
        let position = session.store.position(&StreamId::run(row.id))?;
        let tables = rows_of_plan(session, row.id, &[])?;
        if sync.is_none() {
            sync = match PlanSync::open(session, row, &tables) {
                Ok(sync) => sync,
                Err(error) => {
                    shown.push(News::Behind(error.to_string()));
                    None
                }
            };
        }
        let Some(sync) = &mut sync else { break };
        let looked = sync.look(session, &tables, None)?;
        shown.extend(looked.news);
        if !looked.taken {
            let is_gone = sync.was_written() && !sync.target().exists();
            shown.extend(sync.write(&tables, position, session.world.now()));
            shown.extend(is_gone.then(|| file_was_gone(row, sync)));
            break;
        }
    }
    Ok(shown)
}

/// What became of the file of a run that was not there any more.
fn file_was_gone(row: &RunRow, sync: &PlanSync) -> News {
    let (name, file) = (&row.name, sync.path());
    if sync.target().exists() {
        News::Told(format!(
            "{file} was not there any more, and is written again"
        ))
    } else if sync.is_absent_here() {
        News::Told(format!(
            "this branch has no {file}, and is not given one; run `{name}` goes on without it here"
        ))
    } else {
        News::Behind(format!(
            "{file} is not there any more, and what it said is not known to the letter; run `{name}` goes on without it"
        ))
    }
}

/// How a run stands after somebody changed it.
pub(crate) fn outcome(session: &Session<'_>, before: &RunRow) -> Result<Outcome, Failure> {
    let rows = session.load(&[Need::Run(before.id)])?;
    let row = rows.tables.run(before.id).cloned().ok_or_else(no_runs)?;
    let standing = RunStanding::of_run(&session.project, &row);
    let live = standing.is_live;
    let mut news = match live {
        true => Vec::new(),
        false => show_in_file(session, &row)?,
    };
    news.extend(project_sync::follow(session));
    let warnings = news.iter().map(ToString::to_string).collect();
    // A runner that lives goes on by itself.
    let next = what_next(&row, &standing).filter(|_| !live);
    let way_on = state_of_run(&row, standing.state);
    Ok(Outcome {
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
