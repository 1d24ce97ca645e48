//! The keys of a plan's file that nothing reads: told when it is run, because
//! whoever wrote one meant something by it.

use std::collections::BTreeMap;

use piton_formats::format::{self, Recognised};
use piton_formats::plan_file::PlanFile;
use piton_formats::problem::{Problem, Source};

use super::Plan;
use crate::failure::Findings;
use crate::input;
use crate::notice::Notice;
use crate::project::Project;

/// So many different keys are told.
const TOLD_MAX: usize = 5;

/// Tells which keys of the file of a plan nothing reads, each once.
pub(super) fn tell_unknown_keys(
    project: &Project,
    (face, source): Plan<'_>,
    tell: &mut dyn FnMut(Notice<'_>),
) {
    let Some(path) = PlanFile::path_of(face, source) else {
        return;
    };
    let Ok(text) = input::read_text(&project.absolute(&path)) else {
        return;
    };
    let Ok(Recognised::Format(format)) = format::recognise(&path, &text) else {
        return;
    };
    let unknown = format.unknown_keys(Source {
        name: &path,
        text: &text,
    });
    if unknown.is_empty() {
        return;
    }
    tell(Notice::Problems(&Findings {
        problems: each_once(unknown, &path),
        sources: [(path, text)].into(),
    }));
}

/// The first problem of each key, which says how many more there are.
fn each_once(problems: Vec<Problem>, path: &str) -> Vec<Problem> {
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
            "{}; `piton files check {path}` tells {more} more keys",
            last.hint
        );
    }
    told
}
