//! What piton notes behind the words that it writes into a `progress.md`.
//!
//! A comment, which no reader of Markdown shows, names the entry of the journal
//! that a line stands for: `<!-- piton: entry-20260115-103000-k3f -->`. Words
//! alone would not do: two sessions begin on one day, a task is blocked twice
//! with the same words, and neither a second showing nor a second reading may
//! take one for the other.

/// The word that such a comment begins with.
const PITON: &str = "piton";
/// What stands before the name of the entry that resolved a blocker.
const RESOLVED: &str = "resolved ";

/// What piton noted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// The entry that the words stand for; none where they stand for none, or
    /// where piton only resolved what somebody else wrote.
    pub name: Option<String>,
    /// The entry that resolved a blocker.
    pub resolved_by: Option<String>,
}

impl Own {
    /// The note for the entry of that name.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            resolved_by: None,
        }
    }

    /// Whether piton wrote the words; it may only have resolved them.
    #[must_use]
    pub fn is_writer(&self) -> bool {
        self.name.is_some() || self.resolved_by.is_none()
    }

    /// The comment, with a blank before it.
    pub(in crate::ralph_dir) fn comment(&self) -> String {
        let resolved = self
            .resolved_by
            .as_deref()
            .map(|name| format!("{RESOLVED}{name}"));
        let names: Vec<&str> = self
            .name
            .as_deref()
            .into_iter()
            .chain(resolved.as_deref())
            .collect();
        if names.is_empty() {
            return format!(" <!-- {PITON} -->");
        }
        format!(" <!-- {PITON}: {} -->", names.join(", "))
    }
}

/// Words without the note behind them, and the note.
pub(super) fn parted(text: &str) -> (&str, Option<Own>) {
    let found = || {
        let bare = text.trim_end().strip_suffix("-->")?;
        let at = bare.rfind("<!--")?;
        let inside = bare[at + 4..].trim().strip_prefix(PITON)?;
        let mut own = Own::default();
        if !inside.is_empty() {
            for name in inside.strip_prefix(':')?.split(',').map(str::trim) {
                match name.strip_prefix(RESOLVED) {
                    Some(name) => own.resolved_by = Some(name.trim().to_owned()),
                    None => own.name = Some(name.to_owned()),
                }
            }
        }
        Some((text[..at].trim_end(), own))
    };
    match found() {
        Some((words, own)) => (words, Some(own)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        for own in [
            Own::default(),
            Own::named("entry-1"),
            Own {
                resolved_by: Some("entry-2".to_owned()),
                ..Own::named("entry-1")
            },
            Own {
                name: None,
                resolved_by: Some("entry-2".to_owned()),
            },
        ] {
            let text = format!("words{}", own.comment());
            assert_eq!(parted(&text), ("words", Some(own)), "{text}");
        }
    }

    #[test]
    fn comments_of_others_are_words() {
        for text in [
            "a <!-- b -->",
            "a <!-- pitons -->",
            "a",
            "a -->",
            "<!-- piton: x --> a",
        ] {
            assert_eq!(parted(text), (text, None));
        }
    }
}
