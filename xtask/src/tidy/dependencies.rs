//! The table of direct dependencies, compared with what cargo knows: each has a row
//! that says why it is there, and each row names one.

use std::collections::BTreeSet;
use std::path::Path;

use cargo_metadata::MetadataCommand;

use super::finding::{Finding, file, quoted};
use crate::tree::Text;

const PAGE: &str = "docs/design/0048-dependencies.md";
/// Workspaces of this repository.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

pub(super) fn check(root: &Path, files: &[Text]) -> Result<Vec<Finding>, String> {
    let Some(page) = file(files, PAGE) else {
        return Ok(vec![Finding::of(PAGE, "is not there")]);
    };
    let rows = page.text.lines().filter(|line| line.starts_with("| `"));
    let named: BTreeSet<&str> = rows
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(quoted)
        .collect();
    let mut used = BTreeSet::new();
    for manifest in MANIFESTS {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join(manifest))
            .no_deps()
            .exec()
            .map_err(|error| format!("cargo metadata failed: {error}"))?;
        let packages = metadata.packages.into_iter();
        let all = packages.flat_map(|package| package.dependencies);
        used.extend(all.filter(|one| one.path.is_none()).map(|one| one.name));
    }
    let is_missing = |name: &&String| !named.contains(name.as_str());
    let missing = used.iter().filter(is_missing).map(|name| {
        let what = format!("has no row for the dependency `{name}`");
        Finding::of(PAGE, what)
    });
    let is_gone = |name: &&&str| !used.contains(**name);
    let gone = named.iter().filter(is_gone).map(|name| {
        let what = format!("has a row for `{name}`, which nothing depends on");
        Finding::of(PAGE, what)
    });
    Ok(missing.chain(gone).collect())
}
