//! `piton next`: what can be worked on, what waits for what, what is stuck and why.

use jiff::Timestamp;
use piton_core::item::Stage;
use piton_core::run::Pause;
use piton_core::{DecisionRow, ItemRow, ItemState, Need, Node, RunId, RunRow, RunState, Tables};
use serde::Serialize;

use super::control::start;
use super::inbox::open_questions;
use super::status::what_next;
use crate::failure::{Failure, run_state};
use crate::session::{Session, open_runs};
use crate::standing::RunStanding;
use crate::world::World;

/// So many of each are told unless somebody asks for more.
pub const SHOWN: usize = 20;
/// So many runs are told; the latest, where there are more.
const RUNS_MAX: usize = 20;
/// So many characters of a text are told.
const CHARS_MAX: usize = 200;
/// So many of the nodes that one waits for are told.
const ON_MAX: usize = 5;

/// What is next, of every run that is not over or of one.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Next {
    /// The runs, the oldest first.
    pub runs: Vec<RunNext>,
    /// Older runs that are not over and not told.
    pub runs_left_out: usize,
    /// Questions that wait for a person, of whatever kind.
    pub questions: usize,
}

/// What is next in one run.
#[derive(Clone, Debug, Serialize)]
pub struct RunNext {
    /// Its name.
    pub run: String,
    /// Where it stands; what a dead runner left is interrupted.
    pub state: RunState,
    /// Why nothing goes on at present, where that is so.
    pub held_up: Option<String>,
    /// What is being worked on.
    pub working: Vec<String>,
    /// What may be started, in the order in which it will be.
    pub ready: Vec<String>,
    /// What waits, and for what.
    pub waiting: Vec<Waiting>,
    /// What ended badly and holds up whatever waits for it.
    pub stuck: Vec<Stuck>,
    /// How many of these are not told.
    pub left_out: usize,
    /// What to type.
    pub next: Option<String>,
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// A person, who was asked something.
    Person,
    /// A time.
    Time,
    /// Other nodes.
    Dependency,
    /// A person who looks at what was done.
    Breakpoint,
}

/// A node that waits.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// The node.
    pub node: String,
    /// For what.
    #[serde(rename = "for")]
    pub what: WaitsFor,
    /// The question, or what the nodes are that it waits for.
    pub why: Option<String>,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The decision that a person has to make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

/// A node that ended badly.
#[derive(Clone, Debug, Serialize)]
pub struct Stuck {
    /// The node.
    pub node: String,
    /// Failed, or said to be impossible.
    pub state: ItemState,
    /// What went wrong.
    pub why: Option<String>,
    /// The decision that a person has to make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

/// What is next: in the run that is named, or in all that are not over; at most
/// `shown` of each kind. Changes nothing.
///
/// # Errors
///
/// When there is no such run, or a store that cannot be read.
pub fn next(world: &World, run: Option<&str>, shown: usize) -> Result<Next, Failure> {
    let Some(session) = Session::read(world, &start(world, run))? else {
        return match run {
            Some(name) => Err(crate::session::unknown(name, &[])),
            None => Ok(Next::default()),
        };
    };
    let runs = session.runs()?;
    let meant: Vec<RunRow> = match run {
        Some(name) => vec![session.run_named(name)?],
        None => open_runs(&runs).cloned().collect(),
    };
    let left_out = meant.len().saturating_sub(RUNS_MAX);
    let questions = open_questions(&session, &runs)?;
    let mut next = Next {
        runs: Vec::new(),
        runs_left_out: left_out,
        questions: questions.len(),
    };
    for row in &meant[left_out..] {
        let rows = session.load(&[
            Need::Run(row.id),
            Need::Tree(row.id),
            Need::OpenDecisions(Some(row.id)),
        ])?;
        let row = rows.tables.run(row.id).unwrap_or(row);
        let standing = RunStanding::of_run(&session.project, row);
        let found = Found::of(&rows.tables, row.id, world.now());
        next.runs.push(found.told(row, &standing, shown));
    }
    Ok(next)
}

/// What was found of a run, whole.
#[derive(Default)]
struct Found {
    working: Vec<String>,
    ready: Vec<String>,
    waiting: Vec<Waiting>,
    stuck: Vec<Stuck>,
}

impl Found {
    fn of(tables: &Tables, run: RunId, now: Timestamp) -> Self {
        let mut found = Self::default();
        if let Some(RunRow {
            pause: Some(Pause::Breakpoint { node }),
            ..
        }) = tables.run(run)
        {
            found.waiting.push(Waiting {
                node: node.to_string(),
                what: WaitsFor::Breakpoint,
                why: None,
                until: None,
                decision: asked(tables, run, node).map(id),
            });
        }
        for item in tables.tree(run) {
            found.sort(tables, item, now);
        }
        found
    }

    /// Puts an item where it belongs. One that holds others is told only of
    /// where it is worked on itself: at its gate, or at its commit.
    fn sort(&mut self, tables: &Tables, item: &ItemRow, now: Timestamp) {
        let own = item.is_leaf() || (item.stage != Stage::Work && item.open_children == 0);
        if !own {
            return;
        }
        let node = item.node.to_string();
        let later = item.until.filter(|until| *until > now);
        match item.state {
            ItemState::Working => self.working.push(node),
            ItemState::Ready | ItemState::Waiting if later.is_some() => {
                self.waiting.push(Waiting {
                    node,
                    what: WaitsFor::Time,
                    why: item.error.as_deref().map(short),
                    until: later,
                    decision: None,
                });
            }
            ItemState::Waiting if item.human.is_some() => {
                let open = asked(tables, item.run, &item.node);
                let reason = item.human.as_ref().map(|human| short(&human.reason));
                self.waiting.push(Waiting {
                    node,
                    what: WaitsFor::Person,
                    why: open.map(|row| short(&row.question)).or(reason),
                    until: None,
                    decision: open.map(id),
                });
            }
            // One whose time has come is as good as ready.
            ItemState::Ready | ItemState::Waiting => self.ready.push(node),
            ItemState::Pending => self.waiting.push(Waiting {
                node,
                what: WaitsFor::Dependency,
                why: waits_on(tables, item),
                until: None,
                decision: None,
            }),
            ItemState::Failed | ItemState::Blocked => self.stuck.push(Stuck {
                node,
                state: item.state,
                why: item.error.as_deref().map(short),
                decision: asked(tables, item.run, &item.node).map(id),
            }),
            ItemState::Done | ItemState::Skipped => {}
        }
    }

    fn told(mut self, row: &RunRow, standing: &RunStanding, shown: usize) -> RunNext {
        let left_out = cut(&mut self.working, shown)
            + cut(&mut self.ready, shown)
            + cut(&mut self.waiting, shown)
            + cut(&mut self.stuck, shown);
        let state = standing.state;
        let held_up = matches!(
            state,
            RunState::Paused | RunState::Waiting | RunState::Blocked
        );
        let at = row.at.as_ref().map(ToString::to_string);
        RunNext {
            run: row.name.clone(),
            state,
            held_up: held_up.then(|| run_state(&row.name, state, row.pause.as_ref(), at).message),
            working: self.working,
            ready: self.ready,
            waiting: self.waiting,
            stuck: self.stuck,
            left_out,
            next: what_next(row, standing),
        }
    }
}

/// Cuts a list, and says how much went.
fn cut<T>(list: &mut Vec<T>, shown: usize) -> usize {
    let left_out = list.len().saturating_sub(shown);
    list.truncate(shown);
    left_out
}

/// The question about a node that somebody has to answer before it goes on.
fn asked<'t>(tables: &'t Tables, run: RunId, node: &Node) -> Option<&'t DecisionRow> {
    let mut open = tables.open_decisions(run);
    open.find(|row| {
        row.node.as_ref() == Some(node) && row.kind != piton_core::DecisionKind::Question
    })
}

fn id(row: &DecisionRow) -> String {
    format!("d{}", row.number)
}

/// The nodes that an item waits for, or that something above it does, each with
/// where it stands.
fn waits_on(tables: &Tables, item: &ItemRow) -> Option<String> {
    let above = item.node.ancestors();
    let above = above.filter_map(|node| tables.item(item.run, &node));
    let on: Vec<&ItemRow> = std::iter::once(item)
        .chain(above)
        .flat_map(|row| {
            let on = row.depends_on.iter();
            let on = on.filter_map(|node| tables.item(item.run, node));
            on.chain(tables.before(row))
        })
        .filter(|row| !row.state.is_finished())
        .collect();
    let words = on.iter().take(ON_MAX);
    let mut words: Vec<String> = words
        .map(|row| format!("{} ({})", row.node, row.state))
        .collect();
    if let Some(more) = on.len().checked_sub(ON_MAX).filter(|more| *more > 0) {
        words.push(format!("{more} more"));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// The first line of a text, if need be cut.
fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() <= CHARS_MAX {
        return line.to_owned();
    }
    let kept: String = line.chars().take(CHARS_MAX).collect();
    format!("{kept}…")
}
