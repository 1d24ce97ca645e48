//! The text of a git configuration file: sections, keys and values.
//!
//! What git refuses ends the reading: what stands before it is given. The
//! grammar is that of git-config(1), "Syntax".

/// One `key = value` of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitSetting {
    /// The section, in lower case: `user`, `include`.
    pub(super) section: String,
    /// What stands in quotes behind the section.
    pub(super) subsection: Option<String>,
    /// The key, in lower case.
    pub(super) key: String,
    /// The value, without its quotes; empty for a key without one.
    pub(super) value: String,
}

/// The settings of a file, in their order.
pub(super) fn parse_settings(text: &str) -> Vec<GitSetting> {
    let mut reader = GitConfigParser {
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        section: None,
    };
    let mut settings = Vec::new();
    while let Some(read) = reader.next_setting() {
        settings.extend(read);
    }
    settings
}

struct GitConfigParser<'t> {
    rest: &'t str,
    section: Option<(String, Option<String>)>,
}

impl GitConfigParser<'_> {
    /// Reads one header, comment or setting. `None` at the end of the text, or
    /// where git would refuse it.
    fn next_setting(&mut self) -> Option<Option<GitSetting>> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '#' | ';' => {
                self.skip_line();
                Some(None)
            }
            '[' => {
                self.section = Some(self.parse_header()?);
                Some(None)
            }
            _ => self.parse_setting().map(Some),
        }
    }

    fn skip_line(&mut self) {
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
    }

    fn parse_header(&mut self) -> Option<(String, Option<String>)> {
        let inner = self.rest.strip_prefix('[')?;
        let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.')))?;
        let (name, rest) = inner.split_at(end);
        let name = name.to_ascii_lowercase();
        if let Some(rest) = rest.strip_prefix(']') {
            self.rest = rest;
            // The older form of a subsection: `[branch.main]`.
            return Some(match name.split_once('.') {
                Some((section, sub)) => (section.to_owned(), Some(sub.to_owned())),
                None => (name, None),
            });
        }
        let mut chars = rest
            .trim_start_matches([' ', '\t'])
            .strip_prefix('"')?
            .chars();
        let mut subsection = String::new();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => subsection.push(chars.next()?),
                '\n' => return None,
                other => subsection.push(other),
            }
        }
        self.rest = chars.as_str().strip_prefix(']')?;
        Some((name, Some(subsection)))
    }

    fn parse_setting(&mut self) -> Option<GitSetting> {
        let (section, subsection) = self.section.clone()?;
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let end = self.rest.find(|c| !is_key(c)).unwrap_or(self.rest.len());
        let (key, rest) = self.rest.split_at(end);
        if !key.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let key = key.to_ascii_lowercase();
        self.rest = rest.trim_start_matches([' ', '\t', '\r']);
        let value = match self.rest.chars().next() {
            None | Some('\n' | '#' | ';') => {
                self.skip_line();
                String::new()
            }
            Some('=') => self.parse_value()?,
            Some(_) => return None,
        };
        Some(GitSetting {
            section,
            subsection,
            key,
            value,
        })
    }

    /// What stands behind the `=`, up to the end of its last line.
    fn parse_value(&mut self) -> Option<String> {
        let mut chars = self
            .rest
            .strip_prefix('=')?
            .trim_start_matches([' ', '\t'])
            .chars();
        let mut value = String::new();
        // Blanks count only where something follows.
        let mut blanks = String::new();
        let mut in_quotes = false;
        loop {
            let Some(c) = chars.next() else {
                self.rest = "";
                return (!in_quotes).then_some(value);
            };
            match c {
                '\n' => {
                    self.rest = chars.as_str();
                    return (!in_quotes).then_some(value);
                }
                '#' | ';' if !in_quotes => {
                    self.rest = chars.as_str();
                    self.skip_line();
                    return Some(value);
                }
                '"' => {
                    in_quotes = !in_quotes;
                    value.push_str(&std::mem::take(&mut blanks));
                }
                ' ' | '\t' | '\r' if !in_quotes => blanks.push(c),
                '\\' => {
                    let Some(escaped) = parse_escape(&mut chars)? else {
                        continue;
                    };
                    value.push_str(&std::mem::take(&mut blanks));
                    value.push(escaped);
                }
                other => {
                    value.push_str(&std::mem::take(&mut blanks));
                    value.push(other);
                }
            }
        }
    }
}

/// The character that an escape stands for; none for the end of a line, after
/// which the value goes on. Nothing at all where git refuses it.
fn parse_escape(chars: &mut std::str::Chars<'_>) -> Option<Option<char>> {
    Some(match chars.next()? {
        'n' => Some('\n'),
        't' => Some('\t'),
        'b' => Some('\u{8}'),
        same @ ('"' | '\\') => Some(same),
        '\n' => None,
        '\r' => match chars.next()? {
            '\n' => None,
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found: Vec<(String, String)> = parse_settings(text)
            .into_iter()
            .map(|setting| {
                let sub = setting.subsection.map(|sub| format!("({sub})"));
                let place = format!("{}{}", setting.section, sub.unwrap_or_default());
                (format!("{place}.{}", setting.key), setting.value)
            })
            .collect();
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn sections_and_keys_are_read_in_any_case() {
        check(
            "[user]\n\tname = Ada Lovelace\n",
            &[("user.name", "Ada Lovelace")],
        );
        check("[USER]\r\nName=Ada\r\n", &[("user.name", "Ada")]);
        check("\u{feff}[user] name = Ada", &[("user.name", "Ada")]);
        check("[a]\nx = 1\n[b]\nx = 2", &[("a.x", "1"), ("b.x", "2")]);
        check(
            "[core]\nbare\n[user]\nname = A",
            &[("core.bare", ""), ("user.name", "A")],
        );
    }

    #[test]
    fn subsections_keep_their_case_and_their_quotes() {
        check(
            "[includeIf \"gitdir:~/W \\\"x\\\"\"]\npath = a",
            &[("includeif(gitdir:~/W \"x\").path", "a")],
        );
        check("[branch.Main]\nremote = o", &[("branch(main).remote", "o")]);
        check("[user \"x\"]\nname = B", &[("user(x).name", "B")]);
    }

    #[test]
    fn quotes_comments_and_blanks_are_those_of_git() {
        check(
            "[user]\nname = \"Ada  L\" # she",
            &[("user.name", "Ada  L")],
        );
        check("[user]\nname = Ada  L  ; she\n", &[("user.name", "Ada  L")]);
        check("[user]\nname = \"a # b\"", &[("user.name", "a # b")]);
        check("[user]\nname = \"  a \"b\" \"", &[("user.name", "  a b ")]);
        check("# c\n; d\n[user] # e\nname = a", &[("user.name", "a")]);
        check(
            "[user]\nname = a\\\"b\\\\c\\td",
            &[("user.name", "a\"b\\c\td")],
        );
        check("[user]\nname =\n", &[("user.name", "")]);
    }

    #[test]
    fn a_value_goes_on_behind_a_backslash_at_the_end_of_its_line() {
        check(
            "[user]\nname = Ada \\\n Lovelace\n",
            &[("user.name", "Ada  Lovelace")],
        );
        check("[user]\nname = Ada\\\r\nL\r\n", &[("user.name", "AdaL")]);
    }

    #[test]
    fn what_git_refuses_ends_the_reading() {
        check("name = a\n[user]\nname = b", &[]);
        check("[user]\nname = \"a\nb = c", &[]);
        check("[user]\nname = a\n[broken\nname = b", &[("user.name", "a")]);
        check(
            "[user]\nname = a\nname = \\q\nname = c",
            &[("user.name", "a")],
        );
        check("[user]\n1st = a", &[]);
        check("[user \"x\n\"]\nname = a", &[]);
        check("", &[]);
    }

    #[test]
    fn no_text_makes_the_reader_panic() {
        let pieces = ["[", "user", "]", "\"", "\\", "\n", "=", "#", " ", "é", "x"];
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    parse_settings(&format!("{a}{b}{c}"));
                    parse_settings(&format!("[user]\nname ={a}{b}{c}"));
                }
            }
        }
    }
}
