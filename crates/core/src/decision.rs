//! A decision: something that a person must decide, or did.

pub(crate) mod kind;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::edit::Edit;
use crate::id::{DecisionId, Node, RunId};
use crate::notification::NotificationStage;
use crate::refusal::Refusal;
use crate::request::{Deferral, RequestAnswer, WorkRequest};

pub use kind::{DecisionChoice, DecisionKind, Verb};

/// How a decision fell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionVerdict {
    /// What was said.
    pub verb: Verb,
    /// Why, or the answer itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What becomes of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<RequestAnswer>>,
    /// Who said it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// What the read tables know of a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRow {
    /// Its id.
    pub id: DecisionId,
    /// The number that people type, unique within the store.
    pub number: u64,
    /// What is to be decided.
    pub kind: DecisionKind,
    /// The run that waits.
    pub run: RunId,
    /// The node that it is about, unless it is about a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Node>,
    /// The native file that it is about, relative to the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The memory that it is about, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The memories that it is about, where it is about several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<String>,
    /// The question, in one line.
    pub question: String,
    /// More, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// What may be done about the file, where that was said when it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<Vec<DecisionChoice>>,
    /// The edits that it is about: the claims, what may be an agent's, or what
    /// another run did on another branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    /// What an agent asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<WorkRequest>>,
    /// Until when it is put off; none while it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Box<Deferral>>,
    /// When it was asked.
    pub opened_at: Timestamp,
    /// How far the notification of it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification: Option<NotificationStage>,
    /// How it fell; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<DecisionVerdict>,
}

impl DecisionRow {
    /// The verbs that fit this question.
    #[must_use]
    pub fn allowed_verbs(&self) -> Vec<Verb> {
        match &self.ways {
            Some(ways) => ways.iter().map(|way| way.verb()).collect(),
            None => {
                // A request that says nothing cannot be done.
                let request = self.request.as_ref();
                let is_empty = request.is_some_and(|request| request.prompt_text().is_none());
                let verbs = self.kind.allowed_verbs().iter().copied();
                verbs
                    .filter(|verb| !is_empty || *verb != Verb::Approve)
                    .collect()
            }
        }
    }

    /// Whether a person may say this to it now.
    ///
    /// # Errors
    ///
    /// When it was decided, or another verb fits.
    pub fn check_verb(&self, verb: Verb) -> Result<(), Refusal> {
        if let Some(verdict) = &self.verdict {
            return Err(Refusal::Decided {
                number: self.number,
                verb: verdict.verb,
            });
        }
        let fits = self.allowed_verbs();
        if !fits.contains(&verb) {
            return Err(Refusal::WrongVerb {
                kind: self.kind,
                verb,
                fits,
            });
        }
        Ok(())
    }

    /// The items that wait until they are merged, or a person answers.
    pub fn nodes_needing_merge(&self) -> impl Iterator<Item = &Node> {
        let own = self.edits.iter().filter_map(Edit::target_node);
        let nodes = self.node.iter().chain(own);
        nodes.filter(|_| self.kind == DecisionKind::MergeNeeded)
    }

    /// What a verb comes to, where the question is about a file.
    #[must_use]
    pub fn choice_of_verb(&self, verb: Verb) -> Option<DecisionChoice> {
        let mut ways = self.ways.iter().flatten().copied();
        ways.find(|way| way.verb() == verb)
    }
}
