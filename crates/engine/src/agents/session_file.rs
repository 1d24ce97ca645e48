//! Session files: what an agent program itself records of a conversation.
//!
//! They say what an attempt used whose output does not, because its program was
//! killed. They are read and never written, and nothing fails for them: a file
//! that is missing, unreadable or of another form says nothing. What a program
//! prints is read by its adapter; which of both counts is decided in
//! [`crate::runner`].

mod claude;
mod codex;

pub(super) use self::claude::MessageSum;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_core::attempt::{Conversation, Usage};
use serde_json::Value;

use super::lines::{BoundedLine, LineSplitter};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFiles {
    form: SessionFileFormat,
    folder: PathBuf,
}

/// Whose session files they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionFileFormat {
    Claude,
    Codex,
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
trait UsageCounter: std::fmt::Debug {
    /// Whether a line may say something of usage; the others are not parsed.
    fn is_relevant(&self, line: &str) -> bool;
    /// Counts a line.
    fn count_line(&mut self, line: &Value);
    /// What all lines say until now.
    fn recorded_usage(&self) -> RecordedUsage;
}

impl SessionFiles {
    /// Those of Claude Code, for a program with these variables.
    #[must_use]
    pub fn of_claude<'e>(variable: impl Fn(&str) -> Option<&'e str>) -> Option<Self> {
        let folder = program_folder(&variable, "CLAUDE_CONFIG_DIR", ".claude")?.join("projects");
        let form = SessionFileFormat::Claude;
        Some(Self { form, folder })
    }

    /// Those of Codex, for a program with these variables.
    #[must_use]
    pub fn of_codex<'e>(variable: impl Fn(&str) -> Option<&'e str>) -> Option<Self> {
        let folder = program_folder(&variable, "CODEX_HOME", ".codex")?.join("sessions");
        let form = SessionFileFormat::Codex;
        Some(Self { form, folder })
    }

    /// Reads those of a conversation, for the attempt that is this part of it.
    /// None for an id that no program gives.
    #[must_use]
    pub fn open(&self, conversation: &str, part: &SessionScope) -> Option<SessionReader> {
        let is_name = Conversation::is_valid_id(conversation) && !conversation.starts_with('.');
        is_name.then(|| SessionReader {
            files: self.clone(),
            conversation: conversation.to_owned(),
            counter: match self.form {
                SessionFileFormat::Claude => Box::new(claude::MessageCounter::new(part)),
                SessionFileFormat::Codex => Box::new(codex::ThreadCounter::new(part)),
            },
            tails: Vec::new(),
            known: HashSet::new(),
            read: 0,
        })
    }
}

/// The folder of a program: as its variable says, else in the home of its user.
fn program_folder<'e>(
    variable: &impl Fn(&str) -> Option<&'e str>,
    name: &str,
    default: &str,
) -> Option<PathBuf> {
    let said = |name| variable(name).filter(|value| !value.is_empty());
    let own = said(name).map(PathBuf::from);
    own.or_else(|| Some(Path::new(said("HOME")?).join(default)))
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
        for path in self.files.find_files(&self.conversation) {
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
    let mut file = File::open(path).ok()?;
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

impl SessionFiles {
    /// The files of a conversation that are there now.
    fn find_files(&self, conversation: &str) -> Vec<PathBuf> {
        match self.form {
            SessionFileFormat::Claude => self.find_claude_files(conversation),
            SessionFileFormat::Codex => self.find_codex_file(conversation).into_iter().collect(),
        }
    }

    /// That of the agent, and those of the agents that it lets work.
    fn find_claude_files(&self, conversation: &str) -> Vec<PathBuf> {
        let name = format!("{conversation}.jsonl");
        let mut found = Vec::new();
        for project in list_folder(&self.folder) {
            let own = project.join(&name);
            if own.is_file() {
                found.push(own);
            }
            let below = list_folder(&project.join(conversation).join("subagents"));
            found.extend(
                below
                    .into_iter()
                    .filter(|path| has_name_suffix(path, ".jsonl")),
            );
        }
        found
    }

    /// The newest one: a thread that goes on is written where it began.
    fn find_codex_file(&self, conversation: &str) -> Option<PathBuf> {
        let end = format!("-{conversation}.jsonl");
        let newest_first = |folder: &Path| {
            let mut folders = list_folder(folder);
            folders.sort_unstable_by(|a, b| b.cmp(a));
            folders
        };
        let years = newest_first(&self.folder).into_iter();
        let months = years.flat_map(|year| newest_first(&year));
        let mut days = months.flat_map(|month| newest_first(&month));
        days.find_map(|day| {
            let mut files = list_folder(&day).into_iter();
            files.find(|path| has_name_suffix(path, &end))
        })
    }
}

/// What is in a folder; nothing where it cannot be read.
fn list_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .take(ENTRIES_MAX)
        .map(|entry| entry.path())
        .collect()
}

fn has_name_suffix(path: &Path, end: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(end))
}

/// When a line was written, where it says so.
fn line_time(line: &Value) -> Option<Timestamp> {
    line["timestamp"].as_str()?.parse().ok()
}
