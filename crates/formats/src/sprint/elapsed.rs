//! Durations as the various writers of `PROGRESS.yaml` put them, and times as piton
//! writes them.

use std::time::Duration;

use jiff::Timestamp;

/// Reads a duration: `HH:MM:SS`, `1h 2m 3s`, `45m`, `90s`, `1h30m`, or whole
/// seconds. `None` for anything else.
pub fn parse_elapsed(text: &str) -> Option<Duration> {
    let text = text.trim();
    let seconds = if text.contains(':') {
        parse_clock(text)?
    } else if text.bytes().all(|b| b.is_ascii_digit()) {
        text.parse().ok()?
    } else {
        parse_units(text)?
    };
    Some(Duration::from_secs(seconds))
}

/// Writes a duration as the published schema shows it: `HH:MM:SS`, with as
/// many digits for the hours as they need.
pub fn format_elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// A time as piton writes it: RFC 3339, UTC, milliseconds where there are any.
#[must_use]
pub(super) fn render_time(time: Timestamp) -> String {
    let millis = Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time);
    format!("{millis:.3}")
}

fn parse_clock(text: &str) -> Option<u64> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || minutes.len() != 2 || seconds.len() < 2 {
        return None;
    }
    // A fraction of a second is dropped, as every writer drops it.
    let seconds = seconds.split('.').next()?;
    let [hours, minutes, seconds] = [hours, minutes, seconds].map(parse_digits);
    let (minutes, seconds) = (minutes?, seconds?);
    if minutes > 59 || seconds > 59 {
        return None;
    }
    hours?
        .checked_mul(3600)?
        .checked_add(minutes * 60 + seconds)
}

fn parse_digits(digits: &str) -> Option<u64> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Numbers with units, largest first, each unit once.
fn parse_units(text: &str) -> Option<u64> {
    const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];
    let mut total: u64 = 0;
    let mut next_unit = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let value = parse_digits(&rest[..digits])?;
        let unit = rest[digits..].chars().next()?;
        let found = UNITS.iter().position(|(name, _)| *name == unit)?;
        if found < next_unit {
            return None;
        }
        next_unit = found + 1;
        total = total.checked_add(value.checked_mul(UNITS[found].1)?)?;
        rest = rest[digits + unit.len_utf8()..].trim_start();
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<u64>) {
        assert_eq!(parse_elapsed(text).map(|d| d.as_secs()), expect, "{text}");
    }

    #[test]
    fn all_the_forms_in_which_durations_are_met_are_read() {
        check("00:02:20", Some(140));
        check("100:00:01", Some(360_001));
        check("1h 2m 3s", Some(3723));
        check("2m 3s", Some(123));
        check("5s", Some(5));
        check("45m", Some(2700));
        check("1h30m", Some(5400));
        check("4h", Some(14_400));
        check("40805", Some(40_805));
        check("0", Some(0));
    }

    #[test]
    fn what_is_no_duration_is_not_guessed_at() {
        for text in [
            "",
            "soon",
            "1x",
            "3s 1h",
            "1h 1h",
            "00:99:00",
            "1:2",
            "-5",
            "1.5h",
            "99999999999999999999h",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn durations_are_written_as_hours_minutes_and_seconds() {
        assert_eq!(format_elapsed(Duration::from_secs(3723)), "01:02:03");
        assert_eq!(format_elapsed(Duration::from_secs(360_001)), "100:00:01");
    }
}
