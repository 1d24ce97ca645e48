//! `long [--attempts N]`: whether `piton run` stays small over many attempts.
//! Linux only: it looks into `/proc`.

use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use piton_bench::bed::{Bed, Size};
use piton_bench::{Result, long};

const USAGE: &str = "usage: long [--attempts N]

--attempts   how many attempts the run makes; 10000

The variable PITON names the binary; without it the one beside this program.";

fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let attempts = match words
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [] => 10_000,
        ["--attempts", number] => number.parse()?,
        _ => return Err(USAGE.into()),
    };
    let piton = std::env::var_os("PITON").map(PathBuf::from);
    let bed = Bed::new(Size::Ordinary, piton, None)?;
    let mut out = stdout().lock();
    let seen = long::run(&bed, attempts, &mut out)?;
    writeln!(
        out,
        "{} attempts in {:.1} s, {:.1} ms each; last fifth against the second: {}; processes left behind: {:?}",
        seen.attempts,
        seen.took.as_secs_f64(),
        seen.took.as_secs_f64() * 1e3 / seen.attempts.max(1) as f64,
        seen.growth().map_or_else(
            || "too short to tell".to_owned(),
            |growth| format!("{growth:.3} times the memory")
        ),
        seen.left,
    )?;
    Ok(if seen.holds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
