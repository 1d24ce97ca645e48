//! Changes of what the plan says of an item, and of what its next prompt says.

use super::dependencies::has_to_wait;
use super::event_buffer::EventBuffer;
use crate::command::EditAuthor;
use crate::event::{ItemChange, ItemChanged, ItemEvent};
use crate::id::{Node, RunId};
use crate::item::{ItemRow, ItemState};
use crate::refusal::Refusal;

/// Why an edit does not fit, in one line.
pub(super) struct EditRejection(pub(super) String);

impl From<Refusal> for EditRejection {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.to_string())
    }
}

pub(super) fn reject_edit<T>(why: impl Into<String>) -> Result<T, EditRejection> {
    Err(EditRejection(why.into()))
}

/// Where edits come from, and what their word counts for.
pub(super) struct EditSource<'a> {
    pub(super) file: &'a str,
    pub(super) word: &'a EditAuthor,
}

pub(super) fn append_change(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    change: ItemChange,
) {
    story.append(ItemEvent::Changed(Box::new(ItemChanged {
        run,
        node: node.clone(),
        change,
    })));
}

/// Changes what the plan says of an item. What is under way on it goes on with
/// what it was started with; the change is in force from the next start.
pub(super) fn change_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    change: ItemChange,
) -> Result<(), EditRejection> {
    let row = story.require_item(run, node)?;
    let mut changed = row.clone();
    change.apply_to_item(&mut changed);
    if changed == *row {
        return Ok(());
    }
    // How an item is to be proven undoes no work: it holds should it be done again.
    // Another turn would say that it was done in another order.
    let undoes_nothing = matches!(
        change,
        ItemChange::Prompt(_)
            | ItemChange::Gate(_)
            | ItemChange::Claims(_)
            | ItemChange::Model(_)
            | ItemChange::Scope(_)
            | ItemChange::Wait(_)
            | ItemChange::Tags(_)
    );
    if row.state.is_finished() && !undoes_nothing {
        return reject_edit(format!("it is {}", row.state));
    }
    append_change(story, run, node, change);
    Ok(())
}

/// The item waits for fewer others; it is ready if it waits for none that is open.
pub(super) fn drop_dependencies(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    depends_on: &[Node],
) -> Result<(), EditRejection> {
    change_item(story, run, node, ItemChange::DependsOn(depends_on.to_vec()))?;
    let waiting: Vec<ItemRow> = story
        .tables
        .tree(run)
        .filter(|row| row.state == ItemState::Pending && row.node.is_within(node))
        .cloned()
        .collect();
    for row in waiting {
        if !has_to_wait(story, run, &row) {
            story.move_item(run, &row.node, ItemState::Ready, |_| {});
        }
    }
    Ok(())
}

/// What people said about an item until now, and what one says as it is tried
/// again; none when that is nothing. A fresh agent has not read the prompts in
/// which the earlier words stood.
pub(super) fn join_answers(item: &ItemRow, added: Option<&str>) -> Option<String> {
    let added = added.map(str::trim).filter(|words| !words.is_empty())?;
    Some(match &item.people.answer {
        Some(before) if before.split("\n\n").any(|known| known == added) => before.clone(),
        Some(before) => format!("{before}\n\n{added}"),
        None => added.to_owned(),
    })
}

/// Adds an answer to the next prompt of an item, after what is there.
pub(super) fn add_answer_to_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    question: &str,
    answer: &str,
) {
    let Some(item) = story.tables.item(run, node) else {
        return;
    };
    if item.state.is_finished() {
        return;
    }
    let answer = format!("{question}\n{answer}");
    let answer = match &item.people.answer {
        Some(before) => format!("{before}\n\n{answer}"),
        None => answer,
    };
    story.append(ItemEvent::Changed(Box::new(ItemChanged {
        run,
        node: node.clone(),
        change: ItemChange::Answer(Some(answer)),
    })));
}
