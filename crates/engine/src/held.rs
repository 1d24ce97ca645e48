//! What whoever asks is at work on: the attempt that piton started it for, or an
//! item that it was given by name.
//!
//! For programs that stand beside an agent, as the MCP server does. They may
//! write about what they hold and about nothing else.

use piton_core::{AttemptId, AttemptRow, Need, Node, RunId};

use crate::failure::Failure;
use crate::process::MARK;
use crate::session::Session;
use crate::verbs::record::item::asked_about;
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
            Some(attempt) if attempt.report.is_some() => Err(over(attempt)),
            attempt => Ok(attempt.as_deref()),
        }
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

/// What this process holds: the attempt that its environment names, else the
/// item that is given, else the one that its environment names.
///
/// # Errors
///
/// When the attempt is not known, more than one item fits, or there is a store
/// that cannot be read.
pub fn held(world: &World, item: Option<&str>) -> Result<Option<Held>, Failure> {
    let session = Session::read(world, &world.cwd)?;
    let item = match Given::of(world, item) {
        Given::Attempt(_) | Given::Unknown => {
            let mark = world.var(MARK).unwrap_or_default();
            return attempt(session.as_ref(), mark).map(Some);
        }
        Given::Item(item) => item,
        Given::Nothing => return Ok(None),
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

fn attempt(session: Option<&Session<'_>>, mark: &str) -> Result<Held, Failure> {
    let unknown = || {
        Failure::new("attempt.unknown", format!("there is no attempt `{mark}` here"))
            .hint("`piton run` sets PITON_ATTEMPT for the agents that it starts; elsewhere name the item: `piton mcp --item ITEM`")
    };
    let id: AttemptId = mark.parse().map_err(|_| unknown())?;
    let session = session.ok_or_else(unknown)?;
    let rows = session.load(&[Need::Attempt(id)])?;
    let row = rows.tables.attempt(id).cloned().ok_or_else(unknown)?;
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
