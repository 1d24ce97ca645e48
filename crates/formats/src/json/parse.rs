//! From text to the tree.

use std::collections::HashMap;

use piton_core::quote::truncate_chars;

use crate::conflict;
use crate::tree::{
    DEPTH_MAX, FAULTS_MAX, Map, MapKey, ParsedTree, Scalar, Span, Style, SyntaxFault, Value,
    ValueNode,
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
pub fn parse(text: &str) -> ParsedTree {
    let mut scanner = Scanner::new(text);
    let root = scanner.parse_document().ok();
    let parsed = ParsedTree {
        root,
        faults: scanner.faults,
    };
    conflict::with_conflict_fault(parsed, text)
}

/// Reads `text` as any number of JSON values one after the other.
///
/// A record may span lines, as a pretty printer writes it. Each has its own
/// faults; one that has any is to be skipped. Behind a broken one reading goes
/// on at the next line that begins like a record.
pub fn parse_stream(text: &str) -> Vec<ParsedTree> {
    let mut scanner = Scanner::new(text);
    let mut out = Vec::new();
    let mut reread_left = text.len().saturating_mul(REREAD_MAX);
    loop {
        let blanks = scanner.skip_blanks();
        if blanks.is_ok() && scanner.peek().is_none() {
            // A comment behind the last record.
            if !scanner.faults.is_empty() {
                out.push(scanner.drain_parsed(None));
            }
            return out;
        }
        let (start, place) = (scanner.at, scanner.place);
        let value = blanks.and_then(|()| scanner.parse_value(0));
        let stopped = value.is_err();
        out.push(scanner.drain_parsed(value.ok()));
        if stopped {
            let next = find_next_record(text, start, scanner.at.max(start + 1));
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
/// be read beyond `stop`: at a mapping at the beginning of a line, because nested
/// ones are indented, or at any value at the beginning of a later line.
fn find_next_record(text: &str, start: usize, stop: usize) -> usize {
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
pub(super) struct ParseStop;

/// A byte with its line and column.
#[derive(Clone, Copy)]
struct BytePosition {
    at: usize,
    line: u32,
    column: u32,
}

/// A text that is read from the front.
pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    place: BytePosition,
    faults: Vec<SyntaxFault>,
}

/// A collection that is being read.
#[derive(Clone, Copy)]
struct OpenJsonCollection {
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
            place: BytePosition {
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
    pub(super) fn current_span(&mut self) -> Span {
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
    pub(super) fn next_char_span(&mut self) -> Span {
        let mut span = self.current_span();
        span.end += self.next_char().map_or(0, char::len_utf8);
        span
    }

    fn next_char(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Tells of a mistake after which reading may go on.
    pub(super) fn push_fault(
        &mut self,
        span: Span,
        message: String,
        hint: &str,
    ) -> Result<(), ParseStop> {
        if self.faults.len() >= FAULTS_MAX {
            return Err(ParseStop);
        }
        self.faults.push(SyntaxFault {
            span,
            message,
            hint: hint.to_owned(),
        });
        Ok(())
    }

    /// Tells of a mistake that ends the reading.
    pub(super) fn stop_with_fault(&mut self, span: Span, message: String, hint: &str) -> ParseStop {
        match self.push_fault(span, message, hint) {
            Ok(()) | Err(ParseStop) => ParseStop,
        }
    }

    /// What was read last, with its faults, leaving none for the next.
    fn drain_parsed(&mut self, root: Option<ValueNode>) -> ParsedTree {
        ParsedTree {
            root,
            faults: std::mem::take(&mut self.faults),
        }
    }

    fn parse_document(&mut self) -> Result<ValueNode, ParseStop> {
        self.skip_blanks()?;
        if self.peek().is_none() {
            let span = self.current_span();
            return Err(self.stop_with_fault(
                span,
                "nothing, where a JSON value belongs".to_owned(),
                "an empty document is written `{}`",
            ));
        }
        let root = self.parse_value(0)?;
        self.skip_blanks()?;
        if self.peek().is_some() {
            let span = self.next_char_span();
            let message = format!("{} behind the end of the document", self.describe_next());
            // The value itself is whole.
            let ParseStop = self.stop_with_fault(span, message, TRAILING_HINT);
        }
        Ok(root)
    }

    /// Passes over blanks, and over what others take for blanks, which it tells.
    fn skip_blanks(&mut self) -> Result<(), ParseStop> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            match self.peek() {
                None | Some(b'!'..=b'"' | b'$'..=b'.' | b'0'..=0x7f) => return Ok(()),
                Some(b'/' | b'#') => {
                    if !self.skip_comment()? {
                        return Ok(());
                    }
                }
                Some(_) => {
                    let Some(blank) = self.next_char().filter(|c| c.is_whitespace()) else {
                        return Ok(());
                    };
                    let span = self.next_char_span();
                    self.push_fault(
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
    fn skip_comment(&mut self) -> Result<bool, ParseStop> {
        let rest = &self.text[self.at..];
        let len = if rest.starts_with('#') || rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inner) = rest.strip_prefix("/*") {
            inner.find("*/").map_or(rest.len(), |end| end + 4)
        } else {
            return Ok(false);
        };
        let mut span = self.current_span();
        span.end = self.at + len;
        self.push_fault(
            span,
            "a comment, which JSON does not have".to_owned(),
            "remove it, or keep the text under a key of its own",
        )?;
        self.at += len;
        Ok(true)
    }

    fn parse_value(&mut self, depth: usize) -> Result<ValueNode, ParseStop> {
        match self.peek() {
            Some(b'{') => self.parse_object(depth),
            Some(b'[') => self.parse_array(depth),
            Some(b'"') => self
                .parse_string()
                .map(|(text, span)| quoted_node(text, span)),
            Some(b'\'') => self
                .parse_single_quoted()
                .map(|(text, span)| quoted_node(text, span)),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.parse_number(),
            Some(_) if self.is_at_word() => self.parse_word(),
            Some(_) | None => {
                let span = self.next_char_span();
                let message = format!("{} where a value belongs", self.describe_next());
                Err(self.stop_with_fault(span, message, VALUE_HINT))
            }
        }
    }

    /// What comes next, in the words of a message.
    fn describe_next(&self) -> String {
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

    fn open_collection(
        &mut self,
        close: u8,
        what: &'static str,
        depth: usize,
    ) -> Result<OpenJsonCollection, ParseStop> {
        let span = self.next_char_span();
        if depth >= DEPTH_MAX {
            return Err(self.stop_with_fault(
                span,
                format!("more than {DEPTH_MAX} lists and mappings within each other"),
                "make the document flatter",
            ));
        }
        self.at += 1;
        self.skip_blanks()?;
        Ok(OpenJsonCollection { close, what, span })
    }

    fn parse_array(&mut self, depth: usize) -> Result<ValueNode, ParseStop> {
        let open = self.open_collection(b']', "list", depth)?;
        let mut items = Vec::new();
        let mut more = self.has_first_element(open)?;
        while more {
            items.push(self.parse_value(depth + 1)?);
            more = self.has_next_element(open)?;
        }
        items.shrink_to_fit();
        Ok(self.close_collection(open, Value::Seq(items)))
    }

    fn parse_object(&mut self, depth: usize) -> Result<ValueNode, ParseStop> {
        let open = self.open_collection(b'}', "mapping", depth)?;
        let mut members = JsonMembers::default();
        let mut more = self.has_first_element(open)?;
        while more {
            let key = self.parse_key(open)?;
            let node = self.parse_member(&key, depth + 1)?;
            if let Some(first) = members.add(key.clone(), node) {
                self.push_duplicate_key(&key, first)?;
            }
            more = self.has_next_element(open)?;
        }
        let mut pairs = members.pairs;
        // A large document is thousands of small mappings.
        pairs.shrink_to_fit();
        Ok(self.close_collection(open, Value::Map(Map { pairs })))
    }

    fn close_collection(&self, open: OpenJsonCollection, value: Value) -> ValueNode {
        let span = Span {
            end: self.at,
            ..open.span
        };
        ValueNode { value, span }
    }

    fn push_duplicate_key(&mut self, key: &MapKey, first: Span) -> Result<(), ParseStop> {
        self.push_fault(
            key.span,
            format!(
                "the key `{}` stands here a second time; the first is in line {}, column {}",
                key.text, first.line, first.column
            ),
            "keep one of the two, or give one another name",
        )
    }

    /// Whether a collection that was just opened has an element; else it is closed.
    fn has_first_element(&mut self, open: OpenJsonCollection) -> Result<bool, ParseStop> {
        self.skip_additional_commas()?;
        if self.eat(open.close) {
            return Ok(false);
        }
        self.expect_more(open)
    }

    /// Whether another element follows the one that was read; else it is closed.
    fn has_next_element(&mut self, open: OpenJsonCollection) -> Result<bool, ParseStop> {
        self.skip_blanks()?;
        if self.eat(open.close) {
            return Ok(false);
        }
        let comma = self.next_char_span();
        if self.eat(b',') {
            self.skip_blanks()?;
            self.skip_additional_commas()?;
            if self.eat(open.close) {
                self.push_trailing_comma(open, comma)?;
                return Ok(false);
            }
            return self.expect_more(open);
        }
        let starts = if open.close == b']' {
            self.is_at_value()
        } else {
            self.is_at_key()
        };
        if !starts {
            return Err(self.stop_unexpected(open));
        }
        let message = format!("no comma before {}", self.describe_next());
        self.push_fault(
            comma,
            message,
            "write a comma behind the value that comes before it",
        )?;
        Ok(true)
    }

    fn expect_more(&mut self, open: OpenJsonCollection) -> Result<bool, ParseStop> {
        match self.peek() {
            Some(_) => Ok(true),
            None => Err(self.stop_unexpected(open)),
        }
    }

    fn push_trailing_comma(
        &mut self,
        open: OpenJsonCollection,
        comma: Span,
    ) -> Result<(), ParseStop> {
        let close = char::from(open.close);
        self.push_fault(
            comma,
            format!("a comma before the closing `{close}`"),
            "remove the comma; JSON has one only between two elements",
        )
    }

    fn skip_additional_commas(&mut self) -> Result<(), ParseStop> {
        while self.peek() == Some(b',') {
            let span = self.next_char_span();
            self.push_fault(
                span,
                "a comma without a value before it".to_owned(),
                "remove the comma, or write the value that is missing",
            )?;
            self.at += 1;
            self.skip_blanks()?;
        }
        Ok(())
    }

    fn stop_unexpected(&mut self, open: OpenJsonCollection) -> ParseStop {
        let span = self.next_char_span();
        let found = match self.peek() {
            None => "the text ends".to_owned(),
            Some(_) => self.describe_next(),
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
        self.stop_with_fault(span, message, &hint)
    }

    fn parse_key(&mut self, open: OpenJsonCollection) -> Result<MapKey, ParseStop> {
        let (text, span) = match self.peek() {
            Some(b'"') => self.parse_string()?,
            Some(b'\'') => self.parse_single_quoted()?,
            Some(_) if self.is_at_key() => self.parse_bare_key()?,
            Some(b']' | b'}') | None => return Err(self.stop_unexpected(open)),
            Some(_) => {
                let span = self.next_char_span();
                let message = format!("{} where a key belongs", self.describe_next());
                return Err(self.stop_with_fault(
                    span,
                    message,
                    "write the key in double quotes, then `:` and the value",
                ));
            }
        };
        Ok(MapKey {
            text,
            span,
            is_collection: false,
        })
    }

    fn parse_bare_key(&mut self) -> Result<(String, Span), ParseStop> {
        let (text, span) = self.scan_word();
        self.push_fault(
            span,
            format!("the key `{}` without quotes", shorten_for_message(text)),
            "put it in double quotes",
        )?;
        Ok((text.to_owned(), span))
    }

    /// Reads `:` and the value of `key`.
    fn parse_member(&mut self, key: &MapKey, depth: usize) -> Result<ValueNode, ParseStop> {
        self.skip_blanks()?;
        let span = self.next_char_span();
        let colon = self.eat(b':');
        self.skip_blanks()?;
        if matches!(self.peek(), Some(b',' | b'}')) {
            let hint = "write `:` and a value behind the key; `null` is the value for nothing";
            let message = format!("the key `{}` has no value", shorten_for_message(&key.text));
            self.push_fault(span, message, hint)?;
            return Ok(plain_node("null", span));
        }
        if !colon && self.is_at_value() {
            let message = format!(
                "no `:` between the key `{}` and its value",
                shorten_for_message(&key.text)
            );
            self.push_fault(span, message, "write a colon between them")?;
        } else if !colon {
            let message = format!(
                "{} where the `:` behind a key belongs",
                self.describe_next()
            );
            return Err(self.stop_with_fault(
                span,
                message,
                "write `:` and a value behind the key",
            ));
        }
        self.parse_value(depth)
    }

    /// Reads what may be one word or number, well formed or not.
    fn scan_word(&mut self) -> (&'t str, Span) {
        let mut span = self.current_span();
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '+' | '.');
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += len;
        span.end = self.at;
        (&rest[..len], span)
    }

    fn parse_number(&mut self) -> Result<ValueNode, ParseStop> {
        let (text, span) = self.scan_word();
        if is_number(text) {
            return Ok(plain_node(text, span));
        }
        let digits = text.trim_start_matches(['-', '+']);
        if digits.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return self.parse_bad_word(text, span);
        }
        self.push_fault(
            span,
            format!(
                "`{}`, which is no number in JSON",
                shorten_for_message(text)
            ),
            number_hint(text, digits),
        )?;
        Ok(plain_node("null", span))
    }

    fn parse_word(&mut self) -> Result<ValueNode, ParseStop> {
        let (text, span) = self.scan_word();
        match text {
            "true" | "false" | "null" => Ok(plain_node(text, span)),
            _ => self.parse_bad_word(text, span),
        }
    }

    fn parse_bad_word(&mut self, text: &str, span: Span) -> Result<ValueNode, ParseStop> {
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
        self.push_fault(
            span,
            format!("the bare word `{}`", shorten_for_message(text)),
            hint,
        )?;
        Ok(plain_node("null", span))
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
fn shorten_for_message(text: &str) -> String {
    truncate_chars(text, 40)
}

fn quoted_node(text: String, span: Span) -> ValueNode {
    scalar_node(text, Style::Quoted, span)
}

fn plain_node(text: &str, span: Span) -> ValueNode {
    scalar_node(text.to_owned(), Style::Plain, span)
}

fn scalar_node(text: String, style: Style, span: Span) -> ValueNode {
    let tag = None;
    ValueNode {
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
struct JsonMembers {
    pairs: Vec<(MapKey, ValueNode)>,
    places: HashMap<String, usize>,
}

impl JsonMembers {
    /// Adds a pair; when its key is taken, says where that stands instead.
    fn add(&mut self, key: MapKey, node: ValueNode) -> Option<Span> {
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
