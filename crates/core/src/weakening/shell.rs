//! The simple commands of a shell script, each with the folder that it runs in.
//!
//! Read as far as it matters for finding what a check runs. Nothing is
//! expanded: what only the shell knows stands as [`UNKNOWN`] in a word. Loops
//! and branches are read as if each of their commands ran once.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::str::Chars;

/// What stands in a word for a value that only the shell knows: no argument of
/// a program can contain it.
pub(super) const UNKNOWN: char = '\0';

/// Scripts within scripts are read so deep.
const DEPTH_MAX: usize = 6;

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellCommand {
    /// The program, then its arguments, without quotes.
    pub(super) words: Vec<String>,
    /// The folder that it runs in, relative to that of the script.
    pub(super) folder: String,
    /// Whether another command gets its output or nothing waits for its status:
    /// then it decides nothing by itself.
    pub(super) is_captured: bool,
}

/// The commands of a script, in order, with those of its substitutions.
pub(super) fn shell_commands(script: &str, folder: &str) -> Vec<ShellCommand> {
    let mut reader = ShellReader::new(script, folder, 0);
    reader.read_commands();
    reader.commands
}

/// What a script consists of.
#[derive(Debug)]
enum ShellToken {
    Word(ShellWord),
    /// A redirection, of which the target follows as a word.
    Redirect {
        takes_stdout: bool,
    },
    /// `;`, `&&`, `||`, the end of a line.
    Separator,
    Pipe,
    Background,
    Open,
    Close,
}

#[derive(Debug, Default)]
struct ShellWord {
    text: String,
    /// The scripts of its command substitutions.
    substitutions: Vec<String>,
}

struct Lexer<'a> {
    chars: Peekable<Chars<'a>>,
    /// The ends of the here-documents that begin after this line.
    here: VecDeque<String>,
}

impl<'a> Lexer<'a> {
    fn new(script: &'a str) -> Self {
        Self {
            chars: script.chars().peekable(),
            here: VecDeque::new(),
        }
    }

    fn consume(&mut self, c: char) -> bool {
        self.chars.next_if_eq(&c).is_some()
    }

    fn next_token(&mut self) -> Option<ShellToken> {
        self.skip_blanks();
        let token = match *self.chars.peek()? {
            '\n' => {
                self.chars.next();
                self.skip_here_documents();
                ShellToken::Separator
            }
            ';' => {
                self.chars.next();
                ShellToken::Separator
            }
            '&' => self.lex_ampersand(),
            '|' => {
                self.chars.next();
                match self.consume('|') {
                    true => ShellToken::Separator,
                    false => {
                        self.consume('&');
                        ShellToken::Pipe
                    }
                }
            }
            '(' => {
                self.chars.next();
                ShellToken::Open
            }
            ')' => {
                self.chars.next();
                ShellToken::Close
            }
            '<' | '>' => self.lex_redirect(true),
            _ => self.lex_word_or_redirect(),
        };
        Some(token)
    }

    /// Skips blanks, joined lines and comments.
    fn skip_blanks(&mut self) {
        loop {
            match self.chars.peek() {
                Some(' ' | '\t' | '\r') => {
                    self.chars.next();
                }
                Some('#') => while self.chars.next_if(|c| *c != '\n').is_some() {},
                Some('\\') => {
                    let mut ahead = self.chars.clone();
                    ahead.next();
                    if ahead.next() != Some('\n') {
                        return;
                    }
                    self.chars = ahead;
                }
                Some(_) | None => return,
            }
        }
    }

    fn lex_ampersand(&mut self) -> ShellToken {
        self.chars.next();
        if self.consume('&') {
            ShellToken::Separator
        } else if self.chars.peek() == Some(&'>') {
            self.lex_redirect(true)
        } else {
            ShellToken::Background
        }
    }

    /// A redirection of stdout, or of another descriptor.
    fn lex_redirect(&mut self, is_stdout: bool) -> ShellToken {
        let writes = self.chars.next() == Some('>');
        if writes {
            // `>>`, `>|` and `>&` take a target like `>`.
            self.chars.next_if(|c| matches!(c, '>' | '|' | '&'));
        } else if self.consume('<') {
            if self.consume('<') {
                return ShellToken::Redirect {
                    takes_stdout: false,
                };
            }
            self.consume('-');
            self.skip_blanks();
            let end = self.lex_word().text;
            self.here.push_back(end);
            return self.next_token().unwrap_or(ShellToken::Separator);
        } else if self.chars.peek() == Some(&'(') {
            self.chars.next();
            let inner = self.read_balanced();
            return ShellToken::Word(ShellWord {
                text: UNKNOWN.to_string(),
                substitutions: vec![inner],
            });
        } else {
            self.chars.next_if(|c| matches!(c, '>' | '&'));
        }
        ShellToken::Redirect {
            takes_stdout: writes && is_stdout,
        }
    }

    fn lex_word_or_redirect(&mut self) -> ShellToken {
        let word = self.lex_word();
        let number = !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit());
        match self.chars.peek() {
            Some('<' | '>') if number => self.lex_redirect(word.text == "1"),
            Some(_) | None => ShellToken::Word(word),
        }
    }

    fn lex_word(&mut self) -> ShellWord {
        let mut word = ShellWord::default();
        while let Some(c) = self.chars.peek().copied() {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    self.chars.next();
                    self.lex_single_quoted(&mut word);
                }
                '"' => {
                    self.chars.next();
                    self.lex_double_quoted(&mut word);
                }
                _ => self.lex_char(&mut word),
            }
        }
        word
    }

    fn lex_single_quoted(&mut self, word: &mut ShellWord) {
        for c in self.chars.by_ref().take_while(|c| *c != '\'') {
            word.text.push(c);
        }
    }

    fn lex_double_quoted(&mut self, word: &mut ShellWord) {
        while let Some(c) = self.chars.peek() {
            if *c == '"' {
                self.chars.next();
                return;
            }
            self.lex_char(word);
        }
    }

    /// The next character of a word, or what is expanded at its place.
    fn lex_char(&mut self, word: &mut ShellWord) {
        match self.chars.next() {
            Some('\\') => match self.chars.next() {
                Some('\n') | None => {}
                Some(c) => word.text.push(c),
            },
            Some('$') => self.lex_expansion(word),
            Some('`') => {
                let inner = self.chars.by_ref().take_while(|c| *c != '`').collect();
                word.text.push(UNKNOWN);
                word.substitutions.push(inner);
            }
            Some(c) => word.text.push(c),
            None => {}
        }
    }

    fn lex_expansion(&mut self, word: &mut ShellWord) {
        let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        if self.consume('(') {
            let inner = self.read_balanced();
            if inner.trim() == "pwd" {
                word.text.push('.');
            } else {
                word.text.push(UNKNOWN);
                word.substitutions.push(inner);
            }
        } else if self.consume('{') {
            let name: String = self.chars.by_ref().take_while(|c| *c != '}').collect();
            word.text.push(variable_placeholder(&name));
        } else if self.chars.peek().is_some_and(is_name) {
            let mut name = String::new();
            while let Some(c) = self.chars.next_if(is_name) {
                name.push(c);
            }
            word.text.push(variable_placeholder(&name));
        } else if matches!(
            self.chars.peek(),
            Some('@' | '*' | '#' | '?' | '!' | '$' | '-')
        ) {
            self.chars.next();
            word.text.push(UNKNOWN);
        } else if !matches!(self.chars.peek(), Some('\'' | '"')) {
            word.text.push('$');
        }
    }

    /// What stands before the parenthesis that closes one that was opened.
    fn read_balanced(&mut self) -> String {
        let mut inner = String::new();
        let mut open = 1;
        let mut quote = None;
        while let Some(c) = self.chars.next() {
            match (quote, c) {
                (Some(mark), _) if c == mark => quote = None,
                (Some('\''), _) => {}
                (_, '\\') => {
                    inner.push(c);
                    inner.extend(self.chars.next());
                    continue;
                }
                (None, '\'' | '"') => quote = Some(c),
                (None, '(') => open += 1,
                (None, ')') => open -= 1,
                (Some(_) | None, _) => {}
            }
            if open == 0 {
                break;
            }
            inner.push(c);
        }
        inner
    }

    fn skip_here_documents(&mut self) {
        while let Some(end) = self.here.pop_front() {
            loop {
                let mut line = String::new();
                while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                let is_last = self.chars.next().is_none();
                if is_last || line.trim() == end {
                    break;
                }
            }
        }
    }
}

/// What a variable stands for in a word.
fn variable_placeholder(name: &str) -> char {
    if name == "PWD" { '.' } else { UNKNOWN }
}

/// Words that begin a command and are none.
const KEYWORDS: &[&str] = &[
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi", "done", "esac",
];

/// Reads tokens into commands.
struct ShellReader<'a> {
    lexer: Lexer<'a>,
    depth: usize,
    folder: String,
    /// The folders to go back to at the end of each group, and how many commands
    /// there were at its begin.
    groups: Vec<(String, usize)>,
    /// How many commands there were before the last of those or the last group.
    first: usize,
    words: Vec<ShellWord>,
    takes_stdout: bool,
    /// The status of a pipe is that of its last command alone.
    is_last_alone: bool,
    commands: Vec<ShellCommand>,
}

impl<'a> ShellReader<'a> {
    fn new(script: &'a str, folder: &str, depth: usize) -> Self {
        Self {
            lexer: Lexer::new(script),
            depth,
            folder: folder.to_owned(),
            groups: Vec::new(),
            first: 0,
            words: Vec::new(),
            takes_stdout: false,
            is_last_alone: !script.contains("pipefail"),
            commands: Vec::new(),
        }
    }

    fn read_commands(&mut self) {
        while let Some(token) = self.lexer.next_token() {
            match token {
                ShellToken::Word(word) => self.words.push(word),
                ShellToken::Redirect { takes_stdout } => self.apply_redirect(takes_stdout),
                ShellToken::Separator => self.end_command(),
                ShellToken::Pipe => {
                    self.end_command();
                    if self.is_last_alone {
                        self.mark_captured();
                    }
                }
                ShellToken::Background => {
                    self.end_command();
                    self.mark_captured();
                }
                ShellToken::Open => {
                    self.end_command();
                    self.groups.push((self.folder.clone(), self.commands.len()));
                }
                ShellToken::Close => {
                    self.end_command();
                    if let Some((folder, first)) = self.groups.pop() {
                        self.folder = folder;
                        self.first = first;
                    }
                }
            }
        }
        self.end_command();
    }

    fn apply_redirect(&mut self, takes_stdout: bool) {
        let Some(ShellToken::Word(target)) = self.lexer.next_token() else {
            return;
        };
        let is_shown = target.text.starts_with("/dev/")
            || target.text.chars().all(|c| c.is_ascii_digit() || c == '-');
        self.takes_stdout |= takes_stdout && !is_shown;
        self.read_substitutions(&[target]);
    }

    /// Notes that what ended last decides nothing by itself.
    fn mark_captured(&mut self) {
        for command in self.commands.iter_mut().skip(self.first) {
            command.is_captured = true;
        }
    }

    fn end_command(&mut self) {
        let words = std::mem::take(&mut self.words);
        let takes_stdout = std::mem::take(&mut self.takes_stdout);
        if words.is_empty() {
            return;
        }
        self.first = self.commands.len();
        self.read_substitutions(&words);
        let words = words.into_iter().map(|word| word.text);
        let words: Vec<String> = words.skip_while(|word| is_command_prefix(word)).collect();
        match words.first().map(String::as_str) {
            Some("cd" | "pushd") => {
                let target = words.iter().skip(1).find(|word| !word.starts_with('-'));
                self.folder = target.map_or_else(String::new, |to| join_path(&self.folder, to));
            }
            Some(_) => self.commands.push(ShellCommand {
                words,
                folder: self.folder.clone(),
                is_captured: takes_stdout,
            }),
            None => {}
        }
    }

    /// Reads the commands of substitutions: what they print is looked at by
    /// something else.
    fn read_substitutions(&mut self, words: &[ShellWord]) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        for script in words.iter().flat_map(|word| &word.substitutions) {
            let mut reader = ShellReader::new(script, &self.folder, self.depth + 1);
            reader.read_commands();
            self.commands
                .extend(reader.commands.into_iter().map(|one| ShellCommand {
                    is_captured: true,
                    ..one
                }));
        }
    }
}

/// Whether a word stands before a command: a keyword, or `NAME=value`.
fn is_command_prefix(word: &str) -> bool {
    KEYWORDS.contains(&word) || is_assignment(word)
}

/// Whether a word is `NAME=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty()
            && name.chars().all(is_name)
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// A path that is named in a folder, without `.` and without what `..` takes back.
///
/// Of a path that begins with something unknown the rest is taken, as one below
/// the folder of the script: most such paths begin with the root of the project.
/// Of one that is unknown further on, nothing is known.
pub(super) fn join_path(folder: &str, path: &str) -> String {
    let (folder, path) = if path.contains(UNKNOWN) {
        let rest = path
            .strip_prefix(UNKNOWN)
            .and_then(|rest| rest.strip_prefix('/'));
        (
            "",
            rest.filter(|rest| !rest.contains(UNKNOWN))
                .unwrap_or_default(),
        )
    } else if path.starts_with('/') {
        ("", path)
    } else {
        (folder, path)
    };
    let is_absolute = path.starts_with('/') || folder.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    if is_absolute {
        format!("/{path}")
    } else {
        path
    }
}

#[cfg(test)]
mod tests {
    use piton_simkit::seed::cases;
    use proptest::prelude::*;

    use super::*;

    /// The commands of a script, one a line: `folder: words`, `~` before those
    /// that decide nothing by themselves, `?` for what is not known.
    #[track_caller]
    fn check(script: &str, expect: &[&str]) {
        let commands = shell_commands(script, "");
        let lines: Vec<String> = commands
            .iter()
            .map(|one| {
                let captured = if one.is_captured { "~" } else { "" };
                let folder = match one.folder.as_str() {
                    "" => String::new(),
                    folder => format!("{folder}: "),
                };
                let words = one.words.join(" ").replace(UNKNOWN, "?");
                format!("{captured}{folder}{words}")
            })
            .collect();
        assert_eq!(lines, expect, "{script}");
    }

    #[test]
    fn commands_are_told_apart() {
        check("a 1 && b || c; d\ne", &["a 1", "b", "c", "d", "e"]);
        check("a \\\n  1 # not this; b\nc", &["a 1", "c"]);
        check("A=1 B='x y' a; ! b", &["a", "b"]);
        check("if a; then b; else c; fi", &["a", "b", "c"]);
        check("while a; do b; done", &["a", "b"]);
        check("{ a; b; }", &["a", "b"]);
        check("", &[]);
    }

    #[test]
    fn quotes_are_taken_off() {
        check("a 'b; c' \"d && e\" f\\ g", &["a b; c d && e f g"]);
        check("a \"b \\\"c\\\" $D\"", &["a b \"c\" ?"]);
        check("a $'b' $\"c\" $", &["a b c $"]);
    }

    #[test]
    fn the_folder_of_a_command_is_known() {
        check("cd a && b", &["a: b"]);
        check("(cd a && b); c", &["a: b", "c"]);
        check("cd a\ncd ../b\nc", &["b: c"]);
        check(
            "(\ncd a && b\n) || exit\n(\nc\n) || exit\n",
            &["a: b", "exit", "c", "exit"],
        );
        check("cd \"$(dirname \"$0\")\"; a", &["~dirname ?", "a"]);
        check("cd $PWD/a; b; cd; c", &["a: b", "c"]);
    }

    #[test]
    fn what_only_feeds_another_command_is_marked() {
        check("a | b", &["~a", "b"]);
        check("a |& b | c", &["~a", "~b", "c"]);
        check("set -o pipefail; a | b", &["set -o pipefail", "a", "b"]);
        check("(a; b) | c", &["~a", "~b", "c"]);
        check("[ \"$(a 1)\" = b ]", &["~a 1", "[ ? = b ]"]);
        check("[ `a 1` = b ]", &["~a 1", "[ ? = b ]"]);
        check("diff <(a) b", &["~a", "diff ? b"]);
        check("a & b", &["~a", "b"]);
        check("a > out && b 2> err", &["~a", "b"]);
        check("a > /dev/null 2>&1; b >&2; c < in", &["a", "b", "c"]);
        check("a &> out", &["~a"]);
    }

    #[test]
    fn a_here_document_is_no_command() {
        check("a <<EOF && b\nc\nEOF\nd", &["a", "b", "d"]);
        check("a <<-'EOF'\n\tc\n\tEOF\nd", &["a", "d"]);
        check("a <<< b; c", &["a", "c"]);
        check("a <<EOF\nb", &["a"]);
    }

    #[test]
    fn paths_are_joined() {
        for (folder, path, expect) in [
            ("", "./a", "a"),
            ("a/b", "../c", "a/c"),
            ("a", "../../c", "../c"),
            ("a", "/b/../c", "/c"),
            ("/a", "b", "/a/b"),
            ("a", "\0/b/c", "b/c"),
            ("a", "", "a"),
        ] {
            assert_eq!(join_path(folder, path), expect, "{folder} {path}");
        }
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn reading_never_panics_on_any_script(
            script in "(a |cd |[(){}<>;&|$'\"`\\\\#\n]|\\$\\(|<<E\n|\\PC|\0){0,60}",
        ) {
            for one in shell_commands(&script, "") {
                prop_assert!(!one.words.is_empty());
            }
        }
    }
}
