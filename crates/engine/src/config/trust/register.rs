//! The register of what a user trusts: `$XDG_STATE_HOME/piton/trust`.
//!
//! One line of JSON for each part of each project, appended under a lock. It lies outside
//! of every project, so that no repository brings one along. A line that cannot be read
//! trusts nothing.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_core::trust::ExecutablePart;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::world::World;
use crate::world::input;

/// Those who are not the owner may not write it.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// What says that a project is known, and trusts nothing.
const PROJECT: &str = "project";

/// A line: this part of this project is trusted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RegisterLine {
    /// The root of the project, by no link.
    project: String,
    /// The hash of the part.
    pub(super) part: String,
    /// Since when.
    at: Timestamp,
    /// What it is, for a person who reads this.
    what: String,
}

/// Why the register cannot be used.
#[derive(Clone, Debug)]
pub(super) struct RegisterFault {
    path: PathBuf,
    why: String,
}

impl RegisterFault {
    pub(super) fn into_failure(self) -> Failure {
        let path = self.path.display();
        let what = format!("{path}, where it is kept what is trusted, {}", self.why);
        Failure::new("trust.register", what).with_hint(format!(
            "see it with `ls -ld {path}`: it has to be yours, and no other user may write it"
        ))
    }
}

/// By what it is seen that a register was written since: which file it is, how long, and
/// since when. None where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegisterStamp(Option<[i128; 5]>);

/// The register of a user.
pub(super) struct Register {
    path: PathBuf,
}

impl Register {
    pub(super) fn of_world(world: &World) -> Self {
        let state = world.var("XDG_STATE_HOME").map(PathBuf::from);
        // One that is relative would lie in the project.
        let state = state.filter(|path| path.is_absolute()).unwrap_or_else(|| {
            let home = world.var("HOME").unwrap_or("/");
            Path::new(home).join(".local/state")
        });
        Self {
            path: state.join("piton").join("trust"),
        }
    }

    pub(super) fn stamp(&self) -> RegisterStamp {
        let found = fs::metadata(&self.path).ok();
        RegisterStamp(found.map(|found| {
            let changed = (found.ctime(), found.ctime_nsec());
            [
                found.dev().into(),
                found.ino().into(),
                found.len().into(),
                changed.0.into(),
                changed.1.into(),
            ]
        }))
    }

    fn fault(&self, why: impl Into<String>) -> RegisterFault {
        RegisterFault {
            path: self.path.clone(),
            why: why.into(),
        }
    }

    fn io_fault(&self, doing: &str, error: &io::Error) -> RegisterFault {
        self.fault(format!("cannot be {doing}: {error}"))
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Refuses a register, or a folder of it, that another user could have written.
    fn check_owner(&self) -> Result<(), RegisterFault> {
        for path in [self.folder(), &self.path] {
            let found = match fs::metadata(path) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(self.io_fault("read", &error)),
            };
            if found.mode() & WRITABLE_BY_OTHERS != 0 {
                return Err(self.fault("can be written by others"));
            }
            if found.uid() != rustix::process::geteuid().as_raw() {
                return Err(self.fault("belongs to another user"));
            }
        }
        Ok(())
    }

    fn read_text(&self) -> Result<String, RegisterFault> {
        self.check_owner()?;
        match input::read_file(&self.path) {
            // A line that cannot be read trusts nothing, and keeps no other one from it.
            Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(self.io_fault("read", &error)),
        }
    }

    /// The lines about a project.
    pub(super) fn read_project(&self, project: &str) -> Result<Vec<RegisterLine>, RegisterFault> {
        let text = self.read_text()?;
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Ok(lines
            .filter(|line: &RegisterLine| line.project == project)
            .collect())
    }

    /// Trusts parts of a project.
    pub(super) fn append(
        &self,
        project: &str,
        parts: &[ExecutablePart],
        at: Timestamp,
    ) -> Result<(), RegisterFault> {
        let _lock = self.lock()?;
        let lines = parts.iter().map(|part| line_of_part(project, part, at));
        self.append_lines(&lines.collect::<Vec<_>>())
    }

    /// Notes that a project is known from now on, with parts that it has executed here.
    pub(super) fn note_project(
        &self,
        project: &str,
        parts: &[ExecutablePart],
        at: Timestamp,
    ) -> Result<(), RegisterFault> {
        let _lock = self.lock()?;
        if parts.is_empty() && !self.read_project(project)?.is_empty() {
            return Ok(());
        }
        let lines = parts.iter().map(|part| line_of_part(project, part, at));
        let own = project_line(project, at);
        self.append_lines(&std::iter::once(own).chain(lines).collect::<Vec<_>>())
    }

    /// Takes the lines about a project out, but for that which says that it is known; how
    /// many parts were trusted.
    pub(super) fn forget(&self, project: &str, at: Timestamp) -> Result<usize, RegisterFault> {
        let _lock = self.lock()?;
        let text = self.read_text()?;
        let (mut kept, mut gone) = (String::new(), 0);
        for line in text.lines() {
            let read: Option<RegisterLine> = serde_json::from_str(line).ok();
            match read.filter(|read| read.project == project) {
                Some(read) => gone += usize::from(read.part != PROJECT),
                None => kept.push_str(&format!("{line}\n")),
            }
        }
        kept.push_str(&render_line(&project_line(project, at)));
        self.replace(&kept)
            .map_err(|error| self.io_fault("written", &error))?;
        Ok(gone)
    }

    /// Held until it is dropped.
    fn lock(&self) -> Result<File, RegisterFault> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.folder());
        made.map_err(|error| self.io_fault("written", &error))?;
        self.check_owner()?;
        let opened = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(self.path.with_extension("lock"));
        let file = opened.map_err(|error| self.io_fault("written", &error))?;
        file.lock()
            .map_err(|error| self.io_fault("locked", &error))?;
        Ok(file)
    }

    fn append_lines(&self, lines: &[RegisterLine]) -> Result<(), RegisterFault> {
        let text: String = lines.iter().map(render_line).collect();
        let append = || {
            let mut options = OpenOptions::new();
            let options = options.create(true).append(true).mode(0o600);
            let mut file = options.open(&self.path)?;
            // A death may have cut the last line.
            let is_cut = {
                let bytes = input::read_file(&self.path)?;
                bytes.last().is_some_and(|last| *last != b'\n')
            };
            let break_before = if is_cut { "\n" } else { "" };
            file.write_all(format!("{break_before}{text}").as_bytes())
        };
        append().map_err(|error: io::Error| self.io_fault("written", &error))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.folder())?;
        file.write_all(text.as_bytes())?;
        file.persist(&self.path)?;
        Ok(())
    }
}

fn line_of_part(project: &str, part: &ExecutablePart, at: Timestamp) -> RegisterLine {
    let what = match part.name == part.kind.as_str() {
        true => format!("{} of {}", part.kind, part.source),
        false => part.name.clone(),
    };
    RegisterLine {
        project: project.to_owned(),
        part: part.hash(),
        at,
        what,
    }
}

fn project_line(project: &str, at: Timestamp) -> RegisterLine {
    RegisterLine {
        project: project.to_owned(),
        part: PROJECT.to_owned(),
        at,
        what: "known".to_owned(),
    }
}

fn render_line(line: &RegisterLine) -> String {
    let text = serde_json::to_string(line).expect("a line of texts can be said in JSON");
    format!("{text}\n")
}
