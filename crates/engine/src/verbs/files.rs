//! `piton files`: the native files of a project, listed, checked, brought up to
//! date, turned into another format.

mod convert;
mod driver;
mod elsewhere;
pub(crate) mod look;
mod migrate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use piton_core::Need;
pub use piton_formats::adoption::{Adoption, Count};
pub use piton_formats::format::Grade;
use piton_formats::format::{self, Format, Recognised};
use piton_formats::plan_file::PlanFile;
use piton_formats::problem::{Problem, Source};
use serde::Serialize;

use super::control::show_in_file;
use super::journal::missing;
use crate::failure::{Exit, Failure, Findings, unreadable, unwritable};
use crate::input;
use crate::native_files::exchange::stage;
use crate::native_files::project_sync::{self, Waiting};
use crate::native_files::{self, News};
use crate::project::Project;
use crate::session::{Session, open_runs};
use crate::world::World;

pub use self::convert::{Converted, Lost, convert};
pub use self::driver::{DriverChange, DriverFiles, apply_driver, look_at_driver, merge_files};
pub use self::elsewhere::{Elsewhere, elsewhere};
use self::look::{There, look_for, there};
pub use self::migrate::{Migrated, migrate};

/// Where a native file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Kept up to date, and taken in when others write it.
    Face,
    /// Kept up to date, and not there: there is nothing to show yet, or somebody
    /// took it away.
    Missing,
    /// That of a second work tree: the file of the first one is kept.
    Elsewhere,
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
    /// Where the link leads, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<PathBuf>,
    /// How many errors it has.
    pub errors: usize,
    /// How many warnings it has.
    pub warnings: usize,
    /// What of it is taken, and what is not.
    #[serde(skip_serializing_if = "is_nothing")]
    pub adoption: Adoption,
}

fn is_nothing(adoption: &Adoption) -> bool {
    adoption.counts.is_empty()
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
    let mut listed: Vec<Listed> = look_for(&project, &project.root)
        .into_iter()
        .filter_map(|path| listed(&project, &path, &known))
        .collect();
    let missing = known.kept().filter(|path| {
        listed.iter().all(|file| file.path != **path)
            && matches!(there(&project.absolute(path)), There::Nothing)
    });
    let missing: Vec<Listed> = missing.map(|path| listed_missing(path, &known)).collect();
    listed.extend(missing);
    if let Some(elsewhere) = elsewhere(&project) {
        listed.extend(elsewhere.listed());
    }
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listed)
}

/// What the journal knows of native files.
#[derive(Default)]
struct Known {
    faces: BTreeMap<String, bool>,
    asked: Vec<String>,
    plans: BTreeMap<String, String>,
    /// The plans whose run is not over.
    open: Vec<String>,
}

impl Known {
    fn load(&mut self, session: &Session<'_>) -> Result<(), Failure> {
        let rows = session.load(&[Need::Faces, Need::OpenDecisions(None)])?;
        for face in rows.tables.faces() {
            self.faces.insert(face.path.clone(), face.on);
        }
        let decisions = rows.tables.decisions();
        self.asked.extend(
            decisions
                .filter(|row| row.verdict.is_none())
                .filter_map(|row| row.file.clone()),
        );
        let runs = session.runs()?;
        for run in &runs {
            if let Some(path) = PlanFile::path(run) {
                self.plans.insert(path, run.name.clone());
            }
        }
        self.open
            .extend(open_runs(&runs).filter_map(PlanFile::path));
        Ok(())
    }

    /// The paths of what is kept up to date.
    fn kept(&self) -> impl Iterator<Item = &String> {
        let faces = self.faces.iter().filter(|(_, on)| **on);
        faces.map(|(path, _)| path).chain(&self.open)
    }
}

fn bare(path: &str, known: &Known) -> Listed {
    Listed {
        path: path.to_owned(),
        format: None,
        about: String::new(),
        standing: Standing::Foreign,
        run: known.plans.get(path).cloned(),
        link: None,
        errors: 0,
        warnings: 0,
        adoption: Adoption::default(),
    }
}

fn listed_missing(path: &str, known: &Known) -> Listed {
    let format = format::at(path);
    Listed {
        format: format.map(|format| format.name),
        about: format.map_or("", |format| format.about).to_owned(),
        standing: Standing::Missing,
        ..bare(path, known)
    }
}

fn listed(project: &Project, path: &str, known: &Known) -> Option<Listed> {
    let full = project.absolute(path);
    let mut listed = Listed {
        link: look::link(&full),
        ..bare(path, known)
    };
    let is_face = known.faces.get(path) == Some(&true);
    let text = match there(&full) {
        There::Nothing => return None,
        There::Text(text) => text,
        There::Unfit(what) => {
            // What piton itself made large is kept up to date all the same.
            let is_kept = is_face && look::blocked(&full).is_none();
            listed.about = what;
            listed.standing = if is_kept {
                Standing::Face
            } else {
                Standing::Unreadable
            };
            return Some(listed);
        }
    };
    let (format, standing) = match format::recognise(path, &text) {
        Err(what) => {
            listed.about = what;
            return Some(listed);
        }
        Ok(Recognised::Unreadable(format)) => (format, Standing::Unreadable),
        Ok(Recognised::Format(format) | Recognised::Empty(format)) => {
            let standing = if is_face {
                Standing::Face
            } else if listed.run.is_some() {
                Standing::Plan
            } else {
                Standing::Off
            };
            (format, standing)
        }
    };
    let source = Source {
        name: path,
        text: &text,
    };
    let problems = format.check(source, Grade::Tolerant);
    listed.adoption = format.adoption(source);
    listed.format = Some(format.name);
    listed.about = format.about.to_owned();
    listed.errors = problems.iter().filter(|problem| problem.is_error()).count();
    listed.warnings = problems.len() - listed.errors;
    let is_asked = known.asked.iter().any(|asked| asked == path);
    listed.standing = if is_asked { Standing::Asked } else { standing };
    Some(listed)
}

/// What of a file is taken.
#[derive(Clone, Debug, Serialize)]
pub struct Adopted {
    /// The file, as it was named.
    pub file: String,
    /// What is taken, and what is not.
    pub counts: Adoption,
}

/// What is wrong with files.
#[derive(Debug, Default)]
pub struct Checked {
    /// How many files were read.
    pub files: usize,
    /// What is wrong, with the texts.
    pub findings: Findings,
    /// What of each file is taken, and what is not.
    pub adopted: Vec<Adopted>,
    /// The files that could not be read at all, and why.
    pub unread: Vec<(String, Failure)>,
}

impl Checked {
    /// What to end with: the worst that was met. Strictly, nothing may be left in
    /// a file without being taken.
    #[must_use]
    pub fn exit(&self, grade: Grade) -> Exit {
        let is_whole = grade == Grade::Tolerant || self.is_whole();
        let judged = if self.findings.errors() == 0 && is_whole {
            Exit::Done
        } else {
            Exit::No
        };
        let unread = self.unread.iter().map(|(_, failure)| failure.exit());
        unread.chain([judged]).max().unwrap_or(judged)
    }

    /// Whether everything in the files is taken.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.adopted.iter().all(|file| file.counts.is_whole())
    }
}

/// Nothing needs to be done about a file that nobody asked piton to keep.
const FOREIGN_HINT: &str =
    "piton leaves it as it is; if it is meant to be a native file, see `piton files schema --help`";

/// Says what is wrong with files. One that cannot be read at all keeps none of
/// the others from being judged.
#[must_use]
pub fn check(world: &World, files: &[PathBuf], grade: Grade) -> Checked {
    let mut checked = Checked::default();
    for file in files {
        let path = world.path(file);
        let shown = file.display().to_string();
        let bytes = match input::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                checked.unread.push((shown, unreadable(file, error)));
                continue;
            }
        };
        checked.files += 1;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let problem = native_files::not_utf8(&shown, error.as_bytes());
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
                checked.findings.problems.push(Problem {
                    hint: FOREIGN_HINT.to_owned(),
                    ..native_files::foreign(&shown, &what)
                });
                checked.findings.sources.insert(shown, text);
                continue;
            }
        };
        let source = Source {
            name: &shown,
            text: &text,
        };
        checked
            .findings
            .problems
            .extend(format.check(source, grade));
        checked.adopted.push(Adopted {
            file: shown.clone(),
            counts: format.adoption(source),
        });
        checked.findings.sources.insert(shown, text);
    }
    checked
}

/// The JSON Schema of a format.
///
/// # Errors
///
/// When there is no such format, or it is neither JSON nor YAML.
pub fn schema(name: &str) -> Result<serde_json::Value, Failure> {
    let known: Vec<&str> = format::all()
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
    /// Files that could not be brought up to date, and why.
    pub behind: Vec<String>,
    /// The work tree whose files are kept, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
}

/// Takes in what others wrote into native files, and brings all up to date.
///
/// # Errors
///
/// When nothing was ever recorded here, or the store fails.
pub fn sync(world: &World) -> Result<Synced, Failure> {
    let Some(session) = Session::write(world, &world.cwd)? else {
        return Err(missing());
    };
    let mut synced = Synced {
        elsewhere: elsewhere(&session.project),
        ..Synced::default()
    };
    let mut news = project_sync::follow_to_rest(&session, &mut Waiting::new());
    for run in session.runs()? {
        news.extend(show_in_file(&session, &run)?);
    }
    for news in news {
        match news {
            News::Behind(why) => synced.behind.push(why),
            // That a person is asked is said once, of new and old questions alike.
            News::Asked(_) => {}
            News::Told(what) | News::Left(what) => synced.said.push(what),
        }
    }
    let mut known = Known::default();
    known.load(&session)?;
    for path in known.kept() {
        let why = look::blocked(&session.project.absolute(path));
        let why = why.map(|why| News::behind(path, why).to_string());
        synced.behind.extend(why);
    }
    synced.asked = known.asked;
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
