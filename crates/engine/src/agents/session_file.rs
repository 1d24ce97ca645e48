//! Session files: what an agent program itself records of a conversation.
//!
//! They say what an attempt used whose output does not, because its program was
//! killed. They are read and never written, and nothing fails for them: a file
//! that is missing, unreadable or of another form says nothing. What a program
//! prints is read by its adapter; which of both counts is decided in
//! [`crate::runner`].

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_core::attempt::{Conversation, Usage};
use serde_json::Value;

use super::lines::{BoundedLine, LineSplitter};
use crate::world::input;

/// Longest line that is read, in bytes.
const LINE_BYTES_MAX: usize = 16 << 20;
/// So much is read for one attempt, in bytes.
const READ_BYTES_MAX: u64 = 512 << 20;
/// So much is read at one look while an agent works, in bytes.
const LOOK_BYTES_MAX: u64 = 8 << 20;
/// So much is asked for at once, in bytes.
const CHUNK_BYTES: usize = 256 << 10;
/// So many files of one conversation are read.
const FILES_MAX: usize = 1_000;
/// So many entries of a folder are looked at.
const ENTRIES_MAX: usize = 20_000;

/// Where a program keeps its session files.
#[derive(Clone, Debug)]
pub struct SessionFiles {
    format: SessionFileFormat,
    folder: PathBuf,
}

/// How a program records its sessions.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionFileFormat {
    /// Their folder, in that of what belongs to its user.
    pub(super) folder: &'static str,
    /// The files of a conversation that are there now, in that folder.
    pub(super) find: fn(&Path, &str) -> Vec<PathBuf>,
    /// Makes what sums up the lines of these files.
    pub(super) counter: fn(&SessionScope) -> Box<dyn UsageCounter>,
}

/// The part of a conversation that one attempt is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionScope {
    /// When the attempt started, where it goes on in a conversation.
    pub since: Option<Timestamp>,
    /// What the conversation had used before, where that is known.
    pub before: Option<Usage>,
}

/// What the session files say of an attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedUsage {
    /// What it used.
    pub usage: Usage,
    /// The same by model.
    pub models: BTreeMap<String, Usage>,
    /// What the whole conversation used, as the program counts, where it counts so.
    pub total: Option<Usage>,
}

/// Sums up lines of session files.
pub(super) trait UsageCounter: std::fmt::Debug {
    /// Whether a line may say something of usage; the others are not parsed.
    fn is_relevant(&self, line: &str) -> bool;
    /// Counts a line.
    fn count_line(&mut self, line: &Value);
    /// What all lines say until now.
    fn recorded_usage(&self) -> RecordedUsage;
}

impl SessionFiles {
    /// Those of a program with this home.
    pub(super) fn new(format: SessionFileFormat, home: &Path) -> Self {
        let folder = home.join(format.folder);
        Self { format, folder }
    }

    /// Reads those of a conversation, for the attempt that is this part of it.
    /// None for an id that no program gives.
    #[must_use]
    pub fn open(&self, conversation: &str, part: &SessionScope) -> Option<SessionReader> {
        let is_name = Conversation::is_valid_id(conversation) && !conversation.starts_with('.');
        is_name.then(|| SessionReader {
            files: self.clone(),
            conversation: conversation.to_owned(),
            counter: (self.format.counter)(part),
            tails: Vec::new(),
            known: HashSet::new(),
            read: 0,
        })
    }
}

/// Reads the session files of one attempt, as they grow.
#[derive(Debug)]
pub struct SessionReader {
    files: SessionFiles,
    conversation: String,
    counter: Box<dyn UsageCounter>,
    tails: Vec<FileTail>,
    known: HashSet<PathBuf>,
    /// How many bytes were read in all.
    read: u64,
}

/// A file, and how far it was read.
#[derive(Debug)]
struct FileTail {
    path: PathBuf,
    offset: u64,
    lines: LineSplitter,
}

impl SessionReader {
    /// What the files say now, or a part of it where much was added.
    pub fn poll_usage(&mut self) -> RecordedUsage {
        self.read_added(LOOK_BYTES_MAX);
        self.counter.recorded_usage()
    }

    /// What the files say in the end, when no program writes to them any more.
    #[must_use]
    pub fn finish(mut self) -> RecordedUsage {
        self.read_added(READ_BYTES_MAX);
        let counter = &mut self.counter;
        for tail in &mut self.tails {
            tail.lines
                .finish(|line| count_text_line(counter.as_mut(), &line));
        }
        self.counter.recorded_usage()
    }

    fn read_added(&mut self, bytes_max: u64) {
        for path in (self.files.format.find)(&self.files.folder, &self.conversation) {
            if self.tails.len() < FILES_MAX && self.known.insert(path.clone()) {
                let lines = LineSplitter::with_max_bytes(LINE_BYTES_MAX);
                let offset = 0;
                self.tails.push(FileTail {
                    path,
                    offset,
                    lines,
                });
            }
        }
        let mut left = bytes_max.min(READ_BYTES_MAX.saturating_sub(self.read));
        for tail in &mut self.tails {
            let got = tail.read(left, self.counter.as_mut());
            self.read += got;
            left -= got;
        }
    }
}

impl FileTail {
    /// Reads what was added, at most so much; how much it was.
    fn read(&mut self, bytes_max: u64, counter: &mut dyn UsageCounter) -> u64 {
        let Some(mut file) = open_at_offset(&self.path, self.offset) else {
            return 0;
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut read = 0;
        while read < bytes_max {
            let most = usize::try_from(bytes_max - read).unwrap_or(CHUNK_BYTES);
            let most = most.min(CHUNK_BYTES);
            let Ok(got) = file.read(&mut chunk[..most]) else {
                break;
            };
            if got == 0 {
                break;
            }
            self.lines
                .push(&chunk[..got], |line| count_text_line(counter, &line));
            read += got as u64;
        }
        self.offset += read;
        read
    }
}

/// A plain file from this place on; none where there is nothing more.
fn open_at_offset(path: &Path, offset: u64) -> Option<File> {
    // Anything else than a file might never end.
    let known = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    if known.len() <= offset {
        return None;
    }
    let mut file = input::open_file(path).ok()?;
    file.seek(SeekFrom::Start(offset)).ok()?;
    Some(file)
}

fn count_text_line(counter: &mut dyn UsageCounter, line: &BoundedLine<'_>) {
    let BoundedLine::Text(text) = line else {
        return;
    };
    if counter.is_relevant(text)
        && let Ok(value) = serde_json::from_str(text)
    {
        counter.count_line(&value);
    }
}

/// What is in a folder; nothing where it cannot be read.
pub(super) fn list_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .take(ENTRIES_MAX)
        .map(|entry| entry.path())
        .collect()
}

pub(super) fn has_name_suffix(path: &Path, end: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(end))
}

/// When a line was written, where it says so.
pub(super) fn line_time(line: &Value) -> Option<Timestamp> {
    line["timestamp"].as_str()?.parse().ok()
}
