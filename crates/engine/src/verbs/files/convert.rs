//! `piton files convert`: what one file says, in the form of another.
//!
//! What the other format has no place for is found by reading the result back.

use std::path::PathBuf;

use piton_core::RunId;
use piton_formats::native_file::FileContext;
pub use piton_formats::plan_convert::ConversionLoss;
use piton_formats::problem::{Problem, SourceText};
use piton_formats::{format, log_convert, plan_convert};
use serde::Serialize;

use crate::failure::{Failure, Findings, unreadable_file};
use crate::native_files::project_sync::{ProjectFile, project_files};
use crate::project::Project;
use crate::world::World;
use crate::world::input;

/// What a file became.
#[derive(Clone, Debug, Serialize)]
pub struct ConvertedFile {
    /// The text in the other format; empty where it was written to a file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What the other format has no place for.
    pub lost: Vec<ConversionLoss>,
    /// What was wrong with the file.
    #[serde(flatten)]
    pub findings: Findings,
}

crate::name_schema!(ConvertedFile, "piton.files.convert/1");

/// What a format holds. A file becomes one of the same sort.
#[derive(Clone, Copy)]
enum FormatSort {
    /// What happened.
    Log(&'static ProjectFile),
    /// What is to be done.
    Plan,
}

impl FormatSort {
    fn parse(name: &str) -> Option<Self> {
        let log = project_files().find(|file| file.converts == Some(name));
        let is_plan = plan_convert::plan_format_names().contains(&name);
        log.map(Self::Log).or(is_plan.then_some(Self::Plan))
    }

    /// What is said of a format of this sort.
    fn describe(self) -> &'static str {
        match self {
            Self::Log(_) => "keeps a log",
            Self::Plan => "is a plan",
        }
    }

    /// The formats of this sort.
    fn format_names(self) -> Vec<&'static str> {
        match self {
            Self::Log(_) => log_convert::log_format_names(),
            Self::Plan => plan_convert::plan_format_names(),
        }
    }
}

fn parse_sort(name: &str) -> Result<FormatSort, Failure> {
    FormatSort::parse(name).ok_or_else(|| {
        Failure::new("usage", format!("`{name}` cannot be converted")).with_hint(format!(
            "the logs are: {}; the plans are: {}",
            log_convert::log_format_names().join(", "),
            plan_convert::plan_format_names().join(", ")
        ))
    })
}

/// Turns a file of one format into the text of another. Writes nothing.
///
/// # Errors
///
/// When there is no such format, they are of two sorts, or the file cannot be read.
pub fn convert(
    world: &World,
    from: &str,
    to: &str,
    input: Option<&PathBuf>,
) -> Result<ConvertedFile, Failure> {
    let (from, to) = match (parse_sort(from)?, parse_sort(to)?) {
        (FormatSort::Plan, FormatSort::Plan) => return convert_plan(world, from, to, input),
        (FormatSort::Log(from), FormatSort::Log(to)) => (from, to),
        (one, other) => {
            let message = format!(
                "`{from}` {}, and `{to}` {}: a plan becomes a plan, a log a log",
                one.describe(),
                other.describe()
            );
            let names = one.format_names().join(", ");
            let hint = format!("`{from}` can become one of: {names}");
            return Err(Failure::new("usage", message).with_hint(hint));
        }
    };
    let project = Project::find(world, &world.cwd);
    let path = input.map_or_else(
        || project.root.join(from.path),
        |input| world.resolve_path(input),
    );
    let text = input::read_text(&path).map_err(|error| unreadable_file(&path, error))?;
    let shown = path.display().to_string();
    let name = project
        .root
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let about = FileContext {
        file: &shown,
        project: &name,
        now: world.now(),
        zone: world.time_zone(),
        iteration: None,
        is_part: false,
    };
    let took = (from.take)(&text, None, &about);
    let findings = Findings {
        problems: took.problems,
        sources: [(shown.clone(), text)].into(),
    };
    if findings.problems.iter().any(Problem::is_error) {
        return Err(unreadable_failure(&shown, findings));
    }
    let text = &findings.sources[&shown];
    let (text, mut lost) = log_convert::convert(from, text, took.found, to, &about)
        .map_err(|cannot| Failure::new("file.unwritable", cannot.to_string()))?;
    let problems = findings.problems.iter();
    let count = problems
        .filter(|problem| problem.code == "NOT_TAKEN")
        .count();
    if count > 0 && from.path != to.path {
        let what = "elements that cannot be read".to_owned();
        lost.push(ConversionLoss { what, count });
    }
    Ok(ConvertedFile {
        text,
        lost,
        findings,
    })
}

/// Turns a plan of one format into one of another.
fn convert_plan(
    world: &World,
    from: &str,
    to: &str,
    input: Option<&PathBuf>,
) -> Result<ConvertedFile, Failure> {
    let project = Project::find(world, &world.cwd);
    let usual = format::format_named(from).and_then(|format| format.paths.first());
    let path = match (input, usual) {
        (Some(input), _) => world.resolve_path(input),
        (None, Some(usual)) => project.root.join(usual),
        (None, None) => project.root.clone(),
    };
    let text = input::read_text(&path).map_err(|error| unreadable_file(&path, error))?;
    let shown = path.display().to_string();
    let source = SourceText {
        name: &shown,
        text: &text,
    };
    let (plan, problems) = plan_convert::parse_plan(from, source, RunId(world.new_id()));
    let findings = Findings {
        problems,
        sources: [(shown.clone(), text.clone())].into(),
    };
    let Some(plan) = plan else {
        return Err(unreadable_failure(&shown, findings));
    };
    let (text, lost) = plan_convert::convert(from, &text, &plan, to, world.now());
    Ok(ConvertedFile {
        text,
        lost,
        findings,
    })
}

fn unreadable_failure(shown: &str, findings: Findings) -> Failure {
    Failure::new("file.unreadable", format!("{shown} cannot be read"))
        .with_hint(format!(
            "see what is wrong with `piton files check {shown}`"
        ))
        .with_findings(findings)
}
