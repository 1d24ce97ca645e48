//! An item that is unknown, and the items whose names are near to what was typed.

use piton_core::{Need, Node, RunId, RunRow};

use super::item::{ResolvedItem, load_item, plan_at_root, resolve_recorded_item};
use crate::failure::Failure;
use crate::process::shell::quote_word;
use crate::session::{Session, open_runs};
use crate::verbs::items::unbegun_plan_hint;

/// So many near names are offered.
const NEAR_MAX: usize = 3;

/// The item that `text` names, if a run or a record knows it.
///
/// # Errors
///
/// When none does, or the store cannot be read.
pub(crate) fn resolve_known_item(
    session: &Session<'_>,
    text: &str,
) -> Result<ResolvedItem, Failure> {
    let meant = resolve_recorded_item(session, text);
    if let Ok(known) = &meant
        && (!known.is_new || is_logged(session, &known.item)?)
    {
        return meant;
    }
    match find_by_own_id(session, text)? {
        Some((run, node)) => load_item(session, run, node),
        None => {
            meant?;
            Err(unknown_item_failure(session, text)?)
        }
    }
}

/// The item below others that has this id of its own, as it is shown below them; none
/// where none has. It is looked for in the runs that are not over, or in the one that
/// `RUN:` names.
///
/// # Errors
///
/// When more than one has it, or the store cannot be read.
pub(crate) fn find_by_own_id(
    session: &Session<'_>,
    text: &str,
) -> Result<Option<(RunId, Node)>, Failure> {
    let runs = session.runs()?;
    let named = text.split_once(':').and_then(|(run, id)| {
        let run = session.resolve_run_among(&runs, run).ok()?;
        Some((vec![run], id))
    });
    let (among, id) = named.unwrap_or_else(|| (open_runs(&runs).collect(), text));
    let mut found = Vec::new();
    for run in among {
        let rows = session.load(&[Need::Tree(run.id)])?;
        let items = rows.tables.tree(run.id).filter(|item| item.plan.id == id);
        found.extend(items.map(|item| (run, item.node.clone())));
    }
    match &*found {
        [] => Ok(None),
        [(run, node)] => Ok(Some((run.id, node.clone()))),
        several => {
            let names = several
                .iter()
                .map(|(run, node)| format!("{}:{node}", run.name));
            let names: Vec<String> = names.map(|name| quote_word(&name).into_owned()).collect();
            let what = format!("more than one item has the id `{id}`");
            Err(Failure::new("usage", what).with_hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// The run and node of an item of a plan that `[RUN:]NODE` names.
///
/// # Errors
///
/// When there is none, or more than one run has such a node.
pub(crate) fn resolve_planned_item(
    session: &Session<'_>,
    text: &str,
) -> Result<(RunId, Node), Failure> {
    if let Some(found) = session.find_item(&session.runs()?, text)? {
        return Ok(found);
    }
    match find_by_own_id(session, text)? {
        Some(found) => Ok(found),
        None => Err(unknown_item_failure(session, text)?),
    }
}

/// Whether a log entry is about a task of this name.
fn is_logged(session: &Session<'_>, task: &str) -> Result<bool, Failure> {
    let rows = session.load(&[Need::RecentEntries(usize::MAX)])?;
    let mut entries = rows.tables.entries();
    Ok(entries.any(|row| row.entry.task_id.as_deref() == Some(task)))
}

/// That an item is unknown, with the names that are near to it.
///
/// # Errors
///
/// When the store cannot be read.
pub(crate) fn unknown_item_failure(session: &Session<'_>, text: &str) -> Result<Failure, Failure> {
    let runs = session.runs()?;
    let open: Vec<&RunRow> = open_runs(&runs).collect();
    let among = if open.is_empty() {
        runs.iter().collect()
    } else {
        open
    };
    let mut near: Vec<(usize, String)> = Vec::new();
    for run in &among {
        let rows = session.load(&[Need::Tree(run.id)])?;
        let names = rows.tables.tree(run.id).map(|item| item.node.to_string());
        near.extend(names.filter_map(|name| Some((name_distance(text, &name)?, name))));
    }
    near.sort();
    near.dedup();
    let failure = near_names_failure(text, &near, &among);
    let hint = match &*among {
        [] => unbegun_plan_hint(session.world),
        _ => None,
    };
    Ok(match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    })
}

/// Refuses an item that would be new where the project has a plan: no run could work
/// on it, and its name is mostly mistyped. `project:NAME` says that it is
/// meant.
///
/// # Errors
///
/// When it is such an item, or the store cannot be read.
pub(super) fn refuse_new_item(
    session: &Session<'_>,
    meant: &ResolvedItem,
    text: &str,
) -> Result<(), Failure> {
    if !meant.is_new || !meant.is_beside_plans || is_logged(session, &meant.item)? {
        return Ok(());
    }
    let has_runs = !session.runs()?.is_empty();
    let near = match plan_at_root(session).filter(|_| !has_runs) {
        Some(plan) => format!(
            "begin the plan that is here with `piton run {}`",
            quote_word(&plan)
        ),
        None => unknown_item_failure(session, text)?
            .hint
            .unwrap_or_default(),
    };
    Err(Failure::new(
        "item.not_planned",
        format!("no plan here has an item `{text}`; nothing was recorded"),
    )
    .with_hint(format!(
        "{near}; for work of no plan type `piton record {}`",
        quote_word(&format!("project:{text}"))
    )))
}

fn near_names_failure(text: &str, near: &[(usize, String)], among: &[&RunRow]) -> Failure {
    let see = match among {
        [] => "see what is recorded with `piton recent`".to_owned(),
        [run] => format!(
            "see the nodes with `piton status {}`",
            quote_word(&run.name)
        ),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|run| format!("`piton status {}`", quote_word(&run.name)))
                .collect();
            format!("see the nodes with {}", names.join(" or "))
        }
    };
    let names: Vec<String> = near
        .iter()
        .take(NEAR_MAX)
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    let hint = if names.is_empty() {
        see
    } else {
        format!("near to it: {}; {see}", names.join(", "))
    };
    Failure::new("item.unknown", format!("there is no item `{text}`")).with_hint(hint)
}

/// How far a name is from what was typed; none where it is something else. The
/// last part of a path may stand for the whole.
fn name_distance(typed: &str, name: &str) -> Option<usize> {
    let typed = typed.rsplit_once(':').map_or(typed, |(_, node)| node);
    let typed = typed.to_lowercase();
    let name = name.to_lowercase();
    let last = name.rsplit('/').next().unwrap_or(&name);
    let edits = edit_distance(&typed, &name).min(edit_distance(&typed, last));
    let longest = (typed.chars().count() + 1) / 3;
    let is_part = typed.chars().count() >= 3 && name.contains(&typed);
    (edits <= longest)
        .then_some(edits)
        .or(is_part.then_some(longest + 1))
}

/// How many letters are to be added, left out or replaced to make one of the other.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, same) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *same);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_near_when_a_letter_or_a_folder_is_missing() {
        for (typed, name, is_near) in [
            ("biuld", "build", true),
            ("parser", "build/parser", true),
            ("auth:build/parsr", "build/parser", true),
            ("BUILD", "build", true),
            ("pars", "build/parser/test", true),
            ("NOPE", "build", false),
            ("x", "build", false),
        ] {
            assert_eq!(
                name_distance(typed, name).is_some(),
                is_near,
                "{typed}, {name}"
            );
        }
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }
}
