//! The format in the registry.

use super::read::{FACE, TasksLayout, detect_layout, parse_tasks};
use crate::format::{DocumentRole, Format, UNNAMED};
use crate::native_file::Detection;
use crate::plan_format::{
    IN_ONE_FILE, ItemUnit, PlanClaim, PlanFinding, PlanFormat, PlanRefusal, PlanText, PlanWords,
};
use crate::status_list::{
    ListOrder, ListTraits, StatusListDocument, prompt_templates, title_of_native,
};

static TASKS: ListTraits = ListTraits {
    face: FACE,
    parse: parse_tasks,
    writes_holders: true,
    order: ListOrder::ByName,
    reads_again: &[],
};

/// Tasks of Task Master.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    unit: ItemUnit {
        one: "task",
        many: "tasks",
    },
    formats: &[Format {
        name: FACE,
        face: FACE,
        about: "tasks of Task Master",
        paths: &["tasks.json"],
        folders: Some(&[".taskmaster/tasks", "/tasks"]),
        role: DocumentRole::Plan,
        detect: |text| match detect_layout(text) {
            TasksLayout::Tags | TasksLayout::Single => Detection::Ours,
            TasksLayout::Foreign => Detection::Foreign(
                "a document of another tool, not tasks of Task Master".to_owned(),
            ),
            TasksLayout::Empty => Detection::Empty,
            TasksLayout::Unreadable => Detection::Unreadable,
        },
        read: |source| TASKS.problems(source),
        ..UNNAMED
    }],
    read: |source, of| TASKS.read(source, of),
    document: |tables, run| StatusListDocument::open(&TASKS, tables, run),
    about: |source, row| TASKS.notes(source, row),
    finding: PlanFinding {
        candidates: &[".taskmaster/tasks/tasks.json"],
        shared_names: &["tasks/tasks.json"],
        claim: claim_plan,
        identity: |source| TASKS.identity(source),
        without_items: (
            "has no task under the tag that is worked on",
            "choose a tag with `task-master use-tag`, or add a task with `task-master add-task`",
        ),
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |_, source| prompt_templates("task", source),
        title_of_native,
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};

fn claim_plan(text: &PlanText<'_>) -> PlanClaim {
    if !text.is_json() {
        return PlanClaim::NotOurs;
    }
    match detect_layout(text.source.text) {
        TasksLayout::Tags | TasksLayout::Single => PlanClaim::Plan,
        TasksLayout::Foreign | TasksLayout::Empty => PlanClaim::NotOurs,
        TasksLayout::Unreadable => {
            PlanClaim::Refused(PlanRefusal::unreadable("JSON", TASKS.problems(text.source)))
        }
    }
}
