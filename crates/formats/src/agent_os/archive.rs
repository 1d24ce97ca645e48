//! What is old, moved to a file for each month.
//!
//! Pure: the caller writes the months first and the log afterwards, so that an
//! entry may stand in both for a moment and never in neither. Both steps done
//! again change nothing.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::detect::DOCUMENT;
use super::import::import_entries;
use super::metadata::{oldest_entry_time, total_entries, update_metadata};
use super::shape::{ARCHIVE, ROOT};
use crate::document::{DocumentKind, is_blank, parse_for_edit, patch_json};
use crate::json::{self, render};
use crate::native_file::{Detection, FileContents, FileContext, RenderError};
use crate::project_format::ArchiveSplit;
use crate::shape_merge::{digest, from_map, into_map, parse_instant_or_utc, set_key};
use crate::tree::{Map, ValueNode};

/// The archive of a month.
static MONTH: DocumentKind = DocumentKind {
    root_name: "archive",
    judge: |root| match root.as_map() {
        Some(_) => Detection::Ours,
        None => Detection::Foreign(format!("{}, not an archive of Agent OS", root.describe())),
    },
    foreign: "NOT_A_PROGRESS_LOG",
    begin: |_| Map::default(),
};

/// Whether the metadata of a log tell of so many entries of which one is older
/// than so many days.
pub(super) fn is_due(text: &str, now: Timestamp, max_entries: usize, days: u32) -> bool {
    let root = json::parse(text).root;
    let told = root.as_ref().and_then(|root| {
        let count = total_entries(root.as_map()?)?;
        Some((count, oldest_entry_time(root)?))
    });
    let threshold = now.checked_sub(SignedDuration::from_hours(i64::from(days) * 24));
    let is_old = |(count, oldest)| {
        count >= max_entries && threshold.is_ok_and(|threshold| oldest < threshold)
    };
    told.is_some_and(is_old)
}

/// Parts a log of `max_entries` or more from what is older than `days`.
///
/// `None` when nothing is to be moved, or the text cannot be read. An entry
/// whose time cannot be read is never old.
pub fn archive_old_entries(
    text: &str,
    now: Timestamp,
    max_entries: usize,
    days: u32,
) -> Option<ArchiveSplit> {
    let root = DOCUMENT.root_for_edit(text, "progress.json").ok()?;
    let entries = root.get("entries")?.as_seq()?;
    if entries.len() < max_entries {
        return None;
    }
    let age = SignedDuration::from_hours(i64::from(days) * 24);
    let threshold = now.checked_sub(age).ok()?;
    let mut keep = Vec::new();
    let mut months: BTreeMap<String, Vec<ValueNode>> = BTreeMap::new();
    for entry in entries {
        match time_of_entry(entry).filter(|time| *time < threshold) {
            Some(time) => {
                let month = time.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string();
                months.entry(month).or_default().push(entry.clone());
            }
            None => keep.push(entry.clone()),
        }
    }
    if months.is_empty() {
        return None;
    }
    let through = threshold.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d");
    let keep = render_remaining(text, root.clone(), keep, &through.to_string()).ok()?;
    Some(ArchiveSplit { keep, months })
}

fn render_remaining(
    text: &str,
    root: ValueNode,
    entries: Vec<ValueNode>,
    through: &str,
) -> Result<String, RenderError> {
    let mut map = into_map(root)?;
    update_metadata(&mut map, &entries);
    if let Some(metadata) = map.get("metadata").cloned() {
        let mut metadata = into_map(metadata)?;
        set_key(
            &mut metadata,
            "archived_through",
            ValueNode::string(through),
            &[],
        );
        set_key(&mut map, "metadata", from_map(metadata), ROOT);
    }
    set_key(&mut map, "entries", ValueNode::seq(entries), ROOT);
    patch_json(text, map)
}

fn time_of_entry(entry: &ValueNode) -> Option<Timestamp> {
    parse_instant_or_utc(entry.get("timestamp")?.as_str()?)
}

/// The archive of a month with these entries as well, sorted by time.
///
/// An entry that has the id and the time of one that is there takes its place;
/// one that only has its id is another entry.
///
/// # Errors
///
/// When the archive that is there is not JSON or holds no list of entries.
pub fn merge_archive(existing: Option<&str>, entries: &[ValueNode]) -> Result<String, RenderError> {
    let Some(text) = existing.filter(|text| !is_blank(text)) else {
        let list = ValueNode::seq(merge_entries(&[], entries));
        return Ok(render(&ValueNode::map([("entries", list)])));
    };
    let mut map = into_map(parse_month_archive(text)?)?;
    let had = map.get("entries").and_then(ValueNode::as_seq);
    let list = ValueNode::seq(merge_entries(had.unwrap_or_default(), entries));
    set_key(&mut map, "entries", list, &[]);
    patch_json(text, map)
}

fn parse_month_archive(text: &str) -> Result<ValueNode, RenderError> {
    let root = parse_for_edit(text, "the archive", "the archive is not JSON")?;
    let map = root.as_map().map(|map| map.get("entries"));
    match map {
        Some(None) => Ok(root),
        Some(Some(list)) if list.as_seq().is_some() || list.is_null() => Ok(root),
        Some(Some(_)) | None => Err(RenderError("the archive has no list of entries".to_owned())),
    }
}

/// Both lists without what is the same twice, in the order of time.
fn merge_entries(had: &[ValueNode], new: &[ValueNode]) -> Vec<ValueNode> {
    let mut out: Vec<ValueNode> = had.to_vec();
    let mut contents: HashMap<[u8; 16], usize> = HashMap::new();
    let mut of_name: HashMap<(&str, Timestamp), VecDeque<usize>> = HashMap::new();
    for (index, entry) in had.iter().enumerate() {
        contents.entry(digest(&[&render(entry)])).or_insert(index);
        if let Some(name) = key_of_entry(entry) {
            of_name.entry(name).or_default().push_back(index);
        }
    }
    // What was found once is not replaced: two of one name that come together
    // are two entries.
    let mut found: HashSet<usize> = HashSet::new();
    for entry in new {
        let content = digest(&[&render(entry)]);
        if let Some(index) = contents.get(&content) {
            found.insert(*index);
            continue;
        }
        let places = key_of_entry(entry).and_then(|name| of_name.get_mut(&name));
        let replaced = places.and_then(|places| {
            std::iter::from_fn(|| places.pop_front()).find(|index| !found.contains(index))
        });
        let index = replaced.unwrap_or(out.len());
        found.insert(index);
        contents.insert(content, index);
        match out.get_mut(index) {
            Some(place) => *place = entry.clone(),
            None => out.push(entry.clone()),
        }
    }
    out.sort_by_key(|entry| time_of_entry(entry).unwrap_or(Timestamp::MAX));
    out
}

/// What makes an entry the same one, whatever it says.
fn key_of_entry(entry: &ValueNode) -> Option<(&str, Timestamp)> {
    Some((entry.get("id")?.as_str()?, time_of_entry(entry)?))
}

/// What the archive of a month holds.
pub fn import_archive(text: &str, about: &FileContext<'_>) -> FileContents {
    MONTH.import(text, about, |root| {
        import_entries(text, root, about.file, MONTH.root_name, &ARCHIVE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_another_time_is_another_entry_whatever_its_id() {
        let entries = |text: &str| {
            let root = json::parse(text).root.expect("JSON");
            root.as_seq().expect("a list").to_vec()
        };
        let first = entries(r#"[{"id": "a", "timestamp": "2026-01-02T00:00:00Z"}]"#);
        let second = entries(
            r#"[{"id": "a", "timestamp": "2026-01-01T00:00:00Z"},
                {"id": "a", "timestamp": "2026-01-02T00:00:00.0Z", "n": 1}]"#,
        );
        let once = merge_archive(None, &first).expect("an archive");
        let twice = merge_archive(Some(&once), &second).expect("an archive");
        assert_eq!(twice.matches("\"id\": \"a\"").count(), 2);
        assert_eq!(merge_archive(Some(&twice), &second).as_ref(), Ok(&twice));
        assert!(twice.contains("\"n\": 1"));
        let beside = entries(
            r#"[{"id": "a", "timestamp": "2026-01-02T00:00:00Z"},
                {"id": "a", "timestamp": "2026-01-02T00:00:00Z", "n": 2}]"#,
        );
        let both = merge_archive(Some(&once), &beside).expect("an archive");
        assert_eq!(both.matches("\"id\": \"a\"").count(), 2);
        assert_eq!(merge_archive(Some(&both), &beside).as_ref(), Ok(&both));
    }
}
