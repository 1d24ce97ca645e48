//! Writing the logs: one line for one entry, with its date.

use super::{Colour, File, Item, percent};

/// A line of `activity.log`, with its line end. `at` is `YYYY-MM-DD HH:MM:SS`.
pub fn activity_line(at: &str, colour: Colour, item: &Item) -> String {
    format!("[{}] {} {}\n", flat(at), colour.as_str(), words(item))
}

/// A line of `errors.log`, with its line end. `at` is `YYYY-MM-DD HH:MM:SS`.
pub fn error_line(at: &str, item: &Item) -> String {
    let mark = match item {
        Item::Gutter { .. } | Item::Thrashing { .. } => "⚠️ ",
        Item::Read(_)
        | Item::Write(_)
        | Item::Shell { .. }
        | Item::Tokens { .. }
        | Item::SessionStart { .. }
        | Item::SessionEnd { .. }
        | Item::Rotate { .. }
        | Item::Warn { .. }
        | Item::Complete
        | Item::ApiError { .. }
        | Item::ShellFail { .. }
        | Item::Banner { .. }
        | Item::Other(_) => "",
    };
    format!("[{}] {mark}{}\n", flat(at), words(item))
}

fn words(item: &Item) -> String {
    match item {
        Item::Read(read) => format!("READ {}", file(read)),
        Item::Write(written) => format!("WRITE {}", file(written)),
        Item::Shell {
            command,
            exit,
            output_chars,
        } => {
            let output = output_chars.map(|chars| format!(" ({chars} chars output)"));
            ran("SHELL ", command, *exit, &output.unwrap_or_default())
        }
        Item::ShellFail {
            command,
            exit,
            attempt,
        } => {
            let attempt = attempt.map(|attempt| format!(" (attempt {attempt})"));
            ran("SHELL FAIL: ", command, *exit, &attempt.unwrap_or_default())
        }
        Item::Tokens { used, limit, note } => {
            let note = note.as_deref().map(|note| format!(" - {}", flat(note)));
            let percent = percent(*used, *limit);
            let note = note.unwrap_or_default();
            format!("TOKENS: {used} / {limit} ({percent}%){note}")
        }
        Item::SessionStart { model } => format!("SESSION START: model={}", flat(model)),
        Item::SessionEnd {
            duration_ms,
            tokens,
        } => {
            let ms = duration_ms.map(|ms| format!("{ms}ms"));
            let tokens = tokens.map(|tokens| format!("~{tokens} tokens used"));
            let parts: Vec<String> = ms.into_iter().chain(tokens).collect();
            format!("SESSION END: {}", parts.join(", "))
        }
        Item::Rotate { tokens } => threshold("ROTATE: Token threshold reached", *tokens),
        Item::Warn { tokens } => threshold("WARN: Approaching token limit", *tokens),
        Item::Complete => "✅ Agent signaled COMPLETE".to_owned(),
        Item::Gutter { failures: None } => "🚨 Agent signaled GUTTER (stuck)".to_owned(),
        Item::Gutter {
            failures: Some(times),
        } => format!("GUTTER: same command failed {times}x"),
        Item::ApiError { message } => format!("API ERROR: {}", flat(message)),
        Item::Thrashing { path, times } => {
            let times = times.unwrap_or_default();
            format!("THRASHING: {} written {times}x in 10 min", flat(path))
        }
        Item::Banner { date } => format!("Ralph Session Started: {}", flat(date)),
        Item::Other(text) => flat(text),
    }
}

fn file(file: &File) -> String {
    let path = flat(&file.path);
    match (file.lines, &file.size) {
        (Some(lines), Some(size)) => format!("{path} ({lines} lines, {})", flat(size)),
        (None, _) | (_, None) => path,
    }
}

fn ran(word: &str, command: &str, exit: Option<i64>, behind: &str) -> String {
    let exit = exit.map(|exit| format!(" → exit {exit}{behind}"));
    format!("{word}{}{}", flat(command), exit.unwrap_or_default())
}

fn threshold(words: &str, tokens: Option<(u64, u64)>) -> String {
    match tokens {
        Some((used, limit)) => format!("{words} ({used} >= {limit})"),
        None => words.to_owned(),
    }
}

/// One line stays one line: line ends and other control characters become
/// spaces.
fn flat(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.trim()
        .chars()
        .map(|c| {
            let breaks = c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
            if breaks { ' ' } else { c }
        })
        .collect()
}
