//! Things that wait for each other in a circle.

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
