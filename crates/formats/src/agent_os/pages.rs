//! Merging versions of `progress.md`, which is made of the log: entries of both
//! sides, once each, without a question.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The date of a day; none where its entries have none. The newest is first.
type PageDay<'t> = Reverse<Option<&'t str>>;

/// A page in its parts.
#[derive(Default)]
struct LogPage<'t> {
    /// Up to the first day.
    head: &'t str,
    /// The entries of each day, as they stand.
    days: BTreeMap<PageDay<'t>, Vec<&'t str>>,
    /// Behind the last day.
    tail: &'t str,
}

const TOTAL: &str = "*Total entries: ";
const DAY: &str = "## ";
const ENTRY: &str = "### ";
const RULE: &str = "---\n";

impl<'t> LogPage<'t> {
    fn parse(text: &'t str, undated: &str) -> Self {
        let starts = |mark: &'static str| {
            let lines = text.match_indices('\n').map(|(at, _)| at + 1);
            let lines = std::iter::once(0).chain(lines);
            lines.filter(move |at| text[*at..].starts_with(mark))
        };
        let Some(first) = starts(DAY).next() else {
            return Self {
                head: text,
                ..Self::default()
            };
        };
        let last_rule = starts(RULE).next_back().filter(|at| *at > first);
        let end = last_rule.map_or(text.len(), |at| at + RULE.len());
        let mut page = Self {
            head: &text[..first],
            tail: &text[end..],
            ..Self::default()
        };
        let mut bounds: Vec<usize> = starts(DAY).chain(starts(ENTRY)).collect();
        bounds.retain(|at| *at < end);
        bounds.sort_unstable();
        bounds.push(end);
        let mut day = Reverse(None);
        for pair in bounds.windows(2) {
            let part = &text[pair[0]..pair[1]];
            let part = part.trim_end();
            let part = part
                .strip_suffix(RULE.trim_end())
                .unwrap_or(part)
                .trim_end();
            if part.starts_with(ENTRY) {
                page.days.entry(day).or_default().push(part);
            } else {
                let name = part[DAY.len()..].trim();
                day = Reverse(Some(name).filter(|name| *name != undated));
            }
        }
        page
    }

    fn entries_of_day(&self, day: &PageDay<'t>) -> &[&'t str] {
        self.days.get(day).map_or(&[], Vec::as_slice)
    }
}

/// The page with the entries of both sides; one that a side took out, and the
/// other left alone, is out. `undated` is what the entries without a date stand
/// under.
pub(super) fn merge(versions: [&str; 3], undated: &str) -> String {
    merge_versions(versions, undated, None)
}

/// The page with what is new in what is made of the ends of a log, which know how
/// many entries there are: made of ends, page, made of new ends.
pub(super) fn extend(versions: [&str; 3], undated: &str) -> String {
    let mut lines = versions[2].lines();
    let total = lines.find_map(|line| line.strip_prefix(TOTAL)?.strip_suffix('*')?.parse().ok());
    merge_versions(versions, undated, total)
}

fn merge_versions(versions: [&str; 3], undated: &str, total: Option<usize>) -> String {
    let [base, ours, theirs] = versions.map(|text| LogPage::parse(text, undated));
    let mut days: Vec<_> = ours.days.keys().chain(theirs.days.keys()).collect();
    days.sort_unstable();
    days.dedup();
    let (mut body, mut count) = (String::new(), 0);
    for day in days {
        let (before, mine, others) = (
            base.entries_of_day(day),
            ours.entries_of_day(day),
            theirs.entries_of_day(day),
        );
        let is_in = |all: &[&str], entry: &str| all.contains(&entry);
        let stays = |entry: &&str, other: &[&str]| !is_in(before, entry) || is_in(other, entry);
        let kept = mine.iter().filter(|entry| stays(entry, others));
        let more = others
            .iter()
            .filter(|entry| !is_in(mine, entry) && stays(entry, mine));
        // The time stands first; the newest is at the top. What is new in a log is
        // newer than what was there at the same minute.
        let mut entries: Vec<&str> = match total {
            Some(_) => more.chain(kept).copied().collect(),
            None => kept.chain(more).copied().collect(),
        };
        entries.sort_by_key(|entry| Reverse(clock_of_entry(entry)));
        if entries.is_empty() {
            continue;
        }
        count += entries.len();
        body.push_str(&format!("{DAY}{}\n\n", day.0.unwrap_or(undated)));
        for entry in entries {
            body.push_str(&format!("{entry}\n\n"));
        }
        body.push_str(&format!("{RULE}\n"));
    }
    let total = total.unwrap_or(count);
    let counted = |line: &str| match line.starts_with(TOTAL) {
        true => format!("{TOTAL}{total}*\n"),
        false => line.to_owned(),
    };
    let head: String = ours.head.split_inclusive('\n').map(counted).collect();
    let tail = match ours.tail.trim().is_empty() {
        true => theirs.tail,
        false => ours.tail,
    };
    let tail = match tail.trim() {
        "" => String::new(),
        words => format!("\n{words}\n"),
    };
    format!("{head}{body}{tail}")
}

fn clock_of_entry(entry: &str) -> &str {
    entry[ENTRY.len()..].split(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(entries: &[(&str, &str)]) -> String {
        let entries: Vec<String> = entries
            .iter()
            .map(|(time, what)| {
                format!(
                    r#"{{"id": "{what}", "timestamp": "2026-01-{time}:00Z", "type": "milestone_reached", "data": {{"description": "{what}"}}}}"#
                )
            })
            .collect();
        let text = format!(
            r#"{{"version": "1.0", "project": "yard", "entries": [{}]}}"#,
            entries.join(",")
        );
        super::super::render_markdown(&text).expect("a page")
    }

    const KEEL: (&str, &str) = ("15T10:00", "keel");
    const MAST: (&str, &str) = ("15T11:00", "mast");
    const SAIL: (&str, &str) = ("15T12:00", "sail");
    const ROPE: (&str, &str) = ("16T09:00", "rope");

    #[track_caller]
    fn check(
        base: &[(&str, &str)],
        ours: &[(&str, &str)],
        theirs: &[(&str, &str)],
        all: &[(&str, &str)],
    ) {
        let [base, ours, theirs] = [base, ours, theirs].map(page);
        let merged = merge([&base, &ours, &theirs], "Undated");
        assert_eq!(merged, page(all));
        let mirrored = merge([&base, &theirs, &ours], "Undated");
        assert_eq!(mirrored, page(all));
    }

    #[test]
    fn a_page_has_the_entries_of_both_sides_and_their_number() {
        check(
            &[KEEL],
            &[KEEL, MAST],
            &[KEEL, SAIL, ROPE],
            &[KEEL, MAST, SAIL, ROPE],
        );
        check(&[KEEL], &[KEEL, MAST], &[KEEL, SAIL], &[KEEL, MAST, SAIL]);
        check(&[], &[MAST], &[SAIL], &[MAST, SAIL]);
        check(&[], &[], &[ROPE], &[ROPE]);
    }

    #[test]
    fn what_one_side_parted_from_the_page_stays_out() {
        check(&[KEEL, MAST], &[MAST], &[KEEL, MAST, SAIL], &[MAST, SAIL]);
    }

    #[test]
    fn what_is_no_page_loses_nothing_of_ours() {
        assert_eq!(merge(["", "words\n", "others\n"], "Undated"), "words\n");
    }
}
