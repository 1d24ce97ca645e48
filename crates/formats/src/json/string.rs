//! Strings: what stands between the quotes, and what it says.

use super::parse::{ParseStop, Scanner};
use crate::tree::Span;

impl Scanner<'_> {
    /// Reads the string whose quote is the next byte.
    pub(super) fn parse_string(&mut self) -> Result<(String, Span), ParseStop> {
        let mut span = self.current_span();
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
                None => return Err(self.stop_cut_string(span)),
                Some(b'"') => {
                    self.at += 1;
                    span.end = self.at;
                    return Ok((out, span));
                }
                Some(b'\\') => self.parse_escape(&mut out, span)?,
                Some(b'\n' | b'\r') => return Err(self.stop_broken_string(span)),
                Some(control) => {
                    // Text that was pasted holds many of them, for one reason.
                    if !told {
                        self.push_control_fault(control)?;
                    }
                    told = true;
                    out.push(char::from(control));
                    self.at += 1;
                }
            }
        }
    }

    fn stop_cut_string(&mut self, open: Span) -> ParseStop {
        let span = self.current_span();
        let message = format!(
            "the text ends within the string that begins in line {}, column {}",
            open.line, open.column
        );
        self.stop_with_fault(
            span,
            message,
            "close the string; the file may have been cut off",
        )
    }

    fn stop_broken_string(&mut self, open: Span) -> ParseStop {
        let span = self.current_span();
        let message = format!(
            "a line ends within the string that begins in column {}",
            open.column
        );
        self.stop_with_fault(
            span,
            message,
            "close the string, or write the line break as `\\n`",
        )
    }

    fn push_control_fault(&mut self, control: u8) -> Result<(), ParseStop> {
        let span = self.next_char_span();
        self.push_fault(
            span,
            format!("the control character U+{control:04X} within a string"),
            &format!("write it as `\\u{control:04x}`"),
        )
    }

    /// Reads an escape, which begins at the next byte.
    fn parse_escape(&mut self, out: &mut String, open: Span) -> Result<(), ParseStop> {
        let start = self.current_span();
        self.at += 1;
        let Some(next) = self.text[self.at..].chars().next() else {
            return Err(self.stop_cut_string(open));
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
                let said = self.parse_unicode_escape(start)?;
                out.push(said);
                return Ok(());
            }
            // The next round tells of it; a line break is no part of an escape.
            '\u{0}'..='\u{1f}' => {
                return self.push_fault(start, "a `\\` that escapes nothing".to_owned(), BACKSLASH);
            }
            _ => {
                let span = Span {
                    end: self.at + next.len_utf8(),
                    ..start
                };
                self.push_fault(span, format!("the unknown escape `\\{next}`"), BACKSLASH)?;
                next
            }
        };
        self.at += next.len_utf8();
        out.push(said);
        Ok(())
    }

    /// The character of `\uXXXX`, or of two of them; the digits come next.
    fn parse_unicode_escape(&mut self, start: Span) -> Result<char, ParseStop> {
        let Some(first) = self.parse_hex4() else {
            let span = Span {
                end: self.at,
                ..start
            };
            self.push_fault(
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
                .parse_hex4()
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
        self.push_fault(
            span,
            format!("`\\u{first:04x}`, one half of a character, without the other"),
            "write both halves one after the other, or the character itself",
        )?;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn parse_hex4(&mut self) -> Option<u32> {
        let digits = self.bytes().get(self.at..self.at + 4)?;
        let mut value = 0;
        for digit in digits {
            value = value * 16 + char::from(*digit).to_digit(16)?;
        }
        self.at += 4;
        Some(value)
    }

    /// Reads a string in single quotes, which JSON does not have.
    pub(super) fn parse_single_quoted(&mut self) -> Result<(String, Span), ParseStop> {
        let mut span = self.current_span();
        let rest = &self.text[self.at + 1..];
        let line = rest.split('\n').next().unwrap_or_default();
        let Some(len) = line.find('\'') else {
            return Err(self.stop_with_fault(
                span,
                "a single quote, which JSON does not know".to_owned(),
                "put strings in double quotes",
            ));
        };
        self.at += len + 2;
        span.end = self.at;
        self.push_fault(
            span,
            "a string in single quotes".to_owned(),
            "put it in double quotes",
        )?;
        Ok((line[..len].to_owned(), span))
    }
}

const BACKSLASH: &str = "write a backslash as `\\\\`";
