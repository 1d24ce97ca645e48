//! Which element of a list is which element of another.

use std::collections::HashMap;

use super::super::emit::same;
use crate::sequence::longest_growing;
use crate::tree::Node;

/// What becomes of a wanted element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pairing {
    /// It is made of the one that stands at this index, which stays there.
    Stays(usize),
    /// It is put in; it stood at this index before, if at any.
    Comes(Option<usize>),
}

/// Finds for each of `want` what becomes of it. The indices that stay grow.
pub(super) fn pair(have: &[Node], want: &[Node]) -> Vec<Pairing> {
    if let (Some(had), Some(wanted)) = (ids(have), ids(want)) {
        return by_id(&had, &wanted);
    }
    let prefix = have
        .iter()
        .zip(want)
        .take_while(|(a, b)| same(a, b))
        .count();
    let (have_rest, want_rest) = (&have[prefix..], &want[prefix..]);
    let back = have_rest.iter().rev().zip(want_rest.iter().rev());
    let suffix = back.take_while(|(a, b)| same(a, b)).count();
    let changed = (have.len() - suffix).min(want.len() - suffix);
    let of = |index: usize| {
        if index < changed {
            Pairing::Stays(index)
        } else if index >= want.len() - suffix {
            Pairing::Stays(have.len() - (want.len() - index))
        } else {
            Pairing::Comes(None)
        }
    };
    (0..want.len()).map(of).collect()
}

/// The ids of mappings that have one each, and each its own.
fn ids(items: &[Node]) -> Option<HashMap<&str, usize>> {
    let mut out = HashMap::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let id = item.get("id").and_then(Node::text)?;
        if out.insert(id, index).is_some() {
            return None;
        }
    }
    Some(out)
}

fn by_id(had: &HashMap<&str, usize>, wanted: &HashMap<&str, usize>) -> Vec<Pairing> {
    let mut order: Vec<Option<usize>> = vec![None; wanted.len()];
    for (id, index) in wanted {
        order[*index] = had.get(id).copied();
    }
    let stays = longest_growing(&order);
    order
        .iter()
        .zip(stays)
        .map(|(from, stays)| match from {
            Some(index) if stays => Pairing::Stays(*index),
            Some(_) | None => Pairing::Comes(*from),
        })
        .collect()
}
