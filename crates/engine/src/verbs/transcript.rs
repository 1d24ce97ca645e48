//! `piton transcript`: what an agent printed, readable, also while it works.
//!
//! What is stored has no secrets any more. What an agent prints right now lies
//! raw in the spool: it is redacted here before anything else sees it, whole
//! lines at a time, and a key of several lines only when it has ended.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use piton_core::call::{AgentCall, first_line_said};
use piton_core::redact::{Redactor, has_open_private_key};
use piton_core::{AttemptId, AttemptRow, Need, RunId};
use serde::Serialize;

use super::show::{ShowTarget, find_named, last_attempt, name_of_item};
use crate::agents::answer::{ProgramEnd, strip_ansi};
use crate::agents::lines::{BoundedLine, LineSplitter};
use crate::agents::{AgentOutputReader, OutputEvent};
use crate::config::Config;
use crate::failure::{Failure, unreadable_file};
use crate::process::environment_of_process;
use crate::process::shell::quote_word;
use crate::runner::run_lock;
use crate::runner::run_standing::RunStanding;
use crate::runner::run_standing::next_command;
use crate::session::Session;
use crate::verbs::arguments::search_folder;
use crate::world::input;
use crate::world::{self, World};

/// How much is read at once, in bytes.
const CHUNK_BYTES: usize = 256 << 10;
/// So much of the end of a transcript is searched for the last words.
const LAST_BYTES: u64 = 256 << 10;
/// The last words are no longer than that, in characters: their end.
const LAST_CHARS_MAX: usize = 1_000;
/// A key that does not end within so many bytes is taken for one.
const KEY_BYTES_MAX: usize = 64 << 10;
/// How long to wait between two looks at an agent that works.
const LOOK: Duration = Duration::from_millis(200);

/// A part of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum TranscriptPart {
    /// The agent said something.
    Words {
        /// What it said.
        text: String,
    },
    /// It called a tool, and the call is over.
    Call {
        /// The call.
        #[serde(flatten)]
        call: AgentCall,
    },
    /// What the call before it gave, its beginning.
    Result {
        /// The text.
        text: String,
    },
    /// The program printed a line that its reader has no meaning for.
    Line {
        /// The line.
        text: String,
    },
}

crate::name_schema!(TranscriptPart, "piton.transcript/1");

/// How a transcript is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptForm {
    /// As words, calls and lines.
    Parts,
    /// As it is stored.
    Raw,
}

/// Whether to wait for what an agent at work prints next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowMode {
    /// What is there.
    Now,
    /// Until the attempt is over.
    UntilOver,
}

/// The attempt whose transcript was read.
#[derive(Clone, Debug, Serialize)]
pub struct TranscriptSummary {
    /// Its id.
    pub id: AttemptId,
    /// Its item, and what it is called.
    pub item: String,
    /// Which attempt at the item it is, from 1.
    pub number: u32,
    /// Whether it was under way when the reading ended.
    pub under_way: bool,
    /// What to type where its runner died: until then its end is not recorded.
    pub next: Option<String>,
    /// Whether anything was printed.
    pub is_empty: bool,
}

/// Reads the transcript of an attempt, or of the last attempt at an item; each
/// part goes to `each`, and the reading ends when that answers with false.
/// Of [`TranscriptForm::Raw`] each part is a line. Changes nothing.
///
/// # Errors
///
/// When nothing has that name, no attempt was made at the item, what it printed
/// is not kept, or it cannot be read.
pub fn transcript(
    world: &World,
    name: &str,
    form: TranscriptForm,
    follow: FollowMode,
    each: &mut dyn FnMut(TranscriptPart) -> bool,
) -> Result<TranscriptSummary, Failure> {
    let unknown = || {
        Failure::new(
            "attempt.unknown",
            format!("there is no attempt `{name}`: nothing is recorded here"),
        )
        .with_hint("begin a run with `piton run PLAN`")
    };
    let session =
        Session::open_read_only(world, &search_folder(world, Some(name)))?.ok_or_else(unknown)?;
    let row = resolve_attempt(&session, name)?;
    let rows = session.load(&[Need::Line(row.run, row.node.clone())])?;
    let mut read = TranscriptSummary {
        id: row.id,
        item: name_of_item(rows.tables.item(row.run, &row.node), &row.node),
        number: row.number,
        under_way: row.is_open(),
        next: None,
        is_empty: true,
    };
    let mut each = |part| {
        read.is_empty = false;
        each(part)
    };
    let reader = match form {
        TranscriptForm::Parts => reader_of_attempt(&session, &row),
        TranscriptForm::Raw => None,
    };
    let mut parts = TranscriptParser::new(reader, form, row.started_at);
    if row.is_open() {
        let spool = LiveOutput::new(&session, &row, redactor_of_output(&session));
        let stage = spool.read_output(&session, &row, follow, &mut |line| {
            parts.parse_line(line, &mut each)
        })?;
        emit_end(&mut parts, stage == AttemptStage::Over, &mut each);
        read.under_way = stage != AttemptStage::Over;
        if stage == AttemptStage::LeftByItsRunner {
            let rows = session.load(&[Need::Run(row.run)])?;
            let run = rows.tables.run(row.run);
            let standing = |run| (run, RunStanding::of_run(&session.project, run));
            read.next = run
                .map(standing)
                .and_then(|(run, standing)| next_command(run, &standing));
        }
        return Ok(read);
    }
    let path = transcript_path(&session, &row)?;
    read_lines(&path, 0, &mut |line| parts.parse_line(line, &mut each))
        .map_err(|error| unreadable_file(&path, error))?;
    emit_end(&mut parts, true, &mut each);
    Ok(read)
}

/// The agent that began last of those at work, and the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentsAtWork {
    /// The attempt of that one, by the name that [`transcript`] takes.
    pub attempt: String,
    /// Its item, and what it is called.
    pub item: String,
    /// The items of the others, as they are typed in a shell.
    pub others: Vec<String>,
}

/// Which agents are at work.
///
/// # Errors
///
/// When none is, or the store cannot be read.
pub fn agents_at_work(world: &World) -> Result<AgentsAtWork, Failure> {
    let none = || {
        Failure::new("attempt.unknown", "no agent is at work")
            .with_hint("name an item to see the transcript of its last attempt: `piton tail ITEM`")
    };
    let session = Session::open_read_only(world, &search_folder(world, None))?.ok_or_else(none)?;
    let rows = session.load(&[Need::OpenAttempts(None), Need::Runs])?;
    let mut open = Vec::new();
    for row in rows.tables.open_attempts() {
        if AttemptStage::of_attempt(&session, row)? == AttemptStage::UnderWay {
            open.push(row);
        }
    }
    open.sort_by_key(|row| (row.started_at, row.id));
    let last = open.pop().ok_or_else(none)?;
    let runs = &rows.tables;
    let typed_item = |row: &AttemptRow| match runs.run(row.run) {
        Some(run) => format!("{}:{}", run.name, row.node),
        None => row.node.to_string(),
    };
    let others = open.iter().map(|row| typed_item(row));
    let others = others.map(|item| quote_word(&item).into_owned()).collect();
    let rows = session.load(&[Need::Line(last.run, last.node.clone())])?;
    Ok(AgentsAtWork {
        attempt: last.id.to_string(),
        item: name_of_item(rows.tables.item(last.run, &last.node), &last.node),
        others,
    })
}

/// Gives what only the end of a transcript tells.
fn emit_end(
    parts: &mut TranscriptParser,
    over: bool,
    each: &mut dyn FnMut(TranscriptPart) -> bool,
) {
    if over {
        parts.finish(each);
    }
}

fn resolve_attempt(session: &Session<'_>, name: &str) -> Result<AttemptRow, Failure> {
    let (run, node) = match find_named(session, name)? {
        ShowTarget::Attempt(row) => return Ok(*row),
        ShowTarget::Item { run, node } => (run, node),
        ShowTarget::Run(row) => {
            return Err(Failure::new(
                "attempt.unknown",
                format!("`{name}` is a run, and a run has no transcript of its own"),
            )
            .with_hint(format!(
                "name one of its items: see them with `piton status {} --all`",
                row.name
            )));
        }
    };
    last_attempt(session, run, &node)?.ok_or_else(|| {
        Failure::new("attempt.unknown", format!("no attempt was made at {node}"))
            .with_hint(format!("see where it stands with `piton show {node}`"))
    })
}

/// Where the transcript of an attempt that is over is kept.
fn transcript_path(session: &Session<'_>, row: &AttemptRow) -> Result<PathBuf, Failure> {
    let report = row.report.as_ref().or(row.unchecked.as_deref());
    let kept = report.and_then(|report| report.program.transcript.as_ref());
    match kept {
        Some(kept) => {
            let path = session.project.home.join(&kept.path);
            let inside = session.project.resolve_inside(&path);
            inside.map_err(|error| unreadable_file(&path, error))
        }
        None => Err(Failure::new(
            "file.missing",
            format!(
                "no transcript is kept of attempt {} at {}",
                row.number, row.node
            ),
        )
        .with_hint(format!(
            "see what is known of it with `piton show {}#{}`",
            row.node, row.number
        ))),
    }
}

/// The reader of the program that an attempt was made by; none where it prints
/// plain text, or is not known any more.
fn reader_of_attempt(session: &Session<'_>, row: &AttemptRow) -> Option<AgentOutputReader> {
    let config = Config::load(&session.project).ok()?;
    config.resolve_agent(&row.agent).ok()?.output_reader(None)
}

/// Lines of a program on their way to parts.
struct TranscriptParser {
    reader: Option<AgentOutputReader>,
    form: TranscriptForm,
    at: Timestamp,
    /// Whether the agent was heard.
    has_words: bool,
}

impl TranscriptParser {
    fn new(reader: Option<AgentOutputReader>, form: TranscriptForm, at: Timestamp) -> Self {
        Self {
            reader,
            form,
            at,
            has_words: false,
        }
    }

    /// Takes a line in; false when no more is wanted.
    fn parse_line(&mut self, line: &str, each: &mut dyn FnMut(TranscriptPart) -> bool) -> bool {
        let Some(reader) = &mut self.reader else {
            let text = match self.form {
                TranscriptForm::Raw => line.to_owned(),
                TranscriptForm::Parts => strip_ansi(line),
            };
            return each(TranscriptPart::Line { text });
        };
        let seen = reader.parse_line(line, self.at);
        if seen.is_empty() && is_note(line) {
            let text = strip_ansi(line);
            return text.trim().is_empty() || each(TranscriptPart::Line { text });
        }
        for seen in seen {
            let part = match seen {
                OutputEvent::Said(text) if text.trim().is_empty() => continue,
                OutputEvent::Said(text) => {
                    self.has_words = true;
                    TranscriptPart::Words { text }
                }
                OutputEvent::Called(call) => TranscriptPart::Call { call },
                OutputEvent::Returned(text) if text.trim().is_empty() => continue,
                OutputEvent::Returned(text) => TranscriptPart::Result { text },
                OutputEvent::Unknown => TranscriptPart::Line {
                    text: strip_ansi(line),
                },
                OutputEvent::Conversation(_) | OutputEvent::Used(_) | OutputEvent::Refused(_) => {
                    continue;
                }
            };
            if !each(part) {
                return false;
            }
        }
        true
    }

    /// What the program says at its end, where that was not said before.
    fn finish(&mut self, each: &mut dyn FnMut(TranscriptPart) -> bool) {
        let Some(reader) = self.reader.take() else {
            return;
        };
        let said = reader.finish(&ProgramEnd::default());
        if !self.has_words && !said.words.trim().is_empty() {
            each(TranscriptPart::Words { text: said.words });
        }
    }
}

/// Whether a line is none of the JSON that a program prints, but a note beside it.
fn is_note(line: &str) -> bool {
    let first = line.trim_start().chars().next();
    let is_json = |c| matches!(c, '{' | '}' | '[' | ']' | '"');
    !line.starts_with(' ') && first.is_some_and(|c| !is_json(c))
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptStage {
    /// Its agent works.
    UnderWay,
    /// No runner lives that would record its end.
    LeftByItsRunner,
    /// It is over.
    Over,
}

impl AttemptStage {
    fn of_attempt(session: &Session<'_>, row: &AttemptRow) -> Result<Self, Failure> {
        let rows = session.load(&[Need::Attempt(row.id), Need::Run(row.run)])?;
        let attempt = rows.tables.attempt(row.id);
        let run = rows.tables.run(row.run);
        Ok(match (attempt.filter(|row| row.is_open()), run) {
            (None, _) => Self::Over,
            // No runner works on what belongs to no plan.
            (Some(_), Some(run)) if run.id != RunId::PROJECT => {
                match RunStanding::of_run(&session.project, run).is_live {
                    true => Self::UnderWay,
                    false => Self::LeftByItsRunner,
                }
            }
            (Some(_), _) => Self::UnderWay,
        })
    }
}

/// What an agent that works prints, raw.
pub(super) fn live_output_path(session: &Session<'_>, row: &AttemptRow) -> PathBuf {
    let spool = session.project.home.join("spool").join(row.run.to_string());
    spool.join(format!("{}.out", row.id))
}

/// What takes the secrets out of what agents print that work now: it knows the variables
/// of their runners, which this process need not have.
fn redactor_of_output(session: &Session<'_>) -> Redactor {
    let runners = run_lock::list_holders(&session.project);
    let variables: Vec<_> = runners.iter().flat_map(environment_of_process).collect();
    let variables = variables.iter().map(|(name, value)| (name, value));
    let world = session.world.with_agent_secrets(variables);
    match Config::load(&session.project) {
        Ok(config) => world
            .with_agent_secrets(config.agent_variables())
            .redactor(),
        Err(_) => world.redactor(),
    }
}

/// What an agent that works does now, or did last, in one line without secrets; none where
/// its program prints plain text or nothing yet.
pub(super) fn live_activity(session: &Session<'_>, row: &AttemptRow) -> Option<String> {
    let path = live_output_path(session, row);
    let mut reader = reader_of_attempt(session, row)?;
    let bytes = std::fs::metadata(&path).ok()?.len();
    let from = bytes.saturating_sub(LAST_BYTES);
    let redactor = redactor_of_output(session);
    let mut latest = None;
    // Of a line whose beginning was left out nothing can be told.
    let mut is_whole = from == 0;
    read_lines(&path, from, &mut |line| {
        let seen = match std::mem::replace(&mut is_whole, true) {
            true => reader.parse_line(line, row.started_at),
            false => Vec::new(),
        };
        for seen in seen {
            if let OutputEvent::Called(call) = seen {
                latest = Some(call.redact(&redactor).describe());
            } else if let OutputEvent::Said(words) = seen {
                latest = first_line_said(&words, &redactor).or(latest.take());
            }
        }
        true
    })
    .ok()?;
    let open = reader.open_call().cloned();
    open.map(|call| call.redact(&redactor).describe())
        .or(latest)
}

/// The output of an agent that works.
struct LiveOutput {
    path: PathBuf,
    redactor: Redactor,
    lines: LineSplitter,
    /// Lines that are held back: a key has begun in them.
    held: String,
}

impl LiveOutput {
    fn new(session: &Session<'_>, row: &AttemptRow, redactor: Redactor) -> Self {
        Self {
            path: live_output_path(session, row),
            redactor,
            lines: LineSplitter::new(),
            held: String::new(),
        }
    }

    /// Reads until no more is wanted; how far the attempt has come then. The file
    /// is held open: it is removed when the outcome is stored.
    fn read_output(
        mut self,
        session: &Session<'_>,
        row: &AttemptRow,
        follow: FollowMode,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<AttemptStage, Failure> {
        let mut file: Option<File> = None;
        loop {
            // First whether it is over: what is read then is all.
            let stage = AttemptStage::of_attempt(session, row)?;
            if file.is_none() {
                file = match input::open_file(&self.path) {
                    Ok(opened) => Some(opened),
                    // It is made when the program starts, and may be gone again.
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    Err(error) => return Err(unreadable_file(&self.path, error)),
                };
            }
            let wanted = match &mut file {
                Some(file) => self
                    .read_appended(file, each)
                    .map_err(|error| unreadable_file(&self.path, error))?,
                None => true,
            };
            if !wanted {
                return Ok(stage);
            }
            if stage != AttemptStage::UnderWay || follow == FollowMode::Now {
                let mut last = String::new();
                self.lines.finish(|line| push_line(&mut last, &line));
                self.held.push_str(&last);
                self.emit_held_lines(each, true);
                return Ok(stage);
            }
            world::pause(LOOK);
        }
    }

    /// Reads what was added; false when no more is wanted.
    fn read_appended(
        &mut self,
        file: &mut File,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> io::Result<bool> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let got = match file.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                got => got?,
            };
            if got == 0 {
                return Ok(true);
            }
            let held = &mut self.held;
            self.lines
                .push(&chunk[..got], |line| push_line(held, &line));
            if !self.emit_held_lines(each, false) {
                return Ok(false);
            }
        }
    }

    /// Gives the lines that are held, redacted, unless a key has begun in them
    /// that may go on. False when no more is wanted.
    fn emit_held_lines(&mut self, each: &mut dyn FnMut(&str) -> bool, is_last: bool) -> bool {
        let open = has_open_private_key(&self.held) && self.held.len() < KEY_BYTES_MAX;
        if open && !is_last {
            return true;
        }
        let text = std::mem::take(&mut self.held);
        let clean = self.redactor.redact(&text);
        clean.lines().all(each)
    }
}

fn push_line(text: &mut String, line: &BoundedLine<'_>) {
    match line {
        BoundedLine::Text(line) => text.push_str(line),
        BoundedLine::TooLong(bytes) => {
            text.push_str(&format!("[a line of {bytes} bytes is left out]"))
        }
    }
    text.push('\n');
}

/// Reads a file from an offset on, line by line, until no more is wanted.
fn read_lines(path: &Path, from: u64, each: &mut dyn FnMut(&str) -> bool) -> io::Result<()> {
    let mut file = input::open_file(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut lines = LineSplitter::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut wanted = true;
    let mut give = |line: BoundedLine<'_>| {
        let mut text = String::new();
        push_line(&mut text, &line);
        wanted = wanted && each(text.trim_end_matches('\n'));
    };
    loop {
        let got = match file.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            got => got?,
        };
        if got == 0 {
            lines.finish(&mut give);
            return Ok(());
        }
        lines.push(&chunk[..got], &mut give);
    }
}

/// The agent's last words in an attempt: the last thing that it said or, of a
/// program that prints plain text, the end of that. None where nothing is kept.
pub(super) fn last_words(session: &Session<'_>, row: &AttemptRow) -> Option<String> {
    let path = transcript_path(session, row).ok()?;
    let bytes = std::fs::metadata(&path).ok()?.len();
    let from = bytes.saturating_sub(LAST_BYTES);
    let mut parts = TranscriptParser::new(
        reader_of_attempt(session, row),
        TranscriptForm::Parts,
        row.started_at,
    );
    let (mut words, mut lines) = (None, Vec::new());
    let mut each = |part| {
        match part {
            TranscriptPart::Words { text } => words = Some(text),
            TranscriptPart::Line { text } => lines.push(text),
            TranscriptPart::Call { .. } | TranscriptPart::Result { .. } => {}
        }
        true
    };
    // Of a line whose beginning was left out nothing can be told.
    let mut is_whole = from == 0;
    read_lines(&path, from, &mut |line| {
        let wanted = !is_whole || parts.parse_line(line, &mut each);
        is_whole = true;
        wanted
    })
    .ok()?;
    parts.finish(&mut each);
    let text = words.unwrap_or_else(|| lines.join("\n"));
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(LAST_CHARS_MAX);
    let end: String = text.chars().skip(skipped).collect();
    (!end.is_empty()).then(|| {
        if skipped > 0 {
            format!("…{end}")
        } else {
            end
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_is_held_back_until_it_has_ended() {
        let begun = "words\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n";
        assert!(has_open_private_key(begun));
        assert!(!has_open_private_key(&format!(
            "{begun}-----END RSA PRIVATE KEY-----\n"
        )));
        assert!(!has_open_private_key("-----BEGIN CERTIFICATE-----\nMIIE\n"));
    }

    #[test]
    fn what_a_known_program_prints_is_read_as_words_calls_and_results() {
        for (name, recorded) in [
            (
                "claude",
                include_str!("../../tests/data/agents/claude/tools.jsonl"),
            ),
            (
                "codex",
                include_str!("../../tests/data/agents/codex/command-failed.jsonl"),
            ),
            (
                "gemini",
                include_str!("../../tests/data/agents/gemini/mcp-call.jsonl"),
            ),
        ] {
            let agent = Config::default().resolve_agent(name).expect("it is known");
            let mut parts = TranscriptParser::new(
                agent.output_reader(None),
                TranscriptForm::Parts,
                Timestamp::UNIX_EPOCH,
            );
            let mut found = Vec::new();
            for line in recorded.lines() {
                assert!(parts.parse_line(line, &mut |part| {
                    found.push(part);
                    true
                }));
            }
            let has = |is: fn(&TranscriptPart) -> bool| found.iter().any(is);
            assert!(
                has(|part| matches!(part, TranscriptPart::Words { .. })),
                "{name}"
            );
            assert!(
                has(|part| matches!(part, TranscriptPart::Call { .. })),
                "{name}"
            );
            assert!(
                has(|part| matches!(part, TranscriptPart::Result { .. })),
                "{name}"
            );
            assert!(
                !has(|part| matches!(part, TranscriptPart::Line { .. })),
                "{name}: {found:?}"
            );
        }
    }

    #[test]
    fn what_is_printed_beside_json_is_a_note() {
        assert!(is_note("Warning: no git"));
        assert!(!is_note("{\"type\":"));
        assert!(!is_note("  \"indented\": 1,"));
        assert!(!is_note(""));
    }
}
