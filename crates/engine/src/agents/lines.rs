//! Cuts what is added to a growing file into lines.
//!
//! Lines of up to 64 MB are given whole. What is longer is passed over in
//! bounded memory and counted, so that no program can fill the memory of piton.

use std::borrow::Cow;

/// Longest line that is given, in bytes.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// What is kept allocated between lines, in bytes.
const KEPT_BYTES: usize = 1 << 20;

/// A line, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundedLine<'l> {
    /// Its text; what is no UTF-8 became U+FFFD.
    Text(Cow<'l, str>),
    /// It was longer than piton reads: so many bytes.
    TooLong(u64),
}

/// Takes bytes in as they come and gives lines.
#[derive(Debug)]
pub struct LineSplitter {
    /// The line that has no end yet.
    open: Vec<u8>,
    /// How long that line is, where it is longer than it may be.
    over: Option<u64>,
    bytes_max: usize,
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::new()
    }
}

impl LineSplitter {
    /// At the beginning of a file.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_bytes(LINE_BYTES_MAX)
    }

    /// The same with another longest line.
    #[must_use]
    pub fn with_max_bytes(bytes_max: usize) -> Self {
        Self {
            open: Vec::new(),
            over: None,
            bytes_max,
        }
    }

    /// Takes what was added; each line that ended goes to `each`.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(BoundedLine<'_>)) {
        // Only what is new is looked at: a long line costs its length once.
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.emit_line(&bytes[..end], &mut each);
            bytes = &bytes[end + 1..];
        }
        self.buffer_bytes(bytes);
    }

    /// Gives the last line, where it has no end.
    pub fn finish(&mut self, mut each: impl FnMut(BoundedLine<'_>)) {
        if self.over.is_some() || !self.open.is_empty() {
            self.emit_line(&[], &mut each);
        }
    }

    fn emit_line(&mut self, rest: &[u8], each: &mut impl FnMut(BoundedLine<'_>)) {
        if self.open.is_empty() && self.over.is_none() && rest.len() <= self.bytes_max {
            each(BoundedLine::Text(decode_line(rest)));
            return;
        }
        self.buffer_bytes(rest);
        match self.over.take() {
            Some(bytes) => each(BoundedLine::TooLong(bytes)),
            None => each(BoundedLine::Text(decode_line(&self.open))),
        }
        self.open.clear();
        self.open.shrink_to(KEPT_BYTES);
    }

    fn buffer_bytes(&mut self, bytes: &[u8]) {
        let more = bytes.len() as u64;
        if let Some(over) = &mut self.over {
            *over += more;
        } else if self.open.len() + bytes.len() > self.bytes_max {
            self.over = Some(self.open.len() as u64 + more);
            self.open = Vec::new();
        } else {
            self.open.extend_from_slice(bytes);
        }
    }
}

fn decode_line(line: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(chunks: &[&[u8]], bytes_max: usize) -> Vec<String> {
        let mut lines = LineSplitter::with_max_bytes(bytes_max);
        let mut out = Vec::new();
        let mut each = |line: BoundedLine<'_>| {
            out.push(match line {
                BoundedLine::Text(text) => text.into_owned(),
                BoundedLine::TooLong(bytes) => format!("<{bytes}>"),
            });
        };
        for chunk in chunks {
            lines.push(chunk, &mut each);
        }
        lines.finish(&mut each);
        out
    }

    #[test]
    fn lines_are_the_same_wherever_the_bytes_are_cut() {
        let whole = "one\r\n\nzw\u{f6}lf\nlast".as_bytes();
        for at in 0..=whole.len() {
            let (a, b) = whole.split_at(at);
            assert_eq!(cut(&[a, b], 100), ["one", "", "zwölf", "last"], "{at}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_counted_and_the_next_one_is_read() {
        let lines = cut(&[b"12345", b"67890", b"1\nok\n", b"1234567890123"], 10);
        assert_eq!(lines, ["<11>", "ok", "<13>"]);
        assert_eq!(cut(&[b"1234567890\n"], 10), ["1234567890"]);
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(cut(&[b"a\xff\xfeb\n"], 10), ["a\u{fffd}\u{fffd}b"]);
    }

    #[test]
    fn a_line_of_200_mb_takes_little_memory_and_one_of_a_few_is_given() {
        let mut lines = LineSplitter::new();
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..200 {
            lines.push(&chunk, |_| panic!("no line has ended"));
            assert!(lines.open.capacity() <= 2 * LINE_BYTES_MAX);
        }
        assert!(lines.open.capacity() <= KEPT_BYTES);
        let mut seen = Vec::new();
        lines.push(b"\nnext\n", |line| {
            seen.push(match line {
                BoundedLine::Text(text) => text.len() as u64,
                BoundedLine::TooLong(bytes) => bytes,
            });
        });
        assert_eq!(seen, [200 << 20, 4]);
        for _ in 0..10 {
            lines.push(&chunk, |_| panic!("no line has ended"));
        }
        let mut long = 0;
        lines.push(b"\n", |line| {
            if let BoundedLine::Text(text) = line {
                long = text.len();
            }
        });
        assert_eq!(long, 10 << 20);
    }
}
