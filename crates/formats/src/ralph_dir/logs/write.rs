//! Writing the logs: one line for one entry, with its date.

use super::{Colour, LogItem, LoggedFile, percent};

/// A line of `activity.log`, with its line end. `at` is `YYYY-MM-DD HH:MM:SS`.
pub fn render_activity_line(at: &str, colour: Colour, item: &LogItem) -> String {
    format!(
        "[{}] {} {}\n",
        flatten_line(at),
        colour.as_str(),
        render_item(item)
    )
}

/// A line of `errors.log`, with its line end. `at` is `YYYY-MM-DD HH:MM:SS`.
pub fn render_error_line(at: &str, item: &LogItem) -> String {
    let is_warning = matches!(item, LogItem::Gutter { .. } | LogItem::Thrashing { .. });
    let mark = if is_warning { "⚠️ " } else { "" };
    format!("[{}] {mark}{}\n", flatten_line(at), render_item(item))
}

fn render_item(item: &LogItem) -> String {
    match item {
        LogItem::Read(read) => format!("READ {}", render_file(read)),
        LogItem::Write(written) => format!("WRITE {}", render_file(written)),
        LogItem::Shell {
            command,
            exit,
            output_chars,
        } => {
            let output = output_chars.map(|chars| format!(" ({chars} chars output)"));
            render_command("SHELL ", command, *exit, &output.unwrap_or_default())
        }
        LogItem::ShellFail {
            command,
            exit,
            attempt,
        } => {
            let attempt = attempt.map(|attempt| format!(" (attempt {attempt})"));
            render_command("SHELL FAIL: ", command, *exit, &attempt.unwrap_or_default())
        }
        LogItem::Tokens { used, limit, note } => {
            let note = note
                .as_deref()
                .map(|note| format!(" - {}", flatten_line(note)));
            let percent = percent(*used, *limit);
            let note = note.unwrap_or_default();
            format!("TOKENS: {used} / {limit} ({percent}%){note}")
        }
        LogItem::SessionStart { model } => format!("SESSION START: model={}", flatten_line(model)),
        LogItem::SessionEnd {
            duration_ms,
            tokens,
        } => {
            let ms = duration_ms.map(|ms| format!("{ms}ms"));
            let tokens = tokens.map(|tokens| format!("~{tokens} tokens used"));
            let parts: Vec<String> = ms.into_iter().chain(tokens).collect();
            format!("SESSION END: {}", parts.join(", "))
        }
        LogItem::Rotate { tokens } => render_threshold("ROTATE: Token threshold reached", *tokens),
        LogItem::Warn { tokens } => render_threshold("WARN: Approaching token limit", *tokens),
        LogItem::Complete => "✅ Agent signaled COMPLETE".to_owned(),
        LogItem::Gutter { failures: None } => "🚨 Agent signaled GUTTER (stuck)".to_owned(),
        LogItem::Gutter {
            failures: Some(times),
        } => format!("GUTTER: same command failed {times}x"),
        LogItem::ApiError { message } => format!("API ERROR: {}", flatten_line(message)),
        LogItem::Thrashing { path, times } => {
            let times = times.unwrap_or_default();
            format!(
                "THRASHING: {} written {times}x in 10 min",
                flatten_line(path)
            )
        }
        LogItem::Banner { date } => format!("Ralph Session Started: {}", flatten_line(date)),
        LogItem::Other(text) => flatten_line(text),
    }
}

fn render_file(file: &LoggedFile) -> String {
    let path = flatten_line(&file.path);
    match (file.lines, &file.size) {
        (Some(lines), Some(size)) => format!("{path} ({lines} lines, {})", flatten_line(size)),
        (None, _) | (_, None) => path,
    }
}

fn render_command(word: &str, command: &str, exit: Option<i64>, behind: &str) -> String {
    let exit = exit.map(|exit| format!(" → exit {exit}{behind}"));
    format!(
        "{word}{}{}",
        flatten_line(command),
        exit.unwrap_or_default()
    )
}

fn render_threshold(words: &str, tokens: Option<(u64, u64)>) -> String {
    match tokens {
        Some((used, limit)) => format!("{words} ({used} >= {limit})"),
        None => words.to_owned(),
    }
}

/// One line stays one line: line ends and other control characters become
/// spaces.
fn flatten_line(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.trim()
        .chars()
        .map(|c| {
            let breaks = c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
            if breaks { ' ' } else { c }
        })
        .collect()
}
