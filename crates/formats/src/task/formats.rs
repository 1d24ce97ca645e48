//! The format in the registry.

use std::collections::BTreeSet;

use super::{
    FACE, TaskFile, check, collect_edits, convert, front_keys, is_ticked, plan_of_task, task_notes,
};
use super::{find_given_id, front, parse_task, render_run, screenshot_of_native, words_of_native};
use crate::adoption::{AdoptionCount, CountedKind, SkippedEntry};
use crate::format::{ANYWHERE, DocumentRole, Format, StrictCheck};
use crate::markdown::{Doc, LineKind};
use crate::merge::rules::{BLOCKS, MergeRules, NamedList};
use crate::plan_format::{
    IN_ONE_FILE, ItemUnit, PlanClaim, PlanFinding, PlanFormat, PlanKind, PlanRefusal, PlanText,
    PlanWords, PromptTemplates, StatelessPlanDocument, reject_broken_plan,
};
use crate::problem::SourceText;
use crate::ralph_dir::native_files::detect_words;

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
        role: DocumentRole::Plan,
        detect: detect_words,
        read: |source| parse_task(source).1,
        strict: StrictCheck::Headed(check, front_keys),
        counts: count_ticked_boxes,
        merge: Some(&MERGE),
    }],
    read: |source, of| {
        let (task, problems) = parse_task(source);
        let name = of.name.resolve(Some(title_of_task(&task)));
        let plan = plan_of_task(&task, of.run, &name, of.source);
        reject_broken_plan(Some(plan), problems)
    },
    document: |_, run| {
        Box::new(StatelessPlanDocument {
            run,
            show: |present, tables, run, _| {
                // What people wrote cannot be made anew.
                Ok(present.map(|present| render_run(present, tables, run)))
            },
            edits: collect_edits,
        })
    },
    about: task_notes,
    companions: &["ralph-dir"],
    conversions: convert::CONVERSIONS,
    lines_of_items: super::convert::lines_of_items,
    keeps_what_was_refused: true,
    finding: PlanFinding {
        example: Some("a task file"),
        candidates: &["RALPH_TASK.md"],
        claim: claim_plan,
        identity: |source| Some(parse_task(source).0.identity()),
        without_items: (
            "has no criteria, so that nothing says when it is complete",
            "write what is to be true in the end as lines that begin with `- [ ]`",
        ),
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |_, source| PromptTemplates {
            header: Some(format!("# The task in {source}: {{{{node}}}}")),
            position: Some("You work on one criterion of it. Attempt {{attempt}}.".to_owned()),
            files: Some(format!(
                "Leave `.piton/` alone, and do not tick the box in {source}: piton ticks it when there is evidence that the criterion is true."
            )),
            result_reporting: Some(REPORTING.to_owned()),
            reporting_by_tool: Some(REPORTING_BY_TOOL.to_owned()),
            ..PromptTemplates::default()
        },
        title_of_native: words_of_native,
        words_of_native,
        screenshot_of_native,
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};

static MERGE: MergeRules = MergeRules {
    lists: &[NamedList {
        unique: Some("number"),
        ..BLOCKS
    }],
    head: |text| front::parse_front_matter(SourceText { name: "", text }).1,
    item_name: find_given_id,
    ..MergeRules::MARKDOWN
};

// No signal stands here as it is printed: an agent that repeats its prompt has
// not said anything yet.
const REPORTING: &str = "## When you are finished

Say in a sentence or two what you did and what you ran to check it, or what stands in the way. Then end with one line `<ralph>WORD</ralph>`, and nothing after it. WORD is `COMPLETE` when this criterion is true, `BLOCKED` when something stands in the way that you cannot move, `GUTTER` when you are stuck because the same thing fails again and again.";

const REPORTING_BY_TOOL: &str = "## When you are finished

Call the tool `record` of piton once, and end. Only if you have no such tool, say in a sentence or two what you did or what stands in the way, and end with one line `<ralph>WORD</ralph>`. WORD is `COMPLETE`, `BLOCKED` when something stands in the way that you cannot move, or `GUTTER` when the same thing fails again and again.";

fn claim_plan(text: &PlanText<'_>) -> PlanClaim {
    if text.is_json() {
        return PlanClaim::NotOurs;
    }
    if text.has_ending(&["md", "markdown"]) || !parse_task(text.source).0.criteria.is_empty() {
        return PlanClaim::Plan;
    }
    PlanClaim::Unknown(PlanRefusal::new(
        "plan.none",
        "is a file, and not a plan",
        "name a folder with a SPRINT.yaml, a prd.json, a state.json or a task file with criteria",
    ))
}

/// The boxes that are ticked; those of criteria are taken.
fn count_ticked_boxes(source: SourceText<'_>) -> Vec<AdoptionCount> {
    let criteria = parse_task(source).0.criteria;
    let taken: BTreeSet<u32> = criteria.iter().map(|criterion| criterion.line).collect();
    let doc = Doc::new(source.text);
    let lines = 0..doc.line_count();
    let ticked = lines
        .filter(|line| doc.kind_of_line(*line) == LineKind::Text && is_ticked(doc.line(*line)));
    let ticked = ticked.map(|line| SkippedEntry::new(doc.line_span(line).line, doc.line(line)));
    let (taken, left): (Vec<SkippedEntry>, Vec<SkippedEntry>) =
        ticked.partition(|one| taken.contains(&one.line));
    vec![AdoptionCount::new(
        CountedKind::TickedBoxes,
        taken.len(),
        left,
    )]
}

fn title_of_task(task: &TaskFile) -> &str {
    let front = task.front.as_ref().and_then(|front| front.task.as_deref());
    front.or(task.title.as_deref()).unwrap_or("task")
}
