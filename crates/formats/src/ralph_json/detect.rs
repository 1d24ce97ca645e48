//! What a text at the path of a progress file is.

use super::shape::ROOT_NAME;
use crate::document::DocumentKind;
use crate::native_file::{Detection, FileContext};
use crate::shape::FormatVersion;
use crate::tree::{Map, MapKey, ValueNode};

const HEARTBEAT: &str = "a ralph-claude-code heartbeat, not a progress file";

pub(super) static DOCUMENT: DocumentKind = DocumentKind {
    root_name: ROOT_NAME,
    judge: detect_tree,
    foreign: "NOT_A_PROGRESS_FILE",
    begin: new_document,
};

fn new_document(about: &FileContext<'_>) -> Map {
    let pairs = [
        (
            "version",
            ValueNode::string(FormatVersion::CURRENT.to_string()),
        ),
        ("created_at", ValueNode::string(about.now.to_string())),
        ("project_name", ValueNode::string(about.project)),
        ("entries", ValueNode::seq(Vec::new())),
        ("learnings", ValueNode::seq(Vec::new())),
        ("patterns", ValueNode::seq(Vec::new())),
    ];
    Map {
        pairs: pairs.map(|(key, node)| (MapKey::new(key), node)).into(),
    }
}

/// How something else is known, and what it is.
type ForeignKind = (fn(&ValueNode) -> bool, &'static str);

/// Judges by the contents.
pub fn detect(text: &str) -> Detection {
    let detected = DOCUMENT.detect(text);
    // Its writer does not escape what it quotes.
    if detected == Detection::Unreadable && is_like_heartbeat(text) {
        return foreign_document(HEARTBEAT);
    }
    detected
}

/// Judges a document that could be read.
fn detect_tree(root: &ValueNode) -> Detection {
    let Some(map) = root.as_map() else {
        return Detection::Foreign(format!("{}, not a progress file", root.describe()));
    };
    if map.pairs.is_empty() {
        return Detection::Empty;
    }
    let kinds: [ForeignKind; 5] = [
        (
            is_implemented_schema,
            "a progress file in the schema that ralph implements (`schema_version`), \
             not in the one that it documents",
        ),
        (
            is_agent_os,
            "an Agent OS progress log, not a Ralph progress file",
        ),
        (is_prd_list, "a list of PRDs, not a progress file"),
        (|root| !is_ours(root) && is_heartbeat(root), HEARTBEAT),
        (
            |root| !is_ours(root),
            "a JSON object that is no progress file",
        ),
    ];
    kinds
        .iter()
        .find(|(is, _)| is(root))
        .map_or(Detection::Ours, |(_, what)| foreign_document(what))
}

fn foreign_document(what: &str) -> Detection {
    Detection::Foreign(what.to_owned())
}

fn is_ours(root: &ValueNode) -> bool {
    let has = |key| root.get(key).is_some();
    let holds = |key, mark: &str| {
        let items = root
            .get(key)
            .and_then(ValueNode::as_seq)
            .unwrap_or_default();
        items.iter().any(|item| item.get(mark).is_some())
    };
    let has_list = has("entries") || has("learnings") || has("patterns");
    (has("version") && has_list)
        || holds("entries", "prd_id")
        || holds("learnings", "content")
        || holds("patterns", "discovered_at")
}

fn is_implemented_schema(root: &ValueNode) -> bool {
    let has = |key| root.get(key).is_some();
    has("schema_version") || has("codebase_patterns") || has("prd_completions")
}

fn is_agent_os(root: &ValueNode) -> bool {
    let entries = root.get("entries").and_then(ValueNode::as_seq);
    let mut entries = entries.unwrap_or_default().iter();
    let logs = entries.any(|entry| entry.get("type").is_some() && entry.get("prd_id").is_none());
    let has = |key| root.get(key).is_some();
    logs || (has("metadata") && has("project") && !has("created_at"))
}

fn is_prd_list(root: &ValueNode) -> bool {
    let has = |key| root.get(key).is_some();
    !has("entries") && (has("features") || has("userStories"))
}

fn is_heartbeat(root: &ValueNode) -> bool {
    root.get("status").and_then(ValueNode::as_str).is_some() && root.get("timestamp").is_some()
}

/// The keys that the heartbeat of ralph-claude-code has, in a text that cannot
/// be read.
fn is_like_heartbeat(text: &str) -> bool {
    let has = |key| text.contains(key);
    has("\"status\"")
        && (has("\"indicator\"") || has("\"last_output\""))
        && has("\"elapsed_seconds\"")
        && !has("\"entries\"")
}
