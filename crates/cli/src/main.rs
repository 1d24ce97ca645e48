//! The `piton` command.
fn main() {}
