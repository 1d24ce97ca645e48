//! Which files an item is about, by what its plan says: units of which two say
//! the same are kept apart where several are worked on at once.
//!
//! It is a hint. What an agent changes besides is found by the merge queue.

use serde::{Deserialize, Serialize};

/// Paths that an item is about, as its plan has them: files, or folders with all
/// that is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileScope(pub Vec<String>);

impl FileScope {
    /// Whether nothing is said: it overlaps with nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same with the paths of another one.
    pub fn add_paths(&mut self, other: &Self) {
        let new = other.0.iter().filter(|path| !self.0.contains(path));
        let new: Vec<String> = new.cloned().collect();
        self.0.extend(new);
    }

    /// The path, as it stands here, that is the same as one of the others, or
    /// holds it, or lies in it.
    #[must_use]
    pub fn find_overlap<'s>(&'s self, others: &Self) -> Option<&'s str> {
        let others: Vec<Vec<&str>> = others
            .0
            .iter()
            .filter_map(|path| literal_parts(path))
            .collect();
        let meets = |path: &&String| {
            let path = literal_parts(path);
            path.is_some_and(|path| others.iter().any(|other| has_common_prefix(&path, other)))
        };
        self.0.iter().find(meets).map(String::as_str)
    }
}

/// The parts of a path up to its first pattern: `src/*.rs` is about `src`. None
/// where it leads out of the project.
fn literal_parts(path: &str) -> Option<Vec<&str>> {
    let is_pattern = |part: &&str| part.contains(['*', '?', '[', '{']);
    let parts = path.trim().split(['/', '\\']);
    let parts = parts.filter(|part| !matches!(*part, "" | "."));
    let parts: Vec<&str> = parts.take_while(|part| !is_pattern(part)).collect();
    (!parts.contains(&"..") && !path.trim().is_empty()).then_some(parts)
}

/// Where file systems do not tell cases apart, both are the same file; where they
/// do, one of the two waits without need.
fn has_common_prefix(one: &[&str], other: &[&str]) -> bool {
    let mut pairs = one.iter().zip(other);
    pairs.all(|(one, other)| one.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(paths: &str) -> FileScope {
        FileScope(paths.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn a_path_overlaps_with_what_it_holds_and_with_what_holds_it() {
        for (one, other, overlap) in [
            ("src/a.rs", "src/a.rs", Some("src/a.rs")),
            ("src", "src/a.rs", Some("src")),
            ("src/a.rs", "src/", Some("src/a.rs")),
            ("docs src/a.rs", "tests ./src/", Some("src/a.rs")),
            ("src/a.rs", "src/b.rs", None),
            // A name is no prefix of another one.
            ("src", "src2/a.rs", None),
            ("src/a", "src/a.rs", None),
            // Up to its first pattern.
            ("src/**/*.rs", "src/deep/a.rs", Some("src/**/*.rs")),
            ("src/*.rs", "docs", None),
            // The whole project.
            (".", "src/a.rs", Some(".")),
            ("**", "src/a.rs", Some("**")),
            // However it is written.
            ("src\\a.rs", "src/a.rs", Some("src\\a.rs")),
            ("/src/a.rs", "src/a.rs", Some("/src/a.rs")),
            ("README.md", "readme.md", Some("README.md")),
            // Paths outside of the project keep no items apart.
            ("../other", "../other", None),
            ("src/../a.rs", "src", None),
            // Who says nothing overlaps with nothing.
            ("", "src", None),
            (".", "", None),
        ] {
            assert_eq!(
                scope(one).find_overlap(&scope(other)),
                overlap,
                "{one} {other}"
            );
        }
        let blank = FileScope(vec![" ".to_owned()]);
        assert_eq!(blank.find_overlap(&scope("src")), None);
    }
}
