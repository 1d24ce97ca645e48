//! What has happened to an attempt.

use super::subject::subject_events;
use super::texts::{EventText, TextVisitor, visit_option, visit_report, visit_reported_attempt};
use crate::agent_chain::UnavailableAgent;
use crate::attempt::{Outcome, Report, ReportedAttempt, Role};
use crate::evidence::BaselineResult;
use crate::id::{AttemptId, Node, RunId};

subject_events! {
    /// What has happened to an attempt.
    AttemptEvent {
        /// An agent is about to be started: an intent, durable before the start.
        "attempt-started" Started {
            /// The attempt.
            attempt: AttemptId,
            /// The run.
            run: RunId,
            /// Its item.
            node: Node,
            /// The token with which the item was taken, from 1; 0 in events of
            /// versions that counted none.
            #[serde(default, skip_serializing_if = "crate::item::is_zero")]
            fence: u64,
            /// Which attempt at the item, from 1.
            number: u32,
            /// What for.
            role: Role,
            /// The agent: its name or command.
            agent: String,
            /// The model it is asked to use.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            model: Option<String>,
            /// Which agent of the run, from 1.
            iteration: u32,
            /// The name that it has in `.ralph/progress.json`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            name: Option<String>,
            /// The ids of what its prompt carries of the memory.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            memories: Vec<String>,
            /// The tree on which it is started; none where that is not known.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            tree: Option<String>,
            /// What is known of the item's check on this tree without running it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            baseline: Option<BaselineResult>,
            /// The id of the hook of the plan that it runs.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            hook: Option<String>,
        },
        /// An attempt ended: the one outcome of its intent.
        "attempt-ended" Ended {
            /// The attempt.
            attempt: AttemptId,
            /// The run.
            run: RunId,
            /// Its item.
            node: Node,
            /// What came of it.
            report: Box<Report>,
            /// Its outcome waits for the item's check, or for a person who is asked
            /// to accept what there is: [`AttemptEvent::Judged`] follows.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            unchecked: bool,
            /// The agent that is passed over from now on.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            unavailable: Option<UnavailableAgent>,
        },
        /// The check of the item, or a person, said what the work of an attempt
        /// came to whose outcome waited for that.
        "attempt-judged" Judged {
            /// The attempt.
            attempt: AttemptId,
            /// The run.
            run: RunId,
            /// Its item.
            node: Node,
            /// What it came to.
            outcome: Outcome,
            /// Why it is not completed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            error: Option<String>,
        },
        /// The agent of an attempt that is under way said, by a tool of piton, what
        /// came of it. The last one counts, when the attempt ends.
        "attempt-answered" Answered {
            /// The attempt.
            attempt: AttemptId,
            /// The run.
            run: RunId,
            /// Its item.
            node: Node,
            /// What it said.
            answer: Box<Report>,
        },
        /// An attempt that is over was reported; its number and name are given.
        "attempt-told" Reported(Box<ReportedAttempt>),
        /// An attempt was changed in a file.
        "attempt-revised" Revised(Box<ReportedAttempt>),
    }
}

impl AttemptEvent {
    /// Hands over every text of the event, to be changed in place.
    pub(super) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
        match self {
            Self::Started {
                attempt: _,
                run: _,
                node: _,
                fence: _,
                number: _,
                role: _,
                agent,
                model: _,
                iteration: _,
                name: _,
                memories: _,
                tree: _,
                baseline: _,
                hook: _,
            } => each(EventText::Free(agent)),
            Self::Ended {
                attempt: _,
                run: _,
                node: _,
                report,
                unchecked: _,
                unavailable,
            } => {
                visit_report(report, each);
                let agent = unavailable.as_mut().map(|passed| &mut passed.agent);
                agent
                    .into_iter()
                    .for_each(|agent| each(EventText::Free(agent)));
            }
            Self::Answered {
                attempt: _,
                run: _,
                node: _,
                answer: report,
            } => visit_report(report, each),
            Self::Judged {
                attempt: _,
                run: _,
                node: _,
                outcome: _,
                error,
            } => visit_option(error, each),
            Self::Reported(told) | Self::Revised(told) => visit_reported_attempt(told, each),
        }
    }
}
