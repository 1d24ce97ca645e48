//! What can be typed of the issues of a run.

use clap::{ArgAction, Args as ClapArgs, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum IssueCommand {
    /// Add an issue
    #[command(
        after_help = "Examples:\n  piton issue add shop#7 'Filter the list'\n  piton issue add shop#8 'Show totals' --on shop#7 --repo shop --description 'Below the list.'"
    )]
    Add(IssueAdd),
    /// List issues: where each stands, and what it waits for
    #[command(
        after_help = "Examples:\n  piton issue list\n  piton issue list payments --status awaiting_human\n  piton issue list --repo shop --json | jq -r '.issues[].id'"
    )]
    List(IssueList),
    /// List the issues that may be begun
    #[command(
        after_help = "Examples:\n  piton issue ready\n  piton issue ready --repo shop --json | jq -r '.issues[0].id'"
    )]
    Ready(IssueList),
    /// Work on an issue yourself: no runner begins it
    #[command(
        after_help = "Of one in review, or that waits for a person, it says that more is to be done.\n`piton plan retry ID` gives it back.\n\nExamples:\n  piton issue start shop#7\n  piton issue start payments:shop#7 --why 'needs the staging key'"
    )]
    Start(IssueWhy),
    /// Say that an issue in progress is in review
    #[command(
        after_help = "Examples:\n  piton issue review shop#7\n  piton issue review shop#7 --pr ada/shop#12"
    )]
    Review {
        /// The issue: [RUN:]ID
        issue: String,
        /// Its pull request, as org/repo#N
        #[arg(long)]
        pr: Option<String>,
    },
    /// Say that an issue is done; what waits only for it becomes ready
    #[command(
        after_help = "It counts as the word of a person, like a mark in the file.\n\nExamples:\n  piton issue done shop#7\n  piton issue done shop#7 --json | jq .then.state"
    )]
    Done(IssueWhy),
    /// Give up an issue in progress
    #[command(after_help = "Example:\n  piton issue fail shop#7 --why 'the API is gone'")]
    Fail(IssueWhy),
    /// Let an issue wait for another one
    #[command(after_help = "Example:\n  piton issue block shop#8 --on shop#7")]
    Block {
        /// The issue: [RUN:]ID
        issue: String,
        /// The issue that it waits for
        #[arg(long, value_name = "ID")]
        on: String,
    },
    /// Let an issue go on without another one, also where that failed
    #[command(
        after_help = "Examples:\n  piton issue unblock shop#8\n  piton issue unblock shop#8 --on shop#7"
    )]
    Unblock {
        /// The issue: [RUN:]ID
        issue: String,
        /// The issue that it waits for [default: the only one that is open]
        #[arg(long, value_name = "ID")]
        on: Option<String>,
    },
    /// Show an issue: where it stands, what it waits for, and what waits for it
    #[command(
        after_help = "Attempts and all else that piton knows: `piton show ID`.\n\nExamples:\n  piton issue show shop#7\n  piton issue show shop#7 --json | jq -r .prompt"
    )]
    Show {
        /// The issue: [RUN:]ID
        issue: String,
    },
}

/// An issue to be added.
#[derive(Debug, ClapArgs)]
pub(crate) struct IssueAdd {
    /// Its id
    pub(crate) id: String,
    /// What it is about, in one line
    pub(crate) title: String,
    /// The run; without it, the only one that has issues
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// Its repository [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) repo: Option<String>,
    /// An issue that it waits for, as often as needed
    #[arg(long, alias = "blocked-by", value_name = "ID", action = ArgAction::Append)]
    pub(crate) on: Vec<String>,
    /// What else the person or agent that works on it has to know
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
}

/// Which issues are listed.
#[derive(Debug, ClapArgs)]
pub(crate) struct IssueList {
    /// The run; without it, the only one that has issues
    pub(crate) run: Option<String>,
    /// Only those in this state, in piton's word or the file's
    #[arg(long, alias = "state")]
    pub(crate) status: Option<String>,
    /// Only those of this repository
    #[arg(long, value_name = "NAME")]
    pub(crate) repo: Option<String>,
}

/// An issue, and why something is said of it.
#[derive(Debug, ClapArgs)]
pub(crate) struct IssueWhy {
    /// The issue: [RUN:]ID
    pub(crate) issue: String,
    /// Why
    #[arg(long)]
    pub(crate) why: Option<String>,
}
