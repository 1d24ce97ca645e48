//! Which element of a list is which element of another.

use std::collections::HashMap;

use super::super::emit::is_same_json;
use crate::sequence::longest_increasing;
use crate::tree::ValueNode;

/// What becomes of a wanted element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ElementPairing {
    /// It is made of the one that stands at this index, which stays there.
    Stays(usize),
    /// It is put in; it stood at this index before, if at any.
    Comes(Option<usize>),
}

/// Finds for each of `want` what becomes of it. The indices that stay grow.
pub(super) fn pair_elements(have: &[ValueNode], want: &[ValueNode]) -> Vec<ElementPairing> {
    if let (Some(had), Some(wanted)) = (unique_ids(have), unique_ids(want)) {
        return pair_by_id(&had, &wanted);
    }
    let prefix = have
        .iter()
        .zip(want)
        .take_while(|(a, b)| is_same_json(a, b))
        .count();
    let (have_rest, want_rest) = (&have[prefix..], &want[prefix..]);
    let back = have_rest.iter().rev().zip(want_rest.iter().rev());
    let suffix = back.take_while(|(a, b)| is_same_json(a, b)).count();
    let changed = (have.len() - suffix).min(want.len() - suffix);
    let of = |index: usize| {
        if index < changed {
            ElementPairing::Stays(index)
        } else if index >= want.len() - suffix {
            ElementPairing::Stays(have.len() - (want.len() - index))
        } else {
            ElementPairing::Comes(None)
        }
    };
    (0..want.len()).map(of).collect()
}

/// The ids of mappings that have one each, and each its own.
fn unique_ids(items: &[ValueNode]) -> Option<HashMap<&str, usize>> {
    let mut out = HashMap::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let id = item.get("id").and_then(ValueNode::text)?;
        if out.insert(id, index).is_some() {
            return None;
        }
    }
    Some(out)
}

fn pair_by_id(had: &HashMap<&str, usize>, wanted: &HashMap<&str, usize>) -> Vec<ElementPairing> {
    let mut order: Vec<Option<usize>> = vec![None; wanted.len()];
    for (id, index) in wanted {
        order[*index] = had.get(id).copied();
    }
    let stays = longest_increasing(&order);
    order
        .iter()
        .zip(stays)
        .map(|(from, stays)| match from {
            Some(index) if stays => ElementPairing::Stays(*index),
            Some(_) | None => ElementPairing::Comes(*from),
        })
        .collect()
}
