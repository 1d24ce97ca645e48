//! What is known of a journal in a work tree, where `git clean -x` removes it.
//!
//! Older versions kept it there, and such a project goes on until `piton store move`. A
//! note in git's folder says that there is one, so that its loss is noticed. See
//! `docs/design/0052-where-the-store-lies.md`.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::inside::{HOME, write_own_file};
use super::{GIT_HOME, JOURNAL, Project, find_git};
use crate::caller::person;
use crate::failure::Failure;
use crate::world::World;
use crate::world::input;

/// The note, in git's folder beside where the home would be.
const NOTE: &str = "piton-journal";
/// The last acknowledged event, in the home: see `docs/formats/journal.md`.
const HEAD: &str = "journal.head";

/// What the note says.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct JournalNote {
    journal: PathBuf,
    /// How many events it had before the command that wrote the note.
    events: u64,
    seen: Timestamp,
    /// Whether a person was told where it lies.
    told: bool,
}

/// A journal that there was, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostJournal {
    journal: PathBuf,
    events: Option<u64>,
    seen: Option<Timestamp>,
}

#[derive(Deserialize)]
struct HeadLine {
    seq: u64,
}

/// The number of the last event that a store in this folder acknowledged.
fn read_head(home: &Path) -> Option<u64> {
    let text = input::read_file_text(home.join(HEAD)).ok()?;
    let line: HeadLine = serde_json::from_str(text.lines().next()?).ok()?;
    Some(line.seq)
}

/// Whether a journal lies in a home, where that can be told.
///
/// # Errors
///
/// `store.fault` where it cannot: what is there is no empty project.
pub(super) fn find_journal(home: &Path) -> Result<bool, Failure> {
    let journal = home.join(JOURNAL);
    let found = fs::metadata(&journal).and_then(|found| input::refuse_special(&found));
    let error = match found {
        Ok(()) => return Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => error,
    };
    // What is there and can be looked at is what is in the way.
    let is_there = |path: &&Path| fs::symlink_metadata(path).is_ok();
    let path = journal.ancestors().find(is_there).unwrap_or(&journal);
    let owner = fs::symlink_metadata(path).map(|found| person::login_of(found.uid()));
    let owner = owner.map_or_else(
        |_| String::new(),
        |owner| format!(", which belongs to {owner}"),
    );
    let message = format!("cannot read the journal: see {}{owner}", path.display());
    Err(Failure::new("store.fault", message)
        .with_hint("see what is there with `ls -ld`, and that you may read it; nothing new is begun beside it")
        .with_source(error))
}

/// Whether the home is that of a journal, or it cannot be told.
pub(super) fn may_hold_journal(home: &Path) -> bool {
    match fs::metadata(home.join(JOURNAL)) {
        Ok(found) => found.is_file(),
        // Settings alone need no folder of piton's: what is no folder holds no journal.
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

fn read_note(common: &Path) -> Option<JournalNote> {
    serde_json::from_slice(&input::read_file(common.join(NOTE)).ok()?).ok()
}

impl Project {
    /// The home in git's folder, which this project has or can have; none outside of git
    /// and for a project in a subfolder, which would share it with others.
    pub(crate) fn home_in_git(&self) -> Option<PathBuf> {
        if self.is_kept_by_git() {
            return Some(self.home.clone());
        }
        let git = find_git(&self.root).filter(|git| git.root == self.root)?;
        // Where git's own folder is not known, the home is in the work tree.
        (git.home.file_name()? == GIT_HOME).then_some(git.home)
    }

    /// Refuses a project that has a journal in its work tree and another one in git's
    /// folder, or in the main work tree beside this linked one: neither may count without
    /// a word.
    ///
    /// # Errors
    ///
    /// `store.two_journals`.
    pub(super) fn check_only_journal(&self) -> Result<(), Failure> {
        if self.is_kept_by_git() {
            return Ok(());
        }
        let git = find_git(&self.root).filter(|git| git.work_tree == self.root);
        let of_main = git
            .filter(|git| git.root != git.work_tree)
            .map(|git| [git.root.join(HOME), git.home]);
        let homes = self.home_in_git().into_iter();
        let mut others = homes
            .chain(of_main.into_iter().flatten())
            .map(|home| home.join(JOURNAL));
        match others.find(|other| other.is_file()) {
            Some(other) => Err(two_journals_failure(&self.home.join(JOURNAL), &other)),
            None => Ok(()),
        }
    }

    /// Notes that the journal lies in the work tree, for after its loss, and tells a
    /// person of it once.
    pub(crate) fn note_journal_in_tree(&self, world: &World) {
        if self.is_kept_by_git() {
            return;
        }
        let home = self.home_in_git();
        let Some(common) = home.as_deref().and_then(Path::parent) else {
            return;
        };
        let was_told = read_note(common).is_some_and(|note| note.told);
        let note = JournalNote {
            journal: self.home.join(JOURNAL),
            events: read_head(&self.home).unwrap_or_default(),
            seen: world.now(),
            told: was_told || world.agent().is_none(),
        };
        let text = serde_json::to_vec(&note).expect("the note has no map");
        // Where it cannot be written, a person would be told each time.
        let is_written = write_own_file(&common.join(NOTE), &text).is_ok();
        if is_written && note.told && !was_told {
            world.warn(format!(
                "the journal lies in {}, which `git clean -x` removes: `piton store move` moves it to {}",
                self.home.display(),
                common.join(GIT_HOME).display()
            ));
        }
    }

    /// Takes the note back: the journal lies in git's folder.
    pub(crate) fn forget_journal_in_tree(&self) {
        let home = self.home_in_git();
        let note = home
            .as_deref()
            .and_then(Path::parent)
            .map(|common| common.join(NOTE));
        drop(note.map(fs::remove_file));
    }

    /// The journal that this project had, where it has none now and something is known
    /// of a former one.
    pub(crate) fn find_lost_journal(&self) -> Option<LostJournal> {
        let common = self.home.parent().filter(|_| self.is_kept_by_git());
        let note = common.and_then(read_note).map(|note| LostJournal {
            journal: note.journal,
            events: Some(note.events),
            seen: Some(note.seen),
        });
        let of_head = |home: &Path| {
            let events = Some(read_head(home)?);
            let journal = home.join(JOURNAL);
            Some(LostJournal {
                journal,
                events,
                seen: None,
            })
        };
        // `piton store move` left a folder of that name.
        let was_moved = self.root.join(HOME).join(JOURNAL).is_dir();
        let moved = || {
            was_moved.then(|| LostJournal {
                journal: self.home.join(JOURNAL),
                events: None,
                seen: None,
            })
        };
        note.or_else(|| of_head(&self.home)).or_else(moved)
    }

    /// Refuses to go on where the journal that there was is gone.
    ///
    /// # Errors
    ///
    /// `store.lost`, or `store.gone` where it moved since the project was found.
    pub(crate) fn check_not_lost(&self, world: &World) -> Result<(), Failure> {
        let home = self.home_in_git().filter(|_| !self.is_kept_by_git());
        if let Some(home) = home.filter(|home| home.join(JOURNAL).is_file()) {
            return Err(Failure::new(
                "store.gone",
                format!("the journal moved to {} meanwhile", home.display()),
            )
            .with_hint("repeat the command"));
        }
        match self.find_lost_journal() {
            Some(lost) => Err(lost.failure(world)),
            None => Ok(()),
        }
    }
}

impl LostJournal {
    /// What is known of it, in a sentence.
    pub(crate) fn describe(&self, world: &World) -> String {
        let events = match self.events {
            None | Some(0) => String::new(),
            Some(1) => "; it had 1 event or more".to_owned(),
            Some(count) => format!("; it had {count} events or more"),
        };
        let seen = self
            .seen
            .map(|seen| format!(" on {}", world.local_time(seen)));
        format!(
            "the journal of this project is gone: {}{events}{}",
            self.journal.display(),
            seen.unwrap_or_default()
        )
    }

    fn failure(&self, world: &World) -> Failure {
        Failure::new("store.lost", self.describe(world)).with_hint(
            "bring a copy back in with `piton store restore FILE`; without one `piton init` begins a new journal, and `piton run PLAN` goes on from what the file of the plan shows as done. The work of a run in lanes is on a branch that `git branch --list 'piton/*'` names: merge that first",
        )
    }
}

/// There is a journal in the work tree and one in git's folder.
pub(crate) fn two_journals_failure(in_tree: &Path, in_git: &Path) -> Failure {
    Failure::new(
        "store.two_journals",
        format!(
            "this project has two journals, {} and {}",
            in_tree.display(),
            in_git.display()
        ),
    )
    .with_hint("`piton store move` ends a move that was interrupted, and else says what is in each")
}
