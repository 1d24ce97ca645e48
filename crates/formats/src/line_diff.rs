//! What changed between two texts, line by line, for people to read.

use std::fmt::Write as _;

/// How many lines stand around a change.
const AROUND: usize = 3;
/// Longer middles are not compared line with line: they are shown as taken out
/// and put in whole.
const PAIRS_MAX: usize = 4 << 20;

/// One line of both texts, or of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'t> {
    Both(&'t str),
    Old(&'t str),
    New(&'t str),
}

/// The change in the form of `diff -u`, without its head; nothing for two equal
/// texts.
#[must_use]
pub fn line_diff(old: &str, new: &str) -> String {
    let lines = compared(&split(old), &split(new));
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !matches!(line, Line::Both(_)))
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
        push_hunk(&mut out, &lines, (from, to));
        rest = &rest[count..];
    }
    out
}

/// The lines of a text, each with its end.
fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn compared<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = tail.take_while(same).count();
    let (old_mid, new_mid) = (
        &old_rest[..old_rest.len() - tail],
        &new_rest[..new_rest.len() - tail],
    );
    let mut lines: Vec<Line<'t>> = old[..head].iter().map(|line| Line::Both(line)).collect();
    middle(old_mid, new_mid, &mut lines);
    let tail = &old[old.len() - tail..];
    lines.extend(tail.iter().map(|line| Line::Both(line)));
    lines
}

/// The longest common sequence stays; all else goes or comes.
fn middle<'t>(old: &[&'t str], new: &[&'t str], lines: &mut Vec<Line<'t>>) {
    let width = new.len() + 1;
    if old.len().saturating_mul(width) > PAIRS_MAX {
        lines.extend(old.iter().map(|line| Line::Old(line)));
        lines.extend(new.iter().map(|line| Line::New(line)));
        return;
    }
    // How many lines of what is left of both can stay.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            common[i * width + j] = if a == b {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Both(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(Line::Old(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
}

fn push_hunk(out: &mut String, lines: &[Line<'_>], (from, to): (usize, usize)) {
    let in_old = |line: &&Line<'_>| !matches!(line, Line::New(_));
    let in_new = |line: &&Line<'_>| !matches!(line, Line::Old(_));
    let range = |is_in: &dyn Fn(&&Line<'_>) -> bool| {
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
            Line::Both(text) => (' ', text),
            Line::Old(text) => ('-', text),
            Line::New(text) => ('+', text),
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
            let lines = compared(&split(&old), &split(&new));
            let one = |old: bool| -> String {
                lines.iter().map(|line| match line {
                    Line::Both(text) => *text,
                    Line::Old(text) if old => *text,
                    Line::New(text) if !old => *text,
                    Line::Old(_) | Line::New(_) => "",
                }).collect()
            };
            prop_assert_eq!(one(true), old.as_str());
            prop_assert_eq!(one(false), new.as_str());
        }
    }
}
