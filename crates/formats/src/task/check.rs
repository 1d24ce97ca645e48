//! The letter of the format.

use std::collections::HashMap;

use super::{FrontMatter, TaskFile, front, parse_task};
use crate::problem::Problem;
use crate::sprint::SourceText;
use crate::tree::Span;

const TASK_CHARS_MAX: usize = 100;

/// Everything in which a task file is not what the format demands.
pub fn check(source: SourceText<'_>) -> Vec<Problem> {
    let (task, mut problems) = parse_task(source);
    // What is tolerated for work is not what the format says.
    for problem in &mut problems {
        problem.severity = crate::problem::Severity::Error;
    }
    problems.extend(front_problems(source, task.front.as_ref()));
    problems.extend(number_problems(source, &task));
    problems.sort_by_key(|problem| problem.line);
    problems
}

fn front_problems(source: SourceText<'_>, front: Option<&FrontMatter>) -> Vec<Problem> {
    let Some(front) = front else {
        return vec![
            Problem::error("MISSING_FRONT_MATTER", source.name, "", Span::TOP).with_message(
                "there is no front matter",
                "begin the file with `---`, `task: …`, `test_command: …`, `---`",
            ),
        ];
    };
    // A value of the wrong type was told of, and is not missing as well.
    let told: Vec<String> = front::parse_front_matter(source)
        .2
        .into_iter()
        .map(|problem| problem.path)
        .collect();
    let missing = |key: &str, value: &Option<String>| {
        (value.is_none() && !told.iter().any(|path| path == key)).then(|| {
            Problem::error("MISSING_KEY", source.name, key, front.span).with_message(
                format!("`{key}` is missing"),
                format!("add `{key}: …` to the front matter"),
            )
        })
    };
    let mut problems: Vec<Problem> = missing("task", &front.task)
        .into_iter()
        .chain(missing("test_command", &front.test_command))
        .collect();
    let length = front.task.as_ref().map(|task| task.trim().chars().count());
    if let Some(length) = length.filter(|length| !(1..=TASK_CHARS_MAX).contains(length)) {
        problems.push(
            Problem::error("TASK_LENGTH", source.name, "task", front.span).with_message(
                format!("`task` has {length} characters, not 1 to {TASK_CHARS_MAX}"),
                "say in `task` what it is about, and the rest below the front matter",
            ),
        );
    }
    problems
}

fn number_problems(source: SourceText<'_>, task: &TaskFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen: HashMap<u64, u32> = HashMap::new();
    let mut expected = 1;
    // Nested lists count for themselves.
    let outer = task
        .criteria
        .iter()
        .filter(|criterion| criterion.level == 0);
    for (at, criterion) in outer.enumerate() {
        let problem = |code, message: String, hint: &str| {
            Problem::error(code, source.name, format!("criteria[{at}]"), criterion.span)
                .with_message(message, hint)
        };
        let Some(number) = criterion.written_number else {
            problems.push(problem(
                "NOT_NUMBERED",
                "this criterion has no number".to_owned(),
                "write it as `N. [ ] text`",
            ));
            continue;
        };
        if let Some(line) = seen.insert(number, criterion.line) {
            problems.push(problem(
                "DUPLICATE_NUMBER",
                format!("the number {number} is taken by line {line}"),
                "number the criteria from 1 on, each once",
            ));
        } else if number != expected {
            problems.push(problem(
                "NOT_SEQUENTIAL",
                format!("the number {number} stands where {expected} is due"),
                "number the criteria from 1 on, without a gap",
            ));
        }
        expected = number.saturating_add(1);
    }
    problems
}
