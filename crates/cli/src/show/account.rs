//! The account with which an invocation ends: one screen.

use piton_core::amount::spoken;
use piton_engine::account::{Account, AccountItem};
use piton_engine::item_view::WaitsFor;

use super::costs::used;
use super::item::behind;
use super::progress::first_line;
use crate::output::{DIM, GREEN, RED, YELLOW};

/// So many items of a list are shown: what failed, what waits, and the others.
const SHOWN: usize = 6;
const OTHERS_SHOWN: usize = 4;
/// A line is cut here.
const WIDTH: usize = 78;
/// Shorter work is no news.
const WORK_S_MIN: u64 = 60;

/// The levels of evidence, best first, as they are shown.
const LEVELS: &[(&str, &str)] = &[
    ("check", "check passed"),
    ("person", "by a person"),
    ("changed", "changed"),
    ("word", "agent's word"),
];

/// The account, a line each.
pub(crate) fn lines(account: &Account) -> Vec<String> {
    let mut lines = vec![done(account)];
    let unit = |count: usize| account.unit.word(count);
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
    if !account.skipped.is_empty() {
        lines.push(format!("{DIM}~{DIM:#} skipped {}", account.skipped.len()));
    }
    if !account.left.is_empty() {
        let count = account.left.len();
        let first = account
            .left
            .first()
            .and_then(|item| item.item.waits.as_ref());
        let first = first.filter(|waits| waits.what == WaitsFor::Dependency);
        let why = first.and_then(|waits| waits.why.as_deref());
        let why = why.map_or_else(String::new, |why| format!(", waiting for {why}"));
        lines.push(cut(&format!("  {count} {} not finished{why}", unit(count))));
    }
    let work =
        (account.work_s >= WORK_S_MIN).then(|| format!("{} of work", spoken(account.work_s)));
    let spent: Vec<String> = work.into_iter().chain(used(&account.spend)).collect();
    if !spent.is_empty() {
        lines.push(format!("{DIM}{}{DIM:#}", spent.join("; ")));
    }
    lines
}

fn done(account: &Account) -> String {
    let known = LEVELS.iter().filter_map(|(level, words)| {
        let count = account.done.get(*level)?;
        Some(format!("{count} {words}"))
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
    let mark = if item.item.state == piton_core::ItemState::Blocked {
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
    let why = item
        .item
        .waits
        .as_ref()
        .and_then(|waits| waits.why.as_deref());
    let why = why.map_or_else(String::new, |why| format!(" - {}", first_line(why)));
    let text = cut(&format!("{}{}{why}", item.item.node, title(item)));
    let mut lines = vec![format!("{YELLOW}?{YELLOW:#} {text}")];
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
