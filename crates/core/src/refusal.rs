//! A refusal: the request does not fit the state. It stores nothing.

use jiff::Timestamp;
use thiserror::Error;

use crate::decision::{DecisionKind, Verb};
use crate::id::{Node, RunId};
use crate::item::ItemState;
use crate::run::{Pause, RunHolder, RunState};

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Another run has that name.
    #[error("there is a run `{0}` already")]
    NameTaken(String),
    /// There is no such run.
    #[error("there is no run {0}")]
    NoSuchRun(RunId),
    /// There is no such item.
    #[error("run has no node `{0}`")]
    NoSuchItem(Node),
    /// There is no such decision.
    #[error("there is no decision {0}")]
    NoSuchDecision(String),
    /// Another runner holds the run.
    #[error("run `{name}` is held by {}", holder.owner)]
    Busy {
        /// The run's name.
        name: String,
        /// Who holds it.
        holder: RunHolder,
    },
    /// The caller held the run once; another runner does now, or none.
    #[error("this runner no longer holds run `{name}`")]
    Fenced {
        /// The run's name.
        name: String,
    },
    /// The work of the run goes to another branch.
    #[error("run `{name}` works on branch `{branch}`")]
    Targeted {
        /// The run's name.
        name: String,
        /// The branch.
        branch: String,
    },
    /// The run has nothing that could land.
    #[error("run `{name}` has nothing to land: {why}")]
    NothingToLand {
        /// The run's name.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// The run is not in a state in which this can be done.
    #[error("run `{name}` is {state}")]
    RunState {
        /// The run's name.
        name: String,
        /// The state that it is in.
        state: RunState,
        /// Why it is paused, if it is.
        pause: Option<Pause>,
        /// The node that the state is about.
        at: Option<Node>,
    },
    /// The item is not in a state in which this can be done.
    #[error("`{node}` is {state}")]
    ItemState {
        /// The item.
        node: Node,
        /// The state that it is in.
        state: ItemState,
        /// Not before this time may it be started.
        until: Option<Timestamp>,
    },
    /// An agent works on the item.
    #[error("`{0}` is being worked on")]
    BeingWorkedOn(Node),
    /// The decision was made before.
    #[error("decision {number} is {}", said(*verb))]
    Decided {
        /// Its number.
        number: u64,
        /// What was said.
        verb: Verb,
    },
    /// The verb does not fit this kind of decision.
    #[error("a decision of the kind `{}` cannot be answered with `{verb}`", kind.as_str())]
    WrongVerb {
        /// What is to be decided.
        kind: DecisionKind,
        /// What was said.
        verb: Verb,
        /// What fits.
        fits: Vec<Verb>,
    },
    /// What was written into a file cannot be carried out as the run stands.
    #[error("{file} does not fit the run: {why}")]
    Unfit {
        /// The file, relative to the project.
        file: String,
        /// Which edit, and why.
        why: String,
    },
    /// An answer, or a rejection, without words.
    #[error("an answer or a rejection needs words")]
    EmptyAnswer,
    /// A guardrail of that title is remembered already.
    #[error("there is a guardrail `{title}` already: {id}")]
    Remembered {
        /// Its title.
        title: String,
        /// Its id.
        id: String,
    },
    /// Nothing is remembered under that id.
    #[error("nothing is remembered as `{0}`")]
    NotRemembered(String),
    /// Nothing takes its own place: then nothing would be followed any more.
    #[error("`{0}` cannot take its own place")]
    OwnSuccessor(String),
    /// It is retired already.
    #[error("`{0}` is retired already")]
    Retired(String),
    /// Nothing says that the task is blocked.
    #[error("nothing unresolved blocks `{0}`")]
    NotBlocked(String),
    /// The plan contradicts itself.
    #[error("the plan cannot be taken: {0}")]
    BadPlan(String),
}

/// The verdict of a decision that is made already.
fn said(verb: Verb) -> String {
    if verb == Verb::Settled {
        return "settled already: what was asked about has changed since".to_owned();
    }
    format!("decided already: {verb}")
}
