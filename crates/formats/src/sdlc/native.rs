//! What of a state the core has no words for, and how it travels.

use piton_core::ItemRow;
use piton_core::native::Native;

use super::read::parse_state;
use super::state::{FACE, SdlcIssue, SdlcState, Totals};
use super::tree::to_tree;
use crate::json;
use crate::native::{native_body, native_of_body, unpack};
use crate::problem::SourceText;

/// Everything of a state but its issues and what follows from the rest.
pub(super) fn native_of_run(state: &SdlcState) -> Native {
    let mut rest = SdlcState {
        issues: Vec::new(),
        updated_at: None,
        ..state.clone()
    };
    rest.metrics.totals = Totals::default();
    native_of_body(FACE, json::render(&to_tree(&rest, None)))
}

/// The object of an issue.
pub(super) fn native_of_issue(issue: &SdlcIssue) -> Native {
    let alone = SdlcState {
        issues: vec![issue.clone()],
        ..SdlcState::default()
    };
    let tree = to_tree(&alone, None);
    let object = tree.get("issues").and_then(|issues| issues.get(&issue.id));
    native_of_body(FACE, object.map(json::render).unwrap_or_default())
}

/// The state that [`native_of_run`] kept.
pub(super) fn state_of_native(native: Option<&Native>) -> SdlcState {
    let name = "journal";
    let text = native_body(native, FACE);
    let state = text.and_then(|text| parse_state(SourceText { name, text }).0);
    state.unwrap_or_default()
}

/// The title of the issue that an item keeps.
pub(crate) fn title_of_native(native: &Native) -> Option<String> {
    let object: serde_json::Value = unpack(Some(native), FACE)?;
    Some(object.get("title")?.as_str()?.to_owned())
}

/// The issue that [`native_of_issue`] kept.
pub(super) fn issue_of_item(row: &ItemRow) -> SdlcIssue {
    let issue = native_body(row.plan.native.as_ref(), FACE).and_then(|object| {
        let id = serde_json::to_string(&row.plan.id).ok()?;
        let text = format!("{{\"run_id\": null, \"phase\": null, \"issues\": {{{id}: {object}}}}}");
        let name = "journal";
        let state = parse_state(SourceText { name, text: &text }).0?;
        state.issues.into_iter().next()
    });
    issue.unwrap_or_else(|| SdlcIssue {
        id: row.plan.id.clone(),
        ..SdlcIssue::default()
    })
}
