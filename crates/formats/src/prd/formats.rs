//! The format in the registry.

use serde::Deserialize;

use super::edit_item::edit_item;
use super::new_item::{plan_new_item, write_new_item};
use super::{FACE, FEATURES_SHAPE, PrdLayout, USER_STORIES_SHAPE, convert, criteria_in_prompt};
use super::{collect_edits, detect_layout, parse_prd, plan_of_prd, render_run};
use crate::format::{ANYWHERE, DocumentRole, Format, StrictCheck, UNNAMED};
use crate::merge::rules::{ConflictRule, MergeRules};
use crate::native_file::Detection;
use crate::plan_file::PlanFileNotes;
use crate::plan_format::{
    IN_ONE_FILE, ItemCommands, ItemEditing, ItemUnit, PlanClaim, PlanFinding, PlanFormat, PlanKind,
    PlanRefusal, PlanText, PlanWords, PromptTemplates, StatelessPlanDocument, reject_broken_plan,
};
use crate::problem::SourceText;

/// Lists of requirements.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    kind: PlanKind::List,
    unit: ItemUnit {
        one: "story",
        many: "stories",
    },
    formats: &[
        Format {
            name: "prd-features",
            about: "a list of features",
            detect: |text| detect_as(text, |layout| *layout == PrdLayout::Features),
            strict: StrictCheck::Json(&FEATURES_SHAPE, "prd"),
            ..LIST
        },
        Format {
            name: "prd-user-stories",
            about: "a list of user stories",
            detect: |text| {
                detect_as(text, |layout| {
                    matches!(layout, PrdLayout::UserStories | PrdLayout::Requirements(_))
                })
            },
            strict: StrictCheck::Json(&USER_STORIES_SHAPE, "prd"),
            ..LIST
        },
    ],
    read: |source, of| {
        let (list, problems) = parse_prd(source);
        let name = of.name.resolve(None);
        let plan = list.map(|list| plan_of_prd(&list, of.run, &name, of.source));
        reject_broken_plan(source.name, plan, problems)
    },
    document: |_, run| {
        Box::new(StatelessPlanDocument {
            run,
            show: |present, tables, run, _| {
                // What people wrote cannot be made anew.
                let shown = present.map(|present| render_run(present, tables, run));
                shown.transpose()
            },
            edits: collect_edits,
        })
    },
    about: |source, _| about_list(source),
    companions: &["ralph-json"],
    conversions: convert::CONVERSIONS,
    item_commands: Some(ItemCommands {
        plan: plan_new_item,
        write: Some(write_new_item),
        edit: ItemEditing::File(edit_item),
    }),
    keeps_what_was_refused: true,
    finding: PlanFinding {
        example: Some("a prd.json"),
        candidates: &["prd.json", ".ralph/prd.json"],
        claim: claim_plan,
        identity: |source| Some(parse_prd(source).0?.identity()),
        without_items: (
            "lists nothing to do",
            "a list without items is never complete: add what is to be done",
        ),
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |_, source| PromptTemplates {
            header: Some(format!("# The list in {source}: {{{{node}}}}")),
            position: Some(
                "You work on item {{phase.index}} of {{phase.total}}. Attempt {{attempt}}."
                    .to_owned(),
            ),
            files: Some(format!(
                "Leave `.piton/` alone, and `passes` in {source} as it stands: piton sets it when there is evidence that the item is done."
            )),
            ..PromptTemplates::default()
        },
        criteria_in_prompt,
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};

static MERGE: MergeRules = MergeRules {
    settled: &[("passes", ConflictRule::Mark)],
    ..MergeRules::JSON
};

const LIST: Format = Format {
    face: FACE,
    paths: &["prd.json"],
    folders: ANYWHERE,
    role: DocumentRole::Plan,
    read: |source| parse_prd(source).1,
    merge: Some(&MERGE),
    ..UNNAMED
};

fn detect_as(text: &str, is_ours: fn(&PrdLayout) -> bool) -> Detection {
    let layout = detect_layout(text);
    if is_ours(&layout) {
        return Detection::Ours;
    }
    match layout {
        PrdLayout::Empty => Detection::Empty,
        PrdLayout::Unreadable => Detection::Unreadable,
        layout @ (PrdLayout::Features
        | PrdLayout::UserStories
        | PrdLayout::Requirements(_)
        | PrdLayout::Single
        | PrdLayout::Foreign(_)) => Detection::Foreign(layout.describe()),
    }
}

fn claim_plan(text: &PlanText<'_>) -> PlanClaim {
    if !text.is_json() {
        return PlanClaim::NotOurs;
    }
    match detect_layout(text.source.text) {
        PrdLayout::Features | PrdLayout::UserStories | PrdLayout::Requirements(_) => {
            PlanClaim::Plan
        }
        PrdLayout::Empty => PlanClaim::Refused(PlanRefusal::new(
            "plan.unreadable",
            "is empty",
            "name the list that you mean",
        )),
        PrdLayout::Unreadable => {
            PlanClaim::Refused(PlanRefusal::unreadable("JSON", parse_prd(text.source).1))
        }
        layout @ PrdLayout::Single => PlanClaim::Refused(PlanRefusal::foreign(&layout.describe())),
        layout @ PrdLayout::Foreign(_) => {
            PlanClaim::Unknown(PlanRefusal::foreign(&layout.describe()))
        }
    }
}

/// What stands in a list beside its items.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PrdHead {
    project: Option<String>,
    description: Option<String>,
}

/// It is read before each attempt: of plain JSON the items, of which there may be
/// thousands, are passed over.
fn parse_head(source: SourceText<'_>) -> PrdHead {
    serde_json::from_str(source.text).unwrap_or_else(|_| {
        let list = parse_prd(source).0;
        list.map_or_else(PrdHead::default, |list| PrdHead {
            project: list.project,
            description: list.description,
        })
    })
}

fn about_list(source: SourceText<'_>) -> PlanFileNotes {
    let PrdHead {
        project,
        description,
    } = parse_head(source);
    let texts = [project, description].into_iter().flatten();
    let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
    PlanFileNotes {
        whole: (!texts.is_empty()).then(|| texts.join("\n\n")),
        ..PlanFileNotes::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_the_items_is_read_of_every_list() {
        const ITEMS: &str = r#""userStories": [{"id": "a", "title": "b", "project": "no"}]"#;
        for (text, whole) in [
            (
                format!(r#"{{"project": "p", {ITEMS}, "description": "d"}}"#),
                Some("p\n\nd"),
            ),
            // What is not plain JSON, or fits no head.
            (
                format!("\u{feff}{{\"project\": \"p\", {ITEMS}}}"),
                Some("p"),
            ),
            (
                format!(r#"{{"project": 5, "description": "d", {ITEMS}}}"#),
                Some("5\n\nd"),
            ),
            (format!(r#"{{"description": " ", {ITEMS}}}"#), None),
            ("[{\"id\": \"a\", \"project\": \"no\"}]".to_owned(), None),
        ] {
            let name = "prd.json";
            let said = about_list(SourceText { name, text: &text });
            assert_eq!(said.whole.as_deref(), whole, "{text}");
        }
    }
}
