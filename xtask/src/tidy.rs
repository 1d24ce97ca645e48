//! What is written down of this repository, compared with what it is.
//!
//! Everything that is wrong is told at once, with the file and the line.

mod documents;
mod formats;
mod layers;
mod sources;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use crate::measure;
use crate::tree::{self, Text};

pub(crate) use self::documents::{CODES, PAGES, codes, first_sentence, number};

/// Something that is wrong, and where.
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl Finding {
    /// Wrong at a byte of a file.
    fn at(file: &Text, offset: usize, what: impl Into<String>) -> Self {
        let before = file.text.get(..offset).unwrap_or_default();
        Self {
            path: file.path.clone(),
            line: before.matches('\n').count() + 1,
            what: what.into(),
        }
    }

    /// Wrong with a file as a whole, or with one that is not there.
    fn of(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: 1,
            what: what.into(),
        }
    }
}

/// Compares everything; what is wrong goes to stderr.
pub(crate) fn tidy(root: &Path) -> Result<(), String> {
    let files = tree::texts(root).map_err(|error| format!("cannot read the tree: {error}"))?;
    let mut findings = layers::check(root, &files)?;
    findings.extend(sources::check(&files));
    findings.extend(formats::check(&files));
    findings.extend(documents::check(root, &files));
    let beyond = measure::check(root)?;
    findings.extend(beyond.into_iter().map(|what| Finding::of("crates", what)));
    let mut told = BTreeSet::new();
    findings.retain(|finding| told.insert(finding.to_string()));
    for finding in &findings {
        crate::complain(finding);
    }
    match findings.len() {
        0 => {
            measure::print(root, None)?;
            crate::say(format!("tidy: {} files are as they should be", files.len()));
            Ok(())
        }
        1 => Err("tidy: 1 thing is not as it should be".to_owned()),
        count => Err(format!("tidy: {count} things are not as they should be")),
    }
}

/// The file of that path.
fn file<'a>(files: &'a [Text], path: &str) -> Option<&'a Text> {
    files.iter().find(|file| file.path == path)
}

/// The text between backquotes, one after another.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}
