//! The word of a status, and the words that unmistakably mean the same.

use piton_core::attempt::Outcome;

/// What an agent says came of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerStatus {
    Completed,
    Failed,
    Blocked,
    NeedsHuman,
    Partial,
}

/// Each word with its status, as it reads in lower case with dashes. The first
/// word of a status is the one that prompts ask for.
const WORDS: &[(&str, AnswerStatus)] = &[
    ("completed", AnswerStatus::Completed),
    ("complete", AnswerStatus::Completed),
    ("done", AnswerStatus::Completed),
    ("finished", AnswerStatus::Completed),
    ("success", AnswerStatus::Completed),
    ("successful", AnswerStatus::Completed),
    ("succeeded", AnswerStatus::Completed),
    ("failed", AnswerStatus::Failed),
    ("fail", AnswerStatus::Failed),
    ("failure", AnswerStatus::Failed),
    ("error", AnswerStatus::Failed),
    ("blocked", AnswerStatus::Blocked),
    ("needs-human", AnswerStatus::NeedsHuman),
    ("need-human", AnswerStatus::NeedsHuman),
    ("needshuman", AnswerStatus::NeedsHuman),
    ("human-needed", AnswerStatus::NeedsHuman),
    ("humanneeded", AnswerStatus::NeedsHuman),
    ("partial", AnswerStatus::Partial),
    ("partially-completed", AnswerStatus::Partial),
    ("partially-complete", AnswerStatus::Partial),
    ("partially-done", AnswerStatus::Partial),
];

impl AnswerStatus {
    /// The status that a word means; none where it means none that is known.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let plain = normalize_word(word);
        let known = WORDS.iter().find(|(known, _)| *known == plain);
        known.map(|(_, status)| *status)
    }

    /// The word that prompts ask for.
    pub(super) fn as_str(self) -> &'static str {
        self.outcome().as_str()
    }

    /// The outcome of an attempt whose program ended well.
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Completed => Outcome::Completed,
            Self::Failed => Outcome::Failed,
            Self::Blocked => Outcome::Blocked,
            Self::NeedsHuman => Outcome::NeedsHuman,
            Self::Partial => Outcome::Partial,
        }
    }
}

/// A word in lower case, without what stands around it, its parts joined by
/// dashes.
fn normalize_word(word: &str) -> String {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let parts = word.split(|c: char| c.is_whitespace() || c == '_' || c == '-');
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmistakable_variants_mean_the_same_status() {
        let means = |words: &[&str], status| {
            for word in words {
                assert_eq!(AnswerStatus::parse(word), Some(status), "{word}");
            }
        };
        means(
            &["completed", "COMPLETED", "Done", "success!", "✅ complete"],
            AnswerStatus::Completed,
        );
        means(
            &["failed", "FAIL", "failure", "error"],
            AnswerStatus::Failed,
        );
        means(&["blocked", "Blocked."], AnswerStatus::Blocked);
        means(
            &[
                "needs-human",
                "needs_human",
                "NEEDS HUMAN",
                "human-needed",
                "needsHuman",
            ],
            AnswerStatus::NeedsHuman,
        );
        means(&["partial", "partially done"], AnswerStatus::Partial);
    }

    #[test]
    fn a_word_that_may_mean_something_else_is_no_status() {
        for word in [
            "",
            "ok",
            "STATUS",
            "not completed",
            "almost done",
            "running",
            "completed or failed",
            "undone",
        ] {
            assert_eq!(AnswerStatus::parse(word), None, "{word}");
        }
    }
}
