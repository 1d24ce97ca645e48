//! `piton journal`.

use clap::{Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::process::shell::quote_word;
use piton_engine::project::Project;
use piton_engine::verbs::journal::{
    self, EventView, JournalEntry, JournalStart, UnreadableEvent, VerifyReport,
};
use piton_engine::world::local_time_with_seconds;
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM, GREEN, OutputFlow, RED, YELLOW};
use crate::show::count::format_count;
use crate::show::progress::first_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct JournalArgs {
    #[command(subcommand)]
    command: JournalCommand,
}

#[derive(Debug, Subcommand)]
enum JournalCommand {
    /// Print events in the order in which they were stored
    #[command(
        after_help = "Examples:\n  piton journal show --since 2h\n  piton journal show --since 2026-01-15 --json | jq -r .kind"
    )]
    Show {
        /// Start at this time, this long ago, or at this event
        #[arg(long, value_name = "TIME|DURATION|ID")]
        since: Option<String>,
    },
    /// Verify the hashes, heads and views of the journal
    #[command(
        after_help = "Compares the views with the result of replaying all events.\n\nExamples:\n  piton journal verify\n  piton journal verify --json | jq .damage"
    )]
    Verify,
    /// Print every event as one JSON object per line
    #[command(
        after_help = "Examples:\n  piton journal export > journal.jsonl\n  piton journal export | jq -r .kind | sort | uniq -c"
    )]
    Export,
}

impl TypedCommand for JournalArgs {
    const ABOUT: &'static str = "Show, verify or export the journal";
    const AFTER_HELP: &'static str =
        "Examples:\n  piton journal show --since 2h\n  piton journal verify";

    fn permission(&self) -> Permission {
        match &self.command {
            JournalCommand::Show { .. } => {
                Permission::new("piton journal show", CommandAccess::Read)
            }
            JournalCommand::Verify => Permission::new("piton journal verify", CommandAccess::Read),
            JournalCommand::Export => Permission::new("piton journal export", CommandAccess::Read),
        }
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let (world, output) = (call.world, &mut *call.output);
        match self.command {
            JournalCommand::Show { since } => {
                let since = since
                    .map(|text| journal::parse_since(world, &text))
                    .transpose()?;
                let json = output.json;
                print_events(world, since.as_ref(), output, |shown, output| {
                    if json {
                        output.print_answer_line(shown)
                    } else {
                        output.print_data(&render_journal_line(shown))
                    }
                })?;
            }
            JournalCommand::Export => {
                print_events(world, None, output, |shown, output| {
                    output.print_answer_line(shown)
                })?;
            }
            JournalCommand::Verify => {
                let verdict = journal::verify(world)?;
                call.print(&verdict, show_verdict);
                if !verdict.damage.is_empty() {
                    return Ok(CommandExit::Damaged);
                }
            }
        }
        Ok(CommandExit::Done)
    }
}

/// Prints events as `print` does, and beside the data which of them cannot be read.
fn print_events(
    world: &World,
    since: Option<&JournalStart>,
    output: &mut CliOutput,
    print: impl Fn(&EventView, &mut CliOutput) -> OutputFlow,
) -> Result<(), Failure> {
    journal::for_each_event(world, since, &mut |entry| match entry {
        JournalEntry::Event(shown) => print(&shown, output) == OutputFlow::On,
        JournalEntry::Unreadable(event) => {
            if output.json {
                output.print_note_line(&event);
            } else {
                output.print_warning(&render_unreadable_event(&event));
            }
            true
        }
    })
}

/// Which event cannot be read, and why.
fn render_unreadable_event(event: &UnreadableEvent) -> String {
    let position = event.position.map(|position| format!("event {position}"));
    let stream = event.stream.as_ref().map(|stream| format!("of {stream}"));
    let kind = event.kind.as_ref().map(|kind| format!("({kind})"));
    let version = event.version.map(|version| format!("version {version}"));
    let seq = event.seq.map(|seq| format!("number {seq} of the store"));
    let known = [position, stream, kind, version, seq].into_iter().flatten();
    let known: Vec<String> = known.collect();
    match known.is_empty() {
        true => event.what.clone(),
        false => format!("cannot read {}: {}", known.join(" "), event.what),
    }
}

fn render_journal_line(event: &EventView) -> String {
    let stream = event
        .stream
        .strip_prefix("run:")
        .map_or(event.stream.as_str(), |id| &id[..id.len().min(8)]);
    let body = match &event.body_hash {
        Some(hash) => format!("(its body was removed; SHA-256 {hash})"),
        None => first_line(&event.body.to_string()),
    };
    format!(
        "{DIM}{} {stream}:{}{DIM:#} {BOLD}{}{BOLD:#} {body} {DIM}{}{DIM:#}\n",
        local_time_with_seconds(event.time),
        event.position,
        event.kind,
        event.actor
    )
}

fn show_verdict(verdict: &VerifyReport, world: &World, output: &mut CliOutput) {
    for damage in &verdict.damage {
        let position = damage
            .position
            .map(|position| format!(", event {position}"))
            .unwrap_or_default();
        let kind = damage
            .kind
            .as_ref()
            .map(|kind| format!(" ({kind})"))
            .unwrap_or_default();
        output.print_note(&format!(
            "{RED}damaged:{RED:#} {}{position}{kind}: {}",
            damage.place, damage.what
        ));
    }
    for loss in &verdict.lost {
        let when = local_time_with_seconds(loss.noticed);
        output.print_note(&format!("{YELLOW}lost:{YELLOW:#} {loss} (noticed {when})"));
    }
    let removed = match verdict.tombstones {
        0 => String::new(),
        count => format!(" ({count} without a body, which was removed)"),
    };
    let checked = format!(
        "{}{removed} in {}, {} of views",
        format_count(verdict.events, "event"),
        format_count(verdict.streams, "stream"),
        format_count(verdict.rows, "row")
    );
    if verdict.damage.is_empty() {
        output.print_data(&format!("{GREEN}all is well:{GREEN:#} {checked}\n"));
    } else {
        output.print_note(&format!(
            "{RED}{} among {checked}{RED:#}",
            format_count(verdict.damage.len(), "damage")
        ));
        if verdict.journal_damage == 0 {
            output.print_hint("nothing was changed; the events are whole: make the views anew with `piton store rebuild`, which keeps the present store beside the new one");
            return;
        }
        let store = Project::find(world, &world.cwd).home.join("journal.db");
        let store = store.display().to_string();
        let (store, aside) = (quote_word(&store), format!("{store}.damaged"));
        output.print_hint(&format!(
            "nothing was changed; save what is there with `piton journal export`, and bring a backup in with `piton store restore FILE`. Without one move the store aside with `mv {store} {}`: then `piton init` begins a new journal, and `piton run PLAN` goes on from what the file of the plan shows as done",
            quote_word(&aside)
        ));
    }
}
