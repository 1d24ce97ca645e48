//! What kind of failure an error is: the five categories of seed 001.
//!
//! The categories and the order in which they are tried are those of the
//! original's classifier; a failure that fits none is one of logic.

use serde::{Deserialize, Serialize};

/// What kind of failure an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCategory {
    /// A host could not be reached, a connection broke.
    Network,
    /// A service asks to come back later.
    RateLimit,
    /// Something took too long.
    Timeout,
    /// A check said no: tests, types, lints, a gate.
    Validation,
    /// Anything else.
    Logic,
}

impl FailureCategory {
    /// The name, as stored, shown and written in a plan.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::RateLimit => "rate-limit",
            Self::Timeout => "timeout",
            Self::Validation => "validation",
            Self::Logic => "logic",
        }
    }

    /// The category of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [
            Self::Network,
            Self::RateLimit,
            Self::Timeout,
            Self::Validation,
            Self::Logic,
        ]
        .into_iter()
        .find(|category| category.as_str() == name)
    }
}

/// Texts that tell a category, in the order in which they are tried. Lower case.
const SIGNS: &[(FailureCategory, &[&str])] = &[
    (
        FailureCategory::Network,
        &[
            "econnrefused",
            "econnreset",
            "enotfound",
            "enetunreach",
            "ehostunreach",
            "epipe",
            "eai_again",
            "connection refused",
            "connection reset",
            "connection closed",
            "connection error",
            "network error",
            "network is unreachable",
            "network unreachable",
            "socket hang up",
            "dns",
            "could not resolve host",
            "name resolution",
            "no route to host",
            "fetch failed",
            "connection failed",
            "unable to connect",
            "502 bad gateway",
            "503 service unavailable",
            "service unavailable",
            "bad gateway",
        ],
    ),
    (
        FailureCategory::RateLimit,
        &[
            "rate limit",
            "rate-limit",
            "rate_limit",
            "ratelimit",
            "too many requests",
            "429",
            "quota exceeded",
            "overloaded",
            "throttled",
            "throttling",
            "request limit",
            "usage limit",
        ],
    ),
    (
        FailureCategory::Timeout,
        &[
            "timed out",
            "timeout",
            "time out",
            "etimedout",
            "deadline exceeded",
        ],
    ),
    (
        FailureCategory::Validation,
        &[
            "validation",
            "invalid",
            "schema",
            "type error",
            "typeerror",
            "syntax error",
            "syntaxerror",
            "assertion",
            "test failed",
            "tests failed",
            "lint",
            "does not match",
            "malformed",
            "parse error",
            "required field",
            "missing required",
            "unexpected token",
        ],
    ),
];

/// What kind of failure an exit status and an error text tell of.
///
/// Exit status 124 is that of `timeout(1)`; 137 that of a process killed for
/// being late or too large.
#[must_use]
pub fn classify_failure(exit: Option<i32>, text: &str) -> FailureCategory {
    if matches!(exit, Some(124 | 137)) {
        return FailureCategory::Timeout;
    }
    let text = text.to_lowercase();
    SIGNS
        .iter()
        .find(|(_, signs)| signs.iter().any(|sign| contains_word(&text, sign)))
        .map_or(FailureCategory::Logic, |(category, _)| *category)
}

/// Whether `sign` stands in `text` without a letter or digit right before or
/// after it, so that `dns` is not found in `kidnsy` nor 429 in 14290.
fn contains_word(text: &str, sign: &str) -> bool {
    text.match_indices(sign).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + sign.len()..].chars().next();
        let open = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        open(before) && open(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(exit: Option<i32>, text: &str, expect: FailureCategory) {
        assert_eq!(classify_failure(exit, text), expect, "{text}");
    }

    #[test]
    fn failures_are_told_apart_by_status_and_words() {
        check(
            Some(1),
            "connect ECONNREFUSED 127.0.0.1:5432",
            FailureCategory::Network,
        );
        check(
            Some(1),
            "Error: 429 Too Many Requests",
            FailureCategory::RateLimit,
        );
        check(Some(124), "", FailureCategory::Timeout);
        check(Some(137), "killed", FailureCategory::Timeout);
        check(None, "the request timed out", FailureCategory::Timeout);
        check(
            Some(2),
            "TypeError: x is not a function",
            FailureCategory::Validation,
        );
        check(Some(1), "3 tests failed", FailureCategory::Validation);
        check(
            Some(1),
            "I could not find the function",
            FailureCategory::Logic,
        );
        check(Some(1), "expected 14290 rows", FailureCategory::Logic);
    }

    #[test]
    fn the_first_category_in_the_order_wins() {
        check(
            None,
            "network error: request timed out",
            FailureCategory::Network,
        );
        check(
            None,
            "rate limit exceeded, timeout while waiting",
            FailureCategory::RateLimit,
        );
    }
}
