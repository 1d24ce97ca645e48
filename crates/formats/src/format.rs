//! The native formats as a table: what a file is, whether it is right, and what
//! it must be strictly.

use serde_json::Value as Json;

use crate::adoption::{self, Adoption, AdoptionCount};
use crate::merge::rules::MergeRules;
use crate::native_file::{Detection, FileContext};
use crate::problem::{Problem, Severity, SourceText};
use crate::shape::{self, KeyComparison, Shape};
use crate::shape_merge::has_newer_minor;
use crate::tree::ValueNode;
use crate::{conflict, json, registry, yaml};

/// How strictly a file is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// What is met is taken, with warnings.
    Tolerant,
    /// The format to the letter.
    Strict,
}

/// A native file.
#[derive(Clone, Copy)]
pub struct Format {
    /// What it is called: `ralph-json`.
    pub name: &'static str,
    /// The family that it belongs to: `sprint-yaml`.
    pub face: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// How paths of such files end, the most telling first.
    pub paths: &'static [&'static str],
    /// The folders in which a file of the first path's name is looked for: from
    /// the project on where one begins with `/`, else at any depth. Anywhere
    /// where the list is empty; none for a file that is not looked for.
    pub folders: Option<&'static [&'static str]>,
    /// What it is to its plan.
    pub role: DocumentRole,
    /// Tells what a text is.
    pub(crate) detect: fn(&str) -> Detection,
    /// What is wrong with a text, tolerantly.
    pub(crate) read: fn(SourceText<'_>) -> Vec<Problem>,
    /// What it must be strictly.
    pub(crate) strict: StrictCheck,
    /// How many things of a text are taken, beside its entries and keys.
    pub(crate) counts: fn(SourceText<'_>) -> Vec<AdoptionCount>,
    /// How versions of it are merged; none where its lines are.
    pub(crate) merge: Option<&'static MergeRules>,
}

/// A format of which nothing is known.
pub(crate) const UNNAMED: Format = Format {
    name: "",
    face: "",
    about: "",
    paths: &[],
    folders: None,
    role: DocumentRole::Other,
    detect: |_| Detection::Unreadable,
    read: |_| Vec::new(),
    strict: StrictCheck::None,
    counts: |_| Vec::new(),
    merge: None,
};

/// What a file must be strictly.
#[derive(Clone, Copy)]
pub(crate) enum StrictCheck {
    /// JSON of a shape, whose root is called so in paths of problems.
    Json(&'static Shape, &'static str),
    /// YAML of a shape.
    Yaml(&'static Shape, &'static str),
    /// What a function says of the text.
    Text(fn(SourceText<'_>) -> Vec<Problem>),
    /// What a function says of the text, which begins with YAML whose keys
    /// another one compares.
    Headed(
        fn(SourceText<'_>) -> Vec<Problem>,
        fn(&str) -> KeyComparison,
    ),
    /// Nothing more than what reading it says.
    None,
}

/// What a document is to its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentRole {
    /// Not a plan.
    Other,
    /// A plan in one file.
    Plan,
    /// A plan in one file that is adopted as a run before it can be worked on.
    Adopted,
    /// What a plan is compiled from, in a folder of its own.
    Definition,
    /// How the plan of a folder stands.
    Progress,
}

/// Anywhere, as far as is looked: see [`Format::folders`].
pub(crate) const ANYWHERE: Option<&[&str]> = Some(&[]);

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

/// What is wrong with a file is the same everywhere.
static UTC: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;

pub(crate) fn context_of_source<'a>(source: SourceText<'a>) -> FileContext<'a> {
    FileContext {
        file: source.name,
        project: "",
        now: jiff::Timestamp::UNIX_EPOCH,
        zone: &UTC,
        iteration: None,
        is_part: false,
    }
}

/// Whether a YAML mapping has a key.
pub(crate) fn detect_yaml_key(text: &str, key: &str) -> Detection {
    let parsed = yaml::parse(text);
    match parsed.root {
        None if parsed.faults.is_empty() => Detection::Empty,
        None => Detection::Unreadable,
        Some(root) if root.get(key).is_some() => Detection::Ours,
        Some(_) => Detection::Foreign(format!("YAML without a key `{key}`")),
    }
}

/// What keeps a YAML document from being read.
pub(crate) fn yaml_problems(source: SourceText<'_>) -> Vec<Problem> {
    problems_of_faults(source, yaml::parse(source.text).faults)
}

fn problems_of_faults(
    source: SourceText<'_>,
    faults: Vec<crate::tree::SyntaxFault>,
) -> Vec<Problem> {
    let problem = |fault: crate::tree::SyntaxFault| fault.into_problem("SYNTAX", source.name);
    faults.into_iter().map(problem).collect()
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

impl Format {
    fn can_be_at(&self, path: &str) -> bool {
        self.paths.iter().any(|end| {
            path.strip_suffix(end).is_some_and(|before| {
                end.starts_with('.') || before.is_empty() || before.ends_with('/')
            })
        })
    }

    /// What a file of this format is called.
    #[must_use]
    pub fn file_name(&self) -> &'static str {
        let path = self.paths.first().copied().unwrap_or_default();
        path.rsplit('/').next().unwrap_or(path)
    }

    /// What is wrong with a text.
    #[must_use]
    pub fn check(&self, source: SourceText<'_>, grade: Grade) -> Vec<Problem> {
        if let Some(problem) = conflict::find_unresolved_merge(source) {
            return vec![problem];
        }
        let mut problems = (self.read)(source);
        if self.is_compared() {
            // The table says it of every key, whatever its reader says of some.
            problems.retain(|problem| problem.code != "UNKNOWN_KEY");
            problems.extend(self.unknown_keys(source));
        }
        if grade == Grade::Strict {
            problems.retain(|problem| problem.code != "UNKNOWN_KEY" || !self.is_shaped());
            problems.extend(self.check_strictly(source));
            for problem in &mut problems {
                problem.severity = Severity::Error;
            }
        }
        problems.sort_by(|a, b| (a.line, a.column, &a.path).cmp(&(b.line, b.column, &b.path)));
        problems.dedup_by(|a, b| (a.line, a.column, &a.path) == (b.line, b.column, &b.path));
        problems
    }

    /// Whether its documents are compared with a table.
    fn is_shaped(&self) -> bool {
        matches!(self.strict, StrictCheck::Json(..) | StrictCheck::Yaml(..))
    }

    fn is_compared(&self) -> bool {
        self.is_shaped() || matches!(self.strict, StrictCheck::Headed(..))
    }

    /// Which keys of a text are known, and which nothing reads.
    #[must_use]
    pub fn compare_keys(&self, text: &str) -> KeyComparison {
        if let StrictCheck::Headed(_, keys) = self.strict {
            return keys(text);
        }
        match self.parse_document(text) {
            // A key that a newer version added is no mistake.
            Some((root, _)) if has_newer_minor(&root) => KeyComparison::default(),
            Some((root, shape)) => shape::compare_keys(&root, shape),
            None => KeyComparison::default(),
        }
    }

    /// The keys of a text that nothing reads, as warnings.
    #[must_use]
    pub fn unknown_keys(&self, source: SourceText<'_>) -> Vec<Problem> {
        let unknown = self.compare_keys(source.text).unknown;
        unknown
            .iter()
            .map(|key| key.to_problem(source.name))
            .collect()
    }

    /// What of a text is taken, and what is not.
    #[must_use]
    pub fn adoption(&self, source: SourceText<'_>) -> Adoption {
        adoption::adoption_of_text(self, source)
    }

    fn check_strictly(&self, source: SourceText<'_>) -> Vec<Problem> {
        let shaped = |root: Option<ValueNode>, shape, name| {
            root.map_or_else(Vec::new, |root| {
                shape::check(&root, shape, source.name, name)
            })
        };
        match self.strict {
            StrictCheck::Json(shape, name) => shaped(json::parse(source.text).root, shape, name),
            StrictCheck::Yaml(shape, name) => shaped(yaml::parse(source.text).root, shape, name),
            StrictCheck::Text(check) | StrictCheck::Headed(check, _) => check(source),
            StrictCheck::None => Vec::new(),
        }
    }

    /// What a text says and what it must be, where it is JSON or YAML.
    pub(crate) fn parse_document(&self, text: &str) -> Option<(ValueNode, &'static Shape)> {
        match self.strict {
            StrictCheck::Json(shape, _) => Some((json::parse(text).root?, shape)),
            StrictCheck::Yaml(shape, _) => Some((yaml::parse(text).root?, shape)),
            StrictCheck::Text(_) | StrictCheck::Headed(..) | StrictCheck::None => None,
        }
    }

    /// Its JSON Schema, where it is JSON or YAML.
    #[must_use]
    pub fn json_schema(&self) -> Option<Json> {
        let (StrictCheck::Json(shape, _) | StrictCheck::Yaml(shape, _)) = self.strict else {
            return None;
        };
        let id = format!("https://piton.rs/schemas/{}.json", self.name);
        Some(shape::json_schema(shape, &id, self.about))
    }
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
