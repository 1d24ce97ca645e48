//! `piton files convert`: what one file says, in the form of another.
//!
//! The file is taken into a journal of its own, in memory, and shown from
//! there. What the other format has no place for is told.

use std::path::PathBuf;

use piton_core::attempt::{Outcome, Report, ToldAttempt};
use piton_core::command::{Found, KnownThings, TakenFile};
use piton_core::entry::{Entry, EntryType};
use piton_core::memory::MemoryKind;
use piton_core::{AttemptId, Command, CommandId, HolderKnown, Need, Node, RunId, Tables};
use piton_formats::face::{About, Shown};
pub use piton_formats::plan_convert::Lost;
use piton_formats::problem::{Problem, Source};
use piton_formats::{format, plan_convert};
use piton_store::{MemoryStore, Store as _};

use crate::faces::{FILES, FaceFile};
use crate::failure::{Failure, Findings, unreadable};
use crate::input;
use crate::project::Project;
use crate::world::World;

/// What a file became.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The text in the other format.
    pub text: String,
    /// What the other format has no place for.
    pub lost: Vec<Lost>,
    /// What was wrong with the file.
    pub findings: Findings,
}

/// What a format holds. A file becomes one of the same sort.
#[derive(Clone, Copy)]
enum Sort {
    /// What happened.
    Log(&'static FaceFile),
    /// What is to be done.
    Plan,
}

impl Sort {
    fn of(name: &str) -> Option<Self> {
        let log = FILES.iter().find(|file| file.converts == Some(name));
        let is_plan = plan_convert::NAMES.contains(&name);
        log.map(Self::Log).or(is_plan.then_some(Self::Plan))
    }

    /// What is said of a format of this sort.
    fn says(self) -> &'static str {
        match self {
            Self::Log(_) => "keeps a log",
            Self::Plan => "is a plan",
        }
    }

    /// The formats of this sort.
    fn names(self) -> Vec<&'static str> {
        match self {
            Self::Log(_) => logs(),
            Self::Plan => plan_convert::NAMES.to_vec(),
        }
    }
}

fn logs() -> Vec<&'static str> {
    let mut names: Vec<&str> = FILES.iter().filter_map(|file| file.converts).collect();
    names.dedup();
    names
}

fn sort(name: &str) -> Result<Sort, Failure> {
    Sort::of(name).ok_or_else(|| {
        Failure::new("usage", format!("`{name}` cannot be converted")).hint(format!(
            "the logs are: {}; the plans are: {}",
            logs().join(", "),
            plan_convert::NAMES.join(", ")
        ))
    })
}

/// Turns a file of one format into the text of another. Writes nothing.
///
/// # Errors
///
/// When there is no such format, they are of two sorts, or the file cannot be read.
pub fn convert(
    world: &World,
    from: &str,
    to: &str,
    input: Option<&PathBuf>,
) -> Result<Converted, Failure> {
    let (from, to) = match (sort(from)?, sort(to)?) {
        (Sort::Plan, Sort::Plan) => return convert_plan(world, from, to, input),
        (Sort::Log(from), Sort::Log(to)) => (from, to),
        (one, other) => {
            let message = format!(
                "`{from}` {}, and `{to}` {}: a plan becomes a plan, a log a log",
                one.says(),
                other.says()
            );
            return Err(Failure::new("usage", message).hint(format!(
                "`{from}` can become one of: {}",
                one.names().join(", ")
            )));
        }
    };
    let project = Project::find(world, &world.cwd);
    let path = input.map_or_else(|| project.root.join(from.path), |input| world.path(input));
    let text = input::read_text(&path).map_err(|error| unreadable(&path, error))?;
    let shown = path.display().to_string();
    let name = project
        .root
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let about = About {
        file: &shown,
        project: &name,
        now: world.now(),
        zone: world.zone(),
        iteration: None,
    };
    let took = (from.take)(&text, None, &about);
    let findings = Findings {
        problems: took.problems,
        sources: [(shown.clone(), text)].into(),
    };
    if findings.problems.iter().any(Problem::is_error) {
        return Err(cannot_read(&shown, findings));
    }
    let tables = kept(world, took.found, to)?;
    let rows = rows(&tables);
    let text = (to.show)(None, &rows, &about)
        .map_err(|cannot| Failure::new("file.unwritable", cannot.to_string()))?;
    Ok(Converted {
        text,
        lost: lost(&rows, to),
        findings,
    })
}

/// Turns a plan of one format into one of another.
fn convert_plan(
    world: &World,
    from: &str,
    to: &str,
    input: Option<&PathBuf>,
) -> Result<Converted, Failure> {
    let project = Project::find(world, &world.cwd);
    let usual = format::named(from).and_then(|format| format.paths.first());
    let path = match (input, usual) {
        (Some(input), _) => world.path(input),
        (None, Some(usual)) => project.root.join(usual),
        (None, None) => project.root.clone(),
    };
    let text = input::read_text(&path).map_err(|error| unreadable(&path, error))?;
    let shown = path.display().to_string();
    let source = Source {
        name: &shown,
        text: &text,
    };
    let (plan, problems) = plan_convert::read(from, source, RunId(world.id()));
    let findings = Findings {
        problems,
        sources: [(shown.clone(), text.clone())].into(),
    };
    let Some(plan) = plan else {
        return Err(cannot_read(&shown, findings));
    };
    let written = plan_convert::write(to, &plan, world.now());
    Ok(Converted {
        lost: plan_convert::lost((from, &text, &plan), (to, &written)),
        text: written,
        findings,
    })
}

fn cannot_read(shown: &str, findings: Findings) -> Failure {
    Failure::new("file.unreadable", format!("{shown} cannot be read"))
        .hint(format!(
            "see what is wrong with `piton files check {shown}`"
        ))
        .finding(findings)
}

/// What was found, in a journal of its own.
fn kept(world: &World, found: Vec<Found>, to: &FaceFile) -> Result<Tables, Failure> {
    let store = MemoryStore::default();
    let tell = |command: &Command| {
        let facts = world.facts(HolderKnown::Nothing);
        store
            .commit(CommandId(world.id()), command, &facts)
            .map(drop)
    };
    let wants_entries = to.face != piton_formats::ralph_json::FACE;
    let mut rest = Vec::new();
    for thing in found {
        match &thing {
            // An attempt is logged as well when somebody tells of it.
            Found::Attempt(told) if wants_entries => tell(&Command::TellAttempt(told.clone()))?,
            Found::Entry(entry) if !wants_entries => {
                rest.extend(attempt_of(world, entry).map(Found::Attempt));
                rest.push(thing);
            }
            Found::Entry(_) | Found::Attempt(_) | Found::Memory(_) | Found::Retired(_) => {
                rest.push(thing);
            }
        }
    }
    tell(&Command::TakeFile(Box::new(TakenFile {
        path: String::new(),
        found: rest,
        known: KnownThings::Keep,
    })))?;
    let needs = [
        Need::RecentEntries(usize::MAX),
        Need::RecentAttempts(usize::MAX),
        Need::Memories(None),
    ];
    Ok(store.load(&needs)?.tables)
}

/// The attempt that an entry tells of.
fn attempt_of(world: &World, entry: &Entry) -> Option<Box<ToldAttempt>> {
    let outcome = match entry.kind {
        EntryType::TaskCompleted => Outcome::Completed,
        EntryType::TaskBlocked => Outcome::Blocked,
        EntryType::SessionStarted
        | EntryType::SessionEnded
        | EntryType::DebugResolved
        | EntryType::ScopeOverride
        | EntryType::MilestoneReached
        | EntryType::Other => return None,
    };
    let item = entry.task_id.clone().or_else(|| entry.spec.clone())?;
    let minutes = entry
        .data
        .get("duration_minutes")
        .and_then(serde_json::Value::as_u64);
    let report = Report {
        summary: entry.text("description").map(str::to_owned),
        notes: entry.text("notes").map(str::to_owned),
        duration_s: minutes.map(|minutes| minutes * 60),
        ..Report::bare(outcome)
    };
    Some(Box::new(ToldAttempt {
        attempt: AttemptId(world.id()),
        run: RunId::PROJECT,
        node: Node::child(None, &item, 1),
        item,
        number: None,
        name: None,
        agent: "file".to_owned(),
        ended_at: entry.at.as_deref().and_then(|at| at.parse().ok()),
        report: Box::new(report),
        native: None,
    }))
}

fn rows(tables: &Tables) -> Vec<Shown<'_>> {
    let entries = tables.entries().map(Shown::Entry);
    let attempts = tables.attempts().map(Shown::Attempt);
    let memory = tables.memory().map(Shown::Memory);
    entries.chain(attempts).chain(memory).collect()
}

/// Which of the rows a format has no place for, by kind.
fn lost(rows: &[Shown<'_>], to: &FaceFile) -> Vec<Lost> {
    let (ralph, agent_os) = (
        to.face == piton_formats::ralph_json::FACE,
        to.face == piton_formats::agent_os::FACE,
    );
    let count = |what: &str, fits: &dyn Fn(&Shown<'_>) -> usize| Lost {
        what: what.to_owned(),
        count: rows.iter().map(fits).sum(),
    };
    let memory = |kind: MemoryKind| {
        move |row: &Shown<'_>| {
            usize::from(matches!(row, Shown::Memory(row) if row.memory.kind == kind))
        }
    };
    let mut lost = Vec::new();
    if ralph {
        lost.push(count(
            "entries of sessions, milestones and scope",
            &|row| match row {
                Shown::Entry(row) => usize::from(!matches!(
                    row.entry.kind,
                    EntryType::TaskCompleted | EntryType::TaskBlocked
                )),
                Shown::Attempt(_) | Shown::Memory(_) | Shown::Call(_) => 0,
            },
        ));
    } else {
        lost.push(count("observations of attempts", &|row| match row {
            Shown::Attempt(row) => row
                .report
                .as_ref()
                .map_or(0, |report| report.observations.len()),
            Shown::Entry(_) | Shown::Memory(_) | Shown::Call(_) => 0,
        }));
        lost.push(count("learnings", &memory(MemoryKind::Learning)));
        lost.push(count("patterns", &memory(MemoryKind::Pattern)));
    }
    if ralph || agent_os {
        lost.push(count("guardrails", &memory(MemoryKind::Guardrail)));
    }
    lost.retain(|lost| lost.count > 0);
    lost
}
