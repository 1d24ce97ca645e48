//! What happened: entries, sessions, attempts, what is blocked.

use piton_core::entry::{Entry, EntryRow};
use piton_core::usage::Spend;
use piton_engine::verbs::recent::{AttemptObservation, AttemptSummary, RecentActivity};
use piton_engine::verbs::{log, recent, session, status};
use piton_engine::{CommandExit, Failure, World};
use serde::Serialize;

use super::{format_count, show_notice};
use crate::args::{LogArgs, RecentArgs, SessionCommand};
use crate::output::{BOLD, CliOutput, DIM, YELLOW};
use crate::show::costs::describe_spend;
use crate::show::progress::first_line;
use crate::show::table;

pub(super) fn run_log(
    world: &World,
    args: LogArgs,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let mut entry = Entry {
        spec: args.spec,
        task_id: args.task,
        ..Entry::with_type(log::parse_entry_type(&args.kind)?)
    };
    let described = args
        .description
        .map(|text| ("description".to_owned(), text));
    let noted = args.notes.map(|text| ("notes".to_owned(), text));
    for (key, text) in described.into_iter().chain(noted).chain(args.data) {
        let value = log::parse_data_value(&key, text);
        entry.data.insert(key, value);
    }
    let row = log::log(world, entry, &mut |notice| {
        show_notice(world, &notice, output)
    })?;
    Ok(show_recorded_entry(&row, output))
}

fn show_recorded_entry(row: &EntryRow, output: &mut CliOutput) -> CommandExit {
    if output.json {
        output.print_json(row);
    } else {
        output.note(&format!("recorded {}", describe_entry(row)));
    }
    CommandExit::Done
}

pub(super) fn run_session_command(
    world: &World,
    command: SessionCommand,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let told = &mut |notice: piton_engine::Notice<'_>| show_notice(world, &notice, output);
    let joined = |words: Vec<String>| Some(words.join(" ")).filter(|text| !text.is_empty());
    // An agent that begins a session gets the state from before this session.
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
        output.print_json(&StartedSession { row: &row, before });
        return Ok(CommandExit::Done);
    }
    if let Some(before) = &before {
        output.print_data(&render_recent(world, before));
    }
    let minutes = row.entry.data.get("duration_minutes");
    let after = minutes
        .map(|minutes| format!(", after {minutes} min"))
        .unwrap_or_default();
    output.note(&format!("recorded {}{after}", describe_entry(&row)));
    Ok(CommandExit::Done)
}

/// An entry of a session, with what happened before it where it begins one.
#[derive(Serialize)]
struct StartedSession<'r> {
    #[serde(flatten)]
    row: &'r EntryRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<RecentActivity>,
}

fn describe_entry(row: &EntryRow) -> String {
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

/// So many entries or attempts are shown unless the caller asks for more.
const RECENT: usize = 20;

pub(super) fn run_recent(
    world: &World,
    args: &RecentArgs,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let last = args.count.unwrap_or(RECENT);
    if args.observations {
        let found = recent::observations(world, args.item.as_deref(), last)?;
        if output.json {
            output.print_json(&found);
            return Ok(CommandExit::Done);
        }
        output.print_data(&render_observations(&found.observations));
        if found.observations.is_empty() {
            let at = found.item.map(|item| format!(" at {item}"));
            output.note(&format!(
                "nothing was noticed in the last {}{}",
                format_count(found.attempts, "attempt"),
                at.unwrap_or_default()
            ));
        }
        return Ok(CommandExit::Done);
    }
    if let Some(item) = &args.item {
        let item = recent::history_of_item(world, item, args.count.unwrap_or(usize::MAX))?;
        if output.json {
            output.print_json(&item);
            return Ok(CommandExit::Done);
        }
        let past = item
            .attempts
            .iter()
            .map(|attempt| render_attempt(world, attempt));
        let logged = item.entries.iter().map(|row| render_entry_line(world, row));
        output.print_data(&past.chain(logged).collect::<String>());
        if item.attempts.is_empty() && item.entries.is_empty() {
            output.note(&format!("no attempt was made at `{}`", item.node));
        }
        return Ok(CommandExit::Done);
    }
    if args.blockers {
        return show_blockers(world, output);
    }
    let recent = recent::recent(world, &world.cwd, last)?;
    if output.json {
        output.print_json(&recent);
    } else {
        output.print_data(&render_recent(world, &recent));
    }
    Ok(CommandExit::Done)
}

fn render_entry_line(world: &World, row: &EntryRow) -> String {
    format!(
        "{DIM}{}{DIM:#}  {}\n",
        world.local_time(row.timestamp),
        describe_entry_with_text(row)
    )
}

fn render_recent(world: &World, recent: &RecentActivity) -> String {
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

fn render_unresolved_blockers(blockers: &[EntryRow]) -> String {
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

fn show_blockers(world: &World, output: &mut CliOutput) -> Result<CommandExit, Failure> {
    let found = recent::blockers(world)?;
    if output.json {
        output.print_json(&found);
        return Ok(CommandExit::Done);
    }
    if found.unresolved_blockers.is_empty() && found.observations.is_empty() {
        output.note("nothing is blocked");
        return Ok(CommandExit::Done);
    }
    let mut text = render_unresolved_blockers(&found.unresolved_blockers);
    if !found.observations.is_empty() {
        text.push_str("Noticed in attempts:\n");
        text.push_str(&render_observations(&found.observations));
    }
    output.print_data(&text);
    Ok(CommandExit::Done)
}

/// An attempt in a line.
fn render_attempt_line(world: &World, attempt: &AttemptSummary) -> String {
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
fn render_attempt(world: &World, attempt: &AttemptSummary) -> String {
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

fn render_observations(all: &[AttemptObservation]) -> String {
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

pub(super) fn show_failures(
    world: &World,
    run: Option<&str>,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let failures = status::failures(world, run)?;
    if output.json {
        output.print_json(&failures);
        return Ok(CommandExit::Done);
    }
    if failures.attempts == 0 && failures.items == 0 {
        output.note("no attempt failed or was blocked");
        return Ok(CommandExit::Done);
    }
    let rows = failures.signatures.iter().map(|one| {
        [
            format!("{:>4}", one.count),
            first_line(&one.example),
            format!("{DIM}{}{DIM:#}", abbreviate_items(&one.items)),
        ]
    });
    output.print_data(&table::render(rows));
    if !failures.categories.is_empty() {
        output.print_data("By category of what was noticed:\n");
    }
    let rows = failures
        .categories
        .iter()
        .map(|one| [format!("{:>4}", one.count), one.category.to_string()]);
    output.print_data(&table::render(rows));
    let untried = match failures.items {
        0 => String::new(),
        items => format!(", and {} without one", format_count(items, "item")),
    };
    output.note(&format!(
        "{DIM}in {}{untried}{DIM:#}",
        format_count(failures.attempts, "failed or blocked attempt")
    ));
    for warning in &failures.warnings {
        output.warning(warning);
    }
    Ok(CommandExit::Done)
}

/// The first of some items, and how many there are besides.
fn abbreviate_items(items: &[String]) -> String {
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
