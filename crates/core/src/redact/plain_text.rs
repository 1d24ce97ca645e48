//! The text that escapes stand for, with the way back to where it is written.
//!
//! A secret is the same in a file, in the JSON of a tool result, in JSON within
//! that, and in a URL. Rules see it once, plain. What is taken out is a range
//! of whole escapes, so that JSON stays JSON.

use std::borrow::Cow;
use std::ops::Range;

/// Stands for a sequence that colours a terminal: no part of a word, and nothing to see.
pub(super) const COLOUR: u8 = 0x1b;
/// Stands for the mark of a secret that was taken out.
pub(super) const MARK: u8 = 0x1a;
/// Stands for a character of which only is known that it is not ASCII.
pub(super) const OPAQUE: u8 = 0x80;
/// How the mark of a secret begins.
pub(super) const MARK_BEGIN: &str = "[redacted:";
/// A mark is no longer than that, with the name of a variable in it.
const MARK_BYTES_MAX: usize = 256;
/// A sequence that colours a terminal is no longer than that.
const COLOUR_BYTES_MAX: usize = 32;

/// A text without its escapes.
#[derive(Debug)]
pub(super) struct PlainText<'t> {
    source: &'t str,
    bytes: Cow<'t, [u8]>,
    /// Where each byte begins in the source, and where the last one ends. Empty
    /// where there is no escape, and both are the same.
    begins: Vec<usize>,
}

impl<'t> PlainText<'t> {
    /// Undoes the escapes of JSON and of programming languages at any depth,
    /// of URLs and of HTML.
    pub(super) fn decode(source: &'t str) -> Self {
        let bytes = source.as_bytes();
        let may_be_escape =
            |byte: &u8| matches!(*byte, b'\\' | b'%' | b'&' | b'[' | b'+' | b'\'' | COLOUR);
        let mut text = Self {
            source,
            bytes: Cow::Borrowed(bytes),
            begins: Vec::new(),
        };
        let mut plain = Vec::new();
        let mut copied = 0;
        let mut at = 0;
        let mut form = FormRun::default();
        while let Some(offset) = bytes[at..].iter().position(may_be_escape) {
            at += offset;
            let escape = match bytes[at] {
                b'+' => form.read_blank(bytes, at),
                _ => read_escape(bytes, at),
            };
            let Some(Escape { byte, end }) = escape else {
                at += 1;
                continue;
            };
            if plain.is_empty() && text.begins.is_empty() {
                plain.reserve(bytes.len());
                text.begins.reserve(bytes.len() + 1);
            }
            plain.extend_from_slice(&bytes[copied..at]);
            text.begins.extend(copied..at);
            plain.push(byte);
            text.begins.push(at);
            at = end;
            copied = end;
        }
        if !text.begins.is_empty() {
            plain.extend_from_slice(&bytes[copied..]);
            text.begins.extend(copied..=bytes.len());
            text.bytes = Cow::Owned(plain);
        }
        text
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The byte there; 0 behind the end.
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    /// The text of a range.
    pub(super) fn text(&self, range: Range<usize>) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes[range])
    }

    /// Where a range is written in the source.
    pub(super) fn source_range(&self, range: &Range<usize>) -> Range<usize> {
        let of = |at: usize| self.begins.get(at).copied().unwrap_or(at);
        let (mut start, mut end) = (of(range.start), of(range.end));
        while !self.source.is_char_boundary(start) {
            start -= 1;
        }
        while !self.source.is_char_boundary(end) {
            end += 1;
        }
        start..end
    }

    /// How the byte there is written.
    pub(super) fn spelling(&self, at: usize) -> &[u8] {
        &self.source.as_bytes()[self.source_range(&(at..at + 1))]
    }
}

/// What an escape stands for, and where it ends.
struct Escape {
    byte: u8,
    end: usize,
}

fn read_escape(bytes: &[u8], at: usize) -> Option<Escape> {
    match bytes[at] {
        b'\\' => read_backslashes(bytes, at),
        b'%' => read_percent(bytes, at),
        b'&' => read_entity(bytes, at),
        b'[' => read_mark(bytes, at),
        b'\'' => read_doubled(bytes, at),
        _ => read_bracket(bytes, at + 1),
    }
}

/// An escape behind any number of backslashes. JSON within JSON doubles them: a
/// run of them before a letter is one escape, whatever its depth. Before a
/// quotation mark the depth counts, because it tells which string the mark ends.
fn read_backslashes(bytes: &[u8], at: usize) -> Option<Escape> {
    let run = bytes[at..]
        .iter()
        .take_while(|byte| **byte == b'\\')
        .count();
    let behind = at + run;
    let letter = |byte, end| Some(Escape { byte, end });
    let digits = |count: usize| {
        let digits = str::from_utf8(bytes.get(behind + 1..behind + 1 + count)?).ok()?;
        let code = u32::from_str_radix(digits, 16).ok()?;
        Some((code, behind + 1 + count))
    };
    match bytes.get(behind) {
        Some(b'n' | b'r' | b'v') => letter(b'\n', behind + 1),
        // A shell goes on behind a line end that is escaped.
        Some(b't' | b'b' | b'f' | b'\n') => letter(b' ', behind + 1),
        Some(quote @ (b'\'' | b'`' | b'/')) => letter(*quote, behind + 1),
        Some(b'"') => {
            let depth = run.trailing_ones();
            let own = (1_usize << depth) - 1;
            if own == run {
                letter(b'"', behind + 1)
            } else {
                letter(b'\\', behind - own)
            }
        }
        Some(b'u') => match digits(4) {
            Some((0x1b, end)) => read_bracket(bytes, end).or_else(|| letter(b' ', end)),
            Some((code, end)) => Some(read_utf16(bytes, code, at..end, run)),
            None => letter(b'\\', behind),
        },
        Some(b'x') => match digits(2) {
            Some((0x1b, end)) => read_bracket(bytes, end).or_else(|| letter(b' ', end)),
            Some((code, end)) => letter(to_ascii(code), end),
            None => letter(b'\\', behind),
        },
        Some(b'e') if bytes.get(behind + 1) == Some(&b'[') => {
            read_bracket(bytes, behind + 1).or_else(|| letter(b'\\', behind))
        }
        Some(b'0') if bytes[behind..].starts_with(b"033[") => {
            read_bracket(bytes, behind + 3).or_else(|| letter(b'\\', behind))
        }
        _ => letter(b'\\', behind),
    }
}

/// `\u` with its four digits; two of them where they are one character.
fn read_utf16(bytes: &[u8], code: u32, range: Range<usize>, run: usize) -> Escape {
    let length = range.len();
    let second = bytes.get(range.end..range.end + length);
    let is_second = second.is_some_and(|second| {
        let is_low = matches!(second[run + 1].to_ascii_lowercase(), b'd')
            && matches!(second[run + 2].to_ascii_lowercase(), b'c'..=b'f');
        second[..run].iter().all(|byte| *byte == b'\\') && second[run] == b'u' && is_low
    });
    let is_pair = (0xd800..0xdc00).contains(&code) && is_second;
    Escape {
        byte: to_ascii(code),
        end: range.end + if is_pair { length } else { 0 },
    }
}

/// The character of a code, where it is one of ASCII that can be seen.
fn to_ascii(code: u32) -> u8 {
    match u8::try_from(code) {
        Ok(byte @ (b'\n' | b'\r' | b' '..=b'~')) => byte,
        Ok(b'\t' | 0..=0x1f | 0x7f) => b' ',
        Ok(_) | Err(_) => OPAQUE,
    }
}

/// The run of an encoded form that was looked at last: a value of a query, in which a `+`
/// is a blank. In a key it is itself.
#[derive(Default)]
struct FormRun {
    end: usize,
    is_form: bool,
}

impl FormRun {
    fn read_blank(&mut self, bytes: &[u8], at: usize) -> Option<Escape> {
        if at >= self.end {
            let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"\"'\\<>&?[]".contains(byte);
            let before = bytes[self.end..at].iter().rev().position(is_edge);
            let behind = bytes[at..].iter().position(is_edge);
            let begin = before.map_or(self.end, |length| at - length);
            self.end = behind.map_or(bytes.len(), |length| at + length);
            self.is_form = is_form(&bytes[begin..self.end]);
        }
        let end = at + 1;
        self.is_form.then_some(Escape { byte: b' ', end })
    }
}

/// Whether a run with a `+` is words with blanks between them: it encodes what no key
/// holds, has an option of a command in it, or begins with two words.
fn is_form(run: &[u8]) -> bool {
    let value = run.splitn(2, |byte| *byte == b'=').last().unwrap_or(run);
    let mut words = value.split(|byte| *byte == b'+');
    let is_part = |byte: &u8| byte.is_ascii_alphabetic() || b"._-:".contains(byte);
    let is_word = |word: &[u8]| (2..=24).contains(&word.len()) && word.iter().all(is_part);
    let is_text = |escape: &[u8]| {
        let is_code = escape[1..].iter().all(u8::is_ascii_hexdigit);
        let is_of_key = [b"%2B", b"%2F", b"%3D", b"%25"].contains(&&[
            escape[0],
            escape[1],
            escape[2].to_ascii_uppercase(),
        ]);
        escape[0] == b'%' && is_code && !is_of_key
    };
    let has = |is: &dyn Fn(&[u8]) -> bool, length| run.windows(length).any(is);
    !has(&|escape| escape == b"%20", 3)
        && (has(&is_text, 3)
            || has(
                &|three| three.starts_with(b"+-") && three[2].is_ascii_alphabetic(),
                3,
            )
            || (words.clone().count() > 2 && words.by_ref().take(2).all(is_word)))
}

/// `%3D`, and `%253D` where it was encoded again.
fn read_percent(bytes: &[u8], at: usize) -> Option<Escape> {
    let hex = |at: usize| {
        let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
        Some(digit(at)? * 16 + digit(at + 1)?)
    };
    let mut behind = at + 1;
    if bytes.get(at) != Some(&b'%') {
        return None;
    }
    let mut code = hex(behind)?;
    while code == u32::from(b'%') && hex(behind + 2).is_some() {
        behind += 2;
        code = hex(behind)?;
    }
    if code == 0x1b
        && let Some(end) = end_of_encoded_bracket(bytes, behind + 2)
        && let Some(colour) = read_colour(bytes, end)
    {
        return Some(colour);
    }
    let escape = Escape {
        byte: to_ascii(code),
        end: behind + 2,
    };
    Some(read_encoded_backslashes(bytes, at).unwrap_or(escape))
}

/// `%5C%22` and `%5Cn`: an escape of JSON in what was encoded.
fn read_encoded_backslashes(bytes: &[u8], at: usize) -> Option<Escape> {
    let mut rest = bytes.get(at..)?.strip_prefix(b"%5C")?;
    while let Some(behind) = rest.strip_prefix(b"%5C") {
        rest = behind;
    }
    let escapes: [(&[u8], u8); 4] = [(b"%22", b'"'), (b"%27", b'\''), (b"n", b'\n'), (b"t", b' ')];
    let (spelled, byte) = escapes
        .iter()
        .find(|(spelled, _)| rest.starts_with(spelled))?;
    let end = bytes.len() - rest.len() + spelled.len();
    Some(Escape { byte: *byte, end })
}

/// Where a `%5b` ends, and a `%255b`. It looks at a few bytes and calls nothing that
/// might look for another one: texts come from agents.
fn end_of_encoded_bracket(bytes: &[u8], at: usize) -> Option<usize> {
    const DEPTH_MAX: usize = 8;
    let mut rest = bytes.get(at..)?.strip_prefix(b"%")?;
    for _ in 0..DEPTH_MAX {
        rest = rest.strip_prefix(b"25").unwrap_or(rest);
    }
    let rest = rest
        .strip_prefix(b"5")
        .and_then(|rest| rest.strip_prefix(b"b").or_else(|| rest.strip_prefix(b"B")))?;
    Some(bytes.len() - rest.len())
}

/// `&quot;`, and `&amp;quot;` where it was encoded again.
fn read_entity(bytes: &[u8], at: usize) -> Option<Escape> {
    const ENTITIES: [(&[u8], u8); 14] = [
        (b"quot;", b'"'),
        (b"#34;", b'"'),
        (b"#x22;", b'"'),
        (b"apos;", b'\''),
        (b"#39;", b'\''),
        (b"#x27;", b'\''),
        (b"lt;", b'<'),
        (b"#60;", b'<'),
        (b"gt;", b'>'),
        (b"#62;", b'>'),
        (b"nbsp;", b' '),
        (b"#61;", b'='),
        (b"#x3D;", b'='),
        (b"#58;", b':'),
    ];
    let mut behind = at + 1;
    while bytes[behind..].starts_with(b"amp;") {
        behind += 4;
    }
    let rest = &bytes[behind..];
    let entity = ENTITIES.iter().find(|(name, _)| rest.starts_with(name));
    if let Some((name, byte)) = entity {
        return Some(Escape {
            byte: *byte,
            end: behind + name.len(),
        });
    }
    (behind > at + 1).then_some(Escape {
        byte: b'&',
        end: behind,
    })
}

/// `''` in a string of YAML or SQL. Where nothing can be in it, it is an empty string.
fn read_doubled(bytes: &[u8], at: usize) -> Option<Escape> {
    let before = bytes.get(at.wrapping_sub(1)).copied().unwrap_or(b' ');
    let behind = bytes.get(at + 2).copied().unwrap_or(b' ');
    let is_empty = (before.is_ascii_whitespace() || b"=(,:[{".contains(&before))
        && (behind.is_ascii_whitespace() || b",;)]}".contains(&behind));
    (bytes.get(at + 1) == Some(&b'\'') && !is_empty).then_some(Escape {
        byte: b'\'',
        end: at + 2,
    })
}

fn read_mark(bytes: &[u8], at: usize) -> Option<Escape> {
    let rest = bytes[at..].strip_prefix(MARK_BEGIN.as_bytes())?;
    let name = rest.iter().take(MARK_BYTES_MAX);
    let length = name
        .take_while(|byte| !matches!(**byte, b']' | b'\n' | b'"'))
        .count();
    (rest.get(length) == Some(&b']')).then_some(Escape {
        byte: MARK,
        end: at + MARK_BEGIN.len() + length + 1,
    })
}

/// A sequence that colours a terminal, from its bracket on.
fn read_bracket(bytes: &[u8], bracket: usize) -> Option<Escape> {
    (bytes.get(bracket) == Some(&b'['))
        .then(|| read_colour(bytes, bracket + 1))
        .flatten()
}

/// A sequence that colours a terminal, behind its bracket.
fn read_colour(bytes: &[u8], parameters: usize) -> Option<Escape> {
    let rest = bytes.get(parameters..)?;
    let mut shown = rest.iter().take(COLOUR_BYTES_MAX);
    let length = shown.position(|byte| (0x40..=0x7e).contains(byte))?;
    // A backslash may end one by the standard; in a text it begins what comes next. A mark
    // behind the escape is no part of it.
    let is_mark = |at: usize| bytes[at..].starts_with(MARK_BEGIN.as_bytes());
    if rest[length] == b'\\' || is_mark(parameters - 1) || is_mark(parameters + length) {
        return None;
    }
    let is_plain = |byte: &u8| matches!(byte, b'0'..=b'?');
    rest[..length].iter().all(is_plain).then_some(Escape {
        byte: COLOUR,
        end: parameters + length + 1,
    })
}
