//! Cuts what is added to a growing file into lines.

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// Its text, without its end.
    Text(&'l str),
    /// It was longer than what is read; so many bytes.
    TooLong(u64),
}

/// What of a line came until now.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// Nothing came yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes more in, and hands over the lines that are whole now.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        for byte in bytes {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.begun);
                each(Line::Text(&String::from_utf8_lossy(&line)));
            } else {
                self.begun.push(*byte);
            }
        }
    }

    /// Hands over the last line, which has no end.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        let line = std::mem::take(&mut self.begun);
        if !line.is_empty() {
            each(Line::Text(&String::from_utf8_lossy(&line)));
        }
    }
}
