//! What `git status --porcelain=v2 --branch -z` prints: what `HEAD` names, and
//! which paths of the work tree differ from the index.
//!
//! Of what is only staged no path is named: the tree of a work tree is made from
//! the index. Paths are bytes: a name need not be UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// How a path of the work tree differs from the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathKind {
    /// A tracked file was changed, removed, or left with conflicts.
    Tracked,
    /// Git does not track it, nor ignore it.
    Untracked,
    /// It is a repository of its own: a submodule, or one that was not added.
    Repository,
}

/// A path of the work tree that differs from the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DifferingPath {
    /// Relative to the root of the work tree.
    pub(super) path: PathBuf,
    pub(super) kind: PathKind,
}

/// What git says of a work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkTreeStatus {
    /// What `HEAD` names; none in a repository without commits.
    pub(super) head: Option<String>,
    /// Whether the index differs from that commit.
    pub(super) is_staged: bool,
    pub(super) paths: Vec<DifferingPath>,
}

/// Fields before the path of an entry that is changed, and of one with conflicts.
const FIELDS_CHANGED: usize = 8;
const FIELDS_UNMERGED: usize = 10;

/// Reads what git printed; none for what it does not print with these options.
pub(super) fn parse_status(printed: &[u8]) -> Option<WorkTreeStatus> {
    let mut status = WorkTreeStatus::default();
    for record in printed.split(|byte| *byte == 0) {
        let Some((kind, rest)) = record.split_first() else {
            continue;
        };
        let rest = rest.strip_prefix(b" ")?;
        match kind {
            b'#' => {
                if let Some(head) = rest.strip_prefix(b"branch.oid ") {
                    let head = std::str::from_utf8(head).ok()?;
                    status.head = Some(head.to_owned()).filter(|head| head != "(initial)");
                }
            }
            b'1' | b'u' => {
                let fields = if *kind == b'1' {
                    FIELDS_CHANGED
                } else {
                    FIELDS_UNMERGED
                };
                status.paths.extend(parse_changed_entry(rest, fields)?);
                status.is_staged |= *rest.first()? != b'.';
            }
            b'?' => status.paths.push(untracked_path(rest)),
            _ => return None,
        }
    }
    Some(status)
}

/// `XY SUB ... PATH`; nothing for an entry of which only the index says something.
fn parse_changed_entry(rest: &[u8], fields: usize) -> Option<Option<DifferingPath>> {
    let mut words = rest.splitn(fields, |byte| *byte == b' ');
    let (sides, submodule) = (words.next()?, words.next()?);
    let path = words.nth(fields - 3)?;
    let in_work_tree = *sides.get(1)? != b'.';
    let kind = match submodule.first()? {
        b'S' => PathKind::Repository,
        _ => PathKind::Tracked,
    };
    Some(in_work_tree.then(|| DifferingPath {
        path: path_from_bytes(path),
        kind,
    }))
}

fn untracked_path(path: &[u8]) -> DifferingPath {
    // With all untracked files listed, only a repository is named as a folder.
    let (path, kind) = match path.strip_suffix(b"/") {
        Some(path) => (path, PathKind::Repository),
        None => (path, PathKind::Untracked),
    };
    DifferingPath {
        path: path_from_bytes(path),
        kind,
    }
}

fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(printed: &[u8], head: Option<&str>, paths: &[(&str, PathKind)]) {
        let status = parse_status(printed).expect("it can be read");
        let staged = String::from_utf8_lossy(printed).contains("staged");
        assert_eq!(status.is_staged, staged);
        let found: Vec<(&str, PathKind)> = status
            .paths
            .iter()
            .map(|found| (found.path.to_str().expect("UTF-8"), found.kind))
            .collect();
        assert_eq!((status.head.as_deref(), found.as_slice()), (head, paths));
    }

    #[test]
    fn what_differs_from_the_index_is_named() {
        check(b"", None, &[]);
        check(
            b"# branch.oid (initial)\0# branch.head main\0? a b\0? sub/\0",
            None,
            &[("a b", PathKind::Untracked), ("sub", PathKind::Repository)],
        );
        check(
            b"# branch.oid c0ffee\0# stash 2\0\
              1 M. N... 100644 100644 100644 11 22 staged alone\0\
              1 .M N... 100644 100644 100644 11 22 changed  twice \0\
              1 .D N... 100644 100644 000000 11 22 gone\0\
              1 .M SC.. 160000 160000 160000 11 22 mast\0\
              u UU N... 100644 100644 100644 100644 11 22 33 both\0",
            Some("c0ffee"),
            &[
                ("changed  twice ", PathKind::Tracked),
                ("gone", PathKind::Tracked),
                ("mast", PathKind::Repository),
                ("both", PathKind::Tracked),
            ],
        );
    }

    #[test]
    fn what_git_does_not_print_is_not_guessed_at() {
        for printed in [
            &b"warning: x"[..],
            b"1 .M N... 100644\0",
            b"2 R. N... 100644 100644 100644 11 22 R100 new\0old\0",
            b"?path\0",
        ] {
            assert_eq!(parse_status(printed), None, "{printed:?}");
        }
    }
}
