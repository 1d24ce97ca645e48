//! Whether Claude Code stopped because a usage window is nearly used up.
//!
//! At 95 % of the window of five hours it has the model finish its step, say
//! what is left, and end its turn; the result is then a success. How full a
//! window is stands in the events about it; that it wraps up, in a notice of the
//! program or in the agent's last words.

use jiff::Timestamp;
use serde_json::Value;

use super::super::reset;

/// So much of a window is used when the program begins to wrap up.
const NEARLY_USED: f64 = 0.95;
/// So far behind `approaching` stands what is approached, in bytes.
const NEAR_BYTES: usize = 40;

/// What is known of the window of five hours.
#[derive(Debug, Default)]
pub(super) struct UsageWindow {
    used: Option<f64>,
    resets_at: Option<Timestamp>,
    /// Beyond the window, what is used is paid for: the program goes on.
    is_paid: bool,
    has_noticed: bool,
}

impl UsageWindow {
    /// Takes `rate_limit_info` in; the last one counts.
    pub(super) fn record_limit(&mut self, info: &Value) {
        let kind = info["rateLimitType"].as_str().unwrap_or("five_hour");
        let five_hours = &info["unifiedWindows"]["five_hour"];
        let is_own = kind == "five_hour";
        let own = if is_own { info } else { &Value::Null };
        let used = own["utilization"]
            .as_f64()
            .or_else(|| five_hours["utilization"].as_f64())
            .or_else(|| own["surpassedThreshold"].as_f64());
        let resets_at = own["resetsAt"].as_i64();
        self.used = used;
        self.resets_at = resets_at
            .or_else(|| five_hours["resetsAt"].as_i64())
            .and_then(reset::timestamp_from_epoch);
        self.is_paid = info["isUsingOverage"].as_bool() == Some(true);
    }

    /// Takes a notice of the program to the person in.
    pub(super) fn record_notice(&mut self, text: &str) {
        self.has_noticed |= has_limit_warning(text);
    }

    /// When the window resets, where it is nearly used up; none where it is
    /// not. `words` are the agent's last.
    pub(super) fn reset_if_nearly_used(&self, words: &str) -> Option<Option<Timestamp>> {
        let is_full = self.used.is_some_and(|used| used >= NEARLY_USED) && !self.is_paid;
        let is_announced = self.has_noticed || has_limit_warning(words);
        (is_full || is_announced).then_some(self.resets_at)
    }
}

/// Whether a text says that a limit of use comes near: `Approaching your 5-hour
/// usage limit`, `Usage limit approaching`.
fn has_limit_warning(text: &str) -> bool {
    let text = text.to_lowercase();
    if text.contains("usage limit approaching") {
        return true;
    }
    text.match_indices("approaching ").any(|(at, word)| {
        let behind = &text[at + word.len()..];
        let whose = ["your ", "my ", "the "];
        let near = whose.iter().find_map(|whose| behind.strip_prefix(whose));
        let near = near.and_then(|near| near.lines().next()).unwrap_or("");
        let end = (0..=NEAR_BYTES.min(near.len()))
            .rev()
            .find(|end| near.is_char_boundary(*end));
        let near = &near[..end.unwrap_or(0)];
        [
            "usage limit",
            "session limit",
            "weekly limit",
            "5-hour limit",
        ]
        .iter()
        .any(|limit| near.contains(limit))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(infos: &[Value], words: &str, expect: Option<Option<i64>>) {
        let mut window = UsageWindow::default();
        for info in infos {
            window.record_limit(info);
        }
        let resets_at = window.reset_if_nearly_used(words);
        let resets_at = resets_at.map(|at| at.map(Timestamp::as_second));
        assert_eq!(resets_at, expect, "{infos:?} {words}");
    }

    #[test]
    fn the_window_of_five_hours_counts_when_it_is_nearly_used_up() {
        let info = |kind: &str, used: f64| {
            json!({"status": "allowed_warning", "resetsAt": 1_795_380_979, "rateLimitType": kind,
                   "utilization": used, "surpassedThreshold": 0.9})
        };
        let at = Some(Some(1_795_380_979));
        check(&[], "", None);
        check(&[info("five_hour", 0.97)], "", at);
        check(&[info("five_hour", 0.94)], "", None);
        check(&[info("seven_day", 0.97)], "", None);
        // A new window has begun since.
        let fresh = json!({"status": "allowed", "rateLimitType": "five_hour"});
        check(&[info("five_hour", 0.97), fresh], "", None);
        let both = json!({"status": "allowed_warning", "rateLimitType": "seven_day",
            "resetsAt": 1_795_999_999, "utilization": 0.8,
            "unifiedWindows": {"five_hour": {"utilization": 0.96, "resetsAt": 1_795_380_979}}});
        check(&[both], "", at);
        let threshold = json!({"status": "allowed_warning", "surpassedThreshold": 0.95});
        check(&[threshold], "", Some(None));
    }

    #[test]
    fn a_window_that_is_paid_beyond_stops_no_work() {
        let paid = json!({"status": "allowed_warning", "rateLimitType": "five_hour",
            "utilization": 1.02, "isUsingOverage": true});
        check(&[paid], "", None);
    }

    #[test]
    fn words_announce_it_where_no_number_does() {
        for words in [
            "Approaching your usage limit, so I stop here. Remaining: parser, tests",
            "Approaching your 5-hour usage limit — Claude will wrap up the current step.",
            "I am approaching the session limit.",
            "Usage limit approaching: what is left:",
        ] {
            check(&[], words, Some(None));
        }
        for words in [
            "The function warns of approaching deadlines.",
            "approaching the end; the usage of a rate limit is tested in a file that is far behind",
            "Approaching your höchst ungewöhnlichen Namen mit vielen Buchstaben usage limit",
        ] {
            check(&[], words, None);
        }
    }
}
