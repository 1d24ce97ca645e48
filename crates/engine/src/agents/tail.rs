//! The end of a text that may grow without end.

/// The last part of what was added, in bounded memory.
#[derive(Debug)]
pub(super) struct TextTail {
    text: String,
    bytes_max: usize,
}

impl TextTail {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            text: String::new(),
            bytes_max,
        }
    }

    /// Adds a text as lines of its own.
    pub(super) fn push_lines(&mut self, text: &str) {
        self.append(text);
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Adds a text right behind the one before.
    pub(super) fn append(&mut self, text: &str) {
        self.text.push_str(text);
        // Cut only when twice as much is there: each byte is moved once.
        if self.text.len() > 2 * self.bytes_max {
            self.truncate_front();
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn into_string(mut self) -> String {
        self.truncate_front();
        self.text
    }

    fn truncate_front(&mut self) {
        let Some(over) = self.text.len().checked_sub(self.bytes_max) else {
            return;
        };
        let start = (over..=self.text.len())
            .find(|at| self.text.is_char_boundary(*at))
            .unwrap_or(self.text.len());
        self.text.drain(..start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_cut_at_a_character() {
        let mut tail = TextTail::new(5);
        for _ in 0..100 {
            tail.append("äö");
        }
        assert!(tail.as_str().len() <= 14);
        tail.push_lines("x");
        assert_eq!(tail.into_string(), "öx\n");
    }
}
