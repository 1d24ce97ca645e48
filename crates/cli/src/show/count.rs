//! Numbers of things, in words.

use std::fmt::Display;

/// `1 run`, `3 entries`.
pub(crate) fn format_count<N: Copy + Display + PartialEq + From<u8>>(
    number: N,
    word: &str,
) -> String {
    if number == N::from(1) {
        return format!("{number} {word}");
    }
    match word.strip_suffix("ry") {
        Some(start) => format!("{number} {start}ries"),
        None => format!("{number} {word}s"),
    }
}
