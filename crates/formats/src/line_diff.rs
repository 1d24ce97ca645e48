//! What changed between two texts, line by line, for people to read.

use std::fmt::Write as _;

use crate::sequence::match_elements;

/// How many lines stand around a change.
const AROUND: usize = 3;

/// One line of both texts, or of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiffLine<'t> {
    Both(&'t str),
    Old(&'t str),
    New(&'t str),
}

/// The change in the form of `diff -u`, without its head; nothing for two equal
/// texts.
#[must_use]
pub fn line_diff(old: &str, new: &str) -> String {
    let lines = compare_lines(&split_lines(old), &split_lines(new));
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !matches!(line, DiffLine::Both(_)))
        .map(|(at, _)| at)
        .collect();
    let mut out = String::new();
    let mut rest = changed.as_slice();
    while let Some(first) = rest.first() {
        let more = rest
            .windows(2)
            .take_while(|two| two[1] - two[0] <= 2 * AROUND);
        let count = 1 + more.count();
        let from = first.saturating_sub(AROUND);
        let to = (rest[count - 1] + AROUND + 1).min(lines.len());
        push_hunk(&mut out, &lines, from, to);
        rest = &rest[count..];
    }
    out
}

/// The lines of a text, each with its end.
fn split_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The longest common sequence stays; all else goes or comes.
fn compare_lines<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<DiffLine<'t>> {
    let mut lines = Vec::with_capacity(old.len().max(new.len()));
    let (mut i, mut j) = (0, 0);
    for (at, to) in match_elements(old, new)
        .into_iter()
        .chain([(old.len(), new.len())])
    {
        lines.extend(old[i..at].iter().map(|line| DiffLine::Old(line)));
        lines.extend(new[j..to].iter().map(|line| DiffLine::New(line)));
        lines.extend(old.get(at).map(|line| DiffLine::Both(line)));
        (i, j) = (at + 1, to + 1);
    }
    lines
}

fn push_hunk(out: &mut String, lines: &[DiffLine<'_>], from: usize, to: usize) {
    let in_old = |line: &&DiffLine<'_>| !matches!(line, DiffLine::New(_));
    let in_new = |line: &&DiffLine<'_>| !matches!(line, DiffLine::Old(_));
    let range = |is_in: &dyn Fn(&&DiffLine<'_>) -> bool| {
        let before = lines[..from].iter().filter(|line| is_in(line)).count();
        let within = lines[from..to].iter().filter(|line| is_in(line)).count();
        // A range of no lines names the line before it.
        (before + usize::from(within > 0), within)
    };
    let ((old_at, old_count), (new_at, new_count)) = (range(&in_old), range(&in_new));
    // Nothing can go wrong with writing into a text.
    writeln!(out, "@@ -{old_at},{old_count} +{new_at},{new_count} @@").ok();
    for line in &lines[from..to] {
        let (sign, text) = match line {
            DiffLine::Both(text) => (' ', text),
            DiffLine::Old(text) => ('-', text),
            DiffLine::New(text) => ('+', text),
        };
        let bare = text.trim_end_matches(['\r', '\n']);
        writeln!(out, "{sign}{bare}").ok();
        if !text.ends_with('\n') {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use piton_simkit::seed::cases;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_change_stands_between_the_lines_around_it() {
        insta::assert_snapshot!(line_diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\nx\ny\nf\n"), @r"
        @@ -2,5 +2,6 @@
         b
         c
         d
        -e
        +x
        +y
         f
        ");
        insta::assert_snapshot!(line_diff("", "a\n"), @r"
        @@ -0,0 +1,1 @@
        +a
        ");
        insta::assert_snapshot!(line_diff("{}", "{\r\n}"), @r"
        @@ -1,1 +1,2 @@
        -{}
        \ No newline at end of file
        +{
        +}
        \ No newline at end of file
        ");
        assert_eq!(line_diff("a\nb", "a\nb"), "");
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn both_texts_stand_in_it(old in "[ab\n]{0,40}", new in "[ab\n]{0,40}") {
            let lines = compare_lines(&split_lines(&old), &split_lines(&new));
            let one = |old: bool| -> String {
                lines.iter().map(|line| match line {
                    DiffLine::Both(text) => *text,
                    DiffLine::Old(text) if old => *text,
                    DiffLine::New(text) if !old => *text,
                    DiffLine::Old(_) | DiffLine::New(_) => "",
                }).collect()
            };
            prop_assert_eq!(one(true), old.as_str());
            prop_assert_eq!(one(false), new.as_str());
        }
    }
}
