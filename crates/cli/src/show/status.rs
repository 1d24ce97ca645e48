//! Where everything stands, as a tree with marks.

use jiff::Timestamp;
use piton_core::{ItemState, RunState};
use piton_engine::verbs::status::{Line, NodeLine, Report, Status, sentence};

use super::costs::used;
use super::progress::{denied, first_line, followed, seconds};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};

/// Everything, as text.
pub(crate) fn render(status: &Status, now: Timestamp) -> String {
    let mut text = String::new();
    let others = status
        .runs
        .iter()
        .filter(|line| status.run.as_ref().is_none_or(|run| run.line.id != line.id));
    let others: Vec<&Line> = others.collect();
    if let Some(run) = &status.run {
        text.push_str(&report(run, now));
    }
    if !others.is_empty() {
        if status.run.is_some() {
            text.push_str("\nOther runs:\n");
        }
        for line in others {
            text.push_str(&format!("  {:<12} {}\n", line.state.to_string(), line.run));
        }
    }
    text
}

fn report(run: &Report, now: Timestamp) -> String {
    let mut text = format!(
        "{BOLD}{}{BOLD:#}  {}",
        run.line.run,
        coloured_state(&run.line)
    );
    if let Some(elapsed) = run
        .elapsed_s
        .and_then(|seconds| u64::try_from(seconds).ok())
    {
        text.push_str(&format!(
            "  {DIM}{}{DIM:#}",
            piton_core::amount::spoken(elapsed)
        ));
    }
    text.push('\n');
    for node in &run.nodes {
        text.push_str(&node_line(node, now));
    }
    text.push_str(&format!("\n{}\n", counters(run)));
    if let Some(used) = used(&run.spend) {
        text.push_str(&format!("Used: {used}\n"));
    }
    text.push_str(&format!(
        "Last activity: {} ago",
        seconds(run.last_activity, now)
    ));
    if let Some(holder) = &run.holder {
        text.push_str(&format!(", worked on by {holder}"));
    }
    text.push('\n');
    if !matches!(run.line.state, RunState::Done) && !run.line.live {
        let sentence = sentence(run);
        text.push_str(&format!("{}\n", capital(&sentence.message)));
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

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

fn coloured_state(line: &Line) -> String {
    let style = match line.state {
        RunState::Done => GREEN,
        RunState::Running if line.live => CYAN,
        RunState::Blocked => RED,
        RunState::New => DIM,
        RunState::Running | RunState::Interrupted | RunState::Paused | RunState::Waiting => YELLOW,
    };
    format!("{style}{}{style:#}", line.state)
}

fn counters(run: &Report) -> String {
    let counters = &run.counters;
    let mut parts = vec![format!(
        "{} of {} phases",
        counters.phases_done, counters.phases
    )];
    if counters.steps > 0 {
        parts.push(format!(
            "{} of {} steps",
            counters.steps_done, counters.steps
        ));
    }
    parts.push(format!(
        "{} of {} nodes done",
        counters.nodes_done, counters.nodes
    ));
    if counters.nodes_skipped > 0 {
        parts.push(format!("{} skipped", counters.nodes_skipped));
    }
    if counters.nodes_failed > 0 {
        parts.push(format!("{} failed", counters.nodes_failed));
    }
    let agents = if counters.iterations == 1 {
        "agent"
    } else {
        "agents"
    };
    parts.push(format!("{} {agents} started", counters.iterations));
    parts.join(", ")
}

fn node_line(node: &NodeLine, now: Timestamp) -> String {
    let (mark, style) = match node.state {
        ItemState::Done => ("[x]", GREEN),
        ItemState::Working => ("[>]", CYAN),
        ItemState::Failed => ("[!]", RED),
        ItemState::Blocked => ("[B]", RED),
        ItemState::Skipped => ("[~]", DIM),
        ItemState::Waiting => ("[?]", YELLOW),
        ItemState::Pending | ItemState::Ready => ("[ ]", anstyle::Style::new()),
    };
    let indent = "  ".repeat(node.depth.saturating_sub(1));
    let here = if node.current {
        format!(" {CYAN}<{CYAN:#}")
    } else {
        String::new()
    };
    let time = match (node.started_at, node.completed_at) {
        (Some(from), Some(to)) => format!(" {DIM}{}{DIM:#}", seconds(from, to)),
        (Some(_), None) | (None, _) => String::new(),
    };
    let mut notes = Vec::new();
    if node.retries > 0 {
        notes.push(format!(
            "tried again {}",
            if node.retries == 1 {
                "once".to_owned()
            } else {
                format!("{} times", node.retries)
            }
        ));
    }
    if let Some(until) = node.until.filter(|until| *until > now) {
        notes.push(format!("waits {}", seconds(now, until)));
    }
    if node.being_checked {
        notes.push("being checked".to_owned());
    }
    notes.extend(denied(node.denied));
    notes.extend(node.recovery.as_ref().map(followed));
    if node.state == ItemState::Skipped {
        notes.extend(node.summary.as_deref().map(first_line));
    }
    if let Some(error) = &node.error {
        notes.push(first_line(error));
    }
    let proof = node.evidence.as_ref().map_or_else(String::new, |proof| {
        format!(" {DIM}({}){DIM:#}", proof.summary)
    });
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" {DIM}- {}{DIM:#}", notes.join("; "))
    };
    format!(
        "{indent}{style}{mark}{style:#} {}{time}{proof}{here}{notes}\n",
        node.id
    )
}
