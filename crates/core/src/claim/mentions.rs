//! What a text names that can be looked up, recognised by its form.

use super::missing_thing::MissingThing;

/// Something that is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaimMention {
    /// Which word of the text names it.
    pub(super) at: usize,
    pub(super) claim: MissingThing,
    /// It is a port that only the name of its service tells.
    pub(super) by_service: bool,
}

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

/// Everything that words name, in their order.
pub(super) fn find_mentions(words: &[&str]) -> Vec<ClaimMention> {
    let name = |(at, word): (usize, &&str)| {
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let after = words.get(at + 1).copied().unwrap_or_default();
        let told = parse_claim(before, word, after);
        let by_service = told.is_none();
        let claim = told.or_else(|| service_claim(word))?;
        Some(ClaimMention {
            at,
            claim,
            by_service,
        })
    };
    words.iter().enumerate().filter_map(name).collect()
}

fn service_claim(word: &str) -> Option<MissingThing> {
    let name = strip_punctuation(word).to_lowercase();
    let known = SERVICES.iter().find(|(service, _)| *service == name);
    known.map(|(_, port)| MissingThing::Port(*port))
}

fn parse_claim(before: &str, word: &str, after: &str) -> Option<MissingThing> {
    let bare = strip_punctuation(word);
    parse_variable(bare)
        .or_else(|| parse_port(before, bare))
        .or_else(|| parse_command(before, word, after))
        .or_else(|| parse_file(word, bare))
}

/// A word without quotes and the marks around it.
pub(super) fn strip_punctuation(word: &str) -> &str {
    const MARKS: &str = "`'\"()[]{}<>,;:!?";
    let word = word.trim_start_matches(|c: char| MARKS.contains(c));
    word.trim_end_matches(|c: char| c == '.' || MARKS.contains(c))
}

/// `STRIPE_API_KEY`, `$HOME`, `${TOKEN}`: letters in upper case, with a low line
/// or a dollar.
fn parse_variable(word: &str) -> Option<MissingThing> {
    let name = word.trim_start_matches(['$', '{']).trim_end_matches('}');
    let name = name.split('=').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_marked = word.starts_with('$') || name.trim_matches('_').contains('_');
    let begins = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
    (is_marked && begins && name.len() > 2 && name.chars().all(is_name))
        .then(|| MissingThing::Variable(name.to_owned()))
}

/// `localhost:5432`, `port 5432`.
fn parse_port(before: &str, word: &str) -> Option<MissingThing> {
    let host = word.strip_prefix("http://").unwrap_or(word);
    let host = host.split('/').next().unwrap_or_default();
    let of_this_machine = host
        .split_once(':')
        .filter(|(host, _)| matches!(*host, "localhost" | "127.0.0.1" | "0.0.0.0"))
        .map(|(_, port)| port);
    let named = before.eq_ignore_ascii_case("port").then_some(word);
    let port: u16 = of_this_machine.or(named)?.parse().ok()?;
    (port > 0).then_some(MissingThing::Port(port))
}

/// `cmake: command not found`, `the command cmake`, `cmake is not installed`.
fn parse_command(before: &str, word: &str, after: &str) -> Option<MissingThing> {
    let name = strip_punctuation(word);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '.');
    if name.is_empty()
        || !name.chars().all(fits)
        || !name.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        return None;
    }
    let is_quoted = word.contains(['`', '\'', '"']);
    let said_before = matches!(
        strip_punctuation(before).to_lowercase().as_str(),
        "command" | "binary" | "tool"
    );
    let said_after = word.ends_with(':') && after.eq_ignore_ascii_case("command")
        || is_quoted
            && matches!(
                strip_punctuation(after).to_lowercase().as_str(),
                "command" | "binary" | "cli"
            );
    let is_word = matches!(
        name,
        "not" | "is" | "was" | "to" | "line" | "that" | "for" | "could"
    );
    ((said_before && is_quoted || said_after) && !is_word)
        .then(|| MissingThing::Command(name.to_owned()))
}

/// `config/keys.json`, `` `schema.sql` ``: what has a folder or, in quotes, an end.
fn parse_file(word: &str, bare: &str) -> Option<MissingThing> {
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
    is_file.then(|| MissingThing::File(bare.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[MissingThing]) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let found: Vec<MissingThing> = find_mentions(&words)
            .into_iter()
            .map(|one| one.claim)
            .collect();
        assert_eq!(found, expect, "{text}");
    }

    fn variable(name: &str) -> MissingThing {
        MissingThing::Variable(name.to_owned())
    }

    fn command(name: &str) -> MissingThing {
        MissingThing::Command(name.to_owned())
    }

    fn file(name: &str) -> MissingThing {
        MissingThing::File(name.to_owned())
    }

    #[test]
    fn names_are_known_by_their_form() {
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
            &[MissingThing::Port(8080), MissingThing::Port(5433)],
        );
        check("PostgreSQL is not running", &[MissingThing::Port(5432)]);
    }

    #[test]
    fn what_has_no_such_form_is_no_name() {
        for text in [
            "",
            "I do not know which of the two it should be",
            "the API answers 401 and/or 403",
            "AWS and CI are slow; see https://example.com/a/b.html",
            "a command that is not there",
            "the port is wrong: port 99999, port 0",
        ] {
            check(text, &[]);
        }
    }
}
