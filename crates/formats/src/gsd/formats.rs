//! The format in the registry.

use super::read::{FACE, RoadmapLayout, detect_layout, parse_roadmap};
use crate::format::{DocumentRole, Format, UNNAMED};
use crate::native_file::Detection;
use crate::plan_format::{
    IN_ONE_FILE, ItemUnit, PlanClaim, PlanFinding, PlanFormat, PlanRefusal, PlanWords,
};
use crate::status_list::{
    ListOrder, ListTraits, StatusListDocument, prompt_templates, title_of_native,
};

static ROADMAP: ListTraits = ListTraits {
    face: FACE,
    parse: parse_roadmap,
    writes_holders: false,
    order: ListOrder::ByPlace,
    reads_again: &["-PLAN.md"],
};

/// Roadmaps of GSD.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    unit: ItemUnit {
        one: "plan",
        many: "plans",
    },
    formats: &[Format {
        name: FACE,
        face: FACE,
        about: "plans of a GSD roadmap",
        paths: &["ROADMAP.md"],
        folders: Some(&[".planning"]),
        role: DocumentRole::Plan,
        detect: |text| match detect_layout(text) {
            RoadmapLayout::Plans | RoadmapLayout::Phases => Detection::Ours,
            RoadmapLayout::Foreign => Detection::Foreign("no roadmap of GSD".to_owned()),
        },
        read: |source| ROADMAP.problems(source),
        ..UNNAMED
    }],
    read: |source, of| ROADMAP.read(source, of),
    document: |tables, run| StatusListDocument::open(&ROADMAP, tables, run),
    about: |source, row| ROADMAP.notes(source, row),
    finding: PlanFinding {
        candidates: &[".planning/ROADMAP.md"],
        claim: |text| match detect_layout(text.source.text) {
            RoadmapLayout::Plans if text.has_ending(&["md"]) => PlanClaim::Plan,
            RoadmapLayout::Phases if text.has_ending(&["md"]) => {
                PlanClaim::Refused(PlanRefusal::new(
                    "plan.foreign",
                    "is a GSD roadmap whose phases have no plans yet",
                    "write the plans of a phase with `/gsd:plan-phase`, then run again",
                ))
            }
            RoadmapLayout::Plans | RoadmapLayout::Phases | RoadmapLayout::Foreign => {
                PlanClaim::NotOurs
            }
        },
        identity: |source| ROADMAP.identity(source),
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |_, source| prompt_templates("plan", source),
        title_of_native,
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};
