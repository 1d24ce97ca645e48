//! The account with which an invocation ends: one screen.

use piton_core::ItemState;
use piton_core::amount::spoken;
use piton_engine::account::{Account, AccountItem};
use piton_engine::item_view::{ItemView, WaitsFor};
use piton_engine::world::local_time_s;

use super::costs::used;
use super::item::behind;
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
pub(crate) fn lines(account: &Account) -> Vec<String> {
    let mut lines = vec![done(account)];
    list(&mut lines, ("failed", SHOWN), &account.failed, failed);
    list(
        &mut lines,
        ("blocked", OTHERS_SHOWN),
        &account.blocked,
        failed,
    );
    list(
        &mut lines,
        ("waiting", OTHERS_SHOWN),
        &account.waiting,
        waiting,
    );
    for (word, items) in [("skipped", &account.skipped), ("dropped", &account.dropped)] {
        if !items.is_empty() {
            lines.push(format!("{DIM}~{DIM:#} {word} {}", items.len()));
        }
    }
    lines.extend(left(account));
    let work =
        (account.work_s >= WORK_S_MIN).then(|| format!("{} of work", spoken(account.work_s)));
    let spent: Vec<String> = work.into_iter().chain(used(&account.spend)).collect();
    if !spent.is_empty() {
        lines.push(format!("{DIM}{}{DIM:#}", spent.join("; ")));
    }
    lines.extend(account.place.iter().flat_map(place::lines));
    lines
}

fn done(account: &Account) -> String {
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
        account.unit.word(account.total)
    )
}

/// What is left, in a line for each cause that several have in common: the
/// items that hold it up, each with the question about it.
fn left(account: &Account) -> Vec<String> {
    let mut causes: Vec<(String, usize)> = Vec::new();
    for item in &account.left {
        let cause = cause(item);
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, count)) => *count += 1,
            None => causes.push((cause, 1)),
        }
    }
    let unit = |count: usize| account.unit.word(count);
    let shown = causes.iter().take(SHOWN);
    let shown = shown.map(|(cause, count)| cut(&format!("  {count} {} {cause}", unit(*count))));
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

/// Why an item is left.
fn cause(item: &AccountItem) -> String {
    let view = &item.item;
    if let Some(waits) = view.waits.as_ref().filter(|_| item.held_up_by.is_empty()) {
        return match waits.what {
            WaitsFor::Time | WaitsFor::Command => match &view.wait {
                Some(wait) => format!("to wait {wait}"),
                None => put_off(view),
            },
            WaitsFor::Breakpoint => "held at a breakpoint".to_owned(),
            WaitsFor::Person | WaitsFor::Dependency | WaitsFor::Files => "not reached".to_owned(),
        };
    }
    match (view.state, item.held_up_by.as_slice()) {
        (ItemState::Working, _) => "begun and not finished".to_owned(),
        (_, []) => "not reached".to_owned(),
        (_, by) => format!("held up by {}", some_of(by)),
    }
}

/// The first of the items that hold one up, and how many there are besides.
fn some_of(by: &[String]) -> String {
    let shown = by.iter().take(CAUSES_SHOWN).map(String::as_str);
    let shown: Vec<&str> = shown.collect();
    match by.len().saturating_sub(CAUSES_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// When an item that waits for a time is tried again.
fn put_off(item: &ItemView) -> String {
    let until = item.until.map(local_time_s);
    until.map_or_else(
        || "put off".to_owned(),
        |until| format!("put off until {until}"),
    )
}

/// The items of a list, as far as they fit, and how many are left out.
fn list(
    lines: &mut Vec<String>,
    (what, shown): (&str, usize),
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

fn failed(item: &AccountItem) -> Vec<String> {
    let mark = if item.item.state == ItemState::Blocked {
        "B"
    } else {
        "!"
    };
    let why = item.item.error.as_deref().unwrap_or("no reason was given");
    let text = cut(&format!(
        "{}{} - {}",
        item.item.node,
        title(item),
        first_line(why)
    ));
    let mut lines = vec![format!("{RED}{mark}{RED:#} {text}")];
    let last = item.last_lines.last();
    lines.extend(last.map(|line| format!("    {DIM}|{DIM:#} {}", cut(line))));
    lines
}

fn waiting(item: &AccountItem) -> Vec<String> {
    let waits = item.item.waits.as_ref();
    // Its time may have come while nobody worked on the run.
    let is_put_off = waits.is_none_or(|waits| waits.what == WaitsFor::Time);
    let why = waits.map_or(item.item.error.as_deref(), |waits| waits.why.as_deref());
    let why = why.map_or_else(String::new, |why| format!(" - {}", first_line(why)));
    let text = cut(&format!("{}{}{why}", item.item.node, title(item)));
    let mut lines = vec![format!("{YELLOW}?{YELLOW:#} {text}")];
    if is_put_off {
        lines.push(format!("    {}", put_off(&item.item)));
    }
    let next = item.next.as_ref();
    lines.extend(next.map(|next| format!("    {GREEN}{next}{GREEN:#}")));
    lines
}

fn title(item: &AccountItem) -> String {
    behind(item.item.title.as_deref())
}

/// A line that fits on a narrow screen.
fn cut(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let kept: String = line.chars().take(WIDTH - 1).collect();
    format!("{kept}…")
}
