//! `piton files`: the native files of a project, listed, checked, brought up to
//! date, turned into another format.

mod convert;
pub(crate) mod discovery;
mod driver;
mod migrate;
mod second_worktree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use piton_core::Need;
pub use piton_formats::adoption::{Adoption, AdoptionCount};
pub use piton_formats::format::Grade;
use piton_formats::format::{self, Format, RecognisedFile};
use piton_formats::plan_file::PlanFile;
use piton_formats::problem::{Problem, SourceText};
use serde::{Serialize, Serializer};

use super::journal::missing_store_failure;
use crate::failure::{CommandExit, Failure, Findings, unreadable_file, unwritable_file};
use crate::native_files::exchange::stage;
use crate::native_files::plan_sync::at_rest::sync_plan_file;
use crate::native_files::project_sync::{self, AskedFileFingerprints};
use crate::native_files::{self, FileNotice};
use crate::project::Project;
use crate::session::{Session, open_runs};
use crate::world::World;
use crate::world::input;

pub use self::convert::{ConversionLoss, ConvertedFile, convert};
use self::discovery::{PathContent, collect_native_paths, read_content};
pub use self::driver::{
    DriverChange, DriverFiles, apply_driver_change, merge_files, plan_driver_change,
};
pub use self::migrate::{MigratedFile, MigratedFiles, migrate};
pub use self::second_worktree::{SecondWorktree, find_second_worktree};

/// Where a native file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileStanding {
    /// Kept up to date, and taken in when others write it.
    Face,
    /// Kept up to date, and not there: there is nothing to show yet, or it was removed.
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
pub struct ListedFile {
    /// Its path, relative to the project.
    pub path: String,
    /// The format; none for one of another tool.
    pub format: Option<&'static str>,
    /// What it is, in a few words.
    pub about: String,
    /// Where it stands.
    pub standing: FileStanding,
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
    #[serde(skip_serializing_if = "is_adoption_empty")]
    pub adoption: Adoption,
}

fn is_adoption_empty(adoption: &Adoption) -> bool {
    adoption.counts.is_empty()
}

/// The native files of a project.
#[derive(Clone, Debug, Serialize)]
pub struct ListedFiles {
    /// Each of them, by its path.
    pub files: Vec<ListedFile>,
}

crate::name_schema!(ListedFiles, "piton.files/1");

/// Every native file of the project.
///
/// # Errors
///
/// When there is a store that cannot be read.
pub fn list(world: &World) -> Result<ListedFiles, Failure> {
    let project = Project::find(world, &world.cwd);
    let session = Session::open_read_only(world, &world.cwd)?;
    let mut known = KnownFiles::default();
    if let Some(session) = &session {
        known.load(session)?;
    }
    let mut listed: Vec<ListedFile> = collect_native_paths(&project, &project.root)
        .into_iter()
        .filter_map(|path| list_file(&project, &path, &known))
        .collect();
    // A folder that is a link is not looked through.
    let hidden = project_sync::project_files().map(|file| file.path.to_owned());
    let hidden = hidden
        .filter(|path| discovery::outside_link(&project, &project.absolute_path(path)).is_some());
    let unlisted: BTreeSet<String> = known.synced_paths().cloned().chain(hidden).collect();
    for path in unlisted {
        if listed.iter().all(|file| file.path != path) {
            let file = list_file(&project, &path, &known);
            listed.push(file.unwrap_or_else(|| list_missing_file(&path, &known)));
        }
    }
    if let Some(elsewhere) = find_second_worktree(&project) {
        listed.extend(elsewhere.list_files());
    }
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(ListedFiles { files: listed })
}

/// What the journal knows of native files.
#[derive(Default)]
struct KnownFiles {
    faces: BTreeMap<String, bool>,
    asked: Vec<String>,
    plans: BTreeMap<String, String>,
    /// The plans whose run is not over.
    open: Vec<String>,
}

impl KnownFiles {
    fn load(&mut self, session: &Session<'_>) -> Result<(), Failure> {
        let rows = session.load(&[Need::Faces, Need::OpenDecisions(None)])?;
        for face in rows.tables.native_files() {
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
            if let Some(path) = PlanFile::path_of_run(run) {
                self.plans.insert(path, run.name.clone());
            }
        }
        self.open
            .extend(open_runs(&runs).filter_map(PlanFile::path_of_run));
        Ok(())
    }

    /// The paths of what is kept up to date.
    fn synced_paths(&self) -> impl Iterator<Item = &String> {
        let faces = self.faces.iter().filter(|(_, on)| **on);
        faces.map(|(path, _)| path).chain(&self.open)
    }
}

fn bare_listing(path: &str, known: &KnownFiles) -> ListedFile {
    ListedFile {
        path: path.to_owned(),
        format: None,
        about: String::new(),
        standing: FileStanding::Foreign,
        run: known.plans.get(path).cloned(),
        link: None,
        errors: 0,
        warnings: 0,
        adoption: Adoption::default(),
    }
}

fn list_missing_file(path: &str, known: &KnownFiles) -> ListedFile {
    let format = format::format_at_path(path);
    ListedFile {
        format: format.map(|format| format.name),
        about: format.map_or("", |format| format.about).to_owned(),
        standing: FileStanding::Missing,
        ..bare_listing(path, known)
    }
}

fn list_file(project: &Project, path: &str, known: &KnownFiles) -> Option<ListedFile> {
    let full = project.absolute_path(path);
    let mut listed = ListedFile {
        link: discovery::link_target(&full),
        ..bare_listing(path, known)
    };
    let is_face = known.faces.get(path) == Some(&true);
    let text = match read_content(project, path) {
        PathContent::Nothing => return None,
        PathContent::Text(text) => text,
        PathContent::Unfit(what) => {
            // What piton itself made large is kept up to date all the same.
            let is_kept = is_face && discovery::blocked_reason(project, path).is_none();
            listed.about = what;
            listed.standing = if is_kept {
                FileStanding::Face
            } else {
                FileStanding::Unreadable
            };
            return Some(listed);
        }
    };
    let (format, standing) = match format::recognise_file(path, &text) {
        Err(what) => {
            listed.about = what;
            return Some(listed);
        }
        Ok(RecognisedFile::Unreadable(format)) => (format, FileStanding::Unreadable),
        Ok(RecognisedFile::Format(format) | RecognisedFile::Empty(format)) => {
            let standing = if is_face {
                FileStanding::Face
            } else if listed.run.is_some() {
                FileStanding::Plan
            } else {
                FileStanding::Off
            };
            (format, standing)
        }
    };
    let source = SourceText {
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
    listed.standing = if is_asked {
        FileStanding::Asked
    } else {
        standing
    };
    Some(listed)
}

/// What of a file is taken.
#[derive(Clone, Debug, Serialize)]
pub struct AdoptedFile {
    /// The file, as it was named.
    pub file: String,
    /// What is taken, and what is not.
    pub counts: Adoption,
}

/// What is wrong with files.
#[derive(Debug, Default, Serialize)]
pub struct CheckedFiles {
    /// How many files were read.
    pub files: usize,
    /// What is wrong, with the texts.
    #[serde(flatten)]
    pub findings: Findings,
    /// What of each file is taken, and what is not.
    pub adopted: Vec<AdoptedFile>,
    /// The files that could not be read at all, and why. Answered without the reasons,
    /// which are failures of their own.
    #[serde(serialize_with = "serialize_names")]
    pub unread: Vec<(String, Failure)>,
}

crate::name_schema!(CheckedFiles, "piton.files.check/1");

fn serialize_names<S: Serializer>(
    unread: &[(String, Failure)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(unread.iter().map(|(name, _)| name))
}

impl CheckedFiles {
    /// What to end with: the worst that was met. Strictly, nothing may be left in
    /// a file without being taken.
    #[must_use]
    pub fn exit_code(&self, grade: Grade) -> CommandExit {
        let is_whole = grade == Grade::Tolerant || self.is_fully_adopted();
        let judged = if self.findings.error_count() == 0 && is_whole {
            CommandExit::Done
        } else {
            CommandExit::No
        };
        let unread = self.unread.iter().map(|(_, failure)| failure.exit_status());
        unread.chain([judged]).max().unwrap_or(judged)
    }

    /// Whether everything in the files is taken.
    #[must_use]
    pub fn is_fully_adopted(&self) -> bool {
        self.adopted.iter().all(|file| file.counts.is_complete())
    }
}

/// Nothing needs to be done about a file that piton was not asked to keep.
const FOREIGN_HINT: &str =
    "piton leaves it as it is; if it is meant to be a native file, see `piton files schema --help`";

/// Says what is wrong with files. One that cannot be read at all keeps none of
/// the others from being judged.
#[must_use]
pub fn check(world: &World, files: &[PathBuf], grade: Grade) -> CheckedFiles {
    let mut checked = CheckedFiles::default();
    for file in files {
        let path = world.resolve_path(file);
        let shown = file.display().to_string();
        let bytes = match input::read_bytes(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                checked.unread.push((shown, unreadable_file(file, error)));
                continue;
            }
        };
        checked.files += 1;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let problem = native_files::not_utf8_problem(&shown, error.as_bytes());
                checked.findings.problems.push(problem);
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                checked.findings.sources.insert(shown, text);
                continue;
            }
        };
        let full = path.to_string_lossy().into_owned();
        let format = match format::recognise_file(&full, &text) {
            Ok(
                RecognisedFile::Format(format)
                | RecognisedFile::Empty(format)
                | RecognisedFile::Unreadable(format),
            ) => format,
            Err(what) => {
                checked.findings.problems.push(Problem {
                    hint: FOREIGN_HINT.to_owned(),
                    ..native_files::foreign_file_problem(&shown, &what)
                });
                checked.findings.sources.insert(shown, text);
                continue;
            }
        };
        let source = SourceText {
            name: &shown,
            text: &text,
        };
        checked
            .findings
            .problems
            .extend(format.check(source, grade));
        checked.adopted.push(AdoptedFile {
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
pub fn json_schema(name: &str) -> Result<serde_json::Value, Failure> {
    let known: Vec<&str> = format::all_formats()
        .filter(|format| format.json_schema().is_some())
        .map(|format| format.name)
        .collect();
    let found = format::format_named(name).and_then(Format::json_schema);
    found.ok_or_else(|| {
        Failure::new("usage", format!("there is no schema for `{name}`"))
            .with_hint(format!("there is one for: {}", known.join(", ")))
    })
}

/// What came of bringing the files up to date.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SyncReport {
    /// What happened, a line for each thing.
    pub said: Vec<String>,
    /// Files about which a person is asked.
    pub asked: Vec<String>,
    /// Files that could not be brought up to date, and why.
    pub behind: Vec<String>,
    /// The work tree whose files are kept, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<SecondWorktree>,
}

crate::name_schema!(SyncReport, "piton.files.sync/1");

/// Takes in what others wrote into native files, and brings all up to date.
///
/// # Errors
///
/// When nothing was ever recorded here, or the store fails.
pub fn sync(world: &World) -> Result<SyncReport, Failure> {
    let Some(session) = Session::open_writable(world, &world.cwd)? else {
        return Err(missing_store_failure());
    };
    let mut synced = SyncReport {
        elsewhere: find_second_worktree(&session.project),
        ..SyncReport::default()
    };
    let mut news = project_sync::sync_files_at_rest(&session, &mut AskedFileFingerprints::new());
    for run in session.runs()? {
        news.extend(sync_plan_file(&session, &run)?);
    }
    for news in news {
        match news {
            FileNotice::Behind(why) => synced.behind.push(why),
            // That a person is asked is said once, of new and old questions alike.
            FileNotice::Asked(_) => {}
            FileNotice::Told(what) | FileNotice::Left(what) => synced.said.push(what),
        }
    }
    let mut known = KnownFiles::default();
    known.load(&session)?;
    let project = &session.project;
    // That one is a link out of the project was told when it was synced.
    let reachable =
        |path: &&String| discovery::outside_link(project, &project.absolute_path(path)).is_none();
    for path in known.synced_paths().filter(reachable) {
        let told = FileNotice::sync_failed(path, "").to_string();
        if synced.behind.iter().any(|behind| behind.starts_with(&told)) {
            continue;
        }
        let why = discovery::blocked_reason(project, path);
        let why = why.map(|why| FileNotice::sync_failed(path, why).to_string());
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
    write_if_new(world, target, |path| {
        stage(path, text.as_bytes())?.exchange().map(drop)
    })
}

/// The same, for what the store holds: as that, it is the user's alone.
///
/// # Errors
///
/// As [`write_new`].
pub fn write_new_private(world: &World, target: &Path, text: &str) -> Result<(), Failure> {
    write_if_new(world, target, |path| {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(text.as_bytes())
    })
}

fn write_if_new(
    world: &World,
    target: &Path,
    write: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), Failure> {
    let path = world.resolve_path(target);
    if path.exists() {
        return Err(Failure::new(
            "file.exists",
            format!("{} is there already", target.display()),
        )
        .with_hint("name another file with `-o FILE`"));
    }
    write(&path).map_err(|error| unwritable_file(&path, error))
}
