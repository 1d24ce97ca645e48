//! `.iteration`: how many agents were started, as one number.

use crate::markdown::newline_of;
use crate::problem::Problem;
use crate::sprint::SourceText;
use crate::tree::Span;

/// The number in a `.iteration`. None in a file that is empty; one that holds
/// something else is told of.
pub fn parse_iteration(source: SourceText<'_>) -> (Option<u64>, Vec<Problem>) {
    let text = source.text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return (None, Vec::new());
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if let (true, Ok(number)) = (digits, text.parse()) {
        return (Some(number), Vec::new());
    }
    let span = Span {
        start: 0,
        end: source.text.len(),
        line: 1,
        column: 1,
    };
    let problem = Problem::warning("NOT_A_NUMBER", source.name, "", span).with_message(
        "this is not a number of iterations",
        "write one number, such as 0",
    );
    (None, vec![problem])
}

/// The file with another number. `old` is what it holds now, if it is there:
/// whether a line end comes behind the number stays as it was.
pub fn render_iteration(old: Option<&str>, number: u64) -> String {
    match old {
        Some(old) if !old.is_empty() && !old.ends_with('\n') => number.to_string(),
        Some(old) => format!("{number}{}", newline_of(old)),
        None => format!("{number}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> (Option<u64>, usize) {
        let (number, problems) = parse_iteration(SourceText { name: "", text });
        (number, problems.len())
    }

    #[test]
    fn only_garbage_is_a_problem() {
        assert_eq!(number(""), (None, 0));
        assert_eq!(number("\n"), (None, 0));
        assert_eq!(number("0"), (Some(0), 0));
        assert_eq!(number("30\n"), (Some(30), 0));
        assert_eq!(number("30\r\n"), (Some(30), 0));
        for text in ["-1", "3 4", "three", "99999999999999999999", "+5"] {
            assert_eq!(number(text), (None, 1), "{text}");
        }
    }

    #[test]
    fn the_line_end_behind_the_number_stays_as_it_was() {
        assert_eq!(render_iteration(None, 1), "1\n");
        assert_eq!(render_iteration(Some(""), 1), "1\n");
        assert_eq!(render_iteration(Some("0"), 1), "1");
        assert_eq!(render_iteration(Some("0\r\n"), 1), "1\r\n");
    }
}
