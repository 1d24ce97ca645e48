//! The account with which an invocation ends: one screen.

use piton_engine::model::ItemState;
use piton_engine::model::Node;
use piton_engine::model::amount::{format_duration, list_first};
use piton_engine::verbs::account::{Account, AccountItem};
use piton_engine::verbs::item_view::{ItemView, ItemWaitKind};
use piton_engine::world::local_time_with_seconds;

use super::costs::describe_spend;
use super::item::title_suffix;
use super::place;
use super::progress::first_line;
use crate::output::{DIM, GREEN, RED, YELLOW};

/// So many items of a list are shown: what failed, what waits, and the others.
const SHOWN: usize = 6;
const OTHERS_SHOWN: usize = 4;
/// So many of the items that hold others up are named in a line.
const CAUSES_SHOWN: usize = 2;
/// A line is cut here.
const WIDTH: usize = 78;
/// Shorter work is no news.
const WORK_S_MIN: u64 = 60;

/// What it rests on that items are done, the best first, as it is shown.
const BASES: &[(&str, &str)] = &[
    ("check", "check passed"),
    ("person", "by a person"),
    ("changed", "changed"),
    ("word", "agent's word"),
    ("taken-over", "taken over"),
];

/// The account, a line each.
pub(crate) fn account_lines(account: &Account) -> Vec<String> {
    let mut lines = vec![done_line(account)];
    push_item_lines(
        &mut lines,
        "failed",
        SHOWN,
        &account.failed,
        failed_item_lines,
    );
    push_item_lines(
        &mut lines,
        "blocked",
        OTHERS_SHOWN,
        &account.blocked,
        failed_item_lines,
    );
    push_item_lines(
        &mut lines,
        "waiting",
        OTHERS_SHOWN,
        &account.waiting,
        waiting_item_lines,
    );
    for (word, items) in [("skipped", &account.skipped), ("dropped", &account.dropped)] {
        if !items.is_empty() {
            lines.push(format!("{DIM}~{DIM:#} {word} {}", items.len()));
        }
    }
    lines.extend(remaining_lines(account));
    let work = (account.work_s >= WORK_S_MIN)
        .then(|| format!("{} of work", format_duration(account.work_s)));
    let spent: Vec<String> = work
        .into_iter()
        .chain(describe_spend(&account.spend))
        .collect();
    if !spent.is_empty() {
        lines.push(format!("{DIM}{}{DIM:#}", spent.join("; ")));
    }
    lines.extend(account.place.iter().flat_map(place::work_place_lines));
    let report = account.report.iter();
    lines.extend(report.map(|path| format!("{DIM}report:{DIM:#} {path}")));
    lines
}

fn done_line(account: &Account) -> String {
    let known = BASES.iter().filter_map(|(basis, words)| {
        let count = account.done.get(*basis)?;
        let file = account.file.as_ref().filter(|_| *basis == "taken-over");
        let from = file.map_or_else(String::new, |file| format!(" from {file}"));
        Some(format!("{count} {words}{from}"))
    });
    let by: Vec<String> = known.collect();
    let by = match by.as_slice() {
        [] => String::new(),
        by => format!(" {DIM}({}){DIM:#}", by.join(", ")),
    };
    format!(
        "{} of {} {} done{by}",
        account.done_count(),
        account.total,
        account.unit.noun(account.total)
    )
}

/// What is left, in a line for each cause that several have in common: the
/// items that hold it up, each with the question about it.
fn remaining_lines(account: &Account) -> Vec<String> {
    let mut causes: Vec<(String, usize)> = Vec::new();
    for item in &account.left {
        let cause = describe_cause(item);
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, count)) => *count += 1,
            None => causes.push((cause, 1)),
        }
    }
    let unit = |count: usize| account.unit.noun(count);
    let shown = causes.iter().take(SHOWN);
    let shown =
        shown.map(|(cause, count)| truncate_line(&format!("  {count} {} {cause}", unit(*count))));
    let mut lines: Vec<String> = shown.collect();
    let more: usize = causes.iter().skip(SHOWN).map(|(_, count)| count).sum();
    if more > 0 {
        let unit = unit(more);
        lines.push(format!(
            "  {DIM}{more} more {unit} held up by others{DIM:#}"
        ));
    }
    lines
}

/// How far an item has come that nothing holds up: one whose agent was stopped has begun.
fn how_far_reached(view: &ItemView) -> &'static str {
    match view.life.attempts {
        0 => "not reached",
        _ => "begun and not finished",
    }
}

/// Why an item is left.
pub(crate) fn describe_cause(item: &AccountItem) -> String {
    let view = &item.item;
    if let Some(waits) = view
        .next
        .waits
        .as_ref()
        .filter(|_| item.held_up_by.is_empty())
    {
        return match waits.what {
            ItemWaitKind::Time | ItemWaitKind::Command => match &view.next.wait {
                Some(wait) => format!("to wait {wait}"),
                None => describe_retry_time(view),
            },
            ItemWaitKind::Breakpoint => "held at a breakpoint".to_owned(),
            ItemWaitKind::Taken => waits.why.clone().unwrap_or_default(),
            ItemWaitKind::Person | ItemWaitKind::Dependency | ItemWaitKind::Files => {
                how_far_reached(view).to_owned()
            }
        };
    }
    match (view.state, item.held_up_by.as_slice()) {
        (ItemState::Working, _) => "begun and not finished".to_owned(),
        (_, []) => how_far_reached(view).to_owned(),
        (_, by) => format!("held up by {}", list_first(by, CAUSES_SHOWN)),
    }
}

/// When an item that waits for a time is tried again.
fn describe_retry_time(item: &ItemView) -> String {
    let until = item.next.until.map(local_time_with_seconds);
    until.map_or_else(
        || "put off".to_owned(),
        |until| format!("put off until {until}"),
    )
}

/// The items of a list, as far as they fit, and how many are left out.
fn push_item_lines(
    lines: &mut Vec<String>,
    what: &str,
    shown: usize,
    items: &[AccountItem],
    show: fn(&AccountItem) -> Vec<String>,
) {
    if items.is_empty() {
        return;
    }
    lines.extend(items.iter().take(shown).flat_map(show));
    let more = items.len().saturating_sub(shown);
    if more > 0 {
        lines.push(format!("  {DIM}{more} more {what}{DIM:#}"));
    }
}

fn failed_item_lines(item: &AccountItem) -> Vec<String> {
    let mark = if item.item.state == ItemState::Blocked {
        "B"
    } else {
        "!"
    };
    let why = item
        .item
        .life
        .error
        .as_deref()
        .unwrap_or("no reason was given");
    let text = truncate_line(&format!(
        "{}{} - {}",
        Node::shown(&item.item.node),
        item_title_suffix(item),
        first_line(why)
    ));
    let mut lines = vec![format!("{RED}{mark}{RED:#} {text}")];
    let last = item.last_lines.last();
    lines.extend(last.map(|line| format!("    {DIM}|{DIM:#} {}", truncate_line(line))));
    lines
}

fn waiting_item_lines(item: &AccountItem) -> Vec<String> {
    let waits = item.item.next.waits.as_ref();
    // Its time may have come while no runner worked on the run.
    let is_put_off = waits.is_none_or(|waits| waits.what == ItemWaitKind::Time);
    let why = waits.map_or(item.item.life.error.as_deref(), |waits| {
        waits.why.as_deref()
    });
    let why = why.map_or_else(String::new, |why| format!(" - {}", first_line(why)));
    let text = truncate_line(&format!(
        "{}{}{why}",
        Node::shown(&item.item.node),
        item_title_suffix(item)
    ));
    let mut lines = vec![format!("{YELLOW}?{YELLOW:#} {text}")];
    if is_put_off {
        lines.push(format!("    {}", describe_retry_time(&item.item)));
    }
    let next = item.next.as_ref();
    lines.extend(next.map(|next| format!("    {GREEN}{next}{GREEN:#}")));
    lines
}

fn item_title_suffix(item: &AccountItem) -> String {
    title_suffix(item.item.title.as_deref())
}

/// A line that fits on a narrow screen.
fn truncate_line(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let kept: String = line.chars().take(WIDTH - 1).collect();
    format!("{kept}…")
}
