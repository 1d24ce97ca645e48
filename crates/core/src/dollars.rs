//! Dollars, exactly: in millionths, so that a sum does not depend on its order.
//!
//! Programs say what they cost with a fraction that no binary number holds.
//! What one attempt cost is rounded once, to a millionth; all else is counted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

const MICROS: f64 = 1_000_000.0;
/// More than this in millionths is no whole number for everybody who reads JSON.
const MICROS_MAX: f64 = 9_007_199_254_740_991.0;
/// What lies in the middle between two millionths is rounded up, also where it
/// was read as a hair less: the same text must give the same number again.
const HALF: f64 = 0.500_001;

/// An amount of dollars, of at least nothing. As JSON it is a number: `1.24`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dollars(u64);

/// Why a text or a number is no amount of dollars.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no amount of dollars such as 5 or 0.25")]
pub struct ParseDollarsError(pub String);

impl Dollars {
    /// The amount that a program says; none where that can be none.
    #[must_use]
    pub fn from_reported(dollars: f64) -> Option<Self> {
        let micros = (dollars * MICROS + HALF).floor();
        let is_one = dollars >= 0.0 && micros <= MICROS_MAX;
        #[expect(clippy::cast_possible_truncation, reason = "it was looked at")]
        is_one.then_some(Self(micros as u64))
    }

    /// As a number, for a program that wants one.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no more than 2^53 is taken in")]
        let micros = self.0 as f64;
        micros / MICROS
    }

    /// Both together.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// How much of `most` it is, in percent, rounded down; 100 of nothing.
    #[must_use]
    pub fn percent_of(self, most: Self) -> u64 {
        self.0
            .saturating_mul(100)
            .checked_div(most.0)
            .unwrap_or(100)
    }

    /// What is left of it without `other`; nothing where that is more.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Dollars {
    /// With cents; what is less than a cent with two digits more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1..50 => f.write_str("less than $0.0001"),
            50..9_950 => write!(f, "$0.{:04}", (self.0 + 50) / 100),
            micros => {
                let cents = micros.saturating_add(5_000) / 10_000;
                write!(f, "${}.{:02}", cents / 100, cents % 100)
            }
        }
    }
}

impl FromStr for Dollars {
    type Err = ParseDollarsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseDollarsError(text.to_owned());
        let digits = text.trim();
        let digits = digits.strip_prefix('$').unwrap_or(digits);
        let is_plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
        let number = digits.parse().ok().filter(|_| is_plain);
        number.and_then(Self::from_reported).ok_or_else(wrong)
    }
}

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Self::from_reported(number)
            .ok_or_else(|| de::Error::custom(ParseDollarsError(number.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, micros: Option<u64>) {
        let read = text.parse::<Dollars>().ok();
        assert_eq!(read.map(|d| d.0), micros, "{text}");
    }

    #[test]
    fn amounts_are_read_as_people_type_them() {
        check("5", Some(5_000_000));
        check("0.25", Some(250_000));
        check("$12.5", Some(12_500_000));
        check("0", Some(0));
        for wrong in ["", "five", "-1", "1e3", "inf", "1.2.3", "5 EUR", "1,5"] {
            check(wrong, None);
        }
    }

    #[test]
    fn amounts_are_shown_with_cents_and_never_as_nothing_when_they_are_something() {
        let shown = |micros| Dollars(micros).to_string();
        assert_eq!(shown(1_240_000), "$1.24");
        assert_eq!(shown(1_999_999), "$2.00");
        assert_eq!(shown(9_949), "$0.0099");
        assert_eq!(shown(9_950), "$0.01");
        assert_eq!(shown(420), "$0.0004");
        assert_eq!(shown(3), "less than $0.0001");
        assert_eq!(shown(0), "$0.00");
    }

    #[test]
    fn what_is_said_is_rounded_once_and_read_back_as_it_is() {
        for said in [
            0.0000125,
            0.000_012_499_999_999_999_999,
            0.1 + 0.2,
            1234.56789,
        ] {
            let once = Dollars::from_reported(said).expect("an amount");
            let text = serde_json::to_string(&once).expect("a number");
            let again: Dollars = serde_json::from_str(&text).expect("a number");
            assert_eq!(once, again, "{said}");
        }
        assert_eq!(Dollars::from_reported(0.0000125).map(|d| d.0), Some(13));
        assert_eq!(
            Dollars::from_reported(0.000_012_499_999_999_999_999).map(|d| d.0),
            Some(13)
        );
        for none in [-0.01, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(Dollars::from_reported(none), None, "{none}");
        }
    }
}
