//! The task file: `RALPH_TASK.md`, or any Markdown file with boxes to tick.
//!
//! [`parse_task`] gives the front matter and the criteria, each with an id that
//! survives a line put in above it; [`check`] is the letter of the format.
//! [`match_criteria`] tells which criteria of a new version are which of an old
//! one. [`plan_of_task`] makes a plan of a file; [`render_run`] and
//! [`collect_edits`] keep it a face of its run.

mod about;
mod boxes;
mod check;
mod convert;
mod dialect;
mod formats;
mod front;
mod ids;
mod native_file;
mod new_item;
mod pair;
mod plan;

use self::boxes::Checklist;
use crate::markdown::Doc;
use crate::plan_identity::PlanIdentity;
use crate::problem::Problem;
use crate::tree::Span;

pub use crate::sprint::SourceText;
pub(crate) use about::task_notes;
pub use boxes::Criterion;
pub(crate) use boxes::is_ticked;
pub use check::check;
pub use dialect::Dialect;
pub use formats::PLAN;
pub use front::FrontMatter;
use front::compare_keys as front_keys;
pub(crate) use front::front_text;
use ids::find_given_id;
pub use native_file::{collect_edits, render_run};
pub(crate) use pair::is_similar;
pub use pair::match_criteria;
pub use plan::{FACE, plan_of_task};
pub(crate) use plan::{screenshot_of_native, words_of_native};

/// What a task file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskFile {
    /// The YAML at its head, if there is any.
    pub front: Option<FrontMatter>,
    /// The first heading.
    pub title: Option<String>,
    /// The criteria, in the order of the file.
    pub criteria: Vec<Criterion>,
    /// Whose way of writing checklists it follows.
    pub dialect: Dialect,
}

impl TaskFile {
    /// What the task is known by: what its head or its first heading calls it,
    /// and its criteria.
    #[must_use]
    pub fn identity(&self) -> PlanIdentity {
        let front = self.front.as_ref();
        let task = front.and_then(|front| front.task.as_deref());
        let name = task.or(self.title.as_deref());
        let criteria = self.criteria.iter();
        PlanIdentity::new([name], criteria.map(|criterion| criterion.text.as_str()))
    }
}

/// Reads a task file as it is met in the wild. Problems are warnings, except
/// for front matter that cannot be read.
pub fn parse_task(source: SourceText<'_>) -> (TaskFile, Vec<Problem>) {
    let (front, head, mut problems) = front::parse_front_matter(source);
    let doc = Doc::with_head(source.text, head);
    let Checklist {
        criteria,
        dialect,
        empty,
    } = boxes::find_checklist(&doc, head);
    if criteria.is_empty() {
        problems.push(no_criteria_problem(source));
    }
    problems.extend(empty_box_problems(source, &empty));
    problems.extend(unknown_mark_problems(source, &criteria));
    let title = doc
        .headings
        .iter()
        .find(|heading| doc.line_start(heading.line) >= head)
        .map(|heading| doc.heading_text(heading).to_owned());
    let task = TaskFile {
        front,
        title,
        criteria,
        dialect,
    };
    (task, problems)
}

/// A file without boxes is not done: it is not a task file.
fn no_criteria_problem(source: SourceText<'_>) -> Problem {
    Problem::warning("NO_CRITERIA", source.name, "criteria", Span::TOP).with_message(
        "there is no criterion in this file, so it is never complete",
        "write at least one: `1. [ ] what is to be true`",
    )
}

fn empty_box_problems(source: SourceText<'_>, empty: &[Span]) -> Vec<Problem> {
    let name = |span: &Span| {
        Problem::warning("EMPTY_CRITERION", source.name, "criteria", *span).with_message(
            "this box has no text, so there is nothing to do for it: it is left out",
            "say behind the box what is to be true",
        )
    };
    empty.iter().map(name).collect()
}

/// A mark that is not known is open, and never invisible.
fn unknown_mark_problems(source: SourceText<'_>, criteria: &[Criterion]) -> Vec<Problem> {
    let unknown = |(at, criterion): (usize, &Criterion)| {
        let mark = criterion.unknown_mark?;
        let path = format!("criteria[{at}]");
        let problem = Problem::warning("UNKNOWN_MARK", source.name, path, criterion.span);
        Some(problem.with_message(
            format!("`[{mark}]` is no mark that piton knows, so this counts as open"),
            "write `[x]` if it is done, `[ ]` if it is not",
        ))
    };
    criteria.iter().enumerate().filter_map(unknown).collect()
}
