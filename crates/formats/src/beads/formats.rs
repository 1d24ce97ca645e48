//! The format in the registry.

use super::read::{FACE, is_export, parse_issues};
use crate::document::is_blank;
use crate::format::{DocumentRole, Format, UNNAMED};
use crate::native_file::Detection;
use crate::plan_format::{
    CloseScript, IN_ONE_FILE, ItemUnit, PlanClaim, PlanFinding, PlanFormat, PlanWords,
    PromptTemplates,
};
use crate::status_list::{
    ListOrder, ListTraits, StatusListDocument, prompt_templates, title_of_native,
};

static ISSUES: ListTraits = ListTraits {
    face: FACE,
    parse: parse_issues,
    writes_holders: false,
    order: ListOrder::ByName,
    reads_again: &[],
};

/// Issues of beads.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    unit: ItemUnit {
        one: "issue",
        many: "issues",
    },
    formats: &[Format {
        name: FACE,
        face: FACE,
        about: "issues of beads",
        paths: &["issues.jsonl"],
        folders: Some(&[".beads"]),
        role: DocumentRole::Plan,
        detect: |text| match text {
            text if is_blank(text) => Detection::Empty,
            text if is_export(text) => Detection::Ours,
            _ => Detection::Foreign("no export of beads".to_owned()),
        },
        read: |source| ISSUES.problems(source),
        ..UNNAMED
    }],
    read: |source, of| ISSUES.read(source, of),
    document: |tables, run| StatusListDocument::open(&ISSUES, tables, run),
    about: |source, row| ISSUES.notes(source, row),
    close_script: Some(CloseScript {
        program: "bd",
        script: "bd close --reason 'Done, as piton recorded' -- \"$PITON_ISSUE\"",
        typed: "bd close --",
    }),
    finding: PlanFinding {
        candidates: &[".beads/issues.jsonl"],
        claim: |text| match is_export(text.source.text) && text.has_ending(&["jsonl"]) {
            true => PlanClaim::Plan,
            false => PlanClaim::NotOurs,
        },
        identity: |source| ISSUES.identity(source),
        without_items: ("has no issue", "add one with `bd create`, then run again"),
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |_, source| {
            PromptTemplates {
            files: Some(
                "Leave `.piton/` and `.beads/` alone, and do not close the issue: piton closes it with `bd` when there is evidence that it is done."
                    .to_owned(),
            ),
            ..prompt_templates("issue", source)
        }
        },
        title_of_native,
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};
