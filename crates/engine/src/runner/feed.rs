//! What an agent prints, read by its adapter while it works.
//!
//! The file grows, and what was added is read from where the last look ended.
//! A runner that comes after a crash reads it once more from its beginning.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::PathBuf;

use jiff::Timestamp;
use piton_core::attempt::{Conversation, Usage};
use piton_core::call::Activity;
use piton_core::redact::Redactor;
use piton_core::stuck::Circles;

use crate::agents::lines::{Line, Lines};
use crate::agents::{Reader, Said, Seen};
use crate::answer::Ended;

/// How much is read at one look, so that the runner looks up from it in time.
const LOOK_BYTES_MAX: usize = 4 << 20;
/// How much is asked for at once.
const CHUNK_BYTES: usize = 256 << 10;

/// What an agent prints.
pub(super) struct Feed {
    path: PathBuf,
    file: Option<File>,
    lines: Lines,
    reader: Box<dyn Reader>,
    chunk: Vec<u8>,
    live: Live,
}

/// What is known of an agent while it works.
struct Live {
    activity: Activity,
    circles: Circles,
    used: Usage,
    is_news: bool,
    conversation: Option<String>,
    /// Why it goes in circles, the first time that it did.
    circling: Option<String>,
    redactor: Redactor,
}

/// What an agent came to, when it has ended.
pub(super) struct Fed {
    pub(super) said: Said,
    pub(super) activity: Activity,
}

impl Feed {
    /// Of the file that is at `path`, or will be.
    pub(super) fn new(
        path: PathBuf,
        reader: Box<dyn Reader>,
        circles: Circles,
        redactor: Redactor,
    ) -> Self {
        Self {
            path,
            file: None,
            lines: Lines::new(),
            reader,
            chunk: vec![0; CHUNK_BYTES],
            live: Live {
                activity: Activity::default(),
                circles,
                used: Usage::default(),
                is_news: false,
                conversation: None,
                circling: None,
                redactor,
            },
        }
    }

    /// Reads what was added, or a part of it; whether there is more.
    pub(super) fn follow(&mut self, now: Timestamp) -> io::Result<bool> {
        let mut read = 0;
        while read < LOOK_BYTES_MAX {
            let got = self.read(now)?;
            if got == 0 {
                return Ok(false);
            }
            read += got;
        }
        Ok(true)
    }

    fn read(&mut self, now: Timestamp) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = match File::open(&self.path) {
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
            live.take(reader.as_mut(), &line, now);
        });
        Ok(got)
    }

    /// Why the agent goes in circles, if it does.
    pub(super) fn circling(&self) -> Option<&str> {
        self.live.circling.as_deref()
    }

    /// Whether the program is about to end by itself.
    pub(super) fn is_over(&self) -> bool {
        self.reader.is_over()
    }

    /// What it has used at least, if more is known than was asked for last.
    pub(super) fn news_of_use(&mut self) -> Option<Usage> {
        std::mem::take(&mut self.live.is_news).then(|| self.live.used.clone())
    }

    /// Reads the rest, when nobody writes any more.
    pub(super) fn end(mut self, ended: &Ended, now: Timestamp) -> io::Result<Fed> {
        while self.follow(now)? {}
        let (reader, live) = (&mut self.reader, &mut self.live);
        self.lines
            .finish(|line| live.take(reader.as_mut(), &line, now));
        let mut said = self.reader.end(ended);
        if said.usage.is_unknown() {
            said.usage = self.live.used;
        }
        let mut activity = self.live.activity;
        activity.denied = activity.denied.max(said.denied);
        if said.conversation.is_none() {
            said.conversation = self.live.conversation.map(|id| Conversation {
                id,
                ..Conversation::default()
            });
        }
        Ok(Fed { said, activity })
    }
}

impl Live {
    fn take(&mut self, reader: &mut dyn Reader, line: &Line<'_>, now: Timestamp) {
        let seen = match line {
            Line::Text(text) => reader.line(text, now),
            Line::TooLong(_) => vec![Seen::Unknown],
        };
        for seen in seen {
            self.see(seen, now);
        }
    }

    fn see(&mut self, seen: Seen, now: Timestamp) {
        match seen {
            Seen::Conversation(id) => self.conversation = Some(id),
            Seen::Called(call) => {
                let call = call.redacted(&self.redactor);
                let circling = self.circles.called(&call, now);
                self.circling = self.circling.take().or(circling);
                self.activity.add(call);
            }
            Seen::Said(words) => {
                let circling = self.circles.said(&words);
                self.circling = self.circling.take().or(circling);
            }
            Seen::Used(used) => {
                self.is_news |= self.used != used;
                self.used = used;
            }
            Seen::Returned(_) | Seen::Refused(_) => {}
            Seen::Unknown => {
                self.activity.unknown_lines = self.activity.unknown_lines.saturating_add(1);
            }
        }
    }
}
