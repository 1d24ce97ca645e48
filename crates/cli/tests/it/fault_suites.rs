//! Power cuts, failing calls and damaged files, tried on the whole program.
//!
//! Each suite tries a few cases here and any number by `cargo xtask faults`, which
//! sets `PITON_FAULT_TRIALS`. What was tried is printed on a line that begins with
//! `faults:`. Figures: `docs/reliability.md`.

mod calls;
mod damage;
mod power;

/// How many cases a suite tries.
fn trials(default: usize) -> usize {
    let asked = std::env::var("PITON_FAULT_TRIALS").ok();
    asked.map_or(default, |number| {
        number.parse().expect("a number of trials")
    })
}

/// Prints what was tried, for `cargo xtask faults`.
#[expect(
    clippy::print_stdout,
    reason = "only what is printed so is kept with a test"
)]
fn report(figures: &str) {
    println!("faults: {figures}");
}
