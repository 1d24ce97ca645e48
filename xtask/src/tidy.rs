//! What is written down of this repository, compared with what it is.
//!
//! Everything that is wrong is told at once, with the file and the line.

mod dependencies;
mod documents;
mod finding;
mod formats;
mod layers;
mod sources;

use std::collections::BTreeSet;
use std::path::Path;

use crate::measure;
use crate::tree;

use self::finding::Finding;

pub(crate) use self::documents::{CODES, PAGES, codes, first_sentence, number, resolve, targets};

/// Compares everything; what is wrong goes to stderr.
pub(crate) fn tidy(root: &Path) -> Result<(), String> {
    let files = tree::texts(root).map_err(|error| format!("cannot read the tree: {error}"))?;
    let mut findings = layers::check(root, &files)?;
    findings.extend(dependencies::check(root, &files)?);
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
