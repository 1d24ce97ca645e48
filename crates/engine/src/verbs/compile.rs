//! `piton plan compile` and `plan check`: from `SPRINT.yaml` to `PROGRESS.yaml`.
//! Never opens the store.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use piton_formats::format::Grade;
use piton_formats::problem::Problem;
use piton_formats::sprint::{
    CompileOptions, PhaseStatus, SourceText, SprintProgress, SprintStatus, WorkflowLookup,
    WorkflowSource, compile, parse_progress, render_progress,
};
use piton_formats::yaml::Span;
use serde::{Serialize, Serializer};

use super::files;
use super::run::plan_path::PlanPath;
use crate::failure::{Failure, Findings, outside_failure, unwritable_file};
use crate::native_files::exchange::{stage, sync_folder, write_through};
use crate::process::shell::quote_word;
use crate::project::{Project, find_outside_link};
use crate::world::World;
use crate::world::input;

/// Larger definitions are taken for a mistake.
const SOURCE_BYTES_MAX: u64 = 32 << 20;

/// Where the compiled sprint goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileTarget {
    /// `PROGRESS.yaml` of the sprint's folder, if that is absent or not started.
    Beside,
    /// This file.
    File(PathBuf),
    /// Nowhere: the caller takes it.
    Caller,
}

/// What came of compiling.
#[derive(Clone, Debug, Serialize)]
pub struct CompiledSprint {
    /// What is wrong.
    #[serde(flatten)]
    pub findings: Findings,
    /// The sprint; none when there is an error among the problems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<SprintProgress>,
    /// The sprint as text.
    #[serde(skip)]
    pub text: Option<String>,
    /// The file that was written.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "serialize_shown_path"
    )]
    pub written: Option<PathBuf>,
}

crate::name_schema!(CompiledSprint, "piton.plan.compile/1");

fn serialize_shown_path<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let shown = path.as_ref().map(|path| path.to_string_lossy());
    shown.serialize(serializer)
}

/// What is wrong with a plan.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedPlan {
    /// What was looked at, as the user named it.
    #[serde(skip)]
    pub shown: PathBuf,
    /// What is wrong.
    #[serde(flatten)]
    pub findings: Findings,
    /// Whether it can be run.
    #[serde(skip)]
    pub is_fine: bool,
}

crate::name_schema!(CheckedPlan, "piton.plan.check/1");

/// Says what is wrong with the plan at a path: a sprint, or a plan in one file.
/// Of a folder without a sprint, the first plan in one file that lies in it.
/// Writes nothing.
///
/// # Errors
///
/// When nothing is there, or no plan.
pub fn check_plan(
    world: &World,
    typed: &Path,
    workflows: Option<&Path>,
    strict: bool,
) -> Result<CheckedPlan, Failure> {
    let folder = world.resolve_path(typed);
    let in_folder = || {
        let is_sprint = folder.join("SPRINT.yaml").exists();
        let mut among = PlanPath::collect_in_folder(world, typed).into_iter();
        among.next().filter(|_| folder.is_dir() && !is_sprint)
    };
    let Some(file) = PlanPath::resolve(world, typed).or_else(in_folder) else {
        let sprint = sprint_path(world, typed)?;
        let compiled = check_sprint(world, &sprint, workflows, strict);
        return Ok(CheckedPlan {
            shown: sprint.shown,
            is_fine: compiled.progress.is_some(),
            findings: compiled.findings,
        });
    };
    let grade = if strict {
        Grade::Strict
    } else {
        Grade::Tolerant
    };
    let findings = match file.check() {
        Ok(()) => files::check(world, std::slice::from_ref(&file.shown), grade).findings,
        Err(failure) => match failure.findings {
            Some(findings) => *findings,
            None => return Err(failure),
        },
    };
    Ok(CheckedPlan {
        is_fine: findings.error_count() == 0,
        shown: file.shown,
        findings,
    })
}

/// The folder and the definition that a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SprintPath {
    /// The folder.
    pub folder: PathBuf,
    /// The definition, whether or not it is there.
    pub file: PathBuf,
    /// How the user named the folder, for messages.
    pub shown: PathBuf,
}

impl SprintPath {
    /// The compiled sprint, whether or not it is there.
    #[must_use]
    pub fn progress_file(&self) -> PathBuf {
        self.folder.join("PROGRESS.yaml")
    }

    /// The sprint's folder by name: the id of a sprint that has none.
    #[must_use]
    pub fn dir_name(&self) -> String {
        self.folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }
}

/// Whether the definition of a sprint lies in a folder.
pub(crate) fn has_definition(folder: &Path) -> bool {
    folder.join("SPRINT.yaml").is_file()
}

/// What a sprint's folder or its `SPRINT.yaml` is, as typed.
///
/// # Errors
///
/// When nothing is there, or a file that is no YAML by its name.
pub fn sprint_path(world: &World, typed: &Path) -> Result<SprintPath, Failure> {
    let path = world.resolve_path(typed);
    let found = fs::metadata(&path).map_err(|error| {
        Failure::new("plan.none", format!("cannot find {}", typed.display()))
            .with_hint("name a folder with a SPRINT.yaml, or the file itself")
            .with_source(error)
    })?;
    let own = ["", "SPRINT.yaml", "PROGRESS.yaml", "PROGRESS.yaml.backup"];
    for name in own.iter().filter(|name| name.is_empty() || found.is_dir()) {
        let link = find_outside_link(world, &path.join(name));
        link.map_or(Ok(()), |link| Err(outside_failure(&link)))?;
    }
    let full = fs::canonicalize(&path).unwrap_or(path);
    if found.is_dir() {
        return Ok(SprintPath {
            file: full.join("SPRINT.yaml"),
            folder: full,
            shown: typed.to_owned(),
        });
    }
    let is_yaml = full
        .extension()
        .is_some_and(|ending| ending == "yaml" || ending == "yml");
    if !is_yaml {
        if let Err(special) = input::refuse_special(&found) {
            return Err(crate::failure::unreadable_file(typed, special));
        }
        return Err(Failure::new(
            "plan.none",
            format!("{} is a file, and not a plan", typed.display()),
        )
        .with_hint("name a folder with a SPRINT.yaml, or the file itself"));
    }
    let folder = full.parent().unwrap_or(Path::new("/")).to_owned();
    let shown = typed
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
        .to_owned();
    Ok(SprintPath {
        file: full,
        folder,
        shown,
    })
}

/// Compiles a sprint.
///
/// `workflows` is the folder of the workflows; without it `.claude/workflows`
/// of the work tree. What is wrong in the files is an answer, not a failure.
///
/// # Errors
///
/// When the target cannot be written, or holds progress already.
pub fn compile_sprint(
    world: &World,
    sprint: &SprintPath,
    workflows: Option<&Path>,
    strict: bool,
    target: &CompileTarget,
) -> Result<CompiledSprint, Failure> {
    let mut compiled = check_sprint(world, sprint, workflows, strict);
    let Some(text) = &compiled.text else {
        return Ok(compiled);
    };
    let target = match target {
        CompileTarget::Beside => sprint.progress_file(),
        CompileTarget::File(file) => world.resolve_path(file),
        CompileTarget::Caller => return Ok(compiled),
    };
    refuse_started(world, &target)?;
    replace_file(&target, text.as_bytes())?;
    compiled.written = Some(target);
    Ok(compiled)
}

/// Compiles a sprint and writes nothing.
#[must_use]
pub fn check_sprint(
    world: &World,
    sprint: &SprintPath,
    workflows: Option<&Path>,
    strict: bool,
) -> CompiledSprint {
    check_text(
        world,
        sprint,
        read_definition(&sprint.file),
        workflows,
        strict,
    )
}

/// Compiles a definition that need not be on the disk, and writes nothing.
pub(super) fn check_text(
    world: &World,
    sprint: &SprintPath,
    text: Result<String, String>,
    workflows: Option<&Path>,
    strict: bool,
) -> CompiledSprint {
    let project = Project::find(world, &sprint.folder);
    let folder = match workflows {
        Some(folder) => world.resolve_path(folder),
        None => project.work_tree.join(".claude").join("workflows"),
    };
    let shown = sprint
        .shown
        .join(sprint.file.file_name().unwrap_or_default());
    let name = normalize_path(&shown);
    let library = WorkflowFolder {
        folder,
        project: workflows.is_none().then_some(project),
        sources: RefCell::new(BTreeMap::new()),
        shown: workflows.map(Path::to_owned),
    };
    let (progress, problems, text) = match text {
        Ok(text) => {
            let date = world.now().strftime("%Y-%m-%d").to_string();
            let source = SourceText {
                name: &name,
                text: &text,
            };
            let answer = compile(
                source,
                &sprint.dir_name(),
                &library,
                CompileOptions {
                    strict,
                    date: &date,
                },
            );
            (answer.progress, answer.problems, text)
        }
        Err(why) => {
            let problem = Problem::error("SPRINT_LOAD_ERROR", &name, "", Span::default())
                .with_message(why, "name a folder that holds a SPRINT.yaml in UTF-8");
            (None, vec![problem], String::new())
        }
    };
    let mut sources = library.sources.into_inner();
    sources.insert(name, text);
    sources.retain(|file, _| problems.iter().any(|problem| problem.file == *file));
    let text = progress.as_ref().map(render_progress);
    CompiledSprint {
        text,
        progress,
        findings: Findings { problems, sources },
        written: None,
    }
}

fn normalize_path(path: &Path) -> String {
    let path: PathBuf = path
        .components()
        .filter(|part| *part != std::path::Component::CurDir)
        .collect();
    path.to_string_lossy().into_owned()
}

/// The text of a definition, or why there is none.
pub(super) fn read_definition(path: &Path) -> Result<String, String> {
    let found = fs::metadata(path).map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            "there is no such file".to_owned()
        } else {
            format!("cannot be read: {error}")
        }
    })?;
    if !found.is_file() {
        return Err("is not a file".to_owned());
    }
    if found.len() > SOURCE_BYTES_MAX {
        return Err(format!(
            "is {} MB large, which no definition is; {} MB is the most",
            found.len() >> 20,
            SOURCE_BYTES_MAX >> 20
        ));
    }
    let bytes = input::read_file(path).map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        format!("is not UTF-8 text (line {line}, byte {valid})")
    })
}

/// The workflows of a folder, read as they are asked for.
struct WorkflowFolder {
    folder: PathBuf,
    /// The project that names the folder; none where a user did.
    project: Option<Project>,
    shown: Option<PathBuf>,
    sources: RefCell<BTreeMap<String, String>>,
}

impl WorkflowFolder {
    fn display_path(&self, name: &str) -> String {
        let folder = self
            .shown
            .clone()
            .unwrap_or_else(|| Path::new(".claude").join("workflows"));
        normalize_path(&folder.join(name))
    }
}

impl WorkflowSource for WorkflowFolder {
    fn read_workflow(&self, name: &str) -> WorkflowLookup {
        let names = [
            format!("{name}.yaml"),
            format!("{name}.yml"),
            name.to_owned(),
        ];
        for file in &names {
            let path = self.folder.join(file);
            if !path.is_file() {
                continue;
            }
            let shown = self.display_path(file);
            let inside = self
                .project
                .as_ref()
                .map(|project| project.resolve_named(&path));
            let refused = inside
                .and_then(Result::err)
                .map(|error| format!(": {error}"));
            return match refused.map_or_else(|| read_definition(&path), Err) {
                Ok(text) => {
                    self.sources
                        .borrow_mut()
                        .insert(shown.clone(), text.clone());
                    WorkflowLookup::Found { name: shown, text }
                }
                Err(why) => WorkflowLookup::Unreadable {
                    why: format!("{shown} {why}"),
                },
            };
        }
        WorkflowLookup::Missing {
            looked_for: names.iter().map(|file| self.display_path(file)).collect(),
        }
    }
}

/// Refuses to put a fresh sprint over one that holds progress.
fn refuse_started(world: &World, target: &Path) -> Result<(), Failure> {
    // What is no regular file holds nothing, and reading a pipe would wait for ever.
    let Ok(found) = fs::metadata(target).and_then(|found| match found.is_file() {
        true => Ok(found),
        false => Err(ErrorKind::InvalidInput.into()),
    }) else {
        return Ok(());
    };
    let Ok(text) = input::read_file_text(target) else {
        return if found.len() > 0 {
            Err(started_failure(world, target, "is there and is not text"))
        } else {
            Ok(())
        };
    };
    if text.trim().is_empty() {
        return Ok(());
    }
    let (progress, problems) = parse_progress(SourceText {
        name: "",
        text: &text,
    });
    match progress {
        Some(progress) if is_fresh(&progress) && !problems.iter().any(Problem::is_error) => Ok(()),
        Some(_) => Err(started_failure(world, target, "holds progress")),
        None => Err(started_failure(
            world,
            target,
            "is there and is not a fresh PROGRESS.yaml",
        )),
    }
}

fn started_failure(world: &World, target: &Path, what: &str) -> Failure {
    let folder = target.parent().unwrap_or(Path::new("."));
    let folder = folder.strip_prefix(&world.cwd).unwrap_or(folder);
    let folder = if folder == Path::new("") {
        Path::new(".")
    } else {
        folder
    };
    let typed = quote_word(&folder.to_string_lossy()).into_owned();
    let message = format!("{} {what}; nothing was written", target.display());
    Failure::new("plan.started", message).with_hint(format!(
        "print it with `piton plan compile {typed} -o -`, or begin a new run with `piton run {typed} --recompile`, which keeps the old file beside"
    ))
}

fn is_fresh(progress: &SprintProgress) -> bool {
    progress.status == SprintStatus::NotStarted
        && progress
            .phases
            .iter()
            .all(|phase| phase.status == PhaseStatus::Pending)
}

/// Puts another text in the place of a definition.
pub(super) fn replace_definition(target: &Path, bytes: &[u8]) -> Result<(), Failure> {
    replace_file(target, bytes)
}

fn replace_file(target: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let fault = |error| unwritable_file(&target, error);
    if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        return write_through(&target, bytes).map_err(fault);
    }
    stage(&target, bytes)
        .and_then(crate::native_files::exchange::StagedFile::exchange)
        .map_err(fault)?;
    sync_folder(target.parent().unwrap_or(Path::new("."))).map_err(fault)
}
