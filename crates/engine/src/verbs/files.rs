//! `piton files`: the native files of a project, listed, checked, brought up to
//! date, turned into another format.

mod convert;
mod migrate;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use piton_core::{Need, RunId};
pub use piton_formats::format::Grade;
use piton_formats::format::{self, Format, Recognised};
use piton_formats::plan_file::PlanFile;
use piton_formats::problem::Source;
use serde::Serialize;

use super::control::show_in_file;
use crate::exchange::stage;
use crate::faces::{self, FILES, News};
use crate::failure::{Failure, Findings, unreadable, unwritable};
use crate::project::Project;
use crate::session::Session;
use crate::world::World;

pub use self::convert::{Converted, Lost, convert};
pub use self::migrate::{Migrated, migrate};

/// A larger file is not looked at as a whole to tell what it is.
const BYTES_MAX: u64 = 512 << 20;
/// How deep below the project native files are looked for.
const DEPTH_MAX: usize = 4;
/// Folders in which nobody keeps such files.
const PASSED_OVER: [&str; 6] = [".git", ".piton", "node_modules", "target", "dist", ".venv"];
/// Names and endings of files that may be native ones.
const NAMES: [&str; 10] = [
    "progress.json",
    "progress.md",
    "guardrails.md",
    "prd.json",
    "RALPH_TASK.md",
    "PROGRESS.yaml",
    "SPRINT.yaml",
    "state.json",
    "progress.txt",
    "manifest.yaml",
];

/// Where a native file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Kept up to date, and taken in when others write it.
    Face,
    /// A person is asked what is to become of it.
    Asked,
    /// Not kept up to date.
    Off,
    /// The plan of a run, or its progress.
    Plan,
    /// Another tool's, left alone.
    Foreign,
    /// It cannot be read.
    Unreadable,
}

/// A native file of the project.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// Its path, relative to the project.
    pub path: String,
    /// The format; none for one of another tool.
    pub format: Option<&'static str>,
    /// What it is, in a few words.
    pub about: String,
    /// Where it stands.
    pub standing: Standing,
    /// The run whose plan it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// How many errors it has.
    pub errors: usize,
    /// How many warnings it has.
    pub warnings: usize,
}

/// Every native file of the project.
///
/// # Errors
///
/// When there is a store that cannot be read.
pub fn list(world: &World) -> Result<Vec<Listed>, Failure> {
    let project = Project::find(world, &world.cwd);
    let session = Session::read(world, &world.cwd)?;
    let mut known = Known::default();
    if let Some(session) = &session {
        known.load(session)?;
    }
    let is_made = |path: &PathBuf| {
        let shown = project.relative(path);
        FILES
            .iter()
            .any(|file| file.derived_path() == Some(&*shown))
    };
    let mut listed: Vec<Listed> = look_for(&project)
        .into_iter()
        // What is made of another file is nobody's to list.
        .filter(|path| !is_made(path))
        .filter_map(|path| listed(&project, &path, &known))
        .collect();
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listed)
}

/// What the journal knows of native files.
#[derive(Default)]
struct Known {
    faces: BTreeMap<String, bool>,
    asked: Vec<String>,
    plans: BTreeMap<String, String>,
}

impl Known {
    fn load(&mut self, session: &Session<'_>) -> Result<(), Failure> {
        let rows = session.load(&[Need::Faces, Need::OpenDecisions(None), Need::Runs])?;
        for face in rows.tables.faces() {
            self.faces.insert(face.path.clone(), face.on);
        }
        let decisions = rows.tables.decisions();
        self.asked.extend(
            decisions
                .filter(|row| row.verdict.is_none())
                .filter_map(|row| row.file.clone()),
        );
        for run in rows.tables.runs() {
            if let Some(path) = PlanFile::path(run) {
                self.plans.insert(path, run.name.clone());
            }
        }
        Ok(())
    }
}

fn listed(project: &Project, path: &Path, known: &Known) -> Option<Listed> {
    let shown = project.relative(path);
    let bytes = fs::read(path).ok()?;
    let run = known.plans.get(&shown).cloned();
    let mut listed = Listed {
        path: shown.clone(),
        format: None,
        about: String::new(),
        standing: Standing::Foreign,
        run: run.clone(),
        errors: 0,
        warnings: 0,
    };
    let Ok(text) = String::from_utf8(bytes) else {
        listed.about = "no UTF-8 text".to_owned();
        listed.standing = Standing::Unreadable;
        return Some(listed);
    };
    let (format, standing) = match format::recognise(&shown, &text) {
        Err(what) => {
            listed.about = what;
            return Some(listed);
        }
        Ok(Recognised::Unreadable(format)) => (format, Standing::Unreadable),
        Ok(Recognised::Format(format) | Recognised::Empty(format)) => {
            let standing = match known.faces.get(&shown) {
                Some(true) => Standing::Face,
                Some(false) | None if run.is_some() => Standing::Plan,
                Some(false) | None => Standing::Off,
            };
            (format, standing)
        }
    };
    let problems = format.check(
        Source {
            name: &shown,
            text: &text,
        },
        Grade::Tolerant,
    );
    listed.format = Some(format.name);
    listed.about = format.about.to_owned();
    listed.errors = problems.iter().filter(|problem| problem.is_error()).count();
    listed.warnings = problems.len() - listed.errors;
    listed.standing = if known.asked.contains(&shown) {
        Standing::Asked
    } else {
        standing
    };
    Some(listed)
}

/// The files of the project that may be native ones.
pub(crate) fn look_for(project: &Project) -> Vec<PathBuf> {
    let mut found = Vec::new();
    look_in(&project.root, DEPTH_MAX, &mut found);
    found
}

fn look_in(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && depth > 0 && !PASSED_OVER.contains(&&*name) {
            look_in(&entry.path(), depth - 1, found);
        }
        let small = entry.metadata().is_ok_and(|found| found.len() <= BYTES_MAX);
        if kind.is_file() && small && NAMES.contains(&&*name) {
            found.push(entry.path());
        }
    }
}

/// What is wrong with files.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// How many files were read.
    pub files: usize,
    /// What is wrong, with the texts.
    pub findings: Findings,
}

/// Says what is wrong with files.
///
/// # Errors
///
/// When one cannot be read at all, or is none that piton knows.
pub fn check(world: &World, files: &[PathBuf], grade: Grade) -> Result<Checked, Failure> {
    let mut checked = Checked::default();
    for file in files {
        let path = world.path(file);
        let shown = file.display().to_string();
        let bytes = fs::read(&path).map_err(|error| unreadable(&path, error))?;
        checked.files += 1;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let problem = faces::not_utf8(&shown, error.as_bytes());
                checked.findings.problems.push(problem);
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                checked.findings.sources.insert(shown, text);
                continue;
            }
        };
        let full = path.to_string_lossy().into_owned();
        let format = match format::recognise(&full, &text) {
            Ok(
                Recognised::Format(format)
                | Recognised::Empty(format)
                | Recognised::Unreadable(format),
            ) => format,
            Err(what) => {
                checked
                    .findings
                    .problems
                    .push(faces::foreign(&shown, &what));
                checked.findings.sources.insert(shown, text);
                continue;
            }
        };
        let problems = format.check(
            Source {
                name: &shown,
                text: &text,
            },
            grade,
        );
        checked.findings.problems.extend(problems);
        checked.findings.sources.insert(shown, text);
    }
    Ok(checked)
}

/// The JSON Schema of a format.
///
/// # Errors
///
/// When there is no such format, or it is neither JSON nor YAML.
pub fn schema(name: &str) -> Result<serde_json::Value, Failure> {
    let known: Vec<&str> = format::FORMATS
        .iter()
        .filter(|format| format.schema().is_some())
        .map(|format| format.name)
        .collect();
    let found = format::named(name).and_then(Format::schema);
    found.ok_or_else(|| {
        Failure::new("usage", format!("there is no schema for `{name}`"))
            .hint(format!("there is one for: {}", known.join(", ")))
    })
}

/// What came of bringing the files up to date.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Synced {
    /// What happened, a line for each thing.
    pub said: Vec<String>,
    /// Files about which a person is asked.
    pub asked: Vec<String>,
}

/// Takes in what others wrote into native files, and brings all up to date.
///
/// # Errors
///
/// When nothing was ever recorded here, or the store fails.
pub fn sync(world: &World) -> Result<Synced, Failure> {
    let Some(session) = Session::write(world, &world.cwd)? else {
        return Err(
            Failure::new("store.missing", "nothing was ever recorded here")
                .hint("begin with `piton init`"),
        );
    };
    let mut synced = Synced::default();
    // That a person is asked is said once, of new and old questions alike.
    let news = faces::follow(&session).into_iter();
    let news = news.filter(|news| !matches!(news, News::Asked(_)));
    synced.said.extend(news.map(|news| news.to_string()));
    for run in session.runs()? {
        if run.id != RunId::PROJECT {
            synced.said.extend(show_in_file(&session, &run)?.said);
        }
    }
    let rows = session.load(&[Need::OpenDecisions(None)])?;
    let open = rows.tables.decisions().filter(|row| row.verdict.is_none());
    synced.asked = open.filter_map(|row| row.file.clone()).collect();
    Ok(synced)
}

/// Writes a file that is not there yet.
///
/// # Errors
///
/// When there is one, or it cannot be written.
pub fn write_new(world: &World, target: &Path, text: &str) -> Result<(), Failure> {
    let path = world.path(target);
    if path.exists() {
        return Err(Failure::new(
            "file.exists",
            format!("{} is there already", target.display()),
        )
        .hint("name another file with `-o FILE`"));
    }
    let put = stage(&path, text.as_bytes()).and_then(|staged| staged.exchange());
    put.map(drop).map_err(|error| unwritable(&path, error))
}
