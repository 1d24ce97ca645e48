//! Secrets in the arguments of programs whose options do not say what they take.

use std::ops::Range;

use super::SecretRange;
use super::assignments::{is_blank, is_quote, skip_blanks};
use super::names::NameRating;
use super::plain_text::{OPAQUE, PlainText};
use super::values::{ValueForm, is_placeholder, is_secret_value};

/// The arguments of a program are looked at so far, in bytes.
const ARGUMENTS_BYTES_MAX: usize = 400;

/// How an option takes its secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionForm {
    /// `-pSECRET`
    Attached,
    /// `-p SECRET`
    Next,
    /// `-u NAME:SECRET`
    Login,
    /// `-b FILE NAME SECRET`: the last argument
    Last,
    /// `SECRET | …`: the argument of what is before the pipe
    Piped,
}

/// Programs with options that take a secret.
struct SecretOption {
    programs: &'static [&'static str],
    options: &'static [&'static str],
    form: OptionForm,
}

#[rustfmt::skip]
const COMMANDS: &[SecretOption] = &[
    SecretOption { programs: &["curl"], options: &["-u", "--user", "-U", "--proxy-user"], form: OptionForm::Login },
    SecretOption { programs: &["skopeo"], options: &["--creds", "--src-creds", "--dest-creds"], form: OptionForm::Login },
    SecretOption { programs: &["cypress"], options: &["--key", "-k"], form: OptionForm::Next },
    SecretOption { programs: &["htpasswd"], options: &["-b", "-nb", "-cb", "-Bb", "-mb"], form: OptionForm::Last },
    SecretOption { programs: &["config"], options: &["http-basic."], form: OptionForm::Last },
    SecretOption { programs: &["http", "https", "xh"], options: &["-a", "--auth"], form: OptionForm::Login },
    SecretOption { programs: &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlsh", "mysqlshow", "mariadb", "mariadb-dump", "mariadb-admin", "mycli"], options: &["-p"], form: OptionForm::Attached },
    SecretOption { programs: &["7z", "7za", "7zz", "rar", "unrar"], options: &["-p", "-hp"], form: OptionForm::Attached },
    SecretOption { programs: &["sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport", "cqlsh"], options: &["-p"], form: OptionForm::Next },
    SecretOption { programs: &["sshpass"], options: &["-p"], form: OptionForm::Attached },
    SecretOption { programs: &["login"], options: &["-p"], form: OptionForm::Next },
    SecretOption { programs: &["redis-cli"], options: &["-a"], form: OptionForm::Next },
    SecretOption { programs: &["sqlcmd", "bcp", "zip", "unzip", "ipmitool"], options: &["-P"], form: OptionForm::Next },
    SecretOption { programs: &["ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldappasswd"], options: &["-w"], form: OptionForm::Next },
    SecretOption { programs: &["openssl"], options: &["-k"], form: OptionForm::Next },
    SecretOption { programs: &["mosquitto_pub", "mosquitto_sub"], options: &["-P"], form: OptionForm::Next },
    SecretOption { programs: &["sonar-scanner", "snowsql"], options: &["-p"], form: OptionForm::Next },
    SecretOption { programs: &["twine", "rclone", "useradd", "usermod", "security", "evil-winrm"], options: &["-p", "pass", "obscure"], form: OptionForm::Next },
    SecretOption { programs: &["security"], options: &["-w"], form: OptionForm::Next },
    SecretOption { programs: &["ssh-keygen"], options: &["-N", "-P"], form: OptionForm::Next },
    SecretOption { programs: &["signtool"], options: &["/p"], form: OptionForm::Next },
    SecretOption { programs: &["xfreerdp", "cmdkey"], options: &["/p:", "/pass:"], form: OptionForm::Attached },
    SecretOption { programs: &["keyvault"], options: &["--value"], form: OptionForm::Next },
    SecretOption { programs: &["NickServ", "nickserv"], options: &["IDENTIFY", "identify"], form: OptionForm::Next },
    SecretOption { programs: &["lftp", "ab"], options: &["-u", "-A"], form: OptionForm::Login },
    SecretOption { programs: &["wandb", "snyk", "mc"], options: &["login", "auth", "alias"], form: OptionForm::Last },
    SecretOption { programs: &["codecov"], options: &["-t"], form: OptionForm::Next },
    SecretOption { programs: &["rabbitmqctl"], options: &["change_password", "add_user"], form: OptionForm::Last },
    SecretOption { programs: &["net"], options: &["user", "use"], form: OptionForm::Last },
    SecretOption { programs: &["smbclient", "smbmap", "rpcclient"], options: &["-U"], form: OptionForm::Login },
    SecretOption { programs: &["sqlplus", "expdp", "impdp", "sqlldr"], options: &[""], form: OptionForm::Login },
    SecretOption { programs: &["vault"], options: &["login"], form: OptionForm::Last },
    SecretOption { programs: &["echo", "printf"], options: &["-stdin", "sudo -S", "chpasswd", "passphrase-fd", "with-token", "cryptsetup"], form: OptionForm::Piped },
    SecretOption { programs: &["identified", "IDENTIFIED"], options: &["by", "BY"], form: OptionForm::Next },
];

/// Finds the secrets behind the name of a program; whether there are any.
pub(super) fn find_in_command(
    text: &PlainText<'_>,
    program: &str,
    name: &Range<usize>,
    found: &mut Vec<SecretRange<'_>>,
) -> bool {
    let is_listed = is_quote(text.byte(name.end)) && text.byte(name.end + 1) == b',';
    if !is_blank(text.byte(name.end)) && !is_listed {
        return false;
    }
    let arguments = name.end + usize::from(is_listed);
    let is_user = matches!(program, "u" | "U" | "user" | "username");
    if is_user && text.byte(name.start.wrapping_sub(1)) == b'-' {
        found.extend(find_behind_user(text, arguments));
        return false;
    }
    if !may_be_program(program) {
        return false;
    }
    let before = found.len();
    let rows = COMMANDS
        .iter()
        .filter(|row| row.programs.contains(&program));
    for row in rows {
        if row.form == OptionForm::Piped {
            found.extend(find_before_pipe(text, arguments, row.options));
        } else {
            find_behind_options(text, arguments, row, found);
        }
    }
    found.len() > before
}

/// Whether a program of the table may begin so: most words do not.
fn may_be_program(name: &str) -> bool {
    matches!(
        name.as_bytes()[0],
        b'c' | b'h'
            | b'x'
            | b'm'
            | b'7'
            | b'r'
            | b'u'
            | b's'
            | b'l'
            | b'b'
            | b'z'
            | b'i'
            | b'o'
            | b'I'
            | b't'
            | b'e'
            | b'v'
            | b'p'
            | b'k'
            | b'w'
            | b'n'
            | b'N'
            | b'a'
    )
}

fn find_behind_options(
    text: &PlainText<'_>,
    from: usize,
    row: &SecretOption,
    found: &mut Vec<SecretRange<'_>>,
) {
    let SecretOption { options, form, .. } = row;
    let last = text.bytes().len().min(from + ARGUMENTS_BYTES_MAX);
    let mut is_awaited = false;
    let (mut is_given, mut last_argument) = (false, None);
    let mut at = from;
    while at < last {
        at = skip_separators(text, at);
        let argument = read_argument(text, at);
        let Some((value, end)) = argument else { break };
        at = end;
        let spelled = text.text(value.clone());
        let attached = options.iter().find_map(|option| {
            let rest = spelled.strip_prefix(option)?;
            (!rest.is_empty())
                .then_some(value.end - rest.len() + usize::from(rest.starts_with('=')))
        });
        let secret = match (*form, attached) {
            _ if is_awaited => Some(value.start),
            (OptionForm::Attached | OptionForm::Login, Some(begin)) => Some(begin),
            (OptionForm::Next | OptionForm::Last | OptionForm::Piped, _)
            | (OptionForm::Attached | OptionForm::Login, None) => None,
        };
        let is_option = options.contains(&spelled.as_ref());
        is_awaited = matches!(form, OptionForm::Next | OptionForm::Login) && is_option;
        if !spelled.starts_with('/') {
            last_argument = is_given.then(|| value.clone());
        }
        is_given = is_given || is_option || attached.is_some();
        if let Some(begin) = secret {
            // `-p"…"` and `-u"…"`: the mark stands within the argument.
            let begin = begin + usize::from(is_quote(text.byte(begin)));
            let range = match form {
                OptionForm::Login => {
                    let login = &text.bytes()[begin..value.end.max(begin)];
                    let position =
                        |signs: &[u8]| login.iter().position(|byte| signs.contains(byte));
                    let is_slash = options.contains(&"");
                    // The sign and two letters behind it may look like an escape.
                    let signs: &[u8] = if is_slash {
                        b"/"
                    } else {
                        &[b':', b'%', b',', OPAQUE]
                    };
                    let Some(colon) = position(signs) else {
                        continue;
                    };
                    let host = position(b"@").filter(|at| is_slash && *at > colon);
                    begin + colon + usize::from(login[colon] != OPAQUE)
                        ..host.map_or(value.end, |at| begin + at)
                }
                OptionForm::Attached | OptionForm::Next | OptionForm::Last | OptionForm::Piped => {
                    begin..value.end
                }
            };
            found.extend(as_secret(text, range));
        }
        // The string that the command stands in may end there.
        if *form == OptionForm::Last && !is_blank(text.byte(end)) {
            break;
        }
    }
    let last_argument = last_argument.filter(|_| *form == OptionForm::Last);
    found.extend(last_argument.and_then(|range| as_secret(text, range)));
}

/// The password of a user, whatever the program: `-u NAME -p SECRET`.
fn find_behind_user(text: &PlainText<'_>, from: usize) -> Option<SecretRange<'static>> {
    let (_, end) = read_argument(text, skip_separators(text, from))?;
    let (option, end) = read_argument(text, skip_separators(text, end))?;
    let (value, _) = read_argument(text, skip_separators(text, end))?;
    (text.text(option) == "-p")
        .then(|| as_secret(text, value))
        .flatten()
}

/// What a program prints for another one that reads a secret.
fn find_before_pipe(
    text: &PlainText<'_>,
    from: usize,
    readers: &[&str],
) -> Option<SecretRange<'static>> {
    let (mut value, mut end) = read_argument(text, skip_separators(text, from))?;
    while text.byte(value.start) == b'-' || text.byte(value.start) == b'%' {
        (value, end) = read_argument(text, skip_separators(text, end))?;
    }
    let line = text.bytes()[end..].iter().take(ARGUMENTS_BYTES_MAX);
    let line = text.text(end..end + line.take_while(|byte| **byte != b'\n').count());
    let reader = line.trim_start().strip_prefix('|')?;
    if !readers.iter().any(|name| reader.contains(name)) {
        return None;
    }
    // `echo ada:… | chpasswd`
    let user = text
        .text(value.clone())
        .find(':')
        .map_or(0, |colon| colon + 1);
    as_secret(text, value.start + user..value.end)
}

fn as_secret(text: &PlainText<'_>, range: Range<usize>) -> Option<SecretRange<'static>> {
    if range.is_empty() {
        return None;
    }
    let value = text.text(range.clone());
    let is_secret = is_secret_value(NameRating::Password, &value, ValueForm::Constant)
        && !is_placeholder(&value)
        && !value.contains('/');
    is_secret.then_some(SecretRange {
        name: "command-password",
        range,
    })
}

/// Behind what parts two arguments: blanks, and a comma in a list of strings.
fn skip_separators(text: &PlainText<'_>, at: usize) -> usize {
    let at = skip_blanks(text, at);
    let is_comma = text.byte(at) == b',' && is_quote(text.byte(skip_blanks(text, at + 1)));
    if is_comma {
        skip_blanks(text, at + 1)
    } else {
        at
    }
}

/// The argument that begins there, without its quotation marks, and where it
/// ends; none where the command does.
fn read_argument(text: &PlainText<'_>, at: usize) -> Option<(Range<usize>, usize)> {
    let bytes = text.bytes();
    let open = text.byte(at);
    if is_quote(open) {
        let spelling = text.spelling(at);
        let rest = bytes[at + 1..].iter().take(ARGUMENTS_BYTES_MAX).enumerate();
        let mut ends = rest.filter(|(offset, byte)| {
            **byte == b'\n' || (**byte == open && text.spelling(at + 1 + offset) == spelling)
        });
        let (length, end) = ends.next()?;
        return (*end == open).then_some((at + 1..at + 1 + length, at + 2 + length));
    }
    let mut end = at;
    let mut inner: Option<u8> = None;
    while end < bytes.len() && end - at < ARGUMENTS_BYTES_MAX {
        let byte = bytes[end];
        let is_end = match inner {
            _ if matches!(byte, b'\n' | b'\r') => true,
            Some(quote) => byte == quote,
            None => {
                is_blank(byte)
                    || is_quote(byte)
                    || matches!(byte, b'|' | b'&' | b'<' | b'>' | super::plain_text::MARK)
            }
        };
        if is_end {
            // `-p'…'`: up to the mark, if there is one.
            let is_option = end - at == 2 || (end > at && bytes[end - 1] == b'=');
            let opens = inner.is_none() && is_quote(byte) && is_option && bytes[at] == b'-';
            if !opens {
                break;
            }
            inner = Some(byte);
        }
        end += 1;
    }
    (end > at).then_some((
        at..end,
        end + usize::from(inner.is_some() && text.byte(end) == inner.unwrap_or_default()),
    ))
}
