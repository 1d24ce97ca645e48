//! Edits of a text by bytes.

/// Text instead of a range of bytes.
pub(crate) struct ByteEdit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: String,
}

/// The text with edits that do not overlap. Of two at one place the one that
/// was noted first comes first.
pub(crate) fn apply_edits(text: &str, mut edits: Vec<ByteEdit>) -> String {
    edits.sort_by_key(|edit| edit.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(&text[at..edit.start]);
        out.push_str(&edit.text);
        at = edit.end;
    }
    out.push_str(&text[at..]);
    out
}
