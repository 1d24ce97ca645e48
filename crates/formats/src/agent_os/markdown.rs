//! `progress.md`: the log as people read it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::detect::DOCUMENT;
use super::metadata::total_entries;
use crate::native_file::RenderError;
use crate::shape_merge::parse_instant_or_utc;
use crate::tree::ValueNode;

/// What an entry is drawn with, by its type.
const ICONS: [(&str, &str); 7] = [
    ("session_started", "🚀"),
    ("session_ended", "🏁"),
    ("task_completed", "✅"),
    ("task_blocked", "⚠️"),
    ("debug_resolved", "🔧"),
    ("scope_override", "📋"),
    ("milestone_reached", "🎯"),
];
const OTHER_ICON: &str = "📝";

/// The lines below a title: what each is called, and the key of its value.
const LINES: [(&str, &str); 4] = [
    ("Details", "description"),
    ("Duration", "duration_minutes"),
    ("Notes", "notes"),
    ("Next", "next_steps"),
];

/// How long a title may be.
const TITLE_CHARS_MAX: usize = 200;

/// Makes one page of three versions: base, ours and theirs.
pub(super) fn merge_pages(versions: [&str; 3]) -> String {
    super::pages::merge(versions, UNDATED)
}

/// The page with what is new in the ends of the log, given what is rendered of
/// these before and afterwards.
pub(super) fn extend_page(versions: [&str; 3]) -> String {
    super::pages::extend(versions, UNDATED)
}

/// What is written instead of the date of an entry that has none.
const UNDATED: &str = "Undated";

/// Renders the text of `progress.json` as `progress.md`.
///
/// The newest date comes first and within it the newest entry; times are UTC.
/// There are as many lines that begin with `### ` as there are entries,
/// whatever these say: no line of a value begins with `#`.
///
/// # Errors
///
/// When the text is not JSON, is something else than a log, or is too new.
pub fn render_markdown(json_text: &str) -> Result<String, RenderError> {
    let root = DOCUMENT.root_for_edit(json_text, "progress.json")?;
    let entries = root.get("entries").and_then(ValueNode::as_seq);
    let entries = entries.unwrap_or_default();
    let project = root.get("project").and_then(truthy_text);
    let mut out = String::from("# Agent OS Progress Log\n\n");
    push_line(
        &mut out,
        format_args!("*Project: {}*", one_line(&project.unwrap_or_default())),
    );
    // Of the ends of a log the metadata tell how many it has.
    let told = root.as_map().and_then(total_entries).unwrap_or_default();
    let total = told.max(entries.len());
    push_line(&mut out, format_args!("*Total entries: {total}*\n\n---\n"));
    for (date, mut of_day) in entries_by_date(entries) {
        of_day.sort_by_key(|(time, _)| Reverse(*time));
        let date = date.0.unwrap_or_else(|| UNDATED.to_owned());
        push_line(&mut out, format_args!("## {date}\n"));
        for (time, entry) in of_day {
            push_entry(&mut out, time, entry);
            out.push('\n');
        }
        out.push_str("---\n\n");
    }
    let archived = root
        .get("metadata")
        .and_then(|metadata| metadata.get("archived_through"));
    if let Some(date) = archived.and_then(truthy_text) {
        let date = one_line(&date);
        push_line(
            &mut out,
            format_args!("\n*Older entries archived through {date}*"),
        );
        out.push_str("*See .agent-os/progress/archive/ for historical data*\n");
    }
    Ok(out)
}

fn push_line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("a string takes all");
}

type DayEntries<'n> = Vec<(Option<Timestamp>, &'n ValueNode)>;

/// The days, newest first, what has no date last; the last of a day first.
fn entries_by_date(entries: &[ValueNode]) -> BTreeMap<Reverse<Option<String>>, DayEntries<'_>> {
    let mut days: BTreeMap<Reverse<Option<String>>, DayEntries<'_>> = BTreeMap::new();
    for entry in entries.iter().rev() {
        let time = entry.get("timestamp").and_then(ValueNode::as_str);
        let time = time.and_then(parse_instant_or_utc);
        let date = time.map(|time| {
            time.to_zoned(TimeZone::UTC)
                .strftime("%Y-%m-%d")
                .to_string()
        });
        days.entry(Reverse(date)).or_default().push((time, entry));
    }
    days
}

fn push_entry(out: &mut String, time: Option<Timestamp>, entry: &ValueNode) {
    let clock = time.map_or_else(
        || "--:--".to_owned(),
        |time| time.to_zoned(TimeZone::UTC).strftime("%H:%M").to_string(),
    );
    let word = entry.get("type").and_then(truthy_text).unwrap_or_default();
    let known = ICONS.iter().find(|(kind, _)| *kind == word);
    let icon = known.map_or(OTHER_ICON, |(_, icon)| icon);
    let said = |key| {
        entry
            .get("data")
            .and_then(|data| data.get(key))
            .and_then(truthy_text)
    };
    let title = title_of_entry(&said("description").unwrap_or_default(), &word);
    push_line(out, format_args!("### {clock} - {icon} {title}"));
    for (name, key) in [("Spec", "spec"), ("Task", "task_id")] {
        if let Some(text) = entry.get(key).and_then(truthy_text) {
            push_line(out, format_args!("- **{name}**: {}", one_line(&text)));
        }
    }
    for (name, key) in LINES {
        match said(key) {
            Some(text) if key == "duration_minutes" => {
                push_line(
                    out,
                    format_args!("- **{name}**: ~{} minutes", one_line(&text)),
                );
            }
            Some(text) => push_line(out, format_args!("- **{name}**: {}", indent_text(&text))),
            None => {}
        }
    }
}

/// The first line of what happened, or the type.
fn title_of_entry(description: &str, word: &str) -> String {
    let lines = description.lines().map(one_line);
    let mut texts = lines.chain([one_line(word), "entry".to_owned()]);
    let first = texts.find(|text| !text.is_empty()).unwrap_or_default();
    first.chars().take(TITLE_CHARS_MAX).collect()
}

/// What a value says, where JavaScript would take it for true.
fn truthy_text(node: &ValueNode) -> Option<String> {
    if let Some(items) = node.as_seq() {
        let texts: Vec<&str> = items.iter().filter_map(ValueNode::text).collect();
        return Some(texts.join(", ")).filter(|text| !text.is_empty());
    }
    if node.is_null() || node.as_bool() == Some(false) || node.as_f64() == Some(0.0) {
        return None;
    }
    node.text()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// Without line breaks and other controls.
fn one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    text.trim().to_owned()
}

/// Further lines belong to the item of the list, and none begins a heading.
fn indent_text(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut out = String::new();
    for (index, line) in text.trim().split('\n').enumerate() {
        let line = one_line(line);
        if index > 0 {
            out.push('\n');
            out.push_str(if line.is_empty() { "" } else { "  " });
            if line.starts_with('#') {
                out.push('\\');
            }
        }
        out.push_str(&line);
    }
    out
}
