//! Strings: what stands between the quotes, and what it says.

use super::parse::{Scanner, Stop};
use crate::tree::Span;

impl Scanner<'_> {
    /// Reads the string whose quote is the next byte.
    pub(super) fn string(&mut self) -> Result<(String, Span), Stop> {
        let mut span = self.here();
        let mut out = String::new();
        let mut told = false;
        self.at += 1;
        loop {
            let run = self.at;
            while self
                .peek()
                .is_some_and(|b| b >= b' ' && b != b'"' && b != b'\\')
            {
                self.at += 1;
            }
            out.push_str(&self.text[run..self.at]);
            match self.peek() {
                None => return Err(self.cut_in_string(span)),
                Some(b'"') => {
                    self.at += 1;
                    span.end = self.at;
                    return Ok((out, span));
                }
                Some(b'\\') => self.escape(&mut out, span)?,
                Some(b'\n' | b'\r') => return Err(self.broken_string(span)),
                Some(control) => {
                    // Text that was pasted holds many of them, for one reason.
                    if !told {
                        self.control_in_string(control)?;
                    }
                    told = true;
                    out.push(char::from(control));
                    self.at += 1;
                }
            }
        }
    }

    fn cut_in_string(&mut self, open: Span) -> Stop {
        let span = self.here();
        let message = format!(
            "the text ends within the string that begins in line {}, column {}",
            open.line, open.column
        );
        self.stop(
            span,
            message,
            "close the string; the file may have been cut off",
        )
    }

    fn broken_string(&mut self, open: Span) -> Stop {
        let span = self.here();
        let message = format!(
            "a line ends within the string that begins in column {}",
            open.column
        );
        self.stop(
            span,
            message,
            "close the string, or write the line break as `\\n`",
        )
    }

    fn control_in_string(&mut self, control: u8) -> Result<(), Stop> {
        let span = self.point();
        self.fault(
            span,
            format!("the control character U+{control:04X} within a string"),
            &format!("write it as `\\u{control:04x}`"),
        )
    }

    /// Reads an escape, which begins at the next byte.
    fn escape(&mut self, out: &mut String, open: Span) -> Result<(), Stop> {
        let start = self.here();
        self.at += 1;
        let Some(next) = self.text[self.at..].chars().next() else {
            return Err(self.cut_in_string(open));
        };
        let said = match next {
            '"' | '\\' | '/' => next,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                self.at += 1;
                let said = self.unicode(start)?;
                out.push(said);
                return Ok(());
            }
            // The next round tells of it; a line break is no part of an escape.
            '\u{0}'..='\u{1f}' => {
                return self.fault(start, "a `\\` that escapes nothing".to_owned(), BACKSLASH);
            }
            _ => {
                let span = Span {
                    end: self.at + next.len_utf8(),
                    ..start
                };
                self.fault(span, format!("the unknown escape `\\{next}`"), BACKSLASH)?;
                next
            }
        };
        self.at += next.len_utf8();
        out.push(said);
        Ok(())
    }

    /// The character of `\uXXXX`, or of two of them; the digits come next.
    fn unicode(&mut self, start: Span) -> Result<char, Stop> {
        let Some(first) = self.hex4() else {
            let span = Span {
                end: self.at,
                ..start
            };
            self.fault(
                span,
                "`\\u` without four hexadecimal digits".to_owned(),
                "write all four digits, or `\\\\u` for a backslash and a u",
            )?;
            return Ok(char::REPLACEMENT_CHARACTER);
        };
        if let Some(said) = char::from_u32(first) {
            return Ok(said);
        }
        let after = self.at;
        if first < 0xdc00 && self.bytes()[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let second = self
                .hex4()
                .filter(|second| (0xdc00..0xe000).contains(second));
            if let Some(second) = second {
                let said = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(said).expect("two halves make one character"));
            }
            self.at = after;
        }
        let span = Span {
            end: self.at,
            ..start
        };
        self.fault(
            span,
            format!("`\\u{first:04x}`, one half of a character, without the other"),
            "write both halves one after the other, or the character itself",
        )?;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.bytes().get(self.at..self.at + 4)?;
        let mut value = 0;
        for digit in digits {
            value = value * 16 + char::from(*digit).to_digit(16)?;
        }
        self.at += 4;
        Some(value)
    }

    /// Reads a string in single quotes, which JSON does not have.
    pub(super) fn single_quoted(&mut self) -> Result<(String, Span), Stop> {
        let mut span = self.here();
        let rest = &self.text[self.at + 1..];
        let line = rest.split('\n').next().unwrap_or_default();
        let Some(len) = line.find('\'') else {
            return Err(self.stop(
                span,
                "a single quote, which JSON does not know".to_owned(),
                "put strings in double quotes",
            ));
        };
        self.at += len + 2;
        span.end = self.at;
        self.fault(
            span,
            "a string in single quotes".to_owned(),
            "put it in double quotes",
        )?;
        Ok((line[..len].to_owned(), span))
    }
}

const BACKSLASH: &str = "write a backslash as `\\\\`";
