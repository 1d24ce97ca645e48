//! What was checked out when something happened.

use serde::{Deserialize, Serialize};

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
