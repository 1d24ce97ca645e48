//! What the two logs have in common: lines that are added once.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::ends::{TextEnds, WINDOW_BYTES};
use crate::markdown::{has_date_prefix, newline_of};

/// The time before a line, in UTC.
pub(super) fn render_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The text with those of the groups of lines that do not stand in it: a group
/// is known by its last line, because several may begin alike. It comes behind
/// the last line that is not later. A text that is not there begins with `head`,
/// if there is a line to add.
pub(super) fn append_groups(text: Option<&str>, head: &str, groups: &[Vec<String>]) -> String {
    let old = text.unwrap_or_default();
    let mut there: HashSet<&str> = old.lines().map(str::trim_end).collect();
    let groups = groups.iter().filter(|group| {
        let last = group.last();
        last.is_some_and(|line| there.insert(line.trim_end()))
    });
    let new: Vec<&Vec<String>> = groups.collect();
    let mut out = old.to_owned();
    if new.is_empty() {
        return out;
    }
    let newline = newline_of(old);
    if crate::document::is_blank(old) {
        out.push_str(&head.replace('\n', newline));
    } else if !old.ends_with('\n') {
        out.push_str(newline);
    }
    for group in new {
        let lines = group.iter().map(|line| line.trim_end());
        let text: String = lines.flat_map(|line| [line, newline]).collect();
        let at = insert_offset(&out, group.last().and_then(|line| time_of_line(line)));
        out.insert_str(at, &text);
    }
    out
}

/// The last lines of a log, from one with a time on.
pub(in crate::ralph_dir) fn find_ends(text: &str) -> Option<TextEnds> {
    let mut end = text.len();
    let (tail, first) = text.split_inclusive('\n').rev().find_map(|line| {
        end -= line.len();
        let is_far = text.len() - end >= WINDOW_BYTES && time_of_line(line).is_some();
        is_far.then_some((end, line.len()))
    })?;
    TextEnds {
        head: 0,
        tail,
        first,
        open: Vec::new(),
    }
    .if_useful(text)
}

/// Where a line of this time belongs: behind the last one that is not later.
fn insert_offset(text: &str, time: Option<&str>) -> usize {
    let Some(time) = time else {
        return text.len();
    };
    let mut place = text.len();
    let mut end = text.len();
    for line in text.split_inclusive('\n').rev() {
        end -= line.len();
        match time_of_line(line) {
            Some(other) if other > time => place = end,
            Some(_) => break,
            // It belongs to the line above it.
            None => {}
        }
    }
    place
}

/// The time at the beginning of a line, as [`render_time`] writes it: such times have
/// the order of their texts.
fn time_of_line(line: &str) -> Option<&str> {
    // A mark may stand before it: `⚠️ [2026-01-15 10:30:00]`.
    let (mark, rest) = line.split_once('[')?;
    let is_mark = mark.chars().count() <= 3 && !mark.contains(char::is_alphanumeric);
    let rest = is_mark.then_some(rest)?;
    let time = rest.get(..TIME_LEN)?;
    let is_time = has_date_prefix(time) && rest[TIME_LEN..].starts_with(']');
    is_time.then_some(time)
}

/// How long `2026-01-15 10:30:00` is.
const TIME_LEN: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_line_comes_where_its_time_is() {
        let line = |hour: u32, words: &str| format!("[2026-01-15 {hour:02}:00:00] {words}");
        let text = format!(
            "# Error Log\n\n{}\n  more of it\n{}\n",
            line(9, "a"),
            line(12, "b")
        );
        let groups = vec![
            vec![line(8, "first")],
            vec![line(9, "begin"), line(10, "between")],
            vec![line(13, "last")],
            vec!["no time".to_owned()],
        ];
        assert_eq!(
            append_groups(Some(&text), "", &groups),
            format!(
                "# Error Log\n\n{}\n{}\n  more of it\n{}\n{}\n{}\n{}\nno time\n",
                line(8, "first"),
                line(9, "a"),
                line(9, "begin"),
                line(10, "between"),
                line(12, "b"),
                line(13, "last")
            )
        );
        let again = append_groups(Some(&text), "", &groups);
        assert_eq!(append_groups(Some(&again), "", &groups), again);
    }
}
