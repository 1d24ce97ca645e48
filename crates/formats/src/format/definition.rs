//! What a native format is, and what follows from that.

use serde_json::Value as Json;

use crate::adoption::AdoptionCount;
use crate::merge::rules::MergeRules;
use crate::native_file::{Detection, FileContext};
use crate::problem::{Problem, Severity, SourceText};
use crate::shape::{self, KeyComparison, Shape};
use crate::shape_merge::has_newer_minor;
use crate::tree::ValueNode;
use crate::{conflict, json, yaml};

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
    /// the project on where one begins with `/`, else at any depth; `*` is any one
    /// folder. Anywhere where the list is empty; none for a file that is not looked for.
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
    /// A plan that only the tool can work through that made it.
    OtherTool,
}

/// Anywhere, as far as is looked: see [`Format::folders`].
pub(crate) const ANYWHERE: Option<&[&str]> = Some(&[]);

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

impl Format {
    pub(super) fn can_be_at(&self, path: &str) -> bool {
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
