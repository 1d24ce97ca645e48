//! Entries of sessions, and what happened lately.

use piton_engine::World;
use piton_engine::model::Node;
use piton_engine::model::entry::EntryRow;
use piton_engine::model::usage::Spend;
use piton_engine::verbs::recent::{AttemptSummary, RecentActivity};

use super::costs::describe_spend;
use super::progress::first_line;
use crate::output::{BOLD, DIM, YELLOW};

/// An entry in a few words: its type, its spec, and its title.
pub(crate) fn describe_entry(row: &EntryRow) -> String {
    let entry = &row.entry;
    let spec = entry.spec.as_ref().map(|spec| format!(" [{spec}]"));
    let title = entry.one_line_title();
    // Without a description the type stands for it, and that is said already.
    let said = match (&entry.task_id, entry.data.contains_key("description")) {
        (_, true) => Some(title.as_str()),
        (task, false) => task.as_deref(),
    };
    let said = said.map(|said| format!(" {}", first_line(said)));
    format!(
        "{}{}{}",
        entry.type_name(),
        spec.unwrap_or_default(),
        said.unwrap_or_default()
    )
}

/// The entry, with what it says where it has no description.
fn describe_entry_with_text(row: &EntryRow) -> String {
    const KEYS: [&str; 5] = ["focus", "reason", "resolution", "issue", "notes"];
    let entry = &row.entry;
    let said = KEYS.iter().find_map(|key| entry.text_field(key));
    match said.filter(|_| !entry.data.contains_key("description")) {
        Some(said) => format!("{} {}", describe_entry(row), first_line(said)),
        None => describe_entry(row),
    }
}

/// An entry in a line.
pub(crate) fn render_entry_line(world: &World, row: &EntryRow) -> String {
    format!(
        "{DIM}{}{DIM:#}  {}\n",
        world.local_time(row.timestamp),
        describe_entry_with_text(row)
    )
}

/// What happened lately, the last task, the unresolved blockers.
pub(crate) fn render_recent(world: &World, recent: &RecentActivity) -> String {
    let mut text = format!("{}\n", recent.summary);
    let entries = recent.entries.iter();
    let entries = entries.map(|row| ((false, Some(row.timestamp)), render_entry_line(world, row)));
    let attempts = recent.attempts.iter();
    let attempts = attempts.map(|attempt| {
        let order = (attempt.ended_at.is_none(), attempt.ended_at);
        (order, render_attempt_line(world, attempt))
    });
    let mut lines: Vec<_> = entries.chain(attempts).collect();
    lines.sort_by_key(|(order, _)| *order);
    text.extend(lines.into_iter().map(|(_, line)| line));
    if let Some(task) = &recent.last_task {
        let spec = recent
            .last_spec
            .as_ref()
            .map(|spec| format!(" of {spec}"))
            .unwrap_or_default();
        text.push_str(&format!("Last task: {task}{spec}\n"));
    }
    text.push_str(&render_unresolved_blockers(&recent.unresolved_blockers));
    text
}

/// The tasks that are blocked, a line each.
pub(crate) fn render_unresolved_blockers(blockers: &[EntryRow]) -> String {
    if blockers.is_empty() {
        return String::new();
    }
    let mut text = "Unresolved blockers:\n".to_owned();
    // A task that was blocked again and again is one line, with the last of its
    // reasons.
    let task = |row: &EntryRow| (row.entry.spec.clone(), row.entry.task_id.clone());
    let mut tasks: Vec<(&EntryRow, usize)> = Vec::new();
    for row in blockers {
        let named = row.entry.task_id.is_some();
        let known = tasks
            .iter_mut()
            .find(|(known, _)| named && task(known) == task(row));
        match known {
            Some((last, times)) => {
                *last = row;
                *times += 1;
            }
            None => tasks.push((row, 1)),
        }
    }
    for (row, times) in tasks {
        let times = match times {
            1 => String::new(),
            times => format!(" {DIM}({times} times){DIM:#}"),
        };
        text.push_str(&format!(
            "{YELLOW}!{YELLOW:#} {}{times}\n",
            describe_entry_with_text(row)
        ));
    }
    text
}

/// An attempt in a line.
fn render_attempt_line(world: &World, attempt: &AttemptSummary) -> String {
    let node = Node::shown(&attempt.node);
    let name = attempt.name.as_deref().unwrap_or(&node);
    // What an agent says of its work is no reason why that failed.
    let said = attempt.error.as_deref().or(attempt.summary.as_deref());
    let said = said.map(|said| format!(": {}", first_line(said)));
    let when = world.local_time(attempt.ended_at.unwrap_or(attempt.started_at));
    format!(
        "{DIM}{when}{DIM:#}  {BOLD}{}{BOLD:#} {}{}\n",
        first_line(name),
        attempt.outcome,
        said.unwrap_or_default()
    )
}

/// An attempt, and what was noticed in it.
pub(crate) fn render_attempt(world: &World, attempt: &AttemptSummary) -> String {
    let mut text = render_attempt_line(world, attempt);
    if let Some(used) = describe_spend(&Spend::from_usage(&attempt.usage)) {
        text.push_str(&format!("    used {used}\n"));
    }
    for one in &attempt.observations {
        let about = one
            .category
            .map(|category| format!(" ({category})"))
            .unwrap_or_default();
        text.push_str(&format!(
            "    {}{about}: {}\n",
            one.kind,
            first_line(&one.title)
        ));
    }
    text
}
