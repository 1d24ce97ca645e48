//! When a service that had enough serves again, as its words say.

use std::time::Duration;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

/// What stands right before such a time. Lower case, longer ones first.
const MARKS: &[&str] = &[
    "limit will reset",
    "resetsat",
    "resets_at",
    "resettime",
    "resets",
    "reset",
    "try again",
    "retry-after",
    "retry after",
    "retrydelay",
    "retry_delay",
    "retry",
    "available again",
];

/// Words between a mark and its time.
const BETWEEN: &[&str] = &["at", "in", "on", "after", "about", "time", "your", "quota"];

/// No service makes one wait for longer: such a time is a misreading.
const DAYS_MAX: i64 = 62;

/// A clock that went by so little ago is meant, and not that of tomorrow:
/// programs cut seconds off.
const JUST_NOW_S: i64 = 300;

const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// When the service serves again, by what `text` says at `now`; None where it
/// does not say. A time without a zone is one of `zone`.
pub(super) fn find_reset_time(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.to_ascii_lowercase();
    let after_mark = MARKS.iter().find_map(|mark| {
        text.match_indices(mark).find_map(|(at, _)| {
            let rest = skip_filler_words(&text[at + mark.len()..]);
            // `retry-after: 30`; after any other word that is no time.
            let bare = || {
                mark.starts_with("retry")
                    .then(|| parse_seconds(rest))
                    .flatten()
            };
            parse_moment(rest, now, zone).or_else(|| now.checked_add(bare()?).ok())
        })
    });
    // `usage limit reached|1763683200`: how Claude Code said it for long.
    let after_bar = || {
        text.match_indices('|')
            .find_map(|(at, _)| parse_epoch(&text[at + 1..]))
    };
    let is_sane = |time: &Timestamp| {
        let away = time.duration_since(now);
        away > SignedDuration::from_hours(-1) && away < SignedDuration::from_hours(24 * DAYS_MAX)
    };
    after_mark.or_else(after_bar).filter(is_sane)
}

/// Seconds since 1970, as services give them.
pub(super) fn timestamp_from_epoch(seconds: i64) -> Option<Timestamp> {
    // From 2001 to 2286: ten digits; thirteen are milliseconds.
    match seconds {
        1_000_000_000..=9_999_999_999 => Timestamp::from_second(seconds).ok(),
        1_000_000_000_000..=9_999_999_999_999 => Timestamp::from_millisecond(seconds).ok(),
        _ => None,
    }
}

/// The time that a text begins with.
fn parse_moment(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    parse_timestamp(text)
        .or_else(|| parse_epoch(text))
        .or_else(|| now.checked_add(parse_span(text)?).ok())
        .or_else(|| parse_clock_time(text, now, zone))
}

fn skip_filler_words(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches([' ', ':', '=', '"', '\\', '~', '\'', '(', '·']);
        let word = text
            .split(|c: char| !c.is_alphabetic())
            .next()
            .unwrap_or("");
        if !BETWEEN.contains(&word) {
            return text;
        }
        text = &text[word.len()..];
    }
}

/// `2026-11-22T16:39:00Z`.
fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || "t:.-+z".contains(c)))
        .unwrap_or(text.len());
    let text = text[..end].trim_end_matches(['.', '-']);
    (text.len() >= 20).then(|| text.parse().ok()).flatten()
}

fn parse_epoch(text: &str) -> Option<Timestamp> {
    let (digits, _) = split_digits(text)?;
    timestamp_from_epoch(digits.parse().ok()?)
}

/// The digits at the beginning, and what follows.
fn split_digits(text: &str) -> Option<(&str, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// `30`: seconds, where it stands alone.
fn parse_seconds(text: &str) -> Option<SignedDuration> {
    let (digits, rest) = split_digits(text)?;
    let is_alone = rest.is_empty() || rest.starts_with(['"', ',', '}', ')', '\n']);
    let seconds = is_alone.then(|| digits.parse().ok()).flatten()?;
    Some(SignedDuration::from_secs(seconds))
}

/// `3 days 2 hours`, `18h12m3s`, `1.5s`.
fn parse_span(text: &str) -> Option<SignedDuration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    let mut units = 0;
    loop {
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let Ok(amount) = rest[..end].trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let after = rest[end..].trim_start();
        let word_end = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let Some(seconds) = unit_s(&after[..word_end]) else {
            break;
        };
        sum = sum.checked_add(Duration::try_from_secs_f64(amount * seconds).ok()?)?;
        units += 1;
        rest = after[word_end..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    (units > 0)
        .then(|| SignedDuration::try_from(sum).ok())
        .flatten()
}

fn unit_s(word: &str) -> Option<f64> {
    match word {
        "ms" | "millis" | "milliseconds" => Some(0.001),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600.0),
        "d" | "day" | "days" => Some(86_400.0),
        "w" | "week" | "weeks" => Some(604_800.0),
        _ => None,
    }
}

/// `3pm`, `4:39pm (UTC)`, `nov 25, 3pm`, `feb 3rd, 2026 9:15 am`.
fn parse_clock_time(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let (date, rest) = match parse_date(text, now, zone) {
        Some((date, rest)) => (Some(date), skip_filler_words(rest)),
        None => (None, text),
    };
    let (time, rest) = parse_time_of_day(rest)?;
    let named = rest.trim_start().trim_start_matches('(');
    let zone = if named.starts_with("utc") || named.starts_with("gmt") {
        TimeZone::UTC
    } else {
        // Programs name the zone that they share with this process.
        zone.clone()
    };
    let at = |date: Date| {
        Some(
            date.to_datetime(time)
                .to_zoned(zone.clone())
                .ok()?
                .timestamp(),
        )
    };
    if let Some(date) = date {
        return at(date);
    }
    let today = now.to_zoned(zone.clone()).date();
    let first = at(today)?;
    if now.duration_since(first) > SignedDuration::from_secs(JUST_NOW_S) {
        return at(today.tomorrow().ok()?);
    }
    Some(first)
}

fn parse_date<'t>(text: &'t str, now: Timestamp, zone: &TimeZone) -> Option<(Date, &'t str)> {
    let word_end = text.find(|c: char| !c.is_ascii_alphabetic())?;
    let word = &text[..word_end];
    let month = MONTHS
        .iter()
        .position(|month| word.len() >= 3 && word.starts_with(month))?;
    let month = i8::try_from(month + 1).ok()?;
    let (day, rest) = split_digits(text[word_end..].trim_start())?;
    let day: i8 = day.parse().ok()?;
    let rest = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|end| rest.strip_prefix(end))
        .unwrap_or(rest)
        .trim_start_matches([',', ' ']);
    if let Some((year, after)) = split_digits(rest)
        && year.len() == 4
    {
        let date = Date::new(year.parse().ok()?, month, day).ok()?;
        return Some((date, after.trim_start_matches([',', ' '])));
    }
    let today = now.to_zoned(zone.clone()).date();
    let this_year = Date::new(today.year(), month, day).ok()?;
    // In December a day of January is one of the next year.
    let is_past = this_year < today.checked_sub(1.day()).ok()?;
    let date = if is_past {
        Date::new(today.year() + 1, month, day).ok()?
    } else {
        this_year
    };
    Some((date, rest))
}

/// The time of a day, and what follows.
fn parse_time_of_day(text: &str) -> Option<(Time, &str)> {
    let (hour, rest) = split_digits(text)?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => split_digits(rest)?,
        None => ("0", rest),
    };
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let half = rest.trim_start();
    let (hour, rest) = if let Some(rest) = half.strip_prefix("am") {
        (hour % 12, rest)
    } else if let Some(rest) = half.strip_prefix("pm") {
        (hour % 12 + 12, rest)
    } else if text.contains(':') {
        (hour, rest)
    } else {
        // `3` alone is no time.
        return None;
    };
    Some((Time::new(hour, minute, 0, 0).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-22T13:38:37Z";

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        let now = NOW.parse().expect("a time");
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let found = find_reset_time(text, now, &zone).map(|time| time.to_string());
        assert_eq!(found.as_deref(), expect, "{text}");
    }

    #[test]
    fn a_clock_is_the_next_one_in_its_zone() {
        check(
            "You've hit your session limit · resets 4:39pm (UTC)",
            Some("2026-11-22T16:39:00Z"),
        );
        check(
            "5-hour limit reached ∙ resets 3pm",
            Some("2026-11-22T14:00:00Z"),
        );
        check("resets 9am (Europe/Berlin)", Some("2026-11-23T08:00:00Z"));
        check("resets 12am", Some("2026-11-22T23:00:00Z"));
        check("resets at 15:30", Some("2026-11-22T14:30:00Z"));
        // The seconds were cut off: this minute is meant.
        check("resets 1:38pm (UTC)", Some("2026-11-22T13:38:00Z"));
        check(
            "You’ve hit your usage limit. Visit x to purchase more credits or try again at 4:05 PM.",
            Some("2026-11-22T15:05:00Z"),
        );
    }

    #[test]
    fn a_day_may_stand_before_it() {
        check("resets Nov 25, 3pm (UTC)", Some("2026-11-25T15:00:00Z"));
        check("resets Nov 25 at 3pm", Some("2026-11-25T14:00:00Z"));
        check("resets Jan 3, 9am (UTC)", Some("2027-01-03T09:00:00Z"));
        check(
            "or try again at Dec 3rd, 2026 9:15 AM.",
            Some("2026-12-03T08:15:00Z"),
        );
    }

    #[test]
    fn a_time_to_wait_is_added() {
        check(
            "try again in 3 days 2 hours 5 minutes.",
            Some("2026-11-25T15:43:37Z"),
        );
        check("Please try again in 1.5s.", Some("2026-11-22T13:38:38.5Z"));
        check(
            "Your quota will reset after 18h12m3s.",
            Some("2026-11-23T07:50:40Z"),
        );
        check("Please retry in 10800s.", Some("2026-11-22T16:38:37Z"));
        check("\"retryDelay\":\"34s\"", Some("2026-11-22T13:39:11Z"));
        check("retry-after: 30", Some("2026-11-22T13:39:07Z"));
        check("limit resets in 2h 5m", Some("2026-11-22T15:43:37Z"));
    }

    #[test]
    fn an_exact_time_is_taken_as_it_is() {
        check(
            "Claude AI usage limit reached|1795365584",
            Some("2026-11-22T16:39:44Z"),
        );
        check("\"resets_at\":1795365584", Some("2026-11-22T16:39:44Z"));
        check(
            "\"resetTime\":\"2026-11-23T00:00:00Z\"",
            Some("2026-11-23T00:00:00Z"),
        );
    }

    #[test]
    fn what_says_no_time_says_none() {
        check("API Error: Request rejected (429) · fake 429", None);
        check("Please wait and try again later.", None);
        check("try again in a moment", None);
        check("Retrying with backoff...", None);
        check("resets 3", None);
        check("resets in 900 days", None);
        check("limit reached|17", None);
        check("resets 25:99pm", None);
        check("", None);
        check("reset reset reset at at", None);
    }
}
