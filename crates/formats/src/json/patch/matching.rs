//! Which element of a list is which element of another.

use std::collections::HashMap;

use super::super::emit::same;
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

/// Marks the longest choice of numbers that grow from first to last, so that
/// as few elements as can be are moved.
fn longest_growing(numbers: &[Option<usize>]) -> Vec<bool> {
    // The place of the least number that ends a choice of each length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; numbers.len()];
    for (place, number) in numbers.iter().enumerate() {
        if number.is_none() {
            continue;
        }
        let len = ends.partition_point(|end| numbers[*end] < *number);
        before[place] = len.checked_sub(1).and_then(|len| ends.get(len).copied());
        if len == ends.len() {
            ends.push(place);
        } else {
            ends[len] = place;
        }
    }
    let mut marked = vec![false; numbers.len()];
    let mut next = ends.last().copied();
    while let Some(place) = next {
        marked[place] = true;
        next = before[place];
    }
    marked
}
