//! Forms of lines: a few signs that stand for what varies.
//!
//! `*` stands for anything, `#` for a number, `~` for a word without blanks, a
//! blank for any blanks, `\` takes the next sign as it is. A form fits a whole
//! line. Regular expressions could say the same; hundreds of them would take
//! longer to compile than a short command may take in all.

/// A form, taken apart once.
#[derive(Debug)]
pub(super) struct LinePattern(Vec<PatternPart>);

#[derive(Debug, PartialEq)]
enum PatternPart {
    Text(String),
    Blanks,
    Number,
    Word,
    Anything,
}

impl LinePattern {
    pub(super) fn parse(form: &str) -> Self {
        let mut parts = Vec::new();
        let mut signs = form.chars();
        while let Some(sign) = signs.next() {
            let part = match sign {
                '*' => PatternPart::Anything,
                '#' => PatternPart::Number,
                '~' => PatternPart::Word,
                ' ' => PatternPart::Blanks,
                _ => {
                    let sign = if sign == '\\' {
                        signs.next().unwrap_or(sign)
                    } else {
                        sign
                    };
                    if let Some(PatternPart::Text(text)) = parts.last_mut() {
                        text.push(sign);
                        continue;
                    }
                    PatternPart::Text(sign.to_string())
                }
            };
            if parts.last() != Some(&part) {
                parts.push(part);
            }
        }
        Self(parts)
    }

    /// Whether the form fits the whole line.
    pub(super) fn is_match(&self, line: &str) -> bool {
        is_match_of_parts(&self.0, line)
    }

    /// The sign that a line must begin with to fit, where there is one.
    pub(super) fn first_char(&self) -> Option<char> {
        match self.0.first() {
            Some(PatternPart::Text(text)) => text.chars().next(),
            _ => None,
        }
    }
}

fn is_match_of_parts(parts: &[PatternPart], line: &str) -> bool {
    let Some((part, rest)) = parts.split_first() else {
        return line.is_empty();
    };
    match part {
        PatternPart::Text(text) => line
            .strip_prefix(text.as_str())
            .is_some_and(|line| is_match_of_parts(rest, line)),
        PatternPart::Blanks => {
            let after = line.trim_start();
            after.len() < line.len() && is_match_of_parts(rest, after)
        }
        PatternPart::Number => {
            let digits = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',');
            let length = line.bytes().take_while(digits).count();
            line.starts_with(|sign: char| sign.is_ascii_digit())
                && is_match_after_prefix(rest, line, 1, length)
        }
        PatternPart::Word => {
            let length = line.find(char::is_whitespace).unwrap_or(line.len());
            is_match_after_prefix(rest, line, 1, length)
        }
        PatternPart::Anything => match rest.first() {
            None => true,
            // Only where the text stands can the rest begin.
            Some(PatternPart::Text(text)) => line
                .match_indices(text.as_str())
                .any(|(at, _)| is_match_of_parts(&rest[1..], &line[at + text.len()..])),
            Some(_) => is_match_after_prefix(rest, line, 0, line.len()),
        },
    }
}

/// Whether the rest fits behind any beginning of the line of that length.
fn is_match_after_prefix(rest: &[PatternPart], line: &str, least: usize, most: usize) -> bool {
    (least..=most)
        .rev()
        .any(|at| line.is_char_boundary(at) && is_match_of_parts(rest, &line[at..]))
}

#[cfg(test)]
mod tests {
    use super::LinePattern;

    #[track_caller]
    fn check(form: &str, fitting: &[&str], other: &[&str]) {
        let parsed = LinePattern::parse(form);
        for line in fitting {
            assert!(parsed.is_match(line), "`{form}` should fit `{line}`");
        }
        for line in other {
            assert!(!parsed.is_match(line), "`{form}` should not fit `{line}`");
        }
    }

    #[test]
    fn a_form_fits_whole_lines() {
        check(
            "Compiling ~ v#*",
            &["Compiling serde v1.0.2", "Compiling a  v1 (x)"],
            &["Compiling", "now Compiling a v1"],
        );
        check(
            "test * ... ok",
            &["test a::b ... ok"],
            &["test a ... FAILED", "test a ... ok then"],
        );
        check(
            "*rror: *",
            &["TypeError: x", "error: y"],
            &["errors: x", "error:"],
        );
        check(
            "[#/#] *",
            &["[162/185] Building"],
            &["[a/b] Building", "[1/2]"],
        );
        check("\\#\\#[group]*", &["##[group]Run x"], &["1[group]"]);
        check("real #m*", &["real\t0m41.203s"], &["realm"]);
        check("größe *", &["größe 1"], &["größ 1"]);
    }
}
