//! The table `[pull-requests]`: whether finished work becomes pull requests.

use serde::{Deserialize, Serialize};

/// The table `[pull-requests]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PullRequestsConfig {
    /// The program that opens them and looks at them; without it there are none.
    pub with: Option<PullRequestProgram>,
}

/// A program that knows a service with pull requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PullRequestProgram {
    /// The command line of GitHub.
    Gh,
}
