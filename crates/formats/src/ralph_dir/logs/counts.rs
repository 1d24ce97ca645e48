//! What of a log is counted when it is adopted.

use super::{LogEntry, LogItem, LogTime, parse_log};
use crate::adoption::{AdoptionCount, CountedKind, SkippedEntry};
use crate::problem::SourceText;

/// The entries of a log, of which none is taken.
pub(in crate::ralph_dir) fn collect_counts(source: SourceText<'_>) -> Vec<AdoptionCount> {
    let all = parse_log(source.text);
    let has_time = |entry: &LogEntry| entry.when != LogTime::Unknown;
    let has_times = all.iter().any(has_time);
    // Where lines have times, one without belongs to the line above it.
    let is_part = |entry: &LogEntry| {
        let LogItem::Other(text) = &entry.item else {
            return matches!(entry.item, LogItem::Banner { .. });
        };
        !has_time(entry) && (has_times || is_frame(text))
    };
    let line = |entry: &LogEntry| {
        let text = source.text.get(entry.span.start..entry.span.end);
        SkippedEntry::new(entry.span.line, text.unwrap_or_default())
    };
    let left = all.iter().filter(|entry| !is_part(entry)).map(line);
    let hint = "piton adds lines to this log, and takes nothing from it";
    vec![AdoptionCount::new_write_only(CountedKind::Entries, left).with_hint(hint)]
}

/// Whether a line says something about the log.
fn is_frame(text: &str) -> bool {
    let text = text.trim();
    let is_emphasis = text.len() > 1 && text.starts_with('*') && text.ends_with('*');
    is_emphasis || text.starts_with(['#', '>', '═']) || text.starts_with("<!--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, lines: &[u32]) {
        let counts = collect_counts(SourceText {
            name: "a.log",
            text,
        });
        let found: Vec<u32> = counts[0].first.iter().map(|left| left.line).collect();
        assert_eq!((counts[0].taken, &*found), (0, lines), "{text}");
    }

    #[test]
    fn what_ran_is_counted_and_not_what_stands_around_it() {
        let head = "# Log\n\n> What ran.\n*Nothing yet*\n═══\nRalph Session Started: Monday\n═══\n";
        check(head, &[]);
        check(&format!("{head}[09:00:00] READ a\n"), &[8]);
        check(&format!("{head}make failed\nthe mast fell\n"), &[8, 9]);
        check(
            "[09:00:00] SHELL do\n  a\ndone → exit 0\n[09:00:01] fell\n  at b\n",
            &[1, 4],
        );
    }
}
