//! The first attempt at an item of each kind of plan.

use piton_core::plan::PlannedItem;
use piton_core::{ItemRow, RunId};
use piton_engine::agents::prompt::{
    CommitBy, LaterCheck, PromptInput, PromptTemplates, ReportBy, render_worker_prompt,
};
use piton_formats::plan_file::PlanFileNotes;
use piton_formats::problem::SourceText;
use piton_formats::{prd, task};
use serde_json::json;

use super::*;

/// An item of a plan as it is planned, at work.
fn at_work(planned: &PlannedItem) -> ItemRow {
    let fields = json!({
        "id": planned.id, "prompt": planned.prompt, "gate": planned.gate, "native": planned.native,
    });
    item(planned.node.as_str(), &fields)
}

#[test]
fn a_phase_of_a_sprint() {
    let item = item("release", &json!({"prompt": "Write the release notes."}));
    let of = PromptInput {
        levels: vec![level("release", "", 3, 3)],
        ..PromptInput::of_first_attempt("auth", &item)
    };
    insta::assert_snapshot!(measured(&render_worker_prompt(
        &PromptTemplates::default(),
        &of
    )));
}

#[test]
fn a_sub_phase_of_a_sprint_with_tools() {
    let item = sub_phase(&json!({}));
    let of = PromptInput {
        past: done(),
        known: Some(known(vec![
            note(
                Section::Guardrails,
                Some("sign-0001"),
                "Ask first: Before a migration: Write it down.",
            ),
            note(
                Section::Learnings,
                Some("learning-0001"),
                "Run `make gen` before the tests.",
            ),
        ])),
        later_check: Some(LaterCheck {
            node: Node::child(None, "build", 1),
            script: "cargo test\ncargo clippy".to_owned(),
        }),
        context: vec![("_shared.md".to_owned(), "Use tabs.\n".to_owned())],
        report_by: ReportBy::Tool,
        ..of_sub_phase(&item)
    };
    insta::assert_snapshot!(measured(&render_worker_prompt(
        &PromptTemplates::default(),
        &of
    )));
}

const LIST: &str = r#"{
  "project": "Shop", "description": "Sells boats to people who live by the sea.",
  "branchName": "ralph/shop",
  "verificationCommands": ["make lint"],
  "userStories": [
    {"id": "US-1", "title": "Cart", "description": "As a buyer I fill a cart.",
     "acceptanceCriteria": ["It adds", "It sums"], "priority": 1, "passes": false,
     "verification": {"tests": ["make test"]}}
  ]
}"#;

#[test]
fn a_story_of_a_list() {
    let source = SourceText {
        name: "prd.json",
        text: LIST,
    };
    let list = prd::parse_prd(source).0.expect("a list");
    let plan = prd::plan_of_prd(&list, RunId::PROJECT, "prd", "prd.json");
    let item = at_work(&plan.items[0]);
    let templates = PromptTemplates::of_plan(prd::FACE, None, "prd.json");
    let of = PromptInput {
        levels: vec![level("US-1", "", 1, 4)],
        about: PlanFileNotes::parse(prd::FACE, source, &item),
        commit_by: CommitBy::Agent,
        ..PromptInput::of_first_attempt("prd", &item)
    };
    insta::assert_snapshot!(measured(&render_worker_prompt(&templates, &of)));
}

const TASK: &str = "\
---
task: The harbour
---
# The harbour

Stone, not wood.

## Criteria

- [ ] **[1]** The quay is long
- [ ] **[2]** The quay is deep

  Measure at low tide.
";

fn criterion(report_by: ReportBy) -> String {
    let source = SourceText {
        name: "RALPH_TASK.md",
        text: TASK,
    };
    let (file, _) = task::parse_task(source);
    let plan = task::plan_of_task(&file, RunId::PROJECT, "task", "RALPH_TASK.md");
    let item = at_work(&plan.items[1]);
    let templates = PromptTemplates::of_plan(task::FACE, None, "RALPH_TASK.md");
    let of = PromptInput {
        levels: vec![level("2", "", 2, 2)],
        about: PlanFileNotes::parse(task::FACE, source, &item),
        commit_by: CommitBy::Agent,
        report_by,
        ..PromptInput::of_first_attempt("task", &item)
    };
    measured(&render_worker_prompt(&templates, &of))
}

#[test]
fn a_criterion_of_a_task_file() {
    insta::assert_snapshot!(criterion(ReportBy::Words));
}

#[test]
fn a_criterion_of_a_task_file_with_tools() {
    insta::assert_snapshot!(criterion(ReportBy::Tool));
}
