//! What is known, in plain words for an agent: no colours, no columns.

use piton_core::ItemState;
use piton_core::prepare::{PreparedNote, Section};
use piton_engine::memory::recall::RecallResults;
use piton_engine::model::Node;
use piton_engine::verbs::item_view::{ItemView, ItemWaitKind};
use piton_engine::verbs::next::{NextWork, RunNext};
use piton_engine::verbs::status::{RunReport, StatusReport, explain_state};

/// So many results are told.
const RECALLED_MAX: usize = 5;

const NOTHING: &str = "Nothing has been run here yet.";

/// Where everything stands.
pub(super) fn render_status(status: &StatusReport) -> String {
    if status.runs.is_empty() {
        return NOTHING.to_owned();
    }
    let mut lines = Vec::new();
    if let Some(run) = &status.run {
        lines.extend(render_run_report(run));
    }
    let shown = status.run.as_ref().map(|run| run.line.id);
    let others = status.runs.iter().filter(|line| Some(line.id) != shown);
    let others: Vec<String> = others
        .map(|line| format!("- {} is {}", line.run, line.state))
        .collect();
    if !others.is_empty() {
        lines.push(
            if shown.is_some() {
                "Other runs:"
            } else {
                "Runs:"
            }
            .to_owned(),
        );
        lines.extend(others);
    }
    lines.join("\n")
}

fn render_run_report(run: &RunReport) -> Vec<String> {
    let counters = &run.counters;
    let mut lines = vec![
        explain_state(run).message,
        format!(
            "{} of {} {} done",
            counters.nodes_done,
            counters.nodes,
            counters.unit.noun(counters.nodes)
        ),
    ];
    lines.extend(
        run.reason
            .iter()
            .map(|reason| format!("why: {}", first_line(reason))),
    );
    // What a person must act on comes before what may be cut.
    for row in &run.decisions {
        let about = row.node.as_ref().map(|node| format!(" (at {node})"));
        let question = first_line(&row.question);
        lines.push(format!(
            "question d{}{}: {question}",
            row.number,
            about.unwrap_or_default()
        ));
    }
    lines.extend(run.warnings.iter().map(|text| format!("warning: {text}")));
    lines.extend(
        run.next
            .iter()
            .map(|next| format!("a person goes on with: {next}")),
    );
    lines.extend(run.nodes.iter().map(render_node));
    lines
}

fn render_node(node: &ItemView) -> String {
    let mark = match node.state {
        ItemState::Done => "[x]",
        ItemState::Skipped | ItemState::Dropped => "[~]",
        ItemState::Working => "[>]",
        ItemState::Waiting => "[?]",
        ItemState::Failed | ItemState::Blocked => "[!]",
        ItemState::Pending | ItemState::Ready => "[ ]",
    };
    let error = node
        .life
        .error
        .as_deref()
        .map(|error| format!(" - {}", first_line(error)));
    format!(
        "{mark} {} {}{}{}",
        Node::shown(&node.node),
        node.state,
        quoted_title(node),
        error.unwrap_or_default()
    )
}

/// What an item is called, behind its path.
fn quoted_title(item: &ItemView) -> String {
    let title = item.title.as_deref().map(first_line);
    title.map_or_else(String::new, |title| format!(" “{title}”"))
}

/// What is next.
pub(super) fn render_next(next: &NextWork) -> String {
    let mut lines: Vec<String> = next.runs.iter().flat_map(render_next_of_run).collect();
    if lines.is_empty() {
        lines.push("Nothing is under way.".to_owned());
    }
    if next.runs_left_out > 0 {
        lines.push(format!("{} older runs are not told", next.runs_left_out));
    }
    if next.questions > 0 {
        let (questions, wait) = match next.questions {
            1 => ("question", "waits"),
            _ => ("questions", "wait"),
        };
        lines.push(format!(
            "{} {questions} {wait} for a person (`piton inbox`)",
            next.questions
        ));
    }
    lines.join("\n")
}

fn render_next_of_run(run: &RunNext) -> Vec<String> {
    let mut lines = vec![format!("run {} is {}", run.run, run.state)];
    lines.extend(run.held_up.iter().map(|why| format!("held up: {why}")));
    lines.extend(run.stuck.iter().map(|stuck| {
        let why = stuck.life.error.as_deref().map(first_line);
        let why = why.map(|why| format!(": {why}"));
        let asked = stuck.next.decision.as_deref().map(|id| format!(" ({id})"));
        format!(
            "stuck: {}{} {}{}{}",
            Node::shown(&stuck.node),
            quoted_title(stuck),
            stuck.state,
            why.unwrap_or_default(),
            asked.unwrap_or_default()
        )
    }));
    let one = |word: &str, item: &ItemView| {
        format!("{word}: {}{}", Node::shown(&item.node), quoted_title(item))
    };
    lines.extend(run.working.iter().map(|item| one("working", item)));
    lines.extend(run.ready.iter().map(|item| one("ready", item)));
    lines.extend(run.waiting.iter().map(render_waiting));
    if run.left_out > 0 {
        lines.push(format!("and {} more", run.left_out));
    }
    lines.extend(
        run.next
            .iter()
            .map(|next| format!("a person goes on with: {next}")),
    );
    lines
}

fn render_waiting(item: &ItemView) -> String {
    let Some(waits) = &item.next.waits else {
        return format!("waits: {}", Node::shown(&item.node));
    };
    let why = waits.why.as_deref().unwrap_or_default();
    let node = format!("{}{}", Node::shown(&item.node), quoted_title(item));
    let asked = item.next.decision.as_deref().map(|id| format!(" ({id})"));
    let asked = asked.unwrap_or_default();
    match (waits.what, item.next.until) {
        (ItemWaitKind::Person, _) => format!("waits for a person: {node}: {why}{asked}"),
        (ItemWaitKind::Command, _) => format!("waits {why}: {node}"),
        (ItemWaitKind::Time, Some(until)) => format!("waits until {until}: {node}"),
        (ItemWaitKind::Time, None) => format!("waits for a time: {node}"),
        (ItemWaitKind::Dependency, _) if why.is_empty() => {
            format!("waits for what it is part of: {node}")
        }
        (ItemWaitKind::Dependency | ItemWaitKind::Files, _) => format!("waits: {node} for {why}"),
        (ItemWaitKind::Taken, _) => format!("{why}: {node}"),
        (ItemWaitKind::Breakpoint, _) => format!("done, and to be looked at: {node}{asked}"),
    }
}

/// What the memory has to say; that it has nothing, where nothing helps.
pub(super) fn render_recalled(recalled: &RecallResults) -> String {
    if !recalled.advise {
        return "Nothing that is recorded helps with this.".to_owned();
    }
    let told = recalled.results.iter().take(RECALLED_MAX).map(|found| {
        let why = Vec::new();
        PreparedNote::from_memory(Section::Learnings, &found.row, why).render_markdown()
    });
    told.collect::<String>().trim_end().to_owned()
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
