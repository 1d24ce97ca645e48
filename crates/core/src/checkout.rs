//! What was checked out when something happened.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::item::ItemState;

/// The key of a stored body under which it stands: see `docs/formats/journal.md`.
pub(crate) const KEY: &str = "checkout";

/// What git had checked out in the work tree of the process that caused an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkout {
    /// The repository, by its name in the plan; none is the one in which the project
    /// lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The branch; none where `HEAD` names a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit, in hex; none in a repository without commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl Checkout {
    /// Whether what happened here belongs to the branch of `other`. What happened
    /// on no branch, as in the middle of a rebase, belongs to each of its repository;
    /// branches of one name in two repositories are two.
    #[must_use]
    pub fn is_on_branch_of(&self, other: &Self) -> bool {
        let is_same = self.repository == other.repository;
        is_same && (self.branch.is_none() || self.branch == other.branch)
    }

    /// The branch; else the first letters of the commit.
    #[must_use]
    pub fn branch_or_commit(&self) -> &str {
        let commit = self.commit.as_deref().unwrap_or("no commit");
        let short = commit.get(..12).unwrap_or(commit);
        self.branch.as_deref().unwrap_or(short)
    }

    /// What a stored body says of it.
    #[must_use]
    pub fn parse_stored_body(body: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Body {
            checkout: Option<Checkout>,
        }
        // Most bodies say nothing of it.
        let may_say = body.contains("\"checkout\":");
        let body = may_say.then(|| serde_json::from_str::<Body>(body).ok())??;
        body.checkout
    }
}

impl Event {
    /// Whether it is kept what was checked out when it happened: where it is
    /// about work, or about what the files of a project show.
    #[must_use]
    pub fn has_checkout(&self) -> bool {
        match self {
            Self::RunPlanned(_)
            | Self::AttemptStarted { .. }
            | Self::AttemptEnded { .. }
            | Self::ItemMoved(_)
            | Self::EntryLogged(_)
            | Self::AttemptTold(_)
            | Self::EntryRevised { .. }
            | Self::AttemptRevised(_)
            | Self::MemoryAdded(_)
            | Self::MemoryRevised(_)
            | Self::MemoryRetired { .. } => true,
            // What came done with its plan was done on what was checked out then.
            Self::ItemPlanned(planned) => planned.item.state == ItemState::Done,
            Self::LeaseTaken { .. }
            | Self::LeaseLost { .. }
            | Self::LeaseReleased { .. }
            | Self::RunStarted { .. }
            | Self::RunTargeted { .. }
            | Self::LanesEntered { .. }
            | Self::LandStarted { .. }
            | Self::RunLanded { .. }
            | Self::LaneTaken { .. }
            | Self::LaneLeft { .. }
            | Self::MergeQueued { .. }
            | Self::MergeStarted { .. }
            | Self::MergePassed { .. }
            | Self::MergeReturned { .. }
            | Self::MergeEnded { .. }
            | Self::PullRequestAsked { .. }
            | Self::PullRequestTaken { .. }
            | Self::PullRequestOpened { .. }
            | Self::PullRequestSeen { .. }
            | Self::RunMoved { .. }
            | Self::RunAsked { .. }
            | Self::AttemptJudged { .. }
            | Self::ItemClaimed { .. }
            | Self::AttemptAnswered { .. }
            | Self::GateStarted { .. }
            | Self::GateEnded { .. }
            | Self::CommitStarted { .. }
            | Self::CommitEnded { .. }
            | Self::ItemStaged { .. }
            | Self::ItemSkipAsked { .. }
            | Self::DecisionOpened { .. }
            | Self::DecisionRevised { .. }
            | Self::DecisionMade { .. }
            | Self::DecisionDeferred { .. }
            | Self::ItemChanged(_)
            | Self::ItemsPlaced(_)
            | Self::RunChanged(_)
            | Self::MemoryConfirmed { .. }
            | Self::MemoryUsed { .. }
            | Self::MemoryJudged { .. }
            | Self::BlockerResolved { .. }
            | Self::CallNoted(_)
            | Self::NotificationStarted { .. }
            | Self::NotificationEnded { .. }
            | Self::ItemReviewed { .. }
            | Self::FaceTurned { .. } => false,
        }
    }
}
