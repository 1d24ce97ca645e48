//! The floor program: `floor FILE` opens, appends a line, flushes and ends.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let file = std::env::args_os().nth(1).map(PathBuf::from);
    piton_bench::floor::append(&file.expect("usage: floor FILE"))
}
