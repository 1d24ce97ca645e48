//! Texts of agents, cut where they are too long.

/// The beginning of a text, without blanks around it, in so many characters.
pub(super) fn shorten_text(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(chars_max) {
        // At the end of a word: half a secret would not be known for one.
        Some((end, _)) => {
            let cut = &text[..end];
            let word = cut.rfind(char::is_whitespace).filter(|at| end - at < 512);
            format!("{} …", cut[..word.unwrap_or(end)].trim_end())
        }
        None => text.to_owned(),
    }
}
