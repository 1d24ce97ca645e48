//! `piton init`: what is there is found, adopted into the journal, and kept up
//! to date from then on.
//!
//! It changes nothing else: no commit, no hook of git, no file of another tool.

mod state;

use std::fs;
use std::path::Path;

use piton_core::Command;
use piton_formats::face::Detected;
use piton_formats::format::{self, Recognised};
use serde::Serialize;

use super::files::look_for;
use crate::faces::{self, FILES, FaceFile};
use crate::failure::Failure;
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
    /// It is another tool's, or cannot be read: left alone.
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
    /// Whether anything was done.
    pub done: bool,
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
    found.extend(other_files(&project, &kept));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Init {
        home: project.home.display().to_string(),
        ignore: ignore(&project, &found),
        found,
        said: Vec::new(),
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
            let intent = match intent {
                Intent::Adopt | Intent::Begin if is_kept => Intent::Kept,
                Intent::Adopt
                | Intent::Begin
                | Intent::Kept
                | Intent::Run
                | Intent::Migrate
                | Intent::LeaveAlone => intent,
            };
            Some(Finding {
                path: file.path.to_owned(),
                about,
                intent,
            })
        })
        .collect()
}

fn intent(project: &Project, file: &FaceFile) -> Option<(String, Intent)> {
    let path = project.root.join(file.path);
    let about = || {
        let format = format::named(file.face);
        let known = format::FORMATS
            .iter()
            .find(|format| format.paths.contains(&file.path));
        known
            .or(format)
            .map_or(file.face, |format| format.about)
            .to_owned()
    };
    if !path.is_file() {
        let wanted = is_wanted(project, file);
        return wanted.then(|| (about(), Intent::Begin));
    }
    let Ok(text) = fs::read_to_string(&path) else {
        return Some(("no UTF-8 text".to_owned(), Intent::LeaveAlone));
    };
    Some(match (file.detect)(&text) {
        Detected::Ours | Detected::Empty => (about(), Intent::Adopt),
        Detected::Foreign(what) => (what, Intent::LeaveAlone),
        // A person is asked about it: it may be mended.
        Detected::Unreadable => (format!("{}, which cannot be read", about()), Intent::Adopt),
    })
}

/// Whether a file that is not there belongs to what is.
fn is_wanted(project: &Project, file: &FaceFile) -> bool {
    let has = |path: &str| project.root.join(path).exists();
    file.belongs_to.iter().any(|path| has(path))
}

/// Plans, and what older layouts left.
fn other_files(project: &Project, kept: &[String]) -> Vec<Finding> {
    let found = look_for(project).into_iter().filter_map(|path| {
        let shown = project.relative(&path);
        if FILES
            .iter()
            .any(|file| file.path == shown || file.derived_path() == Some(&*shown))
        {
            return None;
        }
        if path.file_name().is_some_and(|name| name == "progress.txt") {
            return Some(Finding {
                path: shown,
                about: "a progress file of earlier times".to_owned(),
                intent: Intent::Migrate,
            });
        }
        let mut found = other(&path, shown)?;
        if found.intent == Intent::Adopt && kept.contains(&found.path) {
            found.intent = Intent::Kept;
        }
        Some(found)
    });
    found.collect()
}

fn other(path: &Path, shown: String) -> Option<Finding> {
    let text = fs::read_to_string(path).ok()?;
    let (about, intent) = match format::recognise(&shown, &text) {
        Ok(Recognised::Format(format)) => match format.name {
            // A sprint is run by its folder.
            "sprint" | "sprint-progress" | "prd-features" | "prd-user-stories" | "task-file" => {
                (format.about.to_owned(), Intent::Run)
            }
            "sdlc" => (format.about.to_owned(), Intent::Adopt),
            _ => return None,
        },
        Ok(Recognised::Empty(_)) => return None,
        Ok(Recognised::Unreadable(format)) => (
            format!("{}, which cannot be read", format.about),
            Intent::LeaveAlone,
        ),
        Err(what) => (what, Intent::LeaveAlone),
    };
    Some(Finding {
        path: shown,
        about,
        intent,
    })
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
            matches!(finding.intent, Intent::Adopt | Intent::Begin | Intent::Kept)
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
        if matches!(finding.intent, Intent::Adopt | Intent::Begin)
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

/// Turns the faces on that belong to a run of this format, unless somebody has
/// turned one off or another tool's file is in its place; which are new.
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
        if known || !is_ours {
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
