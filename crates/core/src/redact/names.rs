//! What a name says of the value beside it, by the words that it is made of.
//!
//! `DB_PASSWORD`, `dbPassword` and `db.password` are the same words. The last
//! one says what the value is (`token_count` is a count); only numbers and the
//! names of surroundings (`PASSWORD_2`, `TOKEN_PROD`) may stand behind it.

/// How much a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameRating {
    /// Nothing that makes it a secret.
    Plain,
    /// A secret where it looks like one: `STRIPE_KEY`, `auth`.
    Maybe,
    /// A secret unless it is a word: `api_key`, `token`.
    Secret,
    /// A password, which may be short, and a word with a number.
    Password,
}

/// Words for what people choose and type.
const PASSWORDS: [&str; 23] = [
    "password",
    "passwords",
    "passwd",
    "passwort",
    "passphrase",
    "passcode",
    "pwd",
    "pw",
    "psk",
    "requirepass",
    "masterauth",
    "kennwort",
    "passe",
    "senha",
    "userpass",
    "storepass",
    "keypass",
    "dbpass",
    "mypass",
    "sshpass",
    "bindpass",
    "rootpass",
    "adminpass",
];
/// Words for what programs make.
const SECRETS: [&str; 17] = [
    "secret",
    "token",
    "mnemonic",
    "credential",
    "credentials",
    "creds",
    "apikey",
    "apikeys",
    "appkey",
    "authkey",
    "accesskey",
    "secretkey",
    "privatekey",
    "accountkey",
    "masterkey",
    "signingkey",
    "encryptionkey",
];
/// Words that may be a secret, or a setting.
const MAYBE: [&str; 12] = [
    "secrets",
    "tokens",
    "auth",
    "salt",
    "pepper",
    "jwt",
    "pat",
    "dsn",
    "sig",
    "signature",
    "bearer",
    "authorization",
];
/// What such a word ends with where nothing separates it from the one before.
const ENDS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "accountkey",
    "dbpass",
    "pw",
];
/// Beginnings of words that end with `pass` and are none.
const NO_PASSES: [&str; 9] = [
    "", "by", "com", "encom", "over", "sur", "tres", "under", "multi",
];
/// A `key` of that is a secret.
const KEYS: [&str; 60] = [
    "api",
    "access",
    "secret",
    "private",
    "priv",
    "account",
    "signing",
    "sign",
    "admin",
    "auth",
    "authorization",
    "authentication",
    "master",
    "encryption",
    "encrypt",
    "decryption",
    "service",
    "shared",
    "app",
    "application",
    "license",
    "licence",
    "consumer",
    "client",
    "deploy",
    "deployment",
    "ssh",
    "tls",
    "session",
    "jwt",
    "hmac",
    "webhook",
    "write",
    "server",
    "integration",
    "ingest",
    "ingestion",
    "crypto",
    "cipher",
    "aes",
    "rsa",
    "vault",
    "unseal",
    "recovery",
    "security",
    "sas",
    "storage",
    "subscription",
    "rest",
    "token",
    "password",
    "cookie",
    "bot",
    "developer",
    "dev",
    "merchant",
    "partner",
    "data",
    "primary",
    "secondary",
];
/// A `key` of that is none, whatever it looks like.
const PLAIN_KEYS: [&str; 44] = [
    "public",
    "pub",
    "publishable",
    "foreign",
    "sort",
    "partition",
    "cache",
    "row",
    "object",
    "group",
    "idempotency",
    "hash",
    "range",
    "index",
    "composite",
    "unique",
    "natural",
    "surrogate",
    "kms",
    "host",
    "routing",
    "route",
    "dict",
    "map",
    "message",
    "translation",
    "lookup",
    "parent",
    "shortcut",
    "hot",
    "arrow",
    "escape",
    "fingerprint",
    "item",
    "tab",
    "config",
    "issue",
    "project",
    "query",
    "state",
    "image",
    "file",
    "path",
    "dedup",
];
/// A `token` of that only says where a reader or a list is.
const PLAIN_TOKENS: [&str; 22] = [
    "next",
    "page",
    "continuation",
    "pagination",
    "cancellation",
    "pad",
    "eos",
    "bos",
    "unk",
    "mask",
    "cls",
    "sep",
    "special",
    "syntax",
    "lexer",
    "start",
    "end",
    "stop",
    "peek",
    "current",
    "sync",
    "unexpected",
];
/// What stands behind such a word and changes nothing.
const SURROUNDINGS: [&str; 25] = [
    "ident",
    "prod",
    "production",
    "test",
    "testing",
    "dev",
    "development",
    "live",
    "staging",
    "stage",
    "qa",
    "ci",
    "local",
    "old",
    "new",
    "previous",
    "backup",
    "value",
    "plain",
    "plaintext",
    "b",
    "string",
    "v",
    "base",
    "raw",
];
/// What stands behind such a word and makes another thing of it.
const OTHER_THINGS: [&str; 100] = [
    "count",
    "counts",
    "ttl",
    "file",
    "files",
    "filename",
    "path",
    "dir",
    "folder",
    "url",
    "uri",
    "endpoint",
    "host",
    "name",
    "names",
    "id",
    "ids",
    "type",
    "types",
    "kind",
    "policy",
    "length",
    "len",
    "size",
    "min",
    "max",
    "limit",
    "limits",
    "expiry",
    "expires",
    "expiration",
    "expired",
    "lifetime",
    "age",
    "at",
    "in",
    "days",
    "seconds",
    "field",
    "input",
    "label",
    "placeholder",
    "hint",
    "help",
    "strength",
    "prefix",
    "suffix",
    "rotation",
    "arn",
    "ref",
    "refs",
    "reference",
    "usage",
    "version",
    "format",
    "regex",
    "pattern",
    "hash",
    "digest",
    "checksum",
    "fingerprint",
    "algorithm",
    "alg",
    "method",
    "mode",
    "scheme",
    "provider",
    "providers",
    "store",
    "manager",
    "service",
    "server",
    "sock",
    "socket",
    "url2",
    "reset",
    "confirmation",
    "confirm",
    "confirmed",
    "required",
    "enabled",
    "valid",
    "validation",
    "error",
    "message",
    "title",
    "text",
    "stdin",
    "source",
    "index",
    "position",
    "kinds",
    "env",
    "command",
    "cmd",
    "helper",
    "callback",
    "handler",
    "middleware",
    "status",
];

/// What a name says of its value.
pub(super) fn rate_name(name: &str) -> NameRating {
    if !may_be_secret(name) {
        return NameRating::Plain;
    }
    let mut words = split_words(name);
    let is_kept = |word: &String| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        !is_number && !SURROUNDINGS.contains(&word.as_str())
    };
    while words.len() > 1 && words.last().is_some_and(|word| !is_kept(word)) {
        words.pop();
    }
    let Some((last, before)) = words.split_last() else {
        return NameRating::Plain;
    };
    let rating = rate_word(last, before, name);
    if rating != NameRating::Plain || OTHER_THINGS.contains(&last.as_str()) {
        return match (before.last().map(String::as_str), last.as_str()) {
            // The second half of what an application logs in with at Vault.
            (Some("secret"), "id") => NameRating::Secret,
            _ => rating,
        };
    }
    let within = (1..=before.len()).any(|end| {
        let (word, before) = (&before[end - 1], &before[..end - 1]);
        let rating = rate_word(word, before, name);
        rating > NameRating::Maybe
            || (matches!(word.as_str(), "signing" | "auth") && is_constant(name))
    });
    if within {
        NameRating::Maybe
    } else {
        NameRating::Plain
    }
}

/// What the last word of a name says, behind the words before it.
fn rate_word(word: &str, before: &[String], name: &str) -> NameRating {
    let qualifier = before.last().map(String::as_str);
    if PASSWORDS.contains(&word) {
        return NameRating::Password;
    }
    match (word, qualifier) {
        ("session", Some(_)) if is_constant(name) => return NameRating::Maybe,
        ("secret" | "token", Some("hashed")) => return NameRating::Plain,
        // `pass: 14` counts tests.
        ("pass", None) => return NameRating::Secret,
        // `ConvertTo-SecureString`
        ("pass", Some(_)) | ("secure", Some("to")) => return NameRating::Password,
        ("pat", Some(_)) | ("salt" | "pepper", Some(_)) => return NameRating::Secret,
        ("token" | "tokens", Some(of)) if PLAIN_TOKENS.contains(&of) => return NameRating::Plain,
        ("key" | "keys", Some(of)) if PLAIN_KEYS.contains(&of) => return NameRating::Plain,
        ("key" | "keys", Some("primary" | "secondary" | "data" | "storage"))
            if !is_constant(name) =>
        {
            return NameRating::Plain;
        }
        ("key" | "keys", Some(of)) if KEYS.contains(&of) => return NameRating::Secret,
        ("key" | "keys", Some(_)) => return NameRating::Maybe,
        ("signature", Some("amz" | "goog"))
        | ("team", Some("honeycomb"))
        | ("login", Some("sonar" | "dsonar"))
        | ("seed", Some("totp" | "otp" | "mfa" | "wallet" | "master"))
        | ("phrase", Some("seed" | "recovery" | "backup" | "pass"))
        | ("code" | "codes", Some("recovery" | "backup" | "mfa")) => return NameRating::Secret,
        _ => {}
    }
    let of_pass = word.strip_suffix("pass");
    if of_pass.is_some_and(|of| !NO_PASSES.contains(&of)) {
        return NameRating::Password;
    }
    let of_key = word.strip_suffix("key");
    if SECRETS.contains(&word) || of_key.is_some_and(|of| KEYS.contains(&of)) {
        return NameRating::Secret;
    }
    if MAYBE.contains(&word) {
        return NameRating::Maybe;
    }
    let ends_with = |end: &&&str| word.ends_with(**end);
    match ENDS.iter().find(ends_with) {
        Some(end) if end.starts_with("pass") || matches!(*end, "dbpass" | "pw") => {
            NameRating::Password
        }
        Some(_) => NameRating::Secret,
        None => NameRating::Plain,
    }
}

/// Whether a name is written as `API_KEY`.
pub(super) fn is_constant(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_uppercase())
        && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether one of the words above may be in a name: most names have none, and
/// are not looked at any further.
fn may_be_secret(name: &str) -> bool {
    const PARTS: [&str; 27] = [
        "pass",
        "pw",
        "psk",
        "secret",
        "token",
        "key",
        "cred",
        "auth",
        "salt",
        "pepper",
        "jwt",
        "pat",
        "dsn",
        "sig",
        "bearer",
        "kennwort",
        "sign",
        "senha",
        "secure",
        "mnemonic",
        "honeycomb",
        "seed",
        "session",
        "sonar",
        "phrase",
        "recovery",
        "backup",
    ];
    let name = name.as_bytes();
    let begins_part = |byte: u8| {
        matches!(
            byte | 0x20,
            b'p' | b's' | b't' | b'k' | b'c' | b'a' | b'j' | b'd' | b'b' | b'm' | b'h' | b'r'
        )
    };
    let mut begins = (0..name.len()).filter(|at| begins_part(name[*at]));
    begins.any(|at| {
        let first = name[at] | 0x20;
        let mut parts = PARTS.iter().filter(|part| part.as_bytes()[0] == first);
        parts.any(|part| {
            let there = name.get(at..at + part.len());
            there.is_some_and(|there| there.eq_ignore_ascii_case(part.as_bytes()))
        })
    })
}

/// The words of a name in lower case. They are parted by what is no letter and
/// no digit, before a number and behind it, and by the case: `dbPassword`, `APIKey`.
pub(super) fn split_words(name: &str) -> Vec<String> {
    let bytes = name.as_bytes();
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for (at, byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            is_open = false;
            continue;
        }
        let before = bytes.get(at.wrapping_sub(1)).copied().unwrap_or_default();
        let next = bytes.get(at + 1).copied().unwrap_or_default();
        let begins = before.is_ascii_digit() != byte.is_ascii_digit()
            || (byte.is_ascii_uppercase()
                && (before.is_ascii_lowercase()
                    || (before.is_ascii_uppercase() && next.is_ascii_lowercase())));
        if begins || !is_open {
            words.push(String::new());
        }
        is_open = true;
        if let Some(word) = words.last_mut() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    words
}

/// The variables in which a shell keeps the present folder, and the one before it.
const SHELL_FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// Whether a variable of that name is taken to hold a secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    // Every shell exports the folder that it is in.
    if SHELL_FOLDERS.contains(&name) {
        return false;
    }
    let words = split_words(name);
    rate_name(name) > NameRating::Plain
        || matches!(words.as_slice(), [word] if word == "key" || word == "keys")
}
