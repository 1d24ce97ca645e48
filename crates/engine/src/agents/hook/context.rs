//! What is injected into a session: what an agent that works here should know.

use piton_core::entry::{EntryRow, EntryType};
use piton_core::quote::truncate_chars;
use piton_core::{AttemptId, Need, Node, RunId, RunState};

use crate::failure::Failure;
use crate::memory::preparation::{self, BlockerScope, PrepareRequest};
use crate::session::{Session, open_runs};
use crate::verbs::record::item::resolve_recorded_item;

/// The longest answer of a hook, in characters: programs cut what is longer.
/// All of it counts, with the JSON around the text.
pub const CHARS_MAX: usize = 10_000;

/// So many tokens of what is known are told, of three bytes: they leave room
/// for the task and for JSON's escapes.
const TOKENS: usize = 2_400;
/// Longest beginning of a task that is told again, in characters.
const TASK_CHARS_MAX: usize = 1_500;
/// So many entries are told, among so many that are read.
const ENTRIES_TOLD: usize = 5;
const ENTRIES_READ: usize = 30;
/// So many runs are told of.
const RUNS_MAX: usize = 5;

/// What the agent of an attempt should know that goes on after its beginning
/// was forgotten. None when the attempt is not under way, or is no work at the item.
///
/// # Errors
///
/// When the store cannot be read.
pub fn context_of_attempt(
    session: &Session<'_>,
    attempt: AttemptId,
) -> Result<Option<String>, Failure> {
    let rows = session.load(&[Need::Attempt(attempt)])?;
    let open = rows.tables.attempt(attempt);
    let asked = open.filter(|row| row.is_open() && row.role.is_asked_to_report());
    let Some(row) = asked else {
        return Ok(None);
    };
    let (run, node) = (row.run, &row.node);
    let mut text = context_of_node(session, run, node, node.as_str(), BlockerScope::Item)?;
    text.push_str(
        "\nNo person can answer you: do not ask and wait. When you are done, call the tool `record` of \
         piton once; if you have no such tool, end your last message with one line of JSON: \
         {\"status\": \"completed\", \"summary\": \"what was done\"}; the status is completed, \
         failed, blocked or needs-human.\n",
    );
    Ok(Some(text))
}

/// What the agent of a session should know that holds the item which a person
/// named.
///
/// # Errors
///
/// When the store cannot be read, or the name may mean several items.
pub fn context_of_item(session: &Session<'_>, item: &str) -> Result<String, Failure> {
    let meant = resolve_recorded_item(session, item)?;
    let mut text = context_of_node(session, meant.run, &meant.node, item, BlockerScope::Project)?;
    text.push_str(&format!(
        "\nBefore you stop, record what came of it with `piton record {item}`; `piton record \
         --help` says how.\n"
    ));
    Ok(text)
}

/// What is known of a node, under the name that its agent uses for it.
fn context_of_node(
    session: &Session<'_>,
    run: RunId,
    node: &Node,
    called: &str,
    blockers: BlockerScope,
) -> Result<String, Failure> {
    let rule_texts = preparation::unparsed_rule_texts(session)?;
    let request = PrepareRequest {
        run,
        node,
        now: session.world.now(),
        tokens_max: TOKENS,
        blockers,
        rule_texts: &rule_texts,
        unconfirmed: preparation::unconfirmed_policy(session)?,
    };
    let mut prepared = preparation::prepare_item(&*session.store, &request)?;
    prepared.item = truncate_chars(called, 60);
    let rows = session.load(&[Need::Run(run), Need::Line(run, node.clone())])?;
    let item = rows.tables.item(run, node);
    let run_name = rows.tables.run(run).filter(|row| row.id != RunId::PROJECT);
    let of_run = run_name.map(|row| format!(" of the run `{}`", row.name));
    let mut text = format!("You work on `{called}`{}.\n", of_run.unwrap_or_default());
    if let Some(task) = item.and_then(|item| item.plan.prompt.as_deref()) {
        text.push_str(&format!(
            "\nIts task:\n\n{}\n",
            truncate_chars(task.trim(), TASK_CHARS_MAX)
        ));
    }
    text.push('\n');
    text.push_str(&prepared.render_markdown());
    Ok(text)
}

/// Where things stand, for a session that holds no item. None where nothing is
/// known.
///
/// # Errors
///
/// When the store cannot be read.
pub fn context_of_project(session: &Session<'_>) -> Result<Option<String>, Failure> {
    let runs = session.runs()?;
    let lines: Vec<String> = open_runs(&runs)
        .filter(|run| run.state != RunState::Done)
        .take(RUNS_MAX)
        .map(|run| {
            let at = run.at.as_ref().map(|at| format!(" at `{at}`"));
            let why = run
                .reason
                .as_ref()
                .map(|why| format!(": {}", truncate_chars(why, 200)));
            format!(
                "- run `{}` is {}{}{}; `piton status {}` shows more\n",
                run.name,
                run.state,
                at.unwrap_or_default(),
                why.unwrap_or_default(),
                run.name
            )
        })
        .collect();
    let prepared = preparation::prepare_project(session, TOKENS)?;
    let lately = recent_entry_lines(session)?;
    if lines.is_empty() && prepared.notes.is_empty() && lately.is_empty() {
        return Ok(None);
    }
    let mut text = String::from("Progress is kept here by piton.\n\n");
    text.extend(lines);
    text.extend(lately);
    if !prepared.notes.is_empty() {
        text.push('\n');
        text.push_str(&prepared.render_markdown());
    }
    Ok(Some(text))
}

/// The last things that were logged, the latest last. Entries that only say that a
/// session began or ended are left out.
fn recent_entry_lines(session: &Session<'_>) -> Result<Vec<String>, Failure> {
    let rows = session.load(&[Need::RecentEntries(ENTRIES_READ)])?;
    let told = |row: &&EntryRow| {
        let kind = row.entry.kind;
        !matches!(kind, EntryType::SessionStarted | EntryType::SessionEnded)
    };
    let entries = rows.tables.entries_by_time();
    let latest = entries.into_iter().rev().filter(told).take(ENTRIES_TOLD);
    let mut lines: Vec<String> = latest
        .map(|row| {
            let title = row.entry.one_line_title();
            let title = title.lines().next().unwrap_or_default().to_owned();
            let next = row.entry.text_field("next_steps");
            let next = next.map(|next| format!("; next: {}", truncate_chars(next, 200)));
            format!(
                "- {}: {}{}\n",
                row.entry.type_name(),
                truncate_chars(&title, 200),
                next.unwrap_or_default()
            )
        })
        .collect();
    lines.reverse();
    Ok(lines)
}

/// The answer that injects a text, no longer than [`CHARS_MAX`] as it is
/// printed.
#[must_use]
pub fn render_answer(text: &str) -> serde_json::Value {
    let answer = |text: &str| {
        serde_json::json!({ "hookSpecificOutput": {
            "hookEventName": "SessionStart", "additionalContext": text,
        }})
    };
    let mut chars = text.chars().count();
    loop {
        let whole = answer(&truncate_chars(text, chars));
        let over = whole.to_string().chars().count().saturating_sub(CHARS_MAX);
        if over == 0 || chars == 0 {
            return whole;
        }
        // A character may be several as JSON has it, so this may take a few rounds.
        chars = chars.saturating_sub(over.div_ceil(6).max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_never_longer_than_programs_take() {
        for text in ["a", "\n", "ä", "\u{1}", "\"\\"] {
            for times in [0, 1, 5_000, 9_900, 20_000] {
                let answer = render_answer(&text.repeat(times));
                assert!(answer.to_string().chars().count() <= CHARS_MAX);
                let said = &answer["hookSpecificOutput"]["additionalContext"];
                let said = said.as_str().expect("a text");
                let is_whole = said.chars().count() == text.chars().count() * times;
                assert!(is_whole || said.ends_with('…'));
                let fits = text.repeat(times).len() < 1_000;
                assert!(is_whole || !fits);
            }
        }
    }
}
