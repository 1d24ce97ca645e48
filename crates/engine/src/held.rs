//! What whoever asks is at work on: the attempt that piton started it for, or an
//! item that it was given by name.
//!
//! For programs that stand beside an agent, as the MCP server does, and for the
//! commands that an agent gives itself. Both may write about what they hold and
//! about nothing else.

use piton_core::entry::Entry;
use piton_core::{AttemptId, AttemptRow, Need, Node, RunId};

use crate::caller::Agent;
use crate::failure::Failure;
use crate::process::MARK;
use crate::session::Session;
use crate::verbs::record::item::{asked_about, meant};
use crate::world::World;

/// What a process was given to work on, as its arguments and its environment
/// say; nobody has looked whether there is such a thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// That of an attempt: `piton run` started the agent.
    Attempt(AttemptId),
    /// `piton run` started it, by a mark that this piton cannot read.
    Unknown,
    /// One that a person named: `PITON_ITEM=auth/login claude`.
    Item(String),
    /// None.
    Nothing,
}

impl Given {
    /// The attempt that the environment names, else `item`, else the item that
    /// the environment names.
    #[must_use]
    pub fn of(world: &World, item: Option<&str>) -> Self {
        if let Some(mark) = world.var(MARK) {
            return mark.parse().map_or(Self::Unknown, Self::Attempt);
        }
        let item = item.map(str::trim).filter(|item| !item.is_empty());
        if let Some(item) = item {
            return Self::Item(item.to_owned());
        }
        let node = world.var("PITON_ITEM").map(str::trim);
        match (world.var("PITON_RUN"), node.filter(|node| !node.is_empty())) {
            (_, None) => Self::Nothing,
            (Some(run), Some(node)) => Self::Item(format!("{run}:{node}")),
            (None, Some(node)) => Self::Item(node.to_owned()),
        }
    }

    /// What an agent was given, whatever its environment names.
    #[must_use]
    pub fn of_agent(agent: &Agent) -> Self {
        let attempt = agent.attempt.as_ref();
        attempt.map_or(Self::Unknown, |attempt| Self::Attempt(attempt.id))
    }

    /// Whether `piton run` started the session: its runner reads what the
    /// program prints, and needs nobody to tell it.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        matches!(self, Self::Attempt(_) | Self::Unknown)
    }

    /// The item that a person named.
    #[must_use]
    pub fn item(&self) -> Option<&str> {
        match self {
            Self::Item(item) => Some(item),
            Self::Attempt(_) | Self::Unknown | Self::Nothing => None,
        }
    }
}

/// What somebody holds.
#[derive(Clone, Debug)]
pub struct Held {
    /// The item, as it can be named to any verb.
    pub item: String,
    /// Its run.
    pub run: RunId,
    /// The name of its run; none for an item of no plan.
    pub run_name: Option<String>,
    /// Its node.
    pub node: Node,
    /// The attempt, where piton started one.
    pub attempt: Option<Box<AttemptRow>>,
}

impl Held {
    /// The attempt, where it is one and still under way.
    ///
    /// # Errors
    ///
    /// When it is over: what is said of it now would change nothing.
    pub fn open_attempt(&self) -> Result<Option<&AttemptRow>, Failure> {
        match &self.attempt {
            Some(attempt) if !attempt.is_open() => Err(over(attempt)),
            attempt => Ok(attempt.as_deref()),
        }
    }

    /// Whether a text names the item that is held.
    fn is_named_by(&self, session: &Session<'_>, text: &str) -> bool {
        let text = text.trim();
        if text == self.node.as_str() || text == self.item {
            return true;
        }
        // A number of a list, the beginning of the id of a run.
        meant(session, text).is_ok_and(|other| other.run == self.run && other.node == self.node)
    }

    /// The entry, about the item that is held.
    #[must_use]
    pub fn about(&self, entry: Entry) -> Entry {
        Entry {
            spec: self.run_name.clone().filter(|_| self.run != RunId::PROJECT),
            task_id: Some(self.node.as_str().to_owned()),
            ..entry
        }
    }
}

/// What the agent that calls holds, whose attempt is under way; none where a
/// person calls.
///
/// # Errors
///
/// When the attempt is over, or the caller belongs to no attempt.
pub(crate) fn own_item(session: &Session<'_>) -> Result<Option<Held>, Failure> {
    let Some(agent) = session.world.agent() else {
        return Ok(None);
    };
    let held = held_by(session, agent)?;
    held.open_attempt()?;
    Ok(Some(held))
}

/// Refuses an agent that names another item than its own.
///
/// # Errors
///
/// When `text` names another item than the one that `held` is.
pub(crate) fn refuse_other(session: &Session<'_>, held: &Held, text: &str) -> Result<(), Failure> {
    match session.world.agent() {
        Some(agent) if !held.is_named_by(session, text) => Err(agent
            .refuse(&format!("`{text}` is not the item of the caller"))
            .hint(format!(
                "write about `{}`, or ask a person with `piton inbox ask 'QUESTION'`",
                held.item
            ))),
        Some(_) | None => Ok(()),
    }
}

fn held_by(session: &Session<'_>, agent: &Agent) -> Result<Held, Failure> {
    match &agent.attempt {
        Some(attempt) => of_attempt(session, attempt.id),
        None => Err(agent
            .refuse("this is written about the item of an attempt")
            .hint("only the agent that works on an item writes about it; print it instead")),
    }
}

/// That an attempt is over.
pub(crate) fn over(attempt: &AttemptRow) -> Failure {
    let outcome = attempt.report.as_ref().map(|report| report.outcome);
    let how = outcome.map_or_else(String::new, |outcome| format!(": {}", outcome.as_str()));
    Failure::new(
        "attempt.over",
        format!(
            "attempt {} at `{}` is over{how}",
            attempt.number, attempt.node
        ),
    )
    .hint("what is to be said of it now, a person can record with `piton record ITEM`")
}

/// What this process holds: the item of its attempt, where it is an agent's,
/// else the item that is given, else the one that its environment names.
///
/// # Errors
///
/// When the attempt is not known, more than one item fits, or there is a store
/// that cannot be read.
pub fn held(world: &World, item: Option<&str>) -> Result<Option<Held>, Failure> {
    let session = Session::read(world, &world.cwd)?;
    if let (Some(session), Some(agent)) = (&session, world.agent()) {
        return held_by(session, agent).map(Some);
    }
    let item = match (Given::of(world, item), item) {
        (Given::Item(item), _) => item,
        (Given::Nothing, _) => return Ok(None),
        // The mark is that of another project, and so is PITON_ITEM.
        (Given::Attempt(_) | Given::Unknown, Some(item)) => item.trim().to_owned(),
        (Given::Attempt(_) | Given::Unknown, None) => {
            return Err(unknown(world.var(MARK).unwrap_or_default()));
        }
    };
    let Some(session) = session else {
        // The first thing that is recorded of it makes it known.
        return Ok(Some(Held {
            run: RunId::PROJECT,
            run_name: None,
            node: Node::child(None, &item, 1),
            attempt: None,
            item,
        }));
    };
    let meant = asked_about(&session, &item)?;
    Ok(Some(Held {
        item,
        run: meant.run,
        run_name: meant.run_name,
        node: meant.node,
        attempt: None,
    }))
}

fn unknown(mark: &str) -> Failure {
    Failure::new("attempt.unknown", format!("there is no attempt `{mark}` here"))
        .hint("`piton run` sets PITON_ATTEMPT for the agents that it starts; elsewhere name the item: `piton mcp --item ITEM`")
}

fn of_attempt(session: &Session<'_>, id: AttemptId) -> Result<Held, Failure> {
    let rows = session.load(&[Need::Attempt(id)])?;
    let row = rows.tables.attempt(id).cloned();
    let row = row.ok_or_else(|| unknown(&id.to_string()))?;
    let rows = session.load(&[Need::Run(row.run)])?;
    let run_name = rows.tables.run(row.run).map(|run| run.name.clone());
    let run_name = run_name.filter(|_| row.run != RunId::PROJECT);
    Ok(Held {
        item: match &run_name {
            Some(run) => format!("{run}:{}", row.node),
            None => row.node.to_string(),
        },
        run: row.run,
        run_name,
        node: row.node.clone(),
        attempt: Some(Box::new(row)),
    })
}
