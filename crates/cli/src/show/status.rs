//! Where everything stands, as a tree with marks.

use jiff::Timestamp;
use piton_engine::model::{ItemState, RunState};
use piton_engine::verbs::item_view::ItemView;
use piton_engine::verbs::status::{RunLine, RunReport, StatusReport, explain_state};

use super::costs::describe_spend;
use super::item;
use super::progress::{first_line, format_time_between};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};

/// Whether items that are finished are shown one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishedDisplay {
    /// In one line, where there are many of them.
    Folded,
    /// Each in a line of its own.
    Each,
}

/// So many finished items one after another are shown one by one.
const FOLDED_FROM: usize = 10;

/// Everything, as text.
pub(crate) fn render(status: &StatusReport, now: Timestamp, finished: FinishedDisplay) -> String {
    let mut text = String::new();
    let others = status
        .runs
        .iter()
        .filter(|line| status.run.as_ref().is_none_or(|run| run.line.id != line.id));
    let others: Vec<&RunLine> = others.collect();
    if let Some(run) = &status.run {
        text.push_str(&render_run(run, now, finished));
    }
    if !others.is_empty() {
        if status.run.is_some() {
            text.push_str("\nOther runs:\n");
        }
        for line in others {
            text.push_str(&format!("  {:<12} {}\n", line.state.to_string(), line.run));
        }
    }
    if let Some(failed) = &status.notify_failed {
        text.push_str(&format!(
            "{YELLOW}warning:{YELLOW:#} the command of [notify] failed {} ago: {}\n",
            format_time_between(failed.at, now),
            failed.error.as_deref().unwrap_or_default()
        ));
    }
    text
}

/// A run, with each of its items.
pub(crate) fn render_run(run: &RunReport, now: Timestamp, finished: FinishedDisplay) -> String {
    let mut text = format!(
        "{BOLD}{}{BOLD:#}  {}",
        run.line.run,
        coloured_state(&run.line)
    );
    if run.work_s > 0 {
        text.push_str(&format!(
            "  {DIM}{} of work{DIM:#}",
            piton_engine::model::amount::format_duration(run.work_s)
        ));
    }
    text.push('\n');
    text.push_str(&render_items(run, now, finished));
    text.push_str(&format!("\n{}\n", describe_counters(run)));
    if let Some(used) = describe_spend(&run.spend) {
        text.push_str(&format!("Used: {used}\n"));
    }
    if let Some(place) = &run.place {
        let lines = super::place::work_place_lines(place).join("\n      ");
        text.push_str(&format!("Work: {lines}\n"));
    }
    text.push_str(&format!(
        "Last activity: {} ago",
        format_time_between(run.last_activity, now)
    ));
    if let Some(holder) = &run.holder {
        text.push_str(&format!(", worked on by {holder}"));
    }
    for joined in &run.joined {
        text.push_str(&format!(", and by {joined}"));
    }
    text.push('\n');
    if let Some(log) = &run.log {
        text.push_str(&format!("Log: {log}\n"));
    }
    if !matches!(run.line.state, RunState::Done) && !run.line.live {
        let sentence = explain_state(run);
        text.push_str(&format!("{}\n", capitalize(&sentence.message)));
    }
    for reason in run
        .reason
        .iter()
        .filter(|_| run.line.state != RunState::Done)
    {
        text.push_str(&format!("Why: {}\n", first_line(reason)));
    }
    for decision in &run.decisions {
        text.push_str(&format!(
            "{YELLOW}?{YELLOW:#} d{}: {}\n",
            decision.number,
            first_line(&decision.question)
        ));
    }
    for warning in &run.warnings {
        text.push_str(&format!("{YELLOW}warning:{YELLOW:#} {warning}\n"));
    }
    if let Some(next) = &run.next {
        text.push_str(&format!("Next: {CYAN}{next}{CYAN:#}\n"));
    }
    text
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

fn coloured_state(line: &RunLine) -> String {
    let style = match line.state {
        RunState::Done => GREEN,
        RunState::Running if line.live => CYAN,
        RunState::Blocked => RED,
        RunState::New => DIM,
        RunState::Running | RunState::Interrupted | RunState::Paused | RunState::Waiting => YELLOW,
    };
    format!("{style}{}{style:#}", line.state)
}

/// The items of a run, one a line. Finished ones that stand together are one
/// line where they are many, with all that they hold.
fn render_items(run: &RunReport, now: Timestamp, finished: FinishedDisplay) -> String {
    let mut text = String::new();
    let mut rest = run.nodes.as_slice();
    while let Some(first) = rest.first() {
        let folded = rest
            .iter()
            .take_while(|item| item.is_finished() && !item.current && item.depth >= first.depth);
        let folded = match finished {
            FinishedDisplay::Folded if first.is_finished() => folded.count(),
            FinishedDisplay::Folded | FinishedDisplay::Each => 0,
        };
        let indent = "  ".repeat(first.depth.saturating_sub(1));
        let shown = if folded >= FOLDED_FROM {
            text.push_str(&format!(
                "{indent}{}\n",
                render_folded_items(&rest[..folded])
            ));
            folded
        } else {
            text.push_str(&indent);
            text.push_str(&item::render_item_line(first, now));
            text.push('\n');
            1
        };
        rest = &rest[shown..];
    }
    text
}

/// Finished items in one line: how many are done, and how many were left out.
fn render_folded_items(items: &[ItemView]) -> String {
    let leaves = || items.iter().filter(|item| item.children == 0);
    let of_state = |state| leaves().filter(|item| item.state == state).count();
    let states = [ItemState::Done, ItemState::Skipped, ItemState::Dropped];
    let counts = states.map(|state| (of_state(state), state));
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    format!(
        "{GREEN}{}{GREEN:#} {DIM}(each: --all){DIM:#}",
        parts.join(", ")
    )
}

fn describe_counters(run: &RunReport) -> String {
    let counters = &run.counters;
    let mut parts = Vec::new();
    if let (Some(done), Some(all)) = (counters.phases_done, counters.phases) {
        parts.push(format!("{done} of {all} phases"));
    }
    if let (Some(done), Some(all)) = (counters.steps_done, counters.steps.filter(|all| *all > 0)) {
        parts.push(format!("{done} of {all} steps"));
    }
    parts.push(format!(
        "{} of {} {} done",
        counters.nodes_done,
        counters.nodes,
        counters.unit.noun(counters.nodes)
    ));
    let others = [
        (counters.nodes_skipped, "skipped"),
        (counters.nodes_dropped, "dropped"),
        (counters.nodes_failed, "failed"),
        (counters.nodes_blocked, "blocked"),
        (counters.nodes_waiting, "waiting"),
    ];
    let others = others.iter().filter(|(count, _)| *count > 0);
    parts.extend(others.map(|(count, word)| format!("{count} {word}")));
    let agents = if counters.iterations == 1 {
        "agent"
    } else {
        "agents"
    };
    parts.push(format!("{} {agents} started", counters.iterations));
    parts.join(", ")
}
