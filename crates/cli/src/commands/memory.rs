//! What happened: entries, sessions, attempts, what is blocked.

use piton_core::entry::{Entry, EntryRow};
use piton_core::usage::Spend;
use piton_engine::verbs::recent::{Noticed, Past, Recent};
use piton_engine::verbs::{log, recent, session, status};
use piton_engine::{Exit, Failure, World};
use serde::Serialize;

use super::{count, notify};
use crate::args::{LogArgs, RecentArgs, SessionCommand};
use crate::output::{BOLD, DIM, Output, YELLOW};
use crate::show::costs::used;
use crate::show::progress::first_line;
use crate::show::table;

pub(super) fn log_entry(
    world: &World,
    args: LogArgs,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut entry = Entry {
        spec: args.spec,
        task_id: args.task,
        ..Entry::bare(log::entry_type(&args.kind)?)
    };
    let described = args
        .description
        .map(|text| ("description".to_owned(), text));
    let noted = args.notes.map(|text| ("notes".to_owned(), text));
    for (key, text) in described.into_iter().chain(noted).chain(args.data) {
        let value = log::data_value(&key, text);
        entry.data.insert(key, value);
    }
    let row = log::log(world, entry, &mut |notice| notify(world, &notice, output))?;
    Ok(recorded(&row, output))
}

fn recorded(row: &EntryRow, output: &mut Output) -> Exit {
    if output.json {
        output.json(row);
    } else {
        output.note(&format!("recorded {}", describe(row)));
    }
    Exit::Done
}

pub(super) fn session(
    world: &World,
    command: SessionCommand,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let told = &mut |notice: piton_engine::Notice<'_>| notify(world, &notice, output);
    let joined = |words: Vec<String>| Some(words.join(" ")).filter(|text| !text.is_empty());
    // Whoever begins is told where things stand, as it was before this session.
    let before = match &command {
        SessionCommand::Start { .. } => Some(recent::recent(world, &world.cwd, RECENT)?),
        SessionCommand::End { .. } | SessionCommand::Focus { .. } => None,
    };
    let row = match command {
        SessionCommand::Start { focus, spec } => session::start(world, joined(focus), spec, told)?,
        SessionCommand::End { notes } => session::end(world, joined(notes), told)?,
        SessionCommand::Focus { text } => session::focus(world, &text.join(" "), told)?,
    };
    if output.json {
        output.json(&Begun { row: &row, before });
        return Ok(Exit::Done);
    }
    if let Some(before) = &before {
        output.data(&lately(world, before));
    }
    let minutes = row.entry.data.get("duration_minutes");
    let after = minutes
        .map(|minutes| format!(", after {minutes} min"))
        .unwrap_or_default();
    output.note(&format!("recorded {}{after}", describe(&row)));
    Ok(Exit::Done)
}

/// An entry of a session, with what happened before it where it begins one.
#[derive(Serialize)]
struct Begun<'r> {
    #[serde(flatten)]
    row: &'r EntryRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Recent>,
}

fn describe(row: &EntryRow) -> String {
    let entry = &row.entry;
    let spec = entry.spec.as_ref().map(|spec| format!(" [{spec}]"));
    let title = entry.title();
    // Without a description the type stands for it, and that is said already.
    let said = match (&entry.task_id, entry.data.contains_key("description")) {
        (_, true) => Some(title.as_str()),
        (task, false) => task.as_deref(),
    };
    let said = said.map(|said| format!(" {}", first_line(said)));
    format!(
        "{}{}{}",
        entry.type_word(),
        spec.unwrap_or_default(),
        said.unwrap_or_default()
    )
}

/// The entry, with what it says where it has no description.
fn in_words(row: &EntryRow) -> String {
    const KEYS: [&str; 5] = ["focus", "reason", "resolution", "issue", "notes"];
    let entry = &row.entry;
    let said = KEYS.iter().find_map(|key| entry.text(key));
    match said.filter(|_| !entry.data.contains_key("description")) {
        Some(said) => format!("{} {}", describe(row), first_line(said)),
        None => describe(row),
    }
}

/// So many entries or attempts are shown unless somebody asks for more.
const RECENT: usize = 20;

pub(super) fn recent(
    world: &World,
    args: &RecentArgs,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let last = args.count.unwrap_or(RECENT);
    if args.observations {
        let found = recent::observations(world, args.item.as_deref(), last)?;
        if output.json {
            output.json(&found);
            return Ok(Exit::Done);
        }
        output.data(&noticed(&found.observations));
        if found.observations.is_empty() {
            let at = found.item.map(|item| format!(" at {item}"));
            output.note(&format!(
                "nothing was noticed in the last {}{}",
                count(found.attempts, "attempt"),
                at.unwrap_or_default()
            ));
        }
        return Ok(Exit::Done);
    }
    if let Some(item) = &args.item {
        let item = recent::of_item(world, item, args.count.unwrap_or(usize::MAX))?;
        if output.json {
            output.json(&item);
            return Ok(Exit::Done);
        }
        let past = item.attempts.iter().map(|attempt| past(world, attempt));
        let logged = item.entries.iter().map(|row| entry_line(world, row));
        output.data(&past.chain(logged).collect::<String>());
        if item.attempts.is_empty() && item.entries.is_empty() {
            output.note(&format!("no attempt was made at `{}`", item.node));
        }
        return Ok(Exit::Done);
    }
    if args.blockers {
        return blockers(world, output);
    }
    let recent = recent::recent(world, &world.cwd, last)?;
    if output.json {
        output.json(&recent);
    } else {
        output.data(&lately(world, &recent));
    }
    Ok(Exit::Done)
}

fn entry_line(world: &World, row: &EntryRow) -> String {
    format!(
        "{DIM}{}{DIM:#}  {}\n",
        world.local_time(row.timestamp),
        in_words(row)
    )
}

fn lately(world: &World, recent: &Recent) -> String {
    let mut text = format!("{}\n", recent.summary);
    let entries = recent.entries.iter();
    let entries = entries.map(|row| ((false, Some(row.timestamp)), entry_line(world, row)));
    let attempts = recent.attempts.iter();
    let attempts = attempts.map(|attempt| {
        let order = (attempt.ended_at.is_none(), attempt.ended_at);
        (order, past_line(world, attempt))
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
    text.push_str(&unresolved(&recent.unresolved_blockers));
    text
}

fn unresolved(blockers: &[EntryRow]) -> String {
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
        text.push_str(&format!("{YELLOW}!{YELLOW:#} {}{times}\n", in_words(row)));
    }
    text
}

fn blockers(world: &World, output: &mut Output) -> Result<Exit, Failure> {
    let found = recent::blockers(world)?;
    if output.json {
        output.json(&found);
        return Ok(Exit::Done);
    }
    if found.unresolved_blockers.is_empty() && found.observations.is_empty() {
        output.note("nothing is blocked");
        return Ok(Exit::Done);
    }
    let mut text = unresolved(&found.unresolved_blockers);
    if !found.observations.is_empty() {
        text.push_str("Noticed in attempts:\n");
        text.push_str(&noticed(&found.observations));
    }
    output.data(&text);
    Ok(Exit::Done)
}

/// An attempt in a line.
fn past_line(world: &World, attempt: &Past) -> String {
    let name = attempt.name.as_deref().unwrap_or(&attempt.node);
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
fn past(world: &World, attempt: &Past) -> String {
    let mut text = past_line(world, attempt);
    if let Some(used) = used(&Spend::of(&attempt.usage)) {
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

fn noticed(all: &[Noticed]) -> String {
    let rows = all.iter().map(|one| {
        let observation = &one.observation;
        let done = if one.completed_since {
            " (completed since)"
        } else {
            ""
        };
        [
            first_line(one.attempt.as_deref().unwrap_or(&one.node)),
            observation.kind.to_string(),
            observation
                .category
                .map(|word| word.to_string())
                .unwrap_or_default(),
            observation
                .severity
                .map(|word| word.to_string())
                .unwrap_or_default(),
            format!("{}{done}", first_line(&observation.title)),
        ]
    });
    table::render(rows)
}

pub(super) fn failures(
    world: &World,
    run: Option<&str>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let failures = status::failures(world, run)?;
    if output.json {
        output.json(&failures);
        return Ok(Exit::Done);
    }
    if failures.attempts == 0 && failures.items == 0 {
        output.note("no attempt failed or was blocked");
        return Ok(Exit::Done);
    }
    let rows = failures.signatures.iter().map(|one| {
        [
            format!("{:>4}", one.count),
            first_line(&one.example),
            format!("{DIM}{}{DIM:#}", some_of(&one.items)),
        ]
    });
    output.data(&table::render(rows));
    if !failures.categories.is_empty() {
        output.data("By category of what was noticed:\n");
    }
    let rows = failures
        .categories
        .iter()
        .map(|one| [format!("{:>4}", one.count), one.category.to_string()]);
    output.data(&table::render(rows));
    let untried = match failures.items {
        0 => String::new(),
        items => format!(", and {} without one", count(items, "item")),
    };
    output.note(&format!(
        "{DIM}in {}{untried}{DIM:#}",
        count(failures.attempts, "failed or blocked attempt")
    ));
    for warning in &failures.warnings {
        output.warning(warning);
    }
    Ok(Exit::Done)
}

/// The first of some items, and how many there are besides.
fn some_of(items: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = items
        .iter()
        .take(SHOWN)
        .map(|item| first_line(item))
        .collect();
    match items.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{}, {more} more", shown.join(", ")),
    }
}
