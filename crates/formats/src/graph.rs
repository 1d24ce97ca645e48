//! Things that wait for each other: in which order they come, and where in a circle.

use std::collections::BTreeSet;

/// Finds circles among things that wait for others by index.
///
/// Each is given once, in the order in which one waits for the next; two that
/// share a thing count as one. Takes time in proportion to the edges.
pub(crate) fn find_cycles(waits_for: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let stuck = find_stuck(waits_for);
    let mut walk_of: Vec<Option<usize>> = vec![None; waits_for.len()];
    let mut out = Vec::new();
    for start in 0..waits_for.len() {
        if !stuck[start] {
            continue;
        }
        let mut walk = Vec::new();
        let mut next = Some(start);
        while let Some(at) = next.filter(|at| walk_of[*at].is_none()) {
            walk_of[at] = Some(start);
            walk.push(at);
            // Whatever is stuck waits for something that is.
            next = waits_for[at].iter().copied().find(|other| stuck[*other]);
        }
        let Some(met) = next.filter(|met| walk_of[*met] == Some(start)) else {
            continue;
        };
        if let Some(from) = walk.iter().position(|at| *at == met) {
            out.push(walk.split_off(from));
        }
    }
    out
}

/// The order in which things come that wait for others by index: of those that can come
/// next the one with the least priority, then the first. Those that wait for each other
/// come last.
pub(crate) fn order_by_priority(waits_for: &[Vec<usize>], priorities: &[f64]) -> Vec<usize> {
    let count = waits_for.len();
    let mut by_priority: Vec<usize> = (0..count).collect();
    by_priority.sort_by(|a, b| priorities[*a].total_cmp(&priorities[*b]));
    let mut rank = vec![0; count];
    for (nth, index) in by_priority.iter().enumerate() {
        rank[*index] = nth;
    }
    let mut waiting = vec![0; count];
    let mut then: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (index, on) in waits_for.iter().enumerate() {
        let on: BTreeSet<usize> = on.iter().copied().collect();
        waiting[index] = on.len();
        for first in on {
            then[first].push(index);
        }
    }
    let mut free: BTreeSet<usize> = (0..count)
        .filter(|index| waiting[*index] == 0)
        .map(|index| rank[index])
        .collect();
    let mut order = Vec::with_capacity(count);
    while let Some(next) = free.pop_first() {
        let index = by_priority[next];
        order.push(index);
        for later in &then[index] {
            waiting[*later] -= 1;
            if waiting[*later] == 0 {
                free.insert(rank[*later]);
            }
        }
    }
    order.extend((0..count).filter(|index| waiting[*index] > 0));
    order
}

/// Which things can never be done one after the other.
fn find_stuck(waits_for: &[Vec<usize>]) -> Vec<bool> {
    let mut waiting: Vec<usize> = waits_for.iter().map(Vec::len).collect();
    let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); waits_for.len()];
    for (at, others) in waits_for.iter().enumerate() {
        for other in others {
            waiters[*other].push(at);
        }
    }
    let mut done: Vec<usize> = (0..waiting.len()).filter(|at| waiting[*at] == 0).collect();
    let mut stuck = vec![true; waiting.len()];
    while let Some(at) = done.pop() {
        stuck[at] = false;
        for waiter in &waiters[at] {
            waiting[*waiter] -= 1;
            if waiting[*waiter] == 0 {
                done.push(*waiter);
            }
        }
    }
    stuck
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_circle_is_found_once_and_who_waits_for_it_is_not_in_it() {
        let none: Vec<Vec<usize>> = vec![vec![1, 2], vec![2], vec![]];
        assert!(find_cycles(&none).is_empty());
        assert_eq!(find_cycles(&[vec![0]]), [[0]]);
        // 0 waits for the circle 1, 2; 3 and 4 are another.
        let two = [vec![1], vec![2], vec![1], vec![4], vec![3, 0]];
        assert_eq!(find_cycles(&two), [vec![1, 2], vec![3, 4]]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let chain: Vec<Vec<usize>> = (0..200_000).map(|at| vec![(at + 1) % 200_000]).collect();
        assert_eq!(find_cycles(&chain).len(), 1);
    }
}
