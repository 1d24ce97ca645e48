//! What a text at the path of the log is.

use super::metadata::new_document;
use super::shape::ROOT_NAME;
use crate::document::DocumentKind;
use crate::native_file::Detection;
use crate::ralph_json;
use crate::tree::ValueNode;

pub(super) static DOCUMENT: DocumentKind = DocumentKind {
    root_name: ROOT_NAME,
    judge: detect_tree,
    foreign: "NOT_A_PROGRESS_LOG",
    begin: new_document,
};

/// Judges by the contents.
pub fn detect(text: &str) -> Detection {
    let detected = DOCUMENT.detect(text);
    let is_foreign = matches!(detected, Detection::Foreign(_));
    if is_foreign && ralph_json::detect(text) == Detection::Ours {
        return Detection::Foreign("a Ralph progress file, not an Agent OS log".to_owned());
    }
    detected
}

/// Judges a document that could be read.
fn detect_tree(root: &ValueNode) -> Detection {
    let Some(map) = root.as_map() else {
        return Detection::Foreign(format!("{}, not an Agent OS log", root.describe()));
    };
    if map.pairs.is_empty() {
        return Detection::Empty;
    }
    let entries = root.get("entries");
    let list = entries.and_then(ValueNode::as_seq).unwrap_or_default();
    let of_ralph = root.get("created_at").is_some()
        || root.get("learnings").is_some()
        || list.iter().any(|entry| entry.get("prd_id").is_some());
    let has = |key| root.get(key).is_some();
    let framed = has("version") || has("project") || has("metadata");
    let typed = list
        .iter()
        .any(|entry| entry.get("type").is_some() && entry.get("id").is_some());
    if entries.is_some() && !of_ralph && (framed || typed) {
        return Detection::Ours;
    }
    Detection::Foreign("a JSON object that is no Agent OS log".to_owned())
}
