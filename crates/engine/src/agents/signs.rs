//! What the words of programs and services tell of what stood in the way.
//!
//! One table for all programs: they pass on the words of a few services, and a
//! word of one means the same from another.

use piton_core::classify::{FailureCategory, classify_failure};
use piton_core::trouble::Trouble;

/// Words that tell a trouble, in the order in which they are tried. Lower case.
const SIGNS: &[(Trouble, &[&str])] = &[
    (
        Trouble::Session,
        &[
            "no conversation found",
            "conversation not found",
            "session not found",
            "thread not found",
            "no rollout found",
            "no previous sessions found",
            "no saved session",
            "no session, task, or name matched",
            "invalid session identifier",
            "failed to find session",
            "failed to load session",
            "error resuming session",
            "session id…is already in use",
            "already exists. use --resume",
            "invalid session id",
        ],
    ),
    (
        Trouble::Setup,
        &[
            "unknown option",
            "unknown argument",
            "unexpected argument",
            "unrecognized option",
            "invalid value '",
            "a value is required for",
            "trusted directory",
            "trusted folder",
            "cannot be used with root",
            "error loading config",
            "invalid configuration",
            "requires a newer version",
            "needs an update",
            "please update",
        ],
    ),
    (
        Trouble::Auth,
        &[
            "not logged in",
            "please run /login",
            "please log in",
            "failed to authenticate",
            "authentication_error",
            "authentication_failed",
            "authentication failed",
            "invalid api key",
            "incorrect api key",
            "api key not valid",
            "missing api key",
            "missing environment variable",
            "set an auth method",
            "no auth type is selected",
            "must specify the gemini_api_key",
            "unauthenticated",
            "unauthorized",
            "permission_denied",
            "token has expired",
            "token expired",
            "token has been revoked",
            "refresh token",
            "credit balance is too low",
        ],
    ),
    (
        Trouble::RateLimit,
        &[
            "hit your limit",
            "hit your usage limit",
            "hit your session limit",
            "hit your weekly limit",
            "hit your monthly",
            "hit your fast limit",
            "hit your opus limit",
            "limit reached",
            "out of extra usage",
            "usage_limit_reached",
            "usage limit",
            "rate_limit",
            "rate limit",
            "too many requests",
            "resource_exhausted",
            "exhausted your",
            "quota exceeded",
            "exceeded your current quota",
            "insufficient_quota",
        ],
    ),
    (
        Trouble::Refusal,
        &[
            "violate our usage policy",
            "stop_reason: refusal",
            "content policy",
            "safety reasons",
            "blocked by safety",
            "prohibited_content",
        ],
    ),
    (
        Trouble::Limit,
        &[
            "maximum number of turns",
            "maximum budget",
            "max session turns",
            "maximum session turns",
            "turn limit",
        ],
    ),
    (
        Trouble::Network,
        &[
            "experiencing high demand",
            "overloaded",
            "stream disconnected",
            "malformed response",
            "stream closed before",
            "stream ended without",
            "error sending request",
            "internal server error",
            "server error",
            "server-side issue",
            "connection error",
            "unable to connect",
            "fetch failed",
        ],
    ),
];

/// So much of an error is looked at, in characters.
pub(super) const ERROR_CHARS: usize = 8_000;

/// What stands right before the number of a status.
const BEFORE_STATUS: &[&str] = &["status", "code", "api error", "rejected", "http", "error"];

/// Whether a sign stands in a text; `…` in it stands for anything.
fn has_sign(text: &str, sign: &str) -> bool {
    let mut rest = text;
    sign.split('…').all(|part| {
        let found = rest.split_once(part);
        rest = found.map_or(rest, |(_, behind)| behind);
        found.is_some()
    })
}

/// What the words of an error tell; None where they tell nothing.
pub(super) fn trouble_of_text(text: &str) -> Option<Trouble> {
    let text = text.to_lowercase();
    let by_words = SIGNS
        .iter()
        .find(|(_, signs)| signs.iter().any(|sign| has_sign(&text, sign)))
        .map(|(trouble, _)| *trouble);
    by_words
        .or_else(|| http_statuses(&text).find_map(trouble_of_http_status))
        .or_else(|| match classify_failure(None, &text) {
            FailureCategory::Network | FailureCategory::Timeout => Some(Trouble::Network),
            FailureCategory::RateLimit => Some(Trouble::RateLimit),
            FailureCategory::Validation | FailureCategory::Logic => None,
        })
}

/// What a status of HTTP tells.
pub(super) fn trouble_of_http_status(status: u64) -> Option<Trouble> {
    match status {
        401 | 403 => Some(Trouble::Auth),
        429 => Some(Trouble::RateLimit),
        408 | 500..=599 => Some(Trouble::Network),
        _ => None,
    }
}

/// What an error tells that ended the work: its status of HTTP, else its words.
pub(super) fn trouble_of_error(status: Option<u64>, words: &str) -> Trouble {
    status
        .and_then(trouble_of_http_status)
        .or_else(|| trouble_of_text(first_chars(words, ERROR_CHARS)))
        .unwrap_or(Trouble::Logic)
}

/// The statuses that a text names: `status 401`, `API Error: 500`, `"code":429`.
fn http_statuses(lower: &str) -> impl Iterator<Item = u64> {
    let digits = |c: char| c.is_ascii_digit();
    lower
        .match_indices(digits)
        .filter(move |(at, _)| !lower[..*at].ends_with(digits))
        .filter_map(move |(at, _)| {
            let rest = &lower[at..];
            let end = rest.find(|c: char| !digits(c)).unwrap_or(rest.len());
            let before = lower[..at].trim_end_matches([' ', ':', '=', '"', '\\', '(', '\'']);
            let is_status = end == 3 && BEFORE_STATUS.iter().any(|word| before.ends_with(word));
            is_status.then(|| rest[..end].parse().ok()).flatten()
        })
}

/// The complaint that tells most, of those that a program left.
pub(super) fn find_complaint(notes: &str) -> Option<&str> {
    let lines = || {
        notes
            .lines()
            .map(str::trim)
            .filter(|line| line.chars().any(char::is_alphanumeric))
            // A trace says where, not what.
            .filter(|line| !line.starts_with("at "))
    };
    lines()
        .rev()
        .find(|line| trouble_of_text(line).is_some())
        .or_else(|| {
            lines()
                .rev()
                .find(|line| line.to_lowercase().contains("error"))
        })
        .or_else(|| lines().next_back())
}

/// The error, with what to do where the person at the keyboard must do it.
///
/// `program` is its name, `login` how one logs in.
pub(super) fn describe_error(trouble: Trouble, error: &str, program: &str, login: &str) -> String {
    match trouble {
        Trouble::Auth => {
            format!("the service does not let {program} in: {error}; {login}, then go on")
        }
        Trouble::Setup => format!(
            "{program} refuses to work like this: {error}; mend its settings or [agents] in .piton/config.toml, or bring it up to date, then go on"
        ),
        Trouble::Refusal => format!(
            "the model refused: {error}; say the task in other words or give it to another model"
        ),
        Trouble::Network
        | Trouble::RateLimit
        | Trouble::Limit
        | Trouble::Permission
        | Trouble::Signal
        | Trouble::Timeout
        | Trouble::Session
        | Trouble::Stuck
        | Trouble::NoVerdict
        | Trouble::Unfinished
        | Trouble::HookRefused
        | Trouble::Logic => error.to_owned(),
    }
}

/// The beginning of a text.
pub(super) fn first_chars(text: &str, chars_max: usize) -> &str {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<Trouble>) {
        assert_eq!(trouble_of_text(text), expect, "{text}");
    }

    #[test]
    fn what_services_and_programs_say_is_told_apart() {
        let some = |trouble| move |text: &&str| check(text, Some(trouble));
        [
            "Failed to authenticate. API Error: 401 fake 401",
            "Not logged in · Please run /login",
            "unexpected status 401 Unauthorized: no, url: http://127.0.0.1/v1/responses",
            "[API Error: {\"error\":{\"code\":401,\"message\":\"no\"}}]",
            "[API Error: {\"error\":{\"code\":403,\"message\":\"no\"}}]",
        ]
        .iter()
        .for_each(some(Trouble::Auth));
        [
            "API Error: Request rejected (429) · fake 429",
            "You've hit your session limit · resets 4:39pm (UTC)",
            "You’ve hit your usage limit. Visit x or try again at 1:37 PM.",
            "exceeded retry limit, last status: 429 Too Many Requests",
            "[API Error: You have exhausted your daily quota on this model.]",
            "Claude AI usage limit reached|1763683200",
        ]
        .iter()
        .for_each(some(Trouble::RateLimit));
        [
            "API Error: 500 fake 500. This is a server-side issue, usually temporary",
            "API Error: 529 fake 529.",
            "We’re currently experiencing high demand, which may cause temporary errors.",
            "stream disconnected before completion: stream closed before response.completed",
            "connect ECONNREFUSED 127.0.0.1:1",
            "Attempt 2 failed with status 503. Retrying with backoff...",
        ]
        .iter()
        .for_each(some(Trouble::Network));
        [
            "error: unknown option '--nonsense'",
            "error: unexpected argument '--x' found",
            "Not inside a trusted directory and --skip-git-repo-check was not specified.",
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
        ]
        .iter()
        .for_each(some(Trouble::Setup));
        [
            "No conversation found with session ID: 019a",
            "Error: Session ID 019a is already in use.",
            "Invalid session identifier \"x\".",
        ]
        .iter()
        .for_each(some(Trouble::Session));
    }

    #[test]
    fn a_number_is_no_status_where_nothing_says_so() {
        check("wrote 401 lines", None);
        check("port 500", None);
        check("status 5000", None);
        check(
            "API Error: Claude's response exceeded the 64000 output token maximum.",
            None,
        );
        check("", None);
    }

    #[test]
    fn the_complaint_that_says_why_is_found_among_others() {
        let notes = "YOLO mode is enabled.\nApiError: status 401\n    at x (y:1)\n{\n}\n";
        assert_eq!(find_complaint(notes), Some("ApiError: status 401"));
        assert_eq!(find_complaint("one\ntwo\n"), Some("two"));
        assert_eq!(find_complaint("{\n"), None);
    }
}
