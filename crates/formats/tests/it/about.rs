//! What the file of a plan says beside its items.

use piton_core::{ItemRow, RunId};
use piton_formats::plan_file::PlanFileNotes;
use piton_formats::problem::SourceText;
use piton_formats::{prd, task};

#[track_caller]
fn about(face: &str, text: &str, id: &str) -> PlanFileNotes {
    let row: ItemRow = serde_json::from_value(serde_json::json!({
        "run": RunId::PROJECT, "node": id, "state": "ready", "plan": { "id": id, "place": [0] },
    }))
    .expect("an item");
    let name = "plan";
    PlanFileNotes::parse(face, SourceText { name, text }, &row)
}

const TASK: &str = "\
---
task: The harbour
---
# The harbour

Stone, not wood.

## Background

- The tide is 4 m.
<!-- nobody reads this -->

## Criteria

### Quay

- [ ] **[1]** It is deep
      enough for ships

  Measure at low tide:
  - at the head
  - [ ] **[2]** at the root
    with a line

    Or not.
- [x] **[3]** It is long

## Notes

Ask Ada.
";

#[test]
fn of_a_task_file_the_prose_is_told_and_not_the_boxes() {
    let about = about(task::FACE, TASK, "1");
    insta::assert_snapshot!(about.whole.unwrap_or_default(), @r"
    # The harbour

    Stone, not wood.

    ## Background

    - The tide is 4 m.

    ## Notes

    Ask Ada.
    ");
}

#[test]
fn what_is_nested_in_a_criterion_is_told_of_it_alone() {
    let details = |id| about(task::FACE, TASK, id).details.unwrap_or_default();
    insta::assert_snapshot!(details("1"), @r"
    Measure at low tide:
    - at the head
    ");
    assert_eq!(details("2"), "Or not.");
    assert_eq!(details("3"), "");
}

#[test]
fn of_a_list_its_project_and_description_are_told() {
    let list = r#"{"project": "Shop", "description": "Sells boats.", "branchName": "b", "userStories": [
        {"id": "US-1", "title": "Cart", "passes": false}]}"#;
    let whole = about(prd::FACE, list, "US-1").whole;
    assert_eq!(whole.as_deref(), Some("Shop\n\nSells boats."));
    let bare = r#"{"features": [{"id": "a", "description": "b", "steps": [], "passes": false}]}"#;
    assert_eq!(about(prd::FACE, bare, "a"), PlanFileNotes::default());
}
