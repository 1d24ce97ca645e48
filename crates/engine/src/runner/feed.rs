//! What an agent prints, read by its adapter while it works.
//!
//! The file grows, and what was added is read from where the last look ended.
//! A runner that comes after a crash reads it once more from its beginning.
//! What the program does not say of its usage is read from its session files.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use piton_core::attempt::{Conversation, Usage};
use piton_core::call::{AttemptActivity, first_line_said};
use piton_core::redact::Redactor;
use piton_core::standstill::{IdleTracker, StandstillBounds};
use piton_core::stuck::LoopDetector;

use crate::agents::answer::ProgramEnd;
use crate::agents::lines::{BoundedLine, LineSplitter};
use crate::agents::session_file::{RecordedUsage, SessionReader, SessionScope};
use crate::agents::{AgentOutputReader, AgentResult, OutputEvent, SessionFiles};
use crate::world::input;

/// How much is read at one look, so that the runner looks up from it in time.
const LOOK_BYTES_MAX: usize = 4 << 20;
/// How much is asked for at once.
const CHUNK_BYTES: usize = 256 << 10;

/// How often session files are looked at while an agent works.
const SESSION_PAUSE: SignedDuration = SignedDuration::from_secs(3);

/// Where an agent program records what the attempt uses.
pub(super) struct SessionSource {
    pub(super) files: SessionFiles,
    /// The id of its conversation, where it is known before it is printed.
    pub(super) conversation: Option<String>,
    /// Which part of the conversation the attempt is.
    pub(super) part: SessionScope,
}

/// What an agent prints.
pub(super) struct AgentFeed {
    path: PathBuf,
    file: Option<File>,
    lines: LineSplitter,
    reader: AgentOutputReader,
    chunk: Vec<u8>,
    live: LiveAgentState,
    session: Option<SessionSource>,
    session_reader: Option<SessionReader>,
    session_at: Option<Timestamp>,
    recorded: RecordedUsage,
}

/// What is known of an agent while it works.
struct LiveAgentState {
    activity: AttemptActivity,
    circles: LoopDetector,
    used: Usage,
    is_news: bool,
    conversation: Option<String>,
    /// Why it goes in circles, the first time that it did.
    circling: Option<String>,
    /// What it did since it last changed something; none before its first call.
    since_change: Option<IdleTracker>,
    /// What it does, or did last: a call or the first line of its words, redacted.
    latest: Option<String>,
    /// What it said last, as long as that was not looked through for secrets: once for
    /// all that is read at once, however many lines it is.
    said: Option<String>,
    redactor: Redactor,
}

/// What an agent came to, when it has ended.
pub(super) struct FeedOutcome {
    pub(super) said: AgentResult,
    pub(super) activity: AttemptActivity,
}

impl AgentFeed {
    /// Of the file that is at `path`, or will be.
    pub(super) fn new(
        path: PathBuf,
        reader: AgentOutputReader,
        circles: LoopDetector,
        redactor: Redactor,
    ) -> Self {
        Self {
            path,
            file: None,
            lines: LineSplitter::new(),
            reader,
            chunk: vec![0; CHUNK_BYTES],
            live: LiveAgentState {
                activity: AttemptActivity::default(),
                circles,
                used: Usage::default(),
                is_news: false,
                conversation: None,
                circling: None,
                since_change: None,
                latest: None,
                said: None,
                redactor,
            },
            session: None,
            session_reader: None,
            session_at: None,
            recorded: RecordedUsage::default(),
        }
    }

    /// The same, with what the program records itself.
    pub(super) fn with_session(self, session: Option<SessionSource>) -> Self {
        Self { session, ..self }
    }

    /// Reads what was added, or a part of it; whether there is more.
    pub(super) fn read_added(&mut self, now: Timestamp) -> io::Result<bool> {
        let mut read = 0;
        while read < LOOK_BYTES_MAX {
            let got = self.read_chunk(now)?;
            if got == 0 {
                return Ok(false);
            }
            read += got;
        }
        Ok(true)
    }

    fn read_chunk(&mut self, now: Timestamp) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = match input::open_file(&self.path) {
                Ok(file) => Some(file),
                // It is made when the program starts.
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
                Err(error) => return Err(error),
            };
        }
        let Some(file) = &mut self.file else {
            return Ok(0);
        };
        let got = match file.read(&mut self.chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(1),
            got => got?,
        };
        let (reader, live) = (&mut self.reader, &mut self.live);
        self.lines.push(&self.chunk[..got], |line| {
            live.parse_line(reader, &line, now);
        });
        if let Some(words) = live.said.take() {
            let said = first_line_said(&words, &live.redactor);
            live.latest = said.or(live.latest.take());
        }
        if let Some(call) = self.reader.open_call().filter(|_| got > 0) {
            let call = call.clone().redact(&self.live.redactor);
            self.live.latest = Some(call.describe());
        }
        Ok(got)
    }

    /// What the agent does now, or did last, in one line: a call that is under way, else
    /// the last call or the last words.
    pub(super) fn activity(&self) -> Option<&str> {
        self.live.latest.as_deref()
    }

    /// Why the agent goes in circles, if it does.
    pub(super) fn loop_reason(&self) -> Option<&str> {
        self.live.circling.as_deref()
    }

    /// Why it makes no progress, as far as its calls show.
    pub(super) fn standstill_reason(
        &self,
        bounds: StandstillBounds,
        now: Timestamp,
    ) -> Option<String> {
        self.live.since_change?.describe_standstill(bounds, now)
    }

    /// Something changed that its calls did not show.
    pub(super) fn record_change(&mut self, now: Timestamp) {
        self.live.since_change = Some(IdleTracker::new(now));
    }

    /// Whether the program is about to end by itself.
    pub(super) fn is_ending(&self) -> bool {
        self.reader.is_finished()
    }

    /// Reads what the program has recorded of its usage, not more often than is
    /// worth it.
    pub(super) fn read_session(&mut self, now: Timestamp) {
        let is_due = self
            .session_at
            .is_none_or(|last| now.duration_since(last) >= SESSION_PAUSE);
        if !is_due {
            return;
        }
        self.session_at = Some(now);
        self.open_session();
        if let Some(reader) = &mut self.session_reader {
            let recorded = reader.poll_usage();
            self.live.is_news |= recorded != self.recorded;
            self.recorded = recorded;
        }
    }

    fn open_session(&mut self) {
        if self.session_reader.is_some() {
            return;
        }
        let Some(session) = &self.session else {
            return;
        };
        let id = self.live.conversation.as_ref();
        let id = id.or(session.conversation.as_ref());
        self.session_reader = id.and_then(|id| session.files.open(id, &session.part));
    }

    /// What it has used at least, if more is known than was asked for last: all
    /// in all, and by model.
    pub(super) fn drain_new_usage(&mut self) -> Option<AgentResult> {
        std::mem::take(&mut self.live.is_news).then(|| AgentResult {
            usage: self.live.used.max_of_bounds(&self.recorded.usage),
            models: self.recorded.models.clone(),
            ..AgentResult::default()
        })
    }

    /// Reads the rest, when no process writes any more.
    pub(super) fn read_to_end(
        mut self,
        ended: &ProgramEnd,
        now: Timestamp,
    ) -> io::Result<FeedOutcome> {
        while self.read_added(now)? {}
        let (reader, live) = (&mut self.reader, &mut self.live);
        self.lines
            .finish(|line| live.parse_line(reader, &line, now));
        self.open_session();
        let mut said = self.reader.finish(ended);
        if said.usage.is_unknown() {
            said.usage = self.live.used;
        }
        if !said.has_total || said.models.is_empty() {
            let reader = self.session_reader.take();
            let recorded = reader.map(SessionReader::finish).unwrap_or_default();
            merge_recorded_usage(&mut said, recorded);
        }
        let mut activity = self.live.activity;
        activity.denied = activity.denied.max(said.denied);
        if said.conversation.is_none() {
            said.conversation = self.live.conversation.map(|id| Conversation {
                id,
                ..Conversation::default()
            });
        }
        Ok(FeedOutcome { said, activity })
    }
}

/// Adds what a program recorded to what it said: nothing of it twice.
fn merge_recorded_usage(said: &mut AgentResult, recorded: RecordedUsage) {
    if said.has_total {
        // All that is missing is which model it was.
        let mut models = recorded.models;
        if let [usage] = models.values_mut().collect::<Vec<_>>().as_mut_slice() {
            **usage = said.usage.clone();
        }
        said.models = models;
        return;
    }
    said.usage = said.usage.max_of_bounds(&recorded.usage);
    for (model, used) in recorded.models {
        let sum = said.models.entry(model).or_default();
        *sum = sum.max_of_bounds(&used);
    }
    if let Some(conversation) = &mut said.conversation {
        conversation.total = match (conversation.total.take(), recorded.total) {
            (Some(said), Some(recorded)) => Some(said.max_of_bounds(&recorded)),
            (said, recorded) => said.or(recorded),
        };
    }
}

impl LiveAgentState {
    fn parse_line(
        &mut self,
        reader: &mut AgentOutputReader,
        line: &BoundedLine<'_>,
        now: Timestamp,
    ) {
        let seen = match line {
            BoundedLine::Text(text) => reader.parse_line(text, now),
            BoundedLine::TooLong(_) => vec![OutputEvent::Unknown],
        };
        for seen in seen {
            self.record_seen(seen, now);
        }
    }

    fn record_seen(&mut self, seen: OutputEvent, now: Timestamp) {
        match seen {
            OutputEvent::Conversation(id) => self.conversation = Some(id),
            OutputEvent::Called(call) => {
                let call = call.redact(&self.redactor);
                let since = self.since_change.get_or_insert(IdleTracker::new(now));
                since.count_call(&call, now);
                let circling = self.circles.record_call(&call, now);
                self.circling = self.circling.take().or(circling);
                self.latest = Some(call.describe());
                self.said = None;
                self.activity.add_call(call);
            }
            OutputEvent::Said(words) => {
                let circling = self.circles.record_message(&words);
                self.circling = self.circling.take().or(circling);
                self.said = Some(words);
            }
            OutputEvent::Used(used) => {
                self.is_news |= self.used != used;
                self.used = used;
            }
            OutputEvent::Returned(_) | OutputEvent::Refused(_) => {}
            OutputEvent::Unknown => {
                self.activity.unknown_lines = self.activity.unknown_lines.saturating_add(1);
            }
        }
    }
}
