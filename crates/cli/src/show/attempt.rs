//! An item with its attempts, and an attempt, whole.

use piton_engine::World;
use piton_engine::model::Node;
use piton_engine::model::attempt::DiffStat;
use piton_engine::model::terminal::clean_text;
use piton_engine::model::usage::Spend;
use piton_engine::verbs::show::{AttemptDetails, ItemDetails};

use super::costs::describe_spend;
use super::item::{render_failed_check, render_item_line};
use super::progress::first_line;
use crate::output::{BOLD, CYAN, DIM, YELLOW};

/// So many files are named one by one.
const FILES_SHOWN: usize = 10;

/// An item: what is asked, how it stands, and each attempt at it.
pub(crate) fn render_item(world: &World, shown: &ItemDetails) -> String {
    let item = &shown.item;
    let mut text = format!("{}\n", render_item_line(item, world.now()));
    let run = if item.run.is_empty() {
        "no plan"
    } else {
        &item.run
    };
    let branch = item.done_on.as_ref();
    let branch = branch.map_or_else(String::new, |branch| format!(" on {branch}"));
    text.push_str(&render_field(
        "state",
        &format!(
            "{}{branch} in {run}, at {}",
            item.state,
            Node::shown(&item.node)
        ),
    ));
    if let Some(summary) = &item.life.summary {
        text.push_str(&render_block("summary", summary));
    }
    if let Some(error) = &item.life.error {
        text.push_str(&render_block("error", error));
    }
    if let Some(used) = describe_spend(&item.spend) {
        text.push_str(&render_field("used", &used));
    }
    if !shown.depends_on.is_empty() {
        text.push_str(&render_field("needs", &shown.depends_on.join(", ")));
    }
    if let Some(waits) = item
        .next
        .waits
        .as_ref()
        .and_then(|waits| waits.why.as_ref())
    {
        text.push_str(&render_field("waits for", &first_line(waits)));
    }
    for criterion in &shown.criteria {
        text.push_str(&render_field("criterion", &first_line(criterion)));
    }
    if let Some(found) = &item.check {
        text.push_str(&render_failed_check(found, "  "));
    }
    for question in &shown.questions {
        text.push_str(&format!(
            "  {YELLOW}?{YELLOW:#} {}: {} {DIM}see{DIM:#} {CYAN}piton inbox{CYAN:#}\n",
            question.id,
            first_line(&question.question)
        ));
    }
    if let Some(prompt) = &shown.prompt {
        text.push_str(&render_block("prompt", prompt));
    }
    for one in &shown.attempts {
        text.push('\n');
        text.push_str(&render_attempt(world, one));
    }
    text
}

/// An attempt: what came of it, and where its transcript is.
pub(crate) fn render_attempt(world: &World, shown: &AttemptDetails) -> String {
    let model = shown.model.as_ref();
    let model = model.map_or_else(String::new, |model| format!(" ({model})"));
    let mut text = format!(
        "{BOLD}{}#{}{BOLD:#} {}, {} by {}{model}\n",
        Node::shown(&shown.node),
        shown.number,
        shown.end.outcome,
        shown.role.as_str(),
        first_line(&shown.agent)
    );
    let name = match &shown.name {
        Some(name) => format!("{name}, {}", shown.id),
        None => shown.id.to_string(),
    };
    text.push_str(&render_field("name", &name));
    let ended = shown.end.ended_at.map(|time| world.local_time(time));
    let time = match ended {
        Some(ended) => format!("{} to {ended}", world.local_time(shown.end.started_at)),
        None => format!("since {}", world.local_time(shown.end.started_at)),
    };
    let took = piton_engine::model::amount::format_duration(shown.end.work_s);
    text.push_str(&render_field("worked", &format!("{took}, {time}")));
    text.push_str(&render_outcome(shown));
    text
}

/// What came of an attempt: its words, what it changed, called, used and noticed.
fn render_outcome(shown: &AttemptDetails) -> String {
    let mut text = String::new();
    if let Some(summary) = &shown.end.summary {
        text.push_str(&render_block("summary", summary));
    }
    if let Some(error) = &shown.end.error {
        text.push_str(&render_block("error", error));
    }
    if let Some(human) = &shown.end.human {
        text.push_str(&render_field("asks", &first_line(&human.reason)));
    }
    if let Some(process) = describe_process_end(shown) {
        text.push_str(&render_field("process", &process));
    }
    text.push_str(&render_changes(shown));
    if let Some(calls) = shown.effects.calls {
        text.push_str(&render_field(
            "calls",
            &format!(
                "{}, {} failed, {} not permitted",
                calls.all, calls.failed, calls.denied
            ),
        ));
    }
    if let Some(used) = describe_spend(&Spend::from_usage(&shown.effects.usage)) {
        text.push_str(&render_field("used", &used));
    }
    for seen in &shown.effects.observations {
        let words = format!("{}: {}", seen.kind, first_line(&seen.title));
        text.push_str(&render_field("noticed", &words));
    }
    if let Some(words) = &shown.effects.last_words {
        text.push_str(&render_block("last words", words));
    }
    if let Some(kept) = &shown.effects.transcript {
        let size = piton_engine::model::amount::format_size(kept.bytes);
        let cut = if kept.truncated {
            ", its middle left out"
        } else {
            ""
        };
        text.push_str(&render_field(
            "transcript",
            &format!("{} ({size}{cut})", kept.path),
        ));
    }
    text
}

/// How the process of an attempt ended, where that was not by itself and well.
fn describe_process_end(shown: &AttemptDetails) -> Option<String> {
    let process = shown.end.process.as_ref()?;
    let mut parts = Vec::new();
    match (process.code, process.signal) {
        (Some(0), _) | (None, None) => {}
        (Some(code), _) => parts.push(format!("exit status {code}")),
        (None, Some(signal)) => parts.push(format!("signal {signal}")),
    }
    let stopped = process.stopped_by.as_ref();
    parts.extend(stopped.map(|why| format!("stopped: {why}")));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What an attempt changed in the work tree.
fn render_changes(shown: &AttemptDetails) -> String {
    let mut text = String::new();
    if let Some(diff) = shown.effects.diff {
        text.push_str(&render_field("changed", &describe_diff(diff)));
    }
    let files = shown.effects.files.as_deref().unwrap_or_default();
    for file in files.iter().take(FILES_SHOWN) {
        text.push_str(&render_field("file", &first_line(file)));
    }
    if files.len() > FILES_SHOWN {
        let more = files.len() - FILES_SHOWN;
        text.push_str(&render_field("files", &format!("{more} more")));
    }
    for commit in shown.effects.commits.iter().flatten() {
        text.push_str(&render_field("commit", &first_line(commit)));
    }
    text
}

fn describe_diff(diff: DiffStat) -> String {
    let files = if diff.files == 1 { "file" } else { "files" };
    format!(
        "{} {files}, +{} -{} lines",
        diff.files, diff.insertions, diff.deletions
    )
}

fn render_field(name: &str, value: &str) -> String {
    format!("  {DIM}{name}{DIM:#} {value}\n")
}

/// A text of one line beside its name, one of more lines below it.
fn render_block(name: &str, text: &str) -> String {
    let text = clean_text(text.trim());
    if !text.contains('\n') {
        return render_field(name, &text);
    }
    let mut shown = format!("  {DIM}{name}{DIM:#}\n");
    for line in text.lines() {
        shown.push_str(format!("    {line}").trim_end());
        shown.push('\n');
    }
    shown
}
