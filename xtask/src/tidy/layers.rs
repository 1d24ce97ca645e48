//! The table of layers in `ARCHITECTURE.md`, compared with what cargo knows and
//! with the sources.
//!
//! The table is the one behind the heading `## Layers`. A row says of a crate
//! which crates of the workspace it may use, which others it never depends on,
//! and which words its source never has outside of tests; each between
//! backquotes. Dependencies for tests only are nobody's concern.

use std::collections::BTreeSet;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

use super::finding::{Finding, file, quoted};
use crate::tree::Text;

const PAGE: &str = "ARCHITECTURE.md";

struct Layer {
    name: String,
    may_use: BTreeSet<String>,
    /// The row allows everything.
    free: bool,
    never_uses: BTreeSet<String>,
    never_says: Vec<String>,
    offset: usize,
}

pub(super) fn check(root: &Path, files: &[Text]) -> Result<Vec<Finding>, String> {
    let Some(page) = file(files, PAGE) else {
        return Ok(vec![Finding::of(PAGE, "is not there")]);
    };
    let layers = table(&page.text);
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| format!("cargo metadata failed: {error}"))?;
    let mut findings = Vec::new();
    let names: BTreeSet<&str> = metadata
        .packages
        .iter()
        .map(|package| short(&package.name))
        .collect();
    for layer in &layers {
        if !names.contains(layer.name.as_str()) {
            let what = format!("there is no crate `{}`", layer.name);
            findings.push(Finding::at(page, layer.offset, what));
        }
    }
    for package in &metadata.packages {
        let name = short(&package.name);
        let Some(layer) = layers.iter().find(|layer| layer.name == name) else {
            findings.push(Finding::of(PAGE, format!("has no layer `{name}`")));
            continue;
        };
        let shipped = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind == DependencyKind::Normal);
        for dependency in shipped {
            let used = short(&dependency.name);
            let what = if layer.never_uses.contains(used) {
                format!("`{name}` depends on `{used}`, which it never may")
            } else if names.contains(used) && !layer.free && !layer.may_use.contains(used) {
                format!("`{name}` depends on `{used}`, which its row does not name")
            } else {
                continue;
            };
            findings.push(Finding::at(page, layer.offset, what));
        }
        findings.extend(words(layer, files));
    }
    Ok(findings)
}

/// What a crate is called in the table: `piton-core` is `core`, `piton` is `cli`.
fn short(name: &str) -> &str {
    if name == "piton" {
        return "cli";
    }
    name.strip_prefix("piton-").unwrap_or(name)
}

fn table(page: &str) -> Vec<Layer> {
    let Some(start) = page.find("\n## Layers\n") else {
        return Vec::new();
    };
    let section = &page[start + 1..];
    let end = section[3..]
        .find("\n## ")
        .map_or(section.len(), |at| at + 3);
    let mut layers = Vec::new();
    let mut offset = start + 1;
    for line in section[..end].split_inclusive('\n') {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
        if let [name, may_use, never_uses, never_says] = cells.as_slice()
            && let [name] = quoted(name).as_slice()
        {
            let set = |cell: &str| quoted(cell).into_iter().map(str::to_owned).collect();
            layers.push(Layer {
                name: (*name).to_owned(),
                free: may_use.trim() == "anything",
                may_use: set(may_use),
                never_uses: set(never_uses),
                never_says: quoted(never_says).into_iter().map(str::to_owned).collect(),
                offset,
            });
        }
        offset += line.len();
    }
    layers
}

/// The words that the sources of a layer have although they never may.
fn words(layer: &Layer, files: &[Text]) -> Vec<Finding> {
    let folder = format!("crates/{}/src/", layer.name);
    let mut findings = Vec::new();
    let sources = files
        .iter()
        .filter(|file| file.path.starts_with(&folder) && file.has_ending("rs"));
    for source in sources {
        for (offset, line) in shipped_lines(&source.text) {
            for word in layer.never_says.iter().filter(|word| line.contains(*word)) {
                let what = format!("`{}` never says `{word}`", layer.name);
                findings.push(Finding::at(source, offset, what));
            }
        }
    }
    findings
}

/// The lines of a source that are neither comment nor test. Tests stand last.
pub(super) fn shipped_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let mut offset = 0;
    text[..end].split_inclusive('\n').filter_map(move |line| {
        let at = offset;
        offset += line.len();
        (!line.trim_start().starts_with("//")).then_some((at, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# A\n\n## Layers\n\n| crate | may use | never depends on | never says |\n|---|---|---|---|\n| `core` | - | `tokio` | `std::fs` |\n| `xtask` | anything | - | - |\n\n## Next\n\n| `no` | `layer` | - | - |\n";

    #[test]
    fn a_row_is_read_and_those_of_other_tables_are_not() {
        let layers = table(TABLE);
        let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["core", "xtask"]);
        assert!(layers[0].never_uses.contains("tokio") && !layers[0].free);
        assert_eq!(layers[0].never_says, ["std::fs"]);
        assert!(layers[1].free);
    }

    #[test]
    fn comments_and_tests_may_say_what_they_like() {
        let source = "//! std::fs\nuse std::fs;\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        let lines: Vec<_> = shipped_lines(source).collect();
        assert_eq!(lines, [(12, "use std::fs;\n")]);
    }
}
