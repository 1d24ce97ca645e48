//! What piton itself sees to in a run: the languages of its repositories, the issues
//! that tasks become, and whether what agents wrote can be worked with.

use std::collections::BTreeMap;

use piton_core::{Edit, ItemRow, ItemState};

use super::manifest::DUPLICATE_REPO;
use super::native::{issue_of_item, native_of_run, state_of_native};
use super::phase_item::{TASKS, phase_of_item};
use super::phases::issue_rows;
use super::state::{IssueStatus, Phase, SdlcIssue, SdlcState};
use super::tasks::{edits_of_tasks, parse_tasks};
use super::{Manifest, parse_manifest, parse_state, phases};
use crate::plan_format::{OwnWork, RunContext, RunRepo, RunRepos};
use crate::problem::{Problem, Severity, SourceText};

/// The file that names the repositories of a run, beside its own.
pub(super) const MANIFEST: &str = "manifest.yaml";

/// The files that tell the language of a repository, the first that is there.
const MARKERS: &[(&str, &str)] = &[
    ("go.mod", "go"),
    ("package.json", "typescript"),
    ("pyproject.toml", "python"),
    ("setup.py", "python"),
];

fn manifest_of_run(around: &RunContext<'_>) -> Option<Manifest> {
    let text = (around.beside)(MANIFEST)?;
    let name = MANIFEST;
    parse_manifest(SourceText { name, text: &text }).0
}

/// The state that the journal keeps, with the issues as they are.
fn state_of_run(around: &RunContext<'_>) -> SdlcState {
    let run = around.tables.run(around.run);
    SdlcState {
        issues: issue_rows(around.tables, around.run)
            .map(issue_of_item)
            .collect(),
        ..state_of_native(run.and_then(|run| run.plan.native.as_ref()))
    }
}

/// The names of the repositories of a run, as far as a manifest or its issues have any.
pub(super) fn repository_names(manifest: Option<&Manifest>, state: &SdlcState) -> Vec<String> {
    if let Some(manifest) = manifest {
        return manifest
            .repos
            .iter()
            .map(|repo| repo.name.clone())
            .collect();
    }
    let of_issues = state.issues.iter().filter_map(|issue| issue.repo.clone());
    let mut names: Vec<String> = of_issues.collect();
    names.sort();
    names.dedup();
    names
}

/// What comes of an item that no agent works on; none of one that an agent does.
pub(super) fn own_work(row: &ItemRow, around: &RunContext<'_>) -> Option<Result<OwnWork, String>> {
    match phase_of_item(row)?.phase {
        Phase::Bootstrap => Some(Ok(detect_languages(around))),
        Phase::Tracking => Some(create_issues(around)),
        Phase::Design | Phase::Planning | Phase::Executing | Phase::Completed => None,
    }
}

/// Detects the language of each repository for which manifest and state name none.
fn detect_languages(around: &RunContext<'_>) -> OwnWork {
    let mut state = state_of_run(around);
    let manifest = manifest_of_run(around);
    let mut repos = repository_names(manifest.as_ref(), &state);
    if repos.is_empty() && state.languages.is_empty() {
        repos.push(around.tree_name.to_owned());
    }
    let known = around.tables.run(around.run);
    let others = known.and_then(|run| run.plan.policy.repositories.as_ref());
    let is_other = |repo: &String| others.is_some_and(|known| known.others.contains(repo));
    for repo in repos {
        let name = Some(repo.as_str()).filter(|_| is_other(&repo));
        let mut markers = MARKERS.iter();
        let found = markers.find(|(file, _)| (around.in_tree)(name, file));
        let told = manifest.iter().flat_map(|manifest| &manifest.repos);
        let told = told.filter(|one| one.name == repo);
        let told = told.filter_map(|one| one.language.clone()).next();
        let found = found.map(|(_, language)| (*language).to_owned());
        let is_known = state.languages.iter().any(|(have, _)| *have == repo);
        if let Some(language) = told.or(found).filter(|_| !is_known) {
            state.languages.push((repo, language));
        }
    }
    let words: Vec<String> = state
        .languages
        .iter()
        .map(|(repo, language)| format!("{repo}: {language}"))
        .collect();
    let summary = match words.as_slice() {
        [] => "no language is known".to_owned(),
        words => words.join(", "),
    };
    let native = Some(native_of_run(&state));
    OwnWork {
        edits: vec![Edit::SetNative { node: None, native }],
        summary,
    }
}

/// Makes an issue of each task that has none.
fn create_issues(around: &RunContext<'_>) -> Result<OwnWork, String> {
    let state = state_of_run(around);
    let mut phases = phases::phase_rows(around.tables, around.run);
    let planning = phases.find(|(item, _)| item.phase == Phase::Planning);
    let is_left_out = planning.is_some_and(|(_, at)| at.state != ItemState::Done);
    if is_left_out && state.issues.is_empty() {
        return Err(format!(
            "`PLANNING` was left out, and {TASKS} is not approved: `piton plan retry PLANNING` has it planned"
        ));
    }
    let text = (around.beside)(TASKS).filter(|_| !is_left_out);
    let Some(text) = text else {
        return match state.issues.len() {
            0 => Err(format!(
                "{TASKS} is not there, and nothing else says which issues there are to be: write it and try again, or `piton plan retry PLANNING` has it planned"
            )),
            count => Ok(OwnWork {
                edits: Vec::new(),
                summary: match is_left_out {
                    true => format!("nothing was planned; the {count} issues of the file are all"),
                    false => {
                        format!("{TASKS} is not there; the {count} issues of the file are all")
                    }
                },
            }),
        };
    };
    let name = TASKS;
    let repos = repository_names(manifest_of_run(around).as_ref(), &state);
    let (tasks, problems) = parse_tasks(SourceText { name, text: &text }, &repos);
    refuse_errors(&problems).map_err(|why| {
        format!(
            "no issues can be made of {TASKS}: mend it and try again, or `piton plan retry PLANNING` has it planned anew\n{why}"
        )
    })?;
    let rows = phases::phase_rows(around.tables, around.run).map(|(_, row)| row);
    let rows = rows.chain(issue_rows(around.tables, around.run));
    let last = rows.max_by(|a, b| a.plan.place.cmp(&b.plan.place));
    let there: Vec<&ItemRow> = issue_rows(around.tables, around.run).collect();
    let edits = edits_of_tasks(&tasks, &there, last.map(|row| row.node.clone()));
    let made = edits.iter();
    let made = made.filter(|edit| matches!(edit, Edit::Insert { .. }));
    let summary = match made.count() {
        1 => "made 1 issue".to_owned(),
        count => format!("made {count} issues"),
    };
    Ok(OwnWork { edits, summary })
}

/// What keeps a file that an agent wrote from being worked with, a line each.
fn refuse_errors(problems: &[Problem]) -> Result<(), String> {
    let errors = problems.iter().filter(|problem| problem.is_error());
    let lines: Vec<String> = errors
        .map(|problem| {
            let Problem {
                file,
                line,
                column,
                message,
                code,
                ..
            } = problem;
            format!("{file}:{line}:{column}: {message} [{code}]")
        })
        .collect();
    match lines.as_slice() {
        [] => Ok(()),
        lines => Err(lines.join("\n")),
    }
}

/// Whether what an agent was to write is there, and can be worked with.
pub(super) fn check_artifact(row: &ItemRow, around: &RunContext<'_>) -> Result<(), String> {
    let Some(phase) = phase_of_item(row) else {
        return Ok(());
    };
    let run = around.tables.run(around.run);
    let Some(name) = run.and_then(|run| phases::artifact_of_item(run, row)) else {
        return Ok(());
    };
    let name = name.as_str();
    let text = (around.beside)(name).filter(|text| !text.trim().is_empty());
    let Some(text) = text else {
        return Err(format!("{name} was not written"));
    };
    if phase.phase != Phase::Planning {
        return Ok(());
    }
    let state = state_of_run(around);
    let repos = repository_names(manifest_of_run(around).as_ref(), &state);
    refuse_errors(&parse_tasks(SourceText { name, text: &text }, &repos).1)
}

/// The repositories in which a run is to be worked on that has such a file.
pub(super) fn repositories_of_run(text: &str, manifest: Option<&str>) -> RunRepos {
    let name = MANIFEST;
    let read_file = manifest.map(|text| parse_manifest(SourceText { name, text }));
    let (manifest, problems) = read_file.unwrap_or_default();
    let has_none = manifest.is_none();
    // Other keys are no reason not to begin.
    let is_fault = |found: &Problem| {
        let is_place = found.path.ends_with(".path") || found.path.ends_with(".name");
        let is_unclear = has_none || is_place || found.code == DUPLICATE_REPO;
        found.severity == Severity::Error && is_unclear
    };
    let state = parse_state(SourceText { name: "", text })
        .0
        .unwrap_or_default();
    let named = || manifest.iter().flat_map(|manifest| &manifest.repos);
    let mut open: BTreeMap<&str, usize> = named().map(|repo| (&*repo.name, 0)).collect();
    let is_open = |issue: &&SdlcIssue| issue.status != Some(IssueStatus::Done);
    let of_issues = state.issues.iter().filter(is_open);
    let of_issues = of_issues.filter_map(|issue| issue.repo.as_deref());
    for name in of_issues.filter(|name| !name.is_empty()) {
        *open.entry(name).or_default() += 1;
    }
    // Whatever is planned may come to be in any of them.
    let is_planned = phases::first_open_phase(&state).is_some();
    let repos = open.iter().map(|(name, issues)| RunRepo {
        name: (*name).to_owned(),
        path: named()
            .find(|repo| repo.name == *name)
            .map(|repo| repo.path.clone()),
        is_needed: is_planned || *issues > 0,
    });
    RunRepos {
        repos: repos.collect(),
        has_manifest: manifest.is_some(),
        faults: problems.into_iter().filter(is_fault).collect(),
    }
}
