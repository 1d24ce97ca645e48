//! `piton hook install` and `uninstall`: the settings of agent programs.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use piton_formats::agent_hooks::{CannotHook, install, uninstall};
use piton_formats::line_diff::line_diff;

use crate::exchange;
use crate::failure::{Failure, unreadable, unwritable};
use crate::hook::settings::{Program, Whose, piton};
use crate::input;
use crate::world::World;

/// What is to be done with the hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// They are to be there.
    Install,
    /// They are to be gone.
    Uninstall,
}

/// What would be done to the settings of a program. Nothing is done yet.
#[derive(Clone, Debug)]
pub struct Change {
    /// The program.
    pub program: Program,
    /// The file, as it was named, and as it is where a link leads.
    pub file: PathBuf,
    target: PathBuf,
    old: Option<String>,
    new: Option<String>,
    /// The change, for people, secrets taken out.
    pub shown: String,
}

impl Change {
    /// Whether there is anything to do.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.old != self.new
    }

    /// Whether the file goes: it is as `install` made it.
    #[must_use]
    pub fn removes(&self) -> bool {
        self.old.is_some() && self.new.is_none()
    }
}

/// Looks at what is to be done, and does nothing.
///
/// # Errors
///
/// When the settings cannot be read, or are not such as their program reads.
pub fn look(world: &World, program: Program, whose: Whose, wish: Wish) -> Result<Change, Failure> {
    let file = program.file(world, whose)?;
    let target = target(&file)?;
    let old = match input::read_text(&target) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(unreadable(&file, error)),
    };
    let hooks = program.hooks(&piton(world));
    let new = match (wish, &old) {
        (Wish::Install, None) => Ok(Some(piton_formats::agent_hooks::fresh(&hooks))),
        (Wish::Install, Some(text)) => install(text, &hooks).map(Some),
        (Wish::Uninstall, None) => Ok(None),
        (Wish::Uninstall, Some(text)) => uninstall(text, &hooks),
    };
    let new = new.map_err(|cannot| damaged(&file, &cannot))?;
    let diff = line_diff(
        old.as_deref().unwrap_or_default(),
        new.as_deref().unwrap_or_default(),
    );
    let shown = world.redactor().redact(&diff).into_owned();
    Ok(Change {
        program,
        file,
        target,
        old,
        new,
        shown,
    })
}

/// The file itself, where the settings are a link to it.
fn target(file: &Path) -> Result<PathBuf, Failure> {
    let is_link = fs::symlink_metadata(file).is_ok_and(|found| found.is_symlink());
    if !is_link {
        return Ok(file.to_owned());
    }
    fs::canonicalize(file).map_err(|error| {
        Failure::new(
            "file.unreadable",
            format!("{} is a link that leads nowhere", file.display()),
        )
        .because(error)
        .hint("make the file that it leads to, then repeat the command")
    })
}

fn damaged(file: &Path, cannot: &CannotHook) -> Failure {
    Failure::new(
        "file.unreadable",
        format!("{} cannot be changed: {cannot}", file.display()),
    )
    .hint("mend it there; it must be JSON without comments")
}

/// Does what [`look`] has shown.
///
/// # Errors
///
/// When the file cannot be written, or somebody changed it since: it is as they
/// left it then.
pub fn apply(change: &Change) -> Result<(), Failure> {
    let target = &change.target;
    let cannot = |error| unwritable(target, error);
    let Some(new) = &change.new else {
        if !change.removes() {
            return Ok(());
        }
        let there = fs::read(target).map_err(cannot)?;
        if Some(there.as_slice()) != change.old.as_ref().map(String::as_bytes) {
            return Err(meanwhile(&change.file));
        }
        return fs::remove_file(target).map_err(cannot);
    };
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    let staged = exchange::stage(target, new.as_bytes()).map_err(cannot)?;
    let displaced = match staged.exchange() {
        Ok(displaced) => displaced,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(meanwhile(&change.file));
        }
        Err(error) => return Err(cannot(error)),
    };
    let before = displaced.read().map_err(cannot)?;
    if before.as_deref() == change.old.as_ref().map(String::as_bytes) {
        return Ok(());
    }
    // Somebody wrote it between the look and now: their version goes back.
    let is_own = |path: &Path| fs::read(path).is_ok_and(|there| there == new.as_bytes());
    displaced.put_back(is_own).map_err(cannot)?;
    Err(meanwhile(&change.file))
}

fn meanwhile(file: &Path) -> Failure {
    Failure::new(
        "file.conflict",
        format!("{} was changed by somebody else just now", file.display()),
    )
    .hint("repeat the command: it looks at what is there now")
}
