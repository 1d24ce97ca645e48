//! Work that has landed, or has not, in words.

use serde::Serialize;

use crate::failure::Failure;
use crate::git::short_commit;

/// Work that is on the branch that it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LandedWork {
    /// The run.
    pub run: String,
    /// Its branch.
    pub branch: String,
    /// The branch that the work is on now.
    pub onto: String,
    /// The commit.
    pub commit: String,
    /// It was there already.
    pub was_there: bool,
    /// The repository, by its name in the plan; none is that of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// What landed in others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<LandedWork>,
}

crate::name_schema!(LandedWork, "piton.land/1");

impl LandedWork {
    /// What came of it, in a sentence.
    #[must_use]
    pub fn describe(&self) -> String {
        let (branch, commit) = (&self.branch, short_commit(&self.commit));
        let onto = match &self.repository {
            Some(name) => format!("{} in {name}", self.onto),
            None => self.onto.clone(),
        };
        match self.was_there {
            true => format!("{onto} has the work on {branch} already, up to {commit}"),
            false => format!("landed: {onto} is at {commit} now, as {branch} is"),
        }
    }
}

pub(super) fn not_landed_failure(branch: &str, onto: &str, why: &str, next: &str) -> Failure {
    Failure::new(
        "land.refused",
        format!("{branch} is not landed on {onto}: {why}"),
    )
    .with_hint(next)
}
