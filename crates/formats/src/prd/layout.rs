//! Which document a file named `prd.json` really is.

use crate::document::{JsonText, parse_json_text};
use crate::sdlc::first_keys;
use crate::tree::ValueNode;

/// A document that stands, or may stand, under the name `prd.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrdLayout {
    /// `{"features": […]}`
    Features,
    /// `{"branchName": …, "userStories": […]}`
    UserStories,
    /// A list of requirements in another place: what is in it makes it one.
    Requirements(PrdItemsLocation),
    /// One requirement with a status and attempts of its own.
    Single,
    /// Some other tool's, with the first of its keys.
    Foreign(Vec<String>),
    /// Nothing but blanks.
    Empty,
    /// Not JSON, or not one document.
    Unreadable,
}

/// Where the items of a list stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrdItemsLocation {
    /// Under a key of the document.
    Key(&'static str),
    /// The document is the list.
    Top,
}

impl PrdItemsLocation {
    /// The items.
    pub(super) fn items_of_root(self, root: &ValueNode) -> Option<&[ValueNode]> {
        match self {
            Self::Key(key) => root.get(key)?.as_seq(),
            Self::Top => root.as_seq(),
        }
    }
}

/// Where lists stand that are known by what is in them: other tools have lists
/// of these names, too.
const OTHER_LISTS: [PrdItemsLocation; 3] = [
    PrdItemsLocation::Key("stories"),
    PrdItemsLocation::Key("tasks"),
    PrdItemsLocation::Top,
];

/// Whether these can be requirements: mappings, of which one at least says
/// whether it passes.
fn is_requirement_list(items: &[ValueNode]) -> bool {
    let says = |item: &ValueNode| item.get("passes").and_then(ValueNode::as_bool).is_some();
    items.iter().all(|item| item.as_map().is_some()) && items.iter().any(says)
}

impl PrdLayout {
    /// A fragment that says what the document is.
    pub fn describe(&self) -> String {
        match self {
            Self::Features => "a list of features".to_owned(),
            Self::UserStories => "a list of user stories".to_owned(),
            Self::Requirements(_) => "a list of requirements".to_owned(),
            Self::Single => {
                "a single requirement with its own status and attempts, not a list of them"
                    .to_owned()
            }
            Self::Foreign(keys) => format!(
                "a document of another tool, not a list of requirements: it begins with {}",
                keys.join(", ")
            ),
            Self::Empty => "an empty file".to_owned(),
            Self::Unreadable => "not a JSON document".to_owned(),
        }
    }

    /// Where the items stand.
    pub(super) fn items_location(&self) -> Option<PrdItemsLocation> {
        match self {
            Self::Features => Some(PrdItemsLocation::Key("features")),
            Self::UserStories => Some(PrdItemsLocation::Key("userStories")),
            Self::Requirements(at) => Some(*at),
            Self::Single | Self::Foreign(_) | Self::Empty | Self::Unreadable => None,
        }
    }
}

/// Tells which document `text` is, by its content.
pub fn detect_layout(text: &str) -> PrdLayout {
    match parse_json_text(text) {
        JsonText::Root(root) => layout_of_root(&root),
        JsonText::Blank => PrdLayout::Empty,
        JsonText::Broken => PrdLayout::Unreadable,
    }
}

/// Tells which document this is.
pub(super) fn layout_of_root(root: &ValueNode) -> PrdLayout {
    const SINGLE: [&str; 6] = [
        "acceptance_criteria",
        "steps",
        "verification",
        "attempts",
        "current_iteration",
        "max_iterations",
    ];
    let has = |key: &str| root.get(key).is_some();
    let is_list = |key: &str| root.get(key).is_some_and(|node| node.as_seq().is_some());
    if is_list("features") {
        return PrdLayout::Features;
    }
    if is_list("userStories") {
        return PrdLayout::UserStories;
    }
    let is_at = |at: &&PrdItemsLocation| at.items_of_root(root).is_some_and(is_requirement_list);
    if let Some(at) = OTHER_LISTS.iter().find(is_at) {
        return PrdLayout::Requirements(*at);
    }
    if has("title") && has("status") && SINGLE.iter().any(|key| has(key)) {
        return PrdLayout::Single;
    }
    PrdLayout::Foreign(first_keys(root))
}
