//! What a program prints, told apart: JSON, one object a line or one over many
//! lines, and everything else.
//!
//! stdout and stderr go into the same file, so that complaints stand between
//! the lines of JSON. They are kept: where there is no result, they say why.

use serde_json::Value;

use super::signs;
use super::tail::TextTail;
use crate::agents::answer::strip_ansi;

/// So much of what is no JSON is kept, in bytes.
const NOTES_BYTES: usize = 64 << 10;
/// Longest object over many lines, in bytes.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;

/// What a line is.
#[derive(Debug, PartialEq)]
pub(super) enum JsonPart {
    /// An object.
    Object(Value),
    /// It begins like JSON and is none, or is JSON and no object.
    Broken,
}

/// Reads lines as JSON and keeps the others.
#[derive(Debug)]
pub(super) struct JsonStream {
    notes: TextTail,
    /// An object over many lines that is not at its end yet.
    document: Option<String>,
}

impl JsonStream {
    pub(super) fn new() -> Self {
        Self {
            notes: TextTail::new(NOTES_BYTES),
            document: None,
        }
    }

    /// What a line brings; nothing for a note, and within a document.
    pub(super) fn parse_line(&mut self, line: &str) -> Vec<JsonPart> {
        // Programs colour their complaints, and some write over them.
        if line.chars().any(|c| c.is_control() && c != '\t') {
            let clean = strip_ansi(line);
            return clean
                .lines()
                .flat_map(|line| self.parse_clean_line(line))
                .collect();
        }
        self.parse_clean_line(line)
    }

    fn parse_clean_line(&mut self, line: &str) -> Vec<JsonPart> {
        // Within a document lines are indented; what is not is no part of it.
        if line.starts_with("{\"")
            && let Ok(value) = serde_json::from_str(line)
        {
            self.abandon_document();
            return split_array(value);
        }
        match self.document.take() {
            Some(document) => self.continue_document(document, line),
            None => self.begin_document(line),
        }
    }

    fn begin_document(&mut self, line: &str) -> Vec<JsonPart> {
        let bare = line.trim();
        if bare == "{" || bare == "[" {
            self.document = Some(format!("{line}\n"));
            return Vec::new();
        }
        if !bare.starts_with(['{', '[']) {
            if !bare.is_empty() {
                self.notes.push_lines(bare);
            }
            return Vec::new();
        }
        if let Ok(value) = serde_json::from_str(bare) {
            return split_array(value);
        }
        self.notes.push_lines(signs::first_chars(bare, 1_000));
        vec![JsonPart::Broken]
    }

    fn continue_document(&mut self, mut document: String, line: &str) -> Vec<JsonPart> {
        document.push_str(line);
        document.push('\n');
        if line.starts_with(['}', ']'])
            && let Ok(value) = serde_json::from_str(&document)
        {
            return split_array(value);
        }
        let ends = line.starts_with(['}', ']']);
        let is_long = document.len() > DOCUMENT_BYTES_MAX;
        self.document = Some(document);
        // Read once, at its end: what is none then will not become one.
        if ends || is_long {
            self.abandon_document();
        }
        Vec::new()
    }

    /// What began like a document was none.
    fn abandon_document(&mut self) {
        if let Some(document) = self.document.take() {
            self.notes.push_lines(&document);
        }
    }

    /// The complaints of the program, their end.
    pub(super) fn into_notes(mut self) -> String {
        self.abandon_document();
        self.notes.into_string()
    }
}

fn split_array(value: Value) -> Vec<JsonPart> {
    if let Value::Array(values) = value {
        return values.into_iter().map(classify_value).collect();
    }
    vec![classify_value(value)]
}

fn classify_value(value: Value) -> JsonPart {
    if value.is_object() {
        JsonPart::Object(value)
    } else {
        JsonPart::Broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<JsonPart>, String) {
        let mut stream = JsonStream::new();
        let parts = text
            .lines()
            .flat_map(|line| stream.parse_line(line))
            .collect();
        (parts, stream.into_notes())
    }

    fn object(text: &str) -> JsonPart {
        JsonPart::Object(serde_json::from_str(text).expect("an object"))
    }

    #[test]
    fn complaints_between_the_lines_are_kept() {
        let (parts, notes) = read("Warning: x\n{\"a\":1}\n\u{1b}[31mError: y\u{1b}[0m\n{\"a\":\n");
        assert_eq!(parts, [object("{\"a\":1}"), JsonPart::Broken]);
        assert_eq!(notes, "Warning: x\nError: y\n{\"a\":\n");
    }

    #[test]
    fn an_object_over_many_lines_is_one() {
        let (parts, notes) = read("note\n{\n  \"a\": {\n    \"b\": 1\n  }\n}\nbye");
        assert_eq!(parts, [object("{\"a\":{\"b\":1}}")]);
        assert_eq!(notes, "note\nbye\n");
        let (parts, _) = read("[{\"a\":1},{\"b\":2}]");
        assert_eq!(parts, [object("{\"a\":1}"), object("{\"b\":2}")]);
    }

    #[test]
    fn what_only_begins_like_an_object_hides_no_line_after_it() {
        let (parts, notes) = read("{\n  cause: 1\n}\n{\"type\":\"result\"}\n");
        assert_eq!(parts, [object("{\"type\":\"result\"}")]);
        assert_eq!(notes, "{\n  cause: 1\n}\n");
    }
}
