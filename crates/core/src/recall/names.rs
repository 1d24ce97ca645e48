//! Names in a text that cannot stand for one another: numbers, codes, paths,
//! options, identifiers.
//!
//! For finding something again one port is as good as another. For telling
//! whether two texts say the same, 5432 is not 5433.

use super::piece::is_run_specific;
use super::token::is_stop_word;

/// A word without what surrounds it: quotes, brackets, what ends a sentence.
pub(crate) fn trim_punctuation(word: &str) -> &str {
    let begins = |sign: char| {
        !(sign.is_alphanumeric()
            || matches!(sign, '-' | '.' | '/' | '_' | '~' | '@' | '$' | '<' | '{'))
    };
    let ends =
        |sign: char| !(sign.is_alphanumeric() || matches!(sign, '/' | '_' | '>' | '}' | '*'));
    word.trim_start_matches(begins).trim_end_matches(ends)
}

/// The name that a word is, in the form in which names are compared: small
/// letters and digits. None for an ordinary word, and for what is of one run:
/// a date, a hash.
pub(crate) fn normalize_name(word: &str) -> Option<String> {
    let word = strip_line_number(trim_punctuation(word));
    if !is_name(word) || is_run_specific(word) {
        return None;
    }
    let letters = word.chars().filter(|sign| sign.is_alphabetic()).count();
    if letters == 0 {
        return Some(word.trim_start_matches(['.', '/']).to_owned());
    }
    // `-p` and `-P` are two options.
    if letters == 1 && word.starts_with('-') {
        return Some(word.to_owned());
    }
    let signs = word.chars().filter(|sign| sign.is_alphanumeric());
    Some(signs.flat_map(char::to_lowercase).collect())
}

fn is_name(word: &str) -> bool {
    let has = |wanted: fn(char) -> bool| word.chars().any(wanted);
    if !has(char::is_alphanumeric) {
        return false;
    }
    if word.starts_with('-') || has(char::is_numeric) || word.contains('_') || is_camel_case(word) {
        return true;
    }
    let mut parts = word.split(['/', '.', '\\']).filter(|part| !part.is_empty());
    let is_parted = word.contains(['/', '.', '\\']);
    // "and/or" and "e.g." are words.
    is_parted && !parts.all(|part| part.len() == 1 || is_stop_word(&part.to_lowercase()))
}

/// `maxConnections`: a small letter before a large one.
fn is_camel_case(word: &str) -> bool {
    let mut signs = word.chars().zip(word.chars().skip(1));
    signs.any(|(one, next)| one.is_lowercase() && next.is_uppercase())
}

/// `src/cart.rs:12:7` without the line, which only says where it happened.
pub(crate) fn strip_line_number(word: &str) -> &str {
    let mut rest = word;
    while let Some((before, line)) = rest.rsplit_once(':') {
        let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        let is_path = !before.contains("://")
            && (before.contains('/')
                || before
                    .rsplit_once('.')
                    .is_some_and(|(_, end)| is_file_extension(end)));
        if !is_line || !is_path {
            break;
        }
        rest = before;
    }
    rest
}

/// `rs`, `toml`, and `rs:12`; not the end of a host's name as such.
fn is_file_extension(end: &str) -> bool {
    let end = end.split(':').next().unwrap_or(end);
    (1..=4).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(normalize_name(word).as_deref(), expected, "{word}");
    }

    #[test]
    fn what_cannot_stand_for_another_is_a_name() {
        check("5432,", Some("5432"));
        check("(1.2.0)", Some("1.2.0"));
        check("4", Some("4"));
        check("E0382:", Some("e0382"));
        check("`--test-threads=4`", Some("testthreads4"));
        check("-p", Some("-p"));
        check("-P", Some("-P"));
        check("max_connections", Some("maxconnections"));
        check("maxConnections", Some("maxconnections"));
        check("src/cart.rs:12:7.", Some("srccartrs"));
        check("lib.rs:12", Some("librs"));
        check("localhost:5432", Some("localhost5432"));
        check("http://localhost:5432/", Some("httplocalhost5432"));
        check(".env", Some("env"));
    }

    #[test]
    fn a_word_or_what_is_of_one_run_is_none() {
        for word in [
            "Postgres",
            "end-to-end",
            "and/or",
            "e.g.",
            "",
            "-",
            "...",
            "APIs",
            "2026-01-31",
            "3f2a91bc04",
            "9f1c2d3e-0001-4abc-8def-0123456789ab",
        ] {
            check(word, None);
        }
    }
}
