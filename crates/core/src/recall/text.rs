//! Text as a terminal or a runner of jobs shows it, made plain.

use crate::terminal::strip_sequences;

/// The lines of a text, without colours, and of a line that was written over
/// only what stood there last.
pub(super) fn plain_lines(text: &str) -> Vec<String> {
    let plain = strip_sequences(text);
    plain
        .split('\n')
        .map(|line| {
            let line = line.trim_end();
            line.rsplit('\r').next().unwrap_or(line).to_owned()
        })
        .collect()
}

/// The line without what a runner puts in front of it: a frame, a time, the
/// number and the seconds of a build step, the name of a container or of a task.
pub(super) fn strip_runner_prefix(line: &str) -> &str {
    let mut rest = line;
    loop {
        let before = rest;
        rest = rest.trim_start_matches(|sign: char| {
            sign.is_whitespace() || matches!(sign, '│' | '╷' | '╵' | '┃' | '╭' | '╰' | '─')
        });
        rest = strip_step_prefix(rest);
        if let Some((first, more)) = rest.split_once(char::is_whitespace)
            && (is_timestamp(first) || is_task_prefix(first))
        {
            rest = more;
        }
        if let Some((first, more)) = rest.split_once(" | ")
            && is_container_name(first.trim_end())
        {
            rest = more;
        }
        if rest.len() == before.len() {
            return rest.trim_end();
        }
    }
}

/// Without the `#12 63.2` that buildkit puts in front of what a step prints.
fn strip_step_prefix(line: &str) -> &str {
    let Some(rest) = line.strip_prefix('#') else {
        return line;
    };
    let Some((number, rest)) = rest.split_once(' ') else {
        return line;
    };
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return line;
    }
    let seconds = rest.split_once(' ').filter(|(seconds, _)| {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        seconds
            .split_once('.')
            .is_some_and(|(whole, part)| digits(whole) && digits(part))
    });
    seconds.map_or(rest, |(_, rest)| rest)
}

/// A time of day, a date, or both, in brackets or not.
fn is_timestamp(word: &str) -> bool {
    let word = word.trim_matches(['[', ']', '(', ')', ',']);
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let signs = |byte: u8| matches!(byte, b':' | b'-' | b'/' | b'.' | b',' | b'T' | b'Z' | b'+');
    let parts = word
        .bytes()
        .filter(|byte| matches!(byte, b':' | b'-' | b'/'))
        .count();
    digits >= 4
        && parts >= 2
        && word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || signs(byte))
}

/// `@shop/web:build:`, as runners of tasks in many packages put it.
fn is_task_prefix(word: &str) -> bool {
    let Some(name) = word.strip_suffix(':') else {
        return false;
    };
    name.split(':').count() == 2
        && name.split(':').all(|part| {
            part.starts_with(|sign: char| sign.is_alphabetic() || sign == '@')
                && part
                    .chars()
                    .all(|sign| sign.is_alphanumeric() || "-_@/".contains(sign))
        })
}

/// `db-1`, as compose puts it before a bar.
fn is_container_name(word: &str) -> bool {
    word.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && word
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || "-_.".contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_titles_of_a_terminal_go() {
        let text = "\u{1b}[0m\u{1b}[1;31merror\u{1b}[0m: no\u{1b}]0;title\u{7} way";
        assert_eq!(plain_lines(text), ["error: no way"]);
    }

    #[test]
    fn of_a_line_written_over_the_last_stays() {
        assert_eq!(plain_lines("10 %\r50 %\rdone\r\nnext"), ["done", "next"]);
    }

    #[test]
    fn a_sequence_without_an_end_takes_no_other_line() {
        assert_eq!(plain_lines("a\u{1b}[12\nb"), ["a", "b"]);
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(strip_runner_prefix(line), expected);
    }

    #[test]
    fn what_runners_put_in_front_goes() {
        check("#14 63.99 error: no", "error: no");
        check("#7 [runtime 3/9] CACHED", "[runtime 3/9] CACHED");
        check("│ Error: Unauthorized", "Error: Unauthorized");
        check("2025-06-12T10:02:11.123Z WARN no", "WARN no");
        check("[2025-06-12 10:02:11] no", "no");
        check("@acme/ui:build: ESM Build success", "ESM Build success");
        check("db-1  | FATAL: no", "FATAL: no");
    }

    #[test]
    fn what_the_tool_itself_says_stays() {
        check("#include <x>", "#include <x>");
        check("src/a.rs:1:2: error", "src/a.rs:1:2: error");
        check("error: 12 things", "error: 12 things");
    }
}
