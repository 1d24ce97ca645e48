//! The native formats as a table: what a file is, whether it is right, and what
//! it must be strictly.

use serde_json::Value as Json;

use crate::face::{About, Detected};
use crate::problem::{Problem, Severity, Source};
use crate::shape::{self, Shape};
use crate::tree::{Node, Span};
use crate::{agent_os, json, prd, ralph_dir, ralph_json, sdlc, sprint, task, yaml};

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
    /// Tells what a text is.
    detect: fn(&str) -> Detected,
    /// What is wrong with a text, tolerantly.
    read: fn(Source<'_>) -> Vec<Problem>,
    /// What it must be strictly.
    strict: Strict,
}

/// What a file must be strictly.
#[derive(Clone, Copy)]
enum Strict {
    /// JSON of a shape, whose root is called so in paths of problems.
    Json(&'static Shape, &'static str),
    /// YAML of a shape.
    Yaml(&'static Shape, &'static str),
    /// What a function says of the text.
    Text(fn(Source<'_>) -> Vec<Problem>),
    /// Nothing more than what reading it says.
    None,
}

/// Every native format that piton reads.
pub const FORMATS: &[Format] = &[
    Format {
        name: "ralph-json",
        face: ralph_json::FACE,
        about: "Ralph's progress: attempts, learnings, patterns",
        paths: &[".ralph/progress.json"],
        detect: ralph_json::detect,
        read: |source| ralph_json::take(source.text, &about(source)).problems,
        strict: Strict::Json(&ralph_json::SHAPE, ralph_json::ROOT_NAME),
    },
    Format {
        name: "agent-os",
        face: agent_os::FACE,
        about: "the progress log of Agent OS",
        paths: &[".agent-os/progress/progress.json"],
        detect: agent_os::detect,
        read: |source| agent_os::take(source.text, &about(source)).problems,
        strict: Strict::Json(&agent_os::SHAPE, agent_os::ROOT_NAME),
    },
    Format {
        name: "sdlc",
        face: "sdlc",
        about: "the state of an Agentic SDLC run",
        paths: &["state.json"],
        detect: |text| match sdlc::detect(text) {
            sdlc::Layout::Current => Detected::Ours,
            sdlc::Layout::Empty => Detected::Empty,
            sdlc::Layout::Unreadable => Detected::Unreadable,
            sdlc::Layout::LowerCase | sdlc::Layout::IssueList | sdlc::Layout::Foreign(_) => {
                Detected::Foreign(sdlc::detect(text).describe())
            }
        },
        read: |source| sdlc::read(source).1,
        strict: Strict::Json(&sdlc::SHAPE, "state"),
    },
    Format {
        name: "prd-features",
        face: "prd-json",
        about: "a list of features",
        paths: &["prd.json"],
        detect: |text| match prd::detect(text) {
            prd::Layout::Features => Detected::Ours,
            prd::Layout::Empty => Detected::Empty,
            prd::Layout::Unreadable => Detected::Unreadable,
            prd::Layout::UserStories | prd::Layout::Single | prd::Layout::Foreign(_) => {
                Detected::Foreign(prd::detect(text).describe())
            }
        },
        read: |source| prd::read(source).1,
        strict: Strict::Json(&prd::FEATURES_SHAPE, "prd"),
    },
    Format {
        name: "prd-user-stories",
        face: "prd-json",
        about: "a list of user stories",
        paths: &["prd.json"],
        detect: |text| match prd::detect(text) {
            prd::Layout::UserStories => Detected::Ours,
            prd::Layout::Empty => Detected::Empty,
            prd::Layout::Unreadable => Detected::Unreadable,
            prd::Layout::Features | prd::Layout::Single | prd::Layout::Foreign(_) => {
                Detected::Foreign(prd::detect(text).describe())
            }
        },
        read: |source| prd::read(source).1,
        strict: Strict::Json(&prd::USER_STORIES_SHAPE, "prd"),
    },
    Format {
        name: "sprint-progress",
        face: sprint::FACE,
        about: "the progress of a sprint",
        paths: &["PROGRESS.yaml"],
        detect: |text| match sprint::detect_layout(text) {
            sprint::Layout::Current => Detected::Ours,
            sprint::Layout::Empty => Detected::Empty,
            sprint::Layout::Unreadable => Detected::Unreadable,
            sprint::Layout::TaskQueue | sprint::Layout::GoalDriven | sprint::Layout::Foreign(_) => {
                Detected::Foreign(sprint::detect_layout(text).describe())
            }
        },
        read: |source| sprint::parse_progress(source).1,
        strict: Strict::Yaml(&sprint::PROGRESS_SHAPE, "progress"),
    },
    Format {
        name: "sprint",
        face: sprint::FACE,
        about: "the definition of a sprint",
        paths: &["SPRINT.yaml"],
        detect: yaml_with("workflow"),
        read: faults_of_yaml,
        strict: Strict::Yaml(&sprint::SPRINT_SHAPE, "sprint"),
    },
    Format {
        name: "workflow",
        face: sprint::FACE,
        about: "a workflow of sprints",
        paths: &[".yaml", ".yml"],
        detect: yaml_with_phases,
        read: faults_of_yaml,
        strict: Strict::Yaml(&sprint::WORKFLOW_SHAPE, "workflow"),
    },
    Format {
        name: "sdlc-manifest",
        face: "sdlc",
        about: "the manifest of an Agentic SDLC run",
        paths: &["manifest.yaml"],
        detect: yaml_with("repos"),
        read: |source| sdlc::read_manifest(source).1,
        strict: Strict::None,
    },
    Format {
        name: "sdlc-metrics",
        face: "sdlc",
        about: "the metrics of an Agentic SDLC run",
        paths: &["metrics.jsonl"],
        detect: ralph_dir::face::detect_words,
        read: metrics,
        strict: Strict::None,
    },
    Format {
        name: "ralph-progress",
        face: "ralph-dir",
        about: "the sessions of Ralph",
        paths: &[".ralph/progress.md"],
        detect: ralph_dir::face::detect_words,
        read: |source| ralph_dir::progress::read(source).1,
        strict: Strict::None,
    },
    Format {
        name: "ralph-guardrails",
        face: "ralph-dir",
        about: "the signs of Ralph",
        paths: &[".ralph/guardrails.md", "guardrails.md"],
        detect: ralph_dir::face::detect_words,
        read: |source| ralph_dir::guardrails::read(source).1,
        strict: Strict::Text(ralph_dir::guardrails::check),
    },
    Format {
        name: "ralph-activity",
        face: "ralph-dir",
        about: "what Ralph's agents did",
        paths: &[".ralph/activity.log"],
        detect: ralph_dir::face::detect_words,
        read: |_| Vec::new(),
        strict: Strict::None,
    },
    Format {
        name: "ralph-errors",
        face: "ralph-dir",
        about: "what went wrong for Ralph's agents",
        paths: &[".ralph/errors.log"],
        detect: ralph_dir::face::detect_words,
        read: |_| Vec::new(),
        strict: Strict::None,
    },
    Format {
        name: "ralph-iteration",
        face: "ralph-dir",
        about: "how many agents were started",
        paths: &[".ralph/.iteration"],
        detect: ralph_dir::face::detect_words,
        read: |source| ralph_dir::iteration::read(source).1,
        strict: Strict::None,
    },
    Format {
        name: "task-file",
        face: "task-file",
        about: "a task with criteria",
        paths: &["RALPH_TASK.md", ".md"],
        detect: ralph_dir::face::detect_words,
        read: |source| task::read(source).1,
        strict: Strict::Text(task::check),
    },
];

/// What is wrong with a file is the same everywhere.
static UTC: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;

fn about<'a>(source: Source<'a>) -> About<'a> {
    About {
        file: source.name,
        project: "",
        now: jiff::Timestamp::UNIX_EPOCH,
        zone: &UTC,
        iteration: None,
    }
}

/// A YAML mapping that has one key.
const fn yaml_with(key: &'static str) -> fn(&str) -> Detected {
    match key.as_bytes() {
        b"repos" => |text| has_key(text, "repos"),
        _ => |text| has_key(text, "workflow"),
    }
}

fn has_key(text: &str, key: &str) -> Detected {
    let parsed = yaml::parse(text);
    match parsed.root {
        None if parsed.faults.is_empty() => Detected::Empty,
        None => Detected::Unreadable,
        Some(root) if root.get(key).is_some() => Detected::Ours,
        Some(_) => Detected::Foreign(format!("YAML without a key `{key}`")),
    }
}

fn yaml_with_phases(text: &str) -> Detected {
    if has_key(text, "sprint-id") == Detected::Ours {
        return Detected::Foreign("the progress of a sprint".to_owned());
    }
    has_key(text, "phases")
}

fn faults_of_yaml(source: Source<'_>) -> Vec<Problem> {
    faults(source, yaml::parse(source.text).faults)
}

fn faults(source: Source<'_>, faults: Vec<crate::tree::Fault>) -> Vec<Problem> {
    let problem = |fault: crate::tree::Fault| {
        Problem::error("SYNTAX", source.name, "", fault.span).saying(fault.message, fault.hint)
    };
    faults.into_iter().map(problem).collect()
}

fn metrics(source: Source<'_>) -> Vec<Problem> {
    let skipped = sdlc::read_metrics(source.text).skipped;
    if skipped == 0 {
        return Vec::new();
    }
    let span = Span {
        line: 1,
        column: 1,
        ..Span::default()
    };
    let records = if skipped == 1 {
        "1 record"
    } else {
        &format!("{skipped} records")
    };
    vec![
        Problem::warning("RECORDS_SKIPPED", source.name, "", span).saying(
            format!("{records} cannot be read"),
            "look at the file with a reader of JSON",
        ),
    ]
}

/// What a file is, by its path and its contents.
#[derive(Clone, Copy)]
pub enum Recognised {
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
pub fn recognise(path: &str, text: &str) -> Result<Recognised, String> {
    let path = path.replace('\\', "/");
    let mut instead = None;
    let fitting = FORMATS.iter().filter(|format| format.fits(&path));
    for format in fitting {
        match (format.detect)(text) {
            Detected::Ours => return Ok(Recognised::Format(format)),
            Detected::Empty => return Ok(Recognised::Empty(format)),
            Detected::Unreadable => return Ok(Recognised::Unreadable(format)),
            Detected::Foreign(what) => drop(instead.get_or_insert(what)),
        }
    }
    // Contents tell more than a name that nobody expected.
    let ours = |format: &&Format| {
        !matches!(format.strict, Strict::Text(_) | Strict::None)
            && (format.detect)(text) == Detected::Ours
    };
    match FORMATS.iter().find(ours) {
        Some(format) => Ok(Recognised::Format(format)),
        None => Err(instead.unwrap_or_else(|| "a file that piton does not know".to_owned())),
    }
}

/// The format that belongs at a path, whatever is there.
#[must_use]
pub fn at(path: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.fits(path))
}

/// The format of that name; a family stands for its first format.
#[must_use]
pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS
        .iter()
        .find(|format| format.name == name)
        .or_else(|| FORMATS.iter().find(|format| format.face == name))
}

impl Format {
    fn fits(&self, path: &str) -> bool {
        self.paths.iter().any(|end| {
            path.strip_suffix(end).is_some_and(|before| {
                end.starts_with('.') || before.is_empty() || before.ends_with('/')
            })
        })
    }

    /// What is wrong with a text.
    #[must_use]
    pub fn check(&self, source: Source<'_>, grade: Grade) -> Vec<Problem> {
        let mut problems = (self.read)(source);
        if grade == Grade::Strict {
            problems.extend(self.check_strictly(source));
            for problem in &mut problems {
                problem.severity = Severity::Error;
            }
        }
        problems.sort_by(|a, b| (a.line, a.column, &a.path).cmp(&(b.line, b.column, &b.path)));
        problems.dedup_by(|a, b| (a.line, a.column, &a.path) == (b.line, b.column, &b.path));
        problems
    }

    fn check_strictly(&self, source: Source<'_>) -> Vec<Problem> {
        let shaped = |root: Option<Node>, shape, name| {
            root.map_or_else(Vec::new, |root| {
                shape::check(&root, shape, source.name, name)
            })
        };
        match self.strict {
            Strict::Json(shape, name) => shaped(json::parse(source.text).root, shape, name),
            Strict::Yaml(shape, name) => shaped(yaml::parse(source.text).root, shape, name),
            Strict::Text(check) => check(source),
            Strict::None => Vec::new(),
        }
    }

    /// What a text says and what it must be, where it is JSON or YAML.
    pub(crate) fn document(&self, text: &str) -> Option<(Node, &'static Shape)> {
        match self.strict {
            Strict::Json(shape, _) => Some((json::parse(text).root?, shape)),
            Strict::Yaml(shape, _) => Some((yaml::parse(text).root?, shape)),
            Strict::Text(_) | Strict::None => None,
        }
    }

    /// Its JSON Schema, where it is JSON or YAML.
    #[must_use]
    pub fn schema(&self) -> Option<Json> {
        let (Strict::Json(shape, _) | Strict::Yaml(shape, _)) = self.strict else {
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
        let found = recognise(path, text).map(|found| match found {
            Recognised::Format(format) => format.name.to_owned(),
            Recognised::Empty(format) => format!("empty {}", format.name),
            Recognised::Unreadable(format) => format!("unreadable {}", format.name),
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
    }

    #[test]
    fn every_shape_has_a_schema_with_a_name_of_its_own() {
        let ids: std::collections::BTreeSet<String> = FORMATS
            .iter()
            .filter_map(Format::schema)
            .map(|schema| schema["$id"].to_string())
            .collect();
        let shaped = FORMATS.iter().filter(|format| format.schema().is_some());
        assert_eq!(ids.len(), shaped.count());
    }
}
