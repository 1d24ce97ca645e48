//! The keys of a plan's file that nothing reads, the marks that it does not know, and the
//! items that it names and has not: reported when it is run, because the person who wrote
//! one meant something by it.

use std::collections::BTreeMap;
use std::path::Path;

use piton_core::native::Native;
use piton_formats::format::{self, Format, Grade, RecognisedFile};
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::{FilesBeside, PlanContext};
use piton_formats::problem::{Problem, SourceText};
use piton_formats::registry::plan_format;

use super::request::PlanKey;
use crate::failure::Findings;
use crate::failure::notice::Notice;
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::project::inside::read_beside;

/// The problems of a box with a mark that its format does not know, of a status that is not
/// written, of an item that is to wait for one that is not there or not worked on, and of an
/// id that cannot be typed.
const UNKNOWN: [&str; 7] = [
    "UNKNOWN_MARK",
    "UNKNOWN_STATUS",
    "STATUS_NOT_WRITABLE",
    "BLOCKED_ISSUE",
    "MISSING_REFERENCE",
    "MISSING_TAG",
    "CONTROL_IN_ID",
];
/// So many different keys are told.
const TOLD_MAX: usize = 5;

/// Tells which keys, marks and items of the file of a plan are unknown, each once; of a file that
/// others write whole, how it deviates from its format.
pub(super) fn warn_deviations(
    project: &Project,
    plan: PlanKey<'_>,
    native: Option<&Native>,
    tell: &mut dyn FnMut(Notice<'_>),
) {
    let PlanKey { face, source } = plan;
    let Some(path) = PlanFile::path_of_source(face, source) else {
        return;
    };
    let file = project.absolute_path(&path);
    let Ok(text) = project.read_text(&file) else {
        return;
    };
    let Ok(RecognisedFile::Format(format)) = format::recognise_file(&path, &text) else {
        return;
    };
    let source = SourceText {
        name: &path,
        text: &text,
    };
    if plan_format(face).is_some_and(|format| format.phases.is_some()) {
        if let Some(note) = describe_deviations(format, source) {
            tell(Notice::Warning(&note));
        }
        return;
    }
    let mut unknown = format.unknown_keys(source);
    let folder = file.parent().unwrap_or(Path::new("/"));
    let of = PlanContext {
        native,
        beside: FilesBeside(&|path| read_beside(folder, path)),
        ..PlanContext::of_text()
    };
    let others = plan_format(face).map(|format| (format.read)(source, of).1);
    let others = others.into_iter().flatten();
    unknown.extend(others.filter(|problem| UNKNOWN.contains(&&*problem.code)));
    if unknown.is_empty() {
        return;
    }
    tell(Notice::Problems(&Findings {
        problems: dedup_problems(unknown, &path),
        sources: [(path, text)].into(),
    }));
}

/// How a file deviates from its format, in one note; none where it does not.
fn describe_deviations(format: &Format, source: SourceText<'_>) -> Option<String> {
    let mut problems = format.check(source, Grade::Tolerant);
    problems.extend(format.check(source, Grade::Strict));
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems.dedup_by(|a, b| (a.line, a.column) == (b.line, b.column));
    let told = problems.iter().take(TOLD_MAX);
    let told: Vec<String> = told
        .map(|problem| format!("line {}: {}", problem.line, problem.message))
        .collect();
    if told.is_empty() {
        return None;
    }
    let path = source.name;
    let (count, told) = (problems.len(), told.join("; "));
    let (places, more) = match count {
        1 => ("one place".to_owned(), ""),
        count if count > TOLD_MAX => (format!("{count} places"), "; and more"),
        count => (format!("{count} places"), ""),
    };
    Some(format!(
        "{path} deviates from its format in {places}, and is worked on all the same: {told}{more}; see `piton files check --strict {}`",
        quote_word(path)
    ))
}

/// The first problem of each key, which says how many more there are.
fn dedup_problems(problems: Vec<Problem>, path: &str) -> Vec<Problem> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for problem in &problems {
        *counts.entry(problem.message.clone()).or_default() += 1;
    }
    let mut told: Vec<Problem> = Vec::new();
    for problem in problems {
        let Some(count) = counts.remove(&problem.message) else {
            continue;
        };
        let again = match count - 1 {
            0 => String::new(),
            1 => ", once more below".to_owned(),
            more => format!(", {more} times more below"),
        };
        let message = format!("{}{again}", problem.message);
        told.push(Problem { message, ..problem });
    }
    let more = told.len().saturating_sub(TOLD_MAX);
    told.truncate(TOLD_MAX);
    if let Some(last) = told.last_mut().filter(|_| more > 0) {
        last.hint = format!(
            "{}; `piton files check {path}` tells {more} more",
            last.hint
        );
    }
    told
}
