//! A scalar, and which type its text has.
//!
//! The rules are those of `js-yaml` 4 with its default schema: the YAML 1.2
//! core schema, `_` within numbers, leading zeros as decimal, and timestamps.

/// Text, with what is needed to tell its type.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// The text after quotes, escapes and folding.
    pub text: String,
    /// How it was written.
    pub style: Style,
    /// The tag it was written with, in full: `tag:yaml.org,2002:str`.
    pub tag: Option<String>,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes: the only style in which `5` is a number.
    Plain,
    /// In single or double quotes.
    Quoted,
    /// As a `|` or `>` block.
    Block,
}

/// The type and, where it has one, the value of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarKind {
    /// `null`, `~`, or nothing.
    Null,
    /// `true`, `false` and their capitalised forms; not `yes` or `on`.
    Bool(bool),
    /// A whole number that fits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A date or a time that was not quoted. Its text is kept, never converted.
    Timestamp,
    /// A string.
    Text,
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        let same_text = self.text == other.text && self.is_string() == other.is_string();
        // Nothing, `~` and `null` say the same.
        self.tag == other.tag
            && (same_text || (self.kind() == ScalarKind::Null && other.kind() == ScalarKind::Null))
    }
}

impl Scalar {
    /// The type of the text, as `js-yaml` 4 resolves it.
    pub fn kind(&self) -> ScalarKind {
        kind_of_scalar(self)
    }

    fn is_string(&self) -> bool {
        self.style != Style::Plain || self.kind() == ScalarKind::Text
    }
}

/// The type of `scalar`.
pub(crate) fn kind_of_scalar(scalar: &Scalar) -> ScalarKind {
    match scalar.tag.as_deref() {
        None if scalar.style == Style::Plain => plain_kind(&scalar.text),
        None | Some("!" | "tag:yaml.org,2002:str") => ScalarKind::Text,
        // An explicit tag asks for the type that the plain text would have.
        Some(_) => plain_kind(&scalar.text),
    }
}

/// The type that `text` has when it is written without quotes.
pub(crate) fn plain_kind(text: &str) -> ScalarKind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return ScalarKind::Null,
        "true" | "True" | "TRUE" => return ScalarKind::Bool(true),
        "false" | "False" | "FALSE" => return ScalarKind::Bool(false),
        _ => {}
    }
    // Every number and every timestamp starts with one of these.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return ScalarKind::Text;
    }
    parse_integer(text)
        .or_else(|| parse_float(text).map(ScalarKind::Float))
        .or_else(|| is_timestamp(text).then_some(ScalarKind::Timestamp))
        .unwrap_or(ScalarKind::Text)
}

fn parse_integer(text: &str) -> Option<ScalarKind> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = if let Some(rest) = digits.strip_prefix("0b") {
        (2, rest)
    } else if let Some(rest) = digits.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = digits.strip_prefix("0o") {
        (8, rest)
    } else {
        (10, digits)
    };
    if digits.ends_with('_') || (radix == 10 && digits.starts_with('_')) {
        return None;
    }
    let mut value: f64 = 0.0;
    let mut exact: Option<i64> = Some(0);
    let mut any = false;
    for c in digits.chars().filter(|c| *c != '_') {
        let digit = c.to_digit(radix)?;
        any = true;
        value = value * f64::from(radix) + f64::from(digit);
        exact = exact
            .and_then(|sum| sum.checked_mul(i64::from(radix)))
            .and_then(|sum| sum.checked_add(i64::from(digit)));
    }
    if !any {
        return None;
    }
    Some(match exact {
        Some(value) => ScalarKind::Int(if negative { -value } else { value }),
        // Summed up digit by digit, a long decimal would be rounded each time.
        None if radix == 10 => ScalarKind::Float(text.replace('_', "").parse().ok()?),
        None => ScalarKind::Float(if negative { -value } else { value }),
    })
}

fn parse_float(text: &str) -> Option<f64> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Some(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    if text.ends_with('_') || !has_float_shape(text.as_bytes()) {
        return None;
    }
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    digits.parse().ok()
}

/// `[-+]?[0-9][0-9_]*(\.[0-9_]*)?(e[-+]?[0-9]+)?` or `\.[0-9_]+(e[-+]?[0-9]+)?`.
fn has_float_shape(text: &[u8]) -> bool {
    let run = |from: usize, underscore: bool| {
        from + text[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit() || (underscore && **b == b'_'))
            .count()
    };
    let mut at = 0;
    if text[0] == b'.' {
        at = run(1, true);
        if at == 1 {
            return false;
        }
    } else {
        if matches!(text[0], b'+' | b'-') {
            at = 1;
        }
        if !text.get(at).is_some_and(u8::is_ascii_digit) {
            return false;
        }
        at = run(at, true);
        if text.get(at) == Some(&b'.') {
            at = run(at + 1, true);
        }
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(text.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        let end = run(at, false);
        if end == at {
            return false;
        }
        at = end;
    }
    at == text.len()
}

/// `YYYY-MM-DD`, or a date and a time as YAML 1.1 writes them.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let mut rest = Digits(text.as_bytes());
    let date = rest.eat_digits(4, 4) && rest.eat_byte(b'-');
    if !date {
        return false;
    }
    let month = rest.skip_digits();
    if !(1..=2).contains(&month) || !rest.eat_byte(b'-') {
        return false;
    }
    let day = rest.skip_digits();
    if !(1..=2).contains(&day) {
        return false;
    }
    if rest.0.is_empty() {
        // The short form wants all its digits.
        return month == 2 && day == 2;
    }
    if !(rest.eat_byte(b'T') || rest.eat_byte(b't') || rest.skip_blanks() > 0) {
        return false;
    }
    let time = rest.eat_digits(1, 2)
        && rest.eat_byte(b':')
        && rest.eat_digits(2, 2)
        && rest.eat_byte(b':')
        && rest.eat_digits(2, 2);
    if !time {
        return false;
    }
    if rest.eat_byte(b'.') {
        rest.skip_digits();
    }
    if rest.0.is_empty() {
        return true;
    }
    rest.skip_blanks();
    if rest.eat_byte(b'Z') {
        return rest.0.is_empty();
    }
    if !(rest.eat_byte(b'+') || rest.eat_byte(b'-')) || !rest.eat_digits(1, 2) {
        return false;
    }
    if rest.0.is_empty() {
        return true;
    }
    rest.eat_byte(b':');
    rest.eat_digits(2, 2) && rest.0.is_empty()
}

/// What is left of a text that is taken apart from the front.
struct Digits<'t>(&'t [u8]);

impl Digits<'_> {
    fn skip_digits(&mut self) -> usize {
        let len = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        self.0 = &self.0[len..];
        len
    }

    fn eat_digits(&mut self, min: usize, max: usize) -> bool {
        (min..=max).contains(&self.skip_digits())
    }

    fn eat_byte(&mut self, want: u8) -> bool {
        let found = self.0.first() == Some(&want);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn skip_blanks(&mut self) -> usize {
        let len = self
            .0
            .iter()
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count();
        self.0 = &self.0[len..];
        len
    }
}

/// Whether some YAML reader takes `text`, written plain, for something else
/// than a string: YAML 1.2 as above, or YAML 1.1 as `PyYAML` reads it.
pub(crate) fn is_misread_plain(text: &str) -> bool {
    plain_kind(text) != ScalarKind::Text || is_yaml_1_1_word(text) || is_yaml_1_1_number(text)
}

fn is_yaml_1_1_word(text: &str) -> bool {
    const WORDS: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "true", "false"];
    text == "="
        || text == "<<"
        || (text.len() <= 5 && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text)))
        || text.eq_ignore_ascii_case("null")
}

/// Base 60, leading-dot and underscored numbers: wider than YAML 1.1, because
/// one quote too many does no harm and one too few changes the data.
fn is_yaml_1_1_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let starts = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    starts
        && digits.contains(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| {
            b.is_ascii_digit() || matches!(b, b'_' | b':' | b'.' | b'e' | b'E' | b'+' | b'-')
        })
        && !is_date_like_id(digits)
}

/// `1.2-3` or `2026-01` are strings everywhere; only exponents sign inside.
fn is_date_like_id(digits: &str) -> bool {
    let sign = digits.find(['+', '-']);
    sign.is_some_and(|at| !digits[..at].ends_with(['e', 'E']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: ScalarKind) {
        assert_eq!(plain_kind(text), expect, "{text}");
    }

    #[test]
    fn plain_scalars_have_the_types_that_js_yaml_gives_them() {
        check("", ScalarKind::Null);
        check("~", ScalarKind::Null);
        check("True", ScalarKind::Bool(true));
        check("yes", ScalarKind::Text);
        check("on", ScalarKind::Text);
        check("12", ScalarKind::Int(12));
        check("-1", ScalarKind::Int(-1));
        check("+1_000", ScalarKind::Int(1000));
        check("0x1F", ScalarKind::Int(31));
        check("0b11", ScalarKind::Int(3));
        check("0o17", ScalarKind::Int(15));
        check("007", ScalarKind::Int(7));
        check("_1", ScalarKind::Text);
        check("1_", ScalarKind::Text);
        check("1.5", ScalarKind::Float(1.5));
        check("1e3", ScalarKind::Float(1000.0));
        check("6673e79", ScalarKind::Float(6673e79));
        check(".5", ScalarKind::Float(0.5));
        check(".", ScalarKind::Text);
        check("-.inf", ScalarKind::Float(f64::NEG_INFINITY));
        check("1.2.3", ScalarKind::Text);
        check("00:02:20", ScalarKind::Text);
        check("2026-01-15", ScalarKind::Timestamp);
        check("2026-01-15T00:25:00Z", ScalarKind::Timestamp);
        check("2026-1-5 0:25:00.5 +02:00", ScalarKind::Timestamp);
        check("2026-1-5", ScalarKind::Text);
        check("2026-01-15_case", ScalarKind::Text);
        check("-", ScalarKind::Text);
        check("78cc286", ScalarKind::Text);
    }

    #[test]
    fn what_an_older_reader_would_take_for_something_else_is_known() {
        for text in [
            "y", "No", "ON", "00:02:20", "1:30", "=", "<<", "1_000.5", "010", "6673e79", "NULL",
        ] {
            assert!(is_misread_plain(text), "{text}");
        }
        for text in [
            "yesterday",
            "45m",
            "1h 2m 3s",
            "2026-01-15_case",
            "78cc286",
            "v1.0",
            "a",
            "2026-01",
        ] {
            assert!(!is_misread_plain(text), "{text}");
        }
    }
}
