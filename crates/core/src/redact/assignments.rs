//! Secrets that stand beside a name: in configuration, in source code, in
//! headers, in URLs and behind options of commands.
//!
//! One reading for all of them: a name, what joins it to its value, the value.
//! The text is plain here, so no row has to know how a quotation mark is written.

use std::ops::Range;

use super::SecretRange;
use super::commands::find_in_command;
use super::names::{NameRating, is_constant, rate_name};
use super::plain_text::{COLOUR, MARK, PlainText};
use super::values::{
    LOOKED_AT, ValueForm, is_code, is_name, is_placeholder, is_secret_value, is_wordy,
};

/// A longer name is none.
const NAME_BYTES_MAX: usize = 128;
/// A longer value is not looked for.
const VALUE_BYTES_MAX: usize = 8 << 10;
/// The name of a resource is no longer than that.
const RESOURCE_BYTES_MAX: usize = 128;
/// A type between a name and its value is no longer than that.
const TYPE_BYTES_MAX: usize = 48;
/// How far behind the name of a variable the label of its value may stand.
const LABEL_BYTES_MAX: usize = 80;
/// How far behind a scheme of authorization its parameters are read.
const PARAMETERS_BYTES_MAX: usize = 512;
/// A key in a sentence is no shorter than that.
const RANDOM_BYTES_MIN: usize = 12;
/// How far before `password` the line of an account may begin.
const ACCOUNT_BYTES_MAX: usize = 160;

/// Finds every secret that is a value of a name.
pub(super) fn find_assignments(text: &PlainText<'_>, found: &mut Vec<SecretRange<'_>>) {
    let bytes = text.bytes();
    let mut at = 0;
    // Up to here cookies were read: each name of one would have the rest read again.
    let mut cookies_end = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let name = at..end_of_name(bytes, at);
        let before = found.len();
        if name.len() <= NAME_BYTES_MAX {
            find_beside_name(text, &name, &mut cookies_end, found);
        }
        let read = found[before..].iter().map(|secret| secret.range.end).max();
        at = read.unwrap_or(0).max(name.end);
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | COLOUR)
}

pub(super) fn skip_blanks(text: &PlainText<'_>, mut at: usize) -> usize {
    while is_blank(text.byte(at)) {
        at += 1;
    }
    at
}

fn end_of_name(bytes: &[u8], at: usize) -> usize {
    let is_inside = |byte: &u8| is_word(*byte) || matches!(*byte, b'-' | b'.');
    let length = bytes[at..]
        .iter()
        .take_while(|byte| is_inside(byte))
        .count();
    let name = &bytes[at..at + length];
    let trailing = name
        .iter()
        .rev()
        .take_while(|byte| !is_word(**byte))
        .count();
    at + length - trailing
}

/// What joins a name to its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// `=`, `:=`, `=>`, an element of XML.
    Equals,
    Colon,
    /// Two strings that follow each other: arguments of a call.
    Comma,
    /// What is read as if it stood in a sentence: `setPassword("…")`, `password -> …`, a
    /// column of a table, the line behind a prompt.
    Loose,
}

fn find_beside_name(
    text: &PlainText<'_>,
    name: &Range<usize>,
    cookies_end: &mut usize,
    found: &mut Vec<SecretRange<'_>>,
) {
    let spelled = text.text(name.clone());
    if find_in_command(text, &spelled, name, found) {
        return;
    }
    let is_called = |word: &str| {
        let end = spelled.len().saturating_sub(word.len());
        spelled.as_bytes()[end..].eq_ignore_ascii_case(word.as_bytes())
    };
    if is_called("cookie") || is_called("cookies") {
        // `{"name": "Cookie", "value": "…"}`
        let label = text.bytes()[name.end..].iter().take(LABEL_BYTES_MAX);
        let label = label.take_while(|byte| !is_word(**byte)).count() + name.end;
        let label = label..end_of_name(text.bytes(), label);
        let joint = match text.text(label.clone()).as_ref() {
            "value" => read_joint(text, &label),
            _ => read_joint(text, name),
        };
        if let Some((_, at)) = joint.filter(|(_, at)| *at >= *cookies_end) {
            *cookies_end = find_cookies(text, at, found);
        }
        return;
    }
    if let Some(secret) = find_spoken_login(text, name, &spelled) {
        found.push(secret);
        return;
    }
    find_in_login_call(text, name, &spelled, found);
    let rating = rate_in_context(text, name, &spelled);
    // The user of an address is no name: `https://access-token:…@host`.
    let is_user = text.bytes()[..name.start].ends_with(b"://");
    let is_kind = spelled == "secret" && is_in_resource_name(text, name.start);
    if rating == NameRating::Plain || is_user || is_kind {
        return;
    }
    let beside = NameBesideValue {
        text,
        name,
        rating,
        is_constant: is_constant(spelled.rsplit('.').next().unwrap_or_default()),
    };
    let mut joint = read_joint(text, name);
    let begin = skip_blanks(text, name.end);
    // `proxy_set_header Authorization "Basic …"`
    if joint.is_none()
        && is_called("authorization")
        && begin > name.end
        && is_quote(text.byte(begin))
    {
        joint = Some((Joint::Colon, begin));
    }
    let secret = match joint {
        Some((joint, at)) if is_called("authorization") => beside.read_credentials(at, joint),
        Some((joint, at)) => beside.read_value(at, joint),
        None if is_called("bearer") => beside.read_bearer(),
        None => beside.read_spoken(),
    };
    let secret = secret.or_else(|| beside.read_labelled());
    found.extend(secret.or_else(|| beside.read_before()));
}

/// Words before `pass` that make a password of it.
#[rustfmt::skip]
const OWNERS: [&[u8]; 8] = [
    b"db ", b"admin ", b"root ", b"login ", b"my ", b"smtp ", b"wifi ", b"ssh ",
];
/// Names of parameters that are secrets in the query of an address, where they look like it.
const OF_QUERIES: [&str; 6] = ["key", "code", "session_id", "sessionid", "sid", "ticket"];

/// What a name says of its value with what stands before it.
fn rate_in_context(text: &PlainText<'_>, name: &Range<usize>, spelled: &str) -> NameRating {
    let before = &text.bytes()[..name.start];
    let rating = rate_name(spelled);
    match rating {
        NameRating::Plain if OF_QUERIES.contains(&spelled) => match before {
            [.., b'?' | b'&'] => NameRating::Maybe,
            [.., b'/'] if spelled == "key" => NameRating::Maybe,
            // `API key`, `seed phrase`
            [.., byte, b' '] if byte.is_ascii_alphabetic() => {
                let length = before[..before.len() - 1].iter().rev().take(16);
                let length = length.take_while(|byte| byte.is_ascii_alphabetic()).count();
                let rating = rate_name(&text.text(name.start - 1 - length..name.end));
                if rating > NameRating::Maybe {
                    rating
                } else {
                    NameRating::Plain
                }
            }
            _ => NameRating::Plain,
        },
        // A login of a repository of gems: `BUNDLE_GEMS__ACME__COM`.
        NameRating::Plain if spelled.starts_with("BUNDLE_") && spelled.contains("__") => {
            NameRating::Maybe
        }
        // `pass: 14` counts tests, unless there is someone to log in.
        NameRating::Secret if spelled.eq_ignore_ascii_case("pass") => {
            let line = before.iter().rev().take(ACCOUNT_BYTES_MAX);
            let line: Vec<u8> = line.take_while(|byte| **byte != b'\n').copied().collect();
            let has = |word: &[u8]| line.windows(word.len()).any(|part| part == word);
            // Read from its end.
            let is_argument = [
                b"-passin ".as_slice(),
                b"-passout ",
                b"-pass ",
                b"-password ",
            ];
            if is_argument.iter().any(|option| before.ends_with(option))
                || has(b" :resu")
                || has(b" resu")
                || has(b"nigol")
                || OWNERS.iter().any(|owner| before.ends_with(owner))
            {
                NameRating::Password
            } else {
                rating
            }
        }
        NameRating::Plain | NameRating::Maybe | NameRating::Secret | NameRating::Password => rating,
    }
}

/// The password of a user in a sentence: `login with ada / …`, `credentials: ada:…`.
fn find_spoken_login(
    text: &PlainText<'_>,
    name: &Range<usize>,
    spelled: &str,
) -> Option<SecretRange<'static>> {
    #[rustfmt::skip]
    const NAMES: [&str; 7] = [
        "login", "log", "logged", "credentials", "creds", "sign", "account",
    ];
    #[rustfmt::skip]
    const LINKS: [&str; 12] = [
        "in ", "with ", "using ", "as ", "are ", "is ", "the ", "credentials ", "user ", ": ",
        "= ", "=",
    ];
    let begins = matches!(spelled.as_bytes()[0] | 0x20, b'l' | b'c' | b's' | b'a');
    if !begins || !NAMES.iter().any(|name| spelled.eq_ignore_ascii_case(name)) {
        return None;
    }
    let (mut at, mut links) = (skip_blanks(text, name.end), 0);
    while let Some(link) = LINKS
        .iter()
        .find(|link| text.bytes()[at..].starts_with(link.as_bytes()))
    {
        at = skip_blanks(text, at + link.len());
        links += 1;
        if links > LINKS_MAX {
            return None;
        }
    }
    at += usize::from(is_quote(text.byte(at)));
    let user = at..end_of_name(text.bytes(), at.min(text.bytes().len()));
    let joint = skip_blanks(text, user.end);
    if links == 0 || user.is_empty() || user.len() > 32 || !b"/:".contains(&text.byte(joint)) {
        return None;
    }
    let mut value = read_value_at(text, skip_blanks(text, joint + 1))?;
    value.form = ValueForm::Spoken;
    let password = text.text(value.range.clone());
    let is_secret = is_secret_value(NameRating::Password, &password, value.form)
        && !password.contains('/')
        && password.bytes().any(|byte| byte.is_ascii_digit());
    is_secret.then_some(SecretRange {
        name: "assigned-secret",
        range: value.range,
    })
}

/// Calls that take a password, or a key, behind something else.
#[rustfmt::skip]
const LOGIN_CALLS: [&str; 16] = [
    "login", "authenticate", "auth", "credential", "credentials", "credentials.basic",
    "basicauth", "basic_auth", "getconnection", "mysqli", "pdo", "ftp", "jwt.sign", "jwt.verify",
    "jwt.encode", "jwt.decode",
];

/// Finds the password of a call that logs in: `login("ada", "…")`, `basic_auth(user, Some("…"))`.
fn find_in_login_call(
    text: &PlainText<'_>,
    name: &Range<usize>,
    spelled: &str,
    found: &mut Vec<SecretRange<'_>>,
) {
    let open = name.end + usize::from(text.byte(name.end) == b'=');
    if text.byte(open) != b'(' {
        return;
    }
    let spelled = spelled.to_ascii_lowercase();
    if !LOGIN_CALLS.iter().any(|call| spelled.ends_with(call)) {
        return;
    }
    let last = text.bytes().len().min(open + PARAMETERS_BYTES_MAX);
    let (mut at, mut is_first) = (open + 1, true);
    while at < last && !matches!(text.byte(at), b')' | b'\n' | MARK) {
        if !is_quote(text.byte(at)) {
            is_first = is_first && text.byte(at) != b',';
            at += 1;
            continue;
        }
        let range = at + 1..end_of_quoted(text, at);
        at = range.end.max(at) + 1;
        let value = text.text(range.clone());
        let is_secret = is_secret_value(NameRating::Password, &value, ValueForm::Quoted)
            && !value.contains([':', '='])
            && !(value.contains('/') && is_wordy(&value))
            && value.bytes().any(|byte| byte.is_ascii_digit());
        if !is_first && is_secret {
            found.push(SecretRange {
                name: "assigned-secret",
                range,
            });
        }
    }
}

/// Whether a word is a part of the name of a secret: `arn:aws:secretsmanager:…:secret:…`.
fn is_in_resource_name(text: &PlainText<'_>, at: usize) -> bool {
    if at == 0 || text.byte(at - 1) != b':' {
        return false;
    }
    let before = text.bytes()[..at].iter().rev().take(RESOURCE_BYTES_MAX);
    let length = before
        .take_while(|byte| is_word(**byte) || matches!(**byte, b':' | b'-' | b'/'))
        .count();
    let arn = text.text(at - length..at);
    arn.starts_with("arn:") && arn.contains(":secretsmanager:")
}

/// What joins the name to its value, and where that begins.
fn read_joint(text: &PlainText<'_>, name: &Range<usize>) -> Option<(Joint, usize)> {
    let mut at = name.end;
    let is_quoted = is_quote(text.byte(at));
    while matches!(text.byte(at), b']' | b')' | b'?' | b'!') || is_quote(text.byte(at)) {
        at += 1;
    }
    if text.byte(at) == b'[' {
        let length = text.bytes()[at..]
            .iter()
            .take(8)
            .position(|byte| *byte == b']')?;
        at += length + 1;
    }
    let is_element = text.byte(at) == b'>'
        && (is_quoted || (name.start > 0 && text.byte(name.start - 1) == b'<'));
    if is_element {
        return Some((Joint::Equals, at + 1));
    }
    // The value is in the call.
    if matches!(text.byte(name.end), b'(' | b'{') && is_quote(text.byte(name.end + 1)) {
        return Some((Joint::Loose, name.end));
    }
    at = skip_blanks(text, at);
    // `password (staging): …`
    if text.byte(at) == b'(' && is_blank(text.byte(at - 1)) {
        let rest = text.bytes()[at..].iter().take(TYPE_BYTES_MAX);
        let length = rest
            .take_while(|byte| is_word(**byte) || b"( ".contains(byte))
            .count();
        at += if text.byte(at + length) == b')' {
            length + 1
        } else {
            0
        };
    }
    // `Dim password As String = "…"`
    if text.bytes()[at..].starts_with(b"As String = ") {
        return Some((Joint::Equals, at + "As String = ".len()));
    }
    let rest = &text.bytes()[at..];
    let spelled = text.text(name.clone());
    // `"password", "…"`, `DB_PASSWORD, "…"`, `{password, "…"}`
    let is_listed = is_quoted
        || is_constant(spelled.rsplit('.').next().unwrap_or_default())
        || text.bytes()[..name.start].ends_with(b"{");
    let joints: [(&[u8], Option<Joint>); 20] = [
        (b"=>", Some(Joint::Equals)),
        (b"==", None),
        (b"=~", None),
        (b"=", Some(Joint::Equals)),
        (b":=", Some(Joint::Equals)),
        (b"::", None),
        (b":", Some(Joint::Colon)),
        (b"?=", Some(Joint::Equals)),
        (b"+=", Some(Joint::Equals)),
        (b"||=", Some(Joint::Equals)),
        (b"??=", Some(Joint::Equals)),
        (b"<-", Some(Joint::Equals)),
        (b"-> ", Some(Joint::Loose)),
        (b"->", None),
        (b"|| ", Some(Joint::Equals)),
        (b"?? ", Some(Joint::Equals)),
        (b"| ", Some(Joint::Loose)),
        (b"!=", None),
        (b"/", Some(Joint::Loose)),
        (b",", is_listed.then_some(Joint::Comma)),
    ];
    let (sign, joint) = joints.iter().find(|(sign, _)| rest.starts_with(sign))?;
    let mut begin = skip_blanks(text, at + sign.len());
    // `**Password:** …`
    while text.byte(begin) == b'*' {
        begin = skip_blanks(text, begin + 1);
    }
    let is_joint = match *sign {
        // What stands in for a variable that is not set.
        b"|| " | b"?? " => is_quote(text.byte(begin)),
        // `/key/…` in a path
        b"/" => {
            let rest = text.bytes()[begin..].iter().take(NAME_BYTES_MAX);
            let is_last = rest
                .take_while(|byte| !is_blank(**byte) && !is_quote(**byte))
                .all(|byte| *byte != b'.');
            text.bytes()[..name.start].ends_with(b"/")
                && at == name.end
                && is_last
                && matches!(spelled.as_ref(), "key" | "token" | "apikey")
        }
        b"| " => {
            let mut before = text.bytes()[..name.start].iter().rev().take(4);
            let column = text.bytes()[begin..].iter().take(LOOKED_AT);
            let column = column.take_while(|byte| !matches!(**byte, b'|' | b'\n'));
            let column = text.text(begin..begin + column.count());
            before.find(|byte| !is_blank(**byte) && !b"`*".contains(byte)) == Some(&b'|')
                && !column.trim().contains(' ')
        }
        _ => true,
    };
    Some(((*joint).filter(|_| is_joint)?, begin))
}

/// A value and how it is written.
struct FoundValue {
    range: Range<usize>,
    form: ValueForm,
}

/// Reads the value that begins there.
fn read_value_at(text: &PlainText<'_>, at: usize) -> Option<FoundValue> {
    let mut at = at;
    // `[ "…" ]`, and the letters and signs before a string: `b"…"`, `@"…"`.
    if text.byte(at) == b'[' && is_quote(text.byte(at + 1)) {
        at += 1;
    }
    let is_prefix = matches!(
        text.byte(at),
        b'b' | b'r' | b'f' | b'u' | b'L' | b'@' | b'$'
    );
    if is_prefix && is_quote(text.byte(at + 1)) {
        at += 1;
    }
    // A string of code in a string of code: `"\"…\""`.
    if is_quote(text.byte(at))
        && is_quote(text.byte(at + 1))
        && text.spelling(at) != text.spelling(at + 1)
    {
        at += 1;
    }
    // `"""…"""`
    let is_same =
        |other| text.byte(other) == text.byte(at) && text.spelling(other) == text.spelling(at);
    if is_quote(text.byte(at)) && is_same(at + 1) && is_same(at + 2) {
        at += 2;
    }
    if is_quote(text.byte(at)) {
        return Some(FoundValue {
            range: at + 1..end_of_quoted(text, at),
            form: ValueForm::Quoted,
        });
    }
    // `auth=("ada", "…")`, `setPassword("…")`
    if matches!(text.byte(at), b'(' | b'{') && is_quote(text.byte(at + 1)) {
        let open = second_argument(text, at).unwrap_or(at + 1);
        return Some(FoundValue {
            range: open + 1..end_of_quoted(text, open),
            form: ValueForm::Quoted,
        });
    }
    let range = at..end_of_beginning(text, at);
    // `SecretString::from("…")`
    let bytes = &text.bytes()[range.clone()];
    if bytes.last() == Some(&b'(') && is_quote(text.byte(range.end)) {
        let end = end_of_quoted(text, range.end);
        let range = range.end + 1..end;
        let argument = text.text(range.clone());
        let is_random = !is_wordy(&argument) && !is_placeholder(&argument);
        return is_random.then_some(FoundValue {
            range,
            form: ValueForm::Quoted,
        });
    }
    Some(FoundValue {
        range,
        form: ValueForm::Bare,
    })
}

/// Where the second of two strings begins that are in the parentheses that open there.
fn second_argument(text: &PlainText<'_>, open: usize) -> Option<usize> {
    let behind = end_of_quoted(text, open + 1) + 1;
    let second = skip_blanks(text, behind + 1);
    (text.byte(behind) == b',' && is_quote(text.byte(second))).then_some(second)
}

/// Where a string ends whose quotation mark is there: at a mark that is written
/// the same, escapes included.
fn end_of_quoted(text: &PlainText<'_>, open: usize) -> usize {
    let (quote, spelling) = (text.byte(open), text.spelling(open));
    let last = text.bytes().len().min(open + VALUE_BYTES_MAX);
    let is_end = |at: &usize| {
        let byte = text.byte(*at);
        (byte == quote && text.spelling(*at) == spelling)
            || matches!(byte, b'\n' | b'\r' | MARK)
            || (byte == b'"' && ends_string(text, *at))
    };
    (open + 1..last).find(is_end).unwrap_or(open + 1)
}

/// Whether a string of JSON may end at a quotation mark: what is taken out never
/// holds one that does.
pub(super) fn ends_string(text: &PlainText<'_>, at: usize) -> bool {
    let next = text.byte(at + 1);
    matches!(next, b',' | b':' | b'}' | b']' | b'"' | b'\\' | 0) || next.is_ascii_whitespace()
}

/// Where the beginning of a value without quotation marks ends that decides whether it is
/// a secret. Most are none, and are read no further.
fn end_of_beginning(text: &PlainText<'_>, from: usize) -> usize {
    end_of_bare(text, from, LOOKED_AT + 1)
}

/// Where a value without quotation marks ends, within so many bytes.
fn end_of_bare(text: &PlainText<'_>, from: usize, bytes_max: usize) -> usize {
    let bytes = text.bytes();
    let last = bytes.len().min(from + bytes_max);
    let mut end = last;
    for at in from..last {
        let byte = bytes[at];
        let is_end = match byte {
            b'(' => {
                if is_quote(text.byte(at + 1)) {
                    return at + 1;
                }
                false
            }
            b'&' => begins_parameter(text, from, at),
            b'<' | b'>' | b'{' | b'}' | COLOUR | MARK => true,
            b',' | b';' => begins_next(text, at + 1),
            b')' => !bytes[from..at].contains(&b'('),
            b']' => !bytes[from..at].contains(&b'['),
            b'=' => is_nested(text, from..at),
            b'$' => text.byte(at + 1) == b'{',
            _ => byte.is_ascii_whitespace() || is_quote(byte),
        };
        if is_end {
            end = at;
            break;
        }
    }
    if end == last && last < bytes.len() {
        // It goes on: what stands here is no end of a sentence.
        return end;
    }
    while end > from && matches!(bytes[end - 1], b'.' | b',' | b';' | b':' | b'?' | b'\\') {
        end -= 1;
    }
    end
}

/// Whether an `&` ends the value that begins there: in a query, before the name of
/// another parameter, and where a command ends. A password may hold one.
fn begins_parameter(text: &PlainText<'_>, from: usize, at: usize) -> bool {
    let bytes = text.bytes();
    let before = bytes[..from].iter().rev().take(NAME_BYTES_MAX);
    let mut before = before.take_while(|byte| !byte.is_ascii_whitespace() && !is_quote(**byte));
    let name = end_of_name(bytes, at + 1);
    before.any(|byte| matches!(byte, b'?' | b'&')) || name == at + 1 || text.byte(name) == b'='
}

/// Whether something new begins behind a comma or a semicolon.
fn begins_next(text: &PlainText<'_>, at: usize) -> bool {
    let byte = text.byte(at);
    if byte == 0
        || byte.is_ascii_whitespace()
        || is_quote(byte)
        || matches!(byte, b'}' | b']' | b'\\')
    {
        return true;
    }
    let bytes = text.bytes();
    let rest = bytes[at..].iter().take(NAME_BYTES_MAX);
    let name = rest
        .take_while(|byte| is_word(**byte) || matches!(**byte, b' ' | b'-' | b'.'))
        .count();
    name > 0 && matches!(text.byte(at + name), b'=' | b':')
}

/// Whether the text before a `=` is a name, and no part of a value: `auth=token=…`.
fn is_nested(text: &PlainText<'_>, before: Range<usize>) -> bool {
    let next = text.byte(before.end + 1);
    let is_padding =
        next == b'=' || next == 0 || !(is_word(next) || is_quote(next) || next == MARK);
    !is_padding && before.len() <= NAME_BYTES_MAX && is_wordy(&text.text(before))
}

/// A name that may be one of a secret, with what is beside it.
struct NameBesideValue<'t> {
    text: &'t PlainText<'t>,
    name: &'t Range<usize>,
    rating: NameRating,
    is_constant: bool,
}

impl NameBesideValue<'_> {
    fn as_secret(&self, value: FoundValue) -> Option<SecretRange<'static>> {
        let spelled = self.text.text(value.range.clone());
        // `AUTH=ada:…`
        let login = spelled.split_once(':').filter(|(user, password)| {
            self.rating == NameRating::Maybe
                && (1..=32).contains(&user.len())
                && user
                    .bytes()
                    .all(|byte| is_word(byte) || b"-.@".contains(&byte))
                && !password.starts_with([':', '/'])
                && !(is_wordy(password) && is_code(password))
                && is_secret_value(NameRating::Password, password, value.form)
        });
        if let Some((user, _)) = login {
            return Some(SecretRange {
                name: "assigned-secret",
                range: self.whole_value(value.range.start + user.len() + 1..value.range.end),
            });
        }
        is_secret_value(self.rating, &spelled, value.form).then(|| SecretRange {
            name: "assigned-secret",
            range: self.whole_value(value.range),
        })
    }

    /// Whether the name and the value up to there are a line: a setting.
    fn is_line(&self, end: usize) -> bool {
        let before = &self.text.bytes()[..self.name.start];
        let mut before = before.iter().rev().take(TYPE_BYTES_MAX);
        let begins = before.find(|byte| !is_blank(**byte));
        matches!(begins, None | Some(b'\n'))
            && matches!(self.text.byte(end), b'\n' | b'\r' | b'"' | 0)
    }

    /// Whether the name is of a method that sets: `config.setPassword`.
    fn is_setter(&self) -> bool {
        let name = self.text.text(self.name.clone());
        name.rsplit('.')
            .next()
            .is_some_and(|method| method.starts_with("set"))
    }

    /// A key in a sentence: only what looks random is one.
    fn read_random(&self, value: FoundValue) -> Option<SecretRange<'static>> {
        let spelled = self.text.text(value.range.clone());
        let is_random = spelled.len() >= RANDOM_BYTES_MIN
            && spelled.bytes().any(|byte| byte.is_ascii_digit())
            && !is_name(&spelled)
            && (!spelled.contains('/') || spelled.len() >= 2 * RANDOM_BYTES_MIN)
            && is_secret_value(NameRating::Secret, &spelled, ValueForm::Spoken);
        is_random.then(|| SecretRange {
            name: "assigned-secret",
            range: self.whole_value(value.range),
        })
    }

    /// The whole of a value of which the beginning was read.
    fn whole_value(&self, beginning: Range<usize>) -> Range<usize> {
        if beginning.len() < LOOKED_AT || is_quote(self.text.byte(beginning.end)) {
            return beginning;
        }
        let end = end_of_bare(self.text, beginning.start, VALUE_BYTES_MAX);
        beginning.start..end.max(beginning.end)
    }

    fn read_value(&self, at: usize, joint: Joint) -> Option<SecretRange<'static>> {
        if self.leads_to_name(at) {
            return None;
        }
        // A prompt, and the answer on the next line.
        if joint == Joint::Colon && self.text.byte(at) == b'\n' {
            let mut value = read_value_at(self.text, at + 1)?;
            let is_line = matches!(
                self.text.byte(value.range.end),
                b'\n' | b'\r' | b'"' | b'&' | 0
            );
            value.form = ValueForm::Spoken;
            let is_answer = is_line && self.rating == NameRating::Password;
            return is_answer.then(|| self.as_secret(value)).flatten();
        }
        let typed = (joint == Joint::Colon)
            .then(|| self.skip_type(at))
            .flatten();
        let mut value = read_value_at(self.text, typed.unwrap_or_else(|| self.skip_words(at)))?;
        match (joint, value.form) {
            (Joint::Comma, ValueForm::Quoted) if self.is_constant => {}
            (Joint::Comma, ValueForm::Quoted) => value.form = ValueForm::Spoken,
            (Joint::Loose, _) if self.rating < NameRating::Password => {
                return self.read_random(value);
            }
            (Joint::Loose, ValueForm::Quoted) if self.is_setter() => {}
            (Joint::Loose, _) => value.form = ValueForm::Spoken,
            (Joint::Comma, ValueForm::Bare | ValueForm::Constant | ValueForm::Spoken) => {
                return None;
            }
            (Joint::Equals | Joint::Colon, ValueForm::Bare) if self.is_constant => {
                value.form = ValueForm::Constant;
            }
            (Joint::Equals | Joint::Colon, ValueForm::Quoted)
                if self.is_constant && self.rating == NameRating::Maybe =>
            {
                value.form = ValueForm::Constant;
            }
            (Joint::Equals, ValueForm::Bare)
                if self.text.byte(at.wrapping_sub(1)) == b'=' || self.is_line(value.range.end) =>
            {
                value.form = ValueForm::Constant;
            }
            (Joint::Equals, ValueForm::Bare)
                if self.text.byte(self.name.start.wrapping_sub(1)) == b'<' =>
            {
                value.form = ValueForm::Quoted;
            }
            (Joint::Equals | Joint::Colon, _) => {}
        }
        self.as_secret(value)
    }

    /// Whether the value begins with a name that says as much, and is read itself:
    /// `token:token:…`.
    fn leads_to_name(&self, at: usize) -> bool {
        let bytes = self.text.bytes();
        let name = at..end_of_name(bytes, at.min(bytes.len()));
        (1..=NAME_BYTES_MAX).contains(&name.len())
            && self.text.byte(name.end) == b':'
            && self.text.byte(name.end + 1) != b':'
            && rate_name(&self.text.text(name)) >= self.rating
    }

    /// Behind the type of a variable: `key: &str = "…"`.
    fn skip_type(&self, at: usize) -> Option<usize> {
        let rest = self.text.bytes()[at..].iter().take(TYPE_BYTES_MAX);
        let is_type = |byte: &u8| is_word(*byte) || b" &'<>[]|?.:".contains(byte);
        let length = rest.take_while(|byte| is_type(byte)).count();
        let equals = at + length;
        let is_joint = length > 1
            && self.text.byte(equals) == b'='
            && self.text.byte(equals - 1) == b' '
            && !matches!(self.text.byte(equals + 1), b'=' | b'>');
        is_joint.then(|| skip_blanks(self.text, equals + 1))
    }

    /// Behind a keyword or a tag, and on the next line behind the sign of a block of YAML.
    fn skip_words(&self, at: usize) -> usize {
        let bytes = self.text.bytes();
        for word in ["new ", "await ", "!!str ", "!!binary ", "q("] {
            if bytes[at..].starts_with(word.as_bytes()) {
                return at + word.len();
            }
        }
        for sign in ["|\n", "|-\n", ">\n", ">-\n", "|+\n"] {
            if bytes[at..].starts_with(sign.as_bytes()) {
                return skip_blanks(self.text, at + sign.len());
            }
        }
        at
    }

    /// Behind `Authorization:`: a scheme and what it takes, or only that.
    fn read_credentials(&self, at: usize, joint: Joint) -> Option<SecretRange<'static>> {
        let bytes = self.text.bytes();
        let at = if is_quote(self.text.byte(at)) {
            at + 1
        } else {
            at
        };
        let scheme = bytes[at..].iter().take(24);
        let scheme = at..at
            + scheme
                .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
                .count();
        let behind = skip_blanks(self.text, scheme.end);
        if behind == scheme.end {
            return self.read_value(at, joint);
        }
        // `Digest username="ada", response="…"`
        let line = bytes[behind..].iter().take(PARAMETERS_BYTES_MAX);
        let line = self
            .text
            .text(behind..behind + line.take_while(|byte| **byte != b'\n').count());
        let parameter = ["response=", "ignature=", "mac="]
            .iter()
            .find_map(|name| Some(line.find(name)? + name.len()));
        if let Some(offset) = parameter.filter(|_| line.is_ascii()) {
            let range = read_value_at(self.text, behind + offset)?.range;
            let is_random = !is_wordy(&self.text.text(range.clone())) && range.len() > 15;
            return is_random.then_some(SecretRange {
                name: "authorization",
                range,
            });
        }
        let range = behind..end_of_beginning(self.text, behind);
        let value = self.text.text(range.clone());
        let is_bearer = bytes[scheme].eq_ignore_ascii_case(b"bearer");
        let name = if is_bearer { "bearer" } else { "authorization" };
        is_secret_value(NameRating::Secret, &value, ValueForm::Bare).then(|| SecretRange {
            name,
            range: self.whole_value(range),
        })
    }

    /// Behind `bearer` outside of a header.
    fn read_bearer(&self) -> Option<SecretRange<'static>> {
        let at = skip_blanks(self.text, self.name.end);
        let range = at..end_of_beginning(self.text, at);
        let value = self.text.text(range.clone());
        let is_secret =
            at > self.name.end && is_secret_value(NameRating::Maybe, &value, ValueForm::Constant);
        is_secret.then(|| SecretRange {
            name: "bearer",
            range: self.whole_value(range),
        })
    }

    /// Behind blanks: an option of a command, an instruction, a line of `.netrc`, a sentence.
    fn read_spoken(&self) -> Option<SecretRange<'static>> {
        let text = self.text;
        let mut at = skip_blanks(text, self.name.end);
        if at == self.name.end {
            return None;
        }
        for _ in 0..LINKS_MAX {
            let rest = &text.bytes()[at..];
            let is_link = |link: &&&str| rest.starts_with(link.as_bytes());
            let Some(link) = LINKS.iter().find(is_link) else {
                break;
            };
            at = skip_blanks(text, at + link.len());
        }
        // `Password for ada: …`
        if self.rating == NameRating::Password && text.bytes()[at..].starts_with(b"for ") {
            let owner = at + 4..end_of_name(text.bytes(), at + 4);
            let behind = skip_blanks(text, owner.end);
            let at = match read_joint(text, &owner) {
                Some((Joint::Colon, at)) => at,
                _ if [b"is ", b"is:"]
                    .iter()
                    .any(|is| text.bytes()[behind..].starts_with(*is)) =>
                {
                    let is = behind..behind + 2;
                    read_joint(text, &is).map_or(is.end + 1, |(_, at)| at)
                }
                _ => return None,
            };
            let mut value = read_value_at(text, at)?;
            value.form = ValueForm::Spoken;
            return self.as_secret(value);
        }
        if text.byte(at) == b'-' {
            return None;
        }
        let mut value = read_value_at(text, at)?;
        let form = match self.context() {
            SpokenContext::Instruction => ValueForm::Constant,
            SpokenContext::Option => ValueForm::Constant,
            SpokenContext::Sentence if self.rating < NameRating::Password => {
                return self.read_random(value);
            }
            SpokenContext::Sentence => ValueForm::Spoken,
        };
        if value.form == ValueForm::Bare || form == ValueForm::Spoken {
            value.form = form;
        }
        self.as_secret(value)
    }

    fn context(&self) -> SpokenContext {
        let text = self.text;
        let start = self.name.start;
        if start > 0 && text.byte(start - 1) == b'-' {
            return SpokenContext::Option;
        }
        let first = text.bytes()[..start]
            .len()
            .saturating_sub(ACCOUNT_BYTES_MAX);
        let before = text.text(first..start);
        let line = before.rsplit('\n').next().unwrap_or_default();
        // Behind a part of a name, as in `set //registry.npmjs.org/:_authToken …`.
        let line = line
            .rsplit_once(' ')
            .map_or(line, |(line, _)| line)
            .trim_end();
        let is_outside = |c: char| !c.is_ascii_alphabetic() && c != '-';
        let word = line.rsplit(is_outside).next().unwrap_or_default();
        let instructions = ["ENV", "ARG", "setx", "setenv", "-x", "-gx", "-Ux", "set"];
        let is_account = self.rating == NameRating::Password
            && ["login ", "machine ", "account "]
                .iter()
                .any(|part| before.contains(part));
        if instructions.contains(&word) || is_account {
            SpokenContext::Instruction
        } else {
            SpokenContext::Sentence
        }
    }

    /// A value that a sentence names afterwards: `use … as the password`.
    fn read_before(&self) -> Option<SecretRange<'static>> {
        let bytes = &self.text.bytes()[..self.name.start];
        let links = [
            b" as the ".as_slice(),
            b" as ",
            b" is the ",
            b" as your ",
            b" as my ",
        ];
        let link = links.iter().find(|link| bytes.ends_with(link))?;
        let mut end = bytes.len() - link.len();
        if is_quote(self.text.byte(end.checked_sub(1)?)) {
            end -= 1;
        }
        let value = bytes[..end].iter().rev().take(LOOKED_AT);
        let length = value
            .take_while(|byte| !byte.is_ascii_whitespace() && !is_quote(**byte) && **byte != MARK);
        let range = end - length.count()..end;
        let has_digits = bytes[range.clone()].iter().any(u8::is_ascii_digit);
        let value = FoundValue {
            range,
            form: ValueForm::Spoken,
        };
        (self.rating == NameRating::Password && has_digits)
            .then(|| self.as_secret(value))
            .flatten()
    }

    /// A value that stands under a name of its own: `name: API_KEY`, `value: …`.
    fn read_labelled(&self) -> Option<SecretRange<'static>> {
        let text = self.text;
        let bytes = text.bytes();
        let last = bytes.len().min(self.name.end + LABEL_BYTES_MAX);
        let mut at = self.name.end;
        if at == last || is_word(bytes[at]) {
            return None;
        }
        for _ in 0..3 {
            // A label may end beyond what is looked at.
            let separators = bytes.get(at..last)?.iter();
            let is_separator = |byte: &u8| b" \t\n,;:.{}\"'`-<>/()".contains(byte);
            at += separators.take_while(|byte| is_separator(byte)).count();
            let label = at..end_of_name(bytes, at);
            let spelled = text.text(label.clone()).to_ascii_lowercase();
            match spelled.as_str() {
                "value" | "val" | "parametervalue" | "string" | "body" | "secret-string"
                | "stringvalue" | "default" => {
                    let (joint, at) = read_joint(text, &label).or_else(|| {
                        (text.byte(label.start.wrapping_sub(1)) == b'-')
                            .then(|| (Joint::Equals, skip_blanks(text, label.end)))
                    })?;
                    return self.read_value(at, joint);
                }
                "send" | "sendline" | "send_keys" | "sendkeys" | "fill" => {
                    let at = skip_blanks(text, label.end);
                    return self.read_value(at, Joint::Loose);
                }
                "key" | "name" | "header" | "type" | "securestring" => at = label.end,
                _ => return None,
            }
        }
        None
    }
}

/// Words between the name of a secret and the secret, in sentences.
#[rustfmt::skip]
const LINKS: [&str; 21] = [
    "is: ", "is ", "was ", "to ", "has ", "been ", "be ", "should ", "will ", "now ", "set ",
    "changed ", "reset ", "= ", "0 ", "5 ", "7 ", "ist ", "lautet ", "est ", "es ",
];
/// So many of them follow each other.
const LINKS_MAX: usize = 5;

/// Where a name with a value behind blanks stands.
enum SpokenContext {
    /// `ENV NAME value`, and a line of an account.
    Instruction,
    /// `--name value`
    Option,
    Sentence,
}

/// Finds the values of cookies in a header; where it ends.
fn find_cookies(text: &PlainText<'_>, at: usize, found: &mut Vec<SecretRange<'_>>) -> usize {
    let bytes = text.bytes();
    let mut at = if text.byte(at) == b'[' { at + 1 } else { at };
    at += usize::from(is_quote(text.byte(at)));
    loop {
        at = skip_blanks(text, at);
        let name = at..end_of_name(bytes, at.min(bytes.len()));
        if name.is_empty() || text.byte(name.end) != b'=' {
            return at;
        }
        let begin = name.end + 1;
        let mut range = begin..bytes.len().min(begin + VALUE_BYTES_MAX);
        let end = range.find(|at| match bytes[*at] {
            b';' | b',' | b'&' | b'<' | COLOUR | MARK => true,
            b'=' => is_nested(text, begin..*at),
            byte => byte.is_ascii_whitespace() || is_quote(byte),
        });
        let range = begin..end.unwrap_or(range.end);
        let value = text.text(range.clone());
        let end = range.end;
        if is_secret_value(NameRating::Secret, &value, ValueForm::Bare) && value.len() >= 10 {
            found.push(SecretRange {
                name: "cookie",
                range,
            });
        }
        if text.byte(end) != b';' {
            return end;
        }
        at = end + 1;
    }
}
