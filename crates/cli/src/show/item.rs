//! An item in one line, and what its check printed.

use std::fmt::{self, Write as _};

use jiff::Timestamp;
use piton_engine::model::ItemState;
use piton_engine::verbs::item_view::{CheckView, ItemView, ItemWait, ItemWaitKind, ItemWorker};

use super::progress::{describe_denied_calls, describe_recovery, first_line, format_time_between};
use crate::output::{CYAN, DIM, GREEN, OutputStyle, PLAIN, RED, YELLOW};

/// An item in one line, without the blanks before it: where it stands, its id and
/// title, how long it took, what shows that it is done, what went wrong.
pub(crate) fn render_item_line(item: &ItemView, now: Timestamp) -> String {
    let mut line = String::with_capacity(LINE_BYTES);
    write_item_line(&mut line, item, now).expect("a string takes everything");
    line
}

/// Most lines fit, so that the text of one does not move while it is written.
const LINE_BYTES: usize = 160;

fn write_item_line(line: &mut String, item: &ItemView, now: Timestamp) -> fmt::Result {
    let (word, style) = state_word(item);
    line.push_str(&render_state(word, style));
    line.push_str(&first_line(&item.id));
    if let Some(title) = &item.title {
        line.push_str(": ");
        line.push_str(&first_line(title));
    }
    // A phase that only began has no time worth a word.
    let is_over = item.life.started_at.is_some() && item.life.completed_at.is_some();
    if is_over || item.life.work_s > 0 {
        let time = piton_engine::model::amount::format_duration(item.life.work_s);
        write!(line, " {DIM}{time}{DIM:#}")?;
    }
    if let Some(proof) = &item.evidence {
        write!(line, " {DIM}({}){DIM:#}", proof.summary)?;
    }
    if item.current {
        write!(line, " {CYAN}<{CYAN:#}")?;
    }
    let notes = item_notes(item, now);
    if !notes.is_empty() {
        write!(line, " {DIM}- {}{DIM:#}", notes.join("; "))?;
    }
    Ok(())
}

/// The word for where an item stands. One that is ready and that a person works on by
/// hand is `taken`.
fn state_word(item: &ItemView) -> (&'static str, OutputStyle) {
    let style = match item.state {
        ItemState::Done => GREEN,
        ItemState::Working => CYAN,
        ItemState::Failed | ItemState::Blocked => RED,
        ItemState::Skipped | ItemState::Dropped => DIM,
        ItemState::Waiting => YELLOW,
        ItemState::Pending | ItemState::Ready => PLAIN,
    };
    match (&item.state, &item.next.waits) {
        (ItemState::Ready, Some(wait)) if wait.what == ItemWaitKind::Taken => ("taken", YELLOW),
        (state, _) => (state.as_str(), style),
    }
}

/// A word at the beginning of a line, so that what follows stands in one column.
pub(crate) fn render_state(word: &str, style: OutputStyle) -> String {
    format!(
        "{style}{word}{style:#}{:1$}",
        "",
        STATE_COLUMNS.saturating_sub(word.len()) + 1
    )
}

/// The longest words for where an item stands.
const STATE_COLUMNS: usize = "skipped".len();

/// A title as it stands behind an id.
pub(crate) fn title_suffix(title: Option<&str>) -> String {
    title.map_or_else(String::new, |title| format!(": {}", first_line(title)))
}

/// Who works on an item: `claude (opus) in lane 2 for 3m`.
pub(crate) fn describe_worker(at_work: &ItemWorker, now: Timestamp) -> String {
    let mut words = first_line(&at_work.agent);
    if let Some(model) = &at_work.model {
        words.push_str(&format!(" ({model})"));
    }
    if let Some(lane) = at_work.lane {
        words.push_str(&format!(" in lane {lane}"));
    }
    words.push_str(&format!(" for {}", format_time_between(at_work.since, now)));
    words
}

/// How the reviews of an item by agents go; none where there is nothing to tell.
pub(crate) fn describe_reviews(item: &ItemView) -> Option<String> {
    let review = item.review.as_ref()?;
    let round = review.rounds + 1;
    match review.rounds {
        _ if review.under_way => Some(format!("under review, round {round}")),
        _ if item.state == ItemState::Done => None,
        0 => None,
        1 => Some("its reviewer wanted changes once".to_owned()),
        more => Some(format!("its reviewer wanted changes {more} times")),
    }
}

fn item_notes(item: &ItemView, now: Timestamp) -> Vec<String> {
    let mut notes = Vec::new();
    match item.life.retries {
        0 => {}
        1 => notes.push("tried again once".to_owned()),
        more => notes.push(format!("tried again {more} times")),
    }
    let waits = item.next.waits.as_ref().map(|waits| waits.what);
    if !item.next.tags.labels.is_empty() {
        notes.push(first_line(&item.next.tags.labels.join(", ")));
    }
    let priority = item.next.tags.priority;
    notes.extend(priority.map(|priority| format!("priority {priority}")));
    if let Some(ItemWait {
        what: ItemWaitKind::Taken,
        why: Some(why),
    }) = &item.next.waits
    {
        notes.push(first_line(why));
    } else if let Some(wait) = &item.next.wait
        && matches!(waits, Some(ItemWaitKind::Time | ItemWaitKind::Command))
    {
        notes.push(format!("waits {wait}"));
    } else if let Some(until) = item.next.until.filter(|until| *until > now) {
        notes.push(format!("waits {}", format_time_between(now, until)));
    }
    if let Some(ItemWait {
        what: ItemWaitKind::Files,
        why: Some(why),
    }) = &item.next.waits
    {
        notes.push(format!("waits for {}", first_line(why)));
    }
    notes.extend(
        item.done_on
            .as_ref()
            .map(|branch| format!("done on {branch}")),
    );
    notes.extend(describe_denied_calls(item.denied));
    if item.next.being_checked {
        notes.push("being checked".to_owned());
    }
    notes.extend(describe_reviews(item));
    notes.extend(
        item.next
            .at_work
            .as_ref()
            .map(|at_work| describe_worker(at_work, now)),
    );
    notes.extend(item.recovery.as_ref().map(describe_recovery));
    if item.state == ItemState::Skipped {
        notes.extend(item.life.summary.as_deref().map(first_line));
    }
    if let Some(error) = &item.life.error {
        notes.push(first_line(error));
    }
    notes
}

/// A check that failed: its command, how it ended, and what it printed, each
/// line behind `indent`.
pub(crate) fn render_failed_check(check: &CheckView, indent: &str) -> String {
    let mut text = format!(
        "{indent}{DIM}check{DIM:#} `{}` {}\n",
        first_line(&check.command),
        check.describe_result()
    );
    for line in check.output.shown_lines() {
        text.push_str(&format!("{indent}  {DIM}|{DIM:#} {line}\n"));
    }
    text
}
