//! What piton notes behind the words that it writes into a `progress.md`.
//!
//! A comment, which no reader of Markdown shows, names the entry of the journal
//! that a line stands for: `<!-- piton: entry-20260115-103000-k3f -->`. Words
//! alone would not do: two sessions begin on one day, a task is blocked twice
//! with the same words, and neither a second showing nor a second reading may
//! take one for the other.

use std::fmt::Write as _;

use jiff::Timestamp;
use piton_core::entry::EntryType;

/// The word that such a comment begins with.
const PITON: &str = "piton";
/// What stands before the name of the entry that resolved a blocker.
const RESOLVED: &str = "resolved";
/// What stands before what the words do not tell of an entry.
const AT: &str = "at";
const SPEC: &str = "spec";
const TASK: &str = "task";
const TYPE: &str = "type";

/// What piton noted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PitonNote {
    /// The entry that the words stand for; none where they stand for none, or
    /// where piton only resolved what a person or another program wrote.
    pub name: Option<String>,
    /// What else there is to know of that entry.
    pub beside: NoteDetails,
    /// The entry that resolved a blocker.
    pub resolved_by: Option<String>,
    /// What else there is to know of that one.
    pub resolved: NoteDetails,
}

/// What an entry says that is not to be read from the words for it: a clone
/// that has only the file knows it from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteDetails {
    /// What kind of entry it is, where it is not the usual one.
    pub kind: Option<EntryType>,
    /// When it happened, where its name does not tell.
    pub at: Option<Timestamp>,
    /// Its spec.
    pub spec: Option<String>,
    /// Its task, where the words name another one; empty where it has none.
    pub task: Option<String>,
}

impl NoteDetails {
    fn render_parts(&self) -> impl Iterator<Item = String> {
        let said = [
            (TYPE, self.kind.map(|kind| kind.as_str().to_owned())),
            (AT, self.at.map(|at| at.to_string())),
            (SPEC, self.spec.as_deref().map(escape_note)),
            (TASK, self.task.as_deref().map(escape_note)),
        ];
        let part = |(key, value): (&str, Option<String>)| {
            value.map(|value| format!("{key} {value}").trim_end().to_owned())
        };
        said.into_iter().filter_map(part)
    }

    /// Stores what a part of a note says; an unknown part says nothing.
    fn set_field(&mut self, key: &str, value: &str) {
        match key {
            TYPE => self.kind = EntryType::parse(value),
            AT => self.at = value.parse().ok(),
            SPEC => self.spec = Some(unescape_note(value)),
            TASK => self.task = Some(unescape_note(value)),
            _ => {}
        }
    }
}

impl PitonNote {
    /// The note for the entry of that name.
    #[must_use]
    pub fn for_entry(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..Self::default()
        }
    }

    /// Whether piton wrote the words; it may only have resolved them.
    #[must_use]
    pub fn is_written_by_piton(&self) -> bool {
        self.name.is_some() || self.resolved_by.is_none()
    }

    /// The comment, with a blank before it.
    pub(in crate::ralph_dir) fn render_comment(&self) -> String {
        let resolved = self.resolved_by.as_deref();
        let resolved = resolved.map(|name| format!("{RESOLVED} {}", escape_note(name)));
        let name = self.name.as_deref().map(escape_note);
        let parts = name.into_iter().chain(self.beside.render_parts());
        let parts = parts.chain(resolved).chain(self.resolved.render_parts());
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() {
            return format!(" <!-- {PITON} -->");
        }
        format!(" <!-- {PITON}: {} -->", parts.join(", "))
    }
}

/// A text that ends neither a comment nor a part of one.
fn escape_note(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let ends = matches!(c, '%' | ',' | '<' | '>') || c.is_whitespace() || c.is_control();
        if ends || (c == '-' && out.ends_with('-')) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                write!(out, "%{byte:02X}").expect("a string takes all");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The text that [`escape_note`] wrote.
fn unescape_note(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let hex = more.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = more.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Words without the note behind them, and the note.
pub(super) fn split_note(text: &str) -> (&str, Option<PitonNote>) {
    let found = || {
        let bare = text.trim_end().strip_suffix("-->")?;
        let at = bare.rfind("<!--")?;
        let inside = bare[at + 4..].trim().strip_prefix(PITON)?;
        let mut own = PitonNote::default();
        if !inside.is_empty() {
            for part in inside.strip_prefix(':')?.split(',').map(str::trim) {
                let (key, value) = part.split_once(' ').unwrap_or((part, ""));
                let is_word = [RESOLVED, AT, SPEC, TASK, TYPE].contains(&key);
                if key == RESOLVED && !value.is_empty() {
                    own.resolved_by = Some(unescape_note(value.trim()));
                } else if is_word && own.resolved_by.is_some() {
                    own.resolved.set_field(key, value.trim());
                } else if is_word && own.name.is_some() {
                    own.beside.set_field(key, value.trim());
                } else {
                    own.name = Some(unescape_note(part));
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
            PitonNote::default(),
            PitonNote::for_entry("entry-1"),
            PitonNote {
                resolved_by: Some("entry-2".to_owned()),
                ..PitonNote::for_entry("entry-1")
            },
            PitonNote {
                resolved_by: Some("entry-2".to_owned()),
                ..PitonNote::default()
            },
            PitonNote::for_entry("an id, of others -- <so> 100%"),
            PitonNote {
                beside: NoteDetails {
                    kind: Some(EntryType::MilestoneReached),
                    at: Some("2026-01-15T10:30:00.5Z".parse().expect("a time")),
                    spec: Some("a spec, of two".to_owned()),
                    task: Some(String::new()),
                },
                resolved_by: Some("task".to_owned()),
                resolved: NoteDetails {
                    task: Some("lay--it".to_owned()),
                    ..NoteDetails::default()
                },
                ..PitonNote::for_entry("at")
            },
        ] {
            let text = format!("words{}", own.render_comment());
            assert_eq!(split_note(&text), ("words", Some(own)), "{text}");
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
            assert_eq!(split_note(text), (text, None));
        }
    }
}
