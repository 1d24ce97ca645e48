//! The file of a plan, kept up to date beside the journal.
//!
//! The file is a view: losing it loses nothing. What somebody else wrote into
//! it is taken in before it is written again, as edits by that file. What
//! cannot be taken in is asked about, and the file stays as it is until then.
//!
//! A runner and the commands of people write the same file. Who writes holds
//! the lock of its stamp, and whoever knows less of the run than was written
//! already writes nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use piton_core::{
    Actor, Command, DecisionRow, Facts, HolderKnown, Need, RunId, RunRow, StreamId, Tables, Verb,
};
use piton_formats::plan_file::PlanFile;
use piton_store::Store as _;

use crate::exchange::sync_folder;
use crate::faces::in_lines;
use crate::fail;
use crate::failure::Failure;
use crate::keeper::{Keeper, Present, Put, StampIs};
use crate::session::Session;

/// Up to this size a file follows every change at once.
const SMALL_BYTES: usize = 256 << 10;
/// A larger one follows so much time after the last write, or ten times what that took.
const PAUSE_MIN: SignedDuration = SignedDuration::from_millis(300);
/// The one stream that the file of a plan shows.
const STREAM: &str = "run";
/// How long a file is left to whoever may be in the middle of writing it.
const READ_PAUSE: std::time::Duration = std::time::Duration::from_millis(40);

/// The mirror of one run.
#[derive(Debug)]
pub struct Mirror {
    run: RunId,
    /// The file, relative to the project.
    path: String,
    keeper: Keeper,
    plan: PlanFile,
    bytes: usize,
    written_at: Option<Timestamp>,
    took: SignedDuration,
    behind: bool,
    /// The text that piton wrote last without looking at what was there.
    plain: Option<String>,
    /// The last trouble that somebody was told of.
    told: Option<Trouble>,
}

/// What a write came to that somebody should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Somebody else changed the file in a way that cannot be taken in.
    Asked {
        /// The file.
        file: String,
    },
    /// The file could not be written.
    Unwritable {
        /// The file.
        target: PathBuf,
        /// Why.
        why: String,
    },
}

impl Trouble {
    /// Whether it is the same trouble again. Why a file cannot be written may
    /// be said in other words each time: with the name of a temporary file.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unwritable { target, .. }, Self::Unwritable { target: other, .. }) => {
                target == other
            }
            (Self::Asked { .. } | Self::Unwritable { .. }, _) => self == other,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked { file } => write!(
                f,
                "{file} was changed in a way that cannot be taken in, and is left as it is; see `piton inbox`"
            ),
            Self::Unwritable { target, why } => {
                write!(f, "{} is not kept up to date: {why}", target.display())
            }
        }
    }
}

/// What came of looking at the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Events were stored that the caller does not know.
    pub taken: bool,
    /// What somebody should be told.
    pub said: Vec<String>,
}

/// What piton wrote of the file of a run: where that is kept.
fn key(run: RunId) -> String {
    run.to_string()
}

/// Notes that the file of a run is this, which was taken in: it may be replaced.
///
/// # Errors
///
/// When the stamp cannot be kept.
pub fn adopt(home: &Path, run: RunId, target: &Path, present: &[u8]) -> io::Result<()> {
    let mut keeper = Keeper::open(home, &key(run), target, StampIs::Flushed)?;
    keeper.locked(|keeper| keeper.accept(present))
}

impl Mirror {
    /// The mirror of a run; none for a run without a file.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn open(session: &Session<'_>, row: &RunRow, tables: &Tables) -> io::Result<Option<Self>> {
        let (Some(plan), Some(path)) = (PlanFile::of(tables, row.id), PlanFile::path(row)) else {
            return Ok(None);
        };
        let target = session.project.absolute(&path);
        let home = &session.project.home;
        Ok(Some(Self {
            run: row.id,
            path,
            keeper: Keeper::open(home, &key(row.id), &target, StampIs::Flushed)?,
            plan,
            bytes: 0,
            written_at: None,
            took: SignedDuration::ZERO,
            behind: true,
            plain: None,
            told: None,
        }))
    }

    /// The file.
    #[must_use]
    pub fn target(&self) -> &Path {
        self.keeper.target()
    }

    /// Whether piton has written the file, or taken it over, before.
    #[must_use]
    pub fn was_written(&self) -> bool {
        !self.keeper.stamp().is_new()
    }

    /// Takes away what a crash in the middle of a write left beside the file.
    ///
    /// To be called when no other run keeps this file up to date.
    /// What came out of an exchange and is not piton's is put back: that is
    /// what the dead was about to do.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read, or something in it cannot be removed.
    pub fn tidy(&mut self) -> io::Result<()> {
        self.keeper.locked(|keeper| {
            keeper.put_back_left()?;
            // A version that nobody put back is somebody's: it stays.
            keeper.tidy(|_| Ok::<_, io::Error>(false))
        })
    }

    /// Notes that the run has changed.
    pub fn mark(&mut self) {
        self.behind = true;
    }

    /// Tells how long the last write took, so that large files follow slower.
    pub fn took(&mut self, time: SignedDuration) {
        self.took = time;
    }

    /// Whether its time has come: a small file follows every change.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        if self.bytes <= SMALL_BYTES {
            return true;
        }
        let pause = PAUSE_MIN.max(self.took.saturating_mul(10));
        self.written_at
            .is_none_or(|last| now.duration_since(last) >= pause)
    }

    /// Takes in what somebody else wrote into the file, if anybody did.
    /// `token` is that of the runner that asks.
    ///
    /// # Errors
    ///
    /// When the store fails. What cannot be read or taken in is asked about.
    pub fn look(
        &mut self,
        session: &Session<'_>,
        tables: &Tables,
        token: Option<u64>,
    ) -> Result<Looked, Failure> {
        if self.keeper.has_left() {
            let tidied = self.tidy();
            tidied.map_err(|error| Failure::new("file.unwritable", error.to_string()))?;
        }
        if !self.keeper.may_be_foreign() {
            return Ok(Looked::default());
        }
        let Self {
            keeper,
            plan,
            path,
            run,
            ..
        } = self;
        let taking = Taking {
            session,
            tables,
            run: *run,
            path,
            token,
        };
        let looked = keeper.locked(|keeper| taking.look(keeper, plan));
        if looked.as_ref().is_ok_and(|looked| looked.taken) {
            self.behind = true;
            self.plain = None;
        }
        looked.map_err(|Stopped(failure)| failure)
    }

    /// Writes the file if it is behind and its time has come. `tables` know
    /// the events of the run up to `position`.
    pub fn follow(&mut self, tables: &Tables, position: u64, now: Timestamp) -> Option<Trouble> {
        if !self.behind || !self.is_due(now) {
            return None;
        }
        self.write(tables, position, now)
    }

    /// Writes the file now, whatever its size: at a stop, or as a heartbeat.
    /// What somebody else wrote in the meantime stays, to be looked at first.
    pub fn write(&mut self, tables: &Tables, position: u64, now: Timestamp) -> Option<Trouble> {
        if self.is_asked(tables) {
            let file = self.path.clone();
            return self.news(Trouble::Asked { file });
        }
        let trouble = match self.put(tables, position, now) {
            Ok(put) => {
                self.behind = put == Put::Overtaken;
                None
            }
            Err(error) => Some(Trouble::Unwritable {
                target: self.keeper.target().to_owned(),
                why: error.to_string(),
            }),
        };
        self.written_at = Some(now);
        self.news(trouble?)
    }

    /// Whether a person is asked what is to become of the file.
    fn is_asked(&self, tables: &Tables) -> bool {
        tables
            .open_decisions(self.run)
            .any(|row| row.file.as_deref() == Some(&self.path))
    }

    /// The trouble, unless it is what was told last.
    fn news(&mut self, trouble: Trouble) -> Option<Trouble> {
        if self
            .told
            .as_ref()
            .is_some_and(|told| told.is_like(&trouble))
        {
            return None;
        }
        self.told = Some(trouble.clone());
        Some(trouble)
    }

    /// Puts the text into the file, unless what is there knows more of the run.
    fn put(&mut self, tables: &Tables, position: u64, now: Timestamp) -> io::Result<Put> {
        let Self {
            keeper,
            plan,
            plain,
            bytes,
            ..
        } = self;
        keeper.locked(|keeper| {
            let written = keeper.stamp().positions.get(STREAM).copied().unwrap_or(0);
            if written > position {
                return Ok(Put::Done);
            }
            let present = match keeper.present()? {
                Present::Foreign(_) => return Ok(Put::Overtaken),
                Present::Missing => keeper.base(),
                Present::Special => None,
                Present::Ours => Some(fs::read_to_string(keeper.target())?),
            };
            // What piton wrote in its own style is written anew, which is faster
            // than to change it in place, and comes to the same.
            let in_place = present
                .as_deref()
                .filter(|text| plain.as_deref() != Some(*text));
            let shown = plan.show(in_place, tables, now).map_err(io::Error::other)?;
            let Some(text) = shown else {
                return Ok(Put::Done);
            };
            *bytes = text.len();
            let is_plain = in_place.is_none()
                || plan.show(None, tables, now).ok().flatten().as_ref() == Some(&text);
            if present.as_ref() == Some(&text) && keeper.target().is_file() {
                *plain = is_plain.then_some(text);
                return Ok(Put::Done);
            }
            let positions = BTreeMap::from([(STREAM.to_owned(), position)]);
            let put = keeper.put(text.as_bytes(), positions, None)?;
            // What came out went back into its place, and is looked at there.
            drop(keeper.take_displaced());
            *plain = (is_plain && put == Put::Done).then_some(text);
            Ok(put)
        })
    }
}

/// Carries out what a person decided about the file of a run.
///
/// # Errors
///
/// When what was decided does not fit the file, or it cannot be written.
pub(crate) fn decide(session: &Session<'_>, row: &DecisionRow, verb: Verb) -> Result<(), Failure> {
    let run = row.run;
    let position = session.store.position(&StreamId::run(run))?;
    let needs = [
        Need::Run(run),
        Need::Tree(run),
        Need::OpenDecisions(Some(run)),
    ];
    let rows = session.load(&needs)?;
    let tables = &rows.tables;
    let opened = match tables.run(run) {
        Some(row) => Mirror::open(session, row, tables),
        None => Ok(None),
    };
    let unwritable = |error: &io::Error| Failure::new("file.unwritable", error.to_string());
    let Some(mut mirror) = opened.map_err(|error| unwritable(&error))? else {
        return Ok(());
    };
    let Mirror {
        keeper, plan, path, ..
    } = &mut mirror;
    let taking = Taking {
        session,
        tables,
        run,
        path,
        token: None,
    };
    let decided = keeper.locked(|keeper| taking.decided(keeper, plan, verb, position));
    decided.map_err(|Stopped(failure)| failure)
}

/// What ended the taking in of a file.
struct Stopped(Failure);

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self(Failure::new("file.unreadable", error.to_string()))
    }
}

/// The file of a plan being taken in.
struct Taking<'a, 's, 'w> {
    session: &'a Session<'s>,
    tables: &'a Tables,
    run: RunId,
    path: &'w str,
    token: Option<u64>,
}

impl Taking<'_, '_, '_> {
    fn look(&self, keeper: &mut Keeper, plan: &mut PlanFile) -> Result<Looked, Stopped> {
        let Present::Foreign(mut bytes) = keeper.present()? else {
            return Ok(Looked::default());
        };
        let base = keeper.base();
        let mut changed = self.changed(plan, base.as_deref(), &bytes);
        if changed.is_err() {
            // Somebody may be in the middle of writing it.
            self.session.world.pause(READ_PAUSE);
            let Present::Foreign(again) = keeper.present()? else {
                return Ok(Looked::default());
            };
            bytes = again;
            changed = self.changed(plan, base.as_deref(), &bytes);
        }
        match changed {
            Ok(changed) => self.take(keeper, plan, &bytes, changed),
            Err(problems) => self.ask(&problems),
        }
    }

    fn changed(
        &self,
        plan: &mut PlanFile,
        base: Option<&str>,
        bytes: &[u8],
    ) -> Result<piton_formats::plan_file::Changed, Vec<piton_formats::problem::Problem>> {
        let Ok(theirs) = std::str::from_utf8(bytes) else {
            return Err(vec![crate::faces::not_utf8(self.path, bytes)]);
        };
        let now = self.session.world.now();
        plan.edits(self.path, base, theirs, self.tables, self.run, now)
    }

    fn facts(&self) -> Facts {
        Facts {
            actor: Actor::File(self.path.to_owned()),
            ..self.session.world.facts(self.holder())
        }
    }

    fn holder(&self) -> HolderKnown {
        match self.token {
            Some(_) => HolderKnown::Alive,
            None => self
                .session
                .holder(self.run)
                .unwrap_or(HolderKnown::Nothing),
        }
    }

    fn take(
        &self,
        keeper: &mut Keeper,
        plan: &mut PlanFile,
        bytes: &[u8],
        changed: piton_formats::plan_file::Changed,
    ) -> Result<Looked, Stopped> {
        let mut said: Vec<String> = changed.problems.iter().map(ToString::to_string).collect();
        let edits = changed.edits.len();
        let command = Command::TakeEdits {
            run: self.run,
            token: self.token,
            file: self.path.to_owned(),
            edits: changed.edits,
        };
        let committed = self
            .session
            .commit(&command, &self.facts())
            .map_err(|error| Stopped(error.into()))?;
        fail::point("mirror.edits-taken");
        let asked = self
            .session
            .is_asked_about(self.run, self.path)
            .map_err(Stopped)?;
        if asked {
            self.rebase(keeper, plan, bytes)?;
        } else {
            keeper.accept(bytes)?;
        }
        if edits > 0 {
            let edits = if edits == 1 {
                "1 edit".to_owned()
            } else {
                format!("{edits} edits")
            };
            said.insert(0, format!("took {edits} of {} in", self.path));
        }
        Ok(Looked {
            taken: !committed.events.is_empty(),
            said,
        })
    }

    /// What was taken in is the run's now; what was not still differs from it.
    fn rebase(
        &self,
        keeper: &mut Keeper,
        plan: &mut PlanFile,
        bytes: &[u8],
    ) -> Result<(), Stopped> {
        let needs = [Need::Run(self.run), Need::Tree(self.run)];
        let rows = self.session.load(&needs).map_err(Stopped)?;
        let theirs = std::str::from_utf8(bytes).ok();
        let shown = plan.show(theirs, &rows.tables, self.session.world.now());
        if let Ok(Some(own)) = shown {
            keeper.rebase(own.as_bytes())?;
        }
        Ok(())
    }

    fn ask(&self, problems: &[piton_formats::problem::Problem]) -> Result<Looked, Stopped> {
        let command = Command::AskAboutFile {
            run: self.run,
            path: self.path.to_owned(),
            question: format!("`{}` cannot be read: which version holds?", self.path),
            details: Some(in_lines(problems)),
        };
        let committed = self
            .session
            .commit(&command, &self.facts())
            .map_err(|error| Stopped(error.into()))?;
        Ok(Looked {
            taken: !committed.events.is_empty(),
            said: Vec::new(),
        })
    }
}

impl Taking<'_, '_, '_> {
    fn decided(
        &self,
        keeper: &mut Keeper,
        plan: &mut PlanFile,
        verb: Verb,
        position: u64,
    ) -> Result<(), Stopped> {
        let Ok(bytes) = fs::read(keeper.target()) else {
            // It was taken away: there is nothing to keep.
            return Ok(());
        };
        let changed = self.changed(plan, keeper.base().as_deref(), &bytes);
        match (verb, changed) {
            (Verb::KeepPiton, _) => self.put_own(keeper, plan, &bytes, position),
            (Verb::Merge, Ok(changed)) => {
                self.keep_beside(keeper)?;
                self.take(keeper, plan, &bytes, changed)?;
                Ok(keeper.accept(&bytes)?)
            }
            (Verb::KeepFile, Ok(changed)) => {
                self.take(keeper, plan, &bytes, changed)?;
                self.refuse_rest()
            }
            (_, Err(problems)) => Err(Stopped(
                Failure::new(
                    "file.conflict",
                    format!("{} cannot be read: {}", self.path, in_lines(&problems)),
                )
                .hint("mend the file, or decide `keep-piton`: its present contents are kept beside it"),
            )),
            (_, Ok(_)) => Ok(()),
        }
    }

    /// What still does not fit cannot be kept.
    fn refuse_rest(&self) -> Result<(), Stopped> {
        let needs = [Need::OpenDecisions(Some(self.run))];
        let rows = self.session.load(&needs).map_err(Stopped)?;
        let mut open = rows.tables.open_decisions(self.run);
        let Some(asked) = open.find(|row| row.file.as_deref() == Some(self.path)) else {
            return Ok(());
        };
        let why = asked.details.clone().unwrap_or_default();
        Err(Stopped(
            Failure::new(
                "file.conflict",
                format!("{} does not fit the run: {why}", self.path),
            )
            .hint("change the file, or decide `merge` or `keep-piton`"),
        ))
    }

    /// What gives way is kept beside, under a name with the time.
    fn keep_beside(&self, keeper: &Keeper) -> io::Result<()> {
        let time = self.session.world.now().strftime("%Y%m%dT%H%M%SZ");
        keep_copy(keeper.target(), &format!("before-piton-{time}")).map(drop)
    }

    /// Writes the file as the journal has it; what was there is kept beside.
    fn put_own(
        &self,
        keeper: &mut Keeper,
        plan: &mut PlanFile,
        bytes: &[u8],
        position: u64,
    ) -> Result<(), Stopped> {
        let now = self.session.world.now();
        self.keep_beside(keeper)?;
        let shown = plan
            .show(keeper.base().as_deref(), self.tables, now)
            .map_err(io::Error::other)?;
        keeper.accept(bytes)?;
        if let Some(text) = shown {
            let positions = BTreeMap::from([(STREAM.to_owned(), position)]);
            keeper.put(text.as_bytes(), positions, None)?;
        }
        Ok(())
    }
}

/// Keeps a copy of a file beside it under a name that is not taken:
/// `NAME.SUFFIX`, `NAME.SUFFIX.2` and so on. One that is there already is enough.
///
/// # Errors
///
/// When it cannot be read or the copy cannot be written.
pub fn keep_copy(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    let bytes = fs::read(path)?;
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for nth in 1_u32.. {
        let number = if nth == 1 {
            String::new()
        } else {
            format!(".{nth}")
        };
        let copy = path.with_file_name(format!("{name}.{suffix}{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&copy) {
            Ok(mut file) => {
                fail::point("run.copy-made");
                file.write_all(&bytes)?;
                file.sync_all()?;
                sync_folder(path.parent().unwrap_or(Path::new(".")))?;
                return Ok(copy);
            }
            // Of a crash since: there is a copy already.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::read(&copy).is_ok_and(|there| there == bytes) {
                    return Ok(copy);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
