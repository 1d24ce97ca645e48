//! `piton session`.

use clap::{Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::entry::EntryRow;
use piton_engine::verbs::recent::RecentActivity;
use piton_engine::verbs::{recent, session};
use piton_engine::{CommandExit, Failure, Notice, World, name_schema};
use serde::Serialize;

use crate::commands::log::SessionLogArgs;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::CliOutput;
use crate::show::entry::{describe_entry, render_recent};

#[derive(Debug, ClapArgs)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    #[command(flatten)]
    Mark(SessionMark),
    /// Record a session event
    #[command(after_help = SessionLogArgs::AFTER_HELP)]
    Log(Box<SessionLogArgs>),
}

// What marks the course of a session. No doc comment: clap would show it as the help.
#[derive(Debug, Subcommand)]
enum SessionMark {
    /// Start a session
    #[command(
        after_help = "Examples:\n  piton session start\n  piton session start finish the login --spec auth"
    )]
    Start {
        /// The focus of the session
        focus: Vec<String>,
        /// The spec that it belongs to
        #[arg(long)]
        spec: Option<String>,
    },
    /// End a session and record its duration
    #[command(
        after_help = "Examples:\n  piton session end\n  piton session end 'login works, refresh is next'"
    )]
    End {
        /// The result of the session
        notes: Vec<String>,
    },
    /// Set the focus of the session
    #[command(after_help = "Example:\n  piton session focus the token refresh comes first")]
    Focus {
        /// The new focus
        #[arg(required = true)]
        text: Vec<String>,
    },
}

impl TypedCommand for SessionArgs {
    const ABOUT: &'static str = "Start or end a session, set its focus, or record an event";
    const AFTER_HELP: &'static str = "Examples:\n  piton session start finish the login\n  piton session focus the token refresh comes first\n  piton session end 'login works, refresh is next'";

    fn permission(&self) -> Permission {
        let mark = match &self.command {
            SessionCommand::Mark(mark) => mark,
            SessionCommand::Log(_) => {
                return Permission::new("piton session log", CommandAccess::OwnItem);
            }
        };
        let command = match mark {
            SessionMark::Start { .. } => "piton session start",
            SessionMark::End { .. } => "piton session end",
            SessionMark::Focus { .. } => "piton session focus",
        };
        Permission::new(command, CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let mark = match self.command {
            SessionCommand::Log(typed) => return typed.run(call),
            SessionCommand::Mark(mark) => mark,
        };
        let world = call.world;
        let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
        let joined = |words: Vec<String>| Some(words.join(" ")).filter(|text| !text.is_empty());
        // An agent that begins a session gets the state from before this session.
        let before = match &mark {
            SessionMark::Start { .. } => Some(recent::recent(world, &world.cwd, recent::SHOWN)?),
            SessionMark::End { .. } | SessionMark::Focus { .. } => None,
        };
        let row = match mark {
            SessionMark::Start { focus, spec } => session::start(world, joined(focus), spec, told)?,
            SessionMark::End { notes } => session::end(world, joined(notes), told)?,
            SessionMark::Focus { text } => session::focus(world, &text.join(" "), told)?,
        };
        call.print(&SessionEntry { row, before }, show_session_entry);
        Ok(CommandExit::Done)
    }
}

/// An entry of a session, with what happened before it where it begins one.
#[derive(Serialize)]
struct SessionEntry {
    #[serde(flatten)]
    row: EntryRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<RecentActivity>,
}

name_schema!(SessionEntry, "piton.session/1");

fn show_session_entry(entry: &SessionEntry, world: &World, output: &mut CliOutput) {
    let SessionEntry { row, before } = entry;
    if let Some(before) = before {
        output.print_data(&render_recent(world, before));
    }
    let minutes = row.entry.data.get("duration_minutes");
    let after = minutes
        .map(|minutes| format!(", after {minutes} min"))
        .unwrap_or_default();
    output.print_note(&format!("recorded {}{after}", describe_entry(row)));
}
