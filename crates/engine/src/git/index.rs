//! Which files git tracks, read from its index: git is not started.

use std::path::Path;

use super::checked_out::git_dir;
use super::{literal_pathspec, query_git};
use crate::world::input;

/// Bytes of the header: `DIRC`, the version, how many entries there are.
const HEADER: usize = 12;
/// In this version and later names are shortened by what they share.
const SHORTENED_SINCE: u8 = 4;
/// The bits of an entry's flags that tell how long its name is.
const LENGTH: u16 = 0xFFF;

/// Whether git tracks the file at `path`, relative to a work tree. None where
/// only git can say.
#[must_use]
pub fn is_tracked(work_tree: &Path, path: &str) -> Option<bool> {
    let Ok(index) = input::read_file(git_dir(work_tree)?.join("index")) else {
        // Nothing was ever added.
        return Some(false);
    };
    let version = *index.get(7)?;
    if !index.starts_with(b"DIRC") || version >= SHORTENED_SINCE {
        return None;
    }
    if has_entry(&index, path) {
        return Some(true);
    }
    // One that is split has the rest of its entries in another file.
    let is_split = find_bytes(&index, b"link").is_some();
    (!is_split).then_some(false)
}

/// The same, asking git itself where the index is one that only git can read.
#[must_use]
pub fn is_tracked_for_certain(work_tree: &Path, path: &str) -> bool {
    is_tracked(work_tree, path).unwrap_or_else(|| {
        let said = query_git(work_tree, &["ls-files", "--", &literal_pathspec(path)]);
        said.is_ok_and(|said| said.ok && !said.out.trim().is_empty())
    })
}

/// Whether an entry of the index has this name: its flags stand before it and say
/// how long it is, and a zero follows.
fn has_entry(index: &[u8], path: &str) -> bool {
    let name = path.as_bytes();
    let length = u16::try_from(name.len()).map_or(LENGTH, |length| length.min(LENGTH));
    let mut at = HEADER;
    while let Some(found) = find_bytes(&index[at..], name) {
        let start = at + found;
        let flags = index
            .get(start.wrapping_sub(2)..start)
            .and_then(|flags| flags.try_into().ok())
            .map(u16::from_be_bytes);
        let is_whole = index.get(start + name.len()) == Some(&0);
        // An extended entry has two bytes more, in which these bits are not set.
        let extended = index
            .get(start.wrapping_sub(4)..start.wrapping_sub(2))
            .and_then(|flags| flags.try_into().ok())
            .map(u16::from_be_bytes);
        let fits = |flags: Option<u16>| flags.is_some_and(|flags| flags & LENGTH == length);
        if is_whole && (fits(flags) || fits(extended)) {
            return true;
        }
        at = start + 1;
    }
    false
}

fn find_bytes(text: &[u8], what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut at = 0;
    while let Some(step) = text.get(at..)?.iter().position(|byte| *byte == first) {
        at += step;
        if text.get(at..)?.starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use std::fs;

    use super::*;

    #[expect(
        clippy::disallowed_methods,
        reason = "git is asked what it says itself"
    )]
    fn git(folder: &Path, args: &[&str]) {
        let output = Command::new("git").args(args).current_dir(folder).output();
        assert!(output.expect("git is installed").status.success());
    }

    #[test]
    fn a_file_is_tracked_where_git_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        assert_eq!(is_tracked(folder, "a"), None, "no repository");
        git(folder, &["init", "-q"]);
        assert_eq!(is_tracked(folder, "a"), Some(false), "no index");
        fs::create_dir_all(folder.join("deep/er")).expect("made");
        let long = format!("deep/er/{}", "n".repeat(200));
        let all = ["a", "deep/er/prd.json", "prd.json.old", &long];
        for name in all {
            fs::write(folder.join(name), name).expect("written");
        }
        git(folder, &["add", "-A"]);
        for version in ["2", "3", "4"] {
            git(folder, &["update-index", "--index-version", version]);
            let says = |yes: bool| Some(yes).filter(|_| version != "4");
            for name in all {
                assert_eq!(is_tracked(folder, name), says(true), "{name}, {version}");
            }
            for name in ["prd.json", "er/prd.json", "deep/er", "old", ""] {
                assert_eq!(is_tracked(folder, name), says(false), "{name}, {version}");
            }
        }
        git(folder, &["update-index", "--index-version", "2"]);
        // An entry that is only intended has the longer flags.
        fs::write(folder.join("prd.json"), "{}").expect("written");
        git(folder, &["add", "-N", "prd.json"]);
        assert_eq!(is_tracked(folder, "prd.json"), Some(true));
    }
}
