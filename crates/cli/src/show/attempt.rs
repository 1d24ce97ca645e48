//! An item with its attempts, and an attempt, whole.

use piton_core::attempt::DiffStat;
use piton_core::usage::Spend;
use piton_engine::World;
use piton_engine::verbs::show::{AttemptShown, ItemShown};

use super::costs::used;
use super::item::{check, line};
use super::progress::{first_line, printable};
use crate::output::{BOLD, CYAN, DIM, YELLOW};

/// So many files are named one by one.
const FILES_SHOWN: usize = 10;

/// An item: what is asked, how it stands, and each attempt at it.
pub(crate) fn item(world: &World, shown: &ItemShown) -> String {
    let item = &shown.item;
    let mut text = format!("{}\n", line(item, world.now()));
    let run = if item.run.is_empty() {
        "no plan"
    } else {
        &item.run
    };
    let branch = item.done_on.as_ref();
    let branch = branch.map_or_else(String::new, |branch| format!(" on {branch}"));
    text.push_str(&field(
        "state",
        &format!("{}{branch} in {run}, at {}", item.state, item.node),
    ));
    if let Some(summary) = &item.summary {
        text.push_str(&block("summary", summary));
    }
    if let Some(error) = &item.error {
        text.push_str(&block("error", error));
    }
    if let Some(used) = used(&item.spend) {
        text.push_str(&field("used", &used));
    }
    if !shown.depends_on.is_empty() {
        text.push_str(&field("needs", &shown.depends_on.join(", ")));
    }
    if let Some(waits) = item.waits.as_ref().and_then(|waits| waits.why.as_ref()) {
        text.push_str(&field("waits for", &first_line(waits)));
    }
    for criterion in &shown.criteria {
        text.push_str(&field("criterion", &first_line(criterion)));
    }
    if let Some(found) = &item.check {
        text.push_str(&check(found, "  "));
    }
    for question in &shown.questions {
        text.push_str(&format!(
            "  {YELLOW}?{YELLOW:#} {}: {} {DIM}see{DIM:#} {CYAN}piton inbox{CYAN:#}\n",
            question.id,
            first_line(&question.question)
        ));
    }
    if let Some(prompt) = &shown.prompt {
        text.push_str(&block("prompt", prompt));
    }
    for one in &shown.attempts {
        text.push('\n');
        text.push_str(&attempt(world, one));
    }
    text
}

/// An attempt: what came of it, and where its transcript is.
pub(crate) fn attempt(world: &World, shown: &AttemptShown) -> String {
    let model = shown.model.as_ref();
    let model = model.map_or_else(String::new, |model| format!(" ({model})"));
    let mut text = format!(
        "{BOLD}{}#{}{BOLD:#} {}, {} by {}{model}\n",
        shown.node,
        shown.number,
        shown.outcome,
        shown.role.as_str(),
        first_line(&shown.agent)
    );
    let name = match &shown.name {
        Some(name) => format!("{name}, {}", shown.id),
        None => shown.id.to_string(),
    };
    text.push_str(&field("name", &name));
    let ended = shown.ended_at.map(|time| world.local_time(time));
    let time = match ended {
        Some(ended) => format!("{} to {ended}", world.local_time(shown.started_at)),
        None => format!("since {}", world.local_time(shown.started_at)),
    };
    let took = piton_core::amount::spoken(shown.work_s);
    text.push_str(&field("worked", &format!("{took}, {time}")));
    text.push_str(&came_of(shown));
    text
}

/// What came of an attempt: its words, what it changed, called, used and noticed.
fn came_of(shown: &AttemptShown) -> String {
    let mut text = String::new();
    if let Some(summary) = &shown.summary {
        text.push_str(&block("summary", summary));
    }
    if let Some(error) = &shown.error {
        text.push_str(&block("error", error));
    }
    if let Some(human) = &shown.human {
        text.push_str(&field("asks", &first_line(&human.reason)));
    }
    if let Some(process) = process(shown) {
        text.push_str(&field("process", &process));
    }
    text.push_str(&changed(shown));
    if let Some(calls) = shown.calls {
        text.push_str(&field(
            "calls",
            &format!(
                "{}, {} failed, {} not permitted",
                calls.all, calls.failed, calls.denied
            ),
        ));
    }
    if let Some(used) = used(&Spend::of(&shown.usage)) {
        text.push_str(&field("used", &used));
    }
    for seen in &shown.observations {
        let words = format!("{}: {}", seen.kind, first_line(&seen.title));
        text.push_str(&field("noticed", &words));
    }
    if let Some(words) = &shown.last_words {
        text.push_str(&block("last words", words));
    }
    if let Some(kept) = &shown.transcript {
        let size = piton_core::amount::size(kept.bytes);
        let cut = if kept.truncated {
            ", its middle left out"
        } else {
            ""
        };
        text.push_str(&field(
            "transcript",
            &format!("{} ({size}{cut})", kept.path),
        ));
    }
    text
}

/// How the process of an attempt ended, where that was not by itself and well.
fn process(shown: &AttemptShown) -> Option<String> {
    let process = shown.process.as_ref()?;
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
fn changed(shown: &AttemptShown) -> String {
    let mut text = String::new();
    if let Some(diff) = shown.diff {
        text.push_str(&field("changed", &diff_in_words(diff)));
    }
    let files = shown.files.as_deref().unwrap_or_default();
    for file in files.iter().take(FILES_SHOWN) {
        text.push_str(&field("file", &first_line(file)));
    }
    if files.len() > FILES_SHOWN {
        let more = files.len() - FILES_SHOWN;
        text.push_str(&field("files", &format!("{more} more")));
    }
    for commit in shown.commits.iter().flatten() {
        text.push_str(&field("commit", &first_line(commit)));
    }
    text
}

fn diff_in_words(diff: DiffStat) -> String {
    let files = if diff.files == 1 { "file" } else { "files" };
    format!(
        "{} {files}, +{} -{} lines",
        diff.files, diff.insertions, diff.deletions
    )
}

fn field(name: &str, value: &str) -> String {
    format!("  {DIM}{name}{DIM:#} {value}\n")
}

/// A text of one line beside its name, one of more lines below it.
fn block(name: &str, text: &str) -> String {
    let text = printable(text.trim());
    if !text.contains('\n') {
        return field(name, &text);
    }
    let mut shown = format!("  {DIM}{name}{DIM:#}\n");
    for line in text.lines() {
        shown.push_str(format!("    {line}").trim_end());
        shown.push('\n');
    }
    shown
}
