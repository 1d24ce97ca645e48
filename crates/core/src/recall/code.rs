//! Codes that tools give to their failures.
//!
//! Two texts that name the same code speak of the same failure. Two that name
//! different codes of one class speak of different ones, however many words
//! they share: `SQLSTATE` 1451 is not 1452.

use serde::{Deserialize, Serialize};

use super::piece::is_error_code;

/// A code, and the class of codes in which it excludes the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct ToolErrorCode {
    class: String,
    name: String,
}

/// The codes that stand in a text, each once, in order.
pub(super) fn parse_error_codes<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<ToolErrorCode> {
    let mut codes: Vec<ToolErrorCode> = lines.flat_map(parse_codes_of_line).collect();
    codes.sort();
    codes.dedup();
    codes
}

fn parse_codes_of_line(line: &str) -> impl Iterator<Item = ToolErrorCode> {
    let names = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    names
        .scan(0, |at, name| {
            let before = &line[..*at];
            let after = line[*at + name.len()..].chars().next();
            *at += name.len() + after.map_or(0, char::len_utf8);
            Some(classify_code(before, name))
        })
        .flatten()
}

fn classify_code(before: &str, name: &str) -> Option<ToolErrorCode> {
    let class = if is_error_code(name) {
        name.trim_end_matches(|sign: char| sign.is_ascii_digit())
    } else if is_errno(name) {
        "errno"
    } else if is_exception_name(name) {
        "exception"
    } else if is_numeric_code(name) && is_code_prefix(before) {
        "number"
    } else {
        return None;
    };
    Some(ToolErrorCode {
        class: class.to_owned(),
        name: name.to_owned(),
    })
}

/// Whether a number that follows is a code and not a port, a size or a year:
/// `violation: 1451`, `error 1364`, `[2002]`.
fn is_code_prefix(before: &str) -> bool {
    let last = before.trim_end();
    let word = last.rsplit(|sign: char| !sign.is_alphanumeric()).next();
    let named = word.is_some_and(|word| {
        ["error", "code", "errno"]
            .iter()
            .any(|name| word.eq_ignore_ascii_case(name))
    });
    named || last.ends_with(['[', '(']) || (last.ends_with(':') && last.len() < before.len())
}

/// `ECONNREFUSED`, and what other tools name in its manner, such as `ERESOLVE`.
fn is_errno(name: &str) -> bool {
    name.len() >= 5
        && name.starts_with('E')
        && name.bytes().all(|byte| byte.is_ascii_uppercase())
        && !matches!(
            name,
            "ERROR" | "ERRORS" | "EXPECTED" | "EXCEPTION" | "EXIT" | "EMPTY" | "ENDED"
        )
}

/// `NullPointerException`, `ModuleNotFoundError`.
fn is_exception_name(name: &str) -> bool {
    let rest = name
        .strip_suffix("Error")
        .or_else(|| name.strip_suffix("Exception"));
    rest.is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_uppercase()))
}

/// As many digits as numbered errors have.
fn is_numeric_code(name: &str) -> bool {
    (4..=5).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// In how many classes both name codes, and none that both name.
pub(super) fn count_conflicting_classes(one: &[ToolErrorCode], other: &[ToolErrorCode]) -> usize {
    let mut classes: Vec<&str> = one.iter().map(|code| code.class.as_str()).collect();
    classes.dedup();
    let differs = |class: &&&str| {
        let shared = |code: &&ToolErrorCode| code.class == **class && other.contains(code);
        other.iter().any(|code| code.class == **class) && !one.iter().any(|code| shared(&code))
    };
    classes.iter().filter(differs).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, expected: usize) {
        let one = parse_error_codes([one].into_iter());
        let other = parse_error_codes([other].into_iter());
        assert_eq!(count_conflicting_classes(&one, &other), expected);
    }

    #[test]
    fn codes_of_one_class_exclude_each_other() {
        check("error[E0117]: no", "E0119 conflicting", 1);
        check("error[E0117]: no", "E0117 orphan rule", 0);
        check("npm error code ERESOLVE", "npm error code EINTEGRITY", 1);
        check("violation: 1451 Cannot", "violation: 1452 Cannot", 1);
        check("error[E0117]", "TS2322", 0);
        check(
            "listen on 127.0.0.1:3000 since 2025",
            "fuser -k 8080/tcp",
            0,
        );
        check("ERROR", "EXPECTED", 0);
    }
}
