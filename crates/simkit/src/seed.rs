//! One seed for all random tests of a process, and how to repeat a failure.
//!
//! A test never draws from the clock or from the system: a run must not depend
//! on luck. The seed is [`VARIABLE`] if that is set. `cargo xtask test` sets it
//! to a number derived from the commit, `cargo xtask explore` to fresh ones;
//! without it every run uses [`DEFAULT`].
//!
//! An input at which a test failed becomes an ordinary test with the input
//! written out. No file of old seeds is kept: a seed means another input as
//! soon as the code that draws it changes, so such a file claims more than it
//! tests.

use std::cell::Cell;
use std::thread;

use proptest::test_runner::{Config, RngSeed};

/// The environment variable that sets the seed.
pub const VARIABLE: &str = "PITON_TEST_SEED";

/// The seed without [`VARIABLE`].
pub const DEFAULT: u32 = 1;

/// The seed of this process.
///
/// # Panics
///
/// When [`VARIABLE`] is set and is not a number below 2³²: a typo must not run
/// other inputs than the ones that were asked for.
#[must_use]
pub fn seed() -> u32 {
    let seed = variable(VARIABLE).map_or(DEFAULT, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{VARIABLE}={text} is not a number below 4294967296"))
    });
    announce(seed);
    seed
}

/// A number for a test that draws by itself: depends on the seed and on `salt`,
/// which keeps two sources of one test apart.
#[must_use]
pub fn salted(salt: u64) -> u64 {
    mix(mix(u64::from(seed())) ^ salt)
}

/// The settings of a property test that tries so many cases.
#[must_use]
pub fn cases(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(u64::from(seed())),
        ..Config::default()
    }
}

/// Spreads a number over all 64 bits.
#[must_use]
pub fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The command that runs the present test again with that seed.
#[must_use]
pub fn command_to_repeat(seed: u32) -> String {
    let package = variable("CARGO_PKG_NAME").map_or_else(String::new, |name| format!(" -p {name}"));
    let test = test_name().map_or_else(String::new, |name| format!(" {name}"));
    format!("{VARIABLE}={seed} cargo test{package}{test}")
}

/// Prints once a test which seed it uses. Test runners show what a test printed
/// when it fails, and only then.
#[expect(
    clippy::print_stderr,
    reason = "the output of a failing test is where its reader looks"
)]
fn announce(seed: u32) {
    thread_local!(static ANNOUNCED: Cell<bool> = const { Cell::new(false) });
    if !ANNOUNCED.replace(true) {
        eprintln!("random inputs; to repeat them: {}", command_to_repeat(seed));
    }
}

/// The name of the present test: that of its thread, or what nextest says.
fn test_name() -> Option<String> {
    let of_thread = thread::current().name().map(str::to_owned);
    of_thread
        .filter(|name| name != "main")
        .or_else(|| variable("NEXTEST_TEST_NAME"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "which inputs a test tries is a matter of who runs it"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use proptest::strategy::{Strategy as _, ValueTree as _};
    use proptest::test_runner::TestRunner;

    use super::*;

    fn drawn(config: Config) -> Vec<u64> {
        let mut runner = TestRunner::new(config);
        let numbers = proptest::collection::vec(0..u64::MAX, 20);
        numbers
            .new_tree(&mut runner)
            .expect("any numbers will do")
            .current()
    }

    #[test]
    fn the_same_seed_draws_the_same_inputs_and_another_seed_others() {
        assert_eq!(drawn(cases(1)), drawn(cases(1)));
        let other = Config {
            rng_seed: RngSeed::Fixed(u64::from(seed()) + 1),
            ..cases(1)
        };
        assert_ne!(drawn(cases(1)), drawn(other));
        assert_eq!(salted(3), salted(3));
        assert_ne!(salted(3), salted(4));
    }

    #[test]
    fn a_failing_test_names_the_command_that_repeats_it() {
        let command = command_to_repeat(7);
        assert!(command.starts_with("PITON_TEST_SEED=7 cargo test -p piton-simkit "));
        assert!(
            command.ends_with("seed::tests::a_failing_test_names_the_command_that_repeats_it"),
            "{command}"
        );
    }
}
