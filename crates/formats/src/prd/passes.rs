//! The one thing in a `prd.json` that a loop may change.

use std::fmt;

use super::layout::{self, PrdItemsLocation, PrdLayout};
use crate::json::{self, JsonPatchError};
use crate::tree::{MapKey, Value, ValueNode};

/// Why `passes` could not be set. The text is left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotSetPasses {
    /// The text could not be read, or not be changed.
    Patch(JsonPatchError),
    /// The text is another document.
    NotAList(PrdLayout),
    /// No item is called so.
    NoSuchItem,
    /// More than one item is called so.
    SeveralItems,
}

impl fmt::Display for CannotSetPasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patch(why) => why.fmt(f),
            Self::NotAList(layout) => write!(f, "this is {}", layout.describe()),
            Self::NoSuchItem => f.write_str("no item has this id"),
            Self::SeveralItems => f.write_str("more than one item has this id"),
        }
    }
}

impl std::error::Error for CannotSetPasses {}

/// Says in `text` whether the item `id` passes, and changes nothing else.
///
/// # Errors
///
/// [`CannotSetPasses`], with the text as it was.
pub fn set_passes(text: &str, id: &str, passes: bool) -> Result<String, CannotSetPasses> {
    let parsed = json::parse(text);
    if let Some(fault) = parsed.faults.into_iter().next() {
        return Err(CannotSetPasses::Patch(JsonPatchError::Unreadable(fault)));
    }
    let Some(mut root) = parsed.root else {
        return Err(CannotSetPasses::NotAList(PrdLayout::Empty));
    };
    let layout = layout::layout_of_root(&root);
    let Some(key) = layout.items_location() else {
        return Err(CannotSetPasses::NotAList(layout));
    };
    let mut found = items_mut(&mut root, key)
        .iter_mut()
        .filter(|item| item.get("id").and_then(ValueNode::text) == Some(id));
    let item = found.next().ok_or(CannotSetPasses::NoSuchItem)?;
    if found.next().is_some() {
        return Err(CannotSetPasses::SeveralItems);
    }
    write_passes(item, passes);
    json::patch(text, &root).map_err(CannotSetPasses::Patch)
}

pub(super) fn items_mut(root: &mut ValueNode, at: PrdItemsLocation) -> &mut [ValueNode] {
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
        Some(Value::Seq(items)) => items,
        Some(Value::Scalar(_) | Value::Map(_)) | None => &mut [],
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
