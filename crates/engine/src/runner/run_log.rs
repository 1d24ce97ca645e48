//! The log of a run that works without a terminal: the lines that it would have shown.
//!
//! It is a file in the home of the project, for this user alone, or for the
//! group that shares the store. What it holds is no
//! truth: the journal has all that happened. See `crate::verbs::detach`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::dead_runner::sanitize_file_name;
use crate::project::Project;
use crate::project::inside::{create_own_folder, open_own_file};

/// A longer log becomes the former one, and another is begun: two of them are kept.
const BYTES_MAX: u64 = 4 << 20;

/// The log of a run of that name.
#[must_use]
pub fn run_log_path(project: &Project, run: &str) -> PathBuf {
    let name = format!("{}.log", sanitize_file_name(run));
    project.home.join("logs").join(name)
}

/// A log into which this process writes what it prints.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    file: File,
}

impl RunLog {
    /// Opens the log of a run. What another process of it wrote becomes the former one.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn open(project: &Project, run: &str) -> io::Result<Self> {
        let path = run_log_path(project, run);
        let mut log = Self {
            file: open_log(&path)?,
            path,
        };
        if let Some(file) = log.begin_another(0) {
            log.file = file;
        }
        Ok(log)
    }

    /// Sends all into it from now on that this process prints.
    ///
    /// # Errors
    ///
    /// When the system does not do that: what is printed goes where it went before.
    pub fn capture_output(&self) -> io::Result<()> {
        redirect_output(&self.file)
    }

    /// Begins another file where this one has become too large. What cannot be done now
    /// is done later.
    pub fn bound(&mut self) {
        if let Some(file) = self.begin_another(BYTES_MAX)
            && redirect_output(&file).is_ok()
        {
            self.file = file;
        }
    }

    /// The file that takes the place of one of more than `bytes_max`; none where it is not
    /// as large, or cannot be replaced.
    fn begin_another(&self, bytes_max: u64) -> Option<File> {
        let is_large = |found: fs::Metadata| found.len() > bytes_max;
        if !self.file.metadata().is_ok_and(is_large) {
            return None;
        }
        match fs::rename(&self.path, self.path.with_extension("log.1")) {
            Ok(()) => {}
            // It was moved, and no other could be opened then.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
        open_log(&self.path).ok()
    }
}

fn open_log(path: &Path) -> io::Result<File> {
    let folder = path.parent().unwrap_or(path);
    create_own_folder(folder)?;
    // Behind a link are files of others.
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    open_own_file(path, OpenOptions::new().append(true).create(true))
}

fn redirect_output(file: &File) -> io::Result<()> {
    rustix::stdio::dup2_stdout(file)?;
    rustix::stdio::dup2_stderr(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_log_is_private_and_gives_way_to_another_when_it_is_large() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("logs/auth.log");
        let file = open_log(&path).expect("it can be made");
        let mode = |path: &Path| {
            fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode()
        };
        assert_eq!(mode(&path) & 0o777, 0o600);
        let mut log = RunLog {
            path: path.clone(),
            file,
        };
        for text in ["first", "second", "third"] {
            log.file.write_all(text.as_bytes()).expect("written");
            assert!(log.begin_another(100).is_none());
            log.file = log.begin_another(3).expect("it is larger");
            let former = fs::read_to_string(folder.path().join("logs/auth.log.1"));
            assert_eq!(former.expect("it is kept"), text);
        }
        assert_eq!(
            fs::read_dir(folder.path().join("logs"))
                .expect("there")
                .count(),
            2
        );
    }

    #[test]
    fn a_log_that_was_moved_is_begun_anew_when_that_can_be_done() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("logs/auth.log");
        let file = open_log(&path).expect("it can be made");
        let mut log = RunLog { path, file };
        log.file.write_all(b"first").expect("written");
        fs::remove_file(&log.path).expect("it is there");
        let another = log.begin_another(3).expect("it can be made");
        assert_eq!(another.metadata().expect("open").len(), 0);
    }

    #[test]
    fn a_log_belongs_to_the_group_that_shares_the_home() {
        let folder = tempfile::tempdir().expect("a folder");
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        };
        let path = folder.path().join("logs/auth.log");
        // One of an older version was closed.
        open_log(&path).expect("it can be made");
        set(folder.path(), 0o2770);
        open_log(&path).expect("it can be made");
        for (path, mode) in [(path.parent().expect("a folder"), 0o2770), (&path, 0o660)] {
            let found = fs::metadata(path).expect("it is there").permissions();
            assert_eq!(found.mode() & 0o7777, mode, "{}", path.display());
        }
    }

    #[test]
    fn no_log_is_written_behind_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let logs = folder.path().join("logs");
        std::os::unix::fs::symlink(elsewhere.path(), &logs).expect("linked");
        assert!(open_log(&logs.join("auth.log")).is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).expect("there").count(), 0);
    }
}
