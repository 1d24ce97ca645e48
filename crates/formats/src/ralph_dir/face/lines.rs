//! What the two logs have in common: lines that are added once.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::markdown::newline;

/// The time before a line, in UTC.
pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The text with those of the groups of lines behind it that do not stand in
/// it: a group is known by its last line, because several may begin alike. A
/// text that is not there begins with `head`, if there is a line to add.
pub(super) fn appended(text: Option<&str>, head: &str, groups: &[Vec<String>]) -> String {
    let old = text.unwrap_or_default();
    let mut there: HashSet<&str> = old.lines().map(str::trim_end).collect();
    let groups = groups.iter().filter(|group| {
        let last = group.last();
        last.is_some_and(|line| there.insert(line.trim_end()))
    });
    let new: Vec<&str> = groups.flatten().map(|line| line.trim_end()).collect();
    let mut out = old.to_owned();
    if new.is_empty() {
        return out;
    }
    let newline = newline(old);
    if old.trim_start_matches('\u{feff}').trim().is_empty() {
        out.push_str(&head.replace('\n', newline));
    } else if !old.ends_with('\n') {
        out.push_str(newline);
    }
    for line in new {
        out.push_str(line);
        out.push_str(newline);
    }
    out
}
