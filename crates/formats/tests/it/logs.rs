//! What the tests of the logs share: rows, as the read tables hold them.

use jiff::Timestamp;
use piton_core::attempt::{ReportedAttempt, Role};
use piton_core::command::ImportedRecord;
use piton_core::entry::{Entry, EntryRow};
use piton_core::memory::{Memory, MemoryRow, Retirement};
use piton_core::{AttemptRow, Node as Item};
use piton_formats::native_file::{FileContents, FileContext, ShownRow};

/// A row of any kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Row {
    Attempt(Box<AttemptRow>),
    Memory(Box<MemoryRow>),
    Entry(Box<EntryRow>),
}

impl Row {
    pub(crate) fn shown(&self) -> ShownRow<'_> {
        match self {
            Self::Attempt(row) => ShownRow::Attempt(row),
            Self::Memory(row) => ShownRow::Memory(row),
            Self::Entry(row) => ShownRow::Entry(row),
        }
    }
}

pub(crate) fn shown(rows: &[Row]) -> Vec<ShownRow<'_>> {
    rows.iter().map(Row::shown).collect()
}

pub(crate) fn now() -> Timestamp {
    time("2026-03-01T12:00:00Z")
}

static UTC: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;

#[track_caller]
pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn about(file: &str) -> FileContext<'_> {
    FileContext {
        file,
        project: "tide-tables",
        now: now(),
        zone: &UTC,
        iteration: None,
        is_part: false,
    }
}

/// What the journal makes of what was found: of a name that is taken, another.
pub(crate) fn rows(took: &FileContents) -> Vec<Row> {
    let rows = took.found.iter().enumerate();
    let mut rows: Vec<Row> = rows.map(|(at, found)| row(at, found)).collect();
    let mut taken = std::collections::BTreeSet::new();
    for row in &mut rows {
        let name = match row {
            Row::Attempt(row) => &mut row.name,
            Row::Entry(row) => &mut row.entry.name,
            Row::Memory(_) => continue,
        };
        let free =
            piton_core::name::free_name(name.as_deref().unwrap(), |name| taken.contains(name));
        taken.insert(free.clone());
        *name = Some(free);
    }
    rows
}

fn row(at: usize, found: &ImportedRecord) -> Row {
    match found {
        ImportedRecord::Attempt(told) => Row::Attempt(Box::new(attempt(told))),
        ImportedRecord::Memory(memory) => Row::Memory(Box::new(remembered(memory, false))),
        ImportedRecord::Retired(memory) | ImportedRecord::Removed(memory) => {
            Row::Memory(Box::new(remembered(memory, true)))
        }
        ImportedRecord::Entry(entry) => Row::Entry(Box::new(logged(at, entry))),
    }
}

pub(crate) fn attempt(told: &ReportedAttempt) -> AttemptRow {
    let ended_at = told.ended_at.unwrap_or_else(now);
    AttemptRow {
        id: told.attempt,
        checkout: None,
        run: told.run,
        node: Item::clone(&told.node),
        number: told.number.unwrap_or(1),
        role: Role::Worker,
        agent: told.agent.clone(),
        model: None,
        iteration: 0,
        started_at: ended_at,
        ended_at: Some(ended_at),
        report: Some((*told.report).clone()),
        name: told.name.clone(),
        item: Some(told.item.clone()),
        native: told.native.clone(),
        memories: Vec::new(),
        answer: None,
        tree: None,
        unchecked: None,
    }
}

pub(crate) fn remembered(memory: &Memory, retired: bool) -> MemoryRow {
    let id = memory.id.clone().unwrap();
    MemoryRow {
        retired: retired.then(|| Retirement {
            why: None,
            by: "cli:test".to_owned(),
            at: now(),
            superseded_by: None,
        }),
        ..MemoryRow::new(id, memory.clone(), 1, now(), "cli:test".to_owned())
    }
}

pub(crate) fn logged(at: usize, entry: &Entry) -> EntryRow {
    let time = entry.at.as_deref().and_then(|at| at.parse().ok());
    // The store draws a name for what has none.
    let name = entry
        .name
        .clone()
        .or_else(|| Some(format!("entry-drawn-{at}x")));
    EntryRow {
        id: format!("{at:032x}").parse().unwrap(),
        position: u64::try_from(at).unwrap() + 1,
        timestamp: time.unwrap_or_else(now),
        checkout: None,
        entry: Entry {
            name,
            ..entry.clone()
        },
    }
}

/// The same document as another program would have written it.
pub(crate) fn in_every_style(text: &str) -> Vec<String> {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let indented = |unit: &[u8]| {
        let mut out = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(unit);
        let mut writer = serde_json::Serializer::with_formatter(&mut out, formatter);
        serde::Serialize::serialize(&value, &mut writer).unwrap();
        String::from_utf8(out).unwrap()
    };
    let (two, four, tab) = (indented(b"  "), indented(b"    "), indented(b"\t"));
    vec![
        text.to_owned(),
        value.to_string(),
        format!("\u{feff}{two}\n"),
        tab.replace('\n', "\r\n"),
        format!("{four}\n\n"),
        two,
        tab,
    ]
}

/// How many bytes two texts share at the front and at the back.
pub(crate) fn shared(a: &str, b: &str) -> usize {
    let front = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let room = a.len().min(b.len()) - front;
    let back = a.bytes().rev().zip(b.bytes().rev()).take(room);
    front + back.take_while(|(a, b)| a == b).count()
}

/// A number from a seed, and the next seed.
pub(crate) fn next(seed: &mut u64) -> usize {
    // Steele, Lea and Flood: "Fast splittable pseudorandom number generators".
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((z ^ (z >> 31)) >> 33).unwrap()
}

/// `text` with a few things changed that a hand, a crash or a bad program
/// would change.
pub(crate) fn mutated(text: &str, seed: &mut u64) -> String {
    const PIECES: [&str; 24] = [
        "null",
        "{}",
        "[]",
        "\"\"",
        "-1",
        "1e400",
        "true",
        "\"x\"",
        ",",
        "{",
        "}",
        "[",
        "]",
        "\\",
        "\"id\"",
        "\"entries\"",
        "\"data\"",
        "\u{0}",
        "\u{feff}",
        "\u{2028}",
        "\n### ",
        "🎯",
        "2026-13-45T99:99:99Z",
        "99999999999999999999",
    ];
    let mut text = text.to_owned();
    for _ in 0..=next(seed) % 3 {
        let at = boundary(&text, next(seed) % (text.len() + 1));
        let end = boundary(&text, (at + next(seed) % 40).min(text.len()));
        let piece = PIECES[next(seed) % PIECES.len()];
        match next(seed) % 6 {
            0 => text.insert_str(at, piece),
            1 => text.replace_range(at..end, ""),
            2 => text.truncate(at),
            3 => text = format!("{}{}", &text[..end], &text[at..]),
            4 => text.replace_range(at..end, piece),
            _ => replace_value(&mut text, at, piece),
        }
    }
    text
}

/// Puts another value behind the next colon, so that the text stays JSON more
/// often than not.
fn replace_value(text: &mut String, at: usize, piece: &str) {
    let Some(colon) = text[at..].find(": ").map(|found| at + found + 2) else {
        return;
    };
    let len = text[colon..].find([',', '\n', '}']);
    text.replace_range(colon..colon + len.unwrap_or(0), piece);
}

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
