//! What can be typed of sessions, and of what happened lately.

use clap::{ArgAction, Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct LogArgs {
    /// What kind of event it is
    #[arg(value_name = "TYPE")]
    pub(crate) kind: String,
    /// The spec it belongs to
    #[arg(long)]
    pub(crate) spec: Option<String>,
    /// The task it belongs to
    #[arg(long, alias = "task-id")]
    pub(crate) task: Option<String>,
    /// What happened
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// More about it
    #[arg(long)]
    pub(crate) notes: Option<String>,
    /// A further field, as often as needed
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_key_value, action = ArgAction::Append)]
    pub(crate) data: Vec<(String, String)>,
}

fn parse_key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        Some(_) | None => Err("write it as KEY=VALUE".to_owned()),
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Note that work begins
    #[command(
        after_help = "Examples:\n  piton session start\n  piton session start finish the login --spec auth"
    )]
    Start {
        /// What it is about
        focus: Vec<String>,
        /// The spec it belongs to
        #[arg(long)]
        spec: Option<String>,
    },
    /// Note that work ends, and how long it took
    #[command(
        after_help = "Examples:\n  piton session end\n  piton session end 'login works, refresh is next'"
    )]
    End {
        /// What came of it
        notes: Vec<String>,
    },
    /// Note what is worked on from now on
    #[command(after_help = "Example:\n  piton session focus the token refresh comes first")]
    Focus {
        /// What is worked on
        #[arg(required = true)]
        text: Vec<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RecentArgs {
    /// How many entries or attempts at most [default: 20; with --item all]
    pub(crate) count: Option<usize>,
    /// Show the attempts at an item, [RUN:]NODE, and what was noticed in them
    #[arg(long, conflicts_with = "blockers")]
    pub(crate) item: Option<String>,
    /// Show what was noticed in the last attempts
    #[arg(long, conflicts_with = "blockers")]
    pub(crate) observations: bool,
    /// Show everything that is blocked: tasks of sessions, and what attempts say
    #[arg(long, conflicts_with = "count")]
    pub(crate) blockers: bool,
}
