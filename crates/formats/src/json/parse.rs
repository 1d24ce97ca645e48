//! From text to the tree.

use std::collections::HashMap;

use crate::conflict;
use crate::tree::{
    DEPTH_MAX, FAULTS_MAX, Fault, Key, Map, Node, Parsed, Scalar, Span, Style, Value,
};

/// Up to this many keys a mapping is searched, beyond it they are hashed.
const KEYS_SEARCHED_MAX: usize = 16;

/// How many bytes [`parse_stream`] may read again for each byte of its text.
///
/// Finding the next record behind a broken one can lead over the same bytes
/// more than once; a text that was made to do so must not take for ever.
const REREAD_MAX: usize = 8;

const TRAILING_HINT: &str =
    "a file holds one value: remove what follows it, or a bracket that closes too early";

const VALUE_HINT: &str =
    "write text in double quotes, a number, `true`, `false`, `null`, a list or a mapping";

const BOM: &str = "\u{feff}";

/// Whether `text` begins with a byte order mark.
///
/// [`parse`] passes over it, though RFC 8259 forbids to write one.
pub fn has_bom(text: &str) -> bool {
    text.starts_with(BOM)
}

/// Reads `text` as one JSON value.
///
/// A leading byte order mark and CRLF are accepted. After a mistake whose
/// meaning is plain (a missing or an additional comma, a comment, a bad
/// literal, escape or number, a duplicate key) reading goes on; the value then
/// has `null` where nothing could be read, and is fit for telling what else is
/// wrong, not for work. Any other mistake ends it without a value. The size of
/// `text` is the caller's to bound.
pub fn parse(text: &str) -> Parsed {
    let mut scanner = Scanner::new(text);
    let root = scanner.document().ok();
    let parsed = Parsed {
        root,
        faults: scanner.faults,
    };
    conflict::blamed(parsed, text)
}

/// Reads `text` as any number of JSON values one after the other.
///
/// A record may span lines, as a pretty printer writes it. Each has its own
/// faults; one that has any is to be skipped. Behind a broken one reading goes
/// on at the next line that begins like a record.
pub fn parse_stream(text: &str) -> Vec<Parsed> {
    let mut scanner = Scanner::new(text);
    let mut out = Vec::new();
    let mut reread_left = text.len().saturating_mul(REREAD_MAX);
    loop {
        let blanks = scanner.blanks();
        if blanks.is_ok() && scanner.peek().is_none() {
            // A comment behind the last record.
            if !scanner.faults.is_empty() {
                out.push(scanner.take(None));
            }
            return out;
        }
        let (start, place) = (scanner.at, scanner.place);
        let value = blanks.and_then(|()| scanner.value(0));
        let stopped = value.is_err();
        out.push(scanner.take(value.ok()));
        if stopped {
            let next = next_record(text, start, scanner.at.max(start + 1));
            reread_left = reread_left.saturating_sub(scanner.at.saturating_sub(next));
            if reread_left == 0 {
                return out;
            }
            scanner.at = next;
            // Lines are counted forwards only.
            scanner.place = place;
        }
    }
}

/// Where reading goes on behind a record that began at `start` and could not
/// be read beyond `stop`: at a mapping at the beginning of a line, which nobody
/// writes inside of another, or at any value at the beginning of a later line.
fn next_record(text: &str, start: usize, stop: usize) -> usize {
    let bytes = text.as_bytes();
    let begins = |at: usize, any: bool| match bytes.get(at) {
        Some(b'{') => true,
        Some(b'[' | b'"' | b'-' | b'0'..=b'9' | b'a'..=b'z') => any,
        _ => false,
    };
    (start..bytes.len())
        .filter(|at| bytes[*at] == b'\n')
        .map(|at| at + 1)
        .find(|at| begins(*at, *at > stop))
        .unwrap_or(bytes.len())
}

/// Reading cannot go on; the fault that says why has been told.
#[derive(Debug)]
pub(super) struct Stop;

/// A byte with its line and column.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    line: u32,
    column: u32,
}

/// A text that is read from the front.
pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    place: Place,
    faults: Vec<Fault>,
}

/// A collection that is being read.
#[derive(Clone, Copy)]
struct Open {
    close: u8,
    what: &'static str,
    span: Span,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str) -> Self {
        let at = if has_bom(text) { BOM.len() } else { 0 };
        Self {
            text,
            at,
            place: Place {
                at,
                line: 1,
                column: 1,
            },
            faults: Vec::new(),
        }
    }

    pub(super) fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    fn eat(&mut self, want: u8) -> bool {
        let found = self.peek() == Some(want);
        self.at += usize::from(found);
        found
    }

    /// The place of the next byte, without an extent.
    ///
    /// Asked for from front to back each byte is looked at once, however long
    /// the lines are.
    pub(super) fn here(&mut self) -> Span {
        for byte in &self.bytes()[self.place.at..self.at] {
            if *byte == b'\n' {
                self.place.line = self.place.line.saturating_add(1);
                self.place.column = 1;
            } else if byte & 0xc0 != 0x80 {
                self.place.column = self.place.column.saturating_add(1);
            }
        }
        self.place.at = self.at;
        Span {
            start: self.at,
            end: self.at,
            line: self.place.line,
            column: self.place.column,
        }
    }

    /// The place of the next character.
    pub(super) fn point(&mut self) -> Span {
        let mut span = self.here();
        span.end += self.next_char().map_or(0, char::len_utf8);
        span
    }

    fn next_char(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Tells of a mistake after which reading may go on.
    pub(super) fn fault(&mut self, span: Span, message: String, hint: &str) -> Result<(), Stop> {
        if self.faults.len() >= FAULTS_MAX {
            return Err(Stop);
        }
        self.faults.push(Fault {
            span,
            message,
            hint: hint.to_owned(),
        });
        Ok(())
    }

    /// Tells of a mistake that ends the reading.
    pub(super) fn stop(&mut self, span: Span, message: String, hint: &str) -> Stop {
        match self.fault(span, message, hint) {
            Ok(()) | Err(Stop) => Stop,
        }
    }

    /// What was read last, with its faults, leaving none for the next.
    fn take(&mut self, root: Option<Node>) -> Parsed {
        Parsed {
            root,
            faults: std::mem::take(&mut self.faults),
        }
    }

    fn document(&mut self) -> Result<Node, Stop> {
        self.blanks()?;
        if self.peek().is_none() {
            let span = self.here();
            return Err(self.stop(
                span,
                "nothing, where a JSON value belongs".to_owned(),
                "an empty document is written `{}`",
            ));
        }
        let root = self.value(0)?;
        self.blanks()?;
        if self.peek().is_some() {
            let span = self.point();
            let message = format!("{} behind the end of the document", self.found());
            // The value itself is whole.
            let Stop = self.stop(span, message, TRAILING_HINT);
        }
        Ok(root)
    }

    /// Passes over blanks, and over what others take for blanks, which it tells.
    fn blanks(&mut self) -> Result<(), Stop> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            match self.peek() {
                None | Some(b'!'..=b'"' | b'$'..=b'.' | b'0'..=0x7f) => return Ok(()),
                Some(b'/' | b'#') => {
                    if !self.comment()? {
                        return Ok(());
                    }
                }
                Some(_) => {
                    let Some(blank) = self.next_char().filter(|c| c.is_whitespace()) else {
                        return Ok(());
                    };
                    let span = self.point();
                    self.fault(
                        span,
                        format!(
                            "the character U+{:04X}, which is no blank in JSON",
                            u32::from(blank)
                        ),
                        "write an ordinary blank instead",
                    )?;
                    self.at += blank.len_utf8();
                }
            }
        }
    }

    /// Passes over a comment; false when there is none.
    fn comment(&mut self) -> Result<bool, Stop> {
        let rest = &self.text[self.at..];
        let len = if rest.starts_with('#') || rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inner) = rest.strip_prefix("/*") {
            inner.find("*/").map_or(rest.len(), |end| end + 4)
        } else {
            return Ok(false);
        };
        let mut span = self.here();
        span.end = self.at + len;
        self.fault(
            span,
            "a comment, which JSON does not have".to_owned(),
            "remove it, or keep the text under a key of its own",
        )?;
        self.at += len;
        Ok(true)
    }

    fn value(&mut self, depth: usize) -> Result<Node, Stop> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(|(text, span)| quoted(text, span)),
            Some(b'\'') => self.single_quoted().map(|(text, span)| quoted(text, span)),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number(),
            Some(_) if self.is_at_word() => self.word(),
            Some(_) | None => {
                let span = self.point();
                let message = format!("{} where a value belongs", self.found());
                Err(self.stop(span, message, VALUE_HINT))
            }
        }
    }

    /// What comes next, in the words of a message.
    fn found(&self) -> String {
        match self.next_char() {
            None => "the end of the text".to_owned(),
            Some(c) if c.is_control() || c.is_whitespace() => {
                format!("the character U+{:04X}", u32::from(c))
            }
            Some(c) => format!("`{c}`"),
        }
    }

    fn is_at_word(&self) -> bool {
        self.next_char()
            .is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'))
    }

    /// Whether something comes next that can only be the begin of a value.
    fn is_at_value(&self) -> bool {
        self.is_at_key() || matches!(self.peek(), Some(b'{' | b'['))
    }

    fn is_at_key(&self) -> bool {
        matches!(self.peek(), Some(b'"' | b'\'' | b'-' | b'0'..=b'9')) || self.is_at_word()
    }

    fn open(&mut self, close: u8, what: &'static str, depth: usize) -> Result<Open, Stop> {
        let span = self.point();
        if depth >= DEPTH_MAX {
            return Err(self.stop(
                span,
                format!("more than {DEPTH_MAX} lists and mappings within each other"),
                "make the document flatter",
            ));
        }
        self.at += 1;
        self.blanks()?;
        Ok(Open { close, what, span })
    }

    fn array(&mut self, depth: usize) -> Result<Node, Stop> {
        let open = self.open(b']', "list", depth)?;
        let mut items = Vec::new();
        let mut more = self.first(open)?;
        while more {
            items.push(self.value(depth + 1)?);
            more = self.next(open)?;
        }
        items.shrink_to_fit();
        Ok(self.closed(open, Value::Seq(items)))
    }

    fn object(&mut self, depth: usize) -> Result<Node, Stop> {
        let open = self.open(b'}', "mapping", depth)?;
        let mut members = Members::default();
        let mut more = self.first(open)?;
        while more {
            let key = self.key(open)?;
            let node = self.member(&key, depth + 1)?;
            if let Some(first) = members.add(key.clone(), node) {
                self.duplicate(&key, first)?;
            }
            more = self.next(open)?;
        }
        let mut pairs = members.pairs;
        // A large document is thousands of small mappings.
        pairs.shrink_to_fit();
        Ok(self.closed(open, Value::Map(Map { pairs })))
    }

    fn closed(&self, open: Open, value: Value) -> Node {
        let span = Span {
            end: self.at,
            ..open.span
        };
        Node { value, span }
    }

    fn duplicate(&mut self, key: &Key, first: Span) -> Result<(), Stop> {
        self.fault(
            key.span,
            format!(
                "the key `{}` stands here a second time; the first is in line {}, column {}",
                key.text, first.line, first.column
            ),
            "keep one of the two, or give one another name",
        )
    }

    /// Whether a collection that was just opened has an element; else it is closed.
    fn first(&mut self, open: Open) -> Result<bool, Stop> {
        self.additional_commas()?;
        if self.eat(open.close) {
            return Ok(false);
        }
        self.more_or_cut(open)
    }

    /// Whether another element follows the one that was read; else it is closed.
    fn next(&mut self, open: Open) -> Result<bool, Stop> {
        self.blanks()?;
        if self.eat(open.close) {
            return Ok(false);
        }
        let comma = self.point();
        if self.eat(b',') {
            self.blanks()?;
            self.additional_commas()?;
            if self.eat(open.close) {
                self.trailing_comma(open, comma)?;
                return Ok(false);
            }
            return self.more_or_cut(open);
        }
        let starts = if open.close == b']' {
            self.is_at_value()
        } else {
            self.is_at_key()
        };
        if !starts {
            return Err(self.unexpected(open));
        }
        let message = format!("no comma before {}", self.found());
        self.fault(
            comma,
            message,
            "write a comma behind the value that comes before it",
        )?;
        Ok(true)
    }

    fn more_or_cut(&mut self, open: Open) -> Result<bool, Stop> {
        match self.peek() {
            Some(_) => Ok(true),
            None => Err(self.unexpected(open)),
        }
    }

    fn trailing_comma(&mut self, open: Open, comma: Span) -> Result<(), Stop> {
        let close = char::from(open.close);
        self.fault(
            comma,
            format!("a comma before the closing `{close}`"),
            "remove the comma; JSON has one only between two elements",
        )
    }

    fn additional_commas(&mut self) -> Result<(), Stop> {
        while self.peek() == Some(b',') {
            let span = self.point();
            self.fault(
                span,
                "a comma without a value before it".to_owned(),
                "remove the comma, or write the value that is missing",
            )?;
            self.at += 1;
            self.blanks()?;
        }
        Ok(())
    }

    fn unexpected(&mut self, open: Open) -> Stop {
        let span = self.point();
        let found = match self.peek() {
            None => "the text ends".to_owned(),
            Some(_) => self.found(),
        };
        let close = char::from(open.close);
        let message = format!(
            "{found} within the {} that begins in line {}, column {}, where `,` or `{close}` belongs",
            open.what, open.span.line, open.span.column
        );
        let hint = match self.peek() {
            None => "the file may have been cut off; write what is missing".to_owned(),
            Some(_) => format!("close it with `{close}`, or mend what stands before this"),
        };
        self.stop(span, message, &hint)
    }

    fn key(&mut self, open: Open) -> Result<Key, Stop> {
        let (text, span) = match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'\'') => self.single_quoted()?,
            Some(_) if self.is_at_key() => self.bare_key()?,
            Some(b']' | b'}') | None => return Err(self.unexpected(open)),
            Some(_) => {
                let span = self.point();
                let message = format!("{} where a key belongs", self.found());
                return Err(self.stop(
                    span,
                    message,
                    "write the key in double quotes, then `:` and the value",
                ));
            }
        };
        Ok(Key {
            text,
            span,
            is_collection: false,
        })
    }

    fn bare_key(&mut self) -> Result<(String, Span), Stop> {
        let (text, span) = self.run();
        self.fault(
            span,
            format!("the key `{}` without quotes", shown(text)),
            "put it in double quotes",
        )?;
        Ok((text.to_owned(), span))
    }

    /// Reads `:` and the value of `key`.
    fn member(&mut self, key: &Key, depth: usize) -> Result<Node, Stop> {
        self.blanks()?;
        let span = self.point();
        let colon = self.eat(b':');
        self.blanks()?;
        if matches!(self.peek(), Some(b',' | b'}')) {
            let hint = "write `:` and a value behind the key; `null` is the value for nothing";
            let message = format!("the key `{}` has no value", shown(&key.text));
            self.fault(span, message, hint)?;
            return Ok(plain("null", span));
        }
        if !colon && self.is_at_value() {
            let message = format!(
                "no `:` between the key `{}` and its value",
                shown(&key.text)
            );
            self.fault(span, message, "write a colon between them")?;
        } else if !colon {
            let message = format!("{} where the `:` behind a key belongs", self.found());
            return Err(self.stop(span, message, "write `:` and a value behind the key"));
        }
        self.value(depth)
    }

    /// Reads what may be one word or number, well formed or not.
    fn run(&mut self) -> (&'t str, Span) {
        let mut span = self.here();
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '+' | '.');
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += len;
        span.end = self.at;
        (&rest[..len], span)
    }

    fn number(&mut self) -> Result<Node, Stop> {
        let (text, span) = self.run();
        if is_number(text) {
            return Ok(plain(text, span));
        }
        let digits = text.trim_start_matches(['-', '+']);
        if digits.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return self.bad_word(text, span);
        }
        self.fault(
            span,
            format!("`{}`, which is no number in JSON", shown(text)),
            number_hint(text, digits),
        )?;
        Ok(plain("null", span))
    }

    fn word(&mut self) -> Result<Node, Stop> {
        let (text, span) = self.run();
        match text {
            "true" | "false" | "null" => Ok(plain(text, span)),
            _ => self.bad_word(text, span),
        }
    }

    fn bad_word(&mut self, text: &str, span: Span) -> Result<Node, Stop> {
        let hint = match text
            .trim_start_matches(['-', '+'])
            .to_ascii_lowercase()
            .as_str()
        {
            "nan" | "inf" | "infinity" => "JSON has no such number; write `null`",
            "none" | "nil" | "undefined" | "null" => "write `null`",
            "true" | "yes" | "on" => "write `true`",
            "false" | "no" | "off" => "write `false`",
            _ => "put text in double quotes",
        };
        self.fault(span, format!("the bare word `{}`", shown(text)), hint)?;
        Ok(plain("null", span))
    }
}

fn number_hint(text: &str, digits: &str) -> &'static str {
    if text.starts_with('+') {
        "write it without the plus"
    } else if digits.starts_with('.') || digits.ends_with('.') {
        "write digits on both sides of the point"
    } else if digits.len() > 1 && digits.bytes().all(|b| b.is_ascii_digit()) {
        "write it without leading zeros, or in double quotes"
    } else {
        "write digits, with a point or an exponent if need be, or put it in double quotes"
    }
}

/// The beginning of a text, fit for a message.
fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let mut out: String = text.chars().take(CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

fn quoted(text: String, span: Span) -> Node {
    scalar(text, Style::Quoted, span)
}

fn plain(text: &str, span: Span) -> Node {
    scalar(text.to_owned(), Style::Plain, span)
}

fn scalar(text: String, style: Style, span: Span) -> Node {
    let tag = None;
    Node {
        value: Value::Scalar(Scalar { text, style, tag }),
        span,
    }
}

/// Whether `text` is a number as RFC 8259 writes it.
pub(super) fn is_number(text: &str) -> bool {
    let digits = |rest: &mut &[u8]| {
        let len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        *rest = &rest[len..];
        len
    };
    let mut rest = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let leading_zero = rest.first() == Some(&b'0');
    let whole = digits(&mut rest);
    if whole == 0 || (leading_zero && whole > 1) {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        rest = fraction;
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        rest = match exponent {
            [b'+' | b'-', unsigned @ ..] => unsigned,
            unsigned => unsigned,
        };
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    rest.is_empty()
}

/// The members of a mapping that is being read, each key once.
#[derive(Default)]
struct Members {
    pairs: Vec<(Key, Node)>,
    places: HashMap<String, usize>,
}

impl Members {
    /// Adds a pair; when its key is taken, says where that stands instead.
    fn add(&mut self, key: Key, node: Node) -> Option<Span> {
        if self.pairs.len() < KEYS_SEARCHED_MAX {
            if let Some((have, _)) = self.pairs.iter().find(|(have, _)| *have == key) {
                return Some(have.span);
            }
        } else {
            if self.places.is_empty() {
                let known = self.pairs.iter().enumerate();
                self.places = known.map(|(i, (key, _))| (key.text.clone(), i)).collect();
            }
            if let Some(first) = self.places.get(&key.text) {
                return self.pairs.get(*first).map(|(have, _)| have.span);
            }
            self.places.insert(key.text.clone(), self.pairs.len());
        }
        self.pairs.push((key, node));
        None
    }
}

#[cfg(test)]
mod tests;
