//! What piton changes in a `prd.json`: whether an item passes, and that there is one more.

use super::layout::PrdItemsLocation;
use crate::tree::{MapKey, Value, ValueNode};

pub(super) fn items_mut(root: &mut ValueNode, at: PrdItemsLocation) -> &mut [ValueNode] {
    match list_mut(root, at) {
        Some(items) => items,
        None => &mut [],
    }
}

/// Adds an item behind the others.
pub(super) fn push_item(root: &mut ValueNode, at: PrdItemsLocation, item: ValueNode) {
    if let Some(items) = list_mut(root, at) {
        items.push(item);
    }
}

fn list_mut(root: &mut ValueNode, at: PrdItemsLocation) -> Option<&mut Vec<ValueNode>> {
    let list = match (at, &mut root.value) {
        (PrdItemsLocation::Key(key), Value::Map(map)) => {
            let pair = map.pairs.iter_mut().find(|(have, _)| have.text == key);
            pair.map(|(_, node)| &mut node.value)
        }
        (PrdItemsLocation::Top, list @ Value::Seq(_)) => Some(list),
        (PrdItemsLocation::Key(_), Value::Scalar(_) | Value::Seq(_))
        | (PrdItemsLocation::Top, Value::Scalar(_) | Value::Map(_)) => None,
    };
    match list {
        Some(Value::Seq(items)) => Some(items),
        Some(Value::Scalar(_) | Value::Map(_)) | None => None,
    }
}

pub(super) fn write_passes(item: &mut ValueNode, passes: bool) {
    let Value::Map(map) = &mut item.value else {
        return;
    };
    let said = ValueNode::bool(passes);
    match map.pairs.iter_mut().find(|(key, _)| key.text == "passes") {
        Some((_, node)) => *node = said,
        None => {
            // Before the notes, where both shapes have it.
            let notes = map.pairs.iter().position(|(key, _)| key.text == "notes");
            let at = notes.unwrap_or(map.pairs.len());
            map.pairs.insert(at, (MapKey::new("passes"), said));
        }
    }
}
