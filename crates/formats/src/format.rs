//! The native formats as a table: what a file is, whether it is right, and what
//! it must be strictly.

mod definition;

use crate::native_file::Detection;
use crate::registry;

pub(crate) use definition::{
    ANYWHERE, StrictCheck, UNNAMED, context_of_source, detect_yaml_key, yaml_problems,
};
pub use definition::{DocumentRole, Format, Grade};

/// Every native format that piton reads, in the order in which they are asked
/// about a text.
pub fn all_formats() -> impl Iterator<Item = &'static Format> {
    let files = registry::project_formats().iter();
    let plans = registry::plan_formats().iter().rev();
    files
        .map(|family| family.formats)
        .chain(plans.map(|plan| plan.formats))
        .flatten()
}

/// What a file is, by its path and its contents.
#[derive(Clone, Copy)]
pub enum RecognisedFile {
    /// A native file.
    Format(&'static Format),
    /// Nothing is in it.
    Empty(&'static Format),
    /// It cannot be read as what its path says.
    Unreadable(&'static Format),
}

/// What the file at `path` is; a sentence when it is none that piton reads.
///
/// # Errors
///
/// What it is instead, in a few words.
pub fn recognise_file(path: &str, text: &str) -> Result<RecognisedFile, String> {
    let path = path.replace('\\', "/");
    let mut instead = None;
    let fitting = all_formats().filter(|format| format.can_be_at(&path));
    for format in fitting {
        match (format.detect)(text) {
            Detection::Ours => return Ok(RecognisedFile::Format(format)),
            Detection::Empty => return Ok(RecognisedFile::Empty(format)),
            Detection::Unreadable => return Ok(RecognisedFile::Unreadable(format)),
            Detection::Foreign(what) => drop(instead.get_or_insert(what)),
        }
    }
    // Contents say more than a name that no format expects. JSON is YAML as well,
    // but a file with that name does not hold YAML.
    let is_json = path.ends_with(".json");
    let ours = |format: &&Format| {
        let tells = match format.strict {
            StrictCheck::Json(..) => true,
            StrictCheck::Yaml(..) => !is_json,
            StrictCheck::Text(_) | StrictCheck::Headed(..) | StrictCheck::None => false,
        };
        tells && (format.detect)(text) == Detection::Ours
    };
    match all_formats().find(ours) {
        Some(format) => Ok(RecognisedFile::Format(format)),
        None => Err(instead.unwrap_or_else(|| "a file that piton does not know".to_owned())),
    }
}

/// The format that belongs at a path, whatever is there.
#[must_use]
pub fn format_at_path(path: &str) -> Option<&'static Format> {
    all_formats().find(|format| format.can_be_at(path))
}

/// The format of that name; a family stands for its first format.
#[must_use]
pub fn format_named(name: &str) -> Option<&'static Format> {
    all_formats()
        .find(|format| format.name == name)
        .or_else(|| all_formats().find(|format| format.face == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expect: Result<&str, &str>) {
        let found = recognise_file(path, text).map(|found| match found {
            RecognisedFile::Format(format) => format.name.to_owned(),
            RecognisedFile::Empty(format) => format!("empty {}", format.name),
            RecognisedFile::Unreadable(format) => format!("unreadable {}", format.name),
        });
        match (found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{path}"),
            (Err(found), Err(expect)) => assert!(found.contains(expect), "{path}: {found}"),
            (found, expect) => panic!("{path}: {found:?} is not {expect:?}"),
        }
    }

    #[test]
    fn a_file_is_known_by_its_path_and_its_contents() {
        let heartbeat = r#"{"status": "completed", "timestamp": "2026-01-01 10:00:00"}"#;
        check(".ralph/progress.json", heartbeat, Err("heartbeat"));
        check("a/.ralph/progress.json", "", Ok("empty ralph-json"));
        check(".ralph/progress.json", "{", Ok("unreadable ralph-json"));
        check("prd.json", r#"{"features": []}"#, Ok("prd-features"));
        check("prd.json", r#"{"userStories": []}"#, Ok("prd-user-stories"));
        check(
            "backlog.json",
            r#"{"userStories": []}"#,
            Ok("prd-user-stories"),
        );
        check(
            "PROGRESS.yaml",
            "sprint-id: a\nphases: []\n",
            Ok("sprint-progress"),
        );
        check("SPRINT.yaml", "workflow: a\n", Ok("sprint"));
        check("w/build.yaml", "name: a\nphases: []\n", Ok("workflow"));
        check("RALPH_TASK.md", "- [ ] one\n", Ok("task-file"));
        check("notes.txt", "words", Err("does not know"));
        check(
            "prd.json",
            r#"[{"id": 1, "passes": false}]"#,
            Ok("prd-user-stories"),
        );
        check(
            "prd.json",
            r#"{"tasks": [{"id": 1, "status": "done"}]}"#,
            Err("another tool"),
        );
        let foreign = r#"{"currentPhase": 2, "phases": [{"name": "spec"}]}"#;
        check(".sdlc/state.json", foreign, Err("another tool"));
        check("other.json", foreign, Err("does not know"));
    }

    #[test]
    fn every_shape_has_a_schema_with_a_name_of_its_own() {
        let ids: std::collections::BTreeSet<String> = all_formats()
            .filter_map(Format::json_schema)
            .map(|schema| schema["$id"].to_string())
            .collect();
        let shaped = all_formats().filter(|format| format.json_schema().is_some());
        assert_eq!(ids.len(), shaped.count());
    }
}
