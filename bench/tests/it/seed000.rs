//! piton's recording, preparing, learning and recovering against the rules that
//! the document of seed 000 writes out, on histories from one seed.
//!
//! Both keep the same history. The answer of the document, changed by every
//! wanted [`Difference`](differences::Difference) whose condition holds, must be
//! piton's answer: a difference that nobody wanted fails the test. They are
//! listed in `docs/design/0018-differences-from-seed-000.md`.

mod differences;
mod history;
mod rules;

use std::fs;
use std::path::Path;

use piton_simkit::seed::salted;

use self::differences::{Difference, Seen};
use self::history::History;

const HISTORIES: u64 = 1_000;

#[test]
fn piton_does_as_seed_000_but_for_the_differences_that_are_named() {
    let mut seen = Seen::default();
    for nth in 0..HISTORIES {
        History::drawn(salted(nth)).play(&mut seen);
    }
    for difference in Difference::ALL {
        let count = seen.count(*difference);
        assert!(count > 0, "{difference:?} was never seen");
        #[expect(clippy::print_stderr, reason = "the counts stand in the design note")]
        {
            eprintln!("{difference:?}: {count}");
        }
    }
}

#[test]
fn the_design_note_names_every_difference() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs/design/0018-differences-from-seed-000.md");
    let page = fs::read_to_string(page).expect("the note is there");
    let table = page.split("| difference |").nth(1).expect("a table");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let named: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    let all: Vec<String> = Difference::ALL
        .iter()
        .map(|difference| format!("{difference:?}"))
        .collect();
    assert_eq!(named, all);
}
