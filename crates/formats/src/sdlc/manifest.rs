//! `manifest.yaml`: which repositories a run works in.

use std::collections::HashSet;

use crate::field_reader::{FieldReader, root_without_faults};
use crate::problem::{Problem, SourceText};
use crate::report::{MapPosition, ProblemReport, ValuePath};
use crate::shape::{Shape, closed_map, optional_field, required_field};
use crate::tree::Map;
use crate::yaml;

/// Two repositories of one name: it is ambiguous which is meant.
pub(super) const DUPLICATE_REPO: &str = "DUPLICATE_REPO";

/// What a run is told to work on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Where the product requirements are.
    pub prd: Option<String>,
    /// The repositories.
    pub repos: Vec<ManifestRepo>,
}

/// A repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestRepo {
    /// What it is called everywhere else.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// Whose tracker its issues go to.
    pub team: String,
    /// Its language, where that is not to be found out.
    pub language: Option<String>,
    /// What agents who work there should know.
    pub skills: Vec<String>,
}

/// The keys of a `manifest.yaml`.
static SHAPE: Shape = closed_map(&[
    required_field("prd", Shape::TEXT),
    required_field("repos", Shape::List(&REPO)),
]);
static REPO: Shape = closed_map(&[
    required_field("name", Shape::TEXT),
    required_field("path", Shape::TEXT),
    required_field("team", Shape::TEXT),
    optional_field("language", Shape::TEXT),
    optional_field("skills", Shape::List(&Shape::TEXT)),
]);

/// Reads a `manifest.yaml`. Whether a path exists is not looked at.
///
/// There is no manifest when the file is not YAML, or not a mapping.
pub fn parse_manifest(source: SourceText<'_>) -> (Option<Manifest>, Vec<Problem>) {
    let mut problems = Vec::new();
    let parsed = yaml::parse(source.text);
    let is_empty = parsed.root.is_none() && parsed.faults.is_empty();
    let root = root_without_faults(parsed, "MANIFEST_PARSE_ERROR", source.name, &mut problems);
    if root.is_none() && !is_empty {
        return (None, problems);
    }
    let nothing = Map::default();
    let map = match &root {
        None => Some(&nothing),
        Some(root) if root.is_null() => Some(&nothing),
        Some(root) => root.as_map(),
    };
    let report = ProblemReport {
        file: source.name,
        problems: &mut problems,
    };
    let mut reader = FieldReader { report };
    let Some(map) = map else {
        let words = (
            "a manifest is a mapping with `prd` and `repos`".to_owned(),
            "begin with `prd: …`",
        );
        let span = root.as_ref().map(|root| root.span).unwrap_or_default();
        reader
            .report
            .error("NOT_A_MANIFEST", ValuePath::ROOT, span, words);
        return (None, problems);
    };
    if let Some(root) = &root {
        reader.report.warn_unknown_keys(root, &SHAPE);
    }
    let manifest = read_map(&mut reader, map);
    (Some(manifest), problems)
}

fn read_map(reader: &mut FieldReader<'_>, map: &Map) -> Manifest {
    let top = MapPosition {
        map,
        path: ValuePath::ROOT,
    };
    let prd = reader
        .read_text(top, "prd")
        .filter(|prd| !prd.trim().is_empty());
    let words = match &prd {
        None => Some((
            "there is no `prd`",
            "write where the product requirements are",
        )),
        Some(prd) if !prd.contains("://") => Some((
            "`prd` is not an address",
            "write an address such as `https://…`, or `file:///…` for a file",
        )),
        Some(_) => None,
    };
    if let Some((message, hint)) = words {
        reader.report_warning("PRD_ADDRESS", top, "prd", message, hint);
    }
    let repos = read_repos(reader, top);
    if repos.is_empty() {
        let hint = "write `repos:` with at least one `- name: …`";
        reader.report_error("NO_REPOS", top, "repos", "there are no repositories", hint);
    }
    Manifest { prd, repos }
}

fn read_repos(reader: &mut FieldReader<'_>, top: MapPosition<'_>) -> Vec<ManifestRepo> {
    let path = top.path.key("repos");
    let mut names = HashSet::new();
    let mut out = Vec::new();
    for (index, node) in reader.read_list(top, "repos").iter().enumerate() {
        let path = path.index(index);
        let Some(map) = node.as_map() else {
            let words = (
                format!("a repository is a mapping, not {}", node.describe()),
                "write `name`, `path` and `team`",
            );
            reader.report.error("WRONG_TYPE", path, node.span, words);
            continue;
        };
        let place = MapPosition { map, path };
        let repo = read_repo(reader, place);
        if !repo.name.is_empty() && !names.insert(repo.name.clone()) {
            let message = format!("a second repository is called `{}`", repo.name);
            let hint = "give each a name of its own";
            reader.report_error(DUPLICATE_REPO, place, "name", message, hint);
        }
        out.push(repo);
    }
    out
}

fn read_repo(reader: &mut FieldReader<'_>, place: MapPosition<'_>) -> ManifestRepo {
    let mut needed = |key: &str| {
        let text = reader.read_text(place, key).unwrap_or_default();
        if text.trim().is_empty() {
            let message = format!("the repository has no `{key}`");
            reader.report_error("MISSING_KEY", place, key, message, "add it");
        }
        text
    };
    let (name, path, team) = (needed("name"), needed("path"), needed("team"));
    let language = reader.read_text(place, "language");
    let is_known = |language: &String| ["go", "typescript", "python"].contains(&language.as_str());
    if let Some(language) = language.as_ref().filter(|language| !is_known(language)) {
        let message = format!("the language `{language}` is none that the original knows");
        let hint = "it is kept; the original knows `go`, `typescript` and `python`";
        reader.report_warning("UNKNOWN_LANGUAGE", place, "language", message, hint);
    }
    ManifestRepo {
        name,
        path,
        team,
        language,
        skills: reader.read_texts(place, "skills"),
    }
}
