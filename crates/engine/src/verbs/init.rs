//! `piton init`: what is there is found, adopted into the journal, and kept up
//! to date from then on.
//!
//! It changes nothing else: no commit, no hook of git, no file of another tool. What a
//! person answers is written into the configuration by [`settings`].

mod adopt_plan;
pub mod settings;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use piton_core::Command;
use piton_formats::adoption::Adoption;
use piton_formats::format::{self, DocumentRole, Format, Grade, RecognisedFile};
use piton_formats::native_file::Detection;
use piton_formats::problem::{Problem, SourceText};
use piton_formats::project_format::GitignoreLine;
use piton_formats::registry::{legacy_files, plan_format, project_formats};
use serde::Serialize;

use super::compile::{check_sprint, sprint_path};
use super::config::Setting;
use super::files::discovery::{PathContent, collect_native_paths, read_content};
use super::files::{SecondWorktree, find_second_worktree};
use super::run::ItemCounts;
use super::run::plan_path::PlanPath;
use crate::failure::Failure;
use crate::native_files::project_sync::{self, ProjectFile, project_files};
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::session::Session;
use crate::world::World;
use crate::world::input;

/// What is done with a file that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// It is taken in, and kept up to date from now on.
    Adopt,
    /// It is empty, or not there and asked for; it is written when there is
    /// something to show.
    Begin,
    /// It is kept up to date already.
    Kept,
    /// `piton run` works through it.
    Run,
    /// `piton files migrate` takes it over.
    Migrate,
    /// It is to be kept up to date, and cannot be read: a person is asked.
    Ask,
    /// It is another tool's, cannot be used as it is, or is no file: left alone.
    LeaveAlone,
}

/// A native file, and what is done with it.
#[derive(Clone, Debug, Serialize)]
pub struct InitFinding {
    /// Its path, relative to the project.
    pub path: String,
    /// What it is, in a few words.
    pub about: String,
    /// What is done with it.
    pub intent: Intent,
    /// What to type for it, seen from the present folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How many items it has, where it is a plan in one file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemCounts>,
    /// What of it is taken, and what is not, where it is taken in or run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adoption: Option<Adoption>,
    /// It was adopted before.
    #[serde(skip)]
    known: bool,
}

/// What `piton init` found and did.
#[derive(Clone, Debug, Serialize)]
pub struct InitReport {
    /// The folder in which progress is kept.
    pub home: String,
    /// The files.
    pub found: Vec<InitFinding>,
    /// Lines for `.gitignore` that are not in it yet.
    pub ignore: Vec<&'static str>,
    /// The formats of which files are missing that could be begun.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub could_begin: Vec<&'static str>,
    /// What happened when they were adopted.
    pub said: Vec<String>,
    /// The work tree whose files are kept, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<SecondWorktree>,
    /// The settings that were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Whether anything was done.
    pub done: bool,
}

crate::name_schema!(InitReport, "piton.init/1");

impl InitReport {
    /// Whether everything in the files that are taken in or run is taken.
    #[must_use]
    pub fn is_fully_adopted(&self) -> bool {
        let mut found = self
            .found
            .iter()
            .filter_map(|found| found.adoption.as_ref());
        found.all(Adoption::is_complete)
    }

    /// Whether there is something to adopt that is not adopted yet.
    #[must_use]
    pub fn has_files_to_adopt(&self) -> bool {
        let new = [Intent::Adopt, Intent::Begin, Intent::Ask];
        let mut unknown = self.found.iter().filter(|found| !found.known);
        unknown.any(|found| new.contains(&found.intent))
    }
}

/// What there is, and what would be done: what is not there is begun for the
/// formats of these names alone. Writes nothing.
///
/// # Errors
///
/// When no format has that name, or there is a store that cannot be read.
pub fn survey_project(world: &World, with: &[String]) -> Result<InitReport, Failure> {
    let project = Project::find(world, &world.cwd);
    let kept = adopted_paths(world)?;
    let with = with
        .iter()
        .map(|name| parse_family(name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut found = find_project_files(&project, &kept, &with);
    for finding in &mut found {
        finding.adoption = adoption_of_finding(&project, finding);
    }
    let elsewhere = find_second_worktree(&project);
    // In a second work tree, a plan is the one that lies there.
    if elsewhere.is_some() {
        let plans = find_other_files(world, &project.seen_from_work_tree(), &kept);
        found.extend(plans.into_iter().filter(|file| file.command.is_some()));
    }
    for file in find_other_files(world, &project, &kept) {
        if found.iter().all(|known| known.path != file.path) {
            found.push(file);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(InitReport {
        home: project.home.display().to_string(),
        ignore: missing_ignore_lines(&project, &found),
        could_begin: missing_families(&project, &found),
        found,
        said: Vec::new(),
        elsewhere,
        settings: Vec::new(),
        done: false,
    })
}

/// What of a file is taken that is taken in or run.
fn adoption_of_finding(project: &Project, finding: &InitFinding) -> Option<Adoption> {
    let taken = [Intent::Adopt, Intent::Kept, Intent::Run];
    let PathContent::Text(text) = read_content(project, &finding.path) else {
        return None;
    };
    let known = format::recognise_file(&finding.path, &text).ok();
    let known = known.filter(|_| taken.contains(&finding.intent));
    let Some(RecognisedFile::Format(format)) = known else {
        return None;
    };
    Some(format.adoption(SourceText {
        name: &finding.path,
        text: &text,
    }))
}

/// The family of formats of that name.
fn parse_family(name: &str) -> Result<&'static str, Failure> {
    let mut families: Vec<&str> = project_files().map(|file| file.face).collect();
    families.dedup();
    let known = families.iter().find(|family| **family == name).copied();
    known.ok_or_else(|| {
        let message = format!("there is no format `{name}` to begin files of");
        Failure::new("usage", message).with_hint(format!("name one of: {}", families.join(", ")))
    })
}

/// The formats of which files belong to what is there and are missing.
fn missing_families(project: &Project, found: &[InitFinding]) -> Vec<&'static str> {
    let is_missing = |file: &&ProjectFile| {
        let is_found = found.iter().any(|found| found.path == file.path);
        !is_found
            && file
                .belongs_to
                .iter()
                .any(|path| project.root.join(path).exists())
    };
    let mut families: Vec<&str> = project_files()
        .filter(is_missing)
        .map(|file| file.face)
        .collect();
    families.dedup();
    families
}

/// The files that are faces already.
fn adopted_paths(world: &World) -> Result<Vec<String>, Failure> {
    if !Project::find(world, &world.cwd).has_journal()? {
        return Ok(Vec::new());
    }
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(Vec::new());
    };
    let rows = session.load(&[piton_core::Need::Faces])?;
    let on = rows.tables.native_files().filter(|face| face.on);
    let mut kept: Vec<String> = on.map(|face| face.path.clone()).collect();
    kept.extend(session.runs()?.into_iter().map(|run| run.plan.source));
    Ok(kept)
}

/// The files that can be faces of the project: those that are there, are kept
/// already, or belong to the families that the user asked for.
fn find_project_files(project: &Project, kept: &[String], with: &[&str]) -> Vec<InitFinding> {
    project_files()
        .filter_map(|file| {
            let is_kept = kept.iter().any(|path| path == file.path);
            let is_wanted = is_kept || with.contains(&file.face) || has_archive(project, file);
            let (about, intent) = intent_for_file(project, file, is_wanted)?;
            // A file that piton itself made large is not left alone.
            let is_fine = [Intent::Adopt, Intent::Begin].contains(&intent)
                || (intent == Intent::LeaveAlone && is_large(project, file));
            Some(InitFinding {
                path: file.path.to_owned(),
                about,
                intent: if is_kept && is_fine {
                    Intent::Kept
                } else {
                    intent
                },
                command: None,
                items: None,
                adoption: None,
                known: is_kept,
            })
        })
        .collect()
}

fn is_large(project: &Project, file: &ProjectFile) -> bool {
    let found = fs::metadata(project.absolute_path(file.path));
    found.is_ok_and(|found| found.len() > input::BYTES_MAX)
}

fn intent_for_file(
    project: &Project,
    file: &ProjectFile,
    is_wanted: bool,
) -> Option<(String, Intent)> {
    let about = || {
        let format = format::format_at_path(file.path).or_else(|| format::format_named(file.face));
        format.map_or(file.face, |format| format.about).to_owned()
    };
    let text = match read_content(project, file.path) {
        PathContent::Nothing => return is_wanted.then(|| (about(), Intent::Begin)),
        PathContent::Unfit(what) => return Some((what, Intent::LeaveAlone)),
        PathContent::Text(text) => text,
    };
    Some(match (file.detect)(&text) {
        Detection::Ours => (about(), Intent::Adopt),
        Detection::Empty => (about(), Intent::Begin),
        Detection::Foreign(what) => (what, Intent::LeaveAlone),
        Detection::Unreadable => (about(), Intent::Ask),
    })
}

/// Whether a part of the file is there: what was archived of it.
fn has_archive(project: &Project, file: &ProjectFile) -> bool {
    let archive = file
        .archive
        .map(|archive| project.root.join(archive.folder));
    archive.is_some_and(|path| path.is_dir())
}

/// Plans, and what older layouts left.
fn find_other_files(world: &World, project: &Project, kept: &[String]) -> Vec<InitFinding> {
    let found = collect_native_paths(project, &project.root).into_iter();
    let others = found.filter(|path| project_sync::file_at(path).is_none());
    others
        .filter_map(|path| {
            let mut found = inspect_other_file(world, project, &path)?;
            found.adoption = adoption_of_finding(project, &found);
            if found.intent == Intent::Adopt && kept.contains(&found.path) {
                found.intent = Intent::Kept;
            }
            Some(found)
        })
        .collect()
}

fn inspect_other_file(world: &World, project: &Project, path: &str) -> Option<InitFinding> {
    let full = project.absolute_path(path);
    let finding = |about: String, intent| InitFinding {
        path: path.to_owned(),
        about,
        intent,
        command: None,
        items: None,
        adoption: None,
        known: false,
    };
    let left_alone = |about| Some(finding(about, Intent::LeaveAlone));
    let text = match read_content(project, path) {
        PathContent::Nothing => return None,
        PathContent::Text(text) => text,
        PathContent::Unfit(what) => return left_alone(what),
    };
    if legacy_files().any(|old| path.ends_with(old.name)) {
        let about = "a progress file of earlier times".to_owned();
        return Some(finding(about, Intent::Migrate));
    }
    let typed_as = |verb: &str, at: &Path| Some(typed_command(world, verb, at));
    let to_check = |format: &Format, why: &str| InitFinding {
        command: typed_as("files check", &full),
        ..finding(format!("{}, which {why}", format.about), Intent::LeaveAlone)
    };
    let format = match format::recognise_file(path, &text) {
        Ok(RecognisedFile::Format(format)) => format,
        Ok(RecognisedFile::Empty(format)) => {
            return left_alone(format!("{}: an empty file", format.about));
        }
        Ok(RecognisedFile::Unreadable(format)) => return Some(to_check(format, "cannot be read")),
        Err(what) => return left_alone(what),
    };
    let about = || format.about.to_owned();
    let to_run = |at: &Path| InitFinding {
        command: typed_as("run", at),
        ..finding(about(), Intent::Run)
    };
    // A sprint is run by its folder.
    let folder = full.parent().unwrap_or(Path::new("/"));
    let has_errors = || count_errors(format, path, &text) > 0;
    Some(match format.role {
        DocumentRole::Definition if is_compilable_sprint(world, folder) => to_run(folder),
        DocumentRole::Definition => InitFinding {
            command: typed_as("plan check", folder),
            ..to_check(format, "has errors")
        },
        DocumentRole::Other => return None,
        DocumentRole::OtherTool => return left_alone(about()),
        DocumentRole::Progress | DocumentRole::Adopted | DocumentRole::Plan if has_errors() => {
            to_check(format, "has errors")
        }
        DocumentRole::Progress => to_run(folder),
        DocumentRole::Adopted => finding(about(), Intent::Adopt),
        DocumentRole::Plan => {
            let plan = PlanPath::resolve(world, &full);
            match plan.and_then(|plan| plan.count_items()) {
                Some(items) => InitFinding {
                    items: Some(items),
                    ..to_run(&full)
                },
                None => {
                    let about = format!("{}, with nothing to do in it", format.about);
                    finding(about, Intent::LeaveAlone)
                }
            }
        }
    })
}

fn typed_command(world: &World, verb: &str, path: &Path) -> String {
    let path = path_as_typed(world, path).display().to_string();
    format!("piton {verb} {}", quote_word(&path))
}

fn count_errors(format: &Format, path: &str, text: &str) -> usize {
    let problems = format.check(SourceText { name: path, text }, Grade::Tolerant);
    problems.iter().filter(|one| Problem::is_error(one)).count()
}

/// Whether the sprint in a folder can be compiled.
fn is_compilable_sprint(world: &World, folder: &Path) -> bool {
    sprint_path(world, folder)
        .is_ok_and(|sprint| check_sprint(world, &sprint, None, false).progress.is_some())
}

/// A path as one types it in the present folder.
fn path_as_typed(world: &World, path: &Path) -> PathBuf {
    let common = world
        .cwd
        .ancestors()
        .zip(0..)
        .find_map(|(above, up)| Some((path.strip_prefix(above).ok()?, up)));
    match common {
        Some((below, 0)) if below.as_os_str().is_empty() => PathBuf::from("."),
        Some((below, up)) => std::iter::repeat_n(Path::new(".."), up)
            .chain([below])
            .collect(),
        None => path.to_owned(),
    }
}

/// The lines that `.gitignore` does not have.
fn missing_ignore_lines(project: &Project, found: &[InitFinding]) -> Vec<&'static str> {
    if !project.in_git {
        return Vec::new();
    }
    let present = input::read_file_text(project.root.join(".gitignore")).unwrap_or_default();
    let has = |line: &str| {
        present
            .lines()
            .any(|known| known.trim().trim_start_matches('/') == line)
    };
    let concerns = |line: &str| {
        let adopted = |finding: &&InitFinding| {
            matches!(
                finding.intent,
                Intent::Adopt | Intent::Begin | Intent::Kept | Intent::Ask
            )
        };
        let mut adopted = found.iter().filter(adopted);
        adopted.any(|finding| finding.path.starts_with(line))
    };
    let files = project_formats()
        .iter()
        .rev()
        .flat_map(|family| family.files);
    files
        .filter_map(|file| file.ignored)
        .filter(|GitignoreLine { line, folder }| {
            concerns(line) && !has(line) && !has(folder.trim_end_matches('/')) && !has(folder)
        })
        .map(|ignored| ignored.line)
        .collect()
}

/// Begins to keep progress here, and adopts what was found.
///
/// # Errors
///
/// When no format has one of the names, or the store cannot be made, read or
/// written.
pub fn init(
    world: &World,
    with: &[String],
    told: &mut dyn FnMut(&str),
) -> Result<InitReport, Failure> {
    let mut looked = survey_project(world, with)?;
    let project = Project::find(world, &world.cwd);
    let is_new = !project.has_journal()?;
    let lost = project.find_lost_journal().filter(|_| is_new);
    if let Some(lost) = lost {
        told(&format!("{}; a new one is begun", lost.describe(world)));
    }
    let session = Session::open_or_begin_anew(world, project, told)?;
    for finding in &looked.found {
        if finding.intent == Intent::Adopt && project_sync::file_at(&finding.path).is_none() {
            adopt_plan::adopt_plan(&session, &finding.path)?;
        }
        if matches!(finding.intent, Intent::Adopt | Intent::Begin | Intent::Ask)
            && let Some(file) = project_sync::file_at(&finding.path)
        {
            session.execute_command(&Command::TurnFace {
                path: file.path.to_owned(),
                face: file.face.to_owned(),
                on: true,
            })?;
        }
    }
    looked.said = project_sync::sync_files(&session)
        .iter()
        .map(ToString::to_string)
        .collect();
    looked.done = true;
    Ok(looked)
}

/// Turns the faces on that belong to a run of this format, where their folder is
/// there: a person who only runs a plan did not ask for a folder; and those that stand
/// beside them there already, whose rules agents are to follow. Not where a person has
/// turned one off, or another tool's file is in its place. Returns which are new.
///
/// # Errors
///
/// When the store fails.
pub(super) fn enable_companion_files(
    session: &Session<'_>,
    plan: &str,
) -> Result<Vec<&'static str>, Failure> {
    let companions = plan_format(plan).map_or(&[][..], |format| format.companions);
    let belongs = |file: &&ProjectFile| companions.contains(&file.face);
    let folder = |file: &ProjectFile| Path::new(file.path).parent().map(Path::to_owned);
    let folders: BTreeSet<PathBuf> = project_files().filter(belongs).filter_map(folder).collect();
    let rows = session.load(&[piton_core::Need::Faces])?;
    let mut begun = Vec::new();
    let stands_there = |file: &ProjectFile| folder(file).is_some_and(|at| folders.contains(&at));
    for file in project_files().filter(|file| stands_there(file)) {
        let known = rows
            .tables
            .native_files()
            .any(|face| face.path == file.path);
        let path = session.project.root.join(file.path);
        let is_ours = match session.project.read_text(&path) {
            Ok(text) => match (file.detect)(&text) {
                Detection::Ours => true,
                Detection::Empty => belongs(&file),
                Detection::Foreign(_) | Detection::Unreadable => false,
            },
            Err(error) => belongs(&file) && error.kind() == std::io::ErrorKind::NotFound,
        };
        if known || !is_ours || !path.parent().is_some_and(Path::is_dir) {
            continue;
        }
        session.execute_command(&Command::TurnFace {
            path: file.path.to_owned(),
            face: file.face.to_owned(),
            on: true,
        })?;
        begun.push(file.path);
    }
    Ok(begun)
}
