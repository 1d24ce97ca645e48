//! What has happened to a question that a person is asked.

use super::subject::subject_events;
use super::texts::{
    EventText, TextVisitor, visit_edit, visit_option, visit_request, visit_request_answer,
};
use crate::decision::{DecisionChoice, DecisionKind, Verb};
use crate::edit::Edit;
use crate::id::{DecisionId, Node, RunId};
use crate::request::{RequestAnswer, Until, WorkRequest};

subject_events! {
    /// What has happened to a question that a person is asked.
    DecisionEvent {
        /// A person is asked something.
        "decision-opened" Opened {
            /// The decision.
            decision: DecisionId,
            /// The number that people type.
            number: u64,
            /// What is to be decided.
            decision_kind: DecisionKind,
            /// The run that waits.
            run: RunId,
            /// The node that it is about, unless it is about a file.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            node: Option<Node>,
            /// The native file that it is about, relative to the project.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            file: Option<String>,
            /// The memory that it is about, by its id.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            memory: Option<String>,
            /// The memories that it is about, where it is about several.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            memories: Vec<String>,
            /// The question, in one line.
            question: String,
            /// More, if there is more.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            details: Option<String>,
            /// What may be done about the file; every way that there is when absent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            ways: Option<Vec<DecisionChoice>>,
            /// The edits that it is about: the claims, what may be an agent's, or what
            /// another run did on another branch.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            edits: Vec<Edit>,
            /// What an agent asks for.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            request: Option<Box<WorkRequest>>,
        },
        /// Something of what a person is asked matters no more, or more was added:
        /// the question is this now.
        "decision-revised" Revised {
            /// The decision.
            decision: DecisionId,
            /// The question, in one line.
            question: String,
            /// More, if there is more.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            details: Option<String>,
            /// The edits that it is about.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            edits: Vec<Edit>,
        },
        /// A person decided.
        "decision-made" Made {
            /// The decision.
            decision: DecisionId,
            /// What was said.
            verb: Verb,
            /// Why, or the answer itself.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            why: Option<String>,
            /// What becomes of a request.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            answer: Option<Box<RequestAnswer>>,
        },
        /// What an agent asks for was put off; a revision asks about it again.
        "decision-deferred" Deferred {
            /// The decision.
            decision: DecisionId,
            /// Until when.
            until: Until,
            /// The phase whose end it is put off to.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            phase: Option<Node>,
            /// Why.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            why: Option<String>,
        },
    }
}

impl DecisionEvent {
    /// Hands over every text of the event, to be changed in place.
    pub(super) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
        match self {
            Self::Opened {
                decision: _,
                number: _,
                decision_kind: _,
                run: _,
                node: _,
                file: _,
                memory: _,
                memories: _,
                question,
                details,
                ways: _,
                edits,
                request,
            } => {
                each(EventText::Free(question));
                visit_option(details, each);
                edits.iter_mut().for_each(|edit| visit_edit(edit, each));
                if let Some(request) = request {
                    visit_request(request, each);
                }
            }
            Self::Revised {
                decision: _,
                question,
                details,
                edits,
            } => {
                each(EventText::Free(question));
                visit_option(details, each);
                edits.iter_mut().for_each(|edit| visit_edit(edit, each));
            }
            Self::Made {
                decision: _,
                verb: _,
                why,
                answer,
            } => {
                visit_option(why, each);
                if let Some(answer) = answer {
                    visit_request_answer(answer, each);
                }
            }
            Self::Deferred {
                decision: _,
                until: _,
                phase: _,
                why,
            } => visit_option(why, each),
        }
    }
}
