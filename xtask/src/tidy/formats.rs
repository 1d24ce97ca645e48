//! Nobody but the registry of `formats` names a format: the crates above ask it
//! by what rows call the format, or by a path.
//!
//! The families are read from the lines of the registry, and what rows call
//! them from their `FACE`.

use super::finding::{Finding, file};
use crate::tree::Text;

/// Where the families stand, a line each.
const REGISTRY: &str = "crates/formats/src/lib.rs";
/// The crates that name none.
const ABOVE: [&str; 4] = [
    "crates/cli/src/",
    "crates/engine/src/",
    "crates/server/src/",
    "crates/store/src/",
];
/// What is about one format by what it is.
const EXCEPT: [&str; 5] = [
    // Words of agents, which are in no file.
    "crates/engine/src/agents/answer/",
    // The compiler of sprints, and what it finds in their folder.
    "crates/engine/src/verbs/compile.rs",
    "crates/engine/src/verbs/run/sprint_plan.rs",
    "crates/engine/src/verbs/run/takeover.rs",
    // What people add to a sprint, compiled.
    "crates/engine/src/verbs/sprint.rs",
];

pub(super) fn check(files: &[Text]) -> Vec<Finding> {
    let Some(registry) = file(files, REGISTRY) else {
        return vec![Finding::of(REGISTRY, "is not there")];
    };
    let families = families(&registry.text);
    if families.is_empty() {
        return vec![Finding::of(REGISTRY, "registers no format")];
    }
    let names: Vec<String> = families
        .iter()
        .flat_map(|family| names(family, files))
        .map(|name| format!("\"{name}\""))
        .collect();
    let is_above = |file: &&Text| {
        file.has_ending("rs")
            && ABOVE.iter().any(|folder| file.path.starts_with(folder))
            && !EXCEPT.iter().any(|except| file.path.starts_with(except))
    };
    let above = files.iter().filter(is_above);
    above
        .flat_map(|file| named(file, &families, &names))
        .collect()
}

/// The modules in the blocks of the registry.
fn families(text: &str) -> Vec<&str> {
    let blocks = text.split("    if #[cfg(").skip(1);
    blocks
        .flat_map(|block| block.lines().skip(1).take_while(|line| *line != "    }"))
        .filter_map(|line| line.trim().strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect()
}

/// What rows call the formats of a family.
fn names<'f>(family: &str, files: &'f [Text]) -> Vec<&'f str> {
    let (folder, root) = (
        format!("crates/formats/src/{family}/"),
        format!("crates/formats/src/{family}.rs"),
    );
    let own = files
        .iter()
        .filter(|file| file.path.starts_with(&folder) || file.path == root);
    own.filter_map(|file| {
        let (_, behind) = file.text.split_once("pub const FACE: &str = \"")?;
        behind.split_once('"').map(|(name, _)| name)
    })
    .collect()
}

/// Where a source names a family or one of its formats.
fn named(file: &Text, families: &[&str], names: &[String]) -> Vec<Finding> {
    const CRATE: &str = "piton_formats::";
    let shipped = file.text.find("#[cfg(test)]\nmod ");
    let text = &file.text[..shipped.unwrap_or(file.text.len())];
    let mut findings = Vec::new();
    for (offset, _) in text.match_indices(CRATE) {
        let path = &text[offset + CRATE.len()..];
        let group = path.strip_prefix('{').and_then(|path| path.split_once('}'));
        let modules = group.map_or(path, |(group, _)| group);
        let count = if group.is_some() { usize::MAX } else { 1 };
        let mut words = modules
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .take(count);
        if let Some(family) = words.find(|word| families.contains(word)) {
            findings.push(finding(file, offset, family));
        }
    }
    for name in names {
        for (offset, _) in text.match_indices(name.as_str()) {
            let line = text[..offset].rsplit('\n').next().unwrap_or_default();
            if !line.trim_start().starts_with("//") {
                findings.push(finding(file, offset, name));
            }
        }
    }
    findings
}

fn finding(file: &Text, offset: usize, name: &str) -> Finding {
    let what = format!("names the format {name}: ask `piton_formats::registry` for what it needs");
    Finding::at(file, offset, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "cfg_if! {\n    if #[cfg(plans)] {\n        pub mod list;\n    }\n}\ncfg_if! {\n    if #[cfg(project_files)] {\n        pub mod log;\n    }\n}\npub mod yaml;\n";

    fn found(source: &str) -> usize {
        let text = |path: &str, text: &str| Text {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            text(REGISTRY, LIB),
            text(
                "crates/formats/src/list/plan.rs",
                "pub const FACE: &str = \"a-list\";",
            ),
            text("crates/engine/src/a.rs", source),
        ];
        check(&files).len()
    }

    #[test]
    fn the_families_are_the_lines_of_the_registry() {
        assert_eq!(families(LIB), ["list", "log"]);
    }

    #[test]
    fn a_format_that_is_named_above_is_found() {
        assert_eq!(found("use piton_formats::list;"), 1);
        assert_eq!(found("use piton_formats::{\n    log,\n    yaml,\n};"), 1);
        assert_eq!(found("if row.face == \"a-list\" {}"), 1);
    }

    #[test]
    fn what_is_no_format_and_what_tests_say_is_left_alone() {
        assert_eq!(found("use piton_formats::yaml::list;"), 0);
        assert_eq!(found("// as \"a-list\" has it\n"), 0);
        assert_eq!(
            found("#[cfg(test)]\nmod tests { use piton_formats::list; }"),
            0
        );
    }
}
