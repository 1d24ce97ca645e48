//! What the caller works on: the attempt that piton started it for, or an item that
//! it was given by name.
//!
//! For programs that stand beside an agent, as the MCP server does, and for the
//! commands that an agent gives itself. Both may write about what they hold and
//! about nothing else.

use piton_core::entry::Entry;
use piton_core::{AttemptId, AttemptRow, Need, Node, RunId};

use crate::caller::CallingAgent;
use crate::failure::Failure;
use crate::process::MARK;
use crate::session::Session;
use crate::verbs::record::item::{resolve_item, resolve_recorded_item};
use crate::world::World;

/// What a process was given to work on, as its arguments and its environment say.
/// Whether there is such a thing is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignedWork {
    /// That of an attempt: `piton run` started the agent.
    Attempt(AttemptId),
    /// `piton run` started it, by a mark that this piton cannot read.
    Unknown,
    /// One that a person named: `PITON_ITEM=auth/login claude`.
    Item(String),
    /// None.
    Nothing,
}

impl AssignedWork {
    /// The attempt that the environment names, else `item`, else the item that
    /// the environment names.
    #[must_use]
    pub fn from_environment(world: &World, item: Option<&str>) -> Self {
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
    pub fn of_agent(agent: &CallingAgent) -> Self {
        let attempt = agent.attempt.as_ref();
        attempt.map_or(Self::Unknown, |attempt| Self::Attempt(attempt.id))
    }

    /// Whether `piton run` started the session: its runner reads what the program
    /// prints, and needs no hook to report it.
    #[must_use]
    pub fn is_supervised(&self) -> bool {
        matches!(self, Self::Attempt(_) | Self::Unknown)
    }

    /// The item that a person named.
    #[must_use]
    pub fn item_name(&self) -> Option<&str> {
        match self {
            Self::Item(item) => Some(item),
            Self::Attempt(_) | Self::Unknown | Self::Nothing => None,
        }
    }
}

/// The item that a caller holds.
#[derive(Clone, Debug)]
pub struct HeldItem {
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

impl HeldItem {
    /// The attempt, where it is one and still under way.
    ///
    /// # Errors
    ///
    /// When it is over: what is said of it now would change nothing.
    pub fn open_attempt(&self) -> Result<Option<&AttemptRow>, Failure> {
        match &self.attempt {
            Some(attempt) if !attempt.is_open() => Err(attempt_over(attempt)),
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
        resolve_item(session, text)
            .is_ok_and(|other| other.run == self.run && other.node == self.node)
    }

    /// The entry, about the item that is held.
    #[must_use]
    pub fn tag_entry(&self, entry: Entry) -> Entry {
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
pub(crate) fn own_item(session: &Session<'_>) -> Result<Option<HeldItem>, Failure> {
    let Some(agent) = session.world.agent() else {
        return Ok(None);
    };
    let held = held_item_of_agent(session, agent)?;
    held.open_attempt()?;
    Ok(Some(held))
}

/// Refuses an agent that names another item than its own.
///
/// # Errors
///
/// When `text` names another item than the one that `held` is.
pub(crate) fn refuse_other_item(
    session: &Session<'_>,
    held: &HeldItem,
    text: &str,
) -> Result<(), Failure> {
    match session.world.agent() {
        Some(agent) if !held.is_named_by(session, text) => Err(agent
            .not_allowed_failure(&format!("`{text}` is not the item of the caller"))
            .with_hint(format!(
                "write about `{}`, or ask a person with `piton inbox ask 'QUESTION'`",
                held.item
            ))),
        Some(_) | None => Ok(()),
    }
}

fn held_item_of_agent(session: &Session<'_>, agent: &CallingAgent) -> Result<HeldItem, Failure> {
    match &agent.attempt {
        Some(attempt) => held_item_of_attempt(session, attempt.id),
        None => Err(agent
            .not_allowed_failure("this is written about the item of an attempt")
            .with_hint("only the agent that works on an item writes about it; print it instead")),
    }
}

/// That an attempt is over.
pub(crate) fn attempt_over(attempt: &AttemptRow) -> Failure {
    let outcome = attempt.report.as_ref().map(|report| report.outcome);
    let how = outcome.map_or_else(String::new, |outcome| format!(": {}", outcome.as_str()));
    Failure::new(
        "attempt.over",
        format!(
            "attempt {} at `{}` is over{how}",
            attempt.number, attempt.node
        ),
    )
    .with_hint("what is to be said of it now, a person can record with `piton record ITEM`")
}

/// What this process holds: the item of its attempt, where it is an agent's,
/// else the item that is given, else the one that its environment names.
///
/// # Errors
///
/// When the attempt is not known, more than one item fits, or there is a store
/// that cannot be read.
pub fn find_held_item(world: &World, item: Option<&str>) -> Result<Option<HeldItem>, Failure> {
    let session = Session::open_read_only(world, &world.cwd)?;
    if let (Some(session), Some(agent)) = (&session, world.agent()) {
        return held_item_of_agent(session, agent).map(Some);
    }
    let item = match (AssignedWork::from_environment(world, item), item) {
        (AssignedWork::Item(item), _) => item,
        (AssignedWork::Nothing, _) => return Ok(None),
        // The mark is that of another project, and so is PITON_ITEM.
        (AssignedWork::Attempt(_) | AssignedWork::Unknown, Some(item)) => item.trim().to_owned(),
        (AssignedWork::Attempt(_) | AssignedWork::Unknown, None) => {
            return Err(unknown_attempt(world.var(MARK).unwrap_or_default()));
        }
    };
    let Some(session) = session else {
        // The first thing that is recorded of it makes it known.
        return Ok(Some(HeldItem {
            run: RunId::PROJECT,
            run_name: None,
            node: Node::child(None, &item, 1),
            attempt: None,
            item,
        }));
    };
    let meant = resolve_recorded_item(&session, &item)?;
    Ok(Some(HeldItem {
        item,
        run: meant.run,
        run_name: meant.run_name,
        node: meant.node,
        attempt: None,
    }))
}

fn unknown_attempt(mark: &str) -> Failure {
    Failure::new("attempt.unknown", format!("there is no attempt `{mark}` here"))
        .with_hint("`piton run` sets PITON_ATTEMPT for the agents that it starts; elsewhere name the item: `piton mcp --item ITEM`")
}

fn held_item_of_attempt(session: &Session<'_>, id: AttemptId) -> Result<HeldItem, Failure> {
    let rows = session.load(&[Need::Attempt(id)])?;
    let row = rows.tables.attempt(id).cloned();
    let row = row.ok_or_else(|| unknown_attempt(&id.to_string()))?;
    let rows = session.load(&[Need::Run(row.run)])?;
    let run_name = rows.tables.run(row.run).map(|run| run.name.clone());
    let run_name = run_name.filter(|_| row.run != RunId::PROJECT);
    Ok(HeldItem {
        item: match &run_name {
            Some(run) => format!("{run}:{}", row.node.as_str()),
            None => row.node.as_str().to_owned(),
        },
        run: row.run,
        run_name,
        node: row.node.clone(),
        attempt: Some(Box::new(row)),
    })
}
