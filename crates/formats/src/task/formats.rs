//! The format in the registry.

use std::collections::BTreeSet;

use super::new_item::{edit_item, plan_new_item, write_new_item};
use super::plan::dialect_of_native;
use super::{
    Dialect, FACE, TaskFile, check, collect_edits, convert, front_keys, is_ticked, plan_of_task,
    task_notes,
};
use super::{find_given_id, front, parse_task, render_run, screenshot_of_native, words_of_native};
use crate::adoption::{AdoptionCount, CountedKind, SkippedEntry};
use crate::format::{ANYWHERE, DocumentRole, Format, StrictCheck, UNNAMED};
use crate::markdown::{Doc, LineKind};
use crate::merge::rules::{BLOCKS, MergeRules, NamedList};
use crate::native_file::Detection;
use crate::plan_format::{
    IN_ONE_FILE, ItemCommands, ItemEditing, ItemUnit, PlanClaim, PlanFinding, PlanFormat, PlanKind,
    PlanRefusal, PlanText, PlanWords, PromptTemplates, StatelessPlanDocument, reject_broken_plan,
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
    formats: &[
        Format {
            name: "spec-kit-tasks",
            about: "tasks of spec-kit",
            paths: &["tasks.md"],
            folders: Some(&["specs/*"]),
            detect: |text| detect_dialect(text, Dialect::SpecKit),
            ..CHECKLIST
        },
        Format {
            name: "openspec-tasks",
            about: "tasks of an OpenSpec change",
            paths: &["tasks.md"],
            folders: Some(&["openspec/changes/*"]),
            detect: |text| detect_dialect(text, Dialect::OpenSpec),
            ..CHECKLIST
        },
        Format {
            name: "kiro-tasks",
            about: "tasks of a Kiro spec",
            paths: &["tasks.md"],
            folders: Some(&[".kiro/specs/*"]),
            detect: |text| detect_dialect(text, Dialect::Kiro),
            ..CHECKLIST
        },
        Format {
            name: "conductor-plan",
            about: "a plan of a conductor track",
            paths: &["plan.md"],
            folders: Some(&["conductor/tracks/*", "conductor/tracks/*/*"]),
            detect: |text| detect_dialect(text, Dialect::Conductor),
            ..CHECKLIST
        },
        Format {
            name: "todo-list",
            about: "a checklist",
            paths: &["TODO.md"],
            folders: AT_THE_ROOT,
            detect: detect_boxes,
            ..CHECKLIST
        },
        Format {
            name: "implementation-plan",
            about: "a checklist",
            paths: &["IMPLEMENTATION_PLAN.md"],
            folders: AT_THE_ROOT,
            detect: detect_boxes,
            ..CHECKLIST
        },
        Format {
            name: "task-file",
            about: "a task with criteria",
            paths: &["RALPH_TASK.md", ".md"],
            folders: ANYWHERE,
            detect: detect_words,
            strict: StrictCheck::Headed(check, front_keys),
            ..CHECKLIST
        },
    ],
    read: |source, of| {
        let (task, problems) = parse_task(source);
        let name = of.name.resolve(Some(title_of_task(&task)));
        let plan = plan_of_task(&task, of.run, &name, of.source);
        reject_broken_plan(source.name, Some(plan), problems)
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
    item_commands: Some(ItemCommands {
        plan: plan_new_item,
        write: Some(write_new_item),
        edit: ItemEditing::File(edit_item),
    }),
    companions: &["ralph-dir"],
    conversions: convert::CONVERSIONS,
    lines_of_items: super::convert::lines_of_items,
    keeps_what_was_refused: true,
    finding: PlanFinding {
        example: Some("a task file"),
        candidates: &["RALPH_TASK.md"],
        shared_names: &[
            "TODO.md",
            "IMPLEMENTATION_PLAN.md",
            "specs/*/tasks.md",
            "openspec/changes/*/tasks.md",
            ".kiro/specs/*/tasks.md",
            "conductor/tracks/*/plan.md",
            "conductor/tracks/*/*/plan.md",
        ],
        claim: claim_plan,
        identity: |source| Some(parse_task(source).0.identity()),
        without_items: (
            "has no criteria, so that nothing says when it is complete",
            "write what is to be true in the end as lines that begin with `- [ ]`",
        ),
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |native, source| {
            let (one, is_so) = match dialect_of_native(native) {
                Dialect::Plain => ("criterion", "true"),
                Dialect::SpecKit | Dialect::OpenSpec | Dialect::Kiro | Dialect::Conductor => {
                    ("item", "done")
                }
            };
            let fill = |text: &str| text.replace("{one}", one).replace("{so}", is_so);
            PromptTemplates {
                header: Some(format!("# The task in {source}: {{{{node}}}}")),
                position: Some(format!(
                    "You work on one {one} of it. Attempt {{{{attempt}}}}."
                )),
                files: Some(format!(
                    "Leave `.piton/` alone, and do not tick the box in {source}: piton ticks it when there is evidence that the {one} is {is_so}."
                )),
                result_reporting: Some(fill(REPORTING)),
                reporting_by_tool: Some(fill(REPORTING_BY_TOOL)),
                ..PromptTemplates::default()
            }
        },
        title_of_native: words_of_native,
        words_of_native,
        screenshot_of_native,
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};

/// A list with boxes, in whichever dialect.
const CHECKLIST: Format = Format {
    face: FACE,
    role: DocumentRole::Plan,
    read: |source| parse_task(source).1,
    counts: count_ticked_boxes,
    merge: Some(&MERGE),
    ..UNNAMED
};

/// In the folder of the project alone: such names are common elsewhere.
const AT_THE_ROOT: Option<&[&str]> = Some(&["/"]);

/// Whether a text is a list of this dialect.
fn detect_dialect(text: &str, dialect: Dialect) -> Detection {
    let is_of_dialect = |task: &TaskFile| task.dialect == dialect;
    detect_list(text, is_of_dialect, "a list that is written in another way")
}

/// Whether a text has boxes to tick.
fn detect_boxes(text: &str) -> Detection {
    let has_boxes = |task: &TaskFile| !task.criteria.is_empty();
    detect_list(text, has_boxes, "a text without boxes to tick")
}

/// What a text is that has to be a list of which something holds, and else is `instead`.
fn detect_list(text: &str, is_so: impl Fn(&TaskFile) -> bool, instead: &str) -> Detection {
    let detected = detect_words(text);
    let task = || parse_task(SourceText { name: "", text }).0;
    if detected == Detection::Ours && !is_so(&task()) {
        return Detection::Foreign(instead.to_owned());
    }
    detected
}

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

Say in a sentence or two what you did and what you ran to check it, or what stands in the way. Then end with one line `<ralph>WORD</ralph>`, and nothing after it. WORD is `COMPLETE` when this {one} is {so}, `BLOCKED` when something stands in the way that you cannot move, `GUTTER` when you are stuck because the same thing fails again and again.";

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
