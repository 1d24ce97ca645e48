//! Two sequences compared, and three of them aligned.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

/// Longer middles are not compared element with element, but cut at what stands
/// once in both.
const PAIRS_MAX: usize = 4 << 20;

/// The elements that stay when `old` becomes `new`, as pairs of indices that
/// grow: the longest common sequence, of long sequences a long one.
pub(crate) fn match_elements<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    push_matches(old, new, 0, 0, &mut pairs);
    pairs
}

fn push_matches<T: Eq + Hash>(
    old: &[T],
    new: &[T],
    from_old: usize,
    from_new: usize,
    pairs: &mut Vec<(usize, usize)>,
) {
    let same = |pair: &(&T, &T)| pair.0 == pair.1;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = tail.take_while(same).count();
    let old_middle = &old_rest[..old_rest.len() - tail];
    let new_middle = &new_rest[..new_rest.len() - tail];
    pairs.extend((0..head).map(|at| (from_old + at, from_new + at)));
    let (i, j) = (from_old + head, from_new + head);
    if old_middle.len().saturating_mul(new_middle.len() + 1) > PAIRS_MAX {
        push_between_anchors(old_middle, new_middle, i, j, pairs);
    } else {
        push_longest_common(old_middle, new_middle, i, j, pairs);
    }
    let (i, j) = (from_old + old.len() - tail, from_new + new.len() - tail);
    pairs.extend((0..tail).map(|at| (i + at, j + at)));
}

fn push_longest_common<T: Eq>(
    old: &[T],
    new: &[T],
    from_old: usize,
    from_new: usize,
    pairs: &mut Vec<(usize, usize)>,
) {
    let width = new.len() + 1;
    // How many elements of what is left of both can stay.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            common[i * width + j] = if a == b {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            pairs.push((from_old + i, from_new + j));
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
}

/// Cuts both where an element stands that each of them holds once.
fn push_between_anchors<T: Eq + Hash>(
    old: &[T],
    new: &[T],
    from_old: usize,
    from_new: usize,
    pairs: &mut Vec<(usize, usize)>,
) {
    let (in_old, in_new) = (unique_positions(old), unique_positions(new));
    let is_anchor = |at: usize| in_old.get(&old[at]).copied().flatten().is_some();
    let targets: Vec<Option<usize>> = (0..old.len())
        .map(|at| {
            in_new
                .get(&old[at])
                .copied()
                .flatten()
                .filter(|_| is_anchor(at))
        })
        .collect();
    let stays = longest_increasing(&targets);
    let anchors = targets.iter().zip(stays).enumerate();
    let anchors =
        anchors.filter_map(|(at, (target, stays))| target.filter(|_| stays).map(|to| (at, to)));
    let (mut i, mut j) = (0, 0);
    let mut is_cut = false;
    for (at, to) in anchors {
        is_cut = true;
        push_matches(&old[i..at], &new[j..to], from_old + i, from_new + j, pairs);
        pairs.push((from_old + at, from_new + to));
        (i, j) = (at + 1, to + 1);
    }
    if is_cut {
        push_matches(&old[i..], &new[j..], from_old + i, from_new + j, pairs);
    }
}

/// Where each element stands that stands once.
fn unique_positions<T: Eq + Hash>(items: &[T]) -> HashMap<&T, Option<usize>> {
    let mut places = HashMap::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        places
            .entry(item)
            .and_modify(|place| *place = None)
            .or_insert(Some(at));
    }
    places
}

/// Marks the longest choice of numbers that grow from first to last, so that
/// as few elements as can be are moved.
pub(crate) fn longest_increasing(numbers: &[Option<usize>]) -> Vec<bool> {
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

/// Ranges of base, ours and theirs that belong together: one element that is
/// in all three, or what stands between two such elements.
pub(crate) type Chunk = [Range<usize>; 3];

/// Aligns three sequences: base, ours and theirs.
pub(crate) fn align_chunks<T: Eq + Hash>([base, ours, theirs]: [&[T]; 3]) -> Vec<Chunk> {
    let in_theirs: HashMap<usize, usize> = match_elements(base, theirs).into_iter().collect();
    let in_all = match_elements(base, ours)
        .into_iter()
        .filter_map(|(at, to)| Some([at, to, *in_theirs.get(&at)?]));
    let mut out = Vec::new();
    let mut from = [0; 3];
    for sync in in_all {
        push_chunk(&mut out, from, sync);
        let behind = sync.map(|at| at + 1);
        push_chunk(&mut out, sync, behind);
        from = behind;
    }
    push_chunk(&mut out, from, [base.len(), ours.len(), theirs.len()]);
    out
}

fn push_chunk(out: &mut Vec<Chunk>, from: [usize; 3], to: [usize; 3]) {
    if from != to {
        out.push(std::array::from_fn(|side| from[side]..to[side]));
    }
}

/// Whose elements a chunk becomes (1 ours, 2 theirs) where one side alone changed
/// it, or both alike.
pub(crate) fn changed_side<T: Eq>(chunk: &Chunk, sides: [&[T]; 3]) -> Option<usize> {
    let [base, ours, theirs] = std::array::from_fn(|side| &sides[side][chunk[side].clone()]);
    if ours == theirs || theirs == base {
        return Some(1);
    }
    (ours == base).then_some(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sequences_keep_what_they_have_in_common() {
        let old: Vec<usize> = (0..4_000).collect();
        let new: Vec<usize> = (0..4_000)
            .map(|at| if at % 10 == 5 { at + 9_000 } else { at })
            .collect();
        let new = [&[7_777][..], &new, &[8_888]].concat();
        let pairs = match_elements(&old, &new);
        assert_eq!(pairs.len(), 3_600);
        assert!(pairs.iter().all(|(at, to)| old[*at] == new[*to]));
        assert!(pairs.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
    }

    #[test]
    fn a_chunk_is_in_all_three_or_between_two_that_are() {
        let [base, ours, theirs] = ["abcd", "axcd", "abcyd"].map(str::as_bytes);
        let found = align_chunks([base, ours, theirs]);
        let expect = [
            [0..1, 0..1, 0..1],
            [1..2, 1..2, 1..2],
            [2..3, 2..3, 2..3],
            [3..3, 3..3, 3..4],
            [3..4, 3..4, 4..5],
        ];
        assert_eq!(found, expect);
        let sides = [base, ours, theirs];
        let takes: Vec<Option<usize>> = found
            .iter()
            .map(|chunk| changed_side(chunk, sides))
            .collect();
        assert_eq!(takes, [Some(1), Some(1), Some(1), Some(2), Some(1)]);
    }
}
