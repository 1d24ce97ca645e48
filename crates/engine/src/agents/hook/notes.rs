//! The little that must outlive a hook's process: when a session began, how
//! often it was kept from stopping, and which session an attempt is.
//!
//! A register, in `.piton/hooks/`: overwritten in place, no part of the journal.
//! Losing it costs a question that is asked once more; what cannot be written
//! or read here never keeps anybody from stopping.

use crate::project::inside::{create_own_folder, open_own_file};
use crate::world::input;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use piton_core::AttemptId;
use serde::{Deserialize, Serialize};

/// So often at most is a session kept from stopping for one item.
pub const STOPS_MAX: u32 = 2;

/// A note that was not changed for so long belongs to no session any more.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// So many files are looked at when old ones are swept.
const SWEPT_MAX: usize = 1_000;

/// What is kept of one session.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SessionNote {
    /// When it began.
    since: Option<Timestamp>,
    /// How often it was kept from stopping, by item.
    #[serde(default)]
    stops: BTreeMap<String, u32>,
}

/// The notes of a project's sessions.
#[derive(Clone, Debug)]
pub struct SessionNotes {
    folder: PathBuf,
}

impl SessionNotes {
    /// Those that lie in `home`, that of the project.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        Self {
            folder: home.join("hooks"),
        }
    }

    /// Notes that a session begins now, and forgets what is old.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn begin_session(&self, session: &str, now: Timestamp) -> io::Result<()> {
        self.remove_old(now);
        self.update_session(session, |kept| kept.since = Some(now))
    }

    /// When a session began; none when that was not noted.
    #[must_use]
    pub fn session_start(&self, session: &str) -> Option<Timestamp> {
        let text = input::read_file(self.session_path(session)).ok()?;
        serde_json::from_slice::<SessionNote>(&text).ok()?.since
    }

    /// Whether a session may be kept from stopping for an item once more. If so
    /// it is counted, for good, before anybody is told.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written: it may not then.
    pub fn try_block_stop(&self, session: &str, item: &str) -> io::Result<bool> {
        let mut may = false;
        self.update_session(session, |kept| {
            let stops = kept.stops.entry(item.to_owned()).or_default();
            may = *stops < STOPS_MAX;
            *stops = stops.saturating_add(u32::from(may));
        })?;
        Ok(may)
    }

    /// Whether a session is the one that an attempt is. The first one that asks
    /// is: a session that the agent starts itself comes later, and inherits the
    /// mark of the attempt without holding its item.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written.
    pub fn try_claim_attempt(&self, attempt: AttemptId, session: &str) -> io::Result<bool> {
        let path = self.folder.join(format!("attempt-{attempt}"));
        create_own_folder(&self.folder)?;
        match open_own_file(&path, File::options().write(true).create_new(true)) {
            Ok(mut file) => {
                file.write_all(session.as_bytes())?;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(input::read_file(&path)? == session.as_bytes())
            }
            Err(error) => Err(error),
        }
    }

    fn session_path(&self, session: &str) -> PathBuf {
        self.folder.join(format!("session-{session}.json"))
    }

    /// Changes what is kept of a session, under its lock.
    fn update_session(
        &self,
        session: &str,
        change: impl FnOnce(&mut SessionNote),
    ) -> io::Result<()> {
        create_own_folder(&self.folder)?;
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = open_own_file(&self.session_path(session), options)?;
        file.lock()?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        // A note that is cut off counts as an error, and keeps no session from stopping.
        let mut kept: SessionNote = if text.is_empty() {
            SessionNote::default()
        } else {
            serde_json::from_slice(&text)?
        };
        change(&mut kept);
        // Blanks behind it, so that a shorter text covers a longer one.
        let mut new = serde_json::to_vec(&kept)?;
        new.resize(new.len().max(text.len()), b' ');
        file.rewind()?;
        file.write_all(&new)?;
        file.sync_data()
    }

    /// Takes away what is old. What cannot be is looked at again the next time.
    fn remove_old(&self, now: Timestamp) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        for entry in entries.flatten().take(SWEPT_MAX) {
            let touched = entry.metadata().and_then(|found| found.modified()).ok();
            let touched = touched.and_then(|time| Timestamp::try_from(time).ok());
            let is_old = touched.is_some_and(|time| now.duration_since(time) > KEPT);
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if is_old && (name.starts_with("session-") || name.starts_with("attempt-")) {
                fs::remove_file(entry.path()).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> (tempfile::TempDir, SessionNotes) {
        let folder = tempfile::tempdir().expect("a folder");
        let notes = SessionNotes::new(folder.path());
        (folder, notes)
    }

    #[test]
    fn a_session_is_kept_twice_for_an_item_and_no_oftener() {
        let (_folder, notes) = notes();
        let ask = |session, item| notes.try_block_stop(session, item).expect("written");
        let asked: Vec<bool> = (0..4).map(|_| ask("s", "keel")).collect();
        assert_eq!(asked, [true, true, false, false]);
        assert!(ask("s", "mast") && ask("t", "keel"));
    }

    #[test]
    fn the_first_session_is_that_of_the_attempt() {
        let (_folder, notes) = notes();
        let attempt = AttemptId(uuid::Uuid::from_u128(7));
        assert!(notes.try_claim_attempt(attempt, "s").expect("written"));
        assert!(!notes.try_claim_attempt(attempt, "t").expect("read"));
        assert!(notes.try_claim_attempt(attempt, "s").expect("read"));
    }

    #[test]
    fn truncated_notes_block_no_stop() {
        let (_folder, notes) = notes();
        notes.try_block_stop("s", "keel").expect("written");
        fs::write(notes.session_path("s"), "{\"stops").expect("written");
        assert!(notes.try_block_stop("s", "keel").is_err());
        assert_eq!(notes.session_start("s"), None);
    }

    #[test]
    fn a_session_begins_anew_and_is_still_counted() {
        let (_folder, notes) = notes();
        let at = |second| Timestamp::from_second(second).expect("a time");
        notes.begin_session("s", at(1)).expect("written");
        assert!(notes.try_block_stop("s", "keel").expect("written"));
        notes.begin_session("s", at(2)).expect("written");
        assert_eq!(notes.session_start("s"), Some(at(2)));
        assert!(notes.try_block_stop("s", "keel").expect("written"));
        assert!(!notes.try_block_stop("s", "keel").expect("written"));
    }
}
