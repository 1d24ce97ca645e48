//! Plans at random, from any source of numbers.

use crate::world::ANY_ORDER;
use std::fmt::Write as _;

struct Drawn {
    path: Vec<usize>,
    node: String,
    words: String,
}

/// Draws a plan; `draw(n)` is a number below `n`, 0 being the dullest.
///
/// Everything waits either for what comes before it or, in other plans, for
/// what comes after it: so nothing ever waits for itself.
pub fn draw_plan(draw: &mut impl FnMut(usize) -> usize) -> String {
    let mut nodes: Vec<Drawn> = Vec::new();
    let phases = 1 + draw(3);
    for phase in 0..phases {
        add(&mut nodes, &[phase], draw);
        for step in 0..draw(4) {
            add(&mut nodes, &[phase, step], draw);
            for sub in 0..draw(3) {
                add(&mut nodes, &[phase, step, sub], draw);
            }
        }
    }
    let forward = draw(2) == 1;
    for index in 0..nodes.len() {
        if draw(5) == 4 {
            let on = draw(nodes.len());
            let fits = if forward { on > index } else { on < index };
            let apart = !nodes[on].path.starts_with(&nodes[index].path)
                && !nodes[index].path.starts_with(&nodes[on].path);
            if fits && apart {
                let on = format!(" after={}", nodes[on].node);
                nodes[index].words.push_str(&on);
            }
        }
    }
    for drawn in &mut nodes {
        if draw(6) == 5 {
            drawn.words.push_str(" parallel");
        }
    }
    let mut text = String::new();
    if draw(3) == 2 {
        text.push_str(ANY_ORDER);
    }
    for drawn in &mut nodes {
        if draw(10) == 9 {
            drawn.words.push_str(" approval");
        }
    }
    for drawn in &nodes {
        let indent = 2 * (drawn.path.len() - 1);
        let id = drawn.node.rsplit('/').next().unwrap_or_default();
        writeln!(text, "{:indent$}{id}{}", "", drawn.words).expect("a string takes everything");
    }
    text
}

fn add(nodes: &mut Vec<Drawn>, path: &[usize], draw: &mut impl FnMut(usize) -> usize) {
    let names = ["p", "s", "x"];
    let node: Vec<_> = path
        .iter()
        .zip(names)
        .map(|(index, name)| format!("{name}{index}"))
        .collect();
    let mut words = String::new();
    if draw(4) == 3 {
        words.push_str(&format!(" gate={}", 1 + draw(3)));
    }
    if draw(8) == 7 {
        words.push_str(" break");
    }
    nodes.push(Drawn {
        path: path.to_vec(),
        node: node.join("/"),
        words,
    });
}
