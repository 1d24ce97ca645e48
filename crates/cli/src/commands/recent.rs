//! `piton recent`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::verbs::recent::{self, AttemptObservation, Blockers, ItemAttempts, Observations};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::CliOutput;
use crate::show::count::format_count;
use crate::show::entry::{
    render_attempt, render_entry_line, render_recent, render_unresolved_blockers,
};
use crate::show::progress::first_line;
use crate::show::table;

#[derive(Debug, ClapArgs)]
pub(crate) struct RecentArgs {
    /// The maximum number of entries or attempts [default: 20; with --item all]
    count: Option<usize>,
    /// Show the attempts at an item, [RUN:]NODE, and their observations
    #[arg(long, conflicts_with = "blockers")]
    item: Option<String>,
    /// Show the observations of the last attempts
    #[arg(long, conflicts_with = "blockers")]
    observations: bool,
    /// Show all blockers: blocked session tasks, and blockers that attempts reported
    #[arg(long, conflicts_with = "count")]
    blockers: bool,
}

impl TypedCommand for RecentArgs {
    const ABOUT: &'static str = "Show recent activity, the last task and unresolved blockers";
    const AFTER_HELP: &'static str = "Examples:\n  piton recent\n  piton recent 5 --json | jq .unresolved_blockers\n  piton recent --item auth-login\n  piton recent 10 --observations\n  piton recent --blockers";

    fn permission(&self) -> Permission {
        Permission::new("piton recent", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let last = self.count.unwrap_or(recent::SHOWN);
        if self.observations {
            let found = recent::observations(call.world, self.item.as_deref(), last)?;
            call.print(&found, show_observations);
        } else if let Some(item) = &self.item {
            let last = self.count.unwrap_or(usize::MAX);
            let item = recent::history_of_item(call.world, item, last)?;
            call.print(&item, show_item_history);
        } else if self.blockers {
            call.print(&recent::blockers(call.world)?, show_blockers);
        } else {
            let recent = recent::recent(call.world, &call.world.cwd, last)?;
            call.print(&recent, |recent, world, output| {
                output.print_data(&render_recent(world, recent));
            });
        }
        Ok(CommandExit::Done)
    }
}

fn show_observations(found: &Observations, _: &World, output: &mut CliOutput) {
    output.print_data(&render_observations(&found.observations));
    if found.observations.is_empty() {
        let at = found.item.as_ref().map(|item| format!(" at {item}"));
        output.print_note(&format!(
            "nothing was noticed in the last {}{}",
            format_count(found.attempts, "attempt"),
            at.unwrap_or_default()
        ));
    }
}

fn show_item_history(item: &ItemAttempts, world: &World, output: &mut CliOutput) {
    let past = item
        .attempts
        .iter()
        .map(|attempt| render_attempt(world, attempt));
    let logged = item.entries.iter().map(|row| render_entry_line(world, row));
    output.print_data(&past.chain(logged).collect::<String>());
    if item.attempts.is_empty() && item.entries.is_empty() {
        output.print_note(&format!(
            "no attempt was made at `{}`",
            Node::shown(&item.node)
        ));
    }
}

fn show_blockers(found: &Blockers, _: &World, output: &mut CliOutput) {
    if found.unresolved_blockers.is_empty() && found.observations.is_empty() {
        output.print_note("nothing is blocked");
        return;
    }
    let mut text = render_unresolved_blockers(&found.unresolved_blockers);
    if !found.observations.is_empty() {
        text.push_str("Noticed in attempts:\n");
        text.push_str(&render_observations(&found.observations));
    }
    output.print_data(&text);
}

fn render_observations(all: &[AttemptObservation]) -> String {
    let rows = all.iter().map(|one| {
        let observation = &one.observation;
        let done = if one.completed_since {
            " (completed since)"
        } else {
            ""
        };
        [
            first_line(one.attempt.as_deref().unwrap_or(&Node::shown(&one.node))),
            observation.kind.to_string(),
            observation
                .category
                .map(|word| word.to_string())
                .unwrap_or_default(),
            observation
                .severity
                .map(|word| word.to_string())
                .unwrap_or_default(),
            format!("{}{done}", first_line(&observation.title)),
        ]
    });
    table::render(rows)
}
