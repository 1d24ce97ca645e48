//! Which document a file named `state.json` really is.

use crate::document::{JsonText, parse_json_text};
use crate::tree::{Value, ValueNode};

use super::shape::STATE_KEYS;
use super::state::Phase;

/// A document that stands, or may stand, under the name `state.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateLayout {
    /// The one that piton reads and writes.
    Current,
    /// A later one of the same family, with its phases in lower case.
    LowerCase,
    /// Another one of the same family, with a list of issues.
    IssueList,
    /// Some other tool's, with the first of its keys.
    Foreign(Vec<String>),
    /// Nothing but blanks.
    Empty,
    /// Not JSON, or not one document.
    Unreadable,
}

impl StateLayout {
    /// A fragment that says what the document is.
    pub fn describe(&self) -> String {
        match self {
            Self::Current => "the state of a run".to_owned(),
            Self::LowerCase => {
                "the state of a run as the engine of a later version writes it, with phases in lower case (`init` to `completed`) and a database beside it"
                    .to_owned()
            }
            Self::IssueList => {
                "the state of a run with a list of issues, as `.sdlc/state.json` of an interactive version has it"
                    .to_owned()
            }
            Self::Foreign(keys) => format!(
                "a document of another tool, not the state of a run: it begins with {}",
                keys.join(", ")
            ),
            Self::Empty => "an empty file".to_owned(),
            Self::Unreadable => "not a JSON document".to_owned(),
        }
    }
}

/// Tells which document `text` is, by its content.
pub fn detect_layout(text: &str) -> StateLayout {
    match parse_json_text(text) {
        JsonText::Root(root) => layout_of_root(&root),
        JsonText::Blank => StateLayout::Empty,
        JsonText::Broken => StateLayout::Unreadable,
    }
}

/// Tells which document this is.
pub(super) fn layout_of_root(root: &ValueNode) -> StateLayout {
    const OURS_MIN: usize = 3;
    let Some(map) = root.as_map() else {
        return StateLayout::Foreign(vec![root.describe()]);
    };
    let keys = STATE_KEYS.iter().map(|field| field.key);
    // Files of others have such a time as well.
    let keys = keys.filter(|key| *key != "updated_at");
    let known = keys.filter(|key| map.get(key).is_some()).count();
    let issues = map.get("issues").map(|issues| &issues.value);
    let phase = map
        .get("phase")
        .and_then(ValueNode::as_str)
        .unwrap_or_default();
    let is_phase = Phase::parse(phase).is_some();
    if matches!(issues, Some(Value::Seq(_))) && known >= OURS_MIN {
        return StateLayout::IssueList;
    }
    let upper = phase.to_ascii_uppercase();
    if !is_phase && (Phase::parse(&upper).is_some() || phase == "init") && known >= OURS_MIN {
        return StateLayout::LowerCase;
    }
    if known >= OURS_MIN || (is_phase && map.get("phase_status").is_some()) {
        return StateLayout::Current;
    }
    StateLayout::Foreign(first_keys(root))
}

/// The first keys of a mapping, to show what it is.
pub(crate) fn first_keys(root: &ValueNode) -> Vec<String> {
    const KEYS_SHOWN: usize = 3;
    let Some(map) = root.as_map() else {
        return vec![root.describe()];
    };
    if map.pairs.is_empty() {
        return vec!["nothing".to_owned()];
    }
    map.iter()
        .take(KEYS_SHOWN)
        .map(|(key, _)| format!("`{}`", key.text))
        .collect()
}
