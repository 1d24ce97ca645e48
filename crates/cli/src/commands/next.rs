//! `piton next`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::verbs::item_view::{ItemView, ItemWaitKind};
use piton_engine::verbs::next::{self, NextWork, RunNext};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CYAN, CliOutput, DIM, GREEN, RED, YELLOW};
use crate::show::count::format_count;
use crate::show::item::{describe_reviews, describe_worker};
use crate::show::progress::{first_line, format_time_between};

/// What shows what waits for a person.
const INBOX: &str = "piton inbox";

#[derive(Debug, ClapArgs)]
pub(crate) struct NextArgs {
    /// The run: its name, the path of its plan, or a prefix of its id
    run: Option<String>,
    /// List at most N items of each kind
    #[arg(long, value_name = "N", default_value_t = next::SHOWN)]
    limit: usize,
}

impl TypedCommand for NextArgs {
    const ABOUT: &'static str = "List items that are ready, waiting or stuck, with reasons";
    const AFTER_HELP: &'static str = "Without RUN, lists the items of every unfinished run.\n\nExamples:\n  piton next\n  piton next 2026-01-15_auth --limit 5\n  piton next --json | jq -r '.runs[].ready[].node'";

    fn permission(&self) -> Permission {
        Permission::new("piton next", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let next = next::next(call.world, self.run.as_deref(), self.limit)?;
        call.print(&next, show_next);
        Ok(CommandExit::Done)
    }
}

fn show_next(next: &NextWork, world: &World, output: &mut CliOutput) {
    if next.runs.is_empty() {
        output.print_note("nothing is under way");
    }
    if next.runs_left_out > 0 {
        let older = format_count(next.runs_left_out, "older run");
        output.print_note(&format!("{DIM}{older} not shown{DIM:#}"));
    }
    let runs: Vec<String> = next
        .runs
        .iter()
        .map(|run| render_run_next(world, run))
        .collect();
    output.print_data(&runs.join("\n"));
    let is_said = next
        .runs
        .iter()
        .any(|run| run.next.as_deref() == Some(INBOX));
    if next.questions > 0 && !is_said {
        let questions = format_count(next.questions, "question");
        output.print_hint(&format!("{questions} in the inbox: see `{INBOX}`"));
    }
}

fn render_run_next(world: &World, run: &RunNext) -> String {
    let mut text = format!("{BOLD}{}{BOLD:#}  {}\n", run.run, run.state);
    if let Some(why) = &run.held_up {
        text.push_str(&format!("  {YELLOW}{why}{YELLOW:#}\n"));
    }
    for item in &run.working {
        let now = world.now();
        let by = item
            .next
            .at_work
            .as_ref()
            .map(|at_work| describe_worker(at_work, now));
        let notes: Vec<String> = describe_reviews(item).into_iter().chain(by).collect();
        let notes = match notes.as_slice() {
            [] => String::new(),
            notes => format!(" {DIM}{}{DIM:#}", notes.join("; ")),
        };
        text.push_str(&format!(
            "  {CYAN}working{CYAN:#}  {}{notes}\n",
            item_name(item)
        ));
    }
    for item in &run.ready {
        text.push_str(&format!("  {GREEN}ready{GREEN:#}    {}\n", item_name(item)));
    }
    for item in &run.waiting {
        text.push_str(&format!(
            "  {YELLOW}waits{YELLOW:#}    {} {DIM}{}{DIM:#}\n",
            item_name(item),
            describe_wait(world, item)
        ));
    }
    for item in &run.stuck {
        let why = item
            .life
            .error
            .as_deref()
            .map(first_line)
            .unwrap_or_default();
        let asked = item.next.decision.as_deref().map(|id| format!(" ({id})"));
        text.push_str(&format!(
            "  {RED}stuck{RED:#}    {} {DIM}{}: {why}{}{DIM:#}\n",
            item_name(item),
            item.state,
            asked.unwrap_or_default()
        ));
    }
    if run.left_out > 0 {
        text.push_str(&format!("  {DIM}and {} more{DIM:#}\n", run.left_out));
    }
    if let Some(next) = &run.next {
        text.push_str(&format!("  Next: {CYAN}{next}{CYAN:#}\n"));
    }
    text
}

/// The path of an item, and what it is called.
fn item_name(item: &ItemView) -> String {
    let node = Node::shown(&item.node);
    match &item.title {
        Some(title) => format!("{node} ({})", first_line(title)),
        None => node,
    }
}

fn describe_wait(world: &World, item: &ItemView) -> String {
    let Some(waits) = &item.next.waits else {
        return String::new();
    };
    let why = waits.why.as_deref().map(first_line);
    let words = match (waits.what, why) {
        (ItemWaitKind::Person, Some(why)) => format!("for a person: {why}"),
        (ItemWaitKind::Person, None) => "for a person".to_owned(),
        (ItemWaitKind::Time | ItemWaitKind::Command, _) if item.next.wait.is_some() => {
            item.next.wait.iter().map(ToString::to_string).collect()
        }
        (ItemWaitKind::Time | ItemWaitKind::Command, _) => match item.next.until {
            Some(until) => format!("for {}", format_time_between(world.now(), until)),
            None => "for a time".to_owned(),
        },
        (ItemWaitKind::Dependency | ItemWaitKind::Files, Some(on)) => format!("for {on}"),
        (ItemWaitKind::Files, None) => "for files that others are about".to_owned(),
        (ItemWaitKind::Dependency, None) => "for what it is part of".to_owned(),
        (ItemWaitKind::Taken, why) => why.unwrap_or_default(),
        (ItemWaitKind::Breakpoint, _) => "was done: a person is to look at it".to_owned(),
    };
    match &item.next.decision {
        Some(id) => format!("{words} (`piton decide {id}`)"),
        None => words,
    }
}
