//! Whether a value can be a secret, beside a name that says that it is one.
//!
//! Documentation, templates and source code are full of names of secrets, with
//! something beside them that only holds the place: a variable, a call, a type,
//! a path, a word.

use super::names::{NameRating, split_words};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueForm {
    /// Between quotation marks, or in an element of XML.
    Quoted,
    /// Up to the next blank or separator, behind `=` of a name in capitals.
    Constant,
    /// Up to the next blank or separator.
    Bare,
    /// Behind a blank, as in prose.
    Spoken,
}

/// A value is not looked at any further than that, in bytes: whether it is a secret is
/// decided by its beginning.
pub(super) const LOOKED_AT: usize = 128;
/// A text with blanks that short is words.
const RANDOM_BYTES_MIN: usize = 40;
/// What a cluster puts behind the name of an object has no more characters together, and
/// no more of them in one part. They are of these: it leaves out vowels, and digits that
/// look like one.
const SUFFIX_BYTES_MAX: usize = 16;
const SUFFIX_PART_BYTES_MAX: usize = 10;
const SUFFIX_BYTES: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// A secret with such a word before it is no name of an object.
const KEY_BEGINS: [&str; 6] = ["live", "test", "prod", "key", "sk", "pk"];

/// What only holds the place of a secret, wherever it stands in a value. All in lower case.
const PLACEHOLDERS: [&str; 20] = [
    "example",
    "xxxx",
    "your_",
    "your-",
    "yourpass",
    "yourtoken",
    "yourkey",
    "yoursecret",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "redacted",
    "${",
    "$(",
    "{{",
    "#{",
    "...",
    "****",
    "insert_",
];
/// Beginnings of what is no secret: files, pictures, addresses of resources.
const PLAIN_BEGINS: [&str; 20] = [
    "./",
    "../",
    "~/",
    "arn:",
    "data:",
    "file:",
    "ivborw0kggo",
    "/9j/",
    "r0lgod",
    "projects/",
    "refs/",
    "http://",
    "https://",
    "urn:",
    "id=",
    "env:",
    "vault:",
    "op://",
    "ssh-",
    "secretref:",
];
/// Ends of names of files.
const FILE_ENDS: [&str; 18] = [
    ".pem", ".key", ".crt", ".json", ".txt", ".yaml", ".yml", ".rs", ".py", ".ts", ".js", ".go",
    ".md", ".toml", ".pub", ".p12", ".jks", ".html",
];
/// Words that everyone uses for a password, a state or a type.
const KNOWN_WORDS: [&str; 53] = [
    "password",
    "passwd",
    "pass",
    "postgres",
    "postgresql",
    "mysql",
    "redis",
    "mongo",
    "guest",
    "root",
    "admin",
    "administrator",
    "secret",
    "user",
    "username",
    "localhost",
    "test",
    "testing",
    "default",
    "dummy",
    "sample",
    "demo",
    "foobar",
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "string",
    "str",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "bytes",
    "any",
    "object",
    "empty",
    "required",
    "optional",
    "include",
    "disabled",
    "enabled",
    "hidden",
    "masked",
    "sensitive",
    "letmein",
];

/// Whether a value under a name of that rating is a secret.
pub(super) fn is_secret_value(rating: NameRating, value: &str, form: ValueForm) -> bool {
    let length = value.len();
    let least = match rating {
        NameRating::Plain => return false,
        NameRating::Maybe => 16,
        NameRating::Secret => 8,
        NameRating::Password => 6,
    };
    if length < least {
        return false;
    }
    let mut end = length.min(LOOKED_AT);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    let value = &value[..end];
    if is_placeholder(value) || is_plain(value) || (form != ValueForm::Quoted && is_code(value)) {
        return false;
    }
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_wordy = is_wordy(value);
    if has(u8::is_ascii_whitespace) {
        let is_passphrase = form == ValueForm::Quoted && rating == NameRating::Password;
        return if is_passphrase {
            digits > 0 && (!is_wordy || digits > 1) && !is_sentence(value)
        } else {
            rating > NameRating::Maybe && is_random_with_blanks(value)
        };
    }
    let is_number = !has(u8::is_ascii_alphabetic)
        || value
            .strip_prefix("0x")
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match rating {
        NameRating::Plain => false,
        NameRating::Maybe | NameRating::Secret if is_object_name(rating, value) => false,
        NameRating::Maybe => {
            let is_name = is_uuid(value) || (is_hash(value) && form != ValueForm::Constant);
            let is_mixed =
                length > 23 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
            !is_wordy && !is_number && (digits > 0 || is_mixed) && !is_name
        }
        // Programs make tokens; people choose some secrets of programs all the same.
        NameRating::Secret
            if is_wordy && matches!(form, ValueForm::Quoted | ValueForm::Constant) =>
        {
            (digits > 1 || value.contains(['!', '@', '#', '$', '%', '^', '*']))
                && is_chosen(value, form)
        }
        NameRating::Secret => {
            !is_wordy && !is_number && (digits > 0 || has(u8::is_ascii_uppercase))
        }
        NameRating::Password if is_number => digits >= 8 && form != ValueForm::Bare,
        NameRating::Password if is_wordy => is_chosen(value, form),
        NameRating::Password => {
            digits > 0 || has(u8::is_ascii_uppercase) || form != ValueForm::Spoken
        }
    }
}

/// Whether a text in quotation marks is a sentence about a secret: words, and numbers
/// that stand alone before the last of them. Who puts a number into a passphrase puts it
/// at its end, or into a word.
fn is_sentence(value: &str) -> bool {
    let is_edge = |c: char| c.is_ascii_punctuation();
    let words: Vec<&str> = value
        .split_whitespace()
        .map(|word| word.trim_matches(is_edge))
        .collect();
    let is_number = |word: &str| {
        (1..=4).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_range = |word: &str| word.split(['-', '\u{2013}']).all(is_number);
    let is_word = |word: &str| {
        word.chars()
            .all(|c| c.is_alphabetic() || matches!(c, '\'' | '\u{2019}' | '-' | '/'))
    };
    let ends_with_number = words.last().is_some_and(|word| is_range(word));
    value.contains(". ")
        || (words.len() > 2
            && !ends_with_number
            && words.iter().all(|word| is_range(word) || is_word(word)))
}

/// Whether a text with some blanks is random all the same: keys that are made of all
/// characters that can be typed.
fn is_random_with_blanks(value: &str) -> bool {
    let blanks = value.bytes().filter(u8::is_ascii_whitespace).count();
    let mut parts = value.split_whitespace().filter(|part| part.len() > 7);
    value.len() >= RANDOM_BYTES_MIN
        && blanks * 16 <= value.len()
        && !value.contains("://")
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && parts.all(|part| !is_wordy(part))
}

/// Whether a value names an object of a cluster, as `api-token-7d9f8b6c5-x2x4z` does:
/// words with little behind them that is no word.
fn is_object_name(rating: NameRating, value: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let (namespace, name) = value.rsplit_once('/').unwrap_or(("", value));
    let first = name.split('-').next().unwrap_or(name);
    let is_key_begin = rating > NameRating::Maybe && KEY_BEGINS.contains(&first);
    let (mut words, mut suffix) = (0, 0);
    for part in name.split('-') {
        if part.bytes().all(|byte| byte.is_ascii_lowercase()) && is_wordy(part) {
            words += 1;
            continue;
        }
        suffix += part.len();
        let begins_with_words = words > usize::from(is_key_begin);
        let is_suffix = part.bytes().all(|byte| SUFFIX_BYTES.contains(&byte));
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        if !begins_with_words || !(1..=SUFFIX_PART_BYTES_MAX).contains(&part.len()) {
            return false;
        }
        if !is_suffix && !is_number {
            return false;
        }
    }
    value.bytes().all(|byte| is_part(byte) || byte == b'/')
        && (namespace.is_empty() || is_wordy(namespace))
        && name.contains('-')
        && suffix <= SUFFIX_BYTES_MAX
}

/// Whether a value is the name of a variable that holds a secret: `JWT_SECRET_V2`.
fn is_name_of_variable(value: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    value.bytes().all(is_part)
        && value.contains('_')
        && digits <= 3
        && !ends_with_number(value)
        && names_a_secret(value)
}

/// Whether a text ends with a number of two digits or more.
fn ends_with_number(text: &str) -> bool {
    text.bytes()
        .rev()
        .take(2)
        .filter(u8::is_ascii_digit)
        .count()
        == 2
}

/// Words that people name and describe things with, and make no passwords of.
#[rustfmt::skip]
const DESCRIBING: [&str; 194] = [
    "account", "aes", "alias", "api", "app", "arg", "argon", "argument", "article", "ascii",
    "ask", "attr", "backend", "bar", "base", "basic", "baz", "bcrypt", "bearer", "branch",
    "bucket", "build", "button", "case", "chapter", "ci", "class", "client", "cluster", "code",
    "col", "column", "config", "const", "count", "data", "database", "db", "default", "demo",
    "deploy", "dev", "doc", "docs", "dummy", "email", "enc", "entry", "env", "error", "event",
    "example", "expected", "fake", "field", "file", "fixme", "fixture", "foo", "form", "func",
    "function", "gateway", "global", "group", "header", "hmac", "host", "id", "image", "index",
    "input", "instance", "int", "iso", "item", "job", "jwt", "label", "len", "length", "level",
    "line", "link", "local", "main", "manual", "map", "max", "md", "message", "method", "min",
    "mock", "mode", "model", "module", "name", "node", "none", "null", "number", "oauth",
    "object", "operator", "option", "order", "output", "package", "page", "param", "parameter",
    "pbkdf", "pod", "policy", "pool", "prod", "production", "project", "prompt", "prop", "proto", "proxy",
    "query", "queue", "read", "region", "release", "remote", "resource", "result", "role", "root",
    "row", "rsa", "rule", "runner", "sample", "schema", "scope", "scram", "script", "section",
    "see", "server", "service", "session", "setting", "settings", "sha", "stage", "staging",
    "state", "step", "store", "stored", "str", "string", "struct", "style", "system", "tab",
    "table", "tag", "target", "task", "team", "temp", "template", "test", "testing", "tests",
    "text", "title", "todo", "type", "u", "uid", "unit", "url", "use", "utf", "v", "value", "var",
    "variable", "vault", "version", "view", "volume", "web", "worker", "x", "zone",
];
/// Words of a sentence.
#[rustfmt::skip]
const OF_SENTENCES: [&str; 53] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from",
    "get", "go", "has", "have", "here", "how", "if", "in", "is", "it", "its", "make", "may",
    "must", "my", "never", "no", "not", "of", "on", "or", "our", "please", "put", "run", "set",
    "should", "that", "the", "then", "this", "to", "via", "was", "when", "will", "with", "you",
    "your",
];

/// Whether words with numbers are as people make passwords of them: `hunter22`,
/// `Copper-Lantern-42`, `purple-monkey-river`. One word of a description or of a name makes
/// all of them one: `prod-db-01`, `STEP_2`, `ask-your-admin`.
fn is_chosen(value: &str, form: ValueForm) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_compound = !is_one_word(value);
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    let words = split_words(value);
    let words = words
        .iter()
        .filter(|word| !word.as_bytes()[0].is_ascii_digit());
    let is_foreign = |word: &&String| {
        let word = word.as_str();
        DESCRIBING.contains(&word) || (digits < 2 && OF_SENTENCES.contains(&word))
    };
    // `MY_SECRET_PASS_42` is no name of a variable: those end with one digit at most.
    let mut parts = value.split(['-', '_', '.']);
    let is_title = |part: &str| !part.starts_with(|c: char| c.is_ascii_lowercase());
    let is_numbered = is_compound && ends_with_number(value) && parts.all(is_title);
    let is_described =
        words.clone().any(|word| is_foreign(&word)) || (names_a_secret(value) && !is_numbered);
    // `finished-12`
    let is_one = is_compound && words.clone().count() < 2 && digits < 3;
    if is_described || is_one || (is_compound && !value.bytes().all(is_part)) {
        return false;
    }
    // `GoldenGate7#`
    let has_sign =
        count(u8::is_ascii_uppercase) > 0 && value.contains(['!', '@', '#', '$', '%', '^', '*']);
    let is_strict = matches!(form, ValueForm::Bare | ValueForm::Spoken) && !has_sign;
    // Who writes words without a number writes some of them, and with hyphens.
    let capitals = count(u8::is_ascii_uppercase);
    let is_phrase =
        || words.count() > 2 && capitals == 0 && !is_strict && !value.contains(['_', '.']);
    let least = match (is_compound, capitals, count(u8::is_ascii_lowercase)) {
        (false, _, _) => 1 + usize::from(is_strict),
        // A name of an object in small letters ends with a number.
        (true, _, 0) => 1,
        (true, 0, _) => 2,
        (true, _, _) => 1 + usize::from(is_strict),
    };
    digits >= least || (is_compound && digits == 0 && is_phrase())
}

/// Whether a word of a value is one that names secrets: `DB_PASSWORD1` is a variable.
fn names_a_secret(value: &str) -> bool {
    const NAMES: [&str; 6] = ["pass", "secret", "token", "auth", "user", "admin"];
    let words = split_words(value);
    words.iter().any(|word| {
        matches!(
            word.as_str(),
            "key" | "keys" | "pwd" | "cred" | "creds" | "apikey"
        ) || NAMES.iter().any(|name| word.contains(name))
    })
}

/// Whether a value is a word with a number, as `hunter22`, and no compound.
fn is_one_word(value: &str) -> bool {
    !value.contains(['-', '_', '.', '/', '|', ':'])
}

/// Whether a value only holds the place of a secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let word = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_variable = || {
        let name = value.strip_prefix(['$', '@', '%', ':']).unwrap_or_default();
        let name = name
            .strip_prefix("env:")
            .unwrap_or(name)
            .trim_end_matches('%');
        let is_positional = name.len() < 2;
        is_positional
            || (is_wordy(name) && is_identifier(name))
            || name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let is_sigil = value.starts_with(['$', '@', '%', ':']);
    let first = value.chars().next();
    let is_hole = value.starts_with(['<', '{', '[', '('])
        || holds_hole(value, "<", ">")
        || holds_hole(value, "%(", ")")
        || (value.starts_with("__") && value.ends_with("__"));
    let known = value.len() - word.len() <= 3 && KNOWN_WORDS.contains(&word);
    known
        || is_hole
        || value.contains('\u{2026}')
        || PLACEHOLDERS.iter().any(|part| lower.contains(part))
        || value.chars().all(|c| Some(c) == first)
        || is_name_of_variable(value)
        || (is_sigil && is_variable())
}

/// Whether words in such brackets hold the place of something in a value.
fn holds_hole(value: &str, open: &str, close: &str) -> bool {
    let behind = value.split_once(open).map(|(_, behind)| behind);
    let name = behind.map(|behind| behind.split_once(close).map_or(behind, |(name, _)| name));
    let is_part = |c: char| c.is_alphanumeric() || " _-.:/$".contains(c);
    name.is_some_and(|name| name.chars().all(is_part) && (name.is_empty() || is_wordy(name)))
}

/// Whether a value is something else: a path, an address, the name of a file.
fn is_plain(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_path = || {
        let is_rooted =
            value.starts_with('/') || value[1..].starts_with(":\\") || value[1..].starts_with(":/");
        is_rooted
            && value[1..].contains(['/', '\\'])
            && value.split(['/', '\\']).all(|part| part.len() < 20)
            || value.starts_with('/') && is_wordy(value)
    };
    PLAIN_BEGINS.iter().any(|begin| lower.starts_with(begin))
        || FILE_ENDS.iter().any(|end| lower.ends_with(end))
        || lower.starts_with("-----begin")
        || holds_digest(&lower)
        || is_version(&lower)
        || (value.is_ascii() && value.len() > 1 && is_path())
}

/// Whether a value is the version of a package: `v7.3.1`, `1.2.3-beta.4`.
fn is_version(value: &str) -> bool {
    /// The longest word of a version before its release: `snapshot`.
    const RELEASE_CHARS_MAX: usize = 8;
    let (number, release) = value.split_once('-').unwrap_or((value, ""));
    let word = release.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if word.len() > RELEASE_CHARS_MAX || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
    let number = number.strip_prefix('v').unwrap_or(number);
    number.matches('.').count() > 1
        && number
            .split('.')
            .all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a value in lower case names what it is about by its digest: the image of a
/// container.
fn holds_digest(value: &str) -> bool {
    let digest = value.split_once("@sha").map(|(_, digest)| digest);
    let digest =
        digest.and_then(|digest| digest.strip_prefix("256:").or(digest.strip_prefix("512:")));
    digest.is_some_and(|digest| {
        digest.len() >= 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether a value without quotation marks is a part of a program: a call, a member, a type.
pub(super) fn is_code(value: &str) -> bool {
    let call = value.split_once('(').map(|(name, _)| name);
    let index = value.split_once('[').map(|(name, _)| name);
    call.or(index).is_some_and(is_identifier)
        || value.contains("::")
        || value.contains("->")
        || value.starts_with(['&', '*', '!'])
        || (value.contains('.')
            && is_identifier(value)
            && is_wordy(value)
            && !value.rsplit('.').next().is_some_and(ends_with_number))
}

fn is_identifier(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_.$?!:".contains(&byte))
}

pub(super) fn is_uuid(value: &str) -> bool {
    let lengths = value.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12])
        && value
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Whether a value names something: a UUID or a hash.
pub(super) fn is_name(value: &str) -> bool {
    is_uuid(value) || is_hash(value)
}

fn is_hash(value: &str) -> bool {
    matches!(value.len(), 32 | 40 | 56 | 64 | 96 | 128)
        && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a text is words and numbers with signs between them: `container-id-170531`.
/// Random characters mix letters with digits.
pub(super) fn is_parted_words(text: &str) -> bool {
    let mut parts = text.split(['-', '_', '.']).filter(|part| !part.is_empty());
    let is_word = |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase()) && is_wordy(part);
    text.contains(['-', '_', '.'])
        && parts.all(|part| is_word(part) || part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The letters that follow a letter within words, for each letter from `a` on:
/// the pairs that make up at least 0.06 % of those in English text and in names
/// of programs, and some more of seldom letters.
const FOLLOWERS: [&str; 26] = [
    "bcdfgiklmnprstuvwxy",
    "aeilorsuy",
    "acdehiklmorstuy",
    "abcdefgiloprstuvy",
    "abcdefgilmnopqrstvwxy",
    "aefilorstu",
    "aeghilnorsuy",
    "aeiortuy",
    "abcdefglmnoprstvxz",
    "aeosu",
    "aeilnosuy",
    "abcdeiklmoprstuvy",
    "abeilmnopsuy",
    "abcdefgiklmnoprstuvy",
    "abcdfgiklmnoprstuvwx",
    "acdehiloprstuwy",
    "u",
    "abcdefgiklmnoprstuvy",
    "acefhiklmnopqstuwy",
    "abcdefhilmnoprstuwy",
    "abcdefgilmnprst",
    "aeior",
    "aehinors",
    "aceipty",
    "aceilmnopst",
    "aeioz",
];

/// Whether a text is made of words, with numbers among them at most: random
/// characters change their kind at every second place, and their letters do
/// not follow each other as letters of words do.
pub(super) fn is_wordy(text: &str) -> bool {
    let follows = |first: u8, second: u8| {
        let index = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
        let followers = FOLLOWERS.get(index).copied().unwrap_or_default();
        followers.as_bytes().contains(&second.to_ascii_lowercase())
    };
    let bytes = text.as_bytes();
    let is_number = |run: &[u8]| run.len() >= 16 && run.iter().any(u8::is_ascii_digit);
    let is_base64 = text.len() >= 12
        && (text.contains('+') || text.ends_with('='))
        && bytes.iter().any(u8::is_ascii_uppercase)
        && bytes.iter().any(u8::is_ascii_lowercase);
    if is_base64 || bytes.split(|byte| !byte.is_ascii_hexdigit()).any(is_number) {
        return false;
    }
    let (mut letters, mut digits, mut mixed) = (0, 0, 0);
    let (mut chunks, mut pairs, mut strange) = (0, 0, 0);
    let mut before = 0_u8;
    for (at, byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1).copied().unwrap_or_default();
        if byte.is_ascii_alphabetic() {
            letters += 1;
            let is_capital = byte.is_ascii_uppercase()
                && (!before.is_ascii_uppercase() || next.is_ascii_lowercase());
            if !before.is_ascii_alphabetic() || is_capital {
                chunks += 1;
            } else {
                pairs += 1;
                strange += usize::from(!follows(before, *byte));
            }
        } else if byte.is_ascii_digit() {
            digits += 1;
            mixed += usize::from(next.is_ascii_alphabetic());
            chunks += usize::from(!before.is_ascii_digit());
        }
        before = *byte;
    }
    mixed < 2
        && letters > 0
        && letters + digits >= chunks * 5 / 2
        && strange * 8 <= pairs + 2
        && digits <= letters.max(8)
}
