//! What a tool answers: words for an agent, the same as data, and never more
//! than an agent can read.

use piton_engine::Failure;
use piton_engine::answer::{Answer, LabelledAnswer};
use serde_json::Value;

/// An answer has at most so many characters of text, and as many of JSON.
pub(super) const CHARS_MAX: usize = 8_000;

/// What a tool answers.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolAnswer {
    pub(super) text: String,
    pub(super) data: Option<Value>,
    pub(super) is_error: bool,
    /// The command that shows all of it.
    pub(super) whole: String,
}

impl ToolAnswer {
    /// Words alone.
    pub(super) fn from_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The same, as data too.
    pub(super) fn with_data(self, data: &impl Answer) -> Self {
        Self {
            data: serde_json::to_value(LabelledAnswer::new(data)).ok(),
            ..self
        }
    }

    /// The same, of which `command` shows all.
    pub(super) fn with_full_command(self, command: impl Into<String>) -> Self {
        Self {
            whole: command.into(),
            ..self
        }
    }

    /// What could not be done: what happened, why, and what to do.
    pub(super) fn from_failure(failure: &Failure) -> Self {
        let mut text = format!("error: {} [{}]", failure.message, failure.code);
        for cause in failure.causes() {
            text.push_str(&format!("\nbecause: {cause}"));
        }
        if let Some(hint) = &failure.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        Self {
            is_error: true,
            ..Self::from_text(text).with_data(failure)
        }
    }

    /// No longer than an agent can read. What is left out is said; data that
    /// would be longer is left out whole, since half of it would mislead.
    pub(super) fn shorten_to_limit(self) -> Self {
        let is_short = |data: &Value| data.to_string().chars().count() <= CHARS_MAX;
        Self {
            text: shorten_text(self.text, &self.whole),
            data: self.data.filter(is_short),
            ..self
        }
    }
}

fn shorten_text(text: String, whole: &str) -> String {
    let length = text.chars().count();
    if length <= CHARS_MAX {
        return text;
    }
    let see = match whole {
        "" => String::new(),
        command => format!("; all of it: `{command}`"),
    };
    // The number has no more digits than the whole length has.
    let note = |left_out: usize| format!("\n… {left_out} more characters left out{see}");
    let kept = CHARS_MAX.saturating_sub(note(length).chars().count());
    let mut text: String = text.chars().take(kept).collect();
    text.push_str(&note(length - kept));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize)]
    struct Words {
        text: String,
    }

    piton_engine::name_schema!(Words, "piton.words/1");

    #[test]
    fn an_answer_is_never_longer_than_it_may_be_and_says_what_is_missing() {
        for length in [
            0,
            1,
            CHARS_MAX - 1,
            CHARS_MAX,
            CHARS_MAX + 1,
            10 * CHARS_MAX,
        ] {
            let answer =
                ToolAnswer::from_text("ä".repeat(length)).with_full_command("piton status");
            let text = "x".repeat(length);
            let answer = answer.with_data(&Words { text }).shorten_to_limit();
            assert!(answer.text.chars().count() <= CHARS_MAX, "{length}");
            let is_cut = answer.text.contains("left out; all of it: `piton status`");
            assert_eq!(is_cut, length > CHARS_MAX, "{length}");
            assert_eq!(answer.data.is_some(), length < CHARS_MAX - 50, "{length}");
        }
    }

    #[test]
    fn a_failure_says_what_happened_its_code_and_what_to_do() {
        let failure = Failure::new("item.unknown", "no run has a node `x`").with_hint("look again");
        let answer = ToolAnswer::from_failure(&failure);
        assert!(answer.is_error);
        assert_eq!(
            answer.text,
            "error: no run has a node `x` [item.unknown]\nhint: look again"
        );
    }
}
