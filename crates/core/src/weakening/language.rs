//! How tests look in a language, and what of a text in it is code.

/// How tests look in a language.
///
/// Forms are regular expressions over the code without its whole-line comments,
/// in multi-line mode; where one of several fits, it counts once for each place.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// What it is called.
    pub name: &'static str,
    /// What the names of its files end with, after the dot.
    pub extensions: &'static [&'static str],
    /// What a line begins with that is a comment.
    pub comments: &'static [&'static str],
    /// What a line begins with that looks like a comment and counts nevertheless.
    pub directives: &'static [&'static str],
    /// What begins and ends a comment of several lines.
    pub blocks: &'static [(&'static str, &'static str)],
    /// What begins and ends a text of several lines: what stands in it is no code.
    pub quotes: &'static [&'static str],
    /// How a test definition looks. One that is skipped in the same place is
    /// still one.
    pub definitions: &'static [&'static str],
    /// How a mark looks that leaves tests out.
    pub skips: &'static [&'static str],
}

/// What a line begins in.
#[derive(Clone, Copy)]
enum ScanState {
    Code,
    /// A comment that ends so.
    Comment(&'static str),
    /// A text that ends so.
    Text(&'static str),
}

/// The text without comments that are whole lines, and without what stands in
/// texts of several lines.
///
/// A comment that begins behind code is left in: to tell it from a text such as
/// `"src/**/*.js"` one has to read the whole language.
pub(super) fn strip_comments(text: &str, language: &Language) -> String {
    let mut code = String::with_capacity(text.len());
    let mut within = ScanState::Code;
    for line in text.lines() {
        let mut rest = Some(line);
        while let Some(part) = rest {
            (within, rest) = match within {
                ScanState::Code => scan_code_line(part, language, &mut code),
                ScanState::Comment(end) => match part.split_once(end) {
                    Some((_, rest)) => (ScanState::Code, Some(rest)),
                    None => (within, None),
                },
                ScanState::Text(end) => match part.split_once(end) {
                    // What follows belongs to the code around the text.
                    Some((_, rest)) => scan_code(rest, language, &mut code),
                    None => (within, None),
                },
            };
        }
    }
    code
}

/// Takes a line, or its rest after a comment; what of it is still to be read,
/// and in what.
fn scan_code_line<'a>(
    line: &'a str,
    language: &Language,
    code: &mut String,
) -> (ScanState, Option<&'a str>) {
    let begin = line.trim_start();
    let begins = |with: &&&str| begin.starts_with(**with);
    if !language.directives.iter().any(|with| begins(&with)) {
        let blocks = language.blocks.iter();
        if let Some((open, end)) = blocks.copied().find(|(open, _)| begin.starts_with(open)) {
            return (ScanState::Comment(end), Some(&begin[open.len()..]));
        }
        if language.comments.iter().any(|with| begins(&with)) {
            return (ScanState::Code, None);
        }
    }
    scan_code(line, language, code)
}

/// Takes code up to the end of its line, or to a text of several lines.
fn scan_code<'a>(
    line: &'a str,
    language: &Language,
    code: &mut String,
) -> (ScanState, Option<&'a str>) {
    match find_open_quote(line, language) {
        Some((at, quote)) => {
            code.push_str(&line[..at]);
            (ScanState::Text(quote), Some(&line[at + quote.len()..]))
        }
        None => {
            code.push_str(line);
            code.push('\n');
            (ScanState::Code, None)
        }
    }
}

/// Where a text of several lines begins in a line of code.
fn find_open_quote(line: &str, language: &Language) -> Option<(usize, &'static str)> {
    if language.quotes.is_empty() {
        return None;
    }
    let mut at = 0;
    while let Some(rest) = line.get(at..) {
        let quote = language
            .quotes
            .iter()
            .find(|quote| rest.starts_with(**quote));
        if let Some(quote) = quote {
            return Some((at, quote));
        }
        if language.comments.iter().any(|with| rest.starts_with(with)) {
            return None;
        }
        let first = rest.chars().next()?;
        at += match first {
            '"' | '\'' => quoted_length(rest, first),
            _ => first.len_utf8(),
        };
    }
    None
}

/// The length of the text in quotes that a line goes on with; that of the quote
/// alone where it ends nothing.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return at + 1;
        }
    }
    1
}
