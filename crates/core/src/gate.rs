//! A gate: the script that says whether an item is done.

use serde::{Deserialize, Serialize};

use crate::quote::truncate_chars;
use crate::terminal::clean_line;

/// What must pass before an item is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Run by `sh -c` in the work tree; passes with exit status 0.
    pub script: String,
    /// What the agent is told when it fails.
    pub on_fail_prompt: String,
    /// How often the script is run at most.
    pub runs_max: u32,
    /// How long one run may take, in seconds.
    pub timeout_s: u64,
}

/// Whether a shell that ended with this status could not run its script at all:
/// it was not found, or is no program.
#[must_use]
pub fn is_script_unrunnable(exit: Option<i32>) -> bool {
    matches!(exit, Some(126 | 127))
}

/// How the gate of an item fared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRuns {
    /// How often the script was run.
    pub runs: u32,
    /// Whether the last run passed.
    pub passed: bool,
    /// Whether a run is under way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// The check was changed since the run under way began: what comes of that
    /// says nothing of the check as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
    /// The last run's output, its beginning and its end, at most 10,000 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The last run's exit status; -1 when it ran out of time, none when it ended by a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What was wrong, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The tree on which the last run ran; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How long the last run took, in seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_s: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(seconds: &u64) -> bool {
    *seconds == 0
}

/// What came of a run of a gate's script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// Whether it passed.
    pub passed: bool,
    /// It was ended from outside, or how it ended is not known: it does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Its exit status; -1 when it ran out of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The beginning and the end of its output, at most 10,000 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// What was wrong, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The tree on which it ran; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How long it took, in seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_s: u64,
}

/// So many lines of an excerpt stand at its head.
pub const HEAD_LINES: usize = 10;
/// So many stand at its tail.
pub const TAIL_LINES: usize = 20;
/// So many characters of a line are shown.
const LINE_CHARS_MAX: usize = 300;

/// What of a longer output is shown: its first lines and its last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutputExcerpt {
    /// The first lines.
    pub head: Vec<String>,
    /// How many lines between the two are not shown.
    pub lines_left_out: usize,
    /// The last lines, where not all of them stand at the head.
    pub tail: Vec<String>,
}

impl OutputExcerpt {
    /// Whether nothing was printed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// The lines as they are shown one below the other.
    #[must_use]
    pub fn shown_lines(&self) -> Vec<String> {
        let left_out = match self.lines_left_out {
            0 => None,
            1 => Some("… 1 line left out".to_owned()),
            more => Some(format!("… {more} lines left out")),
        };
        let head = self.head.iter().cloned();
        head.chain(left_out)
            .chain(self.tail.iter().cloned())
            .collect()
    }
}

/// The head and the tail of an output, at most [`HEAD_LINES`] and
/// [`TAIL_LINES`], without what moves the cursor of a terminal.
#[must_use]
pub fn excerpt_output(output: &str) -> OutputExcerpt {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let shown = |lines: &[&str]| lines.iter().map(|line| printable_line(line)).collect();
    if lines.len() <= HEAD_LINES + TAIL_LINES {
        let (head, tail) = lines.split_at(lines.len().min(HEAD_LINES));
        return OutputExcerpt {
            head: shown(head),
            lines_left_out: 0,
            tail: shown(tail),
        };
    }
    let end = lines.len() - TAIL_LINES;
    OutputExcerpt {
        head: shown(&lines[..HEAD_LINES]),
        lines_left_out: end - HEAD_LINES,
        tail: shown(&lines[end..]),
    }
}

/// A line as it may be printed: without what controls a terminal, and without its end
/// where it is long.
fn printable_line(line: &str) -> String {
    truncate_chars(&clean_line(line.trim_end()), LINE_CHARS_MAX)
}

/// An output of at most `chars_max` characters: its beginning and its end where
/// it is longer, with a line between them that says how much is missing.
#[must_use]
pub fn shorten_output(output: &str, chars_max: usize) -> String {
    let count = output.chars().count();
    if count <= chars_max {
        return output.to_owned();
    }
    // The line between them needs room, too.
    let room = chars_max.saturating_sub(60);
    let head_chars = room / 5;
    let tail_chars = room - head_chars;
    let cut = |at: usize| {
        output
            .char_indices()
            .nth(at)
            .map_or(output.len(), |(at, _)| at)
    };
    let (head, tail) = (
        &output[..cut(head_chars)],
        &output[cut(count - tail_chars)..],
    );
    let missing = count - head_chars - tail_chars;
    format!("{head}\n[… {missing} characters are left out here …]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> String {
        (1..=count).map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn a_short_output_is_shown_whole() {
        let shown = excerpt_output(&numbered(HEAD_LINES + TAIL_LINES)).shown_lines();
        assert_eq!(shown.len(), 30);
        assert_eq!(shown.join("\n") + "\n", numbered(30));
    }

    #[test]
    fn a_long_output_shows_its_head_and_its_tail_and_how_much_is_between() {
        let shown = excerpt_output(&numbered(1_000));
        assert_eq!(shown.head.last().map(String::as_str), Some("line 10"));
        assert_eq!(shown.lines_left_out, 970);
        assert_eq!(shown.tail.first().map(String::as_str), Some("line 981"));
        assert_eq!(shown.shown_lines()[10], "… 970 lines left out");
    }

    #[test]
    fn a_shown_line_moves_no_cursor_and_is_bounded() {
        assert_eq!(
            printable_line("\u{1b}[31mred\u{1b}[0m\r\u{7}\tend"),
            "red end"
        );
        let long = "x".repeat(1_000);
        assert_eq!(printable_line(&long).chars().count(), LINE_CHARS_MAX + 1);
    }

    #[test]
    fn a_shortened_output_keeps_its_beginning_and_its_end() {
        let text = format!("first{}last", "é".repeat(50_000));
        let short = shorten_output(&text, 10_000);
        assert!(short.chars().count() <= 10_000, "{}", short.chars().count());
        assert!(short.starts_with("first") && short.ends_with("last"));
        assert!(short.contains("characters are left out here"));
        assert_eq!(shorten_output("short", 10_000), "short");
    }
}
