//! `piton init`: what is there is found, adopted into the journal, and kept up
//! to date from then on.
//!
//! It changes nothing else: no commit, no hook of git, no file of another tool.

mod state;

use std::fs;
use std::path::{Path, PathBuf};

use piton_core::Command;
use piton_formats::face::Detected;
use piton_formats::format::{self, Format, Grade, Recognised};
use piton_formats::problem::{Problem, Source};
use serde::Serialize;

use super::compile::{check_sprint, sprint_path};
use super::files::look::{There, look_for, there};
use super::files::{Elsewhere, elsewhere};
use super::run::plan_path::PlanPath;
use crate::faces::{self, FILES, FaceFile};
use crate::failure::Failure;
use crate::input;
use crate::project::Project;
use crate::session::Session;
use crate::world::World;

/// What git should not see of the faces, and why each is not worth it: tables of
/// seeds 002 and 003.
const IGNORED: [(&str, &str); 4] = [
    (".ralph/", ".ralph/activity.log"),
    (".ralph/", ".ralph/errors.log"),
    (".ralph/", ".ralph/.iteration"),
    (".agent-os/", ".agent-os/progress/"),
];

/// What is done with a file that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// It is taken in, and kept up to date from now on.
    Adopt,
    /// It is not there yet, and is made when there is something to show.
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
pub struct Finding {
    /// Its path, relative to the project.
    pub path: String,
    /// What it is, in a few words.
    pub about: String,
    /// What is done with it.
    pub intent: Intent,
    /// What to type for it, seen from the present folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// It was adopted before.
    #[serde(skip)]
    known: bool,
}

/// What `piton init` found and did.
#[derive(Clone, Debug, Serialize)]
pub struct Init {
    /// The folder in which progress is kept.
    pub home: String,
    /// The files.
    pub found: Vec<Finding>,
    /// Lines for `.gitignore` that are not in it yet.
    pub ignore: Vec<&'static str>,
    /// What happened when they were adopted.
    pub said: Vec<String>,
    /// The work tree whose files are kept, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// Whether anything was done.
    pub done: bool,
}

impl Init {
    /// Whether there is something to adopt that is not adopted yet.
    #[must_use]
    pub fn adopts(&self) -> bool {
        let new = [Intent::Adopt, Intent::Begin, Intent::Ask];
        let mut unknown = self.found.iter().filter(|found| !found.known);
        unknown.any(|found| new.contains(&found.intent))
    }
}

/// What there is, and what would be done. Writes nothing.
///
/// # Errors
///
/// When there is a store that cannot be read.
pub fn look(world: &World) -> Result<Init, Failure> {
    let project = Project::find(world, &world.cwd);
    let kept = kept(world)?;
    let mut found = project_files(&project, &kept);
    found.extend(other_files(world, &project, &kept));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Init {
        home: project.home.display().to_string(),
        ignore: ignore(&project, &found),
        found,
        said: Vec::new(),
        elsewhere: elsewhere(&project),
        done: false,
    })
}

/// The files that are faces already.
fn kept(world: &World) -> Result<Vec<String>, Failure> {
    let Some(session) = Session::read(world, &world.cwd)? else {
        return Ok(Vec::new());
    };
    let rows = session.load(&[piton_core::Need::Faces])?;
    let on = rows.tables.faces().filter(|face| face.on);
    let mut kept: Vec<String> = on.map(|face| face.path.clone()).collect();
    kept.extend(session.runs()?.into_iter().map(|run| run.source));
    Ok(kept)
}

/// The files that can be faces of the project: those that are there, and those
/// that belong to what is there.
fn project_files(project: &Project, kept: &[String]) -> Vec<Finding> {
    FILES
        .iter()
        .filter_map(|file| {
            let (about, intent) = intent(project, file)?;
            let is_kept = kept.iter().any(|path| path == file.path);
            // What piton itself made large is left alone by nobody.
            let is_fine = [Intent::Adopt, Intent::Begin].contains(&intent)
                || (intent == Intent::LeaveAlone && is_large(project, file));
            Some(Finding {
                path: file.path.to_owned(),
                about,
                intent: if is_kept && is_fine {
                    Intent::Kept
                } else {
                    intent
                },
                command: None,
                known: is_kept,
            })
        })
        .collect()
}

fn is_large(project: &Project, file: &FaceFile) -> bool {
    let found = fs::metadata(project.absolute(file.path));
    found.is_ok_and(|found| found.len() > input::BYTES_MAX)
}

fn intent(project: &Project, file: &FaceFile) -> Option<(String, Intent)> {
    let about = || {
        let format = format::at(file.path).or_else(|| format::named(file.face));
        format.map_or(file.face, |format| format.about).to_owned()
    };
    let text = match there(&project.root.join(file.path)) {
        There::Nothing => {
            let wanted = is_wanted(project, file);
            return wanted.then(|| (about(), Intent::Begin));
        }
        There::Unfit(what) => return Some((what, Intent::LeaveAlone)),
        There::Text(text) => text,
    };
    Some(match (file.detect)(&text) {
        Detected::Ours => (about(), Intent::Adopt),
        Detected::Empty => (about(), Intent::Begin),
        Detected::Foreign(what) => (what, Intent::LeaveAlone),
        Detected::Unreadable => (about(), Intent::Ask),
    })
}

/// Whether a file that is not there belongs to what is.
fn is_wanted(project: &Project, file: &FaceFile) -> bool {
    let has = |path: &str| project.root.join(path).exists();
    file.belongs_to.iter().any(|path| has(path))
}

/// Plans, and what older layouts left.
fn other_files(world: &World, project: &Project, kept: &[String]) -> Vec<Finding> {
    let found = look_for(project, &project.root).into_iter();
    let others = found.filter(|path| faces::file_at(path).is_none());
    others
        .filter_map(|path| {
            let mut found = other(world, project, &path)?;
            if found.intent == Intent::Adopt && kept.contains(&found.path) {
                found.intent = Intent::Kept;
            }
            Some(found)
        })
        .collect()
}

fn other(world: &World, project: &Project, path: &str) -> Option<Finding> {
    let full = project.absolute(path);
    let finding = |about: String, intent| Finding {
        path: path.to_owned(),
        about,
        intent,
        command: None,
        known: false,
    };
    let left_alone = |about| Some(finding(about, Intent::LeaveAlone));
    let text = match there(&full) {
        There::Nothing => return None,
        There::Text(text) => text,
        There::Unfit(what) => return left_alone(what),
    };
    if path.ends_with("progress.txt") {
        let about = "a progress file of earlier times".to_owned();
        return Some(finding(about, Intent::Migrate));
    }
    let typed_as =
        |verb: &str, at: &Path| Some(format!("piton {verb} {}", typed(world, at).display()));
    let to_check = |format: &Format, why: &str| Finding {
        command: typed_as("files check", &full),
        ..finding(format!("{}, which {why}", format.about), Intent::LeaveAlone)
    };
    let format = match format::recognise(path, &text) {
        Ok(Recognised::Format(format)) => format,
        Ok(Recognised::Empty(format)) => {
            return left_alone(format!("{}: an empty file", format.about));
        }
        Ok(Recognised::Unreadable(format)) => return Some(to_check(format, "cannot be read")),
        Err(what) => return left_alone(what),
    };
    let about = || format.about.to_owned();
    let to_run = |at: &Path| Finding {
        command: typed_as("run", at),
        ..finding(about(), Intent::Run)
    };
    // A sprint is run by its folder.
    let folder = full.parent().unwrap_or(Path::new("/"));
    let has_errors = || errors(format, path, &text) > 0;
    Some(match format.name {
        "sprint" if is_sprint(world, folder) => to_run(folder),
        "sprint" => Finding {
            command: typed_as("plan check", folder),
            ..to_check(format, "has errors")
        },
        "sprint-progress" | "sdlc" | "prd-features" | "prd-user-stories" | "task-file"
            if has_errors() =>
        {
            to_check(format, "has errors")
        }
        "sprint-progress" => to_run(folder),
        "sdlc" => finding(about(), Intent::Adopt),
        "prd-features" | "prd-user-stories" | "task-file" => {
            let plan = PlanPath::at(world, &full);
            if plan.is_some_and(|plan| plan.is_plan()) {
                to_run(&full)
            } else {
                let about = format!("{}, with nothing to do in it", format.about);
                finding(about, Intent::LeaveAlone)
            }
        }
        _ => return None,
    })
}

fn errors(format: &Format, path: &str, text: &str) -> usize {
    let problems = format.check(Source { name: path, text }, Grade::Tolerant);
    problems.iter().filter(|one| Problem::is_error(one)).count()
}

/// Whether the sprint in a folder can be compiled.
fn is_sprint(world: &World, folder: &Path) -> bool {
    sprint_path(world, folder)
        .is_ok_and(|sprint| check_sprint(world, &sprint, None, false).progress.is_some())
}

/// A path as one types it in the present folder.
fn typed(world: &World, path: &Path) -> PathBuf {
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
fn ignore(project: &Project, found: &[Finding]) -> Vec<&'static str> {
    if !project.in_git {
        return Vec::new();
    }
    let present = fs::read_to_string(project.root.join(".gitignore")).unwrap_or_default();
    let has = |line: &str| {
        present
            .lines()
            .any(|known| known.trim().trim_start_matches('/') == line)
    };
    let concerns = |line: &str| {
        let adopted = |finding: &&Finding| {
            matches!(
                finding.intent,
                Intent::Adopt | Intent::Begin | Intent::Kept | Intent::Ask
            )
        };
        let mut adopted = found.iter().filter(adopted);
        adopted.any(|finding| finding.path.starts_with(line))
    };
    IGNORED
        .iter()
        .filter(|(folder, line)| {
            concerns(line) && !has(line) && !has(folder.trim_end_matches('/')) && !has(folder)
        })
        .map(|(_, line)| *line)
        .collect()
}

/// Begins to keep progress here, and adopts what was found.
///
/// # Errors
///
/// When the store cannot be made, read or written.
pub fn init(world: &World, told: &mut dyn FnMut(&str)) -> Result<Init, Failure> {
    let mut looked = look(world)?;
    let project = Project::find(world, &world.cwd);
    let session = Session::create(world, project, told)?;
    for finding in &looked.found {
        if finding.intent == Intent::Adopt && faces::file_at(&finding.path).is_none() {
            state::adopt(&session, &finding.path)?;
        }
        if matches!(finding.intent, Intent::Adopt | Intent::Begin | Intent::Ask)
            && let Some(file) = faces::file_at(&finding.path)
        {
            session.tell(&Command::TurnFace {
                path: file.path.to_owned(),
                face: file.face.to_owned(),
                on: true,
            })?;
        }
    }
    looked.said = faces::follow(&session)
        .iter()
        .map(ToString::to_string)
        .collect();
    looked.done = true;
    Ok(looked)
}

/// Which faces of the project belong to a run of a plan of that format.
const OF_PLANS: [(&str, &str); 2] = [
    (piton_formats::prd::FACE, piton_formats::ralph_json::FACE),
    (
        piton_formats::task::FACE,
        piton_formats::ralph_dir::face::FACE,
    ),
];

/// Turns the faces on that belong to a run of this format, where their folder is
/// there: nobody who only runs a plan asked for one. Unless somebody has turned
/// one off, or another tool's file is in its place. Which are new.
///
/// # Errors
///
/// When the store fails.
pub(super) fn begin_faces(session: &Session<'_>, plan: &str) -> Result<Vec<&'static str>, Failure> {
    let belongs = |file: &&FaceFile| OF_PLANS.contains(&(plan, file.face));
    let rows = session.load(&[piton_core::Need::Faces])?;
    let mut begun = Vec::new();
    for file in FILES.iter().filter(belongs) {
        let known = rows.tables.faces().any(|face| face.path == file.path);
        let path = session.project.root.join(file.path);
        let is_ours = match fs::read_to_string(&path) {
            Ok(text) => matches!((file.detect)(&text), Detected::Ours | Detected::Empty),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        if known || !is_ours || !path.parent().is_some_and(Path::is_dir) {
            continue;
        }
        session.tell(&Command::TurnFace {
            path: file.path.to_owned(),
            face: file.face.to_owned(),
            on: true,
        })?;
        begun.push(file.path);
    }
    Ok(begun)
}
