//! Patterns of texts: how they are written in a schema, and how they are matched.

use jiff::Timestamp;

/// A pattern that some format asks for.
///
/// Each is matched by hand, so that reading a file needs no compiled
/// expressions; a test compares both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `1.0`
    Version,
    /// `auth-login-2`
    EntryId,
    /// `learning-0007`
    LearningId,
    /// `pattern-0007`
    PatternId,
    /// `2026-01-15-checkout`
    RunId,
    /// `org/repo#7`
    PullRequest,
}

impl Pattern {
    /// The regular expression, as ECMA-262 has it.
    pub const fn regex(self) -> &'static str {
        match self {
            Self::Version => r"^\d+\.\d+$",
            Self::EntryId => r"^[a-z0-9-]+-\d+$",
            Self::LearningId => r"^learning-\d{4}$",
            Self::PatternId => r"^pattern-\d{4}$",
            Self::RunId => r"^\d{4}-\d{2}-\d{2}-[a-z0-9-]+$",
            Self::PullRequest => r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+#\d+$",
        }
    }

    /// A text that fits.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Version => "1.0",
            Self::EntryId => "auth-login-2",
            Self::LearningId => "learning-0007",
            Self::PatternId => "pattern-0007",
            Self::RunId => "2026-01-15-checkout",
            Self::PullRequest => "org/repo#7",
        }
    }

    /// Whether `text` fits.
    pub fn is_match(self, text: &str) -> bool {
        match self {
            Self::Version => text
                .split_once('.')
                .is_some_and(|(major, minor)| is_digits(major) && is_digits(minor)),
            Self::EntryId => text
                .rsplit_once('-')
                .is_some_and(|(slug, number)| is_slug(slug) && is_digits(number)),
            Self::LearningId => has_four_digits(text, "learning-"),
            Self::PatternId => has_four_digits(text, "pattern-"),
            Self::RunId => is_run_id(text),
            Self::PullRequest => is_pull_request(text),
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_slug(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

fn has_four_digits(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|digits| digits.len() == 4 && is_digits(digits))
}

fn is_run_id(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(4, '-').collect();
    let [year, month, day, slug] = parts.as_slice() else {
        return false;
    };
    let sizes = [(year, 4), (month, 2), (day, 2)];
    let dated = sizes
        .iter()
        .all(|(part, len)| part.len() == *len && is_digits(part));
    dated && is_slug(slug)
}

fn is_pull_request(text: &str) -> bool {
    let is_name = |name: &str| {
        let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
        !name.is_empty() && name.bytes().all(part)
    };
    text.split_once('#').is_some_and(|(repo, number)| {
        is_digits(number)
            && repo
                .split_once('/')
                .is_some_and(|(org, repo)| is_name(org) && is_name(repo))
    })
}

/// Whether `text` is a time as RFC 3339 writes it, which wants a zone.
pub fn is_date_time(text: &str) -> bool {
    let Some((seconds, zone)) = split_zone(text) else {
        return false;
    };
    let shape = seconds.bytes().zip(*b"dddd-dd-ddTdd:dd:dd");
    let shaped = shape.clone().count() == 19
        && shape.into_iter().all(|(b, want)| match want {
            b'd' => b.is_ascii_digit(),
            b'T' => matches!(b, b'T' | b't'),
            _ => b == want,
        });
    if !shaped {
        return false;
    }
    let fraction = seconds.get(19..).unwrap_or_default();
    let fraction_fits = fraction.is_empty() || fraction.strip_prefix('.').is_some_and(is_digits);
    // How many digits a fraction has is no question of whether it is a time.
    let whole = format!("{}{zone}", &seconds[..19]).to_ascii_uppercase();
    fraction_fits && whole.parse::<Timestamp>().is_ok()
}

/// What comes before the zone, and the zone: `Z`, or an offset such as `+02:00`.
fn split_zone(text: &str) -> Option<(&str, &str)> {
    if let Some(before) = text.strip_suffix(['Z', 'z']) {
        return Some((before, "Z"));
    }
    let at = text.len().checked_sub(6)?;
    let (before, zone) = (text.get(..at)?, text.get(at..)?);
    let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    let fits = is_digits(hours)
        && is_digits(minutes)
        && hours.len() == 2
        && hours <= "23"
        && minutes <= "59";
    fits.then_some((before, zone))
}
