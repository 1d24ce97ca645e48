//! Git repositories as people work in them: many small files in nested folders,
//! all of them committed. Each is made once and kept.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::Result;
use crate::bed::Bed;
use crate::sprint::{self, Shape};

/// Changed when what a repository holds changes.
const VERSION: u32 = 1;
/// Files of a folder, and such folders of a folder above.
const FILES: usize = 20;
const FOLDERS: usize = 25;
/// Lines of the smallest and of the largest file.
const LINES_MIN: usize = 4;
const LINES_MAX: usize = 60;
/// How long ago a file was changed last. A file that is as young as the index is
/// read by git at every look, which is not what git costs on another day.
const AGE: Duration = Duration::from_hours(1);
/// Nothing of git works in the background while something is measured.
const SETTINGS: [(&str, &str); 4] = [
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("user.name", "ada"),
    ("user.email", "ada@example.com"),
];

/// What can be made again is not flushed while it is made.
const NO_FLUSH: [&str; 2] = ["-c", "core.fsync=none"];

/// The repository of so many tracked files, with a sprint of so many nodes and
/// its agent in the root, all of it committed. git has looked at every file, so
/// that the disk is not asked for them again.
///
/// # Errors
///
/// When it cannot be made, git refuses it, or it holds what is not committed.
pub fn open(bed: &Bed, files: usize, nodes: usize) -> Result<PathBuf> {
    let root = bed.cache.join(format!("repository-{VERSION}-{files}"));
    if !root.is_dir() {
        let made = tempfile::Builder::new()
            .prefix("repository-")
            .tempdir_in(&bed.cache)?;
        make(bed, made.path(), files)?;
        fs::rename(made.keep(), &root)?;
        // What is still on its way to the disk would be paid by the next flush.
        bed.command(Path::new("sync"), &root).status()?;
    }
    sprint::clear(&root)?;
    commit_sprint(bed, &root, nodes)?;
    let foreign = bed.git(&root, &["status", "--porcelain", "--ignored"])?;
    if foreign.is_empty() {
        Ok(root)
    } else {
        let first = foreign.lines().next().unwrap_or_default();
        let root = root.display();
        Err(
            format!("{root} is not as the bench made it ({first}): measure elsewhere, with --dir")
                .into(),
        )
    }
}

fn make(bed: &Bed, root: &Path, files: usize) -> Result<()> {
    for number in 0..files {
        write_file(root, number)?;
    }
    bed.git(root, &["init", "--quiet", "--initial-branch=main"])?;
    for (key, value) in SETTINGS {
        bed.git(root, &["config", key, value])?;
    }
    // Objects lie in packs, as in a clone. git writes what it takes for a large
    // file into a pack at once, which saves a file for each object.
    let add = ["-c", "core.bigFileThreshold=1", "add", "--all"];
    let commit = ["commit", "--quiet", "--message=All files"];
    let repack = ["repack", "-d", "--quiet"];
    for args in [&add[..], &commit, &repack] {
        bed.git(root, &[&NO_FLUSH, args].concat())?;
    }
    Ok(())
}

/// A path like that of a source file: `src/area-003/part-07/file-001542.rs`.
fn path_of_file(number: usize) -> PathBuf {
    let part = number / FILES;
    let area = part / FOLDERS;
    let part = part % FOLDERS;
    PathBuf::from(format!(
        "src/area-{area:03}/part-{part:02}/file-{number:06}.rs"
    ))
}

fn text_of_file(number: usize) -> String {
    let lines = LINES_MIN + number * 7 % (LINES_MAX - LINES_MIN);
    (0..lines)
        .map(|line| format!("pub const VALUE_{line}: usize = {};\n", number * 64 + line))
        .collect()
}

fn write_file(root: &Path, number: usize) -> Result<()> {
    let path = root.join(path_of_file(number));
    if number.is_multiple_of(FILES) {
        fs::create_dir_all(path.parent().ok_or("a file lies in a folder")?)?;
    }
    let mut file = File::create(&path)?;
    file.write_all(text_of_file(number).as_bytes())?;
    file.set_modified(SystemTime::now() - AGE)?;
    Ok(())
}

/// Commits a sprint and its agent, unless they are there already.
fn commit_sprint(bed: &Bed, root: &Path, nodes: usize) -> Result<()> {
    sprint::write(root, Path::new(""), nodes, Shape::Single)?;
    sprint::write_answering_agent(root)?;
    bed.git(root, &["add", "SPRINT.yaml", ".claude", "answer.sh"])?;
    let staged = bed.git(root, &["diff", "--cached", "--name-only"])?;
    if staged.is_empty() {
        return Ok(());
    }
    let message = format!("--message=A sprint of {nodes} nodes");
    bed.git(root, &["commit", "--quiet", &message])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_paths_and_texts_of_their_own() {
        assert_eq!(
            path_of_file(1_542),
            Path::new("src/area-003/part-02/file-001542.rs")
        );
        assert_ne!(text_of_file(1), text_of_file(2));
        let sizes: Vec<usize> = (0..100).map(|number| text_of_file(number).len()).collect();
        let largest = sizes.iter().max();
        assert!(sizes.iter().all(|size| *size > 100), "{sizes:?}");
        assert!(largest.is_some_and(|size| *size < 4_096), "{sizes:?}");
    }
}
