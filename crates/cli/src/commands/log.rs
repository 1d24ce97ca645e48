//! `piton log`.

use clap::{ArgAction, Args as ClapArgs};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::entry::Entry;
use piton_engine::verbs::log;
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};
use crate::show::entry::describe_entry;

#[derive(Debug, ClapArgs)]
pub(crate) struct LogArgs {
    /// The type of the event
    #[arg(value_name = "TYPE")]
    kind: String,
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
    const ABOUT: &'static str = "Record a session event";
    const AFTER_HELP: &'static str = "Types: session_started, session_ended, task_completed, task_blocked, debug_resolved,\nscope_override, milestone_reached.\n\nExamples:\n  piton log task_completed --spec auth --task 1.2 --description 'JWT validation'\n  piton log task_blocked --task 1.3 --description 'no key' --data owner=ops";

    fn permission(&self) -> Permission {
        Permission::new("piton log", CommandAccess::OwnItem)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let mut entry = Entry {
            spec: self.spec,
            task_id: self.task,
            ..Entry::with_type(log::parse_entry_type(&self.kind)?)
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
