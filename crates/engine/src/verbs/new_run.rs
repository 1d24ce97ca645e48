//! `piton plan new --manifest`: the file of a run that goes from requirements to
//! issues.
//!
//! Nothing is fetched, and no run is begun: what is made is the file, for
//! `piton run` to work through.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use piton_formats::plan_format::{NewRunRequest, Phases};
use piton_formats::problem::{Problem, SourceText};
use piton_formats::registry::plan_formats;
use serde::Serialize;

use crate::failure::{Failure, Findings, unreadable_file, unwritable_file};
use crate::git::repositories::{PlanLocation, PlanRepositories};
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::session::Session;
use crate::world::World;
use crate::world::input;

/// What a new run is made of.
#[derive(Clone, Debug, Default)]
pub struct NewRunArgs {
    /// The file that names the repositories.
    pub manifest: PathBuf,
    /// Where the requirements are: a file, or an address; what the manifest says when
    /// absent.
    pub requirements: Option<String>,
    /// The file to write; `state.json` beside the manifest when absent.
    pub out: Option<PathBuf>,
}

/// A run that was begun.
#[derive(Clone, Debug, Serialize)]
pub struct CreatedRun {
    /// Its file.
    pub file: String,
    /// What it is called.
    pub run: String,
    /// Where the requirements are, as its file says it.
    pub requirements: String,
    /// The repositories that it is for.
    pub repos: Vec<String>,
    /// What deviates in the manifest.
    pub problems: Vec<Problem>,
    /// What to type next.
    pub next: String,
}

crate::name_schema!(CreatedRun, "piton.plan.run/1");

/// Makes the file of a run of a manifest and requirements.
///
/// # Errors
///
/// When the manifest cannot be read, has errors or names another repository, nothing
/// says where the requirements are, or the file is there.
pub fn new_run(world: &World, args: &NewRunArgs) -> Result<CreatedRun, Failure> {
    let phases = plan_formats().iter().find_map(|format| format.phases);
    let phases = phases.expect("one format has phases");
    let shown = args.manifest.to_string_lossy().into_owned();
    let path = world.resolve_path(&args.manifest);
    let text = input::read_text(&path).map_err(|error| unreadable_file(&args.manifest, error))?;
    let manifest = SourceText {
        name: &shown,
        text: &text,
    };
    let (file, typed) = output_file(world, args, &phases)?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let (requirements, topic) =
        resolve_requirements(world, args, folder, (phases.requirements_of)(manifest))?;
    let taken = match Session::open_read_only(world, folder)? {
        Some(session) => session.runs()?.into_iter().map(|run| run.name).collect(),
        None => Vec::new(),
    };
    let wish = NewRunRequest {
        requirements: &requirements,
        topic: topic.as_deref(),
        is_taken: &|name| taken.iter().any(|taken| taken == name),
    };
    let (new, problems) = (phases.begin)(manifest, &wish, world.now());
    let Some(new) = new else {
        let findings = Findings {
            problems,
            sources: [(shown.clone(), text.clone())].into(),
        };
        let count = match findings.error_count() {
            1 => "1 error".to_owned(),
            errors => format!("{errors} errors"),
        };
        let what = format!("{shown} has {count}; nothing was written");
        return Err(Failure::new("plan.problems", what)
            .with_hint("mend the manifest, then type the same again")
            .with_findings(findings));
    };
    let project = Project::find(world, folder);
    let found = (phases.repositories)(&new.text, Some(&text));
    let at = PlanLocation {
        file: typed.clone(),
        folder: folder.to_owned(),
        manifest: phases.manifest,
    };
    PlanRepositories::from_found(world, &project, at, found).refuse_misplaced(world)?;
    write_new(&file, &typed, new.text.as_bytes())?;
    Ok(CreatedRun {
        next: format!("piton run {}", quote_word(&typed)),
        file: typed,
        run: new.name,
        requirements,
        repos: new.repos,
        problems,
    })
}

/// The file to write, and how to type it.
fn output_file(
    world: &World,
    args: &NewRunArgs,
    phases: &Phases,
) -> Result<(PathBuf, String), Failure> {
    let typed = args
        .out
        .clone()
        .unwrap_or_else(|| args.manifest.with_file_name("state.json"));
    let file = world.resolve_path(&typed);
    let name = file.file_name().unwrap_or_default().to_owned();
    let folder = file.parent().unwrap_or(Path::new("/"));
    let folder = fs::canonicalize(folder).map_err(|error| unwritable_file(&typed, error))?;
    let beside = fs::canonicalize(world.resolve_path(&args.manifest)).ok();
    if beside != fs::canonicalize(folder.join(phases.manifest)).ok() {
        let what = format!(
            "`piton run` reads {} beside {}, which is not {}",
            phases.manifest,
            typed.display(),
            args.manifest.display()
        );
        return Err(Failure::new("usage", what).with_hint(format!(
            "call it {} and leave `--out` in its folder",
            phases.manifest
        )));
    }
    Ok((folder.join(name), typed.to_string_lossy().into_owned()))
}

/// Where the requirements are, seen from the folder of the new file, and what they
/// are about.
fn resolve_requirements(
    world: &World,
    args: &NewRunArgs,
    folder: &Path,
    of_manifest: Option<String>,
) -> Result<(String, Option<String>), Failure> {
    let is_address = |text: &str| text.contains("://");
    match (&args.requirements, of_manifest) {
        (Some(text), _) if is_address(text) => Ok((text.clone(), topic_of_address(text))),
        (Some(text), _) => {
            let path = Path::new(text);
            let file = fs::canonicalize(world.resolve_path(path))
                .map_err(|error| unreadable_file(path, error))?;
            let words = input::read_text(&file).map_err(|error| unreadable_file(path, error))?;
            Ok((
                relative_path(folder, &file),
                first_heading(&words).or_else(|| file_stem(&file)),
            ))
        }
        // What the manifest says is handed on as it is.
        (None, Some(text)) => {
            let topic = topic_of_address(&text);
            Ok((text, topic))
        }
        (None, None) => Err(Failure::new(
            "usage",
            format!(
                "nothing says where the requirements are: {} has no `prd`",
                args.manifest.display()
            ),
        )
        .with_hint("name them with `--prd FILE` or `--prd URL`")),
    }
}

/// The first heading of a text.
fn first_heading(text: &str) -> Option<String> {
    let mut headings = text.lines().filter_map(|line| line.strip_prefix("# "));
    let title = headings.next()?.trim();
    (!title.is_empty()).then(|| title.to_owned())
}

fn file_stem(file: &Path) -> Option<String> {
    Some(file.file_stem()?.to_string_lossy().into_owned())
}

/// The last part of an address that says something, without what it asks for and
/// without an ending.
fn topic_of_address(address: &str) -> Option<String> {
    let path = address.split_once("://").map_or(address, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    // What stands before the first slash is the host.
    let (_, path) = path.split_once('/')?;
    let last = path.rsplit('/').find(|part| !part.is_empty())?;
    let last = last.split_once('.').map_or(last, |(name, _)| name);
    (!last.is_empty()).then(|| last.to_owned())
}

/// The path of a file, seen from a folder; both are whole.
fn relative_path(folder: &Path, file: &Path) -> String {
    let mut own = folder.components().peekable();
    let mut others = file.components().peekable();
    while own.peek().is_some() && own.peek() == others.peek() {
        own.next();
        others.next();
    }
    let up = own.map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(others).collect();
    path.to_string_lossy().into_owned()
}

/// Writes a file that is not there yet: as a whole, or not at all.
fn write_new(file: &Path, typed: &str, bytes: &[u8]) -> Result<(), Failure> {
    let fault = |error: io::Error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            return unwritable_file(Path::new(typed), error);
        }
        Failure::new("file.exists", format!("{typed} is there already")).with_hint(format!(
            "work on it with `piton run {}`, or name another file with `--out`",
            quote_word(typed)
        ))
    };
    if file.exists() {
        return Err(fault(io::ErrorKind::AlreadyExists.into()));
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let made = file.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&made)
        .and_then(|mut new| {
            new.write_all(bytes)?;
            new.sync_all()
        })
        // A link is never put over a file that came meanwhile.
        .and_then(|()| fs::hard_link(&made, file));
    drop(fs::remove_file(&made));
    written.map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_part(address: &str, expected: Option<&str>) {
        assert_eq!(topic_of_address(address).as_deref(), expected, "{address}");
    }

    #[test]
    fn an_address_is_about_its_last_part() {
        check_part("https://example.org/docs/Orders?x=1#top", Some("Orders"));
        check_part("https://example.org/docs/orders.prd.md/", Some("orders"));
        check_part("file:///home/ada/home.prd.md", Some("home"));
        check_part("https://example.org", None);
        check_part("https://example.org/", None);
    }

    #[test]
    fn a_file_is_named_from_the_folder_of_the_run() {
        let of = |folder, file| relative_path(Path::new(folder), Path::new(file));
        assert_eq!(of("/a/b", "/a/b/docs/prd.md"), "docs/prd.md");
        assert_eq!(of("/a/b/.sdlc", "/a/b/prd.md"), "../prd.md");
        assert_eq!(of("/a/b", "/c/prd.md"), "../../c/prd.md");
    }
}
