//! What a blocker claims to be missing, so that somebody can look whether it is:
//! an environment variable, a file, a command, a port. A blocker is a claim of
//! the agent until then.

/// Something that a blocker says is not there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// An environment variable is not set.
    Variable(String),
    /// A file or a folder is not there.
    File(String),
    /// A command cannot be found.
    Command(String),
    /// Nothing listens at a port of this machine.
    Port(u16),
}

/// What looking showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether anything could be looked up.
    pub verified: bool,
    /// Whether what was looked up is missing, as claimed; `None` where nothing
    /// could be looked up.
    pub valid: Option<bool>,
}

/// What comes of looking: for each claim whether the thing is missing. One thing
/// that is missing is enough.
#[must_use]
pub fn verdict(missing: &[bool]) -> Verdict {
    Verdict {
        verified: !missing.is_empty(),
        valid: (!missing.is_empty()).then(|| missing.contains(&true)),
    }
}

/// Most claims that are looked up; what says more is a list of something else.
const CLAIMS_MAX: usize = 16;

/// Ports of well-known services, for blockers that name only those. Source: the
/// defaults of the services.
const SERVICES: &[(&str, u16)] = &[
    ("postgres", 5432),
    ("postgresql", 5432),
    ("mysql", 3306),
    ("mariadb", 3306),
    ("redis", 6379),
    ("mongodb", 27017),
    ("rabbitmq", 5672),
    ("elasticsearch", 9200),
    ("kafka", 9092),
];

/// Words after which a service is said not to answer. Lower case.
const SILENT: &[&str] = &[
    "not running",
    "isn't running",
    "is down",
    "not reachable",
    "unreachable",
    "not available",
    "cannot connect",
    "can't connect",
    "connection refused",
    "econnrefused",
];

/// Words by which a sentence says that something is not there. Lower case.
const ABSENT: &[&str] = &[
    "missing",
    "absent",
    "not set",
    "isn't set",
    "unset",
    "not defined",
    "undefined",
    "not exported",
    "not present",
    "not there",
    "not found",
    "not installed",
    "not provided",
    "not configured",
    "no such",
    "cannot find",
    "can't find",
    "could not find",
    "couldn't find",
    "cannot be found",
    "can't be found",
    "not exist",
    "doesn't exist",
    "nothing listens",
    "nobody answers",
    "there is no",
    "there's no",
    "i have no",
    "neither",
    "without",
];

/// What the sentences of a blocker claim that say that something is not there,
/// each thing once, in the order of the text. A sentence that only names a thing
/// claims nothing: "the server refuses what is in `API_KEY`" is true whether or
/// not that is set.
#[must_use]
pub fn missing(text: &str) -> Vec<Claim> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        let said = sentence.to_lowercase();
        let mut signs = ABSENT.iter().chain(SILENT);
        if !signs.any(|sign| said.contains(sign)) {
            continue;
        }
        for claim in claims(sentence) {
            if !found.contains(&claim) {
                found.push(claim);
            }
        }
    }
    found.truncate(CLAIMS_MAX);
    found
}

/// The sentences of a text. A name may hold a full stop, so that one ends a
/// sentence only before a blank.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '!', '?'])
        .flat_map(|line| line.split(". "))
}

/// Everything that a text names as something that can be looked up, each thing
/// once, in the order of the text.
#[must_use]
pub fn claims(text: &str) -> Vec<Claim> {
    let mut found = Vec::new();
    let words: Vec<&str> = text.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let after = words.get(at + 1).copied().unwrap_or_default();
        let claim = claim(before, word, after);
        found.extend(claim.filter(|claim| !found.contains(claim)));
    }
    let said = text.to_lowercase();
    if SILENT.iter().any(|sign| said.contains(sign)) && !has_port(&found) {
        let names = |name: &str| {
            said.split(|c: char| !c.is_alphanumeric())
                .any(|w| w == name)
        };
        let port = SERVICES.iter().find(|(name, _)| names(name));
        found.extend(port.map(|(_, port)| Claim::Port(*port)));
    }
    found.truncate(CLAIMS_MAX);
    found
}

fn has_port(found: &[Claim]) -> bool {
    found.iter().any(|claim| matches!(claim, Claim::Port(_)))
}

fn claim(before: &str, word: &str, after: &str) -> Option<Claim> {
    let bare = bare(word);
    variable(bare)
        .or_else(|| port(before, bare))
        .or_else(|| command(before, word, after))
        .or_else(|| file(word, bare))
}

/// A word without quotes and the marks around it.
fn bare(word: &str) -> &str {
    const MARKS: &str = "`'\"()[]{}<>,;:!?";
    let word = word.trim_start_matches(|c: char| MARKS.contains(c));
    word.trim_end_matches(|c: char| c == '.' || MARKS.contains(c))
}

/// `STRIPE_API_KEY`, `$HOME`, `${TOKEN}`: letters in upper case, with a low line
/// or a dollar.
fn variable(word: &str) -> Option<Claim> {
    let name = word.trim_start_matches(['$', '{']).trim_end_matches('}');
    let name = name.split('=').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_marked = word.starts_with('$') || name.trim_matches('_').contains('_');
    let begins = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
    (is_marked && begins && name.len() > 2 && name.chars().all(is_name))
        .then(|| Claim::Variable(name.to_owned()))
}

/// `localhost:5432`, `port 5432`.
fn port(before: &str, word: &str) -> Option<Claim> {
    let host = word.strip_prefix("http://").unwrap_or(word);
    let host = host.split('/').next().unwrap_or_default();
    let of_this_machine = host
        .split_once(':')
        .filter(|(host, _)| matches!(*host, "localhost" | "127.0.0.1" | "0.0.0.0"))
        .map(|(_, port)| port);
    let named = before.eq_ignore_ascii_case("port").then_some(word);
    let port: u16 = of_this_machine.or(named)?.parse().ok()?;
    (port > 0).then_some(Claim::Port(port))
}

/// `cmake: command not found`, `the command cmake`, `cmake is not installed`.
fn command(before: &str, word: &str, after: &str) -> Option<Claim> {
    let name = bare(word);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '.');
    if name.is_empty()
        || !name.chars().all(fits)
        || !name.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        return None;
    }
    let is_quoted = word.contains(['`', '\'', '"']);
    let said_before = matches!(
        bare(before).to_lowercase().as_str(),
        "command" | "binary" | "tool"
    );
    let said_after = word.ends_with(':') && after.eq_ignore_ascii_case("command")
        || is_quoted
            && matches!(
                bare(after).to_lowercase().as_str(),
                "command" | "binary" | "cli"
            );
    let is_word = matches!(
        name,
        "not" | "is" | "was" | "to" | "line" | "that" | "for" | "could"
    );
    ((said_before && is_quoted || said_after) && !is_word).then(|| Claim::Command(name.to_owned()))
}

/// `config/keys.json`, `` `schema.sql` ``: what has a folder or, in quotes, an end.
fn file(word: &str, bare: &str) -> Option<Claim> {
    let is_quoted = word.contains(['`', '\'', '"']);
    let is_path = |c: char| c.is_alphanumeric() || "/._-+@~".contains(c);
    let has_folder = bare.contains('/') && !bare.contains("//");
    let end = bare.rsplit_once('.').map_or("", |(_, end)| end);
    let has_end = (1..=6).contains(&end.len()) && end.chars().all(|c| c.is_ascii_alphanumeric());
    let is_file = bare.len() > 2
        && bare.chars().all(is_path)
        && bare.chars().any(char::is_alphabetic)
        // `and/or` is no path.
        && (has_folder && (has_end || bare.starts_with(['/', '.', '~']) || is_quoted)
            || is_quoted && has_end && !bare.starts_with('.')
            || is_quoted && bare.starts_with('.'));
    is_file.then(|| Claim::File(bare.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[Claim]) {
        assert_eq!(claims(text), expect, "{text}");
    }

    fn variable(name: &str) -> Claim {
        Claim::Variable(name.to_owned())
    }

    fn command(name: &str) -> Claim {
        Claim::Command(name.to_owned())
    }

    fn file(name: &str) -> Claim {
        Claim::File(name.to_owned())
    }

    #[test]
    fn what_is_said_to_be_missing_is_found() {
        check(
            "STRIPE_API_KEY is not set, and neither is `$TOKEN`.",
            &[variable("STRIPE_API_KEY"), variable("TOKEN")],
        );
        check("set ${RELAY_URL} first", &[variable("RELAY_URL")]);
        check("sh: 1: cmake: command not found", &[command("cmake")]);
        check(
            "The command `wasm-pack` cannot be found",
            &[command("wasm-pack")],
        );
        check("no `docker` binary here", &[command("docker")]);
        check(
            "config/keys.json is missing, and `schema.sql` too; /etc/app is empty",
            &[
                file("config/keys.json"),
                file("schema.sql"),
                file("/etc/app"),
            ],
        );
        check("there is no `.env`", &[file(".env")]);
        check(
            "nothing listens at localhost:8080/health or port 5433",
            &[Claim::Port(8080), Claim::Port(5433)],
        );
        check("PostgreSQL is not running", &[Claim::Port(5432)]);
        check(
            "cannot connect to Redis at 127.0.0.1:6380",
            &[Claim::Port(6380)],
        );
    }

    #[test]
    fn what_names_nothing_cannot_be_looked_up() {
        for text in [
            "",
            "I do not know which of the two it should be",
            "the API answers 401 and/or 403",
            "AWS and CI are slow; see https://example.com/a/b.html",
            "Redis would be nice",
            "a command that is not there",
            "the port is wrong: port 99999, port 0",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn only_a_sentence_that_says_so_claims_that_something_is_missing() {
        let check = |text: &str, expect: &[Claim]| assert_eq!(missing(text), expect, "{text}");
        check("FOO_TOKEN is not set", &[variable("FOO_TOKEN")]);
        check(
            "I looked at src/main.rs. There is no config/keys.json; API_KEY is wrong.",
            &[file("config/keys.json")],
        );
        check("sh: 1: cmake: command not found", &[command("cmake")]);
        check("PostgreSQL is not running", &[Claim::Port(5432)]);
        check(
            "API_KEY is not set\nwithout API_KEY nobody answers",
            &[variable("API_KEY")],
        );
        for text in [
            "the server refuses what is in API_KEY",
            "which of src/a.rs and src/b.rs is right?",
            "It is missing. API_KEY has another form.",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn one_thing_that_is_missing_is_enough() {
        let said = |verified, valid| Verdict { verified, valid };
        assert_eq!(verdict(&[]), said(false, None));
        assert_eq!(verdict(&[false]), said(true, Some(false)));
        assert_eq!(verdict(&[false, true]), said(true, Some(true)));
    }

    proptest! {
        #[test]
        fn any_text_has_few_claims_and_each_once(text in "([A-Z_]{1,6}|[a-z/.`'$:]{1,8}|port [0-9]{1,6}| |\\PC){0,80}") {
            let found = claims(&text);
            prop_assert!(found.len() <= CLAIMS_MAX);
            let mut each = found.clone();
            each.sort();
            each.dedup();
            prop_assert_eq!(each.len(), found.len());
        }
    }
}
