//! `piton log`: what happened; with the type of an event, recording one, which is
//! `piton session log` as well.

use std::ops::ControlFlow;

use clap::{ArgAction, Args as ClapArgs};
use jiff::Timestamp;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::model::entry::Entry;
use piton_engine::verbs::history::{self, HistoryLine, HistoryQuery};
use piton_engine::verbs::journal::{self, JournalStart};
use piton_engine::verbs::log;
use piton_engine::world::local_time_with_seconds;
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM, OutputFlow};
use crate::show::entry::describe_entry;
use crate::show::progress::first_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct LogArgs {
    /// Go on with what happens from now on
    #[arg(short, long)]
    follow: bool,
    /// Show the last N lines [default: 20; with --since all]
    #[arg(short = 'n', long = "last", value_name = "N")]
    last: Option<usize>,
    /// Show what happened to an item, [RUN:]NODE, and below it
    #[arg(long)]
    item: Option<String>,
    /// Show what happened since a time, a date, or for a duration
    #[arg(long, value_name = "TIME|DURATION")]
    since: Option<String>,
    /// Record an event of this type instead: see `piton session log`
    #[arg(value_name = "TYPE", conflicts_with_all = ["follow", "last", "item", "since"])]
    kind: Option<String>,
    #[command(flatten)]
    entry: EntryArgs,
}

/// `piton session log`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SessionLogArgs {
    /// The type of the event
    #[arg(value_name = "TYPE")]
    kind: String,
    #[command(flatten)]
    entry: EntryArgs,
}

// What an event says. No doc comment: clap would show it as the help of the command.
#[derive(Debug, ClapArgs)]
struct EntryArgs {
    /// The spec that it belongs to
    #[arg(long)]
    spec: Option<String>,
    /// The task that it belongs to
    #[arg(long, alias = "task-id")]
    task: Option<String>,
    /// What happened
    #[arg(long)]
    description: Option<String>,
    /// Further notes
    #[arg(long)]
    notes: Option<String>,
    /// An additional field (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_key_value, action = ArgAction::Append)]
    data: Vec<(String, String)>,
}

fn parse_key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        Some(_) | None => Err("write it as KEY=VALUE".to_owned()),
    }
}

impl TypedCommand for LogArgs {
    const ABOUT: &'static str = "Show what happened, or record a session event";
    const AFTER_HELP: &'static str = "With --json one object is printed a line. `piton journal show` prints every event as it is stored.\n\nExamples:\n  piton log\n  piton log --since 20:00\n  piton log -f --item auth-login\n  piton log --since 2h --json | jq -r .what\n  piton log task_completed --spec auth --task 1.2 --description 'JWT validation'";

    fn permission(&self) -> Permission {
        let access = match self.kind {
            Some(_) => CommandAccess::OwnItem,
            None => CommandAccess::Read,
        };
        Permission::new("piton log", access)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        if let Some(kind) = self.kind {
            return self.entry.record(&kind, call);
        }
        if self.entry.is_given() {
            let what = "what is to be recorded has no type";
            return Err(Failure::new("usage", what)
                .with_hint("name it first: `piton log task_completed --description TEXT`"));
        }
        let world = call.world;
        let since = self
            .since
            .map(|text| parse_since(world, &text))
            .transpose()?;
        let query = HistoryQuery {
            item: self.item,
            since,
            last: self.last,
        };
        let show = match self.follow {
            true => history::follow_history,
            false => history::show_history,
        };
        let mut is_empty = true;
        show(world, &query, &mut |line| {
            is_empty = false;
            match print_line(line, call.output) {
                OutputFlow::On => ControlFlow::Continue(()),
                OutputFlow::Over => ControlFlow::Break(()),
            }
        })?;
        if is_empty && !call.output.json {
            call.output.print_note("nothing happened");
        }
        Ok(CommandExit::Done)
    }
}

/// Reads `TIME|DURATION`.
pub(super) fn parse_since(world: &World, text: &str) -> Result<Timestamp, Failure> {
    match journal::parse_since(world, text)? {
        JournalStart::Time(time) => Ok(time),
        JournalStart::Event(_) => Err(Failure::new(
            "usage",
            format!("`{text}` is no time and no duration"),
        )
        .with_hint("for example `--since 2h` or `--since 20:00`")),
    }
}

fn print_line(line: &HistoryLine, output: &mut CliOutput) -> OutputFlow {
    if output.json {
        return output.print_answer_line(line);
    }
    let item = line.item.as_deref().map(Node::shown);
    let of: Vec<String> = line.run.clone().into_iter().chain(item).collect();
    let of = match of.is_empty() {
        true => String::new(),
        false => format!("{BOLD}{}{BOLD:#}  ", of.join(":")),
    };
    let time = local_time_with_seconds(line.time);
    output.print_data(&format!(
        "{DIM}{time}{DIM:#}  {of}{}\n",
        first_line(&line.what)
    ))
}

impl SessionLogArgs {
    pub(crate) const AFTER_HELP: &'static str = "Types: session_started, session_ended, task_completed, task_blocked, debug_resolved,\nscope_override, milestone_reached.\n\nExamples:\n  piton session log task_completed --spec auth --task 1.2 --description 'JWT validation'\n  piton session log task_blocked --task 1.3 --description 'no key' --data owner=ops";

    /// Records the event.
    pub(crate) fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        self.entry.record(&self.kind, call)
    }
}

impl EntryArgs {
    fn is_given(&self) -> bool {
        let texts = [&self.spec, &self.task, &self.description, &self.notes];
        !self.data.is_empty() || texts.into_iter().any(Option::is_some)
    }

    fn record(self, kind: &str, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let mut entry = Entry {
            spec: self.spec,
            task_id: self.task,
            ..Entry::with_type(log::parse_entry_type(kind)?)
        };
        let described = self
            .description
            .map(|text| ("description".to_owned(), text));
        let noted = self.notes.map(|text| ("notes".to_owned(), text));
        for (key, text) in described.into_iter().chain(noted).chain(self.data) {
            let value = log::parse_data_value(&key, text);
            entry.data.insert(key, value);
        }
        let row = log::log(call.world, entry, &mut |notice| call.show_notice(&notice))?;
        call.print(&row, |row, _, output| {
            output.print_note(&format!("recorded {}", describe_entry(row)));
        });
        Ok(CommandExit::Done)
    }
}
