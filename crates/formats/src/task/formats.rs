//! The format in the registry.

use std::collections::BTreeSet;

use super::{FACE, Task, about, check, convert, edits, front_keys, import, is_ticked};
use super::{front, given_name, read, screenshot_of_native, show, words_of_native};
use crate::adoption::{Count, Left, What};
use crate::format::{ANYWHERE, Format, Role, Strict};
use crate::markdown::{Doc, Kind};
use crate::merge::rules::{BLOCKS, Merge, NamedList};
use crate::plan_format::{
    Claim, IN_ONE_FILE, ItemUnit, PlanFormat, PlanKind, PlanRefusal, PlanText, Stateless,
    Templates, sound,
};
use crate::problem::Source;
use crate::ralph_dir::face::detect_words;

/// Task files.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    kind: PlanKind::Task,
    unit: ItemUnit {
        one: "criterion",
        many: "criteria",
    },
    formats: &[Format {
        name: "task-file",
        face: FACE,
        about: "a task with criteria",
        paths: &["RALPH_TASK.md", ".md"],
        folders: ANYWHERE,
        role: Role::Plan,
        detect: detect_words,
        read: |source| read(source).1,
        strict: Strict::Headed(check, front_keys),
        counts,
        merge: Some(&MERGE),
    }],
    example: Some("a task file"),
    candidates: &["RALPH_TASK.md"],
    claim,
    read: |source, of| {
        let (task, problems) = read(source);
        let name = of.name.or_own(Some(title(&task)));
        let plan = import(&task, of.run, &name, of.source);
        sound((Some(plan), problems))
    },
    identity: |source| Some(read(source).0.identity()),
    without_items: (
        "has no criteria, so that nothing says when it is complete",
        "write what is to be true in the end as lines that begin with `- [ ]`",
    ),
    document: |_, run| {
        Box::new(Stateless {
            run,
            show: |present, tables, run, _| {
                // What people wrote cannot be made anew.
                Ok(present.map(|present| show(present, tables, run)))
            },
            edits,
        })
    },
    about,
    templates: |_, source| Templates {
        header: Some(format!("# The task in {source}: {{{{node}}}}")),
        position: Some("You work on one criterion of it. Attempt {{attempt}}.".to_owned()),
        files: Some(format!(
            "Leave `.piton/` alone, and do not tick the box in {source}: piton ticks it when there is evidence that the criterion is true."
        )),
        result_reporting: Some(REPORTING.to_owned()),
        reporting_by_tool: Some(REPORTING_BY_TOOL.to_owned()),
        ..Templates::default()
    },
    companions: &["ralph-dir"],
    conversions: convert::CONVERSIONS,
    lines_of_items: super::convert::lines_of_items,
    title_of_native: words_of_native,
    words_of_native,
    screenshot_of_native,
    keeps_what_was_refused: true,
    ..IN_ONE_FILE
};

static MERGE: Merge = Merge {
    lists: &[NamedList {
        unique: Some("number"),
        ..BLOCKS
    }],
    head: |text| front::read(Source { name: "", text }).1,
    item_name: given_name,
    ..Merge::MARKDOWN
};

// No signal stands here as it is printed: an agent that repeats its prompt has
// not said anything yet.
const REPORTING: &str = "## When you are finished

Say in a sentence or two what you did and what you ran to check it, or what stands in the way. Then end with one line `<ralph>WORD</ralph>`, and nothing after it. WORD is `COMPLETE` when this criterion is true, `BLOCKED` when something stands in the way that you cannot move, `GUTTER` when you are stuck because the same thing fails again and again.";

const REPORTING_BY_TOOL: &str = "## When you are finished

Call the tool `record` of piton once, and end. Only if you have no such tool, say in a sentence or two what you did or what stands in the way, and end with one line `<ralph>WORD</ralph>`. WORD is `COMPLETE`, `BLOCKED` when something stands in the way that you cannot move, or `GUTTER` when the same thing fails again and again.";

fn claim(text: &PlanText<'_>) -> Claim {
    if text.is_json() {
        return Claim::NotOurs;
    }
    if text.has_ending(&["md", "markdown"]) || !read(text.source).0.criteria.is_empty() {
        return Claim::Plan;
    }
    Claim::Unknown(PlanRefusal::new(
        "plan.none",
        "is a file, and not a plan",
        "name a folder with a SPRINT.yaml, a prd.json, a state.json or a task file with criteria",
    ))
}

/// The boxes that are ticked; those of criteria are taken.
fn counts(source: Source<'_>) -> Vec<Count> {
    let criteria = read(source).0.criteria;
    let taken: BTreeSet<u32> = criteria.iter().map(|criterion| criterion.line).collect();
    let doc = Doc::new(source.text);
    let lines = 0..doc.line_count();
    let ticked = lines.filter(|line| doc.kind(*line) == Kind::Text && is_ticked(doc.line(*line)));
    let ticked = ticked.map(|line| Left::new(doc.line_span(line).line, doc.line(line)));
    let (taken, left): (Vec<Left>, Vec<Left>) = ticked.partition(|one| taken.contains(&one.line));
    vec![Count::new(What::TickedBoxes, taken.len(), left)]
}

fn title(task: &Task) -> &str {
    let front = task.front.as_ref().and_then(|front| front.task.as_deref());
    front.or(task.title.as_deref()).unwrap_or("task")
}
