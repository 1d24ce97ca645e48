//! What stood in the way of an agent, as its program tells.

use crate::classify::FailureCategory;
use crate::word::words;

words! {
    /// What stood in the way of an agent. Finer than [`FailureCategory`], which is
    /// what plans speak of: [`Trouble::category`] maps one to the other.
    Trouble {
        /// The service could not be reached, or failed: a connection, status 5xx.
        Network = "network",
        /// The service asks to come back later: status 429, a usage limit.
        RateLimit = "rate-limit",
        /// The service does not know who asks: status 401 or 403, not logged in.
        Auth = "auth",
        /// A limit that was set for the agent itself: turns, dollars, tokens of an answer.
        Limit = "limit",
        /// The model refused.
        Refusal = "refusal",
        /// Something was not permitted to the agent. It may have completed all the same.
        Permission = "permission",
        /// A signal that piton did not send.
        Signal = "signal",
        /// It took too long and was stopped.
        Timeout = "timeout",
        /// The conversation that was to go on is not there any more.
        Session = "session",
        /// The program refuses to work like this: a flag that it does not know,
        /// a folder that it does not trust, a setting.
        Setup = "setup",
        /// It ran in circles and was stopped.
        Stuck = "stuck",
        /// The program ended well, and the agent did not say in the form that it
        /// was asked for what came of its work.
        NoVerdict = "no-verdict",
        /// It ended while work that it had begun in the background was pending.
        Unfinished = "unfinished",
        /// A hook of the user's refused the prompt, or stopped the session.
        HookRefused = "hook-refused",
        /// Anything else.
        Logic = "logic",
    }
}

impl Trouble {
    /// What it is in the words of a plan; none where no attempt was spent.
    #[must_use]
    pub fn category(self) -> FailureCategory {
        match self {
            Self::Network => FailureCategory::Network,
            Self::RateLimit => FailureCategory::RateLimit,
            Self::Timeout | Self::Signal => FailureCategory::Timeout,
            Self::Auth
            | Self::Limit
            | Self::Refusal
            | Self::Permission
            | Self::Session
            | Self::Setup
            | Self::Stuck
            | Self::NoVerdict
            | Self::Unfinished
            | Self::HookRefused
            | Self::Logic => FailureCategory::Logic,
        }
    }
}
