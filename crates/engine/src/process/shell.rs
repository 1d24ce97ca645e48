//! Words as a shell reads them: what is printed to be typed, and what is typed.
//!
//! It starts nothing; see [`crate::process`].

use std::borrow::Cow;

/// A word as it is typed in a shell, quoted where it has to be.
#[must_use]
pub fn quote_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@%+=,~".contains(c);
    // A tilde is expanded where a word begins, and nowhere else.
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

/// What a shell does itself, and words that begin something else than a command.
const OWN_WORDS: &[&str] = &[
    ".", ":", "!", "[", "[[", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd",
    "chdir", "command", "continue", "coproc", "declare", "dirs", "disown", "do", "done", "echo",
    "elif", "else", "enable", "esac", "eval", "exec", "exit", "export", "false", "fc", "fg", "fi",
    "for", "function", "getopts", "hash", "help", "history", "if", "in", "jobs", "kill", "let",
    "local", "logout", "newgrp", "popd", "printf", "pushd", "pwd", "read", "readonly", "return",
    "select", "set", "shift", "shopt", "source", "suspend", "test", "then", "time", "times",
    "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait",
    "while",
];

/// The program that a shell command cannot do without: its first word, where a
/// shell reads nothing else into it, and nothing takes over when it fails.
#[must_use]
pub fn plain_program(command: &str) -> Option<&str> {
    let command = command.trim();
    // What comes behind one of these may do the work all the same.
    let alone = command.replace("&&", "");
    if alone.contains(['\n', ';', '&']) || alone.contains("||") {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./+".contains(c);
    let end = command.find(|c| !is_plain(c)).unwrap_or(command.len());
    let (word, rest) = command.split_at(end);
    let ends_there = rest.is_empty() || rest.starts_with([' ', '\t', '|', '<', '>']);
    let is_function = rest.trim_start().starts_with('(');
    let is_program = !word.is_empty() && !OWN_WORDS.contains(&word);
    (ends_there && !is_function && is_program).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_it_otherwise() {
        for (word, typed) in [
            ("2026-01-15_demo", "2026-01-15_demo"),
            ("sprints/demo", "sprints/demo"),
            ("my sprint", "'my sprint'"),
            ("demo~2", "demo~2"),
            ("~ada", "'~ada'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quote_word(word), typed);
        }
    }

    #[test]
    fn the_program_of_a_command_is_its_first_word_where_that_is_plain() {
        for (command, program) in [
            ("claude -p", Some("claude")),
            ("  ./agent.sh <in | tee log", Some("./agent.sh")),
            ("my-agent && touch done", Some("my-agent")),
            ("my-agent; true", None),
            ("my-agent || true", None),
            ("my-agent & wait", None),
            ("cd x && my-agent", None),
            ("KEY=1 my-agent", None),
            ("$AGENT", None),
            ("work () { true", None),
            ("'my agent'", None),
            ("~/agent", None),
            ("", None),
        ] {
            assert_eq!(plain_program(command), program, "{command}");
        }
    }
}
