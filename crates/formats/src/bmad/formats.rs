//! The format in the registry.

use super::read::{FACE, STATUSES, parse_status};
use crate::format::{DocumentRole, Format, UNNAMED, detect_yaml_key};
use crate::native_file::Detection;
use crate::plan_format::{
    IN_ONE_FILE, ItemUnit, PlanClaim, PlanFinding, PlanFormat, PlanRefusal, PlanText, PlanWords,
};
use crate::status_list::{
    ListOrder, ListTraits, StatusListDocument, prompt_templates, title_of_native,
};

static STORIES: ListTraits = ListTraits {
    face: FACE,
    parse: parse_status,
    // An epic is done when people say so, after its retrospective.
    writes_holders: false,
    order: ListOrder::ByPlace,
    reads_again: &[],
};

/// Status files of BMAD.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    unit: ItemUnit {
        one: "story",
        many: "stories",
    },
    formats: &[Format {
        name: FACE,
        face: FACE,
        about: "stories of BMAD",
        paths: &["sprint-status.yaml"],
        folders: Some(&["_bmad-output/implementation-artifacts"]),
        role: DocumentRole::Plan,
        detect: |text| detect_yaml_key(text, STATUSES),
        read: |source| STORIES.problems(source),
        ..UNNAMED
    }],
    read: |source, of| STORIES.read(source, of),
    document: |tables, run| StatusListDocument::open(&STORIES, tables, run),
    about: |source, row| STORIES.notes(source, row),
    finding: PlanFinding {
        candidates: &["_bmad-output/implementation-artifacts/sprint-status.yaml"],
        claim: claim_plan,
        identity: |source| STORIES.identity(source),
        without_items: (
            "has no story",
            "plan the sprint with BMAD's `sprint-planning`, then run again",
        ),
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |_, source| prompt_templates("story", source),
        title_of_native,
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};

fn claim_plan(text: &PlanText<'_>) -> PlanClaim {
    if !text.has_ending(&["yaml", "yml"]) {
        return PlanClaim::NotOurs;
    }
    match detect_yaml_key(text.source.text, STATUSES) {
        Detection::Ours => PlanClaim::Plan,
        Detection::Foreign(_) | Detection::Empty => PlanClaim::NotOurs,
        Detection::Unreadable => PlanClaim::Refused(PlanRefusal::unreadable(
            "YAML",
            STORIES.problems(text.source),
        )),
    }
}
