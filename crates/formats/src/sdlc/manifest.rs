//! `manifest.yaml`: which repositories a run works in.

use std::collections::HashSet;

use crate::problem::{Problem, Source};
use crate::report::{Path, Report};
use crate::shape::{Shape, closed, may, must};
use crate::tolerant::{Place, Reader, whole};
use crate::tree::Map;
use crate::yaml;

/// Two repositories of one name: nobody can tell which is meant.
pub(super) const DUPLICATE_REPO: &str = "DUPLICATE_REPO";

/// What a run is told to work on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Where the product requirements are.
    pub prd: Option<String>,
    /// The repositories.
    pub repos: Vec<Repo>,
}

/// A repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repo {
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
static SHAPE: Shape = closed(&[must("prd", Shape::TEXT), must("repos", Shape::List(&REPO))]);
static REPO: Shape = closed(&[
    must("name", Shape::TEXT),
    must("path", Shape::TEXT),
    must("team", Shape::TEXT),
    may("language", Shape::TEXT),
    may("skills", Shape::List(&Shape::TEXT)),
]);

/// Reads a `manifest.yaml`. Whether a path exists is not looked at.
///
/// There is no manifest when the file is not YAML, or not a mapping.
pub fn read_manifest(source: Source<'_>) -> (Option<Manifest>, Vec<Problem>) {
    let mut problems = Vec::new();
    let parsed = yaml::parse(source.text);
    let is_empty = parsed.root.is_none() && parsed.faults.is_empty();
    let root = whole(parsed, "MANIFEST_PARSE_ERROR", source.name, &mut problems);
    if root.is_none() && !is_empty {
        return (None, problems);
    }
    let nothing = Map::default();
    let map = match &root {
        None => Some(&nothing),
        Some(root) if root.is_null() => Some(&nothing),
        Some(root) => root.as_map(),
    };
    let report = Report {
        file: source.name,
        problems: &mut problems,
    };
    let mut reader = Reader { report };
    let Some(map) = map else {
        let words = (
            "a manifest is a mapping with `prd` and `repos`".to_owned(),
            "begin with `prd: …`",
        );
        let span = root.as_ref().map(|root| root.span).unwrap_or_default();
        reader
            .report
            .error("NOT_A_MANIFEST", Path::ROOT, span, words);
        return (None, problems);
    };
    if let Some(root) = &root {
        reader.report.unknown_keys(root, &SHAPE);
    }
    let manifest = read_map(&mut reader, map);
    (Some(manifest), problems)
}

fn read_map(reader: &mut Reader<'_>, map: &Map) -> Manifest {
    let top = Place {
        map,
        path: Path::ROOT,
    };
    let prd = reader.text(top, "prd").filter(|prd| !prd.trim().is_empty());
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
        reader.warning("PRD_ADDRESS", (top, "prd"), message, hint);
    }
    let repos = read_repos(reader, top);
    if repos.is_empty() {
        let hint = "write `repos:` with at least one `- name: …`";
        reader.error(
            "NO_REPOS",
            (top, "repos"),
            "there are no repositories",
            hint,
        );
    }
    Manifest { prd, repos }
}

fn read_repos(reader: &mut Reader<'_>, top: Place<'_>) -> Vec<Repo> {
    let path = top.path.key("repos");
    let mut names = HashSet::new();
    let mut out = Vec::new();
    for (index, node) in reader.list(top, "repos").iter().enumerate() {
        let path = path.index(index);
        let Some(map) = node.as_map() else {
            let words = (
                format!("a repository is a mapping, not {}", node.describe()),
                "write `name`, `path` and `team`",
            );
            reader.report.error("WRONG_TYPE", path, node.span, words);
            continue;
        };
        let place = Place { map, path };
        let repo = read_repo(reader, place);
        if !repo.name.is_empty() && !names.insert(repo.name.clone()) {
            let message = format!("a second repository is called `{}`", repo.name);
            let hint = "give each a name of its own";
            reader.error(DUPLICATE_REPO, (place, "name"), message, hint);
        }
        out.push(repo);
    }
    out
}

fn read_repo(reader: &mut Reader<'_>, place: Place<'_>) -> Repo {
    let mut needed = |key: &str| {
        let text = reader.text(place, key).unwrap_or_default();
        if text.trim().is_empty() {
            let message = format!("the repository has no `{key}`");
            reader.error("MISSING_KEY", (place, key), message, "add it");
        }
        text
    };
    let (name, path, team) = (needed("name"), needed("path"), needed("team"));
    let language = reader.text(place, "language");
    let is_known = |language: &String| ["go", "typescript", "python"].contains(&language.as_str());
    if let Some(language) = language.as_ref().filter(|language| !is_known(language)) {
        let message = format!("the language `{language}` is none that the original knows");
        let hint = "it is kept; the original knows `go`, `typescript` and `python`";
        reader.warning("UNKNOWN_LANGUAGE", (place, "language"), message, hint);
    }
    Repo {
        name,
        path,
        team,
        language,
        skills: reader.texts(place, "skills"),
    }
}
