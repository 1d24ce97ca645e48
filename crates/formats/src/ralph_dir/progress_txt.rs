//! `progress.txt`: free text that an agent appends to. Best effort: what it
//! says is its text.

/// What a `progress.txt` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressTxt<'t> {
    /// All of it.
    pub text: &'t str,
    /// Whether no entry is written in it yet: it is empty, or it is a title and a
    /// few words down to a line of dashes, with nothing behind that.
    pub untouched: bool,
}

/// How many lines a template has at most before its line of dashes.
const HEAD_LINES_MAX: usize = 8;

/// Reads a `progress.txt`.
pub fn parse_progress_txt(text: &str) -> ProgressTxt<'_> {
    ProgressTxt {
        text,
        untouched: is_untouched(text),
    }
}

fn is_untouched(text: &str) -> bool {
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let Some(title) = lines.next() else {
        return true;
    };
    let mut head = 0;
    let is_title = title.starts_with('#') && title.to_lowercase().contains("progress");
    let is_rule = |line: &str| line.len() >= 3 && line.bytes().all(|byte| byte == b'-');
    let is_entry = |line: &str| line.starts_with(['#', '-', '*', '[', '+']);
    for line in lines.by_ref() {
        if is_rule(line) {
            return is_title && lines.next().is_none();
        }
        head += 1;
        if head > HEAD_LINES_MAX || is_entry(line) {
            return false;
        }
    }
    // A title alone says nothing; words without an end of the head may be a
    // report.
    is_title && head == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_with_nothing_behind_it_is_untouched() {
        for text in [
            "",
            "\n\n",
            "# Progress Log\n",
            "# Our Progress\n\nWhat was done, one iteration after another.\n\n---\n\n",
            "# Progress Log\r\nStarted: some day\r\n---\r\n",
        ] {
            assert!(parse_progress_txt(text).untouched, "{text}");
        }
        for text in [
            "# Progress Log\n---\n\n## Parser\n- done\n",
            "# Progress Log\n\nThe parser is done.\n",
            "Parser done\n---\n",
            "# Progress Log\n- [x] parser\n---\n",
        ] {
            assert!(!parse_progress_txt(text).untouched, "{text}");
        }
    }
}
