//! What is said of a version of the file of a plan.

use std::collections::BTreeSet;

use piton_core::amount::list_first;
use piton_core::event::{DecisionEvent, ItemChange, ItemEvent, RunEvent};
use piton_core::{
    DecisionKind, DecodedRecord, Edit, Event, ItemRow, ItemState, Need, Node, RunRow, RunState,
    Tables, Verb,
};

use crate::failure::Failure;
use crate::native_files::FileNotice;
use crate::process::shell::quote_word;
use crate::session::Session;

/// That a person put another plan into the file of a run, and what to type.
pub(super) fn other_plan_notice(row: &RunRow, file: &str) -> FileNotice {
    let (name, run) = (&row.name, quote_word(&row.name));
    let begin = format!("begin that one with `piton run {}`", quote_word(file));
    FileNotice::Left(if row.state == RunState::Done {
        format!("{file} holds another plan than run `{name}`, which is finished; {begin}")
    } else {
        format!(
            "{file} holds another plan than run `{name}`, which keeps what it has and rests; {begin}, or go on without the file with `piton resume {run}`"
        )
    })
}

/// So many items are named with a field that was changed.
const NAMED_MAX: usize = 3;

/// That these edits were taken, by field; none where none was.
pub(super) fn edits_imported_notice(file: &str, taken: &[Edit]) -> Option<FileNotice> {
    import_count_notice(
        file,
        taken.len(),
        &format!(": {}", describe_edited_fields(taken)),
    )
}

/// That items were done by the checks that they had before these edits were taken, and
/// what to type to have one done again.
pub(crate) fn describe_done_by_old_checks(
    session: &Session<'_>,
    run: &RunRow,
    taken: &[Edit],
) -> Result<Option<String>, Failure> {
    let checks = taken
        .iter()
        .filter(|edit| matches!(edit, Edit::SetGate { .. }));
    let nodes: BTreeSet<&Node> = checks.filter_map(Edit::target_node).collect();
    let needs = nodes.iter().map(|node| Need::Line(run.id, (*node).clone()));
    let rows = session.load(&needs.collect::<Vec<_>>())?;
    let items = nodes
        .iter()
        .filter_map(|node| rows.tables.item(run.id, node));
    let done: Vec<&ItemRow> = items.filter(|item| item.is_done_by_old_check()).collect();
    let Some(first) = done.first() else {
        return Ok(None);
    };
    let names: Vec<String> = done.iter().map(|item| format!("`{}`", item.node)).collect();
    let (name, all) = (quote_word(&run.name), names.join(", "));
    let again = format!("{}:{}", run.name, first.node);
    let again = quote_word(&again);
    Ok(Some(format!(
        "done before that, by the old check: {all}; to have one done again, type `piton plan retry {again}` and `piton run {name}`"
    )))
}

/// What edits are about, by field.
fn describe_edited_fields(edits: &[Edit]) -> String {
    let mut fields: Vec<(&str, Vec<String>)> = Vec::new();
    for edit in edits {
        let name = edit.target_node().map(|node| format!("`{node}`"));
        match fields
            .iter_mut()
            .find(|(field, _)| *field == edit.field_name())
        {
            Some((_, names)) => names.extend(name),
            None => fields.push((edit.field_name(), name.into_iter().collect())),
        }
    }
    let fields = fields.into_iter().map(|(field, names)| match &*names {
        [] => field.to_owned(),
        names => format!("{field} of {}", list_first(names, NAMED_MAX)),
    });
    fields.collect::<Vec<_>>().join("; ")
}

/// What is asked no more about edits that may be an agent's, by questions that stood
/// `before`.
pub(super) fn settled_notices(
    file: &str,
    before: &Tables,
    events: &[DecodedRecord],
) -> Vec<FileNotice> {
    let said = events.iter().filter_map(|one| {
        let (decision, left, becomes) = if let Event::Decision(DecisionEvent::Made {
            decision,
            verb: Verb::Settled,
            ..
        }) = &one.event
        {
            (decision, &[][..], "is settled")
        } else if let Event::Decision(DecisionEvent::Revised {
            decision, edits, ..
        }) = &one.event
        {
            (decision, &**edits, "asks about the rest")
        } else {
            return None;
        };
        let row = before.decision(*decision)?;
        let is_gone = |edit: &&Edit| !left.iter().any(|left| left.is_same_kind_and_subject(edit));
        let gone: Vec<Edit> = row.edits.iter().filter(is_gone).cloned().collect();
        let is_told = row.kind == DecisionKind::AgentEdit && !gone.is_empty();
        let (number, gone) = (row.number, describe_edited_fields(&gone));
        is_told.then(|| {
            format!(
                "{file} does not say any more what may be an agent's: {gone}; d{number} {becomes}"
            )
        })
    });
    said.map(FileNotice::Told).collect()
}

/// That a file was put back to what is committed, and shows again what was done since.
pub(super) fn reverted_file_notice(file: &str, shown_again: &[Edit]) -> FileNotice {
    let fields = describe_edited_fields(shown_again);
    FileNotice::Told(format!(
        "{file} is as it is committed; it shows again what piton has since: {fields}"
    ))
}

/// That so many edits were taken that may be an agent's; none where none was.
pub(super) fn changes_imported_notice(file: &str, events: &[DecodedRecord]) -> Option<FileNotice> {
    import_count_notice(file, count_plan_changes(events), "")
}

fn import_count_notice(file: &str, count: usize, fields: &str) -> Option<FileNotice> {
    Some(FileNotice::Told(match count {
        0 => return None,
        1 => format!("took 1 edit of {file} in{fields}"),
        several => format!("took {several} edits of {file} in{fields}"),
    }))
}

/// How many events say that the plan is another one. What only the format has goes
/// with what is asked about, and with what was taken: it counts where it is alone.
fn count_plan_changes(events: &[DecodedRecord]) -> usize {
    let is_of_format = |event: &Event| {
        matches!(event, Event::Item(ItemEvent::Changed(changed)) if matches!(changed.change, ItemChange::Native(_)))
            || matches!(event, Event::Run(RunEvent::Changed(changed)) if changed.policy.is_none())
    };
    let is_change = |event: &Event| {
        matches!(
            event,
            Event::Item(ItemEvent::Planned(_) | ItemEvent::Changed(_) | ItemEvent::Placed(_))
                | Event::Run(RunEvent::Changed(_))
        )
    };
    let is_question = |event: &Event| {
        matches!(
            event,
            Event::Decision(DecisionEvent::Opened { .. } | DecisionEvent::Revised { .. })
        )
    };
    let events = || events.iter().map(|one| &one.event);
    let (of_format, others): (Vec<&Event>, Vec<&Event>) = events()
        .filter(|event| is_change(event))
        .partition(|event| is_of_format(event));
    if others.is_empty() && !events().any(is_question) {
        return of_format.len();
    }
    others.len()
}

/// What became of items that stand in the file no more. `shows_all` is whether the
/// file tells of every item of its run.
pub(super) fn removed_items_notices<'t>(
    file: &str,
    rows: impl Iterator<Item = &'t ItemRow>,
    shows_all: bool,
    is_asked: bool,
) -> Vec<FileNotice> {
    let (dropped, others): (Vec<&ItemRow>, Vec<&ItemRow>) =
        rows.partition(|row| row.state == ItemState::Dropped);
    let (finished, stay): (Vec<&ItemRow>, Vec<&ItemRow>) =
        others.into_iter().partition(|row| row.state.is_finished());
    let names = |rows: &[&ItemRow]| {
        let names: Vec<String> = rows.iter().map(|row| format!("`{}`", row.node)).collect();
        names.join(", ")
    };
    let mut said = Vec::new();
    if !dropped.is_empty() {
        said.push(format!(
            "dropped, because {file} has them no more: {}; what comes back into the file comes back",
            names(&dropped)
        ));
    }
    if !finished.is_empty() && shows_all {
        said.push(format!(
            "finished, and in {file} again, which shows every item of the run: {}",
            names(&finished)
        ));
    }
    if !stay.is_empty() && !is_asked {
        said.push(format!(
            "not in {file} any more, and still in the plan: {}; to leave one out, type `piton plan skip ITEM`",
            names(&stay)
        ));
    }
    said.into_iter().map(FileNotice::Told).collect()
}

/// The item that an event says was claimed.
pub(super) fn need_of_claimed_item(recorded: &DecodedRecord) -> Option<Need> {
    let Event::Item(ItemEvent::Claimed { run, node, .. }) = &recorded.event else {
        return None;
    };
    Some(Need::Line(*run, node.clone()))
}

/// That an attempt at another item marked an item as done, and what to do.
pub(crate) fn describe_claimed_item(item: &ItemRow, file: &str) -> String {
    let (node, check) = (&item.node, item.describe_check());
    format!("{node} was ticked in {file}, {check}; to skip it: piton plan skip {node}")
}

/// That edits may be an agent's and are not in force.
pub(super) fn doubted_edits_notices(file: &str, events: &[DecodedRecord]) -> Vec<FileNotice> {
    let counts = events.iter().filter_map(|one| {
        let Event::Decision(DecisionEvent::Opened {
            decision_kind: DecisionKind::AgentEdit,
            edits,
            ..
        }) = &one.event
        else {
            return None;
        };
        Some(edits.len())
    });
    let said = counts.map(|count| match count {
        1 => format!("an edit of {file} may be an agent's and is not in force; see `piton inbox`"),
        count => format!(
            "{count} edits of {file} may be an agent's and are not in force; see `piton inbox`"
        ),
    });
    said.map(FileNotice::Asked).collect()
}
