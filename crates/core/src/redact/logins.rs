//! Passwords in addresses, and in lines that have no names at all.

use std::ops::Range;

use super::SecretRange;
use super::assignments::is_quote;
use super::names::NameRating;
use super::plain_text::{COLOUR, MARK, PlainText};
use super::values::{ValueForm, is_placeholder, is_secret_value, is_wordy};

/// The name and password of an address are no longer than that.
const LOGIN_BYTES_MAX: usize = 512;
/// A user whose name is that long and no word is a key.
const KEY_BYTES_MIN: usize = 20;

/// Finds the passwords of addresses: `postgres://app:…@db`, `app:…@tcp(db)`,
/// `db:5432:shop:app:…`.
pub(super) fn find_logins(text: &PlainText<'_>, found: &mut Vec<SecretRange<'_>>) {
    let bytes = text.bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b':' if bytes[at..].starts_with(b"://") => found.extend(find_in_url(text, at)),
            b':' if bytes[..at].ends_with(b":thin") => found.extend(find_behind_user(text, at + 1)),
            b':' => found.extend(find_in_pgpass(text, at)),
            b'@' if [b"tcp(".as_slice(), b"unix(", b"("]
                .iter()
                .any(|open| bytes[at + 1..].starts_with(open)) =>
            {
                found.extend(find_before_address(text, at));
            }
            _ => {}
        }
    }
}

fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || is_quote(byte) || matches!(byte, b'<' | b'>' | COLOUR | MARK | 0)
}

fn find_in_url(text: &PlainText<'_>, colon: usize) -> Option<SecretRange<'static>> {
    let before = text.byte(colon.checked_sub(1)?);
    if !before.is_ascii_alphanumeric() {
        return None;
    }
    let begin = colon + 3;
    // In an encoded URL the structure is encoded, and what was encoded in it twice.
    let slash = text.spelling(colon + 1);
    let (mut first_colon, mut login_end) = (None, None);
    let last = text.bytes().len().min(begin + LOGIN_BYTES_MAX);
    for at in begin..last {
        match text.byte(at) {
            b':' if first_colon.is_none() && login_end.is_none() => first_colon = Some(at),
            b'@' => login_end = Some(at),
            b'/' | b'?' | b'#' if text.spelling(at) == slash || text.spelling(at).len() == 1 => {
                break;
            }
            byte if is_end(byte) => break,
            _ => {}
        }
    }
    let end = login_end?;
    // What follows is no host: the image of a container is named by its digest.
    let is_digest = |kind: &&[u8]| text.bytes()[end + 1..].starts_with(kind);
    if [b"sha256:".as_slice(), b"sha512:"].iter().any(is_digest) {
        return None;
    }
    let Some(colon) = first_colon else {
        let user = text.text(begin..end);
        let is_key = user.len() >= KEY_BYTES_MIN && !is_wordy(&user) && !is_placeholder(&user);
        return is_key.then_some(SecretRange {
            name: "url-password",
            range: begin..end,
        });
    };
    let (user, password) = (text.text(begin..colon), text.text(colon + 1..end));
    let is_secret = password.len() >= 3 && password != user && !is_placeholder(&password);
    is_secret.then_some(SecretRange {
        name: "url-password",
        range: colon + 1..end,
    })
}

/// The password of a line of `.pgpass`, whose second field begins behind that colon.
fn find_in_pgpass(text: &PlainText<'_>, colon: usize) -> Option<SecretRange<'static>> {
    let bytes = text.bytes();
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.*_".contains(byte);
    let run = |at: usize| {
        bytes[at..]
            .iter()
            .take(64)
            .take_while(|byte| is_host(byte))
            .count()
    };
    let port = colon + 1..colon + 1 + run(colon + 1);
    let is_port = &bytes[port.clone()] == b"*"
        || (matches!(port.len(), 4..=5) && bytes[port.clone()].iter().all(u8::is_ascii_digit));
    let host = bytes[..colon]
        .iter()
        .rev()
        .take(64)
        .take_while(|byte| is_host(byte))
        .count();
    // A file and a line in it, as `grep -n` prints them. The folder of a socket is none.
    let may_be_file = host < colon
        && bytes[colon - host - 1] == b'/'
        && bytes[colon - host..colon].contains(&b'.');
    if !is_port || host == 0 {
        return None;
    }
    let mut at = port.end;
    let (mut database, mut user) = (at..at, at..at);
    for _ in 0..2 {
        let length = (text.byte(at) == b':').then(|| run(at + 1))?;
        if length == 0 {
            return None;
        }
        database = user;
        user = at + 1..at + 1 + length;
        at = user.end;
    }
    // The hour and the minute of a time are no database and no user.
    let is_number = |part: &Range<usize>| bytes[part.clone()].iter().all(u8::is_ascii_digit);
    let is_time = |part: &Range<usize>| part.len() <= 2 && is_number(part);
    if text.byte(at) != b':' || [&database, &user].into_iter().all(is_time) {
        return None;
    }
    let begin = at + 1;
    let rest = bytes[begin..].iter().take(LOGIN_BYTES_MAX);
    let end = begin
        + rest
            .take_while(|byte| !is_end(**byte) && !matches!(**byte, b'&' | b':'))
            .count();
    // An address of the network has groups of digits up to its end: `2001:db8:…:7348]`,
    // `…:1/64`. A message behind the number of a line is words.
    let value = &bytes[begin..end];
    let digits = value.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let rest = value.get(digits.count()..).unwrap_or_default();
    let ends_address = rest.is_empty() || matches!(rest[0], b']' | b'/' | b'%');
    let is_group = |part: &Range<usize>| {
        part.len() <= 4 && bytes[part.clone()].iter().all(u8::is_ascii_hexdigit)
    };
    let host = colon - host..colon;
    let is_address = ends_address
        && value.len() - rest.len() <= 8
        && bytes[host.clone()].iter().any(u8::is_ascii_digit)
        && [&host, &database, &user].into_iter().all(is_group);
    // The place in a file, and what is found there.
    let is_place = is_number(&database) || is_number(&user);
    let is_message = is_place && !value.iter().rev().take(2).all(u8::is_ascii_digit);
    let is_message = is_message && is_wordy(&text.text(begin..end));
    if is_address || is_message || (may_be_file && is_place) {
        return None;
    }
    as_password(text, begin..end)
}

/// The password behind a user and a slash: `jdbc:oracle:thin:scott/…@db`.
fn find_behind_user(text: &PlainText<'_>, begin: usize) -> Option<SecretRange<'static>> {
    let rest = text.bytes()[begin..].iter().take(LOGIN_BYTES_MAX);
    let login = text.text(begin..begin + rest.take_while(|byte| !is_end(**byte)).count());
    let (user, rest) = login.split_once('/')?;
    let (password, _) = rest.rsplit_once('@')?;
    let begin = begin + user.len() + 1;
    (!user.is_empty() && login.is_ascii())
        .then(|| as_password(text, begin..begin + password.len()))
        .flatten()
}

/// The password before an address without a scheme.
fn find_before_address(text: &PlainText<'_>, at: usize) -> Option<SecretRange<'static>> {
    let before = text.bytes()[..at].iter().rev().take(128);
    let length = before
        .take_while(|byte| !is_end(**byte) && !matches!(**byte, b':' | b'/'))
        .count();
    let begin = at - length;
    (begin > 0 && text.byte(begin - 1) == b':')
        .then(|| as_password(text, begin..at))
        .flatten()
}

fn as_password(text: &PlainText<'_>, range: Range<usize>) -> Option<SecretRange<'static>> {
    let value = text.text(range.clone());
    is_secret_value(NameRating::Password, &value, ValueForm::Constant).then_some(SecretRange {
        name: "url-password",
        range,
    })
}
