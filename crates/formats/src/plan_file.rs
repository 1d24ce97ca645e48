//! The file of a plan, as a face of its run.
//!
//! `show` makes the text say how the run stands, in place of what it said, and
//! `edits` tells what somebody changed in it. Which format it is, is the only
//! thing that differs.

use jiff::Timestamp;
use piton_core::gate::Gate;
use piton_core::plan::PlannedItem;
use piton_core::{Edit, ItemRow, ItemState, Node, RunId, RunRow, Tables};

use crate::doubted::{Absent, with_doubted};
use crate::face::CannotShow;
use crate::problem::{Problem, Source};
use crate::tree::Span;
use crate::{prd, sdlc, sprint, task};

/// The file of a plan.
#[derive(Debug)]
pub enum PlanFile {
    /// `PROGRESS.yaml` in the folder of a sprint.
    Sprint(Box<sprint::Exporter>),
    /// A list of requirements: `prd.json`.
    Prd(RunId),
    /// Criteria with boxes: `RALPH_TASK.md`.
    Task(RunId),
    /// A graph of issues: `state.json`.
    Sdlc(RunId),
}

/// What kind of plan a run works through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// A sprint: phases, steps, sub-phases.
    Sprint,
    /// A list of requirements or features.
    List,
    /// A task file with criteria.
    Task,
    /// A graph of issues.
    Issues,
}

impl PlanKind {
    /// The kind of a run, by the native format that it came from.
    #[must_use]
    pub fn of_format(face: &str) -> Self {
        match face {
            prd::FACE => Self::List,
            task::FACE => Self::Task,
            sdlc::FACE => Self::Issues,
            _ => Self::Sprint,
        }
    }
}

/// What the file of a plan says beside its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Of the whole.
    pub whole: Option<String>,
    /// Of one item, beyond the words that it was planned from.
    pub details: Option<String>,
}

impl About {
    /// What a file of this format says of its whole and of the item `row`.
    #[must_use]
    pub fn read(face: &str, source: Source<'_>, row: &ItemRow) -> Self {
        match face {
            prd::FACE => {
                let list = prd::read(source).0;
                let texts = list.map(|list| [list.project, list.description]);
                let texts = texts.into_iter().flatten().flatten();
                let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
                Self {
                    whole: (!texts.is_empty()).then(|| texts.join("\n\n")),
                    details: None,
                }
            }
            task::FACE => task::about(source, row),
            _ => Self::default(),
        }
    }
}

/// What somebody changed in the file of a plan.
#[derive(Debug, Default)]
pub struct Changed {
    /// What it comes to, in the order in which it is to be tried.
    pub edits: Vec<Edit>,
    /// What cannot be taken from a file, and stays as it is.
    pub problems: Vec<Problem>,
    /// The items that stood in the file before and stand there no more; the
    /// problems tell a person so.
    pub removed: Vec<Node>,
    /// The items that piton knows, that did not stand in the file before and
    /// stand there again.
    pub returned: Vec<Node>,
}

impl PlanFile {
    /// The file of a run; none for a run that has no plan in a file.
    #[must_use]
    pub fn of(tables: &Tables, run: RunId) -> Option<Self> {
        let row = tables.run(run)?;
        match row.face.as_str() {
            sprint::FACE => Some(Self::Sprint(Box::new(sprint::Exporter::new(tables, run)))),
            prd::FACE => Some(Self::Prd(run)),
            task::FACE => Some(Self::Task(run)),
            sdlc::FACE => Some(Self::Sdlc(run)),
            _ => None,
        }
    }

    /// The run that it shows.
    #[must_use]
    pub fn run(&self) -> RunId {
        match self {
            Self::Sprint(exporter) => exporter.run(),
            Self::Prd(run) | Self::Task(run) | Self::Sdlc(run) => *run,
        }
    }

    /// Its path, relative to the project.
    #[must_use]
    pub fn path(row: &RunRow) -> Option<String> {
        match row.face.as_str() {
            sprint::FACE if row.source.is_empty() => Some("PROGRESS.yaml".to_owned()),
            sprint::FACE => Some(format!("{}/PROGRESS.yaml", row.source)),
            prd::FACE | task::FACE | sdlc::FACE => Some(row.source.clone()),
            _ => None,
        }
    }

    /// The folder that the plan lies in, relative to the project.
    #[must_use]
    pub fn folder(row: &RunRow) -> &str {
        match row.face.as_str() {
            prd::FACE | task::FACE | sdlc::FACE => {
                row.source.rsplit_once('/').map_or("", |(folder, _)| folder)
            }
            _ => &row.source,
        }
    }

    /// The text that shows the run as of `tables`, made from the present one.
    /// None when the run is not in the tables.
    ///
    /// # Errors
    ///
    /// When the present text cannot be made to say it.
    pub fn show(
        &mut self,
        present: Option<&str>,
        tables: &Tables,
        now: Timestamp,
    ) -> Result<Option<String>, CannotShow> {
        let tables = &*with_doubted(tables, self.run(), Absent::LeftOut);
        match self {
            Self::Sprint(exporter) => {
                Ok(exporter.export(tables, now).map(|progress| match present {
                    Some(present) => sprint::update_progress(present, &progress),
                    None => sprint::render_progress(&progress),
                }))
            }
            // What people wrote into these cannot be made anew.
            Self::Prd(run) => present
                .map(|present| prd::show(present, tables, *run))
                .transpose(),
            Self::Task(run) => Ok(present.map(|present| task::show(present, tables, *run))),
            Self::Sdlc(run) => sdlc::show(present, tables, *run, now),
        }
    }

    /// What somebody changed since piton wrote `base`, the last version of it
    /// that is known.
    ///
    /// # Errors
    ///
    /// What keeps the file from being read.
    pub fn edits(
        &mut self,
        file: &str,
        base: Option<&str>,
        theirs: &str,
        tables: &Tables,
        run: RunId,
        now: Timestamp,
    ) -> Result<Changed, Vec<Problem>> {
        // What is asked about already is not found again.
        let tables = &*with_doubted(tables, run, Absent::Kept);
        match self {
            Self::Sprint(exporter) => {
                sprint_edits(exporter, (file, tables, run, now), base, theirs)
            }
            Self::Prd(_) => prd::edits(base, theirs, sprint::Shown { file, tables, run }),
            Self::Task(_) => task::edits(base, theirs, sprint::Shown { file, tables, run }),
            Self::Sdlc(_) => sdlc::edits(base, theirs, sprint::Shown { file, tables, run }),
        }
    }
}

fn sprint_edits(
    exporter: &mut sprint::Exporter,
    (file, tables, run, now): (&str, &Tables, RunId, Timestamp),
    base: Option<&str>,
    theirs: &str,
) -> Result<Changed, Vec<Problem>> {
    let read = |text| sprint::parse_progress(Source { name: file, text });
    let (theirs, mut problems) = read(theirs);
    let Some(theirs) = theirs.filter(|_| !problems.iter().any(Problem::is_error)) else {
        return Err(problems);
    };
    let shown = sprint::Shown { file, tables, run };
    let base = base.and_then(|base| read(base).0);
    let ours = exporter.export(tables, now);
    let mut changed = match (base, ours) {
        (Some(base), _) => sprint::edits(&base, &theirs, shown),
        (None, Some(ours)) => sprint::edits_without_base(&ours, &theirs, shown),
        (None, None) => Changed::default(),
    };
    problems.append(&mut changed.problems);
    changed.problems = problems;
    Ok(changed)
}

/// Something in a file that is not taken in, as a warning.
pub(crate) fn ignored(file: &str, path: impl Into<String>, message: String, hint: &str) -> Problem {
    let top = Span {
        line: 1,
        column: 1,
        ..Span::default()
    };
    Problem::warning("EDIT_IGNORED", file, path, top).saying(message, hint)
}

/// The items that a file holds which people write: the pieces of an item that
/// was split are piton's own, and stand in no such file.
pub(crate) fn own_items(tables: &Tables, run: RunId) -> impl Iterator<Item = &ItemRow> {
    tables.tree(run).filter(|row| row.piece_of.is_none())
}

/// That something is not in a file any more.
pub(crate) fn gone(file: &str, row: &ItemRow) -> Problem {
    ignored(
        file,
        row.node.as_str(),
        format!(
            "`{}` is not in the file any more; piton still has it",
            row.node
        ),
        "to leave it out, type `piton plan skip` and its name",
    )
}

/// What a box was, is, and is of.
pub(crate) struct Marked<'a> {
    /// Whether piton's last version had it; none when that is not known.
    pub(crate) before: Option<bool>,
    /// Whether it is there now.
    pub(crate) now: bool,
    /// Of what.
    pub(crate) row: &'a ItemRow,
}

impl Marked<'_> {
    /// What somebody meant who set or took away the mark that says that an
    /// item is done.
    pub(crate) fn means(&self, into: &mut Changed) {
        let done = self.row.state == ItemState::Done;
        let node = self.row.node.clone();
        match (self.before, self.now) {
            // Without a base, what was tried may bear an old mark.
            (before @ (Some(false) | None), true)
                if !done && (before.is_some() || self.row.attempts == 0) =>
            {
                let to = ItemState::Done;
                into.edits.push(Edit::SetState { node, to });
            }
            (Some(true), false) if done => {
                let to = ItemState::Pending;
                into.edits.push(Edit::SetState { node, to });
            }
            _ => {}
        }
    }
}

/// What the file says of one item: as it is planned now, and as it was planned
/// by the version that was read before, where there was one.
pub(crate) struct Planned {
    /// By that version.
    pub(crate) before: Option<PlannedItem>,
    /// By the file as it is.
    pub(crate) now: PlannedItem,
}

impl Planned {
    /// Whether the file says something else than the item has, and did not say
    /// the same before: what a person refused once is not told again.
    fn differs<T: PartialEq>(&self, of_row: &T, of: fn(&PlannedItem) -> &T) -> bool {
        let before = self.before.as_ref().map(of);
        of(&self.now) != of_row && before != Some(of(&self.now))
    }

    /// The check of an item. What is asked for when it fails names the item, and
    /// changes with its words; the command stays as it is until the file has
    /// another one.
    fn gate(&self, row: &ItemRow) -> Option<Gate> {
        let script = |gate: &Option<Gate>| gate.as_ref().map(|gate| gate.script.clone());
        let before = self.before.as_ref().map(|item| script(&item.gate));
        let now = self.now.gate.clone();
        if before != Some(script(&now)) {
            return now;
        }
        let on_fail_prompt = now?.on_fail_prompt;
        row.gate.clone().map(|gate| Gate {
            on_fail_prompt,
            ..gate
        })
    }

    /// What the file says that an agent is to be told, where it is not what
    /// piton has. Of an item that is finished, and stays so, nothing is changed.
    pub(crate) fn words(&self, row: &ItemRow, into: &mut Changed) {
        let node = || row.node.clone();
        let is_reopened = into.edits.iter().any(|edit| {
            matches!(edit, Edit::SetState { node, to } if *node == row.node && !to.is_finished())
        });
        if row.state.is_finished() && !is_reopened {
            return;
        }
        let now = &self.now;
        // What is stored holds no secret; the file may.
        let prompt = row.prompt.as_ref();
        let redacted = prompt.is_some_and(|prompt| prompt.contains("[redacted:"));
        if now.prompt.is_some() && !redacted && self.differs(&row.prompt, |item| &item.prompt) {
            into.edits.push(Edit::SetPrompt {
                node: node(),
                prompt: now.prompt.clone(),
            });
        }
        // What is only there to hold others has no check of its own.
        let is_work = row.is_leaf() && now.prompt.is_some();
        if is_work && self.differs(&row.gate, |item| &item.gate) {
            let gate = self.gate(row);
            into.edits.push(Edit::SetGate { node: node(), gate });
        }
        if self.differs(&row.claims, |item| &item.claims) {
            into.edits.push(Edit::SetClaims {
                node: node(),
                claims: now.claims,
            });
        }
        if self.differs(&row.model, |item| &item.model) {
            into.edits.push(Edit::SetModel {
                node: node(),
                model: now.model.clone(),
            });
        }
    }
}

/// The check that a list of commands makes, each of which must pass.
pub(crate) fn gate(commands: &[&str], on_fail_prompt: String) -> Option<Gate> {
    let script = match commands {
        [] => return None,
        [one] => (*one).to_owned(),
        several => {
            // Each in a shell of its own: none ends or moves the others.
            let parts = several.iter().map(|one| format!("(\n{one}\n) || exit\n"));
            parts.collect()
        }
    };
    Some(Gate {
        script,
        on_fail_prompt,
        runs_max: GATE_RUNS_MAX,
        timeout_s: GATE_TIMEOUT_S,
    })
}

/// How often a check is run at most, where a format has no word for it.
const GATE_RUNS_MAX: u32 = 3;
/// How long it may take, in seconds: the tests of a whole project.
const GATE_TIMEOUT_S: u64 = 600;
