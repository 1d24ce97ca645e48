//! A change of a file of settings that a person is shown before it is made.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use piton_formats::line_diff::line_diff;

use crate::failure::{Failure, unreadable_file, unwritable_file};
use crate::native_files::exchange;
use crate::project::Project;
use crate::world::input;

/// What would become of a file. Nothing is done yet.
#[derive(Clone, Debug)]
pub struct TextChange {
    /// The file, as it was named.
    pub file: PathBuf,
    /// The file as it is where a link leads.
    target: PathBuf,
    old: Option<String>,
    new: Option<String>,
}

impl TextChange {
    /// Looks at what `make` makes of the text of a file; none where there is no
    /// file, or where it is to go.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, a link to it leads out of the project, or `make`
    /// refuses its text.
    pub fn compute(
        project: &Project,
        file: PathBuf,
        make: impl FnOnce(Option<&str>) -> Result<Option<String>, Failure>,
    ) -> Result<Self, Failure> {
        let inside = project.resolve_inside(&file);
        inside.map_err(|error| unwritable_file(&file, error))?;
        let target = resolve_link(&file)?;
        let old = match input::read_text(&target) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable_file(&file, error)),
        };
        let new = make(old.as_deref())?;
        Ok(Self {
            file,
            target,
            old,
            new,
        })
    }

    /// Whether there is anything to do.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.old != self.new
    }

    /// Whether the file goes.
    #[must_use]
    pub fn is_removal(&self) -> bool {
        self.old.is_some() && self.new.is_none()
    }

    /// The change in the form of `diff -u`, without its head.
    #[must_use]
    pub fn diff(&self) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        line_diff(&text(&self.old), &text(&self.new))
    }

    /// Makes the change.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or another program changed it since: it
    /// is as that left it then.
    pub fn apply(&self) -> Result<(), Failure> {
        let target = &self.target;
        let cannot = |error| unwritable_file(target, error);
        let Some(new) = &self.new else {
            if !self.is_removal() {
                return Ok(());
            }
            let there = input::read_file(target).map_err(cannot)?;
            if Some(there.as_slice()) != self.old.as_ref().map(String::as_bytes) {
                return Err(changed_meanwhile(&self.file));
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
                return Err(changed_meanwhile(&self.file));
            }
            Err(error) => return Err(cannot(error)),
        };
        let before = displaced.read().map_err(cannot)?;
        if before.as_deref() == self.old.as_ref().map(String::as_bytes) {
            return Ok(());
        }
        // Another program wrote it between the look and now: its version goes back.
        let is_own =
            |path: &Path| input::read_file(path).is_ok_and(|there| there == new.as_bytes());
        displaced.restore_to_target(is_own).map_err(cannot)?;
        Err(changed_meanwhile(&self.file))
    }
}

/// The file itself, where the settings are a link to it.
fn resolve_link(file: &Path) -> Result<PathBuf, Failure> {
    let is_link = fs::symlink_metadata(file).is_ok_and(|found| found.is_symlink());
    if !is_link {
        return Ok(file.to_owned());
    }
    fs::canonicalize(file).map_err(|error| {
        Failure::new(
            "file.unreadable",
            format!("{} is a link that leads nowhere", file.display()),
        )
        .with_source(error)
        .with_hint("make the file that it leads to, then repeat the command")
    })
}

pub(crate) fn changed_meanwhile(file: &Path) -> Failure {
    Failure::new(
        "file.conflict",
        format!("{} was changed by another process just now", file.display()),
    )
    .with_hint("repeat the command: it looks at what is there now")
}
