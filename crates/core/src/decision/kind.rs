//! What sorts of decisions there are, and what a person may say to each.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionKind {
    /// An agent says that it needs a person.
    HumanNeeded,
    /// An agent says that its item is done, and nothing shows it.
    Claim,
    /// A node failed, or is claimed to be impossible.
    BlockedNode,
    /// An item depends on work that was done on another branch; without a node,
    /// another run did these items there.
    MergeNeeded,
    /// The plan wants a person to look before it goes on.
    Breakpoint,
    /// A file says something that does not fit what piton knows. The run goes
    /// on; only the file waits.
    FileConflict,
    /// An attempt marked other items as done than its own. They are worked on
    /// as usual; nothing waits.
    ClaimedItems,
    /// An edit of the plan's file may be an agent's and takes a control away.
    /// The old value is in force; nothing waits.
    AgentEdit,
    /// Attempts keep failing with something that is remembered.
    DoubtedMemory,
    /// Something that is remembered came by a file, and no person confirmed it. Agents
    /// are not shown it until then; nothing waits.
    UnconfirmedMemory,
    /// A person or an agent at work asks a question. The work goes on;
    /// the answer is for what comes after.
    Question,
    /// An agent asks for something beside its work. Nothing waits.
    Request,
    /// The work on an item is done and green, and is merged when a person has
    /// looked at it.
    Review,
    /// The time until which an item waits for a command came, and it said no.
    Wait,
    /// All that the plan asks of the item is there, and it is done when a person
    /// approves it.
    Approval,
    /// A person works on the item outside of piton, and says what comes of it.
    InHand,
    /// The work on an item is in a pull request, and done when that is merged; or a
    /// person says what becomes of it instead.
    PullRequest,
    /// The reviewer of an item wants changes again and again, or gives no verdict: a
    /// person says whether it is good.
    AgentReview,
}

impl DecisionKind {
    /// The name, as stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HumanNeeded => "human-needed",
            Self::Claim => "claim",
            Self::BlockedNode => "blocked-node",
            Self::MergeNeeded => "merge-needed",
            Self::Breakpoint => "breakpoint",
            Self::FileConflict => "file-conflict",
            Self::ClaimedItems => "claimed-items",
            Self::AgentEdit => "agent-edit",
            Self::DoubtedMemory => "doubted-memory",
            Self::UnconfirmedMemory => "unconfirmed-memory",
            Self::Question => "question",
            Self::Request => "request",
            Self::Review => "review",
            Self::Wait => "wait",
            Self::Approval => "approval",
            Self::InHand => "in-hand",
            Self::PullRequest => "pull-request",
            Self::AgentReview => "agent-review",
        }
    }

    /// Whether the run waits until it is decided.
    #[must_use]
    pub fn is_blocking_run(self) -> bool {
        match self {
            Self::HumanNeeded
            | Self::Claim
            | Self::BlockedNode
            | Self::MergeNeeded
            | Self::Review
            | Self::PullRequest
            | Self::Wait
            | Self::Approval
            | Self::InHand
            | Self::AgentReview => true,
            Self::Breakpoint
            | Self::FileConflict
            | Self::ClaimedItems
            | Self::AgentEdit
            | Self::DoubtedMemory
            | Self::UnconfirmedMemory
            | Self::Question
            | Self::Request => false,
        }
    }

    /// The verbs that fit.
    #[must_use]
    pub fn allowed_verbs(self) -> &'static [Verb] {
        match self {
            Self::HumanNeeded => &[Verb::Answer, Verb::Retry, Verb::Skip],
            Self::Claim => &[Verb::Approve, Verb::Retry, Verb::Answer, Verb::Skip],
            Self::BlockedNode => &[Verb::Retry, Verb::Answer, Verb::Skip],
            Self::MergeNeeded => &[Verb::Approve, Verb::Skip],
            Self::Wait => &[Verb::Retry, Verb::Approve, Verb::Skip],
            Self::InHand => &[Verb::Retry, Verb::Skip],
            Self::PullRequest => &[Verb::Retry, Verb::Reject, Verb::Skip],
            Self::Breakpoint => &[Verb::Approve],
            Self::FileConflict => &[Verb::KeepFile, Verb::KeepPiton, Verb::Merge],
            Self::ClaimedItems | Self::DoubtedMemory => &[Verb::Approve, Verb::Skip],
            Self::UnconfirmedMemory => &[Verb::Approve, Verb::Reject],
            Self::AgentEdit => &[Verb::KeepFile, Verb::KeepPiton],
            Self::Question => &[Verb::Answer, Verb::Skip],
            Self::Review | Self::Approval | Self::AgentReview => {
                &[Verb::Approve, Verb::Reject, Verb::Skip]
            }
            Self::Request => &[
                Verb::Approve,
                Verb::Reject,
                Verb::Defer,
                Verb::Backlog,
                Verb::Answer,
            ],
        }
    }
}

/// What a person may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Go on.
    Approve,
    /// Try again, with this text in the prompt; of a question that held nothing
    /// up, this text for the next prompt.
    Answer,
    /// Try again.
    Retry,
    /// Leave it out; of a question, that it needs no answer.
    Skip,
    /// What the file says holds.
    KeepFile,
    /// What piton knows holds, and is written into the file.
    KeepPiton,
    /// What fits is taken from the file; for the rest piton's word holds.
    Merge,
    /// What an agent asks for is not done; the work that waits for a review or an
    /// approval is to be otherwise.
    Reject,
    /// What an agent asks for is asked about again later.
    Defer,
    /// What an agent asks for is kept for people, outside of the plan.
    Backlog,
    /// No person answered: what was asked about came to fit by itself.
    Settled,
}

impl Verb {
    /// The name, as stored and typed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Answer => "answer",
            Self::Retry => "retry",
            Self::Skip => "skip",
            Self::KeepFile => "keep-file",
            Self::KeepPiton => "keep-piton",
            Self::Merge => "merge",
            Self::Reject => "reject",
            Self::Defer => "defer",
            Self::Backlog => "backlog",
            Self::Settled => "settled",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a verb comes to in a question about a file, where which of them there are
/// depends on what is wrong with it, or about something remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionChoice {
    /// What the file says holds.
    FileHolds,
    /// The file stays as it is, and is not kept up to date any more.
    LeftAlone,
    /// What piton knows is written into the file; the version that is there is
    /// kept beside it.
    PitonHolds,
    /// What fits is taken from the file; for the rest piton's word is written
    /// into it.
    Merged,
    /// What is remembered is not followed any more.
    Retired,
    /// What is remembered is followed on.
    FollowedOn,
}

impl DecisionChoice {
    /// What to type for it.
    #[must_use]
    pub fn verb(self) -> Verb {
        match self {
            Self::FileHolds | Self::LeftAlone => Verb::KeepFile,
            Self::PitonHolds => Verb::KeepPiton,
            Self::Merged => Verb::Merge,
            Self::Retired => Verb::Approve,
            Self::FollowedOn => Verb::Skip,
        }
    }
}
