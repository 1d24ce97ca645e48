//! Whether an agent runs in circles: the thresholds of seed 002.
//!
//! Looked at while it works, call by call. What repeats from attempt to
//! attempt is the matter of [`crate::recover`].

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::call::{AgentCall, CallKind};

/// In which time writes of one file count together, in seconds.
pub const WRITES_S: i64 = 600;

/// How often is a circle. 0 for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopThresholds {
    /// The same command failing.
    pub failures: u32,
    /// The same file written within [`WRITES_S`].
    pub writes: u32,
    /// The same words in a row.
    pub repeats: u32,
    /// The same call with the same outcome in a row.
    pub calls: u32,
}

impl Default for LoopThresholds {
    /// The first two are those of seed 002.
    fn default() -> Self {
        Self {
            failures: 3,
            writes: 5,
            repeats: 8,
            calls: 20,
        }
    }
}
/// So many commands and files are remembered at most.
const REMEMBERED_MAX: usize = 4_096;

/// What an agent did until now, as far as it shows whether it runs in circles.
#[derive(Clone, Debug, Default)]
pub struct LoopDetector {
    most: LoopThresholds,
    failures: HashMap<String, u32>,
    writes: HashMap<String, VecDeque<Timestamp>>,
    said: Option<(String, u32)>,
    last: Option<(AgentCall, u32)>,
}

impl LoopDetector {
    /// Nothing was done yet; so often is a circle.
    #[must_use]
    pub fn new(most: LoopThresholds) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Takes a call in that is over; why the agent is stuck, if it is.
    pub fn record_call(&mut self, call: &AgentCall, now: Timestamp) -> Option<String> {
        let again = self.count_repeated_call(call);
        let circling = match call.kind {
            CallKind::Shell => self.count_failed_command(call),
            CallKind::Write if !call.failed => self.count_write(&call.what, now),
            CallKind::Write | CallKind::Read | CallKind::Agent | CallKind::Other => None,
        };
        circling.or(again)
    }

    /// Whether nothing else was done for long: whatever it is, it leads nowhere.
    fn count_repeated_call(&mut self, call: &AgentCall) -> Option<String> {
        let call = AgentCall {
            ms: None,
            at: None,
            ..call.clone()
        };
        let times = match &self.last {
            Some((last, times)) if *last == call => times + 1,
            Some(_) | None => 1,
        };
        let most = self.most.calls;
        let what = if call.what.is_empty() {
            &call.tool
        } else {
            &call.what
        };
        let circling = (most > 0 && times >= most)
            .then(|| format!("`{what}` was called {times} times in a row, and nothing else"));
        self.last = Some((call, times));
        circling
    }

    /// A command that works again was mended, and counts from nothing.
    fn count_failed_command(&mut self, call: &AgentCall) -> Option<String> {
        let failed = call.failed || call.exit.is_some_and(|exit| exit != 0);
        if !failed {
            self.failures.remove(&call.what);
            return None;
        }
        if self.failures.len() >= REMEMBERED_MAX && !self.failures.contains_key(&call.what) {
            self.failures.clear();
        }
        let times = self.failures.entry(call.what.clone()).or_default();
        *times += 1;
        let most = self.most.failures;
        (most > 0 && *times >= most)
            .then(|| format!("the command `{}` failed {times} times", call.what))
    }

    fn count_write(&mut self, path: &str, now: Timestamp) -> Option<String> {
        if self.writes.len() >= REMEMBERED_MAX && !self.writes.contains_key(path) {
            self.writes.clear();
        }
        let times = self.writes.entry(path.to_owned()).or_default();
        times.push_back(now);
        while times
            .front()
            .is_some_and(|first| now.duration_since(*first) > SignedDuration::from_secs(WRITES_S))
        {
            times.pop_front();
        }
        let count = u32::try_from(times.len()).unwrap_or(u32::MAX);
        let most = self.most.writes;
        (most > 0 && count >= most).then(|| {
            let minutes = WRITES_S / 60;
            format!("`{path}` was written {count} times in {minutes} minutes")
        })
    }

    /// Takes words in that the agent said; why it is stuck, if it is.
    pub fn record_message(&mut self, words: &str) -> Option<String> {
        let words = words.trim();
        if words.is_empty() {
            return None;
        }
        match &mut self.said {
            Some((last, times)) if last == words => {
                *times += 1;
                let times = *times;
                let most = self.most.repeats;
                (most > 0 && times >= most).then(|| format!("it said the same {times} times"))
            }
            said => {
                *said = Some((words.to_owned(), 1));
                None
            }
        }
    }
}

/// Longest signature, in characters.
const SIGNATURE_CHARS_MAX: usize = 300;

/// Behind these words a number says what went wrong, not when or how often: a
/// check that ends with 127 was not found, one that ends with 1 says no.
const CODE_WORDS: &[&str] = &["status", "code"];

/// What an error has in common with the same one at another time: words in
/// lower case, with one mark for each number, time or id in it. An exit status
/// or a code is no such number.
#[must_use]
pub fn error_signature(error: &str) -> String {
    let is_number = |word: &str| word.chars().any(|c| c.is_ascii_digit());
    let words = error.split(|c: char| c.is_whitespace() || ",;()[]{}\"'`".contains(c));
    let mut text: Vec<String> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let before = text.last().map(|word| word.trim_end_matches([':', '=']));
        let is_code = before.is_some_and(|word| CODE_WORDS.contains(&word));
        text.push(if is_number(word) && !is_code {
            "#".to_owned()
        } else {
            word.to_lowercase()
        });
    }
    text.join(" ").chars().take(SIGNATURE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("within time")
    }

    fn shell(what: &str, exit: i32) -> AgentCall {
        AgentCall {
            exit: Some(exit),
            ..AgentCall::new(CallKind::Shell, "Bash", what)
        }
    }

    #[test]
    fn case_36_the_same_command_that_fails_three_times_is_a_circle() {
        let mut circles = LoopDetector::default();
        assert_eq!(circles.record_call(&shell("make", 2), at(0)), None);
        assert_eq!(circles.record_call(&shell("ls x", 2), at(0)), None);
        assert_eq!(circles.record_call(&shell("make", 2), at(1)), None);
        assert_eq!(
            circles.record_call(&shell("make", 2), at(2)).as_deref(),
            Some("the command `make` failed 3 times")
        );
    }

    #[test]
    fn the_same_error_at_another_time_has_the_same_signature() {
        let first = error_signature("Test tides::high failed after 3.2s (pid 4711)");
        assert_eq!(
            first,
            error_signature("test tides::high FAILED after 11s (pid 12)")
        );
        assert_ne!(
            first,
            error_signature("test tides::low failed after 3.2s (pid 4711)")
        );
    }

    #[test]
    fn another_exit_status_has_another_signature() {
        let check = |exit: i32| error_signature(&format!("its check failed: exit status {exit}"));
        assert_ne!(check(1), check(127));
        assert_eq!(check(1), "its check failed: exit status 1");
        assert_eq!(
            error_signature("Exit code: 2 after 3 s"),
            error_signature("exit code: 2 after 41 s")
        );
        assert_ne!(
            error_signature("exit code: 2"),
            error_signature("exit code: 3")
        );
    }

    #[test]
    fn a_command_that_worked_in_between_counts_anew() {
        let mut circles = LoopDetector::default();
        for exit in [1, 1, 0, 1, 1, 0, 1] {
            assert_eq!(circles.record_call(&shell("make", exit), at(0)), None);
        }
    }

    #[test]
    fn five_writes_of_a_file_count_only_within_ten_minutes() {
        let write = AgentCall::new(CallKind::Write, "Write", "a.rs");
        let mut circles = LoopDetector::default();
        for second in [0, 200, 400, 601, 801, 1002, 1003] {
            assert_eq!(circles.record_call(&write, at(second)), None, "{second}");
        }
        assert_eq!(
            circles.record_call(&write, at(1004)).as_deref(),
            Some("`a.rs` was written 5 times in 10 minutes")
        );
    }

    #[test]
    fn the_same_call_again_and_again_is_a_circle_also_when_it_works() {
        let mut circles = LoopDetector::default();
        for time in 1..LoopThresholds::default().calls {
            let call = AgentCall {
                ms: Some(time.into()),
                ..shell("ls", 0)
            };
            assert_eq!(circles.record_call(&call, at(time.into())), None);
        }
        assert_eq!(
            circles.record_call(&shell("ls", 0), at(99)).as_deref(),
            Some("`ls` was called 20 times in a row, and nothing else")
        );
        assert_eq!(circles.record_call(&shell("pwd", 0), at(99)), None);
    }

    #[test]
    fn what_is_turned_off_is_no_circle() {
        let mut circles = LoopDetector::new(LoopThresholds {
            failures: 0,
            writes: 0,
            repeats: 0,
            calls: 0,
        });
        let write = AgentCall::new(CallKind::Write, "Write", "a.rs");
        for second in 0..100 {
            assert_eq!(circles.record_call(&shell("make", 2), at(second)), None);
            assert_eq!(circles.record_call(&write, at(second)), None);
            assert_eq!(circles.record_message("again"), None);
        }
    }

    #[test]
    fn the_same_words_in_a_row_are_a_circle_and_others_break_it() {
        let mut circles = LoopDetector::default();
        for _ in 1..LoopThresholds::default().repeats {
            assert_eq!(circles.record_message("I try again."), None);
        }
        assert_eq!(circles.record_message("Something else."), None);
        for _ in 1..LoopThresholds::default().repeats {
            assert_eq!(circles.record_message("I try again."), None);
        }
        assert!(circles.record_message("I try again.").is_some());
    }
}
