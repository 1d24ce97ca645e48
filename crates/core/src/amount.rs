//! Amounts as people type and read them: durations (`90s`, `45m`, `1h30m`, `4h`) and sizes.

use thiserror::Error;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a duration such as 90s, 45m, 1h30m or 4h")]
pub struct ParseDurationError(pub String);

const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Reads a duration, in seconds. Units come largest first, each at most once.
///
/// # Errors
///
/// When the text has another form, is zero, or exceeds what fits.
pub fn parse_duration(text: &str) -> Result<u64, ParseDurationError> {
    let wrong = || ParseDurationError(text.to_owned());
    let mut rest = text.trim();
    let mut total: u64 = 0;
    let mut next_unit = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let count: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit = rest[digits..].chars().next().ok_or_else(wrong)?;
        let index = UNITS
            .iter()
            .position(|(name, _)| *name == unit)
            .ok_or_else(wrong)?;
        if index < next_unit {
            return Err(wrong());
        }
        next_unit = index + 1;
        total = count
            .checked_mul(UNITS[index].1)
            .and_then(|s| total.checked_add(s))
            .ok_or_else(wrong)?;
        rest = rest[digits + unit.len_utf8()..].trim_start();
    }
    if total == 0 { Err(wrong()) } else { Ok(total) }
}

/// A span of time for people: `1h 02m`, `3m 20s`, `12s`.
#[must_use]
pub fn format_duration(seconds: u64) -> String {
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m {s:02}s"),
        (h, m, _) => format!("{h}h {m:02}m"),
    }
}

/// A span of time as people type it: `90s`, `45m`, `1h30m`, `2d`.
#[must_use]
pub fn format_duration_flag(seconds: u64) -> String {
    if seconds < 120 {
        return format!("{seconds}s");
    }
    let mut rest = seconds;
    let units = UNITS.iter().filter_map(|(name, size)| {
        let count = rest / size;
        rest %= size;
        (count > 0).then(|| format!("{count}{name}"))
    });
    units.collect()
}

/// A size for people: `12 B`, `3 KB`, `40 MB`.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KB", bytes >> 10),
        _ => format!("{} MB", bytes >> 20),
    }
}

/// The first of some names, `max` of them, and how many more there are.
#[must_use]
pub fn list_first<T: AsRef<str>>(names: &[T], max: usize) -> String {
    let shown: Vec<&str> = names.iter().take(max).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(max) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Whether a number that is stored only where it says something says nothing.
pub(crate) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, seconds: Option<u64>) {
        assert_eq!(parse_duration(text).ok(), seconds, "{text}");
    }

    #[test]
    fn durations_are_read_as_people_type_them() {
        check("90s", Some(90));
        check("45m", Some(2_700));
        check("1h30m", Some(5_400));
        check("1h 30m", Some(5_400));
        check("4h", Some(14_400));
        check("2d", Some(172_800));
        for wrong in [
            "",
            "4",
            "h",
            "30m1h",
            "1h1h",
            "-1s",
            "1.5h",
            "0s",
            "99999999999999999999s",
            "1w",
            "999999999999999999d",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn spans_are_shown_as_words() {
        assert_eq!(format_duration(3_723), "1h 02m");
        assert_eq!(format_duration(62), "1m 02s");
        assert_eq!(format_duration(9), "9s");
    }
}
