//! An edit, as the difference between what is in force and what the file says.

use super::super::event_buffer::EventBuffer;
use crate::edit::Edit;
use crate::gate::Gate;
use crate::id::{Node, RunId};
use crate::item::ItemRow;
use crate::policy::{Limits, Policy};
use crate::wait::Wait;

/// Most characters of one value in a line.
const VALUE_CHARS_MAX: usize = 160;

/// What is in force and what the file says, in one line.
pub(super) fn describe_difference(story: &EventBuffer<'_>, run: RunId, edit: &Edit) -> String {
    let row = edit
        .target_node()
        .and_then(|node| story.tables.item(run, node));
    match (edit, row) {
        (Edit::SetPolicy(policy), _) => match story.tables.run(run) {
            Some(row) => describe_policy_difference(&row.plan.policy, policy),
            None => edit.to_string(),
        },
        (Edit::SetRunState { to }, _) => match story.tables.run(run) {
            Some(row) => format!("the run: {} → {to}", row.state),
            None => edit.to_string(),
        },
        (edit, Some(row)) => describe_item_difference(edit, row),
        (edit, None) => edit.to_string(),
    }
}

fn describe_item_difference(edit: &Edit, row: &ItemRow) -> String {
    let node = &row.node;
    match edit {
        Edit::SetState { to, .. } => format!("`{node}`: {} → {to}", row.state),
        Edit::SetRetries { retries, .. } => {
            format!("`{node}`: retries {} → {retries}", row.tries.retries)
        }
        Edit::SetGate { gate, .. } => {
            format!(
                "`{node}`: check {}",
                describe_gate_difference(row.plan.gate.as_ref(), gate.as_ref())
            )
        }
        Edit::SetBreakpoint { .. } => format!("`{node}`: break → no break"),
        Edit::SetDependsOn { depends_on, .. } => format!(
            "`{node}`: waits for {} → {}",
            list_nodes(&row.plan.depends_on),
            list_nodes(depends_on)
        ),
        Edit::SetPrompt { prompt, .. } => {
            let (was, now) = (row.plan.prompt.as_deref(), prompt.as_deref());
            let all = |lines: Vec<&str>| quote_value(&lines.join("; "));
            match (find_lost_lines(was, now), find_lost_lines(now, was)) {
                (gone, _) if gone.is_empty() => format!("`{node}`: another prompt"),
                (gone, new) if new.is_empty() => format!("`{node}`: without {}", all(gone)),
                (gone, new) => format!("`{node}`: {} → {}", all(gone), all(new)),
            }
        }
        Edit::SetClaims { .. } => format!("`{node}`: other rules for what proof is worth"),
        Edit::SetPresent { .. } => format!("`{node}` → not in the file any more"),
        Edit::SetWait { wait, .. } => format!(
            "`{node}`: waits {} → {}",
            describe_wait(row.plan.wait.as_deref()),
            describe_wait(wait.as_ref())
        ),
        Edit::SetModel { .. }
        | Edit::SetScope { .. }
        | Edit::SetRepository { .. }
        | Edit::SetTags { .. }
        | Edit::Take { .. }
        | Edit::SetSummary { .. }
        | Edit::Insert { .. }
        | Edit::Order { .. }
        | Edit::SetNative { .. }
        | Edit::SetPolicy(_)
        | Edit::AddRequest(_)
        | Edit::AnswerRequest { .. }
        | Edit::SetRunState { .. } => edit.to_string(),
    }
}

/// A text on one line, cut where it is long.
fn quote_value(text: &str) -> String {
    let line = text.lines().collect::<Vec<_>>().join("; ");
    if line.chars().count() <= VALUE_CHARS_MAX {
        return format!("`{line}`");
    }
    let cut: String = line.chars().take(VALUE_CHARS_MAX).collect();
    format!("`{cut}…`")
}

fn describe_gate_difference(was: Option<&Gate>, now: Option<&Gate>) -> String {
    let script = |gate: &Gate| quote_value(&gate.script);
    match (was, now) {
        (Some(was), Some(now)) if was.script == now.script => {
            let limits = |gate: &Gate| format!("{} × {} s", gate.runs_max, gate.timeout_s);
            let told = |gate: &Gate| quote_value(&gate.on_fail_prompt);
            let differences = [
                ("runs at most ", limits(was), limits(now)),
                ("where it fails, the agent is told ", told(was), told(now)),
            ];
            let differs = |(_, was, now): &&(&str, String, String)| was != now;
            let said = differences.iter().filter(differs);
            let said = said.map(|(what, was, now)| format!("{what}{was} → {now}"));
            format!("{}: {}", script(was), said.collect::<Vec<_>>().join("; "))
        }
        (was, now) => {
            let shown = |gate: Option<&Gate>| gate.map_or_else(|| "none".to_owned(), script);
            format!("{} → {}", shown(was), shown(now))
        }
    }
}

fn describe_wait(wait: Option<&Wait>) -> String {
    wait.map_or_else(|| "for nothing".to_owned(), Wait::to_string)
}

fn list_nodes(nodes: &[Node]) -> String {
    if nodes.is_empty() {
        return "nothing".to_owned();
    }
    let names: Vec<String> = nodes.iter().map(|node| format!("`{node}`")).collect();
    names.join(", ")
}

fn describe_policy_difference(was: &Policy, now: &Policy) -> String {
    let limits = |policy: &Policy| {
        let Limits {
            iterations_max,
            tasks_max,
            time_box_s,
            budget_usd,
            budget_tokens,
            project_usd,
            project_tokens,
            stop_on_failure: _,
        } = &policy.limits;
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        [
            ("max-iterations", iterations_max.map(|max| max.to_string())),
            ("max-tasks", tasks_max.map(|max| max.to_string())),
            ("time-box", number(*time_box_s)),
            ("budget-usd", budget_usd.map(|usd| usd.to_string())),
            ("budget-tokens", number(*budget_tokens)),
            ("project-usd", project_usd.map(|usd| usd.to_string())),
            ("project-tokens", number(*project_tokens)),
            ("retries", Some(policy.retry.retries_max.to_string())),
            ("auto-commit", Some(policy.auto_commit.to_string())),
            (
                "approves-steps",
                Some(policy.is_auto_approving().to_string()),
            ),
            ("hooks", Some(policy.iteration_hooks.len().to_string())),
        ]
    };
    let pairs = limits(was).into_iter().zip(limits(now));
    let none = || "none".to_owned();
    let changed: Vec<String> = pairs
        .filter(|((_, was), (_, now))| was != now)
        .map(|((name, was), (_, now))| {
            let (was, now) = (was.unwrap_or_else(none), now.unwrap_or_else(none));
            format!("{name} {was} → {now}")
        })
        .collect();
    if changed.is_empty() {
        return "other rules for retries".to_owned();
    }
    changed.join(", ")
}

/// The lines of a prompt that another one does not have.
fn find_lost_lines<'t>(was: Option<&'t str>, now: Option<&str>) -> Vec<&'t str> {
    let lines = |text: Option<&'t str>| text.into_iter().flat_map(str::lines).map(str::trim);
    let now: Vec<&str> = now
        .into_iter()
        .flat_map(str::lines)
        .map(str::trim)
        .collect();
    lines(was)
        .filter(|line| !line.is_empty() && !now.contains(line))
        .collect()
}

/// Whether a line of a prompt is gone: a criterion may have stood there.
pub(super) fn has_lost_lines(was: Option<&str>, now: Option<&str>) -> bool {
    !find_lost_lines(was, now).is_empty()
}
