//! Words that are put into a Markdown file without breaking it.

/// `text` in one line: line ends and other blanks become single spaces.
pub(crate) fn to_one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    escape_open_comment(&out)
}

/// `line` such that it begins no heading, list, quote, fence, rule or HTML.
pub(crate) fn escape_block_start(line: &str) -> String {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && line[digits..].starts_with(['.', ')']) {
        return format!("{}\\{}", &line[..digits], &line[digits..]);
    }
    let bullet = line.starts_with(['-', '+', '*'])
        && line[1..].chars().next().is_none_or(char::is_whitespace);
    let rule = line.starts_with(['-', '*', '_', '='])
        && line
            .chars()
            .all(|c| matches!(c, '-' | '*' | '_' | '=' | ' '));
    let opens = [
        "#",
        ">",
        "<",
        "```",
        "~~~",
        "[ ]",
        "[x]",
        "[X]",
        "**Session ",
        "**Loop ended**",
    ];
    if bullet || rule || opens.iter().any(|open| line.starts_with(open)) {
        return format!("\\{line}");
    }
    line.to_owned()
}

/// What [`to_one_line`] and [`escape_block_start`] were given, as far as it can be told.
pub(crate) fn unescape(text: &str) -> String {
    let text = text.replace("&lt;!--", "<!--");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && (text[digits..].starts_with("\\.") || text[digits..].starts_with("\\)")) {
        return format!("{}{}", &text[..digits], &text[digits + 1..]);
    }
    match text.strip_prefix('\\') {
        Some(rest) if escape_block_start(rest) == text => rest.to_owned(),
        _ => text,
    }
}

/// The lines of `text` behind its first, `by` spaces deeper; blank ones stay
/// empty. Lines keep what they say, so that code stays code.
pub(crate) fn indent_lines(text: &str, by: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let line = line.trim_end();
        if at > 0 && !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', by));
        }
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.trim_start().starts_with(mark));
        let in_code = fence.is_some();
        match fence {
            None => fence = mark,
            Some(open) if mark == Some(open) => fence = None,
            Some(_) => {}
        }
        if in_code || line.starts_with("    ") {
            out.push_str(line);
        } else {
            out.push_str(&escape_open_comment(line));
        }
    }
    out
}

/// A value that goes over several lines, without the indentation that
/// [`indent_lines`] gave it.
pub(crate) fn dedent(text: &str, by: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let blanks = line.bytes().take_while(|byte| *byte == b' ').count();
        let cut = if at == 0 { 0 } else { blanks.min(by) };
        out.push_str(line[cut..].trim_end());
    }
    let out = out.replace("&lt;!--", "<!--");
    out.trim_matches('\n').trim_end().to_owned()
}

/// A comment that is opened and not closed in its line would hide what comes
/// behind it in the file.
fn escape_open_comment(line: &str) -> String {
    match line.rfind("<!--") {
        Some(at) if !line[at..].contains("-->") => line.replace("<!--", "&lt;!--"),
        _ => line.to_owned(),
    }
}
