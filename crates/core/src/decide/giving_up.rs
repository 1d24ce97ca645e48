//! How an item ends badly, for good, and what a person is asked then.

use super::event_buffer::EventBuffer;
use crate::decision::DecisionKind;
use crate::id::{Node, RunId};
use crate::item::{ItemRef, ItemState};

/// `node` ended badly, for good: it shows on every item above it, and a person is
/// asked.
pub(super) fn give_up_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    state: ItemState,
    error: &str,
) {
    give_up_item_with_details(story, ItemRef { run, node }, state, error, None);
}

/// The same, for a question that also says what was considered.
pub(super) fn give_up_item_with_details(
    story: &mut EventBuffer<'_>,
    item: ItemRef<'_>,
    state: ItemState,
    error: &str,
    considered: Option<&str>,
) {
    let ItemRef { run, node } = item;
    story.move_item(run, node, state, |moved| {
        moved.error = Some(error.to_owned())
    });
    let named = format!(
        "{}: {error}",
        node.as_str().rsplit('/').next().unwrap_or_default()
    );
    for above in story.ancestors_of(run, node) {
        if above.state.can_become(state) {
            story.move_item(run, &above.node, state, |moved| {
                moved.error = Some(named.clone())
            });
        }
    }
    ask_about_broken_item(story, run, node, considered);
}

/// Asks a person what is to become of a node that ended badly, or for which an
/// agent needs a person.
pub(super) fn ask_about_broken_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    considered: Option<&str>,
) {
    let Some(item) = story.tables.item(run, node) else {
        return;
    };
    let told = [item.error.as_deref(), considered];
    let told: Vec<&str> = told.into_iter().flatten().collect();
    let details = (!told.is_empty()).then(|| told.join("\n"));
    if let Some(human) = item.people.human.clone() {
        story.ask_about_node(
            DecisionKind::HumanNeeded,
            run,
            node,
            human.reason,
            human.details.or(details),
        );
        return;
    }
    let what = if item.state == ItemState::Blocked {
        "is blocked"
    } else {
        "failed"
    };
    story.ask_about_node(
        DecisionKind::BlockedNode,
        run,
        node,
        format!("`{node}` {what}: what now?"),
        details,
    );
}
